/* What a RTM_GETQDISC dump says about queueing disciplines. Pure: netlink messages in, a sum out.
 *
 * Only root qdiscs are summed: a classful or multi-queue root counts its children's drops too
 * (net/sched/sch_generic.h, qdisc_tree_reduce_backlog; sch_mq.c, mq_dump).
 */
#ifndef SONDE_HOST_QDISC_H
#define SONDE_HOST_QDISC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct qdisc_sum {
    uint64_t drops; /* of all root qdiscs */
    size_t roots;   /* how many of them */
    size_t skipped; /* messages that could not be read, or had no statistics */
    bool done;      /* the dump's end was seen, or its error */
    int error;      /* errno value that the kernel answered with, else 0 */
};

/* Adds what the messages of one read say to *sum, which starts as zeroes. In the byte order of this
 * machine, as netlink has it. Nothing behind the first message that does not fit is read. */
void qdisc_read(const uint8_t *bytes, size_t length, struct qdisc_sum *sum);

#endif
