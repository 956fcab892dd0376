/* The agent's routing on virtual time: what it does to the world is written down, line by line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/sessions.h"
#include "proto/base/log.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"

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
    bool away;
    enum status start, put, next;
    struct spooled spool[SPOOL_MAX];
    size_t spooled, forgets;
};

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

/* What was done since the last look. */
static void assert_done(struct world *world, const char *lines)
{
    assert_string_equal(world->log, lines);
    world->logged = 0;
    world->log[0] = '\0';
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

static void fake_forget(void *context, const struct list *ids)
{
    struct world *world = context;
    char *const *words = ids->items;

    world->forgets++;
    for (size_t i = 0; i < ids->count; i++) {
        for (size_t k = 0; k < world->spooled; k++) {
            if (strcmp(world->spool[k].id, words[i]) == 0)
                world->spool[k].id[0] = '\0';
        }
    }
}

/* --- what happens ----------------------------------------------------------------------------- */

static void open_as(struct world *world, const char *session, enum end_role role)
{
    static const uint8_t key[SESSION_KEY_SIZE] = { 1 };
    union message message;

    message_init(&message, MESSAGE_OPEN);
    text_copy(message.open.session, sizeof message.open.session, session);
    text_copy(message.open.run, sizeof message.open.run, "run");
    if (role == END_SENDER)
        text_copy(message.open.target, sizeof message.open.target, "127.0.0.1:9");
    bytes_set(&message.open.key, key, sizeof key);
    message.open.role = role;
    message.open.ssid = 4;
    message.open.params = (struct case_params){
        .payload = 512,
        .window = 4,
        .repeat = 1,
        .common = { .clients = 1, .io_threads = 1, .seconds = 1, .rcvbuf = 4096, .sndbuf = 4096 },
    };
    sessions_control(world->sessions, &message, world->now);
    message_done(&message);
}

static void open_echo(struct world *world, const char *session)
{
    open_as(world, session, END_ECHO);
}

/* begin, end and close begin alike, as opened, begun, progress and ended do. */
static void say(union message *message, enum message_type type, const char *session)
{
    message_init(message, type);
    text_copy(message->begin.session, sizeof message->begin.session, session);
}

static void control(struct world *world, enum message_type type, const char *session)
{
    union message message;

    say(&message, type, session);
    sessions_control(world->sessions, &message, world->now);
}

static void task(struct world *world, enum message_type type, const char *session)
{
    union message message;

    say(&message, type, session);
    sessions_task(world->sessions, session, &message, world->now);
}

static void task_result_of(struct world *world, const char *session, const char *id, size_t length)
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

static void task_closed_with(struct world *world, const char *session, const char *result)
{
    union message message;

    say(&message, MESSAGE_CLOSED, session);
    text_copy(message.closed.result, sizeof message.closed.result, result);
    sessions_task(world->sessions, session, &message, world->now);
}

static void task_failed_with(struct world *world, const char *session, const char *result,
                             const char *reason)
{
    union message message;

    say(&message, MESSAGE_FAILED, session);
    text_copy(message.failed.result, sizeof message.failed.result, result);
    text_copy(message.failed.reason, sizeof message.failed.reason, reason);
    sessions_task(world->sessions, session, &message, world->now);
}

static void committed(struct world *world, const char *id)
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

static void tick_at_deadline(struct world *world)
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

static int set_up(void **state)
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

static int tear_down(void **state)
{
    struct world *world = *state;

    sessions_free(world->sessions);
    admission_free(world->admission);
    free(world);
    return 0;
}

/* --- routing ---------------------------------------------------------------------------------- */

static void a_whole_session(void **state)
{
    struct world *world = *state;

    open_echo(world, "S");
    assert_int_equal(sessions_count(world->sessions), 1);
    task(world, MESSAGE_OPENED, "S");
    control(world, MESSAGE_BEGIN, "S");
    task(world, MESSAGE_BEGUN, "S");
    task(world, MESSAGE_PROGRESS, "S");
    control(world, MESSAGE_END, "S");
    task(world, MESSAGE_ENDED, "S");
    control(world, MESSAGE_CLOSE, "S");
    task_result_of(world, "S", "R", 100);
    task_closed_with(world, "S", "R");
    assert_done(world, "start S\nsend opened S\ntell S begin\nsend begun S\nsend progress S\n"
                       "tell S end\nsend ended S\ntell S close\nput R\njoin S\nsend closed S: R\n"
                       "send result R\n");
    assert_int_equal(sessions_count(world->sessions), 0);
    committed(world, "R");
    assert_int_equal(world->forgets, 1);
    assert_done(world, "");
}

static void each_session_has_its_own_task(void **state)
{
    struct world *world = *state;

    open_echo(world, "A");
    open_echo(world, "B");
    control(world, MESSAGE_BEGIN, "B");
    task_failed_with(world, "A", "", "broke");
    control(world, MESSAGE_END, "B");
    assert_done(world, "start A\nstart B\ntell B begin\njoin A\nsend failed A: : broke\n"
                       "tell B end\n");
    assert_int_equal(sessions_count(world->sessions), 1);
    task_closed_with(world, "B", "");
}

static void a_session_that_is_open_is_not_opened_again(void **state)
{
    struct world *world = *state;

    open_echo(world, "S");
    open_echo(world, "S");
    assert_done(world, "start S\nsend refused S: this session is open here already\n");
    assert_int_equal(sessions_count(world->sessions), 1);
    task_closed_with(world, "S", "");
}

static void an_unknown_session_has_failed_at_once(void **state)
{
    struct world *world = *state;

    control(world, MESSAGE_BEGIN, "S");
    control(world, MESSAGE_END, "S");
    control(world, MESSAGE_CLOSE, "S");
    assert_done(world, "send failed S: : this session is not open here\n"
                       "send failed S: : this session is not open here\n"
                       "send failed S: : this session is not open here\n");
    task(world, MESSAGE_OPENED, "S");
    task_closed_with(world, "S", "");
    assert_done(world, "");
}

static void what_is_not_admitted_is_refused_with_the_limit(void **state)
{
    struct world *world = *state;

    open_as(world, "S", END_SENDER);
    assert_non_null(strstr(world->log, "send refused S: "));
    assert_non_null(strstr(world->log, "allow_sender"));
    assert_null(strstr(world->log, "start"));
    assert_int_equal(sessions_count(world->sessions), 0);
}

static void only_so_many_sessions_at_once(void **state)
{
    static const char *const names[] = { "A", "B", "C", "D" };
    struct world *world = *state;

    for (size_t i = 0; i < MAX_SESSIONS; i++)
        open_echo(world, names[i]);
    assert_done(world, "start A\nstart B\nstart C\nstart D\n");
    open_echo(world, "E");
    assert_non_null(strstr(world->log, "send refused E: "));
    assert_non_null(strstr(world->log, "max_sessions"));
    task_closed_with(world, "B", "");
    world->logged = 0;
    open_echo(world, "E");
    assert_done(world, "start E\n");
    task_closed_with(world, "A", "");
    task_closed_with(world, "C", "");
    task_closed_with(world, "D", "");
    task_closed_with(world, "E", "");
}

static void a_task_that_cannot_start_is_a_refusal(void **state)
{
    struct world *world = *state;

    world->start = STATUS_NO_RESOURCE;
    open_echo(world, "S");
    assert_done(world, "send refused S: no thread is left\n");
    assert_int_equal(sessions_count(world->sessions), 0);
    world->start = STATUS_OK;
    open_echo(world, "S");
    assert_done(world, "start S\n");
    task_closed_with(world, "S", "");
}

static void a_task_that_refuses_is_forgotten(void **state)
{
    struct world *world = *state;
    union message message;

    open_echo(world, "S");
    say(&message, MESSAGE_REFUSED, "S");
    text_copy(message.refused.reason, sizeof message.refused.reason, "no port");
    sessions_task(world->sessions, "S", &message, world->now);
    assert_done(world, "start S\njoin S\nsend refused S: no port\n");
    assert_int_equal(sessions_count(world->sessions), 0);
}

static void a_second_close_is_not_told(void **state)
{
    struct world *world = *state;

    open_echo(world, "S");
    control(world, MESSAGE_CLOSE, "S");
    control(world, MESSAGE_CLOSE, "S");
    control(world, MESSAGE_BEGIN, "S");
    assert_done(world, "start S\ntell S close\n");
    task_closed_with(world, "S", "");
}

static void without_a_controller_every_session_is_closed(void **state)
{
    struct world *world = *state;

    open_echo(world, "A");
    open_echo(world, "B");
    world->away = true;
    sessions_disconnected(world->sessions, world->now);
    assert_done(world, "start A\nstart B\n"
                       "tell B close: the connection to the controller is gone\n"
                       "tell A close: the connection to the controller is gone\n");
    task_result_of(world, "A", "R", 10);
    task_closed_with(world, "A", "R");
    assert_done(world, "put R\njoin A\n");
    world->away = false;
    sessions_connected(world->sessions, world->now);
    assert_done(world, "send result R\n");
    task_closed_with(world, "B", "");
}

static void stopping_closes_all_and_opens_no_more(void **state)
{
    struct world *world = *state;

    open_echo(world, "S");
    assert_int_equal(sessions_stop(world->sessions), 1);
    open_echo(world, "T");
    assert_int_equal(sessions_stop(world->sessions), 1);
    assert_done(world, "start S\ntell S close: this agent is being stopped\n"
                       "send refused T: this agent is being stopped\n");
    task_closed_with(world, "S", "");
    assert_int_equal(sessions_stop(world->sessions), 0);
}

/* --- results ---------------------------------------------------------------------------------- */

static void a_full_disk_delays_closed_until_the_result_is_there(void **state)
{
    struct world *world = *state;

    world->put = STATUS_NO_SPACE;
    open_echo(world, "S");
    task_result_of(world, "S", "R", 10);
    task_closed_with(world, "S", "R");
    assert_done(world, "start S\njoin S\n");
    assert_int_equal(sessions_count(world->sessions), 0);
    tick_at_deadline(world);
    sessions_tick(world->sessions, world->now);
    assert_done(world, "");
    world->put = STATUS_OK;
    tick_at_deadline(world);
    assert_done(world, "put R\nsend closed S: R\nsend result R\n");
    assert_true(sessions_deadline(world->sessions).ns == INT64_MAX);
}

static void a_result_that_waits_may_be_put_before_its_task_ends(void **state)
{
    struct world *world = *state;

    world->put = STATUS_AGAIN;
    open_echo(world, "S");
    task_result_of(world, "S", "R", 10);
    world->put = STATUS_OK;
    tick_at_deadline(world);
    task_failed_with(world, "S", "R", "broke");
    assert_done(world, "start S\nput R\nsend result R\njoin S\nsend failed S: R: broke\n");
}

static void results_keep_their_order_behind_one_that_waits(void **state)
{
    struct world *world = *state;

    open_echo(world, "A");
    open_echo(world, "B");
    world->put = STATUS_NO_SPACE;
    task_result_of(world, "A", "RA", 10);
    world->put = STATUS_OK;
    task_result_of(world, "B", "RB", 10);
    task_closed_with(world, "B", "RB");
    task_closed_with(world, "A", "RA");
    assert_done(world, "start A\nstart B\njoin B\njoin A\n");
    tick_at_deadline(world);
    assert_done(world, "put RA\nsend closed A: RA\nput RB\nsend closed B: RB\nsend result RA\n"
                       "send result RB\n");
}

static void memory_for_results_is_bounded(void **state)
{
    struct world *world = *state;
    char name[UUID_SIZE];

    world->put = STATUS_NO_SPACE;
    for (int i = 0; i <= SESSIONS_HELD; i++) {
        snprintf(name, sizeof name, "N%d", i);
        open_echo(world, name);
        task_result_of(world, name, name, 10);
        world->logged = 0;
        task_closed_with(world, name, name);
        if (i < SESSIONS_HELD)
            assert_null(strstr(world->log, "send"));
    }
    assert_int_equal(sessions_dropped(world->sessions), 1);
    world->logged = 0;
    world->put = STATUS_OK;
    tick_at_deadline(world);
    assert_int_equal(world->spooled, SESSIONS_HELD);
    assert_string_equal(world->spool[0].id, "N1");
}

static void a_dropped_result_s_session_has_failed(void **state)
{
    const size_t large = SESSIONS_HELD_BYTES / 8 - 1;
    struct world *world = *state;
    char name[UUID_SIZE];

    world->put = STATUS_NO_SPACE;
    for (int i = 0; i < 9; i++) {
        snprintf(name, sizeof name, "N%d", i);
        open_echo(world, name);
        if (i == 8)
            assert_int_equal(sessions_dropped(world->sessions), 0);
        world->logged = 0;
        task_result_of(world, name, name, large);
        if (i < 8)
            task_closed_with(world, name, name);
    }
    assert_done(world, "send failed N0: : the spool takes none, and too many wait in memory\n");
    assert_int_equal(sessions_dropped(world->sessions), 1);
    task_closed_with(world, "N8", "N8");
}

static void what_the_spool_never_takes_is_not_tried_again(void **state)
{
    struct world *world = *state;

    world->put = STATUS_TOO_LARGE;
    open_echo(world, "S");
    task_result_of(world, "S", "R", 10);
    task_closed_with(world, "S", "R");
    assert_done(world, "start S\njoin S\nsend failed S: : cannot be put\n");
    assert_int_equal(sessions_dropped(world->sessions), 1);
    assert_true(sessions_deadline(world->sessions).ns == INT64_MAX);
}

static void fill_spool(struct world *world, size_t count, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        struct spooled *spooled = &world->spool[world->spooled++];

        snprintf(spooled->id, sizeof spooled->id, "P%zu", world->spooled);
        spooled->length = length;
    }
}

