/* Owns how connections begin and who is let in: accepting, connecting, limits; and what comes from
 * ZeroMQ. Must not know what is said in a connection.
 *
 * A channel that connects makes a fresh socket whenever none of its connections lives: the one of
 * an agent is alone on its socket, whose hints are then about it, and nothing of an old connection
 * is left in ZeroMQ. Thousands of connections share one.
 */
#include "proto/link/channel.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/memory.h"
#include "proto/base/text.h"
#include "proto/link/channel_fd.h"
#include "proto/link/channel_life.h"
#include "proto/wire/limits.h"

/* How long one turn reads, or hears patient ones, before others have theirs. */
#define WORK_NS (4 * NS_PER_MS)

/* What may wait of patient ones. ZeroMQ gives a piece of each connection in turn, whoever it is: to
 * find those of others, all are read ahead. */
enum { WAIT_BYTES = 64 << 20 };

/* When a connection has ended unsaid, its descriptor tells a moment later, or later still. */
#define LOOK_FIRST_NS (20 * NS_PER_MS)
#define LOOK_LAST_NS  (500 * NS_PER_MS)
enum { LOOK_FACTOR = 5 };

/* Connections that are closing, beside those that live. */
enum { CLOSING_SHARE = 4, CLOSING_LEAST = 16 };

static void on_queue(void *context, struct mono now)
{
    struct channel *channel = context;

    channel_enter(channel);
    channel_attend_all(channel, now);
    channel_leave(channel);
}

static const char *address_of(const struct channel_piece *piece)
{
    const char *address = piece->address;

    if (strncmp(address, "::ffff:", 7) == 0 && strchr(address, '.') != NULL)
        address += 7; /* an IPv4 address as an IPv6 socket sees it */
    return address;
}

static void connected(struct channel *channel, struct channel_slot *slot,
                      const struct channel_piece *piece)
{
    slot->connected = true;
    slot->fd = piece->fd;
    slot->ends = channel_fd_ends(piece->fd);
    if (address_of(piece)[0] != '\0')
        text_copy(slot->address, sizeof slot->address, address_of(piece));
    channel_later(channel, slot);
}

/* Why no further connection is let in; NULL: it is. */
static const char *refusal(struct channel *channel, char out_reason[FAULT_TEXT_SIZE])
{
    if (channel->live >= channel->rules.peers_max) {
        channel->counts.refused_full++;
        snprintf(out_reason, FAULT_TEXT_SIZE, "refused: %zu connections are the limit",
                 channel->rules.peers_max);
    } else if (channel->table.count >= channel->slots_max) {
        channel->counts.refused_full++;
        snprintf(out_reason, FAULT_TEXT_SIZE,
                 "refused: the limit of open files leaves room for %zu connections",
                 channel->slots_max);
    } else if (channel->strangers >= channel->rules.strangers_max) {
        channel->counts.refused_strangers++;
        snprintf(out_reason, FAULT_TEXT_SIZE,
                 "refused: %zu connections whose handshake is not over are the limit",
                 channel->rules.strangers_max);
    } else {
        return NULL;
    }
    return out_reason;
}

static void accept_stranger(struct channel *channel, const struct channel_piece *piece)
{
    const struct peer_rules rules = { .side = TLS_SERVER,
                                      .roles = channel->rules.roles,
                                      .outbound_cap = channel->rules.outbound_cap };
    channel_peer number = ++channel->last_number;
    char text[FAULT_TEXT_SIZE];
    const char *reason = refusal(channel, text);
    enum status status;

    channel->counts.accepted++;
    if (reason == NULL) {
        connected(channel, channel_begin(channel, number, piece->key, &rules), piece);
        return;
    }
    /* When it is about to be gone it cannot be closed, and need not be. */
    status = channel_socket_send(channel->socket, piece->key, NULL, 0);
    (void)status;
    channel->refused = address_of(piece);
    channel->events.down(channel->events.context, number, false, reason);
    channel->refused = NULL;
}

