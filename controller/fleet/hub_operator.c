/* Owns what an operator may ask for. Whether a run can be is hub_order.c's to say. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/fleet/archive_of.h"
#include "controller/fleet/hub_part.h"
#include "proto/base/log.h"
#include "proto/base/text.h"
#include "proto/wire/record_json.h"

void hub_answer_error(struct hub *hub, const struct connection *operator_, int64_t request,
                      const char *reason)
{
    struct message_error error;

    message_init(&error, MESSAGE_ERROR);
    error.request = request;
    text_copy(error.reason, sizeof error.reason, reason);
    hub_send(hub, operator_->peer, &error);
}

/* --- run ------------------------------------------------------------------------------------ */

static void take_run(struct hub *hub, const struct connection *operator_, struct message_run *order)
{
    struct measure_addresses addresses;
    struct message_accepted accepted;
    struct fault fault = { "" };
    int64_t request = order->request;
    const struct hub_run *run;
    enum status status = hub_check_order(hub, order, &addresses, &fault);

    if (status == STATUS_OK)
        status = hub_add_run(hub, order, &addresses, operator_, &fault);
    if (status != STATUS_OK) {
        hub_answer_error(hub, operator_, request,
                         fault.text[0] != '\0' ? fault.text : status_text(status));
        return;
    }
    run = hub->runs[hub->run_count - 1];
    message_init(&accepted, MESSAGE_ACCEPTED);
    accepted.request = request;
    text_copy(accepted.run, sizeof accepted.run, run->entry.run);
    accepted.cases = (int64_t)work_count(&run->entry.work);
    text_copy(accepted.waits_for, sizeof accepted.waits_for, hub_waits_for(hub));
    hub_send(hub, operator_->peer, &accepted);
}

/* The run's end is the answer, to whoever stops it too. */
static void take_stop(struct hub *hub, const struct connection *operator_,
                      const struct message_stop *stop)
{
    struct hub_run *run = hub_find_run(hub, stop->run);
    struct fault fault = { "" };

    if (run == NULL) {
        (void)fault_set(&fault, STATUS_NOT_FOUND, "no run %s waits or runs", stop->run);
        hub_answer_error(hub, operator_, stop->request, fault.text);
        return;
    }
    if (run->watchers[0] != operator_->peer)
        run->watchers[1] = operator_->peer;
    (void)fault_set(&fault, STATUS_INTERRUPTED, "stopped by %s", operator_->name);
    hub_stop_run(hub, run, fault.text);
}

/* --- what is stored ------------------------------------------------------------------------- */

static void take_list_results(struct hub *hub, const struct connection *operator_,
                              const struct message_list_results *query)
{
    struct message_results results;
    struct fault fault = { "" };
    enum status status;

    message_init(&results, MESSAGE_RESULTS);
    results.request = query->request;
    status = store_cases(hub->store, query, &results, &fault);
    if (status == STATUS_OK)
        hub_send(hub, operator_->peer, &results);
    else
        hub_answer_error(hub, operator_, query->request,
                         fault.text[0] != '\0' ? fault.text : status_text(status));
    message_done(&results);
}

static enum status write_archive(struct hub *hub, const struct run_entry *entry,
                                 struct buf *out_text, struct fault *fault)
{
    struct run run;
    enum status status = archive_of_run(hub->store, entry, &run, fault);

    if (status != STATUS_OK)
        return status;
    status = record_check(run_record_of(run.kind), &run, fault);
    if (status == STATUS_OK) {
        status = record_to_json(run_record_of(run.kind), &run, out_text);
        if (status != STATUS_OK)
            (void)fault_set(fault, status, "run %s is larger than an archive may be, %d bytes",
                            entry->run, LIMIT_JSON_BYTES);
    }
    run_done(&run);
    return status;
}

static void take_show(struct hub *hub, struct connection *operator_,
                      const struct message_show *show)
{
    struct run_entry entry;
    struct fault fault = { "" };
    struct buf text;
    enum status status;

    if (!hub_may_answer(hub, operator_, show->request))
        return;
    buf_init(&text, LIMIT_JSON_BYTES);
    status = store_run(hub->store, show->run, &entry, &fault);
    if (status == STATUS_OK) {
        status = write_archive(hub, &entry, &text, &fault);
        record_done(&run_entry_record, &entry);
    }
    if (status == STATUS_OK)
        hub_answer_archive(hub, operator_, show->request, &text);
    else
        hub_answer_error(hub, operator_, show->request,
                         fault.text[0] != '\0' ? fault.text : status_text(status));
    buf_done(&text);
}

/* --- frames --------------------------------------------------------------------------------- */

static void take(struct hub *hub, struct connection *operator_, union message *message)
{
    if (message->type == MESSAGE_LIST_AGENTS)
        hub_answer_agents(hub, operator_, message->list_agents.request);
    else if (message->type == MESSAGE_RUN)
        take_run(hub, operator_, &message->run);
    else if (message->type == MESSAGE_STOP)
        take_stop(hub, operator_, &message->stop);
    else if (message->type == MESSAGE_LIST_RESULTS)
        take_list_results(hub, operator_, &message->list_results);
    else if (message->type == MESSAGE_SHOW)
        take_show(hub, operator_, &message->show);
}

void hub_operator_frame(struct hub *hub, struct connection *operator_, const void *bytes,
                        size_t length)
{
    static const struct message_way way = { ROLE_OPERATOR, ROLE_CONTROLLER };
    struct fault fault = { "" };
    union message message;

    if (message_get(bytes, length, way, &message, &fault) != STATUS_OK) {
        log_line(LOG_LEVEL_WARNING, "operator %s (%s): refused: %s", operator_->name,
                 operator_->address, fault.text);
        hub->port.close(hub->port.context, operator_->peer, fault.text);
        return;
    }
    take(hub, operator_, &message);
    message_done(&message);
}
