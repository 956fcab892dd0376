/* Owns `sonde serve`: its flags, the process's signals and log. What a controller does is
 * controller/fleet's. */
#include <stdio.h>

#include "controller/command/command.h"
#include "controller/command/options.h"
#include "controller/fleet/server.h"
#include "proto/base/log_daemon.h"
#include "proto/wire/limits.h"
#include "proto/wire/record_yaml.h"

#define CONFIG_PATH "/etc/sonde/controller.yaml"

static const char about[] =
    "Runs the controller in the foreground: agents and operators connect to it over TLS 1.3, it\n"
    "lets two agents measure what an operator asks for and keeps the results in an SQLite file.\n"
    "SIGHUP reads the configuration and the certificates anew; certificates that were replaced "
    "are\n"
    "also found within a minute. SIGTERM and SIGINT stop what runs and end it.\n"
    "Exit code: 0 told to stop, 1 could not, 2 wrong usage or configuration.";

static const char examples[] = "  sonde serve\n"
                               "  sonde serve --config controller.yaml --check-config\n"
                               "  sonde serve --print-config\n";

struct request {
    const char *config; /* NULL: CONFIG_PATH */
    bool check, print;
};

static enum options_result parse(struct request *request, int argc, char **argv)
{
    const struct option table[] = {
        { .name = "config",
          .argument = "FILE",
          .value = &request->config,
          .help = "the configuration, YAML; without the flag " CONFIG_PATH },
        { .name = "check-config",
          .flag = &request->check,
          .help = "read the configuration, say what is wrong with it, and end" },
        { .name = "print-config",
          .flag = &request->print,
          .help = "print every key as the file has it, or without --config its default, and end" },
    };
    struct options options = { .command = "sonde serve",
                               .usage = "[flags]",
                               .about = about,
                               .table = table,
                               .count = sizeof table / sizeof table[0],
                               .examples = examples };

    return options_parse(&options, argc, argv);
}

static enum exit_code complain(enum exit_code code, const char *words)
{
    fprintf(stderr, "sonde serve: %s\n", words);
    return code;
}

static enum exit_code print_config(const struct controller_config_file *config)
{
    struct buf text;
    enum exit_code code = EXIT_FAILED;

    buf_init(&text, LIMIT_CONFIG_BYTES);
    if (record_to_yaml(&controller_config_record, config, &text) == STATUS_OK &&
        fwrite(buf_peek(&text), 1, text.length, stdout) == text.length)
        code = EXIT_MEASURED;
    buf_done(&text);
    return code;
}

static void on_stop(void *context, struct mono now)
{
    server_stop(context, now);
}

static void on_reload(void *context, struct mono now)
{
    server_reload(context, now);
}

static enum status run(struct loop *loop, const char *path, struct fault *fault)
{
    struct server *server;
    enum status status = server_new(loop, path, &server, fault);

    if (status != STATUS_OK)
        return status;
    status = loop_catch_signals(loop, on_stop, on_reload, server, fault);
    if (status == STATUS_OK)
        status = server_start(server, loop_now(loop), fault);
    if (status == STATUS_OK) {
        loop_run(loop);
        status = server_result(server, fault);
    }
    server_free(server);
    return status;
}

static enum exit_code serve(const char *path)
{
    struct loop *loop;
    struct fault fault;
    enum status status;

    log_daemon(LOG_LEVEL_INFO);
    status = loop_new(&loop, &fault);
    if (status == STATUS_OK) {
        status = run(loop, path, &fault);
        loop_free(loop);
    }
    if (status == STATUS_OK)
        return EXIT_MEASURED;
    log_line(LOG_LEVEL_ERROR, "%s", fault.text);
    return EXIT_FAILED;
}

enum exit_code command_serve(int argc, char **argv)
{
    struct request request = { .config = NULL };
    struct controller_config_file config;
    struct fault fault;

    switch (parse(&request, argc, argv)) {
    case OPTIONS_BAD:
        return EXIT_USAGE;
    case OPTIONS_DONE:
        return EXIT_MEASURED;
    case OPTIONS_GO:
        break;
    }
    controller_config_init(&config);
    if (request.print && request.config == NULL)
        return print_config(&config);
    if (request.config == NULL)
        request.config = CONFIG_PATH;
    if (controller_config_load(request.config, &config, &fault) != STATUS_OK)
        return complain(EXIT_USAGE, fault.text);
    if (request.print)
        return print_config(&config);
    return request.check ? EXIT_MEASURED : serve(request.config);
}
