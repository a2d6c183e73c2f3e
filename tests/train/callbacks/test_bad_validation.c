/* Losses of a validation that are not finite: the cause is found, and the policy is followed. */
#include "harness/command_run.h"

#include "base/file.h"
#include "formats/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char config[] = "data:\n"
                             "  train: {paths: train.csv, kind: table}\n"
                             "  validation: {paths: validation.csv, kind: table}\n"
                             "  columns: {x: [a, b], y: y}\n"
                             "  targets: y\n"
                             "model:\n"
                             "  layers: [InputLayer: {shape: [2]}, Dense: {units: 3, name: first, activation: relu}, "
                             "Dense: {units: 1, name: second}]\n"
                             "train: {epochs: 3, batch_size: 4, microbatch: 2, loss: mse, optimizer: {name: SGD, "
                             "learning_rate: 0.001}}\n";

/* The fourth row of the second batch, and of its second shard, overflows where it is squared. */
static const char good[] = "a,b,y\n1,2,3.5\n2,2,4\n0,1,1\n1,1,2\n3,3,6\n2,3,5\n1,0,1\n0,0,0\n";
static const char bad[] = "a,b,y\n1,2,3.5\n2,2,4\n0,1,1\n1,1,2\n3,3,6\n2,3,5\n1,0,1\n0,0,3.0e38\n";

static const char *make(void)
{
    static char path[256];
    liana__test_folder();
    liana__test_write("train.csv", good, sizeof good - 1);
    liana__test_write("validation.csv", bad, sizeof bad - 1);
    snprintf(path, sizeof path, "%s", liana__test_write("config.yaml", config, sizeof config - 1));
    return path;
}

static void test_the_example_is_named(void **state)
{
    (void)state;
    const char *file = make();
    char run[256], bundle[300];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    assert_refused(liana__test_command("train", file, "--out", run), 1,
                   "the validation loss is inf in epoch 1, batch 2 of the validation: the first bad numbers are the "
                   "result of",
                   "1 of 2 examples of the shard have them", "validation.csv', record 7", "liana replay ");
    snprintf(bundle, sizeof bundle, "%s/bad-numbers-2", run);
    liana__test_result got = liana__test_command("replay", bundle);
    assert_says(got.out, "of the validation shard, run again node by node");
    assert_says(got.out, "this machine finds what the report says");
    assert_says(got.out, "* position 7");
    assert_code(got, 0);
}

static const char *newest_weights(const char *run)
{
    static char path[2][700];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/variables.safetensors", liana__test_newest_checkpoint(run));
    return path[turn];
}

/* With another policy training goes on, and is told; its results are those with good data. */
static void test_training_goes_on(void **state)
{
    (void)state;
    const char *file = make();
    char run[256], whole[256];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    snprintf(whole, sizeof whole, "%s", liana__test_path("whole"));
    liana__test_result got = liana__test_command("train", file, "--out", run, "train.on_bad_numbers=skip");
    for (int epoch = 1; epoch <= 3; epoch++) {
        char told[64];
        snprintf(told, sizeof told, "is inf in epoch %d, batch 2 of the validation", epoch);
        if (!strstr(got.out, told) && !strstr(got.err, told)) fail_msg("'%s' is not in:\n%s%s", told, got.out, got.err);
    }
    assert_code(got, 0);
    liana__test_write("validation.csv", good, sizeof good - 1);
    assert_code(liana__test_command("train", file, "--out", whole), 0);
    assert_same_file(newest_weights("run"), newest_weights("whole"));
}

/* A control goes back by itself: nothing that it tries is better than the first state. */
static void test_a_control_goes_back(void **state)
{
    (void)state;
    const char *file = make();
    liana__test_result got =
        liana__test_command("train", file, "--out", liana__test_path("run"),
                            "train.control={name: annealing, monitor: val_loss, every_steps: 2, energy: 0.1}");
    assert_code(got, 0);
    liana__arena arena = {0};
    liana__value *history;
    liana__error error = {0};
    assert_ok(liana__json_read(liana__test_path("run/history.json"), &arena, &history, &error), &error);
    const liana__value *decisions = liana__value_get(history, "decisions");
    assert_int_equal(decisions->count, 3);
    assert_int_equal(liana__value_get(decisions->items[0], "value")->kind, LIANA__VALUE_NULL);
    assert_false(liana__value_get(decisions->items[0], "accepted")->boolean);
    liana__arena_free(&arena);
}

static void test_finite_validations_are_left_alone(void **state)
{
    (void)state;
    const char *file = make();
    liana__test_write("validation.csv", good, sizeof good - 1);
    liana__test_result got = liana__test_command("train", file, "--out", liana__test_path("run"));
    assert_never_says(got.out, "of the validation");
    assert_code(got, 0);
    assert_false(liana__folder_exists(liana__test_path("run/bad-numbers-2")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_example_is_named),
        cmocka_unit_test(test_training_goes_on),
        cmocka_unit_test(test_a_control_goes_back),
        cmocka_unit_test(test_finite_validations_are_left_alone),
    };
    return cmocka_run_group_tests_name("bad_validation", tests, NULL, NULL);
}
