/* Signals as descriptors that a loop can watch. Part of loop. */
#ifndef SONDE_LINK_LOOP_SIGNAL_H
#define SONDE_LINK_LOOP_SIGNAL_H

#include "proto/link/loop.h"

enum { SIGNAL_STOP, SIGNAL_RELOAD, SIGNAL_COUNT };

/* From now on the descriptors become readable: out_fds[SIGNAL_STOP] at SIGTERM and SIGINT,
 * out_fds[SIGNAL_RELOAD] at SIGHUP. Only one loop of a process may have them. */
enum status loop_signal_catch(int out_fds[SIGNAL_COUNT], struct fault *fault) must_check;

/* The signals have their default effect again. */
void loop_signal_release(void);

/* Empties what has become readable. */
void loop_signal_drain(int fd);

#endif
