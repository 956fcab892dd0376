/* A thread that is bound runs there, and is as free as before afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/host/affinity.h"

static struct affinity *take(void)
{
    struct affinity *affinity = NULL;
    struct fault fault = { "" };
    enum status status = affinity_take(&affinity, &fault);

    if (status == STATUS_UNSUPPORTED) {
        assert_true(fault.text[0] != '\0');
        skip();
    }
    assert_int_equal(status, STATUS_OK);
    return affinity;
}

static void binds_to_each_cpu_and_lets_go(void **state)
{
    struct affinity *all = take(), *now;
    size_t count = affinity_count(all);

    (void)state;
    assert_true(count >= 1);
    for (size_t i = 0; i < count && i < 8; i++) {
        assert_int_equal(affinity_pin(all, i, NULL), STATUS_OK);
        now = take();
        assert_int_equal(affinity_count(now), 1);
        affinity_free(now);
    }
    affinity_free(all);
    now = take();
    assert_int_equal(affinity_count(now), count);
    affinity_free(now);
}

static void freeing_nothing_is_allowed(void **state)
{
    (void)state;
    affinity_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binds_to_each_cpu_and_lets_go),
        cmocka_unit_test(freeing_nothing_is_allowed),
    };

    return cmocka_run_group_tests_name("affinity", tests, NULL, NULL);
}
