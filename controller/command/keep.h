/* What every measuring command does with a run that is complete: name the tool, keep it, print it.
 */
#ifndef SONDE_COMMAND_KEEP_H
#define SONDE_COMMAND_KEEP_H

#include "controller/command/command.h"
#include "controller/report/archive.h"
#include "controller/report/terminal.h"

/* Fills tool and command of a run; argv as the command got it. */
void keep_describe(struct run *run, int argc, char **argv);

/* Archives the run in `output`. When that cannot be (a full disk), says so on stderr, keeps it in
 * the temporary folder and returns EXIT_FAILED; out_path is where it is, "" when nowhere. */
enum exit_code keep_run(const char *command, const char *output, const struct run *run,
                        char out_path[ARCHIVE_PATH_SIZE]);

/* A run in words, as controller/report/terminal.h has it. */
typedef void keep_words(const struct run *run, struct terminal_style style, struct buf *out_text);

/* Prints the run to stdout: its words and where the archive is, or with `json` run.json and nothing
 * else. main sees whether stdout took it. */
void keep_print(const struct run *run, bool json, const char *path, keep_words *words);

/* What a matrix that was measured means for the exit code; says on stderr what could not be
 * measured. With `check` a case that fails is EXIT_CHECK. */
enum exit_code keep_outcome(const char *command, const struct run *run, bool check);

#endif
