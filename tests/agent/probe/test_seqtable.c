/* The table of sequence numbers must do what a plain array would, and numbers of 32 bits must find
 * their way back to 64. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/probe/seqtable.h"
#include "tests/agent/probe/chance.h"

enum { KEYS = 128, CAP = 60, ROUNDS = 60000 };

struct model {
    uint64_t base;
    bool present[KEYS];
    int64_t value[KEYS];
    size_t count;
};

/* Many keys share a home (every 1024th), and all are neighbours of others: long runs, and gaps to
 * close in the middle of them and around the table's end. */
static uint64_t key_of(const struct model *model, size_t i)
{
    return model->base + i % 16 + i / 16 * 1024;
}

static void check_round(struct seqtable *table, struct model *model, struct chance *chance)
{
    size_t i = (size_t)chance_below(chance, KEYS);
    uint64_t key = key_of(model, i);
    int64_t value = -1;

    assert_int_equal(seqtable_peek(table, key, &value), model->present[i]);
    assert_int_equal(value, model->present[i] ? model->value[i] : -1);
    if (model->present[i] && chance_below(chance, 2) == 0) {
        value = -1;
        assert_true(seqtable_take(table, key, &value));
        assert_int_equal(value, model->value[i]);
        model->present[i] = false;
        model->count--;
    } else if (!model->present[i]) {
        assert_false(seqtable_take(table, key, NULL));
        value = (int64_t)(chance_next(chance) >> 1);
        assert_int_equal(seqtable_put(table, key, value), model->count < CAP);
        if (model->count < CAP) {
            model->present[i] = true;
            model->value[i] = value;
            model->count++;
        }
    }
    assert_int_equal(table->count, model->count);
}

static void check_whole(const struct seqtable *table, const struct model *model, uint64_t limit)
{
    size_t below = 0;

    for (size_t i = 0; i < KEYS; i++) {
        int64_t value;

        assert_int_equal(seqtable_peek(table, key_of(model, i), &value), model->present[i]);
        below += model->present[i] && key_of(model, i) < limit;
    }
    assert_int_equal(seqtable_count_below(table, limit), below);
}

static void behaves_like_an_array(void **state)
{
    static const uint64_t bases[] = { 0, 0xfffffff8, (UINT64_C(1) << 53) - 8 };
    struct chance chance = chance_start("seqtable");

    (void)state;
    for (size_t b = 0; b < sizeof bases / sizeof bases[0]; b++) {
        struct model model = { .base = bases[b] };
        struct seqtable table;

        seqtable_init(&table, 1, CAP);
        for (size_t round = 0; round < ROUNDS; round++) {
            check_round(&table, &model, &chance);
            if (round % 100 == 0)
                check_whole(&table, &model, bases[b] + chance_below(&chance, 9000));
        }
        seqtable_done(&table);
    }
}

static void refuses_beyond_its_cap(void **state)
{
    struct seqtable table;

    (void)state;
    seqtable_init(&table, 1000, 1);
    assert_true(seqtable_put(&table, 7, 70));
    assert_false(seqtable_put(&table, 8, 80));
    assert_true(seqtable_take(&table, 7, NULL));
    assert_true(seqtable_put(&table, 8, 80));
    seqtable_done(&table);
    seqtable_done(&table);
}

/* Every pair of a number and a place to look from, at most 2^31 - 1 apart, in both directions. */
static void check_extend(uint64_t near, uint64_t distance)
{
    assert_true(sequence_extend((uint32_t)(near + distance), near) == near + distance);
    if (distance <= near)
        assert_true(sequence_extend((uint32_t)(near - distance), near) == near - distance);
}

static void finds_the_nearest_number(void **state)
{
    static const uint64_t borders[] = { 0x7ffffff0, 0xfffffff0, (UINT64_C(1) << 53) - 8, 0, 1 };

    (void)state;
    for (size_t b = 0; b < sizeof borders / sizeof borders[0]; b++) {
        for (uint64_t i = 0; i < 32; i++) {
            for (uint64_t distance = 0; distance < 32; distance++)
                check_extend(borders[b] + i, distance);
            check_extend(borders[b] + i, 0x7fffffff);
        }
    }
}

static void takes_half_way_round_as_behind(void **state)
{
    uint64_t near = UINT64_C(0x300000000);

    (void)state;
    assert_true(sequence_extend(0x80000000, near) == near - 0x80000000);
    assert_true(sequence_extend(0x80000001, near) == near - 0x7fffffff);
    assert_true(sequence_extend(0x7fffffff, near) == near + 0x7fffffff);
}

static void never_goes_below_zero(void **state)
{
    (void)state;
    assert_true(sequence_extend(0xffffffff, 0) == 0xffffffff);
    assert_true(sequence_extend(0xffffffff, 5) == 0xffffffff);
    assert_true(sequence_extend(0x80000005, 5) == 0x80000005);
    assert_true(sequence_extend(0, 5) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behaves_like_an_array),
        cmocka_unit_test(refuses_beyond_its_cap),
        cmocka_unit_test(finds_the_nearest_number),
        cmocka_unit_test(takes_half_way_round_as_behind),
        cmocka_unit_test(never_goes_below_zero),
    };

    return cmocka_run_group_tests_name("seqtable", tests, NULL, NULL);
}