/* Bytes, or without bytes the notice that it is gone. */
static void hear(struct channel *channel, struct channel_slot *slot, const uint8_t *bytes,
                 size_t length)
{
    if (slot->peer == NULL && length == 0) {
        channel_release(channel, slot);
    } else if (slot->peer != NULL && length == 0) {
        channel_lose(channel, slot, "the connection broke");
    } else if (slot->peer != NULL) {
        peer_input(slot->peer, bytes, length, loop_now(channel->loop));
        channel_later(channel, slot);
        channel_deliver(channel, slot);
    }
}

static bool is_patient(const struct channel *channel, const struct channel_slot *slot)
{
    const struct identity *who = slot->peer != NULL ? peer_identity(slot->peer) : NULL;

    return who != NULL && (channel->rules.patient & 1u << who->role) != 0;
}

static void take(struct channel *channel, const struct channel_piece *piece)
{
    struct channel_slot *slot = channel_table_by_key(&channel->table, piece->key);

    channel->counts.bytes_in += piece->length;
    if (slot == NULL) {
        /* Bytes of nobody are the rest of one that was refused or has been closed. */
        if (!channel->connects && piece->length == 0)
            accept_stranger(channel, piece);
    } else if (piece->length == 0 && slot->peer != NULL && !slot->connected) {
        connected(channel, slot, piece);
    } else if (is_patient(channel, slot)) {
        channel_wait_put(&channel->wait, slot->number, piece->bytes, piece->length);
    } else {
        hear(channel, slot, piece->bytes, piece->length);
    }
}

/* Reads until there is nothing, enough waits or the time is over; true when there is nothing. A
 * handler may have freed the channel or changed its socket. */
static bool pump(struct channel *channel, struct mono now)
{
    struct mono end = mono_after(now, WORK_NS);
    struct channel_piece piece;
    bool more = true;

    while (more && channel->socket != NULL && channel_socket_receive(channel->socket, &piece)) {
        take(channel, &piece);
        more = channel->wait.held < WAIT_BYTES && loop_now(channel->loop).ns < end.ns;
    }
    if (channel->wait.first != NULL && !channel->freed)
        loop_timer_set(channel->loop, &channel->wait_timer, (struct mono){ INT64_MIN });
    return more;
}

/* Those that were patient; one that is not there any more is not heard. */
static void on_wait(void *context, struct mono now)
{
    struct channel *channel = context;
    struct mono end = mono_after(now, WORK_NS);
    struct channel_waiting *piece;

    channel_enter(channel);
    while (!channel->freed && loop_now(channel->loop).ns < end.ns &&
           (piece = channel_wait_take(&channel->wait)) != NULL) {
        struct channel_slot *slot = channel_table_by_number(&channel->table, piece->number);

        if (slot != NULL)
            hear(channel, slot, piece->bytes, piece->length);
        free(piece);
    }
    if (channel->wait.first != NULL && !channel->freed)
        loop_timer_set(channel->loop, &channel->wait_timer, (struct mono){ INT64_MIN });
    channel_attend_all(channel, loop_now(channel->loop));
    channel_leave(channel);
}

static void on_data(void *context, struct mono now)
{
    struct channel *channel = context;

    channel_enter(channel);
    (void)pump(channel, now);
    channel_attend_all(channel, loop_now(channel->loop));
    channel_leave(channel);
}

static void lose_unconnected(struct channel_slot *slot, void *context)
{
    char reason[ADDR_TEXT_SIZE + 64];

    if (slot->released || slot->connected)
        return;
    snprintf(reason, sizeof reason, "no connection to %s: refused, or no way there", slot->address);
    channel_lose(context, slot, reason);
}

static void lose_ended(struct channel_slot *slot, void *context)
{
    if (!slot->released && slot->fd >= 0 && !slot->lost &&
        (slot->ends == 0 || channel_fd_ends(slot->fd) != slot->ends))
        channel_lose(context, slot, "the connection broke");
}

