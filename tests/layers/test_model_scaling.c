/* How pixels enter a model that nobody says it of: a Rescaling or Normalization scales them. And Rescaling by channel,
 * Keras's second one in EfficientNets, hard_sigmoid of Keras 2 and 3, and `groups` of Keras 2. */
#include "harness/command_run.h"

#include "backends/backend.h"
#include "base/file.h"
#include "formats/json.h"
#include "harness/model_run.h"
#include "models/models.h"
#include "models/preprocessing.h"

#include <liana/train.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static liana_context *context;
static liana_model *model;
static liana__device *device;
static liana__arena arena;
static liana__error error;

static int set_up(void **state)
{
    (void)state;
    error = (liana__error){0};
    if (liana_context_create(&(liana_context_options){.num_threads = 1}, &context) != LIANA_OK) return -1;
    if (liana__device_open(context, "cpu", &device, &error) != LIANA_OK) return -1;
    return liana_model_create(context, NULL, &model) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    liana_model_destroy(model);
    liana__device_close(device);
    liana_context_destroy(context);
    liana__arena_free(&arena);
    return 0;
}

/* ---- the scale ---- */

static void assert_scale(liana_scale known, liana_scale assumed)
{
    assert_int_equal(liana_model_status(model), LIANA_OK);
    assert_int_equal(liana_model_preprocessing(model).scale, known);
    assert_int_equal(liana__scale_assumed(model), assumed);
}

static void test_rescaling_scales(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(8, 8, 3));
    liana_rescaling(model, .scale = 1 / 255.0);
    liana_flatten(model);
    assert_scale(LIANA_SCALE_NONE, LIANA_SCALE_NONE);
}

static void test_normalization_behind_padding_scales(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(8, 8, 3));
    liana_zero_padding2d(model, .padding = LIANA_INTS(1));
    liana_dropout(model, .rate = 0.1);
    liana_normalization(model);
    assert_scale(LIANA_SCALE_NONE, LIANA_SCALE_NONE);
}

/* The image is the second of two inputs; the table has a Normalization of its own. */
static void test_one_of_two_inputs(void **state)
{
    (void)state;
    liana_layer table = liana_input(model, .shape = LIANA_INTS(4), .name = "table");
    liana_layer image = liana_input(model, .shape = LIANA_INTS(8, 8, 3), .name = "picture");
    liana_layer numbers = liana_normalization(model, .input = table);
    liana_layer scaled = liana_rescaling(model, .scale = 1 / 127.5, .offset = -1, .input = image);
    liana_layer flat = liana_flatten(model, .input = scaled);
    liana_concatenate(model, .inputs = {numbers, flat});
    assert_scale(LIANA_SCALE_NONE, LIANA_SCALE_NONE);
}

static void test_another_inputs_normalization_does_not_count(void **state)
{
    (void)state;
    liana_layer table = liana_input(model, .shape = LIANA_INTS(4), .name = "table");
    liana_layer image = liana_input(model, .shape = LIANA_INTS(8, 8, 3), .name = "picture");
    liana_layer numbers = liana_normalization(model, .input = table);
    liana_layer flat = liana_flatten(model, .input = image);
    liana_concatenate(model, .inputs = {numbers, flat});
    assert_scale(LIANA_SCALE_AUTO, LIANA_SCALE_ZERO_ONE);
}

static void test_batch_normalization_does_not_scale(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(8, 8, 3));
    liana_batch_normalization(model);
    assert_scale(LIANA_SCALE_AUTO, LIANA_SCALE_ZERO_ONE);
}

static void test_rescaling_of_features_does_not_count(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(8, 8, 3));
    liana_conv2d(model, .filters = 2, .kernel_size = 3);
    liana_rescaling(model, .scale = 0.5);
    assert_scale(LIANA_SCALE_AUTO, LIANA_SCALE_ZERO_ONE);
}

static void test_nested_model_scales(void **state)
{
    (void)state;
    liana_model *inner;
    assert_int_equal(liana_model_create(context, "inner", &inner), LIANA_OK);
    liana_input(inner, .shape = LIANA_INTS(8, 8, 3));
    liana_rescaling(inner, .scale = 1 / 255.0);
    liana_conv2d(inner, .filters = 2, .kernel_size = 3);
    liana_input(model, .shape = LIANA_INTS(8, 8, 3));
    liana_nested(model, .nested = inner);
    liana_flatten(model);
    assert_scale(LIANA_SCALE_NONE, LIANA_SCALE_NONE);
    liana_model_destroy(inner);
}

