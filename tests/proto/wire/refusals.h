/* What to change in the specimen's JSON so that a reader refuses it, and how: the same in every
 * form. Include after cmocka.h. */
#ifndef SONDE_TESTS_REFUSALS_H
#define SONDE_TESTS_REFUSALS_H

#include "proto/wire/limits.h"
#include "tests/proto/wire/specimen.h"

struct refusal {
    const char *from, *to;
    const char *expected;
    enum status status;
};

static const struct refusal specimen_refusals[] = {
    { "\"flag\":true", "\"flag\":1", "/flag: an integer 1 is not allowed: true or false",
      STATUS_INVALID },
    { "\"small\":-3", "\"small\":\"3\"",
      "/small: text \"3\" is not allowed: an integer from -3 to 10", STATUS_INVALID },
    { "\"small\":-3", "\"small\":3.0",
      "/small: a number with a fraction 3 is not allowed: an integer from -3 to 10",
      STATUS_INVALID },
    { "\"small\":-3", "\"small\":null", "/small: null is not allowed: an integer from -3 to 10",
      STATUS_INVALID },
    { "\"maybe\":null", "\"maybe\":[]",
      "/maybe: a list is not allowed: an integer from 0 up or null", STATUS_INVALID },
    { "\"real\":2304", "\"real\":\"1\"",
      "/real: text \"1\" is not allowed: a number from 0.5 to 1e+18", STATUS_INVALID },
    { "\"real\":2304", "\"real\":null", "/real: null is not allowed: a number from 0.5 to 1e+18",
      STATUS_INVALID },
    { "\"maybe_text\":null", "\"maybe_text\":1",
      "/maybe_text: an integer 1 is not allowed: UTF-8 text of at most 15 bytes or null",
      STATUS_INVALID },
    { "\"colour\":\"blue\"", "\"colour\":null",
      "/colour: null is not allowed: one of red, green, blue", STATUS_INVALID },
    { "\"part\":{", "\"part\":null,\"p\":{", "/part: null is not allowed: an object (part)",
      STATUS_INVALID },
    { "\"maybe_part\":null", "\"maybe_part\":[]",
      "/maybe_part: a list is not allowed: an object (part)", STATUS_INVALID },
    { "\"number\":7", "\"number\":true",
      "/part/number: true or false is not allowed: an integer from 0 to 10", STATUS_INVALID },
    { "\"first\":1", "\"first\":{}", "/first: an object is not allowed: an integer from 0 to 10",
      STATUS_INVALID },
    { "\"named\":{", "\"named\":null,\"n\":{", "/named: null is not allowed: an object",
      STATUS_INVALID },
    { "\"a/b\":null", "\"a/b\":\"x\"",
      "/named/a~1b: text \"x\" is not allowed: an integer from 0 up or null", STATUS_INVALID },
    { "[3,0,10]", "null", "/ints: null is not allowed: a list", STATUS_INVALID },
    { "[3,0,10]", "[3,null]", "/ints/1: null is not allowed: an integer from 0 to 10",
      STATUS_INVALID },
    { "[0.5,1]", "[0.5,\"\"]", "/reals/1: text \"\" is not allowed: a number from 0 to 10",
      STATUS_INVALID },
    { "[\"green\"]", "[1]", "/colours/0: an integer 1 is not allowed: one of red, green, blue",
      STATUS_INVALID },
    { "[3,4]", "[3]", "/pairs/1: a list is not allowed: a pair of integers [a, b] from 0 up",
      STATUS_INVALID },
    { "[3,4]", "[3,4,5]", "/pairs/1: a list is not allowed: a pair of integers [a, b] from 0 up",
      STATUS_INVALID },
    { "[3,4]", "[3,-4]", "/pairs/1: a list is not allowed: a pair of integers [a, b] from 0 up",
      STATUS_INVALID },
    { "[0,1.5]", "[0]", "/points/0: a list is not allowed: a pair of numbers [x, y]",
      STATUS_INVALID },
    { "[0,1.5]", "[0,1.5,2]", "/points/0: a list is not allowed: a pair of numbers [x, y]",
      STATUS_INVALID },
    { "[-2,3]", "[null,3]", "/points/1: a list is not allowed: a pair of numbers [x, y]",
      STATUS_INVALID },
    { "[-2,3]", "[\"-2\",3]", "/points/1: a list is not allowed: a pair of numbers [x, y]",
      STATUS_INVALID },
    { "[-2,3]", "-2", "/points/1: an integer -2 is not allowed: a pair of numbers [x, y]",
      STATUS_INVALID },
    { "[-2,3]", "[1,2],[3,4],[5,6]", "/points: 4 entries, at most 3 are allowed",
      STATUS_TOO_LARGE },
    { "\"frost\":9", "\"frost\":null", "/frost: null is not allowed: an integer from 0 to 10",
      STATUS_INVALID },
    { "[\"sonde\",", "[\"sonde\",null,", "/words: 3 entries, at most 2 are allowed",
      STATUS_TOO_LARGE },
    { "{\"number\":2", "null,{\"number\":2", "/parts/1: null is not allowed: an object (part)",
      STATUS_INVALID },
    { "\"text\":\"two\"", "\"text\":2",
      "/parts/1/text: an integer 2 is not allowed: UTF-8 text of at most 7 bytes", STATUS_INVALID },
    { "\"net.core/rmem~\":4", "\"net.core/rmem~\":4.5",
      "/numbers/net.core~1rmem~0: a number with a fraction 4.5 is not allowed: an integer from "
      "-9223372036854775807 up or null",
      STATUS_INVALID },
    { "\"zeromq\":\"4.3.4\"", "\"zeromq\":null",
      "/texts/zeromq: null is not allowed: UTF-8 text of at most 255 bytes", STATUS_INVALID },
    { "\"count\":9007199254740993", "\"count\":-1",
      "/count: an integer -1 is not allowed: an integer from 0 up", STATUS_RANGE },
    { "\"count\":9007199254740993", "\"count\":-9223372036854775808",
      "/count: an integer -9223372036854775808 is not allowed: an integer from 0 up",
      STATUS_RANGE },
    { "\"small\":-3", "\"small\":-4",
      "/small: an integer -4 is not allowed: an integer from -3 to 10", STATUS_RANGE },
    { "\"maybe\":null", "\"maybe\":-9223372036854775808",
      "/maybe: an integer -9223372036854775808 is not allowed: an integer from 0 up or null",
      STATUS_RANGE },
    { "\"real\":2304", "\"real\":0.25",
      "/real: a number with a fraction 0.25 is not allowed: a number from 0.5 to 1e+18",
      STATUS_RANGE },
    { "\"real\":2304", "\"real\":9223372036854775807",
      "/real: an integer 9223372036854775807 is not allowed: a number from 0.5 to 1e+18",
      STATUS_RANGE },
    { "\"maybe_text\":null", "\"maybe_text\":\"0123456789abcdef\"",
      "/maybe_text: text \"0123456789abcdef\" is not allowed: UTF-8 text of at most 15 bytes "
      "or null",
      STATUS_RANGE },
    { "\"colour\":\"blue\"", "\"colour\":\"Blue\"",
      "/colour: text \"Blue\" is not allowed: one of red, green, blue", STATUS_RANGE },
    { "\"ip.~\":5", "\"ip.~\":-5",
      "/named/ip.~0: an integer -5 is not allowed: an integer from 0 up or null", STATUS_RANGE },
    { "\"ip.~\":5", "\"ip.~\":-9223372036854775808",
      "/named/ip.~0: an integer -9223372036854775808 is not allowed: an integer from 0 up or "
      "null",
      STATUS_RANGE },
    { "\"lower\":-1", "\"lower\":-9223372036854775808",
      "/numbers/lower: an integer -9223372036854775808 is not allowed: an integer from "
      "-9223372036854775807 up or null",
      STATUS_RANGE },
    { "[3,0,10]", "[3,0,11]", "/ints/2: an integer 11 is not allowed: an integer from 0 to 10",
      STATUS_RANGE },
    { "\"a/b~c\":2.5", "\"a/b~c\":25",
      "/a~1b~0c: an integer 25 is not allowed: a number from 0 to 10", STATUS_RANGE },
    { "\"flag\":true,", "", "/flag: missing", STATUS_INVALID },
    { "\"maybe\":null,", "", "/maybe: missing", STATUS_INVALID },
    { "\"number\":7,", "", "/part/number: missing", STATUS_INVALID },
    { "\"second\":0.125,", "", "/second: missing", STATUS_INVALID },
    { "\"frost\":9,", "", "/frost: missing", STATUS_INVALID },
    { "\"colour\":\"blue\"", "\"colour\":\"red\"", "/heat: missing", STATUS_INVALID },
    { ",\"text\":\"two\"", "", "/parts/1/text: missing", STATUS_INVALID },
    { "\"nameds\":", "\"named2\":", "/nameds: missing", STATUS_INVALID },
    { ",\"a/b~c\":2.5", "", "/a~1b~0c: missing", STATUS_INVALID },
};

