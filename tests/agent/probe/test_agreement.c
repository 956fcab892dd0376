/* Nobody is flooded who has not agreed: who says what before a phase, on virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "agent/probe/agreement.h"
#include "tests/agent/probe/chance.h"

enum { SSID = 700 };

/* One try of an agreement between two hosts. */
struct meeting {
    struct chance chance;
    struct digest_key key;
    struct mono now;
    struct hello hello;
    struct greeting greeting;
    struct addr sender;
    uint8_t bytes[HELLO_SIZE]; /* the datagram under way */
};

static struct addr address(const char *text)
{
    struct addr addr;

    assert_int_equal(addr_parse(text, &addr, NULL), STATUS_OK);
    return addr;
}

static void meeting_start(struct meeting *meeting)
{
    memset(meeting, 0, sizeof *meeting);
    meeting->chance = chance_start("agreement");
    digest_key_init(&meeting->key, "the key", 7);
    meeting->now.ns = 1000 * NS_PER_S;
    meeting->sender = address("192.0.2.1:4000");
    hello_init(&meeting->hello, &meeting->key, SSID, meeting->now);
    greeting_init(&meeting->greeting, &meeting->key, SSID);
}

static void fill(struct meeting *meeting, uint8_t out_random[12])
{
    for (int i = 0; i < 12; i++)
        out_random[i] = (uint8_t)chance_next(&meeting->chance);
}

static bool says(struct meeting *meeting)
{
    uint8_t random[12];

    fill(meeting, random);
    return hello_send(&meeting->hello, random, meeting->now, meeting->bytes);
}

static enum greeting_outcome greets(struct meeting *meeting, const struct addr *from, size_t length)
{
    uint8_t random[12];

    fill(meeting, random);
    return greeting_receive(&meeting->greeting, from, random, meeting->bytes, length);
}

static bool hears(struct meeting *meeting)
{
    return hello_receive(&meeting->hello, meeting->bytes, HELLO_SIZE, meeting->now);
}

static void they_agree_in_four_datagrams(void **state)
{
    struct meeting meeting;

    (void)state;
    meeting_start(&meeting);
    assert_true(says(&meeting));
    assert_false(says(&meeting)); /* not before its time */
    assert_int_equal(greets(&meeting, &meeting.sender, HELLO_SIZE), GREETING_ANSWER);
    assert_false(greeting_confirmed(&meeting.greeting, &meeting.sender));
    meeting.now.ns += 7;
    assert_true(hears(&meeting));
    assert_false(meeting.hello.agreed);
    meeting.now.ns += 5;
    assert_true(says(&meeting)); /* at once */
    assert_int_equal(greets(&meeting, &meeting.sender, HELLO_SIZE), GREETING_ANSWER);
    assert_true(greeting_confirmed(&meeting.greeting, &meeting.sender));
    assert_true(hears(&meeting));
    assert_true(meeting.hello.agreed);
    assert_int_equal(meeting.hello.sent, 2);
    assert_int_equal(meeting.hello.answered, 2);
    assert_int_equal(meeting.hello.rtt_ns, 7);
    assert_int_equal(meeting.greeting.hellos, 2);
    assert_int_equal(meeting.greeting.answered, 2);
    meeting.now.ns += NS_PER_S;
    assert_false(says(&meeting)); /* and no more */
    assert_false(hello_failed(&meeting.hello, meeting.now));
    assert_true(hello_due(&meeting.hello).ns == INT64_MAX);
}

/* To whom never agrees: 20 datagrams, with growing pauses, then the end. */
static void silence_gets_twenty_hellos(void **state)
{
    struct meeting meeting;
    int64_t pause = HELLO_FIRST_NS;
    uint8_t before[HELLO_SIZE] = { 0 };

    (void)state;
    meeting_start(&meeting);
    for (int i = 0; i < HELLO_TRIES; i++) {
        assert_false(hello_failed(&meeting.hello, meeting.now));
        assert_int_equal(hello_due(&meeting.hello).ns, meeting.now.ns);
        assert_true(says(&meeting));
        assert_memory_not_equal(before, meeting.bytes, HELLO_SIZE);
        memcpy(before, meeting.bytes, HELLO_SIZE);
        meeting.now.ns += pause - 1;
        assert_false(says(&meeting));
        assert_false(hello_failed(&meeting.hello, meeting.now));
        meeting.now.ns += 1;
        pause = pause * 2 > HELLO_LAST_NS ? HELLO_LAST_NS : pause * 2;
    }
    assert_true(hello_failed(&meeting.hello, meeting.now));
    assert_false(says(&meeting));
    assert_int_equal(meeting.hello.sent, HELLO_TRIES);
    assert_true(mono_between((struct mono){ 1000 * NS_PER_S }, meeting.now) < 10 * NS_PER_S);
}

