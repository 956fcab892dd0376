/* Stored results as CSV (RFC 4180): a line of names, then a line for each. */
#ifndef SONDE_COMMAND_RESULTS_CSV_H
#define SONDE_COMMAND_RESULTS_CSV_H

#include "proto/base/buf.h"
#include "proto/wire/record.h"

/* `rows`: of the record's struct, which is flat. Absent values are empty. Nested names are joined
 * by a dot: forward_lost_to.network. */
void results_csv(const struct record *record, const struct list *rows, struct buf *out_text);

#endif
