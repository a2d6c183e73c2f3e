/* Reads JSON from front to back. */
#include "serve/predict/json_reader.h"

#include "base/format.h"
#include "base/utf8.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

liana__json_reader liana__json_reader_of(const char *text, size_t size, liana__error *error)
{
    return (liana__json_reader){text, text, text + size, error, 0};
}

liana_status liana__json_fail(const liana__json_reader *reader, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    liana__fail_list(reader->error, LIANA_INVALID_ARGUMENT, format, arguments);
    va_end(arguments);
    return liana__fail_within(reader->error, "offset %zu", (size_t)(reader->at - reader->begin));
}

static void skip_space(liana__json_reader *reader)
{
    const char *at = reader->at;
    while (at < reader->end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) at++;
    reader->at = at;
}

char liana__json_peek(liana__json_reader *reader)
{
    skip_space(reader);
    return reader->at < reader->end ? *reader->at : 0;
}

bool liana__json_is_number(liana__json_reader *reader)
{
    const char next = liana__json_peek(reader);
    return next == '-' || (next >= '0' && next <= '9') || next == 'N' || next == 'I';
}

const char *liana__json_describe(liana__json_reader *reader, char text[64])
{
    const char next = liana__json_peek(reader);
    const size_t left = (size_t)(reader->end - reader->at);
    const char *word = next == '{' ? "an object" : next == '[' ? "a list" : next == 0 ? "the end" : NULL;
    if (word) {
        snprintf(text, 64, "%s", word);
        return text;
    }
    size_t length = 0;
    while (length < left && length < 24 && !strchr(",]} \t\r\n", reader->at[length])) length++;
    if (!length) length = left != 0;
    snprintf(text, 64, "%s%.*s%s", next == '"' ? "the text " : "", (int)length, reader->at, length == 24 ? "..." : "");
    for (char *at = text; *at; at++) {
        if ((unsigned char)*at < ' ' || (unsigned char)*at > '~') *at = '?';
    }
    return text;
}

/* ---- lists and objects ---- */

liana_status liana__json_open(liana__json_reader *reader, char bracket)
{
    char found[64];
    if (liana__json_peek(reader) != bracket) {
        return liana__json_fail(reader, "found %s, expected %s", liana__json_describe(reader, found),
                                bracket == '{' ? "an object" : "a list");
    }
    if (reader->depth == LIANA__JSON_DEEPEST) {
        return liana__json_fail(reader, "lists and objects are more than %d deep", LIANA__JSON_DEEPEST);
    }
    reader->depth++;
    reader->at++;
    return LIANA_OK;
}

liana_status liana__json_next(liana__json_reader *reader, char bracket, bool *first, bool *more)
{
    const char close = bracket == '{' ? '}' : ']', next = liana__json_peek(reader);
    char found[64];
    const bool was_first = *first;
    *first = false;
    *more = next != close;
    if (!*more) {
        reader->at++;
        reader->depth--;
        return LIANA_OK;
    }
    if (was_first) return LIANA_OK;
    if (next != ',') {
        return liana__json_fail(reader, "found %s, expected a comma or '%c'", liana__json_describe(reader, found),
                                close);
    }
    reader->at++;
    return LIANA_OK;
}

liana_status liana__json_read_key(liana__json_reader *reader, liana__arena *arena, const char **key)
{
    size_t size;
    char found[64];
    if (liana__json_peek(reader) != '"') {
        return liana__json_fail(reader, "found %s, expected a key in quotes", liana__json_describe(reader, found));
    }
    LIANA_TRY(liana__json_read_text(reader, arena, key, &size));
    if (strlen(*key) != size) return liana__json_fail(reader, "a key holds a 0 byte");
    if (liana__json_peek(reader) != ':') {
        return liana__json_fail(reader, "found %s, expected ':' behind the key \"%.64s\"",
                                liana__json_describe(reader, found), *key);
    }
    reader->at++;
    return LIANA_OK;
}

/* ---- texts ---- */

/* Finds the closing quote of the text that begins at `at`. Control characters are refused. */
static liana_status find_close(liana__json_reader *reader, const char **close, bool *has_escapes)
{
    const char *at = reader->at + 1;
    *has_escapes = false;
    for (; at < reader->end && *at != '"'; at++) {
        if ((unsigned char)*at < ' ') {
            reader->at = at;
            return liana__json_fail(reader, "a text holds a control character; write it as \\u%04x",
                                    (unsigned)(unsigned char)*at);
        }
        if (*at != '\\') continue;
        *has_escapes = true;
        if (at + 1 < reader->end) at++;
    }
    if (at >= reader->end) return liana__json_fail(reader, "a text does not end");
    *close = at;
    return LIANA_OK;
}

