/* Whoever connects: a channel is not held up, filled or ended by it, and those who behave do not
 * notice. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/base/memory.h"
#include "proto/base/octets.h"
#include "proto/wire/limits.h"
#include "tests/proto/link/channel_lab.h"

/* A controller that echoes, and an agent with a connection to it that must not be harmed. */
struct scene {
    struct lab *lab;
    struct end controller, agent;
    channel_peer good;
    uint16_t port;
};

static void scene_init(struct scene *scene, struct lab *lab, const struct channel_rules *rules)
{
    scene->lab = lab;
    end_controller(&scene->controller, lab, rules);
    end_agent(&scene->agent, lab, NULL);
    scene->port = end_listen(&scene->controller);
    lab_join(&scene->controller, &scene->agent, &scene->good);
    scene->controller.echo = true;
}

/* The good connection still works. */
static void check_good(struct scene *scene)
{
    unsigned before = scene->agent.messages;

    assert_int_equal(channel_send(scene->agent.channel, scene->good, "good", 4), STATUS_OK);
    lab_until(scene->lab, &scene->agent.messages, before + 1);
    assert_int_equal(scene->agent.downs, 0);
}

static void scene_done(struct scene *scene)
{
    check_good(scene);
    end_done(&scene->agent);
    end_done(&scene->controller);
}

static void wait_for_end(struct lab *lab, int fd)
{
    struct mono end = mono_after(mono_now(), 20 * NS_PER_S);

    while (!raw_ended(fd)) {
        loop_turn(lab->loop, NS_PER_MS);
        assert_true(mono_now().ns < end.ns);
    }
}

static void silent_strangers_are_freed_by_the_deadline(void **state)
{
    enum { SILENT = 50 };
    struct scene scene;
    int fds[SILENT];

    scene_init(&scene, *state, NULL);
    for (unsigned i = 0; i < SILENT; i++)
        fds[i] = raw_connect(scene.port);
    lab_peers(&scene.controller, SILENT + 1);
    loop_skip(scene.lab->loop, PEER_HANDSHAKE_NS - NS_PER_S);
    check_good(&scene); /* was pinged meanwhile */
    assert_int_equal(scene.controller.downs, 0);
    loop_skip(scene.lab->loop, 2 * NS_PER_S);
    lab_until(scene.lab, &scene.controller.downs, SILENT);
    assert_int_equal(channel_counts(scene.controller.channel).timeouts, SILENT);
    assert_int_equal(channel_peers(scene.controller.channel), 1);
    for (unsigned i = 0; i < SILENT; i++) {
        wait_for_end(scene.lab, fds[i]);
        close(fds[i]);
    }
    scene_done(&scene);
}

static void garbage_is_thrown_out_and_harms_nobody(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
        bool may_go_on; /* is the beginning of something */
    } garbage[] = {
        { "GET / HTTP/1.0\r\n\r\n", 18, false },
        { "\x15\x03\x01\x00\x02\x02\x30", 7, false },
        { "\x80\x2e\x01\x03\x00\x00\x15\x00\x00\x00\x10", 11, true },
        { "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", 10, true },
        { "\x16\x03\x01\xff\xff", 5, false },
        { "SSH-2.0-OpenSSH_9.2p1\r\n", 23, false },
        { "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16, false },
    };
    enum { ROUNDS = 300 };
    struct scene scene;

    scene_init(&scene, *state, NULL);
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned kind = i % (sizeof garbage / sizeof garbage[0]);
        int fd = raw_connect(scene.port);

        raw_send(fd, garbage[kind].bytes, garbage[kind].length);
        if (i % 3 == 0 && !garbage[kind].may_go_on)
            wait_for_end(scene.lab, fd);
        if (i % 5 == 0)
            raw_reset(fd);
        else
            close(fd);
        if (i % 10 == 0)
            check_good(&scene);
    }
    lab_until(scene.lab, &scene.controller.downs, ROUNDS);
    assert_int_equal(scene.controller.downs_unborn, ROUNDS);
    assert_int_equal(channel_peers(scene.controller.channel), 1);
    scene_done(&scene);
}

