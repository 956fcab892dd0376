/* Memory for our own fixed objects. What a peer, a file or a user sizes goes into buf.h instead. */
#ifndef SONDE_BASE_MEMORY_H
#define SONDE_BASE_MEMORY_H

#include <stddef.h>

/* `count` zeroed elements of `size` bytes, the caller's to free; aborts when memory is out. */
void *memory_new(size_t count, size_t size);

/* Gives pages that were freed back to the system, which the allocator would keep. Takes some
 * milliseconds of a large process. */
void memory_give_back(void);

#endif
