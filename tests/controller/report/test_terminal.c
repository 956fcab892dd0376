/* What a run says in words is kept in golden files, and stays readable whatever the run holds.
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
#include "tests/controller/report/make_run.h"

static void the_seed_on_linux(void **state)
{
    struct make_shape shape = make_shape_seed();
    struct run run;

    (void)state;
    make_run(&shape, &run);
    golden_expect(&run, "seed_linux.txt");
    run_done(&run);
}

static void two_engines_on_macos(void **state)
{
    struct make_shape shape = make_shape_small();
    struct run run;

    (void)state;
    shape.os = "macOS";
    shape.host_name = "mac-mini.local";
    shape.engines[shape.engine_count++] = ENGINE_SINGLE;
    shape.rcvbuf_limit = 8 << 20;
    make_run(&shape, &run);
    golden_expect(&run, "engines_macos.txt");
    run_done(&run);
}

static void nothing_lost(void **state)
{
    static const int64_t windows[] = { 1, 16 };
    struct make_shape shape = make_shape_small();
    struct run run;

    (void)state;
    shape.windows = windows;
    make_run(&shape, &run);
    golden_expect(&run, "pass.txt");
    run_done(&run);
}

static void a_capped_buffer_in_the_split_model(void **state)
{
    struct make_shape shape = make_shape_small();
    struct run run;

    (void)state;
    shape.io_model = IO_MODEL_SPLIT;
    shape.rcvbuf_limit = 212992;
    make_run(&shape, &run);
    golden_expect(&run, "capped_split.txt");
    run_done(&run);
}

/* Loses on the way back, refuses, is late, and drops after the first burst. */
static void spoil(struct run *run, size_t index)
{
    struct case_result *result = make_case_at(run, index);
    struct phase *phase = &result->phases.measure;

    phase->forward.attempted += 12;
    phase->forward.refused.eagain = 2;
    phase->forward.refused.enobufs = 3;
    phase->forward.sent += 7;
    phase->forward.lost += 7;
    phase->forward.lost_to.receive_buffer += 5;
    phase->forward.lost_to.receiver_host = 1;
    phase->forward.lost_to.unattributed = 1;
    phase->forward.evidence = EVIDENCE_SYSTEM_WIDE;
    phase->forward.foreign = 4;
    phase->reverse.attempted -= 5;
    phase->reverse.sent -= 6;
    phase->reverse.refused.emsgsize = 1;
    phase->reverse.received -= 20;
    phase->reverse.late = 3;
    phase->reverse.lost = phase->reverse.lost_to.receive_buffer = 11;
    phase->reverse.corrupt = 2;
    phase->reverse.duplicates = 1;
    phase->lost_echoes += 7 + 11 + 1;
    phase->echoes_per_second = (double)NAN;
    result->status = CASE_FAIL;
}

static void a_run_with_everything_wrong(void **state)
{
    struct make_shape shape = make_shape_seed();
    struct run run;
    struct host_counters *counters;

    (void)state;
    make_run(&shape, &run);
    spoil(&run, 0);
    spoil(&run, 17);
    make_case_error(&run, 6, "the echo role did not start: \x1b[2J no more descriptors");
    make_interrupted(&run, 40);
    counters = &make_host_at(&run, 0)->counters;
    counters->after.value[UDP_ERRORS] = 0;
    counters->delta.value[UDP_ERRORS] = NONE_INT;
    *(char **)list_append_sized(&counters->reset, sizeof(char *)) = strdup("udp.errors");
    counters->after.value[IP_FRAGMENTED] += 3;
    counters->delta.value[IP_FRAGMENTED] += 3;
    make_host_at(&run, 0)->limits_unchanged = false;
    golden_expect(&run, "everything.txt");
    run_done(&run);
}

