/* record_from_yaml: what a person may write in a configuration file, and what is said of the rest.
 */
#include "proto/wire/record_yaml.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/wire/limits.h"
#include "tests/proto/wire/configuration.h"

static enum status read_file(const char *text, size_t length, struct file *out_file,
                             struct fault *fault)
{
    char *exact = malloc(length + (length == 0)); /* so that the sanitizers see a byte too far */
    struct yaml_text yaml = { "agent.yaml", exact, length };
    enum status status;

    assert_non_null(exact);
    memcpy(exact, text, length);
    defaults(out_file);
    status = record_from_yaml(&file_record, &yaml, out_file, fault);
    free(exact);
    return status;
}

static void reads(const char *text, struct file *out_file)
{
    struct fault fault = { "" };

    if (read_file(text, strlen(text), out_file, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
}

static void refuses_bytes(const char *text, size_t length, enum status status, const char *expected)
{
    struct file file, fresh;
    struct fault fault = { "" };

    record_init(&file_record, &fresh);
    assert_int_equal(read_file(text, length, &file, &fault), status);
    assert_string_equal(fault.text, expected);
    assert_memory_equal(&file, &fresh, sizeof file);
    assert_int_equal(read_file(text, length, &file, NULL), status);
}

static const char *peer(const struct file *file, size_t index)
{
    return ((char **)file->section.peers.items)[index];
}

static const struct rule *rule(const struct file *file, size_t index)
{
    return (const struct rule *)file->section.rules.items + index;
}

static void nothing_leaves_the_defaults(void **state)
{
    static const char *const empty[] = { "",    "\n",   "# only words\n",        "---\n",
                                         "{}",  "~\n",  "--- {}\n...\n",         "%YAML 1.1\n---\n",
                                         "---", "null", "\xef\xbb\xbf# words\n", "section: {}\n" };

    (void)state;
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        struct file file;

        reads(empty[i], &file);
        assert_string_equal(file.address, "localhost");
        assert_true(file.colour == GREEN && file.section.max_rate == 500 && file.patience == 7);
        assert_true(file.section.peers.count == 2 && !file.extra.present);
        record_done(&file_record, &file);
    }
}

static void what_is_given_replaces_its_default(void **state)
{
    struct file file;

    (void)state;
    reads("# a comment\n"
          "address: 10.9.2.2:7862 # another\n"
          "zone: eth0\n"
          "verbose: true\n"
          "colour: 'blue'\n"
          "section:\n"
          "  max_rate: 1_000_000\n"
          "  peers: [192.0.2.0/24]\n"
          "  rules:\n"
          "  - { range: true, rate: 1 }\n"
          "  - range: \"b\\u00f6\"\n"
          "    rate: 2\n"
          "    share: 0.25\n"
          "extra:\n"
          "    port: 1\n"
          "    name: |-\n"
          "      two\n"
          "      lines\n"
          "patience: ~\n",
          &file);
    assert_string_equal(file.address, "10.9.2.2:7862");
    assert_string_equal(file.zone, "eth0");
    assert_true(file.verbose && file.colour == BLUE && file.patience == NONE_INT);
    assert_true(file.section.max_rate == 1000000 && file.section.max_seconds == 2.5);
    assert_int_equal(file.section.peers.count, 1);
    assert_string_equal(peer(&file, 0), "192.0.2.0/24");
    assert_int_equal(file.section.rules.count, 2);
    assert_string_equal(rule(&file, 0)->range, "true");
    assert_string_equal(rule(&file, 1)->range, "b\xc3\xb6");
    assert_true(rule(&file, 1)->rate == 2 && rule(&file, 1)->share == 0.25);
    assert_true(file.extra.present && file.extra.port == 1);
    assert_string_equal(file.extra.name, "two\nlines");
    record_done(&file_record, &file);
}

static void null_and_empty_are_values_too(void **state)
{
    struct file file;

    (void)state;
    reads("section: { peers: [] }\nextra: ~\npatience:\nzone: \"null\"\naddress: ''\n", &file);
    assert_int_equal(file.section.peers.count, 0);
    assert_null(file.section.peers.items);
    assert_true(!file.extra.present && file.patience == NONE_INT);
    assert_string_equal(file.zone, "null");
    assert_string_equal(file.address, "");
    record_done(&file_record, &file);
}

static const struct {
    const char *text;
    double seconds; /* NAN: refused */
} numbers[] = {
    { "0", 0 },
    { "-1", -1 },
    { "1_0", 10 },
    { "0.5", 0.5 },
    { "-0.5", -0.5 },
    { "1_0.5", 10.5 },
    { "100.0", 100 },
    { "007", 7 },
    { ".5", NAN },
    { "5.", NAN },
    { "+5", NAN },
    { "0x10", NAN },
    { "1e1", NAN },
    { "_1", NAN },
    { "1_", NAN },
    { "1__0", NAN },
    { "-_1", NAN },
    { "1_.5", NAN },
    { "1._5", NAN },
    { ".inf", NAN },
    { ".nan", NAN },
    { "1,5", NAN },
    { "'1'", NAN },
    { "\"1\"", NAN },
    { "1 0", NAN },
    { "1:30", NAN },
    { "true", NAN },
    { "~", NAN },
    { "100.5", NAN },
    { "-1.5", NAN },
    { "0000000000000000000000000000000000000000000000000000000000000001", NAN },
};

static void numbers_are_decimal(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char text[128];
        struct file file;
        enum status status;

        snprintf(text, sizeof text, "section: { max_seconds: %s }", numbers[i].text);
        status = read_file(text, strlen(text), &file, NULL);
        assert_int_equal(status == STATUS_OK, !isnan(numbers[i].seconds));
        if (status == STATUS_OK)
            assert_true(file.section.max_seconds == numbers[i].seconds);
        record_done(&file_record, &file);
    }
}

