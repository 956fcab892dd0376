/* SHA-256 and HMAC-SHA-256 by libcrypto, random bytes by the system.
 *
 * Knows no format and no key's meaning. Nothing here depends on what a peer sends, so a failure of
 * the library can only be a broken installation or memory that is out: it aborts.
 */
#include "proto/base/digest.h"

#include <assert.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

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

void digest_hmac(const void *key, size_t key_length, const struct digest_part *parts, size_t count,
                 uint8_t out_digest[DIGEST_SIZE])
{
    char name[] = "SHA256";
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0),
        OSSL_PARAM_construct_end(),
    };
    EVP_MAC *mac = EVP_MAC_fetch(NULL, OSSL_MAC_NAME_HMAC, NULL);
    EVP_MAC_CTX *context = mac == NULL ? NULL : EVP_MAC_CTX_new(mac);
    size_t size = 0;

    need(context != NULL, "HMAC");
    /* A NULL key would mean "the key set before" to libcrypto, not an empty one. */
    need(EVP_MAC_init(context, key == NULL ? (const uint8_t *)"" : key, key_length, params),
         "HMAC's key");
    for (size_t i = 0; i < count; i++)
        need(EVP_MAC_update(context, parts[i].bytes, parts[i].length), "HMAC");
    need(EVP_MAC_final(context, out_digest, &size, DIGEST_SIZE), "HMAC");
    assert(size == DIGEST_SIZE);
    EVP_MAC_CTX_free(context);
    EVP_MAC_free(mac);
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
