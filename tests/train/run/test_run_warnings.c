/* A run's messages when it probably trains otherwise than was meant. */
#include "harness/command_run.h"

#include "base/file.h"
#include "base/text.h"

#include <liana/liana.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 40, MOST_WORDS = 16 }; /* 2 updates an epoch */

static const char *const CLASSES = "no training example";
static const char *const WARMUP = "does not end in this run";
static const char *const AVERAGES = "the moving averages of batch normalisation are still";

/* Trains into a folder of the test's folder, which the first word names, and returns the output. */
static char *train_words(const char *const *given)
{
    char config[256], out[256];
    snprintf(config, sizeof config, "%s", liana__test_path("config.yaml"));
    snprintf(out, sizeof out, "%s", liana__test_path(given[0]));
    const char *words[MOST_WORDS] = {"train", config, "--out", out};
    for (int i = 4; *++given; i++) words[i] = *given;
    liana__test_result got = liana__test_command_words(words);
    char *printed = strdup(got.out);
    assert_code(got, 0);
    assert_non_null(printed);
    return printed;
}
#define train(...) train_words((const char *const[]){__VA_ARGS__, NULL})

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++) count++;
    return count;
}

/* That the run printed a text once (or not at all), and frees its output. */
static void check_printed(char *printed, const char *part, int times, int line)
{
    if (count_of(printed, part) != times) print_error("%s:%d: '%s' in:\n%s\n", __FILE__, line, part, printed);
    assert_int_equal(count_of(printed, part), times);
    free(printed);
}
#define assert_once(printed, part) check_printed((printed), (part), 1, __LINE__)
#define assert_never(printed, part) check_printed((printed), (part), 0, __LINE__)

static size_t place_of(const char *printed, const char *part)
{
    assert_says(printed, part);
    return (size_t)(strstr(printed, part) - printed);
}

static void set_up(void)
{
    liana__test_folder();
    liana__test_tiny_run(COUNT);
}

static const char UNITS_5[] = "model.layers[5].Dense.units=5";
static const char UNITS_6[] = "model.layers[5].Dense.units=6";

static void test_classes_without_examples_are_named_before_the_first_step(void **state)
{
    (void)state;
    set_up();
    assert_never(train("plain", "train.epochs=1"), CLASSES);
    /* The labels are 0 to 3: this makes them 1 to 4, as data have that count from 1. */
    char *printed = train("shifted", "train.epochs=2", "data.label_offset=1", UNITS_5);
    assert_compare(place_of(printed, CLASSES), <, place_of(printed, "epoch 1"));
    assert_once(printed,
                "1 of 5 classes has no training example: 0; if the labels count from 1, set data.label_offset to 0");
    /* Where the number of classes is given, IDX files still say which there are. */
    assert_once(train("given", "train.epochs=1", "data.num_classes=6", UNITS_6),
                "2 of 6 classes have no training example: 4, 5\n");
    assert_once(train("named", "train.epochs=1", "data.class_names=[a, b, c, d, e, f]", UNITS_6),
                "2 of 6 classes have no training example: 'e' (4), 'f' (5)\n");
    assert_once(train("many", "train.epochs=1", "data.num_classes=12", "model.layers[5].Dense.units=12"),
                "8 of 12 classes have no training example: 4, 5, 6, 7, 8 and 3 more\n");
    assert_once(train("weighed", "train.epochs=1", "data.num_classes=5", UNITS_5, "train.class_weights=balanced"),
                "1 of 5 classes has no training example: 4\n");
}

/* TFRecords tell their labels only when they are read. */
static void test_classes_without_examples_are_named_after_the_first_epoch(void **state)
{
    (void)state;
    set_up();
    char images[256], records[256], data[300];
    snprintf(images, sizeof images, "%s", liana__test_path("train-images"));
    snprintf(records, sizeof records, "%s", liana__test_path("records"));
    snprintf(data, sizeof data, "data.train=%s/*.tfrec", records);
    assert_code(liana__test_command("convert", images, "--out", records), 0);
    char *printed = train("given", "train.epochs=3", data, "data.num_classes=6", UNITS_6);
    assert_compare(place_of(printed, CLASSES), >, place_of(printed, "epoch 1"));
    assert_once(printed, "2 of 6 classes have no training example in the first epoch: 4, 5\n");
    assert_never(train("all", "train.epochs=1", data, "data.num_classes=4"), CLASSES);
    /* Where the labels are read to count the classes, it is known before. */
    assert_once(train("counted", "train.epochs=1", data, "data.label_offset=1", UNITS_5),
                "1 of 5 classes has no training example: 0");
    /* A run that goes on in a later epoch has not seen the first one. */
    assert_code(liana__test_command("train", liana__test_path("config.yaml"), "--out", liana__test_path("again"), data,
                                    "data.num_classes=6", UNITS_6, "checkpoint.keep=0"),
                0);
    assert_ok(liana__folder_remove(liana__test_newest_checkpoint("again"), NULL), NULL);
    assert_never(train("again", data, "data.num_classes=6", UNITS_6, "--resume"), CLASSES);
}

