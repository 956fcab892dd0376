/* Owns the world that a measure is tested in. */
#include "tests/controller/fleet/measure_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/text.h"
#include "tests/controller/fleet/make_report.h"

const char *const world_ends[] = { "sender", "echo" };

static printf_like(2, 3) void note(struct world *world, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(world->log + world->used, sizeof world->log - world->used, format, args);
    va_end(args);
    assert_true(length >= 0 && (size_t)length < sizeof world->log - world->used);
    world->used += (size_t)length;
}

void world_expect(struct world *world, const char *lines)
{
    assert_string_equal(lines, world->log);
    world->used = 0;
    world->log[0] = '\0';
}

static bool port_send(void *context, enum end_role role, const void *bytes)
{
    const union message *message = bytes;
    struct world *world = context;
    struct fault fault;

    assert_int_equal(STATUS_OK, record_check(message_kinds[message->type].record, bytes, &fault));
    if (world->away[role])
        return false;
    note(world, "%s < %s", world_ends[role], message_names[message->type]);
    if (message->type == MESSAGE_OPEN) {
        world->opened[role] = message->open;
        assert_int_equal(SESSION_KEY_SIZE, message->open.key.length);
        memcpy(world->keys[role], message->open.key.data, SESSION_KEY_SIZE);
        assert_int_equal(role, message->open.role);
        if (message->open.target[0] != '\0')
            note(world, " %s", message->open.target);
    } else {
        assert_string_equal(measure_session(world->measure), message->begin.session);
    }
    if (message->type == MESSAGE_BEGIN || message->type == MESSAGE_END)
        note(world, " %s", phase_kind_names[message->begin.phase]);
    if (message->type == MESSAGE_CLOSE && message->close.reason[0] != '\0')
        note(world, ": %s", message->close.reason);
    note(world, "\n");
    return true;
}

static void port_random(void *context, void *out_bytes, size_t length)
{
    struct world *world = context;

    memset(out_bytes, ++world->next_random, length);
}

static uint16_t port_ssid(void *context)
{
    struct world *world = context;

    return world->next_ssid = (uint16_t)(world->next_ssid + 4);
}

static void port_progress(void *context, const struct message_run_progress *progress)
{
    struct world *world = context;
    struct fault fault;

    assert_int_equal(STATUS_OK,
                     record_check(message_kinds[MESSAGE_RUN_PROGRESS].record, progress, &fault));
    world->progress = *progress;
    world->progresses++;
}

static void port_moved(void *context, const struct message_run_moved *moved)
{
    struct fault fault;

    assert_int_equal(STATUS_OK,
                     record_check(message_kinds[MESSAGE_RUN_MOVED].record, moved, &fault));
    note(context, "moved %s %s: %lld\n", family_names[moved->family],
         mtu_direction_names[moved->direction], (long long)moved->event.to);
}

static void port_failed(void *context, int64_t index, const char *reason)
{
    note(context, "case %lld failed: %s\n", (long long)index, reason);
}

static void port_over(void *context, enum run_outcome outcome, const char *reason)
{
    struct world *world = context;

    world->overs++;
    note(world, "over: %s%s%s\n", run_outcome_names[outcome], reason[0] == '\0' ? "" : ": ",
         reason);
}

static void begin(struct world *world, const struct work *work,
                  const struct measure_addresses *addresses)
{
    const struct measure_port port = { .context = world,
                                       .send = port_send,
                                       .random = port_random,
                                       .ssid = port_ssid,
                                       .progress = port_progress,
                                       .moved = port_moved,
                                       .failed = port_failed,
                                       .over = port_over };
    struct measure_order order = { .run = "run", .addresses = *addresses, .work = work };

    memset(world, 0, sizeof *world);
    world->now.ns = 5; /* as in a fresh time namespace */
    world->measure =
        measure_new(&order, &port, world->now, (struct wall){ INT64_C(1796064250) * NS_PER_S });
    measure_start(world->measure, world->now);
}

void world_begin(struct world *world, size_t cases, double warmup_s, const char *address)
{
    struct measure_addresses addresses = { { "", "" } };
    struct work work = { .kind = WORK_CASES };
    enum family family = strchr(address, ':') != NULL ? FAMILY_IPV6 : FAMILY_IPV4;

    make_fleet_plan(cases, &work.plan);
    work.plan.common.warmup_s = warmup_s;
    work.plan.common.family = family;
    text_copy(addresses.of[family], ADDR_TEXT_SIZE, address);
    begin(world, &work, &addresses);
    record_done(&plan_record, &work.plan);
}

