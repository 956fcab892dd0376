/* One call or many: datagrams must come out as they went in, and a failure must be told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/datagram.h"
#include "agent/host/socket.h"

enum { HEAD = 12, BODY = 300 };

typedef size_t transfer(int fd, struct datagram *datagrams, size_t count, int *out_error);

struct way {
    transfer *send, *receive;
};

static const struct way single = { datagram_send_single, datagram_receive_single };
static const struct way batch = { datagram_send_batch, datagram_receive_batch };

/* A batch of datagrams of two parts with room for each one's bytes and peer. */
struct set {
    struct datagram datagram[DATAGRAM_BATCH_MAX];
    struct addr peer[DATAGRAM_BATCH_MAX];
    char head[DATAGRAM_BATCH_MAX][HEAD], body[DATAGRAM_BATCH_MAX][BODY];
};

static void set_init(struct set *set, const struct addr *to)
{
    memset(set, 0, sizeof *set);
    for (int i = 0; i < DATAGRAM_BATCH_MAX; i++) {
        struct datagram *datagram = &set->datagram[i];

        datagram->part[0] = (struct iovec){ set->head[i], HEAD };
        datagram->part[1] = (struct iovec){ set->body[i], BODY };
        datagram->parts = 2;
        datagram->peer = &set->peer[i];
        if (to == NULL)
            continue;
        set->peer[i] = *to;
        memset(set->head[i], 'A' + i % 26, HEAD);
        memset(set->body[i], 'a' + i % 26, BODY);
        datagram->part[1].iov_len = (size_t)(i * 4); /* the first has a head alone */
    }
}

struct pair {
    int from, to;
    struct addr from_addr, to_addr;
};

static struct pair pair_open(enum family family)
{
    struct addr any = addr_loopback(family, 0);
    struct pair pair;
    struct fault fault;

    if (socket_open(&any, &pair.from, &pair.from_addr, &fault) != STATUS_OK) {
        assert_int_equal(family, FAMILY_IPV6);
        skip();
    }
    assert_int_equal(socket_open(&any, &pair.to, &pair.to_addr, &fault), STATUS_OK);
    return pair;
}

static void pair_close(struct pair *pair)
{
    close(pair->from);
    close(pair->to);
}

static void check_whole_batch(const struct way *way, enum family family)
{
    struct pair pair = pair_open(family);
    static struct set out, in;
    int error = -1;

    set_init(&out, &pair.to_addr);
    set_init(&in, NULL);
    assert_int_equal(way->send(pair.from, out.datagram, DATAGRAM_BATCH_MAX, &error),
                     DATAGRAM_BATCH_MAX);
    assert_int_equal(error, 0);
    error = -1;
    assert_int_equal(way->receive(pair.to, in.datagram, DATAGRAM_BATCH_MAX, &error),
                     DATAGRAM_BATCH_MAX);
    assert_int_equal(error, 0);
    for (int i = 0; i < DATAGRAM_BATCH_MAX; i++) {
        assert_int_equal(in.datagram[i].length, HEAD + i * 4);
        assert_memory_equal(in.head[i], out.head[i], HEAD);
        assert_memory_equal(in.body[i], out.body[i], (size_t)(i * 4));
        assert_true(addr_equal(&in.peer[i], &pair.from_addr));
    }
    assert_int_equal(way->receive(pair.to, in.datagram, 1, &error), 0);
    assert_int_equal(error, EAGAIN);
    pair_close(&pair);
}

static void a_whole_batch_arrives_in_order_with_its_peer(void **state)
{
    check_whole_batch(*state, FAMILY_IPV4);
    check_whole_batch(*state, FAMILY_IPV6);
}

