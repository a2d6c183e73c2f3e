/* steps_per_execution: updates in groups give the same bits as one by one, on the CPU and on a plugin, where a group is
 * one execution. */
#include "harness/command_run.h"
#include "harness/pjrt_plugin.h"
#include "harness/run_files.h"
#include "harness/sum_problem.h"

#include "train/callbacks/callback.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NUM_EXAMPLES = 100 /* four updates of an epoch, the last one partial */ };

static const char *config;

static void begin(bool needs_plugin)
{
    if (needs_plugin) {
        liana__test_begin_on_plugin();
    } else {
        liana__test_folder();
    }
    config = liana__test_tiny_run(NUM_EXAMPLES);
}

static const char *steps(const char *count)
{
    return liana__test_override("train.steps_per_execution", count);
}

/* A rate of its own for each update, a penalty of weights, data that repeat, and epochs of 7 updates. */
static const char *const RATE = "train.optimizer={name: Adam, learning_rate: {name: CosineDecay, "
                                "initial_learning_rate: 0.01, decay_steps: 30, warmup_steps: 5}}";

static void train(const char *run, const char *count, const char *device, const char *strategy)
{
    assert_code(liana__test_command("train", config, liana__test_output(run), steps(count),
                                    liana__test_override("train.device", device), RATE, "data.repeat=true",
                                    "train.steps_per_epoch=7", "train.epochs=3", strategy),
                0);
}

/* ---- the same bits ---- */

static void test_cpu(void **state)
{
    (void)state;
    begin(false);
    train("one", "1", "cpu", NULL);
    train("three", "3", "cpu", NULL);
    train("many", "50", "cpu", NULL);
    liana__test_assert_same_run("one", "three");
    liana__test_assert_same_run("one", "many");
}

static void test_plugin(void **state)
{
    (void)state;
    begin(true);
    char device[4096];
    snprintf(device, sizeof device, "%s", liana__test_plugin_device(""));
    train("one", "1", device, NULL);
    train("three", "3", device, NULL);
    train("many", "7", device, NULL);
    liana__test_assert_same_run("one", "three");
    liana__test_assert_same_run("one", "many");
    liana__test_plugin_is_clean();
}

/* ---- executions ---- */

/* Two groups and a part of one in an epoch: an execution and a download for each, and an upload for each input. The
 * second epoch, and the part, compile nothing. */
static void test_executions(void **state)
{
    (void)state;
    begin(true);
    counting_plugin_state counts[3];
    static const char *const epochs[] = {"train.epochs=1", "train.epochs=2"};
    for (int i = 0; i < 2; i++) {
        counts[0] = *liana__test_plugin_state();
        assert_code(liana__test_command("train", config, liana__test_output(i ? "two" : "one"), steps("3"),
                                        liana__test_on_plugin(""), "data.repeat=true", "train.steps_per_epoch=8",
                                        "data.validation=null", epochs[i], "checkpoint.every_epoch=false"),
                    0);
        counts[1 + i] = *liana__test_plugin_state();
        counts[1 + i].compiled -= counts[0].compiled;
        counts[1 + i].executed -= counts[0].executed;
        counts[1 + i].uploaded -= counts[0].uploaded;
    }
    assert_compare(counts[1].compiled, >, 0);
    assert_int_equal(counts[2].compiled, counts[1].compiled);
    assert_int_equal(counts[2].executed - counts[1].executed, 3);
    /* Images, labels, positions, which rows are there; scalars and the number of updates. */
    assert_int_equal(counts[2].uploaded - counts[1].uploaded, 3 * 6);
    liana__test_plugin_is_clean();
}

/* The uploads of a training that begin while an execution runs. */
static size_t uploads_ahead(const char *run, const char *count, const char *epochs)
{
    const size_t before = liana__test_plugin_state()->uploaded_ahead;
    assert_code(liana__test_command("train", config, liana__test_output(run), steps(count), liana__test_on_plugin(""),
                                    "data.repeat=true", "train.steps_per_epoch=8", "data.validation=null",
                                    liana__test_override("train.epochs", epochs)),
                0);
    return liana__test_plugin_state()->uploaded_ahead - before;
}

/* The inputs of the next execution travel meanwhile: in an epoch of eight updates the inputs of seven; in groups of
 * four those of one. */
static void test_uploads_ahead(void **state)
{
    (void)state;
    begin(true);
    const size_t one = uploads_ahead("one", "1", "1"), four = uploads_ahead("four", "4", "1");
    /* Images, labels, positions, which rows are there. */
    assert_int_equal(uploads_ahead("one-more", "1", "2") - one, 7 * 4);
    assert_int_equal(uploads_ahead("four-more", "4", "2") - four, 4);
}

/* Two devices have the group's rows between them. */
static void test_devices(void **state)
{
    (void)state;
    begin(true);
    char device[4096];
    snprintf(device, sizeof device, "%s", liana__test_plugin_device("?cpu_device_count=2"));
    train("one", "1", device, "train.strategy=mirrored");
    train("four", "4", device, "train.strategy=mirrored");
    liana__test_assert_same_run("one", "four");
    liana__test_plugin_is_clean();
}

