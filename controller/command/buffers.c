/* Owns `sonde buffers`: flags to a plan of experiments, a run, its archive and what is printed. The
 * instrument measures, the archive keeps, the terminal text explains; here they only meet. */
#include "agent/probe/buffers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "controller/command/command.h"
#include "controller/command/interrupt.h"
#include "controller/command/keep.h"
#include "controller/command/options.h"
#include "controller/command/progress.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"

enum { LABEL_SIZE = 200, OUTCOME_SIZE = 600, WORD_SIZE = 64 };

static const char about[] =
    "What a receive buffer holds on this machine, by experiment; without EXPERIMENT all of them,\n"
    "in less than a minute.\n"
    "ladder: buffers asked for, and granted.\n"
    "hold: datagrams that a socket holds which nobody reads, by payload.\n"
    "sweep: the same, by buffer.\n"
    "slow-reader: a reader in another process that takes its time: what is lost at which pace.\n"
    "closed-port: a port where nobody listens: another counter than a full buffer.\n"
    "idle: what the machine drops by itself, and whose sockets they are.";

static const char examples[] =
    "  sonde buffers\n"
    "  sonde buffers hold --payload 44,1472,8192,65507 --rcvbuf 4194304\n"
    "  sonde buffers slow-reader --read-ns 300000 --interval 0,100000,500000 --slow-rcvbuf 0\n"
    "  sonde buffers idle --idle 10 --json > run.json\n";

/* What the flags ask for. */
struct request {
    struct buffers_plan plan;
    const char *output;
    bool json;
    const char *operands[OPTION_OPERANDS_MAX];
    size_t operand_count;
};

/* One run of the command. */
struct view {
    struct progress progress;
};

/* --- flags ---------------------------------------------------------------------------------- */

static enum options_result parse(struct request *request, int argc, char **argv)
{
    const struct option table[] = {
        { .name = "family", .argument = "NAME", .field = "family" },
        { .name = "asked", .argument = "BYTES,...", .field = "asked" },
        { .name = "payload", .argument = "BYTES,...", .field = "payloads" },
        { .name = "rcvbuf", .argument = "BYTES", .field = "hold_rcvbuf" },
        { .name = "sends", .argument = "N", .field = "sends" },
        { .name = "sweep-payload", .argument = "BYTES", .field = "sweep_payload" },
        { .name = "sweep-rcvbuf", .argument = "BYTES,...", .field = "sweep_rcvbufs" },
        { .name = "slow-payload", .argument = "BYTES", .field = "slow_payload" },
        { .name = "slow-sends", .argument = "N", .field = "slow_sends" },
        { .name = "read-ns", .argument = "NS,...", .field = "read_ns" },
        { .name = "interval", .argument = "NS,...", .field = "intervals_ns" },
        { .name = "slow-rcvbuf", .argument = "BYTES,...", .field = "slow_rcvbufs" },
        { .name = "closed-port-sends", .argument = "N", .field = "closed_port_sends" },
        { .name = "idle", .argument = "SECONDS", .field = "idle_s" },
        { .name = "output",
          .argument = "DIR",
          .value = &request->output,
          .help = "where archives go (default: ./sonde-runs)" },
        { .name = "json", .flag = &request->json, .help = "print run.json and nothing else" },
    };
    struct options options = { .command = "sonde buffers",
                               .usage = "[EXPERIMENT] [flags]",
                               .about = about,
                               .table = table,
                               .count = sizeof table / sizeof table[0],
                               .record = &buffers_plan_record,
                               .object = &request->plan,
                               .operands = request->operands,
                               .examples = examples };
    enum options_result result = options_parse(&options, argc, argv);

    request->operand_count = options.operand_count;
    return result;
}

/* As the command line has it: words are joined by dashes there. */
static void name_experiment(enum experiment experiment, char out_name[WORD_SIZE])
{
    text_copy(out_name, WORD_SIZE, experiment_names[experiment]);
    for (char *at = out_name; *at != '\0'; at++) {
        if (*at == '_')
            *at = '-';
    }
}

static enum exit_code unknown_experiment(const char *word)
{
    char names[EXPERIMENT_COUNT][WORD_SIZE], shown[WORD_SIZE];
    const char *candidates[EXPERIMENT_COUNT + 1] = { NULL };
    const char *nearest;

