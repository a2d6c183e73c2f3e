/* 100 updates of every optimizer against Keras (tests/samples/keras_optimizers.py), with clipping, weight decay and
 * averages, and the same bits in 1, 2, 3 and 7 slices. */
#include "harness/harness.h"

#include "formats/yaml.h"
#include "harness/graph_run.h"
#include "harness/sliced_update.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_WEIGHTS = 8, NUM_NUMBERS = 4, UPDATES = 100 };

/* Three elements of each weight, and the sum of absolute values; then the same of the averages. */
typedef struct keras_optimizer {
    const char *name;
    const char *yaml;
    double rate;
    double numbers[2 * NUM_WEIGHTS][NUM_NUMBERS];
} keras_optimizer;

#include "samples/keras_optimizers.h"

static liana_context *context;
static liana__device *device;

static int set_up(void **state)
{
    (void)state;
    return liana__test_open_devices(2, &context, &device, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    return liana__test_close_devices(context, device, NULL);
}

/* ---- the formulas of keras_optimizers.py ---- */

static void draw_weight(const liana__weight *weight, int64_t t, float *values)
{
    int64_t of_name = 0;
    for (const char *letter = weight->name; *letter; letter++) of_name += *letter;
    for (int64_t i = 0; i < liana_shape_size(&weight->shape); i++) {
        int64_t drawn = (i * 37 + i / 7 * 5 + t * 53 + i * t % 61 * 3 + 11 * of_name) % 129;
        values[i] = (float)(drawn - 64) / 64;
    }
}

static void draw(const liana_model *model, int64_t t, liana__test_weights *weights)
{
    for (size_t i = 0; i < model->num_weights; i++) {
        if (liana__weight_trainable(model, i)) draw_weight(&model->weights[i], t, weights->values[i]);
    }
}

static float *values_of(const liana_model *model, liana__test_weights *weights, const char *name)
{
    const long found = liana__model_find_weight(model, name);
    assert_compare(found, >=, 0);
    return weights->values[found];
}

/* Gradients that a LossScaleOptimizer skips, at once or with a large scale. */
static void spoil(const liana_model *model, int64_t t, liana__test_weights *gradients)
{
    float *kernel = values_of(model, gradients, "dense/kernel");
    for (int64_t i = 0; t % 20 == 0 && i < INT64_C(64) * 200; i++) kernel[i] *= 1024;
    if (t == 5) *values_of(model, gradients, "dense/bias") = INFINITY;
    if (t == 6 || t == 41) *values_of(model, gradients, "dense/bias") = NAN;
}

/* ---- a case ---- */

typedef struct optimizer_case {
    const keras_optimizer *keras;
    liana_model *model;
    liana__arena arena;
    liana__optimizer_choice choice;
    liana__update_rule rule;
} optimizer_case;

static optimizer_case read_case(const keras_optimizer *keras)
{
    optimizer_case made = {.keras = keras, .model = liana__test_sliced_model(context)};
    liana__error error = {0};
    liana__value *map;
    assert_ok(liana__yaml_parse(keras->yaml, strlen(keras->yaml), "keras", &made.arena, &map, &error), &error);
    liana__value_set(&made.arena, map, "name", liana__value_string(&made.arena, keras->name));
    assert_ok(liana__optimizer_read(NULL, map, "optimizer", &made.arena, &made.choice, &error), &error);
    made.rule = (liana__update_rule){.optimizer = made.choice.optimizer, .options = made.choice.options};
    return made;
}

static void free_case(optimizer_case *c)
{
    liana__arena_free(&c->arena);
    liana_model_destroy(c->model);
}

static void run_case(const optimizer_case *c, size_t num_slices, liana__test_weights *weights,
                     liana__test_weights *averages)
{
    liana__test_weights drawn = liana__test_weights_create(c->model);
    draw(c->model, 0, &drawn);
    liana__sliced_update *update = liana__sliced_update_create(device, c->model, &c->rule, num_slices, &drawn);
    for (int64_t t = 1; t <= UPDATES; t++) {
        draw(c->model, t, &drawn);
        if (liana__as_loss_scale(c->rule.optimizer, c->rule.options)) spoil(c->model, t, &drawn);
        liana__sliced_update_run(update, &drawn, c->keras->rate / (1 + (double)t / 64), t, NULL, NULL);
    }
    liana__sliced_update_read(update, NULL, weights);
    if (averages) liana__sliced_update_read(update, "average", averages);
    liana__sliced_update_destroy(update);
    liana__test_weights_free(&drawn);
}

/* ---- against Keras ---- */

static void compare(const optimizer_case *c, const char *weight, const char *what, double got, double expected,
                    double scale)
{
    if (fabs(got - expected) <= 1e-5 * scale) return;
    fail_msg("%s %s: %s of %s is %.9g, Keras has %.9g", c->keras->name, c->keras->yaml, what, weight, got, expected);
}

static void compare_weights(const optimizer_case *c, const liana__test_weights *got, const double (*numbers)[4])
{
    size_t row = 0;
    for (size_t i = 0; i < c->model->num_weights; i++) {
        if (!liana__weight_trainable(c->model, i)) continue;
        const float *values = got->values[i];
        const char *name = c->model->weights[i].name;
        int64_t count = liana_shape_size(&c->model->weights[i].shape);
        double sum = 0;
        for (int64_t k = 0; k < count; k++) sum += fabs((double)values[k]);
        compare(c, name, "the first element", values[0], numbers[row][0], 1);
        compare(c, name, "the middle element", values[count / 2], numbers[row][1], 1);
        compare(c, name, "the last element", values[count - 1], numbers[row][2], 1);
        compare(c, name, "the sum", sum, numbers[row][3], (double)count);
        row++;
    }
    assert_int_equal(row, NUM_WEIGHTS);
}

static void check_case(const keras_optimizer *keras)
{
    static const size_t counts[] = {2, 3, 7};
    optimizer_case c = read_case(keras);
    bool averages = liana__rule_keeps_averages(&c.rule);
    liana__test_weights whole = liana__test_weights_create(c.model), mean = liana__test_weights_create(c.model),
                        cut = liana__test_weights_create(c.model), cut_mean = liana__test_weights_create(c.model);
    run_case(&c, 1, &whole, averages ? &mean : NULL);
    compare_weights(&c, &whole, keras->numbers);
    if (averages) compare_weights(&c, &mean, keras->numbers + NUM_WEIGHTS);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        run_case(&c, counts[i], &cut, averages ? &cut_mean : NULL);
        liana__test_same_weights(c.model, &cut, &whole, keras->name);
        liana__test_same_weights(c.model, &cut_mean, &mean, "averages");
    }
    liana__test_weights_free(&whole);
    liana__test_weights_free(&mean);
    liana__test_weights_free(&cut);
    liana__test_weights_free(&cut_mean);
    free_case(&c);
}

static void test_agree_with_keras(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof keras_optimizers / sizeof *keras_optimizers; i++) check_case(&keras_optimizers[i]);
}

/* Keras has no LARS: test_update_rule.c has a second formula. */
static void test_keras_was_asked_about_every_optimizer(void **state)
{
    (void)state;
    for (size_t i = 0; liana__optimizer_kind.builtin[i]; i++) {
        bool asked = strcmp(liana__optimizer_kind.builtin[i]->name, "LARS") == 0;
        for (size_t k = 0; k < sizeof keras_optimizers / sizeof *keras_optimizers; k++) {
            asked |= strcmp(keras_optimizers[k].name, liana__optimizer_kind.builtin[i]->name) == 0;
        }
        if (!asked) fail_msg("keras_optimizers.py has no case of %s", liana__optimizer_kind.builtin[i]->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agree_with_keras),
        cmocka_unit_test(test_keras_was_asked_about_every_optimizer),
    };
    return cmocka_run_group_tests_name("keras optimizers", tests, set_up, tear_down);
}