/* ---- where a group ends ---- */

/* A fit that ends within a group goes on from there, and checkpoints between groups are of their last update. */
static void test_resume(void **state)
{
    (void)state;
    begin(true);
    char device[4096];
    snprintf(device, sizeof device, "%s", liana__test_plugin_device(""));
    train("whole", "3", device, NULL);
    for (int part = 0; part < 2; part++) {
        assert_code(liana__test_command("train", config, liana__test_output("part"), steps(part ? "4" : "3"),
                                        liana__test_override("train.device", device), RATE, "data.repeat=true",
                                        "train.steps_per_epoch=7", "train.epochs=3", "checkpoint.every_steps=4",
                                        "checkpoint.keep=0", part ? "--resume" : "train.steps=5"),
                    0);
        /* After the group in which the fourth update was. */
        assert_compare(access(liana__test_path("part/checkpoints/step-0000000005"), F_OK), ==, 0);
        assert_compare(access(liana__test_path("part/checkpoints/step-0000000004"), F_OK), !=, 0);
    }
    liana__test_assert_same_run("whole", "part");
    liana__test_plugin_is_clean();
}

/* ---- what callbacks see ---- */

enum { MOST_SEEN = 64 };

typedef struct seen {
    double losses[MOST_SEEN], rates[MOST_SEEN];
    size_t count, num_steps;
    int64_t iterations[MOST_SEEN]; /* at the end of each step */
} seen;

static liana_status look(void *user, liana_fit_context *context)
{
    seen *own = user;
    const int64_t count = liana_fit_info(context).num_updates;
    double ignored;
    own->iterations[own->num_steps++] = liana_fit_info(context).iteration;
    for (int64_t i = 0; i < count; i++) {
        assert_true(liana_fit_update_metric(context, i, "loss", &own->losses[own->count]));
        own->rates[own->count++] = liana_fit_update_rate(context, i);
    }
    assert_false(liana_fit_update_metric(context, count, "loss", &ignored));
    assert_false(liana_fit_update_metric(context, 0, "no_metric", NULL));
    assert_false(liana_fit_update_metric(context, -1, "loss", NULL));
    assert_compare(liana_fit_update_rate(context, count), ==, 0);
    return LIANA_OK;
}

static liana_status begin_step(void *user, liana_fit_context *context)
{
    (void)user;
    assert_int_equal(liana_fit_info(context).num_updates, 0);
    return LIANA_OK;
}

static seen see(int64_t steps_per_execution, const char *device)
{
    liana__sum_problem own;
    seen all = {.count = 0};
    liana__sum_problem_begin(&own, NULL);
    own.options.device = device;
    own.options.epochs = 2;
    own.options.optimizer = "{name: SGD, learning_rate: {name: ExponentialDecay, initial_learning_rate: 0.01, "
                            "decay_steps: 2, decay_rate: 0.5}}";
    own.options.steps_per_execution = steps_per_execution;
    own.callback =
        (liana_callback){.size = sizeof own.callback, .step_begin = begin_step, .step_end = look, .user = &all};
    own.callbacks[0] = &own.callback;
    own.options.callbacks = own.callbacks;
    own.options.num_callbacks = 1;
    if (liana__sum_problem_fit(&own) != LIANA_OK) fail_msg("%s", liana_context_message(own.context));
    liana__sum_problem_end(&own);
    return all;
}

/* Four updates in each of two epochs. */
static void check_seen(const char *device)
{
    const seen one = see(1, device), three = see(3, device);
    static const int64_t ends[] = {3, 4, 7, 8};
    assert_int_equal(one.count, 8);
    assert_int_equal(one.num_steps, 8);
    assert_int_equal(three.count, 8);
    assert_int_equal(three.num_steps, 4);
    assert_memory_equal(three.iterations, ends, sizeof ends);
    assert_memory_equal(three.losses, one.losses, sizeof one.losses);
    assert_memory_equal(three.rates, one.rates, sizeof one.rates);
    assert_compare(one.rates[0], ==, 0.01);
    assert_compare(one.rates[7], <, 0.002);
}

static void test_callbacks(void **state)
{
    (void)state;
    begin(false);
    check_seen("cpu");
    if (liana__test_plugin_is_there()) check_seen(liana__test_plugin_device(""));
}

/* ---- numbers that are not finite ---- */

typedef struct outcome {
    liana_status status;
    char text[4096]; /* the messages */
    float kernel[64];
} outcome;

static void keep_note(void *user, const char *note)
{
    outcome *own = user;
    const size_t length = strlen(own->text);
    if (strstr(note, "at epoch")) snprintf(own->text + length, sizeof own->text - length, "%s\n", note);
}

/* A rate that makes one update overflow. */
static const char *const JUMP = "{name: SGD, momentum: 0.9, learning_rate: {name: PiecewiseConstantDecay, boundaries: "
                                "[5, 6], values: [1.0e-5, 1.0e38, 1.0e-5]}}";