    for (int i = 0; i < EXPERIMENT_COUNT; i++) {
        name_experiment((enum experiment)i, names[i]);
        candidates[i] = names[i];
    }
    nearest = text_nearest(word, candidates);
    text_copy(shown, sizeof shown, word);
    utf8_mask(shown);
    fprintf(stderr, "sonde buffers: unknown experiment \"%s\"", shown);
    if (nearest != NULL)
        fprintf(stderr, "; did you mean %s?", nearest);
    else
        fprintf(stderr, ";");
    fprintf(stderr, " try 'sonde buffers --help'\n");
    return EXIT_USAGE;
}

/* An operand leaves only that experiment in the plan. */
static enum exit_code choose_experiment(struct request *request)
{
    if (request->operand_count == 0)
        return EXIT_MEASURED;
    for (int i = 0; i < EXPERIMENT_COUNT; i++) {
        char name[WORD_SIZE];

        name_experiment((enum experiment)i, name);
        if (strcmp(request->operands[0], name) != 0)
            continue;
        if (request->operand_count > 1) {
            fprintf(stderr, "sonde buffers: one experiment at a time, or all without any\n");
            return EXIT_USAGE;
        }
        ((int *)request->plan.experiments.items)[0] = i;
        request->plan.experiments.count = 1;
        return EXIT_MEASURED;
    }
    return unknown_experiment(request->operands[0]);
}

static enum exit_code check_request(struct request *request)
{
    struct fault fault;
    enum exit_code code = choose_experiment(request);

    if (code != EXIT_MEASURED)
        return code;
    if (buffers_plan_check(&request->plan, &fault) == STATUS_OK)
        return EXIT_MEASURED;
    fprintf(stderr, "sonde buffers: --%s\n", fault.text);
    return EXIT_USAGE;
}

/* --- while it runs -------------------------------------------------------------------------- */

static void on_begin(void *context, const struct buffers_step *step)
{
    struct view *view = context;
    char label[LABEL_SIZE];

    snprintf(label, sizeof label, "[%zu/%zu] %s", step->index + 1, step->count, step->label);
    progress_begin(&view->progress, label, step->at_most_s);
}

static void on_tick(void *context)
{
    struct view *view = context;

    progress_tick(&view->progress, atomic_load(&interrupt_finish)
                                       ? "finishing this case; interrupt again to stop at once"
                                       : "");
}

static void say_rung(const struct ladder_result *ladder, char out_text[OUTCOME_SIZE])
{
    char granted[TEXT_QUANTITY_SIZE];

    text_grouped(ladder->granted, granted);
    snprintf(out_text, OUTCOME_SIZE, "%s granted%s%s", granted,
             ladder->limit[0] == '\0' ? "" : ", capped by ", ladder->limit);
}

static void say_held(const struct hold_result *hold, char out_text[OUTCOME_SIZE])
{
    char held[TEXT_QUANTITY_SIZE], sent[TEXT_QUANTITY_SIZE], predicted[TEXT_QUANTITY_SIZE];

    text_grouped(hold->held, held);
    text_grouped(hold->sent, sent);
    text_grouped(hold->predicted_held, predicted);
    snprintf(out_text, OUTCOME_SIZE, "%s of %s held, %s predicted", held, sent, predicted);
}

static void say_nobody(const struct closed_port_result *result, char out_text[OUTCOME_SIZE])
{
    char counted[TEXT_QUANTITY_SIZE] = "not available", refused[TEXT_QUANTITY_SIZE];

    if (result->no_socket.system != NONE_INT)
        text_grouped(result->no_socket.system, counted);
    text_grouped(result->refused.econnrefused, refused);
    snprintf(out_text, OUTCOME_SIZE, "\"no socket\" %s, ECONNREFUSED %s times", counted, refused);
}

