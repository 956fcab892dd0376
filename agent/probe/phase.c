/* Owns the threads of a phase and its end. What the roles count stays theirs. */
#include "agent/probe/phase.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/host/poller.h"
#include "agent/host/wakeup.h"

enum { TOKENS_MAX = 64 };

#define ECHO_TOKEN UINT64_MAX
#define DONE_TOKEN (UINT64_MAX - 1)
/* A new thread may have been put on the processor of one that is awake; having slept, it is woken
 * on an idle one. */
#define SETTLE_MS 1
#define TICK_MS   100
#define STOP_NS   (50 * NS_PER_MS) /* how soon a thread notices that it is to stop */
#define ALERT_NS  (50 * NS_PER_US) /* how long a thread looks before it sleeps */
#define AWAKE_NS  (20 * NS_PER_MS) /* how long an echo worker waits for a burst without sleeping */
#define SPIN_NS   (2 * NS_PER_MS)  /* pacing finer than a poller's grain looks without waiting */

/* What all threads of a phase share. */
struct crew {
    const struct phase_roles *roles;
    const struct case_common *common;
    int64_t duration_ns;
    const atomic_bool *stop;
    bool alert; /* there is a processor for each thread, so looking takes none from another */
    pthread_mutex_t lock; /* of the members below it */
    pthread_cond_t changed;
    size_t watching;        /* echo workers that look at their socket; split model */
    size_t arrived;         /* senders whose first burst is out */
    size_t running;         /* threads that serve a sender */
    bool failed;            /* a thread could not be started */
    struct mono first_sent; /* of all senders */
    struct mono deadline;   /* end of sending; set when the last burst is out */
    atomic_int_fast64_t outstanding;
    struct wakeup done; /* the senders are */
};

/* One thread: a sender, an echo worker, or both. */
struct hand {
    struct crew *crew;
    pthread_t thread;
    struct poller *poller;
    struct sender *sender;      /* NULL: echo role only */
    struct echo_worker *worker; /* NULL: sender only */
    size_t first_client;
    int64_t published; /* its part of crew->outstanding */
    bool done;         /* the senders are: an echo worker may end */
};

static bool stopped(const struct crew *crew)
{
    return crew->stop != NULL && atomic_load_explicit(crew->stop, memory_order_relaxed);
}

static void publish(struct hand *hand)
{
    int64_t outstanding = (int64_t)sender_outstanding(hand->sender);

    atomic_fetch_add(&hand->crew->outstanding, outstanding - hand->published);
    hand->published = outstanding;
}

/* Nothing is read before every burst is out; the first datagram of all starts the clock. False
 * when not all threads could be started. */
static bool meet_after_burst(struct hand *hand)
{
    struct crew *crew = hand->crew;
    struct mono first = sender_first_sent(hand->sender);
    bool complete;

    pthread_mutex_lock(&crew->lock);
    if (crew->arrived == 0 || mono_between(first, crew->first_sent) > 0)
        crew->first_sent = first;
    if (++crew->arrived == crew->roles->threads) {
        crew->deadline = mono_after(crew->first_sent, crew->duration_ns);
        pthread_cond_broadcast(&crew->changed);
    }
    while (crew->arrived < crew->roles->threads && !crew->failed)
        pthread_cond_wait(&crew->changed, &crew->lock);
    complete = crew->arrived == crew->roles->threads;
    pthread_mutex_unlock(&crew->lock);
    return complete;
}

/* Looks for a moment before it sleeps: a thread that is about to be given work costs the one who
 * gives it a wake-up, and that is most of what a small datagram costs. */
static size_t wait_ready(struct hand *hand, int64_t timeout_ns, uint64_t tokens[TOKENS_MAX])
{
    struct mono start = mono_now();

    while (hand->crew->alert && timeout_ns > ALERT_NS &&
           mono_between(start, mono_now()) < ALERT_NS) {
        size_t count = poller_wait(hand->poller, 0, tokens, TOKENS_MAX);

        if (count > 0)
            return count;
    }
    return poller_wait(hand->poller, timeout_ns, tokens, TOKENS_MAX);
}

