/* Trainings whose updates read sums, keep averages of the weights, and adapt their rate: resumed in the middle they end
 * in the same bytes; in the end the averages are measured, saved and used for predictions. */
#include "harness/command_run.h"

#include "base/file.h"
#include "formats/safetensors.h"

#include <stdlib.h>
#include <string.h>

static char config_path[256];

#define LAMB                                                                                                           \
    "train.optimizer={name: Lamb, clipnorm: 0.5, weight_decay: 0.01, exclude_from_weight_decay: [bias, gamma, beta], " \
    "use_ema: true, ema_momentum: 0.8, learning_rate: {online: hypergradient, initial_learning_rate: 0.02, "           \
    "hypergradient_learning_rate: 0.2}}"
#define SGD_OVERWRITTEN                                                                                          \
    "train.optimizer={name: SGD, momentum: 0.9, global_clipnorm: 1, use_ema: true, ema_overwrite_frequency: 3, " \
    "learning_rate: {name: PiecewiseConstantDecay, boundaries: [2, 5], values: [0.1, 0.05, 0.01]}}"

#define SLOW_WEIGHTS                                                                                               \
    "train.optimizer={name: SGD, momentum: 0.9, lookahead_period: 3, swa_period: 2, swa_start: 1, learning_rate: " \
    "{name: Cyclic, initial_learning_rate: 0.01, maximal_learning_rate: 0.1, step_size: 3, mode: exp_range, "      \
    "gamma: 0.9}}"
#define SLOW_GRADIENTS                                                                                                \
    "train.optimizer={name: Adam, gradient_accumulation_steps: 2, lookahead_period: 2, swa_period: 1, swa_start: 2, " \
    "learning_rate: {name: Noam, model_size: 64, warmup_steps: 3}}"
/* The scale is doubled after three updates, and after six it is too large for any gradient. */
#define SCALED                                                                                         \
    "train.optimizer={name: LossScaleOptimizer, initial_scale: 1.0e+38, dynamic_growth_steps: 3, "     \
    "inner_optimizer: {name: Adam, use_ema: true, learning_rate: {name: CosineDecay, decay_steps: 8, " \
    "initial_learning_rate: 0.05}}}"
#define SEVERAL                                                                                                 \
    "train.optimizer={name: MultiOptimizer, optimizer_map: {default_optimizer: {name: SGD, momentum: 0.9, "     \
    "learning_rate: {name: Cyclic, initial_learning_rate: 0.01, maximal_learning_rate: 0.1, step_size: 3}}, "   \
    "optimizer_map: {'.*/bias': {name: Adam, use_ema: true, clipnorm: 0.5, learning_rate: {name: CosineDecay, " \
    "initial_learning_rate: 0.02, decay_steps: 8}}}}}"

static const char *in_run(const char *run, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", run, name);
    return liana__test_path(path);
}

/* Of 8 updates, two epochs of 4. */
static void train(const char *run, const char *optimizer, const char *steps)
{
    assert_code(liana__test_command("train", config_path, "--resume", "--out", liana__test_path(run), optimizer, steps,
                                    "checkpoint.every_steps=3", "checkpoint.keep=100"),
                0);
}

static const char *weights_of(const char *run, char *path, size_t size)
{
    snprintf(path, size, "%s/variables.safetensors", liana__test_newest_checkpoint(run));
    return path;
}

static void assert_same_end(const char *run, const char *expected)
{
    char first[600], second[600];
    assert_same_file(weights_of(run, first, sizeof first), weights_of(expected, second, sizeof second));
    assert_same_file(in_run(run, "history.json"), in_run(expected, "history.json"));
    assert_same_file(in_run(run, "validation_predictions.csv"), in_run(expected, "validation_predictions.csv"));
}

/* Whole; as one that was to be shorter, and ended with its averages; and as one whose newest checkpoints are lost. */
static void check(const char *optimizer)
{
    liana__test_folder();
    snprintf(config_path, sizeof config_path, "%s", liana__test_tiny_run(108));
    train("whole", optimizer, "train.steps=8");
    train("longer", optimizer, "train.steps=5");
    train("longer", optimizer, "train.steps=7");
    train("longer", optimizer, "train.steps=8");
    assert_same_end("longer", "whole");
    train("lost", optimizer, "train.steps=8");
    int lost = 0;
    while (!strstr(liana__test_newest_checkpoint("lost"), "step-0000000003")) {
        assert_ok(liana__folder_remove(liana__test_newest_checkpoint("lost"), NULL), NULL);
        lost++;
    }
    assert_compare(lost, >=, 2);
    train("lost", optimizer, "train.steps=8");
    assert_same_end("lost", "whole");
}

static void test_sums_averages_and_an_adapted_rate(void **state)
{
    (void)state;
    check(LAMB);
}

static void test_weights_that_become_their_averages_meanwhile(void **state)
{
    (void)state;
    check(SGD_OVERWRITTEN);
}

