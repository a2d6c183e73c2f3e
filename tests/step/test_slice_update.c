/* Updates in any number of slices give the same bits, for the library's optimizers and for some that need sums or whole
 * variables, and the numbers of a second formula in double. */
#include "harness/array_update.h"
#include "harness/graph_run.h"
#include "harness/sum_optimizers.h"

#include <liana/layers.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WEIGHTS = LIANA__ARRAY_MAX_WEIGHTS, MAX_SLICES = 64, NUM_UPDATES = 3 };
static const float COUNT = 48;
static const double RATE = 0.02;

static liana_context *context;
static liana__device *devices[2];

static int set_up(void **state)
{
    (void)state;
    return liana__test_open_devices(1, &context, &devices[0], &devices[1]);
}

static int tear_down(void **state)
{
    (void)state;
    return liana__test_close_devices(context, devices[0], devices[1]);
}

/* ---- models ---- */

/* Kernels of 4,608 and 12,800 elements, and averages with and without images. The last layer is frozen. */
static liana_model *build_model(void)
{
    liana_model *model;
    assert_int_equal(liana_model_create(context, "small", &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(5, 5, 8));
    liana_conv2d(model, .filters = 64, .kernel_size = 3);
    liana_batch_normalization(model, .momentum = 0.9);
    liana_global_average_pooling2d(model);
    liana_dense(model, .units = 200);
    liana_batch_normalization(model, .momentum = 0.8, .scale = false);
    liana_dense(model, .units = 30);
    liana_dense(model, .units = 10, .trainable = false);
    assert_ok(liana__model_check(model, &context->error), &context->error);
    assert_compare(model->num_weights, <=, MAX_WEIGHTS);
    return model;
}

/* The same layers with regularisers and constraints: some by element, some of whole variables. */
static liana_model *build_ruled_model(void)
{
    liana_model *model;
    assert_int_equal(liana_model_create(context, "ruled", &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(5, 5, 8));
    liana_conv2d(model, .filters = 64, .kernel_size = 3, .kernel_regularizer = "l2(0.1)", .bias_regularizer = "l1",
                 .bias_constraint = "non_neg");
    liana_batch_normalization(model, .momentum = 0.9, .gamma_regularizer = "l2");
    liana_global_average_pooling2d(model);
    liana_dense(model, .units = 200, .kernel_regularizer = "l1_l2(0.01, 0.02)", .kernel_constraint = "non_neg");
    liana_batch_normalization(model, .momentum = 0.8, .scale = false);
    liana_dense(model, .units = 30, .kernel_regularizer = "orthogonal_regularizer(0.5)",
                .kernel_constraint = "max_norm(0.7)");
    liana_dense(model, .units = 200, .kernel_constraint = "unit_norm(axis=1)");
    liana_dense(model, .units = 10, .trainable = false, .kernel_regularizer = "l2");
    assert_ok(liana__model_check(model, &context->error), &context->error);
    assert_compare(model->num_weights, <=, MAX_WEIGHTS);
    return model;
}

static liana__array_update make_update_of(liana_model *model, const liana_optimizer_type *optimizer, const char *yaml)
{
    liana__array_update f = liana__array_update_create(model, optimizer, yaml);
    f.count = COUNT;
    f.learning_rate = RATE;
    return f;
}

static liana__array_update make_update(const liana_optimizer_type *optimizer, const char *yaml)
{
    return make_update_of(build_model(), optimizer, yaml);
}

/* ---- the second formula ---- */

/* Which of this test's optimizers do what. */
typedef struct formula {
    bool clips, trusts, centres, adam;
} formula;

static double norm_of(const double *values, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += values[i] * values[i];
    return sqrt(sum);
}

static void centre_by_hand(const liana_shape *shape, double *gradient)
{
    if (shape->rank < 2) return;
    int64_t rows = shape->dims[0], columns = liana_shape_size(shape) / rows;
    for (int64_t c = 0; c < columns; c++) {
        double mean = 0;
        for (int64_t r = 0; r < rows; r++) mean += gradient[r * columns + c] / (double)rows;
        for (int64_t r = 0; r < rows; r++) gradient[r * columns + c] -= mean;
    }
}

/* The gradients of the update, as the optimizer uses them. */
static void gradients_by_hand(const liana__array_update *f, const liana__update_arrays *n, const formula *what,
                              double *gradients[MAX_WEIGHTS])
{
    double square = 0;
    for (size_t i = 0; i < f->model->num_weights; i++) {
        gradients[i] = calloc((size_t)n->sizes[i], sizeof *gradients[i]);
        assert_non_null(gradients[i]);
        for (int64_t k = 0; k < n->sizes[i]; k++) gradients[i][k] = (double)n->sums[i][k] / COUNT;
        if (what->centres) centre_by_hand(&f->model->weights[i].shape, gradients[i]);
        if (liana__weight_trainable(f->model, i)) square += pow(norm_of(gradients[i], n->sizes[i]), 2);
    }
    assert_compare(sqrt(square), >, 2 * LIANA__TEST_CLIP);
    for (size_t i = 0; what->clips && i < f->model->num_weights; i++) {
        for (int64_t k = 0; k < n->sizes[i]; k++) gradients[i][k] *= LIANA__TEST_CLIP / sqrt(square);
    }
}

/* The step of a weight, to be subtracted; `change` is its gradient before. */
static void step_by_hand(const liana__update_arrays *n, size_t weight, const formula *what, int iteration,
                         double *change)
{
    int64_t count = n->sizes[weight];
    double rate = RATE, *values = calloc((size_t)count, sizeof *values);
    assert_non_null(values);
    for (int64_t k = 0; k < count; k++) {
        values[k] = n->values[weight][k];
        if (what->trusts) change[k] += LIANA__TEST_BETA * n->slots[weight][0][k] + LIANA__TEST_DECAY * values[k];
        if (!what->adam) continue;
        double m = 0.9 * n->slots[weight][0][k] + 0.1 * change[k];
        double v = 0.999 * n->slots[weight][1][k] + 0.001 * change[k] * change[k];
        change[k] = sqrt(1 - pow(0.999, iteration)) / (1 - pow(0.9, iteration)) * m / (sqrt(v) + 1e-7);
    }
    if (what->trusts) rate *= norm_of(values, count) / (norm_of(change, count) + 1e-6);
    for (int64_t k = 0; k < count; k++) change[k] *= rate;
    free(values);
}

static double average_by_hand(const liana__array_update *f, const liana__update_arrays *before, size_t weight,
                              int64_t k)
{
    const liana__average *average = &f->averages[weight];
    double statistic = (double)before->sums[weight][k] / COUNT, old = before->values[weight][k];
    if (average->about != LIANA__NO_WEIGHT) {
        double moved = (double)before->sums[average->about][k] / COUNT - (double)before->values[average->about][k];
        statistic -= moved * moved;
    }
    return average->momentum * old + (1 - average->momentum) * statistic;
}

/* One update, from the numbers before it to those after it. */
static void check_by_hand(const liana__array_update *f, const liana__update_arrays *before,
                          const liana__update_arrays *after, const formula *what, int iteration)
{
    double *changes[MAX_WEIGHTS];
    gradients_by_hand(f, before, what, changes);
    for (size_t i = 0; i < f->model->num_weights; i++) {
        const bool trains = liana__weight_trainable(f->model, i);
        if (trains) step_by_hand(before, i, what, iteration, changes[i]);
        for (int64_t k = 0; k < before->sizes[i]; k++) {
            double old = before->values[i][k], got = after->values[i][k];
            double expected = trains ? old - changes[i][k] : f->updated[i] ? average_by_hand(f, before, i, k) : old;
            if (fabs(got - expected) <= 2e-6 * (1 + fabs(expected))) continue;
            fail_msg("%s[%lld] is %.9g, expected %.9g", f->model->weights[i].name, (long long)k, got, expected);
        }
        free(changes[i]);
    }
}

/* ---- the tests ---- */

/* As a training begins. */
static void begin_slots(const liana__array_update *f, liana__update_arrays *n)
{
    for (size_t i = 0; i < f->model->num_weights; i++) {
        for (size_t slot = 0; slot < f->num_slots; slot++) {
            double begins_at = liana__rule_slot_begins_at(&f->rule, slot);
            for (int64_t k = 0; k < n->sizes[i]; k++) n->slots[i][slot][k] = (float)begins_at;
        }
    }
}

static void copy_numbers(const liana__array_update *f, liana__update_arrays *to, const liana__update_arrays *from)
{
    for (size_t i = 0; i < f->model->num_weights; i++) {
        size_t size = (size_t)from->sizes[i] * sizeof(float);
        memcpy(to->values[i], from->values[i], size);
        memcpy(to->sums[i], from->sums[i], size);
        for (int slot = 0; slot < LIANA_MAX_SLOTS; slot++) memcpy(to->slots[i][slot], from->slots[i][slot], size);
    }
}

static void assert_same_numbers(const liana__array_update *f, const liana__update_arrays *a,
                                const liana__update_arrays *b)
{
    for (size_t i = 0; i < f->model->num_weights; i++) {
        size_t size = (size_t)a->sizes[i] * sizeof(float);
        assert_memory_equal(a->values[i], b->values[i], size);
        for (size_t slot = 0; slot < f->num_slots; slot++) {
            assert_memory_equal(a->slots[i][slot], b->slots[i][slot], size);
        }
    }
}

/* The numbers after all updates, in slices that end at `ends`, or NULL for even ones. */
static liana__update_arrays run_updates(liana__array_update *f, liana__device *device, const liana__slice_end *ends,
                                        size_t num_slices, const formula *what)
{
    liana__slice_end even[MAX_SLICES + 1];
    liana__error error = {0};
    liana__update_arrays n = liana__update_arrays_create(f->model), before = liana__update_arrays_create(f->model);
    begin_slots(f, &n);
    if (!ends) {
        assert_ok(liana__slices_choose(f->items.items, f->items.num_items, num_slices, even, &error), &error);
    }
    for (int t = 1; t <= NUM_UPDATES; t++) {
        liana__update_arrays_draw(f, &n, (uint32_t)t);
        copy_numbers(f, &before, &n);
        liana__array_update_run(f, &n, device, ends ? ends : even, num_slices, t);
        if (what) check_by_hand(f, &before, &n, what, t);
    }
    liana__update_arrays_free(&before);
    return n;
}

static void check_slices(liana__array_update *f, const formula *what)
{
    static const size_t counts[] = {2, 3, 7, 33};
    liana__array_update_begin(f);
    for (int d = 0; d < 2; d++) {
        liana__update_arrays whole = run_updates(f, devices[d], NULL, 1, what);
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            liana__update_arrays cut = run_updates(f, devices[d], NULL, counts[i], NULL);
            assert_same_numbers(f, &cut, &whole);
            liana__update_arrays_free(&cut);
        }
        liana__update_arrays_free(&whole);
    }
    liana__array_update_free(f);
}

static void check_optimizer(const liana_optimizer_type *optimizer, const char *yaml, formula what, bool by_hand)
{
    liana__array_update f = make_update(optimizer, yaml);
    check_slices(&f, by_hand ? &what : NULL);
}

static void test_elements_only(void **state)
{
    (void)state;
    check_optimizer(&liana__optimizer_SGD, "{}", (formula){0}, true);
    check_optimizer(&liana__optimizer_SGD, "{momentum: 0.9, nesterov: true}", (formula){0}, false);
    check_optimizer(&liana__optimizer_Adam, "{}", (formula){.adam = true}, true);
}

static void test_every_optimizer_of_the_library(void **state)
{
    (void)state;
    for (const liana_part *const *part = liana__optimizer_kind.builtin; *part; part++) {
        /* test_keras_optimizers.c cuts those with others within. */
        const liana_optimizer_type *optimizer = (const liana_optimizer_type *)*part;
        if (liana__as_loss_scale(optimizer, optimizer) || liana__as_multi(optimizer, optimizer)) continue;
        check_optimizer(optimizer, "{}", (formula){0}, false);
    }
}

/* The common options of every optimizer, alone and together. */
static void test_options_of_every_optimizer(void **state)
{
    (void)state;
    static const char *const yamls[] = {
        "{weight_decay: 0.1, clipvalue: 0.5}",
        "{weight_decay: 0.1, exclude_from_weight_decay: [bias, gamma|beta], clipnorm: 0.5}",
        "{global_clipnorm: 0.25, use_ema: true, ema_momentum: 0.5, ema_overwrite_frequency: 2}",
    };
    static const liana_optimizer_type *const some[] = {&liana__optimizer_SGD, &liana__optimizer_RMSprop,
                                                       &liana__optimizer_Lamb, &liana__optimizer_LARS};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        for (size_t k = 0; k < sizeof yamls / sizeof *yamls; k++) {
            check_optimizer(some[i], yamls[k], (formula){0}, false);
        }
    }
    check_optimizer(&liana__test_clip_and_trust, "{clipnorm: 0.5, weight_decay: 0.01}", (formula){0}, false);
}