static void a_large_matrix_stays_within_the_page(void **state)
{
    static const int64_t payloads[] = { 44,   64,    512,   1472,  2048,  4096,
                                        8192, 16356, 16384, 32768, 49152, 65507 };
    static const int64_t windows[] = { 1, 4, 16, 64, 128, 256, 1024, 4096 };
    struct make_shape shape = make_shape_seed();
    struct run run;
    struct buf text;

    (void)state;
    shape.payloads = payloads;
    shape.payload_count = 12;
    shape.windows = windows;
    shape.window_count = 8;
    make_run(&shape, &run);
    golden_tell(&run, golden_plain, &text);
    golden_check_lines(text.data);
    assert_true(text.length < 40000);
    buf_done(&text);
    run_done(&run);
}

static void colours_and_utf8_only_when_asked_for(void **state)
{
    struct make_shape shape = make_shape_small();
    struct run run;
    struct buf text;

    (void)state;
    shape.host_name = "b\xc3\xbcro \xe2\x80\xae\xc2\x9b"
                      "1m\x07";
    make_run(&shape, &run);
    golden_tell(&run, golden_plain, &text);
    assert_non_null(strstr(text.data, "on b?ro ??1m?, Linux"));
    assert_null(strchr(text.data, '\x1b'));
    buf_done(&text);
    golden_tell(&run, (struct terminal_style){ true, true }, &text);
    assert_non_null(strstr(text.data, "b\xc3\xbcro ??1m?, Linux"));
    assert_non_null(strstr(text.data, "\x1b[1;31m520 x2 FAIL\x1b[0m"));
    assert_non_null(strstr(text.data, "\x1b[32mpass\x1b[0m"));
    buf_done(&text);
    run_done(&run);
}

static void huge_counts_do_not_break_it(void **state)
{
    struct make_shape shape = make_shape_small();
    struct run run;
    struct buf text;

    (void)state;
    make_run(&shape, &run);
    for (size_t i = 0; i < run.cases.count; i++) {
        struct leg *leg = &make_case_at(&run, i)->phases.measure.forward;

        leg->duplicates = leg->foreign = leg->reordered = INT64_MAX;
        leg->received = INT64_MAX - leg->lost;
        leg->attempted = leg->sent = INT64_MAX;
    }
    golden_tell(&run, golden_plain, &text);
    assert_non_null(strstr(text.data, "9,223,372,036,854,775,807"));
    buf_done(&text);
    run_done(&run);
}

static void advice_is_what_holds_the_burst(void **state)
{
    struct make_shape shape = make_shape_small();
    struct run run;
    struct buf text;

    (void)state;
    make_run(&shape, &run);
    golden_tell(&run, golden_plain, &text);
    /* 16 x 64 x 16,640 B, a third more for what the kernel holds back, half of it asked for. */
    assert_non_null(strstr(text.data, "11,359,574"));
    assert_non_null(strstr(text.data, "sudo sysctl -w net.core.rmem_max=11359574\n"));
    assert_non_null(
        strstr(text.data, "--payload 8192 --window 64 --clients 16 --rcvbuf 11359574\n"));
    buf_done(&text);
    run_done(&run);
    shape.rcvbuf_limit = 64 << 20;
    make_run(&shape, &run);
    golden_tell(&run, golden_plain, &text);
    assert_null(strstr(text.data, "sysctl"));
    assert_non_null(strstr(text.data, "--rcvbuf 11359574\n"));
    buf_done(&text);
    run_done(&run);
}

/* Moves what the receive buffer lost to other places. */
static void lose_elsewhere(struct leg *leg)
{
    int64_t lost = leg->lost_to.receive_buffer;

    leg->lost_to = (struct lost_to){ .receive_buffer = lost - 30,
                                     .sender_host = 10,
                                     .receiver_host = 5,
                                     .network = 14,
                                     .unattributed = 1 };
    leg->evidence = EVIDENCE_SYSTEM_WIDE;
}

