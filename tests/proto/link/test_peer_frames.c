/* Frames of a peer: whole from any pieces, bounded both ways, and what is no frame. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/octets.h"
#include "proto/wire/limits.h"
#include "tests/proto/link/pair.h"

/* Frames of all sizes both ways, in pieces of at most `piece` bytes: the same come in order. */
static void exchange(struct world *world, size_t piece, size_t count, size_t largest)
{
    struct pair pair;
    uint8_t *sent = malloc(largest);
    const uint8_t *bytes;
    size_t length;

    pair_up(&pair, world);
    pair.piece = piece;
    for (size_t i = 0; i < count; i++) {
        size_t size = 1 + world_random(world) % largest;
        size_t taken = 0;

        memset(sent, (int)i, size);
        assert_int_equal(peer_send(pair.client, sent, size, pair.now), STATUS_OK);
        while (pair_carry(&pair, pair.client, pair.server)) {
            while (peer_next_frame(pair.server, &bytes, &length)) {
                taken++;
                assert_int_equal(length, size);
                assert_memory_equal(bytes, sent, size);
            }
        }
        assert_int_equal(taken, 1);
    }
    free(sent);
    pair_done(&pair);
}

/* Bytes behind the TLS of a peer that is up, without its framing: a frame whose content makes up
 * the wanted ones would have a good length, so they are written by a TLS connection of our own. */
struct raw {
    struct tls *tls;
    struct peer *server;
    struct mono now;
};

static void raw_carry(struct raw *raw)
{
    struct buf bytes, plain;
    const uint8_t *output;
    size_t length;
    struct fault fault;

    buf_init(&bytes, 8 * LIMIT_FRAME);
    buf_init(&plain, LIMIT_FRAME);
    for (int i = 0; i < 4; i++) {
        tls_output(raw->tls, &bytes);
        if (bytes.length > 0)
            peer_input(raw->server, bytes.data, bytes.length, raw->now);
        buf_done(&bytes);
        length = peer_output(raw->server, &output);
        assert_int_equal(tls_input(raw->tls, output, length, &plain, &fault), STATUS_OK);
        peer_sent(raw->server, length);
    }
    buf_done(&plain);
}

static void raw_init(struct raw *raw, struct world *world)
{
    raw->now = (struct mono){ 1000 * NS_PER_S };
    raw->tls = tls_new(world->agent, TLS_CLIENT, NULL, false, wall_now());
    raw->server = pair_peer(world->controller, TLS_SERVER, AGENTS, raw->now);
    raw_carry(raw);
    assert_int_equal(peer_state(raw->server), PEER_UP);
}

static void raw_write(struct raw *raw, const void *bytes, size_t length)
{
    struct fault fault;

    assert_int_equal(tls_write(raw->tls, bytes, length, &fault), STATUS_OK);
    raw_carry(raw);
}

static void raw_done(struct raw *raw)
{
    tls_free(raw->tls);
    peer_free(raw->server);
}

static void raw_message(struct raw *raw, const void *body, size_t length)
{
    uint8_t frame[700];

    octets_put32(frame, (uint32_t)length);
    memcpy(frame + 4, body, length);
    raw_write(raw, frame, length + 4);
}

static void frames_come_whole_from_any_pieces(void **state)
{
    exchange(*state, 1, 20, 300);
    exchange(*state, 7, 50, 3000);
    exchange(*state, 5000, 30, 100000);
    exchange(*state, 0, 3, LIMIT_FRAME);
}

static void the_largest_frame_passes_and_a_larger_one_does_not(void **state)
{
    uint8_t *large = calloc(1, LIMIT_FRAME + 1);
    struct pair pair;
    const uint8_t *bytes;
    size_t length;

    pair_up(&pair, *state);
    assert_int_equal(peer_send(pair.server, large, LIMIT_FRAME + 1, pair.now), STATUS_TOO_LARGE);
    assert_int_equal(peer_state(pair.server), PEER_UP);
    assert_int_equal(peer_send(pair.server, large, 0, pair.now), STATUS_INVALID);
    assert_int_equal(peer_send(pair.server, large, LIMIT_FRAME, pair.now), STATUS_OK);
    pair_carry_all(&pair, pair.server, pair.client);
    assert_true(peer_next_frame(pair.client, &bytes, &length));
    assert_int_equal(length, LIMIT_FRAME);
    free(large);
    pair_done(&pair);
}

