/* liana predict: means of checkpoints, of runs and of variants of images, against means that the test computes from
 * single predictions. */
#include "harness/command_run.h"
#include "harness/run_files.h"
#include "harness/text_files.h"

#include "base/file.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 37, CLASSES = LIANA__TINY_CLASSES, SIDE = LIANA__TINY_SIZE, PIXELS = SIDE * SIDE };

/* The probabilities of all examples. */
typedef struct table {
    double values[COUNT][CLASSES];
} table;

static char folder[2][300];

/* The flipped images have the same numbers as the plain ones. */
static void write_flipped(void)
{
    char *bytes;
    size_t size;
    liana__error error;
    assert_ok(liana__file_read(liana__test_path("new-images"), SIZE_MAX, &bytes, &size, &error), &error);
    assert_int_equal(size, 16 + COUNT * PIXELS);
    for (size_t row = 0; row < (size_t)COUNT * SIDE; row++) {
        char *at = bytes + 16 + row * SIDE;
        for (int i = 0; i < SIDE / 2; i++) {
            const char kept = at[i];
            at[i] = at[SIDE - 1 - i];
            at[SIDE - 1 - i] = kept;
        }
    }
    liana__test_write("flipped-images", bytes, size);
    free(bytes);
}

/* Two runs of two epochs, whose augmentation always flips and sometimes mixes. */
static void train(void)
{
    static const char *const names[] = {"a", "b"};
    static const char *const seeds[] = {"train.seed=1", "train.seed=2"};
    liana__test_folder();
    const char *config = liana__test_tiny_run(64);
    for (int i = 0; i < 2; i++) {
        snprintf(folder[i], sizeof folder[i], "%s", liana__test_path(names[i]));
        assert_code(liana__test_command("train", config, seeds[i], "train.epochs=2", "checkpoint.keep=2",
                                        "data.augment=[{random_flip: {probability: 1.0}}, mixup]", "--out", folder[i]),
                    0);
    }
    liana__test_tiny_data("new", COUNT, 9);
    write_flipped();
}

/* Columns id, label, class, confidence, then the probabilities. */
static void read_table(const char *name, table *own)
{
    char *text = liana__test_read_text(name), *at = strchr(text, '\n') + 1;
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < 4; k++) at = strchr(at, ',') + 1;
        for (int k = 0; k < CLASSES; k++) own->values[i][k] = strtod(at, &at), at++;
        at = strchr(at - 1, '\n') + 1;
    }
    assert_int_equal(*at, 0);
    free(text);
}

#define PREDICT(own, run, data, ...)                                                                        \
    do {                                                                                                    \
        assert_code(liana__test_command("predict", run, liana__test_path(data), "--probabilities", "--out", \
                                        liana__test_path("p.csv"), ##__VA_ARGS__),                          \
                    0);                                                                                     \
        read_table("p.csv", own);                                                                           \
    } while (0)

/* The weighted mean of some tables. */
static void expect_mean(const table *found, const table *const *tables, const double *weights, size_t count)
{
    double furthest = 0;
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < CLASSES; k++) {
            double sum = 0, total = 0;
            for (size_t t = 0; t < count; t++) sum += weights[t] * tables[t]->values[i][k], total += weights[t];
            assert_near(found->values[i][k], sum / total, 2e-7, i, k);
            const double from_first = found->values[i][k] - tables[0]->values[i][k];
            if (from_first > furthest) furthest = from_first;
        }
    }
    assert_compare(furthest, >, 1e-4); /* a mean of one would be found */
}

static void test_runs(void **state)
{
    (void)state;
    static table a, b, both, more;
    train();
    PREDICT(&a, folder[0], "new-images");
    PREDICT(&b, folder[1], "new-images");
    PREDICT(&both, folder[0], "new-images", "--ensemble", folder[1]);
    expect_mean(&both, (const table *const[]){&a, &b}, (const double[]){1, 1}, 2);
    char list[700];
    snprintf(list, sizeof list, "%s,%s", folder[1], folder[1]);
    PREDICT(&more, folder[0], "new-images", "--ensemble", list, "--batch-size", "5");
    expect_mean(&more, (const table *const[]){&a, &b}, (const double[]){1, 2}, 2);
}

/* Each run has its own image size and scaling. */
static void test_runs_of_other_images(void **state)
{
    (void)state;
    static table a, b, both;
    char other[300];
    train();
    snprintf(other, sizeof other, "%s", liana__test_path("other"));
    assert_code(liana__test_command("train", liana__test_path("config.yaml"), "train.epochs=1",
                                    "data.image_size=[20, 16]", "data.scale=-1..1", "--out", other),
                0);
    PREDICT(&a, folder[0], "new-images");
    PREDICT(&b, other, "new-images");
    PREDICT(&both, folder[0], "new-images", "--ensemble", other);
    expect_mean(&both, (const table *const[]){&a, &b}, (const double[]){1, 1}, 2);
}

