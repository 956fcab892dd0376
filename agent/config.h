/* The agent's file: every key with its default. */
#ifndef SONDE_AGENT_CONFIG_H
#define SONDE_AGENT_CONFIG_H

#include "proto/link/tls_context.h"
#include "proto/wire/record.h"

struct controller_config {
    char address[300];     /* "host:port"; required */
    char server_name[256]; /* demanded among the names of its certificate; "": not checked */
};

struct admission_config {
    struct list peers;       /* of char *: CIDR; empty: any host that the controller names */
    int64_t max_payload;     /* bytes */
    int64_t max_rate;        /* datagrams/s; 0: no limit. With a limit, closed loops are refused */
    double max_seconds;      /* of one case, both phases together; of one direction of path MTU */
    int64_t max_sessions;    /* at once */
    int64_t max_clients;     /* sockets, or flows, of one session */
    int64_t max_outstanding; /* clients x window */
    int64_t max_socket_buffer;
    int64_t max_io_threads;
    bool allow_sender, allow_echo; /* roles that this host takes */
};

struct echo_config {
    char bind_ipv4[64], bind_ipv6[64]; /* addresses of the echo role's sockets */
    int64_t first_port, last_port;
};

struct spool_config {
    char path[4096]; /* of the SQLite file */
    int64_t max_bytes;
};

struct agent_config {
    struct controller_config controller;
    struct tls_files tls;
    struct admission_config admission;
    struct echo_config echo;
    struct spool_config spool;
    int log_level; /* enum log_level */
};

extern const struct record agent_config_record;

/* All defaults: what an empty file means. The caller owns it (record_done). */
void agent_config_init(struct agent_config *out_config);

/* Reads the file and checks what ranges cannot say (a CIDR, first_port <= last_port, address
 * missing). The fault names file, line or key, and what is allowed. */
enum status agent_config_load(const char *path, struct agent_config *out_config,
                              struct fault *fault) must_check;

#endif
