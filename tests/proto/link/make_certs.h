/* Authorities, certificates and revocation lists for tests, good and bad ones, as PEM files in a
 * folder of their own. Everything aborts the test when it fails. */
#ifndef SONDE_TESTS_MAKE_CERTS_H
#define SONDE_TESTS_MAKE_CERTS_H

#include <stdbool.h>

#include "proto/base/clock.h"
#include "proto/link/tls_context.h"

struct certs;
struct authority;

enum certs_key { CERTS_P256, CERTS_ED25519 };

/* Which extended key usages a certificate has. */
enum certs_usage { CERTS_BOTH, CERTS_CLIENT_ONLY, CERTS_SERVER_ONLY, CERTS_ANY /* none at all */ };

enum { CERTS_NAMES = 4 };

/* What a certificate is to say. Zeroed: P-256, both usages, from an hour ago to in 30 days by this
 * machine's clock, no name. */
struct certs_wish {
    const char *uris[CERTS_NAMES];
    const char *dns[CERTS_NAMES];
    const char *ips[CERTS_NAMES];
    struct wall from, until; /* 0: as above */
    enum certs_usage usage;
    enum certs_key key;
};

struct certs *certs_new(void);

/* Removes the folder. */
void certs_free(struct certs *certs);

/* A path in the folder, which lives as long as it does. */
const char *certs_path(struct certs *certs, const char *name);

/* An authority that signed itself. Two may have the same name. */
struct authority *certs_authority(struct certs *certs, const char *name, enum certs_key key);

/* An authority between; its certificate is appended to those that it issues. */
struct authority *certs_intermediate(struct certs *certs, struct authority *root, const char *name);

/* The file of an authority's certificate (of an intermediate: its root's). */
const char *certs_ca(const struct authority *authority);

/* A file with both authorities' certificates. */
const char *certs_both(struct certs *certs, const struct authority *a, const struct authority *b);

/* Issues a certificate. Fills ca, certificate and key; crl is "". */
void certs_issue(struct certs *certs, struct authority *authority, const struct certs_wish *wish,
                 struct tls_files *out_files);

/* The same for one good URI: certs_good(certs, ca, "spiffe://test/agent/a", &files). */
void certs_good(struct certs *certs, struct authority *authority, const char *uri,
                struct tls_files *out_files);

/* A file with a key that a passphrase locks. */
const char *certs_locked_key(struct certs *certs);

/* From now on the authority's lists have this certificate. */
void certs_revoke(struct authority *authority, const struct tls_files *files);

/* Writes a new list of everything revoked; times of 0: an hour ago, in 30 days. The path. */
const char *certs_crl(struct certs *certs, struct authority *authority, struct wall from,
                      struct wall until);

#endif
