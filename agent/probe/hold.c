/* Owns the account of a buffer that is filled and not read: predicted, sent, held, dropped. */
#include "agent/probe/hold.h"

#include <inttypes.h>
#include <math.h>
#include <poll.h>

#include "agent/host/socket.h"
#include "agent/probe/calibrate.h"
#include "agent/probe/pair.h"
#include "agent/probe/system_count.h"

enum { LATE_MS = 500 }; /* for what a busy kernel delivers when it was counted already */

/* One buffer while it is measured. */
struct filling {
    struct pair pair;
    struct capacity capacity;
    bool counts; /* the socket counts its drops */
    uint32_t drops_before;
};

static int64_t drops_of(const struct filling *filling)
{
    uint32_t drops = filling->drops_before;

    if (socket_drops(filling->pair.receiver, &drops) != STATUS_OK)
        return NONE_INT;
    return (int64_t)(uint32_t)(drops - filling->drops_before);
}

/* Where sockets count, what is there adds up as soon as all was delivered. */
static void count_exactly(const struct filling *filling, struct hold_result *result)
{
    for (int waited = 0; waited < LATE_MS; waited++) {
        result->held += pair_read_present(&filling->pair);
        result->dropped.socket = drops_of(filling);
        if (result->dropped.socket == NONE_INT ||
            result->held + result->dropped.socket >= result->sent)
            return;
        poll(NULL, 0, 1);
    }
}

static enum status fill(struct filling *filling, int64_t sends, struct hold_result *result)
{
    struct pair_queue queue = { 0 };
    enum status status = STATUS_OK;

    result->sent = pair_send(&filling->pair, sends, &result->refused);
    if (filling->counts)
        status = pair_settle(&filling->pair, result->sent, filling->drops_before,
                             (int64_t)filling->capacity.charge, &queue);
    if (status != STATUS_OK)
        return status;
    if (socket_queued_bytes(filling->pair.receiver, &result->queued_bytes) != STATUS_OK)
        result->queued_bytes = NONE_INT;
    if (filling->counts)
        count_exactly(filling, result);
    else
        result->held = pair_read_all(&filling->pair);
    return STATUS_OK;
}

/* Where the queue's bytes are not what the buffer is measured in (macOS counts payloads there, and
 * admits by more), only a buffer that overflowed says what one datagram takes of it. */
static double charge_of(const struct filling *filling, const struct hold_result *result)
{
    bool overflowed = result->held < result->sent;

    if (result->held == 0)
        return NAN;
    if (result->queued_bytes == NONE_INT || (!filling->counts && overflowed))
        return (double)result->rcvbuf.granted / (double)result->held;
    return (double)result->queued_bytes / (double)result->held;
}

static enum status check_account(const struct hold_result *result, struct fault *fault)
{
    int64_t dropped = result->dropped.socket;

    if (dropped == NONE_INT ? result->held <= result->sent : result->held + dropped == result->sent)
        return STATUS_OK;
    return fault_set(fault, STATUS_CORRUPT,
                     "%" PRId64 " held and %" PRId64 " dropped by the socket are not the %" PRId64
                     " sent",
                     result->held, dropped == NONE_INT ? 0 : dropped, result->sent);
}

static enum status measure(struct filling *filling, const struct hold_order *order,
                           struct hold_result *result, struct fault *fault)
{
    struct counters before, after;
    int64_t fits = capacity_of(&filling->capacity, result->rcvbuf.granted);
    enum status status = system_counters(&before, fault);

    if (status != STATUS_OK)
        return status;
    filling->counts = socket_drops(filling->pair.receiver, &filling->drops_before) == STATUS_OK;
    status = fill(filling, order->sends, result);
    if (status != STATUS_OK)
        return fault_set(fault, status, "the socket's drops cannot be read: %s",
                         status_text(status));
    status = system_counters(&after, fault);
    if (status != STATUS_OK)
        return status;
    result->dropped.system =
        system_count_between(&before, &after, UDP_RECEIVE_BUFFER_FULL, order->family);
    result->bytes_per_datagram = charge_of(filling, result);
    result->predicted_held = fits < result->sent ? fits : result->sent;
    return check_account(result, fault);
}

enum status hold_measure(const struct hold_order *order, struct hold_result *out_result,
                         struct fault *fault)
{
    struct hold_result result = { .payload = order->payload, .dropped.socket = NONE_INT };
    struct calibration calibration;
    struct filling filling;
    enum status status = calibrate_capacity(order->family, (size_t)order->payload, order->rcvbuf,
                                            &calibration, fault);

    if (status != STATUS_OK)
        return status;
    filling = (struct filling){ .capacity = calibration.capacity };
    status = pair_open(order->family, (size_t)order->payload, order->rcvbuf, &filling.pair, fault);
    if (status != STATUS_OK)
        return status;
    result.rcvbuf = filling.pair.rcvbuf;
    status = measure(&filling, order, &result, fault);
    pair_done(&filling.pair);
    if (status == STATUS_OK)
        *out_result = result;
    return status;
}
