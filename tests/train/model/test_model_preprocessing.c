/* A model's facts about its images and classes, as a C program sees them: they come with a run, and go with a
 * folder. */
#include "harness/command_run.h"

#include "base/file.h"
#include "formats/image.h"
#include "formats/safetensors.h"

#include <liana/liana.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = LIANA__TINY_CLASSES, NUM_TEST = 100 };

static const char *const NAMES[CLASSES + 1] = {"upper left", "upper right", "lower left", "lower right", NULL};

typedef struct fixture {
    liana_context *context;
    liana_model *model; /* of the run */
    liana_dataset *test;
    char run[256];
} fixture;

/* Images of 12 x 12 are shrunk to 8 x 8: with antialiasing, and the other way round than by default in all else. */
static fixture set_up(void)
{
    fixture own;
    liana__test_folder();
    const char *config = liana__test_tiny_run(200);
    assert_code(liana__test_command("train", config, "data.scale=-1..1", "data.resize={antialias: true}",
                                    "data.image_size=[8, 8]", "data.decode=fast", "train.epochs=2",
                                    "data.class_names=[upper left, upper right, lower left, lower right]"),
                0);
    snprintf(own.run, sizeof own.run, "%s", liana__test_path("run"));
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &own.context), LIANA_OK);
    assert_int_equal(liana_model_load(own.context, own.run, &own.model), LIANA_OK);
    liana_dataset_options options = {.class_names = NAMES};
    assert_int_equal(liana_dataset_open(own.context, liana__test_path("validation-images"), &options, &own.test),
                     LIANA_OK);
    return own;
}

static void tear_down(fixture *own)
{
    liana_dataset_close(own->test);
    liana_model_destroy(own->model);
    liana_context_destroy(own->context);
}

static void check_done(const fixture *own, liana_status status, int line)
{
    if (status != LIANA_OK) print_error("%s:%d: %s\n", __FILE__, line, liana_context_message(own->context));
    assert_int_equal(status, LIANA_OK);
}
#define done(status) check_done(&own, (status), __LINE__)

static void check_refused(const fixture *own, liana_status status, liana_status expected, const char *text, int line)
{
    const char *message = liana_context_message(own->context);
    if (status != expected || !strstr(message, text)) print_error("%s:%d: %s\n", __FILE__, line, message);
    assert_int_equal(status, expected);
    assert_says(message, text);
}
#define refused(status, expected, text) check_refused(&own, (status), (expected), (text), __LINE__)

static void predict(const fixture *own, liana_model *model, const liana_dataset *data, float outputs[NUM_TEST][CLASSES])
{
    memset(outputs, 0, sizeof(float[NUM_TEST][CLASSES]));
    check_done(own, liana_predict(model, data, NULL, outputs[0]), __LINE__);
}

static int best_of(const float outputs[CLASSES])
{
    int best = 0;
    for (int c = 1; c < CLASSES; c++) {
        if (outputs[c] > outputs[best]) best = c;
    }
    return best;
}

static void assert_knows_the_run(const liana_model *model)
{
    liana_preprocessing known = liana_model_preprocessing(model);
    assert_int_equal(known.scale, LIANA_SCALE_MINUS_ONE_ONE);
    assert_true(known.antialias && known.fast_decode);
    assert_int_equal(known.num_class_names, CLASSES);
    assert_null(known.class_names[CLASSES]);
    for (int c = 0; c < CLASSES; c++) assert_string_equal(known.class_names[c], NAMES[c]);
}

