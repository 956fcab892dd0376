/* Both ends of a path MTU session as tasks in this process, over the loopback interface. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/text.h"
#include "tests/agent/task_stand.h"

/* --- whole sessions --------------------------------------------------------------------------- */

struct session {
    struct end listener, caller;
    struct mtu_report at_listener, at_caller;
};

static void open_both(struct stand *stand, const struct mtu_params *params,
                      struct session *out_session)
{
    uint16_t port = start_listener(stand, "A", params, &out_session->listener);
    union message message;

    start_caller(stand, "A", port, params, &out_session->caller);
    expect(&out_session->caller, MESSAGE_OPENED, &message);
    assert_int_equal(message.opened.port, 0);
}

static void close_both(struct session *session, const char *reason)
{
    tell_close(&session->caller, reason);
    tell_close(&session->listener, reason);
    expect_mtu_closed(&session->caller, &session->at_caller);
    expect_mtu_closed(&session->listener, &session->at_listener);
}

static void done(struct session *session)
{
    record_done(&mtu_report_record, &session->at_caller);
    record_done(&mtu_report_record, &session->at_listener);
    finish(&session->caller);
    finish(&session->listener);
}

static const struct mtu_flow *flow_of(const struct mtu_report *report, size_t index)
{
    assert_true(index < report->flows.count);
    return &((const struct mtu_flow *)report->flows.items)[index];
}

/* IPv4 has no packets as large as Linux's loopback interface takes. */
static int64_t largest_of(enum family family, int64_t local_mtu)
{
    assert_true(local_mtu > 1500);
    return family == FAMILY_IPV4 && local_mtu > 65535 ? 65535 : local_mtu;
}

static void assert_whole(const struct mtu_report *report, enum family family, size_t flows)
{
    assert_string_equal(report->error, "");
    assert_int_equal(report->index, 3);
    assert_int_equal(report->params.family, family);
    assert_true(report->agreement.present);
    assert_int_equal(report->flows.count, flows);
    assert_int_equal(report->events.count, 0);
    for (size_t i = 0; i < flows; i++) {
        const struct mtu_flow *flow = flow_of(report, i);

        assert_int_equal(flow->flow, i);
        assert_int_equal(flow->outcome, MTU_FOUND);
        assert_int_equal(flow->path_mtu, largest_of(family, flow->local_mtu));
        assert_true(flow->confirmed);
        assert_true(flow->probes > 0 && flow->source_port != NONE_INT);
    }
}

static void both_ends_find_it(struct stand *stand, enum family family)
{
    struct mtu_params params = mtu_params_of(family);
    struct session session;

    params.common.flows = 3;
    params.common.pace = 100 * 1000 * 1000;
    open_both(stand, &params, &session);
    run_phase(&session.listener, &session.caller, PHASE_FORWARD);
    run_phase(&session.caller, &session.listener, PHASE_REVERSE);
    close_both(&session, "");
    assert_whole(&session.at_caller, family, 3);
    assert_whole(&session.at_listener, family, 3);
    assert_int_equal(session.at_caller.role, END_SENDER);
    assert_int_equal(session.at_listener.role, END_ECHO);
    assert_string_not_equal(session.at_caller.id, session.at_listener.id);
    assert_string_equal(session.at_caller.local, session.at_listener.peer);
    assert_string_equal(session.at_caller.peer, session.at_listener.local);
    assert_true(session.at_caller.answered.present && session.at_listener.answered.present);
    assert_int_equal(session.at_caller.answered.largest,
                     flow_of(&session.at_listener, 0)->path_mtu);
    assert_int_equal(session.at_listener.answered.largest,
                     flow_of(&session.at_caller, 0)->path_mtu);
    assert_int_equal(session.at_listener.host.interface.mtu,
                     flow_of(&session.at_listener, 0)->local_mtu);
    for (size_t i = 0; i < 3; i++) /* the same flows both ways */
        assert_int_equal(flow_of(&session.at_caller, i)->source_port,
                         flow_of(&session.at_listener, i)->source_port);
    done(&session);
}

static void both_ends_find_it_over_ipv4(void **state)
{
    both_ends_find_it(*state, FAMILY_IPV4);
}

static void both_ends_find_it_over_ipv6(void **state)
{
    both_ends_find_it(*state, FAMILY_IPV6);
}