/* Both repeats of the first cell can be told; of the next, one leg of one; of the rest, none. */
static void time_one_way(struct run *run)
{
    struct one_way *one_way;

    for (size_t i = 0; i < run->cases.count; i++)
        make_one_way(run, i, 300000);
    one_way = &make_case_at(run, 4)->one_way_ns;
    one_way->error_ns = 450000;
    one_way->forward = (struct delay){ true, 1100000, 1500000, 8000000 };
    one_way = &make_case_at(run, 1)->one_way_ns;
    one_way->forward.present = false;
    text_copy(one_way->withheld, sizeof one_way->withheld,
              "forward: the clocks' error of 300 us is larger than the delay");
    for (size_t i = 2; i < run->cases.count; i++) {
        one_way = &make_case_at(run, i)->one_way_ns;
        if (i == 4)
            continue;
        one_way->error_ns = NONE_INT;
        one_way->forward.present = one_way->reverse.present = false;
        text_copy(one_way->withheld, sizeof one_way->withheld,
                  "the clock of the echo's host is not synchronized");
    }
}

static void make_stalls(struct phase *phase, int64_t at_sender_ns, int64_t at_echo_ns)
{
    *(int64_t *)list_append_sized(&phase->stalls_ns, sizeof(int64_t)) = at_sender_ns;
    *(int64_t *)list_append_sized(&phase->stalls_ns, sizeof(int64_t)) = at_echo_ns;
}

static void two_hosts_and_every_place(void **state)
{
    struct make_shape shape = make_shape_small();
    struct run run;

    (void)state;
    shape.io_model = IO_MODEL_SPLIT;
    shape.host_name = "paris.example";
    make_run(&shape, &run);
    make_pair(&shape, &run);
    for (size_t i = 0; i < run.cases.count; i++) {
        struct phase *measure = &make_case_at(&run, i)->phases.measure;

        if (measure->forward.lost_to.receive_buffer < 30)
            continue;
        lose_elsewhere(&measure->forward);
        measure->forward.foreign = 50;
        measure->forward.duplicates = 3;
        measure->reverse.reordered = 4;
    }
    time_one_way(&run);
    make_case_at(&run, 0)->agreement = (struct agreement){ true, 6, 2, 1000000, 0 };
    make_case_at(&run, 1)->agreement = (struct agreement){ true, 2, 2, 1000000, 0 };
    make_host_at(&run, 0)->clock_step_ns = -3600 * INT64_C(1000000000);
    make_host_at(&run, 1)->clock_step_ns = 0;
    make_stalls(&make_case_at(&run, 0)->phases.measure, 0, 5 * INT64_C(1000000000));
    golden_expect(&run, "pair.txt");
    run_done(&run);
}

static void two_hosts_and_nothing_lost(void **state)
{
    static const int64_t window = 1;
    struct make_shape shape = make_shape_small();
    struct run run;
    struct buf text;

    (void)state;
    shape.io_model = IO_MODEL_SPLIT;
    shape.windows = &window;
    shape.window_count = 1;
    make_run(&shape, &run);
    make_pair(&shape, &run);
    golden_tell(&run, golden_plain, &text);
    assert_non_null(strstr(text.data, "On the way there, nothing was lost"));
    assert_non_null(strstr(text.data, "the echo role's host: oslo.example"));
    assert_null(strstr(text.data, "One-way")); /* as archives were before it was measured */
    buf_done(&text);
    run_done(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_seed_on_linux),
        cmocka_unit_test(two_engines_on_macos),
        cmocka_unit_test(nothing_lost),
        cmocka_unit_test(a_capped_buffer_in_the_split_model),
        cmocka_unit_test(a_run_with_everything_wrong),
        cmocka_unit_test(a_large_matrix_stays_within_the_page),
        cmocka_unit_test(colours_and_utf8_only_when_asked_for),
        cmocka_unit_test(huge_counts_do_not_break_it),
        cmocka_unit_test(advice_is_what_holds_the_burst),
        cmocka_unit_test(two_hosts_and_every_place),
        cmocka_unit_test(two_hosts_and_nothing_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
