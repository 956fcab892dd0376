/* Flags of sonde mtu and sonde sizes become a plan, or one line says which is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "controller/command/mtu_flags.h"

enum { WORDS_MAX = 40 };

typedef enum options_result parse_flags(struct mtu_request *request, int argc, char **argv);

struct fixture {
    struct mtu_request request;
    char *argv[WORDS_MAX];
    int argc;
    char complaint[4096];
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    mtu_request_init(&f->request);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    mtu_request_done(&f->request);
    for (int i = 0; i < f->argc; i++)
        free(f->argv[i]);
    free(f);
    return 0;
}

/* Parses and checks "COMMAND --from a --to b" and these words; what stderr gets is kept. */
static enum exit_code ask(struct fixture *f, parse_flags *parse, const char *const *words)
{
    static const char *const first[] = { "mtu", "--from", "a", "--to", "b" };
    enum exit_code code = EXIT_USAGE;
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    size_t length;

    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++)
        f->argv[f->argc++] = strdup(first[i]);
    for (; *words != NULL; words++)
        f->argv[f->argc++] = strdup(*words);
    assert_true(saved >= 0 && file != NULL && dup2(fileno(file), STDERR_FILENO) >= 0);
    if (parse(&f->request, f->argc, f->argv) == OPTIONS_GO)
        code = mtu_request_check("mtu", &f->request);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    length = fread(f->complaint, 1, sizeof f->complaint - 1, file);
    f->complaint[length] = '\0';
    fclose(file);
    return code;
}

#define ASK(f, PARSE, ...) ask(f, PARSE, (const char *const[]){ __VA_ARGS__, NULL })

static void assert_complaint(const struct fixture *f, const char *words)
{
    if (strstr(f->complaint, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", f->complaint, words);
    assert_ptr_equal(strchr(f->complaint, '\n'), f->complaint + strlen(f->complaint) - 1);
}

static void assert_families(const struct mtu_plan *plan, size_t count, int first)
{
    assert_int_equal(plan->families.count, count);
    if (count > 0)
        assert_int_equal(((const int *)plan->families.items)[0], first);
}

static void without_flags_the_controller_knows_the_families(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(ASK(f, mtu_request_parse, NULL), EXIT_MEASURED);
    assert_families(&f->request.plan, 0, 0);
    assert_true(f->request.plan.common.fragments && f->request.plan.common.trace);
    assert_int_equal(f->request.plan.common.sizes, 0);
    assert_string_equal(f->request.flags.output, "sonde-runs");
}

static void a_family_is_one_or_both(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(ASK(f, mtu_request_parse, "--family", "ipv6"), EXIT_MEASURED);
    assert_families(&f->request.plan, 1, FAMILY_IPV6);
    tear_down(state);
    set_up(state);
    f = *state;
    assert_int_equal(ASK(f, mtu_request_parse, "--family=both"), EXIT_MEASURED);
    assert_families(&f->request.plan, 2, FAMILY_IPV4);
}

static void an_unknown_family_is_refused(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(ASK(f, mtu_request_parse, "--family", "ipv4,ipv6"), EXIT_USAGE);
    assert_complaint(f, "--family: \"ipv4,ipv6\" is not allowed: one of ipv4, ipv6, both");
}

static void an_address_has_a_family(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(ASK(f, mtu_request_parse, "--address", "fe80::1%eth0"), EXIT_MEASURED);
    assert_families(&f->request.plan, 1, FAMILY_IPV6);
}

static void another_family_than_the_address_has_is_refused(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(ASK(f, mtu_request_parse, "--address", "10.0.0.1", "--family", "ipv6"),
                     EXIT_USAGE);
    assert_complaint(f, "--family: ipv6 is not allowed with an --address of ipv4");
}

static void switches_take_away(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(ASK(f, mtu_request_parse, "--no-fragments", "--flows", "256"), EXIT_MEASURED);
    assert_false(f->request.plan.common.fragments);
    assert_true(f->request.plan.common.trace);
    assert_int_equal(f->request.plan.common.flows, 256);
}

static void a_watch_does_nothing_else(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(ASK(f, mtu_request_parse, "--watch", "10.5", "--check-every", "0.1",
                         "--raise-every", "86400"),
                     EXIT_MEASURED);
    assert_false(f->request.plan.common.fragments || f->request.plan.common.trace);
    assert_true(f->request.plan.common.watch_s > 10.4 && f->request.plan.common.watch_s < 10.6);
}

static void a_watch_with_sizes_is_refused(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(ASK(f, mtu_request_parse, "--watch", "10", "--sizes", "1000"), EXIT_USAGE);
    assert_complaint(f, "sonde mtu: --");
}

static void a_floor_above_the_ceiling_is_refused(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(ASK(f, mtu_request_parse, "--floor", "1500", "--ceiling", "1400"), EXIT_USAGE);
    assert_complaint(f, "sonde mtu: --floor: ");
}

static void sizes_measure_by_default(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(ASK(f, sizes_request_parse, NULL), EXIT_MEASURED);
    assert_int_equal(f->request.plan.common.sizes, 20000);
    assert_int_equal(f->request.plan.common.flows, 1);
    assert_false(f->request.plan.common.fragments || f->request.plan.common.trace);
}

static void the_budget_of_sizes_is_another_than_the_search_s(void **state)
{
    struct fixture *f = *state;
    int64_t search = f->request.plan.common.budget;

    assert_int_equal(ASK(f, sizes_request_parse, "--budget", "100"), EXIT_MEASURED);
    assert_int_equal(f->request.plan.common.sizes, 100);
    assert_int_equal(f->request.plan.common.budget, search);
}

static void no_budget_of_sizes_is_refused(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(ASK(f, sizes_request_parse, "--budget", "0"), EXIT_USAGE);
    assert_complaint(f, "--budget: \"0\" is not allowed: an integer from 100 to 10000000");
}

#define FLAGS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FLAGS_TEST(without_flags_the_controller_knows_the_families),
        FLAGS_TEST(a_family_is_one_or_both),
        FLAGS_TEST(an_unknown_family_is_refused),
        FLAGS_TEST(an_address_has_a_family),
        FLAGS_TEST(another_family_than_the_address_has_is_refused),
        FLAGS_TEST(switches_take_away),
        FLAGS_TEST(a_watch_does_nothing_else),
        FLAGS_TEST(a_watch_with_sizes_is_refused),
        FLAGS_TEST(a_floor_above_the_ceiling_is_refused),
        FLAGS_TEST(sizes_measure_by_default),
        FLAGS_TEST(the_budget_of_sizes_is_another_than_the_search_s),
        FLAGS_TEST(no_budget_of_sizes_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
