/* Between machine.c and the system's machine_*.c: nobody else includes this. */
#ifndef SONDE_HOST_MACHINE_SYSTEM_H
#define SONDE_HOST_MACHINE_SYSTEM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

/* "Linux" or "macOS". */
extern const char machine_os[];

/* The processor's name, "" when unknown. */
void machine_cpu(char *out_text, size_t size);

/* Physical memory in bytes, NONE_INT when unknown. */
int64_t machine_memory(void);

/* The folder that lists this process's open descriptors. */
extern const char machine_descriptor_folder[];

/* The most descriptors that setrlimit takes here as a soft limit below this hard one. */
rlim_t machine_descriptor_ceiling(rlim_t hard);

/* The bytes in one unit of ru_maxrss. */
extern const int64_t machine_maxrss_unit;

#endif
