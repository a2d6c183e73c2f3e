/* Names of Keras, TensorFlow and others are answered with liana's, and all that the answers name is there. */
#include "harness/command_run.h"
#include "harness/text_files.h"

#include "base/other_names.h"
#include "cli/command.h"
#include "losses/loss.h"
#include "metrics/metric.h"
#include "train/config/config.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

typedef struct row {
    const char *kind, *theirs, *ours;
} row;

static const row rows[] = {
#define LIANA__OTHER_NAME(kind, theirs, ours) {#kind, theirs, ours},
#include "base/other_names.def"
#undef LIANA__OTHER_NAME
};
enum { NUM_ROWS = sizeof rows / sizeof *rows };

static bool is_part(size_t i)
{
    return strcmp(rows[i].kind, "PART") == 0;
}

/* ---- existing names ---- */

static void add_word(json_t *words, const char *word)
{
    json_object_set_new(words, word, json_true());
}

static void add_items(json_t *words, const json_t *items)
{
    size_t i;
    const json_t *item;
    json_array_foreach(items, i, item)
    {
        add_word(words, json_string_value(json_object_get(item, "name")));
        add_items(words, json_object_get(item, "options"));
    }
}

/* "data.train" and "paths" are there since "data.train.paths" is. */
static void add_sections(json_t *words)
{
    const char *key;
    void *next;
    json_t *value;
    json_object_foreach_safe(words, next, key, value)
    {
        (void)value;
        char section[100];
        snprintf(section, sizeof section, "%s", key);
        if (strrchr(section, '.')) add_word(words, strrchr(section, '.') + 1);
        for (char *point; (point = strrchr(section, '.'));) {
            *point = 0;
            add_word(words, section);
        }
    }
}

/* Names of all lists with their options, subcommands with theirs. */
static json_t *find_words(void)
{
    json_t *words = json_object();
    liana__test_result got = liana__test_command("list", "--json");
    assert_int_equal(got.code, 0);
    for (char *line = strtok(got.out, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *list = liana__test_parse_json(line);
        add_items(words, json_object_get(list, "items"));
        json_decref(list);
    }
    liana__test_free_result(&got);
    add_sections(words);
    size_t count;
    const liana__command *const *commands = liana__commands(&count);
    for (size_t i = 0; i < count; i++) {
        add_word(words, commands[i]->name);
        for (const liana__option *option = commands[i]->options; option && option->name; option++) {
            char dashed[60];
            snprintf(dashed, sizeof dashed, "--%s", option->name);
            add_word(words, dashed);
        }
    }
    /* Common to all optimizers and choices, so in no list. */
    static const char *const common[] = {"learning_rate", "train.optimizer.learning_rate", "name", "true"};
    for (size_t i = 0; i < sizeof common / sizeof *common; i++) add_word(words, common[i]);
    return words;
}

/* Words in capitals stand for values: N, RATE. */
static bool is_placeholder(const char *word)
{
    return strcmp(word, "N") == 0 || strcmp(word, "RATE") == 0 || strcmp(word, "x") == 0;
}

static void test_answers_exist(void **state)
{
    (void)state;
    json_t *words = find_words();
    assert_compare(json_object_size(words), >, 300);
    for (size_t i = 0; i < NUM_ROWS; i++) {
        if (!is_part(i)) continue;
        char text[200];
        snprintf(text, sizeof text, "%s", rows[i].ours);
        for (char *word = strtok(text, " :{}[],"); word; word = strtok(NULL, " :{}[],")) {
            bool is_number = isdigit((unsigned char)*word);
            if (is_number || is_placeholder(word) || json_object_get(words, word)) continue;
            fail_msg("the answer to '%s' is '%s', but there is no '%s'", rows[i].theirs, rows[i].ours, word);
        }
        /* An existing name needs no answer. */
        if (json_object_get(words, rows[i].theirs) && strcmp(rows[i].theirs, rows[i].ours) == 0) {
            fail_msg("'%s' is answered with itself", rows[i].theirs);
        }
    }
    json_decref(words);
}

/* ---- that they are given ---- */

static void test_every_row_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_ROWS; i++) {
        if (!is_part(i)) continue;
        char spelt[100];
        snprintf(spelt, sizeof spelt, "tf.keras.%s", rows[i].theirs);
        for (char *c = spelt + 9; *c; c++) *c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
        const char *const words[] = {rows[i].theirs, spelt};
        for (size_t k = 0; k < 2; k++) {
            liana__nearest_search search = liana__nearest_begin_known(words[k]);
            assert_non_null(search.nearest);
            liana__nearest_add_known(&search, "something");
            liana__nearest_add_known(&search, rows[i].ours);
            assert_string_equal(search.nearest, rows[i].ours);
        }
    }
    assert_null(liana__other_name(LIANA__OTHER_PART, "ModelCheckpoints"));
    assert_null(liana__other_name(LIANA__OTHER_PART, ""));
    assert_null(liana__other_name(LIANA__OTHER_PART, "tf."));
    assert_string_equal(liana__other_name(LIANA__OTHER_STRATEGY, "tf.distribute.MirroredStrategy"), "mirrored");
    assert_string_equal(liana__other_name(LIANA__OTHER_DEVICE, "CUDA"), "gpu");
}

