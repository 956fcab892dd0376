/* Owns how a test of messages fills, writes and reads one. */
#include "tests/proto/wire/message_stand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct message_way message_way_of(enum message_type type)
{
    const struct message_kind *kind = &message_kinds[type];

    return (struct message_way){ kind->from == ROLE_COUNT ? ROLE_AGENT : kind->from,
                                 kind->to == ROLE_COUNT ? ROLE_CONTROLLER : kind->to };
}

void fill_message(struct filler *filler, enum message_type type, union message *out_message)
{
    message_init(out_message, type);
    fill_record(filler, message_kinds[type].record, out_message);
    out_message->type = type;
}

void put_message(const union message *message, struct buf *out_bytes)
{
    buf_init(out_bytes, MESSAGE_ROOM);
    assert_int_equal(message_put(message, out_bytes), STATUS_OK);
}

enum status get_message(const void *bytes, size_t length, struct message_way way,
                        union message *out_message, struct fault *fault)
{
    void *exact = malloc(length + (length == 0));
    enum status status;

    assert_non_null(exact);
    if (length > 0)
        memcpy(exact, bytes, length);
    status = message_get(exact, length, way, out_message, fault);
    free(exact);
    return status;
}

void refuses_message(const struct buf *bytes, struct message_way way, enum status status,
                     const char *expected)
{
    union message message;
    struct fault fault = { "" };

    assert_int_equal(get_message(bytes->data, bytes->length, way, &message, &fault), status);
    assert_string_equal(fault.text, expected);
}
