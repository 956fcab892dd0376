/* Two reports of a path MTU session become one account; what is missing or contradicts itself is
 * told, and what is known is there all the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/text.h"
#include "proto/wire/mtu_check.h"
#include "tests/controller/fleet/mtu_pair.h"

/* Loss by size of the sender's first flow: one of 9 datagrams of one size. */
static void add_sizes(struct mtu_pair *pair)
{
    struct mtu_flow *flow = mtu_pair_flow(&pair->sender, 0);
    struct mtu_size *size = list_append_sized(&flow->loss_by_size, sizeof *size);
    struct mtu_size_effect *effect = &flow->size_effect;

    pair->params.common.sizes = 9;
    pair->sender.params = pair->echo.params = pair->params;
    *size = (struct mtu_size){ .payload = 1000, .sent = 9, .lost = 1 };
    effect->present = true;
    effect->sent = effect->sent_below = 9;
    effect->lost = effect->lost_below = 1;
    effect->low_below = 0.01;
    effect->high_below = 0.5;
}

/* --- two reports ---------------------------------------------------------------------------- */

static void forward_is_the_senders_and_reverse_the_echos(void **state)
{
    struct mtu_pair pair;
    struct mtu_icmp *icmp;

    (void)state;
    mtu_pair_make(&pair, MTU_WAYS_BOTH, 2);
    mtu_pair_flow(&pair.echo, 1)->path_mtu = 1400;
    mtu_pair_flow(&pair.echo, 1)->next_size = 1401;
    mtu_pair_flow(&pair.echo, 1)->limit = MTU_LIMIT_PATH;
    icmp = list_append_sized(&mtu_pair_flow(&pair.echo, 1)->icmp, sizeof *icmp);
    text_copy(icmp->from, sizeof icmp->from, "10.9.2.254");
    icmp->mtu = 1400;
    icmp->accepted = true;
    icmp->count = 1;
    add_sizes(&pair);
    mtu_pair_join(&pair, &pair.sender, &pair.echo);
    assert_int_equal(4, pair.cases.count);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(i < 2 ? MTU_FORWARD : MTU_REVERSE, mtu_pair_case(&pair, i)->direction);
        assert_int_equal(i % 2, mtu_pair_case(&pair, i)->flow.flow);
        assert_int_equal(i == 3 ? MTU_SIGNALLED : MTU_CLEAN, mtu_pair_case(&pair, i)->verdict);
        assert_int_equal(i == 3 ? 1372 : 1472, mtu_pair_case(&pair, i)->udp_payload);
        assert_string_equal("", mtu_pair_case(&pair, i)->error);
    }
    assert_ptr_not_equal(icmp, mtu_pair_case(&pair, 3)->flow.icmp.items);
    assert_int_equal(1, mtu_pair_case(&pair, 0)->flow.loss_by_size.count);
    assert_string_equal("", mtu_pair_session(&pair)->error);
    assert_string_equal("10.9.1.1:40000", mtu_pair_session(&pair)->local);
    assert_string_equal("10.9.2.2:7900", mtu_pair_session(&pair)->peer);
    assert_int_equal(5, mtu_pair_session(&pair)->agreement.hellos_sent);
    assert_int_equal(7, mtu_pair_session(&pair)->agreement.strangers);
    assert_true(mtu_pair_session(&pair)->answered_forward.present);
    assert_true(mtu_pair_session(&pair)->answered_reverse.present);
    mtu_pair_done(&pair);
}

static void a_direction_that_was_not_asked_for_is_not_there(void **state)
{
    struct mtu_pair pair;

    (void)state;
    mtu_pair_make(&pair, MTU_WAYS_REVERSE, 1);
    mtu_pair_join(&pair, &pair.sender, &pair.echo);
    assert_int_equal(1, pair.cases.count);
    assert_int_equal(MTU_REVERSE, mtu_pair_case(&pair, 0)->direction);
    assert_false(mtu_pair_session(&pair)->answered_forward.present);
    assert_string_equal("", mtu_pair_session(&pair)->error);
    mtu_pair_done(&pair);
}

static void sessions_follow_each_other_in_an_archive(void **state)
{
    struct mtu_pair pair;

    (void)state;
    mtu_pair_make(&pair, MTU_WAYS_BOTH, 1);
    mtu_pair_join(&pair, &pair.sender, &pair.echo);
    mtu_join(&pair.sender, &pair.echo, &pair.params, &pair.cases, &pair.sessions);
    assert_int_equal(2, pair.sessions.count);
    assert_int_equal(4, pair.cases.count);
    assert_int_equal(3, mtu_pair_case(&pair, 3)->index);
    mtu_pair_done(&pair);
}

