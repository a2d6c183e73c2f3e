/* Learning-rate schedules against values of the formulas in Keras's documentation (keras.optimizers.schedules),
 * computed in Python. */
#include "harness/harness.h"

#include "formats/yaml.h"
#include "optimizers/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A schedule with options from a YAML mapping, in a run of 4 epochs of 10 updates whose optimizer defaults to 0.1. */
typedef struct run {
    liana_learning_rate rate;
    void *options;
} run;

static run start(const char *name, const char *yaml)
{
    liana__error error = {0};
    liana__arena arena = {0};
    liana__value *map = NULL;
    const char *nearest = NULL;
    const liana_schedule_type *schedule = liana__part_find(NULL, &liana__schedule_kind, name, &nearest);
    assert_non_null(schedule);
    void *options = calloc(1, schedule->part.options.size);
    assert_non_null(options);
    assert_ok(liana__yaml_parse(yaml, strlen(yaml), "test.yaml", &arena, &map, &error), &error);
    assert_ok(liana__fields_read(&schedule->part.options, map, "learning_rate", NULL, &arena, options, &error), &error);
    liana__arena_free(&arena);
    return (run){{schedule, options, 0.1, 10, 40, 0}, options};
}

static void assert_rate(const run *r, int64_t step, double expected)
{
    double got = liana__learning_rate_at(&r->rate, step);
    if (fabs(got - expected) <= 1e-15) return;
    fail_msg("%s: the rate at step %lld is %.17g, expected %.17g", r->rate.schedule->part.name, (long long)step, got,
             expected);
}

typedef struct known {
    int64_t step;
    double rate;
} known;

typedef struct known_case {
    const char *name;
    const char *yaml;
    known values[8]; /* ends with a step of -1 */
} known_case;

static const known_case known_cases[] = {
    {"Constant", "{}", {{0, 0.1}, {1, 0.1}, {39, 0.1}, {100000, 0.1}, {-1, 0}}},
    {"ExponentialDecay",
     "{decay_rate: 0.5, decay_steps: 10}",
     {{0, 0.1},
      {1, 0.093303299153680741},
      {9, 0.053588673126814659},
      {10, 0.05},
      {15, 0.035355339059327383},
      {20, 0.025},
      {99, 0.00010466537720080985},
      {-1, 0}}},
    {"ExponentialDecay",
     "{decay_rate: 0.5, decay_steps: 10, staircase: true}",
     {{0, 0.1}, {9, 0.1}, {10, 0.05}, {19, 0.05}, {20, 0.025}, {99, 0.0001953125}, {-1, 0}}},
    {"PolynomialDecay",
     "{end_learning_rate: 0.01, decay_steps: 10}",
     {{0, 0.1}, {1, 0.091}, {5, 0.055}, {10, 0.01}, {11, 0.01}, {1000, 0.01}, {-1, 0}}},
    {"PolynomialDecay",
     "{end_learning_rate: 0.01, decay_steps: 10, power: 0.5}",
     {{0, 0.1}, {1, 0.095381496824546247}, {5, 0.073639610306789283}, {10, 0.01}, {1000, 0.01}, {-1, 0}}},
    {"PolynomialDecay",
     "{end_learning_rate: 0.01, decay_steps: 10, power: 2.0, cycle: true}",
     {{0, 0.1}, {1, 0.0829}, {10, 0.01}, {11, 0.028225}, {20, 0.01}, {21, 0.0181}, {25, 0.0125}, {-1, 0}}},
    {"CosineDecay",
     "{decay_steps: 10}",
     {{0, 0.1},
      {1, 0.097552825814757688},
      {5, 0.05},
      {9, 0.0024471741852423235},
      {10, 0},
      {11, 0},
      {1000000, 0},
      {-1, 0}}},
    {"CosineDecay",
     "{decay_steps: 10, alpha: 0.2}",
     {{0, 0.1}, {1, 0.098042260651806157}, {5, 0.06}, {9, 0.021957739348193863}, {10, 0.02}, {11, 0.02}, {-1, 0}}},
};

