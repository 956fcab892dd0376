/* A sender's end must not send more than hellos to whom has not agreed, must take what goes wrong
 * for what it is, and must not make up for time in which it was stopped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "agent/host/child.h"
#include "tests/agent/probe/ends.h"
#include "tests/agent/probe/stage.h"

/* --- targets that do not agree -------------------------------------------------------------- */

enum lie { SILENT, MIRROR, WRONG_KEY, NOISE, HALF, OTHER_SESSION, CLOSED, LIES };

/* A target that answers as it likes, and the sender's end that tries it. */
struct liar {
    enum lie lie;
    struct end_order order;
    struct addr addr;
    int fd;
    struct digest_key key;
    struct greeting greeting;
    atomic_bool stop;
    int64_t heard, odd; /* datagrams that came; of another size than a hello's */
    enum status status;
    struct fault fault;
    pthread_t target, sender;
};

static size_t answer_of(struct liar *liar, const struct addr *from, uint8_t *bytes)
{
    uint8_t random[12];
    struct stamp_request request;
    struct stamp_format format = { STAMP_AUTHENTICATED, &liar->key };

    digest_random(random, sizeof random);
    switch (liar->lie) {
    case MIRROR:
        return HELLO_SIZE;
    case WRONG_KEY: /* makes a good answer, and signs it with another key */
        if (stamp_get_request(&format, bytes, HELLO_SIZE, &request) != STATUS_OK)
            return 0;
        digest_key_init(&liar->key, "other", 5);
        stamp_put_reply(&format,
                        &(struct stamp_reply){ .ssid = request.ssid,
                                               .error_estimate = 0x101,
                                               .sender_sequence = request.sequence,
                                               .sender_timestamp = request.timestamp },
                        bytes, HELLO_SIZE);
        digest_key_init(&liar->key, liar->order.key, sizeof liar->order.key);
        return HELLO_SIZE;
    case NOISE:
        for (size_t i = 0; i < HELLO_SIZE; i++)
            bytes[i] = random[i % sizeof random];
        return HELLO_SIZE;
    case HALF: /* agrees, and never to a confirm */
        return liar->greeting.answered == 0 &&
                       greeting_receive(&liar->greeting, from, random, bytes, HELLO_SIZE) ==
                           GREETING_ANSWER
                   ? HELLO_SIZE
                   : 0;
    case OTHER_SESSION: /* its session is another one */
        liar->greeting.ssid = 5;
        return greeting_receive(&liar->greeting, from, random, bytes, HELLO_SIZE) == GREETING_ANSWER
                   ? HELLO_SIZE
                   : 0;
    case SILENT:
    case CLOSED:
    case LIES:
        break;
    }
    return 0;
}

static void *lie(void *context)
{
    struct liar *liar = context;
    static const int64_t wait_ms = 20;

    while (!atomic_load(&liar->stop) || stage_readable(liar->fd, 0)) {
        struct addr from = { .length = sizeof from.socket };
        uint8_t bytes[2048];
        ssize_t length;
        size_t answer;

        if (!stage_readable(liar->fd, (int)wait_ms))
            continue;
        length = recvfrom(liar->fd, bytes, sizeof bytes, 0, &from.socket.any, &from.length);
        liar->heard++;
        liar->odd += length != HELLO_SIZE;
        answer = length == HELLO_SIZE ? answer_of(liar, &from, bytes) : 0;
        if (answer > 0)
            (void)sendto(liar->fd, bytes, answer, 0, &from.socket.any, from.length);
    }
    return NULL;
}

static void *try_to_agree(void *context)
{
    struct liar *liar = context;
    struct sender_end *end;

    liar->status = sender_end_new(&liar->order, &liar->addr, &end, &liar->fault);
    if (liar->status != STATUS_OK)
        return NULL;
    liar->status = sender_end_agree(end, &ends_nobody, &liar->fault);
    sender_end_free(end);
    return NULL;
}

static void liar_start(struct liar *liar, enum lie kind)
{
    const struct addr any = addr_loopback(FAMILY_IPV4, 0);

    memset(liar, 0, sizeof *liar);
    liar->lie = kind;
    liar->order = ends_order(8192);
    liar->order.params.window = 1000;
    digest_key_init(&liar->key, liar->order.key, sizeof liar->order.key);
    greeting_init(&liar->greeting, &liar->key, liar->order.ssid);
    assert_int_equal(socket_open(&any, &liar->fd, &liar->addr, NULL), STATUS_OK);
    if (kind == CLOSED)
        close(liar->fd);
    else
        assert_int_equal(pthread_create(&liar->target, NULL, lie, liar), 0);
    assert_int_equal(pthread_create(&liar->sender, NULL, try_to_agree, liar), 0);
}

