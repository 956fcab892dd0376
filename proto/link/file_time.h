/* When a file was last changed, to the nanosecond: its member has another name on each system. */
#ifndef SONDE_LINK_FILE_TIME_H
#define SONDE_LINK_FILE_TIME_H

#include <sys/stat.h>
#include <time.h>

struct timespec file_time(const struct stat *facts);

#endif
