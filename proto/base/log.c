/* Owns the one sink of log lines, sonde's only mutable state at file scope. Must not know who logs,
 * nor decide what is worth a line. */
#include "proto/base/log.h"

#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "proto/base/utf8.h"

enum { LINE_SIZE = 1024 };

const char *const log_level_words[] = {
    [LOG_LEVEL_ERROR] = "error",
    [LOG_LEVEL_WARNING] = "warning",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_DEBUG] = "debug",
};

/* One call for the whole line: stdio's lock keeps the lines of threads apart. */
static void write_stderr(void *context, enum log_level level, const char *line)
{
    (void)context;
    fprintf(stderr, "sonde: %s: %s\n", log_level_words[level], line);
}

static struct {
    log_sink *sink;
    void *context;
    enum log_level level;
} current = { .sink = write_stderr, .level = LOG_LEVEL_INFO };

void log_to(log_sink *sink, void *context, enum log_level level)
{
    assert((unsigned)level <= LOG_LEVEL_DEBUG);
    current.sink = sink != NULL ? sink : write_stderr;
    current.context = context;
    current.level = level;
}

void log_up_to(enum log_level level)
{
    assert((unsigned)level <= LOG_LEVEL_DEBUG);
    current.level = level;
}

void log_line(enum log_level level, const char *format, ...)
{
    static const char cut[] = "...";
    char line[LINE_SIZE];
    va_list args;
    int length;

    if (level > current.level)
        return;
    va_start(args, format);
    length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    assert(length >= 0);
    if ((size_t)length >= sizeof line)
        memcpy(line + sizeof line - sizeof cut, cut, sizeof cut);
    utf8_mask(line);
    current.sink(current.context, level, line);
}
