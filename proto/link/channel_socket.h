/* A ZMQ_STREAM socket: connections by their routing id, bytes in, bytes out, never blocking. Part
 * of channel; it knows how ZeroMQ says things, not what they mean to a connection.
 */
#ifndef SONDE_LINK_CHANNEL_SOCKET_H
#define SONDE_LINK_CHANNEL_SOCKET_H

#include "proto/link/loop.h"

enum {
    /* What one connection can have inside ZeroMQ: at most so many messages of at most so many bytes
     * each. A connection that is closed is drained of it first. */
    CHANNEL_PIECE_BYTES = 16 << 10,
    CHANNEL_PIECES_OUT = 8,
    CHANNEL_PIECES_IN = 64 /* of up to 8 KiB */
};

struct channel_socket;

/* How it is made. A connecting socket numbers its connections with what channel_socket_connect is
 * given, a listening one with ZeroMQ's numbers. */
struct channel_socket_kind {
    bool connects;
    bool ipv4_only; /* names are resolved to IPv4 addresses */
};

enum status channel_socket_new(struct loop *loop, struct channel_socket_kind kind,
                               struct channel_socket **out_socket, struct fault *fault) must_check;

/* What is queued goes out in the background for at most a second, or for as long as loop_free can
 * wait. NULL is allowed. */
void channel_socket_free(struct channel_socket *socket);

/* Calls `data` when there is something to receive, `hint` when channel_socket_hints has some. */
void channel_socket_watch(struct channel_socket *socket, loop_handler *data, loop_handler *hint,
                          void *context);

/* Statuses as channel_listen. */
enum status channel_socket_bind(struct channel_socket *socket, const char *address,
                                struct fault *fault) must_check;

/* The port it is bound to; 0 when it is not. */
uint16_t channel_socket_port(const struct channel_socket *socket);

/* Begins a connection that is known as `key`, which was never used on this socket. */
enum status channel_socket_connect(struct channel_socket *socket, uint64_t key, const char *address,
                                   struct fault *fault) must_check;

/* What came from one connection. */
struct channel_piece {
    uint64_t key;
    const uint8_t *bytes;
    size_t length;       /* 0: a notice. The first says that the connection stands, the next that it
                            is gone; either can be missing. */
    int fd;              /* of a notice: the connection's descriptor; -1 when not known */
    const char *address; /* of a notice: the IP address at the other end; "" when not known */
};

/* The next piece, borrowed until the next call or channel_socket_free; false when there is none. */
bool channel_socket_receive(struct channel_socket *socket, struct channel_piece *out_piece);

/* Gives bytes to a connection; no bytes close it, once what was sent before is gone, and nothing of
 * it comes any more. STATUS_AGAIN when it is full, or about to be gone: nobody can tell which.
 * STATUS_NOT_FOUND when it is gone. */
enum status channel_socket_send(struct channel_socket *socket, uint64_t key, const void *bytes,
                                size_t length) must_check;

/* What a connecting socket's connections met since the last call; which of them is not said. */
struct channel_socket_hints {
    bool failed; /* one could not be made */
    bool ended;  /* one that stood is gone */
};

struct channel_socket_hints channel_socket_hints(struct channel_socket *socket);

#endif
