/* Owns `sonde run`: a plan goes to a controller, progress comes back, at the end the archive. The
 * agents measure and the controller joins; here it is asked for, watched and told. */
#include <stdio.h>
#include <string.h>

#include "controller/command/command.h"
#include "controller/command/engines.h"
#include "controller/command/interrupt.h"
#include "controller/command/keep.h"
#include "controller/command/plan_flags.h"
#include "controller/command/progress.h"
#include "controller/command/remote.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"
#include "proto/wire/record_table.h"

enum { LABEL_SIZE = 160, DRAIN_S = 1, SET_UP_S = 1 };

#define LOOK_NS (100 * NS_PER_MS) /* between looks at the keyboard's interrupt */

static const char about[] =
    "Measures UDP between two agents of a controller: the sender's host floods (only after the\n"
    "echo role of the other host has agreed), both hosts count, and every datagram that does not\n"
    "come back gets a place: a socket's buffer, one of the two hosts, or the network between "
    "them,\n"
    "forward and reverse apart. The run is stored at the controller and archived here.";

static const char examples[] =
    "  sonde run --from paris --to oslo\n"
    "  sonde run --from paris --to oslo --payload 1200,8192 --window 1,64 --clients 16\n"
    "  sonde run --from paris --to oslo --window 1 --clients 1 --interval 10000000 --seconds 30\n"
    "  sonde run --from a --to b --address 'fe80::2%eth0' --family ipv6\n";

/* What the flags fill. */
struct question {
    char from[NAME_SIZE], to[NAME_SIZE];
    char address[ADDR_TEXT_SIZE];
    struct plan plan;
};

static const struct field question_fields[] = {
    TEXT(struct question, from, "the agent that sends (needed)"),
    TEXT(struct question, to, "the agent that echoes (needed)"),
    TEXT(struct question, address,
         "where the echoing host is asked; empty: its first address of the family"),
    { FIELD_AT(struct question, plan), .type = FIELD_INLINE, .record = &plan_record },
};
static const struct record question_record = RECORD(question, question_fields);

struct request {
    struct remote_flags remote;
    struct question question;
    const char *engines, *output;
    bool json, check, watch, detach;
};

/* One run of the command. */
struct view {
    const struct request *request;
    struct remote *remote;
    struct progress progress;
    char run[UUID_SIZE];
    int64_t index;         /* of the case that runs, -1 before the first */
    char note[LABEL_SIZE]; /* what it is at */
    bool asked_to_stop, over;
    enum run_outcome outcome;
    char reason[REASON_SIZE];
};

static enum exit_code complain(const char *text)
{
    fprintf(stderr, "sonde run: %s\n", text);
    return EXIT_FAILED;
}

/* --- what is asked for ------------------------------------------------------------------------ */

static void append_int(struct list *list, int64_t value)
{
    *(int64_t *)list_append_sized(list, sizeof value) = value;
}

static void set_defaults(struct plan *plan)
{
    append_int(&plan->payloads, 1200);
    append_int(&plan->windows, 1);
    append_int(&plan->windows, 16);
    append_int(&plan->windows, 64);
    plan->repeats = 1;
    plan->idle_s = 1;
    plan->common = (struct case_common){
        .family = FAMILY_IPV4,
        .clients = 4,
        .io_model = IO_MODEL_SPLIT,
        .io_threads = 1,
        .warmup_s = 0.25,
        .seconds = 1,
        .rcvbuf = 4 << 20,
        .sndbuf = 64 << 10,
    };
}

static enum exit_code check_request(struct request *request)
{
    struct fault fault = { "" };
    const char *names[] = { request->question.from, request->question.to };
    const char *flags[] = { "from", "to" };

