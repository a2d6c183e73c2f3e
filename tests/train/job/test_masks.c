/* Outputs that have a mask: padding counts neither in losses nor in metrics, and a loss divides by the elements of the
 * whole update that count. tests/train/job/test_tasks.c compares whole trainings with Keras. */
#include "distribute/replicas.h"
#include "harness/objective.h"
#include "harness/tiny_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 21, STEPS = 5, IDS = 6, WIDTH = 3, VALUES = 2 };

/* ---- sequences and models ---- */

static int32_t words[COUNT * STEPS];
static float sizes[COUNT * STEPS * VALUES], goods[COUNT], shares[COUNT];
static int32_t kinds[COUNT * STEPS];

/* -1 to 1 */
static double draw(uint32_t salt, uint32_t index)
{
    uint32_t mixed = (index + 1) * 2654435761u ^ (salt + 1) * 2246822519u;
    mixed ^= mixed >> 15;
    mixed *= 3266489917u;
    return (double)(mixed >> 8) / (1 << 23) - 1;
}

/* Sequences of 0 to STEPS ids; padding has targets as well. */
static void fill_data(void)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t length = i % (STEPS + 1);
        for (uint32_t k = i * STEPS; k < (i + 1) * STEPS; k++) {
            words[k] = k - i * STEPS < length ? 1 + (int32_t)((draw(1, k) + 1) / 2 * (IDS - 1)) : 0;
            kinds[k] = (int32_t)((draw(2, k) + 1) / 2 * VALUES);
        }
        goods[i] = (float)draw(3, i);
        shares[i] = (float)(1.5 + draw(4, i));
    }
    for (uint32_t k = 0; k < COUNT * STEPS * VALUES; k++) sizes[k] = (float)draw(5, k);
}

static void set_weights(liana_model *model)
{
    for (size_t i = 0; liana_model_weight(model, i).name; i++) {
        liana_array array;
        assert_int_equal(liana_model_get_weights(model, liana_model_weight(model, i).name, &array), LIANA_OK);
        float values[64];
        int64_t count = liana_shape_size(&array.shape);
        assert_compare(count, <=, 64);
        for (uint32_t k = 0; k < count; k++) values[k] = (float)draw(10 + (uint32_t)i, k);
        array.data = values;
        assert_int_equal(liana_model_set_weights(model, &array, 1), LIANA_OK);
    }
}

/* Numbers for each step, and one for the whole sequence: two losses with different divisors. */
static liana_model *make_both(liana_context *context)
{
    liana_model *model;
    assert_int_equal(liana_model_create(context, "both", &model), LIANA_OK);
    liana_input(model, .name = "words", .shape = LIANA_INTS(STEPS), .dtype = LIANA_S32);
    liana_layer rows = liana_embedding(model, .name = "rows", .input_dim = IDS, .output_dim = WIDTH, .mask_zero = true);
    liana_layer size = liana_dense(model, .name = "size", .units = VALUES);
    liana_global_average_pooling1d(model, .name = "mean", .input = rows);
    liana_layer good = liana_dense(model, .name = "good", .units = 1);
    liana_model_outputs(model, size, good);
    assert_int_equal(liana_model_status(model), LIANA_OK);
    set_weights(model);
    return model;
}

/* A class for each step. */
static liana_model *make_kinds(liana_context *context)
{
    liana_model *model;
    assert_int_equal(liana_model_create(context, "kinds", &model), LIANA_OK);
    liana_input(model, .name = "words", .shape = LIANA_INTS(STEPS), .dtype = LIANA_S32);
    liana_embedding(model, .name = "rows", .input_dim = IDS, .output_dim = WIDTH, .mask_zero = true);
    liana_dense(model, .name = "kind", .units = VALUES, .activation = "softmax");
    assert_int_equal(liana_model_status(model), LIANA_OK);
    set_weights(model);
    return model;
}

static const double SIZE_WEIGHT = 0.5, GOOD_WEIGHT = 2;

static liana_fit_options both_options(void)
{
    return (liana_fit_options){
        .losses = {{.output = "size", .name = "mse", .weight = SIZE_WEIGHT},
                   {.output = "good", .name = "mse", .weight = GOOD_WEIGHT}},
        .output_metrics = {{.output = "size", .name = "mae"}, {.output = "good", .name = "mae"}},
        .example_weight = "share",
        .optimizer = "{name: SGD, learning_rate: 1}",
        .batch_size = COUNT,
        .microbatch = 4,
    };
}

