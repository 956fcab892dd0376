/* A spool in a folder of a test's own. */
#include "tests/agent/spool_place.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include <sqlite3.h>

#include "tests/agent/faulty_disk.h"

int make_place(void **state)
{
    struct place *place = calloc(1, sizeof *place);

    assert_non_null(place);
    snprintf(place->folder, sizeof place->folder, "/tmp/test-spool-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    snprintf(place->path, sizeof place->path, "%s/spool.sqlite", place->folder);
    *state = place;
    return 0;
}

int remove_place(void **state)
{
    static const char *const endings[] = { "", "-wal", "-shm", "-journal" };
    struct place *place = *state;
    char path[160];

    faulty_disk_heal();
    spool_close(place->spool);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        snprintf(path, sizeof path, "%s%s", place->path, endings[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(place->folder), 0);
    free(place);
    return 0;
}

void open_spool(struct place *place, int64_t max_bytes)
{
    struct fault fault = { "" };

    if (spool_open(place->path, max_bytes, &place->spool, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
}

void close_spool(struct place *place)
{
    spool_close(place->spool);
    place->spool = NULL;
}

enum status put(struct spool *spool, unsigned number, size_t length, struct fault *fault)
{
    struct message_result result = { .type = MESSAGE_RESULT, .kind = "report" };
    enum status status;

    snprintf(result.id, sizeof result.id, "%036u", number);
    result.body.data = malloc(length + 1);
    assert_non_null(result.body.data);
    memset(result.body.data, (int)(number & 0xff), length);
    result.body.length = length;
    status = spool_put(spool, &result, fault);
    free(result.body.data);
    return status;
}

void must_put(struct place *place, unsigned number, size_t length)
{
    struct fault fault = { "" };

    if (put(place->spool, number, length, &fault) != STATUS_OK)
        fail_msg("%u: %s", number, fault.text);
}

bool next(struct spool *spool, int64_t *place, unsigned *out_number, size_t *out_length)
{
    struct message_result result;
    struct fault fault = { "" };
    enum status status;

    message_init(&result, MESSAGE_RESULT);
    status = spool_next(spool, *place, &result, place, &fault);
    if (status == STATUS_NOT_FOUND)
        return false;
    if (status != STATUS_OK)
        fail_msg("%s", fault.text);
    assert_string_equal(result.kind, "report");
    *out_number = (unsigned)strtoul(result.id, NULL, 10);
    *out_length = result.body.length;
    for (size_t i = 0; i < result.body.length; i++)
        assert_int_equal(result.body.data[i], *out_number & 0xff);
    message_done(&result);
    return true;
}

void assert_holds(struct place *place, unsigned first, unsigned last, size_t length)
{
    struct spool_report report;
    size_t found_length;
    unsigned found;
    int64_t at = 0;

    for (unsigned number = first; number <= last; number++) {
        assert_true(next(place->spool, &at, &found, &found_length));
        assert_int_equal(found, number);
        assert_int_equal(found_length, length);
    }
    assert_false(next(place->spool, &at, &found, &found_length));
    spool_report(place->spool, &report);
    assert_int_equal(report.waiting, last + 1 - first);
    assert_int_equal(report.bytes, (last + 1 - first) * length);
}

void assert_dropped(struct place *place, int64_t dropped)
{
    struct spool_report report;

    spool_report(place->spool, &report);
    assert_int_equal(report.dropped, dropped);
}

void as_somebody_else(const struct place *place, const char *text)
{
    sqlite3 *database;

    assert_int_equal(sqlite3_open(place->path, &database), SQLITE_OK);
    if (sqlite3_exec(database, text, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", text, sqlite3_errmsg(database));
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}