/* ---- in runs ---- */

static void write_text(const char *name, const char *text)
{
    assert_ok(liana__file_replace(liana__test_path(name), text, strlen(text), &error), &error);
}

/* The messages of a training and a prediction, and the records of the run folder. */
static void check_run(const char *layer, const char *says, const char *records)
{
    char config[600], run[600], text[600], folder[700];
    liana__test_folder();
    liana__test_tiny_data("train", 16, 1);
    snprintf(text, sizeof text,
             "data: {train: {images: train-images, labels: train-labels}}\n"
             "model: {layers: [%s, Flatten, {Dense: {units: 4, activation: softmax}}]}\n"
             "train: {epochs: 1, batch_size: 8}\n",
             layer);
    write_text("c.yaml", text);
    snprintf(config, sizeof config, "%s", liana__test_path("c.yaml"));
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    liana__test_result got = liana__test_command("train", config, "--out", run);
    assert_says(got.out, says);
    assert_code(got, 0);
    char *written;
    size_t size;
    snprintf(folder, sizeof folder, "%s/config.yaml", run);
    assert_ok(liana__file_read(folder, 1 << 20, &written, &size, &error), &error);
    assert_says(written, records);
    free(written);
    /* The architecture alone says it again; a run does not need to. */
    char file[700], setting[600];
    snprintf(file, sizeof file, "%s/model.json", run);
    snprintf(setting, sizeof setting, "%s", liana__test_path("train-images"));
    char out[600];
    snprintf(out, sizeof out, "%s", liana__test_path("predictions.csv"));
    got = liana__test_command("predict", run, "--data", setting, "--out", out);
    assert_never_says(got.err, "data.scale");
    assert_code(got, 0);
}

static void test_runs_say_what_they_assume(void **state)
{
    (void)state;
    check_run("{Rescaling: {scale: 0.00392156862745098}}",
              "(data.scale: none), since the layer 'rescaling' scales them", "scale: none");
    check_run("{ZeroPadding2D: {padding: 1}}, {Rescaling: {scale: 0.0078125}}",
              "since the layer 'rescaling' scales them", "scale: none");
    check_run("BatchNormalization", "pixels are divided by 255 (data.scale: 0..1)", "0..1");
    check_run("{Conv2D: {filters: 2, kernel_size: 3}}", "pixels are divided by 255", "0..1");
}

static char *predict_with(const char *run)
{
    char folder[600], data[600], out[600], *text;
    size_t size;
    snprintf(folder, sizeof folder, "%s", liana__test_path(run));
    snprintf(data, sizeof data, "%s", liana__test_path("train-images"));
    snprintf(out, sizeof out, "%s", liana__test_path("predictions.csv"));
    assert_code(liana__test_command("predict", folder, "--data", data, "--out", out), 0);
    assert_ok(liana__file_read(out, 1 << 20, &text, &size, &error), &error);
    return text;
}

/* A run folder of before hard_sigmoid became Keras 3's goes on with the hard_sigmoid of its training. */
static void test_older_runs_keep_their_hard_sigmoid(void **state)
{
    (void)state;
    char config[600], run[600], *text;
    size_t size;
    liana__test_folder();
    liana__test_tiny_data("train", 16, 1);
    write_text("c.yaml", "data: {train: {images: train-images, labels: train-labels}}\n"
                         "model: {layers: [Flatten, {Dense: {units: 6, activation: hard_sigmoid_keras2}}, "
                         "{Dense: {units: 4, activation: softmax}}]}\n"
                         "train: {epochs: 1, batch_size: 8}\n");
    snprintf(config, sizeof config, "%s", liana__test_path("c.yaml"));
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    assert_code(liana__test_command("train", config, "--out", run), 0);
    char *expected = predict_with("run");
    assert_ok(liana__file_read(liana__test_path("run/config.yaml"), 1 << 20, &text, &size, &error), &error);
    char *name = strstr(text, "hard_sigmoid_keras2");
    assert_non_null(name);
    memmove(name + strlen("hard_sigmoid"), name + strlen("hard_sigmoid_keras2"),
            strlen(name + strlen("hard_sigmoid_keras2")) + 1);
    /* The same word in a run of today. */
    write_text("run/config.yaml", text);
    char *other = predict_with("run");
    assert_string_not_equal(other, expected);
    char *line = strstr(text, "    round: false\n");
    assert_non_null(line);
    memmove(line, line + strlen("    round: false\n"), strlen(line + strlen("    round: false\n")) + 1);
    write_text("run/config.yaml", text);
    char *kept = predict_with("run");
    assert_string_equal(kept, expected);
    free(kept);
    free(other);
    free(text);
    free(expected);
}

