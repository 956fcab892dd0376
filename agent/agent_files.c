/* Owns when the certificates are read again and what is said of their end. Must not know what they
 * are used for. */
#include <string.h>

#include "agent/agent_part.h"
#include "proto/base/log.h"
#include "proto/base/text.h"

#define DAY_NS (24 * 3600 * NS_PER_S)

/* Once for each day, as long as there is one. */
static void tell_end(int64_t *told, const char *what, struct wall ends, struct wall now)
{
    char when[WALL_TEXT_SIZE];
    int64_t days;

    if (ends.ns == INT64_MAX)
        return;
    days = ends.ns <= now.ns ? -1 : (ends.ns - now.ns) / DAY_NS;
    if (days >= AGENT_EXPIRY_NOTICE_DAYS || days == *told)
        return;
    *told = days;
    wall_format(ends, when);
    if (days < 0)
        log_line(LOG_LEVEL_ERROR, "%s has ended: %s", what, when);
    else
        log_line(LOG_LEVEL_WARNING, "%s ends in %lld days: %s", what, (long long)days, when);
}

static void tell_ends(struct agent *agent)
{
    struct wall now = loop_wall(agent->loop);

    tell_end(&agent->days_told[0], "this agent's certificate", tls_context_expires(agent->tls),
             now);
    tell_end(&agent->days_told[1], "the list of revoked certificates",
             tls_context_crl_expires(agent->tls), now);
}

void agent_read_certificates(struct agent *agent, struct mono now)
{
    struct tls_context *fresh;
    char when[WALL_TEXT_SIZE];
    struct fault fault;

    if (tls_context_new(&agent->config.tls, ROLE_AGENT, loop_wall(agent->loop), &fresh, &fault) !=
        STATUS_OK) {
        if (strcmp(agent->file_fault, fault.text) != 0)
            log_line(LOG_LEVEL_ERROR, "new certificates cannot be used, the old ones stay: %s",
                     fault.text);
        text_copy(agent->file_fault, sizeof agent->file_fault, fault.text);
        return;
    }
    agent->file_fault[0] = '\0';
    uplink_use(agent->uplink, fresh, now);
    tls_context_free(agent->tls);
    agent->tls = fresh;
    agent->days_told[0] = agent->days_told[1] = INT64_MAX;
    wall_format(tls_context_expires(fresh), when);
    log_line(LOG_LEVEL_INFO, "certificates read anew; this agent's ends %s", when);
}

void agent_check_certificates(struct agent *agent, struct mono now)
{
    if (tls_context_changed(agent->tls))
        agent_read_certificates(agent, now);
    tell_ends(agent);
}
