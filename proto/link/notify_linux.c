/* Owns how Linux makes a socket for systemd. */
#include <sys/socket.h>

#include "proto/link/notify_system.h"

int notify_system_socket(void)
{
    return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}
