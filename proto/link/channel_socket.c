/* Owns how ZeroMQ is asked: options, frames, error numbers, the monitor. Must not know TLS, nor
 * what a connection is for.
 *
 * Traps of ZMQ_STREAM that end here: a message is always two frames, and an id frame without its
 * data frame swallows the next one; only the id frame can be refused; reconnecting would send old
 * bytes on a new connection, so it is off; a routing id that is used twice aborts the process; and
 * without reconnecting, the end of one connection ends all of the socket that go to an endpoint of
 * the same text, so ZeroMQ must not recognize it.
 */
#include "proto/link/channel_socket.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "proto/base/memory.h"
#include "proto/base/octets.h"
#include "proto/base/text.h"
#include "proto/link/peer.h"

enum {
    LINGER_MS = 1000,
    BACKLOG = 1024,
    KEEPALIVE_IDLE_S = 60,
    KEEPALIVE_INTERVAL_S = 10,
    KEEPALIVE_COUNT = 3,
    SERVER_ID_SIZE = 5, /* 0 and ZeroMQ's counter */
    CLIENT_ID_SIZE = 9, /* CLIENT_ID_FIRST and our key */
    CLIENT_ID_FIRST = 1,
    ENDPOINT_SIZE = 400
};

#define SOCKET_EVENTS (ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED)

struct channel_socket {
    struct loop *loop;
    void *socket;
    void *monitor; /* of a connecting socket */
    bool connects, watched;
    zmq_msg_t id, data; /* what was received last */
};

static void set(void *socket, int option, int value)
{
    int failed = zmq_setsockopt(socket, option, &value, sizeof value);

    assert(!failed);
}

static void configure(void *socket, struct channel_socket_kind kind)
{
    set(socket, ZMQ_LINGER, LINGER_MS);
    set(socket, ZMQ_SNDHWM, CHANNEL_PIECES_OUT);
    set(socket, ZMQ_RCVHWM, CHANNEL_PIECES_IN);
    set(socket, ZMQ_BACKLOG, BACKLOG);
    set(socket, ZMQ_IPV6, !kind.ipv4_only);
    set(socket, ZMQ_RECONNECT_IVL, -1);
    set(socket, ZMQ_CONNECT_TIMEOUT, (int)(PEER_HANDSHAKE_NS / NS_PER_MS));
    set(socket, ZMQ_TCP_KEEPALIVE, 1);
    set(socket, ZMQ_TCP_KEEPALIVE_IDLE, KEEPALIVE_IDLE_S);
    set(socket, ZMQ_TCP_KEEPALIVE_INTVL, KEEPALIVE_INTERVAL_S);
    set(socket, ZMQ_TCP_KEEPALIVE_CNT, KEEPALIVE_COUNT);
    /* The kernel drops a connection whose other side does not read, closed or not. */
    set(socket, ZMQ_TCP_MAXRT, (int)(PEER_IDLE_NS / NS_PER_MS));
}

/* Its mark is infinite: ZeroMQ's I/O thread would block in it. */
static enum status open_monitor(struct channel_socket *socket, struct fault *fault)
{
    char name[64];

    snprintf(name, sizeof name, "inproc://monitor-%" PRIu64, loop_number(socket->loop));
    socket->monitor = zmq_socket(loop_zmq(socket->loop), ZMQ_PAIR);
    if (socket->monitor == NULL)
        return fault_set(fault, STATUS_NO_RESOURCE, "making a socket: %s", zmq_strerror(errno));
    set(socket->monitor, ZMQ_LINGER, 0);
    set(socket->monitor, ZMQ_RCVHWM, 0);
    if (zmq_socket_monitor(socket->socket, name, SOCKET_EVENTS) != 0 ||
        zmq_connect(socket->monitor, name) != 0)
        return fault_set(fault, STATUS_NO_RESOURCE, "watching a socket: %s", zmq_strerror(errno));
    return STATUS_OK;
}

enum status channel_socket_new(struct loop *loop, struct channel_socket_kind kind,
                               struct channel_socket **out_socket, struct fault *fault)
{
    struct channel_socket *socket;
    void *stream = zmq_socket(loop_zmq(loop), ZMQ_STREAM);
    enum status status;

