/* Strategies on devices that are named: some of a plugin's, some of several servers'; refusals. */
#include "harness/harness.h"

#include "base/context.h"
#include "harness/cluster/cluster_run.h"
#include "harness/command_run.h"
#include "harness/device_server.h"
#include "harness/one_context.h"
#include "harness/pjrt_plugin.h"
#include "harness/run_files.h"
#include "step/replicas/replicas.h"

#include <liana/liana.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_EXAMPLES = 60 };

/* "pjrt:PLUGIN:NUMBER" of the counting plugin, with `behind`. */
static const char *name_of(int number, const char *behind)
{
    static char names[4][512];
    static int next;
    char *name = names[next++ % 4];
    const char *plugin = liana__test_plugin_device("");
    snprintf(name, sizeof names[0], "%s:%d%s", plugin, number, behind);
    return name;
}

/* ---- devices of a plugin ---- */

/* A run on devices 3 and 1 of four has the bits of one on the first two, and of one device. */
static void test_training_on_some(void **state)
{
    (void)state;
    liana__test_begin_on_plugin();
    const char *config = liana__test_tiny_run(NUM_EXAMPLES), *exact = "train.deterministic=true";
    char named[1200];
    snprintf(named, sizeof named, "train.strategy={name: mirrored, devices: ['%s', '%s']}", name_of(3, ""),
             name_of(1, ""));
    char device[512];
    snprintf(device, sizeof device, "%s", liana__test_on_plugin("?cpu_device_count=4"));
    assert_code(liana__test_command("train", config, device, exact, liana__test_output("one")), 0);
    liana__test_result result = liana__test_command("train", config, device, exact, named, liana__test_output("some"));
    if (!strstr(result.out, "device cpu:3 (cpu), ")) fail_msg("%s%s", result.out, result.err);
    assert_says(result.out, "; 2 replicas");
    assert_code(result, 0);
    liana__test_assert_same_training("one", "some");
    /* Whole updates, one program for both devices. */
    assert_code(liana__test_command("train", config, device, named, liana__test_output("whole")), 0);
    liana__test_plugin_is_clean();
}

static void test_which_are_opened(void **state)
{
    (void)state;
    liana__test_begin_on_plugin();
    liana_replicas *replicas;
    liana_replicas_options options = {.strategy = {.name = "mirrored"}};
    char last[512];
    snprintf(last, sizeof last, "%s", name_of(2, "?cpu_device_count=3"));
    options.strategy.devices[0] = last;
    options.strategy.devices[1] = name_of(0, "?cpu_device_count=3");
    assert_ok(liana_replicas_open(context, &options, &replicas), &context->error);
    assert_int_equal(liana_replicas_info(replicas).num_in_sync, 2);
    assert_string_equal(replicas->devices.items[0]->opened_as, options.strategy.devices[0]);
    assert_string_equal(replicas->devices.items[1]->opened_as, options.strategy.devices[1]);
    /* The strategy that is told has texts of its own. */
    *last = 0;
    const liana_strategy strategy = liana_replicas_info(replicas).strategy;
    assert_string_equal(strategy.devices[0], replicas->devices.items[0]->opened_as);
    assert_null(strategy.devices[2]);
    liana_replicas_close(replicas);
    /* The plugin's options are those of the training's device, and a name as TensorFlow writes it is one of this
     * process. */
    char device[512];
    snprintf(device, sizeof device, "%s", liana__test_plugin_device("?cpu_device_count=2"));
    options.device = device;
    options.strategy.devices[0] = name_of(1, "");
    options.strategy.devices[1] = NULL;
    assert_ok(liana_replicas_open(context, &options, &replicas), &context->error);
    assert_string_equal(replicas->devices.items[0]->opened_as, name_of(1, "?cpu_device_count=2"));
    liana_replicas_close(replicas);
    liana__test_plugin_is_clean();
}

/* ---- refusals ---- */

static void refuse(const char *device, const char *strategy, liana_status expected, const char *text, const char *more)
{
    liana_replicas *replicas;
    const liana_replicas_options options = {.device = device, .strategy = {.name = strategy}};
    assert_fails(liana_replicas_open(context, &options, &replicas), expected, &context->error, text, more);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    refuse(NULL, "{name: mirrored, devices: [cpu:0, cpu:1]}", LIANA_INVALID_CONFIG, "'cpu:0' cannot be named",
           "replicas");
    refuse(NULL, "{name: mirrored, devices: [qpu:0]}", LIANA_INVALID_CONFIG,
           "strategy.devices: there is no device 'qpu:0'", "gpu");
    refuse(NULL, "{name: mirrored, devices: [gpu:0, gpu]}", LIANA_INVALID_CONFIG, "'gpu:0' is there twice", "once");
    refuse(NULL, "{name: mirrored, devices: [/gpu:1, '/job:localhost/device:GPU:1']}", LIANA_INVALID_CONFIG,
           "'gpu:1' is there twice", "once");
    refuse(NULL, "{name: mirrored, devices: [gpu:0, tpu:1]}", LIANA_INVALID_CONFIG, "'gpu:0' and 'tpu:1'",
           "different kinds");
    refuse(NULL, "{name: mirrored, devices: [gpu:x]}", LIANA_INVALID_CONFIG, "'gpu:x'", "number");
    refuse(NULL, "{name: mirrored, replicas: 3, devices: [gpu:0, gpu:1]}", LIANA_INVALID_CONFIG, "replicas is 3",
           "names 2");
    refuse("tpu", "{name: mirrored, devices: [gpu:0, gpu:1]}", LIANA_INVALID_CONFIG, "'gpu:0'", "'tpu'");
    refuse("gpu:1", "{name: mirrored, devices: [gpu:0, gpu:1]}", LIANA_INVALID_CONFIG, "'gpu:0'", "'gpu:1'");
    refuse(NULL, "{name: mirrored, devices: [/job:worker/gpu:0]}", LIANA_INVALID_CONFIG, "all tasks",
           "/job:worker/task:0/gpu:0");
    refuse(NULL, "{name: one_device, devices: [gpu:0]}", LIANA_INVALID_CONFIG, "unknown key", "'devices'");
}

