/* A table that is asked, filled and emptied at random agrees with a plain array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "controller/fleet/peermap.h"

enum { KEYS = 200, STEPS = 50000 };

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* Keys that lie close together, and far apart. */
static uint64_t key(size_t i)
{
    return i < KEYS / 2 ? i + 1 : (uint64_t)i << 40;
}

static void it_agrees_with_an_array(void **state)
{
    static int values[KEYS];
    struct peermap map = { 0 };
    bool there[KEYS] = { false };
    uint32_t seed = 20261130;
    size_t count = 0;

    (void)state;
    print_message("seed %u\n", seed);
    for (int step = 0; step < STEPS; step++) {
        size_t i = next_random(&seed) % KEYS;

        if (next_random(&seed) % 3 != 0) {
            peermap_put(&map, key(i), &values[i]);
            count += !there[i];
            there[i] = true;
        } else {
            void *value = peermap_remove(&map, key(i));

            assert_ptr_equal(there[i] ? &values[i] : NULL, value);
            count -= there[i];
            there[i] = false;
        }
        i = next_random(&seed) % KEYS;
        assert_ptr_equal(there[i] ? &values[i] : NULL, peermap_get(&map, key(i)));
        assert_int_equal(count, map.count);
    }
    peermap_done(&map);
}

static void a_walk_meets_each_once(void **state)
{
    static int values[KEYS];
    struct peermap map = { 0 };
    size_t cursor = 0;
    int *value;

    (void)state;
    assert_null(peermap_next(&map, &cursor));
    assert_null(peermap_get(&map, 7));
    assert_null(peermap_remove(&map, 7));
    for (size_t i = 0; i < KEYS; i++)
        peermap_put(&map, key(i), &values[i]);
    cursor = 0;
    while ((value = peermap_next(&map, &cursor)) != NULL)
        ++*value;
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(1, values[i]);
    peermap_done(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_agrees_with_an_array),
        cmocka_unit_test(a_walk_meets_each_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
