/* Many agents in one process, for the bench of a controller: each a TLS connection of its own with
 * its own certificate, on a socket of its own. They say hello, deliver results, and come back with
 * growing pauses when they lose the controller, as sonde-agent does; they measure nothing. ZeroMQ
 * is left out, so that what is measured is the controller and not the costs of thousands of
 * connections on one of its sockets.
 *
 *     fleet_sim AGENTS
 *
 * It issues certificates first and prints {"event": "certificates", ...} with where the
 * controller's and others are. Then it takes commands, a line each, until
 * there are no more:
 *
 *     connect ADDRESS         every agent connects; {"event": "connected", "seconds": s} when all
 *                             are welcome, and again each time all are back, "attempts" being how
 *                             many connections that took
 *     results SECONDS BYTES RATE   all together deliver so many results of that size per second, 0:
 *                             as fast as they are committed;
 *                             {"event": "results", "committed": n, "seconds": s}
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/uplink.h"
#include "proto/base/addr.h"
#include "proto/base/digest.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"
#include "proto/link/backoff.h"
#include "proto/wire/limits.h"
#include "tests/proto/link/make_certs.h"

enum { AGENTS_MAX = 20000, CONNECTS_A_TURN = 64, WAIT_MS = 50, FILES_KEPT = 64, LINE = 512 };
enum { UNDER_WAY = 16 }; /* results of one agent that are not committed yet */
enum { READ_BYTES = 64 << 10, OUTBOUND_CAP = 4 << 20 };

/* A turn asks the kernel about every socket: not more often than this. */
#define TURN_NS (2 * NS_PER_MS)
#define LOOK_NS (250 * NS_PER_MS)

struct sim_agent {
    struct tls_context *context;
    struct peer *peer; /* NULL: away */
    bool connected;    /* TCP stands */
    bool greeted, welcome;
    struct backoff backoff;
    struct mono retry_at;
    int64_t under_way;
};

struct sim {
    struct certs *certs;
    struct sim_agent *agents;
    struct pollfd *sockets; /* beside agents; behind them: the commands */
    size_t count, welcome;
    struct addr controller;
    bool connecting, stopping, all_told;
    struct mono since; /* connect, or the first loss */
    size_t attempts;   /* since then */
    struct mono look_at;
    bool results_on;
    struct mono results_until, results_since;
    int64_t committed, made, rate; /* rate: results per second, 0: no limit */
    size_t turn;                   /* whose turn it is to deliver */
    uint8_t *body;
    size_t body_length;
};

static double seconds_since(struct mono then)
{
    return (double)mono_between(then, mono_now()) / (double)NS_PER_S;
}

static void insist(enum status status, const struct fault *fault)
{
    if (status == STATUS_OK)
        return;
    fprintf(stderr, "fleet_sim: %s: %s\n", status_text(status), fault->text);
    exit(1);
}

/* --- messages --------------------------------------------------------------------------------- */

static enum status send_message(struct sim_agent *agent, const void *message)
{
    struct buf frame;
    enum status status;

    buf_init(&frame, LIMIT_FRAME);
    insist(message_put(message, &frame), &(struct fault){ "a message" });
    status = peer_send(agent->peer, frame.data, frame.length, mono_now());
    buf_done(&frame);
    return status;
}

static void fresh_uuid(char out_text[UUID_SIZE])
{
    uint8_t random[10];

    digest_random(random, sizeof random);
    uuid7_format(wall_now().ns / NS_PER_MS, random, out_text);
}

/* What cannot be sent is followed by the connection's end. */
static void say_hello(struct sim_agent *agent)
{
    struct message_hello hello;

    agent->greeted = true;
    message_init(&hello, MESSAGE_HELLO);
    hello.protocol = PROTOCOL_VERSION;
    snprintf(hello.version, sizeof hello.version, "sim");
    snprintf(hello.os, sizeof hello.os, "Linux");
    fresh_uuid(hello.instance);
    (void)send_message(agent, &hello);
    message_done(&hello);
}

static bool may_make(const struct sim *sim)
{
    return sim->rate == 0 ||
           (double)sim->made < seconds_since(sim->results_since) * (double)sim->rate;
}

