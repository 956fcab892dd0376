/* What every TLS connection of a process shares: its certificate and key, the authority it
 * believes, revocations. Files are read whole into a new context, checked, and swapped in; a broken
 * new file keeps the old one. */
#ifndef SONDE_LINK_TLS_CONTEXT_H
#define SONDE_LINK_TLS_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/base/clock.h"
#include "proto/wire/identity.h"

/* Paths of PEM files; `crl` may be "". All borrowed only during the call. */
struct tls_files {
    char ca[4096];
    char certificate[4096]; /* the chain, own certificate first */
    char key[4096];
    char crl[4096];
};

struct tls_context;

/* Reads and checks the files: the key fits, is readable by its owner alone, the certificate has one
 * URI SAN of `role`, is issued by the authority and valid at `now`; a CRL parses and is not
 * expired. STATUS_INVALID and others with a fault that names the file and what is wrong ("not yet
 * valid: local time is ..."). The caller frees it (NULL is allowed); connections that were made
 * from it stay whole. */
enum status tls_context_new(const struct tls_files *files, enum identity_role role, struct wall now,
                            struct tls_context **out_context, struct fault *fault) must_check;
void tls_context_free(struct tls_context *context);

/* Whether it knows of revocations at all. */
bool tls_context_has_crl(const struct tls_context *context);

/* Our own identity. Borrowed. */
const struct identity *tls_context_identity(const struct tls_context *context);

/* When our certificate, and the CRL, end; wall INT64_MAX for no CRL. */
struct wall tls_context_expires(const struct tls_context *context);
struct wall tls_context_crl_expires(const struct tls_context *context);

/* True when a file's time, size or inode is not what was read. */
bool tls_context_changed(const struct tls_context *context);

/* Its SSL_CTX, for proto/link. */
void *tls_context_ssl(const struct tls_context *context);

#endif
