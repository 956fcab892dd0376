/* Owns the name of struct stat's time on this system. */
#include "proto/link/file_time.h"

struct timespec file_time(const struct stat *facts)
{
    return facts->st_mtim;
}
