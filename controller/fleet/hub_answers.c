/* Owns answers that are longer than a frame: they go out in parts as the operator reads, so that
 * one who does not read costs no more than what is on its way. */
#include <stdlib.h>
#include <string.h>

#include "controller/fleet/hub_part.h"
#include "proto/base/memory.h"

/* A row is at most LIMIT_ADDRESSES addresses and some texts: so many always fit into a frame. */
enum { ROWS_OF_A_PART = 100 };
enum { PENDING_MAX = 1 << 20 };
#define PATIENCE_NS (60 * NS_PER_S) /* with an operator who does not read */

bool hub_may_answer(struct hub *hub, const struct connection *operator_, int64_t request)
{
    size_t count = 0;

    for (const struct answer *answer = operator_->answers; answer != NULL; answer = answer->next)
        count++;
    if (count < HUB_ANSWERS_MAX)
        return true;
    hub_answer_error(hub, operator_, request,
                     "too many answers are on their way: wait for one of them first");
    return false;
}

static struct answer *add(struct hub *hub, struct connection *operator_, int64_t request)
{
    struct answer *answer = memory_new(1, sizeof *answer);
    struct answer **end = &operator_->answers;

    if (operator_->answers == NULL) {
        operator_->reading = hub->reading;
        hub->reading = operator_;
    }
    while (*end != NULL)
        end = &(*end)->next;
    *end = answer;
    answer->request = request;
    answer->progress = hub->now;
    buf_init(&answer->text, LIMIT_JSON_BYTES);
    return answer;
}

static void drop_first(struct connection *operator_)
{
    struct answer *answer = operator_->answers;

    operator_->answers = answer->next;
    buf_done(&answer->text);
    free(answer);
}

void hub_drop_answers(struct hub *hub, struct connection *operator_)
{
    struct connection **link = &hub->reading;

    if (operator_->answers == NULL)
        return;
    while (*link != operator_)
        link = &(*link)->reading;
    *link = operator_->reading;
    while (operator_->answers != NULL)
        drop_first(operator_);
}

/* --- parts ---------------------------------------------------------------------------------- */

/* True when that was the last one. */
static bool send_agents(struct hub *hub, const struct connection *operator_, struct answer *answer)
{
    size_t count = fleet_count(hub->fleet);
    struct message_agents agents;

    message_init(&agents, MESSAGE_AGENTS);
    agents.request = answer->request;
    for (size_t i = 0; i < ROWS_OF_A_PART && answer->at < count; i++)
        fleet_row(hub->fleet, answer->at++, hub->now,
                  list_append_sized(&agents.agents, sizeof(struct agent_row)));
    agents.more = answer->at < count;
    hub_send(hub, operator_->peer, &agents);
    message_done(&agents);
    return answer->at >= count;
}

static bool send_archive(struct hub *hub, const struct connection *operator_, struct answer *answer)
{
    size_t left = answer->text.length - answer->at;
    size_t length = left < LIMIT_PART_BYTES ? left : LIMIT_PART_BYTES;
    struct message_part part;

    message_init(&part, MESSAGE_PART);
    part.request = answer->request;
    part.offset = (int64_t)answer->at;
    part.total = (int64_t)answer->text.length;
    bytes_set(&part.data, answer->text.data + answer->at, length);
    answer->at += length;
    part.last = answer->at == answer->text.length;
    hub_send(hub, operator_->peer, &part);
    message_done(&part);
    return answer->at == answer->text.length;
}

/* As much as may wait for this operator. */
static void serve(struct hub *hub, struct connection *operator_)
{
    while (operator_->answers != NULL) {
        struct answer *answer = operator_->answers;

        if (hub->port.pending(hub->port.context, operator_->peer) + LIMIT_PART_BYTES >
            PENDING_MAX) {
            if (mono_between(answer->progress, hub->now) > PATIENCE_NS)
                hub->port.close(hub->port.context, operator_->peer, "the answer is not read");
            return;
        }
        answer->progress = hub->now;
        if (answer->archive ? send_archive(hub, operator_, answer)
                            : send_agents(hub, operator_, answer))
            drop_first(operator_);
        if (hub_connection(hub, operator_->peer) != operator_)
            return; /* gone meanwhile: what is left goes with it */
    }
}

void hub_work_answers(struct hub *hub)
{
    struct connection *operator_ = hub->reading, *still = NULL;

    /* One that goes down meanwhile is buried later, and found in the list then. */
    while (operator_ != NULL) {
        struct connection *next = operator_->reading;

        serve(hub, operator_);
        if (operator_->answers != NULL) {
            operator_->reading = still;
            still = operator_;
        }
        operator_ = next;
    }
    hub->reading = still;
}

void hub_answer_agents(struct hub *hub, struct connection *operator_, int64_t request)
{
    if (!hub_may_answer(hub, operator_, request))
        return;
    add(hub, operator_, request);
    hub_work_answers(hub);
}

void hub_answer_archive(struct hub *hub, struct connection *operator_, int64_t request,
                        struct buf *text)
{
    struct answer *answer = add(hub, operator_, request);

    answer->archive = true;
    answer->text = *text;
    buf_init(text, LIMIT_JSON_BYTES);
    hub_work_answers(hub);
}
