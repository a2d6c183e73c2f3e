/* Summaries and TensorBoard: the values that a training writes into event files against a second formula, when they are
 * written, that they change nothing, and that a training that goes on writes none twice. */
#include "formats/event_files.h"
#include "harness/tiny_fit.h"

#include <liana/liana.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 12, FEATURES = 3, BATCH = 4 };

typedef struct trial {
    liana_context *context;
    liana_model *model;
    liana_dataset *data;
    float x[ROWS * FEATURES], y[ROWS];
    /* Weights before each update: the kernel, then the bias. */
    float before[32][FEATURES + 1];
    char summaries[400], callbacks[400];
    int64_t stop_at; /* the update; 0: none */
} trial;

static events read_events;

static void begin(trial *own)
{
    *own = (trial){0};
    liana__test_folder();
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 1}, &own->context), LIANA_OK);
    for (int i = 0; i < ROWS * FEATURES; i++) own->x[i] = (float)(i * 5 % 7 - 3) / 4;
    for (int i = 0; i < ROWS; i++) own->y[i] = (float)(i % 5) / 4;
    const liana_array arrays[] = {
        {.name = "x", .dtype = LIANA_F32, .shape = liana_shape_of(ROWS, FEATURES), .data = own->x},
        {.name = "y", .dtype = LIANA_F32, .shape = liana_shape_of(ROWS, 1), .data = own->y}};
    own->data = liana_dataset_from_tensor_slices(own->context, arrays, 2);
    assert_int_equal(liana_model_create(own->context, NULL, &own->model), LIANA_OK);
    liana_input(own->model, .name = "x", .shape = LIANA_INTS(FEATURES));
    liana_dense(own->model, .units = 1, .name = "y");
}

static void end(trial *own)
{
    liana_model_destroy(own->model);
    liana_dataset_close(own->data);
    liana_context_destroy(own->context);
}

static liana_status keep_before(void *user, liana_fit_context *context)
{
    trial *own = user;
    float *weights = own->before[liana_fit_info(context).iteration];
    liana_status status = liana_fit_variable_read(context, "y/kernel", weights);
    return status ? status : liana_fit_variable_read(context, "y/bias", weights + FEATURES);
}

static liana_status stop(void *user, liana_fit_context *context)
{
    const trial *own = user;
    if (liana_fit_info(context).iteration != own->stop_at) return LIANA_OK;
    liana_fit_request_checkpoint(context);
    liana_fit_stop(context, "it is enough");
    return LIANA_OK;
}

static const char *to(trial *own, const char *options)
{
    snprintf(own->summaries, sizeof own->summaries, "{folder: %s%s%s}", liana__test_path("events"),
             *options ? ", " : "", options);
    return own->summaries;
}

/* Epochs of three updates of plain descent in the data's order. */
static liana_fit_options plain(trial *own, int64_t epochs)
{
    return (liana_fit_options){.training = own->data,
                               .validation = own->data,
                               .batch_size = BATCH,
                               .keep_order = true,
                               .epochs = epochs,
                               .optimizer = "{name: SGD, learning_rate: 0.05}",
                               .loss = "mse",
                               .metrics = {"mae"}};
}

/* ---- values ---- */

/* The gradient of the mean of the squares over a batch, and that mean. */
static double gradient_of(const trial *own, const float *weights, int64_t first, double gradient[FEATURES + 1])
{
    double loss = 0;
    for (int k = 0; k <= FEATURES; k++) gradient[k] = 0;
    for (int64_t i = first; i < first + BATCH; i++) {
        double error = (double)weights[FEATURES] - (double)own->y[i];
        for (int k = 0; k < FEATURES; k++) error += (double)weights[k] * (double)own->x[i * FEATURES + k];
        loss += error * error / BATCH;
        for (int k = 0; k < FEATURES; k++) gradient[k] += 2 * error * (double)own->x[i * FEATURES + k] / BATCH;
        gradient[FEATURES] += 2 * error / BATCH;
    }
    return loss;
}

static double norm_of(const double *values, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++) sum += values[i] * values[i];
    return sqrt(sum);
}

static double number_at(const char *tag, int64_t step)
{
    const events_value *found = events_find(&read_events, tag, step);
    assert_string_equal(found->plugin, "scalars");
    return found->number;
}

