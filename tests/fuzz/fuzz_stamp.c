/* Any bytes as a STAMP datagram: read, reflected in place, read again, its TLVs walked, in plain
 * mode without and with a key and in authenticated mode. A reply must always be readable, of the
 * request's length, and the walk over it must end.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/digest.h"
#include "proto/wire/stamp.h"

enum { MAC_COVERS = 96 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The corpus holds HMAC TLVs that verify with this one. */
static const uint8_t key[STAMP_KEY_SIZE] = { 0 };

static size_t walk(enum stamp_mode mode, const uint8_t *bytes, size_t size)
{
    size_t cursor = 0, count = 0;
    struct stamp_tlv tlv;
    enum status status;

    while ((status = stamp_next_tlv(mode, bytes, size, &cursor, &tlv)) == STATUS_OK) {
        volatile uint8_t last = tlv.length > 0 ? tlv.value[tlv.length - 1] : 0;
        (void)last; /* read for the sanitizer */
        count++;
        assert(cursor <= size);
        assert(count <= size / STAMP_TLV_HEADER_SIZE);
    }
    assert(status == STATUS_NOT_FOUND || status == STATUS_INVALID);
    return count;
}

static void reflect(const struct stamp_format *format, uint8_t *bytes, size_t size)
{
    struct stamp_request request;
    struct stamp_reply got;

    if (stamp_get_request(format, bytes, size, &request) != STATUS_OK)
        return;
    const struct stamp_reply reply = { .sequence = 1,
                                       .timestamp = request.timestamp + 2,
                                       .error_estimate = 0x0587,
                                       .ssid = request.ssid,
                                       .receive_timestamp = request.timestamp + 1,
                                       .sender_sequence = request.sequence,
                                       .sender_timestamp = request.timestamp,
                                       .sender_error_estimate = request.error_estimate,
                                       .sender_ttl = 64 };
    size_t before = walk(format->mode, bytes, size);
    stamp_put_reply(format, &reply, bytes, size);
    enum status status = stamp_get_reply(format, bytes, size, &got);
    assert(status == STATUS_OK);
    assert(got.sender_timestamp == request.timestamp && got.ssid == request.ssid);
    /* Lengths are never changed, so the walk finds the same TLVs. */
    assert(walk(format->mode, bytes, size) == before);
}

static void sign(uint8_t *bytes)
{
    const struct digest_part covered = { bytes, MAC_COVERS };
    uint8_t mac[DIGEST_SIZE];

    digest_hmac(key, sizeof(key), &covered, 1, mac);
    memcpy(bytes + MAC_COVERS, mac, STAMP_MAC_SIZE);
}

/* In a block of exactly its size, so that the sanitizer sees the first byte too far. */
static void play(const struct stamp_format *format, const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size > 0 ? size : 1);
    struct stamp_reply reply;

    if (bytes == NULL)
        return;
    if (size > 0)
        memcpy(bytes, data, size);
    (void)walk(format->mode, bytes, size);
    enum status status = stamp_get_reply(format, bytes, size, &reply);
    assert(status == STATUS_OK || status == STATUS_INVALID || status == STATUS_DENIED);
    reflect(format, bytes, size);
    /* No fuzzer guesses an HMAC: what is behind it is reached by a good one. */
    if (format->mode == STAMP_AUTHENTICATED && stamp_size_ok(format->mode, size)) {
        memcpy(bytes, data, size);
        sign(bytes);
        reflect(format, bytes, size);
    }
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct digest_key ready;
    const struct stamp_format formats[] = { { STAMP_PLAIN, NULL },
                                            { STAMP_PLAIN, &ready },
                                            { STAMP_AUTHENTICATED, &ready } };

    digest_key_init(&ready, key, sizeof(key));
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        play(&formats[i], data, size);
    return 0;
}
