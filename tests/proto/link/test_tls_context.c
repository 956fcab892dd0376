/* What a context is made from is checked when it is loaded, in words that name the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/proto/link/pair.h"

static const int64_t day_ns = 86400 * NS_PER_S;

static struct wall in_days(int64_t days)
{
    return (struct wall){ wall_now().ns + days * day_ns };
}

/* Refused with these words, and the file's name in front. */
static void assert_refused_at(const struct tls_files *files, struct wall now, const char *file,
                              const char *words)
{
    struct tls_context *context = NULL;
    struct fault fault = { "" };

    assert_int_not_equal(tls_context_new(files, ROLE_AGENT, now, &context, &fault), STATUS_OK);
    assert_null(context);
    assert_has(fault.text, words);
    assert_int_equal(strncmp(fault.text, file, strlen(file)), 0);
}

static void assert_refused(const struct tls_files *files, const char *file, const char *words)
{
    assert_refused_at(files, wall_now(), file, words);
}

static void set(char *out_path, const char *path)
{
    snprintf(out_path, 4096, "%s", path);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
}

static void good_files_make_a_context(void **state)
{
    static const enum certs_key keys[] = { CERTS_P256, CERTS_ED25519 };
    struct world *world = *state;

    for (size_t i = 0; i < 2; i++) {
        struct certs_wish wish = { .uris = { AGENT_URI }, .key = keys[i] };
        struct tls_files files;
        struct tls_context *context;

        wish.until = in_days(7);
        certs_issue(world->certs, world->ca, &wish, &files);
        context = world_load(&files, ROLE_AGENT, wall_now());
        assert_string_equal(tls_context_identity(context)->name, "a");
        assert_int_equal(tls_context_identity(context)->role, ROLE_AGENT);
        assert_int_equal(tls_context_expires(context).ns / NS_PER_S, wish.until.ns / NS_PER_S);
        assert_int_equal(tls_context_crl_expires(context).ns, INT64_MAX);
        assert_false(tls_context_changed(context));
        tls_context_free(context);
    }
    tls_context_free(NULL);
}

static void a_chain_over_an_intermediate_is_good(void **state)
{
    struct world *world = *state;
    struct tls_files files;

    certs_good(world->certs, certs_intermediate(world->certs, world->ca, "between"), AGENT_URI,
               &files);
    tls_context_free(world_load(&files, ROLE_AGENT, wall_now()));
}

static void missing_and_broken_files_are_named(void **state)
{
    struct world *world = *state;
    const char *missing = certs_path(world->certs, "missing.pem");
    const char *broken = certs_path(world->certs, "broken.pem");
    const char *cut = certs_path(world->certs, "cut.pem");
    struct tls_files files = world->agent_files;

    write_file(broken, "nothing of the kind\n");
    write_file(cut, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    assert_int_equal(chmod(broken, 0600), 0);
    set(files.ca, missing);
    assert_refused(&files, missing, "No such file");
    set(files.ca, broken);
    assert_refused(&files, broken, "no certificate in it");
    set(files.ca, cut);
    assert_refused(&files, cut, "certificate number 1 cannot be read");
    files = world->agent_files;
    set(files.certificate, broken);
    assert_refused(&files, broken, "no certificate in it");
    files = world->agent_files;
    set(files.key, broken);
    assert_refused(&files, broken, "no private key in it");
    files = world->agent_files;
    set(files.crl, files.ca);
    assert_refused(&files, files.ca, "no CRL in it");
}

static void a_key_that_others_may_use_is_refused(void **state)
{
    static const mode_t modes[] = { 0640, 0604, 0660, 0644, 0610 };
    struct world *world = *state;
    struct tls_files files;

    certs_good(world->certs, world->ca, AGENT_URI, &files);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        assert_int_equal(chmod(files.key, modes[i]), 0);
        assert_refused(&files, files.key, "chmod 600");
    }
    assert_int_equal(chmod(files.key, 0400), 0);
    tls_context_free(world_load(&files, ROLE_AGENT, wall_now()));
}

