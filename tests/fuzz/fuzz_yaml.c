/* A configuration file from anywhere: the reader refuses it with file and line, or reads what can
 * be written and read again without a change. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/wire/case.h"
#include "proto/wire/limits.h"
#include "proto/wire/record_yaml.h"
#include "proto/wire/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
    if (!holds)
        abort();
}

static void print(const struct record *record, const void *object, struct buf *out_text)
{
    buf_init(out_text, (size_t)LIMIT_CONFIG_BYTES * 16);
    must(record_to_yaml(record, object, out_text) == STATUS_OK);
}

/* Missing keys leave what record_init says, which need not be in range. */
static void check_object(const struct record *record, void *object, void *back)
{
    struct yaml_text text = { .path = "again.yaml" };
    struct buf once, twice;

    if (record_check(record, object, NULL) != STATUS_OK)
        return;
    print(record, object, &once);
    text.text = once.data;
    text.length = once.length;
    record_init(record, back);
    if (once.length <= LIMIT_CONFIG_BYTES) {
        must(record_from_yaml(record, &text, back, NULL) == STATUS_OK);
        print(record, back, &twice);
        must(strcmp(once.data, twice.data) == 0);
        buf_done(&twice);
        record_done(record, back);
    }
    buf_done(&once);
}

/* `object` and `back` are two of the record's. */
static void try_record(const struct record *record, const struct yaml_text *text, void *object,
                       void *back)
{
    struct fault fault = { "" };
    enum status status;

    record_init(record, object);
    status = record_from_yaml(record, text, object, &fault);
    if (status == STATUS_OK) {
        check_object(record, object, back);
        record_done(record, object);
        return;
    }
    must(strncmp(fault.text, "fuzz.yaml:", 10) == 0);
    record_init(record, back);
    must(memcmp(object, back, record->size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct yaml_text text = { "fuzz.yaml", (const char *)data, size };
    struct plan plan, plan_back;
    struct report report, report_back;

    try_record(&plan_record, &text, &plan, &plan_back);
    try_record(&report_record, &text, &report, &report_back);
    return 0;
}