void world_begin_mtu(struct world *world, enum mtu_ways direction, double watch_s)
{
    static const struct measure_addresses addresses = { { "10.9.2.2", "fd00::2" } };
    struct work work = { .kind = WORK_MTU };

    make_mtu_plan(FAMILY_COUNT, &work.mtu_plan);
    work.mtu_plan.common.direction = direction;
    work.mtu_plan.common.watch_s = watch_s;
    begin(world, &work, &addresses);
    record_done(&mtu_plan_record, &work.mtu_plan);
}

void world_done(struct world *world)
{
    measure_free(world->measure);
}

static void say_progress(const struct world *world, enum phase_kind phase,
                         struct message_progress *out_progress)
{
    message_init(out_progress, MESSAGE_PROGRESS);
    text_copy(out_progress->session, UUID_SIZE, world->opened[END_ECHO].session);
    out_progress->phase = phase;
    out_progress->elapsed_s = 0.5;
    out_progress->sent = 7;
    out_progress->low = 1400;
    out_progress->high = 1401;
    out_progress->flows_done = 1;
}

static void say_moved(const struct world *world, enum phase_kind phase,
                      struct message_moved *out_moved)
{
    message_init(out_moved, MESSAGE_MOVED);
    text_copy(out_moved->session, UUID_SIZE, world->opened[END_ECHO].session);
    out_moved->phase = phase;
    out_moved->event.change = MTU_CHANGE_CHANGED;
    out_moved->event.from = 1500;
    out_moved->event.to = 1400;
}

void world_say(struct world *world, enum end_role role, enum message_type type,
               enum phase_kind phase)
{
    union message message;

    message_init(&message, type);
    text_copy(message.opened.session, sizeof message.opened.session,
              world->opened[END_ECHO].session);
    if (type == MESSAGE_OPENED)
        message.opened.port = role == END_ECHO ? 7900 : 0;
    else if (type == MESSAGE_BEGUN || type == MESSAGE_ENDED)
        message.begun.phase = phase;
    else if (type == MESSAGE_PROGRESS)
        say_progress(world, phase, &message.progress);
    else if (type == MESSAGE_MOVED)
        say_moved(world, phase, &message.moved);
    else if (type == MESSAGE_REFUSED)
        text_copy(message.refused.reason, sizeof message.refused.reason, "too much");
    else if (type == MESSAGE_FAILED)
        text_copy(message.failed.reason, sizeof message.failed.reason, "broke");
    measure_message(world->measure, role, &message, world->now);
}

void world_bring(struct world *world, enum measure_state state, enum phase_kind phase)
{
    if (state > MEASURE_OPEN_ECHO)
        world_say(world, END_ECHO, MESSAGE_OPENED, phase);
    if (state > MEASURE_OPEN_SENDER)
        world_say(world, END_SENDER, MESSAGE_OPENED, phase);
    if (state > MEASURE_BEGIN_ECHO)
        world_say(world, END_ECHO, MESSAGE_BEGUN, phase);
    if (state > MEASURE_SEND)
        world_say(world, END_SENDER, MESSAGE_ENDED, phase);
    if (state > MEASURE_END_ECHO)
        world_say(world, END_ECHO, MESSAGE_ENDED, phase);
    if (state > MEASURE_CLOSE) {
        world_say(world, END_SENDER, MESSAGE_CLOSED, phase);
        world_say(world, END_ECHO, MESSAGE_CLOSED, phase);
    }
    if (state > MEASURE_RESULTS)
        measure_joined(world->measure, 0, world->now);
    assert_int_equal(state, measure_state(world->measure));
}

void world_begin_at(struct world *world, enum measure_state state, size_t cases)
{
    world_begin(world, cases, 0, "10.9.2.2");
    world_bring(world, state, PHASE_MEASURE);
    world->used = 0;
    world->log[0] = '\0';
}

void world_pass(struct world *world, int64_t ns)
{
    world->now = mono_after(world->now, ns);
    measure_tick(world->measure, world->now);
}
