/* The augmentation of pages in a browser: the module gives the bytes that training gets, here compiled as everything
 * else, and as WebAssembly in Node; refused lists; perspectives by their corners. */
#include "harness/peers.h"

#include "base/context.h"
#include "data/augment/augment.h"
#include "formats/yaml.h"
#include "report/web/augment_module.h"
#include "report/web/base64.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEED = 5, EPOCH = 2, POSITION = 40, COUNT = 4, HEIGHT = 21, WIDTH = 34 };

/* Lists with every stage that a page can run. `tolerance`: of values, in levels. Sines, exponentials and logarithms of
 * another C library may differ in their last bit; all other arithmetic may not. */
static const struct {
    const char *list;
    int tolerance;
    int in[2]; /* zeros: HEIGHT and WIDTH */
} cases[] = {
    {"[random_perspective]", 0, {0}},
    {"[{random_perspective: {factor: 0.1, turn: false, fill_mode: reflect}}]", 0, {0}},
    {"[{random_perspective: {interpolation: nearest, fill_mode: wrap}}]", 0, {0}},
    {"[{random_perspective: {probability: 0.5, fill: 77, fill_mode: constant}}]", 0, {0}},
    {"[{resize: {size: [30, 20]}}, {resize: {size: [21, 34]}}]", 0, {30, 20}},
    {"[{random_flip: {direction: horizontal_and_vertical}}]", 0, {0}},
    {"[{resize: {size: 21}}, random_rotate90, {resize: {size: [21, 34]}}]", 0, {21, 21}},
    {"[{random_shear: {fill_mode: nearest}}, {random_zoom: {width_factor: 0.4}}, random_translation]", 0, {0}},
    {"[{resize: {size: [40, 50]}}, {random_crop: {size: [21, 34]}}]", 0, {40, 50}},
    {"[random_brightness, random_contrast, random_saturation, random_grayscale]", 0, {0}},
    {"[{random_hue: {factor: 0.5}}]", 0, {0}},
    {"[random_invert, random_posterize, random_solarize]", 0, {0}},
    {"[{random_autocontrast: {probability: 1}}, {random_equalize: {probability: 1}}]", 0, {0}},
    {"[{random_sharpness: {factor: 1}}]", 0, {0}},
    {"[{cutout: {num_holes: 3, fill: 9, probability: 1}}, {grid_mask: {probability: 1}}]", 0, {0}},
    {"[random_flip, random_perspective, random_brightness, {cutout: {probability: 1}}]", 0, {0}},
    {"[{random_rotation: {degrees: 180, fill_mode: reflect}}]", 1, {0}},
    {"[random_resized_crop]", 1, {0}},
    {"[{gaussian_blur: {kernel_size: 9, probability: 1}}]", 1, {0}},
    {"[{gaussian_noise: {stddev: 0.2, probability: 1}}]", 1, {0}},
    {"[{rand_augment: {num_ops: 4}}]", 1, {0}},
    {"[{mixup: {alpha: 1}}]", 1, {0}},
    {"[random_flip, cutmix]", 1, {0}},
};
enum { NUM_CASES = sizeof cases / sizeof *cases };

/* What a case gives by liana's own call, as training makes it. */
typedef struct example {
    liana__value *list;
    liana_image_shape in, out;
    uint8_t *src, *dst; /* COUNT images each */
    float shares[COUNT];
    int32_t partners[COUNT];
} example;

static liana__arena arena;
static liana_context *context;

static int set_up(void **state)
{
    (void)state;
    return liana_context_create(&(liana_context_options){.num_threads = 1}, &context) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    liana_context_destroy(context);
    liana__arena_free(&arena);
    return 0;
}

/* Edges and slopes, and in each image others. */
static uint8_t *draw_images(const liana_image_shape *shape)
{
    uint8_t *pixels = liana__arena_allocate(&arena, COUNT * liana__augment_size(shape)), *next = pixels;
    assert_non_null(pixels);
    for (int i = 0; i < COUNT; i++) {
        for (int y = 0; y < shape->height; y++) {
            for (int x = 0; x < shape->width; x++) {
                for (int c = 0; c < shape->channels; c++) {
                    *next++ = (uint8_t)(71 * i + 5 * x + 9 * y + 53 * c + x * y / 4 + 90 * ((x / 6 + y / 4) % 2));
                }
            }
        }
    }
    return pixels;
}

