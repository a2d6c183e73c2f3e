/* The container of layers: building in C, from YAML and from Keras JSON; graphs in training and outside. */
#include "harness/harness.h"

#include "formats/json.h"
#include "formats/yaml.h"
#include "harness/convolution_layers.h"
#include "harness/model_run.h"
#include "harness/mutate.h"
#include "ir/graph.h"
#include "models/models.h"
#include "ops/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static liana_context *context;
static liana_model *model;
static liana__arena arena;
static liana__error error;

static int set_up(void **state)
{
    (void)state;
    error = (liana__error){0};
    if (liana_context_create(&(liana_context_options){.num_threads = 1}, &context) != LIANA_OK) return -1;
    return liana_model_create(context, NULL, &model) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    liana_model_destroy(model);
    liana_context_destroy(context);
    liana__arena_free(&arena);
    return 0;
}

static void start_again(void)
{
    liana_model_destroy(model);
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
}

static void assert_model_ok(void)
{
    assert_ok(liana_model_status(model), &context->error);
    assert_ok(liana__model_check(model, &error), &error);
}

static void assert_names(size_t count, const char *const *names)
{
    assert_int_equal(model->num_layers, count);
    for (size_t i = 0; i < count; i++) assert_string_equal(model->layers[i].name, names[i]);
}

/* ---- names, errors, summary ---- */

static void test_automatic_names_are_keras_names(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(8, 8, 2));
    liana_conv2d(model, .filters = 2, .kernel_size = 3, .padding = LIANA_PADDING_SAME);
    liana_conv2d(model, .filters = 2, .kernel_size = 3, .padding = LIANA_PADDING_SAME);
    liana_batch_normalization(model);
    liana_relu(model);
    liana_zero_padding2d(model);
    liana_conv2d(model, .filters = 2, .kernel_size = 3, .name = "conv2d_3");
    liana_conv2d(model, .filters = 2, .kernel_size = 1);
    liana_conv2d(model, .filters = 2, .kernel_size = 1);
    liana_max_pooling2d(model);
    liana_separable_conv2d(model, .filters = 2, .kernel_size = 1);
    liana_depthwise_conv2d(model, .kernel_size = 1);
    liana_global_average_pooling2d(model);
    assert_model_ok();
    assert_names(13, (const char *const[]){"input_1", "conv2d", "conv2d_1", "batch_normalization", "re_lu",
                                           "zero_padding2d", "conv2d_3", "conv2d_2", "conv2d_4", "max_pooling2d",
                                           "separable_conv2d", "depthwise_conv2d", "global_average_pooling2d"});
    assert_string_equal(liana__model_name(model), "sequential");
    assert_int_equal(liana_model_layer(model, "re_lu").id, 5);
    assert_int_equal(liana_model_layer(model, "relu").id, 0);
}

static void test_a_model_begins_with_its_input(void **state)
{
    (void)state;
    liana_dense(model, .units = 3);
    assert_fails(liana_model_status(model), LIANA_INVALID_CONFIG, &context->error, "test_model.c:", "InputLayer");
    start_again();
    assert_fails(liana__model_check(model, &error), LIANA_INVALID_CONFIG, &error, "no layers");
    liana_input(model, .shape = LIANA_INTS(3));
    assert_fails(liana__model_check(model, &error), LIANA_INVALID_CONFIG, &error, "only an InputLayer");
    liana_layer x = liana_dense(model, .units = 3);
    liana_dense(model, .units = 4, .name = "lost", .input = x);
    liana_dense(model, .units = 5, .input = x);
    assert_fails(liana__model_check(model, &error), LIANA_INVALID_CONFIG, &error, "test_model.c:", "layer 'lost'",
                 "does not lead", "'dense_1'");
    liana_model *other;
    assert_ok(liana_model_create(context, NULL, &other), &context->error);
    liana_input(other, .shape = LIANA_INTS(3));
    liana_dense(other, .units = 3, .input = x);
    assert_fails(liana_model_status(other), LIANA_INVALID_ARGUMENT, &context->error, "not a layer of this model");
    liana_model_destroy(other);
}

static void test_the_first_error_outlives_others_of_the_context(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(3));
    liana_dense(model, .units = -3, .name = "bad");
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(0));
    assert_int_not_equal(liana_graph_status(graph), LIANA_OK);
    liana_graph_destroy(graph);
    assert_fails(liana_model_status(model), LIANA_INVALID_CONFIG, &context->error, "bad.units", "-3");
}

static void test_summary_like_keras(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(28, 28, 1));
    liana_conv2d(model, .filters = 32, .kernel_size = 3, .activation = "relu");
    liana_batch_normalization(model, .trainable = false);
    liana_flatten(model);
    liana_dense(model, .units = 10, .activation = "softmax");
    assert_model_ok();
    char *summary = liana_model_summary(model);
    assert_string_equal(summary, "Model: \"sequential\"\n"
                                 "________________________________________________________________________\n"
                                 " Layer (type)                              Output Shape        Param #\n"
                                 "========================================================================\n"
                                 " input_1 (InputLayer)                      (None, 28, 28, 1)   0\n"
                                 " conv2d (Conv2D)                           (None, 26, 26, 32)  320\n"
                                 " batch_normalization (BatchNormalization)  (None, 26, 26, 32)  128\n"
                                 " flatten (Flatten)                         (None, 21632)       0\n"
                                 " dense (Dense)                             (None, 10)          216330\n"
                                 "========================================================================\n"
                                 "Total params: 216,778\n"
                                 "Trainable params: 216,650\n"
                                 "Non-trainable params: 128\n"
                                 "________________________________________________________________________\n");
    free(summary);
    liana_layer x = liana_model_layer(model, "dense");
    liana_add(model, .inputs = {x, x});
    summary = liana_model_summary(model);
    assert_says(summary, "Connected to\n");
    assert_says(summary, " add (Add)                                 (None, 10)          0        dense\n"
                         "                                                                        dense\n");
    free(summary);
}

