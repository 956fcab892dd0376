/* Owns joined cases and the questions about them. Must not know how two reports are joined. */
#include <stdio.h>
#include <string.h>

#include "controller/fleet/store_query.h"
#include "proto/base/text.h"
#include "proto/wire/record_msgpack.h"

/* What an answer may take of its frame: the rest is for what stands around the rows. */
enum { ANSWER_BYTES = LIMIT_FRAME - 4096, FILTERS_MAX = 10, SQL_SIZE = 512 };

static const struct record *const row_records[] = { &case_row_record, &mtu_row_record };

/* What a row of either kind has in columns. */
struct columns {
    const char *run, *from, *to;
    int64_t index, status;
    enum work_kind kind;
    const struct mtu_row *mtu; /* NULL: of a case */
};

static void bind_columns(struct query *query, const struct columns *columns, struct wall started,
                         const struct buf *body)
{
    const struct mtu_row *mtu = columns->mtu;

    query_text(query, 1, columns->run);
    query_int(query, 2, columns->index);
    query_text(query, 3, columns->from);
    query_text(query, 4, columns->to);
    query_int(query, 5, started.ns);
    query_int(query, 6, columns->status);
    query_bytes(query, 7, body->data, body->length);
    query_int(query, 8, columns->kind);
    if (mtu == NULL)
        return;
    query_int(query, 9, mtu->family);
    query_int(query, 10, mtu->direction);
    if (mtu->path_mtu != NONE_INT && mtu->status != CASE_ERROR)
        query_int(query, 11, mtu->path_mtu);
}

/* Writes the row's body and replaces it, in a transaction that has begun. */
static enum status replace(struct store *store, const struct columns *columns, struct wall started,
                           const void *row, struct fault *fault)
{
    struct query query;
    struct buf body;
    enum status status;

    buf_init(&body, ROW_BODY_MAX);
    status = record_to_msgpack(row_records[columns->kind], row, &body);
    if (status == STATUS_OK) {
        query = query_begin(store, STATEMENT_CASE);
        bind_columns(&query, columns, started, &body);
        status = query_run(&query, fault);
    }
    buf_done(&body);
    return status;
}

/* When the run began; STATUS_INVALID. */
static enum status begin_row(struct store *store, const char *started, struct wall *out_started,
                             struct fault *fault)
{
    if (wall_parse(started, out_started) != STATUS_OK)
        return fault_set(fault, STATUS_INVALID, "started: \"%s\" is not RFC 3339", started);
    return store_begin(store, fault);
}

enum status store_case(struct store *store, const struct case_row *row, struct fault *fault)
{
    const struct columns columns = { .run = row->run,
                                     .from = row->from,
                                     .to = row->to,
                                     .index = row->index,
                                     .status = row->status,
                                     .kind = WORK_CASES };
    struct wall started;
    enum status status = begin_row(store, row->started, &started, fault);

    if (status != STATUS_OK)
        return status;
    status = replace(store, &columns, started, row, fault);
    return store_finish(store, status, fault);
}

static enum status find_previous(struct store *store, const struct mtu_row *row,
                                 struct wall started, int64_t *out_previous, struct fault *fault)
{
    struct query query = query_begin(store, STATEMENT_PREVIOUS);
    int64_t previous = NONE_INT;
    enum status status;

    query_text(&query, 1, row->from);
    query_text(&query, 2, row->to);
    query_int(&query, 3, row->family);
    query_int(&query, 4, row->direction);
    query_int(&query, 5, started.ns);
    query_text(&query, 6, row->run);
    if (query_next(&query))
        previous = query_get_int(&query, 0);
    status = query_end(&query, fault);
    if (status == STATUS_OK)
        *out_previous = previous;
    return status;
}

enum status store_mtu(struct store *store, struct mtu_row *row, struct fault *fault)
{
    const struct columns columns = { .run = row->run,
                                     .from = row->from,
                                     .to = row->to,
                                     .index = row->index,
                                     .status = row->status,
                                     .kind = WORK_MTU,
                                     .mtu = row };
    struct wall started;
    enum status status = begin_row(store, row->started, &started, fault);

    if (status != STATUS_OK)
        return status;
    status = find_previous(store, row, started, &row->previous, fault);
    if (status == STATUS_OK)
        status = replace(store, &columns, started, row, fault);
    return store_finish(store, status, fault);
}

enum status store_case_reports(struct store *store, const char *run, int64_t index,
                               char out_ids[END_COUNT][UUID_SIZE])
{
    char ids[END_COUNT][UUID_SIZE] = { "", "" };
    struct query query = query_begin(store, STATEMENT_CASE_REPORTS);
    enum status status;

    query_text(&query, 1, run);
    query_int(&query, 2, index);
    query_int(&query, 3, END_SENDER);
    query_int(&query, 4, WORK_CASES);
    query_text(&query, 5, work_report_names[WORK_CASES]);
    query_text(&query, 6, work_report_names[WORK_MTU]);
    while (query_next(&query)) {
        int64_t role = query_get_int(&query, 1);

        if (role >= 0 && role < END_COUNT && ids[role][0] == '\0')
            query_get_id(&query, 0, ids[role]);
    }
    status = query_end(&query, NULL);
    if (status == STATUS_OK)
        memcpy(out_ids, ids, sizeof ids);
    return status;
}

