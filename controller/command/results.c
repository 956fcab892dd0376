/* Owns `sonde results`: what a controller has stored, as tables, JSON or CSV. */
#include <stdio.h>
#include <string.h>

#include "controller/command/command.h"
#include "controller/command/remote.h"
#include "controller/command/results_csv.h"
#include "controller/command/results_table.h"
#include "proto/base/text.h"
#include "proto/wire/limits.h"
#include "proto/wire/record_json.h"
#include "proto/wire/record_table.h"

#define RESULTS_SCHEMA "sonde.results/1"

enum { DEFAULT_ROWS = 50, ROWS_MAX = 1000000 };

/* The filters, as flags. */
struct query {
    char run[UUID_SIZE], from[NAME_SIZE], to[NAME_SIZE], since[32], until[32];
    int64_t limit;
};

static const struct field query_fields[] = {
    TEXT(struct query, run, "only of this run (its id, or how it begins)"),
    TEXT(struct query, from, "only of runs from this agent"),
    TEXT(struct query, to, "only of runs to this agent"),
    TEXT(struct query, since, "only of runs started then or later (2026-11-30T18:00:00Z)"),
    TEXT(struct query, until, "only of runs started before"),
    INT(struct query, limit, 1, ROWS_MAX, "rows of each kind at most, the newest first"),
};
static const struct record query_record = RECORD(query, query_fields);

struct listing {
    char schema[32];
    struct list cases; /* of struct case_row */
    bool more;
    struct list mtu; /* of struct mtu_row */
    bool more_mtu;
};

static const struct field listing_fields[] = {
    TEXT(struct listing, schema, RESULTS_SCHEMA),
    PARTS(struct listing, cases, case_row_record, ROWS_MAX, "of kind pair, newest first"),
    FLAG(struct listing, more, "the controller has older ones"),
    PARTS(struct listing, mtu, mtu_row_record, ROWS_MAX, "of kind mtu, newest first"),
    FLAG(struct listing, more_mtu, "the controller has older ones"),
};
static const struct record listing_record = RECORD(listing, listing_fields);

struct request {
    struct remote_flags remote;
    struct query query;
    const char *status, *kind;
    bool json, csv;
    bool wanted[WORK_KIND_COUNT];
};

/* A flag that takes one of some names. */
struct choice {
    const char *flag;
    const char *const *names;
    size_t count;
};

static enum status choose(const struct choice *choice, const char *word, int *out_place,
                          struct fault *fault)
{
    char allowed[64] = "";

    for (size_t i = 0; i < choice->count; i++) {
        size_t at = strlen(allowed);

        if (strcmp(word, choice->names[i]) == 0) {
            *out_place = (int)i;
            return STATUS_OK;
        }
        snprintf(allowed + at, sizeof allowed - at, "%s%s", i > 0 ? ", " : "", choice->names[i]);
    }
    return fault_set(fault, STATUS_RANGE, "--%s: \"%.40s\" is not allowed: one of %s", choice->flag,
                     word, allowed);
}

static enum status make_question(const struct request *request, struct message_list_results *out,
                                 struct fault *fault)
{
    static const struct choice statuses = { "status", case_status_names, CASE_STATUS_COUNT };
    const struct query *query = &request->query;
    enum status status = STATUS_OK;
    int place = 0;

    message_init(out, MESSAGE_LIST_RESULTS);
    text_copy(out->run, sizeof out->run, query->run);
    text_copy(out->from, sizeof out->from, query->from);
    text_copy(out->to, sizeof out->to, query->to);
    text_copy(out->since, sizeof out->since, query->since);
    text_copy(out->until, sizeof out->until, query->until);
    if (request->status == NULL)
        return STATUS_OK;
    status = choose(&statuses, request->status, &place, fault);
    if (status == STATUS_OK)
        out->status = place;
    return status;
}

/* Which kinds are asked for: without a word all of them, but a CSV has rows of one. */
static enum status choose_kinds(struct request *request, struct fault *fault)
{
    static const struct choice kinds = { "kind", work_kind_names, WORK_KIND_COUNT };
    enum status status = STATUS_OK;
    int place = WORK_CASES;

