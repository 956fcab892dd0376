/* Watching a path must tell every change once, and never make one up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/agent/probe/search_path.h"

static struct search_config watching(int64_t ceiling)
{
    struct search_config config = search_config_of(FAMILY_IPV4);

    config.ceiling = ceiling;
    config.watch = true;
    return config;
}

static void run_for(struct path *path, struct search *search, double seconds)
{
    path_run(path, search, mono_after(path->now, (int64_t)(seconds * 1e9)));
}

static void expect_event(struct search *search, enum search_event_kind kind, int64_t from,
                         int64_t to)
{
    struct search_event event;

    assert_true(search_event(search, &event));
    assert_int_equal(event.kind, kind);
    assert_int_equal(event.from, from);
    assert_int_equal(event.to, to);
}

static void expect_no_event(struct search *search)
{
    struct search_event event;

    assert_false(search_event(search, &event));
}

/* Within the check's interval and one second, as search.h states. */
static void tells_a_cut_once_and_in_time(void **state)
{
    struct chance chance = chance_start(__func__);

    (void)state;
    for (int i = 0; i < 400; i++) {
        struct search_config config = watching(9000);
        struct path *path = path_new(&chance, 1500);
        struct search *search;

        path->icmp = i & 1;
        path->rtt_ns = i & 2 ? 10 * NS_PER_MS : NS_PER_MS / 10;
        search = search_new(&config, path->now);
        run_for(path, search, 5 + 0.013 * i);
        expect_event(search, SEARCH_EVENT_KNOWN, 0, 1500);
        path->mtu = 1400;
        run_for(path, search, 2);
        expect_event(search, SEARCH_EVENT_CHANGED, 1500, 1400);
        run_for(path, search, 60);
        expect_no_event(search);
        search_free(search);
        free(path);
    }
}

static void tells_a_cut_once_under_loss(void **state)
{
    struct chance chance = chance_start(__func__);

    (void)state;
    for (int i = 0; i < 400; i++) {
        struct search_config config = watching(1500);
        struct path *path = path_new(&chance, 1500);
        struct search *search = search_new(&config, path->now);

        path->loss = path->ack_loss = 0.05 * (i % 4);
        run_for(path, search, 20);
        expect_event(search, SEARCH_EVENT_KNOWN, 0, 1500);
        path->mtu = 1400;
        run_for(path, search, 20);
        expect_event(search, SEARCH_EVENT_CHANGED, 1500, 1400);
        run_for(path, search, 60);
        expect_no_event(search);
        search_free(search);
        free(path);
    }
}

static void never_takes_plain_loss_for_a_change(void **state)
{
    struct chance chance = chance_start(__func__);
    int64_t sent = 0;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        struct search_config config = watching(1500);
        struct path *path = path_new(&chance, 1500);
        struct search *search = search_new(&config, path->now);

        path->loss = 0.15;
        path->ack_loss = i & 1 ? 0.15 : 0;
        path->jitter_ns = i & 2 ? 20 * NS_PER_MS : 0;
        run_for(path, search, 10);
        expect_event(search, SEARCH_EVENT_KNOWN, 0, 1500);
        sent -= path->sent;
        run_for(path, search, 60);
        sent += path->sent;
        expect_no_event(search);
        search_free(search);
        free(path);
    }
    print_message("60 s of watching under 15 %% of loss: %lld datagrams\n",
                  (long long)(sent / 1000));
}

static void finds_more_at_the_next_raise(void **state)
{
    static const int64_t after[] = { 1401, 1437, 1450, 1500, 8999, 9000 };
    struct chance chance = chance_start(__func__);

    (void)state;
    for (int i = 0; i < 120; i++) {
        struct search_config config = watching(9000);
        struct path *path = path_new(&chance, 1400);
        struct search *search;

        config.raise_ns = 20 * NS_PER_S;
        path->loss = i & 1 ? 0.05 : 0;
        search = search_new(&config, path->now);
        run_for(path, search, 5);
        expect_event(search, SEARCH_EVENT_KNOWN, 0, 1400);
        path->mtu = after[i % 6];
        run_for(path, search, 40);
        expect_event(search, SEARCH_EVENT_CHANGED, 1400, after[i % 6]);
        run_for(path, search, 60);
        expect_no_event(search);
        search_free(search);
        free(path);
    }
}

