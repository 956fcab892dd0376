/* Log lines of a daemon on stderr: as the journal wants them when it listens, else with the time.
 */
#ifndef SONDE_BASE_LOG_DAEMON_H
#define SONDE_BASE_LOG_DAEMON_H

#include "proto/base/log.h"

/* Sends lines up to `level` to stderr. When stderr is the journal (systemd.exec(5) JOURNAL_STREAM):
 * "<3>line", the level as sd-daemon(3) numbers it, because the journal has the time itself. Else
 * "2026-11-30T18:44:10Z error: line", in UTC. */
void log_daemon(enum log_level level);

#endif
