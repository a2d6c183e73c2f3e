/* liana data: parts, sets of images by seed, batches next to their originals, components of a batch. */
#include "harness/command_run.h"
#include "harness/text_files.h"

#include "base/file.h"
#include "formats/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char config[256];

static const char *make_config(uint32_t count)
{
    liana__test_folder();
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(count));
    return config;
}

static const char *folder_of(const char *name)
{
    static char folders[4][600];
    static int next;
    char *folder = folders[next = (next + 1) % 4];
    snprintf(folder, sizeof folders[0], "%s", liana__test_path(name));
    return folder;
}

/* Reads DIR/NAME.png of the test's folder. Free with liana__image_free. */
static liana__image read_picture(const char *name)
{
    char *bytes;
    size_t size;
    liana__error error = {0};
    liana__image image = {0};
    assert_ok(liana__file_read(liana__test_path(name), 1 << 26, &bytes, &size, &error), &error);
    assert_ok(liana__image_decode(bytes, size, &(liana__image_options){.channels = 3}, &image, &error), &error);
    free(bytes);
    return image;
}

static long count_orange(const liana__image *image)
{
    long count = 0;
    for (int64_t i = 0; i < image->height * image->width; i++) {
        const uint8_t *p = image->pixels + 3 * i;
        count += p[0] > p[2] + 100 && p[0] > p[1] + 50;
    }
    return count;
}

/* ---- parts ---- */

static void test_each_part_is_drawn(void **state)
{
    (void)state;
    liana__test_result got = liana__test_command("data", make_config(60), "--out", folder_of("all"));
    assert_says(got.out, "all/samples.png");
    assert_says(got.out, "all/validation-samples.svg");
    assert_says(got.out, "all/test-samples.png");
    assert_never_says(got.out, "validation-sizes");
    assert_code(got, 0);
    got = liana__test_command("data", config, "--out", folder_of("one"), "--part", "validation");
    assert_says(got.out, "one/validation-samples.png");
    assert_says(got.out, "one/validation-sizes.png");
    assert_says(got.out, "one/validation-labels.png");
    assert_never_says(got.out, "one/samples.png");
    assert_never_says(got.out, "test-samples");
    assert_code(got, 0);
    got = liana__test_command("data", config, "--out", folder_of("test"), "--part=test");
    assert_says(got.out, "test/test-samples.png");
    assert_never_says(got.out, "/validation-");
    assert_code(got, 0);
}

/* Images without labels, in a configuration that has no training data, and knows neither sizes nor classes. */
static void test_images_without_labels_need_no_training_data(void **state)
{
    (void)state;
    make_config(40);
    liana__test_result got = liana__test_command("data", config, "data.train=null", "data.validation=null",
                                                 "data.image_size=[12, 12]", "data.channels=1", "data.num_classes=4",
                                                 "--part", "test", "--out", folder_of("alone"), "--json");
    assert_says(got.out, "alone/test-samples.png");
    assert_code(got, 0);
    got = liana__test_command("data", config, "data.train=null", "--part", "validation", "--out", folder_of("v"));
    assert_says(got.out, "v/validation-samples.png");
    assert_code(got, 0);
}

static void test_parts_that_are_missing(void **state)
{
    (void)state;
    make_config(20);
    const char *out = folder_of("x");
    assert_refused(liana__test_command("data", config, "--part", "tests", "--out", out), 2, "--part", "'tests'",
                   "'test'");
    assert_refused(liana__test_command("data", config, "--part", "test", "data.test=null", "--out", out), 2,
                   "--part test", "data.test=PATTERN");
    assert_refused(liana__test_command("data", config, "--part", "validation", "data.validation=null", "--out", out), 2,
                   "--part validation", "data.validation");
    assert_refused(liana__test_command("data", config, "data.train=null", "--out", out), 2, "data.train", "missing");
    assert_false(liana__file_exists(liana__test_path("x/samples.png")));
}

/* ---- sets ---- */

