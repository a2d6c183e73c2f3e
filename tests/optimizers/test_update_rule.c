/* The common options of every optimizer, and optimizers that Keras does not have: LARS and the hypergradient against
 * second formulas in double, over 100 updates, with the same bits in 1, 2, 3 and 7 slices; and impossible options. */
#include "harness/harness.h"

#include "base/random.h"
#include "formats/yaml.h"
#include "harness/graph_run.h"
#include "harness/sliced_update.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { UPDATES = 100 };

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

/* ---- a case ---- */

typedef struct optimizer_case {
    liana_model *model;
    liana__arena arena;
    liana__optimizer_choice choice;
    liana__update_rule rule;
    double rate; /* 0: the schedule's */
} optimizer_case;

static liana_status read_choice(const char *yaml, liana__arena *arena, liana__optimizer_choice *choice,
                                liana__error *error)
{
    liana__value *map;
    assert_ok(liana__yaml_parse(yaml, strlen(yaml), "run.yaml", arena, &map, error), error);
    return liana__optimizer_read(NULL, map, "optimizer", arena, choice, error);
}

static optimizer_case read_case(const char *yaml)
{
    optimizer_case made = {.model = liana__test_sliced_model(context)};
    liana__error error = {0};
    assert_ok(read_choice(yaml, &made.arena, &made.choice, &error), &error);
    made.rule = (liana__update_rule){.optimizer = made.choice.optimizer,
                                     .options = made.choice.options,
                                     .adapts_rate = made.choice.learning_rate.schedule->adapt != NULL};
    return made;
}

static void free_case(optimizer_case *c)
{
    liana__arena_free(&c->arena);
    liana_model_destroy(c->model);
}

/* First weights (update 0), or a part of the gradient of an update; of another size for each weight. */
static float drawn(size_t weight, int64_t update, int64_t element)
{
    liana__philox_key key = liana__philox_make_key(21, LIANA__STREAM_TEST, (uint32_t)weight);
    uint32_t words[4];
    liana__philox(key, (uint32_t[4]){(uint32_t)element, (uint32_t)update, 0, 0}, words);
    return (liana__uniform_float(words[0]) - 0.5f) * ldexpf(1, (int)(weight % 4) - 2);
}

static bool trains(const optimizer_case *c, size_t weight)
{
    return liana__weight_trainable(c->model, weight);
}

static int64_t size_of(const optimizer_case *c, size_t weight)
{
    return liana_shape_size(&c->model->weights[weight].shape);
}

/* The gradient of a bowl, with noise: weights fall towards 0, and gradients follow each other. */
static float gradient_at(size_t weight, int64_t update, int64_t element, float value)
{
    return 0.25f * value + 0.125f * drawn(weight, update, element);
}

static double learning_rate_of(const optimizer_case *c)
{
    return liana__learning_rate_at(&c->choice.learning_rate, 0);
}

/* In slices; `rates` [UPDATES] receives the rates. */
static void run_in_slices(const optimizer_case *c, size_t num_slices, liana__test_weights *weights, double *rates)
{
    const liana_learning_rate *schedule = &c->choice.learning_rate;
    liana__test_weights gradients = liana__test_weights_create(c->model);
    for (size_t i = 0; i < c->model->num_weights; i++) {
        for (int64_t k = 0; trains(c, i) && k < size_of(c, i); k++) weights->values[i][k] = drawn(i, 0, k);
    }
    liana__sliced_update *update = liana__sliced_update_create(device, c->model, &c->rule, num_slices, weights);
    double rate = learning_rate_of(c);
    for (int64_t t = 1; t <= UPDATES; t++) {
        for (size_t i = 0; i < c->model->num_weights; i++) {
            for (int64_t k = 0; trains(c, i) && k < size_of(c, i); k++) {
                gradients.values[i][k] = gradient_at(i, t, k, weights->values[i][k]);
            }
        }
        rate = liana__sliced_update_run(update, &gradients, rate, t, schedule->schedule->adapt, schedule->options);
        rates[t - 1] = rate;
        liana__sliced_update_read(update, NULL, weights);
    }
    liana__sliced_update_destroy(update);
    liana__test_weights_free(&gradients);
}

/* ---- a second formula, all in double ---- */

typedef struct formula {
    double clipnorm, global_clipnorm, decay; /* 0: none */
    bool excludes_biases;
    bool lars, adam;
    double momentum, trust, epsilon;
    double additive, multiplicative; /* the hypergradient's rate; 0: none */
} formula;

typedef struct numbers {
    double *value, *gradient, *slot[2], *direction;
} numbers;