/* --- what is missing ------------------------------------------------------------------------ */

static void one_report_alone_says_what_it_knows(void **state)
{
    struct mtu_pair pair;

    (void)state;
    mtu_pair_make(&pair, MTU_WAYS_BOTH, 1);
    text_copy(pair.sender.error, sizeof pair.sender.error, "cut off");
    mtu_pair_join(&pair, &pair.sender, NULL);
    assert_string_equal("the report of the echo's end is missing; the other one says: cut off",
                        mtu_pair_session(&pair)->error);
    assert_int_equal(MTU_CLEAN, mtu_pair_case(&pair, 0)->verdict);
    assert_string_equal("", mtu_pair_case(&pair, 0)->error);
    assert_int_equal(MTU_NO_VERDICT, mtu_pair_case(&pair, 1)->verdict);
    assert_int_equal(NONE_INT, mtu_pair_case(&pair, 1)->flow.path_mtu);
    assert_string_equal(mtu_pair_session(&pair)->error, mtu_pair_case(&pair, 1)->error);
    assert_int_equal(CASE_PASS, mtu_pair_row(&pair, MTU_FORWARD).status);
    assert_string_equal("", mtu_pair_row(&pair, MTU_FORWARD).error);
    assert_int_equal(CASE_ERROR, mtu_pair_row(&pair, MTU_REVERSE).status);
    assert_string_equal(mtu_pair_session(&pair)->error, mtu_pair_row(&pair, MTU_REVERSE).error);
    mtu_join_blame(mtu_pair_session(&pair), pair.cases.items, pair.cases.count, "b is away");
    assert_string_equal("", mtu_pair_case(&pair, 0)->error);
    assert_string_equal("b is away", mtu_pair_row(&pair, MTU_REVERSE).error);
    mtu_pair_forget(&pair);
    mtu_pair_join(&pair, NULL, &pair.echo);
    assert_string_equal("the report of the sender's end is missing",
                        mtu_pair_session(&pair)->error);
    assert_string_equal("10.9.1.1:40000", mtu_pair_session(&pair)->local);
    assert_int_equal(MTU_CLEAN, mtu_pair_case(&pair, 1)->verdict);
    assert_true(mtu_pair_session(&pair)->agreement.present);
    assert_int_equal(NONE_INT, mtu_pair_session(&pair)->agreement.rtt_ns);
    mtu_pair_done(&pair);
    mtu_pair_make(&pair, MTU_WAYS_FORWARD, 1);
    pair.echo.answered.present = false; /* it listened, and nobody came */
    mtu_pair_join(&pair, NULL, &pair.echo);
    assert_false(mtu_pair_session(&pair)->agreement.present);
    mtu_pair_done(&pair);
}

static void no_report_at_all_is_one_case_per_flow(void **state)
{
    struct mtu_pair pair;

    (void)state;
    mtu_pair_make(&pair, MTU_WAYS_BOTH, 3);
    mtu_pair_join(&pair, NULL, NULL);
    assert_int_equal(6, pair.cases.count);
    assert_int_equal(2, mtu_pair_case(&pair, 5)->flow.flow);
    assert_string_equal("the reports of both ends are missing", mtu_pair_case(&pair, 5)->error);
    assert_int_equal(3, mtu_pair_row(&pair, MTU_REVERSE).flows);
    mtu_pair_done(&pair);
}

static void what_ends_say_of_themselves_is_the_error(void **state)
{
    struct mtu_pair pair;

    (void)state;
    mtu_pair_make(&pair, MTU_WAYS_BOTH, 1);
    text_copy(pair.echo.error, sizeof pair.echo.error, "no buffer space");
    pair.echo.flows.count = 0;
    mtu_pair_join(&pair, &pair.sender, &pair.echo);
    assert_string_equal("echo: no buffer space", mtu_pair_session(&pair)->error);
    assert_string_equal("echo: no buffer space", mtu_pair_case(&pair, 1)->error);
    mtu_pair_forget(&pair);
    text_copy(pair.sender.error, sizeof pair.sender.error, "no route");
    mtu_pair_join(&pair, &pair.sender, &pair.echo);
    assert_string_equal("sender: no route; echo: no buffer space", mtu_pair_session(&pair)->error);
    pair.echo.flows.count = 1;
    mtu_pair_done(&pair);
}

/* --- what contradicts ----------------------------------------------------------------------- */

