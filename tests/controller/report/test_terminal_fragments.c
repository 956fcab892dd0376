/* What is larger than the interface's MTU is told by the system's own counters: cut and put
 * together, not cut at all, lost, or not known; and nothing is said when all payloads fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/text.h"
#include "tests/controller/report/golden.h"
#include "tests/controller/report/make_run.h"

static const int64_t payloads[] = { 1452, 1472, 1473, 8192 };
static const int64_t windows[] = { 1 };

/* On an interface of 1,500 bytes; `pieces` of each payload. */
static void make_cut(const char *os, enum family family, const int64_t *pieces, struct run *run)
{
    bool ipv4 = family == FAMILY_IPV4;
    struct make_shape shape = make_shape_small();

    shape.os = os;
    shape.payloads = payloads;
    shape.payload_count = 4;
    shape.windows = windows;
    shape.window_count = 1;
    make_run(&shape, run);
    run->plan.common.family = family;
    make_host_at(run, 0)->interface.mtu = 1500;
    for (size_t i = 0; i < run->cases.count; i++) {
        struct case_result *result = make_case_at(run, i);
        struct phase *phases[] = { &result->phases.warmup, &result->phases.measure };

        result->params.common.family = family;
        for (size_t p = 0; p < 2; p++) {
            int64_t *value = ((struct counters *)phases[p]->counters.items)->value;
            int64_t sent = phases[p]->forward.sent + phases[p]->reverse.sent;
            int64_t each = pieces[i % 4];

            for (int c = 0; c < COUNTER_COUNT; c++)
                value[c] = 0;
            value[ipv4 ? IP_FRAGMENTED : IP6_FRAGMENTED] = each > 1 ? sent : 0;
            value[ipv4 ? IP_REASSEMBLED : IP6_REASSEMBLED] = each > 1 ? sent : 0;
            value[ipv4 ? IP_FRAGMENTS_CREATED : IP6_FRAGMENTS_CREATED] = each > 1 ? each * sent : 0;
        }
    }
}

/* Sets a counter of every phase. */
static void set_counter(struct run *run, enum counter counter, int64_t to)
{
    for (size_t i = 0; i < run->cases.count; i++) {
        struct case_result *result = make_case_at(run, i);
        struct phase *phases[] = { &result->phases.warmup, &result->phases.measure };

        for (size_t p = 0; p < 2; p++) {
            for (size_t h = 0; h < phases[p]->counters.count; h++)
                ((struct counters *)phases[p]->counters.items + h)->value[counter] = to;
        }
    }
}

/* Lines are told apart by nothing but white space. */
static void unfold(struct buf *text)
{
    for (size_t i = 0; i < text->length; i++) {
        if (text->data[i] == '\n')
            text->data[i] = ' ';
    }
}

static void expect(const struct run *run, const char *words, bool there)
{
    struct buf text;

    golden_tell(run, golden_plain, &text);
    golden_check_lines(text.data);
    unfold(&text);
    if ((strstr(text.data, words) != NULL) != there)
        fail_msg("%s: \"%s\" in %s", there ? "missing" : "not expected", words, text.data);
    buf_done(&text);
}

static void fragments_that_arrive_show_that_the_limit_is_none(void **state)
{
    struct run run;

    (void)state;
    make_cut("Linux", FAMILY_IPV4, (const int64_t[]){ 1, 1, 2, 6 }, &run);
    golden_expect(&run, "fragments.txt");
    expect(&run, "The MTU of lo is 1,500: payloads above 1,472 B travel in fragments: ", true);
    expect(&run, "0 failures: the arithmetic limit is no threshold on loopback. ", true);
    run_done(&run);
}

static void ipv6_has_a_smaller_limit_and_its_own_counters(void **state)
{
    struct run run;

    (void)state;
    make_cut("Linux", FAMILY_IPV6, (const int64_t[]){ 1, 2, 2, 6 }, &run);
    expect(&run, "The MTU of lo is 1,500: payloads above 1,452 B travel in fragments: ", true);
    expect(&run, "1,472 B      1,520 ", true);
    expect(&run, "1,452 B      1,500 ", false);
    run_done(&run);
}

