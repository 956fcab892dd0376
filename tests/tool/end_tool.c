/* One end of a case as a process, for tests in network namespaces.
 *
 *     end_tool echo ADDRESS:0 KEY       prints its port, greets until a line comes on stdin, prints
 *                                       "ready", echoes until the next line
 *     end_tool sender ADDRESS:PORT KEY  prints "agreed", waits for a line, sends
 *
 * KEY is any text. Both then print LOCAL PEER INTERFACE on a line, and their half as JSON on the
 * next. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/probe/end.h"
#include "proto/wire/record_json.h"

enum { PAYLOAD = 1200, EXIT_FAILED = 1, EXIT_USAGE = 2, ARGUMENTS = 4 };

#define PATIENCE_NS (60 * NS_PER_S)

static void say(const char *line)
{
    puts(line);
    fflush(stdout);
}

/* Not by stdio, whose buffer would hide the next line from poll. */
static void take_line(void)
{
    char byte = 0;

    while (read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n')
        ;
}

static struct end_order order_of(const char *key, const struct addr *addr)
{
    struct end_order order = {
        .ssid = 100,
        .params = { .payload = PAYLOAD,
                    .window = 4,
                    .repeat = 1,
                    .engine = engine_best(),
                    .common = { .family = addr_family(addr),
                                .clients = 2,
                                .io_threads = 1,
                                .seconds = 0.2,
                                .rcvbuf = 1 << 20,
                                .sndbuf = 1 << 20 } },
    };

    digest_sha256(key, strlen(key), order.key);
    return order;
}

static enum status print(const struct report *report)
{
    struct buf text;
    enum status status;

    buf_init(&text, LIMIT_RESULT_BYTES);
    buf_printf(&text, "%s %s %s\n", report->local, report->peer, report->host.interface.name);
    status = record_to_json(&half_phase_record, &report->phases.measure, &text);
    if (status == STATUS_OK)
        say(buf_peek(&text));
    buf_done(&text);
    return status;
}

static void ready(void *context)
{
    (void)context;
    say("ready");
}

static void finish_at_line(void *context)
{
    struct pollfd line = { .fd = STDIN_FILENO, .events = POLLIN };

    if (poll(&line, 1, 0) > 0)
        atomic_store((atomic_bool *)context, true);
}

static enum status run_echo(const struct addr *addr, const char *key, struct report *report,
                            struct fault *fault)
{
    atomic_bool finish = false;
    const struct phase_watch watch = {
        .context = &finish, .tick = finish_at_line, .ready = ready, .finish = &finish
    };
    const struct end_order order = order_of(key, addr);
    const struct echo_end_place place = { .bind_to = *addr };
    struct echo_end *end;
    enum status status = echo_end_new(&order, &place, &end, fault);

    if (status != STATUS_OK)
        return status;
    printf("%u\n", echo_end_port(end));
    fflush(stdout);
    echo_end_wait(end, STDIN_FILENO, PATIENCE_NS);
    take_line();
    status = echo_end_phase(end, PHASE_MEASURE, &watch, &report->phases.measure, fault);
    if (status == STATUS_OK)
        status = echo_end_report(end, report, fault);
    echo_end_free(end);
    return status;
}

static enum status run_sender(const struct addr *addr, const char *key, struct report *report,
                              struct fault *fault)
{
    const struct phase_watch watch = { .stop = NULL };
    const struct end_order order = order_of(key, addr);
    struct sender_end *end;
    enum status status = sender_end_new(&order, addr, &end, fault);

    if (status != STATUS_OK)
        return status;
    status = sender_end_agree(end, &watch, fault);
    if (status == STATUS_OK) {
        say("agreed");
        take_line();
        status = sender_end_phase(end, PHASE_MEASURE, &watch, &report->phases.measure, fault);
    }
    if (status == STATUS_OK)
        status = sender_end_report(end, report, fault);
    sender_end_free(end);
    return status;
}

int main(int count, char **words)
{
    struct fault fault = { "" };
    struct report report;
    struct addr addr;
    enum status status;

    if (count != ARGUMENTS || addr_parse(words[2], &addr, &fault) != STATUS_OK) {
        fprintf(stderr, "usage: end_tool echo|sender ADDRESS:PORT KEY\n%s\n", fault.text);
        return EXIT_USAGE;
    }
    record_init(&report_record, &report);
    if (strcmp(words[1], "echo") == 0)
        status = run_echo(&addr, words[3], &report, &fault);
    else
        status = run_sender(&addr, words[3], &report, &fault);
    if (status == STATUS_OK)
        status = print(&report);
    record_done(&report_record, &report);
    if (status != STATUS_OK)
        fprintf(stderr, "end_tool: %s: %s\n", status_text(status), fault.text);
    return status == STATUS_OK ? 0 : EXIT_FAILED;
}
