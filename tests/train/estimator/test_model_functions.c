/* Model functions on plain numbers: variables of their own, first values, warm starts, updates of their own, metrics,
 * models with frozen layers and regularizers. */
#include "harness/number_rows.h"

#include "samples/tf_checkpoints.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = LIANA__ROWS, WIDTH = LIANA__ROW_WIDTH, CLASSES = LIANA__ROW_CLASSES, BATCH = LIANA__ROW_BATCH };

/* Its Dense layer is frozen, or not. */
static void end_in_softmax(liana_model *model, bool frozen)
{
    liana_layer last = liana_activation(model, .activation = "softmax");
    (void)last;
    if (frozen) assert_int_equal(liana_model_train_from(model, "activation"), LIANA_OK);
}

static liana_model *dense_model(liana_context *context, const char *name, int64_t units, bool frozen)
{
    liana_model *model;
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(WIDTH));
    liana_dense(model, .name = name, .units = units);
    end_in_softmax(model, frozen);
    assert_int_equal(liana_model_status(model), LIANA_OK);
    return model;
}

/* The value of a variable of an estimator. */
static float value_of(liana_estimator *estimator, const char *name, size_t index)
{
    float values[64] = {0};
    liana_variable_info info;
    const liana_variables *variables = liana_estimator_variables(estimator);
    assert_non_null(variables);
    assert_true(liana_variables_find(variables, name, &info));
    size_t size = (size_t)liana_shape_size(&info.shape) * sizeof *values;
    assert_compare(size, <=, sizeof values);
    assert_int_equal(liana_variables_read(variables, name, values, size), LIANA_OK);
    return values[index];
}

/* ---- a line, with the squared error in plain numbers ---- */

/* The update of a function itself. */
static void descend(liana_update *update, void *params)
{
    (void)params;
    liana_tensor rate = liana_update_scalar(update, "learning_rate");
    for (size_t i = 0; i < update->num_variables; i++) {
        liana_tensor change = liana_op_multiply(update->gradients[i], rate);
        liana_graph_assign(update->variables[i], liana_op_subtract(update->variables[i], change));
    }
}

/* Adam, and a variable of the update's own that adds up the mean losses. */
static void adam_and_count(liana_update *update, void *params)
{
    (void)params;
    liana_apply_gradients(update->variables, update->gradients, update->num_variables,
                          &(liana_optimizer_options){.rate = liana_update_scalar(update, "learning_rate")});
    liana_tensor total = liana_graph_variable(update->graph, "total", LIANA_F32, LIANA_SCALAR);
    liana_tensor mean = liana_op_divide(liana_update_sum(update, "loss"), update->count);
    liana_graph_assign(liana_graph_initializer(total, "constant(100)"), liana_op_add(total, mean));
}

/* Gradient descent in double, on the same batches. */
static void plain_descent(const liana__number_rows *own, int steps, double w[WIDTH], double *b)
{
    for (int k = 0; k < WIDTH; k++) w[k] = 0.25;
    *b = 0;
    for (int step = 0; step < steps; step++) {
        double dw[WIDTH] = {0}, db = 0;
        for (int i = 0; i < BATCH; i++) {
            int row = (step * BATCH + i) % ROWS;
            double error = *b - (double)own->ys[row];
            for (int k = 0; k < WIDTH; k++) error += w[k] * (double)own->xs[row * WIDTH + k];
            for (int k = 0; k < WIDTH; k++) dw[k] += 2 * error * (double)own->xs[row * WIDTH + k] / BATCH;
            db += 2 * error / BATCH;
        }
        for (int k = 0; k < WIDTH; k++) w[k] -= 0.1 * dw[k];
        *b -= 0.1 * db;
    }
}