/* As lo0 has been seen to. */
static void a_system_that_does_not_cut_says_so(void **state)
{
    struct run run;

    (void)state;
    make_cut("macOS", FAMILY_IPV4, (const int64_t[]){ 1, 1, 1, 1 }, &run);
    (void)text_copy(make_host_at(&run, 0)->interface.name, 64, "lo0");
    expect(&run,
           "The MTU of lo0 is 1,500: packets of payloads above 1,472 B are larger, but no "
           "fragment was made of ",
           true);
    expect(&run, "datagrams: the arithmetic limit is no threshold on loopback. ", true);
    run_done(&run);
}

static void what_could_not_be_put_together_is_no_proof(void **state)
{
    struct run run;

    (void)state;
    make_cut("Linux", FAMILY_IPV4, (const int64_t[]){ 1, 1, 2, 6 }, &run);
    set_counter(&run, IP_REASSEMBLY_FAILURES, 1);
    expect(&run, "reassembled, 8 failures: a datagram of which one fragment is lost is lost. ",
           true);
    expect(&run, "no threshold", false);
    run_done(&run);
}

static void counters_that_are_missing_are_not_zero(void **state)
{
    struct run run;

    (void)state;
    make_cut("Linux", FAMILY_IPV4, (const int64_t[]){ 1, 1, 2, 6 }, &run);
    set_counter(&run, IP_REASSEMBLED, NONE_INT);
    expect(&run, "what became of them is not known: this system has no counters of fragments. ",
           true);
    expect(&run, "no threshold", false);
    run_done(&run);
}

static void nothing_is_said_when_all_payloads_fit(void **state)
{
    static const int64_t mtus[] = { 8220, 65536, NONE_INT, 0, 67 };
    struct run run;

    (void)state;
    make_cut("Linux", FAMILY_IPV4, (const int64_t[]){ 1, 1, 2, 6 }, &run);
    for (size_t i = 0; i < sizeof mtus / sizeof mtus[0]; i++) {
        make_host_at(&run, 0)->interface.mtu = mtus[i];
        expect(&run, "The MTU of ", false);
        expect(&run, "Packets larger than", false);
    }
    make_host_at(&run, 0)->interface.mtu = 8219;
    expect(&run, "payloads above 8,191 B travel in fragments", true);
    run_done(&run);
}

/* Each host cuts what it sends itself. */
static void two_hosts_each_have_an_interface(void **state)
{
    struct run run;
    struct host *hosts;

    (void)state;
    make_cut("Linux", FAMILY_IPV4, (const int64_t[]){ 1, 1, 2, 6 }, &run);
    run.plan.common.io_model = IO_MODEL_SPLIT;
    for (size_t i = 0; i < run.cases.count; i++) {
        make_case_at(&run, i)->params.common.io_model = IO_MODEL_SPLIT;
        make_case_at(&run, i)->first_burst.predicted_lost = NONE_INT;
    }
    make_pair(&(struct make_shape){ .os = "Linux", .host_name = "x", .rcvbuf_limit = 4 << 20 },
              &run);
    hosts = run.hosts.items;
    hosts[0].interface.mtu = 9000;
    hosts[1].interface.mtu = 1500;
    (void)text_copy(hosts[1].interface.name, sizeof hosts[1].interface.name, "eth\x1b[1m");
    expect(&run,
           "The MTU of the second host's eth?[1m is 1,500: payloads above 1,472 B travel in "
           "fragments: ",
           true);
    expect(&run, "first host's", false);
    expect(&run, "no threshold", false);
    run_done(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fragments_that_arrive_show_that_the_limit_is_none),
        cmocka_unit_test(ipv6_has_a_smaller_limit_and_its_own_counters),
        cmocka_unit_test(a_system_that_does_not_cut_says_so),
        cmocka_unit_test(what_could_not_be_put_together_is_no_proof),
        cmocka_unit_test(counters_that_are_missing_are_not_zero),
        cmocka_unit_test(nothing_is_said_when_all_payloads_fit),
        cmocka_unit_test(two_hosts_each_have_an_interface),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
