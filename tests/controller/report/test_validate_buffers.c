/* Each rule of a buffers run is broken alone, and the fault names its place. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "controller/report/validate.h"
#include "proto/base/text.h"
#include "tests/controller/report/make_buffers_run.h"

struct rule {
    const char *name;
    void (*break_it)(struct run *run);
    const char *place; /* what the fault must start with, up to ':' */
};

static struct experiment_result *at(struct run *run, size_t index)
{
    return make_experiment_at(run, index);
}

static struct hold_result *hold(struct run *run)
{
    return &at(run, SMALL_HOLD)->hold;
}

static struct slow_reader_result *slow(struct run *run)
{
    return &at(run, SMALL_SLOW)->slow_reader;
}

static struct drop_owner *owner(struct run *run, size_t index)
{
    return (struct drop_owner *)at(run, SMALL_IDLE)->idle.owners.items + index;
}

/* A point of the curves, [0] its time and [1] its value. */
static double *point(struct list *list, size_t index)
{
    return ((double(*)[2])list->items)[index];
}

static void set_text(char *text, const char *value)
{
    (void)text_copy(text, MAP_KEY_SIZE, value);
}

#define BREAK(NAME, ...)                                                                           \
    static void NAME(struct run *run)                                                              \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* the plan */
BREAK(experiment_twice, ((int *)run->buffers_plan.experiments.items)[1] = EXPERIMENT_LADDER;)
BREAK(payload_too_large, ((int64_t *)run->buffers_plan.payloads.items)[0] = 65508;)
BREAK(no_payloads, run->buffers_plan.payloads.count = 0;)
BREAK(case_missing, make_buffers_interrupted(run, SMALL_IDLE); run->interrupted = false;)
BREAK(case_twice, at(run, 5)->index = 4;)
BREAK(case_twice_interrupted, run->interrupted = true; at(run, 5)->index = 4;)
BREAK(index_too_large, at(run, SMALL_IDLE)->index = SMALL_COUNT;)
BREAK(index_order, make_buffers_interrupted(run, 2); at(run, 0)->index = 2;
      at(run, 0)->ladder.buffer = BUFFER_SNDBUF;)
BREAK(other_experiment, at(run, SMALL_SWEEP)->experiment = EXPERIMENT_HOLD;)
BREAK(other_buffer, at(run, SMALL_LADDER)->ladder.buffer = BUFFER_SNDBUF;)
BREAK(other_asked, at(run, SMALL_LADDER)->ladder.asked++;)
BREAK(other_asked_null, at(run, SMALL_LADDER)->ladder.asked = NONE_INT;)
BREAK(other_payload, hold(run)->payload++;)
BREAK(other_rcvbuf, hold(run)->rcvbuf.asked = 1;)
BREAK(other_sweep_payload, at(run, SMALL_SWEEP)->hold.payload++;)
BREAK(other_sweep_rcvbuf, at(run, SMALL_SWEEP)->hold.rcvbuf.asked++;)
BREAK(other_slow_payload, slow(run)->payload++;)
BREAK(other_slow_rcvbuf, slow(run)->rcvbuf.asked++;)
BREAK(other_read, slow(run)->read_ns++;)
BREAK(other_interval, slow(run)->interval_ns++;)
BREAK(error_of_other_payload, make_experiment_error(run, SMALL_HOLD, "no"); hold(run)->payload++;)
BREAK(other_payload_interrupted, run->interrupted = true; hold(run)->payload++;)

/* ladder */
BREAK(granted_null, at(run, SMALL_LADDER)->ladder.granted = NONE_INT;)
BREAK(error_granted, set_text(at(run, SMALL_LADDER)->error, "ENOBUFS");)
BREAK(limit_of_default, set_text(at(run, SMALL_LADDER_DEFAULT)->ladder.limit, "x");)
BREAK(limit_of_error, set_text(at(run, SMALL_LADDER)->error, "ENOBUFS");
      at(run, SMALL_LADDER)->ladder.granted = NONE_INT;
      set_text(at(run, SMALL_LADDER)->ladder.limit, "x");)

/* hold and sweep */
BREAK(hold_granted_0, hold(run)->rcvbuf.granted = 0;)
BREAK(hold_limit_of_default, set_text(hold(run)->rcvbuf.limit, "x");)
BREAK(hold_sent_more, hold(run)->sent++; hold(run)->dropped.socket++;)
BREAK(hold_sent_less, hold(run)->sent--; hold(run)->dropped.socket--;)
BREAK(held_more_than_sent, hold(run)->dropped.socket = NONE_INT; hold(run)->held = 5001;
      hold(run)->bytes_per_datagram = (double)hold(run)->queued_bytes / 5001;)
