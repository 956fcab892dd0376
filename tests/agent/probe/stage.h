/* What tests of the roles stand on: an echo role's socket and some clients' on real loopback, and
 * datagrams made by hand. */
#ifndef SONDE_TEST_PROBE_STAGE_H
#define SONDE_TEST_PROBE_STAGE_H

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/socket.h"
#include "agent/probe/engine.h"
#include "agent/probe/session.h"

enum { STAGE_CLIENTS = 4, STAGE_SSID = 77, STAGE_WAIT_MS = 2000 };

struct stage {
    struct pattern pattern;
    struct session session;
    int echo_fd;
    struct addr echo_addr;
    int client_fd[STAGE_CLIENTS];
    struct addr client_addr[STAGE_CLIENTS];
    uint8_t bytes[PAYLOAD_MAX_IPV6 + 1];
};

static inline int stage_socket(struct addr *out_bound, const struct addr *peer)
{
    struct addr any = addr_loopback(FAMILY_IPV4, 0);
    struct grant grant;
    int fd = -1;

    assert_int_equal(socket_open(&any, &fd, out_bound, NULL), STATUS_OK);
    assert_int_equal(socket_ask_buffer(fd, SOCKET_RCVBUF, 1 << 20, &grant, NULL), STATUS_OK);
    assert_int_equal(socket_ask_buffer(fd, SOCKET_SNDBUF, 256 << 10, &grant, NULL), STATUS_OK);
    if (peer != NULL)
        assert_int_equal(socket_connect(fd, peer, NULL), STATUS_OK);
    return fd;
}

static inline void stage_begin(struct stage *stage, uint16_t ssid, size_t payload)
{
    const struct session_ground ground = { .format = { .mode = STAMP_PLAIN },
                                           .pattern = &stage->pattern,
                                           .timebase = { wall_now(), mono_now() } };

    session_init(&stage->session, ssid, payload, &ground);
}

static inline struct stage *stage_new(size_t payload)
{
    struct stage *stage = calloc(1, sizeof *stage);

    assert_non_null(stage);
    pattern_init(&stage->pattern, 4711);
    stage_begin(stage, STAGE_SSID, payload);
    stage->echo_fd = stage_socket(&stage->echo_addr, NULL);
    for (size_t i = 0; i < STAGE_CLIENTS; i++)
        stage->client_fd[i] = stage_socket(&stage->client_addr[i], &stage->echo_addr);
    return stage;
}

static inline void stage_free(struct stage *stage)
{
    if (stage->echo_fd >= 0)
        close(stage->echo_fd);
    for (size_t i = 0; i < STAGE_CLIENTS; i++)
        close(stage->client_fd[i]);
    free(stage);
}

/* A request of this session in stage->bytes; returns its size. */
static inline size_t stage_request(struct stage *stage, const struct session *session,
                                   uint32_t sequence)
{
    const struct stamp_request request = { .sequence = sequence,
                                           .timestamp = session_timestamp(session, mono_now()),
                                           .error_estimate = session->error_estimate,
                                           .ssid = session->ssid };

    stamp_put_request(&session->ground.format, &request, session->payload, stage->bytes);
    memcpy(stage->bytes + session->head, pattern_slice(session->ground.pattern, sequence),
           session->payload - session->head);
    return session->payload;
}

static inline void stage_send(int fd, const void *bytes, size_t length)
{
    assert_int_equal(send(fd, bytes, length, 0), length);
}

/* True when something can be read soon. */
static inline bool stage_readable(int fd, int timeout_ms)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };

    return poll(&ready, 1, timeout_ms) > 0;
}

/* Reads one datagram that is to come; returns its size. */
static inline size_t stage_receive(int fd, void *bytes, size_t room)
{
    ssize_t length;

    assert_true(stage_readable(fd, STAGE_WAIT_MS));
    length = recv(fd, bytes, room, MSG_DONTWAIT);
    assert_true(length >= 0);
    return (size_t)length;
}

#endif
