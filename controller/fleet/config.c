/* Owns the controller's file: its table, its defaults, and what ranges cannot say. Knows no YAML
 * and does nothing with what it reads. */
#include "controller/fleet/config.h"

#include "proto/base/addr.h"
#include "proto/base/log.h"
#include "proto/base/text.h"
#include "proto/link/credentials.h"
#include "proto/wire/limits.h"
#include "proto/wire/record_table.h"
#include "proto/wire/record_yaml.h"

enum { KEEP_DAYS_MAX = 36500, STRANGERS_MAX = 65536, RUNS_MAX = 1000 };

#define OUTBOUND_MIN     (2 * (int64_t)LIMIT_FRAME)
#define OUTBOUND_MAX     ((int64_t)1 << 30)
#define OUTBOUND_ALL_MAX ((int64_t)1 << 40)

static const struct field store_fields[] = {
    TEXT(struct store_config, path, "file of results, runs and agents; its folder must exist"),
    REAL(struct store_config, keep_days, KEEP_DAYS_MAX,
         "how long runs and their results are kept, days; 0: for ever"),
};
static const struct record store_record = RECORD(store_config, store_fields);

static const struct field limits_fields[] = {
    INT(struct limits_config, agents, 1, LIMIT_FLEET,
        "connections at once, operators' included; more are closed at once"),
    INT(struct limits_config, strangers, 1, STRANGERS_MAX,
        "connections at once that have not shown a certificate yet"),
    INT(struct limits_config, outbound_bytes, OUTBOUND_MIN, OUTBOUND_MAX,
        "bytes that may wait for one that does not read; above, it is closed"),
    INT(struct limits_config, outbound_all_bytes, OUTBOUND_MIN, OUTBOUND_ALL_MAX,
        "bytes that may wait for all of them; above, the one with most is closed"),
    INT(struct limits_config, runs, 1, RUNS_MAX, "runs at once, those that wait included"),
};
static const struct record limits_record = RECORD(limits_config, limits_fields);

static const struct field controller_fields[] = {
    TEXT(struct controller_config_file, listen,
         "address and port for agents and operators, as 0.0.0.0:7862 or [::]:7862"),
    PART(struct controller_config_file, tls, tls_files_record,
         "who this controller is and whom it believes"),
    PART(struct controller_config_file, store, store_record, "what is kept"),
    PART(struct controller_config_file, limits, limits_record, "what others may cost"),
    CHOICE(struct controller_config_file, log_level, log_level_words, LOG_LEVEL_COUNT,
           "how much is logged"),
};
const struct record controller_config_record = RECORD(controller_config_file, controller_fields);

#define SET(MEMBER, VALUE) text_copy(MEMBER, sizeof(MEMBER), VALUE)

void controller_config_init(struct controller_config_file *out_config)
{
    record_init(&controller_config_record, out_config);
    SET(out_config->listen, "0.0.0.0:7862");
    SET(out_config->tls.ca, "/etc/sonde/ca.pem");
    SET(out_config->tls.certificate, "/etc/sonde/controller.pem");
    SET(out_config->tls.key, "/etc/sonde/controller-key.pem");
    SET(out_config->store.path, "/var/lib/sonde/sonde.sqlite");
    out_config->store.keep_days = 90;
    out_config->limits.agents = 10000;
    out_config->limits.strangers = 1024;
    out_config->limits.outbound_bytes = INT64_C(4) << 20;
    out_config->limits.outbound_all_bytes = INT64_C(256) << 20;
    out_config->limits.runs = 64;
    out_config->log_level = LOG_LEVEL_INFO;
}

static enum status check_files(const char *path, const struct controller_config_file *config,
                               struct fault *fault)
{
    const struct {
        const char *key, *value;
    } needed[] = {
        { "tls.ca", config->tls.ca },
        { "tls.certificate", config->tls.certificate },
        { "tls.key", config->tls.key },
        { "store.path", config->store.path },
    };

    for (size_t i = 0; i < RECORD_COUNT(needed); i++) {
        if (needed[i].value[0] == '\0')
            return fault_set(fault, STATUS_INVALID, "%s: %s: a file's path is needed", path,
                             needed[i].key);
    }
    return STATUS_OK;
}

static enum status check(const char *path, const struct controller_config_file *config,
                         struct fault *fault)
{
    const struct limits_config *limits = &config->limits;
    struct addr ignored;
    struct fault why;

    if (addr_parse(config->listen, &ignored, &why) != STATUS_OK)
        return fault_set(fault, STATUS_INVALID,
                         "%s: listen: %s; allowed is an address with a port, as 0.0.0.0:7862", path,
                         why.text);
    if (limits->outbound_all_bytes < limits->outbound_bytes)
        return fault_set(fault, STATUS_INVALID,
                         "%s: limits.outbound_all_bytes: %lld is below outbound_bytes, %lld", path,
                         (long long)limits->outbound_all_bytes, (long long)limits->outbound_bytes);
    return check_files(path, config, fault);
}

enum status controller_config_load(const char *path, struct controller_config_file *out_config,
                                   struct fault *fault)
{
    struct controller_config_file config;
    enum status status;

    controller_config_init(&config);
    status = record_from_yaml_file(&controller_config_record, path, &config, fault);
    if (status == STATUS_OK)
        status = check(path, &config, fault);
    if (status == STATUS_OK)
        *out_config = config;
    return status;
}