/* ---- YAML ---- */

static liana_status from_yaml(const char *text)
{
    liana__value *list;
    assert_ok(liana__yaml_parse(text, strlen(text), "run.yaml", &arena, &list, &error), &error);
    liana_shape shape = liana_shape_of(9, 9, 3);
    return liana__model_from_layers(model, list, "model.layers", &shape);
}

static void test_layers_from_yaml(void **state)
{
    (void)state;
    assert_ok(from_yaml("- Conv2D: {filters: 4, kernel_size: [3, 1], activation: relu, padding: same}\n"
                        "- MaxPooling2D\n"
                        "- Dropout: {rate: 0.25, name: drop}\n"
                        "- Flatten:\n"
                        "- Dense:\n"
                        "    units: 5\n"
                        "    trainable: false\n"
                        "    kernel_initializer: random_normal(stddev=0.02)\n"),
              &model->error);
    assert_model_ok();
    assert_names(6, (const char *const[]){"input_1", "conv2d", "max_pooling2d", "drop", "flatten", "dense"});
    assert_false(model->layers[5].trainable);
    assert_int_equal(liana_model_info(model).num_parameters, 40 + 64 * 5 + 5);
    assert_int_equal(liana_model_info(model).num_trainable_parameters, 40);
    liana_shape expected = liana_shape_of(-1, 4, 4, 4), found = liana_layer_shape(liana_model_layer(model, "drop"));
    assert_true(liana_shape_equal(&expected, &found));
}

static void test_functional_graph_from_yaml(void **state)
{
    (void)state;
    assert_ok(from_yaml("- InputLayer: {shape: [6, 6, 4], name: photo}\n"
                        "- Conv2D: {filters: 4, kernel_size: 1, name: left, inputs: photo}\n"
                        "- Conv2D: {filters: 4, kernel_size: 1, name: right, inputs: [photo]}\n"
                        "- Concatenate: {inputs: [left, right, photo], name: both}\n"
                        "- Conv2D: {filters: 4, kernel_size: 1}\n"
                        "- Add: {inputs: [conv2d, photo]}\n"),
              &model->error);
    assert_model_ok();
    assert_int_equal(liana_layer_shape(liana_model_layer(model, "both")).dims[3], 12);
    assert_false(liana__model_is_sequential(model));
    assert_int_equal(model->nodes[5].inputs[0], 4);
    assert_int_equal(model->nodes[5].inputs[1], 0);
}

#define assert_yaml_refused(text, ...)                                                  \
    do {                                                                                \
        start_again();                                                                  \
        liana_status status_ = from_yaml(text);                                         \
        assert_int_not_equal(status_, LIANA_OK);                                        \
        assert_fails(liana_model_status(model), status_, &context->error, __VA_ARGS__); \
    } while (0)

static void test_yaml_errors_name_place_and_layer(void **state)
{
    (void)state;
    assert_yaml_refused("- Flatten\n- Conv22d: {filters: 4}\n", "run.yaml:2:3: model.layers[1]", "Conv22d",
                        "did you mean 'Conv2D'");
    assert_yaml_refused("- Conv2D:\n    kernel_size: 3\n", "run.yaml:2:5: model.layers[0].Conv2D",
                        "'filters' is missing");
    assert_yaml_refused("- Conv2D:\n    filters: 4\n    kernel_sise: 3\n", "run.yaml:3:5: model.layers[0].Conv2D",
                        "kernel_sise", "did you mean 'kernel_size'");
    assert_yaml_refused("- Conv2D:\n    filters: 4\n    kernel_size: x\n", "run.yaml:3:18: model.layers[0].Conv2D",
                        "kernel_size", "'x'");
    assert_yaml_refused("- Conv2D: {filters: 4, kernel_size: 3, padding: smae}\n", "padding", "did you mean 'same'");
    assert_yaml_refused("- Dense: {units: 4, activation: relo}\n", "run.yaml:1:33: model.layers[0].Dense.activation",
                        "did you mean 'relu'");
    assert_yaml_refused("- Flatten\n- Conv2D: {filters: 4, kernel_size: 3}\n", "run.yaml:2: layer 'conv2d' (Conv2D)",
                        "[batch, 243]", "height");
    assert_yaml_refused("- Flatten: {inputs: nowhere}\n", "run.yaml:1:21: model.layers[0].Flatten.inputs", "nowhere");
    assert_yaml_refused("- Add: {inputs: []}\n", "model.layers[0].Add.inputs", "0 names");
    assert_yaml_refused("- Flatten: {name: 3}\n", "model.layers[0].Flatten.name", "3");
    assert_yaml_refused("- Flatten: {trainable: maybe}\n", "model.layers[0].Flatten.trainable", "true or false");
    assert_yaml_refused("- 3\n", "run.yaml:1:3: model.layers[0]", "the number 3", "one layer");
    assert_yaml_refused("- {Flatten: {}, Dense: {units: 1}}\n", "model.layers[0]", "one layer");
    assert_yaml_refused("- Dense: 3\n", "model.layers[0]", "options");
    assert_yaml_refused("[]\n", "model.layers", "a list of 0", "a list of layers");
    assert_yaml_refused("Flatten\n", "model.layers", "a list of layers");
}

