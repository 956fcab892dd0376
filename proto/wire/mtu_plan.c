/* Owns the plan of a path MTU measurement: its tables, what it allows and what it unfolds to. Knows
 * no searching: how many datagrams a search needs is its own affair.
 */
#include "proto/wire/mtu.h"

#include <assert.h>

#include "proto/wire/budget.h"
#include "proto/wire/limits.h"
#include "proto/wire/record_table.h"
#include "proto/wire/stamp.h"

const char *const mtu_ways_names[] = { "forward", "reverse", "both" };

enum { BUDGET_MIN = 100, BUDGET_MAX = 1000000, TRIES_MIN = 3, TRIES_MAX = 100 };
enum { SIZES_MAX = 10000000, PACE_MIN = 10000 };
enum { SIZES_MIN = 32 }; /* one block of loss by size (agent/probe/size_loss.h) */
enum { FLOOR_IPV4 = 576 };
#define PACE_MAX (INT64_C(100) * 1000 * 1000 * 1000)

/* What a phase is waited for: its rounds wait for answers, on a path that needs a second for each
 * (what the pace takes comes on top). Rounds of a search have at least so many datagrams, loss by
 * size has so many under way; 30 hops are asked for two sizes, three times each. */
enum { ROUND_LEAST = 8, SIZES_OPEN = 256, FRAGMENT_ROUNDS = 2, FRAGMENT_DATAGRAMS = 40 };
enum { TRACE_DATAGRAMS = 180 };
#define ROUND_S 1.0

static const struct field mtu_common_fields[] = {
    CHOICE(struct mtu_common, direction, mtu_ways_names, MTU_WAYS_COUNT, "which ways are probed"),
    INT(struct mtu_common, flows, 1, MTU_FLOWS_MAX, "source ports, each with its own answer"),
    INT(struct mtu_common, floor, 0, LIMIT_MTU,
        "smallest IP packet that is looked for; 0: 576 (IPv4), 1280 (IPv6)"),
    INT(struct mtu_common, ceiling, 0, LIMIT_MTU,
        "largest IP packet; 0: the MTU of the probing host's interface"),
    INT(struct mtu_common, tries, TRIES_MIN, TRIES_MAX,
        "times in a row that a size must be lost at least"),
    INT(struct mtu_common, budget, BUDGET_MIN, BUDGET_MAX, "datagrams of each flow's search"),
    INT(struct mtu_common, pace, PACE_MIN, PACE_MAX,
        "bytes per second that all flows together never exceed"),
    FLAG(struct mtu_common, fragments, "try larger datagrams without DF, too"),
    FLAG(struct mtu_common, trace, "find the hops between which larger ones vanish"),
    INT(struct mtu_common, sizes, 0, SIZES_MAX, "datagrams to measure loss by size with; 0: none"),
    REAL(struct mtu_common, watch_s, LIMIT_SECONDS, "seconds to watch for changes; 0: none"),
    { FIELD_AT(struct mtu_common, check_s), .type = FIELD_REAL, .real_min = 0.1, .real_max = 3600,
      .help = "watching: seconds between looks at the answer" },
    { FIELD_AT(struct mtu_common, raise_s), .type = FIELD_REAL, .real_min = 0.1,
      .real_max = LIMIT_SECONDS, .help = "watching: seconds between tries of larger sizes" },
};
const struct record mtu_common_record = RECORD(mtu_common, mtu_common_fields);

static const struct field mtu_plan_fields[] = {
    { FIELD_AT(struct mtu_plan, families), .type = FIELD_LIST, .of = FIELD_ENUM,
      .names = family_names, .name_count = FAMILY_COUNT, .size = FAMILY_COUNT,
      .help = "ipv4, ipv6; empty: those that both hosts have" },
    { FIELD_AT(struct mtu_plan, common), .type = FIELD_INLINE, .record = &mtu_common_record },
};
const struct record mtu_plan_record = RECORD(mtu_plan, mtu_plan_fields);

