/* Each kind of callback: its rules on numbers, and its effect in a training. */
#include "harness/tiny_fit.h"

#include "base/file.h"
#include "formats/json.h"
#include "train/callbacks/callback.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_TRAINING = 100 };

/* ---- the rules of single callbacks, on numbers ---- */

/* A training that measures only given values. */
typedef struct stage {
    liana__training training;
    liana__totals totals, validation;
    double sums[2], validation_sums[2]; /* theirs */
    liana_fit_context context;
    liana__callback_list list;
    liana__arena arena;
    liana__notebook notes;
} stage;

/* A loss and the accuracy. */
static const liana__objective objective = {
    .outputs = {{.name = "dense",
                 .choice = {.loss = &liana__loss_sparse_categorical_crossentropy},
                 .weight = 1,
                 .elements = 1}},
    .num_outputs = 1,
    .metrics = {{.choice = {.metric = &liana__metric_accuracy}, .name = "accuracy", .first_sum = 1, .num_sums = 1}},
    .num_metrics = 1,
    .num_sums = 2,
    .value_names = {"loss", "accuracy"},
    .num_values = 2,
};

static void open_stage(stage *own, const char *callbacks)
{
    liana__error error = {0};
    liana__value *value;
    *own = (stage){.training = {.objective = &objective,
                                .num_metrics = 1,
                                .metric_names = objective.value_names + 1,
                                .state = {.rate_factor = 1}}};
    own->context = (liana_fit_context){.training = &own->training,
                                       .totals = &own->totals,
                                       .validation = &own->validation,
                                       .validates = true,
                                       .notes = {liana__write_note, &own->notes}};
    assert_ok(liana__json_parse(callbacks, strlen(callbacks), "callbacks", &own->arena, &value, &error), &error);
    assert_ok(liana__callback_list_read(&own->list, NULL, value, "callbacks", &own->arena, &error), &error);
    assert_ok(liana__callback_list_call(&own->list, LIANA_ON_TRAIN_BEGIN, &own->context, &error), &error);
}

static void close_stage(stage *own)
{
    liana__callback_list_free(&own->list);
    liana__arena_free(&own->arena);
}

/* An epoch with a validation; NaN: without one. */
static void play_epoch(stage *own, double loss, double validation_loss)
{
    liana__error error = {0};
    own->context.epoch++;
    own->totals = (liana__totals){.objective = &objective, .sums = own->sums};
    own->validation = (liana__totals){.objective = &objective, .sums = own->validation_sums};
    liana__totals_clear(&own->totals);
    liana__totals_clear(&own->validation);
    liana__totals_add(&own->totals, (const float[]){(float)loss, 0.5F}, 1, 0);
    if (!isnan(validation_loss)) {
        liana__totals_add(&own->validation, (const float[]){(float)validation_loss, (float)validation_loss}, 1, 0);
    }
    own->context.learning_rate = 0.1 * own->training.state.rate_factor;
    assert_ok(liana__callback_list_call(&own->list, LIANA_ON_EPOCH_END, &own->context, &error), &error);
}

/* The epoch that a list of losses is stopped in; 0: none. */
static int64_t stopped_in(const char *options, const double *losses, size_t count)
{
    stage own;
    char text[256];
    snprintf(text, sizeof text, "[{\"EarlyStopping\": %s}]", options);
    open_stage(&own, text);
    int64_t epoch = 0;
    for (size_t i = 0; i < count && !epoch; i++) {
        play_epoch(&own, 1, losses[i]);
        if (own.context.stopping) epoch = own.context.epoch;
    }
    close_stage(&own);
    return epoch;
}

/* Worked out by hand from the rules of Keras's EarlyStopping. */
static void test_early_stopping_rules(void **state)
{
    (void)state;
    static const double losses[] = {1.0, 0.9, 0.95, 0.94, 0.85, 0.86, 0.87, 0.88, 0.89};
    enum { COUNT = sizeof losses / sizeof *losses };
    assert_int_equal(stopped_in("{\"patience\": 0}", losses, COUNT), 3);
    assert_int_equal(stopped_in("{\"patience\": 2}", losses, COUNT), 4);
    assert_int_equal(stopped_in("{\"patience\": 3}", losses, COUNT), 8);
    assert_int_equal(stopped_in("{\"patience\": 5}", losses, COUNT), 0);
    /* Nothing improves by 0.2. */
    assert_int_equal(stopped_in("{\"patience\": 3, \"min_delta\": 0.2}", losses, COUNT), 4);
    assert_int_equal(stopped_in("{\"patience\": 1, \"mode\": \"max\", \"monitor\": \"val_accuracy\"}", losses, COUNT),
                     2);
    assert_int_equal(stopped_in("{\"patience\": 1, \"start_from_epoch\": 4}", losses, COUNT), 6);
    /* Improvements that do not pass the baseline do not end the wait: 2 of them, then a third epoch. */
    assert_int_equal(stopped_in("{\"patience\": 3, \"baseline\": 0.5}", losses, COUNT), 3);
    /* Epochs without a validation count neither way. */
    static const double gaps[] = {1.0, NAN, NAN, 1.1, NAN, 1.2};
    assert_int_equal(stopped_in("{\"patience\": 2}", gaps, 6), 6);
    assert_int_equal(stopped_in("{\"patience\": 2, \"monitor\": \"loss\"}", gaps, 6), 3);
}

