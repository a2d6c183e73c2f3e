/* Text in pictures, through Pango. */
#include "report/canvas.h"

#include "base/scoped.h"
#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is written ---- */

enum { FIRST_ISOLATE = 0x2068, POP_ISOLATE = 0x2069 };

/* Pango needs UTF-8. Names may hold any bytes, and characters that turn the rest of the line around. */
static void add_clean(liana__text *clean, const char *text)
{
    const char *end = text + strlen(text);
    while (text < end) {
        uint32_t code;
        size_t size = liana__utf8_character(text, (size_t)(end - text), &code);
        bool shown = size > 0 && (!liana__is_control(code) || code == FIRST_ISOLATE || code == POP_ISOLATE);
        liana__text_add_bytes(clean, shown ? text : "?", shown ? size : 1);
        text += size ? size : 1;
    }
}

/* ---- layouts ---- */

/* A layout of one line. The font map is this thread's own, since Pango's are not for several at once; it keeps the
 * fonts that it has found. NULL: out of memory. */
static PangoLayout *make_layout(void)
{
    PangoContext *context = pango_font_map_create_context(pango_cairo_font_map_get_default());
    PangoLayout *layout = pango_layout_new(context);
    pango_layout_set_single_paragraph_mode(layout, true);
    g_object_unref(context);
    return layout;
}

