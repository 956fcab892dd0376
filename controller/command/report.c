/* Owns `sonde report`: reads archives, and draws them or tells them. Starts no measurement. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/command/command.h"
#include "controller/command/options.h"
#include "controller/command/style.h"
#include "controller/report/archive.h"
#include "controller/report/figures.h"
#include "controller/report/terminal.h"
#include "proto/base/file.h"
#include "proto/base/text.h"
#include "proto/wire/record_json.h"

enum { OUTPUT_BYTES = 64 << 20 };

struct request {
    const char *output; /* NULL: words to stdout */
    const char *schema; /* a kind of run, or NULL */
    const char *paths[OPTION_OPERANDS_MAX];
    size_t count;
};

struct archives {
    struct run *runs;
    size_t count; /* of those that were read */
    size_t bad;
};

static enum options_result parse(int argc, char **argv, struct request *request)
{
    const struct option table[] = {
        { .name = "output",
          .argument = "FILE.svg",
          .help = "draw one figure of all archives, a part for each",
          .value = &request->output },
        { .name = "schema",
          .argument = "KIND",
          .help = "print the JSON Schema of run.json for runs of this kind (loopback, buffers or "
                  "mtu) and do nothing else",
          .value = &request->schema },
    };
    struct options options = {
        .command = "sonde report",
        .usage = "PATH... [flags]",
        .about = "Reads archives (folders, or their run.json), checks that their sums and their\n"
                 "accounts add up, and prints what each one says, or draws all of them as one\n"
                 "figure: the grid of lost echoes, what receive buffers held and lost, or what\n"
                 "paths carry; runs of these kinds need a figure each. Measures nothing.",
        .table = table,
        .count = sizeof table / sizeof table[0],
        .operands = request->paths,
        .examples = "  sonde report sonde-runs/20261130T184410Z-loopback-0708095d\n"
                    "  sonde report before/run.json after/run.json --output loss.svg\n",
    };
    enum options_result result = options_parse(&options, argc, argv);

    request->count = options.operand_count;
    return result;
}

static enum exit_code complain(const char *text)
{
    fprintf(stderr, "sonde report: %s\n", text);
    return EXIT_FAILED;
}

static enum exit_code put_stdout(const struct buf *text)
{
    if (fwrite(buf_peek(text), 1, text->length, stdout) == text->length && fflush(stdout) == 0)
        return EXIT_MEASURED;
    return EXIT_FAILED; /* main says why: it closes stdout */
}

/* A pair's run.json is described by the schema of kind loopback. */
static const struct {
    enum run_kind kind;
    const char *title;
} schemas[] = {
    { RUN_LOOPBACK, RUN_SCHEMA },
    { RUN_BUFFERS, RUN_SCHEMA " (buffers)" },
    { RUN_MTU, RUN_SCHEMA " (mtu)" },
};
enum { SCHEMA_COUNT = sizeof schemas / sizeof schemas[0] };

static enum exit_code print_schema(const char *kind)
{
    enum exit_code code = EXIT_FAILED;
    struct buf text;
    size_t i = 0;

    while (i < SCHEMA_COUNT && strcmp(kind, run_kind_names[schemas[i].kind]) != 0)
        i++;
    if (i == SCHEMA_COUNT) {
        fputs("sonde report: --schema: this kind is not known: one of ", stderr);
        for (i = 0; i < SCHEMA_COUNT; i++)
            fprintf(stderr, "%s%s", i > 0 ? ", " : "", run_kind_names[schemas[i].kind]);
        fputs("\n", stderr);
        return EXIT_USAGE;
    }
    buf_init(&text, OUTPUT_BYTES);
    if (record_schema(run_record_of(schemas[i].kind), schemas[i].title, &text) == STATUS_OK)
        code = put_stdout(&text);
    else
        complain("the schema could not be made");
    buf_done(&text);
    return code;
}

