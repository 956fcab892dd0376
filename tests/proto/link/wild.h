/* A TLS side that keeps none of our rules, straight from OpenSSL, against one of ours. */
#ifndef SONDE_TESTS_WILD_H
#define SONDE_TESTS_WILD_H

#include <openssl/ssl.h>

#include "proto/link/tls.h"

struct wild {
    SSL_CTX *context;
    SSL *ssl;
    BIO *in, *out; /* the SSL's */
};

/* What it does otherwise. Zeroed: a good client. */
struct wild_habits {
    bool server;
    const char *protocol;          /* with its length in front; NULL: "\x07sonde/1"; "": none */
    const struct tls_files *files; /* NULL: no certificate */
    int version;                   /* its highest; 0: TLS 1.3 */
    int chain_copies;              /* of the CA behind its own certificate */
};

void wild_init(struct wild *wild, const struct wild_habits *habits);
void wild_done(struct wild *wild);

/* Carries bytes between both until nothing moves, or ours fails: its status. The wild side reads
 * too, so that it hears alerts. */
enum status wild_talk(struct wild *wild, struct tls *ours, struct fault *out_fault);

/* The words of the wild side's first error, "" for none; empties the thread's queue. */
const char *wild_error(void);

#endif
