/* Owns the model of a slow reader. */
#include "agent/probe/slow_reader.h"

#include <math.h>

double slow_reader_model(int64_t sent, double sending_s, int64_t held, double read_s)
{
    double room = (double)held;

    if (sent <= 0 || read_s <= 0)
        return 0;
    room += sending_s / read_s;
    return room >= (double)sent ? 0 : 1 - room / (double)sent;
}

int64_t slow_reader_held(int64_t sent, double sending_s, int64_t held, double read_s, double share)
{
    double read = read_s > 0 ? sending_s / read_s : INFINITY;
    double lump = floor((double)held * share);

    /* A reader that keeps up finds its queue empty now and then, and all is given back. */
    if (sent <= 0 || read >= (double)sent)
        return held;
    return held - (int64_t)(fmin(lump, read) * (1 + read / (double)sent) / 2);
}
