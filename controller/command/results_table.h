/* Stored results as tables for people, on stdout. */
#ifndef SONDE_COMMAND_RESULTS_TABLE_H
#define SONDE_COMMAND_RESULTS_TABLE_H

#include "proto/wire/message.h"

/* `cases`: of struct case_row; `more`: the controller has older ones. At least one. */
void results_table_cases(const struct list *cases, bool more);

/* `rows`: of struct mtu_row. */
void results_table_mtu(const struct list *rows, bool more);

#endif
