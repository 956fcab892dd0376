/* A record with a field of every type, and the JSON of one such object. Include after cmocka.h. */
#ifndef SONDE_TESTS_SPECIMEN_H
#define SONDE_TESTS_SPECIMEN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/wire/record.h"

enum colour { RED, GREEN, BLUE };

struct part {
    bool present;
    int64_t number; /* 0 to 10 */
    char text[8];
};

struct inlined {
    int64_t first;
    double second;
};

struct cold {
    int64_t frost; /* 0 to 10 */
};

struct warm {
    int64_t heat; /* 0 to 10 */
    struct list marks;
};

struct specimen {
    bool flag;
    int64_t count;
    int64_t small; /* -3 to 10 */
    int64_t maybe;
    double real; /* 0.5 to 1e18 */
    double maybe_real;
    char text[16];
    char maybe_text[16];
    enum colour colour;
    struct part part;
    struct part maybe_part;
    struct inlined inlined;
    struct cold cold; /* its fields are there while the colour is blue */
    struct warm warm; /* and its while it is red */
    int64_t named[3];
    struct list ints, reals, colours, pairs, points, words, parts,
        nameds; /* of up to 3, but words 2 */
    struct list numbers, texts;
    int64_t optional;
    double odd_key; /* its key is "a/b~c" */
};

static const char *const colour_names[] = { "red", "green", "blue" };
static const char *const counted_names[] = { "udp.sent", "a/b", "ip.~" };

static const struct field part_fields[] = {
    { FIELD_AT(struct part, number), .type = FIELD_INT, .max = 10, .help = "a number" },
    { FIELD_AT(struct part, text), .type = FIELD_TEXT, .size = 8, .help = "a text" },
};
static const struct record part_record = { .name = "part",
                                           .size = sizeof(struct part),
                                           .fields = part_fields,
                                           .count = RECORD_COUNT(part_fields),
                                           .present = offsetof(struct part, present) + 1 };

static const struct field inlined_fields[] = {
    { FIELD_AT(struct inlined, first), .type = FIELD_INT, .max = 10, .help = "a number" },
    { FIELD_AT(struct inlined, second), .type = FIELD_REAL, .real_max = 10, .help = "a real" },
};
static const struct record inlined_record = { .name = "inlined",
                                              .size = sizeof(struct inlined),
                                              .fields = inlined_fields,
                                              .count = RECORD_COUNT(inlined_fields) };

static const struct field cold_fields[] = {
    { FIELD_AT(struct cold, frost), .type = FIELD_INT, .max = 10, .help = "a number" },
};
static const struct record cold_record = { .name = "cold",
                                           .size = sizeof(struct cold),
                                           .fields = cold_fields,
                                           .count = RECORD_COUNT(cold_fields) };

static const struct field warm_fields[] = {
    { FIELD_AT(struct warm, heat), .type = FIELD_INT, .max = 10, .help = "a number" },
    { FIELD_AT(struct warm, marks), .type = FIELD_LIST, .of = FIELD_WORD, .size = 2 },
};
static const struct record warm_record = { .name = "warm",
                                           .size = sizeof(struct warm),
                                           .fields = warm_fields,
                                           .count = RECORD_COUNT(warm_fields) };

