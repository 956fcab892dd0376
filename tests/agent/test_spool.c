/* Results come back in order, once each; too many drop the oldest; files of others are refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/agent/spool_place.h"

static void forget(struct place *place, const unsigned *numbers, size_t count)
{
    char ids[8][UUID_SIZE];
    char *words[8];
    struct list list = { .items = words, .count = count };
    struct fault fault = { "" };

    for (size_t i = 0; i < count; i++) {
        snprintf(ids[i], sizeof ids[i], "%036u", numbers[i]);
        words[i] = ids[i];
    }
    if (spool_forget(place->spool, &list, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
}

/* --- order, repeats, totals --- */

static void results_come_back_in_order_also_after_reopening(void **state)
{
    struct place *place = *state;
    struct stat info;

    open_spool(place, MIB);
    assert_holds(place, 1, 0, 0);
    for (unsigned i = 1; i <= 20; i++)
        must_put(place, i, SMALL);
    assert_holds(place, 1, 20, SMALL);
    close_spool(place);
    open_spool(place, MIB);
    assert_holds(place, 1, 20, SMALL);
    assert_dropped(place, 0);
    assert_int_equal(stat(place->path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
}

static void an_id_is_taken_once(void **state)
{
    struct place *place = *state;
    struct fault fault = { "" };

    open_spool(place, MIB);
    must_put(place, 7, SMALL);
    assert_int_equal(put(place->spool, 7, 10, &fault), STATUS_EXISTS);
    assert_non_null(strstr(fault.text, "there already"));
    assert_holds(place, 7, 7, SMALL);
}

static void bodies_may_be_empty_and_as_large_as_a_result(void **state)
{
    struct place *place = *state;
    struct fault fault = { "" };
    size_t length;
    unsigned number;
    int64_t at = 0;

    open_spool(place, 4 * MIB);
    must_put(place, 1, 0);
    must_put(place, 2, LIMIT_RESULT_BYTES);
    assert_int_equal(put(place->spool, 3, LIMIT_RESULT_BYTES + 1, &fault), STATUS_TOO_LARGE);
    assert_true(next(place->spool, &at, &number, &length));
    assert_int_equal(length, 0);
    assert_true(next(place->spool, &at, &number, &length));
    assert_int_equal(length, LIMIT_RESULT_BYTES);
    assert_false(next(place->spool, &at, &number, &length));
}

static void what_is_forgotten_is_gone_and_unknown_ids_do_not_matter(void **state)
{
    static const unsigned some[] = { 1, 99, 2, 1 }, all[] = { 3, 4 };
    struct place *place = *state;

    open_spool(place, MIB);
    for (unsigned i = 1; i <= 4; i++)
        must_put(place, i, SMALL);
    forget(place, some, 4);
    assert_holds(place, 3, 4, SMALL);
    forget(place, all, 2);
    forget(place, all, 0);
    assert_holds(place, 1, 0, 0);
    must_put(place, 1, SMALL);
    assert_holds(place, 1, 1, SMALL);
}

static void a_place_is_never_used_twice(void **state)
{
    static const unsigned last = 1;
    struct place *place = *state;
    int64_t first = 0, second = 0;
    unsigned number;
    size_t length;

    open_spool(place, MIB);
    must_put(place, 1, SMALL);
    assert_true(next(place->spool, &first, &number, &length));
    forget(place, &last, 1);
    must_put(place, 2, SMALL);
    assert_true(next(place->spool, &second, &number, &length));
    assert_true(second > first);
}

/* --- too many --- */

static void the_oldest_are_dropped_and_counted_in_the_file(void **state)
{
    struct place *place = *state;

    open_spool(place, 10 * SMALL);
    for (unsigned i = 1; i <= 25; i++)
        must_put(place, i, SMALL);
    assert_holds(place, 16, 25, SMALL);
    assert_dropped(place, 15);
    close_spool(place);
    open_spool(place, 4 * SMALL); /* the new configuration allows less */
    assert_holds(place, 22, 25, SMALL);
    assert_dropped(place, 21);
    close_spool(place);
    open_spool(place, MIB);
    assert_dropped(place, 21);
}

static void a_result_above_the_whole_spool_drops_nothing(void **state)
{
    struct place *place = *state;
    struct fault fault = { "" };

    open_spool(place, 3 * SMALL);
    must_put(place, 1, SMALL);
    assert_int_equal(put(place->spool, 2, 3 * SMALL + 1, &fault), STATUS_TOO_LARGE);
    assert_non_null(strstr(fault.text, "3001 bytes; at most 3000"));
    assert_holds(place, 1, 1, SMALL);
    must_put(place, 3, 3 * SMALL);
    assert_holds(place, 3, 3, 3 * SMALL);
    assert_dropped(place, 1);
}

/* Opening must fail so, with these words. */
static void assert_refused(struct place *place, enum status expected, const char *said)
{
    struct fault fault = { "" };
    enum status status = spool_open(place->path, MIB, &place->spool, &fault);

    assert_null(place->spool);
    if (status != expected || strstr(fault.text, said) == NULL ||
        strstr(fault.text, place->path) == NULL)
        fail_msg("%s (%s)", fault.text, status_text(status));
}

/* --- files that are none of ours --- */

static void write_file(const struct place *place, const void *bytes, size_t length)
{
    FILE *file = fopen(place->path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static size_t read_file(const struct place *place, char *out_bytes, size_t size)
{
    FILE *file = fopen(place->path, "rb");
    size_t length;

    assert_non_null(file);
    length = fread(out_bytes, 1, size, file);
    assert_int_equal(fclose(file), 0);
    return length;
}

static void a_foreign_file_is_refused_and_not_touched(void **state)
{
    static const char text[] =
        "controller:\n  address: localhost:7862\n# a long enough text, which "
        "is no SQLite file at all but a configuration of something";
    static char before[64 << 10], after[64 << 10];
    struct place *place = *state;
    size_t length;

    write_file(place, text, sizeof text);
    assert_refused(place, STATUS_INVALID, "another kind");
    assert_int_equal(read_file(place, after, sizeof after), sizeof text);
    assert_memory_equal(after, text, sizeof text);
    write_file(place, text, 3);
    assert_refused(place, STATUS_INVALID, "another kind");
    assert_int_equal(unlink(place->path), 0);

    as_somebody_else(place, "PRAGMA application_id=7; CREATE TABLE result (x)");
    length = read_file(place, before, sizeof before);
    assert_refused(place, STATUS_INVALID, "another kind");
    assert_int_equal(read_file(place, after, sizeof after), length);
    assert_memory_equal(before, after, length);
    assert_int_equal(unlink(place->path), 0);

    assert_int_equal(mkfifo(place->path, 0600), 0);
    assert_refused(place, STATUS_INVALID, "another kind");
}

static void a_missing_folder_is_named_and_not_made(void **state)
{
    struct place *place = *state;
    char kept[sizeof place->path];

    memcpy(kept, place->path, sizeof kept);
    snprintf(place->path, sizeof place->path, "%s/none/spool.sqlite", place->folder);
    assert_refused(place, STATUS_NOT_FOUND, "folder does not exist");
    memcpy(place->path, kept, sizeof kept);
}

static void a_newer_form_is_refused(void **state)
{
    struct place *place = *state;

    open_spool(place, MIB);
    close_spool(place);
    as_somebody_else(place, "PRAGMA user_version=2");
    assert_refused(place, STATUS_UNSUPPORTED, "version 2");
}

static void a_damaged_file_is_said_so(void **state)
{
    struct place *place = *state;
    char junk[4096];
    FILE *file;

    open_spool(place, MIB);
    for (unsigned i = 1; i <= 100; i++)
        must_put(place, i, SMALL);
    close_spool(place);
    memset(junk, 0x5a, sizeof junk);
    file = fopen(place->path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 8 * 4096, SEEK_SET), 0);
    assert_int_equal(fwrite(junk, 1, sizeof junk, file), sizeof junk);
    assert_int_equal(fclose(file), 0);
    assert_refused(place, STATUS_CORRUPT, "is damaged (its pages");

    assert_int_equal(truncate(place->path, 4096), 0);
    assert_refused(place, STATUS_CORRUPT, "is damaged");
}

static void rows_that_are_no_results_are_damage(void **state)
{
    struct place *place = *state;
    struct message_result result;
    struct fault fault = { "" };
    int64_t at = 0;

    open_spool(place, MIB);
    close_spool(place);
    as_somebody_else(place, "INSERT INTO result (id, kind, body)"
                            " VALUES (printf('%0200d', 1), 'report', x'00')");
    open_spool(place, MIB);
    message_init(&result, MESSAGE_RESULT);
    assert_int_equal(spool_next(place->spool, 0, &result, &at, &fault), STATUS_CORRUPT);
    assert_non_null(strstr(fault.text, "holds no result"));
    message_done(&result);
    close_spool(place);
    as_somebody_else(place, "DROP TABLE result");
    assert_refused(place, STATUS_CORRUPT, "no such table");
}

static void an_interrupted_making_is_made_again(void **state)
{
    struct place *place = *state;

    write_file(place, "", 0);
    open_spool(place, MIB);
    must_put(place, 1, SMALL);
    assert_holds(place, 1, 1, SMALL);
}

#define HERE(TEST) cmocka_unit_test_setup_teardown(TEST, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HERE(results_come_back_in_order_also_after_reopening),
        HERE(an_id_is_taken_once),
        HERE(bodies_may_be_empty_and_as_large_as_a_result),
        HERE(what_is_forgotten_is_gone_and_unknown_ids_do_not_matter),
        HERE(a_place_is_never_used_twice),
        HERE(the_oldest_are_dropped_and_counted_in_the_file),
        HERE(a_result_above_the_whole_spool_drops_nothing),
        HERE(a_foreign_file_is_refused_and_not_touched),
        HERE(a_missing_folder_is_named_and_not_made),
        HERE(a_newer_form_is_refused),
        HERE(a_damaged_file_is_said_so),
        HERE(rows_that_are_no_results_are_damage),
        HERE(an_interrupted_making_is_made_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
