/* The search must find the path MTU to the byte whatever is lost, and believe nobody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/agent/probe/search_path.h"

/* The MTUs of links that people have, their neighbours, and what local limits do to them. */
static const int64_t mtus[] = { 576,  1280, 1281, 1300, 1399, 1400,  1420, 1450,
                                1492, 1500, 1501, 8999, 9000, 16384, 65535 };

enum { MTUS = sizeof mtus / sizeof mtus[0] };

static struct search_config config_for(enum family family, int64_t ceiling)
{
    struct search_config config = search_config_of(family);

    config.ceiling = ceiling < 65535 ? ceiling : 65535;
    return config;
}

static void expect(struct search_result result, int64_t mtu, int64_t ceiling)
{
    if (result.outcome != SEARCH_FOUND || result.path_mtu != mtu)
        fail_msg("%s %lld instead of %lld, after %lld datagrams",
                 search_outcome_name(result.outcome), (long long)result.path_mtu, (long long)mtu,
                 (long long)result.datagrams);
    assert_int_equal(result.next_size, mtu == ceiling ? 0 : mtu + 1);
}

static struct search_result find(struct path *path, enum family family, int64_t ceiling)
{
    struct search_config config = config_for(family, ceiling);
    int64_t mtu = path->mtu < config.ceiling ? path->mtu : config.ceiling;
    struct search_result result = path_search(path, &config, 300);

    expect(result, mtu, config.ceiling);
    return result;
}

static void finds_every_mtu(void **state)
{
    struct chance chance = chance_start(__func__);

    (void)state;
    for (int i = 0; i < MTUS * 8; i++) {
        enum family family = i & 1 ? FAMILY_IPV6 : FAMILY_IPV4;
        struct path *path = path_new(&chance, mtus[i / 8]);
        struct search_result result;

        path->icmp = (i & 4) != 0;
        if (family == FAMILY_IPV4 || path->mtu >= 1280) {
            result = find(path, family, i & 2 ? 65535 : 9000);
            assert_int_equal(result.hinted, path->icmp && result.next_size > 0);
        }
        free(path);
    }
}

static enum family any_family(struct chance *chance)
{
    return chance_below(chance, 2) ? FAMILY_IPV6 : FAMILY_IPV4;
}

static struct path *any_path(struct chance *chance)
{
    bool known = chance_below(chance, 2);
    int64_t mtu = known ? mtus[1 + chance_below(chance, MTUS - 1)]
                        : 1280 + (int64_t)chance_below(chance, 65535 - 1279);
    struct path *path = path_new(chance, mtu);

    path->icmp = chance_below(chance, 2);
    path->rtt_ns = 50 * NS_PER_US << chance_below(chance, 12);
    path->jitter_ns = (int64_t)chance_below(chance, 3) * path->rtt_ns / 2;
    path->duplicates = 0.01;
    return path;
}

/* Loss in both directions, so that 20 % of it lose 36 % of all questions. */
static void finds_any_mtu_whatever_is_lost(void **state)
{
    static const double losses[] = { 0, 0.01, 0.05, 0.1, 0.2 };
    struct chance chance = chance_start(__func__);
    int64_t most = 0;

    (void)state;
    for (int i = 0; i < 5000; i++) {
        struct path *path = any_path(&chance);
        struct search_result result;

        path->loss = losses[i % 5];
        path->ack_loss = losses[chance_below(&chance, 5)];
        result = find(path, any_family(&chance), i & 32 ? 65535 : path->mtu + (i & 3));
        most = result.datagrams > most ? result.datagrams : most;
        free(path);
    }
    print_message("at most %lld datagrams\n", (long long)most);
    assert_true(most <= 1500);
}

static void finds_sizes_that_are_lost_once_or_twice_first(void **state)
{
    struct chance chance = chance_start(__func__);

    (void)state;
    for (int i = 0; i < 1000; i++) {
        struct path *path = any_path(&chance);

        path->lost_first = 1 + i % 2;
        path->loss = i & 4 ? 0.05 : 0;
        find(path, any_family(&chance), 65535);
        free(path);
    }
}

/* Losses that come in rows hit what is sent together, small and large. */
static void is_not_misled_by_outages(void **state)
{
    struct chance chance = chance_start(__func__);

    (void)state;
    for (int i = 0; i < 2000; i++) {
        struct path *path = any_path(&chance);

        path->outage_every_ns = NS_PER_MS + (int64_t)chance_below(&chance, 300 * NS_PER_MS);
        path->outage_ns = path->outage_every_ns / (int64_t)(3 + chance_below(&chance, 8));
        find(path, any_family(&chance), 65535);
        free(path);
    }
}

