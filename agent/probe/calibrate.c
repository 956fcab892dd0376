/* Owns the small experiments behind a prediction: a socket that nobody reads, filled on purpose. */
#include "agent/probe/calibrate.h"

#include <errno.h>

#include "agent/host/socket.h"
#include "agent/probe/pair.h"

enum {
    RULE_DATAGRAMS = 6, /* what the small buffer is to hold, about */
    HELD_MAX = 4 << 20  /* a stop for buffers that never fill */
};

/* An errno value that a refusal had. */
static int refused_error(const struct refused *refused)
{
    if (refused->emsgsize > 0)
        return EMSGSIZE;
    if (refused->eperm > 0)
        return EPERM;
    if (refused->econnrefused > 0)
        return ECONNREFUSED;
    if (refused->enobufs > 0)
        return ENOBUFS;
    return refused->eagain > 0 ? EAGAIN : EIO;
}

/* Sends `count` datagrams, all of which the kernel must take. */
static enum status send_all(const struct pair *pair, int64_t count, struct fault *fault)
{
    struct refused refused;

    if (pair_send(pair, count, &refused) == count)
        return STATUS_OK;
    return fault_errno(fault, refused_error(&refused), "calibrating with datagrams of %zu bytes",
                       pair->payload);
}

static enum status measure_charge(enum family family, size_t payload, int64_t rcvbuf,
                                  int64_t *out_charge, struct fault *fault)
{
    struct pair pair;
    enum status status = pair_open(family, payload, rcvbuf, &pair, fault);

    if (status != STATUS_OK)
        return status;
    status = send_all(&pair, 1, fault);
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
    struct pair_queue queue = { 0 };
    int64_t count;
    uint32_t drops = 0;
    struct pair pair;
    enum status status = pair_open(family, payload, asked, &pair, fault);

    if (status != STATUS_OK)
        return status;
    count = pair.rcvbuf.granted / charge + 3;
    status = socket_drops(pair.receiver, &drops);
    if (status == STATUS_OK)
        status = send_all(&pair, count, fault);
    if (status == STATUS_OK)
        status = pair_settle(&pair, count, drops, charge, &queue);
    if (status == STATUS_OK)
        status = capacity_learn(pair.rcvbuf.granted, (double)charge, queue.held,
                                &out_calibration->capacity);
    if (status == STATUS_OK)
        out_calibration->dropped = count - queue.held;
    if (status == STATUS_CORRUPT)
        fault_set(fault, status,
                  "a buffer of %lld bytes held %lld datagrams of %lld bytes: no known rule",
                  (long long)pair.rcvbuf.granted, (long long)queue.held, (long long)charge);
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
    burst = pair.rcvbuf.granted / (payload > 0 ? (int64_t)payload : 1) + 2;
    if (burst > HELD_MAX)
        burst = HELD_MAX;
    status = send_all(&pair, burst, fault);
    if (status == STATUS_OK)
        held = pair_read_all(&pair);
    if (status == STATUS_OK && held < 1)
        status = fault_set(fault, STATUS_CORRUPT, "a buffer of %lld bytes held nothing",
                           (long long)pair.rcvbuf.granted);
    if (status == STATUS_OK)
        *out_calibration = (struct calibration){
            .capacity = { .charge = (double)pair.rcvbuf.granted / (double)held },
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
