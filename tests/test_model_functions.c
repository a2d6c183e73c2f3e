/* Model functions on plain numbers: variables of their own, first values, warm starts, updates of their own, metrics,
 * models with frozen layers and regularizers; and what is refused, with names. */
#include "harness/tiny_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 40, WIDTH = 3, CLASSES = 4, BATCH = 8 };

typedef struct fixture {
    liana_context *context;
    liana_dataset *data; /* x f32 [3], y f32 [], label s64 [], weird s64 [] */
    liana_model *model;
    liana_model *other;
    int what; /* which mistake a function makes, or which variant it is */
} fixture;

static float xs[ROWS * WIDTH], ys[ROWS];
static int64_t labels[ROWS];

static void fill_numbers(void)
{
    uint32_t state = 7;
    for (int i = 0; i < ROWS * WIDTH; i++) {
        state = state * 1664525u + 1013904223u;
        xs[i] = (float)(state >> 8) / (float)(1 << 24) - 0.5F;
    }
    for (int i = 0; i < ROWS; i++) {
        const float *x = &xs[i * WIDTH];
        ys[i] = 2 * x[0] - 3 * x[1] + 0.5F * x[2] + 1;
        labels[i] = (x[0] > 0) + 2 * (x[1] > 0);
    }
}

static fixture set_up(void)
{
    fixture own = {.context = NULL};
    liana__test_folder();
    fill_numbers();
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &own.context), LIANA_OK);
    const liana_array arrays[] = {{"x", LIANA_F32, liana_shape_of(ROWS, WIDTH), xs},
                                  {"y", LIANA_F32, liana_shape_of(ROWS), ys},
                                  {"label", LIANA_S64, liana_shape_of(ROWS), labels}};
    own.data = liana_dataset_from_tensor_slices(own.context, arrays, 3);
    assert_non_null(own.data);
    return own;
}

static void tear_down(fixture *own)
{
    liana_model_destroy(own->model);
    liana_model_destroy(own->other);
    liana_dataset_close(own->data);
    liana_context_destroy(own->context);
}

static liana_estimator *make(const fixture *given, liana_estimator_options options)
{
    const fixture own = *given;
    liana_estimator *estimator;
    options.params = (void *)(uintptr_t)given;
    if (!options.config.batch_size) options.config.batch_size = BATCH;
    options.name = "numbers";
    done(liana_estimator_create(own.context, &options, &estimator));
    return estimator;
}

static liana_train_spec some(const fixture *own, int64_t max_steps)
{
    return (liana_train_spec){.input = {own->data, .keep_order = true}, .max_steps = max_steps};
}

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
    assert_true(size <= sizeof values);
    assert_int_equal(liana_variables_read(variables, name, values, size), LIANA_OK);
    return values[index];
}

/* ---- a line, with the squared error in plain numbers ---- */

/* y = w x + b. Variant 1: the update is the function's own. */
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

static liana_estimator_spec line_fn(const liana_features *features, const liana_features *targets,
                                    const liana_estimator_mode *mode, void *params)
{
    const fixture *own = params;
    liana_tensor x = liana_feature(features, "x");
    liana_tensor w = liana_graph_variable(features->graph, "line/w", LIANA_F32, liana_shape_of(WIDTH));
    liana_tensor b = liana_graph_variable(features->graph, "line/b", LIANA_F32, LIANA_SCALAR);
    liana_graph_initializer(w, "constant(0.25)");
    liana_graph_initializer(b, "zeros");
    liana_tensor predicted = liana_op_add(liana_op_reduce_sum(liana_op_multiply(x, w), LIANA_AXES(-1), false), b);
    liana_estimator_spec spec = {.predictions = {{"y", predicted}}};
    if (mode->kind == LIANA_MODE_PREDICT) return spec;
    liana_tensor error = liana_op_subtract(predicted, liana_feature(targets, "y"));
    spec.loss = liana_op_square(error);
    spec.metrics[0] = (liana_estimator_metric){"distance", .values = liana_op_abs(error)};
    spec.optimizer = (liana_optimizer_options){.optimizer = "SGD", .learning_rate = 0.1};
    if (own->what == 1) spec.update = descend;
    if (own->what >= 2) spec.optimizer.optimizer = "Adam";
    if (own->what == 3) spec.update = adam_and_count;
    return spec;
}

