/* liana train from a configuration to a run folder. */
#include "harness/command_run.h"

#include "base/file.h"
#include "formats/image.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static char config_path[256];

static void make_data(uint32_t count)
{
    liana__test_folder();
    snprintf(config_path, sizeof config_path, "%s", liana__test_tiny_run(count));
}

enum { MOST_WORDS = 12 };

/* Trains into a folder of the test's folder, which the first word names; the others are overrides. */
static liana__test_result train_words(const char *const *given)
{
    const char *words[MOST_WORDS] = {"train", config_path, "--out", liana__test_path(given[0])};
    for (int i = 4; *++given; i++) words[i] = *given;
    return liana__test_command_words(words);
}
/* train("run", "key=value", ...) */
#define train(...) train_words((const char *const[]){__VA_ARGS__, NULL})

static json_t *read_json(const char *run, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", run, name);
    json_error_t problem;
    json_t *json = json_load_file(liana__test_path(path), 0, &problem);
    if (!json) print_error("%s: %s\n", path, problem.text);
    assert_non_null(json);
    return json;
}

/* The value of an epoch, counted from 1, in the history. */
static double history(const char *run, size_t epoch, const char *key)
{
    json_t *json = read_json(run, "history.json");
    const json_t *value = json_object_get(json_array_get(json_object_get(json, "epochs"), epoch - 1), key);
    assert_true(json_is_number(value));
    double number = json_number_value(value);
    json_decref(json);
    return number;
}

static size_t count_epochs(const char *run)
{
    json_t *json = read_json(run, "history.json");
    size_t count = json_array_size(json_object_get(json, "epochs"));
    json_decref(json);
    return count;
}

static int64_t updates(const char *run)
{
    const char *name = liana__path_name(liana__test_newest_checkpoint(run));
    assert_begins(name, "step-");
    return strtoll(name + 5, NULL, 10);
}

static void test_training_learns(void **state)
{
    (void)state;
    make_data(400);
    assert_code(train("run", "train.epochs=5"), 0);
    assert_compare(history("run", 5, "val_accuracy"), >=, 0.95);
    assert_compare(history("run", 5, "loss"), <, 0.6 * history("run", 1, "loss"));
    assert_compare(history("run", 5, "val_loss"), <, 0.5);
}

static size_t count_lines(const char *run, const char *name, const char *header)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", run, name);
    char *text;
    size_t size, lines = 0;
    liana__error error = {0};
    assert_ok(liana__file_read(liana__test_path(path), 1 << 20, &text, &size, &error), &error);
    assert_begins(text, header);
    for (size_t i = 0; i < size; i++) lines += text[i] == '\n';
    free(text);
    return lines;
}

