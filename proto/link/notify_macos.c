/* Owns how macOS makes the same socket. launchd asks for none: only tests come here. */
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/link/notify_system.h"

int notify_system_socket(void)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

    if (fd == -1)
        return -1;
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0)
        return fd;
    close(fd);
    return -1;
}
