/* The pictures of a run: grids and curves. */
#include "harness/harness.h"

#include "base/file.h"
#include "formats/image.h"
#include "report/canvas.h"
#include "report/pictures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static liana__image read_picture(const char *path)
{
    liana__error error = {0};
    char *bytes;
    size_t size;
    liana__image image = {0};
    assert_ok(liana__file_read(path, 1 << 26, &bytes, &size, &error), &error);
    assert_ok(liana__image_decode(bytes, size, NULL, &image, &error), &error);
    free(bytes);
    return image;
}

static const uint8_t *pixel_at(const liana__image *image, double x, double y)
{
    return image->pixels + ((size_t)y * (size_t)image->width + (size_t)x) * 3;
}

static bool is_green(const uint8_t *pixel)
{
    return pixel[1] > pixel[0] + 60 && pixel[1] > pixel[2] + 40;
}

static bool is_red(const uint8_t *pixel)
{
    return pixel[0] > pixel[1] + 80 && pixel[0] > pixel[2] + 80;
}

/* Three images of one colour in a row: 128 pixels each, 16 apart, from 20 on, at 1.5 pixels a unit. */
static void test_grid_shows_images_and_frames(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    static uint8_t blue[32 * 32 * 3], grey[32 * 16];
    for (int i = 0; i < 32 * 32; i++) memcpy(blue + i * 3, (uint8_t[]){20, 40, 240}, 3);
    memset(grey, 70, sizeof grey);
    const liana__grid_item items[] = {
        {blue, 32, 32, 3, "rose", "rose", 0.93, NULL, false, 0, NULL},
        {grey, 32, 16, 1, "a long name that does not fit below its picture", "tulip \xff \xc3\xb6", 0.5, NULL, false, 0,
         NULL},
        {blue, 32, 32, 3, "daisy", NULL, NAN, "a note", false, 0, NULL},
    };
    const char *path = liana__test_path("grid.png");
    assert_ok(liana__grid_write(path, items, 3, &(liana__grid_options){.columns = 3}, &error), &error);
    liana__image image = read_picture(path);
    assert_int_equal(image.width, lround(1.5 * (40 + 3 * 144 - 16)));
    static const double middle = 1.5 * (20 + 64);
    assert_memory_equal(pixel_at(&image, middle, middle), blue, 3);
    const uint8_t *tall = pixel_at(&image, middle + 1.5 * 144, middle);
    assert_compare(tall[0], ==, 70);
    assert_compare(tall[1], ==, 70);
    assert_compare(tall[2], ==, 70);
    /* The tall picture is half as wide as its cell: the rest of the cell is background. */
    assert_compare(pixel_at(&image, 1.5 * (20 + 144 + 10), middle)[0], >, 200);
    assert_memory_equal(pixel_at(&image, middle + 1.5 * 288, middle), blue, 3);
    /* Frames: 4 pixels around each picture. */
    assert_true(is_green(pixel_at(&image, 1.5 * 18, middle)));
    assert_true(is_red(pixel_at(&image, 1.5 * (144 + 18), middle)));
    const uint8_t *unknown = pixel_at(&image, 1.5 * (288 + 18), middle);
    assert_true(!is_green(unknown) && !is_red(unknown));
    /* Captions: green letters below the first, red ones below the second, not beyond the cell. */
    int64_t green = 0, red = 0, outside = 0;
    for (double y = 1.5 * 153; y < 1.5 * 190; y++) {
        for (double x = 0; x < (double)image.width; x++) {
            const uint8_t *pixel = pixel_at(&image, x, y);
            green += is_green(pixel) && x < 1.5 * 150;
            red += is_red(pixel) && x > 1.5 * 160 && x < 1.5 * 294;
            outside += is_red(pixel) && !(x > 1.5 * 160 && x < 1.5 * 294);
        }
    }
    assert_compare(green, >, 50);
    assert_compare(red, >, 50);
    assert_int_equal(outside, 0);
    liana__image_free(&image);
}

