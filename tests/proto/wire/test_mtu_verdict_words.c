/* mtu_verdict: what people read says why, and says no more than is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/agent/probe/chance.h"
#include "tests/proto/wire/fill.h"
#include "tests/proto/wire/mtu_answer.h"

/* Each frees the answer. */
static void evidence(struct mtu_case *what, const char *expected)
{
    struct buf words;

    judge(what);
    buf_init(&words, 4096);
    mtu_evidence_words(what, &words);
    assert_string_equal(buf_peek(&words), expected);
    buf_done(&words);
    answer_done(what);
}

static void tunnel(struct mtu_case *what, const char *expected)
{
    struct buf words;

    judge(what);
    buf_init(&words, 4096);
    mtu_tunnel_words(what, &words);
    assert_string_equal(buf_peek(&words), expected);
    buf_done(&words);
    answer_done(what);
}

/* All lines, one after the other. */
static void notes(struct mtu_case *what, const char *expected)
{
    struct buf words;

    judge(what);
    buf_init(&words, 4096);
    for (size_t i = 0; mtu_note_words(what, i, &words); i++)
        buf_text(&words, "\n");
    assert_string_equal(buf_peek(&words), expected);
    buf_done(&words);
    answer_done(what);
}

/* --- why ------------------------------------------------------------------------------------- */

static void a_clean_path_says_what_ended_it(void **state)
{
    struct mtu_case what = found(FAMILY_IPV4, 1500);

    (void)state;
    what.flow.limit = MTU_LIMIT_CEILING;
    evidence(&what, "this is the interface's MTU");
    what = found(FAMILY_IPV4, 1400);
    what.flow.limit = MTU_LIMIT_CEILING;
    evidence(&what, "nothing larger was tried (the interface's MTU is 1,500)");
    what = found(FAMILY_IPV4, 1400);
    what.flow.limit = MTU_LIMIT_LOCAL;
    evidence(&what, "the probing host itself refuses more (the interface's MTU is 1,500)");
    what = found(FAMILY_IPV4, 65535);
    what.flow.limit = MTU_LIMIT_CEILING;
    what.flow.local_mtu = 65536;
    evidence(&what, "no IPv4 packet is larger");
    what = found(FAMILY_IPV6, 1400);
    what.flow.limit = MTU_LIMIT_CEILING;
    what.flow.local_mtu = NONE_INT;
    evidence(&what, "nothing larger was tried");
}

static void who_said_so_is_named(void **state)
{
    struct mtu_case what = found(FAMILY_IPV4, 1400);

    (void)state;
    add_icmp(&what, "10.9.2.254", 1400, 1, NULL);
    evidence(&what, "10.9.2.254 said so (ICMP)");
    what = found(FAMILY_IPV4, 1400);
    add_icmp(&what, "10.9.1.254", 1450, 7, NULL);
    add_icmp(&what, "10.9.2.254", 1400, 2, NULL);
    add_icmp(&what, "10.9.2.254", 1400, 1, NULL); /* which quoted more */
    add_icmp(&what, "10.9.3.254", 1400, 9, "unknown datagram");
    evidence(&what, "10.9.2.254 said so (ICMP, 3 times)");
    what = found(FAMILY_IPV6, 1400);
    add_icmp(&what, "2001:db8::1", 1400, 1, NULL);
    add_icmp(&what, "2001:db8::2", 1400, 1500, NULL);
    evidence(&what, "2001:db8::2 and 1 other said so (ICMP, 1,501 times)");
    what = found(FAMILY_IPV6, 1400);
    add_icmp(&what, "2001:db8::2", 1400, 1, NULL);
    add_icmp(&what, "2001:db8::1", 1400, 1, NULL);
    add_icmp(&what, "2001:db8::2", 1400, 1, NULL);
    add_icmp(&what, "2001:db8::3", 1400, 1, NULL);
    evidence(&what, "2001:db8::2 and 2 others said so (ICMP, 4 times)");
}

static struct mtu_case hole(int64_t last_hop, const char *last, int64_t first_hop,
                            const char *first)
{
    struct mtu_case what = found(FAMILY_IPV4, 1400);
    struct mtu_hops *hops = &what.flow.hops;

    hops->present = true;
    hops->last_hop = last_hop;
    hops->first_hop = first_hop;
    snprintf(hops->last, sizeof hops->last, "%s", last);
    snprintf(hops->first, sizeof hops->first, "%s", first);
    return what;
}