static void say_outcome(const struct experiment_result *result, char out_text[OUTCOME_SIZE])
{
    if (result->error[0] != '\0') {
        snprintf(out_text, OUTCOME_SIZE, "error: %s", result->error);
        return;
    }
    switch (result->experiment) {
    case EXPERIMENT_LADDER:
        say_rung(&result->ladder, out_text);
        break;
    case EXPERIMENT_HOLD:
    case EXPERIMENT_SWEEP:
        say_held(&result->hold, out_text);
        break;
    case EXPERIMENT_SLOW_READER:
        snprintf(out_text, OUTCOME_SIZE, "%.1f %% lost", 100 * result->slow_reader.loss_ratio);
        break;
    case EXPERIMENT_CLOSED_PORT:
        say_nobody(&result->closed_port, out_text);
        break;
    case EXPERIMENT_IDLE:
    case EXPERIMENT_COUNT:
        snprintf(out_text, OUTCOME_SIZE, "%zu socket%s dropped something",
                 result->idle.owners.count, result->idle.owners.count == 1 ? "" : "s");
        break;
    }
}

/* A kernel that refuses a buffer has answered: the ladder asks just that. */
static bool is_failure(const struct experiment_result *result)
{
    return result->error[0] != '\0' && result->experiment != EXPERIMENT_LADDER;
}

static void on_end(void *context, const struct experiment_result *result)
{
    struct view *view = context;
    char outcome[OUTCOME_SIZE];

    say_outcome(result, outcome);
    progress_end(&view->progress, is_failure(result), outcome);
}

static void announce(const struct buffers_plan *plan, double seconds)
{
    char longest[PROGRESS_DURATION_SIZE];

    progress_duration(seconds, longest);
    fprintf(stderr,
            "sonde buffers: %zu cases of %zu experiments over %s loopback; takes at most %s\n",
            buffers_plan_case_count(plan), plan->experiments.count, family_names[plan->family],
            longest);
}

/* --- afterwards ----------------------------------------------------------------------------- */

static enum exit_code outcome_of(const struct run *run)
{
    const struct experiment_result *results = run->experiments.items;

    if (run->interrupted) {
        fprintf(stderr, "sonde buffers: interrupted after %zu of %zu cases\n",
                run->experiments.count, buffers_plan_case_count(&run->buffers_plan));
        return EXIT_FAILED;
    }
    for (size_t i = 0; i < run->experiments.count; i++) {
        if (!is_failure(&results[i]))
            continue;
        fprintf(stderr, "sonde buffers: case %zu could not be measured: %s\n", i + 1,
                results[i].error);
        return EXIT_FAILED;
    }
    return EXIT_MEASURED;
}

static enum exit_code measure(const struct request *request, int argc, char **argv)
{
    double seconds = buffers_seconds(&request->plan);
    struct view view;
    const struct buffers_watch watch = { .context = &view,
                                         .begin = on_begin,
                                         .tick = on_tick,
                                         .end = on_end,
                                         .finish = &interrupt_finish,
                                         .stop = &interrupt_stop };
    const struct keep how = { argv[0], request->output, request->json, terminal_buffers };
    struct fault fault;
    struct run run;
    enum exit_code kept, code;
    enum status status;

    interrupt_catch();
    announce(&request->plan, seconds);
    progress_init(&view.progress, seconds);
    status = run_buffers(&request->plan, &watch, &run, &fault);
    progress_done(&view.progress);
    if (status != STATUS_OK) {
        fprintf(stderr, "sonde buffers: %s\n", fault.text);
        return EXIT_FAILED;
    }
    keep_describe(&run, argc, argv);
    kept = keep_run(&how, &run);
    code = outcome_of(&run);
    run_done(&run);
    return kept == EXIT_MEASURED ? code : kept;
}

enum exit_code command_buffers(int argc, char **argv)
{
    struct request request = { .output = "sonde-runs" };
    enum exit_code code = EXIT_USAGE;

    run_default_buffers_plan(&request.plan);
    switch (parse(&request, argc, argv)) {
    case OPTIONS_DONE:
        code = EXIT_MEASURED;
        break;
    case OPTIONS_BAD:
        break;
    case OPTIONS_GO:
        code = check_request(&request);
        if (code == EXIT_MEASURED)
            code = keep_prepare(argv[0], request.output);
        if (code == EXIT_MEASURED)
            code = measure(&request, argc, argv);
        break;
    }
    record_done(&buffers_plan_record, &request.plan);
    return code;
}
