/* Whole updates on a PJRT plugin's devices: one program does an update, and its losses are the CPU's. */
#include "harness/harness.h"

#include "harness/command_run.h"
#include "harness/pjrt_plugin.h"
#include "harness/run_files.h"
#include "harness/tiny_records.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_EXAMPLES = 100 /* four updates of an epoch, the last one partial */, MOST_EPOCHS = 20 };

static const char *config;

static void begin(void)
{
    liana__test_begin_on_plugin();
    config = liana__test_tiny_run(NUM_EXAMPLES);
}

static double largest_difference(const char *a, const char *b)
{
    double first[MOST_EPOCHS], second[MOST_EPOCHS], largest = 0;
    const size_t count = liana__test_history(a, "loss", first, MOST_EPOCHS);
    assert_int_equal(liana__test_history(b, "loss", second, MOST_EPOCHS), count);
    for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(first[i] - second[i]));
    return largest;
}

/* ---- the calls of an update ---- */

static counting_plugin_state count_run(const char *run, const char *first, const char *second, const char *third)
{
    const counting_plugin_state before = *liana__test_plugin_state();
    assert_code(liana__test_command("train", config, liana__test_on_plugin("?cpu_device_count=3"),
                                    liana__test_output(run), "train.epochs=1", "train.validation_freq=100", first,
                                    second, third),
                0);
    counting_plugin_state now = *liana__test_plugin_state();
    now.compiled -= before.compiled;
    now.executed -= before.executed;
    now.uploaded -= before.uploaded;
    now.downloaded -= before.downloaded;
    now.donated -= before.donated;
    liana__test_plugin_is_clean();
    return now;
}

/* One epoch, which repeats the data. */
static counting_plugin_state count_of_updates(const char *run, const char *steps, const char *strategy)
{
    return count_run(run, steps, strategy, "data.repeat=true");
}

/* Eight more updates. Each is one execution, of a batch (images, labels, positions, which rows are there), its
 * scalars and the number of updates; one thing comes back; weights, slots and averages are given away: 6 weights with 2
 * slots each, and 2 averages. */
static void test_calls_of_an_update(void **state)
{
    (void)state;
    begin();
    const counting_plugin_state one = count_of_updates("one", "train.steps_per_epoch=4", "train.strategy=one_device"),
                                three =
                                    count_of_updates("three", "train.steps_per_epoch=12", "train.strategy=one_device");
    assert_int_equal(three.compiled, one.compiled);
    assert_int_equal(three.executed - one.executed, 8);
    assert_int_equal(three.uploaded - one.uploaded, 8 * 6);
    assert_int_equal(three.downloaded - one.downloaded, 8);
    assert_int_equal(three.donated - one.donated, 8 * 20);
}

/* Three devices: still one execution and one download. */
static void test_calls_of_three_devices(void **state)
{
    (void)state;
    begin();
    const counting_plugin_state one = count_of_updates("one", "train.steps_per_epoch=4", "train.strategy=mirrored"),
                                three =
                                    count_of_updates("three", "train.steps_per_epoch=12", "train.strategy=mirrored");
    assert_int_equal(three.compiled, one.compiled);
    assert_int_equal(three.executed - one.executed, 8);
    assert_int_equal(three.uploaded - one.uploaded, 3 * 8 * 6);
    assert_int_equal(three.downloaded - one.downloaded, 8);
    assert_int_equal(three.donated - one.donated, 3 * 8 * 20);
}

/* Clipping by the norm of each gradient, and of all: the norms are sums that the program makes itself. So there are as
 * many executions as without. */
