/* Specimens to break, for the tests of records. Include after cmocka.h. */
#ifndef SONDE_TESTS_SPECIMEN_CHECKS_H
#define SONDE_TESTS_SPECIMEN_CHECKS_H

#include "tests/proto/wire/specimen.h"

static inline void add_int(struct list *list, int64_t value)
{
    *(int64_t *)list_append_sized(list, sizeof value) = value;
}

static inline void add_word(struct list *list, const char *word)
{
    char *copy = word == NULL ? NULL : strdup(word);

    *(char **)list_append_sized(list, sizeof copy) = copy;
}

/* An object that passes. */
static inline void fill(struct specimen *out_object)
{
    record_init(&specimen_record, out_object);
    out_object->real = 1;
    out_object->part.present = true;
}

static inline void passes(const struct specimen *object)
{
    struct fault fault = { "" };

    assert_int_equal(record_check(&specimen_record, object, &fault), STATUS_OK);
    assert_string_equal(fault.text, "");
}

/* Frees the object, too. */
static inline void fails_as(struct specimen *object, enum status status, const char *expected)
{
    struct fault fault = { "" };

    assert_int_equal(record_check(&specimen_record, object, &fault), status);
    assert_string_equal(fault.text, expected);
    assert_int_equal(record_check(&specimen_record, object, NULL), status);
    record_done(&specimen_record, object);
}

static inline void fails(struct specimen *object, const char *expected)
{
    fails_as(object, STATUS_RANGE, expected);
}

#endif
