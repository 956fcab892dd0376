/* Owns a folder of certificates for tests. Asserts are its errors: it is part of the test. */
#include "tests/proto/link/make_certs.h"

#include <assert.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/memory.h"

enum { AUTHORITIES_MAX = 16, PATHS_MAX = 65536, PATH_SIZE = 128, NAMES_SIZE = 512 };

static const int64_t hour_ns = 3600 * NS_PER_S;

struct authority {
    X509 *certificate;
    EVP_PKEY *key;
    struct authority *root; /* NULL: it is one */
    X509_CRL *crl;
    long lists;
    const char *path;
};

struct certs {
    char folder[32];
    char *paths[PATHS_MAX]; /* heap */
    size_t path_count;
    struct authority authorities[AUTHORITIES_MAX];
    size_t authority_count;
    long serial;
};

/* OpenSSL's answers here: anything but 0 is success. */
static void need(long result)
{
    assert(result > 0);
    if (result <= 0)
        abort();
}

struct certs *certs_new(void)
{
    struct certs *certs = memory_new(1, sizeof *certs);

    memcpy(certs->folder, "/tmp/sonde-certs-XXXXXX", sizeof "/tmp/sonde-certs-XXXXXX");
    need(mkdtemp(certs->folder) != NULL);
    return certs;
}

void certs_free(struct certs *certs)
{
    if (certs == NULL)
        return;
    for (size_t i = 0; i < certs->path_count; i++) {
        unlink(certs->paths[i]);
        free(certs->paths[i]);
    }
    rmdir(certs->folder);
    for (size_t i = 0; i < certs->authority_count; i++) {
        X509_free(certs->authorities[i].certificate);
        EVP_PKEY_free(certs->authorities[i].key);
        X509_CRL_free(certs->authorities[i].crl);
    }
    free(certs);
}

const char *certs_path(struct certs *certs, const char *name)
{
    char *path = memory_new(PATH_SIZE, 1);

    need(certs->path_count < PATHS_MAX);
    need(snprintf(path, PATH_SIZE, "%s/%s", certs->folder, name) < PATH_SIZE);
    certs->paths[certs->path_count++] = path;
    return path;
}

/* A path of its own: NUMBER-NAME. */
static const char *fresh_path(struct certs *certs, const char *name)
{
    char numbered[64];

    snprintf(numbered, sizeof numbered, "%zu-%s", certs->path_count, name);
    return certs_path(certs, numbered);
}

static FILE *open_file(const char *path)
{
    FILE *file = fopen(path, "we");

    need(file != NULL);
    return file;
}

static EVP_PKEY *new_key(enum certs_key kind)
{
    EVP_PKEY *key = kind == CERTS_ED25519 ? EVP_PKEY_Q_keygen(NULL, NULL, "ED25519")
                                          : EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");

    need(key != NULL);
    return key;
}

static const EVP_MD *digest_for(EVP_PKEY *key)
{
    return EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519 ? NULL : EVP_sha256();
}

/* `time`, or this far from now when it is 0. */
static void set_time(ASN1_TIME *out, struct wall time, int64_t from_now_ns)
{
    int64_t ns = time.ns != 0 ? time.ns : wall_now().ns + from_now_ns;

    need(ASN1_TIME_set(out, (time_t)(ns / NS_PER_S)) != NULL);
}

static void add_extension(X509 *certificate, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509_EXTENSION *extension;

    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    need(extension != NULL);
    need(X509_add_ext(certificate, extension, -1));
    X509_EXTENSION_free(extension);
}

/* Begun, without extensions and signature. */
static X509 *new_certificate(struct certs *certs, const char *name, EVP_PKEY *key)
{
    X509 *certificate = X509_new();
    X509_NAME *subject = X509_get_subject_name(certificate);

    need(X509_set_version(certificate, X509_VERSION_3));
    need(ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++certs->serial));
    need(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name, -1,
                                    -1, 0));
    need(X509_set_pubkey(certificate, key));
    return certificate;
}

