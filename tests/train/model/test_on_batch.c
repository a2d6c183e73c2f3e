/* Single batches, weights by name, and models without a training run. */
#include "harness/tiny_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 32, NUM_BATCHES = 3, COUNT = BATCH * NUM_BATCHES, CLASSES = LIANA__TINY_CLASSES };
enum { PIXELS = LIANA__TINY_SIZE * LIANA__TINY_SIZE };

typedef struct fixture {
    liana_context *context;
    liana_dataset *data;
    uint8_t *images; /* [COUNT, PIXELS], those of the data */
    int32_t labels[COUNT];
} fixture;

static fixture set_up(void)
{
    fixture own;
    liana__test_folder();
    liana__test_tiny_run(COUNT);
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &own.context), LIANA_OK);
    assert_int_equal(liana_dataset_open(own.context, liana__test_path("train-images"), NULL, &own.data), LIANA_OK);
    own.images = malloc((size_t)COUNT * PIXELS);
    assert_non_null(own.images);
    for (uint32_t i = 0; i < COUNT; i++) own.labels[i] = liana__test_tiny_image(1, i, own.images + (size_t)i * PIXELS);
    return own;
}

static void tear_down(fixture *own)
{
    free(own->images);
    liana_dataset_close(own->data);
    liana_context_destroy(own->context);
}

static size_t count_of(const liana_array *array)
{
    size_t count = 1;
    for (int i = 0; i < array->shape.rank; i++) count *= (size_t)array->shape.dims[i];
    return count;
}

/* `count` examples from `first` on. */
static void make_arrays(const fixture *own, int64_t first, int64_t count, liana_array arrays[2])
{
    arrays[0] = (liana_array){"image", LIANA_U8, liana_shape_of(count, LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1),
                              own->images + first * PIXELS};
    arrays[1] = (liana_array){"label", LIANA_S32, liana_shape_of(count), own->labels + first};
}

/* Updates by hand, batch after batch, are an epoch of a fit: the same bits, dropout and moving averages included. */
static void test_batches_are_an_epoch(void **state)
{
    (void)state;
    fixture own = set_up();
    const double weights[] = {1, 2, 0.5};
    liana_fit_options options = {.batch_size = BATCH,
                                 .microbatch = 8,
                                 .optimizer = "{name: Adam, learning_rate: {name: ExponentialDecay, "
                                              "initial_learning_rate: 0.01, decay_steps: 2}}",
                                 .metrics = {"accuracy", "top_5_accuracy"},
                                 .class_weights = weights,
                                 .num_class_weights = 3,
                                 .seed = 5};
    liana_model *model = liana__tiny_model(own.context), *fitted = liana__tiny_model(own.context);
    double loss = 0;
    for (int i = 0; i < NUM_BATCHES; i++) {
        liana_array arrays[2];
        liana_results results;
        make_arrays(&own, i * BATCH, BATCH, arrays);
        done(liana_train_on_batch(model, &options, arrays, 2, &results));
        assert_int_equal(results.num_examples, BATCH);
        assert_compare(results.metrics[1], ==, 1);
        assert_compare(results.loss, >, 0);
        loss += results.loss;
    }
    options.training = own.data;
    options.keep_order = true;
    done(liana_fit(fitted, &options));
    assert_true(liana__same_weights(model, fitted));
    assert_compare(loss, >, 0);
    /* The weights of the classes are in it. */
    liana_model *other = liana__tiny_model(own.context);
    options.class_weights = NULL;
    done(liana_fit(other, &options));
    assert_false(liana__same_weights(other, fitted));
    liana_model_destroy(other);
    liana_model_destroy(fitted);
    liana_model_destroy(model);
    tear_down(&own);
}

/* The command's balanced weights are these numbers. */
static void test_class_weights_are_those_of_the_command(void **state)
{
    (void)state;
    fixture own = set_up();
    const double weights[] = {0.5, 1, 2, 4};
    char run[256];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    assert_code(liana__test_command("train", liana__test_path("config.yaml"), "--out", run,
                                    "train.class_weights={0: 0.5, 2: 2, 3: 4}", "train.seed=0", "train.epochs=1"),
                0);
    liana_model *model = liana__tiny_model(own.context), *trained;
    done(liana_fit(model, &(liana_fit_options){.training = own.data,
                                               .microbatch = 8,
                                               .optimizer = "{name: Adam, learning_rate: 0.003}",
                                               .class_weights = weights,
                                               .num_class_weights = CLASSES}));
    done(liana_model_load(own.context, run, &trained));
    assert_true(liana__same_weights(model, trained));
    liana_model_destroy(model);
    liana_model_destroy(trained);
    tear_down(&own);
}