static int hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

/* The four digits behind \u; -1: they are none. */
static int32_t read_unit(const char *at, const char *end)
{
    int32_t unit = 0;
    if (end - at < 4) return -1;
    for (int i = 0; i < 4; i++) {
        const int digit = hex_digit(at[i]);
        if (digit < 0) return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static char *put_utf8(char *to, uint32_t code)
{
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | (code >> 6));
        *to++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *to++ = (char)(0xe0 | (code >> 12));
        *to++ = (char)(0x80 | ((code >> 6) & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    } else {
        *to++ = (char)(0xf0 | (code >> 18));
        *to++ = (char)(0x80 | ((code >> 12) & 0x3f));
        *to++ = (char)(0x80 | ((code >> 6) & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

/* A \u escape, or two of a pair. Returns where the text goes on; NULL: it is none. */
static const char *take_unicode(const char *at, const char *end, char **to)
{
    const int32_t unit = read_unit(at, end);
    if (unit < 0 || (unit >= 0xdc00 && unit < 0xe000)) return NULL;
    if (unit < 0xd800 || unit >= 0xe000) {
        *to = put_utf8(*to, (uint32_t)unit);
        return at + 4;
    }
    if (end - at < 10 || at[4] != '\\' || at[5] != 'u') return NULL;
    const int32_t low = read_unit(at + 6, end);
    if (low < 0xdc00 || low >= 0xe000) return NULL;
    *to = put_utf8(*to, 0x10000u + (((uint32_t)unit - 0xd800u) << 10) + ((uint32_t)low - 0xdc00u));
    return at + 10;
}

static bool is_utf8(const char *text, size_t size)
{
    uint32_t code;
    for (size_t at = 0; at < size;) {
        const size_t taken = (unsigned char)text[at] < 0x80 ? 1 : liana__utf8_character(text + at, size - at, &code);
        if (!taken) return false;
        at += taken;
    }
    return true;
}

static liana_status unescape(liana__json_reader *reader, const char *from, const char *close, char *to, size_t *size)
{
    static const char escapes[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    char *const begin = to;
    while (from < close) {
        if (*from != '\\') {
            *to++ = *from++;
            continue;
        }
        const char *known = from[1] ? strchr(escapes, from[1]) : NULL;
        if (known) {
            *to++ = meant[known - escapes];
            from += 2;
            continue;
        }
        const char *behind = from[1] == 'u' ? take_unicode(from + 2, close, &to) : NULL;
        if (!behind) {
            reader->at = from;
            return liana__json_fail(reader, "a text holds '\\' without an escape of JSON behind it");
        }
        from = behind;
    }
    *to = 0;
    *size = (size_t)(to - begin);
    return LIANA_OK;
}

liana_status liana__json_read_text(liana__json_reader *reader, liana__arena *arena, const char **text, size_t *size)
{
    const char *close;
    bool has_escapes;
    char found[64];
    if (liana__json_peek(reader) != '"') {
        return liana__json_fail(reader, "found %s, expected a text", liana__json_describe(reader, found));
    }
    LIANA_TRY(find_close(reader, &close, &has_escapes));
    const char *from = reader->at + 1;
    const size_t length = (size_t)(close - from);
    char *copy = liana__arena_allocate(arena, length + 1);
    if (!copy) return liana__fail_memory(reader->error, "a request");
    if (has_escapes) {
        LIANA_TRY(unescape(reader, from, close, copy, size));
    } else {
        memcpy(copy, from, length);
        copy[length] = 0;
        *size = length;
    }
    if (!is_utf8(copy, *size)) return liana__json_fail(reader, "a text is not UTF-8");
    *text = copy;
    reader->at = close + 1;
    return LIANA_OK;
}

/* 0 to 63; -1: none. */
static int base64_digit(char digit)
{
    if (digit >= 'A' && digit <= 'Z') return digit - 'A';
    if (digit >= 'a' && digit <= 'z') return digit - 'a' + 26;
    if (digit >= '0' && digit <= '9') return digit - '0' + 52;
    if (digit == '+' || digit == '-') return 62;
    return digit == '/' || digit == '_' ? 63 : -1;
}

/* False: a character that is no digit. `to` has room for 3 bytes of each 4 characters. */
static bool decode_base64(const char *from, size_t length, uint8_t *to, size_t *size)
{
    uint32_t bits = 0;
    int count = 0;
    *size = 0;
    while (length && from[length - 1] == '=') length--;
    if (length % 4 == 1) return false;
    for (size_t i = 0; i < length; i++) {
        const int digit = base64_digit(from[i]);
        if (digit < 0) return false;
        bits = bits << 6 | (uint32_t)digit;
        count += 6;
        if (count < 8) continue;
        count -= 8;
        to[(*size)++] = (uint8_t)(bits >> count);
    }
    return true;
}

liana_status liana__json_read_base64(liana__json_reader *reader, liana__arena *arena, const void **bytes, size_t *size)
{
    const char *close;
    bool has_escapes;
    if (liana__json_peek(reader) != '"') return liana__json_fail(reader, "\"b64\" is no text of base64");
    LIANA_TRY(find_close(reader, &close, &has_escapes));
    const char *from = reader->at + 1;
    size_t length = (size_t)(close - from);
    if (has_escapes) {
        /* Some writers write "\/". */
        LIANA_TRY(liana__json_read_text(reader, arena, &from, &length));
    }
    uint8_t *decoded = liana__arena_allocate(arena, length / 4 * 3 + 4);
    if (!decoded) return liana__fail_memory(reader->error, "a request");
    if (!decode_base64(from, length, decoded, size)) return liana__json_fail(reader, "\"b64\" is no text of base64");
    *bytes = decoded;
    reader->at = has_escapes ? reader->at : close + 1;
    return LIANA_OK;
}

/* ---- numbers and words ---- */

static bool take_word(liana__json_reader *reader, const char *word)
{
    const size_t length = strlen(word);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0) return false;
    reader->at += length;
    return true;
}

/* The parts of a number that is written in RFC 8259's form. */
typedef struct digits {
    const char *end;
    uint64_t mantissa; /* the first 19 digits */
    int exponent;      /* of ten */
    int count;         /* digits of the mantissa, from the first that is not 0 */
    bool is_negative, is_integer, is_exact;
} digits;

static const char *take_digits(const char *at, const char *end, digits *own, bool is_fraction)
{
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        if (own->count < 19) {
            own->mantissa = own->mantissa * 10 + (uint64_t)(*at - '0');
            own->count += own->mantissa != 0;
            own->exponent -= is_fraction;
        } else {
            own->is_exact = false;
            own->exponent += !is_fraction;
        }
    }
    return at;
}

/* False: it is no number of JSON. */
static bool scan_number(const char *at, const char *end, digits *own)
{
    *own = (digits){.is_integer = true, .is_exact = true, .is_negative = at < end && *at == '-'};
    at += own->is_negative;
    if (at == end || *at < '0' || *at > '9') return false;
    const char *begin = at;
    at = take_digits(at, end, own, false);
    if (*begin == '0' && at - begin > 1) return false;
    if (at < end && *at == '.') {
        own->is_integer = false;
        begin = at + 1;
        at = take_digits(begin, end, own, true);
        if (at == begin) return false;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        int exponent = 0;
        own->is_integer = false;
        at++;
        const bool is_negative = at < end && *at == '-';
        at += at < end && (*at == '-' || *at == '+');
        begin = at;
        for (; at < end && *at >= '0' && *at <= '9'; at++)
            exponent = exponent < 100000 ? exponent * 10 + *at - '0' : exponent;
        if (at == begin) return false;
        own->exponent += is_negative ? -exponent : exponent;
    }
    own->end = at;
    return true;
}

/* Rounded once, where the mantissa and the power of ten are doubles. */
static bool compute_double(const digits *own, double *value)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (!own->is_exact || own->mantissa > UINT64_C(1) << 53 || own->exponent < -22 || own->exponent > 22) return false;
    const double mantissa = (double)own->mantissa;
    *value = own->exponent < 0 ? mantissa / powers[-own->exponent] : mantissa * powers[own->exponent];
    return true;
}

/* The same in long doubles, which hold 19 digits, as Python writes floats with 17. It is rounded twice then, which
 * tells nothing where the first result is in the middle of two doubles. */
static bool compute_long(const digits *own, double *value)
{
    static const long double powers[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
                                         1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
                                         1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
    if (LDBL_MANT_DIG < 64 || !own->is_exact || own->exponent < -27 || own->exponent > 27) return false;
    const long double mantissa = (long double)own->mantissa;
    const long double whole = own->exponent < 0 ? mantissa / powers[-own->exponent] : mantissa * powers[own->exponent];
    *value = (double)whole;
    if ((long double)*value == whole) return true;
    const double next = nextafter(*value, whole > (long double)*value ? (double)INFINITY : 0);
    const long double middle = ((long double)*value + (long double)next) / 2;
    return fabsl(whole - middle) > whole * 0x1p-62L;
}

static double value_of(const digits *own, const char *begin)
{
    double value;
    if (compute_double(own, &value) || compute_long(own, &value)) return own->is_negative ? -value : value;
    char text[512];
    const size_t length = (size_t)(own->end - begin);
    /* Of more digits, those behind do not change a double. */
    if (length >= sizeof text) {
        liana__format(text, sizeof text, "%s%llue%d", own->is_negative ? "-" : "", (unsigned long long)own->mantissa,
                      own->exponent);
    } else {
        memcpy(text, begin, length);
        text[length] = 0;
    }
    return liana__parse_double(text, NULL);
}

liana_status liana__json_read_number(liana__json_reader *reader, liana__json_number *number)
{
    digits found;
    char text[64];
    liana__json_peek(reader);
    *number = (liana__json_number){0};
    const char *begin = reader->at;
    if (begin < reader->end && (*begin == 'N' || *begin == 'I' || *begin == '-')) {
        number->number = take_word(reader, "NaN")         ? (double)NAN
                         : take_word(reader, "Infinity")  ? (double)INFINITY
                         : take_word(reader, "-Infinity") ? -(double)INFINITY
                                                          : 0;
        if (reader->at != begin) return LIANA_OK;
    }
    if (!scan_number(begin, reader->end, &found)) {
        return liana__json_fail(reader, "found %s, expected a number", liana__json_describe(reader, text));
    }
    number->number = value_of(&found, begin);
    if (!isfinite(number->number)) return liana__json_fail(reader, "a number is larger than any that is computed with");
    number->is_integer = found.is_integer && found.is_exact && found.mantissa <= (uint64_t)INT64_MAX;
    if (number->is_integer) number->integer = found.is_negative ? -(int64_t)found.mantissa : (int64_t)found.mantissa;
    reader->at = found.end;
    return LIANA_OK;
}

liana_status liana__json_read_bool(liana__json_reader *reader, bool *value)
{
    char found[64];
    liana__json_peek(reader);
    *value = take_word(reader, "true");
    if (*value || take_word(reader, "false")) return LIANA_OK;
    return liana__json_fail(reader, "found %s, expected true or false", liana__json_describe(reader, found));
}

/* ---- whole values ---- */

static liana_status skip_scalar(liana__json_reader *reader)
{
    const char next = liana__json_peek(reader);
    const char *close;
    bool ignored;
    liana__json_number number;
    char found[64];
    if (next == '"') {
        LIANA_TRY(find_close(reader, &close, &ignored));
        reader->at = close + 1;
        return LIANA_OK;
    }
    if (liana__json_is_number(reader)) return liana__json_read_number(reader, &number);
    if (take_word(reader, "true") || take_word(reader, "false") || take_word(reader, "null")) return LIANA_OK;
    return liana__json_fail(reader, "found %s, expected a value", liana__json_describe(reader, found));
}

/* Begins a value: a list or an object stays open, in *bracket. */
static liana_status begin_value(liana__json_reader *reader, char *bracket, bool *first)
{
    const char next = liana__json_peek(reader);
    *bracket = 0;
    if (next != '[' && next != '{') return skip_scalar(reader);
    *bracket = next;
    *first = true;
    return liana__json_open(reader, next);
}

static liana_status skip_key(liana__json_reader *reader)
{
    char found[64];
    if (liana__json_peek(reader) != '"') {
        return liana__json_fail(reader, "found %s, expected a key in quotes", liana__json_describe(reader, found));
    }
    LIANA_TRY(skip_scalar(reader));
    if (liana__json_peek(reader) != ':') {
        return liana__json_fail(reader, "found %s, expected ':' behind a key", liana__json_describe(reader, found));
    }
    reader->at++;
    return LIANA_OK;
}

liana_status liana__json_skip(liana__json_reader *reader)
{
    char brackets[LIANA__JSON_DEEPEST + 1];
    int open = 0;
    bool first = false, more;
    char bracket;
    LIANA_TRY(begin_value(reader, &bracket, &first));
    if (bracket) brackets[open++] = bracket;
    while (open) {
        LIANA_TRY(liana__json_next(reader, brackets[open - 1], &first, &more));
        if (!more) {
            open--;
            continue;
        }
        if (brackets[open - 1] == '{') LIANA_TRY(skip_key(reader));
        LIANA_TRY(begin_value(reader, &bracket, &first));
        if (bracket) brackets[open++] = bracket;
    }
    return LIANA_OK;
}

liana_status liana__json_end(liana__json_reader *reader)
{
    char found[64];
    if (!liana__json_peek(reader) && reader->at == reader->end) return LIANA_OK;
    return liana__json_fail(reader, "found %s behind the end of the JSON text", liana__json_describe(reader, found));
}
