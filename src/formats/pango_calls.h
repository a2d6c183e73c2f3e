/* pango_calls.h - functions of libpangocairo, and of the libpango and libgobject that it stands on, from the library
 * that liana__pango_load loads (base/library.h). */
#ifndef LIANA_FORMATS_PANGO_CALLS_H
#define LIANA_FORMATS_PANGO_CALLS_H

#include "base/library.h"

#include <pango/pangocairo.h>

/* clang-format off */
#define LIANA__PANGO_NAMES(X) \
    X(g_object_unref) X(pango_cairo_font_map_get_default) X(pango_cairo_show_layout_line)                    \
    X(pango_cairo_update_layout) X(pango_context_set_base_dir) X(pango_context_set_round_glyph_positions)    \
    X(pango_font_description_free) X(pango_font_description_new) X(pango_font_description_set_absolute_size) \
    X(pango_font_description_set_family_static) X(pango_font_description_set_weight)                         \
    X(pango_font_map_create_context) X(pango_layout_get_context) X(pango_layout_get_line_readonly)           \
    X(pango_layout_get_log_attrs_readonly) X(pango_layout_get_unknown_glyphs_count)                          \
    X(pango_layout_line_get_extents) X(pango_layout_new) X(pango_layout_set_auto_dir)                        \
    X(pango_layout_set_font_description) X(pango_layout_set_single_paragraph_mode) X(pango_layout_set_text)
/* clang-format on */

LIANA__LIBRARY_DECLARE(pango, LIANA__PANGO_NAMES);

#define g_object_unref liana__pango_library.g_object_unref
#define pango_cairo_font_map_get_default liana__pango_library.pango_cairo_font_map_get_default
#define pango_cairo_show_layout_line liana__pango_library.pango_cairo_show_layout_line
#define pango_cairo_update_layout liana__pango_library.pango_cairo_update_layout
#define pango_context_set_base_dir liana__pango_library.pango_context_set_base_dir
#define pango_context_set_round_glyph_positions liana__pango_library.pango_context_set_round_glyph_positions
#define pango_font_description_free liana__pango_library.pango_font_description_free
#define pango_font_description_new liana__pango_library.pango_font_description_new
#define pango_font_description_set_absolute_size liana__pango_library.pango_font_description_set_absolute_size
#define pango_font_description_set_family_static liana__pango_library.pango_font_description_set_family_static
#define pango_font_description_set_weight liana__pango_library.pango_font_description_set_weight
#define pango_font_map_create_context liana__pango_library.pango_font_map_create_context
#define pango_layout_get_context liana__pango_library.pango_layout_get_context
#define pango_layout_get_line_readonly liana__pango_library.pango_layout_get_line_readonly
#define pango_layout_get_log_attrs_readonly liana__pango_library.pango_layout_get_log_attrs_readonly
#define pango_layout_get_unknown_glyphs_count liana__pango_library.pango_layout_get_unknown_glyphs_count
#define pango_layout_line_get_extents liana__pango_library.pango_layout_line_get_extents
#define pango_layout_new liana__pango_library.pango_layout_new
#define pango_layout_set_auto_dir liana__pango_library.pango_layout_set_auto_dir
#define pango_layout_set_font_description liana__pango_library.pango_layout_set_font_description
#define pango_layout_set_single_paragraph_mode liana__pango_library.pango_layout_set_single_paragraph_mode
#define pango_layout_set_text liana__pango_library.pango_layout_set_text

/* Loads the library. Call it before the first of these functions. Errors: UNIMPLEMENTED. */
liana_status liana__pango_load(liana__error *error) LIANA_MUST_USE;

#endif
