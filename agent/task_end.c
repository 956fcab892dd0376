/* Owns how an order becomes an end of its kind, and what the kinds have in common. Must not know
 * mailboxes or threads, nor what is measured. */
#include "agent/task_end.h"

#include <assert.h>
#include <poll.h>
#include <string.h>

enum status task_end_new(const struct task_ground *ground, struct task_end **out_end,
                         struct fault *fault)
{
    return ground->open->kind == WORK_MTU ? task_end_mtu_new(ground, out_end, fault)
                                          : task_end_case_new(ground, out_end, fault);
}

void task_end_free(struct task_end *end)
{
    if (end != NULL)
        end->kind->free(end);
}

/* Admission has looked at both. */
uint16_t task_end_key(const struct task_end *end, uint8_t out_key[STAMP_KEY_SIZE])
{
    const struct message_open *open = end->ground->open;

    assert(open->key.length == STAMP_KEY_SIZE);
    assert(open->ssid > 0 && open->ssid <= UINT16_MAX - (PART_COUNT - 1));
    memcpy(out_key, open->key.data, STAMP_KEY_SIZE);
    return (uint16_t)open->ssid;
}

static bool may_guest(void *context, const struct addr *host)
{
    const struct task_end *end = context;

    return admission_allows_host(end->ground->surroundings->admission, host);
}

enum status task_end_place(struct task_end *end, enum family family,
                           struct echo_end_place *out_place, struct fault *fault)
{
    const struct echo_config *config = end->ground->surroundings->echo;
    struct addr bind_to;
    enum status status = addr_parse_host(
        family == FAMILY_IPV6 ? config->bind_ipv6 : config->bind_ipv4, &bind_to, fault);

    if (status != STATUS_OK)
        return status;
    *out_place = (struct echo_end_place){
        .bind_to = bind_to,
        .first_port = (uint16_t)config->first_port,
        .last_port = (uint16_t)config->last_port,
        .may_guest = may_guest,
        .context = end,
    };
    return STATUS_OK;
}

void task_end_sleep(int wake_fd, int64_t timeout_ns)
{
    struct pollfd wake = { .fd = wake_fd, .events = POLLIN };

    poll(&wake, 1, (int)(timeout_ns / NS_PER_MS));
}
