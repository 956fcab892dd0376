/* What tests of tasks stand on: real threads, mailboxes and loopback sockets; the test speaks as
 * the controller does. */
#ifndef SONDE_TESTS_TASK_STAND_H
#define SONDE_TESTS_TASK_STAND_H

#include "agent/task.h"

enum { FIRST_SSID = 400 };

struct stand {
    struct loop *loop;
    struct echo_config echo;
    struct admission_config limits;
    struct admission *admission;
    struct task_surroundings surroundings;
};

/* One task, and the loop's end of its mailbox. */
struct end {
    char session[UUID_SIZE];
    struct task *task;
    struct mailbox *mailbox;
};

/* For cmocka: the stand in *state. */
int stand_set_up(void **state);
int stand_tear_down(void **state);

/* From now on `limits` are what is admitted; and only these hosts are. */
void stand_use_limits(struct stand *stand);
void stand_use_peers(struct stand *stand, const char *range);

/* Two clients with a window of 4. */
struct case_params params_of(double seconds);

/* One flow both ways over this family, with neither fragments nor trace. */
struct mtu_params mtu_params_of(enum family family);

struct order {
    enum end_role role;
    const char *session;
    uint16_t port; /* sender: of the target */
    int64_t ssid;
    struct case_params params;
    const struct mtu_params *mtu; /* not NULL: a path MTU session */
    double idle_s;
};

void start(struct stand *stand, const struct order *order, struct end *out_end);

/* Of session `name`, the session's place giving its SSID; waits for opened. Its port. */
uint16_t start_echo(struct stand *stand, const char *name, struct case_params params,
                    struct end *out_end);

/* Does not wait. */
void start_sender(struct stand *stand, const char *name, uint16_t port, struct case_params params,
                  struct end *out_end);

/* The same of path MTU sessions. */
uint16_t start_listener(struct stand *stand, const char *name, const struct mtu_params *params,
                        struct end *out_end);
void start_caller(struct stand *stand, const char *name, uint16_t port,
                  const struct mtu_params *params, struct end *out_end);

/* Joins it; nothing may have come behind its last message. */
void finish(struct end *end);

/* begin and end. */
void tell(struct end *end, enum message_type type, enum phase_kind phase);
void tell_close(struct end *end, const char *reason);

bool hear(struct end *end, int64_t timeout_ns, union message *out_message);

/* The next message that is no progress must be of this type; returns how often progress came. */
size_t expect(struct end *end, enum message_type type, union message *out_message);
void expect_phase(struct end *end, enum message_type type, enum phase_kind phase);

/* The result, whose report is the caller's; then closed, or failed. */
void expect_report(struct end *end, struct report *out_report);
void expect_closed(struct end *end, struct report *out_report);
void expect_failed(struct end *end, const char *reason);
void expect_mtu_report(struct end *end, struct mtu_report *out_report);
void expect_mtu_closed(struct end *end, struct mtu_report *out_report);
void expect_mtu_failed(struct end *end, const char *reason, struct mtu_report *out_report);

/* begin, begun, begin, ended, end, ended: of who answers and who sends, or probes. */
void run_phase(struct end *echo, struct end *sender, enum phase_kind phase);

#endif
