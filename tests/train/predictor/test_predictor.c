/* Predictors: they give the bits of liana_predict_on_batch and liana_predict, for arrays, pixels and files. */
#include "harness/tiny_fit.h"

#include "formats/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 40, CLASSES = LIANA__TINY_CLASSES, SIZE = LIANA__TINY_SIZE, PIXELS = SIZE * SIZE };

static const char *const NAMES[CLASSES + 1] = {"upper left", "upper right", "lower left", "lower right", NULL};

typedef struct fixture {
    liana_context *context;
    liana_model *model; /* fitted */
    uint8_t *images;    /* [COUNT, PIXELS] */
} fixture;

static fixture set_up(void)
{
    fixture own;
    liana_dataset *data;
    liana__test_folder();
    liana__test_tiny_run(COUNT);
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &own.context), LIANA_OK);
    done(liana_dataset_open(own.context, liana__test_path("train-images"),
                            &(liana_dataset_options){.class_names = NAMES}, &data));
    own.model = liana__tiny_model(own.context);
    done(liana_fit(own.model, &(liana_fit_options){.training = data, .epochs = 2}));
    liana_dataset_close(data);
    own.images = malloc((size_t)COUNT * PIXELS);
    assert_non_null(own.images);
    for (uint32_t i = 0; i < COUNT; i++) liana__test_tiny_image(1, i, own.images + (size_t)i * PIXELS);
    return own;
}

static void tear_down(fixture *own)
{
    free(own->images);
    liana_model_destroy(own->model);
    liana_context_destroy(own->context);
}

static liana_array images_of(const fixture *own, int64_t first, int64_t count)
{
    return (liana_array){"image", LIANA_U8, liana_shape_of(count, SIZE, SIZE, 1), own->images + first * PIXELS};
}

static void ran(const liana_predictor *predictor, liana_status status, int line)
{
    if (status != LIANA_OK) print_error("%s:%d: %s\n", __FILE__, line, liana_predictor_message(predictor));
    assert_int_equal(status, LIANA_OK);
}
#define ran(predictor, status) ran((predictor), (status), __LINE__)

static void stopped(const liana_predictor *predictor, liana_status status, liana_status expected, const char *text)
{
    assert_int_equal(status, expected);
    assert_says(liana_predictor_message(predictor), text);
}

/* The whole batch has the same bits as a batch of that size elsewhere; each smaller batch the same numbers. */
static void test_arrays_are_predicted_as_elsewhere(void **state)
{
    (void)state;
    fixture own = set_up();
    liana_predictor *predictor;
    float expected[COUNT][CLASSES], outputs[COUNT][CLASSES];
    done(liana_predictor_create(own.model, &(liana_predictor_options){.batch_size = COUNT}, &predictor));
    liana_array array = images_of(&own, 0, COUNT);
    done(liana_predict_on_batch(own.model, &array, 1, expected[0]));
    ran(predictor, liana_predictor_run(predictor, &array, 1, outputs[0]));
    assert_memory_equal(outputs, expected, sizeof outputs);
    for (int64_t count = 1; count < COUNT; count++) {
        array = images_of(&own, COUNT - count, count);
        memset(outputs, 0, sizeof outputs);
        outputs[count][0] = -1;
        ran(predictor, liana_predictor_run(predictor, &array, 1, outputs[0]));
        assert_compare(outputs[count][0], ==, -1, count);
        for (int64_t i = 0; i < count; i++) {
            for (int c = 0; c < CLASSES; c++) {
                assert_near(outputs[i][c], expected[COUNT - count + i][c], 1e-6, count, i, c);
            }
        }
    }
    liana_predictor_close(predictor);
    tear_down(&own);
}

