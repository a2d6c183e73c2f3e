/* Steps: a loop of one's own gives the bits of liana_fit, on any number of threads; refusals of steps; models and
 * variables. */
#include "harness/tiny_loop.h"

#include <math.h>
#include <stdlib.h>

enum {
    BATCH = 32,
    COUNT = LIANA__LOOP_COUNT,
    MICROBATCH = 8,
    EPOCHS = 2,
    CLASSES = LIANA__TINY_CLASSES,
    SIZE = LIANA__TINY_SIZE
};
enum { MOST_WEIGHTS = 16 };

typedef liana__tiny_loop fixture;

static void build_shard(liana_shard *shard, void *user)
{
    const fixture *own = user;
    liana_tensor image = liana__loop_image(shard), label = liana_shard_input(shard, "label"), output;
    liana_tensor variables[MOST_WEIGHTS];
    liana_model_call(own->model, &image, 1, &shard->mode, &output, NULL);
    liana_tensor loss = liana_shard_sum(shard, "loss", liana_loss_of(output, label, NULL));
    liana_shard_sum(shard, "accuracy", liana_metric_of(output, label, NULL));
    liana_shard_gradients(shard, loss, variables, liana_model_variables(own->model, shard->graph, variables));
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
                                .shard = build_shard,
                                .update = build_update,
                                .user = own,
                                .components = liana__loop_components,
                                .num_components = 2,
                                .scalars = {"rate"},
                                .batch_size = BATCH,
                                .microbatch = MICROBATCH,
                                .seed = 5,
                                .strategy = own->strategy};
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
    liana_step *step = liana__loop_step(own, &options);
    liana_step_results results;
    int64_t update = 0;
    assert_int_equal(liana_step_info(step).num_replicas_in_sync, own->strategy.name ? own->strategy.replicas : 1);
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        means[0] = means[1] = 0;
        for (int64_t first = 0; first < COUNT; first += BATCH) {
            int64_t count = COUNT - first < BATCH ? COUNT - first : BATCH;
            liana_step_input batch = liana__loop_batch(own, first, count, decays ? decayed(rate, update) : rate);
            liana__tiny_done(own->context, liana_step_run(step, &batch, &results), __FILE__, __LINE__);
            assert_int_equal(results.num_examples, count);
            assert_int_equal(results.num_sums, 2);
            assert_string_equal(results.names[1], "accuracy");
            assert_compare(liana_step_mean(&results, "loss"), ==, results.sums[0] / (double)count);
            for (int i = 0; i < 2; i++) means[i] += results.sums[i] / COUNT;
            update++;
        }
    }
    assert_int_equal(liana_step_info(step).position, EPOCHS * COUNT);
    liana__tiny_done(own->context, liana_model_from_variables(own->model, own->variables), __FILE__, __LINE__);
    liana_step_destroy(step);
}

static bool keep_epoch(void *user, const liana_epoch *epoch)
{
    *(liana_epoch *)user = *epoch;
    return true;
}

static void hold_to_fit(int threads, const char *optimizer, const char *fitted, double rate, bool decays,
                        liana_precision precision, int64_t replicas)
{
    fixture own = liana__tiny_loop_open(threads, liana__tiny_model);
    if (replicas) own.strategy = (liana_strategy){.name = "mirrored", .replicas = replicas, .threads = 1};
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
    assert_near(last.training.loss, means[0], 1e-12);
    assert_near(last.training.metrics[0], means[1], 1e-12);
    /* It has learnt something, so equal weights are not the first ones. */
    liana_model *untrained = liana__tiny_model(own.context);
    assert_false(liana__same_weights(own.model, untrained));
    liana_model_destroy(untrained);
    liana_model_destroy(model);
    liana__tiny_loop_close(&own);
}

static void test_adam_is_that_of_fit(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        hold_to_fit(
            threads, "Adam",
            "{name: Adam, learning_rate: {name: ExponentialDecay, initial_learning_rate: 0.01, decay_steps: 2}}", 0.01,
            true, LIANA_FLOAT32, 0);
    }
}

static void test_momentum_is_that_of_fit(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        hold_to_fit(threads, "{name: SGD, momentum: 0.9}", "{name: SGD, momentum: 0.9, learning_rate: 0.05}", 0.05,
                    false, LIANA_FLOAT32, 0);
    }
}

