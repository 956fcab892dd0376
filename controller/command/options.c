/* Owns the parsing of flags into records, switches and words, and every complaint about them. Must
 * not know any flag in particular, nor what the values are for. */
#include "controller/command/options.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/text.h"
#include "proto/base/utf8.h"

enum { ALLOWED_SIZE = 256, ITEM_SIZE = 256, QUOTED_SIZE = 72 };

struct parse {
    struct options *options;
    int argc;
    char **argv;
    int next; /* index of the next word */
    bool given[OPTION_TABLE_MAX];
};

/* "word" as it may stand in a line for people: short, without control bytes. */
static const char *quote(const char *word, char out_quoted[QUOTED_SIZE])
{
    char kept[QUOTED_SIZE - sizeof "\"...\""];
    bool whole = text_copy(kept, sizeof kept, word);

    snprintf(out_quoted, QUOTED_SIZE, "\"%s%s\"", kept, whole ? "" : "...");
    utf8_mask(out_quoted);
    return out_quoted;
}

static enum status not_allowed(const struct field *field, enum field_type type, const char *text,
                               struct fault *fault)
{
    char allowed[ALLOWED_SIZE];
    char quoted[QUOTED_SIZE];

    field_allowed_as(field, type, allowed, sizeof allowed);
    return fault_set(fault, STATUS_RANGE, "%s is not allowed: %s", quote(text, quoted), allowed);
}

static bool set_int(const struct field *field, int64_t *at, const char *text)
{
    int64_t value;

    if (text_to_i64(text, &value) != STATUS_OK || value < field->min || value > field->max)
        return false;
    *at = value;
    return true;
}

static bool set_real(const struct field *field, double *at, const char *text)
{
    double value;

    if (text_to_real(text, &value) != STATUS_OK || value < field->real_min ||
        value > field->real_max)
        return false;
    *at = value;
    return true;
}

static bool set_enum(const struct field *field, int *at, const char *text)
{
    for (size_t i = 0; i < field->name_count; i++) {
        if (strcmp(field->names[i], text) == 0) {
            *at = (int)i;
            return true;
        }
    }
    return false;
}

static bool set_text(const struct field *field, char *at, const char *text)
{
    size_t length = strlen(text);

    if (length >= field->size || !utf8_is_valid(text, length))
        return false;
    memcpy(at, text, length + 1);
    return true;
}

/* One value, of a field or of an item of a list. */
static enum status set_scalar(const struct field *field, enum field_type type, void *at,
                              const char *text, struct fault *fault)
{
    bool set = false;

    switch (type) {
    case FIELD_INT:
        set = set_int(field, at, text);
        break;
    case FIELD_REAL:
        set = set_real(field, at, text);
        break;
    case FIELD_ENUM:
        set = set_enum(field, at, text);
        break;
    case FIELD_TEXT:
        set = set_text(field, at, text);
        break;
    case FIELD_BOOL:
    case FIELD_RECORD:
    case FIELD_INLINE:
    case FIELD_NAMED:
    case FIELD_PAIR:
    case FIELD_POINT:
    case FIELD_WORD:
    case FIELD_LIST:
    case FIELD_MAP_INT:
    case FIELD_MAP_TEXT:
    case FIELD_BYTES:
        assert(false && "no flag can have a value of this type");
        break;
    }
    return set ? STATUS_OK : not_allowed(field, type, text, fault);
}

/* Appends the item at `from`, a place in the list `text`. */
static enum status append_item(const struct field *field, struct list *list, const char *text,
                               const char *from, struct fault *fault)
{
    size_t length = strcspn(from, ",");
    char item[ITEM_SIZE], quoted[QUOTED_SIZE];
    void *at;

    if (length == 0)
        return fault_set(fault, STATUS_INVALID, "%s is not allowed: it has an empty item",
                         quote(text, quoted));
    if (length >= sizeof item)
        return not_allowed(field, field->of, from, fault);
    at = list_append(list, field);
    if (at == NULL)
        return fault_set(fault, STATUS_TOO_LARGE, "%s is not allowed: it has more than %zu items",
                         quote(text, quoted), field->size);
    memcpy(item, from, length);
    item[length] = '\0';
    return set_scalar(field, field->of, at, item, fault);
}

static enum status set_list(const struct field *field, struct list *at, const char *text,
                            struct fault *fault)
{
    struct list list = { 0 };
    const char *from = text;
    enum status status = append_item(field, &list, text, from, fault);

    while (status == STATUS_OK && from[strcspn(from, ",")] != '\0') {
        from += strcspn(from, ",") + 1;
        status = append_item(field, &list, text, from, fault);
    }
    if (status != STATUS_OK) {
        free(list.items);
        return status;
    }
    free(at->items);
    *at = list;
    return STATUS_OK;
}

/* Where the option's field lies in the object. */
static void *field_place(const struct options *options, const struct option *option,
                         const struct field **out_field)
{
    size_t base = 0;

    assert(options->record != NULL);
    *out_field = record_field(options->record, option->field, &base);
    assert(*out_field != NULL);
    return (char *)options->object + base + (*out_field)->offset;
}

static enum status set_value(const struct options *options, const struct option *option,
                             const char *text, struct fault *fault)
{
    const struct field *field;
    void *at;

    if (option->field == NULL) {
        *option->value = text;
        return STATUS_OK;
    }
    at = field_place(options, option, &field);
    if (field->type == FIELD_LIST)
        return set_list(field, at, text, fault);
    return set_scalar(field, field->type, at, text, fault);
}