static void resets_right_after_connecting_leave_nothing(void **state)
{
    enum { ROUNDS = 300 };
    struct scene scene;
    unsigned files;

    scene_init(&scene, *state, NULL);
    lab_settle(scene.lab, 50);
    files = open_files();
    for (unsigned i = 0; i < ROUNDS; i++) {
        raw_reset(raw_connect(scene.port));
        if (i % 20 == 0)
            loop_turn(scene.lab->loop, 0);
    }
    check_good(&scene);
    lab_settle(scene.lab, 200);
    lab_peers(&scene.controller, 1);
    assert_int_equal(scene.controller.downs_unborn,
                     channel_counts(scene.controller.channel).accepted - 1);
    assert_true(open_files() <= files);
    scene_done(&scene);
}

/* A peer that has a name and then sends nothing more, and reads nothing. */
static void fill_until_dropped(struct scene *scene, channel_peer peer, size_t cap)
{
    char *bytes = memory_new(LIMIT_FRAME, 1);
    size_t queued = 0;
    enum status status = STATUS_OK;

    while (status == STATUS_OK && queued < (50U << 20)) {
        status = channel_send(scene->controller.channel, peer, bytes, LIMIT_FRAME);
        queued += LIMIT_FRAME;
        /* Until neither the kernel nor ZeroMQ takes any more. */
        lab_settle(scene->lab, queued == 2 * LIMIT_FRAME ? 300 : 5);
        assert_true(channel_pending(scene->controller.channel, peer) <= cap + LIMIT_FRAME);
    }
    assert_int_equal(status, STATUS_TOO_LARGE);
    free(bytes);
}

static void who_never_reads_is_dropped_and_forgotten(void **state)
{
    struct channel_rules rules = lab_rules(1U << ROLE_AGENT);
    struct scene scene;
    struct raw_tls raw;
    unsigned files;

    rules.outbound_cap = 4 * LIMIT_FRAME;
    scene_init(&scene, *state, &rules);
    lab_settle(scene.lab, 100);
    files = open_files();
    raw_tls_init(&raw, scene.lab, scene.port);
    fill_until_dropped(&scene, scene.controller.last_up, rules.outbound_cap);
    lab_until(scene.lab, &scene.controller.downs, 1);
    assert_non_null(strstr(scene.controller.last_reason, "does not read"));
    assert_int_equal(channel_counts(scene.controller.channel).slow, 1);
    assert_int_equal(channel_pending(scene.controller.channel, scene.controller.last_down), 0);
    assert_int_equal(channel_send(scene.controller.channel, scene.controller.last_down, "x", 1),
                     STATUS_NOT_FOUND);
    for (unsigned i = 0; i < 100 && open_files() > files + 1; i++)
        lab_settle(scene.lab, 20);
    assert_true(open_files() <= files + 1); /* its own end alone */
    lab_settle(scene.lab, 300);
    assert_int_equal(scene.controller.downs, 1);
    raw_tls_done(&raw);
    scene_done(&scene);
}

