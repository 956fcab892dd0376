/* Owns a session's thread: what it is told, what it answers, when it has waited long enough, and
 * its report. Must not know the controller, the spool or other sessions. */
#include "agent/task.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "agent/task_end.h"
#include "agent/task_report.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"

/* How long the thread sleeps at most before it looks whether it is told to stop. */
#define SLICE_NS         (200 * NS_PER_MS)
#define PROGRESS_NS      (500 * NS_PER_MS)
#define OPEN_MESSAGE_CAP ((size_t)64 << 10)

enum { STACK_BYTES = 512 << 10 };

struct task {
    struct task_surroundings surroundings;
    struct mailbox *mailbox; /* the thread's */
    pthread_t thread;
    atomic_bool stop; /* for good; set by both sides */
};

/* What the thread is at; its own. */
struct work {
    struct task *task;
    struct message_open open;
    struct task_end *end;
    struct task_report report;

    struct mono heard;         /* when something was last asked of it */
    char closing[REASON_SIZE]; /* why it was told to close; "" at the regular end */
    char broken[REASON_SIZE];  /* why it has failed; "" */
    bool begin_asked;          /* and not yet begun */
    enum phase_kind phase;     /* the one asked for, or running */
    bool in_phase;
    atomic_bool finish; /* the running phase, by the controller's end */
    struct mono phase_began, next_progress;
    bool done[PHASE_KIND_COUNT];
};

static bool stopped(const struct work *work)
{
    return atomic_load(&work->task->stop);
}

static void stop(struct work *work)
{
    atomic_store(&work->task->stop, true);
}

/* The first reason is the one that counts. */
static void fail(struct work *work, const char *reason)
{
    if (work->broken[0] == '\0')
        text_copy(work->broken, sizeof work->broken, reason);
    stop(work);
}

/* --- what it says ----------------------------------------------------------------------------- */

/* A loop that leaves a thousand messages unread is gone. */
static void say(struct work *work, const void *message)
{
    struct buf bytes;
    enum status status;

    buf_init(&bytes, LIMIT_FRAME);
    status = message_put(message, &bytes);
    if (status == STATUS_OK)
        status = mailbox_post(work->task->mailbox, bytes.data, bytes.length);
    if (status != STATUS_OK)
        fail(work, status_text(status));
    buf_done(&bytes);
}

static void say_opened(struct work *work)
{
    struct message_opened opened;

    message_init(&opened, MESSAGE_OPENED);
    memcpy(opened.session, work->open.session, sizeof opened.session);
    opened.port = task_end_port(work->end);
    say(work, &opened);
}

static void say_refused(struct work *work, const char *reason)
{
    struct message_refused refused;

    message_init(&refused, MESSAGE_REFUSED);
    memcpy(refused.session, work->open.session, sizeof refused.session);
    text_copy(refused.reason, sizeof refused.reason, reason);
    say(work, &refused);
}

static void say_begun(struct work *work)
{
    struct message_begun begun;

    message_init(&begun, MESSAGE_BEGUN);
    memcpy(begun.session, work->open.session, sizeof begun.session);
    begun.phase = work->phase;
    say(work, &begun);
}

static void say_ended(struct work *work)
{
    struct message_ended ended;

    message_init(&ended, MESSAGE_ENDED);
    memcpy(ended.session, work->open.session, sizeof ended.session);
    ended.phase = work->phase;
    say(work, &ended);
}

static void say_progress(struct work *work, struct mono now)
{
    struct message_progress progress;

    message_init(&progress, MESSAGE_PROGRESS);
    if (!task_end_progress(work->end, &progress.sent, &progress.received))
        return;
    memcpy(progress.session, work->open.session, sizeof progress.session);
    progress.phase = work->phase;
    progress.elapsed_s = (double)mono_between(work->phase_began, now) / (double)NS_PER_S;
    say(work, &progress);
}

/* --- what it is told -------------------------------------------------------------------------- */

static void told_begin(struct work *work, enum phase_kind phase)
{
    bool has = phase == PHASE_MEASURE || work->open.of_case.params.common.warmup_s > 0;

    if (work->in_phase || work->begin_asked) {
        fail(work, "begin came while a phase runs");
    } else if (!has || work->done[phase] || work->done[PHASE_MEASURE]) {
        fail(work, has ? "begin came for a phase that is over" : "this case has no warm-up");
    } else {
        work->begin_asked = true;
        work->phase = phase;
    }
}

