/* A run.json from anywhere: the reader refuses it with a place, or reads what can be written and
 * read again without a change. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/buf.h"
#include "proto/wire/json_place.h"
#include "proto/wire/limits.h"
#include "proto/wire/record_json.h"
#include "proto/wire/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
    if (!holds)
        abort();
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

/* Writes the run and frees it. */
static void write_run(const struct record *record, struct run *run, struct buf *out_text)
{
    must(record_check(record, run, NULL) == STATUS_OK);
    buf_init(out_text, LIMIT_JSON_BYTES);
    must(record_to_json(record, run, out_text) == STATUS_OK);
    run_done(run);
}

static void check_run(const struct record *record, struct run *run)
{
    struct buf once, twice;
    struct run back;

    write_run(record, run, &once);
    must(record_from_json(record, once.data, once.length, &back, NULL) == STATUS_OK);
    write_run(record, &back, &twice);
    must(once.length == twice.length && memcmp(once.data, twice.data, once.length) == 0);
    buf_done(&once);
    buf_done(&twice);
}

/* Any place in any text has a pointer. */
static void check_place(const char *text, size_t size)
{
    size_t position = size == 0 ? 0 : (unsigned char)text[size - 1] * size / 255 + 1;
    struct fault fault = { "" };

    must(json_fault_at(text, size, position, "asked", &fault) == STATUS_INVALID);
    must(fault.text[0] == '/');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct fault form = { "" }, fault = { "" };
    enum status formed = json_check_form(text, size, &form);
    const struct record *record = record_of(text, size);
    struct run run, fresh;
    enum status status = record_from_json(record, text, size, &run, &fault);

    check_place(text, size);
    must(formed == STATUS_OK || (status == formed && strcmp(form.text, fault.text) == 0));
    if (status == STATUS_OK) {
        check_run(record, &run);
        return 0;
    }
    must(fault.text[0] == '/');
    record_init(record, &fresh);
    must(memcmp(&run, &fresh, sizeof run) == 0);
    return 0;
}
