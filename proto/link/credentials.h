/* A daemon's certificates over its life: read again when their files change, a broken new file
 * keeping the old ones, and what is to be said of their end. Logs nothing: its owner does. */
#ifndef SONDE_LINK_CREDENTIALS_H
#define SONDE_LINK_CREDENTIALS_H

#include "proto/link/tls_context.h"
#include "proto/wire/record.h"

/* How often an owner should look whether the files have changed. */
#define CREDENTIALS_LOOK_NS (60 * NS_PER_S)

/* The four paths of a configuration file. */
extern const struct record tls_files_record;

enum credentials_item { CREDENTIALS_CERTIFICATE, CREDENTIALS_CRL, CREDENTIALS_ITEMS };

struct credentials {
    enum identity_role role; /* its owner's; set before credentials_open, like the next */
    int64_t notice_ns;       /* how long before an end it is spoken of */
    struct tls_context *context;
    char fault[FAULT_TEXT_SIZE]; /* why the files cannot be used since; "" when they are. Emptied by
                                    its owner, it is told once more */
    int64_t days_told[CREDENTIALS_ITEMS];
};

/* Reads the files, as tls_context_new does; on failure there is nothing to free. */
enum status credentials_open(struct credentials *credentials, const struct tls_files *files,
                             struct wall now, struct fault *fault) must_check;

/* Frees the context; a zeroed struct is allowed. */
void credentials_done(struct credentials *credentials);

enum credentials_news {
    CREDENTIALS_SAME,  /* as before, or broken for the reason that is known */
    CREDENTIALS_FRESH, /* new ones are in use */
    CREDENTIALS_BROKEN /* they cannot be used, and `fault` says why: the old ones stay */
};

/* Whoever borrows the context takes the new one here; the old one is freed right after. */
typedef void credentials_use(void *context, const struct tls_context *fresh);

struct credentials_user {
    credentials_use *use;
    void *context;
};

/* Reads the files anew. */
enum credentials_news credentials_read(struct credentials *credentials,
                                       const struct tls_files *files,
                                       const struct credentials_user *user, struct wall now);

/* True when the files are worth reading: they have changed, or could not be used. */
bool credentials_are_stale(const struct credentials *credentials);

/* True when there is something to say of an item's end: "ends in 4 days: TIME", "ends at TIME" (on
 * its last day), "has ended: TIME" (*out_ended). Each is said once. */
enum { CREDENTIALS_WORDS = 80 };
bool credentials_notice(struct credentials *credentials, enum credentials_item item,
                        struct wall now, bool *out_ended, char out_words[CREDENTIALS_WORDS]);

#endif
