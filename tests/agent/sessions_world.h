/* A world for sessions: what they do to it is written down, line by line; time is a number. */
#ifndef SONDE_TESTS_SESSIONS_WORLD_H
#define SONDE_TESTS_SESSIONS_WORLD_H

#include "agent/sessions.h"

enum { SPOOL_MAX = 600, MAX_SESSIONS = 4 };

/* A spool in memory: a place is an index + 1, a forgotten one has no id. */
struct spooled {
    char id[UUID_SIZE];
    size_t length;
};

struct world {
    struct sessions *sessions;
    struct admission *admission;
    struct mono now;
    char log[1 << 16];
    size_t logged;
    bool away;                            /* the controller */
    enum status start, put, next, forget; /* what these answer */
    struct spooled spool[SPOOL_MAX];
    size_t spooled, forgets;
};

/* For cmocka: a connected world in *state. */
int world_set_up(void **state);
int world_tear_down(void **state);

/* What was done since the last look. */
void assert_done(struct world *world, const char *lines);
void forget_done(struct world *world);

/* The controller says. */
void open_echo(struct world *world, const char *session);
void open_sender(struct world *world, const char *session);
void open_listener(struct world *world, const char *session); /* of a path MTU session, forward */
void control(struct world *world, enum message_type type, const char *session);
void committed(struct world *world, const char *id);

/* A session's task says. */
void task(struct world *world, enum message_type type, const char *session);
void task_refused(struct world *world, const char *session, const char *reason);
void task_result(struct world *world, const char *session, const char *id, size_t length);
void task_closed(struct world *world, const char *session, const char *result);
void task_failed(struct world *world, const char *session, const char *result, const char *reason);

/* Time goes on to the deadline, which there must be. */
void tick_at_deadline(struct world *world);

#endif