static void choose_font(PangoLayout *layout, double size, bool bold)
{
    PangoFontDescription *font = pango_font_description_new();
    pango_font_description_set_family_static(font, "sans-serif");
    pango_font_description_set_absolute_size(font, size * PANGO_SCALE);
    pango_font_description_set_weight(font, bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
    pango_layout_set_font_description(layout, font);
    pango_font_description_free(font);
}

/* The width of the layout with another text, in pixels. */
static double measure(PangoLayout *layout, const char *text, size_t length)
{
    PangoRectangle extents;
    pango_layout_set_text(layout, text, (int)length);
    pango_layout_line_get_extents(pango_layout_get_line_readonly(layout, 0), NULL, &extents);
    return (double)extents.width / PANGO_SCALE;
}

/* The places where the layout's text may be cut: not between a letter and its marks. Freed by the caller; NULL: out of
 * memory. */
static size_t *find_cuts(PangoLayout *layout, const char *text, size_t *num_cuts)
{
    int num_attributes;
    const PangoLogAttr *attributes = pango_layout_get_log_attrs_readonly(layout, &num_attributes);
    size_t *cuts = malloc(((size_t)num_attributes + 1) * sizeof *cuts), at = 0;
    *num_cuts = 0;
    for (int i = 0; cuts && i < num_attributes; i++) {
        if (attributes[i].is_cursor_position) cuts[(*num_cuts)++] = at;
        if (text[at]) at++;
        while (((unsigned char)text[at] & 0xC0) == 0x80) at++;
    }
    return cuts;
}

/* Ends the text in an ellipsis, after as much of it as fits. (Pango's own ellipsis is as wide as the space that is
 * left: a gap in Hebrew, and other texts do not end where they should.) */
static void shorten(PangoLayout *layout, liana__text *text, double max_width)
{
    static const char ellipsis[] = "\xe2\x80\xa6";
    if (measure(layout, text->data, text->length) <= max_width) return;
    size_t fits = 0, too_long;
    LIANA__SCOPED_MEMORY size_t *cuts = find_cuts(layout, text->data, &too_long);
    LIANA__SCOPED(liana__text) cut = {0};
    while (cuts && too_long > fits + 1) {
        const size_t middle = fits + (too_long - fits) / 2;
        cut.length = 0;
        liana__text_add_bytes(&cut, text->data, cuts[middle]);
        liana__text_add_bytes(&cut, ellipsis, sizeof ellipsis - 1);
        if (cut.failed) return;
        if (measure(layout, cut.data, cut.length) <= max_width) {
            fits = middle;
        } else {
            too_long = middle;
        }
    }
    if (cuts) text->length = cuts[fits];
    liana__text_add_bytes(text, ellipsis, sizeof ellipsis - 1);
}

/* A line with isolated names is ours, from left to right: Pango would take its direction from the first letter, also
 * from one inside of an isolate. Other texts are names, in their own direction. */
static void choose_direction(PangoLayout *layout, const liana__text *text)
{
    static const char begin[] = "\xe2\x81\xa8";
    pango_context_set_base_dir(pango_layout_get_context(layout), PANGO_DIRECTION_LTR);
    pango_layout_set_auto_dir(layout, !strstr(text->data, begin));
}

/* A layout in pixels. Letters of a PNG stand at whole pixels, as its hinted font wants; those of an SVG, which may be
 * drawn at any size, where the font puts them. */
static PangoLayout *set_layout(liana__canvas *canvas, const liana__label *label)
{
    if (!canvas->layout) canvas->layout = make_layout();
    choose_font(canvas->layout, label->size * canvas->scale, label->bold);
    pango_context_set_round_glyph_positions(pango_layout_get_context(canvas->layout), !canvas->svg);
    pango_cairo_update_layout(canvas->cairo, canvas->layout);
    return canvas->layout;
}

double liana__canvas_text(liana__canvas *canvas, double x, double y, const liana__label *label, const char *text)
{
    cairo_t *cairo = canvas->cairo;
    LIANA__SCOPED(liana__text) clean = {0};
    add_clean(&clean, text);
    if (!clean.data || clean.failed) return 0;
    liana__canvas_ink(canvas, label->ink);
    cairo_save(cairo);
    cairo_translate(cairo, x, y);
    cairo_scale(cairo, 1 / canvas->scale, 1 / canvas->scale);
    PangoLayout *layout = set_layout(canvas, label);
    choose_direction(layout, &clean);
    if (label->max_width > 0) shorten(layout, &clean, label->max_width * canvas->scale);
    const double width = measure(layout, clean.data, clean.length);
    cairo_move_to(cairo, -width * label->align, 0);
    pango_cairo_show_layout_line(cairo, pango_layout_get_line_readonly(layout, 0));
    cairo_restore(cairo);
    cairo_new_path(cairo);
    return width / canvas->scale;
}

void liana__canvas_text_upwards(liana__canvas *canvas, double x, double y, const liana__label *label, const char *text)
{
    cairo_t *cairo = canvas->cairo;
    cairo_save(cairo);
    cairo_translate(cairo, x, y);
    cairo_rotate(cairo, -acos(-1) / 2);
    liana__canvas_text(canvas, 0, 0, label, text);
    cairo_restore(cairo);
}

void liana__canvas_title(liana__canvas *canvas, double x, double y, double size, double max_width, const char *text)
{
    const liana__label label = {.size = size, .bold = true, .max_width = max_width, .ink = liana__ink_text};
    liana__canvas_text(canvas, x, y, &label, text);
}

/* ---- fonts ---- */

/* Pango counts the characters that it draws as boxes. */
static bool can_draw(PangoLayout *layout, const char *name)
{
    LIANA__SCOPED(liana__text) clean = {0};
    add_clean(&clean, name);
    if (!clean.data || clean.failed) return true;
    pango_layout_set_text(layout, clean.data, (int)clean.length);
    return pango_layout_get_unknown_glyphs_count(layout) == 0;
}

void liana__fonts_note(const char *const *names, size_t count, char *note, size_t size)
{
    if (size) note[0] = 0;
    if (liana__cairo_load(NULL) != LIANA_OK || liana__pango_load(NULL) != LIANA_OK) return; /* nothing is drawn */
    PangoLayout *layout = make_layout();
    choose_font(layout, 12, false);
    for (size_t i = 0; i < count; i++) {
        if (can_draw(layout, names[i])) continue;
        snprintf(note, size,
                 "no installed font has all characters of '%.100s': pictures show boxes in their place; install one "
                 "that has (Debian: fonts-dejavu for Latin letters, fonts-noto-cjk for Chinese, Japanese and Korean, "
                 "fonts-noto-color-emoji for emoji, fonts-noto for most others)",
                 names[i]);
        break;
    }
    g_object_unref(layout);
}
