/* What every measuring command does with a run that is complete: name the tool, keep it. */
#ifndef SONDE_COMMAND_KEEP_H
#define SONDE_COMMAND_KEEP_H

#include "controller/command/command.h"
#include "controller/report/archive.h"

/* Fills tool and command of a run; argv as the command got it. */
void keep_describe(struct run *run, int argc, char **argv);

/* Archives the run in `output`. When that cannot be (a full disk), says so on stderr, keeps it in
 * the temporary folder and returns EXIT_FAILED; out_path is where it is, "" when nowhere. */
enum exit_code keep_run(const char *command, const char *output, const struct run *run,
                        char out_path[ARCHIVE_PATH_SIZE]);

#endif