/* ---- Keras JSON ---- */

static const char *to_json(const liana_model *from)
{
    liana__text text = {0};
    liana__value *value = liana__model_to_keras(from, LIANA__KERAS3, &arena);
    assert_non_null(value);
    liana__value_write_json(value, 1, &text);
    const char *copy = liana__arena_string(&arena, text.data);
    liana__text_free(&text);
    return copy;
}

static liana_status from_json(liana_model *into, const char *json)
{
    liana__value *value;
    assert_ok(liana__json_parse(json, strlen(json), "model.json", &arena, &value, &error), &error);
    return liana__model_from_keras(into, value);
}

/* A written model reads back as the same model: the same JSON, weights and shapes. */
static void assert_round_trip(void)
{
    assert_model_ok();
    const char *json = to_json(model);
    liana_model *copy;
    assert_ok(liana_model_create(context, NULL, &copy), &context->error);
    assert_ok(from_json(copy, json), &copy->error);
    assert_ok(liana__model_check(copy, &error), &error);
    assert_string_equal(to_json(copy), json);
    assert_int_equal(copy->num_weights, model->num_weights);
    for (size_t i = 0; i < model->num_weights; i++) {
        assert_string_equal(copy->weights[i].name, model->weights[i].name);
        assert_true(liana_shape_equal(&copy->weights[i].shape, &model->weights[i].shape));
        assert_int_equal(liana__weight_trainable(copy, i), liana__weight_trainable(model, i));
        assert_memory_equal(&copy->weights[i].initializer, &model->weights[i].initializer,
                            sizeof model->weights[i].initializer);
        assert_ptr_equal(copy->weights[i].regularizer.type, model->weights[i].regularizer.type);
        assert_ptr_equal(copy->weights[i].constraint.type, model->weights[i].constraint.type);
    }
    liana_model_destroy(copy);
}

static void test_keras_json_round_trip_of_every_layer(void **state)
{
    (void)state;
    liana_layer x = liana_input(model, .shape = LIANA_INTS(11, 9, 4), .name = "photo");
    x = liana_rescaling(model, .scale = 0.5, .offset = -1);
    liana_normalization(model);
    liana_dropout(model, .rate = 0.2, .noise_shape = LIANA_INTS(-1, 1, 1, -1));
    liana_conv2d(model, .filters = 6, .kernel_size = {3, 2}, .groups = 2, .dilation_rate = {2, 1},
                 .activation = "swish",
                 .kernel_initializer = "variance_scaling(scale=3, mode=fan_out, distribution=uniform)",
                 .bias_initializer = "constant(0.1)", .kernel_regularizer = "l1_l2(l1=0.1, l2=0.2)",
                 .bias_regularizer = "L2(0.5)", .activity_regularizer = "l1",
                 .kernel_constraint = "max_norm(3, axis=[0, 1, 2])", .bias_constraint = "non_neg");
    liana_activity_regularization(model, .l1 = 0.25);
    liana_depthwise_conv2d(model, .kernel_size = 2, .strides = 2, .padding = LIANA_PADDING_SAME, .use_bias = false);
    liana_separable_conv2d(model, .filters = 5, .kernel_size = 3, .padding = LIANA_PADDING_SAME, .depth_multiplier = 2,
                           .pointwise_initializer = "he_normal", .depthwise_regularizer = "l2",
                           .pointwise_regularizer = "l1(0.125)", .pointwise_constraint = "unit_norm(axis=-1)");
    liana_batch_normalization(model, .momentum = 0.9, .epsilon = 1e-5, .scale = false, .trainable = false,
                              .beta_regularizer = "l1", .beta_constraint = "min_max_norm(0.5, 1.5, rate=0.25)");
    x = liana_relu(model, .max_value = 6, .negative_slope = 0.1, .threshold = 0.5);
    liana_layer y = liana_zero_padding2d(model, .padding = LIANA_INTS(1, 2, 3, 4));
    y = liana_max_pooling2d(model, .pool_size = {3, 2}, .strides = 1);
    y = liana_conv2d(model, .filters = 5, .kernel_size = {2, 4}, .strides = {1, 2});
    y = liana_average_pooling2d(model, .pool_size = 1, .padding = LIANA_PADDING_SAME);
    y = liana_activation(model, .activation = "tanh", .input = x);
    y = liana_multiply(model, .inputs = {x, y});
    y = liana_concatenate(model, .inputs = {y, x, liana_model_layer(model, "average_pooling2d")}, .axis = 3);
    x = liana_global_max_pooling2d(model, .keepdims = true, .input = y);
    x = liana_reshape(model, .target_shape = LIANA_INTS(-1));
    y = liana_global_average_pooling2d(model, .input = y);
    liana_add(model, .inputs = {x, y});
    liana_dropout(model, .rate = 0.3);
    liana_flatten(model);
    liana_layer words = liana_input(model, .shape = LIANA_INTS(7), .dtype = LIANA_S32, .name = "words");
    liana_layer rows = liana_embedding(model, .input_dim = 9, .output_dim = 3, .mask_zero = true,
                                       .embeddings_initializer = "random_normal(stddev=0.5)",
                                       .embeddings_regularizer = "orthogonal_regularizer(0.5, mode=columns)",
                                       .embeddings_constraint = "max_norm", .activity_regularizer = "l2");
    y = liana_global_max_pooling1d(model, .input = rows);
    rows = liana_global_average_pooling1d(model, .input = rows);
    x = liana_category_encoding(model, .num_tokens = 9, .output_mode = LIANA_COUNT, .input = words);
    liana_concatenate(model, .inputs = {x, y, rows, liana_model_layer(model, "flatten")});
    liana_dense(model, .units = 4, .kernel_initializer = "truncated_normal(mean=0, stddev=0.3)");
    liana_layer end = liana_softmax(model);
    liana_layer more = liana__test_add_convolutions(model);
    liana_model_outputs(model, end, more);
    assert_model_ok();
    assert_round_trip();
    start_again();
    liana_mobilenet_v2(model, .alpha = 0.35, .input_shape = LIANA_INTS(97, 96, 3));
    assert_round_trip();
    start_again();
    liana_input(model, .shape = LIANA_INTS(4));
    liana_dense(model, .units = 3);
    assert_round_trip();
    assert_says(to_json(model), "\"class_name\": \"Sequential\"");
}