static void draw_set(const char *folder, const char *seed, const char *says)
{
    const char *out = folder_of(folder);
    liana__test_result got = seed ? liana__test_command("data", config, "--out", out, "--seed", seed)
                                  : liana__test_command("data", config, "--out", out);
    assert_says(got.out, says);
    assert_code(got, 0);
}

static char *read_bytes(const char *name, size_t *size)
{
    char *bytes;
    liana__error error = {0};
    assert_ok(liana__file_read(liana__test_path(name), 1 << 26, &bytes, size, &error), &error);
    return bytes;
}

static bool same_files(const char *a, const char *b)
{
    size_t sizes[2];
    char *one = read_bytes(a, &sizes[0]), *other = read_bytes(b, &sizes[1]);
    const bool same = sizes[0] == sizes[1] && memcmp(one, other, sizes[0]) == 0;
    free(one);
    free(other);
    return same;
}

/* The same seed gives the same bytes; the next call draws the next set. */
static void test_sets_of_images(void **state)
{
    (void)state;
    make_config(120);
    draw_set("a", NULL, "--seed 1 draws it again");
    draw_set("b", "1", "set 1");
    assert_true(same_files("a/samples.png", "b/samples.png"));
    assert_true(same_files("a/validation-samples.png", "b/validation-samples.png"));
    draw_set("a", NULL, "--seed 2 draws it again");
    assert_false(same_files("a/samples.png", "b/samples.png"));
    draw_set("c", "2", "set 2");
    assert_true(same_files("a/samples.png", "c/samples.png"));
    draw_set("c", "7", "set 7");
    draw_set("c", NULL, "set 8");
    /* What is no number in the file is another program's: the sets begin again. */
    liana__test_write("c/seed.txt", "many\n", 5);
    draw_set("c", NULL, "set 1");
    assert_true(same_files("c/samples.png", "b/samples.png"));
    liana__test_result got = liana__test_command("data", config, "--json", "--seed", "3", "--out", folder_of("c"));
    assert_says(got.out, "{\"event\": \"seed\", \"seed\": 3}");
    assert_code(got, 0);
    static const char *const bad[] = {"0", "-1", "x", "1.5", "99999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char word[40];
        snprintf(word, sizeof word, "--seed=%s", bad[i]);
        assert_refused(liana__test_command("data", config, word, "--out", folder_of("c")), 2, "--seed", bad[i]);
    }
}

/* One image, and fewer than a page has. */
static void test_few_images(void **state)
{
    (void)state;
    make_config(20);
    for (int seed = 1; seed < 4; seed++) {
        char word[20];
        snprintf(word, sizeof word, "--seed=%d", seed);
        liana__test_result got =
            liana__test_command("data", config, "data.take=1", "data.num_classes=4", "data.augment=[random_flip]",
                                "data.oversample.target_count=3", word, "--out", folder_of("few"));
        assert_code(got, 0);
        liana__image picture = read_picture("few/batch-augmented.png");
        assert_compare(picture.width, >, 300);
        liana__image_free(&picture);
    }
}

/* ---- batches ---- */

static void test_batches_beside_their_originals(void **state)
{
    (void)state;
    make_config(60);
    liana__test_result got =
        liana__test_command("data", config, "data.augment=[random_invert]", "data.imbalance.ratio=4",
                            "data.oversample.target_count=40", "--out", folder_of("b"));
    assert_says(got.out, "b/batch-sampled.png");
    assert_says(got.out, "b/batch-augmented.svg");
    assert_code(got, 0);
    liana__image sampled = read_picture("b/batch-sampled.png");
    /* Frames of images that come again are orange, all of them in the right half. */
    const int64_t half = sampled.width / 2;
    long left = 0;
    for (int64_t y = 0; y < sampled.height; y++) {
        for (int64_t x = 0; x < half; x++) {
            const uint8_t *p = sampled.pixels + (y * sampled.width + x) * 3;
            left += p[0] > p[2] + 100 && p[0] > p[1] + 50;
        }
    }
    assert_int_equal(left, 0);
    assert_compare(count_orange(&sampled), >, 4 * 4 * 128);
    liana__image_free(&sampled);
    /* Without either there is no such page. */
    got = liana__test_command("data", config, "--out", folder_of("n"));
    assert_never_says(got.out, "batch-");
    assert_code(got, 0);
}

