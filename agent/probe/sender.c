/* Owns the sender role's clients. Knows nothing of threads, of when a phase ends, or of who
 * answers. */
#include "agent/probe/sender.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "agent/probe/arrivals.h"
#include "agent/probe/ledger.h"
#include "agent/probe/transmit.h"
#include "agent/probe/window.h"
#include "proto/base/memory.h"

enum { SHORT_PADDING = 396 }; /* with the largest head 512 bytes */

#define SWEEP_NS (100 * NS_PER_MS) /* a flood of strangers must not hold a phase's end */

struct client {
    int fd;
    struct window window;
    struct arrivals echoes; /* by the echo role's own sequence numbers */
};

struct sender {
    const struct engine *engine;
    const struct session *session;
    struct client *clients;
    size_t count;
    size_t window_size;
    uint64_t outstanding; /* of all clients */
    uint64_t burst_sent;
    int64_t slowest_ns, waited_ns;
    atomic_int_fast64_t shown_sent, shown_received; /* to other threads */
    size_t slot;                                    /* bytes of room for one datagram */
    size_t batch;                                   /* datagrams to read in one call */
    uint8_t *bytes;
    struct mono first_sent, last_echo;
    struct mono due; /* the next burst of an open loop */
    struct pace pace;
    struct leg forward, reverse;
    struct histogram rtt;
    struct delays there, back;
    struct datagram inbox[DATAGRAM_BATCH_MAX];
    struct datagram outbox[DATAGRAM_BATCH_MAX];
    uint8_t heads[DATAGRAM_BATCH_MAX][STAMP_HEAD_MAX + SHORT_PADDING];
};

struct sender *sender_new(const int *fds, size_t count, const struct engine *engine, size_t payload)
{
    struct sender *sender = memory_new(1, sizeof *sender);

    sender->engine = engine;
    sender->count = count;
    sender->slot = (payload + 64) / 64 * 64;
    sender->batch = engine_read_batch(payload);
    sender->bytes = memory_new(sender->batch, sender->slot);
    for (size_t i = 0; i < sender->batch; i++) {
        sender->inbox[i] = (struct datagram){
            .part = { { sender->bytes + i * sender->slot, sender->slot } },
            .parts = 1,
        };
    }
    sender->clients = memory_new(count, sizeof *sender->clients);
    for (size_t i = 0; i < count; i++)
        sender->clients[i].fd = fds[i];
    return sender;
}

static void forget(struct client *client)
{
    window_done(&client->window);
    arrivals_done(&client->echoes);
}

void sender_free(struct sender *sender)
{
    if (sender == NULL)
        return;
    for (size_t i = 0; i < sender->count; i++)
        forget(&sender->clients[i]);
    free(sender->clients);
    free(sender->bytes);
    free(sender);
}

void sender_begin(struct sender *sender, const struct session *session, size_t window)
{
    sender->session = session;
    sender->window_size = window;
    sender->outstanding = 0;
    sender->burst_sent = 0;
    sender->slowest_ns = 0;
    atomic_store(&sender->shown_sent, 0);
    atomic_store(&sender->shown_received, 0);
    sender->first_sent = (struct mono){ 0 };
    sender->last_echo = (struct mono){ 0 };
    sender->due = (struct mono){ 0 };
    sender->pace = (struct pace){ 0 };
    sender->forward = (struct leg){ 0 };
    sender->reverse = (struct leg){ 0 };
    histogram_init(&sender->rtt);
    sender->there = sender->back = (struct delays){ 0 };
    for (size_t i = 0; i < sender->count; i++) {
        struct client *client = &sender->clients[i];

        forget(client);
        window_init(&client->window, window);
        arrivals_init(&client->echoes, window);
    }
}

/* A short padding is copied behind its head, which costs less than a second part of the datagram.
 */
static void make_request(struct sender *sender, size_t at, uint32_t sequence, uint64_t timestamp)
{
    const struct session *session = sender->session;
    const struct stamp_request request = {
        .sequence = sequence,
        .timestamp = timestamp,
        .error_estimate = session->error_estimate,
        .ssid = session->ssid,
    };
    const uint8_t *padding = pattern_slice(session->ground.pattern, sequence);
    size_t length = session->payload - session->head;
    uint8_t *head = sender->heads[at];

    stamp_put_request(&session->ground.format, &request, session->payload, head);
    if (length <= SHORT_PADDING) {
        memcpy(head + session->head, padding, length);
        sender->outbox[at] =
            (struct datagram){ .part = { { head, session->payload } }, .parts = 1 };
        return;
    }
    sender->outbox[at] = (struct datagram){
        .part = { { head, session->head }, { (void *)(uintptr_t)padding, length } },
        .parts = 2,
    };
}

