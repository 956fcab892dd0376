/* Owns the small experiments behind a prediction: a socket that nobody reads, filled on purpose. */
#include "agent/probe/calibrate.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/host/datagram.h"
#include "agent/host/socket.h"
#include "proto/wire/limits.h"

enum {
    RULE_DATAGRAMS = 6,       /* what the small buffer is to hold, about */
    SNDBUF_BYTES = 256 << 10, /* room for the largest datagram and its overhead */
    HELD_MAX = 4 << 20,       /* a stop for buffers that never fill */
    ARRIVAL_MS = 500          /* a busy kernel may deliver on loopback later than the send */
};

/* A sender and a receiver on loopback, connected to each other. */
struct pair {
    int receiver, sender;
    int64_t granted;
    size_t payload;
    uint8_t *bytes;
};

static void pair_done(struct pair *pair)
{
    if (pair->receiver >= 0)
        close(pair->receiver);
    if (pair->sender >= 0)
        close(pair->sender);
    free(pair->bytes);
}

static enum status pair_open(enum family family, size_t payload, int64_t rcvbuf,
                             struct pair *out_pair, struct fault *fault)
{
    struct pair pair = { .receiver = -1, .sender = -1, .payload = payload };
    struct addr any_port = addr_loopback(family, 0);
    struct addr receiver, sender;
    struct grant grant;
    enum status status = socket_open(&any_port, &pair.receiver, &receiver, fault);

    pair.bytes = calloc(1, payload + 1);
    if (pair.bytes == NULL)
        abort();
    if (status == STATUS_OK)
        status = socket_open(&any_port, &pair.sender, &sender, fault);
    if (status == STATUS_OK)
        status = socket_connect(pair.sender, &receiver, fault);
    if (status == STATUS_OK)
        status = socket_ask_buffer(pair.sender, SOCKET_SNDBUF, SNDBUF_BYTES, &grant, fault);
    if (status == STATUS_OK)
        status = socket_ask_buffer(pair.receiver, SOCKET_RCVBUF, rcvbuf, &grant, fault);
    if (status != STATUS_OK) {
        pair_done(&pair);
        return status;
    }
    pair.granted = grant.granted;
    *out_pair = pair;
    return STATUS_OK;
}

static enum status pair_send(struct pair *pair, struct fault *fault)
{
    struct datagram datagram = { .part = { { pair->bytes, pair->payload } }, .parts = 1 };
    int error = 0;

    if (datagram_send_single(pair->sender, &datagram, 1, &error) == 1)
        return STATUS_OK;
    return fault_errno(fault, error, "calibrating with a datagram of %zu bytes", pair->payload);
}

static bool pair_wait(const struct pair *pair)
{
    struct pollfd ready = { .fd = pair->receiver, .events = POLLIN };

    return poll(&ready, 1, ARRIVAL_MS) > 0;
}

/* Reads until nothing more comes. */
static int64_t pair_read_all(struct pair *pair)
{
    struct datagram datagram = { .part = { { pair->bytes, pair->payload + 1 } }, .parts = 1 };
    int64_t count = 0;
    int error;

    while (count < HELD_MAX && pair_wait(pair) &&
           datagram_receive_single(pair->receiver, &datagram, 1, &error) == 1)
        count++;
    return count;
}

/* Waits until each of `count` datagrams is held or dropped; *out_held is how many are held. */
static enum status pair_settle(const struct pair *pair, int64_t count, uint32_t drops_before,
                               int64_t charge, int64_t *out_held)
{
    for (int waited = 0;; waited++) {
        int64_t queued = 0;
        uint32_t drops = 0;
        enum status status = socket_drops(pair->receiver, &drops);

        if (status == STATUS_OK)
            status = socket_queued_bytes(pair->receiver, &queued);
        if (status != STATUS_OK)
            return status;
        *out_held = count - (int64_t)(uint32_t)(drops - drops_before);
        if (queued / charge == *out_held || waited == ARRIVAL_MS)
            return STATUS_OK;
        poll(NULL, 0, 1);
    }
}

