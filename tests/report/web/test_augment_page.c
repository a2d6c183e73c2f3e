/* liana data --html: the page has the images, the options of all stages and nothing that ends its scripts; in a browser
 * its pixels are those of training, to the byte, and it is usable by mouse, touch, keys and a screen reader. */
#include "harness/peers.h"

#include "base/context.h"
#include "base/file.h"
#include "data/augment/augment.h"
#include "data/augment/matrix.h"
#include "formats/image.h"
#include "formats/json.h"
#include "formats/yaml.h"
#include "harness/command_run.h"
#include "harness/text_files.h"
#include "report/web/base64.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEIGHT = 36, WIDTH = 48, PIXELS = HEIGHT * WIDTH * 3, NUM_CLASSES = 4, IN_CLASS = 2, SEED = 7, NUM_EPOCHS = 3 };
enum { NUM_IMAGES = NUM_CLASSES * IN_CLASS, NUM_SHOWN = 4 };

/* Names that could end a script, an attribute or an element, and others that are not English. */
static const char *const class_names[NUM_CLASSES] = {
    "<!--<script>alert(1)<\xE2\x88\x95script>",
    "\"quoted\" & 'so'",
    "\xF0\x9F\x8C\xB9 \xE7\x8E\xAB\xE7\x91\xB0",
    "\xD9\x88\xD8\xB1\xD8\xAF\xD8\xA9",
};

#define LIST "[random_perspective, random_brightness, {cutout: {probability: 1, fill: 128}}, random_flip]"

static liana__arena arena;
static char config_path[512], page_path[512];

static void draw_image(int number, uint8_t *pixels)
{
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            *pixels++ = (uint8_t)(30 * number + 4 * x);
            *pixels++ = (uint8_t)(7 * y + (x / 8 + y / 8) % 2 * 60);
            *pixels++ = (uint8_t)(x * y / 8 + 20 * number);
        }
    }
}

/* A folder for each class, with colour images of the model's size, and the page of them. */
static void write_data(void)
{
    liana__error error = {0};
    uint8_t pixels[PIXELS];
    char name[256];
    liana__test_folder();
    for (int i = 0; i < NUM_IMAGES; i++) {
        liana__text png = {0};
        draw_image(i, pixels);
        snprintf(name, sizeof name, "data/%s", class_names[i / IN_CLASS]);
        assert_ok(liana__folder_make(liana__test_path(name), &error), &error);
        assert_ok(liana__png_encode(pixels, HEIGHT, WIDTH, 3, &png, &error), &error);
        snprintf(name, sizeof name, "data/%s/%d.png", class_names[i / IN_CLASS], i);
        liana__test_write(name, png.data, png.length);
        liana__text_free(&png);
    }
    static const char config[] = "data: {train: data}\n"
                                 "model: {layers: [Flatten, Dense: {units: 4, activation: softmax}]}\n"
                                 "train: {epochs: 1, seed: 7, optimizer: SGD}\n";
    snprintf(config_path, sizeof config_path, "%s", liana__test_write("config.yaml", config, sizeof config - 1));
    snprintf(page_path, sizeof page_path, "%s", liana__test_path("page.html"));
}

static void need_webassembly(void)
{
    if (!*LIANA_WASM_MODULE) liana__test_skip("liana was built without WebAssembly (LIANA_WASM)");
}

static void write_page(const char *list)
{
    char augment[1024];
    snprintf(augment, sizeof augment, "data.augment=%s", list);
    write_data();
    liana__test_result got = liana__test_command("data", config_path, augment, "--html", page_path);
    assert_says(got.out, "page.html");
    assert_code(got, 0);
}

/* The data of the page that was written. `page` is malloc'ed. */
static const liana__value *read_page(char **page)
{
    static const char begin[] = "<script type=\"application/json\" id=\"data\">";
    liana__error error = {0};
    liana__value *data;
    size_t size;
    assert_ok(liana__file_read(page_path, 64 << 20, page, &size, &error), &error);
    const char *json = strstr(*page, begin), *end = json ? strstr(json, "</script>") : NULL;
    assert_non_null(end);
    json += sizeof begin - 1;
    assert_ok(liana__json_parse(json, (size_t)(end - json), "the page", &arena, &data, &error), &error);
    return data;
}

static const char *text_of(const liana__value *map, const char *key)
{
    const liana__value *value = liana__value_get(map, key);
    assert_non_null(value);
    assert_int_equal(value->kind, LIANA__VALUE_STRING);
    return value->string;
}

static int64_t number_of(const liana__value *map, const char *key)
{
    const liana__value *value = liana__value_get(map, key);
    assert_non_null(value);
    return value->integer;
}

