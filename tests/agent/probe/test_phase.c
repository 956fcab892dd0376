/* A phase must end when its time is over, when all has drained, or when it is told to; its owner
 * looks in meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "agent/probe/phase.h"
#include "tests/agent/probe/stage.h"

enum { THREADS = 2, WINDOW = 4 };

struct scene {
    struct stage *stage;
    struct phase_roles roles;
    struct echo *echo;
    struct echo_worker *workers[THREADS];
    struct sender *senders[THREADS];
    struct case_common common;
};

static struct scene *scene_new(enum io_model model)
{
    struct scene *scene = calloc(1, sizeof *scene);
    const struct engine *engine = engine_find(engine_best(), NULL);
    struct stage *stage = stage_new(200);

    assert_non_null(scene);
    scene->stage = stage;
    scene->common =
        (struct case_common){ .io_model = model, .io_threads = THREADS, .clients = STAGE_CLIENTS };
    scene->echo = echo_new(stage->echo_fd, engine, STAGE_CLIENTS, WINDOW);
    scene->roles = (struct phase_roles){ .echo_fd = stage->echo_fd,
                                         .echo_workers = scene->workers,
                                         .senders = scene->senders,
                                         .threads = THREADS,
                                         .client_fds = stage->client_fd,
                                         .clients = STAGE_CLIENTS };
    for (size_t i = 0; i < THREADS; i++) {
        const int fds[] = { stage->client_fd[i], stage->client_fd[i + THREADS] };

        scene->workers[i] = echo_worker_new(scene->echo, 200);
        scene->senders[i] = sender_new(fds, 2, engine, 200);
    }
    return scene;
}

static void begin(struct scene *scene, uint16_t ssid)
{
    stage_begin(scene->stage, ssid, 200);
    echo_begin(scene->echo, &scene->stage->session, 0);
    for (size_t i = 0; i < THREADS; i++) {
        echo_worker_begin(scene->workers[i]);
        sender_begin(scene->senders[i], &scene->stage->session, WINDOW);
    }
}

static void admit(struct scene *scene, size_t clients)
{
    for (size_t i = 0; i < clients; i++)
        echo_admit(scene->echo, &scene->stage->client_addr[i]);
}

static void scene_free(struct scene *scene)
{
    for (size_t i = 0; i < THREADS; i++) {
        echo_worker_free(scene->workers[i]);
        sender_free(scene->senders[i]);
    }
    echo_free(scene->echo);
    stage_free(scene->stage);
    free(scene);
}

static enum status run(struct scene *scene, double seconds, const struct phase_watch *watch,
                       struct phase_times *out_times)
{
    const struct phase_order order = { &scene->common, seconds, PHASE_DRAIN_NS, watch };

    return phase_run(&scene->roles, &order, out_times, NULL);
}

static const struct phase_watch nobody = { .stop = NULL };

static void lasts_as_long_as_it_should(void **state)
{
    (void)state;
    for (int model = 0; model < IO_MODEL_COUNT; model++) {
        struct scene *scene = scene_new((enum io_model)model);
        struct phase_times times = { 0 };
        struct mono start;
        int64_t took;

        admit(scene, STAGE_CLIENTS);
        for (uint16_t ssid = 1; ssid <= 3; ssid++) {
            begin(scene, ssid);
            start = mono_now();
            assert_int_equal(run(scene, 0.05, &nobody, &times), STATUS_OK);
            took = mono_between(start, mono_now());
            assert_true(times.active_ns >= 50 * NS_PER_MS && times.active_ns <= took);
            for (size_t i = 0; i < THREADS; i++)
                assert_int_equal(sender_outstanding(scene->senders[i]), 0);
        }
        scene_free(scene);
    }
}

/* One client is not admitted: its window never comes back, so the drain runs out. */
static void waits_for_the_drain_when_something_is_missing(void **state)
{
    (void)state;
    for (int model = 0; model < IO_MODEL_COUNT; model++) {
        struct scene *scene = scene_new((enum io_model)model);
        struct phase_times times = { 0 };
        struct mono start = mono_now();

        admit(scene, STAGE_CLIENTS - 1);
        begin(scene, 9);
        assert_int_equal(run(scene, 0.02, &nobody, &times), STATUS_OK);
        assert_true(mono_between(start, mono_now()) >= 20 * NS_PER_MS + PHASE_DRAIN_NS);
        assert_int_equal(
            sender_outstanding(scene->senders[0]) + sender_outstanding(scene->senders[1]), WINDOW);
        scene_free(scene);
    }
}

struct owner {
    int ticks;
    atomic_bool stop;
};

static void stop_at_2nd_tick(void *context)
{
    struct owner *owner = context;

    if (++owner->ticks == 2)
        atomic_store(&owner->stop, true);
}

static void ends_when_it_is_told_to(void **state)
{
    (void)state;
    for (int model = 0; model < IO_MODEL_COUNT; model++) {
        struct scene *scene = scene_new((enum io_model)model);
        struct owner owner = { 0 };
        const struct phase_watch watch = { .context = &owner,
                                           .tick = stop_at_2nd_tick,
                                           .stop = &owner.stop };
        struct phase_times times = { .active_ns = -7 };

        admit(scene, STAGE_CLIENTS);
        begin(scene, 5);
        scene->common.interval_ns = model == IO_MODEL_SPLIT ? 3600 * NS_PER_S : 0;
        assert_int_equal(run(scene, 3600, &watch, &times), STATUS_INTERRUPTED);
        assert_in_range(times.active_ns, 0, 60 * NS_PER_S);
        assert_true(owner.ticks >= 2 && owner.ticks < 100);
        scene_free(scene);
    }
}

