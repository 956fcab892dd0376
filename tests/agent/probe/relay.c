/* Owns the relay's two sockets and what is under way in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/socket.h"
#include "proto/base/memory.h"
#include "tests/agent/probe/relay.h"

enum { PARCELS = 4096, ROOM = 2048, HELLO = 112 };

struct parcel {
    bool used, forward, held;
    struct mono due;
    size_t length;
    uint8_t bytes[ROOM];
};

struct relay {
    int front, back;
    struct addr client;
    relay_rule *rule;
    size_t count[2];
    struct parcel parcels[PARCELS];
    atomic_bool stop, release;
    pthread_t thread;
};

static void post(struct relay *relay, const struct relay_item *item, const uint8_t *bytes)
{
    struct relay_fate fate = { .copies = 1 };

    if (item->length != HELLO)
        fate = relay->rule(item);
    for (size_t i = 0; i < PARCELS && fate.copies > 0; i++) {
        struct parcel *parcel = &relay->parcels[i];

        if (parcel->used)
            continue;
        fate.copies--;
        *parcel = (struct parcel){ .used = true,
                                   .forward = item->forward,
                                   .held = fate.hold,
                                   .due = mono_after(mono_now(), fate.delay_ns),
                                   .length = item->length - fate.cut };
        memcpy(parcel->bytes, bytes, item->length);
        if (fate.alter)
            parcel->bytes[fate.alter_at] ^= 0x55;
    }
}

static void take(struct relay *relay, bool forward)
{
    int fd = forward ? relay->front : relay->back;
    uint8_t bytes[ROOM];

    for (;;) {
        struct relay_item item = { .forward = forward };
        struct addr from = { .length = sizeof from.socket };
        ssize_t length =
            recvfrom(fd, bytes, sizeof bytes, MSG_DONTWAIT, &from.socket.any, &from.length);

        if (length < 0)
            return;
        if (forward)
            relay->client = from;
        item.length = (size_t)length;
        if (item.length != HELLO)
            item.number = relay->count[forward]++;
        post(relay, &item, bytes);
    }
}

/* What is due, the earliest first. */
static void deliver(struct relay *relay)
{
    for (;;) {
        struct mono now = mono_now();
        struct parcel *first = NULL;

        for (size_t i = 0; i < PARCELS; i++) {
            struct parcel *parcel = &relay->parcels[i];

            if (parcel->used && !parcel->held && mono_between(parcel->due, now) >= 0 &&
                (first == NULL || mono_between(parcel->due, first->due) > 0))
                first = parcel;
        }
        if (first == NULL)
            return;
        first->used = false;
        if (first->forward)
            (void)send(relay->back, first->bytes, first->length, 0);
        else
            (void)sendto(relay->front, first->bytes, first->length, 0, &relay->client.socket.any,
                         relay->client.length);
    }
}

static void *run(void *context)
{
    struct relay *relay = context;
    struct pollfd look[] = { { .fd = relay->front, .events = POLLIN },
                             { .fd = relay->back, .events = POLLIN } };

    while (!atomic_load(&relay->stop)) {
        poll(look, 2, 1);
        if (atomic_exchange(&relay->release, false)) {
            for (size_t i = 0; i < PARCELS; i++)
                relay->parcels[i].held = false;
        }
        take(relay, true);
        take(relay, false);
        deliver(relay);
    }
    return NULL;
}

struct relay *relay_start(const struct addr *target, relay_rule *rule, struct addr *out_addr)
{
    struct relay *relay = memory_new(1, sizeof *relay);
    const struct addr any = addr_loopback(FAMILY_IPV4, 0);
    const struct addr to = *target; /* out_addr may be the same */
    struct addr back;

    relay->rule = rule;
    assert_int_equal(socket_open(&any, &relay->front, out_addr, NULL), STATUS_OK);
    assert_int_equal(socket_open(&any, &relay->back, &back, NULL), STATUS_OK);
    assert_int_equal(socket_connect(relay->back, &to, NULL), STATUS_OK);
    assert_int_equal(pthread_create(&relay->thread, NULL, run, relay), 0);
    return relay;
}

void relay_release(struct relay *relay)
{
    atomic_store(&relay->release, true);
}

void relay_stop(struct relay *relay)
{
    atomic_store(&relay->stop, true);
    pthread_join(relay->thread, NULL);
    close(relay->front);
    close(relay->back);
    free(relay);
}
