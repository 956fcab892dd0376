/* Owns the agent's file: its table, its defaults, and what ranges cannot say. Knows no YAML and
 * does nothing with what it reads. */
#include "agent/config.h"

#include <string.h>

#include "proto/base/addr.h"
#include "proto/base/log.h"
#include "proto/base/text.h"
#include "proto/link/credentials.h"
#include "proto/wire/case.h"
#include "proto/wire/record_table.h"
#include "proto/wire/record_yaml.h"
#include "proto/wire/stamp.h"

/* A spool holds at least a few results of any size. */
#define SPOOL_MIN_BYTES (4 * (int64_t)LIMIT_RESULT_BYTES)
#define SPOOL_MAX_BYTES ((int64_t)1 << 40)

static const struct field controller_fields[] = {
    TEXT(struct controller_config, address, "host:port of the controller; required"),
    TEXT(struct controller_config, server_name,
         "name that its certificate must carry, a host name; empty: not checked"),
};
static const struct record controller_record = RECORD(controller_config, controller_fields);

static const struct field admission_fields[] = {
    WORDS(struct admission_config, peers, LIMIT_RULES,
          "ranges of hosts to measure with, as 10.0.0.0/8 or fd00::/8; none: any host"),
    INT(struct admission_config, max_payload, STAMP_AUTHENTICATED_SIZE, PAYLOAD_MAX_IPV6,
        "largest UDP payload that is sent, bytes"),
    INT(struct admission_config, max_rate, 0, INT64_C(1000000000),
        "datagrams a second that one session may send; 0: no limit; else closed loops are refused, "
        "and a path MTU session's pace counts as its smallest datagrams"),
    { FIELD_AT(struct admission_config, max_seconds), .type = FIELD_REAL, .real_min = 0.01,
      .real_max = 2 * LIMIT_SECONDS,
      .help = "longest case, warm-up and measure phase together; longest direction of a path MTU "
              "session; longest idle interval" },
    INT(struct admission_config, max_sessions, 1, 1000, "sessions at once, a thread each"),
    INT(struct admission_config, max_clients, 1, LIMIT_CLIENTS,
        "sockets, or flows, of one session"),
    INT(struct admission_config, max_outstanding, 1, LIMIT_OUTSTANDING,
        "datagrams outstanding, clients x window"),
    INT(struct admission_config, max_socket_buffer, 1, LIMIT_SOCKET_BUFFER,
        "socket buffer to ask the kernel for, bytes"),
    INT(struct admission_config, max_io_threads, 1, LIMIT_IO_THREADS, "threads of one session"),
    FLAG(struct admission_config, allow_sender, "whether this host calls others, sends and probes"),
    FLAG(struct admission_config, allow_echo, "whether this host listens and answers, probes too"),
};
static const struct record admission_record = RECORD(admission_config, admission_fields);

static const struct field echo_fields[] = {
    TEXT(struct echo_config, bind_ipv4, "address of the echo role's IPv4 sockets"),
    TEXT(struct echo_config, bind_ipv6, "address of the echo role's IPv6 sockets"),
    INT(struct echo_config, first_port, 1, UINT16_MAX, "first UDP port of the echo role"),
    INT(struct echo_config, last_port, 1, UINT16_MAX, "last one; a session takes the first free"),
};
static const struct record echo_record = RECORD(echo_config, echo_fields);

static const struct field spool_fields[] = {
    TEXT(struct spool_config, path, "file of results that the controller has not yet stored"),
    INT(struct spool_config, max_bytes, SPOOL_MIN_BYTES, SPOOL_MAX_BYTES,
        "results' bytes that it may hold; above, the oldest are dropped and counted"),
};
static const struct record spool_record = RECORD(spool_config, spool_fields);

static const struct field agent_fields[] = {
    PART(struct agent_config, controller, controller_record, "where the orders come from"),
    PART(struct agent_config, tls, tls_files_record, "who this agent is and whom it believes"),
    PART(struct agent_config, admission, admission_record, "what this host lets be asked of it"),
    PART(struct agent_config, echo, echo_record, "sockets of the echo role"),
    PART(struct agent_config, spool, spool_record, "results on their way"),
    CHOICE(struct agent_config, log_level, log_level_words, LOG_LEVEL_COUNT, "how much is logged"),
};
const struct record agent_config_record = RECORD(agent_config, agent_fields);

#define SET(MEMBER, VALUE) text_copy(MEMBER, sizeof(MEMBER), VALUE)