static void both_arrays(int64_t first, int64_t count, liana_array arrays[4])
{
    arrays[0] = (liana_array){"words", LIANA_S32, liana_shape_of(count, STEPS), words + first * STEPS};
    arrays[1] = (liana_array){"size", LIANA_F32, liana_shape_of(count, STEPS, VALUES), sizes + first * STEPS * VALUES};
    arrays[2] = (liana_array){"good", LIANA_F32, liana_shape_of(count, 1), goods + first};
    arrays[3] = (liana_array){"share", LIANA_F32, liana_shape_of(count), shares + first};
}

/* ---- the same in double ---- */

/* The model's weights, or their gradients. */
typedef struct parameters {
    double rows[IDS][WIDTH];
    double size[WIDTH][VALUES], size_bias[VALUES];
    double good[WIDTH], good_bias;
} parameters;

static void read_array(liana_model *model, const char *name, double *values, size_t count)
{
    liana_array array;
    assert_int_equal(liana_model_get_weights(model, name, &array), LIANA_OK);
    assert_int_equal(liana_shape_size(&array.shape), count);
    for (size_t i = 0; i < count; i++) values[i] = (double)((const float *)array.data)[i];
}

static parameters read_parameters(liana_model *model)
{
    parameters own;
    read_array(model, "rows/embeddings", &own.rows[0][0], IDS * WIDTH);
    read_array(model, "size/kernel", &own.size[0][0], WIDTH * VALUES);
    read_array(model, "size/bias", own.size_bias, VALUES);
    read_array(model, "good/kernel", own.good, WIDTH);
    read_array(model, "good/bias", &own.good_bias, 1);
    return own;
}

/* Adds one step's part of the masked loss and its gradients. */
static double add_step(const parameters *p, parameters *g, int at, double factor)
{
    double loss = 0;
    for (int v = 0; v < VALUES; v++) {
        double found = p->size_bias[v];
        for (int w = 0; w < WIDTH; w++) found += p->rows[words[at]][w] * p->size[w][v];
        double wrong = found - (double)sizes[at * VALUES + v], slope = factor * 2 * wrong / VALUES;
        loss += wrong * wrong / VALUES;
        g->size_bias[v] += slope;
        for (int w = 0; w < WIDTH; w++) {
            g->size[w][v] += slope * p->rows[words[at]][w];
            g->rows[words[at]][w] += slope * p->size[w][v];
        }
    }
    return loss;
}

static double add_whole(const parameters *p, parameters *g, int example, double factor)
{
    double mean[WIDTH] = {0}, found = p->good_bias;
    int length = 0;
    for (int k = example * STEPS; k < (example + 1) * STEPS; k++) length += words[k] != 0;
    for (int k = example * STEPS; k < example * STEPS + length; k++) {
        for (int w = 0; w < WIDTH; w++) mean[w] += p->rows[words[k]][w] / length;
    }
    for (int w = 0; w < WIDTH; w++) found += mean[w] * p->good[w];
    double wrong = found - (double)goods[example], slope = factor * 2 * wrong;
    g->good_bias += slope;
    for (int w = 0; w < WIDTH; w++) {
        g->good[w] += slope * mean[w];
        for (int k = example * STEPS; k < example * STEPS + length; k++) {
            g->rows[words[k]][w] += slope * p->good[w] / length;
        }
    }
    return wrong * wrong;
}

/* The loss of the first `count` examples; `g` receives its gradients. */
static double both_loss(const parameters *p, parameters *g, int count)
{
    int valid = 0;
    double steps = 0, whole = 0;
    *g = (parameters){0};
    for (int k = 0; k < count * STEPS; k++) valid += words[k] != 0;
    for (int k = 0; k < count * STEPS; k++) {
        double share = (double)shares[k / STEPS];
        if (words[k]) steps += share * add_step(p, g, k, SIZE_WEIGHT * share / valid);
    }
    for (int i = 0; i < count; i++) {
        whole += (double)shares[i] * add_whole(p, g, i, GOOD_WEIGHT * (double)shares[i] / count);
    }
    return SIZE_WEIGHT * steps / valid + GOOD_WEIGHT * whole / count;
}

/* ---- tests ---- */

static liana_context *make_context(int threads)
{
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = threads}, &context), LIANA_OK);
    return context;
}

