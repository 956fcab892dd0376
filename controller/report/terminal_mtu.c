/* Owns the page of a path MTU run: its head, the table of answers, what is worth telling of them,
 * and what an application may send. The tables below are terminal_mtu_tables.c's, the words about
 * answers proto/wire/mtu_verdict's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/report/terminal_parts.h"
#include "controller/report/ways.h"
#include "proto/wire/mtu_verdict.h"

enum {
    WORDS_MAX = 1 << 16, /* of a group: the ports of 256 flows */
    VERDICT_COLUMNS = 12,
    WHY_COLUMN = 44 + VERDICT_COLUMNS,
    NOTES_MAX = 24,
    NOTE_INDENT = 4
};

static void put_title(struct page *page)
{
    const struct host *hosts = page->run->hosts.items;

    page_ink(page, INK_HEAD, 0, "Path MTU from ");
    page_system(page, &hosts[0]);
    buf_text(page->out, "\n");
    page_ink(page, INK_HEAD, 0, "           to ");
    page_system(page, &hosts[1]);
    buf_printf(page->out, "\n%s%s\n", page->run->started,
               page->run->interrupted ? " (interrupted)" : "");
}

static void put_plan(struct page *page)
{
    const struct mtu_common *common = &page->run->mtu_plan.common;
    size_t families = mtu_plan_sessions(&page->run->mtu_plan);
    struct buf text;

    buf_init(&text, 1024);
    for (size_t i = 0; i < families; i++)
        buf_printf(&text, "%s%s", i > 0 ? " and " : "",
                   family_word(mtu_plan_session(&page->run->mtu_plan, i).family));
    buf_printf(&text, "%s%s, %s flow%s; IP packets ", families > 0 ? ", " : "",
               common->direction == MTU_WAYS_BOTH ? "both directions"
                                                  : mtu_ways_names[common->direction],
               grouped(common->flows).text, plural(common->flows));
    if (common->floor > 0)
        buf_printf(&text, "from %s ", grouped(common->floor).text);
    if (common->ceiling > 0)
        buf_printf(&text, "up to %s", grouped(common->ceiling).text);
    else
        buf_text(&text, "up to the interface's MTU");
    if (common->sizes > 0)
        buf_printf(&text, "; loss by size with %s datagrams", grouped(common->sizes).text);
    if (common->watch_s > 0)
        buf_printf(&text, "; watched for %s s", seconds_text(common->watch_s).text);
    page_paragraph(page, buf_peek(&text));
    buf_done(&text);
}

/* --- the answers ----------------------------------------------------------------------------- */

static enum ink ink_of(enum mtu_verdict verdict)
{
    return verdict == MTU_CLEAN || verdict == MTU_SIGNALLED ? INK_GOOD : INK_BAD;
}

/* What was proven before a search was cut off is the least of it. */
static struct quantity at_least(const struct mtu_case *of, int64_t size)
{
    struct quantity quantity = grouped_or_dash(size);

    if (of->verdict == MTU_NO_VERDICT && size != NONE_INT)
        snprintf(quantity.text, sizeof quantity.text, ">= %.30s", grouped(size).text);
    return quantity;
}

static void put_row(struct page *page, const struct way *way, const struct mtu_group *group)
{
    const struct mtu_case *first = group->first;
    struct buf words;

    buf_printf(page->out, "  %-7s %-9s %9s %12s  ", family_word(way->family),
               mtu_direction_names[way->direction], at_least(first, first->flow.path_mtu).text,
               at_least(first, first->udp_payload).text);
    page_ink(page, ink_of(first->verdict), 0, mtu_verdict_names[first->verdict]);
    buf_printf(page->out, "%*s", VERDICT_COLUMNS - (int)strlen(mtu_verdict_names[first->verdict]),
               "");
    buf_init(&words, WORDS_MAX);
    mtu_evidence_words(first, &words);
    page_words(page, WHY_COLUMN, buf_peek(&words));
    buf_done(&words);
}

/* "ports 40001-40012: 1500" under the row of a group. */
static void put_ports(struct page *page, const struct way *way, const struct mtu_group *group)
{
    struct buf words;

    buf_init(&words, WORDS_MAX);
    buf_printf(page->out, "%*s", NOTE_INDENT, "");
    mtu_group_words(way->flows, way->count, group, false, &words);
    page_words(page, NOTE_INDENT, buf_peek(&words));
    buf_done(&words);
}

