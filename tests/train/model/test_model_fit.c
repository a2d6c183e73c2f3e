/* fit, evaluate, predict, save and load, as a C program sees them. */
#include "harness/command_run.h"

#include "base/context.h"
#include "base/file.h"
#include "formats/image.h"
#include "train/config/config.h"

#include <liana/liana.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_TRAINING = 200, NUM_VALIDATION = 100, CLASSES = LIANA__TINY_CLASSES };

typedef struct fixture {
    liana_context *context;
    liana_dataset *training;
    liana_dataset *validation;
} fixture;

static fixture set_up(void)
{
    fixture own;
    liana__test_folder();
    liana__test_tiny_run(NUM_TRAINING);
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &own.context), LIANA_OK);
    assert_int_equal(liana_dataset_open(own.context, liana__test_path("train-images"), NULL, &own.training), LIANA_OK);
    assert_int_equal(liana_dataset_open(own.context, liana__test_path("validation-images"), NULL, &own.validation),
                     LIANA_OK);
    return own;
}

static void tear_down(fixture *own)
{
    liana_dataset_close(own->training);
    liana_dataset_close(own->validation);
    liana_context_destroy(own->context);
}

/* The network of the test run's configuration. */
static liana_model *make_model(liana_context *context)
{
    liana_model *model;
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1));
    liana_conv2d(model, .filters = 8, .kernel_size = 3, .activation = "relu");
    liana_batch_normalization(model, .momentum = 0.9);
    liana_max_pooling2d(model);
    liana_dropout(model, .rate = 0.25);
    liana_flatten(model);
    liana_dense(model, .units = CLASSES, .activation = "softmax");
    assert_int_equal(liana_model_status(model), LIANA_OK);
    return model;
}

/* One that keeps much for its gradient. */
static liana_model *make_deep_model(liana_context *context)
{
    liana_model *model;
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1));
    for (int i = 0; i < 8; i++) {
        liana_conv2d(model, .filters = 32, .kernel_size = 3, .padding = LIANA_PADDING_SAME, .activation = "relu");
        liana_batch_normalization(model);
    }
    liana_global_average_pooling2d(model);
    liana_dense(model, .units = CLASSES, .activation = "softmax");
    assert_int_equal(liana_model_status(model), LIANA_OK);
    return model;
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
    if (status != expected || !strstr(message, text)) {
        print_error("%s:%d: %s: %s\n", __FILE__, line, liana_status_name(status), message);
    }
    assert_int_equal(status, expected);
    assert_says(message, text);
}
#define refused(status, expected, text) check_refused(&own, (status), (expected), (text), __LINE__)

static float *outputs_of(const fixture *own, liana_model *model)
{
    float *outputs = malloc(NUM_VALIDATION * CLASSES * sizeof *outputs);
    check_done(own, liana_predict(model, own->validation, NULL, outputs), __LINE__);
    return outputs;
}

static bool same_outputs(const fixture *own, liana_model *a, liana_model *b)
{
    float *first = outputs_of(own, a), *second = outputs_of(own, b);
    bool same = memcmp(first, second, NUM_VALIDATION * CLASSES * sizeof *first) == 0;
    free(first);
    free(second);
    return same;
}

typedef struct epochs {
    liana_epoch last;
    int64_t stop_at;
} epochs;

static bool note_epoch(void *user, const liana_epoch *epoch)
{
    epochs *own = user;
    assert_int_equal(epoch->epoch, own->last.epoch + 1);
    own->last = *epoch;
    return epoch->epoch != own->stop_at;
}