/* `what` is wrong with the value as a whole; what would be right is for the field to say. */
static enum status value_wanted(const struct options *options, const struct option *option,
                                const char *what, struct fault *fault)
{
    const struct field *field;
    char allowed[ALLOWED_SIZE];

    if (option->field == NULL)
        return fault_set(fault, STATUS_INVALID, "%s: %s", what, option->argument);
    (void)field_place(options, option, &field);
    field_allowed(field, allowed, sizeof allowed);
    return fault_set(fault, STATUS_INVALID, "%s: %s", what, allowed);
}

static void set_switch(const struct options *options, const struct option *option)
{
    const struct field *field;
    bool *at = option->flag;

    if (option->field != NULL) {
        at = field_place(options, option, &field);
        assert(field->type == FIELD_BOOL);
    }
    *at = true;
}

/* The complaint names the flag that was probably meant, and where all of them stand. */
static enum status unknown_flag(const struct options *options, const char *word,
                                struct fault *fault)
{
    const char *candidates[OPTION_TABLE_MAX + 2] = { NULL };
    char name[QUOTED_SIZE], quoted[QUOTED_SIZE];
    const char *nearest;

    for (size_t i = 0; i < options->count; i++)
        candidates[i] = options->table[i].name;
    candidates[options->count] = "help";
    text_copy(name, sizeof name, word + strspn(word, "-"));
    name[strcspn(name, "=")] = '\0';
    nearest = text_nearest(name, candidates);
    if (nearest == NULL)
        return fault_set(fault, STATUS_NOT_FOUND, "unknown flag %s; try '%s --help'",
                         quote(word, quoted), options->command);
    return fault_set(fault, STATUS_NOT_FOUND, "unknown flag %s; did you mean --%s? try '%s --help'",
                     quote(word, quoted), nearest, options->command);
}

/* The option of a word such as "--name" or "--name=value", or NULL. */
static const struct option *find_option(const struct options *options, const char *word)
{
    size_t length;

    if (strncmp(word, "--", 2) != 0)
        return NULL;
    word += 2;
    length = strcspn(word, "=");
    for (size_t i = 0; i < options->count; i++) {
        const char *name = options->table[i].name;

        if (strlen(name) == length && memcmp(name, word, length) == 0)
            return &options->table[i];
    }
    return NULL;
}

/* The flag's value: behind its '=', or the next word unless that is a flag. NULL when none. */
static const char *take_value(struct parse *parse, const char *word)
{
    const char *equals = strchr(word, '=');

    if (equals != NULL)
        return equals + 1;
    if (parse->next >= parse->argc || strncmp(parse->argv[parse->next], "--", 2) == 0)
        return NULL;
    return parse->argv[parse->next++];
}

static enum status parse_option(struct parse *parse, const struct option *option, const char *word,
                                struct fault *fault)
{
    bool *given = &parse->given[option - parse->options->table];
    const char *value;

    if (*given)
        return fault_set(fault, STATUS_EXISTS, "given twice");
    *given = true;
    if (option->argument == NULL) {
        if (strchr(word, '=') != NULL)
            return fault_set(fault, STATUS_INVALID, "takes no value");
        set_switch(parse->options, option);
        return STATUS_OK;
    }
    value = take_value(parse, word);
    if (value == NULL)
        return value_wanted(parse->options, option, "needs a value", fault);
    if (*value == '\0')
        return value_wanted(parse->options, option, "an empty value is not allowed", fault);
    return set_value(parse->options, option, value, fault);
}

static enum status parse_operand(struct options *options, const char *word, struct fault *fault)
{
    char quoted[QUOTED_SIZE];

    if (options->operands == NULL)
        return fault_set(fault, STATUS_INVALID, "%s is not expected: only flags are",
                         quote(word, quoted));
    if (options->operand_count == OPTION_OPERANDS_MAX)
        return fault_set(fault, STATUS_TOO_LARGE, "at most %d words are allowed that are no flags",
                         OPTION_OPERANDS_MAX);
    options->operands[options->operand_count++] = word;
    return STATUS_OK;
}

static enum status parse_flag(struct parse *parse, const char *word, struct fault *fault)
{
    const struct option *option = find_option(parse->options, word);
    struct fault inner;
    enum status status;

    if (option == NULL)
        return unknown_flag(parse->options, word, fault);
    status = parse_option(parse, option, word, &inner);
    if (status == STATUS_OK)
        return STATUS_OK;
    return fault_set(fault, status, "--%s: %s", option->name, inner.text);
}

static enum status parse_words(struct parse *parse, struct fault *fault)
{
    bool flags_ended = false;
    enum status status = STATUS_OK;

    while (parse->next < parse->argc && status == STATUS_OK) {
        const char *word = parse->argv[parse->next++];

        if (!flags_ended && strcmp(word, "--") == 0)
            flags_ended = true;
        else if (!flags_ended && word[0] == '-' && word[1] != '\0')
            status = parse_flag(parse, word, fault);
        else
            status = parse_operand(parse->options, word, fault);
    }
    return status;
}

/* Looked for first, so that it shows the defaults and helps whoever got another flag wrong. */
static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    }
    return false;
}

enum options_result options_parse(struct options *options, int argc, char **argv)
{
    struct parse parse = { .options = options, .argc = argc, .argv = argv, .next = 1 };
    struct fault fault;

    assert(options->count <= OPTION_TABLE_MAX);
    options->operand_count = 0;
    if (asks_for_help(argc, argv)) {
        options_help(options);
        return OPTIONS_DONE;
    }
    if (parse_words(&parse, &fault) == STATUS_OK)
        return OPTIONS_GO;
    fprintf(stderr, "%s: %s\n", options->command, fault.text);
    return OPTIONS_BAD;
}
