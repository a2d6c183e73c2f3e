/* utf8.h - characters of texts from files and servers. */
#ifndef LIANA_BASE_UTF8_H
#define LIANA_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The length of the UTF-8 character at `bytes`, and its code point. 0: there is none (size 0, or bytes that are not
 * well-formed: The Unicode Standard, table 3-7). */
size_t liana__utf8_character(const char *bytes, size_t size, uint32_t *code);

/* Replaces by '?', in place, bytes that could disturb a terminal or are no text: control characters, and bytes that are
 * not UTF-8. The length stays. */
void liana__make_visible(char *text);

#endif