static void tells_that_it_went_away_and_came_back(void **state)
{
    struct chance chance = chance_start(__func__);
    struct search_config config = watching(1500);
    struct path *path = path_new(&chance, 1500);
    struct search *search = search_new(&config, path->now);

    (void)state;
    path->dead = true;
    run_for(path, search, 10);
    expect_event(search, SEARCH_EVENT_UNREACHABLE, 0, 0);
    path->dead = false;
    run_for(path, search, 10);
    expect_event(search, SEARCH_EVENT_KNOWN, 0, 1500);
    path->dead = true;
    run_for(path, search, 30);
    expect_event(search, SEARCH_EVENT_UNREACHABLE, 1500, 0);
    expect_no_event(search);
    path->dead = false;
    path->mtu = 1400;
    run_for(path, search, 10);
    expect_event(search, SEARCH_EVENT_KNOWN, 1500, 1400);
    run_for(path, search, 60);
    expect_no_event(search);
    search_free(search);
    free(path);
}

static void looks_after_a_floor_that_does_not_pass(void **state)
{
    struct chance chance = chance_start(__func__);
    struct search_config config = watching(1500);
    struct path *path = path_new(&chance, 500);
    struct search *search = search_new(&config, path->now);

    (void)state;
    run_for(path, search, 10);
    expect_event(search, SEARCH_EVENT_KNOWN, 0, 0);
    path->mtu = 1400;
    run_for(path, search, 10);
    expect_event(search, SEARCH_EVENT_CHANGED, 0, 1400);
    path->mtu = 500;
    run_for(path, search, 10);
    expect_event(search, SEARCH_EVENT_CHANGED, 1400, 0);
    path->dead = true;
    run_for(path, search, 100);
    expect_event(search, SEARCH_EVENT_UNREACHABLE, 0, 0);
    expect_no_event(search);
    search_free(search);
    free(path);
}

/* A forged error for each datagram costs a round of checks, at most one per interval. */
static void is_alarmed_by_nobody_for_long(void **state)
{
    struct chance chance = chance_start(__func__);
    struct search_config config = watching(1500);
    struct path *path = path_new(&chance, 1500);
    struct search *search = search_new(&config, path->now);

    (void)state;
    run_for(path, search, 10);
    expect_event(search, SEARCH_EVENT_KNOWN, 0, 1500);
    path->forged = 1300;
    path->sent = 0;
    run_for(path, search, 60);
    expect_no_event(search);
    assert_in_range(path->sent, 120, 60 * 14);
    search_free(search);
    free(path);
}

static void stops_when_the_interface_shrinks(void **state)
{
    struct chance chance = chance_start(__func__);
    struct search_config config = watching(1500);
    struct path *path = path_new(&chance, 1500);
    struct search *search = search_new(&config, path->now);

    (void)state;
    run_for(path, search, 10);
    expect_event(search, SEARCH_EVENT_KNOWN, 0, 1500);
    path->local = 1420;
    path->local_limit_known = true;
    run_for(path, search, 2);
    expect_event(search, SEARCH_EVENT_CHANGED, 1500, 1420);
    search_free(search);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_a_cut_once_and_in_time),
        cmocka_unit_test(tells_a_cut_once_under_loss),
        cmocka_unit_test(never_takes_plain_loss_for_a_change),
        cmocka_unit_test(finds_more_at_the_next_raise),
        cmocka_unit_test(tells_that_it_went_away_and_came_back),
        cmocka_unit_test(looks_after_a_floor_that_does_not_pass),
        cmocka_unit_test(is_alarmed_by_nobody_for_long),
        cmocka_unit_test(stops_when_the_interface_shrinks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