static void mix(const liana__augment *augment, liana__batch *batch, example *made)
{
    int32_t numbers[COUNT];
    void *memory = liana__allocate_aligned(liana__augment_mix_scratch_size(augment, COUNT));
    for (int i = 0; i < COUNT; i++) numbers[i] = i;
    liana__batch_add(batch, "label", LIANA_S32, &LIANA_SCALAR, numbers);
    liana__batch_add(batch, "partners", LIANA_S32, &LIANA_SCALAR, made->partners);
    batch->components[1].partner_of = &batch->components[0];
    liana__batch_add(batch, LIANA__SHARES, LIANA_F32, &LIANA_SCALAR, made->shares);
    liana__augment_mix(augment, COUNT, batch, SEED, memory);
    free(memory);
}

static example make_example(size_t number, int channels)
{
    liana__error error = {0};
    liana__augment *augment;
    example made = {.out = {HEIGHT, WIDTH, channels}};
    const char *text = cases[number].list;
    assert_ok(liana__yaml_parse(text, strlen(text), "list", &arena, &made.list, &error), &error);
    assert_ok(liana__augment_create(context, made.list, "augment", &made.out, &augment, &error), &error);
    made.in = liana__augment_input(augment);
    assert_int_equal(made.in.height, cases[number].in[0] ? cases[number].in[0] : HEIGHT);
    assert_int_equal(made.in.width, cases[number].in[1] ? cases[number].in[1] : WIDTH);
    made.src = draw_images(&made.in);
    made.dst = liana__arena_allocate(&arena, COUNT * liana__augment_size(&made.out));
    uint64_t positions[COUNT], records[COUNT] = {0};
    void *scratch = liana__allocate_aligned(liana__augment_scratch_size(augment));
    for (uint64_t i = 0; i < COUNT; i++) {
        liana_example_address address = {.seed = SEED, .epoch = EPOCH, .position = POSITION + i};
        positions[i] = address.position;
        made.shares[i] = 1;
        made.partners[i] = (int32_t)i;
        assert_ok(liana__augment_apply(augment, &address, made.src + i * liana__augment_size(&made.in),
                                       made.dst + i * liana__augment_size(&made.out), scratch, &error),
                  &error);
    }
    liana__batch batch = {.count = COUNT,
                          .num_positions = COUNT,
                          .first_position = POSITION,
                          .images = made.dst,
                          .positions = positions,
                          .records = records,
                          .epoch = EPOCH};
    if (liana__augment_mixes(augment)) mix(augment, &batch, &made);
    free(scratch);
    liana__augment_destroy(augment);
    return made;
}

/* An option as a page has it: "0.25", "bilinear", "[30, 20]". */
static const char *text_of(const liana__value *value)
{
    if (value->kind == LIANA__VALUE_STRING) return value->string;
    liana__text text = {0};
    liana__value_write_json(value, 0, &text);
    const char *kept = liana__arena_string(&arena, text.data);
    liana__text_free(&text);
    return kept;
}

/* The list as {name, options: {option: text}}. */
static liana__value *list_for_page(const liana__value *list)
{
    liana__value *stages = liana__value_list(&arena);
    for (size_t i = 0; i < list->count; i++) {
        const liana__value *entry = list->items[i];
        bool plain = entry->kind == LIANA__VALUE_STRING;
        liana__value *stage = liana__value_map(&arena), *options = liana__value_map(&arena);
        const char *name = plain ? entry->string : entry->keys[0];
        liana__value_set(&arena, stage, "name", liana__value_string(&arena, name));
        for (size_t k = 0; !plain && k < entry->items[0]->count; k++) {
            liana__value_set(&arena, options, entry->items[0]->keys[k],
                             liana__value_string(&arena, text_of(entry->items[0]->items[k])));
        }
        liana__value_set(&arena, stage, "options", options);
        liana__value_add(&arena, stages, stage);
    }
    return stages;
}

static void set_list(liana__web *web, const liana__value *stages)
{
    liana__web_clear(web);
    for (size_t i = 0; i < stages->count; i++) {
        const liana__value *options = liana__value_get(stages->items[i], "options");
        liana__web_add_stage(web, liana__value_get(stages->items[i], "name")->string);
        for (size_t k = 0; k < options->count; k++) {
            liana__web_set_option(web, options->keys[k], options->items[k]->string);
        }
    }
}

/* Every stage but JPEGs is in the cases. */
static void test_all_stages_are_tried(void **state)
{
    (void)state;
    const liana_augmentation_type *kind;
    for (size_t i = 0; (kind = liana__part_at(NULL, &liana__augmentation_kind, i)); i++) {
        bool found = kind == &liana__augmentation_random_jpeg_quality;
        for (size_t k = 0; k < NUM_CASES; k++) found = found || strstr(cases[k].list, kind->part.name);
        if (!found) fail_msg("%s is in none of the cases", kind->part.name);
    }
}