static void expect_contradiction(struct mtu_pair *pair, const char *words)
{
    mtu_pair_join(pair, &pair->sender, &pair->echo);
    assert_non_null(strstr(mtu_pair_session(pair)->error, words));
    for (size_t i = 0; i < pair->cases.count; i++) {
        assert_int_equal(MTU_NO_VERDICT, mtu_pair_case(pair, i)->verdict);
        assert_string_equal(mtu_pair_session(pair)->error, mtu_pair_case(pair, i)->error);
    }
    mtu_pair_done(pair);
}

static void reports_that_contradict_each_other_are_no_answer(void **state)
{
    struct mtu_pair pair;

    (void)state;
    mtu_pair_make(&pair, MTU_WAYS_BOTH, 2);
    text_copy(pair.echo.session, sizeof pair.echo.session, "another");
    expect_contradiction(&pair, "the two reports are of two sessions, session (sender) and "
                                "another (echo)");
    mtu_pair_make(&pair, MTU_WAYS_BOTH, 2);
    pair.echo.index = 1;
    expect_contradiction(&pair, "two sessions");
    mtu_pair_make(&pair, MTU_WAYS_BOTH, 2);
    pair.sender.params.common.flows = 1;
    expect_contradiction(&pair, "the report of the sender's end is of other parameters than the "
                                "plan has");
    mtu_pair_make(&pair, MTU_WAYS_BOTH, 2);
    pair.echo.params.family = FAMILY_IPV6;
    expect_contradiction(&pair, "the report of the echo's end is of other parameters");
    mtu_pair_make(&pair, MTU_WAYS_BOTH, 2);
    pair.echo.role = END_SENDER;
    expect_contradiction(&pair, "says that it is the other one's");
}

/* Joins, of two flows, one whose forward answer is wrong in this way. */
static void expect_bad_flow(struct mtu_pair *pair, const char *words)
{
    mtu_pair_join(pair, &pair->sender, &pair->echo);
    assert_int_equal(4, pair->cases.count);
    if (strstr(mtu_pair_session(pair)->error, words) == NULL)
        fail_msg("\"%s\" is not \"%s\"", mtu_pair_session(pair)->error, words);
    assert_int_equal(MTU_CLEAN, mtu_pair_case(pair, 0)->verdict);
    assert_int_equal(MTU_NO_VERDICT, mtu_pair_case(pair, 1)->verdict);
    assert_int_equal(1, mtu_pair_case(pair, 1)->flow.flow);
    assert_int_equal(NONE_INT, mtu_pair_case(pair, 1)->flow.path_mtu);
    assert_int_equal(MTU_CLEAN, mtu_pair_case(pair, 3)->verdict);
    mtu_pair_done(pair);
}

static void a_flow_that_contradicts_itself_is_no_answer(void **state)
{
    struct mtu_pair pair;

    (void)state;
    mtu_pair_make(&pair, MTU_WAYS_BOTH, 2);
    mtu_pair_flow(&pair.sender, 1)->path_mtu = NONE_INT;
    expect_bad_flow(&pair, "the sender's end: its report does not add up: flow 1/path_mtu: ");
    mtu_pair_make(&pair, MTU_WAYS_BOTH, 2);
    mtu_pair_flow(&pair.sender, 1)->next_size = 1500;
    expect_bad_flow(&pair, "flow 1/next_size: 1500 ");
    mtu_pair_make(&pair, MTU_WAYS_BOTH, 2);
    mtu_pair_flow(&pair.sender, 1)->probes = INT64_MAX;
    expect_bad_flow(&pair, "flow 1/probes: beyond all reason");
    mtu_pair_make(&pair, MTU_WAYS_BOTH, 2);
    mtu_pair_flow(&pair.sender, 1)->flow = 0;
    expect_bad_flow(&pair, "its report has flow 0 twice");
    mtu_pair_make(&pair, MTU_WAYS_BOTH, 2);
    mtu_pair_flow(&pair.sender, 1)->flow = 2;
    expect_bad_flow(&pair, "flow 2/flow: 2, but 2 were asked for");
    mtu_pair_make(&pair, MTU_WAYS_BOTH, 2);
    pair.sender.flows.count = 1;
    expect_bad_flow(&pair, "the sender's end: its report has no answer of flow 1");
}

