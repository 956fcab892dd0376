/* Writes sample archives for the tests of what reads them.
 *
 * usage: make_archive PARENT SHAPE [HOST-NAME]
 *
 * SHAPE: seed, small, split, macos, engines, interrupted, error, capped; of buffer experiments:
 * buffers, buffers-small, buffers-macos, buffers-many, buffers-one, buffers-interrupted,
 * buffers-error; of path MTUs: mtu, mtu-flows, mtu-sizes, mtu-failed, mtu-interrupted. Prints the
 * folder. The host name may hold \xHH for any byte. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/report/archive.h"
#include "tests/controller/report/make_buffers_run.h"
#include "tests/controller/report/make_mtu_run.h"

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

static bool set_mtu_shape(const char *name, struct make_mtu_shape *shape)
{
    *shape = make_mtu_seed();
    if (strcmp(name, "mtu-flows") == 0) {
        shape->common.flows = 16;
        shape->local_mtu = 9000;
        shape->path_mtu[MTU_FORWARD] = 1500;
        shape->path_mtu[MTU_REVERSE] = 9000;
        shape->told = false;
    } else if (strcmp(name, "mtu-sizes") == 0) {
        shape->common.sizes = 20000;
        shape->path_mtu[MTU_FORWARD] = shape->path_mtu[MTU_REVERSE] = 1500;
    } else {
        return strcmp(name, "mtu") == 0 || strcmp(name, "mtu-failed") == 0 ||
               strcmp(name, "mtu-interrupted") == 0;
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

static void make_of_mtu(const char *name, const struct make_mtu_shape *shape, struct run *run)
{
    make_mtu_run(shape, run);
    if (strcmp(name, "mtu-flows") == 0) {
        for (int64_t i = 12; i < 16; i++)
            make_mtu_answer(make_mtu_at(run, FAMILY_IPV4, MTU_FORWARD, i), MAKE_MTU_SILENT, 1400);
    } else if (strcmp(name, "mtu-sizes") == 0) {
        make_mtu_sizes(make_mtu_at(run, FAMILY_IPV4, MTU_FORWARD, 0), 1440, 0, 10);
        make_mtu_sizes(make_mtu_at(run, FAMILY_IPV4, MTU_REVERSE, 0), NONE_INT, 10, 10);
        make_mtu_sizes(make_mtu_at(run, FAMILY_IPV6, MTU_FORWARD, 0), NONE_INT, 0, 0);
        make_mtu_sizes(make_mtu_at(run, FAMILY_IPV6, MTU_REVERSE, 0), 1300, 2, 320);
    } else if (strcmp(name, "mtu-failed") == 0) {
        make_mtu_answer(make_mtu_at(run, FAMILY_IPV4, MTU_FORWARD, 0), MAKE_MTU_NOBODY, NONE_INT);
        make_mtu_answer(make_mtu_at(run, FAMILY_IPV4, MTU_REVERSE, 0), MAKE_MTU_CUT_OFF, 1280);
        make_mtu_error(run, FAMILY_IPV6, "echo: this host has no IPv6 address");
    } else if (strcmp(name, "mtu-interrupted") == 0) {
        make_mtu_interrupted(run, 1);
    }
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

/* False for a shape that is not known. */
static bool make(const char *name, const char *host_name, struct run *run)
{
    struct make_shape shape;
    struct make_buffers_shape buffers;
    struct make_mtu_shape mtu;

    if (strncmp(name, "buffers", 7) == 0 && set_buffers_shape(name, &buffers)) {
        buffers.base.host_name = host_name;
        buffers.base.id = id_of(name);
        make_of_buffers(name, &buffers, run);
    } else if (strncmp(name, "mtu", 3) == 0 && set_mtu_shape(name, &mtu)) {
        mtu.base.host_name = host_name;
        mtu.base.id = id_of(name);
        make_of_mtu(name, &mtu, run);
    } else if (set_shape(name, &shape)) {
        shape.host_name = host_name;
        shape.id = id_of(name);
        make_of_loopback(name, &shape, run);
    } else {
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    char name[256] = "probe-1";
    struct run run;
    int code;

    if (argc > 3)
        unescape(argv[3], name);
    if (argc < 3 || !make(argv[2], name, &run)) {
        fprintf(stderr, "usage: make_archive PARENT SHAPE [HOST-NAME]\n");
        return 2;
    }
    code = write_archive(argv[1], &run);
    run_done(&run);
    return code;
}
