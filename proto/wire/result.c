/* Owns the tables of run.json: every key, its range and its meaning, once. */
#include "proto/wire/result.h"

#include "proto/wire/record_table.h"

#include <stdio.h>

const char *const case_status_names[] = { "pass", "fail", "error" };
const char *const evidence_names[] = { "per-socket", "system-wide" };
static const char *const rtt_clock_names[] = { "user", "kernel", "hardware" };

static const struct field grant_fields[] = {
    COUNT(struct grant, asked, "asked for, bytes"),
    COUNT(struct grant, granted, "as the kernel reads it back, bytes (Linux books the double)"),
    { FIELD_AT(struct grant, limit), .type = FIELD_TEXT, .flags = FIELD_NULLABLE | FIELD_OPTIONAL,
      .size = sizeof(((struct grant *)0)->limit),
      .help = "the limit that capped it (a key of the host's limits), or null" },
};
const struct record grant_record = RECORD(grant, grant_fields);

static const struct field refused_fields[] = {
    COUNT_AS(struct refused, eagain, "EAGAIN", "send buffer full"),
    COUNT_AS(struct refused, enobufs, "ENOBUFS", "no buffers in this host"),
    COUNT_AS(struct refused, emsgsize, "EMSGSIZE", "larger than this host sends"),
    COUNT_AS(struct refused, eperm, "EPERM", "refused by this host's filter"),
    COUNT_AS(struct refused, econnrefused, "ECONNREFUSED", "nobody listens there"),
    COUNT(struct refused, other, "any other error"),
};
const struct record refused_record = RECORD(refused, refused_fields);

static const struct field lost_to_fields[] = {
    COUNT(struct lost_to, receive_buffer, "the receiving socket's buffer was full"),
    COUNT(struct lost_to, sender_host, "dropped in the sending host, by its counters"),
    COUNT(struct lost_to, receiver_host, "dropped in the receiving host, by its counters"),
    COUNT(struct lost_to, network, "left one host and did not reach the other"),
    COUNT(struct lost_to, unattributed, "no place found"),
};
const struct record lost_to_record = RECORD(lost_to, lost_to_fields);

static const struct field leg_fields[] = {
    COUNT(struct leg, attempted, "sent and refused datagrams"),
    PART(struct leg, refused, refused_record, "not taken by the sending kernel, by cause"),
    COUNT(struct leg, sent, "taken by the sending kernel"),
    COUNT(struct leg, received, "arrived in time; unique datagrams"),
    COUNT(struct leg, late, "arrived after the drain"),
    COUNT(struct leg, lost, "never arrived"),
    PART(struct leg, lost_to, lost_to_record, "the lost datagrams by place"),
    CHOICE(struct leg, evidence, evidence_names, EVIDENCE_COUNT, "what the places rest on"),
    COUNT(struct leg, duplicates, "arrived more than once"),
    COUNT(struct leg, reordered, "arrived behind a later one (RFC 4737)"),
    COUNT(struct leg, corrupt, "arrived with wrong contents"),
    COUNT(struct leg, foreign, "of another phase, session or run"),
};
const struct record leg_record = RECORD(leg, leg_fields);

