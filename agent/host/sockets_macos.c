/* Owns what macOS says of other programs' UDP sockets: no drops, outside of private structs
 * (docs/counters.md). */
#include "agent/host/sockets.h"

enum status sockets_read(struct list *out_sockets, struct fault *fault)
{
    (void)out_sockets;
    return fault_set(fault, STATUS_UNSUPPORTED, "this system does not tell each socket's drops");
}

void sockets_find_owners(struct socket_owner *owners, size_t count)
{
    for (size_t i = 0; i < count; i++)
        owners[i].process[0] = '\0';
}
