/* Owns the decision to end when memory is out. */
#include "proto/base/memory.h"

#include <stdlib.h>

void *memory_new(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (memory == NULL)
        abort();
    return memory;
}
