/* What a search costs: time on virtual time, datagrams and rounds, printed and held to bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/agent/probe/search_path.h"

enum { RUNS = 201 };

struct figures {
    double seconds[RUNS];
    int64_t datagrams[RUNS], rounds[RUNS];
};

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

static int compare_ints(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

    return (left > right) - (left < right);
}

/* What differs from an ordinary path without loss, 9,000 local, an RTT of 1 ms. */
struct scene {
    const char *name;
    int64_t mtu, ceiling;
    bool icmp;
    double loss;
    int64_t rtt_ns;
    double most_seconds; /* at the median */
    int64_t most_datagrams;
};

static void measure(const struct scene *scene, struct chance *chance, struct figures *out_figures)
{
    for (int i = 0; i < RUNS; i++) {
        struct search_config config = search_config_of(FAMILY_IPV4);
        struct path *path = path_new(chance, scene->mtu);
        struct mono began = path->now;
        struct search_result result;

        config.ceiling = scene->ceiling;
        path->icmp = scene->icmp;
        path->loss = path->ack_loss = scene->loss;
        path->rtt_ns = scene->rtt_ns;
        path->jitter_ns = scene->rtt_ns / 10;
        result = path_search(path, &config, 100);
        assert_int_equal(result.path_mtu, scene->mtu);
        out_figures->seconds[i] = (double)mono_between(began, path->now) * 1e-9;
        out_figures->datagrams[i] = result.datagrams;
        out_figures->rounds[i] = result.rounds;
        free(path);
    }
    qsort(out_figures->seconds, RUNS, sizeof(double), compare_doubles);
    qsort(out_figures->datagrams, RUNS, sizeof(int64_t), compare_ints);
    qsort(out_figures->rounds, RUNS, sizeof(int64_t), compare_ints);
}

static void costs_little(void **state)
{
    static const struct scene scenes[] = {
        { "clean 1500", 1500, 1500, true, 0, NS_PER_MS, 0.02, 30 },
        { "clean 9000", 9000, 9000, true, 0, NS_PER_MS, 0.05, 30 },
        { "9000 local, 1400, ICMP", 1400, 9000, true, 0, NS_PER_MS, 0.3, 80 },
        { "9000 local, 1400, black hole", 1400, 9000, false, 0, NS_PER_MS, 1.5, 120 },
        { "9000 local, 1437, ICMP", 1437, 9000, true, 0, NS_PER_MS, 0.3, 80 },
        { "9000 local, 1437, black hole", 1437, 9000, false, 0, NS_PER_MS, 1.5, 120 },
        { "65535 local, 5001, black hole", 5001, 65535, false, 0, NS_PER_MS, 2.5, 150 },
        { "1400, black hole, 5 % lost", 1400, 9000, false, 0.05, NS_PER_MS, 3, 300 },
        { "1400, black hole, 20 % lost", 1400, 9000, false, 0.2, NS_PER_MS, 6, 500 },
        { "1400, ICMP, RTT 100 ms", 1400, 9000, true, 0, 100 * NS_PER_MS, 3, 80 },
        { "1400, black hole, RTT 100 ms", 1400, 9000, false, 0, 100 * NS_PER_MS, 6, 120 },
    };
    struct chance chance = chance_start(__func__);
    static struct figures figures;

    (void)state;
    print_message("%-32s %8s %8s  %9s %4s  %6s\n", "", "s", "at most", "datagrams", "most",
                  "rounds");
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        measure(&scenes[i], &chance, &figures);
        print_message("%-32s %8.3f %8.3f  %9lld %4lld  %6lld\n", scenes[i].name,
                      figures.seconds[RUNS / 2], figures.seconds[RUNS - 1],
                      (long long)figures.datagrams[RUNS / 2],
                      (long long)figures.datagrams[RUNS - 1], (long long)figures.rounds[RUNS / 2]);
        assert_true(figures.seconds[RUNS / 2] <= scenes[i].most_seconds);
        assert_true(figures.datagrams[RUNS / 2] <= scenes[i].most_datagrams);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_little),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
