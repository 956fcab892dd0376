/* Every arrival must be what RFC 4737 and a memory of everything would call it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "agent/probe/arrivals.h"
#include "tests/agent/probe/chance.h"

enum { SENT = 3000, COPIES_MAX = 2, LEAP = 1 << 24, GAPS = 1 << 16 };

static const uint64_t borders[] = { 0, 0x7ffffff0, 0xfffffff0, (UINT64_C(1) << 53) - 8 };
enum { BORDERS = sizeof borders / sizeof borders[0] };

static void start_at(struct arrivals *arrivals, uint64_t next)
{
    arrivals_init(arrivals, 64);
    arrivals->next = next;
}

static void loses_nothing_across_borders(void **state)
{
    (void)state;
    for (size_t b = 0; b < BORDERS; b++) {
        struct arrivals arrivals;

        start_at(&arrivals, borders[b]);
        for (uint64_t i = 0; i < 32; i++)
            assert_int_equal(arrivals_add(&arrivals, (uint32_t)(borders[b] + i)), ARRIVAL_NEW);
        assert_true(arrivals.next == borders[b] + 32);
        assert_int_equal(arrivals.missing.count, 0);
        assert_int_equal(arrivals_add(&arrivals, (uint32_t)(borders[b] + 3)), ARRIVAL_DUPLICATE);
        arrivals_done(&arrivals);
    }
}

/* RFC 4737 section 3.3: reordered is what is smaller than NextExp, and NextExp only grows. */
static void calls_reordered_what_is_behind_a_later_one(void **state)
{
    static const struct {
        uint32_t number;
        enum arrival arrival;
    } steps[] = {
        { 0, ARRIVAL_NEW },       { 1, ARRIVAL_NEW },       { 4, ARRIVAL_NEW },
        { 2, ARRIVAL_REORDERED }, { 3, ARRIVAL_REORDERED }, { 5, ARRIVAL_NEW },
        { 4, ARRIVAL_DUPLICATE }, { 2, ARRIVAL_DUPLICATE }, { 0, ARRIVAL_DUPLICATE },
        { 7, ARRIVAL_NEW },       { 7, ARRIVAL_DUPLICATE }, { 6, ARRIVAL_REORDERED },
        { 6, ARRIVAL_DUPLICATE }, { 8, ARRIVAL_NEW },
    };
    struct arrivals arrivals;

    (void)state;
    arrivals_init(&arrivals, 4);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        assert_int_equal(arrivals_add(&arrivals, steps[i].number), steps[i].arrival);
    assert_int_equal(arrivals_missing_of_first(&arrivals, 9), 0);
    assert_int_equal(arrivals_missing_of_first(&arrivals, 12), 3);
    arrivals_done(&arrivals);
}

static void counts_what_is_missing_of_the_first(void **state)
{
    struct arrivals arrivals;

    (void)state;
    arrivals_init(&arrivals, 16);
    assert_int_equal(arrivals_missing_of_first(&arrivals, 16), 16);
    arrivals_add(&arrivals, 2);
    arrivals_add(&arrivals, 9);
    assert_int_equal(arrivals_missing_of_first(&arrivals, 0), 0);
    assert_int_equal(arrivals_missing_of_first(&arrivals, 2), 2);
    assert_int_equal(arrivals_missing_of_first(&arrivals, 3), 2);
    assert_int_equal(arrivals_missing_of_first(&arrivals, 9), 8);
    assert_int_equal(arrivals_missing_of_first(&arrivals, 16), 14);
    arrivals_done(&arrivals);
}

static void leaves_all_as_it_was_when_beyond(void **state)
{
    struct arrivals arrivals;

    (void)state;
    start_at(&arrivals, 100);
    assert_int_equal(arrivals_add(&arrivals, 100 + LEAP + 1), ARRIVAL_BEYOND);
    assert_int_equal(arrivals_add(&arrivals, 0x7fffffff), ARRIVAL_BEYOND);
    assert_int_equal(arrivals_add(&arrivals, 0xffffffff), ARRIVAL_BEYOND);
    assert_true(arrivals.next == 100 && arrivals.missing.count == 0 && arrivals.forgotten == 0);
    assert_int_equal(arrivals_add(&arrivals, 100), ARRIVAL_NEW);
    arrivals_done(&arrivals);
}