static void test_a_line_is_that_of_plain_numbers(void **state)
{
    (void)state;
    liana__number_rows own;
    liana__number_rows_open(&own);
    double w[WIDTH], b, loss = 0, distance = 0;
    plain_descent(&own, 12, w, &b);
    for (int i = 0; i < 2; i++) {
        own.update = i ? descend : NULL;
        liana_estimator *estimator = liana__rows_estimator(&own, liana__line_options());
        liana_train_spec train = liana__rows_train(&own, 12);
        done(liana_estimator_train(estimator, &train, NULL));
        for (size_t k = 0; k < WIDTH; k++) assert_near((double)value_of(estimator, "line/w", k), w[k], 1e-5, k);
        assert_near((double)value_of(estimator, "line/b", 0), b, 1e-5);
        loss = distance = 0;
        for (int row = 0; row < ROWS; row++) {
            double error = b - (double)own.ys[row];
            for (int k = 0; k < WIDTH; k++) error += w[k] * (double)own.xs[row * WIDTH + k];
            loss += error * error / ROWS;
            distance += fabs(error) / ROWS;
        }
        liana_results results;
        done(liana_estimator_evaluate(estimator, &(liana_eval_spec){.input.dataset = own.data}, &results));
        assert_int_equal(results.num_metrics, 1);
        assert_string_equal(results.metric_names[0], "distance");
        assert_near(results.loss, loss, 1e-5);
        assert_near(results.metrics[0], distance, 1e-5);
        liana_estimator_destroy(estimator);
    }
    liana__number_rows_close(&own);
}

/* An update of its own with liana's optimizer gives the bits of the optimizer, and its own variables are state. */
static void test_an_update_of_its_own(void **state)
{
    (void)state;
    liana__number_rows own;
    liana__number_rows_open(&own);
    float expected[WIDTH], total = 0;
    own.optimizer = "Adam";
    for (int by_function = 0; by_function < 2; by_function++) {
        own.update = by_function ? adam_and_count : NULL;
        liana_estimator *estimator = liana__rows_estimator(&own, liana__line_options());
        liana_train_spec train = liana__rows_train(&own, 7);
        done(liana_estimator_train(estimator, &train, NULL));
        train.max_steps = 9;
        done(liana_estimator_train(estimator, &train, NULL));
        for (size_t k = 0; k < WIDTH; k++) {
            float found = value_of(estimator, "line/w", k);
            if (!by_function) expected[k] = found;
            assert_compare(found, ==, expected[k], k);
        }
        if (by_function) total = value_of(estimator, "total", 0);
        liana_estimator_destroy(estimator);
    }
    assert_compare(total, >, 100.5F);
    assert_compare(total, <, 200);
    liana__number_rows_close(&own);
}

/* ---- masks ---- */

enum { STEPS = 3 };

/* y = w x for each number of x, of which the first `label` count. */
static liana_estimator_spec masked_fn(const liana_features *features, const liana_features *targets,
                                      const liana_estimator_mode *mode, void *params)
{
    const liana__number_rows *own = params;
    static const float places[STEPS] = {0, 1, 2};
    liana_tensor x = liana_feature(features, "x"), y = liana_feature(features, "y");
    liana_tensor length = liana_op_cast(liana_feature(targets, "label"), LIANA_F32);
    liana_tensor w = liana_graph_variable(features->graph, "w", LIANA_F32, LIANA_SCALAR);
    liana_graph_initializer(w, "zeros");
    const liana_shape column = liana_shape_of(features->size, 1);
    liana_tensor place = liana_graph_constant(features->graph, LIANA_F32, liana_shape_of(1, STEPS), places);
    liana_tensor error = liana_op_subtract(liana_op_multiply(w, x), liana_op_reshape(y, column));
    liana_tensor counts = liana_op_less(place, liana_op_reshape(length, column));
    liana_estimator_spec spec = {
        .loss = liana_op_square(error),
        .loss_mask = counts,
        .metrics = {{.name = "distance", .values = liana_op_abs(error), .mask = counts},
                    {.name = "all", .values = liana_op_abs(error)}},
        .optimizer = {.optimizer = "SGD", .learning_rate = 0.1},
    };
    if (own->what == 1) spec.loss_mask = liana_op_reshape(length, column);
    if (own->what == 2) spec.metrics[0].mask = liana_op_equal(place, place);
    if (own->what == 3 && mode->kind == LIANA_MODE_EVALUATE) spec.loss_mask = (liana_tensor){0};
    return spec;
}

/* The mean over the elements that count, of a batch of rows; `change` is its slope in w. */
static double masked_mean(const liana__number_rows *own, double w, int first, int count, double *change,
                          double *distance, double *all)
{
    double loss = 0, counted = 0;
    *change = *distance = *all = 0;
    for (int row = first; row < first + count; row++) {
        for (int k = 0; k < STEPS; k++) {
            double x = (double)own->xs[row * WIDTH + k], error = w * x - (double)own->ys[row];
            *all += fabs(error) / (count * STEPS);
            if (k >= own->labels[row]) continue;
            counted++;
            loss += error * error;
            *change += 2 * error * x;
            *distance += fabs(error);
        }
    }
    *change /= counted;
    *distance /= counted;
    return loss / counted;
}

