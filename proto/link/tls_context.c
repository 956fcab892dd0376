/* Owns what the connections of a process share: one SSL_CTX for both sides, made whole from files
 * that were checked. Must not know any connection. A context is never changed: new files make a new
 * one, because OpenSSL would keep the old certificates and CRLs beside the new. */
#include "proto/link/tls_context.h"

#include <assert.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "proto/base/memory.h"
#include "proto/link/certificate.h"
#include "proto/link/file_time.h"
#include "proto/link/pem.h"

enum {
    CHAIN_DEPTH = 4,        /* certificates between a leaf and its root */
    CHAIN_BYTES = 32 << 10, /* a peer's certificates in the handshake */
    SECURITY_LEVEL = 2,     /* 112 bits: no SHA-1, no RSA below 2048 */
    FILE_COUNT = 4,
};

/* Which file it was, for tls_context_changed. */
struct file_mark {
    char path[sizeof((struct tls_files *)0)->ca];
    bool there;
    struct timespec time;
    off_t size;
    ino_t inode;
    dev_t device;
};

struct tls_context {
    SSL_CTX *ssl;
    struct identity identity;
    struct wall expires, crl_expires;
    bool has_crl;
    struct file_mark files[FILE_COUNT];
};

/* What the files hold. */
struct parsed {
    STACK_OF(X509) * authorities;
    STACK_OF(X509) * chain;
    EVP_PKEY *key;
    STACK_OF(X509_CRL) * crls; /* NULL: none */
};

static void parsed_done(struct parsed *parsed)
{
    sk_X509_pop_free(parsed->authorities, X509_free);
    sk_X509_pop_free(parsed->chain, X509_free);
    EVP_PKEY_free(parsed->key);
    sk_X509_CRL_pop_free(parsed->crls, X509_CRL_free);
}

static struct file_mark mark_of(const char *path)
{
    struct file_mark mark = { .there = false };
    struct stat facts;

    assert(strlen(path) < sizeof mark.path);
    memcpy(mark.path, path, strlen(path) + 1);
    if (path[0] == '\0' || stat(path, &facts) != 0)
        return mark;
    mark.there = true;
    mark.time = file_time(&facts);
    mark.size = facts.st_size;
    mark.inode = facts.st_ino;
    mark.device = facts.st_dev;
    return mark;
}

static bool marks_equal(const struct file_mark *a, const struct file_mark *b)
{
    return a->there == b->there && a->time.tv_sec == b->time.tv_sec &&
           a->time.tv_nsec == b->time.tv_nsec && a->size == b->size && a->inode == b->inode &&
           a->device == b->device;
}

/* Before they are read: a change in between shows as one afterwards. */
static void mark_files(struct tls_context *context, const struct tls_files *files)
{
    context->files[0] = mark_of(files->ca);
    context->files[1] = mark_of(files->certificate);
    context->files[2] = mark_of(files->key);
    context->files[3] = mark_of(files->crl);
}

static enum status parse_files(const struct tls_files *files, struct parsed *parsed,
                               struct fault *fault)
{
    enum status status = pem_certificates(files->ca, &parsed->authorities, fault);

    if (status == STATUS_OK)
        status = pem_certificates(files->certificate, &parsed->chain, fault);
    if (status == STATUS_OK)
        status = pem_key(files->key, &parsed->key, fault);
    if (status == STATUS_OK && files->crl[0] != '\0')
        status = pem_crls(files->crl, &parsed->crls, fault);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < sk_X509_num(parsed->authorities); i++)
        if (X509_check_ca(sk_X509_value(parsed->authorities, i)) == 0)
            return fault_set(fault, STATUS_INVALID, "%s: certificate number %d is not a CA's",
                             files->ca, i + 1);
    if (X509_check_private_key(sk_X509_value(parsed->chain, 0), parsed->key) != 1) {
        ERR_clear_error();
        return fault_set(fault, STATUS_INVALID, "%s: not the key of the certificate in %s",
                         files->key, files->certificate);
    }
    return STATUS_OK;
}

/* Offers and takes this one protocol: the length of its name, and its name. */
static const unsigned char protocol[] = "\x07sonde/1";
enum { PROTOCOL_SIZE = sizeof protocol - 1 };

