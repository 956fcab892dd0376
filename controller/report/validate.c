/* Owns the order of the checks and those of the run itself: schema, kind, id, times, hosts. The
 * rest is in validate_matrix, validate_host, validate_case, validate_leg and validate_rtt, and that
 * of other kinds in validate_buffers and validate_mtu. */
#include "controller/report/validate.h"

#include <stdio.h>
#include <string.h>

#include "controller/report/validate_parts.h"
#include "proto/base/clock.h"

/* RFC 9562: 8-4-4-4-12 hexadecimal digits, the first of the third group 7, of the fourth 8 to b. */
static bool is_uuid7(const char *text)
{
    static const char form[] = "xxxxxxxx-xxxx-7xxx-yxxx-xxxxxxxxxxxx";

    if (strlen(text) != sizeof form - 1)
        return false;
    for (size_t i = 0; form[i] != '\0'; i++) {
        if (form[i] == 'x' && strchr("0123456789abcdef", text[i]) == NULL)
            return false;
        if (form[i] == 'y' && strchr("89ab", text[i]) == NULL)
            return false;
        if (form[i] != 'x' && form[i] != 'y' && form[i] != text[i])
            return false;
    }
    return true;
}

static bool is_sha256(const char *text)
{
    return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static enum status check_times(const struct run *run, struct fault *fault)
{
    struct wall started, finished;

    if (wall_parse(run->started, &started) != STATUS_OK)
        return fault_set(fault, STATUS_CORRUPT,
                         "/started: \"%s\" is no time as RFC 3339 has it, in UTC", run->started);
    if (wall_parse(run->finished, &finished) != STATUS_OK)
        return fault_set(fault, STATUS_CORRUPT,
                         "/finished: \"%s\" is no time as RFC 3339 has it, in UTC", run->finished);
    if (finished.ns < started.ns)
        return fault_set(fault, STATUS_CORRUPT, "/finished: %s is before started, %s",
                         run->finished, run->started);
    return STATUS_OK;
}

/* Which roles the hosts of a kind have. */
static enum status check_roles(const struct run *run, struct fault *fault)
{
    static const enum host_role alone[] = { HOST_LOCAL };
    static const enum host_role two[] = { HOST_SENDER, HOST_ECHO };
    static const char *const role_names[] = { "local", "sender", "echo" };
    bool between = run->kind == RUN_PAIR || run->kind == RUN_MTU;
    const enum host_role *roles = between ? two : alone;
    size_t count = between ? 2 : 1;
    const struct host *hosts = run->hosts.items;

    if (run->hosts.count != count)
        return fault_set(fault, STATUS_CORRUPT, "/hosts: %zu hosts; a run of this kind has %zu",
                         run->hosts.count, count);
    for (size_t i = 0; i < count; i++) {
        if (hosts[i].role != roles[i])
            return fault_set(fault, STATUS_CORRUPT, "/hosts/%zu/role: must be \"%s\" here", i,
                             role_names[roles[i]]);
    }
    return STATUS_OK;
}

static enum status check_head(const struct run *run, struct fault *fault)
{
    if (strcmp(run->schema, RUN_SCHEMA) != 0)
        return fault_set(fault, STATUS_UNSUPPORTED, "/schema: \"%s\" is not known; this is %s",
                         run->schema, RUN_SCHEMA);
    if (!is_uuid7(run->id))
        return fault_set(fault, STATUS_CORRUPT, "/id: \"%s\" is no UUID of version 7", run->id);
    if (!is_sha256(run->tool.source_sha256))
        return fault_set(fault, STATUS_CORRUPT,
                         "/tool/source_sha256: must be 64 lower-case hexadecimal digits");
    return check_times(run, fault);
}

static enum status check_hosts(const struct run *run, struct fault *fault)
{
    enum status status = check_roles(run, fault);
    char at[POINTER_SIZE];

    for (size_t i = 0; i < run->hosts.count && status == STATUS_OK; i++) {
        snprintf(at, sizeof at, "/hosts/%zu", i);
        status = validate_host((const struct host *)run->hosts.items + i, at, fault);
    }
    return status;
}

static enum status check_cases(const struct run *run, struct fault *fault)
{
    enum status status = validate_matrix(run, fault);
    char at[POINTER_SIZE];

    for (size_t i = 0; i < run->cases.count && status == STATUS_OK; i++) {
        snprintf(at, sizeof at, "/cases/%zu", i);
        status = validate_case(run, (const struct case_result *)run->cases.items + i, at, fault);
    }
    return status;
}

enum status validate_run(const struct run *run, struct fault *fault)
{
    const struct record *record = run_record_of(run->kind);
    enum status status;

    if (record == NULL)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "/kind: runs of this kind are not known to this version");
    status = record_check(record, run, fault);
    if (status == STATUS_OK)
        status = check_head(run, fault);
    if (status == STATUS_OK)
        status = check_hosts(run, fault);
    if (status != STATUS_OK)
        return status;
    if (run->kind == RUN_BUFFERS)
        return validate_buffers(run, fault);
    return run->kind == RUN_MTU ? validate_mtu(run, fault) : check_cases(run, fault);
}