static const struct field phase_fields[] = {
    REAL(struct phase, seconds, LIMIT_SECONDS * 2,
         "first send to the end of sending or the last echo, the later of both"),
    PART(struct phase, forward, leg_record, "sender to echo"),
    PART(struct phase, reverse, leg_record, "echo to sender"),
    COUNT(struct phase, lost_echoes, "forward lost + reverse lost + echoes refused"),
    REAL_OR_NULL(struct phase, echoes_per_second, 1e12, "null when the case failed"),
    { FIELD_AT(struct phase, slip_ns), .type = FIELD_INT, .flags = FIELD_NULLABLE | FIELD_OPTIONAL,
      .max = COUNT_MAX,
      .help = "open loop: the largest delay of a burst, ns; null in closed loops" },
    { FIELD_AT(struct phase, skipped_bursts), .type = FIELD_INT,
      .flags = FIELD_NULLABLE | FIELD_OPTIONAL, .max = COUNT_MAX,
      .help = "open loop: bursts left out because the sender was too late" },
    { FIELD_AT(struct phase, stalls_ns), .type = FIELD_LIST, .of = FIELD_INT,
      .flags = FIELD_OPTIONAL, .max = COUNT_MAX, .size = LIMIT_HOSTS,
      .help = "between two hosts: the longest time that each was not run, ns; it is in the RTT" },
    { FIELD_AT(struct phase, counters), .type = FIELD_LIST, .of = FIELD_NAMED, .size = LIMIT_HOSTS,
      .names = counter_names, .name_count = COUNTER_COUNT,
      .help = "kernel counters' differences over the phase, one per host" },
};
const struct record phase_record = RECORD_OR_NULL(phase, phase_fields);

static const struct field rtt_fields[] = {
    CHOICE(struct rtt, clock, rtt_clock_names, RTT_CLOCK_COUNT, "where arrivals were stamped"),
    COUNT(struct rtt, count, "samples"),
    COUNT_OR_NULL(struct rtt, min, "ns"),
    COUNT_OR_NULL(struct rtt, p50, "ns"),
    COUNT_OR_NULL(struct rtt, p90, "ns; null below 10 samples"),
    COUNT_OR_NULL(struct rtt, p99, "ns; null below 100 samples"),
    COUNT_OR_NULL(struct rtt, p999, "ns; null below 1,000 samples"),
    COUNT_OR_NULL(struct rtt, max, "ns"),
    { FIELD_AT(struct rtt, histogram), .type = FIELD_LIST, .of = FIELD_PAIR,
      .size = LIMIT_HISTOGRAM_BUCKETS, .help = "[lowest ns of the bucket, samples]" },
};
const struct record rtt_record = RECORD_OR_NULL(rtt, rtt_fields);

static const struct field delay_fields[] = {
    INT(struct delay, min, -COUNT_MAX, COUNT_MAX, "ns"),
    INT(struct delay, mean, -COUNT_MAX, COUNT_MAX, "ns"),
    INT(struct delay, max, -COUNT_MAX, COUNT_MAX, "ns"),
};
const struct record delay_record = RECORD_OR_NULL(delay, delay_fields);

static const struct field one_way_fields[] = {
    COUNT_OR_NULL(struct one_way, error_ns, "both clocks' largest errors together, ns"),
    TEXT_OR_NULL(struct one_way, withheld, "why a leg is null; null when none is"),
    PART_OR_NULL(struct one_way, forward, delay_record, "sender to echo"),
    PART_OR_NULL(struct one_way, reverse, delay_record, "echo to sender"),
};
const struct record one_way_record = RECORD_OR_NULL(one_way, one_way_fields);

static const struct field case_sockets_fields[] = {
    PART(struct case_sockets, rcvbuf, grant_record, "receive buffer of the echo role's socket"),
    PART(struct case_sockets, sndbuf, grant_record, "send buffer of the clients' sockets"),
    REAL_OR_NULL(struct case_sockets, bytes_per_datagram, 1e12,
                 "what the kernel charges for one queued datagram"),
    COUNT_OR_NULL(struct case_sockets, burst_capacity,
                  "datagrams that an empty receive buffer holds"),
    { FIELD_AT(struct case_sockets, calibration_drops), .type = FIELD_INT,
      .flags = FIELD_NULLABLE | FIELD_OPTIONAL, .max = COUNT_MAX,
      .help = "dropped on purpose to learn charge and rule; in the system's counters" },
};
static const struct record case_sockets_record = RECORD_OR_NULL(case_sockets, case_sockets_fields);

static const struct field first_burst_fields[] = {
    COUNT(struct first_burst, sent, "datagrams of the first burst of the measure phase"),
    COUNT_OR_NULL(struct first_burst, predicted_lost,
                  "by charge and rule; null where the reader races the burst"),
    COUNT(struct first_burst, lost, "of them never arrived at the echo role"),
};
static const struct record first_burst_record = RECORD_OR_NULL(first_burst, first_burst_fields);

