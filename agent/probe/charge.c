/* Owns what a queued datagram is charged: the search for the steps of it, the rule behind them, and
 * the sockets on which it is measured. Draws no conclusion for buffers: that is capacity.h's. */
#include "agent/probe/charge.h"

#include <assert.h>
#include <string.h>

#include "agent/host/affinity.h"
#include "agent/host/datagram.h"
#include "agent/host/segment.h"
#include "agent/host/socket.h"
#include "agent/probe/pair.h"
#include "proto/wire/limits.h"

const char *const charge_way_names[] = { "plain", "connected", "other-cpu", "gro" };
_Static_assert(sizeof charge_way_names / sizeof charge_way_names[0] == CHARGE_WAY_COUNT,
               "a name for each way");

/* --- the search ----------------------------------------------------------------------------- */

struct search {
    const struct charge_source *source;
    int64_t high;
};

static enum status matches(const struct search *search, const struct charge_step *step,
                           int64_t payload, bool *out_matches, struct fault *fault)
{
    int64_t charge;
    enum status status = search->source->measure(search->source->context, payload, &charge, fault);

    if (status == STATUS_OK)
        *out_matches = charge == step->charge + (payload - step->from) * step->slope;
    return status;
}

/* A slope meets a level that comes behind it in one payload: there the one before tells. */
static enum status holds_at(const struct search *search, const struct charge_step *step,
                            int64_t payload, bool *out_holds, struct fault *fault)
{
    enum status status = matches(search, step, payload, out_holds, fault);

    if (status == STATUS_OK && *out_holds && step->slope != 0 && payload > step->from + 1)
        status = matches(search, step, payload - 1, out_holds, fault);
    return status;
}

/* Charge and slope of the step that begins at step->from. */
static enum status begin_step(const struct search *search, struct charge_step *step,
                              struct fault *fault)
{
    int64_t next = 0;
    enum status status =
        search->source->measure(search->source->context, step->from, &step->charge, fault);

    if (status != STATUS_OK || step->from == search->high)
        return status;
    status = search->source->measure(search->source->context, step->from + 1, &next, fault);
    step->slope = status == STATUS_OK && next == step->charge + 1;
    return status;
}

/* Where it ends: the last payload for which it holds, of those that were asked for. */
static enum status end_step(const struct search *search, struct charge_step *step,
                            struct fault *fault)
{
    int64_t good = step->from, bad = search->high + 1;
    enum status status = STATUS_OK;

    for (int64_t reach = 1; good < search->high && bad > search->high; reach *= 2) {
        int64_t payload = step->from + reach < search->high ? step->from + reach : search->high;
        bool holds = false;

        status = holds_at(search, step, payload, &holds, fault);
        if (status != STATUS_OK)
            return status;
        *(holds ? &good : &bad) = payload;
    }
    while (bad - good > 1) {
        int64_t middle = good + (bad - good) / 2;
        bool holds = false;

        status = holds_at(search, step, middle, &holds, fault);
        if (status != STATUS_OK)
            return status;
        *(holds ? &good : &bad) = middle;
    }
    step->to = good;
    return STATUS_OK;
}

enum status charge_bisect(const struct charge_source *source, int64_t low, int64_t high,
                          struct list *out_steps, struct fault *fault)
{
    const struct search search = { source, high };
    size_t before = out_steps->count;
    enum status status = STATUS_OK;

    assert(low <= high);
    for (int64_t from = low; from <= high && status == STATUS_OK;) {
        struct charge_step step = { .from = from };

        if (out_steps->count - before == CHARGE_STEPS_MAX) {
            status = fault_set(fault, STATUS_CORRUPT,
                               "the charge of %lld bytes and more does not come in steps",
                               (long long)from);
            break;
        }
        status = begin_step(&search, &step, fault);
        if (status == STATUS_OK)
            status = end_step(&search, &step, fault);
        if (status == STATUS_OK)
            *(struct charge_step *)list_append_sized(out_steps, sizeof step) = step;
        from = step.to + 1;
    }
    if (status != STATUS_OK)
        out_steps->count = before;
    return status;
}

