/* Owns a sender that keeps a pace, what is seen of the queue meanwhile, and the account of both
 * ends. The reading process is reader.c's. */
#include "agent/probe/slow_reader.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <sys/select.h>
#include <time.h>

#include "agent/host/socket.h"
#include "agent/probe/calibrate.h"
#include "agent/probe/reader.h"
#include "agent/probe/schedule.h"
#include "agent/probe/system_count.h"
#include "agent/probe/timeline.h"
#include "agent/probe/transmit.h"

#define SPIN_NS     (100 * NS_PER_US) /* what a sleeping sender may wake up late */
#define NAP_NS      (10 * NS_PER_MS)  /* the longest sleep: stop, reader and queue are looked at */
#define CHECK_NS    NS_PER_MS         /* between looks at stop and reader */
#define TICK_NS     (100 * NS_PER_MS)
#define SAMPLE_NS   (100 * NS_PER_US) /* at first; longer runs are sampled less often */
#define START_NS    (10 * NS_PER_S)   /* a busy machine may let the reader begin late */
#define NO_DROP_NS  (20 * NS_PER_US)  /* until the first drop: at most this long between looks */
#define NO_DROP_MAX 16                /* and so many datagrams */
#define QUIET_NS    (250 * NS_PER_MS) /* nothing comes, nothing is there: all that came is read */
#define STUCK_NS    (2 * NS_PER_S)    /* and two reads: a reader that makes no progress */

struct course {
    const struct slow_reader_order *order;
    struct pair pair;
    struct reader *reader;
    struct leg leg;
    struct timeline timeline;
    struct mono origin; /* of the timeline: the first send is due */
    struct mono first_sent, last_sent;
    struct mono checked, ticked,
        looked;                        /* when stop, tick and the first drop were last cared for */
    int64_t unlooked;                  /* datagrams since `looked` */
    int64_t first_drop_ns;             /* NONE_INT: not yet */
    struct reader_count while_sending; /* when the last datagram was out */
    bool counts;                       /* the socket counts its drops */
    uint32_t drops_before;
};

/* Stop, the reader's health and the owner's tick, each as often as it needs. */
static enum status attend(struct course *course, struct mono now, struct fault *fault)
{
    const struct slow_reader_order *order = course->order;

    if (mono_between(course->checked, now) < CHECK_NS)
        return STATUS_OK;
    course->checked = now;
    if (order->tick != NULL && mono_between(course->ticked, now) >= TICK_NS) {
        course->ticked = now;
        order->tick(order->context);
    }
    if (order->stop != NULL && atomic_load_explicit(order->stop, memory_order_relaxed))
        return fault_set(fault, STATUS_INTERRUPTED, "stopped");
    return reader_check(course->reader, fault);
}

static int64_t drops_now(const struct course *course)
{
    uint32_t drops;

    if (!course->counts || socket_drops(course->pair.receiver, &drops) != STATUS_OK)
        return NONE_INT;
    return (int64_t)(uint32_t)(drops - course->drops_before);
}

static void add_point(struct course *course, struct mono at, bool event)
{
    struct timeline_point point = {
        .at_ns = mono_between(course->origin, at),
        .queued = NONE_INT,
        .drops = drops_now(course),
        .event = event,
    };

    if (socket_queued_bytes(course->pair.receiver, &point.queued) != STATUS_OK)
        point.queued = NONE_INT;
    if (point.drops > 0 && course->first_drop_ns == NONE_INT)
        course->first_drop_ns = point.at_ns;
    timeline_add(&course->timeline, &point);
}

static void sample(struct course *course, struct mono now)
{
    if (timeline_due(&course->timeline, mono_between(course->origin, now)))
        add_point(course, now, false);
}

/* The first drop is wanted more exactly than the queue is sampled. `now` is when the last datagram
 * went out. */
static void look_for_drop(struct course *course, struct mono now)
{
    if (course->first_drop_ns != NONE_INT || !course->counts)
        return;
    if (++course->unlooked < NO_DROP_MAX && mono_between(course->looked, now) < NO_DROP_NS)
        return;
    course->looked = now;
    course->unlooked = 0;
    if (drops_now(course) > 0)
        add_point(course, now, true);
}

/* Sleeps at most `ns`; a signal ends it early. */
static void nap(int64_t ns)
{
    struct timespec time = { .tv_nsec = (long)(ns < NAP_NS ? ns : NAP_NS) };

    pselect(0, NULL, NULL, NULL, &time, NULL);
}

/* A reader that begins late would look like one that is slower than it is. */
static enum status await_reader(struct course *course, struct fault *fault)
{
    struct mono begun = mono_now();

