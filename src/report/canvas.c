/* Pictures as PNG or SVG. */
#include "report/canvas.h"

#include "base/file.h"

#include <math.h>

const liana__ink liana__ink_text = {0.13, 0.15, 0.18};
const liana__ink liana__ink_quiet = {0.45, 0.48, 0.52};
const liana__ink liana__ink_line = {0.88, 0.89, 0.91};
const liana__ink liana__ink_good = {0.16, 0.60, 0.36};
const liana__ink liana__ink_bad = {0.83, 0.24, 0.24};
const liana__ink liana__ink_first = {0.16, 0.42, 0.75};
const liana__ink liana__ink_second = {0.89, 0.49, 0.13};

static cairo_status_t take_bytes(void *user, const unsigned char *bytes, unsigned size)
{
    liana__text *text = user;
    liana__text_add_bytes(text, (const char *)bytes, size);
    return text->failed ? CAIRO_STATUS_NO_MEMORY : CAIRO_STATUS_SUCCESS;
}

liana_status liana__canvas_begin(liana__canvas *canvas, const char *path, double width, double height, double scale,
                                 liana__error *error)
{
    *canvas = (liana__canvas){.svg = liana__ends_with(path, ".svg"), .scale = 1};
    if (!canvas->svg && !liana__ends_with(path, ".png")) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s': pictures are written as .png or .svg", path);
    }
    if (width * scale > LIANA__CANVAS_MAX || height * scale > LIANA__CANVAS_MAX) {
        return liana__fail(error, LIANA_OUT_OF_RANGE,
                           "'%s': the picture would have %.0f x %.0f pixels, at most %d x %d can be drawn", path,
                           width * scale, height * scale, LIANA__CANVAS_MAX, LIANA__CANVAS_MAX);
    }
    LIANA_TRY(liana__cairo_load(error));
    LIANA_TRY(liana__pango_load(error));
    canvas->surface = canvas->svg ? cairo_svg_surface_create_for_stream(take_bytes, &canvas->svg_text, width, height)
                                  : cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)(width * scale + 0.5),
                                                               (int)(height * scale + 0.5));
    canvas->cairo = cairo_create(canvas->surface);
    if (cairo_status(canvas->cairo) != CAIRO_STATUS_SUCCESS) {
        cairo_destroy(canvas->cairo);
        cairo_surface_destroy(canvas->surface);
        return liana__fail_memory(error, path);
    }
    if (!canvas->svg) canvas->scale = scale;
    cairo_scale(canvas->cairo, canvas->scale, canvas->scale);
    cairo_set_source_rgb(canvas->cairo, 1, 1, 1);
    cairo_paint(canvas->cairo);
    return LIANA_OK;
}

liana_status liana__canvas_finish(liana__canvas *canvas, const char *path, liana__error *error)
{
    cairo_status_t outcome = cairo_status(canvas->cairo);
    liana__text png = {0};
    if (canvas->svg) {
        cairo_surface_finish(canvas->surface);
    } else if (outcome == CAIRO_STATUS_SUCCESS) {
        outcome = cairo_surface_write_to_png_stream(canvas->surface, take_bytes, &png);
    }
    if (outcome == CAIRO_STATUS_SUCCESS) outcome = cairo_surface_status(canvas->surface);
    cairo_destroy(canvas->cairo);
    cairo_surface_destroy(canvas->surface);
    if (canvas->layout) g_object_unref(canvas->layout);
    const liana__text *bytes = canvas->svg ? &canvas->svg_text : &png;
    liana_status status;
    if (outcome == CAIRO_STATUS_NO_MEMORY || bytes->failed) {
        status = liana__fail_memory(error, path);
    } else if (outcome != CAIRO_STATUS_SUCCESS) {
        status = liana__fail(error, LIANA_INTERNAL, "'%s': cairo: %s", path, cairo_status_to_string(outcome));
    } else {
        status = liana__file_replace(path, bytes->data, bytes->length, error);
    }
    liana__text_free(&png);
    liana__text_free(&canvas->svg_text);
    return status;
}

cairo_surface_t *liana__canvas_surface(const uint8_t *pixels, int height, int width, int channels)
{
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    if (cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS) return surface;
    uint8_t *rows = cairo_image_surface_get_data(surface);
    const size_t stride = (size_t)cairo_image_surface_get_stride(surface);
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++, pixels += channels) {
            const uint32_t red = pixels[0], green = channels == 3 ? pixels[1] : red;
            const uint32_t blue = channels == 3 ? pixels[2] : red, word = red << 16 | green << 8 | blue;
            memcpy(rows + (size_t)y * stride + (size_t)x * 4, &word, sizeof word);
        }
    }
    cairo_surface_mark_dirty(surface);
    return surface;
}

void liana__canvas_ink(liana__canvas *canvas, liana__ink ink)
{
    cairo_set_source_rgb(canvas->cairo, ink.red, ink.green, ink.blue);
}

/* ---- shapes ---- */

void liana__canvas_line(liana__canvas *canvas, double x0, double y0, double x1, double y1, double width, liana__ink ink)
{
    cairo_move_to(canvas->cairo, x0, y0);
    cairo_line_to(canvas->cairo, x1, y1);
    cairo_set_line_width(canvas->cairo, width);
    liana__canvas_ink(canvas, ink);
    cairo_stroke(canvas->cairo);
}

void liana__canvas_dot(liana__canvas *canvas, double x, double y, double radius, liana__ink ink)
{
    cairo_new_path(canvas->cairo);
    cairo_arc(canvas->cairo, x, y, radius, 0, 2 * M_PI);
    liana__canvas_ink(canvas, ink);
    cairo_fill(canvas->cairo);
}

void liana__canvas_box(liana__canvas *canvas, double x, double y, double width, double height, liana__ink ink)
{
    cairo_rectangle(canvas->cairo, x, y, width, height);
    liana__canvas_ink(canvas, ink);
    cairo_fill(canvas->cairo);
}