/* The same seed draws the same batch, and another seed another one. */
static void test_batches_by_seed(void **state)
{
    (void)state;
    make_config(120);
    static const char *const folders[] = {"a", "b", "c"}, *const seeds[] = {"2", "2", "3"};
    for (int i = 0; i < 3; i++) {
        assert_code(liana__test_command("data", config, "data.augment=[random_flip, mixup]", "--seed", seeds[i],
                                        "--out", folder_of(folders[i])),
                    0);
    }
    assert_true(same_files("a/batch-augmented.png", "b/batch-augmented.png"));
    assert_true(same_files("a/augmented.png", "b/augmented.png"));
    assert_false(same_files("a/batch-augmented.png", "c/batch-augmented.png"));
    assert_false(same_files("a/augmented.png", "c/augmented.png"));
}

/* ---- components of a batch ---- */

static json_t *batch_of(const char *number, const char *part)
{
    char words[2][64];
    snprintf(words[0], sizeof words[0], "--batch=%s", number);
    snprintf(words[1], sizeof words[1], "--part=%s", part);
    liana__test_result got = liana__test_command("data", config, words[0], words[1], "data.shuffle=false", "--json");
    if (got.code) print_error("%s", got.err);
    assert_int_equal(got.code, 0);
    const char *line = strstr(got.out, "{\"event\": \"batch\"");
    assert_non_null(line);
    json_t *json = liana__test_parse_json(line);
    liana__test_free_result(&got);
    return json;
}

/* Values of the tiny images, computed here once more. */
static void test_components_of_a_batch(void **state)
{
    (void)state;
    make_config(60);
    json_t *json = batch_of("1", "training");
    assert_int_equal(json_integer_value(json_object_get(json, "examples")), 28);
    assert_int_equal(json_integer_value(json_object_get(json, "batch")), 1);
    const json_t *list = json_object_get(json, "components"), *image = json_array_get(list, 0),
                 *label = json_array_get(list, 1);
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(json_string_value(json_object_get(image, "component")), "image");
    assert_string_equal(json_string_value(json_object_get(image, "dtype")), "u8");
    static const int shape[] = {28, 12, 12, 1};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(json_integer_value(json_array_get(json_object_get(image, "shape"), i)), shape[i]);
    }
    double sum = 0;
    int smallest = 255, largest = 0, labels[28];
    uint8_t pixels[144], first = 0;
    for (uint32_t i = 0; i < 28; i++) {
        labels[i] = liana__test_tiny_image(1, 32 + i, pixels);
        if (i == 0) first = pixels[0];
        for (int k = 0; k < 144; k++) {
            sum += pixels[k];
            if (pixels[k] < smallest) smallest = pixels[k];
            if (pixels[k] > largest) largest = pixels[k];
        }
    }
    assert_near(json_number_value(json_object_get(image, "mean")), sum / (28 * 144), 1e-4);
    assert_int_equal(json_integer_value(json_object_get(image, "smallest")), smallest);
    assert_int_equal(json_integer_value(json_object_get(image, "largest")), largest);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(image, "first"), 0)), first);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(json_integer_value(json_array_get(json_object_get(label, "first"), i)), labels[i]);
    }
    json_decref(json);
    json = batch_of("0", "test");
    assert_int_equal(json_array_size(json_object_get(json, "components")), 1);
    json_decref(json);
}

