/* Owns the form of frames: their length, where a message's type stands, and the two messages that
 * every connection has. Must not know who sends them. */
#include "proto/link/peer_frame.h"

#include <assert.h>
#include <string.h>

#include "proto/base/octets.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"
#include "proto/wire/limits.h"

/* msgpack's first bytes, and the key as it is written. */
enum { MAP_FIX = 0x80, MAP_16 = 0xde, MAP_32 = 0xdf, TEXT_FIX = 0xa0 };
static const char key[] = "\xa4type";
enum { KEY_SIZE = sizeof key - 1 };

enum frame_look frame_look(const uint8_t *bytes, size_t there, uint32_t *out_length)
{
    uint32_t length;

    if (there < FRAME_HEADER_SIZE)
        return FRAME_PART;
    length = octets_get32(bytes);
    if (length > 0 && length <= LIMIT_FRAME && there - FRAME_HEADER_SIZE < length)
        return FRAME_PART;
    *out_length = length;
    return length == 0 || length > LIMIT_FRAME ? FRAME_WRONG : FRAME_WHOLE;
}

static size_t map_header(uint8_t first)
{
    if (first == MAP_16)
        return 3;
    if (first == MAP_32)
        return 5;
    return (first & 0xf0) == MAP_FIX ? 1 : 0;
}

bool frame_is(const uint8_t *bytes, size_t length, enum message_type type)
{
    size_t header = length > 0 ? map_header(bytes[0]) : 0;
    size_t name = strlen(message_names[type]);

    if (header == 0 || length < header + KEY_SIZE + 1 + name)
        return false;
    bytes += header;
    return memcmp(bytes, key, KEY_SIZE) == 0 && bytes[KEY_SIZE] == (TEXT_FIX | name) &&
           memcmp(bytes + KEY_SIZE + 1, message_names[type], name) == 0;
}

static void put(const void *message, struct buf *out_bytes)
{
    enum status status = message_put(message, out_bytes);

    assert(status == STATUS_OK);
}

void frame_put_ping(struct buf *out_bytes)
{
    struct message_ping ping;

    message_init(&ping, MESSAGE_PING);
    put(&ping, out_bytes);
}

void frame_put_bye(struct buf *out_bytes, const char *reason)
{
    struct message_bye bye;

    message_init(&bye, MESSAGE_BYE);
    text_copy(bye.reason, sizeof bye.reason, reason);
    utf8_mask(bye.reason);
    put(&bye, out_bytes);
}