/* Regularisers, constraints and multipliers with optimizers that read elements, sums, and whole variables. */
static void test_regularizers_and_constraints(void **state)
{
    (void)state;
    const liana_optimizer_type *const chosen[] = {&liana__optimizer_SGD, &liana__optimizer_Adam,
                                                  &liana__test_clip_and_trust, &liana__test_centre};
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        liana__array_update f = make_update_of(build_ruled_model(), chosen[i], "{}");
        f.multipliers =
            &(liana__rate_multipliers){"", (liana__rate_multiplier[]){{.pattern = "dense*", .factor = 0.3}}, 1};
        check_slices(&f, NULL);
    }
}

/* A slice does not end within a variable that a rule reads whole. */
static void test_whole_variables_of_rules(void **state)
{
    (void)state;
    liana__array_update f = make_update_of(build_ruled_model(), &liana__optimizer_Adam, "{}");
    liana__array_update_begin(&f);
    for (size_t i = 0; i < f.items.num_variables; i++) {
        const char *name = f.items.items[i].name;
        bool is_whole = strcmp(name, "dense_1/kernel") == 0 || strcmp(name, "dense_2/kernel") == 0;
        bool is_variable = !liana__update_item_variable(&f.items, i)->is_average;
        if (is_variable) assert_int_equal(f.items.items[i].whole, is_whole);
        if (!is_whole || !is_variable) continue;
        const liana__slice_piece piece = {i, 0, LIANA__CHUNK};
        const liana__update_slice slice = {&piece, 1};
        liana_graph *graph;
        assert_int_equal(liana__build_slice_update(context, &f.items, &slice, &graph), LIANA_INVALID_ARGUMENT);
        assert_says(context->error.message, "its regularizer or constraint reads the whole variable");
    }
    liana__array_update_free(&f);
}

