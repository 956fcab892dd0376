/* Owns reading PEM files. Must not know what the certificates in them are good for. */
#include "proto/link/pem.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "proto/base/file.h"
#include "proto/wire/limits.h"

/* Over the file's bytes, which must stay as long as it does. */
static enum status open_text(const char *path, struct buf *text, BIO **out_bio, struct fault *fault)
{
    enum status status;

    buf_init(text, LIMIT_PEM_BYTES);
    status = file_read(path, text, fault);
    if (status != STATUS_OK)
        return status;
    *out_bio = BIO_new_mem_buf(buf_peek(text), (int)text->length);
    if (*out_bio == NULL)
        return fault_set(fault, STATUS_NO_RESOURCE, "%s: out of memory", path);
    return STATUS_OK;
}

/* The end of a file looks like an error to OpenSSL. */
static bool at_end(void)
{
    unsigned long error = ERR_peek_last_error();
    bool end = ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;

    ERR_clear_error();
    return end;
}

static enum status not_read(const char *path, int found, const char *what, struct fault *fault)
{
    if (!at_end())
        return fault_set(fault, STATUS_INVALID, "%s: %s number %d cannot be read", path, what,
                         found + 1);
    return found > 0
               ? STATUS_OK
               : fault_set(fault, STATUS_INVALID, "%s: no %s in it (PEM is needed)", path, what);
}

enum status pem_certificates(const char *path, STACK_OF(X509) * *out_certificates,
                             struct fault *fault)
{
    STACK_OF(X509) *certificates = sk_X509_new_null();
    struct buf text;
    BIO *bio = NULL;
    X509 *next;
    enum status status = open_text(path, &text, &bio, fault);

    if (status != STATUS_OK)
        goto out;
    ERR_clear_error();
    while ((next = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL)
        sk_X509_push(certificates, next);
    status = not_read(path, sk_X509_num(certificates), "certificate", fault);
out:
    BIO_free(bio);
    buf_done(&text);
    if (status == STATUS_OK)
        *out_certificates = certificates;
    else
        sk_X509_pop_free(certificates, X509_free);
    return status;
}

enum status pem_crls(const char *path, STACK_OF(X509_CRL) * *out_crls, struct fault *fault)
{
    STACK_OF(X509_CRL) *crls = sk_X509_CRL_new_null();
    struct buf text;
    BIO *bio = NULL;
    X509_CRL *next;
    enum status status = open_text(path, &text, &bio, fault);

    if (status != STATUS_OK)
        goto out;
    ERR_clear_error();
    while ((next = PEM_read_bio_X509_CRL(bio, NULL, NULL, NULL)) != NULL)
        sk_X509_CRL_push(crls, next);
    status = not_read(path, sk_X509_CRL_num(crls), "CRL", fault);
out:
    BIO_free(bio);
    buf_done(&text);
    if (status == STATUS_OK)
        *out_crls = crls;
    else
        sk_X509_CRL_pop_free(crls, X509_CRL_free);
    return status;
}

static enum status check_alone(const char *path, struct fault *fault)
{
    struct stat facts;

    if (stat(path, &facts) != 0)
        return fault_errno(fault, errno, "%s", path);
    if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return fault_set(fault, STATUS_DENIED,
                         "%s: others than its owner may use this key (mode %04o): chmod 600 %s",
                         path, (unsigned)(facts.st_mode & 07777), path);
    return STATUS_OK;
}

/* Nobody is there to be asked. */
static int no_passphrase(char *out, int size, int writing, void *asked)
{
    (void)out;
    (void)size;
    (void)writing;
    *(bool *)asked = true;
    return -1;
}

enum status pem_key(const char *path, EVP_PKEY **out_key, struct fault *fault)
{
    struct buf text;
    BIO *bio = NULL;
    EVP_PKEY *key = NULL;
    bool asked = false;
    enum status status = check_alone(path, fault);

    if (status != STATUS_OK)
        return status;
    status = open_text(path, &text, &bio, fault);
    if (status == STATUS_OK) {
        key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, &asked);
        ERR_clear_error();
        if (key == NULL)
            status = fault_set(fault, STATUS_INVALID, "%s: %s", path,
                               asked ? "a key with a passphrase; it must have none"
                                     : "no private key in it (PEM is needed)");
    }
    BIO_free(bio);
    if (text.data != NULL)
        OPENSSL_cleanse(text.data, text.length);
    buf_done(&text);
    if (status == STATUS_OK)
        *out_key = key;
    return status;
}
