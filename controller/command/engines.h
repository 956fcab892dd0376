/* The --engine flag: a list of names, or "all". */
#ifndef SONDE_COMMAND_ENGINES_H
#define SONDE_COMMAND_ENGINES_H

#include "proto/wire/case.h"

/* Says whether an engine can be used; NULL with a fault otherwise not. */
typedef bool engines_check(enum engine_kind kind, struct fault *fault);

/* What this platform has, and what any may have. */
bool engines_here(enum engine_kind kind, struct fault *fault);
bool engines_anywhere(enum engine_kind kind, struct fault *fault);

/* Makes the plan's engines those of a comma-separated list; "all" is all that `check` allows. */
enum status engines_choose(struct plan *plan, const char *text, engines_check *check,
                           struct fault *fault) must_check;

#endif
