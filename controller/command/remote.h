/* An operator's connection to a controller, for one command: asks and waits. */
#ifndef SONDE_COMMAND_REMOTE_H
#define SONDE_COMMAND_REMOTE_H

#include "controller/command/options.h"
#include "proto/base/clock.h"
#include "proto/wire/message.h"

#define REMOTE_ANSWER_NS (20 * NS_PER_S) /* how long one answer is waited for */

/* What the flags say; defaults from SONDE_CONTROLLER and SONDE_IDENTITY. */
struct remote_flags {
    const char *controller; /* "host:port", port 7862 when left out */
    const char *identity;   /* folder with ca.pem, operator.pem and operator-key.pem */
};

/* The two flags, for a command's table. */
#define REMOTE_OPTIONS(FLAGS)                                                                      \
    { .name = "controller",                                                                        \
      .argument = "HOST[:PORT]",                                                                   \
      .value = &(FLAGS)->controller,                                                               \
      .help = "the controller (default: $SONDE_CONTROLLER, else 127.0.0.1:7862)" },                \
    {                                                                                              \
        .name = "identity", .argument = "DIR", .value = &(FLAGS)->identity,                        \
        .help = "folder with ca.pem, operator.pem, operator-key.pem and perhaps crl.pem "          \
                "(default: $SONDE_IDENTITY, else ~/.sonde)"                                        \
    }

struct remote;

/* Connects and waits until the controller is known to be one and to take us for an operator. The
 * fault says what was refused, and by whom. */
enum status remote_open(const struct remote_flags *flags, struct remote **out_remote,
                        struct fault *fault) must_check;
void remote_close(struct remote *remote);

/* A number for the next request. */
int64_t remote_request(struct remote *remote);

enum status remote_send(struct remote *remote, const void *message, struct fault *fault) must_check;

/* The next message, waiting at most timeout_ns: STATUS_AGAIN when there is none; STATUS_IO when the
 * connection is lost. The caller frees it (message_done). */
enum status remote_receive(struct remote *remote, int64_t timeout_ns, union message *out_message,
                           struct fault *fault) must_check;

/* Sends a request and waits for its answer, of type `wanted`; what else comes is thrown away. An
 * error message is STATUS_INVALID with its reason. */
enum status remote_ask(struct remote *remote, const void *request, enum message_type wanted,
                       union message *out_answer, struct fault *fault) must_check;

/* A run of the controller's store as an archive's record, checked; the caller frees it
 * (run_done). */
enum status remote_fetch_run(struct remote *remote, const char *run, struct run *out_run,
                             struct fault *fault) must_check;

#endif
