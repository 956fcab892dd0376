/* What advice claims of this host must be what its sockets do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "agent/host/socket.h"
#include "agent/probe/adviser.h"
#include "tests/agent/probe/chance.h"

static struct advice_host look(enum family family, int64_t payload)
{
    struct advice_host host;
    struct grant most;
    struct fault fault = { "" };

    if (adviser_look(family, payload, &host, &most, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    assert_int_equal(most.granted, host.most_granted);
    assert_int_equal(host.factor, socket_buffer_factor());
    assert_true(host.default_granted > 0 && host.most_granted >= host.default_granted);
    assert_true(host.capacity.charge >= (double)payload);
    return host;
}

static struct advice_proof prove(enum family family, const struct advice_host *host,
                                 struct advice_question question)
{
    struct advice advice;
    struct advice_proof proof;
    struct fault fault = { "" };

    advice_give(&question, host, &advice);
    if (adviser_prove(&(struct advice_claim){ family, question.payload, host, &advice }, &proof,
                      &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    assert_true(proof.present && proof.advised.present);
    return proof;
}

static void bursts_within_the_limit_are_proved(void **state)
{
    struct chance chance = chance_start("adviser");

    (void)state;
    for (int i = 0; i < 12; i++) {
        enum family family = i % 2 == 0 ? FAMILY_IPV4 : FAMILY_IPV6;
        int64_t payload = 1 + (int64_t)chance_below(&chance, i % 3 == 0 ? 65000 : 2000);
        struct advice_host host = look(family, payload);
        int64_t most = capacity_of(&host.capacity, host.most_granted);
        int64_t burst = 2 + (int64_t)chance_below(&chance, (uint64_t)(most > 400 ? 400 : most - 1));
        struct advice_proof proof =
            prove(family, &host, (struct advice_question){ .payload = payload, .burst = burst });

        assert_true(proof.agrees && !proof.at_limit);
        assert_int_equal(proof.advised.sent, burst);
        assert_int_equal(proof.advised.held, burst);
        if (proof.smaller.present) {
            assert_int_equal(proof.smaller.sent, burst);
            assert_true(proof.smaller.held < burst);
            assert_true(proof.smaller.rcvbuf.granted < proof.advised.rcvbuf.granted);
        }
    }
}

static void beyond_the_limit_the_largest_is_tried(void **state)
{
    struct advice_host host = look(FAMILY_IPV4, 60000);
    int64_t most = capacity_of(&host.capacity, host.most_granted);
    struct advice_proof proof =
        prove(FAMILY_IPV4, &host, (struct advice_question){ .payload = 60000, .burst = most + 1 });

    (void)state;
    assert_true(proof.agrees && proof.at_limit && !proof.smaller.present);
    assert_int_equal(proof.advised.rcvbuf.granted, host.most_granted);
    assert_int_equal(proof.advised.predicted, most);
    assert_true(proof.advised.sent > proof.advised.held);
}

static void what_is_not_so_is_noticed(void **state)
{
    struct advice_host host = look(FAMILY_IPV4, 1000);
    struct advice_proof proof;

    (void)state;
    host.capacity.charge /= 2; /* a host that charged half */
    proof = prove(FAMILY_IPV4, &host, (struct advice_question){ .payload = 1000, .burst = 40 });
    assert_false(proof.agrees);
    assert_true(proof.advised.held < 40);
    host.capacity.charge *= 4; /* and one that charged twice as much */
    proof = prove(FAMILY_IPV4, &host, (struct advice_question){ .payload = 1000, .burst = 40 });
    assert_false(proof.agrees);
    assert_int_equal(proof.smaller.held, 40);
}

static void one_datagram_has_no_buffer_that_is_too_small(void **state)
{
    struct advice_host host = look(FAMILY_IPV4, 100);
    struct advice_proof proof =
        prove(FAMILY_IPV4, &host, (struct advice_question){ .payload = 100, .burst = 1 });

    (void)state;
    assert_true(proof.agrees && !proof.smaller.present);
}

static void a_proof_that_fills_too_much_is_refused(void **state)
{
    const struct advice_host host = { .capacity = { 70000, 0 },
                                      .factor = 2,
                                      .default_granted = 212992,
                                      .most_granted = INT64_C(2) << 30 };
    const struct advice_question question = { .payload = 60000, .burst = 20000 };
    struct advice_proof proof = { .agrees = true, .present = false };
    struct advice advice;
    struct fault fault;

    (void)state;
    advice_give(&question, &host, &advice);
    assert_int_equal(
        adviser_prove(&(struct advice_claim){ FAMILY_IPV4, 60000, &host, &advice }, &proof, &fault),
        STATUS_TOO_LARGE);
    assert_non_null(strstr(fault.text, "1400000000"));
    assert_true(proof.agrees && !proof.present);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bursts_within_the_limit_are_proved),
        cmocka_unit_test(beyond_the_limit_the_largest_is_tried),
        cmocka_unit_test(what_is_not_so_is_noticed),
        cmocka_unit_test(one_datagram_has_no_buffer_that_is_too_small),
        cmocka_unit_test(a_proof_that_fills_too_much_is_refused),
    };

    return cmocka_run_group_tests_name("adviser", tests, NULL, NULL);
}
