/* A place for channels to meet on 127.0.0.1: certificates, one loop, an end that writes down what
 * it is told, and connections made by hand that do what no channel would. */
#ifndef SONDE_TESTS_CHANNEL_LAB_H
#define SONDE_TESTS_CHANNEL_LAB_H

#include "proto/base/addr.h"
#include "proto/base/buf.h"
#include "proto/link/channel.h"
#include "proto/link/tls.h"
#include "tests/proto/link/make_certs.h"

struct lab {
    struct certs *certs;
    struct tls_context *controller, *agent, *human;
    struct loop *loop;
};

/* Setup and teardown of a test or group. */
int lab_make(void **state);
int lab_free(void **state);

/* One end. What happens is counted; a test may look in more closely by `on_message` and `on_down`,
 * which are called last. */
struct end {
    struct lab *lab;
    struct channel *channel;
    bool echo; /* sends each message back */
    unsigned ups, downs, downs_unborn, messages;
    size_t bytes;
    channel_peer last_up, last_down;
    char last_name[NAME_SIZE], last_address[ADDR_TEXT_SIZE], last_reason[FAULT_TEXT_SIZE];
    void (*on_up)(struct end *end, channel_peer peer);
    void (*on_message)(struct end *end, channel_peer peer, const uint8_t *bytes, size_t length);
    void (*on_down)(struct end *end, channel_peer peer);
    void *context;
};

/* Limits that are in nobody's way. */
struct channel_rules lab_rules(unsigned roles);

/* `rules` NULL: those. A controller listens (call lab_listen), an agent connects. */
void end_controller(struct end *end, struct lab *lab, const struct channel_rules *rules);
void end_agent(struct end *end, struct lab *lab, const struct channel_rules *rules);
void end_done(struct end *end);

/* On a free port of 127.0.0.1. */
uint16_t end_listen(struct end *end);
channel_peer end_connect(struct end *end, uint16_t port);
channel_peer end_connect_to(struct end *end, const char *address);

/* Turns the loop until *value >= wanted; fails the test after 20 s of this machine's time. */
void lab_until(struct lab *lab, const unsigned *value, unsigned wanted);

/* The same until the channel has so many connections. */
void lab_peers(struct end *end, size_t wanted);

/* Turns the loop for so long. */
void lab_settle(struct lab *lab, unsigned ms);

/* Both up. */
void lab_join(struct end *controller, struct end *agent, channel_peer *out_peer);

/* Non-blocking sockets by hand. */
int raw_connect(uint16_t port);
int raw_listen(uint16_t *out_port);
int raw_accept(struct lab *lab, int listener);
void raw_send(int fd, const void *bytes, size_t length);

/* Resets the connection instead of ending it. */
void raw_reset(int fd);

/* True when the other side has ended the connection; what came before is thrown away. */
bool raw_ended(int fd);

/* TLS by hand over such a socket. */
struct raw_tls {
    struct lab *lab;
    int fd;
    struct tls *tls;
    struct buf plain; /* what has come */
};

/* A client that has shaken hands. */
void raw_tls_init(struct raw_tls *raw, struct lab *lab, uint16_t port);
void raw_tls_done(struct raw_tls *raw);
void raw_tls_write(struct raw_tls *raw, const void *bytes, size_t length);

/* Reads what is there; false when the other side has ended. */
bool raw_tls_read(struct raw_tls *raw);

/* Descriptors that are open. */
unsigned open_files(void);

#endif
