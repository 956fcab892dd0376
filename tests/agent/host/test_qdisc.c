/* Drops of queueing disciplines: each counted once, whatever else a dump holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "agent/host/qdisc.h"

enum { NEWQDISC = 36, NEWLINK = 16, DONE = 3, ERROR = 2 };
#define ROOT  UINT32_C(0xffffffff)
#define CHILD UINT32_C(0x00010001)

/* A dump as it is built up. */
struct dump {
    uint8_t bytes[2048];
    size_t length;
};

static void put16(struct dump *dump, unsigned value)
{
    uint16_t narrow = (uint16_t)value;

    memcpy(dump->bytes + dump->length, &narrow, sizeof narrow);
    dump->length += sizeof narrow;
}

static void put32(struct dump *dump, uint32_t value)
{
    memcpy(dump->bytes + dump->length, &value, sizeof value);
    dump->length += sizeof value;
}

static void put_head(struct dump *dump, unsigned type, size_t body)
{
    put32(dump, (uint32_t)(16 + body));
    put16(dump, type);
    put16(dump, 2);
    put32(dump, 1);
    put32(dump, 0);
}

/* TCA_KIND "fq", then TCA_STATS2 { TCA_STATS_BASIC, TCA_STATS_QUEUE { qlen, backlog, drops, ... } }
 */
static void put_qdisc(struct dump *dump, uint32_t parent, uint32_t drops)
{
    put_head(dump, NEWQDISC, 20 + 8 + 4 + 8 + 24);
    put32(dump, 0);
    put32(dump, 2); /* ifindex */
    put32(dump, 0x80010000);
    put32(dump, parent);
    put32(dump, 1);
    put16(dump, 7); /* 4 + "fq\0", padded to 8 */
    put16(dump, 1);
    put32(dump, 0x00007166);
    put16(dump, 4 + 8 + 24);
    put16(dump, 0x8000 | 7);
    put16(dump, 8);
    put16(dump, 1);
    put32(dump, 77);
    put16(dump, 24);
    put16(dump, 3);
    put32(dump, 5);
    put32(dump, 6);
    put32(dump, drops);
    put32(dump, 8);
    put32(dump, 9);
}

static struct qdisc_sum read_all(const struct dump *dump)
{
    struct qdisc_sum sum = { 0 };

    qdisc_read(dump->bytes, dump->length, &sum);
    return sum;
}

static void roots_are_summed_and_their_children_are_in_them(void **state)
{
    struct dump dump = { .length = 0 };
    struct qdisc_sum sum;

    (void)state;
    put_qdisc(&dump, ROOT, 4000000000);
    put_qdisc(&dump, CHILD, 3000);
    put_qdisc(&dump, UINT32_C(0xfffffff1), 100); /* ingress */
    put_head(&dump, NEWLINK, 4);
    put32(&dump, 0);
    put_qdisc(&dump, ROOT, 1000000000);
    put_head(&dump, DONE, 4);
    put32(&dump, 0);
    sum = read_all(&dump);
    assert_true(sum.drops == 5000000000);
    assert_int_equal(sum.roots, 2);
    assert_int_equal(sum.skipped, 0);
    assert_true(sum.done);
    assert_int_equal(sum.error, 0);
}

static void parts_of_a_dump_add_up(void **state)
{
    struct dump dump = { .length = 0 }, end = { .length = 0 };
    struct qdisc_sum sum = { 0 };

    (void)state;
    put_qdisc(&dump, ROOT, 7);
    put_head(&end, DONE, 0);
    qdisc_read(dump.bytes, dump.length, &sum);
    assert_false(sum.done);
    qdisc_read(dump.bytes, dump.length, &sum);
    qdisc_read(end.bytes, end.length, &sum);
    assert_true(sum.done);
    assert_true(sum.drops == 14);
    assert_int_equal(sum.skipped, 0);
}

static void nothing_behind_the_end_counts(void **state)
{
    struct dump dump = { .length = 0 };
    struct qdisc_sum sum;

    (void)state;
    put_head(&dump, DONE, 0);
    put_qdisc(&dump, ROOT, 7);
    sum = read_all(&dump);
    assert_true(sum.done);
    assert_true(sum.drops == 0);
}

static void an_error_of_the_kernel_is_kept(void **state)
{
    struct dump dump = { .length = 0 };
    struct qdisc_sum sum;

    (void)state;
    put_head(&dump, ERROR, 4);
    put32(&dump, (uint32_t)-EOPNOTSUPP);
    sum = read_all(&dump);
    assert_true(sum.done);
    assert_int_equal(sum.error, EOPNOTSUPP);
}

static void a_root_without_statistics_is_skipped_and_told(void **state)
{
    struct dump dump = { .length = 0 };
    struct qdisc_sum sum;
    size_t kind_end;

    (void)state;
    put_qdisc(&dump, ROOT, 7);
    kind_end = 16 + 20 + 8;
    memcpy(dump.bytes + kind_end + 2, "\x09\x00", 2); /* another attribute's type */
    put_qdisc(&dump, ROOT, 5);
    sum = read_all(&dump);
    assert_int_equal(sum.skipped, 1);
    assert_true(sum.drops == 5);
}

/* Cut anywhere, a dump is never read beyond its end and never gives more drops. */
static void any_cut_is_safe(void **state)
{
    struct dump dump = { .length = 0 };

    (void)state;
    put_qdisc(&dump, ROOT, 7);
    put_qdisc(&dump, ROOT, 7);
    for (size_t length = 0; length < dump.length; length++) {
        uint8_t cut[2048];
        struct qdisc_sum sum = { 0 };

        memcpy(cut, dump.bytes, length);
        qdisc_read(cut, length, &sum);
        assert_true(sum.drops == (length < dump.length / 2 ? 0 : 7));
        assert_int_equal(sum.skipped, length % (dump.length / 2) == 0 ? 0 : 1);
    }
}

static void lengths_that_lie_are_not_followed(void **state)
{
    static const struct {
        size_t at;
        uint16_t value;
    } lies[] = {
        { 0, 15 },           /* message shorter than its head */
        { 0, 3000 },         /* message longer than the dump */
        { 0, 30 },           /* body shorter than tcmsg */
        { 16 + 20, 3 },      /* attribute shorter than its head */
        { 16 + 20, 200 },    /* attribute longer than the message */
        { 16 + 28, 100 },    /* nest longer than the message */
        { 16 + 28 + 4, 0 },  /* attribute in the nest of length 0 */
        { 16 + 28 + 12, 9 }, /* statistics too short for drops */
    };

    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        struct dump dump = { .length = 0 };
        struct qdisc_sum sum;

        put_qdisc(&dump, ROOT, 7);
        memcpy(dump.bytes + lies[i].at, &lies[i].value, sizeof lies[i].value);
        sum = read_all(&dump);
        assert_true(sum.drops == 0);
        assert_true(sum.skipped >= 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roots_are_summed_and_their_children_are_in_them),
        cmocka_unit_test(parts_of_a_dump_add_up),
        cmocka_unit_test(nothing_behind_the_end_counts),
        cmocka_unit_test(an_error_of_the_kernel_is_kept),
        cmocka_unit_test(a_root_without_statistics_is_skipped_and_told),
        cmocka_unit_test(any_cut_is_safe),
        cmocka_unit_test(lengths_that_lie_are_not_followed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