static void put_way(struct page *page, const struct way *way)
{
    struct mtu_group *groups;
    size_t count = mtu_groups(way->flows, way->count, &groups);

    for (size_t i = 0; i < count && i < ROWS_MAX; i++) {
        put_row(page, way, &groups[i]);
        if (count > 1)
            put_ports(page, way, &groups[i]);
    }
    if (count > ROWS_MAX)
        buf_printf(page->out, "  ... and %zu more\n", count - ROWS_MAX);
    free(groups);
}

static void put_answers(struct page *page)
{
    struct way way;
    size_t position = 0;

    if (page->run->mtu_cases.count == 0)
        return;
    page_heading(page, "What the path carries (IP packet and UDP payload, bytes)");
    buf_printf(page->out, "  %-7s %-9s %9s %12s  %-12s%s\n", "family", "direction", "path MTU",
               "UDP payload", "verdict", "why");
    while (way_next(page->run, &position, &way))
        put_way(page, &way);
}

/* --- notes ----------------------------------------------------------------------------------- */

/* What is alike in several ways is told once, with the ways in front of it. */
struct note {
    bool whose[FAMILY_COUNT][MTU_DIRECTION_COUNT];
    struct buf words;
};

struct notes {
    struct note items[NOTES_MAX];
    size_t count, more; /* the last: that found no place */
};

/* Takes the words over. */
static void add_note(struct notes *notes, const struct way *way, struct buf *words)
{
    struct note *note = notes->items;

    while (note < notes->items + notes->count &&
           strcmp(buf_peek(&note->words), buf_peek(words)) != 0)
        note++;
    if (words->length == 0 || note == notes->items + NOTES_MAX) {
        notes->more += words->length > 0;
        buf_done(words);
        return;
    }
    if (note == notes->items + notes->count) {
        notes->count++;
        note->words = *words;
    } else {
        buf_done(words);
    }
    note->whose[way->family][way->direction] = true;
}

static void note_case(struct notes *notes, const struct way *way, const struct mtu_case *what)
{
    struct mtu_case rest = *what; /* borrowed; loss by size has a table of its own */
    bool more = true;

    rest.flow.size_effect.present = false;
    for (size_t line = 0; more; line++) {
        struct buf words;

        buf_init(&words, WORDS_MAX);
        if (line == 0)
            mtu_tunnel_words(what, &words);
        else
            more = mtu_note_words(&rest, line - 1, &words);
        add_note(notes, way, &words);
    }
}

/* What the end that answers has seen beside whole datagrams of ours. */
static void note_answered(struct notes *notes, const struct way *way)
{
    static const struct mtu_answered none = { .present = false };
    const struct mtu_answered *answered = way->session == NULL ? &none
                                          : way->direction == MTU_FORWARD
                                              ? &way->session->answered_forward
                                              : &way->session->answered_reverse;
    const struct {
        int64_t count;
        const char *words;
    } odd[] = {
        { answered->in_fragments, "came in fragments although they must not be cut, and do not "
                                  "count as carried" },
        { answered->damaged, "came with wrong contents and were not answered" },
        { answered->foreign, "came from strangers and were not answered" },
        { answered->refused, "answers were not taken by the answering host's kernel" },
    };

    for (size_t i = 0; answered->present && i < sizeof odd / sizeof odd[0]; i++) {
        struct buf words;

        if (odd[i].count == 0)
            continue;
        buf_init(&words, WORDS_MAX);
        buf_printf(&words, "%s %s", grouped(odd[i].count).text, odd[i].words);
        add_note(notes, way, &words);
    }
}

static void note_way(struct notes *notes, const struct way *way)
{
    struct mtu_group *groups;
    size_t count = mtu_groups(way->flows, way->count, &groups);

    for (size_t i = 0; i < count; i++)
        note_case(notes, way, groups[i].first);
    free(groups);
    note_answered(notes, way);
}