static void check_update(const trial *own, int64_t step)
{
    double gradient[FEATURES + 1], weights[FEATURES + 1];
    const int64_t first = (step - 1) % (ROWS / BATCH) * BATCH;
    const double loss = gradient_of(own, own->before[step - 1], first, gradient);
    /* The weights before the next update are those after this one. */
    for (int k = 0; k <= FEATURES; k++) weights[k] = (double)own->before[step][k];
    assert_near(number_at("batch/loss", step), loss, 1e-6, step);
    assert_near(number_at("learning_rate", step), 0.05, 1e-8, step);
    assert_near(number_at("norm/gradient", step), norm_of(gradient, FEATURES + 1), 1e-6, step);
    assert_near(number_at("gradient_norm/y/kernel", step), norm_of(gradient, FEATURES), 1e-6, step);
    assert_near(number_at("gradient_norm/y/bias", step), fabs(gradient[FEATURES]), 1e-6, step);
    assert_near(number_at("norm/update", step), 0.05 * norm_of(gradient, FEATURES + 1), 1e-7, step);
    assert_near(number_at("update_norm/y/kernel", step), 0.05 * norm_of(gradient, FEATURES), 1e-7, step);
    assert_near(number_at("norm/weights", step), norm_of(weights, FEATURES + 1), 1e-6, step);
    assert_near(number_at("weight_norm/y/kernel", step), norm_of(weights, FEATURES), 1e-6, step);
}

/* The outputs of the layer for the last batch of an epoch, with the weights before its update. */
static void check_activations(const trial *own, int64_t step)
{
    const events_value *found = events_find(&read_events, "activations/y", step);
    const float *weights = own->before[step - 1];
    double least = INFINITY, greatest = -INFINITY;
    for (int64_t i = ROWS - BATCH; i < ROWS; i++) {
        double output = (double)weights[FEATURES];
        for (int k = 0; k < FEATURES; k++) output += (double)weights[k] * (double)own->x[i * FEATURES + k];
        least = fmin(least, output);
        greatest = fmax(greatest, output);
    }
    assert_string_equal(found->plugin, "histograms");
    assert_near(found->counted, BATCH, 0, step);
    assert_near(found->least, least, 1e-6, step);
    assert_near(found->greatest, greatest, 1e-6, step);
}

static void test_values_of_updates(void **state)
{
    (void)state;
    trial own;
    begin(&own);
    liana_callback callback = {.size = sizeof callback, .step_begin = keep_before, .user = &own};
    liana_fit_options options = plain(&own, 3);
    options.summaries = to(&own, "every_steps: 2");
    options.callbacks = (const liana_callback *[]){&callback};
    options.num_callbacks = 1;
    done(liana_fit(own.model, &options));
    events_read(&read_events, "events/train");
    assert_steps(&read_events, "batch/loss", "1 2 4 6 8");
    assert_steps(&read_events, "norm/gradient", "1 2 4 6 8");
    assert_steps(&read_events, "speed/examples_per_second", "1 2 4 6 8");
    assert_steps(&read_events, "loss", "3 6 9");
    assert_steps(&read_events, "weights/y/kernel", "3 6 9");
    assert_steps(&read_events, "gradients/y/kernel", "3 6 9");
    for (int64_t step = 2; step <= 8; step += 2) check_update(&own, step);
    check_activations(&own, 9);
    check_update(&own, 1);
    assert_int_equal(read_events.num_graphs, 1);
    assert_int_equal(read_events.num_files, 1);
    events_read(&read_events, "events/validation");
    assert_steps(&read_events, "loss", "3 6 9");
    assert_steps(&read_events, "mae", "3 6 9");
    liana_results results;
    done(liana_evaluate(own.model, own.data, &(liana_evaluate_options){.batch_size = BATCH}, &results));
    assert_near(number_at("loss", 9), results.loss, 1e-7, 9);
    assert_near(number_at("mae", 9), results.metrics[0], 1e-7, 9);
    end(&own);
}

