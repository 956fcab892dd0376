/* Owns the table of sonde's commands, its version and its general help. Only dispatches: what a
 * command does is in the file of its name. */
#include "controller/command/command.h"

#include <stdio.h>
#include <string.h>

#include "proto/base/text.h"
#include "proto/base/utf8.h"
#include "source_hash.h"

static const struct command commands[] = {
    { "loopback", "measure UDP on this machine's loopback and say where every lost datagram went",
      command_loopback },
    { "buffers", "what a receive buffer holds on this machine, experiment by experiment",
      command_buffers },
    { "serve", "run the controller of a fleet of agents", command_serve },
    { "report", "draw the figure of archived runs and check that they add up", command_report },
    { "budget", "how large a UDP payload fits an MTU", command_budget },
    { "advise", "how big a receive buffer must be for a burst, proved on the spot",
      command_advise },
    { "charge", "what the kernel charges a receive buffer for each datagram, by its size",
      command_charge },
    { "counters", "this kernel's UDP and IP counters, now or as they change", command_counters },
    { "agents", "the agents that a controller knows", command_agents },
    { "run", "measure UDP between two agents and say where every lost datagram went", command_run },
    { "mtu", "the path MTU between two agents, exact, both ways, and why it is what it is",
      command_mtu },
    { "sizes", "whether larger datagrams are lost more often between two agents", command_sizes },
    { "results", "what a controller has measured between its agents", command_results },
    { "show", "fetch one run from a controller as an archive", command_show },
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0], WORD_SIZE = 64 };

const char *command_version(void)
{
    return SONDE_VERSION;
}

const char *command_source_sha256(void)
{
    return SONDE_SOURCE_SHA256;
}

static void print_usage(FILE *to)
{
    fprintf(to, "sonde tells where UDP datagrams go.\n\n"
                "Usage: sonde COMMAND [flags]\n\nCommands:\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(to, "  %-10s  %s\n", commands[i].name, commands[i].summary);
    fprintf(to,
            "\n'sonde help COMMAND' or 'sonde COMMAND --help' has the flags and examples of one.\n"
            "'sonde --version' names the sources that this binary was built from.\n"
            "Exit code: 0 done, 1 could not, 2 wrong usage, 3 --check failed.\n");
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

/* One line: what is unknown, what was probably meant, where to look. */
static enum exit_code unknown_word(const char *word)
{
    const char *candidates[COMMAND_COUNT + 4] = { NULL };
    const char *kind = word[0] == '-' ? "flag" : "command";
    const char *nearest;
    char shown[WORD_SIZE];

    for (size_t i = 0; i < COMMAND_COUNT; i++)
        candidates[i] = commands[i].name;
    candidates[COMMAND_COUNT] = "help";
    candidates[COMMAND_COUNT + 1] = "--help";
    candidates[COMMAND_COUNT + 2] = "--version";
    nearest = text_nearest(word, candidates);
    text_copy(shown, sizeof shown, word);
    utf8_mask(shown);
    if (nearest != NULL)
        fprintf(stderr, "sonde: unknown %s \"%s\"; did you mean %s? try 'sonde help'\n", kind,
                shown, nearest);
    else
        fprintf(stderr, "sonde: unknown %s \"%s\"; try 'sonde help'\n", kind, shown);
    return EXIT_USAGE;
}

static enum exit_code help_on(char *name)
{
    char flag[] = "--help";
    char *argv[] = { name, flag, NULL };
    const struct command *command = find_command(name);

    return command != NULL ? command->run(2, argv) : unknown_word(name);
}

static enum exit_code too_many_words(const char *word)
{
    fprintf(stderr, "sonde: too many words behind %s; try 'sonde help'\n", word);
    return EXIT_USAGE;
}

static enum exit_code run_help(int argc, char **argv)
{
    if (argc > 3)
        return too_many_words(argv[1]);
    if (argc == 3)
        return help_on(argv[2]);
    print_usage(stdout);
    return EXIT_MEASURED;
}

static enum exit_code run_version(int argc, char **argv)
{
    if (argc > 2)
        return too_many_words(argv[1]);
    printf("sonde %s (source %s)\n", command_version(), command_source_sha256());
    return EXIT_MEASURED;
}

enum exit_code command_main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    const struct command *command;

    if (word == NULL) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return run_help(argc, argv);
    if (strcmp(word, "--version") == 0)
        return run_version(argc, argv);
    command = find_command(word);
    return command != NULL ? command->run(argc - 1, argv + 1) : unknown_word(word);
}
