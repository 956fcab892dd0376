/* Owns what glibc is asked to give back. */
#include <malloc.h>

#include "proto/base/memory.h"

void memory_give_back(void)
{
    (void)malloc_trim(0);
}
