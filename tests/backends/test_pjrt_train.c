/* Training on a PJRT plugin's devices: the CPU's losses, resume in the same bytes, several devices, devices that fail.
 * */
#include "harness/harness.h"

#include "backends/pjrt/interface.h"
#include "harness/command_run.h"
#include "harness/pjrt_plugin.h"
#include "harness/run_files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EPOCHS = 3, NUM_EXAMPLES = 100 /* the last batch of an epoch is partial */ };

/* ---- runs ---- */

static const char *config;

/* The tests run only where the plugin is; one folder of data serves all. */
static void begin(void)
{
    liana__test_begin_on_plugin();
    config = liana__test_tiny_run(NUM_EXAMPLES);
}

static liana__test_result train(const char *device, const char *run, const char *more)
{
    const char *output = liana__test_output(run);
    if (!more) return liana__test_command("train", config, device, output);
    return liana__test_command("train", config, device, output, more);
}

/* ---- as the CPU ---- */

/* Both round each sum of f32 in their own order: 12 updates keep five digits. */
static void test_losses_are_the_cpus(void **state)
{
    (void)state;
    begin();
    assert_code(train("train.device=cpu", "cpu", NULL), 0);
    assert_code(train(liana__test_on_plugin("?cpu_device_count=1"), "plugin", NULL), 0);
    static const char *const keys[] = {"loss", "val_loss"};
    for (int k = 0; k < 2; k++) {
        double ours[EPOCHS], theirs[EPOCHS];
        assert_int_equal(liana__test_history("cpu", keys[k], ours, EPOCHS), EPOCHS);
        assert_int_equal(liana__test_history("plugin", keys[k], theirs, EPOCHS), EPOCHS);
        for (size_t i = 0; i < EPOCHS; i++) {
            if (fabs(ours[i] - theirs[i]) <= 5e-6) continue;
            fail_msg("%s %zu is %.9g, the CPU says %.9g", keys[k], i, theirs[i], ours[i]);
        }
    }
    liana__test_plugin_is_clean();
}

/* Partial batches and more epochs compile nothing: rows that are missing are masked. */
static void test_nothing_is_compiled_again(void **state)
{
    (void)state;
    begin();
    counting_plugin_state *counted = liana__test_plugin_state();
    size_t before = counted->compiled;
    assert_code(train(liana__test_on_plugin("?cpu_device_count=1"), "one", "train.epochs=1"), 0);
    size_t of_one = counted->compiled - before;
    before = counted->compiled;
    assert_code(train(liana__test_on_plugin("?cpu_device_count=1"), "three", "train.epochs=3"), 0);
    assert_compare(of_one, >, 0);
    assert_int_equal(counted->compiled - before, of_one);
    liana__test_plugin_is_clean();
}

/* ---- several devices ---- */

static void test_bits_do_not_depend_on_the_devices(void **state)
{
    (void)state;
    begin();
    static const char *const runs[] = {"r1", "r2", "r4", "r8"}, *const counts[] = {"1", "2", "4", "8"};
    for (int i = 0; i < 4; i++) {
        char strategy[96];
        snprintf(strategy, sizeof strategy, "train.strategy={name: mirrored, replicas: %s}", counts[i]);
        const char *output = liana__test_output(runs[i]);
        assert_code(liana__test_command("train", config, liana__test_on_plugin("?cpu_device_count=8"), output, strategy,
                                        "train.deterministic=true"),
                    0);
        if (i > 0) liana__test_assert_same_training(runs[0], runs[i]);
    }
    liana__test_plugin_is_clean();
}

/* All devices of plugins that have this number of devices. */
static void assert_same_bits_of(const char *const *counts, size_t num_counts)
{
    char first[32];
    for (size_t i = 0; i < num_counts; i++) {
        char device[48], run[32];
        snprintf(device, sizeof device, "?cpu_device_count=%s", counts[i]);
        snprintf(run, sizeof run, "of-%zu-%s", num_counts, counts[i]);
        assert_code(liana__test_command("train", config, liana__test_on_plugin(device), liana__test_output(run),
                                        "train.strategy=mirrored", "train.deterministic=true", "train.epochs=1"),
                    0);
        if (i == 0) memcpy(first, run, sizeof first);
        if (i > 0) liana__test_assert_same_training(first, run);
    }
}

