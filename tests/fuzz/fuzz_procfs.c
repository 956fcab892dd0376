/* Any bytes as a file of /proc/net: the first byte, 0 to 4 in ASCII, chooses the parser. Counters
 * must stay counts, lists under their caps, and what is read must not depend on what is behind.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/host/procfs.h"
#include "proto/wire/limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef size_t parse_counters(const char *text, size_t length, struct counters *counters);
typedef size_t parse_list(const char *text, size_t length, struct list *list);

static size_t lines(const char *text, size_t length)
{
    size_t count = length > 0 && text[length - 1] != '\n';

    for (size_t i = 0; i < length; i++)
        count += text[i] == '\n';
    return count;
}

static void check_counters(parse_counters *parse, const char *text, size_t length)
{
    struct counters counters, again;
    size_t skipped;

    counters_init(&counters);
    skipped = parse(text, length, &counters);
    assert(skipped <= lines(text, length));
    for (int i = 0; i < COUNTER_COUNT; i++)
        assert(counters.value[i] >= 0 || counters.value[i] == NONE_INT ||
               counters.value[i] == PROCFS_TOO_LARGE);
    again = counters; /* a second reading changes nothing */
    assert(parse(text, length, &again) == skipped);
    assert(memcmp(&again, &counters, sizeof counters) == 0);
}

static void check_list(parse_list *parse, const char *text, size_t length, size_t cap)
{
    struct list list = { NULL, 0 };
    size_t skipped = parse(text, length, &list);

    assert(list.count <= cap);
    assert(skipped + list.count <= lines(text, length));
    free(list.items);
}

static void check_names(const char *text, size_t length)
{
    struct list list = { NULL, 0 };
    const struct interface_counters *interface;

    (void)procfs_dev(text, length, &list);
    interface = list.items;
    for (size_t i = 0; i < list.count; i++)
        assert(memchr(interface[i].name, '\0', sizeof interface[i].name) != interface[i].name);
    free(list.items);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text;
    size_t length;

    if (size == 0)
        return 0;
    length = size - 1;
    text =
        malloc(length > 0 ? length : 1); /* of its own, so that a sanitizer sees a byte too far */
    assert(text != NULL);
    memcpy(text, data + 1, length);
    switch ((uint8_t)(data[0] - '0') % 5) {
    case 0:
        check_counters(procfs_snmp, text, length);
        break;
    case 1:
        check_counters(procfs_snmp6, text, length);
        break;
    case 2:
        check_list(procfs_softnet, text, length, LIMIT_CPUS);
        break;
    case 3:
        check_list(procfs_dev, text, length, LIMIT_INTERFACES);
        check_names(text, length);
        break;
    default:
        check_list(procfs_udp, text, length, SIZE_MAX);
        break;
    }
    free(text);
    return 0;
}
