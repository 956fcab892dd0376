/* Owns words and numbers as text: reading, writing, comparing. Must not depend on the
 * locale, and knows nothing of flags or files. */
#include "proto/base/text.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WORD_MAX = 64 };

bool text_copy(char *out_text, size_t size, const char *text)
{
    size_t length = strlen(text);
    size_t kept = length < size ? length : size - 1;

    assert(size > 0);
    if (kept < length) {
        while (kept > 0 && ((unsigned char)text[kept] & 0xc0) == 0x80)
            kept--;
    }
    memmove(out_text, text, kept);
    out_text[kept] = '\0';
    return kept == length;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

enum status text_to_u64(const char *text, uint64_t *out_value)
{
    uint64_t value = 0;
    bool over = false;

    if (*text == '\0')
        return STATUS_INVALID;
    for (; *text != '\0'; text++) {
        if (!is_digit(*text))
            return STATUS_INVALID;
        over = over || __builtin_mul_overflow(value, (uint64_t)10, &value) ||
               __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value);
    }
    if (over)
        return STATUS_RANGE;
    *out_value = value;
    return STATUS_OK;
}

enum status text_to_i64(const char *text, int64_t *out_value)
{
    bool negative = *text == '-';
    uint64_t size, size_max = (uint64_t)INT64_MAX + negative;
    enum status status = text_to_u64(text + negative, &size);

    if (status != STATUS_OK)
        return status;
    if (size > size_max)
        return STATUS_RANGE;
    if (negative)
        *out_value = size == size_max ? INT64_MIN : -(int64_t)size;
    else
        *out_value = (int64_t)size;
    return STATUS_OK;
}

/* value x 10^exponent. Powers up to 10^22 are exact, so numbers of up to 15 digits are rounded
 * once; longer ones may be off by a last bit. */
static double scale(uint64_t value, long exponent)
{
    static const double powers[] = {
        1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    };
    double real = (double)value;

    for (; exponent < -22 && real > 0; exponent += 22)
        real /= powers[22];
    for (; exponent > 22 && real > 0 && real <= DBL_MAX; exponent -= 22)
        real *= powers[22];
    if (real == 0 || real > DBL_MAX)
        return real;
    return exponent < 0 ? real / powers[-exponent] : real * powers[exponent];
}

enum status text_to_real(const char *text, double *out_value)
{
    uint64_t digits = 0;
    long exponent = 0;
    bool point = false;
    double value;

    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '.' && !point && at != text && is_digit(at[1])) {
            point = true;
            continue;
        }
        if (!is_digit(*at))
            return STATUS_INVALID;
        if (digits <= (UINT64_MAX - 9) / 10) {
            digits = digits * 10 + (uint64_t)(*at - '0');
            exponent -= point;
        } else {
            exponent += !point;
        }
    }
    if (*text == '\0')
        return STATUS_INVALID;
    value = scale(digits, exponent);
    if (value > DBL_MAX)
        return STATUS_RANGE;
    *out_value = value;
    return STATUS_OK;
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

void text_grouped(int64_t value, char out_text[TEXT_QUANTITY_SIZE])
{
    char digits[TEXT_QUANTITY_SIZE];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, magnitude(value));

    if (value < 0)
        *out_text++ = '-';
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *out_text++ = ',';
        *out_text++ = digits[i];
    }
    *out_text = '\0';
}

/* Zeros at the end are left out: "4 MiB", "64.8 KiB". */
static void write_decimal(bool negative, uint64_t hundredths, const char *unit,
                          char out_text[TEXT_QUANTITY_SIZE])
{
    const char *sign = negative ? "-" : "";
    uint64_t whole = hundredths / 100;
    unsigned rest = (unsigned)(hundredths % 100);

    if (rest == 0)
        snprintf(out_text, TEXT_QUANTITY_SIZE, "%s%" PRIu64 " %s", sign, whole, unit);
    else if (rest % 10 == 0)
        snprintf(out_text, TEXT_QUANTITY_SIZE, "%s%" PRIu64 ".%u %s", sign, whole, rest / 10, unit);
    else
        snprintf(out_text, TEXT_QUANTITY_SIZE, "%s%" PRIu64 ".%02u %s", sign, whole, rest, unit);
}

/* size / unit in hundredths, rounded to a multiple of `step` hundredths. */
static uint64_t in_hundredths(uint64_t size, uint64_t unit, uint64_t step)
{
    double part = (double)(size % unit) / (double)unit * 100 / (double)step;

    return size / unit * 100 + (uint64_t)(part + 0.5) * step;
}

void text_bytes(int64_t bytes, char out_text[TEXT_QUANTITY_SIZE])
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    uint64_t size = magnitude(bytes);
    size_t i = 0;
    uint64_t hundredths = size < 1024 ? size * 100 : 102400;

    while (i + 1 < sizeof units / sizeof units[0] && hundredths >= 102400) {
        i++;
        hundredths = in_hundredths(size, (uint64_t)1 << (10 * i), 10);
    }
    write_decimal(bytes < 0, hundredths, units[i], out_text);
}

/* Three digits: 1.23, 12.3, 123. */
static uint64_t three_digits(uint64_t size, uint64_t unit)
{
    uint64_t hundredths = in_hundredths(size, unit, 1);

    if (hundredths >= 1000)
        hundredths = in_hundredths(size, unit, 10);
    return hundredths >= 10000 ? in_hundredths(size, unit, 100) : hundredths;
}

void text_duration(int64_t ns, char out_text[TEXT_QUANTITY_SIZE])
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };
    uint64_t size = magnitude(ns);
    size_t i = 0;
    uint64_t hundredths = size < 1000 ? size * 100 : 100000;

    while (i + 1 < sizeof units / sizeof units[0] && hundredths >= 100000) {
        i++;
        hundredths = three_digits(size, units[i].ns);
    }
    write_decimal(ns < 0, hundredths, units[i].name, out_text);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters to change, add, drop or swap with their neighbour to turn one word into the other. */
static size_t distance(const char *a, const char *b)
{
    size_t a_length = strlen(a), b_length = strlen(b);
    size_t rows[3][WORD_MAX + 1];

    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i - 1) % 3], *two_above = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            row[j] =
                smaller(above[j - 1] + (a[i - 1] != b[j - 1]), smaller(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

const char *text_nearest(const char *word, const char *const *candidates)
{
    size_t length = strlen(word);
    size_t best = length / 3 + 1;
    const char *nearest = NULL;

    if (length > WORD_MAX)
        return NULL;
    for (; *candidates != NULL; candidates++) {
        size_t differs;

        if (strlen(*candidates) > WORD_MAX)
            continue;
        differs = distance(word, *candidates);
        if (differs < best) {
            best = differs;
            nearest = *candidates;
        }
    }
    return nearest;
}
