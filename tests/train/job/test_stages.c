/* A training in stages ends in the same bits as fits one after the other, and however often it is killed and
 * resumed. */
#include "harness/tiny_fit.h"

#include "base/file.h"
#include "formats/json.h"

#include <math.h>
#include <stdlib.h>

enum { EXAMPLES = 108, EPOCHS = 5 };

/* The head; from the batch normalisation on, with another rate and multipliers; everything with another optimizer. */
#define STAGES                                                                                                      \
    "[{epochs: 2, trainable_from: dense}, {name: more, epochs: 2, trainable_from: batch_normalization, optimizer: " \
    "{learning_rate: {name: CosineDecay, initial_learning_rate: 0.01}, rate_multipliers: {dense: 0.5}}}, "          \
    "{epochs: 1, train_all: true, optimizer: {name: SGD, learning_rate: 0.05, momentum: 0.9}}]"

/* ---- in C ---- */

static liana_fit_options options_of(const liana__tiny_fit *own)
{
    return (liana_fit_options){.training = own->training,
                               .validation = own->validation,
                               .batch_size = 32,
                               .microbatch = 8,
                               .seed = 7,
                               .optimizer = "{name: Adam, learning_rate: 0.003}"};
}

typedef struct seen_epochs {
    double loss[EPOCHS], validation[EPOCHS];
    int count;
} seen_epochs;

static bool on_epoch(void *user, const liana_epoch *epoch)
{
    seen_epochs *own = user;
    assert_compare(own->count, <, EPOCHS);
    assert_int_equal(epoch->epoch, own->count + 1);
    own->loss[own->count] = epoch->training.loss;
    own->validation[own->count++] = epoch->validation.loss;
    return true;
}

/* The settings of the stages, by hand: the model's layers and options are changed between fits. */
static void fit_by_hand(const liana__tiny_fit *given, liana_model *model, seen_epochs *seen)
{
    const liana__tiny_fit own = *given;
    static const char *const from[] = {"dense", "batch_normalization", "conv2d"};
    static const char *const optimizers[] = {
        "{name: Adam, learning_rate: 0.003}",
        ("{name: Adam, learning_rate: {name: CosineDecay, initial_learning_rate: 0.01, decay_epochs: 2},"
         " rate_multipliers: {dense: 0.5}}"),
        "{name: SGD, learning_rate: 0.05, momentum: 0.9}"};
    static const int ends[] = {2, 4, 5};
    for (int stage = 0; stage < 3; stage++) {
        liana_fit_options options = options_of(&own);
        done(liana_model_train_from(model, from[stage]));
        options.optimizer = optimizers[stage];
        options.initial_epoch = stage ? ends[stage - 1] : 0;
        options.epochs = ends[stage];
        options.on_epoch = on_epoch;
        options.user = seen;
        done(liana_fit(model, &options));
    }
}

static void test_fits_one_after_the_other(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(EXAMPLES);
    seen_epochs by_hand = {0}, seen = {0};
    liana_model *expected = liana__tiny_model(own.context), *model = liana__tiny_model(own.context);
    fit_by_hand(&own, expected, &by_hand);
    liana_fit_options options = options_of(&own);
    liana__notebook notes = {""};
    options.stages = STAGES;
    options.on_epoch = on_epoch;
    options.user = &seen;
    int64_t trainable = liana_model_info(model).num_trainable_parameters;
    done(liana_fit(model, &options));
    assert_true(liana__same_weights(model, expected));
    assert_int_equal(seen.count, EPOCHS);
    assert_memory_equal(&seen, &by_hand, sizeof seen);
    assert_int_equal(liana_model_info(model).num_trainable_parameters, trainable);
    /* The model is compiled again with its own settings. */
    options.stages = NULL;
    options.epochs = 1;
    options.on_epoch = NULL;
    options.on_note = liana__write_note;
    options.user = &notes;
    done(liana_fit(model, &options));
    options.stages = STAGES;
    options.epochs = 0;
    done(liana_fit(model, &options));
    assert_says(notes.text, "stage 2 of 3 (more) begins with epoch 3, for 2 epochs");
    assert_says(notes.text, "stage 3 of 3 (stages[2]) begins with epoch 5, for 1 epochs");
    liana_model_destroy(expected);
    liana_model_destroy(model);
    liana__tiny_fit_close(&own);
}