/* Elements that a mask leaves out count neither in sums nor in their divisors, over the whole batch. */
static void test_masks_leave_elements_out(void **state)
{
    (void)state;
    liana__number_rows own;
    liana__number_rows_open(&own);
    double w = 0, change, distance, all;
    for (int step = 0; step < 10; step++) {
        masked_mean(&own, w, step * BATCH % ROWS, BATCH, &change, &distance, &all);
        w -= 0.1 * change;
    }
    double loss = masked_mean(&own, w, 0, ROWS, &change, &distance, &all);
    for (int microbatch = 2; microbatch <= BATCH; microbatch *= 2) {
        liana_estimator *estimator =
            liana__rows_estimator(&own, (liana_estimator_options){.model_fn = masked_fn,
                                                                  .config = {.microbatch = microbatch}});
        liana_train_spec train = liana__rows_train(&own, 10);
        liana_results results;
        const liana_eval_spec eval = {.input.dataset = own.data};
        done(liana_estimator_train(estimator, &train, &eval));
        assert_near((double)value_of(estimator, "w", 0), w, 1e-5);
        done(liana_estimator_evaluate(estimator, &eval, &results));
        assert_near(results.loss, loss, 1e-5);
        assert_near(results.metrics[0], distance, 1e-5);
        assert_near(results.metrics[1], all, 1e-5);
        liana_estimator_destroy(estimator);
    }
    static const char *const texts[] = {"the mask of the loss is f32[2, 1], expected bool",
                                        "the mask of a metric is bool[1, 3]", "gives a .loss_mask only when training"};
    for (own.what = 1; own.what <= 3; own.what++) {
        liana_estimator *estimator = liana__rows_estimator(&own, (liana_estimator_options){.model_fn = masked_fn});
        liana_train_spec train = liana__rows_train(&own, 1);
        refused(liana_estimator_train(estimator, &train, &(liana_eval_spec){.input.dataset = own.data}),
                LIANA_INVALID_ARGUMENT, texts[own.what - 1]);
        liana_estimator_destroy(estimator);
    }
    liana__number_rows_close(&own);
}

/* ---- first values ---- */

static liana_status set_bias(void *params, liana_variables *variables)
{
    const liana__number_rows *own = params;
    float w[WIDTH], value = 7;
    if (own->what == 9) return LIANA_IO_ERROR;
    LIANA_TRY(liana_variables_read(variables, "line/w", w, sizeof w));
    assert_compare(w[0], ==, 0.25F);
    return liana_variables_write(variables, "line/b", &value, sizeof value);
}

/* With no room to learn, the first values are left. */
static liana_estimator_spec still_fn(const liana_features *features, const liana_features *targets,
                                     const liana_estimator_mode *mode, void *params)
{
    liana_estimator_spec spec = liana__line_fn(features, targets, mode, params);
    spec.optimizer.learning_rate = 1e-20;
    return spec;
}

static void test_the_scaffold_comes_last(void **state)
{
    (void)state;
    liana__number_rows own;
    liana__number_rows_open(&own);
    liana_estimator_options options = liana__line_options();
    options.model_fn = still_fn;
    options.scaffold = set_bias;
    liana_estimator *estimator = liana__rows_estimator(&own, options);
    liana_train_spec train = liana__rows_train(&own, 2);
    done(liana_estimator_train(estimator, &train, NULL));
    assert_compare(value_of(estimator, "line/b", 0), ==, 7);
    assert_compare(value_of(estimator, "line/w", 1), ==, 0.25F);
    liana_estimator_destroy(estimator);
    own.what = 9;
    estimator = liana__rows_estimator(&own, options);
    refused(liana_estimator_train(estimator, &train, NULL), LIANA_IO_ERROR, "numbers: scaffold: ");
    liana_estimator_destroy(estimator);
    liana__number_rows_close(&own);
}

