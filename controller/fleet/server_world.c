/* Owns what the hub does to the world, and what the world tells it: connections, their frames,
 * time. Must not know what a message means. */

#include "controller/fleet/server_part.h"
#include "proto/base/digest.h"

#define DAY_S (24.0 * 3600)

/* Memory is given back once so many connections have ended, and so long after that. */
#define TIDY_COUNT 64
#define TIDY_NS    NS_PER_S

void server_settle(struct server *server)
{
    struct mono due = hub_deadline(server->hub);

    if (due.ns == INT64_MAX)
        loop_timer_cancel(server->loop, &server->hub_due);
    else
        loop_timer_set(server->loop, &server->hub_due, due);
}

void server_settle_strangers(struct server *server)
{
    struct mono due = repeats_deadline(server->strangers);

    if (due.ns != INT64_MAX)
        loop_timer_set(server->loop, &server->strangers_due, due);
}

/* --- what the channel tells --------------------------------------------------------------------
 */

static void on_up(void *context, channel_peer peer, const struct identity *identity,
                  const char *address)
{
    struct server *server = context;

    hub_up(server->hub, peer, identity, address, loop_now(server->loop));
    server_settle(server);
}

static void on_message(void *context, channel_peer peer, const void *bytes, size_t length)
{
    struct server *server = context;

    hub_frame(server->hub, peer, bytes, length, loop_now(server->loop));
    server_settle(server);
}

/* The hub logs whom it knows; here it is whoever never came so far. */
static void on_down(void *context, channel_peer peer, bool was_up, const char *reason)
{
    struct server *server = context;
    struct mono now = loop_now(server->loop);

    /* What hundreds of strangers took would stay in pieces between what others have. */
    if (++server->gone >= TIDY_COUNT && server->tidy.place == 0)
        loop_timer_set(server->loop, &server->tidy, mono_after(now, TIDY_NS));
    if (was_up) {
        hub_down(server->hub, peer, reason, now);
        server_settle(server);
    } else {
        repeats_add(server->strangers, channel_address(server->channel, peer), reason, now);
        server_settle_strangers(server);
    }
}

struct channel_events server_events(struct server *server)
{
    return (struct channel_events){
        .context = server, .up = on_up, .message = on_message, .down = on_down
    };
}

struct channel_rules server_channel_rules(const struct limits_config *limits)
{
    return (struct channel_rules){
        .roles = 1u << ROLE_AGENT | 1u << ROLE_OPERATOR,
        .patient = 1u << ROLE_AGENT, /* people wait for operators' answers */
        .peers_max = (size_t)limits->agents,
        .strangers_max = (size_t)limits->strangers,
        .outbound_cap = (size_t)limits->outbound_bytes,
        .outbound_all_cap = (size_t)limits->outbound_all_bytes,
    };
}

/* --- what the hub does -------------------------------------------------------------------------
 */

static enum status send_message(void *context, uint64_t peer, const void *message)
{
    struct server *server = context;
    struct buf frame;
    enum status status;

    buf_init(&frame, LIMIT_FRAME);
    status = message_put(message, &frame);
    if (status == STATUS_OK)
        status = channel_send(server->channel, peer, frame.data, frame.length);
    buf_done(&frame);
    return status;
}

static size_t pending(void *context, uint64_t peer)
{
    struct server *server = context;

    return channel_pending(server->channel, peer);
}

static void close_peer(void *context, uint64_t peer, const char *reason)
{
    struct server *server = context;

    channel_close(server->channel, peer, reason);
}

static void random_bytes(void *context, void *out_bytes, size_t length)
{
    (void)context;
    digest_random(out_bytes, length);
}

static struct wall wall(void *context)
{
    struct server *server = context;

    return loop_wall(server->loop);
}

struct hub_port server_hub_port(struct server *server)
{
    return (struct hub_port){ .context = server,
                              .send = send_message,
                              .pending = pending,
                              .close = close_peer,
                              .random = random_bytes,
                              .wall = wall };
}

struct hub_rules server_hub_rules(const struct controller_config_file *config)
{
    return (struct hub_rules){ .keep_s = config->store.keep_days * DAY_S,
                               .runs_max = (size_t)config->limits.runs };
}
