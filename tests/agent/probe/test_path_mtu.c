/* Two ends on loopback, through a relay that makes the path narrow: each must find it out, whoever
 * else sends to them. Real paths: tests/netns/test_path_mtu.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/socket.h"
#include "proto/base/memory.h"
#include "proto/wire/run.h"
#include "tests/agent/probe/meeting.h"

enum { THERE = 1400, BACK = 1300, CEILING = 1500 };

static struct path_mtu_plan plan_of(enum family family)
{
    struct path_mtu_plan plan = path_mtu_plan_of(family);

    plan.fragments = plan.trace = false;
    plan.ceiling = CEILING;
    return plan;
}

/* --- what is found ---------------------------------------------------------------------------- */

static void check_loopback(enum family family)
{
    struct path_mtu_plan plan = plan_of(family);
    struct meeting meeting = meeting_begin(family, 3, NULL);
    struct path_mtu_flow there[3], back[3];

    meeting_probe(&meeting, true, &plan, there);
    meeting_probe(&meeting, false, &plan, back);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(there[i].search.outcome, SEARCH_FOUND);
        assert_int_equal(there[i].search.limit, SEARCH_LIMIT_CEILING);
        assert_int_equal(there[i].search.path_mtu, CEILING);
        assert_int_equal(back[i].search.path_mtu, CEILING);
        /* the same flow, seen from both ends */
        assert_int_equal(there[i].source_port, back[i].source_port);
        assert_true(addr_equal(&there[i].local, &back[i].peer));
        assert_true(addr_equal(&there[i].peer, &back[i].local));
        assert_true(there[i].local_mtu > CEILING && there[i].seconds > 0);
        assert_int_not_equal(there[i].source_port, there[(i + 1) % 3].source_port);
    }
    meeting_end(&meeting);
}

static void loopback_carries_the_ceiling_in_both_families_and_directions(void **state)
{
    (void)state;
    check_loopback(FAMILY_IPV4);
    check_loopback(FAMILY_IPV6);
}

static struct relay_fate narrow(const struct relay_item *item)
{
    size_t mtu = item->forward ? THERE : BACK;

    return (struct relay_fate){ .copies = item->length + 28 <= mtu };
}

static void a_black_hole_is_exact_and_each_direction_has_its_own(void **state)
{
    struct path_mtu_plan plan = plan_of(FAMILY_IPV4);
    struct meeting meeting = meeting_begin(FAMILY_IPV4, 1, narrow);
    struct path_mtu_flow flow;

    (void)state;
    meeting_probe(&meeting, true, &plan, &flow);
    assert_int_equal(flow.search.path_mtu, THERE);
    assert_int_equal(flow.search.next_size, THERE + 1);
    assert_int_equal(flow.search.limit, SEARCH_LIMIT_PATH);
    assert_int_equal(flow.icmp_count, 0);
    meeting_probe(&meeting, false, &plan, &flow);
    assert_int_equal(flow.search.path_mtu, BACK);
    assert_int_equal(flow.search.next_size, BACK + 1);
    meeting_end(&meeting);
}

/* Above a size the relay hands on less than it was given, or other bytes. */
static struct relay_fate mangled(const struct relay_item *item)
{
    bool large = item->forward && item->length + 28 > THERE;

    return (struct relay_fate){ .copies = 1,
                                .cut = large && item->number % 2 == 0 ? 9 : 0,
                                .alter = large && item->number % 2 == 1,
                                .alter_at = 700 };
}

static void what_arrives_mangled_is_not_carried(void **state)
{
    struct path_mtu_plan plan = plan_of(FAMILY_IPV4);
    struct meeting meeting = meeting_begin(FAMILY_IPV4, 1, mangled);
    struct path_mtu_answered answered;
    struct path_mtu_flow flow;

    (void)state;
    meeting_probe(&meeting, true, &plan, &flow);
    path_mtu_answered(meeting.listener, &answered);
    assert_int_equal(flow.search.path_mtu, THERE);
    assert_int_equal(answered.largest, THERE - 28);
    assert_true(answered.cut > 10);
    meeting_end(&meeting);
}

static struct relay_fate doubled_and_slow(const struct relay_item *item)
{
    return (struct relay_fate){ .copies = item->length + 28 <= THERE ? 2 : 0,
                                .delay_ns = (int64_t)(item->number % 7) * 3 * NS_PER_MS };
}

static void duplicates_and_reordering_do_not_matter(void **state)
{
    struct path_mtu_plan plan = plan_of(FAMILY_IPV4);
    struct meeting meeting = meeting_begin(FAMILY_IPV4, 1, doubled_and_slow);
    struct path_mtu_flow flow;

    (void)state;
    meeting_probe(&meeting, true, &plan, &flow);
    assert_int_equal(flow.search.path_mtu, THERE);
    assert_int_equal(flow.odd_answers, 0);
    meeting_end(&meeting);
}