/* A folder is opened without the model; pixels of other sizes are resized as liana_prepare_image does. */
static void test_pixels_and_files_are_predicted(void **state)
{
    (void)state;
    fixture own = set_up();
    const char *folder = liana__test_path("saved");
    liana_predictor *predictor;
    float outputs[2][CLASSES], again[2][CLASSES], expected[CLASSES], *input = malloc(PIXELS * sizeof *input);
    liana__text file = {0};
    assert_non_null(input);
    done(liana_model_save(own.model, folder));
    done(liana_predictor_open(own.context, folder, &(liana_predictor_options){.batch_size = 2}, &predictor));
    const liana_predictor_facts facts = liana_predictor_info(predictor);
    assert_true(facts.takes_images);
    assert_int_equal(facts.height, SIZE);
    assert_int_equal(facts.num_values, CLASSES);
    const liana_predictor_port output = liana_predictor_output(predictor, 0);
    assert_int_equal(output.num_class_names, CLASSES);
    for (int c = 0; c < CLASSES; c++) assert_string_equal(output.class_names[c], NAMES[c]);
    assert_null(output.class_names[CLASSES]);
    assert_null(liana_predictor_output(predictor, 1).name);
    /* The same frame, and rows with a gap of three bytes that make a smaller one. */
    const liana_pixels images[] = {{own.images, SIZE, SIZE, 1, 0}, {own.images, 5, SIZE - 3, 1, SIZE}};
    ran(predictor, liana_predictor_run_images(predictor, images, 2, outputs[0]));
    for (int i = 0; i < 2; i++) {
        done(liana_prepare_image(own.model, &images[i], input));
        liana_predictor *prepared;
        done(liana_predictor_create(own.model, &(liana_predictor_options){.prepared_images = true}, &prepared));
        const liana_array array = {"x", LIANA_F32, liana_shape_of(1, SIZE, SIZE, 1), input};
        ran(prepared, liana_predictor_run(prepared, &array, 1, expected));
        for (int c = 0; c < CLASSES; c++) assert_near(outputs[i][c], expected[c], 1e-6, i, c);
        liana_predictor_close(prepared);
    }
    assert_int_equal(liana__png_encode(own.images, SIZE, SIZE, 1, &file, NULL), LIANA_OK);
    const liana_bytes files[] = {{file.data, file.length}, {file.data, file.length}};
    ran(predictor, liana_predictor_run_encoded(predictor, files, 2, again[0]));
    assert_memory_equal(again[0], outputs[0], sizeof again[0]);
    assert_memory_equal(again[1], outputs[0], sizeof again[0]);
    free(input);
    liana__text_free(&file);
    liana_predictor_close(predictor);
    tear_down(&own);
}