    for (;;) {
        struct mono now = mono_now();
        enum status status = attend(course, now, fault);

        if (status != STATUS_OK || reader_count(course->reader).ready)
            return status;
        if (mono_between(begun, now) >= START_NS)
            return fault_set(fault, STATUS_AGAIN, "the reader process %lld did not begin",
                             (long long)reader_pid(course->reader));
        nap(NS_PER_MS);
    }
}

/* Waits for the next due time. The last stretch is spent awake: a sleep ends late by more than what
 * a pace may be off. */
static enum status await_turn(struct course *course, const struct schedule *schedule,
                              struct mono *out_now, struct fault *fault)
{
    for (;;) {
        struct mono now = mono_now();
        int64_t left = schedule_wait(schedule, now);
        enum status status = attend(course, now, fault);

        if (status != STATUS_OK)
            return status;
        if (left == 0) {
            *out_now = now;
            return STATUS_OK;
        }
        sample(course, now);
        if (left > SPIN_NS)
            nap(left - SPIN_NS);
    }
}

static enum status send_all(struct course *course, struct fault *fault)
{
    const struct transmit_way way = { engine_find(ENGINE_SINGLE, NULL), course->pair.sender,
                                      &course->leg, NULL };
    struct datagram datagram = {
        .part = { { course->pair.bytes, course->pair.payload } },
        .parts = 1,
    };
    struct schedule schedule;
    struct mono now = mono_now();

    course->origin = course->checked = course->ticked = course->looked = now;
    add_point(course, now, true);
    schedule_begin(&schedule, course->order->interval_ns, now);
    for (int64_t i = 0; i < course->order->sends; i++) {
        enum status status = await_turn(course, &schedule, &now, fault);

        if (status != STATUS_OK)
            return status;
        /* A first one that is late must not shorten the interval behind it. */
        if (i == 0)
            schedule_begin(&schedule, course->order->interval_ns, now);
        schedule_sent(&schedule, now);
        if (course->leg.sent == 0)
            course->first_sent = now;
        if (transmit(&way, &datagram, 1) == 0)
            course->last_sent = now;
        look_for_drop(course, now);
        sample(course, now);
    }
    course->while_sending = reader_count(course->reader);
    add_point(course, mono_now(), true);
    return STATUS_OK;
}

static bool something_queued(const struct course *course)
{
    struct pollfd ready = { .fd = course->pair.receiver, .events = POLLIN };

    return poll(&ready, 1, 0) > 0;
}

/* Where sockets count, it is known when each datagram has been read or dropped. Elsewhere, and if
 * that never comes true, a reader that finds nothing for a while has read all. */
static enum status drain(struct course *course, struct fault *fault)
{
    int64_t patience_ns = STUCK_NS + 2 * course->order->read_ns;
    struct mono progressed = mono_now(), quiet = progressed;
    int64_t processed = -1;

    for (;;) {
        struct mono now = mono_now();
        enum status status = attend(course, now, fault);
        struct reader_count count = reader_count(course->reader);

        if (status != STATUS_OK)
            return status;
        sample(course, now);
        if (course->counts && count.processed + drops_now(course) == course->leg.sent)
            return STATUS_OK;
        if (count.processed != processed)
            progressed = now;
        if (count.processed != processed || !count.waiting || something_queued(course))
            quiet = now;
        processed = count.processed;
        if (mono_between(quiet, now) >= QUIET_NS)
            return STATUS_OK;
        if (mono_between(progressed, now) >= patience_ns + QUIET_NS)
            return fault_set(fault, STATUS_IO,
                             "the reader process %lld stopped reading after %lld datagrams",
                             (long long)reader_pid(course->reader), (long long)processed);
        nap(course->timeline.period_ns);
    }
}

static enum status open_course(struct course *course, struct fault *fault)
{
    const struct slow_reader_order *order = course->order;
    struct addr from = { .length = sizeof from.socket };
    enum status status =
        pair_open(order->family, (size_t)order->payload, order->rcvbuf, &course->pair, fault);

    if (status != STATUS_OK)
        return status;
    /* Of one peer alone: a stray datagram from elsewhere must not enter the account. */
    if (getsockname(course->pair.sender, &from.socket.any, &from.length) != 0)
        return fault_errno(fault, errno, "cannot read a socket's address");
    status = socket_connect(course->pair.receiver, &from, fault);
    if (status != STATUS_OK)
        return status;
    (void)pair_read_present(&course->pair);
    course->counts = socket_drops(course->pair.receiver, &course->drops_before) == STATUS_OK;
    return STATUS_OK;
}

