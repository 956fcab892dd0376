/* A small configuration file. Include after cmocka.h. */
#ifndef SONDE_TESTS_CONFIGURATION_H
#define SONDE_TESTS_CONFIGURATION_H

#include "tests/proto/wire/specimen.h"

struct rule {
    char range[32];
    int64_t rate;
    double share;
};

struct section {
    int64_t max_rate;   /* 1 to 1000000 */
    double max_seconds; /* -1 to 100 */
    struct list peers;
    struct list rules;
};

struct extra {
    bool present;
    int64_t port; /* 1 to 65535 */
    char name[16];
};

struct file {
    char address[32];
    char zone[16]; /* nullable */
    bool verbose;
    enum colour colour;
    struct section section;
    struct extra extra;
    int64_t patience; /* nullable */
};

static const struct field rule_fields[] = {
    { FIELD_AT(struct rule, range), .type = FIELD_TEXT, .size = 32, .help = "which hosts" },
    { FIELD_AT(struct rule, rate), .type = FIELD_INT, .max = 10, .help = "how many" },
    { FIELD_AT(struct rule, share), .type = FIELD_REAL, .real_max = 1, .flags = FIELD_OPTIONAL },
};
static const struct record rule_record = { .name = "rule",
                                           .size = sizeof(struct rule),
                                           .fields = rule_fields,
                                           .count = RECORD_COUNT(rule_fields) };

static const struct field section_fields[] = {
    { FIELD_AT(struct section, max_rate), .type = FIELD_INT, .min = 1, .max = 1000000,
      .help = "datagrams/s" },
    { FIELD_AT(struct section, max_seconds), .type = FIELD_REAL, .real_min = -1, .real_max = 100 },
    { FIELD_AT(struct section, peers), .type = FIELD_LIST, .of = FIELD_WORD, .size = 3,
      .help = "ranges of hosts" },
    { FIELD_AT(struct section, rules), .type = FIELD_LIST, .of = FIELD_RECORD, .size = 3,
      .record = &rule_record },
};
static const struct record section_record = { .name = "section",
                                              .size = sizeof(struct section),
                                              .fields = section_fields,
                                              .count = RECORD_COUNT(section_fields) };

static const struct field extra_fields[] = {
    { FIELD_AT(struct extra, port), .type = FIELD_INT, .min = 1, .max = 65535 },
    { FIELD_AT(struct extra, name), .type = FIELD_TEXT, .size = 16 },
};
static const struct record extra_record = { .name = "extra",
                                            .size = sizeof(struct extra),
                                            .fields = extra_fields,
                                            .count = RECORD_COUNT(extra_fields),
                                            .present = offsetof(struct extra, present) + 1 };

static const struct field file_fields[] = {
    { FIELD_AT(struct file, address), .type = FIELD_TEXT, .size = 32, .help = "where to" },
    { FIELD_AT(struct file, zone), .type = FIELD_TEXT, .size = 16, .flags = FIELD_NULLABLE },
    { FIELD_AT(struct file, verbose), .type = FIELD_BOOL, .help = "says more" },
    { FIELD_AT(struct file, colour), .type = FIELD_ENUM, .names = colour_names, .name_count = 3,
      .help = "of the door" },
    { FIELD_AT(struct file, section), .type = FIELD_RECORD, .record = &section_record,
      .help = "what is allowed" },
    { FIELD_AT(struct file, extra), .type = FIELD_RECORD, .record = &extra_record,
      .flags = FIELD_NULLABLE },
    { FIELD_AT(struct file, patience), .type = FIELD_INT, .flags = FIELD_NULLABLE, .max = 10 },
};
static const struct record file_record = { .name = "file",
                                           .size = sizeof(struct file),
                                           .fields = file_fields,
                                           .count = RECORD_COUNT(file_fields) };

static inline void add_peer(struct file *file, const char *peer)
{
    *(char **)list_append_sized(&file->section.peers, sizeof(char *)) = strdup(peer);
}

static inline void defaults(struct file *out_file)
{
    record_init(&file_record, out_file);
    memcpy(out_file->address, "localhost", 10);
    out_file->colour = GREEN;
    out_file->section.max_rate = 500;
    out_file->section.max_seconds = 2.5;
    add_peer(out_file, "10.0.0.0/8");
    add_peer(out_file, "::1/128");
    out_file->patience = 7;
}

#endif
