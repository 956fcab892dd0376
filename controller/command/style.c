/* Owns the reading of the environment's words about terminals. */
#include "controller/command/style.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *set_to(const char *name)
{
    const char *value = getenv(name);

    return value == NULL || value[0] == '\0' ? NULL : value;
}

/* The first of these that is set decides (POSIX, "Internationalization Variables"). */
static bool locale_is_utf8(void)
{
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = set_to(names[i]);

        if (value != NULL)
            return strstr(value, "UTF-8") != NULL || strstr(value, "utf8") != NULL;
    }
    return false;
}

struct terminal_style style_of_stdout(void)
{
    const char *term = set_to("TERM");
    bool terminal = isatty(STDOUT_FILENO) == 1;

    return (struct terminal_style){
        .color =
            terminal && set_to("NO_COLOR") == NULL && term != NULL && strcmp(term, "dumb") != 0,
        .utf8 = locale_is_utf8(),
    };
}
