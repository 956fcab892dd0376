/* Owns the table of engines and which of them this platform has. */
#include "agent/probe/engine.h"

enum { CACHED_BYTES = 256 << 10 };

static bool always(void)
{
    return true;
}

static bool never(void)
{
    return false;
}

static const struct engine engines[ENGINE_COUNT] = {
    [ENGINE_SINGLE] = { .kind = ENGINE_SINGLE,
                        .available = always,
                        .missing = "",
                        .receive = datagram_receive_single,
                        .send = datagram_send_single },
    [ENGINE_BATCH] = { .kind = ENGINE_BATCH,
                       .available = datagram_batch_available,
                       .missing = "this system has no recvmmsg and sendmmsg",
                       .receive = datagram_receive_batch,
                       .send = datagram_send_batch },
    [ENGINE_URING] = { .kind = ENGINE_URING,
                       .available = never,
                       .missing = "this build has no io_uring",
                       .receive = NULL,
                       .send = NULL },
};

const struct engine *engine_find(enum engine_kind kind, struct fault *fault)
{
    if (engines[kind].available())
        return &engines[kind];
    fault_set(fault, STATUS_UNSUPPORTED, "engine %s is not available here: %s", engine_names[kind],
              engines[kind].missing);
    return NULL;
}

enum engine_kind engine_best(void)
{
    return engines[ENGINE_BATCH].available() ? ENGINE_BATCH : ENGINE_SINGLE;
}

size_t engine_read_batch(size_t payload)
{
    size_t count = payload == 0 ? DATAGRAM_BATCH_MAX : CACHED_BYTES / payload;

    return count < 1 ? 1 : count > DATAGRAM_BATCH_MAX ? DATAGRAM_BATCH_MAX : count;
}
