/* SHA-256 and HMAC-SHA-256. The only file that uses libcrypto for hashing. */
#ifndef SONDE_BASE_DIGEST_H
#define SONDE_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

enum { DIGEST_SIZE = 32, DIGEST_HEX_SIZE = 65 };

void digest_sha256(const void *bytes, size_t length, uint8_t out_digest[DIGEST_SIZE]);

/* As 64 lower-case hexadecimal digits and a zero. */
void digest_sha256_hex(const void *bytes, size_t length, char out_hex[DIGEST_HEX_SIZE]);

/* Bytes to be hashed, of several in order. */
struct digest_part {
    const void *bytes;
    size_t length;
};

/* A key of HMAC-SHA-256 (RFC 2104) made ready for many messages: SHA-256 behind the key's inner and
 * outer block. Constant once made, so any number of threads may use one. */
struct digest_key {
    uint32_t inner[8], outer[8];
};

/* The key may have any length. */
void digest_key_init(struct digest_key *key, const void *bytes, size_t length);

/* HMAC-SHA-256 over the parts in order. Allocates nothing. */
void digest_key_mac(const struct digest_key *key, const struct digest_part *parts, size_t count,
                    uint8_t out_digest[DIGEST_SIZE]);

/* As both, for one message. */
void digest_hmac(const void *key, size_t key_length, const struct digest_part *parts, size_t count,
                 uint8_t out_digest[DIGEST_SIZE]);

/* Random bytes fit for keys, from the system. Aborts when the system has none. */
void digest_random(void *out_bytes, size_t length);

/* Compares in constant time; 1 when equal. */
int digest_equal(const void *a, const void *b, size_t length);

/* The version of the library behind it, e.g. "3.0.17". */
const char *digest_library(void);

#endif