/* With averages of the weights each fit ends with them, and the next one begins with them; so does each stage. */
static void test_averages_at_the_end_of_a_stage(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(EXAMPLES);
    static const char *const optimizers[] = {"{name: Adam, learning_rate: 0.02, use_ema: true, ema_momentum: 0.9}",
                                             "{name: Adam, learning_rate: 0.01}",
                                             "{name: SGD, learning_rate: 0.05, use_ema: true, ema_momentum: 0.5}"};
    static const char *const from[] = {"dense", "batch_normalization", "conv2d"};
    liana_model *expected = liana__tiny_model(own.context), *model = liana__tiny_model(own.context);
    liana_fit_options options = options_of(&own);
    for (int stage = 0; stage < 3; stage++) {
        done(liana_model_train_from(expected, from[stage]));
        options.optimizer = optimizers[stage];
        options.initial_epoch = stage;
        options.epochs = stage + 1;
        done(liana_fit(expected, &options));
    }
    options.initial_epoch = options.epochs = 0;
    options.optimizer = optimizers[0];
    options.stages = "[{epochs: 1, trainable_from: dense}, {epochs: 1, trainable_from: batch_normalization, optimizer: "
                     "{name: Adam, learning_rate: 0.01}}, {epochs: 1, train_all: true, optimizer: {name: SGD, "
                     "learning_rate: 0.05, use_ema: true, ema_momentum: 0.5}}]";
    done(liana_fit(model, &options));
    assert_true(liana__same_weights(model, expected));
    liana_model_destroy(expected);
    liana_model_destroy(model);
    liana__tiny_fit_close(&own);
}

/* ---- stages and a control ---- */

/* The first stage ends with weights that are worse than those it began with: the next one begins with the first
 * ones. */
static void test_a_stage_goes_back_at_its_end(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(EXAMPLES);
    liana__notebook notes = {""};
    liana_model *expected = liana__tiny_model(own.context), *model = liana__tiny_model(own.context);
    liana_fit_options options = options_of(&own);
    /* The second stage by itself; the data of its epoch are those of the second one. */
    options.initial_epoch = 1;
    options.epochs = 2;
    options.optimizer = "{name: SGD, learning_rate: 0.001}";
    done(liana_model_train_from(expected, "dense"));
    options.stages = NULL;
    liana_fit_options first = options;
    first.initial_epoch = 0;
    first.epochs = 1;
    first.optimizer =
        "{name: SGD, learning_rate: 1.0e-37}"; /* reads the first epoch, and changes nothing of the training */
    done(liana_fit(expected, &first));
    done(liana_fit(expected, &options));
    options = options_of(&own);
    options.stages = "[{epochs: 1, trainable_from: dense, optimizer: {name: SGD, learning_rate: 200}}, {epochs: 1, "
                     "trainable_from: dense, optimizer: {name: SGD, learning_rate: 0.001}}]";
    options.control = "{name: annealing, every_steps: 1000, energy: 0}";
    options.on_note = liana__write_note;
    options.user = &notes;
    done(liana_fit(model, &options));
    assert_says(notes.text, "back by 4 updates");
    const char *const same[] = {"dense/kernel", "dense/bias"};
    for (size_t i = 0; i < 2; i++) {
        liana_array left, right;
        done(liana_model_get_weights(model, same[i], &left));
        done(liana_model_get_weights(expected, same[i], &right));
        assert_memory_equal(left.data, right.data, (size_t)liana_shape_size(&left.shape) * sizeof(float));
    }
    liana_model_destroy(expected);
    liana_model_destroy(model);
    liana__tiny_fit_close(&own);
}

/* ---- stages that end early ---- */

/* No epoch is better by 100 than the first one: with a patience of 1 each stage ends after its second epoch. */
#define NEVER_BETTER "EarlyStopping: {monitor: loss, min_delta: 100, patience: 1"

/* Each stage is a fit that EarlyStopping ends, and the next one goes on with the data after it. The schedule of the
 * second one is that of the four epochs that it was to have. */