#define assert_json_refused(json, expected_status, ...)                                                  \
    do {                                                                                                 \
        start_again();                                                                                   \
        assert_fails(from_json(model, json), expected_status, &model->error, "model.json", __VA_ARGS__); \
    } while (0)

#define INPUT "{\"class_name\": \"InputLayer\", \"config\": {\"name\": \"i\", \"batch_shape\": [null, 4, 4, 2]}}"
#define SEQUENTIAL(layers) "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"s\", \"layers\": [" layers "]}}"

/* Files that Keras 1, 2 and 3 wrote have these forms. */
static void test_forms_of_all_keras_versions(void **state)
{
    (void)state;
    /* Keras 1: a bare list, old names; channels last. */
    assert_ok(from_json(model,
                        "{\"class_name\": \"Sequential\", \"config\": ["
                        "{\"class_name\": \"Convolution2D\", \"config\": {\"name\": \"convolution2d_1\","
                        " \"batch_input_shape\": [null, 28, 28, 1], \"nb_filter\": 4, \"nb_row\": 3, \"nb_col\": 5,"
                        " \"subsample\": [2, 1], \"border_mode\": \"same\", \"dim_ordering\": \"tf\","
                        " \"init\": \"glorot_uniform\", \"activation\": \"linear\", \"input_dtype\": \"float32\","
                        " \"W_regularizer\": null, \"b_constraint\": null, \"trainable\": true}},"
                        "{\"class_name\": \"Dropout\", \"config\": {\"p\": 0.25, \"name\": \"d\"}},"
                        "{\"class_name\": \"Flatten\", \"config\": {\"name\": \"f\"}},"
                        "{\"class_name\": \"Dense\", \"config\": {\"output_dim\": 6, \"bias\": false,"
                        " \"input_dim\": null, \"init\": \"normal\", \"activation\": \"relu\","
                        " \"name\": \"dense_1\"}}]}"),
              &model->error);
    assert_model_ok();
    assert_names(5, (const char *const[]){"input_1", "convolution2d_1", "d", "f", "dense_1"});
    const liana_conv2d_options *conv = model->layers[1].options;
    assert_int_equal(conv->kernel_size[1], 5);
    assert_int_equal(conv->strides[0], 2);
    assert_int_equal(conv->padding, LIANA_PADDING_SAME);
    assert_int_equal(liana_model_info(model).num_parameters, 3 * 5 * 4 + 4 + 14 * 28 * 4 * 6);
    /* Keras 3 and the .keras files of 2.12: a model within a model, objects with modules. */
    start_again();
    assert_ok(
        from_json(
            model,
            "{\"module\": \"keras\", \"class_name\": \"Sequential\", \"config\": {\"name\": \"outer\", \"layers\": ["
            "{\"module\": \"keras.layers\", \"class_name\": \"InputLayer\", \"config\": {\"batch_input_shape\":"
            " [null, 28, 28], \"dtype\": \"float32\", \"sparse\": false, \"name\": \"in\"}},"
            "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"inner\", \"layers\": ["
            "{\"class_name\": \"InputLayer\", \"config\": {\"batch_input_shape\": [null, 28, 28], \"name\": \"x\"}},"
            "{\"class_name\": \"Flatten\", \"config\": {\"name\": \"flatten\", \"data_format\": \"channels_last\"}},"
            "{\"class_name\": \"Dense\", \"config\": {\"name\": \"dense\", \"units\": 10, \"activation\": \"linear\","
            " \"dtype\": {\"class_name\": \"DTypePolicy\", \"config\": {\"name\": \"float32\"}},"
            " \"kernel_initializer\": {\"module\": \"keras.initializers\", \"class_name\": \"RandomNormal\","
            " \"config\": {\"mean\": 0.0, \"stddev\": 0.2, \"seed\": null}, \"registered_name\": null},"
            " \"kernel_regularizer\": null}}]}, \"compile_config\": {\"optimizer\": \"adam\"}},"
            "{\"class_name\": \"Softmax\", \"config\": {\"name\": \"softmax\", \"axis\": -1}}]}}"),
        &model->error);
    assert_model_ok();
    assert_names(5, (const char *const[]){"in", "inner/x", "inner/flatten", "inner/dense", "softmax"});
    assert_string_equal(liana__model_name(model), "outer");
    double stddev; /* the second option */
    memcpy(&stddev, model->weights[0].initializer.options + sizeof(double), sizeof stddev);
    assert_near(stddev, 0.2, 1e-12);
    /* Keras 3's functional models; the layers in another order than that of their use. */
    start_again();
    assert_ok(
        from_json(
            model,
            "{\"class_name\": \"Functional\", \"config\": {\"name\": \"f\", \"layers\": ["
            "{\"class_name\": \"Add\", \"config\": {\"name\": \"add\"}, \"name\": \"add\", \"inbound_nodes\": "
            "[{\"args\":"
            " [[{\"class_name\": \"__keras_tensor__\", \"config\": {\"shape\": [null, 3], \"keras_history\": [\"b\", "
            "0, 0]}},"
            " {\"class_name\": \"__keras_tensor__\", \"config\": {\"keras_history\": [\"a\", 0, 0]}}]], \"kwargs\": "
            "{}}]},"
            "{\"class_name\": \"Dense\", \"config\": {\"name\": \"b\", \"units\": 3, \"activation\": {\"class_name\":"
            " \"function\", \"config\": \"relu\"}}, \"inbound_nodes\": [{\"args\":"
            " [{\"config\": {\"keras_history\": [\"a\", 0, 0]}}], \"kwargs\": {}}]},"
            "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 3], \"name\": \"a\"},"
            " \"name\": \"a\", \"inbound_nodes\": []}],"
            " \"input_layers\": [[\"a\", 0, 0]], \"output_layers\": [[\"add\", 0, 0]]}}"),
        &model->error);
    assert_model_ok();
    assert_names(3, (const char *const[]){"a", "b", "add"});
    assert_int_equal(model->nodes[2].inputs[0], 1);
    assert_string_equal(((const liana_dense_options *)model->layers[1].options)->activation, "relu");
    /* tfjs wraps the architecture. */
    start_again();
    assert_ok(from_json(model, "{\"modelTopology\": {\"keras_version\": \"2.1\", \"model_config\": " SEQUENTIAL(
                                   INPUT ", {\"class_name\": \"BatchNormalization\", \"config\": {\"axis\": [3],"
                                         " \"gamma_regularizer\": null}}") "}}"),
              &model->error);
    assert_model_ok();
}

