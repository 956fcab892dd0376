/* Owns what is well-formed UTF-8 and what of it may be shown. Knows no locale. */
#include "proto/base/utf8.h"

#include <string.h>

/* The length of the well-formed UTF-8 sequence at `bytes` (RFC 3629 section 4), 0 when none. */
static size_t utf8_sequence(const unsigned char *bytes, size_t length)
{
    unsigned char first = bytes[0];
    size_t more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;

    if ((first >= 0x80 && first < 0xc2) || first > 0xf4 || length <= more)
        return 0;
    for (size_t i = 1; i <= more; i++) {
        if (bytes[i] < low || bytes[i] > high)
            return 0;
        low = 0x80;
        high = 0xbf;
    }
    return more + 1;
}

bool utf8_is_valid(const char *bytes, size_t length)
{
    while (length > 0) {
        size_t sequence = utf8_sequence((const unsigned char *)bytes, length);

        if (sequence == 0)
            return false;
        bytes += sequence;
        length -= sequence;
    }
    return true;
}

static bool is_control(const unsigned char *sequence)
{
    return sequence[0] < 0x20 || sequence[0] == 0x7f || (sequence[0] == 0xc2 && sequence[1] < 0xa0);
}

void utf8_mask(char *text)
{
    size_t length = strlen(text);

    while (length > 0) {
        size_t sequence = utf8_sequence((const unsigned char *)text, length);

        if (sequence == 0 || is_control((const unsigned char *)text)) {
            sequence = sequence == 0 ? 1 : sequence;
            memset(text, '?', sequence);
        }
        text += sequence;
        length -= sequence;
    }
}
