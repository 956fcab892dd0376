/* Owns the sockets of an end: datagrams out and in, errors, answers. Must not know what a stage
 * wants to find out.
 */
#include "agent/probe/path_mtu_part.h"

#include <errno.h>
#include <string.h>

#include "agent/host/datagram.h"
#include "agent/host/path_socket.h"
#include "agent/host/socket.h"

enum { READS = 256, ERRORS = 256, SEND_TRIES = 4, REFUSED = -1, SENT = -2 };

int64_t mtu_headers(enum family family)
{
    return UDP_HEADER_BYTES + (family == FAMILY_IPV4 ? IPV4_HEADER_BYTES : IPV6_HEADER_BYTES);
}

enum status mtu_socket_prepare(struct path_mtu *end, int fd, struct fault *fault)
{
    enum status status = socket_set_dont_fragment(fd, end->family, fault);

    if (status != STATUS_OK)
        return status;
    status = error_queue_enable(fd, end->family, fault);
    if (status != STATUS_OK && status != STATUS_UNSUPPORTED)
        return status;
    end->icmp_told = status == STATUS_OK;
    status = datagram_ask_fragments(fd, end->family, fault);
    if (status != STATUS_OK && status != STATUS_UNSUPPORTED)
        return status;
    end->answered.fragments_told = status == STATUS_OK;
    return datagram_ask_local(fd, end->family, fault);
}

/* --- errors ----------------------------------------------------------------------------------- */

static struct lane *flow_of(struct path_mtu *end, const struct addr *peer)
{
    for (size_t i = 0; i < end->count; i++)
        if (end->flows[i].peer.length > 0 && addr_equal(&end->flows[i].peer, peer))
            return &end->flows[i];
    return NULL;
}

static void note_unreachable(struct path_mtu *end, struct lane *flow,
                             const struct queued_error *error)
{
    end->no_port += error->kind == ERROR_NO_PORT;
    if (flow->result == NULL)
        return;
    flow->result->unreachable++;
    flow->result->unreachable_kind = error->kind;
    flow->result->unreachable_from = error->from;
}

static void take_error(struct path_mtu *end, struct lane *flow, const struct queued_error *error)
{
    struct icmp_seen icmp = { .kind = error->kind, .from = &error->from, .mtu = error->mtu };

    switch (error->kind) {
    case ERROR_LOCAL:
        if (error->error == EMSGSIZE)
            flow->local_limit = error->mtu;
        return;
    case ERROR_NO_PORT:
    case ERROR_UNREACHABLE:
        note_unreachable(end, flow, error);
        return;
    case ERROR_TOO_BIG:
    case ERROR_TIME_EXCEEDED:
        if (end->stage == NULL || end->stage->icmp == NULL)
            return;
        icmp.quote =
            mtu_ring_match(&end->speech, &flow->ring, error->quote, error->length, &icmp.sent);
        end->stage->icmp(flow, &icmp);
        mtu_flow_wake(flow);
        return;
    case ERROR_OTHER:
        return;
    }
}

static void take_errors(struct path_mtu *end, int fd, struct lane *flow)
{
    for (int i = 0; i < ERRORS; i++) {
        struct queued_error error;
        struct lane *whose = flow;
        enum status status = error_queue_take(fd, &error);

        if (status == STATUS_INVALID)
            continue;
        if (status != STATUS_OK)
            return;
        if (whose == NULL)
            whose = flow_of(end, &error.to);
        if (whose != NULL)
            take_error(end, whose, &error);
    }
}

/* --- out -------------------------------------------------------------------------------------- */

/* SENT; 0 or a size: EMSGSIZE, and what would fit; REFUSED. An error of the past makes a call fail
 * once and is taken out of the way. */
static int64_t transmit(struct path_mtu *end, struct lane *flow, struct datagram *datagram)
{
    int error = 0;

    flow->local_limit = 0;
    for (int i = 0; i < SEND_TRIES; i++) {
        if (datagram_send_single(flow->fd, datagram, 1, &error) == 1)
            return SENT;
        take_errors(end, flow->fd, end->is_listener ? NULL : flow);
        if (flow->local_limit > 0)
            return flow->local_limit;
        if (error == EAGAIN || error == ENOBUFS || error == EPERM)
            return REFUSED;
    }
    return error == EMSGSIZE ? 0 : REFUSED;
}

static struct datagram datagram_to(struct path_mtu *end, struct lane *flow)
{
    return (struct datagram){ .peer = end->is_listener ? &flow->peer : NULL,
                              .local = flow->local.length > 0 ? &flow->local : NULL };
}