static void test_mixed_precision_is_that_of_fit(void **state)
{
    (void)state;
    hold_to_fit(2, "Adam", "{name: Adam, learning_rate: 0.01}", 0.01, false, LIANA_MIXED_BFLOAT16, 0);
}

static void test_replicas_give_the_bits_of_fit(void **state)
{
    (void)state;
    hold_to_fit(1, "Adam", "{name: Adam, learning_rate: 0.01}", 0.01, false, LIANA_FLOAT32, 3);
}

/* The seed of dropout is the step's. */
static void test_another_seed_gives_other_weights(void **state)
{
    (void)state;
    fixture own = liana__tiny_loop_open(2, liana__tiny_model);
    liana_model *models[2];
    for (int i = 0; i < 2; i++) {
        liana_step_options options = usual(&own);
        options.seed = (uint64_t)i;
        liana_variables *variables;
        done(liana_variables_create(own.device, &variables));
        liana_variables *kept = own.variables;
        own.variables = variables;
        liana_step *step = liana__loop_step(&own, &options);
        liana_step_input batch = liana__loop_batch(&own, 0, BATCH, 0.01);
        done(liana_step_run(step, &batch, NULL));
        models[i] = liana__tiny_model(own.context);
        done(liana_model_from_variables(models[i], variables));
        liana_step_destroy(step);
        liana_variables_destroy(variables);
        own.variables = kept;
    }
    assert_false(liana__same_weights(models[0], models[1]));
    liana_model_destroy(models[0]);
    liana_model_destroy(models[1]);
    liana__tiny_loop_close(&own);
}

/* A device with shards of one size leaves rows out that are no examples: close to the CPU, averages included. */
static void test_missing_rows_count_for_nothing(void **state)
{
    (void)state;
    fixture own = liana__tiny_loop_open(1, liana__tiny_model), other = liana__tiny_loop_open(1, liana__tiny_model);
    double means[2], expected[2];
    liana_variables_destroy(other.variables);
    liana_device_close(other.device);
    assert_int_equal(liana_device_open(other.context, "reference", &other.device), LIANA_OK);
    assert_int_equal(liana_variables_create(other.device, &other.variables), LIANA_OK);
    own.optimizer = other.optimizer = "SGD";
    train(&own, 0.01, false, LIANA_FLOAT32, expected);
    train(&other, 0.01, false, LIANA_FLOAT32, means);
    assert_near(means[0], expected[0], 1e-4);
    for (size_t i = 0; i < liana_model_info(own.model).num_weights; i++) {
        liana_array a, b;
        done(liana_model_get_weights(own.model, liana_model_weight(own.model, i).name, &a));
        done(liana_model_get_weights(other.model, a.name, &b));
        const float *x = a.data, *y = b.data;
        for (int64_t k = 0; k < liana_shape_size(&a.shape); k++) assert_near(x[k], y[k], 2e-4F, k);
    }
    liana__tiny_loop_close(&other);
    liana__tiny_loop_close(&own);
}

/* Without an update a step measures what liana_test_on_batch measures. */
static void build_measure(liana_shard *shard, void *user)
{
    const fixture *own = user;
    liana_tensor image = liana_shard_input(shard, "image"), label = liana_shard_input(shard, "label"), output;
    liana_tensor scale = liana_graph_scalar(shard->graph, LIANA_F32, 1.0 / 255);
    image = liana_op_multiply(liana_op_cast(image, LIANA_F32), scale);
    liana_model_call(own->model, &image, 1, &shard->mode, &output, NULL);
    liana_shard_sum(shard, "loss", liana_loss_of(output, label, NULL));
    liana_shard_sum(shard, "best two",
                    liana_metric_of(output, label, &(liana_metric){.name = "top_k_accuracy", .k = 2}));
}

static void test_a_step_may_only_measure(void **state)
{
    (void)state;
    fixture own = liana__tiny_loop_open(2, liana__tiny_model);
    liana_step_options options = usual(&own);
    options.shard = build_measure;
    options.update = NULL;
    options.evaluates = true;
    options.scalars[0] = NULL;
    liana_step *step = liana__loop_step(&own, &options);
    liana_step_input batch = liana__loop_batch(&own, 0, BATCH, 0);
    batch.scalars[0].name = NULL;
    liana_step_results results;
    liana_results expected;
    done(liana_step_run(step, &batch, &results));
    liana_evaluate_options measured = {.output_metrics = {{.name = "top_k_accuracy", .k = 2}}};
    done(liana_test_on_batch(own.model, &measured, batch.arrays, 2, &expected));
    assert_near(liana_step_mean(&results, "loss"), expected.loss, 1e-6);
    assert_near(liana_step_mean(&results, "best two"), expected.metrics[0], 1e-6);
    assert_true(isnan(liana_step_mean(&results, "best")));
    assert_true(isnan(liana_step_mean(NULL, "best")));
    liana_step_destroy(step);
    liana__tiny_loop_close(&own);
}

