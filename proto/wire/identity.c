/* Owns what an identity looks like as a URI. Knows nothing of certificates. */
#include "proto/wire/identity.h"

#include <stdio.h>
#include <string.h>

const char *const role_names[] = { "agent", "controller", "operator" };

static const char scheme[] = "spiffe://";

#define LOWER_AND_DIGITS "abcdefghijklmnopqrstuvwxyz0123456789"

static const char domain_bytes[] = LOWER_AND_DIGITS ".-_";
static const char name_bytes[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" LOWER_AND_DIGITS "._-";

/* A stretch of the URI; it may hold any byte. */
struct part {
    const char *bytes;
    size_t length;
};

static bool holds_only(struct part part, const char *allowed)
{
    for (size_t i = 0; i < part.length; i++) {
        if (part.bytes[i] == '\0' || strchr(allowed, part.bytes[i]) == NULL)
            return false;
    }
    return true;
}

static bool is_domain(struct part part)
{
    return part.length > 0 && part.length < TRUST_DOMAIN_SIZE && holds_only(part, domain_bytes);
}

static bool is_name(struct part part)
{
    return part.length > 0 && part.length < NAME_SIZE && part.bytes[0] != '.' &&
           holds_only(part, name_bytes);
}

/* Cuts what stands before the next '/' off `rest`; all of it when there is none. */
static struct part take_part(struct part *rest)
{
    const char *slash = rest->length == 0 ? NULL : memchr(rest->bytes, '/', rest->length);
    struct part part = { rest->bytes,
                         slash == NULL ? rest->length : (size_t)(slash - rest->bytes) };
    size_t passed = part.length + (slash != NULL);

    rest->bytes += passed;
    rest->length -= passed;
    return part;
}

static bool find_role(struct part part, enum identity_role *out_role)
{
    for (int i = 0; i < ROLE_COUNT; i++) {
        if (strlen(role_names[i]) == part.length &&
            memcmp(role_names[i], part.bytes, part.length) == 0) {
            *out_role = (enum identity_role)i;
            return true;
        }
    }
    return false;
}

static enum status refuse(struct fault *fault, const char *what, struct part part,
                          const char *allowed)
{
    return fault_set(fault, STATUS_INVALID, "%s \"%.*s\" is not allowed: %s", what,
                     (int)(part.length < NAME_SIZE ? part.length : NAME_SIZE), part.bytes, allowed);
}

static void keep(struct part part, char *out_text)
{
    memcpy(out_text, part.bytes, part.length);
    out_text[part.length] = '\0';
}

bool identity_name_ok(const char *name)
{
    return is_name((struct part){ name, strnlen(name, NAME_SIZE) });
}

enum status identity_parse(const char *uri, size_t length, struct identity *out_identity,
                           struct fault *fault)
{
    struct part rest = { uri, length }, domain, role, name;
    struct identity identity;

    if (length < sizeof scheme - 1 || memcmp(uri, scheme, sizeof scheme - 1) != 0)
        return refuse(fault, "URI", rest, "spiffe://TRUST-DOMAIN/ROLE/NAME");
    rest = (struct part){ uri + sizeof scheme - 1, length - (sizeof scheme - 1) };
    domain = take_part(&rest);
    role = take_part(&rest);
    name = rest; /* with every '/' that is left */
    if (!is_domain(domain))
        return refuse(fault, "trust domain", domain, "1 to 255 of a-z 0-9 . - _");
    if (!find_role(role, &identity.role))
        return refuse(fault, "role", role, "one of agent, controller, operator");
    if (!is_name(name))
        return refuse(fault, "name", name, "1 to 128 of A-Z a-z 0-9 . _ -, no dot first");
    keep(domain, identity.trust_domain);
    keep(name, identity.name);
    *out_identity = identity;
    return STATUS_OK;
}

void identity_format(const struct identity *identity, char out_uri[IDENTITY_URI_SIZE])
{
    snprintf(out_uri, IDENTITY_URI_SIZE, "%s%s/%s/%s", scheme, identity->trust_domain,
             role_names[identity->role], identity->name);
}

bool identity_equal(const struct identity *a, const struct identity *b)
{
    return a->role == b->role && strcmp(a->trust_domain, b->trust_domain) == 0 &&
           strcmp(a->name, b->name) == 0;
}