static void what_came_and_moved_must_add_up_too(void **state)
{
    struct mtu_pair pair;

    (void)state;
    mtu_pair_make(&pair, MTU_WAYS_BOTH, 1);
    pair.echo.answered.largest = NONE_INT;                        /* of 12 */
    mtu_pair_event(&pair.sender, MTU_CHANGE_CHANGED, 1500, 1400); /* and nobody watched */
    mtu_pair_join(&pair, &pair.sender, &pair.echo);
    assert_false(mtu_pair_session(&pair)->answered_forward.present);
    assert_true(mtu_pair_session(&pair)->answered_reverse.present);
    assert_int_equal(0, mtu_pair_session(&pair)->events_forward.count);
    mtu_pair_done(&pair);
    mtu_pair_make(&pair, MTU_WAYS_FORWARD, 1);
    mtu_pair_watch(&pair);
    pair.sender.answered = pair.echo.answered; /* nobody probed that way */
    mtu_pair_event(&pair.echo, MTU_CHANGE_CHANGED, 1500, 1400);
    mtu_pair_join(&pair, &pair.sender, &pair.echo);
    assert_false(mtu_pair_session(&pair)->answered_reverse.present);
    assert_int_equal(0, mtu_pair_session(&pair)->events_reverse.count);
    mtu_pair_done(&pair);
}

/* Values that numbers of a flow are made of here: each alone may be told. */
static int64_t some(unsigned *seed, bool nullable)
{
    static const int64_t values[] = { NONE_INT, 0, 1, 28, 575, 576, 1280, 1400, 1500, 1501, 65575 };
    const size_t count = sizeof values / sizeof values[0];
    size_t at;

    *seed = *seed * 1664525 + 1013904223;
    at = (*seed >> 8) % count;
    return at == 0 && !nullable ? 0 : values[at];
}

static void spoil(struct mtu_flow *flow, unsigned *seed)
{
    int64_t *const numbers[] = { &flow->path_mtu,        &flow->next_size, &flow->local_mtu,
                                 &flow->kernel_path_mtu, &flow->probes,    &flow->retries,
                                 &flow->refused,         &flow->controls,  &flow->controls_lost };

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (some(seed, true) == 1500)
            *numbers[i] = some(seed, i < 4);
    }
    flow->outcome = (enum mtu_outcome)(some(seed, false) % MTU_OUTCOME_COUNT);
    flow->limit = (enum mtu_limit)(some(seed, false) % MTU_LIMIT_COUNT);
    flow->confirmed = some(seed, false) > 1000;
    flow->flow = some(seed, false) % 3;
}

static void whatever_a_report_says_what_is_kept_adds_up(void **state)
{
    const char *given = getenv("SONDE_SEED");
    unsigned seed = given != NULL ? (unsigned)strtoul(given, NULL, 10) : 20261201;
    size_t answers = 0;

    (void)state;
    print_message("seed %u\n", seed);
    for (int i = 0; i < 3000; i++) {
        struct mtu_pair pair;
        struct fault fault = { "" };

        mtu_pair_make(&pair, MTU_WAYS_BOTH, 2);
        for (size_t k = 0; k < 2; k++) {
            spoil(mtu_pair_flow(&pair.sender, k), &seed);
            spoil(mtu_pair_flow(&pair.echo, k), &seed);
        }
        mtu_pair_join(&pair, &pair.sender, &pair.echo);
        assert_int_equal(4, pair.cases.count);
        for (size_t k = 0; k < 4; k++) {
            if (mtu_flow_check(&pair.params, &mtu_pair_case(&pair, k)->flow, &fault) != STATUS_OK)
                fail_msg("%s", fault.text);
            answers += mtu_pair_case(&pair, k)->flow.path_mtu != NONE_INT;
        }
        (void)mtu_pair_row(&pair, MTU_FORWARD);
        (void)mtu_pair_row(&pair, MTU_REVERSE);
        mtu_pair_done(&pair);
    }
    assert_true(answers > 100); /* some do add up */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_is_the_senders_and_reverse_the_echos),
        cmocka_unit_test(a_direction_that_was_not_asked_for_is_not_there),
        cmocka_unit_test(sessions_follow_each_other_in_an_archive),
        cmocka_unit_test(one_report_alone_says_what_it_knows),
        cmocka_unit_test(no_report_at_all_is_one_case_per_flow),
        cmocka_unit_test(what_ends_say_of_themselves_is_the_error),
        cmocka_unit_test(reports_that_contradict_each_other_are_no_answer),
        cmocka_unit_test(a_flow_that_contradicts_itself_is_no_answer),
        cmocka_unit_test(what_came_and_moved_must_add_up_too),
        cmocka_unit_test(whatever_a_report_says_what_is_kept_adds_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