static void takes_emsgsize_for_an_answer(void **state)
{
    struct chance chance = chance_start(__func__);

    (void)state;
    for (int i = 0; i < 500; i++) {
        struct path *path = any_path(&chance);
        int64_t mtu = path->mtu;
        struct search_config config = config_for(any_family(&chance), 65535);
        struct search_result result;

        path->local = mtu;
        path->mtu = 65535;
        path->local_limit_known = i & 1;
        path->loss = i & 2 ? 0.1 : 0;
        path->soft_errors = i & 4 ? 0.01 : 0;
        result = path_search(path, &config, 60);
        expect(result, mtu, 65535);
        if (mtu < 65535)
            assert_int_equal(result.limit, SEARCH_LIMIT_LOCAL);
        free(path);
    }
}

static void believes_no_icmp_error(void **state)
{
    static const int64_t lies[] = { 0,    68,   552,  600,  1000, 1279, 1280,  1300,   1399,
                                    1401, 1492, 1500, 8999, 9000, 9001, 65535, 1 << 30 };
    struct chance chance = chance_start(__func__);

    (void)state;
    for (size_t i = 0; i < 4 * sizeof lies / sizeof lies[0]; i++) {
        struct path *path = path_new(&chance, i & 1 ? 1400 : 9000);
        struct search_result result;

        path->forged = lies[i / 4];
        path->loss = 0.05;
        result = find(path, i & 2 ? FAMILY_IPV6 : FAMILY_IPV4, 9000);
        assert_false(result.hinted);
        if (lies[i / 4] < (i & 2 ? 1280 : 68))
            assert_int_equal(path->judged[SEARCH_PTB_HINT], 0);
        if (lies[i / 4] >= 9000)
            assert_int_equal(path->judged[SEARCH_PTB_HINT], 0);
        free(path);
    }
}

/* The gap of authenticated STAMP: packets of 141..143 bytes (IPv4) do not exist. */
static void steps_over_sizes_that_no_datagram_has(void **state)
{
    struct chance chance = chance_start(__func__);

    (void)state;
    for (int64_t mtu = 140; mtu < 160; mtu++) {
        struct path *path = path_new(&chance, mtu);
        struct search_config config = config_for(FAMILY_IPV4, 1500);
        struct search_result result;
        bool in_gap = mtu > 140 && mtu < 144;

        config.floor = 140;
        result = path_search(path, &config, 10);
        assert_int_equal(result.outcome, SEARCH_FOUND);
        assert_int_equal(result.path_mtu, in_gap ? 140 : mtu);
        assert_int_equal(result.next_size, in_gap || mtu == 140 ? 144 : mtu + 1);
        free(path);
    }
}

static void finds_within_any_floor_and_ceiling(void **state)
{
    struct chance chance = chance_start(__func__);

    (void)state;
    for (int i = 0; i < 3000; i++) {
        struct search_config config = search_config_of(i & 1 ? FAMILY_IPV6 : FAMILY_IPV4);
        struct path *path = path_new(&chance, 200 + (int64_t)chance_below(&chance, 2000));
        struct search_result result;

        config.floor = config.control + (int64_t)chance_below(&chance, 2000);
        config.ceiling = config.floor + (int64_t)chance_below(&chance, i & 2 ? 5 : 2000);
        if (search_check(&config, NULL) == STATUS_OK) {
            result = path_search(path, &config, 10);
            if (path->mtu >= config.floor)
                assert_in_range(path->mtu - result.path_mtu, 0,
                                path->mtu > config.ceiling ? path->mtu - config.ceiling + 3 : 3);
            else
                assert_int_equal(result.path_mtu, 0);
            assert_int_equal(result.outcome,
                             result.path_mtu > 0 ? SEARCH_FOUND : SEARCH_BELOW_FLOOR);
        }
        free(path);
    }
}

static void says_that_the_floor_does_not_pass(void **state)
{
    struct chance chance = chance_start(__func__);
    struct search_config config = config_for(FAMILY_IPV6, 1500);
    struct path *path = path_new(&chance, 600);
    struct search_result result = path_search(path, &config, 10);

    (void)state;
    assert_int_equal(result.outcome, SEARCH_BELOW_FLOOR);
    assert_int_equal(result.path_mtu, 0);
    assert_int_equal(result.next_size, 1280);
    free(path);
}

