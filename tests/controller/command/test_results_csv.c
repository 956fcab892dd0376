/* Rows of either kind as RFC 4180 has them: a line of names, values that cannot break a line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controller/command/results_csv.h"
#include "proto/base/text.h"
#include "proto/wire/message.h"

enum { CAP = 65536 };

static struct mtu_row *add_row(struct list *rows)
{
    struct mtu_row *row = list_append_sized(rows, sizeof *row);

    record_init(&mtu_row_record, row);
    return row;
}

static size_t commas_in(const char *line)
{
    size_t count = 0;

    for (; *line != '\0' && *line != '\r'; line++)
        count += *line == ',';
    return count;
}

static void path_mtus_have_their_own_columns(void **state)
{
    struct list rows = { 0 };
    struct buf text;
    const char *second;

    (void)state;
    add_row(&rows)->path_mtu = 1400;
    buf_init(&text, CAP);
    results_csv(&mtu_row_record, &rows, &text);
    second = strstr(buf_peek(&text), "\r\n") + 2;
    assert_memory_equal(buf_peek(&text), "row,run,started,from,to,index,family,direction,status,",
                        54);
    assert_int_equal(commas_in(buf_peek(&text)), mtu_row_record.count - 1);
    assert_int_equal(commas_in(second), mtu_row_record.count - 1);
    assert_non_null(strstr(second, ",1400,"));
    assert_non_null(strstr(second, ",ipv4,forward,pass,"));
    buf_done(&text);
    free(rows.items);
}

static void cases_keep_theirs(void **state)
{
    struct list none = { 0 };
    struct buf text;

    (void)state;
    buf_init(&text, CAP);
    results_csv(&case_row_record, &none, &text);
    assert_non_null(strstr(buf_peek(&text), "forward_lost_to.network,"));
    assert_ptr_equal(strstr(buf_peek(&text), "\r\n") + 2, buf_peek(&text) + text.length);
    buf_done(&text);
}

static void words_of_a_row_stay_one_value(void **state)
{
    struct list rows = { 0 };
    struct mtu_row *row = add_row(&rows);
    struct buf text;

    (void)state;
    text_copy(row->groups, sizeof row->groups, "ports 1-2: 1500, port 3: 1400");
    text_copy(row->words, sizeof row->words, "he said \"too big\"\nand left");
    text_copy(row->from, sizeof row->from, "=1+1");
    buf_init(&text, CAP);
    results_csv(&mtu_row_record, &rows, &text);
    assert_non_null(strstr(buf_peek(&text), ",\"ports 1-2: 1500, port 3: 1400\","));
    assert_non_null(strstr(buf_peek(&text), ",\"he said \"\"too big\"\"\nand left\","));
    assert_non_null(strstr(buf_peek(&text), ",\"'=1+1\","));
    buf_done(&text);
    free(rows.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(path_mtus_have_their_own_columns),
        cmocka_unit_test(cases_keep_theirs),
        cmocka_unit_test(words_of_a_row_stay_one_value),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