/* What an end did not do is not in its report. */
static void one_way_alone(void **state)
{
    struct mtu_params params = mtu_params_of(FAMILY_IPV4);
    struct session session;

    params.common.direction = MTU_WAYS_FORWARD;
    open_both(*state, &params, &session);
    run_phase(&session.listener, &session.caller, PHASE_FORWARD);
    close_both(&session, "");
    assert_whole(&session.at_caller, FAMILY_IPV4, 1);
    assert_false(session.at_caller.answered.present);
    assert_whole(&session.at_listener, FAMILY_IPV4, 0);
    assert_true(session.at_listener.answered.present);
    done(&session);
    params.common.direction = MTU_WAYS_REVERSE;
    open_both(*state, &params, &session);
    run_phase(&session.caller, &session.listener, PHASE_REVERSE);
    close_both(&session, "");
    assert_whole(&session.at_caller, FAMILY_IPV4, 0);
    assert_true(session.at_caller.answered.present);
    assert_whole(&session.at_listener, FAMILY_IPV4, 1);
    assert_false(session.at_listener.answered.present);
    done(&session);
}

static void loss_by_size_comes_behind_the_search(void **state)
{
    struct mtu_params params = mtu_params_of(FAMILY_IPV4);
    struct session session;
    const struct mtu_flow *flow;

    params.common.direction = MTU_WAYS_FORWARD;
    params.common.ceiling = 1500;
    params.common.sizes = 640;
    open_both(*state, &params, &session);
    run_phase(&session.listener, &session.caller, PHASE_FORWARD);
    close_both(&session, "");
    flow = flow_of(&session.at_caller, 0);
    assert_int_equal(flow->path_mtu, 1500);
    assert_true(flow->size_effect.present);
    assert_int_equal(flow->size_effect.sent, 640);
    assert_true(flow->loss_by_size.count > 1);
    done(&session);
}

/* --- watching --------------------------------------------------------------------------------- */

static struct mtu_event expect_moved(struct end *end, enum mtu_change change)
{
    union message message;

    expect(end, MESSAGE_MOVED, &message);
    assert_string_equal(message.moved.session, end->session);
    assert_int_equal(message.moved.phase, PHASE_FORWARD);
    assert_int_equal(message.moved.event.change, change);
    return message.moved.event;
}

static void watch(struct stand *stand, struct mtu_params *params, struct session *out_session)
{
    params->common.direction = MTU_WAYS_FORWARD;
    params->common.watch_s = 60;
    open_both(stand, params, out_session);
    tell(&out_session->listener, MESSAGE_BEGIN, PHASE_FORWARD);
    expect_phase(&out_session->listener, MESSAGE_BEGUN, PHASE_FORWARD);
    tell(&out_session->caller, MESSAGE_BEGIN, PHASE_FORWARD);
}

/* The first answer of each flow is told at once, and an end ends it as if its time were over. */
static void watching_tells_at_once_and_is_ended(void **state)
{
    struct mtu_params params = mtu_params_of(FAMILY_IPV4);
    struct session session;
    struct mtu_event said[2];
    const struct mtu_event *kept;

    params.common.flows = 2;
    watch(*state, &params, &session);
    for (int i = 0; i < 2; i++)
        said[i] = expect_moved(&session.caller, MTU_CHANGE_KNOWN);
    tell(&session.caller, MESSAGE_END, PHASE_FORWARD);
    expect_phase(&session.caller, MESSAGE_ENDED, PHASE_FORWARD);
    tell(&session.listener, MESSAGE_END, PHASE_FORWARD);
    expect_phase(&session.listener, MESSAGE_ENDED, PHASE_FORWARD);
    close_both(&session, "");
    assert_string_equal(session.at_caller.error, "");
    assert_int_equal(session.at_caller.events.count, 2);
    kept = session.at_caller.events.items;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(kept[i].flow, said[i].flow);
        assert_int_equal(kept[i].from, NONE_INT);
        assert_int_equal(said[i].to, flow_of(&session.at_caller, (size_t)kept[i].flow)->path_mtu);
    }
    assert_int_equal(kept[0].flow + kept[1].flow, 1);
    done(&session);
}

static void watching_notices_that_the_other_end_has_gone(void **state)
{
    struct mtu_params params = mtu_params_of(FAMILY_IPV4);
    struct session session;
    struct mtu_event known, gone;

    params.common.check_s = 0.2;
    watch(*state, &params, &session);
    known = expect_moved(&session.caller, MTU_CHANGE_KNOWN);
    tell_close(&session.listener, "gone");
    expect_mtu_closed(&session.listener, &session.at_listener);
    assert_string_equal(session.at_listener.error, "closed: gone");
    gone = expect_moved(&session.caller, MTU_CHANGE_UNREACHABLE);
    assert_int_equal(gone.from, known.to);
    assert_int_equal(gone.to, NONE_INT);
    assert_true(gone.after_s > known.after_s);
    tell_close(&session.caller, "enough");
    expect_mtu_closed(&session.caller, &session.at_caller);
    assert_string_equal(session.at_caller.error, "closed: enough");
    assert_int_equal(session.at_caller.events.count, 2);
    done(&session);
}