static const struct field mtu_params_fields[] = {
    CHOICE(struct mtu_params, family, family_names, FAMILY_COUNT, "of the addresses"),
    { FIELD_AT(struct mtu_params, common), .type = FIELD_INLINE, .record = &mtu_common_record },
};
const struct record mtu_params_record = RECORD(mtu_params, mtu_params_fields);

/* --- what is allowed ------------------------------------------------------------------------- */

/* A plan for one family, with what its zeros stand for. */
struct extent {
    enum family family;
    int64_t headers;        /* IP and UDP */
    int64_t floor, ceiling; /* ceiling 0: the interface's MTU, not known here */
};

static struct extent extent_of(const struct mtu_common *common, enum family family)
{
    bool v4 = family == FAMILY_IPV4;

    return (struct extent){
        .family = family,
        .headers = UDP_HEADER_BYTES + (v4 ? IPV4_HEADER_BYTES : IPV6_HEADER_BYTES),
        .floor = common->floor != 0 ? common->floor
                 : v4               ? FLOOR_IPV4
                                    : MTU_MIN_IPV6,
        .ceiling = common->ceiling,
    };
}

static enum status check_size(const struct extent *extent, const char *flag, int64_t size,
                              struct fault *fault)
{
    int64_t least = extent->headers + STAMP_AUTHENTICATED_SIZE;
    int64_t gap_end = extent->headers + STAMP_AUTHENTICATED_SIZE + STAMP_TLV_HEADER_SIZE;
    int64_t most =
        extent->headers + (extent->family == FAMILY_IPV4 ? PAYLOAD_MAX_IPV4 : PAYLOAD_MAX_IPV6);

    if (size == least || (size >= gap_end && size <= most))
        return STATUS_OK;
    return fault_set(fault, STATUS_RANGE,
                     "%s: no %s datagram has %lld bytes: %lld, or %lld to %lld, are allowed", flag,
                     family_names[extent->family], (long long)size, (long long)least,
                     (long long)gap_end, (long long)most);
}

/* Of the two, the one that was asked for is at fault. */
static enum status check_order(const struct mtu_common *common, const struct extent *extent,
                               struct fault *fault)
{
    if (extent->ceiling == 0 || extent->floor <= extent->ceiling)
        return STATUS_OK;
    if (common->floor == 0)
        return fault_set(fault, STATUS_RANGE,
                         "ceiling: %lld is below the floor, which is %lld (%s) unless another is "
                         "asked for: at least that is allowed",
                         (long long)extent->ceiling, (long long)extent->floor,
                         family_names[extent->family]);
    return fault_set(fault, STATUS_RANGE,
                     "floor: %lld is above the ceiling: at most %lld is allowed",
                     (long long)extent->floor, (long long)extent->ceiling);
}

static enum status check_family(const struct mtu_common *common, enum family family,
                                struct fault *fault)
{
    const struct extent extent = extent_of(common, family);
    enum status status = check_size(&extent, "floor", extent.floor, fault);

    if (status == STATUS_OK && extent.ceiling != 0)
        status = check_size(&extent, "ceiling", extent.ceiling, fault);
    if (status == STATUS_OK)
        status = check_order(common, &extent, fault);
    if (status == STATUS_OK && common->sizes > 0 && extent.floor == extent.ceiling)
        status = fault_set(fault, STATUS_RANGE,
                           "sizes: loss by size needs more sizes than one: floor and ceiling are "
                           "both %lld",
                           (long long)extent.floor);
    return status;
}

static enum status check_work(const struct mtu_common *common, struct fault *fault)
{
    if (common->sizes > 0 && common->sizes < SIZES_MIN)
        return fault_set(fault, STATUS_RANGE, "sizes: %lld is not allowed: 0, or %d to %d",
                         (long long)common->sizes, SIZES_MIN, SIZES_MAX);
    if (common->sizes > 0 && common->watch_s > 0)
        return fault_set(fault, STATUS_RANGE,
                         "sizes: loss by size is not measured while watching: one of sizes and "
                         "watch must be 0");
    return STATUS_OK;
}

static enum family family_at(const struct list *families, size_t index)
{
    assert(index < families->count);
    return (enum family)((const int *)families->items)[index];
}

