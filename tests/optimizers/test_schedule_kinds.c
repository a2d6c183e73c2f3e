/* Schedules with checks and lengths of their own, and the common options of all schedules: against values of Keras 3.15
 * (InverseTimeDecay, CosineDecayRestarts, PiecewiseConstantDecay) and PyTorch 1.13 (OneCycle is its OneCycleLR). */
#include "harness/harness.h"

#include "formats/yaml.h"
#include "optimizers/optimizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A schedule in a run of 4 epochs of 10 updates, with batches of 64 examples. */
typedef struct run {
    liana__arena arena;
    liana_learning_rate rate;
} run;

static liana_status read_rate(const char *yaml, run *r, liana__error *error)
{
    char text[512];
    liana__value *map;
    liana__optimizer_choice choice;
    snprintf(text, sizeof text, "{name: SGD, learning_rate: %s}", yaml);
    *r = (run){0};
    assert_ok(liana__yaml_parse(text, strlen(text), "run.yaml", &r->arena, &map, error), error);
    LIANA_TRY(liana__optimizer_read(NULL, map, "optimizer", &r->arena, &choice, error));
    r->rate = choice.learning_rate;
    r->rate.steps_per_epoch = 10;
    r->rate.total_steps = 40;
    r->rate.batch_size = 64;
    return LIANA_OK;
}

typedef struct known {
    int64_t step;
    double rate;
} known;

static void check_rates(const char *yaml, const known *values, size_t count)
{
    run r;
    liana__error error = {0};
    assert_ok(read_rate(yaml, &r, &error), &error);
    for (size_t i = 0; i < count; i++) {
        double got = liana__learning_rate_at(&r.rate, values[i].step);
        /* Keras computes powers of m_mul and t_mul in float32. */
        if (fabs(got - values[i].rate) <= 1e-7 * (values[i].rate + 0.01)) continue;
        fail_msg("%s: the rate at step %lld is %.17g, expected %.17g", yaml, (long long)values[i].step, got,
                 values[i].rate);
    }
    liana__arena_free(&r.arena);
}
#define CHECK_RATES(yaml, ...) \
    check_rates(yaml, (const known[]){__VA_ARGS__}, sizeof(const known[]){__VA_ARGS__} / sizeof(known))

static void test_inverse_time(void **state)
{
    (void)state;
    CHECK_RATES("{name: InverseTimeDecay, initial_learning_rate: 0.1, decay_steps: 10, decay_rate: 0.5}", {0, 0.1},
                {1, 0.095238095238095233}, {9, 0.068965517241379309}, {10, 0.066666666666666666},
                {25, 0.044444444444444446}, {100, 0.016666666666666666});
    CHECK_RATES(
        "{name: InverseTimeDecay, initial_learning_rate: 0.1, decay_epochs: 1, decay_rate: 0.5, staircase: true}",
        {0, 0.1}, {9, 0.1}, {10, 0.066666666666666666}, {25, 0.05}, {100, 0.016666666666666666});
}

static void test_restarts(void **state)
{
    (void)state;
    CHECK_RATES("{name: CosineDecayRestarts, initial_learning_rate: 0.1, first_decay_steps: 10}", {0, 0.1},
                {1, 0.097552825814757688}, {5, 0.05}, {9, 0.0024471741852423235}, {10, 0.1}, {20, 0.05},
                {29, 0.00061558297024311712}, {30, 0.1}, {50, 0.05}, {69, 0.00015413331334360181}, {70, 0.1},
                {140, 0.0038060233744356634});
    CHECK_RATES(
        "{name: CosineDecayRestarts, initial_learning_rate: 0.1, first_decay_epochs: 0.8, t_mul: 1, m_mul: 0.8, "
        "alpha: 0.05}",
        {0, 0.1}, {1, 0.096384277797121831}, {7, 0.0086157222773839779}, {8, 0.081000001147389422},
        {12, 0.043000000610947609}, {15, 0.0078925778799111123}, {16, 0.065800001838803301},
        {80, 0.015200548914505908});
    CHECK_RATES("{name: CosineDecayRestarts, initial_learning_rate: 0.1, first_decay_steps: 7, t_mul: 1.5, m_mul: 0.9, "
                "alpha: 0.1}",
                {0, 0.1}, {3, 0.065013442085960854}, {6, 0.014456401086024362}, {8, 0.089200696554116943},
                {17, 0.010452351674161737}, {18, 0.082718867937896581}, {40, 0.06325857877819617},
                {100, 0.060448385983228936});
    /* log(243) / log(3) is below 5 in double precision: the restart must not come an update too late. */
    CHECK_RATES("{name: CosineDecayRestarts, initial_learning_rate: 1, first_decay_steps: 1, t_mul: 3, m_mul: 0.5}",
                {121, 0.03125}, {40, 0.0625});
}

