/* Owns what is logged of this agent's certificates, and hands new ones to its connection. When they
 * are read is proto/link/credentials.h's. */
#include "agent/agent_part.h"
#include "proto/base/log.h"

static void tell_ends(struct agent *agent)
{
    static const char *const names[CREDENTIALS_ITEMS] = { "this agent's certificate",
                                                          "the list of revoked certificates" };
    struct wall now = loop_wall(agent->loop);
    char words[CREDENTIALS_WORDS];
    bool ended;

    for (int item = 0; item < CREDENTIALS_ITEMS; item++) {
        if (credentials_notice(&agent->credentials, (enum credentials_item)item, now, &ended,
                               words))
            log_line(ended ? LOG_LEVEL_ERROR : LOG_LEVEL_WARNING, "%s %s", names[item], words);
    }
}

static void use(void *context, const struct tls_context *fresh)
{
    struct agent *agent = context;

    uplink_use(agent->uplink, fresh, loop_now(agent->loop));
}

void agent_read_certificates(struct agent *agent)
{
    const struct credentials_user user = { use, agent };
    char when[WALL_TEXT_SIZE];

    switch (
        credentials_read(&agent->credentials, &agent->config.tls, &user, loop_wall(agent->loop))) {
    case CREDENTIALS_SAME:
        break;
    case CREDENTIALS_FRESH:
        wall_format(tls_context_expires(agent->credentials.context), when);
        log_line(LOG_LEVEL_INFO, "certificates read anew; this agent's ends at %s", when);
        break;
    case CREDENTIALS_BROKEN:
        log_line(LOG_LEVEL_ERROR, "new certificates cannot be used, the old ones stay: %s",
                 agent->credentials.fault);
        break;
    }
}

void agent_check_certificates(struct agent *agent)
{
    if (credentials_are_stale(&agent->credentials))
        agent_read_certificates(agent);
    tell_ends(agent);
}
