/* Owns how counts become an account with a place for each lost datagram. */
#include "agent/probe/ledger.h"

#include <errno.h>

void ledger_refuse(struct leg *leg, int error)
{
    leg->attempted++;
    switch (error) {
    case EAGAIN:
        leg->refused.eagain++;
        break;
    case ENOBUFS:
        leg->refused.enobufs++;
        break;
    case EMSGSIZE:
        leg->refused.emsgsize++;
        break;
    case EPERM:
    case EACCES:
        leg->refused.eperm++;
        break;
    case ECONNREFUSED:
        leg->refused.econnrefused++;
        break;
    default:
        leg->refused.other++;
        break;
    }
}

void ledger_refuse_earlier(struct leg *leg)
{
    if (leg->sent == 0)
        return;
    leg->sent--;
    leg->refused.econnrefused++;
}

void ledger_arrive(struct leg *leg, enum arrival arrival, bool late)
{
    switch (arrival) {
    case ARRIVAL_BEYOND:
        leg->foreign++;
        return;
    case ARRIVAL_DUPLICATE:
        leg->duplicates++;
        return;
    case ARRIVAL_REORDERED:
        leg->reordered++;
        break;
    case ARRIVAL_NEW:
        break;
    }
    if (late)
        leg->late++;
    else
        leg->received++;
}

void ledger_merge(struct leg *leg, const struct leg *other)
{
    leg->attempted += other->attempted;
    leg->refused.eagain += other->refused.eagain;
    leg->refused.enobufs += other->refused.enobufs;
    leg->refused.emsgsize += other->refused.emsgsize;
    leg->refused.eperm += other->refused.eperm;
    leg->refused.econnrefused += other->refused.econnrefused;
    leg->refused.other += other->refused.other;
    leg->sent += other->sent;
    leg->received += other->received;
    leg->late += other->late;
    leg->duplicates += other->duplicates;
    leg->reordered += other->reordered;
    leg->corrupt += other->corrupt;
    leg->foreign += other->foreign;
}
