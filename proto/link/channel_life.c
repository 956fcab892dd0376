/* Owns what becomes of one connection. Must not know how connections begin, nor how ZeroMQ is
 * asked.
 */
#include "proto/link/channel_life.h"

#include <stdio.h>
#include <stdlib.h>

#include "proto/link/channel_fd.h"

/* ZeroMQ does not say when a full connection has room again: it is asked, less and less often. */
#define RETRY_FIRST_NS NS_PER_MS
#define RETRY_LAST_NS  (100 * NS_PER_MS)

/* A deadline that has moved by less than this is not worth a new place among the timers. */
#define DEADLINE_SLACK_NS NS_PER_S

void channel_enter(struct channel *channel)
{
    channel->depth++;
}

void channel_leave(struct channel *channel)
{
    if (--channel->depth > 0)
        return;
    channel_table_sweep(&channel->table);
    if (!channel->freed)
        return;
    channel_table_done(&channel->table);
    free(channel);
}

static bool may_call(const struct channel *channel, const struct channel_slot *slot)
{
    return !channel->freed && !slot->told && !slot->released;
}

void channel_tell_down(struct channel *channel, struct channel_slot *slot, const char *reason)
{
    if (!may_call(channel, slot))
        return;
    slot->told = true;
    channel->live--;
    channel->strangers -= slot->stranger;
    slot->stranger = false;
    channel->counts.timeouts += slot->end == END_TIMEOUT;
    channel->counts.slow += slot->end == END_SLOW;
    channel->counts.broken += slot->end == END_BROKEN;
    channel->counts.refused_tls += slot->end == END_REFUSED;
    channel->events.down(channel->events.context, slot->number, slot->announced, reason);
}

bool channel_judge(struct channel *channel, struct channel_slot *slot)
{
    if (slot->released || slot->peer == NULL || !peer_is_revoked(slot->peer, channel->context))
        return false;
    peer_close(slot->peer, "certificate revoked", loop_now(channel->loop));
    channel_later(channel, slot);
    return true;
}

/* Its handshake may have begun with an older list of the revoked. */
static void tell_up(struct channel *channel, struct channel_slot *slot)
{
    if (slot->announced || !may_call(channel, slot) || channel_judge(channel, slot))
        return;
    slot->announced = true;
    channel->strangers -= slot->stranger;
    slot->stranger = false;
    channel->counts.up++;
    channel->events.up(channel->events.context, slot->number, peer_identity(slot->peer),
                       slot->address);
}

/* A connection that was up and has ended in one go still has frames to give. */
void channel_deliver(struct channel *channel, struct channel_slot *slot)
{
    const uint8_t *bytes;
    size_t length;

    if (peer_state(slot->peer) == PEER_UP)
        tell_up(channel, slot);
    while (may_call(channel, slot) && peer_next_frame(slot->peer, &bytes, &length)) {
        tell_up(channel, slot);
        channel->counts.frames_in++;
        if (slot->announced && may_call(channel, slot))
            channel->events.message(channel->events.context, slot->number, bytes, length);
    }
}

void channel_release(struct channel *channel, struct channel_slot *slot)
{
    if (slot->released)
        return;
    channel->held -= slot->held;
    slot->held = 0;
    loop_timer_cancel(channel->loop, &slot->timer);
    channel_table_release(&channel->table, slot);
}

/* The one that holds most. */
static void find_heaviest(struct channel_slot *slot, void *context)
{
    struct channel_slot **heaviest = context;

    if (*heaviest == NULL || slot->held > (*heaviest)->held)
        *heaviest = slot;
}

void channel_weigh(struct channel *channel, struct channel_slot *slot)
{
    const uint8_t *bytes;
    size_t held = slot->peer != NULL ? peer_output(slot->peer, &bytes) : 0;
    struct channel_slot *heaviest = NULL;
    char reason[128];

    channel->held += held - slot->held;
    slot->held = held;
    if (channel->held <= channel->rules.outbound_all_cap)
        return;
    channel_table_each(&channel->table, find_heaviest, &heaviest);
    snprintf(reason, sizeof reason,
             "%zu bytes wait for all connections, which is too much, and most of them for this one",
             channel->held);
    heaviest->end = END_SLOW;
    peer_lost(heaviest->peer, reason);
    channel->held -= heaviest->held;
    heaviest->held = 0;
    channel_later(channel, heaviest);
}

void channel_lose(struct channel *channel, struct channel_slot *slot, const char *reason)
{
    slot->lost = true;
    if (slot->peer != NULL && peer_state(slot->peer) < PEER_CLOSING)
        slot->end = END_BROKEN;
    if (slot->peer != NULL)
        peer_lost(slot->peer, reason);
    channel_later(channel, slot);
}

