/* Draws one photograph of a flower. */
#include "data/synth/synth_draw.h"

#include "data/synth/synth_petal.h"

#include <stdlib.h>
#include <string.h>

/* Everything is drawn on a unit square, y downwards. */
typedef struct drawing {
    cairo_t *cairo;
    liana__palette palette;
    const liana__synth_address *address;
} drawing;

static liana__dice dice_for(const drawing *scene, liana__synth_purpose purpose)
{
    return liana__dice_at(scene->address->seed, scene->address->split, scene->address->index, purpose);
}

/* --- Background -------------------------------------------------------------------------------------------------- */

static void draw_ground(const drawing *scene, liana__dice *dice)
{
    double angle = liana__dice_angle(dice), x = cos(angle) / 2, y = sin(angle) / 2;
    cairo_pattern_t *pattern = cairo_pattern_create_linear(0.5 - x, 0.5 - y, 0.5 + x, 0.5 + y);
    for (int i = 0; i < 2; i++) {
        liana__colour colour = scene->palette.ground[i];
        cairo_pattern_add_color_stop_rgb(pattern, i, colour.red, colour.green, colour.blue);
    }
    cairo_set_source(scene->cairo, pattern);
    cairo_paint(scene->cairo);
    cairo_pattern_destroy(pattern);
}

static void draw_blob(const drawing *scene, liana__dice *dice)
{
    liana__colour colour = liana__colour_vary(dice, scene->palette.ground[liana__dice_pick(dice, 2)], 0.25);
    cairo_arc(scene->cairo, liana__dice_roll(dice), liana__dice_roll(dice), liana__dice_between(dice, 0.03, 0.16), 0,
              2 * M_PI);
    liana__colour_set(scene->cairo, colour, liana__dice_between(dice, 0.2, 0.8));
    cairo_fill(scene->cairo);
}

static void draw_pebble(const drawing *scene, liana__dice *dice)
{
    double x = liana__dice_roll(dice), y = liana__dice_roll(dice), size = liana__dice_between(dice, 0.03, 0.11);
    double first = liana__dice_angle(dice);
    int corners = 3 + liana__dice_pick(dice, 5);
    for (int i = 0; i < corners; i++) {
        double angle = first + 2 * M_PI * i / corners, radius = size * liana__dice_between(dice, 0.6, 1);
        cairo_line_to(scene->cairo, x + radius * cos(angle), y + radius * sin(angle));
    }
    cairo_close_path(scene->cairo);
    liana__colour any = liana__colour_hsv(liana__dice_roll(dice), liana__dice_between(dice, 0, 0.6),
                                          liana__dice_between(dice, 0.2, 0.9));
    liana__colour_set(scene->cairo, liana__colour_mix(any, scene->palette.ground[0], 0.4), 0.9);
    cairo_fill(scene->cairo);
}

static void draw_blade(const drawing *scene, liana__dice *dice)
{
    double x = liana__dice_between(dice, -0.1, 1.1), lean = liana__dice_between(dice, -0.35, 0.35);
    double height = liana__dice_between(dice, 0.2, 0.95), width = liana__dice_between(dice, 0.008, 0.03);
    cairo_move_to(scene->cairo, x - width, 1.02);
    cairo_curve_to(scene->cairo, x - width, 1 - height * 0.5, x + lean * 0.4, 1 - height * 0.8, x + lean, 1 - height);
    cairo_curve_to(scene->cairo, x + lean * 0.4 + width, 1 - height * 0.75, x + width, 1 - height * 0.5, x + width,
                   1.02);
    cairo_close_path(scene->cairo);
    liana__colour_set(scene->cairo, liana__colour_vary(dice, scene->palette.green, 0.18), 0.95);
    cairo_fill(scene->cairo);
}

