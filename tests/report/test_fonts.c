/* Characters that the usual font lacks, with fonts of the test's own choice: DejaVu, of which Sans Mono is the usual
 * one here. It has no Georgian capitals, which Sans has; none of them has Chinese. */
#include "harness/harness.h"

#include "report/canvas.h"

#include <stdlib.h>

#define FONTS "/usr/share/fonts/truetype/dejavu"

static const char GEORGIAN[] = "\xe1\x82\xa0\xe1\x82\xa1", CHINESE[] = "\xe7\x8e\xab\xe7\x91\xb0";

static const liana__label label = {.size = 20, .ink = {0, 0, 0}};

static void begin(liana__canvas *canvas, const char *path)
{
    liana__error error = {0};
    assert_ok(liana__canvas_begin(canvas, path, 200, 40, 1, &error), &error);
}

static void finish(liana__canvas *canvas, const char *path)
{
    liana__error error = {0};
    assert_ok(liana__canvas_finish(canvas, path, &error), &error);
}

static bool same_files(const char *a, const char *b)
{
    char command[600];
    snprintf(command, sizeof command, "cmp -s '%s' '%s'", a, b);
    return system(command) == 0;
}

/* The same picture as cairo alone makes, told which font has what. */
static void test_another_font_steps_in(void **state)
{
    (void)state;
    liana__canvas canvas;
    const char *ours = liana__test_path("ours.png"), *theirs = liana__test_path("theirs.png"),
               *boxes = liana__test_path("boxes.png");
    char text[64];
    snprintf(text, sizeof text, "a%sb", GEORGIAN);
    begin(&canvas, ours);
    double width = liana__canvas_text(&canvas, 10, 30, &label, text);
    finish(&canvas, ours);
    for (int with_sans = 0; with_sans < 2; with_sans++) {
        const char *path = with_sans ? theirs : boxes;
        begin(&canvas, path);
        static const char *const pieces[] = {"a", GEORGIAN, "b"};
        cairo_set_source_rgb(canvas.cairo, 0, 0, 0);
        cairo_set_font_size(canvas.cairo, 20);
        cairo_move_to(canvas.cairo, 10, 30);
        double sum = 0;
        for (int i = 0; i < 3; i++) {
            cairo_text_extents_t extents;
            cairo_font_face_t *face =
                cairo_toy_font_face_create(with_sans && i == 1 ? "DejaVu Sans" : "DejaVu Sans Mono",
                                           CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
            cairo_set_font_face(canvas.cairo, face);
            cairo_font_face_destroy(face);
            cairo_text_extents(canvas.cairo, pieces[i], &extents);
            sum += extents.x_advance;
            cairo_show_text(canvas.cairo, pieces[i]);
        }
        if (with_sans) {
            assert_compare(sum, >, width - 0.01);
            assert_compare(sum, <, width + 0.01);
        }
        finish(&canvas, path);
    }
    assert_true(same_files(ours, theirs));
    assert_false(same_files(ours, boxes));
}

static void test_what_no_font_has_is_said(void **state)
{
    (void)state;
    char note[512];
    const char *names[] = {"rose", GEORGIAN, "tulip \xff", CHINESE};
    liana__fonts_note(names, 3, note, sizeof note);
    assert_string_equal(note, "");
    liana__fonts_note(names, 4, note, sizeof note);
    assert_says(note, CHINESE);
    assert_says(note, "fonts-noto-cjk");
    /* Boxes are drawn, also where the text is cut. */
    liana__canvas canvas;
    liana__label narrow = label;
    narrow.max_width = 30;
    begin(&canvas, liana__test_path("boxes.png"));
    assert_compare(liana__canvas_text(&canvas, 10, 30, &label, CHINESE), >, 0);
    assert_compare(liana__canvas_text(&canvas, 10, 30, &narrow, "a \xe1\x82\xa0 long \xe7\x8e\xab text"), <=, 30);
    finish(&canvas, liana__test_path("boxes.png"));
}

/* Before the first look at fonts. */
static int choose_fonts(void **state)
{
    (void)state;
    char config[1024];
    liana__test_folder();
    int length = snprintf(config, sizeof config,
                          "<?xml version=\"1.0\"?><fontconfig><dir>" FONTS "</dir><cachedir>%s</cachedir>"
                          "<alias binding=\"strong\"><family>sans-serif</family><prefer><family>DejaVu Sans Mono"
                          "</family></prefer></alias></fontconfig>",
                          liana__test_path("fonts"));
    return setenv("FONTCONFIG_FILE", liana__test_write("fonts.conf", config, (size_t)length), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_another_font_steps_in),
        cmocka_unit_test(test_what_no_font_has_is_said),
    };
    return cmocka_run_group_tests(tests, choose_fonts, NULL);
}
