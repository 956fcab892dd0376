/* Owns the archive's folder: which files, their names, their sums, and that it is whole. What the
 * files hold is made and checked elsewhere. */
#include "controller/report/archive.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "controller/report/archive_sums.h"
#include "controller/report/figures.h"
#include "controller/report/validate.h"
#include "proto/base/clock.h"
#include "proto/base/digest.h"
#include "proto/base/file.h"
#include "proto/wire/limits.h"
#include "proto/wire/record_json.h"

static const char run_name[] = "run.json";
static const char sums_name[] = "SHA256SUMS";

enum { PATH_SHOWN = 240, FIGURE_BYTES = 64 << 20 };

/* The end of a path that is too long for a fault's one line. */
static const char *shown(const char *path)
{
    size_t length = strlen(path);

    return length <= PATH_SHOWN ? path : path + length - PATH_SHOWN;
}

/* --- writing --------------------------------------------------------------------------------- */

enum status archive_prepare(const char *parent, struct fault *fault)
{
    enum status status = folder_make(parent, fault);

    return status == STATUS_OK ? folder_probe(parent, fault) : status;
}

/* <UTC stamp>-<kind>-<8 hex of id>: the last 8, since the first ones of a version 7 are the time,
 * and two runs of one minute share them. */
static void folder_name(const struct run *run, char out_name[ARCHIVE_NAME_SIZE])
{
    char stamp[WALL_TEXT_SIZE] = "";
    struct wall started = { 0 };
    size_t length = strlen(run->id);

    if (wall_parse(run->started, &started) == STATUS_OK)
        wall_format_compact(started, stamp);
    snprintf(out_name, ARCHIVE_NAME_SIZE, "%s-%s-%s", stamp, run_kind_names[run->kind],
             run->id + (length > 8 ? length - 8 : 0));
}

struct contents {
    const char *figure_name;
    struct buf run, figure, sums;
};

static enum status make_contents(const struct run *run, struct contents *contents,
                                 struct fault *fault)
{
    enum status status = record_to_json(run_record_of(run->kind), run, &contents->run);

    if (status == STATUS_OK) {
        buf_text(&contents->run, "\n");
        status = buf_status(&contents->run);
    }
    if (status != STATUS_OK)
        return fault_set(fault, status, "%s: %s", run_name, status_text(status));
    status = figure_runs(&run, 1, &contents->figure);
    if (status != STATUS_OK)
        return fault_set(fault, status, "%s: %s", contents->figure_name, status_text(status));
    sums_append(&contents->sums, run_name, contents->run.data, contents->run.length);
    sums_append(&contents->sums, contents->figure_name, contents->figure.data,
                contents->figure.length);
    return buf_status(&contents->sums);
}

static enum status write_folder(const char *parent, const char *name,
                                const struct contents *contents, struct fault *fault)
{
    const struct folder_file files[] = {
        { run_name, contents->run.data, contents->run.length },
        { contents->figure_name, contents->figure.data, contents->figure.length },
        { sums_name, contents->sums.data, contents->sums.length },
    };

    return folder_write_whole(parent, name, files, sizeof files / sizeof files[0], fault);
}

/* The archive that is there already says the same. */
static bool is_there(const char *parent, const char *name, const struct contents *contents)
{
    char path[ARCHIVE_PATH_SIZE + SUMS_NAME_SIZE];
    struct buf sums;
    bool same;

    snprintf(path, sizeof path, "%s/%s/%s", parent, name, sums_name);
    buf_init(&sums, SUMS_BYTES);
    same = file_read(path, &sums, NULL) == STATUS_OK && sums.length == contents->sums.length &&
           memcmp(sums.data, contents->sums.data, sums.length) == 0;
    buf_done(&sums);
    return same;
}

