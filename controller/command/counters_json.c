/* Owns the JSON form of a counters snapshot. Knows no system and no terminal. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/host/procfs.h"
#include "controller/command/counters_view.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"
#include "proto/wire/limits.h"
#include "proto/wire/record_json.h"

/* Everything but `interfaces`, whose unsigned 64-bit numbers a record does not have. */
struct snapshot_object {
    char schema[32];
    struct host host;
    char proc_root[1024];
    char namespace[64];
    char taken[WALL_TEXT_SIZE];
    struct counters counters;
    struct list unavailable; /* map of text: counter, reason */
    struct list cpus;        /* of struct softnet_cpu */
    struct counters_interval interval;
};

#define COUNT(S, M, TEXT)                                                                          \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_INT, .max = COUNT_MAX, .help = (TEXT)                        \
    }
#define WORD(M, FLAGS, TEXT)                                                                       \
    {                                                                                              \
        FIELD_AT(struct snapshot_object, M), .type = FIELD_TEXT, .flags = (FLAGS),                 \
                                             .size = sizeof(((struct snapshot_object *)0)->M),     \
                                             .help = (TEXT)                                        \
    }

static const struct field cpu_fields[] = {
    COUNT(struct softnet_cpu, cpu, "its number"),
    COUNT(struct softnet_cpu, processed, "packets"),
    COUNT(struct softnet_cpu, dropped, "dropped: its backlog was full"),
    COUNT(struct softnet_cpu, squeezed, "times that its budget ran out; no loss"),
};
static const struct record cpu_record = { .name = "cpu",
                                          .size = sizeof(struct softnet_cpu),
                                          .fields = cpu_fields,
                                          .count = RECORD_COUNT(cpu_fields) };

static const struct field interval_fields[] = {
    { FIELD_AT(struct counters_interval, seconds), .type = FIELD_REAL, .real_max = 1e12,
      .help = "since the snapshot before" },
    { FIELD_AT(struct counters_interval, delta), .type = FIELD_NAMED, .names = counter_names,
      .name_count = COUNTER_COUNT, .help = "what changed; null where unavailable or reset" },
    { FIELD_AT(struct counters_interval, reset), .type = FIELD_LIST, .of = FIELD_WORD,
      .size = COUNTER_COUNT, .help = "counters that went backwards" },
};
static const struct record interval_record = {
    .name = "interval",
    .size = sizeof(struct counters_interval),
    .fields = interval_fields,
    .count = RECORD_COUNT(interval_fields),
    .present = offsetof(struct counters_interval, present) + 1
};

/* The fields of a host that say which one it is; the rest of it belongs to a run. */
static const char *const identity[] = { "name", "os",           "os_release", "arch",  "cpu",
                                        "cpus", "memory_bytes", "libraries",  "limits" };
enum { IDENTITY_COUNT = sizeof identity / sizeof identity[0] };

static struct record identity_record(struct field fields[IDENTITY_COUNT])
{
    for (size_t i = 0; i < IDENTITY_COUNT; i++)
        fields[i] = *record_field(&host_record, identity[i], NULL);
    return (struct record){
        .name = "host", .size = sizeof(struct host), .fields = fields, .count = IDENTITY_COUNT
    };
}