static void a_black_hole_is_somewhere(void **state)
{
    struct mtu_case what = found(FAMILY_IPV4, 1400);

    (void)state;
    evidence(&what, "larger datagrams vanish without a word");
    what = hole(1, "10.9.1.254", 2, "10.9.2.2");
    evidence(&what, "larger datagrams vanish without a word between hop 1 (10.9.1.254) and hop 2 "
                    "(10.9.2.2): tell the owner of what is between them");
    what = hole(3, "10.9.1.254", 0, "");
    evidence(&what, "larger datagrams vanish without a word: tell the owner of the hop after "
                    "10.9.1.254");
    what = hole(0, "", 1, "10.9.1.254");
    evidence(&what, "larger datagrams vanish without a word between the probing host and hop 1 "
                    "(10.9.1.254): tell the owner of what is between them");
    what = hole(2, "10.9.1.254", 4, "10.9.2.2:7900");
    what.flow.hops.first_is_peer = true;
    evidence(&what, "larger datagrams vanish without a word between hop 2 (10.9.1.254) and hop 4, "
                    "the other end: tell the owner of what is between them");
    what = hole(0, "", 0, "");
    evidence(&what, "larger datagrams vanish without a word; no hop answers, so it is not known "
                    "where");
}

static void a_lossy_path_says_how_much(void **state)
{
    struct mtu_case what = found(FAMILY_IPV4, 1500);

    (void)state;
    add_size_effect(&what, 1440);
    evidence(&what, "loss is 0.0 % up to 1,440 and 1.1 % (0.9 to 1.3 %) above");
    what = found(FAMILY_IPV4, 1500);
    add_size_effect(&what, 1440);
    what.flow.size_effect.low_above = what.flow.size_effect.high_above = (double)NAN;
    what.flow.size_effect.sent_above = what.flow.size_effect.lost_above = 0;
    evidence(&what, "loss is 0.0 % up to 1,440 and 0.0 % above");
}

static void below_the_base_says_why(void **state)
{
    struct mtu_case what = found(FAMILY_IPV4, 1100);

    (void)state;
    add_icmp(&what, "10.9.2.254", 1100, 1, NULL);
    evidence(&what, "less than the 1,200 bytes that applications count on (RFC 8899); 10.9.2.254 "
                    "said so (ICMP)");
    what = answer_of(FAMILY_IPV6, MTU_BELOW_FLOOR);
    what.flow.next_size = 1280;
    evidence(&what, "less than the 1,280 bytes that every IPv6 link carries (RFC 8200); not even "
                    "1,280 passes");
    what = answer_of(FAMILY_IPV6, MTU_BELOW_FLOOR);
    evidence(&what, "less than the 1,280 bytes that every IPv6 link carries (RFC 8200)");
}

static void without_an_answer_it_says_what_is_known(void **state)
{
    struct mtu_case what = answer_of(FAMILY_IPV4, MTU_UNREACHABLE);

    (void)state;
    evidence(&what, "small datagrams are not answered");
    what = answer_of(FAMILY_IPV4, MTU_UNREACHABLE);
    what.flow.unreachable = 2;
    snprintf(what.flow.unreachable_kind, sizeof what.flow.unreachable_kind, "port unreachable");
    snprintf(what.flow.unreachable_from, sizeof what.flow.unreachable_from, "10.9.2.2");
    evidence(
        &what,
        "small datagrams are not answered; 10.9.2.2 said \"port unreachable\" (ICMP, 2 times)");
    what = answer_of(FAMILY_IPV4, MTU_UNREACHABLE);
    snprintf(what.error, sizeof what.error, "the echo role did not agree");
    evidence(&what, "small datagrams are not answered: the echo role did not agree");
    what = answer_of(FAMILY_IPV4, MTU_UNDECIDED);
    evidence(&what, "cut off before the proof");
    what = answer_of(FAMILY_IPV4, MTU_UNDECIDED);
    snprintf(what.error, sizeof what.error, "host-b is away");
    evidence(&what, "host-b is away");
    what = found(FAMILY_IPV4, 1400);
    what.flow.outcome = MTU_UNDECIDED;
    evidence(&what, "cut off before the proof: 1,400 passes, 1,401 does not");
    what = answer_of(FAMILY_IPV4, MTU_EXHAUSTED);
    what.flow.next_size = 1500;
    evidence(&what, "the budget of datagrams was used up before the proof: 1,500 does not");
    what = found(FAMILY_IPV4, 1400);
    what.flow.outcome = MTU_UNSTABLE;
    what.flow.next_size = NONE_INT;
    evidence(&what, "what passed stopped to pass, again and again: the path changes: 1,400 passes");
    what = answer_of(FAMILY_IPV4, MTU_BELOW_FLOOR);
    what.flow.next_size = 1400;
    evidence(&what, "not even the floor of 1,400 passes: ask again with a lower one");
}

