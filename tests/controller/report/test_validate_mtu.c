/* Each rule of a path MTU run is broken alone, and the fault names its place. The rules of one
 * answer have a test of their own (tests/proto/wire/test_mtu_check.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "controller/report/validate.h"
#include "proto/base/text.h"
#include "tests/controller/report/make_mtu_run.h"

/* Two families, both directions, two flows, watched: cases 0 to 7. */
static void make(struct run *run)
{
    struct make_mtu_shape shape = make_mtu_seed();

    shape.common.flows = 2;
    make_mtu_run(&shape, run);
}

struct rule {
    const char *name;
    void (*break_it)(struct run *run);
    const char *place; /* what the fault must start with, up to ':' */
};

static struct mtu_case *at(struct run *run, size_t index)
{
    return (struct mtu_case *)run->mtu_cases.items + index;
}

static struct mtu_session *session(struct run *run, size_t index)
{
    return (struct mtu_session *)run->mtu_sessions.items + index;
}

static int *family(struct run *run, size_t index)
{
    return (int *)run->mtu_plan.families.items + index;
}

/* Takes the last case away. */
static void drop_case(struct run *run)
{
    bool interrupted = run->interrupted;

    make_mtu_interrupted(run, run->mtu_cases.count - 1);
    run->interrupted = interrupted;
}

static void swap_cases(struct run *run, size_t a, size_t b)
{
    struct mtu_case kept = *at(run, a);

    *at(run, a) = *at(run, b);
    *at(run, b) = kept;
    at(run, a)->index = (int64_t)a;
    at(run, b)->index = (int64_t)b;
}

static void watch(struct run *run, double seconds)
{
    run->mtu_plan.common.watch_s = seconds;
    for (size_t i = 0; i < run->mtu_cases.count; i++) {
        at(run, i)->flow.fragment_probes.present = false;
        at(run, i)->flow.fragments = MTU_UNTESTED;
    }
}

static void add_event(struct run *run, int64_t flow)
{
    make_mtu_event(&session(run, 1)->events_reverse,
                   (struct mtu_event){ flow, MTU_CHANGE_CHANGED, 1500, 1400, 20 });
}

#define BREAK(NAME, ...)                                                                           \
    static void NAME(struct run *run)                                                              \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

BREAK(one_host, record_done(&host_record, make_host_at(run, 1)); run->hosts.count = 1;)
BREAK(other_role, make_host_at(run, 1)->role = HOST_LOCAL;)
BREAK(no_families, run->mtu_plan.families.count = 0;)
BREAK(family_unplanned, run->mtu_plan.families.count = 1; run->interrupted = true;)
BREAK(sessions_missing, make_mtu_interrupted(run, 4); run->interrupted = false;)
BREAK(sessions_disordered, *family(run, 0) = FAMILY_IPV6; *family(run, 1) = FAMILY_IPV4;)
BREAK(session_twice, session(run, 1)->family = FAMILY_IPV4;)
BREAK(answered_unprobed, run->mtu_plan.common.direction = MTU_WAYS_FORWARD;)
BREAK(answered_unprobed_forward, run->mtu_plan.common.direction = MTU_WAYS_REVERSE;)
BREAK(largest_null, session(run, 0)->answered_forward.largest = NONE_INT;)
BREAK(largest_of_none, session(run, 0)->answered_reverse.answered = 0;)
BREAK(event_unwatched, add_event(run, 0);)
BREAK(event_of_no_flow, watch(run, 60); add_event(run, 2);)
BREAK(event_unprobed, run->mtu_plan.common.direction = MTU_WAYS_FORWARD; watch(run, 60);
      session(run, 0)->answered_reverse.present = session(run, 1)->answered_reverse.present = false;
      add_event(run, 0);)
BREAK(case_missing, drop_case(run);)
BREAK(index_wrong, at(run, 3)->index = 4;)
BREAK(index_wrong_interrupted, run->interrupted = true; at(run, 3)->index = 4;)
BREAK(
    direction_unplanned, run->mtu_plan.common.direction = MTU_WAYS_FORWARD;
    session(run, 0)->answered_reverse.present = session(run, 1)->answered_reverse.present = false;)
BREAK(no_session, record_done(&mtu_session_record, session(run, 1)); run->mtu_sessions.count = 1;
      run->interrupted = true;)
BREAK(flow_twice, at(run, 1)->flow.flow = 0;)
BREAK(flows_disordered, swap_cases(run, 0, 1);)
BREAK(directions_disordered, swap_cases(run, 1, 2);)
BREAK(families_disordered, swap_cases(run, 3, 4);)
BREAK(flow_unplanned, at(run, 7)->flow.flow = 2;)
BREAK(next_size_small, at(run, 4)->flow.next_size = 1400;)
BREAK(payload_of_the_other, at(run, 0)->udp_payload = 1352;)
BREAK(payload_null, at(run, 0)->udp_payload = NONE_INT;)
BREAK(verdict_clean, at(run, 0)->verdict = MTU_CLEAN;)
BREAK(verdict_undecided, at(run, 5)->verdict = MTU_NO_VERDICT;)
BREAK(error_beside_answer, (void)text_copy(at(run, 2)->error, 512, "no");)
BREAK(delta_wrong, make_host_at(run, 1)->counters.delta.value[UDP_SENT]++;)

#define RULE(NAME, PLACE)                                                                          \
    {                                                                                              \
#        NAME, NAME, PLACE                                                                         \
    }

