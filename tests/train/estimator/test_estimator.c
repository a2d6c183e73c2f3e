/* Estimators: the bits of liana_fit, evaluation, prediction, export, resume, warm start, and their refusals. */
#include "formats/event_files.h"
#include "harness/tiny_fit.h"

#include <stdlib.h>

enum { COUNT = 90, BATCH = 32, MICROBATCH = 8, EPOCHS = 2, CLASSES = LIANA__TINY_CLASSES, SIZE = LIANA__TINY_SIZE };

/* Params of the model function below. */
typedef struct tiny {
    liana_model *model;
    const char *optimizer;
    bool no_label; /* it asks for a component that is no label */
} tiny;

typedef struct fixture {
    liana_context *context;
    liana_dataset *training, *validation;
    tiny params;
} fixture;

static const char adam[] =
    "{name: Adam, learning_rate: {name: ExponentialDecay, initial_learning_rate: 0.01, decay_steps: 2}}";

static fixture set_up(int threads)
{
    fixture own = {.params = {.optimizer = adam}};
    liana__test_folder();
    liana__test_tiny_run(COUNT);
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = threads}, &own.context), LIANA_OK);
    done(liana_dataset_open(own.context, liana__test_path("train-images"), NULL, &own.training));
    done(liana_dataset_open(own.context, liana__test_path("validation-images"), NULL, &own.validation));
    own.params.model = liana__tiny_model(own.context);
    return own;
}

static void tear_down(fixture *own)
{
    liana_model_destroy(own->params.model);
    liana_dataset_close(own->training);
    liana_dataset_close(own->validation);
    liana_context_destroy(own->context);
}

static liana_estimator_spec tiny_fn(const liana_features *features, const liana_features *labels,
                                    const liana_estimator_mode *mode, void *params)
{
    const tiny *own = params;
    liana_tensor image = liana_feature(features, "image"), output;
    liana_model_call(own->model, &image, 1, &mode->call, &output, NULL);
    liana_estimator_spec spec = {
        .predictions = {{"probabilities", output}, {"class", liana_op_argmax(output, -1)}},
    };
    if (mode->kind == LIANA_MODE_PREDICT) return spec;
    liana_tensor label = liana_feature(labels, own->no_label ? "lable" : "label");
    spec.loss = liana_loss_of(output, label, NULL);
    spec.metrics[0] = (liana_estimator_metric){.output = output, .target = label};
    spec.optimizer.optimizer = own->optimizer;
    return spec;
}

static liana_estimator_options usual(fixture *own)
{
    return (liana_estimator_options){.model_fn = tiny_fn,
                                     .params = &own->params,
                                     .name = "tiny",
                                     .config = {.batch_size = BATCH, .microbatch = MICROBATCH, .seed = 5}};
}

static liana_estimator *make(fixture *of, const liana_estimator_options *options)
{
    const fixture own = *of;
    liana_estimator *estimator;
    done(liana_estimator_create(own.context, options, &estimator));
    return estimator;
}

static liana_train_spec whole(const fixture *own)
{
    return (liana_train_spec){.input.dataset = own->training, .epochs = EPOCHS};
}

/* A new model with the weights of an estimator. */
static liana_model *model_of(fixture *of, liana_estimator *estimator)
{
    const fixture own = *of;
    liana_model *model = liana__tiny_model(own.context);
    const liana_variables *variables = liana_estimator_variables(estimator);
    assert_non_null(variables);
    done(liana_model_from_variables(model, variables));
    return model;
}

/* ---- the bits of liana_fit ---- */

static liana_model *fit(fixture *of, liana_precision precision)
{
    const fixture own = *of;
    liana_model *model = liana__tiny_model(own.context);
    done(liana_fit(model, &(liana_fit_options){.training = own.training,
                                               .validation = own.validation,
                                               .epochs = EPOCHS,
                                               .batch_size = BATCH,
                                               .microbatch = MICROBATCH,
                                               .optimizer = own.params.optimizer,
                                               .precision = precision,
                                               .seed = 5}));
    return model;
}