    if (request->kind != NULL)
        status = choose(&kinds, request->kind, &place, fault);
    for (int i = 0; i < WORK_KIND_COUNT; i++)
        request->wanted[i] = i == place || (request->kind == NULL && !request->csv);
    return status;
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

/* Moves the rows of an answer into the listing; returns how many. */
static size_t take_rows(const struct message_list_results *question,
                        const struct message_results *answer, struct listing *listing,
                        int64_t *out_oldest)
{
    if (question->kind == WORK_MTU) {
        for (size_t i = 0; i < answer->mtu_rows.count; i++) {
            const struct mtu_row *row = (const struct mtu_row *)answer->mtu_rows.items + i;

            *(struct mtu_row *)list_append_sized(&listing->mtu, sizeof *row) = *row;
            *out_oldest = row->row;
        }
        return answer->mtu_rows.count;
    }
    for (size_t i = 0; i < answer->rows.count; i++) {
        const struct case_row *row = (const struct case_row *)answer->rows.items + i;

        *(struct case_row *)list_append_sized(&listing->cases, sizeof *row) = *row;
        *out_oldest = row->row;
    }
    return answer->rows.count;
}

/* As many pages of this kind as it takes. */
static enum status fetch(struct remote *remote, struct message_list_results *question,
                         int64_t limit, struct listing *listing, struct fault *fault)
{
    bool *more = question->kind == WORK_MTU ? &listing->more_mtu : &listing->more;
    int64_t left = limit;

    question->before = NONE_INT;
    *more = true;
    while (*more && left > 0) {
        union message answer;
        size_t count;
        enum status status;

        question->request = remote_request(remote);
        question->limit = left < LIMIT_ROWS ? left : LIMIT_ROWS;
        status = remote_ask(remote, question, MESSAGE_RESULTS, &answer, fault);
        if (status != STATUS_OK)
            return status;
        count = take_rows(question, &answer.results, listing, &question->before);
        *more = answer.results.more && count > 0;
        left -= (int64_t)count;
        message_done(&answer);
    }
    return STATUS_OK;
}

static void print_tables(const struct request *request, const struct listing *listing)
{
    const bool *wanted = request->wanted;

    if (listing->cases.count > 0)
        results_table_cases(&listing->cases, listing->more);
    if (listing->cases.count > 0 && listing->mtu.count > 0)
        printf("\n");
    if (listing->mtu.count > 0)
        results_table_mtu(&listing->mtu, listing->more_mtu);
    if (listing->cases.count + listing->mtu.count == 0)
        printf("No %s matches.\n", !wanted[WORK_MTU]     ? "case"
                                   : !wanted[WORK_CASES] ? "path MTU"
                                                         : "case and no path MTU");
}

static enum exit_code print_listing(const struct request *request, const struct listing *listing)
{
    enum status status = STATUS_OK;
    struct buf text;

    if (!request->json && !request->csv) {
        print_tables(request, listing);
        return EXIT_MEASURED;
    }
    buf_init(&text, LIMIT_JSON_BYTES);
    if (request->json) {
        status = record_to_json(&listing_record, listing, &text);
        buf_text(&text, "\n");
    } else if (request->wanted[WORK_MTU]) {
        results_csv(&mtu_row_record, &listing->mtu, &text);
    } else {
        results_csv(&case_row_record, &listing->cases, &text);
    }
    if (status == STATUS_OK)
        status = buf_status(&text);
    fwrite(buf_peek(&text), 1, text.length, stdout);
    buf_done(&text);
    return status == STATUS_OK ? EXIT_MEASURED : EXIT_FAILED;
}

static enum exit_code list(struct request *request)
{
    struct message_list_results question;
    struct remote *remote = NULL;
    struct listing listing;
    struct fault fault = { "" };
    enum exit_code code = EXIT_FAILED;
    enum status status;

    if (make_question(request, &question, &fault) != STATUS_OK ||
        choose_kinds(request, &fault) != STATUS_OK ||
        check_time("since", request->query.since, &fault) != STATUS_OK ||
        check_time("until", request->query.until, &fault) != STATUS_OK) {
        fprintf(stderr, "sonde results: %s\n", fault.text);
        return EXIT_USAGE;
    }
    record_init(&listing_record, &listing);
    text_copy(listing.schema, sizeof listing.schema, RESULTS_SCHEMA);
    status = remote_open(&request->remote, &remote, &fault);
    for (int i = 0; i < WORK_KIND_COUNT && status == STATUS_OK; i++) {
        question.kind = (enum work_kind)i;
        if (request->wanted[i])
            status = fetch(remote, &question, request->query.limit, &listing, &fault);
    }
    if (status != STATUS_OK)
        fprintf(stderr, "sonde results: %s\n", fault.text);
    else
        code = print_listing(request, &listing);
    record_done(&listing_record, &listing);
    remote_close(remote);
    return code;
}

static enum options_result parse(struct request *request, int argc, char **argv)
{
    const struct option table[] = {
        { .name = "kind",
          .argument = "NAME",
          .value = &request->kind,
          .help = "pair or mtu: only cases of sonde run, or only path MTUs (default: both, pair "
                  "with --csv)" },
        { .name = "run", .argument = "ID", .field = "run" },
        { .name = "from", .argument = "AGENT", .field = "from" },
        { .name = "to", .argument = "AGENT", .field = "to" },
        { .name = "status",
          .argument = "NAME",
          .value = &request->status,
          .help = "only pass, fail or error" },
        { .name = "since", .argument = "TIME", .field = "since" },
        { .name = "until", .argument = "TIME", .field = "until" },
        { .name = "limit", .argument = "N", .field = "limit" },
        { .name = "json", .flag = &request->json, .help = "print JSON and nothing else" },
        { .name = "csv", .flag = &request->csv, .help = "print CSV (RFC 4180) and nothing else" },
        REMOTE_OPTIONS(&request->remote),
    };
    struct options options = {
        .command = "sonde results",
        .usage = "[flags]",
        .about = "Lists what a controller has measured between its agents, newest first: cases,\n"
                 "with what was lost, in which direction, and where it went; then path MTUs, with\n"
                 "what they were in the run before where they have changed.",
        .table = table,
        .count = sizeof table / sizeof table[0],
        .record = &query_record,
        .object = &request->query,
        .examples = "  sonde results --from a --to b --status fail\n"
                    "  sonde results --kind mtu --from a --limit 10\n"
                    "  sonde results --since 2026-11-30T00:00:00Z --csv > november.csv\n",
    };

    return options_parse(&options, argc, argv);
}

enum exit_code command_results(int argc, char **argv)
{
    struct request request = { .query = { .limit = DEFAULT_ROWS } };

    switch (parse(&request, argc, argv)) {
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