static void test_histograms(void **state)
{
    (void)state;
    trial own;
    begin(&own);
    liana_callback callback = {.size = sizeof callback, .step_begin = keep_before, .user = &own};
    liana_fit_options options = plain(&own, 5);
    options.summaries = to(&own, "every_steps: 0, histogram_freq: 2, norms: none, graph: false");
    options.callbacks = (const liana_callback *[]){&callback};
    options.num_callbacks = 1;
    done(liana_fit(own.model, &options));
    events_read(&read_events, "events/train");
    assert_steps(&read_events, "weights/y/kernel", "3 9 15");
    assert_steps(&read_events, "gradients/y/kernel", "3 9 15");
    assert_steps(&read_events, "batch/loss", "");
    assert_steps(&read_events, "norm/gradient", "");
    assert_int_equal(read_events.num_graphs, 0);
    assert_steps(&read_events, "activations/y", "3 9 15");
    double gradient[FEATURES + 1];
    gradient_of(&own, own.before[8], 8, gradient);
    const events_value *weights = events_find(&read_events, "weights/y/kernel", 9);
    const events_value *gradients = events_find(&read_events, "gradients/y/kernel", 9);
    assert_string_equal(weights->plugin, "histograms");
    assert_compare(weights->counted, ==, FEATURES);
    assert_compare(gradients->counted, ==, FEATURES);
    assert_near(weights->least, fmin(fmin(own.before[9][0], own.before[9][1]), own.before[9][2]), 1e-7, 9);
    assert_near(weights->greatest, fmax(fmax(own.before[9][0], own.before[9][1]), own.before[9][2]), 1e-7, 9);
    assert_near(gradients->least, fmin(fmin(gradient[0], gradient[1]), gradient[2]), 1e-6, 9);
    assert_near(gradients->greatest, fmax(fmax(gradient[0], gradient[1]), gradient[2]), 1e-6, 9);
    end(&own);
}

/* ---- training stays as it is ---- */

/* Batch normalisation, dropout, Adam; batches of 24 that shards of 8 share, and a last one of 4. */
static void fit_tiny(liana__tiny_fit *own, liana_model **model, const char *summaries, const char *callbacks,
                     int64_t steps_per_execution)
{
    *model = liana__tiny_model(own->context);
    const liana_fit_options options = {.training = own->training,
                                       .validation = own->validation,
                                       .batch_size = 24,
                                       .epochs = 3,
                                       .steps_per_execution = steps_per_execution,
                                       .optimizer = "{name: Adam, learning_rate: 0.01}",
                                       .summaries = summaries,
                                       .named_callbacks = callbacks};
    liana__tiny_done(own->context, liana_fit(*model, &options), __FILE__, __LINE__);
}

static void test_weights_stay_as_they_are(void **state)
{
    (void)state;
    char summaries[400], callbacks[400];
    liana__tiny_fit own = liana__tiny_fit_open(100);
    snprintf(summaries, sizeof summaries, "{every_steps: 2, folder: %s}", liana__test_path("bits"));
    snprintf(callbacks, sizeof callbacks,
             "[TensorBoard: {log_dir: %s, histogram_freq: 1, write_images: true, update_freq: batch}]",
             liana__test_path("board"));
    for (int64_t execution = 1; execution <= 4; execution += 3) {
        liana_model *without, *with;
        fit_tiny(&own, &without, NULL, NULL, execution);
        fit_tiny(&own, &with, summaries, callbacks, execution);
        assert_true(liana__same_weights(with, without));
        liana_model_destroy(without);
        liana_model_destroy(with);
    }
    events_read(&read_events, "bits/train");
    assert_int_equal(read_events.num_files, 2);
    liana__tiny_fit_close(&own);
}

/* ---- going on ---- */