typedef struct by_hand {
    const optimizer_case *c;
    const formula *what;
    numbers weights[LIANA__TEST_MAX_WEIGHTS];
    double rate;
} by_hand;

static double *make_doubles(int64_t count)
{
    double *made = calloc((size_t)count, sizeof *made);
    assert_non_null(made);
    return made;
}

static double dot(const double *a, const double *b, int64_t count)
{
    double sum = 0;
    for (int64_t k = 0; k < count; k++) sum += a[k] * b[k];
    return sum;
}

static void scale(double *values, int64_t count, double factor)
{
    for (int64_t k = 0; k < count; k++) values[k] *= factor;
}

static void clip_by_hand(by_hand *h)
{
    double square = 0;
    for (size_t i = 0; i < h->c->model->num_weights; i++) {
        if (!trains(h->c, i)) continue;
        double *gradient = h->weights[i].gradient;
        int64_t count = size_of(h->c, i);
        double norm = sqrt(dot(gradient, gradient, count));
        square += norm * norm;
        if (h->what->clipnorm > 0 && norm > h->what->clipnorm) scale(gradient, count, h->what->clipnorm / norm);
    }
    double norm = sqrt(square);
    if (h->what->global_clipnorm <= 0 || norm <= h->what->global_clipnorm) return;
    for (size_t i = 0; i < h->c->model->num_weights; i++) {
        if (trains(h->c, i)) scale(h->weights[i].gradient, size_of(h->c, i), h->what->global_clipnorm / norm);
    }
}

static void adapt_by_hand(by_hand *h)
{
    double product = 0, gradients = 0, directions = 0;
    for (size_t i = 0; i < h->c->model->num_weights; i++) {
        if (!trains(h->c, i)) continue;
        const numbers *n = &h->weights[i];
        int64_t count = size_of(h->c, i);
        product += dot(n->gradient, n->direction, count);
        gradients += dot(n->gradient, n->gradient, count);
        directions += dot(n->direction, n->direction, count);
    }
    h->rate += h->what->additive * product;
    if (directions > 0) h->rate *= 1 + h->what->multiplicative * product / sqrt(gradients * directions);
}

static void step_by_hand(by_hand *h, size_t weight, int64_t t)
{
    const formula *what = h->what;
    numbers *n = &h->weights[weight];
    const int64_t count = size_of(h->c, weight);
    bool excluded = what->excludes_biases && strstr(h->c->model->weights[weight].name, "bias");
    double decay = excluded ? 0 : what->decay, local = 1;
    double weight_norm = sqrt(dot(n->value, n->value, count)), norm = sqrt(dot(n->gradient, n->gradient, count));
    if (what->lars && !excluded) {
        local = what->trust * weight_norm / (norm + decay * weight_norm + what->epsilon);
    }
    for (int64_t k = 0; k < count; k++) {
        double old = n->value[k], g = n->gradient[k], step;
        if (what->lars) {
            step = n->slot[0][k] = what->momentum * n->slot[0][k] + h->rate * local * (g + decay * old);
        } else if (what->adam) {
            n->slot[0][k] = 0.9 * n->slot[0][k] + 0.1 * g;
            n->slot[1][k] = 0.999 * n->slot[1][k] + 0.001 * g * g;
            step = h->rate * sqrt(1 - pow(0.999, (double)t)) / (1 - pow(0.9, (double)t)) * n->slot[0][k] /
                   (sqrt(n->slot[1][k]) + 1e-7);
        } else {
            n->slot[0][k] = what->momentum * n->slot[0][k] + h->rate * g;
            step = n->slot[0][k];
        }
        n->value[k] = old - (what->lars ? 0 : h->rate * decay * old) - step;
        n->direction[k] = (old - n->value[k]) / h->rate;
    }
}

static void run_by_hand(const optimizer_case *c, const formula *what, by_hand *h, double *rates)
{
    *h = (by_hand){.c = c, .what = what, .rate = learning_rate_of(c)};
    for (size_t i = 0; i < c->model->num_weights; i++) {
        int64_t count = size_of(c, i);
        h->weights[i] = (numbers){make_doubles(count),
                                  make_doubles(count),
                                  {make_doubles(count), make_doubles(count)},
                                  make_doubles(count)};
        for (int64_t k = 0; trains(c, i) && k < count; k++) h->weights[i].value[k] = drawn(i, 0, k);
    }
    for (int64_t t = 1; t <= UPDATES; t++) {
        for (size_t i = 0; i < c->model->num_weights; i++) {
            numbers *n = &h->weights[i];
            for (int64_t k = 0; trains(c, i) && k < size_of(c, i); k++) {
                n->gradient[k] = 0.25 * n->value[k] + 0.125 * (double)drawn(i, t, k);
            }
        }
        clip_by_hand(h);
        adapt_by_hand(h);
        rates[t - 1] = h->rate;
        for (size_t i = 0; i < c->model->num_weights; i++) {
            if (trains(c, i)) step_by_hand(h, i, t);
        }
    }
}

