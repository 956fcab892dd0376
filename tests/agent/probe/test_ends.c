/* Two ends in one process: what one sends and the other echoes must add up to one account. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/socket.h"
#include "tests/agent/probe/account.h"
#include "tests/agent/probe/ends.h"

static bool has_ipv6(void)
{
    struct addr any = addr_loopback(FAMILY_IPV6, 0);
    int fd;

    if (socket_open(&any, &fd, &any, NULL) != STATUS_OK)
        return false;
    close(fd);
    return true;
}

static struct ends *meet(const struct end_order *order)
{
    if (order->params.common.family == FAMILY_IPV6)
        return ends_meet(order, "[::]:0", "[::1]:0");
    return ends_meet(order, "0.0.0.0:0", "127.0.0.1:0");
}

static void check_clean_phase(struct ends *ends, enum phase_kind kind)
{
    const struct case_params *params = &ends->order.params;

    ends_phase(ends, kind);
    assert_int_equal(ends_oddities(&ends->forward) + ends_oddities(&ends->reverse), 0);
    /* threads that answer side by side overtake one another */
    if (params->common.io_threads == 1)
        assert_int_equal(ends->forward.reordered + ends->reverse.reordered, 0);
    assert_true(ends->forward.sent >= params->window * params->common.clients);
    assert_int_equal(ends->reverse.received, ends->forward.sent);
    assert_int_equal(ends->sent.first_burst, params->window * params->common.clients);
    assert_int_equal(ends->echoed.first_burst, ends->sent.first_burst);
}

/* Both ends have one clock here, which each of them has read once: only these readings can put a
 * leg below zero. */
static void check_one_way(const struct report *sender, const struct report *echo)
{
    const struct one_way_seen *seen = &sender->one_way_ns;

    assert_true(seen->present && !echo->one_way_ns.present);
    assert_int_equal(seen->count, sender->rtt_ns.count);
    assert_true(seen->forward.min <= seen->forward.mean && seen->forward.mean <= seen->forward.max);
    assert_true(seen->reverse.min <= seen->reverse.mean && seen->reverse.mean <= seen->reverse.max);
    assert_true(seen->forward.min > -NS_PER_S && seen->reverse.min > -NS_PER_S);
    assert_true(seen->forward.min + seen->reverse.min <= sender->rtt_ns.min);
    assert_true(seen->forward.max + seen->reverse.max >= sender->rtt_ns.max);
    assert_int_equal(sender->clock.sync, echo->clock.sync);
    /* it has grown since the clock was read */
    if (sender->clock.max_error_ns != NONE_INT)
        assert_true(sender->clock.max_error_ns >= 500 * NS_PER_US);
}

static void check_reports(struct ends *ends, int64_t measured)
{
    struct report sender, echo;
    int64_t sent, received;

    record_init(&report_record, &sender);
    record_init(&report_record, &echo);
    sender_end_progress(ends->sender, &sent, &received);
    assert_int_equal(sent, ends->forward.sent);
    assert_int_equal(received, ends->reverse.received);
    assert_int_equal(sender_end_report(ends->sender, &sender, NULL), STATUS_OK);
    assert_int_equal(echo_end_report(ends->echo, &echo, NULL), STATUS_OK);
    assert_int_equal(sender.role, END_SENDER);
    assert_int_equal(echo.role, END_ECHO);
    /* each end says the same of who talked to whom */
    assert_string_equal(sender.local, echo.peer);
    assert_string_equal(sender.peer, echo.local);
    assert_true(sender.rtt_ns.present);
    assert_int_equal(sender.rtt_ns.count, measured);
    assert_false(echo.rtt_ns.present);
    check_one_way(&sender, &echo);
    assert_true(sender.rcvbuf.granted > 0 && echo.rcvbuf.granted > 0);
    assert_true(sender.agreement.hellos_sent >= 2 && sender.agreement.rtt_ns > 0);
    assert_true(echo.agreement.hellos_answered >= 2);
    assert_string_equal(sender.host.interface.name, echo.host.interface.name);
    assert_true(sender.host.interface.name[0] != '\0' && sender.host.interface.mtu > 0);
    assert_int_equal(sender.host.role, HOST_SENDER);
    assert_int_equal(echo.host.role, HOST_ECHO);
    assert_true(sender.host.counters.delta.value[UDP_SENT] >= 0);
    record_done(&report_record, &sender);
    record_done(&report_record, &echo);
}

/* Warm-up and measure of one session, every size, both families and engines. */
static void a_clean_path_loses_nothing(void **state)
{
    static const int64_t payloads[] = { 112, 116, 1472, 8192, 65507 };

    (void)state;
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        for (int kind = 0; kind < 4; kind++) {
            struct end_order order = ends_order(payloads[i]);
            struct ends *ends;

            order.params.engine = kind % 2 == 0 ? ENGINE_SINGLE : engine_best();
            order.params.common.family = kind < 2 ? FAMILY_IPV4 : FAMILY_IPV6;
            order.params.common.warmup_s = 0.02;
            if (order.params.common.family == FAMILY_IPV6 && !has_ipv6())
                continue;
            ends = meet(&order);
            check_clean_phase(ends, PHASE_WARMUP);
            check_clean_phase(ends, PHASE_MEASURE);
            check_reports(ends, ends->reverse.received);
            ends_free(ends);
        }
    }
}