static void test_sums_over_all(void **state)
{
    (void)state;
    check_optimizer(&liana__test_clip, "{}", (formula){.clips = true}, true);
}

static void test_sums_over_a_variable(void **state)
{
    (void)state;
    check_optimizer(&liana__test_trust, "{}", (formula){.trusts = true}, true);
}

static void test_sums_of_what_other_sums_changed(void **state)
{
    (void)state;
    check_optimizer(&liana__test_clip_and_trust, "{}", (formula){.clips = true, .trusts = true}, true);
}

static void test_whole_variables(void **state)
{
    (void)state;
    check_optimizer(&liana__test_centre, "{}", (formula){.clips = true, .centres = true}, true);
}

/* Where nothing but elements is read, a slice may end anywhere within a variable. */
static void test_any_cut_between_elements(void **state)
{
    (void)state;
    static const liana__slice_end ends[] = {{0, 0}, {0, 1}, {0, 4607}, {5, 5}, {5, 4101}, {9, 5999}, {11, 0}};
    liana__array_update f = make_update(&liana__optimizer_Adam, "{}");
    liana__array_update_begin(&f);
    assert_int_equal(f.items.num_items, 11);
    for (int d = 0; d < 2; d++) {
        liana__update_arrays whole = run_updates(&f, devices[d], NULL, 1, NULL);
        liana__update_arrays cut = run_updates(&f, devices[d], ends, sizeof ends / sizeof *ends - 1, NULL);
        assert_same_numbers(&f, &cut, &whole);
        liana__update_arrays_free(&whole);
        liana__update_arrays_free(&cut);
    }
    liana__array_update_free(&f);
}