static void test_slow_weights_and_schedules_without_end(void **state)
{
    (void)state;
    check(SLOW_WEIGHTS);
    check(SLOW_GRADIENTS);
}

static void test_optimizers_around_others(void **state)
{
    (void)state;
    check(SCALED);
    char *text;
    size_t size;
    char path[640];
    snprintf(path, sizeof path, "%s/state.json", liana__test_newest_checkpoint("whole"));
    assert_ok(liana__file_read(path, 1 << 20, &text, &size, NULL), NULL);
    assert_says(text, "\"skipped\": 2");
    free(text);
    check(SEVERAL);
}

/* The history has the rates that were used: they follow the training. */
static void test_the_history_has_the_adapted_rate(void **state)
{
    (void)state;
    liana__test_folder();
    snprintf(config_path, sizeof config_path, "%s", liana__test_tiny_run(108));
    train("lamb", LAMB, "train.steps=8");
    char *text;
    size_t size;
    assert_ok(liana__file_read(in_run("lamb", "history.json"), 1 << 20, &text, &size, NULL), NULL);
    double rates[2];
    const char *from = text;
    for (int i = 0; i < 2; i++) {
        from = strstr(from, "\"learning_rate\": ");
        assert_non_null(from);
        from += strlen("\"learning_rate\": ");
        rates[i] = strtod(from, NULL);
    }
    assert_compare(rates[0], !=, 0.02);
    assert_compare(rates[1], !=, rates[0]);
    assert_compare(rates[0], >, 0.002);
    assert_compare(rates[0], <, 0.2);
    free(text);
}

/* ---- which weights the end has ---- */

static float first_of(const char *run, const char *name)
{
    char path[600];
    liana__error error = {0};
    liana__safetensors file;
    assert_ok(liana__safetensors_open(weights_of(run, path, sizeof path), &file, &error), &error);
    const liana__safetensors_tensor *tensor = liana__safetensors_find(&file, name);
    assert_non_null(tensor);
    void *values;
    assert_ok(liana__safetensors_take(&file, tensor, &values, &error), &error);
    const float value = *(const float *)values;
    free(values);
    liana__safetensors_close(&file);
    return value;
}

/* With a momentum of 0 the average is the weight itself; with one of 1 it stays at the first update's value. */
static void test_the_end_has_the_averages(void **state)
{
    (void)state;
    liana__test_folder();
    snprintf(config_path, sizeof config_path, "%s", liana__test_tiny_run(108));
    train("plain", "train.optimizer={name: SGD, learning_rate: 0.1}", "train.steps=8");
    train("first", "train.optimizer={name: SGD, learning_rate: 0.1}", "train.steps=1");
    train("same", "train.optimizer={name: SGD, learning_rate: 0.1, use_ema: true, ema_momentum: 0}", "train.steps=8");
    train("stays", "train.optimizer={name: SGD, learning_rate: 0.1, use_ema: true, ema_momentum: 1}", "train.steps=8");
    static const char kernel[] = "dense/kernel", average[] = "optimizer/SGD/average/dense/kernel";
    float last = first_of("plain", kernel);
    assert_compare(last, !=, first_of("first", kernel));
    assert_compare(first_of("same", kernel), ==, last);
    assert_compare(first_of("same", average), ==, last);
    assert_compare(first_of("stays", kernel), ==, first_of("first", kernel));
    assert_compare(first_of("stays", average), ==, last); /* from where a longer training goes on */
    assert_same_file(in_run("same", "validation_predictions.csv"), in_run("plain", "validation_predictions.csv"));
    /* As in Keras the weights themselves are validated meanwhile. */
    assert_same_file(in_run("stays", "history.json"), in_run("plain", "history.json"));
}

/* A pattern is about the model's weights, so it is found wrong once there is a model, and before the first update. */
static void test_a_pattern_that_matches_nothing_is_refused(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = liana__test_tiny_run(108);
    assert_refused(liana__test_command("train", config, "--out", liana__test_path("run"),
                                       "train.optimizer={name: AdamW, exclude_from_weight_decay: [biass]}"),
                   2, "exclude_from_weight_decay", "'biass' matches no weight", "/kernel");
    assert_refused(liana__test_command("train", config, "--out", liana__test_path("run"),
                                       "train.optimizer={name: AdamW, clipnorm: 1, global_clipnorm: 1}"),
                   2, "train.optimizer.global_clipnorm", "beside clipnorm");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_averages_and_an_adapted_rate),
        cmocka_unit_test(test_weights_that_become_their_averages_meanwhile),
        cmocka_unit_test(test_slow_weights_and_schedules_without_end),
        cmocka_unit_test(test_optimizers_around_others),
        cmocka_unit_test(test_the_history_has_the_adapted_rate),
        cmocka_unit_test(test_the_end_has_the_averages),
        cmocka_unit_test(test_a_pattern_that_matches_nothing_is_refused),
    };
    return cmocka_run_group_tests_name("resume optimizers", tests, NULL, NULL);
}
