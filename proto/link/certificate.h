/* What an X.509 certificate says, in our words. For proto/link alone: it has OpenSSL's types. */
#ifndef SONDE_LINK_CERTIFICATE_H
#define SONDE_LINK_CERTIFICATE_H

#include <openssl/x509.h>

#include "proto/base/clock.h"
#include "proto/wire/identity.h"

/* A time of a certificate or CRL; beyond the range of struct wall: its end. */
struct wall certificate_time(const ASN1_TIME *time);

/* The moment as OpenSSL's verification takes it. */
time_t certificate_seconds(struct wall time);

/* The identity in its one URI name. STATUS_DENIED with words that begin with "certificate". */
enum status certificate_identity(const X509 *certificate, struct identity *out_identity,
                                 struct fault *fault) must_check;

/* What is wrong with the certificate that the verification stopped at, as "certificate revoked" or
 * "certificate not yet valid: ... local time is ...". */
void certificate_refusal(X509_STORE_CTX *verification, struct wall now, struct fault *out_words);

#endif