static void liar_end(struct liar *liar)
{
    char addr[ADDR_TEXT_SIZE];

    pthread_join(liar->sender, NULL);
    atomic_store(&liar->stop, true);
    if (liar->lie != CLOSED) {
        pthread_join(liar->target, NULL);
        close(liar->fd);
    }
    addr_format(&liar->addr, addr);
    assert_int_equal(liar->status, STATUS_NOT_FOUND);
    assert_non_null(strstr(liar->fault.text, addr));
    assert_non_null(strstr(liar->fault.text, "20 hellos"));
    assert_non_null(strstr(liar->fault.text, "firewall"));
    assert_int_equal(strstr(liar->fault.text, "port unreachable") != NULL, liar->lie == CLOSED);
    assert_int_equal(liar->heard, liar->lie == CLOSED ? 0 : HELLO_TRIES);
    assert_int_equal(liar->odd, 0);
}

/* All at once, as each takes its nine seconds. */
static void who_does_not_agree_gets_hellos_and_no_more(void **state)
{
    static struct liar liars[LIES];

    (void)state;
    for (int kind = 0; kind < LIES; kind++)
        liar_start(&liars[kind], (enum lie)kind);
    for (int kind = 0; kind < LIES; kind++)
        liar_end(&liars[kind]);
}

/* --- the owner ------------------------------------------------------------------------------ */

struct owner {
    atomic_bool stop;
    int ticks, pipe[2];
};

static void read_and_stop(void *context)
{
    struct owner *owner = context;
    char byte;

    if (read(owner->pipe[0], &byte, 1) == 1 || ++owner->ticks == 3)
        atomic_store(&owner->stop, true);
}

/* Whether woken or not, the owner looks in, and can stop it. */
static void its_owner_can_stop_an_agreement(void **state)
{
    struct end_order order = ends_order(112);
    const struct addr any = addr_loopback(FAMILY_IPV4, 0);
    struct sender_end *end;
    struct addr target;
    int fd;

    (void)state;
    assert_int_equal(socket_open(&any, &fd, &target, NULL), STATUS_OK);
    assert_int_equal(sender_end_new(&order, &target, &end, NULL), STATUS_OK);
    for (int woken = 0; woken < 2; woken++) {
        struct owner owner = { .ticks = 0 };
        struct phase_watch watch = { .context = &owner,
                                     .tick = read_and_stop,
                                     .stop = &owner.stop };

        assert_int_equal(pipe(owner.pipe), 0);
        if (woken) {
            watch.wake_fd = owner.pipe[0];
            assert_int_equal(write(owner.pipe[1], "x", 1), 1);
        } else {
            close(owner.pipe[1]); /* reads nothing */
        }
        assert_int_equal(sender_end_agree(end, &watch, NULL), STATUS_INTERRUPTED);
        assert_int_equal(owner.ticks, woken ? 0 : 3);
        close(owner.pipe[0]);
        if (woken)
            close(owner.pipe[1]);
    }
    sender_end_free(end);
    close(fd);
}

static void refuses_an_order_that_is_no_session(void **state)
{
    struct end_order order = ends_order(114);
    const struct addr target = addr_loopback(FAMILY_IPV4, 9);
    struct sender_end *end = NULL;
    struct fault fault;

    (void)state;
    assert_int_equal(sender_end_new(&order, &target, &end, &fault), STATUS_INVALID);
    order.params.payload = 112;
    order.params.common.family = FAMILY_IPV6;
    assert_int_equal(sender_end_new(&order, &target, &end, &fault), STATUS_INVALID);
    assert_null(end);
}

/* --- what goes wrong in a phase ------------------------------------------------------------- */

static struct half_phase sends_alone(struct ends *ends)
{
    struct half_phase half;

    record_init(&half_phase_record, &half);
    assert_int_equal(sender_end_phase(ends->sender, PHASE_MEASURE, &ends_nobody, &half, NULL),
                     STATUS_OK);
    assert_int_equal(half.forward.attempted,
                     half.forward.sent + refused_total(&half.forward.refused));
    return half;
}

/* IPv4 has no datagrams of this size. */
static void what_is_too_large_is_counted_and_never_fatal(void **state)
{
    struct end_order order = ends_order(PAYLOAD_MAX_IPV4 + 1);
    struct ends *ends = ends_meet(&order, "127.0.0.1:0", "127.0.0.1:0");
    struct half_phase half = sends_alone(ends);

    (void)state;
    assert_int_equal(half.forward.attempted, 4);
    assert_int_equal(half.forward.refused.emsgsize, 4);
    assert_int_equal(half.first_burst, 0);
    ends_free(ends);
}

static void a_port_that_is_closed_meanwhile_is_counted_and_never_fatal(void **state)
{
    struct end_order order = ends_order(200);
    struct ends *ends;
    struct half_phase half;

    (void)state;
    order.params.common.interval_ns = 5 * NS_PER_MS;
    ends = ends_meet(&order, "127.0.0.1:0", "127.0.0.1:0");
    echo_end_free(ends->echo);
    ends->echo = NULL;
    half = sends_alone(ends);
    assert_true(half.forward.refused.econnrefused > 0);
    assert_int_equal(half.forward.refused.econnrefused, refused_total(&half.forward.refused));
    assert_int_equal(half.first_burst, 4); /* they were on their way */
    ends_free(ends);
}