enum status archive_write(const char *parent, const struct run *run,
                          char out_path[ARCHIVE_PATH_SIZE], struct fault *fault)
{
    struct fault why = { "" };
    struct contents contents;
    char name[ARCHIVE_NAME_SIZE];
    enum status status = validate_run(run, &why);

    if (status != STATUS_OK)
        return fault_set(fault, STATUS_CORRUPT, "%s", why.text);
    folder_name(run, name);
    if (strlen(parent) + strlen(name) + 2 > ARCHIVE_PATH_SIZE)
        return fault_set(fault, STATUS_RANGE, "%s: this path is too long", shown(parent));
    contents.figure_name = figure_file_name(run->kind);
    buf_init(&contents.run, LIMIT_JSON_BYTES);
    buf_init(&contents.figure, FIGURE_BYTES);
    buf_init(&contents.sums, SUMS_BYTES);
    status = make_contents(run, &contents, fault);
    if (status == STATUS_OK)
        status = write_folder(parent, name, &contents, fault);
    if (status == STATUS_EXISTS && is_there(parent, name, &contents))
        status = STATUS_OK;
    if (status == STATUS_OK)
        snprintf(out_path, ARCHIVE_PATH_SIZE, "%s/%s", parent, name);
    buf_done(&contents.sums);
    buf_done(&contents.figure);
    buf_done(&contents.run);
    return status;
}

/* --- reading --------------------------------------------------------------------------------- */

/* A path of a file beside others. */
struct place {
    char folder[ARCHIVE_PATH_SIZE];
    char name[SUMS_NAME_SIZE]; /* of the run's file */
    bool is_folder;            /* the archive was named by its folder, so the sums must be there */
};

static enum status too_long(const char *path, struct fault *fault)
{
    return fault_set(fault, STATUS_RANGE, "%s: this path is too long", shown(path));
}

static enum status find_place(const char *path, struct place *out_place, struct fault *fault)
{
    struct stat facts;
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    int length = slash != NULL ? (int)(slash - path) : 1;

    if (strlen(path) >= ARCHIVE_PATH_SIZE - SUMS_NAME_SIZE - 2)
        return too_long(path, fault);
    if (stat(path, &facts) != 0)
        return fault_errno(fault, errno, "%s", shown(path));
    out_place->is_folder = S_ISDIR(facts.st_mode);
    if (out_place->is_folder) {
        snprintf(out_place->folder, sizeof out_place->folder, "%s", path);
        snprintf(out_place->name, sizeof out_place->name, "%s", run_name);
        return STATUS_OK;
    }
    if (strlen(name) >= sizeof out_place->name)
        return too_long(path, fault);
    snprintf(out_place->folder, sizeof out_place->folder, "%.*s", length == 0 ? 1 : length,
             slash == NULL ? "." : path);
    snprintf(out_place->name, sizeof out_place->name, "%s", name);
    return STATUS_OK;
}

/* The path of a file, as the user would write it: no "./" that was not there. */
static void path_of(const struct place *place, const char *name, char out_path[ARCHIVE_PATH_SIZE])
{
    size_t length = strlen(place->folder);
    bool slash = length > 0 && place->folder[length - 1] == '/';

    if (strcmp(place->folder, ".") == 0 && !place->is_folder)
        snprintf(out_path, ARCHIVE_PATH_SIZE, "%s", name);
    else
        snprintf(out_path, ARCHIVE_PATH_SIZE, "%.*s%s%.*s", ARCHIVE_PATH_SIZE - SUMS_NAME_SIZE - 2,
                 place->folder, slash ? "" : "/", SUMS_NAME_SIZE - 1, name);
}

/* file_read with a fault that holds the end of a long path. */
static enum status read_at(const char *path, struct buf *out_bytes, struct fault *fault)
{
    struct fault why = { "" };
    enum status status = file_read(path, out_bytes, &why);
    const char *behind = why.text + strlen(path);

    if (status == STATUS_OK || strlen(path) <= PATH_SHOWN)
        return status == STATUS_OK ? status : fault_set(fault, status, "%s", why.text);
    return fault_set(fault, status, "%s%s", shown(path),
                     strlen(why.text) > strlen(path) ? behind : ": could not be read");
}

/* *out_found stays false when there is no SHA256SUMS and none is asked for. */
static enum status read_sums(const struct place *place, struct sums *out_sums, bool *out_found,
                             struct fault *fault)
{
    char path[ARCHIVE_PATH_SIZE];
    struct buf bytes;
    enum status status;