/* One update with rate 1 moves the weights by the gradients; whole and partial updates, one shard and several. */
static void test_gradients_by_a_second_formula(void **state)
{
    (void)state;
    liana_context *context = make_context(2);
    for (int trial = 0; trial < 4; trial++) {
        const int count = trial % 2 ? COUNT : COUNT - 5;
        liana_model *model = make_both(context);
        liana_fit_options options = both_options();
        liana_array arrays[4];
        liana_results results;
        parameters before = read_parameters(model), gradients, after;
        double loss = both_loss(&before, &gradients, count);
        options.microbatch = trial / 2 ? 4 : COUNT;
        both_arrays(0, count, arrays);
        liana__tiny_done(context, liana_train_on_batch(model, &options, arrays, 4, &results), __FILE__, __LINE__);
        assert_near(results.loss, loss, 1e-6 * loss);
        after = read_parameters(model);
        for (size_t i = 0; i < sizeof before / sizeof(double); i++) {
            double moved = ((double *)&before)[i] - ((double *)&after)[i];
            assert_near(moved, ((double *)&gradients)[i], 2e-6);
        }
        liana_model_destroy(model);
    }
    liana_context_destroy(context);
}

/* Measures and predicts; metrics count as the second formulas here do. */
static void test_metrics_leave_padding_out(void **state)
{
    (void)state;
    liana_context *context = make_context(2);
    liana_model *model = make_kinds(context);
    const liana_array arrays[] = {{"words", LIANA_S32, liana_shape_of(COUNT, STEPS), words},
                                  {"kind", LIANA_S32, liana_shape_of(COUNT, STEPS), kinds}};
    liana_dataset *data = liana_dataset_from_tensor_slices(context, arrays, 2);
    float predicted[COUNT * STEPS * VALUES];
    liana__tiny_done(context, liana_predict_on_batch(model, arrays, 1, predicted), __FILE__, __LINE__);
    double right = 0, valid = 0, loss = 0, counts[VALUES][3] = {{0}};
    for (int k = 0; k < COUNT * STEPS; k++) {
        if (!words[k]) continue;
        int best = predicted[2 * k + 1] > predicted[2 * k], truth = kinds[k];
        valid++;
        right += best == truth;
        loss -= log((double)predicted[2 * k + truth]);
        counts[truth][0] += best == truth;
        counts[best][1]++;
        counts[truth][2]++;
    }
    double f1 = 0;
    for (int i = 0; i < VALUES; i++) f1 += 2 * counts[i][0] / (counts[i][1] + counts[i][2]) / VALUES;
    for (int64_t size = 1; size <= COUNT; size += 5) {
        liana_evaluate_options options = {.batch_size = size,
                                          .loss = "sparse_categorical_crossentropy",
                                          .metrics = {"accuracy", "class_f1_score"}};
        liana_results results;
        liana__tiny_done(context, liana_evaluate(model, data, &options, &results), __FILE__, __LINE__);
        assert_near(results.loss, loss / valid, 1e-5);
        assert_near(results.metrics[0], right / valid, 1e-12);
        assert_near(results.metrics[1], f1, 1e-12);
    }
    liana_dataset_close(data);
    liana_model_destroy(model);
    liana_context_destroy(context);
}

/* An update of padding alone has no masked loss; its other loss goes on. */
static void test_nothing_but_padding(void **state)
{
    (void)state;
    liana_context *context = make_context(1);
    liana_model *model = make_both(context);
    liana_fit_options options = both_options();
    static const int32_t padding[2 * STEPS];
    liana_array arrays[4];
    liana_results results;
    parameters before = read_parameters(model), after;
    both_arrays(0, 2, arrays);
    arrays[0].data = padding;
    liana__tiny_done(context, liana_train_on_batch(model, &options, arrays, 4, &results), __FILE__, __LINE__);
    after = read_parameters(model);
    assert_true(isfinite(results.loss));
    assert_string_equal(results.metric_names[0], "size_loss");
    assert_compare(results.metrics[0], ==, 0);
    assert_compare(results.metrics[2], ==, 0);
    assert_memory_equal(before.size, after.size, sizeof before.size + sizeof before.size_bias);
    assert_memory_equal(before.rows, after.rows, sizeof before.rows);
    assert_compare(before.good_bias, !=, after.good_bias);
    liana_model_destroy(model);
    liana_context_destroy(context);
}

/* ---- the same bits ---- */

static const liana__strategy several = {
    .name = "several",
    .create = liana__replicas_create,
    .functions = &liana__replicas_functions,
};

