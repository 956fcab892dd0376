/* Owns the echo role. Knows nothing of who sends, of phases' ends or of what is lost. */
#include "agent/probe/echo.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/probe/arrivals.h"
#include "agent/probe/ledger.h"
#include "agent/probe/transmit.h"
#include "proto/base/memory.h"

enum { ROOM_BYTES = 16 << 20, ROOM_DATAGRAMS_MAX = 1024, NO_TTL = 255 };

#define SERVE_NS (10 * NS_PER_MS)  /* one call of echo_serve, about */
#define WORK_NS  NS_PER_MS         /* work before a batch of answers goes out, about */
#define SWEEP_NS (100 * NS_PER_MS) /* a flood of strangers must not hold a phase's end */

struct echo_flow {
    struct addr peer;
    bool admitted;
    struct arrivals arrivals;
    uint32_t next_reply; /* a stateful reflector counts its own datagrams: RFC 8762 section 4 */
};

struct echo {
    int fd;
    const struct engine *engine;
    const struct session *session;
    int64_t work_ns;
    size_t window;
    echo_may_join *may_join;
    void *context;
    pthread_mutex_t lock; /* of the flows */
    struct echo_flow *flows;
    size_t mask;         /* places in `flows` - 1: open addressing by address */
    size_t count, limit; /* admitted; may be */
};

/* What was read and waits for its answer. */
struct answer {
    bool wanted; /* false: foreign, corrupt or late; gets none */
    struct stamp_request request;
    struct mono received_at;
    uint32_t sequence;
};

/* A ring of slots: read at the tail, answered at the head. */
struct echo_worker {
    struct echo *echo;
    size_t slot;  /* bytes of room for one datagram */
    size_t room;  /* slots, a multiple of DATAGRAM_BATCH_MAX */
    size_t batch; /* datagrams to read in one call */
    size_t head, pending;
    uint8_t *bytes;
    struct datagram *datagrams;
    struct addr *peers;
    struct addr *locals; /* NULL: the socket is bound to one address */
    struct answer *answers;
    struct leg forward, reverse;
    int64_t waited_ns;
};

struct echo *echo_new(int fd, const struct engine *engine, size_t flows, size_t window)
{
    struct echo *echo = memory_new(1, sizeof *echo);
    size_t places = 2;

    while (places < flows * 2)
        places *= 2;
    echo->fd = fd;
    echo->engine = engine;
    echo->window = window;
    echo->limit = flows;
    echo->mask = places - 1;
    echo->flows = memory_new(places, sizeof *echo->flows);
    if (pthread_mutex_init(&echo->lock, NULL) != 0)
        abort();
    return echo;
}

void echo_free(struct echo *echo)
{
    if (echo == NULL)
        return;
    for (size_t i = 0; i <= echo->mask; i++)
        arrivals_done(&echo->flows[i].arrivals);
    free(echo->flows);
    pthread_mutex_destroy(&echo->lock);
    free(echo);
}

/* The flow of this address, or the free place where it would be. */
static struct echo_flow *flow_of(const struct echo *echo, const struct addr *peer)
{
    size_t at = (size_t)addr_hash(peer) & echo->mask;

    while (echo->flows[at].admitted && !addr_equal(&echo->flows[at].peer, peer))
        at = (at + 1) & echo->mask;
    return &echo->flows[at];
}

static void admit(struct echo *echo, struct echo_flow *flow, const struct addr *peer)
{
    flow->peer = *peer;
    flow->admitted = true;
    arrivals_init(&flow->arrivals, echo->window);
    echo->count++;
}

void echo_admit(struct echo *echo, const struct addr *peer)
{
    struct echo_flow *flow = flow_of(echo, peer);

    if (!flow->admitted)
        admit(echo, flow, peer);
}

void echo_open_to(struct echo *echo, echo_may_join *may_join, void *context)
{
    echo->may_join = may_join;
    echo->context = context;
}

void echo_begin(struct echo *echo, const struct session *session, int64_t work_ns)
{
    echo->session = session;
    echo->work_ns = work_ns;
    for (size_t i = 0; i <= echo->mask; i++) {
        struct echo_flow *flow = &echo->flows[i];

        if (!flow->admitted)
            continue;
        arrivals_done(&flow->arrivals);
        arrivals_init(&flow->arrivals, echo->window);
        flow->next_reply = 0;
    }
}

