/* Owns the JSON form of charges. Knows no system and no terminal. */
#include <string.h>

#include "controller/command/charge_view.h"
#include "proto/base/text.h"
#include "proto/wire/limits.h"
#include "proto/wire/record_json.h"

struct step_object {
    int64_t from, to, charge, slope;
    int64_t predicted; /* of `from` */
    bool as_predicted;
};

struct way_object {
    enum charge_way way;
    int64_t segments;
    char reason[256];
    bool same_as_plain;
    struct list steps; /* of struct step_object */
};

struct charge_object {
    char schema[32];
    char os[64], os_release[128];
    enum family family;
    int64_t from, to, smallest;
    struct list ways; /* of struct way_object */
};

#define COUNT(S, M, FLAGS, TEXT)                                                                   \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_INT, .flags = (FLAGS), .max = COUNT_MAX, .help = (TEXT)      \
    }
#define YES_NO(S, M, TEXT)                                                                         \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_BOOL, .help = (TEXT)                                         \
    }
#define WORD(S, M, FLAGS, TEXT)                                                                    \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_TEXT, .flags = (FLAGS), .size = sizeof(((S *)0)->M),         \
                        .help = (TEXT)                                                             \
    }

static const struct field step_fields[] = {
    COUNT(struct step_object, from, 0, "payload, bytes"),
    COUNT(struct step_object, to, 0, "payload, included"),
    COUNT(struct step_object, charge, 0, "of a payload of `from`, bytes"),
    COUNT(struct step_object, slope, 0, "bytes of charge for one more byte of payload"),
    COUNT(struct step_object, predicted, FIELD_NULLABLE, "of a payload of `from`, by the rule"),
    YES_NO(struct step_object, as_predicted, "the rule gives this step"),
};
static const struct record step_record = { .name = "step",
                                           .size = sizeof(struct step_object),
                                           .fields = step_fields,
                                           .count = RECORD_COUNT(step_fields) };

static const struct field way_fields[] = {
    { FIELD_AT(struct way_object, way), .type = FIELD_ENUM, .names = charge_way_names,
      .name_count = CHARGE_WAY_COUNT, .help = "how it was sent and received" },
    COUNT(struct way_object, segments, 0, "datagrams sent as one; the charge is that of each"),
    WORD(struct way_object, reason, FIELD_NULLABLE, "why it was not measured"),
    YES_NO(struct way_object, same_as_plain, "at every payload that both carry"),
    { FIELD_AT(struct way_object, steps), .type = FIELD_LIST, .of = FIELD_RECORD,
      .record = &step_record, .size = CHARGE_STEPS_MAX, .help = "by payload" },
};
static const struct record way_record = { .name = "way",
                                          .size = sizeof(struct way_object),
                                          .fields = way_fields,
                                          .count = RECORD_COUNT(way_fields) };

static const struct field charge_fields[] = {
    WORD(struct charge_object, schema, 0, CHARGE_SCHEMA),
    WORD(struct charge_object, os, 0, "of this machine"),
    WORD(struct charge_object, os_release, 0, "of this machine"),
    { FIELD_AT(struct charge_object, family), .type = FIELD_ENUM, .names = family_names,
      .name_count = FAMILY_COUNT, .help = "IP version" },
    COUNT(struct charge_object, from, 0, "payload, bytes"),
    COUNT(struct charge_object, to, 0, "payload, included"),
    COUNT(struct charge_object, smallest, 0, "the charge of an empty datagram, bytes"),
    { FIELD_AT(struct charge_object, ways), .type = FIELD_LIST, .of = FIELD_RECORD,
      .record = &way_record, .size = CHARGE_WAY_COUNT, .help = "plain first" },
};
static const struct record charge_record = { .name = "charge",
                                             .size = sizeof(struct charge_object),
                                             .fields = charge_fields,
                                             .count = RECORD_COUNT(charge_fields) };

static void add_way(const struct charge_view *view, enum charge_way way, struct list *ways)
{
    const struct charge_view_way *from = &view->ways[way];
    const struct charge_step *step = from->steps.items;
    struct way_object *object = list_append(ways, record_field(&charge_record, "ways", NULL));
    bool gro = way == CHARGE_GRO;

    object->way = way;
    object->segments = gro ? CHARGE_GRO_SEGMENTS : 1;
    text_copy(object->reason, sizeof object->reason, from->reason);
    object->same_as_plain =
        from->steps.count > 0 && charge_view_same(&from->steps, &view->ways[CHARGE_PLAIN].steps);
    for (size_t i = 0; i < from->steps.count; i++) {
        struct step_object *at =
            list_append(&object->steps, record_field(&way_record, "steps", NULL));

        *at = (struct step_object){
            .from = step[i].from,
            .to = step[i].to,
            .charge = step[i].charge,
            .slope = step[i].slope,
            .predicted =
                gro ? NONE_INT : charge_predicted(view->family, step[i].from, view->smallest),
            .as_predicted = !gro && charge_view_predicted(view, &step[i]),
        };
    }
}

void charge_view_json(const struct charge_view *view, struct buf *out_text)
{
    struct charge_object object;

    record_init(&charge_record, &object);
    text_copy(object.schema, sizeof object.schema, CHARGE_SCHEMA);
    text_copy(object.os, sizeof object.os, view->machine.os);
    text_copy(object.os_release, sizeof object.os_release, view->machine.os_release);
    object.family = view->family;
    object.from = view->from;
    object.to = view->to;
    object.smallest = view->smallest;
    for (int way = 0; way < CHARGE_WAY_COUNT; way++)
        add_way(view, (enum charge_way)way, &object.ways);
    if (record_to_json(&charge_record, &object, out_text) == STATUS_OK)
        buf_text(out_text, "\n");
    record_done(&charge_record, &object);
}
