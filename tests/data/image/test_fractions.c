/* Resized pixels keep their fractions, as in TensorFlow and Keras: decoded, in batches, with a cache and augmented; and
 * rounded where a configuration or an older run says so. */
#include "harness/command_run.h"
#include "harness/text_files.h"

#include "base/context.h"
#include "base/file.h"
#include "data/augment/augment.h"
#include "data/loader/loader.h"
#include "data/source/source_open.h"
#include "formats/yaml.h"
#include "samples/keras_resize.h"

#include <liana/liana.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_CASES = sizeof KERAS_RESIZE / sizeof *KERAS_RESIZE };

/* As in keras_resize.py. */
static void make_picture(int height, int width, int channels, uint8_t *pixels)
{
    for (long i = 0; i < (long)height * width * channels; i++) pixels[i] = (uint8_t)((i * i * 31 + i * 17 + 5) % 256);
}

static void test_decoded_pixels_are_kerass(void **state)
{
    (void)state;
    liana__decoder decoder = {0};
    for (size_t i = 0; i < NUM_CASES; i++) {
        uint8_t pixels[256], rounded[256];
        float found[256];
        liana__error error = {0};
        make_picture(KERAS_RESIZE[i].height, KERAS_RESIZE[i].width, KERAS_RESIZE[i].channels, pixels);
        liana_source_record record = {.pixels = pixels,
                                      .height = KERAS_RESIZE[i].height,
                                      .width = KERAS_RESIZE[i].width,
                                      .channels = KERAS_RESIZE[i].channels};
        liana__decode_options options = {.height = KERAS_RESIZE[i].to_height,
                                         .width = KERAS_RESIZE[i].to_width,
                                         .channels = KERAS_RESIZE[i].channels,
                                         .antialias = KERAS_RESIZE[i].antialias,
                                         .fractions = true};
        assert_ok(liana__decode_record(&decoder, &options, &record, NULL, found, &error), &error);
        int count = KERAS_RESIZE[i].to_height * KERAS_RESIZE[i].to_width * KERAS_RESIZE[i].channels;
        for (int k = 0; k < count; k++) assert_near(found[k], KERAS_RESIZE[i].pixels[k], 1e-3, i, k);
        options.fractions = false;
        assert_ok(liana__decode_record(&decoder, &options, &record, NULL, rounded, &error), &error);
        for (int k = 0; k < count; k++) assert_compare(rounded[k], ==, (int)(KERAS_RESIZE[i].pixels[k] + 0.5), i, k);
    }
    liana__decoder_free(&decoder);
}

/* ---- batches ---- */

static void write_png(const char *name, int height, int width, int channels)
{
    uint8_t pixels[1024];
    liana__error error = {0};
    liana__text png = {0};
    make_picture(height, width, channels, pixels);
    assert_ok(liana__png_encode(pixels, height, width, channels, &png, &error), &error);
    assert_ok(liana__file_replace(liana__test_path(name), png.data, png.length, &error), &error);
    liana__text_free(&png);
}

static liana__source *open_pictures(void)
{
    liana__error error = {0};
    liana__source *source;
    liana__test_folder();
    assert_ok(liana__folder_make(liana__test_path("pictures"), &error), &error);
    write_png("pictures/a.png", 5, 7, 3);
    write_png("pictures/b.png", 3, 4, 3);
    const char *path = liana__test_path("pictures");
    assert_ok(liana__source_open(&path, 1, &(liana__source_options){.ignore_labels = true}, &source, &error), &error);
    return source;
}

/* Record 0 is resized to 3 x 4 as in the first case, record 1 has this size. */
static void check_batches(const liana__loader_options *options, bool augmented)
{
    uint8_t exact[36];
    liana__error error = {0};
    liana__loader *loader;
    liana__source *source = open_pictures();
    make_picture(3, 4, 3, exact);
    assert_ok(liana__loader_create(source, options, &loader, &error), &error);
    assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
    for (int epoch = 0; epoch < 2; epoch++) {
        liana__batch *batch;
        assert_ok(liana__loader_next(loader, &batch, &error), &error);
        assert_int_equal(batch->count, 2);
        assert_null(batch->images);
        assert_non_null(batch->fractions);
        assert_int_equal(batch->components[0].dtype, LIANA_F32);
        for (int k = 0; k < 36; k++) {
            double keras = KERAS_RESIZE[0].pixels[k];
            if (augmented) keras = floor(keras + 0.5); /* stages work on bytes */
            assert_near(batch->fractions[k], keras, 1e-3, k);
            assert_compare((double)batch->fractions[36 + k], ==, exact[k], k);
            uint8_t pixels[36];
            liana__batch_pixels(batch, 0, 36, pixels);
            assert_compare(pixels[k], ==, (int)(KERAS_RESIZE[0].pixels[k] + 0.5), k);
        }
        liana__loader_release(loader, batch);
    }
    liana__loader_destroy(loader);
    liana__source_close(source);
}

