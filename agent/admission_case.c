/* Owns what a case is asked for, against the limits of the configuration. */
#include <math.h>
#include <stdio.h>

#include "agent/admission_part.h"
#include "proto/base/clock.h"
#include "proto/wire/stamp.h"

static enum status check_payload(const struct case_params *params, struct fault *fault)
{
    int64_t largest = params->common.family == FAMILY_IPV4 ? PAYLOAD_MAX_IPV4 : PAYLOAD_MAX_IPV6;

    if (params->payload >= 0 && params->payload <= largest &&
        stamp_size_ok(STAMP_AUTHENTICATED, (size_t)params->payload))
        return STATUS_OK;
    return fault_set(fault, STATUS_INVALID,
                     "payload: %lld is not allowed between hosts: %d (a bare authenticated STAMP "
                     "datagram), or %d to %lld (%s)",
                     (long long)params->payload, STAMP_AUTHENTICATED_SIZE, STAMP_HEAD_MAX,
                     (long long)largest, family_name(params->common.family));
}

enum status admission_case_sense(const struct case_params *params, struct fault *fault)
{
    enum status status = check_payload(params, fault);

    if (status == STATUS_OK && params->common.clients * params->window > LIMIT_OUTSTANDING)
        status = fault_set(fault, STATUS_INVALID,
                           "window: %lld x %lld clients are not allowed: at most %d datagrams may "
                           "be outstanding",
                           (long long)params->window, (long long)params->common.clients,
                           LIMIT_OUTSTANDING);
    return status;
}

static enum status check_counts(const struct admission_config *limits,
                                const struct case_params *params, struct fault *fault)
{
    const struct case_common *common = &params->common;
    const struct {
        const char *key, *unit;
        int64_t limit, asked;
    } checks[] = {
        { "max_payload", "bytes", limits->max_payload, params->payload },
        { "max_clients", "clients", limits->max_clients, common->clients },
        { "max_outstanding", "datagrams outstanding", limits->max_outstanding,
          common->clients * params->window },
        { "max_socket_buffer", "bytes to receive into", limits->max_socket_buffer, common->rcvbuf },
        { "max_socket_buffer", "bytes to send from", limits->max_socket_buffer, common->sndbuf },
        { "max_io_threads", "threads", limits->max_io_threads, common->io_threads },
    };
    char allows[64], asked[64];

    for (size_t i = 0; i < RECORD_COUNT(checks); i++) {
        if (checks[i].asked <= checks[i].limit)
            continue;
        snprintf(allows, sizeof allows, "%lld %s", (long long)checks[i].limit, checks[i].unit);
        snprintf(asked, sizeof asked, "%lld were asked for", (long long)checks[i].asked);
        return admission_denied(fault, checks[i].key, allows, asked);
    }
    return STATUS_OK;
}

static enum status check_rate(const struct admission_config *limits,
                              const struct case_params *params, struct fault *fault)
{
    const struct case_common *common = &params->common;
    char allows[64], asked[96];
    double rate;

    if (limits->max_rate == 0)
        return STATUS_OK;
    snprintf(allows, sizeof allows, "%lld datagrams a second", (long long)limits->max_rate);
    if (common->interval_ns <= 0)
        return admission_denied(
            fault, "max_rate", allows,
            "a closed loop, which has no rate, was asked for (interval_ns is 0)");
    rate =
        (double)(common->clients * params->window) * (double)NS_PER_S / (double)common->interval_ns;
    if (rate <= (double)limits->max_rate)
        return STATUS_OK;
    snprintf(asked, sizeof asked, "%.0f were asked for", ceil(rate));
    return admission_denied(fault, "max_rate", allows, asked);
}

enum status admission_case_limits(const struct admission_config *limits,
                                  const struct open_case *asked, struct fault *fault)
{
    const struct case_common *common = &asked->params.common;
    enum status status = check_counts(limits, &asked->params, fault);

    if (status == STATUS_OK)
        status = admission_seconds(limits, common->warmup_s + common->seconds, "", fault);
    if (status == STATUS_OK)
        status = admission_seconds(limits, asked->idle_s, " as idle interval", fault);
    return status == STATUS_OK ? check_rate(limits, &asked->params, fault) : status;
}