/* The command's file has the same rows. */
static void test_predictions_are_those_of_the_command(void **state)
{
    (void)state;
    fixture own = set_up();
    assert_knows_the_run(own.model);
    const char *file = liana__test_path("p.csv");
    assert_code(liana__test_command("predict", own.run, "--data", liana__test_path("validation-images"), "--out", file),
                0);
    char *text, line[128];
    size_t size;
    liana__error error = {0};
    assert_ok(liana__file_read(file, 1 << 20, &text, &size, &error), &error);
    float outputs[NUM_TEST][CLASSES];
    predict(&own, own.model, own.test, outputs);
    const char *row = strchr(text, '\n') + 1;
    for (int i = 0; i < NUM_TEST; i++) {
        int best = best_of(outputs[i]), length = snprintf(line, sizeof line, "%d,%d,%s,", i, best, NAMES[best]);
        assert_memory_equal(row, line, length);
        assert_near(strtod(row + length, NULL), outputs[i][best], 1e-6, i);
        row = strchr(row, '\n') + 1;
    }
    assert_int_equal(*row, 0);
    free(text);
    tear_down(&own);
}

/* The last epoch of the run measured the same. */
static void test_evaluation_is_that_of_the_command(void **state)
{
    (void)state;
    fixture own = set_up();
    liana_results results;
    done(liana_evaluate(own.model, own.test, NULL, &results));
    liana__test_result got = liana__test_command("evaluate", own.run);
    char expected[64];
    snprintf(expected, sizeof expected, "loss %.4f, accuracy %.4f over 100 examples", results.loss, results.metrics[0]);
    if (!strstr(got.out, expected)) print_error("%sexpected %s\n", got.out, expected);
    assert_says(got.out, expected);
    assert_code(got, 0);
    tear_down(&own);
}

/* ---- images in memory ---- */

enum { SIDE = 12, INPUT = 8 };

/* Image `index` of the data, as IDX files keep it. */
static void read_image(int index, unsigned char pixels[SIDE][SIDE])
{
    FILE *file = fopen(liana__test_path("validation-images"), "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 16 + index * SIDE * SIDE, SEEK_SET), 0);
    assert_int_equal(fread(pixels, 1, SIDE * SIDE, file), SIDE * SIDE);
    fclose(file);
}

/* A program that brings images to the model's input itself gets what liana_predict gives: shrunk with antialiasing, and
 * scaled to -1..1. As grey, as colours, with alpha, and with gaps behind the rows. */
static void test_frames_are_brought_to_the_input(void **state)
{
    (void)state;
    fixture own = set_up();
    float expected[NUM_TEST][CLASSES];
    predict(&own, own.model, own.test, expected);
    for (int i = 0; i < 24; i++) {
        static const int channels[] = {1, 3, 4, 1};
        const int count = channels[i % 4], gap = i % 4 == 3 ? 5 : 0, row_bytes = SIDE * count + gap;
        unsigned char pixels[SIDE][SIDE], frame[SIDE * (SIDE * 4 + 5)];
        float input[INPUT * INPUT], output[CLASSES];
        read_image(i, pixels);
        memset(frame, 77, sizeof frame);
        for (int y = 0; y < SIDE; y++) {
            for (int x = 0; x < SIDE; x++) {
                for (int k = 0; k < count && k < 3; k++) frame[y * row_bytes + x * count + k] = pixels[y][x];
            }
        }
        const liana_pixels image = {frame, SIDE, SIDE, count, gap ? row_bytes : 0};
        done(liana_prepare_image(own.model, &image, input));
        const liana_array array = {liana_model_input(own.model, 0).name, LIANA_F32, liana_shape_of(1, INPUT, INPUT, 1),
                                   input};
        liana_dataset *rows = liana_dataset_from_tensor_slices(own.context, &array, 1);
        assert_non_null(rows);
        done(liana_predict(own.model, rows, NULL, output));
        for (int c = 0; c < CLASSES; c++) assert_near(output[c], expected[i][c], 1e-5f, i, c);
        liana_dataset_close(rows);
    }
    tear_down(&own);
}

/* Of a size and a scale by hand: 2 x 4 pixels of one colour each become 8 x 8; ImageNet's mean is taken off, blue
 * first. */
static void test_scales_of_frames(void **state)
{
    (void)state;
    static const unsigned char frame[2 * 4 * 3] = {10, 20, 30, 10, 20, 30, 10, 20, 30, 10, 20, 30,
                                                   10, 20, 30, 10, 20, 30, 10, 20, 30, 10, 20, 30};
    static const struct {
        liana_scale scale;
        double expected[3];
    } cases[] = {{LIANA_SCALE_ZERO_ONE, {10 / 255.0, 20 / 255.0, 30 / 255.0}},
                 {LIANA_SCALE_MINUS_ONE_ONE, {10 / 127.5 - 1, 20 / 127.5 - 1, 30 / 127.5 - 1}},
                 {LIANA_SCALE_NONE, {10, 20, 30}},
                 {LIANA_SCALE_CAFFE, {30 - 103.939, 20 - 116.779, 10 - 123.68}},
                 {LIANA_SCALE_TORCH,
                  {(10 / 255.0 - 0.485) / 0.229, (20 / 255.0 - 0.456) / 0.224, (30 / 255.0 - 0.406) / 0.225}}};
    liana_context *context;
    liana_model *model;
    float input[INPUT * INPUT * 3];
    liana_pixels image = {frame, 2, 4, 3, 0};
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    fixture own = {.context = context};
    done(liana_model_create(context, NULL, &model));
    liana_input(model, .shape = LIANA_INTS(INPUT, INPUT, 3));
    liana_flatten(model);
    refused(liana_prepare_image(model, &image, input), LIANA_INVALID_ARGUMENT, "does not know the scale");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        done(liana_model_set_preprocessing(model, &(liana_preprocessing){.scale = cases[i].scale}));
        done(liana_prepare_image(model, &image, input));
        for (int k = 0; k < INPUT * INPUT * 3; k++) {
            assert_near(input[k], cases[i].expected[k % 3], 1e-4, i, k);
        }
    }
    static const liana_pixels wrong[] = {{NULL, 2, 4, 3, 0},  {frame, 0, 4, 3, 0},       {frame, 2, -1, 3, 0},
                                         {frame, 2, 4, 2, 0}, {frame, 1 << 20, 4, 3, 0}, {frame, 2, 4, 3, 11}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        refused(liana_prepare_image(model, &wrong[i], input), LIANA_INVALID_ARGUMENT, "expected");
    }
    refused(liana_prepare_image(model, NULL, input), LIANA_INVALID_ARGUMENT, "");
    liana_model_destroy(model);
    done(liana_model_create(context, NULL, &model));
    liana_input(model, .shape = LIANA_INTS(5));
    liana_dense(model, .units = 1);
    refused(liana_prepare_image(model, &image, input), LIANA_INVALID_ARGUMENT, "which is no image");
    liana_model_destroy(model);
    liana_context_destroy(context);
}

