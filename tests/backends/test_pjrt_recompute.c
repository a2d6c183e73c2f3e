/* train.recompute behind a plugin: the compiled program needs less, the losses are those of the training that keeps
 * all. */
#include "harness/harness.h"

#include "backends/pjrt/interface.h"
#include "harness/command_run.h"
#include "harness/pjrt_plugin.h"
#include "harness/run_files.h"

#include <stdlib.h>
#include <string.h>

enum { EPOCHS = 2 };

static char config[512];

static const char text[] = "data: {train: data/train/*.tfrec, class_names: data/classes.txt}\n"
                           "model:\n"
                           "  layers:\n"
                           "    - Conv2D: {filters: 16, kernel_size: 3, padding: same, activation: relu}\n"
                           "    - Conv2D: {filters: 16, kernel_size: 3, padding: same}\n"
                           "    - BatchNormalization\n"
                           "    - Activation: {activation: relu}\n"
                           "    - Conv2D: {filters: 16, kernel_size: 3, padding: same}\n"
                           "    - BatchNormalization\n"
                           "    - Activation: {activation: relu}\n"
                           "    - Conv2D: {filters: 16, kernel_size: 3, padding: same}\n"
                           "    - BatchNormalization\n"
                           "    - Activation: {activation: relu}\n"
                           "    - Conv2D: {filters: 16, kernel_size: 3, padding: same}\n"
                           "    - BatchNormalization\n"
                           "    - Activation: {activation: relu}\n"
                           "    - Conv2D: {filters: 16, kernel_size: 3, padding: same}\n"
                           "    - BatchNormalization\n"
                           "    - Activation: {activation: relu}\n"
                           "    - Dropout: {rate: 0.1}\n"
                           "    - GlobalAveragePooling2D\n"
                           "    - Dense: {units: 3, activation: softmax}\n"
                           "train: {epochs: 2, batch_size: 16, microbatch: 16, seed: 3, optimizer: Adam}\n";

static void begin(void)
{
    liana__test_begin_on_plugin();
    assert_code(liana__test_command("synth", "flowers", "classes=3", "images=24", "image_size=64", "--out",
                                    liana__test_path("data")),
                0);
    snprintf(config, sizeof config, "%s", liana__test_write("config.yaml", text, strlen(text)));
}

static liana__test_result train(const char *run, const char *first, const char *second, const char *third)
{
    return liana__test_command("train", config, liana__test_on_plugin("?cpu_device_count=1"), liana__test_output(run),
                               first, second, third ? third : "train.epochs=2");
}

/* The line of a run about memory: that of the training, and that without recomputation. */
static void read_memory(const char *out, int *parts, int *takes, int *instead)
{
    const char *line = strstr(out, "recompute: "), *memory = line ? strstr(line, "training takes ") : NULL;
    if (!memory || sscanf(line, "recompute: %d parts", parts) != 1 ||
        sscanf(memory, "training takes %d MiB instead of %d", takes, instead) != 2) {
        fail_msg("no line about recomputing in:\n%s", out);
    }
}

static void assert_same_losses(const char *a, const char *b)
{
    double ours[EPOCHS], theirs[EPOCHS];
    assert_int_equal(liana__test_history(a, "loss", ours, EPOCHS), EPOCHS);
    assert_int_equal(liana__test_history(b, "loss", theirs, EPOCHS), EPOCHS);
    for (size_t i = 0; i < EPOCHS; i++) assert_near(ours[i], theirs[i], 5e-6 * ours[i], i);
}

/* The compiler's own count of a whole update comes down below the limit, and a resume keeps the limit. */
static void test_a_whole_update_needs_less(void **state)
{
    (void)state;
    begin();
    char dumps[512];
    int parts = 0, takes = 0, instead = 0, all = 0;
    liana__test_result result = train("all", "train.recompute=auto", "train.memory=4096", NULL);
    const char *none = strstr(result.out, "recompute: none (auto: training takes ");
    if (!none || sscanf(strstr(none, "takes"), "takes %d", &all) != 1) fail_msg("%s%s", result.out, result.err);
    assert_code(result, 0);
    snprintf(dumps, sizeof dumps, "%s", liana__test_path("dumps"));
    setenv("LIANA_DUMP", dumps, 1);
    char limit[64];
    snprintf(limit, sizeof limit, "train.memory=%d", all - all / 8);
    result = train("less", "train.recompute=auto", limit, NULL);
    unsetenv("LIANA_DUMP");
    read_memory(result.out, &parts, &takes, &instead);
    assert_code(result, 0);
    assert_compare(parts, >, 0);
    assert_int_equal(instead, all);
    assert_compare(takes, <=, all - all / 8);
    assert_compare(liana__test_count_dumps("optimization_barrier"), >=, 1);
    assert_same_losses("all", "less");
    /* Half a run, and the rest of it, are the whole one. */
    assert_code(train("half", "train.recompute=auto", limit, "train.epochs=1"), 0);
    result = train("half", "train.recompute=auto", "--resume", NULL);
    read_memory(result.out, &parts, &takes, &instead);
    assert_code(result, 0);
    liana__test_assert_same_training("less", "half");
    liana__test_plugin_is_clean();
}

/* ---- exact mode ---- */

