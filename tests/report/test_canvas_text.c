/* Text in pictures: its order and its letters, against pictures of single letters in the right places, and against
 * what HarfBuzz's command says of the same fonts. The fonts are of the test's own choice: DejaVu, of which Sans Mono is
 * the usual one here, since it lacks Georgian capitals and Hebrew, which Sans has; none of them has Chinese. */
#include "harness/peers.h"
#include "harness/text_files.h"

#include "base/text.h"
#include "report/canvas.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define DEJAVU "/usr/share/fonts/truetype/dejavu/"
#define NOTO "/usr/share/fonts/truetype/noto/"
#define MONO DEJAVU "DejaVuSansMono.ttf"
#define SANS DEJAVU "DejaVuSans.ttf"
#define DEVANAGARI NOTO "NotoSansDevanagari-Regular.ttf"
#define THAI NOTO "NotoSansThai-Regular.ttf"

static const char GEORGIAN[] = "\u10a0\u10a1", CHINESE[] = "\u73ab\u7470";
static const char *const fonts[] = {MONO, SANS, DEVANAGARI, THAI};

enum { LEFT = 10, BASE = 30 };
static const liana__label label = {.size = 20, .ink = {0, 0, 0}};

static void begin(liana__canvas *canvas, const char *path)
{
    liana__error error = {0};
    assert_ok(liana__canvas_begin(canvas, path, 400, 50, 1, &error), &error);
}

static void finish(liana__canvas *canvas, const char *path)
{
    liana__error error = {0};
    assert_ok(liana__canvas_finish(canvas, path, &error), &error);
}

/* Draws the texts one after the other, from left to right, each on its own. Returns the width of all. */
static double draw(const char *path, const liana__label *how, const char *const *texts)
{
    liana__canvas canvas;
    double x = LEFT;
    begin(&canvas, path);
    for (; *texts; texts++) x += liana__canvas_text(&canvas, x, BASE, how, *texts);
    finish(&canvas, path);
    return x - LEFT;
}

static bool same_pictures(const char *const *ours, const char *const *theirs)
{
    char command[1200];
    const char *paths[2] = {liana__test_path("ours.png"), liana__test_path("theirs.png")};
    const double widths[2] = {draw(paths[0], &label, ours), draw(paths[1], &label, theirs)};
    snprintf(command, sizeof command, "cmp -s '%s' '%s'", paths[0], paths[1]);
    return fabs(widths[0] - widths[1]) < 0.01 && system(command) == 0;
}

#define TEXTS(...)        \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }

/* A single letter has no order, so these pictures are right without any rule. */
static void test_hebrew_reads_from_right_to_left(void **state)
{
    (void)state;
    assert_true(same_pictures(TEXTS("\u05d0\u05d1\u05d2"), TEXTS("\u05d2", "\u05d1", "\u05d0")));
    assert_false(same_pictures(TEXTS("\u05d0\u05d1\u05d2"), TEXTS("\u05d0", "\u05d1", "\u05d2")));
    assert_true(same_pictures(TEXTS("no \u05d0\u05d1"), TEXTS("no", " ", "\u05d1", "\u05d0")));
}

/* The outlines of the glyphs of an SVG picture, in the order of their first use; the caller frees them. */
static char *outlines_of(const char *const *texts)
{
    draw(liana__test_path("outlines.svg"), &label, texts);
    char *svg = liana__test_read_text("outlines.svg"), *begin = strstr(svg, "<defs>"), *end = strstr(svg, "</defs>");
    assert_non_null(begin);
    assert_non_null(end);
    *end = 0;
    memmove(svg, begin, strlen(begin) + 1);
    return svg;
}

/* Each form of an Arabic letter also has a code of its own, which is drawn as it is. (Pixels where letters touch depend
 * on whether they are drawn together.) */
static void test_arabic_letters_join(void **state)
{
    (void)state;
    static const char word[] = "\u0633\u0644\u0645", meem_final[] = "\ufee2", lam_medial[] = "\ufee0",
                      seen_initial[] = "\ufeb3";
    char *joined = outlines_of(TEXTS(word)), *forms = outlines_of(TEXTS(meem_final, lam_medial, seen_initial)),
         *single = outlines_of(TEXTS("\u0645", "\u0644", "\u0633"));
    assert_string_equal(joined, forms);
    assert_string_not_equal(joined, single);
    free(joined);
    free(forms);
    free(single);
}