static void test_datasets(void **state)
{
    (void)state;
    fixture own = set_up();
    assert_int_equal(liana_dataset_info(own.training).num_examples, NUM_TRAINING);
    int64_t classes, shape[3];
    done(liana_dataset_count_classes(own.training, &classes));
    assert_int_equal(classes, CLASSES);
    done(liana_dataset_image_shape(own.training, shape));
    assert_compare(shape[0], ==, LIANA__TINY_SIZE);
    assert_compare(shape[1], ==, LIANA__TINY_SIZE);
    assert_compare(shape[2], ==, 1);
    liana_dataset *other;
    liana_dataset_options options = {.take = 7, .unlabelled = true};
    done(liana_dataset_open(own.context, liana__test_path("train-images"), &options, &other));
    assert_int_equal(liana_dataset_info(other).num_examples, 7);
    liana_dataset_close(other);
    refused(liana_dataset_open(own.context, liana__test_path("no-*"), NULL, &other), LIANA_NOT_FOUND, "no-*");
    assert_null(other);
    options.take = -1;
    refused(liana_dataset_open(own.context, liana__test_path("train-images"), &options, &other), LIANA_INVALID_ARGUMENT,
            "take is -1");
    tear_down(&own);
}

static void test_fit_evaluate_and_predict_agree(void **state)
{
    (void)state;
    fixture own = set_up();
    liana_model *model = make_model(own.context);
    liana_results before, after;
    done(liana_evaluate(model, own.validation, NULL, &before));
    epochs seen = {.stop_at = 0};
    liana_fit_options options = {.training = own.training,
                                 .validation = own.validation,
                                 .epochs = 6,
                                 .optimizer = "{name: Adam, learning_rate: 0.003}",
                                 .metrics = {"accuracy", "top_5_accuracy"},
                                 .on_epoch = note_epoch,
                                 .user = &seen};
    done(liana_fit(model, &options));
    assert_int_equal(seen.last.epoch, 6);
    assert_int_equal(seen.last.training.num_examples, NUM_TRAINING);
    assert_compare(seen.last.learning_rate, ==, 0.003);
    liana_evaluate_options measured = {.batch_size = 32, .metrics = {"accuracy", "top_5_accuracy"}};
    done(liana_evaluate(model, own.validation, &measured, &after));
    assert_int_equal(after.num_examples, NUM_VALIDATION);
    assert_compare(after.loss, ==, seen.last.validation.loss);
    assert_compare(after.metrics[0], ==, seen.last.validation.metrics[0]);
    assert_compare(after.metrics[1], ==, 1);
    assert_compare(after.loss, <, 0.8 * before.loss);
    assert_compare(after.metrics[0], >, 0.85);
    float *outputs = outputs_of(&own, model);
    int right = 0;
    double loss = 0;
    for (uint32_t i = 0; i < NUM_VALIDATION; i++) {
        uint8_t pixels[LIANA__TINY_SIZE * LIANA__TINY_SIZE];
        int label = liana__test_tiny_image(2, i, pixels), best = 0;
        for (int c = 1; c < CLASSES; c++) {
            if (outputs[i * CLASSES + (uint32_t)c] > outputs[i * CLASSES + (uint32_t)best]) best = c;
        }
        right += best == label;
        loss -= log((double)outputs[i * CLASSES + (uint32_t)label]);
    }
    assert_int_equal(right, (int)round(after.metrics[0] * NUM_VALIDATION));
    assert_near(loss / NUM_VALIDATION, after.loss, 1e-5);
    free(outputs);
    liana_model_destroy(model);
    tear_down(&own);
}

/* The library and the command are one: the same weights, byte for byte. */
static void test_fit_is_what_the_command_does(void **state)
{
    (void)state;
    fixture own = set_up();
    static const char *const overrides[] = {"train.precision=float32", "train.precision=mixed_bfloat16"};
    for (int mixed = 0; mixed < 2; mixed++) {
        const char *run = mixed ? "mixed" : "plain";
        assert_code(liana__test_command("train", liana__test_path("config.yaml"), "--out", liana__test_path(run),
                                        "train.seed=0", overrides[mixed]),
                    0);
        liana_model *trained, *model = make_model(own.context);
        liana_fit_options options = {.training = own.training,
                                     .epochs = 3,
                                     .batch_size = 32,
                                     .microbatch = 8,
                                     .precision = mixed ? LIANA_MIXED_BFLOAT16 : LIANA_FLOAT32,
                                     .optimizer = "{name: Adam, learning_rate: 0.003}"};
        done(liana_fit(model, &options));
        done(liana_model_load(own.context, liana__test_path(run), &trained));
        assert_int_equal(liana_model_precision(trained), options.precision);
        assert_true(same_outputs(&own, model, trained));
        liana_model_destroy(trained);
        liana_model_destroy(model);
    }
    tear_down(&own);
}

