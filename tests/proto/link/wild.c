/* Owns a TLS side for tests that misbehaves. */
#include "tests/proto/link/wild.h"

#include <assert.h>
#include <openssl/err.h>
#include <string.h>

static int choose(SSL *ssl, const unsigned char **out_name, unsigned char *out_length,
                  const unsigned char *offered, unsigned offered_length, void *protocol)
{
    (void)ssl;
    (void)offered_length;
    *out_name = protocol != NULL ? (const unsigned char *)protocol + 1 : offered + 1;
    *out_length = protocol != NULL ? (unsigned char)strlen((const char *)protocol + 1) : offered[0];
    return SSL_TLSEXT_ERR_OK;
}

static void use_files(SSL_CTX *context, const struct wild_habits *habits)
{
    assert(SSL_CTX_use_certificate_chain_file(context, habits->files->certificate) == 1);
    assert(SSL_CTX_use_PrivateKey_file(context, habits->files->key, SSL_FILETYPE_PEM) == 1);
    for (int i = 0; i < habits->chain_copies; i++) {
        X509 *copy = X509_dup(SSL_CTX_get0_certificate(context));

        assert(SSL_CTX_add0_chain_cert(context, copy) == 1);
    }
}

void wild_init(struct wild *wild, const struct wild_habits *habits)
{
    const char *protocol = habits->protocol != NULL ? habits->protocol : "\x07sonde/1";
    int version = habits->version != 0 ? habits->version : TLS1_3_VERSION;

    wild->context = SSL_CTX_new(TLS_method());
    assert(SSL_CTX_set_max_proto_version(wild->context, version) == 1);
    if (habits->files != NULL)
        use_files(wild->context, habits);
    if (habits->server && protocol[0] != '\0')
        SSL_CTX_set_alpn_select_cb(wild->context, choose,
                                   habits->protocol != NULL ? (void *)(uintptr_t)protocol : NULL);
    if (habits->server)
        SSL_CTX_set_verify(wild->context, SSL_VERIFY_NONE, NULL);
    wild->ssl = SSL_new(wild->context);
    if (!habits->server && protocol[0] != '\0')
        assert(SSL_set_alpn_protos(wild->ssl, (const unsigned char *)protocol,
                                   (unsigned)strlen(protocol)) == 0);
    wild->in = BIO_new(BIO_s_mem());
    wild->out = BIO_new(BIO_s_mem());
    BIO_set_mem_eof_return(wild->in, -1);
    BIO_set_mem_eof_return(wild->out, -1);
    SSL_set_bio(wild->ssl, wild->in, wild->out);
    if (habits->server)
        SSL_set_accept_state(wild->ssl);
    else
        SSL_set_connect_state(wild->ssl);
}

void wild_done(struct wild *wild)
{
    SSL_free(wild->ssl);
    SSL_CTX_free(wild->context);
}

/* Its errors are left in the thread's queue: ours must not mind. */
static void go_on(struct wild *wild)
{
    char plain[4096];

    if (!SSL_is_init_finished(wild->ssl))
        (void)SSL_do_handshake(wild->ssl);
    if (SSL_is_init_finished(wild->ssl))
        (void)SSL_read(wild->ssl, plain, sizeof plain);
}

static size_t to_wild(struct wild *wild, struct tls *ours)
{
    struct buf bytes;
    size_t length;

    buf_init(&bytes, 1 << 20);
    tls_output(ours, &bytes);
    length = bytes.length;
    if (length > 0)
        assert(BIO_write(wild->in, bytes.data, (int)length) == (int)length);
    buf_done(&bytes);
    go_on(wild);
    return length;
}

enum status wild_talk(struct wild *wild, struct tls *ours, struct fault *out_fault)
{
    struct buf plain;
    enum status status = tls_input(ours, NULL, 0, NULL, out_fault);
    bool moved = true;

    buf_init(&plain, 1 << 20);
    while (moved && status == STATUS_OK) {
        char bytes[5000];
        int length;

        moved = to_wild(wild, ours) > 0;
        while ((length = BIO_read(wild->out, bytes, sizeof bytes)) > 0 && status == STATUS_OK) {
            status = tls_input(ours, bytes, (size_t)length, &plain, out_fault);
            moved = true;
        }
    }
    to_wild(wild, ours); /* the alert */
    buf_done(&plain);
    return status;
}

const char *wild_error(void)
{
    unsigned long error = ERR_peek_last_error();
    const char *words = error != 0 ? ERR_reason_error_string(error) : "";

    ERR_clear_error();
    return words;
}
