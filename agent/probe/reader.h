/* A reader in a process of its own that takes its time over each datagram. */
#ifndef SONDE_PROBE_READER_H
#define SONDE_PROBE_READER_H

#include "agent/probe/pair.h"

struct reader;

/* What the reader says of itself. */
struct reader_count {
    int64_t processed; /* datagrams that it is done with */
    int64_t busy_ns;   /* that they took, waiting for one not included */
    bool ready;        /* it has begun */
    bool waiting;      /* it found nothing to read */
};

/* Starts a process that reads `pair`'s receiver (borrowed until reader_end) and takes read_ns for
 * each datagram, the reading included, without pause while there are some. *out_reader is the
 * caller's. The calling process must have one thread (child.h). */
enum status reader_start(const struct pair *pair, int64_t read_ns, struct reader **out_reader,
                         struct fault *fault) must_check;

/* What it has done until now; also after its end, however it ended. */
struct reader_count reader_count(const struct reader *reader);

/* STATUS_IO, and how it ended, when it no longer runs. */
enum status reader_check(struct reader *reader, struct fault *fault) must_check;

/* The process id, for words; 0 when it has ended. */
int64_t reader_pid(const struct reader *reader);

/* Ends the process and frees. NULL is allowed. */
void reader_end(struct reader *reader);

#endif