static void stop_by_hand(const liana__tiny_fit *given, liana_model *model, const char *callbacks, const char *second)
{
    const liana__tiny_fit own = *given;
    const char *const from[] = {"dense", "batch_normalization", "conv2d"};
    const char *const optimizers[] = {"{name: Adam, learning_rate: 0.003}", second, "{name: SGD, learning_rate: 0.05}"};
    static const int ends[] = {4, 6, 5};
    for (int stage = 0; stage < 3; stage++) {
        liana_fit_options options = options_of(&own);
        done(liana_model_train_from(model, from[stage]));
        options.optimizer = optimizers[stage];
        options.initial_epoch = 2 * stage;
        options.epochs = ends[stage];
        options.named_callbacks = callbacks;
        done(liana_fit(model, &options));
    }
}

static void test_early_stopping_ends_its_stage(void **state)
{
    (void)state;
    static const char *const callbacks[] = {"[" NEVER_BETTER "}]", "[" NEVER_BETTER ", restore_best_weights: true}]",
                                            "[" NEVER_BETTER ", restore_best_weights: true, start_from_epoch: 0}]"};
    static const char *const averages[] = {"", "", ", use_ema: true, ema_momentum: 0.9"};
    for (int i = 0; i < 3; i++) {
        char second[200], stages[600];
        liana__tiny_fit own = liana__tiny_fit_open(EXAMPLES);
        liana__notebook notes = {""};
        liana_model *expected = liana__tiny_model(own.context), *model = liana__tiny_model(own.context);
        snprintf(second, sizeof second,
                 "{name: Adam, learning_rate: {name: CosineDecay, initial_learning_rate: 0.01, decay_epochs: 4}%s}",
                 averages[i]);
        snprintf(stages, sizeof stages,
                 "[{epochs: 4, trainable_from: dense}, {epochs: 4, trainable_from: batch_normalization, optimizer: "
                 "%s}, {name: all, epochs: 1, train_all: true, optimizer: {name: SGD, learning_rate: 0.05}}]",
                 second);
        stop_by_hand(&own, expected, callbacks[i], second);
        liana_fit_options options = options_of(&own);
        options.stages = stages;
        options.named_callbacks = callbacks[i];
        options.on_note = liana__write_note;
        options.user = &notes;
        done(liana_fit(model, &options));
        assert_true(liana__same_weights(model, expected));
        assert_says(notes.text, "EarlyStopping ended stage 1 in epoch 2");
        assert_says(notes.text, "stage 2 of 3 (stages[1]) begins with epoch 3");
        assert_says(notes.text, "EarlyStopping ended stage 2 in epoch 4");
        assert_says(notes.text, "stage 3 of 3 (all) begins with epoch 5");
        assert_never_says(notes.text, "ended the training");
        liana_model_destroy(expected);
        liana_model_destroy(model);
        liana__tiny_fit_close(&own);
    }
}

static bool keep_epoch(void *user, const liana_epoch *epoch)
{
    *(int64_t *)user = epoch->epoch;
    return true;
}