static liana_estimator_options line_options(void)
{
    return (liana_estimator_options){.model_fn = line_fn, .labels = {"y"}};
}

/* Gradient descent in double, on the same batches. */
static void plain_descent(int steps, double w[WIDTH], double *b)
{
    for (int k = 0; k < WIDTH; k++) w[k] = 0.25;
    *b = 0;
    for (int step = 0; step < steps; step++) {
        double dw[WIDTH] = {0}, db = 0;
        for (int i = 0; i < BATCH; i++) {
            int row = (step * BATCH + i) % ROWS;
            double error = *b - (double)ys[row];
            for (int k = 0; k < WIDTH; k++) error += w[k] * (double)xs[row * WIDTH + k];
            for (int k = 0; k < WIDTH; k++) dw[k] += 2 * error * (double)xs[row * WIDTH + k] / BATCH;
            db += 2 * error / BATCH;
        }
        for (int k = 0; k < WIDTH; k++) w[k] -= 0.1 * dw[k];
        *b -= 0.1 * db;
    }
}

static void test_a_line_is_that_of_plain_numbers(void **state)
{
    (void)state;
    fixture own = set_up();
    double w[WIDTH], b, loss = 0, distance = 0;
    plain_descent(12, w, &b);
    for (own.what = 0; own.what < 2; own.what++) {
        liana_estimator *estimator = make(&own, line_options());
        liana_train_spec train = some(&own, 12);
        done(liana_estimator_train(estimator, &train));
        for (size_t k = 0; k < WIDTH; k++) assert_true(fabs((double)value_of(estimator, "line/w", k) - w[k]) < 1e-5);
        assert_true(fabs((double)value_of(estimator, "line/b", 0) - b) < 1e-5);
        loss = distance = 0;
        for (int i = 0; i < ROWS; i++) {
            double error = b - (double)ys[i];
            for (int k = 0; k < WIDTH; k++) error += w[k] * (double)xs[i * WIDTH + k];
            loss += error * error / ROWS;
            distance += fabs(error) / ROWS;
        }
        liana_results results;
        done(liana_estimator_evaluate(estimator, &(liana_eval_spec){.input.dataset = own.data}, &results));
        assert_int_equal(results.num_metrics, 1);
        assert_string_equal(results.metric_names[0], "distance");
        assert_true(fabs(results.loss - loss) < 1e-5);
        assert_true(fabs(results.metrics[0] - distance) < 1e-5);
        liana_estimator_destroy(estimator);
    }
    tear_down(&own);
}

/* An update of its own with liana's optimizer gives the bits of the optimizer, and its own variables are state. */
static void test_an_update_of_its_own(void **state)
{
    (void)state;
    fixture own = set_up();
    float expected[WIDTH], total = 0;
    for (own.what = 2; own.what <= 3; own.what++) {
        liana_estimator *estimator = make(&own, line_options());
        liana_train_spec train = some(&own, 7);
        done(liana_estimator_train(estimator, &train));
        train.max_steps = 9;
        done(liana_estimator_train(estimator, &train));
        for (size_t k = 0; k < WIDTH; k++) {
            float found = value_of(estimator, "line/w", k);
            if (own.what == 2) expected[k] = found;
            assert_true(found == expected[k]);
        }
        if (own.what == 3) total = value_of(estimator, "total", 0);
        liana_estimator_destroy(estimator);
    }
    assert_true(total > 100.5F && total < 200);
    tear_down(&own);
}

/* ---- masks ---- */

enum { STEPS = 3 };

