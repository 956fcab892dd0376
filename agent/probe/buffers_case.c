/* Owns how a plan of buffer experiments unfolds. Measures nothing. */
#include "agent/probe/buffers_case.h"

#include <assert.h>
#include <stdio.h>

#include "agent/probe/buffers.h"
#include "proto/base/clock.h"
#include "proto/base/text.h"

/* What bounds a case's time. */
enum {
    CHARGE_LEAST = 128,         /* bytes; no kernel takes less of a buffer for a datagram */
    DEFAULT_BUFFER = 1 << 20,   /* no plain socket has more */
    SEND_NS = 10000,            /* a system call on loopback, both ways, and then some */
    SEND_BYTE_NS = 1,           /* copied twice */
    CALIBRATION_NS = 100000000, /* charge, rule, counters, what a busy kernel delivers late */
    READER_NS = 500000000       /* its process begins and ends */
};

static int64_t item(const struct list *list, size_t index)
{
    assert(index < list->count);
    return ((const int64_t *)list->items)[index];
}

static size_t count_of(const struct buffers_plan *plan, enum experiment experiment)
{
    switch (experiment) {
    case EXPERIMENT_LADDER:
        return BUFFER_SIDE_COUNT * (1 + plan->asked.count);
    case EXPERIMENT_HOLD:
        return plan->payloads.count;
    case EXPERIMENT_SWEEP:
        return plan->sweep_rcvbufs.count;
    case EXPERIMENT_SLOW_READER:
        return plan->read_ns.count * plan->intervals_ns.count * plan->slow_rcvbufs.count;
    case EXPERIMENT_CLOSED_PORT:
    case EXPERIMENT_IDLE:
    case EXPERIMENT_COUNT:
        break;
    }
    return 1;
}

static enum experiment experiment_at(const struct buffers_plan *plan, size_t index)
{
    assert(index < plan->experiments.count);
    return (enum experiment)((const int *)plan->experiments.items)[index];
}

size_t buffers_case_count(const struct buffers_plan *plan)
{
    size_t count = 0;

    for (size_t i = 0; i < plan->experiments.count; i++)
        count += count_of(plan, experiment_at(plan, i));
    return count;
}

double buffers_seconds(const struct buffers_plan *plan)
{
    double seconds = BUFFERS_LISTEN_S;

    for (size_t i = 0; i < buffers_case_count(plan); i++) {
        struct buffers_case one = buffers_case_at(plan, i);

        seconds += buffers_case_seconds(&one);
    }
    return seconds;
}

/* --- one case --------------------------------------------------------------------------------- */

static void put_rung(const struct buffers_plan *plan, size_t index, struct buffers_case *one)
{
    size_t rungs = 1 + plan->asked.count;

    one->side = index < rungs ? BUFFER_RCVBUF : BUFFER_SNDBUF;
    one->asked = index % rungs == 0 ? NONE_INT : item(&plan->asked, index % rungs - 1);
}

/* Buffers innermost, then paces: what belongs together stands together. */
static void put_slow_reader(const struct buffers_plan *plan, size_t index, struct buffers_case *one)
{
    size_t buffers = plan->slow_rcvbufs.count;
    size_t paces = plan->intervals_ns.count;

    one->payload = plan->slow_payload;
    one->sends = plan->slow_sends;
    one->rcvbuf = item(&plan->slow_rcvbufs, index % buffers);
    one->interval_ns = item(&plan->intervals_ns, index / buffers % paces);
    one->read_ns = item(&plan->read_ns, index / buffers / paces);
}

static struct buffers_case make_case(const struct buffers_plan *plan, enum experiment experiment,
                                     size_t index)
{
    struct buffers_case one = { .experiment = experiment, .asked = NONE_INT, .sends = plan->sends };

    switch (experiment) {
    case EXPERIMENT_LADDER:
        put_rung(plan, index, &one);
        break;
    case EXPERIMENT_HOLD:
        one.payload = item(&plan->payloads, index);
        one.rcvbuf = plan->hold_rcvbuf;
        break;
    case EXPERIMENT_SWEEP:
        one.payload = plan->sweep_payload;
        one.rcvbuf = item(&plan->sweep_rcvbufs, index);
        break;
    case EXPERIMENT_SLOW_READER:
        put_slow_reader(plan, index, &one);
        break;
    case EXPERIMENT_CLOSED_PORT:
        one.sends = plan->closed_port_sends;
        break;
    case EXPERIMENT_IDLE:
        one.seconds = plan->idle_s;
        break;
    case EXPERIMENT_COUNT:
        assert(false && "no experiment");
        break;
    }
    return one;
}