static void a_connected_socket_needs_no_peer(void **state)
{
    const struct way *way = *state;
    struct pair pair = pair_open(FAMILY_IPV4);
    struct fault fault;
    static struct set out, in;
    int error;

    assert_int_equal(socket_connect(pair.from, &pair.to_addr, &fault), STATUS_OK);
    set_init(&out, &pair.to_addr);
    set_init(&in, NULL);
    out.datagram[0].peer = out.datagram[1].peer = NULL;
    in.datagram[0].peer = NULL;
    assert_int_equal(way->send(pair.from, out.datagram, 2, &error), 2);
    assert_int_equal(way->receive(pair.to, in.datagram, 2, &error), 2);
    assert_memory_equal(in.head[1], out.head[1], HEAD);
    assert_true(addr_equal(&in.peer[1], &pair.from_addr));
    pair_close(&pair);
}

static void a_cut_datagram_has_a_length_above_its_room(void **state)
{
    const struct way *way = *state;
    struct pair pair = pair_open(FAMILY_IPV4);
    static struct set out, in;
    int error;

    set_init(&out, &pair.to_addr);
    set_init(&in, NULL);
    out.datagram[0].part[1].iov_len = BODY;
    in.datagram[0].part[1].iov_len = 20;
    in.datagram[1].part[1].iov_len = 4; /* fits to the byte */
    assert_int_equal(way->send(pair.from, out.datagram, 2, &error), 2);
    assert_int_equal(way->receive(pair.to, in.datagram, 2, &error), 2);
    assert_in_range(in.datagram[0].length, HEAD + 20 + 1, HEAD + BODY);
    assert_int_equal(in.body[0][19], 'a');
    assert_int_equal(in.body[0][20], 0);
    assert_int_equal(in.datagram[1].length, HEAD + 4);
    pair_close(&pair);
}

static void an_empty_datagram_is_received_as_one(void **state)
{
    const struct way *way = *state;
    struct pair pair = pair_open(FAMILY_IPV4);
    static struct set out, in;
    int error;

    set_init(&out, &pair.to_addr);
    set_init(&in, NULL);
    out.datagram[0].parts = 0;
    in.datagram[0].length = 99;
    assert_int_equal(way->send(pair.from, out.datagram, 1, &error), 1);
    assert_int_equal(way->receive(pair.to, in.datagram, 4, &error), 1);
    assert_int_equal(in.datagram[0].length, 0);
    pair_close(&pair);
}

static void the_first_refused_datagram_is_told_at_last_by_the_next_call(void **state)
{
    const struct way *way = *state;
    struct pair pair = pair_open(FAMILY_IPV4);
    static char large[65536];
    static struct set out, in;
    int error;
    size_t sent;

    set_init(&out, &pair.to_addr);
    set_init(&in, NULL);
    out.datagram[2].part[1] = (struct iovec){ large, sizeof large };
    sent = way->send(pair.from, out.datagram, 4, &error);
    assert_int_equal(sent, 2);
    assert_true(error == 0 || error == EMSGSIZE);
    assert_int_equal(way->send(pair.from, &out.datagram[2], 2, &error), 0);
    assert_int_equal(error, EMSGSIZE);
    assert_int_equal(way->receive(pair.to, in.datagram, 8, &error), 2);
    pair_close(&pair);
}

static void a_count_above_the_maximum_is_cut_to_it(void **state)
{
    const struct way *way = *state;
    struct pair pair = pair_open(FAMILY_IPV4);
    static struct set out;
    int error;

    set_init(&out, &pair.to_addr);
    assert_int_equal(way->send(pair.from, out.datagram, DATAGRAM_BATCH_MAX + 100, &error),
                     DATAGRAM_BATCH_MAX);
    pair_close(&pair);
}