static void test_save_and_load(void **state)
{
    (void)state;
    fixture own = set_up();
    liana_model *model = make_model(own.context), *copy;
    done(liana_fit(model, &(liana_fit_options){.training = own.training}));
    char folder[256], weights[300];
    snprintf(folder, sizeof folder, "%s", liana__test_path("saved/here"));
    snprintf(weights, sizeof weights, "%s/weights.safetensors", folder);
    done(liana_model_save(model, folder));
    done(liana_model_load(own.context, folder, &copy));
    assert_true(same_outputs(&own, model, copy));
    /* Another fit from there changes it, in the same way for both. */
    liana_fit_options options = {.training = own.training, .optimizer = "SGD", .seed = 3};
    done(liana_fit(copy, &options));
    assert_false(same_outputs(&own, model, copy));
    done(liana_fit(model, &options));
    assert_true(same_outputs(&own, model, copy));
    liana_model_destroy(copy);
    /* Weights alone, into a model with another head. */
    liana_model *other;
    done(liana_model_create(own.context, NULL, &other));
    liana_input(other, .shape = LIANA_INTS(LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1));
    liana_conv2d(other, .filters = 8, .kernel_size = 3, .activation = "relu");
    liana_global_average_pooling2d(other);
    liana_dense(other, .units = CLASSES, .activation = "softmax", .name = "head");
    refused(liana_model_load_weights(other, weights, false), LIANA_INVALID_DATA, "head");
    done(liana_model_load_weights(other, weights, true));
    refused(liana_model_load_weights(other, liana__test_path("nothing"), true), LIANA_NOT_FOUND, "nothing");
    refused(liana_model_load(own.context, liana__test_path("nothing"), &copy), LIANA_NOT_FOUND, "nothing/model.json");
    assert_null(copy);
    liana_model_destroy(other);
    liana_model_destroy(model);
    tear_down(&own);
}

static void test_a_stopped_fit_goes_on(void **state)
{
    (void)state;
    fixture own = set_up();
    char checkpoints[256];
    snprintf(checkpoints, sizeof checkpoints, "%s", liana__test_path("checkpoints"));
    liana_model *whole = make_model(own.context), *model = make_model(own.context);
    liana_fit_options options = {.training = own.training, .epochs = 4, .on_epoch = note_epoch};
    epochs seen = {.stop_at = 0};
    options.user = &seen;
    done(liana_fit(whole, &options));
    seen = (epochs){.stop_at = 2};
    options.checkpoints = checkpoints;
    refused(liana_fit(model, &options), LIANA_CANCELLED, "stopped on request");
    assert_int_equal(seen.last.epoch, 2);
    assert_false(same_outputs(&own, whole, model));
    options.resume = true;
    seen.stop_at = 0;
    done(liana_fit(model, &options));
    assert_int_equal(seen.last.epoch, 4);
    assert_true(same_outputs(&own, whole, model));
    liana_model_destroy(whole);
    liana_model_destroy(model);
    tear_down(&own);
}