static int choose_protocol(SSL *ssl, const unsigned char **out_name, unsigned char *out_length,
                           const unsigned char *offered, unsigned offered_length, void *context)
{
    unsigned char *name;

    (void)ssl;
    (void)context;
    if (SSL_select_next_proto(&name, out_length, protocol, PROTOCOL_SIZE, offered,
                              offered_length) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out_name = name;
    return SSL_TLSEXT_ERR_OK;
}

/* choose_protocol is not asked when a client offers nothing at all. */
static int demand_protocol(SSL *ssl, int *out_alert, void *context)
{
    const unsigned char *offered;
    size_t length;

    (void)context;
    if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_application_layer_protocol_negotiation, &offered,
                                  &length) == 1)
        return SSL_CLIENT_HELLO_SUCCESS;
    *out_alert = SSL_AD_NO_APPLICATION_PROTOCOL;
    return SSL_CLIENT_HELLO_ERROR;
}

static bool set_rules(SSL_CTX *ssl)
{
    SSL_CTX_set_security_level(ssl, SECURITY_LEVEL);
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_verify_depth(ssl, CHAIN_DEPTH);
    SSL_CTX_set_max_cert_list(ssl, CHAIN_BYTES);
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(ssl, SSL_OP_NO_TICKET);
    SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_client_hello_cb(ssl, demand_protocol, NULL);
    SSL_CTX_set_alpn_select_cb(ssl, choose_protocol, NULL);
    return SSL_CTX_set_min_proto_version(ssl, TLS1_3_VERSION) == 1 &&
           SSL_CTX_set_max_proto_version(ssl, TLS1_3_VERSION) == 1 &&
           SSL_CTX_set_num_tickets(ssl, 0) == 1 &&
           SSL_CTX_set_alpn_protos(ssl, protocol, PROTOCOL_SIZE) == 0;
}

static bool set_identity(SSL_CTX *ssl, const struct parsed *parsed)
{
    bool fine = SSL_CTX_use_certificate(ssl, sk_X509_value(parsed->chain, 0)) == 1 &&
                SSL_CTX_use_PrivateKey(ssl, parsed->key) == 1;

    for (int i = 1; i < sk_X509_num(parsed->chain) && fine; i++)
        fine = SSL_CTX_add1_chain_cert(ssl, sk_X509_value(parsed->chain, i)) == 1;
    return fine;
}

static bool set_trust(SSL_CTX *ssl, const struct parsed *parsed)
{
    X509_STORE *store = SSL_CTX_get_cert_store(ssl);
    bool fine = true;

    for (int i = 0; i < sk_X509_num(parsed->authorities) && fine; i++)
        fine = X509_STORE_add_cert(store, sk_X509_value(parsed->authorities, i)) == 1;
    for (int i = 0; i < sk_X509_CRL_num(parsed->crls) && fine; i++)
        fine = X509_STORE_add_crl(store, sk_X509_CRL_value(parsed->crls, i)) == 1;
    if (fine && parsed->crls != NULL)
        fine = X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK) == 1;
    return fine;
}

static enum status build(struct tls_context *context, const struct tls_files *files,
                         const struct parsed *parsed, struct fault *fault)
{
    const char *what = NULL;
    unsigned long error;

    ERR_clear_error();
    context->ssl = SSL_CTX_new(TLS_method());
    if (context->ssl == NULL || !set_rules(context->ssl))
        what = "TLS 1.3 cannot be set up";
    else if (!set_identity(context->ssl, parsed))
        what = "the certificate cannot be used";
    else if (!set_trust(context->ssl, parsed))
        what = "the CA and its CRL cannot be used";
    if (what == NULL)
        return STATUS_OK;
    error = ERR_peek_last_error();
    ERR_clear_error();
    return fault_set(fault, STATUS_INVALID, "%s: %s: %s", files->certificate, what,
                     error != 0 ? ERR_reason_error_string(error) : "no reason given");
}

struct judgement {
    struct wall now;
    struct fault why;
};

/* Only during the verification is it known which CRL was wrong. */
static int note_refusal(int fine, X509_STORE_CTX *verification)
{
    struct judgement *judgement = X509_STORE_CTX_get_app_data(verification);

    if (!fine)
        certificate_refusal(verification, judgement->now, &judgement->why);
    return fine;
}

/* Judges our own certificate as the other side will, CRL included: controllers are TLS servers,
 * the others clients. */
