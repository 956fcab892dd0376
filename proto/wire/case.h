/* What to measure: the plan that a user asks for, and the cases it unfolds to. */
#ifndef SONDE_WIRE_CASE_H
#define SONDE_WIRE_CASE_H

#include "proto/base/addr.h"
#include "proto/wire/limits.h"
#include "proto/wire/record.h"

enum io_model { IO_MODEL_SHARED, IO_MODEL_SPLIT };
enum engine_kind { ENGINE_SINGLE, ENGINE_BATCH, ENGINE_URING };

extern const char *const io_model_names[]; /* "shared", "split" */
extern const char *const engine_names[];   /* "single", "batch", "uring" */
extern const char *const family_names[];   /* "ipv4", "ipv6" */
enum { IO_MODEL_COUNT = 2, ENGINE_COUNT = 3, FAMILY_COUNT = 2 };

/* The parameters that all cases of a plan share. */
struct case_common {
    enum family family;
    int64_t clients;
    enum io_model io_model;
    int64_t io_threads;  /* for each role in the split model */
    int64_t work_ns;     /* busy work of the echo role on each datagram */
    double warmup_s;     /* 0: no warm-up phase */
    double seconds;      /* of the measure phase */
    int64_t interval_ns; /* 0: closed loop; else each client sends its window once an interval */
    int64_t rcvbuf;      /* SO_RCVBUF to ask for, bytes */
    int64_t sndbuf;      /* SO_SNDBUF to ask for, bytes */
};

/* A matrix: payloads x windows x repeats x engines. */
struct plan {
    struct list payloads; /* of int64_t, bytes */
    struct list windows;  /* of int64_t, datagrams */
    int64_t repeats;
    struct list engines; /* of int (enum engine_kind) */
    double idle_s;       /* the idle interval before the first case */
    struct case_common common;
};

struct case_params {
    int64_t payload;
    int64_t window;
    int64_t repeat; /* from 1 */
    enum engine_kind engine;
    struct case_common common;
};

extern const struct record case_common_record;
extern const struct record plan_record;
extern const struct record case_params_record;

/* Checks what ranges alone cannot say: payload sizes that are no STAMP (below 44, 45 to 47, above
 * the family's maximum), values that are there twice, empty lists, too many cases, clients x
 * window. The fault names the flag and says what is allowed. The plan has passed record_check. */
enum status plan_check(const struct plan *plan, struct fault *fault) must_check;

/* The same for a plan between two hosts, where every datagram is authenticated, which takes more
 * room (112 bytes, or 116 and up), and the idle interval is at most LIMIT_PAIR_IDLE_S. */
enum status plan_check_pair(const struct plan *plan, struct fault *fault) must_check;

/* payloads x windows x repeats x engines, of a plan that has passed record_check. */
size_t plan_case_count(const struct plan *plan);

/* Case `index` (0-based) of the plan: engines outermost, then repeats, payloads, windows. So a run
 * that is cut short has whole repeats, and slow drift of the machine meets all cells alike. */
struct case_params plan_case(const struct plan *plan, size_t index);

bool case_params_equal(const struct case_params *a, const struct case_params *b);

/* A copy of a plan; the caller's (record_done of plan_record). */
void plan_copy(const struct plan *plan, struct plan *out_plan);

/* The longest that one case can take: phases and drains, in seconds. */
double case_seconds(const struct case_params *params, double drain_s);

#endif
