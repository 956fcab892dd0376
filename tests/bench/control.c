/* The bare loop that sonde is measured against: one connected client that keeps a window of
 * datagrams outstanding, one thread that returns them, batch calls, nothing else. It checks
 * nothing, stamps nothing and records no time per datagram; what it reaches is what the kernel
 * allows. control BYTES WINDOW SECONDS [RCVBUF]: prints one JSON object. Linux only (recvmmsg). */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { WINDOW_MAX = 1024, BYTES_MAX = 65507, DRAIN_MS = 250 };

struct batch {
    struct mmsghdr messages[WINDOW_MAX];
    struct iovec parts[WINDOW_MAX];
    struct sockaddr_in names[WINDOW_MAX];
    uint8_t *bytes;
    unsigned count;
};

struct echo {
    int fd;
    struct batch batch;
    atomic_bool stop;
};

static void die(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

static void batch_init(struct batch *batch, unsigned count, size_t size, bool named)
{
    batch->bytes = calloc(count, size);
    if (batch->bytes == NULL)
        die("calloc");
    batch->count = count;
    for (unsigned i = 0; i < count; i++) {
        batch->parts[i] = (struct iovec){ .iov_base = batch->bytes + i * size, .iov_len = size };
        batch->messages[i].msg_hdr = (struct msghdr){ .msg_iov = &batch->parts[i],
                                                      .msg_iovlen = 1,
                                                      .msg_name = named ? &batch->names[i] : NULL,
                                                      .msg_namelen = sizeof batch->names[i] };
        if (!named)
            batch->messages[i].msg_hdr.msg_namelen = 0;
    }
}

static int open_socket(int rcvbuf, struct sockaddr_in *out_bound)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct timeval limit = { .tv_usec = DRAIN_MS * 1000 };
    socklen_t length = sizeof *out_bound;

    *out_bound =
        (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    if (fd < 0 || bind(fd, (struct sockaddr *)out_bound, sizeof *out_bound) != 0 ||
        getsockname(fd, (struct sockaddr *)out_bound, &length) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
        (rcvbuf > 0 && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof rcvbuf) != 0))
        die("socket");
    return fd;
}

/* Sends the first `count`; a datagram that the kernel refuses is given up. */
static void send_all(int fd, struct batch *batch, unsigned count)
{
    for (unsigned at = 0; at < count;) {
        int sent = sendmmsg(fd, batch->messages + at, count - at, 0);
        at += sent > 0 ? (unsigned)sent : 1;
    }
}

static void *echo_main(void *context)
{
    struct echo *echo = context;
    struct batch *batch = &echo->batch;
    size_t size = batch->parts[0].iov_len;

    while (!atomic_load(&echo->stop)) {
        int got = recvmmsg(echo->fd, batch->messages, batch->count, MSG_WAITFORONE, NULL);
        for (int i = 0; i < got; i++)
            batch->parts[i].iov_len = batch->messages[i].msg_len;
        if (got > 0)
            send_all(echo->fd, batch, (unsigned)got);
        for (int i = 0; i < got; i++) {
            batch->parts[i].iov_len = size;
            batch->messages[i].msg_hdr.msg_namelen = sizeof batch->names[i];
        }
    }
    return NULL;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

struct outcome {
    double seconds; /* until sending ended */
    uint64_t sent;
    uint64_t received; /* in that time */
    uint64_t lost;     /* of all, after the drain */
};

/* Sends the window, then one datagram for each that comes back, until the time is over; then waits
 * for the rest. A datagram that does not come back leaves its place empty. */
static struct outcome client_run(int fd, struct batch *batch, double seconds)
{
    struct outcome outcome = { .sent = batch->count };
    double start = now();
    uint64_t back = 0;
    bool sending = true;

    send_all(fd, batch, batch->count);
    while (back < outcome.sent) {
        int got = recvmmsg(fd, batch->messages, batch->count, MSG_WAITFORONE, NULL);
        double time = now() - start;
        if (got <= 0 && (got == 0 || errno != EINTR))
            break;
        back += got > 0 ? (uint64_t)got : 0;
        if (sending && time >= seconds) {
            sending = false;
            outcome.seconds = time;
            outcome.received = back;
        }
        if (sending && got > 0) {
            send_all(fd, batch, (unsigned)got);
            outcome.sent += (uint64_t)got;
        }
    }
    if (sending) { /* everything was lost before the time was over */
        outcome.seconds = now() - start;
        outcome.received = back;
    }
    outcome.lost = outcome.sent - back;
    return outcome;
}

static long number(const char *text, long least, long most)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (end == text || *end != '\0' || value < least || value > most) {
        fprintf(stderr, "control: %s is not a number from %ld to %ld\n", text, least, most);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    if (argc < 4 || argc > 5) {
        fprintf(stderr, "usage: control BYTES WINDOW SECONDS [RCVBUF]\n");
        return 2;
    }
    size_t size = (size_t)number(argv[1], 1, BYTES_MAX);
    unsigned window = (unsigned)number(argv[2], 1, WINDOW_MAX);
    double seconds = strtod(argv[3], NULL);
    int rcvbuf = argc > 4 ? (int)number(argv[4], 1, INT32_MAX) : 0;
    struct sockaddr_in at, from;
    struct echo *echo = calloc(1, sizeof *echo);
    struct batch *client = calloc(1, sizeof *client);
    pthread_t thread;

    if (echo == NULL || client == NULL)
        die("calloc");
    batch_init(&echo->batch, window, size, true);
    batch_init(client, window, size, false);
    echo->fd = open_socket(rcvbuf, &at);
    int fd = open_socket(rcvbuf, &from);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) != 0)
        die("connect");
    if (pthread_create(&thread, NULL, echo_main, echo) != 0)
        die("pthread_create");
    struct outcome outcome = client_run(fd, client, seconds);
    atomic_store(&echo->stop, true);
    pthread_join(thread, NULL);
    printf("{\"seconds\": %.6f, \"sent\": %" PRIu64 ", \"lost\": %" PRIu64
           ", \"round_trips_per_second\": %.1f}\n",
           outcome.seconds, outcome.sent, outcome.lost, (double)outcome.received / outcome.seconds);
    close(fd);
    close(echo->fd);
    free(echo->batch.bytes);
    free(client->bytes);
    free(echo);
    free(client);
    return EXIT_SUCCESS;
}
