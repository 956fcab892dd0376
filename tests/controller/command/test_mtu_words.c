/* What is said of a path MTU run while it goes on: short, whole and safe for a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "controller/command/mtu_words.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"

static void assert_progress(const struct message_run_progress *progress,
                            const struct mtu_common *asked, const char *expected)
{
    char note[MTU_NOTE_SIZE];

    mtu_words_progress(progress, asked, note);
    assert_string_equal(note, expected);
}

static struct message_run_progress progress_of(int64_t low, int64_t high, int64_t sent)
{
    return (struct message_run_progress){ .type = MESSAGE_RUN_PROGRESS,
                                          .state = "send",
                                          .phase = PHASE_FORWARD,
                                          .elapsed_s = 12.34,
                                          .sent = sent,
                                          .low = low,
                                          .high = high,
                                          .flows_done = NONE_INT };
}

static void a_phase_tells_how_far_the_search_is(void **state)
{
    struct mtu_common one = { .flows = 1 };
    struct message_run_progress progress = progress_of(1400, 1500, 120);

    (void)state;
    assert_progress(&progress, &one, "between 1400 and 1500, 120 datagrams");
    progress.high = NONE_INT;
    assert_progress(&progress, &one, "1400 or more, 120 datagrams");
    progress.low = NONE_INT;
    assert_progress(&progress, &one, "120 datagrams");
    progress.high = 1281;
    assert_progress(&progress, &one, "less than 1281, 120 datagrams");
}

static void several_flows_are_counted(void **state)
{
    struct mtu_common many = { .flows = 16 };
    struct message_run_progress progress = progress_of(1400, 1500, 9000);

    (void)state;
    assert_progress(&progress, &many, "between 1400 and 1500, 9000 datagrams");
    progress.flows_done = 3;
    assert_progress(&progress, &many, "between 1400 and 1500, 3 of 16 flows done, 9000 datagrams");
}

static void before_the_first_datagram_there_is_the_state(void **state)
{
    struct mtu_common one = { .flows = 1, .watch_s = 60 };
    struct message_run_progress progress = progress_of(NONE_INT, NONE_INT, 0);

    (void)state;
    text_copy(progress.state, sizeof progress.state, "open_echo\x1b[31m");
    assert_progress(&progress, &one, "open echo?[31m");
}

static void what_follows_begins_when_every_flow_has_its_answer(void **state)
{
    struct mtu_common two = { .flows = 2, .watch_s = 60 };
    struct message_run_progress progress = progress_of(1400, 1401, 240);

    (void)state;
    progress.flows_done = 1;
    assert_progress(&progress, &two, "between 1400 and 1401, 1 of 2 flows done, 240 datagrams");
    progress.flows_done = 2;
    assert_progress(&progress, &two, "watching for 12.3 s, 240 datagrams");
    two.watch_s = 0;
    two.sizes = 1000;
    assert_progress(&progress, &two, "loss by size, 240 datagrams");
    two.sizes = 0;
    assert_progress(&progress, &two, "between 1400 and 1401, 2 of 2 flows done, 240 datagrams");
}

static void the_largest_numbers_fit(void **state)
{
    struct mtu_common many = { .flows = INT64_MAX };
    struct message_run_progress progress = progress_of(INT64_MAX, INT64_MAX, INT64_MAX);
    char note[MTU_NOTE_SIZE];

    (void)state;
    progress.flows_done = INT64_MAX - 1;
    mtu_words_progress(&progress, &many, note);
    assert_non_null(strstr(note, " datagrams"));
}

static struct message_run_moved moved_of(enum mtu_change change, int64_t from, int64_t to)
{
    return (struct message_run_moved){
        .family = FAMILY_IPV4,
        .direction = MTU_FORWARD,
        .event = { .flow = 3, .change = change, .from = from, .to = to, .after_s = 12.3 },
    };
}

static void a_change_says_when_where_and_from_what(void **state)
{
    struct message_run_moved moved = moved_of(MTU_CHANGE_CHANGED, 1500, 1400);
    char line[MTU_LINE_SIZE];

    (void)state;
    mtu_words_moved(&moved, 16, line);
    assert_string_equal(line, "12.3 s: IPv4 forward, flow 3: 1400, was 1500");
    mtu_words_moved(&moved, 1, line);
    assert_string_equal(line, "12.3 s: IPv4 forward: 1400, was 1500");
    moved = moved_of(MTU_CHANGE_KNOWN, NONE_INT, 1500);
    moved.family = FAMILY_IPV6;
    moved.direction = MTU_REVERSE;
    mtu_words_moved(&moved, 1, line);
    assert_string_equal(line, "12.3 s: IPv6 reverse: 1500");
    moved = moved_of(MTU_CHANGE_UNREACHABLE, 1500, NONE_INT);
    mtu_words_moved(&moved, 1, line);
    assert_string_equal(line, "12.3 s: IPv4 forward: unreachable, was 1500");
}

static struct mtu_row row_of(enum mtu_verdict verdict, int64_t path_mtu, int64_t previous)
{
    struct mtu_row row = { .family = FAMILY_IPV4,
                           .direction = MTU_REVERSE,
                           .status = CASE_PASS,
                           .verdict = verdict,
                           .path_mtu = path_mtu,
                           .udp_payload = path_mtu == NONE_INT ? NONE_INT : path_mtu - 28,
                           .previous = previous };

    snprintf(row.groups, sizeof row.groups, path_mtu == NONE_INT ? "none" : "%lld",
             (long long)path_mtu);
    text_copy(row.words, sizeof row.words, "10.9.2.254 said so (ICMP)");
    return row;
}

static void a_direction_that_is_done_says_what_and_why(void **state)
{
    struct mtu_row row = row_of(MTU_SIGNALLED, 1400, NONE_INT);
    char line[MTU_LINE_SIZE];

    (void)state;
    mtu_words_done(&row, line);
    assert_string_equal(line, "IPv4 reverse: 1400 (UDP payload 1372), signalled: 10.9.2.254 said "
                              "so (ICMP)");
    row.verdict = MTU_BLACK_HOLE;
    row.words[0] = '\0';
    mtu_words_done(&row, line);
    assert_string_equal(line, "IPv4 reverse: 1400 (UDP payload 1372), black_hole");
    row = row_of(MTU_NO_ANSWER, NONE_INT, NONE_INT);
    mtu_words_done(&row, line);
    assert_string_equal(line, "IPv4 reverse: none, unreachable: 10.9.2.254 said so (ICMP)");
}

static void what_it_was_is_told_when_it_differs(void **state)
{
    struct mtu_row row = row_of(MTU_CLEAN, 1500, 1500);
    char line[MTU_LINE_SIZE];

    (void)state;
    mtu_words_done(&row, line);
    assert_null(strstr(line, "was"));
    assert_false(mtu_words_has_moved(&row));
    row.previous = 1400;
    mtu_words_done(&row, line);
    assert_non_null(strstr(line, "(ICMP); was 1400"));
    row = row_of(MTU_NO_ANSWER, NONE_INT, 1400);
    mtu_words_done(&row, line);
    assert_non_null(strstr(line, "; was 1400"));
    row.status = CASE_ERROR; /* nothing is known, so nothing has changed */
    assert_false(mtu_words_has_moved(&row));
}