static void a_key_with_a_passphrase_is_refused(void **state)
{
    struct world *world = *state;
    struct tls_files files = world->agent_files;

    set(files.key, certs_locked_key(world->certs));
    assert_refused(&files, files.key, "passphrase");
}

static void anothers_key_is_refused(void **state)
{
    struct world *world = *state;
    struct tls_files files = world->agent_files;

    set(files.key, world->controller_files.key);
    assert_refused(&files, files.key, "not the key of the certificate in");
}

static void times_are_judged_by_now(void **state)
{
    struct world *world = *state;
    struct certs_wish wish = { .uris = { AGENT_URI } };
    struct tls_files files;

    wish.from = in_days(10);
    wish.until = in_days(20);
    certs_issue(world->certs, world->ca, &wish, &files);
    assert_refused(&files, files.certificate, "not yet valid: it begins at ");
    assert_refused(&files, files.certificate, "local time is ");
    tls_context_free(world_load(&files, ROLE_AGENT, in_days(15)));
    assert_refused_at(&files, in_days(21), files.certificate, "expired at ");
    assert_refused_at(&files, in_days(21), files.certificate, "local time is ");
}

static void names_and_roles_are_checked(void **state)
{
    static const struct {
        const char *uris[CERTS_NAMES];
        const char *words;
    } cases[] = {
        { { NULL }, "without a role" },
        { { AGENT_URI, "spiffe://test/agent/b" }, "2 URI names" },
        { { "https://test/agent/a" }, "wrong name" },
        { { "spiffe://test/king/a" }, "wrong name" },
        { { CONTROLLER_URI }, "this program needs one of the role agent" },
    };
    struct world *world = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct certs_wish wish = { .dns = { "agent.test" } };
        struct tls_files files;

        memcpy(wish.uris, cases[i].uris, sizeof wish.uris);
        certs_issue(world->certs, world->ca, &wish, &files);
        assert_refused(&files, files.certificate, cases[i].words);
    }
}

static void an_unknown_authority_is_refused(void **state)
{
    struct world *world = *state;
    struct tls_files files = world->agent_files;

    set(files.ca, certs_ca(certs_authority(world->certs, "stranger", CERTS_P256)));
    assert_refused(&files, files.certificate, "unknown CA");
    set(files.ca, certs_ca(certs_authority(world->certs, "ca", CERTS_P256)));
    assert_refused(&files, files.certificate, "CA"); /* of the same name */
    set(files.ca, files.certificate);
    assert_refused(&files, files.ca, "is not a CA's");
}

static void the_purpose_must_fit_the_role(void **state)
{
    struct world *world = *state;
    struct certs_wish wish = { .uris = { AGENT_URI }, .usage = CERTS_SERVER_ONLY };
    struct tls_files files;

    certs_issue(world->certs, world->ca, &wish, &files);
    assert_refused(&files, files.certificate, "wrong purpose");
    wish.usage = CERTS_CLIENT_ONLY;
    certs_issue(world->certs, world->ca, &wish, &files);
    tls_context_free(world_load(&files, ROLE_AGENT, wall_now()));
    wish.usage = CERTS_ANY;
    certs_issue(world->certs, world->ca, &wish, &files);
    tls_context_free(world_load(&files, ROLE_AGENT, wall_now()));
    wish = (struct certs_wish){ .uris = { CONTROLLER_URI }, .usage = CERTS_SERVER_ONLY };
    certs_issue(world->certs, world->ca, &wish, &files);
    tls_context_free(world_load(&files, ROLE_CONTROLLER, wall_now()));
}

