/* Owns how two ends' counts become one account, and what makes two reports contradict each other.
 * Reports come from agents: every number in one is doubted before it is added to another. */
#include "controller/fleet/verdict.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/text.h"
#include "proto/wire/account.h"
#include "proto/wire/record.h"

/* No count of datagrams of one phase is near this; sums of a few such numbers fit into 64 bits. */
#define COUNT_REASON (INT64_C(1) << 56)
#define RATE_REASON  1e12 /* echoes per second, as result.c allows */

static bool reasonable(const int64_t *counts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (counts[i] > COUNT_REASON)
            return false;
    }
    return true;
}

static bool leg_reasonable(const struct leg *leg)
{
    const struct refused *refused = &leg->refused;
    const int64_t counts[] = {
        leg->attempted,    refused->eagain, refused->enobufs, refused->eperm, refused->econnrefused,
        refused->emsgsize, refused->other,  leg->sent,        leg->received,  leg->late,
        leg->duplicates,   leg->reordered,  leg->corrupt,     leg->foreign
    };

    return reasonable(counts, RECORD_COUNT(counts));
}

/* What one end says of a phase, before anybody adds to it. */
static enum status check_half(const struct half_phase *half, const struct leg *sending,
                              struct fault *fault)
{
    if (!leg_reasonable(&half->forward) || !leg_reasonable(&half->reverse) ||
        !reasonable(&half->drops, 1) || !reasonable(&half->first_burst, 1) ||
        !reasonable(half->counters.value, COUNTER_COUNT))
        return fault_set(fault, STATUS_CORRUPT, "counts beyond all reason");
    if (sending->attempted != sending->sent + refused_total(&sending->refused))
        return fault_set(fault, STATUS_CORRUPT,
                         "%lld attempted, but sent (%lld) and refused (%lld) do not add up to it",
                         (long long)sending->attempted, (long long)sending->sent,
                         (long long)refused_total(&sending->refused));
    return STATUS_OK;
}

/* One leg of what its two ends say. */
static void join_leg(const struct leg *sending, const struct leg *receiving, struct leg *out_leg)
{
    *out_leg = (struct leg){ .attempted = sending->attempted,
                             .refused = sending->refused,
                             .sent = sending->sent,
                             .received = receiving->received,
                             .late = receiving->late,
                             .duplicates = receiving->duplicates,
                             .reordered = receiving->reordered,
                             .corrupt = receiving->corrupt,
                             .foreign = receiving->foreign };
}

/* --- hosts ---------------------------------------------------------------------------------- */

/* The length of the address in "10.9.1.1:7900", "[fd00::1]:7900". */
static size_t host_length(const char *endpoint)
{
    const char *colon = strrchr(endpoint, ':');

    return colon == NULL ? strlen(endpoint) : (size_t)(colon - endpoint);
}

/* Host names and kernels' facts do not tell namespaces of one machine apart; addresses do: what
 * never leaves a host goes to one of its own addresses, and then comes from that same one, or to
 * and from its loopback. */
static bool within_one_host(const struct report *sender)
{
    size_t length = host_length(sender->local);

    if (length == 0)
        return false;
    return strncmp(sender->local, "127.", 4) == 0 || strncmp(sender->local, "[::1]:", 6) == 0 ||
           (host_length(sender->peer) == length &&
            strncmp(sender->local, sender->peer, length) == 0);
}

static bool has_counted(const struct counters *delta)
{
    for (size_t i = 0; i < COUNTER_COUNT; i++) {
        if (delta->value[i] != NONE_INT)
            return true;
    }
    return false;
}

/* Both ends have read the same counters at nearly the same time: the larger of each. */
static struct counters larger_of(const struct counters *a, const struct counters *b)
{
    struct counters larger;

    for (size_t i = 0; i < COUNTER_COUNT; i++)
        larger.value[i] = a->value[i] > b->value[i] ? a->value[i] : b->value[i];
    return larger;
}

