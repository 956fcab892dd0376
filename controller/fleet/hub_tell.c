/* Owns what whoever watches a run is told, and what of it is worth a line in the log. Must not know
 * how a run is measured. */
#include <stdio.h>

#include "controller/fleet/hub_part.h"
#include "proto/base/log.h"

enum { PROGRESS_PENDING = 256 << 10 };

void hub_tell(const struct hub_run *run, const void *message)
{
    for (size_t i = 0; i < 2; i++)
        hub_send(run->hub, run->watchers[i], message);
}

/* News of what runs is worth nothing to somebody who is that far behind. */
void hub_tell_progress(const struct hub_run *run, const struct message_run_progress *progress)
{
    const struct hub *hub = run->hub;

    for (size_t i = 0; i < 2; i++) {
        if (run->watchers[i] != 0 &&
            hub->port.pending(hub->port.context, run->watchers[i]) < PROGRESS_PENDING)
            hub_send(run->hub, run->watchers[i], progress);
    }
}

/* An error that late reports have mended is told once, as what it was. False when it was. */
static bool tell_row(struct hub *hub, const char *id, int64_t index, const void *message)
{
    struct hub_run *run = hub_find_run(hub, id);

    if (run == NULL || run->told[index])
        return false;
    hub_tell(run, message);
    run->told[index] = true;
    return true;
}

void hub_case_done(struct hub *hub, const struct case_row *row)
{
    struct message_case_done done;

    message_init(&done, MESSAGE_CASE_DONE);
    done.row = *row;
    (void)tell_row(hub, row->run, row->index, &done);
}

/* --- path MTU ------------------------------------------------------------------------------- */

/* One line about an answer that is another than before. NONE_INT: none. */
struct change {
    const char *from, *to; /* agents */
    enum family family;
    enum mtu_direction direction;
    int64_t now, before;
};

static void log_change(const struct change *change)
{
    char now[24] = "none", before[24] = "none";

    if (change->now != NONE_INT)
        snprintf(now, sizeof now, "%lld", (long long)change->now);
    if (change->before != NONE_INT)
        snprintf(before, sizeof before, "%lld", (long long)change->before);
    log_line(LOG_LEVEL_WARNING, "path MTU from %s to %s, %s %s: %s, was %s", change->from,
             change->to, change->family == FAMILY_IPV4 ? "IPv4" : "IPv6",
             mtu_direction_names[change->direction], now, before);
}

void hub_mtu_done(struct hub *hub, const struct mtu_row *row)
{
    const struct change change = { row->from,      row->to,       row->family,
                                   row->direction, row->path_mtu, row->previous };
    struct message_mtu_done done;

    message_init(&done, MESSAGE_MTU_DONE);
    done.row = *row;
    /* What an error knows may be a part of the answer only. */
    if (tell_row(hub, row->run, row->index, &done) && row->status != CASE_ERROR &&
        row->previous != NONE_INT && row->path_mtu != row->previous)
        log_change(&change);
}

void hub_tell_moved(const struct hub_run *run, const struct message_run_moved *moved)
{
    const struct change change = { run->entry.from,  run->entry.to,   moved->family,
                                   moved->direction, moved->event.to, moved->event.from };

    hub_tell(run, moved);
    if (moved->event.change != MTU_CHANGE_KNOWN)
        log_change(&change);
}