static void test_known_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known_cases / sizeof *known_cases; i++) {
        run r = start(known_cases[i].name, known_cases[i].yaml);
        for (const known *value = known_cases[i].values; value->step >= 0; value++) {
            assert_rate(&r, value->step, value->rate);
        }
        free(r.options);
    }
}

static void test_initial_rate_is_the_options_or_the_optimizers(void **state)
{
    (void)state;
    run r = start("Constant", "{initial_learning_rate: 0.25}");
    assert_rate(&r, 3, 0.25);
    free(r.options);
    r = start("CosineDecay", "{initial_learning_rate: 0.5, decay_steps: 10}");
    assert_rate(&r, 5, 0.25);
    free(r.options);
    /* A given value counts, also where it is 0; a missing one is the optimizer's. */
    r = start("Constant", "{initial_learning_rate: 0}");
    assert_rate(&r, 3, 0);
    free(r.options);
    r = start("Constant", "{initial_learning_rate: null}");
    assert_rate(&r, 3, 0.1);
    free(r.options);
    /* A rate of 0 freezes a model; it must not become NaN. */
    r = start("PolynomialDecay", "{end_learning_rate: 0, decay_steps: 10}");
    r.rate.default_learning_rate = 0;
    for (int64_t step = 0; step < 12; step++) assert_rate(&r, step, 0);
    free(r.options);
}

/* warmup_learning_rate at step 0, the initial rate at the first step after the warm-up, where the schedule begins. */
static void test_warm_up_is_linear_and_comes_before_the_decay(void **state)
{
    (void)state;
    run r = start("Constant", "{warmup_steps: 4}");
    for (int64_t step = 0; step < 4; step++) assert_rate(&r, step, 0.025 * (double)step);
    assert_rate(&r, 4, 0.1);
    assert_rate(&r, 5, 0.1);
    free(r.options);

    r = start("CosineDecay", "{warmup_steps: 5, warmup_learning_rate: 0.05, decay_steps: 10}");
    assert_rate(&r, 0, 0.05);
    assert_rate(&r, 3, 0.08);
    assert_rate(&r, 5, 0.1);
    assert_rate(&r, 6, 0.097552825814757688);
    assert_rate(&r, 10, 0.05);
    assert_rate(&r, 15, 0);
    assert_rate(&r, 16, 0);
    free(r.options);

    /* It may also come down. */
    r = start("Constant", "{warmup_steps: 2, warmup_learning_rate: 0.3}");
    assert_rate(&r, 0, 0.3);
    assert_rate(&r, 1, 0.2);
    assert_rate(&r, 2, 0.1);
    free(r.options);
}

static void test_lengths_in_epochs_add_to_lengths_in_steps(void **state)
{
    (void)state;
    run r = start("PolynomialDecay", "{warmup_epochs: 0.5, warmup_steps: 5, end_learning_rate: 0, decay_epochs: 1.5, "
                                     "decay_steps: 5}");
    assert_rate(&r, 5, 0.05);
    assert_rate(&r, 10, 0.1);
    assert_rate(&r, 20, 0.05);
    assert_rate(&r, 30, 0);
    free(r.options);
}

static void test_decay_lasts_to_the_end_of_the_run_by_default(void **state)
{
    (void)state;
    run r = start("CosineDecay", "{}");
    assert_rate(&r, 20, 0.05);
    assert_rate(&r, 40, 0);
    free(r.options);
    r = start("PolynomialDecay", "{warmup_epochs: 2, end_learning_rate: 0}");
    assert_rate(&r, 10, 0.05);
    assert_rate(&r, 20, 0.1);
    assert_rate(&r, 30, 0.05);
    assert_rate(&r, 39, 0.005);
    free(r.options);
}

/* 0.7 * 10 is a little more than 7 in binary: the stairs must be where the words put them. */
static void test_stairs_fall_at_the_update_that_was_meant(void **state)
{
    (void)state;
    run r = start("ExponentialDecay", "{decay_rate: 0.5, decay_epochs: 0.7, staircase: true}");
    assert_rate(&r, 6, 0.1);
    assert_rate(&r, 7, 0.05);
    assert_rate(&r, 13, 0.05);
    assert_rate(&r, 14, 0.025);
    free(r.options);
    r = start("ExponentialDecay", "{decay_rate: 0.5, decay_steps: 2.5, staircase: true}");
    assert_rate(&r, 2, 0.1);
    assert_rate(&r, 3, 0.05);
    assert_rate(&r, 5, 0.025);
    free(r.options);
}

