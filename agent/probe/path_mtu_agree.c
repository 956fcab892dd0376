/* Owns what comes before probing: hellos on any flow, then each flow is made known. */
#include "agent/probe/path_mtu_part.h"

#include <assert.h>
#include <stdio.h>

enum { OPEN_TRIES = 10, HELLO_FLOWS = GREETING_GUESTS };

static const struct mono never = { INT64_MAX };

/* --- the listener ----------------------------------------------------------------------------- */

enum status path_mtu_wait(struct path_mtu *end, int wake_fd, int64_t timeout_ns,
                          struct fault *fault)
{
    const struct phase_watch watch = { .wake_fd = wake_fd };
    const struct mtu_loop loop = { .until = mono_after(mono_now(), timeout_ns),
                                   .until_woken = true };

    assert(end->is_listener);
    return mtu_loop_run(end, &loop, &watch, fault);
}

/* --- hellos ----------------------------------------------------------------------------------- */

/* On one flow after the other, as some may be dead, until one was answered. */
static struct mono say_hello(struct path_mtu *end, struct mono now)
{
    uint8_t bytes[HELLO_SIZE], random[12];
    struct lane *flow = &end->flows[end->hello_flow];

    digest_random(random, sizeof random);
    if (hello_send(&end->hello, random, now, bytes)) {
        mtu_send_bytes(end, flow, bytes, sizeof bytes);
        if (!end->hello.confirming)
            end->hello_flow =
                (end->hello_flow + 1) % (end->count < HELLO_FLOWS ? end->count : HELLO_FLOWS);
    }
    return hello_due(&end->hello);
}

static bool hello_over(const struct path_mtu *end)
{
    return end->hello.agreed || hello_failed(&end->hello, mono_now());
}

static enum status no_agreement(const struct path_mtu *end, struct fault *fault)
{
    char target[ADDR_TEXT_SIZE], hint[128] = "";

    addr_format(&end->target, target);
    if (end->no_port > 0)
        snprintf(hint, sizeof hint, ", \"port unreachable\" came %lld times",
                 (long long)end->no_port);
    return fault_set(fault, STATUS_NOT_FOUND,
                     "%lld hellos to %s, %lld answered, no agreement%s: is the other end running "
                     "there, is the port right, does a firewall drop UDP?",
                     (long long)end->hello.sent, target, (long long)end->hello.answered, hint);
}

struct agreement path_mtu_agreement(const struct path_mtu *end)
{
    if (end->is_listener)
        return (struct agreement){ .present = true,
                                   .hellos_sent = end->greeting.hellos,
                                   .hellos_answered = end->greeting.answered,
                                   .rtt_ns = NONE_INT,
                                   .strangers = end->answered.foreign };
    return (struct agreement){ .present = true,
                               .hellos_sent = end->hello.sent,
                               .hellos_answered = end->hello.answered,
                               .rtt_ns = end->hello.confirming ? end->hello.rtt_ns : NONE_INT,
                               .strangers = NONE_INT };
}

/* --- each flow is made known ------------------------------------------------------------------ */

static enum status next_open(struct lane *flow, struct mono now, struct mtu_ask *out_ask)
{
    struct mtu_opening *opening = &flow->opening;

    if (flow->opened || opening->sent == OPEN_TRIES || mono_between(opening->next, now) < 0)
        return STATUS_AGAIN;
    if (opening->sent++ == 0)
        opening->pause_ns = HELLO_FIRST_NS;
    opening->next = mono_after(now, opening->pause_ns);
    opening->pause_ns *= 2;
    if (opening->pause_ns > HELLO_LAST_NS)
        opening->pause_ns = HELLO_LAST_NS;
    *out_ask = (struct mtu_ask){ .number = (uint32_t)flow->index,
                                 .size = mtu_headers(flow->family) + MTU_ANSWER_SIZE };
    return STATUS_OK;
}

static struct mono deadline_open(const struct lane *flow)
{
    return flow->opened ? never : flow->opening.next;
}

static bool over_open(const struct lane *flow)
{
    return flow->opened ||
           (flow->opening.sent == OPEN_TRIES && mono_between(flow->opening.next, mono_now()) >= 0);
}

/* The flow is open already, whatever is going on. */
static void answered_open(struct lane *flow, uint32_t number, struct mono now)
{
    (void)flow;
    (void)number;
    (void)now;
}

/* It is sent again in any case. */
static void refused_open(struct lane *flow, uint32_t number, int64_t limit)
{
    (void)flow;
    (void)number;
    (void)limit;
}

const struct mtu_stage mtu_stage_open = {
    .class = MTU_CLASS_OPEN,
    .next = next_open,
    .deadline = deadline_open,
    .over = over_open,
    .answered = answered_open,
    .refused = refused_open,
};

enum status path_mtu_agree(struct path_mtu *end, const struct phase_watch *watch,
                           struct fault *fault)
{
    const struct mtu_loop loop = { .turn = say_hello, .over = hello_over, .until = never };
    enum status status;

    assert(!end->is_listener);
    hello_init(&end->hello, &end->key, end->order.ssid, mono_now());
    status = mtu_loop_run(end, &loop, watch, fault);
    if (status != STATUS_OK)
        return status;
    if (!end->hello.agreed)
        return no_agreement(end, fault);
    return mtu_stage_run(end, &mtu_stage_open, never, watch, fault);
}
