/* A sender role under test, and echoes that are made by hand. */
#ifndef SONDE_TEST_PROBE_SENDER_ROLE_H
#define SONDE_TEST_PROBE_SENDER_ROLE_H

#include "agent/probe/sender.h"
#include "tests/agent/probe/stage.h"

struct role {
    struct stage *stage;
    struct sender *sender;
    struct leg forward, reverse;
    struct histogram rtt;
    struct delays there, back;
    int64_t offset_ns; /* the echo role's clock is ahead by this */
};

static inline struct role role_new(size_t payload, size_t window)
{
    struct role role = { .stage = stage_new(payload) };

    role.sender =
        sender_new(role.stage->client_fd, STAGE_CLIENTS, engine_find(engine_best(), NULL), payload);
    sender_begin(role.sender, &role.stage->session, window);
    return role;
}

static inline void role_free(struct role *role)
{
    sender_free(role->sender);
    stage_free(role->stage);
}

static inline void count(struct role *role)
{
    role->forward = (struct leg){ 0 };
    role->reverse = (struct leg){ 0 };
    histogram_init(&role->rtt);
    sender_account(role->sender, &role->forward, &role->reverse, &role->rtt);
    role->there = role->back = (struct delays){ 0 };
    sender_delays(role->sender, &role->there, &role->back);
}

/* A datagram as it came to the echo role's socket. */
struct asked {
    struct addr from;
    struct stamp_request request;
};

static inline struct asked take_request(struct role *role)
{
    struct stage *stage = role->stage;
    struct asked asked;
    ssize_t length;

    asked.from.length = sizeof asked.from.socket;
    assert_true(stage_readable(stage->echo_fd, STAGE_WAIT_MS));
    length = recvfrom(stage->echo_fd, stage->bytes, sizeof stage->bytes, MSG_DONTWAIT,
                      &asked.from.socket.any, &asked.from.length);
    assert_int_equal(length, stage->session.payload);
    assert_int_equal(stamp_get_request(&stage->session.ground.format, stage->bytes, (size_t)length,
                                       &asked.request),
                     STATUS_OK);
    assert_true(session_request_intact(&stage->session, &asked.request, stage->bytes));
    return asked;
}

/* Makes stage->bytes the echo of it, the role's `sequence`th, held for `residence_ns`. */
static inline void make_echo(struct role *role, const struct asked *asked, uint32_t sequence,
                             int64_t residence_ns)
{
    struct stage *stage = role->stage;
    struct mono now = mono_after(mono_now(), role->offset_ns);
    const struct stamp_reply reply = {
        .sequence = sequence,
        .timestamp = session_timestamp(&stage->session, now),
        .error_estimate = stage->session.error_estimate,
        .ssid = stage->session.ssid,
        .receive_timestamp = session_timestamp(&stage->session, mono_after(now, -residence_ns)),
        .sender_sequence = asked->request.sequence,
        .sender_timestamp = asked->request.timestamp,
        .sender_error_estimate = asked->request.error_estimate,
        .sender_ttl = 255,
    };

    stage_request(stage, &stage->session, asked->request.sequence);
    stamp_put_reply(&stage->session.ground.format, &reply, stage->bytes, stage->session.payload);
}

static inline void send_back(struct role *role, const struct asked *asked, size_t length)
{
    assert_int_equal(sendto(role->stage->echo_fd, role->stage->bytes, length, 0,
                            &asked->from.socket.any, asked->from.length),
                     length);
}

static inline size_t collect(struct role *role, bool resend, struct mono deadline)
{
    size_t got = 0;

    for (size_t i = 0; i < STAGE_CLIENTS; i++) {
        if (stage_readable(role->stage->client_fd[i], i == 0 ? 20 : 0))
            got += sender_collect(role->sender, i, resend, deadline);
    }
    return got;
}

#endif