BREAK(held_and_dropped, hold(run)->dropped.socket--;)
BREAK(sweep_held_and_dropped, at(run, SMALL_SWEEP)->hold.dropped.socket++;)
BREAK(predicted_more_than_sent, hold(run)->predicted_held = 5001;)
BREAK(charge_high, hold(run)->bytes_per_datagram += 1.5;)
BREAK(charge_low, hold(run)->bytes_per_datagram -= 1.5;)
BREAK(charge_null, hold(run)->bytes_per_datagram = (double)NAN;)
BREAK(charge_of_nothing, hold(run)->held = 0; hold(run)->dropped.socket = 5000;)
BREAK(charge_of_granted, hold(run)->queued_bytes = NONE_INT;)

/* slow reader */
BREAK(slow_granted_0, slow(run)->rcvbuf.granted = 0;)
BREAK(slow_sent_more, slow(run)->sent++;)
BREAK(slow_sent_less, slow(run)->sent--;)
BREAK(no_sending_time, slow(run)->sending_s = (double)NAN;)
BREAK(no_interval, slow(run)->achieved_interval_ns = (double)NAN;)
BREAK(interval_too_long, slow(run)->achieved_interval_ns *= 1.01;)
BREAK(interval_too_short, slow(run)->achieved_interval_ns *= 0.99;)
BREAK(processed_more_than_sent, slow(run)->processed = 2001; slow(run)->lost = 0;)
BREAK(lost_wrong, slow(run)->lost--;)
BREAK(ratio_wrong, slow(run)->loss_ratio += 2e-9;)
BREAK(ratio_null, slow(run)->loss_ratio = (double)NAN;)
BREAK(ratio_above_1, slow(run)->model_loss_ratio = 1.1;)
BREAK(dropped_more_than_lost, slow(run)->dropped.socket = slow(run)->lost + 1;)
BREAK(no_first_drop, slow(run)->first_drop_s = (double)NAN;)
BREAK(first_drop_of_none, at(run, SMALL_FAST)->slow_reader.first_drop_s = 0.1;)
BREAK(queue_order, point(&slow(run)->queue, 7)[0] = 0;)
BREAK(queue_negative, point(&slow(run)->queue, 7)[1] = -1;)
BREAK(queue_before_start, point(&slow(run)->queue, 0)[0] = -1;)
BREAK(queue_not_finite, point(&slow(run)->queue, 7)[1] = (double)INFINITY;)
BREAK(drops_order, point(&slow(run)->drops, 7)[0] = 0;)
BREAK(drops_fall, point(&slow(run)->drops, 45)[1] = 0;)
BREAK(drops_too_many, double *last = point(&slow(run)->drops, slow(run)->drops.count - 1);
      last[1]++;)

/* closed port */
BREAK(closed_sent_more, at(run, SMALL_CLOSED)->closed_port.sent = 101;)
BREAK(closed_sent_less, at(run, SMALL_CLOSED)->closed_port.sent = 49;)
BREAK(closed_refused, at(run, SMALL_CLOSED)->closed_port.refused.econnrefused = 49;)

/* idle */
BREAK(idle_no_time, at(run, SMALL_IDLE)->idle.seconds = 0;)
BREAK(idle_negative, at(run, SMALL_IDLE)->idle.delta.value[UDP_SENT] = -1;)
BREAK(owner_order, owner(run, 0)->drops = 30;)
BREAK(owner_of_nothing, owner(run, 1)->drops = 0;)
BREAK(owner_port, owner(run, 1)->port = 65536;)

#define RULE(NAME, PLACE)                                                                          \
    {                                                                                              \
#        NAME, NAME, PLACE                                                                         \
    }