static void test_grid_refuses_what_it_cannot_draw(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    static const uint8_t pixels[4] = {0};
    liana__grid_item item = {pixels, 2, 2, 2, "rose", NULL, 0.5, NULL, false, 0, NULL};
    const char *path = liana__test_path("grid.png");
    assert_fails(liana__grid_write(path, &item, 1, NULL, &error), LIANA_INVALID_ARGUMENT, &error, "grid.png",
                 "[2, 2, 2]");
    item.channels = 1;
    assert_fails(liana__grid_write(liana__test_path("grid.gif"), &item, 1, NULL, &error), LIANA_INVALID_ARGUMENT,
                 &error, "grid.gif", ".svg");
    assert_fails(liana__grid_write(path, &item, 1, &(liana__grid_options){.cell_size = 40000}, &error),
                 LIANA_OUT_OF_RANGE, &error, "grid.png", "32767");
    assert_fails(liana__grid_write(liana__test_path("no/grid.png"), &item, 1, NULL, &error), LIANA_NOT_FOUND, &error,
                 "no/grid.png");
    assert_false(liana__file_exists(path));
    assert_ok(liana__grid_write(path, NULL, 0, &(liana__grid_options){.title = "none"}, &error), &error);
}

/* The height of the topmost pixel of the training ink (blue) or the validation ink (orange) in a column, or -1. */
static int64_t height_at(const liana__image *image, double x, bool training)
{
    /* Below the key and above the axis' numbers. */
    for (int64_t y = 130; y < image->height - 88; y++) {
        const uint8_t *pixel = pixel_at(image, x, (double)y);
        bool blue = pixel[2] > pixel[0] + 80, orange = pixel[0] > pixel[2] + 80;
        if (training ? blue : orange) return image->height - y;
    }
    return -1;
}

static void test_curves_follow_their_values(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    const double loss[] = {2.0, 1.0, 0.5, 0.25, 0.2}, validation[] = {2.5, 1.5, NAN, NAN, 1.2};
    const double accuracy[] = {0.1, 0.4, 0.7, 0.8, 0.9};
    const liana__curve_panel panels[] = {{.name = "loss", .train = loss, .validation = validation},
                                         {.name = "accuracy", .train = accuracy, .higher_is_better = true}};
    const char *path = liana__test_path("curves.png");
    assert_ok(liana__curves_write(path, NULL, panels, 2, 5, &error), &error);
    liana__image image = read_picture(path);
    /* 2 pixels a unit; the first plot is 420 units wide from 64 on, the second starts 568 further. */
    int64_t before = INT64_MAX, rising = 0;
    for (int epoch = 0; epoch < 5; epoch++) {
        double x = 2 * (64 + 105 * epoch) + (epoch == 0 ? 2 : epoch == 4 ? -2 : 0);
        int64_t now = height_at(&image, x, true), then = height_at(&image, x + 2 * 568, true);
        assert_compare(now, >, 0);
        assert_compare(now, <, before);
        assert_compare(then, >, rising);
        before = now;
        rising = then;
    }
    /* Validation lies above training, and is missing in the middle, where it has no values. */
    assert_compare(height_at(&image, 2 * 65, false), >, height_at(&image, 2 * 65, true));
    assert_int_equal(height_at(&image, 2 * (64 + 210), false), -1);
    liana__image_free(&image);
}

/* Grey pixels around a point of the first plot: `epoch` from 0, `height` the share of the plot's height from its
 * bottom. */
static int64_t count_grey(const liana__image *image, double epoch, double height)
{
    int64_t count = 0, at_x = (int64_t)(2 * (64 + 420 * epoch / 4)), at_y = (int64_t)(2 * (74 + 260 * (1 - height)));
    for (int64_t y = at_y - 8; y <= at_y + 8; y++) {
        for (int64_t x = at_x - 8; x <= at_x + 8; x++) {
            const uint8_t *pixel = image->pixels + (y * image->width + x) * 3;
            count += pixel[0] < 160 && abs(pixel[0] - pixel[2]) < 40;
        }
    }
    return count;
}

/* Whether all pixels of [left, right) x [top, bottom), in units of the picture, are the same in both, or white (`b`
 * NULL). */
static bool same_pixels(const liana__image *a, const liana__image *b, int left, int top, int right, int bottom)
{
    for (int64_t y = 2 * top; y < 2 * bottom; y++) {
        for (int64_t x = 2 * left; x < 2 * right; x++) {
            for (int c = 0; c < 3; c++) {
                const int64_t at = (y * a->width + x) * 3 + c;
                if (a->pixels[at] != (b ? b->pixels[at] : 255)) return false;
            }
        }
    }
    return true;
}

