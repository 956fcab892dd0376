/* An archive must not tell a one-way delay that its clocks do not allow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "controller/report/validate.h"
#include "proto/base/text.h"
#include "tests/controller/report/make_run.h"

/* A pair of which case 1 has one-way delays of at least 1.2 ms and 2.5 ms. */
static void make(int64_t error_ns, struct run *out_run)
{
    struct make_shape shape = make_shape_small();

    shape.io_model = IO_MODEL_SPLIT;
    make_run(&shape, out_run);
    make_pair(&shape, out_run);
    make_one_way(out_run, 1, error_ns);
}

static void expect(struct run *run, const char *fault_text)
{
    struct fault fault = { "" };
    enum status status = validate_run(run, &fault);

    if (strcmp(fault.text, fault_text) != 0)
        fail_msg("expected \"%s\", got \"%s\"", fault_text, fault.text);
    assert_int_equal(status, fault_text[0] == '\0' ? STATUS_OK : STATUS_CORRUPT);
    run_done(run);
}

static struct one_way *one_way_of(struct run *run)
{
    return &make_case_at(run, 1)->one_way_ns;
}

static void withhold(struct run *run, bool forward, bool reverse)
{
    struct one_way *one_way = one_way_of(run);

    one_way->forward.present = !forward;
    one_way->reverse.present = !reverse;
    text_copy(one_way->withheld, sizeof one_way->withheld, "because");
}

static void what_the_clocks_allow_is_allowed(void **state)
{
    struct run run;

    (void)state;
    make(1200000, &run); /* as large as the smallest delay */
    expect(&run, "");
    make(2000000, &run);
    withhold(&run, true, false);
    expect(&run, "");
    make(NONE_INT, &run);
    withhold(&run, true, true);
    expect(&run, "");
    make(0, &run);
    one_way_of(&run)->forward = (struct delay){ true, 0, 0, 0 };
    expect(&run, "");
}

static void a_leg_below_the_clocks_error_is_refused(void **state)
{
    struct run run;

    (void)state;
    make(1200001, &run);
    expect(&run, "/cases/1/one_way_ns/forward/min: 1200000 is below error_ns, which is 1200001");
    make(2500001, &run);
    withhold(&run, true, false);
    expect(&run, "/cases/1/one_way_ns/reverse/min: 2500000 is below error_ns, which is 2500001");
    make(NONE_INT, &run);
    expect(&run, "/cases/1/one_way_ns/forward: must be null without an error_ns");
    make(0, &run);
    one_way_of(&run)->reverse.min = -1;
    expect(&run, "/cases/1/one_way_ns/reverse/min: -1 is below error_ns, which is 0");
}

static void legs_out_of_order_are_refused(void **state)
{
    struct run run;

    (void)state;
    make(5, &run);
    one_way_of(&run)->forward.mean = 1199999;
    expect(&run, "/cases/1/one_way_ns/forward/mean: 1199999 is below min, which is 1200000");
    make(5, &run);
    one_way_of(&run)->reverse.max = 2599999;
    expect(&run, "/cases/1/one_way_ns/reverse/max: 2599999 is below mean, which is 2600000");
}

static void a_leg_is_null_if_and_only_if_it_is_said_why(void **state)
{
    struct run run;

    (void)state;
    make(5, &run);
    withhold(&run, false, false);
    expect(&run, "/cases/1/one_way_ns/withheld: must be null where both legs are there");
    make(5, &run);
    one_way_of(&run)->reverse.present = false;
    expect(&run, "/cases/1/one_way_ns/withheld: must say why a leg is not there");
}

static void one_host_has_no_one_way_delay(void **state)
{
    struct make_shape shape = make_shape_small();
    struct run run;

    (void)state;
    make_run(&shape, &run);
    make_one_way(&run, 1, 5);
    expect(&run, "/cases/1/one_way_ns: must be null where one host has both roles");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_clocks_allow_is_allowed),
        cmocka_unit_test(a_leg_below_the_clocks_error_is_refused),
        cmocka_unit_test(legs_out_of_order_are_refused),
        cmocka_unit_test(a_leg_is_null_if_and_only_if_it_is_said_why),
        cmocka_unit_test(one_host_has_no_one_way_delay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
