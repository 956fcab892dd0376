/* Owns what tests of channels share. */
#include "tests/proto/link/channel_lab.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/base/text.h"
#include "proto/wire/limits.h"

#define PATIENCE_NS (20 * NS_PER_S)

static struct tls_context *load(struct lab *lab, struct authority *ca, const char *uri,
                                enum identity_role role)
{
    struct tls_context *context = NULL;
    struct tls_files files;
    struct fault fault;

    certs_good(lab->certs, ca, uri, &files);
    if (tls_context_new(&files, role, wall_now(), &context, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    return context;
}

int lab_make(void **state)
{
    struct lab *lab = calloc(1, sizeof *lab);
    struct authority *ca;
    struct fault fault;

    assert_non_null(lab);
    lab->certs = certs_new();
    ca = certs_authority(lab->certs, "ca", CERTS_P256);
    lab->controller = load(lab, ca, "spiffe://test/controller/c1", ROLE_CONTROLLER);
    lab->agent = load(lab, ca, "spiffe://test/agent/a1", ROLE_AGENT);
    lab->human = load(lab, ca, "spiffe://test/operator/o1", ROLE_OPERATOR);
    assert_int_equal(loop_new(&lab->loop, &fault), STATUS_OK);
    *state = lab;
    return 0;
}

int lab_free(void **state)
{
    struct lab *lab = *state;

    loop_free(lab->loop);
    tls_context_free(lab->controller);
    tls_context_free(lab->agent);
    tls_context_free(lab->human);
    certs_free(lab->certs);
    free(lab);
    return 0;
}

static void on_up(void *context, channel_peer peer, const struct identity *identity,
                  const char *address)
{
    struct end *end = context;

    end->ups++;
    end->last_up = peer;
    text_copy(end->last_name, sizeof end->last_name, identity->name);
    text_copy(end->last_address, sizeof end->last_address, address);
    if (end->on_up != NULL)
        end->on_up(end, peer);
}

static void on_message(void *context, channel_peer peer, const void *bytes, size_t length)
{
    struct end *end = context;

    end->messages++;
    end->bytes += length;
    if (end->echo)
        assert_int_equal(channel_send(end->channel, peer, bytes, length), STATUS_OK);
    if (end->on_message != NULL)
        end->on_message(end, peer, bytes, length);
}

static void on_down(void *context, channel_peer peer, bool was_up, const char *reason)
{
    struct end *end = context;

    end->downs++;
    end->downs_unborn += !was_up;
    end->last_down = peer;
    text_copy(end->last_reason, sizeof end->last_reason, reason);
    assert_true(reason[0] != '\0');
    if (end->on_down != NULL)
        end->on_down(end, peer);
}

struct channel_rules lab_rules(unsigned roles)
{
    return (struct channel_rules){ .roles = roles,
                                   .peers_max = 300,
                                   .strangers_max = 300,
                                   .outbound_cap = 2 * LIMIT_FRAME,
                                   .outbound_all_cap = 1 << 30 };
}

static void end_init(struct end *end, struct lab *lab, const struct tls_context *context,
                     const struct channel_rules *rules)
{
    struct channel_events events = {
        .context = end, .up = on_up, .message = on_message, .down = on_down
    };
    struct channel_setup setup = { .context = context, .rules = rules, .events = &events };
    struct fault fault;

    *end = (struct end){ .lab = lab };
    assert_int_equal(channel_new(lab->loop, &setup, &end->channel, &fault), STATUS_OK);
}

void end_controller(struct end *end, struct lab *lab, const struct channel_rules *rules)
{
    struct channel_rules usual = lab_rules(1U << ROLE_AGENT);

    end_init(end, lab, lab->controller, rules != NULL ? rules : &usual);
}

void end_agent(struct end *end, struct lab *lab, const struct channel_rules *rules)
{
    struct channel_rules usual = lab_rules(1U << ROLE_CONTROLLER);

    end_init(end, lab, lab->agent, rules != NULL ? rules : &usual);
}

void end_done(struct end *end)
{
    channel_free(end->channel);
    end->channel = NULL;
}

uint16_t end_listen(struct end *end)
{
    struct fault fault;

    assert_int_equal(channel_listen(end->channel, "127.0.0.1:0", &fault), STATUS_OK);
    assert_int_not_equal(channel_port(end->channel), 0);
    return channel_port(end->channel);
}

channel_peer end_connect(struct end *end, uint16_t port)
{
    char address[32];

    snprintf(address, sizeof address, "127.0.0.1:%u", port);
    return end_connect_to(end, address);
}

channel_peer end_connect_to(struct end *end, const char *address)
{
    struct channel_target target = { .address = address };
    unsigned before = end->ups + end->downs;
    channel_peer peer = 0;
    struct fault fault;

    assert_int_equal(channel_connect(end->channel, &target, &peer, &fault), STATUS_OK);
    assert_int_equal(end->ups + end->downs, before);
    assert_true(peer != 0);
    return peer;
}

void lab_until(struct lab *lab, const unsigned *value, unsigned wanted)
{
    struct mono end = mono_after(mono_now(), PATIENCE_NS);

    while (*value < wanted) {
        loop_turn(lab->loop, 20 * NS_PER_MS);
        if (mono_now().ns > end.ns)
            fail_msg("%u of %u after 20 s", *value, wanted);
    }
}

void lab_peers(struct end *end, size_t wanted)
{
    struct mono limit = mono_after(mono_now(), PATIENCE_NS);

    while (channel_peers(end->channel) != wanted) {
        loop_turn(end->lab->loop, 20 * NS_PER_MS);
        if (mono_now().ns > limit.ns)
            fail_msg("%zu connections, not %zu, after 20 s", channel_peers(end->channel), wanted);
    }
}

void lab_settle(struct lab *lab, unsigned ms)
{
    struct mono end = mono_after(mono_now(), ms * NS_PER_MS);

    while (mono_now().ns < end.ns)
        loop_turn(lab->loop, mono_between(mono_now(), end));
}

void lab_join(struct end *controller, struct end *agent, channel_peer *out_peer)
{
    unsigned there = controller->ups, here = agent->ups;

    *out_peer = end_connect(agent, channel_port(controller->channel));
    lab_until(agent->lab, &agent->ups, here + 1);
    lab_until(agent->lab, &controller->ups, there + 1);
}

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){ .sin_family = AF_INET,
                                 .sin_port = htons(port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

int raw_connect(uint16_t port)
{
    struct sockaddr_in to = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM, 0), little = 8192;

    assert_int_not_equal(fd, -1);
    /* Who does not read is full soon. */
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof little), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

int raw_listen(uint16_t *out_port)
{
    struct sockaddr_in at = loopback(0);
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_not_equal(fd, -1);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 100), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    *out_port = ntohs(at.sin_port);
    return fd;
}

int raw_accept(struct lab *lab, int listener)
{
    struct mono end = mono_after(mono_now(), PATIENCE_NS);
    int fd;

    while ((fd = accept(listener, NULL, NULL)) == -1) {
        loop_turn(lab->loop, NS_PER_MS);
        assert_true(mono_now().ns < end.ns);
    }
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

void raw_send(int fd, const void *bytes, size_t length)
{
    struct pollfd room = { .fd = fd, .events = POLLOUT };
    ssize_t sent;

    while (length > 0) {
        sent = send(fd, bytes, length, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
            return; /* who is thrown out cannot finish */
        if (sent < 0)
            assert_int_equal(poll(&room, 1, 10000), 1);
        else
            bytes = (const char *)bytes + sent;
        length -= sent < 0 ? 0 : (size_t)sent;
    }
}

void raw_reset(int fd)
{
    struct linger linger = { .l_onoff = 1, .l_linger = 0 };

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(fd);
}

bool raw_ended(int fd)
{
    char bytes[4096];
    ssize_t got;

    do {
        got = recv(fd, bytes, sizeof bytes, 0);
    } while (got > 0);
    return got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

static void give_output(struct raw_tls *raw)
{
    struct buf bytes;

    buf_init(&bytes, 1 << 24);
    tls_output(raw->tls, &bytes);
    raw_send(raw->fd, bytes.data, bytes.length);
    buf_done(&bytes);
}

bool raw_tls_read(struct raw_tls *raw)
{
    char bytes[16384];
    struct fault fault;
    ssize_t got;

    while ((got = recv(raw->fd, bytes, sizeof bytes, 0)) > 0) {
        if (tls_input(raw->tls, bytes, (size_t)got, &raw->plain, &fault) != STATUS_OK)
            return false;
        give_output(raw);
    }
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

void raw_tls_init(struct raw_tls *raw, struct lab *lab, uint16_t port)
{
    struct fault fault;

    *raw = (struct raw_tls){ .lab = lab, .fd = raw_connect(port) };
    raw->tls = tls_new(lab->agent, TLS_CLIENT, NULL, false, wall_now());
    buf_init(&raw->plain, 1 << 24);
    assert_int_equal(tls_input(raw->tls, NULL, 0, &raw->plain, &fault), STATUS_OK);
    give_output(raw);
    while (raw->plain.length == 0) { /* the server's ping */
        loop_turn(lab->loop, NS_PER_MS);
        assert_true(raw_tls_read(raw));
    }
}

void raw_tls_done(struct raw_tls *raw)
{
    close(raw->fd);
    tls_free(raw->tls);
    buf_done(&raw->plain);
}

void raw_tls_write(struct raw_tls *raw, const void *bytes, size_t length)
{
    struct fault fault;

    assert_int_equal(tls_write(raw->tls, bytes, length, &fault), STATUS_OK);
    give_output(raw);
}

unsigned open_files(void)
{
    unsigned count = 0;

    for (int fd = 0; fd < 4096; fd++)
        count += fcntl(fd, F_GETFD) != -1;
    return count;
}