/* A name of any length covers neither the keys nor the best value, whenever that was; nor does a long number leave its
 * panel. */
static void test_names_and_numbers_of_curves_fit(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    static const char *const names[] = {
        "f1", "sparse_top_k_categorical_accuracy",
        "class_output_sparse_top_k_categorical_accuracy_of_the_second_head_with_a_very_long_name"};
    static const double values[][5] = {{-123456.5, 2, 3, 4, 5}, {5, 4, 3, 2, -1.234567e-15}, {0.1, 0.2, 0.9, 0.3, 0.2}};
    for (size_t i = 0; i < 3; i++) {
        liana__image images[3];
        for (size_t k = 0; k < 3; k++) {
            const liana__curve_panel panel = {.name = names[k], .train = values[i], .validation = values[i]};
            const liana__curve_panel panels[2] = {panel, panel};
            assert_ok(liana__curves_write(liana__test_path("long.png"), NULL, panels, 2, 5, &error), &error);
            images[k] = read_picture(liana__test_path("long.png"));
            assert_int_equal(images[k].width, 2 * (2 * 568 + 24));
        }
        /* All below the name. */
        for (size_t k = 1; k < 3; k++) assert_true(same_pixels(&images[0], &images[k], 0, 44, 2 * 568, 370));
        /* Between the panels, and at the end of the page. */
        assert_true(same_pixels(&images[2], NULL, 564, 0, 570, 378));
        assert_true(same_pixels(&images[2], NULL, 2 * 568, 0, 2 * 568 + 24, 378));
        for (size_t k = 0; k < 3; k++) liana__image_free(&images[k]);
    }
}

/* The column of the rightmost pixel with ink in the first `rows` of a picture. */
static int64_t right_end(const liana__image *image, int64_t rows)
{
    for (int64_t x = image->width - 1; x >= 0; x--) {
        for (int64_t y = 0; y < rows; y++) {
            if (image->pixels[(y * image->width + x) * 3] < 128) return x;
        }
    }
    return -1;
}

