/* Owns the virtual world of a cluster: its clock, its queues, its connections and its faults. */
#include "tests/controller/fleet/cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/log.h"
#include "proto/base/text.h"
#include "tests/controller/fleet/make_report.h"

#define NOTICE_NS    (30 * NS_PER_S) /* a cut connection is given up: PEER_IDLE_NS */
#define RECONNECT_NS NS_PER_S

uint32_t cluster_random(struct cluster *cluster)
{
    cluster->seed = cluster->seed * 1664525 + 1013904223;
    return cluster->seed >> 8;
}

/* --- events --------------------------------------------------------------------------------- */

static bool before(const struct event *a, const struct event *b)
{
    return a->at.ns < b->at.ns || (a->at.ns == b->at.ns && a->order < b->order);
}

struct event *cluster_event(struct cluster *cluster, enum event_kind kind, uint64_t peer,
                            int64_t delay_ns)
{
    struct event *event = calloc(1, sizeof *event), **link = &cluster->events;

    assert_non_null(event);
    event->at = mono_after(cluster->now, delay_ns);
    event->order = ++cluster->orders;
    event->kind = kind;
    event->peer = peer;
    buf_init(&event->bytes, LIMIT_FRAME);
    while (*link != NULL && before(*link, event))
        link = &(*link)->next;
    event->next = *link;
    *link = event;
    return event;
}

static void free_event(struct event *event)
{
    buf_done(&event->bytes);
    free(event);
}

void cluster_note(struct cluster *cluster, const char *who, const char *way, const void *message)
{
    int length =
        snprintf(cluster->log + cluster->logged, CLUSTER_LOG - cluster->logged, "%s %s %s\n", who,
                 way, message_names[*(const enum message_type *)message]);

    assert_true(length > 0);
    /* A long test does not look at its log. */
    cluster->logged = (cluster->logged + (size_t)length) % (CLUSTER_LOG - 256);
}

const char *cluster_log(struct cluster *cluster)
{
    cluster->log[cluster->logged] = '\0';
    cluster->logged = 0;
    return cluster->log;
}

/* --- connections ---------------------------------------------------------------------------- */

static struct client *client_of(struct cluster *cluster, uint64_t peer)
{
    assert_true(peer > 0 && peer < CLUSTER_CONNECTIONS);
    return &cluster->clients[peer];
}

static uint64_t connect_client(struct cluster *cluster, enum identity_role role, const char *name,
                               size_t agent)
{
    uint64_t peer = cluster->next_peer++;
    struct client *client = client_of(cluster, peer);

    *client = (struct client){ .up = true, .reads = true, .agent = agent };
    client->identity.role = role;
    text_copy(client->identity.name, sizeof client->identity.name, name);
    hub_up(cluster->hub, peer, &client->identity, "192.0.2.1:40000", cluster->now);
    return peer;
}

/* The connection is gone for the client. */
static void client_lost(struct cluster *cluster, struct client *client)
{
    struct cluster_agent *agent;

    client->up = false;
    if (client->agent == SIZE_MAX)
        return;
    agent = &cluster->agents[client->agent];
    if (agent->dead || agent->peer != (uint64_t)(client - cluster->clients))
        return;
    agent->peer = 0;
    sessions_disconnected(agent->sessions, cluster->now);
    cluster_event(cluster, EVENT_CONNECT, client->agent, RECONNECT_NS);
}

bool cluster_to_hub(struct cluster *cluster, uint64_t peer, const void *message)
{
    struct client *client = client_of(cluster, peer);
    struct event *event;

    if (!client->up)
        return false;
    event = cluster_event(cluster, EVENT_TO_HUB, peer, CLUSTER_DELAY_NS);
    assert_int_equal(STATUS_OK, message_put(message, &event->bytes));
    return true;
}

static enum status port_send(void *context, uint64_t peer, const void *message)
{
    struct cluster *cluster = context;
    struct client *client = client_of(cluster, peer);
    struct event *event;