static void hold_to_fit(int threads, const char *optimizer, liana_precision precision)
{
    fixture own = set_up(threads);
    own.params.optimizer = optimizer;
    liana_estimator_options options = usual(&own);
    options.config.precision = precision;
    liana_estimator *estimator = make(&own, &options);
    liana_train_spec train = whole(&own);
    done(liana_estimator_train(estimator, &train, &(liana_eval_spec){.input.dataset = own.validation}));
    assert_int_equal(liana_estimator_global_step(estimator), EPOCHS * 3);
    liana_model *model = model_of(&own, estimator), *expected = fit(&own, precision);
    liana_model *untrained = liana__tiny_model(own.context);
    assert_true(liana__same_weights(model, expected));
    assert_false(liana__same_weights(model, untrained));
    /* And so are measurements. */
    liana_results found, wanted;
    done(liana_estimator_evaluate(estimator, &(liana_eval_spec){.input.dataset = own.validation}, &found));
    done(liana_evaluate(expected, own.validation, &(liana_evaluate_options){.batch_size = BATCH}, &wanted));
    assert_int_equal(found.num_examples, COUNT / 2);
    assert_int_equal(found.num_metrics, 1);
    assert_string_equal(found.metric_names[0], "accuracy");
    if (precision == LIANA_FLOAT32) {
        assert_near(found.loss, wanted.loss, 1e-6);
        assert_compare(found.metrics[0], ==, wanted.metrics[0]);
    }
    liana_model_destroy(untrained);
    liana_model_destroy(expected);
    liana_model_destroy(model);
    liana_estimator_destroy(estimator);
    tear_down(&own);
}

static void test_bits_are_those_of_fit(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++) hold_to_fit(threads, adam, LIANA_FLOAT32);
    hold_to_fit(2, "{name: SGD, momentum: 0.9, learning_rate: 0.05}", LIANA_FLOAT32);
}

static void test_mixed_precision_is_that_of_fit(void **state)
{
    (void)state;
    hold_to_fit(2, adam, LIANA_MIXED_BFLOAT16);
}

/* ---- going on ---- */

/* The path of a variable file of the checkpoint of a step. */
static const char *weights_at(const char *model_dir, int step)
{
    char name[128];
    snprintf(name, sizeof name, "%s/checkpoints/step-%010d/variables.safetensors", model_dir, step);
    return liana__test_path(name);
}

/* Fails at an update, as a process that is killed does: nothing is saved. */
typedef struct killer {
    int64_t at;
} killer;

static liana_status kill_at(void *user, liana_fit_context *context)
{
    const killer *own = user;
    return liana_fit_info(context).iteration == own->at ? liana_fit_fail(context, LIANA_IO_ERROR, "killed") : LIANA_OK;
}

static void train_in(fixture *of, const char *model_dir, int64_t max_steps, int64_t kill)
{
    fixture own = *of;
    char path[512];
    snprintf(path, sizeof path, "%s", liana__test_path(model_dir));
    liana_estimator_options options = usual(of);
    options.config.model_dir = path;
    options.config.save_checkpoints_steps = 2;
    options.config.keep_checkpoint_max = -1;
    liana_estimator *estimator = make(of, &options);
    killer doom = {kill};
    const liana_callback callback = {.size = sizeof callback, .step_end = kill_at, .user = &doom};
    const liana_callback *hooks[] = {&callback};
    liana_train_spec train = {.input.dataset = own.training,
                              .max_steps = max_steps,
                              .callbacks = hooks,
                              .num_callbacks = 1};
    if (kill) {
        refused(liana_estimator_train(estimator, &train, NULL), LIANA_IO_ERROR, "killed");
    } else {
        done(liana_estimator_train(estimator, &train, NULL));
        assert_int_equal(liana_estimator_global_step(estimator), max_steps);
    }
    liana_estimator_destroy(estimator);
}

/* A training that is killed anywhere ends in the same bytes, on another number of threads too. */
static void test_a_killed_training_goes_on(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads += 2) {
        fixture own = set_up(threads);
        train_in(&own, "whole", 8, 0);
        train_in(&own, "killed", 8, 5);
        train_in(&own, "killed", 8, 7);
        train_in(&own, "killed", 8, 0);
        assert_same_file(weights_at("whole", 8), weights_at("killed", 8));
        /* Longer is as if it had been as long at once. */
        train_in(&own, "short", 5, 0);
        train_in(&own, "short", 8, 0);
        assert_same_file(weights_at("whole", 8), weights_at("short", 8));
        tear_down(&own);
    }
}

