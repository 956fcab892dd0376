/* Owns the JSON form of advice. Knows no system and no terminal. */
#include <math.h>
#include <string.h>

#include "controller/command/advise_view.h"
#include "proto/base/text.h"
#include "proto/wire/limits.h"
#include "proto/wire/record_json.h"

struct trial_object {
    bool present;
    int64_t asked, granted, sent, predicted, held, lost;
};

struct proof_object {
    bool present;
    bool at_limit;
    struct trial_object advised, smaller;
    bool agrees;
};

struct advice_object {
    char schema[32];
    char os[64], os_release[128];
    enum family family;
    int64_t payload, burst;
    double rate, pause_ms;
    int64_t read_ns;
    double bytes_per_datagram;
    int64_t default_granted, default_holds, most_granted, most_holds;
    char limit[MAP_KEY_SIZE];
    bool curable, possible;
    int64_t datagrams, taken, needed, ask;
    bool default_is_enough, limit_is_enough;
    double first_drop_s;
    struct list sysctl; /* of char * */
    struct proof_object proof;
    char no_proof[256];
};

#define COUNT(S, M, TEXT)                                                                          \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_INT, .max = COUNT_MAX, .help = (TEXT)                        \
    }
#define YES_NO(S, M, TEXT)                                                                         \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_BOOL, .help = (TEXT)                                         \
    }
#define REAL(M, FLAGS, TEXT)                                                                       \
    {                                                                                              \
        FIELD_AT(struct advice_object, M), .type = FIELD_REAL, .flags = (FLAGS), .real_max = 1e18, \
                                           .help = (TEXT)                                          \
    }
#define WORD(M, FLAGS, TEXT)                                                                       \
    {                                                                                              \
        FIELD_AT(struct advice_object, M), .type = FIELD_TEXT, .flags = (FLAGS),                   \
                                           .size = sizeof(((struct advice_object *)0)->M),         \
                                           .help = (TEXT)                                          \
    }

static const struct field trial_fields[] = {
    COUNT(struct trial_object, asked, "SO_RCVBUF asked for"),
    COUNT(struct trial_object, granted, "as the kernel reads it back"),
    COUNT(struct trial_object, sent, "datagrams, back to back, nobody reading"),
    COUNT(struct trial_object, predicted, "that it should hold of them"),
    COUNT(struct trial_object, held, "that it held"),
    COUNT(struct trial_object, lost, "that it did not hold"),
};
static const struct record trial_record = { .name = "trial",
                                            .size = sizeof(struct trial_object),
                                            .fields = trial_fields,
                                            .count = RECORD_COUNT(trial_fields),
                                            .present = offsetof(struct trial_object, present) + 1 };

static const struct field proof_fields[] = {
    YES_NO(struct proof_object, at_limit, "the largest buffer stands for the advised one"),
    { FIELD_AT(struct proof_object, advised), .type = FIELD_RECORD, .record = &trial_record },
    { FIELD_AT(struct proof_object, smaller), .type = FIELD_RECORD, .flags = FIELD_NULLABLE,
      .record = &trial_record },
    YES_NO(struct proof_object, agrees, "false: the measurement contradicts the advice"),
};
static const struct record proof_record = { .name = "proof",
                                            .size = sizeof(struct proof_object),
                                            .fields = proof_fields,
                                            .count = RECORD_COUNT(proof_fields),
                                            .present = offsetof(struct proof_object, present) + 1 };