static void fragments_of_loopback_are_told(void **state)
{
    struct path_mtu_plan plan = path_mtu_plan_of(FAMILY_IPV6);
    struct meeting meeting = meeting_begin(FAMILY_IPV6, 1, NULL);
    struct path_mtu_answered answered;
    struct path_mtu_flow flow;

    (void)state;
    meeting_probe(&meeting, true, &plan, &flow);
    path_mtu_answered(meeting.listener, &answered);
    if (flow.fragments.size <= flow.local_mtu)
        skip(); /* an interface that carries all there is */
    assert_int_equal(flow.fragments.arrive, PATH_MTU_PASS);
    assert_int_equal(flow.fragments.arrived, flow.fragments.sent);
    if (answered.fragments_told)
        assert_int_equal(answered.reassembled, flow.fragments.sent);
    assert_int_equal(answered.in_fragments, 0);
    meeting_end(&meeting);
}

/* --- others ----------------------------------------------------------------------------------- */

/* A socket of somebody who has the key. */
struct stranger {
    int fd;
    struct digest_key key;
    struct pattern pattern;
    struct mtu_speech speech;
};

static void stranger_init(struct stranger *stranger, const struct meeting *meeting)
{
    const struct session_ground ground = { .format = { STAMP_AUTHENTICATED, &stranger->key },
                                           .pattern = &stranger->pattern,
                                           .hello_ssid = MEETING_SSID };
    const struct addr any = addr_loopback(FAMILY_IPV4, 0);
    struct addr bound;

    digest_key_init(&stranger->key, meeting->order.key, sizeof meeting->order.key);
    pattern_init(&stranger->pattern, session_seed(meeting->order.key));
    mtu_speech_init(&stranger->speech, &ground, false);
    assert_int_equal(socket_open(&any, &stranger->fd, &bound, NULL), STATUS_OK);
    assert_int_equal(socket_connect(stranger->fd, &meeting->target, NULL), STATUS_OK);
}

static void ask(struct stranger *stranger, enum mtu_class class)
{
    const struct mtu_sent sent = { mtu_sequence(class, 0), MTU_ANSWER_SIZE, 77 };
    uint8_t bytes[STAMP_HEAD_MAX];

    assert_int_equal(mtu_put_probe(&stranger->speech, &sent, bytes), MTU_ANSWER_SIZE);
    assert_int_equal(send(stranger->fd, bytes, MTU_ANSWER_SIZE, 0), MTU_ANSWER_SIZE);
}

static void before_the_agreement_nobody_is_answered(void **state)
{
    struct meeting meeting = { .order = meeting_order(1) };
    struct path_mtu_answered answered;
    struct stranger stranger;

    (void)state;
    meeting_listen(&meeting, FAMILY_IPV4, NULL);
    stranger_init(&stranger, &meeting);
    ask(&stranger, MTU_CLASS_PROBE);
    ask(&stranger, MTU_CLASS_OPEN);
    assert_int_equal(send(stranger.fd, "junk", 4, 0), 4);
    assert_int_equal(path_mtu_wait(meeting.listener, 0, 20 * NS_PER_MS, NULL), STATUS_OK);
    path_mtu_answered(meeting.listener, &answered);
    assert_int_equal(answered.answered, 0);
    assert_int_equal(answered.foreign, 3);
    close(stranger.fd);
    meeting_end(&meeting);
}

static void a_flow_is_not_moved_by_a_later_datagram(void **state)
{
    struct path_mtu_plan plan = plan_of(FAMILY_IPV4);
    struct meeting meeting = meeting_begin(FAMILY_IPV4, 1, NULL);
    struct path_mtu_flow there, back;
    struct stranger stranger;

    (void)state;
    meeting_probe(&meeting, true, &plan, &there);
    stranger_init(&stranger, &meeting);
    ask(&stranger, MTU_CLASS_OPEN);
    meeting_probe(&meeting, false, &plan, &back);
    assert_int_equal(back.source_port, there.source_port);
    assert_int_equal(back.search.path_mtu, CEILING);
    close(stranger.fd);
    meeting_end(&meeting);
}

static bool no_guests(void *context, const struct addr *host)
{
    (void)host;
    ++*(int *)context;
    return false;
}

static void stop_soon(void *context)
{
    atomic_store((atomic_bool *)context, true);
}