/* Worked out by hand from the rules of Keras's ReduceLROnPlateau. */
static void test_plateau_rules(void **state)
{
    (void)state;
    stage own;
    open_stage(&own,
               "[{\"ReduceLROnPlateau\": {\"patience\": 2, \"factor\": 0.5, \"cooldown\": 1, \"min_lr\": 0.02}}]");
    static const double losses[] = {1.0, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 0.5, 0.6};
    static const double rates[] = {0.1, 0.1, 0.05, 0.05, 0.025, 0.025, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02};
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        play_epoch(&own, 1, losses[i]);
        double rate = 0.1 * own.training.state.rate_factor;
        if (fabs(rate - rates[i]) > 1e-12) print_error("epoch %zu: %g, expected %g\n", i + 1, rate, rates[i]);
        assert_near(rate, rates[i], 1e-12, i);
    }
    assert_says(own.notes.text, "falls from 0.1 to 0.05 after epoch 3");
    close_stage(&own);
}

/* ---- whole callbacks ---- */

typedef struct best {
    liana_model *model;
    float *weights; /* of the best epoch so far */
    size_t size;
    double loss;
    int64_t epoch;
} best;

static liana_status look_for_best(void *user, liana_fit_context *context)
{
    best *own = user;
    double loss;
    assert_true(liana_fit_metric(context, "val_loss", &loss));
    if (own->epoch && loss >= own->loss) return LIANA_OK;
    own->loss = loss;
    own->epoch = liana_fit_info(context).epoch;
    own->size = (size_t)liana_fit_variable_size(context, "dense/kernel");
    own->weights = realloc(own->weights, own->size * sizeof *own->weights);
    return liana_fit_variable_read(context, "dense/kernel", own->weights);
}

static void test_the_best_weights_are_restored(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(NUM_TRAINING);
    best found = {0};
    char checkpoints[256];
    snprintf(checkpoints, sizeof checkpoints, "%s", liana__test_path("run/checkpoints"));
    liana__notebook notes = {{0}};
    liana_callback callback = {.size = sizeof callback, .epoch_end = look_for_best, .user = &found};
    liana_fit_options options = {.training = own.training,
                                 .validation = own.validation,
                                 .epochs = 30,
                                 .optimizer = "{name: Adam, learning_rate: 0.3}",
                                 .checkpoints = checkpoints,
                                 .on_note = liana__write_note,
                                 .user = &notes,
                                 .named_callbacks = "[EarlyStopping: {patience: 1, restore_best_weights: true}]",
                                 .callbacks = (const liana_callback *[]){&callback},
                                 .num_callbacks = 1};
    liana_model *model = liana__tiny_model(own.context), *loaded = liana__tiny_model(own.context);
    done(liana_fit(model, &options));
    assert_says(notes.text, "EarlyStopping ended the training");
    liana_array kernel;
    done(liana_model_get_weights(model, "dense/kernel", &kernel));
    assert_memory_equal(kernel.data, found.weights, found.size * sizeof(float));
    liana_results results;
    done(liana_evaluate(model, own.validation, NULL, &results));
    assert_compare(results.loss, ==, found.loss);
    /* They are in the last checkpoint, whose name says that they are not those of its update. */
    const char *newest = liana__test_newest_checkpoint("run");
    assert_compare(strlen(newest), >, 8);
    assert_string_equal(newest + strlen(newest) - 8, "-changed");
    options.resume = true;
    done(liana_fit(loaded, &options));
    assert_true(liana__same_weights(loaded, model));
    free(found.weights);
    liana_model_destroy(model);
    liana_model_destroy(loaded);
    liana__tiny_fit_close(&own);
}

typedef struct table {
    char text[2048];
} table;

static bool add_row(void *user, const liana_epoch *epoch)
{
    table *own = user;
    size_t length = strlen(own->text);
    snprintf(own->text + length, sizeof own->text - length, "%lld;%.17g;%.17g;%.17g;%.17g;%.17g;%lld\n",
             (long long)epoch->epoch, epoch->training.loss, epoch->training.metrics[0], epoch->validation.loss,
             epoch->validation.metrics[0], epoch->learning_rate, (long long)epoch->global_step);
    return true;
}

