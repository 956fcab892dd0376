/* Owns `sonde charge`: every way measured over a range of payloads. How it looks is charge_text.c's
 * and charge_json.c's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/host/machine.h"
#include "controller/command/charge_view.h"
#include "controller/command/command.h"
#include "controller/command/options.h"
#include "proto/base/text.h"
#include "proto/wire/limits.h"

static const char about[] =
    "What the kernel charges a receive buffer for each datagram, by its size: finds every payload\n"
    "at which the charge jumps, for a plain receiver, a connected one, one on another CPU and one\n"
    "with UDP_GRO, and says which of them differ. Sends a few hundred datagrams over loopback, to\n"
    "sockets of its own.";

static const char examples[] = "  sonde charge\n"
                               "  sonde charge --family ipv6\n"
                               "  sonde charge --from 1000 --to 1500 --json\n";

struct request {
    int64_t from, to; /* to: NONE_INT is the family's largest payload */
    enum family family;
    bool json;
};

static const struct field request_fields[] = {
    { FIELD_AT(struct request, from), .type = FIELD_INT, .min = 0, .max = PAYLOAD_MAX_IPV6,
      .help = "the smallest payload, bytes" },
    { FIELD_AT(struct request, to), .type = FIELD_INT, .flags = FIELD_NULLABLE, .min = 0,
      .max = PAYLOAD_MAX_IPV6, .help = "the largest payload, bytes; without it the family's" },
    { FIELD_AT(struct request, family), .type = FIELD_ENUM, .names = family_names,
      .name_count = FAMILY_COUNT, .help = "IP version" },
};
static const struct record request_record = { .name = "charge",
                                              .size = sizeof(struct request),
                                              .fields = request_fields,
                                              .count = RECORD_COUNT(request_fields) };

static enum options_result parse(struct request *request, int argc, char **argv)
{
    const struct option table[] = {
        { .name = "family", .argument = "NAME", .field = "family" },
        { .name = "from", .argument = "BYTES", .field = "from" },
        { .name = "to", .argument = "BYTES", .field = "to" },
        { .name = "json", .flag = &request->json, .help = "one JSON object instead of tables" },
    };
    struct options options = { .command = "sonde charge",
                               .usage = "[flags]",
                               .about = about,
                               .table = table,
                               .count = RECORD_COUNT(table),
                               .record = &request_record,
                               .object = request,
                               .examples = examples };

    return options_parse(&options, argc, argv);
}

/* What the parser's ranges cannot say; fills in what was left out. */
static enum exit_code check(struct request *request)
{
    int64_t least, most;

    charge_limits(request->family, CHARGE_PLAIN, &least, &most);
    if (request->from > most || (request->to != NONE_INT && request->to > most)) {
        fprintf(stderr, "sonde charge: --%s: above %lld is not allowed over %s\n",
                request->from > most ? "from" : "to", (long long)most,
                family_name(request->family));
        return EXIT_USAGE;
    }
    if (request->to == NONE_INT)
        request->to = most;
    if (request->from <= request->to)
        return EXIT_MEASURED;
    fprintf(stderr, "sonde charge: --to: %lld is not allowed: it is below --from, %lld\n",
            (long long)request->to, (long long)request->from);
    return EXIT_USAGE;
}

static void measure_way(struct charge_view *view, enum charge_way way)
{
    struct charge_view_way *at = &view->ways[way];
    struct charge_question question = { .family = view->family, .way = way };
    struct fault fault;

    charge_limits(view->family, way, &question.low, &question.high);
    if (view->from > question.low)
        question.low = view->from;
    if (view->to < question.high)
        question.high = view->to;
    if (question.low > question.high)
        text_copy(at->reason, sizeof at->reason, "it carries no payload of this range");
    else if (charge_steps(&question, &at->steps, &fault) != STATUS_OK)
        text_copy(at->reason, sizeof at->reason, fault.text);
}

/* The plain way must be there, the others may be absent from a system. */
static enum status measure(struct charge_view *view, struct fault *fault)
{
    const struct charge_question least = { .family = view->family };
    const struct charge_question plain = { .family = view->family,
                                           .low = view->from,
                                           .high = view->to };
    struct list smallest = { 0 };
    enum status status = charge_steps(&least, &smallest, fault);

    if (status != STATUS_OK)
        return status;
    view->smallest = charge_at(&smallest, 0);
    free(smallest.items);
    status = charge_steps(&plain, &view->ways[CHARGE_PLAIN].steps, fault);
    for (int way = CHARGE_PLAIN + 1; way < CHARGE_WAY_COUNT && status == STATUS_OK; way++)
        measure_way(view, (enum charge_way)way);
    return status;
}

static enum exit_code print(const struct request *request, const struct charge_view *view)
{
    enum exit_code code = EXIT_MEASURED;
    struct buf text;

    buf_init(&text, LIMIT_JSON_BYTES);
    if (request->json)
        charge_view_json(view, &text);
    else
        charge_view_text(view, &text);
    if (buf_status(&text) != STATUS_OK ||
        fwrite(buf_peek(&text), 1, text.length, stdout) != text.length)
        code = EXIT_FAILED;
    buf_done(&text);
    return code;
}

static enum exit_code answer(const struct request *request)
{
    struct charge_view view = { .family = request->family,
                                .from = request->from,
                                .to = request->to };
    struct fault fault;
    enum exit_code code = EXIT_FAILED;
    enum status status;

    record_init(&host_record, &view.machine);
    machine_describe(&view.machine);
    status = measure(&view, &fault);
    if (status == STATUS_OK)
        code = print(request, &view);
    else
        fprintf(stderr, "sonde charge: %s%s\n", fault.text,
                status == STATUS_UNSUPPORTED ? "; 'sonde buffers hold' counts what it holds" : "");
    for (int way = 0; way < CHARGE_WAY_COUNT; way++)
        free(view.ways[way].steps.items);
    record_done(&host_record, &view.machine);
    return code;
}

enum exit_code command_charge(int argc, char **argv)
{
    struct request request = { .to = NONE_INT };
    enum exit_code code;

    switch (parse(&request, argc, argv)) {
    case OPTIONS_BAD:
        return EXIT_USAGE;
    case OPTIONS_DONE:
        return EXIT_MEASURED;
    case OPTIONS_GO:
        break;
    }
    code = check(&request);
    return code == EXIT_MEASURED ? answer(&request) : code;
}
