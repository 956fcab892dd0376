/* Nothing that comes from outside can leave its place in a figure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "controller/report/chart.h"
#include "proto/base/utf8.h"

#define FFFD "\xef\xbf\xbd"

static void expect_escaped(const char *text, const char *expected)
{
    struct buf out;

    buf_init(&out, 4096);
    chart_escape(&out, text);
    assert_string_equal(buf_peek(&out), expected);
    buf_done(&out);
}

static void markup_becomes_entities(void **state)
{
    (void)state;
    expect_escaped("</text><script>alert(1)</script>",
                   "&lt;/text&gt;&lt;script&gt;alert(1)&lt;/script&gt;");
    expect_escaped("\" onload=\"x", "&quot; onload=&quot;x");
    expect_escaped("it's &amp; ]]>", "it&#39;s &amp;amp; ]]&gt;");
    expect_escaped("", "");
}

static void what_xml_or_a_reader_cannot_have_is_replaced(void **state)
{
    (void)state;
    expect_escaped("a\x01\x1f\x7f\tb", "a" FFFD FFFD FFFD FFFD "b");
    expect_escaped("\xe2\x80\xaegnp.exe", FFFD "gnp.exe");      /* U+202E */
    expect_escaped("\xe2\x81\xa6x\xe2\x81\xa9", FFFD "x" FFFD); /* U+2066, U+2069 */
    expect_escaped("\xef\xbf\xbe\xef\xbf\xbf", FFFD FFFD);      /* U+FFFE, U+FFFF */
    expect_escaped("\xc2\x85", FFFD);                           /* U+0085 */
    expect_escaped("\xed\xa0\x80", FFFD FFFD FFFD);             /* a surrogate */
    expect_escaped("\xc0\xbc"
                   "script",
                   FFFD FFFD "script");                      /* '<' in two bytes */
    expect_escaped("\xf4\x90\x80\x80", FFFD FFFD FFFD FFFD); /* above U+10FFFF */
    expect_escaped("cut \xe2\x80", "cut " FFFD FFFD);
    expect_escaped("\xff\xfe", FFFD FFFD);
}

static void other_text_stays_as_it_is(void **state)
{
    (void)state;
    expect_escaped("Z\xc3\xbcrich \xe6\x9d\xb1\xe4\xba\xac \xf0\x9f\x9b\xb0",
                   "Z\xc3\xbcrich \xe6\x9d\xb1\xe4\xba\xac \xf0\x9f\x9b\xb0");
}

static void long_text_is_shortened_to_what_fits(void **state)
{
    char text[CHART_LINE_SIZE];
    const char *name = "a-host-with-a-very-long-name.of-a-department.example.org";

    (void)state;
    chart_shorten("short", 12, 100, text);
    assert_string_equal(text, "short");
    for (int width = 20; width < 400; width += 7) {
        chart_shorten(name, 12, width, text);
        assert_true(chart_text_width(text, 12) <= width);
        assert_true(strlen(text) <= strlen(name) + 3);
    }
    chart_shorten(name, 12, 200, text);
    assert_non_null(strstr(text, "\xe2\x80\xa6"));
    assert_memory_equal(text, "a-host", 6);
    assert_string_equal(text + strlen(text) - 4, ".org");
}

static void shortening_cuts_no_character(void **state)
{
    char text[CHART_LINE_SIZE], name[1200] = "";

    (void)state;
    for (int i = 0; i < 390; i++)
        memcpy(name + 3 * i, "\xe6\x9d\xb1", 4);
    for (int width = 0; width < 9000; width += 211) {
        chart_shorten(name, 15, width, text);
        assert_true(utf8_is_valid(text, strlen(text)));
    }
}

static void a_document_has_its_parts(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 1 << 20);
    chart_begin(&out, 100, 50, "a < b", "what it \"shows\"");
    chart_group_begin(&out, "tip");
    chart_rect(&out, (struct chart_box){ 1, 2, 3, 4 }, "pass");
    chart_text(&out, 5, 6, "label", "x & y");
    chart_line(&out, (struct chart_point){ 1, 2 }, (struct chart_point){ 3, 4 }, "axis");
    chart_polyline(&out, (const struct chart_point[]){ { 1, 2 }, { 3, -4 } }, 2, "queue");
    chart_polyline(&out, (const struct chart_point[]){ { 1, 2 } }, 1, "lonely");
    chart_dot(&out, (struct chart_point){ 5, 6 }, 7, "dot");
    chart_group_end(&out);
    chart_end(&out);
    assert_int_equal(buf_status(&out), STATUS_OK);
    assert_non_null(strstr(out.data, "role=\"img\""));
    assert_non_null(strstr(out.data, "<title id=\"figure-title\">a &lt; b</title>"));
    assert_non_null(strstr(out.data, "what it &quot;shows&quot;</desc>"));
    assert_non_null(strstr(out.data, "prefers-color-scheme:dark"));
    assert_non_null(strstr(out.data, "<title>tip</title>"));
    assert_non_null(strstr(out.data, "<text class=\"label\" x=\"5\" y=\"6\">x &amp; y</text>"));
    assert_non_null(strstr(out.data, "<line class=\"axis\" x1=\"1\" y1=\"2\" x2=\"3\" y2=\"4\"/>"));
    assert_non_null(strstr(out.data, "<polyline class=\"queue\" points=\"1,2 3,-4\"/>"));
    assert_null(strstr(out.data, "lonely"));
    assert_non_null(strstr(out.data, "<circle class=\"dot\" cx=\"5\" cy=\"6\" r=\"7\"/>"));
    assert_null(strstr(out.data, "<script"));
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markup_becomes_entities),
        cmocka_unit_test(what_xml_or_a_reader_cannot_have_is_replaced),
        cmocka_unit_test(other_text_stays_as_it_is),
        cmocka_unit_test(long_text_is_shortened_to_what_fits),
        cmocka_unit_test(shortening_cuts_no_character),
        cmocka_unit_test(a_document_has_its_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