static void remember(struct path_mtu *end, struct lane *flow, const struct mtu_ask *ask,
                     struct mono now)
{
    struct mtu_sent sent = { .sequence = mtu_sequence(end->stage->class, ask->number),
                             .payload = (uint32_t)(ask->size - mtu_headers(end->family)) };
    const struct mtu_sent *before = mtu_ring_find(&flow->ring, sent.sequence);
    uint32_t random;

    /* The same again is the same datagram: an answer to the first is as good. */
    if (before != NULL) {
        sent.timestamp = before->timestamp;
    } else {
        digest_random(&random, sizeof random);
        sent.timestamp = mtu_timestamp(&end->speech, now, random);
    }
    mtu_ring_put(&flow->ring, &sent);
}

void mtu_send(struct path_mtu *end, struct lane *flow, const struct mtu_ask *ask, struct mono now)
{
    uint32_t sequence = mtu_sequence(end->stage->class, ask->number);
    struct datagram datagram = datagram_to(end, flow);
    uint8_t head[STAMP_HEAD_MAX];
    const struct mtu_sent *sent;
    int64_t fate = REFUSED;
    union {
        const void *from;
        void *to;
    } padding = { .from = pattern_slice(&end->pattern, sequence) }; /* sendmsg takes no const */

    remember(end, flow, ask, now);
    sent = mtu_ring_find(&flow->ring, sequence);
    datagram.part[0] = (struct iovec){ head, mtu_put_probe(&end->speech, sent, head) };
    datagram.part[1] = (struct iovec){ padding.to, sent->payload - datagram.part[0].iov_len };
    datagram.parts = datagram.part[1].iov_len > 0 ? 2 : 1;
    if (ask->hops == 0 || path_socket_set_hops(flow->fd, end->family, ask->hops, NULL) == STATUS_OK)
        fate = transmit(end, flow, &datagram);
    if (ask->hops > 0 && path_socket_set_hops(flow->fd, end->family, 0, NULL) != STATUS_OK)
        fate = REFUSED;
    if (fate != SENT)
        end->stage->refused(flow, ask->number, fate);
}

void mtu_send_bytes(struct path_mtu *end, struct lane *flow, const uint8_t *bytes, size_t length)
{
    struct datagram datagram = datagram_to(end, flow);
    union {
        const void *from;
        void *to;
    } whole = { .from = bytes };

    datagram.part[0] = (struct iovec){ whole.to, length };
    datagram.parts = 1;
    (void)transmit(end, flow, &datagram); /* what is lost is said again */
}

/* --- in --------------------------------------------------------------------------------------- */

/* A datagram that was received. */
struct arrival {
    struct datagram datagram;
    struct addr peer, local;
    int64_t fragment;
    struct mono at;
    struct mtu_heard heard;
};

/* To where it came from; the caller's socket knows. */
static void answer(struct path_mtu *end, int fd, struct arrival *arrival, uint8_t *bytes)
{
    struct datagram reply = { .part = { { bytes, MTU_ANSWER_SIZE } },
                              .parts = 1,
                              .peer = end->is_listener ? &arrival->peer : NULL,
                              .local = end->is_listener ? &arrival->local : NULL };
    int error;

    for (int i = 0; i < SEND_TRIES; i++) {
        if (datagram_send_single(fd, &reply, 1, &error) == 1)
            return;
        take_errors(end, fd, end->is_listener ? NULL : flow_of(end, &arrival->peer));
    }
    end->answered.answers_refused++;
}

/* The first datagram says which source port a flow has; a later one cannot move it. */
static void open_flow(struct path_mtu *end, const struct arrival *arrival)
{
    uint32_t number = mtu_number_of(arrival->heard.request.sequence);
    struct lane *flow;

    if (!end->is_listener || number >= end->count || end->flows[number].opened)
        return;
    flow = &end->flows[number];
    flow->peer = arrival->peer;
    flow->local = arrival->local;
    flow->opened = true;
}

/* What its answer says of it. */
static struct mtu_coming coming_of(struct path_mtu *end, const struct arrival *arrival)
{
    uint32_t sequence = arrival->heard.request.sequence;
    struct mtu_coming coming = { .length = arrival->datagram.length, .at = arrival->at };
    struct lane *flow =
        mtu_class_of(sequence) == MTU_CLASS_PROBE ? flow_of(end, &arrival->peer) : NULL;

    if (flow != NULL)
        coming.before = mtu_came_add(&flow->came, mtu_number_of(sequence));
    return coming;
}

