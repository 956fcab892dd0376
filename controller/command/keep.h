/* What every measuring command does with a run that is complete: name the tool, keep it, print it.
 */
#ifndef SONDE_COMMAND_KEEP_H
#define SONDE_COMMAND_KEEP_H

#include "controller/command/command.h"
#include "controller/report/archive.h"
#include "controller/report/terminal.h"

/* Fills tool and command of a run; argv as the command got it. */
void keep_describe(struct run *run, int argc, char **argv);

/* A run in words, as controller/report/terminal.h has it. */
typedef void keep_words(const struct run *run, struct terminal_style style, struct buf *out_text);

struct keep {
    const char *command; /* "loopback" */
    const char *output;  /* the folder for archives */
    bool json;           /* print run.json and nothing else */
    keep_words *words;   /* else this */
};

/* Before anything is measured: an archive can be made in `output`, or it is wrong usage. */
enum exit_code keep_prepare(const char *command, const char *output);

/* Archives the run and prints it to stdout: its words and where the archive is, or run.json. When
 * it cannot be archived (a full disk), says so on stderr, keeps it in the temporary folder and
 * returns EXIT_FAILED. main sees whether stdout took it. */
enum exit_code keep_run(const struct keep *how, const struct run *run);

/* What a matrix that was measured means for the exit code; says on stderr what could not be
 * measured. With `check` a case that fails is EXIT_CHECK. */
enum exit_code keep_outcome(const char *command, const struct run *run, bool check);

#endif