static void test_what_liana_has_not_is_refused(void **state)
{
    (void)state;
    assert_json_refused(SEQUENTIAL(INPUT
                                   ", {\"class_name\": \"TFSMLayer\", \"config\": {\"name\": \"l\", \"units\": 3}}"),
                        LIANA_UNIMPLEMENTED, "layer 'l'", "TFSMLayer", "liana has InputLayer, Embedding",
                        "Concatenate");
    assert_json_refused(SEQUENTIAL(INPUT ", {\"class_name\": \"Conv2D\", \"config\": {\"name\": \"f\", \"data_format\":"
                                         " \"channels_first\"}}"),
                        LIANA_UNIMPLEMENTED, "layer 'f'", "data_format", "channels_first", "channels_last");
    assert_json_refused(SEQUENTIAL(INPUT ", {\"class_name\": \"Dense\", \"config\": {\"name\": \"d\", \"units\": 2,"
                                         " \"kernel_regularizer\": {\"class_name\": \"MyOwn\"}}}"),
                        LIANA_UNIMPLEMENTED, "kernel_regularizer", "MyOwn", "one of a plugin that is loaded");
    assert_json_refused(SEQUENTIAL(INPUT ", {\"class_name\": \"Flatten\", \"config\": {\"name\": \"f\","
                                         " \"kernel_constraint\": {\"class_name\": \"NonNeg\"}}}"),
                        LIANA_UNIMPLEMENTED, "layer 'f'", "kernel_constraint");
    assert_json_refused(SEQUENTIAL(INPUT ", {\"class_name\": \"Dense\", \"config\": {\"name\": \"d\", \"units\": 2,"
                                         " \"kernel_initializer\": {\"class_name\": \"MyOwn\"}}}"),
                        LIANA_UNIMPLEMENTED, "layer 'd'", "kernel_initializer");
    assert_json_refused(SEQUENTIAL(INPUT ", {\"class_name\": \"Dropout\", \"config\": {\"name\": \"p\", \"rate\": 0.5,"
                                         " \"noise_shape\": [null, 4, 1, 7]}}"),
                        LIANA_INVALID_ARGUMENT, "'p'", "the size 7 along axis 3", "noise_shape");
    assert_json_refused(SEQUENTIAL(INPUT ", {\"class_name\": \"Dense\", \"config\": {\"name\": \"d\", \"lora\": 2,"
                                         " \"units\": 3}}"),
                        LIANA_INVALID_CONFIG, "layer 'd'", "lora");
    assert_json_refused(SEQUENTIAL("{\"class_name\": \"Dense\", \"config\": {\"units\": 2}}"), LIANA_UNIMPLEMENTED,
                        "batch_input_shape");
    assert_json_refused(SEQUENTIAL("{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 0, 3]}}"),
                        LIANA_INVALID_CONFIG, "shape", "the size 0");
    assert_json_refused(SEQUENTIAL("{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, -2, 3]}}"),
                        LIANA_INVALID_CONFIG, "shape", "-2");
    assert_json_refused("{\"class_name\": \"Transformer\", \"config\": {}}", LIANA_UNIMPLEMENTED, "Sequential");
    assert_json_refused("{\"config\": {}}", LIANA_INVALID_CONFIG, "class_name");
    assert_json_refused("[1]", LIANA_INVALID_CONFIG, "class_name");
#define NODE(name, from) \
    "{\"class_name\": \"Flatten\", \"config\": {\"name\": \"" name "\"}, \"inbound_nodes\": [" from "]}"
#define FUNCTIONAL(layers, output)                                                                                  \
    "{\"class_name\": \"Model\", \"config\": {\"layers\": [{\"class_name\": \"InputLayer\", \"config\": {\"name\":" \
    " \"i\", \"batch_input_shape\": [null, 4]}, \"inbound_nodes\": []}, " layers "], \"output_layers\": " output "}}"
    assert_json_refused(FUNCTIONAL(NODE("a", "[[\"b\", 0, 0, {}]]") ", " NODE("b", "[[\"a\", 0, 0, {}]]"),
                                   "[[\"b\", 0, 0]]"),
                        LIANA_INVALID_CONFIG, "a", "its inputs are not in the file");
    assert_json_refused(FUNCTIONAL(NODE("a", "[[\"i\", 0, 0, {}]]"), "[[\"a\", 1, 0]]"), LIANA_INVALID_CONFIG,
                        "output_layers", "'a' (call 1, output 0)");
    assert_json_refused(FUNCTIONAL(NODE("a", "[[\"i\", 0, 1, {}]]"), "[[\"a\", 0, 0]]"), LIANA_INVALID_CONFIG, "a",
                        "its inputs are not in the file");
    assert_json_refused(FUNCTIONAL(NODE("a", "[[\"i\", 0, 0, {}]]"), "[]"), LIANA_UNIMPLEMENTED, "no output");
    start_again();
    assert_ok(from_json(model, FUNCTIONAL(NODE("a", "[[\"i\", 0, 0, {}]]") ", " NODE("b", "[[\"a\", 0, 0, {}]]"),
                                          "[[\"a\", 0, 0]]")),
              &model->error);
    assert_fails(liana__model_check(model, &error), LIANA_INVALID_CONFIG, &error, "layer 'b'", "does not lead", "'a'");
}

