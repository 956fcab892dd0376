/* Owns when certificates are read again and what is to be said of their end. Must not know what
 * they are used for. */
#include "proto/link/credentials.h"

#include <stdio.h>
#include <string.h>

#include "proto/base/text.h"
#include "proto/wire/record_table.h"

#define DAY_NS (24 * 3600 * NS_PER_S)

enum { ENDED = -1 };

static const struct field tls_files_fields[] = {
    TEXT(struct tls_files, ca, "PEM file of the authority that issued everybody's certificates"),
    TEXT(struct tls_files, certificate, "PEM file of the own certificate, its chain behind it"),
    TEXT(struct tls_files, key, "PEM file of its key; nobody else may read it"),
    TEXT(struct tls_files, crl, "PEM file of revoked certificates; empty: none are looked up"),
};
const struct record tls_files_record = RECORD(tls_files, tls_files_fields);

static void take(struct credentials *credentials, struct tls_context *context)
{
    credentials->context = context;
    credentials->fault[0] = '\0';
    for (int i = 0; i < CREDENTIALS_ITEMS; i++)
        credentials->days_told[i] = INT64_MAX;
}

enum status credentials_open(struct credentials *credentials, const struct tls_files *files,
                             struct wall now, struct fault *fault)
{
    struct tls_context *context;
    enum status status = tls_context_new(files, credentials->role, now, &context, fault);

    if (status == STATUS_OK)
        take(credentials, context);
    return status;
}

void credentials_done(struct credentials *credentials)
{
    tls_context_free(credentials->context);
    credentials->context = NULL;
}

enum credentials_news credentials_read(struct credentials *credentials,
                                       const struct tls_files *files,
                                       const struct credentials_user *user, struct wall now)
{
    struct tls_context *fresh;
    struct fault fault;
    bool known;

    if (tls_context_new(files, credentials->role, now, &fresh, &fault) == STATUS_OK) {
        user->use(user->context, fresh);
        tls_context_free(credentials->context);
        take(credentials, fresh);
        return CREDENTIALS_FRESH;
    }
    /* Whoever replaces files one by one is between two of them for a moment. */
    known = strcmp(credentials->fault, fault.text) == 0;
    text_copy(credentials->fault, sizeof credentials->fault, fault.text);
    return known ? CREDENTIALS_SAME : CREDENTIALS_BROKEN;
}

bool credentials_are_stale(const struct credentials *credentials)
{
    return credentials->fault[0] != '\0' || tls_context_changed(credentials->context);
}

bool credentials_notice(struct credentials *credentials, enum credentials_item item,
                        struct wall now, bool *out_ended, char out_words[CREDENTIALS_WORDS])
{
    struct wall ends = item == CREDENTIALS_CRL ? tls_context_crl_expires(credentials->context)
                                               : tls_context_expires(credentials->context);
    char when[WALL_TEXT_SIZE];
    int64_t days;

    if (ends.ns == INT64_MAX || ends.ns - credentials->notice_ns > now.ns)
        return false;
    days = ends.ns <= now.ns ? ENDED : (ends.ns - now.ns) / DAY_NS;
    if (days == credentials->days_told[item])
        return false;
    credentials->days_told[item] = days;
    wall_format(ends, when);
    if (days == ENDED)
        snprintf(out_words, CREDENTIALS_WORDS, "has ended: %s", when);
    else if (days == 0)
        snprintf(out_words, CREDENTIALS_WORDS, "ends at %s", when);
    else
        snprintf(out_words, CREDENTIALS_WORDS, "ends in %lld day%s: %s", (long long)days,
                 days == 1 ? "" : "s", when);
    *out_ended = days == ENDED;
    return true;
}