/* Another function, with another name for the same variable. */
static liana_estimator_spec renamed_fn(const liana_features *features, const liana_features *targets,
                                       const liana_estimator_mode *mode, void *params)
{
    (void)mode;
    (void)params;
    liana_tensor x = liana_feature(features, "x");
    liana_tensor w = liana_graph_variable(features->graph, "slope", LIANA_F32, liana_shape_of(WIDTH));
    liana_tensor b = liana_graph_variable(features->graph, "line/b", LIANA_F32, LIANA_SCALAR);
    liana_graph_initializer(w, "ones");
    liana_graph_initializer(b, "constant(5)");
    liana_tensor predicted = liana_op_add(liana_op_reduce_sum(liana_op_multiply(x, w), LIANA_AXES(-1), false), b);
    return (liana_estimator_spec){
        .loss = liana_op_square(liana_op_subtract(predicted, liana_feature(targets, "y"))),
        .optimizer = {.optimizer = "SGD", .learning_rate = 1e-20},
    };
}

static void test_warm_starts(void **state)
{
    (void)state;
    liana__number_rows own;
    liana__number_rows_open(&own);
    char from[512];
    snprintf(from, sizeof from, "%s", liana__test_path("first"));
    liana_estimator_options options = liana__line_options();
    options.config.model_dir = from;
    liana_estimator *first = liana__rows_estimator(&own, options), *second;
    liana_train_spec train = liana__rows_train(&own, 5), short_train = liana__rows_train(&own, 1);
    done(liana_estimator_train(first, &train, NULL));
    float w = value_of(first, "line/w", 1), b = value_of(first, "line/b", 0);
    assert_compare(w, !=, 0.25F);
    assert_compare(b, !=, 0);
    /* A map of names; then only some variables. */
    liana_estimator_options other = {.model_fn = renamed_fn, .labels = {"y"}};
    other.warm_start_from = (liana_warm_start){.from = from, .names = {{"slope", "line/w"}}};
    second = liana__rows_estimator(&own, other);
    done(liana_estimator_train(second, &short_train, NULL));
    assert_compare(value_of(second, "slope", 1), ==, w);
    assert_compare(value_of(second, "line/b", 0), ==, b);
    liana_estimator_destroy(second);
    other.warm_start_from.variables[0] = "sl*";
    second = liana__rows_estimator(&own, other);
    done(liana_estimator_train(second, &short_train, NULL));
    assert_compare(value_of(second, "slope", 1), ==, w);
    assert_compare(value_of(second, "line/b", 0), ==, 5);
    liana_estimator_destroy(second);
    /* Mistakes. */
    const struct {
        liana_warm_start warm;
        liana_status status;
        const char *text;
    } wrong[] = {
        {{.from = from}, LIANA_NOT_FOUND, "there is no variable 'slope' for 'slope'"},
        {{.from = from, .names = {{"slop", "line/w"}}}, LIANA_NOT_FOUND, "no variable 'slop'; did you mean 'slope'?"},
        {{.from = from, .names = {{"slope", "line/b"}}}, LIANA_INVALID_DATA, "'line/b' is F32[] there, but 'slope' is"},
        {{.from = from, .variables = {"conv*"}}, LIANA_NOT_FOUND, "no variable matches 'conv*'"},
        {{.from = "/nowhere/at/all"}, LIANA_NOT_FOUND, "numbers: warm_start_from: "},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        other.warm_start_from = wrong[i].warm;
        second = liana__rows_estimator(&own, other);
        refused(liana_estimator_train(second, &short_train, NULL), wrong[i].status, wrong[i].text);
        liana_estimator_destroy(second);
    }
    liana_estimator_destroy(first);
    liana__number_rows_close(&own);
}

/* A checkpoint that TensorFlow wrote: Net/fc/biases is 2, 2.125, 2.25. */
static void test_warm_start_from_tensorflow(void **state)
{
    (void)state;
    liana__number_rows own;
    liana__number_rows_open(&own);
    liana__test_write("flat.data-00000-of-00001", flat_data, sizeof flat_data);
    liana__test_write("flat.index", flat_index, sizeof flat_index);
    char from[512];
    snprintf(from, sizeof from, "%s", liana__test_path("flat"));
    liana_train_spec train = liana__rows_train(&own, 1);
    liana_estimator_options options = {.model_fn = renamed_fn, .labels = {"y"}};
    options.warm_start_from =
        (liana_warm_start){.from = from, .names = {{"slope", "Net/fc/biases"}}, .variables = {"slope"}};
    liana_estimator *estimator = liana__rows_estimator(&own, options);
    done(liana_estimator_train(estimator, &train, NULL));
    for (size_t i = 0; i < WIDTH; i++) assert_compare(value_of(estimator, "slope", i), ==, 2 + (float)i / 8, i);
    liana_estimator_destroy(estimator);
    const struct {
        const char *name, *text;
        liana_status status;
    } wrong[] = {
        {"Net/fc/bias", "did you mean 'Net/fc/biases'?", LIANA_NOT_FOUND},
        {"Net/fc/weights", "'Net/fc/weights' is float32[4, 3] there", LIANA_INVALID_DATA},
        {"Net/words", "'Net/words' is string[3] there", LIANA_INVALID_DATA},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        options.warm_start_from.names[0].previous = wrong[i].name;
        estimator = liana__rows_estimator(&own, options);
        refused(liana_estimator_train(estimator, &train, NULL), wrong[i].status, wrong[i].text);
        liana_estimator_destroy(estimator);
    }
    liana__number_rows_close(&own);
}