/* The last stage ends the training; and any stage does with all_stages. */
static void test_early_stopping_ends_the_training(void **state)
{
    (void)state;
    static const struct {
        const char *callbacks, *stages;
        int64_t epochs;
    } cases[] = {
        {"[" NEVER_BETTER ", all_stages: true}]", "[{epochs: 4, trainable_from: dense}, {epochs: 3}]", 2},
        {"[" NEVER_BETTER "}]", "[{epochs: 4, trainable_from: dense}, {epochs: 3}]", 4},
        {"[" NEVER_BETTER "}]", "[{epochs: 4, trainable_from: dense}]", 2},
        {"[" NEVER_BETTER ", start_from_epoch: 1}]", "[{epochs: 9, trainable_from: dense}, {epochs: 9}]", 6},
        {"[" NEVER_BETTER ", all_stages: true, start_from_epoch: 2}]",
         "[{epochs: 3, trainable_from: dense}, {epochs: 4}]", 4},
        {"[" NEVER_BETTER "}]", NULL, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t last = 0;
        liana__tiny_fit own = liana__tiny_fit_open(EXAMPLES);
        liana_model *model = liana__tiny_model(own.context);
        liana_fit_options options = options_of(&own);
        options.stages = cases[i].stages;
        if (!cases[i].stages) options.epochs = 8;
        options.named_callbacks = cases[i].callbacks;
        options.on_epoch = keep_epoch;
        options.user = &last;
        done(liana_fit(model, &options));
        assert_int_equal(last, cases[i].epochs);
        liana_model_destroy(model);
        liana__tiny_fit_close(&own);
    }
}

static void test_what_a_program_may_not_say(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"[]", "stages: found a list of 0, expected a list of stages"},
        {"{epochs: 3}", "expected a list of stages"},
        {"[3]", "stages[0]: found the number 3, expected a stage"},
        {"[{trainable_from: dense}]", "stages[0]: the key 'epochs' is missing"},
        {"[{epochs: 0}]", "stages[0].epochs: found the number 0"},
        {"[{epochs: 1, length: 2}]", "length"},
        {"[{epochs: 1}, {epochs: 1, trainable_from: dens}]", "stages[1].trainable_from: the model"},
        {"[{epochs: 1, trainable_from: flatten_7}]", "has no layer 'flatten_7'"},
        {"[{epochs: 1, trainable_from: dense, train_all: true}]", "found beside train_all"},
        {"[{epochs: 1, optimizer: {name: Adm}}]", "stages[0].optimizer: there is no optimizer 'Adm'"},
        {"[{epochs: 1, optimizer: {learning_rat: 1}}]",
         "stages[0].optimizer: unknown key 'learning_rat'; did you mean 'learning_rate'?"},
        {"[{epochs: 1}, {epochs: 1, optimizer: {rate_multipliers: {dens: 2}}}]", "'dens' matches no weight"},
    };
    liana__tiny_fit own = liana__tiny_fit_open(EXAMPLES);
    liana_model *model = liana__tiny_model(own.context);
    liana_fit_options options = options_of(&own);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        options.stages = wrong[i][0];
        refused(liana_fit(model, &options), LIANA_INVALID_CONFIG, wrong[i][1]);
    }
    options.stages = "[{epochs: 1}, {epochs: 2}]";
    options.epochs = 4;
    refused(liana_fit(model, &options), LIANA_INVALID_CONFIG, "the stages have 3 epochs in all, but epochs is 4");
    options.epochs = 3;
    done(liana_fit(model, &options));
    liana_model_destroy(model);
    model = liana__tiny_model(own.context);
    done(liana_model_train_from(model, "dense"));
    options.stages = "[{epochs: 1, trainable_from: flatten}, {epochs: 2}]";
    done(liana_fit(model, &options));
    liana_model_destroy(model);
    liana__tiny_fit_close(&own);
}

/* ---- a run ---- */

static char config_path[256];

#define SETTINGS                                                                         \
    "stages=" STAGES, "train.epochs=5", "checkpoint.every_steps=1", "checkpoint.keep=0", \
        "train.callbacks=[EarlyStopping: {patience: 9, monitor: val_loss, restore_best_weights: true}]"

static void assert_same_run(const char *run, const char *expected)
{
    char first[600], second[600];
    static const char *const names[] = {"history.json", "validation_predictions.csv"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(first, sizeof first, "%s/%s", run, names[i]);
        snprintf(second, sizeof second, "%s/%s", expected, names[i]);
        char left[600], right[600];
        snprintf(left, sizeof left, "%s", liana__test_path(first));
        snprintf(right, sizeof right, "%s", liana__test_path(second));
        assert_same_file(left, right);
    }
    snprintf(first, sizeof first, "%s/variables.safetensors", liana__test_newest_checkpoint(run));
    snprintf(second, sizeof second, "%s/variables.safetensors", liana__test_newest_checkpoint(expected));
    assert_same_file(first, second);
}

/* As if the run had been killed after checkpoint `index`: it has that one and those before it. */
static void copy_until(const char *from, const char *to, size_t index)
{
    char command[1200], folder[600];
    liana__arena arena = {0};
    liana__paths names;
    liana__error error = {0};
    char source[300];
    snprintf(source, sizeof source, "%s", liana__test_path(from));
    snprintf(command, sizeof command, "rm -rf '%s' && cp -r '%s' '%s'", liana__test_path(to), source,
             liana__test_path(to));
    assert_int_equal(system(command), 0);
    snprintf(folder, sizeof folder, "%s/checkpoints", liana__test_path(to));
    assert_ok(liana__folder_list(folder, &arena, &names, &error), &error);
    for (size_t i = index + 1; i < names.count; i++) {
        char path[900];
        snprintf(path, sizeof path, "%s/%s", folder, names.items[i]);
        assert_ok(liana__folder_remove(path, &error), &error);
    }
    liana__arena_free(&arena);
}