/* ---- a rule of one's own ---- */

/* y = w x with the squared error, in the graph and in plain numbers. */
static void build_line(liana_shard *shard, void *user)
{
    (void)user;
    liana_tensor x = liana_shard_input(shard, "x"), y = liana_shard_input(shard, "y");
    liana_tensor w = liana_graph_variable(shard->graph, "w", LIANA_F32, LIANA_SCALAR);
    liana_graph_initializer(w, "constant(0.5)");
    liana_tensor error = liana_op_subtract(liana_op_multiply(w, x), y);
    liana_tensor loss = liana_shard_sum(shard, "loss", liana_op_square(error));
    liana_shard_gradients(shard, loss, &w, 1);
}

/* w -= rate * gradient / (1 + mean loss) */
static void move_line(liana_update *update, void *user)
{
    (void)user;
    assert_int_equal(update->num_variables, 1);
    liana_tensor one = liana_graph_scalar(update->graph, LIANA_F32, 1);
    liana_tensor loss = liana_op_divide(liana_update_sum(update, "loss"), update->count);
    liana_tensor rate = liana_op_divide(liana_update_scalar(update, "rate"), liana_op_add(one, loss));
    liana_graph_assign(update->variables[0],
                       liana_op_subtract(update->variables[0], liana_op_multiply(rate, update->gradients[0])));
}

static void test_a_rule_of_ones_own(void **state)
{
    (void)state;
    enum { POINTS = 20, LARGEST = 8 };
    fixture own = liana__tiny_loop_open(3, liana__tiny_model);
    static const liana_component points[] = {{.name = "x", .dtype = LIANA_F32}, {.name = "y", .dtype = LIANA_F32}};
    liana_step_options options = {.shard = build_line,
                                  .update = move_line,
                                  .components = points,
                                  .num_components = 2,
                                  .scalars = {"rate"},
                                  .batch_size = LARGEST,
                                  .microbatch = 3,
                                  .variables = own.variables};
    float x[POINTS], y[POINTS], w;
    double expected = 0.5;
    for (int i = 0; i < POINTS; i++) {
        x[i] = (float)i / POINTS;
        y[i] = 2 * x[i];
    }
    const liana_array whole[] = {{"x", LIANA_F32, liana_shape_of(POINTS), x},
                                 {"y", LIANA_F32, liana_shape_of(POINTS), y}};
    liana_dataset *data = liana_dataset_from_tensor_slices(own.context, whole, 2);
    data = liana_dataset_batch(data, &(liana_batch_options){.batch_size = LARGEST});
    liana_iterator *iterator;
    done(liana_iterator_create(data, NULL, &iterator));
    liana_step *step;
    done(liana_step_create(own.context, &options, &step));
    done(liana_variables_initialize(own.variables, NULL));
    liana_step_input batch = {.scalars = {{"rate", 0.3}}};
    for (int first = 0; first < POINTS; first += LARGEST) {
        int count = POINTS - first < LARGEST ? POINTS - first : LARGEST;
        double loss = 0, gradient = 0;
        for (int i = first; i < first + count; i++) {
            double error = expected * (double)x[i] - (double)y[i];
            loss += error * error / count;
            gradient += 2 * error * (double)x[i] / count;
        }
        liana_step_results results;
        done(liana_iterator_next(iterator, &batch.element));
        done(liana_step_run(step, &batch, &results));
        assert_near(liana_step_mean(&results, "loss"), loss, 1e-5);
        expected -= 0.3 / (1 + loss) * gradient;
        done(liana_variables_read(own.variables, "w", &w, sizeof w));
        assert_near(w, expected, 1e-5);
    }
    liana_step_destroy(step);
    liana_iterator_destroy(iterator);
    liana_dataset_close(data);
    liana__tiny_loop_close(&own);
}

/* ---- losses and metrics of tensors ---- */

