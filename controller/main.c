/* Owns the process: its three standard descriptors, its signals, its exit code. Must not know any
 * command. */
#include <signal.h>

#include "controller/command/command.h"
#include "proto/base/standard.h"

int main(int argc, char **argv)
{
    enum exit_code code;

    if (!standard_open())
        return EXIT_FAILED;
    signal(SIGPIPE, SIG_IGN);
    code = command_main(argc, argv);
    if (!standard_close("sonde") && code == EXIT_MEASURED)
        code = EXIT_FAILED;
    return (int)code;
}
