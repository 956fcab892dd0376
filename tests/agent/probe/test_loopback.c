/* Every case must add up, in every shape there is, and the first burst must lose what was said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/datagram.h"
#include "agent/host/socket.h"
#include "agent/probe/loopback.h"
#include "tests/agent/probe/account.h"

static int set_up(void **state)
{
    *state = loopback_new(wall_now());
    return 0;
}

static int tear_down(void **state)
{
    loopback_free(*state);
    return 0;
}

/* A short closed loop that nothing is lost in; tests change what they are about. */
static struct case_params small_case(void)
{
    return (struct case_params){ .payload = 1472,
                                 .window = 4,
                                 .repeat = 1,
                                 .engine = engine_best(),
                                 .common = { .family = FAMILY_IPV4,
                                             .clients = 4,
                                             .io_model = IO_MODEL_SHARED,
                                             .io_threads = 1,
                                             .seconds = 0.04,
                                             .rcvbuf = 1 << 20,
                                             .sndbuf = 64 << 10 } };
}

static struct case_result measure(void **state, const struct case_params *params)
{
    const struct phase_watch watch = { .stop = NULL };
    struct case_result result;

    record_init(&case_result_record, &result);
    assert_int_equal(loopback_case(*state, params, &watch, &result), STATUS_OK);
    assert_case_adds_up(&result);
    return result;
}

static void done(struct case_result *result)
{
    record_done(&case_result_record, result);
}

static bool has_ipv6(void)
{
    struct addr any = addr_loopback(FAMILY_IPV6, 0), bound;
    int fd;

    if (socket_open(&any, &fd, &bound, NULL) != STATUS_OK)
        return false;
    close(fd);
    return true;
}

static void check_clean(void **state, const struct case_params *params)
{
    struct case_result result = measure(state, params);
    const struct phase *phase = &result.phases.measure;

    /* Another process may take the processor for longer than a drain; nothing else may happen. */
    assert_int_equal(phase->lost_echoes, 0);
    assert_int_equal(phase->forward.duplicates + phase->reverse.duplicates, 0);
    assert_int_equal(phase->forward.corrupt + phase->reverse.corrupt, 0);
    assert_int_equal(phase->forward.foreign + phase->reverse.foreign, 0);
    assert_int_equal(phase->reverse.reordered * (params->common.io_threads == 1), 0);
    assert_true(phase->reverse.received >= params->common.clients * params->window);
    done(&result);
}

/* Models, threads, families, engines, and clients that do not divide by threads. */
static void adds_up_in_every_shape(void **state)
{
    static const int64_t clients[] = { 1, 2, 3, 5, 16, 33 };
    static const int64_t windows[] = { 1, 7, 16, 2 };
    static const int64_t payloads[] = { 44, 48, 1452, 8192, 65507 };
    int families = has_ipv6() ? 2 : 1;
    int engines = datagram_batch_available() ? 2 : 1;
    size_t n = 0;

    for (int model = 0; model < IO_MODEL_COUNT; model++) {
        for (int64_t threads = 1; threads <= 4; threads++) {
            for (int kind = 0; kind < families * engines; kind++, n++) {
                struct case_params params = small_case();

                params.common.io_model = (enum io_model)model;
                params.common.io_threads = threads;
                params.common.family = (enum family)(kind % families);
                params.engine = (enum engine_kind)(kind / families);
                params.common.clients = clients[n % 6];
                params.window = windows[n % 4];
                params.payload = payloads[n % 5];
                params.common.rcvbuf = 4 << 20;
                /* what may be outstanding fits into the buffer */
                if (params.payload > 8192 && params.common.clients > 5)
                    params.window = 1;
                check_clean(state, &params);
            }
        }
    }
}

static void adds_up_with_a_warm_up(void **state)
{
    struct case_params params = small_case();
    struct case_result result;

    params.common.warmup_s = 0.03;
    result = measure(state, &params);
    assert_true(result.phases.warmup.forward.sent > 0);
    assert_int_equal(result.phases.warmup.lost_echoes, 0);
    assert_int_equal(result.phases.measure.forward.foreign, 0);
    done(&result);
}