/* `steps` are those of one call; evaluations change nothing. */
static void on_evaluation(void *user, int64_t step, const liana_results *results)
{
    int64_t *steps = user;
    assert_int_equal(results->num_examples, COUNT / 2);
    assert_compare(results->loss, >, 0);
    steps[++steps[0]] = step;
}

/* Event files of a model function, in its folder; the weights stay as they are without. */
static void test_event_files(void **state)
{
    (void)state;
    static events written;
    fixture own = set_up(2);
    own.params.optimizer = "Adam";
    liana_estimator_options options = usual(&own);
    liana_estimator *plain = make(&own, &options);
    options.config.model_dir = liana__test_path("with-events");
    options.config.summaries = "{every_steps: 2}";
    liana_estimator *with = make(&own, &options);
    const liana_train_spec train = whole(&own);
    done(liana_estimator_train(plain, &train, NULL));
    done(liana_estimator_train(with, &train, &(liana_eval_spec){.input.dataset = own.validation}));
    events_read(&written, "with-events/summaries/train");
    assert_steps(&written, "batch/loss", "1 2 4 6");
    assert_steps(&written, "norm/gradient", "1 2 4 6");
    assert_steps(&written, "loss", "3 6");
    assert_int_equal(written.num_graphs, 1);
    events_read(&written, "with-events/summaries/validation");
    assert_compare(written.count, >, 0);
    liana_model *a = model_of(&own, plain), *b = model_of(&own, with);
    assert_true(liana__same_weights(a, b));
    liana_model_destroy(a);
    liana_model_destroy(b);
    liana_estimator_destroy(plain);
    liana_estimator_destroy(with);
    tear_down(&own);
}

static void test_steps_and_evaluations(void **state)
{
    (void)state;
    fixture own = set_up(2);
    own.params.optimizer = "Adam";
    liana_estimator_options options = usual(&own);
    liana_estimator *plain = make(&own, &options), *pieces = make(&own, &options);
    done(liana_estimator_train(plain, &(liana_train_spec){.input.dataset = own.training, .max_steps = 7}, NULL));
    int64_t steps[16] = {0};
    liana_eval_spec eval = {.input.dataset = own.validation,
                            .every_steps = 2,
                            .on_evaluation = on_evaluation,
                            .user = steps};
    done(liana_estimator_train(pieces, &(liana_train_spec){.input.dataset = own.training, .steps = 4}, &eval));
    assert_int_equal(liana_estimator_global_step(pieces), 4);
    done(liana_estimator_train(pieces, &(liana_train_spec){.input.dataset = own.training, .steps = 3}, &eval));
    assert_int_equal(liana_estimator_global_step(pieces), 7);
    const int64_t expected[] = {2, 4, 6, 7};
    assert_int_equal(steps[0], 4);
    assert_memory_equal(steps + 1, expected, sizeof expected);
    liana_model *a = model_of(&own, plain), *b = model_of(&own, pieces);
    assert_true(liana__same_weights(a, b));
    /* After epochs. */
    liana_estimator *epochs = make(&own, &options);
    steps[0] = 0;
    eval.every_steps = 0;
    done(liana_estimator_train(epochs, &(liana_train_spec){.input.dataset = own.training, .epochs = 2}, &eval));
    assert_int_equal(steps[0], 2);
    assert_int_equal(steps[1], 3);
    assert_int_equal(steps[2], 6);
    liana_model_destroy(a);
    liana_model_destroy(b);
    liana_estimator_destroy(plain);
    liana_estimator_destroy(pieces);
    liana_estimator_destroy(epochs);
    tear_down(&own);
}

