/* data.cache: device. Updates whose examples stay on the device give the same bytes as updates whose examples are sent,
 * and send where they are instead of them. */
#include "harness/command_run.h"
#include "harness/pjrt_plugin.h"
#include "harness/run_files.h"
#include "harness/text_files.h"
#include "harness/tiny_records.h"

#include "base/file.h"

#include <stdlib.h>

enum { NUM_EXAMPLES = 100, BATCH = 32 /* four updates of an epoch, the last one of 4 examples */ };

static const char *config;

static void begin(void)
{
    liana__test_begin_on_plugin();
    config = liana__test_tiny_run(NUM_EXAMPLES);
}

static void check_same_file(const char *a, const char *b, const char *name)
{
    char first[256], second[256], path[700];
    snprintf(first, sizeof first, "%s/%s", a, name);
    snprintf(second, sizeof second, "%s/%s", b, name);
    snprintf(path, sizeof path, "%s", liana__test_path(first));
    assert_same_file(path, liana__test_path(second));
}

static void check_same_runs(const char *a, const char *b)
{
    char first[700], second[700];
    snprintf(first, sizeof first, "%s/variables.safetensors", liana__test_newest_checkpoint(a));
    snprintf(second, sizeof second, "%s/variables.safetensors", liana__test_newest_checkpoint(b));
    assert_same_file(first, second);
    check_same_file(a, b, "history.json");
    check_same_file(a, b, "validation_predictions.csv");
}

/* The common options of runs of a test. */
typedef struct way {
    const char *device, *strategy, *more;
} way;

static void train(const char *run, const char *cache, const char *steps, const way *how)
{
    assert_code(liana__test_command("train", config, liana__test_output(run), liana__test_override("data.cache", cache),
                                    liana__test_override("train.steps_per_execution", steps),
                                    liana__test_override("train.device", how->device), how->strategy,
                                    how->more ? how->more : "train.epochs=2"),
                0);
}

/* In groups of four updates. */
static void check_groups(const way *how)
{
    train("memory", "memory", "1", how);
    train("four", "device", "4", how);
    check_same_runs("memory", "four");
    liana__test_plugin_is_clean();
}

static void check_ways(const way *how)
{
    check_groups(how);
    train("one", "device", "1", how);
    check_same_runs("memory", "one");
    liana__test_plugin_is_clean();
}

static const char *device(const char *behind)
{
    static char name[4096];
    snprintf(name, sizeof name, "%s", liana__test_plugin_device(behind));
    return name;
}

/* ---- the same bytes ---- */

static void test_one_device(void **state)
{
    (void)state;
    begin();
    check_ways(&(way){.device = device(""), .strategy = "train.strategy=one_device"});
}

static void test_two_devices(void **state)
{
    (void)state;
    begin();
    check_ways(&(way){.device = device("?cpu_device_count=2"), .strategy = "train.strategy=mirrored"});
}

/* The rate of one update makes its weights overflow; it is explained from the host's rows, and done without. */
static void test_bad_numbers(void **state)
{
    (void)state;
    begin();
    check_groups(&(way){.device = device(""),
                        .strategy = "train.on_bad_numbers=skip",
                        .more =
                            "train.optimizer={name: SGD, momentum: 0.9, learning_rate: {name: PiecewiseConstantDecay, "
                            "boundaries: [3, 4], values: [1.0e-3, 1.0e39, 1.0e-3]}}"});
    assert_true(liana__folder_exists(liana__test_path("memory/bad-numbers-5")));
    assert_true(liana__folder_exists(liana__test_path("four/bad-numbers-5")));
}

/* A device whose memory is too small for all shards side by side computes them one after the other. */
static void test_rounds(void **state)
{
    (void)state;
    begin();
    liana__test_plugin_state()->memory_limit = 20000;
    check_groups(&(way){.device = device(""), .strategy = "train.strategy=one_device"});
    liana__test_plugin_state()->memory_limit = 0;
}

/* A run that ends within an epoch, and within a group, and goes on. */
static void test_resume(void **state)
{
    (void)state;
    begin();
    const way how = {.device = device(""), .strategy = "train.strategy=one_device", .more = "train.epochs=3"};
    train("memory", "memory", "1", &how);
    for (int part = 0; part < 2; part++) {
        assert_code(liana__test_command("train", config, liana__test_output("part"), "data.cache=device",
                                        liana__test_override("train.steps_per_execution", part ? "4" : "3"),
                                        liana__test_override("train.device", how.device), how.strategy,
                                        "train.epochs=3", part ? "--resume" : "train.steps=6"),
                    0);
    }
    check_same_runs("memory", "part");
    liana__test_plugin_is_clean();
}

