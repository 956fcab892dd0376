/* Owns how the cases of a path MTU run are put together. Knows no words and no picture. */
#include "controller/report/ways.h"

#include <stdio.h>

#include "proto/wire/mtu_verdict.h"

static const struct mtu_session *session_of(const struct run *run, enum family family)
{
    const struct mtu_session *sessions = run->mtu_sessions.items;

    for (size_t i = 0; i < run->mtu_sessions.count; i++) {
        if (sessions[i].family == family)
            return &sessions[i];
    }
    return NULL;
}

bool way_next(const struct run *run, size_t *position, struct way *out_way)
{
    const struct mtu_case *cases = run->mtu_cases.items;
    size_t at = *position;

    if (at >= run->mtu_cases.count)
        return false;
    *out_way = (struct way){ .family = cases[at].family,
                             .direction = cases[at].direction,
                             .session = session_of(run, cases[at].family) };
    while (at < run->mtu_cases.count && cases[at].family == out_way->family &&
           cases[at].direction == out_way->direction && out_way->count < MTU_FLOWS_MAX)
        out_way->flows[out_way->count++] = &cases[at++];
    *position = at;
    return true;
}

const char *family_word(enum family family)
{
    return family == FAMILY_IPV4 ? "IPv4" : "IPv6";
}

void way_name(const struct way *way, char out_text[WAY_NAME_SIZE])
{
    snprintf(out_text, WAY_NAME_SIZE, "%s %s", family_word(way->family),
             mtu_direction_names[way->direction]);
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

struct fit fit_of(const struct run *run, enum family family)
{
    const struct mtu_case *cases = run->mtu_cases.items;
    struct fit fit = { false, INT64_MAX, INT64_MAX };
    size_t ways = run->mtu_plan.common.direction == MTU_WAYS_BOTH ? 2 : 1, found = 0;

    for (size_t i = 0; i < run->mtu_cases.count; i++) {
        const struct mtu_size_effect *effect = &cases[i].flow.size_effect;

        if (cases[i].family != family || cases[i].udp_payload == NONE_INT)
            continue;
        found++;
        fit.payload = lesser(fit.payload, cases[i].udp_payload);
        fit.even = lesser(fit.even, cases[i].udp_payload);
        if (effect->present && effect->found)
            fit.even = lesser(fit.even, mtu_payload_of(family, effect->threshold));
    }
    fit.known = found > 0 && found == ways * (size_t)run->mtu_plan.common.flows;
    return fit;
}
