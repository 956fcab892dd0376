/* Owns a session's thread: what it is told, what it answers, when it has waited long enough, and
 * its report. Must not know the controller, the spool or other sessions. */
#include "agent/task.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "agent/task_end.h"
#include "agent/task_say.h"
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
    struct task_voice voice;
    struct task_ground ground;
    struct task_end *end;
    struct task_frame frame;

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
static void check_said(struct work *work, enum status status)
{
    if (status != STATUS_OK)
        fail(work, status_text(status));
}

static void say_for_end(void *context, const void *message)
{
    struct work *work = context;

    check_said(work, task_say(&work->voice, message));
}

static void say_progress(struct work *work, struct mono now)
{
    struct message_progress progress;

    message_init(&progress, MESSAGE_PROGRESS);
    if (!work->end->kind->progress(work->end, &progress))
        return;
    memcpy(progress.session, work->open.session, sizeof progress.session);
    progress.phase = work->phase;
    progress.elapsed_s = (double)mono_between(work->phase_began, now) / (double)NS_PER_S;
    check_said(work, task_say(&work->voice, &progress));
}

/* --- what it is told -------------------------------------------------------------------------- */

static bool has_phase(const struct work *work, enum phase_kind phase)
{
    return work->end->kind->has_phase(work->end, phase);
}

/* They come in their order; what was left out does not come any more. */
static bool is_over(const struct work *work, enum phase_kind phase)
{
    for (size_t i = phase; i < PHASE_KIND_COUNT; i++) {
        if (work->done[i])
            return true;
    }
    return false;
}

/* Everything that it was opened for is done: the last of its phases is. */
static bool is_measured(const struct work *work)
{
    int last = PHASE_KIND_COUNT - 1;

    while (!has_phase(work, (enum phase_kind)last))
        last--;
    return work->done[last];
}

static void told_begin(struct work *work, enum phase_kind phase)
{
    struct fault fault;

    if (work->in_phase || work->begin_asked) {
        fail(work, "begin came while a phase runs");
    } else if (!has_phase(work, phase)) {
        fault_set(&fault, STATUS_INVALID, "begin came for phase \"%s\", which this session has not",
                  phase_kind_names[phase]);
        fail(work, fault.text);
    } else if (is_over(work, phase)) {
        fail(work, "begin came for a phase that is over");
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
        if (work->closing[0] == '\0' && (work->in_phase || !is_measured(work)))
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

static void end_what_lasts_too_long(struct work *work, struct mono now)
{
    double seconds = (double)mono_between(work->phase_began, now) / (double)NS_PER_S;
    struct fault fault;

    if (work->end->kind->lasts(work->end, work->phase, seconds, &fault) != STATUS_OK)
        fail(work, fault.text);
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
    if (work->in_phase)
        end_what_lasts_too_long(work, now);
    look(work);
}

static void ready(void *context)
{
    struct work *work = context;

    check_said(work, task_say_begun(&work->voice, work->phase));
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
    struct phase_watch watch = watch_of(work);
    struct fault fault = { "" };
    enum status status;

    work->begin_asked = false;
    work->in_phase = true;
    work->phase_began = mono_now();
    work->next_progress = mono_after(work->phase_began, PROGRESS_NS);
    atomic_store(&work->finish, false);
    status = work->end->kind->phase(work->end, work->phase, &watch, &fault);
    work->in_phase = false;
    work->heard = mono_now();
    if (status == STATUS_OK) {
        work->done[work->phase] = true;
        check_said(work, task_say_ended(&work->voice, work->phase));
    } else if (status != STATUS_INTERRUPTED) {
        fail(work, fault.text);
    }
}

/* --- its end ---------------------------------------------------------------------------------- */

/* Says what is known; its id is then the report's. */
static enum status say_result(struct work *work, struct fault *fault)
{
    struct message_result result;
    enum status status = work->end->kind->result(work->end, &work->frame, &result, fault);

    if (status != STATUS_OK)
        return status;
    check_said(work, task_say(&work->voice, &result));
    message_done(&result);
    return STATUS_OK;
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
    enum status status = work->end->kind->agree(work->end, &watch, &fault);

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
        work->end->kind->wait(work->end, mailbox_fd(work->task->mailbox), SLICE_NS);
    }
}

static void finish(struct work *work)
{
    struct fault fault;
    bool told;

    if (work->broken[0] == '\0' && work->closing[0] == '\0' && !is_measured(work))
        fail(work, "this agent is being stopped");
    if (work->end->kind->gather(work->end, &fault) != STATUS_OK)
        fail(work, fault.text);
    task_frame_end(&work->frame);
    task_frame_error(&work->frame, work->broken, work->closing);
    told = say_result(work, &fault) == STATUS_OK;
    if (!told)
        fail(work, fault.text);
    task_end_free(work->end);
    work->end = NULL;
    check_said(work, task_say_over(&work->voice, work->broken, told ? work->frame.id : ""));
}

static struct task_ground ground_of(struct work *work)
{
    return (struct task_ground){
        .open = &work->open,
        .surroundings = &work->task->surroundings,
        .stop = &work->task->stop,
        .say = say_for_end,
        .context = work,
    };
}

static void *run(void *context)
{
    struct work work = { .task = context, .heard = mono_now() };
    struct fault fault;

    if (!take_open(&work))
        return NULL;
    work.voice = (struct task_voice){ work.task->mailbox, work.open.session };
    work.ground = ground_of(&work);
    task_frame_begin(&work.frame);
    if (task_end_new(&work.ground, &work.end, &fault) != STATUS_OK) {
        check_said(&work, task_say_refused(&work.voice, fault.text));
    } else {
        work.heard = mono_now();
        if (agree(&work)) {
            check_said(&work, task_say_opened(&work.voice, work.end->kind->port(work.end)));
            serve(&work);
        }
        finish(&work);
    }
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