/* `refuses` reads the JSON in its form and checks what it is told. */
static inline void refuse_each(const struct refusal *refusals, size_t count,
                               void (*refuses)(const char *text, enum status status,
                                               const char *expected))
{
    for (size_t i = 0; i < count; i++) {
        char *text = changed(refusals[i].from, refusals[i].to);

        refuses(text, refusals[i].status, refusals[i].expected);
        free(text);
    }
}

static inline void refuse_specimens(void (*refuses)(const char *text, enum status status,
                                                    const char *expected))
{
    refuse_each(specimen_refusals, sizeof specimen_refusals / sizeof specimen_refusals[0], refuses);
}

/* Too many and too long: what does not fit into a table. */
static inline void refuse_large(void (*refuses)(const char *text, enum status status,
                                                const char *expected))
{
    struct refusal refusal = { "[3,0,10]", "[1,2,3,4]", "/ints: 4 entries, at most 3 are allowed",
                               STATUS_TOO_LARGE };
    char *big = malloc(1 << 20);

    assert_non_null(big);
    refuse_each(&refusal, 1, refuses);
    memcpy(big, "\"lower\":-1", 11);
    for (int i = 0; i < LIMIT_MAP_ENTRIES; i++)
        snprintf(big + strlen(big), 32, ",\"key%d\":1", i);
    refusal =
        (struct refusal){ "\"lower\":-1", big, "/numbers: 1027 entries, at most 1024 are allowed",
                          STATUS_TOO_LARGE };
    refuse_each(&refusal, 1, refuses);
    snprintf(big, 1 << 20, "\"%064d\":-1", 0);
    refusal = (struct refusal){ "\"lower\":-1", big,
                                "/numbers/"
                                "0000000000000000000000000000000000000000000000000000000000000000: "
                                "key longer than 63 bytes",
                                STATUS_TOO_LARGE };
    refuse_each(&refusal, 1, refuses);
    snprintf(big, 1 << 20, "\"4.3%0253d\"", 0);
    refusal = (struct refusal){ "\"4.3.4\"", big,
                                "/texts/zeromq: text \"4.30000000000000000000000000000000000000\" "
                                "is not allowed: UTF-8 text of at most 255 bytes",
                                STATUS_RANGE };
    refuse_each(&refusal, 1, refuses);
    snprintf(big, 1 << 20, "\"%04097d\"", 0);
    refusal = (struct refusal){ "\"sonde\"", big,
                                "/words/0: text \"0000000000000000000000000000000000000000\" is "
                                "not allowed: UTF-8 text of at most 4096 bytes",
                                STATUS_RANGE };
    refuse_each(&refusal, 1, refuses);
    free(big);
}

#endif
