/* What a buffers run says in words is kept in golden files, and stays readable whatever it holds.
 *
 * SONDE_GOLDEN=update writes the files anew; look at the difference before you keep it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/text.h"
#include "tests/controller/report/golden.h"
#include "tests/controller/report/make_buffers_run.h"

static void the_seed_on_linux(void **state)
{
    struct make_buffers_shape shape = make_buffers_seed();
    struct run run;

    (void)state;
    shape.base.rcvbuf_limit = 4 << 20;
    make_buffers_run(&shape, &run);
    golden_expect(&run, "buffers_linux.txt");
    run_done(&run);
}

static void the_seed_on_macos(void **state)
{
    struct make_buffers_shape shape = make_buffers_seed();
    struct run run;
    struct experiment_result *last;

    (void)state;
    shape.base.os = "macOS";
    shape.base.rcvbuf_limit = 8 << 20;
    make_buffers_run(&shape, &run);
    last = make_experiment_at(&run, 17);
    assert_int_equal(last->experiment, EXPERIMENT_LADDER);
    make_experiment_error(&run, 17, "No buffer space available");
    golden_expect(&run, "buffers_macos.txt");
    run_done(&run);
}

static void one_experiment_alone(void **state)
{
    struct make_buffers_shape shape = make_buffers_small();
    struct run run;

    (void)state;
    shape.experiment_count = 1;
    shape.experiments[0] = EXPERIMENT_SWEEP;
    make_buffers_run(&shape, &run);
    golden_expect(&run, "buffers_sweep.txt");
    run_done(&run);
}

static void a_run_with_everything_wrong(void **state)
{
    struct make_buffers_shape shape = make_buffers_small();
    struct run run;
    struct hold_result *hold;
    struct slow_reader_result *slow;

    (void)state;
    make_buffers_run(&shape, &run);
    hold = &make_experiment_at(&run, SMALL_HOLD)->hold;
    hold->refused.enobufs = 10;
    hold->sent -= 10;
    hold->dropped.socket -= 10;
    hold->predicted_held++;
    make_experiment_error(&run, SMALL_SWEEP, "no more descriptors \x1b[2J");
    make_experiment_error(&run, SMALL_SLOW, "the reader was killed by signal 9");
    slow = &make_experiment_at(&run, SMALL_FAST)->slow_reader;
    slow->processed -= 12;
    slow->lost = slow->dropped.socket = 12;
    slow->loss_ratio = 12.0 / (double)slow->sent;
    slow->first_drop_s = 0.42;
    make_experiment_at(&run, SMALL_CLOSED)->closed_port.refused.eperm = 3;
    make_experiment_error(&run, SMALL_IDLE, "/proc cannot be read");
    make_host_at(&run, 0)->counters.idle.seconds = 0;
    run.interrupted = true;
    golden_expect(&run, "buffers_everything.txt");
    run_done(&run);
}

static void nothing_was_measured(void **state)
{
    struct make_buffers_shape shape = make_buffers_small();
    struct run run;
    struct buf text;

    (void)state;
    make_buffers_run(&shape, &run);
    make_buffers_interrupted(&run, 0);
    golden_tell(&run, golden_plain, &text);
    golden_check_lines(text.data);
    assert_non_null(strstr(text.data, "0 cases, IPv4: ladder, hold"));
    assert_non_null(strstr(text.data, "(interrupted)"));
    buf_done(&text);
    run_done(&run);
}

static void a_long_list_stays_within_the_page(void **state)
{
    static int64_t payloads[250];
    struct make_buffers_shape shape = make_buffers_small();
    struct run run;
    struct buf text;

    (void)state;
    for (size_t i = 0; i < 250; i++)
        payloads[i] = 44 + 261 * (int64_t)i;
    shape.payloads = shape.slow_rcvbufs = shape.asked =
        (struct make_numbers){ payloads, sizeof payloads / sizeof payloads[0] };
    shape.slow_sends = 50;
    make_buffers_run(&shape, &run);
    golden_tell(&run, golden_plain, &text);
    golden_check_lines(text.data);
    assert_non_null(strstr(text.data, "... 190 more\n"));
    assert_true(text.length < 40000);
    buf_done(&text);
    run_done(&run);
}

/* Numbers as large as they may be, on every place. */
static void huge_counts_do_not_break_it(void **state)
{
    struct make_buffers_shape shape = make_buffers_small();
    struct run run;
    struct buf text;
    struct hold_result *hold;
    struct slow_reader_result *slow;

    (void)state;
    make_buffers_run(&shape, &run);
    hold = &make_experiment_at(&run, SMALL_HOLD)->hold;
    hold->dropped.system = INT64_MAX;
    hold->refused.other = INT64_MAX;
    slow = &make_experiment_at(&run, SMALL_SLOW)->slow_reader;
    slow->achieved_read_ns = 1e12;
    slow->dropped.system = slow->rcvbuf.granted = INT64_MAX;
    slow->first_drop_s = 1e9;
    make_experiment_at(&run, SMALL_CLOSED)->closed_port.no_socket.system = INT64_MAX;
    make_experiment_at(&run, SMALL_IDLE)->idle.delta.value[UDP_SENT] = INT64_MAX;
    make_experiment_at(&run, SMALL_LADDER)->ladder.granted = INT64_MAX;
    hold->bytes_per_datagram = 1e12;
    hold->queued_bytes = NONE_INT;
    hold->rcvbuf.granted = INT64_C(1000000000000) * hold->held;
    golden_tell(&run, golden_plain, &text);
    assert_non_null(strstr(text.data, "9,223,372,036,854,775,807"));
    buf_done(&text);
    run_done(&run);
}

static void names_from_outside_stay_harmless(void **state)
{
    struct make_buffers_shape shape = make_buffers_small();
    struct run run;
    struct buf text;
    struct drop_owner *owner;

    (void)state;
    shape.base.host_name = "h\x1b[2J";
    make_buffers_run(&shape, &run);
    owner = make_experiment_at(&run, SMALL_IDLE)->idle.owners.items;
    (void)text_copy(owner->process, sizeof owner->process, "\x1b]0;x\x07 \xe2\x80\xae (1)");
    (void)text_copy(make_experiment_at(&run, SMALL_LADDER)->ladder.limit, MAP_KEY_SIZE, "a\x1b[1m");
    map_add_int(&make_host_at(&run, 0)->limits, "icmp\x1b[1m", 7);
    golden_tell(&run, golden_plain, &text);
    assert_null(strchr(text.data, '\x1b'));
    assert_null(strchr(text.data, '\x07'));
    assert_non_null(strstr(text.data, "?]0;x? ? (1)"));
    assert_non_null(strstr(text.data, "icmp?[1m = 7"));
    buf_done(&text);
    golden_tell(&run, (struct terminal_style){ true, true }, &text);
    assert_null(strstr(text.data, "\x1b["
                                  "2J"));
    assert_non_null(strstr(text.data, "\x1b[1;31m"));
    buf_done(&text);
    run_done(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_seed_on_linux),
        cmocka_unit_test(the_seed_on_macos),
        cmocka_unit_test(one_experiment_alone),
        cmocka_unit_test(a_run_with_everything_wrong),
        cmocka_unit_test(nothing_was_measured),
        cmocka_unit_test(a_long_list_stays_within_the_page),
        cmocka_unit_test(huge_counts_do_not_break_it),
        cmocka_unit_test(names_from_outside_stay_harmless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