static const struct rule rules[] = {
    RULE(one_host, "/hosts"),
    RULE(other_role, "/hosts/1/role"),
    RULE(no_families, "/plan/families"),
    RULE(family_unplanned, "/sessions/1/family"),
    RULE(sessions_missing, "/sessions"),
    RULE(sessions_disordered, "/sessions/1/family"),
    RULE(session_twice, "/sessions/1/family"),
    RULE(answered_unprobed, "/sessions/0/answered_reverse"),
    RULE(answered_unprobed_forward, "/sessions/0/answered_forward"),
    RULE(largest_null, "/sessions/0/answered_forward/largest"),
    RULE(largest_of_none, "/sessions/0/answered_reverse/largest"),
    RULE(event_unwatched, "/sessions/1/events_reverse/0"),
    RULE(event_of_no_flow, "/sessions/1/events_reverse/0/flow"),
    RULE(event_unprobed, "/sessions/1/events_reverse"),
    RULE(case_missing, "/cases"),
    RULE(index_wrong, "/cases/3/index"),
    RULE(index_wrong_interrupted, "/cases/3/index"),
    RULE(direction_unplanned, "/cases/2/direction"),
    RULE(no_session, "/cases/4/family"),
    RULE(flow_twice, "/cases/1/flow"),
    RULE(flows_disordered, "/cases/1/flow"),
    RULE(directions_disordered, "/cases/2/flow"),
    RULE(families_disordered, "/cases/4/flow"),
    RULE(flow_unplanned, "/cases/7/flow"),
    RULE(next_size_small, "/cases/4/next_size"),
    RULE(payload_of_the_other, "/cases/0/udp_payload"),
    RULE(payload_null, "/cases/0/udp_payload"),
    RULE(verdict_clean, "/cases/0/verdict"),
    RULE(verdict_undecided, "/cases/5/verdict"),
    RULE(error_beside_answer, "/cases/2/error"),
    RULE(delta_wrong, "/hosts/1/counters/delta/udp.sent"),
};
enum { RULE_COUNT = sizeof rules / sizeof rules[0] };

static void a_broken_rule_is_found_at_its_place(void **state)
{
    const struct rule *rule = *state;
    struct run run;
    struct fault fault = { "" };
    size_t length = strlen(rule->place);

    make(&run);
    assert_int_equal(validate_run(&run, NULL), STATUS_OK);
    rule->break_it(&run);
    assert_int_not_equal(validate_run(&run, &fault), STATUS_OK);
    if (strncmp(fault.text, rule->place, length) != 0 || fault.text[length] != ':')
        fail_msg("%s: expected %s, got \"%s\"", rule->name, rule->place, fault.text);
    assert_null(strchr(fault.text, '\n'));
    run_done(&run);
}

/* --- what is allowed ------------------------------------------------------------------------- */

BREAK(as_it_is, (void)run;)
BREAK(cut_short, make_mtu_interrupted(run, 3);)
BREAK(cut_between, make_mtu_interrupted(run, 4);)
BREAK(cut_at_once, make_mtu_interrupted(run, 0);)
BREAK(cut_before_families, make_mtu_interrupted(run, 0); run->mtu_plan.families.count = 0;)
BREAK(one_without_the_other, make_mtu_error(run, FAMILY_IPV6, "echo: no IPv6 address");)
BREAK(watched, watch(run, 60); add_event(run, 1);)

static void every_end(struct run *run)
{
    static const enum make_mtu_end ends[] = { MAKE_MTU_TOLD,    MAKE_MTU_SILENT, MAKE_MTU_WHOLE,
                                              MAKE_MTU_FLOOR,   MAKE_MTU_NOBODY, MAKE_MTU_CUT_OFF,
                                              MAKE_MTU_NOTHING, MAKE_MTU_TOLD };

    for (size_t i = 0; i < run->mtu_cases.count; i++)
        make_mtu_answer(at(run, i), ends[i], 1380);
}

static void by_size(struct run *run)
{
    run->mtu_plan.common.sizes = 20000;
    make_mtu_sizes(make_mtu_at(run, FAMILY_IPV4, MTU_FORWARD, 0), 1340, 0, 10);
    make_mtu_sizes(make_mtu_at(run, FAMILY_IPV4, MTU_REVERSE, 0), NONE_INT, 10, 10);
    make_mtu_sizes(make_mtu_at(run, FAMILY_IPV6, MTU_FORWARD, 0), 1341, 5, 900);
}

static void what_is_allowed_is_not_refused(void **state)
{
    static const struct rule allowed[] = {
        RULE(as_it_is, ""),    RULE(cut_short, ""),           RULE(cut_between, ""),
        RULE(cut_at_once, ""), RULE(cut_before_families, ""), RULE(one_without_the_other, ""),
        RULE(watched, ""),     RULE(every_end, ""),           RULE(by_size, ""),
    };

    (void)state;
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        struct fault fault = { "" };
        struct run run;

        make(&run);
        allowed[i].break_it(&run);
        if (validate_run(&run, &fault) != STATUS_OK)
            fail_msg("%s: %s", allowed[i].name, fault.text);
        run_done(&run);
    }
}

static void one_direction_alone(void **state)
{
    struct make_mtu_shape shape = make_mtu_seed();
    struct fault fault = { "" };
    struct run run;

    (void)state;
    for (int i = MTU_WAYS_FORWARD; i <= MTU_WAYS_REVERSE; i++) {
        shape.common.direction = (enum mtu_ways)i;
        make_mtu_run(&shape, &run);
        if (validate_run(&run, &fault) != STATUS_OK)
            fail_msg("%s: %s", mtu_ways_names[i], fault.text);
        assert_int_equal(run.mtu_cases.count, 2);
        run_done(&run);
    }
}

int main(void)
{
    struct CMUnitTest tests[RULE_COUNT + 2] = {
        cmocka_unit_test(what_is_allowed_is_not_refused),
        cmocka_unit_test(one_direction_alone),
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