    path_of(place, sums_name, path);
    buf_init(&bytes, SUMS_BYTES);
    status = read_at(path, &bytes, fault);
    if (status == STATUS_NOT_FOUND && !place->is_folder)
        return STATUS_OK;
    if (status == STATUS_OK)
        status = sums_parse(buf_peek(&bytes), bytes.length, shown(path), out_sums, fault);
    if (status == STATUS_OK)
        *out_found = true;
    buf_done(&bytes);
    if (status != STATUS_OK || sums_find(out_sums, place->name) != NULL)
        return status;
    /* A run's file of another name may lie beside the sums of an archive. */
    if (!place->is_folder && strcmp(place->name, run_name) != 0)
        *out_found = false;
    else
        status = fault_set(fault, STATUS_CORRUPT, "%s: has no sum of %s", shown(path), run_name);
    return status;
}

/* The files that the sums name beside the run's own. */
static enum status check_others(const struct place *place, const struct sums *sums,
                                struct fault *fault)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < sums->count && status == STATUS_OK; i++) {
        char path[ARCHIVE_PATH_SIZE];
        struct buf bytes;

        if (strcmp(sums->entry[i].name, place->name) == 0)
            continue;
        path_of(place, sums->entry[i].name, path);
        buf_init(&bytes, LIMIT_JSON_BYTES);
        status = read_at(path, &bytes, fault);
        if (status == STATUS_OK)
            status =
                sums_check(&sums->entry[i], buf_peek(&bytes), bytes.length, shown(path), fault);
        buf_done(&bytes);
    }
    return status;
}

/* Which table reads it: of another schema or an unknown kind, nothing else in it is the news. */
static enum status find_record(const struct buf *bytes, const struct record **out_record,
                               struct fault *fault)
{
    struct run head;
    enum status status =
        record_from_json(&run_head_record, buf_peek(bytes), bytes->length, &head, fault);

    if (status != STATUS_OK)
        return status;
    if (strcmp(head.schema, RUN_SCHEMA) != 0)
        return fault_set(fault, STATUS_UNSUPPORTED, "/schema: \"%s\" is not known; this is %s",
                         head.schema, RUN_SCHEMA);
    *out_record = run_record_of(head.kind);
    if (*out_record == NULL)
        return fault_set(fault, STATUS_UNSUPPORTED, "/kind: \"%s\" is not known to this version",
                         run_kind_names[head.kind]);
    return STATUS_OK;
}

enum status archive_parse(const struct buf *bytes, struct run *out_run, struct fault *fault)
{
    const struct record *record = NULL;
    enum status status = find_record(bytes, &record, fault);

    if (status == STATUS_OK)
        status = record_from_json(record, buf_peek(bytes), bytes->length, out_run, fault);
    if (status != STATUS_OK)
        return status;
    status = validate_run(out_run, fault);
    if (status != STATUS_OK)
        run_done(out_run);
    return status;
}

static enum status read_run(const char *path, const struct sum *sum, struct run *out_run,
                            struct fault *fault)
{
    struct fault why = { "" };
    struct run run;
    struct buf bytes;
    enum status status;

    buf_init(&bytes, LIMIT_JSON_BYTES);
    status = read_at(path, &bytes, fault);
    if (status == STATUS_OK && sum != NULL)
        status = sums_check(sum, buf_peek(&bytes), bytes.length, shown(path), fault);
    if (status == STATUS_OK) {
        status = archive_parse(&bytes, &run, &why);
        if (status == STATUS_OK)
            *out_run = run;
        else
            fault_set(fault, status, "%s: %s", shown(path), why.text);
    }
    buf_done(&bytes);
    return status;
}

enum status archive_read(const char *path, struct run *out_run, struct fault *fault)
{
    struct place place = { .is_folder = false };
    struct sums sums = { .count = 0 };
    char run_path[ARCHIVE_PATH_SIZE];
    bool found = false;
    enum status status = find_place(path, &place, fault);

    if (status == STATUS_OK)
        status = read_sums(&place, &sums, &found, fault);
    if (status == STATUS_OK && place.is_folder)
        status = check_others(&place, &sums, fault);
    if (status != STATUS_OK)
        return status;
    path_of(&place, place.name, run_path);
    return read_run(run_path, found ? sums_find(&sums, place.name) : NULL, out_run, fault);
}