static void show(struct sender *sender)
{
    atomic_store_explicit(&sender->shown_sent, sender->forward.sent, memory_order_relaxed);
    atomic_store_explicit(&sender->shown_received, sender->reverse.received, memory_order_relaxed);
}

/* One moment stands for the whole batch: the clock is read right before the system call. */
static void send_batch(struct sender *sender, struct client *client, size_t count)
{
    const struct transmit_way way = { sender->engine, client->fd, &sender->forward,
                                      &sender->waited_ns };
    struct mono now = mono_now();
    uint64_t timestamp = session_timestamp(sender->session, now);
    uint64_t first = client->window.next;
    uint64_t refused;

    if (sender->first_sent.ns == 0)
        sender->first_sent = now;
    for (size_t i = 0; i < count; i++)
        make_request(sender, i, (uint32_t)window_open(&client->window, now), timestamp);
    sender->outstanding += count;
    refused = transmit(&way, sender->outbox, count);
    show(sender);
    if (first < sender->window_size)
        sender->burst_sent += count;
    for (size_t i = 0; refused != 0; i++, refused >>= 1) {
        if ((refused & 1) == 0)
            continue;
        window_abandon(&client->window, first + i);
        sender->burst_sent -= first < sender->window_size;
        sender->outstanding--;
    }
}

static void send_many(struct sender *sender, struct client *client, size_t count)
{
    while (count > 0) {
        size_t batch = count > DATAGRAM_BATCH_MAX ? DATAGRAM_BATCH_MAX : count;

        send_batch(sender, client, batch);
        count -= batch;
    }
}

void sender_burst(struct sender *sender)
{
    for (size_t i = 0; i < sender->count; i++)
        send_many(sender, &sender->clients[i], sender->window_size);
}

struct mono sender_pace(struct sender *sender, int64_t interval_ns, struct mono now)
{
    int64_t slip;

    /* Slots are counted from the moment that the phase's end is counted from, so that a burst due
     * right then is no matter of luck. */
    if (sender->due.ns == 0)
        sender->due = sender->first_sent = now;
    slip = mono_between(sender->due, now);
    if (slip < 0)
        return sender->due;
    if (slip > sender->pace.slip_ns)
        sender->pace.slip_ns = slip;
    sender->pace.skipped += slip / interval_ns;
    sender->due = mono_after(sender->due, slip - slip % interval_ns + interval_ns);
    sender_burst(sender);
    return sender->due;
}

void sender_pace_end(struct sender *sender, int64_t interval_ns, struct mono deadline)
{
    int64_t left = mono_between(sender->due, deadline);

    if (left > 0)
        sender->pace.skipped += (left + interval_ns - 1) / interval_ns;
}

struct pace sender_pace_kept(const struct sender *sender)
{
    return sender->pace;
}

/* The whole time and, when the echo role's timestamps make sense, what it had of it and how the
 * rest is divided by the two ends' clocks. */
static void enter_times(struct sender *sender, const struct stamp_reply *reply, int64_t whole)
{
    int64_t residence = stamp_ntp_between(reply->receive_timestamp, reply->timestamp);
    int64_t there = stamp_ntp_between(reply->sender_timestamp, reply->receive_timestamp);

    if (whole > sender->slowest_ns)
        sender->slowest_ns = whole;
    if (residence < 0 || residence > whole) {
        histogram_add(&sender->rtt, whole);
        return;
    }
    histogram_add(&sender->rtt, whole - residence);
    delays_add(&sender->there, there);
    /* T4 - T3 is the rest of T4 - T1, whatever the clocks are apart. */
    delays_add(&sender->back, whole - residence - there);
}

/* True when the datagram is an echo of this phase to something that was sent, whatever its padding;
 * what is not is counted. */
static bool is_echo(struct sender *sender, const struct client *client,
                    const struct datagram *datagram, struct stamp_reply *out_reply)
{
    enum session_kin kin =
        session_get_reply(sender->session, datagram->part[0].iov_base, datagram->length, out_reply);

    if (kin == SESSION_OWN &&
        sequence_extend(out_reply->sender_sequence, client->window.next) < client->window.next)
        return true;
    sender->reverse.foreign += kin != SESSION_HELLO;
    return false;
}

