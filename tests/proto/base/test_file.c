/* Files are read under a cap and written whole or not at all, whatever stands in the way. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/file.h"

/* Each test works in a fresh folder of its own. */
static int enter_fresh_folder(void **state)
{
    char *path = strdup("/tmp/sonde-test-file-XXXXXX");

    if (path == NULL || mkdtemp(path) == NULL || chdir(path) != 0)
        return -1;
    *state = path;
    return 0;
}

static int leave_folder(void **state)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf '%s'", (char *)*state);
    free(*state);
    return chdir("/") != 0 || system(command) != 0;
}

static int entries(const char *path)
{
    DIR *folder = opendir(path);
    int count = 0;

    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count - 2;
}

static void make_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void assert_holds(const char *path, const char *text)
{
    struct buf bytes;

    buf_init(&bytes, 1000);
    assert_int_equal(file_read(path, &bytes, NULL), STATUS_OK);
    assert_string_equal(buf_peek(&bytes), text);
    buf_done(&bytes);
}

static void assert_refused(const char *path, enum status expected, const char *words)
{
    struct buf bytes;
    struct fault fault = { "" };

    buf_init(&bytes, 8);
    assert_int_equal(file_read(path, &bytes, &fault), expected);
    assert_non_null(strstr(fault.text, path));
    if (strstr(fault.text, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", fault.text, words);
    assert_int_equal(bytes.length, 0);
    assert_int_equal(buf_status(&bytes), STATUS_OK);
    buf_done(&bytes);
}

static void a_file_is_read_up_to_the_cap(void **state)
{
    (void)state;
    make_file("empty", "");
    make_file("full", "12345678");
    make_file("over", "123456789");
    assert_holds("empty", "");
    assert_holds("full", "12345678");
    assert_refused("over", STATUS_TOO_LARGE, "8 bytes");
}

static void what_is_no_regular_file_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir("folder", 0700), 0);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(symlink("b", "a"), 0);
    assert_int_equal(symlink("a", "b"), 0);
    assert_refused("folder", STATUS_INVALID, "not a regular file");
    assert_refused("pipe", STATUS_INVALID, "not a regular file");
    assert_refused("/dev/null", STATUS_INVALID, "not a regular file");
    assert_refused("a", STATUS_IO, "symbolic links");
    assert_refused("missing", STATUS_NOT_FOUND, "No such file");
}

static void a_stream_is_read_whatever_its_size_says(void **state)
{
    struct buf bytes;

    (void)state;
    make_file("over", "123456789");
    buf_init(&bytes, 8);
    assert_int_equal(file_read_stream("over", &bytes, NULL), STATUS_TOO_LARGE);
    assert_int_equal(bytes.length, 0);
    buf_done(&bytes);
    buf_init(&bytes, 1 << 20);
    if (access("/proc/self/status", R_OK) == 0) {
        assert_int_equal(file_read_stream("/proc/self/status", &bytes, NULL), STATUS_OK);
        assert_non_null(strstr(buf_peek(&bytes), "Name:"));
    }
    buf_done(&bytes);
}

