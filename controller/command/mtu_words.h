/* What `sonde mtu` says while a run goes on, in words. Pure text; words that come from outside are
 * masked. */
#ifndef SONDE_COMMAND_MTU_WORDS_H
#define SONDE_COMMAND_MTU_WORDS_H

#include "proto/wire/message.h"

enum { MTU_PART_SIZE = 32, MTU_NOTE_SIZE = 160, MTU_LINE_SIZE = 2 * REASON_SIZE + 160 };

/* "IPv4". */
const char *mtu_words_family(enum family family);

/* "IPv4 forward". An enum family, or FAMILY_COUNT where it is not known: "forward". */
void mtu_words_part(int family, enum mtu_direction direction, char out_text[MTU_PART_SIZE]);

/* How far a phase is: "between 1400 and 1500, 3 of 16 flows done, 120 datagrams"; behind
 * the search "watching for 12.3 s, 240 datagrams" or "loss by size, 2000 datagrams"; before its
 * first datagram its state. */
void mtu_words_progress(const struct message_run_progress *progress, const struct mtu_common *asked,
                        char out_text[MTU_NOTE_SIZE]);

/* A change that was noticed: "12.3 s: IPv4 forward, flow 3: 1400, was 1500"; the flow only where
 * there are several. */
void mtu_words_moved(const struct message_run_moved *moved, int64_t flows,
                     char out_text[MTU_LINE_SIZE]);

/* A direction that is done: "IPv4 forward: 1400 (UDP payload 1372), signalled: 10.9.1.254 said so
 * (ICMP); was 1500". */
void mtu_words_done(const struct mtu_row *row, char out_text[MTU_LINE_SIZE]);

/* The row's path MTU is known to be another one than in the run before. */
bool mtu_words_has_moved(const struct mtu_row *row);

#endif
