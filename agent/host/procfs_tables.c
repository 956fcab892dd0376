/* Owns the tables of /proc/net: softnet_stat, dev, udp, udp6. Knows no file system. */
#include <string.h>

#include "agent/host/procfs.h"
#include "agent/host/procfs_text.h"
#include "proto/wire/limits.h"

/* --- softnet_stat: no names, so what the kernel has never moved (net/core/net-procfs.c) ------- */

enum { SOFTNET_PROCESSED, SOFTNET_DROP, SOFTNET_SQUEEZE, SOFTNET_CPU = 12, SOFTNET_COLUMNS };

static bool read_softnet(struct span line, int64_t number, struct softnet_cpu *out_cpu)
{
    int64_t column[SOFTNET_COLUMNS];
    size_t count = 0;
    struct span word;

    while (count < SOFTNET_COLUMNS && span_word(&line, &word)) {
        if (!span_i64(word, 16, &column[count]))
            return false;
        count++;
    }
    if (count <= SOFTNET_SQUEEZE)
        return false;
    *out_cpu = (struct softnet_cpu){
        .cpu = count > SOFTNET_CPU ? column[SOFTNET_CPU] : number,
        .processed = column[SOFTNET_PROCESSED],
        .dropped = column[SOFTNET_DROP],
        .squeezed = column[SOFTNET_SQUEEZE],
    };
    return true;
}

size_t procfs_softnet(const char *text, size_t length, struct list *cpus)
{
    struct span rest = { text, length }, line;
    size_t skipped = 0;
    int64_t number = 0;

    while (span_line(&rest, &line)) {
        struct softnet_cpu cpu;

        if (span_words(line) == 0)
            continue;
        if (read_softnet(line, number++, &cpu) && cpus->count < LIMIT_CPUS)
            *(struct softnet_cpu *)list_append_sized(cpus, sizeof cpu) = cpu;
        else
            skipped++;
    }
    return skipped;
}

/* --- dev: two header lines, the second with the names of both halves -------------------------- */

/* The columns that are read, in both halves. */
static const char *const dev_names[] = { "bytes", "packets", "errs", "drop" };
enum { DEV_BYTES, DEV_PACKETS, DEV_ERRORS, DEV_DROPPED, DEV_NAMES, DEV_FIELDS = 2 * DEV_NAMES };

struct dev_columns {
    size_t index[DEV_FIELDS]; /* received, then sent */
    size_t count;             /* of all columns; 0 until the header was read */
};

/* Finds the four names in one half, whose first column is number `first`. */
static bool find_half(struct span half, size_t first, size_t *out_index)
{
    unsigned found = 0;
    struct span word;

    for (size_t at = first; span_word(&half, &word); at++) {
        for (size_t i = 0; i < DEV_NAMES; i++) {
            if (span_is(word, dev_names[i])) {
                out_index[i] = at;
                found |= 1U << i;
            }
        }
    }
    return found == (1U << DEV_NAMES) - 1;
}

/* " face |bytes packets ...|bytes packets ..." */
static bool read_dev_header(struct span line, struct dev_columns *out_columns)
{
    struct dev_columns columns;
    struct span face, receive;
    size_t first;

    if (!span_cut(&line, '|', &face) || !span_cut(&line, '|', &receive))
        return false;
    first = span_words(receive);
    if (!find_half(receive, 0, columns.index) || !find_half(line, first, columns.index + DEV_NAMES))
        return false;
    columns.count = first + span_words(line);
    *out_columns = columns;
    return true;
}

static bool read_dev(struct span line, const struct dev_columns *columns,
                     struct interface_counters *out_interface)
{
    uint64_t value[DEV_FIELDS] = { 0 };
    struct span name, word;
    size_t at = 0;

    if (!span_cut_last(&line, ':', &name) || !span_word(&name, &word) || span_words(name) != 0 ||
        word.length >= sizeof out_interface->name || memchr(word.at, '\0', word.length) != NULL ||
        span_words(line) != columns->count)
        return false;
    name = word;
    for (; span_word(&line, &word); at++) {
        for (size_t i = 0; i < DEV_FIELDS; i++) {
            if (columns->index[i] == at && !span_u64(word, 10, &value[i]))
                return false;
        }
    }
    *out_interface = (struct interface_counters){
        .rx_bytes = value[DEV_BYTES],
        .rx_packets = value[DEV_PACKETS],
        .rx_errors = value[DEV_ERRORS],
        .rx_dropped = value[DEV_DROPPED],
        .tx_bytes = value[DEV_NAMES + DEV_BYTES],
        .tx_packets = value[DEV_NAMES + DEV_PACKETS],
        .tx_errors = value[DEV_NAMES + DEV_ERRORS],
        .tx_dropped = value[DEV_NAMES + DEV_DROPPED],
    };
    memcpy(out_interface->name, name.at, name.length);
    return true;
}

