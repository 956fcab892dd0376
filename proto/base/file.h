/* Files that are whole or absent, read under a cap. */
#ifndef SONDE_BASE_FILE_H
#define SONDE_BASE_FILE_H

#include <stddef.h>

#include "proto/base/buf.h"
#include "proto/base/status.h"

/* Reads a regular file of at most out_bytes->cap bytes into the (empty) buffer. Anything that is
 * not a regular file, links in a loop and larger files are refused. The fault names `path`. */
enum status file_read(const char *path, struct buf *out_bytes, struct fault *fault) must_check;

/* As file_read for what reports its size as 0, such as files of /proc: reads to the end. */
enum status file_read_stream(const char *path, struct buf *out_bytes,
                             struct fault *fault) must_check;

/* Makes `path` hold exactly these bytes or leaves it as it was: writes beside it, syncs, renames,
 * syncs the folder. On failure nothing stays behind. What is there already and is no regular file
 * (a folder, a link, a device) is refused, not replaced. */
enum status file_write_whole(const char *path, const void *bytes, size_t length,
                             struct fault *fault) must_check;

/* Makes the folder and every missing one above it; one that is there already is fine. */
enum status folder_make(const char *path, struct fault *fault) must_check;

/* Checks that files can be made in an existing folder, by making one and removing it. */
enum status folder_probe(const char *path, struct fault *fault) must_check;

/* One file of a folder that is to appear whole. */
struct folder_file {
    const char *name;
    const void *bytes;
    size_t length;
};

/* Makes folder `parent`/`name` with these files appear at once, or not at all (written under
 * another name, synced, renamed). STATUS_EXISTS when something of that name is there already.
 * Names are one component each, without '/'. */
enum status folder_write_whole(const char *parent, const char *name,
                               const struct folder_file *files, size_t count,
                               struct fault *fault) must_check;

#endif