    for (size_t i = 0; i < 2; i++) {
        if (!identity_name_ok(names[i])) {
            fprintf(stderr,
                    "sonde run: --%s: an agent's name is needed: 1 to 128 of A-Z a-z 0-9 . _ -, no "
                    "dot first\n",
                    flags[i]);
            return EXIT_USAGE;
        }
    }
    if (engines_choose(&request->question.plan, request->engines, engines_anywhere, &fault) !=
        STATUS_OK) {
        fprintf(stderr, "sonde run: --engine: %s\n", fault.text);
        return EXIT_USAGE;
    }
    if (plan_check_pair(&request->question.plan, &fault) != STATUS_OK) {
        fprintf(stderr, "sonde run: --%s\n", fault.text);
        return EXIT_USAGE;
    }
    return EXIT_MEASURED;
}

static enum options_result parse(struct request *request, int argc, char **argv)
{
    const struct option table[] = {
        { .name = "from", .argument = "AGENT", .field = "from" },
        { .name = "to", .argument = "AGENT", .field = "to" },
        { .name = "address", .argument = "ADDR", .field = "address" },
        PLAN_FLAGS,
        { .name = "engine",
          .argument = "NAME,...",
          .value = &request->engines,
          .help = "single, batch, or all (default: batch, which agents on macOS lack)" },
        { .name = "output",
          .argument = "DIR",
          .value = &request->output,
          .help = "where the archive goes (default: ./sonde-runs)" },
        { .name = "json", .flag = &request->json, .help = "print run.json and nothing else" },
        { .name = "check", .flag = &request->check, .help = "exit 3 when a case fails" },
        { .name = "watch",
          .flag = &request->watch,
          .help = "tell every step, also where stderr is no terminal" },
        { .name = "detach",
          .flag = &request->detach,
          .help = "print the run's id and do not wait for it" },
        REMOTE_OPTIONS(&request->remote),
    };
    struct options options = { .command = "sonde run",
                               .usage = "--from AGENT --to AGENT [flags]",
                               .about = about,
                               .table = table,
                               .count = sizeof table / sizeof table[0],
                               .record = &question_record,
                               .object = &request->question,
                               .examples = examples };

    return options_parse(&options, argc, argv);
}

/* --- asking for it -----------------------------------------------------------------------------
 */

static void copy_list(struct list *to, const struct list *from, size_t element_size)
{
    for (size_t i = 0; i < from->count; i++)
        memcpy(list_append_sized(to, element_size), (const char *)from->items + i * element_size,
               element_size);
}

static void make_order(struct view *view, int argc, char **argv, struct message_run *order)
{
    const struct request *request = view->request;
    const struct plan *plan = &request->question.plan;
    struct run words = { .schema = "" };

    message_init(order, MESSAGE_RUN);
    order->request = remote_request(view->remote);
    text_copy(order->from, sizeof order->from, request->question.from);
    text_copy(order->to, sizeof order->to, request->question.to);
    text_copy(order->address, sizeof order->address, request->question.address);
    order->of_cases.plan = *plan;
    order->of_cases.plan.payloads = order->of_cases.plan.windows = order->of_cases.plan.engines = (struct list){ 0 };
    copy_list(&order->of_cases.plan.payloads, &plan->payloads, sizeof(int64_t));
    copy_list(&order->of_cases.plan.windows, &plan->windows, sizeof(int64_t));
    copy_list(&order->of_cases.plan.engines, &plan->engines, sizeof(int));
    keep_describe(&words, argc, argv);
    order->command = words.command;
}

static enum status ask(struct view *view, int argc, char **argv, struct fault *fault)
{
    struct message_run order;
    union message answer;
    enum status status;

    make_order(view, argc, argv, &order);
    status = record_check(message_kinds[MESSAGE_RUN].record, &order, fault);
    if (status == STATUS_OK)
        status = remote_ask(view->remote, &order, MESSAGE_ACCEPTED, &answer, fault);
    message_done(&order);
    if (status != STATUS_OK)
        return status;
    text_copy(view->run, sizeof view->run, answer.accepted.run);
    if (answer.accepted.waits_for[0] != '\0')
        fprintf(stderr, "sonde run: run %s waits for run %s to end\n", view->run,
                answer.accepted.waits_for);
    else
        fprintf(stderr, "sonde run: run %s, %lld cases from %s to %s\n", view->run,
                (long long)answer.accepted.cases, view->request->question.from,
                view->request->question.to);
    message_done(&answer);
    return STATUS_OK;
}

