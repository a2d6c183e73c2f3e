/* The strategy tpu, and the precision of products. The counting plugin says that its platform is "tpu". */
#include "harness/peers.h"

#include "backends/pjrt/discovery.h"
#include "harness/command_run.h"
#include "harness/pjrt_plugin.h"
#include "harness/run_files.h"

#include <stdlib.h>
#include <string.h>

static const char *config;

static void begin(const char *platform)
{
    if (!liana__test_plugin_is_there()) skip();
    liana__test_folder();
    config = liana__test_tiny_run(60);
    counting_plugin_state *state = liana__test_plugin_state();
    state->fails = -1;
    state->memory_limit = 0;
    state->other_devices = 0;
    state->platform = platform;
}

static void end(void)
{
    counting_plugin_state *state = liana__test_plugin_state();
    state->platform = state->kind = NULL;
    state->other_devices = 0;
    liana__test_plugin_is_clean();
}

/* "key=text" in one of a few static buffers. */
static const char *setting(const char *key, const char *text)
{
    static char buffers[8][4096];
    static int next;
    char *buffer = buffers[next++ % 8];
    snprintf(buffer, sizeof buffers[0], "%s=%s", key, text);
    return buffer;
}

static liana__test_result train(const char *behind, const char *run, const char *first, const char *second)
{
    return liana__test_command("train", config, setting("train.device", liana__test_plugin_device(behind)),
                               setting("output", liana__test_path(run)), first, second ? second : "train.epochs=2");
}

/* ---- the strategy ---- */

/* All cores, each with statistics of its own: the bits of the strategy mirrored. The environment is said, and left. */
static void test_all_cores_train(void **state)
{
    (void)state;
    begin("tpu");
    setenv("TPU_WORKER_ID", "0", 1);
    setenv("TPU_ACCELERATOR_TYPE", "v5litepod-4", 1);
    setenv("TPU_CHIPS_PER_HOST_BOUNDS", "2,2,1", 1);
    liana__test_result result = train("?cpu_device_count=3", "cores", "train.strategy=tpu", NULL);
    if (!strstr(result.out, "environment of the TPU: TPU_ACCELERATOR_TYPE=v5litepod-4, TPU_WORKER_ID=0, "
                            "TPU_CHIPS_PER_HOST_BOUNDS=2,2,1\n")) {
        fail_msg("no environment in:\n%s%s", result.out, result.err);
    }
    assert_says(result.out, "3 replicas");
    assert_code(result, 0);
    assert_string_equal(getenv("TPU_WORKER_ID"), "0");
    assert_code(train("?cpu_device_count=3", "mirrored", "train.strategy=mirrored", NULL), 0);
    liana__test_assert_same_training("cores", "mirrored");
    result = liana__test_command("devices", liana__test_plugin_device("?cpu_device_count=3"));
    assert_says(result.out, "    environment TPU_ACCELERATOR_TYPE=v5litepod-4, TPU_WORKER_ID=0, ");
    assert_code(result, 0);
    unsetenv("TPU_WORKER_ID");
    unsetenv("TPU_ACCELERATOR_TYPE");
    unsetenv("TPU_CHIPS_PER_HOST_BOUNDS");
    result = train("?cpu_device_count=3", "quiet", "train.strategy=tpu", NULL);
    assert_says(result.out, "environment of the TPU: nothing is set\n");
    assert_code(result, 0);
    end();
}

/* A part of a slice would train on its own, and nobody would notice. */
static void test_a_part_of_a_slice(void **state)
{
    (void)state;
    begin("tpu");
    liana__test_plugin_state()->other_devices = 4;
    assert_refused(train("?cpu_device_count=4", "part", "train.strategy=tpu", NULL), 1, "the slice has 8 cores",
                   "this host has 4", "TPU_WORKER_HOSTNAMES=localhost", "multi_worker");
    end();
}

static void test_other_platforms(void **state)
{
    (void)state;
    begin(NULL);
    assert_refused(train("", "other", "train.strategy=tpu", NULL), 2,
                   "the strategy tpu computes on a device of the "
                   "platform tpu",
                   "is one of cpu", "mirrored");
    assert_refused(liana__test_command("train", config, "train.strategy=tpu", "train.device=reference",
                                       setting("output", liana__test_path("slow"))),
                   2, "'reference' is one of reference");
    assert_refused(train("", "options", "train.strategy={name: tpu, replicas: 2}", NULL), 2, "replicas");
    end();
}