static void test_what_a_run_leaves(void **state)
{
    (void)state;
    make_data(100);
    assert_code(train("run", "train.metrics=[accuracy, top_5_accuracy]"), 0);
    json_t *json = read_json("run", "history.json"), *epochs = json_object_get(json, "epochs");
    assert_int_equal(json_object_size(json), 1);
    assert_int_equal(json_array_size(epochs), 3);
    static const char *const keys[] = {"epoch",         "loss",
                                       "accuracy",      "top_5_accuracy",
                                       "val_loss",      "val_accuracy",
                                       "learning_rate", "val_top_5_accuracy",
                                       "bad_records",   "val_bad_records",
                                       "global_step"};
    for (size_t i = 0; i < 3; i++) {
        const json_t *epoch = json_array_get(epochs, i);
        assert_int_equal(json_object_size(epoch), 11);
        for (size_t k = 0; k < 11; k++) assert_true(json_is_number(json_object_get(epoch, keys[k])));
        assert_int_equal(json_integer_value(json_object_get(epoch, "epoch")), i + 1);
        assert_int_equal(json_integer_value(json_object_get(epoch, "global_step")), 4 * (i + 1));
        assert_compare(json_real_value(json_object_get(epoch, "learning_rate")), ==, 0.003);
        assert_compare(json_number_value(json_object_get(epoch, "top_5_accuracy")), ==, 1);
        /* Each example counts once, in 4 updates of 32, 32, 32 and 4 and in 2 batches of validation. */
        double right = 100 * json_number_value(json_object_get(epoch, "accuracy"));
        double right_of_validation = 50 * json_number_value(json_object_get(epoch, "val_accuracy"));
        assert_near(right, round(right), 1e-9);
        assert_compare(right, <=, 100);
        assert_near(right_of_validation, round(right_of_validation), 1e-9);
        assert_compare(right_of_validation, <=, 50);
    }
    json_decref(json);
    json = read_json("run", "timing.json");
    const json_t *timing = json_array_get(json_object_get(json, "epochs"), 2);
    assert_int_equal(json_object_size(timing), 5);
    assert_int_equal(json_integer_value(json_object_get(timing, "epoch")), 3);
    double seconds = json_number_value(json_object_get(timing, "seconds"));
    double wait = json_number_value(json_object_get(timing, "input_wait"));
    assert_compare(seconds, >, 0);
    assert_compare(wait, >=, 0);
    assert_compare(wait, <=, 1);
    double rate = json_number_value(json_object_get(timing, "examples_per_second"));
    assert_near(rate * seconds, 100, 1e-6);
    assert_compare(json_number_value(json_object_get(timing, "images_per_second")), ==, rate);
    json_decref(json);
    json = read_json("run", "model.json");
    assert_non_null(json_object_get(json, "class_name"));
    json_decref(json);
    assert_int_equal(count_lines("run", "validation_predictions.csv", "id,label,predicted,confidence\n0,"), 51);
    assert_int_equal(count_lines("run", "test_predictions.csv", "id,label\n0,"), 51);
    assert_int_equal(updates("run"), 12);
    /* Three are kept by default. */
    assert_true(liana__folder_exists(liana__test_path("run/checkpoints/step-0000000004")));
    /* The resolved configuration has the findings, and is one that trains. */
    liana__test_result got = liana__test_command("train", liana__test_path("run/config.yaml"), "--out",
                                                 liana__test_path("again"), "train.metrics=accuracy");
    assert_code(got, 0);
    assert_compare(history("again", 3, "val_loss"), ==, history("run", 3, "val_loss"));
    char *text;
    size_t size;
    assert_ok(liana__file_read(liana__test_path("run/config.yaml"), 1 << 20, &text, &size, NULL), NULL);
    static const char *const resolved[] = {"num_classes: 4\n", "image_size: [12, 12]\n", "channels: 1\n",
                                           "scale: \"0..1\"\n", "microbatch: 8\n"};
    for (size_t i = 0; i < 5; i++) assert_says(text, resolved[i]);
    free(text);
}

static void test_events_for_machines(void **state)
{
    (void)state;
    make_data(64);
    liana__test_result got = train("run", "--json");
    int epochs = 0;
    for (char *line = got.out, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        json_error_t problem;
        json_t *json = json_loads(line, 0, &problem);
        const char *event = json_string_value(json_object_get(json, "event"));
        assert_non_null(event);
        if (strcmp(event, "epoch") == 0) {
            epochs++;
            assert_compare(json_number_value(json_object_get(json, "val_accuracy")), ==,
                           history("run", (size_t)epochs, "val_accuracy"));
        }
        json_decref(json);
    }
    assert_int_equal(epochs, 3);
    assert_code(got, 0);
}

/* An epoch of endless data is as long as it is said to be, over and under one pass. */
static void test_steps_per_epoch(void **state)
{
    (void)state;
    make_data(40);
    assert_code(train("long", "data.repeat=true", "train.steps_per_epoch=5", "train.epochs=2"), 0);
    assert_int_equal(updates("long"), 10);
    assert_int_equal(count_epochs("long"), 2);
    assert_code(train("short", "data.repeat=true", "train.steps_per_epoch=1", "train.epochs=3"), 0);
    assert_int_equal(updates("short"), 3);
    /* Every update is a full one: 160 examples in an epoch. */
    double right = 160 * history("long", 1, "accuracy");
    assert_near(right, round(right), 1e-9);
    assert_refused(train("none", "data.repeat=true"), 2, "data.repeat", "train.steps_per_epoch");
    assert_refused(train("none", "train.steps_per_epoch=3"), 2, "train.steps_per_epoch", "40",
                   "last for 2 updates of 32", "data.repeat");
}