static double sum_of(liana_tensor each)
{
    return liana_number(liana_op_reduce_sum(each, LIANA_ALL_AXES, false));
}

static void test_losses_and_metrics_are_functions(void **state)
{
    (void)state;
    fixture own = liana__tiny_loop_open(1, liana__tiny_model);
    liana_graph *graph;
    done(liana_graph_create(own.context, &graph));
    const float scores[] = {1, 2, 0, 100, 0, 3}, values[] = {0, 2, 3, 100, 1, 1};
    const int64_t labels[] = {2, 1};
    liana_shape shape = liana_shape_of(2, 3);
    liana_tensor x = liana_graph_constant(graph, LIANA_F32, shape, scores);
    liana_tensor y = liana_graph_constant(graph, LIANA_F32, shape, values);
    liana_tensor label = liana_graph_constant(graph, LIANA_S64, liana_shape_of(2), labels);
    /* -log softmax: log(e + e^2 + 1) - 0, and 100 for scores of 0 and 100. */
    double expected = log(exp(1) + exp(2) + 1) + 100;
    assert_near(sum_of(liana_loss_of(x, label, &(liana_loss){.from_logits = true})), expected, 1e-4);
    assert_near(sum_of(liana_loss_of(liana_op_softmax(x), label, NULL)), expected, 1e-4);
    assert_near(sum_of(liana_loss_of(liana_op_softmax(x), label, &(liana_loss){.weight = 2})), 2 * expected, 2e-4);
    /* Probabilities that come from elsewhere are clipped: -log(1e-7). */
    liana_tensor known = liana_op_multiply(liana_op_softmax(x), liana_graph_scalar(graph, LIANA_F32, 1));
    expected = log(exp(1) + exp(2) + 1) + log(1e7);
    assert_near(sum_of(liana_loss_of(known, label, NULL)), expected, 1e-2);
    assert_near(sum_of(liana_loss_of(x, y, &(liana_loss){.name = "mse"})), (1 + 9 + 1 + 4) / 3.0, 1e-5);
    assert_near(sum_of(liana_metric_of(x, y, &(liana_metric){.name = "mean_absolute_error"})), 7 / 3.0, 1e-5);
    assert_compare(sum_of(liana_metric_of(x, label, NULL)), ==, 0);
    assert_compare(sum_of(liana_metric_of(x, label, &(liana_metric){.name = "top_k_accuracy", .k = 3})), ==, 2);
    done(liana_graph_status(graph));
    liana_graph_destroy(graph);
    liana__tiny_loop_close(&own);
}

/* Each call is one error in a graph of its own. */
static void refuse_call(const fixture *given, int which, liana_status status, const char *text)
{
    const fixture own = *given;
    liana_graph *graph, *other;
    done(liana_graph_create(own.context, &graph));
    done(liana_graph_create(own.context, &other));
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(2, 3)), result = {0};
    liana_tensor label = liana_graph_input(graph, "label", LIANA_S32, liana_shape_of(2));
    liana_tensor stranger = liana_graph_input(other, "y", LIANA_S32, liana_shape_of(2));
    switch (which) {
    case 0: result = liana_loss_of(x, label, &(liana_loss){.name = "hubber"}); break;
    case 1: result = liana_loss_of(x, label, &(liana_loss){.name = "huber"}); break;
    case 2: result = liana_loss_of(x, x, NULL); break;
    case 3: result = liana_loss_of(x, label, &(liana_loss){.name = "mse", .from_logits = true}); break;
    case 4: result = liana_loss_of(x, stranger, NULL); break;
    case 5: result = liana_loss_of(label, label, NULL); break;
    case 6: result = liana_metric_of(x, label, &(liana_metric){.name = "auc"}); break;
    case 7: result = liana_metric_of(x, label, &(liana_metric){.name = "accuracyy"}); break;
    default: result = liana_metric_of(x, (liana_tensor){0}, NULL); break;
    }
    assert_int_equal(result.id, 0);
    refused(liana_graph_status(graph), status, text);
    assert_says(liana_context_message(own.context), "test_step.c");
    liana_graph_destroy(other);
    liana_graph_destroy(graph);
}

