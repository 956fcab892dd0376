/* Owns what an agent may say and what it does here. */
#include "controller/fleet/hub_part.h"
#include "proto/base/log.h"
#include "proto/base/text.h"

static void refuse(struct hub *hub, struct connection *agent, const char *reason)
{
    agent->refused = true;
    log_line(LOG_LEVEL_WARNING, "agent %s (%s): refused: %s", agent->name, agent->address, reason);
    hub->port.close(hub->port.context, agent->peer, reason);
}

static void take_hello(struct hub *hub, struct connection *agent, const struct message_hello *hello)
{
    const struct fleet_arrival arrival = {
        .peer = agent->peer, .name = agent->name, .address = agent->address, .hello = hello
    };
    struct message_welcome welcome;
    struct fault fault = { "" };
    uint64_t replaced = 0;

    if (hello->protocol != PROTOCOL_VERSION) {
        (void)fault_set(&fault, STATUS_UNSUPPORTED,
                        "protocol %lld is not spoken here: this controller speaks version %d",
                        (long long)hello->protocol, PROTOCOL_VERSION);
        refuse(hub, agent, fault.text);
        return;
    }
    if (fleet_hello(hub->fleet, &arrival, hub->now, &replaced, &fault) != STATUS_OK) {
        refuse(hub, agent, fault.text);
        return;
    }
    agent->greeted = true;
    if (replaced != 0) {
        log_line(LOG_LEVEL_WARNING, "agent %s: its connection is taken over from %s", agent->name,
                 agent->address);
        hub_agent_away(hub, agent->name, "another connection has taken over");
        hub->port.close(hub->port.context, replaced,
                        "another connection with this certificate has taken over");
    }
    log_line(LOG_LEVEL_INFO, "agent %s (%s): connected, version %s on %s %s", agent->name,
             agent->address, hello->version, hello->os, hello->arch);
    message_init(&welcome, MESSAGE_WELCOME);
    welcome.protocol = PROTOCOL_VERSION;
    text_copy(welcome.version, sizeof welcome.version, SONDE_VERSION);
    hub_send(hub, agent->peer, &welcome);
}

static void take(struct hub *hub, struct connection *agent, const union message *message)
{
    if (message->type == MESSAGE_HELLO) {
        take_hello(hub, agent, &message->hello);
        return;
    }
    if (!agent->greeted) {
        refuse(hub, agent, "an agent's first message is hello");
        return;
    }
    fleet_seen(hub->fleet, agent->peer, hub->now);
    if (message->type == MESSAGE_RESULT)
        hub_take_result(hub, agent, &message->result);
    else if (message->type == MESSAGE_STATUS)
        fleet_status(hub->fleet, agent->peer, &message->status, hub->now);
    else
        hub_agent_message(hub, agent, message);
}

void hub_agent_frame(struct hub *hub, struct connection *agent, const void *bytes, size_t length)
{
    static const struct message_way way = { ROLE_AGENT, ROLE_CONTROLLER };
    struct fault fault = { "" };
    union message message;

    if (message_get(bytes, length, way, &message, &fault) != STATUS_OK) {
        refuse(hub, agent, fault.text);
        return;
    }
    take(hub, agent, &message);
    message_done(&message);
}