static void test_remainder(void **state)
{
    (void)state;
    make_data(100);
    assert_code(train("keep", "train.epochs=2"), 0);
    assert_int_equal(updates("keep"), 8);
    assert_code(train("drop", "train.epochs=2", "train.remainder=drop"), 0);
    assert_int_equal(updates("drop"), 6);
    double right = 96 * history("drop", 1, "accuracy");
    assert_near(right, round(right), 1e-9);
    assert_refused(train("refuse", "train.remainder=refuse"), 2, "100", "32", "remainder");
    assert_false(liana__folder_exists(liana__test_path("refuse")));
    assert_code(train("refuse", "train.remainder=refuse", "train.batch_size=25"), 0);
    assert_int_equal(updates("refuse"), 12);
}

static size_t count_checkpoints(const char *run)
{
    liana__arena arena = {0};
    liana__paths names;
    liana__error error = {0};
    char name[128];
    snprintf(name, sizeof name, "%s/checkpoints", run);
    assert_ok(liana__folder_list(liana__test_path(name), &arena, &names, &error), &error);
    liana__arena_free(&arena);
    return names.count;
}

static void test_when_checkpoints_are_saved(void **state)
{
    (void)state;
    make_data(128); /* 3 epochs of 4 updates */
    assert_code(train("all", "checkpoint.every_steps=1", "checkpoint.keep=0"), 0);
    assert_int_equal(count_checkpoints("all"), 12);
    assert_code(train("kept", "checkpoint.every_steps=1", "checkpoint.keep=5"), 0);
    assert_int_equal(count_checkpoints("kept"), 5);
    assert_code(train("steps", "checkpoint.every_epoch=false", "checkpoint.every_steps=5", "checkpoint.keep=0"), 0);
    assert_int_equal(count_checkpoints("steps"), 3); /* 5, 10, and the end */
    assert_code(train("time", "checkpoint.every_epoch=false", "checkpoint.every_minutes=1.0e-9", "checkpoint.keep=0"),
                0);
    assert_int_equal(count_checkpoints("time"), 12);
    assert_code(train("last", "checkpoint.every_epoch=false"), 0);
    assert_int_equal(count_checkpoints("last"), 1);
}

/* Options that change the model or the loss reach it. */
static void test_options_of_the_model(void **state)
{
    (void)state;
    make_data(64);
    assert_code(train("sparse", "train.epochs=1"), 0);
    assert_code(train("plain", "train.epochs=1", "train.loss=categorical_crossentropy"), 0);
    assert_near(history("sparse", 1, "val_loss"), history("plain", 1, "val_loss"), 1e-5);
    assert_code(train("momentum", "train.epochs=1", "model.batch_norm_momentum=0.5"), 0);
    assert_compare(history("momentum", 1, "loss"), ==, history("sparse", 1, "loss"));
    assert_compare(history("momentum", 1, "val_loss"), !=, history("sparse", 1, "val_loss"));
    assert_code(train("frozen", "train.epochs=1", "model.trainable_from=dense"), 0);
    liana__test_result got = liana__test_command("summary", liana__test_path("frozen"));
    assert_says(got.out, "Trainable params: 804\n");
    assert_code(got, 0);
    assert_refused(train("none", "model.trainable_from=dens"), 1, "'dens'", "dense");
}

/* Folders of validation data are numbered as those of the training data, whichever classes they lack. */
static void test_class_folders_that_differ(void **state)
{
    (void)state;
    liana__test_folder();
    liana__error error = {0};
    uint8_t pixels[LIANA__TINY_SIZE * LIANA__TINY_SIZE];
    char name[128];
    for (uint32_t i = 0; i < 40; i++) {
        char class = (char)('a' + liana__test_tiny_image(1, i, pixels));
        liana__text png = {0};
        assert_ok(liana__png_encode(pixels, LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1, &png, &error), &error);
        static const char *const parts[] = {"train", "validation"};
        for (int part = 0; part < (class == 'b' ? 1 : 2); part++) {
            snprintf(name, sizeof name, "%s/%c", parts[part], class);
            assert_ok(liana__folder_make(liana__test_path(name), &error), &error);
            snprintf(name, sizeof name, "%s/%c/%u.png", parts[part], class, i);
            liana__test_write(name, png.data, png.length);
        }
        liana__text_free(&png);
    }
    static const char text[] = "data: {train: train, validation: validation}\n"
                               "model:\n"
                               "  layers:\n"
                               "    - Flatten\n"
                               "    - Dense: {units: 4, activation: softmax}\n"
                               "train: {epochs: 1, batch_size: 8}\n";
    snprintf(config_path, sizeof config_path, "%s", liana__test_write("config.yaml", text, sizeof text - 1));
    assert_code(train("run"), 0);
    char *data;
    size_t size;
    assert_ok(liana__file_read(liana__test_path("run/validation_predictions.csv"), 1 << 20, &data, &size, &error),
              &error);
    int counts[LIANA__TINY_CLASSES] = {0};
    for (char *row = strchr(data, '\n') + 1; *row; row = strchr(row, '\n') + 1) {
        char class;
        int label;
        assert_int_equal(sscanf(row, "%c/%*[^,],%d,", &class, &label), 2);
        assert_int_equal(label, class - 'a');
        counts[label]++;
    }
    free(data);
    assert_compare(counts[0], >, 0);
    assert_compare(counts[1], ==, 0);
    assert_compare(counts[2], >, 0);
    assert_compare(counts[3], >, 0);
    assert_ok(liana__folder_make(liana__test_path("validation/zebra"), &error), &error);
    assert_refused(train("zebra"), 1, "validation/zebra", "the name of a class");
}