struct refusal {
    const char *text;
    enum status status;
    const char *expected;
};

static void refuses_each(const struct refusal *refusals, size_t count)
{
    for (size_t i = 0; i < count; i++)
        refuses_bytes(refusals[i].text, strlen(refusals[i].text), refusals[i].status,
                      refusals[i].expected);
}

#define REFUSES_EACH(refusals) refuses_each(refusals, sizeof(refusals) / sizeof((refusals)[0]))

static const struct refusal wrong_values[] = {
    { "5", STATUS_INVALID, "agent.yaml:1: an integer is not allowed: an object (file)" },
    { "\n- a\n", STATUS_INVALID, "agent.yaml:2: a list is not allowed: an object (file)" },
    { "section:\n", STATUS_INVALID,
      "agent.yaml:1: section: null is not allowed: an object (section)" },
    { "section:\n\n  max_rate: 0\n", STATUS_RANGE,
      "agent.yaml:3: section.max_rate: an integer 0 is not allowed: an integer from 1 to "
      "1000000" },
    { "section:\n  max_rate: 99999999999999999999\n", STATUS_INVALID,
      "agent.yaml:2: section.max_rate: a number with a fraction 1e+20 is not allowed: an "
      "integer from 1 to 1000000" },
    { "section:\n  max_rate: \"5\"\n", STATUS_INVALID,
      "agent.yaml:2: section.max_rate: text \"5\" is not allowed: an integer from 1 to "
      "1000000" },
    { "section:\n  max_rate: fast\n", STATUS_INVALID,
      "agent.yaml:2: section.max_rate: text \"fast\" is not allowed: an integer from 1 to "
      "1000000" },
    { "section:\n  max_rate: [1,\n   2]\n", STATUS_INVALID,
      "agent.yaml:2: section.max_rate: a list is not allowed: an integer from 1 to 1000000" },
    { "section:\n  max_rate: 1.5\n", STATUS_INVALID,
      "agent.yaml:2: section.max_rate: a number with a fraction 1.5 is not allowed: an integer "
      "from 1 to 1000000" },
    { "verbose: yes\n", STATUS_INVALID,
      "agent.yaml:1: verbose: text \"yes\" is not allowed: true or false" },
    { "verbose: True\n", STATUS_INVALID,
      "agent.yaml:1: verbose: text \"True\" is not allowed: true or false" },
    { "verbose: 'true'\n", STATUS_INVALID,
      "agent.yaml:1: verbose: text \"true\" is not allowed: true or false" },
    { "colour: blu\n", STATUS_RANGE,
      "agent.yaml:1: colour: text \"blu\" is not allowed: one of red, green, blue" },
    { "address: ~\n", STATUS_INVALID,
      "agent.yaml:1: address: null is not allowed: UTF-8 text of at most 31 bytes" },
    { "address: 12345678901234567890123456789012\n", STATUS_RANGE,
      "agent.yaml:1: address: text \"12345678901234567890123456789012\" is not allowed: UTF-8 "
      "text of at most 31 bytes" },
    { "patience: 11\n", STATUS_RANGE,
      "agent.yaml:1: patience: an integer 11 is not allowed: an integer from 0 to 10 or null" },
    { "section:\n  peers: [a, b, c, d]\n", STATUS_TOO_LARGE,
      "agent.yaml:2: section.peers: 4 entries, at most 3 are allowed" },
    { "section:\n  peers:\n  - a\n  - ~\n", STATUS_INVALID,
      "agent.yaml:4: section.peers.1: null is not allowed: UTF-8 text of at most 4096 bytes" },
    { "section:\n  rules:\n  - range: a\n    rate: 1\n  - range: b\n    rate: 11\n", STATUS_RANGE,
      "agent.yaml:6: section.rules.1.rate: an integer 11 is not allowed: an integer from 0 to "
      "10" },
};

