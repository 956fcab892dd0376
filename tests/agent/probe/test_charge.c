/* The search must find every step of whatever comes in steps, and the measurement what one datagram
 * alone is charged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/host/affinity.h"
#include "agent/host/socket.h"
#include "agent/probe/charge.h"
#include "agent/probe/pair.h"
#include "tests/agent/probe/chance.h"

/* --- the search, on charges that are made up ------------------------------------------------ */

enum { PARTS_MAX = 12 };

struct made_up {
    struct charge_step part[PARTS_MAX];
    size_t parts;
    size_t asked;      /* how often */
    int64_t fail_from; /* payloads from here on cannot be measured */
};

static enum status charge_made_up(void *context, int64_t payload, int64_t *out_charge,
                                  struct fault *fault)
{
    struct made_up *made_up = context;

    made_up->asked++;
    if (payload >= made_up->fail_from)
        return fault_set(fault, STATUS_AGAIN, "no");
    for (size_t i = 0; i < made_up->parts; i++) {
        const struct charge_step *part = &made_up->part[i];

        if (payload >= part->from && payload <= part->to) {
            *out_charge = part->charge + (payload - part->from) * part->slope;
            return STATUS_OK;
        }
    }
    fail_msg("asked for %" PRId64 ", which is not in the range", payload);
    return STATUS_INVALID;
}

/* Steps upwards of random widths, some of them slopes; each jumps by 2 or more. */
static struct made_up make_up(struct chance *chance, int64_t low)
{
    struct made_up made_up = { .parts = 1 + chance_below(chance, PARTS_MAX),
                               .fail_from = INT64_MAX };
    int64_t from = low, charge = 500;

    for (size_t i = 0; i < made_up.parts; i++) {
        struct charge_step *part = &made_up.part[i];
        int64_t width = 2 + (int64_t)chance_below(chance, i % 3 == 0 ? 40 : 20000);

        *part = (struct charge_step){ .from = from,
                                      .to = from + width - 1,
                                      .charge = charge,
                                      .slope = chance_below(chance, 3) == 0 };
        charge += (width - 1) * part->slope + 2 + (int64_t)chance_below(chance, 9000);
        from += width;
    }
    return made_up;
}

static void finds_every_step(void **state)
{
    struct chance chance = chance_start("charge steps");

    (void)state;
    for (int i = 0; i < 2000; i++) {
        struct made_up made_up = make_up(&chance, (int64_t)chance_below(&chance, 500));
        int64_t low = made_up.part[0].from, high = made_up.part[made_up.parts - 1].to;
        struct list steps = { 0 };

        assert_int_equal(charge_bisect(&(struct charge_source){ charge_made_up, &made_up }, low,
                                       high, &steps, NULL),
                         STATUS_OK);
        assert_int_equal(steps.count, made_up.parts);
        assert_memory_equal(steps.items, made_up.part, made_up.parts * sizeof made_up.part[0]);
        /* 2 log2(20,000) is 29; slopes are asked twice, and two more begin a step */
        assert_true(made_up.asked <= 62 * made_up.parts);
        free(steps.items);
    }
}

static void stays_in_the_range_that_is_asked_for(void **state)
{
    struct made_up made_up = { .part = { { 0, 9, 100, 0 }, { 10, 10, 200, 0 }, { 11, 90, 300, 1 } },
                               .parts = 3,
                               .fail_from = 51 };
    struct list steps = { 0 };
    const struct charge_step *step;

    (void)state;
    assert_int_equal(
        charge_bisect(&(struct charge_source){ charge_made_up, &made_up }, 5, 50, &steps, NULL),
        STATUS_OK);
    step = steps.items;
    assert_int_equal(steps.count, 3);
    assert_true(step[0].from == 5 && step[0].to == 9 && step[0].charge == 100);
    assert_true(step[1].from == 10 && step[1].to == 10 && step[1].charge == 200);
    assert_true(step[2].from == 11 && step[2].to == 50 && step[2].slope == 1);
    assert_int_equal(charge_at(&steps, 7), 100);
    assert_int_equal(charge_at(&steps, 10), 200);
    assert_int_equal(charge_at(&steps, 50), 339);
    assert_true(charge_at(&steps, 4) == NONE_INT && charge_at(&steps, 51) == NONE_INT);
    /* one payload alone, behind what is there */
    assert_int_equal(
        charge_bisect(&(struct charge_source){ charge_made_up, &made_up }, 7, 7, &steps, NULL),
        STATUS_OK);
    step = steps.items;
    assert_int_equal(steps.count, 4);
    assert_true(step[3].from == 7 && step[3].to == 7 && step[3].charge == 100);
    free(steps.items);
}