static void take_request(struct path_mtu *end, int fd, struct arrival *arrival)
{
    const struct stamp_request *request = &arrival->heard.request;
    enum mtu_class class = mtu_class_of(request->sequence);
    size_t length = arrival->datagram.length;
    struct mtu_coming coming;
    uint8_t bytes[MTU_ANSWER_SIZE];

    if (end->is_listener && !greeting_confirmed(&end->greeting, &arrival->peer)) {
        end->answered.foreign++;
        return;
    }
    if (arrival->fragment > 0 && class != MTU_CLASS_FRAGMENT) {
        end->answered.in_fragments++;
        return;
    }
    end->answered.reassembled += arrival->fragment > 0;
    if (class == MTU_CLASS_OPEN)
        open_flow(end, arrival);
    end->answered.answered++;
    if ((int64_t)length > end->answered.largest)
        end->answered.largest = (int64_t)length;
    coming = coming_of(end, arrival);
    mtu_put_answer(&end->speech, request, &coming, bytes);
    answer(end, fd, arrival, bytes);
}

/* Of the numbers before the one that it answers. */
static void take_told(struct lane *flow, const struct mtu_stage *stage,
                      const struct stamp_reply *reply)
{
    uint64_t before = mtu_answer_before(reply);
    uint32_t number = mtu_number_of(reply->sender_sequence);

    for (uint32_t back = 1; before != 0 && back <= number; back++, before >>= 1) {
        if ((before & 1) != 0)
            stage->told(flow, number - back);
    }
}

static void take_reply(struct path_mtu *end, struct lane *flow, const struct arrival *arrival)
{
    const struct mtu_sent *sent = mtu_ring_answered(&flow->ring, &arrival->heard.reply);

    if (sent == NULL) {
        if (flow->result != NULL)
            flow->result->odd_answers++;
        return;
    }
    if (mtu_class_of(sent->sequence) == MTU_CLASS_OPEN)
        flow->opened = true;
    if (end->stage == NULL || end->stage->class != mtu_class_of(sent->sequence))
        return;
    end->stage->answered(flow, mtu_number_of(sent->sequence), arrival->at);
    if (end->stage->told != NULL)
        take_told(flow, end->stage, &arrival->heard.reply);
    mtu_flow_wake(flow);
}

static void take_hello(struct path_mtu *end, int fd, struct lane *flow, struct arrival *arrival)
{
    uint8_t random[12];

    if (!end->is_listener) {
        bool was_confirming = end->hello.confirming;

        hello_receive(&end->hello, end->room, arrival->datagram.length, arrival->at);
        if (flow != NULL && end->hello.confirming && !was_confirming)
            end->hello_flow = flow->index; /* the one that is known there */
        return;
    }
    if (end->place.may_guest != NULL && !end->place.may_guest(end->place.context, &arrival->peer))
        return;
    digest_random(random, sizeof random);
    if (greeting_receive(&end->greeting, &arrival->peer, random, end->room,
                         arrival->datagram.length) == GREETING_ANSWER)
        answer(end, fd, arrival, end->room);
}

static void take_datagram(struct path_mtu *end, int fd, struct lane *flow, struct arrival *arrival)
{
    struct lane *whose = flow != NULL ? flow : flow_of(end, &arrival->peer);

    switch (mtu_read(&end->speech, end->room, arrival->datagram.length, &arrival->heard)) {
    case MTU_FOREIGN:
        end->answered.foreign++;
        return;
    case MTU_HELLO:
        take_hello(end, fd, flow, arrival);
        return;
    case MTU_REQUEST:
        take_request(end, fd, arrival);
        return;
    case MTU_CUT:
        end->answered.cut++;
        return;
    case MTU_REPLY:
        if (whose != NULL)
            take_reply(end, whose, arrival);
        return;
    }
}

void mtu_hear(struct path_mtu *end, int fd, struct lane *flow)
{
    int error;

    take_errors(end, fd, flow);
    for (int i = 0; i < READS; i++) {
        struct arrival arrival;

        arrival.datagram = (struct datagram){ .part = { { end->room, PAYLOAD_MAX_IPV6 } },
                                              .parts = 1,
                                              .peer = &arrival.peer,
                                              .local = &arrival.local,
                                              .fragment = &arrival.fragment };
        if (datagram_receive_single(fd, &arrival.datagram, 1, &error) == 1) {
            arrival.at = mono_now();
            if (arrival.datagram.length <= PAYLOAD_MAX_IPV6)
                take_datagram(end, fd, flow, &arrival);
        } else if (error == EAGAIN) {
            return;
        } else {
            take_errors(end, fd, flow);
        }
    }
}
