/* Owns the controller as a daemon: what it is made of, its timers, how it begins, reads its files
 * again and ends. What channel and hub do to each other is server_world.c's. */
#include "controller/fleet/server.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/fleet/server_part.h"
#include "proto/base/log.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"

#define RETRY_NS     (500 * NS_PER_MS) /* between attempts to start */
#define STOP_LOOK_NS (50 * NS_PER_MS)  /* how often it is looked whether runs have stopped */

/* Short lives are the rule: a day before its end a certificate should have been renewed. */
#define NOTICE_NS (24 * 3600 * NS_PER_S)

enum { DESCRIPTION_SIZE = 160 };

/* --- timers ----------------------------------------------------------------------------------- */

static void on_hub_due(void *context, struct mono now)
{
    struct server *server = context;

    hub_tick(server->hub, now);
    server_settle(server);
}

static void on_strangers_due(void *context, struct mono now)
{
    struct server *server = context;

    repeats_tick(server->strangers, now);
    server_settle_strangers(server);
}

static void on_certificates(void *context, struct mono now)
{
    struct server *server = context;

    server_look_at_certificates(server);
    loop_timer_set(server->loop, &server->certificates, mono_after(now, CREDENTIALS_LOOK_NS));
}

static void on_tidy(void *context, struct mono now)
{
    struct server *server = context;

    (void)now;
    server->gone = 0;
    memory_give_back();
}

static void on_watchdog(void *context, struct mono now)
{
    struct server *server = context;
    char text[DESCRIPTION_SIZE];

    notify_watchdog(&server->notify);
    if (server->state == SERVER_SERVES) {
        hub_describe(server->hub, text, sizeof text);
        notify_status(&server->notify, text);
    }
    loop_timer_set(server->loop, &server->watchdog, mono_after(now, server->notify.watchdog_ns));
}

static void say_stranger(void *context, const struct repeats_line *line)
{
    const char *address = line->key[0] != '\0' ? line->key : "an unknown address";

    (void)context;
    if (line->left_out == 0)
        log_line(LOG_LEVEL_WARNING, "%s: dropped: %s", address, line->words);
    else
        log_line(LOG_LEVEL_WARNING, "%s: dropped: %s (the last of %" PRId64 " more)", address,
                 line->words, line->left_out);
}

/* --- its beginning ---------------------------------------------------------------------------- */

static enum status build(struct server *server, struct fault *fault)
{
    struct channel_events events = server_events(server);
    struct channel_rules rules;
    struct channel_setup setup = { .rules = &rules, .events = &events };
    enum status status = controller_config_load(server->path, &server->config, fault);

    if (status == STATUS_OK)
        status = credentials_open(&server->credentials, &server->config.tls,
                                  loop_wall(server->loop), fault);
    if (status != STATUS_OK)
        return status;
    rules = server_channel_rules(&server->config.limits);
    setup.context = server->credentials.context;
    return channel_new(server->loop, &setup, &server->channel, fault);
}

static void init_timer(struct server *server, struct loop_timer *timer, loop_handler *handler)
{
    timer->handler = handler;
    timer->context = server;
}

static void on_start(void *context, struct mono now);
static void on_stop(void *context, struct mono now);

enum status server_new(struct loop *loop, const char *config_path, struct server **out_server,
                       struct fault *fault)
{
    struct server *server = memory_new(1, sizeof *server);
    enum status status;

    server->loop = loop;
    server->notify.fd = -1;
    server->credentials.role = ROLE_CONTROLLER;
    server->credentials.notice_ns = NOTICE_NS;
    server->strangers = repeats_new(say_stranger, server);
    init_timer(server, &server->start, on_start);
    init_timer(server, &server->hub_due, on_hub_due);
    init_timer(server, &server->strangers_due, on_strangers_due);
    init_timer(server, &server->certificates, on_certificates);
    init_timer(server, &server->watchdog, on_watchdog);
    init_timer(server, &server->tidy, on_tidy);
    init_timer(server, &server->stop, on_stop);
    if (text_copy(server->path, sizeof server->path, config_path))
        status = build(server, fault);
    else
        status = fault_set(fault, STATUS_TOO_LARGE, "%s: the path is too long", config_path);
    if (status != STATUS_OK) {
        server_free(server);
        return status;
    }
    log_up_to((enum log_level)server->config.log_level);
    notify_init(&server->notify);
    *out_server = server;
    return STATUS_OK;
}

/* One attempt. What it has reached stays for the next one. */
static enum status try_start(struct server *server, struct mono now, struct fault *fault)
{
    const struct hub_rules rules = server_hub_rules(&server->config);
    const struct hub_port port = server_hub_port(server);
    struct hub_setup setup = { .rules = &rules, .port = &port };
    enum status status = STATUS_OK;

    if (server->store == NULL)
        status = store_open(server->config.store.path, &server->store, fault);
    if (status == STATUS_OK && server->hub == NULL) {
        setup.store = server->store;
        status = hub_new(&setup, now, &server->hub, fault);
    }
    if (status == STATUS_OK)
        status = channel_listen(server->channel, server->config.listen, fault);
    return status;
}

/* An agent more is a descriptor more. */
static void tell_room(const struct server *server)
{
    size_t room = channel_room(server->channel);

    if (room < (size_t)server->config.limits.agents)
        log_line(LOG_LEVEL_WARNING,
                 "the limit of open files (RLIMIT_NOFILE, LimitNOFILE=) leaves room for %zu "
                 "connections; limits.agents is %" PRId64,
                 room, server->config.limits.agents);
}