static void test_marks_join_their_letter(void **state)
{
    (void)state;
    assert_true(same_pictures(TEXTS("e\u0301"), TEXTS("\u00e9")));
    assert_true(same_pictures(TEXTS("A\u030a!"), TEXTS("\u00c5", "!")));
}

/* A number after a Hebrew name would jump to its left. */
static void test_a_name_leaves_its_line_alone(void **state)
{
    (void)state;
    liana__arena arena = {0};
    static const char name[] = "\u05d0\u05d1";
    char line[64];
    snprintf(line, sizeof line, "is %s (7)", name);
    assert_true(same_pictures(TEXTS(line), TEXTS("is ", "(7) ", "\u05d1", "\u05d0")));
    snprintf(line, sizeof line, "is %s (7)", liana__isolate(&arena, name));
    assert_true(same_pictures(TEXTS(line), TEXTS("is ", "\u05d1", "\u05d0", " (7)")));
    snprintf(line, sizeof line, "%s (7)", liana__isolate(&arena, name));
    assert_true(same_pictures(TEXTS(line), TEXTS("\u05d1", "\u05d0", " (7)")));
    liana__arena_free(&arena);
}

static void test_isolated_names(void **state)
{
    (void)state;
    liana__arena arena = {0};
    static const char *const plain[] = {"", "rose", "caf\u00e9 \u73ab \U0001f339", "\xff"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        assert_ptr_equal(liana__isolate(&arena, plain[i]), plain[i]);
    }
    assert_null(liana__isolate(&arena, NULL));
    assert_string_equal(liana__isolate(&arena, "\u0631"), "\u2068\u0631\u2069");
    assert_string_equal(liana__isolate(&arena, "a\u202eb"), "\u2068a???b\u2069");
    assert_string_equal(liana__isolate(&arena, "\u05d0\u2069\u202e"), "\u2068\u05d0??????\u2069");
    assert_string_equal(liana__isolate(&arena, "\U0001e900\xff"), "\u2068\U0001e900?\u2069");
    liana__arena_free(&arena);
}

/* U+202E writes what follows from right to left, U+202D the other way around. */
static void test_no_name_turns_the_rest_of_a_line(void **state)
{
    (void)state;
    assert_true(same_pictures(TEXTS("a\u202egnp.exe"), TEXTS("a?gnp.exe")));
    assert_true(same_pictures(TEXTS("a\u2067b\u2066c\u202a\u202b\u202dd"), TEXTS("a?b?c???d")));
    assert_true(same_pictures(TEXTS("a\nb\x7f\xff"), TEXTS("a?b??")));
}

/* ---- against HarfBuzz's command ---- */

typedef struct shaped {
    const char *text;
    const char *font;
    const char *options; /* the command knows no bidirectional text */
} shaped;

enum { MOST_GLYPHS = 64 };
typedef struct glyphs {
    double at[MOST_GLYPHS]; /* from the start of the text */
    size_t count;
    double width;
} glyphs;

/* The units in an em of all of these fonts. */
static double em_of(const char *font)
{
    return strncmp(font, NOTO, strlen(NOTO)) == 0 ? 1000 : 2048;
}

static bool ask_harfbuzz(const shaped *what, glyphs *found)
{
    char command[1024];
    snprintf(command, sizeof command, "hb-shape -O json --no-glyph-names %s '%s' '%s'", what->options, what->font,
             what->text);
    *found = (glyphs){0};
    FILE *said = popen(command, "r");
    assert_non_null(said);
    char line[8192] = "";
    const bool any = fgets(line, sizeof line, said) != NULL;
    if (pclose(said) != 0 || !any) return false;
    const double unit = label.size / em_of(what->font);
    double pen = 0;
    for (const char *at = line; (at = strstr(at, "\"g\":")); at++) {
        const char *dx = strstr(at, "\"dx\":"), *ax = strstr(at, "\"ax\":");
        assert_non_null(dx);
        assert_non_null(ax);
        assert_compare(atoi(at + 4), >, 0);
        found->at[found->count++] = pen + unit * atof(dx + 5);
        pen += unit * atof(ax + 5);
        assert_compare(found->count, <, MOST_GLYPHS);
    }
    found->width = pen;
    return found->count > 0;
}

