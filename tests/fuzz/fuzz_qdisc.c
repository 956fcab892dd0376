/* Any bytes as a part of an rtnetlink dump. Reading must end, stay within the bytes, and never find
 * more qdiscs than messages fit.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/host/qdisc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SMALLEST_MESSAGE = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct qdisc_sum sum = { 0 };
    uint8_t *bytes =
        malloc(size > 0 ? size : 1); /* of its own, so that a sanitizer sees an overrun */

    assert(bytes != NULL);
    if (size > 0)
        memcpy(bytes, data, size);
    qdisc_read(bytes, size, &sum);
    assert(sum.roots + sum.skipped <= size / SMALLEST_MESSAGE + 1);
    assert(sum.drops <= sum.roots * (uint64_t)UINT32_MAX);
    assert(sum.error == 0 || sum.done);
    free(bytes);
    return 0;
}