static void test_a_batch_is_measured_and_predicted(void **state)
{
    (void)state;
    fixture own = set_up();
    liana_model *model = liana__tiny_model(own.context);
    done(liana_fit(model, &(liana_fit_options){.training = own.data, .epochs = 2}));
    liana_array arrays[2];
    liana_results results, expected;
    make_arrays(&own, 0, COUNT, arrays);
    done(liana_test_on_batch(model, NULL, arrays, 2, &results));
    done(liana_evaluate(model, own.data, &(liana_evaluate_options){.batch_size = COUNT}, &expected));
    assert_int_equal(results.num_examples, COUNT);
    assert_compare(results.loss, ==, expected.loss);
    assert_compare(results.metrics[0], ==, expected.metrics[0]);
    float *outputs = calloc(COUNT * CLASSES, sizeof *outputs), *whole = calloc(COUNT * CLASSES, sizeof *whole);
    assert_true(outputs && whole);
    done(liana_predict(model, own.data, NULL, whole));
    done(liana_predict_on_batch(model, arrays, 1, outputs));
    assert_memory_equal(outputs, whole, COUNT * CLASSES * sizeof *outputs);
    /* Batches of another size give the same, but for rounding; and steps end early. */
    memset(outputs, 0, COUNT * CLASSES * sizeof *outputs);
    liana_predict_options some = {.batch_size = 10, .steps = 4};
    done(liana_predict(model, own.data, &some, outputs));
    for (size_t i = 0; i < 40 * CLASSES; i++) assert_near(outputs[i], whole[i], 1e-6, i);
    for (size_t i = 40 * CLASSES; i < COUNT * CLASSES; i++) assert_compare(outputs[i], ==, 0, i);
    refused(liana_predict(model, own.data, &some, NULL), LIANA_INVALID_ARGUMENT, "is NULL");
    some.steps = -1;
    refused(liana_predict(model, own.data, &some, outputs), LIANA_INVALID_ARGUMENT, "steps is -1");
    free(outputs);
    free(whole);
    liana_model_destroy(model);
    tear_down(&own);
}