static void says_that_nobody_answers(void **state)
{
    struct chance chance = chance_start(__func__);
    struct search_config config = config_for(FAMILY_IPV4, 1500);
    struct path *path = path_new(&chance, 1500);
    struct search_result result;

    (void)state;
    path->dead = true;
    result = path_search(path, &config, 8);
    assert_int_equal(result.outcome, SEARCH_UNREACHABLE);
    assert_int_equal(result.datagrams, SEARCH_DEAD_TRIES);
    assert_int_equal(result.rtt_ns, 0);
    free(path);
}

static void ends_when_the_path_dies_under_it(void **state)
{
    struct chance chance = chance_start(__func__);

    (void)state;
    for (int i = 0; i < 200; i++) {
        struct path *path = any_path(&chance);
        struct search_config config = config_for(FAMILY_IPV4, 65535);
        struct search *search = search_new(&config, path->now);
        struct search_result result;

        path_run(path, search, mono_after(path->now, path->rtt_ns * 2 + i * NS_PER_MS / 4));
        path->dead = true;
        path_run(path, search, mono_after(path->now, 30 * NS_PER_S));
        search_result(search, &result);
        assert_int_equal(search_state(search), SEARCH_ENDED);
        assert_true(result.outcome == SEARCH_UNREACHABLE || result.outcome == SEARCH_FOUND);
        search_free(search);
        free(path);
    }
}

static void ends_when_nothing_can_be_sent(void **state)
{
    struct chance chance = chance_start(__func__);

    (void)state;
    for (int i = 0; i < 40; i++) {
        struct search_config config = config_for(FAMILY_IPV4, 1500);
        struct path *path = path_new(&chance, 1500);
        struct search *search = search_new(&config, path->now);

        path_run(path, search, mono_after(path->now, i * NS_PER_MS / 4));
        path->unsent = true;
        path_run(path, search, mono_after(path->now, 15 * NS_PER_S));
        assert_int_equal(search_state(search), SEARCH_ENDED);
        search_free(search);
        free(path);
    }
}

/* Anything, at any time, of any datagram: what must hold is that no assertion of the machine
 * fails, that its deadline is not behind for long, and that it ends. */
static void survives_any_events(void **state)
{
    struct chance chance = chance_start(__func__);

    (void)state;
    for (int i = 0; i < 300; i++) {
        struct search_config config = config_for(any_family(&chance), 65535);
        struct search *search = search_new(&config, (struct mono){ 0 });
        struct mono now = { 0 };
        struct search_ask ask = { .id = 0 };
        int turns = 0;

        for (; search_state(search) != SEARCH_ENDED && turns < 200000; turns++) {
            uint32_t id = ask.id - (uint32_t)chance_below(&chance, turns % 7 ? 40 : 600);

            now = mono_after(now, (int64_t)chance_below(&chance, 2 * NS_PER_MS));
            while (search_next(search, now, &ask) == STATUS_OK)
                assert_in_range(ask.size, config.control, config.ceiling);
            switch (chance_below(&chance, 5)) {
            case 0:
                search_acked(search, id, now);
                break;
            case 1:
                search_too_big(search, id, (int64_t)chance_below(&chance, 70000) - 100);
                break;
            case 2:
                search_unsent(search, id);
                break;
            default:
                search_ptb(search, id, (int64_t)chance_below(&chance, 70000) - 100);
                break;
            }
        }
        assert_int_equal(search_state(search), SEARCH_ENDED);
        search_free(search);
    }
}

/* A far end that answers up to a size only looks like that limit, and hangs nothing. */
static void takes_what_is_not_answered_for_lost(void **state)
{
    struct chance chance = chance_start(__func__);
    struct search_config config = config_for(FAMILY_IPV4, 9000);
    struct path *path = path_new(&chance, 9000);

    (void)state;
    path->no_answer_above = 1373;
    expect(path_search(path, &config, 10), 1373, 9000);
    free(path);
}

