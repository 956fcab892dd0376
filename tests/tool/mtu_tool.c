/* One end of a path MTU session as a process, for tests in network namespaces.
 *
 *     mtu_tool listen ADDRESS:0 KEY [FLOWS]     prints its port
 *     mtu_tool call ADDRESS:PORT KEY [FLOWS]    prints "agreed"
 *
 * Then a command a line on stdin: "probe NAME=NUMBER..." (members of the plan, and stop_ms) prints
 * a line of JSON with every flow; "answer" prints "ready", answers until there is another line (an
 * empty one does nothing else), and then prints a line of JSON. The listener agrees with callers
 * while it waits for a command. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/probe/path_mtu.h"
#include "proto/base/buf.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, LINE_BYTES = 512, REPORT_BYTES = 8 << 20 };

#define PATIENCE_NS (600 * NS_PER_S)

struct mtu_tool {
    struct path_mtu *end;
    struct path_mtu_order order;
    enum family family;
    bool is_listener;
    int line_fd; /* standard input's double: 0 is no wake_fd */
    struct mono stop_at;
    atomic_bool stop, finish;
};

static void say(const char *line)
{
    puts(line);
    fflush(stdout);
}

/* Not by stdio, whose buffer would hide the next line from poll. False at the end. */
static bool take_line(char *line, size_t size)
{
    size_t length = 0;
    char byte = 0;

    while (read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n')
        if (length + 1 < size)
            line[length++] = byte;
    line[length] = '\0';
    return byte == '\n';
}

/* --- what is printed -------------------------------------------------------------------------- */

static void put_addr(struct buf *out, const char *name, const struct addr *addr)
{
    char text[ADDR_TEXT_SIZE] = "";

    if (addr->length > 0)
        addr_format(addr, text);
    buf_printf(out, "\"%s\": \"%s\", ", name, text);
}

static void put_int(struct buf *out, const char *name, int64_t value)
{
    if (value == NONE_INT)
        buf_printf(out, "\"%s\": null, ", name);
    else
        buf_printf(out, "\"%s\": %" PRId64 ", ", name, value);
}

static void put_bool(struct buf *out, const char *name, bool value)
{
    buf_printf(out, "\"%s\": %s, ", name, value ? "true" : "false");
}

static void put_search(struct buf *out, const struct search_result *search)
{
    static const char *const limits[] = { "ceiling", "local", "path" };

    buf_printf(out, "\"outcome\": \"%s\", \"limit\": \"%s\", ",
               search_outcome_name(search->outcome), limits[search->limit]);
    put_int(out, "path_mtu", search->path_mtu);
    put_int(out, "next_size", search->next_size);
    put_bool(out, "hinted", search->hinted);
    put_int(out, "datagrams", search->datagrams);
    put_int(out, "controls", search->controls);
    put_int(out, "controls_lost", search->controls_lost);
    put_int(out, "retries", search->retries);
    put_int(out, "refused", search->refused);
    put_int(out, "rounds", search->rounds);
    put_int(out, "rtt_ns", search->rtt_ns);
}

static void put_icmp(struct buf *out, const struct path_mtu_flow *flow)
{
    buf_text(out, "\"icmp\": [");
    for (int64_t i = 0; i < flow->icmp_count; i++) {
        const struct path_mtu_icmp *icmp = &flow->icmp[i];

        buf_text(out, i > 0 ? ", {" : "{");
        put_addr(out, "from", &icmp->from);
        put_int(out, "mtu", icmp->mtu);
        put_int(out, "count", icmp->count);
        put_bool(out, "accepted", path_mtu_icmp_accepted(icmp));
        buf_printf(out, "\"quote\": \"%s\", \"judged\": \"%s\"}", mtu_quote_name(icmp->quote),
                   search_ptb_name(icmp->judged));
    }
    buf_text(out, "], ");
    put_int(out, "icmp_missed", flow->icmp_missed);
    put_int(out, "unreachable", flow->unreachable);
}

static void put_rest(struct buf *out, const struct path_mtu_flow *flow)
{
    static const char *const arrives[] = { "untested", "pass", "dropped" };
    const struct path_mtu_fragments *fragments = &flow->fragments;
    const struct path_mtu_trace *trace = &flow->trace;

    buf_printf(out, "\"fragments\": {\"arrive\": \"%s\", ", arrives[fragments->arrive]);
    put_int(out, "size", fragments->size);
    put_int(out, "sent", fragments->sent);
    put_int(out, "arrived", fragments->arrived);
    put_int(out, "small_sent", fragments->small_sent);
    buf_printf(out, "\"small_arrived\": %" PRId64 "}, \"trace\": {", fragments->small_arrived);
    put_bool(out, "traced", trace->traced);
    put_int(out, "passing", trace->passing);
    put_int(out, "failing", trace->failing);
    put_addr(out, "last", &trace->last);
    put_int(out, "last_hops", trace->last_hops);
    put_addr(out, "first", &trace->first);
    put_int(out, "first_hops", trace->first_hops);
    put_bool(out, "first_is_peer", trace->first_is_peer);
    put_int(out, "sent", trace->sent);
    buf_printf(out, "\"answered\": %" PRId64 "}", trace->answered);
}

static void put_sizes(struct buf *out, const struct path_mtu_flow *flow)
{
    const struct mtu_size_effect *effect = &flow->size_effect;
    const struct mtu_size *sizes = flow->loss_by_size.items;

    buf_text(out, ", \"size_effect\": {");
    put_bool(out, "present", effect->present);
    put_bool(out, "found", effect->found);
    put_int(out, "threshold", effect->threshold);
    put_int(out, "least", effect->least);
    put_int(out, "most", effect->most);
    put_int(out, "sent", effect->sent);
    put_int(out, "lost", effect->lost);
    put_int(out, "sent_below", effect->sent_below);
    put_int(out, "lost_below", effect->lost_below);
    put_int(out, "sent_above", effect->sent_above);
    put_int(out, "lost_above", effect->lost_above);
    buf_printf(out, "\"seconds\": %.6f}, \"loss_by_size\": [", effect->seconds);
    for (size_t i = 0; i < flow->loss_by_size.count; i++)
        buf_printf(out, "%s[%" PRId64 ", %" PRId64 ", %" PRId64 "]", i > 0 ? ", " : "",
                   sizes[i].payload, sizes[i].sent, sizes[i].lost);
    buf_text(out, "]");
}

static void put_flow(struct buf *out, const struct path_mtu_flow *flow)
{
    buf_text(out, "{");
    put_bool(out, "opened", flow->opened);
    put_int(out, "source_port", flow->source_port);
    put_addr(out, "local", &flow->local);
    put_addr(out, "peer", &flow->peer);
    put_search(out, &flow->search);
    buf_printf(out, "\"seconds\": %.6f, ", flow->seconds);
    put_int(out, "local_mtu", flow->local_mtu);
    put_int(out, "kernel_before", flow->kernel_before);
    put_int(out, "kernel", flow->kernel);
    put_int(out, "odd_answers", flow->odd_answers);
    put_icmp(out, flow);
    put_rest(out, flow);
    put_sizes(out, flow);
    buf_text(out, "}");
}

static void print_flows(const struct mtu_tool *tool, const struct path_mtu_flow *flows,
                        enum status status, const struct fault *fault)
{
    struct buf out;

    buf_init(&out, REPORT_BYTES);
    buf_printf(&out, "{\"status\": \"%s\", \"fault\": \"%s\", \"flows\": [", status_text(status),
               status == STATUS_OK ? "" : fault->text);
    for (int64_t i = 0; i < tool->order.flows; i++) {
        buf_text(&out, i > 0 ? ", " : "");
        put_flow(&out, &flows[i]);
    }
    buf_text(&out, "]}");
    say(buf_peek(&out));
    buf_done(&out);
}

static void print_event(void *context, size_t flow, const struct search_event *event)
{
    static const char *const kinds[] = { "known", "changed", "unreachable" };

    (void)context;
    printf("{\"event\": \"%s\", \"flow\": %zu, \"from\": %" PRId64 ", \"to\": %" PRId64 "}\n",
           kinds[event->kind], flow, event->from, event->to);
    fflush(stdout);
}

static void print_answered(const struct mtu_tool *tool)
{
    struct path_mtu_answered answered;

    path_mtu_answered(tool->end, &answered);
    printf("{\"fragments_told\": %s, \"answered\": %" PRId64 ", \"in_fragments\": %" PRId64
           ", \"reassembled\": %" PRId64 ", \"cut\": %" PRId64 ", \"foreign\": %" PRId64
           ", \"largest\": %" PRId64 ", \"answers_refused\": %" PRId64 "}\n",
           answered.fragments_told ? "true" : "false", answered.answered, answered.in_fragments,
           answered.reassembled, answered.cut, answered.foreign, answered.largest,
           answered.answers_refused);
    fflush(stdout);
}

/* --- commands --------------------------------------------------------------------------------- */

static void set(struct mtu_tool *tool, struct path_mtu_plan *plan, const char *name, int64_t value)
{
    const struct {
        const char *name;
        int64_t *at;
    } numbers[] = {
        { "floor", &plan->floor },       { "ceiling", &plan->ceiling },   { "guess", &plan->guess },
        { "tries", &plan->tries },       { "budget", &plan->budget },     { "pace", &plan->pace },
        { "check_ns", &plan->check_ns }, { "raise_ns", &plan->raise_ns }, { "sizes", &plan->sizes },
    };

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (strcmp(numbers[i].name, name) == 0)
            *numbers[i].at = value;
    if (strcmp(name, "fragments") == 0)
        plan->fragments = value != 0;
    else if (strcmp(name, "trace") == 0)
        plan->trace = value != 0;
    else if (strcmp(name, "watch_s") == 0)
        plan->watch_s = (double)value;
    else if (strcmp(name, "stop_ms") == 0)
        tool->stop_at = mono_after(mono_now(), value * NS_PER_MS);
}

static void stop_in_time(void *context)
{
    struct mtu_tool *tool = context;

    if (tool->stop_at.ns > 0 && mono_between(tool->stop_at, mono_now()) >= 0)
        atomic_store(&tool->stop, true);
}

/* NAME=NUMBER, up to a blank; returns what is behind. */
static char *take_word(struct mtu_tool *tool, struct path_mtu_plan *plan, char *word)
{
    size_t length = strcspn(word, " ");
    char *next = word + length + (word[length] != '\0');
    char *value = strchr(word, '=');
    int64_t number = 0;

    word[length] = '\0';
    if (value == NULL || value > word + length)
        return next;
    *value++ = '\0';
    if (text_to_i64(value, &number) == STATUS_OK)
        set(tool, plan, word, number);
    return next;
}

static void probe(struct mtu_tool *tool, char *words)
{
    const struct phase_watch watch = { .context = tool, .tick = stop_in_time, .stop = &tool->stop };
    struct path_mtu_plan plan = path_mtu_plan_of(tool->family);
    struct path_mtu_flow *flows = memory_new((size_t)tool->order.flows, sizeof *flows);
    struct fault fault = { "" };
    enum status status;

    plan.changed = print_event;
    tool->stop_at.ns = 0;
    atomic_store(&tool->stop, false);
    while (*words != '\0')
        words = take_word(tool, &plan, words);
    status = path_mtu_probe(tool->end, &plan, &watch, flows, &fault);
    print_flows(tool, flows, status, &fault);
    path_mtu_flows_done(flows, (size_t)tool->order.flows);
    free(flows);
}

static void say_ready(void *context)
{
    (void)context;
    say("ready");
}

static void finish_at_line(void *context)
{
    struct pollfd line = { .fd = STDIN_FILENO, .events = POLLIN };

    if (poll(&line, 1, 0) > 0)
        atomic_store(&((struct mtu_tool *)context)->finish, true);
}

static enum status answer(struct mtu_tool *tool, struct fault *fault)
{
    const struct phase_watch watch = { .context = tool,
                                       .tick = finish_at_line,
                                       .ready = say_ready,
                                       .finish = &tool->finish,
                                       .wake_fd = tool->line_fd };
    enum status status;

    atomic_store(&tool->finish, false);
    status = path_mtu_answer(tool->end, &watch, fault);
    if (status == STATUS_OK)
        print_answered(tool);
    return status;
}

static enum status obey(struct mtu_tool *tool, struct fault *fault)
{
    char line[LINE_BYTES] = "";
    enum status status = STATUS_OK;

    while (status == STATUS_OK) {
        if (tool->is_listener)
            status = path_mtu_wait(tool->end, tool->line_fd, PATIENCE_NS, fault);
        if (status != STATUS_OK || !take_line(line, sizeof line))
            break;
        if (strncmp(line, "probe", 5) == 0)
            probe(tool, line + 5);
        else if (strcmp(line, "answer") == 0)
            status = answer(tool, fault);
        else if (line[0] != '\0')
            status = fault_set(fault, STATUS_INVALID, "no command: %s", line);
    }
    return status;
}

static enum status begin(struct mtu_tool *tool, const struct addr *addr, struct fault *fault)
{
    const struct phase_watch watch = { .stop = NULL };
    const struct echo_end_place place = { .bind_to = *addr };
    enum status status;

    tool->family = addr_family(addr);
    if (tool->is_listener) {
        status = path_mtu_listen(&tool->order, &place, &tool->end, fault);
        if (status == STATUS_OK) {
            printf("%u\n", path_mtu_port(tool->end));
            fflush(stdout);
        }
        return status;
    }
    status = path_mtu_call(&tool->order, addr, &tool->end, fault);
    if (status == STATUS_OK)
        status = path_mtu_agree(tool->end, &watch, fault);
    if (status == STATUS_OK)
        say("agreed");
    return status;
}

int main(int count, char **words)
{
    struct mtu_tool tool = { .order = { .ssid = 100, .flows = 1 } };
    struct fault fault = { "" };
    struct addr addr;
    enum status status;

    if (count < 4 || addr_parse(words[2], &addr, &fault) != STATUS_OK ||
        (count > 4 && text_to_i64(words[4], &tool.order.flows) != STATUS_OK)) {
        fprintf(stderr, "usage: mtu_tool listen|call ADDRESS:PORT KEY [FLOWS]\n%s\n", fault.text);
        return EXIT_USAGE;
    }
    tool.is_listener = strcmp(words[1], "listen") == 0;
    digest_sha256(words[3], strlen(words[3]), tool.order.key);
    tool.line_fd = dup(STDIN_FILENO);
    status = begin(&tool, &addr, &fault);
    if (status == STATUS_OK)
        status = obey(&tool, &fault);
    path_mtu_free(tool.end);
    if (status != STATUS_OK)
        fprintf(stderr, "mtu_tool: %s: %s\n", status_text(status), fault.text);
    return status == STATUS_OK ? 0 : EXIT_FAILED;
}
