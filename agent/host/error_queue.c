/* Owns what ICMP's types and codes mean for a datagram that was sent. Knows no socket. */
#include "agent/host/error_queue.h"

/* RFC 792 and RFC 1122 section 3.2.2.1; RFC 4443 section 3. Each system has its own names. */
enum {
    ICMP4_UNREACHABLE = 3,
    ICMP4_TIME_EXCEEDED = 11,
    ICMP4_CODE_PORT = 3,
    ICMP4_CODE_TOO_BIG = 4,
    ICMP6_UNREACHABLE = 1,
    ICMP6_TOO_BIG = 2,
    ICMP6_TIME_EXCEEDED = 3,
    ICMP6_CODE_PORT = 4,
    CODE_IN_TRANSIT = 0 /* of "time exceeded"; 1 is reassembly */
};

static enum error_kind kind_of4(uint8_t type, uint8_t code)
{
    if (type == ICMP4_TIME_EXCEEDED && code == CODE_IN_TRANSIT)
        return ERROR_TIME_EXCEEDED;
    if (type != ICMP4_UNREACHABLE)
        return ERROR_OTHER;
    if (code == ICMP4_CODE_TOO_BIG)
        return ERROR_TOO_BIG;
    return code == ICMP4_CODE_PORT ? ERROR_NO_PORT : ERROR_UNREACHABLE;
}

static enum error_kind kind_of6(uint8_t type, uint8_t code)
{
    if (type == ICMP6_TOO_BIG)
        return ERROR_TOO_BIG; /* whatever the code: RFC 4443 section 3.2 */
    if (type == ICMP6_TIME_EXCEEDED && code == CODE_IN_TRANSIT)
        return ERROR_TIME_EXCEEDED;
    if (type != ICMP6_UNREACHABLE)
        return ERROR_OTHER;
    return code == ICMP6_CODE_PORT ? ERROR_NO_PORT : ERROR_UNREACHABLE;
}

enum error_kind error_kind_of(enum family family, uint8_t type, uint8_t code)
{
    return family == FAMILY_IPV4 ? kind_of4(type, code) : kind_of6(type, code);
}
