/* Owns `sonde results`: cases that a controller has stored, as a table, JSON or CSV. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "controller/command/command.h"
#include "controller/command/remote.h"
#include "controller/command/results_csv.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"
#include "proto/wire/limits.h"
#include "proto/wire/record_json.h"
#include "proto/wire/record_table.h"

#define RESULTS_SCHEMA "sonde.results/1"

enum { CELL = 64, DEFAULT_ROWS = 50, ROWS_MAX = 1000000 };

/* The filters, as flags. */
struct query {
    char run[UUID_SIZE], from[NAME_SIZE], to[NAME_SIZE], since[32], until[32];
    int64_t limit;
};

static const struct field query_fields[] = {
    TEXT(struct query, run, "only of this run (its id, or how it begins)"),
    TEXT(struct query, from, "only with this sender"),
    TEXT(struct query, to, "only with this echo role"),
    TEXT(struct query, since, "only of runs started then or later (2026-11-30T18:00:00Z)"),
    TEXT(struct query, until, "only of runs started before"),
    INT(struct query, limit, 1, ROWS_MAX, "rows at most, the newest first"),
};
static const struct record query_record = RECORD(query, query_fields);

struct listing {
    char schema[32];
    struct list cases; /* of struct case_row */
    bool more;
};

static const struct field listing_fields[] = {
    TEXT(struct listing, schema, RESULTS_SCHEMA),
    PARTS(struct listing, cases, case_row_record, ROWS_MAX, "newest first"),
    FLAG(struct listing, more, "the controller has older ones"),
};
static const struct record listing_record = RECORD(listing, listing_fields);

struct request {
    struct remote_flags remote;
    struct query query;
    const char *status;
    bool json, csv;
};

static enum status make_question(const struct request *request, struct message_list_results *out,
                                 struct fault *fault)
{
    static const char *const candidates[] = { "pass", "fail", "error", NULL };
    const struct query *query = &request->query;

    message_init(out, MESSAGE_LIST_RESULTS);
    text_copy(out->run, sizeof out->run, query->run);
    text_copy(out->from, sizeof out->from, query->from);
    text_copy(out->to, sizeof out->to, query->to);
    text_copy(out->since, sizeof out->since, query->since);
    text_copy(out->until, sizeof out->until, query->until);
    if (request->status == NULL)
        return STATUS_OK;
    for (int i = 0; i < CASE_STATUS_COUNT; i++) {
        if (strcmp(request->status, candidates[i]) == 0) {
            out->status = i;
            return STATUS_OK;
        }
    }
    return fault_set(fault, STATUS_RANGE,
                     "--status: \"%.40s\" is not allowed: one of pass, fail, error",
                     request->status);
}

static enum status check_time(const char *flag, const char *text, struct fault *fault)
{
    struct wall time;

    if (*text == '\0' || wall_parse(text, &time) == STATUS_OK)
        return STATUS_OK;
    return fault_set(fault, STATUS_INVALID,
                     "--%s: \"%.40s\" is no time: RFC 3339 in UTC, such as 2026-11-30T18:00:00Z",
                     flag, text);
}

/* As many pages as it takes. */
static enum status fetch(struct remote *remote, struct message_list_results *question,
                         int64_t limit, struct listing *listing, struct fault *fault)
{
    enum status status = STATUS_OK;

    listing->more = true;
    while (listing->more && (int64_t)listing->cases.count < limit && status == STATUS_OK) {
        int64_t left = limit - (int64_t)listing->cases.count;
        union message answer;

        question->request = remote_request(remote);
        question->limit = left < LIMIT_ROWS ? left : LIMIT_ROWS;
        status = remote_ask(remote, question, MESSAGE_RESULTS, &answer, fault);
        if (status != STATUS_OK)
            break;
        for (size_t i = 0; i < answer.results.rows.count; i++) {
            const struct case_row *row = (const struct case_row *)answer.results.rows.items + i;

            *(struct case_row *)list_append_sized(&listing->cases, sizeof *row) = *row;
            question->before = row->row;
        }
        listing->more = answer.results.more && answer.results.rows.count > 0;
        message_done(&answer);
    }
    return status;
}

static void put_place(const char *name, int64_t count, const char **between)
{
    if (count == 0)
        return;
    printf("%s%s %lld", *between, name, (long long)count);
    *between = ", ";
}

static void put_places(const struct lost_to *places, const char *leg, const char **between)
{
    char name[CELL];
    const struct {
        const char *name;
        int64_t count;
    } all[] = { { "receive buffer", places->receive_buffer },
                { "sender host", places->sender_host },
                { "receiver host", places->receiver_host },
                { "network", places->network },
                { "unattributed", places->unattributed } };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        snprintf(name, sizeof name, "%s %s", leg, all[i].name);
        put_place(name, all[i].count, between);
    }
}

