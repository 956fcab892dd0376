/* Owns `sonde show RUN`: fetches a run from a controller, archives it here and says what it says.
 */
#include <stdio.h>

#include "controller/command/command.h"
#include "controller/command/keep.h"
#include "controller/command/remote.h"

struct request {
    struct remote_flags remote;
    const char *output;
    bool json;
    const char *words[OPTION_OPERANDS_MAX];
    size_t count;
};

static enum exit_code show(const struct request *request, const char *command)
{
    const struct keep how = { command, request->output, request->json, terminal_run };
    struct remote *remote = NULL;
    struct fault fault = { "" };
    struct run run;
    enum exit_code code;
    enum status status = archive_prepare(request->output, &fault);

    if (status == STATUS_OK)
        status = remote_open(&request->remote, &remote, &fault);
    if (status == STATUS_OK)
        status = remote_fetch_run(remote, request->words[0], &run, &fault);
    remote_close(remote);
    if (status != STATUS_OK) {
        fprintf(stderr, "sonde %s: %s\n", command, fault.text);
        return EXIT_FAILED;
    }
    code = keep_run(&how, &run);
    run_done(&run);
    return code;
}

enum exit_code command_show(int argc, char **argv)
{
    struct request request = { .output = "sonde-runs" };
    const struct option table[] = {
        REMOTE_OPTIONS(&request.remote),
        { .name = "output",
          .argument = "DIR",
          .value = &request.output,
          .help = "where archives go (default: ./sonde-runs)" },
        { .name = "json", .flag = &request.json, .help = "print run.json and nothing else" },
    };
    struct options options = {
        .command = "sonde show",
        .usage = "RUN [flags]",
        .about =
            "Fetches a run between two hosts, of cases or of path MTUs, from a controller as an\n"
            "archive, which `sonde report` reads, and prints what it says. RUN is \"latest\", or "
            "the\n"
            "first letters (4 at least) of its id, as `sonde results` prints it.",
        .table = table,
        .count = sizeof table / sizeof table[0],
        .operands = request.words,
        .examples = "  sonde show latest\n  sonde show 019bd3a1 --output archives\n",
    };

    switch (options_parse(&options, argc, argv)) {
    case OPTIONS_DONE:
        return EXIT_MEASURED;
    case OPTIONS_BAD:
        return EXIT_USAGE;
    case OPTIONS_GO:
        break;
    }
    if (options.operand_count == 1)
        return show(&request, argv[0]);
    fprintf(stderr, "sonde show: exactly one RUN is needed: \"latest\" or the beginning of an id; "
                    "try 'sonde results'\n");
    return EXIT_USAGE;
}