static void test_batches_for_people_and_refusals(void **state)
{
    (void)state;
    make_config(60);
    liana__test_result got = liana__test_command("data", config, "--batch");
    assert_says(got.out, "batch: 0\n");
    assert_says(got.out, "components (2)");
    assert_code(got, 0);
    got = liana__test_command("data", config, "--batch", "1");
    assert_says(got.out, "batch: 1\n");
    assert_code(got, 0);
    /* With mixing, the partners and their shares are there as well. */
    got = liana__test_command("data", config, "--batch", "data.augment=[mixup]");
    assert_says(got.out, "partners");
    assert_says(got.out, "shares");
    assert_code(got, 0);
    assert_refused(liana__test_command("data", config, "--batch", "2"), 1, "batch 2", "2 batches of 32", "from 0 to 1");
    assert_refused(liana__test_command("data", config, "--batch=x"), 2, "--batch", "'x'");
    assert_refused(liana__test_command("data", config, "--batch", "--out", folder_of("x")), 2, "--batch", "--out");
    assert_refused(liana__test_command("data", config, "--batch", "--seed", "2"), 2, "--batch", "--seed");
    assert_refused(liana__test_command("data", config, "--batch", "--part", "all"), 2, "--batch", "one part");
}

static const char *write_table(void)
{
    static const char table[] = "id,text,a,b,kind,price\n"
                                "r1,\xe2\x80\xaeone,1,0.5,x,10\n"
                                "r2,\"two\x1b[31m\",2,1.5,y,20\n"
                                "r3,three,3,4,x,30\n";
    static const char yaml[] = "data:\n"
                               "  train: {paths: t.csv, kind: table}\n"
                               "  columns: {id: id, text: {from: text, dtype: string}, ab: [a, b], price: price,\n"
                               "            kind: {category: true}, one: {from: a, dtype: u8}}\n"
                               "  inputs: ab\n"
                               "  targets: price\n"
                               "  shuffle: false\n"
                               "model: {layers: [{Dense: {units: 1}}]}\n"
                               "train: {epochs: 1, batch_size: 2, loss: MeanSquaredError}\n";
    liana__test_folder();
    liana__test_write("t.csv", table, sizeof table - 1);
    snprintf(config, sizeof config, "%s", liana__test_write("config.yaml", yaml, sizeof yaml - 1));
    return config;
}

static void test_a_table(void **state)
{
    (void)state;
    write_table();
    json_t *json = batch_of("0", "training");
    const json_t *list = json_object_get(json, "components");
    bool seen[3] = {false};
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i), *first = json_object_get(row, "first");
        const char *name = json_string_value(json_object_get(row, "component"));
        if (strcmp(name, "ab") == 0) {
            assert_near(json_number_value(json_object_get(row, "mean")), (1 + 0.5 + 2 + 1.5) / 4, 1e-9);
            assert_near(json_number_value(json_array_get(first, 3)), 1.5, 0);
            seen[0] = true;
        }
        if (strcmp(name, "text") == 0) {
            assert_string_equal(json_string_value(json_array_get(first, 0)), "\xe2\x80\xaeone");
            seen[1] = true;
        }
        if (strcmp(name, "id") == 0) {
            assert_string_equal(json_string_value(json_array_get(first, 1)), "r2");
            seen[2] = true;
        }
    }
    assert_true(seen[0] && seen[1] && seen[2]);
    json_decref(json);
    liana__test_result got = liana__test_command("data", config, "--batch", "0");
    assert_never_says(got.out, "\xe2\x80\xae");
    assert_never_says(got.out, "\x1b");
    assert_code(got, 0);
    got = liana__test_command("data", config, "--out", folder_of("p"));
    assert_says(got.out, "p/correlations.png");
    assert_says(got.out, "p/column-01.png");
    assert_never_says(got.out, "--seed");
    assert_code(got, 0);
    /* One row: there is nothing to compare, and that is said by dashes. */
    assert_code(liana__test_command("data", config, "data.take=1", "--out", folder_of("p")), 0);
}

#define SHALOM "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d"

/* x and w: the deviations are -1.5, -0.5, 0.5, 1.5 and -0.5, -1.5, 1.5, 0.5; so r = 3 / 5. The category says whether x
 * is above 2: of the variance of x, 5 / 4, the variance of the two means is 1, so the ratio is the root of 4 / 5. */
