/* Any bytes as a run.json and as a SHA256SUMS. What is read and adds up must be drawn and told
 * without harm, and must be the same run when it is written and read again.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "controller/report/archive_sums.h"
#include "controller/report/figures.h"
#include "controller/report/terminal.h"
#include "controller/report/validate.h"
#include "proto/base/utf8.h"
#include "proto/wire/record_json.h"

enum { TEXT_BYTES = 16 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* No control byte but the end of a line, and UTF-8 if at all. */
static void check_text(const struct buf *text, bool escapes)
{
    const char *bytes = buf_peek(text);

    assert(utf8_is_valid(bytes, text->length));
    for (size_t i = 0; i < text->length; i++)
        assert((unsigned char)bytes[i] >= 0x20 || bytes[i] == '\n' ||
               (escapes && bytes[i] == '\x1b'));
}

static void draw(const struct run *run)
{
    const struct run *runs[] = { run, run };
    struct buf svg;

    buf_init(&svg, TEXT_BYTES);
    if (figure_runs(runs, 2, &svg) == STATUS_OK) {
        check_text(&svg, false);
        assert(strstr(svg.data, "<script") == NULL);
        assert(strcmp(svg.data + svg.length - 7, "</svg>\n") == 0);
    }
    buf_done(&svg);
}

static void tell(const struct run *run)
{
    for (int style = 0; style < 4; style++) {
        struct buf text;

        buf_init(&text, TEXT_BYTES);
        terminal_run(run, (struct terminal_style){ (style & 1) != 0, (style & 2) != 0 }, &text);
        check_text(&text, (style & 1) != 0);
        buf_done(&text);
    }
}

static void write_and_read(const struct run *run)
{
    struct buf one, two;
    struct run again;
    enum status status;

    buf_init(&one, TEXT_BYTES);
    buf_init(&two, TEXT_BYTES);
    if (record_to_json(run_record_of(run->kind), run, &one) == STATUS_OK) {
        status = record_from_json(run_record_of(run->kind), one.data, one.length, &again, NULL);
        assert(status == STATUS_OK);
        status = validate_run(&again, NULL);
        assert(status == STATUS_OK);
        status = record_to_json(run_record_of(run->kind), &again, &two);
        assert(status == STATUS_OK);
        assert(one.length == two.length && memcmp(one.data, two.data, one.length) == 0);
        run_done(&again);
    }
    buf_done(&one);
    buf_done(&two);
}

static void read_sums(const char *text, size_t size)
{
    struct sums sums;
    struct fault fault = { "" };

    if (sums_parse(text, size, "SHA256SUMS", &sums, &fault) != STATUS_OK) {
        assert(strncmp(fault.text, "SHA256SUMS: line ", 17) == 0);
        return;
    }
    for (size_t i = 0; i < sums.count; i++) {
        assert(strchr(sums.entry[i].name, '/') == NULL && sums.entry[i].name[0] != '.');
        assert(sums_find(&sums, sums.entry[i].name) == &sums.entry[i]);
    }
}

/* The table that its head asks for, as archives are read. */
static const struct record *record_of(const char *text, size_t size)
{
    struct run head;

    if (record_from_json(&run_head_record, text, size, &head, NULL) != STATUS_OK ||
        run_record_of(head.kind) == NULL)
        return run_record_of(RUN_LOOPBACK);
    return run_record_of(head.kind);
}

static size_t case_count(const struct run *run)
{
    if (run->kind == RUN_MTU)
        return run->mtu_cases.count;
    return run->kind == RUN_BUFFERS ? buffers_plan_case_count(&run->buffers_plan)
                                    : plan_case_count(&run->plan);
}

static void read_run(const char *text, size_t size)
{
    const struct record *record = record_of(text, size);
    struct fault fault = { "" };
    struct run run;

    if (record_from_json(record, text, size, &run, &fault) != STATUS_OK) {
        assert(fault.text[0] == '/');
    } else if (validate_run(&run, &fault) != STATUS_OK) {
        assert(fault.text[0] == '/' && strchr(fault.text, '\n') == NULL);
    } else if (case_count(&run) <= 4096) {
        /* Larger ones only take time. */
        draw(&run);
        tell(&run);
        write_and_read(&run);
    }
    run_done(&run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size > 0 ? size : 1);

    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    read_sums(text, size);
    read_run(text, size);
    free(text);
    return 0;
}
