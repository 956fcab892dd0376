/* A run that a controller is asked for, as `sonde run`, `sonde mtu` and `sonde sizes` do: asked
 * for, followed, stopped by an interrupt, fetched as an archive, kept and printed. What its
 * messages and its answers mean is the command's.
 */
#ifndef SONDE_COMMAND_FOLLOW_H
#define SONDE_COMMAND_FOLLOW_H

#include "controller/command/command.h"
#include "controller/command/progress.h"
#include "controller/command/remote.h"
#include "proto/wire/run.h"

enum { FOLLOW_NOTE_SIZE = 160 };

/* Between whom, as flags fill it: for a command's record. */
struct follow_pair {
    char from[NAME_SIZE], to[NAME_SIZE];
    char address[ADDR_TEXT_SIZE];
};
extern const struct record follow_pair_record;

struct follow_flags {
    struct remote_flags remote;
    const char *output;
    bool json, check, detach;
};

/* The flags of these that say the same everywhere, for a command's table. */
#define FOLLOW_OPTIONS(FLAGS)                                                                      \
    { .name = "output",                                                                            \
      .argument = "DIR",                                                                           \
      .value = &(FLAGS)->output,                                                                   \
      .help = "where the archive goes (default: ./sonde-runs)" },                                  \
        { .name = "json", .flag = &(FLAGS)->json, .help = "print run.json and nothing else" },     \
        { .name = "detach",                                                                        \
          .flag = &(FLAGS)->detach,                                                                \
          .help = "print the run's id and do not wait for it" },                                   \
        REMOTE_OPTIONS(&(FLAGS)->remote)

struct follow;

/* What a command adds. */
struct follow_kind {
    /* What was asked for, behind "sonde run: run ID, ": "12 cases from a to b". */
    void (*describe)(const struct follow *follow, const struct message_accepted *accepted,
                     char *out_text, size_t size);
    /* run_progress, run_moved, case_done or mtu_done of this run. */
    void (*message)(struct follow *follow, const union message *message);
    /* False where the reason why there is nothing is all there is to tell: no archive is kept. */
    bool (*has_begun)(const struct run *run);
    /* What a run that has not failed means for the exit code; complains on stderr. */
    enum exit_code (*outcome)(const struct follow *follow, const struct run *run);
};

/* One run of a command. The first part is the command's to fill in; the rest is 0 at first. */
struct follow {
    const char *command; /* "run" */
    const struct follow_flags *flags;
    const struct follow_kind *kind;
    void *context; /* the command's own */
    double at_most_s;

    struct remote *remote;
    struct progress progress;
    char note[FOLLOW_NOTE_SIZE]; /* what it is at, behind the live line; a command's to set */
    char run[UUID_SIZE];
    bool asked_to_stop, over;
    enum run_outcome outcome;
    char reason[REASON_SIZE];
};

/* "sonde COMMAND: TEXT" on stderr; returns EXIT_FAILED. */
enum exit_code follow_complain(const char *command, const char *text);

/* Both agents are named: else a complaint and EXIT_USAGE. */
enum exit_code follow_check(const char *command, const struct follow_pair *pair);

/* An order without what is to be measured: kind and plan are the command's to set. message_done
 * frees it. */
void follow_order(const struct follow_pair *pair, int argc, char **argv,
                  struct message_run *out_order);

/* Everything from the connection to the printed archive. `order` stays the caller's. */
enum exit_code follow_run(struct follow *follow, struct message_run *order);

#endif