/* y = w x for each number of x, of which the first `label` count. */
static liana_estimator_spec masked_fn(const liana_features *features, const liana_features *targets,
                                      const liana_estimator_mode *mode, void *params)
{
    const fixture *own = params;
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
static double masked_mean(double w, int first, int count, double *change, double *distance, double *all)
{
    double loss = 0, counted = 0;
    *change = *distance = *all = 0;
    for (int row = first; row < first + count; row++) {
        for (int k = 0; k < STEPS; k++) {
            double x = (double)xs[row * WIDTH + k], error = w * x - (double)ys[row];
            *all += fabs(error) / (count * STEPS);
            if (k >= labels[row]) continue;
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

/* Elements that a mask leaves out count neither in sums nor in what these are divided by, over the whole batch. */
static void test_masks_leave_elements_out(void **state)
{
    (void)state;
    fixture own = set_up();
    double w = 0, change, distance, all;
    for (int step = 0; step < 10; step++) {
        masked_mean(w, step * BATCH % ROWS, BATCH, &change, &distance, &all);
        w -= 0.1 * change;
    }
    double loss = masked_mean(w, 0, ROWS, &change, &distance, &all);
    for (int microbatch = 2; microbatch <= BATCH; microbatch *= 2) {
        liana_estimator *estimator =
            make(&own, (liana_estimator_options){.model_fn = masked_fn, .config = {.microbatch = microbatch}});
        liana_train_spec train = some(&own, 10);
        liana_results results;
        const liana_eval_spec eval = {.input.dataset = own.data};
        done(liana_estimator_train_and_evaluate(estimator, &train, &eval));
        assert_true(fabs((double)value_of(estimator, "w", 0) - w) < 1e-5);
        done(liana_estimator_evaluate(estimator, &eval, &results));
        assert_true(fabs(results.loss - loss) < 1e-5);
        assert_true(fabs(results.metrics[0] - distance) < 1e-5);
        assert_true(fabs(results.metrics[1] - all) < 1e-5);
        liana_estimator_destroy(estimator);
    }
    static const char *const texts[] = {"the mask of the loss is f32[2, 1], expected bool",
                                        "the mask of a metric is bool[1, 3]", "gives a .loss_mask only when training"};
    for (own.what = 1; own.what <= 3; own.what++) {
        liana_estimator *estimator = make(&own, (liana_estimator_options){.model_fn = masked_fn});
        liana_train_spec train = some(&own, 1);
        refused(liana_estimator_train_and_evaluate(estimator, &train, &(liana_eval_spec){.input.dataset = own.data}),
                LIANA_INVALID_ARGUMENT, texts[own.what - 1]);
        liana_estimator_destroy(estimator);
    }
    tear_down(&own);
}

/* ---- first values ---- */

static liana_status set_bias(void *params, liana_variables *variables)
{
    const fixture *own = params;
    float w[WIDTH], value = 7;
    if (own->what == 9) return LIANA_IO_ERROR;
    LIANA_TRY(liana_variables_read(variables, "line/w", w, sizeof w));
    assert_true(w[0] == 0.25F);
    return liana_variables_write(variables, "line/b", &value, sizeof value);
}

/* With no room to learn, what is left are the first values. */
static liana_estimator_spec still_fn(const liana_features *features, const liana_features *targets,
                                     const liana_estimator_mode *mode, void *params)
{
    liana_estimator_spec spec = line_fn(features, targets, mode, params);
    spec.optimizer.learning_rate = 1e-20;
    return spec;
}

static void test_the_scaffold_comes_last(void **state)
{
    (void)state;
    fixture own = set_up();
    liana_estimator_options options = line_options();
    options.model_fn = still_fn;
    options.scaffold = set_bias;
    liana_estimator *estimator = make(&own, options);
    liana_train_spec train = some(&own, 2);
    done(liana_estimator_train(estimator, &train));
    assert_true(value_of(estimator, "line/b", 0) == 7);
    assert_true(value_of(estimator, "line/w", 1) == 0.25F);
    liana_estimator_destroy(estimator);
    own.what = 9;
    estimator = make(&own, options);
    refused(liana_estimator_train(estimator, &train), LIANA_IO_ERROR, "numbers: scaffold: ");
    liana_estimator_destroy(estimator);
    tear_down(&own);
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
    fixture own = set_up();
    char from[512];
    snprintf(from, sizeof from, "%s", liana__test_path("first"));
    liana_estimator_options options = line_options();
    options.config.model_dir = from;
    liana_estimator *first = make(&own, options), *second;
    liana_train_spec train = some(&own, 5), short_train = some(&own, 1);
    done(liana_estimator_train(first, &train));
    float w = value_of(first, "line/w", 1), b = value_of(first, "line/b", 0);
    assert_true(w != 0.25F && b != 0);
    /* A map of names; then only some variables. */
    liana_estimator_options other = {.model_fn = renamed_fn, .labels = {"y"}};
    other.warm_start_from = (liana_warm_start){.from = from, .names = {{"slope", "line/w"}}};
    second = make(&own, other);
    done(liana_estimator_train(second, &short_train));
    assert_true(value_of(second, "slope", 1) == w);
    assert_true(value_of(second, "line/b", 0) == b);
    liana_estimator_destroy(second);
    other.warm_start_from.variables[0] = "sl*";
    second = make(&own, other);
    done(liana_estimator_train(second, &short_train));
    assert_true(value_of(second, "slope", 1) == w);
    assert_true(value_of(second, "line/b", 0) == 5);
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
        second = make(&own, other);
        refused(liana_estimator_train(second, &short_train), wrong[i].status, wrong[i].text);
        liana_estimator_destroy(second);
    }
    liana_estimator_destroy(first);
    tear_down(&own);
}

/* A model_dir of another function, or of other data. */
static void test_a_folder_of_another_function(void **state)
{
    (void)state;
    fixture own = set_up();
    char from[512];
    snprintf(from, sizeof from, "%s", liana__test_path("run"));
    liana_estimator_options options = line_options();
    options.config.model_dir = from;
    liana_estimator *first = make(&own, options);
    liana_train_spec train = some(&own, 3);
    done(liana_estimator_train(first, &train));
    liana_estimator_destroy(first);
    liana_estimator_options other = {.model_fn = renamed_fn, .labels = {"y"}};
    other.config.model_dir = from;
    liana_estimator *second = make(&own, other);
    train.max_steps = 6;
    refused(liana_estimator_train(second, &train), LIANA_INVALID_DATA, "does not fit this model function");
    refused(liana_estimator_train(second, &train), LIANA_INVALID_DATA, from);
    refused(liana_estimator_evaluate(second, &(liana_eval_spec){.input.dataset = own.data}, NULL), LIANA_INVALID_DATA,
            "'slope'");
    liana_estimator_destroy(second);
    /* Another optimizer has other variables. */
    own.what = 2;
    first = make(&own, options);
    refused(liana_estimator_train(first, &train), LIANA_INVALID_DATA, "optimizer/Adam/m/line/w");
    liana_estimator_destroy(first);
    tear_down(&own);
}

/* ---- models in a function ---- */

static liana_estimator_spec models_fn(const liana_features *features, const liana_features *targets,
                                      const liana_estimator_mode *mode, void *params)
{
    const fixture *own = params;
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
    fixture own = set_up();
    own.model = dense_model(own.context, "moves", CLASSES, false);
    own.other = dense_model(own.context, "stays", CLASSES, true);
    liana_array kernel;
    done(liana_model_get_weights(own.other, "stays/kernel", &kernel));
    liana_estimator *estimator = make(&own, (liana_estimator_options){.model_fn = models_fn});
    liana_train_spec train = some(&own, 6);
    done(liana_estimator_train(estimator, &train));
    for (size_t i = 0; i < 8; i++) {
        assert_true(value_of(estimator, "stays/kernel", i) == ((const float *)kernel.data)[i]);
    }
    done(liana_model_get_weights(own.model, "moves/kernel", &kernel));
    assert_true(value_of(estimator, "moves/kernel", 1) != ((const float *)kernel.data)[1]);
    liana_estimator_destroy(estimator);
    /* Two models with one name would be one variable. */
    liana_model_destroy(own.other);
    own.other = dense_model(own.context, "moves", CLASSES, true);
    estimator = make(&own, (liana_estimator_options){.model_fn = models_fn});
    refused(liana_estimator_train(estimator, &train), LIANA_INVALID_ARGUMENT, "both have a weight 'moves/kernel'");
    liana_estimator_destroy(estimator);
    /* Without the mode the estimator does not know the model. */
    liana_model_destroy(own.other);
    own.other = NULL;
    own.what = 8;
    estimator = make(&own, (liana_estimator_options){.model_fn = models_fn});
    refused(liana_estimator_train(estimator, &train), LIANA_INVALID_ARGUMENT,
            "the variable 'moves/kernel' has no first value");
    liana_estimator_destroy(estimator);
    tear_down(&own);
}

/* Metrics and a regularizer's penalty are those of liana_fit and liana_evaluate. */
static void test_metrics_and_penalties_are_those_of_fit(void **state)
{
    (void)state;
    fixture own = set_up();
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
        make(&own, (liana_estimator_options){.model_fn = models_fn, .config = {.microbatch = 4, .seed = 3}});
    liana_train_spec train = {.input.dataset = own.data, .epochs = 4};
    liana_results found, expected;
    done(liana_estimator_train_and_evaluate(estimator, &train, &(liana_eval_spec){.input.dataset = own.data}));
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
    assert_true(fabs(found.loss - expected.loss) < 1e-6);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(found.metric_names[i], expected.metric_names[i]);
        assert_true(fabs(found.metrics[i] - expected.metrics[i]) < 1e-9);
    }
    assert_int_equal(liana_model_from_variables(own.model, liana_estimator_variables(estimator)), LIANA_OK);
    assert_true(liana__same_weights(own.model, fitted));
    liana_model_destroy(fitted);
    liana_estimator_destroy(estimator);
    tear_down(&own);
}

/* ---- what is refused ---- */

enum mistake {
    NO_LOSS = 100,
    MEAN_LOSS,
    WHOLE_LOSS,
    UNKNOWN_FEATURE,
    LABEL_AS_FEATURE,
    FEATURE_AS_LABEL,
    NO_VARIABLE,
    NO_INITIALIZER,
    WHOLE_VARIABLE,
    TWO_METRICS,
    UNKNOWN_METRIC,
    NAMELESS_METRIC,
    METRIC_IN_TRAINING,
    RATE_TENSOR,
    UNKNOWN_OPTIMIZER,
    FEW_CLASSES,
    OTHER_SIZES,
    NO_PREDICTION,
    TWO_PREDICTIONS,
    MEAN_PREDICTION,
    LABEL_IN_PREDICT,
    RESERVED_NAME,
    STRANGE_VARIABLE,
};

/* The scores of four classes, or of fewer. */
static liana_tensor scores_of(const liana_features *features, int what)
{
    int64_t classes = what == FEW_CLASSES ? 2 : CLASSES;
    const liana_dtype dtype = what == WHOLE_VARIABLE ? LIANA_S32 : LIANA_F32;
    liana_tensor x = liana_feature(features, what == UNKNOWN_FEATURE ? "xx" : what == LABEL_AS_FEATURE ? "label" : "x");
    const char *name = what == RESERVED_NAME ? "count" : "w";
    if (what == NO_VARIABLE) {
        liana_tensor twice[] = {x, x};
        return liana_op_softmax(liana_op_concat(twice, 2, 1));
    }
    liana_tensor w = liana_graph_variable(features->graph, name, dtype, liana_shape_of(WIDTH, classes));
    if (what != NO_INITIALIZER) liana_graph_initializer(w, "glorot_uniform");
    if (what == WHOLE_VARIABLE) w = liana_op_cast(w, LIANA_F32);
    return liana_op_softmax(liana_op_matmul(x, w, false, false));
}

static void add_mistakes(const liana_features *features, int what, liana_tensor scores, liana_tensor label,
                         liana_estimator_spec *spec)
{
    liana_tensor w = liana_graph_tensor(features->graph, "w");
    static liana_tensor chosen;
    chosen = scores;
    if (what == NO_LOSS) spec->loss = (liana_tensor){0};
    if (what == MEAN_LOSS) spec->loss = liana_op_reduce_mean(spec->loss, LIANA_ALL_AXES, false);
    if (what == WHOLE_LOSS) spec->loss = liana_op_cast(spec->loss, LIANA_S32);
    if (what == OTHER_SIZES && features->size != 2)
        spec->loss =
            liana_op_broadcast_to(liana_op_reduce_sum(w, LIANA_ALL_AXES, false), liana_shape_of(features->size, 7));
    if (what == TWO_METRICS)
        spec->metrics[0] = spec->metrics[1] = (liana_estimator_metric){.output = scores, .target = label};
    if (what == UNKNOWN_METRIC)
        spec->metrics[0] = (liana_estimator_metric){.metric = {.name = "acuracy"}, .output = scores};
    if (what == NAMELESS_METRIC) spec->metrics[0] = (liana_estimator_metric){.values = scores};
    if (what == RATE_TENSOR) spec->optimizer.rate = liana_graph_scalar(features->graph, LIANA_F32, 1);
    if (what == UNKNOWN_OPTIMIZER) spec->optimizer.optimizer = "Adamm";
    if (what == STRANGE_VARIABLE) spec->variables = &chosen, spec->num_variables = 1;
}

static liana_estimator_spec wrong_fn(const liana_features *features, const liana_features *targets,
                                     const liana_estimator_mode *mode, void *params)
{
    const int what = ((const fixture *)params)->what;
    liana_tensor scores = scores_of(features, what);
    liana_estimator_spec spec = {.predictions = {{"p", scores}}};
    if (what == NO_PREDICTION) spec.predictions[0] = (liana_prediction){0};
    if (what == TWO_PREDICTIONS) spec.predictions[1] = spec.predictions[0];
    if (what == MEAN_PREDICTION) spec.predictions[0].tensor = liana_op_reduce_mean(scores, LIANA_ALL_AXES, false);
    if (mode->kind == LIANA_MODE_PREDICT && what != LABEL_IN_PREDICT) return spec;
    liana_tensor label = liana_feature(targets, what == FEATURE_AS_LABEL ? "x" : "label");
    spec.loss = liana_loss_of(scores, label, NULL);
    add_mistakes(features, what, scores, label, &spec);
    if (what == METRIC_IN_TRAINING && mode->kind == LIANA_MODE_TRAIN) {
        spec.metrics[0] = (liana_estimator_metric){.output = scores, .target = label};
    }
    return spec;
}

static void test_what_is_refused(void **state)
{
    (void)state;
    static const struct {
        int what;
        liana_status status;
        const char *text;
    } cases[] = {
        {NO_LOSS, LIANA_INVALID_ARGUMENT, "numbers: the model function gives no loss when training; set .loss"},
        {MEAN_LOSS, LIANA_INVALID_ARGUMENT, "the loss is f32[], expected floats [2, ...]"},
        {MEAN_LOSS, LIANA_INVALID_ARGUMENT, "takes the mean itself"},
        {WHOLE_LOSS, LIANA_INVALID_ARGUMENT, "the loss is s32[2], expected floats"},
        {UNKNOWN_FEATURE, LIANA_NOT_FOUND, "no feature 'xx' when training; there are: 'x', 'y'"},
        {UNKNOWN_FEATURE, LIANA_NOT_FOUND, "test_model_functions.c:"},
        {LABEL_AS_FEATURE, LIANA_NOT_FOUND, "it is a label: ask the labels for it"},
        {FEATURE_AS_LABEL, LIANA_NOT_FOUND, "it is a feature: name the labels"},
        {NO_VARIABLE, LIANA_INVALID_ARGUMENT, "the loss depends on no variable that could be trained"},
        {NO_INITIALIZER, LIANA_INVALID_ARGUMENT, "the variable 'w' has no first value; give it an initialiser"},
        {WHOLE_VARIABLE, LIANA_INVALID_ARGUMENT, "the variable 'w' is s32[3, 4], expected f32"},
        {TWO_METRICS, LIANA_INVALID_ARGUMENT, "two metrics have the name 'accuracy'"},
        {UNKNOWN_METRIC, LIANA_INVALID_CONFIG, "acuracy"},
        {NAMELESS_METRIC, LIANA_INVALID_ARGUMENT, "needs a name"},
        {RATE_TENSOR, LIANA_INVALID_ARGUMENT, ".rate is a tensor; here it is a number or a schedule"},
        {UNKNOWN_OPTIMIZER, LIANA_INVALID_CONFIG, "did you mean 'Adam'?"},
        {FEW_CLASSES, LIANA_OUT_OF_RANGE, "label"},
        {FEW_CLASSES, LIANA_OUT_OF_RANGE, "out of range [0, 2)"},
        {OTHER_SIZES, LIANA_INVALID_ARGUMENT, "they must not depend on the size"},
        {RESERVED_NAME, LIANA_INVALID_ARGUMENT, "a variable is called 'count', which updates use themselves"},
        {STRANGE_VARIABLE, LIANA_INVALID_ARGUMENT, "entry 0 of the spec's .variables is no variable"},
    };
    fixture own = set_up();
    liana_train_spec train = some(&own, 20);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        own.what = cases[i].what;
        liana_estimator *estimator = make(&own, (liana_estimator_options){.model_fn = wrong_fn});
        refused(liana_estimator_train(estimator, &train), cases[i].status, cases[i].text);
        assert_null(liana_estimator_variables(estimator));
        liana_estimator_destroy(estimator);
    }
    own.what = METRIC_IN_TRAINING;
    liana_estimator *estimator = make(&own, (liana_estimator_options){.model_fn = wrong_fn});
    refused(liana_estimator_train_and_evaluate(estimator, &train, &(liana_eval_spec){.input.dataset = own.data}),
            LIANA_INVALID_ARGUMENT, "gives the metric 'accuracy' when training but not when evaluating");
    liana_estimator_destroy(estimator);
    tear_down(&own);
}

static void test_predictions_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        int what;
        liana_status status;
        const char *text;
    } cases[] = {
        {NO_PREDICTION, LIANA_INVALID_ARGUMENT, "gives no predictions; set .predictions"},
        {TWO_PREDICTIONS, LIANA_INVALID_ARGUMENT, "two predictions have the name 'p'"},
        {MEAN_PREDICTION, LIANA_INVALID_ARGUMENT, "the prediction 'p' is f32[], expected [2, ...]"},
        {LABEL_IN_PREDICT, LIANA_INVALID_ARGUMENT, "there is no label 'label' when predicting"},
    };
    fixture own = set_up();
    float values[ROWS * CLASSES];
    liana_train_spec train = some(&own, 2);
    liana_predict_spec predict = {.input.dataset = own.data, .predictions = {{"p", values, ROWS * CLASSES}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        own.what = cases[i].what;
        liana_estimator *estimator = make(&own, (liana_estimator_options){.model_fn = wrong_fn});
        done(liana_estimator_train(estimator, &train));
        refused(liana_estimator_predict(estimator, &predict), cases[i].status, cases[i].text);
        refused(liana_estimator_export(estimator, liana__test_path("none"),
                                       &(liana_export_spec){.input.dataset = own.data}),
                cases[i].status, own.what == MEAN_PREDICTION ? "the prediction 'p'" : cases[i].text);
        liana_estimator_destroy(estimator);
    }
    tear_down(&own);
}

