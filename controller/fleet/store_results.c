/* Owns the batch of results on its way to the disk. Must not know what a report says beyond the
 * case it belongs to. */
#include <stdlib.h>
#include <string.h>

#include "controller/fleet/store_query.h"
#include "proto/base/text.h"
#include "proto/wire/record_msgpack.h"
#include "proto/wire/record_table.h"

/* What one commit may hold. */
enum { BATCH_RESULTS = 4096, BATCH_BYTES = 8 << 20 };

/* The case or session that a report is of: enough of report_record and mtu_report_record to find it
 * again. */
struct report_place {
    char run[UUID_SIZE];
    int64_t index;
    enum end_role role;
};

static const struct field report_place_fields[] = {
    TEXT(struct report_place, run, "UUID of the run"),
    INT(struct report_place, index, 0, LIMIT_CASES - 1, "of the case"),
    CHOICE(struct report_place, role, end_role_names, END_COUNT, "this end's part"),
};
static const struct record report_place_record = RECORD(report_place, report_place_fields);

/* Beside each struct store_id of a batch. */
struct batch_row {
    struct wall stored;
    size_t offset, length; /* of its body */
    enum end_role role;    /* of a report */
};

void batch_init(struct batch *batch)
{
    memset(batch, 0, sizeof *batch);
    buf_init(&batch->bodies, BATCH_BYTES);
}

void batch_done(struct batch *batch)
{
    store_ids_done(&batch->ids);
    store_ids_done(&batch->rows);
    buf_done(&batch->bodies);
}

void store_ids_done(struct list *ids)
{
    free(ids->items);
    *ids = (struct list){ NULL, 0 };
}

/* What claims to be a report and is none is stored all the same: the agent must get rid of it, and
 * whoever joins reports says what is wrong with it. */
static void find_place(const struct message_result *result, struct report_place *out_place)
{
    if (!work_is_report(result->kind) ||
        record_from_msgpack(&report_place_record, result->body.data, result->body.length, out_place,
                            NULL) != STATUS_OK)
        record_init(&report_place_record, out_place);
}

enum status store_add(struct store *store, const char *agent, const struct message_result *result,
                      struct wall now)
{
    struct batch *batch = &store->batch;
    struct report_place place;
    struct store_id *id;
    struct batch_row *row;

    if (result->body.length > LIMIT_RESULT_BYTES)
        return STATUS_TOO_LARGE;
    if (batch->ids.count >= BATCH_RESULTS ||
        result->body.length > BATCH_BYTES - batch->bodies.length)
        return STATUS_AGAIN;
    find_place(result, &place);
    id = list_append_sized(&batch->ids, sizeof *id);
    text_copy(id->agent, sizeof id->agent, agent);
    text_copy(id->id, sizeof id->id, result->id);
    text_copy(id->kind, sizeof id->kind, result->kind);
    text_copy(id->run, sizeof id->run, place.run);
    id->index = place.index;
    row = list_append_sized(&batch->rows, sizeof *row);
    row->stored = now;
    row->offset = batch->bodies.length;
    row->length = result->body.length;
    row->role = place.role;
    buf_append(&batch->bodies, result->body.data, result->body.length);
    return STATUS_OK;
}

size_t store_pending(const struct store *store)
{
    return store->batch.ids.count;
}

static enum status insert(struct store *store, struct store_id *id, const struct batch_row *row,
                          struct fault *fault)
{
    struct query query = query_begin(store, STATEMENT_ADD_RESULT);
    enum status status;

    query_id(&query, 1, id->id);
    query_text(&query, 2, id->agent);
    query_text(&query, 3, id->kind);
    query_int(&query, 4, row->stored.ns);
    if (id->run[0] != '\0') {
        query_text(&query, 5, id->run);
        query_int(&query, 6, id->index);
        query_int(&query, 7, row->role);
    }
    query_bytes(&query, 8, buf_peek(&store->batch.bodies) + row->offset, row->length);
    status = query_run(&query, fault);
    id->fresh = status == STATUS_OK && query_changes(store) == 1;
    return status;
}

enum status store_commit(struct store *store, struct list *out_ids, struct fault *fault)
{
    struct batch *batch = &store->batch;
    struct store_id *ids = batch->ids.items;
    const struct batch_row *rows = batch->rows.items;
    enum status status = STATUS_OK;

    if (batch->ids.count > 0) {
        status = store_begin(store, fault);
        if (status != STATUS_OK)
            return status;
        for (size_t i = 0; i < batch->ids.count && status == STATUS_OK; i++)
            status = insert(store, &ids[i], &rows[i], fault);
        status = store_finish(store, status, fault);
    }
    if (status != STATUS_OK)
        return status;
    *out_ids = batch->ids;
    batch->ids = (struct list){ NULL, 0 };
    batch_done(batch);
    return STATUS_OK;
}

enum status store_result(struct store *store, const char *id, struct buf *out_body)
{
    struct query query = query_begin(store, STATEMENT_RESULT);
    enum status status, found = STATUS_NOT_FOUND;

    query_id(&query, 1, id);
    if (query_next(&query)) {
        size_t length;
        const void *body = query_peek_bytes(&query, 0, &length);

        buf_append(out_body, body, length);
        found = buf_status(out_body);
    }
    status = query_end(&query, NULL);
    return status != STATUS_OK ? status : found;
}