static void test_calls_of_clipping(void **state)
{
    (void)state;
    begin();
    static const char *const clips[] = {"epsilon: 1.0e-7", "clipnorm: 0.05", "global_clipnorm: 0.05"};
    int64_t executed[3];
    for (size_t i = 0; i < 3; i++) {
        char optimizer[160], plain[32], plugin[32];
        snprintf(optimizer, sizeof optimizer, "train.optimizer={name: Adam, learning_rate: 0.003, %s}", clips[i]);
        snprintf(plain, sizeof plain, "cpu%zu", i);
        snprintf(plugin, sizeof plugin, "plugin%zu", i);
        assert_code(liana__test_command("train", config, liana__test_output(plain), optimizer), 0);
        const counting_plugin_state before = *liana__test_plugin_state();
        assert_code(liana__test_command("train", config, liana__test_on_plugin(""), liana__test_output(plugin),
                                        optimizer),
                    0);
        executed[i] = (int64_t)(liana__test_plugin_state()->executed - before.executed);
        const double difference = largest_difference(plain, plugin);
        if (difference > 5e-6) fail_msg("%s: losses are %.3g from the CPU's", clips[i], difference);
    }
    assert_int_equal(executed[1], executed[0]);
    assert_int_equal(executed[2], executed[0]);
    liana__test_plugin_is_clean();
}

/* Oversampling changes the length of epochs, records that cannot be used leave gaps, the last update is partial: still
 * nothing is compiled after the first epoch. */
static void test_nothing_is_compiled_again(void **state)
{
    (void)state;
    begin();
    static const liana__test_odd odd[] = {
        {.record = 5, .image = "nothing", .image_size = 7},
        {.record = 6, .image = "nothing", .image_size = 7},
        {.record = 40, .image = "nothing", .image_size = 7},
    };
    static const char text[] = "data: {train: train-*.tfrec, num_classes: 4, on_bad_record: skip}\n"
                               "model:\n"
                               "  layers:\n"
                               "    - Conv2D: {filters: 4, kernel_size: 3, activation: relu}\n"
                               "    - BatchNormalization\n"
                               "    - GlobalAveragePooling2D\n"
                               "    - Dense: {units: 4, activation: softmax}\n"
                               "train: {batch_size: 16, microbatch: 4, seed: 3}\n";
    liana__test_tiny_records("train-0.tfrec", 1, 0, 50, odd, 3);
    config = liana__test_write("messy.yaml", text, sizeof text - 1);
    char kept[256];
    snprintf(kept, sizeof kept, "%s", config);
    config = kept;
    const char *over = "data.oversample.target_count=20";
    const counting_plugin_state one = count_run("m1", "train.epochs=1", over, NULL),
                                three = count_run("m3", "train.epochs=3", over, NULL);
    assert_compare(one.compiled, >, 0);
    assert_compare(three.executed, >, 2 * one.executed);
    assert_int_equal(three.compiled, one.compiled);
}

/* ---- losses ---- */

/* Replicas and shards side by side add in another order than the CPU. */
static void test_losses_are_the_cpus(void **state)
{
    (void)state;
    begin();
    assert_code(liana__test_command("train", config, liana__test_output("cpu")), 0);
    static const char *const counts[] = {"1", "2", "8"};
    for (int i = 0; i < 3; i++) {
        char strategy[96], run[16];
        snprintf(strategy, sizeof strategy, "train.strategy={name: mirrored, replicas: %s}", counts[i]);
        snprintf(run, sizeof run, "fast%s", counts[i]);
        assert_code(liana__test_command("train", config, liana__test_on_plugin("?cpu_device_count=8"),
                                        liana__test_output(run), strategy),
                    0);
        const double difference = largest_difference("cpu", run);
        if (difference > 5e-6) fail_msg("%s devices: losses are %.3g from the CPU's", counts[i], difference);
    }
    liana__test_plugin_is_clean();
}