/* --- while it runs -----------------------------------------------------------------------------
 */

static double seconds_of(const struct case_params *params)
{
    return case_seconds(params, DRAIN_S) + SET_UP_S;
}

static double all_seconds(const struct plan *plan)
{
    double total = plan->idle_s;

    for (size_t i = 0; i < plan_case_count(plan); i++) {
        struct case_params params = plan_case(plan, i);

        total += seconds_of(&params);
    }
    return total;
}

static void begin_case(struct view *view, int64_t index)
{
    const struct plan *plan = &view->request->question.plan;
    char label[LABEL_SIZE], payload[TEXT_QUANTITY_SIZE];
    struct case_params params;

    if (index == view->index || index < 0 || (size_t)index >= plan_case_count(plan))
        return;
    view->index = index;
    params = plan_case(plan, (size_t)index);
    text_grouped(params.payload, payload);
    snprintf(label, sizeof label, "[%lld/%zu] %s B, window %lld, %s, repeat %lld",
             (long long)index + 1, plan_case_count(plan), payload, (long long)params.window,
             engine_names[params.engine], (long long)params.repeat);
    progress_begin(&view->progress, label, seconds_of(&params));
}

static void on_progress(struct view *view, const struct message_run_progress *message)
{
    char state[sizeof message->state];

    begin_case(view, message->index);
    text_copy(state, sizeof state, message->state);
    utf8_mask(state);
    if (message->sent > 0)
        snprintf(view->note, sizeof view->note, "%s, %s: %lld sent, %lld back", state,
                 phase_kind_names[message->phase], (long long)message->sent,
                 (long long)message->received);
    else
        snprintf(view->note, sizeof view->note, "%s", state);
    if (view->request->watch && !view->progress.live)
        fprintf(stderr, "case %lld: %s\n", (long long)message->index + 1, view->note);
}

static void on_case(struct view *view, const struct case_row *row)
{
    char outcome[REASON_SIZE + 64], error[REASON_SIZE];

    begin_case(view, row->index);
    text_copy(error, sizeof error, row->error);
    utf8_mask(error);
    if (row->status == CASE_ERROR)
        snprintf(outcome, sizeof outcome, "error: %s", error);
    else if (row->status == CASE_FAIL)
        snprintf(outcome, sizeof outcome, "fail, %lld lost forward, %lld reverse",
                 (long long)row->forward_lost, (long long)row->reverse_lost);
    else
        snprintf(outcome, sizeof outcome, "pass, %.0f echoes/s", row->echoes_per_second);
    progress_end(&view->progress, row->status != CASE_PASS, outcome);
}

static void on_message(struct view *view, const union message *message)
{
    if (message->type == MESSAGE_RUN_PROGRESS &&
        strcmp(message->run_progress.run, view->run) == 0) {
        on_progress(view, &message->run_progress);
    } else if (message->type == MESSAGE_CASE_DONE &&
               strcmp(message->case_done.row.run, view->run) == 0) {
        on_case(view, &message->case_done.row);
    } else if (message->type == MESSAGE_RUN_DONE && strcmp(message->run_done.run, view->run) == 0) {
        view->over = true;
        view->outcome = message->run_done.outcome;
        text_copy(view->reason, sizeof view->reason, message->run_done.reason);
    }
}

/* The first interrupt stops the measurement at both hosts; the run then ends by itself. */
static enum status stop_when_asked(struct view *view, struct fault *fault)
{
    struct message_stop stop;

    if (view->asked_to_stop || !atomic_load(&interrupt_finish))
        return STATUS_OK;
    view->asked_to_stop = true;
    snprintf(view->note, sizeof view->note, "stopping; interrupt again to leave at once");
    message_init(&stop, MESSAGE_STOP);
    stop.request = remote_request(view->remote);
    text_copy(stop.run, sizeof stop.run, view->run);
    return remote_send(view->remote, &stop, fault);
}