static void many_clients_and_threads_share_the_work(void **state)
{
    struct end_order order = ends_order(300);
    struct ends *ends;

    (void)state;
    order.params.window = 16;
    order.params.common.clients = 7;
    order.params.common.io_threads = 3;
    order.params.common.work_ns = 2000;
    ends = meet(&order);
    check_clean_phase(ends, PHASE_WARMUP);
    check_clean_phase(ends, PHASE_MEASURE);
    ends_free(ends);
}

static void an_open_loop_keeps_its_pace(void **state)
{
    struct end_order order = ends_order(116);
    struct ends *ends;

    (void)state;
    order.params.window = 3;
    order.params.common.clients = 2;
    order.params.common.seconds = 0.3;
    order.params.common.interval_ns = 10 * NS_PER_MS;
    ends = meet(&order);
    check_clean_phase(ends, PHASE_MEASURE);
    assert_true(ends->sent.slip_ns != NONE_INT && ends->sent.skipped_bursts != NONE_INT);
    assert_true(ends->echoed.slip_ns == NONE_INT && ends->echoed.skipped_bursts == NONE_INT);
    /* each burst was sent or left out, none was made up for */
    assert_int_equal(ends->forward.attempted, (30 - ends->sent.skipped_bursts) * 6);
    ends_free(ends);
}

/* A burst into a buffer that is too small: each lost datagram is in the socket's own count. */
static void what_a_full_buffer_drops_has_its_place(void **state)
{
    struct end_order order = ends_order(8192);
    struct ends *ends;
    uint32_t drops;

    (void)state;
    order.params.window = 200;
    order.params.common.clients = 4;
    order.params.common.rcvbuf = 65536;
    order.params.common.work_ns = 200000;
    order.params.common.seconds = 0.01;
    ends = meet(&order);
    ends_phase(ends, PHASE_MEASURE);
    assert_true(ends->forward.lost > 0);
    if (socket_drops(0, &drops) != STATUS_UNSUPPORTED) {
        assert_true(ends->echoed.per_socket && ends->sent.per_socket);
        assert_int_equal(ends->echoed.drops, ends->forward.lost);
        assert_int_equal(ends->forward.lost_to.receive_buffer, ends->forward.lost);
        assert_int_equal(ends->sent.drops, ends->reverse.lost);
    }
    assert_true(ends->echoed.first_burst < ends->sent.first_burst);
    ends_free(ends);
}

struct owner {
    atomic_bool stop;
    struct ends *ends;
    int ticks;
};

static void stop_at_2nd_tick(void *context)
{
    struct owner *owner = context;
    int64_t sent, received;

    sender_end_progress(owner->ends->sender, &sent, &received);
    assert_true(sent >= received);
    if (++owner->ticks == 2)
        atomic_store(&owner->stop, true);
}

static void an_interrupted_phase_gives_what_it_has(void **state)
{
    struct end_order order = ends_order(200);
    struct owner owner = { .ticks = 0 };
    const struct phase_watch watch = { .context = &owner,
                                       .tick = stop_at_2nd_tick,
                                       .stop = &owner.stop };

    (void)state;
    order.params.common.seconds = 3600;
    owner.ends = meet(&order);
    ends_echo_phase(owner.ends, PHASE_MEASURE);
    record_init(&half_phase_record, &owner.ends->sent);
    assert_int_equal(
        sender_end_phase(owner.ends->sender, PHASE_MEASURE, &watch, &owner.ends->sent, NULL),
        STATUS_INTERRUPTED);
    ends_still(owner.ends);
    ends_settle(owner.ends);
    assert_true(owner.ends->forward.sent > 0);
    assert_true(owner.ends->sent.seconds > 0.1 && owner.ends->sent.seconds < 60);
    ends_free(owner.ends);
}

static void an_echo_that_is_stopped_gives_what_it_has(void **state)
{
    struct end_order order = ends_order(200);
    struct ends *ends = meet(&order);
    atomic_bool stop = true;
    const struct phase_watch watch = { .stop = &stop };
    struct half_phase half;

    (void)state;
    record_init(&half_phase_record, &half);
    assert_int_equal(echo_end_phase(ends->echo, PHASE_MEASURE, &watch, &half, NULL),
                     STATUS_INTERRUPTED);
    assert_true(half.present);
    assert_int_equal(half.forward.received, 0);
    ends_free(ends);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clean_path_loses_nothing),
        cmocka_unit_test(many_clients_and_threads_share_the_work),
        cmocka_unit_test(an_open_loop_keeps_its_pace),
        cmocka_unit_test(what_a_full_buffer_drops_has_its_place),
        cmocka_unit_test(an_interrupted_phase_gives_what_it_has),
        cmocka_unit_test(an_echo_that_is_stopped_gives_what_it_has),
    };

    return cmocka_run_group_tests_name("ends", tests, NULL, NULL);
}
