/* Draws an image with its prediction. */
#include "cli/predict/prediction_picture.h"

#include "base/format.h"
#include "report/canvas.h"

#include <stdio.h>

enum { MARGIN = 8, LINE = 22, LETTERS = 14, NARROWEST = 224, NUMBER = 58 };

static void draw_pixels(liana__canvas *canvas, const liana__prediction_picture *picture, double width)
{
    cairo_surface_t *surface =
        liana__canvas_surface(picture->pixels, picture->height, picture->width, picture->channels);
    const double left = (width - picture->width) / 2;
    cairo_set_source_surface(canvas->cairo, surface, left, 0);
    cairo_rectangle(canvas->cairo, left, 0, picture->width, picture->height);
    cairo_fill(canvas->cairo);
    cairo_surface_destroy(surface);
}

/* The probability as a bar behind the name. */
static void draw_line(liana__canvas *canvas, const liana__picture_line *line, double y, double width)
{
    static const liana__ink bar = {0.80, 0.88, 0.97};
    const double room = width - 2 * MARGIN, share = line->probability < 0 ? 0 : line->probability;
    char number[24];
    snprintf(number, sizeof number, "%.4f", liana__shown(line->probability));
    liana__canvas_box(canvas, MARGIN, y + 2, room * (share > 1 ? 1 : share), LINE - 4, bar);
    liana__canvas_text(canvas, MARGIN + 4, y + LINE - 6,
                       &(liana__label){.size = LETTERS, .max_width = room - NUMBER - 8, .ink = liana__ink_text},
                       line->name);
    liana__canvas_text(canvas, width - MARGIN - 4, y + LINE - 6,
                       &(liana__label){.size = LETTERS, .align = 1, .ink = liana__ink_text}, number);
}

liana_status liana__prediction_picture_write(const char *path, const liana__prediction_picture *picture,
                                             liana__error *error)
{
    const double width = picture->width < NARROWEST ? NARROWEST : picture->width;
    const double lines = (double)picture->num_lines + (picture->truth != NULL);
    liana__canvas canvas;
    LIANA_TRY(liana__canvas_begin(&canvas, path, width, picture->height + lines * LINE + 2 * MARGIN, 1, error));
    draw_pixels(&canvas, picture, width);
    double y = picture->height + MARGIN;
    for (size_t i = 0; i < picture->num_lines; i++, y += LINE) draw_line(&canvas, &picture->lines[i], y, width);
    if (picture->truth) {
        const liana__label label = {.size = LETTERS,
                                    .max_width = width - 2 * MARGIN - 64,
                                    .bold = true,
                                    .ink = picture->is_right ? liana__ink_good : liana__ink_bad};
        liana__canvas_text(&canvas, MARGIN + 4, y + LINE - 6, &label, picture->is_right ? "right:" : "wrong:");
        liana__canvas_text(&canvas, MARGIN + 60, y + LINE - 6, &label, picture->truth);
    }
    return liana__canvas_finish(&canvas, path, error);
}
