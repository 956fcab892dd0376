/* Owns the process: its three standard descriptors, its signals, its exit code. Must not know any
 * command. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "controller/command/command.h"

/* A closed descriptor would become a socket's, and what is printed would go into the network.
 * Opened for reading, so that a write to a stdout that was closed fails as it should. */
static bool open_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd)
            return false;
    }
    return true;
}

/* A full disk shows when the buffer is written, often only at the end. */
static bool close_stdout(void)
{
    bool failed_before = ferror(stdout) != 0;
    int error = fflush(stdout) != 0 ? errno : 0;

    if (fclose(stdout) != 0 && error == 0)
        error = errno;
    if (!failed_before && error == 0)
        return true;
    fprintf(stderr, "sonde: standard output could not be written%s%s\n", error != 0 ? ": " : "",
            error != 0 ? strerror(error) : "");
    return false;
}

int main(int argc, char **argv)
{
    enum exit_code code;

    if (!open_standard_descriptors())
        return EXIT_FAILED;
    signal(SIGPIPE, SIG_IGN);
    code = command_main(argc, argv);
    if (!close_stdout() && code == EXIT_MEASURED)
        code = EXIT_FAILED;
    return (int)code;
}