static const liana__wanted_component image_only[] = {{.maker = LIANA__MAKE_IMAGE, .name = "image"}};

static liana__loader_options loading(void)
{
    return (liana__loader_options){.image = {.height = 3, .width = 4, .channels = 3, .fractions = true},
                                   .components = image_only,
                                   .num_components = 1,
                                   .batch_size = 2,
                                   .num_epochs = 2,
                                   .num_threads = 2};
}

static void test_batches(void **state)
{
    (void)state;
    liana__loader_options options = loading();
    check_batches(&options, false);
    options.cache_memory = 1 << 20;
    check_batches(&options, false);
    char folder[600];
    liana__test_folder();
    snprintf(folder, sizeof folder, "%s", liana__test_path("cache"));
    liana__image_cache_file_options file = {.folder = folder, .name = "training", .settings = ""};
    options.cache_memory = 0;
    options.cache_file = &file;
    check_batches(&options, false);
}

static void test_augmented_batches(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__arena arena = {0};
    liana__value *list;
    liana__augment *augment;
    liana_context *context;
    static const char text[] = "[{random_flip: {probability: 0}}]";
    const liana_image_shape shape = {3, 4, 3};
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    assert_ok(liana__yaml_parse(text, strlen(text), "augment", &arena, &list, &error), &error);
    assert_ok(liana__augment_create(context, list, "augment", &shape, &augment, &error), &error);
    liana__loader_options options = loading();
    options.augment = augment;
    check_batches(&options, true);
    options.cache_memory = 1 << 20;
    check_batches(&options, true);
    liana__augment_destroy(augment);
    liana__arena_free(&arena);
    liana_context_destroy(context);
}

/* A model whose results are its pixels, in the C interface. */
static void check_predictions(liana_model *model, const liana_dataset *data, bool rounded)
{
    float found[2][36];
    assert_int_equal(liana_predict(model, data, NULL, found[0]), LIANA_OK);
    for (int k = 0; k < 36; k++) {
        double keras = KERAS_RESIZE[0].pixels[k];
        if (rounded) keras = floor(keras + 0.5);
        assert_near(found[0][k], keras, 1e-3, k);
    }
}

static void test_predictions_in_c(void **state)
{
    (void)state;
    liana_context *context;
    liana_model *model;
    liana_dataset *data;
    liana__source_close(open_pictures());
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(3, 4, 3));
    liana_normalization(model); /* of a mean of 0 and a variance of 1 */
    liana_flatten(model);
    const liana_dataset_options options = {.unlabelled = true};
    assert_int_equal(liana_dataset_open(context, liana__test_path("pictures"), &options, &data), LIANA_OK);
    check_predictions(model, data, false);
    const liana_preprocessing rounding = {.scale = LIANA_SCALE_NONE, .round = true};
    assert_ok(liana_model_set_preprocessing(model, &rounding), &context->error);
    check_predictions(model, data, true);
    /* It is saved with the model. */
    liana_model *loaded;
    assert_ok(liana_model_save(model, liana__test_path("saved")), &context->error);
    assert_ok(liana_model_load(context, liana__test_path("saved"), &loaded), &context->error);
    assert_true(liana_model_preprocessing(loaded).round);
    check_predictions(loaded, data, true);
    liana_model_destroy(loaded);
    liana_dataset_close(data);
    liana_model_destroy(model);
    liana_context_destroy(context);
}

/* ---- runs ---- */

static void write_text(const char *name, const char *text)
{
    liana__error error = {0};
    assert_ok(liana__file_replace(liana__test_path(name), text, strlen(text), &error), &error);
}