int64_t charge_at(const struct list *steps, int64_t payload)
{
    const struct charge_step *step = steps->items;

    for (size_t i = 0; i < steps->count; i++) {
        if (payload >= step[i].from && payload <= step[i].to)
            return step[i].charge + (payload - step[i].from) * step[i].slope;
    }
    return NONE_INT;
}

/* --- the rule ------------------------------------------------------------------------------- */

enum {
    SKB_BYTES = 256,         /* struct sk_buff, as its slab has it */
    SKB_END_BYTES = 320,     /* struct skb_shared_info, aligned */
    SKB_ALIGN = 64,          /* a cache line */
    SKB_LINEAR_MAX = 16384,  /* four pages; SKB_MAX_ALLOC is this without the end */
    HEADROOM_IPV4 = 31 + 28, /* link layer and its alignment, IP, UDP */
    HEADROOM_IPV6 = 24 + 48
};

int64_t charge_predicted(enum family family, int64_t payload, int64_t smallest)
{
    int64_t head = payload + (family == FAMILY_IPV4 ? HEADROOM_IPV4 : HEADROOM_IPV6);
    int64_t linear = (head + SKB_ALIGN - 1) / SKB_ALIGN * SKB_ALIGN + SKB_END_BYTES;
    int64_t slab = 512;

    if (SKB_BYTES + linear <= smallest)
        return smallest; /* a slab of its own for small heads */
    if (head >= SKB_LINEAR_MAX - SKB_END_BYTES)
        return smallest + payload;
    while (slab < linear)
        slab *= 2;
    return SKB_BYTES + slab;
}

/* --- the measurement ------------------------------------------------------------------------ */

enum {
    RCVBUF_BYTES = 1 << 20, /* more than any datagram's charge, where the system allows it */
    TRIES = 8,              /* for datagrams that come late and strangers' in between */
    LINK_HEADER_BYTES = 14,
    GSO_BYTES_MAX = 65536 /* from here on segments are separated on their way */
};

struct rig {
    enum charge_way way;
    struct pair pair;
    struct addr sender;
    struct affinity *affinity; /* of CHARGE_OTHER_CPU, else NULL */
};

static void rig_close(struct rig *rig)
{
    affinity_free(rig->affinity);
    pair_done(&rig->pair);
}

static enum status address_of(int fd, struct addr *out_addr, struct fault *fault)
{
    struct addr addr;

    memset(&addr, 0, sizeof addr);
    addr.length = sizeof addr.socket;
    if (getsockname(fd, &addr.socket.any, &addr.length) != 0)
        return fault_set(fault, STATUS_IO, "cannot read a socket's own address");
    *out_addr = addr;
    return STATUS_OK;
}

static enum status prepare_way(struct rig *rig, struct fault *fault)
{
    enum status status;

    switch (rig->way) {
    case CHARGE_CONNECTED:
        return socket_connect(rig->pair.receiver, &rig->sender, fault);
    case CHARGE_GRO:
        return segment_receives(rig->pair.receiver, fault);
    case CHARGE_OTHER_CPU:
        status = affinity_take(&rig->affinity, fault);
        if (status == STATUS_OK && affinity_count(rig->affinity) < 2)
            status = fault_set(fault, STATUS_UNSUPPORTED, "this process may use one CPU only");
        return status;
    case CHARGE_PLAIN:
    case CHARGE_WAY_COUNT:
        break;
    }
    return STATUS_OK;
}

static enum status rig_open(enum family family, enum charge_way way, struct rig *out_rig,
                            struct fault *fault)
{
    struct rig rig = { .way = way };
    uint32_t drops;
    enum status status = pair_open(family, PAYLOAD_MAX_IPV6, RCVBUF_BYTES, &rig.pair, fault);

    if (status != STATUS_OK)
        return status;
    /* Where a socket's drops cannot be read, queued bytes leave out what else is booked (mbufs). */
    status = socket_drops(rig.pair.receiver, &drops);
    if (status != STATUS_OK)
        status = fault_set(fault, STATUS_UNSUPPORTED,
                           "this system does not tell what a queued datagram is charged");
    if (status == STATUS_OK)
        status = address_of(rig.pair.sender, &rig.sender, fault);
    if (status == STATUS_OK)
        status = prepare_way(&rig, fault);
    if (status != STATUS_OK)
        rig_close(&rig);
    else
        *out_rig = rig;
    return status;
}

