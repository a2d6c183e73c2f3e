/* utf8.h - characters of texts from files and servers. */
#ifndef LIANA_BASE_UTF8_H
#define LIANA_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of the UTF-8 character at `bytes`, and its code point. 0: there is none (size 0, or bytes that are not
 * well-formed: The Unicode Standard, table 3-7). */
size_t liana__utf8_character(const char *bytes, size_t size, uint32_t *code);

/* Whether a terminal obeys a character instead of showing it: control characters, and those that turn the direction of
 * the text after them, so that it reads as another one (The Unicode Standard, annex 9: U+202A to U+202E, U+2066 to
 * U+2069). Letters of a script that is written from right to left are none. */
static inline bool liana__is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x202A && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069);
}

/* Replaces by '?', in place, bytes that could disturb a terminal or are no text: control characters, and bytes that are
 * not UTF-8. The length stays. */
void liana__make_visible(char *text);

#endif