static void test_batches_that_do_not_fit(void **state)
{
    (void)state;
    fixture own = set_up();
    liana_model *model = liana__tiny_model(own.context), *same = liana__tiny_model(own.context);
    liana_array arrays[2], changed[2];
    make_arrays(&own, 0, 8, arrays);
    refused(liana_train_on_batch(model, NULL, NULL, 0, NULL), LIANA_INVALID_ARGUMENT, "no component for the input");
    refused(liana_train_on_batch(model, NULL, NULL, 2, NULL), LIANA_INVALID_ARGUMENT, "'arrays' is NULL");
    refused(liana_train_on_batch(model, NULL, arrays, 1, NULL), LIANA_INVALID_ARGUMENT,
            "no component for the output 'dense'; they have 'image'");
    memcpy(changed, arrays, sizeof changed);
    /* In their order, whatever they are called. */
    changed[1].name = "labels";
    done(liana_test_on_batch(model, NULL, changed, 2, NULL));
    changed[1].name = NULL;
    refused(liana_test_on_batch(model, NULL, changed, 2, NULL), LIANA_INVALID_ARGUMENT, "array 1 ('') has no name");
    memcpy(changed, arrays, sizeof changed);
    changed[0].dtype = LIANA_F32;
    refused(liana_test_on_batch(model, NULL, changed, 2, NULL), LIANA_INVALID_ARGUMENT,
            "f32[8, 12, 12, 1], expected u8 [8, 12, 12, 1]");
    memcpy(changed, arrays, sizeof changed);
    changed[0].shape.dims[3] = 3;
    refused(liana_predict_on_batch(model, changed, 1, (float[CLASSES * 8]){0}), LIANA_INVALID_ARGUMENT,
            "u8[8, 12, 12, 3]");
    memcpy(changed, arrays, sizeof changed);
    changed[0].shape.rank = 77;
    changed[0].dtype = -3;
    refused(liana_test_on_batch(model, NULL, changed, 2, NULL), LIANA_INVALID_ARGUMENT, "an unknown dtype of rank 77");
    memcpy(changed, arrays, sizeof changed);
    changed[1].shape.dims[0] = 7;
    refused(liana_test_on_batch(model, NULL, changed, 2, NULL), LIANA_INVALID_ARGUMENT,
            "s32[7], expected [batch, ...], with the same batch as 'image'");
    own.labels[3] = CLASSES;
    refused(liana_train_on_batch(model, NULL, arrays, 2, NULL), LIANA_OUT_OF_RANGE,
            "example 3 has the label 4, expected 0 to 3");
    own.labels[3] = 0;
    refused(liana_train_on_batch(model, &(liana_fit_options){.batch_size = 4}, arrays, 2, NULL), LIANA_INVALID_ARGUMENT,
            "a batch of 8 examples, but batch_size is 4");
    refused(liana_train_on_batch(model, &(liana_fit_options){.augment = "[random_flip]"}, arrays, 2, NULL),
            LIANA_INVALID_ARGUMENT, "augment is set");
    refused(liana_train_on_batch(model,
                                 &(liana_fit_options){.optimizer = "{name: SGD, learning_rate: {name: CosineDecay}}"},
                                 arrays, 2, NULL),
            LIANA_INVALID_CONFIG, "give decay_steps");
    refused(liana_train_on_batch(model,
                                 &(liana_fit_options){
                                     .optimizer = "{name: SGD, learning_rate: {name: CosineDecay, decay_epochs: 2}}"},
                                 arrays, 2, NULL),
            LIANA_INVALID_CONFIG, "set steps_per_epoch");
    refused(liana_train_on_batch(model, &(liana_fit_options){.precision = (liana_precision)9}, arrays, 2, NULL),
            LIANA_INVALID_ARGUMENT, "precision is 9, expected float32, ");
    refused(liana_train_on_batch(model, &(liana_fit_options){.class_weights = (double[]){-1}, .num_class_weights = 1},
                                 arrays, 2, NULL),
            LIANA_INVALID_ARGUMENT, "class_weights[0] is -1");
    refused(liana_predict_on_batch(model, arrays, 1, NULL), LIANA_INVALID_ARGUMENT, "is NULL");
    refused(liana_fit(model, &(liana_fit_options){.training = own.data,
                                                  .class_weights = (double[]){1, -1},
                                                  .num_class_weights = 2}),
            LIANA_INVALID_ARGUMENT, "class_weights[1] is -1");
    assert_true(liana__same_weights(model, same));
    liana_model_destroy(same);
    liana_model_destroy(model);
    tear_down(&own);
}

/* ---- weights ---- */

static void test_weights_by_name(void **state)
{
    (void)state;
    fixture own = set_up();
    liana_model *model = liana__tiny_model(own.context), *other = liana__tiny_model(own.context);
    static const char *const names[] = {"conv2d/kernel",
                                        "conv2d/bias",
                                        "batch_normalization/gamma",
                                        "batch_normalization/beta",
                                        "batch_normalization/moving_mean",
                                        "batch_normalization/moving_variance",
                                        "dense/kernel",
                                        "dense/bias",
                                        NULL};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *name = liana_model_weight(model, i).name;
        if (names[i]) assert_string_equal(name, names[i]);
        if (!names[i]) assert_null(name);
    }
    liana_array kernel, wrong;
    done(liana_model_get_weights(model, "dense/kernel", &kernel));
    assert_compare(kernel.shape.rank, ==, 2);
    assert_compare(kernel.shape.dims[0], ==, 200);
    assert_compare(kernel.shape.dims[1], ==, CLASSES);
    /* A dense layer without weights but a bias predicts that bias's softmax, whatever the images are. */
    static float zeros[200 * CLASSES];
    const float bias[CLASSES] = {0, 1, 2, 3};
    liana_array values[] = {{"dense/kernel", LIANA_F32, liana_shape_of(200, CLASSES), zeros},
                            {"dense/bias", LIANA_F32, liana_shape_of(CLASSES), bias}};
    done(liana_predict(model, own.data, NULL, (float[COUNT * CLASSES]){0})); /* compiled before */
    done(liana_model_set_weights(model, values, 2));
    liana_array arrays[2];
    float outputs[2 * CLASSES];
    make_arrays(&own, 0, 2, arrays);
    done(liana_predict_on_batch(model, arrays, 1, outputs));
    double sum = 1 + exp(1) + exp(2) + exp(3);
    for (int i = 0; i < 2 * CLASSES; i++) assert_near(outputs[i], exp(i % CLASSES) / sum, 1e-6, i);
    /* All weights of another model make it that model. */
    for (size_t i = 0; names[i]; i++) {
        liana_array one;
        done(liana_model_get_weights(model, names[i], &one));
        done(liana_model_set_weights(other, &one, 1));
    }
    assert_true(liana__same_weights(model, other));
    refused(liana_model_get_weights(model, "dense/kernl", &wrong), LIANA_NOT_FOUND, "did you mean 'dense/kernel'");
    refused(liana_model_get_weights(model, NULL, &wrong), LIANA_INVALID_ARGUMENT, "NULL");
    refused(liana_model_get_weights(model, "dense/kernel", NULL), LIANA_INVALID_ARGUMENT, "NULL");
    refused(liana_model_set_weights(model, NULL, 1), LIANA_INVALID_ARGUMENT, "NULL");
    /* Nothing changes if one does not fit. */
    values[0].data = own.images;
    values[1].shape.dims[0] = 3;
    refused(liana_model_set_weights(model, values, 2), LIANA_INVALID_ARGUMENT,
            "'dense/bias' is f32[3], the weight is f32[4]");
    values[1].data = NULL;
    refused(liana_model_set_weights(model, values, 2), LIANA_INVALID_ARGUMENT, "are NULL");
    assert_true(liana__same_weights(model, other));
    liana_model_destroy(other);
    liana_model_destroy(model);
    tear_down(&own);
}

