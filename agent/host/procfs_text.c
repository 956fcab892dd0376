/* Owns how text of /proc is cut into lines, words and numbers. Knows no file of it. */
#include "agent/host/procfs_text.h"

#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

bool span_line(struct span *rest, struct span *out_line)
{
    if (rest->length == 0)
        return false;
    if (!span_cut(rest, '\n', out_line)) {
        *out_line = *rest;
        rest->at += rest->length;
        rest->length = 0;
    }
    return true;
}

bool span_word(struct span *rest, struct span *out_word)
{
    size_t start = 0, end;

    while (start < rest->length && is_blank(rest->at[start]))
        start++;
    end = start;
    while (end < rest->length && !is_blank(rest->at[end]))
        end++;
    if (start == end)
        return false;
    *out_word = (struct span){ rest->at + start, end - start };
    rest->at += end;
    rest->length -= end;
    return true;
}

static void cut_at(struct span *rest, size_t index, struct span *out_head)
{
    *out_head = (struct span){ rest->at, index };
    rest->at += index + 1;
    rest->length -= index + 1;
}

bool span_cut(struct span *rest, char mark, struct span *out_head)
{
    const char *found = rest->length == 0 ? NULL : memchr(rest->at, mark, rest->length);

    if (found == NULL)
        return false;
    cut_at(rest, (size_t)(found - rest->at), out_head);
    return true;
}

bool span_cut_last(struct span *rest, char mark, struct span *out_head)
{
    for (size_t i = rest->length; i > 0; i--) {
        if (rest->at[i - 1] == mark) {
            cut_at(rest, i - 1, out_head);
            return true;
        }
    }
    return false;
}

size_t span_words(struct span span)
{
    struct span word;
    size_t count = 0;

    while (span_word(&span, &word))
        count++;
    return count;
}

bool span_is(struct span span, const char *text)
{
    return span.length == strlen(text) && memcmp(span.at, text, span.length) == 0;
}

bool span_skip(struct span *span, const char *text)
{
    size_t length = strlen(text);

    if (span->length < length || memcmp(span->at, text, length) != 0)
        return false;
    span->at += length;
    span->length -= length;
    return true;
}

/* 16 for what is no digit of any base. */
static unsigned digit(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F')
        return (unsigned)(c - 'A') + 10;
    return 16;
}

bool span_u64(struct span span, unsigned base, uint64_t *out_value)
{
    uint64_t value = 0;

    if (span.length == 0)
        return false;
    for (size_t i = 0; i < span.length; i++) {
        unsigned next = digit(span.at[i]);

        if (next >= base || value > (UINT64_MAX - next) / base)
            return false;
        value = value * base + next;
    }
    *out_value = value;
    return true;
}

bool span_i64(struct span span, unsigned base, int64_t *out_value)
{
    uint64_t value;

    if (!span_u64(span, base, &value) || value > (uint64_t)INT64_MAX)
        return false;
    *out_value = (int64_t)value;
    return true;
}