/* Each optimizer's step is cut into functions for XLA on CPUs (stablehlo/parts.h); its results are the same. */
static void test_every_optimizer(void **state)
{
    (void)state;
    begin();
    static const char *const names[] = {
#define LIANA__OPTIMIZER(stem, name) #name,
#include "optimizers/optimizers.def"
#undef LIANA__OPTIMIZER
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        static const char scaled[] = "train.optimizer={name: LossScaleOptimizer, initial_scale: 1e30, "
                                     "dynamic_growth_steps: 2, inner_optimizer: {name: Adam, learning_rate: 0.003}}";
        static const char several[] = "train.optimizer={name: MultiOptimizer, optimizer_map: {default_optimizer: "
                                      "{name: Adam, learning_rate: 0.003}, optimizer_map: {\".*/bias\": {name: SGD, "
                                      "learning_rate: {name: CosineDecay, initial_learning_rate: 0.01}}}}}";
        char optimizer[300], plain[40], plugin[40];
        snprintf(optimizer, sizeof optimizer, "train.optimizer={name: %s, learning_rate: 0.003, weight_decay: 0.01}",
                 names[i]);
        if (strcmp(names[i], "LossScaleOptimizer") == 0) snprintf(optimizer, sizeof optimizer, "%s", scaled);
        if (strcmp(names[i], "MultiOptimizer") == 0) snprintf(optimizer, sizeof optimizer, "%s", several);
        snprintf(plain, sizeof plain, "cpu_%s", names[i]);
        snprintf(plugin, sizeof plugin, "plugin_%s", names[i]);
        assert_code(liana__test_command("train", config, liana__test_output(plain), optimizer), 0);
        assert_code(liana__test_command("train", config, liana__test_on_plugin(""), liana__test_output(plugin),
                                        optimizer),
                    0);
        const double difference = largest_difference(plain, plugin);
        if (!(difference <= 5e-6)) fail_msg("%s: losses are %.3g from the CPU's", names[i], difference);
    }
    liana__test_plugin_is_clean();
}

/* A run that goes on from a checkpoint ends in the same bytes, also with several devices: each has its variables from
 * the checkpoint. */
static void test_resume(void **state)
{
    (void)state;
    begin();
    const char *strategy = "train.strategy={name: mirrored, replicas: 2}";
    assert_code(liana__test_command("train", config, liana__test_on_plugin("?cpu_device_count=2"),
                                    liana__test_output("whole"), strategy),
                0);
    assert_code(liana__test_command("train", config, liana__test_on_plugin("?cpu_device_count=2"),
                                    liana__test_output("part"), strategy, "train.epochs=1"),
                0);
    assert_code(liana__test_command("train", config, liana__test_on_plugin("?cpu_device_count=2"),
                                    liana__test_output("part"), strategy, "--resume"),
                0);
    liana__test_assert_same_training("whole", "part");
    liana__test_plugin_is_clean();
}

/* ---- numbers that are not finite ---- */

/* "at epoch 1, step 2 (learning rate 1e+38): training has diverged": the text behind it names folders, and the sign of
 * a NaN before it is nobody's. Frees the result. */
static void read_complaint(liana__test_result result, char *text, size_t size)
{
    const char *begin = strstr(result.err, " at epoch "), *end = strstr(result.err, ": the first bad numbers");
    if (!begin || !end || result.code != 1) fail_msg("code %d: %s", result.code, result.err);
    assert_says(result.err, "the loss is");
    snprintf(text, size, "%.*s", (int)(end - begin), begin);
    liana__test_free_result(&result);
}

/* The same words as the CPU's. The first update makes weights so large that the second's sums overflow. */
static void test_bad_numbers(void **state)
{
    (void)state;
    begin();
    char cpu[256], one[256], two[256];
    const char *rate = "train.optimizer={name: SGD, learning_rate: 1.0e38}";
    read_complaint(liana__test_command("train", config, liana__test_output("b0"), rate), cpu, sizeof cpu);
    read_complaint(liana__test_command("train", config, liana__test_on_plugin(""), liana__test_output("b1"), rate), one,
                   sizeof one);
    read_complaint(liana__test_command("train", config, liana__test_on_plugin("?cpu_device_count=2"),
                                       liana__test_output("b2"), rate, "train.strategy=mirrored"),
                   two, sizeof two);
    assert_string_equal(one, cpu);
    assert_string_equal(two, cpu);
    liana__test_plugin_is_clean();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_of_an_update),
        cmocka_unit_test(test_calls_of_three_devices),
        cmocka_unit_test(test_calls_of_clipping),
        cmocka_unit_test(test_nothing_is_compiled_again),
        cmocka_unit_test(test_losses_are_the_cpus),
        cmocka_unit_test(test_every_optimizer),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_bad_numbers),
    };
    return cmocka_run_group_tests_name("pjrt_whole", tests, NULL, NULL);
}
