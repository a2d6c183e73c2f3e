/* fonts.h - finds the installed font for a character: the usual one or, as in browsers, another one that has it. */
#ifndef LIANA_REPORT_FONTS_H
#define LIANA_REPORT_FONTS_H

#include "formats/cairo_calls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LIANA__MAX_FALLBACKS = 8 };

/* The font faces of one weight. Load cairo first. Without libfontconfig there is only the usual one. Zero-initialise;
 * free with liana__fonts_free. */
typedef struct liana__fonts {
    bool bold;
    cairo_font_face_t *usual;
    cairo_font_face_t *fallbacks[LIANA__MAX_FALLBACKS]; /* found so far */
    size_t num_fallbacks;
} liana__fonts;

/* The face for the character `text[0..size)` with the code `code`. If no font has it, the usual face, and *found (may
 * be NULL) is false. Owned by `fonts`. */
cairo_font_face_t *liana__fonts_find(liana__fonts *fonts, const char *text, size_t size, uint32_t code, bool *found);
void liana__fonts_free(liana__fonts *fonts);

/* Writes into `note` a sentence about the first of some names that no installed font can draw completely, and the
 * package to install; "" without such a name. */
void liana__fonts_note(const char *const *names, size_t count, char *note, size_t size);

#endif
