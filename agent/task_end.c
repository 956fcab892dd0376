/* Owns what a sender's and an echo's end have in common, and how an order becomes one of them. Must
 * not know mailboxes or threads. */
#include "agent/task_end.h"

#include <assert.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/memory.h"

struct task_end {
    struct sender_end *sender; /* one of the two */
    struct echo_end *echo;
    const struct admission *admission;
};

/* Admission has looked at all of it but what only a task knows. */
static enum status order_of(const struct message_open *open, const atomic_bool *stop,
                            struct end_order *out_order, struct fault *fault)
{
    assert(open->key.length == sizeof out_order->key);
    assert(open->ssid > 0 && open->ssid <= UINT16_MAX - (PART_COUNT - 1));
    if (!(open->of_case.idle_s <= TASK_IDLE_S))
        return fault_set(fault, STATUS_RANGE,
                         "between hosts idle_s allows %g seconds, %g were asked for", TASK_IDLE_S,
                         open->of_case.idle_s);
    *out_order = (struct end_order){
        .ssid = (uint16_t)open->ssid,
        .idle_s = open->of_case.idle_s,
        .stop = stop,
        .params = open->of_case.params,
    };
    memcpy(out_order->key, open->key.data, sizeof out_order->key);
    return STATUS_OK;
}

static enum status new_sender(const struct message_open *open, const struct end_order *order,
                              struct sender_end **out_sender, struct fault *fault)
{
    struct addr target;
    enum status status = addr_parse(open->target, &target, fault);

    if (status != STATUS_OK)
        return status;
    return sender_end_new(order, &target, out_sender, fault);
}

static bool may_guest(void *context, const struct addr *host)
{
    const struct task_end *end = context;

    return admission_allows_host(end->admission, host);
}

static enum status new_echo(struct task_end *end, const struct end_order *order,
                            const struct echo_config *config, struct fault *fault)
{
    bool v6 = order->params.common.family == FAMILY_IPV6;
    struct echo_end_place place = {
        .first_port = (uint16_t)config->first_port,
        .last_port = (uint16_t)config->last_port,
        .may_guest = may_guest,
        .context = end,
    };
    enum status status =
        addr_parse_host(v6 ? config->bind_ipv6 : config->bind_ipv4, &place.bind_to, fault);

    if (status != STATUS_OK)
        return status;
    return echo_end_new(order, &place, &end->echo, fault);
}

enum status task_end_new(const struct message_open *open,
                         const struct task_surroundings *surroundings, const atomic_bool *stop,
                         struct task_end **out_end, struct fault *fault)
{
    struct end_order order = { .ssid = 0 };
    struct task_end *end;
    enum status status = order_of(open, stop, &order, fault);

    if (status != STATUS_OK)
        return status;
    end = memory_new(1, sizeof *end);
    end->admission = surroundings->admission;
    status = open->role == END_SENDER ? new_sender(open, &order, &end->sender, fault)
                                      : new_echo(end, &order, surroundings->echo, fault);
    if (status != STATUS_OK) {
        free(end);
        return status;
    }
    *out_end = end;
    return STATUS_OK;
}

void task_end_free(struct task_end *end)
{
    if (end == NULL)
        return;
    if (end->sender != NULL)
        sender_end_free(end->sender);
    if (end->echo != NULL)
        echo_end_free(end->echo);
    free(end);
}

uint16_t task_end_port(const struct task_end *end)
{
    return end->echo != NULL ? echo_end_port(end->echo) : 0;
}

enum status task_end_agree(struct task_end *end, const struct phase_watch *watch,
                           struct fault *fault)
{
    return end->sender != NULL ? sender_end_agree(end->sender, watch, fault) : STATUS_OK;
}

void task_end_wait(struct task_end *end, int wake_fd, int64_t timeout_ns)
{
    if (end->echo != NULL) {
        echo_end_wait(end->echo, wake_fd, timeout_ns);
    } else {
        struct pollfd wake = { .fd = wake_fd, .events = POLLIN };

        poll(&wake, 1, (int)(timeout_ns / NS_PER_MS));
    }
}

enum status task_end_phase(struct task_end *end, enum phase_kind kind,
                           const struct phase_watch *watch, struct half_phase *out_half,
                           struct fault *fault)
{
    return end->sender != NULL ? sender_end_phase(end->sender, kind, watch, out_half, fault)
                               : echo_end_phase(end->echo, kind, watch, out_half, fault);
}

bool task_end_progress(const struct task_end *end, int64_t *out_sent, int64_t *out_received)
{
    if (end->sender == NULL)
        return false;
    sender_end_progress(end->sender, out_sent, out_received);
    return true;
}

enum status task_end_report(struct task_end *end, struct report *report, struct fault *fault)
{
    return end->sender != NULL ? sender_end_report(end->sender, report, fault)
                               : echo_end_report(end->echo, report, fault);
}
