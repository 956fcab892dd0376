/* Who somebody is: the one URI in a certificate, spiffe://TRUST-DOMAIN/ROLE/NAME. Pure text. */
#ifndef SONDE_WIRE_IDENTITY_H
#define SONDE_WIRE_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/base/status.h"

enum identity_role { ROLE_AGENT, ROLE_CONTROLLER, ROLE_OPERATOR, ROLE_COUNT };

extern const char *const role_names[]; /* "agent", "controller", "operator" */

enum { NAME_SIZE = 129, TRUST_DOMAIN_SIZE = 256, IDENTITY_URI_SIZE = 420 };

struct identity {
    char trust_domain[TRUST_DOMAIN_SIZE];
    enum identity_role role;
    char name[NAME_SIZE];
};

/* 1 to 128 of A-Z a-z 0-9 . _ -, no dot first. */
bool identity_name_ok(const char *name);

/* Reads a URI of `length` bytes (it may hold any byte, also zeros). The trust domain is 1 to 255 of
 * a-z 0-9 . - _ (SPIFFE-ID section 2.1). The fault says which part is wrong and what is allowed. */
enum status identity_parse(const char *uri, size_t length, struct identity *out_identity,
                           struct fault *fault) must_check;

void identity_format(const struct identity *identity, char out_uri[IDENTITY_URI_SIZE]);

bool identity_equal(const struct identity *a, const struct identity *b);

#endif
