/* Loss that depends on size must be found where it begins, and never where it does not. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "agent/probe/size_loss.h"
#include "tests/agent/probe/chance.h"

/* A path: what it loses, of which sizes, and how that changes in time. */
struct lossy_path {
    struct chance *chance;
    double below, above; /* loss up to the edge, and above it */
    int64_t edge;
    double row;         /* chance that the fate of the datagram before is shared: losses in rows */
    uint32_t bad_until; /* until this id, `bad` is lost in addition, of all sizes */
    double bad;
    bool lost_before;
};

static double share(struct chance *chance)
{
    return (double)(chance_next(chance) >> 11) * 0x1p-53;
}

static bool loses(struct lossy_path *path, const struct size_loss_ask *ask)
{
    double rate = ask->size > path->edge ? path->above : path->below;

    if (share(path->chance) < path->row)
        return path->lost_before;
    path->lost_before = share(path->chance) < rate;
    if (ask->id < path->bad_until && share(path->chance) < path->bad)
        return true;
    return path->lost_before;
}

enum { DELAY = 300 }; /* datagrams that are under way */

static struct size_loss_config plan_of(struct chance *chance, int64_t ceiling)
{
    return (struct size_loss_config){ .floor = 140,
                                      .ceiling = ceiling,
                                      .gap_first = 141,
                                      .gap_last = 143,
                                      .budget = SIZE_LOSS_BUDGET,
                                      .seed = chance_next(chance) };
}

/* Sends until there is enough; answers come DELAY datagrams later. */
static struct size_loss *run(struct lossy_path *path, const struct size_loss_config *config,
                             uint32_t *out_sent)
{
    struct size_loss *loss = size_loss_new(config);
    bool lost[DELAY];
    struct size_loss_ask ask;
    uint32_t settled = 0, sent = 0;

    for (;;) {
        enum status status = size_loss_next(loss, &ask);

        if (status == STATUS_OK) {
            assert_int_equal(ask.id, sent);
            assert_in_range(ask.size, config->floor, config->ceiling);
            assert_false(ask.size >= config->gap_first && ask.size <= config->gap_last);
            lost[sent++ % DELAY] = loses(path, &ask);
        }
        if (status != STATUS_OK || sent - settled == DELAY) {
            if (settled == sent)
                break;
            assert_true(size_loss_settle(
                loss, settled, lost[settled % DELAY] ? SIZE_LOSS_LOST : SIZE_LOSS_RECEIVED));
            settled++;
        }
    }
    *out_sent = sent;
    return loss;
}

struct score {
    int runs, found, near, within, sent;
};

static struct score score_of(const struct lossy_path *path, int64_t ceiling, int runs)
{
    struct score score = { .runs = runs };

    for (int i = 0; i < runs; i++) {
        struct lossy_path own = *path;
        struct size_loss_config config = plan_of(path->chance, ceiling);
        struct size_loss_verdict verdict;
        uint32_t sent;
        struct size_loss *loss = run(&own, &config, &sent);

        size_loss_decide(loss, &verdict);
        score.found += verdict.found;
        score.near += verdict.found && llabs(verdict.threshold - path->edge) <= 8;
        score.within += verdict.found && verdict.least <= path->edge && path->edge <= verdict.most;
        score.sent += (int)sent / runs;
        size_loss_free(loss);
    }
    print_message(
        "%g %% up to %lld of %lld, %g %% above: of %d found %d, within 8 bytes %d, within "
        "the bounds %d; %d datagrams\n",
        100 * path->below, (long long)path->edge, (long long)ceiling, 100 * path->above, score.runs,
        score.found, score.near, score.within, score.sent);
    return score;
}

static void finds_the_default_case(void **state)
{
    struct chance chance = chance_start(__func__);
    struct lossy_path path = { .chance = &chance, .above = 0.01, .edge = 1440 };
    struct score score = score_of(&path, 1500, 200);

    (void)state;
    assert_true(score.near >= 195);
    assert_true(score.within >= 190);
}

static void finds_other_edges(void **state)
{
    static const struct {
        double below, above;
        int64_t edge, ceiling;
        int at_least; /* of 20 */
    } cases[] = {
        { 0, 0.05, 1440, 1500, 20 },    { 0, 1, 1400, 1500, 20 },    { 0.01, 0.2, 1200, 1500, 20 },
        { 0.001, 0.02, 700, 1500, 16 }, { 0, 0.01, 1492, 9000, 16 }, { 0, 0.05, 300, 1500, 20 },
        { 0.2, 0.6, 1440, 1500, 16 },
    };
    struct chance chance = chance_start(__func__);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lossy_path path = { .chance = &chance,
                                   .below = cases[i].below,
                                   .above = cases[i].above,
                                   .edge = cases[i].edge };

        assert_true(score_of(&path, cases[i].ceiling, 20).near >= cases[i].at_least);
    }
}

/* At most 1 in 10,000 runs may be wrong: of these 300, with a chance of 0.9995, at most one is. */
static void finds_nothing_where_all_sizes_lose_alike(void **state)
{
    static const double losses[] = { 0, 0.001, 0.01, 0.1, 0.5, 1 };
    struct chance chance = chance_start(__func__);
    int found = 0;

    (void)state;
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
        struct lossy_path path = { .chance = &chance, .below = losses[i], .above = losses[i] };

        found += score_of(&path, 1500, 50).found;
    }
    assert_true(found <= 1);
}