/* A confirm that nobody answers is repeated within the same number of tries. */
static void an_unanswered_confirm_is_the_same_again(void **state)
{
    struct meeting meeting;
    uint8_t first[HELLO_SIZE];

    (void)state;
    meeting_start(&meeting);
    assert_true(says(&meeting));
    greets(&meeting, &meeting.sender, HELLO_SIZE);
    assert_true(hears(&meeting));
    assert_true(says(&meeting));
    memcpy(first, meeting.bytes, HELLO_SIZE);
    for (int i = 2; i < HELLO_TRIES; i++) {
        meeting.now = hello_due(&meeting.hello);
        assert_true(says(&meeting));
        assert_memory_equal(first, meeting.bytes, HELLO_SIZE);
    }
    meeting.now = hello_due(&meeting.hello);
    assert_false(says(&meeting));
    assert_true(hello_failed(&meeting.hello, meeting.now));
    /* an answer to any of them would have done, and still does */
    assert_int_equal(greets(&meeting, &meeting.sender, HELLO_SIZE), GREETING_ANSWER);
    assert_true(hears(&meeting));
    assert_true(meeting.hello.agreed);
}

/* On a path of a second each way, many hellos are under way before the first answer comes. */
static void a_long_path_is_no_hindrance(void **state)
{
    struct meeting meeting;
    uint8_t answers[HELLO_TRIES][HELLO_SIZE];
    int count = 0;

    (void)state;
    meeting_start(&meeting);
    while (mono_between((struct mono){ 1000 * NS_PER_S }, meeting.now) < 2 * NS_PER_S) {
        assert_true(says(&meeting));
        assert_int_equal(greets(&meeting, &meeting.sender, HELLO_SIZE), GREETING_ANSWER);
        memcpy(answers[count++], meeting.bytes, HELLO_SIZE);
        meeting.now = hello_due(&meeting.hello);
    }
    assert_true(count > 4);
    meeting.now.ns = 1002 * NS_PER_S;
    assert_true(hello_receive(&meeting.hello, answers[0], HELLO_SIZE, meeting.now));
    assert_int_equal(meeting.hello.rtt_ns, 2 * NS_PER_S); /* of that one, whatever came since */
    for (int i = 1; i < count; i++)
        assert_false(hello_receive(&meeting.hello, answers[i], HELLO_SIZE, meeting.now));
    assert_int_equal(meeting.hello.answered, count);
    assert_true(says(&meeting));
    assert_int_equal(greets(&meeting, &meeting.sender, HELLO_SIZE), GREETING_ANSWER);
    assert_true(hears(&meeting));
    assert_true(meeting.hello.agreed);
}

/* Of a damaged, cut or foreign datagram neither side believes anything. */
static void nothing_is_believed_that_is_not_authentic(void **state)
{
    struct meeting meeting;
    struct digest_key other;

    (void)state;
    meeting_start(&meeting);
    assert_true(says(&meeting));
    for (size_t at = 0; at < HELLO_SIZE; at++) {
        meeting.bytes[at] ^= 0x20;
        assert_int_equal(greets(&meeting, &meeting.sender, HELLO_SIZE), GREETING_FOREIGN);
        meeting.bytes[at] ^= 0x20;
    }
    for (size_t length = 0; length < HELLO_SIZE; length++)
        assert_int_equal(greets(&meeting, &meeting.sender, length), GREETING_FOREIGN);
    assert_int_equal(meeting.greeting.hellos, 0);
    assert_int_equal(greets(&meeting, &meeting.sender, HELLO_SIZE), GREETING_ANSWER);
    for (size_t at = 0; at < HELLO_SIZE; at++) {
        meeting.bytes[at] ^= 0x20;
        assert_false(hears(&meeting));
        meeting.bytes[at] ^= 0x20;
    }
    digest_key_init(&other, "another", 7);
    greeting_init(&meeting.greeting, &other, SSID);
    assert_int_equal(greets(&meeting, &meeting.sender, HELLO_SIZE), GREETING_FOREIGN);
    greeting_init(&meeting.greeting, &meeting.key, SSID + 2); /* another session's */
    assert_int_equal(greets(&meeting, &meeting.sender, HELLO_SIZE), GREETING_FOREIGN);
    assert_true(hears(&meeting)); /* it is still what it was */
}

