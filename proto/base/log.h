/* One line per event, to one sink. The only mutable state at file scope in sonde.
 *
 * Below the daemon nothing logs above debug: functions return a status, their owner logs once.
 */
#ifndef SONDE_BASE_LOG_H
#define SONDE_BASE_LOG_H

#include "proto/base/status.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };
enum { LOG_LEVEL_COUNT = LOG_LEVEL_DEBUG + 1 };

extern const char *const log_level_words[]; /* "error", "warning", "info", "debug" */

/* Called with a whole line, without its end, control bytes masked. */
typedef void log_sink(void *context, enum log_level level, const char *line);

/* Sends lines up to `level` to `sink`; with NULL (the start) to stderr as "sonde: LEVEL: line".
 * Call before threads start. */
void log_to(log_sink *sink, void *context, enum log_level level);

/* Lines up to `level` from now on. Only while nobody else logs. */
void log_up_to(enum log_level level);

void log_line(enum log_level level, const char *format, ...) printf_like(2, 3);

#endif
