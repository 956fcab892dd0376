/* The archive: a folder with run.json, a figure and their SHA-256 sums (docs/archive.md). */
#ifndef SONDE_REPORT_ARCHIVE_H
#define SONDE_REPORT_ARCHIVE_H

#include "proto/base/buf.h"
#include "proto/wire/run.h"

enum { ARCHIVE_NAME_SIZE = 96, ARCHIVE_PATH_SIZE = 4096 };

/* Creates `parent` when missing and checks that an archive can be made there, before anything is
 * measured. */
enum status archive_prepare(const char *parent, struct fault *fault) must_check;

/* Writes the run whole or not at all as parent/<stamp>-<kind>-<8 hex of id>/ with run.json, its
 * figure and SHA256SUMS. The run must be one that validate_run accepts (else STATUS_CORRUPT and the
 * fault says which rule; that is our own bug, and nothing is written). One that is there already
 * and says the same is as good; with other contents it is STATUS_EXISTS. out_path is the folder. */
enum status archive_write(const char *parent, const struct run *run,
                          char out_path[ARCHIVE_PATH_SIZE], struct fault *fault) must_check;

/* Reads and checks an archive: `path` is its folder or its run.json. In a folder every file that
 * SHA256SUMS names is checked and run.json must be among them; a bare run.json beside a SHA256SUMS
 * is checked against it too. Refuses whatever archive.md and measurement.md rule out. The fault is
 * one line: file, place (JSON pointer) and what is wrong. The run is the caller's (record_done). */
enum status archive_read(const char *path, struct run *out_run, struct fault *fault) must_check;

/* Reads and checks the text of a run.json, of any kind that this version knows. The run is the
 * caller's (run_done). */
enum status archive_parse(const struct buf *bytes, struct run *out_run,
                          struct fault *fault) must_check;

#endif
