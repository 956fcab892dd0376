/* Owns what is left out of a path MTU report that is too large, and how it says so. Must not know
 * where the report's contents come from. */
#include "agent/task_report_mtu.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/task_report.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"

void task_report_note(struct mtu_report *report, const char *format, ...)
{
    char note[sizeof report->error], both[2 * sizeof note + sizeof "; "];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(note, sizeof note, format, args);
    va_end(args);
    snprintf(both, sizeof both, "%s%s%s", report->error, report->error[0] == '\0' ? "" : "; ",
             note);
    text_copy(report->error, sizeof report->error, both);
}

/* --- changes ---------------------------------------------------------------------------------- */

void task_changes_add(struct task_changes *changes, const struct mtu_event *event)
{
    if (changes->ring == NULL)
        changes->ring = memory_new(MTU_EVENTS_MAX, sizeof *changes->ring);
    changes->ring[changes->count++ % MTU_EVENTS_MAX] = *event;
}

void task_changes_done(struct task_changes *changes)
{
    free(changes->ring);
    *changes = (struct task_changes){ .ring = NULL };
}

void task_changes_put(const struct task_changes *changes, struct mtu_report *report)
{
    int64_t gone = changes->count > MTU_EVENTS_MAX ? changes->count - MTU_EVENTS_MAX : 0;

    for (int64_t i = gone; i < changes->count; i++)
        *(struct mtu_event *)list_append_sized(&report->events, sizeof *changes->ring) =
            changes->ring[i % MTU_EVENTS_MAX];
    if (gone > 0)
        task_report_note(report, "of %lld changes the first %lld are not in the report",
                         (long long)changes->count, (long long)gone);
}

/* --- what does not fit ------------------------------------------------------------------------ */

/* No flow keeps more than so many; returns how many were left out. */
static int64_t cut_icmp(struct mtu_report *report, size_t most)
{
    struct mtu_flow *flows = report->flows.items;
    int64_t cut = 0;

    for (size_t i = 0; i < report->flows.count; i++) {
        const struct mtu_icmp *kept = flows[i].icmp.items;

        while (flows[i].icmp.count > most) {
            flows[i].icmp_missed += kept[--flows[i].icmp.count].count;
            cut++;
        }
    }
    return cut;
}

enum status task_report_mtu_result(struct mtu_report *report, struct message_result *out_result,
                                   struct fault *fault)
{
    const struct task_report form = { "mtu_report", &mtu_report_record, report, report->id };
    char error[sizeof report->error];
    size_t most = MTU_ICMP_MAX;
    int64_t cut = 0;
    enum status status;

    memcpy(error, report->error, sizeof error);
    while ((status = task_report_result(&form, out_result, fault)) == STATUS_TOO_LARGE &&
           most > 0) {
        most /= 2;
        cut += cut_icmp(report, most);
        memcpy(report->error, error, sizeof error);
        task_report_note(report, "%lld ICMP messages are left out of a report that was too large",
                         (long long)cut);
    }
    return status;
}
