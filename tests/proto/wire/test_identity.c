/* identity: what passes is spiffe://TRUST-DOMAIN/ROLE/NAME to the byte, and nothing else is. */
#include "proto/wire/identity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The bytes of a literal and how many: it may hold zeros. */
#define LITERAL(text) text, sizeof(text) - 1

/* In a block of exactly their size, so that the sanitizers see a byte too far. */
static enum status parse(const char *uri, size_t length, struct identity *out_identity,
                         struct fault *fault)
{
    char *exact = malloc(length + (length == 0));
    enum status status;

    assert_non_null(exact);
    memcpy(exact, uri, length);
    status = identity_parse(exact, length, out_identity, fault);
    free(exact);
    return status;
}

static void reads_and_writes_the_same(void **state)
{
    static const struct {
        const char *uri, *domain;
        enum identity_role role;
        const char *name;
    } good[] = {
        { "spiffe://fleet.example/agent/web-1", "fleet.example", ROLE_AGENT, "web-1" },
        { "spiffe://a/controller/x", "a", ROLE_CONTROLLER, "x" },
        { "spiffe://0-_./operator/-A_z.9", "0-_.", ROLE_OPERATOR, "-A_z.9" },
        { "spiffe://d/agent/agent", "d", ROLE_AGENT, "agent" },
        { "spiffe://d/agent/a..", "d", ROLE_AGENT, "a.." },
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct identity identity;
        struct fault fault = { "" };
        char uri[IDENTITY_URI_SIZE];

        assert_int_equal(parse(good[i].uri, strlen(good[i].uri), &identity, &fault), STATUS_OK);
        assert_string_equal(fault.text, "");
        assert_string_equal(identity.trust_domain, good[i].domain);
        assert_int_equal(identity.role, good[i].role);
        assert_string_equal(identity.name, good[i].name);
        identity_format(&identity, uri);
        assert_string_equal(uri, good[i].uri);
    }
}

#define FORM   " is not allowed: spiffe://TRUST-DOMAIN/ROLE/NAME"
#define DOMAIN " is not allowed: 1 to 255 of a-z 0-9 . - _"
#define ROLES  " is not allowed: one of agent, controller, operator"
#define NAMES  " is not allowed: 1 to 128 of A-Z a-z 0-9 . _ -, no dot first"

static const struct {
    const char *uri;
    size_t length;
    const char *expected;
} bad[] = {
    { LITERAL(""), "URI \"\"" FORM },
    { LITERAL("spiffe:/"), "URI \"spiffe:/\"" FORM },
    { LITERAL("SPIFFE://d/agent/x"), "URI \"SPIFFE://d/agent/x\"" FORM },
    { LITERAL("https://d/agent/x"), "URI \"https://d/agent/x\"" FORM },
    { LITERAL(" spiffe://d/agent/x"), "URI \" spiffe://d/agent/x\"" FORM },
    { LITERAL("spiffe://"), "trust domain \"\"" DOMAIN },
    { LITERAL("spiffe:///agent/x"), "trust domain \"\"" DOMAIN },
    { LITERAL("spiffe://D/agent/x"), "trust domain \"D\"" DOMAIN },
    { LITERAL("spiffe://d:1/agent/x"), "trust domain \"d:1\"" DOMAIN },
    { LITERAL("spiffe://u@d/agent/x"), "trust domain \"u@d\"" DOMAIN },
    { LITERAL("spiffe://d%41/agent/x"), "trust domain \"d%41\"" DOMAIN },
    { LITERAL("spiffe://d\0/agent/x"), "trust domain \"d\"" DOMAIN },
    { LITERAL("spiffe://\xc3\xb6/agent/x"), "trust domain \"\xc3\xb6\"" DOMAIN },
    { LITERAL("spiffe://d"), "role \"\"" ROLES },
    { LITERAL("spiffe://d/"), "role \"\"" ROLES },
    { LITERAL("spiffe://d//x"), "role \"\"" ROLES },
    { LITERAL("spiffe://d/Agent/x"), "role \"Agent\"" ROLES },
    { LITERAL("spiffe://d/agents/x"), "role \"agents\"" ROLES },
    { LITERAL("spiffe://d/agen/x"), "role \"agen\"" ROLES },
    { LITERAL("spiffe://d/agent\0/x"), "role \"agent\"" ROLES },
    { LITERAL("spiffe://d/admin/x"), "role \"admin\"" ROLES },
    { LITERAL("spiffe://d/agent"), "name \"\"" NAMES },
    { LITERAL("spiffe://d/agent/"), "name \"\"" NAMES },
    { LITERAL("spiffe://d/agent/.x"), "name \".x\"" NAMES },
    { LITERAL("spiffe://d/agent/.."), "name \"..\"" NAMES },
    { LITERAL("spiffe://d/agent/x/"), "name \"x/\"" NAMES },
    { LITERAL("spiffe://d/agent/x/y"), "name \"x/y\"" NAMES },
    { LITERAL("spiffe://d/agent//x"), "name \"/x\"" NAMES },
    { LITERAL("spiffe://d/agent/x?y"), "name \"x?y\"" NAMES },
    { LITERAL("spiffe://d/agent/x#y"), "name \"x#y\"" NAMES },
    { LITERAL("spiffe://d/agent/x\0y"), "name \"x\"" NAMES },
    { LITERAL("spiffe://d/agent/x\n"), "name \"x?\"" NAMES },
    { LITERAL("spiffe://d/agent/\x1b[2J"), "name \"?[2J\"" NAMES },
    { LITERAL("spiffe://d/agent/x y"), "name \"x y\"" NAMES },
};

