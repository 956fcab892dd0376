/* Owns the places of what was lost. Knows nothing of who counted. */
#include "proto/wire/account.h"

static int64_t known(const struct counters *delta, enum counter counter)
{
    int64_t value = delta->value[counter];

    return value == NONE_INT || value < 0 ? 0 : value;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

struct host_drops host_drops_of(const struct counters *delta)
{
    /* A full backlog counts in softnet and in the device too, so only one of both is taken. */
    int64_t device_in = larger(known(delta, SOFTNET_DROPPED), known(delta, INTERFACE_RX_DROPPED));

    /* So does a full qdisc: the layer above counts what the qdisc did not take. */
    int64_t queue_out = larger(known(delta, QDISC_DROPPED),
                               known(delta, IP_DISCARDS_OUT) + known(delta, IP6_DISCARDS_OUT));

    return (struct host_drops){
        .sending =
            queue_out + known(delta, INTERFACE_TX_DROPPED) + known(delta, INTERFACE_TX_ERRORS),
        .receiving = device_in + known(delta, INTERFACE_RX_ERRORS) + known(delta, IP_DISCARDS_IN) +
                     known(delta, IP6_DISCARDS_IN) + known(delta, IP_REASSEMBLY_FAILURES) +
                     known(delta, IP6_REASSEMBLY_FAILURES),
    };
}

/* Moves up to `available` of what is still without a place. */
static int64_t place(int64_t *left, int64_t available)
{
    int64_t placed = smaller(*left, larger(available, 0));

    *left -= placed;
    return placed;
}

enum status account_settle(struct leg *leg, const struct account_evidence *evidence,
                           struct fault *fault)
{
    int64_t left = leg->sent - leg->received - leg->late;

    if (left < 0)
        return fault_set(fault, STATUS_CORRUPT,
                         "more arrived than was sent: sent %lld, received %lld, late %lld",
                         (long long)leg->sent, (long long)leg->received, (long long)leg->late);
    leg->lost = left;
    leg->lost_to = (struct lost_to){ 0 };
    leg->lost_to.receive_buffer = place(&left, evidence->socket.drops);
    leg->lost_to.sender_host = place(&left, evidence->sender->sending);
    evidence->sender->sending -= leg->lost_to.sender_host;
    leg->lost_to.receiver_host = place(&left, evidence->receiver->receiving);
    evidence->receiver->receiving -= leg->lost_to.receiver_host;
    if (evidence->rest == REST_NETWORK)
        leg->lost_to.network = left;
    else
        leg->lost_to.unattributed = left;
    leg->evidence = evidence->socket.per_socket && leg->lost_to.sender_host == 0 &&
                            leg->lost_to.receiver_host == 0
                        ? EVIDENCE_PER_SOCKET
                        : EVIDENCE_SYSTEM_WIDE;
    return STATUS_OK;
}
