/* Owns the store's file: that it is there, that this process alone is its controller, opening and
 * closing. What is in it belongs to its parts: store_schema.c, store_results.c, store_runs.c,
 * store_cases.c, store_agents.c, store_retain.c. Must not know SQLite, connections or agents. */
#include "controller/fleet/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/fleet/store_query.h"
#include "proto/base/memory.h"

enum { PATH_MAX_BYTES = 4096 };

/* SQLite would make it readable for everybody. What is there already keeps its mode. */
static enum status make_file(const char *path, struct fault *fault)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0 && errno != EEXIST)
        return fault_errno(fault, errno, "store %s", path);
    if (fd >= 0)
        close(fd);
    return STATUS_OK;
}

/* A second controller would end the first one's runs as orphans. SQLite's own locks cannot say so:
 * a reader, or a backup, is welcome. */
static enum status lock_out_others(const char *path, int *out_fd, struct fault *fault)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    char name[PATH_MAX_BYTES + 8];
    int fd;

    snprintf(name, sizeof name, "%s.lock", path);
    fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return fault_errno(fault, errno, "store %s", name);
    if (fcntl(fd, F_SETLK, &lock) != 0) {
        int error = errno;

        close(fd);
        if (error == EAGAIN || error == EACCES)
            return fault_set(fault, STATUS_EXISTS, "%s is in use by another controller", path);
        return fault_errno(fault, error, "store %s", name);
    }
    *out_fd = fd;
    return STATUS_OK;
}

enum status store_open(const char *path, struct store **out_store, struct fault *fault)
{
    struct store *store;
    enum status status;

    if (strlen(path) >= PATH_MAX_BYTES)
        return fault_set(fault, STATUS_TOO_LARGE, "the store's path is above %d bytes",
                         PATH_MAX_BYTES - 1);
    store = memory_new(1, sizeof *store);
    store->lock = -1;
    batch_init(&store->batch);
    status = make_file(path, fault);
    if (status == STATUS_OK)
        status = query_open(path, store, fault);
    if (status == STATUS_OK)
        status = lock_out_others(path, &store->lock, fault);
    if (status == STATUS_OK)
        status = store_migrate(store, fault);
    if (status == STATUS_OK)
        status = query_adopt(store, fault);
    if (status != STATUS_OK) {
        store_close(store);
        return status;
    }
    *out_store = store;
    return STATUS_OK;
}

void store_close(struct store *store)
{
    if (store == NULL)
        return;
    query_close(store);
    if (store->lock >= 0)
        close(store->lock);
    batch_done(&store->batch);
    free(store);
}