static void told(struct work *work, const union message *message)
{
    work->heard = mono_now();
    if (message->type == MESSAGE_BEGIN) {
        told_begin(work, message->begin.phase);
    } else if (message->type == MESSAGE_END) {
        if (work->in_phase && message->end.phase == work->phase)
            atomic_store(&work->finish, true);
    } else if (message->type == MESSAGE_CLOSE) {
        memcpy(work->closing, message->close.reason, sizeof work->closing);
        if (work->closing[0] == '\0' && (work->in_phase || !work->done[PHASE_MEASURE]))
            text_copy(work->closing, sizeof work->closing, "before it was measured");
        stop(work);
    }
}

/* Takes one message; STATUS_AGAIN when there is none within the time, STATUS_NOT_FOUND when nobody
 * is there any more to tell it anything. */
static enum status take(struct work *work, int64_t timeout_ns, union message *out_message)
{
    const struct message_way way = { .from = ROLE_CONTROLLER, .to = ROLE_AGENT };
    struct buf bytes;
    enum status status;

    buf_init(&bytes, OPEN_MESSAGE_CAP);
    status = mailbox_take(work->task->mailbox, timeout_ns, &bytes);
    if (status == STATUS_OK)
        status = message_get(bytes.data, bytes.length, way, out_message, NULL);
    buf_done(&bytes);
    return status;
}

/* Takes all there is: the mailbox's descriptor tells of new messages only once none is left. */
static void look(struct work *work)
{
    union message message;
    enum status status;

    while ((status = take(work, 0, &message)) != STATUS_AGAIN) {
        if (status != STATUS_OK) {
            fail(work, status == STATUS_NOT_FOUND ? "this agent has gone"
                                                  : "what it was told cannot be read");
            return;
        }
        told(work, &message);
        message_done(&message);
    }
}

/* --- its phases ------------------------------------------------------------------------------- */

/* A sender's phase ends by itself; the echo's waits for the controller. */
static bool lasts_too_long(const struct work *work, struct mono now)
{
    double seconds = case_seconds(&work->open.of_case.params, (double)END_DRAIN_NS / (double)NS_PER_S);
    int64_t limit = (int64_t)(seconds * (double)NS_PER_S) + work->task->surroundings.patience_ns;

    return work->in_phase && work->open.role == END_ECHO &&
           mono_between(work->phase_began, now) > limit;
}

/* From the end's own wait, about every 100 ms and at once when the mailbox has something. */
static void tick(void *context)
{
    struct work *work = context;
    struct mono now = mono_now();

    if (work->in_phase && mono_between(work->next_progress, now) >= 0) {
        work->next_progress = mono_after(now, PROGRESS_NS);
        say_progress(work, now);
    }
    if (lasts_too_long(work, now))
        fail(work, "the controller did not end the phase in time");
    look(work);
}

static void ready(void *context)
{
    struct work *work = context;

    say_begun(work);
    look(work);
}

static struct phase_watch watch_of(struct work *work)
{
    return (struct phase_watch){
        .context = work,
        .tick = tick,
        .ready = ready,
        .stop = &work->task->stop,
        .finish = &work->finish,
        .wake_fd = mailbox_fd(work->task->mailbox),
    };
}

static void run_phase(struct work *work)
{
    struct report_phases *phases = &work->report.report.phases;
    struct half_phase *half = work->phase == PHASE_WARMUP ? &phases->warmup : &phases->measure;
    struct phase_watch watch = watch_of(work);
    struct fault fault = { "" };
    enum status status;

    work->begin_asked = false;
    work->in_phase = true;
    work->phase_began = mono_now();
    work->next_progress = mono_after(work->phase_began, PROGRESS_NS);
    atomic_store(&work->finish, false);
    status = task_end_phase(work->end, work->phase, &watch, half, &fault);
    work->in_phase = false;
    half->present = status == STATUS_OK || status == STATUS_INTERRUPTED;
    work->heard = mono_now();
    if (status == STATUS_OK) {
        work->done[work->phase] = true;
        say_ended(work);
    } else if (status != STATUS_INTERRUPTED) {
        fail(work, fault.text);
    }
}

/* --- its end ---------------------------------------------------------------------------------- */

/* Says what is known; its id is then the report's. */
static enum status say_result(struct work *work, struct fault *fault)
{
    struct message_result result;
    enum status status = task_report_result(&work->report, &result, fault);

    if (status != STATUS_OK)
        return status;
    say(work, &result);
    message_done(&result);
    return STATUS_OK;
}

