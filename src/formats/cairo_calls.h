/* cairo_calls.h - libcairo's functions, from the library that liana__cairo_load loads (base/library.h). */
#ifndef LIANA_FORMATS_CAIRO_CALLS_H
#define LIANA_FORMATS_CAIRO_CALLS_H

#include "base/library.h"

#include <cairo-svg.h>

/* clang-format off */
#define LIANA__CAIRO_NAMES(X) \
    X(cairo_arc) X(cairo_clip) X(cairo_close_path) X(cairo_create) X(cairo_curve_to) X(cairo_destroy)          \
    X(cairo_fill) X(cairo_fill_preserve) X(cairo_get_source) X(cairo_image_surface_create)                     \
    X(cairo_image_surface_get_data) X(cairo_image_surface_get_stride) X(cairo_line_to) X(cairo_move_to)        \
    X(cairo_new_path) X(cairo_paint) X(cairo_pattern_add_color_stop_rgb) X(cairo_pattern_add_color_stop_rgba)  \
    X(cairo_pattern_create_linear) X(cairo_pattern_create_radial) X(cairo_pattern_destroy)                     \
    X(cairo_pattern_set_filter) X(cairo_rectangle) X(cairo_rel_line_to) X(cairo_restore) X(cairo_rotate)       \
    X(cairo_save) X(cairo_scale) X(cairo_set_dash) X(cairo_set_line_join) X(cairo_set_line_width)              \
    X(cairo_set_source) X(cairo_set_source_rgb) X(cairo_set_source_rgba) X(cairo_set_source_surface)           \
    X(cairo_status) X(cairo_status_to_string) X(cairo_stroke) X(cairo_surface_destroy) X(cairo_surface_finish) \
    X(cairo_surface_flush) X(cairo_surface_mark_dirty) X(cairo_surface_status)                                 \
    X(cairo_surface_write_to_png_stream) X(cairo_svg_surface_create_for_stream) X(cairo_translate)
/* clang-format on */

LIANA__LIBRARY_DECLARE(cairo, LIANA__CAIRO_NAMES);

#define cairo_arc liana__cairo_library.cairo_arc
#define cairo_clip liana__cairo_library.cairo_clip
#define cairo_close_path liana__cairo_library.cairo_close_path
#define cairo_create liana__cairo_library.cairo_create
#define cairo_curve_to liana__cairo_library.cairo_curve_to
#define cairo_destroy liana__cairo_library.cairo_destroy
#define cairo_fill liana__cairo_library.cairo_fill
#define cairo_fill_preserve liana__cairo_library.cairo_fill_preserve
#define cairo_get_source liana__cairo_library.cairo_get_source
#define cairo_image_surface_create liana__cairo_library.cairo_image_surface_create
#define cairo_image_surface_get_data liana__cairo_library.cairo_image_surface_get_data
#define cairo_image_surface_get_stride liana__cairo_library.cairo_image_surface_get_stride
#define cairo_line_to liana__cairo_library.cairo_line_to
#define cairo_move_to liana__cairo_library.cairo_move_to
#define cairo_new_path liana__cairo_library.cairo_new_path
#define cairo_paint liana__cairo_library.cairo_paint
#define cairo_pattern_add_color_stop_rgb liana__cairo_library.cairo_pattern_add_color_stop_rgb
#define cairo_pattern_add_color_stop_rgba liana__cairo_library.cairo_pattern_add_color_stop_rgba
#define cairo_pattern_create_linear liana__cairo_library.cairo_pattern_create_linear
#define cairo_pattern_create_radial liana__cairo_library.cairo_pattern_create_radial
#define cairo_pattern_destroy liana__cairo_library.cairo_pattern_destroy
#define cairo_pattern_set_filter liana__cairo_library.cairo_pattern_set_filter
#define cairo_rectangle liana__cairo_library.cairo_rectangle
#define cairo_rel_line_to liana__cairo_library.cairo_rel_line_to
#define cairo_restore liana__cairo_library.cairo_restore
#define cairo_rotate liana__cairo_library.cairo_rotate
#define cairo_save liana__cairo_library.cairo_save
#define cairo_scale liana__cairo_library.cairo_scale
#define cairo_set_dash liana__cairo_library.cairo_set_dash
#define cairo_set_line_join liana__cairo_library.cairo_set_line_join
#define cairo_set_line_width liana__cairo_library.cairo_set_line_width
#define cairo_set_source liana__cairo_library.cairo_set_source
#define cairo_set_source_rgb liana__cairo_library.cairo_set_source_rgb
#define cairo_set_source_rgba liana__cairo_library.cairo_set_source_rgba
#define cairo_set_source_surface liana__cairo_library.cairo_set_source_surface
#define cairo_status liana__cairo_library.cairo_status
#define cairo_status_to_string liana__cairo_library.cairo_status_to_string
#define cairo_stroke liana__cairo_library.cairo_stroke
#define cairo_surface_destroy liana__cairo_library.cairo_surface_destroy
#define cairo_surface_finish liana__cairo_library.cairo_surface_finish
#define cairo_surface_flush liana__cairo_library.cairo_surface_flush
#define cairo_surface_mark_dirty liana__cairo_library.cairo_surface_mark_dirty
#define cairo_surface_status liana__cairo_library.cairo_surface_status
#define cairo_surface_write_to_png_stream liana__cairo_library.cairo_surface_write_to_png_stream
#define cairo_svg_surface_create_for_stream liana__cairo_library.cairo_svg_surface_create_for_stream
#define cairo_translate liana__cairo_library.cairo_translate

/* Loads the library. Call it before the first of these functions. Errors: UNIMPLEMENTED. */
liana_status liana__cairo_load(liana__error *error) LIANA_MUST_USE;

#endif
