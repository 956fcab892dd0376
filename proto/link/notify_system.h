/* What systems do differently in making a socket. Part of notify. */
#ifndef SONDE_LINK_NOTIFY_SYSTEM_H
#define SONDE_LINK_NOTIFY_SYSTEM_H

/* A datagram socket of the local domain, close-on-exec, non-blocking; -1 with errno. */
int notify_system_socket(void);

#endif