struct buffers_case buffers_case_at(const struct buffers_plan *plan, size_t index)
{
    for (size_t i = 0; i < plan->experiments.count; i++) {
        enum experiment experiment = experiment_at(plan, i);
        size_t count = count_of(plan, experiment);

        if (index < count)
            return make_case(plan, experiment, index);
        index -= count;
    }
    assert(false && "beyond the plan");
    return (struct buffers_case){ .experiment = EXPERIMENT_COUNT };
}

/* --- words ------------------------------------------------------------------------------------ */

static void name_buffer(int64_t rcvbuf, char out_text[BUFFERS_LABEL_SIZE])
{
    char bytes[TEXT_QUANTITY_SIZE];

    text_grouped(rcvbuf, bytes);
    snprintf(out_text, BUFFERS_LABEL_SIZE, rcvbuf == 0 ? "default buffer" : "SO_RCVBUF %s", bytes);
}

static void label_rung(const struct buffers_case *one, char out_label[BUFFERS_LABEL_SIZE])
{
    const char *option = one->side == BUFFER_RCVBUF ? "SO_RCVBUF" : "SO_SNDBUF";
    char asked[TEXT_QUANTITY_SIZE] = "default";

    if (one->asked != NONE_INT)
        text_grouped(one->asked, asked);
    snprintf(out_label, BUFFERS_LABEL_SIZE, "ladder: %s %s", option, asked);
}

static void label_slow_reader(const struct buffers_case *one, char out_label[BUFFERS_LABEL_SIZE])
{
    char read[TEXT_QUANTITY_SIZE], pace[TEXT_QUANTITY_SIZE], buffer[BUFFERS_LABEL_SIZE];

    text_duration(one->read_ns, read);
    text_duration(one->interval_ns, pace);
    name_buffer(one->rcvbuf, buffer);
    snprintf(out_label, BUFFERS_LABEL_SIZE, "slow reader, %.20s each: %s%.20s, %.60s", read,
             one->interval_ns == 0 ? "full speed" : "one per ", one->interval_ns == 0 ? "" : pace,
             buffer);
}

void buffers_case_label(const struct buffers_case *one, char out_label[BUFFERS_LABEL_SIZE])
{
    char text[TEXT_QUANTITY_SIZE], buffer[BUFFERS_LABEL_SIZE];

    switch (one->experiment) {
    case EXPERIMENT_LADDER:
        label_rung(one, out_label);
        return;
    case EXPERIMENT_HOLD:
    case EXPERIMENT_SWEEP:
        text_grouped(one->payload, text);
        name_buffer(one->rcvbuf, buffer);
        snprintf(out_label, BUFFERS_LABEL_SIZE, "%s: %.20s B, %.60s",
                 experiment_names[one->experiment], text, buffer);
        return;
    case EXPERIMENT_SLOW_READER:
        label_slow_reader(one, out_label);
        return;
    case EXPERIMENT_CLOSED_PORT:
        text_grouped(one->sends, text);
        snprintf(out_label, BUFFERS_LABEL_SIZE, "closed port: %s datagrams", text);
        return;
    case EXPERIMENT_IDLE:
    case EXPERIMENT_COUNT:
        break;
    }
    snprintf(out_label, BUFFERS_LABEL_SIZE, "idle: listening to the machine");
}

/* --- time ------------------------------------------------------------------------------------- */

/* Sending, and then reading what waits: no more than a buffer holds, nor than comes too fast. */
static double slow_reader_ns(const struct buffers_case *one)
{
    double sends = (double)one->sends;
    double room = one->rcvbuf == 0 ? DEFAULT_BUFFER : 2.0 * (double)one->rcvbuf;
    double ahead = one->interval_ns >= one->read_ns
                       ? 0
                       : sends * (double)(one->read_ns - one->interval_ns) / (double)one->read_ns;
    double held = room / CHARGE_LEAST;

    return sends * (double)(one->interval_ns == 0 ? SEND_NS : one->interval_ns) +
           (held < ahead ? held : ahead) * (double)one->read_ns + READER_NS + CALIBRATION_NS;
}

double buffers_case_seconds(const struct buffers_case *one)
{
    double send_ns = SEND_NS + (double)one->payload * SEND_BYTE_NS;
    double ns = 0;

    switch (one->experiment) {
    case EXPERIMENT_LADDER:
        ns = SEND_NS;
        break;
    case EXPERIMENT_HOLD:
    case EXPERIMENT_SWEEP:
    case EXPERIMENT_CLOSED_PORT:
        ns = (double)one->sends * send_ns + CALIBRATION_NS;
        break;
    case EXPERIMENT_SLOW_READER:
        ns = slow_reader_ns(one);
        break;
    case EXPERIMENT_IDLE:
        return one->seconds;
    case EXPERIMENT_COUNT:
        break;
    }
    return ns / (double)NS_PER_S;
}