static void many_small_frames_in_one_input(void **state)
{
    enum { COUNT = 20000 };
    struct pair pair;
    const uint8_t *bytes, *output;
    size_t length, frames = 0;

    pair_up(&pair, *state);
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(peer_send(pair.client, &i, sizeof i, pair.now), STATUS_OK);
    length = peer_output(pair.client, &output);
    peer_input(pair.server, output, length, pair.now);
    while (peer_next_frame(pair.server, &bytes, &length)) {
        uint32_t number;

        assert_int_equal(length, sizeof number);
        memcpy(&number, bytes, sizeof number);
        assert_int_equal(number, frames);
        frames++;
    }
    assert_int_equal(frames, COUNT);
    pair_done(&pair);
}

static void a_frame_stays_while_its_receiver_answers(void **state)
{
    struct pair pair;
    const uint8_t *bytes;
    size_t length;

    pair_up(&pair, *state);
    assert_int_equal(peer_send(pair.client, "question", 8, pair.now), STATUS_OK);
    pair_carry_all(&pair, pair.client, pair.server);
    assert_true(peer_next_frame(pair.server, &bytes, &length));
    assert_int_equal(peer_send(pair.server, "answer", 6, pair.now), STATUS_OK);
    peer_close(pair.server, "enough", pair.now);
    peer_tick(pair.server, mono_after(pair.now, PEER_CLOSING_NS));
    assert_int_equal(peer_state(pair.server), PEER_DOWN);
    assert_memory_equal(bytes, "question", 8);
    assert_false(peer_next_frame(pair.server, &bytes, &length));
    pair_done(&pair);
}

static void lengths_that_are_not_allowed_end_the_connection(void **state)
{
    static const uint32_t lengths[] = { 0, LIMIT_FRAME + 1, 0x7fffffff, 0x80000000, 0xffffffff };
    const uint8_t *bytes;
    size_t length;

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct raw raw;
        uint8_t header[6] = { 0, 0, 0, 1, 'x' };

        raw_init(&raw, *state);
        raw_write(&raw, header, 5);
        octets_put32(header, lengths[i]);
        raw_write(&raw, header, 4);
        assert_true(peer_next_frame(raw.server, &bytes, &length)); /* what came before */
        assert_false(peer_next_frame(raw.server, &bytes, &length));
        assert_int_equal(peer_state(raw.server), PEER_CLOSING);
        assert_has(peer_reason(raw.server), "1 to 1048576 are allowed");
        peer_tick(raw.server, mono_after(raw.now, PEER_CLOSING_NS));
        assert_int_equal(peer_state(raw.server), PEER_DOWN);
        raw_done(&raw);
    }
}

static void a_length_alone_waits_for_its_frame(void **state)
{
    uint8_t header[4];
    const uint8_t *bytes;
    size_t length;
    struct raw raw;

    raw_init(&raw, *state);
    octets_put32(header, LIMIT_FRAME);
    for (size_t i = 0; i < 4; i++) {
        raw_write(&raw, header + i, 1);
        assert_false(peer_next_frame(raw.server, &bytes, &length));
    }
    assert_int_equal(peer_state(raw.server), PEER_UP);
    raw_done(&raw);
}

/* What is no ping and no bye goes to the owner, however much it looks like one. */
static void only_whole_pings_and_byes_are_taken(void **state)
{
    static const char *const others[] = {
        "\x81\xa4type\xa4pong",
        "\x81\xa4type\xa5pings",
        "\x81\xa4type\xa4pin",
        "\x81\xa4typ",
        "\x81",
        "\x91\xa4type\xa4ping",
        "\xde\x81",
        "\xdf",
        "ping",
    };
    const uint8_t *bytes;
    size_t length;
    struct raw raw;

    raw_init(&raw, *state);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        raw_message(&raw, others[i], strlen(others[i]));
        assert_true(peer_next_frame(raw.server, &bytes, &length));
        assert_int_equal(length, strlen(others[i]));
        assert_memory_equal(bytes, others[i], length);
        assert_false(peer_next_frame(raw.server, &bytes, &length));
    }
    raw_message(&raw, "\x81\xa4type\xa4ping", 11);
    raw_message(&raw, "\x82\xa4type\xa4ping\xa3new\x07", 16); /* of a later version */
    raw_message(&raw, "\xde\0\x01\xa4type\xa4ping", 13);
    assert_false(peer_next_frame(raw.server, &bytes, &length));
    assert_int_equal(peer_state(raw.server), PEER_UP);
    raw_done(&raw);
}