/* The promise of docs/guides/devices.md for plugins for CPUs with different numbers of devices: bits are those of the
 * number of threads, which is the larger of NPROC (or the processors) and the devices. */
static void test_bits_of_plugins_of_several_sizes(void **state)
{
    (void)state;
    begin();
    static const char *const counts[] = {"1", "2", "3", "4", "8"};
    assert_int_equal(setenv("NPROC", "8", 1), 0);
    assert_same_bits_of(counts, 5);
    assert_int_equal(unsetenv("NPROC"), 0);
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t as_many = 1;
    while (as_many < 4 && strtol(counts[as_many], NULL, 10) <= processors) as_many++;
    assert_same_bits_of(counts, as_many);
    liana__test_plugin_is_clean();
}

/* Without a number of replicas, all devices of the plugin compute. */
static void test_all_devices(void **state)
{
    (void)state;
    begin();
    liana__test_result result = train(liana__test_on_plugin("?cpu_device_count=3"), "all", "train.strategy=mirrored");
    assert_says(result.out, "3 replicas");
    assert_code(result, 0);
    liana__test_plugin_is_clean();
}

/* ---- devices that fail ---- */

/* From now on, call number `after` of a function fails. */
static void fail_later(int function, int after, int code, const char *text)
{
    counting_plugin_state *state = liana__test_plugin_state();
    state->fails = function;
    state->fails_after = after;
    state->fails_with = code;
    state->fails_saying = text;
}

/* The device is lost in the second epoch. The checkpoint of the first is whole: a resumed run ends in the same bytes.
 * */
static void test_device_lost_and_resume(void **state)
{
    (void)state;
    begin();
    assert_code(train(liana__test_on_plugin(""), "whole", NULL), 0);
    size_t before = liana__test_plugin_state()->executed;
    assert_code(train(liana__test_on_plugin(""), "lost", "train.epochs=1"), 0);
    size_t of_one = liana__test_plugin_state()->executed - before;
    char command[700];
    snprintf(command, sizeof command, "rm -rf '%s'", liana__test_path("lost"));
    assert_int_equal(system(command), 0);
    fail_later(LIANA__PJRT_LOADED_EXECUTABLE_EXECUTE, (int)of_one + 5, 13, "the device has fallen off the bus");
    assert_refused(train(liana__test_on_plugin(""), "lost", NULL), 1, "PJRT_LoadedExecutable_Execute",
                   "the device has fallen off the bus", "cpu:0", "/lost/checkpoints/",
                   "is whole: --resume goes on from it", NULL);
    liana__test_plugin_is_clean();
    assert_int_equal(liana__test_plugin_state()->fails, LIANA__PJRT_LOADED_EXECUTABLE_EXECUTE);
    assert_code(train(liana__test_on_plugin(""), "lost", "--resume"), 0);
    liana__test_assert_same_training("whole", "lost");
    liana__test_plugin_is_clean();
}

/* Before there is a checkpoint there is nothing to go on from. */
static void test_device_lost_at_once(void **state)
{
    (void)state;
    begin();
    fail_later(LIANA__PJRT_LOADED_EXECUTABLE_EXECUTE, 1, 13, "the device has fallen off the bus");
    assert_refused(train(liana__test_on_plugin(""), "soon", NULL), 1, "the device has fallen off the bus",
                   "there is no checkpoint yet, so the run begins anew", NULL);
    liana__test_plugin_is_clean();
}

static void test_full_device(void **state)
{
    (void)state;
    begin();
    fail_later(LIANA__PJRT_LOADED_EXECUTABLE_EXECUTE, 0, 8, "no more memory");
    assert_refused(train(liana__test_on_plugin(""), "full", NULL), 1, "out of memory",
                   "shards of 4 examples need about half", "train.microbatch=4", "no more memory", NULL);
    liana__test_plugin_is_clean();
    /* A device that counts its memory: which shards would fit. */
    liana__test_plugin_state()->memory_limit = 64 << 10;
    fail_later(LIANA__PJRT_LOADED_EXECUTABLE_EXECUTE, 0, 8, "no more memory");
    assert_refused(train(liana__test_on_plugin(""), "full2", NULL), 1, "out of memory: it needs",
                   "beside its arguments", "no more memory", NULL);
    liana__test_plugin_is_clean();
}

