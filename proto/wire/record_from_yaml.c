/* Owns the way from YAML to records: libyaml's events become a tree in which every scalar is still
 * text; what it should be, the record's table says. Knows no record in particular. */
#include "proto/wire/record_yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "proto/base/file.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"
#include "proto/wire/limits.h"
#include "proto/wire/record_read.h"

enum { NUMBER_SIZE = 64 };

enum node_kind { NODE_SCALAR, NODE_SEQUENCE, NODE_MAPPING };

struct node {
    enum node_kind kind;
    bool plain; /* a scalar without quotes */
    size_t line;
    char *text; /* of a scalar */
    size_t length;
    struct list entries; /* of struct entry */
};

struct entry {
    struct node key; /* of a mapping: a scalar */
    struct node node;
};

struct build {
    yaml_parser_t parser;
    struct place place;
    const struct yaml_text *text;
    struct fault *fault;
};

/* --- the tree -------------------------------------------------------------------------------- */

static void node_done(struct node *node)
{
    for (size_t i = 0; i < node->entries.count; i++) {
        struct entry *entry = (struct entry *)node->entries.items + i;

        free(entry->key.text);
        node_done(&entry->node);
    }
    free(node->entries.items);
    free(node->text);
    *node = (struct node){ 0 };
}

/* "12" or "12: admission.max_rate" */
static void where(size_t line, const struct place *place, char out_text[VALUE_WHERE_SIZE])
{
    int used = snprintf(out_text, VALUE_WHERE_SIZE, place->length == 0 ? "%zu" : "%zu: ", line);
    char *to = out_text + used;

    for (const char *from = place->text + (place->length != 0); *from != '\0'; from++) {
        char letter = *from;

        if (letter == '/')
            letter = '.';
        else if (letter == '~' && *++from == '1')
            letter = '/';
        *to++ = letter;
    }
    *to = '\0';
}

static enum status refuse(struct build *build, size_t line, enum status status, const char *what)
{
    char at[VALUE_WHERE_SIZE];

    where(line, &build->place, at);
    return fault_set(build->fault, status, "%s:%s: %s", build->text->path, at, what);
}

static enum status refuse_depth(struct build *build, size_t line)
{
    char what[48];

    snprintf(what, sizeof what, "nested deeper than %d levels", LIMIT_MESSAGE_DEPTH);
    return refuse(build, line, STATUS_TOO_LARGE, what);
}

static enum status refuse_keys(struct build *build, size_t line)
{
    char what[48];

    snprintf(what, sizeof what, "more than %d keys", LIMIT_MAP_ENTRIES);
    return refuse(build, line, STATUS_TOO_LARGE, what);
}

/* What a reader error says is a byte, not a line. */
static size_t line_of(const struct build *build)
{
    size_t line = 1;

    if (build->parser.error != YAML_READER_ERROR)
        return build->parser.problem_mark.line + 1;
    for (size_t i = 0; i < build->parser.problem_offset && i < build->text->length; i++)
        line += build->text->text[i] == '\n';
    return line;
}

static enum status next_event(struct build *build, yaml_event_t *out_event)
{
    if (yaml_parser_parse(&build->parser, out_event) == 1)
        return STATUS_OK;
    if (build->parser.error == YAML_MEMORY_ERROR)
        return refuse(build, 1, STATUS_NO_RESOURCE, "no memory to read it");
    return refuse(build, line_of(build), STATUS_INVALID,
                  build->parser.problem == NULL ? "no YAML" : build->parser.problem);
}

static enum status build_scalar(struct build *build, const yaml_event_t *event,
                                struct node *out_node)
{
    const char *bytes = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;

    if (memchr(bytes, '\0', length) != NULL)
        return refuse(build, out_node->line, STATUS_INVALID, "text with a zero byte");
    out_node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    out_node->text = memory_new(length + 1, 1);
    memcpy(out_node->text, bytes, length);
    out_node->length = length;
    return STATUS_OK;
}

/* An anchor, a tag or an alias: nothing that a configuration needs. */
static enum status check_plainness(struct build *build, const yaml_event_t *event, size_t line)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;

    if (event->type == YAML_ALIAS_EVENT)
        return refuse(build, line, STATUS_INVALID, "aliases are not allowed");
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
    }
    if (anchor != NULL)
        return refuse(build, line, STATUS_INVALID, "anchors are not allowed");
    return tag == NULL ? STATUS_OK : refuse(build, line, STATUS_INVALID, "tags are not allowed");
}

static enum status build_children(struct build *build, size_t depth, struct node *node);

/* The node that begins with this event. What was made before a failure is in *out_node. */
static enum status build_node(struct build *build, const yaml_event_t *event, size_t depth,
                              struct node *out_node)
{
    enum status status;

