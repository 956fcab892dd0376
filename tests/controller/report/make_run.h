/* Makes runs that add up, of any matrix, for the tests of everything that reads runs. */
#ifndef SONDE_TEST_MAKE_RUN_H
#define SONDE_TEST_MAKE_RUN_H

#include "proto/wire/run.h"

enum { MAKE_ENGINES_MAX = 3 };

/* What a run is made of. Start from make_shape_seed or make_shape_small and change what the test is
 * about. */
struct make_shape {
    const int64_t *payloads;
    size_t payload_count;
    const int64_t *windows;
    size_t window_count;
    int64_t repeats;
    int engines[MAKE_ENGINES_MAX];
    size_t engine_count;
    int64_t clients;
    enum io_model io_model;
    double warmup_s;
    const char *os; /* "Linux" or "macOS" */
    const char *host_name;
    int64_t rcvbuf_asked;
    int64_t rcvbuf_limit; /* what the system grants at most, as asked */
    unsigned char id;     /* the last byte of the run's id */
};

/* The matrix of the seed: six payloads, three windows, three repeats, 16 clients, on Linux. */
struct make_shape make_shape_seed(void);

/* Two payloads, two windows, two repeats, one of the cells losing. */
struct make_shape make_shape_small(void);

/* What Linux charges for a queued datagram of this payload over the loopback interface (IPv4), or
 * macOS. */
int64_t make_charge(const struct make_shape *shape, int64_t payload);

/* A run of this shape; the caller's (record_done of run_record). What overflows the receive buffer
 * in the first burst is lost, and nothing else. */
void make_run(const struct make_shape *shape, struct run *out_run);

/* The parts of it that runs of every kind have: a run without plan, cases and hosts, and its host,
 * whose system counted `dropped` datagrams and some more. */
void make_head(const struct make_shape *shape, enum run_kind kind, struct run *out_run);
void make_host(const struct make_shape *shape, int64_t dropped, struct run *run);

/* Granted for each byte asked, and which limit caps SO_RCVBUF. */
int64_t make_factor(const struct make_shape *shape);
const char *make_limit_name(const struct make_shape *shape);

/* Makes a run of the split model one between two hosts: a second host, counters of both. */
void make_pair(const struct make_shape *shape, struct run *run);

/* Gives a case one-way delays of 1.2 ms there and 2.5 ms back at least. */
void make_one_way(struct run *run, size_t index, int64_t error_ns);

struct case_result *make_case_at(struct run *run, size_t index);
struct host *make_host_at(struct run *run, size_t index);

/* Makes a case one that could not be measured. */
void make_case_error(struct run *run, size_t index, const char *error);

/* Takes the cases from `count` on away and marks the run as interrupted. */
void make_interrupted(struct run *run, size_t count);

#endif
