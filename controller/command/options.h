/* Command-line flags, described once: parsing, ranges, help and suggestions. */
#ifndef SONDE_COMMAND_OPTIONS_H
#define SONDE_COMMAND_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/wire/record.h"

enum { OPTION_OPERANDS_MAX = 1024, OPTION_TABLE_MAX = 64 };

/* A flag either fills a field of a record (a switch sets a FIELD_BOOL), or stands for itself
 * (`field` NULL: a switch into *flag, or with `value` a text). */
struct option {
    const char *name;     /* without dashes: "payload" */
    const char *argument; /* its placeholder in the help ("BYTES,..."), NULL for a switch */
    const char *help;     /* one line; NULL: what the field's table says */
    const char *field;    /* the field of options.record to fill, or NULL */
    bool *flag;           /* set by a switch */
    const char **value;   /* set to a free text (borrowed from argv) */
};

struct options {
    const char *command; /* "sonde loopback" */
    const char *usage;   /* what stands behind it: "[flags]", "PATH... [flags]" */
    const char *about;   /* what the command does, a few lines, for --help */
    const struct option *table;
    size_t count;                /* at most OPTION_TABLE_MAX */
    const struct record *record; /* of what the fields fill; NULL when none */
    void *object;                /* holds the defaults; a list that is given replaces its default */
    const char **operands;       /* room for OPTION_OPERANDS_MAX words that are no flags, or NULL */
    size_t operand_count;
    const char *examples; /* lines for --help, or NULL */
};

enum options_result {
    OPTIONS_GO,   /* parsed */
    OPTIONS_DONE, /* --help was asked for and printed */
    OPTIONS_BAD   /* one line on stderr said what is wrong and what is allowed: exit 2 */
};

/* Parses "--name value", "--name=value", switches and operands ("--" ends flags). Lists are
 * comma-separated. Values are checked against the field's range; an unknown flag gets the nearest
 * one suggested; a flag given twice, an empty value or an empty item is refused. --help is known
 * to every command and prints the object's values as the defaults. A value that begins with "--"
 * must be given as --name=value. On OPTIONS_BAD some fields may be filled; the object stays the
 * caller's. */
enum options_result options_parse(struct options *options, int argc, char **argv);

/* Prints what --help says to stdout: usage, flags with what they allow and their defaults,
 * examples; within 100 columns. */
void options_help(const struct options *options);

#endif
