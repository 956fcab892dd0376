/* What tests of the whole agent stand on: its files in a folder, and a controller's channel on the
 * same loop. */
#ifndef SONDE_TESTS_AGENT_STAGE_H
#define SONDE_TESTS_AGENT_STAGE_H

#include "agent/agent.h"
#include "tests/agent/fake_controller.h"
#include "tests/proto/link/make_certs.h"

struct stage {
    struct loop *loop;
    struct certs *certs;
    struct authority *ca;
    const char *config, *spool; /* paths */
    struct tls_files files;     /* of the agent */
    struct tls_context *controller;
    struct fake_controller fake;
    uint16_t port; /* of the controller, as the configuration has it */
    struct agent *agent;

    /* what the controller heard */
    int opened, refused, closed, failed, results;
    uint16_t echo_port;
    char reason[REASON_SIZE], result[UUID_SIZE];
    struct report report; /* the last result */

    char log[16384];
    size_t logged;
};

/* For cmocka: the stage in *state, the controller listening, no configuration yet. */
int stage_set_up(void **state);
int stage_tear_down(void **state);

bool is_logged(const struct stage *stage, const char *words);

/* `more` stands at its end. */
void write_config(struct stage *stage, const char *more);

/* Starts it with the configuration that is there; writes one first, and waits for welcome. */
void start_agent(struct stage *stage);
void start_connected(struct stage *stage);
void reload(struct stage *stage);
void end_agent(struct stage *stage);

/* Turns the loop until *count is at least `least`; for as long as what happens at once takes. */
void until(struct stage *stage, const int *count, int least);
void turn_a_while(struct stage *stage);

/* The controller says; a sender's target is the echo that was opened last. */
void open_session(struct stage *stage, const char *session, enum end_role role);
void close_session(struct stage *stage, const char *session);

/* What is in the spool of an agent that has ended. */
int64_t spooled(struct stage *stage);

#endif
