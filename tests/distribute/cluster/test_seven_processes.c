/* Seven real workers, more than an update has shards, end in the bytes of one process: with dropout, batch norm, rare
 * classes that are drawn more often, mixed images, Lamb, clipping by the norm of all gradients, a metric of whole
 * epochs and a partial last update. test_same_bytes.c runs seven threads in one process. */
#include "harness/command_run.h"

#include "base/file.h"

#include <string.h>

enum { COUNT = 90, MOST_WORDS = 24 };

/* Shards of 8: an update of 32 has 4 of them, so at least three workers have none. */
static const char *const RECIPE[] = {"train.epochs=2",
                                     "train.microbatch=8",
                                     "train.threads=1",
                                     "data.oversample.target_count=40",
                                     "data.augment=[random_flip, {mixup: {alpha: 0.3}}]",
                                     "train.optimizer={name: Lamb, learning_rate: 0.01, global_clipnorm: 0.1}",
                                     "train.metrics=[accuracy, AUC]",
                                     NULL};

static void run(const char *const *first, const char *out)
{
    const char *words[MOST_WORDS] = {0};
    char config[300], folder[300];
    size_t count = 0;
    snprintf(config, sizeof config, "%s", liana__test_path("config.yaml"));
    snprintf(folder, sizeof folder, "%s", liana__test_path(out));
    for (; first[count]; count++) words[count] = first[count];
    words[count++] = "--out";
    words[count++] = folder;
    words[count++] = config;
    for (size_t i = 0; RECIPE[i]; i++) words[count++] = RECIPE[i];
    assert_code(liana__test_wait(liana__test_spawn(words, NULL)), 0);
}

static void assert_same(const char *a, const char *b, const char *name)
{
    char left[700], right[700];
    snprintf(left, sizeof left, "%s/%s", a, name);
    snprintf(right, sizeof right, "%s/%s", b, name);
    assert_same_file(left, right);
}

static void test_seven_workers_are_as_one(void **state)
{
    (void)state;
    static const struct {
        const char *name, *processes, *servers;
    } clusters[] = {{"seven", "7", "0"}, {"served", "9", "2"}};
    char one[300], other[300], newest[600];
    run((const char *const[]){"train", NULL}, "one");
    for (size_t i = 0; i < sizeof clusters / sizeof *clusters; i++) {
        run((const char *const[]){"launch", "-n", clusters[i].processes, "--servers", clusters[i].servers, NULL},
            clusters[i].name);
        snprintf(one, sizeof one, "%s", liana__test_path("one"));
        snprintf(other, sizeof other, "%s", liana__test_path(clusters[i].name));
        assert_same(one, other, "history.json");
        assert_same(one, other, "validation_predictions.csv");
        snprintf(newest, sizeof newest, "%s", liana__test_newest_checkpoint("one"));
        assert_same(newest, liana__test_newest_checkpoint(clusters[i].name), "variables.safetensors");
    }
}

static int make_data(void **state)
{
    (void)state;
    liana__test_folder();
    liana__test_tiny_run(COUNT);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seven_workers_are_as_one),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
