/* Owns the process of sonde-agent: its command line, its standard descriptors, its signals, its
 * exit code. What the daemon does is agent.c's. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/allocator.h"
#include "agent/host/machine.h"
#include "proto/base/log_daemon.h"
#include "proto/base/standard.h"
#include "proto/base/text.h"
#include "proto/wire/limits.h"
#include "proto/wire/record_yaml.h"

#define CONFIG_PATH "/etc/sonde/agent.yaml"

enum exit_code {
    EXIT_DONE = 0,   /* it was told to stop, or has printed what was asked for */
    EXIT_FAILED = 1, /* could not */
    EXIT_USAGE = 2   /* wrong usage, or a wrong configuration */
};

enum action { ACTION_SERVE, ACTION_CHECK, ACTION_PRINT, ACTION_VERSION, ACTION_HELP };

struct usage {
    enum action action;
    const char *config; /* NULL: CONFIG_PATH */
};

static const char *const flags[] = {
    "--config", "--check-config", "--print-config", "--version", "--help", NULL,
};

static enum exit_code complain(const char *words, const char *what)
{
    fprintf(stderr, "sonde-agent: %s '%s'; see sonde-agent --help\n", words, what);
    return EXIT_USAGE;
}

static enum exit_code complain_unknown(const char *word)
{
    const char *nearest = text_nearest(word, flags);

    if (nearest == NULL)
        return complain(word[0] == '-' ? "there is no flag" : "there is no use for", word);
    fprintf(stderr, "sonde-agent: there is no flag '%s', did you mean '%s'?\n", word, nearest);
    return EXIT_USAGE;
}

static enum exit_code read_words(int argc, char **argv, struct usage *usage)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];

        if (strcmp(word, "--check-config") == 0) {
            usage->action = ACTION_CHECK;
        } else if (strcmp(word, "--print-config") == 0) {
            usage->action = ACTION_PRINT;
        } else if (strcmp(word, "--version") == 0) {
            usage->action = ACTION_VERSION;
        } else if (strcmp(word, "--help") == 0) {
            usage->action = ACTION_HELP;
        } else if (strncmp(word, "--config=", strlen("--config=")) == 0) {
            usage->config = word + strlen("--config=");
        } else if (strcmp(word, "--config") == 0) {
            if (++i == argc)
                return complain("a file is missing behind", word);
            usage->config = argv[i];
        } else {
            return complain_unknown(word);
        }
    }
    if (usage->config != NULL && usage->config[0] == '\0')
        return complain("a file is missing behind", "--config");
    return EXIT_DONE;
}

static enum exit_code print_help(void)
{
    printf("Usage: sonde-agent [flags]\n"
           "\n"
           "Measures UDP loss, delay and capacity with other agents when its controller asks\n"
           "for it, and reports to it. Runs in the foreground, without privileges.\n"
           "\n"
           "Flags:\n"
           "  --config FILE        the configuration (a path; default " CONFIG_PATH ")\n"
           "  --check-config       read the configuration, say what is wrong, and end\n"
           "  --print-config       print every key as the file has it, or without --config its\n"
           "                       default, and end\n"
           "  --version            print the version\n"
           "  --help               print this\n"
           "\n"
           "SIGHUP reads configuration and certificates anew; SIGTERM and SIGINT end it.\n"
           "Exit status: 0 done, 1 could not, 2 wrong usage or configuration.\n");
    return EXIT_DONE;
}

static enum exit_code load_config(const char *path, struct agent_config *out_config)
{
    struct fault fault;

    if (agent_config_load(path, out_config, &fault) == STATUS_OK)
        return EXIT_DONE;
    fprintf(stderr, "sonde-agent: %s\n", fault.text);
    return EXIT_USAGE;
}

static enum exit_code check_config(const char *path)
{
    struct agent_config config;
    enum exit_code code = load_config(path, &config);

    if (code == EXIT_DONE)
        record_done(&agent_config_record, &config);
    return code;
}

static enum exit_code print_config(const char *path)
{
    struct agent_config config;
    struct buf text;
    enum exit_code code = EXIT_DONE;

    if (path == NULL)
        agent_config_init(&config);
    else
        code = load_config(path, &config);
    if (code != EXIT_DONE)
        return code;
    buf_init(&text, LIMIT_CONFIG_BYTES);
    if (record_to_yaml(&agent_config_record, &config, &text) == STATUS_OK)
        fputs(buf_peek(&text), stdout);
    else
        code = EXIT_FAILED;
    record_done(&agent_config_record, &config);
    buf_done(&text);
    return code;
}

static void on_stop(void *context, struct mono now)
{
    agent_stop(context, now);
}

static void on_reload(void *context, struct mono now)
{
    agent_reload(context, now);
}

static enum status run(struct loop *loop, const char *path, struct fault *fault)
{
    struct agent *agent;
    enum status status = agent_new(loop, path, &agent, fault);

    if (status != STATUS_OK)
        return status;
    status = loop_catch_signals(loop, on_stop, on_reload, agent, fault);
    if (status == STATUS_OK) {
        agent_start(agent, loop_now(loop));
        loop_run(loop);
    }
    agent_free(agent);
    return status;
}

static enum exit_code serve(const char *path)
{
    enum exit_code code = check_config(path);
    struct loop *loop;
    struct fault fault;
    enum status status;

    if (code != EXIT_DONE)
        return code;
    log_daemon(LOG_LEVEL_INFO);
    allocator_keep_little();
    (void)machine_descriptors_left(); /* as many as it may have */
    status = loop_new(&loop, &fault);
    if (status == STATUS_OK) {
        status = run(loop, path, &fault);
        loop_free(loop);
    }
    if (status == STATUS_OK)
        return EXIT_DONE;
    log_line(LOG_LEVEL_ERROR, "%s", fault.text);
    return EXIT_FAILED;
}

static enum exit_code act(const struct usage *usage)
{
    const char *path = usage->config != NULL ? usage->config : CONFIG_PATH;

    switch (usage->action) {
    case ACTION_HELP:
        return print_help();
    case ACTION_VERSION:
        printf("sonde-agent " SONDE_VERSION "\n");
        return EXIT_DONE;
    case ACTION_PRINT:
        return print_config(usage->config);
    case ACTION_CHECK:
        return check_config(path);
    case ACTION_SERVE:
        break;
    }
    return serve(path);
}

int main(int argc, char **argv)
{
    struct usage usage = { .action = ACTION_SERVE, .config = NULL };
    enum exit_code code;

    if (!standard_open())
        return EXIT_FAILED;
    signal(SIGPIPE, SIG_IGN);
    code = read_words(argc, argv, &usage);
    if (code == EXIT_DONE)
        code = act(&usage);
    if (!standard_close("sonde-agent") && code == EXIT_DONE)
        code = EXIT_FAILED;
    return (int)code;
}