static void test_piecewise(void **state)
{
    (void)state;
    CHECK_RATES("{name: PiecewiseConstantDecay, boundaries: [5, 12], values: [0.1, 0.05, 0.01]}", {0, 0.1}, {5, 0.1},
                {6, 0.05}, {12, 0.05}, {13, 0.01}, {100, 0.01});
    CHECK_RATES("{name: PiecewiseConstantDecay, boundaries: [1, 2.5], values: [0.1, 0.05, 0.01], unit: epochs}",
                {9, 0.1}, {10, 0.05}, {24, 0.05}, {25, 0.01});
    CHECK_RATES("{name: PiecewiseConstantDecay, boundaries: [], values: [0.3]}", {0, 0.3}, {100, 0.3});
}

static void test_one_cycle(void **state)
{
    (void)state;
    CHECK_RATES("{name: OneCycle, initial_learning_rate: 0.1}", {0, 0.004}, {1, 0.0059443372665041183},
                {6, 0.058831112237117685}, {11, 0.1}, {12, 0.099685611752220168}, {20, 0.076601697419351536},
                {38, 0.00031478824777984849}, {39, 4e-07}, {40, 4e-07}, {1000, 4e-07});
    CHECK_RATES(
        "{name: OneCycle, initial_learning_rate: 0.1, pct_start: 0.25, anneal_strategy: linear, three_phase: true, "
        "div_factor: 10, final_div_factor: 100}",
        {0, 0.01}, {1, 0.02}, {9, 0.1}, {10, 0.09}, {18, 0.01}, {19, 0.0095285714285714279},
        {30, 0.0043428571428571431}, {39, 1e-4});
}

/* By the formulas of Smith 2017, section 3, and of Vaswani et al. 2017, section 5.3. */
static void test_cyclic_and_noam(void **state)
{
    (void)state;
    CHECK_RATES("{name: Cyclic, initial_learning_rate: 0.1, maximal_learning_rate: 0.5, step_size: 4}", {0, 0.1},
                {2, 0.3}, {4, 0.5}, {6, 0.3}, {8, 0.1}, {12, 0.5}, {1001, 0.2});
    CHECK_RATES("{name: cyclic, initial_learning_rate: 0.1, maximal_learning_rate: 0.5, step_size: 4, mode: "
                "triangular2}",
                {4, 0.5}, {8, 0.1}, {12, 0.3}, {20, 0.2});
    CHECK_RATES("{name: CyclicalLearningRate, initial_learning_rate: 0.1, maximal_learning_rate: 0.5, step_size: 4, "
                "mode: exp_range, gamma: 0.9}",
                {4, 0.36244}, {6, 0.1 + 0.4 * 0.5 * 0.531441}, {12, 0.1 + 0.4 * 0.282429536481});
    CHECK_RATES("{name: Noam, model_size: 64, warmup_steps: 16}", {0, 0}, {4, 0.0078125}, {16, 0.03125}, {64, 0.015625},
                {400, 0.00625});
    CHECK_RATES("{name: noam, initial_learning_rate: 0.4, warmup_steps: 4}", {2, 0.2}, {4, 0.4}, {16, 0.2});
}

/* Warm-up as a share of the run; a factor; a factor of the batch size; steps of an epoch. */
static void test_what_all_have(void **state)
{
    (void)state;
    CHECK_RATES("{name: Constant, initial_learning_rate: 0.1, warmup_share: 0.25}", {0, 0}, {5, 0.05}, {9, 0.09},
                {10, 0.1}, {39, 0.1});
    CHECK_RATES("{name: Constant, initial_learning_rate: 0.1, scale: 3, warmup_steps: 2}", {0, 0}, {1, 0.15}, {2, 0.3});
    CHECK_RATES("{name: Constant, initial_learning_rate: 0.1, scale_with_batch: 256}", {0, 0.025}, {7, 0.025});
    CHECK_RATES("{name: PolynomialDecay, initial_learning_rate: 0.4, end_learning_rate: 0, by: epoch}", {0, 0.4},
                {9, 0.4}, {10, 0.3}, {19, 0.3}, {39, 0.1});
    CHECK_RATES(
        "{name: PolynomialDecay, initial_learning_rate: 0.5, end_learning_rate: 0, by: epoch, warmup_steps: 15, "
        "decay_steps: 25}",
        {3, 0.1}, {15, 0.5}, {19, 0.5}, {20, 0.4}, {29, 0.4}, {30, 0.2});
    run r;
    liana__error error = {0};
    assert_ok(read_rate("{name: Constant, warmup_share: 0.5}", &r, &error), &error);
    assert_false(liana__learning_rate_has_length(&r.rate));
    liana__arena_free(&r.arena);
    assert_ok(read_rate("{name: CosineDecayRestarts, first_decay_steps: 5}", &r, &error), &error);
    assert_true(liana__learning_rate_has_length(&r.rate));
    liana__arena_free(&r.arena);
}

static void test_online_is_another_name(void **state)
{
    (void)state;
    run r;
    liana__error error = {0};
    assert_ok(read_rate("{online: hypergradient, initial_learning_rate: 0.5, scale_with_batch: 32}", &r, &error),
              &error);
    assert_ptr_equal(r.rate.schedule, &liana__schedule_Hypergradient);
    assert_compare(liana__learning_rate_at(&r.rate, 17), ==, 1);
    liana__arena_free(&r.arena);
    assert_fails(read_rate("{online: Constant}", &r, &error), LIANA_INVALID_CONFIG, &error, "learning_rate: online",
                 "'Constant'", "Hypergradient");
    liana__arena_free(&r.arena);
}

