/* Owns the queues of results: those that the spool could not take yet, those that the controller
 * has not yet said committed, and those that the spool could not forget yet. Must not know sessions
 * or tasks. */
#include "agent/sessions_results.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/log.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"

/* Waits for the spool. */
struct held {
    struct held *next;
    char session[UUID_SIZE];
    struct message_result result;
};

/* Sent, and not yet committed. */
struct sent {
    char id[UUID_SIZE];
    size_t bytes;
};

struct results {
    const struct sessions_port *port;
    void (*settled)(void *context, const char *session, const char *lost);
    void *context;

    struct held *oldest, *newest;
    size_t held, held_bytes;
    int64_t dropped;
    bool putting_fails; /* logged already */

    bool connected;
    int64_t sent_to; /* place in the spool of the last one that was sent */
    struct sent sent[SESSIONS_UNACKNOWLEDGED];
    size_t sent_count, sent_bytes;
    char kept[SESSIONS_UNACKNOWLEDGED][UUID_SIZE]; /* committed, and still in the spool */
    size_t kept_count;

    struct mono retry_at; /* INT64_MAX: nothing to retry */
};

struct results *results_new(const struct sessions_port *port,
                            void (*settled)(void *context, const char *session, const char *lost),
                            void *context)
{
    struct results *results = memory_new(1, sizeof *results);

    results->port = port;
    results->settled = settled;
    results->context = context;
    results->retry_at.ns = INT64_MAX;
    return results;
}

static void held_free(struct held *held)
{
    message_done(&held->result);
    free(held);
}

static struct held *take_oldest(struct results *results)
{
    struct held *held = results->oldest;

    assert(held != NULL);
    results->oldest = held->next;
    if (results->oldest == NULL)
        results->newest = NULL;
    results->held--;
    results->held_bytes -= held->result.body.length;
    return held;
}

static void retry_later(struct results *results, struct mono now)
{
    struct mono at = mono_after(now, SESSIONS_RETRY_NS);

    if (at.ns < results->retry_at.ns)
        results->retry_at = at;
}

/* --- to the controller ------------------------------------------------------------------------ */

static bool has_room(const struct results *results, size_t bytes)
{
    if (results->sent_count + results->kept_count >= SESSIONS_UNACKNOWLEDGED)
        return false;
    return results->sent_count == 0 || results->sent_bytes + bytes <= SESSIONS_UNACKNOWLEDGED_BYTES;
}

/* False when there is none to send, or when it must wait. */
static bool send_next(struct results *results, struct mono now)
{
    const struct sessions_port *port = results->port;
    struct message_result result;
    int64_t place;
    enum status status;
    bool done = false;

    message_init(&result, MESSAGE_RESULT);
    status = port->spool_next(port->context, results->sent_to, &result, &place);
    if (status != STATUS_OK) {
        if (status != STATUS_NOT_FOUND)
            retry_later(results, now);
        goto out;
    }
    if (!has_room(results, result.body.length) || port->send(port->context, &result) != STATUS_OK)
        goto out;
    results->sent_to = place;
    results->sent_bytes += result.body.length;
    results->sent[results->sent_count].bytes = result.body.length;
    memcpy(results->sent[results->sent_count++].id, result.id, sizeof result.id);
    done = true;
out:
    message_done(&result);
    return done;
}

void results_send(struct results *results, struct mono now)
{
    while (results->connected && has_room(results, 1) && send_next(results, now))
        ;
}

static void forget_sent(struct results *results, const char *id)
{
    for (size_t i = 0; i < results->sent_count; i++) {
        struct sent *sent = &results->sent[i];

        if (strcmp(sent->id, id) != 0)
            continue;
        results->sent_bytes -= sent->bytes;
        *sent = results->sent[--results->sent_count];
        return;
    }
}

/* Those that there is no room to remember stay in the spool until the next connection, on which
 * they are sent and committed again. */
static void keep(struct results *results, const struct list *ids, struct mono now)
{
    char *const *words = ids->items;

    for (size_t i = 0; i < ids->count && results->kept_count < SESSIONS_UNACKNOWLEDGED; i++)
        text_copy(results->kept[results->kept_count++], UUID_SIZE, words[i]);
    retry_later(results, now);
}

static void forget_kept(struct results *results, struct mono now)
{
    const char *words[SESSIONS_UNACKNOWLEDGED];
    const struct list ids = { .items = words, .count = results->kept_count };

    for (size_t i = 0; i < results->kept_count; i++)
        words[i] = results->kept[i];
    if (ids.count == 0)
        return;
    if (results->port->spool_forget(results->port->context, &ids) == STATUS_OK)
        results->kept_count = 0;
    else
        retry_later(results, now);
}