static void test_the_page_has_images_and_options(void **state)
{
    (void)state;
    need_webassembly();
    write_page(LIST);
    char *page;
    const liana__value *data = read_page(&page);
    assert_int_equal(number_of(data, "height"), HEIGHT);
    assert_int_equal(number_of(data, "inputWidth"), WIDTH);
    assert_string_equal(text_of(data, "seed"), "7");

    const liana__value *images = liana__value_get(data, "images");
    assert_int_equal(images->count, NUM_IMAGES);
    bool seen[NUM_IMAGES] = {false};
    for (size_t i = 0; i < images->count; i++) {
        uint8_t found[PIXELS], expected[PIXELS];
        assert_true(liana__test_base64_read(text_of(images->items[i], "pixels"), found, PIXELS));
        int number = 0;
        while (number < NUM_IMAGES) {
            draw_image(number, expected);
            if (memcmp(found, expected, PIXELS) == 0) break;
            number++;
        }
        assert_compare(number, <, NUM_IMAGES);
        assert_false(seen[number]);
        seen[number] = true;
        assert_string_equal(text_of(images->items[i], "label"), class_names[number / IN_CLASS]);
    }

    /* Every stage, with the rows of its table. */
    const liana__value *stages = liana__value_get(data, "stages");
    const liana_augmentation_type *kind;
    size_t count = 0;
    for (; (kind = liana__part_at(NULL, &liana__augmentation_kind, count)); count++) {
        const liana__value *stage = stages->items[count], *options = liana__value_get(stage, "options");
        assert_string_equal(text_of(stage, "name"), kind->part.name);
        assert_int_equal(options->count, kind->part.options.count);
        for (size_t i = 0; i < options->count; i++) {
            assert_string_equal(text_of(options->items[i], "name"), kind->part.options.items[i].name);
            assert_string_equal(text_of(options->items[i], "doc"), kind->part.options.items[i].doc);
        }
        bool is_jpeg = kind == &liana__augmentation_random_jpeg_quality;
        assert_int_equal(*text_of(stage, "missing") != 0, is_jpeg);
    }
    assert_int_equal(stages->count, count);
    const liana__value *list = liana__value_get(data, "list");
    assert_int_equal(list->count, 4);
    assert_string_equal(text_of(list->items[2], "name"), "cutout");
    assert_near(liana__value_get(liana__value_get(list->items[2], "options"), "fill")->number, 128, 0);
    free(page);
}

/* It asks nobody for anything, and no name ends what it stands in. */
static void test_the_page_is_one_file_without_openings(void **state)
{
    (void)state;
    need_webassembly();
    write_page("[random_flip]");
    char *page;
    (void)read_page(&page);
    static const char *const never[] = {"http://", "https://", " src=", " href=", "<script>alert", "<!--<"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) assert_never_says(page, never[i]);
    assert_says(page, "\\u003c!--\\u003cscript>alert(1)");
    /* Three scripts begin and end: the data, the module and the code. */
    size_t begins = 0, ends = 0;
    for (const char *at = page; (at = strstr(at, "<script")); at++) begins++;
    for (const char *at = page; (at = strstr(at, "</script")); at++) ends++;
    assert_int_equal(begins, 3);
    assert_int_equal(ends, 3);
    free(page);
}

static void test_what_cannot_be_a_page_is_refused(void **state)
{
    (void)state;
    write_data();
    if (!*LIANA_WASM_MODULE) {
        assert_refused(liana__test_command("data", config_path, "--html", page_path), 1, "page.html", "WebAssembly",
                       "wasi-libc");
        return;
    }
    static const char table[] = "a,b,label\n1,2,x\n3,4,y\n5,6,x\n7,8,y\n";
    liana__test_write("table.csv", table, sizeof table - 1);
    static const char config[] = "data: {train: {paths: table.csv, kind: table}}\n"
                                 "model: {layers: [Dense: {units: 2, activation: softmax}]}\n"
                                 "train: {epochs: 1, optimizer: SGD}\n";
    const char *path = liana__test_write("table.yaml", config, sizeof config - 1);
    assert_refused(liana__test_command("data", path, "--html", page_path), 2, "page.html",
                   "the training data have none");
    assert_refused(liana__test_command("data", config_path, "--html", liana__test_path("none/page.html")), 1, "none");
}

/* One bad image, then nothing but bad ones. */
static void test_bad_images_are_left_out_where_the_configuration_says_so(void **state)
{
    (void)state;
    static const char bad[] = "no image";
    const char *skips = "data.on_bad_record=skip";
    char name[256], *page;
    need_webassembly();
    write_data();
    snprintf(name, sizeof name, "data/%s/0.png", class_names[0]);
    liana__test_write(name, bad, sizeof bad - 1);
    assert_refused(liana__test_command("data", config_path, "--html", page_path), 1, "0.png");
    assert_code(liana__test_command("data", config_path, skips, "--html", page_path), 0);
    const liana__value *images = liana__value_get(read_page(&page), "images");
    assert_int_equal(images->count, NUM_IMAGES - 1);
    free(page);
    for (int i = 1; i < NUM_IMAGES; i++) {
        snprintf(name, sizeof name, "data/%s/%d.png", class_names[i / IN_CLASS], i);
        liana__test_write(name, bad, sizeof bad - 1);
    }
    assert_refused(liana__test_command("data", config_path, skips, "--html", page_path), 1, "not an image");
}

/* ---- in a browser ---- */