/* --- what ends it ----------------------------------------------------------------------------- */

/* At this pace one probe of the largest size takes seconds. */
static void begin_slowly(struct stand *stand, struct session *out_session)
{
    struct mtu_params params = mtu_params_of(FAMILY_IPV4);

    params.common.pace = 20000;
    open_both(stand, &params, out_session);
    tell(&out_session->listener, MESSAGE_BEGIN, PHASE_FORWARD);
    expect_phase(&out_session->listener, MESSAGE_BEGUN, PHASE_FORWARD);
    tell(&out_session->caller, MESSAGE_BEGIN, PHASE_FORWARD);
}

static void what_is_known_in_the_middle_is_kept(void **state)
{
    struct session session;
    union message message;

    begin_slowly(*state, &session);
    assert_true(hear(&session.caller, 5 * NS_PER_S, &message));
    assert_int_equal(message.type, MESSAGE_PROGRESS);
    assert_int_equal(message.progress.phase, PHASE_FORWARD);
    assert_true(message.progress.sent > 0 && message.progress.received > 0);
    assert_int_equal(message.progress.flows_done, 0);
    close_both(&session, "enough");
    assert_string_equal(session.at_caller.error, "closed: enough");
    assert_int_equal(session.at_caller.flows.count, 1);
    assert_int_equal(flow_of(&session.at_caller, 0)->outcome, MTU_UNDECIDED);
    assert_true(flow_of(&session.at_caller, 0)->probes > 0);
    assert_string_equal(session.at_listener.error, "closed: enough");
    assert_true(session.at_listener.answered.answered > 0);
    done(&session);
}

/* It ends watching, not a search. */
static void an_end_does_not_cut_a_search_off(void **state)
{
    struct session session;
    union message message;

    begin_slowly(*state, &session);
    tell(&session.caller, MESSAGE_END, PHASE_FORWARD);
    while (hear(&session.caller, 700 * NS_PER_MS, &message) && message.progress.elapsed_s < 1)
        assert_int_equal(message.type, MESSAGE_PROGRESS);
    assert_int_equal(message.type, MESSAGE_PROGRESS);
    close_both(&session, "");
    assert_string_equal(session.at_caller.error, "closed: before it was measured");
    done(&session);
}

static void a_phase_that_the_session_does_not_have(void **state)
{
    struct mtu_params params = mtu_params_of(FAMILY_IPV4);
    struct mtu_report report;
    struct end listener;

    params.common.direction = MTU_WAYS_FORWARD;
    start_listener(*state, "A", &params, &listener);
    tell(&listener, MESSAGE_BEGIN, PHASE_REVERSE);
    expect_mtu_failed(&listener, "begin came for phase \"reverse\", which this session has not",
                      &report);
    record_done(&mtu_report_record, &report);
    finish(&listener);
}

static void a_phase_that_was_probed_already(void **state)
{
    struct mtu_params params = mtu_params_of(FAMILY_IPV4);
    struct session session;

    open_both(*state, &params, &session);
    run_phase(&session.caller, &session.listener, PHASE_REVERSE);
    tell(&session.listener, MESSAGE_BEGIN, PHASE_FORWARD);
    expect_mtu_failed(&session.listener, "begin came for a phase that is over",
                      &session.at_listener);
    assert_int_equal(session.at_listener.flows.count, 1);
    tell_close(&session.caller, "");
    expect_mtu_closed(&session.caller, &session.at_caller);
    done(&session);
}

static void joined_in_the_middle(void **state)
{
    struct session session;
    union message message;

    begin_slowly(*state, &session);
    assert_true(hear(&session.caller, 5 * NS_PER_S, &message)); /* it has begun */
    task_join(session.caller.task);
    task_join(session.listener.task);
    expect_mtu_failed(&session.caller, "this agent is being stopped", &session.at_caller);
    expect_mtu_failed(&session.listener, "this agent is being stopped", &session.at_listener);
    assert_int_equal(session.at_caller.flows.count, 1);
    assert_true(session.at_listener.answered.present);
    session.caller.task = session.listener.task = NULL;
    done(&session);
}

static void the_mailbox_is_gone(void **state)
{
    struct session session;

    begin_slowly(*state, &session);
    mailbox_free(session.caller.mailbox);
    mailbox_free(session.listener.mailbox);
    task_join(session.caller.task);
    task_join(session.listener.task);
}