/* Stopped in the middle of the second epoch: what comes after the checkpoint is written once. */
static void test_going_on(void **state)
{
    (void)state;
    trial own;
    begin(&own);
    char folder[1024];
    snprintf(folder, sizeof folder, "%s", liana__test_path("checkpoints"));
    liana_callback callback = {.size = sizeof callback, .step_end = stop, .user = &own};
    liana_fit_options options = plain(&own, 2);
    snprintf(own.callbacks, sizeof own.callbacks, "[TensorBoard: {log_dir: %s, update_freq: 2, histogram_freq: 1}]",
             liana__test_path("board"));
    options.named_callbacks = own.callbacks;
    options.summaries = to(&own, "every_steps: 1");
    options.checkpoints = folder;
    done(liana_fit(own.model, &options));
    /* As if the process had died after the sixth update, and only the checkpoint of the first epoch were there. */
    options.epochs = 4;
    options.resume_from = "step-0000000003";
    options.callbacks = (const liana_callback *[]){&callback};
    options.num_callbacks = 1;
    own.stop_at = 5;
    done(liana_fit(own.model, &options));
    options.resume_from = NULL;
    options.resume = true;
    own.stop_at = 0;
    done(liana_fit(own.model, &options));
    events_read(&read_events, "events/train");
    assert_steps(&read_events, "batch/loss", "1 2 3 4 5 6 7 8 9 10 11 12");
    assert_steps(&read_events, "loss", "3 6 9 12");
    assert_steps(&read_events, "weights/y/bias", "3 6 9 12");
    assert_int_equal(read_events.num_graphs, 1);
    events_read(&read_events, "events/validation");
    assert_steps(&read_events, "loss", "3 6 9 12");
    events_read(&read_events, "board/train");
    assert_steps(&read_events, "epoch_loss", "0 1 2 3");
    assert_steps(&read_events, "sequential/y/kernel/histogram", "0 1 2 3");
    events_read(&read_events, "board/validation");
    assert_steps(&read_events, "epoch_mae", "0 1 2 3");
    end(&own);
}

/* ---- what is wrong ---- */

static void test_what_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *summaries, *callbacks, *message;
    } cases[] = {
        {"5", NULL, "summaries: found the number 5, expected true, or options: {every_steps: 10}"},
        {"[1]", NULL, "expected true, or options"},
        {"{every_step: 5}", NULL, "every_steps"},
        {"{every_steps: -1}", NULL, "every_steps"},
        {"{histogram_freq: 0.5}", NULL, "histogram_freq"},
        {"{norms: all}", NULL, "by_weight"},
        {"{folder: ''}", NULL, "expected the name of a folder"},
        {NULL, "[TensorBoard: {log_dir: ''}]", "expected the name of a folder"},
        {NULL, "[TensorBoard: {update_freq: often}]", "expected epoch, batch, or a number of updates of at least 1"},
        {NULL, "[TensorBoard: {update_freq: 0}]", "expected epoch, batch, or a number of updates of at least 1"},
        {NULL, "[TensorBoard: {profile_batch: 2}]", "liana profile"},
        {NULL, "[TensorBoard: {embeddings_freq: 1}]", "liana predict --layer"},
    };
    trial own;
    begin(&own);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana_fit_options options = plain(&own, 1);
        options.summaries = cases[i].summaries;
        options.named_callbacks = cases[i].callbacks;
        refused(liana_fit(own.model, &options), LIANA_INVALID_CONFIG, cases[i].message);
    }
    /* A file stands where the folder should be. */
    liana__test_write("events", "x", 1);
    liana_fit_options options = plain(&own, 1);
    options.summaries = to(&own, "");
    refused(liana_fit(own.model, &options), LIANA_IO_ERROR, "events");
    end(&own);
}

/* Updates that are left out have no loss and no gradient, and change no weight. */
static void test_numbers_that_are_not_finite(void **state)
{
    (void)state;
    trial own;
    begin(&own);
    liana_fit_options options = plain(&own, 2);
    options.optimizer = "{name: SGD, learning_rate: 1.0e+30}";
    options.on_bad_numbers = LIANA_ON_BAD_NUMBERS_SKIP;
    options.summaries = to(&own, "every_steps: 1");
    done(liana_fit(own.model, &options));
    events_read(&read_events, "events/train");
    assert_steps(&read_events, "batch/loss", "1");
    assert_steps(&read_events, "norm/gradient", "1");
    assert_steps(&read_events, "norm/update", "1 2 3 4 5 6");
    assert_compare(number_at("norm/update", 1), >, 1e29);
    assert_near(number_at("norm/update", 2), 0, 0, 2);
    end(&own);
}

/* false and null: nothing is written. */
static void test_none(void **state)
{
    (void)state;
    static const char *const none[] = {"false", "null", NULL};
    trial own;
    begin(&own);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        liana_fit_options options = plain(&own, 1);
        options.summaries = none[i];
        done(liana_fit(own.model, &options));
    }
    events_read(&read_events, "summaries/train");
    assert_int_equal(read_events.num_files, 0);
    end(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_of_updates),
        cmocka_unit_test(test_histograms),
        cmocka_unit_test(test_weights_stay_as_they_are),
        cmocka_unit_test(test_going_on),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_numbers_that_are_not_finite),
        cmocka_unit_test(test_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
