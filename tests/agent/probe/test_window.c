/* A window must know each datagram that is outstanding, and give each slot back once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/probe/window.h"
#include "tests/agent/probe/chance.h"

enum { TIMES_KEPT = 1 << 16 };

static struct mono at(uint64_t ns)
{
    return (struct mono){ (int64_t)ns };
}

static void closes_each_slot_once(void **state)
{
    struct window window;
    struct mono sent = at(1);

    (void)state;
    window_init(&window, 4);
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(window_open(&window, at(100 + i)), i);
    assert_int_equal(window.outstanding.count, 4);
    assert_int_equal(window_close(&window, 2, &sent), WINDOW_CLOSED);
    assert_int_equal(sent.ns, 102);
    sent = at(1);
    assert_int_equal(window_close(&window, 2, &sent), WINDOW_NOT_OPEN);
    assert_int_equal(window_close(&window, 4, &sent), WINDOW_UNKNOWN);
    assert_int_equal(window_close(&window, 0xffffffff, &sent), WINDOW_UNKNOWN);
    assert_int_equal(sent.ns, 1);
    assert_int_equal(window.outstanding.count, 3);
    window_done(&window);
}

static void tells_when_without_closing(void **state)
{
    struct window window;
    struct mono sent = at(1);

    (void)state;
    window_init(&window, 4);
    window_open(&window, at(100));
    assert_false(window_sent_at(&window, 1, &sent));
    assert_int_equal(sent.ns, 1);
    assert_true(window_sent_at(&window, 0, &sent));
    assert_int_equal(sent.ns, 100);
    assert_int_equal(window_close(&window, 0, &sent), WINDOW_CLOSED);
    assert_false(window_sent_at(&window, 0, &sent));
    window_done(&window);
}

static void abandons_what_was_refused(void **state)
{
    struct window window;
    struct mono sent;

    (void)state;
    window_init(&window, 4);
    window_open(&window, at(1));
    window_open(&window, at(2));
    window_abandon(&window, 1);
    assert_int_equal(window.outstanding.count, 1);
    assert_int_equal(window_close(&window, 1, &sent), WINDOW_NOT_OPEN);
    assert_int_equal(window_close(&window, 0, &sent), WINDOW_CLOSED);
    window_done(&window);
}

/* In an open loop nothing waits for slots: what finds the table full goes without a time. */
static void goes_on_without_times_when_full(void **state)
{
    struct window window;
    struct mono sent;

    (void)state;
    window_init(&window, 1);
    for (uint64_t i = 0; i < TIMES_KEPT + 2; i++)
        assert_int_equal(window_open(&window, at(i)), i);
    assert_int_equal(window.untimed, 2);
    assert_int_equal(window_close(&window, TIMES_KEPT, &sent), WINDOW_UNTIMED);
    window_abandon(&window, TIMES_KEPT + 1);
    assert_int_equal(window.untimed, 0);
    assert_int_equal(window_close(&window, TIMES_KEPT, &sent), WINDOW_NOT_OPEN);
    assert_int_equal(window_close(&window, 7, &sent), WINDOW_CLOSED);
    assert_int_equal(sent.ns, 7);
    window_done(&window);
}

static void crosses_borders(void **state)
{
    static const uint64_t borders[] = { 0x7ffffff0, 0xfffffff0, (UINT64_C(1) << 53) - 8 };

    (void)state;
    for (size_t b = 0; b < sizeof borders / sizeof borders[0]; b++) {
        struct window window;

        window_init(&window, 32);
        window.next = borders[b];
        for (uint64_t i = 0; i < 32; i++)
            assert_true(window_open(&window, at(i)) == borders[b] + i);
        for (uint64_t i = 0; i < 32; i++) {
            struct mono sent = at(99);

            assert_int_equal(window_close(&window, (uint32_t)(borders[b] + i), &sent),
                             WINDOW_CLOSED);
            assert_int_equal(sent.ns, i);
        }
        assert_int_equal(window.outstanding.count, 0);
        window_done(&window);
    }
}

/* A closed loop over a path that loses some: what is lost keeps its slot, no more and no less. */
static void keeps_the_slots_of_the_lost(void **state)
{
    struct chance chance = chance_start("window");
    uint64_t under_way[32];
    size_t count = 0, lost = 0;
    struct window window;

    (void)state;
    window_init(&window, 32);
    for (; count < 32; count++)
        under_way[count] = window_open(&window, at(count));
    for (int round = 0; round < 100000 && count > 0; round++) {
        size_t i = (size_t)chance_below(&chance, count);
        struct mono sent;

        if (chance_below(&chance, 2000) == 0) {
            under_way[i] = under_way[--count];
            lost++;
        } else {
            assert_int_equal(window_close(&window, (uint32_t)under_way[i], &sent), WINDOW_CLOSED);
            assert_int_equal(window_close(&window, (uint32_t)under_way[i], &sent), WINDOW_NOT_OPEN);
            under_way[i] = window_open(&window, at(0));
        }
        assert_int_equal(window.outstanding.count, 32);
    }
    assert_int_equal(lost + count, 32);
    assert_true(lost > 0);
    window_done(&window);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closes_each_slot_once),
        cmocka_unit_test(tells_when_without_closing),
        cmocka_unit_test(abandons_what_was_refused),
        cmocka_unit_test(goes_on_without_times_when_full),
        cmocka_unit_test(crosses_borders),
        cmocka_unit_test(keeps_the_slots_of_the_lost),
    };

    return cmocka_run_group_tests_name("window", tests, NULL, NULL);
}