static void a_written_file_replaces_the_old_one(void **state)
{
    struct stat facts;
    mode_t mask = umask(022);

    (void)state;
    assert_int_equal(file_write_whole("f", "one", 3, NULL), STATUS_OK);
    assert_holds("f", "one");
    assert_int_equal(file_write_whole("./f", "", 0, NULL), STATUS_OK);
    assert_holds("f", "");
    assert_int_equal(stat("f", &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0644);
    assert_int_equal(entries("."), 1);
    umask(mask);
}

static void a_file_that_cannot_be_written_leaves_the_old_one(void **state)
{
    struct fault fault;

    (void)state;
    assert_int_equal(mkdir("folder", 0700), 0);
    assert_int_equal(symlink("/dev/null", "link"), 0);
    assert_int_equal(file_write_whole("folder", "x", 1, &fault), STATUS_INVALID);
    assert_int_equal(file_write_whole("link", "x", 1, &fault), STATUS_INVALID);
    assert_string_equal(fault.text, "link: not a regular file");
    assert_int_equal(file_write_whole("missing/f", "x", 1, &fault), STATUS_NOT_FOUND);
    assert_non_null(strstr(fault.text, "missing/f"));
    assert_int_equal(file_write_whole("", "x", 1, &fault), STATUS_NOT_FOUND);
    assert_int_equal(file_write_whole("folder/", "x", 1, &fault), STATUS_NOT_FOUND);
    assert_int_equal(entries("."), 2);
    assert_int_equal(entries("folder"), 0);
}

static void a_long_name_is_no_obstacle(void **state)
{
    char name[256];

    (void)state;
    memset(name, 'n', 255);
    name[255] = '\0';
    assert_int_equal(file_write_whole(name, "x", 1, NULL), STATUS_OK);
    assert_holds(name, "x");
    assert_int_equal(unlink(name), 0);
    assert_int_equal(entries("."), 0);
}

/* A disk that is full, for every user: files end at 10,000 bytes. */
static struct rlimit fill_disk(void)
{
    struct rlimit before, limit;

    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 10000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    return before;
}

static void a_full_disk_leaves_nothing_behind(void **state)
{
    static char large[20000];
    const struct folder_file files[] = { { "small", "x", 1 }, { "large", large, sizeof large } };
    struct fault fault = { "" };
    struct rlimit before;

    (void)state;
    make_file("f", "old");
    before = fill_disk();
    assert_int_equal(file_write_whole("f", large, sizeof large, &fault), STATUS_IO);
    assert_string_equal(fault.text, "f: File too large");
    assert_int_equal(folder_write_whole(".", "run", files, 2, &fault), STATUS_IO);
    assert_string_equal(fault.text, "./run: File too large");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_holds("f", "old");
    assert_int_equal(entries("."), 1);
}

static void a_folder_appears_with_all_its_files(void **state)
{
    const struct folder_file files[] = { { "run.json", "{}", 2 }, { "empty", "", 0 } };

    (void)state;
    assert_int_equal(folder_write_whole(".", "run", files, 2, NULL), STATUS_OK);
    assert_holds("run/run.json", "{}");
    assert_holds("run/empty", "");
    assert_int_equal(entries("run"), 2);
    assert_int_equal(entries("."), 1);
}

static void what_is_there_already_is_never_replaced(void **state)
{
    const struct folder_file files[] = { { "a", "new", 3 } };

    (void)state;
    assert_int_equal(mkdir("empty", 0700), 0);
    assert_int_equal(mkdir("full", 0700), 0);
    make_file("full/a", "old");
    make_file("file", "old");
    assert_int_equal(folder_write_whole(".", "empty", files, 1, NULL), STATUS_EXISTS);
    assert_int_equal(folder_write_whole(".", "full", files, 1, NULL), STATUS_EXISTS);
    assert_int_equal(folder_write_whole(".", "file", files, 1, NULL), STATUS_EXISTS);
    assert_int_equal(folder_write_whole("missing", "x", files, 1, NULL), STATUS_NOT_FOUND);
    assert_int_equal(entries("empty"), 0);
    assert_holds("full/a", "old");
    assert_holds("file", "old");
    assert_int_equal(entries("."), 3);
}

static void two_files_of_one_name_are_refused_without_a_trace(void **state)
{
    const struct folder_file files[] = { { "a", "1", 1 }, { "a", "2", 1 } };

    (void)state;
    assert_int_equal(folder_write_whole(".", "run", files, 2, NULL), STATUS_EXISTS);
    assert_int_equal(entries("."), 0);
}

static void folders_are_made_with_all_above_them(void **state)
{
    struct fault fault;
    char path[8192];

    assert_int_equal(folder_make("a/b//c/", NULL), STATUS_OK);
    assert_int_equal(entries("a/b/c"), 0);
    assert_int_equal(folder_make("a/b/c", NULL), STATUS_OK);
    assert_int_equal(folder_make(*state, NULL), STATUS_OK);
    assert_int_equal(folder_make("/", NULL), STATUS_OK);
    make_file("a/file", "");
    assert_int_equal(folder_make("a/file/b", &fault), STATUS_NOT_FOUND);
    assert_string_equal(fault.text, "a/file: Not a directory");
    assert_int_equal(folder_make("a/file", &fault), STATUS_NOT_FOUND);
    assert_int_equal(folder_make("", &fault), STATUS_NOT_FOUND);
    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = '\0';
    assert_int_equal(folder_make(path, &fault), STATUS_IO);
}

static void a_probe_leaves_no_trace(void **state)
{
    struct fault fault;

    (void)state;
    assert_int_equal(folder_probe(".", NULL), STATUS_OK);
    assert_int_equal(entries("."), 0);
    make_file("file", "");
    assert_int_equal(folder_probe("file", &fault), STATUS_NOT_FOUND);
    assert_int_equal(folder_probe("missing", &fault), STATUS_NOT_FOUND);
    assert_non_null(strstr(fault.text, "missing"));
    if (geteuid() == 0)
        return; /* to whom nothing is denied */
    assert_int_equal(mkdir("locked", 0500), 0);
    assert_int_equal(folder_probe("locked", &fault), STATUS_DENIED);
    assert_int_equal(file_write_whole("locked/f", "x", 1, &fault), STATUS_DENIED);
}

#define IN_FRESH_FOLDER(test)                                                                      \
    cmocka_unit_test_setup_teardown(test, enter_fresh_folder, leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FRESH_FOLDER(a_file_is_read_up_to_the_cap),
        IN_FRESH_FOLDER(what_is_no_regular_file_is_refused),
        IN_FRESH_FOLDER(a_stream_is_read_whatever_its_size_says),
        IN_FRESH_FOLDER(a_written_file_replaces_the_old_one),
        IN_FRESH_FOLDER(a_file_that_cannot_be_written_leaves_the_old_one),
        IN_FRESH_FOLDER(a_long_name_is_no_obstacle),
        IN_FRESH_FOLDER(a_full_disk_leaves_nothing_behind),
        IN_FRESH_FOLDER(a_folder_appears_with_all_its_files),
        IN_FRESH_FOLDER(what_is_there_already_is_never_replaced),
        IN_FRESH_FOLDER(two_files_of_one_name_are_refused_without_a_trace),
        IN_FRESH_FOLDER(folders_are_made_with_all_above_them),
        IN_FRESH_FOLDER(a_probe_leaves_no_trace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
