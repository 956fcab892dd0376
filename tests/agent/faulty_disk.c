/* A disk that fails on demand, under SQLite. */
#include "tests/agent/faulty_disk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include <sqlite3.h>

/* The methods of a kind of file (databases are locked, journals are not), and ours for it. */
struct kind {
    sqlite3_io_methods faulty;
    const sqlite3_io_methods *real;
};

static struct {
    sqlite3_vfs vfs;
    const sqlite3_vfs *real;
    struct kind kinds[4];
    bool failing;
    unsigned left;
    int code;
} disk;

static bool fails(bool sync)
{
    if (!disk.failing || (disk.code == SQLITE_IOERR_FSYNC && !sync))
        return false;
    if (disk.left == 0)
        return true;
    disk.left--;
    return false;
}

/* `faulty` is the first member. */
static const sqlite3_io_methods *real_methods(const sqlite3_file *file)
{
    return ((const struct kind *)(const void *)file->pMethods)->real;
}

static int faulty_write(sqlite3_file *file, const void *bytes, int length, sqlite3_int64 at)
{
    return fails(false) ? disk.code : real_methods(file)->xWrite(file, bytes, length, at);
}

static int faulty_sync(sqlite3_file *file, int flags)
{
    return fails(true) ? disk.code : real_methods(file)->xSync(file, flags);
}

static int faulty_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                       int *out_flags)
{
    sqlite3_vfs *real = sqlite3_vfs_find(disk.real->zName);
    int code = real->xOpen(real, name, file, flags, out_flags);
    struct kind *kind = disk.kinds;

    (void)vfs;
    if (code != SQLITE_OK || file->pMethods == NULL)
        return code;
    while (kind->real != NULL && kind->real != file->pMethods) {
        if (++kind == disk.kinds + sizeof disk.kinds / sizeof disk.kinds[0])
            abort();
    }
    kind->real = file->pMethods;
    kind->faulty = *file->pMethods;
    kind->faulty.xWrite = faulty_write;
    kind->faulty.xSync = faulty_sync;
    file->pMethods = &kind->faulty;
    return code;
}

void faulty_disk_install(void)
{
    disk.real = sqlite3_vfs_find(NULL);
    disk.vfs = *disk.real;
    disk.vfs.zName = "faulty";
    disk.vfs.pNext = NULL;
    disk.vfs.xOpen = faulty_open;
    if (sqlite3_vfs_register(&disk.vfs, 1) != SQLITE_OK)
        abort();
}

void faulty_disk_fail(unsigned after, int code)
{
    disk.failing = true;
    disk.left = after;
    disk.code = code;
}

void faulty_disk_heal(void)
{
    disk.failing = false;
}
