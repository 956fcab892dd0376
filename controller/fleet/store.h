/* What a controller keeps: one SQLite file (WAL, synchronous FULL). Every writing transaction is
 * BEGIN IMMEDIATE; results come in batches; a batch is committed before anything of it is
 * acknowledged; a result id that is there already changes nothing. Migrations run at opening, in
 * one transaction each; a file of a later version is refused.
 */
#ifndef SONDE_FLEET_STORE_H
#define SONDE_FLEET_STORE_H

#include "controller/fleet/work.h"
#include "proto/base/clock.h"

struct store;

/* Opens or makes it; the folder must exist. STATUS_AGAIN: another program holds it, try again;
 * STATUS_EXISTS: another controller (PATH.lock says so) uses it. A file of another program
 * (STATUS_INVALID) or of a later version (STATUS_UNSUPPORTED) is left as it is. */
enum status store_open(const char *path, struct store **out_store, struct fault *fault) must_check;
void store_close(struct store *store);

/* --- results --------------------------------------------------------------------------------- */

/* Keeps a copy for the next commit. STATUS_AGAIN when the batch is full (bytes or count): commit
 * first. */
enum status store_add(struct store *store, const char *agent, const struct message_result *result,
                      struct wall now) must_check;

size_t store_pending(const struct store *store);

/* Makes the batch durable. STATUS_OK: everything in it is (also what was there before): *out_ids is
 * filled with pairs of agent and id in the order of adding, the caller's to free with
 * store_ids_done. STATUS_AGAIN: locked by somebody else, try again; STATUS_NO_SPACE and others:
 * nothing is lost from the batch, try again later. */
struct store_id {
    char agent[NAME_SIZE];
    char id[UUID_SIZE];
    char kind[32];
    char run[UUID_SIZE]; /* of a report of any kind: its run; "" when the body is none */
    int64_t index;       /* and the case's position in it */
    bool fresh;          /* false: it was there already */
};
enum status store_commit(struct store *store, struct list *out_ids, struct fault *fault) must_check;
void store_ids_done(struct list *ids);

/* The body of a stored result; STATUS_NOT_FOUND. */
enum status store_result(struct store *store, const char *id, struct buf *out_body) must_check;

/* --- runs and cases ----------------------------------------------------------------------------
 */

struct run_entry {
    char run[UUID_SIZE];
    char from[NAME_SIZE], to[NAME_SIZE];
    char operator_name[NAME_SIZE];
    char started[32], finished[32]; /* finished "" while it runs */
    enum run_outcome outcome;
    char reason[REASON_SIZE];
    struct work work;
    struct list command; /* of char * */
};
extern const struct record run_entry_record;

enum status store_run_begin(struct store *store, const struct run_entry *run,
                            struct fault *fault) must_check;
struct run_end {
    const char *run, *reason;
    enum run_outcome outcome;
    struct wall now;
};
enum status store_run_end(struct store *store, const struct run_end *end,
                          struct fault *fault) must_check;

/* Runs that have not ended (the controller was killed) become failed with this reason. */
enum status store_end_orphans(struct store *store, const char *reason, struct wall now,
                              struct fault *fault) must_check;

/* The run that a prefix (4 letters at least) or "latest" names. STATUS_NOT_FOUND; STATUS_RANGE when
 * it names several. The caller frees it (record_done of run_entry_record). */
enum status store_run(struct store *store, const char *prefix, struct run_entry *out_run,
                      struct fault *fault) must_check;

/* A joined case: replaces what was there for this run and index. */
enum status store_case(struct store *store, const struct case_row *row,
                       struct fault *fault) must_check;

/* A joined direction of a path MTU session, likewise. First fills in row->previous: what the last
 * earlier run from `from` to `to` found for this family and direction. A row with status "error"
 * is nobody's previous one: what it knows may be a part of the answer only. */
enum status store_mtu(struct store *store, struct mtu_row *row, struct fault *fault) must_check;

/* Ids of the two reports of a case or session ("" when not there): of the sender's from the run's
 * `from`, of the echo's from its `to`, of the run's kind; what another agent says of itself does
 * not count. */
enum status store_case_reports(struct store *store, const char *run, int64_t index,
                               char out_ids[END_COUNT][UUID_SIZE]) must_check;

/* Rows for list_results, newest first, as many as one frame holds; fills the list of the kind that
 * is asked for, and more. A bad time in it is STATUS_INVALID. */
enum status store_cases(struct store *store, const struct message_list_results *query,
                        struct message_results *out_results, struct fault *fault) must_check;

/* Remembers agents across restarts. A power failure may take back the last few. `each` must not
 * call the store. */
enum status store_agent(struct store *store, const struct agent_row *row, struct wall now,
                        struct fault *fault) must_check;
typedef void store_agent_fn(void *context, const struct agent_row *row, int64_t ago_ns);
enum status store_agents(struct store *store, struct wall now, store_agent_fn *each, void *context,
                         struct fault *fault) must_check;

/* Deletes a part of what ended before `until`: runs with their cases and results, and results of no
 * run. *out_count is how much (0: nothing is left); until it is 0, call again soon. */
enum status store_retain(struct store *store, struct wall until, int64_t *out_count,
                         struct fault *fault) must_check;

#endif