static void test_correlations_as_numbers(void **state)
{
    (void)state;
    static const char table[] = "x," SHALOM ",w,same,kind\n"
                                "1,-2,2,5,low\n2,-4,1,5,low\n3,-6,4,5,high\n4,-8,3,5,high\n";
    static const char yaml[] = "data:\n"
                               "  train: {paths: t.csv, kind: table}\n"
                               "  columns: {x: x, " SHALOM ": " SHALOM ", w: w, same: same, kind: {category: true}}\n"
                               "  inputs: x\n"
                               "  targets: w\n"
                               "model: {layers: [{Dense: {units: 1}}]}\n"
                               "train: {epochs: 1, batch_size: 2, loss: MeanSquaredError}\n";
    static const struct {
        const char *names[2];
        double value;
    } expected[] = {{{"x", "x"}, 1},   {{"x", SHALOM}, -1},  {{SHALOM, "w"}, -0.6},
                    {{"w", "x"}, 0.6}, {{"x", "same"}, NAN}, {{"kind", "x"}, 0.894427191}};
    liana__test_folder();
    liana__test_write("t.csv", table, sizeof table - 1);
    snprintf(config, sizeof config, "%s", liana__test_write("config.yaml", yaml, sizeof yaml - 1));
    liana__test_result got = liana__test_command("data", config, "--out", folder_of("numbers"), "--json");
    assert_int_equal(got.code, 0);
    char *line = strstr(got.out, "{\"event\": \"correlations\"");
    if (!line) line = strstr(got.out, "{\"event\":\"correlations\"");
    assert_non_null(line);
    line[strcspn(line, "\n")] = 0;
    json_t *json = liana__test_parse_json(line);
    assert_string_equal(json_string_value(json_object_get(json, "name")), "correlations");
    const json_t *columns = json_object_get(json, "columns"), *values = json_object_get(json, "values");
    assert_int_equal(json_array_size(columns), 5);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        size_t at[2] = {0};
        for (int k = 0; k < 2; k++) {
            const json_t *column;
            while (strcmp(json_string_value(json_object_get(column = json_array_get(columns, at[k]), "name")),
                          expected[i].names[k]) != 0) {
                assert_compare(++at[k], <, 5);
            }
            assert_int_equal(json_is_true(json_object_get(column, "category")),
                             strcmp(expected[i].names[k], "kind") == 0);
        }
        const json_t *value = json_array_get(json_array_get(values, at[0]), at[1]);
        if (isnan(expected[i].value)) {
            assert_true(json_is_null(value));
        } else {
            assert_near(json_number_value(value), expected[i].value, 1e-6);
        }
    }
    json_decref(json);
    liana__test_free_result(&got);
}

static void test_a_folder_that_cannot_be_written(void **state)
{
    (void)state;
    make_config(20);
    liana__test_write("file", "", 0);
    assert_refused(liana__test_command("data", config, "--out", liana__test_path("file")), 1, "file");
    assert_refused(liana__test_command("summary", config, "--picture", liana__test_path("no/m.svg")), 1, "no/m.svg");
    assert_refused(liana__test_command("summary", config, "--picture", "m.pdf"), 2, "--picture", "m.pdf", ".svg");
    if (geteuid() == 0) return; /* who may write everywhere */
    mkdir(liana__test_path("closed"), 0500);
    assert_refused(liana__test_command("data", config, "--out", liana__test_path("closed")), 1, "closed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_part_is_drawn),
        cmocka_unit_test(test_images_without_labels_need_no_training_data),
        cmocka_unit_test(test_parts_that_are_missing),
        cmocka_unit_test(test_sets_of_images),
        cmocka_unit_test(test_few_images),
        cmocka_unit_test(test_batches_beside_their_originals),
        cmocka_unit_test(test_batches_by_seed),
        cmocka_unit_test(test_components_of_a_batch),
        cmocka_unit_test(test_batches_for_people_and_refusals),
        cmocka_unit_test(test_a_table),
        cmocka_unit_test(test_correlations_as_numbers),
        cmocka_unit_test(test_a_folder_that_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
