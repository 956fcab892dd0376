/* The sections of a run's account as text, one file each. Private to terminal*.c. */
#ifndef SONDE_REPORT_TERMINAL_PARTS_H
#define SONDE_REPORT_TERMINAL_PARTS_H

#include "controller/report/grid.h"
#include "controller/report/terminal.h"

enum {
    PAGE_COLUMNS = 96, /* no line of ours is wider, but names from outside may be */
    ROWS_MAX = 60      /* rows of one table; what is beyond is counted, and run.json has it */
};

struct page {
    const struct run *run;
    size_t host; /* whose facts and counters are told */
    struct grid grid;
    struct terminal_style style;
    struct buf *out; /* borrowed */
};

enum ink { INK_PLAIN, INK_HEAD, INK_GOOD, INK_BAD, INK_MUTED };

/* Text in a colour (when the style has colours), padded to `columns` on the left; 0: as it is. */
void page_ink(struct page *page, enum ink ink, int columns, const char *text);

/* An empty line and a heading. */
void page_heading(struct page *page, const char *text);

/* A paragraph, wrapped. */
void page_paragraph(struct page *page, const char *text);

/* Words from outside as page_outside has them, wrapped: what follows the first line begins at
 * `column`, where the first one is already. Ends the line. */
void page_words(struct page *page, int column, const char *text);

/* Text from outside: control bytes and reading-direction marks become '?', and so does what is not
 * ASCII unless the style has UTF-8. */
void page_outside(struct page *page, const char *text);

const struct host *page_host(const struct page *page);

/* What was run, on which host, when. */
void page_title(struct page *page);

/* The matrix that was asked for; the cases that could not be measured. */
void page_plan(struct page *page);
void page_errors(struct page *page);

/* A host's name and system, "A, Linux 6.1.0 x86_64". */
void page_system(struct page *page, const struct host *host);

/* "1 case", "2 cases": what stands behind a count. */
const char *plural(int64_t count);

/* "8,192 B x 64": a cell's name in tables. */
struct label {
    char text[96];
};
struct label page_label(const struct page *page, struct cell_at at);

/* Sums over the repeats of a cell that were counted, measure phase. */
struct cell_sum {
    struct leg forward, reverse;
    int64_t lost_echoes;
};
struct cell_sum page_sum(const struct page *page, struct cell_at at);

/* "engine batch" above a table's rows where a new engine starts and there are several. */
void page_engine_line(struct page *page, struct cell_at at, size_t *last_engine);

/* The sections. */
void terminal_grid(struct page *page);
void terminal_story(struct page *page);
void terminal_account(struct page *page);
void terminal_fragments(struct page *page);
void terminal_bursts(struct page *page);
void terminal_sockets(struct page *page);
void terminal_kernel(struct page *page);
void terminal_rates(struct page *page);
void terminal_one_way(struct page *page);
void terminal_advice(struct page *page);

/* The gist of terminal_fragments in a sentence for each host; nothing when all payloads fit. */
void tell_fragments(const struct page *page, struct buf *text);

/* Those of path MTU runs, likewise. */
void terminal_sizes(struct page *page);
void terminal_changes(struct page *page);
void terminal_effort(struct page *page);

/* Those of buffer experiments: a table for each that has a case, else nothing. */
void terminal_ladder(struct page *page);
void terminal_hold(struct page *page);
void terminal_sweep(struct page *page);
void terminal_slow_reader(struct page *page);
void terminal_closed_port(struct page *page);
void terminal_idle(struct page *page);

/* Walks the cases of one experiment that were measured: starts with NULL, NULL at the end. */
const struct experiment_result *page_next(const struct page *page, enum experiment experiment,
                                          const struct experiment_result *last);

/* A number or "-" where there is none. */
struct quantity grouped_or_dash(int64_t value);

/* 0.476 as "47.6 %"; "-" for NAN. */
struct quantity percent(double ratio);

/* A time in seconds that may be NAN, as text_duration says it. */
struct quantity lasting_s(double seconds);

#endif