static void add_draw(const liana__augment *augment, const uint8_t *src, uint64_t epoch, uint64_t position,
                     liana__value *list)
{
    liana__error error = {0};
    uint8_t dst[PIXELS];
    void *scratch = liana__allocate_aligned(liana__augment_scratch_size(augment));
    liana_example_address address = {.seed = SEED, .epoch = epoch, .position = position};
    assert_ok(liana__augment_apply(augment, &address, src, dst, scratch, &error), &error);
    liana__value_add(&arena, list, liana__test_base64(&arena, dst, PIXELS));
    free(scratch);
}

static liana__augment *make_list(liana_context *context, const char *text)
{
    liana__error error = {0};
    liana__augment *augment;
    liana__value *list;
    assert_ok(liana__yaml_parse(text, strlen(text), "list", &arena, &list, &error), &error);
    assert_ok(liana__augment_create(context, list, "augment", &(liana_image_shape){HEIGHT, WIDTH, 3}, &augment, &error),
              &error);
    return augment;
}

/* What training gives for the addresses that the page shows: `grid` of the list, in the order of its pictures;
 * `perspective` of three random draws; `lighter` of the list after the brightness is moved; `corner` of the upper left
 * corner moved by 12 and 3 pixels. All with the kernels of this processor. */
static liana__value *make_expected(const liana__value *images)
{
    static const char *const names[] = {"grid", "lighter", "perspective", "corner"};
    static const char *const lists[] = {
        LIST,
        "[random_perspective, {random_brightness: {factor: 0.5}}, {cutout: {probability: 1, fill: 128}}, random_flip]",
        "[random_perspective]"};
    liana__value *expected = liana__value_map(&arena), *made[4];
    liana_context *context;
    uint8_t pixels[NUM_SHOWN][PIXELS], dst[PIXELS];
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 1}, &context), LIANA_OK);
    for (int i = 0; i < 4; i++) {
        made[i] = liana__value_list(&arena);
        liana__value_set(&arena, expected, names[i], made[i]);
    }
    for (int i = 0; i < NUM_SHOWN; i++) {
        assert_true(liana__test_base64_read(text_of(images->items[i], "pixels"), pixels[i], PIXELS));
    }
    for (int k = 0; k < 2; k++) {
        liana__augment *augment = make_list(context, lists[k]);
        for (uint64_t i = 0; i < NUM_SHOWN; i++) {
            for (uint64_t epoch = 0; epoch < NUM_EPOCHS; epoch++) {
                add_draw(augment, pixels[i], epoch, epoch * NUM_SHOWN + i, made[k]);
            }
        }
        liana__augment_destroy(augment);
    }
    liana__augment *augment = make_list(context, lists[2]);
    for (uint64_t position = 0; position < 3; position++) add_draw(augment, pixels[0], 0, position, made[2]);
    liana__augment_destroy(augment);

    const liana__point corners[4] = {{12, 3}, {WIDTH, 0}, {WIDTH, HEIGHT}, {0, HEIGHT}};
    liana__warp warp = {.src = pixels[0],
                        .src_height = HEIGHT,
                        .src_width = WIDTH,
                        .dst = dst,
                        .dst_height = HEIGHT,
                        .dst_width = WIDTH,
                        .channels = 3,
                        .from_output = liana__matrix_from_corners(corners, WIDTH, HEIGHT),
                        .interpolation = LIANA__BILINEAR};
    liana__pixel_kernels_for(context->isa)->warp(&warp);
    liana__value_add(&arena, made[3], liana__test_base64(&arena, dst, PIXELS));
    liana_context_destroy(context);
    return expected;
}

static void test_a_browser_shows_the_pixels_of_training(void **state)
{
    (void)state;
    char modules[2100];
    const char *peer = liana__test_peer("browser");
    if (!peer) skip();
    need_webassembly();
    if (system("command -v chromium >/dev/null") != 0) {
        liana__test_skip("chromium is missing (scripts/install-packages.sh --peers)");
    }
    snprintf(modules, sizeof modules, "%s/node_modules", peer);
    setenv("NODE_PATH", modules, 1);
    write_page(LIST);
    char *page;
    liana__text json = {0};
    const liana__value *data = read_page(&page);
    liana__value_write_json(make_expected(liana__value_get(data, "images")), 0, &json);
    char expected[512];
    snprintf(expected, sizeof expected, "%s", liana__test_write("expected.json", json.data, json.length));
    liana__text_free(&json);
    free(page);
    liana__test_run_program(
        (const char *const[]){"node", LIANA_SOURCE_DIR "/tests/report/web/page_check.js", page_path, expected, NULL});
    liana__test_run_program((const char *const[]){"node", LIANA_SOURCE_DIR "/tests/browser/look.js", page_path, NULL});
}

static int tear_down(void **state)
{
    (void)state;
    liana__arena_free(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_page_has_images_and_options),
        cmocka_unit_test(test_the_page_is_one_file_without_openings),
        cmocka_unit_test(test_what_cannot_be_a_page_is_refused),
        cmocka_unit_test(test_bad_images_are_left_out_where_the_configuration_says_so),
        cmocka_unit_test(test_a_browser_shows_the_pixels_of_training),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
