/* Owns `sonde loopback`: flags to a plan, a run, its archive and what is printed. The instrument
 * measures, the archive keeps, the terminal text explains; here they only meet. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/machine.h"
#include "agent/probe/loopback.h"
#include "agent/probe/run.h"
#include "controller/command/command.h"
#include "controller/command/engines.h"
#include "controller/command/interrupt.h"
#include "controller/command/keep.h"
#include "controller/command/options.h"
#include "controller/command/plan_flags.h"
#include "controller/command/progress.h"
#include "controller/report/archive.h"
#include "controller/report/terminal.h"
#include "proto/base/text.h"

enum { LABEL_SIZE = 160 };

static const char about[] =
    "Sends UDP bursts over this machine's loopback, both roles in one process, and gives every\n"
    "datagram that does not come back a place. Without flags: the whole matrix of 6 payloads,\n"
    "3 windows and 3 repeats, in about a minute and a half.";

static const char examples[] =
    "  sonde loopback\n"
    "  sonde loopback --payload 65507 --window 16 --repeat 1\n"
    "  sonde loopback --protocol udp --payload 65507 --clients 16 --window 1 --io-model shared \\\n"
    "      --io-threads 1 --work 0 --warmup 0.25 --seconds 1\n"
    "  sonde loopback --payload 1472,8192 --rcvbuf 212992 --json > run.json\n";

/* What the flags ask for. */
struct request {
    struct plan plan;
    const char *protocol, *engines, *output;
    bool json, check;
};

/* One run of the command. */
struct view {
    const struct request *request;
    struct progress progress;
};

static enum exit_code usage(const char *flag, const char *what)
{
    fprintf(stderr, "sonde loopback: --%s%s\n", flag, what);
    return EXIT_USAGE;
}

/* --- flags ---------------------------------------------------------------------------------- */

static enum options_result parse(struct request *request, int argc, char **argv)
{
    const struct option table[] = {
        PLAN_FLAGS,
        { .name = "engine",
          .argument = "NAME,...",
          .value = &request->engines,
          .help = "single, batch, or all that this platform has (default: its fastest)" },
        { .name = "io-model", .argument = "NAME", .field = "io_model" },
        { .name = "protocol",
          .argument = "NAME",
          .value = &request->protocol,
          .help = "udp, the only one" },
        { .name = "output",
          .argument = "DIR",
          .value = &request->output,
          .help = "where archives go (default: ./sonde-runs)" },
        { .name = "json", .flag = &request->json, .help = "print run.json and nothing else" },
        { .name = "check", .flag = &request->check, .help = "exit 3 when a case fails" },
    };
    struct options options = { .command = "sonde loopback",
                               .usage = "[flags]",
                               .about = about,
                               .table = table,
                               .count = sizeof table / sizeof table[0],
                               .record = &plan_record,
                               .object = &request->plan,
                               .examples = examples };

    return options_parse(&options, argc, argv);
}

/* What the parser's ranges cannot say. */
static enum exit_code check_request(struct request *request)
{
    struct fault fault;
    int64_t needed = loopback_descriptors(&request->plan.common);
    int64_t left;

    if (strcmp(request->protocol, "udp") != 0)
        return usage("protocol", ": only udp is allowed");
    if (request->engines != NULL &&
        engines_choose(&request->plan, request->engines, engines_here, &fault) != STATUS_OK)
        return usage("engine: ", fault.text);
    if (plan_check(&request->plan, &fault) != STATUS_OK)
        return usage("", fault.text);
    left = machine_descriptors_left();
    if (needed <= left)
        return EXIT_MEASURED;
    fprintf(stderr,
            "sonde loopback: --clients: %lld is not allowed: it needs %lld descriptors and %lld "
            "are left (raise the limit with ulimit -n)\n",
            (long long)request->plan.common.clients, (long long)needed, (long long)left);
    return EXIT_USAGE;
}

/* --- while it runs -------------------------------------------------------------------------- */

