/* Every way in which a sonde function can fail, and the words for it.
 *
 * A fallible function returns `enum status`, puts its outputs last and leaves them untouched on
 * failure. Where the words of the status are not enough to act on (which key, which value, which
 * file), the function also takes a `struct fault` and writes one sentence into it: what is wrong,
 * where, and what is allowed.
 */
#ifndef SONDE_BASE_STATUS_H
#define SONDE_BASE_STATUS_H

#define must_check          __attribute__((warn_unused_result))
#define printf_like(at, va) __attribute__((format(printf, at, va)))

enum status {
    STATUS_OK,
    STATUS_AGAIN,       /* nothing wrong: call again later */
    STATUS_INVALID,     /* not of the form that is asked for */
    STATUS_RANGE,       /* of the right form, outside of what is allowed */
    STATUS_TOO_LARGE,   /* above a cap of limits.h */
    STATUS_NOT_FOUND,   /* does not exist */
    STATUS_EXISTS,      /* exists already */
    STATUS_DENIED,      /* the system refuses it to this user */
    STATUS_UNSUPPORTED, /* this platform cannot */
    STATUS_NO_SPACE,    /* the disk or the quota is full */
    STATUS_NO_RESOURCE, /* descriptors, memory, ports or threads have run out */
    STATUS_CORRUPT,     /* contradicts itself: sums, checksums, accounts */
    STATUS_INTERRUPTED, /* somebody asked to stop */
    STATUS_IO,          /* any other failure of the system */
    STATUS_COUNT
};

enum { FAULT_TEXT_SIZE = 640 };

/* One sentence about a failure; a caller provides it, `text` is always terminated. */
struct fault {
    char text[FAULT_TEXT_SIZE];
};

/* The words for a status, for people; never NULL. */
const char *status_text(enum status status);

/* The status that fits an errno value of a system call. */
enum status status_of_errno(int error);

/* Writes the sentence (control bytes become '?', too long is cut) and returns `status`, so that a
 * caller can `return fault_set(...)`. `fault` may be NULL. */
enum status fault_set(struct fault *fault, enum status status, const char *format, ...)
    printf_like(3, 4);

/* As fault_set, with ": " and the words of errno value `error` behind; returns its status. */
enum status fault_errno(struct fault *fault, int error, const char *format, ...) printf_like(3, 4);

#endif