/* Serves what can be read; returns how many descriptors that were. */
static size_t serve_ready(struct hand *hand, int64_t timeout_ns, bool resend)
{
    bool waiting = hand->worker != NULL && echo_waiting(hand->worker);
    uint64_t tokens[TOKENS_MAX];
    size_t count = wait_ready(hand, waiting ? 0 : timeout_ns, tokens);

    if (waiting)
        echo_serve(hand->worker);
    for (size_t i = 0; i < count; i++) {
        if (tokens[i] == DONE_TOKEN)
            hand->done = true;
        else if (tokens[i] == ECHO_TOKEN)
            echo_serve(hand->worker);
        else
            sender_collect(hand->sender, (size_t)tokens[i], resend, hand->crew->deadline);
    }
    return count;
}

static int64_t at_most(int64_t ns, int64_t limit)
{
    return ns < 0 ? 0 : ns < limit ? ns : limit;
}

/* Sends, echoes and collects until the time is over. */
static void serve_until_deadline(struct hand *hand)
{
    struct crew *crew = hand->crew;
    bool paced = crew->common->interval_ns > 0;
    struct mono now = mono_now();

    while (mono_between(now, crew->deadline) > 0 && !stopped(crew)) {
        int64_t left = at_most(mono_between(now, crew->deadline), STOP_NS);

        if (paced) {
            struct mono due = sender_pace(hand->sender, crew->common->interval_ns, now);

            left = at_most(mono_between(mono_now(), due), left);
            left = left < SPIN_NS ? 0 : left - SPIN_NS;
        }
        serve_ready(hand, left, !paced);
        now = mono_now();
    }
}

/* Some sender waits for an echo, or what this thread has read waits for its answer. */
static bool is_awaited(const struct hand *hand)
{
    return atomic_load(&hand->crew->outstanding) > 0 ||
           (hand->worker != NULL && echo_waiting(hand->worker));
}

/* Reads on until nothing is outstanding at any sender or the drain has passed. */
static void serve_drain(struct hand *hand)
{
    struct crew *crew = hand->crew;
    struct mono end = mono_after(crew->deadline, PHASE_DRAIN_NS);
    struct mono now = mono_now();

    publish(hand);
    while (mono_between(now, end) > 0 && is_awaited(hand) && !stopped(crew)) {
        serve_ready(hand, at_most(mono_between(now, end), NS_PER_MS), false);
        publish(hand);
        now = mono_now();
    }
}

static void run_sender(struct hand *hand)
{
    struct crew *crew = hand->crew;

    if (hand->worker == NULL)
        poll(NULL, 0, SETTLE_MS);
    if (crew->common->interval_ns == 0)
        sender_burst(hand->sender);
    else
        sender_pace(hand->sender, crew->common->interval_ns, mono_now());
    if (meet_after_burst(hand)) {
        serve_until_deadline(hand);
        serve_drain(hand);
    }
    pthread_mutex_lock(&crew->lock);
    if (--crew->running == 0)
        wakeup_now(&crew->done);
    pthread_mutex_unlock(&crew->lock);
}

/* Awake until the first datagram, so that the burst races a reader and not a wake-up. */
static void run_echo(struct hand *hand)
{
    struct crew *crew = hand->crew;
    struct mono end;

    pthread_mutex_lock(&crew->lock);
    crew->watching++;
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
    end = mono_after(mono_now(), AWAKE_NS);
    while (serve_ready(hand, 0, false) == 0 && mono_between(mono_now(), end) > 0)
        ;
    while (!hand->done)
        serve_ready(hand, NS_PER_S, false);
}

static void *run_hand(void *context)
{
    struct hand *hand = context;

    if (hand->sender != NULL)
        run_sender(hand);
    else
        run_echo(hand);
    return NULL;
}

static enum status hand_watch(struct hand *hand, struct fault *fault)
{
    const struct phase_roles *roles = hand->crew->roles;
    enum status status = poller_new(&hand->poller, fault);