struct echo_worker *echo_worker_new(struct echo *echo, size_t payload)
{
    struct echo_worker *worker = memory_new(1, sizeof *worker);
    size_t room = ROOM_BYTES / payload / DATAGRAM_BATCH_MAX * DATAGRAM_BATCH_MAX;

    room = room > ROOM_DATAGRAMS_MAX ? ROOM_DATAGRAMS_MAX : room;
    worker->echo = echo;
    worker->slot = (payload + 64) / 64 * 64; /* one byte more than the payload shows a longer one */
    worker->room = room;
    worker->batch = engine_read_batch(payload);
    worker->bytes = memory_new(room, worker->slot);
    worker->datagrams = memory_new(room, sizeof *worker->datagrams);
    worker->peers = memory_new(room, sizeof *worker->peers);
    worker->answers = memory_new(room, sizeof *worker->answers);
    if (echo->may_join != NULL)
        worker->locals = memory_new(room, sizeof *worker->locals);
    for (size_t i = 0; i < room; i++) {
        worker->datagrams[i] = (struct datagram){
            .part = { { worker->bytes + i * worker->slot, worker->slot } },
            .parts = 1,
            .peer = &worker->peers[i],
            .local = worker->locals == NULL ? NULL : &worker->locals[i],
        };
    }
    return worker;
}

void echo_worker_free(struct echo_worker *worker)
{
    if (worker == NULL)
        return;
    free(worker->bytes);
    free(worker->datagrams);
    free(worker->peers);
    free(worker->locals);
    free(worker->answers);
    free(worker);
}

void echo_worker_begin(struct echo_worker *worker)
{
    worker->forward = (struct leg){ 0 };
    worker->reverse = (struct leg){ 0 };
}

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;

    return ab < c ? ab : c;
}

/* The flow of this address, which may join now; NULL when it is none. */
static struct echo_flow *flow_for(struct echo *echo, const struct addr *peer)
{
    struct echo_flow *flow = flow_of(echo, peer);

    if (flow->admitted)
        return flow;
    if (echo->may_join == NULL || echo->count == echo->limit ||
        !echo->may_join(echo->context, peer))
        return NULL;
    admit(echo, flow, peer);
    return flow;
}

/* Who sent it, when it is a request of the session that has begun; else NULL, and counted. */
static struct echo_flow *flow_of_request(struct echo_worker *worker,
                                         const struct datagram *datagram,
                                         struct stamp_request *out_request)
{
    struct echo *echo = worker->echo;
    enum session_kin kin = session_get_request(echo->session, datagram->part[0].iov_base,
                                               datagram->length, out_request);
    struct echo_flow *flow = kin == SESSION_OWN ? flow_for(echo, datagram->peer) : NULL;

    worker->forward.foreign += flow == NULL && kin != SESSION_HELLO;
    return flow;
}

/* Enters one datagram into the account; true when it is to be answered. A duplicate is not: a
 * datagram that somebody has recorded and sends again makes no traffic. */
static bool enter(struct echo_worker *worker, const struct datagram *datagram,
                  struct answer *answer, bool late)
{
    struct echo_flow *flow = flow_of_request(worker, datagram, &answer->request);
    enum arrival arrival;

    if (flow == NULL)
        return false;
    if (!session_request_intact(worker->echo->session, &answer->request,
                                datagram->part[0].iov_base)) {
        worker->forward.corrupt++;
        return false;
    }
    arrival = arrivals_add(&flow->arrivals, answer->request.sequence);
    ledger_arrive(&worker->forward, arrival, late);
    if (late || arrival == ARRIVAL_BEYOND || arrival == ARRIVAL_DUPLICATE)
        return false;
    answer->sequence = flow->next_reply++;
    return true;
}

/* Reads until the socket gives no full batch or the slots are full; returns how many datagrams. */
static size_t read_waiting(struct echo_worker *worker, bool late)
{
    size_t count = 0;
    size_t asked, got;
    int error;

    pthread_mutex_lock(&worker->echo->lock);
    do {
        size_t tail = (worker->head + worker->pending) % worker->room;
        struct mono now;

        asked = smallest(worker->room - worker->pending, worker->room - tail, worker->batch);
        got = worker->echo->engine->receive(worker->echo->fd, worker->datagrams + tail, asked,
                                            &error);
        now = mono_now();
        for (size_t i = tail; i < tail + got; i++) {
            worker->answers[i].received_at = now;
            worker->answers[i].wanted =
                enter(worker, &worker->datagrams[i], &worker->answers[i], late);
        }
        worker->pending += got;
        count += got;
    } while (got == asked && worker->pending < worker->room);
    pthread_mutex_unlock(&worker->echo->lock);
    return count;
}

