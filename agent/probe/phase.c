/* Owns the threads of a phase and its end. What they do is phase_crew.c's, what the roles count
 * stays theirs. */
#include "agent/probe/phase.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/probe/phase_crew.h"
#include "proto/base/memory.h"

enum { TICK_MS = 100 };

size_t phase_threads(const struct case_common *common)
{
    return (size_t)(common->io_threads < common->clients ? common->io_threads : common->clients);
}

void phase_make_senders(const struct phase_roles *roles, const struct engine *engine,
                        size_t payload)
{
    int *fds = memory_new(roles->clients, sizeof *fds);

    for (size_t i = 0; i < roles->threads; i++) {
        size_t count = 0;

        for (size_t k = i; k < roles->clients; k += roles->threads)
            fds[count++] = roles->client_fds[k];
        roles->senders[i] = sender_new(fds, count, engine, payload);
    }
    free(fds);
}

/* A phase of one role alone, between two hosts; of both, on this one. */
static bool is_echo_alone(const struct crew *crew)
{
    return crew->roles->senders == NULL;
}

/* Who does what: in the shared model each thread serves both roles, else one. */
static size_t assign(struct crew *crew, struct hand *hands)
{
    const struct phase_roles *roles = crew->roles;
    bool both = roles->senders != NULL && roles->echo_workers != NULL;
    bool shared = both && crew->order->common->io_model == IO_MODEL_SHARED;
    size_t count = 0;

    for (size_t i = 0; i < roles->threads && roles->echo_workers != NULL && !shared; i++)
        hands[count++] = (struct hand){ .crew = crew, .worker = roles->echo_workers[i] };
    for (size_t i = 0; i < roles->threads && roles->senders != NULL; i++) {
        hands[count++] = (struct hand){ .crew = crew,
                                        .worker = shared ? roles->echo_workers[i] : NULL,
                                        .sender = roles->senders[i],
                                        .first_client = i };
    }
    return count;
}

/* Lets the owner look in until the senders are done, or, of an echo role alone, until the owner
 * says so. Returns the longest time that this thread was not run, which is also what happens to a
 * process that is stopped. */
static int64_t watch_over(struct crew *crew, const struct phase_watch *watch)
{
    struct pollfd look[] = { { .fd = crew->done.fd, .events = POLLIN },
                             { .fd = watch->wake_fd, .events = POLLIN } };
    struct stall stall;

    stall_init(&stall, stall_thread_ns, mono_now());
    for (;;) {
        bool over = poll(look, watch->wake_fd > 0 ? 2 : 1, TICK_MS) > 0 && look[0].revents != 0;

        stall_step(&stall, mono_now(), TICK_MS * NS_PER_MS);
        if (over)
            return stall.longest_ns;
        if (watch->tick != NULL)
            watch->tick(watch->context);
        stall_skip(&stall, mono_now());
        if (is_echo_alone(crew) &&
            (crew_stopped(crew) || (watch->finish != NULL && atomic_load(watch->finish))))
            wakeup_now(&crew->done);
    }
}

/* Tells those who wait for a burst that not all will come. */
static void give_up(struct crew *crew, size_t senders_missing)
{
    pthread_mutex_lock(&crew->lock);
    crew->failed = true;
    crew->running -= senders_missing;
    if (crew->running == 0)
        wakeup_now(&crew->done);
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
}

/* A burst into a role whose thread is still being started would measure the starting. Waited for
 * here and not by the senders: a thread that is woken by the echo role's may be put on its
 * processor, and the burst would find nobody reading. */
static void wait_for_echo_role(struct crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    while (crew->watching < crew->roles->threads)
        pthread_cond_wait(&crew->changed, &crew->lock);
    pthread_mutex_unlock(&crew->lock);
}

