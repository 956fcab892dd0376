/* The reactor of a daemon: ZeroMQ sockets, descriptors, timers and signals, one thread, over
 * zmq_poll. Only it reads the clock; handlers get `now`.
 */
#ifndef SONDE_LINK_LOOP_H
#define SONDE_LINK_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/clock.h"
#include "proto/base/status.h"

struct loop;

typedef void loop_handler(void *context, struct mono now);

enum status loop_new(struct loop **out_loop, struct fault *fault) must_check;

/* Everything that was watched must have been taken off; NULL is allowed. */
void loop_free(struct loop *loop);

/* For proto/link: its ZeroMQ context, and a number that it has not given before, for names in it.
 */
void *loop_zmq(struct loop *loop);
uint64_t loop_number(struct loop *loop);

/* The clocks as this loop reads them, for what is called from outside of a handler. */
struct mono loop_now(const struct loop *loop);
struct wall loop_wall(const struct loop *loop);

/* Both clocks are `ns` further from now on. For tests, which do not wait for deadlines. */
void loop_skip(struct loop *loop, int64_t ns);

/* Calls when the descriptor can be read or has an error (level-triggered). */
void loop_watch_fd(struct loop *loop, int fd, loop_handler *handler, void *context);
void loop_unwatch_fd(struct loop *loop, int fd);

/* Calls when the ZeroMQ socket has something to read, until it has been read: a handler may leave
 * some for the next turn, and does when it has worked for a few milliseconds, because timers and
 * other sockets wait for it. */
void loop_watch_socket(struct loop *loop, void *zmq_socket, loop_handler *handler, void *context);
void loop_unwatch_socket(struct loop *loop, void *zmq_socket);

/* A timer lives in its owner. Zeroed: not set. */
struct loop_timer {
    struct mono at;
    loop_handler *handler;
    void *context;
    size_t place; /* the loop's; 0: not set */
};

/* Calls handler once at `at`; a timer that is set already is moved. */
void loop_timer_set(struct loop *loop, struct loop_timer *timer, struct mono at);
void loop_timer_cancel(struct loop *loop, struct loop_timer *timer);

/* SIGTERM and SIGINT call `stop`, SIGHUP calls `reload`, inside the loop. Blocks nothing in other
 * threads: call before they start. Once per process. */
enum status loop_catch_signals(struct loop *loop, loop_handler *stop, loop_handler *reload,
                               void *context, struct fault *fault) must_check;

/* Runs until loop_stop. */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

/* One turn: waits at most max_wait_ns, calls what is due. For tests and programs that look in. */
void loop_turn(struct loop *loop, int64_t max_wait_ns);

/* Turns that it has made: how often it woke. */
uint64_t loop_turns(const struct loop *loop);

/* The version of ZeroMQ, e.g. "4.3.4". */
enum { LOOP_LIBRARY_SIZE = 40 };
void loop_library(char out_text[LOOP_LIBRARY_SIZE]);

#endif
