/* Hashes against published vectors: FIPS 180-4 examples, RFC 4231, RFC 2104's corner cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/digest.h"

static void hex_of(const uint8_t *bytes, size_t length, char *out_hex)
{
    for (size_t i = 0; i < length; i++)
        snprintf(out_hex + 2 * i, 3, "%02x", bytes[i]);
}

static void sha256_answers_the_examples_of_fips_180(void **state)
{
    static const struct {
        const char *text, *hex;
    } vectors[] = {
        { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
        { "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
          "lmnopqrsmnopqrstnopqrstu",
          "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        char hex[DIGEST_HEX_SIZE];
        uint8_t digest[DIGEST_SIZE];
        char again[DIGEST_HEX_SIZE];

        digest_sha256_hex(vectors[i].text, strlen(vectors[i].text), hex);
        assert_string_equal(hex, vectors[i].hex);
        digest_sha256(vectors[i].text, strlen(vectors[i].text), digest);
        hex_of(digest, sizeof(digest), again);
        assert_string_equal(again, vectors[i].hex);
    }
}

static void sha256_of_a_million_letters_is_as_fips_180_says(void **state)
{
    static char letters[1000000];
    char hex[DIGEST_HEX_SIZE];

    (void)state;
    memset(letters, 'a', sizeof(letters));
    digest_sha256_hex(letters, sizeof(letters), hex);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

struct hmac_vector {
    uint8_t key_byte;
    size_t key_length;
    const char *key_text; /* used when not NULL */
    uint8_t data_byte;
    size_t data_length;
    const char *data_text; /* used when not NULL */
    const char *hex;
    size_t digest_length;
};

static void check_hmac(const struct hmac_vector *vector)
{
    uint8_t key[256], data[256], digest[DIGEST_SIZE];
    size_t key_length = vector->key_length, data_length = vector->data_length;
    char hex[DIGEST_HEX_SIZE];

    memset(key, vector->key_byte, sizeof(key));
    memset(data, vector->data_byte, sizeof(data));
    if (vector->key_text != NULL) {
        key_length = strlen(vector->key_text);
        memcpy(key, vector->key_text, key_length);
    }
    if (vector->data_text != NULL) {
        data_length = strlen(vector->data_text);
        memcpy(data, vector->data_text, data_length);
    }
    /* However the text is cut into parts, the sum is the same. */
    for (size_t cut = 0; cut <= data_length; cut++) {
        const struct digest_part parts[] = { { data, cut },
                                             { NULL, 0 },
                                             { data + cut, data_length - cut } };
        digest_hmac(key, key_length, parts, 3, digest);
        hex_of(digest, vector->digest_length, hex);
        assert_string_equal(hex, vector->hex);
    }
}