static size_t count_checkpoints(const char *run)
{
    char folder[600];
    liana__arena arena = {0};
    liana__paths names;
    liana__error error = {0};
    snprintf(folder, sizeof folder, "%s/checkpoints", liana__test_path(run));
    assert_ok(liana__folder_list(folder, &arena, &names, &error), &error);
    size_t count = names.count;
    liana__arena_free(&arena);
    return count;
}

/* The learning rates at the ends of epochs: each stage has a schedule of its own. */
static void check_rates(const char *run)
{
    static const double expected[EPOCHS] = {0.003, 0.003, 0, 0, 0.05};
    liana__arena arena = {0};
    liana__value *history;
    liana__error error = {0};
    char path[128];
    snprintf(path, sizeof path, "%s/history.json", run);
    assert_ok(liana__json_read(liana__test_path(path), &arena, &history, &error), &error);
    const liana__value *epochs = liana__value_get(history, "epochs");
    assert_int_equal(epochs->count, EPOCHS);
    for (int i = 0; i < EPOCHS; i++) {
        double rate = liana__value_get(epochs->items[i], "learning_rate")->number, wanted = expected[i];
        /* The last of 4 and of 8 updates of the decay. */
        if (i == 2) wanted = 0.01 * 0.5 * (1 + cos(3.14159265358979 * 3 / 8));
        if (i == 3) wanted = 0.01 * 0.5 * (1 + cos(3.14159265358979 * 7 / 8));
        assert_near(rate, wanted, 1e-9);
    }
    liana__arena_free(&arena);
}

static void test_resumed_after_each_checkpoint(void **state)
{
    (void)state;
    liana__test_folder();
    snprintf(config_path, sizeof config_path, "%s", liana__test_tiny_run(EXAMPLES));
    static const char *const threads[] = {"train.threads=1", "train.threads=2", "train.threads=3"};
    char run[300];
    snprintf(run, sizeof run, "%s", liana__test_path("whole"));
    liana__test_result got = liana__test_command("train", config_path, SETTINGS, "--out", run);
    assert_says(got.out, "stage 2 of 3 (more) begins with epoch 3");
    assert_code(got, 0);
    check_rates("whole");
    size_t count = count_checkpoints("whole");
    assert_compare(count, >=, 4 * EPOCHS);
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    for (size_t i = 0; i + 1 < count; i++) {
        copy_until("whole", "run", i);
        got = liana__test_command("train", config_path, SETTINGS, "--out", run, "--resume", threads[i % 3]);
        assert_says(got.out, "resumed from '");
        assert_code(got, 0);
        assert_same_run("run", "whole");
    }
}

/* The same with a control that goes back in each stage and at its end, and with averages of the weights. */
#define CONTROLLED                                                                                             \
    "stages=[{epochs: 2, trainable_from: dense}, {epochs: 2, trainable_from: batch_normalization, optimizer: " \
    "{learning_rate: 5}}, {epochs: 1, train_all: true, optimizer: {name: SGD, learning_rate: {online: "        \
    "hypergradient, initial_learning_rate: 0.1}}}]",                                                           \
        "train.optimizer={name: Adam, learning_rate: 0.5, use_ema: true}", "train.epochs=5",                   \
        "checkpoint.every_steps=1", "checkpoint.keep=0",                                                       \
        "train.control={name: annealing, monitor: val_loss, every_steps: 3, energy: 0.02, factor_low: 0.5}"

static void test_a_control_in_each_stage(void **state)
{
    (void)state;
    liana__test_folder();
    snprintf(config_path, sizeof config_path, "%s", liana__test_tiny_run(EXAMPLES));
    char run[300];
    snprintf(run, sizeof run, "%s", liana__test_path("whole"));
    assert_code(liana__test_command("train", config_path, CONTROLLED, "--out", run), 0);
    char *text;
    size_t size;
    assert_ok(liana__file_read(liana__test_path("whole/history.json"), 1 << 20, &text, &size, NULL), NULL);
    assert_says(text, "\"accepted\": true");
    assert_says(text, "\"accepted\": false");
    free(text);
    size_t count = count_checkpoints("whole");
    assert_compare(count, >=, 4 * EPOCHS);
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    for (size_t i = 0; i + 1 < count; i += 3) {
        copy_until("whole", "run", i);
        assert_code(liana__test_command("train", config_path, CONTROLLED, "--out", run, "--resume"), 0);
        assert_same_run("run", "whole");
    }
}