/* A model keeps the precision of its training, for later calls and through a checkpoint. */
static void test_precision(void **state)
{
    (void)state;
    fixture own = set_up();
    char checkpoints[256];
    snprintf(checkpoints, sizeof checkpoints, "%s", liana__test_path("checkpoints"));
    liana_model *exact = make_model(own.context), *model = make_model(own.context);
    liana_fit_options options = {.training = own.training, .validation = own.validation, .on_epoch = note_epoch};
    epochs seen = {.stop_at = 0};
    options.user = &seen;
    done(liana_fit(exact, &options));
    assert_int_equal(liana_model_precision(exact), LIANA_FLOAT32);
    options.precision = LIANA_MIXED_BFLOAT16;
    options.checkpoints = checkpoints;
    seen = (epochs){.stop_at = 0};
    done(liana_fit(model, &options));
    assert_int_equal(liana_model_precision(model), LIANA_MIXED_BFLOAT16);
    assert_false(same_outputs(&own, exact, model));
    liana_results mixed, wide;
    done(liana_evaluate(model, own.validation, NULL, &mixed));
    assert_compare(mixed.loss, ==, seen.last.validation.loss);
    liana_model_set_precision(model, LIANA_FLOAT32);
    done(liana_evaluate(model, own.validation, NULL, &wide));
    /* Where bf16 is multiplied in f32, an evaluation gains nothing from it, and computes in float32. */
    assert_compare(mixed.loss != wide.loss, ==, own.context->isa >= LIANA__ISA_AVX512_BF16);
    assert_near(mixed.loss, wide.loss, 0.01 * wide.loss);
    options.resume = true;
    options.epochs = 2;
    options.precision = LIANA_FLOAT32;
    refused(liana_fit(model, &options), LIANA_INVALID_ARGUMENT, "were trained in mixed_bfloat16; ask for that");
    options.precision = LIANA_PRECISION_AUTO;
    done(liana_fit(model, &options));
    assert_int_equal(liana_model_precision(model), LIANA_MIXED_BFLOAT16);
    options.precision = (liana_precision)7;
    refused(liana_fit(model, &options), LIANA_INVALID_ARGUMENT, "precision is 7, expected float32, ");
    options = (liana_fit_options){.training = own.training, .precision = LIANA_PRECISION_AUTO};
    done(liana_fit(exact, &options));
    assert_compare(liana_model_precision(exact), !=, LIANA_PRECISION_AUTO);
    liana_model_destroy(exact);
    liana_model_destroy(model);
    tear_down(&own);
}

/* The least MiB that a refusal names. */
static int64_t least_memory(const fixture *given, liana_model *model, liana_fit_options options)
{
    const fixture own = *given;
    options.memory = 1;
    refused(liana_fit(model, &options), LIANA_OUT_OF_MEMORY, "training needs at least ");
    return strtoll(strstr(liana_context_message(own.context), "at least ") + 9, NULL, 10);
}

/* Parts of the forward pass twice: in the same memory as asked for, to the same weights, and as a checkpoint has it. */
static void test_recompute(void **state)
{
    (void)state;
    fixture own = set_up();
    char checkpoints[256];
    snprintf(checkpoints, sizeof checkpoints, "%s", liana__test_path("checkpoints"));
    liana_model *plain = make_deep_model(own.context), *limited = make_deep_model(own.context);
    liana_fit_options options = {.training = own.training, .batch_size = 200, .microbatch = 100};
    done(liana_fit(plain, &options));
    options.recompute = LIANA_RECOMPUTE_AUTO;
    options.checkpoints = checkpoints;
    int64_t least = least_memory(&own, limited, options);
    assert_in_range(least, 2, 1 << 10);
    options.memory = least;
    done(liana_fit(limited, &options));
    assert_true(same_outputs(&own, plain, limited));
    options.memory = 0;
    options.resume = true;
    options.epochs = 2;
    done(liana_fit(limited, &options));
    options.memory = -1;
    refused(liana_fit(limited, &options), LIANA_INVALID_ARGUMENT, "memory is -1, expected 0 to 16777216");
    options.memory = 0;
    options.recompute = (liana_recompute)9;
    refused(liana_fit(limited, &options), LIANA_INVALID_ARGUMENT, "recompute is 9");
    liana_model_destroy(plain);
    liana_model_destroy(limited);
    tear_down(&own);
}

