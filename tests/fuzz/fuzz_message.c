/* A frame from anywhere: refused with a place, or read by those who may and written the same
 * again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/wire/limits.h"
#include "proto/wire/message.h"
#include "proto/wire/record_msgpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
    if (!holds)
        abort();
}

/* What was read can be written, and its own form is a fixed point. Frees the message. */
static void check_message(union message *message, struct message_way way)
{
    union message back;
    struct buf once, twice;

    buf_init(&once, LIMIT_FRAME * 16);
    buf_init(&twice, LIMIT_FRAME * 16);
    must(record_check(message_kinds[message->type].record, message, NULL) == STATUS_OK);
    must(message_put(message, &once) == STATUS_OK);
    must(message_get(once.data, once.length, way, &back, NULL) == STATUS_OK);
    must(message_put(&back, &twice) == STATUS_OK);
    must(once.length == twice.length && memcmp(once.data, twice.data, once.length) == 0);
    message_done(message);
    message_done(&back);
    buf_done(&once);
    buf_done(&twice);
}

/* One way; true when the message may go it. */
static int try_way(const uint8_t *data, size_t size, struct message_way way)
{
    struct fault form = { "" }, fault = { "" };
    enum status formed = msgpack_check_form(data, size, &form);
    union message message;
    enum status status = message_get(data, size, way, &message, &fault);

    must(formed == STATUS_OK || (status == formed && strcmp(form.text, fault.text) == 0));
    if (status == STATUS_OK) {
        check_message(&message, way);
        return 1;
    }
    must(fault.text[0] == '/' || status == STATUS_DENIED);
    return 0;
}

/* What a result carries is read the same way, and what was read holds. */
static void try_body(const struct record *record, void *body, const uint8_t *data, size_t size)
{
    if (record_from_msgpack(record, data, size, body, NULL) != STATUS_OK)
        return;
    must(record_check(record, body, NULL) == STATUS_OK);
    record_done(record, body);
}

static void try_bodies(const uint8_t *data, size_t size)
{
    struct report report;
    struct mtu_report mtu_report;

    try_body(&report_record, &report, data, size);
    try_body(&mtu_report_record, &mtu_report, data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int ways = 0;

    for (int from = 0; from < ROLE_COUNT; from++) {
        for (int to = 0; to < ROLE_COUNT; to++)
            ways +=
                try_way(data, size,
                        (struct message_way){ (enum identity_role)from, (enum identity_role)to });
    }
    must(ways == 0 || ways == 1 || ways == ROLE_COUNT * ROLE_COUNT);
    try_bodies(data, size);
    return 0;
}