/* A number that is not there: the error lists the ones that are. */
static void test_a_device_that_is_missing(void **state)
{
    (void)state;
    liana__test_begin_on_plugin();
    char strategy[1600], there[1600];
    snprintf(strategy, sizeof strategy, "{name: mirrored, devices: ['%s', '%s']}", name_of(0, "?cpu_device_count=2"),
             name_of(5, "?cpu_device_count=2"));
    snprintf(there, sizeof there, "there are: %s, %s", name_of(0, ""), name_of(1, ""));
    refuse(NULL, strategy, LIANA_INVALID_CONFIG, "there is no device 5", there);
    liana__test_plugin_is_clean();
}

static void sum_up(liana_shard *shard, void *user)
{
    (void)user;
    liana_shard_sum(shard, "x", liana_shard_input(shard, "x"));
}

/* A step's device is the first of them. */
static void test_the_device_of_a_step(void **state)
{
    (void)state;
    liana__test_begin_on_plugin();
    liana_device *device;
    liana_variables *variables;
    liana_step *step;
    const liana_component x = {"x", LIANA_F32, LIANA_SCALAR};
    liana_step_options options = {
        .shard = sum_up, .components = &x, .num_components = 1, .batch_size = 4, .microbatch = 2};
    options.strategy.name = "mirrored";
    assert_ok(liana_device_open(context, name_of(1, "?cpu_device_count=3"), &device), &context->error);
    assert_ok(liana_variables_create(device, &variables), &context->error);
    options.variables = variables;
    options.strategy.devices[0] = name_of(0, "");
    options.strategy.devices[1] = name_of(1, "");
    assert_fails(liana_step_create(context, &options, &step), LIANA_INVALID_CONFIG, &context->error,
                 "but the training's device is", "name it first");
    options.strategy.devices[0] = name_of(1, "");
    options.strategy.devices[1] = name_of(2, "");
    assert_ok(liana_step_create(context, &options, &step), &context->error);
    assert_int_equal(liana_step_info(step).num_replicas_in_sync, 2);
    const float values[4] = {1, 2, 3, 4};
    liana_step_results results;
    const liana_step_input batch = {.arrays = {{"x", LIANA_F32, liana_shape_of(4), values}}};
    assert_ok(liana_step_run(step, &batch, &results), &context->error);
    assert_compare(results.sums[0], ==, 10);
    liana_step_destroy(step);
    liana_variables_destroy(variables);
    liana_device_close(device);
    liana__test_plugin_is_clean();
}

/* ---- devices of servers ---- */

static void test_some_servers(void **state)
{
    (void)state;
    enum { SERVERS = 3 };
    const char *const *sockets = liana__test_sockets(SERVERS);
    pid_t servers[SERVERS];
    for (int i = 0; i < SERVERS; i++) servers[i] = liana__test_start_server(sockets[i], NULL, 1 << 30, 4);
    const char *config = liana__test_tiny_run(NUM_EXAMPLES);
    char workers[1024];
    snprintf(workers, sizeof workers, "cluster.workers=[\"%s\", \"%s\", \"%s\"]", sockets[0], sockets[1], sockets[2]);
    assert_code(liana__test_command("train", config, liana__test_output("alone")), 0);
    liana__test_result result = liana__test_command(
        "train", config, workers, liana__test_output("served"),
        "train.strategy={name: mirrored, devices: [/job:worker/task:2/cpu:0, '/job:worker/task:0/device:CPU:0']}");
    if (!strstr(result.out, "2 replicas")) fail_msg("%s%s", result.out, result.err);
    assert_code(result, 0);
    liana__test_assert_same_training("alone", "served");
    assert_refused(liana__test_command("train", config, workers, liana__test_output("none"),
                                       "train.strategy={name: mirrored, devices: [/job:worker/task:7/cpu:0]}"),
                   2, "no task 7");
    for (int i = 0; i < SERVERS; i++) liana__test_stop_server(servers[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training_on_some),     cmocka_unit_test(test_which_are_opened),
        cmocka_unit_test(test_what_is_refused),      cmocka_unit_test(test_a_device_that_is_missing),
        cmocka_unit_test(test_the_device_of_a_step), cmocka_unit_test(test_some_servers),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