/* A model of a Dense layer, and dtypes of its input, of the layer and of the whole. */
static const char *with_dtypes(const char *input, const char *layer, const char *whole)
{
    static char json[1200];
    snprintf(json, sizeof json,
             "{\"class_name\": \"Sequential\", \"config\": {\"dtype\": %s, \"layers\": ["
             "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 4], \"dtype\": %s}},\n"
             "{\"class_name\": \"Dense\", \"config\": {\"name\": \"d\", \"units\": 2, \"dtype\": %s}}]}}",
             whole, input, layer);
    return json;
}

#define POLICY(class_name, name) "{\"class_name\": \"" class_name "\", \"config\": {\"name\": \"" name "\"}}"

static void test_json_dtypes_that_liana_has(void **state)
{
    (void)state;
    static const char plain[] = "\"float32\"";
    static const struct {
        const char *input, *layer, *whole;
        liana_precision precision;
    } cases[] = {
        {plain, plain, plain, LIANA_FLOAT32},
        {"null", "null", "null", LIANA_FLOAT32},
        {"\"uint8\"", plain, plain, LIANA_FLOAT32},
        {"\"int32\"", plain, plain, LIANA_FLOAT32},
        {plain, POLICY("DTypePolicy", "float32"), plain, LIANA_FLOAT32},
        {plain, "\"mixed_bfloat16\"", plain, LIANA_MIXED_BFLOAT16},
        {plain, POLICY("DTypePolicy", "mixed_bfloat16"), plain, LIANA_MIXED_BFLOAT16},
        {plain, POLICY("Policy", "mixed_bfloat16"), plain, LIANA_MIXED_BFLOAT16},
        {plain, plain, POLICY("DTypePolicy", "mixed_bfloat16"), LIANA_MIXED_BFLOAT16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start_again();
        assert_ok(from_json(model, with_dtypes(cases[i].input, cases[i].layer, cases[i].whole)), &model->error);
        assert_int_equal(liana_model_precision(model), cases[i].precision);
    }
}

static void test_json_dtypes_that_liana_has_not(void **state)
{
    (void)state;
    static const char plain[] = "\"float32\"";
    static const char *const texts[][2] = {
        {"\"float16\"", "'float16'"},
        {"\"mixed_float16\"", "'mixed_float16'"},
        {"\"bfloat16\"", "'bfloat16'"},
        {"\"float64\"", "'float64'"},
        {POLICY("DTypePolicy", "mixed_float16"), "'mixed_float16'"},
        {POLICY("Policy", "mixed_float16"), "'mixed_float16'"},
        {POLICY("QuantizedDTypePolicy", "int8_from_float32"), "'int8_from_float32'"},
        {"{\"class_name\": \"DTypePolicyMap\", \"config\": {}}", "a mapping of 2 keys"},
        {"16", "the number 16"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_json_refused(with_dtypes(plain, texts[i][0], plain), LIANA_UNIMPLEMENTED, "layer 'd'", "dtype",
                            texts[i][1], "expected float32 or mixed_bfloat16");
        assert_json_refused(with_dtypes(plain, plain, texts[i][0]), LIANA_UNIMPLEMENTED, "the model", "dtype",
                            texts[i][1], "expected float32 or mixed_bfloat16");
        assert_json_refused(with_dtypes(texts[i][0], plain, plain), LIANA_UNIMPLEMENTED, "layer 'InputLayer'", "dtype",
                            texts[i][1], "expected float32 or mixed_bfloat16");
    }
    assert_json_refused(with_dtypes(plain, "\"uint8\"", plain), LIANA_UNIMPLEMENTED, "layer 'd'", "'uint8'");
}

static void test_keras_1_file_says_what_is_wrong(void **state)
{
    (void)state;
    liana__value *value;
    const char *path = liana__test_data("keras_files/keras1_to_json/my_nn_arch.json");
    assert_ok(liana__json_read(path, &arena, &value, &error), &error);
    assert_fails(liana__model_from_keras(model, value), LIANA_UNIMPLEMENTED, &model->error, "my_nn_arch.json",
                 "convolution2d_1", "dim_ordering", "'th'", "channels last");
}

static void test_damaged_architectures_never_crash(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(5, 5, 2));
    liana_layer x = liana_conv2d(model, .filters = 2, .kernel_size = 3, .padding = LIANA_PADDING_SAME);
    x = liana_batch_normalization(model);
    liana_layer y = liana_zero_padding2d(model);
    y = liana_max_pooling2d(model, .pool_size = 3, .strides = 1);
    liana_concatenate(model, .inputs = {x, y});
    liana_flatten(model);
    liana_dense(model, .units = 2, .kernel_initializer = "random_normal(stddev=2)");
    const char *json = to_json(model);
    size_t accepted = 0, refused = 0;
    for (uint32_t i = 0; i < 3000; i++) {
        size_t size;
        char *damaged = liana__test_mutate(json, strlen(json), "0123456789-[]{}\",:null", 4, i, &size);
        liana__arena scratch = {0};
        liana__value *value;
        if (liana__json_parse(damaged, size, "model.json", &scratch, &value, &error) == LIANA_OK) {
            start_again();
            liana_status status = liana__model_from_keras(model, value);
            if (status == LIANA_OK) accepted++;
            if (status != LIANA_OK) refused++;
            if (status != LIANA_OK) assert_says(model->error.message, "model.json");
        }
        liana__arena_free(&scratch);
        free(damaged);
    }
    assert_compare(accepted, >, 10);
    assert_compare(refused, >, 10);
}

/* ---- graphs ---- */

static liana_graph *new_graph(void)
{
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    return graph;
}

static void test_calls_check_their_input(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(3, 2));
    liana_flatten(model);
    liana_dense(model, .units = 2);
    liana_graph *graph = new_graph();
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(5, 2, 3));
    liana__model_results results = liana__model_call(model, &x, &(liana__model_mode){.training = false});
    assert_int_equal(results.outputs[0].value.id, 0);
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "[5, 2, 3]", "[1, 3, 2]",
                 "any batch size");
    liana_graph_destroy(graph);
    graph = new_graph();
    x = liana_graph_input(graph, "x", LIANA_F64, liana_shape_of(5, 3, 2));
    results = liana__model_call(model, &x, &(liana__model_mode){.training = false});
    assert_ok(liana_graph_status(graph), &context->error);
    liana_shape shape = liana_tensor_shape(results.outputs[0].value), expected = liana_shape_of(5, 2);
    assert_true(liana_shape_equal(&shape, &expected));
    assert_int_equal(liana_tensor_dtype(results.weights[0]), LIANA_F64);
    assert_int_equal(liana__graph_find_variable(graph, "dense/kernel"), 0);
    assert_int_equal(liana__graph_find_variable(graph, "dense/bias"), 1);
    assert_int_equal(results.outputs[0].logits.id, 0);
    liana_graph_destroy(graph);
}