/* A model_dir of another function, or of other data. */
static void test_a_folder_of_another_function(void **state)
{
    (void)state;
    liana__number_rows own;
    liana__number_rows_open(&own);
    char from[512];
    snprintf(from, sizeof from, "%s", liana__test_path("run"));
    liana_estimator_options options = liana__line_options();
    options.config.model_dir = from;
    liana_estimator *first = liana__rows_estimator(&own, options);
    liana_train_spec train = liana__rows_train(&own, 3);
    done(liana_estimator_train(first, &train, NULL));
    liana_estimator_destroy(first);
    liana_estimator_options other = {.model_fn = renamed_fn, .labels = {"y"}};
    other.config.model_dir = from;
    liana_estimator *second = liana__rows_estimator(&own, other);
    train.max_steps = 6;
    refused(liana_estimator_train(second, &train, NULL), LIANA_INVALID_DATA, "does not fit this model function");
    refused(liana_estimator_train(second, &train, NULL), LIANA_INVALID_DATA, from);
    refused(liana_estimator_evaluate(second, &(liana_eval_spec){.input.dataset = own.data}, NULL), LIANA_INVALID_DATA,
            "'slope'");
    liana_estimator_destroy(second);
    /* Another optimizer has other variables. */
    own.optimizer = "Adam";
    first = liana__rows_estimator(&own, options);
    refused(liana_estimator_train(first, &train, NULL), LIANA_INVALID_DATA, "optimizer/Adam/m/line/w");
    liana_estimator_destroy(first);
    liana__number_rows_close(&own);
}

/* ---- models in a function ---- */

static liana_estimator_spec models_fn(const liana_features *features, const liana_features *targets,
                                      const liana_estimator_mode *mode, void *params)
{
    const liana__number_rows *own = params;
    liana_tensor x = liana_feature(features, "x"), first, second;
    liana_tensor label = mode->kind == LIANA_MODE_PREDICT ? x : liana_feature(targets, "label");
    liana_model_call(own->model, &x, 1, own->what == 8 ? NULL : &mode->call, &first, NULL);
    if (own->other) {
        liana_model_call(own->other, &x, 1, &mode->call, &second, NULL);
        first = liana_op_multiply(liana_op_add(first, second), liana_graph_scalar(features->graph, LIANA_F32, 0.5));
    }
    liana_estimator_spec spec = {.predictions = {{"p", first}}};
    if (mode->kind == LIANA_MODE_PREDICT) return spec;
    spec.loss = liana_loss_of(first, label, NULL);
    spec.metrics[0] = (liana_estimator_metric){.output = first, .target = label};
    spec.metrics[1] = (liana_estimator_metric){.name = "best two",
                                               .metric = {.name = "top_k_accuracy", .k = 2},
                                               .output = first,
                                               .target = label};
    spec.metrics[2] = (liana_estimator_metric){.metric = {.name = "precision"}, .output = first, .target = label};
    spec.optimizer = (liana_optimizer_options){.optimizer = "Adam", .learning_rate = 0.05};
    return spec;
}