/* The second update of each epoch has bad sums; or the seventh, within the second group of four, gives bad weights. */
static outcome go_bad(int64_t steps_per_execution, const char *device, liana_on_bad_numbers policy, bool in_update)
{
    liana__sum_problem own;
    outcome result = {.status = LIANA_OK};
    liana__sum_problem_begin(&own, NULL);
    own.options.device = device;
    own.options.epochs = 3;
    own.options.steps_per_execution = steps_per_execution;
    own.options.on_bad_numbers = policy;
    own.options.on_note = keep_note;
    own.options.user = &result;
    if (in_update) {
        own.options.optimizer = JUMP;
        for (int i = 0; i < LIANA__SUM_EXAMPLES; i++) own.y[i][0] = 1000 * (own.y[i][0] + 5);
    } else {
        own.options.optimizer = "{name: Adam, learning_rate: 0.01}";
        own.x[LIANA__SUM_BATCH + 5][1] = NAN; /* in the second batch of each epoch */
    }
    result.status = liana__sum_problem_fit(&own);
    if (result.status != LIANA_OK) {
        snprintf(result.text, sizeof result.text, "%s", liana_context_message(own.context));
    } else {
        liana_array found;
        assert_int_equal(liana_model_get_weights(own.model, "first/kernel", &found), LIANA_OK);
        const size_t count = (size_t)liana_shape_size(&found.shape);
        assert_in_range(count, 1, sizeof result.kernel / sizeof *result.kernel);
        memcpy(result.kernel, found.data, count * sizeof(float));
    }
    liana__sum_problem_end(&own);
    return result;
}

static void check_bad(const char *device, bool all)
{
    for (int policy = LIANA_ON_BAD_NUMBERS_FAIL; policy <= LIANA_ON_BAD_NUMBERS_RESTORE; policy++) {
        for (int in_update = 0; in_update < 2; in_update++) {
            if (!all && in_update == (policy != LIANA_ON_BAD_NUMBERS_SKIP)) continue;
            const outcome one = go_bad(1, device, (liana_on_bad_numbers)policy, in_update),
                          four = go_bad(4, device, (liana_on_bad_numbers)policy, in_update);
            const char *place = in_update ? "epoch 2, step 3" : "epoch 1, step 2";
            if (!strstr(one.text, place)) fail_msg("%s: policy %d: %s", device, policy, one.text);
            if (policy != LIANA_ON_BAD_NUMBERS_RESTORE) {
                assert_int_equal(one.status, policy ? LIANA_OK : LIANA_OUT_OF_RANGE);
            }
            assert_int_equal(four.status, one.status);
            assert_string_equal(four.text, one.text);
            assert_memory_equal(four.kernel, one.kernel, sizeof one.kernel);
        }
    }
}

static void test_bad_numbers(void **state)
{
    (void)state;
    begin(false);
    check_bad("cpu", true);
    /* There each fit compiles its programs. */
    if (liana__test_plugin_is_there()) check_bad(liana__test_plugin_device(""), false);
}

/* ---- data that cannot be used, and options ---- */

/* The bad record is behind the first group: the updates before it are done, and it is told as with single ones. */
static void test_bad_record(void **state)
{
    (void)state;
    begin(true);
    char messages[2][1024];
    for (int i = 0; i < 2; i++) {
        liana__sum_problem own;
        liana__sum_problem_begin(&own, NULL);
        own.options.device = liana__test_plugin_device("");
        own.options.steps_per_execution = i ? 3 : 1;
        own.options.loss = "binary_crossentropy";
        for (int k = 0; k < LIANA__SUM_EXAMPLES; k++) own.y[k][0] = k == 20 ? 7 : 0;
        assert_int_not_equal(liana__sum_problem_fit(&own), LIANA_OK);
        snprintf(messages[i], sizeof messages[i], "%s", liana_context_message(own.context));
        liana__sum_problem_end(&own);
    }
    assert_string_equal(messages[0], messages[1]);
    liana__test_plugin_is_clean();
}

static void test_refused(void **state)
{
    (void)state;
    begin(false);
    assert_refused(liana__test_command("train", config, steps("0")), 2, "train.steps_per_execution",
                   "expected a whole number from 1 to 10000");
    static const int64_t bad[] = {-1, 10001};
    for (int i = 0; i < 2; i++) {
        liana__sum_problem own;
        liana__sum_problem_begin(&own, NULL);
        own.options.steps_per_execution = bad[i];
        assert_int_equal(liana__sum_problem_fit(&own), LIANA_INVALID_ARGUMENT);
        assert_says(liana_context_message(own.context), "steps_per_execution");
        liana__sum_problem_end(&own);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu),           cmocka_unit_test(test_plugin),      cmocka_unit_test(test_executions),
        cmocka_unit_test(test_uploads_ahead), cmocka_unit_test(test_devices),     cmocka_unit_test(test_resume),
        cmocka_unit_test(test_callbacks),     cmocka_unit_test(test_bad_numbers), cmocka_unit_test(test_bad_record),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests_name("steps_per_execution", tests, NULL, NULL);
}
