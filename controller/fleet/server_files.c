/* Owns what is logged of this controller's certificates, and hands new ones to its channel. When
 * they are read is proto/link/credentials.h's. */
#include "controller/fleet/server_part.h"
#include "proto/base/log.h"

static void tell_ends(struct server *server)
{
    static const char *const names[CREDENTIALS_ITEMS] = { "this controller's certificate",
                                                          "the list of revoked certificates" };
    struct wall now = loop_wall(server->loop);
    char words[CREDENTIALS_WORDS];
    bool ended;

    for (int item = 0; item < CREDENTIALS_ITEMS; item++) {
        if (credentials_notice(&server->credentials, (enum credentials_item)item, now, &ended,
                               words))
            log_line(ended ? LOG_LEVEL_ERROR : LOG_LEVEL_WARNING, "%s %s", names[item], words);
    }
}

static void use(void *context, const struct tls_context *fresh)
{
    struct server *server = context;

    channel_use(server->channel, fresh);
}

void server_read_certificates(struct server *server)
{
    const struct credentials_user user = { use, server };
    char when[WALL_TEXT_SIZE];

    switch (credentials_read(&server->credentials, &server->config.tls, &user,
                             loop_wall(server->loop))) {
    case CREDENTIALS_SAME:
        break;
    case CREDENTIALS_FRESH:
        wall_format(tls_context_expires(server->credentials.context), when);
        log_line(LOG_LEVEL_INFO, "certificates read anew; this controller's ends at %s", when);
        break;
    case CREDENTIALS_BROKEN:
        log_line(LOG_LEVEL_ERROR, "new certificates cannot be used, the old ones stay: %s",
                 server->credentials.fault);
        break;
    }
}

void server_look_at_certificates(struct server *server)
{
    if (credentials_are_stale(&server->credentials))
        server_read_certificates(server);
    tell_ends(server);
}