/* A target that sends back what it gets, or an answer that comes to an echo. */
static void what_comes_back_is_no_answer(void **state)
{
    struct meeting meeting;

    (void)state;
    meeting_start(&meeting);
    assert_true(says(&meeting));
    assert_false(hears(&meeting));
    assert_int_equal(greets(&meeting, &meeting.sender, HELLO_SIZE), GREETING_ANSWER);
    assert_int_equal(greets(&meeting, &meeting.sender, HELLO_SIZE), GREETING_IGNORED);
    assert_true(hears(&meeting));
    assert_false(hears(&meeting)); /* the same answer again */
    assert_true(says(&meeting));
    assert_int_equal(greets(&meeting, &meeting.sender, HELLO_SIZE), GREETING_ANSWER);
    assert_int_equal(greets(&meeting, &meeting.sender, HELLO_SIZE), GREETING_IGNORED);
}

/* Only who has received the answer knows what to confirm, and only from where it went. */
static void a_spoofed_address_never_confirms(void **state)
{
    const struct addr spoofed = address("198.51.100.7:4000");
    const struct addr other_port = address("192.0.2.1:4001");
    struct meeting meeting;
    uint8_t confirm[HELLO_SIZE];
    struct hello guess;

    (void)state;
    meeting_start(&meeting);
    assert_true(says(&meeting));
    assert_int_equal(greets(&meeting, &spoofed, HELLO_SIZE), GREETING_ANSWER);
    /* the attacker has the key (a stolen controller) and has not seen the answer */
    hello_init(&guess, &meeting.key, SSID, meeting.now);
    guess.confirming = true;
    for (int i = 0; i < HELLO_TRIES; i++) {
        guess.guest =
            (struct nonce){ (uint32_t)chance_next(&meeting.chance), chance_next(&meeting.chance) };
        guess.next_at = meeting.now;
        assert_true(hello_send(&guess, confirm, meeting.now, meeting.bytes));
        assert_int_equal(greets(&meeting, &spoofed, HELLO_SIZE), GREETING_IGNORED);
    }
    meeting.now = hello_due(&meeting.hello);
    assert_true(says(&meeting));
    assert_int_equal(greets(&meeting, &meeting.sender, HELLO_SIZE), GREETING_ANSWER);
    assert_true(hears(&meeting));
    assert_true(says(&meeting));
    memcpy(confirm, meeting.bytes, HELLO_SIZE);
    assert_int_equal(greets(&meeting, &spoofed, HELLO_SIZE), GREETING_IGNORED);
    assert_int_equal(greets(&meeting, &other_port, HELLO_SIZE), GREETING_IGNORED);
    assert_false(greeting_confirmed(&meeting.greeting, &meeting.sender));
    assert_int_equal(greets(&meeting, &meeting.sender, HELLO_SIZE), GREETING_ANSWER);
    assert_true(greeting_confirmed(&meeting.greeting, &meeting.sender));
    assert_true(greeting_confirmed(&meeting.greeting, &other_port)); /* a host has many ports */
    assert_false(greeting_confirmed(&meeting.greeting, &spoofed));
}

/* One recorded hello, sent from any number of addresses, drives nobody out. */
static void a_flood_of_guests_leaves_who_has_confirmed(void **state)
{
    struct meeting meeting;
    struct addr other = address("203.0.113.1:1");
    uint8_t hello[HELLO_SIZE];

    (void)state;
    meeting_start(&meeting);
    assert_true(says(&meeting));
    memcpy(hello, meeting.bytes, HELLO_SIZE);
    greets(&meeting, &meeting.sender, HELLO_SIZE);
    assert_true(hears(&meeting));
    assert_true(says(&meeting));
    assert_int_equal(greets(&meeting, &meeting.sender, HELLO_SIZE), GREETING_ANSWER);
    for (uint16_t port = 1; port < 1000; port++) {
        addr_set_port(&other, port);
        memcpy(meeting.bytes, hello, HELLO_SIZE);
        assert_int_equal(greets(&meeting, &other, HELLO_SIZE), GREETING_ANSWER);
    }
    assert_true(greeting_confirmed(&meeting.greeting, &meeting.sender));
    assert_false(greeting_confirmed(&meeting.greeting, &other));
}

static void hosts_are_told_apart_by_their_zone(void **state)
{
    struct meeting meeting;
    struct addr guest = address("[2001:db8::1]:5");
    struct addr link = guest;

    (void)state;
    meeting_start(&meeting);
    assert_true(says(&meeting));
    link.socket.v6.sin6_addr = (struct in6_addr){ .s6_addr = { 0xfe, 0x80, [15] = 1 } };
    link.socket.v6.sin6_scope_id = 3;
    greets(&meeting, &link, HELLO_SIZE);
    assert_true(hears(&meeting));
    assert_true(says(&meeting));
    assert_int_equal(greets(&meeting, &link, HELLO_SIZE), GREETING_ANSWER);
    assert_true(greeting_confirmed(&meeting.greeting, &link));
    link.socket.v6.sin6_scope_id = 4;
    assert_false(greeting_confirmed(&meeting.greeting, &link));
    assert_false(greeting_confirmed(&meeting.greeting, &guest));
}

