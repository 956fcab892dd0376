/* Owns a locale with a comma for as long as a test needs it. */
#include "tests/proto/wire/comma_locale.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[32];

bool comma_locale_begin(void)
{
    char command[128];

    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL) {
        snprintf(folder, sizeof folder, "/tmp/sonde-locale-XXXXXX");
        if (mkdtemp(folder) == NULL)
            return false;
        snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 2>/dev/null",
                 folder);
        if (system(command) == 0)
            setenv("LOCPATH", folder, 1);
        if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL) {
            comma_locale_end();
            fprintf(stderr, "SKIPPED: no locale with a comma here, and localedef made none\n");
            return false;
        }
    }
    return strcmp(localeconv()->decimal_point, ",") == 0;
}

void comma_locale_end(void)
{
    char command[64];

    setlocale(LC_ALL, "C");
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (folder[0] != '\0' && system(command) != 0)
        abort();
    folder[0] = '\0';
}