static size_t lines_of(const struct world *world)
{
    size_t count = 0;

    for (const char *at = world->log; (at = strchr(at, '\n')) != NULL; at++)
        count++;
    return count;
}

static void only_so_many_results_are_under_way(void **state)
{
    struct world *world = *state;

    fill_spool(world, SESSIONS_UNACKNOWLEDGED + 2, 10);
    sessions_connected(world->sessions, world->now);
    assert_int_equal(lines_of(world), SESSIONS_UNACKNOWLEDGED);
    world->logged = 0;
    world->log[0] = '\0';
    committed(world, "P7");
    assert_done(world, "send result P257\n");
    committed(world, "P7");
    assert_done(world, "");
    committed(world, "P1");
    assert_done(world, "send result P258\n");
}

static void only_so_many_bytes_are_under_way(void **state)
{
    struct world *world = *state;

    fill_spool(world, 3, SESSIONS_UNACKNOWLEDGED_BYTES / 2 - 1);
    sessions_connected(world->sessions, world->now);
    assert_done(world, "send result P1\nsend result P2\n");
    committed(world, "P2");
    assert_done(world, "send result P3\n");
}

static void after_a_reconnect_everything_is_sent_again(void **state)
{
    struct world *world = *state;

    fill_spool(world, 3, 10);
    sessions_connected(world->sessions, world->now);
    committed(world, "P2");
    sessions_disconnected(world->sessions, world->now);
    world->logged = 0;
    sessions_connected(world->sessions, world->now);
    assert_done(world, "send result P1\nsend result P3\n");
}