/* Gives what is missing its places. */
static enum status settle(const struct half_phase *sender, const struct half_phase *echo,
                          bool one_host, struct phase *phase, struct fault *fault)
{
    struct counters both = larger_of(&sender->counters, &echo->counters);
    struct host_drops at_sender = host_drops_of(one_host ? &both : &sender->counters);
    struct host_drops at_echo = host_drops_of(&echo->counters);
    struct host_drops *other = one_host ? &at_sender : &at_echo;
    bool between = !one_host && has_counted(&sender->counters) && has_counted(&echo->counters);
    enum account_rest rest = between ? REST_NETWORK : REST_UNATTRIBUTED;
    struct socket_evidence socket = { echo->per_socket, echo->drops };
    struct fault leg = { "" };
    enum status status;

    status = account_settle(&phase->forward,
                            &(struct account_evidence){ socket, &at_sender, other, rest }, &leg);
    if (status != STATUS_OK)
        return fault_set(fault, status, "forward leg: %s", leg.text);
    socket = (struct socket_evidence){ sender->per_socket, sender->drops };
    /* A system-wide count of one host has the drops of both roles in it. */
    if (one_host && !socket.per_socket)
        socket.drops -= phase->forward.lost_to.receive_buffer;
    status = account_settle(&phase->reverse,
                            &(struct account_evidence){ socket, other, &at_sender, rest }, &leg);
    if (status != STATUS_OK)
        return fault_set(fault, status, "reverse leg: %s", leg.text);
    phase->lost_echoes = phase_lost_echoes(phase);
    return STATUS_OK;
}

/* --- phases --------------------------------------------------------------------------------- */

static enum status check_echoes(const struct phase *phase, struct fault *fault)
{
    const struct leg *forward = &phase->forward;
    int64_t arrived = forward->received + forward->late + forward->duplicates;

    if (phase->reverse.attempted <= arrived)
        return STATUS_OK;
    return fault_set(fault, STATUS_CORRUPT, "%lld echoes were made of %lld datagrams that arrived",
                     (long long)phase->reverse.attempted, (long long)arrived);
}

static enum status join_halves(const struct half_phase *sender, const struct half_phase *echo,
                               bool one_host, struct phase *phase, struct fault *fault)
{
    struct fault end = { "" };
    enum status status = check_half(sender, &sender->forward, &end);

    if (status != STATUS_OK)
        return fault_set(fault, status, "the sender's report: %s", end.text);
    status = check_half(echo, &echo->reverse, &end);
    if (status != STATUS_OK)
        return fault_set(fault, status, "the echo's report: %s", end.text);
    join_leg(&sender->forward, &echo->forward, &phase->forward);
    join_leg(&echo->reverse, &sender->reverse, &phase->reverse);
    status = check_echoes(phase, fault);
    if (status == STATUS_OK)
        status = settle(sender, echo, one_host, phase, fault);
    return status;
}

/* What both hosts say of a phase beyond its datagrams. */
static void keep_host(const struct half_phase *half, struct phase *phase)
{
    *(int64_t *)list_append_sized(&phase->stalls_ns, sizeof(int64_t)) = half->stall_ns;
    *(struct counters *)list_append_sized(&phase->counters, sizeof(struct counters)) =
        half->counters;
}

static void keep_phase(const struct half_phase *sender, const struct half_phase *echo,
                       struct phase *phase)
{
    phase->present = true;
    phase->seconds = sender->seconds;
    phase->slip_ns = sender->slip_ns;
    phase->skipped_bursts = sender->skipped_bursts;
    keep_host(sender, phase);
    keep_host(echo, phase);
    if (phase_passed(phase) && phase->seconds > 0 &&
        (double)phase->reverse.received <= RATE_REASON * phase->seconds)
        phase->echoes_per_second = (double)phase->reverse.received / phase->seconds;
}

/* Joins what both ends have of a phase; it stays null where one has nothing. */
static enum status join_phase(const struct report *const ends[END_COUNT], enum phase_kind kind,
                              struct phase *phase, struct fault *fault)
{
    const struct half_phase *halves[END_COUNT];
    struct fault why = { "" };
    enum status status;

