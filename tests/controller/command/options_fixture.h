/* A record with a field of every type that a flag can fill, and one command line over it: what it
 * made of the record and what it printed. */
#ifndef SONDE_TESTS_OPTIONS_FIXTURE_H
#define SONDE_TESTS_OPTIONS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "controller/command/options.h"

static const char *const color_names[] = { "red", "green", "blue" };

struct inner {
    int64_t depth;
    double seconds;
};

struct paint {
    int64_t coats;
    int color;
    char label[12];
    bool glossy;
    struct list sizes;  /* of int64_t */
    struct list colors; /* of int */
    struct inner inner;
};

static const struct field inner_fields[] = {
    { FIELD_AT(struct inner, depth), .type = FIELD_INT, .min = -5, .max = INT64_MAX,
      .help = "how deep" },
    { FIELD_AT(struct inner, seconds), .type = FIELD_REAL, .real_min = 0.5, .real_max = 60,
      .help = "how long, seconds" },
};

static const struct record inner_record = { .name = "inner",
                                            .size = sizeof(struct inner),
                                            .fields = inner_fields,
                                            .count = RECORD_COUNT(inner_fields) };

static const struct field paint_fields[] = {
    { FIELD_AT(struct paint, coats), .type = FIELD_INT, .min = 1, .max = 9, .help = "how many" },
    { FIELD_AT(struct paint, color), .type = FIELD_ENUM, .names = color_names, .name_count = 3,
      .help = "which color" },
    { FIELD_AT(struct paint, label), .type = FIELD_TEXT, .size = 12, .help = "a name" },
    { FIELD_AT(struct paint, glossy), .type = FIELD_BOOL, .help = "shines" },
    { FIELD_AT(struct paint, sizes), .type = FIELD_LIST, .of = FIELD_INT, .size = 4, .min = 44,
      .max = 65507, .help = "how large" },
    { FIELD_AT(struct paint, colors), .type = FIELD_LIST, .of = FIELD_ENUM, .size = 3,
      .names = color_names, .name_count = 3, .help = "all of them" },
    { FIELD_AT(struct paint, inner), .type = FIELD_INLINE, .record = &inner_record },
};

static const struct record paint_record = { .name = "paint",
                                            .size = sizeof(struct paint),
                                            .fields = paint_fields,
                                            .count = RECORD_COUNT(paint_fields) };

/* One command line and what came of it. */
struct fixture {
    struct paint paint;
    bool json;
    const char *output;
    char *borrowed; /* the word that `output` points to */
    const char *operands[OPTION_OPERANDS_MAX];
    struct option table[10];
    struct options options;
    enum options_result result;
    char out[16384];
    char err[16384];
};

static inline void add_flag(struct fixture *f, struct option option)
{
    f->table[f->options.count++] = option;
}

static inline int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    record_init(&paint_record, &f->paint);
    f->paint.coats = 2;
    f->paint.inner.seconds = 1.5;
    *(int64_t *)list_append_sized(&f->paint.sizes, sizeof(int64_t)) = 512;
    *(int64_t *)list_append_sized(&f->paint.sizes, sizeof(int64_t)) = 1472;
    f->options = (struct options){
        .command = "sonde paint",
        .usage = "[flags]",
        .about = "Paints.\nA second line.",
        .table = f->table,
        .record = &paint_record,
        .object = &f->paint,
        .examples = "  sonde paint --color red\n",
    };
    add_flag(f, (struct option){ "coats", "N", "how often", "coats", NULL, NULL });
    add_flag(f, (struct option){ "color", "NAME", NULL, "color", NULL, NULL });
    add_flag(f, (struct option){ "label", "TEXT", NULL, "label", NULL, NULL });
    add_flag(f, (struct option){ "glossy", NULL, NULL, "glossy", NULL, NULL });
    add_flag(f, (struct option){ "payload", "BYTES,...", NULL, "sizes", NULL, NULL });
    add_flag(f, (struct option){ "colors", "NAME,...", NULL, "colors", NULL, NULL });
    add_flag(f, (struct option){ "depth", "N", NULL, "depth", NULL, NULL });
    add_flag(f, (struct option){ "seconds", "S", NULL, "seconds", NULL, NULL });
    add_flag(f, (struct option){ "json", NULL, "as JSON", NULL, &f->json, NULL });
    add_flag(f, (struct option){ "output", "DIR", "where to", NULL, NULL, &f->output });
    *state = f;
    return 0;
}

static inline int tear_down(void **state)
{
    struct fixture *f = *state;

    record_done(&paint_record, &f->paint);
    free(f->borrowed);
    free(f);
    return 0;
}

/* Points descriptor `fd` of `stream` to a temporary file; returns what it was. */
static inline int redirect(FILE *stream, int fd, FILE *to)
{
    int saved = dup(fd);

    assert_true(saved >= 0);
    fflush(stream);
    assert_true(dup2(fileno(to), fd) == fd);
    return saved;
}

static inline void restore(FILE *stream, int fd, int saved, FILE *from, char text[16384])
{
    size_t length;

    fflush(stream);
    assert_true(dup2(saved, fd) == fd);
    close(saved);
    rewind(from);
    length = fread(text, 1, 16383, from);
    text[length] = '\0';
    fclose(from);
}

/* Parses these words (NULL-terminated) behind the command's name. */
static inline enum options_result parse(struct fixture *f, const char *const *words)
{
    char *argv[2000] = { NULL };
    int argc = 1;
    FILE *out = tmpfile(), *err = tmpfile();
    int saved_out = redirect(stdout, 1, out), saved_err = redirect(stderr, 2, err);

    argv[0] = strdup("paint");
    for (; words[argc - 1] != NULL; argc++)
        argv[argc] = strdup(words[argc - 1]);
    f->result = options_parse(&f->options, argc, argv);
    restore(stdout, 1, saved_out, out, f->out);
    restore(stderr, 2, saved_err, err, f->err);
    for (int i = 0; i < argc; i++) {
        if (f->output != NULL && f->output == argv[i])
            f->borrowed = argv[i];
        else
            free(argv[i]);
    }
    return f->result;
}

#define PARSE(f, ...) parse(f, (const char *const[]){ __VA_ARGS__, NULL })

/* What was refused: exactly one line, named by command, and these words in it. */
static inline void assert_one_line(const struct fixture *f, const char *words)
{
    size_t length = strlen(f->err);

    assert_int_equal(f->result, OPTIONS_BAD);
    assert_string_equal(f->out, "");
    assert_true(length > 0 && f->err[length - 1] == '\n');
    assert_ptr_equal(strchr(f->err, '\n'), f->err + length - 1);
    assert_memory_equal(f->err, "sonde paint: ", strlen("sonde paint: "));
    if (strstr(f->err, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", f->err, words);
}

#define OPTIONS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
