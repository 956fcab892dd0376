/* Owns reading files under a cap and writing them whole or not at all. Must not know what is in
 * them. Inside, errors are errno values (0: none); public functions make them faults with a path.
 */
#include "proto/base/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK_SIZE = 16384, NAME_SIZE = NAME_MAX + 1, NAME_KEPT = 200 };

static enum status not_regular(struct fault *fault, const char *path)
{
    return fault_set(fault, STATUS_INVALID, "%s: not a regular file", path);
}

static enum status above_cap(struct fault *fault, const char *path, size_t cap)
{
    return fault_set(fault, STATUS_TOO_LARGE, "%s: too large: at most %zu bytes are allowed", path,
                     cap);
}

static int read_to_end(int fd, struct buf *out_bytes)
{
    char chunk[CHUNK_SIZE];

    for (;;) {
        ssize_t got = read(fd, chunk, sizeof chunk);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno;
        buf_append(out_bytes, chunk, (size_t)got);
        if (got == 0 || buf_status(out_bytes) != STATUS_OK)
            return 0;
    }
}

/* Non-blocking, so that opening a pipe that nobody writes to returns. */
static int open_to_read(const char *path, struct stat *out_facts, int *out_fd)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    int error;

    if (fd < 0)
        return errno;
    if (fstat(fd, out_facts) != 0) {
        error = errno;
        close(fd);
        return error;
    }
    *out_fd = fd;
    return 0;
}

static enum status read_file(const char *path, bool size_counts, struct buf *out_bytes,
                             struct fault *fault)
{
    struct stat facts = { 0 };
    enum status status = STATUS_OK;
    int fd = -1;
    int error = open_to_read(path, &facts, &fd);

    assert(out_bytes->length == 0);
    if (error != 0)
        return fault_errno(fault, error, "%s", path);
    if (!S_ISREG(facts.st_mode)) {
        status = not_regular(fault, path);
        goto out;
    }
    if (size_counts && (uintmax_t)facts.st_size > out_bytes->cap) {
        status = above_cap(fault, path, out_bytes->cap);
        goto out;
    }
    error = read_to_end(fd, out_bytes);
    if (error != 0)
        status = fault_errno(fault, error, "%s", path);
    else if (buf_status(out_bytes) != STATUS_OK)
        status = above_cap(fault, path, out_bytes->cap);
out:
    if (status != STATUS_OK)
        buf_done(out_bytes);
    close(fd);
    return status;
}

enum status file_read(const char *path, struct buf *out_bytes, struct fault *fault)
{
    return read_file(path, true, out_bytes, fault);
}

enum status file_read_stream(const char *path, struct buf *out_bytes, struct fault *fault)
{
    return read_file(path, false, out_bytes, fault);
}

static int write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t put = write(fd, bytes, length);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return errno;
        bytes += put;
        length -= (size_t)put;
    }
    return 0;
}

/* Makes a new file in folder `dir` with these bytes on the disk. When it fails the file may be
 * there; when it fails with EEXIST it is somebody else's. */
static int write_new(int dir, const char *name, const void *bytes, size_t length)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    int error;

    if (fd < 0)
        return errno;
    error = write_all(fd, bytes, length);
    if (error == 0 && fsync(fd) != 0)
        error = errno;
    if (close(fd) != 0 && error == 0)
        error = errno;
    return error;
}

static int open_folder(int dir, const char *name, int *out_fd)
{
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return errno;
    *out_fd = fd;
    return 0;
}

/* Some file systems know no syncing of folders; there a rename is as safe as it gets. */
static int sync_folder(int dir)
{
    if (fsync(dir) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS)
        return 0;
    return errno;
}

/* ".NAME.partial-RANDOM": hidden, beside its final name, and nobody else's. */
static void partial_name(const char *name, char out_name[NAME_SIZE])
{
    uint64_t random;
    int failed = getentropy(&random, sizeof random);

    assert(failed == 0);
    snprintf(out_name, NAME_SIZE, ".%.*s.partial-%016" PRIx64, NAME_KEPT, name, random);
}

/* The folder part of a path, "." when it has none. */
static enum status parent_of(const char *path, char out_parent[PATH_MAX], struct fault *fault)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash != NULL ? (size_t)(slash - path) : 0;

    if (length >= PATH_MAX)
        return fault_errno(fault, ENAMETOOLONG, "%s", path);
    if (slash == NULL)
        path = ".";
    if (length == 0)
        length = 1;
    memcpy(out_parent, path, length);
    out_parent[length] = '\0';
    return STATUS_OK;
}

static int write_beside(int dir, const char *name, const void *bytes, size_t length)
{
    char partial[NAME_SIZE];
    int error;

    partial_name(name, partial);
    error = write_new(dir, partial, bytes, length);
    if (error == EEXIST)
        return error;
    if (error == 0 && renameat(dir, partial, dir, name) != 0)
        error = errno;
    if (error != 0) {
        unlinkat(dir, partial, 0);
        return error;
    }
    return sync_folder(dir);
}

