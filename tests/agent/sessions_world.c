/* Owns the world of sessions: ports that write down, a spool in memory, messages made by hand. */
#include "tests/agent/sessions_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/log.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"

static void note(struct world *world, const char *format, ...) printf_like(2, 3);

static void note(struct world *world, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(world->log + world->logged, sizeof world->log - world->logged, format, args);
    va_end(args);
    assert_true(length >= 0 && (size_t)length < sizeof world->log - world->logged);
    world->logged += (size_t)length;
}

void forget_done(struct world *world)
{
    world->logged = 0;
    world->log[0] = '\0';
}

void assert_done(struct world *world, const char *lines)
{
    assert_string_equal(world->log, lines);
    forget_done(world);
}

static enum status fake_send(void *context, const void *bytes)
{
    struct world *world = context;
    const union message *message = bytes;

    if (world->away)
        return STATUS_NOT_FOUND;
    note(world, "send %s", message_names[message->type]);
    if (message->type == MESSAGE_REFUSED)
        note(world, " %s: %s", message->refused.session, message->refused.reason);
    else if (message->type == MESSAGE_CLOSED)
        note(world, " %s: %s", message->closed.session, message->closed.result);
    else if (message->type == MESSAGE_FAILED)
        note(world, " %s: %s: %s", message->failed.session, message->failed.result,
             message->failed.reason);
    else if (message->type == MESSAGE_RESULT)
        note(world, " %s", message->result.id);
    else
        note(world, " %s", message->begun.session);
    note(world, "\n");
    return STATUS_OK;
}

static enum status fake_start(void *context, const struct message_open *open, struct fault *fault)
{
    struct world *world = context;

    if (world->start != STATUS_OK)
        return fault_set(fault, world->start, "no thread is left");
    note(world, "start %s\n", open->session);
    return STATUS_OK;
}

static void fake_tell(void *context, const char *session, const void *bytes)
{
    const union message *message = bytes;

    note(context, "tell %s %s", session, message_names[message->type]);
    if (message->type == MESSAGE_CLOSE && message->close.reason[0] != '\0')
        note(context, ": %s", message->close.reason);
    note(context, "\n");
}

static void fake_join(void *context, const char *session)
{
    note(context, "join %s\n", session);
}

static enum status fake_put(void *context, const struct message_result *result, struct fault *fault)
{
    struct world *world = context;
    struct spooled *place = &world->spool[world->spooled];

    if (world->put != STATUS_OK)
        return fault_set(fault, world->put, "cannot be put");
    assert_true(world->spooled < SPOOL_MAX);
    world->spooled++;
    note(world, "put %s\n", result->id);
    text_copy(place->id, sizeof place->id, result->id);
    place->length = result->body.length;
    return STATUS_OK;
}

static enum status fake_next(void *context, int64_t after, struct message_result *out_result,
                             int64_t *out_place)
{
    struct world *world = context;

    if (world->next != STATUS_OK)
        return world->next;
    for (size_t i = (size_t)after; i < world->spooled; i++) {
        uint8_t *body;

        if (world->spool[i].id[0] == '\0')
            continue;
        text_copy(out_result->id, sizeof out_result->id, world->spool[i].id);
        body = memory_new(1, world->spool[i].length);
        bytes_set(&out_result->body, body, world->spool[i].length);
        free(body);
        *out_place = (int64_t)i + 1;
        return STATUS_OK;
    }
    return STATUS_NOT_FOUND;
}

static enum status fake_forget(void *context, const struct list *ids)
{
    struct world *world = context;
    char *const *words = ids->items;

    world->forgets++;
    if (world->forget != STATUS_OK)
        return world->forget;
    for (size_t i = 0; i < ids->count; i++) {
        for (size_t k = 0; k < world->spooled; k++) {
            if (strcmp(world->spool[k].id, words[i]) == 0)
                world->spool[k].id[0] = '\0';
        }
    }
    return STATUS_OK;
}

/* --- what happens ----------------------------------------------------------------------------- */

static void make_open(const char *session, enum end_role role, union message *out_message)
{
    static const uint8_t key[SESSION_KEY_SIZE] = { 1 };

    message_init(out_message, MESSAGE_OPEN);
    text_copy(out_message->open.session, sizeof out_message->open.session, session);
    text_copy(out_message->open.run, sizeof out_message->open.run, "run");
    if (role == END_SENDER)
        text_copy(out_message->open.target, sizeof out_message->open.target, "127.0.0.1:9");
    bytes_set(&out_message->open.key, key, sizeof key);
    out_message->open.role = role;
    out_message->open.ssid = 4;
}