/* One variable in its own shape, without this update's builder. */
static void update_alone(const liana__array_update *f, liana__update_arrays *n, liana__device *device, size_t weight,
                         int iteration)
{
    liana_graph *graph = liana__test_new_graph(context);
    const liana_shape shape = f->model->weights[weight].shape;
    float scalars[3] = {COUNT, (float)RATE, (float)iteration};
    liana__test_value inputs[5 + LIANA_MAX_SLOTS] = {{LIANA_F32, LIANA_SCALAR, &scalars[0]},
                                                     {LIANA_F32, LIANA_SCALAR, &scalars[1]},
                                                     {LIANA_F32, LIANA_SCALAR, &scalars[2]},
                                                     {LIANA_F32, shape, n->values[weight]},
                                                     {LIANA_F32, shape, n->sums[weight]}};
    liana__test_value outputs[1 + LIANA_MAX_SLOTS];
    liana_tensor count = liana_graph_input(graph, "count", LIANA_F32, LIANA_SCALAR);
    liana_optimizer_step step = {.options = f->options};
    step.learning_rate = liana_graph_input(graph, "rate", LIANA_F32, LIANA_SCALAR);
    step.iteration = liana_graph_input(graph, "iteration", LIANA_F32, LIANA_SCALAR);
    step.variable = liana_graph_input(graph, "variable", LIANA_F32, shape);
    step.gradient = liana_op_divide(liana_graph_input(graph, "sum", LIANA_F32, shape), count);
    for (size_t slot = 0; slot < f->num_slots; slot++) {
        step.slots[slot] = liana_graph_input(graph, liana__rule_slot_name(&f->rule, slot), LIANA_F32, shape);
        inputs[5 + slot] = (liana__test_value){LIANA_F32, shape, n->slots[weight][slot]};
    }
    f->rule.optimizer->update(&step);
    liana_graph_output(graph, "variable", step.new_variable);
    for (size_t slot = 0; slot < f->num_slots; slot++) {
        liana_graph_output(graph, liana__rule_slot_name(&f->rule, slot), step.new_slots[slot]);
    }
    liana__test_run(device, graph, inputs, outputs);
    size_t size = (size_t)n->sizes[weight] * sizeof(float);
    memcpy(n->values[weight], outputs[0].data, size);
    for (size_t slot = 0; slot < f->num_slots; slot++) memcpy(n->slots[weight][slot], outputs[1 + slot].data, size);
    liana__test_free_values(outputs, 1 + f->num_slots);
    liana_graph_destroy(graph);
}

