/* Owns when certificates are read again and what is said of their end. Must not know who is
 * connected with them. */
#include <string.h>

#include "controller/fleet/server_part.h"
#include "proto/base/log.h"
#include "proto/base/text.h"

/* Short lives are the rule: a day before its end a certificate should have been renewed. */
#define NOTICE_NS (24 * 3600 * NS_PER_S)

static void tell_end(const char *what, struct wall ends, struct wall now, bool *told)
{
    char when[WALL_TEXT_SIZE];

    if (ends.ns == INT64_MAX || ends.ns - NOTICE_NS > now.ns)
        return;
    *told = true;
    wall_format(ends, when);
    log_line(ends.ns > now.ns ? LOG_LEVEL_WARNING : LOG_LEVEL_ERROR, "%s %s at %s", what,
             ends.ns > now.ns ? "ends" : "has ended", when);
}

/* Once for each certificate that is in use. */
static void tell_ends(struct server *server)
{
    struct wall now = loop_wall(server->loop);

    if (server->end_told)
        return;
    tell_end("this controller's certificate", tls_context_expires(server->tls), now,
             &server->end_told);
    tell_end("the list of revoked certificates", tls_context_crl_expires(server->tls), now,
             &server->end_told);
}

void server_read_certificates(struct server *server)
{
    struct tls_context *fresh;
    struct fault fault;
    char when[WALL_TEXT_SIZE];

    if (tls_context_new(&server->config.tls, ROLE_CONTROLLER, loop_wall(server->loop), &fresh,
                        &fault) != STATUS_OK) {
        /* Whoever replaces files one by one is between two of them for a moment. */
        if (strcmp(server->told, fault.text) != 0)
            log_line(LOG_LEVEL_ERROR, "new certificates cannot be used, the old ones stay: %s",
                     fault.text);
        text_copy(server->told, sizeof server->told, fault.text);
        return;
    }
    channel_use(server->channel, fresh);
    tls_context_free(server->tls);
    server->tls = fresh;
    server->told[0] = '\0';
    server->end_told = false;
    wall_format(tls_context_expires(fresh), when);
    log_line(LOG_LEVEL_INFO, "certificates read anew; this controller's ends at %s", when);
}

void server_look_at_certificates(struct server *server)
{
    if (server->told[0] != '\0' || tls_context_changed(server->tls))
        server_read_certificates(server);
    tell_ends(server);
}