/* Two classes of pictures of 9 x 9 and 13 x 11. */
static void make_data(void)
{
    liana__error error = {0};
    liana__test_folder();
    assert_ok(liana__folder_make(liana__test_path("data/a"), &error), &error);
    assert_ok(liana__folder_make(liana__test_path("data/b"), &error), &error);
    write_png("data/a/1.png", 9, 9, 3);
    write_png("data/a/2.png", 13, 11, 3);
    write_png("data/b/1.png", 13, 11, 3);
    write_png("data/b/2.png", 9, 9, 3);
    write_text("c.yaml", "data: {train: data, image_size: [6, 6], cache: none}\n"
                         "model: {layers: [Flatten, {Dense: {units: 2, activation: softmax}}]}\n"
                         "train: {epochs: 1, batch_size: 2, seed: 3}\n");
}

static double confidence(const char *predictions)
{
    const char *comma = strrchr(predictions, ',');
    assert_non_null(comma);
    return atof(comma + 1);
}

static double predict(const char *run, const char *setting, bool notes)
{
    char folder[600], data[600], out[600];
    snprintf(out, sizeof out, "%s", liana__test_path("predictions.csv"));
    snprintf(folder, sizeof folder, "%s", liana__test_path(run));
    snprintf(data, sizeof data, "%s", liana__test_path("data/a"));
    liana__test_result got = liana__test_command("predict", folder, "--data", data, "--out", out, setting);
    bool told =
        strstr(got.out, "as they were when this run began") || strstr(got.err, "as they were when this run began");
    assert_int_equal(told, notes);
    assert_code(got, 0);
    char *text = liana__test_read_text("predictions.csv");
    double found = confidence(text);
    free(text);
    return found;
}

/* Fractions are the default. A run folder of before rounds, and says so; so does one that is resumed from there. */
static void test_runs(void **state)
{
    (void)state;
    make_data();
    char config[600], run[600];
    snprintf(config, sizeof config, "%s", liana__test_path("c.yaml"));
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    assert_code(liana__test_command("train", config, "--out", run), 0);
    char *text = liana__test_read_text("run/config.yaml");
    assert_says(text, "    round: false\n");
    free(text);
    double kept = predict("run", "train.seed=3", false), rounded = predict("run", "data.resize.round=true", false);
    assert_compare(fabs(kept - rounded), >, 1e-7);
    snprintf(run, sizeof run, "%s", liana__test_path("old"));
    assert_code(liana__test_command("train", config, "--out", run, "data.resize.round=true"), 0);
    rounded = predict("old", "train.seed=3", false);
    kept = predict("old", "data.resize.round=false", false);
    text = liana__test_read_text("old/config.yaml");
    char *line = strstr(text, "    round: true\n");
    assert_non_null(line);
    /* The file of an older liana: the same without the key. */
    memmove(line, line + strlen("    round: true\n"), strlen(line + strlen("    round: true\n")) + 1);
    write_text("old/config.yaml", text);
    free(text);
    assert_compare(predict("old", "train.seed=3", true), ==, rounded);
    assert_compare(predict("old", "data.resize.round=false", false), ==, kept);
    assert_code(liana__test_command("train", config, "--out", run, "--resume", "train.epochs=2"), 0);
    text = liana__test_read_text("old/config.yaml");
    assert_says(text, "    round: true\n");
    free(text);
}

/* Where no image is resized, bytes hold the same: the same history to the last digit. */
static void test_bytes_where_nothing_is_resized(void **state)
{
    (void)state;
    make_data();
    char config[600], first[600], second[600];
    snprintf(config, sizeof config, "%s", liana__test_path("c.yaml"));
    snprintf(first, sizeof first, "%s", liana__test_path("first"));
    snprintf(second, sizeof second, "%s", liana__test_path("second"));
    write_png("data/a/2.png", 9, 9, 3);
    write_png("data/b/1.png", 9, 9, 3);
    assert_code(liana__test_command("train", config, "data.image_size=[9, 9]", "--out", first), 0);
    assert_code(liana__test_command("train", config, "data.image_size=[9, 9]", "data.resize.round=true", "--out",
                                    second),
                0);
    char *a = liana__test_read_text("first/history.json"), *b = liana__test_read_text("second/history.json");
    assert_string_equal(a, b);
    free(a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decoded_pixels_are_kerass),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_augmented_batches),
        cmocka_unit_test(test_predictions_in_c),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_bytes_where_nothing_is_resized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
