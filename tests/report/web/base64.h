/* base64.h - bytes as text in files for scripts: RFC 4648, section 4; and back. */
#ifndef LIANA_TESTS_REPORT_WEB_BASE64_H
#define LIANA_TESTS_REPORT_WEB_BASE64_H

#include "base/value.h"

#include <string.h>

static const char liana__test_base64_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Bit by bit. */
static inline liana__value *liana__test_base64(liana__arena *arena, const uint8_t *bytes, size_t size)
{
    size_t length = (8 * size + 5) / 6, padded = (length + 3) / 4 * 4;
    char *text = liana__arena_allocate(arena, padded + 1);
    memset(text, '=', padded);
    for (size_t i = 0; i < length; i++) {
        int value = 0;
        for (size_t bit = 6 * i; bit < 6 * i + 6; bit++) {
            value = 2 * value + (bit < 8 * size ? bytes[bit / 8] >> (7 - bit % 8) & 1 : 0);
        }
        text[i] = liana__test_base64_letters[value];
    }
    return liana__value_string(arena, text);
}

/* Into `size` bytes; returns whether the text holds as many. */
static inline bool liana__test_base64_read(const char *text, uint8_t *bytes, size_t size)
{
    memset(bytes, 0, size);
    size_t length = strcspn(text, "=");
    for (size_t bit = 0; bit < 8 * size && bit / 6 < length; bit++) {
        const char *letter = strchr(liana__test_base64_letters, text[bit / 6]);
        if (!letter) return false;
        int value = (int)(letter - liana__test_base64_letters);
        bytes[bit / 8] |= (uint8_t)((value >> (5 - bit % 6) & 1) << (7 - bit % 8));
    }
    return length == (8 * size + 5) / 6;
}

#endif