    if (status == STATUS_OK && hand->worker != NULL)
        status = poller_add(hand->poller, roles->echo_fd, ECHO_TOKEN, fault);
    if (status == STATUS_OK && hand->sender == NULL)
        status = poller_add(hand->poller, hand->crew->done.fd, DONE_TOKEN, fault);
    for (size_t i = hand->first_client, n = 0;
         hand->sender != NULL && i < roles->clients && status == STATUS_OK;
         i += roles->threads, n++)
        status = poller_add(hand->poller, roles->client_fds[i], n, fault);
    return status;
}

/* Who does what: in the shared model each thread serves both roles, else one. */
static size_t assign(struct crew *crew, struct hand *hands)
{
    const struct phase_roles *roles = crew->roles;
    bool shared = crew->common->io_model == IO_MODEL_SHARED;
    size_t count = 0;

    for (size_t i = 0; i < roles->threads && !shared; i++)
        hands[count++] = (struct hand){ .crew = crew, .worker = roles->echo_workers[i] };
    for (size_t i = 0; i < roles->threads; i++) {
        hands[count++] = (struct hand){ .crew = crew,
                                        .worker = shared ? roles->echo_workers[i] : NULL,
                                        .sender = roles->senders[i],
                                        .first_client = i };
    }
    return count;
}

/* Lets the owner look in until the senders are done. */
static void watch_over(struct crew *crew, const struct phase_watch *watch)
{
    struct pollfd done = { .fd = crew->done.fd, .events = POLLIN };

    while (poll(&done, 1, TICK_MS) <= 0) {
        if (watch->tick != NULL)
            watch->tick(watch->context);
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
static void wait_for_echo_role(struct crew *crew, size_t workers)
{
    pthread_mutex_lock(&crew->lock);
    while (crew->watching < workers)
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

        if (hands[started].sender != NULL && hands[started].worker == NULL)
            wait_for_echo_role(crew, crew->roles->threads);
        error = pthread_create(&hands[started].thread, NULL, run_hand, &hands[started]);
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

static struct phase_times times_of(const struct crew *crew, const struct hand *hands, size_t count)
{
    struct phase_times times = { 0 };
    struct mono last = crew->deadline;

    for (size_t i = 0; i < count; i++) {
        const struct sender *sender = hands[i].sender;
        struct pace pace;

        if (sender == NULL)
            continue;
        pace = sender_pace_kept(sender);
        times.pace.skipped += pace.skipped;
        if (pace.slip_ns > times.pace.slip_ns)
            times.pace.slip_ns = pace.slip_ns;
        if (mono_between(last, sender_last_echo(sender)) > 0)
            last = sender_last_echo(sender);
    }
    times.active_ns = mono_between(crew->first_sent, last);
    return times;
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

enum status phase_run(const struct phase_roles *roles, const struct phase_order *order,
                      struct phase_times *out_times, struct fault *fault)
{
    struct crew crew = { .roles = roles,
                         .common = order->common,
                         .duration_ns = (int64_t)(order->seconds * (double)NS_PER_S),
                         .stop = order->watch->stop,
                         .running = roles->threads };
    struct hand *hands = calloc(roles->threads * 2, sizeof *hands);
    size_t count, started;
    enum status status = wakeup_init(&crew.done, fault);

    if (hands == NULL)
        abort();
    if (status != STATUS_OK) {
        free(hands);
        return status;
    }
    if (pthread_mutex_init(&crew.lock, NULL) != 0 || pthread_cond_init(&crew.changed, NULL) != 0)
        abort();
    count = assign(&crew, hands);
    crew.alert = (long)count <= sysconf(_SC_NPROCESSORS_ONLN);
    status = start(&crew, hands, count, &started, fault);
    watch_over(&crew, order->watch);
    for (size_t i = 0; i < started; i++)
        pthread_join(hands[i].thread, NULL);
    if (status == STATUS_OK && stopped(&crew))
        status = fault_set(fault, STATUS_INTERRUPTED, "interrupted");
    if (status == STATUS_OK)
        *out_times = times_of(&crew, hands, count);
    crew_done(&crew, hands, count);
    return status;
}
