/* Real processes that begin with weights of a file: the chief alone opens it, and the others wait for its variables. */
#include "harness/cluster/cluster_run.h"
#include "harness/command_run.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT = 60, NUM_PROCESSES = 3 };
static const char *const NAMES[NUM_PROCESSES] = {"0", "1", "2"};
static char config[300], keys[600];

/* Trains in processes that have a folder each, in which the file of weights is or is not. */
static void train(const char *key, const char *out, liana__test_result *results)
{
    const bool is_warm = strcmp(key, "model.warm_start") == 0;
    const char *const *ports = liana__test_ports(NUM_PROCESSES);
    pid_t processes[NUM_PROCESSES];
    char workers[400], tasks[NUM_PROCESSES][32], folder[300], weights[NUM_PROCESSES][400];
    snprintf(folder, sizeof folder, "%s", liana__test_path(out));
    snprintf(workers, sizeof workers, "cluster.workers=[\"%s\", \"%s\", \"%s\"]", ports[0], ports[1], ports[2]);
    for (int i = 0; i < NUM_PROCESSES; i++) {
        char machine[32];
        snprintf(machine, sizeof machine, "machine%d/weights.safetensors", i);
        snprintf(weights[i], sizeof weights[i], "%s=%s%s%s", key, is_warm ? "{from: " : "", liana__test_path(machine),
                 is_warm ? "}" : "");
        snprintf(tasks[i], sizeof tasks[i], "cluster.task=worker:%d", i);
        const char *const words[] = {"train",           config,  "--out",  folder,     "train.epochs=1",
                                     "train.threads=1", workers, tasks[i], weights[i], NULL};
        processes[i] = liana__test_spawn_as(NAMES[i], words, (const char *const[]){keys, NULL});
    }
    for (int i = 0; i < NUM_PROCESSES; i++) results[i] = liana__test_wait_as(NAMES[i], processes[i]);
}

static void copy_weights(const char *from, int machine, bool changed)
{
    char *data, name[64];
    size_t size;
    liana__error error = {0};
    assert_ok(liana__file_read(from, 1 << 24, &data, &size, &error), &error);
    if (changed) data[size - 2] ^= 1;
    snprintf(name, sizeof name, "machine%d/weights.safetensors", machine);
    assert_ok(liana__file_replace(liana__test_path(name), data, size, &error), &error);
    free(data);
}

static void remove_weights(int machine)
{
    char name[64];
    snprintf(name, sizeof name, "machine%d/weights.safetensors", machine);
    remove(liana__test_path(name));
}

static void assert_same_run(const char *a, const char *b)
{
    char left[600], right[600];
    snprintf(left, sizeof left, "%s/variables.safetensors", liana__test_newest_checkpoint(a));
    snprintf(right, sizeof right, "%s/variables.safetensors", liana__test_newest_checkpoint(b));
    assert_same_file(left, right);
    snprintf(left, sizeof left, "%s/history.json", liana__test_path(a));
    snprintf(right, sizeof right, "%s/history.json", liana__test_path(b));
    assert_same_file(left, right);
}

/* The second process has no file, the third one with another byte in it: both train with the chief's. */
static void check_key(const char *key, const char *alone, const char *together)
{
    const bool is_warm = strcmp(key, "model.warm_start") == 0;
    liana__test_result results[NUM_PROCESSES];
    char earlier[600], word[700], folder[300];
    snprintf(earlier, sizeof earlier, "%s/variables.safetensors", liana__test_newest_checkpoint("earlier"));
    copy_weights(earlier, 0, false);
    remove_weights(1);
    copy_weights(earlier, 2, true);
    snprintf(word, sizeof word, "%s=%s%s%s", key, is_warm ? "{from: " : "", earlier, is_warm ? "}" : "");
    snprintf(folder, sizeof folder, "%s", liana__test_path(alone));
    assert_code(liana__test_command("train", config, "--out", folder, "train.epochs=1", word), 0);
    train(key, together, results);
    for (int i = 0; i < NUM_PROCESSES; i++) assert_code(results[i], 0);
    assert_same_run(alone, together);
}

static void test_the_chief_sends_weights_of_a_file(void **state)
{
    (void)state;
    check_key("model.weights", "alone", "together");
    check_key("model.warm_start", "warm-alone", "warm-together");
    /* The compared run does not begin anew. */
    char *first, *second;
    size_t sizes[2];
    assert_ok(liana__file_read(liana__test_path("alone/history.json"), 1 << 20, &first, &sizes[0], NULL), NULL);
    assert_ok(liana__file_read(liana__test_path("earlier/history.json"), 1 << 20, &second, &sizes[1], NULL), NULL);
    if (sizes[0] == sizes[1]) assert_memory_not_equal(first, second, sizes[0]);
    free(first);
    free(second);
}

/* Every process says which file the chief lacks; a file of another name is a setting that differs. */
static void test_what_the_chief_lacks(void **state)
{
    (void)state;
    liana__test_result results[NUM_PROCESSES];
    char earlier[600];
    snprintf(earlier, sizeof earlier, "%s/variables.safetensors", liana__test_newest_checkpoint("earlier"));
    remove_weights(0);
    copy_weights(earlier, 1, false);
    train("model.weights", "lacks", results);
    for (int i = 0; i < NUM_PROCESSES; i++) {
        assert_says(results[i].err, "machine0/weights.safetensors");
        assert_int_not_equal(results[i].code, 0);
        liana__test_free_result(&results[i]);
    }
}

static int make_data(void **state)
{
    (void)state;
    liana__error error = {0};
    char folder[300];
    liana__test_folder();
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(COUNT));
    snprintf(keys, sizeof keys, "LIANA_CLUSTER_KEYS=%s", liana__test_keys());
    for (int i = 0; i < NUM_PROCESSES; i++) {
        snprintf(folder, sizeof folder, "machine%d", i);
        assert_ok(liana__folder_make(liana__test_path(folder), &error), &error);
    }
    snprintf(folder, sizeof folder, "%s", liana__test_path("earlier"));
    assert_code(liana__test_command("train", config, "--out", folder, "train.epochs=1", "train.seed=3"), 0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_chief_sends_weights_of_a_file),
        cmocka_unit_test(test_what_the_chief_lacks),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