static const struct field agreement_fields[] = {
    COUNT(struct agreement, hellos_sent, "small datagrams before the agreement, repeats included"),
    COUNT(struct agreement, hellos_answered, "of them that were answered"),
    COUNT_OR_NULL(struct agreement, rtt_ns, "round trip of the answer that counted, ns"),
    { FIELD_AT(struct agreement, strangers), .type = FIELD_INT,
      .flags = FIELD_NULLABLE | FIELD_OPTIONAL, .max = COUNT_MAX,
      .help = "came to the echo role outside of phases and got no answer" },
};
const struct record agreement_record = RECORD_OR_NULL(agreement, agreement_fields);

static const struct field case_phases_fields[] = {
    PART_OR_NULL(struct case_phases, warmup, phase_record, "null without a warm-up"),
    PART_OR_NULL(struct case_phases, measure, phase_record, "what counts"),
};
static const struct record case_phases_record = RECORD(case_phases, case_phases_fields);

static const struct field case_result_fields[] = {
    COUNT(struct case_result, index, "position in the plan, from 0"),
    { FIELD_AT(struct case_result, params), .type = FIELD_INLINE, .record = &case_params_record,
      .help = "the parameters" },
    CHOICE(struct case_result, status, case_status_names, CASE_STATUS_COUNT,
           "pass: nothing lost, refused, corrupt or late in the measure phase"),
    TEXT_OR_NULL(struct case_result, error, "why the case could not be measured"),
    PART_OR_NULL(struct case_result, sockets, case_sockets_record, "buffers and their charge"),
    PART_OR_NULL(struct case_result, first_burst, first_burst_record, "prediction and outcome"),
    { FIELD_AT(struct case_result, agreement), .type = FIELD_RECORD,
      .flags = FIELD_NULLABLE | FIELD_OPTIONAL, .record = &agreement_record,
      .help = "between two hosts: what was sent before the first phase" },
    PART(struct case_result, phases, case_phases_record, "what was counted"),
    PART_OR_NULL(struct case_result, rtt_ns, rtt_record,
                 "round-trip time less the echo role's residence, ns"),
    { FIELD_AT(struct case_result, one_way_ns), .type = FIELD_RECORD,
      .flags = FIELD_NULLABLE | FIELD_OPTIONAL, .record = &one_way_record,
      .help = "between two hosts: delay of each leg, where the clocks' error allows it, ns" },
};
const struct record case_result_record = RECORD(case_result, case_result_fields);

static int64_t total(const int64_t *counts, size_t count)
{
    int64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum = counts[i] > INT64_MAX - sum ? INT64_MAX : sum + counts[i];
    return sum;
}

int64_t refused_total(const struct refused *refused)
{
    const int64_t counts[] = { refused->eagain, refused->enobufs,      refused->emsgsize,
                               refused->eperm,  refused->econnrefused, refused->other };

    return total(counts, RECORD_COUNT(counts));
}

int64_t lost_to_total(const struct lost_to *places)
{
    const int64_t counts[] = { places->receive_buffer, places->sender_host, places->receiver_host,
                               places->network, places->unattributed };

    return total(counts, RECORD_COUNT(counts));
}

int64_t phase_lost_echoes(const struct phase *phase)
{
    return phase->forward.lost + phase->reverse.lost + refused_total(&phase->reverse.refused);
}

bool phase_passed(const struct phase *phase)
{
    const struct leg *forward = &phase->forward;
    const struct leg *reverse = &phase->reverse;

    return phase->lost_echoes == 0 && refused_total(&forward->refused) == 0 &&
           refused_total(&reverse->refused) == 0 && forward->corrupt == 0 &&
           reverse->corrupt == 0 && forward->late == 0 && reverse->late == 0;
}