static enum status verify_own(const struct tls_context *context, const struct tls_files *files,
                              const struct parsed *parsed, struct wall now, struct fault *fault)
{
    bool is_server = context->identity.role == ROLE_CONTROLLER;
    struct judgement judgement = { now, { "certificate cannot be verified" } };
    X509_STORE_CTX *verification = X509_STORE_CTX_new();
    X509_VERIFY_PARAM *rules;
    enum status status = STATUS_OK;

    if (verification == NULL ||
        X509_STORE_CTX_init(verification, SSL_CTX_get_cert_store(context->ssl),
                            sk_X509_value(parsed->chain, 0), parsed->chain) != 1) {
        status = fault_set(fault, STATUS_NO_RESOURCE, "%s: out of memory", files->certificate);
        goto out;
    }
    X509_STORE_CTX_set_app_data(verification, &judgement);
    X509_STORE_CTX_set_verify_cb(verification, note_refusal);
    X509_STORE_CTX_set_default(verification, is_server ? "ssl_server" : "ssl_client");
    rules = X509_STORE_CTX_get0_param(verification);
    X509_VERIFY_PARAM_set_time(rules, certificate_seconds(now));
    X509_VERIFY_PARAM_set_depth(rules, CHAIN_DEPTH);
    X509_VERIFY_PARAM_set_auth_level(rules, SECURITY_LEVEL);
    if (X509_verify_cert(verification) != 1)
        status = fault_set(fault, STATUS_INVALID, "%s: %s", files->certificate, judgement.why.text);
out:
    X509_STORE_CTX_free(verification);
    ERR_clear_error();
    return status;
}

static enum status check_identity(struct tls_context *context, const struct tls_files *files,
                                  const X509 *own, enum identity_role role, struct fault *fault)
{
    struct fault why;
    enum status status = certificate_identity(own, &context->identity, &why);

    if (status != STATUS_OK)
        return fault_set(fault, STATUS_INVALID, "%s: %s", files->certificate, why.text);
    if (context->identity.role != role)
        return fault_set(fault, STATUS_INVALID,
                         "%s: certificate of the role %s; this program needs one of the role %s",
                         files->certificate, role_names[context->identity.role], role_names[role]);
    return STATUS_OK;
}

static void note_ends(struct tls_context *context, const struct parsed *parsed)
{
    context->expires = certificate_time(X509_get0_notAfter(sk_X509_value(parsed->chain, 0)));
    context->crl_expires = (struct wall){ INT64_MAX };
    context->has_crl = sk_X509_CRL_num(parsed->crls) > 0;
    for (int i = 0; i < sk_X509_CRL_num(parsed->crls); i++) {
        const ASN1_TIME *next = X509_CRL_get0_nextUpdate(sk_X509_CRL_value(parsed->crls, i));
        struct wall end = { INT64_MAX };

        if (next != NULL)
            end = certificate_time(next);
        if (end.ns < context->crl_expires.ns)
            context->crl_expires = end;
    }
}

enum status tls_context_new(const struct tls_files *files, enum identity_role role, struct wall now,
                            struct tls_context **out_context, struct fault *fault)
{
    struct tls_context *context = memory_new(1, sizeof *context);
    struct parsed parsed = { NULL, NULL, NULL, NULL };
    enum status status;

    mark_files(context, files);
    status = parse_files(files, &parsed, fault);
    if (status == STATUS_OK)
        status = check_identity(context, files, sk_X509_value(parsed.chain, 0), role, fault);
    if (status == STATUS_OK)
        status = build(context, files, &parsed, fault);
    if (status == STATUS_OK)
        status = verify_own(context, files, &parsed, now, fault);
    if (status == STATUS_OK) {
        note_ends(context, &parsed);
        *out_context = context;
    } else {
        tls_context_free(context);
    }
    parsed_done(&parsed);
    return status;
}

void tls_context_free(struct tls_context *context)
{
    if (context == NULL)
        return;
    SSL_CTX_free(context->ssl);
    free(context);
}

bool tls_context_has_crl(const struct tls_context *context)
{
    return context->has_crl;
}

const struct identity *tls_context_identity(const struct tls_context *context)
{
    return &context->identity;
}

struct wall tls_context_expires(const struct tls_context *context)
{
    return context->expires;
}

struct wall tls_context_crl_expires(const struct tls_context *context)
{
    return context->crl_expires;
}

bool tls_context_changed(const struct tls_context *context)
{
    for (size_t i = 0; i < FILE_COUNT; i++) {
        struct file_mark now = mark_of(context->files[i].path);

        if (!marks_equal(&context->files[i], &now))
            return true;
    }
    return false;
}

void *tls_context_ssl(const struct tls_context *context)
{
    return context->ssl;
}
