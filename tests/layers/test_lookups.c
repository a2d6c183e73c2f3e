/* Lookups of whole numbers, crosses, bins and spectra: the results of Keras 3.15.1 with TensorFlow 2.21, computed once
 * with the options that stand here. */
#include "harness/harness.h"

#include "harness/one_context.h"

#include "base/context.h"
#include "layers/model.h"

#include <liana/dataset.h>
#include <liana/layers.h>
#include <liana/train.h>
#include <math.h>
#include <string.h>

static liana_bytes text(const char *from)
{
    return (liana_bytes){from, strlen(from)};
}

static liana_model *begin(void)
{
    liana_model *model;
    assert_ok(liana_model_create(context, "lookups", &model), &context->error);
    return model;
}

/* The model's predictions are these numbers. */
static void check(liana_model *model, const liana_array *arrays, size_t num_arrays, const float *expected, size_t count,
                  double tolerance)
{
    float found[64] = {0};
    assert_ok(liana_model_status(model), &context->error);
    assert_compare(count, <=, 64);
    assert_ok(liana_predict_on_batch(model, arrays, num_arrays, found), &context->error);
    for (size_t i = 0; i < count; i++) assert_near(found[i], expected[i], tolerance);
    liana_model_destroy(model);
}

/* A model of whole numbers: the layer is added next. */
static liana_model *begin_numbers(int64_t count)
{
    liana_model *model = begin();
    liana_input(model, .name = "x", .shape = LIANA_INTS(count), .dtype = LIANA_S32);
    return model;
}

static void test_whole_numbers_are_looked_up(void **state)
{
    (void)state;
    const int64_t values[] = {12, 1138, 0, -42, 7, -8}, others[] = {12, 7, -8, 9}, places[] = {1, 3, 4, 4, 0, 9};
    const liana_array two = {"x", LIANA_S64, liana_shape_of(2, 3), values}, one = {"x", LIANA_S64, {2, {1, 4}}, others};
    const liana_array back = {"x", LIANA_S64, liana_shape_of(2, 3), places};
    liana_model *model = begin_numbers(3);
    liana_integer_lookup(model, .vocabulary = LIANA_INTEGERS(12, 36, 1138, -42), .num_oov_indices = 3,
                         .mask_token = LIANA_INTS(0));
    check(model, &two, 1, (const float[]){4, 6, 0, 7, 2, 2}, 6, 0);
    model = begin_numbers(4);
    liana_integer_lookup(model, .vocabulary = LIANA_INTEGERS(12, 36), .num_oov_indices = 3,
                         .oov_method = LIANA_OOV_FARMHASH);
    check(model, &one, 1, (const float[]){3, 1, 2, 2}, 4, 0);
    model = begin_numbers(4);
    liana_integer_lookup(model, .vocabulary = LIANA_INTEGERS(12, 36), .num_oov_indices = 3,
                         .oov_method = LIANA_OOV_FARMHASH, .salt = LIANA_INTS(7));
    check(model, &one, 1, (const float[]){3, 1, 1, 1}, 4, 0);
    model = begin_numbers(3);
    liana_integer_lookup(model, .vocabulary = LIANA_INTEGERS(12, 36, 1138, 42), .invert = true);
    check(model, &back, 1, (const float[]){12, 1138, 42, 42, -1, -1}, 6, 0);
}