/* ---- Rescaling by channel ---- */

static const char by_channel[] =
    "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"m\", \"layers\": ["
    "{\"class_name\": \"InputLayer\", \"config\": {\"batch_input_shape\": [null, 2, 1, 3], \"name\": \"i\"}},"
    "{\"class_name\": \"Rescaling\", \"config\": {\"name\": \"r\", \"scale\": [0.5, 2.0, -1.0], "
    "\"offset\": [1.0, 0.0, 10.0]}},"
    "{\"class_name\": \"Rescaling\", \"config\": {\"name\": \"s\", \"scale\": 2.0, \"offset\": [0.0, 0.5, 0.0]}}]}}";

static void read_json(const char *text)
{
    liana__value *value;
    assert_ok(liana__json_parse(text, strlen(text), "model.json", &arena, &value, &error), &error);
    liana_status status = liana__model_from_keras(model, value);
    assert_int_equal(status, liana_model_status(model));
}

static void check_by_channel(void)
{
    const float input[] = {1, 2, 3, 4, 5, 6};
    /* x * scale[c] + offset[c], then 2 x + offset[c]. */
    const float expected[] = {3, 8.5f, 14, 6, 20.5f, 8};
    assert_ok(liana_model_status(model), &context->error);
    float **weights = liana__test_weights(model, 1);
    float **results = liana__test_model_run(device, model, weights, input, 1);
    for (int i = 0; i < 6; i++) assert_near(results[2][i], expected[i], 1e-5f, i);
    liana__test_free_arrays(results, model->num_layers);
    liana__test_free_arrays(weights, model->num_weights);
}

static void test_rescaling_by_channel(void **state)
{
    (void)state;
    read_json(by_channel);
    check_by_channel();
    /* And as liana writes it. */
    const liana__value *written = liana__model_to_keras(model, LIANA__KERAS3, &arena);
    liana__text text = {0};
    liana__value_write_json(written, 0, &text);
    assert_says(text.data, "\"scale\": [0.5, 2.0, -1.0]");
    liana_model_destroy(model);
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    read_json(text.data);
    check_by_channel();
    liana__text_free(&text);
}

static void test_other_numbers_of_channels_are_refused(void **state)
{
    (void)state;
    char text[sizeof by_channel];
    memcpy(text, by_channel, sizeof text);
    strstr(text, "1, 3]")[3] = '1';
    read_json(text);
    assert_fails(liana_model_status(model), LIANA_INVALID_ARGUMENT, &context->error, "as many channels as");
}

/* Of Keras's ImageNet weights: together both layers are (x / 255 - mean) / deviation. */
static void test_efficientnets_second_rescaling(void **state)
{
    (void)state;
    static const float mean[] = {0.485f, 0.456f, 0.406f}, deviation[] = {0.229f, 0.224f, 0.225f};
    float input[32 * 32 * 3];
    for (int i = 0; i < 32 * 32 * 3; i++) input[i] = (float)(i * 7 % 256);
    liana_efficientnet_b0(model, .input_shape = LIANA_INTS(32, 32, 3), .include_top = false,
                          .imagenet_rescaling = true);
    assert_ok(liana_model_status(model), &context->error);
    assert_string_equal(model->layers[3].name, "rescaling_1");
    float **weights = liana__test_weights(model, 1);
    memcpy(weights[0], mean, sizeof mean);
    memcpy(weights[1], deviation, sizeof deviation); /* in place of the variances, as in these weights */
    float **results = liana__test_model_run(device, model, weights, input, 1);
    for (int i = 0; i < 32 * 32 * 3; i++) {
        double expected = ((double)input[i] / 255 - (double)mean[i % 3]) / (double)deviation[i % 3];
        if (fabs((double)results[3][i] - expected) > 1e-5)
            fail_msg("%d: %g, expected %g", i, (double)results[3][i], expected);
    }
    liana__test_free_arrays(results, model->num_layers);
    liana__test_free_arrays(weights, model->num_weights);
    /* Without it there is none. */
    liana_model *plain;
    assert_int_equal(liana_model_create(context, NULL, &plain), LIANA_OK);
    liana_efficientnet_b0(plain, .input_shape = LIANA_INTS(32, 32, 3), .include_top = false);
    assert_int_equal(plain->num_layers + 1, model->num_layers);
    liana_model_destroy(plain);
}

