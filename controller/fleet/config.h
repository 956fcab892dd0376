/* The controller's file: every key with its default. */
#ifndef SONDE_FLEET_CONFIG_H
#define SONDE_FLEET_CONFIG_H

#include "proto/link/tls_context.h"
#include "proto/wire/record.h"

struct store_config {
    char path[4096];  /* of the SQLite file */
    double keep_days; /* 0: for ever */
};

struct limits_config {
    int64_t agents;             /* connections at once */
    int64_t strangers;          /* connections before their handshake is over */
    int64_t outbound_bytes;     /* that may wait for one peer */
    int64_t outbound_all_bytes; /* and for all */
    int64_t runs;
};

struct controller_config_file {
    char listen[300]; /* "0.0.0.0:7862" */
    struct tls_files tls;
    struct store_config store;
    struct limits_config limits;
    int log_level; /* enum log_level */
};

extern const struct record controller_config_record;

void controller_config_init(struct controller_config_file *out_config);

enum status controller_config_load(const char *path, struct controller_config_file *out_config,
                                   struct fault *fault) must_check;

#endif
