/* PEM files as OpenSSL's objects. For proto/link alone. Every fault names the file. */
#ifndef SONDE_LINK_PEM_H
#define SONDE_LINK_PEM_H

#include <openssl/x509.h>

#include "proto/base/status.h"

/* All certificates of a file, at least one; the caller frees them (sk_X509_pop_free). */
enum status pem_certificates(const char *path, STACK_OF(X509) * *out_certificates,
                             struct fault *fault) must_check;

/* All CRLs of a file, at least one; the caller frees them (sk_X509_CRL_pop_free). */
enum status pem_crls(const char *path, STACK_OF(X509_CRL) * *out_crls,
                     struct fault *fault) must_check;

/* A private key without a passphrase, in a file that its owner alone may use. */
enum status pem_key(const char *path, EVP_PKEY **out_key, struct fault *fault) must_check;

#endif
