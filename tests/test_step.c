/* Steps: a loop of one's own gives the bits of liana_fit, on any number of threads; what steps refuse; models and
 * variables. */
#include "harness/tiny_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 32, COUNT = 90, MICROBATCH = 8, EPOCHS = 2, CLASSES = LIANA__TINY_CLASSES, SIZE = LIANA__TINY_SIZE };
enum { PIXELS = SIZE * SIZE, MOST_WEIGHTS = 16 };

typedef struct fixture {
    liana_context *context;
    liana_dataset *data;
    liana_device *device;
    liana_variables *variables;
    liana_model *model;
    uint8_t *images; /* [COUNT, PIXELS], those of the data */
    int32_t labels[COUNT];
    const char *optimizer; /* without a rate */
} fixture;

static fixture set_up(int threads)
{
    fixture own = {.optimizer = "Adam"};
    liana__test_folder();
    liana__test_tiny_run(COUNT);
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = threads}, &own.context), LIANA_OK);
    done(liana_dataset_open(own.context, liana__test_path("train-images"), NULL, &own.data));
    done(liana_device_open(own.context, "cpu", &own.device));
    done(liana_variables_create(own.device, &own.variables));
    own.model = liana__tiny_model(own.context);
    own.images = malloc((size_t)COUNT * PIXELS);
    assert_non_null(own.images);
    for (uint32_t i = 0; i < COUNT; i++) own.labels[i] = liana__test_tiny_image(1, i, own.images + (size_t)i * PIXELS);
    return own;
}

static void tear_down(fixture *own)
{
    free(own->images);
    liana_model_destroy(own->model);
    liana_variables_destroy(own->variables);
    liana_device_close(own->device);
    liana_dataset_close(own->data);
    liana_context_destroy(own->context);
}

static const liana_component components[] = {
    {.name = "image", .dtype = LIANA_U8, .shape = {3, {SIZE, SIZE, 1}}},
    {.name = "label", .dtype = LIANA_S32},
};

static void build_leaf(liana_leaf *leaf, void *user)
{
    const fixture *own = user;
    liana_tensor image = liana_leaf_input(leaf, "image"), label = liana_leaf_input(leaf, "label"), output;
    liana_tensor scale = liana_graph_scalar(leaf->graph, LIANA_F32, 1.0 / 255), variables[MOST_WEIGHTS];
    liana_call_effects effects;
    image = liana_op_multiply(liana_op_cast(image, LIANA_F32), scale);
    liana_model_call(own->model, &image, 1, &leaf->mode, &output, &effects);
    liana_tensor loss = liana_leaf_sum(leaf, "loss", liana_loss_of(output, label, NULL));
    liana_leaf_sum(leaf, "accuracy", liana_metric_of(output, label, NULL));
    liana_leaf_gradients(leaf, loss, variables, liana_model_variables(own->model, leaf->graph, variables));
    liana_leaf_effects(leaf, &effects);
}

static void build_update(liana_update *update, void *user)
{
    const fixture *own = user;
    liana_apply_gradients(update->variables, update->gradients, update->num_variables,
                          &(liana_optimizer_options){.optimizer = own->optimizer,
                                                     .rate = liana_update_scalar(update, "rate")});
}

static liana_step_options usual(fixture *own)
{
    return (liana_step_options){.name = "tiny",
                                .leaf = build_leaf,
                                .update = build_update,
                                .user = own,
                                .components = components,
                                .num_components = 2,
                                .scalars = {"rate"},
                                .batch_size = BATCH,
                                .microbatch = MICROBATCH,
                                .seed = 5};
}

static liana_step_batch batch_of(const fixture *own, int64_t first, int64_t count, double rate)
{
    return (liana_step_batch){
        .arrays = {{"image", LIANA_U8, liana_shape_of(count, SIZE, SIZE, 1), own->images + first * PIXELS},
                   {"label", LIANA_S32, liana_shape_of(count), own->labels + first}},
        .scalars = {{"rate", rate}},
    };
}

