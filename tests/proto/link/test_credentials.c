/* A daemon's certificates: which are in use when files change or break, and what is told of their
 * end, on times of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/file.h"
#include "proto/base/text.h"
#include "proto/link/credentials.h"
#include "tests/proto/link/make_certs.h"

#define DAY_NS (24 * 3600 * NS_PER_S)

struct stage {
    struct certs *certs;
    struct authority *ca;
    struct tls_files files;
    struct credentials credentials;
    struct wall now;
    const struct tls_context *used; /* by whoever borrows the context */
    unsigned uses;
};

static void take(void *context, const struct tls_context *fresh)
{
    struct stage *stage = context;

    /* The old one is still whole when the new one is handed over. */
    assert_ptr_equal(stage->used, stage->credentials.context);
    assert_string_equal(tls_context_identity(stage->used)->name, "a");
    stage->used = fresh;
    stage->uses++;
}

static enum credentials_news read_again(struct stage *stage)
{
    const struct credentials_user user = { take, stage };

    return credentials_read(&stage->credentials, &stage->files, &user, stage->now);
}

/* Opens what ends at these times; 0: in 30 days, and without a list. */
static void open_until(struct stage *stage, int64_t certificate_ns, int64_t crl_ns)
{
    const struct certs_wish wish = {
        .uris = { "spiffe://test/agent/a" },
        .until = { certificate_ns == 0 ? 0 : stage->now.ns + certificate_ns }
    };
    struct fault fault;

    certs_issue(stage->certs, stage->ca, &wish, &stage->files);
    if (crl_ns != 0)
        text_copy(stage->files.crl, sizeof stage->files.crl,
                  certs_crl(stage->certs, stage->ca, (struct wall){ 0 },
                            (struct wall){ stage->now.ns + crl_ns }));
    stage->credentials = (struct credentials){ .role = ROLE_AGENT, .notice_ns = 3 * DAY_NS };
    if (credentials_open(&stage->credentials, &stage->files, stage->now, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    stage->used = stage->credentials.context;
}

static int set_up(void **state)
{
    struct stage *stage = calloc(1, sizeof *stage);

    stage->certs = certs_new();
    stage->ca = certs_authority(stage->certs, "ca", CERTS_P256);
    stage->now = wall_now();
    *state = stage;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *stage = *state;

    credentials_done(&stage->credentials);
    certs_free(stage->certs);
    free(stage);
    return 0;
}

static void break_certificate(struct stage *stage, const char *words)
{
    assert_int_equal(file_write_whole(stage->files.certificate, words, strlen(words), NULL),
                     STATUS_OK);
}

static void what_does_not_open_leaves_nothing(void **state)
{
    struct stage *stage = *state;
    struct fault fault = { "" };

    open_until(stage, 0, 0);
    credentials_done(&stage->credentials);
    assert_null(stage->credentials.context);
    break_certificate(stage, "no\n");
    assert_int_not_equal(credentials_open(&stage->credentials, &stage->files, stage->now, &fault),
                         STATUS_OK);
    assert_non_null(strstr(fault.text, stage->files.certificate));
    assert_null(stage->credentials.context);
}

static void new_files_are_used_and_old_ones_freed(void **state)
{
    struct stage *stage = *state;
    struct tls_files fresh;

    open_until(stage, 0, 0);
    assert_false(credentials_are_stale(&stage->credentials));
    certs_good(stage->certs, stage->ca, "spiffe://test/agent/a", &fresh);
    stage->files = fresh;
    assert_int_equal(read_again(stage), CREDENTIALS_FRESH);
    assert_int_equal(stage->uses, 1);
    assert_ptr_equal(stage->used, stage->credentials.context);
    assert_false(credentials_are_stale(&stage->credentials));
}

static void broken_files_keep_the_old_and_are_told_once_for_each_reason(void **state)
{
    struct stage *stage = *state;
    const struct tls_context *old;

    open_until(stage, 0, 0);
    old = stage->credentials.context;
    break_certificate(stage, "no\n");
    assert_true(credentials_are_stale(&stage->credentials));
    assert_int_equal(read_again(stage), CREDENTIALS_BROKEN);
    assert_non_null(strstr(stage->credentials.fault, stage->files.certificate));
    assert_int_equal(read_again(stage), CREDENTIALS_SAME);
    assert_true(credentials_are_stale(&stage->credentials));
    stage->credentials.fault[0] = '\0'; /* somebody asked */
    assert_int_equal(read_again(stage), CREDENTIALS_BROKEN);
    text_copy(stage->files.certificate, sizeof stage->files.certificate, "/nonexistent/a.pem");
    assert_int_equal(read_again(stage), CREDENTIALS_BROKEN);
    assert_ptr_equal(stage->credentials.context, old);
    assert_int_equal(stage->uses, 0);
    certs_good(stage->certs, stage->ca, "spiffe://test/agent/a", &stage->files);
    assert_int_equal(read_again(stage), CREDENTIALS_FRESH);
    assert_string_equal(stage->credentials.fault, "");
}

static void expect_notice(struct stage *stage, enum credentials_item item, const char *begins,
                          bool ends)
{
    char words[CREDENTIALS_WORDS] = "";
    bool ended = !ends;

    if (begins == NULL) {
        assert_false(credentials_notice(&stage->credentials, item, stage->now, &ended, words));
        return;
    }
    assert_true(credentials_notice(&stage->credentials, item, stage->now, &ended, words));
    assert_memory_equal(words, begins, strlen(begins));
    assert_int_equal(ended, ends);
    /* Once. */
    assert_false(credentials_notice(&stage->credentials, item, stage->now, &ended, words));
}

static void an_end_is_told_day_by_day_and_when_it_has_come(void **state)
{
    struct stage *stage = *state;

    open_until(stage, 5 * DAY_NS + NS_PER_S, 0);
    expect_notice(stage, CREDENTIALS_CERTIFICATE, NULL, false);
    stage->now.ns += 2 * DAY_NS + 2 * NS_PER_S;
    expect_notice(stage, CREDENTIALS_CERTIFICATE, "ends in 2 days: ", false);
    stage->now.ns += DAY_NS;
    expect_notice(stage, CREDENTIALS_CERTIFICATE, "ends in 1 day: ", false);
    stage->now.ns += DAY_NS;
    expect_notice(stage, CREDENTIALS_CERTIFICATE, "ends at ", false);
    stage->now.ns += DAY_NS;
    expect_notice(stage, CREDENTIALS_CERTIFICATE, "has ended: ", true);
    expect_notice(stage, CREDENTIALS_CRL, NULL, false); /* there is none */
}

static void a_list_and_a_certificate_do_not_hide_each_other(void **state)
{
    struct stage *stage = *state;

    open_until(stage, 2 * DAY_NS + NS_PER_S, DAY_NS + NS_PER_S);
    expect_notice(stage, CREDENTIALS_CRL, "ends in 1 day: ", false);
    expect_notice(stage, CREDENTIALS_CERTIFICATE, "ends in 2 days: ", false);
    stage->now.ns += DAY_NS + 2 * NS_PER_S;
    expect_notice(stage, CREDENTIALS_CRL, "has ended: ", true);
    expect_notice(stage, CREDENTIALS_CERTIFICATE, "ends at ", false);
}

static void new_certificates_are_told_of_anew(void **state)
{
    struct stage *stage = *state;
    const struct certs_wish wish = { .uris = { "spiffe://test/agent/a" },
                                     .until = { stage->now.ns + 2 * DAY_NS + NS_PER_S } };

    open_until(stage, 2 * DAY_NS + NS_PER_S, 0);
    expect_notice(stage, CREDENTIALS_CERTIFICATE, "ends in 2 days: ", false);
    certs_issue(stage->certs, stage->ca, &wish, &stage->files);
    assert_int_equal(read_again(stage), CREDENTIALS_FRESH);
    expect_notice(stage, CREDENTIALS_CERTIFICATE, "ends in 2 days: ", false);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_does_not_open_leaves_nothing),
        TEST(new_files_are_used_and_old_ones_freed),
        TEST(broken_files_keep_the_old_and_are_told_once_for_each_reason),
        TEST(an_end_is_told_day_by_day_and_when_it_has_come),
        TEST(a_list_and_a_certificate_do_not_hide_each_other),
        TEST(new_certificates_are_told_of_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
