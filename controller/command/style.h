/* What stdout can show. */
#ifndef SONDE_COMMAND_STYLE_H
#define SONDE_COMMAND_STYLE_H

#include "controller/report/terminal.h"

/* Colours on a terminal that has them, unless NO_COLOR is set; UTF-8 where the locale says so. A
 * pipe or a file gets neither colours nor escapes. */
struct terminal_style style_of_stdout(void);

#endif
