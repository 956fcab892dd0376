/* Writes sample archives for the tests of what reads them.
 *
 * usage: make_archive PARENT SHAPE [HOST-NAME]
 *
 * SHAPE: seed, small, split, macos, engines, interrupted, error, capped; of buffer experiments:
 * buffers, buffers-small, buffers-macos, buffers-many, buffers-one, buffers-interrupted,
 * buffers-error. Prints the folder. The host name may hold \xHH for any byte. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/report/archive.h"
#include "tests/controller/report/make_buffers_run.h"

static bool set_shape(const char *name, struct make_shape *shape)
{
    *shape = strcmp(name, "seed") == 0 ? make_shape_seed() : make_shape_small();
    if (strcmp(name, "split") == 0)
        shape->io_model = IO_MODEL_SPLIT;
    else if (strcmp(name, "macos") == 0)
        shape->os = "macOS";
    else if (strcmp(name, "engines") == 0)
        shape->engines[shape->engine_count++] = ENGINE_SINGLE;
    else if (strcmp(name, "capped") == 0)
        shape->rcvbuf_limit = 212992;
    else
        return strcmp(name, "seed") == 0 || strcmp(name, "small") == 0 ||
               strcmp(name, "interrupted") == 0 || strcmp(name, "error") == 0;
    return true;
}

/* Forty payloads and buffers, and as many slow readers as fit three by three by three. */
static void set_many(struct make_buffers_shape *shape)
{
    static const int64_t three[] = { 0, 262144, 8388608 }, reads[] = { 50000, 300000, 1000000 };
    static int64_t payloads[40], rcvbufs[40];

    for (int i = 0; i < 40; i++) {
        payloads[i] = 44 + (int64_t)i * i * 43;
        rcvbufs[i] = 4096 + (int64_t)i * i * i * 131;
    }
    shape->payloads = (struct make_numbers){ payloads, 40 };
    shape->sweep_rcvbufs = (struct make_numbers){ rcvbufs, 40 };
    shape->slow_rcvbufs = (struct make_numbers){ three, 3 };
    shape->read_ns = (struct make_numbers){ reads, 3 };
}

static bool set_buffers_shape(const char *name, struct make_buffers_shape *shape)
{
    bool small = strcmp(name, "buffers-small") == 0 || strcmp(name, "buffers-interrupted") == 0 ||
                 strcmp(name, "buffers-error") == 0;

    *shape = small ? make_buffers_small() : make_buffers_seed();
    if (strcmp(name, "buffers-macos") == 0) {
        shape->base.os = "macOS";
        shape->base.rcvbuf_limit = 8 << 20;
    } else if (strcmp(name, "buffers-many") == 0) {
        set_many(shape);
    } else if (strcmp(name, "buffers-one") == 0) {
        shape->experiment_count = shape->sweep_rcvbufs.count = 1;
        shape->experiments[0] = EXPERIMENT_SWEEP;
    } else {
        return small || strcmp(name, "buffers") == 0;
    }
    return true;
}

/* Undoes \xHH, so that a test may ask for any byte but zero. */
static void unescape(const char *text, char out_text[256])
{
    size_t length = 0;

    while (*text != '\0' && length < 255) {
        if (text[0] == '\\' && text[1] == 'x' && text[2] != '\0' && text[3] != '\0') {
            char digits[3] = { text[2], text[3], '\0' };

            out_text[length++] = (char)strtol(digits, NULL, 16);
            text += 4;
        } else {
            out_text[length++] = *text++;
        }
    }
    out_text[length] = '\0';
}

/* Shapes differ in their ids, so that they can lie beside each other. */
static unsigned char id_of(const char *shape)
{
    unsigned char id = 0x5d;

    for (const char *c = shape; *c != '\0'; c++)
        id = (unsigned char)(31 * id + *c);
    return id;
}

static void make_of_buffers(const char *name, const struct make_buffers_shape *shape,
                            struct run *run)
{
    make_buffers_run(shape, run);
    if (strcmp(name, "buffers-interrupted") == 0)
        make_buffers_interrupted(run, 5);
    if (strcmp(name, "buffers-error") == 0) {
        make_experiment_error(run, SMALL_LADDER, "No buffer space available");
        make_experiment_error(run, SMALL_SLOW, "the reader was killed by signal 9");
    }
}

static void make_of_loopback(const char *name, const struct make_shape *shape, struct run *run)
{
    make_run(shape, run);
    if (strcmp(name, "interrupted") == 0)
        make_interrupted(run, 5);
    if (strcmp(name, "error") == 0)
        make_case_error(run, 2, "the echo role did not start");
}

static int write_archive(const char *parent, const struct run *run)
{
    struct fault fault = { "" };
    char path[ARCHIVE_PATH_SIZE];
    enum status status = archive_prepare(parent, &fault);

    if (status == STATUS_OK)
        status = archive_write(parent, run, path, &fault);
    if (status != STATUS_OK) {
        fprintf(stderr, "make_archive: %s\n", fault.text);
        return 1;
    }
    printf("%s\n", path);
    return 0;
}

int main(int argc, char **argv)
{
    struct make_shape shape;
    struct make_buffers_shape buffers;
    struct run run;
    char name[256] = "probe-1";
    bool is_buffers = argc > 2 && strncmp(argv[2], "buffers", 7) == 0;
    int code;

    if (argc < 3 ||
        !(is_buffers ? set_buffers_shape(argv[2], &buffers) : set_shape(argv[2], &shape))) {
        fprintf(stderr, "usage: make_archive PARENT SHAPE [HOST-NAME]\n");
        return 2;
    }
    if (argc > 3)
        unescape(argv[3], name);
    if (is_buffers) {
        buffers.base.host_name = name;
        buffers.base.id = id_of(argv[2]);
        make_of_buffers(argv[2], &buffers, &run);
    } else {
        shape.host_name = name;
        shape.id = id_of(argv[2]);
        make_of_loopback(argv[2], &shape, &run);
    }
    code = write_archive(argv[1], &run);
    run_done(&run);
    return code;
}