static void say_over(struct work *work, const char *result)
{
    union message message;

    if (work->broken[0] == '\0') {
        message_init(&message, MESSAGE_CLOSED);
        memcpy(message.closed.session, work->open.session, sizeof message.closed.session);
        text_copy(message.closed.result, sizeof message.closed.result, result);
    } else {
        message_init(&message, MESSAGE_FAILED);
        memcpy(message.failed.session, work->open.session, sizeof message.failed.session);
        text_copy(message.failed.result, sizeof message.failed.result, result);
        memcpy(message.failed.reason, work->broken, sizeof message.failed.reason);
    }
    say(work, &message);
}

/* --- its life --------------------------------------------------------------------------------- */

static bool is_patient(const struct work *work)
{
    return mono_between(work->heard, mono_now()) < work->task->surroundings.patience_ns;
}

/* False when none came. */
static bool take_open(struct work *work)
{
    union message message;
    enum status status = STATUS_OK;

    while (!stopped(work) && is_patient(work) && status != STATUS_NOT_FOUND) {
        status = take(work, SLICE_NS, &message);
        if (status != STATUS_OK)
            continue;
        if (message.type == MESSAGE_OPEN) {
            work->open = message.open;
            return true;
        }
        message_done(&message);
    }
    return false;
}

static bool agree(struct work *work)
{
    struct phase_watch watch = watch_of(work);
    struct fault fault;
    enum status status = task_end_agree(work->end, &watch, &fault);

    if (status != STATUS_OK && status != STATUS_INTERRUPTED)
        fail(work, fault.text);
    work->heard = mono_now();
    return status == STATUS_OK;
}

static void serve(struct work *work)
{
    while (!stopped(work)) {
        if (work->begin_asked) {
            run_phase(work);
            continue;
        }
        look(work);
        if (stopped(work) || work->begin_asked)
            continue;
        if (!is_patient(work)) {
            fail(work, "the controller asked for nothing any more");
            return;
        }
        task_end_wait(work->end, mailbox_fd(work->task->mailbox), SLICE_NS);
    }
}

static void finish(struct work *work)
{
    struct fault fault;
    bool told;

    if (work->broken[0] == '\0' && work->closing[0] == '\0' && !work->done[PHASE_MEASURE])
        fail(work, "this agent is being stopped");
    if (task_report_end(&work->report, work->end, &fault) != STATUS_OK)
        fail(work, fault.text);
    task_report_error(&work->report, work->broken, work->closing);
    task_end_free(work->end);
    work->end = NULL;
    told = say_result(work, &fault) == STATUS_OK;
    if (!told)
        fail(work, fault.text);
    say_over(work, told ? work->report.report.id : "");
}

static void *run(void *context)
{
    struct work work = { .task = context, .heard = mono_now() };
    struct fault fault;

    if (!take_open(&work))
        return NULL;
    task_report_begin(&work.report, &work.open);
    if (task_end_new(&work.open, &work.task->surroundings, &work.task->stop, &work.end, &fault) !=
        STATUS_OK) {
        say_refused(&work, fault.text);
    } else {
        work.heard = mono_now();
        if (agree(&work)) {
            say_opened(&work);
            serve(&work);
        }
        finish(&work);
    }
    task_report_done(&work.report);
    message_done(&work.open);
    return NULL;
}

/* A signal is the loop's, whichever thread it would come to. */
static int start_thread(struct task *task)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);

    if (error != 0)
        return error;
    sigfillset(&all);
    error = pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (error == 0)
        error = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (error == 0) {
        error = pthread_create(&task->thread, &attributes, run, task);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&attributes);
    return error;
}

static void task_free(struct task *task)
{
    mailbox_free(task->mailbox);
    free(task);
}

enum status task_start(const struct task_surroundings *surroundings, struct mailbox *mailbox,
                       struct task **out_task, struct fault *fault)
{
    struct task *task = memory_new(1, sizeof *task);
    int error;

    task->surroundings = *surroundings;
    task->mailbox = mailbox;
    atomic_init(&task->stop, false);
    error = start_thread(task);
    if (error != 0) {
        task_free(task);
        return fault_errno(fault, error, "a thread for the session cannot be started");
    }
    *out_task = task;
    return STATUS_OK;
}

void task_join(struct task *task)
{
    if (task == NULL)
        return;
    atomic_store(&task->stop, true);
    pthread_join(task->thread, NULL);
    task_free(task);
}