/* ---- checkpoints of a run ---- */

/* The best one, one by its name, by its path from liana_checkpoint_best, and with a slash behind. */
static void test_a_checkpoint_is_loaded_as_a_model(void **state)
{
    (void)state;
    fixture own = set_up();
    char run[256], path[600], best[600], line[700];
    snprintf(run, sizeof run, "%s", liana__test_path("kept"));
    /* The first epoch stays the best: the second one's rate is much too large. */
    assert_code(liana__test_command("train", liana__test_path("config.yaml"), "train.epochs=2", "checkpoint.keep=0",
                                    "data.class_names=[upper left, upper right, lower left, lower right]",
                                    "data.scale=-1..1", "data.image_size=[8, 8]", "data.resize={antialias: true}",
                                    "checkpoint.best=val_loss",
                                    "train.optimizer={name: SGD, learning_rate: {name: "
                                    "PiecewiseConstantDecay, boundaries: [7], values: [0.01, 50.0]}}",
                                    "--out", run),
                0);
    done(liana_checkpoint_best(own.context, run, best, sizeof best));
    assert_says(best, "step-0000000007");
    static const char *const names[] = {"checkpoints/best", "checkpoints/best/", "checkpoints/step-0000000007"};
    for (int i = 0; i < 4; i++) {
        liana_model *model;
        liana_results results;
        snprintf(path, sizeof path, "%s/%s", run, i < 3 ? names[i] : "");
        done(liana_model_load(own.context, i < 3 ? path : best, &model));
        done(liana_evaluate(model, own.test, NULL, &results));
        liana__test_result got = liana__test_command("evaluate", run, "--checkpoint", "best");
        snprintf(line, sizeof line, "loss %.4f, accuracy %.4f", results.loss, results.metrics[0]);
        if (!strstr(got.out, line)) print_error("%s: %s\n", got.out, line);
        assert_says(got.out, line);
        assert_code(got, 0);
        liana_model_destroy(model);
    }
    liana_model *model;
    snprintf(path, sizeof path, "%s/checkpoints/step-0000000099", run);
    refused(liana_model_load(own.context, path, &model), LIANA_NOT_FOUND, "step-0000000007");
    snprintf(path, sizeof path, "%s/checkpoints/best", own.run);
    refused(liana_model_load(own.context, path, &model), LIANA_NOT_FOUND, "best");
    snprintf(path, sizeof path, "%s/checkpoints", run);
    refused(liana_model_load(own.context, path, &model), LIANA_NOT_FOUND, "model.json");
    tear_down(&own);
}

