/* This host's own addresses and interfaces (getifaddrs). */
#ifndef SONDE_HOST_ADDRESSES_H
#define SONDE_HOST_ADDRESSES_H

#include "proto/base/addr.h"
#include "proto/wire/run.h"

/* Appends this host's addresses that others can reach, as char * without port or zone, at most
 * LIMIT_ADDRESSES: of interfaces that are up, IPv4 first, no loopback (unless there is nothing
 * else), link-local, multicast or tentative ones. */
void addresses_list(struct list *out_addresses);

/* The interface that has this address (its port does not matter), and its MTU; "" and NONE_INT when
 * none has. */
void addresses_interface(const struct addr *local, struct host_interface *out_interface);

/* The MTU of an interface; NONE_INT when it cannot be told. */
int64_t addresses_mtu(const char *interface);

#endif
