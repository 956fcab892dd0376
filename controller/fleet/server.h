/* sonde serve: joins channel, hub and store on one loop. */
#ifndef SONDE_FLEET_SERVER_H
#define SONDE_FLEET_SERVER_H

#include "controller/fleet/config.h"
#include "proto/link/loop.h"

struct server;

enum status server_new(struct loop *loop, const char *config_path, struct server **out_server,
                       struct fault *fault) must_check;

/* Listens (an address that is not usable yet is tried for 30 s), tells systemd. */
enum status server_start(struct server *server, struct mono now, struct fault *fault) must_check;

void server_reload(struct server *server, struct mono now);
void server_stop(struct server *server, struct mono now);
void server_free(struct server *server);

#endif
