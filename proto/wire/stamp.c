/* STAMP datagrams: base packets of RFC 8762 with the SSID of RFC 8972, timestamps, error estimates.
 *
 * Owns the offsets of both modes. Knows no socket, no clock and no session: bytes in, structs out.
 * This is the path of every datagram: no allocation, and in plain mode nothing but loads and
 * stores.
 */
#include "proto/wire/stamp.h"

#include <assert.h>
#include <string.h>

#include "proto/base/octets.h"
#include "proto/wire/limits.h"
#include "proto/wire/stamp_tlv.h"

/* Octets that the base packet's HMAC covers, and so its offset (RFC 8762 section 4.4). */
enum { MAC_COVERS = 96 };

enum { SEQUENCE_SIZE = 4, TIMESTAMP_SIZE = 8, ESTIMATE_SIZE = 2, SSID_SIZE = 2 };

/* 1900-01-01 to 1970-01-01 (RFC 5905 figure 4). */
#define NTP_UNIX_EPOCH_S UINT64_C(2208988800)
#define MULTIPLIER_MAX   255

/* Where the fields are: RFC 8762 figures 4 to 7. The Sequence Number is first in all of them. */
struct layout {
    uint8_t timestamp, error_estimate, ssid; /* both directions */
    uint8_t received, sender_sequence, sender_timestamp, sender_error_estimate, sender_ttl;
};

static const struct layout layouts[] = {
    [STAMP_PLAIN] = { 4, 12, 14, 16, 24, 28, 36, 40 },
    [STAMP_AUTHENTICATED] = { 16, 24, 26, 32, 48, 64, 72, 80 },
};

/* Where the fields of a base packet end. */
static size_t zeros_end(enum stamp_mode mode)
{
    return mode == STAMP_PLAIN ? STAMP_PLAIN_SIZE : MAC_COVERS;
}

bool stamp_size_ok(enum stamp_mode mode, size_t payload)
{
    size_t base = stamp_base_size(mode);

    return payload == base ||
           (payload >= base + STAMP_TLV_HEADER_SIZE && payload <= PAYLOAD_MAX_IPV6);
}

size_t stamp_head_size(enum stamp_mode mode, size_t payload)
{
    size_t base = stamp_base_size(mode);

    return payload > base ? base + STAMP_TLV_HEADER_SIZE : base;
}

static void base_mac(const struct stamp_format *format, const uint8_t *bytes,
                     uint8_t out_mac[DIGEST_SIZE])
{
    const struct digest_part covered = { bytes, MAC_COVERS };

    assert(format->key != NULL);
    digest_key_mac(format->key, &covered, 1, out_mac);
}

static void put_base_mac(const struct stamp_format *format, uint8_t *bytes)
{
    uint8_t mac[DIGEST_SIZE];

    base_mac(format, bytes, mac);
    memcpy(bytes + MAC_COVERS, mac, STAMP_MAC_SIZE);
}

static bool base_mac_verifies(const struct stamp_format *format, const uint8_t *bytes)
{
    uint8_t mac[DIGEST_SIZE];

    base_mac(format, bytes, mac);
    return digest_equal(mac, bytes + MAC_COVERS, STAMP_MAC_SIZE) == 1;
}

/* What both directions must pass. Fields that must be zero are never a reason to refuse. */
static enum status check_base(const struct stamp_format *format, const uint8_t *bytes,
                              size_t length)
{
    if (!stamp_size_ok(format->mode, length))
        return STATUS_INVALID;
    if (format->mode == STAMP_AUTHENTICATED && !base_mac_verifies(format, bytes))
        return STATUS_DENIED;
    /* The multiplier is the estimate's low octet. */
    return bytes[layouts[format->mode].error_estimate + 1] == 0 ? STATUS_INVALID : STATUS_OK;
}

