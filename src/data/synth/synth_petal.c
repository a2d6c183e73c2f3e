/* Draws the flower itself. */
#include "data/synth/synth_petal.h"

enum { HALF_POINTS = 33, POINTS = 2 * HALF_POINTS };

/* One petal along the x axis: from `base` to `tip`, both distances from the flower's centre. */
typedef struct petal_form {
    liana__petal_outline outline;
    double base;
    double tip;
    double half_width;
    double bend; /* radians that the tip is turned about the centre */
} petal_form;

typedef struct point {
    double x, y;
} point;

/* Half of an outline: where it runs when t goes from 0 (base) to 1 (middle of the tip); x along the petal and y
 * across it, both in [0, 1]. */
static point outline_point(liana__petal_outline outline, double t)
{
    /* The sides take the first part of t, the tip the rest. */
    double side = t < 0.7 ? t / 0.7 : 1, tip = t < 0.7 ? 0 : (t - 0.7) / 0.3;
    switch (outline) {
    case LIANA__PETAL_ROUND: {
        double angle = M_PI * t;
        return (point){0.5 - 0.5 * cos(angle), pow(sin(angle), 0.8) * (0.75 + 0.25 * t)};
    }
    case LIANA__PETAL_POINTED: return (point){t, 1.9 * pow(t, 0.65) * pow(1 - t, 0.8)};
    case LIANA__PETAL_NOTCHED:
        /* Widening sides, then a lobe: a half circle from the outer edge down to the notch. */
        if (tip == 0) return (point){0.7 * side, 0.25 + 0.75 * sin(side * M_PI / 2)};
        return (point){0.7 + 0.3 * sin(M_PI * tip) - 0.08 * tip, 0.5 + 0.5 * cos(M_PI * tip)};
    case LIANA__PETAL_NARROW:
        if (tip == 0) return (point){0.9 * side, 0.8 + 0.2 * side};
        return (point){0.9 + 0.1 * sin(M_PI / 2 * tip), cos(M_PI / 2 * tip)};
    case LIANA__PETAL_TOOTHED: {
        if (tip == 0) return (point){0.85 * side, 0.15 + 0.85 * side};
        /* Two and a half teeth on each side of the middle. */
        double tooth = fabs(2 * (tip * 2.5 - floor(tip * 2.5)) - 1);
        return (point){0.78 + 0.22 * (1 - tooth), 1 - tip};
    }
    case LIANA__PETAL_SPOON:
        if (t < 0.3) return (point){t / 0.3 * 0.55, 0.22};
        return (point){0.775 - 0.225 * cos(M_PI * (t - 0.3) / 0.7), fmax(0.22 * (1 - t), sin(M_PI * (t - 0.3) / 0.7))};
    default: return (point){t, 1.0 - t};
    }
}

/* The bent petal as a closed path. */
static void trace(cairo_t *cairo, const petal_form *shape)
{
    cairo_new_path(cairo);
    for (int i = 0; i < POINTS; i++) {
        bool back = i >= HALF_POINTS;
        double t = (double)(back ? POINTS - 1 - i : i) / (HALF_POINTS - 1);
        point place = outline_point(shape->outline, t);
        double along = shape->base + (shape->tip - shape->base) * place.x;
        double across = (back ? -1 : 1) * shape->half_width * place.y;
        double radius = hypot(along, across);
        double angle = atan2(across, along) + shape->bend * radius * radius;
        cairo_line_to(cairo, radius * cos(angle), radius * sin(angle));
    }
    cairo_close_path(cairo);
}

/* How wide petals of an outline are, over the room that each has where the petal is widest. */
static double width_of(liana__petal_outline outline)
{
    static const double widths[] = {
        [LIANA__PETAL_ROUND] = 1.12, [LIANA__PETAL_POINTED] = 0.95, [LIANA__PETAL_NOTCHED] = 1.0,
        [LIANA__PETAL_NARROW] = 0.5, [LIANA__PETAL_TOOTHED] = 1.0,  [LIANA__PETAL_SPOON] = 0.9,
        [LIANA__PETAL_STAR] = 1.1};
    return widths[outline];
}

/* The look of a row, drawn once, so that its petals are alike. */
typedef struct row {
    petal_form petal;
    int num_petals;
    double first_angle;
    double light_angle;
    double light; /* how much brighter the petals towards the light are */
    liana__colour base;
    liana__colour tip;
    bool veins;
} row;

