/* A slow reader's account adds up, its model says what it must, and nothing is left of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/host/socket.h"
#include "agent/probe/calibrate.h"
#include "agent/probe/slow_reader.h"
#include "proto/base/clock.h"

#define US NS_PER_US

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) < 1e-9))
        fail_msg("%f is not %f", value, expected);
}

static void the_model_is_what_does_not_fit(void **state)
{
    (void)state;
    /* Nothing is read in no time; 1,000 a second are read in 2 s. */
    assert_near(slow_reader_model(1000, 0, 250, 0.001), 0.75);
    assert_near(slow_reader_model(10000, 2, 1000, 0.001), 0.7);
    assert_near(slow_reader_model(3000, 2, 1000, 0.001), 0);
    assert_near(slow_reader_model(100, 9, 1000, 0.001), 0);
}

static void the_model_has_an_answer_at_its_edges(void **state)
{
    (void)state;
    assert_near(slow_reader_model(0, 0, 0, 1), 0);
    assert_near(slow_reader_model(100, 1, 0, 0), 0);
    assert_near(slow_reader_model(1, 0, 1, 1), 0);
    assert_near(slow_reader_model(4, 0, 0, 1), 1);
}

static void a_lump_given_back_late_costs_room(void **state)
{
    (void)state;
    /* As fast as it goes: half a lump of 250, or half of what was read. */
    assert_int_equal(slow_reader_held(INT64_MAX / 2, 1, 1000, 0.001, 0.25), 1000 - 125);
    assert_int_equal(slow_reader_held(INT64_MAX / 2, 0.1, 1000, 0.001, 0.25), 1000 - 50);
    /* Half as fast as it is sent: from half a lump to a whole one. */
    assert_int_equal(slow_reader_held(4000, 2, 1000, 0.001, 0.25), 1000 - 187);
    /* Nothing where the system gives back at once, or the reader keeps up. */
    assert_int_equal(slow_reader_held(4000, 2, 1000, 0.001, 0), 1000);
    assert_int_equal(slow_reader_held(2000, 2, 1000, 0.001, 0.25), 1000);
    assert_int_equal(slow_reader_held(2000, 2, 1000, 0, 0.25), 1000);
    assert_int_equal(slow_reader_held(0, 0, 1000, 1, 0.25), 1000);
    assert_int_equal(slow_reader_held(1000, 1, 1, 1, 0.25), 1);
}

static struct slow_reader_order an_order(int64_t sends, int64_t read_ns, int64_t interval_ns)
{
    return (struct slow_reader_order){
        .payload = 1000, .sends = sends, .read_ns = read_ns, .interval_ns = interval_ns
    };
}

static struct slow_reader_result measure(const struct slow_reader_order *order)
{
    struct slow_reader_result result = { .sent = -1 };
    struct fault fault = { "" };