/* As many as may be under way. */
static void deliver(struct sim *sim, struct sim_agent *agent)
{
    while (sim->results_on && agent->welcome && agent->under_way < UNDER_WAY && may_make(sim)) {
        struct message_result result;

        message_init(&result, MESSAGE_RESULT);
        fresh_uuid(result.id);
        snprintf(result.kind, sizeof result.kind, "bench");
        result.body = (struct bytes){ sim->body, sim->body_length };
        if (send_message(agent, &result) != STATUS_OK)
            return;
        agent->under_way++;
        sim->made++;
    }
}

static void on_committed(struct sim *sim, struct sim_agent *agent,
                         const struct message_committed *committed)
{
    int64_t count = (int64_t)committed->ids.count;

    agent->under_way = agent->under_way > count ? agent->under_way - count : 0;
    if (sim->results_on)
        sim->committed += count;
    if (sim->rate == 0)
        deliver(sim, agent);
}

static void on_welcome(struct sim *sim, struct sim_agent *agent)
{
    agent->welcome = true;
    backoff_reset(&agent->backoff);
    if (++sim->welcome < sim->count || sim->all_told)
        return;
    sim->all_told = true;
    printf("{\"event\": \"connected\", \"agents\": %zu, \"attempts\": %zu, \"seconds\": %.3f}\n",
           sim->count, sim->attempts, seconds_since(sim->since));
    fflush(stdout);
}

static void on_message(struct sim *sim, struct sim_agent *agent, const void *bytes, size_t length)
{
    const struct message_way way = { ROLE_CONTROLLER, ROLE_AGENT };
    struct fault fault = { "" };
    union message message;

    insist(message_get(bytes, length, way, &message, &fault), &fault);
    if (message.type == MESSAGE_WELCOME)
        on_welcome(sim, agent);
    else if (message.type == MESSAGE_COMMITTED)
        on_committed(sim, agent, &message.committed);
    message_done(&message);
}

/* --- connections ------------------------------------------------------------------------------ */

static struct pollfd *socket_of(const struct sim *sim, const struct sim_agent *agent)
{
    return &sim->sockets[agent - sim->agents];
}

static void lose(struct sim *sim, struct sim_agent *agent)
{
    struct pollfd *place = socket_of(sim, agent);
    uint64_t random;

    if (agent->welcome && sim->all_told) {
        sim->all_told = false;
        sim->since = mono_now();
        sim->attempts = 0;
    }
    sim->welcome -= agent->welcome;
    close(place->fd);
    place->fd = -1;
    peer_free(agent->peer);
    agent->peer = NULL;
    agent->under_way = 0;
    agent->connected = agent->greeted = agent->welcome = false;
    digest_random(&random, sizeof random);
    agent->retry_at = mono_after(mono_now(), backoff_next(&agent->backoff, random));
}

static void connect_agent(struct sim *sim, struct sim_agent *agent)
{
    static const struct peer_rules rules = { .side = TLS_CLIENT,
                                             .roles = 1u << ROLE_CONTROLLER,
                                             .outbound_cap = OUTBOUND_CAP };
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    struct fault fault;

    if (fd < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0)
        insist(fault_errno(&fault, errno, "a socket"), &fault);
    sim->attempts++;
    *socket_of(sim, agent) = (struct pollfd){ .fd = fd, .events = POLLOUT };
    agent->peer = peer_new(agent->context, &rules, mono_now(), wall_now());
    if (connect(fd, &sim->controller.socket.any, sim->controller.length) != 0 &&
        errno != EINPROGRESS)
        lose(sim, agent);
}

/* What came is read, and what it leads to is said. */
static void receive(struct sim *sim, struct sim_agent *agent)
{
    static uint8_t bytes[READ_BYTES];
    int fd = socket_of(sim, agent)->fd;
    ssize_t got = read(fd, bytes, sizeof bytes);
    const uint8_t *frame;
    size_t length;

    if (got > 0)
        peer_input(agent->peer, bytes, (size_t)got, mono_now());
    else if (got == 0 || (errno != EAGAIN && errno != EINTR))
        peer_lost(agent->peer, "the connection broke");
    if (!agent->greeted && peer_state(agent->peer) == PEER_UP)
        say_hello(agent);
    while (peer_next_frame(agent->peer, &frame, &length))
        on_message(sim, agent, frame, length);
}