/* ---- without a run ---- */

static void test_a_model_needs_no_run(void **state)
{
    (void)state;
    fixture own = set_up();
    char run[256], saved[256], architecture[300], weights[300], data[256], csv[2][256];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    snprintf(saved, sizeof saved, "%s", liana__test_path("saved"));
    snprintf(data, sizeof data, "%s", liana__test_path("validation-images"));
    snprintf(csv[0], sizeof csv[0], "%s", liana__test_path("of-run.csv"));
    snprintf(csv[1], sizeof csv[1], "%s", liana__test_path("of-model.csv"));
    snprintf(architecture, sizeof architecture, "%s/model.json", saved);
    snprintf(weights, sizeof weights, "%s/weights.safetensors", saved);
    assert_code(liana__test_command("train", liana__test_path("config.yaml"), "--out", run), 0);
    liana_model *model, *loaded;
    done(liana_model_load(own.context, run, &model));
    done(liana_model_save(model, saved));
    /* In C. */
    done(liana_model_load_architecture(own.context, architecture, &loaded));
    assert_false(liana__same_weights(loaded, model));
    done(liana_model_load_weights(loaded, weights, false));
    assert_true(liana__same_weights(loaded, model));
    liana_results of_run, of_model;
    done(liana_evaluate(model, own.data, NULL, &of_run));
    done(liana_evaluate(loaded, own.data, NULL, &of_model));
    assert_compare(of_run.loss, ==, of_model.loss);
    liana_model_destroy(loaded);
    refused(liana_model_load_architecture(own.context, "nothing.json", &loaded), LIANA_NOT_FOUND, "nothing.json");
    assert_null(loaded);
    refused(liana_model_load_architecture(own.context, NULL, &loaded), LIANA_INVALID_ARGUMENT, "NULL");
    /* With the command: the same numbers as of the run. */
    liana__test_result expected = liana__test_command("evaluate", run, "--data", data);
    char numbers[256];
    size_t length = strcspn(expected.out, "'");
    assert_compare(length, >, 20);
    assert_compare(length, <, sizeof numbers);
    snprintf(numbers, sizeof numbers, "%.*s", (int)length, expected.out);
    assert_code(expected, 0);
    liana__test_result got =
        liana__test_command("evaluate", "--model", architecture, "--weights", weights, "--data", data);
    assert_memory_equal(got.out, numbers, length);
    assert_says(got.out, weights);
    assert_code(got, 0);
    got = liana__test_command("evaluate", "--model", saved, "--data", data);
    assert_memory_equal(got.out, numbers, length);
    assert_code(got, 0);
    assert_code(liana__test_command("predict", run, data, "--out", csv[0]), 0);
    assert_code(liana__test_command("predict", "--model", saved, data, "--out", csv[1]), 0);
    assert_same_file(csv[0], csv[1]);
    /* Missing arguments, or too many. */
    assert_refused(liana__test_command("evaluate", "--model", architecture, "--data", data), 2, "no weights",
                   "--weights FILE");
    assert_refused(liana__test_command("evaluate", "--weights", weights), 2, "--weights needs --model");
    assert_refused(liana__test_command("evaluate"), 2, "found no RUN", "--model FILE");
    assert_refused(liana__test_command("evaluate", run, "--model", saved, "--data", data), 2, "give one of them");
    assert_refused(liana__test_command("evaluate", "--model", saved, "--data", data, "--checkpoint", "step-1"), 2,
                   "--checkpoint belongs to a run");
    assert_refused(liana__test_command("evaluate", "--model", saved), 2, "data.validation");
    assert_refused(liana__test_command("evaluate", "--model", saved, "--data", data, "data.image_size=20"), 2,
                   "the model's images are 12x12x1");
    assert_refused(liana__test_command("predict", "--model", saved), 2, "no images");
    liana_model_destroy(model);
    tear_down(&own);
}

