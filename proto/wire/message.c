/* Owns the table of messages and how one is read and written. The tables of their fields are in
 * message_fields.c; what a message means to anybody is not known here. */
#include "proto/wire/message.h"

#include <assert.h>

#include "proto/wire/message_fields.h"
#include "proto/wire/record_msgpack.h"
#include "proto/wire/record_table.h"

#define ANY ROLE_COUNT

const struct message_kind message_kinds[MESSAGE_COUNT] = {
    [MESSAGE_PING] = { &message_ping_record, ANY, ANY, "I am alive; sent when nothing else was" },
    [MESSAGE_BYE] = { &message_bye_record, ANY, ANY, "the last frame before a side closes" },
    [MESSAGE_HELLO] = { &message_hello_record, ROLE_AGENT, ROLE_CONTROLLER,
                        "the first message of an agent" },
    [MESSAGE_STATUS] = { &message_status_record, ROLE_AGENT, ROLE_CONTROLLER,
                         "how the agent is, every 30 s" },
    [MESSAGE_OPENED] = { &message_opened_record, ROLE_AGENT, ROLE_CONTROLLER,
                         "this end of the session stands" },
    [MESSAGE_REFUSED] = { &message_refused_record, ROLE_AGENT, ROLE_CONTROLLER,
                          "this host will not open the session" },
    [MESSAGE_BEGUN] = { &message_begun_record, ROLE_AGENT, ROLE_CONTROLLER,
                        "the end that answers is ready for the phase" },
    [MESSAGE_PROGRESS] = { &message_progress_record, ROLE_AGENT, ROLE_CONTROLLER,
                           "how far the end that sends or probes is, twice a second" },
    [MESSAGE_MOVED] = { &message_moved_record, ROLE_AGENT, ROLE_CONTROLLER,
                        "watching has noticed a change" },
    [MESSAGE_ENDED] = { &message_ended_record, ROLE_AGENT, ROLE_CONTROLLER,
                        "the phase is over at this end" },
    [MESSAGE_CLOSED] = { &message_closed_record, ROLE_AGENT, ROLE_CONTROLLER,
                         "the session is closed at this end and its report in the spool" },
    [MESSAGE_FAILED] = { &message_failed_record, ROLE_AGENT, ROLE_CONTROLLER,
                         "the session broke at this end" },
    [MESSAGE_RESULT] = { &message_result_record, ROLE_AGENT, ROLE_CONTROLLER,
                         "a result from the spool, oldest first" },
    [MESSAGE_WELCOME] = { &message_welcome_record, ROLE_CONTROLLER, ROLE_AGENT,
                          "the answer to hello: the agent is known as connected" },
    [MESSAGE_OPEN] = { &message_open_record, ROLE_CONTROLLER, ROLE_AGENT,
                       "open one end of a session" },
    [MESSAGE_BEGIN] = { &message_begin_record, ROLE_CONTROLLER, ROLE_AGENT,
                        "to the end that answers: be ready; to the other: send" },
    [MESSAGE_END] = { &message_end_record, ROLE_CONTROLLER, ROLE_AGENT,
                      "to the end that answers: the other has ended and drained" },
    [MESSAGE_CLOSE] = { &message_close_record, ROLE_CONTROLLER, ROLE_AGENT,
                        "stop and report; in any state" },
    [MESSAGE_COMMITTED] = { &message_committed_record, ROLE_CONTROLLER, ROLE_AGENT,
                            "these results are durable; the spool may forget them" },
    [MESSAGE_LIST_AGENTS] = { &message_list_agents_record, ROLE_OPERATOR, ROLE_CONTROLLER,
                              "which agents are there?" },
    [MESSAGE_RUN] = { &message_run_record, ROLE_OPERATOR, ROLE_CONTROLLER,
                      "measure between two agents" },
    [MESSAGE_STOP] = { &message_stop_record, ROLE_OPERATOR, ROLE_CONTROLLER, "stop a run" },
    [MESSAGE_LIST_RESULTS] = { &message_list_results_record, ROLE_OPERATOR, ROLE_CONTROLLER,
                               "which cases were measured?" },
    [MESSAGE_SHOW] = { &message_show_record, ROLE_OPERATOR, ROLE_CONTROLLER,
                       "one run as an archive" },
    [MESSAGE_AGENTS] = { &message_agents_record, ROLE_CONTROLLER, ROLE_OPERATOR,
                         "answer to list_agents" },
    [MESSAGE_ACCEPTED] = { &message_accepted_record, ROLE_CONTROLLER, ROLE_OPERATOR,
                           "answer to run: it starts, or waits for another" },
    [MESSAGE_RUN_PROGRESS] = { &message_run_progress_record, ROLE_CONTROLLER, ROLE_OPERATOR,
                               "what the run is at" },
    [MESSAGE_RUN_MOVED] = { &message_run_moved_record, ROLE_CONTROLLER, ROLE_OPERATOR,
                            "a path MTU has changed while it is watched" },
    [MESSAGE_CASE_DONE] = { &message_case_done_record, ROLE_CONTROLLER, ROLE_OPERATOR,
                            "a case of the run is joined and stored" },
    [MESSAGE_MTU_DONE] = { &message_mtu_done_record, ROLE_CONTROLLER, ROLE_OPERATOR,
                           "one direction of a family is joined and stored" },
    [MESSAGE_RUN_DONE] = { &message_run_done_record, ROLE_CONTROLLER, ROLE_OPERATOR,
                           "the run is over" },
    [MESSAGE_RESULTS] = { &message_results_record, ROLE_CONTROLLER, ROLE_OPERATOR,
                          "answer to list_results" },
    [MESSAGE_PART] = { &message_part_record, ROLE_CONTROLLER, ROLE_OPERATOR,
                       "answer to show: a piece of run.json" },
    [MESSAGE_ERROR] = { &message_error_record, ROLE_CONTROLLER, ROLE_OPERATOR,
                        "answer to a request that cannot be met" },
};