static void check_alone(const liana_optimizer_type *optimizer, const char *yaml)
{
    liana__array_update f = make_update(optimizer, yaml);
    liana__array_update_begin(&f);
    for (int d = 0; d < 2; d++) {
        liana__update_arrays cut = run_updates(&f, devices[d], NULL, 7, NULL),
                             alone = liana__update_arrays_create(f.model);
        for (int t = 1; t <= NUM_UPDATES; t++) {
            liana__update_arrays_draw(&f, &alone, (uint32_t)t);
            for (size_t i = 0; i < f.model->num_weights; i++) {
                if (liana__weight_trainable(f.model, i)) update_alone(&f, &alone, devices[d], i, t);
            }
        }
        /* Averages are no matter of the optimizer. */
        for (size_t i = 0; i < f.model->num_weights; i++) {
            if (f.updated[i] && !liana__weight_trainable(f.model, i)) {
                memcpy(alone.values[i], cut.values[i], (size_t)cut.sizes[i] * sizeof(float));
            }
        }
        assert_same_numbers(&f, &cut, &alone);
        liana__update_arrays_free(&cut);
        liana__update_arrays_free(&alone);
    }
    liana__array_update_free(&f);
}

static void test_slices_are_the_whole_update(void **state)
{
    (void)state;
    check_alone(&liana__optimizer_SGD, "{momentum: 0.5}");
    check_alone(&liana__optimizer_Adam, "{epsilon: 1.0e-3}");
}