    if (stream == NULL)
        return fault_set(fault, STATUS_NO_RESOURCE, "making a socket: %s", zmq_strerror(errno));
    configure(stream, kind);
    socket = memory_new(1, sizeof *socket);
    socket->loop = loop;
    socket->socket = stream;
    socket->connects = kind.connects;
    zmq_msg_init(&socket->id);
    zmq_msg_init(&socket->data);
    if (kind.connects) {
        status = open_monitor(socket, fault);
        if (status != STATUS_OK) {
            channel_socket_free(socket);
            return status;
        }
    }
    *out_socket = socket;
    return STATUS_OK;
}

void channel_socket_free(struct channel_socket *socket)
{
    if (socket == NULL)
        return;
    if (socket->watched) {
        loop_unwatch_socket(socket->loop, socket->socket);
        if (socket->monitor != NULL)
            loop_unwatch_socket(socket->loop, socket->monitor);
    }
    zmq_msg_close(&socket->id);
    zmq_msg_close(&socket->data);
    if (socket->monitor != NULL) {
        zmq_socket_monitor(socket->socket, NULL, 0);
        zmq_close(socket->monitor);
    }
    zmq_close(socket->socket);
    free(socket);
}

void channel_socket_watch(struct channel_socket *socket, loop_handler *data, loop_handler *hint,
                          void *context)
{
    socket->watched = true;
    loop_watch_socket(socket->loop, socket->socket, data, context);
    if (socket->monitor != NULL)
        loop_watch_socket(socket->loop, socket->monitor, hint, context);
}

static bool endpoint_of(const char *address, char out_endpoint[ENDPOINT_SIZE], struct fault *fault)
{
    int length = snprintf(out_endpoint, ENDPOINT_SIZE, "tcp://%s", address);

    if (length < ENDPOINT_SIZE)
        return true;
    fault_set(fault, STATUS_INVALID, "%s: HOST:PORT or [IPV6]:PORT is expected", address);
    return false;
}

enum status channel_socket_bind(struct channel_socket *socket, const char *address,
                                struct fault *fault)
{
    char endpoint[ENDPOINT_SIZE];

    if (!endpoint_of(address, endpoint, fault))
        return STATUS_INVALID;
    if (zmq_bind(socket->socket, endpoint) == 0)
        return STATUS_OK;
    switch (errno) {
    case EADDRNOTAVAIL:
        return fault_set(fault, STATUS_AGAIN, "listening on %s: no address of this host (yet)",
                         address);
    case EADDRINUSE:
        return fault_set(fault, STATUS_EXISTS, "listening on %s: another program does already",
                         address);
    case EINVAL:
    case ENODEV:
        return fault_set(fault, STATUS_INVALID,
                         "listening on %s: ADDRESS:PORT or [IPV6]:PORT of this host is expected",
                         address);
    default:
        return fault_errno(fault, errno, "listening on %s", address);
    }
}

uint16_t channel_socket_port(const struct channel_socket *socket)
{
    char endpoint[ENDPOINT_SIZE] = "";
    size_t size = sizeof endpoint;
    const char *colon;
    uint64_t port = 0;

    if (zmq_getsockopt(socket->socket, ZMQ_LAST_ENDPOINT, endpoint, &size) != 0)
        return 0;
    colon = strrchr(endpoint, ':');
    if (colon == NULL || text_to_u64(colon + 1, &port) != STATUS_OK || port > UINT16_MAX)
        return 0;
    return (uint16_t)port;
}

/* How a key stands in an id frame. */
static size_t put_id(const struct channel_socket *socket, uint64_t key, uint8_t id[CLIENT_ID_SIZE])
{
    if (socket->connects) {
        id[0] = CLIENT_ID_FIRST;
        octets_put64(id + 1, key);
        return CLIENT_ID_SIZE;
    }
    id[0] = 0;
    octets_put32(id + 1, (uint32_t)key);
    return SERVER_ID_SIZE;
}

static uint64_t get_id(const uint8_t *id, size_t length)
{
    assert(length == SERVER_ID_SIZE || length == CLIENT_ID_SIZE);
    return length == SERVER_ID_SIZE ? octets_get32(id + 1) : octets_get64(id + 1);
}

/* As endpoint_of, with a zero in front of the port: ZeroMQ, which looks up a connection that has
 * ended by its address as it writes it itself, does not find it, and leaves it to us. */