/* Records that come several times in an epoch, and records that cannot be used: images from JPEGs. */
static void test_records(void **state)
{
    (void)state;
    liana__test_begin_on_plugin();
    static const liana__test_odd odd[] = {{.record = 5, .label_plus = 1003}, {.record = 30, .unlabelled = true}};
    static const char text[] = "data: {train: train-*.tfrec, validation: validation.tfrec, num_classes: 4, "
                               "on_bad_record: skip}\n"
                               "model: {layers: [Conv2D: {filters: 4, kernel_size: 3, activation: relu}, "
                               "BatchNormalization: {momentum: 0.9}, Dropout: {rate: 0.25}, Flatten, "
                               "Dense: {units: 4, activation: softmax}]}\n"
                               "train: {epochs: 2, batch_size: 16, microbatch: 4, seed: 3}\n";
    liana__test_tiny_records("train-0.tfrec", 1, 0, 40, NULL, 0);
    liana__test_tiny_records("train-1.tfrec", 1, 40, 40, odd, 2);
    liana__test_tiny_records("validation.tfrec", 1, 100, 20, NULL, 0);
    liana__test_damage_record(liana__test_path("train-0.tfrec"), 0);
    config = liana__test_write("config.yaml", text, sizeof text - 1);
    check_groups(&(way){.device = device(""), .strategy = "train.strategy=one_device"});
    check_same_file("memory", "four", "bad_records.csv");
    char *listed = liana__test_read_text("four/bad_records.csv");
    assert_says(listed, "train-0.tfrec");
    free(listed);
}

static void test_oversampling(void **state)
{
    (void)state;
    begin();
    check_groups(&(way){.device = device("?cpu_device_count=2"),
                        .strategy = "train.strategy=mirrored",
                        .more = "data.oversample.target_count=40"});
}

/* ---- sent bytes ---- */

/* Of an update: where its examples are, their positions, which of them are there; learning rate and such, and a
 * count. */
static void check_sent(const char *behind, const char *strategy, size_t num_devices)
{
    begin();
    const size_t scalars = 3, rows = BATCH / num_devices;
    size_t uploads[2], bytes[2];
    const char *const epochs[] = {"train.epochs=1", "train.epochs=3"};
    for (int i = 0; i < 2; i++) {
        counting_plugin_state *counts = liana__test_plugin_state();
        const size_t uploaded = counts->uploaded, bytes_uploaded = counts->bytes_uploaded;
        assert_code(liana__test_command("train", config, liana__test_output(i ? "two" : "one"), "data.cache=device",
                                        liana__test_override("train.device", liana__test_plugin_device(behind)),
                                        strategy, "data.validation=null", "data.test=null",
                                        "checkpoint.every_epoch=false", epochs[i]),
                    0);
        uploads[i] = counts->uploaded - uploaded;
        bytes[i] = counts->bytes_uploaded - bytes_uploaded;
    }
    /* Four updates in each of two more epochs. */
    assert_int_equal(uploads[1] - uploads[0], 2 * 4 * num_devices * 5);
    assert_int_equal(bytes[1] - bytes[0], 2 * 4 * num_devices * (rows * (4 + 8 + 4) + 4 * scalars + 4));
    liana__test_plugin_is_clean();
}

static void test_sent(void **state)
{
    (void)state;
    check_sent("", "train.strategy=one_device", 1);
}

static void test_sent_to_two(void **state)
{
    (void)state;
    check_sent("?cpu_device_count=2", "train.strategy=mirrored", 2);
}

/* ---- refusals ---- */

static void test_refused(void **state)
{
    (void)state;
    begin();
    static const struct {
        const char *setting, *found;
    } bad[] = {
        {"data.augment=[{random_flip: {direction: horizontal}}]", "remove data.augment"},
        {"train.deterministic=true", "leave train.deterministic out"},
        {"stages=[{epochs: 3, train_all: true}]", "each of the stages"},
        {"train.device=cpu", "set data.cache to memory"},
    };
    char where[4096];
    snprintf(where, sizeof where, "%s", liana__test_on_plugin(""));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_refused(liana__test_command("train", config, liana__test_output("none"), "data.cache=device", where,
                                           bad[i].setting),
                       2, "data.cache", bad[i].found);
    }
    liana__test_plugin_is_clean();
}

/* 100 examples of 12 x 12 bytes and a label: 14.5 KiB. */
static void test_no_room(void **state)
{
    (void)state;
    begin();
    liana__test_plugin_state()->memory_limit = 5000;
    assert_refused(liana__test_command("train", config, liana__test_output("none"), "data.cache=device",
                                       liana__test_on_plugin("")),
                   2, "100 examples take", "set data.cache to memory");
    liana__test_plugin_state()->memory_limit = 0;
    liana__test_plugin_is_clean();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_device), cmocka_unit_test(test_two_devices), cmocka_unit_test(test_bad_numbers),
        cmocka_unit_test(test_resume),     cmocka_unit_test(test_records),     cmocka_unit_test(test_oversampling),
        cmocka_unit_test(test_sent),       cmocka_unit_test(test_sent_to_two), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_room),    cmocka_unit_test(test_rounds),
    };
    return cmocka_run_group_tests_name("device_cache", tests, NULL, NULL);
}
