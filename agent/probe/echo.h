/* The echo role: one socket that returns each datagram of its session to where it came from.
 *
 * It answers only flows that were admitted and datagrams of the session that has begun, each once;
 * all else is foreign. An echo is as large as what asked for it, and what is not as a sender makes
 * it is corrupt and gets no answer; a reply never is (session_request_intact), so an echo never
 * causes an echo. Any number of workers, one per thread, may serve it: what they read is entered
 * under one lock in the order of the socket's queue, answers go out side by side.
 */
#ifndef SONDE_PROBE_ECHO_H
#define SONDE_PROBE_ECHO_H

#include "agent/probe/engine.h"
#include "agent/probe/session.h"
#include "proto/wire/result.h"

struct echo;
struct echo_worker;

/* The role on a bound socket (borrowed), for up to `flows` flows of `window` datagrams each. */
struct echo *echo_new(int fd, const struct engine *engine, size_t flows, size_t window);

/* Frees the role, not its socket or workers. NULL is allowed. */
void echo_free(struct echo *echo);

/* Lets datagrams from this address be answered. */
void echo_admit(struct echo *echo, const struct addr *peer);

/* Lets each address that sends a datagram of the session be answered from then on, when `may_join`
 * says so and there are fewer flows than the role is for; asked from the workers' threads, one at a
 * time. The socket is one of datagram_ask_local: answers leave from the address that was asked.
 * Before the first worker is made. */
typedef bool echo_may_join(void *context, const struct addr *peer);
void echo_open_to(struct echo *echo, echo_may_join *may_join, void *context);

/* A new phase: forgets what was counted. `session` is borrowed until the next call. `work_ns` is
 * busy work before each answer. No worker may be serving. */
void echo_begin(struct echo *echo, const struct session *session, int64_t work_ns);

/* One thread's part, with room for datagrams of up to `payload` bytes. */
struct echo_worker *echo_worker_new(struct echo *echo, size_t payload);
void echo_worker_free(struct echo_worker *worker);

/* Forgets what this worker has counted: a new phase. */
void echo_worker_begin(struct echo_worker *worker);

/* Reads what has come and answers it; returns how many datagrams it read. Reading goes first: as
 * long as the socket gives full batches and there is room it is read, then one batch is answered,
 * and so on; what has been read no longer fills the socket's buffer. It returns when all is
 * answered, or after about 10 ms (and never in the middle of one datagram's work). */
size_t echo_serve(struct echo_worker *worker);

/* True when something was read that still waits for its answer: echo_serve is to be called again,
 * whether the socket can be read or not. */
bool echo_waiting(const struct echo_worker *worker);

/* After the drain: what was read in time is answered, without work, so that no datagram is without
 * an account; then reads what is still there: it is late and gets no answer. */
void echo_sweep(struct echo_worker *worker);

/* Adds this worker's counts of the phase: the receiving side of the forward leg and the sending
 * side of the reverse leg. */
void echo_worker_account(const struct echo_worker *worker, struct leg *forward,
                         struct leg *reverse);

/* What this worker has asked to sleep since it was made. */
int64_t echo_waited_ns(const struct echo_worker *worker);

/* Of the first `count` datagrams of each flow: how many have arrived. No worker may be serving. */
int64_t echo_arrived_of_first(const struct echo *echo, int64_t count);

#endif