static bool target_of(const char *address, char out_endpoint[ENDPOINT_SIZE], struct fault *fault)
{
    const char *colon = strrchr(address, ':');
    char spelt[ENDPOINT_SIZE];

    if (colon == NULL)
        return endpoint_of(address, out_endpoint, fault);
    snprintf(spelt, sizeof spelt, "%.*s:0%s", (int)(colon - address), address, colon + 1);
    return endpoint_of(spelt, out_endpoint, fault);
}

enum status channel_socket_connect(struct channel_socket *socket, uint64_t key, const char *address,
                                   struct fault *fault)
{
    char endpoint[ENDPOINT_SIZE];
    uint8_t id[CLIENT_ID_SIZE];
    size_t length = put_id(socket, key, id);
    int failed;

    assert(socket->connects);
    if (!target_of(address, endpoint, fault))
        return STATUS_INVALID;
    failed = zmq_setsockopt(socket->socket, ZMQ_CONNECT_ROUTING_ID, id, length);
    assert(!failed);
    if (zmq_connect(socket->socket, endpoint) == 0)
        return STATUS_OK;
    if (errno == EINVAL)
        return fault_set(fault, STATUS_INVALID, "%s: HOST:PORT or [IPV6]:PORT is expected",
                         address);
    return fault_set(fault, STATUS_IO, "connecting to %s: %s", address, zmq_strerror(errno));
}

static void read_notice(struct channel_socket *socket, struct channel_piece *piece)
{
    const char *address = zmq_msg_gets(&socket->data, "Peer-Address");

    piece->fd = zmq_msg_get(&socket->data, ZMQ_SRCFD);
    piece->address = address != NULL ? address : "";
}

bool channel_socket_receive(struct channel_socket *socket, struct channel_piece *out_piece)
{
    struct channel_piece piece = { .fd = -1, .address = "" };
    int length = zmq_msg_recv(&socket->id, socket->socket, ZMQ_DONTWAIT);

    if (length < 0) {
        assert(errno == EAGAIN || errno == EINTR);
        return false;
    }
    piece.key = get_id(zmq_msg_data(&socket->id), (size_t)length);
    do {
        length = zmq_msg_recv(&socket->data, socket->socket, ZMQ_DONTWAIT);
    } while (length < 0 && errno == EINTR);
    assert(length >= 0);
    piece.bytes = zmq_msg_data(&socket->data);
    piece.length = (size_t)length;
    if (length == 0)
        read_notice(socket, &piece);
    *out_piece = piece;
    return true;
}

enum status channel_socket_send(struct channel_socket *socket, uint64_t key, const void *bytes,
                                size_t length)
{
    uint8_t id[CLIENT_ID_SIZE];
    size_t id_length = put_id(socket, key, id);
    int sent;

    do {
        sent = zmq_send(socket->socket, id, id_length, ZMQ_DONTWAIT | ZMQ_SNDMORE);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0) {
        assert(errno == EAGAIN || errno == EHOSTUNREACH);
        return errno == EAGAIN ? STATUS_AGAIN : STATUS_NOT_FOUND;
    }
    do {
        sent = zmq_send(socket->socket, bytes, length, ZMQ_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    assert(sent >= 0); /* only the id frame is ever refused */
    return STATUS_OK;
}

/* An event is a number of 16 bits and a value; the endpoint follows as a frame of its own. */
struct channel_socket_hints channel_socket_hints(struct channel_socket *socket)
{
    struct channel_socket_hints hints = { false, false };
    uint8_t bytes[8];
    uint16_t event;
    int length, more;
    size_t size = sizeof more;

    while ((length = zmq_recv(socket->monitor, bytes, sizeof bytes, ZMQ_DONTWAIT)) >= 0) {
        int failed = zmq_getsockopt(socket->monitor, ZMQ_RCVMORE, &more, &size);

        assert(!failed);
        if (!more || length < (int)sizeof event)
            continue; /* the endpoint */
        memcpy(&event, bytes, sizeof event);
        hints.ended = hints.ended || event == ZMQ_EVENT_DISCONNECTED;
        hints.failed = hints.failed || event == ZMQ_EVENT_CLOSED;
    }
    return hints;
}
