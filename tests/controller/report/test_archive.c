/* An archive is whole and reads back as it was, and whatever is wrong with one is said in a line
 * that names the file and the place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "controller/report/archive.h"
#include "controller/report/archive_sums.h"
#include "proto/base/file.h"
#include "proto/wire/record_json.h"
#include "tests/controller/report/make_buffers_run.h"

enum { JSON_BYTES = 8 << 20 };

/* A folder of the test's own with a sample archive in it. */
struct room {
    char parent[256];
    char archive[ARCHIVE_PATH_SIZE];
};

static void remove_all(const char *path)
{
    char command[ARCHIVE_PATH_SIZE + 16];

    snprintf(command, sizeof command, "rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
}

static int set_up(void **state)
{
    struct room *room = calloc(1, sizeof *room);
    struct make_shape shape = make_shape_small();
    const char *base = getenv("TMPDIR");
    struct fault fault = { "" };
    struct run run;

    assert_non_null(room);
    snprintf(room->parent, sizeof room->parent, "%s/sonde-archive-XXXXXX",
             base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(room->parent));
    make_run(&shape, &run);
    if (archive_write(room->parent, &run, room->archive, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    run_done(&run);
    *state = room;
    return 0;
}

static int tear_down(void **state)
{
    struct room *room = *state;

    remove_all(room->parent);
    free(room);
    return 0;
}

static void in_archive(const struct room *room, const char *name, char out_path[ARCHIVE_PATH_SIZE])
{
    snprintf(out_path, ARCHIVE_PATH_SIZE, "%.4000s/%s", room->archive, name);
}

static void put(const struct room *room, const char *name, const void *bytes, size_t length)
{
    char path[ARCHIVE_PATH_SIZE];

    in_archive(room, name, path);
    assert_int_equal(file_write_whole(path, bytes, length, NULL), STATUS_OK);
}

static void get(const struct room *room, const char *name, struct buf *out)
{
    char path[ARCHIVE_PATH_SIZE];

    in_archive(room, name, path);
    buf_init(out, JSON_BYTES);
    assert_int_equal(file_read(path, out, NULL), STATUS_OK);
}

static void expect_refused(const char *path, const char *const words[])
{
    struct run run;
    struct fault fault = { "" };

    memset(&run, 0x5a, sizeof run);
    assert_int_not_equal(archive_read(path, &run, &fault), STATUS_OK);
    for (size_t i = 0; words[i] != NULL; i++) {
        if (strstr(fault.text, words[i]) == NULL)
            fail_msg("no \"%s\" in \"%s\"", words[i], fault.text);
    }
    assert_null(strchr(fault.text, '\n'));
    assert_int_equal(((unsigned char *)&run)[0], 0x5a); /* untouched */
}

#define REFUSED(PATH, ...) expect_refused(PATH, (const char *const[]){ __VA_ARGS__, NULL })

static void it_has_its_name_and_its_three_files(void **state)
{
    const struct room *room = *state;
    const char *name = strrchr(room->archive, '/') + 1;
    struct buf bytes;

    assert_string_equal(name, "20261130T184410Z-loopback-0708095d");
    get(room, "run.json", &bytes);
    assert_memory_equal(bytes.data, "{\"schema\":\"sonde.run/1\"", 23);
    assert_int_equal(bytes.data[bytes.length - 1], '\n');
    buf_done(&bytes);
    get(room, "loss.svg", &bytes);
    assert_memory_equal(bytes.data, "<svg ", 5);
    buf_done(&bytes);
    get(room, "SHA256SUMS", &bytes);
    assert_non_null(strstr(bytes.data, "  run.json\n"));
    assert_non_null(strstr(bytes.data, "  loss.svg\n"));
    buf_done(&bytes);
}

static void it_reads_back_as_it_was(void **state)
{
    const struct room *room = *state;
    struct make_shape shape = make_shape_small();
    struct run made, read;
    struct fault fault = { "" };
    struct buf one, two;
    char path[ARCHIVE_PATH_SIZE];

    make_run(&shape, &made);
    buf_init(&one, JSON_BYTES);
    buf_init(&two, JSON_BYTES);
    assert_int_equal(record_to_json(run_record_of(RUN_LOOPBACK), &made, &one), STATUS_OK);
    if (archive_read(room->archive, &read, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    assert_int_equal(record_to_json(run_record_of(RUN_LOOPBACK), &read, &two), STATUS_OK);
    assert_string_equal(buf_peek(&one), buf_peek(&two));
    run_done(&read);
    in_archive(room, "run.json", path);
    assert_int_equal(archive_read(path, &read, &fault), STATUS_OK);
    run_done(&read);
    run_done(&made);
    buf_done(&one);
    buf_done(&two);
}

/* Its kind is in its name, and its figure has a name of its own. */
static void a_run_of_buffers_is_an_archive_too(void **state)
{
    const struct room *room = *state;
    struct make_buffers_shape shape = make_buffers_small();
    struct run made, read;
    struct fault fault = { "" };
    struct buf one, two;
    char path[ARCHIVE_PATH_SIZE], figure[ARCHIVE_PATH_SIZE];
    struct stat facts;

    make_buffers_run(&shape, &made);
    if (archive_write(room->parent, &made, path, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    assert_string_equal(strrchr(path, '/') + 1, "20261130T184410Z-buffers-0708095d");
    snprintf(figure, sizeof figure, "%.4000s/buffers.svg", path);
    assert_int_equal(stat(figure, &facts), 0);
    assert_int_equal(archive_read(path, &read, &fault), STATUS_OK);
    buf_init(&one, JSON_BYTES);
    buf_init(&two, JSON_BYTES);
    assert_int_equal(record_to_json(run_record_of(RUN_BUFFERS), &made, &one), STATUS_OK);
    assert_int_equal(record_to_json(run_record_of(RUN_BUFFERS), &read, &two), STATUS_OK);
    assert_string_equal(buf_peek(&one), buf_peek(&two));
    run_done(&read);
    assert_int_equal(unlink(figure), 0);
    REFUSED(path, "buffers.svg: No such file");
    make_experiment_at(&made, SMALL_HOLD)->hold.held++;
    made.id[35] ^= 1;
    assert_int_equal(archive_write(room->parent, &made, path, &fault), STATUS_CORRUPT);
    assert_memory_equal(fault.text, "/cases/5/held: ", 15);
    run_done(&made);
    buf_done(&one);
    buf_done(&two);
}

static void the_same_run_is_not_written_over(void **state)
{
    const struct room *room = *state;
    struct make_shape shape = make_shape_small();
    struct run run;
    char path[ARCHIVE_PATH_SIZE] = "untouched";
    struct fault fault = { "" };

    make_run(&shape, &run);
    snprintf(make_host_at(&run, 0)->cpu, 32, "another");
    assert_int_equal(archive_write(room->parent, &run, path, &fault), STATUS_EXISTS);
    assert_string_equal(path, "untouched");
    run_done(&run);
    make_run(&shape, &run);
    assert_int_equal(archive_write(room->parent, &run, path, &fault), STATUS_OK);
    assert_string_equal(path, room->archive);
    run_done(&run);
}

static void a_run_that_does_not_add_up_is_not_written(void **state)
{
    const struct room *room = *state;
    struct make_shape shape = make_shape_small();
    struct run run;
    char path[ARCHIVE_PATH_SIZE];
    struct fault fault = { "" };
    struct stat facts;

    shape.id = 0x77;
    make_run(&shape, &run);
    make_case_at(&run, 0)->phases.measure.forward.lost = 1;
    assert_int_equal(archive_write(room->parent, &run, path, &fault), STATUS_CORRUPT);
    assert_memory_equal(fault.text, "/cases/0/phases/measure/forward/sent: ", 38);
    snprintf(path, sizeof path, "%s/20261130T184410Z-loopback-07080977", room->parent);
    assert_int_not_equal(stat(path, &facts), 0);
    run_done(&run);
}

static void preparing_makes_the_folder_or_says_why_not(void **state)
{
    const struct room *room = *state;
    char path[ARCHIVE_PATH_SIZE];
    struct fault fault = { "" };
    struct stat facts;

    snprintf(path, sizeof path, "%s/a/b/c", room->parent);
    assert_int_equal(archive_prepare(path, &fault), STATUS_OK);
    assert_int_equal(stat(path, &facts), 0);
    in_archive(room, "run.json/x", path);
    assert_int_not_equal(archive_prepare(path, &fault), STATUS_OK);
    assert_non_null(strstr(fault.text, "run.json"));
}

static void a_byte_changed_anywhere_is_found(void **state)
{
    const struct room *room = *state;
    const char *const names[] = { "run.json", "loss.svg" };
    char path[ARCHIVE_PATH_SIZE];

    for (size_t i = 0; i < 2; i++) {
        struct buf bytes;

        get(room, names[i], &bytes);
        bytes.data[bytes.length / 2] ^= 1;
        put(room, names[i], bytes.data, bytes.length);
        REFUSED(room->archive, names[i], "SHA-256");
        in_archive(room, "run.json", path);
        if (i == 0)
            REFUSED(path, "run.json", "SHA-256");
        bytes.data[bytes.length / 2] ^= 1;
        put(room, names[i], bytes.data, bytes.length);
        buf_done(&bytes);
    }
}

static void sums_that_are_missing_or_wrong_are_refused(void **state)
{
    const struct room *room = *state;
    char path[ARCHIVE_PATH_SIZE];
    struct run run;
    struct buf sums, line;

    get(room, "SHA256SUMS", &sums);
    in_archive(room, "SHA256SUMS", path);
    buf_init(&line, SUMS_BYTES);
    sums_append(&line, "loss.svg", "", 0);
    put(room, "SHA256SUMS", line.data, line.length);
    REFUSED(room->archive, "SHA256SUMS: has no sum of run.json");
    put(room, "SHA256SUMS", "x\n", 2);
    REFUSED(room->archive, "SHA256SUMS: line 1: ");
    buf_done(&line);
    buf_text(&line, sums.data);
    buf_text(&line, sums.data);
    put(room, "SHA256SUMS", line.data, line.length);
    REFUSED(room->archive, "SHA256SUMS: line 3: the file is there twice");
    assert_int_equal(unlink(path), 0);
    REFUSED(room->archive, "SHA256SUMS: ", "No such file");
    in_archive(room, "run.json", path);
    assert_int_equal(archive_read(path, &run, NULL), STATUS_OK); /* alone it needs no sums */
    run_done(&run);
    buf_done(&line);
    buf_done(&sums);
}

static void a_file_that_the_sums_name_must_be_there(void **state)
{
    const struct room *room = *state;
    char path[ARCHIVE_PATH_SIZE];

    in_archive(room, "loss.svg", path);
    assert_int_equal(unlink(path), 0);
    REFUSED(room->archive, "loss.svg: No such file");
    assert_int_equal(symlink("loss.svg", path), 0);
    REFUSED(room->archive, "loss.svg: ");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    REFUSED(room->archive, "loss.svg: not a regular file");
}

static void what_is_no_archive_is_refused(void **state)
{
    const struct room *room = *state;
    char path[ARCHIVE_PATH_SIZE], link[ARCHIVE_PATH_SIZE];
    char *long_path = calloc(1, 9000);

    assert_non_null(long_path);
    REFUSED("/nonexistent/run.json", "/nonexistent/run.json: No such file");
    REFUSED("/dev/null", "/dev/null: not a regular file");
    REFUSED("", "No such file");
    REFUSED(room->parent, "SHA256SUMS: No such file");
    in_archive(room, "fifo", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    REFUSED(path, "fifo: not a regular file");
    snprintf(path, sizeof path, "%s/a", room->parent);
    snprintf(link, sizeof link, "%s/b", room->parent);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(symlink(link, path), 0);
    REFUSED(path, "/a: Too many levels of symbolic links");
    memset(long_path, 'x', 8999);
    REFUSED(long_path, "too long");
    free(long_path);
}

static void another_version_is_named_before_what_it_lacks(void **state)
{
    static const char next[] = "{\"schema\":\"sonde.run/2\",\"new\":[]}\n";
    const struct room *room = *state;
    char path[ARCHIVE_PATH_SIZE];

    put(room, "alone.json", next, sizeof next - 1);
    in_archive(room, "alone.json", path);
    REFUSED(path, "alone.json: /schema: \"sonde.run/2\" is not known");
    put(room, "alone.json", "{\"schema\":\"sonde.run/1\"}\n", 25);
    REFUSED(path, "alone.json: /id: missing");
    put(room, "alone.json", "{\"schema\":\"sonde.run/1\",\"kind\":\"own\"}\n", 38);
    REFUSED(path, "alone.json: /kind: text \"own\" is not allowed");
}

int main(void)
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(it_has_its_name_and_its_three_files),
        TEST(it_reads_back_as_it_was),
        TEST(a_run_of_buffers_is_an_archive_too),
        TEST(the_same_run_is_not_written_over),
        TEST(a_run_that_does_not_add_up_is_not_written),
        TEST(preparing_makes_the_folder_or_says_why_not),
        TEST(a_byte_changed_anywhere_is_found),
        TEST(sums_that_are_missing_or_wrong_are_refused),
        TEST(a_file_that_the_sums_name_must_be_there),
        TEST(what_is_no_archive_is_refused),
        TEST(another_version_is_named_before_what_it_lacks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
