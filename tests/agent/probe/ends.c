/* Owns the echo's thread of tests that have both ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/probe/ledger.h"
#include "proto/base/digest.h"
#include "tests/agent/probe/account.h"
#include "tests/agent/probe/ends.h"

const struct phase_watch ends_nobody = { .stop = NULL };

struct end_order ends_order(int64_t payload)
{
    struct end_order order = {
        .ssid = 900,
        .params = { .payload = payload,
                    .window = 4,
                    .repeat = 1,
                    .engine = engine_best(),
                    .common = { .family = FAMILY_IPV4,
                                .clients = 1,
                                .io_threads = 1,
                                .seconds = 0.05,
                                .rcvbuf = 4 << 20,
                                .sndbuf = 1 << 20 } },
    };

    digest_random(order.key, sizeof order.key);
    return order;
}

static void no_fault(enum status status, const struct fault *fault)
{
    if (status != STATUS_OK)
        fail_msg("%s: %s", status_text(status), fault->text);
}

struct ends *ends_echo(const struct end_order *order, const char *bind_to)
{
    struct ends *ends = calloc(1, sizeof *ends);
    struct echo_end_place place = { .may_guest = NULL };
    struct fault fault;

    assert_non_null(ends);
    ends->order = *order;
    no_fault(addr_parse(bind_to, &place.bind_to, &fault), &fault);
    no_fault(echo_end_new(order, &place, &ends->echo, &fault), &fault);
    ends->target = place.bind_to;
    addr_set_port(&ends->target, echo_end_port(ends->echo));
    return ends;
}

static void *greet(void *context)
{
    struct ends *ends = context;

    echo_end_wait(ends->echo, ends->told.fd, 60 * NS_PER_S);
    return NULL;
}

void ends_greet(struct ends *ends)
{
    assert_int_equal(wakeup_init(&ends->told, NULL), STATUS_OK);
    assert_int_equal(pthread_create(&ends->thread, NULL, greet, ends), 0);
}

static void ready(void *context)
{
    wakeup_now(&((struct ends *)context)->told);
}

static void *echo(void *context)
{
    struct ends *ends = context;
    const struct phase_watch watch = { .context = ends, .ready = ready, .finish = &ends->finish };

    record_init(&half_phase_record, &ends->echoed);
    ends->echo_status = echo_end_phase(ends->echo, ends->kind, &watch, &ends->echoed, NULL);
    return NULL;
}

void ends_echo_phase(struct ends *ends, enum phase_kind kind)
{
    struct pollfd is_ready;

    assert_int_equal(wakeup_init(&ends->told, NULL), STATUS_OK);
    ends->kind = kind;
    atomic_store(&ends->finish, false);
    assert_int_equal(pthread_create(&ends->thread, NULL, echo, ends), 0);
    is_ready = (struct pollfd){ .fd = ends->told.fd, .events = POLLIN };
    assert_int_equal(poll(&is_ready, 1, 10000), 1);
}

void ends_still(struct ends *ends)
{
    atomic_store(&ends->finish, true);
    wakeup_now(&ends->told);
    assert_int_equal(pthread_join(ends->thread, NULL), 0);
    wakeup_done(&ends->told);
}

void ends_agree(struct ends *ends)
{
    struct fault fault;

    no_fault(sender_end_new(&ends->order, &ends->target, &ends->sender, &fault), &fault);
    ends_greet(ends);
    no_fault(sender_end_agree(ends->sender, &ends_nobody, &fault), &fault);
    ends_still(ends);
}

struct ends *ends_meet(const struct end_order *order, const char *bind_to, const char *target)
{
    struct ends *ends = ends_echo(order, bind_to);

    assert_int_equal(addr_parse(target, &ends->target, NULL), STATUS_OK);
    addr_set_port(&ends->target, echo_end_port(ends->echo));
    ends_agree(ends);
    return ends;
}

void ends_free(struct ends *ends)
{
    sender_end_free(ends->sender);
    echo_end_free(ends->echo);
    free(ends);
}

static void settle(struct leg *leg, const struct half_phase *from, const struct half_phase *to)
{
    struct host_drops sender = host_drops_of(&from->counters);
    struct host_drops receiver = host_drops_of(&to->counters);
    const struct account_evidence evidence = { .socket = { to->per_socket, to->drops },
                                               .sender = &sender,
                                               .receiver = &receiver,
                                               .rest = REST_NETWORK };
    struct fault fault;

    no_fault(account_settle(leg, &evidence, &fault), &fault);
    assert_leg_adds_up(leg);
}

void ends_settle(struct ends *ends)
{
    assert_true(ends->sent.present && ends->echoed.present);
    ends->forward = ends->sent.forward;
    ledger_merge(&ends->forward, &ends->echoed.forward);
    ends->reverse = ends->echoed.reverse;
    ledger_merge(&ends->reverse, &ends->sent.reverse);
    /* each end has filled its side alone */
    assert_int_equal(ends->sent.forward.received + ends->sent.forward.foreign, 0);
    assert_int_equal(ends->sent.reverse.attempted, 0);
    assert_int_equal(ends->echoed.forward.attempted, 0);
    assert_int_equal(ends->echoed.reverse.received + ends->echoed.reverse.foreign, 0);
    settle(&ends->forward, &ends->sent, &ends->echoed);
    settle(&ends->reverse, &ends->echoed, &ends->sent);
    assert_int_equal(ends->reverse.attempted, ends->forward.received);
    assert_true(ends->echoed.first_burst <= ends->sent.first_burst);
    assert_true(ends->sent.seconds > 0 && ends->echoed.seconds > 0);
}

void ends_phase(struct ends *ends, enum phase_kind kind)
{
    struct fault fault;

    ends_echo_phase(ends, kind);
    record_init(&half_phase_record, &ends->sent);
    no_fault(sender_end_phase(ends->sender, kind, &ends_nobody, &ends->sent, &fault), &fault);
    ends_still(ends);
    assert_int_equal(ends->echo_status, STATUS_OK);
    ends_settle(ends);
}

int64_t ends_oddities(const struct leg *leg)
{
    return leg->duplicates + leg->corrupt + leg->foreign + leg->late + leg->lost +
           refused_total(&leg->refused);
}