static void paint_petal(cairo_t *cairo, const row *look, const petal_form *shape, double brightness, double line_width)
{
    liana__colour base = liana__colour_scale(look->base, brightness * 0.82);
    liana__colour tip = liana__colour_scale(look->tip, brightness);
    trace(cairo, shape);
    cairo_pattern_t *pattern = cairo_pattern_create_linear(shape->base, 0, shape->tip, 0);
    cairo_pattern_add_color_stop_rgb(pattern, 0, base.red, base.green, base.blue);
    cairo_pattern_add_color_stop_rgb(pattern, 1, tip.red, tip.green, tip.blue);
    cairo_set_source(cairo, pattern);
    cairo_fill_preserve(cairo);
    cairo_pattern_destroy(pattern);
    liana__colour_set(cairo, liana__colour_scale(base, 0.45), 0.75);
    cairo_set_line_width(cairo, line_width);
    cairo_stroke(cairo);
    if (!look->veins) return;
    cairo_move_to(cairo, shape->base, 0);
    double end = shape->base + (shape->tip - shape->base) * 0.7, angle = shape->bend * end * end;
    cairo_line_to(cairo, end * cos(angle), end * sin(angle));
    liana__colour_set(cairo, liana__colour_scale(base, 0.6), 0.5);
    cairo_stroke(cairo);
}

static void draw_row(cairo_t *cairo, const row *look, liana__dice *dice)
{
    double step = 2 * M_PI / look->num_petals;
    for (int i = 0; i < look->num_petals; i++) {
        petal_form shape = look->petal;
        double angle = look->first_angle + step * (i + liana__dice_between(dice, -0.06, 0.06));
        shape.tip *= liana__dice_between(dice, 0.94, 1);
        shape.half_width *= liana__dice_between(dice, 0.95, 1.05);
        double brightness = 1 + look->light * cos(angle - look->light_angle) + liana__dice_between(dice, -0.05, 0.05);
        cairo_save(cairo);
        cairo_rotate(cairo, angle);
        paint_petal(cairo, look, &shape, brightness, 0.022);
        cairo_restore(cairo);
    }
}

/* A disc with florets on the spiral of sunflower seeds: n-th at angle n times 137.5 degrees, radius like sqrt(n)
 * (Vogel, "A better way to construct the sunflower head", 1979). */
static void draw_center(cairo_t *cairo, double radius, liana__colour colour, liana__dice *dice)
{
    cairo_pattern_t *pattern = cairo_pattern_create_radial(-radius * 0.3, -radius * 0.3, 0, 0, 0, radius);
    liana__colour inner = liana__colour_scale(colour, 1.2), outer = liana__colour_scale(colour, 0.7);
    cairo_pattern_add_color_stop_rgb(pattern, 0, inner.red, inner.green, inner.blue);
    cairo_pattern_add_color_stop_rgb(pattern, 1, outer.red, outer.green, outer.blue);
    cairo_arc(cairo, 0, 0, radius, 0, 2 * M_PI);
    cairo_set_source(cairo, pattern);
    cairo_fill_preserve(cairo);
    cairo_pattern_destroy(pattern);
    liana__colour_set(cairo, liana__colour_scale(colour, 0.4), 0.8);
    cairo_set_line_width(cairo, 0.02);
    cairo_stroke(cairo);
    if (liana__dice_chance(dice, 0.3)) return;
    int num_florets = 12 + liana__dice_pick(dice, 50);
    double dot = radius * 0.75 / sqrt(num_florets);
    liana__colour floret = liana__colour_scale(colour, liana__dice_chance(dice, 0.5) ? 0.55 : 1.45);
    for (int n = 0; n < num_florets; n++) {
        double distance = radius * 0.92 * sqrt((n + 0.5) / num_florets), angle = n * 2.399963;
        cairo_arc(cairo, distance * cos(angle), distance * sin(angle), dot, 0, 2 * M_PI);
        liana__colour_set(cairo, floret, 0.7);
        cairo_fill(cairo);
    }
}

void liana__synth_draw_flower(cairo_t *cairo, const liana__flower_shape *shape, const liana__palette *palette,
                              liana__dice *dice)
{
    row look = {.num_petals = shape->num_petals,
                .first_angle = liana__dice_angle(dice),
                .light_angle = liana__dice_angle(dice),
                .light = liana__dice_between(dice, 0, 0.2),
                .veins = liana__dice_chance(dice, 0.4)};
    double side = liana__dice_chance(dice, 0.5) ? 1 : -1, step = 2 * M_PI / shape->num_petals;
    double width = liana__dice_between(dice, 0.92, 1.08) * width_of(shape->outline);
    for (int i = 0; i < shape->num_rows; i++) {
        double reach = 1 - (1 - shape->center) * 0.85 * i / shape->num_rows;
        /* A petal's room is the arc at its middle; few petals get no wider than a third of a turn's. */
        double room = fmin(reach * 0.75 * sin(fmin(step, 1.3) / 2) * 1.05, 0.6 * reach);
        if (shape->outline == LIANA__PETAL_SPOON) room = fmin(room, 0.3 * (reach - shape->center * 0.6));
        look.petal = (petal_form){.outline = shape->outline,
                                  .base = shape->center * 0.6,
                                  .tip = reach,
                                  .half_width = room * width,
                                  .bend = shape->spiral ? side * 0.9 / (reach * reach) : 0};
        double inner = 1 + 0.12 * i;
        look.base = liana__colour_scale(palette->petal_base, inner);
        look.tip = liana__colour_scale(palette->petal_tip, inner);
        draw_row(cairo, &look, dice);
        look.first_angle += step / 2;
    }
    draw_center(cairo, shape->center, palette->center, dice);
}