static const struct field advice_fields[] = {
    WORD(schema, 0, ADVISE_SCHEMA),
    WORD(os, 0, "of this machine"),
    WORD(os_release, 0, "of this machine"),
    { FIELD_AT(struct advice_object, family), .type = FIELD_ENUM, .names = family_names,
      .name_count = FAMILY_COUNT, .help = "IP version" },
    COUNT(struct advice_object, payload, "bytes"),
    COUNT(struct advice_object, burst, "datagrams back to back"),
    REAL(rate, 0, "datagrams per second besides"),
    REAL(pause_ms, 0, "the longest time that nothing is read"),
    COUNT(struct advice_object, read_ns, "the reader's time for each datagram; 0: not known"),
    REAL(bytes_per_datagram, 0, "of buffer, measured here"),
    COUNT(struct advice_object, default_granted, "of a plain socket, bytes"),
    COUNT(struct advice_object, default_holds, "datagrams"),
    COUNT(struct advice_object, most_granted, "for the largest ask, bytes"),
    COUNT(struct advice_object, most_holds, "datagrams"),
    WORD(limit, FIELD_NULLABLE, "what caps it"),
    YES_NO(struct advice_object, curable, "false: more comes than is read"),
    YES_NO(struct advice_object, possible, "false: no socket buffer can be that large"),
    COUNT(struct advice_object, datagrams, "that must fit at once"),
    COUNT(struct advice_object, taken, "bytes of buffer that they take"),
    COUNT(struct advice_object, needed, "bytes that must be granted"),
    COUNT(struct advice_object, ask, "for SO_RCVBUF"),
    YES_NO(struct advice_object, default_is_enough, "a plain socket holds it"),
    YES_NO(struct advice_object, limit_is_enough, "asking is enough on this system"),
    REAL(first_drop_s, FIELD_NULLABLE, "not curable: when the largest buffer first drops"),
    { FIELD_AT(struct advice_object, sysctl), .type = FIELD_LIST, .of = FIELD_WORD, .size = 4,
      .help = "lines that raise the limit; empty when that is not needed or of no use" },
    { FIELD_AT(struct advice_object, proof), .type = FIELD_RECORD, .flags = FIELD_NULLABLE,
      .record = &proof_record },
    WORD(no_proof, FIELD_NULLABLE, "why there is no proof"),
};
static const struct record advice_record = { .name = "advice",
                                             .size = sizeof(struct advice_object),
                                             .fields = advice_fields,
                                             .count = RECORD_COUNT(advice_fields) };

static struct trial_object trial_of(const struct advice_trial *trial)
{
    return (struct trial_object){ .present = trial->present,
                                  .asked = trial->rcvbuf.asked,
                                  .granted = trial->rcvbuf.granted,
                                  .sent = trial->sent,
                                  .predicted = trial->predicted,
                                  .held = trial->held,
                                  .lost = trial->sent - trial->held };
}

static void fill_question(const struct advise_view *view, struct advice_object *object)
{
    text_copy(object->schema, sizeof object->schema, ADVISE_SCHEMA);
    text_copy(object->os, sizeof object->os, view->machine.os);
    text_copy(object->os_release, sizeof object->os_release, view->machine.os_release);
    object->family = view->family;
    object->payload = view->question.payload;
    object->burst = view->question.burst;
    object->rate = view->question.rate;
    object->pause_ms = (double)view->question.pause_ns / 1e6;
    object->read_ns = view->question.read_ns;
    object->bytes_per_datagram = view->host.capacity.charge;
    object->default_granted = view->host.default_granted;
    object->default_holds = capacity_of(&view->host.capacity, view->host.default_granted);
    object->most_granted = view->host.most_granted;
    object->most_holds = capacity_of(&view->host.capacity, view->host.most_granted);
    text_copy(object->limit, sizeof object->limit, view->most.limit);
}

static void fill_answer(const struct advise_view *view, struct advice_object *object)
{
    const struct advice *advice = &view->advice;

    object->curable = advice->curable;
    object->possible = advice->possible;
    object->datagrams = advice->datagrams;
    object->taken = advice->taken;
    object->needed = advice->needed;
    object->ask = advice->ask;
    object->default_is_enough = advice->default_is_enough;
    object->limit_is_enough = advice->limit_is_enough;
    object->first_drop_s = advice->first_drop_s;
    object->proof = (struct proof_object){ .present = view->proof.present,
                                           .at_limit = view->proof.at_limit,
                                           .advised = trial_of(&view->proof.advised),
                                           .smaller = trial_of(&view->proof.smaller),
                                           .agrees = view->proof.agrees };
    text_copy(object->no_proof, sizeof object->no_proof, view->no_proof);
}

void advise_view_json(const struct advise_view *view, struct buf *out_text)
{
    struct advice_object object;
    struct advise_lines lines;
    char *words[2] = { lines.now, lines.line };

    memset(&object, 0, sizeof object);
    fill_question(view, &object);
    fill_answer(view, &object);
    advise_limit_lines(view, &lines);
    object.sysctl.items = words; /* borrowed: not for record_done */
    object.sysctl.count = *lines.now == '\0' ? 0 : *lines.line == '\0' ? 1 : 2;
    if (record_to_json(&advice_record, &object, out_text) == STATUS_OK)
        buf_text(out_text, "\n");
}
