/* record_schema: the tables in the words of JSON Schema, nothing added and nothing left out. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/wire/record_json.h"
#include "proto/wire/run.h"
#include "tests/proto/wire/specimen.h"

static json_t *schema_of(const struct record *record)
{
    struct buf buf;
    json_t *schema;

    buf_init(&buf, 1 << 20);
    assert_int_equal(record_schema(record, "a title", &buf), STATUS_OK);
    assert_int_equal(buf.data[buf.length - 1], '\n');
    schema = json_loadb(buf.data, buf.length, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(schema);
    buf_done(&buf);
    return schema;
}

/* What the schema says of a property, as one line. */
static void says(const json_t *schema, const char *name, const char *expected)
{
    const json_t *property = json_object_get(json_object_get(schema, "properties"), name);
    char *text;

    assert_non_null(property);
    text = json_dumps(property, JSON_COMPACT);
    assert_string_equal(text, expected);
    free(text);
}

static void a_record_is_an_object_with_a_title(void **state)
{
    struct buf buf;

    (void)state;
    buf_init(&buf, 1 << 20);
    assert_int_equal(record_schema(&part_record, "a title", &buf), STATUS_OK);
    assert_string_equal(buf_peek(&buf),
                        "{\n"
                        " \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
                        " \"title\": \"a title\",\n"
                        " \"type\": \"object\",\n"
                        " \"properties\": {\n"
                        "  \"number\": {\n"
                        "   \"type\": \"integer\",\n"
                        "   \"minimum\": 0,\n"
                        "   \"maximum\": 10,\n"
                        "   \"description\": \"a number\"\n"
                        "  },\n"
                        "  \"text\": {\n"
                        "   \"type\": \"string\",\n"
                        "   \"description\": \"a text\"\n"
                        "  }\n"
                        " },\n"
                        " \"required\": [\n"
                        "  \"number\",\n"
                        "  \"text\"\n"
                        " ]\n"
                        "}\n");
    buf_done(&buf);
}

static void every_type_has_its_words(void **state)
{
    static const char part[] =
        "{\"type\":\"object\",\"properties\":{\"number\":{\"type\":\"integer\",\"minimum\":0,"
        "\"maximum\":10,\"description\":\"a number\"},\"text\":{\"type\":\"string\","
        "\"description\":\"a text\"}},\"required\":[\"number\",\"text\"]}";
    static const char named[] =
        "{\"type\":\"object\",\"properties\":{\"udp.sent\":{\"type\":[\"integer\",\"null\"],"
        "\"minimum\":0},\"a/b\":{\"type\":[\"integer\",\"null\"],\"minimum\":0},\"ip.~\":{\"type\":"
        "[\"integer\",\"null\"],\"minimum\":0}}}";
    json_t *schema = schema_of(&specimen_record);
    char text[1024];

    (void)state;
    says(schema, "flag", "{\"type\":\"boolean\"}");
    says(schema, "count", "{\"type\":\"integer\",\"minimum\":0}");
    says(schema, "small", "{\"type\":\"integer\",\"minimum\":-3,\"maximum\":10}");
    says(schema, "maybe",
         "{\"anyOf\":[{\"type\":\"integer\",\"minimum\":0},{\"type\":\"null\"}],"
         "\"description\":\"null where it is not known\"}");
    says(schema, "real", "{\"type\":\"number\",\"minimum\":0.5,\"maximum\":1e18}");
    says(schema, "text", "{\"type\":\"string\"}");
    says(schema, "maybe_text", "{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}");
    says(schema, "colour", "{\"enum\":[\"red\",\"green\",\"blue\"]}");
    says(schema, "part", part);
    snprintf(text, sizeof text, "{\"anyOf\":[%s,{\"type\":\"null\"}]}", part);
    says(schema, "maybe_part", text);
    says(schema, "first",
         "{\"type\":\"integer\",\"minimum\":0,\"maximum\":10,\"description\":\"a number\"}");
    says(schema, "named", named);
    says(schema, "ints",
         "{\"type\":\"array\",\"maxItems\":3,\"items\":{\"type\":\"integer\",\"minimum\":0,"
         "\"maximum\":10}}");
    says(schema, "colours",
         "{\"type\":\"array\",\"maxItems\":3,\"items\":{\"enum\":[\"red\",\"green\",\"blue\"]}}");
    says(schema, "pairs",
         "{\"type\":\"array\",\"maxItems\":3,\"items\":{\"type\":\"array\",\"minItems\":2,"
         "\"maxItems\":2,\"items\":{\"type\":\"integer\",\"minimum\":0}}}");
    says(schema, "points",
         "{\"type\":\"array\",\"maxItems\":3,\"items\":{\"type\":\"array\",\"minItems\":2,"
         "\"maxItems\":2,\"items\":{\"type\":\"number\"}}}");
    says(schema, "words", "{\"type\":\"array\",\"maxItems\":2,\"items\":{\"type\":\"string\"}}");
    snprintf(text, sizeof text, "{\"type\":\"array\",\"maxItems\":3,\"items\":%s}", named);
    says(schema, "nameds", text);
    says(schema, "numbers",
         "{\"type\":\"object\",\"additionalProperties\":{\"type\":[\"integer\",\"null\"]}}");
    says(schema, "texts", "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}}");
    json_decref(schema);
}