/* --- list_results ------------------------------------------------------------------------------
 */

/* The conditions that a question has, and their values. */
struct filters {
    struct filter {
        const char *condition; /* our own text, with one place */
        const char *text;      /* NULL: number */
        int64_t number;
    } items[FILTERS_MAX];
    size_t count;
    char run_end[UUID_SIZE];
};

static void filter_text(struct filters *filters, const char *condition, const char *text)
{
    filters->items[filters->count++] = (struct filter){ .condition = condition, .text = text };
}

static void filter_int(struct filters *filters, const char *condition, int64_t number)
{
    filters->items[filters->count++] = (struct filter){ .condition = condition, .number = number };
}

static enum status filter_time(struct filters *filters, const char *condition, const char *text,
                               struct fault *fault)
{
    struct wall time;

    if (text[0] == '\0')
        return STATUS_OK;
    if (wall_parse(text, &time) != STATUS_OK)
        return fault_set(fault, STATUS_INVALID,
                         "\"%s\" is no time: allowed is RFC 3339 in UTC, as 2026-11-30T18:44:10Z",
                         text);
    filter_int(filters, condition, time.ns);
    return STATUS_OK;
}

static enum status collect(const struct message_list_results *query, struct filters *filters,
                           struct fault *fault)
{
    enum status status;

    /* A run's few rows are found by its id: an index of the kind would be taken for a better one.
     */
    filter_int(filters, query->run[0] != '\0' ? "+kind = ?" : "kind = ?", query->kind);
    if (query->run[0] != '\0') {
        store_prefix_end(query->run, filters->run_end, sizeof filters->run_end);
        filter_text(filters, "run >= ?", query->run);
        filter_text(filters, "run < ?", filters->run_end);
    }
    if (query->from[0] != '\0')
        filter_text(filters, "sender = ?", query->from);
    if (query->to[0] != '\0')
        filter_text(filters, "echo = ?", query->to);
    if (query->status != NONE_INT)
        filter_int(filters, "status = ?", query->status);
    if (query->before != NONE_INT)
        filter_int(filters, "row < ?", query->before);
    status = filter_time(filters, "started >= ?", query->since, fault);
    if (status == STATUS_OK)
        status = filter_time(filters, "started < ?", query->until, fault);
    return status;
}

static struct query ask(struct store *store, const struct filters *filters, int64_t limit)
{
    struct buf sql;
    struct query query;

    /* Conditions that are not there are left out, so that the others' indexes can be used. */
    buf_init(&sql, SQL_SIZE);
    buf_text(&sql, "SELECT row, body FROM cases");
    for (size_t i = 0; i < filters->count; i++)
        buf_printf(&sql, "%s%s", i == 0 ? " WHERE " : " AND ", filters->items[i].condition);
    buf_text(&sql, " ORDER BY row DESC LIMIT ?");
    query = query_make(store, buf_peek(&sql));
    buf_done(&sql);
    for (size_t i = 0; i < filters->count; i++) {
        if (filters->items[i].text != NULL)
            query_text(&query, (int)i + 1, filters->items[i].text);
        else
            query_int(&query, (int)i + 1, filters->items[i].number);
    }
    query_int(&query, (int)filters->count + 1, limit + 1);
    return query;
}

/* Where an answer keeps rows of this kind. */
static struct list *rows_of(struct message_results *results, enum work_kind kind)
{
    return kind == WORK_CASES ? &results->rows : &results->mtu_rows;
}

/* As many as were asked for and fit one frame. */
static enum status read_rows(struct query *query, const struct message_list_results *asked,
                             struct message_results *results, struct fault *fault)
{
    const struct record *record = row_records[asked->kind];
    struct list *rows = rows_of(results, asked->kind);
    union {
        struct case_row of_case;
        struct mtu_row of_mtu;
    } row;
    size_t bytes = 0;

    while (query_next(query)) {
        size_t length;
        const void *body = query_peek_bytes(query, 1, &length);

        /* Its number here takes up to 8 bytes more than the one it was written with. */
        bytes += length + sizeof(int64_t);
        if ((int64_t)rows->count == asked->limit || bytes > ANSWER_BYTES) {
            results->more = true;
            return STATUS_OK;
        }
        if (record_from_msgpack(record, body, length, &row, fault) != STATUS_OK)
            return STATUS_CORRUPT;
        /* The first member of both. */
        row.of_case.row = query_get_int(query, 0);
        memcpy(list_append_sized(rows, record->size), &row, record->size);
    }
    return STATUS_OK;
}

enum status store_cases(struct store *store, const struct message_list_results *query,
                        struct message_results *out_results, struct fault *fault)
{
    struct filters filters = { .count = 0 };
    struct message_results results;
    struct query asked;
    enum status status = collect(query, &filters, fault), ended;

    if (status != STATUS_OK)
        return status;
    message_init(&results, MESSAGE_RESULTS);
    asked = ask(store, &filters, query->limit);
    status = read_rows(&asked, query, &results, fault);
    ended = query_end(&asked, fault);
    if (status == STATUS_OK)
        status = ended;
    if (status != STATUS_OK) {
        message_done(&results);
        return status;
    }
    out_results->rows = results.rows;
    out_results->mtu_rows = results.mtu_rows;
    out_results->more = results.more;
    return STATUS_OK;
}