static void when_all_hold_too_much_the_one_that_holds_most_goes(void **state)
{
    struct channel_rules rules = lab_rules(1U << ROLE_AGENT);
    struct scene scene;
    struct raw_tls raws[3];
    channel_peer peers[3];
    char *bytes = memory_new(LIMIT_FRAME, 1);

    rules.outbound_cap = 32 * LIMIT_FRAME;
    rules.outbound_all_cap = 24 * LIMIT_FRAME;
    scene_init(&scene, *state, &rules);
    for (unsigned i = 0; i < 3; i++) {
        raw_tls_init(&raws[i], scene.lab, scene.port);
        peers[i] = scene.controller.last_up;
    }
    for (unsigned i = 0; scene.controller.downs == 0; i++) {
        unsigned to = i % 4 == 3 ? 1 : i % 3; /* number 1 has most */

        assert_true(i < 100);
        (void)!channel_send(scene.controller.channel, peers[to], bytes, LIMIT_FRAME);
        loop_turn(scene.lab->loop, 5 * NS_PER_MS);
    }
    assert_int_equal(scene.controller.last_down, peers[1]);
    assert_int_equal(channel_counts(scene.controller.channel).slow, 1);
    check_good(&scene);
    assert_int_equal(scene.controller.downs, 1);
    for (unsigned i = 0; i < 3; i++)
        raw_tls_done(&raws[i]);
    free(bytes);
    scene_done(&scene);
}

static void frame_lengths_out_of_range_end_a_connection(void **state)
{
    static const uint32_t lengths[] = { 0, LIMIT_FRAME + 1, 0x7fffffff, 0x80000000, 0xffffffff };
    struct scene scene;

    scene_init(&scene, *state, NULL);
    for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct raw_tls raw;
        uint8_t bytes[10] = { 0 };

        raw_tls_init(&raw, scene.lab, scene.port);
        octets_put32(bytes, lengths[i]);
        raw_tls_write(&raw, bytes, sizeof bytes);
        lab_until(scene.lab, &scene.controller.downs, i + 1);
        assert_non_null(strstr(scene.controller.last_reason, "1 to 1048576"));
        raw_tls_done(&raw);
    }
    assert_int_equal(scene.controller.messages, 0);
    scene_done(&scene);
}

static void a_frame_that_never_becomes_whole_is_not_given_out(void **state)
{
    struct scene scene;
    struct raw_tls raw;
    uint8_t bytes[1000] = { 0 };

    scene_init(&scene, *state, NULL);
    raw_tls_init(&raw, scene.lab, scene.port);
    octets_put32(bytes, LIMIT_FRAME);
    raw_tls_write(&raw, bytes, sizeof bytes);
    lab_settle(scene.lab, 50);
    assert_int_equal(scene.controller.downs, 0);
    raw_tls_done(&raw);
    lab_until(scene.lab, &scene.controller.downs, 1);
    assert_int_equal(scene.controller.messages, 0);
    assert_int_equal(channel_counts(scene.controller.channel).broken, 1);
    scene_done(&scene);
}

static void check_address(struct end *end, channel_peer peer)
{
    assert_string_equal(channel_address(end->channel, peer), "127.0.0.1");
}

static void more_than_the_limit_are_closed_at_once(void **state)
{
    enum { MORE = 20 };
    struct channel_rules rules = lab_rules(1U << ROLE_AGENT);
    struct scene scene;
    struct raw_tls raw;
    int fds[MORE];

    rules.peers_max = 2;
    scene_init(&scene, *state, &rules);
    scene.controller.on_down = check_address;
    raw_tls_init(&raw, scene.lab, scene.port);
    for (unsigned i = 0; i < MORE; i++) {
        fds[i] = raw_connect(scene.port);
        wait_for_end(scene.lab, fds[i]);
        close(fds[i]);
    }
    lab_until(scene.lab, &scene.controller.downs_unborn, MORE);
    assert_string_equal(scene.controller.last_reason, "refused: 2 connections are the limit");
    assert_int_equal(channel_counts(scene.controller.channel).refused_full, MORE);
    assert_true(raw_tls_read(&raw));
    raw_tls_done(&raw); /* makes room */
    lab_until(scene.lab, &scene.controller.downs, MORE + 1);
    raw_tls_init(&raw, scene.lab, scene.port);
    rules.peers_max = 3; /* so does this */
    channel_set_rules(scene.controller.channel, &rules);
    fds[0] = raw_connect(scene.port);
    lab_peers(&scene.controller, 3);
    close(fds[0]);
    raw_tls_done(&raw);
    scene_done(&scene);
}