static bool is_required(const json_t *schema, const char *name)
{
    const json_t *required = json_object_get(schema, "required");

    for (size_t i = 0; i < json_array_size(required); i++) {
        if (strcmp(json_string_value(json_array_get(required, i)), name) == 0)
            return true;
    }
    return false;
}

static void what_may_be_missing_is_not_required(void **state)
{
    json_t *schema = schema_of(&specimen_record);

    (void)state;
    assert_false(is_required(schema, "optional"));
    assert_true(is_required(schema, "maybe"));
    assert_true(is_required(schema, "second"));
    assert_true(is_required(schema, "a/b~c"));
    assert_false(is_required(schema, "inlined"));
    assert_int_equal(json_array_size(json_object_get(schema, "required")),
                     json_object_size(json_object_get(schema, "properties")) - 1 - 3);
    json_decref(schema);
}

/* Keys that a choice brings are required with it, and only then. */
static void a_choice_is_a_condition(void **state)
{
    json_t *schema = schema_of(&specimen_record);
    char *text = json_dumps(json_object_get(schema, "allOf"), JSON_COMPACT);

    (void)state;
    assert_string_equal(text,
                        "[{\"if\":{\"properties\":{\"colour\":{\"const\":\"blue\"}}},\"then\":"
                        "{\"required\":[\"frost\"]}},{\"if\":{\"properties\":{\"colour\":"
                        "{\"const\":\"red\"}}},\"then\":{\"required\":[\"heat\",\"marks\"]}}]");
    free(text);
    for (const char *const *name = (const char *const[]){ "frost", "heat", "marks", NULL };
         *name != NULL; name++) {
        assert_non_null(json_object_get(json_object_get(schema, "properties"), *name));
        assert_false(is_required(schema, *name));
    }
    json_decref(schema);
}

static void a_full_buffer_is_a_status(void **state)
{
    struct buf buf;

    (void)state;
    buf_init(&buf, 100);
    assert_int_equal(record_schema(&specimen_record, "a title", &buf), STATUS_TOO_LARGE);
    buf_done(&buf);
}

static void a_run_has_a_schema(void **state)
{
    static const enum run_kind kinds[] = { RUN_LOOPBACK, RUN_PAIR, RUN_BUFFERS, RUN_MTU };

    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        json_t *schema = schema_of(run_record_of(kinds[i]));

        says(schema, "schema", "{\"type\":\"string\",\"description\":\"" RUN_SCHEMA "\"}");
        assert_true(is_required(schema, "plan") && is_required(schema, "cases"));
        json_decref(schema);
    }
    assert_null(run_record_of(RUN_KIND_COUNT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_is_an_object_with_a_title),
        cmocka_unit_test(every_type_has_its_words),
        cmocka_unit_test(what_may_be_missing_is_not_required),
        cmocka_unit_test(a_choice_is_a_condition),
        cmocka_unit_test(a_full_buffer_is_a_status),
        cmocka_unit_test(a_run_has_a_schema),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