/* Two constant sizes: each becomes a few stores, where one variable size becomes a slow loop. */
static void clear_base(enum stamp_mode mode, uint8_t *bytes)
{
    if (mode == STAMP_PLAIN)
        memset(bytes, 0, STAMP_PLAIN_SIZE);
    else
        memset(bytes, 0, STAMP_AUTHENTICATED_SIZE);
}

void stamp_put_request(const struct stamp_format *format, const struct stamp_request *request,
                       size_t payload, uint8_t *out_head)
{
    const struct layout *at = &layouts[format->mode];
    size_t base = stamp_base_size(format->mode);

    assert(stamp_size_ok(format->mode, payload));
    clear_base(format->mode, out_head);
    octets_put32(out_head, request->sequence);
    octets_put64(out_head + at->timestamp, request->timestamp);
    octets_put16(out_head + at->error_estimate, request->error_estimate);
    octets_put16(out_head + at->ssid, request->ssid);
    if (format->mode == STAMP_AUTHENTICATED)
        put_base_mac(format, out_head);
    if (payload > base) {
        uint8_t *padding = out_head + base;
        padding[0] = STAMP_FLAG_UNRECOGNIZED;
        padding[1] = STAMP_TLV_PADDING;
        octets_put16(padding + 2, (uint16_t)(payload - base - STAMP_TLV_HEADER_SIZE));
    }
}

enum status stamp_get_request(const struct stamp_format *format, const uint8_t *bytes,
                              size_t length, struct stamp_request *out_request)
{
    const struct layout *at = &layouts[format->mode];
    enum status status = check_base(format, bytes, length);

    if (status != STATUS_OK)
        return status;
    out_request->sequence = octets_get32(bytes);
    out_request->timestamp = octets_get64(bytes + at->timestamp);
    out_request->error_estimate = octets_get16(bytes + at->error_estimate);
    out_request->ssid = octets_get16(bytes + at->ssid);
    return STATUS_OK;
}

/* True when nothing but one Extra Padding TLV, or no TLV at all, stands behind the base packet. */
static bool padding_only(const uint8_t *bytes, size_t base, size_t length)
{
    return length == base ||
           (bytes[base + 1] == STAMP_TLV_PADDING &&
            octets_get16(bytes + base + 2) == length - base - STAMP_TLV_HEADER_SIZE);
}

void stamp_put_reply(const struct stamp_format *format, const struct stamp_reply *reply,
                     uint8_t *bytes, size_t length)
{
    const struct layout *at = &layouts[format->mode];
    size_t base = stamp_base_size(format->mode);

    assert(stamp_size_ok(format->mode, length));
    bool usual = padding_only(bytes, base, length);
    bool verified = usual || stamp_tlv_verify(format, bytes, length);

    clear_base(format->mode, bytes);
    octets_put32(bytes, reply->sequence);
    octets_put64(bytes + at->timestamp, reply->timestamp);
    octets_put16(bytes + at->error_estimate, reply->error_estimate);
    octets_put16(bytes + at->ssid, reply->ssid);
    octets_put64(bytes + at->received, reply->receive_timestamp);
    octets_put32(bytes + at->sender_sequence, reply->sender_sequence);
    octets_put64(bytes + at->sender_timestamp, reply->sender_timestamp);
    octets_put16(bytes + at->sender_error_estimate, reply->sender_error_estimate);
    bytes[at->sender_ttl] = reply->sender_ttl;
    if (format->mode == STAMP_AUTHENTICATED)
        put_base_mac(format, bytes);
    if (!usual)
        stamp_tlv_reflect(format, verified, bytes, length);
    else if (length > base)
        bytes[base] = 0; /* understood, well formed, intact */
}

enum status stamp_get_reply(const struct stamp_format *format, const uint8_t *bytes, size_t length,
                            struct stamp_reply *out_reply)
{
    const struct layout *at = &layouts[format->mode];
    enum status status = check_base(format, bytes, length);