static void who_may_not_be_a_guest_gets_no_agreement(void **state)
{
    struct meeting meeting = { .order = meeting_order(1) };
    int asked = 0;
    const struct echo_end_place place = { .bind_to = addr_loopback(FAMILY_IPV4, 0),
                                          .may_guest = no_guests,
                                          .context = &asked };
    atomic_bool stop = false;
    const struct phase_watch watch = { .context = &stop, .tick = stop_soon, .stop = &stop };
    struct fault fault = { "" };
    struct busy greeter;

    (void)state;
    meeting_need(path_mtu_listen(&meeting.order, &place, &meeting.listener, &fault), &fault);
    meeting.target = place.bind_to;
    addr_set_port(&meeting.target, path_mtu_port(meeting.listener));
    meeting_need(path_mtu_call(&meeting.order, &meeting.target, &meeting.caller, &fault), &fault);
    busy_start(&greeter, meeting.listener, true);
    assert_int_equal(path_mtu_agree(meeting.caller, &watch, &fault), STATUS_INTERRUPTED);
    busy_stop(&greeter);
    assert_true(asked > 0);
    assert_int_equal(path_mtu_agreement(meeting.caller).hellos_answered, 0);
    assert_int_equal(path_mtu_agreement(meeting.caller).rtt_ns, NONE_INT);
    meeting_end(&meeting);
}

/* --- ends ------------------------------------------------------------------------------------- */

static void a_stopped_search_tells_what_is_known(void **state)
{
    struct path_mtu_plan plan = plan_of(FAMILY_IPV4);
    struct meeting meeting = meeting_begin(FAMILY_IPV4, 1, NULL);
    atomic_bool stop = false;
    const struct phase_watch watch = { .context = &stop, .tick = stop_soon, .stop = &stop };
    struct fault fault = { "" };
    struct path_mtu_flow flow;
    struct busy other;

    (void)state;
    plan.watch_s = 30;
    busy_start(&other, meeting.listener, false);
    assert_int_equal(path_mtu_probe(meeting.caller, &plan, &watch, &flow, &fault),
                     STATUS_INTERRUPTED);
    busy_stop(&other);
    assert_int_equal(flow.search.path_mtu, CEILING);
    /* and the end can be used again */
    plan.watch_s = 0;
    meeting_probe(&meeting, true, &plan, &flow);
    assert_int_equal(flow.search.outcome, SEARCH_FOUND);
    meeting_end(&meeting);
}

static void the_host_comes_with_its_counters(void **state)
{
    struct meeting meeting = meeting_begin(FAMILY_IPV4, 1, NULL);
    struct fault fault = { "" };
    struct host host;

    (void)state;
    record_init(&host_record, &host);
    meeting_need(path_mtu_host(meeting.caller, &host, &fault), &fault);
    assert_int_equal(host.role, HOST_SENDER);
    assert_string_not_equal(host.os, "");
    record_done(&host_record, &host);
    meeting_end(&meeting);
}

static void what_is_no_session_is_refused_in_words(void **state)
{
    struct path_mtu_order order = meeting_order(0);
    const struct addr target = addr_loopback(FAMILY_IPV4, 9);
    struct path_mtu_plan plan = path_mtu_plan_of(FAMILY_IPV4);
    struct path_mtu *end = NULL;
    struct fault fault = { "" };

    (void)state;
    assert_int_equal(path_mtu_call(&order, &target, &end, &fault), STATUS_RANGE);
    assert_string_equal(fault.text, "0 flows: 1 to 256 are allowed");
    order.flows = PATH_MTU_FLOWS + 1;
    assert_int_equal(path_mtu_call(&order, &target, &end, &fault), STATUS_RANGE);
    order.flows = 1;
    order.ssid = 0;
    assert_int_equal(path_mtu_call(&order, &target, &end, &fault), STATUS_INVALID);
    assert_null(end);
    assert_int_equal(path_mtu_check(&plan, FAMILY_IPV4, 1500, &fault), STATUS_OK);
    assert_int_equal(path_mtu_check(&plan, FAMILY_IPV4, NONE_INT, &fault), STATUS_OK);
    assert_int_equal(path_mtu_check(&plan, FAMILY_IPV6, 65536, &fault), STATUS_OK);
    plan.floor = 1501;
    assert_int_equal(path_mtu_check(&plan, FAMILY_IPV4, 1500, &fault), STATUS_RANGE);
    plan = path_mtu_plan_of(FAMILY_IPV4);
    plan.watch_s = -1;
    assert_int_equal(path_mtu_check(&plan, FAMILY_IPV4, 1500, &fault), STATUS_RANGE);
    assert_non_null(strstr(fault.text, "watching"));
    path_mtu_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loopback_carries_the_ceiling_in_both_families_and_directions),
        cmocka_unit_test(a_black_hole_is_exact_and_each_direction_has_its_own),
        cmocka_unit_test(what_arrives_mangled_is_not_carried),
        cmocka_unit_test(duplicates_and_reordering_do_not_matter),
        cmocka_unit_test(fragments_of_loopback_are_told),
        cmocka_unit_test(before_the_agreement_nobody_is_answered),
        cmocka_unit_test(a_flow_is_not_moved_by_a_later_datagram),
        cmocka_unit_test(who_may_not_be_a_guest_gets_no_agreement),
        cmocka_unit_test(a_stopped_search_tells_what_is_known),
        cmocka_unit_test(the_host_comes_with_its_counters),
        cmocka_unit_test(what_is_no_session_is_refused_in_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
