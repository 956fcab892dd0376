/* Two threads talk: in order, bounded, woken, and told when the other one is gone. */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/link/mailbox.h"

enum { MESSAGES = 5000 };

struct ends {
    struct loop *loop;
    struct mailbox *mine, *theirs;
    struct buf buf;
};

static int make_ends(void **state)
{
    struct ends *ends = calloc(1, sizeof *ends);
    struct fault fault;

    assert_non_null(ends);
    assert_int_equal(loop_new(&ends->loop, &fault), STATUS_OK);
    assert_int_equal(mailbox_pair(ends->loop, &ends->mine, &ends->theirs, &fault), STATUS_OK);
    buf_init(&ends->buf, 1000);
    *state = ends;
    return 0;
}

static int free_ends(void **state)
{
    struct ends *ends = *state;

    mailbox_free(ends->mine);
    mailbox_free(ends->theirs);
    loop_free(ends->loop);
    buf_done(&ends->buf);
    free(ends);
    return 0;
}

static void messages_come_whole_and_in_order(void **state)
{
    struct ends *ends = *state;

    assert_int_equal(mailbox_take(ends->theirs, 0, &ends->buf), STATUS_AGAIN);
    assert_int_equal(mailbox_post(ends->mine, "one", 3), STATUS_OK);
    assert_int_equal(mailbox_post(ends->mine, "t\0o", 3), STATUS_OK);
    assert_int_equal(mailbox_post(ends->theirs, "back", 4), STATUS_OK);
    assert_int_equal(mailbox_take(ends->theirs, 0, &ends->buf), STATUS_OK);
    assert_int_equal(ends->buf.length, 3);
    assert_string_equal(buf_peek(&ends->buf), "one");
    assert_int_equal(mailbox_take(ends->theirs, 0, &ends->buf), STATUS_OK);
    assert_int_equal(ends->buf.length, 3);
    assert_memory_equal(ends->buf.data, "t\0o", 3);
    assert_int_equal(mailbox_take(ends->theirs, 0, &ends->buf), STATUS_AGAIN);
    assert_int_equal(mailbox_take(ends->mine, 0, &ends->buf), STATUS_OK);
    assert_string_equal(buf_peek(&ends->buf), "back");
}

static void who_does_not_read_is_not_filled_for_ever(void **state)
{
    struct ends *ends = *state;
    unsigned posted = 0;

    while (posted < 2000 && mailbox_post(ends->mine, "x", 1) == STATUS_OK)
        posted++;
    assert_int_equal(posted, 1000);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(mailbox_take(ends->theirs, 0, &ends->buf), STATUS_OK);
    assert_int_equal(mailbox_take(ends->theirs, 0, &ends->buf), STATUS_AGAIN);
    /* The room comes back a moment later. */
    for (unsigned i = 0; mailbox_post(ends->mine, "x", 1) != STATUS_OK; i++) {
        assert_true(i < 1000);
        poll(NULL, 0, 1);
    }
}

static void a_message_above_the_cap_is_said_to_be(void **state)
{
    struct ends *ends = *state;
    char bytes[1001] = { 0 };

    assert_int_equal(mailbox_post(ends->mine, bytes, sizeof bytes), STATUS_OK);
    assert_int_equal(mailbox_post(ends->mine, bytes, sizeof bytes - 1), STATUS_OK);
    assert_int_equal(mailbox_take(ends->theirs, 0, &ends->buf), STATUS_TOO_LARGE);
    assert_int_equal(mailbox_take(ends->theirs, 0, &ends->buf), STATUS_OK);
    assert_int_equal(ends->buf.length, 1000);
}

static void who_waits_learns_that_the_other_end_is_gone(void **state)
{
    struct ends *ends = *state;

    assert_int_equal(mailbox_post(ends->mine, "last", 4), STATUS_OK);
    mailbox_free(ends->mine);
    ends->mine = NULL;
    assert_int_equal(mailbox_take(ends->theirs, 10 * NS_PER_S, &ends->buf), STATUS_OK);
    assert_string_equal(buf_peek(&ends->buf), "last");
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(mailbox_take(ends->theirs, 10 * NS_PER_S, &ends->buf), STATUS_NOT_FOUND);
    assert_int_equal(mailbox_post(ends->theirs, "x", 1), STATUS_NOT_FOUND);
}

static void a_full_mailbox_still_ends(void **state)
{
    struct ends *ends = *state;

    while (mailbox_post(ends->theirs, "x", 1) == STATUS_OK)
        ;
    mailbox_free(ends->theirs);
    ends->theirs = NULL;
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(mailbox_take(ends->mine, 0, &ends->buf), STATUS_OK);
    assert_int_equal(mailbox_take(ends->mine, 10 * NS_PER_S, &ends->buf), STATUS_NOT_FOUND);
}