/* From a folder for each class to the name of the class of a lone image. */
static void test_class_folders(void **state)
{
    (void)state;
    liana__test_folder();
    static const char *const classes[LIANA__TINY_CLASSES] = {"a", "b", "c", "d"};
    liana__error error = {0};
    uint8_t pixels[LIANA__TINY_SIZE * LIANA__TINY_SIZE];
    char name[128];
    for (int i = 0; i < LIANA__TINY_CLASSES; i++) {
        snprintf(name, sizeof name, "data/%s", classes[i]);
        assert_ok(liana__folder_make(liana__test_path(name), &error), &error);
    }
    assert_ok(liana__folder_make(liana__test_path("new"), &error), &error);
    for (uint32_t i = 0; i < 240; i++) {
        int label = liana__test_tiny_image(1, i, pixels);
        liana__text png = {0};
        assert_ok(liana__png_encode(pixels, LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1, &png, &error), &error);
        snprintf(name, sizeof name, i < 200 ? "data/%s/%03u.png" : "new/%s%03u.png", classes[label], i);
        liana__test_write(name, png.data, png.length);
        liana__text_free(&png);
    }
    static const char text[] = "data: {train: data}\n"
                               "model:\n"
                               "  layers:\n"
                               "    - Conv2D: {filters: 8, kernel_size: 3, activation: relu}\n"
                               "    - MaxPooling2D\n"
                               "    - Flatten\n"
                               "    - Dense: {units: 4, activation: softmax}\n"
                               "train: {epochs: 8, optimizer: {name: Adam, learning_rate: 0.01}}\n";
    snprintf(config_path, sizeof config_path, "%s", liana__test_write("config.yaml", text, sizeof text - 1));
    assert_code(train("run"), 0);
    /* The names of the classes are the run's from now on. */
    assert_ok(liana__folder_remove(liana__test_path("data"), &error), &error);
    assert_code(liana__test_command("predict", liana__test_path("run"), "--data", liana__test_path("new"), "--out",
                                    liana__test_path("p.csv")),
                0);
    char *data, *row;
    size_t size;
    assert_ok(liana__file_read(liana__test_path("p.csv"), 1 << 20, &data, &size, &error), &error);
    int rows = 0, right = 0;
    for (row = strchr(data, '\n') + 1; *row; row = strchr(row, '\n') + 1, rows++) {
        char id[32] = "", class[8] = "";
        int label;
        assert_int_equal(sscanf(row, "%31[^,],%d,%7[^,],", id, &label, class), 3);
        assert_string_equal(class, classes[label]);
        right += id[0] == class[0];
    }
    assert_int_equal(rows, 40);
    assert_compare(right, >=, 36);
    free(data);
}

/* More examples than 4096 are predicted at once where a shard is that large. */
static void test_large_shards(void **state)
{
    (void)state;
    make_data(5000);
    assert_code(train("run", "train.batch_size=5000", "train.microbatch=5000", "train.epochs=1"), 0);
    assert_code(liana__test_command("predict", liana__test_path("run"), "--data", liana__test_path("train-images"),
                                    "--out", liana__test_path("p.csv")),
                0);
    assert_int_equal(count_lines("", "p.csv", "id,label,class,confidence,true_label,true_class,correct\n0,"), 5001);
}

