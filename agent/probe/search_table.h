/* What is known of each size: a part of search. Pure; included by search and its parts alone.
 *
 * Sizes are counted as ranks, 0 for the floor, without a place for sizes that no datagram has: the
 * next rank is the next possible size.
 */
#ifndef SONDE_PROBE_SEARCH_TABLE_H
#define SONDE_PROBE_SEARCH_TABLE_H

#include "agent/probe/search.h"

enum { SEARCH_RECORDS = 64, SEARCH_REFUSALS = 3 };

struct search_scale {
    int64_t floor, gap_first, gap_last; /* the gap: empty when last < first, else above the floor */
    int32_t count;                      /* ranks: 0 .. count - 1 */
};

/* One size that was asked. What stands behind `from` counts tries in a row. */
struct search_record {
    int32_t rank;
    int32_t asked, acks;
    uint32_t last_ack; /* the id; of acks > 0 */
    uint32_t from;     /* only what was sent with this id or a later one counts below */
    int32_t lost, refused;
    int32_t refused_as;     /* the value of `asked` when it was refused last */
    int32_t passed, missed; /* small datagrams meanwhile */
};

/* lo is the largest proven rank (-1: none), hi the smallest that is proven not to pass (count:
 * none), hint what an ICMP error or a guess says would not pass (count: nothing). */
struct search_table {
    struct search_scale scale;
    int32_t lo, hi, hint;
    bool local; /* hi is a refusal of this host */
    int32_t tries;
    int32_t doubt; /* losses in a row that make a suspect: 1, and more on a path that was suspected
                    * wrongly, up to `tries` */
    size_t count;
    struct search_record records[SEARCH_RECORDS]; /* by rank, none below lo */
};

/* `floor` and `ceiling` are no sizes of the gap. */
struct search_scale search_scale_of(int64_t floor, int64_t ceiling, int64_t gap_first,
                                    int64_t gap_last);
int64_t search_scale_size(const struct search_scale *scale, int32_t rank);

/* The largest rank whose size is at most `size`; -1: below the floor. */
int32_t search_scale_rank(const struct search_scale *scale, int64_t size);

/* Forgets everything but the scale and the tries. */
void search_table_reset(struct search_table *table);

/* The record of a rank; NULL: it was not asked. */
struct search_record *search_table_find(struct search_table *table, int32_t rank);

/* As datagram `id`, a rank is asked. True when it had been asked before. */
bool search_table_asked(struct search_table *table, int32_t rank, uint32_t id);

void search_table_acked(struct search_table *table, int32_t rank, uint32_t id);
void search_table_lost(struct search_table *table, int32_t rank, uint32_t id);

/* The latest asking of this rank was refused. */
void search_table_refused(struct search_table *table, int32_t rank);

/* The fate of small datagram `id`, for all sizes that are being tried. */
void search_table_control(struct search_table *table, uint32_t id, bool passed);

/* A small datagram that was given up has come after all. */
void search_table_control_late(struct search_table *table, uint32_t id);

/* Whether a size was lost, but not often enough to be suspected. */
bool search_table_open(const struct search_table *table, const struct search_record *record);

/* Says whether a record's losses prove that its size does not pass. */
bool search_table_proven(const struct search_table *table, const struct search_record *record);

/* Lowers hi to the smallest proven record. */
void search_table_judge(struct search_table *table);

/* The smallest rank above lo that is not believed to pass, for whatever reason; count: none. */
int32_t search_table_suspect(const struct search_table *table);

#endif