/* --- a network that loses, delays, doubles and reorders --------------------------------------- */

enum { UNDER_WAY = 256, ROUNDS = 200 };

struct parcel {
    bool used, to_echo;
    struct mono due;
    uint8_t bytes[HELLO_SIZE];
};

static void post(struct meeting *meeting, struct parcel *parcels, bool to_echo, uint64_t lose_of_8)
{
    for (int copies = 1 + (chance_below(&meeting->chance, 4) == 0); copies > 0; copies--) {
        if (chance_below(&meeting->chance, 8) < lose_of_8)
            continue;
        for (size_t i = 0; i < UNDER_WAY; i++) {
            int64_t delay = (int64_t)chance_below(&meeting->chance, 900) * NS_PER_MS;

            if (parcels[i].used)
                continue;
            parcels[i] = (struct parcel){ true, to_echo, mono_after(meeting->now, delay), { 0 } };
            memcpy(parcels[i].bytes, meeting->bytes, HELLO_SIZE);
            break;
        }
    }
}

static void deliver(struct meeting *meeting, struct parcel *parcels, uint64_t lose_of_8)
{
    for (size_t i = 0; i < UNDER_WAY; i++) {
        if (!parcels[i].used || mono_between(parcels[i].due, meeting->now) < 0)
            continue;
        parcels[i].used = false;
        memcpy(meeting->bytes, parcels[i].bytes, HELLO_SIZE);
        if (!parcels[i].to_echo)
            hears(meeting);
        else if (greets(meeting, &meeting->sender, HELLO_SIZE) == GREETING_ANSWER)
            post(meeting, parcels, false, lose_of_8);
    }
}

static bool meets_over(struct meeting *meeting, uint64_t lose_of_8)
{
    static struct parcel parcels[UNDER_WAY];

    memset(parcels, 0, sizeof parcels);
    while (!meeting->hello.agreed && !hello_failed(&meeting->hello, meeting->now)) {
        if (says(meeting))
            post(meeting, parcels, true, lose_of_8);
        deliver(meeting, parcels, lose_of_8);
        meeting->now.ns += NS_PER_MS;
    }
    assert_true(meeting->hello.sent <= HELLO_TRIES);
    assert_true(meeting->hello.answered <= meeting->hello.sent);
    /* the echo never knows less than the sender believes */
    if (meeting->hello.agreed)
        assert_true(greeting_confirmed(&meeting->greeting, &meeting->sender));
    return meeting->hello.agreed;
}

static void a_bad_network_delays_the_agreement_and_no_more(void **state)
{
    struct meeting meeting;
    int agreed = 0;

    (void)state;
    meeting_start(&meeting);
    for (int round = 0; round < ROUNDS; round++) {
        hello_init(&meeting.hello, &meeting.key, SSID, meeting.now);
        greeting_init(&meeting.greeting, &meeting.key, SSID);
        agreed += meets_over(&meeting, 1);
    }
    assert_in_range(agreed, ROUNDS - 1, ROUNDS); /* what chance may do once in many years */
    for (int round = 0; round < 50; round++) {
        hello_init(&meeting.hello, &meeting.key, SSID, meeting.now);
        greeting_init(&meeting.greeting, &meeting.key, SSID);
        assert_false(meets_over(&meeting, 8));
        assert_int_equal(meeting.hello.sent, HELLO_TRIES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_agree_in_four_datagrams),
        cmocka_unit_test(silence_gets_twenty_hellos),
        cmocka_unit_test(an_unanswered_confirm_is_the_same_again),
        cmocka_unit_test(a_long_path_is_no_hindrance),
        cmocka_unit_test(nothing_is_believed_that_is_not_authentic),
        cmocka_unit_test(what_comes_back_is_no_answer),
        cmocka_unit_test(a_spoofed_address_never_confirms),
        cmocka_unit_test(a_flood_of_guests_leaves_who_has_confirmed),
        cmocka_unit_test(hosts_are_told_apart_by_their_zone),
        cmocka_unit_test(a_bad_network_delays_the_agreement_and_no_more),
    };

    return cmocka_run_group_tests_name("agreement", tests, NULL, NULL);
}