/* A loss on probabilities would make something of any numbers, and train. */
static void test_a_model_without_softmax_is_not_trained(void **state)
{
    (void)state;
    static const char *const activations[] = {"linear", "relu", "sigmoid"};
    fixture own = set_up();
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++) {
        liana_model *model;
        done(liana_model_create(own.context, NULL, &model));
        liana_input(model, .shape = LIANA_INTS(LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1));
        liana_flatten(model);
        liana_dense(model, .units = CLASSES, .activation = activations[i], .name = "scores");
        float *before = outputs_of(&own, model);
        refused(liana_fit(model, &(liana_fit_options){.training = own.training}), LIANA_INVALID_CONFIG,
                "layer 'scores' (Dense, activation: ");
        refused(liana_fit(model, &(liana_fit_options){.training = own.training, .loss = "categorical_crossentropy"}),
                LIANA_INVALID_CONFIG, "end the model in a softmax");
        float *after = outputs_of(&own, model);
        assert_memory_equal(before, after, NUM_VALIDATION * CLASSES * sizeof *before);
        free(before);
        free(after);
        liana_softmax(model);
        done(liana_fit(model, &(liana_fit_options){.training = own.training}));
        liana_model_destroy(model);
    }
    tear_down(&own);
}

/* A setting that the configuration refuses is refused here in the same words, and changes no weight. */
static void test_optimizers_are_read_as_in_a_configuration(void **state)
{
    (void)state;
    static const char *const rates[] = {
        "0",      "0.0",    "1.0e-400",       "-1",
        "nan",    ".nan",   ".inf",           "inf",
        "abc",    "'0.1'",  "true",           "[1]",
        "1.0e39", "{a: 1}", "{name: Cosine}", "{name: CosineDecay, initial_learning_rate: 0}"};
    fixture own = set_up();
    liana_model *model = make_model(own.context), *same = make_model(own.context);
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        char optimizer[120], yaml[200];
        snprintf(optimizer, sizeof optimizer, "{name: Adam, learning_rate: %s}", rates[i]);
        snprintf(yaml, sizeof yaml, "{model: {base: M}, train: {optimizer: %s}}", optimizer);
        liana__arena arena = {0};
        liana__config config;
        liana__error error = {0};
        assert_int_equal(liana__config_parse(NULL, LIANA__PLUGINS_IGNORED, yaml, strlen(yaml), "c.yaml", NULL, 0,
                                             &arena, &config, &error),
                         LIANA_INVALID_CONFIG);
        const char *reason = strstr(error.message, "optimizer.learning_rate");
        assert_non_null(reason);
        refused(liana_fit(model, &(liana_fit_options){.training = own.training, .optimizer = optimizer}),
                LIANA_INVALID_CONFIG, reason);
        liana__arena_free(&arena);
    }
    assert_true(same_outputs(&own, model, same));
    liana_model_destroy(model);
    liana_model_destroy(same);
    tear_down(&own);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    fixture own = set_up();
    liana_model *model = make_model(own.context), *same = make_model(own.context);
    liana_results results;
    refused(liana_fit(model, &(liana_fit_options){.epochs = 1}), LIANA_INVALID_ARGUMENT, "no data");
    refused(liana_fit(model, &(liana_fit_options){.training = own.training, .epochs = -1}), LIANA_INVALID_ARGUMENT,
            "epochs is -1");
    refused(liana_fit(model, &(liana_fit_options){.training = own.training, .batch_size = -3}), LIANA_INVALID_ARGUMENT,
            "batch_size is -3");
    refused(liana_fit(model, &(liana_fit_options){.training = own.training, .optimizer = "Adm"}), LIANA_INVALID_CONFIG,
            "did you mean 'Adam'");
    refused(liana_fit(model, &(liana_fit_options){.training = own.training, .optimizer = "{name: SGD, momentm: 1}"}),
            LIANA_INVALID_CONFIG, "did you mean 'momentum'");
    refused(liana_fit(model, &(liana_fit_options){.training = own.training, .optimizer = "[1]"}), LIANA_INVALID_CONFIG,
            "expected a name, or a mapping");
    refused(liana_fit(model, &(liana_fit_options){.training = own.training, .loss = "hinge"}), LIANA_INVALID_CONFIG,
            "'hinge'");
    refused(liana_evaluate(model, own.validation, &(liana_evaluate_options){.metrics = {"accurcy"}}, &results),
            LIANA_INVALID_CONFIG, "did you mean 'accuracy'");
    refused(liana_evaluate(model, own.validation, &(liana_evaluate_options){.metrics = {"accuracy", "accuracy"}},
                           &results),
            LIANA_INVALID_CONFIG, "'accuracy' is named twice");
    liana_dataset *other;
    liana_dataset_options options = {.scale = LIANA_SCALE_MINUS_ONE_ONE, .label_offset = 1};
    done(liana_dataset_open(own.context, liana__test_path("train-images"), &options, &other));
    refused(liana_fit(model, &(liana_fit_options){.training = own.training, .validation = other}),
            LIANA_INVALID_ARGUMENT, "open both alike");
    /* A label that is one too large, after some updates: the weights are as before. */
    refused(liana_fit(model, &(liana_fit_options){.training = other, .batch_size = 2, .keep_order = true}),
            LIANA_OUT_OF_RANGE, "out of range [0, 4)");
    assert_true(same_outputs(&own, model, same));
    liana_dataset_close(other);
    options = (liana_dataset_options){.unlabelled = true};
    done(liana_dataset_open(own.context, liana__test_path("train-images"), &options, &other));
    refused(liana_evaluate(model, other, NULL, &results), LIANA_INVALID_ARGUMENT,
            "no component for the output 'dense'");
    liana_dataset_close(other);
    liana_model_destroy(model);
    liana_model_destroy(same);
    tear_down(&own);
}