/* Its type alone. */
struct head {
    enum message_type type;
};

static const struct field head_fields[] = {
    CHOICE(struct head, type, message_names, MESSAGE_COUNT, ""),
};
static const struct record head_record = RECORD(head, head_fields);

void message_init(void *out_message, enum message_type type)
{
    record_init(message_kinds[type].record, out_message);
    *(enum message_type *)out_message = type;
}

void message_done(void *message)
{
    enum message_type type = *(enum message_type *)message;

    assert((unsigned)type < MESSAGE_COUNT);
    record_done(message_kinds[type].record, message);
    *(enum message_type *)message = type;
}

enum status message_put(const void *message, struct buf *out_bytes)
{
    enum message_type type = *(const enum message_type *)message;

    assert((unsigned)type < MESSAGE_COUNT);
    return record_to_msgpack(message_kinds[type].record, message, out_bytes);
}

static bool may(enum identity_role who, enum identity_role role)
{
    return role == ANY || who == role;
}

static enum status read_message(struct msgpack_tree *tree, struct message_way way,
                                union message *out_message, struct fault *fault)
{
    struct head head;
    const struct message_kind *kind;
    enum status status = record_from_msgpack_tree(&head_record, tree, &head, fault);

    if (status != STATUS_OK)
        return status;
    kind = &message_kinds[head.type];
    if (!may(way.from, kind->from) || !may(way.to, kind->to))
        return fault_set(fault, STATUS_DENIED, "%s must not send \"%s\" to %s",
                         role_names[way.from], message_names[head.type], role_names[way.to]);
    return record_from_msgpack_tree(kind->record, tree, out_message, fault);
}

enum status message_get(const void *bytes, size_t length, struct message_way way,
                        union message *out_message, struct fault *fault)
{
    struct msgpack_tree *tree;
    enum status status = msgpack_tree_new(bytes, length, &tree, fault);

    if (status != STATUS_OK)
        return status;
    status = read_message(tree, way, out_message, fault);
    msgpack_tree_free(tree);
    return status;
}