/* Gives ZeroMQ what it takes. */
static void flush(struct channel *channel, struct channel_slot *slot)
{
    const uint8_t *bytes;
    size_t length;
    enum status status;

    while (slot->connected && !slot->lost && (length = peer_output(slot->peer, &bytes)) > 0) {
        if (length > CHANNEL_PIECE_BYTES)
            length = CHANNEL_PIECE_BYTES;
        status = channel_socket_send(channel->socket, slot->key, bytes, length);
        if (status == STATUS_NOT_FOUND) {
            channel_lose(channel, slot, "the connection is gone");
            return;
        }
        if (status != STATUS_OK) {
            slot->retry_ns = slot->retry_ns == 0 ? RETRY_FIRST_NS : 2 * slot->retry_ns;
            if (slot->retry_ns > RETRY_LAST_NS)
                slot->retry_ns = RETRY_LAST_NS;
            break;
        }
        slot->retry_ns = 0;
        peer_sent(slot->peer, length);
        channel->counts.bytes_out += length;
    }
    channel_weigh(channel, slot);
}

/* Its peer is down: ZeroMQ closes it when it can. One that does not read is cut off, because ZeroMQ
 * would wait for it; it stays as a ghost, whose notices are no new connection. */
static void finish(struct channel *channel, struct channel_slot *slot)
{
    enum status status = STATUS_NOT_FOUND;

    if (!slot->lost || channel->connects) /* what we connected stays until we close it */
        status = channel_socket_send(channel->socket, slot->key, NULL, 0);
    if (status == STATUS_AGAIN || slot->end == END_TIMEOUT || slot->end == END_SLOW)
        channel_fd_cut(slot->fd, slot->ends);
    if (status != STATUS_AGAIN) {
        channel_release(channel, slot);
        return;
    }
    peer_free(slot->peer);
    slot->peer = NULL;
    slot->retry_ns = RETRY_LAST_NS;
    channel_weigh(channel, slot);
}

/* Wakes for its deadline, or for the next attempt to send. */
static void arm(struct channel *channel, struct channel_slot *slot, struct mono now)
{
    struct mono at = { INT64_MAX };

    if (slot->peer != NULL)
        at = peer_deadline(slot->peer);
    if (slot->retry_ns > 0 && mono_after(now, slot->retry_ns).ns < at.ns)
        at = mono_after(now, slot->retry_ns);
    if (slot->timer.place == 0 || at.ns < slot->timer.at.ns ||
        mono_between(slot->timer.at, at) > DEADLINE_SLACK_NS)
        loop_timer_set(channel->loop, &slot->timer, at);
}

static void tell_end(struct channel *channel, struct channel_slot *slot)
{
    char reason[ADDR_TEXT_SIZE + 32];

    if (slot->told)
        return;
    if (slot->end == END_OTHER && !slot->announced)
        slot->end = END_REFUSED;
    if (!slot->connected)
        channel->ipv4_only = !channel->ipv4_only;
    if (slot->connected || slot->end != END_TIMEOUT) {
        channel_tell_down(channel, slot, peer_reason(slot->peer));
        return;
    }
    snprintf(reason, sizeof reason, "no connection to %s", slot->address);
    channel_tell_down(channel, slot, reason);
}

static void attend(struct channel *channel, struct channel_slot *slot, struct mono now)
{
    if (slot->peer != NULL) {
        channel_deliver(channel, slot);
        if (!slot->released && peer_state(slot->peer) >= PEER_CLOSING)
            tell_end(channel, slot);
        if (!slot->released)
            flush(channel, slot);
        if (!slot->released && peer_state(slot->peer) == PEER_DOWN) {
            tell_end(channel, slot);
            finish(channel, slot);
        }
    } else {
        finish(channel, slot);
    }
    if (!slot->released && !channel->freed)
        arm(channel, slot, now);
}

static void on_deadline(void *context, struct mono now)
{
    struct channel_slot *slot = context;

    if (slot->peer != NULL && peer_state(slot->peer) != PEER_DOWN) {
        peer_tick(slot->peer, now);
        if (peer_state(slot->peer) == PEER_DOWN)
            slot->end = END_TIMEOUT;
    }
    channel_later(slot->channel, slot);
}

struct channel_slot *channel_begin(struct channel *channel, channel_peer number, uint64_t key,
                                   const struct peer_rules *rules)
{
    struct channel_slot *slot = channel_table_add(&channel->table, number, key);

    slot->channel = channel;
    slot->fd = -1;
    slot->stranger = true;
    slot->timer.handler = on_deadline;
    slot->timer.context = slot;
    slot->peer =
        peer_new(channel->context, rules, loop_now(channel->loop), loop_wall(channel->loop));
    channel->live++;
    channel->strangers++;
    channel_later(channel, slot);
    return slot;
}

void channel_part(struct channel *channel, struct channel_slot *slot, const char *reason)
{
    if (slot->released)
        return;
    if (slot->peer != NULL) {
        peer_close(slot->peer, reason, loop_now(channel->loop));
        flush(channel, slot);
    }
    channel_release(channel, slot);
}

void channel_later(struct channel *channel, struct channel_slot *slot)
{
    channel_queue_put(&channel->queue, slot);
    if (channel->queue_timer.place == 0)
        loop_timer_set(channel->loop, &channel->queue_timer, (struct mono){ INT64_MIN });
}

void channel_attend_all(struct channel *channel, struct mono now)
{
    size_t count = channel->queue.count;
    struct channel_slot *slot;

    while (count-- > 0 && (slot = channel_queue_take(&channel->queue)) != NULL) {
        if (!slot->released && !channel->freed)
            attend(channel, slot, now);
    }
    if (channel->queue.count == 0)
        loop_timer_cancel(channel->loop, &channel->queue_timer);
}