static void begin_to_serve(struct server *server, struct mono now)
{
    const struct identity *identity = tls_context_identity(server->credentials.context);

    server->state = SERVER_SERVES;
    loop_timer_cancel(server->loop, &server->start);
    log_line(LOG_LEVEL_INFO, "controller %s of %s: listens on %s, store %s", identity->name,
             identity->trust_domain, server->config.listen, server->config.store.path);
    tell_room(server);
    on_certificates(server, now);
    server_settle(server);
    notify_ready(&server->notify, "serving");
    if (server->notify.watchdog_ns > 0)
        on_watchdog(server, now);
}

/* Begins to serve, or sets the timer for the next attempt; what is final is returned. */
static enum status attempt(struct server *server, struct mono now, struct fault *fault)
{
    enum status status = try_start(server, now, fault);

    if (status == STATUS_OK) {
        begin_to_serve(server, now);
    } else if (status == STATUS_AGAIN && mono_between(now, server->deadline) > 0) {
        loop_timer_set(server->loop, &server->start, mono_after(now, RETRY_NS));
        return STATUS_OK;
    }
    return status;
}

static void on_start(void *context, struct mono now)
{
    struct server *server = context;

    server->result = attempt(server, now, &server->fault);
    if (server->result != STATUS_OK)
        loop_stop(server->loop);
}

enum status server_start(struct server *server, struct mono now, struct fault *fault)
{
    enum status status;
    struct fault why;

    server->deadline = mono_after(now, SERVER_START_NS);
    status = attempt(server, now, &why);
    if (status != STATUS_OK)
        return fault_set(fault, status, "%s", why.text);
    if (server->state == SERVER_STARTS)
        log_line(LOG_LEVEL_WARNING, "not ready yet, trying for %d s: %s",
                 (int)(SERVER_START_NS / NS_PER_S), why.text);
    return STATUS_OK;
}

/* --- reading again ---------------------------------------------------------------------------- */

/* What other files and sockets hang on stays until the next start. */
static void keep_what_stays(struct server *server, struct controller_config_file *fresh)
{
    struct controller_config_file *old = &server->config;

    if (strcmp(old->listen, fresh->listen) != 0)
        log_line(LOG_LEVEL_WARNING, "%s: listen changes with the next start", server->path);
    if (strcmp(old->store.path, fresh->store.path) != 0)
        log_line(LOG_LEVEL_WARNING, "%s: store.path changes with the next start", server->path);
    memcpy(fresh->listen, old->listen, sizeof fresh->listen);
    memcpy(fresh->store.path, old->store.path, sizeof fresh->store.path);
}

static void take_config(struct server *server, struct controller_config_file *fresh)
{
    const struct channel_rules channel_rules = server_channel_rules(&fresh->limits);
    const struct hub_rules hub_rules = server_hub_rules(fresh);

    keep_what_stays(server, fresh);
    server->config = *fresh;
    log_up_to((enum log_level)fresh->log_level);
    channel_set_rules(server->channel, &channel_rules);
    if (server->hub != NULL)
        hub_set_rules(server->hub, &hub_rules, loop_now(server->loop));
    log_line(LOG_LEVEL_INFO, "%s: read anew", server->path);
    tell_room(server);
}

void server_reload(struct server *server, struct mono now)
{
    struct controller_config_file fresh;
    struct fault fault;

    if (server->state > SERVER_SERVES)
        return;
    notify_reloading(&server->notify, now);
    if (controller_config_load(server->path, &fresh, &fault) == STATUS_OK)
        take_config(server, &fresh);
    else
        log_line(LOG_LEVEL_ERROR, "the old configuration stays: %s", fault.text);
    server->credentials.fault[0] = '\0';
    server_read_certificates(server);
    if (server->hub != NULL)
        server_settle(server);
    if (server->state == SERVER_SERVES)
        notify_ready(&server->notify, "files read anew");
}

/* --- its end ---------------------------------------------------------------------------------- */

static void on_stop(void *context, struct mono now)
{
    struct server *server = context;

    if (server->hub != NULL && !hub_stop(server->hub, now) &&
        mono_between(now, server->deadline) > 0) {
        server_settle(server);
        loop_timer_set(server->loop, &server->stop, mono_after(now, STOP_LOOK_NS));
        return;
    }
    server->state = SERVER_OVER;
    loop_stop(server->loop);
}

void server_stop(struct server *server, struct mono now)
{
    if (server->state >= SERVER_STOPS) {
        server->deadline = now;
    } else {
        log_line(LOG_LEVEL_INFO, "stopping");
        notify_stopping(&server->notify);
        loop_timer_cancel(server->loop, &server->start);
        server->state = SERVER_STOPS;
        server->deadline = mono_after(now, SERVER_STOP_NS);
    }
    loop_timer_set(server->loop, &server->stop, now);
}

enum status server_result(const struct server *server, struct fault *fault)
{
    if (server->result == STATUS_OK)
        return STATUS_OK;
    return fault_set(fault, server->result, "%s", server->fault.text);
}

uint16_t server_port(const struct server *server)
{
    return channel_port(server->channel);
}

void server_free(struct server *server)
{
    if (server == NULL)
        return;
    loop_timer_cancel(server->loop, &server->start);
    loop_timer_cancel(server->loop, &server->hub_due);
    loop_timer_cancel(server->loop, &server->strangers_due);
    loop_timer_cancel(server->loop, &server->certificates);
    loop_timer_cancel(server->loop, &server->watchdog);
    loop_timer_cancel(server->loop, &server->tidy);
    loop_timer_cancel(server->loop, &server->stop);
    channel_free(server->channel); /* says bye */
    hub_free(server->hub);
    store_close(server->store);
    credentials_done(&server->credentials);
    repeats_free(server->strangers);
    notify_done(&server->notify);
    free(server);
}