static void test_learning_rate_follows_its_schedule(void **state)
{
    (void)state;
    make_data(64);
    assert_code(train("run", "train.epochs=4",
                      "train.optimizer={name: SGD, momentum: 0.9, learning_rate: {name: CosineDecay, "
                      "initial_learning_rate: 0.1, warmup_epochs: 1}}"),
                0);
    /* 2 updates an epoch: warm-up over 2, then half a cosine over the other 6; the rate of each epoch's last update. */
    assert_near(history("run", 1, "learning_rate"), 0.05, 1e-12);
    for (int epoch = 2; epoch <= 4; epoch++) {
        double step = 2 * (epoch - 1) - 1;
        double expected = 0.1 * 0.5 * (1 + cos(acos(-1) * step / 6));
        assert_near(history("run", (size_t)epoch, "learning_rate"), expected, 1e-12, epoch);
    }
}

/* Batch normalisation, dropout, 4 shards an update, and a last update of 2: the same bytes. */
static void test_threads_change_no_byte(void **state)
{
    (void)state;
    make_data(108);
    static const char *const threads[] = {"train.threads=1", "train.threads=2", "train.threads=3"};
    static const char *const decoders[] = {"data.threads=1", "data.threads=3", "data.threads=2"};
    static const char *const runs[] = {"one", "two", "three"};
    char first[600] = "";
    for (int i = 0; i < 3; i++) {
        assert_code(train(runs[i], threads[i], decoders[i]), 0);
        char path[600];
        snprintf(path, sizeof path, "%s/variables.safetensors", liana__test_newest_checkpoint(runs[i]));
        if (i == 0) snprintf(first, sizeof first, "%s", path);
        assert_same_file(path, first);
        static const char *const names[] = {"history.json", "validation_predictions.csv", "test_predictions.csv"};
        for (int k = 0; k < 3; k++) {
            char name[128], other[128];
            snprintf(name, sizeof name, "%s/%s", runs[i], names[k]);
            snprintf(other, sizeof other, "one/%s", names[k]);
            assert_same_file(liana__test_path(name), liana__test_path(other));
        }
    }
    /* And another seed gives other bytes, so that there is something to be the same. */
    assert_code(train("other", "train.seed=8"), 0);
    assert_compare(history("other", 3, "loss"), !=, history("one", 3, "loss"));
}

/* Instruction sets round differently, but train alike. Processes of their own: oneDNN is capped once in each. */
static void test_instruction_sets_train_alike(void **state)
{
    (void)state;
    make_data(200);
    static const char *const names[] = {"baseline", "avx2", "avx512"};
    for (int i = 0; i < 3; i++) {
        char variable[64];
        snprintf(variable, sizeof variable, "LIANA_MAX_ISA=%s", names[i]);
        const char *const environment[] = {variable, NULL};
        assert_code(liana__test_process(environment, "train", config_path, "--out", liana__test_path(names[i])), 0);
        double loss = history(names[i], 3, "loss"), expected = history("baseline", 3, "loss");
        assert_near(loss, expected, 0.02 * expected);
        double validation = history(names[i], 3, "val_loss");
        assert_near(validation, history("baseline", 3, "val_loss"), 0.1);
    }
}

static void test_the_reference_device_trains_alike(void **state)
{
    (void)state;
    make_data(64);
    assert_code(train("cpu", "train.epochs=2"), 0);
    assert_code(train("reference", "train.epochs=2", "train.device=reference"), 0);
    for (size_t epoch = 1; epoch <= 2; epoch++) {
        assert_near(history("cpu", epoch, "loss"), history("reference", epoch, "loss"), 1e-3, epoch);
        assert_near(history("cpu", epoch, "val_loss"), history("reference", epoch, "val_loss"), 1e-3, epoch);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training_learns),
        cmocka_unit_test(test_what_a_run_leaves),
        cmocka_unit_test(test_events_for_machines),
        cmocka_unit_test(test_steps_per_epoch),
        cmocka_unit_test(test_remainder),
        cmocka_unit_test(test_when_checkpoints_are_saved),
        cmocka_unit_test(test_options_of_the_model),
        cmocka_unit_test(test_class_folders),
        cmocka_unit_test(test_class_folders_that_differ),
        cmocka_unit_test(test_large_shards),
        cmocka_unit_test(test_learning_rate_follows_its_schedule),
        cmocka_unit_test(test_threads_change_no_byte),
        cmocka_unit_test(test_instruction_sets_train_alike),
        cmocka_unit_test(test_the_reference_device_trains_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
