/* What the row of a direction says of all its flows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/text.h"
#include "tests/controller/fleet/mtu_pair.h"

static void a_row_is_of_the_smallest_flow(void **state)
{
    struct mtu_pair pair;
    struct mtu_row row;

    (void)state;
    mtu_pair_make(&pair, MTU_WAYS_BOTH, 4);
    mtu_pair_flow(&pair.sender, 2)->path_mtu = 1400;
    mtu_pair_flow(&pair.sender, 2)->next_size = 1401;
    mtu_pair_flow(&pair.sender, 2)->limit = MTU_LIMIT_PATH;
    mtu_pair_flow(&pair.sender, 3)->seconds = 1.5;
    mtu_pair_watch(&pair);
    mtu_pair_event(&pair.sender, MTU_CHANGE_KNOWN, NONE_INT, 1400);
    mtu_pair_event(&pair.sender, MTU_CHANGE_CHANGED, 1400, 1300);
    mtu_pair_event(&pair.sender, MTU_CHANGE_UNREACHABLE, 1300, NONE_INT);
    mtu_pair_join(&pair, &pair.sender, &pair.echo);
    row = mtu_pair_row(&pair, MTU_FORWARD);
    assert_int_equal(CASE_FAIL, row.status);
    assert_int_equal(MTU_BLACK_HOLE, row.verdict);
    assert_int_equal(4, row.flows);
    assert_int_equal(1400, row.path_mtu);
    assert_int_equal(1500, row.largest);
    assert_int_equal(1372, row.udp_payload);
    assert_int_equal(1500, row.local_mtu);
    assert_int_equal(4 * 12, row.probes);
    assert_true(row.seconds > 1.4 && row.seconds < 1.6);
    assert_int_equal(2, row.changes);
    assert_int_equal(NONE_INT, row.threshold);
    assert_string_not_equal("", row.groups);
    assert_string_not_equal("", row.words);
    row = mtu_pair_row(&pair, MTU_REVERSE);
    assert_int_equal(CASE_PASS, row.status);
    assert_int_equal(MTU_CLEAN, row.verdict);
    assert_int_equal(1500, row.path_mtu);
    assert_int_equal(0, row.changes);
    assert_string_equal("1500", row.groups);
    mtu_pair_done(&pair);
}

static void a_flow_without_a_path_mtu_is_the_smallest(void **state)
{
    struct mtu_pair pair;
    struct mtu_row row;

    (void)state;
    mtu_pair_make(&pair, MTU_WAYS_FORWARD, 2);
    mtu_pair_flow(&pair.sender, 1)->outcome = MTU_UNREACHABLE;
    mtu_pair_flow(&pair.sender, 1)->confirmed = false;
    mtu_pair_flow(&pair.sender, 1)->path_mtu = mtu_pair_flow(&pair.sender, 1)->next_size = NONE_INT;
    mtu_pair_join(&pair, &pair.sender, &pair.echo);
    row = mtu_pair_row(&pair, MTU_FORWARD);
    assert_int_equal(CASE_FAIL, row.status);
    assert_int_equal(MTU_NO_ANSWER, row.verdict);
    assert_int_equal(NONE_INT, row.path_mtu);
    assert_int_equal(NONE_INT, row.udp_payload);
    assert_int_equal(1500, row.largest);
    mtu_pair_done(&pair);
}

static void a_search_without_an_end_is_an_error(void **state)
{
    struct mtu_pair pair;
    struct mtu_row row;

    (void)state;
    mtu_pair_make(&pair, MTU_WAYS_FORWARD, 2);
    mtu_pair_flow(&pair.sender, 0)->path_mtu = 1400;
    mtu_pair_flow(&pair.sender, 1)->outcome = MTU_UNDECIDED; /* so far 1500 */
    mtu_pair_flow(&pair.sender, 1)->confirmed = false;
    text_copy(pair.sender.error, sizeof pair.sender.error, "stopped by ann");
    mtu_pair_join(&pair, &pair.sender, &pair.echo);
    row = mtu_pair_row(&pair, MTU_FORWARD);
    assert_int_equal(CASE_ERROR, row.status);
    assert_int_equal(1400, row.path_mtu);
    assert_int_equal(1500, row.largest);
    assert_string_equal("sender: stopped by ann", row.error);
    assert_int_equal(1500, mtu_pair_case(&pair, 1)->flow.path_mtu);
    mtu_pair_done(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_of_the_smallest_flow),
        cmocka_unit_test(a_flow_without_a_path_mtu_is_the_smallest),
        cmocka_unit_test(a_search_without_an_end_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
