/* Owns the words of a path MTU run that goes on. Why a path MTU is what it is comes in words
 * already (proto/wire/mtu_verdict.h); nothing is judged here. */
#include "controller/command/mtu_words.h"

#include <inttypes.h>
#include <stdio.h>

#include "proto/base/text.h"
#include "proto/base/utf8.h"

enum { SIZE_TEXT = 24 };

static void size_text(int64_t size, char out_text[SIZE_TEXT])
{
    if (size == NONE_INT)
        snprintf(out_text, SIZE_TEXT, "none");
    else
        snprintf(out_text, SIZE_TEXT, "%" PRId64, size);
}

bool mtu_words_has_moved(const struct mtu_row *row)
{
    return row->previous != NONE_INT && row->status != CASE_ERROR && row->previous != row->path_mtu;
}

const char *mtu_words_family(enum family family)
{
    return family == FAMILY_IPV4 ? "IPv4" : "IPv6";
}

void mtu_words_part(int family, enum mtu_direction direction, char out_text[MTU_PART_SIZE])
{
    if (family == FAMILY_COUNT)
        snprintf(out_text, MTU_PART_SIZE, "%s", mtu_direction_names[direction]);
    else
        snprintf(out_text, MTU_PART_SIZE, "%s %s", mtu_words_family((enum family)family),
                 mtu_direction_names[direction]);
}

/* What is known of the answer. */
static int put_range(const struct message_run_progress *progress, char *out_text, size_t size)
{
    bool low = progress->low != NONE_INT, high = progress->high != NONE_INT;

    if (low && high)
        return snprintf(out_text, size, "between %" PRId64 " and %" PRId64 ", ", progress->low,
                        progress->high);
    if (low)
        return snprintf(out_text, size, "%" PRId64 " or more, ", progress->low);
    if (high)
        return snprintf(out_text, size, "less than %" PRId64 ", ", progress->high);
    return 0;
}

void mtu_words_progress(const struct message_run_progress *progress, const struct mtu_common *asked,
                        char out_text[MTU_NOTE_SIZE])
{
    bool all_done = progress->flows_done != NONE_INT && progress->flows_done >= asked->flows;
    char state[sizeof progress->state], flows[64] = "", range[80] = "";

    text_copy(state, sizeof state, progress->state);
    utf8_mask(state);
    for (char *at = state; *at != '\0'; at++) {
        if (*at == '_')
            *at = ' ';
    }
    if (progress->sent == 0) {
        snprintf(out_text, MTU_NOTE_SIZE, "%s", state);
        return;
    }
    if (asked->watch_s > 0 && all_done) {
        snprintf(out_text, MTU_NOTE_SIZE, "watching for %.1f s, %" PRId64 " datagrams",
                 progress->elapsed_s, progress->sent);
        return;
    }
    if (asked->sizes > 0 && all_done) {
        snprintf(out_text, MTU_NOTE_SIZE, "loss by size, %" PRId64 " datagrams", progress->sent);
        return;
    }
    put_range(progress, range, sizeof range);
    if (asked->flows > 1 && progress->flows_done != NONE_INT)
        snprintf(flows, sizeof flows, "%" PRId64 " of %" PRId64 " flows done, ",
                 progress->flows_done, asked->flows);
    snprintf(out_text, MTU_NOTE_SIZE, "%s%s%" PRId64 " datagrams", range, flows, progress->sent);
}

void mtu_words_moved(const struct message_run_moved *moved, int64_t flows,
                     char out_text[MTU_LINE_SIZE])
{
    const struct mtu_event *event = &moved->event;
    char part[MTU_PART_SIZE], from[SIZE_TEXT], to[SIZE_TEXT], flow[SIZE_TEXT + 8] = "";
    char was[SIZE_TEXT + 8] = "";

    mtu_words_part((int)moved->family, moved->direction, part);
    size_text(event->from, from);
    size_text(event->to, to);
    if (flows > 1)
        snprintf(flow, sizeof flow, ", flow %" PRId64, event->flow);
    if (event->from != NONE_INT)
        snprintf(was, sizeof was, ", was %s", from);
    snprintf(out_text, MTU_LINE_SIZE, "%.1f s: %s%s: %s%s", event->after_s, part, flow,
             event->change == MTU_CHANGE_UNREACHABLE ? "unreachable" : to, was);
}

void mtu_words_done(const struct mtu_row *row, char out_text[MTU_LINE_SIZE])
{
    char part[MTU_PART_SIZE], payload[SIZE_TEXT + 16] = "";
    char was[SIZE_TEXT + 8] = "", from[SIZE_TEXT];

    mtu_words_part((int)row->family, row->direction, part);
    if (mtu_words_has_moved(row)) {
        size_text(row->previous, from);
        snprintf(was, sizeof was, "; was %s", from);
    }
    if (row->udp_payload != NONE_INT)
        snprintf(payload, sizeof payload, " (UDP payload %" PRId64 ")", row->udp_payload);
    if (row->error[0] != '\0' && row->path_mtu != NONE_INT)
        snprintf(out_text, MTU_LINE_SIZE, "%s: %s so far, error: %s", part, row->groups,
                 row->error);
    else if (row->error[0] != '\0')
        snprintf(out_text, MTU_LINE_SIZE, "%s: error: %s", part, row->error);
    else
        snprintf(out_text, MTU_LINE_SIZE, "%s: %s%s, %s%s%s%s", part, row->groups, payload,
                 mtu_verdict_names[row->verdict], row->words[0] != '\0' ? ": " : "", row->words,
                 was);
    utf8_mask(out_text);
}