    if (slow_reader_measure(order, &result, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    return result;
}

static void done(struct slow_reader_result *result)
{
    free(result->queue.items);
    free(result->drops.items);
}

static const double *point(const struct list *list, size_t at)
{
    return (const double *)list->items + 2 * at;
}

static void check_points(const struct list *list, bool grows)
{
    for (size_t i = 1; i < list->count; i++) {
        assert_true(point(list, i)[0] >= point(list, i - 1)[0]);
        assert_true(!grows || point(list, i)[1] >= point(list, i - 1)[1]);
    }
    assert_in_range(list->count, 2, 400);
    assert_near(point(list, 0)[0], 0);
}

static void check_account(const struct slow_reader_order *order,
                          const struct slow_reader_result *result)
{
    assert_int_equal(result->sent + refused_total(&result->refused), order->sends);
    assert_int_equal(result->processed + result->lost, result->sent);
    assert_near(result->loss_ratio, (double)result->lost / (double)result->sent);
    assert_true(result->achieved_read_ns >= (double)order->read_ns);
    assert_true(result->sent < 2 || result->achieved_interval_ns >= (double)order->interval_ns);
    if (result->queue.count > 0)
        check_points(&result->queue, false);
    if (result->dropped.socket == NONE_INT)
        return;
    assert_int_equal(result->dropped.socket, result->lost);
    assert_true(result->dropped.system == NONE_INT || result->dropped.system >= result->lost);
    check_points(&result->drops, true);
    assert_near(point(&result->drops, result->drops.count - 1)[1], (double)result->lost);
    assert_int_equal(isnan(result->first_drop_s), result->lost == 0);
}

static void a_burst_leaves_what_the_buffer_holds(void **state)
{
    struct slow_reader_order order = an_order(2000, 5000 * US, 0);
    struct slow_reader_result result = measure(&order);
    struct calibration calibration;
    int64_t held;

    (void)state;
    check_account(&order, &result);
    assert_int_equal(calibrate_capacity(FAMILY_IPV4, 1000, 0, &calibration, NULL), STATUS_OK);
    held = capacity_of(&calibration.capacity, result.rcvbuf.granted);
    assert_int_equal(result.rcvbuf.asked, 0);
    assert_true(result.processed >= held);
    assert_true(result.lost > 0);
    /* What was read meanwhile may add as much again. */
    assert_true((double)result.processed <= (double)held + 1 + result.sending_s / 0.005);
    if (result.dropped.socket != NONE_INT) {
        assert_true(result.first_drop_s > 0 && result.first_drop_s <= result.sending_s + 0.001);
        assert_true(point(&result.queue, result.queue.count - 1)[1] < calibration.capacity.charge);
    }
    done(&result);
}

static void below_the_read_rate_nothing_is_lost(void **state)
{
    struct slow_reader_order order = an_order(300, 100 * US, 1000 * US);
    struct slow_reader_result result;

    (void)state;
    order.rcvbuf = 1 << 20;
    result = measure(&order);
    check_account(&order, &result);
    assert_int_equal(result.lost, 0);
    assert_near(result.model_loss_ratio, 0);
    assert_true(isnan(result.first_drop_s));
    assert_int_equal(result.rcvbuf.asked, 1 << 20);
    done(&result);
}

static void extremes_add_up_too(void **state)
{
    static const int64_t payloads[] = { 0, 1, 65507 };
    struct slow_reader_order order = an_order(60, 50 * US, 20 * US);
    struct slow_reader_result result;

    (void)state;
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        order.payload = payloads[i];
        order.rcvbuf = 4096;
        result = measure(&order);
        check_account(&order, &result);
        done(&result);
    }
    order = an_order(1, 0, 0);
    result = measure(&order);
    assert_int_equal(result.processed, 1);
    assert_true(isnan(result.achieved_interval_ns));
    done(&result);
}

static void ipv6_adds_up_too(void **state)
{
    struct slow_reader_order order = an_order(1000, 500 * US, 10 * US);
    struct addr any = addr_loopback(FAMILY_IPV6, 0), bound;
    struct slow_reader_result result;
    int fd;

    (void)state;
    if (socket_open(&any, &fd, &bound, NULL) != STATUS_OK)
        skip();
    close(fd);
    order.family = FAMILY_IPV6;
    result = measure(&order);
    check_account(&order, &result);
    done(&result);
}

/* Sets the stop flag when it is called the second time. */
struct stopper {
    atomic_bool stop;
    int ticks;
    struct mono at;
};

static void stop_soon(void *context)
{
    struct stopper *stopper = context;

    if (++stopper->ticks == 2) {
        stopper->at = mono_now();
        atomic_store(&stopper->stop, true);
    }
}

static void check_stops(int64_t sends, int64_t read_ns, int64_t interval_ns)
{
    struct stopper stopper = { .ticks = 0 };
    struct slow_reader_order order = an_order(sends, read_ns, interval_ns);
    struct slow_reader_result result = { .sent = 4711 };
    int64_t took_ns;

    order.stop = &stopper.stop;
    order.tick = stop_soon;
    order.context = &stopper;
    assert_int_equal(slow_reader_measure(&order, &result, NULL), STATUS_INTERRUPTED);
    took_ns = mono_between(stopper.at, mono_now());
    if (took_ns > 100 * NS_PER_MS)
        fail_msg("stopped after %lld ms", (long long)(took_ns / NS_PER_MS));
    assert_int_equal(result.sent, 4711);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void it_stops_when_it_is_told(void **state)
{
    (void)state;
    check_stops(10000000, 0, 0);           /* at full speed */
    check_stops(1000, 0, 500 * NS_PER_MS); /* between two sends */
    check_stops(50, NS_PER_S, 0);          /* while the reader reads what is left */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_is_what_does_not_fit),
        cmocka_unit_test(the_model_has_an_answer_at_its_edges),
        cmocka_unit_test(a_lump_given_back_late_costs_room),
        cmocka_unit_test(a_burst_leaves_what_the_buffer_holds),
        cmocka_unit_test(below_the_read_rate_nothing_is_lost),
        cmocka_unit_test(extremes_add_up_too),
        cmocka_unit_test(ipv6_adds_up_too),
        cmocka_unit_test(it_stops_when_it_is_told),
    };

    return cmocka_run_group_tests_name("slow_reader", tests, NULL, NULL);
}
