/* Owns the comparison of texts with golden files. Knows no text. */
#include "tests/controller/report/golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controller/report/validate.h"
#include "proto/base/file.h"

enum { TEXT_BYTES = 4 << 20, COLUMNS = 100 };

const struct terminal_style golden_plain = { false, false };

void golden_tell(const struct run *run, struct terminal_style style, struct buf *out)
{
    struct fault fault = { "" };

    if (validate_run(run, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    buf_init(out, TEXT_BYTES);
    terminal_run(run, style, out);
    assert_int_equal(buf_status(out), STATUS_OK);
}

/* Beside this file. */
static void golden_path(const char *name, char out_path[1024])
{
    const char *slash = strrchr(__FILE__, '/');

    snprintf(out_path, 1024, "%.*s/golden/%s", (int)(slash - __FILE__), __FILE__, name);
}

void golden_check_lines(const char *text)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");

        if (length > COLUMNS || (length > 0 && text[length - 1] == ' '))
            fail_msg("%zu columns: \"%.*s\"", length, (int)length, text);
        for (size_t i = 0; i < length; i++)
            assert_true((unsigned char)text[i] >= 0x20 && (unsigned char)text[i] < 0x7f);
        text += length + (text[length] == '\n');
    }
}

void golden_expect(const struct run *run, const char *name)
{
    const char *mode = getenv("SONDE_GOLDEN");
    char path[1024];
    struct buf text, golden;

    golden_tell(run, golden_plain, &text);
    golden_check_lines(text.data);
    golden_path(name, path);
    if (mode != NULL && strcmp(mode, "update") == 0)
        assert_int_equal(file_write_whole(path, text.data, text.length, NULL), STATUS_OK);
    buf_init(&golden, TEXT_BYTES);
    assert_int_equal(file_read(path, &golden, NULL), STATUS_OK);
    assert_string_equal(text.data, buf_peek(&golden));
    buf_done(&golden);
    buf_done(&text);
}