/* The names of a run's two checkpoints, the older one first. */
static void find_checkpoints(const char *run, char names[2][64])
{
    liana__arena arena = {0};
    liana__paths found;
    liana__error error;
    char path[400];
    snprintf(path, sizeof path, "%s/checkpoints", run);
    assert_ok(liana__folder_list(path, &arena, &found, &error), &error);
    assert_int_equal(found.count, 2);
    for (int i = 0; i < 2; i++) snprintf(names[i], 64, "%s", found.items[i]);
    liana__arena_free(&arena);
}

static void test_checkpoints(void **state)
{
    (void)state;
    static table one[4], mean;
    char names[2][64], list[160];
    train();
    find_checkpoints(folder[0], names);
    for (int i = 0; i < 4; i++) PREDICT(&one[i], folder[i / 2], "new-images", "--checkpoint", names[i % 2]);
    snprintf(list, sizeof list, "%s,%s", names[0], names[1]);
    PREDICT(&mean, folder[0], "new-images", "--checkpoint", list);
    expect_mean(&mean, (const table *const[]){&one[0], &one[1]}, (const double[]){1, 1}, 2);
    PREDICT(&mean, folder[0], "new-images", "--checkpoint", list, "--ensemble", folder[1]);
    expect_mean(&mean, (const table *const[]){&one[0], &one[1], &one[2], &one[3]}, (const double[]){1, 1, 1, 1}, 4);
}

/* The first image is the plain one; the others are flipped, and nothing is mixed into them. */
static void test_variants(void **state)
{
    (void)state;
    static table plain, flipped, mean, other;
    train();
    PREDICT(&plain, folder[0], "new-images");
    PREDICT(&flipped, folder[0], "flipped-images");
    PREDICT(&mean, folder[0], "new-images", "--augment", "4");
    expect_mean(&mean, (const table *const[]){&plain, &flipped}, (const double[]){1, 3}, 2);
    PREDICT(&mean, folder[0], "new-images", "--augment", "1");
    assert_memory_equal(&mean, &plain, sizeof mean);
    /* With runs. */
    PREDICT(&other, folder[1], "new-images", "--augment", "2");
    PREDICT(&mean, folder[0], "new-images", "--augment", "2", "--ensemble", folder[1]);
    expect_mean(&mean, (const table *const[]){&plain, &flipped, &other}, (const double[]){1, 1, 2}, 3);
}

static void test_seeds(void **state)
{
    (void)state;
    static table first, again, other;
    const char *noise = "data.augment=[{random_brightness: {factor: 0.5}}]";
    train();
    PREDICT(&first, folder[0], "new-images", "--augment", "3", noise, "--seed", "7");
    PREDICT(&again, folder[0], "new-images", "--augment", "3", noise, "--seed", "7", "--batch-size", "4");
    PREDICT(&other, folder[0], "new-images", "--augment", "3", noise, "--seed", "8");
    double furthest = 0;
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < CLASSES; k++) {
            assert_near(first.values[i][k], again.values[i][k], 1e-6, i, k);
            const double step = first.values[i][k] - other.values[i][k];
            if (step > furthest) furthest = step;
        }
    }
    assert_compare(furthest, >, 1e-4);
}

static void test_mistakes(void **state)
{
    (void)state;
    char images[300], other[300];
    train();
    snprintf(images, sizeof images, "%s", liana__test_path("new-images"));
    snprintf(other, sizeof other, "%s", liana__test_path("named"));
    assert_refused(liana__test_command("predict", folder[0], images, "--augment", "0"), 2, "--augment", "from 1");
    assert_refused(liana__test_command("predict", folder[0], images, "--augment", "3", "data.augment=[mixup]"), 2,
                   "--augment 3", "only mixes");
    assert_refused(liana__test_command("predict", folder[0], images, "--augment", "3", "data.augment=[]"), 2,
                   "augments nothing");
    assert_refused(liana__test_command("predict", folder[0], images, "--seed", "3"), 2, "--seed is for --augment");
    assert_refused(liana__test_command("predict", folder[0], images, "--ensemble", "none"), 2, "'none'",
                   "there is no such folder");
    assert_refused(liana__test_command("predict", folder[0], images, "--ensemble", "a,,b"), 2, "an item", "is empty");
    assert_refused(liana__test_command("predict", folder[0], images, "--checkpoint", "best,"), 2, "is empty");
    assert_refused(liana__test_command("predict", folder[0], images, "--checkpoint", "step-1,step-2"), 1, "step-1");
    assert_refused(liana__test_command("predict", folder[0], images, "--batch-size", "0"), 2, "--batch-size");
    assert_code(liana__test_command("train", liana__test_path("config.yaml"), "train.epochs=1",
                                    "data.class_names=[north, east, south, west]", "--out", other),
                0);
    assert_refused(liana__test_command("predict", folder[0], images, "--ensemble", other), 2, "class 0", "'north'",
                   "'0'");
    assert_refused(liana__test_command("predict", folder[0], images, "--ensemble", folder[1], "--layer", "flatten",
                                       "--out", "f.csv"),
                   2, "--ensemble is for predictions");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_of_other_images),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_checkpoints),
        cmocka_unit_test(test_variants),
        cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