static liana_step *make_step(fixture *own, const liana_step_options *options)
{
    liana_step *step;
    liana__tiny_done(own->context, liana_step_create(own->device, own->variables, options, &step), __FILE__, __LINE__);
    liana__tiny_done(own->context, liana_model_to_variables(own->model, own->variables), __FILE__, __LINE__);
    liana__tiny_done(own->context, liana_variables_initialize(own->variables, NULL), __FILE__, __LINE__);
    return step;
}

/* ---- the bits of liana_fit ---- */

static double decayed(double rate, int64_t update)
{
    return rate * pow(0.96, (double)update / 2);
}

/* Trains as own->model; the last batch of an epoch is partial. Sets the means of the last epoch. */
static void train(fixture *own, double rate, bool decays, liana_precision precision, double means[2])
{
    liana_step_options options = usual(own);
    options.precision = precision;
    liana_step *step = make_step(own, &options);
    liana_step_results results;
    int64_t update = 0;
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        means[0] = means[1] = 0;
        for (int64_t first = 0; first < COUNT; first += BATCH) {
            int64_t count = COUNT - first < BATCH ? COUNT - first : BATCH;
            liana_step_batch batch = batch_of(own, first, count, decays ? decayed(rate, update) : rate);
            liana__tiny_done(own->context, liana_step_run(step, &batch, &results), __FILE__, __LINE__);
            assert_int_equal(results.num_examples, count);
            assert_int_equal(results.num_sums, 2);
            assert_string_equal(results.names[1], "accuracy");
            assert_true(liana_step_mean(&results, "loss") == results.sums[0] / (double)count);
            for (int i = 0; i < 2; i++) means[i] += results.sums[i] / COUNT;
            update++;
        }
    }
    assert_int_equal(liana_step_position(step), EPOCHS * COUNT);
    liana__tiny_done(own->context, liana_model_from_variables(own->model, own->variables), __FILE__, __LINE__);
    liana_step_destroy(step);
}

static bool keep_epoch(void *user, const liana_epoch *epoch)
{
    *(liana_epoch *)user = *epoch;
    return true;
}

static void hold_to_fit(int threads, const char *optimizer, const char *fitted, double rate, bool decays,
                        liana_precision precision)
{
    fixture own = set_up(threads);
    double means[2];
    liana_epoch last;
    liana_model *model = liana__tiny_model(own.context);
    own.optimizer = optimizer;
    train(&own, rate, decays, precision, means);
    done(liana_fit(model, &(liana_fit_options){.training = own.data,
                                               .epochs = EPOCHS,
                                               .batch_size = BATCH,
                                               .microbatch = MICROBATCH,
                                               .optimizer = fitted,
                                               .precision = precision,
                                               .seed = 5,
                                               .keep_order = true,
                                               .on_epoch = keep_epoch,
                                               .user = &last}));
    assert_true(liana__same_weights(own.model, model));
    assert_true(fabs(last.training.loss - means[0]) < 1e-12);
    assert_true(fabs(last.training.metrics[0] - means[1]) < 1e-12);
    /* It has learnt something, so equal weights are not the first ones. */
    liana_model *untrained = liana__tiny_model(own.context);
    assert_false(liana__same_weights(own.model, untrained));
    liana_model_destroy(untrained);
    liana_model_destroy(model);
    tear_down(&own);
}

static void test_adam_is_that_of_fit(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        hold_to_fit(
            threads, "Adam",
            "{name: Adam, learning_rate: {name: ExponentialDecay, initial_learning_rate: 0.01, decay_steps: 2}}", 0.01,
            true, LIANA_FLOAT32);
    }
}

static void test_momentum_is_that_of_fit(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        hold_to_fit(threads, "{name: SGD, momentum: 0.9}", "{name: SGD, momentum: 0.9, learning_rate: 0.05}", 0.05,
                    false, LIANA_FLOAT32);
    }
}

static void test_mixed_precision_is_that_of_fit(void **state)
{
    (void)state;
    hold_to_fit(2, "Adam", "{name: Adam, learning_rate: 0.01}", 0.01, false, LIANA_MIXED_BFLOAT16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adam_is_that_of_fit),
        cmocka_unit_test(test_momentum_is_that_of_fit),
        cmocka_unit_test(test_mixed_precision_is_that_of_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