/* A line with '|' is of the header: no interface has one in front of its colon and numbers behind.
 */
static bool is_dev_header(struct span line)
{
    struct span head;

    return memchr(line.at, ':', line.length) == NULL && span_cut(&line, '|', &head);
}

size_t procfs_dev(const char *text, size_t length, struct list *interfaces)
{
    struct span rest = { text, length }, line;
    struct dev_columns columns = { .count = 0 };
    size_t skipped = 0;

    while (span_line(&rest, &line)) {
        struct interface_counters interface;

        if (span_words(line) == 0)
            continue;
        if (is_dev_header(line)) {
            /* The first of the two has no columns in it. */
            (void)read_dev_header(line, &columns);
        } else if (columns.count > 0 && interfaces->count < LIMIT_INTERFACES &&
                   read_dev(line, &columns, &interface)) {
            *(struct interface_counters *)list_append_sized(interfaces, sizeof interface) =
                interface;
        } else {
            skipped++;
        }
    }
    return skipped;
}

/* --- udp, udp6: a header whose names share columns -------------------------------------------- */

static const char *const udp_names[] = { "local_address", "rx_queue", "uid", "inode", "drops" };
enum { UDP_LOCAL, UDP_RX_QUEUE, UDP_UID, UDP_INODE, UDP_DROPS, UDP_NAMES };

#define NO_COLUMN SIZE_MAX

struct udp_columns {
    size_t index[UDP_NAMES];
    size_t count; /* 0 until the header was read */
};

/* "tx_queue rx_queue" is one word a:b in the lines below, and so is "tr tm->when". */
static bool shares_column(struct span before, struct span name)
{
    return (span_is(before, "tx_queue") && span_is(name, "rx_queue")) ||
           (span_is(before, "tr") && span_is(name, "tm->when"));
}

static bool read_udp_header(struct span line, struct udp_columns *out_columns)
{
    struct udp_columns columns = { .count = 0 };
    struct span word, before = { "", 0 };

    for (size_t i = 0; i < UDP_NAMES; i++)
        columns.index[i] = NO_COLUMN;
    for (; span_word(&line, &word); before = word) {
        columns.count += !shares_column(before, word);
        for (size_t i = 0; i < UDP_NAMES; i++) {
            if (span_is(word, udp_names[i]))
                columns.index[i] = columns.count - 1;
        }
    }
    for (size_t i = 0; i < UDP_DROPS; i++) { /* drops is the youngest and may be missing */
        if (columns.index[i] == NO_COLUMN)
            return false;
    }
    *out_columns = columns;
    return true;
}

/* The hexadecimal number behind the colon of a:b. */
static bool second_of_pair(struct span word, int64_t *out_value)
{
    struct span first;

    return span_cut(&word, ':', &first) && span_i64(word, 16, out_value);
}

static bool read_udp_field(size_t field, struct span word, struct proc_socket *socket)
{
    switch (field) {
    case UDP_LOCAL:
        return second_of_pair(word, &socket->port) && socket->port <= UINT16_MAX;
    case UDP_RX_QUEUE:
        return second_of_pair(word, &socket->queued_bytes);
    case UDP_UID:
        return span_i64(word, 10, &socket->uid);
    case UDP_INODE:
        return span_i64(word, 10, &socket->inode);
    default:
        return span_i64(word, 10, &socket->drops);
    }
}

static bool read_udp(struct span line, const struct udp_columns *columns,
                     struct proc_socket *out_socket)
{
    struct proc_socket socket = { .drops = NONE_INT };
    struct span word;

    if (span_words(line) != columns->count)
        return false;
    for (size_t at = 0; span_word(&line, &word); at++) {
        for (size_t i = 0; i < UDP_NAMES; i++) {
            if (columns->index[i] == at && !read_udp_field(i, word, &socket))
                return false;
        }
    }
    *out_socket = socket;
    return true;
}

size_t procfs_udp(const char *text, size_t length, struct list *sockets)
{
    struct span rest = { text, length }, line;
    struct udp_columns columns = { .count = 0 };
    size_t skipped = 0;

    while (span_line(&rest, &line)) {
        struct proc_socket socket;

        if (span_words(line) == 0)
            continue;
        if (columns.count == 0 && read_udp_header(line, &columns))
            continue;
        if (columns.count > 0 && read_udp(line, &columns, &socket))
            *(struct proc_socket *)list_append_sized(sockets, sizeof socket) = socket;
        else
            skipped++;
    }
    return skipped;
}