static void test_calls_that_are_refused(void **state)
{
    (void)state;
    fixture own = liana__tiny_loop_open(1, liana__tiny_model);
    refuse_call(&own, 0, LIANA_INVALID_CONFIG, "did you mean 'huber'");
    refuse_call(&own, 1, LIANA_INVALID_ARGUMENT, "the target is s32[2], expected f32[2, 3]");
    refuse_call(&own, 2, LIANA_INVALID_ARGUMENT, "the target is f32[2, 3], expected s32[2]");
    refuse_call(&own, 3, LIANA_INVALID_CONFIG, "from_logits");
    refuse_call(&own, 4, LIANA_INVALID_ARGUMENT, "no tensor of the graph");
    refuse_call(&own, 5, LIANA_INVALID_ARGUMENT, "expected [batch, ..., n] of floats");
    refuse_call(&own, 6, LIANA_INVALID_CONFIG, "'auc' is not a mean");
    refuse_call(&own, 7, LIANA_INVALID_CONFIG, "did you mean 'accuracy'");
    refuse_call(&own, 8, LIANA_INVALID_ARGUMENT, "no tensor of the graph");
    assert_int_equal(liana_loss_of(((liana_tensor){0}), ((liana_tensor){0}), NULL).id, 0);
    assert_int_equal(liana_metric_of(((liana_tensor){0}), ((liana_tensor){0}), NULL).id, 0);
    liana__tiny_loop_close(&own);
}

/* ---- what steps refuse ---- */

typedef struct wrong_shard {
    int which;
} wrong_shard;

static void build_wrong(liana_shard *shard, void *user)
{
    const wrong_shard *own = user;
    liana_tensor x = liana_shard_input(shard, own->which == 0 ? "xx" : "x");
    liana_tensor w = liana_graph_variable(shard->graph, "w", LIANA_F32, LIANA_SCALAR);
    liana_tensor each = liana_op_multiply(w, x);
    liana_tensor sum = liana_shard_sum(shard, "sum", own->which == 1 ? w : each);
    if (own->which == 2) liana_shard_sum(shard, "sum", each);
    if (own->which == 3) liana_shard_gradients(shard, sum, &x, 1);
    if (own->which != 8) liana_shard_gradients(shard, sum, &w, 1);
    if (own->which == 4) liana_shard_gradients(shard, sum, &w, 1);
    if (own->which == 5) liana_graph_input(shard->graph, "own", LIANA_F32, LIANA_SCALAR);
    if (own->which == 6 && shard->size != 4) liana_shard_sum(shard, "other", each);
    if (own->which == 7) liana_shard_sum(shard, "", each);
}

static void update_wrong(liana_update *update, void *user)
{
    const wrong_shard *own = user;
    if (own->which == 10) liana_update_scalar(update, "ratte");
    if (own->which == 11) liana_update_sum(update, "summ");
    if (own->which == 12) liana_graph_input(update->graph, "own", LIANA_F32, LIANA_SCALAR);
    if (own->which == 9) return;
    for (size_t i = 0; i < update->num_variables; i++) liana_graph_assign(update->variables[i], update->gradients[i]);
}

static const liana_component numbers[] = {{.name = "x", .dtype = LIANA_F32}};

static void refuse_step(const fixture *given, int which, const char *text)
{
    const fixture own = *given;
    wrong_shard wrong = {which};
    liana_step *step = (liana_step *)&wrong;
    liana_step_options options = {.shard = build_wrong,
                                  .update = update_wrong,
                                  .user = &wrong,
                                  .components = numbers,
                                  .num_components = 1,
                                  .scalars = {"rate"},
                                  .batch_size = 10,
                                  .microbatch = 4};
    liana_status status = liana_step_create(own.context, &options, &step);
    refused(status, which == 0 || which == 10 || which == 11 ? LIANA_NOT_FOUND : LIANA_INVALID_ARGUMENT, text);
    assert_null(step);
}

static void test_functions_that_are_refused(void **state)
{
    (void)state;
    fixture own = liana__tiny_loop_open(1, liana__tiny_model);
    refuse_step(&own, 0, "no component 'xx'; did you mean 'x'");
    refuse_step(&own, 1, "'sum' is of f32[], expected floats [4, ...]");
    refuse_step(&own, 2, "a sum 'sum' already");
    refuse_step(&own, 3, "with respect to variables");
    refuse_step(&own, 4, "'w' two gradients");
    refuse_step(&own, 5, "an input 'own' of its own");
    refuse_step(&own, 6, "a shard of 3 examples declares other sums");
    refuse_step(&own, 7, "needs a name");
    refuse_step(&own, 8, "assigns to no variable");
    refuse_step(&own, 9, "assigns to no variable");
    refuse_step(&own, 10, "no scalar 'ratte' in the options; did you mean 'rate'");
    refuse_step(&own, 11, "no sum 'summ'; did you mean 'sum'");
    refuse_step(&own, 12, "an input 'own' of its own");
    liana__tiny_loop_close(&own);
}