/* A class that has no folder in the validation data must not shift the numbers of those after it. */
static void test_class_folders_that_differ(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__text png = {0};
    fixture own = set_up();
    uint8_t pixels[LIANA__TINY_SIZE * LIANA__TINY_SIZE];
    liana__test_tiny_image(1, 0, pixels);
    assert_ok(liana__png_encode(pixels, LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1, &png, &error), &error);
    static const char *const folders[] = {"train/a", "train/b", "train/c", "train/d", "val/b", "val/d"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char name[64];
        assert_ok(liana__folder_make(liana__test_path(folders[i]), &error), &error);
        snprintf(name, sizeof name, "%s/0.png", folders[i]);
        liana__test_write(name, png.data, png.length);
    }
    liana__text_free(&png);
    liana_dataset *training, *validation;
    int64_t num_classes;
    done(liana_dataset_open(own.context, liana__test_path("train"), NULL, &training));
    done(liana_dataset_open(own.context, liana__test_path("val"), NULL, &validation));
    liana_model *model = make_model(own.context);
    refused(liana_fit(model, &(liana_fit_options){.training = training, .validation = validation}),
            LIANA_INVALID_ARGUMENT,
            "the training data have 4 classes: a, b, c, d; the validation data have 2 classes: b, d");
    liana_dataset_close(validation);
    liana_dataset_options options = {.classes_of = training};
    done(liana_dataset_open(own.context, liana__test_path("val"), &options, &validation));
    done(liana_dataset_count_classes(validation, &num_classes));
    assert_int_equal(num_classes, 4); /* 'd' is number 3 */
    done(liana_fit(model, &(liana_fit_options){.training = training, .validation = validation}));
    /* The model knows its data, also when it was saved and loaded. */
    liana_results results;
    liana_dataset *few;
    done(liana_evaluate(model, validation, NULL, &results));
    done(liana_dataset_open(own.context, liana__test_path("val"), NULL, &few));
    refused(liana_evaluate(model, few, NULL, &results), LIANA_INVALID_ARGUMENT,
            "that have 4 classes: a, b, c, d; these have 2 classes: b, d");
    refused(liana_evaluate(model, own.validation, NULL, &results), LIANA_INVALID_ARGUMENT,
            "4 classes: a, b, c, d; these have numbers for their classes");
    done(liana_model_save(model, liana__test_path("saved")));
    liana_model_destroy(model);
    done(liana_model_load(own.context, liana__test_path("saved"), &model));
    refused(liana_evaluate(model, few, NULL, &results), LIANA_INVALID_ARGUMENT, "these have 2 classes: b, d");
    const char *const *names = liana_model_preprocessing(model).class_names;
    assert_string_equal(names[3], "d");
    assert_null(names[4]);
    liana_dataset_close(few);
    done(
        liana_dataset_open(own.context, liana__test_path("val"), &(liana_dataset_options){.class_names = names}, &few));
    done(liana_evaluate(model, few, NULL, &results));
    liana_dataset_close(few);
    /* Numbers whose meaning is given; and not given, with names. */
    done(liana_dataset_open(own.context, liana__test_path("validation-images"),
                            &(liana_dataset_options){.class_names = names}, &few));
    done(liana_evaluate(model, few, NULL, &results));
    liana_dataset_close(few);
    refused(liana_fit(model, &(liana_fit_options){.training = training, .validation = own.validation}),
            LIANA_INVALID_ARGUMENT, "the validation data have numbers for their classes");
    refused(liana_fit(model, &(liana_fit_options){.training = own.training, .validation = validation}),
            LIANA_INVALID_ARGUMENT, "the training data have numbers for their classes");
    refused(liana_dataset_open(own.context, liana__test_path("validation-images"), &options, &few), LIANA_INVALID_DATA,
            "but the run has names for its classes: 4 classes: a, b, c, d");
    liana_model_destroy(model);
    liana_dataset_close(training);
    liana_dataset_close(validation);
    tear_down(&own);
}

