/* Owns one SSL object and the bytes on both sides of it. Must not know sockets, frames or time.
 *
 * OpenSSL reads from the caller's bytes in place and writes into a buffer that is freed when it was
 * taken, so an idle connection holds none. Its error queue belongs to the thread and not to the
 * connection: it is emptied before each call and after each failure.
 */
#include "proto/link/tls.h"

#include <assert.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/memory.h"
#include "proto/base/text.h"
#include "proto/link/certificate.h"
#include "proto/link/tls_words.h"
#include "proto/wire/limits.h"

enum {
    HANDSHAKE_BYTES = 64 << 10, /* that a stranger may send */
    OUTPUT_BYTES = 4 * LIMIT_FRAME,
    CHUNK_BYTES = 16 << 10, /* a TLS record's plain bytes */
    RECORD_HEADER = 5,
    RECORD_BYTES = (16 << 10) + 256, /* the largest that RFC 8446 allows, section 5.2 */
    RECORD_HANDSHAKE = 22,
};

struct tls {
    SSL *ssl;
    BIO_METHOD *method;
    struct wall now;
    char trust_domain[TRUST_DOMAIN_SIZE];
    const uint8_t *in; /* borrowed during tls_input */
    size_t in_left;
    bool begun;       /* OpenSSL has been given something */
    struct buf first; /* what came before */
    size_t handshake_bytes;
    struct buf out;
    bool open, ended, failed;
    bool bad_name; /* tls_new has no fault to say it in */
    /* Words that a callback has found during tls_input, where OpenSSL's are poorer. */
    struct fault *fault;
    bool told;
};

static int take_input(BIO *bio, char *out_bytes, int size)
{
    struct tls *tls = BIO_get_data(bio);
    size_t length = (size_t)size < tls->in_left ? (size_t)size : tls->in_left;

    BIO_clear_retry_flags(bio);
    if (length == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    if (!tls->open && length > HANDSHAKE_BYTES - tls->handshake_bytes) {
        tls->told = true;
        fault_set(tls->fault, STATUS_INVALID, "more than %d bytes before the handshake was over",
                  HANDSHAKE_BYTES);
        return -1;
    }
    if (!tls->open)
        tls->handshake_bytes += length;
    memcpy(out_bytes, tls->in, length);
    tls->in += length;
    tls->in_left -= length;
    return (int)length;
}

static int put_output(BIO *bio, const char *bytes, int length)
{
    struct tls *tls = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    buf_append(&tls->out, bytes, (size_t)length);
    return buf_status(&tls->out) == STATUS_OK ? length : -1;
}

static long control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static int note_refusal(int fine, X509_STORE_CTX *verification)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(verification, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct tls *tls = SSL_get_app_data(ssl);

    if (!fine) {
        certificate_refusal(verification, tls->now, tls->fault);
        tls->told = true;
    }
    return fine;
}

static BIO *new_bio(struct tls *tls)
{
    BIO *bio;

    tls->method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "sonde");
    if (tls->method == NULL || BIO_meth_set_read(tls->method, take_input) != 1 ||
        BIO_meth_set_write(tls->method, put_output) != 1 ||
        BIO_meth_set_ctrl(tls->method, control) != 1)
        abort();
    bio = BIO_new(tls->method);
    if (bio == NULL)
        abort();
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    return bio;
}

