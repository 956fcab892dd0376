/* Any bytes as a struct or dump of a macOS sysctl: the first byte chooses the decoder. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/host/bsdstat.h"
#include "agent/host/procfs.h"
#include "proto/wire/limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef void decode(const uint8_t *bytes, size_t length, struct counters *counters);

static void check_struct(decode *fill, const uint8_t *bytes, size_t length)
{
    struct counters counters;

    counters_init(&counters);
    fill(bytes, length, &counters);
    for (int i = 0; i < COUNTER_COUNT; i++) {
        int64_t value = counters.value[i];

        assert(value >= 0 || value == NONE_INT || value == PROCFS_TOO_LARGE);
        assert(!bsdstat_width32[i] || value <= (int64_t)UINT32_MAX);
    }
}

/* Every third interface has gone meanwhile. */
static const char *name_of(void *context, unsigned index)
{
    (void)context;
    return index % 3 == 2 ? NULL : "en0";
}

static void check_interfaces(const uint8_t *bytes, size_t length)
{
    struct list list = { NULL, 0 };
    size_t skipped = bsdstat_interfaces(bytes, length, name_of, NULL, &list);

    assert(list.count <= LIMIT_INTERFACES);
    assert(list.count * 136 + skipped <= length);
    free(list.items);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes;
    size_t length;

    if (size == 0)
        return 0;
    length = size - 1;
    bytes = malloc(length > 0 ? length : 1); /* of its own, so that a sanitizer sees an overrun */
    assert(bytes != NULL);
    memcpy(bytes, data + 1, length);
    switch (data[0] % 4) {
    case 0:
        check_struct(bsdstat_udp, bytes, length);
        break;
    case 1:
        check_struct(bsdstat_ip, bytes, length);
        break;
    case 2:
        check_struct(bsdstat_ip6, bytes, length);
        break;
    default:
        check_interfaces(bytes, length);
        break;
    }
    free(bytes);
    return 0;
}
