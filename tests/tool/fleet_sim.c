/* Many agents in one process, for the bench of a controller: each a TLS connection of its own with
 * its own certificate, all over one channel. They say hello, deliver results, and come back with
 * growing pauses when they lose the controller, as sonde-agent does; they measure nothing.
 *
 *     fleet_sim AGENTS
 *
 * It issues certificates first and prints {"event": "certificates", ...} with where the
 * controller's and an operator's are. Then it takes commands, a line each:
 *
 *     connect ADDRESS         every agent connects; {"event": "connected", "seconds": s} when all
 *                             are welcome, and again each time all are back
 *     results SECONDS BYTES RATE   all together deliver so many results of that size per second, 0:
 *                             as fast as they are committed;
 *                             {"event": "results", "committed": n, "seconds": s}
 *     quit
 */
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/digest.h"
#include "proto/base/memory.h"
#include "proto/link/backoff.h"
#include "proto/link/channel.h"
#include "proto/wire/limits.h"
#include "proto/wire/message.h"
#include "tests/proto/link/make_certs.h"

enum { UNDER_WAY = 16, LINE = 512, CONNECTS_A_TURN = 64 };

#define LOOK_NS (50 * NS_PER_MS)

struct sim_agent {
    struct tls_files files;
    struct tls_context *context;
    channel_peer peer; /* 0: away */
    bool welcome;
    struct backoff backoff;
    struct mono retry_at;
    int64_t under_way;
};

struct sim {
    struct loop *loop;
    struct channel *channel;
    struct certs *certs;
    struct sim_agent *agents;
    size_t count, welcome;
    size_t *agent_of; /* by peer number */
    size_t agent_of_size;
    char address[LINE];
    bool connecting, all_told;
    struct mono since; /* connect, or the first loss */
    struct loop_timer look;
    struct mono results_until, results_since;
    bool results_on;
    int64_t committed, made;
    int64_t rate; /* results per second, 0: no limit */
    size_t turn;  /* whose turn it is to deliver */
    uint8_t *body;
    size_t body_length;
    char line[LINE];
    size_t line_length;
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

/* --- messages ----------------------------------------------------------------------------------
 */

static enum status send_message(struct sim *sim, struct sim_agent *agent, const void *message)
{
    struct buf frame;
    enum status status;