static void strangers_have_a_limit_of_their_own(void **state)
{
    enum { MORE = 10 };
    struct channel_rules rules = lab_rules(1U << ROLE_AGENT);
    struct scene scene;
    int fds[MORE];

    rules.strangers_max = 3;
    scene_init(&scene, *state, &rules);
    for (unsigned i = 0; i < MORE; i++)
        fds[i] = raw_connect(scene.port);
    lab_until(scene.lab, &scene.controller.downs_unborn, MORE - 3);
    assert_int_equal(channel_counts(scene.controller.channel).refused_strangers, MORE - 3);
    assert_int_equal(channel_peers(scene.controller.channel), 4);
    for (unsigned i = 0; i < MORE; i++)
        close(fds[i]);
    lab_until(scene.lab, &scene.controller.downs_unborn, MORE);
    scene_done(&scene);
}

/* Messages of one byte are the flood's; each takes the owner a while. */
struct flood {
    unsigned frames, before_good;
};

static void count_flood(struct end *end, channel_peer peer, const uint8_t *bytes, size_t length)
{
    struct flood *flood = end->context;

    (void)peer;
    (void)bytes;
    if (length == 1) {
        flood->frames++;
        loop_skip(end->lab->loop, 10 * NS_PER_US);
    } else {
        flood->before_good = flood->frames;
    }
}

static void one_that_floods_does_not_keep_others_waiting(void **state)
{
    enum { RECORDS = 40, FRAMES = 3000, FRAME_BYTES = 5 };
    uint8_t *record = memory_new(FRAMES, FRAME_BYTES);
    struct flood flood = { 0 };
    struct scene scene;
    struct raw_tls raw;

    scene_init(&scene, *state, NULL);
    raw_tls_init(&raw, scene.lab, scene.port);
    scene.controller.echo = false;
    scene.controller.on_message = count_flood;
    scene.controller.context = &flood;
    for (unsigned i = 0; i < FRAMES; i++)
        octets_put32(record + i * FRAME_BYTES, 1);
    for (unsigned i = 0; i < RECORDS; i++)
        raw_tls_write(&raw, record, FRAMES * FRAME_BYTES);
    poll(NULL, 0, 50); /* it is all there */
    assert_int_equal(channel_send(scene.agent.channel, scene.good, "good", 4), STATUS_OK);
    loop_turn(scene.lab->loop, NS_PER_S);
    assert_true(flood.frames <= 2 * FRAMES);
    poll(NULL, 0, 200); /* so is this */
    while (flood.before_good == 0)
        loop_turn(scene.lab->loop, NS_PER_S);
    assert_true(flood.before_good < RECORDS * FRAMES / 2);
    lab_until(scene.lab, &flood.frames, RECORDS * FRAMES);
    scene.controller.on_message = NULL;
    scene.controller.echo = true;
    raw_tls_done(&raw);
    lab_until(scene.lab, &scene.controller.downs, 1);
    free(record);
    scene_done(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silent_strangers_are_freed_by_the_deadline),
        cmocka_unit_test(garbage_is_thrown_out_and_harms_nobody),
        cmocka_unit_test(resets_right_after_connecting_leave_nothing),
        cmocka_unit_test(who_never_reads_is_dropped_and_forgotten),
        cmocka_unit_test(when_all_hold_too_much_the_one_that_holds_most_goes),
        cmocka_unit_test(frame_lengths_out_of_range_end_a_connection),
        cmocka_unit_test(a_frame_that_never_becomes_whole_is_not_given_out),
        cmocka_unit_test(more_than_the_limit_are_closed_at_once),
        cmocka_unit_test(strangers_have_a_limit_of_their_own),
        cmocka_unit_test(one_that_floods_does_not_keep_others_waiting),
    };

    return cmocka_run_group_tests(tests, lab_make, lab_free);
}