/* Hooks by name stop a training, and notes tell its speed. */
static void test_hooks_and_notes(void **state)
{
    (void)state;
    fixture own = set_up(2);
    liana__notebook notes = {""};
    liana_estimator_options options = usual(&own);
    options.config.log_step_count_steps = 2;
    options.config.on_note = liana__write_note;
    options.config.user = &notes;
    liana_estimator *estimator = make(&own, &options);
    liana_train_spec train = {.input.dataset = own.training,
                              .epochs = 9,
                              .named_callbacks = "[EarlyStopping: {patience: 1, min_delta: 100}]"};
    done(liana_estimator_train(estimator, &train, &(liana_eval_spec){.input.dataset = own.validation}));
    assert_int_equal(liana_estimator_global_step(estimator), 2 * 3);
    assert_says(notes.text, "EarlyStopping ended the training");
    assert_says(notes.text, "step 4: loss ");
    assert_says(notes.text, "accuracy ");
    assert_says(notes.text, "steps a second");
    assert_never_says(notes.text, "step 3:");
    train.named_callbacks = "[EarlyStoping]";
    refused(liana_estimator_train(estimator, &train, NULL), LIANA_INVALID_CONFIG, "EarlyStopping");
    liana_estimator_destroy(estimator);
    tear_down(&own);
}

/* Data that were not those of the checkpoints. */
static void test_other_data_are_refused(void **state)
{
    (void)state;
    fixture own = set_up(2);
    train_in(&own, "run", 3, 0);
    liana_dataset *kept = own.training;
    own.training = own.validation;
    char path[512];
    snprintf(path, sizeof path, "%s", liana__test_path("run"));
    liana_estimator_options options = usual(&own);
    options.config.model_dir = path;
    liana_estimator *estimator = make(&own, &options);
    liana_train_spec train = {.input.dataset = own.training, .max_steps = 6};
    refused(liana_estimator_train(estimator, &train, NULL), LIANA_INVALID_DATA, "train-images");
    liana_estimator_destroy(estimator);
    own.training = kept;
    tear_down(&own);
}