static void a_failure_leaves_the_list_as_it_was(void **state)
{
    struct made_up made_up = { .part = { { 0, 9, 100, 0 }, { 10, 99, 200, 0 } },
                               .parts = 2,
                               .fail_from = 60 };
    struct list steps = { 0 };
    struct fault fault;

    (void)state;
    assert_int_equal(
        charge_bisect(&(struct charge_source){ charge_made_up, &made_up }, 0, 99, &steps, &fault),
        STATUS_AGAIN);
    assert_string_equal(fault.text, "no");
    assert_int_equal(steps.count, 0);
    free(steps.items);
}

static enum status charge_twice(void *context, int64_t payload, int64_t *out_charge,
                                struct fault *fault)
{
    (void)context;
    (void)fault;
    *out_charge = 2 * payload;
    return STATUS_OK;
}

static void what_has_no_steps_is_refused(void **state)
{
    struct list steps = { 0 };
    struct fault fault;

    (void)state;
    assert_int_equal(
        charge_bisect(&(struct charge_source){ charge_twice, NULL }, 0, 65507, &steps, &fault),
        STATUS_CORRUPT);
    assert_non_null(strstr(fault.text, "does not come in steps"));
    assert_int_equal(steps.count, 0);
    free(steps.items);
}

/* --- the rule ------------------------------------------------------------------------------- */

/* Tables that were measured (6.18) or derived from the sources (6.12, 6.1): payload, charge. */
static void the_rule_gives_what_is_known_of_three_kernels(void **state)
{
    static const struct {
        int64_t smallest, payload, charge;
    } known[] = {
        { 832, 0, 832 },       { 832, 197, 832 },     { 832, 198, 1280 },    { 832, 645, 1280 },
        { 832, 646, 2304 },    { 832, 1472, 2304 },   { 832, 1669, 2304 },   { 832, 1670, 4352 },
        { 832, 3717, 4352 },   { 832, 3718, 8448 },   { 832, 7813, 8448 },   { 832, 7814, 16640 },
        { 832, 16004, 16640 }, { 832, 16005, 16837 }, { 832, 65507, 66339 }, { 960, 325, 960 },
        { 960, 326, 1280 },    { 960, 16005, 16965 }, { 768, 133, 768 },     { 768, 134, 1280 },
        { 768, 645, 1280 },    { 768, 65507, 66275 },
    };
    static const int64_t ipv6_steps[] = { 185, 633, 1657, 3705, 7801, 15992 };

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        assert_int_equal(charge_predicted(FAMILY_IPV4, known[i].payload, known[i].smallest),
                         known[i].charge);
    for (size_t i = 0; i < sizeof ipv6_steps / sizeof ipv6_steps[0]; i++)
        assert_true(charge_predicted(FAMILY_IPV6, ipv6_steps[i], 832) >
                    charge_predicted(FAMILY_IPV6, ipv6_steps[i] - 1, 832) + 1);
}

/* --- the measurement ------------------------------------------------------------------------ */

static struct list measured(enum family family, enum charge_way way, int64_t low, int64_t high)
{
    struct list steps = { 0 };
    struct fault fault = { "" };
    const struct charge_question question = { family, way, low, high };
    enum status status = charge_steps(&question, &steps, &fault);

    if (status == STATUS_UNSUPPORTED) {
        print_message("%s: %s\n", charge_way_names[way], fault.text);
        skip();
    }
    if (status != STATUS_OK)
        fail_msg("%s", fault.text);
    return steps;
}