/* The device need not be named. Missing devices are named, with the remedy. */
static void test_no_tpu(void **state)
{
    (void)state;
    liana__error error;
    liana__test_folder();
    config = liana__test_tiny_run(20);
    if (liana__pjrt_find_hardware("tpu", &error) == LIANA_OK) liana__test_skip("this machine has a TPU");
    assert_refused(liana__test_command("train", config, "train.strategy=tpu",
                                       setting("output", liana__test_path("none"))),
                   1, "the strategy tpu: ", "this machine has no TPU", "'liana devices'",
                   "train.device='pjrt:cpu?cpu_device_count=8' train.strategy=mirrored");
}

/* ---- advice ---- */

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)); text += strlen(part)) count++;
    return count;
}

/* A run on a TPU begins with what tiles waste of it, once, and the same as `liana plan` says. */
static void test_advice_at_the_start(void **state)
{
    (void)state;
    begin("tpu");
    liana__test_plugin_state()->kind = "TPU v5 lite";
    liana__test_result result = train("", "advised", "train.microbatch=6", "train.batch_size=12");
    static const char *const lines[] = {
        "TPU v5e, shards of 6 examples:\n",
        "Products use at most ",
        "- Shards of 6 examples are padded to 8: take 8 (train.microbatch).\n",
        " features cost as much as 128.\n",
        " MiB that the backward pass reads.\n",
        "Of a core's 16 GiB that is ",
        "More: liana plan CONFIG --device tpu\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (!strstr(result.out, lines[i])) fail_msg("no '%s' in:\n%s%s", lines[i], result.out, result.err);
    }
    assert_int_equal(count_of(result.out, "More: liana plan"), 1);
    assert_compare(count_of(result.out, "features cost as much"), <=, 3);
    assert_code(result, 0);
    liana__test_result plan =
        liana__test_command("plan", config, "--device", "tpu", "train.microbatch=6", "train.batch_size=12");
    assert_says(plan.out, lines[2]);
    assert_code(plan, 0);
    /* An evaluation trains nothing. */
    result = liana__test_command("evaluate", liana__test_path("advised"), "--allow-plugins");
    assert_never_says(result.out, "features cost as much");
    assert_code(result, 0);
    end();
}

/* The memory is the device's own; a generation that nobody knows, and a plugin that says nothing, are no error. */
static void test_advice_for_memory(void **state)
{
    (void)state;
    begin("tpu");
    liana__test_plugin_state()->kind = "TPU v99";
    liana__test_plugin_state()->memory_limit = 3LL << 30;
    liana__test_result result = train("?cpu_device_count=2", "unknown", "train.strategy=tpu", NULL);
    if (!strstr(result.out, "TPU of an unknown generation, shards of ")) fail_msg("%s%s", result.out, result.err);
    assert_says(result.out, "Of a core's 3 GiB that is ");
    assert_int_equal(count_of(result.out, "More: liana plan"), 1);
    assert_code(result, 0);
    liana__test_plugin_state()->memory_limit = 0;
    result = train("", "silent", "train.epochs=1", NULL);
    assert_says(result.out, "More: liana plan");
    assert_never_says(result.out, "Of a core's");
    assert_code(result, 0);
    liana__test_plugin_state()->platform = "cuda";
    result = train("", "other", "train.epochs=1", NULL);
    assert_never_says(result.out, "liana plan");
    assert_code(result, 0);
    end();
}

/* ---- exact mode ---- */

static bool options_have(const char *name)
{
    const counting_plugin_state *counted = liana__test_plugin_state();
    return memmem(counted->options, counted->options_size, name, strlen(name)) != NULL;
}

/* The settings that make programs repeatable reach the compiler, and are told; without train.deterministic neither
 * happens. */