static void send_output(struct sim *sim, struct sim_agent *agent)
{
    struct pollfd *place = socket_of(sim, agent);
    const uint8_t *bytes;
    size_t length;

    place->events = POLLIN;
    while ((length = peer_output(agent->peer, &bytes)) > 0) {
        ssize_t sent = send(place->fd, bytes, length, 0);

        if (sent <= 0) {
            place->events |= POLLOUT;
            return;
        }
        peer_sent(agent->peer, (size_t)sent);
    }
}

static void attend(struct sim *sim, struct sim_agent *agent)
{
    const struct pollfd *place = socket_of(sim, agent);
    short came = place->revents;
    int error = 0;
    socklen_t size = sizeof error;

    if (!agent->connected && (came & (POLLOUT | POLLERR | POLLHUP)) != 0) {
        getsockopt(place->fd, SOL_SOCKET, SO_ERROR, &error, &size);
        agent->connected = error == 0;
        if (!agent->connected)
            peer_lost(agent->peer, "no connection");
    }
    if (agent->connected && (came & (POLLIN | POLLERR | POLLHUP)) != 0)
        receive(sim, agent);
    if (agent->connected)
        send_output(sim, agent);
    if (peer_state(agent->peer) >= PEER_CLOSING)
        lose(sim, agent);
}

/* --- turns ------------------------------------------------------------------------------------ */

static void look_at_deadlines(struct sim *sim, struct mono now)
{
    if (mono_between(now, sim->look_at) > 0)
        return;
    sim->look_at = mono_after(now, LOOK_NS);
    for (size_t i = 0; i < sim->count; i++) {
        struct sim_agent *agent = &sim->agents[i];

        if (agent->peer == NULL || mono_between(now, peer_deadline(agent->peer)) > 0)
            continue;
        peer_tick(agent->peer, now);
        sim->sockets[i].revents = 0;
        attend(sim, agent);
    }
}

static void connect_due(struct sim *sim, struct mono now)
{
    size_t begun = 0;

    for (size_t i = 0; sim->connecting && i < sim->count && begun < CONNECTS_A_TURN; i++) {
        if (sim->agents[i].peer != NULL || mono_between(now, sim->agents[i].retry_at) > 0)
            continue;
        connect_agent(sim, &sim->agents[i]);
        begun++;
    }
}

static void end_results(struct sim *sim)
{
    sim->results_on = false;
    printf("{\"event\": \"results\", \"committed\": %lld, \"bytes\": %zu, \"seconds\": %.3f}\n",
           (long long)sim->committed, sim->body_length, seconds_since(sim->results_since));
    fflush(stdout);
}

static void deliver_now(struct sim *sim, struct sim_agent *agent)
{
    deliver(sim, agent);
    if (agent->connected)
        send_output(sim, agent);
}

static void deliver_due(struct sim *sim, struct mono now)
{
    if (sim->results_on && mono_between(now, sim->results_until) <= 0)
        end_results(sim);
    for (size_t i = 0; sim->results_on && sim->rate > 0 && i < sim->count && may_make(sim); i++)
        deliver_now(sim, &sim->agents[sim->turn++ % sim->count]);
}

/* --- commands --------------------------------------------------------------------------------- */

static void begin_results(struct sim *sim, double seconds, size_t bytes, int64_t rate)
{
    free(sim->body);
    sim->body = memory_new(1, bytes);
    sim->body_length = bytes;
    digest_random(sim->body, bytes);
    sim->committed = 0;
    sim->made = 0;
    sim->rate = rate;
    sim->results_on = true;
    sim->results_since = mono_now();
    sim->results_until = mono_after(sim->results_since, (int64_t)(seconds * 1e9));
    for (size_t i = 0; i < sim->count && rate == 0; i++)
        deliver_now(sim, &sim->agents[i]);
}

static void obey(struct sim *sim, const char *line)
{
    char address[LINE];
    struct fault fault = { "" };
    double seconds;
    size_t bytes;
    long long rate;

    if (sscanf(line, "connect %400s", address) == 1) {
        insist(addr_parse(address, &sim->controller, &fault), &fault);
        sim->connecting = true;
        sim->since = mono_now();
    } else if (sscanf(line, "results %lf %zu %lld", &seconds, &bytes, &rate) == 3 && bytes > 0 &&
               bytes <= LIMIT_RESULT_BYTES && rate >= 0) {
        begin_results(sim, seconds, bytes, rate);
    } else {
        sim->stopping = true;
    }
}

