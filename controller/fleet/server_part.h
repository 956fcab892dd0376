/* Private to server and its parts: what a server is made of. */
#ifndef SONDE_FLEET_SERVER_PART_H
#define SONDE_FLEET_SERVER_PART_H

#include "controller/fleet/hub.h"
#include "controller/fleet/repeats.h"
#include "controller/fleet/server.h"
#include "proto/link/channel.h"
#include "proto/link/credentials.h"
#include "proto/link/notify.h"

enum server_state { SERVER_STARTS, SERVER_SERVES, SERVER_STOPS, SERVER_OVER };

struct server {
    enum server_state state;
    char path[4096]; /* of the configuration */
    struct controller_config_file config;

    struct loop *loop; /* borrowed */
    struct credentials credentials;
    struct channel *channel;
    struct store *store;
    struct hub *hub;
    struct notify notify;
    struct repeats *strangers;

    struct mono deadline; /* of SERVER_STARTS and SERVER_STOPS */
    enum status result;
    struct fault fault;

    size_t gone; /* connections since memory was given back */

    struct loop_timer start, hub_due, strangers_due, certificates, watchdog, tidy, stop;
};

/* --- server_world.c: between channel and hub ---------------------------------------------------
 */

struct channel_events server_events(struct server *server);
struct channel_rules server_channel_rules(const struct limits_config *limits);
struct hub_port server_hub_port(struct server *server);
struct hub_rules server_hub_rules(const struct controller_config_file *config);

/* After anything that the hub did or was told: sets its timer. */
void server_settle(struct server *server);

/* The same for what is to be said of strangers. */
void server_settle_strangers(struct server *server);

/* --- server_files.c: certificates --------------------------------------------------------------
 */

/* New ones, if they can be used; else the old ones stay. */
void server_read_certificates(struct server *server);

/* The same when the files have changed, or could not be used; says when they will end soon. */
void server_look_at_certificates(struct server *server);

#endif