static void test_frozen_layers_stay(void **state)
{
    (void)state;
    liana__number_rows own;
    liana__number_rows_open(&own);
    own.model = dense_model(own.context, "moves", CLASSES, false);
    own.other = dense_model(own.context, "stays", CLASSES, true);
    liana_array kernel;
    done(liana_model_get_weights(own.other, "stays/kernel", &kernel));
    liana_estimator *estimator = liana__rows_estimator(&own, (liana_estimator_options){.model_fn = models_fn});
    liana_train_spec train = liana__rows_train(&own, 6);
    done(liana_estimator_train(estimator, &train, NULL));
    for (size_t i = 0; i < 8; i++) {
        assert_compare(value_of(estimator, "stays/kernel", i), ==, ((const float *)kernel.data)[i], i);
    }
    done(liana_model_get_weights(own.model, "moves/kernel", &kernel));
    assert_compare(value_of(estimator, "moves/kernel", 1), !=, ((const float *)kernel.data)[1]);
    liana_estimator_destroy(estimator);
    /* Two models with one name would be one variable. */
    liana_model_destroy(own.other);
    own.other = dense_model(own.context, "moves", CLASSES, true);
    estimator = liana__rows_estimator(&own, (liana_estimator_options){.model_fn = models_fn});
    refused(liana_estimator_train(estimator, &train, NULL), LIANA_INVALID_ARGUMENT,
            "both have a weight 'moves/kernel'");
    liana_estimator_destroy(estimator);
    /* Without the mode the estimator does not know the model. */
    liana_model_destroy(own.other);
    own.other = NULL;
    own.what = 8;
    estimator = liana__rows_estimator(&own, (liana_estimator_options){.model_fn = models_fn});
    refused(liana_estimator_train(estimator, &train, NULL), LIANA_INVALID_ARGUMENT,
            "the variable 'moves/kernel' has no first value");
    liana_estimator_destroy(estimator);
    liana__number_rows_close(&own);
}

/* Metrics and a regularizer's penalty are those of liana_fit and liana_evaluate. */
static void test_metrics_and_penalties_are_those_of_fit(void **state)
{
    (void)state;
    liana__number_rows own;
    liana__number_rows_open(&own);
    liana_model *fitted;
    liana_model **models[] = {&own.model, &fitted};
    for (int i = 0; i < 2; i++) {
        done(liana_model_create(own.context, NULL, models[i]));
        liana_input(*models[i], .shape = LIANA_INTS(WIDTH), .name = "x");
        liana_dense(*models[i], .units = 5, .activation = "relu", .kernel_regularizer = "l2(0.1)",
                    .activity_regularizer = "l1(0.02)");
        liana_dense(*models[i], .units = CLASSES, .activation = "softmax");
        done(liana_model_status(*models[i]));
    }
    liana_estimator *estimator =
        liana__rows_estimator(&own,
                              (liana_estimator_options){.model_fn = models_fn, .config = {.microbatch = 4, .seed = 3}});
    liana_train_spec train = {.input.dataset = own.data, .epochs = 4};
    liana_results found, expected;
    done(liana_estimator_train(estimator, &train, &(liana_eval_spec){.input.dataset = own.data}));
    done(liana_estimator_evaluate(estimator, &(liana_eval_spec){.input.dataset = own.data}, &found));
    liana_fit_options options = {.training = own.data,
                                 .epochs = 4,
                                 .batch_size = BATCH,
                                 .microbatch = 4,
                                 .seed = 3,
                                 .targets = {{NULL, "label"}},
                                 .optimizer = "{name: Adam, learning_rate: 0.05}"};
    done(liana_fit(fitted, &options));
    liana_evaluate_options evaluated = {.batch_size = BATCH,
                                        .targets = {{NULL, "label"}},
                                        .output_metrics = {{.name = "accuracy"},
                                                           {.name = "top_k_accuracy", .k = 2, .as = "best two"},
                                                           {.name = "precision"}}};
    done(liana_evaluate(fitted, own.data, &evaluated, &expected));
    assert_int_equal(found.num_metrics, 3);
    assert_near(found.loss, expected.loss, 1e-6);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(found.metric_names[i], expected.metric_names[i]);
        assert_near(found.metrics[i], expected.metrics[i], 1e-9, i);
    }
    assert_int_equal(liana_model_from_variables(own.model, liana_estimator_variables(estimator)), LIANA_OK);
    assert_true(liana__same_weights(own.model, fitted));
    liana_model_destroy(fitted);
    liana_estimator_destroy(estimator);
    liana__number_rows_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_line_is_that_of_plain_numbers),
        cmocka_unit_test(test_an_update_of_its_own),
        cmocka_unit_test(test_masks_leave_elements_out),
        cmocka_unit_test(test_the_scaffold_comes_last),
        cmocka_unit_test(test_warm_starts),
        cmocka_unit_test(test_warm_start_from_tensorflow),
        cmocka_unit_test(test_a_folder_of_another_function),
        cmocka_unit_test(test_frozen_layers_stay),
        cmocka_unit_test(test_metrics_and_penalties_are_those_of_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
