/* What was measured in one case between a sender and an echo role (docs/archive.md says what each
 * number means). */
#ifndef SONDE_WIRE_RESULT_H
#define SONDE_WIRE_RESULT_H

#include "proto/wire/case.h"
#include "proto/wire/counters.h"
#include "proto/wire/record.h"

enum case_status { CASE_PASS, CASE_FAIL, CASE_ERROR, CASE_STATUS_COUNT };
enum evidence { EVIDENCE_PER_SOCKET, EVIDENCE_SYSTEM_WIDE, EVIDENCE_COUNT };
enum rtt_clock { RTT_CLOCK_USER, RTT_CLOCK_KERNEL, RTT_CLOCK_HARDWARE, RTT_CLOCK_COUNT };

extern const char *const case_status_names[];
extern const char *const evidence_names[];

/* A socket buffer three ways: asked for, granted as the kernel reads it back, and the limit that
 * capped it ("" when none did). */
struct grant {
    int64_t asked;
    int64_t granted;
    char limit[MAP_KEY_SIZE]; /* name of the limit, as in host.limits */
};

/* Datagrams that this host's kernel did not take, by cause; never on the wire. */
struct refused {
    int64_t eagain, enobufs, emsgsize, eperm, econnrefused, other;
};

/* Each lost datagram has exactly one place. */
struct lost_to {
    int64_t receive_buffer, sender_host, receiver_host, network, unattributed;
};

struct leg {
    int64_t attempted;
    struct refused refused;
    int64_t sent, received, late, lost;
    struct lost_to lost_to;
    enum evidence evidence;
    int64_t duplicates, reordered, corrupt, foreign;
};

struct phase {
    bool present;
    double seconds; /* first send to the end of sending or the last echo, the later of both */
    struct leg forward, reverse;
    int64_t lost_echoes;
    double echoes_per_second; /* NAN when the case failed */
    int64_t slip_ns;        /* open loop: the largest delay of a burst; NONE_INT in closed loops */
    int64_t skipped_bursts; /* open loop: bursts left out because the sender was too late */
    struct list stalls_ns; /* of int64_t, one per host, or empty: the longest time it was not run */
    struct list counters;  /* of struct counters, one per host */
};

struct rtt {
    bool present;
    enum rtt_clock clock;
    int64_t count, min, p50, p90, p99, p999, max; /* ns; NONE_INT where count does not support it */
    struct list histogram;                        /* of int64_t[2]: lowest ns of a bucket, count */
};

/* Delays of one direction between two hosts' clocks, ns; negative ones are possible. */
struct delay {
    bool present;
    int64_t min, mean, max;
};

/* What is known of the way there and of the way back, each for itself. A leg is there only when the
 * clocks' error is no larger than its `min`. */
struct one_way {
    bool present;
    int64_t error_ns;   /* of both clocks together; NONE_INT when unknown */
    char withheld[256]; /* why a leg is null; "" when none is */
    struct delay forward, reverse;
};

struct case_sockets {
    bool present;
    struct grant rcvbuf;       /* of the echo role's socket */
    struct grant sndbuf;       /* of the clients' sockets */
    double bytes_per_datagram; /* what the kernel charges for one queued datagram */
    int64_t burst_capacity;    /* datagrams that an empty receive buffer holds */
    int64_t calibration_drops; /* dropped on purpose to learn the two; in the system's counters */
};

struct first_burst {
    bool present;
    int64_t sent;
    int64_t predicted_lost; /* NONE_INT in the split model: the reader races the burst */
    int64_t lost;
};

struct case_phases {
    struct phase warmup; /* null when the case has no warm-up */
    struct phase measure;
};

/* How the sender came to an agreement with the echo role of another host before anything else was
 * sent. What is lost of it is in no leg. */
struct agreement {
    bool present;
    int64_t hellos_sent; /* repeats included; at the echo's end: that came */
    int64_t hellos_answered;
    int64_t rtt_ns;    /* of the answer that counted; NONE_INT at the echo's end */
    int64_t strangers; /* came to the echo role outside of phases and got no answer; NONE_INT at
                          the sender's end */
};

struct case_result {
    int64_t index;
    struct case_params params;
    enum case_status status;
    char error[512];
    struct case_sockets sockets;
    struct first_burst first_burst;
    struct agreement agreement; /* between two hosts; else null */
    struct case_phases phases;
    struct rtt rtt_ns;
    struct one_way one_way_ns; /* between two hosts; else null */
};

extern const struct record grant_record;
extern const struct record agreement_record;
extern const struct record refused_record;
extern const struct record leg_record;
extern const struct record lost_to_record;
extern const struct record phase_record;
extern const struct record rtt_record;
extern const struct record delay_record;
extern const struct record one_way_record;
extern const struct record case_result_record;

/* The sum of a leg's refusals and of its places; stops at INT64_MAX, as an archive may say
 * anything. */
int64_t refused_total(const struct refused *refused);
int64_t lost_to_total(const struct lost_to *places);

/* The echoes that a phase has lost: forward, reverse, and those that the echo host refused. */
int64_t phase_lost_echoes(const struct phase *phase);

/* True when nothing was lost, refused, corrupt or late in it: a case passes when its measure phase
 * does. lost_echoes has been filled. */
bool phase_passed(const struct phase *phase);

#endif