static void check_overflow(void **state, const struct case_params *params)
{
    struct case_result result = measure(state, params);
    const struct leg *forward = &result.phases.measure.forward;

    assert_true(result.first_burst.predicted_lost > 0);
    assert_int_equal(result.first_burst.lost, result.first_burst.predicted_lost);
    assert_int_equal(result.status, CASE_FAIL);
    assert_true(forward->lost >= result.first_burst.lost);
    assert_int_equal(forward->lost_to.receive_buffer, forward->lost);
    assert_int_equal(forward->lost_to.unattributed, 0);
    assert_int_equal(forward->evidence, EVIDENCE_PER_SOCKET);
    assert_int_equal(result.phases.measure.reverse.lost, 0);
    done(&result);
}

/* In the shared model nothing is read during the burst: what overflows is known beforehand. */
static void loses_of_the_first_burst_what_was_predicted(void **state)
{
    static const struct {
        int64_t payload, rcvbuf;
    } buffers[] = { { 1472, 65536 }, { 44, 16384 }, { 16384, 212992 }, { 65507, 212992 } };

    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++) {
        struct case_params params = small_case();

        params.payload = buffers[i].payload;
        params.common.rcvbuf = buffers[i].rcvbuf;
        params.window = 64;
        check_overflow(state, &params);
    }
}

/* One client with the echo role's own buffer: both ends may overflow, and both know. */
static void adds_up_with_small_buffers_at_both_ends(void **state)
{
    struct case_params params = small_case();
    struct case_result result;

    params.common.clients = 1;
    params.window = 64;
    params.common.rcvbuf = 65536;
    params.payload = 4096;
    result = measure(state, &params);
    assert_int_equal(result.phases.measure.forward.lost_to.unattributed, 0);
    assert_int_equal(result.phases.measure.reverse.lost_to.unattributed, 0);
    assert_int_equal(result.first_burst.lost, result.first_burst.predicted_lost);
    done(&result);
}

static void adds_up_when_the_reader_races_the_burst(void **state)
{
    for (int64_t threads = 1; threads <= 2; threads++) {
        struct case_params params = small_case();
        struct case_result result;

        params.common.io_model = IO_MODEL_SPLIT;
        params.common.io_threads = threads;
        params.common.rcvbuf = 8192;
        params.window = 256;
        result = measure(state, &params);
        assert_true(result.first_burst.predicted_lost == NONE_INT);
        assert_int_equal(result.phases.measure.forward.lost_to.unattributed, 0);
        assert_int_equal(result.phases.measure.reverse.lost_to.unattributed, 0);
        done(&result);
    }
}

/* 2 ms of work each: no round trip shows them, and there is no time for many. */
static void takes_work_off_the_round_trip(void **state)
{
    struct case_params params = small_case();
    struct case_result result;

    params.common.clients = 1;
    params.window = 1;
    params.common.work_ns = 2 * NS_PER_MS;
    result = measure(state, &params);
    assert_in_range(result.phases.measure.reverse.received, 1, 22);
    assert_true(result.rtt_ns.min < params.common.work_ns);
    done(&result);
}

/* 64 datagrams of 20 ms are more than phase and drain: the case ends all the same, and what was
 * read in time is answered, late. */
static void ends_in_time_with_more_work_than_time(void **state)
{
    struct case_params params = small_case();
    struct mono start = mono_now();
    struct case_result result;

    params.window = 16;
    params.common.work_ns = 20 * NS_PER_MS;
    result = measure(state, &params);
    assert_int_equal(result.status, CASE_FAIL);
    assert_int_equal(result.phases.measure.forward.received, 64);
    assert_int_equal(result.phases.measure.reverse.sent, 64);
    assert_true(result.phases.measure.reverse.late > 0);
    assert_true(mono_between(start, mono_now()) < 64 * params.common.work_ns);
    done(&result);
}