static void work(int64_t ns)
{
    struct mono end;

    if (ns == 0)
        return;
    end = mono_after(mono_now(), ns);
    while (mono_between(mono_now(), end) > 0)
        ;
}

static void make_reply(const struct echo *echo, const struct answer *answer,
                       const struct datagram *datagram, struct mono now)
{
    const struct session *session = echo->session;
    const struct stamp_reply reply = {
        .sequence = answer->sequence,
        .timestamp = session_timestamp(session, now),
        .error_estimate = session->error_estimate,
        .ssid = session->ssid,
        .receive_timestamp = session_timestamp(session, answer->received_at),
        .sender_sequence = answer->request.sequence,
        .sender_timestamp = answer->request.timestamp,
        .sender_error_estimate = answer->request.error_estimate,
        .sender_ttl = NO_TTL,
    };

    stamp_put_reply(&session->ground.format, &reply, datagram->part[0].iov_base, datagram->length);
}

/* How many datagrams one batch of answers takes: less when each costs work, so that the first does
 * not wait for the work on all. */
static size_t batch_for(int64_t work_ns)
{
    int64_t count = work_ns > 0 ? WORK_NS / work_ns : DATAGRAM_BATCH_MAX;

    return count < 1 ? 1 : count > DATAGRAM_BATCH_MAX ? DATAGRAM_BATCH_MAX : (size_t)count;
}

/* Answers the batch at the head. */
static void answer_batch(struct echo_worker *worker, int64_t work_ns)
{
    struct echo *echo = worker->echo;
    const struct transmit_way way = { echo->engine, echo->fd, &worker->reverse,
                                      &worker->waited_ns };
    size_t slots = smallest(worker->pending, worker->room - worker->head, batch_for(work_ns));
    struct datagram out[DATAGRAM_BATCH_MAX];
    size_t count = 0;
    struct mono now;

    for (size_t i = worker->head; i < worker->head + slots; i++) {
        if (worker->answers[i].wanted)
            work(work_ns);
    }
    now = mono_now();
    for (size_t i = worker->head; i < worker->head + slots; i++) {
        if (!worker->answers[i].wanted)
            continue;
        make_reply(echo, &worker->answers[i], &worker->datagrams[i], now);
        out[count] = worker->datagrams[i];
        out[count].part[0].iov_len = out[count].length;
        count++;
    }
    transmit(&way, out, count);
    worker->head = (worker->head + slots) % worker->room;
    worker->pending -= slots;
    /* An empty ring starts over: the first slots are the ones that the caches still hold. */
    if (worker->pending == 0)
        worker->head = 0;
}

size_t echo_serve(struct echo_worker *worker)
{
    struct mono end = mono_after(mono_now(), SERVE_NS);
    size_t count = 0;

    do {
        count += read_waiting(worker, false);
        answer_batch(worker, worker->echo->work_ns);
    } while (worker->pending > 0 && mono_between(mono_now(), end) > 0);
    return count;
}

bool echo_waiting(const struct echo_worker *worker)
{
    return worker->pending > 0;
}

void echo_sweep(struct echo_worker *worker)
{
    struct mono end = mono_after(mono_now(), SWEEP_NS);

    while (worker->pending > 0)
        answer_batch(worker, 0);
    while (read_waiting(worker, true) > 0 && mono_between(mono_now(), end) > 0)
        worker->pending = 0;
    worker->pending = 0;
}

void echo_worker_account(const struct echo_worker *worker, struct leg *forward, struct leg *reverse)
{
    ledger_merge(forward, &worker->forward);
    ledger_merge(reverse, &worker->reverse);
}

int64_t echo_waited_ns(const struct echo_worker *worker)
{
    return worker->waited_ns;
}

int64_t echo_arrived_of_first(const struct echo *echo, int64_t count)
{
    int64_t arrived = 0;

    for (size_t i = 0; i <= echo->mask; i++) {
        if (echo->flows[i].admitted)
            arrived += count - (int64_t)arrivals_missing_of_first(&echo->flows[i].arrivals,
                                                                  (uint64_t)count);
    }
    return arrived;
}