static void free_by_hand(by_hand *h)
{
    for (size_t i = 0; i < LIANA__TEST_MAX_WEIGHTS; i++) {
        const numbers *n = &h->weights[i];
        free(n->value);
        free(n->gradient);
        free(n->slot[0]);
        free(n->slot[1]);
        free(n->direction);
    }
}

/* ---- the tests ---- */

static void compare(const optimizer_case *c, const by_hand *h, const liana__test_weights *got)
{
    for (size_t i = 0; i < c->model->num_weights; i++) {
        for (int64_t k = 0; trains(c, i) && k < size_of(c, i); k++) {
            double expected = h->weights[i].value[k], found = (double)got->values[i][k];
            if (fabs(found - expected) <= 2e-6 * (1 + fabs(expected))) continue;
            fail_msg("%s[%lld] is %.9g, expected %.9g", c->model->weights[i].name, (long long)k, found, expected);
        }
    }
}

static void check(const char *yaml, formula what)
{
    static const size_t counts[] = {2, 3, 7};
    optimizer_case c = read_case(yaml);
    double expected[UPDATES], rates[UPDATES], cut_rates[UPDATES];
    liana__test_weights whole = liana__test_weights_create(c.model), cut = liana__test_weights_create(c.model);
    by_hand h;
    run_in_slices(&c, 1, &whole, rates);
    run_by_hand(&c, &what, &h, expected);
    for (int t = 0; t < UPDATES; t++) {
        if (fabs(rates[t] - expected[t]) > 1e-5 * expected[t]) {
            fail_msg("%s: rate %d is %.9g, expected %.9g", yaml, t, rates[t], expected[t]);
        }
    }
    bool adapts = what.additive > 0 || what.multiplicative > 0;
    assert_compare(adapts, ==, fabs(rates[UPDATES - 1] / rates[0] - 1) > 0.05);
    compare(&c, &h, &whole);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        run_in_slices(&c, counts[i], &cut, cut_rates);
        liana__test_same_weights(c.model, &cut, &whole, yaml);
        assert_memory_equal(cut_rates, rates, sizeof rates);
    }
    free_by_hand(&h);
    liana__test_weights_free(&whole);
    liana__test_weights_free(&cut);
    free_case(&c);
}

static void test_lars(void **state)
{
    (void)state;
    check("{name: LARS, learning_rate: 8}", (formula){.lars = true, .momentum = 0.9, .trust = 0.001});
    check("{name: LARS, learning_rate: 2, momentum: 0.5, trust_coefficient: 0.01, epsilon: 0.25, weight_decay: 0.1, "
          "exclude_from_weight_decay: [bias], clipnorm: 1.5}",
          (formula){.lars = true,
                    .momentum = 0.5,
                    .trust = 0.01,
                    .epsilon = 0.25,
                    .decay = 0.1,
                    .excludes_biases = true,
                    .clipnorm = 1.5});
}

static void test_hypergradient(void **state)
{
    (void)state;
    check("{name: SGD, learning_rate: {online: hypergradient, initial_learning_rate: 0.01}}",
          (formula){.multiplicative = 0.02});
    check("{name: SGD, learning_rate: {name: Hypergradient, rule: additive, hypergradient_learning_rate: 1.0e-6, "
          "initial_learning_rate: 0.002}}",
          (formula){.additive = 1e-6});
    check(
        "{name: AdamW, weight_decay: 0.02, exclude_from_weight_decay: [bias], global_clipnorm: 20, learning_rate: "
        "{name: "
        "Hypergradient, initial_learning_rate: 0.001, hypergradient_learning_rate: 0.05}}",
        (formula){.adam = true, .decay = 0.02, .excludes_biases = true, .global_clipnorm = 20, .multiplicative = 0.05});
}

/* A rate that grows without bound, or falls below 0, stays in its range. */
static void test_adapted_rates_have_bounds(void **state)
{
    (void)state;
    liana__arena arena = {0};
    liana__optimizer_choice choice;
    liana__error error = {0};
    assert_ok(
        read_choice("{name: SGD, learning_rate: {name: Hypergradient, rule: additive, minimum_learning_rate: 0.01, "
                    "maximum_learning_rate: 0.5, hypergradient_learning_rate: 1, initial_learning_rate: 0.1}}",
                    &arena, &choice, &error),
        &error);
    const liana_learning_rate *rate = &choice.learning_rate;
    assert_compare(rate->schedule->adapt(rate->options, 0.1, (const float[]){100, 1, 1}), ==, 0.5);
    assert_compare(rate->schedule->adapt(rate->options, 0.1, (const float[]){-100, 1, 1}), ==, 0.01);
    assert_true(isnan(rate->schedule->adapt(rate->options, 0.1, (const float[]){NAN, 1, 1})));
    liana__arena_free(&arena);
}