/* A checkpoint that is damaged is set aside, and an older one is trained on. */
static void test_a_damaged_checkpoint_is_set_aside(void **state)
{
    (void)state;
    fixture own = set_up(2);
    train_in(&own, "whole", 8, 0);
    train_in(&own, "run", 6, 0);
    FILE *file = fopen(weights_at("run", 6), "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, -3, SEEK_END), 0);
    assert_int_not_equal(fputc(0x55, file), EOF);
    assert_int_equal(fclose(file), 0);
    char path[512];
    snprintf(path, sizeof path, "%s", liana__test_path("run"));
    liana_estimator_options options = usual(&own);
    options.config.model_dir = path;
    liana_estimator *estimator = make(&own, &options);
    refused(liana_estimator_evaluate(estimator, &(liana_eval_spec){.input.dataset = own.validation}, NULL),
            LIANA_DATA_LOSS, "step-0000000006");
    liana_estimator_destroy(estimator);
    train_in(&own, "run", 8, 0);
    assert_same_file(weights_at("whole", 8), weights_at("run", 8));
    tear_down(&own);
}

/* A model trained in float32 is measured in it, on any processor. */
static void test_auto_is_the_precision_of_the_checkpoint(void **state)
{
    (void)state;
    double losses[2];
    fixture own = set_up(2);
    train_in(&own, "run", 6, 0);
    char path[512];
    snprintf(path, sizeof path, "%s", liana__test_path("run"));
    liana_estimator_options options = usual(&own);
    options.config.model_dir = path;
    for (int i = 0; i < 2; i++) {
        liana_results results;
        options.config.precision = i ? LIANA_PRECISION_AUTO : LIANA_FLOAT32;
        liana_estimator *estimator = make(&own, &options);
        done(liana_estimator_evaluate(estimator, &(liana_eval_spec){.input.dataset = own.validation}, &results));
        losses[i] = results.loss;
        liana_estimator_destroy(estimator);
    }
    assert_compare(losses[0], ==, losses[1]);
    /* It is not gone on with in another one. */
    options.config.precision = LIANA_MIXED_BFLOAT16;
    liana_estimator *estimator = make(&own, &options);
    liana_train_spec train = {.input.dataset = own.training, .max_steps = 8};
    refused(liana_estimator_train(estimator, &train, NULL), LIANA_INVALID_ARGUMENT, "was trained in float32");
    liana_estimator_destroy(estimator);
    tear_down(&own);
}

/* Images are resized to the shape that is asked for, and enter by the scale of the data. */
static liana_estimator_spec brightness_fn(const liana_features *features, const liana_features *labels,
                                          const liana_estimator_mode *mode, void *params)
{
    (void)labels;
    (void)mode;
    (void)params;
    liana_tensor image = liana_feature(features, "image");
    liana_shape shape = liana_tensor_shape(image);
    if (!image.id) return (liana_estimator_spec){0};
    assert_int_equal(shape.rank, 4);
    assert_int_equal(shape.dims[1], 5);
    assert_int_equal(shape.dims[2], 7);
    assert_int_equal(shape.dims[3], 3);
    liana_tensor gain = liana_graph_variable(features->graph, "gain", LIANA_F32, LIANA_SCALAR);
    liana_tensor mean = liana_op_reduce_mean(image, LIANA_AXES(1, 2, 3), false);
    liana_graph_initializer(gain, "ones");
    return (liana_estimator_spec){.loss = liana_op_multiply(mean, gain),
                                  .predictions = {{"brightness", mean}},
                                  .optimizer = {.optimizer = "SGD", .learning_rate = 0.1}};
}

static void test_images_have_the_shape_that_is_asked_for(void **state)
{
    (void)state;
    float brightness[COUNT / 2], scaled[COUNT / 2];
    fixture own = set_up(2);
    liana_estimator_options options = usual(&own);
    options.model_fn = brightness_fn;
    liana_estimator *estimator = make(&own, &options);
    liana_train_spec train = {.input = {.dataset = own.training, .image_shape = {5, 7, 3}}, .max_steps = 1};
    done(liana_estimator_train(estimator, &train, NULL));
    liana_predict_spec predict = {.input = {.dataset = own.validation, .image_shape = {5, 7, 3}},
                                  .predictions = {{"brightness", brightness, COUNT / 2}}};
    done(liana_estimator_predict(estimator, &predict));
    liana_dataset_set_scale(own.validation, LIANA_SCALE_NONE);
    predict.predictions[0].values = scaled;
    done(liana_estimator_predict(estimator, &predict));
    for (int i = 0; i < COUNT / 2; i++) {
        assert_compare(brightness[i], >, 0, i);
        assert_compare(brightness[i], <, 1, i);
        assert_near(scaled[i], 255 * brightness[i], 1e-2F, i);
    }
    liana_estimator_destroy(estimator);
    /* Two channels are no image. */
    estimator = make(&own, &options);
    train.input.image_shape[2] = 2;
    refused(liana_estimator_train(estimator, &train, NULL), LIANA_INVALID_ARGUMENT, "has other than 1 or 3 channels");
    liana_estimator_destroy(estimator);
    tear_down(&own);
}

/* ---- devices ---- */

static void train_on(fixture *own, liana_run_config config, liana_model **trained)
{
    liana_estimator_options options = usual(own);
    liana_run_config usual_config = options.config;
    options.config = config;
    options.config.batch_size = usual_config.batch_size;
    options.config.microbatch = usual_config.microbatch;
    options.config.seed = usual_config.seed;
    liana_estimator *estimator = make(own, &options);
    liana_train_spec train = whole(own);
    liana__tiny_done(own->context, liana_estimator_train(estimator, &train, NULL), __FILE__, __LINE__);
    *trained = model_of(own, estimator);
    liana_estimator_destroy(estimator);
}

/* The same function on another strategy gives the same bits, and on another device nearly the same numbers. */
static void test_devices_and_strategies(void **state)
{
    (void)state;
    fixture own = set_up(2);
    own.params.optimizer = "{name: SGD, learning_rate: 0.05}";
    liana_model *plain, *mirrored, *reference;
    train_on(&own, (liana_run_config){0}, &plain);
    train_on(&own, (liana_run_config){.strategy = {.name = "mirrored", .replicas = 2, .threads = 1}}, &mirrored);
    train_on(&own, (liana_run_config){.device = "reference"}, &reference);
    assert_true(liana__same_weights(plain, mirrored));
    for (size_t i = 0; liana_model_weight(plain, i).name; i++) {
        liana_array a, b;
        done(liana_model_get_weights(plain, liana_model_weight(plain, i).name, &a));
        done(liana_model_get_weights(reference, a.name, &b));
        for (int64_t k = 0; k < liana_shape_size(&a.shape); k++) {
            assert_near(((const float *)a.data)[k], ((const float *)b.data)[k], 1e-3F, k);
        }
    }
    liana_model_destroy(plain);
    liana_model_destroy(mirrored);
    liana_model_destroy(reference);
    tear_down(&own);
}

/* ---- predictions and exports ---- */

static void test_predictions_by_name(void **state)
{
    (void)state;
    enum { EXAMPLES = COUNT / 2 };
    static float probabilities[EXAMPLES * CLASSES], expected[EXAMPLES * CLASSES], classes[EXAMPLES];
    fixture own = set_up(2);
    liana_estimator_options options = usual(&own);
    liana_estimator *estimator = make(&own, &options);
    liana_train_spec train = whole(&own);
    done(liana_estimator_train(estimator, &train, NULL));
    liana_predict_spec predict = {
        .input.dataset = own.validation,
        .predictions = {{"class", classes, EXAMPLES}, {"probabilities", probabilities, EXAMPLES * CLASSES}},
    };
    done(liana_estimator_predict(estimator, &predict));
    liana_model *model = model_of(&own, estimator);
    done(liana_predict(model, own.validation, NULL, expected));
    for (int i = 0; i < EXAMPLES; i++) {
        int best = 0;
        for (int k = 0; k < CLASSES; k++) {
            assert_near(probabilities[i * CLASSES + k], expected[i * CLASSES + k], 1e-6F, i, k);
            if (expected[i * CLASSES + k] > expected[i * CLASSES + best]) best = k;
        }
        assert_compare(classes[i], ==, (float)best, i);
    }
    /* Some batches only. */
    predict.steps = 1;
    predict.predictions[1] = (liana_wanted_prediction){0};
    predict.predictions[0].count = BATCH;
    done(liana_estimator_predict(estimator, &predict));
    predict.predictions[0].count = BATCH + 1;
    refused(liana_estimator_predict(estimator, &predict), LIANA_INVALID_ARGUMENT, "expected room for 32 values");
    predict.predictions[0].name = "clas";
    refused(liana_estimator_predict(estimator, &predict), LIANA_NOT_FOUND,
            "no prediction 'clas'; it gives 'probabilities', 'class'; did you mean 'class'?");
    predict.predictions[0].name = NULL;
    refused(liana_estimator_predict(estimator, &predict), LIANA_INVALID_ARGUMENT, "no prediction is asked for");
    liana_model_destroy(model);
    liana_estimator_destroy(estimator);
    tear_down(&own);
}

/* Runs an exported graph on one image. */
static void run_export(fixture *of, const char *folder, const uint8_t *image, float *probabilities, int32_t *class)
{
    const fixture own = *of;
    char path[600];
    liana_device *device;
    liana_graph *graph;
    liana_program *program;
    done(liana_device_open(own.context, "cpu", &device));
    snprintf(path, sizeof path, "%s/graph.liana", folder);
    done(liana_graph_load(own.context, path, &graph));
    done(liana_program_create(device, graph, NULL, &program));
    snprintf(path, sizeof path, "%s/variables.safetensors", folder);
    done(liana_variables_load(liana_program_variables(program), path, false));
    done(liana_run(program, .feeds = LIANA_FEEDS({"image", LIANA_U8, liana_shape_of(1, SIZE, SIZE, 1), image}),
                   .fetches =
                       LIANA_FETCHES({.name = "probabilities", .data = probabilities, .size = CLASSES * sizeof(float)},
                                     {.name = "class", .data = class, .size = sizeof *class})));
    liana_program_destroy(program);
    liana_graph_destroy(graph);
    liana_device_close(device);
}

static void test_exports_run_without_the_function(void **state)
{
    (void)state;
    static float expected[COUNT / 2 * CLASSES];
    fixture own = set_up(2);
    liana_estimator_options options = usual(&own);
    liana_estimator *estimator = make(&own, &options);
    liana_export_spec spec = {.input.dataset = own.validation};
    char folder[512], path[600];
    snprintf(folder, sizeof folder, "%s", liana__test_path("export"));
    refused(liana_estimator_export(estimator, folder, &spec), LIANA_NOT_FOUND, "there is no checkpoint");
    liana_train_spec train = whole(&own);
    done(liana_estimator_train(estimator, &train, NULL));
    done(liana_estimator_export(estimator, folder, &spec));
    liana_model *model = model_of(&own, estimator);
    done(liana_predict(model, own.validation, NULL, expected));
    liana_estimator_destroy(estimator);
    /* The images of the validation data, as they were written. */
    for (uint32_t i = 0; i < 3; i++) {
        uint8_t image[SIZE * SIZE];
        float probabilities[CLASSES];
        int32_t class = -1;
        liana__test_tiny_image(2, i, image);
        run_export(&own, folder, image, probabilities, &class);
        for (int k = 0; k < CLASSES; k++) {
            assert_near(probabilities[k], expected[i * CLASSES + (uint32_t)k], 1e-5F, i, k);
            assert_compare(probabilities[class], >=, probabilities[k], k);
        }
    }
    /* A file of another kind, and a damaged one. */
    liana_graph *graph;
    snprintf(path, sizeof path, "%s/variables.safetensors", folder);
    refused(liana_graph_load(own.context, path, &graph), LIANA_INVALID_DATA, "variables.safetensors");
    assert_null(graph);
    snprintf(path, sizeof path, "%s/graph.liana", folder);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 64, SEEK_SET), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, 64, SEEK_SET), 0);
    assert_int_not_equal(fputc(byte ^ 1, file), EOF);
    assert_int_equal(fclose(file), 0);
    refused(liana_graph_load(own.context, path, &graph), LIANA_DATA_LOSS, "graph.liana");
    refused(liana_graph_load(own.context, liana__test_path("none"), &graph), LIANA_NOT_FOUND, "none");
    liana_model_destroy(model);
    tear_down(&own);
}