/* The compilers of TPUs refuse programs that do not fit: half as many shards at a time do. If one alone is too many,
 * that is said. */
static void test_programs_that_do_not_fit(void **state)
{
    (void)state;
    begin();
    counting_plugin_state *counted = liana__test_plugin_state();
    size_t before = counted->compiled;
    assert_code(train(liana__test_on_plugin(""), "fits", "train.microbatch=4"), 0);
    const size_t fits = counted->compiled - before;
    before = counted->compiled;
    fail_later(LIANA__PJRT_CLIENT_COMPILE, 0, 8, "17.2G of 15.7G hbm");
    assert_code(train(liana__test_on_plugin(""), "halves", "train.microbatch=4"), 0);
    assert_int_equal(counted->compiled - before, fits);
    fail_later(LIANA__PJRT_CLIENT_COMPILE, 0, 8, "17.2G of 15.7G hbm");
    assert_refused(train(liana__test_on_plugin(""), "large", "train.microbatch=32"), 1,
                   "out of memory: ", "shards of 16 examples need about half: train.microbatch=16",
                   "train.precision=mixed_bfloat16", "train.recompute=auto computes parts of the forward pass twice",
                   "17.2G of 15.7G hbm", NULL);
    liana__test_plugin_is_clean();
}

/* A program that the compiler refuses is compiled again with the places of its ops: the message says the layer. So does
 * one of a run, where the plugin names a place. */
static void test_refused_ops_are_named(void **state)
{
    (void)state;
    begin();
    counting_plugin_state *counted = liana__test_plugin_state();
    counted->refuses = "stablehlo.convolution";
    liana__test_result result = train(liana__test_on_plugin(""), "refused", NULL);
    counted->refuses = NULL;
    assert_refused(result, 1, "layer 'conv2d' (Conv2D): ", "config.yaml:7: conv2d: ", "compiling the update",
                   "no kernel for stablehlo.convolution", NULL);
    counted->refuses = "stablehlo.convolution";
    result = train(liana__test_on_plugin(""), "leaves", "train.deterministic=true");
    counted->refuses = NULL;
    assert_refused(result, 1, "layer 'conv2d' (Conv2D): ", "config.yaml:7: conv2d: ", ", compiling: ",
                   "no kernel for stablehlo.convolution", NULL);
    char says[600];
    snprintf(says, sizeof says, "halted at op_type=\"conv\" source_file=\"%s\" source_line=7", config);
    /* An update, and an evaluation. */
    fail_later(LIANA__PJRT_LOADED_EXECUTABLE_EXECUTE, 1, 13, says);
    result = train(liana__test_on_plugin(""), "running", NULL);
    assert_refused(result, 1, "layer 'conv2d' (Conv2D): ", "config.yaml:7: conv2d: ", "running the update", "halted at",
                   NULL);
    fail_later(LIANA__PJRT_LOADED_EXECUTABLE_EXECUTE, 5, 13, says);
    result = train(liana__test_on_plugin(""), "evaluating", NULL);
    assert_refused(result, 1, "layer 'conv2d' (Conv2D): ", "config.yaml:7: conv2d: ", "running evaluation", "halted at",
                   NULL);
    liana__test_plugin_is_clean();
}