/* The sum of squares overflows: no gradient may pass for a small one. */
static void test_norms_that_are_not_finite_show(void **state)
{
    (void)state;
    optimizer_case c = read_case("{name: SGD, global_clipnorm: 1}");
    liana__test_weights weights = liana__test_weights_create(c.model), gradients = liana__test_weights_create(c.model);
    gradients.values[0][7] = 1e30f;
    liana__sliced_update *update = liana__sliced_update_create(device, c.model, &c.rule, 1, &weights);
    liana__sliced_update_run(update, &gradients, 0.1, 1, NULL, NULL);
    liana__sliced_update_read(update, NULL, &weights);
    assert_true(isnan(weights.values[0][7]));
    liana__sliced_update_destroy(update);
    liana__test_weights_free(&weights);
    liana__test_weights_free(&gradients);
    free_case(&c);
}

#define REFUSE(yaml, ...)                                                               \
    do {                                                                                \
        liana__arena arena = {0};                                                       \
        liana__optimizer_choice choice;                                                 \
        liana__error found = {0};                                                       \
        liana_status status = read_choice(yaml, &arena, &choice, &found);               \
        assert_fails(status, LIANA_INVALID_CONFIG, &found, "run.yaml:1:", __VA_ARGS__); \
        liana__arena_free(&arena);                                                      \
    } while (0)

static void test_options_that_cannot_be(void **state)
{
    (void)state;
    REFUSE("{name: Adam, clipnorm: 1, clipvalue: 2}", "optimizer.clipvalue", "beside clipnorm", "one way");
    REFUSE("{name: SGD, global_clipnorm: 1, clipvalue: 2}", "optimizer.global_clipnorm", "beside clipvalue");
    REFUSE("{name: SGD, clipnorm: 0}", "optimizer.clipnorm", "0");
    REFUSE("{name: SGD, weight_decay: -0.1}", "optimizer.weight_decay", "-0.1");
    REFUSE("{name: SGD, exclude_from_weight_decay: [bias]}", "optimizer.exclude_from_weight_decay",
           "weight_decay above 0");
    REFUSE("{name: AdamW, exclude_from_weight_decay: ['(bias']}", "optimizer.exclude_from_weight_decay", "'(bias'",
           "regular expression");
    REFUSE("{name: AdamW, exclude_from_weight_decay: ['']}", "optimizer.exclude_from_weight_decay", "every name");
    REFUSE("{name: Adam, ema_overwrite_frequency: 5}", "optimizer.ema_overwrite_frequency", "use_ema");
    REFUSE("{name: Adam, use_ema: true, ema_momentum: 1.5}", "optimizer.ema_momentum", "1.5");
    REFUSE("{name: Adam, use_emma: true}", "use_emma", "did you mean 'use_ema'");
    REFUSE("{name: Adagrad, initial_accumulator_value: -1}", "optimizer.initial_accumulator_value", "-1");
    REFUSE("{name: Ftrl, learning_rate_power: 0.5}", "optimizer.learning_rate_power", "0.5");
    REFUSE("{name: RMSProp2}", "RMSProp2", "did you mean 'RMSprop'");
}

static void test_patterns_that_match_nothing(void **state)
{
    (void)state;
    optimizer_case c = read_case("{name: AdamW, exclude_from_weight_decay: [bias, gama]}");
    liana__error error = {0};
    liana__arena arena = {0};
    liana__update_items items;
    liana__average averages[LIANA__TEST_MAX_WEIGHTS] = {{0}};
    bool updated[LIANA__TEST_MAX_WEIGHTS] = {false};
    assert_fails(liana__test_update_items(c.model, &c.rule, averages, updated, &arena, &items, &error),
                 LIANA_INVALID_CONFIG, &error, "exclude_from_weight_decay", "'gama' matches no weight",
                 "conv2d/kernel");
    liana__arena_free(&arena);
    free_case(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lars),
        cmocka_unit_test(test_hypergradient),
        cmocka_unit_test(test_adapted_rates_have_bounds),
        cmocka_unit_test(test_norms_that_are_not_finite_show),
        cmocka_unit_test(test_options_that_cannot_be),
        cmocka_unit_test(test_patterns_that_match_nothing),
    };
    return cmocka_run_group_tests_name("update rule", tests, set_up, tear_down);
}
