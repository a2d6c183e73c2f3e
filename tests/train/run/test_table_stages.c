/* Runs on tables: windows of rows, unknown categories, missing numbers, sizes of vocabularies in layers; and streams of
 * resampled rows that stop in the middle of an epoch and go on. */
#include "harness/command_run.h"
#include "harness/run_files.h"
#include "harness/text_files.h"

#include "base/file.h"
#include "base/scoped.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *write_config(const char *text)
{
    static char path[300];
    snprintf(path, sizeof path, "%s", liana__test_write("config.yaml", text, strlen(text)));
    return path;
}

static char *read_config(const char *run)
{
    char name[100], *text;
    size_t size;
    liana__error error = {0};
    snprintf(name, sizeof name, "%s/config.yaml", run);
    assert_ok(liana__file_read(liana__test_path(name), 1 << 20, &text, &size, &error), &error);
    return text;
}

/* City, rooms (some are missing; the mean of 1, 2, 3, 4 is 2.5) and price. */
static void write_houses(void)
{
    static const char *const cities[] = {"bonn", "koeln", "ulm"};
    LIANA__SCOPED(liana__text) text = {0};
    liana__text_add(&text, "city,rooms,price\n");
    for (int i = 0; i < 45; i++) {
        char rooms[8];
        snprintf(rooms, sizeof rooms, "%d", i % 5 + 1);
        liana__text_add(&text, "%s,%s,%d.5\n", cities[i % 3], i % 5 == 4 ? "" : rooms, i % 5 + i % 3);
    }
    liana__test_write("houses.csv", text.data, text.length);
}

#define HOUSES(input_dim)                                                        \
    "data:\n"                                                                    \
    "  train: {paths: houses.csv, kind: table}\n"                                \
    "  columns:\n"                                                               \
    "    city: {category: true, num_oov_indices: 1}\n"                           \
    "    rooms: {from: rooms, missing: mean}\n"                                  \
    "    price: price\n"                                                         \
    "  targets: price\n"                                                         \
    "model:\n"                                                                   \
    "  layers:\n"                                                                \
    "    - InputLayer: {name: city, shape: [], dtype: int32}\n"                  \
    "    - InputLayer: {name: rooms, shape: []}\n"                               \
    "    - Embedding: {input_dim: " input_dim ", output_dim: 3, inputs: city}\n" \
    "    - Reshape: {target_shape: [1], inputs: rooms, name: count}\n"           \
    "    - Concatenate: {inputs: [embedding, count]}\n"                          \
    "    - Dense: {units: 1}\n"                                                  \
    "train: {epochs: 2, batch_size: 8, loss: mean_squared_error}\n"

static void test_sizes_come_from_the_data(void **state)
{
    (void)state;
    liana__test_folder();
    write_houses();
    const char *config = write_config(HOUSES("{vocabulary: city}"));
    assert_code(liana__test_command("train", config, "--out", liana__test_path("run")), 0);
    char *text = read_config("run");
    assert_says(text, "input_dim: 4");
    assert_says(text, "[\"[UNK]\", bonn, koeln, ulm]");
    assert_says(text, "missing: \"2.5\"");
    free(text);
    /* The same numbers by hand. */
    config = write_config(HOUSES("4"));
    assert_code(liana__test_command("train", config, "--out", liana__test_path("same")), 0);
    liana__test_assert_same_training("run", "same");
    /* It goes on with the same words, and predicts for a city and a room that it does not know. */
    config = write_config(HOUSES("{vocabulary: city}"));
    assert_code(liana__test_command("train", config, "--out", liana__test_path("run"), "--resume", "train.epochs=3"),
                0);
    static const char later[] = "city,rooms\nbern,2\nulm,\n";
    liana__test_write("later.csv", later, sizeof later - 1);
    assert_code(liana__test_command("predict", liana__test_path("run"), liana__test_path("later.csv")), 0);
    config = write_config(HOUSES("{vocabulary: rooms}"));
    assert_refused(liana__test_command("train", config, "--out", liana__test_path("other")), 2, "config.yaml",
                   "found 'vocabulary: rooms', expected a component of data.columns with 'category: true'");
}

/* Four rows of t, and y of the row that comes 6 after the first. */
static void test_windows_train_a_model(void **state)
{
    (void)state;
    liana__test_folder();
    LIANA__SCOPED(liana__text) rows = {0};
    liana__text_add(&rows, "t,y\n");
    for (int i = 0; i < 40; i++) liana__text_add(&rows, "%d.25,%d.5\n", i % 7, i % 7);
    liana__test_write("rows.csv", rows.data, rows.length);
    const char *config =
        write_config("data:\n"
                     "  train: {paths: rows.csv, kind: table, window: {size: 4, targets: [y, id], target_offset: 6}}\n"
                     "  columns: {x: [t], y: y}\n"
                     "  targets: y\n"
                     "model: {layers: [{InputLayer: {name: x, shape: [4, 1]}}, Flatten, {Dense: {units: 1}}]}\n"
                     "train: {epochs: 2, batch_size: 8, loss: mean_squared_error}\n");
    liana__test_result result = liana__test_command("train", config, "--out", liana__test_path("run"));
    assert_says(result.out, "34 training"); /* 40 rows, of which the last 6 begin no window */
    assert_code(result, 0);
}

/* Stopped by steps in the middle of an epoch, a run goes on as if it had not been. */
static void test_resampled_rows_go_on(void **state)
{
    (void)state;
    liana__test_folder();
    LIANA__SCOPED(liana__text) rows = {0};
    liana__text_add(&rows, "x,label\n");
    for (int i = 0; i < 90; i++) liana__text_add(&rows, "%d.5,%d\n", i % 11, i % 9 == 0);
    liana__test_write("rows.csv", rows.data, rows.length);
    const char *config = write_config(
        "data:\n"
        "  train: {paths: rows.csv, kind: table, rejection_resample: {target_dist: [1, 1], initial_dist: [8, 1]}}\n"
        "  columns: {x: [x]}\n"
        "model: {layers: [{Dense: {units: 2, activation: softmax}}]}\n"
        "train: {epochs: 3, batch_size: 4, loss: sparse_categorical_crossentropy}\n"
        "checkpoint: {every_steps: 2}\n");
    assert_code(liana__test_command("train", config, "--out", liana__test_path("whole")), 0);
    const char *parts = liana__test_path("parts");
    assert_code(liana__test_command("train", config, "--out", parts, "train.steps=7"), 0);
    assert_code(liana__test_command("train", config, "--out", liana__test_path("parts"), "--resume"), 0);
    liana__test_assert_same_training("whole", "parts");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_come_from_the_data),
        cmocka_unit_test(test_windows_train_a_model),
        cmocka_unit_test(test_resampled_rows_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