/* What came before the end is read first. */
static void on_look(void *context, struct mono now)
{
    struct channel *channel = context;
    bool read;

    channel_enter(channel);
    read = pump(channel, now);
    if (!channel->freed) {
        if (read) {
            channel_table_each(&channel->table, lose_ended, channel);
            channel->look_ns = channel->look_ns < LOOK_LAST_NS ? LOOK_FACTOR * channel->look_ns : 0;
        }
        if (channel->look_ns > 0)
            loop_timer_set(channel->loop, &channel->look_timer, mono_after(now, channel->look_ns));
    }
    channel_attend_all(channel, now);
    channel_leave(channel);
}

static void on_hint(void *context, struct mono now)
{
    struct channel *channel = context;
    struct channel_socket_hints hints = channel_socket_hints(channel->socket);

    if (hints.failed && channel->made == 1)
        channel_table_each(&channel->table, lose_unconnected, channel);
    if (hints.ended) {
        channel->look_ns = LOOK_FIRST_NS;
        loop_timer_set(channel->loop, &channel->look_timer, mono_after(now, LOOK_FIRST_NS));
    }
}

void channel_set_rules(struct channel *channel, const struct channel_rules *rules)
{
    size_t wanted = rules->peers_max + rules->peers_max / CLOSING_SHARE + CLOSING_LEAST;

    assert(rules->outbound_cap >= 2 * LIMIT_FRAME);
    channel->rules = *rules;
    channel->slots_max = channel_fd_room(wanted);
}

enum status channel_new(struct loop *loop, const struct channel_setup *setup,
                        struct channel **out_channel, struct fault *fault)
{
    struct channel *channel = memory_new(1, sizeof *channel);

    (void)fault;
    channel->loop = loop;
    channel->context = setup->context;
    channel->events = *setup->events;
    channel_set_rules(channel, setup->rules);
    channel_table_init(&channel->table, channel->slots_max);
    channel->queue_timer = (struct loop_timer){ .handler = on_queue, .context = channel };
    channel->look_timer = (struct loop_timer){ .handler = on_look, .context = channel };
    channel->wait_timer = (struct loop_timer){ .handler = on_wait, .context = channel };
    *out_channel = channel;
    return STATUS_OK;
}

static void part(struct channel_slot *slot, void *context)
{
    channel_part(context, slot, "shutting down");
}

static void drop_socket(struct channel *channel)
{
    if (channel->socket == NULL)
        return;
    channel_table_each(&channel->table, part, channel);
    loop_timer_cancel(channel->loop, &channel->look_timer);
    channel->look_ns = 0;
    channel_socket_free(channel->socket);
    channel->socket = NULL;
}

void channel_free(struct channel *channel)
{
    if (channel == NULL)
        return;
    channel_enter(channel);
    if (!channel->freed) {
        channel->freed = true;
        drop_socket(channel);
        loop_timer_cancel(channel->loop, &channel->queue_timer);
        loop_timer_cancel(channel->loop, &channel->wait_timer);
        channel_wait_done(&channel->wait);
        while (channel_queue_take(&channel->queue) != NULL)
            ;
    }
    channel_leave(channel);
}

static void judge(struct channel_slot *slot, void *context)
{
    (void)channel_judge(context, slot);
}

void channel_use(struct channel *channel, const struct tls_context *context)
{
    channel->context = context;
    if (tls_context_has_crl(context))
        channel_table_each(&channel->table, judge, channel);
}

static enum status make_socket(struct channel *channel, struct channel_socket_kind kind,
                               struct fault *fault)
{
    enum status status = channel_socket_new(channel->loop, kind, &channel->socket, fault);

    if (status != STATUS_OK)
        return status;
    channel->connects = kind.connects;
    channel->made = 0;
    channel_socket_watch(channel->socket, on_data, on_hint, channel);
    return STATUS_OK;
}

enum status channel_listen(struct channel *channel, const char *address, struct fault *fault)
{
    const struct channel_socket_kind kind = { .connects = false };
    enum status status = STATUS_OK;

    if (channel->socket == NULL)
        status = make_socket(channel, kind, fault);
    if (status != STATUS_OK)
        return status;
    assert(!channel->connects);
    return channel_socket_bind(channel->socket, address, fault);
}

uint16_t channel_port(const struct channel *channel)
{
    return channel->socket != NULL ? channel_socket_port(channel->socket) : 0;
}