/* Nothing is trained yet; numbers that are none; data that a function cannot read. */
static void test_specs_that_are_refused(void **state)
{
    (void)state;
    fixture own = set_up();
    liana_estimator *estimator = make(&own, line_options());
    float values[ROWS];
    liana_train_spec train = some(&own, 2);
    liana_eval_spec eval = {.input.dataset = own.data};
    liana_predict_spec predict = {.input.dataset = own.data, .predictions = {{"y", values, ROWS}}};
    refused(liana_estimator_evaluate(estimator, &eval, NULL), LIANA_NOT_FOUND, "there is no checkpoint in");
    refused(liana_estimator_predict(estimator, &predict), LIANA_NOT_FOUND, "train first");
    assert_null(liana_estimator_variables(estimator));
    assert_int_equal(liana_estimator_global_step(estimator), 0);
    train.steps = -1;
    refused(liana_estimator_train(estimator, &train), LIANA_INVALID_ARGUMENT, "train.steps is -1");
    train = (liana_train_spec){.max_steps = 1};
    refused(liana_estimator_train(estimator, &train), LIANA_INVALID_ARGUMENT, "train.input.dataset is NULL");
    train = some(&own, 2);
    eval.every_steps = eval.every_epochs = 1;
    refused(liana_estimator_train_and_evaluate(estimator, &train, &eval), LIANA_INVALID_ARGUMENT, "exclude each other");
    eval = (liana_eval_spec){.input = {own.data, .image_shape = {8, 8}}};
    refused(liana_estimator_evaluate(estimator, &eval, NULL), LIANA_INVALID_ARGUMENT, "eval.input.image_shape[2] is 0");
    eval = (liana_eval_spec){.input.dataset = own.data, .steps = -3};
    refused(liana_estimator_evaluate(estimator, &eval, NULL), LIANA_INVALID_ARGUMENT, "steps is -3");
    /* A dataset that is batched already. */
    liana_dataset *batched =
        liana_dataset_batch(liana_dataset_retain(own.data), &(liana_batch_options){.batch_size = 6});
    train.input.dataset = batched;
    refused(liana_estimator_train(estimator, &train), LIANA_INVALID_ARGUMENT, "the dataset is batched");
    liana_dataset_close(batched);
    /* Evaluation data without a component. */
    const liana_array only_x = {"x", LIANA_F32, liana_shape_of(ROWS, WIDTH), xs};
    liana_dataset *short_data = liana_dataset_from_tensor_slices(own.context, &only_x, 1);
    train = some(&own, 2);
    eval = (liana_eval_spec){.input.dataset = short_data};
    refused(liana_estimator_train_and_evaluate(estimator, &train, &eval), LIANA_INVALID_ARGUMENT,
            "the data have no component 'y'");
    /* Predictions need no labels. */
    done(liana_estimator_train(estimator, &train));
    predict.input.dataset = short_data;
    done(liana_estimator_predict(estimator, &predict));
    liana_dataset_close(short_data);
    liana_estimator_destroy(estimator);
    tear_down(&own);
}