void results_committed(struct results *results, const struct list *ids, struct mono now)
{
    char *const *words = ids->items;

    for (size_t i = 0; i < ids->count; i++)
        forget_sent(results, words[i]);
    if (results->port->spool_forget(results->port->context, ids) != STATUS_OK)
        keep(results, ids, now);
    results_send(results, now);
}

void results_connected(struct results *results, struct mono now)
{
    results->connected = true;
    results->kept_count = 0;
    results->sent_to = 0;
    results->sent_count = 0;
    results->sent_bytes = 0;
    results_send(results, now);
}

void results_disconnected(struct results *results)
{
    results->connected = false;
}

/* --- into the spool --------------------------------------------------------------------------- */

/* Not cured by waiting: the result itself is what the spool does not take. */
static bool is_for_good(enum status status)
{
    return status == STATUS_INVALID || status == STATUS_RANGE || status == STATUS_TOO_LARGE;
}

/* STATUS_AGAIN when it may work later. */
static enum status put(struct results *results, const struct message_result *result,
                       struct fault *fault)
{
    const struct sessions_port *port = results->port;
    enum status status = port->spool_put(port->context, result, fault);

    if (status == STATUS_OK || status == STATUS_EXISTS) {
        if (results->putting_fails)
            log_line(LOG_LEVEL_INFO, "the spool takes results again");
        results->putting_fails = false;
        return STATUS_OK;
    }
    if (is_for_good(status))
        return status;
    if (!results->putting_fails)
        log_line(LOG_LEVEL_ERROR, "the spool takes no result, they wait in memory: %s",
                 fault->text);
    results->putting_fails = true;
    return STATUS_AGAIN;
}

static void drop(struct results *results, const char *id, const char *why)
{
    results->dropped++;
    log_line(LOG_LEVEL_ERROR, "result %s is lost: %s", id, why);
}

void results_free(struct results *results)
{
    if (results == NULL)
        return;
    while (results->oldest != NULL) {
        struct held *held = take_oldest(results);

        drop(results, held->result.id, "this agent ends before the spool could take it");
        held_free(held);
    }
    free(results);
}

static void drop_oldest(struct results *results, const char *why)
{
    struct held *held = take_oldest(results);

    drop(results, held->result.id, why);
    results->settled(results->context, held->session, why);
    held_free(held);
}

static void hold(struct results *results, const char *session, const struct message_result *result)
{
    struct held *held = memory_new(1, sizeof *held);

    text_copy(held->session, sizeof held->session, session);
    held->result = *result;
    held->result.body = (struct bytes){ 0 };
    bytes_set(&held->result.body, result->body.data, result->body.length);
    if (results->newest != NULL)
        results->newest->next = held;
    else
        results->oldest = held;
    results->newest = held;
    results->held++;
    results->held_bytes += result->body.length;
    while (results->held > SESSIONS_HELD || results->held_bytes > SESSIONS_HELD_BYTES)
        drop_oldest(results, "the spool takes none, and too many wait in memory");
}

enum status results_put(struct results *results, const char *session,
                        const struct message_result *result, struct mono now, struct fault *fault)
{
    enum status status = STATUS_AGAIN;

    if (results->oldest == NULL)
        status = put(results, result, fault);
    if (status == STATUS_AGAIN) {
        hold(results, session, result);
        retry_later(results, now);
    } else if (status != STATUS_OK) {
        drop(results, result->id, fault->text);
    }
    return status;
}

static void put_held(struct results *results, struct mono now)
{
    while (results->oldest != NULL) {
        struct fault fault = { "" };
        enum status status = put(results, &results->oldest->result, &fault);

        if (status == STATUS_AGAIN) {
            retry_later(results, now);
            return;
        }
        if (status == STATUS_OK) {
            struct held *held = take_oldest(results);

            results->settled(results->context, held->session, NULL);
            held_free(held);
        } else {
            drop_oldest(results, fault.text);
        }
    }
}

void results_tick(struct results *results, struct mono now)
{
    if (now.ns < results->retry_at.ns)
        return;
    results->retry_at.ns = INT64_MAX;
    forget_kept(results, now);
    put_held(results, now);
    results_send(results, now);
}

struct mono results_deadline(const struct results *results)
{
    return results->retry_at;
}

int64_t results_dropped(const struct results *results)
{
    return results->dropped;
}
