/* Each engine must be there or say why it is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "agent/probe/engine.h"

static void finds_every_engine_or_says_why_not(void **state)
{
    struct fault fault = { "" };

    (void)state;
    for (int kind = 0; kind < ENGINE_COUNT; kind++) {
        const struct engine *engine = engine_find((enum engine_kind)kind, &fault);

        if (engine != NULL) {
            assert_int_equal(engine->kind, kind);
            assert_true(engine->receive != NULL && engine->send != NULL);
        } else {
            assert_non_null(strstr(fault.text, engine_names[kind]));
        }
    }
    assert_non_null(engine_find(ENGINE_SINGLE, NULL));
    assert_non_null(engine_find(engine_best(), NULL));
    assert_int_equal(engine_best() == ENGINE_BATCH, datagram_batch_available());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_every_engine_or_says_why_not),
    };

    return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