static void says_file_line_and_key(void **state)
{
    (void)state;
    REFUSES_EACH(wrong_values);
}

static void refuses_keys_that_nobody_knows(void **state)
{
    static const struct refusal refusals[] = {
        { "adress: x\n", STATUS_INVALID,
          "agent.yaml:1: adress: unknown key; did you mean address?" },
        { "address: x\nwhatever: 1\n", STATUS_INVALID, "agent.yaml:2: whatever: unknown key" },
        { "section:\n  max_rate: 1\n  max_second: 1\n", STATUS_INVALID,
          "agent.yaml:3: section.max_second: unknown key; did you mean max_seconds?" },
        { "max_rate: 1\n", STATUS_INVALID, "agent.yaml:1: max_rate: unknown key" },
        { "section:\n  rules:\n  - { range: a, rate: 1, rat: 2 }\n", STATUS_INVALID,
          "agent.yaml:3: section.rules.0.rat: unknown key; did you mean rate?" },
        { "<<: { verbose: true }\n", STATUS_INVALID, "agent.yaml:1: <<: unknown key" },
        { "\"a.b/c~d\": 1\n", STATUS_INVALID, "agent.yaml:1: a.b/c~d: unknown key" },
        { "\"\": 1\n", STATUS_INVALID, "agent.yaml:1: : unknown key" },
    };

    (void)state;
    REFUSES_EACH(refusals);
}

/* Nobody has given these a default. */
static void elements_and_optional_records_must_be_whole(void **state)
{
    static const struct refusal refusals[] = {
        { "section:\n  rules:\n  - rate: 1\n", STATUS_INVALID,
          "agent.yaml:3: section.rules.0.range: missing" },
        { "section:\n  rules: [{ range: a }]\n", STATUS_INVALID,
          "agent.yaml:2: section.rules.0.rate: missing" },
        { "extra:\n  name: x\n", STATUS_INVALID, "agent.yaml:1: extra.port: missing" },
    };

    (void)state;
    REFUSES_EACH(refusals);
}

