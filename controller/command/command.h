/* sonde's sub-commands: a table of names, and one file per command. */
#ifndef SONDE_COMMAND_COMMAND_H
#define SONDE_COMMAND_COMMAND_H

/* Exit codes, the same for every command. */
enum exit_code {
    EXIT_MEASURED = 0, /* done */
    EXIT_FAILED = 1,   /* could not */
    EXIT_USAGE = 2,    /* wrong usage */
    EXIT_CHECK = 3     /* --check failed */
};

struct command {
    const char *name;
    const char *summary; /* one line */
    /* argv[0] is the command's name. */
    enum exit_code (*run)(int argc, char **argv);
};

/* Dispatches `sonde COMMAND ...`; argv is main's. */
enum exit_code command_main(int argc, char **argv);

/* What this binary was built from: "0.1.0", and the SHA-256 over its sources in hexadecimal. */
const char *command_version(void);
const char *command_source_sha256(void);

enum exit_code command_loopback(int argc, char **argv);
enum exit_code command_buffers(int argc, char **argv);
enum exit_code command_budget(int argc, char **argv);
enum exit_code command_advise(int argc, char **argv);
enum exit_code command_charge(int argc, char **argv);
enum exit_code command_counters(int argc, char **argv);
enum exit_code command_serve(int argc, char **argv);
enum exit_code command_report(int argc, char **argv);
enum exit_code command_agents(int argc, char **argv);
enum exit_code command_run(int argc, char **argv);
enum exit_code command_mtu(int argc, char **argv);
enum exit_code command_sizes(int argc, char **argv);
enum exit_code command_results(int argc, char **argv);
enum exit_code command_show(int argc, char **argv);

#endif
