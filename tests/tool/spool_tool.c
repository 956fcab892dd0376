/* An agent's spool on a command line, for tests in other languages.
 *
 *   spool_tool put FILE MAX_BYTES < lines     each line "ID SIZE": puts a result of that id, whose
 *                                             body is the id over and over, cut to SIZE bytes
 *   spool_tool list FILE                      prints "ID SIZE" of each result, oldest first, then
 *                                             "WAITING BYTES DROPPED"
 *
 * Exit: 0, 1 when the spool could not (the reason is printed on stderr), 2 for wrong usage.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/spool.h"
#include "proto/base/text.h"
#include "proto/wire/limits.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

static enum status put_one(struct spool *spool, const char *id, size_t size, struct fault *fault)
{
    static char body[LIMIT_RESULT_BYTES];
    struct message_result result;
    enum status status;

    message_init(&result, MESSAGE_RESULT);
    text_copy(result.id, sizeof result.id, id);
    text_copy(result.kind, sizeof result.kind, "note");
    for (size_t at = 0; at < size; at++)
        body[at] = id[at % strlen(id)];
    bytes_set(&result.body, body, size);
    status = spool_put(spool, &result, fault);
    message_done(&result);
    return status;
}

static enum status put_all(struct spool *spool, struct fault *fault)
{
    enum status status = STATUS_OK;
    char line[128], id[UUID_SIZE];
    size_t size;

    while (status == STATUS_OK && fgets(line, sizeof line, stdin) != NULL) {
        if (sscanf(line, "%36s %zu", id, &size) != 2 || size > LIMIT_RESULT_BYTES)
            status = fault_set(fault, STATUS_INVALID, "ID SIZE is expected: %s", line);
        else
            status = put_one(spool, id, size, fault);
    }
    return status;
}

static enum status list_all(struct spool *spool, struct fault *fault)
{
    struct spool_report report;
    enum status status = STATUS_OK;
    int64_t place = 0;

    while (status == STATUS_OK) {
        struct message_result result;

        message_init(&result, MESSAGE_RESULT);
        status = spool_next(spool, place, &result, &place, fault);
        if (status == STATUS_OK)
            printf("%s %zu\n", result.id, result.body.length);
        message_done(&result);
    }
    spool_report(spool, &report);
    printf("%" PRId64 " %" PRId64 " %" PRId64 "\n", report.waiting, report.bytes, report.dropped);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

int main(int argc, char **argv)
{
    bool puts = argc == 4 && strcmp(argv[1], "put") == 0;
    uint64_t max_bytes = INT64_MAX;
    struct spool *spool = NULL;
    struct fault fault = { "" };
    enum status status;

    if (!puts && (argc != 3 || strcmp(argv[1], "list") != 0))
        return EXIT_USAGE;
    if (puts && (text_to_u64(argv[3], &max_bytes) != STATUS_OK || max_bytes > INT64_MAX))
        return EXIT_USAGE;
    status = spool_open(argv[2], (int64_t)max_bytes, &spool, &fault);
    if (status == STATUS_OK)
        status = puts ? put_all(spool, &fault) : list_all(spool, &fault);
    if (status != STATUS_OK)
        fprintf(stderr, "%s\n", fault.text);
    if (spool != NULL)
        spool_close(spool);
    return status == STATUS_OK ? 0 : EXIT_FAILED;
}
