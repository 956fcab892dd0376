/* Our STAMP encoder and decoder on a command line, for tests in other languages.
 *
 *   stamp_tool request MODE SEQ TIMESTAMP ESTIMATE SSID PAYLOAD [KEY]      datagram as hex
 *   stamp_tool reflect MODE SEQ T3 ESTIMATE T2 TTL [KEY] < hex             its reply as hex
 *   stamp_tool decode-request MODE [KEY] < hex                             fields, one a line
 *   stamp_tool decode-reply MODE [KEY] < hex
 *
 * MODE is "plain" or "auth", KEY 64 hexadecimal digits; numbers are decimal. Padding byte i of a
 * request is i modulo 251. Exit: 0, 1 when the datagram is refused (the word for it is printed), 2
 * for wrong usage.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/text.h"
#include "proto/wire/limits.h"
#include "proto/wire/stamp.h"

enum { EXIT_REFUSED = 1, EXIT_USAGE = 2, ROOM = 70000, PADDING_PERIOD = 251 };

struct input {
    struct stamp_format format;
    struct digest_key key;
    uint8_t bytes[ROOM];
    size_t length;
};

static int digit(int letter)
{
    static const char digits[] = "0123456789abcdef";
    const char *found = letter == '\0' ? NULL : strchr(digits, letter);

    return found == NULL ? -1 : (int)(found - digits);
}

static bool read_key(const char *text, struct digest_key *out_key)
{
    uint8_t key[STAMP_KEY_SIZE];

    if (strlen(text) != (size_t)2 * STAMP_KEY_SIZE)
        return false;
    for (size_t i = 0; i < STAMP_KEY_SIZE; i++) {
        int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        key[i] = (uint8_t)(high * 16 + low);
    }
    digest_key_init(out_key, key, sizeof(key));
    return true;
}

static bool read_mode(const char *mode, const char *key, struct input *input)
{
    if (strcmp(mode, "plain") != 0 && strcmp(mode, "auth") != 0)
        return false;
    input->format.mode = mode[0] == 'a' ? STAMP_AUTHENTICATED : STAMP_PLAIN;
    if (key == NULL)
        return input->format.mode == STAMP_PLAIN;
    input->format.key = &input->key;
    return read_key(key, &input->key);
}

/* Hexadecimal digits of stdin up to the end of the line or of the input. */
static bool read_hex(struct input *input)
{
    int high;

    while ((high = getchar()) != EOF && high != '\n') {
        int low = getchar();
        if (digit(high) < 0 || digit(low) < 0 || input->length == ROOM)
            return false;
        input->bytes[input->length++] = (uint8_t)(digit(high) * 16 + digit(low));
    }
    return true;
}

static bool read_numbers(char **words, size_t count, uint64_t *out_numbers)
{
    for (size_t i = 0; i < count; i++)
        if (text_to_u64(words[i], &out_numbers[i]) != STATUS_OK)
            return false;
    return true;
}

static void print_hex(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        printf("%02x", bytes[i]);
    printf("\n");
}

static int refused(enum status status)
{
    printf("%s\n", status == STATUS_DENIED ? "denied" : "invalid");
    return EXIT_REFUSED;
}

static int make_request(struct input *input, char **words)
{
    uint64_t numbers[5];

    if (!read_numbers(words, 5, numbers) || numbers[4] > PAYLOAD_MAX_IPV6)
        return EXIT_USAGE;
    const struct stamp_request request = { .sequence = (uint32_t)numbers[0],
                                           .timestamp = numbers[1],
                                           .error_estimate = (uint16_t)numbers[2],
                                           .ssid = (uint16_t)numbers[3] };
    size_t payload = (size_t)numbers[4];
    if (!stamp_size_ok(input->format.mode, payload))
        return refused(STATUS_INVALID);
    size_t head = stamp_head_size(input->format.mode, payload);
    stamp_put_request(&input->format, &request, payload, input->bytes);
    for (size_t i = head; i < payload; i++)
        input->bytes[i] = (uint8_t)((i - head) % PADDING_PERIOD);
    print_hex(input->bytes, payload);
    return EXIT_SUCCESS;
}