enum status file_write_whole(const char *path, const void *bytes, size_t length,
                             struct fault *fault)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    char parent[PATH_MAX];
    struct stat facts;
    int dir = -1;
    int error;
    enum status status = parent_of(path, parent, fault);

    if (status != STATUS_OK)
        return status;
    error = open_folder(AT_FDCWD, parent, &dir);
    if (error != 0)
        return fault_errno(fault, error, "%s", path);
    if (fstatat(dir, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(facts.st_mode)) {
        status = not_regular(fault, path);
    } else {
        error = write_beside(dir, name, bytes, length);
        if (error != 0)
            status = fault_errno(fault, error, "%s", path);
    }
    close(dir);
    return status;
}

/* What mkdir says of an existing folder differs (EEXIST, EISDIR, EROFS), so it is looked at. */
static int make_one(const char *path)
{
    struct stat facts;
    int error;

    if (mkdir(path, 0777) == 0)
        return 0;
    error = errno;
    if (stat(path, &facts) == 0)
        return S_ISDIR(facts.st_mode) ? 0 : ENOTDIR;
    return error;
}

enum status folder_make(const char *path, struct fault *fault)
{
    char part[PATH_MAX];
    size_t length = strlen(path);
    int error = 0;

    if (length >= PATH_MAX)
        return fault_errno(fault, ENAMETOOLONG, "%s", path);
    memcpy(part, path, length + 1);
    for (size_t i = 1; i < length && error == 0; i++) {
        if (path[i] != '/' || path[i - 1] == '/')
            continue;
        part[i] = '\0';
        error = make_one(part);
        part[i] = error == 0 ? '/' : '\0';
    }
    if (error == 0)
        error = make_one(part);
    return error == 0 ? STATUS_OK : fault_errno(fault, error, "%s", part);
}

enum status folder_probe(const char *path, struct fault *fault)
{
    char name[NAME_SIZE];
    int dir = -1;
    int error = open_folder(AT_FDCWD, path, &dir);

    if (error != 0)
        return fault_errno(fault, error, "%s", path);
    partial_name("probe", name);
    error = write_new(dir, name, "", 0);
    if (error != EEXIST)
        unlinkat(dir, name, 0);
    close(dir);
    return error == 0 ? STATUS_OK : fault_errno(fault, error, "%s", path);
}

static bool is_component(const char *name)
{
    return name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

/* Makes folder `name` in `parent` and opens it. */
static int new_folder(int parent, const char *name, int *out_fd)
{
    int error;

    if (mkdirat(parent, name, 0777) != 0)
        return errno;
    error = open_folder(parent, name, out_fd);
    if (error != 0)
        unlinkat(parent, name, AT_REMOVEDIR);
    return error;
}

static void remove_folder(int parent, const char *name, int dir, const struct folder_file *files,
                          size_t count)
{
    for (size_t i = 0; i < count; i++)
        unlinkat(dir, files[i].name, 0);
    unlinkat(parent, name, AT_REMOVEDIR);
}

/* rename replaces an empty folder, so what is there is looked for first. */
static int rename_to_new(int parent, const char *from, const char *to)
{
    struct stat facts;

    if (fstatat(parent, to, &facts, AT_SYMLINK_NOFOLLOW) == 0)
        return EEXIST;
    if (renameat(parent, from, parent, to) == 0)
        return 0;
    return errno == ENOTEMPTY || errno == ENOTDIR ? EEXIST : errno;
}

/* The folder's life under its other name and, at the end, under its own. */
static int write_folder(int parent, const char *name, const struct folder_file *files, size_t count)
{
    char current[NAME_SIZE];
    int dir = -1;
    int error;

    partial_name(name, current);
    error = new_folder(parent, current, &dir);
    if (error != 0)
        return error;
    for (size_t i = 0; i < count && error == 0; i++)
        error = write_new(dir, files[i].name, files[i].bytes, files[i].length);
    if (error == 0)
        error = sync_folder(dir);
    if (error == 0)
        error = rename_to_new(parent, current, name);
    if (error == 0) {
        error = sync_folder(parent);
        snprintf(current, sizeof current, "%s", name);
    }
    if (error != 0)
        remove_folder(parent, current, dir, files, count);
    close(dir);
    return error;
}

enum status folder_write_whole(const char *parent, const char *name,
                               const struct folder_file *files, size_t count, struct fault *fault)
{
    int dir = -1;
    int error = open_folder(AT_FDCWD, parent, &dir);

    assert(is_component(name));
    for (size_t i = 0; i < count; i++)
        assert(is_component(files[i].name));
    if (error != 0)
        return fault_errno(fault, error, "%s", parent);
    error = write_folder(dir, name, files, count);
    close(dir);
    return error == 0 ? STATUS_OK : fault_errno(fault, error, "%s/%s", parent, name);
}
