/* SHA-256 and HMAC-SHA-256 by libcrypto, random bytes by the system.
 *
 * Knows no format and no key's meaning. Nothing here depends on what a peer sends, so a failure of
 * the library can only be a broken installation or memory that is out: it aborts.
 */
/* An authenticated datagram costs four HMACs on its way out and back. libcrypto's EVP_MAC allocates
 * for each, takes twice as long and is not for several threads; the block functions below it are
 * older and marked as such. */
#define OPENSSL_SUPPRESS_DEPRECATED

#include "proto/base/digest.h"

#include <assert.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* ipad and opad of RFC 2104 */
enum { INNER_MASK = 0x36, OUTER_MASK = 0x5c };

/* What one call of getentropy may ask for (its manual, on Linux and macOS). */
enum { ENTROPY_CHUNK = 256 };

static void need(int done, const char *what)
{
    if (done == 1)
        return;
    fprintf(stderr, "sonde: %s failed: the installation of libcrypto is broken\n", what);
    abort();
}

void digest_sha256(const void *bytes, size_t length, uint8_t out_digest[DIGEST_SIZE])
{
    unsigned size = 0;

    need(EVP_Digest(bytes, length, out_digest, &size, EVP_sha256(), NULL), "SHA-256");
    assert(size == DIGEST_SIZE);
}

void digest_sha256_hex(const void *bytes, size_t length, char out_hex[DIGEST_HEX_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t digest[DIGEST_SIZE];

    digest_sha256(bytes, length, digest);
    for (size_t i = 0; i < DIGEST_SIZE; i++) {
        out_hex[2 * i] = digits[digest[i] >> 4];
        out_hex[2 * i + 1] = digits[digest[i] & 15];
    }
    out_hex[DIGEST_HEX_SIZE - 1] = '\0';
}

/* SHA-256 as it stands behind one whole block. */
static SHA256_CTX behind_a_block(const uint32_t state[8])
{
    SHA256_CTX context;

    need(SHA256_Init(&context), "SHA-256");
    memcpy(context.h, state, sizeof context.h);
    context.Nl = SHA256_CBLOCK * CHAR_BIT;
    return context;
}

static void take_block(const uint8_t key[SHA256_CBLOCK], uint8_t mask, uint32_t out_state[8])
{
    uint8_t block[SHA256_CBLOCK];
    SHA256_CTX context;

    for (size_t i = 0; i < sizeof block; i++)
        block[i] = key[i] ^ mask;
    need(SHA256_Init(&context), "SHA-256");
    SHA256_Transform(&context, block);
    memcpy(out_state, context.h, sizeof context.h);
}

void digest_key_init(struct digest_key *key, const void *bytes, size_t length)
{
    uint8_t block[SHA256_CBLOCK] = { 0 };

    if (length > sizeof block)
        digest_sha256(bytes, length, block);
    else if (length > 0)
        memcpy(block, bytes, length);
    take_block(block, INNER_MASK, key->inner);
    take_block(block, OUTER_MASK, key->outer);
}

void digest_key_mac(const struct digest_key *key, const struct digest_part *parts, size_t count,
                    uint8_t out_digest[DIGEST_SIZE])
{
    SHA256_CTX context = behind_a_block(key->inner);
    uint8_t inner[DIGEST_SIZE];

    for (size_t i = 0; i < count; i++)
        need(SHA256_Update(&context, parts[i].bytes, parts[i].length), "HMAC");
    need(SHA256_Final(inner, &context), "HMAC");
    context = behind_a_block(key->outer);
    need(SHA256_Update(&context, inner, sizeof inner), "HMAC");
    need(SHA256_Final(out_digest, &context), "HMAC");
}

void digest_hmac(const void *key, size_t key_length, const struct digest_part *parts, size_t count,
                 uint8_t out_digest[DIGEST_SIZE])
{
    struct digest_key ready;

    digest_key_init(&ready, key, key_length);
    digest_key_mac(&ready, parts, count, out_digest);
}

void digest_random(void *out_bytes, size_t length)
{
    uint8_t *at = out_bytes;

    while (length > 0) {
        size_t chunk = length < ENTROPY_CHUNK ? length : ENTROPY_CHUNK;
        if (getentropy(at, chunk) != 0) {
            perror("sonde: the system gives no random bytes");
            abort();
        }
        at += chunk;
        length -= chunk;
    }
}

int digest_equal(const void *a, const void *b, size_t length)
{
    return CRYPTO_memcmp(a, b, length) == 0;
}

const char *digest_library(void)
{
    return OpenSSL_version(OPENSSL_VERSION_STRING);
}
