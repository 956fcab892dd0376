/* Writes sample archives for the tests of what reads them.
 *
 * usage: make_archive PARENT SHAPE [HOST-NAME]
 *
 * SHAPE: seed, small, split, macos, engines, interrupted, error, capped. Prints the folder. The
 * host name may hold \xHH for any byte. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/report/archive.h"
#include "tests/controller/report/make_run.h"

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

int main(int argc, char **argv)
{
    struct make_shape shape;
    struct run run;
    struct fault fault = { "" };
    char path[ARCHIVE_PATH_SIZE], name[256];
    enum status status;

    if (argc < 3 || !set_shape(argv[2], &shape)) {
        fprintf(stderr, "usage: make_archive PARENT SHAPE [HOST-NAME]\n");
        return 2;
    }
    if (argc > 3) {
        unescape(argv[3], name);
        shape.host_name = name;
    }
    /* Shapes differ in their ids, so that they can lie beside each other. */
    for (const char *c = argv[2]; *c != '\0'; c++)
        shape.id = (unsigned char)(31 * shape.id + *c);
    make_run(&shape, &run);
    if (strcmp(argv[2], "interrupted") == 0)
        make_interrupted(&run, 5);
    if (strcmp(argv[2], "error") == 0)
        make_case_error(&run, 2, "the echo role did not start");
    status = archive_prepare(argv[1], &fault);
    if (status == STATUS_OK)
        status = archive_write(argv[1], &run, path, &fault);
    run_done(&run);
    if (status != STATUS_OK) {
        fprintf(stderr, "make_archive: %s\n", fault.text);
        return 1;
    }
    printf("%s\n", path);
    return 0;
}