    if (status != STATUS_OK)
        return status;
    out_reply->sequence = octets_get32(bytes);
    out_reply->timestamp = octets_get64(bytes + at->timestamp);
    out_reply->error_estimate = octets_get16(bytes + at->error_estimate);
    out_reply->ssid = octets_get16(bytes + at->ssid);
    out_reply->receive_timestamp = octets_get64(bytes + at->received);
    out_reply->sender_sequence = octets_get32(bytes + at->sender_sequence);
    out_reply->sender_timestamp = octets_get64(bytes + at->sender_timestamp);
    out_reply->sender_error_estimate = octets_get16(bytes + at->sender_error_estimate);
    out_reply->sender_ttl = bytes[at->sender_ttl];
    return STATUS_OK;
}

static bool all_zero(const uint8_t *bytes, size_t from, size_t to)
{
    uint8_t any = 0;

    for (size_t i = from; i < to; i++)
        any |= bytes[i];
    return any == 0;
}

bool stamp_request_zeros(enum stamp_mode mode, const uint8_t *bytes)
{
    const struct layout *at = &layouts[mode];

    return all_zero(bytes, SEQUENCE_SIZE, at->timestamp) &&
           all_zero(bytes, at->ssid + SSID_SIZE, zeros_end(mode));
}

bool stamp_reply_zeros(enum stamp_mode mode, const uint8_t *bytes)
{
    const struct layout *at = &layouts[mode];

    return all_zero(bytes, SEQUENCE_SIZE, at->timestamp) &&
           all_zero(bytes, at->ssid + SSID_SIZE, at->received) &&
           all_zero(bytes, at->received + TIMESTAMP_SIZE, at->sender_sequence) &&
           all_zero(bytes, at->sender_sequence + SEQUENCE_SIZE, at->sender_timestamp) &&
           all_zero(bytes, at->sender_error_estimate + ESTIMATE_SIZE, at->sender_ttl) &&
           all_zero(bytes, at->sender_ttl + 1, zeros_end(mode));
}

uint64_t stamp_ntp(struct wall time)
{
    int64_t seconds = time.ns / NS_PER_S, rest = time.ns % NS_PER_S;

    if (rest < 0) {
        seconds--;
        rest += NS_PER_S;
    }
    /* Only the low 32 bits of the seconds are kept: that is the wrap of 2036. */
    return ((uint64_t)seconds + NTP_UNIX_EPOCH_S) << 32 | ((uint64_t)rest << 32) / NS_PER_S;
}

int64_t stamp_ntp_between(uint64_t earlier, uint64_t later)
{
    uint64_t difference = later - earlier;
    int64_t seconds = (int32_t)(uint32_t)(difference >> 32);
    uint64_t fraction = difference & UINT32_MAX;

    /* Rounded to the nearest, so that times of whole nanoseconds give their exact difference. */
    return seconds * NS_PER_S + (int64_t)((fraction * NS_PER_S + (UINT64_C(1) << 31)) >> 32);
}

int64_t stamp_ptp_between(uint64_t earlier, uint64_t later)
{
    int64_t seconds = (int32_t)((uint32_t)(later >> 32) - (uint32_t)(earlier >> 32));

    return seconds * NS_PER_S + (int64_t)(later & UINT32_MAX) - (int64_t)(earlier & UINT32_MAX);
}

uint16_t stamp_error_estimate(int64_t error_ns, bool synchronized, bool ptp)
{
    /* An NTP timestamp cannot be wrong by more than its era. */
    const int64_t most = UINT32_MAX * NS_PER_S;
    uint64_t ns = (uint64_t)(error_ns < 1 ? 1 : error_ns > most ? most : error_ns);
    uint64_t units = ns / NS_PER_S << 32;
    unsigned scale = 0;

    units += ((ns % NS_PER_S << 32) + NS_PER_S - 1) / NS_PER_S;
    while (units > MULTIPLIER_MAX) {
        units = (units + 1) / 2; /* rounding up twice is rounding up once */
        scale++;
    }
    return (uint16_t)((synchronized ? 0x8000u : 0) | (ptp ? 0x4000u : 0) | scale << 8 | units);
}
