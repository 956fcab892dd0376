/* Owns `sonde run`: which cases are asked for, and what its messages mean. Asking, following and
 * keeping are follow's; the agents measure and the controller joins. */
#include <stdio.h>
#include <string.h>

#include "controller/command/command.h"
#include "controller/command/engines.h"
#include "controller/command/follow.h"
#include "controller/command/keep.h"
#include "controller/command/plan_flags.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"
#include "proto/wire/record_table.h"

enum { LABEL_SIZE = 160, DRAIN_S = 1, SET_UP_S = 1 };

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
    struct follow_pair pair;
    struct plan plan;
};

static const struct field question_fields[] = {
    { FIELD_AT(struct question, pair), .type = FIELD_INLINE, .record = &follow_pair_record },
    { FIELD_AT(struct question, plan), .type = FIELD_INLINE, .record = &plan_record },
};
static const struct record question_record = RECORD(question, question_fields);

struct request {
    struct follow_flags flags;
    struct question question;
    const char *engines;
    bool watch;
};

/* One run of the command. */
struct view {
    const struct request *request;
    int64_t index; /* of the case that runs, -1 before the first */
};

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
    enum exit_code code = follow_check("run", &request->question.pair);

    if (code != EXIT_MEASURED)
        return code;
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
        { .name = "check", .flag = &request->flags.check, .help = "exit 3 when a case fails" },
        { .name = "watch",
          .flag = &request->watch,
          .help = "tell every step, also where stderr is no terminal" },
        FOLLOW_OPTIONS(&request->flags),
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

static void copy_list(struct list *to, const struct list *from, size_t element_size)
{
    *to = (struct list){ 0 };
    for (size_t i = 0; i < from->count; i++)
        memcpy(list_append_sized(to, element_size), (const char *)from->items + i * element_size,
               element_size);
}

static void set_plan(const struct plan *plan, struct message_run *order)
{
    struct plan *copy = &order->of_cases.plan;

    order->kind = WORK_CASES;
    *copy = *plan;
    copy_list(&copy->payloads, &plan->payloads, sizeof(int64_t));
    copy_list(&copy->windows, &plan->windows, sizeof(int64_t));
    copy_list(&copy->engines, &plan->engines, sizeof(int));
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

static void describe(const struct follow *follow, const struct message_accepted *accepted,
                     char *out_text, size_t size)
{
    const struct view *view = follow->context;
    const struct follow_pair *pair = &view->request->question.pair;

    snprintf(out_text, size, "%lld cases from %s to %s", (long long)accepted->cases, pair->from,
             pair->to);
}

static void begin_case(struct follow *follow, int64_t index)
{
    struct view *view = follow->context;
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
    progress_begin(&follow->progress, label, seconds_of(&params));
}

static void on_progress(struct follow *follow, const struct message_run_progress *message)
{
    const struct view *view = follow->context;
    char state[sizeof message->state];

    begin_case(follow, message->index);
    text_copy(state, sizeof state, message->state);
    utf8_mask(state);
    if (message->sent > 0)
        snprintf(follow->note, sizeof follow->note, "%s, %s: %lld sent, %lld back", state,
                 phase_kind_names[message->phase], (long long)message->sent,
                 (long long)message->received);
    else
        snprintf(follow->note, sizeof follow->note, "%s", state);
    if (view->request->watch && !follow->progress.live)
        fprintf(stderr, "case %lld: %s\n", (long long)message->index + 1, follow->note);
}

static void on_case(struct follow *follow, const struct case_row *row)
{
    char outcome[REASON_SIZE + 64], error[REASON_SIZE];

    begin_case(follow, row->index);
    text_copy(error, sizeof error, row->error);
    utf8_mask(error);
    if (row->status == CASE_ERROR)
        snprintf(outcome, sizeof outcome, "error: %s", error);
    else if (row->status == CASE_FAIL)
        snprintf(outcome, sizeof outcome, "fail, %lld lost forward, %lld reverse",
                 (long long)row->forward_lost, (long long)row->reverse_lost);
    else
        snprintf(outcome, sizeof outcome, "pass, %.0f echoes/s", row->echoes_per_second);
    progress_end(&follow->progress, row->status != CASE_PASS, outcome);
}

static void on_message(struct follow *follow, const union message *message)
{
    if (message->type == MESSAGE_RUN_PROGRESS)
        on_progress(follow, &message->run_progress);
    else if (message->type == MESSAGE_CASE_DONE)
        on_case(follow, &message->case_done.row);
}

/* --- afterwards ------------------------------------------------------------------------------- */

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

static enum exit_code outcome(const struct follow *follow, const struct run *run)
{
    return keep_outcome(follow->command, run, follow->flags->check);
}

static enum exit_code measure(const struct request *request, int argc, char **argv)
{
    static const struct follow_kind kind = { describe, on_message, has_begun, outcome };
    const struct question *question = &request->question;
    struct view view = { .request = request, .index = -1 };
    struct follow follow = { .command = argv[0],
                             .flags = &request->flags,
                             .kind = &kind,
                             .context = &view,
                             .at_most_s = all_seconds(&question->plan) };
    struct message_run order;
    enum exit_code code;

    follow_order(&question->pair, argc, argv, &order);
    set_plan(&question->plan, &order);
    code = follow_run(&follow, &order);
    message_done(&order);
    return code;
}

enum exit_code command_run(int argc, char **argv)
{
    struct request request = { .flags = { .output = "sonde-runs" }, .engines = "batch" };
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
        if (code == EXIT_MEASURED)
            code = keep_prepare(argv[0], request.flags.output);
        if (code == EXIT_MEASURED)
            code = measure(&request, argc, argv);
        break;
    }
    record_done(&question_record, &request.question);
    return code;
}
