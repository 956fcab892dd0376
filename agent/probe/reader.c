/* Owns the reading process and the page on which it counts. Knows nothing of who sends. */
#include "agent/probe/reader.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/host/child.h"
#include "agent/host/datagram.h"
#include "proto/base/clock.h"

enum { WAIT_MS = 100 }; /* how often an idle reader looks for its parent */

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_BOOL_LOCK_FREE == 2,
               "two processes have no lock in common");

/* Both processes see it. The reader alone writes. */
struct board {
    _Atomic int64_t processed, busy_ns;
    atomic_bool ready, waiting;
};

struct reader {
    const struct pair *pair;
    int64_t read_ns;
    struct board *board;
    struct child child;
    int64_t pid; /* also after its end */
};

static bool take(const struct reader *reader)
{
    struct datagram datagram = {
        .part = { { reader->pair->bytes, reader->pair->payload + 1 } },
        .parts = 1,
    };
    int error;

    return datagram_receive_single(reader->pair->receiver, &datagram, 1, &error) == 1;
}

static void wait_for_one(const struct reader *reader)
{
    struct pollfd ready = { .fd = reader->pair->receiver, .events = POLLIN };

    atomic_store_explicit(&reader->board->waiting, true, memory_order_release);
    if (poll(&ready, 1, WAIT_MS) > 0)
        atomic_store_explicit(&reader->board->waiting, false, memory_order_release);
}

/* The child's whole life. A datagram's time begins when the one before it is done, or, where none
 * was there, when one came: time lost to the scheduler is part of it, as it is in any reader. */
static void read_slowly(void *context, int64_t parent)
{
    struct reader *reader = context;
    struct board *board = reader->board;
    struct mono begin = mono_now();
    int64_t processed = 0, busy_ns = 0;

    close(reader->pair->sender);
    atomic_store_explicit(&board->ready, true, memory_order_release);
    while (!child_orphaned(parent)) {
        struct mono end;

        if (!take(reader)) {
            wait_for_one(reader);
            begin = mono_now();
            continue;
        }
        do
            end = mono_now();
        while (mono_between(begin, end) < reader->read_ns);
        busy_ns += mono_between(begin, end);
        begin = end;
        atomic_store_explicit(&board->busy_ns, busy_ns, memory_order_relaxed);
        atomic_store_explicit(&board->processed, ++processed, memory_order_release);
    }
}

enum status reader_start(const struct pair *pair, int64_t read_ns, struct reader **out_reader,
                         struct fault *fault)
{
    struct reader *reader = calloc(1, sizeof *reader);
    void *memory = NULL;
    enum status status;

    if (reader == NULL)
        abort();
    reader->pair = pair;
    reader->read_ns = read_ns;
    status = memory_share(sizeof *reader->board, &memory, fault);
    reader->board = memory;
    if (status == STATUS_OK)
        status = child_start(read_slowly, reader, &reader->child, fault);
    reader->pid = reader->child.pid;
    if (status != STATUS_OK) {
        reader_end(reader);
        return status;
    }
    *out_reader = reader;
    return STATUS_OK;
}

struct reader_count reader_count(const struct reader *reader)
{
    const struct board *board = reader->board;
    /* The time of one datagram more than are counted may be in it, for a moment. */
    int64_t processed = atomic_load_explicit(&board->processed, memory_order_acquire);

    return (struct reader_count){
        .processed = processed,
        .busy_ns = atomic_load_explicit(&board->busy_ns, memory_order_relaxed),
        .ready = atomic_load_explicit(&board->ready, memory_order_acquire),
        .waiting = atomic_load_explicit(&board->waiting, memory_order_acquire),
    };
}

enum status reader_check(struct reader *reader, struct fault *fault)
{
    char how[64];

    if (child_running(&reader->child, how, sizeof how))
        return STATUS_OK;
    return fault_set(fault, STATUS_IO, "the reader process %lld %s after %lld datagrams",
                     (long long)reader->pid, how, (long long)reader_count(reader).processed);
}

int64_t reader_pid(const struct reader *reader)
{
    return reader->child.pid;
}

void reader_end(struct reader *reader)
{
    if (reader == NULL)
        return;
    child_end(&reader->child);
    memory_unshare(reader->board, sizeof *reader->board);
    free(reader);
}
