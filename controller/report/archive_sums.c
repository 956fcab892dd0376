/* Owns the form of SHA256SUMS and the comparison. Reads no file. */
#include "controller/report/archive_sums.h"

#include <stdbool.h>
#include <string.h>

void sums_append(struct buf *out, const char *name, const void *bytes, size_t length)
{
    char hex[DIGEST_HEX_SIZE];

    digest_sha256_hex(bytes, length, hex);
    buf_printf(out, "%s  %s\n", hex, name);
}

static enum status bad_line(struct fault *fault, const char *path, size_t line, const char *what)
{
    return fault_set(fault, STATUS_INVALID, "%s: line %zu: %s", path, line, what);
}

/* A plain file name in the archive's own folder. */
static bool name_ok(const char *name, size_t length)
{
    if (length == 0 || length >= SUMS_NAME_SIZE || name[0] == '.')
        return false;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)name[i];

        if (byte < 0x20 || byte == 0x7f || byte == '/' || byte == '\\')
            return false;
    }
    return true;
}

/* `text` is one line without its end. */
static enum status parse_line(const char *text, size_t length, struct sum *out_sum,
                              const char **out_wrong)
{
    enum { HEX = DIGEST_HEX_SIZE - 1, NAME_AT = HEX + 2 };

    *out_wrong = "must be 64 lower-case hexadecimal digits, two blanks and a file name";
    if (length <= NAME_AT)
        return STATUS_INVALID;
    for (size_t i = 0; i < HEX; i++) {
        if (text[i] == '\0' || strchr("0123456789abcdef", text[i]) == NULL)
            return STATUS_INVALID;
    }
    if (text[HEX] != ' ' || (text[HEX + 1] != ' ' && text[HEX + 1] != '*'))
        return STATUS_INVALID;
    *out_wrong = "a file name must be plain: no '/', no '\\', no control bytes, no dot first";
    if (!name_ok(text + NAME_AT, length - NAME_AT))
        return STATUS_INVALID;
    memcpy(out_sum->hex, text, HEX);
    out_sum->hex[HEX] = '\0';
    memcpy(out_sum->name, text + NAME_AT, length - NAME_AT);
    out_sum->name[length - NAME_AT] = '\0';
    return STATUS_OK;
}

static enum status add_line(const char *text, size_t length, struct sums *sums,
                            const char **out_wrong)
{
    struct sum sum;
    enum status status = parse_line(text, length, &sum, out_wrong);

    if (status != STATUS_OK)
        return status;
    *out_wrong = "SHA256SUMS cannot have a sum of itself";
    if (strcmp(sum.name, "SHA256SUMS") == 0)
        return STATUS_INVALID;
    *out_wrong = "the file is there twice";
    if (sums_find(sums, sum.name) != NULL)
        return STATUS_INVALID;
    *out_wrong = "too many files";
    if (sums->count == SUMS_MAX)
        return STATUS_INVALID;
    sums->entry[sums->count++] = sum;
    return STATUS_OK;
}

enum status sums_parse(const char *text, size_t length, const char *path, struct sums *out_sums,
                       struct fault *fault)
{
    struct sums sums = { .count = 0 };
    size_t line = 0;

    while (length > 0) {
        const char *end = memchr(text, '\n', length);
        const char *wrong;

        line++;
        if (end == NULL)
            return bad_line(fault, path, line, "the last line has no end");
        if (add_line(text, (size_t)(end - text), &sums, &wrong) != STATUS_OK)
            return bad_line(fault, path, line, wrong);
        length -= (size_t)(end - text) + 1;
        text = end + 1;
    }
    *out_sums = sums;
    return STATUS_OK;
}

const struct sum *sums_find(const struct sums *sums, const char *name)
{
    for (size_t i = 0; i < sums->count; i++) {
        if (strcmp(sums->entry[i].name, name) == 0)
            return &sums->entry[i];
    }
    return NULL;
}

enum status sums_check(const struct sum *sum, const void *bytes, size_t length, const char *path,
                       struct fault *fault)
{
    char hex[DIGEST_HEX_SIZE];

    digest_sha256_hex(bytes, length, hex);
    if (strcmp(hex, sum->hex) == 0)
        return STATUS_OK;
    return fault_set(fault, STATUS_CORRUPT,
                     "%s: its SHA-256 is %.12s..., but SHA256SUMS has %.12s...", path, hex,
                     sum->hex);
}
