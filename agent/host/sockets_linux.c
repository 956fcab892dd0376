/* Owns where Linux shows its UDP sockets and who holds them: /proc/net/udp, /proc/PID/fd. Knows no
 * file's columns: procfs.h has them.
 */
#include "agent/host/sockets.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/procfs.h"
#include "proto/base/file.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"
#include "proto/wire/limits.h"

enum { PATH_BYTES = 320, NAME_BYTES = 64 };

static enum status append_file(const char *path, struct list *out_sockets, struct fault *fault)
{
    struct buf text;
    enum status status;

    buf_init(&text, LIMIT_PROC_BYTES);
    status = file_read_stream(path, &text, fault);
    if (status == STATUS_OK)
        (void)procfs_udp(buf_peek(&text), text.length, out_sockets);
    buf_done(&text);
    return status;
}

enum status sockets_read(struct list *out_sockets, struct fault *fault)
{
    enum status status = append_file("/proc/self/net/udp", out_sockets, fault);

    if (status != STATUS_OK)
        return status;
    status = append_file("/proc/self/net/udp6", out_sockets, fault);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status; /* a kernel without IPv6 */
}

/* "name (pid)", the name as the process itself last set it: text from outside. */
static void name_process(const char *pid, char out_text[SOCKET_OWNER_SIZE])
{
    char path[PATH_BYTES], name[NAME_BYTES] = "";
    struct buf text;

    snprintf(path, sizeof path, "/proc/%s/comm", pid);
    buf_init(&text, sizeof name);
    if (file_read_stream(path, &text, NULL) == STATUS_OK)
        text_copy(name, sizeof name, buf_peek(&text));
    buf_done(&text);
    name[strcspn(name, "\n")] = '\0';
    utf8_mask(name);
    snprintf(out_text, SOCKET_OWNER_SIZE, "%s (%.16s)", name, pid);
}

/* The inode of "socket:[123]", or -1. */
static int64_t socket_of_link(const char *target)
{
    static const char head[] = "socket:[";
    char digits[24];
    int64_t inode = -1;
    size_t length;

    if (strncmp(target, head, sizeof head - 1) != 0)
        return -1;
    target += sizeof head - 1;
    length = strcspn(target, "]");
    if (length >= sizeof digits)
        return -1;
    memcpy(digits, target, length);
    digits[length] = '\0';
    return text_to_i64(digits, &inode) == STATUS_OK ? inode : -1;
}

static int64_t socket_of_descriptor(const char *pid, const char *descriptor)
{
    char path[PATH_BYTES], target[NAME_BYTES];
    ssize_t length;

    if (snprintf(path, sizeof path, "/proc/%s/fd/%s", pid, descriptor) >= (int)sizeof path)
        return -1;
    length = readlink(path, target, sizeof target - 1);
    if (length < 0)
        return -1;
    target[length] = '\0';
    return socket_of_link(target);
}

/* Returns how many owners became known. */
static size_t look_at_process(const char *pid, struct socket_owner *owners, size_t count)
{
    char path[PATH_BYTES];
    size_t found = 0;
    DIR *folder;

    snprintf(path, sizeof path, "/proc/%.32s/fd", pid);
    folder = opendir(path);
    if (folder == NULL)
        return 0;
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        int64_t inode = socket_of_descriptor(pid, entry->d_name);

        for (size_t i = 0; i < count && inode > 0; i++) {
            if (owners[i].inode != inode || owners[i].process[0] != '\0')
                continue;
            name_process(pid, owners[i].process);
            found++;
        }
    }
    closedir(folder);
    return found;
}

void sockets_find_owners(struct socket_owner *owners, size_t count)
{
    DIR *folder = count > 0 ? opendir("/proc") : NULL;
    size_t found = 0;

    for (size_t i = 0; i < count; i++)
        owners[i].process[0] = '\0';
    if (folder == NULL)
        return;
    for (const struct dirent *entry = readdir(folder); entry != NULL && found < count;
         entry = readdir(folder)) {
        if (isdigit((unsigned char)entry->d_name[0]))
            found += look_at_process(entry->d_name, owners, count);
    }
    closedir(folder);
}
