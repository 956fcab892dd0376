/* Owns the report of a task: ids, times, and its form as a result. Must not know why the
 * task ended, nor to whom it is sent. */
#include "agent/task_report.h"

#include <stdio.h>
#include <string.h>

#include "proto/base/digest.h"
#include "proto/base/text.h"
#include "proto/link/loop.h"
#include "proto/wire/record_msgpack.h"

/* Smaller steps are what a clock is slewed by. */
#define STEP_NOTICED_NS (100 * NS_PER_MS)

void task_report_begin(struct task_report *report, const struct message_open *open)
{
    struct report *what = &report->report;

    record_init(&report_record, what);
    report->began_wall = wall_now();
    report->began = mono_now();
    text_copy(what->schema, sizeof what->schema, REPORT_SCHEMA);
    memcpy(what->run, open->run, sizeof what->run);
    memcpy(what->session, open->session, sizeof what->session);
    what->index = open->index;
    what->role = open->role;
    what->params = open->of_case.params;
    wall_format(report->began_wall, what->started);
}

void task_report_done(struct task_report *report)
{
    record_done(&report_record, &report->report);
}

/* What stands under a measurement between hosts beyond the instrument's own libraries. */
static void add_libraries(struct host *host)
{
    char zeromq[LOOP_LIBRARY_SIZE];

    loop_library(zeromq);
    map_add_text(&host->libraries, "zeromq", zeromq);
    map_add_text(&host->libraries, "msgpack", record_msgpack_library());
}

enum status task_report_end(struct task_report *report, struct task_end *end, struct fault *fault)
{
    struct report *what = &report->report;
    struct wall wall = wall_now();
    int64_t step = wall.ns - report->began_wall.ns - mono_between(report->began, mono_now());
    uint8_t random[10];
    enum status status;

    digest_random(random, sizeof random);
    uuid7_format(wall.ns / NS_PER_MS, random, what->id);
    wall_format(wall, what->finished);
    status = task_end_report(end, what, fault);
    if (status == STATUS_OK)
        add_libraries(&what->host);
    what->host.clock_step_ns = step >= STEP_NOTICED_NS || step <= -STEP_NOTICED_NS ? step : 0;
    return status;
}

void task_report_error(struct task_report *report, const char *broken, const char *closing)
{
    char *error = report->report.error;
    char text[sizeof report->report.error + sizeof "closed: "];

    snprintf(text, sizeof text, "closed: %s", closing);
    if (broken[0] != '\0')
        text_copy(error, sizeof report->report.error, broken);
    else if (closing[0] != '\0')
        text_copy(error, sizeof report->report.error, text);
}

enum status task_report_result(const struct task_report *report, struct message_result *out_result,
                               struct fault *fault)
{
    struct buf body;
    enum status status = record_check(&report_record, &report->report, fault);

    if (status != STATUS_OK)
        return status;
    buf_init(&body, LIMIT_RESULT_BYTES);
    status = record_to_msgpack(&report_record, &report->report, &body);
    if (status == STATUS_OK) {
        message_init(out_result, MESSAGE_RESULT);
        memcpy(out_result->id, report->report.id, sizeof out_result->id);
        text_copy(out_result->kind, sizeof out_result->kind, "report");
        bytes_set(&out_result->body, body.data, body.length);
    } else {
        fault_set(fault, status, "its report is larger than %d bytes", LIMIT_RESULT_BYTES);
    }
    buf_done(&body);
    return status;
}
