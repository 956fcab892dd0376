/* Owns what a search may be asked for, and the names of its states and answers. */
#include "agent/probe/search.h"

#include "proto/wire/budget.h"
#include "proto/wire/limits.h"
#include "proto/wire/stamp.h"

static int64_t headers_of(enum family family)
{
    return UDP_HEADER_BYTES + (family == FAMILY_IPV4 ? IPV4_HEADER_BYTES : IPV6_HEADER_BYTES);
}

struct search_config search_config_of(enum family family)
{
    int64_t base = headers_of(family) + STAMP_AUTHENTICATED_SIZE;

    return (struct search_config){
        .family = family,
        .floor = family == FAMILY_IPV4 ? 576 : MTU_MIN_IPV6,
        .ceiling = 1500,
        .control = base,
        .gap_first = base + 1,
        .gap_last = base + STAMP_TLV_HEADER_SIZE - 1,
        .tries = SEARCH_TRIES_MIN,
        .budget = SEARCH_BUDGET,
        .pace = SEARCH_PACE,
        .check_ns = NS_PER_S,
        .raise_ns = 600 * NS_PER_S,
    };
}

/* What one number may be. */
struct bounds {
    const char *what;
    int64_t value, least, most;
};

enum status search_check(const struct search_config *config, struct fault *fault)
{
    int64_t largest = config->family == FAMILY_IPV4 ? LIMIT_MTU - IPV6_HEADER_BYTES : LIMIT_MTU;
    const struct bounds all[] = {
        { "the ceiling", config->ceiling, 1, largest },
        { "the floor", config->floor, 1, config->ceiling },
        { "a small datagram", config->control, 1, config->floor },
        { "the guess", config->guess, 0, largest },
        { "the end of the gap", config->gap_last, config->gap_first, largest },
        { "the tries of a size", config->tries, SEARCH_TRIES_MIN, 100 },
        { "the datagrams of a search", config->budget, SEARCH_BUDGET_MIN, 1000000 },
        { "the pace in bytes per second", config->pace, 1000, INT64_C(100000000000) },
        { "the time between checks in ns", config->check_ns, NS_PER_MS, 86400 * NS_PER_S },
        { "the time between raises in ns", config->raise_ns, NS_PER_MS, 86400 * NS_PER_S },
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].value < all[i].least || all[i].value > all[i].most)
            return fault_set(fault, STATUS_RANGE, "%s must not be %lld: %lld to %lld are allowed",
                             all[i].what, (long long)all[i].value, (long long)all[i].least,
                             (long long)all[i].most);
    if (config->control >= config->gap_first && config->control <= config->gap_last)
        return fault_set(fault, STATUS_RANGE, "no datagram has the small size %lld",
                         (long long)config->control);
    if (config->gap_last > 0 && config->floor >= config->gap_first &&
        config->ceiling <= config->gap_last)
        return fault_set(fault, STATUS_RANGE, "no datagram has a size from %lld to %lld",
                         (long long)config->floor, (long long)config->ceiling);
    return STATUS_OK;
}

const char *search_state_name(enum search_state state)
{
    static const char *const names[] = {
        [SEARCH_HELLO] = "hello",           [SEARCH_NARROWING] = "narrowing",
        [SEARCH_CONFIRMING] = "confirming", [SEARCH_WATCHING] = "watching",
        [SEARCH_ENDED] = "ended",
    };

    return names[state];
}

const char *search_ptb_name(enum search_ptb ptb)
{
    static const char *const names[SEARCH_PTB_COUNT] = {
        [SEARCH_PTB_HINT] = "accepted",
        [SEARCH_PTB_UNKNOWN] = "unknown datagram",
        [SEARCH_PTB_TOO_SMALL] = "below the protocol's minimum",
        [SEARCH_PTB_NOT_SMALLER] = "not below what was sent",
        [SEARCH_PTB_CONTRADICTED] = "more was acknowledged",
    };

    return names[ptb];
}

const char *search_outcome_name(enum search_outcome outcome)
{
    static const char *const names[SEARCH_OUTCOME_COUNT] = {
        [SEARCH_UNDECIDED] = "undecided",     [SEARCH_FOUND] = "found",
        [SEARCH_BELOW_FLOOR] = "below floor", [SEARCH_UNREACHABLE] = "unreachable",
        [SEARCH_UNSTABLE] = "unstable",       [SEARCH_EXHAUSTED] = "exhausted",
    };

    return names[outcome];
}
