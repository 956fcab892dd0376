/* Owns what macOS's allocator is asked to give back. */
#include <malloc/malloc.h>

#include "proto/base/memory.h"

void memory_give_back(void)
{
    (void)malloc_zone_pressure_relief(NULL, 0);
}