/* Fits a new model, measures it and lets it predict, all on one device. SGD does not enlarge rounding errors: Adam
 * divides small gradients by their own size. */
static liana_results fit_on(const fixture *own, const char *device, float *outputs)
{
    liana_results results;
    liana_model *model = make_model(own->context);
    const liana_fit_options options = {.training = own->training, .epochs = 1, .device = device, .optimizer = "SGD"};
    const liana_evaluate_options measuring = {.device = device};
    const liana_predict_options predicting = {.device = device};
    check_done(own, liana_fit(model, &options), __LINE__);
    check_done(own, liana_evaluate(model, own->validation, &measuring, &results), __LINE__);
    check_done(own, liana_predict(model, own->validation, &predicting, outputs), __LINE__);
    liana_model_destroy(model);
    return results;
}

static void test_devices(void **state)
{
    (void)state;
    fixture own = set_up();
    float first[NUM_VALIDATION * CLASSES], second[NUM_VALIDATION * CLASSES];
    const liana_results cpu = fit_on(&own, NULL, first), plain = fit_on(&own, "reference", second);
    assert_near(cpu.loss, plain.loss, 1e-5 * cpu.loss);
    for (int i = 0; i < NUM_VALIDATION * CLASSES; i++) assert_near(first[i], second[i], 1e-5F, i);
    /* Different kernels: if all bits were the same, both would have computed on one device. */
    assert_memory_not_equal(first, second, sizeof first);
    liana_model *model = make_model(own.context);
    const liana_fit_options options = {.training = own.training, .epochs = 1, .device = "cpx"};
    refused(liana_fit(model, &options), LIANA_INVALID_CONFIG, "'cpx'");
    refused(liana_evaluate(model, own.validation, &(liana_evaluate_options){.device = "cpx"}, NULL),
            LIANA_INVALID_CONFIG, "'cpx'");
    liana_model_destroy(model);
    tear_down(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_datasets),
        cmocka_unit_test(test_fit_evaluate_and_predict_agree),
        cmocka_unit_test(test_fit_is_what_the_command_does),
        cmocka_unit_test(test_save_and_load),
        cmocka_unit_test(test_a_stopped_fit_goes_on),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_precision),
        cmocka_unit_test(test_recompute),
        cmocka_unit_test(test_a_model_without_softmax_is_not_trained),
        cmocka_unit_test(test_optimizers_are_read_as_in_a_configuration),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_class_folders_that_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