    if (!client->up)
        return STATUS_NOT_FOUND;
    event = cluster_event(cluster, EVENT_TO_CLIENT, peer, CLUSTER_DELAY_NS);
    assert_int_equal(STATUS_OK, message_put(message, &event->bytes));
    client->pending += event->bytes.length;
    return STATUS_OK;
}

static size_t port_pending(void *context, uint64_t peer)
{
    return client_of(context, peer)->pending;
}

static void port_close(void *context, uint64_t peer, const char *reason)
{
    struct cluster *cluster = context;
    struct client *client = client_of(cluster, peer);

    if (!client->up)
        return;
    client->up = false;
    cluster_event(cluster, EVENT_DOWN, peer, CLUSTER_DELAY_NS);
    hub_down(cluster->hub, peer, reason, cluster->now); /* at once, as the channel does */
}

static void port_random(void *context, void *out_bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        ((uint8_t *)out_bytes)[i] = (uint8_t)cluster_random(context);
}

static struct wall port_wall(void *context)
{
    const struct cluster *cluster = context;

    return (struct wall){ cluster->wall.ns + cluster->now.ns };
}

/* --- what happens --------------------------------------------------------------------------- */

static void to_hub(struct cluster *cluster, const struct event *event)
{
    struct client *client = client_of(cluster, event->peer);
    union message message;

    if (!client->up || client->cut || cluster->hub == NULL)
        return;
    if (message_get(event->bytes.data, event->bytes.length,
                    (struct message_way){ client->identity.role, ROLE_CONTROLLER }, &message,
                    NULL) == STATUS_OK) {
        cluster_note(cluster, client->identity.name, ">", &message);
        message_done(&message);
    }
    hub_frame(cluster->hub, event->peer, event->bytes.data, event->bytes.length, cluster->now);
}

static void to_client(struct cluster *cluster, const struct event *event)
{
    struct client *client = client_of(cluster, event->peer);
    union message message;
    struct fault fault;

    if (!client->up || client->cut)
        return;
    if (!client->reads) { /* it stays where it is */
        buf_append(&cluster_event(cluster, EVENT_TO_CLIENT, event->peer, NS_PER_S)->bytes,
                   event->bytes.data, event->bytes.length);
        return;
    }
    client->pending -= event->bytes.length;
    assert_int_equal(STATUS_OK,
                     message_get(event->bytes.data, event->bytes.length,
                                 (struct message_way){ ROLE_CONTROLLER, client->identity.role },
                                 &message, &fault));
    cluster_note(cluster, client->identity.name, "<", &message);
    if (client->agent == SIZE_MAX) {
        *(union message *)list_append_sized(&client->received, sizeof message) = message;
        return;
    }
    if (!cluster->agents[client->agent].dead)
        agent_message(&cluster->agents[client->agent], &message);
    message_done(&message);
}

static void connect_agent(struct cluster *cluster, size_t number)
{
    struct cluster_agent *agent = &cluster->agents[number];

    if (agent->dead || agent->peer != 0)
        return;
    if (cluster->hub == NULL) {
        cluster_event(cluster, EVENT_CONNECT, number, RECONNECT_NS);
        return;
    }
    agent->peer = connect_client(cluster, ROLE_AGENT, agent->name, number);
    agent_hello(agent);
}

static void happen(struct cluster *cluster, const struct event *event)
{
    if (event->kind == EVENT_TO_HUB) {
        to_hub(cluster, event);
    } else if (event->kind == EVENT_TO_CLIENT) {
        to_client(cluster, event);
    } else if (event->kind == EVENT_TASK) {
        agent_task_event(&cluster->agents[event->peer], event);
    } else if (event->kind == EVENT_CONNECT) {
        connect_agent(cluster, event->peer);
    } else {
        struct client *client = client_of(cluster, event->peer);
        bool hub_knows = client->up && cluster->hub != NULL;

        client_lost(cluster, client);
        if (hub_knows)
            hub_down(cluster->hub, event->peer, "timed out", cluster->now);
    }
}

