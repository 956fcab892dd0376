/* Owns `sonde budget`: what the arithmetic of budget.h says, as a table for people or as JSON. It
 * asks no interface and sends nothing; what a real path carries is for other commands to measure.
 */
#include <stdio.h>
#include <string.h>

#include "controller/command/command.h"
#include "controller/command/options.h"
#include "proto/base/text.h"
#include "proto/wire/budget.h"
#include "proto/wire/limits.h"
#include "proto/wire/record_json.h"

#define BUDGET_SCHEMA "sonde.budget/1"

enum { CELL_SIZE = 96, LABEL_WIDTH = 26, CELL_WIDTH = 36, OUTPUT_MAX = 1 << 16 };

/* Of a line and of the link whose size the argument is about (16,384: the loopback of macOS). */
static const int64_t default_mtus[] = { 1500, 16384 };

struct question {
    int64_t mtu; /* NONE_INT: the default ones */
    int64_t ip_options, extension_headers;
};

static const struct field question_fields[] = {
    { FIELD_AT(struct question, mtu), .type = FIELD_INT, .flags = FIELD_NULLABLE,
      .min = MTU_MIN_IPV4, .max = LIMIT_MTU, .help = "MTU of the link, bytes" },
    { FIELD_AT(struct question, ip_options), .type = FIELD_INT, .min = 0, .max = IP_OPTIONS_MAX,
      .help = "IPv4 options in every packet, bytes, in steps of 4" },
    { FIELD_AT(struct question, extension_headers), .type = FIELD_INT, .min = 0,
      .max = EXTENSION_HEADERS_MAX,
      .help = "IPv6 extension headers in every packet, bytes, in steps of 8" },
};

static const struct record question_record = { .name = "question",
                                               .size = sizeof(struct question),
                                               .fields = question_fields,
                                               .count = RECORD_COUNT(question_fields) };

/* One family's number, or why there is none. */
struct answer {
    int64_t payload; /* NONE_INT when there is none */
    char arithmetic[CELL_SIZE];
    char reason[CELL_SIZE];
};

static const struct field answer_fields[] = {
    { FIELD_AT(struct answer, payload), .type = FIELD_INT, .flags = FIELD_NULLABLE, .min = 1,
      .max = PAYLOAD_MAX_IPV6, .help = "largest UDP payload, bytes" },
    { FIELD_AT(struct answer, arithmetic), .type = FIELD_TEXT, .flags = FIELD_NULLABLE,
      .size = CELL_SIZE, .help = "how it is computed" },
    { FIELD_AT(struct answer, reason), .type = FIELD_TEXT, .flags = FIELD_NULLABLE,
      .size = CELL_SIZE, .help = "why there is no payload" },
};

static const struct record answer_record = { .name = "answer",
                                             .size = sizeof(struct answer),
                                             .fields = answer_fields,
                                             .count = RECORD_COUNT(answer_fields) };

struct row {
    int64_t mtu; /* NONE_INT: the protocol's maximum */
    struct answer ipv4, ipv6;
};

static const struct field row_fields[] = {
    { FIELD_AT(struct row, mtu), .type = FIELD_INT, .flags = FIELD_NULLABLE, .min = MTU_MIN_IPV4,
      .max = LIMIT_MTU, .help = "MTU that one packet must fit; null: only the protocol's limit" },
    { FIELD_AT(struct row, ipv4), .type = FIELD_RECORD, .record = &answer_record,
      .help = "over IPv4" },
    { FIELD_AT(struct row, ipv6), .type = FIELD_RECORD, .record = &answer_record,
      .help = "over IPv6" },
};

static const struct record row_record = { .name = "row",
                                          .size = sizeof(struct row),
                                          .fields = row_fields,
                                          .count = RECORD_COUNT(row_fields) };

struct budget {
    char schema[32];
    int64_t ip_options, extension_headers;
    struct list payloads; /* of struct row; 0 is the protocol's maximum */
};

static const struct field budget_fields[] = {
    { FIELD_AT(struct budget, schema), .type = FIELD_TEXT, .size = 32, .help = BUDGET_SCHEMA },
    { FIELD_AT(struct budget, ip_options), .type = FIELD_INT, .min = 0, .max = IP_OPTIONS_MAX,
      .help = "IPv4 options in every packet, bytes" },
    { FIELD_AT(struct budget, extension_headers), .type = FIELD_INT, .min = 0,
      .max = EXTENSION_HEADERS_MAX, .help = "IPv6 extension headers in every packet, bytes" },
    { FIELD_AT(struct budget, payloads), .type = FIELD_LIST, .of = FIELD_RECORD,
      .record = &row_record, .size = LIMIT_LIST_ITEMS, .help = "largest payloads" },
};

