/* Owns the sockets behind advice: what they are granted, what one datagram takes, what a buffer
 * really holds. The arithmetic is advice.c's. */
#include "agent/probe/adviser.h"

#include <stdlib.h>
#include <unistd.h>

#include "agent/host/socket.h"
#include "agent/probe/calibrate.h"
#include "agent/probe/pair.h"
#include "proto/wire/limits.h"

enum { BEYOND = 16 }; /* datagrams more than a buffer can hold */

static enum status look_at_grants(enum family family, struct advice_host *host,
                                  struct grant *out_most, struct fault *fault)
{
    struct addr any_port = addr_loopback(family, 0);
    struct addr bound;
    int fd = -1;
    enum status status = socket_open(&any_port, &fd, &bound, fault);

    if (status != STATUS_OK)
        return status;
    status = socket_buffer_granted(fd, SOCKET_RCVBUF, &host->default_granted);
    if (status != STATUS_OK)
        status = fault_set(fault, status, "SO_RCVBUF cannot be read: %s", status_text(status));
    if (status == STATUS_OK)
        status = socket_ask_buffer(fd, SOCKET_RCVBUF, LIMIT_SOCKET_BUFFER, out_most, fault);
    close(fd);
    return status;
}

enum status adviser_look(enum family family, int64_t payload, struct advice_host *out_host,
                         struct grant *out_most, struct fault *fault)
{
    struct advice_host host = { .factor = socket_buffer_factor() };
    struct calibration calibration;
    struct grant most;
    enum status status = look_at_grants(family, &host, &most, fault);

    if (status == STATUS_OK)
        status = calibrate_capacity(family, (size_t)payload, most.granted / host.factor,
                                    &calibration, fault);
    if (status != STATUS_OK)
        return status;
    host.most_granted = most.granted;
    host.capacity = calibration.capacity;
    host.lazy_release = socket_release_share() > 0;
    *out_host = host;
    *out_most = most;
    return STATUS_OK;
}

/* How many the receiver holds of `sent`. */
static enum status count_held(const struct pair *pair, uint32_t drops, bool counts_drops,
                              struct advice_trial *trial, int64_t charge)
{
    struct pair_queue queue;
    enum status status;

    if (!counts_drops) {
        trial->held = pair_read_all(pair);
        return STATUS_OK;
    }
    status = pair_settle(pair, trial->sent, drops, charge, &queue);
    if (status == STATUS_OK)
        trial->held = pair_read_present(pair);
    return status;
}

static enum status try_buffer(const struct advice_claim *claim, struct advice_trial *trial,
                              struct fault *fault)
{
    const struct capacity *capacity = &claim->host->capacity;
    int64_t count = trial->sent;
    struct refused refused;
    struct pair pair;
    uint32_t drops = 0;
    bool counts_drops;
    enum status status =
        pair_open(claim->family, (size_t)claim->payload, trial->rcvbuf.asked, &pair, fault);

    if (status != STATUS_OK)
        return status;
    trial->present = true;
    trial->rcvbuf = pair.rcvbuf;
    trial->predicted = capacity_of(capacity, pair.rcvbuf.granted);
    if (trial->predicted > count)
        trial->predicted = count;
    counts_drops = socket_drops(pair.receiver, &drops) == STATUS_OK;
    trial->sent = pair_send(&pair, count, &refused);
    if (trial->sent != count)
        status = fault_set(fault, STATUS_IO, "the kernel took %lld of %lld datagrams only",
                           (long long)trial->sent, (long long)count);
    if (status == STATUS_OK)
        status = count_held(&pair, drops, counts_drops, trial, (int64_t)capacity->charge);
    pair_done(&pair);
    return status;
}

/* The largest buffer that the arithmetic says is too small. */
static enum status try_smaller(const struct advice_claim *claim, struct advice_proof *proof,
                               struct fault *fault)
{
    const struct advice *advice = claim->advice;
    struct advice_trial *trial = &proof->smaller;
    enum status status;

    trial->rcvbuf.asked = (advice->taken - 1) / claim->host->factor;
    trial->sent = advice->datagrams;
    if (trial->rcvbuf.asked < 1 || advice->datagrams == 1)
        return STATUS_OK;
    status = try_buffer(claim, trial, fault);
    /* A system has a smallest buffer, too. */
    if (status == STATUS_OK && trial->rcvbuf.granted >= advice->taken)
        *trial = (struct advice_trial){ .present = false };
    return status;
}

enum status adviser_prove(const struct advice_claim *claim, struct advice_proof *out_proof,
                          struct fault *fault)
{
    const struct advice_host *host = claim->host;
    const struct advice *advice = claim->advice;
    struct advice_proof proof = { .present = true };
    int64_t largest = advice->needed;
    enum status status;

    proof.at_limit = !advice->curable || !advice->limit_is_enough;
    proof.advised = (struct advice_trial){ .rcvbuf.asked = advice->ask, .sent = advice->datagrams };
    if (proof.at_limit) {
        largest = host->most_granted;
        proof.advised.rcvbuf.asked = largest / host->factor;
        proof.advised.sent = capacity_of(&host->capacity, largest) + BEYOND;
    }
    if (largest > ADVISER_BYTES_MAX)
        return fault_set(fault, STATUS_TOO_LARGE,
                         "a buffer of %lld bytes is not filled to prove it", (long long)largest);
    status = try_buffer(claim, &proof.advised, fault);
    if (status == STATUS_OK && !proof.at_limit)
        status = try_smaller(claim, &proof, fault);
    if (status != STATUS_OK)
        return status;
    /* Where the charge is a quotient, the last datagram is a matter of rounding. */
    if (proof.at_limit)
        proof.agrees = llabs((long long)(proof.advised.held - proof.advised.predicted)) <= 1;
    else
        proof.agrees = proof.advised.held == proof.advised.sent &&
                       (!proof.smaller.present || proof.smaller.held < proof.smaller.sent);
    *out_proof = proof;
    return STATUS_OK;
}
