/* Two ends with something between them that delays, reorders, doubles, drops and alters: each
 * datagram must be counted as what became of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "tests/agent/probe/ends.h"
#include "tests/agent/probe/relay.h"

enum { PAYLOAD = 200, WINDOW = 64 };

struct path {
    struct ends *ends;
    struct relay *relay;
};

/* An open loop sends what it sends whatever comes back: 10 bursts of 8. */
static struct path path_new(relay_rule *rule, bool open_loop)
{
    struct end_order order = ends_order(PAYLOAD);
    struct path path;

    order.params.window = open_loop ? 8 : WINDOW;
    order.params.common.interval_ns = open_loop ? 10 * NS_PER_MS : 0;
    order.params.common.seconds = 0.1;
    order.params.common.warmup_s = 0.1;
    path.ends = ends_echo(&order, "127.0.0.1:0");
    path.relay = relay_start(&path.ends->target, rule, &path.ends->target);
    ends_agree(path.ends);
    return path;
}

static void path_free(struct path *path)
{
    relay_stop(path->relay);
    ends_free(path->ends);
}

static struct relay_fate slow_and_unsteady(const struct relay_item *item)
{
    return (struct relay_fate){ .copies = 1,
                                .delay_ns = (20 + (item->number % 3 == 0 ? 15 : 0)) * NS_PER_MS };
}

static void what_is_delayed_or_overtaken_is_not_lost(void **state)
{
    struct path path = path_new(slow_and_unsteady, false);

    (void)state;
    ends_phase(path.ends, PHASE_MEASURE);
    assert_int_equal(ends_oddities(&path.ends->forward) + ends_oddities(&path.ends->reverse), 0);
    assert_true(path.ends->forward.reordered > 0 && path.ends->reverse.reordered > 0);
    assert_int_equal(path.ends->echoed.first_burst, WINDOW);
    path_free(&path);
}

static struct relay_fate some_twice(const struct relay_item *item)
{
    return (struct relay_fate){ .copies = item->number % (item->forward ? 10 : 7) == 3 ? 2 : 1 };
}

static void what_comes_twice_is_a_duplicate(void **state)
{
    struct path path = path_new(some_twice, false);
    int64_t sent, echoed;

    (void)state;
    ends_phase(path.ends, PHASE_MEASURE);
    sent = path.ends->forward.sent;
    echoed = path.ends->reverse.sent;
    assert_int_equal(path.ends->forward.received, sent);
    assert_int_equal(path.ends->forward.duplicates, sent / 10 + (sent % 10 > 3));
    assert_int_equal(echoed, sent); /* a duplicate has no answer */
    assert_int_equal(path.ends->reverse.received, echoed);
    /* the last copy may come behind the end of the phase */
    assert_in_range(echoed / 7 + (echoed % 7 > 3) - path.ends->reverse.duplicates, 0, 1);
    path_free(&path);
}

static struct relay_fate every_5th_lost_forward(const struct relay_item *item)
{
    return (struct relay_fate){ .copies = !(item->forward && item->number % 5 == 2) };
}

static struct relay_fate every_5th_lost_back(const struct relay_item *item)
{
    return (struct relay_fate){ .copies = item->forward || item->number % 5 != 2 };
}

/* Where a relay drops it, no socket and no host has: the network did. (Counters of a whole host may
 * claim some of it on a busy one.) */
static int64_t on_the_way(const struct leg *leg)
{
    return leg->lost_to.network + leg->lost_to.sender_host + leg->lost_to.receiver_host;
}

static void what_the_path_drops_is_lost_on_its_leg(void **state)
{
    struct path there = path_new(every_5th_lost_forward, true);
    struct path back = path_new(every_5th_lost_back, true);
    int64_t lost;

    (void)state;
    ends_phase(there.ends, PHASE_MEASURE);
    lost = (there.ends->forward.sent + 2) / 5;
    assert_int_equal(there.ends->forward.lost, lost);
    assert_int_equal(on_the_way(&there.ends->forward), lost);
    assert_int_equal(there.ends->reverse.lost, 0);
    assert_int_equal(there.ends->echoed.first_burst, 8 - 2);
    ends_phase(back.ends, PHASE_MEASURE);
    lost = (back.ends->reverse.sent + 2) / 5;
    assert_int_equal(back.ends->forward.lost, 0);
    assert_int_equal(back.ends->reverse.lost, lost);
    assert_int_equal(on_the_way(&back.ends->reverse), lost);
    path_free(&there);
    path_free(&back);
}

/* Number 11 in its head, 22 in its padding, 33 is cut; forward and back. */
static struct relay_fate some_damaged(const struct relay_item *item)
{
    struct relay_fate fate = { .copies = 1 };

    if (item->number != 11 && item->number != 22 && item->number != 33)
        return fate;
    fate.alter = item->number != 33;
    fate.alter_at = item->number == 11 ? 2 : PAYLOAD - 1;
    fate.cut = item->number == 33 ? 1 : 0;
    return fate;
}

static void what_is_damaged_is_lost_and_seen(void **state)
{
    struct path path = path_new(some_damaged, true);

    (void)state;
    ends_phase(path.ends, PHASE_MEASURE);
    assert_int_equal(path.ends->forward.lost, 3);
    assert_int_equal(path.ends->forward.foreign, 2);
    assert_int_equal(path.ends->forward.corrupt, 1);
    assert_int_equal(path.ends->reverse.lost, 3);
    assert_int_equal(path.ends->reverse.foreign, 2);
    assert_int_equal(path.ends->reverse.corrupt, 1);
    path_free(&path);
}

static struct relay_fate fifty_held(const struct relay_item *item)
{
    return (struct relay_fate){ .copies = 1, .hold = item->forward && item->number < 50 };
}

/* What a network holds of one phase and lets go in the next belongs to neither's account. */
static void what_is_held_until_the_next_phase_is_foreign(void **state)
{
    struct path path = path_new(fifty_held, true);

    (void)state;
    ends_phase(path.ends, PHASE_WARMUP);
    assert_int_equal(path.ends->forward.lost, 50);
    relay_release(path.relay);
    ends_phase(path.ends, PHASE_MEASURE);
    assert_int_equal(path.ends->forward.foreign, 50);
    path.ends->forward.foreign = 0;
    assert_int_equal(ends_oddities(&path.ends->forward) + ends_oddities(&path.ends->reverse), 0);
    path_free(&path);
}

static struct relay_fate slow_and_one_lost(const struct relay_item *item)
{
    return (struct relay_fate){ .copies = !(item->forward && item->number == 5),
                                .delay_ns = 150 * NS_PER_MS };
}

/* With round trips of 300 ms what is missing is waited for for at least 1.2 s. */
static void a_slow_path_is_waited_for(void **state)
{
    struct path path = path_new(slow_and_one_lost, true);
    struct mono start = mono_now();

    (void)state;
    ends_phase(path.ends, PHASE_MEASURE);
    assert_true(mono_between(start, mono_now()) >= 1300 * NS_PER_MS);
    assert_int_equal(path.ends->forward.lost, 1);
    assert_int_equal(path.ends->reverse.lost, 0);
    path_free(&path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_delayed_or_overtaken_is_not_lost),
        cmocka_unit_test(what_comes_twice_is_a_duplicate),
        cmocka_unit_test(what_the_path_drops_is_lost_on_its_leg),
        cmocka_unit_test(what_is_damaged_is_lost_and_seen),
        cmocka_unit_test(what_is_held_until_the_next_phase_is_foreign),
        cmocka_unit_test(a_slow_path_is_waited_for),
    };

    return cmocka_run_group_tests_name("end_path", tests, NULL, NULL);
}