static const struct record budget_record = { .name = "budget",
                                             .size = sizeof(struct budget),
                                             .fields = budget_fields,
                                             .count = RECORD_COUNT(budget_fields) };

/* --- arithmetic ----------------------------------------------------------------------------- */

/* "1,472 = 1,500 - 20 - 8"; what is 0 is left out. */
static void write_arithmetic(struct answer *answer, int64_t whole, int64_t header, int64_t extra)
{
    const int64_t parts[] = { header, extra, UDP_HEADER_BYTES };
    char text[TEXT_QUANTITY_SIZE], of[TEXT_QUANTITY_SIZE];
    size_t length;

    text_grouped(answer->payload, text);
    text_grouped(whole, of);
    snprintf(answer->arithmetic, CELL_SIZE, "%s = %s", text, of);
    for (size_t i = 0; i < RECORD_COUNT(parts); i++) {
        if (parts[i] == 0)
            continue;
        length = strlen(answer->arithmetic);
        text_grouped(parts[i], text);
        snprintf(answer->arithmetic + length, CELL_SIZE - length, " - %s", text);
    }
}

static void answer_maximum(enum family family, int64_t extra, struct answer *out_answer)
{
    /* IPv6's length field does not count its base header (RFC 8200 section 3). */
    int64_t header = family == FAMILY_IPV4 ? IPV4_HEADER_BYTES : 0;

    if (budget_protocol_maximum(family, extra, &out_answer->payload, NULL) == STATUS_OK)
        write_arithmetic(out_answer, 65535, header, extra);
    else
        text_copy(out_answer->reason, CELL_SIZE, "no payload byte is left");
}

static void answer_mtu(enum family family, int64_t mtu, int64_t extra, struct answer *out_answer)
{
    int64_t header = family == FAMILY_IPV4 ? IPV4_HEADER_BYTES : IPV6_HEADER_BYTES;

    if (family == FAMILY_IPV6 && mtu < MTU_MIN_IPV6)
        text_copy(out_answer->reason, CELL_SIZE, "no IPv6 link may be that small");
    else if (budget_payload(family, mtu, extra, &out_answer->payload, NULL) != STATUS_OK)
        text_copy(out_answer->reason, CELL_SIZE, "no payload byte is left");
    else if (out_answer->payload < mtu - header - extra - UDP_HEADER_BYTES)
        answer_maximum(family, extra, out_answer); /* the protocol ends before the link does */
    else
        write_arithmetic(out_answer, mtu, header, extra);
}

static struct row *add_row(struct budget *budget, int64_t mtu)
{
    struct row *row =
        list_append(&budget->payloads, record_field(&budget_record, "payloads", NULL));

    record_init(&row_record, row);
    row->mtu = mtu;
    return row;
}

static void compute(const struct question *question, struct budget *out_budget)
{
    struct row *row;

    record_init(&budget_record, out_budget);
    text_copy(out_budget->schema, sizeof out_budget->schema, BUDGET_SCHEMA);
    out_budget->ip_options = question->ip_options;
    out_budget->extension_headers = question->extension_headers;
    row = add_row(out_budget, NONE_INT);
    answer_maximum(FAMILY_IPV4, question->ip_options, &row->ipv4);
    answer_maximum(FAMILY_IPV6, question->extension_headers, &row->ipv6);
    for (size_t i = 0; i < RECORD_COUNT(default_mtus); i++) {
        int64_t mtu = question->mtu != NONE_INT ? question->mtu : default_mtus[i];

        row = add_row(out_budget, mtu);
        answer_mtu(FAMILY_IPV4, mtu, question->ip_options, &row->ipv4);
        answer_mtu(FAMILY_IPV6, mtu, question->extension_headers, &row->ipv6);
        if (mtu == question->mtu)
            break;
    }
}

/* --- output --------------------------------------------------------------------------------- */

static const char *cell(const struct answer *answer)
{
    return answer->payload == NONE_INT ? answer->reason : answer->arithmetic;
}