static void hmac_answers_the_vectors_of_rfc_4231(void **state)
{
    static const struct hmac_vector vectors[] = {
        { 0x0b, 20, NULL, 0, 0, "Hi There",
          "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7", 32 },
        { 0, 0, "Jefe", 0, 0, "what do ya want for nothing?",
          "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843", 32 },
        { 0xaa, 20, NULL, 0xdd, 50, NULL,
          "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe", 32 },
        { 0x0c, 20, NULL, 0, 0, "Test With Truncation", "a3b6167473100ee06e0c796c2955552b", 16 },
        { 0xaa, 131, NULL, 0, 0, "Test Using Larger Than Block-Size Key - Hash Key First",
          "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54", 32 },
        { 0xaa, 131, NULL, 0, 0,
          "This is a test using a larger than block-size key and a larger than block-size data. "
          "The key needs to be hashed before being used by the HMAC algorithm.",
          "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2", 32 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
        check_hmac(&vectors[i]);
}

/* A message leaves nothing behind in the key, and a key of any length is as good. */
static void a_key_made_ready_serves_any_number_of_messages(void **state)
{
    uint8_t key[200], text[300], once[DIGEST_SIZE], again[DIGEST_SIZE];
    struct digest_key ready;

    (void)state;
    for (size_t i = 0; i < sizeof(key); i++)
        key[i] = (uint8_t)(i * 7);
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (uint8_t)(i * 11);
    for (size_t length = 0; length <= sizeof(key); length++) {
        digest_key_init(&ready, key, length);
        for (size_t size = 0; size <= sizeof(text); size += 13) {
            const struct digest_part part = { text, size };
            digest_hmac(key, length, &part, 1, once);
            digest_key_mac(&ready, &part, 1, again);
            assert_memory_equal(once, again, DIGEST_SIZE);
        }
    }
}

static void hmac_answers_vector_4_of_rfc_4231(void **state)
{
    uint8_t key[25], data[50], digest[DIGEST_SIZE];
    const struct digest_part part = { data, sizeof(data) };
    char hex[DIGEST_HEX_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof(key); i++)
        key[i] = (uint8_t)(i + 1);
    memset(data, 0xcd, sizeof(data));
    digest_hmac(key, sizeof(key), &part, 1, digest);
    hex_of(digest, sizeof(digest), hex);
    assert_string_equal(hex, "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
}

static void hmac_takes_an_empty_key_and_no_text(void **state)
{
    uint8_t with_null[DIGEST_SIZE], with_empty[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];

    (void)state;
    digest_hmac(NULL, 0, NULL, 0, with_null);
    digest_hmac("", 0, NULL, 0, with_empty);
    hex_of(with_null, sizeof(with_null), hex);
    assert_string_equal(hex, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
    assert_memory_equal(with_null, with_empty, DIGEST_SIZE);
}

static void random_bytes_fill_every_length_and_nothing_behind_it(void **state)
{
    static const size_t lengths[] = { 0, 1, 16, 255, 256, 257, 512, 1000 };
    uint8_t bytes[1001], again[1001];

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        size_t length = lengths[i];
        memset(bytes, 0x5a, sizeof(bytes));
        memset(again, 0x5a, sizeof(again));
        digest_random(bytes, length);
        digest_random(again, length);
        assert_int_equal(bytes[length], 0x5a);
        if (length >= 16) {
            /* Equal by chance once in 2^128. */
            assert_memory_not_equal(bytes, again, 16);
            assert_memory_not_equal(bytes + length - 16, again + length - 16, 16);
        }
    }
}

static void equality_sees_every_bit(void **state)
{
    uint8_t a[DIGEST_SIZE], b[DIGEST_SIZE];

    (void)state;
    digest_sha256("x", 1, a);
    memcpy(b, a, sizeof(b));
    assert_int_equal(digest_equal(a, b, sizeof(a)), 1);
    assert_int_equal(digest_equal(a, b, 0), 1);
    for (size_t bit = 0; bit < 8 * DIGEST_SIZE; bit++) {
        b[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        assert_int_equal(digest_equal(a, b, sizeof(a)), 0);
        b[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
}

static void the_library_in_use_says_its_version(void **state)
{
    int major = 0, minor = -1, patch = -1;

    (void)state;
    assert_int_equal(sscanf(digest_library(), "%d.%d.%d", &major, &minor, &patch), 3);
    assert_true(major >= 3 && minor >= 0 && patch >= 0);
    assert_null(strchr(digest_library(), ' '));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_answers_the_examples_of_fips_180),
        cmocka_unit_test(sha256_of_a_million_letters_is_as_fips_180_says),
        cmocka_unit_test(hmac_answers_the_vectors_of_rfc_4231),
        cmocka_unit_test(a_key_made_ready_serves_any_number_of_messages),
        cmocka_unit_test(hmac_answers_vector_4_of_rfc_4231),
        cmocka_unit_test(hmac_takes_an_empty_key_and_no_text),
        cmocka_unit_test(random_bytes_fill_every_length_and_nothing_behind_it),
        cmocka_unit_test(equality_sees_every_bit),
        cmocka_unit_test(the_library_in_use_says_its_version),
    };

    return cmocka_run_group_tests_name("digest", tests, NULL, NULL);
}
