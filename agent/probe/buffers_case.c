/* Owns the words for a case of buffer experiments and the bound of its time. Measures nothing. */
#include "agent/probe/buffers_case.h"

#include <stdio.h>

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

/* --- words ------------------------------------------------------------------------------------ */

static void name_buffer(int64_t rcvbuf, char out_text[BUFFERS_LABEL_SIZE])
{
    char bytes[TEXT_QUANTITY_SIZE];

    text_grouped(rcvbuf, bytes);
    snprintf(out_text, BUFFERS_LABEL_SIZE, rcvbuf == 0 ? "default buffer" : "SO_RCVBUF %s", bytes);
}

static void label_rung(const struct ladder_result *one, char out_label[BUFFERS_LABEL_SIZE])
{
    const char *option = one->buffer == BUFFER_RCVBUF ? "SO_RCVBUF" : "SO_SNDBUF";
    char asked[TEXT_QUANTITY_SIZE] = "default";

    if (one->asked != NONE_INT)
        text_grouped(one->asked, asked);
    snprintf(out_label, BUFFERS_LABEL_SIZE, "ladder: %s %s", option, asked);
}

static void label_slow_reader(const struct slow_reader_result *one,
                              char out_label[BUFFERS_LABEL_SIZE])
{
    char read[TEXT_QUANTITY_SIZE], pace[TEXT_QUANTITY_SIZE], buffer[BUFFERS_LABEL_SIZE];

    text_duration(one->read_ns, read);
    text_duration(one->interval_ns, pace);
    name_buffer(one->rcvbuf.asked, buffer);
    snprintf(out_label, BUFFERS_LABEL_SIZE, "slow reader, %.20s each: %s%.20s, %.60s", read,
             one->interval_ns == 0 ? "full speed" : "one per ", one->interval_ns == 0 ? "" : pace,
             buffer);
}

void buffers_case_label(const struct buffers_plan *plan, const struct experiment_result *one,
                        char out_label[BUFFERS_LABEL_SIZE])
{
    char text[TEXT_QUANTITY_SIZE], buffer[BUFFERS_LABEL_SIZE];

    switch (one->experiment) {
    case EXPERIMENT_LADDER:
        label_rung(&one->ladder, out_label);
        return;
    case EXPERIMENT_HOLD:
    case EXPERIMENT_SWEEP:
        text_grouped(one->hold.payload, text);
        name_buffer(one->hold.rcvbuf.asked, buffer);
        snprintf(out_label, BUFFERS_LABEL_SIZE, "%s: %.20s B, %.60s",
                 experiment_names[one->experiment], text, buffer);
        return;
    case EXPERIMENT_SLOW_READER:
        label_slow_reader(&one->slow_reader, out_label);
        return;
    case EXPERIMENT_CLOSED_PORT:
        text_grouped(plan->closed_port_sends, text);
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
static double slow_reader_ns(double sends, const struct slow_reader_result *one)
{
    double room = one->rcvbuf.asked == 0 ? DEFAULT_BUFFER : 2.0 * (double)one->rcvbuf.asked;
    double held = room / CHARGE_LEAST;
    double late_ns = (double)(one->read_ns - one->interval_ns);
    double ahead = late_ns <= 0 ? 0 : sends * late_ns / (double)one->read_ns;

    return sends * (double)(one->interval_ns == 0 ? SEND_NS : one->interval_ns) +
           (held < ahead ? held : ahead) * (double)one->read_ns + READER_NS + CALIBRATION_NS;
}

static double sending_ns(int64_t sends, int64_t payload)
{
    return (double)sends * (SEND_NS + (double)payload * SEND_BYTE_NS) + CALIBRATION_NS;
}

double buffers_case_seconds(const struct buffers_plan *plan, const struct experiment_result *one)
{
    double ns = 0;

    switch (one->experiment) {
    case EXPERIMENT_LADDER:
        ns = SEND_NS;
        break;
    case EXPERIMENT_HOLD:
    case EXPERIMENT_SWEEP:
        ns = sending_ns(plan->sends, one->hold.payload);
        break;
    case EXPERIMENT_SLOW_READER:
        ns = slow_reader_ns((double)plan->slow_sends, &one->slow_reader);
        break;
    case EXPERIMENT_CLOSED_PORT:
        ns = sending_ns(plan->closed_port_sends, 0);
        break;
    case EXPERIMENT_IDLE:
        return plan->idle_s;
    case EXPERIMENT_COUNT:
        break;
    }
    return ns / (double)NS_PER_S;
}
