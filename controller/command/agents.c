/* Owns `sonde agents`: which agents a controller knows, as a table or as JSON. */
#include <stdio.h>
#include <string.h>

#include "controller/command/command.h"
#include "controller/command/remote.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"
#include "proto/wire/limits.h"
#include "proto/wire/record_json.h"
#include "proto/wire/record_table.h"

#define AGENTS_SCHEMA "sonde.agents/1"

enum { CELL = 64 };

/* What --json prints. */
struct listing {
    char schema[32];
    struct list agents; /* of struct agent_row */
};

static const struct field listing_fields[] = {
    TEXT(struct listing, schema, AGENTS_SCHEMA),
    PARTS(struct listing, agents, agent_row_record, LIMIT_FLEET, "by name"),
};
static const struct record listing_record = RECORD(listing, listing_fields);

struct request {
    struct remote_flags remote;
    bool json;
};

/* The answer comes in parts; each row moves into the listing. */
static enum status fetch(struct remote *remote, struct listing *listing, struct fault *fault)
{
    struct message_list_agents ask;
    union message answer;
    bool more = true;
    enum status status;

    message_init(&ask, MESSAGE_LIST_AGENTS);
    ask.request = remote_request(remote);
    status = remote_ask(remote, &ask, MESSAGE_AGENTS, &answer, fault);
    while (status == STATUS_OK) {
        for (size_t i = 0; i < answer.agents.agents.count; i++) {
            struct agent_row *row = (struct agent_row *)answer.agents.agents.items + i;

            *(struct agent_row *)list_append_sized(&listing->agents, sizeof *row) = *row;
            record_init(&agent_row_record, row); /* moved */
        }
        more = answer.agents.more;
        message_done(&answer);
        if (!more)
            break;
        status = remote_receive(remote, REMOTE_ANSWER_NS, &answer, fault);
        if (status == STATUS_OK && answer.type != MESSAGE_AGENTS) {
            message_done(&answer);
            status = fault_set(fault, STATUS_INVALID, "the list of agents broke off");
        }
    }
    return status;
}

static void clock_text(const struct clock_report *clock, char out_text[CELL])
{
    char error[TEXT_QUANTITY_SIZE];

    if (clock->max_error_ns == NONE_INT) {
        snprintf(out_text, CELL, "%s", clock_sync_names[clock->sync]);
        return;
    }
    text_duration(clock->max_error_ns, error);
    snprintf(out_text, CELL, "%s, within %s",
             clock->sync == CLOCK_SYNCHRONIZED ? "synced" : "not synced", error);
}

static void seen_text(const struct agent_row *row, char out_text[CELL])
{
    char ago[TEXT_QUANTITY_SIZE];

    if (row->connected) {
        snprintf(out_text, CELL, "connected");
        return;
    }
    text_duration((int64_t)(row->last_seen_s * 1e9), ago);
    snprintf(out_text, CELL, "away %s", ago);
}

/* Names and addresses come from elsewhere: no control bytes reach a terminal. */
static void put_masked(const char *text, int width)
{
    char shown[256];

    text_copy(shown, sizeof shown, *text != '\0' ? text : "-");
    utf8_mask(shown);
    printf("%-*s", width, shown);
}

static void print_row(const struct agent_row *row)
{
    char cell[CELL], version[CELL * 3];

    put_masked(row->name, 20);
    seen_text(row, cell);
    printf("  %-14s", cell);
    snprintf(version, sizeof version, "%.60s %.60s", row->os, row->os_release);
    printf("  ");
    put_masked(version, 24);
    printf("  %-9.31s", row->version);
    clock_text(&row->clock, cell);
    printf("  %-28s  %6lld  ", cell, (long long)row->spool.waiting);
    put_masked(row->busy_with[0] != '\0' ? row->busy_with : "", 9);
    printf("  ");
    put_masked(row->address, 0);
    printf("\n");
    if (row->duplicates > 0) {
        printf("%20s  DUPLICATE: %lld other host%s came with this identity, the last from ", "",
               (long long)row->duplicates, row->duplicates == 1 ? "" : "s");
        put_masked(row->duplicate_address, 0);
        printf("\n");
    }
    if (row->spool.dropped > 0)
        printf("%20s  %lld results were dropped there because its spool was full\n", "",
               (long long)row->spool.dropped);
}

static void print_table(const struct listing *listing)
{
    if (listing->agents.count == 0) {
        printf("No agent has connected yet.\n");
        return;
    }
    printf("%-20s  %-14s  %-24s  %-9s  %-28s  %6s  %-9s  %s\n", "NAME", "STATE", "SYSTEM",
           "VERSION", "CLOCK", "SPOOL", "BUSY WITH", "ADDRESS");
    for (size_t i = 0; i < listing->agents.count; i++)
        print_row((const struct agent_row *)listing->agents.items + i);
}

static enum exit_code print_json(const struct listing *listing)
{
    enum exit_code code = EXIT_FAILED;
    struct buf text;

    buf_init(&text, LIMIT_JSON_BYTES);
    if (record_to_json(&listing_record, listing, &text) == STATUS_OK) {
        printf("%s\n", buf_peek(&text));
        code = EXIT_MEASURED;
    }
    buf_done(&text);
    return code;
}

static enum exit_code list(const struct request *request)
{
    struct remote *remote = NULL;
    struct listing listing;
    struct fault fault = { "" };
    enum exit_code code = EXIT_FAILED;
    enum status status;

    record_init(&listing_record, &listing);
    text_copy(listing.schema, sizeof listing.schema, AGENTS_SCHEMA);
    status = remote_open(&request->remote, &remote, &fault);
    if (status == STATUS_OK)
        status = fetch(remote, &listing, &fault);
    if (status != STATUS_OK) {
        fprintf(stderr, "sonde agents: %s\n", fault.text);
    } else if (request->json) {
        code = print_json(&listing);
    } else {
        print_table(&listing);
        code = EXIT_MEASURED;
    }
    record_done(&listing_record, &listing);
    remote_close(remote);
    return code;
}

enum exit_code command_agents(int argc, char **argv)
{
    struct request request = { .json = false };
    const struct option table[] = {
        REMOTE_OPTIONS(&request.remote),
        { .name = "json", .flag = &request.json, .help = "print JSON and nothing else" },
    };
    struct options options = {
        .command = "sonde agents",
        .usage = "[flags]",
        .about = "Lists the agents that a controller knows: connected or when last seen, their\n"
                 "system, clock, results that wait there, and the run that holds them.",
        .table = table,
        .count = sizeof table / sizeof table[0],
        .examples = "  sonde agents --controller sonde.example.net\n",
    };

    switch (options_parse(&options, argc, argv)) {
    case OPTIONS_DONE:
        return EXIT_MEASURED;
    case OPTIONS_BAD:
        break;
    case OPTIONS_GO:
        return list(&request);
    }
    return EXIT_USAGE;
}