static void test_the_module_gives_the_bytes_of_training(void **state)
{
    (void)state;
    liana__web *web = liana__web_create();
    for (size_t i = 0; i < 2 * NUM_CASES; i++) {
        example wanted = make_example(i / 2, i % 2 ? 3 : 1);
        size_t size = COUNT * liana__augment_size(&wanted.out);
        uint8_t *dst = liana__arena_allocate(&arena, size);
        float shares[COUNT];
        int32_t partners[COUNT];
        set_list(web, list_for_page(wanted.list));
        assert_int_equal(liana__web_prepare(web, HEIGHT, WIDTH, wanted.out.channels), LIANA_OK);
        assert_int_equal(liana__web_input_height(web), wanted.in.height);
        assert_int_equal(liana__web_input_width(web), wanted.in.width);
        assert_int_equal(liana__web_run(web, SEED, EPOCH, POSITION, COUNT, wanted.src, dst, shares, partners),
                         LIANA_OK);
        assert_memory_equal(dst, wanted.dst, size);
        assert_memory_equal(shares, wanted.shares, sizeof shares);
        assert_memory_equal(partners, wanted.partners, sizeof partners);
    }
    liana__web_destroy(web);
}

/* ---- lists ---- */

static void test_the_list_is_written_and_refused_as_a_configuration(void **state)
{
    (void)state;
    liana__web *web = liana__web_create();
    liana__web_add_stage(web, "random_flip");
    liana__web_add_stage(web, "random_perspective");
    liana__web_set_option(web, "factor", "0.125");
    liana__web_set_option(web, "turn", "false");
    liana__web_add_stage(web, "random_crop");
    liana__web_set_option(web, "size", "[8, 16]");
    assert_string_equal(liana__web_yaml(web), "augment:\n"
                                              "  - random_flip\n"
                                              "  - random_perspective:\n"
                                              "      factor: 0.125\n"
                                              "      turn: false\n"
                                              "  - random_crop:\n"
                                              "      size: [8, 16]\n");
    assert_int_equal(liana__web_prepare(web, 24, 24, 3), LIANA_INVALID_CONFIG);
    assert_says(liana__web_message(web), "after all stages images are 8 x 16, but the model needs 24 x 24");
    assert_int_equal(liana__web_input_height(web), 0);
    assert_int_equal(liana__web_run(web, 1, 1, 1, 1, NULL, NULL, NULL, NULL), LIANA_INVALID_ARGUMENT);

    liana__web_clear(web);
    liana__web_add_stage(web, "random_perspective");
    liana__web_set_option(web, "factor", "0.5");
    assert_int_equal(liana__web_prepare(web, 24, 24, 3), LIANA_INVALID_CONFIG);
    assert_says(liana__web_message(web), "factor: found the number 0.5, expected a number from 0.0 to 0.25");
    liana__web_destroy(web);
}

/* ---- perspective ---- */

static void test_a_drawn_perspective_is_the_one_of_its_corners(void **state)
{
    (void)state;
    liana__web *web = liana__web_create();
    liana__web_add_stage(web, "random_perspective");
    liana__web_set_option(web, "factor", "0.2");
    assert_int_equal(liana__web_prepare(web, HEIGHT, WIDTH, 3), LIANA_OK);
    liana_image_shape shape = {HEIGHT, WIDTH, 3};
    uint8_t *src = draw_images(&shape), *drawn = liana__arena_allocate(&arena, HEIGHT * WIDTH * 3);
    uint8_t *by_hand = liana__arena_allocate(&arena, HEIGHT * WIDTH * 3);
    int num_turned = 0;
    for (uint64_t position = 0; position < 40; position++) {
        double matrix[9], again[9], points[8];
        float share;
        int32_t partner;
        bool turn;
        assert_true(liana__web_mapping(web, SEED, 0, position, matrix));
        liana__web_points_of(matrix, WIDTH, HEIGHT, points);
        /* Within the factor of a corner each, and not of its own where the stage turns. */
        assert_compare(liana__web_factor_of(points, WIDTH, HEIGHT, &turn), <=, 0.2 + 1e-9);
        num_turned += turn;
        assert_true(liana__web_matrix_of(points, WIDTH, HEIGHT, again));
        for (int i = 0; i < 9; i++) assert_near(again[i] / again[8], matrix[i] / matrix[8], 1e-9 * WIDTH);
        assert_int_equal(liana__web_run(web, SEED, 0, position, 1, src, drawn, &share, &partner), LIANA_OK);
        liana__web_warp(src, by_hand, HEIGHT, WIDTH, 3, matrix, 1, 0, 0);
        assert_memory_equal(by_hand, drawn, HEIGHT * WIDTH * 3);
    }
    /* Seven of eight ways turn or reflect. */
    assert_compare(num_turned, >, 28);
    assert_compare(num_turned, <, 40);
    liana__web_destroy(web);
}

