/* Owns how a measured run gets into the archive, or somewhere at least, and onto stdout. */
#include "controller/command/keep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/command/style.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"
#include "proto/wire/limits.h"
#include "proto/wire/record_json.h"

static void add_word(struct list *words, const char *word)
{
    char *copy = strndup(word, LIMIT_COMMAND_WORD_BYTES);

    if (copy == NULL)
        abort();
    utf8_mask(copy);
    *(char **)list_append_sized(words, sizeof copy) = copy;
}

void keep_describe(struct run *run, int argc, char **argv)
{
    text_copy(run->tool.name, sizeof run->tool.name, "sonde");
    text_copy(run->tool.version, sizeof run->tool.version, command_version());
    text_copy(run->tool.source_sha256, sizeof run->tool.source_sha256, command_source_sha256());
    add_word(&run->command, "sonde");
    for (int i = 0; i < argc && i + 1 < LIMIT_COMMAND_WORDS; i++)
        add_word(&run->command, argv[i]);
}

/* Where a full or broken output folder is left for, so that nothing measured is lost. */
static enum status archive_elsewhere(const char *command, const struct run *run,
                                     char out_path[ARCHIVE_PATH_SIZE])
{
    const char *temporary = getenv("TMPDIR");
    struct fault fault;
    enum status status;

    if (temporary == NULL || *temporary == '\0')
        temporary = "/tmp";
    status = archive_write(temporary, run, out_path, &fault);
    if (status != STATUS_OK)
        fprintf(stderr, "sonde %s: nor in %s: %s\n", command, temporary, fault.text);
    else
        fprintf(stderr, "sonde %s: kept in %s instead\n", command, out_path);
    return status;
}

static enum exit_code archive(const struct keep *how, const struct run *run,
                              char out_path[ARCHIVE_PATH_SIZE])
{
    struct fault fault;
    enum status status = archive_write(how->output, run, out_path, &fault);

    if (status == STATUS_OK)
        return EXIT_MEASURED;
    fprintf(stderr, "sonde %s: the archive could not be written: %s\n", how->command, fault.text);
    if (status == STATUS_CORRUPT || archive_elsewhere(how->command, run, out_path) != STATUS_OK)
        out_path[0] = '\0';
    return EXIT_FAILED;
}

/* `path`: of the archive, "" when it is nowhere. */
static void print(const struct keep *how, const struct run *run, const char *path)
{
    struct buf text;

    buf_init(&text, LIMIT_JSON_BYTES);
    if (how->json) {
        if (record_to_json(run_record_of(run->kind), run, &text) == STATUS_OK)
            buf_text(&text, "\n");
    } else {
        how->words(run, style_of_stdout(), &text);
        if (*path != '\0')
            buf_printf(&text, "\nArchive: %s\n", path);
    }
    fwrite(buf_peek(&text), 1, text.length, stdout);
    buf_done(&text);
    if (how->json && *path != '\0')
        fprintf(stderr, "archive: %s\n", path);
}

enum exit_code keep_prepare(const char *command, const char *output)
{
    struct fault fault;

    if (archive_prepare(output, &fault) == STATUS_OK)
        return EXIT_MEASURED;
    fprintf(stderr, "sonde %s: --output: %s\n", command, fault.text);
    return EXIT_USAGE;
}

enum exit_code keep_run(const struct keep *how, const struct run *run)
{
    char path[ARCHIVE_PATH_SIZE] = "";
    enum exit_code code = archive(how, run, path);

    print(how, run, path);
    return code;
}

enum exit_code keep_outcome(const char *command, const struct run *run, bool check)
{
    enum exit_code code = EXIT_MEASURED;

    if (run->interrupted) {
        fprintf(stderr, "sonde %s: interrupted after %zu of %zu cases\n", command, run->cases.count,
                plan_case_count(&run->plan));
        return EXIT_FAILED;
    }
    for (size_t i = 0; i < run->cases.count; i++) {
        const struct case_result *result = (const struct case_result *)run->cases.items + i;

        if (result->status == CASE_ERROR) {
            fprintf(stderr, "sonde %s: case %zu could not be measured: %s\n", command, i + 1,
                    result->error);
            return EXIT_FAILED;
        }
        if (result->status == CASE_FAIL && check)
            code = EXIT_CHECK;
    }
    return code;
}
