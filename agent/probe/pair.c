/* Owns two sockets on loopback of which nobody reads the one. Knows no experiment. */
#include "agent/probe/pair.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/host/socket.h"
#include "agent/probe/transmit.h"

enum {
    SNDBUF_BYTES = 256 << 10, /* room for the largest datagram and its overhead */
    HELD_MAX = 16 << 20,      /* a stop for queues that never end */
    ARRIVAL_MS = 500          /* a busy kernel may deliver on loopback later than the send */
};

void pair_done(struct pair *pair)
{
    if (pair->receiver >= 0)
        close(pair->receiver);
    if (pair->sender >= 0)
        close(pair->sender);
    free(pair->bytes);
    *pair = (struct pair){ .receiver = -1, .sender = -1 };
}

static enum status size_receiver(struct pair *pair, int64_t rcvbuf, struct fault *fault)
{
    enum status status;

    if (rcvbuf > 0)
        return socket_ask_buffer(pair->receiver, SOCKET_RCVBUF, rcvbuf, &pair->rcvbuf, fault);
    status = socket_buffer_granted(pair->receiver, SOCKET_RCVBUF, &pair->rcvbuf.granted);
    if (status != STATUS_OK)
        fault_set(fault, status, "cannot read SO_RCVBUF: %s", status_text(status));
    return status;
}

enum status pair_open(enum family family, size_t payload, int64_t rcvbuf, struct pair *out_pair,
                      struct fault *fault)
{
    struct pair pair = { .receiver = -1, .sender = -1, .payload = payload };
    struct addr any_port = addr_loopback(family, 0);
    struct addr receiver, sender;
    struct grant sndbuf;
    enum status status = socket_open(&any_port, &pair.receiver, &receiver, fault);

    pair.bytes = calloc(1, payload + 1);
    if (pair.bytes == NULL)
        abort();
    if (status == STATUS_OK)
        status = socket_open(&any_port, &pair.sender, &sender, fault);
    if (status == STATUS_OK)
        status = socket_connect(pair.sender, &receiver, fault);
    if (status == STATUS_OK)
        status = socket_ask_buffer(pair.sender, SOCKET_SNDBUF, SNDBUF_BYTES, &sndbuf, fault);
    if (status == STATUS_OK)
        status = size_receiver(&pair, rcvbuf, fault);
    if (status != STATUS_OK) {
        pair_done(&pair);
        return status;
    }
    *out_pair = pair;
    return STATUS_OK;
}

int64_t pair_send(const struct pair *pair, int64_t count, struct refused *out_refused)
{
    const struct engine *engine = engine_find(ENGINE_SINGLE, NULL);
    struct datagram batch[DATAGRAM_BATCH_MAX];
    struct leg leg = { 0 };
    const struct transmit_way way = { engine, pair->sender, &leg, NULL };

    for (size_t i = 0; i < DATAGRAM_BATCH_MAX; i++)
        batch[i] = (struct datagram){ .part = { { pair->bytes, pair->payload } }, .parts = 1 };
    for (int64_t left = count; left > 0; left -= DATAGRAM_BATCH_MAX)
        (void)transmit(&way, batch, left < DATAGRAM_BATCH_MAX ? (size_t)left : DATAGRAM_BATCH_MAX);
    *out_refused = leg.refused;
    return leg.sent;
}

bool pair_wait(const struct pair *pair)
{
    struct pollfd ready = { .fd = pair->receiver, .events = POLLIN };

    return poll(&ready, 1, ARRIVAL_MS) > 0;
}

int64_t pair_read_present(const struct pair *pair)
{
    struct datagram datagram = { .part = { { pair->bytes, pair->payload + 1 } }, .parts = 1 };
    int64_t count = 0;
    int error;

    while (count < HELD_MAX && datagram_receive_single(pair->receiver, &datagram, 1, &error) == 1)
        count++;
    return count;
}

int64_t pair_read_all(const struct pair *pair)
{
    int64_t count = 0;

    while (count < HELD_MAX && pair_wait(pair)) {
        int64_t present = pair_read_present(pair);

        if (present == 0)
            break;
        count += present;
    }
    return count;
}

enum status pair_settle(const struct pair *pair, int64_t sent, uint32_t drops_before,
                        int64_t charge, struct pair_queue *out_queue)
{
    for (int waited = 0;; waited++) {
        struct pair_queue queue = { 0 };
        uint32_t drops = 0;
        enum status status = socket_drops(pair->receiver, &drops);

        if (status == STATUS_OK)
            status = socket_queued_bytes(pair->receiver, &queue.queued_bytes);
        if (status != STATUS_OK)
            return status;
        queue.held = sent - (int64_t)(uint32_t)(drops - drops_before);
        if (queue.queued_bytes / charge == queue.held || waited == ARRIVAL_MS) {
            *out_queue = queue;
            return STATUS_OK;
        }
        poll(NULL, 0, 1);
    }
}