/* "IPv4 forward, IPv6: ": both directions are a family. */
static void tell_whose(const struct note *note, struct buf *text)
{
    for (int i = 0, told = 0; i < FAMILY_COUNT; i++) {
        const bool *whose = note->whose[i];
        bool both = whose[MTU_FORWARD] && whose[MTU_REVERSE];

        if (!whose[MTU_FORWARD] && !whose[MTU_REVERSE])
            continue;
        buf_printf(text, "%s%s%s%s", told++ > 0 ? ", " : "", family_word((enum family)i),
                   both ? "" : " ",
                   both ? "" : mtu_direction_names[whose[MTU_FORWARD] ? MTU_FORWARD : MTU_REVERSE]);
    }
    buf_text(text, ": ");
}

static void put_notes(struct page *page)
{
    struct notes notes = { .count = 0 };
    struct way way;
    size_t position = 0;

    while (way_next(page->run, &position, &way))
        note_way(&notes, &way);
    if (notes.count > 0)
        page_heading(page, "Notes");
    for (size_t i = 0; i < notes.count; i++) {
        struct buf text;

        buf_init(&text, 2 * WORDS_MAX);
        tell_whose(&notes.items[i], &text);
        buf_text(&text, buf_peek(&notes.items[i].words));
        buf_text(page->out, "  ");
        page_words(page, NOTE_INDENT, buf_peek(&text));
        buf_done(&text);
        buf_done(&notes.items[i].words);
    }
    if (notes.more > 0)
        buf_printf(page->out, "  ... and %zu more\n", notes.more);
}

/* --- what follows ---------------------------------------------------------------------------- */

static void put_fit(struct page *page)
{
    static const char *const ways[] = { "on the way there", "on the way back",
                                        "in both directions" };
    size_t families = mtu_plan_sessions(&page->run->mtu_plan);
    struct buf text;

    buf_init(&text, 1024);
    buf_text(&text, "An application may send: ");
    for (size_t i = 0; i < families; i++) {
        enum family family = mtu_plan_session(&page->run->mtu_plan, i).family;
        struct fit fit = fit_of(page->run, family);

        buf_printf(&text, "%s%s ", i > 0 ? ", " : "", family_word(family));
        if (fit.known)
            buf_printf(&text, "%s B", grouped(fit.even).text);
        else
            buf_text(&text, "not known");
        if (fit.known && fit.even < fit.payload)
            buf_printf(&text, " (up to %s B get through, with more loss)",
                       grouped(fit.payload).text);
    }
    buf_printf(&text, "; UDP payload, %s.", ways[page->run->mtu_plan.common.direction]);
    if (families > 0) {
        buf_text(page->out, "\n");
        page_paragraph(page, buf_peek(&text));
    }
    buf_done(&text);
}

/* Does a line of the table say it already? */
static bool is_told(const struct run *run, const struct mtu_session *session)
{
    const struct mtu_case *cases = run->mtu_cases.items;

    for (size_t i = 0; i < run->mtu_cases.count; i++) {
        if (cases[i].family == session->family && cases[i].error[0] != '\0')
            return true;
    }
    return false;
}

static void put_errors(struct page *page)
{
    const struct mtu_session *sessions = page->run->mtu_sessions.items;
    size_t wanted = mtu_plan_sessions(&page->run->mtu_plan), errors = 0;

    for (size_t i = 0; i < page->run->mtu_sessions.count; i++) {
        if (sessions[i].error[0] == '\0' || is_told(page->run, &sessions[i]))
            continue;
        if (errors++ == 0)
            page_heading(page, "What could not be measured");
        buf_printf(page->out, "  %s: ", family_word(sessions[i].family));
        page_words(page, NOTE_INDENT, sessions[i].error);
    }
    if (page->run->mtu_sessions.count < wanted)
        buf_printf(page->out, "%s  %zu of %zu sessions %s not come to\n", errors == 0 ? "\n" : "",
                   wanted - page->run->mtu_sessions.count, wanted,
                   wanted - page->run->mtu_sessions.count == 1 ? "was" : "were");
}

void terminal_mtu(const struct run *run, struct terminal_style style, struct buf *out_text)
{
    struct page page = { .run = run, .style = style, .out = out_text };

    put_title(&page);
    put_plan(&page);
    put_answers(&page);
    put_errors(&page);
    put_fit(&page);
    put_notes(&page);
    terminal_sizes(&page);
    terminal_changes(&page);
    terminal_effort(&page);
    for (page.host = 0; page.host < run->hosts.count; page.host++)
        terminal_kernel(&page);
}