/* A leaf from the origin along x, of length 1. */
static void draw_leaf(const drawing *scene, liana__dice *dice, double x, double y, double angle, double length)
{
    cairo_t *cairo = scene->cairo;
    double width = liana__dice_between(dice, 0.18, 0.42);
    liana__colour colour = liana__colour_vary(dice, scene->palette.green, 0.15);
    cairo_save(cairo);
    cairo_translate(cairo, x, y);
    cairo_rotate(cairo, angle);
    cairo_scale(cairo, length, length);
    cairo_move_to(cairo, 0, 0);
    cairo_curve_to(cairo, 0.25, width, 0.7, width, 1, 0);
    cairo_curve_to(cairo, 0.7, -width, 0.25, -width, 0, 0);
    liana__colour_set(cairo, colour, 1);
    cairo_fill(cairo);
    cairo_move_to(cairo, 0.03, 0);
    cairo_line_to(cairo, 0.95, 0);
    cairo_set_line_width(cairo, 0.025);
    liana__colour_set(cairo, liana__colour_scale(colour, 1.35), 0.8);
    cairo_stroke(cairo);
    cairo_restore(cairo);
}

static void draw_twig(const drawing *scene, liana__dice *dice)
{
    double x = liana__dice_roll(dice), y = liana__dice_roll(dice), angle = liana__dice_angle(dice);
    double length = liana__dice_between(dice, 0.2, 0.7);
    cairo_move_to(scene->cairo, x, y);
    cairo_rel_line_to(scene->cairo, length * cos(angle), length * sin(angle));
    cairo_set_line_width(scene->cairo, liana__dice_between(dice, 0.006, 0.022));
    liana__colour_set(scene->cairo,
                      liana__colour_hsv(liana__dice_between(dice, 0.04, 0.12), 0.4,
                                        liana__dice_between(dice, 0.2, 0.6)),
                      0.9);
    cairo_stroke(scene->cairo);
}

static void draw_clutter(const drawing *scene, liana__dice *dice)
{
    draw_ground(scene, dice);
    int blobs = 4 + liana__dice_pick(dice, 10), pebbles = liana__dice_pick(dice, 8);
    int twigs = liana__dice_pick(dice, 5), leaves = liana__dice_pick(dice, 7);
    int blades = liana__dice_chance(dice, 0.6) ? liana__dice_pick(dice, 24) : 0;
    for (int i = 0; i < blobs; i++) draw_blob(scene, dice);
    for (int i = 0; i < pebbles; i++) draw_pebble(scene, dice);
    for (int i = 0; i < twigs; i++) draw_twig(scene, dice);
    for (int i = 0; i < leaves; i++) {
        double x = liana__dice_roll(dice), y = liana__dice_roll(dice), angle = liana__dice_angle(dice);
        draw_leaf(scene, dice, x, y, angle, liana__dice_between(dice, 0.12, 0.4));
    }
    for (int i = 0; i < blades; i++) draw_blade(scene, dice);
}

/* --- Flower ------------------------------------------------------------------------------------------------------ */

typedef struct flower_pose {
    double x, y, radius;
    double turn;   /* of the axis that the flower is tilted about */
    double squash; /* the flower's height over its width, seen from the camera */
} flower_pose;

static flower_pose roll_pose(liana__dice *dice)
{
    flower_pose pose = {.radius = liana__dice_between(dice, 0.3, 0.46),
                        .turn = liana__dice_angle(dice),
                        .squash = liana__dice_between(dice, 0.76, 1)};
    /* Wholly in the picture, or nearly: a twentieth may be cut off. */
    double room = 0.5 - pose.radius + 0.05;
    pose.x = 0.5 + liana__dice_between(dice, -room, room);
    pose.y = 0.5 + liana__dice_between(dice, -room, room);
    return pose;
}

static void draw_stem(const drawing *scene, const flower_pose *pose, liana__dice *dice)
{
    double foot = pose->x + liana__dice_between(dice, -0.3, 0.3), middle = (pose->y + 1) / 2;
    cairo_move_to(scene->cairo, pose->x, pose->y);
    cairo_curve_to(scene->cairo, pose->x, middle, foot, middle, foot, 1.05);
    cairo_set_line_width(scene->cairo, liana__dice_between(dice, 0.018, 0.045));
    liana__colour_set(scene->cairo, liana__colour_scale(scene->palette.green, 0.85), 1);
    cairo_stroke(scene->cairo);
    int leaves = liana__dice_pick(dice, 3);
    for (int i = 0; i < leaves; i++) {
        double y = liana__dice_between(dice, middle, 1);
        double angle = (i % 2 ? M_PI : 0) + liana__dice_between(dice, -0.9, 0.4);
        draw_leaf(scene, dice, (pose->x + foot) / 2, y, angle, liana__dice_between(dice, 0.15, 0.35));
    }
}