static void test_a_warmup_that_does_not_end(void **state)
{
    (void)state;
    set_up();
    static const char rate[] = "train.optimizer.learning_rate";
    char words[3][120];
    static const char *const lengths[] = {"warmup_epochs: 3", "warmup_steps: 600", "warmup_epochs: 2.4"};
    for (int i = 0; i < 3; i++) {
        snprintf(words[i], sizeof words[i], "%s={name: CosineDecay, initial_learning_rate: 0.006, %s}", rate,
                 lengths[i]);
    }
    /* 3 epochs of 2 updates; the last one has 5/6 of the rate. */
    assert_once(train("all", words[0]),
                "the warm-up of 6 updates does not end in this run of 6 updates: the learning rate "
                "reaches only 0.005, and the schedule does not begin\n");
    assert_once(train("long", words[1]), "the warm-up of 600 updates does not end in this run of 6");
    assert_never(train("short", words[2]), WARMUP);
}

static void test_averages_that_hold_their_initial_values(void **state)
{
    (void)state;
    set_up();
    /* 2 updates: 0.9^2 = 0.81. Once, although the next epoch is no better. */
    assert_once(train("run", "checkpoint.keep=0"),
                "after 2 updates, the moving averages of batch normalisation are still "
                "81% initial values (momentum 0.9)");
    assert_once(train("advice", "train.batch_size=1", "train.microbatch=1", "train.epochs=1",
                      "model.batch_norm_momentum=0.999"),
                "still 96% initial values (momentum 0.999); validation and prediction use them: set it to 0.9 with "
                "model.batch_norm_momentum, or train longer\n");
    /* 0.3^2 = 0.09 */
    assert_never(train("soon", "model.batch_norm_momentum=0.3"), AVERAGES);
    assert_never(train("enough", "train.batch_size=1", "train.microbatch=1", "train.epochs=1"), AVERAGES);
    /* Resumed after 4 updates: 0.9^6 = 0.53, and not what 2 updates leave. */
    assert_ok(liana__folder_remove(liana__test_newest_checkpoint("run"), NULL), NULL);
    assert_once(train("run", "checkpoint.keep=0", "--resume"),
                "after 6 updates, the moving averages of batch normalisation "
                "are still 53% initial values");
    /* Loaded averages do not begin at a made-up value; frozen ones do not change. */
    char weights[600];
    snprintf(weights, sizeof weights, "model.weights=%s/variables.safetensors", liana__test_newest_checkpoint("run"));
    assert_never(train("loaded", weights), AVERAGES);
    assert_never(train("frozen", "model.trainable_from=dense"), AVERAGES);
}

/* ---- the same from C ---- */

static void collect(void *user, const char *note)
{
    liana__text_add(user, "%s\n", note);
}

static void test_notes_of_a_fit(void **state)
{
    (void)state;
    set_up();
    liana_context *context;
    liana_dataset *data;
    liana_model *model;
    liana__text notes = {0};
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    assert_int_equal(liana_dataset_open(context, liana__test_path("train-images"), NULL, &data), LIANA_OK);
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1));
    liana_batch_normalization(model);
    liana_flatten(model);
    liana_dense(model, .units = 5, .activation = "softmax");
    liana_fit_options options = {.training = data,
                                 .epochs = 2,
                                 .optimizer = "{name: SGD, learning_rate: {name: Constant, warmup_steps: 50}}",
                                 .on_note = collect,
                                 .user = &notes};
    assert_int_equal(liana_fit(model, &options), LIANA_OK);
    assert_int_equal(count_of(notes.data, "1 of 5 classes has no training example: 4\n"), 1);
    assert_int_equal(count_of(notes.data, WARMUP), 1);
    assert_int_equal(count_of(notes.data, "after 2 updates, the moving averages of batch normalisation are still 98%"),
                     1);
    assert_int_equal(count_of(notes.data, "lower it with liana_model_set_batch_norm_momentum"), 1);
    /* They are trained now. */
    notes.length = 0;
    assert_int_equal(liana_fit(model, &options), LIANA_OK);
    assert_int_equal(count_of(notes.data, AVERAGES), 0);
    assert_int_equal(liana_model_set_batch_norm_momentum(model, 1.1), LIANA_INVALID_ARGUMENT);
    assert_int_equal(liana_model_set_batch_norm_momentum(model, 0.5), LIANA_OK);
    liana__text_free(&notes);
    liana_model_destroy(model);
    liana_dataset_close(data);
    liana_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes_without_examples_are_named_before_the_first_step),
        cmocka_unit_test(test_classes_without_examples_are_named_after_the_first_epoch),
        cmocka_unit_test(test_a_warmup_that_does_not_end),
        cmocka_unit_test(test_averages_that_hold_their_initial_values),
        cmocka_unit_test(test_notes_of_a_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