/* Three updates on `num_devices` devices; the last one has gaps where examples are missing. */
static parameters train_on(int threads, const char *device, size_t num_devices)
{
    liana_context *context = make_context(threads);
    liana_model *model = make_both(context);
    liana__device *devices[3];
    liana__variables variables;
    liana__trainer *trainer;
    liana__arena arena = {0};
    liana__error error = {0};
    const double speeds[] = {1, 2, 1};
    const liana_optimizer_type *sgd = &liana__optimizer_SGD;
    for (size_t i = 0; i < num_devices; i++) {
        assert_ok(liana__device_open_with(context, device, threads, &devices[i], &error), &error);
    }
    liana__variables_init(&variables, devices[0]);
    void *optimizer = liana__arena_allocate(&arena, sgd->part.options.size);
    assert_ok(liana__fields_default(&sgd->part.options, &arena, optimizer, &error), &error);
    const liana__trainer_options options = {.model = model,
                                            .objective = liana__test_objective_of(model, "{size: mse, good: mse}",
                                                                                  "{size: mae}"),
                                            .optimizer = sgd,
                                            .optimizer_options = optimizer,
                                            .batch_size = COUNT,
                                            .microbatch = 3,
                                            .weighted = true,
                                            .strategy = num_devices > 1 ? &several : NULL,
                                            .more_devices = devices + 1,
                                            .num_more_devices = num_devices - 1,
                                            .speeds = speeds};
    assert_ok(liana__trainer_create(devices[0], &options, &variables, &trainer, &error), &error);
    for (size_t i = 0; i < variables.count && i < model->num_weights; i++) {
        assert_ok(liana__variable_write(&variables.items[i], model->values[i], &error), &error);
    }
    uint64_t positions[COUNT];
    for (uint64_t i = 0; i < COUNT; i++) positions[i] = i < 10 ? i : i + 4;
    for (int update = 1; update <= 3; update++) {
        const float *sums;
        liana__batch batch =
            liana__test_batch(trainer, update == 2 ? 7 : COUNT - 4 * (update == 3), words, sizes, positions);
        const liana__objective *objective = liana__trainer_objective(trainer);
        liana__batch_add(&batch, liana__test_name(liana__target_component(objective, 1)), LIANA_F32, &LIANA_SCALAR,
                         goods);
        liana__batch_add(&batch, LIANA__WEIGHTS, LIANA_F32, &LIANA_SCALAR, shares);
        batch.num_positions = update == 3 ? COUNT : 0;
        assert_ok(liana__trainer_step(trainer, &batch, 0.1, update, &sums, &error), &error);
    }
    for (size_t i = 0; i < model->num_weights; i++) {
        liana_array array;
        assert_int_equal(liana_model_get_weights(model, model->weights[i].name, &array), LIANA_OK);
        float values[64];
        assert_ok(liana__variable_read(&variables.items[i], values, &error), &error);
        array.data = values;
        assert_int_equal(liana_model_set_weights(model, &array, 1), LIANA_OK);
    }
    parameters found = read_parameters(model);
    liana__trainer_destroy(trainer);
    liana__variables_free(&variables);
    for (size_t i = 0; i < num_devices; i++) liana__device_close(devices[i]);
    liana_model_destroy(model);
    liana__arena_free(&arena);
    liana_context_destroy(context);
    return found;
}

static void test_any_threads_and_devices(void **state)
{
    (void)state;
    parameters one = train_on(1, "cpu", 1);
    const int others[][2] = {{2, 1}, {5, 1}, {1, 2}, {2, 3}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        parameters other = train_on(others[i][0], "cpu", (size_t)others[i][1]);
        assert_memory_equal(&one, &other, sizeof one);
    }
    parameters reference = train_on(1, "reference", 1);
    for (size_t i = 0; i < sizeof one / sizeof(double); i++) {
        assert_near(((double *)&one)[i], ((double *)&reference)[i], 1e-6);
    }
}

/* The same by name: two replicas on one machine. */
static void test_mirrored(void **state)
{
    (void)state;
    liana_context *context = make_context(2);
    parameters found[2];
    for (int i = 0; i < 2; i++) {
        liana_model *model = make_both(context);
        liana_fit_options options = both_options();
        liana_array arrays[4];
        both_arrays(0, COUNT, arrays);
        liana_dataset *data = liana_dataset_from_tensor_slices(context, arrays, 4);
        options.training = data;
        options.batch_size = 8;
        options.microbatch = 3;
        options.epochs = 2;
        options.optimizer = "{name: Adam, learning_rate: 0.01}";
        if (i) options.strategy = (liana_strategy){.name = "mirrored", .replicas = 2};
        liana__tiny_done(context, liana_fit(model, &options), __FILE__, __LINE__);
        found[i] = read_parameters(model);
        liana_dataset_close(data);
        liana_model_destroy(model);
    }
    assert_memory_equal(&found[0], &found[1], sizeof found[0]);
    liana_context_destroy(context);
}