static void print_row(const struct case_row *row)
{
    char pair[2 * NAME_SIZE + 8], error[REASON_SIZE], rtt[TEXT_QUANTITY_SIZE] = "-";
    const char *between = "  ";

    snprintf(pair, sizeof pair, "%s > %s", row->from, row->to);
    if (row->rtt_p50_ns != NONE_INT)
        text_duration(row->rtt_p50_ns, rtt);
    printf("%-13.13s  %-20.20s  %-24s  %6lld x %-5lld  %-5s  %9lld  %8lld  %8lld  %9s", row->run,
           row->started, pair, (long long)row->params.payload, (long long)row->params.window,
           case_status_names[row->status], (long long)row->sent, (long long)row->forward_lost,
           (long long)row->reverse_lost, rtt);
    put_places(&row->forward_lost_to, "forward", &between);
    put_places(&row->reverse_lost_to, "reverse", &between);
    if (row->status == CASE_ERROR) {
        text_copy(error, sizeof error, row->error);
        utf8_mask(error);
        printf("  %s", error);
    }
    printf("\n");
}

static void print_table(const struct listing *listing)
{
    if (listing->cases.count == 0) {
        printf("No case matches.\n");
        return;
    }
    printf("%-13s  %-20s  %-24s  %-14s  %-5s  %9s  %8s  %8s  %9s  %s\n", "RUN", "STARTED",
           "FROM > TO", "PAYLOAD x WIN", "", "SENT", "FWD LOST", "REV LOST", "RTT P50", "LOST TO");
    for (size_t i = 0; i < listing->cases.count; i++)
        print_row((const struct case_row *)listing->cases.items + i);
    if (listing->more)
        printf("... and older ones; ask for more with --limit\n");
}

static enum exit_code print_listing(const struct request *request, const struct listing *listing)
{
    enum status status = STATUS_OK;
    struct buf text;

    if (!request->json && !request->csv) {
        print_table(listing);
        return EXIT_MEASURED;
    }
    buf_init(&text, LIMIT_JSON_BYTES);
    if (request->json) {
        status = record_to_json(&listing_record, listing, &text);
        buf_text(&text, "\n");
    } else {
        results_csv(&listing->cases, &text);
    }
    if (status == STATUS_OK)
        status = buf_status(&text);
    fwrite(buf_peek(&text), 1, text.length, stdout);
    buf_done(&text);
    return status == STATUS_OK ? EXIT_MEASURED : EXIT_FAILED;
}

static enum exit_code list(const struct request *request)
{
    struct message_list_results question;
    struct remote *remote = NULL;
    struct listing listing;
    struct fault fault = { "" };
    enum exit_code code = EXIT_FAILED;
    enum status status;

    if (make_question(request, &question, &fault) != STATUS_OK ||
        check_time("since", request->query.since, &fault) != STATUS_OK ||
        check_time("until", request->query.until, &fault) != STATUS_OK) {
        fprintf(stderr, "sonde results: %s\n", fault.text);
        return EXIT_USAGE;
    }
    record_init(&listing_record, &listing);
    text_copy(listing.schema, sizeof listing.schema, RESULTS_SCHEMA);
    status = remote_open(&request->remote, &remote, &fault);
    if (status == STATUS_OK)
        status = fetch(remote, &question, request->query.limit, &listing, &fault);
    if (status != STATUS_OK)
        fprintf(stderr, "sonde results: %s\n", fault.text);
    else
        code = print_listing(request, &listing);
    record_done(&listing_record, &listing);
    remote_close(remote);
    return code;
}

enum exit_code command_results(int argc, char **argv)
{
    struct request request = { .query = { .limit = DEFAULT_ROWS } };
    const struct option table[] = {
        { .name = "run", .argument = "ID", .field = "run" },
        { .name = "from", .argument = "AGENT", .field = "from" },
        { .name = "to", .argument = "AGENT", .field = "to" },
        { .name = "status",
          .argument = "NAME",
          .value = &request.status,
          .help = "only pass, fail or error" },
        { .name = "since", .argument = "TIME", .field = "since" },
        { .name = "until", .argument = "TIME", .field = "until" },
        { .name = "limit", .argument = "N", .field = "limit" },
        { .name = "json", .flag = &request.json, .help = "print JSON and nothing else" },
        { .name = "csv", .flag = &request.csv, .help = "print CSV (RFC 4180) and nothing else" },
        REMOTE_OPTIONS(&request.remote),
    };
    struct options options = {
        .command = "sonde results",
        .usage = "[flags]",
        .about = "Lists the cases that a controller has measured between its agents, newest\n"
                 "first: what was lost, in which direction, and where it went.",
        .table = table,
        .count = sizeof table / sizeof table[0],
        .record = &query_record,
        .object = &request.query,
        .examples = "  sonde results --from a --to b --status fail\n"
                    "  sonde results --since 2026-11-30T00:00:00Z --csv > november.csv\n",
    };

    switch (options_parse(&options, argc, argv)) {
    case OPTIONS_DONE:
        return EXIT_MEASURED;
    case OPTIONS_BAD:
        return EXIT_USAGE;
    case OPTIONS_GO:
        break;
    }
    if (!request.json || !request.csv)
        return list(&request);
    fprintf(stderr, "sonde results: --json and --csv exclude each other\n");
    return EXIT_USAGE;
}