    buf_init(&frame, LIMIT_FRAME);
    insist(message_put(message, &frame), &(struct fault){ "a message" });
    status = channel_send(sim->channel, agent->peer, frame.data, frame.length);
    buf_done(&frame);
    return status;
}

static void fresh_uuid(char out_text[UUID_SIZE])
{
    uint8_t random[10];

    digest_random(random, sizeof random);
    uuid7_format(wall_now().ns / NS_PER_MS, random, out_text);
}

static void say_hello(struct sim *sim, struct sim_agent *agent)
{
    struct message_hello hello;

    message_init(&hello, MESSAGE_HELLO);
    hello.protocol = PROTOCOL_VERSION;
    snprintf(hello.version, sizeof hello.version, "sim");
    snprintf(hello.os, sizeof hello.os, "Linux");
    fresh_uuid(hello.instance);
    (void)send_message(sim, agent, &hello);
    message_done(&hello);
}

static bool may_make(const struct sim *sim)
{
    return sim->rate == 0 ||
           (double)sim->made < seconds_since(sim->results_since) * (double)sim->rate;
}

static void deliver(struct sim *sim, struct sim_agent *agent)
{
    while (sim->results_on && agent->welcome && agent->under_way < UNDER_WAY && may_make(sim)) {
        struct message_result result;

        message_init(&result, MESSAGE_RESULT);
        fresh_uuid(result.id);
        snprintf(result.kind, sizeof result.kind, "bench");
        result.body = (struct bytes){ sim->body, sim->body_length };
        if (send_message(sim, agent, &result) != STATUS_OK)
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
    printf("{\"event\": \"connected\", \"agents\": %zu, \"seconds\": %.3f}\n", sim->count,
           seconds_since(sim->since));
    fflush(stdout);
}

/* --- events -------------------------------------------------------------------------------------
 */

static struct sim_agent *agent_of(struct sim *sim, channel_peer peer)
{
    assert(peer < sim->agent_of_size);
    return &sim->agents[sim->agent_of[peer]];
}

static void on_up(void *context, channel_peer peer, const struct identity *identity,
                  const char *address)
{
    struct sim *sim = context;

    (void)identity, (void)address;
    say_hello(sim, agent_of(sim, peer));
}

static void on_message(void *context, channel_peer peer, const void *bytes, size_t length)
{
    struct sim *sim = context;
    struct sim_agent *agent = agent_of(sim, peer);
    struct fault fault = { "" };
    union message message;

    insist(message_get(bytes, length, (struct message_way){ ROLE_CONTROLLER, ROLE_AGENT }, &message,
                       &fault),
           &fault);
    if (message.type == MESSAGE_WELCOME)
        on_welcome(sim, agent);
    else if (message.type == MESSAGE_COMMITTED)
        on_committed(sim, agent, &message.committed);
    message_done(&message);
}

static void on_down(void *context, channel_peer peer, bool was_up, const char *reason)
{
    struct sim *sim = context;
    struct sim_agent *agent = agent_of(sim, peer);
    uint64_t random;

    (void)was_up, (void)reason;
    if (agent->welcome) {
        if (sim->all_told) {
            sim->all_told = false;
            sim->since = mono_now();
        }
        sim->welcome--;
    }
    agent->welcome = false;
    agent->peer = 0;
    agent->under_way = 0;
    digest_random(&random, sizeof random);
    agent->retry_at = mono_after(mono_now(), backoff_next(&agent->backoff, random));
}

/* --- connecting ----------------------------------------------------------------------------------
 */

static void remember(struct sim *sim, channel_peer peer, size_t index)
{
    if (peer >= sim->agent_of_size) {
        size_t size = (size_t)peer * 2 + 1024;

        sim->agent_of = realloc(sim->agent_of, size * sizeof *sim->agent_of);
        if (sim->agent_of == NULL)
            abort();
        sim->agent_of_size = size;
    }
    sim->agent_of[peer] = index;
}

static void connect_agent(struct sim *sim, size_t index)
{
    struct sim_agent *agent = &sim->agents[index];
    const struct channel_target target = { .address = sim->address };
    struct fault fault = { "" };

    if (agent->context == NULL)
        insist(tls_context_new(&agent->files, ROLE_AGENT, wall_now(), &agent->context, &fault),
               &fault);
    channel_use(sim->channel, agent->context);
    insist(channel_connect(sim->channel, &target, &agent->peer, &fault), &fault);
    remember(sim, agent->peer, index);
}

static void end_results(struct sim *sim)
{
    sim->results_on = false;
    printf("{\"event\": \"results\", \"committed\": %lld, \"bytes\": %zu, \"seconds\": %.3f}\n",
           (long long)sim->committed, sim->body_length, seconds_since(sim->results_since));
    fflush(stdout);
}

static void on_look(void *context, struct mono now)
{
    struct sim *sim = context;
    size_t begun = 0;

    for (size_t i = 0; sim->connecting && i < sim->count && begun < CONNECTS_A_TURN; i++) {
        if (sim->agents[i].peer != 0 || mono_between(now, sim->agents[i].retry_at) > 0)
            continue;
        connect_agent(sim, i);
        begun++;
    }
    if (sim->results_on && mono_between(now, sim->results_until) <= 0)
        end_results(sim);
    for (size_t i = 0; sim->results_on && sim->rate > 0 && i < sim->count && may_make(sim); i++)
        deliver(sim, &sim->agents[sim->turn++ % sim->count]);
    loop_timer_set(
        sim->loop, &sim->look,
        mono_after(mono_now(), begun == CONNECTS_A_TURN || (sim->results_on && sim->rate > 0)
                                   ? NS_PER_MS
                                   : LOOK_NS));
}

/* --- commands
 * -------------------------------------------------------------------------------------- */

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
        deliver(sim, &sim->agents[i]);
}

static void obey(struct sim *sim, const char *line)
{
    double seconds;
    size_t bytes;
    long long rate;

    if (sscanf(line, "connect %400s", sim->address) == 1) {
        sim->connecting = true;
        sim->since = mono_now();
    } else if (sscanf(line, "results %lf %zu %lld", &seconds, &bytes, &rate) == 3 && bytes > 0 &&
               bytes <= LIMIT_RESULT_BYTES && rate >= 0) {
        begin_results(sim, seconds, bytes, rate);
    } else {
        loop_stop(sim->loop);
    }
}

static void on_stdin(void *context, struct mono now)
{
    struct sim *sim = context;
    char *end;
    ssize_t got =
        read(STDIN_FILENO, sim->line + sim->line_length, sizeof sim->line - 1 - sim->line_length);

    (void)now;
    if (got <= 0) {
        loop_stop(sim->loop);
        return;
    }
    sim->line_length += (size_t)got;
    sim->line[sim->line_length] = '\0';
    while ((end = strchr(sim->line, '\n')) != NULL) {
        *end = '\0';
        obey(sim, sim->line);
        sim->line_length -= (size_t)(end + 1 - sim->line);
        memmove(sim->line, end + 1, sim->line_length + 1);
    }
}

/* --- start
 * --------------------------------------------------------------------------------------------- */

static void print_files(const char *name, const struct tls_files *files, const char *end)
{
    printf("\"%s\": {\"ca\": \"%s\", \"certificate\": \"%s\", \"key\": \"%s\"}%s", name, files->ca,
           files->certificate, files->key, end);
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
    for (size_t i = 0; i < sim->count; i++) {
        char uri[64];

        snprintf(uri, sizeof uri, "spiffe://test/agent/sim-%05zu", i);
        certs_good(sim->certs, authority, uri, &sim->agents[i].files);
        backoff_init(&sim->agents[i].backoff, NS_PER_S, 60 * NS_PER_S);
    }
    printf("{\"event\": \"ready\", \"agents\": %zu}\n", sim->count);
    fflush(stdout);
}

static void open_channel(struct sim *sim)
{
    static const struct channel_rules rules = { .roles = 1 << ROLE_CONTROLLER,
                                                .peers_max = 20000,
                                                .strangers_max = 20000,
                                                .outbound_cap = 4 << 20,
                                                .outbound_all_cap = 1 << 30 };
    const struct channel_events events = {
        .context = sim, .up = on_up, .message = on_message, .down = on_down
    };
    struct fault fault = { "" };
    struct channel_setup setup = { .rules = &rules, .events = &events };

    insist(tls_context_new(&sim->agents[0].files, ROLE_AGENT, wall_now(), &sim->agents[0].context,
                           &fault),
           &fault);
    setup.context = sim->agents[0].context;
    insist(loop_new(&sim->loop, &fault), &fault);
    insist(channel_new(sim->loop, &setup, &sim->channel, &fault), &fault);
}

int main(int argc, char **argv)
{
    struct sim sim = { .count = argc == 2 ? strtoul(argv[1], NULL, 10) : 0 };

    if (sim.count < 1 || sim.count > 20000) {
        fprintf(stderr, "usage: fleet_sim AGENTS (1 to 20000)\n");
        return 2;
    }
    sim.agents = memory_new(sim.count, sizeof *sim.agents);
    issue_all(&sim);
    open_channel(&sim);
    sim.look = (struct loop_timer){ .handler = on_look, .context = &sim };
    loop_timer_set(sim.loop, &sim.look, mono_now());
    loop_watch_fd(sim.loop, STDIN_FILENO, on_stdin, &sim);
    loop_run(sim.loop);
    loop_unwatch_fd(sim.loop, STDIN_FILENO);
    loop_timer_cancel(sim.loop, &sim.look);
    channel_free(sim.channel);
    loop_free(sim.loop);
    for (size_t i = 0; i < sim.count; i++)
        tls_context_free(sim.agents[i].context);
    certs_free(sim.certs);
    free(sim.agent_of);
    free(sim.agents);
    free(sim.body);
    return 0;
}