static void nobody_there_is_waited_for_no_longer_than_asked(void **state)
{
    struct ends *ends = *state;
    struct mono before = mono_now();

    assert_int_equal(mailbox_take(ends->theirs, 30 * NS_PER_MS, &ends->buf), STATUS_AGAIN);
    assert_true(mono_between(before, mono_now()) >= 25 * NS_PER_MS);
}

/* Answers each message with itself, as its rule says: takes until there is none before it waits. */
static void *echo(void *context)
{
    struct mailbox *mailbox = context;
    struct pollfd fd = { .fd = mailbox_fd(mailbox), .events = POLLIN };
    struct buf buf;
    enum status status = STATUS_AGAIN;
    int64_t answered = 0;

    buf_init(&buf, 100);
    while (status != STATUS_NOT_FOUND) {
        while ((status = mailbox_take(mailbox, 0, &buf)) == STATUS_OK) {
            while (mailbox_post(mailbox, buf.data, buf.length) == STATUS_AGAIN)
                poll(NULL, 0, 1);
            answered++;
        }
        if (status == STATUS_AGAIN)
            poll(&fd, 1, -1);
    }
    buf_done(&buf);
    mailbox_free(mailbox);
    return (void *)(intptr_t)answered;
}

struct reader {
    struct ends *ends;
    int next;
};

static void on_message(void *context, struct mono now)
{
    struct reader *reader = context;
    int number;

    (void)now;
    while (mailbox_take(reader->ends->mine, 0, &reader->ends->buf) == STATUS_OK) {
        assert_int_equal(reader->ends->buf.length, sizeof number);
        memcpy(&number, reader->ends->buf.data, sizeof number);
        assert_int_equal(number, reader->next++);
    }
}

static void no_edge_is_lost_between_threads(void **state)
{
    struct ends *ends = *state;
    struct reader reader = { .ends = ends };
    pthread_t thread;
    void *answered;
    int posted = 0;

    assert_int_equal(pthread_create(&thread, NULL, echo, ends->theirs), 0);
    ends->theirs = NULL;
    mailbox_watch(ends->mine, ends->loop, on_message, &reader);
    while (reader.next < MESSAGES) {
        /* In bursts, with silence behind them. */
        for (int i = 0; i < 7 && posted < MESSAGES; i++)
            posted += mailbox_post(ends->mine, &posted, sizeof posted) == STATUS_OK;
        do {
            loop_turn(ends->loop, 5 * NS_PER_S);
        } while (reader.next < posted);
    }
    mailbox_unwatch(ends->mine, ends->loop);
    mailbox_free(ends->mine);
    ends->mine = NULL;
    assert_int_equal(pthread_join(thread, &answered), 0);
    assert_int_equal((intptr_t)answered, MESSAGES);
}

static void many_pairs_do_not_mix(void **state)
{
    struct ends *ends = *state;
    struct mailbox *mine[50], *theirs[50];
    struct fault fault;

    for (unsigned char i = 0; i < 50; i++) {
        assert_int_equal(mailbox_pair(ends->loop, &mine[i], &theirs[i], &fault), STATUS_OK);
        assert_int_equal(mailbox_post(mine[i], &i, 1), STATUS_OK);
    }
    for (unsigned char i = 0; i < 50; i++) {
        assert_int_equal(mailbox_take(theirs[i], NS_PER_S, &ends->buf), STATUS_OK);
        assert_memory_equal(ends->buf.data, &i, 1);
        mailbox_free(mine[i]);
        mailbox_free(theirs[i]);
    }
    mailbox_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(messages_come_whole_and_in_order, make_ends, free_ends),
        cmocka_unit_test_setup_teardown(who_does_not_read_is_not_filled_for_ever, make_ends,
                                        free_ends),
        cmocka_unit_test_setup_teardown(a_message_above_the_cap_is_said_to_be, make_ends,
                                        free_ends),
        cmocka_unit_test_setup_teardown(who_waits_learns_that_the_other_end_is_gone, make_ends,
                                        free_ends),
        cmocka_unit_test_setup_teardown(a_full_mailbox_still_ends, make_ends, free_ends),
        cmocka_unit_test_setup_teardown(nobody_there_is_waited_for_no_longer_than_asked, make_ends,
                                        free_ends),
        cmocka_unit_test_setup_teardown(no_edge_is_lost_between_threads, make_ends, free_ends),
        cmocka_unit_test_setup_teardown(many_pairs_do_not_mix, make_ends, free_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