static void test_bad_input_is_refused_and_named(void **state)
{
    (void)state;
    fixture own = set_up();
    liana_predictor *predictor;
    float outputs[4][CLASSES], values[2 * PIXELS] = {0};
    refused(liana_predictor_create(own.model, &(liana_predictor_options){.batch_size = -1}, &predictor),
            LIANA_INVALID_ARGUMENT, "batch_size is -1");
    refused(liana_predictor_open(own.context, liana__test_path("nothing"), NULL, &predictor), LIANA_NOT_FOUND,
            "nothing");
    assert_null(predictor);
    done(liana_predictor_create(own.model, &(liana_predictor_options){.batch_size = 4}, &predictor));
    liana_array array = images_of(&own, 0, 5);
    stopped(predictor, liana_predictor_run(predictor, &array, 1, outputs[0]), LIANA_INVALID_ARGUMENT,
            "found 5 examples, expected 1 to 4");
    array = images_of(&own, 0, 2);
    array.shape.dims[2] = SIZE - 1;
    stopped(predictor, liana_predictor_run(predictor, &array, 1, outputs[0]), LIANA_INVALID_ARGUMENT, "expected");
    array = (liana_array){"image", LIANA_F32, liana_shape_of(2, SIZE, SIZE, 1), values};
    values[PIXELS + 7] = NAN;
    stopped(predictor, liana_predictor_run(predictor, &array, 1, outputs[0]), LIANA_OUT_OF_RANGE, "example 1 of");
    values[PIXELS + 7] = -1;
    stopped(predictor, liana_predictor_run(predictor, &array, 1, outputs[0]), LIANA_OUT_OF_RANGE, "prepared_images");
    const liana_array two[] = {images_of(&own, 0, 2), images_of(&own, 0, 2)};
    stopped(predictor, liana_predictor_run(predictor, two, 2, outputs[0]), LIANA_INVALID_ARGUMENT, "'image'");
    stopped(predictor, liana_predictor_run(predictor, two, 0, outputs[0]), LIANA_INVALID_ARGUMENT, "found 0 examples");
    const liana_bytes files[] = {{"no image", 8}};
    stopped(predictor, liana_predictor_run_encoded(predictor, files, 1, outputs[0]), LIANA_INVALID_DATA, "image 0");
    const liana_pixels nothing = {NULL, 3, 3, 1, 0};
    stopped(predictor, liana_predictor_run_images(predictor, &nothing, 1, outputs[0]), LIANA_INVALID_ARGUMENT, "NULL");
    /* It can be used again. The array of an only input needs no name. */
    float unnamed[4][CLASSES];
    array = images_of(&own, 0, 4);
    ran(predictor, liana_predictor_run(predictor, &array, 1, outputs[0]));
    array.name = NULL;
    ran(predictor, liana_predictor_run(predictor, &array, 1, unnamed[0]));
    assert_memory_equal(unnamed, outputs, sizeof outputs);
    array.dtype = LIANA_S32;
    stopped(predictor, liana_predictor_run(predictor, &array, 1, outputs[0]), LIANA_INVALID_ARGUMENT,
            "the array 'input_1' is s32");
    array.data = NULL;
    stopped(predictor, liana_predictor_run(predictor, &array, 1, outputs[0]), LIANA_INVALID_ARGUMENT,
            "the array 'input_1' has no data");
    liana_predictor_close(predictor);
    tear_down(&own);
}

/* The generated test of NULL arguments has no predictor. */
static void test_nothing_is_refused(void **state)
{
    (void)state;
    fixture own = set_up();
    liana_predictor *predictor, *other;
    liana_image_decoder *decoder;
    float outputs[CLASSES];
    const liana_array array = images_of(&own, 0, 1);
    done(liana_predictor_create(own.model, NULL, &predictor));
    stopped(predictor, liana_predictor_run(predictor, NULL, 1, outputs), LIANA_INVALID_ARGUMENT, "arrays");
    stopped(predictor, liana_predictor_run(predictor, &array, 1, NULL), LIANA_INVALID_ARGUMENT, "outputs");
    stopped(predictor, liana_predictor_run_images(predictor, NULL, 1, outputs), LIANA_INVALID_ARGUMENT, "images");
    stopped(predictor, liana_predictor_run_encoded(predictor, NULL, 1, outputs), LIANA_INVALID_ARGUMENT, "images");
    stopped(predictor, liana_image_decoder_create(predictor, NULL, NULL), LIANA_INVALID_ARGUMENT, "decoder");
    refused(liana_predictor_share(predictor, NULL, NULL), LIANA_INVALID_ARGUMENT, "other");
    assert_int_equal(liana_predictor_share(NULL, NULL, &other), LIANA_INVALID_ARGUMENT);
    assert_null(other);
    ran(predictor, liana_image_decoder_create(predictor, NULL, &decoder));
    assert_int_equal(liana_image_decode(decoder, NULL, 1, outputs), LIANA_INVALID_ARGUMENT);
    assert_says(liana_image_decoder_message(decoder), "bytes");
    assert_int_equal(liana_image_resize(decoder, NULL, outputs), LIANA_INVALID_ARGUMENT);
    assert_says(liana_image_decoder_message(decoder), "image");
    liana_image_decoder_destroy(decoder);
    liana_predictor_close(predictor);
    tear_down(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrays_are_predicted_as_elsewhere),
        cmocka_unit_test(test_pixels_and_files_are_predicted),
        cmocka_unit_test(test_bad_input_is_refused_and_named),
        cmocka_unit_test(test_nothing_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
