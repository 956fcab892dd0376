/* Owns the idle interval and the comparison of two lists of sockets. */
#include "agent/probe/idle.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "agent/host/counters.h"
#include "agent/host/procfs.h"
#include "agent/host/sockets.h"
#include "agent/probe/system_count.h"
#include "proto/base/clock.h"
#include "proto/base/text.h"

enum { TICK_MS = 100 };

static bool is_set(const atomic_bool *flag)
{
    return flag != NULL && atomic_load_explicit(flag, memory_order_relaxed);
}

bool idle_is_over(const atomic_bool *finish, const atomic_bool *stop)
{
    return is_set(finish) || is_set(stop);
}

static void wait_idle(double seconds, const struct idle_watch *watch, struct mono start)
{
    int64_t length = (int64_t)(seconds * (double)NS_PER_S);
    int64_t left;

    while ((left = length - mono_between(start, mono_now())) > 0 &&
           !idle_is_over(watch->finish, watch->stop)) {
        int64_t ms = (left + NS_PER_MS - 1) / NS_PER_MS;

        poll(NULL, 0, ms < TICK_MS ? (int)ms : TICK_MS);
        if (watch->tick != NULL)
            watch->tick(watch->context);
    }
}

enum status idle_listen(double seconds, const struct idle_watch *watch,
                        struct idle_result *out_idle, struct fault *fault)
{
    struct mono start = mono_now();
    struct counters before, after;
    bool reset[COUNTER_COUNT];
    enum status status = system_counters(&before, fault);

    if (status != STATUS_OK)
        return status;
    wait_idle(seconds, watch, start);
    status = system_counters(&after, fault);
    if (status != STATUS_OK)
        return status;
    counters_subtract(&before, &after, counters_width32(), &out_idle->delta, reset);
    out_idle->seconds = (double)mono_between(start, mono_now()) / (double)NS_PER_S;
    return STATUS_OK;
}

/* --- who dropped ------------------------------------------------------------------------------ */

/* Inodes are used again, so the port must be the same. */
static const struct proc_socket *find_socket(const struct list *sockets,
                                             const struct proc_socket *like)
{
    const struct proc_socket *all = sockets->items;

    for (size_t i = 0; i < sockets->count; i++) {
        if (all[i].inode == like->inode && all[i].port == like->port)
            return &all[i];
    }
    return NULL;
}

/* The kernel's count is 32 bits wide; one that went far back is another socket's. */
static int64_t drops_since(const struct proc_socket *before, const struct proc_socket *after)
{
    uint32_t step;

    if (before == NULL || before->drops == NONE_INT)
        return after->drops;
    step = (uint32_t)after->drops - (uint32_t)before->drops;
    return step > UINT32_MAX / 2 ? after->drops : (int64_t)step;
}

static int by_drops(const void *a, const void *b)
{
    const struct drop_owner *left = a, *right = b;

    if (left->drops != right->drops)
        return left->drops < right->drops ? 1 : -1;
    return left->port > right->port ? 1 : left->port < right->port ? -1 : 0;
}

void idle_compare(const struct list *before, const struct list *after, struct list *owners)
{
    const struct proc_socket *all = after->items;

    for (size_t i = 0; i < after->count; i++) {
        struct drop_owner *owner;
        int64_t drops;

        if (all[i].drops <= 0) /* none, or not known */
            continue;
        drops = drops_since(find_socket(before, &all[i]), &all[i]);
        if (drops == 0)
            continue;
        owner = list_append_sized(owners, sizeof *owner);
        *owner = (struct drop_owner){ .port = all[i].port, .drops = drops, .inode = all[i].inode };
    }
    if (owners->count > 1)
        qsort(owners->items, owners->count, sizeof(struct drop_owner), by_drops);
}

/* Only as many as the record takes. */
static void cut_owners(struct list *owners)
{
    size_t most = record_field(&experiment_result_record, "owners", NULL)->size;

    if (owners->count > most)
        owners->count = most;
}

static void name_owners(struct list *list)
{
    struct drop_owner *owners = list->items;
    struct socket_owner *asked = calloc(list->count + 1, sizeof *asked);

    if (asked == NULL)
        abort();
    for (size_t i = 0; i < list->count; i++)
        asked[i].inode = owners[i].inode;
    sockets_find_owners(asked, list->count);
    for (size_t i = 0; i < list->count; i++)
        text_copy(owners[i].process, sizeof owners[i].process, asked[i].process);
    free(asked);
}

enum status idle_measure(double seconds, const struct idle_watch *watch,
                         struct idle_result *out_idle, struct fault *fault)
{
    struct list before = { 0 };
    struct list after = { 0 };
    bool told = sockets_read(&before, NULL) == STATUS_OK;
    enum status status = idle_listen(seconds, watch, out_idle, fault);

    if (status == STATUS_OK && told && sockets_read(&after, NULL) == STATUS_OK) {
        idle_compare(&before, &after, &out_idle->owners);
        cut_owners(&out_idle->owners);
        name_owners(&out_idle->owners);
    }
    free(before.items);
    free(after.items);
    return status;
}