static void refuse_options(const fixture *given, liana_step_options options, const char *text)
{
    const fixture own = *given;
    liana_step *step;
    refused(liana_step_create(own.context, &options, &step), LIANA_INVALID_ARGUMENT, text);
}

static void test_options_that_are_refused(void **state)
{
    (void)state;
    fixture own = liana__tiny_loop_open(1, liana__tiny_model);
    liana_step_options options = usual(&own), right = options;
    liana_step *step;
    options.shard = NULL;
    refuse_options(&own, options, "no shard function");
    options = right;
    options.num_components = 0;
    refuse_options(&own, options, "0 components, expected 1 to 16");
    options = right;
    options.batch_size = -1;
    refuse_options(&own, options, "batch_size is -1");
    liana_component given[2] = {liana__loop_components[0], liana__loop_components[1]};
    options = right;
    options.components = given;
    given[1].name = "positions";
    refuse_options(&own, options, "that steps use themselves");
    given[1].name = "image";
    refuse_options(&own, options, "stands there twice");
    given[1] = (liana_component){.name = "text", .dtype = LIANA_STRING};
    refuse_options(&own, options, "no dtype of numbers");
    given[1] = (liana_component){.name = "open", .dtype = LIANA_F32, .shape = {1, {-1}}};
    refuse_options(&own, options, "no shape of an example");
    options = right;
    options.device = "cpu";
    options.variables = own.variables;
    refuse_options(&own, options, "variables besides its device");
    options = right;
    options.optimizer = "Adam";
    refuse_options(&own, options, "an update function and an optimizer");
    refused(liana_step_create(own.context, NULL, &step), LIANA_INVALID_ARGUMENT, "'options'");
    assert_int_equal(liana_step_create(NULL, NULL, NULL), LIANA_INVALID_ARGUMENT);
    liana_step_destroy(NULL);
    liana__tiny_loop_close(&own);
}

/* Without the scalar. */
static liana_status give_batch(void *user, int64_t number, liana_step_input *batch)
{
    (void)number;
    *batch = liana__loop_batch(user, 0, BATCH, 0);
    batch->scalars[0] = (liana_setting){0};
    return LIANA_OK;
}