/* --- tunnels --------------------------------------------------------------------------------- */

static void a_tunnel_is_named_by_its_number(void **state)
{
    struct mtu_case what = found(FAMILY_IPV4, 1420);

    (void)state;
    tunnel(&what, "1420 is what WireGuard over IPv6 (wg-quick's default) leaves of 1500");
    what = found(FAMILY_IPV4, 1492);
    tunnel(&what, "1492 is what PPPoE or two VLAN tags or MPLS labels leaves of 1500");
    what = found(FAMILY_IPV6, 1280);
    tunnel(&what, "1280 is the least that IPv6 needs (RFC 8200 section 5), and many tunnels' "
                  "setting");
    what = found(FAMILY_IPV4, 1500);
    what.flow.local_mtu = 9000;
    tunnel(&what, "1500 is Ethernet without jumbo frames (RFC 894)");
    what = found(FAMILY_IPV4, 1412);
    what.flow.local_mtu = NONE_INT;
    tunnel(&what, "1412 is what WireGuard over IPv6 (wg-quick's default) inside PPPoE or WireGuard "
                  "over IPv6 (wg-quick's default) inside two VLAN tags or MPLS labels leaves of "
                  "1500");
}

static void nothing_is_made_up(void **state)
{
    struct mtu_case what = found(FAMILY_IPV4, 1399);

    (void)state;
    tunnel(&what, "");
    what = found(FAMILY_IPV4, 1420); /* somebody asked for no more */
    what.flow.limit = MTU_LIMIT_CEILING;
    tunnel(&what, "");
    what = found(FAMILY_IPV4, 1420);
    what.flow.outcome = MTU_UNDECIDED;
    tunnel(&what, "");
    what = answer_of(FAMILY_IPV4, MTU_UNREACHABLE);
    tunnel(&what, "");
}

/* --- notes ----------------------------------------------------------------------------------- */

static void a_path_without_surprises_has_no_notes(void **state)
{
    struct mtu_case what = found(FAMILY_IPV4, 1500);

    (void)state;
    what.flow.limit = MTU_LIMIT_CEILING;
    what.flow.kernel_path_mtu = what.flow.kernel_before = 1500;
    notes(&what, "");
    what = found(FAMILY_IPV4, 1400);
    add_icmp(&what, "10.9.2.254", 1400, 1, NULL);
    what.flow.kernel_path_mtu = 1400;
    notes(&what, "");
    what = found(FAMILY_IPV4, 1300);
    what.flow.limit = MTU_LIMIT_CEILING; /* more was not asked */
    what.flow.kernel_path_mtu = 1500;
    notes(&what, "");
}

static void fragments_are_told(void **state)
{
    struct mtu_case what = found(FAMILY_IPV4, 1400);
    const struct mtu_fragments probes = { true, 2800, 20, 0, 20, 19 };

    (void)state;
    what.flow.fragment_probes = probes;
    what.flow.fragments = MTU_DROPPED;
    notes(&what, "datagrams of 2,800 bytes do not arrive in fragments (0 of 20, small ones 19 of "
                 "20)\n");
    what = found(FAMILY_IPV4, 1400);
    what.flow.fragment_probes = probes;
    what.flow.fragment_probes.arrived = 20;
    what.flow.fragments = MTU_PASS;
    notes(&what, "datagrams of 2,800 bytes arrive in fragments (20 of 20)\n");
    what = found(FAMILY_IPV4, 1400);
    what.flow.fragment_probes = probes;
    notes(&what, "datagrams of 2,800 bytes: not known if fragments arrive (0 of 20, small ones 19 "
                 "of 20)\n");
}

static void the_kernel_s_own_belief_is_told(void **state)
{
    struct mtu_case what = found(FAMILY_IPV4, 1400);

    (void)state;
    what.flow.kernel_path_mtu = what.flow.kernel_before = 1500;
    notes(&what, "the probing host's kernel has 1,500: what its other programs send may be too "
                 "large\n");
    what = found(FAMILY_IPV4, 1500);
    what.flow.limit = MTU_LIMIT_CEILING;
    what.flow.kernel_before = 1500;
    what.flow.kernel_path_mtu = 1400;
    notes(&what, "the probing host's kernel has 1,400 (before: 1,500): its other programs send "
                 "less than they could\n");
}