/* A soft dark disc under the flower lifts it from its background. */
static void draw_shadow(const drawing *scene, const flower_pose *pose, liana__dice *dice)
{
    double angle = liana__dice_angle(dice), offset = pose->radius * liana__dice_between(dice, 0, 0.15);
    double x = pose->x + offset * cos(angle), y = pose->y + offset * sin(angle);
    cairo_pattern_t *pattern = cairo_pattern_create_radial(x, y, pose->radius * 0.5, x, y, pose->radius * 1.1);
    cairo_pattern_add_color_stop_rgba(pattern, 0, 0, 0, 0, liana__dice_between(dice, 0.1, 0.5));
    cairo_pattern_add_color_stop_rgba(pattern, 1, 0, 0, 0, 0);
    cairo_set_source(scene->cairo, pattern);
    cairo_paint(scene->cairo);
    cairo_pattern_destroy(pattern);
}

static void draw_subject(const drawing *scene, const liana__flower_shape *shape)
{
    liana__dice pose_dice = dice_for(scene, LIANA__SYNTH_POSE), petals = dice_for(scene, LIANA__SYNTH_PETALS);
    flower_pose pose = roll_pose(&pose_dice);
    if (liana__dice_chance(&pose_dice, 0.7)) draw_stem(scene, &pose, &pose_dice);
    draw_shadow(scene, &pose, &pose_dice);
    cairo_save(scene->cairo);
    cairo_translate(scene->cairo, pose.x, pose.y);
    cairo_rotate(scene->cairo, pose.turn);
    cairo_scale(scene->cairo, pose.radius, pose.radius * pose.squash);
    liana__synth_draw_flower(scene->cairo, shape, &scene->palette, &petals);
    cairo_restore(scene->cairo);
}

/* --- Foreground, light and camera -------------------------------------------------------------------------------- */

static void draw_foreground(const drawing *scene)
{
    liana__dice dice = dice_for(scene, LIANA__SYNTH_FOREGROUND);
    int blades = liana__dice_chance(&dice, 0.35) ? 1 + liana__dice_pick(&dice, 3) : 0;
    for (int i = 0; i < blades; i++) draw_blade(scene, &dice);
    /* Light from one side, shade on the other. */
    double angle = liana__dice_angle(&dice), x = cos(angle) / 2, y = sin(angle) / 2;
    double strength = liana__dice_between(&dice, 0, 0.3);
    cairo_pattern_t *pattern = cairo_pattern_create_linear(0.5 - x, 0.5 - y, 0.5 + x, 0.5 + y);
    cairo_pattern_add_color_stop_rgba(pattern, 0, 1, 1, 0.9, strength);
    cairo_pattern_add_color_stop_rgba(pattern, 0.5, 0.5, 0.5, 0.5, 0);
    cairo_pattern_add_color_stop_rgba(pattern, 1, 0, 0, 0.1, strength);
    cairo_set_source(scene->cairo, pattern);
    cairo_paint(scene->cairo);
    cairo_pattern_destroy(pattern);
}

/* One pass of a [1 2 1] filter along each axis, in place; edges repeat. `line` has room for one row of pixels. */
static void blur(uint8_t *pixels, int size, uint8_t *line)
{
    for (int axis = 0; axis < 2; axis++) {
        size_t step = axis ? (size_t)size * 3 : 3, across = axis ? 3 : (size_t)size * 3;
        for (int row = 0; row < size; row++) {
            uint8_t *start = pixels + (size_t)row * across;
            for (int i = 0; i < size; i++) memcpy(line + i * 3, start + (size_t)i * step, 3);
            for (int i = 0; i < size; i++) {
                const uint8_t *before = line + (i ? i - 1 : 0) * 3, *after = line + (i < size - 1 ? i + 1 : i) * 3;
                for (int channel = 0; channel < 3; channel++) {
                    start[(size_t)i * step + (size_t)channel] =
                        (uint8_t)((before[channel] + 2 * line[i * 3 + channel] + after[channel] + 2) / 4);
                }
            }
        }
    }
}