static enum status measure_charge(enum family family, size_t payload, int64_t rcvbuf,
                                  int64_t *out_charge, struct fault *fault)
{
    struct pair pair;
    enum status status = pair_open(family, payload, rcvbuf, &pair, fault);

    if (status != STATUS_OK)
        return status;
    status = pair_send(&pair, fault);
    if (status == STATUS_OK && !pair_wait(&pair))
        status = fault_set(fault, STATUS_AGAIN, "a datagram of %zu bytes did not arrive", payload);
    if (status == STATUS_OK)
        status = socket_queued_bytes(pair.receiver, out_charge);
    pair_done(&pair);
    if (status == STATUS_OK && *out_charge <= 0)
        return fault_set(fault, STATUS_CORRUPT, "a queued datagram is charged %lld bytes here",
                         (long long)*out_charge);
    return status;
}

/* Fills a buffer of about RULE_DATAGRAMS datagrams and learns from what it held. */
static enum status measure_rule(enum family family, size_t payload, int64_t charge,
                                struct calibration *out_calibration, struct fault *fault)
{
    int64_t asked = charge * RULE_DATAGRAMS / socket_buffer_factor();
    int64_t count, held = 0;
    uint32_t drops = 0;
    struct pair pair;
    enum status status = pair_open(family, payload, asked, &pair, fault);

    if (status != STATUS_OK)
        return status;
    count = pair.granted / charge + 3;
    status = socket_drops(pair.receiver, &drops);
    for (int64_t i = 0; i < count && status == STATUS_OK; i++)
        status = pair_send(&pair, fault);
    if (status == STATUS_OK)
        status = pair_settle(&pair, count, drops, charge, &held);
    if (status == STATUS_OK)
        status = capacity_learn(pair.granted, (double)charge, held, &out_calibration->capacity);
    if (status == STATUS_OK)
        out_calibration->dropped = count - held;
    if (status == STATUS_CORRUPT)
        fault_set(fault, status,
                  "a buffer of %lld bytes held %lld datagrams of %lld bytes: no known rule",
                  (long long)pair.granted, (long long)held, (long long)charge);
    pair_done(&pair);
    return status;
}

/* Sends more than the buffer itself can hold, and counts what it held. */
static enum status measure_held(enum family family, size_t payload, int64_t rcvbuf,
                                struct calibration *out_calibration, struct fault *fault)
{
    struct pair pair;
    int64_t burst, held = 0;
    enum status status = pair_open(family, payload, rcvbuf, &pair, fault);

    if (status != STATUS_OK)
        return status;
    burst = pair.granted / (int64_t)payload + 2;
    for (int64_t i = 0; i < burst && i < HELD_MAX && status == STATUS_OK; i++)
        status = pair_send(&pair, fault);
    if (status == STATUS_OK)
        held = pair_read_all(&pair);
    if (status == STATUS_OK && held < 1)
        status = fault_set(fault, STATUS_CORRUPT, "a buffer of %lld bytes held nothing",
                           (long long)pair.granted);
    if (status == STATUS_OK)
        *out_calibration = (struct calibration){
            .capacity = { .charge = (double)pair.granted / (double)held },
            .dropped = burst - held,
        };
    pair_done(&pair);
    return status;
}

enum status calibrate_capacity(enum family family, size_t payload, int64_t rcvbuf_asked,
                               struct calibration *out_calibration, struct fault *fault)
{
    int64_t charge = 0;
    uint32_t drops;
    struct pair pair;
    enum status status = pair_open(family, payload, rcvbuf_asked, &pair, fault);

    if (status != STATUS_OK)
        return status;
    status = socket_drops(pair.receiver, &drops);
    pair_done(&pair);
    if (status == STATUS_UNSUPPORTED)
        return measure_held(family, payload, rcvbuf_asked, out_calibration, fault);
    if (status != STATUS_OK)
        return fault_set(fault, status, "this socket's drops cannot be read: %s",
                         status_text(status));
    status = measure_charge(family, payload, rcvbuf_asked, &charge, fault);
    if (status != STATUS_OK)
        return status;
    return measure_rule(family, payload, charge, out_calibration, fault);
}
