/* Every cap on what a peer, a file or a user may size, by name. */
#ifndef SONDE_WIRE_LIMITS_H
#define SONDE_WIRE_LIMITS_H

#include <stdint.h>

enum {
    LIMIT_JSON_DEPTH = 32,        /* nesting of any JSON text */
    LIMIT_JSON_BYTES = 256 << 20, /* a run.json (archive.md) */
    LIMIT_JSON_VALUES = 16 << 20, /* elements of a JSON text: what bounds a parser's memory */
    LIMIT_CASES = 10000,          /* cases of one run */
    LIMIT_HOSTS = 16,             /* hosts of one run */
    LIMIT_REPEATS = 1000,
    LIMIT_LIST_ITEMS = 256,     /* payloads, windows or engines of a plan */
    LIMIT_COMMAND_WORDS = 1024, /* argv as the archive keeps it */
    LIMIT_COMMAND_WORD_BYTES = 4096,
    LIMIT_MAP_ENTRIES = 1024, /* limits, libraries, reasons */
    LIMIT_HISTOGRAM_BUCKETS = 8192,
    LIMIT_CLIENTS = 65000, /* one source port each */
    LIMIT_WINDOW = 65536,
    LIMIT_OUTSTANDING = 4 << 20, /* clients x window */
    LIMIT_IO_THREADS = 256,
    LIMIT_SOCKET_BUFFER = INT32_MAX, /* what setsockopt takes */
    LIMIT_MTU = 65575,               /* 65,535 bytes behind an IPv6 base header */
    LIMIT_INTERFACES = 4096,
    LIMIT_CPUS = 4096,
    LIMIT_PROC_BYTES = 16 << 20, /* one file of /proc */

    LIMIT_FRAME = 1 << 20, /* one message on the control channel, without its length */
    LIMIT_RESULT_BYTES = (1 << 20) - 4096, /* the body of one result */
    LIMIT_MESSAGE_DEPTH = 16,              /* nesting of a message */
    LIMIT_PART_BYTES = 256 << 10,          /* one part of an archive on its way to an operator */
    LIMIT_ADDRESSES = 64,                  /* of one host */
    LIMIT_FLEET = 20000,                   /* agents that a controller knows */
    LIMIT_ROWS = 1000,                     /* rows of one answer to an operator */
    LIMIT_CONFIG_BYTES = 1 << 20,          /* a configuration file */
    LIMIT_PEM_BYTES = 16 << 20,            /* a file of certificates, a key or a CRL */
    LIMIT_RULES = 256                      /* entries of a list in a configuration file */
};

/* The largest UDP payload: 65,535 less the headers that the length field counts. */
enum { PAYLOAD_MAX_IPV4 = 65507, PAYLOAD_MAX_IPV6 = 65527 };

#define LIMIT_SECONDS 86400.0 /* of one phase */
#define LIMIT_PAIR_IDLE_S 8.0 /* between hosts: a controller waits for an answer meanwhile */
#define LIMIT_WORK_NS INT64_C(1000000000)

#endif