static void print_row(const struct row *row)
{
    char label[TEXT_QUANTITY_SIZE + LABEL_WIDTH] = "protocol maximum", mtu[TEXT_QUANTITY_SIZE];

    if (row->mtu != NONE_INT) {
        text_grouped(row->mtu, mtu);
        snprintf(label, sizeof label, "unfragmented at MTU %s", mtu);
    }
    printf("%-*s  %-*s  %s\n", LABEL_WIDTH, label, CELL_WIDTH, cell(&row->ipv4), cell(&row->ipv6));
}

static void print_budget(const struct budget *budget)
{
    const struct row *rows = budget->payloads.items;
    char extension_headers[TEXT_QUANTITY_SIZE];

    printf("Largest UDP payload, in bytes\n\n%-*s  %-*s  %s\n", LABEL_WIDTH, "", CELL_WIDTH, "IPv4",
           "IPv6");
    for (size_t i = 0; i < budget->payloads.count; i++)
        print_row(&rows[i]);
    text_grouped(budget->extension_headers, extension_headers);
    printf("\nHeaders: IPv4 20 and its options (0 to 40 in steps of 4, here %lld), IPv6 40 and its "
           "extension\nheaders (in steps of 8, here %s), UDP 8. IPv6 jumbograms are not counted.\n",
           (long long)budget->ip_options, extension_headers);
    printf("Arithmetic only: between hosts the real path MTU decides, and IPv6 routers do not "
           "fragment;\nloopback may carry more than its MTU without fragmenting.\n");
}

static enum exit_code print_json(const struct budget *budget)
{
    enum exit_code code = EXIT_MEASURED;
    struct buf text;

    buf_init(&text, OUTPUT_MAX);
    if (record_to_json(&budget_record, budget, &text) == STATUS_OK) {
        printf("%s\n", buf_peek(&text));
    } else {
        fprintf(stderr, "sonde budget: the JSON is larger than %d bytes\n", OUTPUT_MAX);
        code = EXIT_FAILED;
    }
    buf_done(&text);
    return code;
}

/* --- flags ---------------------------------------------------------------------------------- */

static enum options_result parse(struct question *question, bool *json, int argc, char **argv)
{
    const struct option table[] = {
        { .name = "mtu", .argument = "BYTES", .field = "mtu" },
        { .name = "ip-options", .argument = "BYTES", .field = "ip_options" },
        { .name = "extension-headers", .argument = "BYTES", .field = "extension_headers" },
        { .name = "json", .flag = json, .help = "one JSON object instead of the table" },
    };
    struct options options = {
        .command = "sonde budget",
        .usage = "[flags]",
        .about = "How large a UDP payload the protocol allows, and how large one may be so that "
                 "its packet\nfits an MTU unfragmented, over IPv4 and IPv6. Without --mtu: 1,500 "
                 "and 16,384.",
        .table = table,
        .count = RECORD_COUNT(table),
        .record = &question_record,
        .object = question,
        .examples = "  sonde budget\n  sonde budget --mtu 9000 --json\n"
                    "  sonde budget --mtu 1420 --ip-options 4 --extension-headers 8\n",
    };

    return options_parse(&options, argc, argv);
}

static enum status check(const struct question *question)
{
    const char *flag = "--ip-options";
    struct fault fault;
    enum status status = budget_check_extra(FAMILY_IPV4, question->ip_options, &fault);

    if (status == STATUS_OK) {
        flag = "--extension-headers";
        status = budget_check_extra(FAMILY_IPV6, question->extension_headers, &fault);
    }
    if (status != STATUS_OK)
        fprintf(stderr, "sonde budget: %s: %s\n", flag, fault.text);
    return status;
}

enum exit_code command_budget(int argc, char **argv)
{
    enum exit_code code = EXIT_MEASURED;
    struct question question;
    struct budget budget;
    bool json = false;

    record_init(&question_record, &question);
    switch (parse(&question, &json, argc, argv)) {
    case OPTIONS_BAD:
        return EXIT_USAGE;
    case OPTIONS_DONE:
        return EXIT_MEASURED;
    case OPTIONS_GO:
        break;
    }
    if (check(&question) != STATUS_OK)
        return EXIT_USAGE;
    compute(&question, &budget);
    if (json)
        code = print_json(&budget);
    else
        print_budget(&budget);
    record_done(&budget_record, &budget);
    return code;
}