static void finds_nothing_in_losses_that_change_in_time(void **state)
{
    struct chance chance = chance_start(__func__);
    struct lossy_path rows = { .chance = &chance, .below = 0.02, .above = 0.02, .row = 0.9 };
    struct lossy_path bad = { .chance = &chance,
                              .below = 0.01,
                              .above = 0.01,
                              .bad_until = SIZE_LOSS_BUDGET / 2,
                              .bad = 0.1 };

    (void)state;
    assert_true(score_of(&rows, 1500, 50).found + score_of(&bad, 1500, 50).found <= 1);
}

static void knows_wilsons_interval(void **state)
{
    double low, high;

    (void)state;
    size_loss_interval(0, 0, 1.96, &low, &high);
    assert_true(low == 0 && high == 1);
    size_loss_interval(0, 10, 1.959964, &low, &high);
    assert_true(low == 0 && fabs(high - 0.277533) < 1e-5);
    size_loss_interval(1, 10, 1.959964, &low, &high);
    assert_true(fabs(low - 0.017876) < 1e-5 && fabs(high - 0.404150) < 1e-5);
    size_loss_interval(10, 10, 1.959964, &low, &high);
    assert_true(fabs(low - 0.722467) < 1e-5 && high == 1);
}

/* Answers in any order, some datagrams never sent, said twice: the counts stay right. */
static void counts_what_it_is_told_once(void **state)
{
    struct chance chance = chance_start(__func__);
    struct size_loss_config config = plan_of(&chance, 1500);
    struct size_loss *loss = size_loss_new(&config);
    struct size_loss_ask ask;
    struct size_loss_count count;
    int64_t sent = 0, lost = 0, last = 0;

    (void)state;
    assert_false(size_loss_settle(loss, 0, SIZE_LOSS_LOST));
    for (int i = 0; i < 10 * SIZE_LOSS_BLOCK; i++)
        assert_int_equal(size_loss_next(loss, &ask), STATUS_OK);
    for (uint32_t i = 10 * SIZE_LOSS_BLOCK; i-- > 0;) {
        assert_true(size_loss_settle(loss, i, (enum size_loss_fate)(i % 3)));
        assert_false(size_loss_settle(loss, i, SIZE_LOSS_LOST));
    }
    for (size_t i = 0; size_loss_size(loss, i, &count); i++) {
        assert_true(count.size > last);
        last = count.size;
        sent += count.sent;
        lost += count.lost;
        assert_true(count.low <= count.high);
    }
    assert_int_equal(sent, 214);
    assert_int_equal(lost, 107);
    size_loss_free(loss);
}

static void waits_when_too_much_is_open(void **state)
{
    struct chance chance = chance_start(__func__);
    struct size_loss_config config = plan_of(&chance, 1500);
    struct size_loss *loss = size_loss_new(&config);
    struct size_loss_ask ask;

    (void)state;
    for (int i = 0; i < SIZE_LOSS_OPEN * SIZE_LOSS_BLOCK; i++)
        assert_int_equal(size_loss_next(loss, &ask), STATUS_OK);
    assert_int_equal(size_loss_next(loss, &ask), STATUS_AGAIN);
    for (uint32_t i = 0; i < SIZE_LOSS_BLOCK; i++)
        assert_true(size_loss_settle(loss, i, SIZE_LOSS_RECEIVED));
    assert_int_equal(size_loss_next(loss, &ask), STATUS_OK);
    size_loss_free(loss);
}

static void sends_all_sizes_of_the_grid_alike(void **state)
{
    struct chance chance = chance_start(__func__);
    struct size_loss_config config = plan_of(&chance, 1500);
    struct lossy_path path = { .chance = &chance, .above = 0.05, .edge = 1440 };
    uint32_t sent;
    struct size_loss *loss = run(&path, &config, &sent);
    struct size_loss_count count;
    int grid = 0;

    (void)state;
    for (size_t i = 0; size_loss_size(loss, i, &count); i++) {
        if (!count.grid)
            continue;
        grid++;
        assert_true(count.sent >= sent / SIZE_LOSS_BLOCK);
    }
    assert_int_equal(grid, SIZE_LOSS_GRID);
    size_loss_free(loss);
}

static void knows_what_can_be_asked(void **state)
{
    struct size_loss_config config = { .floor = 140, .ceiling = 1500, .budget = 1000 };
    struct size_loss_config tiny = { .floor = 140, .ceiling = 141, .budget = 1000 };
    struct fault fault;

    (void)state;
    assert_int_equal(size_loss_check(&config, &fault), STATUS_OK);
    assert_int_equal(size_loss_check(&tiny, &fault), STATUS_OK);
    size_loss_free(size_loss_new(&tiny));
    config.ceiling = 140;
    assert_int_equal(size_loss_check(&config, &fault), STATUS_RANGE);
    config.ceiling = 65576;
    assert_int_equal(size_loss_check(&config, &fault), STATUS_RANGE);
    config.ceiling = 1500;
    config.budget = 1;
    assert_int_equal(size_loss_check(&config, &fault), STATUS_RANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_default_case),
        cmocka_unit_test(finds_other_edges),
        cmocka_unit_test(finds_nothing_where_all_sizes_lose_alike),
        cmocka_unit_test(finds_nothing_in_losses_that_change_in_time),
        cmocka_unit_test(knows_wilsons_interval),
        cmocka_unit_test(counts_what_it_is_told_once),
        cmocka_unit_test(waits_when_too_much_is_open),
        cmocka_unit_test(sends_all_sizes_of_the_grid_alike),
        cmocka_unit_test(knows_what_can_be_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