static void put_members(const struct snapshot_object *object, struct buf *out_text)
{
    struct field host_fields[IDENTITY_COUNT];
    const struct record host = identity_record(host_fields);
    const struct field fields[] = {
        WORD(schema, 0, COUNTERS_SCHEMA),
        { FIELD_AT(struct snapshot_object, host), .type = FIELD_RECORD, .record = &host },
        WORD(proc_root, FIELD_NULLABLE, "the tree that was read instead of this host's"),
        WORD(namespace, FIELD_NULLABLE, "the network namespace they belong to"),
        WORD(taken, 0, "RFC 3339 UTC"),
        { FIELD_AT(struct snapshot_object, counters), .type = FIELD_NAMED, .names = counter_names,
          .name_count = COUNTER_COUNT },
        { FIELD_AT(struct snapshot_object, unavailable), .type = FIELD_MAP_TEXT },
        { FIELD_AT(struct snapshot_object, interval), .type = FIELD_RECORD, .flags = FIELD_NULLABLE,
          .record = &interval_record },
        { FIELD_AT(struct snapshot_object, cpus), .type = FIELD_LIST, .of = FIELD_RECORD,
          .size = LIMIT_CPUS, .record = &cpu_record },
    };
    const struct record record = {
        .name = "snapshot", .size = sizeof *object, .fields = fields, .count = RECORD_COUNT(fields)
    };

    if (record_to_json(&record, object, out_text) != STATUS_OK)
        return; /* the buffer keeps it */
}

/* A name without control bytes, as JSON text. */
static void put_text(struct buf *out_text, const char *name)
{
    char masked[sizeof(((struct interface_counters *)0)->name)];

    text_copy(masked, sizeof masked, name);
    utf8_mask(masked);
    buf_text(out_text, "\"");
    for (const char *c = masked; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            buf_text(out_text, "\\");
        buf_append(out_text, c, 1);
    }
    buf_text(out_text, "\"");
}

static void put_interface(const struct interface_counters *interface, struct buf *out_text)
{
    const struct {
        const char *name;
        uint64_t value;
    } members[] = {
        { "rx_bytes", interface->rx_bytes },   { "rx_packets", interface->rx_packets },
        { "rx_errors", interface->rx_errors }, { "rx_dropped", interface->rx_dropped },
        { "tx_bytes", interface->tx_bytes },   { "tx_packets", interface->tx_packets },
        { "tx_errors", interface->tx_errors }, { "tx_dropped", interface->tx_dropped },
    };

    buf_text(out_text, "{\"name\":");
    put_text(out_text, interface->name);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        buf_printf(out_text, ",\"%s\":%llu", members[i].name, (unsigned long long)members[i].value);
    buf_text(out_text, "}");
}

/* Fills what is owned by the view elsewhere; only `unavailable` is the object's own. */
static void fill_object(const struct counters_view *view, struct snapshot_object *object)
{
    memset(object, 0, sizeof *object);
    text_copy(object->schema, sizeof object->schema, COUNTERS_SCHEMA);
    object->host = *view->host;
    text_copy(object->proc_root, sizeof object->proc_root,
              view->proc_root == NULL ? "" : view->proc_root);
    utf8_mask(object->proc_root);
    text_copy(object->namespace, sizeof object->namespace, view->snapshot->namespace);
    utf8_mask(object->namespace);
    wall_format(view->taken, object->taken);
    object->counters = view->snapshot->total;
    object->cpus = view->snapshot->cpus;
    object->interval = view->interval;
    for (int i = 0; i < COUNTER_COUNT; i++) {
        if (object->counters.value[i] == NONE_INT)
            map_add_text(&object->unavailable, counter_names[i], view->snapshot->reason[i]);
    }
}

void counters_view_json(const struct counters_view *view, struct buf *out_text)
{
    const struct interface_counters *interfaces = view->snapshot->interfaces.items;
    struct snapshot_object object;
    struct buf members;

    fill_object(view, &object);
    buf_init(&members, LIMIT_JSON_BYTES);
    put_members(&object, &members);
    free(object.unavailable.items);
    if (members.length > 0) /* without its closing brace */
        buf_append(out_text, buf_peek(&members), members.length - 1);
    buf_text(out_text, ",\"interfaces\":[");
    for (size_t i = 0; i < view->snapshot->interfaces.count; i++) {
        buf_text(out_text, i == 0 ? "" : ",");
        put_interface(&interfaces[i], out_text);
    }
    buf_text(out_text, "]}\n");
    buf_done(&members);
}