/* Added in double, in order, and rounded once: in float the four of 'dense/kernel' would be 1. */
static void test_finished_sums(void **state)
{
    (void)state;
    static const float large[4] = {1e8f, 1, -1e8f, 1};
    liana__array_update f = make_update(&liana__test_trust, "{}");
    liana__array_update_begin(&f);
    assert_int_equal(f.items.num_variables, 9);
    assert_int_equal(f.items.num_chunks, 2 + 1 + 1 + 1 + 4 + 1 + 1 + 2 + 1);
    float chunk_sums[14 * 2], sums[9 * 2];
    for (int i = 0; i < 14; i++) {
        chunk_sums[2 * i] = (float)i;
        chunk_sums[2 * i + 1] = i >= 5 && i < 9 ? large[i - 5] : 0.5f;
    }
    liana__finish_sums(&f.items, 0, chunk_sums, sums);
    const float expected[9][2] = {{0 + 1, 1}, {2, 0.5f},  {3, 0.5f},    {4, 0.5f}, {5 + 6 + 7 + 8, 2},
                                  {9, 0.5f},  {10, 0.5f}, {11 + 12, 1}, {13, 0.5f}};
    assert_memory_equal(sums, expected, sizeof expected);
    liana__array_update_free(&f);
    f = make_update(&liana__test_clip, "{}");
    liana__array_update_begin(&f);
    for (int i = 0; i < 14; i++) chunk_sums[i] = i % 5 == 1 ? large[i / 5] : 0.25f;
    liana__finish_sums(&f.items, 0, chunk_sums, sums);
    assert_compare(sums[0], ==, 1 + 11 * 0.25f);
    liana__array_update_free(&f);
}

/* ---- errors ---- */

static void refuse(liana__array_update *f, liana__slice_piece piece, const char *found, const char *expected,
                   const char *name)
{
    liana_graph *graph;
    liana__update_slice slice = {&piece, 1};
    liana__array_update_begin(f);
    assert_fails(liana__build_slice_update(context, &f->items, &slice, &graph), LIANA_INVALID_ARGUMENT, &context->error,
                 found, expected, name);
    assert_null(graph);
    if (f->items.reads.num_rounds) {
        assert_fails(liana__build_slice_sums(context, &f->items, &slice, 0, &graph), LIANA_INVALID_ARGUMENT,
                     &context->error, found, expected, name);
        assert_null(graph);
    }
    liana__array_update_free(f);
}

