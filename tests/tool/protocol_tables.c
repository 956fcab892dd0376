/* Prints the part of docs/protocol.md that is made from the tables: messages, what they hold, caps
 * and deadlines. tests/docs/test_protocol.py compares the two. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "agent/sessions.h"
#include "agent/task.h"
#include "agent/uplink.h"
#include "controller/fleet/hub.h"
#include "controller/fleet/measure.h"
#include "proto/link/peer.h"
#include "proto/wire/limits.h"
#include "proto/wire/message.h"

enum { RECORDS_MAX = 64, WORDS_SIZE = 1024 };

/* The records that messages and reports hold, each once, in the order of meeting them. */
struct records {
    const struct record *list[RECORDS_MAX];
    size_t count;
};

static const struct record *part_of(const struct field *field)
{
    bool list = field->type == FIELD_LIST && field->of == FIELD_RECORD;

    return list || field->type == FIELD_RECORD ? field->record : NULL;
}

static void collect(struct records *records, const struct record *record);

static void add(struct records *records, const struct record *record)
{
    for (size_t i = 0; i < records->count; i++) {
        if (records->list[i] == record)
            return;
    }
    assert(records->count < RECORDS_MAX);
    records->list[records->count++] = record;
    collect(records, record);
}

static void collect(struct records *records, const struct record *record)
{
    for (size_t i = 0; i < record->count; i++) {
        const struct field *field = &record->fields[i];

        if (field->type == FIELD_INLINE)
            collect(records, field->record);
        else if (part_of(field) != NULL)
            add(records, part_of(field));
    }
}

/* --- one field ------------------------------------------------------------------------------- */

static void describe_type(const struct field *field, enum field_type type, char *out_words,
                          size_t size)
{
    switch (type) {
    case FIELD_RECORD:
        snprintf(out_words, size, "[%s](#object-%s)", field->record->name, field->record->name);
        break;
    case FIELD_NAMED:
        snprintf(out_words, size,
                 "an object of [counters](counters.md), each an integer from 0 up "
                 "or null; one that is missing is null");
        break;
    case FIELD_MAP_INT:
        snprintf(out_words, size,
                 "an object of up to %d integers or null, by name of at most %d "
                 "bytes",
                 LIMIT_MAP_ENTRIES, MAP_KEY_SIZE - 1);
        break;
    case FIELD_MAP_TEXT:
        snprintf(out_words, size,
                 "an object of up to %d texts of at most %d bytes, by name of at "
                 "most %d",
                 LIMIT_MAP_ENTRIES, MAP_TEXT_SIZE - 1, MAP_KEY_SIZE - 1);
        break;
    case FIELD_ENUM:
    case FIELD_BOOL:
    case FIELD_INT:
    case FIELD_REAL:
    case FIELD_TEXT:
    case FIELD_INLINE:
    case FIELD_PAIR:
    case FIELD_POINT:
    case FIELD_WORD:
    case FIELD_LIST:
    case FIELD_BYTES:
        field_allowed_as(field, type, out_words, size);
        break;
    }
}

static void describe(const struct field *field, char *out_words, size_t size)
{
    size_t used = 0;

    if (field->type == FIELD_LIST) {
        used = (size_t)snprintf(out_words, size, "a list of up to %zu, each ", field->size);
        describe_type(field, field->of, out_words + used, size - used);
    } else {
        describe_type(field, field->type, out_words, size);
    }
    used = strlen(out_words);
    snprintf(out_words + used, size - used, "%s%s",
             (field->flags & FIELD_NULLABLE) != 0 ? " or null" : "",
             (field->flags & FIELD_OPTIONAL) != 0 ? "; may be missing" : "");
}

/* When the fields of an inline record stand in the object, and no others; "" of always. */
static void describe_choice(const struct record *record, const struct field *inlined,
                            char *out_words, size_t size)
{
    out_words[0] = '\0';
    for (size_t i = 0; i < record->count && inlined->when != 0; i++) {
        const struct field *field = &record->fields[i];

        if (field->type == FIELD_ENUM && field->offset == inlined->when - 1)
            snprintf(out_words, size, "; only with `%s` %s", field->name,
                     field->names[inlined->when_value]);
    }
}

/* `type` is the message's own name when it is one, else NULL; `choice`: see describe_choice. */
static void print_fields(const struct record *record, const char *type, const char *choice)
{
    for (size_t i = 0; i < record->count; i++) {
        const struct field *field = &record->fields[i];
        char words[WORDS_SIZE];

        if (field->type == FIELD_INLINE) {
            describe_choice(record, field, words, sizeof words);
            print_fields(field->record, NULL, *words == '\0' ? choice : words);
            continue;
        }
        if (i == 0 && type != NULL)
            snprintf(words, sizeof words, "\"%s\"", type);
        else
            describe(field, words, sizeof words);
        printf("| `%s` | %s%s | %s |\n", field->name, words, choice, field->help);
    }
}

static void print_table(const struct record *record, const char *type)
{
    printf("\n| field | value | what it is |\n| --- | --- | --- |\n");
    print_fields(record, type, "");
}

/* --- sections -------------------------------------------------------------------------------- */

static const char *role_of(enum identity_role role)
{
    return role == ROLE_COUNT ? "either side" : role_names[role];
}