/* --- one role alone ------------------------------------------------------------------------- */

struct other_host {
    struct scene *scene;
    const struct phase_watch *watch;
    enum status status;
    struct phase_times times;
};

static void *run_other(void *context)
{
    struct other_host *other = context;

    other->status = run(other->scene, 0, other->watch, &other->times);
    return NULL;
}

struct told {
    atomic_bool finish, ready, stop;
    atomic_int ticks;
};

static void tell_ready(void *context)
{
    atomic_store(&((struct told *)context)->ready, true);
}

static void tell_tick(void *context)
{
    atomic_fetch_add(&((struct told *)context)->ticks, 1);
}

/* The echo role's part of a scene on a thread of its own, as on another host. */
static void echo_apart(struct scene *scene, struct other_host *other, struct scene *alone,
                       const struct phase_watch *watch, pthread_t *out_thread)
{
    *alone = *scene;
    alone->roles.senders = NULL;
    scene->roles.echo_workers = NULL;
    *other = (struct other_host){ .scene = alone, .watch = watch };
    assert_int_equal(pthread_create(out_thread, NULL, run_other, other), 0);
}

static void an_echo_role_alone_serves_until_it_is_told(void **state)
{
    (void)state;
    for (int model = 0; model < IO_MODEL_COUNT; model++) {
        struct scene *scene = scene_new((enum io_model)model); /* which does not matter */
        struct told told = { .ticks = 0 };
        const struct phase_watch watch = {
            .context = &told, .tick = tell_tick, .ready = tell_ready, .finish = &told.finish
        };
        struct phase_times times = { 0 };
        struct other_host other;
        struct scene alone;
        pthread_t thread;
        struct mono start = mono_now();

        admit(scene, STAGE_CLIENTS);
        begin(scene, 5);
        echo_apart(scene, &other, &alone, &watch, &thread);
        while (!atomic_load(&told.ready))
            poll(NULL, 0, 1);
        assert_int_equal(run(scene, 0.05, &nobody, &times), STATUS_OK);
        for (size_t i = 0; i < THREADS; i++)
            assert_int_equal(sender_outstanding(scene->senders[i]), 0);
        assert_true(times.active_ns >= 50 * NS_PER_MS);
        atomic_store(&told.finish, true);
        pthread_join(thread, NULL);
        assert_int_equal(other.status, STATUS_OK);
        assert_in_range(other.times.active_ns, 50 * NS_PER_MS, mono_between(start, mono_now()));
        assert_true(atomic_load(&told.ticks) > 0);
        scene->roles.echo_workers = scene->workers;
        scene_free(scene);
    }
}

static void an_echo_role_alone_can_be_stopped(void **state)
{
    struct scene *scene = scene_new(IO_MODEL_SHARED);
    struct owner owner = { 0 };
    const struct phase_watch watch = { .context = &owner,
                                       .tick = stop_at_2nd_tick,
                                       .stop = &owner.stop };
    struct phase_times times;

    (void)state;
    admit(scene, STAGE_CLIENTS);
    begin(scene, 5);
    scene->roles.senders = NULL;
    assert_int_equal(run(scene, 3600, &watch, &times), STATUS_INTERRUPTED);
    assert_in_range(times.active_ns, 1, 60 * NS_PER_S);
    scene_free(scene);
}

static void take_byte(void *context)
{
    int *fds = context;
    char byte;

    if (stage_readable(fds[0], 0) && read(fds[0], &byte, 1) == 1)
        fds[2]++;
}

/* Nobody answers: it waits for the drain, and its owner is woken by what it waits for. */
static void senders_alone_wait_for_their_drain(void **state)
{
    struct scene *scene = scene_new(IO_MODEL_SHARED);
    int fds[3] = { 0, 0, 0 };
    const struct phase_watch watch = { .context = fds, .tick = take_byte };
    struct phase_watch woken = watch;
    struct phase_times times = { 0 };
    struct mono start = mono_now();

    (void)state;
    assert_int_equal(pipe(fds), 0);
    woken.wake_fd = fds[0];
    assert_int_equal(write(fds[1], "xyz", 3), 3);
    begin(scene, 5);
    scene->roles.echo_workers = NULL;
    assert_int_equal(run(scene, 0.02, &woken, &times), STATUS_OK);
    assert_true(mono_between(start, mono_now()) >= 20 * NS_PER_MS + PHASE_DRAIN_NS);
    assert_int_equal(fds[2], 3); /* more than the ticks of that time */
    assert_int_equal(sender_outstanding(scene->senders[0]), 2 * WINDOW);
    close(fds[0]);
    close(fds[1]);
    scene->roles.echo_workers = scene->workers;
    scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lasts_as_long_as_it_should),
        cmocka_unit_test(waits_for_the_drain_when_something_is_missing),
        cmocka_unit_test(ends_when_it_is_told_to),
        cmocka_unit_test(an_echo_role_alone_serves_until_it_is_told),
        cmocka_unit_test(an_echo_role_alone_can_be_stopped),
        cmocka_unit_test(senders_alone_wait_for_their_drain),
    };

    return cmocka_run_group_tests_name("phase", tests, NULL, NULL);
}