/* ---- a step of one's own ---- */

static const liana_component step_components[] = {{.name = "words", .dtype = LIANA_S32, .shape = {1, {STEPS}}},
                                                  {.name = "kind", .dtype = LIANA_S32, .shape = {1, {STEPS}}}};

/* The shard adds up the losses of steps that are there, and counts them; the update divides. */
static void build_shard(liana_shard *shard, void *user)
{
    liana_tensor input = liana_shard_input(shard, "words"), kind = liana_shard_input(shard, "kind"), output,
                 variables[8];
    liana_call_effects effects;
    liana_model_call(user, &input, 1, &shard->mode, &output, &effects);
    liana_tensor counts = liana_op_cast(effects.masks[0], LIANA_F32);
    liana_tensor each = liana_op_multiply(liana_loss_of(output, kind, NULL), counts);
    liana_shard_sum(shard, "steps", counts);
    liana_shard_gradients(shard, liana_shard_sum(shard, "loss", each), variables,
                          liana_model_variables(user, shard->graph, variables));
}

static void build_update(liana_update *update, void *user)
{
    (void)user;
    liana_tensor means[8];
    for (size_t i = 0; i < update->num_variables; i++) {
        means[i] = liana_op_divide(update->gradient_sums[i], liana_update_sum(update, "steps"));
    }
    liana_apply_gradients(update->variables, means, update->num_variables,
                          &(liana_optimizer_options){.optimizer = "{name: SGD}",
                                                     .rate = liana_graph_scalar(update->graph, LIANA_F32, 1)});
}

static void test_a_step_of_ones_own(void **state)
{
    (void)state;
    liana_context *context = make_context(2);
    liana_model *ours = make_kinds(context), *own = make_kinds(context);
    const liana_array arrays[] = {{"words", LIANA_S32, liana_shape_of(COUNT, STEPS), words},
                                  {"kind", LIANA_S32, liana_shape_of(COUNT, STEPS), kinds}};
    liana_fit_options options = {.optimizer = "{name: SGD, learning_rate: 1}", .batch_size = COUNT, .microbatch = 4};
    liana_results results;
    liana_step_results sums;
    liana_step *step;
    const liana_step_options asked = {.shard = build_shard,
                                      .update = build_update,
                                      .user = own,
                                      .components = step_components,
                                      .num_components = 2,
                                      .batch_size = COUNT,
                                      .microbatch = 4};
    liana__tiny_done(context, liana_step_create(context, &asked, &step), __FILE__, __LINE__);
    liana_variables *variables = liana_step_variables(step);
    liana__tiny_done(context, liana_model_to_variables(own, variables), __FILE__, __LINE__);
    liana__tiny_done(context, liana_variables_initialize(variables, NULL), __FILE__, __LINE__);
    liana_step_input batch = {.arrays = {arrays[0], arrays[1]}};
    for (int update = 0; update < 3; update++) {
        liana__tiny_done(context, liana_train_on_batch(ours, &options, arrays, 2, &results), __FILE__, __LINE__);
        liana__tiny_done(context, liana_step_run(step, &batch, &sums), __FILE__, __LINE__);
        assert_near(results.loss, sums.sums[1] / sums.sums[0], 1e-6);
    }
    liana__tiny_done(context, liana_model_from_variables(own, variables), __FILE__, __LINE__);
    for (size_t i = 0; liana_model_weight(ours, i).name; i++) {
        double a[64], b[64];
        liana_array array;
        assert_int_equal(liana_model_get_weights(ours, liana_model_weight(ours, i).name, &array), LIANA_OK);
        size_t count = (size_t)liana_shape_size(&array.shape);
        read_array(ours, liana_model_weight(ours, i).name, a, count);
        read_array(own, liana_model_weight(own, i).name, b, count);
        for (size_t k = 0; k < count; k++) assert_near(a[k], b[k], 1e-5);
    }
    liana_step_destroy(step);
    liana_model_destroy(ours);
    liana_model_destroy(own);
    liana_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients_by_a_second_formula),
        cmocka_unit_test(test_metrics_leave_padding_out),
        cmocka_unit_test(test_nothing_but_padding),
        cmocka_unit_test(test_any_threads_and_devices),
        cmocka_unit_test(test_mirrored),
        cmocka_unit_test(test_a_step_of_ones_own),
    };
    fill_data();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