static void print_messages(void)
{
    printf("## Messages\n");
    for (size_t i = 0; i < MESSAGE_COUNT; i++) {
        const struct message_kind *kind = &message_kinds[i];

        printf("\n### %s\n\n", message_names[i]);
        if (kind->from == ROLE_COUNT)
            printf("Either side: %s.\n", kind->help);
        else
            printf("%c%s to %s: %s.\n", role_of(kind->from)[0] - 'a' + 'A', role_of(kind->from) + 1,
                   role_of(kind->to), kind->help);
        print_table(kind->record, message_names[i]);
    }
}

static void print_records(void)
{
    struct records records = { .count = 0 };

    for (size_t i = 0; i < MESSAGE_COUNT; i++)
        collect(&records, message_kinds[i].record);
    add(&records, &report_record);
    add(&records, &mtu_report_record);
    printf("\n## What messages hold\n\nThe body of a [result](#result) of kind `report` is a "
           "[report](#object-report), that of kind `mtu_report` an "
           "[mtu_report](#object-mtu_report), as msgpack.\n");
    for (size_t i = 0; i < records.count; i++) {
        printf("\n### Object %s\n", records.list[i]->name);
        print_table(records.list[i], NULL);
    }
}

struct number {
    long long value;
    const char *unit, *what;
};

static void print_numbers(const char *heading, const char *columns, const struct number *numbers,
                          size_t count)
{
    printf("\n## %s\n\n%s\n| --- | --- |\n", heading, columns);
    for (size_t i = 0; i < count; i++)
        printf("| %lld%s%s | %s |\n", numbers[i].value, *numbers[i].unit == '\0' ? "" : " ",
               numbers[i].unit, numbers[i].what);
}

static void print_caps(void)
{
    static const struct number caps[] = {
        { LIMIT_FRAME, "bytes", "one message, without the length in front" },
        { LIMIT_MESSAGE_DEPTH, "levels", "lists and maps inside of one another" },
        { LIMIT_MAP_ENTRIES, "keys", "one map, known to the reader or not" },
        { LIMIT_RESULT_BYTES, "bytes", "the body of a result" },
        { LIMIT_PART_BYTES, "bytes", "one part of an archive" },
        { LIMIT_ADDRESSES, "", "addresses of a host" },
        { LIMIT_ROWS, "rows", "one answer to an operator" },
        { LIMIT_CASES, "cases", "one run" },
        { LIMIT_COMMAND_WORDS, "words", "an operator's command line" },
        { LIMIT_COMMAND_WORD_BYTES, "bytes", "one word of a list of texts" },
        { MTU_FLOWS_MAX, "flows", "a path MTU session" },
        { MTU_ICMP_MAX, "messages", "ICMP \"too big\" that differ, of one flow" },
        { MTU_SIZES_MAX, "sizes", "loss by size" },
        { MTU_EVENTS_MAX, "changes", "one phase of watching" },
        { LIMIT_HISTOGRAM_BUCKETS, "buckets", "a histogram" },
        { LIMIT_FLEET, "agents", "a fleet" },
        { SESSIONS_UNACKNOWLEDGED, "results", "an agent's results under way, not yet committed" },
        { SESSIONS_UNACKNOWLEDGED_BYTES, "bytes", "their bodies" },
    };

    print_numbers("Caps", "| at most | of or in |", caps, sizeof caps / sizeof caps[0]);
}

static void print_deadlines(void)
{
    static const struct number deadlines[] = {
        { PEER_HANDSHAKE_NS / NS_PER_S, "s", "a connection that is not UP is closed" },
        { PEER_PING_NS / NS_PER_S, "s", "a side that has sent nothing sends `ping`" },
        { PEER_IDLE_NS / NS_PER_S, "s", "a side that has heard nothing closes" },
        { PEER_CLOSING_NS / NS_PER_S, "s", "CLOSING ends in DOWN" },
        { UPLINK_WELCOME_NS / NS_PER_S, "s", "an agent that was not welcomed closes" },
        { UPLINK_STATUS_NS / NS_PER_S, "s", "an agent sends `status` again" },
        { UPLINK_FIRST_PAUSE_NS / NS_PER_S, "s",
          "at most: an agent connects again; each pause may be twice the last" },
        { UPLINK_LAST_PAUSE_NS / NS_PER_S, "s", "the longest of these pauses" },
        { FLEET_FLAP_NS / NS_PER_S, "s", "a second host with an agent's identity may take over" },
        { MEASURE_ANSWER_NS / NS_PER_S, "s", "an order without an answer is an error of its case" },
        { MEASURE_AGREE_NS / NS_PER_S, "s", "so is an agreement that does not come" },
        { WORK_DRAIN_S, "s",
          "more than the phase's own length and an order: so is a phase that does not end" },
        { MEASURE_RESULT_NS / NS_PER_S, "s", "so are reports that do not come" },
        { TASK_PATIENCE_NS / NS_PER_S, "s", "an end that is told nothing closes its session" },
        { HUB_COMMIT_NS / NS_PER_MS, "ms", "at most: a result is committed" },
    };

    print_numbers("Deadlines", "| after | what |", deadlines,
                  sizeof deadlines / sizeof deadlines[0]);
}

int main(void)
{
    print_messages();
    print_records();
    print_caps();
    print_deadlines();
    return 0;
}