/* --- stopped -------------------------------------------------------------------------------- */

/* A sender's end in a process of its own, so that it can be stopped. */
struct stopped {
    struct end_order order;
    struct addr target;
    atomic_int step; /* 1: agreed, 2: go, 3: ended */
    enum status status;
    struct half_phase half;
};

static void await(const struct stopped *shared, int step)
{
    for (int i = 0; atomic_load(&shared->step) < step && i < 30000; i++)
        poll(NULL, 0, 1);
}

static void send_in_child(void *context, int64_t parent)
{
    struct stopped *shared = context;
    struct sender_end *end;

    (void)parent;
    shared->status = sender_end_new(&shared->order, &shared->target, &end, NULL);
    if (shared->status == STATUS_OK)
        shared->status = sender_end_agree(end, &ends_nobody, NULL);
    atomic_store(&shared->step, 1);
    await(shared, 2);
    record_init(&half_phase_record, &shared->half);
    if (shared->status == STATUS_OK)
        shared->status = sender_end_phase(end, PHASE_MEASURE, &ends_nobody, &shared->half, NULL);
    atomic_store(&shared->step, 3);
}

/* Stops the child from 200 ms after its start for stop_ms; both halves are in *ends. */
static void run_stopped(struct ends *ends, int stop_ms)
{
    struct stopped *shared;
    struct child child;

    assert_int_equal(memory_share(sizeof *shared, (void **)&shared, NULL), STATUS_OK);
    shared->order = ends->order;
    shared->target = ends->target;
    assert_int_equal(child_start(send_in_child, shared, &child, NULL), STATUS_OK);
    ends_greet(ends);
    await(shared, 1);
    ends_still(ends);
    ends_echo_phase(ends, PHASE_MEASURE);
    atomic_store(&shared->step, 2);
    poll(NULL, 0, 200);
    assert_int_equal(kill((pid_t)child.pid, SIGSTOP), 0);
    poll(NULL, 0, stop_ms);
    assert_int_equal(kill((pid_t)child.pid, SIGCONT), 0);
    await(shared, 3);
    assert_int_equal(atomic_load(&shared->step), 3);
    ends_still(ends);
    assert_int_equal(shared->status, STATUS_OK);
    ends->sent = shared->half;
    child_end(&child);
    memory_unshare(shared, sizeof *shared);
    ends_settle(ends);
}

static struct ends *ends_with(int64_t interval_ns, double seconds)
{
    struct end_order order = ends_order(200);

    order.params.common.interval_ns = interval_ns;
    order.params.common.seconds = seconds;
    return ends_echo(&order, "127.0.0.1:0");
}

/* What was due while it was stopped is left out, and not made up for; nothing is lost. */
static void a_stop_within_an_open_loop_is_a_gap(void **state)
{
    struct ends *ends = ends_with(10 * NS_PER_MS, 2.0);

    (void)state;
    run_stopped(ends, 1000);
    assert_int_equal(ends_oddities(&ends->forward) + ends_oddities(&ends->reverse), 0);
    assert_in_range(ends->sent.stall_ns, 900 * NS_PER_MS, 3000 * NS_PER_MS);
    assert_true(ends->sent.skipped_bursts >= 90);
    assert_int_equal(ends->forward.attempted, (200 - ends->sent.skipped_bursts) * 4);
    ends_free(ends);
}

/* The end of sending passes while it is stopped: what has come by then was in time. */
static void a_stop_over_the_end_of_a_phase_loses_nothing(void **state)
{
    static const int64_t intervals[] = { 0, 10 * NS_PER_MS };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct ends *ends = ends_with(intervals[i], 0.5);

        run_stopped(ends, 2500);
        assert_int_equal(ends_oddities(&ends->forward) + ends_oddities(&ends->reverse), 0);
        assert_in_range(ends->sent.stall_ns, 2300 * NS_PER_MS, 6000 * NS_PER_MS);
        if (intervals[i] > 0)
            assert_in_range(ends->forward.attempted, 4, 50 * 4);
        ends_free(ends);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* while this process has one thread */
        cmocka_unit_test(a_stop_within_an_open_loop_is_a_gap),
        cmocka_unit_test(a_stop_over_the_end_of_a_phase_loses_nothing),
        cmocka_unit_test(who_does_not_agree_gets_hellos_and_no_more),
        cmocka_unit_test(its_owner_can_stop_an_agreement),
        cmocka_unit_test(refuses_an_order_that_is_no_session),
        cmocka_unit_test(what_is_too_large_is_counted_and_never_fatal),
        cmocka_unit_test(a_port_that_is_closed_meanwhile_is_counted_and_never_fatal),
    };

    return cmocka_run_group_tests_name("sender_end", tests, NULL, NULL);
}