static void check_config(const char *change, const char *expected)
{
    static const char text[] = "data: {train: x}\n"
                               "model: {layers: [{Dense: {units: 2}}]}\n"
                               "train: {epochs: 1}\n";
    liana__arena arena = {0};
    liana__error error = {0};
    liana__config config;
    char said[200];
    snprintf(said, sizeof said, "did you mean '%s'?", expected);
    liana_status status = liana__config_parse(NULL, LIANA__PLUGINS_IGNORED, text, sizeof text - 1, "c.yaml", &change, 1,
                                              &arena, &config, &error);
    if (status != LIANA_INVALID_CONFIG || !strstr(error.message, said)) {
        fail_msg("%s: not said: \"%s\" in: %s", change, said, error.message);
    }
    liana__arena_free(&arena);
}

/* Wherever names and keys are read. */
static void test_hints_of_configurations(void **state)
{
    (void)state;
    check_config("train.callbacks=[NanTensorHook]", "train.on_bad_numbers");
    check_config("train.callbacks=[CheckpointManager]", "checkpoint.keep");
    check_config("train.callbacks=[tf.keras.callbacks.TensorBoard]", "CSVLogger");
    check_config("train.optimizer=AdamOptimizer", "Adam");
    check_config("train.optimizer=tf.train.GradientDescentOptimizer", "SGD");
    check_config("train.optimizer={name: SGD, lr: 0.1}", "learning_rate");
    check_config("train.optimizer={name: Adam, decay: 0.1}",
                 "learning_rate: {name: InverseTimeDecay, decay_rate: RATE}");
    check_config("train.optimizer={name: SGD, learning_rate: {name: StepLR}}", "PiecewiseConstantDecay");
    const char *nearest = NULL;
    assert_null(liana__part_find(NULL, &liana__loss_kind, "tf.nn.softmax_cross_entropy_with_logits", &nearest));
    assert_string_equal(nearest, "categorical_crossentropy");
    check_config("train.lr=0.1", "train.optimizer.learning_rate");
    check_config("train.verbose=1", "train --json");
    check_config("train.validation_data=x", "data.validation");
    check_config("validation_data=x", "data.validation");
    check_config("train.workers=4", "data.threads");
    check_config("data.workers=4", "data.threads");
    check_config("data.color_mode=rgb", "data.channels");
    check_config("data.train.directory=x", "paths");
    check_config("data.image_dataset_from_directory=x", "data.train.paths");
    check_config("checkpoint.save_best_only=true", "checkpoint.best");
    check_config("model.backbone=MobileNet", "model.base");
    /* A usual fault gets the usual answer. */
    check_config("train.epochz=3", "epochs");
    check_config("train.learning_rate=3", "train.optimizer.learning_rate");
}

/* A configuration with one layer. */
static void write_layer(const char *layer)
{
    char text[300];
    snprintf(text, sizeof text,
             "data: {train: x, image_size: [8, 8], channels: 3, num_classes: 2}\n"
             "model: {layers: [%s]}\n"
             "train: {epochs: 1}\n",
             layer);
    liana__test_write("l.yaml", text, strlen(text));
}

static void test_hints_of_commands(void **state)
{
    (void)state;
    liana__test_folder();
    write_layer("MaxPool2D");
    assert_refused(liana__test_command("summary", liana__test_path("l.yaml")), 2, "MaxPool2D",
                   "did you mean 'MaxPooling2D'?");
    write_layer("{LeakyReLU: {alpha: 0.1}}");
    assert_refused(liana__test_command("summary", liana__test_path("l.yaml")), 2, "unknown key 'alpha'",
                   "negative_slope");
    write_layer("{Dense: {units: 2, W_regularizer: l2(0.1)}}");
    assert_refused(liana__test_command("summary", liana__test_path("l.yaml")), 2, "did you mean 'kernel_regularizer'?");
    write_layer("{Dense: {units: 2, kernel_initializer: xavier_normal}}");
    assert_refused(liana__test_command("summary", liana__test_path("l.yaml")), 2, "did you mean 'glorot_normal'?");
    write_layer("{Dense: {units: 2, activation: logistic}}");
    assert_refused(liana__test_command("summary", liana__test_path("l.yaml")), 2, "did you mean 'sigmoid'?");
    assert_refused(liana__test_command("list", "callbacks", "NanTensorHook"), 2,
                   "did you mean 'train.on_bad_numbers'?");
    assert_code(liana__test_command("list", "augmentations", "RandomFlip"), 0);
    assert_refused(liana__test_command("fit"), 2, "did you mean 'train'?");
    assert_refused(liana__test_command("validate", "run"), 2, "did you mean 'evaluate'?");
    assert_refused(liana__test_command("train", "l.yaml", "--max-epochs", "3"), 2, "train.epochs=3");
    assert_refused(liana__test_command("train", "l.yaml", "--lr=0.1"), 2, "train.optimizer.learning_rate=0.1");
    assert_refused(liana__test_command("train", "l.yaml", "--workers", "2"), 2, "data.threads=2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_exist),
        cmocka_unit_test(test_every_row_is_found),
        cmocka_unit_test(test_hints_of_configurations),
        cmocka_unit_test(test_hints_of_commands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
