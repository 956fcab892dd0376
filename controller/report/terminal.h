/* A run in words and tables: what was lost, where, and what would hold it. Pure text. */
#ifndef SONDE_REPORT_TERMINAL_H
#define SONDE_REPORT_TERMINAL_H

#include <stdbool.h>

#include "proto/base/buf.h"
#include "proto/wire/run.h"

struct terminal_style {
    bool color; /* ANSI colours */
    bool utf8;  /* beyond ASCII */
};

/* The account of a loopback run: the grid as in the seed, where the datagrams went, the first
 * burst predicted and measured, kernel evidence beside the idle noise, throughput and RTT of the
 * cases that passed, and advice for the cells that lost. */
void terminal_loopback(const struct run *run, struct terminal_style style, struct buf *out_text);

/* The account of a run of buffer experiments: a table for each experiment that was run and what it
 * means in a line or two. */
void terminal_buffers(const struct run *run, struct terminal_style style, struct buf *out_text);

/* The account of a run between two hosts: the grid, where the datagrams went on each leg, and what
 * each host's kernel says. */
void terminal_pair(const struct run *run, struct terminal_style style, struct buf *out_text);

/* The account of path MTU runs: what each family carries in each direction, and why; what an
 * application may send; loss by size and changes where they were looked for. */
void terminal_mtu(const struct run *run, struct terminal_style style, struct buf *out_text);

/* Whichever of them fits the run's kind. The kind must be one that run_record_of knows. */
void terminal_run(const struct run *run, struct terminal_style style, struct buf *out_text);

#endif
