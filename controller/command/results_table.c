/* Owns how stored results look in a terminal. Knows no query. */
#include "controller/command/results_table.h"

#include <stdio.h>
#include <string.h>

#include "controller/command/mtu_words.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"

enum { CELL = 64, WHY_WIDTH = 72 };

static const char older[] = "... and older ones; ask for more with --limit\n";

/* --- between an echo role and its sender -------------------------------------------------------
 */

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

static void print_case(const struct case_row *row)
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

void results_table_cases(const struct list *cases, bool more)
{
    printf("%-13s  %-20s  %-24s  %-14s  %-5s  %9s  %8s  %8s  %9s  %s\n", "RUN", "STARTED",
           "FROM > TO", "PAYLOAD x WIN", "", "SENT", "FWD LOST", "REV LOST", "RTT P50", "LOST TO");
    for (size_t i = 0; i < cases->count; i++)
        print_case((const struct case_row *)cases->items + i);
    if (more)
        printf("%s", older);
}

/* --- path MTUs -------------------------------------------------------------------------------- */

/* "1400", or "1400..1500" where flows differ. */
static void size_cell(const struct mtu_row *row, char out_text[CELL])
{
    if (row->path_mtu == NONE_INT)
        snprintf(out_text, CELL, "none");
    else if (row->largest != NONE_INT && row->largest != row->path_mtu)
        snprintf(out_text, CELL, "%lld..%lld", (long long)row->path_mtu, (long long)row->largest);
    else
        snprintf(out_text, CELL, "%lld", (long long)row->path_mtu);
}

/* The reason as it fits a line; what has changed comes first, as nothing may be cut off it. */
static void why_cell(const struct mtu_row *row, char out_text[REASON_SIZE + CELL])
{
    const char *words = row->error[0] != '\0' ? row->error : row->words;
    size_t length = strlen(words), was = 0;

    out_text[0] = '\0';
    if (mtu_words_has_moved(row))
        was = (size_t)snprintf(out_text, CELL, "was %lld%s", (long long)row->previous,
                               length > 0 ? "; " : "");
    if (was + length <= WHY_WIDTH)
        snprintf(out_text + was, REASON_SIZE, "%s", words);
    else
        snprintf(out_text + was, REASON_SIZE, "%.*s...", (int)(WHY_WIDTH - was - 3), words);
    utf8_mask(out_text);
}

static void print_mtu(const struct mtu_row *row)
{
    char pair[2 * NAME_SIZE + 8], size[CELL], payload[CELL] = "-";
    char why[REASON_SIZE + CELL];

    snprintf(pair, sizeof pair, "%s > %s", row->from, row->to);
    size_cell(row, size);
    if (row->udp_payload != NONE_INT)
        snprintf(payload, sizeof payload, "%lld", (long long)row->udp_payload);
    why_cell(row, why);
    printf("%-13.13s  %-20.20s  %-24s  %-4s  %-7s  %11s  %7s  %-11s  %s\n", row->run, row->started,
           pair, mtu_words_family(row->family), mtu_direction_names[row->direction], size, payload,
           row->error[0] != '\0' ? case_status_names[CASE_ERROR] : mtu_verdict_names[row->verdict],
           why);
}

void results_table_mtu(const struct list *rows, bool more)
{
    printf("%-13s  %-20s  %-24s  %-4s  %-7s  %11s  %7s  %-11s  %s\n", "RUN", "STARTED", "FROM > TO",
           "IP", "WAY", "PATH MTU", "PAYLOAD", "VERDICT", "WHY");
    for (size_t i = 0; i < rows->count; i++)
        print_mtu((const struct mtu_row *)rows->items + i);
    if (more)
        printf("%s", older);
}