static void test_batches_that_are_refused(void **state)
{
    (void)state;
    fixture own = liana__tiny_loop_open(1, liana__tiny_model);
    liana_step_options options = usual(&own);
    liana_step *step;
    options.variables = own.variables;
    done(liana_step_create(own.context, &options, &step));
    liana_step_input batch = liana__loop_batch(&own, 0, BATCH, 0.1), right = batch;
    refused(liana_step_run(step, &batch, NULL), LIANA_INVALID_ARGUMENT, "tiny: the variables 'conv2d/kernel'");
    done(liana_model_to_variables(own.model, own.variables));
    done(liana_variables_initialize(own.variables, NULL));
    refused(liana_step_run(step, NULL, NULL), LIANA_INVALID_ARGUMENT, "'input' is NULL");
    assert_int_equal(liana_step_run(NULL, &batch, NULL), LIANA_INVALID_ARGUMENT);
    liana_step_counts counts;
    liana_step_input many = {.num_steps = 2, .counts = &counts};
    refused(liana_step_run(step, &many, NULL), LIANA_INVALID_ARGUMENT, "no function for batches (give_batch)");
    many = (liana_step_input){.give_batch = give_batch, .num_steps = -1, .user = &own, .counts = &counts};
    refused(liana_step_run(step, &many, NULL), LIANA_INVALID_ARGUMENT, "num_steps is negative");
    many.num_steps = 2;
    refused(liana_step_run(step, &many, NULL), LIANA_INVALID_ARGUMENT, "no scalar 'rate'");
    assert_int_equal(counts.num_done, 0);
    many.arrays[0] = batch.arrays[0];
    refused(liana_step_run(step, &many, NULL), LIANA_INVALID_ARGUMENT, "more than one of a batch, a dataset");
    batch.arrays[1].name = NULL;
    refused(liana_step_run(step, &batch, NULL), LIANA_INVALID_ARGUMENT, "no array 'label'");
    batch.arrays[1].name = "labell";
    refused(liana_step_run(step, &batch, NULL), LIANA_INVALID_ARGUMENT, "did you mean 'label'");
    batch.arrays[1].name = "image";
    refused(liana_step_run(step, &batch, NULL), LIANA_INVALID_ARGUMENT, "'image' is given twice");
    batch = right;
    batch.arrays[1].shape.dims[0] = BATCH - 1;
    refused(liana_step_run(step, &batch, NULL), LIANA_INVALID_ARGUMENT, "expected s32[32]");
    batch = liana__loop_batch(&own, 0, BATCH + 1, 0.1);
    refused(liana_step_run(step, &batch, NULL), LIANA_INVALID_ARGUMENT, "expected u8[32, 12, 12, 1] or fewer");
    batch = right;
    batch.arrays[0].data = NULL;
    refused(liana_step_run(step, &batch, NULL), LIANA_INVALID_ARGUMENT, "at no address");
    batch = right;
    batch.scalars[0].name = NULL;
    refused(liana_step_run(step, &batch, NULL), LIANA_INVALID_ARGUMENT, "no scalar 'rate'");
    batch.scalars[0].name = "ratte";
    refused(liana_step_run(step, &batch, NULL), LIANA_INVALID_ARGUMENT, "did you mean 'rate'");
    batch = right;
    batch.scalars[1] = batch.scalars[0];
    refused(liana_step_run(step, &batch, NULL), LIANA_INVALID_ARGUMENT, "given twice");
    /* Nothing has happened so far. */
    liana_model *untouched = liana__tiny_model(own.context);
    done(liana_model_from_variables(own.model, own.variables));
    assert_true(liana__same_weights(own.model, untouched));
    assert_int_equal(liana_step_info(step).position, 0);
    liana_step_set_position(step, 7);
    done(liana_step_run(step, &right, NULL));
    assert_int_equal(liana_step_info(step).position, 7 + BATCH);
    liana_model_destroy(untouched);
    liana_step_destroy(step);
    liana__tiny_loop_close(&own);
}

static void test_models_and_variables(void **state)
{
    (void)state;
    fixture own = liana__tiny_loop_open(1, liana__tiny_model);
    const float wrong[] = {1, 2};
    refused(liana_model_from_variables(own.model, own.variables), LIANA_NOT_FOUND, "conv2d/kernel");
    done(liana_variables_add(own.variables, "conv2d/kernel", LIANA_F32, liana_shape_of(2), wrong));
    refused(liana_model_from_variables(own.model, own.variables), LIANA_INVALID_ARGUMENT, "expected f32[3, 3, 1, 8]");
    refused(liana_model_to_variables(own.model, own.variables), LIANA_INVALID_ARGUMENT, "is there already as f32[2]");
    refused(liana_model_to_variables(own.model, NULL), LIANA_INVALID_ARGUMENT, "'variables' is NULL");
    refused(liana_model_from_variables(NULL, own.variables), LIANA_INVALID_ARGUMENT, "'model' is NULL");
    assert_int_equal(liana_model_to_variables(NULL, NULL), LIANA_INVALID_ARGUMENT);
    liana_tensor none[MOST_WEIGHTS];
    assert_int_equal(liana_model_variables(NULL, NULL, none), 0);
    assert_int_equal(liana_model_variables(own.model, NULL, none), 0);
    liana__tiny_loop_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adam_is_that_of_fit),
        cmocka_unit_test(test_momentum_is_that_of_fit),
        cmocka_unit_test(test_mixed_precision_is_that_of_fit),
        cmocka_unit_test(test_replicas_give_the_bits_of_fit),
        cmocka_unit_test(test_another_seed_gives_other_weights),
        cmocka_unit_test(test_missing_rows_count_for_nothing),
        cmocka_unit_test(test_a_step_may_only_measure),
        cmocka_unit_test(test_a_rule_of_ones_own),
        cmocka_unit_test(test_losses_and_metrics_are_functions),
        cmocka_unit_test(test_calls_that_are_refused),
        cmocka_unit_test(test_functions_that_are_refused),
        cmocka_unit_test(test_options_that_are_refused),
        cmocka_unit_test(test_batches_that_are_refused),
        cmocka_unit_test(test_models_and_variables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