/* Keras's documentation has the first of these, too. */
static void test_crosses_have_the_bins_of_tensorflow(void **state)
{
    (void)state;
    const liana_bytes words[] = {text("A"), text("B"), text("A"), text("B"), text("A")};
    const int64_t numbers[] = {101, 101, 101, 102, 102};
    const int32_t a[] = {3, -4, 5}, b[] = {-1, 0, 7}, c[] = {9, 9, 8};
    const liana_array mixed[] = {{"a", LIANA_STRING, liana_shape_of(5, 1), words},
                                 {"b", LIANA_S64, liana_shape_of(5, 1), numbers}};
    const liana_array three[] = {{"a", LIANA_S32, liana_shape_of(3, 1), a},
                                 {"b", LIANA_S32, liana_shape_of(3, 1), b},
                                 {"c", LIANA_S32, liana_shape_of(3, 1), c}};
    liana_model *model = begin();
    liana_layer first = liana_input(model, .name = "a", .shape = LIANA_INTS(1), .dtype = LIANA_STRING);
    liana_layer second = liana_input(model, .name = "b", .shape = LIANA_INTS(1), .dtype = LIANA_S32);
    liana_hashed_crossing(model, .inputs = {first, second}, .num_bins = 5);
    check(model, mixed, 2, (const float[]){1, 4, 1, 1, 3}, 5, 0);
    model = begin();
    first = liana_input(model, .name = "a", .shape = LIANA_INTS(1), .dtype = LIANA_S32);
    second = liana_input(model, .name = "b", .shape = LIANA_INTS(1), .dtype = LIANA_S32);
    liana_layer third = liana_input(model, .name = "c", .shape = LIANA_INTS(1), .dtype = LIANA_S32);
    liana_hashed_crossing(model, .inputs = {first, second, third}, .num_bins = 31);
    check(model, three, 3, (const float[]){30, 22, 20}, 3, 0);
    model = begin();
    first = liana_input(model, .name = "a", .shape = LIANA_INTS(1), .dtype = LIANA_STRING);
    second = liana_input(model, .name = "b", .shape = LIANA_INTS(1), .dtype = LIANA_STRING);
    liana_hashed_crossing(model, .inputs = {first, second}, .num_bins = 7, .output_mode = LIANA_OUTPUT_ONE_HOT);
    const liana_bytes left[] = {text("a"), text("b")}, right[] = {text("x"), text("")};
    const liana_array texts[] = {{"a", LIANA_STRING, liana_shape_of(2, 1), left},
                                 {"b", LIANA_STRING, liana_shape_of(2, 1), right}};
    check(model, texts, 2, (const float[]){0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 14, 0);
}

static void test_values_have_their_bins(void **state)
{
    (void)state;
    const float values[] = {-1.5F, 1, 3.4F, .5F, 0, 3, 1.3F, NAN};
    const liana_array array = {"x", LIANA_F32, liana_shape_of(2, 4), values};
    liana_model *model = begin();
    liana_input(model, .name = "x", .shape = LIANA_INTS(4));
    liana_discretization(model, .bin_boundaries = LIANA_FLOATS(0, 1, 2));
    check(model, &array, 1, (const float[]){0, 2, 3, 1, 1, 3, 2, 3}, 8, 0);
    model = begin();
    liana_input(model, .name = "x", .shape = LIANA_INTS(4));
    liana_discretization(model, .bin_boundaries = LIANA_FLOATS(0, 1, 2), .output_mode = LIANA_OUTPUT_COUNT);
    check(model, &array, 1, (const float[]){1, 1, 1, 1, 0, 1, 1, 2}, 8, 0);
    model = begin();
    liana_input(model, .name = "x", .shape = LIANA_INTS(4));
    liana_discretization(model, .bin_boundaries = LIANA_FLOATS(0.25), .output_mode = LIANA_OUTPUT_ONE_HOT);
    check(model, &array, 1, (const float[]){1, 0, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1}, 16, 0);
}

/* ---- found in data ---- */

static liana_dataset *slices(int dtype, liana_shape shape, const void *data)
{
    const liana_array array = {"x", dtype, shape, data};
    liana_dataset *dataset = liana_dataset_from_tensor_slices(context, &array, 1);
    assert_non_null(dataset);
    return dataset;
}

static void check_boundaries(const float *values, int64_t count, int64_t bins, double epsilon, const double *expected)
{
    liana_dataset *dataset = slices(LIANA_F32, liana_shape_of(count, 1), values);
    liana_model *model = begin();
    liana_input(model, .name = "x", .shape = LIANA_INTS(1));
    liana_layer layer = liana_discretization(model, .num_bins = bins, .epsilon = epsilon);
    assert_ok(liana_layer_adapt(layer, dataset, NULL), &context->error);
    const liana_discretization_options *options = model->layers[1].options;
    assert_int_equal(options->bin_boundaries.count, bins - 1);
    for (int64_t i = 0; i + 1 < bins; i++) assert_near(options->bin_boundaries.items[i], expected[i], 2e-4);
    liana_dataset_close(dataset);
    liana_model_destroy(model);
}

static void test_boundaries_are_those_that_keras_finds(void **state)
{
    (void)state;
    static float waves[1000], shuffled[1000];
    for (int i = 0; i < 1000; i++) waves[i] = 3 * sinf((float)i * 0.37F);
    for (int i = 0; i < 1000; i++) shuffled[i] = (float)(i * 37 % 1000);
    const float few[] = {-1.5F, 1, 3.4F, .5F, 0, 3, 1.3F, 0};
    check_boundaries(few, 8, 4, 0.01, (const double[]){0, 0.5, 1.3});
    check_boundaries(waves, 1000, 5, 0.02, (const double[]){-2.434021, -0.930825, 0.943402, 2.417774});
    check_boundaries(waves, 1000, 7, 0.01,
                     (const double[]){-2.697637, -1.874971, -0.650162, 0.662026, 1.879643, 2.703433});
    check_boundaries(shuffled, 1000, 5, 0.02, (const double[]){198.99994, 398.99979, 598.99982, 798.99988});
    check_boundaries(shuffled, 10, 3, 0.3, (const double[]){74, 185});
}

static void check_vocabulary(const liana_strings *found, const char *const *expected, size_t count)
{
    assert_int_equal(found->count, count);
    for (size_t i = 0; i < count; i++) assert_string_equal(found->items[i], expected[i]);
}

/* The most frequent come first, and of equals the greatest. */
static void test_vocabularies_are_those_that_keras_finds(void **state)
{
    (void)state;
    const liana_bytes words[] = {text("b"), text("a"), text("b"), text("c"), text("a"), text("d")};
    const int64_t numbers[] = {5, 0, -3, 5, 9, 10, 10, 2, 0};
    const liana_bytes texts[] = {text("the cat"), text("The cat sat"), text("a dog, the dog"), text("")};
    liana_dataset *dataset = slices(LIANA_STRING, liana_shape_of(3, 2), words);
    liana_model *model = begin();
    liana_input(model, .name = "x", .shape = LIANA_INTS(2), .dtype = LIANA_STRING);
    liana_layer layer = liana_string_lookup(model, .output_mode = LIANA_OUTPUT_MULTI_HOT);
    assert_ok(liana_layer_adapt(layer, dataset, NULL), &context->error);
    const liana_string_lookup_options *lookup = model->layers[1].options;
    check_vocabulary(&lookup->vocabulary, (const char *const[]){"b", "a", "d", "c"}, 4);
    assert_int_equal(liana_layer_shape(layer).dims[1], 5);
    liana_dataset_close(dataset);
    liana_model_destroy(model);

    dataset = slices(LIANA_S64, liana_shape_of(3, 3), numbers);
    model = begin_numbers(3);
    layer = liana_integer_lookup(model, .max_tokens = 4, .mask_token = LIANA_INTS(0));
    assert_ok(liana_layer_adapt(layer, dataset, NULL), &context->error);
    const liana_integer_lookup_options *integers = model->layers[1].options;
    assert_int_equal(integers->vocabulary.count, 2);
    assert_int_equal(integers->vocabulary.items[0], 10);
    assert_int_equal(integers->vocabulary.items[1], 5);
    liana_dataset_close(dataset);
    liana_model_destroy(model);

    dataset = slices(LIANA_STRING, liana_shape_of(4, 1), texts);
    model = begin();
    liana_input(model, .name = "x", .shape = LIANA_INTS(1), .dtype = LIANA_STRING);
    layer = liana_text_vectorization(model, .output_mode = LIANA_OUTPUT_TF_IDF);
    assert_ok(liana_layer_adapt(layer, dataset, NULL), &context->error);
    const liana_array array = {"x", LIANA_STRING, liana_shape_of(4, 1), texts};
    const float rows[] = {0, 0.6931472F, 0,          0.8472978F, 0, 0,          0,          0.6931472F,
                          0, 0.8472978F, 1.0986123F, 0,          0, 0.6931472F, 2.1972246F, 0,
                          0, 1.0986123F, 0,          0,          0, 0,          0,          0};
    check(model, &array, 1, rows, 24, 1e-6);
    liana_dataset_close(dataset);
}

static void test_what_cannot_be_found_is_said(void **state)
{
    (void)state;
    const float holes[] = {1, 2, NAN, 3};
    const liana_bytes words[] = {text("b"), text("a")};
    liana_dataset *damaged = slices(LIANA_F32, liana_shape_of(2, 2), holes);
    liana_dataset *texts = slices(LIANA_STRING, liana_shape_of(2, 1), words);
    liana_model *model = begin();
    liana_input(model, .name = "x", .shape = LIANA_INTS(2));
    liana_layer layer = liana_discretization(model, .name = "bins", .num_bins = 2);
    liana_dense(model, .units = 1);
    float found[2];
    const liana_array array = {"x", LIANA_F32, liana_shape_of(2, 2), holes};
    assert_fails(liana_predict_on_batch(model, &array, 1, found), LIANA_INVALID_CONFIG, &context->error, "'bins'",
                 "bin_boundaries", "liana_layer_adapt");
    assert_fails(liana_layer_adapt(layer, damaged, NULL), LIANA_INVALID_DATA, &context->error, "'bins'", "element 1",
                 "'x'", "NaN");
    assert_fails(liana_layer_adapt(layer, texts, NULL), LIANA_INVALID_ARGUMENT, &context->error, "expected numbers");
    liana_model_destroy(model);

    model = begin();
    liana_input(model, .name = "x", .shape = LIANA_INTS(1), .dtype = LIANA_STRING);
    layer = liana_string_lookup(model, .name = "rows", .output_mode = LIANA_OUTPUT_COUNT);
    liana_dense(model, .units = 1);
    assert_fails(liana_layer_adapt(layer, texts, NULL), LIANA_INVALID_ARGUMENT, &context->error, "'rows'",
                 "adapt it before");
    liana_model_destroy(model);

    static const char *const known[] = {"a"};
    model = begin();
    liana_input(model, .name = "x", .shape = LIANA_INTS(1), .dtype = LIANA_STRING);
    layer = liana_string_lookup(model, .vocabulary = {1, known});
    assert_fails(liana_layer_adapt(layer, texts, NULL), LIANA_INVALID_ARGUMENT, &context->error,
                 "has its vocabulary as an option");
    liana_model_destroy(model);
    liana_dataset_close(damaged);
    liana_dataset_close(texts);
}

/* ---- spectra ---- */

static liana_model *begin_signal(int64_t count, bool has_channel)
{
    liana_model *model = begin();
    liana_input(model, .name = "x", .shape = has_channel ? LIANA_INTS(count, 1) : LIANA_INTS(count));
    return model;
}

static void test_kernels_give_the_spectra_of_keras(void **state)
{
    (void)state;
    float wave[12];
    for (int i = 0; i < 12; i++) wave[i] = sinf((float)i * 0.9F);
    const liana_array array = {"x", LIANA_F32, liana_shape_of(1, 12, 1), wave};
    liana_model *model = begin_signal(12, true);
    liana_stft_spectrogram(model, .mode = LIANA_STFT_MAGNITUDE, .frame_length = 4, .frame_step = 3, .scaling = 2);
    check(model, &array, 1,
          (const float[]){1.31788F, 0.937344F, 0.142891F, 1.06504F, 0.804771F, 0.401257F, 0.607861F, 0.595384F,
                          0.582641F},
          9, 2e-5);
    model = begin_signal(12, true);
    liana_stft_spectrogram(model, .mode = LIANA_STFT_PSD, .frame_length = 5, .fft_length = 6,
                           .padding = LIANA_PADDING_SAME);
    check(model, &array, 1,
          (const float[]){1.07569F, 1.64282F, 0.6257F,   0.0585699F, 0.320206F,    0.919974F, 0.617203F, 0.0174348F,
                          1.67518F, 2.21641F, 0.632443F, 0.0912112F, 0.000495591F, 0.614075F, 0.613607F, 2.69844e-05F,
                          1.6491F,  2.19146F, 0.63215F,  0.0897911F, 0.0421602F,   0.210026F, 0.461438F, 0.293572F},
          24, 2e-5);
    model = begin_signal(12, true);
    liana_stft_spectrogram(model, .frame_length = 4, .window = "none");
    check(model, &array, 1,
          (const float[]){0.781412F, 0.0361964F, -1.44029F, -3.97269F, 0.690625F, 0.078328F, 0.777489F, 0.0466454F,
                          -1.36818F, 0.00757772F, 0.606278F, -0.0347979F, 0.541243F, 0.390378F, -0.366102F},
          15, 2e-5);
    model = begin_signal(12, true);
    liana_stft_spectrogram(model, .mode = LIANA_STFT_STFT, .frame_length = 4, .frame_step = 4, .window = "hamming",
                           .periodic = true, .scaling = 1);
    check(model, &array, 1,
          (const float[]){0.753532F, -0.450855F, 0.148179F, 0, -0.0889867F, -5.91617e-08F, -0.61433F, 0.341372F,
                          -0.133972F, 0, 0.248586F, 4.12886e-08F, 0.348279F, -0.1614F, 0.0921021F, 0, -0.356856F,
                          -1.48902e-08F},
          18, 2e-5);
}

static void test_bands_have_the_spectra_of_keras(void **state)
{
    (void)state;
    float waves[80];
    for (int i = 0; i < 40; i++) waves[i] = sinf((float)i * 0.3F);
    for (int i = 0; i < 40; i++) waves[40 + i] = cosf((float)i * 1.1F);
    const liana_array array = {"x", LIANA_F32, liana_shape_of(2, 40), waves};
    liana_model *model = begin_signal(40, false);
    liana_mel_spectrogram(model, .fft_length = 16, .sequence_stride = 8, .sampling_rate = 1000, .num_mel_bins = 3);
    check(model, &array, 1,
          (const float[]){5.32165F,  9.17908F,  9.5476F,   9.30191F,  8.86227F,  8.41246F,  -2.0781F,  -9.11918F,
                          -9.54082F, -9.25134F, -8.81117F, -6.87382F, -10.2325F, -35.4298F, -39.0419F, -36.3072F,
                          -33.8203F, -14.3582F, 10.7162F,  10.7213F,  10.7296F,  10.7297F,  10.7215F,  7.54641F,
                          10.7287F,  10.726F,   10.7217F,  10.7217F,  10.7259F,  10.167F,   -4.56547F, -4.55971F,
                          -4.55032F, -4.55014F, -4.55942F, 4.14388F},
          36, 2e-3);
    model = begin_signal(40, false);
    liana_mel_spectrogram(model, .fft_length = 15, .sequence_stride = 10, .sequence_length = 9, .window = 1,
                          .sampling_rate = 1000, .num_mel_bins = 3, .max_freq = 300, .power_to_db = false,
                          .mag_exp = 1);
    check(model, &array, 1,
          (const float[]){0.820909F, 1.10766F,  1.27701F,  1.50456F, 0.179349F, 1.1187F,  1.15737F, 1.21583F,
                          0.58201F,  0.482265F, 0.486895F, 0.49409F, 1.14137F,  1.0546F,  1.14136F, 1.05462F,
                          2.01099F,  2.03985F,  2.01099F,  2.03985F, 2.13355F,  2.20469F, 2.13356F, 2.20468F},
          24, 2e-5);
}

/* ---- refused ---- */

static void refused(liana_model *model, const char *expected)
{
    assert_int_not_equal(liana_model_status(model), LIANA_OK);
    assert_says(context->error.message, expected);
    liana_model_destroy(model);
}

static void test_options_that_contradict_are_refused(void **state)
{
    (void)state;
    liana_model *model = begin_numbers(1);
    liana_integer_lookup(model, .vocabulary = LIANA_INTEGERS(5, 6, 5));
    refused(model, "'5' is there twice, as text 0 and as text 2");
    model = begin_numbers(1);
    liana_integer_lookup(model, .vocabulary = LIANA_INTEGERS(5), .salt = LIANA_INTS(3));
    refused(model, "oov_method: farmhash");
    model = begin_numbers(1);
    liana_integer_lookup(model, .vocabulary = LIANA_INTEGERS(5), .invert = true, .output_mode = LIANA_OUTPUT_COUNT);
    refused(model, "expected int, the only one with invert");
    model = begin_numbers(1);
    liana_integer_lookup(model, .vocabulary = LIANA_INTEGERS(4, -1));
    refused(model, "the oov_token '-1' is one of its texts");
    model = begin();
    liana_input(model, .shape = LIANA_INTS(2));
    liana_discretization(model, .bin_boundaries = LIANA_FLOATS(1, 0));
    refused(model, "found 0 after 1, expected them in ascending order");
    model = begin();
    liana_input(model, .shape = LIANA_INTS(2));
    liana_discretization(model, .epsilon = 0.1);
    refused(model, "needs bin_boundaries, or num_bins");
    model = begin();
    liana_input(model, .shape = LIANA_INTS(9, 1));
    liana_stft_spectrogram(model, .frame_length = 16);
    refused(model, "at least frame_length samples of time");
    model = begin();
    liana_input(model, .shape = LIANA_INTS(40, 1));
    liana_stft_spectrogram(model, .frame_length = 16, .window = "kaiser");
    refused(model, "found 'kaiser'");
    model = begin();
    liana_input(model, .shape = LIANA_INTS(40));
    liana_mel_spectrogram(model, .fft_length = 16, .sequence_length = 20);
    refused(model, "found 20, expected at most the fft_length, 16");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_numbers_are_looked_up),
        cmocka_unit_test(test_crosses_have_the_bins_of_tensorflow),
        cmocka_unit_test(test_values_have_their_bins),
        cmocka_unit_test(test_boundaries_are_those_that_keras_finds),
        cmocka_unit_test(test_vocabularies_are_those_that_keras_finds),
        cmocka_unit_test(test_what_cannot_be_found_is_said),
        cmocka_unit_test(test_kernels_give_the_spectra_of_keras),
        cmocka_unit_test(test_bands_have_the_spectra_of_keras),
        cmocka_unit_test(test_options_that_contradict_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