static void on_idle(struct view *view)
{
    double seconds = view->request->plan.idle_s;

    progress_begin(&view->progress, "listening to the idle machine", seconds);
    if (!view->progress.live)
        fprintf(stderr, "listening to the idle machine for %.3g s\n", seconds);
}

static void on_begin(void *context, size_t index, const struct case_params *params)
{
    struct view *view = context;
    char payload[TEXT_QUANTITY_SIZE], label[LABEL_SIZE];

    if (params == NULL) {
        on_idle(view);
        return;
    }
    if (index == 0)
        progress_end(&view->progress, false, ""); /* of the idle interval */
    text_grouped(params->payload, payload);
    snprintf(label, sizeof label, "[%zu/%zu] %s B, window %lld, %s, repeat %lld", index + 1,
             plan_case_count(&view->request->plan), payload, (long long)params->window,
             engine_names[params->engine], (long long)params->repeat);
    progress_begin(&view->progress, label,
                   case_seconds(params, (double)PHASE_DRAIN_NS / (double)NS_PER_S));
}

static void on_tick(void *context)
{
    struct view *view = context;

    progress_tick(&view->progress, atomic_load(&interrupt_finish)
                                       ? "finishing this case; interrupt again to stop at once"
                                       : "");
}

static void on_end(void *context, const struct case_result *result)
{
    struct view *view = context;
    const struct phase *measured = &result->phases.measure;
    char outcome[sizeof result->error + 16], lost[TEXT_QUANTITY_SIZE];

    text_grouped(measured->lost_echoes, lost);
    if (result->status == CASE_ERROR)
        snprintf(outcome, sizeof outcome, "error: %s", result->error);
    else if (result->status == CASE_FAIL)
        snprintf(outcome, sizeof outcome, "fail, %s echoes lost", lost);
    else
        snprintf(outcome, sizeof outcome, "pass, %.0f echoes/s", measured->echoes_per_second);
    progress_end(&view->progress, result->status != CASE_PASS, outcome);
}

static void announce(const struct request *request)
{
    const struct plan *plan = &request->plan;
    const struct case_common *common = &plan->common;
    char longest[PROGRESS_DURATION_SIZE];

    progress_duration(run_seconds(plan), longest);
    fprintf(stderr,
            "sonde loopback: %zu cases (%zu payloads x %zu windows x %lld repeats x %zu engines) "
            "over %s loopback,\n%lld clients, %s model with %lld I/O threads; takes at most %s\n",
            plan_case_count(plan), plan->payloads.count, plan->windows.count,
            (long long)plan->repeats, plan->engines.count, family_names[common->family],
            (long long)common->clients, io_model_names[common->io_model],
            (long long)common->io_threads, longest);
}

/* --- afterwards ----------------------------------------------------------------------------- */

static enum exit_code measure(const struct request *request, int argc, char **argv)
{
    struct view view = { .request = request };
    const struct run_watch watch = { .context = &view,
                                     .begin = on_begin,
                                     .tick = on_tick,
                                     .end = on_end,
                                     .finish = &interrupt_finish,
                                     .stop = &interrupt_stop };
    const struct keep how = { argv[0], request->output, request->json, terminal_loopback };
    struct fault fault;
    struct run run;
    enum exit_code kept, code;
    enum status status;

    interrupt_catch();
    announce(request);
    progress_init(&view.progress, run_seconds(&request->plan));
    status = run_loopback(&request->plan, &watch, &run, &fault);
    progress_done(&view.progress);
    if (status != STATUS_OK) {
        fprintf(stderr, "sonde loopback: %s\n", fault.text);
        return EXIT_FAILED;
    }
    keep_describe(&run, argc, argv);
    kept = keep_run(&how, &run);
    code = keep_outcome(argv[0], &run, request->check);
    run_done(&run);
    return kept == EXIT_MEASURED ? code : kept;
}

enum exit_code command_loopback(int argc, char **argv)
{
    struct request request = { .protocol = "udp", .output = "sonde-runs" };
    enum exit_code code = EXIT_USAGE;

    run_default_plan(&request.plan);
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
    record_done(&plan_record, &request.plan);
    return code;
}
