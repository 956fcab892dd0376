/* sonde serve: joins channel, hub and store on one loop. */
#ifndef SONDE_FLEET_SERVER_H
#define SONDE_FLEET_SERVER_H

#include "controller/fleet/config.h"
#include "proto/link/loop.h"

/* How long an address or a store that is not usable yet is tried, and how long runs may take to
 * stop. */
#define SERVER_START_NS (30 * NS_PER_S)
#define SERVER_STOP_NS  (5 * NS_PER_S)

struct server;

/* Reads the file and the certificates; the log's level becomes the file's. The caller frees it
 * before the loop. */
enum status server_new(struct loop *loop, const char *config_path, struct server **out_server,
                       struct fault *fault) must_check;

/* Opens the store, listens, tells systemd. What is not usable yet (an address that the system does
 * not have yet, a store that another program holds) is tried again for SERVER_START_NS, and then
 * ends the loop; server_result says so. */
enum status server_start(struct server *server, struct mono now, struct fault *fault) must_check;

/* Reads file and certificates anew: limits, retention, log level and certificates change; what is
 * broken is logged and the old stays. */
void server_reload(struct server *server, struct mono now);

/* Stops every run, commits what waits, says bye, then stops the loop. Asked twice, runs get no time
 * for it. */
void server_stop(struct server *server, struct mono now);

/* Once the loop is over: STATUS_OK when it was told to stop, else why it could not start. */
enum status server_result(const struct server *server, struct fault *fault) must_check;

/* Where it listens; 0 before. */
uint16_t server_port(const struct server *server);

/* NULL is allowed. */
void server_free(struct server *server);

#endif