static const struct rule rules[] = {
    RULE(experiment_twice, "/plan"),
    RULE(payload_too_large, "/plan"),
    RULE(no_payloads, "/plan"),
    RULE(case_missing, "/cases"),
    RULE(case_twice, "/cases/5"),
    RULE(case_twice_interrupted, "/cases/5"),
    RULE(index_too_large, "/cases/10/index"),
    RULE(index_order, "/cases/1/index"),
    RULE(other_experiment, "/cases/6/experiment"),
    RULE(other_buffer, "/cases/1/buffer"),
    RULE(other_asked, "/cases/1/asked"),
    RULE(other_asked_null, "/cases/1/asked"),
    RULE(other_payload, "/cases/5/payload"),
    RULE(other_rcvbuf, "/cases/5/rcvbuf/asked"),
    RULE(other_sweep_payload, "/cases/6/payload"),
    RULE(other_sweep_rcvbuf, "/cases/6/rcvbuf/asked"),
    RULE(other_slow_payload, "/cases/7/payload"),
    RULE(other_slow_rcvbuf, "/cases/7/rcvbuf/asked"),
    RULE(other_read, "/cases/7/read_ns"),
    RULE(other_interval, "/cases/7/interval_ns"),
    RULE(error_of_other_payload, "/cases/5/payload"),
    RULE(other_payload_interrupted, "/cases/5/payload"),
    RULE(granted_null, "/cases/1/granted"),
    RULE(error_granted, "/cases/1/granted"),
    RULE(limit_of_default, "/cases/0/limit"),
    RULE(limit_of_error, "/cases/1/limit"),
    RULE(hold_granted_0, "/cases/5/rcvbuf/granted"),
    RULE(hold_limit_of_default, "/cases/5/rcvbuf/limit"),
    RULE(hold_sent_more, "/cases/5/sent"),
    RULE(hold_sent_less, "/cases/5/sent"),
    RULE(held_more_than_sent, "/cases/5/held"),
    RULE(held_and_dropped, "/cases/5/held"),
    RULE(sweep_held_and_dropped, "/cases/6/held"),
    RULE(predicted_more_than_sent, "/cases/5/predicted_held"),
    RULE(charge_high, "/cases/5/bytes_per_datagram"),
    RULE(charge_low, "/cases/5/bytes_per_datagram"),
    RULE(charge_null, "/cases/5/bytes_per_datagram"),
    RULE(charge_of_nothing, "/cases/5/bytes_per_datagram"),
    RULE(charge_of_granted, "/cases/5/bytes_per_datagram"),
    RULE(slow_granted_0, "/cases/7/rcvbuf/granted"),
    RULE(slow_sent_more, "/cases/7/sent"),
    RULE(slow_sent_less, "/cases/7/sent"),
    RULE(no_sending_time, "/cases/7/sending_s"),
    RULE(no_interval, "/cases/7/achieved_interval_ns"),
    RULE(interval_too_long, "/cases/7/achieved_interval_ns"),
    RULE(interval_too_short, "/cases/7/achieved_interval_ns"),
    RULE(processed_more_than_sent, "/cases/7/processed"),
    RULE(lost_wrong, "/cases/7/lost"),
    RULE(ratio_wrong, "/cases/7/loss_ratio"),
    RULE(ratio_null, "/cases/7/loss_ratio"),
    RULE(ratio_above_1, "/cases/7/model_loss_ratio"),
    RULE(dropped_more_than_lost, "/cases/7/dropped/socket"),
    RULE(no_first_drop, "/cases/7/first_drop_s"),
    RULE(first_drop_of_none, "/cases/8/first_drop_s"),
    RULE(queue_order, "/cases/7/queue/7"),
    RULE(queue_negative, "/cases/7/queue/7"),
    RULE(queue_before_start, "/cases/7/queue/0"),
    RULE(queue_not_finite, "/cases/7/queue/7"),
    RULE(drops_order, "/cases/7/drops/7"),
    RULE(drops_fall, "/cases/7/drops/45"),
    RULE(drops_too_many, "/cases/7/drops"),
    RULE(closed_sent_more, "/cases/9/sent"),
    RULE(closed_sent_less, "/cases/9/sent"),
    RULE(closed_refused, "/cases/9/sent"),
    RULE(idle_no_time, "/cases/10/seconds"),
    RULE(idle_negative, "/cases/10/delta/udp.sent"),
    RULE(owner_order, "/cases/10/owners/1/drops"),
    RULE(owner_of_nothing, "/cases/10/owners/1/drops"),
    RULE(owner_port, "/cases/10/owners/1/port"),
};
enum { RULE_COUNT = sizeof rules / sizeof rules[0] };

static void a_broken_rule_is_found_at_its_place(void **state)
{
    const struct rule *rule = *state;
    struct make_buffers_shape shape = make_buffers_small();
    struct run run;
    struct fault fault = { "" };
    size_t length = strlen(rule->place);

    make_buffers_run(&shape, &run);
    assert_int_equal(validate_run(&run, NULL), STATUS_OK);
    rule->break_it(&run);
    assert_int_not_equal(validate_run(&run, &fault), STATUS_OK);
    if (strncmp(fault.text, rule->place, length) != 0 || fault.text[length] != ':')
        fail_msg("%s: expected %s, got \"%s\"", rule->name, rule->place, fault.text);
    assert_null(strchr(fault.text, '\n'));
    run_done(&run);
}

