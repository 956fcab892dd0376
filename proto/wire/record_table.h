/* The kinds of table entries that repeat: for the files that define records, nobody else. */
#ifndef SONDE_WIRE_RECORD_TABLE_H
#define SONDE_WIRE_RECORD_TABLE_H

#include "proto/wire/record.h"

#define COUNT(S, M, TEXT)                                                                          \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_INT, .max = COUNT_MAX, .help = (TEXT)                        \
    }
#define COUNT_AS(S, M, N, TEXT)                                                                    \
    {                                                                                              \
        FIELD_NAMED_AT(S, M, N), .type = FIELD_INT, .max = COUNT_MAX, .help = (TEXT)               \
    }
#define COUNT_OR_NULL(S, M, TEXT)                                                                  \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_INT, .flags = FIELD_NULLABLE, .max = COUNT_MAX,              \
                        .help = (TEXT)                                                             \
    }
#define REAL(S, M, HIGH, TEXT)                                                                     \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_REAL, .real_max = (HIGH), .help = (TEXT)                     \
    }
#define REAL_OR_NULL(S, M, HIGH, TEXT)                                                             \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_REAL, .flags = FIELD_NULLABLE, .real_max = (HIGH),           \
                        .help = (TEXT)                                                             \
    }
#define TEXT(S, M, HELP)                                                                           \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_TEXT, .size = sizeof(((S *)0)->M), .help = (HELP)            \
    }
#define TEXT_OR_NULL(S, M, HELP)                                                                   \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_TEXT, .flags = FIELD_NULLABLE, .size = sizeof(((S *)0)->M),  \
                        .help = (HELP)                                                             \
    }
#define FLAG(S, M, TEXT)                                                                           \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_BOOL, .help = (TEXT)                                         \
    }
#define CHOICE(S, M, NAMES, N, TEXT)                                                               \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_ENUM, .names = (NAMES), .name_count = (N), .help = (TEXT)    \
    }
#define PART(S, M, R, TEXT)                                                                        \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_RECORD, .record = &(R), .help = (TEXT)                       \
    }
#define PART_OR_NULL(S, M, R, TEXT)                                                                \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_RECORD, .flags = FIELD_NULLABLE, .record = &(R),             \
                        .help = (TEXT)                                                             \
    }
#define PARTS(S, M, R, CAP, TEXT)                                                                  \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_LIST, .of = FIELD_RECORD, .record = &(R), .size = (CAP),     \
                        .help = (TEXT)                                                             \
    }
#define COUNTERS(S, M, TEXT)                                                                       \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_NAMED, .names = counter_names, .name_count = COUNTER_COUNT,  \
                        .help = (TEXT)                                                             \
    }
#define WORDS(S, M, CAP, TEXT)                                                                     \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_LIST, .of = FIELD_WORD, .size = (CAP), .help = (TEXT)        \
    }
#define MAP(S, M, TYPE, TEXT)                                                                      \
    {                                                                                              \
        FIELD_AT(S, M), .type = (TYPE), .help = (TEXT)                                             \
    }
#define BYTES(S, M, CAP, TEXT)                                                                     \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_BYTES, .size = (CAP), .help = (TEXT)                         \
    }
#define INT(S, M, LOW, HIGH, TEXT)                                                                 \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_INT, .min = (LOW), .max = (HIGH), .help = (TEXT)             \
    }
#define RECORD(S, FIELDS)                                                                          \
    {                                                                                              \
        .name = #S, .size = sizeof(struct S), .fields = (FIELDS), .count = RECORD_COUNT(FIELDS)    \
    }
#define RECORD_OR_NULL(S, FIELDS)                                                                  \
    {                                                                                              \
        .name = #S, .size = sizeof(struct S), .fields = (FIELDS), .count = RECORD_COUNT(FIELDS),   \
        .present = offsetof(struct S, present) + 1                                                 \
    }

#endif