static void keeps_a_pace(void **state)
{
    struct case_params params = small_case();
    struct case_result result;
    int64_t bursts;

    params.common.interval_ns = 5 * NS_PER_MS;
    for (int64_t threads = 1; threads <= 2; threads++) {
        params.common.io_threads = threads;
        params.common.io_model = threads == 2 ? IO_MODEL_SPLIT : IO_MODEL_SHARED;
        result = measure(state, &params);
        bursts = result.phases.measure.forward.attempted / params.window;
        /* of each client: one at 0, 5, ... 35 ms; what it missed is said */
        assert_true(bursts <= 8 * params.common.clients);
        assert_true(bursts >= params.common.clients);
        assert_true(result.phases.measure.slip_ns >= 0);
        assert_true(result.phases.measure.skipped_bursts >= 0);
        assert_int_equal(result.phases.measure.lost_echoes, 0);
        done(&result);
    }
}

/* A thread that works 5 ms on a datagram cannot send every millisecond. */
static void says_by_how_much_a_pace_slipped(void **state)
{
    struct case_params params = small_case();
    struct case_result result;

    params.common.clients = 1;
    params.window = 1;
    params.common.interval_ns = NS_PER_MS;
    params.common.work_ns = 5 * NS_PER_MS;
    result = measure(state, &params);
    assert_true(result.phases.measure.slip_ns >= 2 * NS_PER_MS);
    assert_true(result.phases.measure.skipped_bursts > 0);
    assert_true(result.phases.measure.forward.attempted + result.phases.measure.skipped_bursts <=
                41);
    done(&result);
}

static void stops_early(void **state)
{
    atomic_bool stop = true;
    const struct phase_watch watch = { .stop = &stop };
    struct case_params params = small_case();
    struct case_result result;
    struct mono start = mono_now();

    params.common.seconds = 1000;
    for (int model = 0; model < IO_MODEL_COUNT; model++) {
        params.common.io_model = (enum io_model)model;
        params.common.io_threads = 2;
        record_init(&case_result_record, &result);
        assert_int_equal(loopback_case(*state, &params, &watch, &result), STATUS_INTERRUPTED);
        done(&result);
    }
    assert_true(mono_between(start, mono_now()) < 100 * NS_PER_S);
}

static void says_why_a_case_cannot_be(void **state)
{
    const struct phase_watch watch = { .stop = NULL };
    struct case_params params = small_case();
    struct case_result result;

    params.engine = ENGINE_URING;
    record_init(&case_result_record, &result);
    assert_int_equal(loopback_case(*state, &params, &watch, &result), STATUS_OK);
    assert_int_equal(result.status, CASE_ERROR);
    assert_non_null(strstr(result.error, "uring"));
    assert_false(result.phases.measure.present);
    done(&result);
}

static void counts_its_descriptors(void **state)
{
    const struct case_common common = { .clients = 100, .io_threads = 4 };

    (void)state;
    /* a socket each, the echo role's, a poller for each thread of both roles */
    assert_true(loopback_descriptors(&common) >= 100 + 1 + 2 * 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_up_in_every_shape),
        cmocka_unit_test(adds_up_with_a_warm_up),
        cmocka_unit_test(loses_of_the_first_burst_what_was_predicted),
        cmocka_unit_test(adds_up_with_small_buffers_at_both_ends),
        cmocka_unit_test(adds_up_when_the_reader_races_the_burst),
        cmocka_unit_test(takes_work_off_the_round_trip),
        cmocka_unit_test(ends_in_time_with_more_work_than_time),
        cmocka_unit_test(keeps_a_pace),
        cmocka_unit_test(says_by_how_much_a_pace_slipped),
        cmocka_unit_test(stops_early),
        cmocka_unit_test(says_why_a_case_cannot_be),
        cmocka_unit_test(counts_its_descriptors),
    };

    return cmocka_run_group_tests_name("loopback", tests, set_up, tear_down);
}