/* A flow that comes back behind a long outage is still counted. */
static void goes_on_behind_an_outage(void **state)
{
    struct arrivals arrivals;

    (void)state;
    start_at(&arrivals, 0);
    assert_int_equal(arrivals_add(&arrivals, LEAP), ARRIVAL_NEW);
    assert_int_equal(arrivals_add(&arrivals, LEAP + 1), ARRIVAL_NEW);
    assert_int_equal(arrivals.missing.count, GAPS);
    assert_int_equal(arrivals.forgotten, LEAP - GAPS);
    arrivals_done(&arrivals);
}

static void takes_the_forgotten_for_new_once_each(void **state)
{
    struct arrivals arrivals;

    (void)state;
    start_at(&arrivals, 0);
    assert_int_equal(arrivals_add(&arrivals, GAPS + 2), ARRIVAL_NEW);
    assert_int_equal(arrivals.forgotten, 2);
    assert_int_equal(arrivals_add(&arrivals, 5), ARRIVAL_REORDERED);
    assert_int_equal(arrivals.forgotten, 2);
    assert_int_equal(arrivals_add(&arrivals, GAPS), ARRIVAL_REORDERED);
    assert_int_equal(arrivals_add(&arrivals, GAPS + 1), ARRIVAL_REORDERED);
    assert_int_equal(arrivals.forgotten, 0);
    assert_int_equal(arrivals_add(&arrivals, GAPS + 1), ARRIVAL_DUPLICATE);
    arrivals_done(&arrivals);
}

struct event {
    uint64_t at, number;
};

static int by_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;

    return x->at < y->at ? -1 : x->at > y->at ? 1 : x->number < y->number ? -1 : 1;
}

/* A path that loses, doubles and delays: what arrives, in the order of its arrival. */
static size_t cross_a_path(struct chance *chance, struct event *events)
{
    size_t count = 0;

    for (uint64_t i = 0; i < SENT; i++) {
        uint64_t copies = chance_below(chance, 10);

        for (copies = copies == 0 ? 0 : copies == 1 ? 2 : 1; copies > 0; copies--) {
            events[count++] =
                (struct event){ i * 10 + chance_below(chance, 4) * chance_below(chance, 200), i };
        }
    }
    qsort(events, count, sizeof *events, by_time);
    return count;
}

static void check_against_memory(uint64_t base, struct chance *chance)
{
    static struct event events[SENT * COPIES_MAX];
    bool seen[SENT] = { false };
    uint64_t next = 0, unseen = 0;
    size_t count = cross_a_path(chance, events);
    struct arrivals arrivals;

    start_at(&arrivals, base);
    for (size_t i = 0; i < count; i++) {
        uint64_t number = events[i].number;
        enum arrival expected = seen[number]    ? ARRIVAL_DUPLICATE
                                : number < next ? ARRIVAL_REORDERED
                                                : ARRIVAL_NEW;

        assert_int_equal(arrivals_add(&arrivals, (uint32_t)(base + number)), expected);
        seen[number] = true;
        next = number >= next ? number + 1 : next;
    }
    for (uint64_t i = 0; i < SENT; i++)
        unseen += !seen[i];
    assert_int_equal(arrivals_missing_of_first(&arrivals, base + SENT), unseen);
    arrivals_done(&arrivals);
}

static void agrees_with_a_memory_of_everything(void **state)
{
    struct chance chance = chance_start("arrivals");

    (void)state;
    for (size_t round = 0; round < 3; round++) {
        for (size_t b = 0; b < BORDERS; b++)
            check_against_memory(borders[b], &chance);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loses_nothing_across_borders),
        cmocka_unit_test(calls_reordered_what_is_behind_a_later_one),
        cmocka_unit_test(counts_what_is_missing_of_the_first),
        cmocka_unit_test(leaves_all_as_it_was_when_beyond),
        cmocka_unit_test(goes_on_behind_an_outage),
        cmocka_unit_test(takes_the_forgotten_for_new_once_each),
        cmocka_unit_test(agrees_with_a_memory_of_everything),
    };

    return cmocka_run_group_tests_name("arrivals", tests, NULL, NULL);
}