static struct authority *add_authority(struct certs *certs, struct authority *root,
                                       const char *name, enum certs_key kind)
{
    struct authority *authority = &certs->authorities[certs->authority_count];
    X509 *issuer;

    need(certs->authority_count < AUTHORITIES_MAX);
    certs->authority_count++;
    authority->root = root;
    authority->key = new_key(kind);
    authority->certificate = new_certificate(certs, name, authority->key);
    issuer = root != NULL ? root->certificate : authority->certificate;
    set_time(X509_getm_notBefore(authority->certificate), (struct wall){ 0 }, -10000 * hour_ns);
    set_time(X509_getm_notAfter(authority->certificate), (struct wall){ 0 }, 100000 * hour_ns);
    need(X509_set_issuer_name(authority->certificate, X509_get_subject_name(issuer)));
    add_extension(authority->certificate, issuer, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(authority->certificate, issuer, NID_key_usage, "critical,keyCertSign,cRLSign");
    add_extension(authority->certificate, issuer, NID_subject_key_identifier, "hash");
    need(X509_sign(authority->certificate, root != NULL ? root->key : authority->key,
                   digest_for(root != NULL ? root->key : authority->key)));
    authority->crl = X509_CRL_new();
    return authority;
}

struct authority *certs_authority(struct certs *certs, const char *name, enum certs_key key)
{
    struct authority *authority = add_authority(certs, NULL, name, key);
    FILE *file;

    authority->path = fresh_path(certs, "ca.pem");
    file = open_file(authority->path);
    need(PEM_write_X509(file, authority->certificate));
    fclose(file);
    return authority;
}

struct authority *certs_intermediate(struct certs *certs, struct authority *root, const char *name)
{
    return add_authority(certs, root, name, CERTS_P256);
}

const char *certs_ca(const struct authority *authority)
{
    return authority->root != NULL ? authority->root->path : authority->path;
}

const char *certs_both(struct certs *certs, const struct authority *a, const struct authority *b)
{
    const char *path = fresh_path(certs, "both.pem");
    FILE *file = open_file(path);

    need(PEM_write_X509(file, a->certificate));
    need(PEM_write_X509(file, b->certificate));
    fclose(file);
    return path;
}

static void add_name(char *text, const char *kind, const char *name)
{
    size_t length = strlen(text);

    snprintf(text + length, NAMES_SIZE - length, "%s%s:%s", length > 0 ? "," : "", kind, name);
}

static void add_wishes(X509 *certificate, X509 *issuer, const struct certs_wish *wish)
{
    static const char *const usages[] = { "clientAuth,serverAuth", "clientAuth", "serverAuth" };
    char names[NAMES_SIZE] = "";

    for (size_t i = 0; i < CERTS_NAMES; i++) {
        if (wish->uris[i] != NULL)
            add_name(names, "URI", wish->uris[i]);
        if (wish->dns[i] != NULL)
            add_name(names, "DNS", wish->dns[i]);
        if (wish->ips[i] != NULL)
            add_name(names, "IP", wish->ips[i]);
    }
    add_extension(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE");
    add_extension(certificate, issuer, NID_authority_key_identifier, "keyid");
    if (wish->usage != CERTS_ANY)
        add_extension(certificate, issuer, NID_ext_key_usage, usages[wish->usage]);
    if (names[0] != '\0')
        add_extension(certificate, issuer, NID_subject_alt_name, names);
}

static void set_path(char *out_path, size_t size, const char *path)
{
    need(snprintf(out_path, size, "%s", path) < (int)size);
}

static void write_leaf(const struct authority *authority, X509 *certificate, EVP_PKEY *key,
                       const struct tls_files *files)
{
    FILE *file = open_file(files->certificate);

    need(PEM_write_X509(file, certificate));
    if (authority->root != NULL)
        need(PEM_write_X509(file, authority->certificate));
    fclose(file);
    file = open_file(files->key);
    need(fchmod(fileno(file), 0600) == 0);
    need(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL));
    fclose(file);
}

void certs_issue(struct certs *certs, struct authority *authority, const struct certs_wish *wish,
                 struct tls_files *out_files)
{
    EVP_PKEY *key = new_key(wish->key);
    X509 *certificate = new_certificate(certs, "leaf", key);

    set_time(X509_getm_notBefore(certificate), wish->from, -hour_ns);
    set_time(X509_getm_notAfter(certificate), wish->until, 720 * hour_ns);
    need(X509_set_issuer_name(certificate, X509_get_subject_name(authority->certificate)));
    add_wishes(certificate, authority->certificate, wish);
    need(X509_sign(certificate, authority->key, digest_for(authority->key)));
    set_path(out_files->ca, sizeof out_files->ca, certs_ca(authority));
    set_path(out_files->certificate, sizeof out_files->certificate, fresh_path(certs, "cert.pem"));
    set_path(out_files->key, sizeof out_files->key, fresh_path(certs, "key.pem"));
    out_files->crl[0] = '\0';
    write_leaf(authority, certificate, key, out_files);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

void certs_good(struct certs *certs, struct authority *authority, const char *uri,
                struct tls_files *out_files)
{
    struct certs_wish wish = { .uris = { uri } };

    certs_issue(certs, authority, &wish, out_files);
}

const char *certs_locked_key(struct certs *certs)
{
    const char *path = fresh_path(certs, "locked.pem");
    FILE *file = open_file(path);
    EVP_PKEY *key = new_key(CERTS_P256);

    need(fchmod(fileno(file), 0600) == 0);
    need(PEM_write_PrivateKey(file, key, EVP_aes_128_cbc(), (const unsigned char *)"secret", 6,
                              NULL, NULL));
    fclose(file);
    EVP_PKEY_free(key);
    return path;
}

void certs_revoke(struct authority *authority, const struct tls_files *files)
{
    FILE *file = fopen(files->certificate, "re");
    X509 *certificate;
    X509_REVOKED *revoked = X509_REVOKED_new();
    ASN1_TIME *when = ASN1_TIME_set(NULL, (time_t)(wall_now().ns / NS_PER_S) - 60);

    need(file != NULL);
    certificate = PEM_read_X509(file, NULL, NULL, NULL);
    fclose(file);
    need(certificate != NULL);
    need(X509_REVOKED_set_serialNumber(revoked, X509_get_serialNumber(certificate)));
    need(X509_REVOKED_set_revocationDate(revoked, when));
    need(X509_CRL_add0_revoked(authority->crl, revoked));
    ASN1_TIME_free(when);
    X509_free(certificate);
}

const char *certs_crl(struct certs *certs, struct authority *authority, struct wall from,
                      struct wall until)
{
    X509_CRL *crl = authority->crl;
    ASN1_TIME *last = ASN1_TIME_new();
    ASN1_TIME *next = ASN1_TIME_new();
    ASN1_INTEGER *number = ASN1_INTEGER_new();
    const char *path = fresh_path(certs, "crl.pem");
    FILE *file = open_file(path);

    set_time(last, from, -hour_ns);
    set_time(next, until, 720 * hour_ns);
    need(X509_CRL_set_version(crl, X509_CRL_VERSION_2));
    need(X509_CRL_set_issuer_name(crl, X509_get_subject_name(authority->certificate)));
    need(X509_CRL_set1_lastUpdate(crl, last));
    need(X509_CRL_set1_nextUpdate(crl, next));
    need(ASN1_INTEGER_set(number, ++authority->lists));
    need(X509_CRL_add1_ext_i2d(crl, NID_crl_number, number, 0, X509V3_ADD_REPLACE));
    need(X509_CRL_sort(crl));
    need(X509_CRL_sign(crl, authority->key, digest_for(authority->key)));
    need(PEM_write_X509_CRL(file, crl));
    fclose(file);
    ASN1_TIME_free(last);
    ASN1_TIME_free(next);
    ASN1_INTEGER_free(number);
    return path;
}