/* Titles of small pictures are as long as those of large ones: they are not cut at the plots below them. */
static void test_titles_of_small_pictures_fit(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    static const char *const labels[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    static const double counts[64] = {1};
    static const uint8_t pixels[4] = {255, 255, 255, 255};
    liana__grid_item items[8];
    for (size_t i = 0; i < 8; i++) items[i] = (liana__grid_item){pixels, 2, 2, 1, "a", NULL, 1, NULL, false, 0, NULL};
    int64_t ends[2][2];
    for (int large = 0; large < 2; large++) {
        const size_t count = large ? 8 : 2;
        const liana__class_matrix matrix = {.title = "Validation: 50 of 60 are right",
                                            .labels = labels,
                                            .classes = count,
                                            .counts = counts};
        assert_ok(liana__class_matrix_write(liana__test_path("m.png"), &matrix, &error), &error);
        liana__image image = read_picture(liana__test_path("m.png"));
        ends[0][large] = right_end(&image, 66);
        liana__image_free(&image);
        const liana__grid_options options = {.title = "Validation images: 50 of these 60 are right",
                                             .cell_size = 60,
                                             .columns = (int)count};
        assert_ok(liana__grid_write(liana__test_path("g.png"), items, count, &options, &error), &error);
        image = read_picture(liana__test_path("g.png"));
        ends[1][large] = right_end(&image, 66);
        liana__image_free(&image);
    }
    assert_compare(ends[0][0], >, 200);
    assert_compare(ends[0][0], ==, ends[0][1]);
    assert_compare(ends[1][0], >, 300);
    assert_compare(ends[1][0], ==, ends[1][1]);
}

/* Decisions lie where they were made, at their measured values. */
static void test_decisions_are_drawn(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    const double loss[] = {1, 1, 0, 0, 0};
    const liana__curve_mark marks[] = {{1.5, 0.5, true}, {3.5, 0.7, false}, {4.5, NAN, false}};
    liana__curve_panel panel = {.name = "loss", .train = loss};
    const double places[][2] = {{0.5, 0.5}, {2.5, 0.7}, {3.5, 1}};
    for (int with = 0; with < 2; with++) {
        panel.marks = with ? marks : NULL;
        panel.num_marks = with ? 3 : 0;
        assert_ok(liana__curves_write(liana__test_path("marks.png"), NULL, &panel, 1, 5, &error), &error);
        liana__image image = read_picture(liana__test_path("marks.png"));
        for (size_t i = 0; i < 3; i++) {
            int64_t grey = count_grey(&image, places[i][0], places[i][1]);
            if (with)
                assert_compare(grey, >=, 12, i);
            else
                assert_compare(grey, <, 12, i);
        }
        liana__image_free(&image);
    }
}

static void test_curves_take_odd_values(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    static const double cases[][3] = {{NAN, NAN, NAN},
                                      {1, 1, 1},
                                      {0, 0, 0},
                                      {1e300, -1e300, 1e299},
                                      {INFINITY, 1, 2},
                                      {1e-12, 2e-12, 3e-12},
                                      {123456789, 123456790, 123456791}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const liana__curve_panel panel = {.name = "loss", .train = cases[i], .validation = cases[i]};
        for (size_t num_epochs = 0; num_epochs <= 3; num_epochs++) {
            assert_ok(liana__curves_write(liana__test_path("odd.png"), "\xff", &panel, 1, num_epochs, &error), &error);
            assert_ok(liana__curves_write(liana__test_path("odd.svg"), "t", &panel, 1, num_epochs, &error), &error);
        }
    }
    char *svg;
    size_t size;
    assert_ok(liana__file_read(liana__test_path("odd.svg"), 1 << 24, &svg, &size, &error), &error);
    assert_says(svg, "<svg");
    assert_says(svg, "</svg>");
    free(svg);
    assert_fails(liana__curves_write(liana__test_path("a.png"), NULL, NULL, 0, 1, &error), LIANA_INVALID_ARGUMENT,
                 &error, "a.png", "0 panels");
}

/* Width and height that an SVG says of itself. */
static void read_size(const char *path, double *width, double *height)
{
    char *svg;
    size_t size;
    liana__error error = {0};
    assert_ok(liana__file_read(path, 1 << 24, &svg, &size, &error), &error);
    const char *w = strstr(svg, "width=\""), *h = strstr(svg, "height=\"");
    assert_true(w && h);
    *width = strtod(w + 7, NULL);
    *height = strtod(h + 8, NULL);
    free(svg);
}

/* Many panels go into rows: two of two, then rows of three. */
static void test_panels_stand_in_rows(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    static const struct {
        size_t count;
        int columns, rows;
    } cases[] = {{1, 1, 1}, {2, 2, 1}, {3, 3, 1}, {4, 2, 2}, {5, 3, 2}, {7, 3, 3}, {25, 3, 9}};
    static const double values[] = {0.5, 0.4, 0.3};
    liana__curve_panel panels[25];
    for (size_t i = 0; i < 25; i++) panels[i] = (liana__curve_panel){.name = "loss", .train = values};
    double margin = 0, width = 0, height = 0, wide, high;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = liana__test_path("rows.svg");
        assert_ok(liana__curves_write(path, NULL, panels, cases[i].count, 3, &error), &error);
        read_size(path, &wide, &high);
        if (i == 0) width = wide, height = high;
        if (i == 1) margin = 2 * width - wide;
        if (i == 0) continue;
        assert_near(wide, cases[i].columns * (width - margin) + margin, 2, i);
        assert_near(high, cases[i].rows * height, 2, i);
    }
}

static void test_axis_steps_are_round(void **state)
{
    (void)state;
    static const double cases[][3] = {{0, 1, 0.2}, {0, 2.3, 0.5}, {0.1, 0.9, 0.2}, {1, 30, 5}, {0, 0.007, 0.001}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_near(liana__axis_step(cases[i][0], cases[i][1], i == 3 ? 6 : 5), cases[i][2], 1e-12, i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grid_shows_images_and_frames),
        cmocka_unit_test(test_grid_refuses_what_it_cannot_draw),
        cmocka_unit_test(test_names_and_numbers_of_curves_fit),
        cmocka_unit_test(test_titles_of_small_pictures_fit),
        cmocka_unit_test(test_decisions_are_drawn),
        cmocka_unit_test(test_curves_follow_their_values),
        cmocka_unit_test(test_curves_take_odd_values),
        cmocka_unit_test(test_axis_steps_are_round),
        cmocka_unit_test(test_panels_stand_in_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
