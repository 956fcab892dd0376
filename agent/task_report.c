/* Owns what all reports of tasks have in common: id, times, and their form as a result. Must not
 * know what was measured, why the task ended, nor to whom it is sent. */
#include "agent/task_report.h"

#include <stdio.h>
#include <string.h>

#include "proto/base/digest.h"
#include "proto/base/text.h"
#include "proto/link/loop.h"
#include "proto/wire/record_msgpack.h"

/* Smaller steps are what a clock is slewed by. */
#define STEP_NOTICED_NS (100 * NS_PER_MS)

void task_frame_begin(struct task_frame *out_frame)
{
    *out_frame = (struct task_frame){ .began_wall = wall_now(), .began = mono_now() };
    wall_format(out_frame->began_wall, out_frame->started);
}

void task_frame_end(struct task_frame *frame)
{
    struct wall wall = wall_now();
    int64_t step = wall.ns - frame->began_wall.ns - mono_between(frame->began, mono_now());
    uint8_t random[10];

    digest_random(random, sizeof random);
    uuid7_format(wall.ns / NS_PER_MS, random, frame->id);
    wall_format(wall, frame->finished);
    frame->clock_step_ns = step >= STEP_NOTICED_NS || step <= -STEP_NOTICED_NS ? step : 0;
}

void task_frame_error(struct task_frame *frame, const char *broken, const char *closing)
{
    char text[sizeof frame->error + sizeof "closed: "];

    snprintf(text, sizeof text, "closed: %s", closing);
    if (broken[0] != '\0')
        text_copy(frame->error, sizeof frame->error, broken);
    else if (closing[0] != '\0')
        text_copy(frame->error, sizeof frame->error, text);
}

/* With what stands under a measurement between hosts beyond the instrument's own libraries. */
void task_frame_host(const struct task_frame *frame, struct host *host)
{
    char zeromq[LOOP_LIBRARY_SIZE];

    loop_library(zeromq);
    map_add_text(&host->libraries, "zeromq", zeromq);
    map_add_text(&host->libraries, "msgpack", record_msgpack_library());
    host->clock_step_ns = frame->clock_step_ns;
}

enum status task_report_result(const struct task_report *report, struct message_result *out_result,
                               struct fault *fault)
{
    struct buf body;
    enum status status = record_check(report->record, report->object, fault);

    if (status != STATUS_OK)
        return status;
    buf_init(&body, LIMIT_RESULT_BYTES);
    status = record_to_msgpack(report->record, report->object, &body);
    if (status == STATUS_OK) {
        message_init(out_result, MESSAGE_RESULT);
        text_copy(out_result->id, sizeof out_result->id, report->id);
        text_copy(out_result->kind, sizeof out_result->kind, report->kind);
        bytes_set(&out_result->body, body.data, body.length);
    } else {
        fault_set(fault, status, "its report is larger than %d bytes", LIMIT_RESULT_BYTES);
    }
    buf_done(&body);
    return status;
}