void agent_config_init(struct agent_config *out_config)
{
    record_init(&agent_config_record, out_config);
    SET(out_config->tls.ca, "/etc/sonde/ca.pem");
    SET(out_config->tls.certificate, "/etc/sonde/agent.pem");
    SET(out_config->tls.key, "/etc/sonde/agent-key.pem");
    out_config->admission.max_payload = PAYLOAD_MAX_IPV4;
    out_config->admission.max_rate = 0;
    out_config->admission.max_seconds = 120;
    out_config->admission.max_sessions = 4;
    out_config->admission.max_clients = 1024;
    out_config->admission.max_outstanding = 262144;
    out_config->admission.max_socket_buffer = INT64_C(64) << 20;
    out_config->admission.max_io_threads = 8;
    out_config->admission.allow_sender = true;
    out_config->admission.allow_echo = true;
    SET(out_config->echo.bind_ipv4, "0.0.0.0");
    SET(out_config->echo.bind_ipv6, "::");
    out_config->echo.first_port = 7870;
    out_config->echo.last_port = 7899;
    SET(out_config->spool.path, "/var/lib/sonde-agent/spool.sqlite");
    out_config->spool.max_bytes = INT64_C(64) << 20;
    out_config->log_level = LOG_LEVEL_INFO;
}

/* What of the file is looked at, for its faults. */
struct look {
    const char *path;
    struct fault *fault;
};

static enum status wrong(const struct look *look, const char *key, const char *words)
{
    return fault_set(look->fault, STATUS_INVALID, "%s: %s: %s", look->path, key, words);
}

/* The host in front of ":port" may be a name; it is looked up when it is connected to. */
static enum status check_controller(const struct look *look, const struct controller_config *given)
{
    const char *colon = strrchr(given->address, ':');
    uint64_t port;

    if (given->address[0] == '\0')
        return wrong(look, "controller.address", "is missing; as in controller.example.org:7862");
    if (colon == NULL || colon == given->address || text_to_u64(colon + 1, &port) != STATUS_OK ||
        port < 1 || port > UINT16_MAX)
        return wrong(look, "controller.address",
                     "no host and port from 1 to 65535; as in controller.example.org:7862");
    if (memchr(given->address, ':', (size_t)(colon - given->address)) != NULL &&
        (given->address[0] != '[' || colon[-1] != ']'))
        return wrong(look, "controller.address",
                     "an IPv6 address stands in brackets; as in [2001:db8::1]:7862");
    return STATUS_OK;
}

static enum status check_files(const struct look *look, const struct agent_config *config)
{
    const struct {
        const char *key, *value;
    } needed[] = {
        { "tls.ca", config->tls.ca },
        { "tls.certificate", config->tls.certificate },
        { "tls.key", config->tls.key },
        { "spool.path", config->spool.path },
    };

    for (size_t i = 0; i < RECORD_COUNT(needed); i++) {
        if (needed[i].value[0] == '\0')
            return wrong(look, needed[i].key, "a file's path is needed");
    }
    return STATUS_OK;
}

static enum status check_peers(const struct look *look, const struct list *peers)
{
    char *const *ranges = peers->items;
    struct addr_net ignored;
    struct fault why;

    for (size_t i = 0; i < peers->count; i++) {
        if (addr_net_parse(ranges[i], &ignored, &why) != STATUS_OK)
            return wrong(look, "admission.peers", why.text);
    }
    return STATUS_OK;
}

static enum status check_bind(const struct look *look, enum family family, const char *key,
                              const char *text)
{
    struct addr addr;
    struct fault why;

    if (addr_parse_host(text, &addr, &why) != STATUS_OK)
        return wrong(look, key, why.text);
    if (addr_family(&addr) != family)
        return wrong(look, key,
                     family == FAMILY_IPV4 ? "no IPv4 address; 0.0.0.0 for all of this host"
                                           : "no IPv6 address; :: for all of this host");
    return STATUS_OK;
}

static enum status check(const struct look *look, const struct agent_config *config)
{
    const struct echo_config *echo = &config->echo;
    enum status status = check_controller(look, &config->controller);

    if (status == STATUS_OK)
        status = check_files(look, config);
    if (status == STATUS_OK)
        status = check_peers(look, &config->admission.peers);
    if (status == STATUS_OK)
        status = check_bind(look, FAMILY_IPV4, "echo.bind_ipv4", echo->bind_ipv4);
    if (status == STATUS_OK)
        status = check_bind(look, FAMILY_IPV6, "echo.bind_ipv6", echo->bind_ipv6);
    if (status == STATUS_OK && echo->first_port > echo->last_port)
        status = fault_set(look->fault, STATUS_INVALID,
                           "%s: echo.last_port: %lld is below first_port, %lld", look->path,
                           (long long)echo->last_port, (long long)echo->first_port);
    if (status == STATUS_OK && !config->admission.allow_sender && !config->admission.allow_echo)
        status = wrong(look, "admission.allow_sender",
                       "it and allow_echo are false: nothing is left for this agent to do");
    return status;
}

enum status agent_config_load(const char *path, struct agent_config *out_config,
                              struct fault *fault)
{
    const struct look look = { .path = path, .fault = fault };
    struct agent_config config;
    enum status status;

    agent_config_init(&config);
    status = record_from_yaml_file(&agent_config_record, path, &config, fault);
    if (status == STATUS_OK)
        status = check(&look, &config);
    if (status == STATUS_OK)
        *out_config = config;
    else
        record_done(&agent_config_record, &config);
    return status;
}