/* Every bad archive gets its line, so that a user sees all of them at once. */
static void read_all(const struct request *request, struct archives *archives)
{
    for (size_t i = 0; i < request->count; i++) {
        struct fault fault = { "" };

        if (archive_read(request->paths[i], &archives->runs[archives->count], &fault) ==
            STATUS_OK) {
            archives->count++;
        } else {
            complain(fault.text);
            archives->bad++;
        }
    }
}

static enum exit_code draw(const struct archives *archives, const char *output)
{
    const struct run **runs = calloc(archives->count, sizeof *runs);
    struct fault fault = { "" };
    struct buf svg;
    enum status status;

    if (runs == NULL)
        abort();
    for (size_t i = 0; i < archives->count; i++)
        runs[i] = &archives->runs[i];
    buf_init(&svg, OUTPUT_BYTES);
    status = figure_runs(runs, archives->count, &svg);
    if (status != STATUS_OK)
        fault_set(&fault, status, "%s: the figure is %s", output, status_text(status));
    else
        status = file_write_whole(output, svg.data, svg.length, &fault);
    buf_done(&svg);
    free(runs);
    return status == STATUS_OK ? EXIT_MEASURED : complain(fault.text);
}

/* Runs that cannot stand in one figure are named, the first of each. */
static bool check_combination(const struct archives *archives, const struct request *request)
{
    for (size_t i = 1; i < archives->count; i++) {
        enum run_kind first = archives->runs[0].kind, kind = archives->runs[i].kind;
        struct fault fault = { "" };

        if (figure_combines(first, kind))
            continue;
        /* Through a fault, so that no control byte of a path goes out. */
        (void)fault_set(&fault, STATUS_UNSUPPORTED,
                        "--output: %.200s is of kind %s and %.200s of kind %s; draw a figure of "
                        "each",
                        request->paths[0], run_kind_names[first], request->paths[i],
                        run_kind_names[kind]);
        complain(fault.text);
        return false;
    }
    return true;
}

static enum exit_code tell(const struct archives *archives)
{
    struct terminal_style style = style_of_stdout();
    enum exit_code code = EXIT_MEASURED;

    for (size_t i = 0; i < archives->count && code == EXIT_MEASURED; i++) {
        struct buf text;

        buf_init(&text, OUTPUT_BYTES);
        if (i > 0)
            buf_text(&text, "\n\n");
        terminal_run(&archives->runs[i], style, &text);
        code = buf_status(&text) == STATUS_OK ? put_stdout(&text)
                                              : complain("the account is too long");
        buf_done(&text);
    }
    return code;
}

static enum exit_code report(const struct request *request)
{
    struct archives archives = { .runs = calloc(request->count, sizeof *archives.runs) };
    enum exit_code code = EXIT_FAILED;

    if (archives.runs == NULL)
        abort();
    read_all(request, &archives);
    if (archives.bad == 0 && request->output != NULL && !check_combination(&archives, request))
        code = EXIT_USAGE;
    else if (archives.bad == 0)
        code = request->output != NULL ? draw(&archives, request->output) : tell(&archives);
    for (size_t i = 0; i < archives.count; i++)
        run_done(&archives.runs[i]);
    free(archives.runs);
    return code;
}

enum exit_code command_report(int argc, char **argv)
{
    struct request request = { .output = NULL };

    switch (parse(argc, argv, &request)) {
    case OPTIONS_DONE:
        return EXIT_MEASURED;
    case OPTIONS_BAD:
        return EXIT_USAGE;
    case OPTIONS_GO:
        break;
    }
    if (request.schema != NULL && request.count == 0)
        return print_schema(request.schema);
    if (request.schema != NULL || request.count == 0) {
        fprintf(stderr, "sonde report: %s; try 'sonde report --help'\n",
                request.schema != NULL ? "--schema takes no PATH" : "at least one PATH is needed");
        return EXIT_USAGE;
    }
    return report(&request);
}
