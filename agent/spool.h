/* Results that the controller has not yet committed: a SQLite file (WAL, synchronous). */
#ifndef SONDE_AGENT_SPOOL_H
#define SONDE_AGENT_SPOOL_H

#include "proto/wire/message.h"

struct spool;

/* Opens or makes it, in a folder that exists; a process opens a file once. One that is no spool is
 * refused, not touched; STATUS_CORRUPT for a damaged one. Above `max_bytes` of bodies the oldest
 * are dropped and counted (the count is kept in the file). */
enum status spool_open(const char *path, int64_t max_bytes, struct spool **out_spool,
                       struct fault *fault) must_check;
void spool_close(struct spool *spool);

/* Durable when it returns STATUS_OK. STATUS_EXISTS: this id is there. STATUS_NO_SPACE: the disk is
 * full; nothing was dropped for it. STATUS_AGAIN: the file is locked by somebody else.
 * STATUS_TOO_LARGE: the body is above max_bytes or LIMIT_RESULT_BYTES. */
enum status spool_put(struct spool *spool, const struct message_result *result,
                      struct fault *fault) must_check;

/* The first result behind `after` (0: the oldest) and its place; STATUS_NOT_FOUND when there is
 * none. *out_result is an empty message_result; the caller frees it. */
enum status spool_next(struct spool *spool, int64_t after, struct message_result *out_result,
                       int64_t *out_place, struct fault *fault) must_check;

/* Forgets these ids; unknown ones are ignored. */
enum status spool_forget(struct spool *spool, const struct list *ids,
                         struct fault *fault) must_check;

void spool_report(const struct spool *spool, struct spool_report *out_report);

#endif