/* A damaged checkpoint of a later stage: the run goes on from one of an earlier stage. */
static void test_damage_in_a_later_stage(void **state)
{
    (void)state;
    char run[300], newest[600], path[700];
    liana__test_folder();
    snprintf(config_path, sizeof config_path, "%s", liana__test_tiny_run(EXAMPLES));
    snprintf(run, sizeof run, "%s", liana__test_path("whole"));
    assert_code(liana__test_command("train", config_path, SETTINGS, "--out", run), 0);
    copy_until("whole", "run", 8);
    snprintf(newest, sizeof newest, "%s", liana__test_newest_checkpoint("run"));
    snprintf(path, sizeof path, "%s/variables.safetensors", newest);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs("damaged", file);
    fclose(file);
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    liana__test_result got = liana__test_command("train", config_path, SETTINGS, "--out", run, "--resume");
    assert_says(got.out, "is damaged");
    assert_code(got, 0);
    assert_same_run("run", "whole");
}

#define EARLY                                                                                                       \
    "stages=[{epochs: 4, trainable_from: dense}, {epochs: 4, train_all: true, optimizer: {learning_rate: 0.001}}]", \
        "train.epochs=8", "checkpoint.every_steps=3", "checkpoint.keep=0",                                          \
        "train.callbacks=[" NEVER_BETTER ", restore_best_weights: true}]"

/* Killed before, at and after the end of a stage that EarlyStopping ends. */
static void test_resumed_around_an_early_end(void **state)
{
    (void)state;
    liana__test_folder();
    snprintf(config_path, sizeof config_path, "%s", liana__test_tiny_run(EXAMPLES));
    char whole[300], run[300];
    snprintf(whole, sizeof whole, "%s", liana__test_path("whole"));
    snprintf(run, sizeof run, "%s", liana__test_path("part"));
    assert_code(liana__test_command("train", config_path, EARLY, "--out", whole), 0);
    char folder[400];
    snprintf(folder, sizeof folder, "%s/checkpoints", whole);
    liana__arena arena = {0};
    liana__paths names;
    liana__error error = {0};
    assert_ok(liana__folder_list(folder, &arena, &names, &error), &error);
    assert_compare(names.count, >, 5);
    for (size_t i = 0; i + 1 < names.count; i++) {
        copy_until("whole", "part", i);
        /* The run folder in place of its configuration. */
        assert_code(liana__test_command("train", run, "--resume"), 0);
        assert_same_run("part", "whole");
    }
    liana__arena_free(&arena);
}

static void test_what_a_configuration_may_not_say(void **state)
{
    (void)state;
    liana__test_folder();
    snprintf(config_path, sizeof config_path, "%s", liana__test_tiny_run(EXAMPLES));
    char run[300];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    assert_refused(liana__test_command("train", config_path, "stages=[{epochs: 2}]", "--out", run), 2,
                   "stages:", "2 epochs in all, but train.epochs is 3");
    assert_refused(liana__test_command("train", config_path, "stages=[{epochs: 3, trainable_from: nothing}]", "--out",
                                       run),
                   2, "stages[0].trainable_from", "no layer 'nothing'");
    assert_refused(liana__test_command("train", config_path, "train.optimizer.rate_multipliers={block: 2}", "--out",
                                       run),
                   2, "train.optimizer.rate_multipliers", "'block' matches no weight and no layer");
    assert_code(liana__test_command("train", config_path, "stages=[{epochs: 1}, {epochs: 2}]", "--out", run), 0);
    assert_refused(liana__test_command("train", config_path, "stages=[{epochs: 2}, {epochs: 1}]", "--out", run,
                                       "--resume"),
                   2, "stages");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_early_stopping_ends_its_stage),  cmocka_unit_test(test_early_stopping_ends_the_training),
        cmocka_unit_test(test_resumed_around_an_early_end),    cmocka_unit_test(test_fits_one_after_the_other),
        cmocka_unit_test(test_what_a_program_may_not_say),     cmocka_unit_test(test_resumed_after_each_checkpoint),
        cmocka_unit_test(test_damage_in_a_later_stage),        cmocka_unit_test(test_what_a_configuration_may_not_say),
        cmocka_unit_test(test_averages_at_the_end_of_a_stage), cmocka_unit_test(test_a_stage_goes_back_at_its_end),
        cmocka_unit_test(test_a_control_in_each_stage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
