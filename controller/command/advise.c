/* Owns `sonde advise`: a question about a burst in, the answer of agent/probe out, and its proof.
 * How it looks is advise_text.c's and advise_json.c's. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/host/machine.h"
#include "controller/command/advise_view.h"
#include "controller/command/command.h"
#include "controller/command/options.h"
#include "proto/base/text.h"
#include "proto/wire/limits.h"

static const char about[] =
    "How big must a receive buffer be? Measures here what one datagram takes of it, says which\n"
    "buffer holds the burst, whether a plain socket has it, what this system grants and how to "
    "get\n"
    "more, and proves it: the advised buffer is filled on loopback, and the next smaller one.";

static const char examples[] =
    "  sonde advise --payload 1472 --burst 1024\n"
    "  sonde advise --payload 1200 --burst 64 --rate 20000 --pause 50\n"
    "  sonde advise --payload 1000 --burst 1 --rate 10000 --read-ns 300000\n"
    "  sonde advise --payload 8192 --burst 500 --family ipv6 --json\n";

struct request {
    int64_t payload, burst; /* NONE_INT: not given */
    double rate, pause_ms;
    int64_t read_ns;
    enum family family;
    bool json, no_proof;
};

static const struct field request_fields[] = {
    { FIELD_AT(struct request, payload), .type = FIELD_INT, .flags = FIELD_NULLABLE, .min = 1,
      .max = PAYLOAD_MAX_IPV6, .help = "UDP payload of each datagram, bytes" },
    { FIELD_AT(struct request, burst), .type = FIELD_INT, .flags = FIELD_NULLABLE, .min = 1,
      .max = ADVICE_BURST_MAX, .help = "datagrams that come back to back" },
    { FIELD_AT(struct request, rate), .type = FIELD_REAL, .real_max = ADVICE_RATE_MAX,
      .help = "datagrams per second that come besides, all the time" },
    { FIELD_NAMED_AT(struct request, pause_ms, "pause"), .type = FIELD_REAL,
      .real_max = (double)ADVICE_PAUSE_MAX / 1e6,
      .help = "with --rate: the longest time that nothing is read, milliseconds" },
    { FIELD_AT(struct request, read_ns), .type = FIELD_INT, .min = 0, .max = LIMIT_WORK_NS,
      .help = "what the reader needs for each datagram, nanoseconds; 0: not known" },
    { FIELD_AT(struct request, family), .type = FIELD_ENUM, .names = family_names,
      .name_count = FAMILY_COUNT, .help = "IP version" },
};
static const struct record request_record = { .name = "advise",
                                              .size = sizeof(struct request),
                                              .fields = request_fields,
                                              .count = RECORD_COUNT(request_fields) };

static enum options_result parse(struct request *request, int argc, char **argv)
{
    const struct option table[] = {
        { .name = "payload", .argument = "BYTES", .field = "payload" },
        { .name = "burst", .argument = "N", .field = "burst" },
        { .name = "rate", .argument = "N", .field = "rate" },
        { .name = "pause", .argument = "MS", .field = "pause" },
        { .name = "read-ns", .argument = "NS", .field = "read_ns" },
        { .name = "family", .argument = "NAME", .field = "family" },
        { .name = "no-proof", .flag = &request->no_proof, .help = "do not try the advised buffer" },
        { .name = "json", .flag = &request->json, .help = "one JSON object instead of text" },
    };
    struct options options = { .command = "sonde advise",
                               .usage = "--payload BYTES --burst N [flags]",
                               .about = about,
                               .table = table,
                               .count = RECORD_COUNT(table),
                               .record = &request_record,
                               .object = request,
                               .examples = examples };

    return options_parse(&options, argc, argv);
}

static enum exit_code usage(const char *what)
{
    fprintf(stderr, "sonde advise: %s\n", what);
    return EXIT_USAGE;
}

/* What the parser's ranges cannot say. */
static enum exit_code check(const struct request *request)
{
    if (request->payload == NONE_INT)
        return usage("--payload is needed: an integer from 1 to 65527");
    if (request->burst == NONE_INT)
        return usage("--burst is needed: an integer from 1 to 1000000000");
    if (request->family == FAMILY_IPV4 && request->payload > PAYLOAD_MAX_IPV4)
        return usage("--payload: above 65507 is not allowed over ipv4");
    if (request->pause_ms > 0 && request->rate <= 0)
        return usage("--pause is allowed only with --rate");
    return EXIT_MEASURED;
}

static enum status prove(const struct request *request, struct advise_view *view)
{
    const struct advice_claim claim = { .family = view->family,
                                        .payload = request->payload,
                                        .host = &view->host,
                                        .advice = &view->advice };
    struct fault fault;
    enum status status;

    if (request->no_proof) {
        text_copy(view->no_proof, sizeof view->no_proof, "it was not asked for");
        return STATUS_OK;
    }
    status = adviser_prove(&claim, &view->proof, &fault);
    if (status != STATUS_OK)
        text_copy(view->no_proof, sizeof view->no_proof, fault.text);
    return status;
}

static bool print(const struct request *request, const struct advise_view *view)
{
    struct buf text;
    bool written;

    buf_init(&text, LIMIT_JSON_BYTES);
    if (request->json)
        advise_view_json(view, &text);
    else
        advise_view_text(view, &text);
    written = buf_status(&text) == STATUS_OK &&
              fwrite(buf_peek(&text), 1, text.length, stdout) == text.length;
    buf_done(&text);
    return written;
}

/* A proof that could not be made is no contradiction, but it was asked for; one that is too large
 * is not made on purpose. */
static enum exit_code outcome(const struct advise_view *view, enum status proved)
{
    if (view->proof.present && !view->proof.agrees) {
        fprintf(stderr, "sonde advise: what was measured contradicts the advice\n");
        return EXIT_FAILED;
    }
    if (proved == STATUS_OK || proved == STATUS_TOO_LARGE)
        return EXIT_MEASURED;
    fprintf(stderr, "sonde advise: the advice could not be tried: %s\n", view->no_proof);
    return EXIT_FAILED;
}

static enum exit_code answer(const struct request *request)
{
    struct advise_view view = {
        .family = request->family,
        .question = { .payload = request->payload,
                      .burst = request->burst,
                      .rate = request->rate,
                      .pause_ns = (int64_t)llround(request->pause_ms * 1e6),
                      .read_ns = request->read_ns },
    };
    struct fault fault;
    enum exit_code code;
    enum status proved;

    if (adviser_look(view.family, request->payload, &view.host, &view.most, &fault) != STATUS_OK) {
        fprintf(stderr, "sonde advise: %s\n", fault.text);
        return EXIT_FAILED;
    }
    record_init(&host_record, &view.machine);
    machine_describe(&view.machine);
    advice_give(&view.question, &view.host, &view.advice);
    proved = prove(request, &view);
    code = print(request, &view) ? outcome(&view, proved) : EXIT_FAILED;
    record_done(&host_record, &view.machine);
    return code;
}

enum exit_code command_advise(int argc, char **argv)
{
    struct request request = { .payload = NONE_INT, .burst = NONE_INT };
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