/* ---- names of Keras's generations ---- */

/* `head` and `tail` are the text of each Keras around the layers, `shape` its key of an InputLayer. */
static void read_activation_of(const char *shape, const char *head, const char *activation, const char *tail)
{
    liana__text text = {0};
    liana__text_add(&text,
                    "{%s\"class_name\": \"Sequential\", \"config\": {\"name\": \"m\", \"layers\": ["
                    "{\"class_name\": \"InputLayer\", \"config\": {\"%s\": [null, 3], \"name\": \"i\"}},"
                    "{\"class_name\": \"Activation\", \"config\": {\"name\": \"a\", \"activation\": %s}}]}%s}",
                    head, shape, activation, tail);
    liana_model_destroy(model);
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    read_json(text.data);
    liana__text_free(&text);
}

static void read_activation(const char *head, const char *activation, const char *tail)
{
    read_activation_of(strstr(head, "module") ? "batch_shape" : "batch_input_shape", head, activation, tail);
}

static void check_activation(bool keras3)
{
    const float input[] = {-2.75f, 1, 2};
    assert_ok(liana_model_status(model), &context->error);
    float **results = liana__test_model_run(device, model, NULL, input, 1);
    for (int i = 0; i < 3; i++) {
        double x = (double)input[i], expected = keras3 ? fmin(fmax(x + 3, 0), 6) / 6 : fmin(fmax(0.2 * x + 0.5, 0), 1);
        assert_near(results[1][i], expected, 1e-6, i);
    }
    liana__test_free_arrays(results, model->num_layers);
}

static void write_and_read(liana__keras_form form, const char *expected)
{
    liana__text text = {0};
    liana__value_write_json(liana__model_to_keras(model, form, &arena), 0, &text);
    assert_says(text.data, expected);
    liana_model_destroy(model);
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    read_json(text.data);
    liana__text_free(&text);
}

/* liana's own JSON has the same meaning when it is read again. */
static void check_both(bool keras3)
{
    check_activation(keras3);
    write_and_read(LIANA__KERAS3, keras3 ? "\"hard_sigmoid\"" : "\"hard_sigmoid_keras2\"");
    check_activation(keras3);
    if (keras3) return;
    write_and_read(LIANA__KERAS2, "\"hard_sigmoid\"");
    check_activation(keras3);
}

static void test_hard_sigmoid_of_each_keras(void **state)
{
    (void)state;
    read_activation("", "\"hard_sigmoid\"", ", \"keras_version\": \"2.11.0\", \"backend\": \"tensorflow\"");
    check_both(false);
    read_activation("", "\"hard_sigmoid\"", ""); /* Keras 1 and old ones of Keras 2 */
    check_both(false);
    read_activation("\"module\": \"keras\", ", "\"hard_sigmoid\"", ", \"registered_name\": null");
    check_both(true);
    read_activation("", "\"hard_sigmoid\"", ", \"keras_version\": \"3.5.0\"");
    check_both(true);
    read_activation("\"module\": \"keras\", ",
                    "{\"module\": \"builtins\", \"class_name\": \"function\", \"config\": \"hard_sigmoid\"}",
                    ", \"registered_name\": null");
    check_both(true);
    /* tf_keras's .keras files have modules too, and keep their version beside. */
    read_activation_of("batch_input_shape", "\"module\": \"keras\", ", "\"hard_sigmoid\"", "");
    check_both(false);
    read_activation_of("batch_input_shape", "\"module\": \"keras\", ", "\"hard_sigmoid\"",
                       ", \"keras_version\": \"2.15.0\"");
    check_both(false);
    /* The attribute of Keras 3's HDF5 files has neither modules nor a version. */
    read_activation_of("batch_shape", "", "\"hard_sigmoid\"", "");
    check_both(true);
    /* One's own layers are Keras 3's. */
    liana_model_destroy(model);
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(3));
    liana_activation(model, .activation = "hard_sigmoid");
    check_both(true);
}

