/* Owns `sonde counters`: this host's kernel counters now, or as they change. Where they come from
 * is agent/host's affair, how they look counters_json.c's and counters_text.c's.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <time.h>

#include "agent/host/machine.h"
#include "controller/command/command.h"
#include "controller/command/counters_view.h"
#include "controller/command/interrupt.h"
#include "controller/command/options.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"
#include "proto/wire/limits.h"

static const char about[] =
    "Prints what this host's kernel has counted about UDP, IP fragments, CPU backlogs, interfaces\n"
    "and queueing disciplines, under names that are the same on Linux and macOS. A counter that\n"
    "this system lacks is listed with the reason, never as 0.";

static const char examples[] = "  sonde counters\n"
                               "  sonde counters --watch 1\n"
                               "  sonde counters --json --watch 10 --count 6\n"
                               "  sonde counters --proc-root /host/proc\n";

struct request {
    double watch;  /* seconds between snapshots; NAN: one snapshot */
    int64_t count; /* differences to print; NONE_INT: until interrupted */
    const char *proc_root;
    bool json;
};

static const struct field request_fields[] = {
    { FIELD_AT(struct request, watch), .type = FIELD_REAL, .flags = FIELD_NULLABLE,
      .real_min = 0.01, .real_max = LIMIT_SECONDS,
      .help = "print the differences every so often, until interrupted" },
    { FIELD_AT(struct request, count), .type = FIELD_INT, .flags = FIELD_NULLABLE, .min = 1,
      .max = COUNT_MAX, .help = "with --watch: how many differences to print" },
};
static const struct record request_record = { .name = "counters",
                                              .size = sizeof(struct request),
                                              .fields = request_fields,
                                              .count = RECORD_COUNT(request_fields) };

static enum options_result parse(struct request *request, int argc, char **argv)
{
    const struct option table[] = {
        { .name = "json", .flag = &request->json, .help = "print one line of JSON a snapshot" },
        { .name = "proc-root",
          .argument = "DIR",
          .value = &request->proc_root,
          .help = "read DIR/self/net, then DIR/net, instead of this host" },
        { .name = "watch", .argument = "SECONDS", .field = "watch" },
        { .name = "count", .argument = "N", .field = "count" },
    };
    struct options options = { .command = "sonde counters",
                               .usage = "[flags]",
                               .about = about,
                               .table = table,
                               .count = sizeof table / sizeof table[0],
                               .record = &request_record,
                               .object = request,
                               .examples = examples };

    return options_parse(&options, argc, argv);
}

/* A snapshot and when it was taken. */
struct taken {
    struct counter_snapshot snapshot;
    struct mono at;
    struct wall label;
};

static enum exit_code take(const struct request *request, struct taken *out_taken)
{
    struct fault fault;

    out_taken->label = wall_now();
    out_taken->at = mono_now();
    if (counters_read(request->proc_root, &out_taken->snapshot, &fault) == STATUS_OK)
        return EXIT_MEASURED;
    fprintf(stderr, "sonde counters: --proc-root: %s\n", fault.text);
    return EXIT_FAILED;
}

/* The counters of a mounted /proc are those of the reader's own network namespace: whoever meant
 * the host's (process 1's) must hear of it. */
static void warn_of_namespace(const struct request *request, const struct counter_snapshot *s)
{
    char root[256], own[64], first[64];

    if (request->proc_root == NULL || *s->namespace == '\0' || *s->init_namespace == '\0' ||
        strcmp(s->namespace, s->init_namespace) == 0)
        return;
    text_copy(root, sizeof root, request->proc_root);
    text_copy(own, sizeof own, s->namespace);
    text_copy(first, sizeof first, s->init_namespace);
    utf8_mask(root);
    utf8_mask(own);
    utf8_mask(first);
    fprintf(stderr,
            "sonde counters: warning: %s/self/net is network namespace %s, process 1 there is in "
            "%s\n",
            root, own, first);
}

/* False when stdout takes no more. */
static bool print(const struct request *request, const struct counters_view *view)
{
    struct buf text;
    bool written;

    buf_init(&text, LIMIT_JSON_BYTES);
    if (request->json)
        counters_view_json(view, &text);
    else if (view->interval.present)
        counters_view_changes(view, &text);
    else
        counters_view_text(view, &text);
    written = fwrite(buf_peek(&text), 1, text.length, stdout) == text.length;
    written = fflush(stdout) == 0 && written;
    buf_done(&text);
    return written;
}