/* The losses and metrics of a fit stay with the model, through a folder too. */
static void test_a_saved_model_keeps_it(void **state)
{
    (void)state;
    fixture own = set_up();
    liana_model *copy;
    liana_dataset *training;
    float before[NUM_TEST][CLASSES], after[NUM_TEST][CLASSES];
    /* A fit that goes on from a run treats images as the run did, unlike one of a model that does not know. */
    liana_dataset_options options = {.class_names = liana_model_preprocessing(own.model).class_names};
    done(liana_dataset_open(own.context, liana__test_path("train-images"), &options, &training));
    done(liana_fit(own.model, &(liana_fit_options){.training = training, .validation = own.test}));
    liana_dataset_close(training);
    assert_knows_the_run(own.model);
    predict(&own, own.model, own.test, before);
    done(liana_model_save(own.model, liana__test_path("saved")));
    done(liana_model_load(own.context, liana__test_path("saved"), &copy));
    assert_knows_the_run(copy);
    predict(&own, copy, own.test, after);
    assert_memory_equal(before, after, sizeof before);
    /* Without it the numbers are others: the test can fail. */
    done(liana_model_set_preprocessing(copy, &(liana_preprocessing){.scale = LIANA_SCALE_ZERO_ONE}));
    assert_int_equal(liana_model_preprocessing(copy).num_class_names, 0);
    predict(&own, copy, own.test, after);
    assert_memory_not_equal(before, after, sizeof before);
    liana_model_destroy(copy);
    tear_down(&own);
}

static void write_class_folders(const char *where, const char *const *names, size_t count)
{
    liana__error error = {0};
    liana__text png = {0};
    uint8_t pixels[LIANA__TINY_SIZE * LIANA__TINY_SIZE];
    for (size_t i = 0; i < count; i++) {
        char name[128];
        liana__test_tiny_image(1, (uint32_t)i, pixels);
        png.length = 0;
        assert_ok(liana__png_encode(pixels, LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1, &png, &error), &error);
        snprintf(name, sizeof name, "%s/%s", where, names[i]);
        assert_ok(liana__folder_make(liana__test_path(name), &error), &error);
        snprintf(name, sizeof name, "%s/%s/0.png", where, names[i]);
        liana__test_write(name, png.data, png.length);
    }
    liana__text_free(&png);
}

