/* Owns what one thread of a phase does: bursts, serving, draining. Knows nothing of how threads are
 * started and ended. */
#include "agent/probe/phase_crew.h"

#include <poll.h>

enum { TOKENS_MAX = 64 };

#define ECHO_TOKEN UINT64_MAX
#define DONE_TOKEN (UINT64_MAX - 1)
/* A new thread may have been put on the processor of one that is awake; having slept, it is woken
 * on an idle one. */
#define SETTLE_MS 1
#define STOP_NS   (50 * NS_PER_MS) /* how soon a thread notices that it is to stop */
#define ALERT_NS  (50 * NS_PER_US) /* how long a thread looks before it sleeps */
#define AWAKE_NS  (20 * NS_PER_MS) /* how long an echo worker waits for a burst without sleeping */
#define SPIN_NS   (2 * NS_PER_MS)  /* pacing finer than a poller's grain looks without waiting */

static bool is_set(const atomic_bool *flag)
{
    return flag != NULL && atomic_load_explicit(flag, memory_order_relaxed);
}

bool crew_stopped(const struct crew *crew)
{
    return is_set(crew->order->watch->stop);
}

static void publish(struct hand *hand)
{
    struct crew *crew = hand->crew;
    int64_t outstanding = (int64_t)sender_outstanding(hand->sender);
    int64_t slowest = sender_slowest_ns(hand->sender);
    int_fast64_t known = atomic_load(&crew->slowest_ns);

    atomic_fetch_add(&crew->outstanding, outstanding - hand->published);
    hand->published = outstanding;
    while (slowest > known && !atomic_compare_exchange_weak(&crew->slowest_ns, &known, slowest))
        ;
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

/* After each round: how long the thread was not run in it, of which it had asked to sleep up to
 * asked_ns. */
static int64_t note_stall(struct hand *hand, struct mono now, int64_t asked_ns)
{
    int64_t waited = (hand->sender == NULL ? 0 : sender_waited_ns(hand->sender)) +
                     (hand->worker == NULL ? 0 : echo_waited_ns(hand->worker));

    asked_ns += waited - hand->waited_ns;
    hand->waited_ns = waited;
    return stall_step(&hand->stall, now, asked_ns);
}

static int64_t at_most(int64_t ns, int64_t limit)
{
    return ns < 0 ? 0 : ns < limit ? ns : limit;
}

/* Sends, echoes and collects until the time is over. */
static void serve_until_deadline(struct hand *hand)
{
    struct crew *crew = hand->crew;
    int64_t interval_ns = crew->order->common->interval_ns;
    struct mono now = mono_now();

    while (mono_between(now, crew->deadline) > 0 && !crew_stopped(crew)) {
        int64_t left = at_most(mono_between(now, crew->deadline), STOP_NS);

        if (interval_ns > 0) {
            struct mono due = sender_pace(hand->sender, interval_ns, now);

            left = at_most(mono_between(mono_now(), due), left);
            left = left < SPIN_NS ? 0 : left - SPIN_NS;
        }
        serve_ready(hand, left, interval_ns == 0);
        now = mono_now();
        note_stall(hand, now, left);
    }
    if (interval_ns > 0 && !crew_stopped(crew))
        sender_pace_end(hand->sender, interval_ns, crew->deadline);
}

/* Some sender waits for an echo, or what this thread has read waits for its answer. */
static bool is_awaited(const struct hand *hand)
{
    return atomic_load(&hand->crew->outstanding) > 0 ||
           (hand->worker != NULL && echo_waiting(hand->worker));
}

/* On one host the drain is always the same. On the way to another one, what is slow is not lost. */
static int64_t drain_ns(struct crew *crew)
{
    int64_t least = crew->order->drain_ns;
    int64_t slow = PHASE_DRAIN_RTTS * atomic_load(&crew->slowest_ns);
    bool longer = crew->roles->echo_workers == NULL && slow > least;

    return at_most(longer ? slow : least, PHASE_DRAIN_MAX_NS);
}

/* Reads on until nothing is outstanding at any sender or the drain has passed. It passes only
 * while this thread is run: one that was stopped still reads what has come meanwhile. */
static void serve_drain(struct hand *hand)
{
    struct crew *crew = hand->crew;
    struct mono start = mono_now();
    struct mono now = start;
    int64_t left;

    publish(hand);
    while ((left = drain_ns(crew) - mono_between(start, now)) > 0 && is_awaited(hand) &&
           !crew_stopped(crew)) {
        left = at_most(left, NS_PER_MS);
        serve_ready(hand, left, false);
        publish(hand);
        now = mono_now();
        start = mono_after(start, note_stall(hand, now, left));
    }
}

static void run_sender(struct hand *hand)
{
    struct crew *crew = hand->crew;
    int64_t interval_ns = crew->order->common->interval_ns;

    if (hand->worker == NULL)
        poll(NULL, 0, SETTLE_MS);
    if (interval_ns == 0)
        sender_burst(hand->sender);
    else
        sender_pace(hand->sender, interval_ns, mono_now());
    if (meet_after_burst(hand)) {
        stall_skip(&hand->stall, mono_now());
        hand->waited_ns = sender_waited_ns(hand->sender) +
                          (hand->worker == NULL ? 0 : echo_waited_ns(hand->worker));
        serve_until_deadline(hand);
        serve_drain(hand);
    }
    pthread_mutex_lock(&crew->lock);
    if (--crew->running == 0)
        wakeup_now(&crew->done);
    pthread_mutex_unlock(&crew->lock);
}

/* Awake until the first datagram, so that the burst of a sender on this host races a reader and not
 * a wake-up. */
static void run_echo(struct hand *hand)
{
    struct crew *crew = hand->crew;
    struct mono end;

    pthread_mutex_lock(&crew->lock);
    crew->watching++;
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
    end = mono_after(mono_now(), crew->roles->senders == NULL ? 0 : AWAKE_NS);
    while (mono_between(mono_now(), end) > 0 && serve_ready(hand, 0, false) == 0)
        ;
    stall_skip(&hand->stall, mono_now());
    hand->waited_ns = echo_waited_ns(hand->worker);
    while (!hand->done) {
        serve_ready(hand, STOP_NS, false);
        note_stall(hand, mono_now(), STOP_NS);
    }
}

void *hand_run(void *context)
{
    struct hand *hand = context;

    stall_init(&hand->stall, stall_thread_ns, mono_now());
    if (hand->sender != NULL)
        run_sender(hand);
    else
        run_echo(hand);
    return NULL;
}

enum status hand_watch(struct hand *hand, struct fault *fault)
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
