/* Owns the standard descriptors at a program's begin and end. Must not know what is printed. */
#include "proto/base/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool standard_open(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd)
            return false;
    }
    return true;
}

bool standard_close(const char *program)
{
    bool failed_before = ferror(stdout) != 0;
    int error = fflush(stdout) != 0 ? errno : 0;

    if (fclose(stdout) != 0 && error == 0)
        error = errno;
    if (!failed_before && error == 0)
        return true;
    fprintf(stderr, "%s: standard output could not be written%s%s\n", program,
            error != 0 ? ": " : "", error != 0 ? strerror(error) : "");
    return false;
}
