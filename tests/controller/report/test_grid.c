/* A cell is told by all its repeats, and sums stop at the largest number instead of wrapping. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "controller/report/grid.h"
#include "tests/controller/report/make_run.h"

static void every_case_is_in_its_cell(void **state)
{
    struct make_shape shape = make_shape_seed();
    struct run run;
    struct grid grid;
    size_t cells = 0, cases = 0;

    (void)state;
    shape.engines[shape.engine_count++] = ENGINE_SINGLE;
    make_run(&shape, &run);
    grid_init(&grid, &run);
    for (struct cell_at at = { 0 }; grid_has(&grid, at); at = grid_next(&grid, at)) {
        cells++;
        for (size_t r = 0; r < 3; r++) {
            const struct case_result *result = grid_case(&grid, at, r);

            assert_non_null(result);
            assert_int_equal(result->params.payload, grid_payload(&grid, at.payload));
            assert_int_equal(result->params.window, grid_window(&grid, at.window));
            assert_int_equal(result->params.engine, grid_engine(&grid, at.engine));
            assert_int_equal(result->params.repeat, r + 1);
            cases++;
        }
    }
    assert_int_equal(cells, 36);
    assert_int_equal(cases, 108);
    grid_done(&grid);
    run_done(&run);
}

static void a_cell_counts_its_repeats(void **state)
{
    struct make_shape shape = make_shape_seed();
    struct cell_at losing = { 0, 1, 2 }, late = { 0, 0, 0 }, broken = { 0, 2, 0 };
    struct run run;
    struct grid grid;
    struct cell cell;
    struct case_result *result;

    (void)state;
    make_run(&shape, &run);
    make_case_error(&run, 6, "x"); /* payload 2, window 0, repeat 1 */
    result = make_case_at(&run, 18 + 5);
    result->phases.measure.lost_echoes += 2; /* repeat 2 of the losing cell */
    result = make_case_at(&run, 18);
    result->phases.measure.reverse.late = 1;
    result->status = CASE_FAIL;
    grid_init(&grid, &run);
    cell = grid_cell(&grid, losing);
    assert_int_equal(cell.failed, 3);
    assert_false(cell.alike);
    assert_int_equal(cell.lost_min, 520);
    assert_int_equal(cell.lost_max, 522);
    assert_string_equal(cell.reason, "lost");
    cell = grid_cell(&grid, late);
    assert_int_equal(cell.passed, 2);
    assert_int_equal(cell.failed, 1);
    assert_false(cell.alike);
    assert_string_equal(cell.reason, "late");
    assert_int_equal(cell.first->status, CASE_FAIL);
    cell = grid_cell(&grid, broken);
    assert_int_equal(cell.errors, 1);
    assert_int_equal(cell.passed, 2);
    assert_null(cell.reason);
    grid_done(&grid);
    run_done(&run);
}

static void what_an_interrupted_run_lacks_is_not_there(void **state)
{
    struct make_shape shape = make_shape_seed();
    struct run run;
    struct grid grid;
    struct cell cell;

    (void)state;
    make_run(&shape, &run);
    make_interrupted(&run, 19);
    grid_init(&grid, &run);
    cell = grid_cell(&grid, (struct cell_at){ 0, 0, 0 });
    assert_int_equal(cell.passed, 2);
    assert_int_equal(cell.repeats, 3);
    cell = grid_cell(&grid, (struct cell_at){ 0, 5, 2 });
    assert_int_equal(cell.failed, 1);
    assert_null(grid_case(&grid, (struct cell_at){ 0, 5, 2 }, 1));
    grid_done(&grid);
    run_done(&run);
}

static void sums_stop_at_the_largest_number(void **state)
{
    struct leg total = { .sent = INT64_MAX - 1 };
    struct leg leg = { .sent = 5, .lost = 2, .evidence = EVIDENCE_SYSTEM_WIDE };

    (void)state;
    leg_add(&total, &leg);
    assert_int_equal(total.sent, INT64_MAX);
    assert_int_equal(total.lost, 2);
    assert_int_equal(total.evidence, EVIDENCE_SYSTEM_WIDE);
    assert_int_equal(count_add(2, 3), 5);
    assert_int_equal(count_multiply(INT64_MAX / 2, 3), INT64_MAX);
    assert_string_equal(grouped(1234567).text, "1,234,567");
    assert_string_equal(seconds_text(0.25).text, "0.25");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_is_in_its_cell),
        cmocka_unit_test(a_cell_counts_its_repeats),
        cmocka_unit_test(what_an_interrupted_run_lacks_is_not_there),
        cmocka_unit_test(sums_stop_at_the_largest_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