static void refuses_with_the_part_that_is_wrong(void **state)
{
    struct identity identity, untouched;

    (void)state;
    memset(&identity, 0xaa, sizeof identity);
    untouched = identity;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct fault fault = { "" };

        assert_int_equal(parse(bad[i].uri, bad[i].length, &identity, &fault), STATUS_INVALID);
        assert_string_equal(fault.text, bad[i].expected);
        assert_memory_equal(&identity, &untouched, sizeof identity);
    }
}

/* Each byte in each place: what a name or a domain may hold and nothing beside it. */
static void parts_hold_only_their_bytes(void **state)
{
    static const char lower[] = "abcdefghijklmnopqrstuvwxyz0123456789.-_";
    static const char upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

    (void)state;
    for (int byte = 1; byte < 256; byte++) {
        char uri[64];
        struct identity identity;
        bool in_lower = strchr(lower, byte) != NULL, in_upper = strchr(upper, byte) != NULL;

        snprintf(uri, sizeof uri, "spiffe://a%cb/agent/x", byte);
        assert_int_equal(parse(uri, strlen(uri), &identity, NULL) == STATUS_OK, in_lower);
        snprintf(uri, sizeof uri, "spiffe://d/agent/a%cb", byte);
        assert_int_equal(parse(uri, strlen(uri), &identity, NULL) == STATUS_OK,
                         in_lower || in_upper);
        assert_int_equal(identity_name_ok(strrchr(uri, '/') + 1),
                         byte != '/' ? in_lower || in_upper : true);
    }
}

static void lengths_have_their_limits(void **state)
{
    char uri[600], letters[300];
    struct identity identity;
    size_t most = sizeof "spiffe:///controller/" - 1 + 255 + 128;

    (void)state;
    memset(letters, 'x', sizeof letters);
    for (int domain = 254; domain < 257; domain++) {
        for (int name = 127; name < 130; name++) {
            int length = snprintf(uri, sizeof uri, "spiffe://%.*s/controller/%.*s", domain, letters,
                                  name, letters);
            bool fits = domain <= 255 && name <= 128;

            assert_int_equal(parse(uri, (size_t)length, &identity, NULL),
                             fits ? STATUS_OK : STATUS_INVALID);
        }
    }
    snprintf(uri, sizeof uri, "spiffe://%.255s/controller/%.128s", letters, letters);
    assert_int_equal(parse(uri, most, &identity, NULL), STATUS_OK);
    memset(letters, 0, sizeof letters);
    identity_format(&identity, uri);
    assert_int_equal(strlen(uri), most);
    assert_true(most < IDENTITY_URI_SIZE);
}

static void names_alone_are_checked_too(void **state)
{
    char name[NAME_SIZE + 1];

    (void)state;
    assert_true(identity_name_ok("web-1.example_A"));
    assert_false(identity_name_ok(""));
    assert_false(identity_name_ok(".x"));
    assert_false(identity_name_ok("a b"));
    memset(name, 'x', sizeof name);
    name[128] = '\0';
    assert_true(identity_name_ok(name));
    name[128] = 'x';
    name[129] = '\0';
    assert_false(identity_name_ok(name));
}

static void equal_means_every_part(void **state)
{
    struct identity a, b;

    (void)state;
    assert_int_equal(parse(LITERAL("spiffe://d/agent/x"), &a, NULL), STATUS_OK);
    memset(&b, 0xff, sizeof b); /* what stands behind the zeros is no part of it */
    assert_int_equal(parse(LITERAL("spiffe://d/agent/x"), &b, NULL), STATUS_OK);
    assert_true(identity_equal(&a, &b));
    assert_int_equal(parse(LITERAL("spiffe://d/agent/y"), &b, NULL), STATUS_OK);
    assert_false(identity_equal(&a, &b));
    assert_int_equal(parse(LITERAL("spiffe://d/operator/x"), &b, NULL), STATUS_OK);
    assert_false(identity_equal(&a, &b));
    assert_int_equal(parse(LITERAL("spiffe://e/agent/x"), &b, NULL), STATUS_OK);
    assert_false(identity_equal(&a, &b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_and_writes_the_same),
        cmocka_unit_test(refuses_with_the_part_that_is_wrong),
        cmocka_unit_test(parts_hold_only_their_bytes),
        cmocka_unit_test(lengths_have_their_limits),
        cmocka_unit_test(names_alone_are_checked_too),
        cmocka_unit_test(equal_means_every_part),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