static void test_exact_mode_sets_flags(void **state)
{
    (void)state;
    begin("cuda");
    static const struct {
        const char *platform, *says, *flags[2];
    } cases[] = {
        {"cuda",
         "deterministic: programs are compiled with xla_gpu_deterministic_ops=true, xla_gpu_autotune_level=0\n",
         {"xla_gpu_deterministic_ops\x12\x02\x10\x01", "xla_gpu_autotune_level\x12\x02\x18"}},
        {"cpu",
         "deterministic: programs are compiled with xla_cpu_multi_thread_eigen=false; bits are those of the number of "
         "the "
         "plugin's threads: the processors (or NPROC), or its devices if they are more\n",
         {"xla_cpu_multi_thread_eigen\x12\x02\x10", NULL}},
        {"tpu", "deterministic: programs of the platform tpu are repeatable as they are\n", {NULL, NULL}},
        {"npu", "deterministic: nothing is known that makes programs of the platform npu repeatable\n", {NULL, NULL}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char run[32];
        snprintf(run, sizeof run, "exact%zu", i);
        liana__test_plugin_state()->platform = cases[i].platform;
        liana__test_result result = train("", run, "train.deterministic=true", "train.epochs=1");
        if (!strstr(result.out, cases[i].says)) fail_msg("no '%s' in:\n%s%s", cases[i].says, result.out, result.err);
        assert_code(result, 0);
        for (size_t k = 0; k < 2; k++) {
            if (cases[i].flags[k] && !options_have(cases[i].flags[k])) fail_msg("no %s", cases[i].flags[k]);
        }
        assert_int_equal(options_have("xla_gpu_"), i == 0);
    }
    liana__test_plugin_state()->platform = "cuda";
    liana__test_result result = train("", "fast", "train.deterministic=false", "train.epochs=1");
    assert_never_says(result.out, "deterministic:");
    assert_false(options_have("xla_gpu_"));
    assert_code(result, 0);
    end();
}

/* ---- precision ---- */

/* Products are in f32 unless a device may do them as it likes; both are programs of their own in the cache. */
static void test_products(void **state)
{
    (void)state;
    begin("cuda");
    char dumps[512], cache[512];
    counting_plugin_state *counted = liana__test_plugin_state();
    snprintf(dumps, sizeof dumps, "%s", liana__test_path("dumps"));
    snprintf(cache, sizeof cache, "%s", liana__test_path("programs"));
    setenv("LIANA_PROGRAM_CACHE", cache, 1);
    setenv("LIANA_DUMP", dumps, 1);
    assert_code(train("", "highest", "train.precision=float32", NULL), 0);
    assert_int_equal(liana__test_count_dumps("precision HIGHEST"), 1);
    size_t before = counted->compiled;
    liana__test_result result = train("", "default", "train.precision=float32_default", NULL);
    assert_says(result.out, "precision: float32_default (this device may round the operands of products)");
    assert_code(result, 0);
    assert_compare(counted->compiled, >, before);
    assert_int_equal(liana__test_count_dumps("dot_general"), 1);
    assert_int_equal(liana__test_count_dumps("precision HIGHEST"), 0);
    unsetenv("LIANA_DUMP");
    before = counted->compiled;
    assert_code(train("", "again", "train.precision=float32_default", NULL), 0);
    assert_int_equal(counted->compiled, before);
    /* This plugin computes f32 in any case. */
    liana__test_assert_same_training("highest", "default");
    setenv("LIANA_PROGRAM_CACHE", "", 1);
    assert_refused(train("", "default", "train.precision=float32", "--resume"), 2, "train.precision");
    end();
}

static void test_what_auto_is(void **state)
{
    (void)state;
    begin("tpu");
    static const char *const says[][2] = {
        {"tpu", "precision: mixed_bfloat16 (auto: the platform tpu multiplies bf16)"},
        {"cuda", "precision: mixed_bfloat16 (auto: the platform cuda multiplies bf16)"},
        {"cpu", "precision: float32 (auto: the platform cpu multiplies no bf16)"},
    };
    for (size_t i = 0; i < 3; i++) {
        char run[16];
        snprintf(run, sizeof run, "auto%zu", i);
        liana__test_plugin_state()->platform = says[i][0];
        liana__test_result result = train("", run, "train.precision=auto", "train.epochs=1");
        if (!strstr(result.out, says[i][1])) fail_msg("expected '%s' in:\n%s%s", says[i][1], result.out, result.err);
        assert_code(result, 0);
    }
    end();
}

/* On the cpu device there is one way to multiply. */
static void test_cpu_has_one_precision(void **state)
{
    (void)state;
    liana__test_folder();
    config = liana__test_tiny_run(40);
    const char *one = setting("output", liana__test_path("float32")),
               *other = setting("output", liana__test_path("own"));
    assert_code(liana__test_command("train", config, "train.epochs=1", one), 0);
    liana__test_result result =
        liana__test_command("train", config, "train.epochs=1", other, "train.precision=float32_default");
    assert_says(result.out, "precision: float32_default (on a CPU the same as float32)");
    assert_code(result, 0);
    liana__test_assert_same_training("float32", "own");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_cores_train),       cmocka_unit_test(test_a_part_of_a_slice),
        cmocka_unit_test(test_other_platforms),       cmocka_unit_test(test_no_tpu),
        cmocka_unit_test(test_advice_at_the_start),   cmocka_unit_test(test_advice_for_memory),
        cmocka_unit_test(test_exact_mode_sets_flags), cmocka_unit_test(test_products),
        cmocka_unit_test(test_what_auto_is),          cmocka_unit_test(test_cpu_has_one_precision),
    };
    return cmocka_run_group_tests_name("pjrt_tpu", tests, NULL, NULL);
}
