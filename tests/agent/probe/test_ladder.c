/* A rung of the ladder must be the kernel's answer, whatever it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "agent/host/machine.h"
#include "agent/host/socket.h"
#include "agent/probe/ladder.h"

static struct ladder_result ask(enum buffer_side side, int64_t asked)
{
    struct ladder_result result;
    struct fault fault = { "untouched" };

    ladder_step(FAMILY_IPV4, side, asked, &result, &fault);
    assert_int_equal(result.buffer, side);
    assert_true(result.asked == asked);
    /* an answer or a refusal, never both */
    assert_int_equal(result.granted == NONE_INT, fault.text[0] != '\0');
    return result;
}

static void the_default_was_not_asked_for(void **state)
{
    (void)state;
    for (int side = 0; side < BUFFER_SIDE_COUNT; side++) {
        struct ladder_result result = ask((enum buffer_side)side, NONE_INT);

        assert_true(result.granted > 0);
        assert_string_equal(result.limit, "");
    }
}

static void a_modest_wish_is_granted(void **state)
{
    (void)state;
    for (int side = 0; side < BUFFER_SIDE_COUNT; side++) {
        struct ladder_result result = ask((enum buffer_side)side, 65536);

        assert_int_equal(result.granted, 65536 * socket_buffer_factor());
        assert_string_equal(result.limit, "");
    }
}

/* Refused (macOS may), or cut by a limit that has its name. */
static void a_wish_beyond_the_limit_names_it(void **state)
{
    const char *names[BUFFER_SIDE_COUNT] = { machine_rcvbuf_limit(), machine_sndbuf_limit() };
    struct list limits = { 0 };

    (void)state;
    machine_limits(&limits);
    for (int side = 0; side < BUFFER_SIDE_COUNT; side++) {
        const struct map_item *limit = map_find(&limits, names[side]);
        struct ladder_result result;

        assert_non_null(limit);
        if (limit->number == NONE_INT || limit->number > INT32_MAX / 2)
            continue;
        result = ask((enum buffer_side)side, limit->number + 1);
        if (result.granted == NONE_INT)
            continue;
        assert_int_equal(result.granted, limit->number * socket_buffer_factor());
        assert_string_equal(result.limit, names[side]);
    }
    free(limits.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_was_not_asked_for),
        cmocka_unit_test(a_modest_wish_is_granted),
        cmocka_unit_test(a_wish_beyond_the_limit_names_it),
    };

    return cmocka_run_group_tests_name("ladder", tests, NULL, NULL);
}
