/* Lookahead and stochastic weight averaging against the papers' algorithms, written in double precision with all
 * weights of the past kept: also with gradients of several steps, in any number of slices. */
#include "harness/harness.h"

#include "base/scoped.h"
#include "formats/yaml.h"
#include "harness/graph_run.h"
#include "harness/sliced_update.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 40 };

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

/* ---- numbers ---- */

static float number(size_t weight, int64_t element, int64_t t)
{
    return (float)((int64_t)(weight * 31 + (size_t)(element * 17 + t * 71 + element * t % 13)) % 97 - 48) / 48;
}

static void draw(const liana_model *model, int64_t t, liana__test_weights *weights)
{
    for (size_t i = 0; i < model->num_weights; i++) {
        for (int64_t k = 0; k < liana_shape_size(&model->weights[i].shape); k++)
            weights->values[i][k] = number(i, k, t);
    }
}

/* ---- the second formula: of one element ---- */

typedef struct trial {
    const char *yaml;
    double rate, momentum;
    int64_t accumulated; /* gradients of an update */
    int64_t lookahead, swa, swa_start;
    double step_size;
} trial;

typedef struct result {
    double weight, average;
} result;

static double mean_gradient(const trial *own, size_t weight, int64_t element, int64_t update)
{
    double sum = 0;
    for (int64_t i = 0; i < own->accumulated; i++) {
        sum += (double)number(weight, element, (update - 1) * own->accumulated + i + 1);
    }
    return sum / (double)own->accumulated;
}

static result by_hand(const trial *own, size_t weight, int64_t element)
{
    double past[STEPS + 1] = {number(weight, element, 0)}, velocity = 0, slow = past[0], sum = 0;
    const int64_t updates = STEPS / own->accumulated;
    int64_t count = 0;
    for (int64_t t = 1; t <= updates; t++) {
        velocity = own->momentum * velocity - own->rate * mean_gradient(own, weight, element, t);
        past[t] = past[t - 1] + velocity;
        if (own->lookahead && t % own->lookahead == 0) past[t] = slow += own->step_size * (past[t] - slow);
    }
    for (int64_t t = own->swa_start; own->swa && t <= updates; t += own->swa) {
        sum += past[t];
        count++;
    }
    return (result){past[updates], count ? sum / (double)count : past[updates]};
}

/* ---- the update ---- */

static void run(const trial *own, const liana_model *model, size_t num_slices, liana__test_weights *weights,
                liana__test_weights *averages)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__value *map;
    liana__error error = {0};
    liana__optimizer_choice choice;
    assert_ok(liana__yaml_parse(own->yaml, strlen(own->yaml), "test", &arena, &map, &error), &error);
    assert_ok(liana__optimizer_read(NULL, map, "optimizer", &arena, &choice, &error), &error);
    const liana__update_rule rule = {.optimizer = choice.optimizer, .options = choice.options};
    liana__test_weights drawn = liana__test_weights_create(model);
    draw(model, 0, &drawn);
    liana__sliced_update *update = liana__sliced_update_create(device, model, &rule, num_slices, &drawn);
    for (int64_t t = 1; t <= STEPS; t++) {
        draw(model, t, &drawn);
        liana__sliced_update_run(update, &drawn, own->rate, t, NULL, NULL);
    }
    liana__sliced_update_read(update, NULL, weights);
    liana__sliced_update_read(update, "average", averages);
    liana__sliced_update_destroy(update);
    liana__test_weights_free(&drawn);
}

static void check_near(const trial *own, const char *what, const char *weight, double got, double expected)
{
    if (fabs(got - expected) <= 2e-6 * (1 + fabs(expected))) return;
    fail_msg("%s: %s of %s is %.9g, expected %.9g", own->yaml, what, weight, got, expected);
}

static void check(const trial *own)
{
    static const size_t counts[] = {2, 3, 7};
    liana_model *model = liana__test_sliced_model(context);
    liana__test_weights weights = liana__test_weights_create(model), averages = liana__test_weights_create(model);
    liana__test_weights cut = liana__test_weights_create(model), cut_averages = liana__test_weights_create(model);
    run(own, model, 1, &weights, &averages);
    for (size_t i = 0; i < model->num_weights; i++) {
        if (!liana__weight_trainable(model, i)) continue;
        for (int64_t k = 0; k < liana_shape_size(&model->weights[i].shape); k += 7) {
            const result expected = by_hand(own, i, k);
            check_near(own, "an element", model->weights[i].name, weights.values[i][k], expected.weight);
            check_near(own, "an average", model->weights[i].name, averages.values[i][k],
                       own->swa ? expected.average : expected.weight);
        }
    }
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        run(own, model, counts[i], &cut, &cut_averages);
        liana__test_same_weights(model, &cut, &weights, own->yaml);
        liana__test_same_weights(model, &cut_averages, &averages, own->yaml);
    }
    liana__test_weights_free(&weights);
    liana__test_weights_free(&averages);
    liana__test_weights_free(&cut);
    liana__test_weights_free(&cut_averages);
    liana_model_destroy(model);
}

static void test_lookahead(void **state)
{
    (void)state;
    static const trial trials[] = {
        {"{name: SGD, lookahead_period: 5}", 0.0625, 0, 1, 5, 0, 0, 0.5},
        {"{name: SGD, momentum: 0.9, lookahead_period: 3, lookahead_step_size: 0.8}", 0.0625, 0.9, 1, 3, 0, 0, 0.8},
        {"{name: SGD, lookahead_period: 1, lookahead_step_size: 0.25}", 0.0625, 0, 1, 1, 0, 0, 0.25},
        {"{name: SGD, momentum: 0.5, lookahead_period: 3, gradient_accumulation_steps: 4}", 0.0625, 0.5, 4, 3, 0, 0,
         0.5},
    };
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) check(&trials[i]);
}

static void test_weight_averages(void **state)
{
    (void)state;
    static const trial trials[] = {
        {"{name: SGD, swa_period: 1}", 0.0625, 0, 1, 0, 1, 0, 0},
        {"{name: SGD, momentum: 0.9, swa_period: 4, swa_start: 11}", 0.0625, 0.9, 1, 0, 4, 11, 0},
        {"{name: SGD, swa_period: 3, swa_start: 39}", 0.0625, 0, 1, 0, 3, 39, 0},
        {"{name: SGD, swa_period: 3, swa_start: 50}", 0.0625, 0, 1, 0, 3, 50, 0},
        {"{name: SGD, momentum: 0.5, swa_period: 2, swa_start: 3, gradient_accumulation_steps: 4}", 0.0625, 0.5, 4, 0,
         2, 3, 0},
        {"{name: SGD, momentum: 0.5, lookahead_period: 4, swa_period: 3, swa_start: 5}", 0.0625, 0.5, 1, 4, 3, 5, 0.5},
    };
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) check(&trials[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lookahead),
        cmocka_unit_test(test_weight_averages),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
