/* Sender and echo role together, by hand and without threads: a clean exchange adds up to nothing
 * lost, on every engine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/probe/echo.h"
#include "agent/probe/ledger.h"
#include "agent/probe/sender.h"
#include "tests/agent/probe/stage.h"

enum { WINDOW = 8, PAYLOAD = 1000, ECHOES = 2000 };

struct exchange {
    struct stage *stage;
    struct sender *sender;
    struct echo *echo;
    struct echo_worker *worker;
};

static struct exchange exchange_new(const struct engine *engine)
{
    struct exchange exchange = { .stage = stage_new(PAYLOAD) };
    struct stage *stage = exchange.stage;

    exchange.echo = echo_new(stage->echo_fd, engine, STAGE_CLIENTS, WINDOW);
    exchange.worker = echo_worker_new(exchange.echo, PAYLOAD);
    exchange.sender = sender_new(stage->client_fd, STAGE_CLIENTS, engine, PAYLOAD);
    for (size_t i = 0; i < STAGE_CLIENTS; i++)
        echo_admit(exchange.echo, &stage->client_addr[i]);
    echo_begin(exchange.echo, &stage->session, 0);
    sender_begin(exchange.sender, &stage->session, WINDOW);
    return exchange;
}

static void exchange_free(struct exchange *exchange)
{
    echo_worker_free(exchange->worker);
    echo_free(exchange->echo);
    sender_free(exchange->sender);
    stage_free(exchange->stage);
}

/* Until ECHOES came back, then until nothing is outstanding. */
static void run(struct exchange *exchange)
{
    int64_t got = 0;

    sender_burst(exchange->sender);
    while (sender_outstanding(exchange->sender) > 0) {
        struct mono deadline = { got < ECHOES ? INT64_MAX : 0 };

        if (stage_readable(exchange->stage->echo_fd, 0))
            echo_serve(exchange->worker);
        for (size_t i = 0; i < STAGE_CLIENTS; i++)
            got += (int64_t)sender_collect(exchange->sender, i, true, deadline);
    }
}

static int64_t oddities(const struct leg *leg)
{
    return leg->duplicates + leg->reordered + leg->corrupt + leg->foreign + leg->late +
           refused_total(&leg->refused);
}

static void check_engine(enum engine_kind kind)
{
    const struct engine *engine = engine_find(kind, NULL);
    struct exchange exchange;
    struct leg forward = { 0 }, reverse = { 0 };
    struct host_drops none = { 0 };
    struct histogram rtt;

    if (engine == NULL)
        return;
    exchange = exchange_new(engine);
    run(&exchange);
    histogram_init(&rtt);
    sender_account(exchange.sender, &forward, &reverse, &rtt);
    echo_worker_account(exchange.worker, &forward, &reverse);
    assert_true(forward.attempted >= ECHOES);
    assert_int_equal(forward.sent, forward.attempted);
    assert_int_equal(forward.received, forward.sent);
    assert_int_equal(reverse.attempted, forward.received);
    assert_int_equal(reverse.sent, reverse.attempted);
    assert_int_equal(reverse.received, reverse.sent);
    assert_int_equal(rtt.count, reverse.received);
    assert_int_equal(oddities(&forward) + oddities(&reverse), 0);
    assert_int_equal(account_settle(&forward,
                                    &(struct account_evidence){ (struct socket_evidence){ true, 0 },
                                                                &none, &none, REST_UNATTRIBUTED },
                                    NULL),
                     STATUS_OK);
    assert_int_equal(forward.lost, 0);
    assert_int_equal(sender_burst_sent(exchange.sender), STAGE_CLIENTS * WINDOW);
    assert_int_equal(echo_arrived_of_first(exchange.echo, WINDOW), STAGE_CLIENTS * WINDOW);
    exchange_free(&exchange);
}

static void exchanges_cleanly(void **state)
{
    (void)state;
    for (int kind = 0; kind < ENGINE_COUNT; kind++)
        check_engine((enum engine_kind)kind);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exchanges_cleanly),
    };

    return cmocka_run_group_tests_name("exchange", tests, NULL, NULL);
}