/* A name that led nowhere is resolved the other way next time: it may have an IPv6 address that
 * cannot be reached, and ZeroMQ tries only one. */
static enum status ready_socket(struct channel *channel, const char *address, struct fault *fault)
{
    struct channel_socket_kind kind = { .connects = true,
                                        .ipv4_only = channel->ipv4_only && address[0] != '[' };

    if (channel->live == 0)
        drop_socket(channel);
    return channel->socket != NULL ? STATUS_OK : make_socket(channel, kind, fault);
}

enum status channel_connect(struct channel *channel, const struct channel_target *target,
                            channel_peer *out_peer, struct fault *fault)
{
    const struct peer_rules rules = { .side = TLS_CLIENT,
                                      .roles = channel->rules.roles,
                                      .server_name = target->server_name,
                                      .check_name = target->check_name,
                                      .outbound_cap = channel->rules.outbound_cap };
    channel_peer number = channel->last_number + 1;
    struct channel_slot *slot;
    enum status status;

    assert(channel->socket == NULL || channel->connects);
    if (channel->live >= channel->rules.peers_max)
        return fault_set(fault, STATUS_NO_RESOURCE, "%zu connections are the limit",
                         channel->rules.peers_max);
    status = ready_socket(channel, target->address, fault);
    if (status != STATUS_OK)
        return status;
    if (channel->table.count >= channel->slots_max)
        return fault_set(fault, STATUS_NO_RESOURCE,
                         "the limit of open files leaves room for %zu connections",
                         channel->slots_max);
    status = channel_socket_connect(channel->socket, number, target->address, fault);
    if (status != STATUS_OK)
        return status;
    channel->last_number = number;
    channel->made++;
    slot = channel_begin(channel, number, number, &rules);
    text_copy(slot->address, sizeof slot->address, target->address);
    *out_peer = number;
    return STATUS_OK;
}

static struct channel_slot *find(const struct channel *channel, channel_peer peer)
{
    struct channel_slot *slot = channel_table_by_number(&channel->table, peer);

    return slot != NULL && !slot->told ? slot : NULL;
}

enum status channel_send(struct channel *channel, channel_peer peer, const void *bytes,
                         size_t length)
{
    struct channel_slot *slot = find(channel, peer);
    enum status status;

    if (slot == NULL || !slot->announced || peer_state(slot->peer) != PEER_UP)
        return STATUS_NOT_FOUND;
    assert(length > 0);
    if (length > LIMIT_FRAME)
        return STATUS_TOO_LARGE;
    status = peer_send(slot->peer, bytes, length, loop_now(channel->loop));
    channel_later(channel, slot);
    channel_weigh(channel, slot);
    if (status == STATUS_TOO_LARGE)
        slot->end = END_SLOW;
    if (status != STATUS_OK)
        return status == STATUS_TOO_LARGE ? status : STATUS_NOT_FOUND;
    channel->counts.frames_out++;
    return peer_state(slot->peer) == PEER_DOWN ? STATUS_TOO_LARGE : STATUS_OK;
}

size_t channel_pending(const struct channel *channel, channel_peer peer)
{
    const struct channel_slot *slot = find(channel, peer);

    return slot != NULL ? slot->held : 0;
}

void channel_close(struct channel *channel, channel_peer peer, const char *reason)
{
    struct channel_slot *slot = find(channel, peer);

    if (slot == NULL)
        return;
    channel_enter(channel);
    peer_close(slot->peer, reason, loop_now(channel->loop));
    channel_later(channel, slot);
    channel_tell_down(channel, slot, reason);
    channel_leave(channel);
}

const char *channel_address(const struct channel *channel, channel_peer peer)
{
    const struct channel_slot *slot = channel_table_by_number(&channel->table, peer);

    if (slot != NULL)
        return slot->address;
    return channel->refused != NULL && peer == channel->last_number ? channel->refused : "";
}

size_t channel_room(const struct channel *channel)
{
    return channel->slots_max;
}

struct channel_counts channel_counts(const struct channel *channel)
{
    return channel->counts;
}

size_t channel_peers(const struct channel *channel)
{
    return channel->live;
}