/* Waits until `deadline`; false when interrupted before. The signals are open only while it waits,
 * so that none is missed between the look and the wait. */
static bool wait_until(struct mono deadline)
{
    sigset_t closed, open;
    bool go_on = true;

    sigemptyset(&closed);
    sigaddset(&closed, SIGINT);
    sigaddset(&closed, SIGTERM);
    sigaddset(&closed, SIGHUP);
    sigprocmask(SIG_BLOCK, &closed, &open);
    for (;;) {
        int64_t left = mono_between(mono_now(), deadline);
        struct timespec timeout = { .tv_sec = (time_t)(left / NS_PER_S),
                                    .tv_nsec = (long)(left % NS_PER_S) };

        go_on = !atomic_load(&interrupt_finish);
        if (!go_on || left <= 0)
            break;
        if (pselect(0, NULL, NULL, NULL, &timeout, &open) < 0 && errno != EINTR)
            break;
    }
    sigprocmask(SIG_SETMASK, &open, NULL);
    return go_on;
}

/* One difference: waits, takes *after, prints what changed since *before. */
static enum exit_code step(const struct request *request, const struct host *host,
                           const struct taken *before, struct taken *after)
{
    struct counters_view view = { .host = host, .proc_root = request->proc_root };
    enum exit_code code = take(request, after);
    bool written;

    if (code != EXIT_MEASURED)
        return code;
    view.taken = after->label;
    view.snapshot = &after->snapshot;
    counters_interval_init(&view.interval, &before->snapshot.total, &after->snapshot.total,
                           request->proc_root == NULL ? counters_width32() : NULL,
                           mono_between(before->at, after->at));
    written = print(request, &view);
    counters_interval_done(&view.interval);
    if (written)
        return EXIT_MEASURED;
    counter_snapshot_done(&after->snapshot);
    return EXIT_FAILED; /* main says why */
}

/* Prints differences at whole multiples of the interval, so that none drifts. Takes *last over. */
static enum exit_code watch(const struct request *request, const struct host *host,
                            struct taken *last)
{
    int64_t interval_ns = (int64_t)(request->watch * (double)NS_PER_S);
    struct mono deadline = last->at;
    enum exit_code code = EXIT_MEASURED;

    interrupt_catch();
    for (int64_t i = 0; request->count == NONE_INT || i < request->count; i++) {
        struct taken next;

        deadline = mono_after(deadline, interval_ns);
        if (!wait_until(deadline))
            break;
        code = step(request, host, last, &next);
        if (code != EXIT_MEASURED)
            break;
        counter_snapshot_done(&last->snapshot);
        *last = next;
    }
    counter_snapshot_done(&last->snapshot);
    return code;
}

enum exit_code command_counters(int argc, char **argv)
{
    struct request request = { .watch = NAN, .count = NONE_INT };
    struct counters_view view;
    struct taken first;
    struct host host;
    enum exit_code code;

    switch (parse(&request, argc, argv)) {
    case OPTIONS_BAD:
        return EXIT_USAGE;
    case OPTIONS_DONE:
        return EXIT_MEASURED;
    case OPTIONS_GO:
        break;
    }
    if (request.count != NONE_INT && isnan(request.watch)) {
        fprintf(stderr, "sonde counters: --count is allowed only with --watch\n");
        return EXIT_USAGE;
    }
    code = take(&request, &first);
    if (code != EXIT_MEASURED)
        return code;
    warn_of_namespace(&request, &first.snapshot);
    record_init(&host_record, &host);
    machine_describe(&host);
    if (isnan(request.watch)) {
        view = (struct counters_view){ .host = &host,
                                       .proc_root = request.proc_root,
                                       .taken = first.label,
                                       .snapshot = &first.snapshot };
        code = print(&request, &view) ? EXIT_MEASURED : EXIT_FAILED;
        counter_snapshot_done(&first.snapshot);
    } else {
        code = watch(&request, &host, &first);
    }
    record_done(&host_record, &host);
    return code;
}