static void open_as(struct world *world, const char *session, enum end_role role)
{
    union message message;

    make_open(session, role, &message);
    message.open.of_case.params = (struct case_params){
        .payload = 512,
        .window = 4,
        .repeat = 1,
        .common = { .clients = 1, .io_threads = 1, .seconds = 1, .rcvbuf = 4096, .sndbuf = 4096 },
    };
    sessions_control(world->sessions, &message, world->now);
    message_done(&message);
}

void open_sender(struct world *world, const char *session)
{
    open_as(world, session, END_SENDER);
}

void open_echo(struct world *world, const char *session)
{
    open_as(world, session, END_ECHO);
}

void open_listener(struct world *world, const char *session)
{
    union message message;
    struct mtu_plan plan;

    mtu_plan_init(&plan);
    plan.common.direction = MTU_WAYS_FORWARD;
    make_open(session, END_ECHO, &message);
    message.open.kind = WORK_MTU;
    message.open.of_mtu.params.common = plan.common;
    sessions_control(world->sessions, &message, world->now);
    message_done(&message);
}

/* begin, end and close begin alike, as opened, begun, progress and ended do. */
static void say(union message *message, enum message_type type, const char *session)
{
    message_init(message, type);
    text_copy(message->begin.session, sizeof message->begin.session, session);
}

void control(struct world *world, enum message_type type, const char *session)
{
    union message message;

    say(&message, type, session);
    sessions_control(world->sessions, &message, world->now);
}

void task(struct world *world, enum message_type type, const char *session)
{
    union message message;

    say(&message, type, session);
    sessions_task(world->sessions, session, &message, world->now);
}

void task_refused(struct world *world, const char *session, const char *reason)
{
    union message message;

    say(&message, MESSAGE_REFUSED, session);
    text_copy(message.refused.reason, sizeof message.refused.reason, reason);
    sessions_task(world->sessions, session, &message, world->now);
}

void task_result(struct world *world, const char *session, const char *id, size_t length)
{
    union message message;
    void *body = memory_new(1, length);

    message_init(&message, MESSAGE_RESULT);
    text_copy(message.result.id, sizeof message.result.id, id);
    bytes_set(&message.result.body, body, length);
    free(body);
    sessions_task(world->sessions, session, &message, world->now);
    message_done(&message);
}

void task_closed(struct world *world, const char *session, const char *result)
{
    union message message;

    say(&message, MESSAGE_CLOSED, session);
    text_copy(message.closed.result, sizeof message.closed.result, result);
    sessions_task(world->sessions, session, &message, world->now);
}

void task_failed(struct world *world, const char *session, const char *result, const char *reason)
{
    union message message;

    say(&message, MESSAGE_FAILED, session);
    text_copy(message.failed.result, sizeof message.failed.result, result);
    text_copy(message.failed.reason, sizeof message.failed.reason, reason);
    sessions_task(world->sessions, session, &message, world->now);
}

void committed(struct world *world, const char *id)
{
    const struct field field = { .type = FIELD_LIST, .of = FIELD_WORD, .size = 1 };
    union message message;
    char **word;

    message_init(&message, MESSAGE_COMMITTED);
    word = list_append(&message.committed.ids, &field);
    *word = strdup(id);
    sessions_control(world->sessions, &message, world->now);
    message_done(&message);
}

void tick_at_deadline(struct world *world)
{
    world->now = sessions_deadline(world->sessions);
    assert_true(world->now.ns < INT64_MAX);
    sessions_tick(world->sessions, world->now);
}

static void silent(void *context, enum log_level level, const char *line)
{
    (void)context;
    (void)level;
    (void)line;
}

int world_set_up(void **state)
{
    const struct admission_config config = {
        .max_payload = 65527,
        .max_seconds = 60,
        .max_sessions = MAX_SESSIONS,
        .max_clients = 16,
        .max_outstanding = 1000,
        .max_socket_buffer = 1 << 20,
        .max_io_threads = 4,
        .allow_echo = true,
    };
    struct world *world = memory_new(1, sizeof *world);
    const struct sessions_port port = {
        .context = world,
        .send = fake_send,
        .start = fake_start,
        .tell = fake_tell,
        .join = fake_join,
        .spool_put = fake_put,
        .spool_next = fake_next,
        .spool_forget = fake_forget,
    };

    log_to(silent, NULL, LOG_LEVEL_DEBUG);
    world->now.ns = NS_PER_S;
    world->admission = admission_new(&config);
    world->sessions = sessions_new(world->admission, &port);
    sessions_connected(world->sessions, world->now);
    *state = world;
    return 0;
}

int world_tear_down(void **state)
{
    struct world *world = *state;

    sessions_free(world->sessions);
    admission_free(world->admission);
    free(world);
    return 0;
}
