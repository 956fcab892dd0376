/* The sender role: clients, each one connected socket with a window of its own. A sender is a group
 * of clients that one thread serves; nothing in it is shared.
 */
#ifndef SONDE_PROBE_SENDER_H
#define SONDE_PROBE_SENDER_H

#include "agent/probe/delays.h"
#include "agent/probe/engine.h"
#include "agent/probe/histogram.h"
#include "agent/probe/session.h"
#include "proto/wire/result.h"

struct sender;

/* A sender of `count` clients on connected sockets (borrowed). `payload`: the largest. */
struct sender *sender_new(const int *fds, size_t count, const struct engine *engine,
                          size_t payload);

/* Frees the sender, not its sockets. NULL is allowed. */
void sender_free(struct sender *sender);

/* A new phase: forgets what was counted. `session` is borrowed until the next call. */
void sender_begin(struct sender *sender, const struct session *session, size_t window);

/* Every client in turn sends its whole window back to back. */
void sender_burst(struct sender *sender);

/* Reads what has come to one client, about a window of it, so that no client waits for another's
 * echoes to end; with `resend`, each echo that closes a slot lets it send one more while it is
 * before `deadline`. Returns how many datagrams it read. */
size_t sender_collect(struct sender *sender, size_t client, bool resend, struct mono deadline);

/* Open loop: every client sends its window once per interval, whatever comes back. Sends what is
 * due at `now` and returns when the next is due. A slot that was missed by more than an interval
 * is skipped and counted, never made up for. */
struct mono sender_pace(struct sender *sender, int64_t interval_ns, struct mono now);

/* Its time was over at `deadline`: what was due before and did not go out is skipped too. */
void sender_pace_end(struct sender *sender, int64_t interval_ns, struct mono deadline);

/* How well it kept its pace: the largest delay of a burst and the bursts that were skipped. */
struct pace {
    int64_t slip_ns;
    int64_t skipped;
};
struct pace sender_pace_kept(const struct sender *sender);

/* After the drain: reads what is still there at all clients; it is late. */
void sender_sweep(struct sender *sender);

/* Datagrams that all clients together have outstanding. */
uint64_t sender_outstanding(const struct sender *sender);

/* Of the first window of every client: how many the kernel took. */
uint64_t sender_burst_sent(const struct sender *sender);

/* The longest that an echo took, the echo role's time included. */
int64_t sender_slowest_ns(const struct sender *sender);

/* What this sender has asked to sleep since it was made. */
int64_t sender_waited_ns(const struct sender *sender);

/* Datagrams sent and echoes received in this phase so far; from any thread. */
void sender_progress(const struct sender *sender, int64_t *out_sent, int64_t *out_received);

/* When the first datagram of the phase went out (in an open loop: when it was due) and the last
 * echo came in; 0 ns while none. */
struct mono sender_first_sent(const struct sender *sender);
struct mono sender_last_echo(const struct sender *sender);

/* Adds this sender's counts of the phase: the sending side of the forward leg, the receiving side
 * of the reverse leg, the round-trip times. */
void sender_account(const struct sender *sender, struct leg *forward, struct leg *reverse,
                    struct histogram *rtt);

/* Adds the one-way delays of the echoes that have a round-trip time and timestamps that make sense:
 * T2 - T1 and T4 - T3 (RFC 8762) as the two ends' clocks tell them. */
void sender_delays(const struct sender *sender, struct delays *forward, struct delays *reverse);

#endif
