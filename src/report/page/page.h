/* page.h - a page: one HTML file about runs that opens from disk, without a network.
 *
 * A page is page.html with page.css and the scripts *.js in it, and its data as one block of JSON: what the script
 * draws. docs/explanation/pages.md describes the data. Drawings become parts of them as they are, so a page shows the
 * numbers of the PNG and SVG files. */
#ifndef LIANA_REPORT_PAGE_H
#define LIANA_REPORT_PAGE_H

#include "base/value.h"
#include "report/drawing.h"

/* ---- values ---- */

/* A number with six digits, null if it is not finite. */
liana__value *liana__page_number(liana__arena *arena, double number);
liana__value *liana__page_numbers(liana__arena *arena, const double *numbers, size_t count);

/* The part of a page that shows a figure, which may be no drawing of its own. */
liana__value *liana__page_figure(const liana__figure *figure, const char *name, liana__arena *arena);
/* A drawing of another kind than images. */
liana__value *liana__page_drawing(const liana__drawing *drawing, liana__arena *arena);

/* ---- images ---- */

/* A picture grid with its images as data: URLs, scaled down to at most 176 pixels a side. Errors: those of encoding. */
liana_status liana__page_images(const liana__drawing *drawing, liana__arena *arena, liana__value **value,
                                liana__error *error) LIANA_MUST_USE;

/* ---- drawings ---- */

/* Takes drawings into a map, each under its name; for liana__drawings, with this as `user`. */
typedef struct liana__page_part {
    liana__value *map;
    liana__arena *arena;
} liana__page_part;
liana_status liana__page_take(void *user, const liana__drawing *drawing, liana__error *error) LIANA_MUST_USE;

/* ---- the file ---- */

/* The whole page as text. `title` and all texts of `data` may hold any bytes: those that HTML gives a meaning are
 * escaped, and what is not UTF-8 becomes U+FFFD. */
void liana__page_text(const char *title, const liana__value *data, liana__text *text);
/* Writes it, also to gs:// and s3://. Errors: those of liana__store_replace, OUT_OF_MEMORY. */
liana_status liana__page_write(const char *path, const char *title, const liana__value *data, liana__error *error)
    LIANA_MUST_USE;

#endif