static void a_spool_that_cannot_be_read_is_read_later(void **state)
{
    struct world *world = *state;

    fill_spool(world, 1, 10);
    world->next = STATUS_IO;
    sessions_connected(world->sessions, world->now);
    assert_done(world, "");
    world->next = STATUS_OK;
    tick_at_deadline(world);
    assert_done(world, "send result P1\n");
}

static void what_could_not_be_sent_is_sent_on_the_next_connection(void **state)
{
    struct world *world = *state;

    fill_spool(world, 2, 10);
    world->away = true;
    sessions_connected(world->sessions, world->now);
    assert_done(world, "");
    sessions_disconnected(world->sessions, world->now);
    world->away = false;
    sessions_connected(world->sessions, world->now);
    assert_done(world, "send result P1\nsend result P2\n");
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_whole_session),
        UNIT(each_session_has_its_own_task),
        UNIT(a_session_that_is_open_is_not_opened_again),
        UNIT(an_unknown_session_has_failed_at_once),
        UNIT(what_is_not_admitted_is_refused_with_the_limit),
        UNIT(only_so_many_sessions_at_once),
        UNIT(a_task_that_cannot_start_is_a_refusal),
        UNIT(a_task_that_refuses_is_forgotten),
        UNIT(a_second_close_is_not_told),
        UNIT(without_a_controller_every_session_is_closed),
        UNIT(stopping_closes_all_and_opens_no_more),
        UNIT(a_full_disk_delays_closed_until_the_result_is_there),
        UNIT(a_result_that_waits_may_be_put_before_its_task_ends),
        UNIT(results_keep_their_order_behind_one_that_waits),
        UNIT(memory_for_results_is_bounded),
        UNIT(a_dropped_result_s_session_has_failed),
        UNIT(what_the_spool_never_takes_is_not_tried_again),
        UNIT(only_so_many_results_are_under_way),
        UNIT(only_so_many_bytes_are_under_way),
        UNIT(after_a_reconnect_everything_is_sent_again),
        UNIT(a_spool_that_cannot_be_read_is_read_later),
        UNIT(what_could_not_be_sent_is_sent_on_the_next_connection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