/* A run in shards of 8 on this number of devices, whose losses must stay within `limit` MiB. */
static liana__test_result train_exactly(const char *run, const char *limit, int devices, const char *more)
{
    char strategy[96], memory[64];
    snprintf(strategy, sizeof strategy, "train.strategy={name: mirrored, replicas: %d}", devices);
    snprintf(memory, sizeof memory, "train.memory=%s", limit);
    return liana__test_command("train", config, liana__test_on_plugin("?cpu_device_count=8"), liana__test_output(run),
                               strategy, "train.deterministic=true", "train.microbatch=8", "train.recompute=auto",
                               memory, more ? more : "train.epochs=2");
}

/* The memory of a run that computes nothing twice. */
static int take_all(const char *run, int devices)
{
    int all = 0;
    liana__test_result result = train_exactly(run, "4096", devices, NULL);
    const char *none = strstr(result.out, "recompute: none (auto: training takes ");
    if (!none || sscanf(strstr(none, "takes"), "takes %d", &all) != 1) fail_msg("%s%s", result.out, result.err);
    assert_code(result, 0);
    return all;
}

/* The program of a shard needs less, and gives the same bits on 1, 2 and 8 devices. */
static void test_shards_need_less(void **state)
{
    (void)state;
    begin();
    const int all = take_all("all", 1), counts[] = {1, 2, 8};
    char limit[16], run[16];
    snprintf(limit, sizeof limit, "%d", all - all / 5);
    for (int i = 0; i < 3; i++) {
        int parts = 0, takes = 0, instead = 0;
        snprintf(run, sizeof run, "less%d", counts[i]);
        liana__test_result result = train_exactly(run, limit, counts[i], NULL);
        read_memory(result.out, &parts, &takes, &instead);
        assert_code(result, 0);
        assert_compare(parts, >, 0);
        assert_int_equal(instead, all);
        assert_compare(takes, <=, all - all / 5);
        assert_same_losses("all", run);
        if (i > 0) liana__test_assert_same_training("less1", run);
    }
    assert_code(train_exactly("half", limit, 1, "train.epochs=1"), 0);
    assert_code(train_exactly("half", limit, 1, "--resume"), 0);
    liana__test_assert_same_training("less1", "half");
    liana__test_plugin_is_clean();
}

/* The first device holds the optimizer's slots, so that the others have more room. They take the first one's choice,
 * and its program: nothing more is compiled for them. */
static void test_devices_compute_the_same_parts_twice(void **state)
{
    (void)state;
    begin();
    static const char pool[] = "GlobalAveragePooling2D\n", wide[] = "    - Dense: {units: 60000}\n";
    char more[sizeof text + sizeof wide];
    const size_t before = (size_t)(strstr(text, pool) - text) + strlen(pool);
    snprintf(more, sizeof more, "%.*s%s%s", (int)before, text, wide, text + before);
    snprintf(config, sizeof config, "%s", liana__test_write("wide.yaml", more, strlen(more)));
    counting_plugin_state *counted = liana__test_plugin_state();
    const int all = take_all("all", 1);
    char limit[16];
    snprintf(limit, sizeof limit, "%d", all - 4); /* a part of the slots, of 9 MiB */
    size_t compiled[2];
    for (int devices = 1; devices <= 2; devices++) {
        char run[16];
        int parts = 0, takes = 0, instead = 0;
        snprintf(run, sizeof run, "wide%d", devices);
        const size_t start = counted->compiled;
        liana__test_result result = train_exactly(run, limit, devices, "train.epochs=1");
        compiled[devices - 1] = counted->compiled - start;
        read_memory(result.out, &parts, &takes, &instead);
        assert_code(result, 0);
        assert_int_equal(instead, all);
    }
    assert_int_equal(compiled[0], compiled[1]);
    liana__test_assert_same_training("wide1", "wide2");
    liana__test_plugin_is_clean();
}

static void test_shards_that_do_not_fit(void **state)
{
    (void)state;
    begin();
    assert_refused(train_exactly("none", "1", 2, NULL), 1, "training needs at least ", "but may take 1 MiB",
                   "a smaller train.microbatch", "train.memory", NULL);
    /* Refused by the compiler itself, as that of TPUs does: with a limit, each level of it; without one, the first. */
    counting_plugin_state *counted = liana__test_plugin_state();
    counted->fails = LIANA__PJRT_CLIENT_COMPILE;
    counted->fails_after = 0;
    counted->fails_with = 8;
    counted->fails_saying = "17.2G of 15.7G hbm";
    assert_refused(train("large", "train.deterministic=true", "train.recompute=none", NULL), 1,
                   "out of memory: ", "train.microbatch=8", "train.recompute=auto computes parts", "17.2G of 15.7G hbm",
                   NULL);
    liana__test_plugin_is_clean();
}

static void test_what_nothing_reaches(void **state)
{
    (void)state;
    begin();
    assert_refused(train("none", "train.recompute=auto", "train.memory=1", NULL), 1, "training needs at least ",
                   "but may take 1 MiB", "a smaller train.microbatch", "train.memory", NULL);
    liana__test_plugin_is_clean();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_whole_update_needs_less),
        cmocka_unit_test(test_shards_need_less),
        cmocka_unit_test(test_devices_compute_the_same_parts_twice),
        cmocka_unit_test(test_shards_that_do_not_fit),
        cmocka_unit_test(test_what_nothing_reaches),
    };
    return cmocka_run_group_tests_name("pjrt_recompute", tests, NULL, NULL);
}