static void test_edges(void **state)
{
    (void)state;
    /* The whole run and more is warm-up. */
    run r = start("CosineDecay", "{warmup_epochs: 8}");
    assert_rate(&r, 0, 0);
    assert_rate(&r, 20, 0.025);
    assert_rate(&r, 39, 0.04875);
    free(r.options);
    /* Nothing is left for the decay: it takes one update. */
    r = start("PolynomialDecay", "{warmup_epochs: 4, end_learning_rate: 0.01}");
    assert_rate(&r, 39, 0.0975);
    assert_rate(&r, 40, 0.1);
    assert_rate(&r, 41, 0.01);
    free(r.options);
    /* A run of a single update, and one of none. */
    static const char *const names[] = {"Constant", "ExponentialDecay", "PolynomialDecay", "CosineDecay"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (int64_t total = 0; total <= 1; total++) {
            r = start(names[i], "{}");
            r.rate.total_steps = r.rate.steps_per_epoch = total;
            assert_rate(&r, 0, 0.1);
            assert_true(isfinite(liana__learning_rate_at(&r.rate, 1)));
            free(r.options);
        }
    }
}

/* Whatever the schedule, rates stay between 0 and the initial one and fall, cycles apart. Those with checks of their
 * own need options, or rise: test_schedule_kinds.c. */
static void test_decays_fall(void **state)
{
    (void)state;
    for (size_t i = 0; liana__schedule_kind.builtin[i]; i++) {
        const char *name = liana__schedule_kind.builtin[i]->name;
        const bool rises = strcmp(name, "Cyclic") == 0 || strcmp(name, "Noam") == 0;
        if (liana__schedule_kind.builtin[i]->check || rises) continue;
        run r = start(name, "{}");
        double last = 0.1;
        for (int64_t step = 0; step < 60; step++) {
            double rate = liana__learning_rate_at(&r.rate, step);
            assert_compare(rate, >=, 0);
            assert_compare(rate, <=, last);
            last = rate;
        }
        free(r.options);
    }
}

static void test_names_and_options(void **state)
{
    (void)state;
    const char *nearest = NULL;
    assert_ptr_equal(liana__part_find(NULL, &liana__schedule_kind, "cosinedecay", &nearest),
                     &liana__schedule_CosineDecay);
    assert_null(liana__part_find(NULL, &liana__schedule_kind, "CosineDecai", &nearest));
    assert_string_equal(nearest, "CosineDecay");
    assert_null(liana__part_find(NULL, &liana__schedule_kind, "Triangle", &nearest));
    assert_null(nearest);

    liana__error error = {0};
    liana__arena arena = {0};
    liana__value *map = NULL;
    static const char yaml[] = "{decay_step: 10}";
    double options[32];
    assert_compare(liana__schedule_ExponentialDecay.part.options.size, <=, sizeof options);
    assert_ok(liana__yaml_parse(yaml, sizeof yaml - 1, "run.yaml", &arena, &map, &error), &error);
    assert_fails(liana__fields_read(&liana__schedule_ExponentialDecay.part.options, map,
                                    "train.optimizer.learning_rate", NULL, &arena, options, &error),
                 LIANA_INVALID_CONFIG, &error, "run.yaml:1:2", "decay_step", "did you mean 'decay_steps'");
    liana__arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values),
        cmocka_unit_test(test_initial_rate_is_the_options_or_the_optimizers),
        cmocka_unit_test(test_warm_up_is_linear_and_comes_before_the_decay),
        cmocka_unit_test(test_lengths_in_epochs_add_to_lengths_in_steps),
        cmocka_unit_test(test_decay_lasts_to_the_end_of_the_run_by_default),
        cmocka_unit_test(test_stairs_fall_at_the_update_that_was_meant),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_decays_fall),
        cmocka_unit_test(test_names_and_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