/* From the first datagram that is sent to the last that is read. */
static enum status run_course(struct course *course, struct fault *fault)
{
    enum status status =
        reader_start(&course->pair, course->order->read_ns, &course->reader, fault);

    if (status == STATUS_OK)
        status = await_reader(course, fault);
    if (status == STATUS_OK)
        status = send_all(course, fault);
    if (status == STATUS_OK)
        status = drain(course, fault);
    if (status == STATUS_OK)
        add_point(course, mono_now(), true);
    return status;
}

/* While it is sent to is what the model asks of; a reader that was done with nothing by then has
 * shown only later how long it takes. */
static double read_ns_of(const struct reader_count *while_sending, const struct reader_count *total)
{
    const struct reader_count *count = while_sending->processed > 0 ? while_sending : total;

    return count->processed > 0 ? (double)count->busy_ns / (double)count->processed : NAN;
}

static double ratio_of(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : NAN;
}

static double model(const struct slow_reader_result *result, const struct capacity *capacity)
{
    int64_t held = capacity_of(capacity, result->rcvbuf.granted);
    double read_s = result->achieved_read_ns / (double)NS_PER_S;

    if (isnan(read_s))
        return NAN;
    held = slow_reader_held(result->sent, result->sending_s, held, read_s, socket_release_share());
    return slow_reader_model(result->sent, result->sending_s, held, read_s);
}

/* The account of both ends. What the owner's pair and leg have is copied. */
static enum status account(const struct course *course, const struct capacity *capacity,
                           struct slow_reader_result *out_result, struct fault *fault)
{
    const struct slow_reader_order *order = course->order;
    struct reader_count total = reader_count(course->reader);
    int64_t sending_ns = mono_between(course->first_sent, course->last_sent);
    int64_t sent = course->leg.sent;
    struct slow_reader_result result = {
        .payload = order->payload,
        .rcvbuf = course->pair.rcvbuf,
        .read_ns = order->read_ns,
        .interval_ns = order->interval_ns,
        .achieved_interval_ns = ratio_of(sending_ns, sent - 1),
        .achieved_read_ns = read_ns_of(&course->while_sending, &total),
        .sending_s = (double)sending_ns / (double)NS_PER_S,
        .sent = sent,
        .refused = course->leg.refused,
        .processed = total.processed,
        .lost = sent - total.processed,
        .loss_ratio = ratio_of(sent - total.processed, sent),
        .dropped = { .socket = drops_now(course), .system = NONE_INT },
        .first_drop_s = course->first_drop_ns == NONE_INT
                            ? NAN
                            : (double)course->first_drop_ns / (double)NS_PER_S,
    };

    if (result.lost < 0 || (course->counts && result.lost != result.dropped.socket))
        return fault_set(fault, STATUS_CORRUPT,
                         "%lld processed and %lld dropped by the socket are not the %lld sent",
                         (long long)result.processed, (long long)result.dropped.socket,
                         (long long)sent);
    result.model_loss_ratio = model(&result, capacity);
    *out_result = result;
    return STATUS_OK;
}

static enum status measure(struct course *course, const struct capacity *capacity,
                           struct slow_reader_result *out_result, struct fault *fault)
{
    struct counters before, after;
    enum status status = open_course(course, fault);

    if (status == STATUS_OK)
        status = system_counters(&before, fault);
    if (status == STATUS_OK)
        status = run_course(course, fault);
    if (status == STATUS_OK)
        status = system_counters(&after, fault);
    if (status == STATUS_OK)
        status = account(course, capacity, out_result, fault);
    if (status != STATUS_OK)
        return status;
    out_result->dropped.system =
        system_count_between(&before, &after, UDP_RECEIVE_BUFFER_FULL, course->order->family);
    timeline_queue(&course->timeline, &out_result->queue);
    timeline_drops(&course->timeline, &out_result->drops);
    return STATUS_OK;
}

enum status slow_reader_measure(const struct slow_reader_order *order,
                                struct slow_reader_result *out_result, struct fault *fault)
{
    struct calibration calibration;
    struct course course = {
        .order = order,
        .pair = { .receiver = -1, .sender = -1 },
        .first_drop_ns = NONE_INT,
    };
    enum status status;

    assert(order->sends > 0 && order->read_ns >= 0 && order->interval_ns >= 0);
    timeline_init(&course.timeline, SAMPLE_NS);
    status = calibrate_capacity(order->family, (size_t)order->payload, order->rcvbuf, &calibration,
                                fault);
    if (status == STATUS_OK)
        status = measure(&course, &calibration.capacity, out_result, fault);
    reader_end(course.reader);
    pair_done(&course.pair);
    return status;
}