static void test_options_that_are_refused(void **state)
{
    (void)state;
    fixture own = set_up();
    static const struct {
        liana_run_config config;
        liana_status status;
        const char *text;
    } cases[] = {
        {{.batch_size = -1}, LIANA_INVALID_ARGUMENT, "estimator: config.batch_size is -1"},
        {{.keep_checkpoint_max = -2}, LIANA_INVALID_ARGUMENT, "config.keep_checkpoint_max is -2"},
        {{.save_checkpoints_secs = -1}, LIANA_INVALID_ARGUMENT, "config.save_checkpoints_secs is -1"},
        {{.precision = (liana_precision)7}, LIANA_INVALID_ARGUMENT, "config.precision is 7"},
        {{.model_dir = "gs://bucket/run"}, LIANA_UNIMPLEMENTED, "the URL 'gs://bucket/run', expected a folder"},
        {{.device = "cpi"}, LIANA_INVALID_CONFIG, "did you mean 'cpu'?"},
        {{.strategy = {.name = "mirored"}}, LIANA_INVALID_CONFIG, "mirrored"},
    };
    liana_estimator *estimator;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const liana_estimator_options options = {.model_fn = line_fn, .config = cases[i].config};
        refused(liana_estimator_create(own.context, &options, &estimator), cases[i].status, cases[i].text);
        assert_null(estimator);
    }
    refused(liana_estimator_create(own.context, &(liana_estimator_options){.name = "mine"}, &estimator),
            LIANA_INVALID_ARGUMENT, "mine: the options have no model_fn");
    /* The temporary folder goes with the estimator; one that is named stays. */
    char folder[512];
    snprintf(folder, sizeof folder, "%s", liana__test_path("stays"));
    liana_estimator_options options = line_options();
    options.config.model_dir = folder;
    estimator = make(&own, options);
    liana_train_spec train = some(&own, 1);
    done(liana_estimator_train(estimator, &train));
    liana_estimator_destroy(estimator);
    estimator = make(&own, options);
    done(liana_estimator_evaluate(estimator, &(liana_eval_spec){.input.dataset = own.data}, NULL));
    assert_int_equal(liana_estimator_global_step(estimator), 1);
    liana_estimator_destroy(estimator);
    tear_down(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_line_is_that_of_plain_numbers),
        cmocka_unit_test(test_an_update_of_its_own),
        cmocka_unit_test(test_masks_leave_elements_out),
        cmocka_unit_test(test_the_scaffold_comes_last),
        cmocka_unit_test(test_warm_starts),
        cmocka_unit_test(test_a_folder_of_another_function),
        cmocka_unit_test(test_frozen_layers_stay),
        cmocka_unit_test(test_metrics_and_penalties_are_those_of_fit),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_predictions_that_are_refused),
        cmocka_unit_test(test_specs_that_are_refused),
        cmocka_unit_test(test_options_that_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
