/* Owns what a daemon's log lines look like. Must not know what is worth a line. */
#include "proto/base/log_daemon.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/clock.h"

/* syslog(3)'s numbers. */
static const int priorities[LOG_LEVEL_COUNT] = {
    [LOG_LEVEL_ERROR] = 3,
    [LOG_LEVEL_WARNING] = 4,
    [LOG_LEVEL_INFO] = 6,
    [LOG_LEVEL_DEBUG] = 7,
};

/* The variable is inherited by whatever the service starts, also with another stderr: so it names
 * device and inode. */
static bool stderr_is_the_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    uintmax_t device, inode;
    struct stat facts;
    char end;

    return stream != NULL && fstat(STDERR_FILENO, &facts) == 0 &&
           sscanf(stream, "%" SCNuMAX ":%" SCNuMAX "%c", &device, &inode, &end) == 2 &&
           device == (uintmax_t)facts.st_dev && inode == (uintmax_t)facts.st_ino;
}

static void write_for_the_journal(void *context, enum log_level level, const char *line)
{
    (void)context;
    fprintf(stderr, "<%d>%s\n", priorities[level], line);
}

static void write_with_the_time(void *context, enum log_level level, const char *line)
{
    char time[WALL_TEXT_SIZE];

    (void)context;
    wall_format(wall_now(), time);
    fprintf(stderr, "%s %s: %s\n", time, log_level_words[level], line);
}

void log_daemon(enum log_level level)
{
    log_to(stderr_is_the_journal() ? write_for_the_journal : write_with_the_time, NULL, level);
}