/* What one datagram of this size is charged, found without charge.c. */
static int64_t charge_of_one(enum family family, size_t payload)
{
    struct refused refused;
    struct pair pair;
    int64_t charge = 0;

    assert_int_equal(pair_open(family, payload, 1 << 20, &pair, NULL), STATUS_OK);
    assert_int_equal(pair_send(&pair, 1, &refused), 1);
    assert_true(pair_wait(&pair));
    assert_int_equal(socket_queued_bytes(pair.receiver, &charge), STATUS_OK);
    pair_done(&pair);
    return charge;
}

static void check_steps(enum family family, const struct list *steps, int64_t low, int64_t high)
{
    const struct charge_step *step = steps->items;

    assert_int_equal(step[0].from, low);
    assert_int_equal(step[steps->count - 1].to, high);
    for (size_t i = 0; i < steps->count; i++) {
        const int64_t payloads[] = { step[i].from, (step[i].from + step[i].to) / 2, step[i].to };

        assert_true(i == 0 || step[i].from == step[i - 1].to + 1);
        for (size_t j = 0; j < 3; j++)
            assert_int_equal(charge_of_one(family, (size_t)payloads[j]),
                             charge_at(steps, payloads[j]));
    }
}

static void plain_steps_are_what_single_datagrams_show(void **state)
{
    (void)state;
    for (int family = FAMILY_IPV4; family <= FAMILY_IPV6; family++) {
        int64_t low, high;
        struct list steps;

        charge_limits((enum family)family, CHARGE_PLAIN, &low, &high);
        steps = measured((enum family)family, CHARGE_PLAIN, low, high);
        assert_true(steps.count > 3);
        check_steps((enum family)family, &steps, low, high);
        free(steps.items);
    }
}

static void other_ways_are_measured(void **state)
{
    static const enum charge_way ways[] = { CHARGE_CONNECTED, CHARGE_OTHER_CPU };
    struct list plain = measured(FAMILY_IPV4, CHARGE_PLAIN, 1000, 2000);

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct list steps = measured(FAMILY_IPV4, ways[i], 1000, 2000);

        /* nothing in this kernel's charge depends on who reads */
        assert_int_equal(steps.count, plain.count);
        assert_memory_equal(steps.items, plain.items, plain.count * sizeof(struct charge_step));
        free(steps.items);
    }
    free(plain.items);
}

static void reading_on_another_cpu_ends_unbound(void **state)
{
    struct affinity *before = NULL, *after = NULL;
    struct list steps;

    (void)state;
    if (affinity_take(&before, NULL) != STATUS_OK)
        skip();
    steps = measured(FAMILY_IPV4, CHARGE_OTHER_CPU, 100, 100);
    assert_int_equal(affinity_take(&after, NULL), STATUS_OK);
    assert_int_equal(affinity_count(after), affinity_count(before));
    affinity_free(after);
    affinity_free(before);
    free(steps.items);
}

/* Many in one share the overhead that each has alone, on both ends of what can be sent so. */
static void segments_share_their_overhead(void **state)
{
    (void)state;
    for (int family = FAMILY_IPV4; family <= FAMILY_IPV6; family++) {
        int64_t low, high;
        struct list steps, plain;

        charge_limits((enum family)family, CHARGE_GRO, &low, &high);
        steps = measured((enum family)family, CHARGE_GRO, low, high);
        plain = measured((enum family)family, CHARGE_PLAIN, low, high);
        for (int64_t payload = low; payload <= high; payload += (high - low) / 2) {
            assert_true(charge_at(&steps, payload) >= payload);
            assert_true(charge_at(&steps, payload) < charge_at(&plain, payload));
        }
        free(steps.items);
        free(plain.items);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_every_step),
        cmocka_unit_test(stays_in_the_range_that_is_asked_for),
        cmocka_unit_test(a_failure_leaves_the_list_as_it_was),
        cmocka_unit_test(what_has_no_steps_is_refused),
        cmocka_unit_test(the_rule_gives_what_is_known_of_three_kernels),
        cmocka_unit_test(plain_steps_are_what_single_datagrams_show),
        cmocka_unit_test(other_ways_are_measured),
        cmocka_unit_test(reading_on_another_cpu_ends_unbound),
        cmocka_unit_test(segments_share_their_overhead),
    };

    return cmocka_run_group_tests_name("charge", tests, NULL, NULL);
}