static void test_the_log_is_the_history(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(NUM_TRAINING);
    table expected = {{0}};
    char callbacks[400], path[300];
    snprintf(path, sizeof path, "%s", liana__test_path("log.csv"));
    snprintf(callbacks, sizeof callbacks, "[CSVLogger: {filename: '%s', separator: ';'}]", path);
    liana_model *model = liana__tiny_model(own.context);
    done(liana_fit(model, &(liana_fit_options){.training = own.training,
                                               .validation = own.validation,
                                               .epochs = 2,
                                               .named_callbacks = callbacks,
                                               .on_epoch = add_row,
                                               .user = &expected}));
    char *text;
    size_t size;
    liana__error error = {0};
    assert_ok(liana__file_read(path, 1 << 20, &text, &size, &error), &error);
    const char *line = text, *row = expected.text;
    static const char header[] = "epoch;loss;accuracy;val_loss;val_accuracy;learning_rate;global_step\n";
    assert_memory_equal(line, header, sizeof header - 1);
    line += sizeof header - 1;
    /* The same numbers, to the last bit. */
    for (int i = 0; i < 2 * 7; i++) {
        char *end, *expected_end;
        double left = strtod(line, &end), right = strtod(row, &expected_end);
        assert_compare(left, ==, right);
        assert_compare(*end, ==, *expected_end);
        line = end + 1;
        row = expected_end + 1;
    }
    assert_ptr_equal(line, text + size);
    free(text);
    /* A file that cannot be written ends the fit. */
    refused(liana_fit(model, &(liana_fit_options){.training = own.training,
                                                  .named_callbacks = "[CSVLogger: {filename: /nowhere/log.csv}]"}),
            LIANA_NOT_FOUND, "the callback CSVLogger");
    liana_model_destroy(model);
    liana__tiny_fit_close(&own);
}

static void test_minutes_end_a_training(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(NUM_TRAINING);
    liana__notebook notes = {{0}};
    char checkpoints[256];
    snprintf(checkpoints, sizeof checkpoints, "%s", liana__test_path("run/checkpoints"));
    liana_fit_options options = {.training = own.training,
                                 .max_minutes = 0.002,
                                 .checkpoints = checkpoints,
                                 .on_note = liana__write_note,
                                 .user = &notes};
    liana_model *model = liana__tiny_model(own.context);
    done(liana_fit(model, &options));
    assert_says(notes.text, "max_minutes ended the training");
    assert_says(notes.text, "0.002 minutes are over");
    /* The minutes of all parts count. */
    options.resume = true;
    char before[600];
    snprintf(before, sizeof before, "%s", liana__test_newest_checkpoint("run"));
    done(liana_fit(model, &options));
    assert_string_equal(liana__test_newest_checkpoint("run"), before);
    options.max_minutes = 0.004;
    done(liana_fit(model, &options));
    assert_compare(strcmp(liana__test_newest_checkpoint("run"), before), >, 0);
    /* A decay needs an end that is known. */
    options.optimizer = "{name: SGD, learning_rate: {name: CosineDecay}}";
    options.resume = false;
    refused(liana_fit(model, &options), LIANA_INVALID_CONFIG, "CosineDecay decays to the end of the fit");
    assert_refused(liana__test_command("train", liana__test_path("config.yaml"), "train.epochs=0",
                                       "train.max_minutes=1",
                                       "train.optimizer={name: SGD, learning_rate: {name: CosineDecay}}"),
                   2, "train.optimizer.learning_rate", "train.max_minutes alone");
    liana_model_destroy(model);
    liana__tiny_fit_close(&own);
}

/* ---- the command ---- */

static void test_the_command_lists_and_refuses(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(NUM_TRAINING);
    liana__test_result got = liana__test_command("list", "callbacks");
    for (const liana_part *const *part = liana__callback_kind.builtin; *part; part++)
        assert_says(got.out, (*part)->name);
    assert_code(got, 0);
    got = liana__test_command("list", "callbacks", "ReduceLROnPlateau");
    assert_says(got.out, "cooldown");
    assert_code(got, 0);
    const char *config = liana__test_path("config.yaml");
    assert_refused(liana__test_command("train", config, "train.callbacks=[CSVLoger]"), 2, "train.callbacks[0]",
                   "did you mean 'CSVLogger'");
    assert_refused(liana__test_command("train", config, "train.callbacks=[EarlyStopping: {mode: least}]"), 2,
                   "train.callbacks[0].EarlyStopping.mode");
    assert_refused(liana__test_command("train", config, "train.initial_epoch=3"), 2, "train.initial_epoch",
                   "less than train.epochs, which is 3");
    liana__tiny_fit_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_early_stopping_rules),          cmocka_unit_test(test_plateau_rules),
        cmocka_unit_test(test_the_best_weights_are_restored), cmocka_unit_test(test_the_log_is_the_history),
        cmocka_unit_test(test_minutes_end_a_training),        cmocka_unit_test(test_the_command_lists_and_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
