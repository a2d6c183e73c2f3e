/* The growing text builder, near names, how texts begin and end, and names of any direction. */
#include "base/text.h"

#include "base/format.h"
#include "base/utf8.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(liana__text *text, size_t extra)
{
    if (text->failed) return false;
    size_t needed = text->length + extra + 1;
    if (needed <= text->capacity) return true;
    size_t capacity = text->capacity ? text->capacity : 128;
    while (capacity < needed) capacity *= 2;
    char *data = realloc(text->data, capacity);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

/* Most lines fit into the room that is there, so few are formatted twice. */
void liana__text_add(liana__text *text, const char *format, ...)
{
    va_list arguments, again;
    if (!reserve(text, 0)) return;
    va_start(arguments, format);
    va_copy(again, arguments);
    const size_t room = text->capacity - text->length;
    const int length = liana__format_list(text->data + text->length, room, format, arguments);
    va_end(arguments);
    if (length >= 0 && (size_t)length >= room && reserve(text, (size_t)length)) {
        liana__format_list(text->data + text->length, (size_t)length + 1, format, again);
    }
    va_end(again);
    if (length >= 0 && !text->failed) text->length += (size_t)length;
    text->data[text->length] = 0;
}

void liana__text_add_bytes(liana__text *text, const char *bytes, size_t size)
{
    if (!reserve(text, size)) return;
    if (size) memcpy(text->data + text->length, bytes, size);
    text->length += size;
    text->data[text->length] = 0;
}

void liana__text_free(liana__text *text)
{
    free(text->data);
    *text = (liana__text){0};
}

enum { MAX_WORD = 64 };

static int lower(const char *word, size_t index)
{
    return tolower((unsigned char)word[index]);
}

size_t liana__edit_distance(const char *a, const char *b)
{
    size_t length_a = strlen(a), length_b = strlen(b);
    if (length_a > MAX_WORD || length_b > MAX_WORD) return length_a > length_b ? length_a : length_b;
    size_t rows[3][MAX_WORD + 1];
    for (size_t j = 0; j <= length_b; j++) rows[0][j] = j;
    for (size_t i = 1; i <= length_a; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= length_b; j++) {
            size_t best = above[j - 1] + (lower(a, i - 1) != lower(b, j - 1));
            if (above[j] + 1 < best) best = above[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            bool swapped = i > 1 && j > 1 && lower(a, i - 1) == lower(b, j - 2) && lower(a, i - 2) == lower(b, j - 1);
            if (swapped && above2[j - 2] + 1 < best) best = above2[j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[length_a % 3][length_b];
}

liana__nearest_search liana__nearest_begin(const char *word)
{
    size_t third = strlen(word) / 3;
    return (liana__nearest_search){.word = word, .limit = third ? third + 1 : 2};
}

void liana__nearest_add(liana__nearest_search *search, const char *name)
{
    size_t distance = liana__edit_distance(search->word, name);
    if (distance >= search->limit) return;
    search->limit = distance;
    search->nearest = name;
}

const char *liana__nearest(const char *word, const char *const *names, size_t count)
{
    liana__nearest_search search = liana__nearest_begin(word);
    for (size_t i = 0; i < count; i++) liana__nearest_add(&search, names[i]);
    return search.nearest;
}

liana__hint_text liana__hint(const char *nearest)
{
    liana__hint_text hint = {""};
    if (nearest) snprintf(hint.text, sizeof hint.text, "; did you mean '%.100s'?", nearest);
    return hint;
}

bool liana__starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool liana__ends_with(const char *text, const char *suffix)
{
    size_t length = strlen(text), tail = strlen(suffix);
    return length >= tail && strcmp(text + length - tail, suffix) == 0;
}

/* ---- names of any direction ---- */

/* Whether a character is in a block of letters that are written from right to left, or turns directions. */
static bool turns(uint32_t code)
{
    static const uint32_t blocks[][2] = {{0x0590, 0x08FF}, {0x200F, 0x200F}, {0x202A, 0x202E},   {0x2066, 0x2069},
                                         {0xFB1D, 0xFDFF}, {0xFE70, 0xFEFF}, {0x10800, 0x10FFF}, {0x1E800, 0x1EFFF}};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        if (code >= blocks[i][0] && code <= blocks[i][1]) return true;
    }
    return false;
}

static bool is_plain(const char *name)
{
    const size_t length = strlen(name);
    for (size_t i = 0, size; i < length; i += size ? size : 1) {
        uint32_t code;
        size = liana__utf8_character(name + i, length - i, &code);
        if (size && turns(code)) return false;
    }
    return true;
}

const char *liana__isolate(liana__arena *arena, const char *name)
{
    static const char begin[] = "\xe2\x81\xa8", end[] = "\xe2\x81\xa9";
    if (!name || is_plain(name)) return name;
    char *isolated = liana__arena_format(arena, "%s%s%s", begin, name, end);
    if (!isolated) return NULL;
    char *inside = isolated + sizeof begin - 1, *after = inside + strlen(name), first = *after;
    *after = 0;
    liana__make_visible(inside);
    *after = first;
    return isolated;
}