/* --- limits of this host ---------------------------------------------------------------------- */

static void nothing_larger_than_allowed_is_sent(void **state)
{
    struct mtu_params params = mtu_params_of(FAMILY_IPV4);
    struct stand *stand = *state;
    struct session session;

    stand->limits.max_payload = 1372;
    stand_use_limits(stand);
    params.common.fragments = true;
    open_both(stand, &params, &session);
    run_phase(&session.listener, &session.caller, PHASE_FORWARD);
    run_phase(&session.caller, &session.listener, PHASE_REVERSE);
    close_both(&session, "");
    assert_string_equal(session.at_caller.error,
                        "admission.max_payload lets this host send IP packets of 1400 bytes: "
                        "larger ones were not tried");
    assert_int_equal(flow_of(&session.at_caller, 0)->path_mtu, 1400);
    assert_int_equal(flow_of(&session.at_caller, 0)->limit, MTU_LIMIT_CEILING);
    assert_int_equal(flow_of(&session.at_caller, 0)->fragments, MTU_UNTESTED);
    assert_int_equal(session.at_listener.answered.largest, 1400);
    assert_int_equal(flow_of(&session.at_listener, 0)->path_mtu, 1400);
    assert_int_equal(session.at_caller.answered.largest, 1400);
    done(&session);
}

static void a_phase_is_no_longer_than_allowed(void **state)
{
    static const char *const reason =
        "admission.max_seconds allows 0.5 seconds, phase \"forward\" was not over by then";
    struct stand *stand = *state;
    struct session session;

    stand->limits.max_seconds = 0.5;
    stand->surroundings.patience_ns = 2 * NS_PER_S;
    stand_use_limits(stand);
    begin_slowly(stand, &session);
    expect_mtu_failed(&session.caller, reason, &session.at_caller);
    expect_mtu_failed(&session.listener, reason, &session.at_listener);
    assert_int_equal(session.at_caller.flows.count, 1);
    assert_true(session.at_listener.answered.answered > 0);
    done(&session);
}

static void a_host_that_is_not_admitted_gets_no_agreement(void **state)
{
    struct mtu_params params = mtu_params_of(FAMILY_IPV4);
    struct session session;
    union message message;
    uint16_t port;

    stand_use_peers(*state, "10.0.0.0/8");
    port = start_listener(*state, "A", &params, &session.listener);
    start_caller(*state, "A", port, &params, &session.caller);
    assert_false(hear(&session.caller, 400 * NS_PER_MS, &message));
    close_both(&session, "enough");
    assert_true(session.at_caller.agreement.hellos_sent > 1);
    assert_int_equal(session.at_caller.agreement.hellos_answered, 0);
    assert_int_equal(session.at_caller.flows.count, 0);
    assert_string_equal(session.at_listener.peer, "");
    done(&session);
}

static void what_cannot_be_opened_is_refused(void **state)
{
    struct mtu_params params = mtu_params_of(FAMILY_IPV6);
    struct stand *stand = *state;
    union message message;
    struct end listener;

    text_copy(stand->echo.bind_ipv6, sizeof stand->echo.bind_ipv6, "2001:db8::7");
    start(stand,
          &(struct order){ .role = END_ECHO, .session = "A", .ssid = FIRST_SSID, .mtu = &params },
          &listener);
    expect(&listener, MESSAGE_REFUSED, &message);
    assert_string_equal(message.refused.session, "A");
    assert_non_null(strstr(message.refused.reason, "this host cannot probe over ipv6: "));
    assert_non_null(strstr(message.refused.reason, "2001:db8::7"));
    finish(&listener);
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, stand_set_up, stand_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(both_ends_find_it_over_ipv4),
        UNIT(both_ends_find_it_over_ipv6),
        UNIT(one_way_alone),
        UNIT(loss_by_size_comes_behind_the_search),
        UNIT(watching_tells_at_once_and_is_ended),
        UNIT(watching_notices_that_the_other_end_has_gone),
        UNIT(what_is_known_in_the_middle_is_kept),
        UNIT(an_end_does_not_cut_a_search_off),
        UNIT(a_phase_that_the_session_does_not_have),
        UNIT(a_phase_that_was_probed_already),
        UNIT(joined_in_the_middle),
        UNIT(the_mailbox_is_gone),
        UNIT(nothing_larger_than_allowed_is_sent),
        UNIT(a_phase_is_no_longer_than_allowed),
        UNIT(a_host_that_is_not_admitted_gets_no_agreement),
        UNIT(what_cannot_be_opened_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