/* The glyphs of an SVG picture, as cairo writes them. */
static void find_glyphs(const char *text, glyphs *found)
{
    const char *path = liana__test_path("shaped.svg");
    *found = (glyphs){.width = draw(path, &label, TEXTS(text))};
    char *svg = liana__test_read_text("shaped.svg");
    for (const char *at = svg; (at = strstr(at, "<use ")); at++) {
        const char *x = strstr(at, " x=\"");
        assert_non_null(x);
        found->at[found->count++] = atof(x + 4) - LEFT;
        assert_compare(found->count, <, MOST_GLYPHS);
    }
    free(svg);
}

static void compare(const shaped *what)
{
    glyphs ours, theirs;
    assert_true(ask_harfbuzz(what, &theirs));
    find_glyphs(what->text, &ours);
    assert_int_equal(ours.count, theirs.count);
    assert_near(ours.width, theirs.width, 0.05);
    for (size_t i = 0; i < ours.count; i++) assert_near(ours.at[i], theirs.at[i], 0.05);
}

static void need(const char *font)
{
    if (system("hb-shape --version >/dev/null 2>&1") != 0) liana__test_skip("hb-shape is missing (libharfbuzz-bin)");
    if (access(font, R_OK) != 0) liana__test_skip("the font is missing: %s", font);
}

static void test_harfbuzz_says_the_same(void **state)
{
    (void)state;
    need(SANS);
    static const shaped samples[] = {
        {"rose", MONO, ""},
        {"\u10a0\u10a1", SANS, ""},
        {"\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd", SANS, ""}, /* with points */
        {"\u0633\u0644\u0627\u0645", MONO, ""},                   /* with a ligature where the font has it */
    };
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) compare(&samples[i]);
}

/* A vowel sign that stands before its consonant, a conjunct, and a reph that moves behind its syllable. */
static void test_devanagari(void **state)
{
    (void)state;
    need(DEVANAGARI);
    compare(&(shaped){"\u0915\u093f", DEVANAGARI, ""});
    compare(&(shaped){"\u0928\u092e\u0938\u094d\u0924\u0947", DEVANAGARI, ""});
    compare(&(shaped){"\u0915\u0930\u094d\u092e", DEVANAGARI, ""});
}

/* Two marks above one another. */
static void test_thai(void **state)
{
    (void)state;
    need(THAI);
    compare(&(shaped){"\u0e17\u0e35\u0e48\u0e19\u0e49\u0e33", THAI, ""});
}

/* ---- fonts and places ---- */

static void test_what_no_font_has_is_said(void **state)
{
    (void)state;
    char note[512];
    const char *names[] = {"rose", GEORGIAN, "tulip \xff", "\u202e\n", CHINESE};
    liana__fonts_note(names, 4, note, sizeof note);
    assert_string_equal(note, "");
    liana__fonts_note(names, 5, note, sizeof note);
    assert_says(note, CHINESE);
    assert_says(note, "fonts-noto-cjk");
    /* Boxes are drawn. */
    assert_compare(draw(liana__test_path("boxes.png"), &label, TEXTS(CHINESE)), >, 0);
}

/* Without any font the command draws boxes, and ends as usual. */
static void test_no_fonts_at_all(void **state)
{
    (void)state;
    char config[1024], command[2400];
    snprintf(config, sizeof config, "<fontconfig><dir>%s</dir></fontconfig>", liana__test_path("none"));
    const char *none = liana__test_write("none.conf", config, strlen(config));
    const char *model =
        "model: {layers: [Flatten, Dense: {units: 2}]}\ndata: {image_size: [4, 4], channels: 3, num_classes: 2}\n";
    const char *yaml = liana__test_write("tiny.yaml", model, strlen(model));
    const char *picture = liana__test_path("model.png");
    snprintf(command, sizeof command, "FONTCONFIG_FILE='%s' '%s' summary '%s' --picture '%s' >'%s' 2>&1", none,
             LIANA_COMMAND, yaml, picture, liana__test_path("log"));
    assert_int_equal(system(command), 0);
    assert_int_equal(access(picture, R_OK), 0);
}

