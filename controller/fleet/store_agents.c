/* Owns what is remembered of agents across restarts. Must not know their connections. */
#include "controller/fleet/store_query.h"
#include "proto/wire/record_msgpack.h"

static enum status replace(struct store *store, const char *name, struct wall now,
                           const struct buf *body, struct fault *fault)
{
    struct query query;
    enum status status = store_begin(store, fault);

    if (status != STATUS_OK)
        return status;
    query = query_begin(store, STATEMENT_AGENT);
    query_text(&query, 1, name);
    query_int(&query, 2, now.ns);
    query_bytes(&query, 3, body->data, body->length);
    return store_finish(store, query_run(&query, fault), fault);
}

/* Not worth a disk's answer: a fleet comes back all at once, and an agent that a power failure made
 * us forget says hello again. Whatever ends this process loses nothing. */
static enum status replace_soon(struct store *store, const struct agent_row *row, struct wall now,
                                const struct buf *body, struct fault *fault)
{
    enum status status = query_execute(store, "PRAGMA synchronous = NORMAL", fault), back;

    if (status == STATUS_OK)
        status = replace(store, row->name, now, body, fault);
    back = query_execute(store, "PRAGMA synchronous = FULL", status == STATUS_OK ? fault : NULL);
    return status != STATUS_OK ? status : back;
}

enum status store_agent(struct store *store, const struct agent_row *row, struct wall now,
                        struct fault *fault)
{
    struct buf body;
    enum status status;

    buf_init(&body, ROW_BODY_MAX);
    status = record_to_msgpack(&agent_row_record, row, &body);
    if (status == STATUS_OK)
        status = replace_soon(store, row, now, &body, fault);
    buf_done(&body);
    return status;
}

enum status store_agents(struct store *store, struct wall now, store_agent_fn *each, void *context,
                         struct fault *fault)
{
    struct query query = query_begin(store, STATEMENT_AGENTS);
    enum status status = STATUS_OK, ended;

    query_int(&query, 1, LIMIT_FLEET);
    while (status == STATUS_OK && query_next(&query)) {
        int64_t seen_ns = query_get_int(&query, 0);
        struct agent_row row;
        size_t length;
        const void *body = query_peek_bytes(&query, 1, &length);

        if (record_from_msgpack(&agent_row_record, body, length, &row, fault) != STATUS_OK) {
            status = STATUS_CORRUPT;
            break;
        }
        /* The wall clock may have been set back since. */
        each(context, &row, seen_ns < now.ns ? now.ns - seen_ns : 0);
        record_done(&agent_row_record, &row);
    }
    ended = query_end(&query, fault);
    return status != STATUS_OK ? status : ended;
}
