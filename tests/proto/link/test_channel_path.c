/* What the path does to the pieces of a stream does not matter: a relay forwards one byte at a
 * time, gathers, or cuts at random. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/base/digest.h"
#include "tests/proto/link/channel_lab.h"

enum cut { CUT_BYTES, CUT_GATHER, CUT_RANDOM, CUT_COUNT };

enum { FRAMES = 40, ROOM = 1 << 20 };

/* One direction. */
struct half {
    int from, to;
    uint8_t waiting[ROOM];
    size_t length;
    unsigned idle; /* steps without news */
};

struct relay {
    int listener;
    uint16_t to_port;
    enum cut cut;
    unsigned seed;
    struct half halves[2];
};

static size_t portion(struct relay *relay, const struct half *half)
{
    switch (relay->cut) {
    case CUT_BYTES:
        return half->length < 1 ? half->length : 1;
    case CUT_GATHER: /* until nothing has come for a while */
        return half->idle > 5 || half->length > 100000 ? half->length : 0;
    case CUT_RANDOM:
        break;
    case CUT_COUNT:
        abort();
    }
    return half->length < 2
               ? half->length
               : (size_t)rand_r(&relay->seed) % (half->length < 5000 ? half->length : 5000);
}

static void step_half(struct relay *relay, struct half *half)
{
    ssize_t got = read(half->from, half->waiting + half->length, ROOM - half->length);
    unsigned times = relay->cut == CUT_BYTES ? 300 : 1;

    half->idle = got > 0 ? 0 : half->idle + 1;
    half->length += got > 0 ? (size_t)got : 0;
    while (times-- > 0) {
        size_t length = portion(relay, half);

        raw_send(half->to, half->waiting, length);
        half->length -= length;
        memmove(half->waiting, half->waiting + length, half->length);
    }
}

static void step(struct relay *relay, struct lab *lab)
{
    step_half(relay, &relay->halves[0]);
    step_half(relay, &relay->halves[1]);
    loop_turn(lab->loop, 0);
}

static size_t size_of(unsigned place)
{
    return place * place * 3 + 1;
}

static void check_frame(struct end *end, channel_peer peer, const uint8_t *bytes, size_t length)
{
    (void)peer;
    assert_int_equal(length, size_of(end->messages - 1));
    for (size_t i = 0; i < length; i++)
        assert_int_equal(bytes[i], (uint8_t)(end->messages - 1 + i));
}

static void send_frames(struct end *agent)
{
    uint8_t bytes[FRAMES * FRAMES * 3];

    for (unsigned place = 0; place < FRAMES; place++) {
        for (size_t i = 0; i < size_of(place); i++)
            bytes[i] = (uint8_t)(place + i);
        assert_int_equal(channel_send(agent->channel, agent->last_up, bytes, size_of(place)),
                         STATUS_OK);
    }
}

static void run(struct lab *lab, struct relay *relay)
{
    struct end controller, agent;
    uint16_t port;
    int near, far;

    end_controller(&controller, lab, NULL);
    end_agent(&agent, lab, NULL);
    controller.echo = true;
    controller.on_message = check_frame;
    agent.on_message = check_frame;
    relay->listener = raw_listen(&port);
    end_connect(&agent, port);
    near = raw_accept(lab, relay->listener);
    far = raw_connect(end_listen(&controller));
    relay->halves[0].from = relay->halves[1].to = near;
    relay->halves[1].from = relay->halves[0].to = far;
    while (agent.ups == 0)
        step(relay, lab);
    send_frames(&agent);
    while (agent.messages < FRAMES)
        step(relay, lab);
    assert_int_equal(agent.downs + controller.downs, 0);
    channel_close(agent.channel, agent.last_up, "that was all");
    while (controller.downs == 0)
        step(relay, lab);
    assert_string_equal(controller.last_reason, "the other side says: that was all");
    end_done(&agent);
    end_done(&controller);
    close(near);
    close(far);
    close(relay->listener);
}

static void pieces_do_not_matter(void **state)
{
    struct lab *lab = *state;
    const char *given = getenv("SONDE_SEED");
    unsigned seed;

    digest_random(&seed, sizeof seed);
    if (given != NULL)
        seed = (unsigned)strtoul(given, NULL, 10);
    print_message("seed: SONDE_SEED=%u\n", seed);
    for (enum cut cut = 0; cut < CUT_COUNT; cut++) {
        struct relay *relay = calloc(1, sizeof *relay);

        assert_non_null(relay);
        relay->cut = cut;
        relay->seed = seed;
        run(lab, relay);
        free(relay);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_do_not_matter),
    };

    return cmocka_run_group_tests(tests, lab_make, lab_free);
}