/* SNI carries no addresses (RFC 6066 section 3). False when it can be no name. */
static bool set_name(SSL *ssl, const char *name, bool check)
{
    ASN1_OCTET_STRING *address = a2i_IPADDRESS(name);
    bool is_address = address != NULL;
    char sent[TLSEXT_MAXLEN_host_name + 1]; /* OpenSSL's macro wants what it may not change */

    ASN1_OCTET_STRING_free(address);
    if (is_address)
        return !check || X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
    SSL_set_hostflags(ssl,
                      X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    return text_copy(sent, sizeof sent, name) && SSL_set_tlsext_host_name(ssl, sent) == 1 &&
           (!check || SSL_set1_host(ssl, name) == 1);
}

struct tls *tls_new(const struct tls_context *context, enum tls_side side, const char *server_name,
                    bool check_name, struct wall now)
{
    struct tls *tls = memory_new(1, sizeof *tls);
    BIO *bio = new_bio(tls);

    assert(!check_name || server_name != NULL);
    ERR_clear_error();
    tls->now = now;
    memcpy(tls->trust_domain, tls_context_identity(context)->trust_domain,
           sizeof tls->trust_domain);
    buf_init(&tls->out, OUTPUT_BYTES);
    buf_init(&tls->first, HANDSHAKE_BYTES);
    tls->begun = side == TLS_CLIENT; /* which speaks first */
    tls->ssl = SSL_new(tls_context_ssl(context));
    if (tls->ssl == NULL)
        abort();
    SSL_set_bio(tls->ssl, bio, bio);
    SSL_set_app_data(tls->ssl, tls);
    SSL_set_verify(tls->ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, note_refusal);
    X509_VERIFY_PARAM_set_time(SSL_get0_param(tls->ssl), certificate_seconds(now));
    if (side == TLS_SERVER) {
        SSL_set_accept_state(tls->ssl);
    } else {
        SSL_set_connect_state(tls->ssl);
        tls->bad_name = server_name != NULL && !set_name(tls->ssl, server_name, check_name);
        tls->failed = tls->bad_name;
    }
    ERR_clear_error();
    return tls;
}

void tls_free(struct tls *tls)
{
    if (tls == NULL)
        return;
    SSL_free(tls->ssl);
    BIO_meth_free(tls->method);
    buf_done(&tls->out);
    buf_done(&tls->first);
    free(tls);
}

/* Words for a call that has failed just now. */
static enum status failure(struct tls *tls, int error, struct fault *fault)
{
    unsigned long reason = ERR_peek_last_error();

    tls->failed = true;
    ERR_clear_error();
    if (error == SSL_ERROR_ZERO_RETURN)
        return fault_set(fault, STATUS_INVALID, "the other side closed during the handshake");
    if (tls->told)
        return ERR_GET_REASON(reason) == SSL_R_CERTIFICATE_VERIFY_FAILED ? STATUS_DENIED
                                                                         : STATUS_INVALID;
    if (buf_status(&tls->out) != STATUS_OK)
        return fault_set(fault, STATUS_TOO_LARGE, "more than %d bytes of output", OUTPUT_BYTES);
    return tls_words(reason, fault);
}

static bool speaks_protocol(const SSL *ssl)
{
    static const char wanted[] = "sonde/1";
    const unsigned char *name;
    unsigned length;

    SSL_get0_alpn_selected(ssl, &name, &length);
    return length == sizeof wanted - 1 && memcmp(name, wanted, length) == 0;
}

static enum status go_on(struct tls *tls, struct fault *fault)
{
    int result, error;

    ERR_clear_error();
    result = SSL_do_handshake(tls->ssl);
    error = SSL_get_error(tls->ssl, result);
    if (error == SSL_ERROR_WANT_READ)
        return STATUS_OK;
    if (error != SSL_ERROR_NONE)
        return failure(tls, error, fault);
    tls->open = true;
    if (speaks_protocol(tls->ssl))
        return STATUS_OK;
    tls_close(tls);
    tls->failed = true;
    return fault_set(fault, STATUS_INVALID, "the other side did not choose the protocol sonde/1");
}

static enum status read_plain(struct tls *tls, struct buf *out_plain, struct fault *fault)
{
    char chunk[CHUNK_BYTES];

    for (;;) {
        size_t length = 0;
        int result, error;

        ERR_clear_error();
        result = SSL_read_ex(tls->ssl, chunk, sizeof chunk, &length);
        error = SSL_get_error(tls->ssl, result);
        if (error == SSL_ERROR_WANT_READ)
            return STATUS_OK;
        if (error == SSL_ERROR_ZERO_RETURN) {
            tls->ended = true;
            return STATUS_OK;
        }
        if (error != SSL_ERROR_NONE)
            return failure(tls, error, fault);
        buf_append(out_plain, chunk, length);
        if (buf_status(out_plain) != STATUS_OK) {
            tls->failed = true;
            return fault_set(fault, STATUS_TOO_LARGE, "more than %zu bytes at once",
                             out_plain->cap);
        }
    }
}

/* Whether these bytes begin with a whole record, or with none that a hello could be in. */
static bool has_record(const uint8_t *bytes, size_t length)
{
    size_t announced;

    if (length > 0 && bytes[0] != RECORD_HANDSHAKE)
        return true;
    if (length < RECORD_HEADER)
        return false;
    announced = (size_t)bytes[3] << 8 | bytes[4];
    return announced > RECORD_BYTES || length - RECORD_HEADER >= announced;
}

static enum status feed(struct tls *tls, const void *bytes, size_t length, struct buf *out_plain,
                        struct fault *fault)
{
    enum status status = STATUS_OK;

    tls->in = bytes;
    tls->in_left = length;
    tls->fault = fault;
    tls->told = false;
    if (!tls->open)
        status = go_on(tls, fault);
    if (status == STATUS_OK && tls->open)
        status = read_plain(tls, out_plain, fault);
    tls->in = NULL;
    tls->in_left = 0;
    tls->fault = NULL;
    return status;
}

/* A stranger is to take no more memory than it has sent: OpenSSL takes 32 KiB with the first byte,
 * so that it is given the first record when that is whole. */
static enum status begin(struct tls *tls, const void *bytes, size_t length, struct buf *out_plain,
                         struct fault *fault)
{
    enum status status;

    buf_append(&tls->first, bytes, length);
    status = buf_status(&tls->first);
    if (status != STATUS_OK) {
        tls->failed = true;
        return fault_set(fault, STATUS_INVALID, "more than %d bytes before the handshake was over",
                         HANDSHAKE_BYTES);
    }
    if (!has_record((const uint8_t *)tls->first.data, tls->first.length))
        return STATUS_OK;
    tls->begun = true;
    status = feed(tls, tls->first.data, tls->first.length, out_plain, fault);
    buf_done(&tls->first);
    return status;
}

enum status tls_input(struct tls *tls, const void *bytes, size_t length, struct buf *out_plain,
                      struct fault *fault)
{
    if (tls->failed)
        return fault_set(fault, STATUS_INVALID, "%s",
                         tls->bad_name ? "the server's name cannot be used for TLS"
                                       : "the connection has failed before");
    if (tls->ended)
        return STATUS_OK;
    return tls->begun ? feed(tls, bytes, length, out_plain, fault)
                      : begin(tls, bytes, length, out_plain, fault);
}

enum status tls_write(struct tls *tls, const void *bytes, size_t length, struct fault *fault)
{
    size_t written = 0;
    int result, error;

    assert(tls->open);
    if (tls->failed)
        return fault_set(fault, STATUS_INVALID, "the connection has failed before");
    if (length == 0)
        return STATUS_OK;
    tls->told = false;
    ERR_clear_error();
    result = SSL_write_ex(tls->ssl, bytes, length, &written);
    error = SSL_get_error(tls->ssl, result);
    return error == SSL_ERROR_NONE ? STATUS_OK : failure(tls, error, fault);
}

void tls_output(struct tls *tls, struct buf *out_bytes)
{
    buf_append(out_bytes, buf_peek(&tls->out), tls->out.length);
    buf_done(&tls->out);
}

size_t tls_output_pending(const struct tls *tls)
{
    return tls->out.length;
}

bool tls_is_open(const struct tls *tls)
{
    return tls->open;
}

bool tls_is_ended(const struct tls *tls)
{
    return tls->ended;
}

void tls_close(struct tls *tls)
{
    if (!tls->open || tls->failed)
        return;
    ERR_clear_error();
    (void)SSL_shutdown(tls->ssl);
    ERR_clear_error();
}

static const char *list_roles(unsigned roles, char *out_text, size_t size)
{
    size_t length = 0;

    out_text[0] = '\0';
    for (unsigned role = 0; role < ROLE_COUNT && length < size; role++)
        if ((roles & 1U << role) != 0)
            length += (size_t)snprintf(out_text + length, size - length, "%s%s",
                                       length > 0 ? " or " : "", role_names[role]);
    return out_text;
}

enum status tls_identity(const struct tls *tls, unsigned roles, struct identity *out_identity,
                         struct fault *fault)
{
    const X509 *certificate = SSL_get0_peer_certificate(tls->ssl);
    struct identity identity;
    char uri[IDENTITY_URI_SIZE], allowed[64];
    enum status status;

    if (certificate == NULL)
        return fault_set(fault, STATUS_DENIED, "no certificate");
    status = certificate_identity(certificate, &identity, fault);
    if (status != STATUS_OK)
        return status;
    identity_format(&identity, uri);
    if (strcmp(identity.trust_domain, tls->trust_domain) != 0)
        return fault_set(fault, STATUS_DENIED,
                         "certificate of another trust domain (%s); ours is %s", uri,
                         tls->trust_domain);
    if ((roles & 1U << identity.role) == 0)
        return fault_set(
            fault, STATUS_DENIED, "certificate of the role %s (%s); the role %s is needed",
            role_names[identity.role], uri, list_roles(roles, allowed, sizeof allowed));
    *out_identity = identity;
    return STATUS_OK;
}

bool tls_is_revoked(const struct tls *tls, const struct tls_context *context)
{
    X509 *certificate = SSL_get0_peer_certificate(tls->ssl);
    const STACK_OF(X509_OBJECT) * objects;
    X509_REVOKED *entry;
    bool is_revoked = false;

    if (certificate == NULL || !tls_context_has_crl(context))
        return false;
    objects = X509_STORE_get0_objects(SSL_CTX_get_cert_store(tls_context_ssl(context)));
    for (int i = 0; i < sk_X509_OBJECT_num(objects) && !is_revoked; i++) {
        X509_CRL *crl = X509_OBJECT_get0_X509_CRL(sk_X509_OBJECT_value(objects, i));

        is_revoked = crl != NULL && X509_CRL_get0_by_cert(crl, &entry, certificate) == 1;
    }
    return is_revoked;
}

struct wall tls_peer_expires(const struct tls *tls)
{
    const X509 *certificate = SSL_get0_peer_certificate(tls->ssl);

    assert(certificate != NULL);
    return certificate_time(X509_get0_notAfter(certificate));
}