/* On a wildcard, each datagram says to which address it came, and an answer leaves from there. */
static void check_local(const struct way *way, const char *wildcard, const char *const *targets,
                        size_t count)
{
    struct addr any, bound, locals[4];
    static struct set out, in;
    int fd, clients[4], error;

    assert_int_equal(addr_parse(wildcard, &any, NULL), STATUS_OK);
    if (socket_open(&any, &fd, &bound, NULL) != STATUS_OK)
        return; /* no IPv6 */
    assert_int_equal(datagram_ask_local(fd, addr_family(&any), NULL), STATUS_OK);
    set_init(&out, NULL);
    set_init(&in, NULL);
    for (size_t i = 0; i < count; i++) {
        struct addr target, local = any;

        assert_int_equal(addr_parse(targets[i], &target, NULL), STATUS_OK);
        addr_set_port(&target, addr_port(&bound));
        assert_int_equal(socket_open(&local, &clients[i], &local, NULL), STATUS_OK);
        assert_int_equal(socket_connect(clients[i], &target, NULL), STATUS_OK);
        out.datagram[i].peer = NULL;
        assert_int_equal(way->send(clients[i], &out.datagram[i], 1, &error), 1);
        in.datagram[i].local = &locals[i];
    }
    assert_int_equal(way->receive(fd, in.datagram, count, &error), count);
    for (size_t i = 0; i < count; i++) {
        char text[ADDR_TEXT_SIZE];

        addr_format(&locals[i], text);
        assert_string_equal(text, targets[i]);
        in.datagram[i].part[1].iov_len = in.datagram[i].length - HEAD;
    }
    assert_int_equal(way->send(fd, in.datagram, count, &error), count);
    for (size_t i = 0; i < count; i++) { /* connected: from that address alone */
        out.datagram[i].length = 0;
        assert_int_equal(way->receive(clients[i], &out.datagram[i], 1, &error), 1);
        assert_int_equal(out.datagram[i].length, in.datagram[i].length);
        close(clients[i]);
    }
    close(fd);
}

static void an_answer_leaves_from_the_address_that_was_asked(void **state)
{
    static const char *const v4[] = { "127.0.0.1:0", "127.0.0.2:0", "127.0.0.5:0", "127.0.0.1:0" };
    static const char *const v6[] = { "[::1]:0" };
    struct addr bound;
    int fd;

    check_local(*state, "[::]:0", v6, 1);
    assert_int_equal(addr_parse(v4[1], &bound, NULL), STATUS_OK);
    if (socket_open(&bound, &fd, &bound, NULL) == STATUS_OK) {
        close(fd);
        check_local(*state, "0.0.0.0:0", v4, 4);
    } else { /* macOS has one address there */
        check_local(*state, "0.0.0.0:0", v4, 1);
    }
}

/* Where nobody asked the system, it says nothing, and an answer leaves as the system likes. */
static void an_address_that_was_not_asked_for_is_empty(void **state)
{
    const struct way *way = *state;
    struct pair pair = pair_open(FAMILY_IPV4);
    struct addr local = pair.from_addr;
    static struct set out, in;
    int error;

    set_init(&out, &pair.to_addr);
    set_init(&in, NULL);
    in.datagram[0].local = &local;
    assert_int_equal(way->send(pair.from, out.datagram, 1, &error), 1);
    assert_int_equal(way->receive(pair.to, in.datagram, 1, &error), 1);
    assert_int_equal(local.length, 0);
    in.datagram[0].part[1].iov_len = 0;
    assert_int_equal(way->send(pair.to, in.datagram, 1, &error), 1);
    pair_close(&pair);
}

#define BOTH_WAYS(test)                                                                            \
    { #test " (single)", test, NULL, NULL, (void *)(uintptr_t)&single },                           \
    {                                                                                              \
#        test " (batch)", test, NULL, NULL, (void *)(uintptr_t)&batch                              \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH_WAYS(a_whole_batch_arrives_in_order_with_its_peer),
        BOTH_WAYS(a_connected_socket_needs_no_peer),
        BOTH_WAYS(a_cut_datagram_has_a_length_above_its_room),
        BOTH_WAYS(an_empty_datagram_is_received_as_one),
        BOTH_WAYS(the_first_refused_datagram_is_told_at_last_by_the_next_call),
        BOTH_WAYS(an_answer_leaves_from_the_address_that_was_asked),
        BOTH_WAYS(an_address_that_was_not_asked_for_is_empty),
        BOTH_WAYS(a_count_above_the_maximum_is_cut_to_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