static void an_error_is_the_reason_alone_and_masked(void **state)
{
    struct mtu_row row = row_of(MTU_NO_VERDICT, NONE_INT, 1500);
    char line[MTU_LINE_SIZE];

    (void)state;
    row.status = CASE_ERROR;
    text_copy(row.error, sizeof row.error, "agent b is away\r\nx");
    mtu_words_done(&row, line);
    assert_string_equal(line, "IPv4 reverse: error: agent b is away??x");
    row.path_mtu = 1400;
    text_copy(row.groups, sizeof row.groups, "1400");
    mtu_words_done(&row, line);
    assert_string_equal(line, "IPv4 reverse: 1400 so far, error: agent b is away??x");
    row = row_of(MTU_LOSSY, 1500, NONE_INT);
    memset(row.groups, 'g', sizeof row.groups - 1);
    memset(row.words, 'w', sizeof row.words - 1);
    row.words[0] = '\x1b';
    mtu_words_done(&row, line);
    assert_null(strchr(line, '\x1b'));
    assert_true(strlen(line) > 2 * (REASON_SIZE - 1));
}

static void a_part_without_a_family_is_its_direction(void **state)
{
    char part[MTU_PART_SIZE];

    (void)state;
    mtu_words_part(FAMILY_IPV6, MTU_FORWARD, part);
    assert_string_equal(part, "IPv6 forward");
    mtu_words_part(FAMILY_COUNT, MTU_REVERSE, part);
    assert_string_equal(part, "reverse");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_phase_tells_how_far_the_search_is),
        cmocka_unit_test(several_flows_are_counted),
        cmocka_unit_test(before_the_first_datagram_there_is_the_state),
        cmocka_unit_test(what_follows_begins_when_every_flow_has_its_answer),
        cmocka_unit_test(the_largest_numbers_fit),
        cmocka_unit_test(a_change_says_when_where_and_from_what),
        cmocka_unit_test(a_direction_that_is_done_says_what_and_why),
        cmocka_unit_test(what_it_was_is_told_when_it_differs),
        cmocka_unit_test(an_error_is_the_reason_alone_and_masked),
        cmocka_unit_test(a_part_without_a_family_is_its_direction),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
