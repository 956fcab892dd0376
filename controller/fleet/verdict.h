/* Two ends, one account: joins the reports of a case. Pure.
 *
 * The forward leg takes what was attempted, refused and sent from the sender's end and what arrived
 * from the echo's; the reverse leg the other way round. What is missing goes to the receiving
 * socket's buffer by its own count, then to drops that the hosts' counters show, and the rest to
 * the network, since both ends have counted (proto/wire/account.h). Refused datagrams were never
 * sent; foreign ones belong to nobody; tail loss shows, as the sender's total is known.
 */
#ifndef SONDE_FLEET_VERDICT_H
#define SONDE_FLEET_VERDICT_H

#include "proto/wire/report.h"

/* Joins two reports of the same run, session and case. *out_result (the caller's, record_done of
 * case_result_record) always holds the case: contradictions and errors of an end make its status
 * "error", with the words. One of the two may be NULL: then it says whose report is missing. */
void verdict_join(const struct report *sender, const struct report *echo,
                  struct case_result *out_result);

/* What of the delays that the sender's report has can be told: a leg's only when neither clock was
 * stepped, both are synchronized and the sum of their largest errors is no larger than the leg's
 * smallest delay; else one_way.withheld says why not. *out_one_way, fresh from record_init, stays
 * null without samples. STATUS_CORRUPT: the
 * sender's delays are out of order. */
enum status verdict_one_way(const struct report *sender, const struct report *echo,
                            struct one_way *out_one_way, struct fault *fault) must_check;

/* What ends said that they could not do, "" for one that did all, in one line. Who was closed with
 * the other one's words is not heard again. False when neither says a thing. */
bool verdict_errors(const char *sender, const char *echo, struct fault *out_words);

/* A host as an archive has it: the facts of the first report of this end, counters from the first
 * one's beginning to the last one's end (the same where there is one only). Frees nothing;
 * *out_host is the caller's. */
void verdict_host(enum end_role role, const struct host *first, const struct host *last,
                  struct host *out_host);

#endif