    if (out_node->line == 0)
        out_node->line = event->start_mark.line + 1;
    status = check_plainness(build, event, out_node->line);
    if (status != STATUS_OK)
        return status;
    if (event->type == YAML_SCALAR_EVENT)
        return build_scalar(build, event, out_node);
    out_node->kind = event->type == YAML_MAPPING_START_EVENT ? NODE_MAPPING : NODE_SEQUENCE;
    if (depth == LIMIT_MESSAGE_DEPTH)
        return refuse_depth(build, out_node->line);
    return build_children(build, depth + 1, out_node);
}

static enum status build_key(struct build *build, const yaml_event_t *event,
                             const struct node *mapping, struct node *out_key)
{
    size_t line = event->start_mark.line + 1;
    const struct entry *entries = mapping->entries.items;
    enum status status;

    out_key->line = line;
    if (event->type != YAML_SCALAR_EVENT)
        return refuse(build, line, STATUS_INVALID, "a key that is no text");
    if (mapping->entries.count > LIMIT_MAP_ENTRIES)
        return refuse_keys(build, line);
    status = check_plainness(build, event, line);
    if (status == STATUS_OK)
        status = build_scalar(build, event, out_key);
    if (status != STATUS_OK)
        return status;
    place_enter(&build->place, out_key->text);
    for (size_t i = 0; i + 1 < mapping->entries.count; i++) {
        if (strcmp(entries[i].key.text, out_key->text) == 0)
            return refuse(build, line, STATUS_INVALID, "is there twice");
    }
    return STATUS_OK;
}

/* The entry that begins with this event: an element, or a key and its value. */
static enum status build_entry(struct build *build, const yaml_event_t *event, size_t depth,
                               struct node *node)
{
    struct entry *entry = list_append_sized(&node->entries, sizeof *entry);
    size_t back = build->place.length;
    yaml_event_t value;
    enum status status;

    if (node->kind == NODE_SEQUENCE) {
        place_enter_index(&build->place, node->entries.count - 1);
        status = build_node(build, event, depth, &entry->node);
    } else {
        status = build_key(build, event, node, &entry->key);
        if (status == STATUS_OK)
            status = next_event(build, &value);
        if (status != STATUS_OK)
            return status;
        entry->node.line = entry->key.line;
        status = build_node(build, &value, depth, &entry->node);
        yaml_event_delete(&value);
    }
    place_leave(&build->place, back);
    return status;
}

static enum status build_children(struct build *build, size_t depth, struct node *node)
{
    enum status status = STATUS_OK;

    for (bool end = false; status == STATUS_OK && !end;) {
        yaml_event_t event;

        status = next_event(build, &event);
        if (status != STATUS_OK)
            return status;
        end = event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
        if (!end)
            status = build_entry(build, &event, depth, node);
        yaml_event_delete(&event);
    }
    return status;
}

/* The one document; nothing at all is an empty scalar. */
static enum status build_document(struct build *build, struct node *out_node)
{
    enum status status = STATUS_OK;
    size_t documents = 0;

    for (bool end = false; status == STATUS_OK && !end;) {
        yaml_event_t event;

        status = next_event(build, &event);
        if (status != STATUS_OK)
            return status;
        end = event.type == YAML_STREAM_END_EVENT;
        if (event.type == YAML_DOCUMENT_START_EVENT && ++documents > 1)
            status = refuse(build, event.start_mark.line + 1, STATUS_INVALID,
                            "a second document is not allowed");
        else if (event.type != YAML_STREAM_START_EVENT && event.type != YAML_DOCUMENT_START_EVENT &&
                 event.type != YAML_DOCUMENT_END_EVENT && !end)
            status = build_node(build, &event, 0, out_node);
        yaml_event_delete(&event);
    }
    return status;
}

static enum status build_tree(const struct yaml_text *text, struct node *out_root,
                              struct fault *fault)
{
    struct build build = { .text = text, .fault = fault };
    enum status status;

    if (text->length > LIMIT_CONFIG_BYTES)
        return fault_set(fault, STATUS_TOO_LARGE, "%s:1: %zu bytes, at most %d are allowed",
                         text->path, text->length, LIMIT_CONFIG_BYTES);
    if (yaml_parser_initialize(&build.parser) != 1)
        return refuse(&build, 1, STATUS_NO_RESOURCE, "no memory to read it");
    yaml_parser_set_encoding(&build.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&build.parser, (const unsigned char *)text->text, text->length);
    status = build_document(&build, out_root);
    yaml_parser_delete(&build.parser);
    return status;
}