static const struct field specimen_fields[] = {
    { FIELD_AT(struct specimen, flag), .type = FIELD_BOOL },
    { FIELD_AT(struct specimen, count), .type = FIELD_INT, .max = COUNT_MAX },
    { FIELD_AT(struct specimen, small), .type = FIELD_INT, .min = -3, .max = 10 },
    { FIELD_AT(struct specimen, maybe), .type = FIELD_INT, .flags = FIELD_NULLABLE,
      .max = COUNT_MAX, .help = "null where it is not known" },
    { FIELD_AT(struct specimen, real), .type = FIELD_REAL, .real_min = 0.5, .real_max = 1e18 },
    { FIELD_AT(struct specimen, maybe_real), .type = FIELD_REAL, .flags = FIELD_NULLABLE,
      .real_max = 1 },
    { FIELD_AT(struct specimen, text), .type = FIELD_TEXT, .size = 16 },
    { FIELD_AT(struct specimen, maybe_text), .type = FIELD_TEXT, .flags = FIELD_NULLABLE,
      .size = 16 },
    { FIELD_AT(struct specimen, colour), .type = FIELD_ENUM, .names = colour_names,
      .name_count = 3 },
    { FIELD_AT(struct specimen, part), .type = FIELD_RECORD, .record = &part_record },
    { FIELD_AT(struct specimen, maybe_part), .type = FIELD_RECORD, .flags = FIELD_NULLABLE,
      .record = &part_record },
    { FIELD_AT(struct specimen, inlined), .type = FIELD_INLINE, .record = &inlined_record },
    { FIELD_AT(struct specimen, cold), .type = FIELD_INLINE, .record = &cold_record,
      .when = offsetof(struct specimen, colour) + 1, .when_value = BLUE },
    { FIELD_AT(struct specimen, warm), .type = FIELD_INLINE, .record = &warm_record,
      .when = offsetof(struct specimen, colour) + 1, .when_value = RED },
    { FIELD_AT(struct specimen, named), .type = FIELD_NAMED, .names = counted_names,
      .name_count = 3 },
    { FIELD_AT(struct specimen, ints), .type = FIELD_LIST, .of = FIELD_INT, .size = 3, .max = 10 },
    { FIELD_AT(struct specimen, reals), .type = FIELD_LIST, .of = FIELD_REAL, .size = 3,
      .real_max = 10 },
    { FIELD_AT(struct specimen, colours), .type = FIELD_LIST, .of = FIELD_ENUM, .size = 3,
      .names = colour_names, .name_count = 3 },
    { FIELD_AT(struct specimen, pairs), .type = FIELD_LIST, .of = FIELD_PAIR, .size = 3 },
    { FIELD_AT(struct specimen, points), .type = FIELD_LIST, .of = FIELD_POINT, .size = 3 },
    { FIELD_AT(struct specimen, words), .type = FIELD_LIST, .of = FIELD_WORD, .size = 2 },
    { FIELD_AT(struct specimen, parts), .type = FIELD_LIST, .of = FIELD_RECORD, .size = 3,
      .record = &part_record },
    { FIELD_AT(struct specimen, nameds), .type = FIELD_LIST, .of = FIELD_NAMED, .size = 3,
      .names = counted_names, .name_count = 3 },
    { FIELD_AT(struct specimen, numbers), .type = FIELD_MAP_INT },
    { FIELD_AT(struct specimen, texts), .type = FIELD_MAP_TEXT },
    { FIELD_AT(struct specimen, optional), .type = FIELD_INT,
      .flags = FIELD_NULLABLE | FIELD_OPTIONAL, .max = COUNT_MAX },
    { FIELD_NAMED_AT(struct specimen, odd_key, "a/b~c"), .type = FIELD_REAL, .real_max = 10 },
};
static const struct record specimen_record = { .name = "specimen",
                                               .size = sizeof(struct specimen),
                                               .fields = specimen_fields,
                                               .count = RECORD_COUNT(specimen_fields) };

/* One object, as record_to_json writes it. */
#define SPECIMEN_JSON                                                                              \
    "{\"flag\":true,\"count\":9007199254740993,\"small\":-3,\"maybe\":null,\"real\":2304,"         \
    "\"maybe_real\":null,\"text\":\"h\\u0001\xc3\xb6\\\"\\\\/\",\"maybe_text\":null,"              \
    "\"colour\":\"blue\",\"part\":{\"number\":7,\"text\":\"\"},\"maybe_part\":null,"               \
    "\"first\":1,\"second\":0.125,\"frost\":9,\"named\":{\"udp.sent\":0,\"a/b\":null,\"ip.~\":5}," \
    "\"ints\":[3,0,10],\"reals\":[0.5,1],\"colours\":[\"green\"],\"pairs\":[[1,2],[3,4]],"         \
    "\"points\":[[0,1.5],[-2,3]],"                                                                 \
    "\"words\":[\"sonde\",\"\"],\"parts\":[{\"number\":1,\"text\":\"one\"},"                       \
    "{\"number\":2,\"text\":\"two\"}],"                                                            \
    "\"nameds\":[{\"udp.sent\":null,\"a/b\":1,\"ip.~\":9223372036854775807}],"                     \
    "\"numbers\":{\"net.core/rmem~\":4,\"lower\":-1,\"gone\":null},\"texts\":{\"zeromq\":"         \
    "\"4.3.4\",\"none\":\"\"},\"optional\":6,\"a/b~c\":2.5}"

/* SPECIMEN_JSON with `from` (which must stand in it) replaced; freed by the caller. */
static inline char *changed(const char *from, const char *to)
{
    const char *at = strstr(SPECIMEN_JSON, from);
    size_t size = sizeof SPECIMEN_JSON + strlen(to);
    char *text = malloc(size);

    assert_non_null(at);
    assert_non_null(text);
    snprintf(text, size, "%.*s%s%s", (int)(at - SPECIMEN_JSON), SPECIMEN_JSON, to,
             at + strlen(from));
    return text;
}

#endif