static liana__model_results call(liana_graph *graph, bool training)
{
    liana_shape shape = liana__model_input_shape(model);
    shape.dims[0] = 4;
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, shape);
    liana_tensor positions = liana_graph_input(graph, "positions", LIANA_U64, liana_shape_of(4));
    liana__model_mode mode = {.training = training, .positions = positions, .seed = 9};
    liana__model_results results = liana__model_call(model, &x, &mode);
    assert_ok(liana_graph_status(graph), &context->error);
    return results;
}

static void test_softmax_at_the_end_gives_logits(void **state)
{
    (void)state;
    for (int kind = 0; kind < 5; kind++) {
        start_again();
        liana_input(model, .shape = LIANA_INTS(3));
        liana_layer x = liana_dense(model, .units = 2, .activation = kind == 0 || kind == 4 ? "softmax" : NULL);
        if (kind == 1) x = liana_activation(model, .activation = "softmax");
        if (kind == 2) x = liana_softmax(model);
        if (kind == 4) x = liana_flatten(model);
        assert_int_not_equal(x.id, 0);
        liana_graph *graph = new_graph();
        liana__model_results results = call(graph, false);
        assert_int_equal(results.outputs[0].logits.id != 0, kind < 3);
        if (kind == 1 || kind == 2) assert_int_equal(results.outputs[0].logits.id, results.nodes[1].id);
        liana_graph_destroy(graph);
    }
}

static bool graph_has_op(const liana_graph *graph, const char *name)
{
    for (size_t i = 1; i < graph->num_nodes; i++) {
        if (graph->nodes[i]->op && strcmp(graph->nodes[i]->op->name, name) == 0) return true;
    }
    return false;
}

static void test_dropout_only_in_training(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(6));
    liana_dropout(model, .rate = 0.5, .trainable = false);
    liana_dense(model, .units = 2);
    liana_graph *graph = new_graph();
    call(graph, false);
    assert_false(graph_has_op(graph, "dropout"));
    liana_graph_destroy(graph);
    graph = new_graph();
    call(graph, true);
    assert_true(graph_has_op(graph, "dropout"));
    liana_graph_destroy(graph);
    graph = new_graph();
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(4, 6));
    int line = model->layers[1].where.line;
    char place[32];
    snprintf(place, sizeof place, "test_model.c:%d", line);
    liana__model_call(model, &x, &(liana__model_mode){.training = true});
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, place, "dropout");
    liana_graph_destroy(graph);
}

