/* A run: run.json as a struct (docs/archive.md says what each number means). Which plan and cases
 * it has depends on its kind; the rest is the same for all. */
#ifndef SONDE_WIRE_RUN_H
#define SONDE_WIRE_RUN_H

#include "proto/wire/buffers.h"
#include "proto/wire/mtu.h"
#include "proto/wire/result.h"

#define RUN_SCHEMA "sonde.run/1"

enum run_kind { RUN_LOOPBACK, RUN_BUFFERS, RUN_PAIR, RUN_MTU, RUN_KIND_COUNT };
enum host_role { HOST_LOCAL, HOST_SENDER, HOST_ECHO, HOST_ROLE_COUNT };

extern const char *const run_kind_names[];

struct idle_counters {
    double seconds;
    struct counters delta;
};

struct host_counters {
    struct counters before, after, delta;
    struct list reset; /* of char *: names of counters */
    struct idle_counters idle;
    struct list unavailable; /* map of text: counter, reason */
};

struct host_interface {
    char name[64];
    int64_t mtu;
};

struct host {
    char name[256];
    enum host_role role;
    char os[64], os_release[128], arch[64], cpu[128];
    int64_t cpus, memory_bytes;
    struct list libraries; /* map of text: name, version */
    struct list limits;    /* map of int */
    bool limits_unchanged;
    /* How far the wall clock ran from the monotonic one in a case, the farthest; 0 below 100 ms.
     * NONE_INT where both roles are here. */
    int64_t clock_step_ns;
    struct host_interface interface;
    struct host_counters counters;
};

struct tool {
    char name[32];
    char version[32];
    char source_sha256[65];
};

struct run {
    char schema[32];
    char id[40]; /* UUID version 7 */
    enum run_kind kind;
    struct tool tool;
    struct list command;            /* of char * */
    char started[32], finished[32]; /* RFC 3339 UTC */
    bool interrupted;
    struct list hosts; /* of struct host; 0 is the sender or the only one */
    struct plan plan;  /* kinds loopback and pair */
    struct list cases; /* of struct case_result; kinds loopback and pair */
    struct buffers_plan buffers_plan;
    struct list experiments; /* of struct experiment_result; kind buffers */
    struct mtu_plan mtu_plan;
    struct list mtu_sessions; /* of struct mtu_session; kind mtu */
    struct list mtu_cases;    /* of struct mtu_case; kind mtu; "cases" outside */
};

extern const struct record host_record;
extern const struct record host_counters_record;

/* The schema's name and the kind alone (missing: loopback): enough to know how to read the rest. */
extern const struct record run_head_record;

/* The table for a run of this kind; NULL for a kind that this version does not know. */
const struct record *run_record_of(enum run_kind kind);

/* An empty run of a known kind; run_done frees what it holds (NULL is allowed). */
void run_init(struct run *out_run, enum run_kind kind);
void run_done(struct run *run);

/* A UUID of version 7 (RFC 9562) from a wall time and 10 random bytes. */
void uuid7_format(int64_t unix_ms, const uint8_t random[10], char out_text[40]);

#endif
