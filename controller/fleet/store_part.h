/* Private to store and its parts: what a store is made of. */
#ifndef SONDE_FLEET_STORE_PART_H
#define SONDE_FLEET_STORE_PART_H

#include "controller/fleet/store.h"
#include "proto/base/buf.h"
#include "proto/wire/limits.h"

/* Statements that are prepared once (store_query.c has their texts). */
enum statement {
    STATEMENT_ADD_RESULT,
    STATEMENT_RESULT,
    STATEMENT_RUN_BEGIN,
    STATEMENT_RUN_END,
    STATEMENT_ORPHANS_END,
    STATEMENT_RUN,
    STATEMENT_RUN_LATEST,
    STATEMENT_RUN_PREFIX,
    STATEMENT_CASE,
    STATEMENT_PREVIOUS,
    STATEMENT_CASE_REPORTS,
    STATEMENT_AGENT,
    STATEMENT_AGENTS,
    STATEMENT_OLD_RUNS,
    STATEMENT_DELETE_RESULTS,
    STATEMENT_DELETE_CASES,
    STATEMENT_DELETE_RUN,
    STATEMENT_DELETE_LONE_RESULTS,
    STATEMENT_COUNT
};

/* Results that wait for a commit. `ids` becomes the commit's answer. */
struct batch {
    struct list ids;   /* of struct store_id */
    struct list rows;  /* of struct batch_row, beside them */
    struct buf bodies; /* one behind another */
};

struct store {
    struct sqlite3 *db;
    struct sqlite3_stmt *statements[STATEMENT_COUNT];
    struct batch batch;
    int lock; /* descriptor whose lock keeps a second controller out */
};

void batch_init(struct batch *batch);
void batch_done(struct batch *batch);

/* Finds out what the file is; makes an empty one ours and brings an older one up to date. A file of
 * another program (STATUS_INVALID) or of a later version (STATUS_UNSUPPORTED) is not touched. */
enum status store_migrate(struct store *store, struct fault *fault) must_check;

/* The first text behind all that begin with this prefix. */
void store_prefix_end(const char *prefix, char *out_end, size_t size);

/* Cap of a stored run's plan and command: they came in one frame. */
enum { RUN_BODY_MAX = LIMIT_FRAME + 65536, ROW_BODY_MAX = 65536 };

#endif