static enum status check_twice(const struct list *families, struct fault *fault)
{
    for (size_t i = 0; i < families->count; i++)
        for (size_t k = 0; k < i; k++)
            if (family_at(families, i) == family_at(families, k))
                return fault_set(fault, STATUS_RANGE, "family: %s is there twice",
                                 family_names[family_at(families, i)]);
    return STATUS_OK;
}

enum status mtu_plan_check(const struct mtu_plan *plan, struct fault *fault)
{
    enum status status = check_twice(&plan->families, fault);

    if (status == STATUS_OK)
        status = check_work(&plan->common, fault);
    for (size_t i = 0; i < plan->families.count && status == STATUS_OK; i++)
        status = check_family(&plan->common, family_at(&plan->families, i), fault);
    if (status == STATUS_OK && plan->families.count == 0 &&
        check_family(&plan->common, FAMILY_IPV6, NULL) != STATUS_OK)
        status = check_family(&plan->common, FAMILY_IPV4, fault);
    return status;
}

/* --- what it unfolds to ---------------------------------------------------------------------- */

void mtu_plan_init(struct mtu_plan *out_plan)
{
    record_init(&mtu_plan_record, out_plan);
    out_plan->common = (struct mtu_common){
        .direction = MTU_WAYS_BOTH,
        .flows = 1,
        .tries = TRIES_MIN,
        .budget = 3000,
        .pace = 12500 * 1000,
        .fragments = true,
        .trace = true,
        .check_s = 1,
        .raise_s = 600,
    };
}

void mtu_plan_copy(const struct mtu_plan *plan, struct mtu_plan *out_plan)
{
    *out_plan = *plan;
    out_plan->families = (struct list){ 0 };
    for (size_t i = 0; i < plan->families.count; i++)
        *(int *)list_append_sized(&out_plan->families, sizeof(int)) =
            ((const int *)plan->families.items)[i];
}

size_t mtu_plan_sessions(const struct mtu_plan *plan)
{
    return plan->families.count;
}

struct mtu_params mtu_plan_session(const struct mtu_plan *plan, size_t index)
{
    return (struct mtu_params){
        .family = family_at(&plan->families, index),
        .common = plan->common,
    };
}

/* Not `==`: -Wfloat-equal is right elsewhere; these come from the same text. */
static bool same_real(double a, double b)
{
    return a <= b && a >= b;
}

bool mtu_params_equal(const struct mtu_params *a, const struct mtu_params *b)
{
    const struct mtu_common *x = &a->common, *y = &b->common;

    return a->family == b->family && x->direction == y->direction && x->flows == y->flows &&
           x->floor == y->floor && x->ceiling == y->ceiling && x->tries == y->tries &&
           x->budget == y->budget && x->pace == y->pace && x->fragments == y->fragments &&
           x->trace == y->trace && x->sizes == y->sizes && same_real(x->watch_s, y->watch_s) &&
           same_real(x->check_s, y->check_s) && same_real(x->raise_s, y->raise_s);
}

double mtu_phase_seconds(const struct mtu_params *params)
{
    const struct mtu_common *common = &params->common;
    double size = common->ceiling > 0 ? (double)common->ceiling : LIMIT_MTU;
    double flows = (double)common->flows;
    double datagrams = (double)common->budget * flows;
    double seconds = (double)common->budget / ROUND_LEAST * ROUND_S;

    if (common->watch_s > 0) {
        seconds += common->watch_s;
    } else {
        datagrams += (double)common->sizes;
        if (common->sizes > 0)
            seconds += (double)common->sizes / SIZES_OPEN * ROUND_S;
        if (common->fragments) {
            datagrams += FRAGMENT_DATAGRAMS * flows;
            seconds += FRAGMENT_ROUNDS * ROUND_S;
        }
        if (common->trace)
            seconds += TRACE_DATAGRAMS * ROUND_S;
    }
    seconds += datagrams * size / (double)common->pace;
    return seconds < 2 * LIMIT_SECONDS ? seconds : 2 * LIMIT_SECONDS;
}