static void test_corners_by_hand(void **state)
{
    (void)state;
    double matrix[9], points[8] = {2, 0, 100, 5, 100, 50, 0, 50};
    bool turn;
    assert_near(liana__web_factor_of(points, 100, 50, &turn), 0.1, 1e-12);
    assert_false(turn);
    assert_true(liana__web_matrix_of(points, 100, 50, matrix));
    /* The upper left point is where the source's corner went. */
    double w = matrix[6] * 2 + matrix[8];
    assert_near((matrix[0] * 2 + matrix[2]) / w, 0, 1e-9);
    assert_near((matrix[3] * 2 + matrix[5]) / w, 0, 1e-9);
    /* Reflected: left and right exchanged. */
    double reflected[8] = {100, 0, 3, 0, 0, 50, 100, 50};
    assert_near(liana__web_factor_of(reflected, 100, 50, &turn), 0.03, 1e-12);
    assert_true(turn);
    /* A corner inside the others, sides that cross, and three in a row are no perspective. */
    static const double wrong[3][8] = {{0, 0, 100, 0, 20, 20, 0, 50},
                                       {0, 0, 100, 50, 100, 0, 0, 50},
                                       {0, 0, 50, 25, 100, 50, 0, 50}};
    for (int i = 0; i < 3; i++) assert_false(liana__web_matrix_of(wrong[i], 100, 50, matrix));
}

static void test_colours_for_a_canvas(void **state)
{
    (void)state;
    uint8_t rgba[8];
    liana__web_paint((const uint8_t[]){1, 2, 3, 4, 5, 6}, 2, 3, rgba);
    assert_memory_equal(rgba, ((const uint8_t[]){1, 2, 3, 255, 4, 5, 6, 255}), 8);
    liana__web_paint((const uint8_t[]){7, 8}, 2, 1, rgba);
    assert_memory_equal(rgba, ((const uint8_t[]){7, 7, 7, 255, 8, 8, 8, 255}), 8);
}

/* ---- WebAssembly ---- */

static liana__value *case_for_node(size_t number, int channels)
{
    example made = make_example(number, channels);
    liana__value *map = liana__value_map(&arena), *shares = liana__value_list(&arena);
    const struct {
        const char *name;
        int64_t number;
    } numbers[] = {{"height", HEIGHT},     {"width", WIDTH},
                   {"channels", channels}, {"seed", SEED},
                   {"epoch", EPOCH},       {"position", POSITION},
                   {"count", COUNT},       {"tolerance", cases[number].tolerance}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        liana__value_set(&arena, map, numbers[i].name, liana__value_int(&arena, numbers[i].number));
    }
    for (int i = 0; i < COUNT; i++) {
        liana__value_add(&arena, shares, liana__value_float(&arena, (double)made.shares[i]));
    }
    liana__value_set(&arena, map, "text", liana__value_string(&arena, cases[number].list));
    liana__value_set(&arena, map, "list", list_for_page(made.list));
    liana__value_set(&arena, map, "shares", shares);
    const size_t src_size = COUNT * liana__augment_size(&made.in), dst_size = COUNT * liana__augment_size(&made.out);
    liana__value_set(&arena, map, "src", liana__test_base64(&arena, made.src, src_size));
    liana__value_set(&arena, map, "dst", liana__test_base64(&arena, made.dst, dst_size));
    return map;
}

static void test_webassembly_gives_the_bytes_of_training(void **state)
{
    (void)state;
    if (!*LIANA_WASM_MODULE) liana__test_skip("liana was built without WebAssembly (LIANA_WASM)");
    if (system("command -v node >/dev/null") != 0) {
        if (liana__test_peer("browser")) liana__test_skip("there is no node to run WebAssembly");
        skip(); /* that was said */
    }
    liana__test_folder();
    liana__text json = {0};
    liana__value *list = liana__value_list(&arena);
    for (size_t i = 0; i < 2 * NUM_CASES; i++) liana__value_add(&arena, list, case_for_node(i / 2, i % 2 ? 3 : 1));
    liana__value_write_json(list, 0, &json);
    const char *path = liana__test_write("cases.json", json.data, json.length);
    liana__text_free(&json);
    liana__test_run_program((const char *const[]){"node", LIANA_SOURCE_DIR "/tests/report/web/module_check.js",
                                                  LIANA_WASM_MODULE, path, NULL});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_stages_are_tried),
        cmocka_unit_test(test_the_module_gives_the_bytes_of_training),
        cmocka_unit_test(test_the_list_is_written_and_refused_as_a_configuration),
        cmocka_unit_test(test_a_drawn_perspective_is_the_one_of_its_corners),
        cmocka_unit_test(test_corners_by_hand),
        cmocka_unit_test(test_colours_for_a_canvas),
        cmocka_unit_test(test_webassembly_gives_the_bytes_of_training),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