/* The next moment at which anything is due. */
static struct mono next_moment(const struct cluster *cluster)
{
    struct mono next = { INT64_MAX };

    if (cluster->events != NULL)
        next = cluster->events->at;
    if (cluster->hub != NULL && hub_deadline(cluster->hub).ns < next.ns)
        next = hub_deadline(cluster->hub);
    for (size_t i = 0; i < cluster->agent_count; i++) {
        if (!cluster->agents[i].dead && sessions_deadline(cluster->agents[i].sessions).ns < next.ns)
            next = sessions_deadline(cluster->agents[i].sessions);
    }
    return next;
}

static void step(struct cluster *cluster, struct mono at)
{
    if (at.ns > cluster->now.ns)
        cluster->now = at;
    if (cluster->events != NULL && cluster->events->at.ns <= cluster->now.ns) {
        struct event *event = cluster->events;

        cluster->events = event->next;
        happen(cluster, event);
        free_event(event);
    }
    if (cluster->hub != NULL && hub_deadline(cluster->hub).ns <= cluster->now.ns)
        hub_tick(cluster->hub, cluster->now);
    for (size_t i = 0; i < cluster->agent_count; i++) {
        if (!cluster->agents[i].dead)
            sessions_tick(cluster->agents[i].sessions, cluster->now);
    }
}

void cluster_run(struct cluster *cluster, int64_t ns)
{
    struct mono end = mono_after(cluster->now, ns), next;
    uint64_t still = 0;

    for (next = next_moment(cluster); next.ns <= end.ns; next = next_moment(cluster)) {
        /* Whoever is due again and again at one moment would keep a real loop busy. */
        still = next.ns <= cluster->now.ns ? still + 1 : 0;
        assert_true(still < 100000);
        step(cluster, next);
    }
    cluster->now = end;
}

/* --- life ----------------------------------------------------------------------------------- */

static void quiet(void *context, enum log_level level, const char *line)
{
    (void)context;
    (void)level;
    (void)line;
}

