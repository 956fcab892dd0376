/* Owns the words for every status. Knows nothing of who failed. */
#include "proto/base/status.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "proto/base/utf8.h"

static const char *const texts[STATUS_COUNT] = {
    [STATUS_OK] = "no error",
    [STATUS_AGAIN] = "not ready yet",
    [STATUS_INVALID] = "not valid",
    [STATUS_RANGE] = "out of range",
    [STATUS_TOO_LARGE] = "too large",
    [STATUS_NOT_FOUND] = "not found",
    [STATUS_EXISTS] = "exists already",
    [STATUS_DENIED] = "permission denied",
    [STATUS_UNSUPPORTED] = "not supported on this system",
    [STATUS_NO_SPACE] = "no space left",
    [STATUS_NO_RESOURCE] = "out of system resources",
    [STATUS_CORRUPT] = "contradicts itself",
    [STATUS_INTERRUPTED] = "interrupted",
    [STATUS_IO] = "input/output error",
};

const char *status_text(enum status status)
{
    assert((unsigned)status < STATUS_COUNT);
    return texts[status];
}

enum status status_of_errno(int error)
{
    switch (error) {
    case 0:
        return STATUS_OK;
    case EAGAIN:
        return STATUS_AGAIN;
    case EINTR:
        return STATUS_INTERRUPTED;
    case EINVAL:
        return STATUS_INVALID;
    case ENOENT:
    case ENOTDIR:
        return STATUS_NOT_FOUND;
    case EEXIST:
    case EADDRINUSE:
        return STATUS_EXISTS;
    case EACCES:
    case EPERM:
    case EROFS:
        return STATUS_DENIED;
    case ENOSPC:
    case EDQUOT:
        return STATUS_NO_SPACE;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
        return STATUS_NO_RESOURCE;
    case ENOSYS:
    case EOPNOTSUPP:
    case ENOPROTOOPT:
    case EAFNOSUPPORT:
        return STATUS_UNSUPPORTED;
    default:
        return STATUS_IO;
    }
}

static printf_like(2, 0) void set(struct fault *fault, const char *format, va_list args)
{
    int length = vsnprintf(fault->text, sizeof fault->text, format, args);
    assert(length >= 0);
    utf8_mask(fault->text);
}

enum status fault_set(struct fault *fault, enum status status, const char *format, ...)
{
    va_list args;

    if (fault == NULL)
        return status;
    va_start(args, format);
    set(fault, format, args);
    va_end(args);
    return status;
}

enum status fault_errno(struct fault *fault, int error, const char *format, ...)
{
    va_list args;
    size_t length;

    if (fault == NULL)
        return status_of_errno(error);
    va_start(args, format);
    set(fault, format, args);
    va_end(args);
    length = strlen(fault->text);
    snprintf(fault->text + length, sizeof fault->text - length, ": %s", strerror(error));
    return status_of_errno(error);
}