/* Folders of some of the classes, in another order than the run's, get the run's numbers. */
static void test_class_folders_are_numbered_as_the_model_says(void **state)
{
    (void)state;
    fixture own = set_up();
    write_class_folders("some", (const char *const[]){"lower right", "lower left"}, 2);
    liana_dataset *data;
    liana_results results;
    done(liana_dataset_open(own.context, liana__test_path("some"), NULL, &data));
    refused(
        liana_evaluate(own.model, data, NULL, &results), LIANA_INVALID_ARGUMENT,
        "4 classes: upper left, upper right, lower left, lower right; these have 2 classes: lower left, lower right");
    refused(liana_fit(own.model, &(liana_fit_options){.training = data}), LIANA_INVALID_ARGUMENT,
            "liana_model_set_preprocessing");
    float outputs[2][CLASSES];
    done(liana_predict(own.model, data, NULL, outputs[0])); /* which looks at no labels */
    liana_dataset_close(data);
    liana_preprocessing known = liana_model_preprocessing(own.model);
    liana_dataset_options options = {.class_names = known.class_names};
    done(liana_dataset_open(own.context, liana__test_path("some"), &options, &data));
    int64_t num_classes;
    done(liana_dataset_count_classes(data, &num_classes));
    assert_int_equal(num_classes, 4); /* 'lower right' is number 3 */
    done(liana_evaluate(own.model, data, NULL, &results));
    liana_dataset_close(data);
    tear_down(&own);
}

/* A model that knows nothing learns the names of the folders that it is fitted to. */
static void test_a_fit_teaches_names(void **state)
{
    (void)state;
    fixture own = set_up();
    write_class_folders("all", NAMES, CLASSES);
    liana_dataset *data;
    done(liana_dataset_open(own.context, liana__test_path("all"), NULL, &data));
    done(liana_model_set_preprocessing(own.model, &(liana_preprocessing){0}));
    done(liana_fit(own.model, &(liana_fit_options){.training = data}));
    liana_preprocessing known = liana_model_preprocessing(own.model);
    assert_int_equal(known.scale, LIANA_SCALE_ZERO_ONE);
    assert_int_equal(known.num_class_names, CLASSES);
    assert_string_equal(known.class_names[0], "lower left"); /* by name */
    liana_dataset_close(data);
    tear_down(&own);
}

/* Of numbers a model knows that they are no names, through a folder too, until it is given names. */
static void test_a_fit_teaches_numbers(void **state)
{
    (void)state;
    fixture own = set_up();
    write_class_folders("all", NAMES, CLASSES);
    liana_dataset *numbers, *folders;
    liana_model *copy;
    liana_results results;
    done(liana_dataset_open(own.context, liana__test_path("train-images"), NULL, &numbers));
    done(liana_dataset_open(own.context, liana__test_path("all"), NULL, &folders));
    refused(liana_fit(own.model, &(liana_fit_options){.training = numbers}), LIANA_INVALID_ARGUMENT,
            "these have numbers for their classes");
    done(liana_model_set_preprocessing(own.model, &(liana_preprocessing){0}));
    done(liana_fit(own.model, &(liana_fit_options){.training = numbers}));
    assert_null(liana_model_preprocessing(own.model).class_names);
    done(liana_model_save(own.model, liana__test_path("saved")));
    done(liana_model_load(own.context, liana__test_path("saved"), &copy));
    liana_preprocessing known = liana_model_preprocessing(copy);
    assert_null(known.class_names);
    known.antialias = false;
    done(liana_model_set_preprocessing(copy, &known));
    refused(liana_evaluate(copy, folders, NULL, &results), LIANA_INVALID_ARGUMENT,
            "fitted to data that have numbers for their classes; these have 4 classes: lower left, lower right, ");
    known.class_names = (const char *const[]){"lower left", "lower right", "upper left", "upper right", NULL};
    done(liana_model_set_preprocessing(copy, &known));
    assert_int_equal(liana_model_preprocessing(copy).num_class_names, CLASSES);
    done(liana_evaluate(copy, folders, NULL, &results));
    liana_model_destroy(copy);
    liana_dataset_close(numbers);
    liana_dataset_close(folders);
    tear_down(&own);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    fixture own = set_up();
    liana_dataset *data;
    liana_results results;
    liana_dataset_options options = {.scale = LIANA_SCALE_NONE, .class_names = NAMES};
    done(liana_dataset_open(own.context, liana__test_path("validation-images"), &options, &data));
    refused(liana_evaluate(own.model, data, NULL, &results), LIANA_INVALID_ARGUMENT,
            "opened with the scale 'none', but the model's images have '-1..1'");
    done(liana_fit(own.model, &(liana_fit_options){.training = data})); /* which may teach another one */
    assert_int_equal(liana_model_preprocessing(own.model).scale, LIANA_SCALE_NONE);
    done(liana_evaluate(own.model, data, NULL, &results));
    liana_dataset_close(data);
    refused(liana_model_set_preprocessing(own.model, &(liana_preprocessing){.scale = (liana_scale)17}),
            LIANA_INVALID_ARGUMENT, "found the scale 17");
    liana_preprocessing wrong = {.class_names = NAMES, .num_class_names = CLASSES - 1};
    refused(liana_model_set_preprocessing(own.model, &wrong), LIANA_INVALID_ARGUMENT,
            "3 names of classes, but the model has 4 outputs");
    assert_int_equal(liana_model_preprocessing(own.model).scale, LIANA_SCALE_NONE);
    tear_down(&own);
}