/* Both in one model: none changes its meaning. */
static void test_both_hard_sigmoids(void **state)
{
    (void)state;
    read_activation("", "\"hard_sigmoid\"", ", \"keras_version\": \"2.11.0\"");
    check_activation(false);
    liana_activation(model, .activation = "hard_sigmoid");
    liana__text text = {0};
    liana__value_write_json(liana__model_to_keras(model, LIANA__KERAS3, &arena), 0, &text);
    liana_model_destroy(model);
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    read_json(text.data);
    liana__text_free(&text);
    check_activation(false);
    const float input[] = {-2.75f, 1, 2};
    float **results = liana__test_model_run(device, model, NULL, input, 1);
    assert_near(results[2][1], (0.7 + 3) / 6, 1e-6);
    liana__test_free_arrays(results, model->num_layers);
}

static void read_groups(const char *layer, const char *groups)
{
    liana__text text = {0};
    liana__text_add(&text,
                    "{\"class_name\": \"Sequential\", \"keras_version\": \"2.9.0\", \"config\": {\"name\": \"m\", "
                    "\"layers\": [{\"class_name\": \"%s\", \"config\": {\"name\": \"c\", \"batch_input_shape\": "
                    "[null, 6, 6, 2], \"filters\": %s, \"kernel_size\": [3, 3], \"groups\": %s}}]}}",
                    layer, strcmp(layer, "DepthwiseConv2D") == 0 ? "null" : "4", groups);
    liana_model_destroy(model);
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    read_json(text.data);
    liana__text_free(&text);
}

static void test_groups_of_keras2(void **state)
{
    (void)state;
    static const char *const unused[] = {"DepthwiseConv2D", "SeparableConv2D"};
    for (int i = 0; i < 2; i++) {
        read_groups(unused[i], "1");
        assert_ok(liana_model_status(model), &context->error);
        read_groups(unused[i], "2");
        assert_fails(liana_model_status(model), LIANA_UNIMPLEMENTED, &context->error, "groups", "expected 1");
    }
    read_groups("Conv2D", "2");
    assert_ok(liana_model_status(model), &context->error);
}

/* ---- names of files ---- */

static void test_names_of_other_formats_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"x.ONNX", "x.tflite", "x.pb", "x.pth", "x.yaml", "x.h5/", "x.KERAS"};
    liana_input(model, .shape = LIANA_INTS(3));
    liana_dense(model, .units = 2);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_fails(liana_model_save(model, liana__test_path(names[i])), LIANA_UNIMPLEMENTED, &context->error,
                     "which is not written here", "a folder with model.json and weights.safetensors");
        assert_false(liana__folder_exists(liana__test_path(names[i])));
    }
    assert_int_equal(liana_model_save(model, liana__test_path("x.h5.folder")), LIANA_OK);
    char config[600];
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(16));
    assert_refused(liana__test_command("train", config, "output=runs/x.h5"), 2, "output: ", "runs/x.h5",
                   "a Keras HDF5 file", "a run folder");
    assert_refused(liana__test_command("train", config, "--out", "x.keras"), 2, "--out: ", "a Keras file");
    assert_refused(liana__test_command("train", config, "--out", "x.onnx"), 2, "--out: ", "an ONNX file");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rescaling_scales),
        TEST(test_normalization_behind_padding_scales),
        TEST(test_one_of_two_inputs),
        TEST(test_another_inputs_normalization_does_not_count),
        TEST(test_batch_normalization_does_not_scale),
        TEST(test_rescaling_of_features_does_not_count),
        TEST(test_nested_model_scales),
        TEST(test_runs_say_what_they_assume),
        TEST(test_older_runs_keep_their_hard_sigmoid),
        TEST(test_rescaling_by_channel),
        TEST(test_other_numbers_of_channels_are_refused),
        TEST(test_efficientnets_second_rescaling),
        TEST(test_hard_sigmoid_of_each_keras),
        TEST(test_both_hard_sigmoids),
        TEST(test_groups_of_keras2),
        TEST(test_names_of_other_formats_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