static void a_broken_bye_ends_the_connection_too(void **state)
{
    const uint8_t *bytes;
    size_t length;
    struct raw raw;

    raw_init(&raw, *state);
    raw_message(&raw,
                "\x82\xa4type\xa3"
                "bye\xa6reason\x07",
                18);
    assert_false(peer_next_frame(raw.server, &bytes, &length));
    assert_int_equal(peer_state(raw.server), PEER_CLOSING);
    assert_has(peer_reason(raw.server), "reason");
    raw_done(&raw);
}

static void a_peer_that_does_not_read_is_dropped_at_the_cap(void **state)
{
    uint8_t *frame = calloc(1, 100000);
    struct pair pair;
    const uint8_t *bytes;
    size_t sent = 0;
    enum status status;

    pair_up(&pair, *state);
    while ((status = peer_send(pair.server, frame, 100000, pair.now)) == STATUS_OK)
        sent += 100000;
    assert_int_equal(status, STATUS_TOO_LARGE);
    assert_in_range(sent, 2 * LIMIT_FRAME - 200000, 2 * LIMIT_FRAME);
    assert_int_equal(peer_state(pair.server), PEER_DOWN);
    assert_has(peer_reason(pair.server), "does not read");
    assert_int_equal(peer_output(pair.server, &bytes), 0);
    assert_int_equal(peer_send(pair.server, frame, 1, pair.now), STATUS_INVALID);
    free(frame);
    pair_done(&pair);
}

static void a_reader_is_never_dropped(void **state)
{
    uint8_t *frame = calloc(1, 300000);
    struct pair pair;
    size_t frames = 0;

    pair_up(&pair, *state);
    pair.piece = 20000;
    for (int i = 0; i < 40; i++) {
        assert_int_equal(peer_send(pair.server, frame, 300000, pair.now), STATUS_OK);
        if (i % 4 == 3)
            frames += pair_settle(&pair);
    }
    assert_int_equal(frames, 40);
    free(frame);
    pair_done(&pair);
}

static void frames_that_nobody_takes_are_bounded(void **state)
{
    uint8_t *frame = calloc(1, LIMIT_FRAME);
    struct pair pair;

    pair_up(&pair, *state);
    for (int i = 0; i < 6 && peer_state(pair.client) == PEER_UP; i++) {
        assert_int_equal(peer_send(pair.server, frame, LIMIT_FRAME, pair.now), STATUS_OK);
        pair_carry_all(&pair, pair.server, pair.client);
    }
    assert_true(peer_state(pair.client) >= PEER_CLOSING);
    assert_has(peer_reason(pair.client), "at once");
    free(frame);
    pair_done(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_whole_from_any_pieces),
        cmocka_unit_test(the_largest_frame_passes_and_a_larger_one_does_not),
        cmocka_unit_test(many_small_frames_in_one_input),
        cmocka_unit_test(a_frame_stays_while_its_receiver_answers),
        cmocka_unit_test(lengths_that_are_not_allowed_end_the_connection),
        cmocka_unit_test(a_length_alone_waits_for_its_frame),
        cmocka_unit_test(only_whole_pings_and_byes_are_taken),
        cmocka_unit_test(a_broken_bye_ends_the_connection_too),
        cmocka_unit_test(a_peer_that_does_not_read_is_dropped_at_the_cap),
        cmocka_unit_test(a_reader_is_never_dropped),
        cmocka_unit_test(frames_that_nobody_takes_are_bounded),
    };

    return cmocka_run_group_tests(tests, world_make, world_end);
}