#define REFUSE(yaml, ...)                                                               \
    do {                                                                                \
        run refused;                                                                    \
        liana__error found = {0};                                                       \
        liana_status status = read_rate(yaml, &refused, &found);                        \
        assert_fails(status, LIANA_INVALID_CONFIG, &found, "run.yaml:1:", __VA_ARGS__); \
        liana__arena_free(&refused.arena);                                              \
    } while (0)

static void test_impossible_ranges_are_named(void **state)
{
    (void)state;
    REFUSE("{name: PiecewiseConstantDecay, boundaries: [9, 5], values: [1, 2, 3]}", "learning_rate.boundaries",
           "5 after 9", "rise");
    REFUSE("{name: PiecewiseConstantDecay, boundaries: [5, 5], values: [1, 2, 3]}", "learning_rate.boundaries",
           "5 after 5");
    REFUSE("{name: PiecewiseConstantDecay, boundaries: [5], values: [1, 2, 3]}", "learning_rate.values", "3 rates",
           "expected 2");
    REFUSE("{name: PiecewiseConstantDecay, boundaries: [5], values: [1, -2]}", "learning_rate.values", "-2",
           "at least 0");
    REFUSE("{name: PiecewiseConstantDecay, boundaries: [few], values: [1, 2]}", "learning_rate.boundaries", "'few'");
    REFUSE("{name: PiecewiseConstantDecay, boundaries: 5, values: [1, 2]}", "learning_rate.boundaries", "a list");
    REFUSE("{name: PiecewiseConstantDecay}", "learning_rate.boundaries", "nothing");
    REFUSE("{name: CosineDecayRestarts}", "learning_rate.first_decay_steps", "no length", "first_decay_epochs");
    REFUSE("{name: CosineDecayRestarts, first_decay_steps: 5, t_mul: 0.5}", "learning_rate.t_mul", "0.5");
    REFUSE("{name: CosineDecayRestarts, first_decay_steps: 5, decay_steps: 5}", "decay_steps", "first_decay_steps");
    REFUSE("{name: OneCycle, pct_start: 1.5}", "learning_rate.pct_start", "1.5");
    REFUSE("{name: OneCycle, pct_start: 0.6, three_phase: true}", "learning_rate.pct_start", "0.6", "at most 0.5");
    REFUSE("{name: OneCycle, div_factor: 0.5}", "learning_rate.div_factor", "0.5");
    REFUSE("{name: Cyclic}", "maximal_learning_rate");
    REFUSE("{name: Cyclic, maximal_learning_rate: 1, mode: square}", "learning_rate.mode", "square", "triangular2");
    REFUSE("{name: Cyclic, maximal_learning_rate: 1, step_size: 0}", "learning_rate.step_size", "0");
    REFUSE("{name: Noam, warmup_epochs: 2}", "learning_rate.warmup_epochs", "warmup_steps");
    REFUSE("{name: Noam, model_size: 0}", "learning_rate.model_size", "0");
    REFUSE("{name: Constant, warmup_share: 1.5}", "learning_rate.warmup_share", "1.5");
    REFUSE("{name: Constant, warmup_share: 0.5, warmup_epochs: 1}", "learning_rate.warmup_share", "warmup_epochs");
    REFUSE("{name: Constant, scale: 0}", "learning_rate.scale", "0");
    REFUSE("{name: Constant, scale_with_batch: -256}", "learning_rate.scale_with_batch", "-256");
    REFUSE("{name: Constant, initial_learning_rate: -1}", "learning_rate.initial_learning_rate", "-1");
    REFUSE("{name: ExponentialDecay, by: week}", "learning_rate.by", "week", "epoch");
    REFUSE("{name: Hypergradient, minimum_learning_rate: 0.1, maximum_learning_rate: 0.01}",
           "learning_rate.minimum_learning_rate", "0.1 (minimum)", "0.01 (maximum)", "below");
    REFUSE("{name: Hypergradient, initial_learning_rate: 0.5, maximum_learning_rate: 0.1}",
           "learning_rate.initial_learning_rate", "0.5 (first)", "0.1 (maximum)");
    REFUSE("{name: Hypergradient, warmup_steps: 3}", "warmup_steps");
    REFUSE("-0.1", "learning_rate", "-0.1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inverse_time),
        cmocka_unit_test(test_restarts),
        cmocka_unit_test(test_piecewise),
        cmocka_unit_test(test_one_cycle),
        cmocka_unit_test(test_cyclic_and_noam),
        cmocka_unit_test(test_what_all_have),
        cmocka_unit_test(test_online_is_another_name),
        cmocka_unit_test(test_impossible_ranges_are_named),
    };
    return cmocka_run_group_tests_name("schedule kinds", tests, NULL, NULL);
}