/* Its bytes, and the timestamp that was given to it on the way out. */
static bool is_intact(const struct sender *sender, const struct client *client,
                      const struct datagram *datagram, const struct stamp_reply *reply)
{
    struct mono sent;

    if (!session_reply_intact(sender->session, reply, datagram->part[0].iov_base))
        return false;
    return !window_sent_at(&client->window, reply->sender_sequence, &sent) ||
           session_timestamp(sender->session, sent) == reply->sender_timestamp;
}

/* Enters one datagram into the account; true when it frees a slot. */
static bool enter(struct sender *sender, struct client *client, const struct datagram *datagram,
                  struct mono now, bool late)
{
    struct stamp_reply reply;
    struct mono sent;
    enum arrival arrival;
    enum window_close close;

    if (!is_echo(sender, client, datagram, &reply))
        return false;
    if (!is_intact(sender, client, datagram, &reply)) {
        sender->reverse.corrupt++;
        return false;
    }
    arrival = arrivals_add(&client->echoes, reply.sequence);
    ledger_arrive(&sender->reverse, arrival, late);
    if (late || arrival == ARRIVAL_BEYOND || arrival == ARRIVAL_DUPLICATE)
        return false;
    close = window_close(&client->window, reply.sender_sequence, &sent);
    if (close == WINDOW_CLOSED)
        enter_times(sender, &reply, mono_between(sent, now));
    if (close != WINDOW_CLOSED && close != WINDOW_UNTIMED)
        return false;
    sender->outstanding--;
    return true;
}

static size_t receive_batch(struct sender *sender, const struct client *client)
{
    int error;

    for (int tries = 0; tries < DATAGRAM_BATCH_MAX; tries++) {
        size_t got = sender->engine->receive(client->fd, sender->inbox, sender->batch, &error);

        if (got > 0)
            return got;
        if (error != ECONNREFUSED)
            break;
        ledger_refuse_earlier(&sender->forward);
    }
    return 0;
}

size_t sender_collect(struct sender *sender, size_t client_index, bool resend, struct mono deadline)
{
    struct client *client = &sender->clients[client_index];
    size_t count = 0;
    size_t got;

    do {
        size_t freed = 0;
        struct mono now;

        got = receive_batch(sender, client);
        now = mono_now();
        for (size_t i = 0; i < got; i++)
            freed += enter(sender, client, &sender->inbox[i], now, false);
        if (got > 0) {
            sender->last_echo = now;
            show(sender);
        }
        if (resend && freed > 0 && mono_between(now, deadline) > 0)
            send_many(sender, client, freed);
        count += got;
    } while (got == sender->batch && count < sender->window_size);
    return count;
}

void sender_sweep(struct sender *sender)
{
    struct mono now = mono_now();
    struct mono end = mono_after(now, SWEEP_NS);

    for (size_t i = 0; i < sender->count; i++) {
        size_t got;

        do {
            got = receive_batch(sender, &sender->clients[i]);
            for (size_t k = 0; k < got; k++)
                enter(sender, &sender->clients[i], &sender->inbox[k], now, true);
        } while (got > 0 && mono_between(mono_now(), end) > 0);
    }
}

uint64_t sender_outstanding(const struct sender *sender)
{
    return sender->outstanding;
}

uint64_t sender_burst_sent(const struct sender *sender)
{
    return sender->burst_sent;
}

int64_t sender_slowest_ns(const struct sender *sender)
{
    return sender->slowest_ns;
}

int64_t sender_waited_ns(const struct sender *sender)
{
    return sender->waited_ns;
}

void sender_progress(const struct sender *sender, int64_t *out_sent, int64_t *out_received)
{
    *out_sent = atomic_load_explicit(&sender->shown_sent, memory_order_relaxed);
    *out_received = atomic_load_explicit(&sender->shown_received, memory_order_relaxed);
}

struct mono sender_first_sent(const struct sender *sender)
{
    return sender->first_sent;
}

struct mono sender_last_echo(const struct sender *sender)
{
    return sender->last_echo;
}

void sender_account(const struct sender *sender, struct leg *forward, struct leg *reverse,
                    struct histogram *rtt)
{
    ledger_merge(forward, &sender->forward);
    ledger_merge(reverse, &sender->reverse);
    histogram_merge(rtt, &sender->rtt);
}

void sender_delays(const struct sender *sender, struct delays *forward, struct delays *reverse)
{
    delays_merge(forward, &sender->there);
    delays_merge(reverse, &sender->back);
}