    for (size_t i = 0; i < END_COUNT; i++)
        halves[i] = kind == PHASE_WARMUP ? &ends[i]->phases.warmup : &ends[i]->phases.measure;
    if (!halves[END_SENDER]->present || !halves[END_ECHO]->present)
        return fault_set(fault, STATUS_NOT_FOUND, "the %s phase is missing in the report of %s",
                         phase_kind_names[kind],
                         halves[END_SENDER]->present ? "the echo's end" : "the sender's end");
    status = join_halves(halves[END_SENDER], halves[END_ECHO], within_one_host(ends[END_SENDER]),
                         phase, &why);
    if (status != STATUS_OK)
        return fault_set(fault, status, "%s phase: %s", phase_kind_names[kind], why.text);
    keep_phase(halves[END_SENDER], halves[END_ECHO], phase);
    return STATUS_OK;
}

static enum status join_first_burst(const struct report *const ends[END_COUNT],
                                    struct first_burst *first, struct fault *fault)
{
    const struct case_params *params = &ends[END_SENDER]->params;
    int64_t sent = ends[END_SENDER]->phases.measure.first_burst;
    int64_t arrived = ends[END_ECHO]->phases.measure.first_burst;

    if (arrived > sent || sent > params->common.clients * params->window)
        return fault_set(fault, STATUS_CORRUPT,
                         "first burst: %lld of %lld datagrams arrived, of %lld clients' windows of "
                         "%lld",
                         (long long)arrived, (long long)sent, (long long)params->common.clients,
                         (long long)params->window);
    *first = (struct first_burst){
        .present = true, .sent = sent, .predicted_lost = NONE_INT, .lost = sent - arrived
    };
    return STATUS_OK;
}

static void join_rtt(const struct report *sender, struct rtt *out_rtt)
{
    const int64_t(*buckets)[2] = sender->rtt_ns.histogram.items;

    *out_rtt = sender->rtt_ns;
    out_rtt->histogram = (struct list){ 0 };
    for (size_t i = 0; i < sender->rtt_ns.histogram.count; i++)
        memcpy(list_append_sized(&out_rtt->histogram, sizeof *buckets), buckets[i],
               sizeof *buckets);
}

/* --- the case ------------------------------------------------------------------------------- */

/* Are they of one case, and is there one of each end? */
static enum status check_pair(const struct report *sender, const struct report *echo,
                              struct fault *fault)
{
    if (sender->role != END_SENDER || echo->role != END_ECHO)
        return fault_set(fault, STATUS_CORRUPT, "both reports are of the %s's end",
                         end_role_names[sender->role]);
    if (strcmp(sender->run, echo->run) != 0 || sender->index != echo->index ||
        strcmp(sender->session, echo->session) != 0)
        return fault_set(fault, STATUS_CORRUPT,
                         "the two reports are of two sessions, %s (sender) and %s (echo)",
                         sender->session, echo->session);
    if (!case_params_equal(&sender->params, &echo->params))
        return fault_set(fault, STATUS_CORRUPT, "the two reports are of different parameters");
    return STATUS_OK;
}

static enum status check_outcome(const struct case_result *result, struct fault *fault)
{
    const struct phase *measure = &result->phases.measure;

    if (!phase_passed(measure))
        return STATUS_OK;
    if (measure->reverse.received == 0)
        return fault_set(fault, STATUS_CORRUPT, "no datagram was sent in the measure phase");
    if (isnan(measure->echoes_per_second))
        return fault_set(fault, STATUS_CORRUPT, "%lld echoes in %g seconds are beyond all reason",
                         (long long)measure->reverse.received, measure->seconds);
    if (!result->rtt_ns.present || result->rtt_ns.count == 0)
        return fault_set(fault, STATUS_CORRUPT, "the sender's report has no round-trip times");
    return STATUS_OK;
}