/* Every call that can fail fails once: the run ends with its message, and nothing is left. */
static void test_each_failure_is_reported(void **state)
{
    (void)state;
    begin();
    static const struct {
        int function, after;
        const char *name;
    } cases[] = {
        {LIANA__PJRT_CLIENT_CREATE, 0, "PJRT_Client_Create"},
        {LIANA__PJRT_CLIENT_ADDRESSABLE_DEVICES, 0, "PJRT_Client_AddressableDevices"},
        {LIANA__PJRT_CLIENT_COMPILE, 0, "PJRT_Client_Compile"},
        {LIANA__PJRT_CLIENT_COMPILE, 2, "PJRT_Client_Compile"},
        {LIANA__PJRT_CLIENT_BUFFER_FROM_HOST_BUFFER, 0, "PJRT_Client_BufferFromHost"},
        {LIANA__PJRT_CLIENT_BUFFER_FROM_HOST_BUFFER, 40, "PJRT_Client_BufferFromHost"},
        {LIANA__PJRT_BUFFER_TO_HOST_BUFFER, 0, "PJRT_Buffer_ToHostBuffer"},
        {LIANA__PJRT_BUFFER_TO_HOST_BUFFER, 7, "PJRT_Buffer_ToHostBuffer"},
        {LIANA__PJRT_EVENT_AWAIT, 3, "PJRT_Event_Await"},
        {LIANA__PJRT_EVENT_AWAIT, 60, "PJRT_Event_Await"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char run[16];
        snprintf(run, sizeof run, "fail%zu", i);
        fail_later(cases[i].function, cases[i].after, 13, "it does not work");
        assert_refused(train(liana__test_on_plugin(""), run, "train.epochs=1"), 1, cases[i].name, "it does not work",
                       NULL);
        liana__test_plugin_is_clean();
    }
}

/* ---- names ---- */

static void test_devices_that_are_not_there(void **state)
{
    (void)state;
    begin();
    assert_refused(train(liana__test_on_plugin(":7?cpu_device_count=2"), "none", NULL), 2, "there is no device 7",
                   "has 2 of the platform", NULL);
    assert_refused(train(liana__test_on_plugin("?cpu_device_count=2"), "none",
                         "train.strategy={name: mirrored, replicas: 3}"),
                   2, "the strategy mirrored with 3 devices: there is no device 2", "has 2 of the platform", NULL);
    assert_refused(train("train.device=npu", "none", NULL), 2, "there is no device 'npu'", NULL);
    assert_refused(train("train.device=gpu:x", "none", NULL), 2, "ends with ':x'", NULL);
    liana__test_plugin_is_clean();
}

/* `auto` falls back with a line; a device that was named does not. */
static void test_auto(void **state)
{
    (void)state;
    begin();
    liana__test_result result = train("train.device=auto", "auto", "train.epochs=1");
    assert_says(result.out, "device auto: ");
    assert_code(result, 0);
}

static size_t count(const char *text, const char *word)
{
    size_t found = 0;
    for (; (text = strstr(text, word)); text += strlen(word)) found++;
    return found;
}

static void test_devices_command(void **state)
{
    (void)state;
    begin();
    const char *device = liana__test_plugin_device("?cpu_device_count=3");
    liana__test_result result = liana__test_command("devices", device, "--json");
    assert_int_equal(count(result.out, "\"event\": \"device\""), 3);
    assert_int_equal(count(result.out, "\"interface\": \"0."), 3);
    assert_says(result.out, ":2?cpu_device_count=3\"");
    assert_code(result, 0);
    liana__test_plugin_state()->memory_limit = 3LL << 30;
    result = liana__test_command("devices", device);
    assert_says(result.out, ":0?cpu_device_count=3  cpu, 3.0 GiB, 0.0 GiB in use");
    assert_code(result, 0);
    result = liana__test_command("devices");
    assert_says(result.out, "cpu  ");
    assert_says(result.out, "gpu");
    assert_says(result.out, "tpu");
    assert_code(result, 0);
    assert_refused(liana__test_command("devices", "pjrt:/none.so"), 1, "there is no plugin '/none.so'", NULL);
    liana__test_plugin_is_clean();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_losses_are_the_cpus),
        cmocka_unit_test(test_nothing_is_compiled_again),
        cmocka_unit_test(test_bits_do_not_depend_on_the_devices),
        cmocka_unit_test(test_bits_of_plugins_of_several_sizes),
        cmocka_unit_test(test_all_devices),
        cmocka_unit_test(test_device_lost_and_resume),
        cmocka_unit_test(test_device_lost_at_once),
        cmocka_unit_test(test_full_device),
        cmocka_unit_test(test_programs_that_do_not_fit),
        cmocka_unit_test(test_refused_ops_are_named),
        cmocka_unit_test(test_each_failure_is_reported),
        cmocka_unit_test(test_devices_that_are_not_there),
        cmocka_unit_test(test_auto),
        cmocka_unit_test(test_devices_command),
    };
    return cmocka_run_group_tests_name("pjrt_train", tests, NULL, NULL);
}