static void refuses_what_a_configuration_does_not_need(void **state)
{
    static const struct refusal refusals[] = {
        { "address: &a x\n", STATUS_INVALID, "agent.yaml:1: address: anchors are not allowed" },
        { "zone: 1\naddress: *a\n", STATUS_INVALID,
          "agent.yaml:2: address: aliases are not allowed" },
        { "section: &s\n  max_rate: 1\n", STATUS_INVALID,
          "agent.yaml:1: section: anchors are not allowed" },
        { "section:\n  peers: &p [a]\n", STATUS_INVALID,
          "agent.yaml:2: section.peers: anchors are not allowed" },
        { "&k address: x\n", STATUS_INVALID, "agent.yaml:1: anchors are not allowed" },
        { "address: !!str x\n", STATUS_INVALID, "agent.yaml:1: address: tags are not allowed" },
        { "address: ! x\n", STATUS_INVALID, "agent.yaml:1: address: tags are not allowed" },
        { "section: !!map {}\n", STATUS_INVALID, "agent.yaml:1: section: tags are not allowed" },
        { "a: 1\n---\nb: 2\n", STATUS_INVALID, "agent.yaml:2: a second document is not allowed" },
        { "---\n---\n", STATUS_INVALID, "agent.yaml:2: a second document is not allowed" },
        { "verbose: true\nzone: a\n'verbose': true\n", STATUS_INVALID,
          "agent.yaml:3: verbose: is there twice" },
        { "section:\n  max_rate: 1\n  max_rate: 2\n", STATUS_INVALID,
          "agent.yaml:3: section.max_rate: is there twice" },
        { "[a]: 1\n", STATUS_INVALID, "agent.yaml:1: a key that is no text" },
        { "section:\n  ? {a: b}\n  : 1\n", STATUS_INVALID,
          "agent.yaml:2: section: a key that is no text" },
        { "address: \"a\\0b\"\n", STATUS_INVALID, "agent.yaml:1: address: text with a zero byte" },
        { "\"add\\0ress\": 1\n", STATUS_INVALID, "agent.yaml:1: text with a zero byte" },
        { "a: [[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]\n", STATUS_TOO_LARGE,
          "agent.yaml:1: a.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0: nested deeper than 16 levels" },
    };

    (void)state;
    REFUSES_EACH(refusals);
}

/* The words are libyaml's, the lines ours. */
static void refuses_what_is_no_yaml(void **state)
{
    static const struct {
        const char *text;
        const char *start;
    } broken[] = {
        { "verbose: true\n  zone: a\n", "agent.yaml:2: " },
        { "section: {\n", "agent.yaml:2: " },
        { "a: b: c\n", "agent.yaml:1: " },
        { "a: 'b\n", "agent.yaml:2: " },
        { "\ta: b\n", "agent.yaml:1: " },
        { "section:\n\tmax_rate: 1\n", "agent.yaml:2: " },
        { "a: 1\nb: \xff\n", "agent.yaml:2: " },
        { "a: 1\nb: \xed\xa0\x80\n", "agent.yaml:2: " },
        { "a: 1\n\nb: \x01\n", "agent.yaml:3: " },
        { "a: \"\\ud800\"\n", "agent.yaml:1: " },
        { "a: @b\n", "agent.yaml:1: " },
        { "}", "agent.yaml:1: " },
        { "a\n", "agent.yaml:1: text is not allowed: an object (file)" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        struct file file;
        struct fault fault = { "" };

        assert_int_equal(read_file(broken[i].text, strlen(broken[i].text), &file, &fault),
                         STATUS_INVALID);
        if (strncmp(fault.text, broken[i].start, strlen(broken[i].start)) != 0)
            fail_msg("%s: not: %s", broken[i].start, fault.text);
    }
}

static void sizes_have_their_limits(void **state)
{
    char *big = malloc(LIMIT_CONFIG_BYTES + 2);
    size_t used = 0;

    (void)state;
    assert_non_null(big);
    memset(big, '\n', LIMIT_CONFIG_BYTES + 1);
    refuses_bytes(big, LIMIT_CONFIG_BYTES + 1, STATUS_TOO_LARGE,
                  "agent.yaml:1: 1048577 bytes, at most 1048576 are allowed");
    for (int i = 0; i < LIMIT_MAP_ENTRIES + 1; i++)
        used += (size_t)snprintf(big + used, 32, "k%d: 1\n", i);
    refuses_bytes(big, used, STATUS_TOO_LARGE, "agent.yaml:1025: more than 1024 keys");
    memset(big, '[', LIMIT_CONFIG_BYTES);
    refuses_bytes(big, LIMIT_CONFIG_BYTES, STATUS_TOO_LARGE,
                  "agent.yaml:1: 0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0: nested deeper than 16 levels");
    free(big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_leaves_the_defaults),
        cmocka_unit_test(what_is_given_replaces_its_default),
        cmocka_unit_test(null_and_empty_are_values_too),
        cmocka_unit_test(numbers_are_decimal),
        cmocka_unit_test(says_file_line_and_key),
        cmocka_unit_test(refuses_keys_that_nobody_knows),
        cmocka_unit_test(elements_and_optional_records_must_be_whole),
        cmocka_unit_test(refuses_what_a_configuration_does_not_need),
        cmocka_unit_test(refuses_what_is_no_yaml),
        cmocka_unit_test(sizes_have_their_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