static void revocation_lists_are_checked(void **state)
{
    struct world *world = *state;
    struct authority *ca = certs_authority(world->certs, "lister", CERTS_P256);
    struct authority *other = certs_authority(world->certs, "other", CERTS_P256);
    struct wall none = { 0 };
    struct tls_files files, revoked;
    struct tls_context *context;

    certs_good(world->certs, ca, AGENT_URI, &files);
    certs_good(world->certs, ca, AGENT_URI, &revoked);
    set(files.crl, certs_crl(world->certs, ca, none, in_days(3)));
    context = world_load(&files, ROLE_AGENT, wall_now());
    assert_in_range(tls_context_crl_expires(context).ns, in_days(3).ns - 10 * NS_PER_S,
                    in_days(3).ns);
    tls_context_free(context);
    assert_refused_at(&files, in_days(4), files.certificate, "the CRL expired at ");
    set(files.crl, certs_crl(world->certs, ca, in_days(1), in_days(3)));
    assert_refused(&files, files.certificate, "the CRL is not yet valid");
    set(files.crl, certs_crl(world->certs, other, none, none));
    assert_refused(&files, files.certificate, "the CRL file has none of its CA");
    certs_revoke(ca, &revoked);
    set(revoked.crl, certs_crl(world->certs, ca, none, none));
    assert_refused(&revoked, revoked.certificate, "certificate revoked (" AGENT_URI ")");
    set(files.crl, revoked.crl);
    tls_context_free(world_load(&files, ROLE_AGENT, wall_now()));
}

/* What a daemon does on SIGHUP and from time to time: look, load, keep the old when it is broken.
 */
static void changed_files_are_seen(void **state)
{
    struct world *world = *state;
    struct tls_files files, newer;
    struct tls_context *context, *next = NULL;
    struct fault fault;

    certs_good(world->certs, world->ca, AGENT_URI, &files);
    certs_good(world->certs, world->ca, "spiffe://test/agent/new", &newer);
    context = world_load(&files, ROLE_AGENT, wall_now());
    assert_false(tls_context_changed(context));
    assert_int_equal(rename(newer.certificate, files.certificate), 0);
    assert_true(tls_context_changed(context));
    assert_int_equal(tls_context_new(&files, ROLE_AGENT, wall_now(), &next, &fault),
                     STATUS_INVALID); /* the key is still the old one */
    assert_null(next);
    assert_int_equal(rename(newer.key, files.key), 0);
    next = world_load(&files, ROLE_AGENT, wall_now());
    assert_false(tls_context_changed(next));
    assert_true(tls_context_changed(context));
    assert_string_equal(tls_context_identity(context)->name, "a");
    assert_string_equal(tls_context_identity(next)->name, "new");
    assert_int_equal(unlink(files.key), 0);
    assert_true(tls_context_changed(next));
    tls_context_free(context);
    tls_context_free(next);
}

static void a_file_of_the_same_size_written_in_place_is_seen(void **state)
{
    struct world *world = *state;
    struct tls_files files;
    struct tls_context *context;
    struct stat facts;
    char text[4096];
    size_t length;
    FILE *file;

    certs_good(world->certs, world->ca, AGENT_URI, &files);
    context = world_load(&files, ROLE_AGENT, wall_now());
    file = fopen(files.certificate, "r+");
    assert_non_null(file);
    length = fread(text, 1, sizeof text, file);
    do { /* the clock of file times is coarse */
        rewind(file);
        assert_int_equal(fwrite(text, 1, length, file), length);
        assert_int_equal(fflush(file), 0);
        assert_int_equal(stat(files.certificate, &facts), 0);
    } while (!tls_context_changed(context));
    assert_int_equal(facts.st_size, length);
    fclose(file);
    tls_context_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_files_make_a_context),
        cmocka_unit_test(a_chain_over_an_intermediate_is_good),
        cmocka_unit_test(missing_and_broken_files_are_named),
        cmocka_unit_test(a_key_that_others_may_use_is_refused),
        cmocka_unit_test(a_key_with_a_passphrase_is_refused),
        cmocka_unit_test(anothers_key_is_refused),
        cmocka_unit_test(times_are_judged_by_now),
        cmocka_unit_test(names_and_roles_are_checked),
        cmocka_unit_test(an_unknown_authority_is_refused),
        cmocka_unit_test(the_purpose_must_fit_the_role),
        cmocka_unit_test(revocation_lists_are_checked),
        cmocka_unit_test(changed_files_are_seen),
        cmocka_unit_test(a_file_of_the_same_size_written_in_place_is_seen),
    };

    return cmocka_run_group_tests(tests, world_make, world_end);
}