static void test_long_texts_end_in_an_ellipsis(void **state)
{
    (void)state;
    static const char *const texts[] = {"a \u10a0 long \u73ab text",
                                        "\u05d0\u05d1\u05d2\u05d3\u05d4\u05d5\u05d6\u05d7\u05d8",
                                        "\u0633\u0644\u0645 \u0633\u0644\u0645 \u0633\u0644\u0645"};
    const char *path = liana__test_path("cut.png");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (double limit = 30; limit < 70; limit += 7) {
            liana__label narrow = label;
            narrow.max_width = limit;
            const double width = draw(path, &narrow, TEXTS(texts[i]));
            assert_compare(width, <=, limit);
            assert_compare(width, >, limit - 25);
        }
        assert_compare(draw(path, &label, TEXTS(texts[i])), >, 70);
    }
    /* The end of Hebrew is at its left. */
    liana__label narrow = label;
    liana__canvas canvas;
    const char *paths[2] = {liana__test_path("ours.png"), liana__test_path("theirs.png")};
    begin(&canvas, paths[1]);
    const double all = liana__canvas_text(&canvas, LEFT, BASE, &label, "\u05d0\u05d1\u05d2\u05d3");
    finish(&canvas, paths[1]);
    narrow.max_width = all - 1;
    draw(paths[0], &narrow, TEXTS("\u05d0\u05d1\u05d2\u05d3"));
    draw(paths[1], &label, TEXTS("\u2026", "\u05d1", "\u05d0"));
    char command[1200];
    snprintf(command, sizeof command, "cmp -s '%s' '%s'", paths[0], paths[1]);
    assert_int_equal(system(command), 0);
}

/* A picture of two pixels to the unit has twice as many, and the same widths but for hinting. */
static void test_scales_and_alignment(void **state)
{
    (void)state;
    liana__error error = {0};
    static const double scales[] = {1, 2, 3};
    double widths[4] = {0};
    for (int i = 0; i < 4; i++) {
        liana__canvas canvas;
        const char *path = liana__test_path(i < 3 ? "scaled.png" : "scaled.svg");
        assert_ok(liana__canvas_begin(&canvas, path, 300, 60, i < 3 ? scales[i] : 1, &error), &error);
        widths[i] = liana__canvas_text(&canvas, LEFT, BASE, &label, "hundred roses");
        finish(&canvas, path);
        assert_near(widths[i], widths[0], 7);
    }
    char command[1200];
    for (int i = 0; i < 2; i++) {
        liana__label placed = label;
        placed.align = i;
        liana__canvas canvas;
        begin(&canvas, liana__test_path(i ? "end.png" : "start.png"));
        liana__canvas_text(&canvas, LEFT + i * widths[0], BASE, &placed, "hundred roses");
        finish(&canvas, liana__test_path(i ? "end.png" : "start.png"));
    }
    snprintf(command, sizeof command, "cmp -s '%s' '%s'", liana__test_path("end.png"), liana__test_path("start.png"));
    assert_int_equal(system(command), 0);
}

/* Before the first look at fonts. */
static int choose_fonts(void **state)
{
    (void)state;
    char config[1024], folder[512];
    snprintf(folder, sizeof folder, "%s", liana__test_folder());
    for (size_t i = 0; i < sizeof fonts / sizeof *fonts; i++) {
        char link[700];
        snprintf(link, sizeof link, "%s/%s", folder, strrchr(fonts[i], '/') + 1);
        if (access(fonts[i], R_OK) == 0 && symlink(fonts[i], link) != 0) return -1;
    }
    int length = snprintf(config, sizeof config,
                          "<?xml version=\"1.0\"?><fontconfig><dir>%s</dir><cachedir>%s/fonts</cachedir>"
                          "<alias binding=\"strong\"><family>sans-serif</family><prefer><family>DejaVu Sans Mono"
                          "</family></prefer></alias></fontconfig>",
                          folder, folder);
    return setenv("FONTCONFIG_FILE", liana__test_write("fonts.conf", config, (size_t)length), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hebrew_reads_from_right_to_left),
        cmocka_unit_test(test_arabic_letters_join),
        cmocka_unit_test(test_marks_join_their_letter),
        cmocka_unit_test(test_a_name_leaves_its_line_alone),
        cmocka_unit_test(test_isolated_names),
        cmocka_unit_test(test_no_name_turns_the_rest_of_a_line),
        cmocka_unit_test(test_harfbuzz_says_the_same),
        cmocka_unit_test(test_devanagari),
        cmocka_unit_test(test_thai),
        cmocka_unit_test(test_what_no_font_has_is_said),
        cmocka_unit_test(test_no_fonts_at_all),
        cmocka_unit_test(test_long_texts_end_in_an_ellipsis),
        cmocka_unit_test(test_scales_and_alignment),
    };
    return cmocka_run_group_tests(tests, choose_fonts, NULL);
}
