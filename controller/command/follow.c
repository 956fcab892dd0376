/* Owns a run at a controller from the question to the archive. Knows nothing of what is measured:
 * the command's table of functions does. */
#include "controller/command/follow.h"

#include <stdio.h>
#include <string.h>

#include "controller/command/interrupt.h"
#include "controller/command/keep.h"
#include "proto/base/text.h"
#include "proto/wire/record_table.h"

enum { ORDER_TEXT_SIZE = 2 * NAME_SIZE + 128 };

#define LOOK_NS (100 * NS_PER_MS) /* between looks at the keyboard's interrupt */

static const struct field pair_fields[] = {
    TEXT(struct follow_pair, from, "the agent that sends (needed)"),
    TEXT(struct follow_pair, to, "the agent that echoes (needed)"),
    TEXT(struct follow_pair, address,
         "where the echoing host is asked; empty: its first address of the family"),
};
const struct record follow_pair_record = RECORD(follow_pair, pair_fields);

enum exit_code follow_complain(const char *command, const char *text)
{
    fprintf(stderr, "sonde %s: %s\n", command, text);
    return EXIT_FAILED;
}

enum exit_code follow_check(const char *command, const struct follow_pair *pair)
{
    const char *names[] = { pair->from, pair->to };
    const char *flags[] = { "from", "to" };

    for (size_t i = 0; i < 2; i++) {
        if (identity_name_ok(names[i]))
            continue;
        fprintf(stderr,
                "sonde %s: --%s: an agent's name is needed: 1 to 128 of A-Z a-z 0-9 . _ -, no "
                "dot first\n",
                command, flags[i]);
        return EXIT_USAGE;
    }
    return EXIT_MEASURED;
}

void follow_order(const struct follow_pair *pair, int argc, char **argv,
                  struct message_run *out_order)
{
    struct run words = { .schema = "" };

    message_init(out_order, MESSAGE_RUN);
    text_copy(out_order->from, sizeof out_order->from, pair->from);
    text_copy(out_order->to, sizeof out_order->to, pair->to);
    text_copy(out_order->address, sizeof out_order->address, pair->address);
    keep_describe(&words, argc, argv);
    out_order->command = words.command;
}

/* --- asking for it ---------------------------------------------------------------------------- */

static enum status ask(struct follow *follow, struct message_run *order, struct fault *fault)
{
    char text[ORDER_TEXT_SIZE];
    union message answer;
    enum status status;

    order->request = remote_request(follow->remote);
    status = record_check(message_kinds[MESSAGE_RUN].record, order, fault);
    if (status == STATUS_OK)
        status = remote_ask(follow->remote, order, MESSAGE_ACCEPTED, &answer, fault);
    if (status != STATUS_OK)
        return status;
    text_copy(follow->run, sizeof follow->run, answer.accepted.run);
    follow->kind->describe(follow, &answer.accepted, text, sizeof text);
    if (answer.accepted.waits_for[0] != '\0')
        fprintf(stderr, "sonde %s: run %s waits for run %s to end\n", follow->command, follow->run,
                answer.accepted.waits_for);
    else
        fprintf(stderr, "sonde %s: run %s, %s\n", follow->command, follow->run, text);
    message_done(&answer);
    return STATUS_OK;
}

/* --- while it runs ---------------------------------------------------------------------------- */

/* The run that a message is about; "" for one that is about none. */
static const char *run_of(const union message *message)
{
    if (message->type == MESSAGE_RUN_PROGRESS)
        return message->run_progress.run;
    if (message->type == MESSAGE_RUN_MOVED)
        return message->run_moved.run;
    if (message->type == MESSAGE_CASE_DONE)
        return message->case_done.row.run;
    if (message->type == MESSAGE_MTU_DONE)
        return message->mtu_done.row.run;
    if (message->type == MESSAGE_RUN_DONE)
        return message->run_done.run;
    return "";
}

static void on_message(struct follow *follow, const union message *message)
{
    if (strcmp(run_of(message), follow->run) != 0)
        return;
    if (message->type != MESSAGE_RUN_DONE) {
        follow->kind->message(follow, message);
        return;
    }
    follow->over = true;
    follow->outcome = message->run_done.outcome;
    text_copy(follow->reason, sizeof follow->reason, message->run_done.reason);
}

/* The first interrupt stops the measurement at both hosts; the run then ends by itself. */
static enum status stop_when_asked(struct follow *follow, struct fault *fault)
{
    struct message_stop stop;

    if (follow->asked_to_stop || !atomic_load(&interrupt_finish))
        return STATUS_OK;
    follow->asked_to_stop = true;
    snprintf(follow->note, sizeof follow->note, "stopping; interrupt again to leave at once");
    message_init(&stop, MESSAGE_STOP);
    stop.request = remote_request(follow->remote);
    text_copy(stop.run, sizeof stop.run, follow->run);
    return remote_send(follow->remote, &stop, fault);
}

static enum status watch(struct follow *follow, struct fault *fault)
{
    enum status status = STATUS_OK;

    while (!follow->over && status == STATUS_OK && !atomic_load(&interrupt_stop)) {
        union message message;

        status = remote_receive(follow->remote, LOOK_NS, &message, fault);
        if (status == STATUS_OK) {
            on_message(follow, &message);
            message_done(&message);
        } else if (status == STATUS_AGAIN) {
            status = STATUS_OK;
        }
        progress_tick(&follow->progress, follow->note);
        if (status == STATUS_OK)
            status = stop_when_asked(follow, fault);
    }
    if (status == STATUS_OK && !follow->over)
        return fault_set(fault, STATUS_INTERRUPTED, "interrupted; run %s may still be stopping",
                         follow->run);
    return status;
}

/* --- afterwards ------------------------------------------------------------------------------- */

static enum exit_code keep(struct follow *follow)
{
    const struct keep how = { follow->command, follow->flags->output, follow->flags->json,
                              terminal_run };
    bool failed = follow->outcome == RUN_FAILED;
    enum exit_code kept = EXIT_MEASURED, code = EXIT_FAILED;
    struct fault fault = { "" };
    struct run run;

    if (failed)
        follow_complain(follow->command, follow->reason);
    if (remote_fetch_run(follow->remote, follow->run, &run, &fault) != STATUS_OK)
        return failed ? EXIT_FAILED : follow_complain(follow->command, fault.text);
    if (follow->outcome == RUN_STOPPED || follow->kind->has_begun(&run))
        kept = keep_run(&how, &run);
    if (!failed)
        code = follow->kind->outcome(follow, &run);
    if (kept != EXIT_MEASURED)
        code = kept;
    run_done(&run);
    return code;
}

enum exit_code follow_run(struct follow *follow, struct message_run *order)
{
    struct fault fault = { "" };
    enum exit_code code = EXIT_FAILED;
    enum status status;

    interrupt_catch();
    status = remote_open(&follow->flags->remote, &follow->remote, &fault);
    if (status == STATUS_OK)
        status = ask(follow, order, &fault);
    if (status == STATUS_OK && follow->flags->detach) {
        printf("%s\n", follow->run);
        remote_close(follow->remote);
        return EXIT_MEASURED;
    }
    if (status == STATUS_OK) {
        progress_init(&follow->progress, follow->at_most_s);
        status = watch(follow, &fault);
        progress_done(&follow->progress);
    }
    if (status == STATUS_OK)
        code = keep(follow);
    else
        follow_complain(follow->command, fault.text);
    remote_close(follow->remote);
    return code;
}