/* Starts all hands; *out_started of them run, whatever is returned. */
static enum status start(struct crew *crew, struct hand *hands, size_t count, size_t *out_started,
                         struct fault *fault)
{
    enum status status = STATUS_OK;
    size_t missing = 0;
    size_t started = 0;

    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = hand_watch(&hands[i], fault);
    for (; started < count && status == STATUS_OK; started++) {
        int error;

        if (hands[started].sender != NULL && hands[0].sender == NULL)
            wait_for_echo_role(crew);
        error = pthread_create(&hands[started].thread, NULL, hand_run, &hands[started]);
        if (error != 0) {
            status = fault_errno(fault, error, "starting thread %zu of %zu", started + 1, count);
            break;
        }
    }
    for (size_t i = started; i < count; i++)
        missing += hands[i].sender != NULL;
    if (status != STATUS_OK)
        give_up(crew, missing);
    *out_started = started;
    return status;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Of senders: from the first datagram to the end of sending or the last echo. */
static int64_t active_ns(const struct crew *crew, const struct hand *hands, size_t count)
{
    struct mono last = crew->deadline;

    if (crew->arrived < crew->roles->threads)
        return 0;
    if (crew_stopped(crew) && mono_between(mono_now(), last) > 0)
        last = mono_now();
    for (size_t i = 0; i < count; i++) {
        if (hands[i].sender != NULL && mono_between(last, sender_last_echo(hands[i].sender)) > 0)
            last = sender_last_echo(hands[i].sender);
    }
    return mono_between(crew->first_sent, last);
}

static struct phase_times times_of(const struct crew *crew, const struct hand *hands, size_t count)
{
    struct phase_times times = { 0 };

    for (size_t i = 0; i < count; i++) {
        times.stall_ns = larger(times.stall_ns, hands[i].stall.longest_ns);
        if (hands[i].sender != NULL) {
            struct pace pace = sender_pace_kept(hands[i].sender);

            times.pace.skipped += pace.skipped;
            times.pace.slip_ns = larger(times.pace.slip_ns, pace.slip_ns);
        }
    }
    if (!is_echo_alone(crew))
        times.active_ns = active_ns(crew, hands, count);
    return times;
}

static void crew_init(struct crew *crew, const struct phase_roles *roles,
                      const struct phase_order *order)
{
    *crew = (struct crew){ .roles = roles,
                           .order = order,
                           .duration_ns = (int64_t)(order->seconds * (double)NS_PER_S),
                           .running = roles->senders == NULL ? 0 : roles->threads };
    if (pthread_mutex_init(&crew->lock, NULL) != 0 || pthread_cond_init(&crew->changed, NULL) != 0)
        abort();
}

static void crew_done(struct crew *crew, struct hand *hands, size_t count)
{
    for (size_t i = 0; i < count; i++)
        poller_free(hands[i].poller);
    free(hands);
    pthread_mutex_destroy(&crew->lock);
    pthread_cond_destroy(&crew->changed);
    wakeup_done(&crew->done);
}

/* Runs the hands to their end. */
static enum status run(struct crew *crew, struct hand *hands, size_t count,
                       struct phase_times *out_times, struct fault *fault)
{
    const struct phase_watch *watch = crew->order->watch;
    struct mono begun;
    int64_t stall_ns;
    size_t started;
    enum status status = start(crew, hands, count, &started, fault);

    begun = mono_now();
    if (status == STATUS_OK && is_echo_alone(crew)) {
        wait_for_echo_role(crew);
        begun = mono_now();
        if (watch->ready != NULL)
            watch->ready(watch->context);
    }
    stall_ns = watch_over(crew, watch);
    for (size_t i = 0; i < started; i++)
        pthread_join(hands[i].thread, NULL);
    if (status != STATUS_OK)
        return status;
    *out_times = times_of(crew, hands, count);
    out_times->stall_ns = larger(out_times->stall_ns, stall_ns);
    if (is_echo_alone(crew))
        out_times->active_ns = mono_between(begun, mono_now());
    return crew_stopped(crew) ? fault_set(fault, STATUS_INTERRUPTED, "interrupted") : STATUS_OK;
}

enum status phase_run(const struct phase_roles *roles, const struct phase_order *order,
                      struct phase_times *out_times, struct fault *fault)
{
    struct hand *hands;
    struct wakeup done;
    struct crew crew;
    size_t count;
    enum status status = wakeup_init(&done, fault);

    if (status != STATUS_OK)
        return status;
    crew_init(&crew, roles, order);
    crew.done = done;
    hands = memory_new(roles->threads * 2, sizeof *hands);
    count = assign(&crew, hands);
    crew.alert = (long)count <= sysconf(_SC_NPROCESSORS_ONLN);
    status = run(&crew, hands, count, out_times, fault);
    crew_done(&crew, hands, count);
    return status;
}
