/* Owns the tasks' mailboxes on the loop's side, and when a task is joined. Must not know what the
 * messages mean. */
#include "agent/agent_tasks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/log.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"

struct member {
    struct member *next;
    struct tasks *tasks;
    char session[UUID_SIZE];
    struct task *task;
    struct mailbox *mailbox;
    struct rules *rules;
    bool over;
};

struct tasks {
    struct loop *loop;
    tasks_handler *handler;
    void *context;
    struct member *first;
};

struct tasks *tasks_new(struct loop *loop, tasks_handler *handler, void *context)
{
    struct tasks *tasks = memory_new(1, sizeof *tasks);

    tasks->loop = loop;
    tasks->handler = handler;
    tasks->context = context;
    return tasks;
}

void tasks_free(struct tasks *tasks)
{
    assert(tasks == NULL || tasks->first == NULL);
    free(tasks);
}

static struct member *find(const struct tasks *tasks, const char *session)
{
    struct member *member = tasks->first;

    while (member != NULL && strcmp(member->session, session) != 0)
        member = member->next;
    return member;
}

static void member_free(struct member *member)
{
    struct member **link = &member->tasks->first;

    while (*link != member)
        link = &(*link)->next;
    *link = member->next;
    mailbox_unwatch(member->mailbox, member->tasks->loop);
    task_join(member->task);
    mailbox_free(member->mailbox);
    rules_drop(member->rules);
    free(member);
}

/* False when there is none. */
static bool take(struct member *member, union message *out_message)
{
    const struct message_way way = { .from = ROLE_AGENT, .to = ROLE_CONTROLLER };
    struct fault fault;
    struct buf bytes;
    enum status status;

    buf_init(&bytes, LIMIT_FRAME);
    status = mailbox_take(member->mailbox, 0, &bytes);
    if (status == STATUS_OK) {
        status = message_get(bytes.data, bytes.length, way, out_message, &fault);
        if (status != STATUS_OK)
            log_line(LOG_LEVEL_ERROR, "session %s: its task said nonsense: %s", member->session,
                     fault.text);
    }
    buf_done(&bytes);
    return status == STATUS_OK;
}

static void hear(struct member *member, struct mono now)
{
    struct tasks *tasks = member->tasks;
    union message message;

    while (!member->over && take(member, &message)) {
        tasks->handler(tasks->context, member->session, &message, now);
        message_done(&message);
    }
}

static void on_mail(void *context, struct mono now)
{
    struct member *member = context;

    hear(member, now);
    if (member->over)
        member_free(member);
}

/* Both ends, the order being in. On failure there is nothing to free. */
static enum status make_mailbox(struct loop *loop, const struct message_open *open,
                                struct mailbox **out_mine, struct mailbox **out_theirs,
                                struct fault *fault)
{
    struct mailbox *mine, *theirs;
    struct buf bytes;
    enum status status = mailbox_pair(loop, &mine, &theirs, fault);

    if (status != STATUS_OK)
        return status;
    buf_init(&bytes, LIMIT_FRAME);
    status = message_put(open, &bytes);
    if (status == STATUS_OK)
        status = mailbox_post(mine, bytes.data, bytes.length);
    buf_done(&bytes);
    if (status != STATUS_OK) {
        mailbox_free(mine);
        mailbox_free(theirs);
        return fault_set(fault, status, "the order cannot be handed on: %s", status_text(status));
    }
    *out_mine = mine;
    *out_theirs = theirs;
    return STATUS_OK;
}

enum status tasks_start(struct tasks *tasks, struct rules *rules, const struct message_open *open,
                        struct fault *fault)
{
    const struct task_surroundings surroundings = {
        .echo = &rules->echo,
        .admission = rules->admission,
        .patience_ns = TASK_PATIENCE_NS,
    };
    struct mailbox *mine = NULL, *theirs = NULL;
    struct member *member;
    struct task *task;
    enum status status = make_mailbox(tasks->loop, open, &mine, &theirs, fault);

    if (status != STATUS_OK)
        return status;
    status = task_start(&surroundings, theirs, &task, fault);
    if (status != STATUS_OK) {
        mailbox_free(mine);
        return status;
    }
    member = memory_new(1, sizeof *member);
    member->tasks = tasks;
    member->task = task;
    member->mailbox = mine;
    member->rules = rules_share(rules);
    text_copy(member->session, sizeof member->session, open->session);
    member->next = tasks->first;
    tasks->first = member;
    mailbox_watch(mine, tasks->loop, on_mail, member);
    return STATUS_OK;
}

/* One that does not take it has not looked for a thousand messages: it ends by its patience. */
void tasks_tell(struct tasks *tasks, const char *session, const void *message)
{
    struct member *member = find(tasks, session);
    struct buf bytes;
    enum status status;

    if (member == NULL)
        return;
    buf_init(&bytes, LIMIT_FRAME);
    status = message_put(message, &bytes);
    if (status == STATUS_OK)
        status = mailbox_post(member->mailbox, bytes.data, bytes.length);
    buf_done(&bytes);
    if (status != STATUS_OK)
        log_line(LOG_LEVEL_ERROR, "session %s: its task cannot be told: %s", session,
                 status_text(status));
}

void tasks_over(struct tasks *tasks, const char *session)
{
    struct member *member = find(tasks, session);

    assert(member != NULL);
    member->over = true;
}

static void stop_one(struct member *member, struct mono now)
{
    struct message_failed failed;

    task_join(member->task);
    member->task = NULL;
    hear(member, now);
    if (!member->over) {
        message_init(&failed, MESSAGE_FAILED);
        text_copy(failed.session, sizeof failed.session, member->session);
        text_copy(failed.reason, sizeof failed.reason, "its thread ended without a word");
        member->tasks->handler(member->tasks->context, member->session,
                               &(union message){ .failed = failed }, now);
    }
    member_free(member);
}

void tasks_stop(struct tasks *tasks, struct mono now)
{
    struct member *member = tasks->first;

    while (member != NULL) {
        struct member *next = member->next;

        stop_one(member, now);
        member = next;
    }
}