/* A network from a list of layers begins with the weights of another, but for its new head. */
static void test_a_new_head_under_layers(void **state)
{
    (void)state;
    fixture own = set_up();
    char run[256], weights[600], key[700];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    assert_code(liana__test_command("train", liana__test_path("config.yaml"), "--out", run, "train.epochs=1"), 0);
    snprintf(weights, sizeof weights, "%s/variables.safetensors", liana__test_newest_checkpoint("run"));
    snprintf(key, sizeof key, "model.weights=%s", weights);
    static const char head[] = "model.layers[5]={Dense: {units: 4, activation: softmax, name: head}}";
    const char *config = liana__test_path("config.yaml");
    char other[256];
    snprintf(other, sizeof other, "%s", liana__test_path("other"));
    assert_refused(liana__test_command("train", config, "--out", other, key, head), 1, "head");
    assert_refused(liana__test_command("train", config, "--out", other, "model.partial_weights=true"), 2,
                   "model.partial_weights", "needs model.weights");
    /* A rate of almost nothing: loaded weights stay. */
    liana__test_result got =
        liana__test_command("train", config, "--out", other, key, head, "model.partial_weights=true", "train.epochs=1",
                            "train.optimizer={name: SGD, learning_rate: 1.0e-30}");
    assert_says(got.out, "layers with weights that are not in it: 1");
    assert_code(got, 0);
    liana_model *first, *second;
    done(liana_model_load(own.context, run, &first));
    done(liana_model_load(own.context, other, &second));
    liana_array left, right;
    done(liana_model_get_weights(first, "conv2d/kernel", &left));
    done(liana_model_get_weights(second, "conv2d/kernel", &right));
    assert_memory_equal(left.data, right.data, count_of(&left) * sizeof(float));
    done(liana_model_get_weights(second, "head/kernel", &right));
    /* A layer of another shape is an error nevertheless. */
    assert_refused(liana__test_command("train", config, "--out", other, key, "model.partial_weights=true",
                                       "model.layers[0].Conv2D.filters=9", "--resume"),
                   2, "model");
    assert_refused(liana__test_command("train", config, "--out", liana__test_path("third"), key,
                                       "model.partial_weights=true", "model.layers[0].Conv2D.filters=9"),
                   1, "conv2d", "9");
    liana_model_destroy(first);
    liana_model_destroy(second);
    tear_down(&own);
}

/* initial_epoch: with as many epochs as were trained, two fits are one longer fit. */
static void test_initial_epochs_continue(void **state)
{
    (void)state;
    fixture own = set_up();
    liana_fit_options options = {.training = own.data, .epochs = 3, .seed = 2};
    liana_model *whole = liana__tiny_model(own.context), *parts = liana__tiny_model(own.context);
    done(liana_fit(whole, &options));
    options.epochs = 1;
    done(liana_fit(parts, &options));
    options.initial_epoch = 1;
    options.epochs = 3;
    done(liana_fit(parts, &options));
    assert_true(liana__same_weights(whole, parts));
    options.initial_epoch = 3;
    refused(liana_fit(parts, &options), LIANA_INVALID_ARGUMENT, "initial_epoch is 3, expected less than epochs");
    liana_model_destroy(whole);
    liana_model_destroy(parts);
    tear_down(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches_are_an_epoch),
        cmocka_unit_test(test_class_weights_are_those_of_the_command),
        cmocka_unit_test(test_a_batch_is_measured_and_predicted),
        cmocka_unit_test(test_batches_that_do_not_fit),
        cmocka_unit_test(test_weights_by_name),
        cmocka_unit_test(test_a_model_needs_no_run),
        cmocka_unit_test(test_a_new_head_under_layers),
        cmocka_unit_test(test_initial_epochs_continue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