/* --- as a form of records -------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A number without the '_' between its digits; false when one stands elsewhere. */
static bool plain_digits(const struct node *node, char out_text[NUMBER_SIZE])
{
    size_t kept = 0;

    for (size_t i = 0; i < node->length; i++) {
        if (node->text[i] != '_') {
            if (kept == NUMBER_SIZE - 1)
                return false;
            out_text[kept++] = node->text[i];
        } else if (i == 0 || !is_digit(node->text[i - 1]) || !is_digit(node->text[i + 1])) {
            return false;
        }
    }
    out_text[kept] = '\0';
    return true;
}

static bool look_at_number(const struct node *node, struct value *out_value)
{
    char digits[NUMBER_SIZE];
    bool negative;

    if (!plain_digits(node, digits))
        return false;
    if (text_to_i64(digits, &out_value->integer) == STATUS_OK) {
        out_value->kind = VALUE_INT;
        return true;
    }
    negative = digits[0] == '-';
    if (text_to_real(digits + negative, &out_value->real) != STATUS_OK)
        return false;
    out_value->real = negative ? -out_value->real : out_value->real;
    out_value->kind = VALUE_REAL;
    return true;
}

static bool is_null(const struct node *node)
{
    return node->plain &&
           (node->length == 0 || strcmp(node->text, "~") == 0 || strcmp(node->text, "null") == 0);
}

static void look_at_scalar(const struct node *node, enum field_type wanted, struct value *out_value)
{
    bool text = wanted == FIELD_TEXT || wanted == FIELD_ENUM || wanted == FIELD_WORD;

    if (is_null(node))
        return;
    out_value->kind = VALUE_TEXT;
    out_value->bytes = node->text;
    out_value->length = node->length;
    if (text || !node->plain || look_at_number(node, out_value))
        return;
    out_value->truth = strcmp(node->text, "true") == 0;
    if (out_value->truth || strcmp(node->text, "false") == 0)
        out_value->kind = VALUE_BOOL;
}

static void look(void *at, enum field_type wanted, struct value *out_value)
{
    const struct node *node = at;

    *out_value = (struct value){ .node = at };
    if (node->kind == NODE_SCALAR) {
        look_at_scalar(node, wanted, out_value);
        return;
    }
    out_value->kind = node->kind == NODE_SEQUENCE ? VALUE_LIST : VALUE_OBJECT;
    out_value->length = node->entries.count;
}

static struct entry *entry_at(const struct value *value, size_t index)
{
    return (struct entry *)((const struct node *)value->node)->entries.items + index;
}

static void *find(struct value *object, const char *key)
{
    for (size_t i = 0; i < object->length; i++) {
        if (strcmp(entry_at(object, i)->key.text, key) == 0)
            return &entry_at(object, i)->node;
    }
    return NULL;
}

static void *element(const struct value *list, size_t index)
{
    return &entry_at(list, index)->node;
}

static bool next(const struct value *object, struct value_entry *entry)
{
    struct entry *at;

    if (entry->index == object->length)
        return false;
    at = entry_at(object, entry->index++);
    entry->key = at->key.text;
    entry->length = at->key.length;
    entry->node = &at->node;
    return true;
}

static void where_of(void *at, const struct place *place, char out_text[VALUE_WHERE_SIZE])
{
    where(((const struct node *)at)->line, place, out_text);
}

static const struct value_form yaml_form = {
    .look = look,
    .find = find,
    .element = element,
    .next = next,
    .where = where_of,
    .by_hand = true,
};

enum status record_from_yaml(const struct record *record, const struct yaml_text *text,
                             void *object, struct fault *fault)
{
    struct node root = { 0 };
    struct fault inner = { "" };
    enum status status = build_tree(text, &root, fault);

    if (status == STATUS_OK &&
        !(root.kind == NODE_SCALAR && (root.text == NULL || is_null(&root)))) {
        status = value_read(&yaml_form, record, &root, object, &inner);
        if (status != STATUS_OK)
            fault_set(fault, status, "%s:%s", text->path, inner.text);
    }
    node_done(&root);
    if (status != STATUS_OK)
        record_done(record, object);
    return status;
}

enum status record_from_yaml_file(const struct record *record, const char *path, void *object,
                                  struct fault *fault)
{
    struct buf text;
    enum status status;

    buf_init(&text, LIMIT_CONFIG_BYTES);
    status = file_read(path, &text, fault);
    if (status == STATUS_OK) {
        const struct yaml_text yaml = { .path = path,
                                        .text = buf_peek(&text),
                                        .length = text.length };

        status = record_from_yaml(record, &yaml, object, fault);
    } else {
        record_done(record, object);
    }
    buf_done(&text);
    return status;
}