static void a_hint_that_was_no_answer_is_told(void **state)
{
    struct mtu_case what = found(FAMILY_IPV4, 1400);

    (void)state;
    add_icmp(&what, "10.9.1.254", 1450, 1, NULL);
    add_icmp(&what, "10.9.2.254", 1400, 1, NULL);
    add_icmp(&what, "10.9.2.254", 1300, 2, NULL);
    add_icmp(&what, "10.9.9.9", 68, 3, "more was acknowledged");
    add_icmp(&what, "10.9.9.9", 0, 1, "below the protocol's minimum");
    what.flow.icmp_missed = 1234;
    notes(&what, "10.9.1.254 said 1,450 (ICMP); it was asked, and is not carried\n"
                 "10.9.2.254 said 1,300 (ICMP, 2 times); it was asked, and more is carried\n"
                 "10.9.9.9 said 68 (ICMP, 3 times), not believed: more was acknowledged\n"
                 "10.9.9.9 said 0 (ICMP), not believed: below the protocol's minimum\n"
                 "1,234 further ICMP messages were counted alone\n");
}

static void loss_by_size_is_told(void **state)
{
    struct mtu_case what = found(FAMILY_IPV4, 1480);

    (void)state;
    add_size_effect(&what, 1440);
    add_icmp(&what, "10.9.2.254", 1480, 1, NULL);
    notes(&what, "nothing above 1,480 passes: 10.9.2.254 said so (ICMP)\n"
                 "the loss changes above 1,440 (1,438 to 1,443): 110 of 20,000 datagrams were "
                 "lost\n");
    what = found(FAMILY_IPV4, 1500);
    add_size_effect(&what, NONE_INT);
    notes(&what, "no size loses more than others: 110 of 20,000 datagrams were lost, 0.5 to 0.7 "
                 "%\n");
}

static void what_else_came_is_told(void **state)
{
    struct mtu_case what = found(FAMILY_IPV4, 1400);

    (void)state;
    what.flow.controls = 120;
    what.flow.controls_lost = 12;
    what.flow.odd_answers = 1;
    what.flow.unreachable = 1;
    snprintf(what.flow.unreachable_kind, sizeof what.flow.unreachable_kind, "host unreachable");
    snprintf(what.flow.unreachable_from, sizeof what.flow.unreachable_from, "10.9.2.254");
    notes(&what, "10.9.2.254 said \"host unreachable\" (ICMP)\n"
                 "12 of 120 small datagrams were lost meanwhile\n"
                 "1 answer of the other end fits nothing that was sent\n");
}

/* --- whatever an archive says ---------------------------------------------------------------- */

/* Words come of anything that a table allows, also where a verdict does not fit its flow; and
 * appending does not change what is there. */
static void words_come_of_anything(void **state)
{
    struct filler filler = { .how = FILL_RANDOM, .list_cap = 3, .chance = chance_start("words") };

    (void)state;
    for (int i = 0; i < 2000; i++) {
        struct mtu_case what;
        struct buf words;

        filler.how = i == 0 ? FILL_LEAST : i == 1 ? FILL_MOST : FILL_RANDOM;
        record_init(&mtu_case_record, &what);
        fill_record(&filler, &mtu_case_record, &what);
        if (i % 2 == 1)
            judge(&what);
        buf_init(&words, 1 << 20);
        buf_text(&words, "before");
        mtu_evidence_words(&what, &words);
        assert_true(words.length > strlen("before"));
        mtu_tunnel_words(&what, &words);
        for (size_t line = 0;; line++) {
            size_t length = words.length;
            bool told = mtu_note_words(&what, line, &words);

            assert_int_equal(told, words.length > length);
            assert_true(line < 40);
            if (!told)
                break;
        }
        assert_int_equal(strncmp(buf_peek(&words), "before", strlen("before")), 0);
        assert_null(strstr(buf_peek(&words), "-9,223"));
        buf_done(&words);
        answer_done(&what);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clean_path_says_what_ended_it),
        cmocka_unit_test(who_said_so_is_named),
        cmocka_unit_test(a_black_hole_is_somewhere),
        cmocka_unit_test(a_lossy_path_says_how_much),
        cmocka_unit_test(below_the_base_says_why),
        cmocka_unit_test(without_an_answer_it_says_what_is_known),
        cmocka_unit_test(a_tunnel_is_named_by_its_number),
        cmocka_unit_test(nothing_is_made_up),
        cmocka_unit_test(a_path_without_surprises_has_no_notes),
        cmocka_unit_test(fragments_are_told),
        cmocka_unit_test(the_kernel_s_own_belief_is_told),
        cmocka_unit_test(a_hint_that_was_no_answer_is_told),
        cmocka_unit_test(loss_by_size_is_told),
        cmocka_unit_test(what_else_came_is_told),
        cmocka_unit_test(words_come_of_anything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
