/* The TLVs of RFC 8972 section 4: walking them, and a reflector's answer to them.
 *
 * Owns what stands behind the base packet, and nothing of the base packet but its Sequence Number,
 * which the HMAC TLV covers. Reads and writes only inside the datagram it is given.
 */
#include "proto/wire/stamp_tlv.h"

#include <string.h>

#include "proto/base/octets.h"

enum { SEQUENCE_SIZE = 4, FOLLOW_UP_SIZE = 16 };

/* What a walk finds at an offset. */
enum place { PLACE_TLV, PLACE_END, PLACE_CUT };

/* PLACE_CUT: the datagram ends inside the TLV; then `type` is 0 when even that is missing. */
static enum place tlv_at(const uint8_t *bytes, size_t length, size_t offset,
                         struct stamp_tlv *out_tlv)
{
    size_t left = offset < length ? length - offset : 0;

    if (left == 0)
        return PLACE_END;
    *out_tlv =
        (struct stamp_tlv){ .flags = bytes[offset], .type = left > 1 ? bytes[offset + 1] : 0 };
    if (left < STAMP_TLV_HEADER_SIZE)
        return PLACE_CUT;
    out_tlv->length = octets_get16(bytes + offset + 2);
    out_tlv->value = bytes + offset + STAMP_TLV_HEADER_SIZE;
    return out_tlv->length > left - STAMP_TLV_HEADER_SIZE ? PLACE_CUT : PLACE_TLV;
}

enum status stamp_next_tlv(enum stamp_mode mode, const uint8_t *bytes, size_t length,
                           size_t *cursor, struct stamp_tlv *out_tlv)
{
    struct stamp_tlv tlv;

    switch (tlv_at(bytes, length, stamp_base_size(mode) + *cursor, &tlv)) {
    case PLACE_END:
        return STATUS_NOT_FOUND;
    case PLACE_CUT:
        return STATUS_INVALID;
    case PLACE_TLV:
        break;
    }
    *cursor += STAMP_TLV_HEADER_SIZE + (size_t)tlv.length;
    *out_tlv = tlv;
    return STATUS_OK;
}

/* The HMAC of section 4.8: over the Sequence Number and all TLVs before offset `end`. */
static void tlv_mac(const struct stamp_format *format, const uint8_t *bytes, size_t end,
                    uint8_t out_mac[DIGEST_SIZE])
{
    size_t base = stamp_base_size(format->mode);
    const struct digest_part covered[] = { { bytes, SEQUENCE_SIZE }, { bytes + base, end - base } };

    digest_key_mac(format->key, covered, 2, out_mac);
}

bool stamp_tlv_verify(const struct stamp_format *format, const uint8_t *bytes, size_t length)
{
    size_t at = stamp_base_size(format->mode), count = 0, others = 0, mac_at = 0;
    uint8_t mac[DIGEST_SIZE];
    struct stamp_tlv tlv;
    enum place place;

    if (format->key == NULL)
        return true;
    while ((place = tlv_at(bytes, length, at, &tlv)) != PLACE_END) {
        count++;
        if (tlv.type != STAMP_TLV_PADDING) {
            /* Only Extra Padding may follow the HMAC TLV, and a part of one proves nothing. */
            if (mac_at != 0 || (tlv.type == STAMP_TLV_HMAC && place == PLACE_CUT))
                return false;
            if (tlv.type == STAMP_TLV_HMAC)
                mac_at = at;
            others++;
        }
        if (place == PLACE_CUT)
            break; /* what follows cannot be told apart */
        at += STAMP_TLV_HEADER_SIZE + (size_t)tlv.length;
    }
    if (mac_at == 0)
        return format->mode == STAMP_PLAIN || (others == 0 && count <= 1);
    if (octets_get16(bytes + mac_at + 2) != STAMP_MAC_SIZE)
        return false;
    tlv_mac(format, bytes, mac_at, mac);
    return digest_equal(mac, bytes + mac_at + STAMP_TLV_HEADER_SIZE, STAMP_MAC_SIZE) == 1;
}

static bool understood(const struct stamp_format *format, uint8_t type)
{
    return type == STAMP_TLV_PADDING || type == STAMP_TLV_FOLLOW_UP ||
           (type == STAMP_TLV_HMAC && format->key != NULL);
}

static bool length_valid(const struct stamp_tlv *tlv)
{
    if (tlv->type == STAMP_TLV_FOLLOW_UP)
        return tlv->length == FOLLOW_UP_SIZE;
    if (tlv->type == STAMP_TLV_HMAC)
        return tlv->length == STAMP_MAC_SIZE;
    return true;
}

/* Writes the answer of an understood TLV into its value; false when its length is malformed. */
static bool answer(const struct stamp_format *format, const struct stamp_tlv *tlv, uint8_t *bytes,
                   size_t offset)
{
    uint8_t *value = bytes + offset + STAMP_TLV_HEADER_SIZE;
    uint8_t mac[DIGEST_SIZE];

    /* Zeros also where the length is wrong: section 4.7 wants them beside M. */
    if (tlv->type == STAMP_TLV_FOLLOW_UP)
        memset(value, 0, tlv->length < FOLLOW_UP_SIZE ? tlv->length : FOLLOW_UP_SIZE);
    if (!length_valid(tlv))
        return false;
    if (tlv->type == STAMP_TLV_HMAC) {
        tlv_mac(format, bytes, offset, mac);
        memcpy(value, mac, STAMP_MAC_SIZE);
    }
    return true;
}

/* Section 4.8: nothing is processed, every TLV is copied and has I; what can be seen to be
 * malformed still has M. */
static void reflect_unverified(const struct stamp_format *format, uint8_t *bytes, size_t length)
{
    size_t at = stamp_base_size(format->mode);
    struct stamp_tlv tlv;
    enum place place;

    while ((place = tlv_at(bytes, length, at, &tlv)) != PLACE_END) {
        bool malformed = place == PLACE_CUT || (tlv.type == STAMP_TLV_HMAC && !length_valid(&tlv));
        unsigned set = STAMP_FLAG_INTEGRITY | (malformed ? STAMP_FLAG_MALFORMED : 0u);
        bytes[at] = (uint8_t)((tlv.flags & ~(unsigned)STAMP_FLAG_MALFORMED) | set);
        if (place == PLACE_CUT)
            return;
        at += STAMP_TLV_HEADER_SIZE + (size_t)tlv.length;
    }
}

void stamp_tlv_reflect(const struct stamp_format *format, bool verified, uint8_t *bytes,
                       size_t length)
{
    size_t at = stamp_base_size(format->mode);
    struct stamp_tlv tlv;
    enum place place;

    if (!verified) {
        reflect_unverified(format, bytes, length);
        return;
    }
    while ((place = tlv_at(bytes, length, at, &tlv)) != PLACE_END) {
        bool known = understood(format, tlv.type);
        unsigned kept = tlv.flags & ~(unsigned)(STAMP_FLAG_MALFORMED | STAMP_FLAG_INTEGRITY);
        /* The flags first: an HMAC TLV further on covers them. */
        bytes[at] = known ? 0 : (uint8_t)(kept | STAMP_FLAG_UNRECOGNIZED);
        if (place == PLACE_CUT || (known && !answer(format, &tlv, bytes, at))) {
            bytes[at] |= STAMP_FLAG_MALFORMED;
            return; /* the rest stays verbatim */
        }
        at += STAMP_TLV_HEADER_SIZE + (size_t)tlv.length;
    }
}