static void test_frozen_batch_norm_runs_on_its_averages(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(2, 2, 3));
    liana_batch_normalization(model, .name = "first");
    liana_batch_normalization(model, .name = "second", .momentum = 0.75);
    liana_flatten(model);
    assert_model_ok();
    liana_graph *graph = new_graph();
    liana__model_results results = call(graph, true);
    assert_int_equal(results.num_updates, 4);
    assert_string_equal(model->weights[results.updates[0].weight].name, "first/moving_mean");
    assert_string_equal(model->weights[results.updates[1].weight].name, "first/moving_variance");
    assert_string_equal(model->weights[results.updates[3].weight].name, "second/moving_variance");
    assert_compare(results.updates[0].momentum, ==, 0.99);
    assert_compare(results.updates[2].momentum, ==, 0.75);
    liana_graph_destroy(graph);
    assert_ok(liana_model_train_from(model, "second"), &context->error);
    graph = new_graph();
    results = call(graph, true);
    assert_int_equal(results.num_updates, 2);
    assert_string_equal(model->weights[results.updates[0].weight].name, "second/moving_mean");
    assert_true(graph_has_op(graph, "batch_norm_inference"));
    liana_graph_destroy(graph);
    assert_false(liana__weight_trainable(model, 0));
    assert_true(liana__weight_trainable(model, 4));
    assert_false(liana__weight_trainable(model, 6));
    assert_fails(liana_model_train_from(model, "secnd"), LIANA_NOT_FOUND, &context->error, "secnd", "'second'");
    liana__model_set_trainable(model, 0, model->num_layers, true);
    assert_ok(liana_model_set_batch_norm_momentum(model, 0.9), &context->error);
    graph = new_graph();
    results = call(graph, true);
    assert_int_equal(results.num_updates, 4);
    for (size_t i = 0; i < 4; i++) assert_compare(results.updates[i].momentum, ==, 0.9, i);
    liana_graph_destroy(graph);
}

/* Statistics against sums worked out here: the mean, and the population's variance as the second moment about the
 * moving mean; as Keras 2 has it, n / (n - 1) times it for images. */
static void test_moving_averages_get_the_shards_statistics(void **state)
{
    (void)state;
    liana_input(model, .shape = LIANA_INTS(2, 3, 2));
    liana_batch_normalization(model, .center = false, .scale = false, .population_variance = false);
    liana_graph *graph = new_graph();
    liana__model_results results = call(graph, true);
    liana_graph_output(graph, "mean", results.updates[0].statistic);
    liana_graph_output(graph, "variance", results.updates[1].statistic);
    liana_graph_output(graph, "y", results.outputs[0].value);
    float x[48];
    uint64_t positions[4] = {0};
    double mean[2] = {0}, variance[2] = {0};
    for (int i = 0; i < 48; i++) x[i] = (float)((i * 7) % 11) * (i % 2 ? 1 : -2);
    for (int i = 0; i < 48; i++) mean[i % 2] += (double)x[i] / 24;
    for (int i = 0; i < 48; i++) variance[i % 2] += pow((double)x[i] - mean[i % 2], 2) / 24;
    liana__device *device;
    assert_ok(liana__device_open(context, "reference", &device, &error), &error);
    float **weights = liana__test_weights(model, 1);
    float **outputs = liana__test_graph_run(device, graph, model, weights, (const void *const[]){x, positions});
    for (int c = 0; c < 2; c++) {
        assert_near(outputs[0][c], mean[c], 1e-5, c);
        double moment = variance[c] * 24 / 23 + pow(mean[c] - (double)weights[0][c], 2);
        assert_near(outputs[1][c], moment, 1e-4, c);
    }
    for (int i = 0; i < 48; i++) {
        double expected = ((double)x[i] - mean[i % 2]) / sqrt(variance[i % 2] + 1e-3);
        assert_near(outputs[2][i], expected, 1e-5, i);
    }
    liana__test_free_arrays(outputs, 3);
    liana__test_free_arrays(weights, model->num_weights);
    liana__device_close(device);
    liana_graph_destroy(graph);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_automatic_names_are_keras_names),
        TEST(test_a_model_begins_with_its_input),
        TEST(test_the_first_error_outlives_others_of_the_context),
        TEST(test_summary_like_keras),
        TEST(test_layers_from_yaml),
        TEST(test_functional_graph_from_yaml),
        TEST(test_yaml_errors_name_place_and_layer),
        TEST(test_keras_json_round_trip_of_every_layer),
        TEST(test_forms_of_all_keras_versions),
        TEST(test_what_liana_has_not_is_refused),
        TEST(test_json_dtypes_that_liana_has),
        TEST(test_json_dtypes_that_liana_has_not),
        TEST(test_keras_1_file_says_what_is_wrong),
        TEST(test_damaged_architectures_never_crash),
        TEST(test_calls_check_their_input),
        TEST(test_softmax_at_the_end_gives_logits),
        TEST(test_dropout_only_in_training),
        TEST(test_frozen_batch_norm_runs_on_its_averages),
        TEST(test_moving_averages_get_the_shards_statistics),
    };
    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