static int64_t segments_of(const struct rig *rig)
{
    return rig->way == CHARGE_GRO ? CHARGE_GRO_SEGMENTS : 1;
}

static enum status send_one(const struct rig *rig, int64_t payload, struct fault *fault)
{
    struct datagram datagram = {
        .part = { { rig->pair.bytes, (size_t)(payload * segments_of(rig)) } }, .parts = 1
    };
    enum status status = STATUS_OK;
    int error = 0;

    if (rig->way == CHARGE_GRO)
        status = segment_sends(rig->pair.sender, payload, fault);
    if (rig->affinity != NULL)
        status = affinity_pin(rig->affinity, 0, fault);
    if (status != STATUS_OK)
        return status;
    if (datagram_send_single(rig->pair.sender, &datagram, 1, &error) != 1)
        status = fault_errno(fault, error, "sending a datagram of %lld bytes on loopback",
                             (long long)payload);
    if (status == STATUS_OK && rig->affinity != NULL)
        status = affinity_pin(rig->affinity, 1, fault);
    return status;
}

/* True when the queue had this one datagram of ours and nothing else. Empties it. */
static bool take_only(const struct rig *rig, int64_t length)
{
    struct addr from;
    struct datagram datagram = { .part = { { rig->pair.bytes, rig->pair.payload + 1 } },
                                 .parts = 1,
                                 .peer = &from };
    bool ours;
    int error;

    if (datagram_receive_single(rig->pair.receiver, &datagram, 1, &error) != 1)
        return false;
    ours = datagram.length == (size_t)length && addr_equal(&from, &rig->sender);
    return pair_read_present(&rig->pair) == 0 && ours;
}

static enum status measure_one(void *context, int64_t payload, int64_t *out_charge,
                               struct fault *fault)
{
    const struct rig *rig = context;
    int64_t segments = segments_of(rig);

    for (int i = 0; i < TRIES; i++) {
        int64_t before = 0, after = 0;
        enum status status;

        (void)pair_read_present(&rig->pair);
        status = socket_queued_bytes(rig->pair.receiver, &before);
        if (status == STATUS_OK)
            status = send_one(rig, payload, fault);
        if (status != STATUS_OK)
            return status;
        (void)pair_wait(&rig->pair);
        status = socket_queued_bytes(rig->pair.receiver, &after);
        if (status != STATUS_OK)
            return fault_set(fault, status, "a socket's queued bytes cannot be read");
        if (take_only(rig, payload * segments)) {
            *out_charge = (after - before + segments - 1) / segments;
            return STATUS_OK;
        }
    }
    return fault_set(fault, STATUS_AGAIN,
                     "%d times no datagram of %lld bytes arrived alone on loopback", TRIES,
                     (long long)payload);
}

void charge_limits(enum family family, enum charge_way way, int64_t *out_low, int64_t *out_high)
{
    int64_t headers = LINK_HEADER_BYTES + UDP_HEADER_BYTES +
                      (family == FAMILY_IPV4 ? IPV4_HEADER_BYTES : IPV6_HEADER_BYTES);

    *out_low = 0;
    *out_high = family == FAMILY_IPV4 ? PAYLOAD_MAX_IPV4 : PAYLOAD_MAX_IPV6;
    if (way == CHARGE_GRO) {
        *out_low = 1; /* UDP_SEGMENT 0 is off */
        *out_high = (GSO_BYTES_MAX - 1 - headers) / CHARGE_GRO_SEGMENTS;
    }
}

enum status charge_steps(const struct charge_question *question, struct list *out_steps,
                         struct fault *fault)
{
    struct rig rig;
    const struct charge_source source = { measure_one, &rig };
    int64_t least, most;
    enum status status;

    charge_limits(question->family, question->way, &least, &most);
    assert(question->low >= least && question->high <= most);
    status = rig_open(question->family, question->way, &rig, fault);
    if (status != STATUS_OK)
        return status;
    status = charge_bisect(&source, question->low, question->high, out_steps, fault);
    rig_close(&rig);
    return status;
}