/* Files that somebody has edited, or a later liana wrote. */
static void test_damaged_folders(void **state)
{
    (void)state;
    fixture own = set_up();
    liana_model *copy;
    liana__error error = {0};
    static const char *const lines[] = {"{\"scale\": \"log\"}", "{",
                                        "{\"scale\": \"none\", \"class_names\": [1,2,3,4]}",
                                        "{\"scale\": \"none\", \"class_names\": [\"a\"]}"};
    static const char *const texts[] = {"found the scale 'log'", "preprocessing:1:", "the name of class 0",
                                        "found 1 names of classes, but the model has 4 outputs"};
    done(liana_model_save(own.model, liana__test_path("saved")));
    char path[300];
    snprintf(path, sizeof path, "%s", liana__test_path("saved/weights.safetensors"));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        liana__safetensors file;
        assert_ok(liana__safetensors_open(path, &file, &error), &error);
        liana__safetensors_entry entry = {"preprocessing", lines[i]};
        liana__safetensors_contents contents = file.contents;
        liana__safetensors_tensor tensors[16];
        assert_compare(contents.num_tensors, <=, 16);
        for (size_t k = 0; k < contents.num_tensors; k++) {
            void *data;
            tensors[k] = contents.tensors[k];
            assert_ok(liana__safetensors_take(&file, &tensors[k], &data, &error), &error);
            tensors[k].data = data;
        }
        contents.tensors = tensors;
        contents.metadata = &entry;
        contents.num_metadata = 1;
        assert_ok(liana__safetensors_write(path, &contents, false, NULL, &error), &error);
        for (size_t k = 0; k < contents.num_tensors; k++) free((void *)(uintptr_t)tensors[k].data);
        liana__safetensors_close(&file);
        refused(liana_model_load(own.context, liana__test_path("saved"), &copy), LIANA_INVALID_DATA, texts[i]);
        refused(LIANA_INVALID_DATA, LIANA_INVALID_DATA, "saved/weights.safetensors");
    }
    liana__test_write("run/config.yaml", "data: {scale: log}\n", 19);
    refused(liana_model_load(own.context, own.run, &copy), LIANA_INVALID_CONFIG, "config.yaml:1");
    /* Weights and architecture alone are a model too, which knows nothing. */
    remove(liana__test_path("run/config.yaml"));
    done(liana_model_load(own.context, own.run, &copy));
    assert_int_equal(liana_model_preprocessing(copy).scale, LIANA_SCALE_AUTO);
    liana_model_destroy(copy);
    tear_down(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_predictions_are_those_of_the_command),
        cmocka_unit_test(test_evaluation_is_that_of_the_command),
        cmocka_unit_test(test_frames_are_brought_to_the_input),
        cmocka_unit_test(test_scales_of_frames),
        cmocka_unit_test(test_a_checkpoint_is_loaded_as_a_model),
        cmocka_unit_test(test_a_saved_model_keeps_it),
        cmocka_unit_test(test_class_folders_are_numbered_as_the_model_says),
        cmocka_unit_test(test_a_fit_teaches_names),
        cmocka_unit_test(test_a_fit_teaches_numbers),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_damaged_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