/* Batches of evaluations and predictions are larger or smaller than those of the training, down to one example. */
static void test_batches_of_evaluations(void **state)
{
    (void)state;
    enum { EVALUATED = COUNT / 2 };
    static const int64_t sizes[] = {0, 1, 3, EVALUATED, EVALUATED + 1, 1000};
    static float expected[EVALUATED * LIANA__TINY_CLASSES], found[EVALUATED * LIANA__TINY_CLASSES];
    liana_results equal, results;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        fixture own = set_up(2);
        liana_estimator_options options = usual(&own);
        options.config.eval_batch_size = sizes[i];
        liana_estimator *estimator = make(&own, &options);
        liana_train_spec train = whole(&own);
        done(liana_estimator_train(estimator, &train, &(liana_eval_spec){.input.dataset = own.validation}));
        done(liana_estimator_evaluate(estimator, &(liana_eval_spec){.input.dataset = own.validation},
                                      i ? &results : &equal));
        liana_predict_spec predict = {.input.dataset = own.validation,
                                      .predictions = {
                                          {"probabilities", i ? found : expected, EVALUATED * LIANA__TINY_CLASSES}}};
        done(liana_estimator_predict(estimator, &predict));
        for (size_t k = 0; i && k < EVALUATED * LIANA__TINY_CLASSES; k++) {
            assert_near(found[k], expected[k], 1e-5F, k);
        }
        if (i) assert_near(results.loss, equal.loss, 1e-5);
        liana_estimator_destroy(estimator);
        tear_down(&own);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits_are_those_of_fit),
        cmocka_unit_test(test_mixed_precision_is_that_of_fit),
        cmocka_unit_test(test_a_killed_training_goes_on),
        cmocka_unit_test(test_event_files),
        cmocka_unit_test(test_steps_and_evaluations),
        cmocka_unit_test(test_hooks_and_notes),
        cmocka_unit_test(test_devices_and_strategies),
        cmocka_unit_test(test_other_data_are_refused),
        cmocka_unit_test(test_auto_is_the_precision_of_the_checkpoint),
        cmocka_unit_test(test_a_damaged_checkpoint_is_set_aside),
        cmocka_unit_test(test_batches_of_evaluations),
        cmocka_unit_test(test_images_have_the_shape_that_is_asked_for),
        cmocka_unit_test(test_predictions_by_name),
        cmocka_unit_test(test_exports_run_without_the_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