void cluster_start_hub(struct cluster *cluster)
{
    const struct hub_port port = { .context = cluster,
                                   .send = port_send,
                                   .pending = port_pending,
                                   .close = port_close,
                                   .random = port_random,
                                   .wall = port_wall };
    const struct hub_setup setup = { &cluster->rules, &port, cluster->store.store };
    struct fault fault = { "" };

    assert_null(cluster->hub);
    if (hub_new(&setup, cluster->now, &cluster->hub, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
}

struct cluster *cluster_new(size_t agents)
{
    struct cluster *cluster = calloc(1, sizeof *cluster);
    const char *seed = getenv("SONDE_SEED");
    const struct admission_config config = { .max_payload = 65507,
                                             .max_seconds = 3600,
                                             .max_sessions = 8,
                                             .max_clients = 64,
                                             .max_outstanding = 65536,
                                             .max_socket_buffer = 1 << 24,
                                             .max_io_threads = 4,
                                             .allow_sender = true,
                                             .allow_echo = true };

    assert_non_null(cluster);
    log_to(quiet, NULL, LOG_LEVEL_ERROR);
    cluster->log = calloc(1, CLUSTER_LOG);
    assert_non_null(cluster->log);
    cluster->now.ns = 7;
    cluster->wall.ns = INT64_C(1796064250) * NS_PER_S;
    cluster->seed = seed != NULL ? (uint32_t)strtoul(seed, NULL, 10) : 20261130;
    if (seed != NULL)
        print_message("seed %u\n", cluster->seed);
    cluster->next_peer = 1;
    cluster->rules.runs_max = 20;
    temp_store_make(&cluster->store);
    cluster->admission = admission_new(&config);
    cluster_start_hub(cluster);
    cluster->agent_count = agents;
    for (size_t i = 0; i < agents; i++) {
        cluster->agents[i].cluster = cluster;
        cluster->agents[i].number = i;
        cluster->agents[i].path_mtu = 1500;
        snprintf(cluster->agents[i].name, NAME_SIZE, "%c", (char)('a' + i));
        cluster_start_agent(cluster, i);
    }
    cluster_run(cluster, 10 * NS_PER_MS);
    return cluster;
}

void cluster_free(struct cluster *cluster)
{
    hub_free(cluster->hub);
    for (size_t i = 0; i < cluster->agent_count; i++)
        agent_free(&cluster->agents[i]);
    while (cluster->events != NULL) {
        struct event *event = cluster->events;

        cluster->events = event->next;
        free_event(event);
    }
    for (size_t i = 0; i < CLUSTER_CONNECTIONS; i++) {
        struct list *received = &cluster->clients[i].received;

        for (size_t k = 0; k < received->count; k++)
            message_done((union message *)received->items + k);
        free(received->items);
    }
    admission_free(cluster->admission);
    temp_store_done(&cluster->store);
    free(cluster->log);
    free(cluster);
    log_to(NULL, NULL, LOG_LEVEL_INFO);
}

/* --- operators ------------------------------------------------------------------------------ */

uint64_t cluster_operator(struct cluster *cluster, const char *name)
{
    return connect_client(cluster, ROLE_OPERATOR, name, SIZE_MAX);
}

void cluster_send(struct cluster *cluster, uint64_t peer, const void *message)
{
    cluster_to_hub(cluster, peer, message);
}

const union message *cluster_received(const struct cluster *cluster, uint64_t peer,
                                      enum message_type type, size_t nth)
{
    const struct list *received = &cluster->clients[peer].received;
    const union message *messages = received->items;

    for (size_t i = 0; i < received->count; i++) {
        if (messages[i].type == type && nth-- == 0)
            return &messages[i];
    }
    return NULL;
}

size_t cluster_count(const struct cluster *cluster, uint64_t peer, enum message_type type)
{
    size_t count = 0;

    while (cluster_received(cluster, peer, type, count) != NULL)
        count++;
    return count;
}

void cluster_ask(struct cluster *cluster, uint64_t peer, const char *from, const char *to,
                 size_t cases)
{
    struct message_run run;

    message_init(&run, MESSAGE_RUN);
    run.request = 1;
    text_copy(run.from, sizeof run.from, from);
    text_copy(run.to, sizeof run.to, to);
    make_fleet_plan(cases, &run.of_cases.plan);
    cluster_send(cluster, peer, &run);
    message_done(&run);
}

void cluster_say(struct cluster *cluster, size_t agent, const void *message)
{
    cluster_to_hub(cluster, cluster->agents[agent].peer, message);
}

/* --- faults --------------------------------------------------------------------------------- */

void cluster_cut(struct cluster *cluster, size_t agent)
{
    uint64_t peer = cluster->agents[agent].peer;

    if (peer == 0)
        return;
    client_of(cluster, peer)->cut = true;
    cluster_event(cluster, EVENT_DOWN, peer, NOTICE_NS);
}

void cluster_kill_agent(struct cluster *cluster, size_t agent)
{
    struct cluster_agent *killed = &cluster->agents[agent];
    uint64_t peer = killed->peer;

    if (killed->dead)
        return;
    agent_end_life(killed);
    if (peer == 0 || !client_of(cluster, peer)->up)
        return;
    client_of(cluster, peer)->up = false;
    if (cluster->hub != NULL)
        hub_down(cluster->hub, peer, "closed by the other side", cluster->now);
}

void cluster_start_agent(struct cluster *cluster, size_t agent)
{
    agent_new_life(&cluster->agents[agent]);
    connect_agent(cluster, agent);
}

void cluster_kill_hub(struct cluster *cluster)
{
    hub_free(cluster->hub);
    cluster->hub = NULL;
    temp_store_reopen(&cluster->store);
    for (uint64_t peer = 1; peer < cluster->next_peer; peer++) {
        if (cluster->clients[peer].up)
            client_lost(cluster, &cluster->clients[peer]);
    }
}

int64_t cluster_query(struct cluster *cluster, const char *sql)
{
    return temp_count(cluster->store.path, sql);
}