static int reflect(struct input *input, char **words)
{
    uint64_t numbers[5];
    struct stamp_request request;

    if (!read_numbers(words, 5, numbers) || !read_hex(input))
        return EXIT_USAGE;
    enum status status = stamp_get_request(&input->format, input->bytes, input->length, &request);
    if (status != STATUS_OK)
        return refused(status);
    const struct stamp_reply reply = { .sequence = (uint32_t)numbers[0],
                                       .timestamp = numbers[1],
                                       .error_estimate = (uint16_t)numbers[2],
                                       .ssid = request.ssid,
                                       .receive_timestamp = numbers[3],
                                       .sender_sequence = request.sequence,
                                       .sender_timestamp = request.timestamp,
                                       .sender_error_estimate = request.error_estimate,
                                       .sender_ttl = (uint8_t)numbers[4] };
    stamp_put_reply(&input->format, &reply, input->bytes, input->length);
    print_hex(input->bytes, input->length);
    return EXIT_SUCCESS;
}

static void print_tlvs(const struct input *input)
{
    struct stamp_tlv tlv;
    size_t cursor = 0;
    enum status status;

    while ((status = stamp_next_tlv(input->format.mode, input->bytes, input->length, &cursor,
                                    &tlv)) == STATUS_OK) {
        printf("tlv=%u,%u,%u,", tlv.flags, tlv.type, tlv.length);
        print_hex(tlv.value, tlv.length);
    }
    if (status == STATUS_INVALID)
        printf("tlv=cut\n");
}

static int decode_request(struct input *input)
{
    struct stamp_request request;

    if (!read_hex(input))
        return EXIT_USAGE;
    enum status status = stamp_get_request(&input->format, input->bytes, input->length, &request);
    if (status != STATUS_OK)
        return refused(status);
    printf("seq=%u\nts=%llu\nestimate=%u\nssid=%u\n", request.sequence,
           (unsigned long long)request.timestamp, request.error_estimate, request.ssid);
    print_tlvs(input);
    return EXIT_SUCCESS;
}

static int decode_reply(struct input *input)
{
    struct stamp_reply reply;

    if (!read_hex(input))
        return EXIT_USAGE;
    enum status status = stamp_get_reply(&input->format, input->bytes, input->length, &reply);
    if (status != STATUS_OK)
        return refused(status);
    printf("seq=%u\nts=%llu\nestimate=%u\nssid=%u\nts_rx=%llu\n", reply.sequence,
           (unsigned long long)reply.timestamp, reply.error_estimate, reply.ssid,
           (unsigned long long)reply.receive_timestamp);
    printf("seq_sender=%u\nts_sender=%llu\nestimate_sender=%u\nttl_sender=%u\n",
           reply.sender_sequence, (unsigned long long)reply.sender_timestamp,
           reply.sender_error_estimate, reply.sender_ttl);
    print_tlvs(input);
    return EXIT_SUCCESS;
}

static int run(struct input *input, int argc, char **argv)
{
    static const struct {
        const char *name;
        int numbers; /* between MODE and KEY */
    } verbs[] = {
        { "request", 5 }, { "reflect", 5 }, { "decode-request", 0 }, { "decode-reply", 0 }
    };
    size_t verb = 0;

    while (verb < 4 && (argc < 3 || strcmp(argv[1], verbs[verb].name) != 0))
        verb++;
    if (verb == 4 || argc < 3 + verbs[verb].numbers || argc > 4 + verbs[verb].numbers ||
        !read_mode(argv[2], argv[3 + verbs[verb].numbers], input))
        return EXIT_USAGE;
    switch (verb) {
    case 0:
        return make_request(input, argv + 3);
    case 1:
        return reflect(input, argv + 3);
    case 2:
        return decode_request(input);
    default:
        return decode_reply(input);
    }
}

int main(int argc, char **argv)
{
    struct input *input = calloc(1, sizeof(*input));
    int code = input == NULL ? EXIT_USAGE : run(input, argc, argv);

    free(input);
    if (code == EXIT_USAGE)
        fprintf(stderr, "usage: see the head of tests/tool/stamp_tool.c\n");
    return code;
}