static void test_slices_that_do_not_fit(void **state)
{
    (void)state;
    liana__array_update f = make_update(&liana__test_centre, "{}");
    refuse(&f, (liana__slice_piece){5, 4096, 8192}, "4096 to 8192 of 'dense/kernel'", "all 12800", "'Centre'");
    f = make_update(&liana__test_trust, "{}");
    refuse(&f, (liana__slice_piece){5, 4096, 8000}, "4096 to 8000 of 'dense/kernel'", "multiples of 4096", "'Trust'");
    f = make_update(&liana__test_trust, "{}");
    refuse(&f, (liana__slice_piece){5, 100, 12800}, "100 to 12800 of 'dense/kernel'", "multiples of 4096", "'Trust'");
    f = make_update(&liana__optimizer_Adam, "{}");
    refuse(&f, (liana__slice_piece){4, 0, 64}, "0 to 64 of the averages of 'batch_normalization'", "all 128",
           "one owner");
    f = make_update(&liana__optimizer_Adam, "{}");
    refuse(&f, (liana__slice_piece){0, 0, 4609}, "0 to 4609 of 'conv2d/kernel'", "4608", "range");
    f = make_update(&liana__optimizer_Adam, "{}");
    refuse(&f, (liana__slice_piece){0, 7, 7}, "7 to 7 of 'conv2d/kernel'", "4608", "range");
    f = make_update(&liana__optimizer_Adam, "{}");
    refuse(&f, (liana__slice_piece){11, 0, 1}, "item 11", "below 11", "piece 0");
}

static void wrong_terms(const liana_optimizer_step *step, liana_tensor *terms)
{
    terms[0] = liana_op_reduce_sum(step->gradient, LIANA_ALL_AXES, false);
}

static liana_update_reads wrong_shape(const void *options)
{
    (void)options;
    return (liana_update_reads){.num_rounds = 1, .rounds = {{LIANA_SUM_OF_ALL, 1, wrong_terms}}};
}

static liana_update_reads too_many_rounds(const void *options)
{
    (void)options;
    return (liana_update_reads){.num_rounds = 3};
}

static liana_update_reads no_terms(const void *options)
{
    (void)options;
    return (liana_update_reads){.num_rounds = 1, .rounds = {{LIANA_SUM_OF_ALL, 2, NULL}}};
}

static void test_declarations_that_cannot_be(void **state)
{
    (void)state;
    liana__error error = {0};
    liana_optimizer_type optimizer = liana__test_clip;
    optimizer.reads = wrong_shape;
    liana__array_update f = make_update(&optimizer, "{}");
    liana__array_update_begin(&f);
    liana_graph *graph;
    const liana__slice_piece piece = {0, 0, 4096};
    const liana__update_slice slice = {&piece, 1};
    assert_fails(liana__build_slice_sums(context, &f.items, &slice, 0, &graph), LIANA_INVALID_ARGUMENT, &context->error,
                 "term 0 of optimizer 'Clip'", "f32[4096]");
    assert_fails(liana__build_slice_sums(context, &f.items, &slice, 1, &graph), LIANA_INVALID_ARGUMENT, &context->error,
                 "1 rounds", "not round 1");
    liana__update_items_free(&f.items);
    optimizer.reads = too_many_rounds;
    assert_fails(liana__test_update_items(f.model, &f.rule, f.averages, f.updated, &f.arena, &f.items, &error),
                 LIANA_INVALID_CONFIG, &error, "'Clip' declares 3 rounds", "0 to 2");
    optimizer.reads = no_terms;
    assert_fails(liana__test_update_items(f.model, &f.rule, f.averages, f.updated, &f.arena, &f.items, &error),
                 LIANA_INVALID_CONFIG, &error, "'Clip' declares 2 sums in round 0", "terms");
    liana__array_update_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements_only),
        cmocka_unit_test(test_every_optimizer_of_the_library),
        cmocka_unit_test(test_options_of_every_optimizer),
        cmocka_unit_test(test_regularizers_and_constraints),
        cmocka_unit_test(test_whole_variables_of_rules),
        cmocka_unit_test(test_sums_over_all),
        cmocka_unit_test(test_sums_over_a_variable),
        cmocka_unit_test(test_sums_of_what_other_sums_changed),
        cmocka_unit_test(test_whole_variables),
        cmocka_unit_test(test_any_cut_between_elements),
        cmocka_unit_test(test_slices_are_the_whole_update),
        cmocka_unit_test(test_finished_sums),
        cmocka_unit_test(test_slices_that_do_not_fit),
        cmocka_unit_test(test_declarations_that_cannot_be),
    };
    return cmocka_run_group_tests_name("slice update", tests, set_up, tear_down);
}
