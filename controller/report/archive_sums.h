/* SHA256SUMS, in the form that `sha256sum -c` reads: "<64 hex digits>  <name>\n" for each file. */
#ifndef SONDE_REPORT_ARCHIVE_SUMS_H
#define SONDE_REPORT_ARCHIVE_SUMS_H

#include <stddef.h>

#include "proto/base/buf.h"
#include "proto/base/digest.h"

enum { SUMS_NAME_SIZE = 128, SUMS_MAX = 64, SUMS_BYTES = 64 << 10 };

struct sum {
    char hex[DIGEST_HEX_SIZE];
    char name[SUMS_NAME_SIZE];
};

struct sums {
    struct sum entry[SUMS_MAX];
    size_t count;
};

/* Appends the line of one file. */
void sums_append(struct buf *out, const char *name, const void *bytes, size_t length);

/* Reads a whole SHA256SUMS. Refused: any other form, upper-case digits, names that leave the folder
 * or hold control bytes, a name twice, SHA256SUMS itself, more than SUMS_MAX lines. `path` stands
 * in front of the fault, with the line. */
enum status sums_parse(const char *text, size_t length, const char *path, struct sums *out_sums,
                       struct fault *fault) must_check;

/* The entry of this name or NULL. */
const struct sum *sums_find(const struct sums *sums, const char *name);

/* Checks a file's bytes against its entry. */
enum status sums_check(const struct sum *sum, const void *bytes, size_t length, const char *path,
                       struct fault *fault) must_check;

#endif