/* RFC 8899 accepts a size that passes at all: that it loses more is for other statistics. */
static void ends_on_a_path_that_loses_more_above_a_size(void **state)
{
    static const double losses[] = { 0.01, 0.1, 0.5, 0.9, 0.99 };
    struct chance chance = chance_start(__func__);

    (void)state;
    for (int i = 0; i < 500; i++) {
        struct search_config config = config_for(FAMILY_IPV4, 9000);
        struct path *path = path_new(&chance, 1500);
        struct search_result result;

        path->lossy_above = 1440;
        path->loss_above = losses[i % 5];
        result = path_search(path, &config, 60);
        assert_in_range(result.path_mtu, 1440, 1500);
        if (losses[i % 5] < 0.5)
            assert_int_equal(result.path_mtu, 1500);
        free(path);
    }
}

static void notices_a_path_that_changes_under_it(void **state)
{
    struct chance chance = chance_start(__func__);

    (void)state;
    for (int i = 0; i < 500; i++) {
        struct search_config config = config_for(FAMILY_IPV4, 9000);
        struct path *path = path_new(&chance, i & 1 ? 1500 : 1400);
        struct search *search = search_new(&config, path->now);
        struct search_result result;

        path_run(path, search, mono_after(path->now, i * NS_PER_MS / 4));
        path->mtu = i & 1 ? 1400 : 1500;
        path_run(path, search, mono_after(path->now, 30 * NS_PER_S));
        search_result(search, &result);
        assert_int_equal(result.outcome, SEARCH_FOUND);
        assert_true(result.path_mtu == 1400 || result.path_mtu == 1500);
        search_free(search);
        free(path);
    }
}

static void stays_within_its_budget(void **state)
{
    struct chance chance = chance_start(__func__);

    (void)state;
    for (int i = 0; i < 200; i++) {
        struct search_config config = config_for(FAMILY_IPV4, 65535);
        struct path *path = any_path(&chance);
        struct search_result result;

        config.budget = SEARCH_BUDGET_MIN + i;
        path->loss = 0.3;
        path->ack_loss = 0.3;
        result = path_search(path, &config, 1000);
        assert_true(result.datagrams <= config.budget);
        assert_true(result.outcome == SEARCH_FOUND || result.outcome == SEARCH_EXHAUSTED);
        free(path);
    }
}

static void knows_what_can_be_asked(void **state)
{
    struct search_config config = search_config_of(FAMILY_IPV4);
    struct fault fault;

    (void)state;
    assert_int_equal(search_check(&config, &fault), STATUS_OK);
    config.floor = 1501;
    assert_int_equal(search_check(&config, &fault), STATUS_RANGE);
    assert_string_equal(fault.text, "the floor must not be 1501: 1 to 1500 are allowed");
    config.floor = 1500;
    assert_int_equal(search_check(&config, &fault), STATUS_OK);
    config.ceiling = 65536;
    assert_int_equal(search_check(&config, &fault), STATUS_RANGE);
    config = search_config_of(FAMILY_IPV6);
    config.ceiling = 65575;
    assert_int_equal(search_check(&config, &fault), STATUS_OK);
    config.tries = 2;
    assert_int_equal(search_check(&config, &fault), STATUS_RANGE);
    config = search_config_of(FAMILY_IPV4);
    config.floor = 141;
    config.ceiling = 143;
    assert_int_equal(search_check(&config, &fault), STATUS_RANGE);
    config = search_config_of(FAMILY_IPV4);
    config.control = 142;
    assert_int_equal(search_check(&config, &fault), STATUS_RANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_every_mtu),
        cmocka_unit_test(finds_any_mtu_whatever_is_lost),
        cmocka_unit_test(finds_sizes_that_are_lost_once_or_twice_first),
        cmocka_unit_test(is_not_misled_by_outages),
        cmocka_unit_test(takes_emsgsize_for_an_answer),
        cmocka_unit_test(believes_no_icmp_error),
        cmocka_unit_test(steps_over_sizes_that_no_datagram_has),
        cmocka_unit_test(finds_within_any_floor_and_ceiling),
        cmocka_unit_test(says_that_the_floor_does_not_pass),
        cmocka_unit_test(says_that_nobody_answers),
        cmocka_unit_test(ends_when_the_path_dies_under_it),
        cmocka_unit_test(ends_when_nothing_can_be_sent),
        cmocka_unit_test(survives_any_events),
        cmocka_unit_test(takes_what_is_not_answered_for_lost),
        cmocka_unit_test(ends_on_a_path_that_loses_more_above_a_size),
        cmocka_unit_test(notices_a_path_that_changes_under_it),
        cmocka_unit_test(stays_within_its_budget),
        cmocka_unit_test(knows_what_can_be_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