static void read_command(struct sim *sim)
{
    char line[LINE];

    if (fgets(line, sizeof line, stdin) != NULL)
        obey(sim, line);
    else
        sim->stopping = true;
}

/* --- start ------------------------------------------------------------------------------------ */

static void print_files(const char *name, const struct tls_files *files, const char *end)
{
    printf("\"%s\": {\"ca\": \"%s\", \"certificate\": \"%s\", \"key\": \"%s\"}%s", name, files->ca,
           files->certificate, files->key, end);
}

/* Each agent's files are read here, before anything is timed. */
static void issue(struct sim *sim, struct authority *authority, size_t index)
{
    struct sim_agent *agent = &sim->agents[index];
    struct fault fault = { "" };
    struct tls_files files;
    char uri[64];

    snprintf(uri, sizeof uri, "spiffe://test/agent/sim-%05zu", index);
    certs_good(sim->certs, authority, uri, &files);
    insist(tls_context_new(&files, ROLE_AGENT, wall_now(), &agent->context, &fault), &fault);
    backoff_init(&agent->backoff, UPLINK_FIRST_PAUSE_NS, UPLINK_LAST_PAUSE_NS);
    sim->sockets[index].fd = -1;
}

static void issue_all(struct sim *sim)
{
    struct authority *authority;
    struct tls_files controller, other;

    sim->certs = certs_new();
    authority = certs_authority(sim->certs, "bench", CERTS_P256);
    certs_good(sim->certs, authority, "spiffe://test/controller/controller", &controller);
    printf("{\"event\": \"certificates\", ");
    print_files("controller", &controller, ", ");
    certs_good(sim->certs, authority, "spiffe://test/operator/bench", &other);
    print_files("operator", &other, ", ");
    certs_good(sim->certs, authority, "spiffe://test/agent/real", &other);
    print_files("agent", &other, "}\n");
    for (size_t i = 0; i < sim->count; i++)
        issue(sim, authority, i);
    printf("{\"event\": \"ready\", \"agents\": %zu}\n", sim->count);
    fflush(stdout);
}

static void allow_files(size_t count)
{
    struct rlimit limit;
    struct fault fault;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count + FILES_KEPT)
        return;
    limit.rlim_cur = count + FILES_KEPT;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        insist(fault_errno(&fault, errno, "the limit of open files"), &fault);
}

static void turn(struct sim *sim)
{
    bool busy = sim->results_on || (sim->connecting && sim->welcome < sim->count);
    struct mono now = mono_now();

    if (poll(sim->sockets, (nfds_t)sim->count + 1, busy ? 1 : WAIT_MS) > 0) {
        for (size_t i = 0; i < sim->count; i++)
            if (sim->agents[i].peer != NULL && sim->sockets[i].revents != 0)
                attend(sim, &sim->agents[i]);
        if (sim->sockets[sim->count].revents != 0)
            read_command(sim);
    }
    connect_due(sim, mono_now());
    look_at_deadlines(sim, mono_now());
    deliver_due(sim, mono_now());
    if (mono_between(now, mono_now()) < TURN_NS)
        poll(NULL, 0, (int)(TURN_NS / NS_PER_MS));
}

int main(int argc, char **argv)
{
    uint64_t count = 0;
    struct sim sim = { .all_told = false };

    if (argc != 2 || text_to_u64(argv[1], &count) != STATUS_OK || count < 1 || count > AGENTS_MAX) {
        fprintf(stderr, "usage: fleet_sim AGENTS (1 to %d)\n", AGENTS_MAX);
        return 2;
    }
    sim.count = (size_t)count;
    allow_files(sim.count);
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdin, NULL, _IONBF, 0); /* poll sees all that waits */
    sim.agents = memory_new(sim.count, sizeof *sim.agents);
    sim.sockets = memory_new(sim.count + 1, sizeof *sim.sockets);
    sim.sockets[sim.count] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
    issue_all(&sim);
    while (!sim.stopping)
        turn(&sim);
    for (size_t i = 0; i < sim.count; i++) {
        if (sim.agents[i].peer != NULL)
            lose(&sim, &sim.agents[i]);
        tls_context_free(sim.agents[i].context);
    }
    certs_free(sim.certs);
    free(sim.sockets);
    free(sim.agents);
    free(sim.body);
    return 0;
}