static enum status follow(struct view *view, struct fault *fault)
{
    enum status status = STATUS_OK;

    while (!view->over && status == STATUS_OK && !atomic_load(&interrupt_stop)) {
        union message message;

        status = remote_receive(view->remote, LOOK_NS, &message, fault);
        if (status == STATUS_OK) {
            on_message(view, &message);
            message_done(&message);
        } else if (status == STATUS_AGAIN) {
            status = STATUS_OK;
        }
        progress_tick(&view->progress, view->note);
        if (status == STATUS_OK)
            status = stop_when_asked(view, fault);
    }
    if (status == STATUS_OK && !view->over)
        return fault_set(fault, STATUS_INTERRUPTED, "interrupted; run %s may still be stopping",
                         view->run);
    return status;
}

/* --- afterwards --------------------------------------------------------------------------------
 */

/* Where no sender has begun, as when a host refused, the reason is all there is to tell. */
static bool has_begun(const struct run *run)
{
    const struct case_result *cases = run->cases.items;

    for (size_t i = 0; i < run->cases.count; i++) {
        if (cases[i].agreement.present || cases[i].status != CASE_ERROR)
            return true;
    }
    return false;
}

static enum exit_code keep(struct view *view, char **argv)
{
    const struct request *request = view->request;
    char path[ARCHIVE_PATH_SIZE] = "";
    struct fault fault = { "" };
    enum exit_code kept, code;
    struct run run;

    if (view->outcome == RUN_FAILED)
        complain(view->reason);
    if (remote_fetch_run(view->remote, view->run, &run, &fault) != STATUS_OK)
        return view->outcome == RUN_FAILED ? EXIT_FAILED : complain(fault.text);
    if (view->outcome == RUN_FAILED && !has_begun(&run)) {
        run_done(&run);
        return EXIT_FAILED;
    }
    kept = keep_run(argv[0], request->output, &run, path);
    keep_print(&run, request->json, path, terminal_run);
    code = view->outcome == RUN_FAILED ? EXIT_FAILED : keep_outcome(argv[0], &run, request->check);
    run_done(&run);
    return kept == EXIT_MEASURED ? code : kept;
}

static enum exit_code measure(const struct request *request, int argc, char **argv)
{
    struct view view = { .request = request, .index = -1 };
    struct fault fault = { "" };
    enum exit_code code = EXIT_FAILED;
    enum status status;

    interrupt_catch();
    status = remote_open(&request->remote, &view.remote, &fault);
    if (status == STATUS_OK)
        status = ask(&view, argc, argv, &fault);
    if (status == STATUS_OK && request->detach) {
        printf("%s\n", view.run);
        remote_close(view.remote);
        return EXIT_MEASURED;
    }
    if (status == STATUS_OK) {
        progress_init(&view.progress, all_seconds(&request->question.plan));
        status = follow(&view, &fault);
        progress_done(&view.progress);
    }
    if (status != STATUS_OK)
        complain(fault.text);
    else
        code = keep(&view, argv);
    remote_close(view.remote);
    return code;
}

enum exit_code command_run(int argc, char **argv)
{
    struct request request = { .engines = "batch", .output = "sonde-runs" };
    struct fault fault = { "" };
    enum exit_code code = EXIT_USAGE;

    record_init(&question_record, &request.question);
    set_defaults(&request.question.plan);
    switch (parse(&request, argc, argv)) {
    case OPTIONS_DONE:
        code = EXIT_MEASURED;
        break;
    case OPTIONS_BAD:
        break;
    case OPTIONS_GO:
        code = check_request(&request);
        if (code == EXIT_MEASURED && archive_prepare(request.output, &fault) != STATUS_OK) {
            fprintf(stderr, "sonde run: --output: %s\n", fault.text);
            code = EXIT_USAGE;
        }
        if (code == EXIT_MEASURED)
            code = measure(&request, argc, argv);
        break;
    }
    record_done(&question_record, &request.question);
    return code;
}