static enum status join(const struct report *const ends[END_COUNT], struct case_result *result,
                        struct fault *fault)
{
    struct case_sockets *sockets = &result->sockets;
    struct fault broken = { "" };
    bool said = verdict_errors(ends[END_SENDER]->error, ends[END_ECHO]->error, fault);
    enum status status = STATUS_OK;

    sockets->present = true;
    sockets->rcvbuf = ends[END_ECHO]->rcvbuf;
    sockets->sndbuf = ends[END_SENDER]->sndbuf;
    if (result->params.common.warmup_s > 0)
        status = join_phase(ends, PHASE_WARMUP, &result->phases.warmup, &broken);
    if (status == STATUS_OK)
        status = join_phase(ends, PHASE_MEASURE, &result->phases.measure, &broken);
    if (status == STATUS_OK)
        status = join_first_burst(ends, &result->first_burst, &broken);
    join_rtt(ends[END_SENDER], &result->rtt_ns);
    if (status == STATUS_OK)
        status = check_outcome(result, &broken);
    if (status == STATUS_OK)
        status = verdict_one_way(ends[END_SENDER], ends[END_ECHO], &result->one_way_ns, &broken);
    /* What an end says of itself explains more than what does not fit because of it. */
    if (said)
        return STATUS_CORRUPT;
    return status == STATUS_OK ? status : fault_set(fault, status, "%s", broken.text);
}

/* The case of two reports; the fault says why it is an error. */
static enum status join_both(const struct report *sender, const struct report *echo,
                             struct case_result *result, struct fault *fault)
{
    const struct report *const ends[END_COUNT] = { sender, echo };
    enum status status = check_pair(sender, echo, fault);

    return status == STATUS_OK ? join(ends, result, fault) : status;
}

static enum status miss_one(const struct report *there, bool sender, struct fault *fault)
{
    return fault_set(fault, STATUS_NOT_FOUND, "the report of the %s's end is missing%s%s",
                     sender ? "sender" : "echo",
                     there->error[0] == '\0' ? "" : "; the other one says: ", there->error);
}

/* The controller closes an end with "...: " and what the other one said. */
static bool repeats(const char *words, const char *other)
{
    return other[0] != '\0' && strlen(words) > strlen(other) && strstr(words, other) != NULL;
}

bool verdict_errors(const char *sender, const char *echo, struct fault *out_words)
{
    bool of_sender = sender[0] != '\0' && !repeats(sender, echo);
    bool of_echo = echo[0] != '\0' && !repeats(echo, sender);

    /* The sender's words are cut rather than that the echo's are lost. */
    if (of_sender && of_echo)
        (void)fault_set(out_words, STATUS_CORRUPT, "sender: %.240s; echo: %s", sender, echo);
    else if (of_sender || of_echo)
        (void)fault_set(out_words, STATUS_CORRUPT, "%s: %s", of_sender ? "sender" : "echo",
                        of_sender ? sender : echo);
    return of_sender || of_echo;
}

void verdict_join(const struct report *sender, const struct report *echo,
                  struct case_result *out_result)
{
    const struct report *any = sender != NULL ? sender : echo;
    struct fault fault = { "" };
    enum status status;

    assert(any != NULL);
    record_init(&case_result_record, out_result);
    out_result->index = any->index;
    out_result->params = any->params;
    if (sender != NULL)
        out_result->agreement = sender->agreement;
    if (echo != NULL && echo->agreement.present)
        out_result->agreement.strangers = echo->agreement.strangers;
    if (sender != NULL && echo != NULL)
        status = join_both(sender, echo, out_result, &fault);
    else
        status = miss_one(any, sender == NULL, &fault);
    if (status == STATUS_OK) {
        out_result->status = phase_passed(&out_result->phases.measure) ? CASE_PASS : CASE_FAIL;
        return;
    }
    out_result->status = CASE_ERROR;
    text_copy(out_result->error, sizeof out_result->error, fault.text);
}
