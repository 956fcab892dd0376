/* One end of a case between two hosts, as one thread drives it: sender_end and echo_end.
 *
 * A session: new, agree (sender) while the echo's end waits, then for each phase both ends'
 * ..._phase, then report and free. Datagrams are authenticated STAMP under the session's key; each
 * phase has its own SSID (agreement.h). Every parameter of a case counts; `io_model` does not, as
 * each host has one role.
 */
#ifndef SONDE_PROBE_END_H
#define SONDE_PROBE_END_H

#include "agent/probe/agreement.h"
#include "agent/probe/phase.h"
#include "proto/wire/report.h"

/* After the last send, how long echoes are waited for: at least this, and 4 times the largest RTT
 * seen (measurement.md). */
#define END_DRAIN_NS NS_PER_S

/* What both ends are given; copied. */
struct end_order {
    uint8_t key[STAMP_KEY_SIZE];
    uint16_t ssid; /* of PART_HELLO */
    double idle_s; /* idle interval to listen to when the end is made */
    struct case_params params;
    const atomic_bool *stop; /* set: the listening ends at once; borrowed while the end is made, may
                                be NULL */
};

/* --- the sender's end --------------------------------------------------------------------- */

struct sender_end;

/* Opens the clients' sockets, connected to `target`. Nothing is sent. */
enum status sender_end_new(const struct end_order *order, const struct addr *target,
                           struct sender_end **out_end, struct fault *fault) must_check;
void sender_end_free(struct sender_end *end);

/* Says hello, on the first client's socket, until the echo role has agreed. STATUS_NOT_FOUND: no
 * answer to HELLO_TRIES hellos; STATUS_INTERRUPTED: `stop` was set. */
enum status sender_end_agree(struct sender_end *end, const struct phase_watch *watch,
                             struct fault *fault) must_check;

/* Sends and collects one phase, with the counters around it. Only after an agreement (asserted).
 * *out_half is fresh from record_init. STATUS_INTERRUPTED when watch->stop was set: then *out_half
 * holds what was counted until then. */
enum status sender_end_phase(struct sender_end *end, enum phase_kind kind,
                             const struct phase_watch *watch, struct half_phase *out_half,
                             struct fault *fault) must_check;

/* Datagrams sent and echoes received in the running phase so far; from watch->tick. */
void sender_end_progress(const struct sender_end *end, int64_t *out_sent, int64_t *out_received);

/* Fills addresses, grants, agreement, the clock, the measure phase's times and the host with its
 * counters around the case; the phases, ids and times are the caller's. */
enum status sender_end_report(struct sender_end *end, struct report *report,
                              struct fault *fault) must_check;

/* --- the echo's end ----------------------------------------------------------------------- */

/* Which hosts may be answered; called for the source of each new hello. */
typedef bool echo_end_guest(void *context, const struct addr *host);

struct echo_end_place {
    struct addr bind_to;            /* wildcard or an address of this host; its port is not used */
    uint16_t first_port, last_port; /* the first free one is taken; 0, 0: any */
    echo_end_guest *may_guest;      /* NULL: everybody */
    void *context;
};

struct echo_end;

/* Opens the socket. Replies leave from the address that was asked, also on a wildcard. */
enum status echo_end_new(const struct end_order *order, const struct echo_end_place *place,
                         struct echo_end **out_end, struct fault *fault) must_check;
void echo_end_free(struct echo_end *end);

uint16_t echo_end_port(const struct echo_end *end);

/* Answers hellos (and nothing else) until wake_fd can be read or timeout_ns has passed. */
void echo_end_wait(struct echo_end *end, int wake_fd, int64_t timeout_ns);

/* Echoes one phase until watch->finish is set; watch->ready is called when every thread looks at
 * the socket. *out_half as above. STATUS_INTERRUPTED when watch->stop was set. */
enum status echo_end_phase(struct echo_end *end, enum phase_kind kind,
                           const struct phase_watch *watch, struct half_phase *out_half,
                           struct fault *fault) must_check;

enum status echo_end_report(struct echo_end *end, struct report *report,
                            struct fault *fault) must_check;

#endif