static uint8_t to_byte(double value)
{
    return value < 0 ? 0 : value > 255 ? 255 : (uint8_t)(value + 0.5);
}

/* Exposure, contrast and the sensor's noise. */
static void expose(liana__dice *dice, uint8_t *pixels, size_t count)
{
    double exposure = liana__dice_between(dice, 0.8, 1.2), contrast = liana__dice_between(dice, 0.75, 1.15);
    double noise = liana__dice_between(dice, 0, 14);
    for (size_t i = 0; i < count; i++) {
        double value = ((double)pixels[i] * exposure - 128) * contrast + 128;
        pixels[i] = to_byte(value + noise * (liana__dice_roll(dice) + liana__dice_roll(dice) - 1));
    }
}

static void copy_pixels(cairo_surface_t *surface, int size, uint8_t *pixels)
{
    cairo_surface_flush(surface);
    const uint8_t *rows = cairo_image_surface_get_data(surface);
    size_t stride = (size_t)cairo_image_surface_get_stride(surface);
    for (int y = 0; y < size; y++) {
        for (int x = 0; x < size; x++) {
            uint32_t word;
            memcpy(&word, rows + (size_t)y * stride + (size_t)x * 4, sizeof word);
            *pixels++ = (uint8_t)(word >> 16);
            *pixels++ = (uint8_t)(word >> 8);
            *pixels++ = (uint8_t)word;
        }
    }
}

static void draw_scene(cairo_t *cairo, const liana__flower_shape *shape, const liana__synth_address *address)
{
    drawing scene = {.cairo = cairo, .address = address};
    liana__dice colours = dice_for(&scene, LIANA__SYNTH_COLOURS), clutter = dice_for(&scene, LIANA__SYNTH_BACKGROUND);
    scene.palette = liana__palette_roll(&colours);
    draw_clutter(&scene, &clutter);
    draw_subject(&scene, shape);
    draw_foreground(&scene);
}

static liana_status photograph(cairo_surface_t *surface, const liana__flower_shape *shape,
                               const liana__synth_address *address, int image_size, uint8_t *pixels,
                               liana__error *error)
{
    uint8_t *line = malloc((size_t)image_size * 3);
    cairo_t *cairo = cairo_create(surface);
    liana_status status = LIANA_OK;
    if (line && cairo_status(cairo) == CAIRO_STATUS_SUCCESS) {
        cairo_scale(cairo, image_size, image_size);
        draw_scene(cairo, shape, address);
        copy_pixels(surface, image_size, pixels);
        liana__dice camera = liana__dice_at(address->seed, address->split, address->index, LIANA__SYNTH_CAMERA);
        /* In proportion to the picture: one pass at 96 pixels is four at 192. */
        double passes = liana__dice_chance(&camera, 0.5) ? liana__dice_between(&camera, 0, 2.5) : 0;
        passes *= (double)image_size * image_size / (96.0 * 96.0);
        for (int pass = 0; pass < (int)passes; pass++) blur(pixels, image_size, line);
        expose(&camera, pixels, (size_t)image_size * (size_t)image_size * 3);
    }
    /* cairo keeps its first failure: memory is the only one that drawing on an image can meet. */
    if (!line || cairo_status(cairo) != CAIRO_STATUS_SUCCESS) status = liana__fail_memory(error, "a drawn image");
    cairo_destroy(cairo);
    free(line);
    return status;
}

liana_status liana__synth_draw(const liana__flower_shape *shape, const liana__synth_address *address, int image_size,
                               uint8_t *pixels, liana__error *error)
{
    LIANA_TRY(liana__cairo_load(error));
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, image_size, image_size);
    liana_status status = cairo_surface_status(surface) == CAIRO_STATUS_SUCCESS
                              ? photograph(surface, shape, address, image_size, pixels, error)
                              : liana__fail_memory(error, "a drawn image");
    cairo_surface_destroy(surface);
    return status;
}