static void expect_valid(const struct make_buffers_shape *shape, void (*change)(struct run *run))
{
    struct run run;
    struct fault fault = { "" };

    make_buffers_run(shape, &run);
    if (change != NULL)
        change(&run);
    if (validate_run(&run, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    run_done(&run);
}

static void the_seed_is_valid(void **state)
{
    struct make_buffers_shape shape = make_buffers_seed();

    (void)state;
    expect_valid(&shape, NULL);
    shape.base.os = "macOS";
    expect_valid(&shape, NULL);
    shape.experiment_count = 1;
    shape.experiments[0] = EXPERIMENT_SLOW_READER;
    expect_valid(&shape, NULL);
    shape.experiment_count = 2;
    shape.experiments[1] = EXPERIMENT_LADDER;
    expect_valid(&shape, NULL);
}

static void interrupt(struct run *run)
{
    make_buffers_interrupted(run, 5);
}

static void interrupt_at_once(struct run *run)
{
    make_buffers_interrupted(run, 0);
}

static void fail_cases(struct run *run)
{
    make_experiment_error(run, SMALL_LADDER, "No buffer space available");
    make_experiment_error(run, SMALL_HOLD, "no more descriptors");
    make_experiment_error(run, SMALL_SLOW, "the reader was killed by signal 9");
    make_experiment_error(run, SMALL_CLOSED, "no socket");
    make_experiment_error(run, SMALL_IDLE, "no counters");
    hold(run)->held = 17;
}

static void nothing_counts(struct run *run)
{
    hold(run)->dropped.socket = hold(run)->dropped.system = NONE_INT;
    hold(run)->queued_bytes = NONE_INT;
    hold(run)->bytes_per_datagram = (double)hold(run)->rcvbuf.granted / (double)hold(run)->held;
    hold(run)->predicted_held = NONE_INT;
    slow(run)->dropped.socket = slow(run)->dropped.system = NONE_INT;
    slow(run)->first_drop_s = (double)NAN;
    slow(run)->queue.count = slow(run)->drops.count = 0;
    slow(run)->model_loss_ratio = slow(run)->achieved_read_ns = (double)NAN;
    at(run, SMALL_CLOSED)->closed_port.no_socket.system = NONE_INT;
}

static void refused_then_taken(struct run *run)
{
    hold(run)->refused.enobufs = 12; /* and sent again */
    slow(run)->refused.eagain = 3;
    slow(run)->achieved_interval_ns *= 0.9;
}

static void refused_for_good(struct run *run)
{
    hold(run)->refused.enobufs = 4;
    hold(run)->sent -= 4;
    hold(run)->dropped.socket -= 4;
}

static void nothing_sent(struct run *run)
{
    struct slow_reader_result *result = slow(run);

    result->refused.eperm = 2000;
    result->sent = result->processed = result->lost = result->dropped.socket = 0;
    result->loss_ratio = result->achieved_interval_ns = result->first_drop_s = (double)NAN;
    result->drops.count = 0;
    result->sending_s = 0;
}

static void lost_to_nobody(struct run *run)
{
    slow(run)->dropped.socket -= 5;
    slow(run)->drops.count = 0;
}

static void huge_refusals(struct run *run)
{
    hold(run)->refused.other = hold(run)->refused.eagain = INT64_MAX;
}

/* As on macOS: the queue's bytes are fewer than what the datagrams take of the buffer. */
static void charged_by_what_a_full_buffer_held(struct run *run)
{
    hold(run)->dropped.socket = NONE_INT;
    hold(run)->held = hold(run)->sent - 1;
    hold(run)->predicted_held = NONE_INT;
    hold(run)->queued_bytes = hold(run)->held;
    hold(run)->bytes_per_datagram = (double)hold(run)->rcvbuf.granted / (double)hold(run)->held;
}

static void what_is_allowed_is_not_refused(void **state)
{
    void (*const changes[])(
        struct run *) = { interrupt,        interrupt_at_once,
                          fail_cases,       nothing_counts,
                          refused_for_good, refused_then_taken,
                          nothing_sent,     lost_to_nobody,
                          huge_refusals,    charged_by_what_a_full_buffer_held };
    struct make_buffers_shape shape = make_buffers_small();

    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
        expect_valid(&shape, changes[i]);
}

int main(void)
{
    struct CMUnitTest tests[RULE_COUNT + 2] = {
        cmocka_unit_test(the_seed_is_valid),
        cmocka_unit_test(what_is_allowed_is_not_refused),
    };

    for (size_t i = 0; i < RULE_COUNT; i++) {
        static struct rule copies[RULE_COUNT];

        copies[i] = rules[i];
        tests[2 + i] = (struct CMUnitTest){ .name = rules[i].name,
                                            .test_func = a_broken_rule_is_found_at_its_place,
                                            .initial_state = &copies[i] };
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
