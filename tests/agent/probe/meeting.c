/* Owns the threads and the life of both ends. Must not know what is asked of the path. */
#include "tests/agent/probe/meeting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

const struct phase_watch meeting_nobody = { .stop = NULL };

void meeting_need(enum status status, const struct fault *fault)
{
    if (status != STATUS_OK)
        fail_msg("%s: %s", status_text(status), fault->text);
}

static void *work(void *context)
{
    struct busy *busy = context;
    const struct phase_watch watch = { .finish = &busy->finish, .wake_fd = busy->told.fd };

    busy->status = busy->greets ? path_mtu_wait(busy->end, busy->told.fd, 60 * NS_PER_S, NULL)
                                : path_mtu_answer(busy->end, &watch, NULL);
    return NULL;
}

void busy_start(struct busy *busy, struct path_mtu *end, bool greets)
{
    busy->end = end;
    busy->greets = greets;
    atomic_store(&busy->finish, false);
    assert_int_equal(wakeup_init(&busy->told, NULL), STATUS_OK);
    assert_int_equal(pthread_create(&busy->thread, NULL, work, busy), 0);
}

void busy_stop(struct busy *busy)
{
    atomic_store(&busy->finish, true);
    wakeup_now(&busy->told);
    assert_int_equal(pthread_join(busy->thread, NULL), 0);
    wakeup_done(&busy->told);
    assert_int_equal(busy->status, STATUS_OK);
}

struct path_mtu_order meeting_order(int64_t flows)
{
    struct path_mtu_order order = { .ssid = MEETING_SSID, .flows = flows };

    digest_random(order.key, sizeof order.key);
    return order;
}

void meeting_listen(struct meeting *meeting, enum family family, relay_rule *rule)
{
    const struct echo_end_place place = { .bind_to = addr_loopback(family, 0) };
    struct fault fault = { "" };
    enum status status = path_mtu_listen(&meeting->order, &place, &meeting->listener, &fault);

    if (status != STATUS_OK && family == FAMILY_IPV6)
        skip();
    meeting_need(status, &fault);
    meeting->target = place.bind_to;
    addr_set_port(&meeting->target, path_mtu_port(meeting->listener));
    if (rule != NULL)
        meeting->relay = relay_start(&meeting->target, rule, &meeting->target);
}

struct meeting meeting_begin(enum family family, int64_t flows, relay_rule *rule)
{
    struct meeting meeting = { .order = meeting_order(flows) };
    struct busy greeter;
    struct fault fault = { "" };

    meeting_listen(&meeting, family, rule);
    meeting_need(path_mtu_call(&meeting.order, &meeting.target, &meeting.caller, &fault), &fault);
    busy_start(&greeter, meeting.listener, true);
    meeting_need(path_mtu_agree(meeting.caller, &meeting_nobody, &fault), &fault);
    busy_stop(&greeter);
    return meeting;
}

void meeting_end(struct meeting *meeting)
{
    if (meeting->relay != NULL)
        relay_stop(meeting->relay);
    path_mtu_free(meeting->caller);
    path_mtu_free(meeting->listener);
}

enum status meeting_try(struct meeting *meeting, bool forward, const struct path_mtu_plan *plan,
                        const struct phase_watch *watch, struct path_mtu_flow *out_flows)
{
    struct busy other;
    struct fault fault = { "" };
    enum status status;

    busy_start(&other, forward ? meeting->listener : meeting->caller, false);
    status = path_mtu_probe(forward ? meeting->caller : meeting->listener, plan, watch, out_flows,
                            &fault);
    busy_stop(&other);
    if (status != STATUS_INTERRUPTED)
        meeting_need(status, &fault);
    return status;
}

void meeting_probe(struct meeting *meeting, bool forward, const struct path_mtu_plan *plan,
                   struct path_mtu_flow *out_flows)
{
    assert_int_equal(meeting_try(meeting, forward, plan, &meeting_nobody, out_flows), STATUS_OK);
}
