/* Callbacks: their order, their requests, and that their state is part of checkpoints. */
#include "harness/tiny_fit.h"

#include "base/file.h"
#include "formats/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_TRAINING = 100, STEPS = 4 };

/* ---- the order of events ---- */

typedef struct diary {
    char text[4096];
    double loss, validation_loss;
    bool asked_in_vain;
} diary;

static void add(diary *own, const char *event, const liana_fit_context *context)
{
    size_t length = strlen(own->text);
    snprintf(own->text + length, sizeof own->text - length, "%s%lld.%lld/%lld ", event,
             (long long)liana_fit_info(context).epoch, (long long)liana_fit_info(context).step,
             (long long)liana_fit_info(context).steps);
}

#define WRITE(name, letter)                                          \
    static liana_status name(void *user, liana_fit_context *context) \
    {                                                                \
        add(user, letter, context);                                  \
        return LIANA_OK;                                             \
    }
WRITE(write_train_begin, "T")
WRITE(write_epoch_begin, "E")
WRITE(write_step_begin, "s")
WRITE(write_step_end, "S")
WRITE(write_validation_begin, "v")
WRITE(write_validation_end, "V")
#undef WRITE

static liana_status write_epoch_end(void *user, liana_fit_context *context)
{
    diary *own = user;
    add(own, "e", context);
    assert_true(liana_fit_metric(context, "loss", &own->loss));
    bool known = liana_fit_metric(context, "val_loss", &own->validation_loss);
    assert_int_equal(known, liana_fit_info(context).epoch % 2 == 0);
    double value = 5;
    own->asked_in_vain = liana_fit_metric(context, "accurcy", &value) || liana_fit_metric(context, NULL, NULL);
    assert_compare(value, ==, 0);
    assert_int_equal(liana_fit_info(context).epochs, 2);
    assert_int_equal(liana_fit_info(context).iteration, STEPS * liana_fit_info(context).epoch);
    assert_compare(liana_fit_info(context).learning_rate, ==, 0.01);
    assert_true(liana_fit_info(context).is_chief);
    assert_false(liana_fit_info(context).is_resumed);
    return LIANA_OK;
}

static liana_status write_train_end(void *user, liana_fit_context *context)
{
    add(user, "t", context);
    /* The variables are those of the model, and the optimizer's. */
    size_t count = 0, slots = 0;
    for (const char *name; (name = liana_fit_variable_name(context, count)); count++) {
        int64_t size = liana_fit_variable_size(context, name);
        assert_compare(size, >, 0);
        float *values = malloc((size_t)size * sizeof *values);
        assert_int_equal(liana_fit_variable_read(context, name, values), LIANA_OK);
        if (strncmp(name, "optimizer/", 10) == 0) slots++;
        free(values);
    }
    assert_int_equal(slots, 6); /* one for each trainable weight */
    assert_int_equal(liana_fit_variable_size(context, "nothing"), -1);
    float none[1];
    assert_int_equal(liana_fit_variable_read(context, "nothing", none), LIANA_NOT_FOUND);
    return LIANA_OK;
}

static void test_events_come_in_order(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(NUM_TRAINING);
    liana_model *model = liana__tiny_model(own.context);
    diary written = {0};
    liana_callback callback = {.size = sizeof callback,
                               .train_begin = write_train_begin,
                               .train_end = write_train_end,
                               .epoch_begin = write_epoch_begin,
                               .epoch_end = write_epoch_end,
                               .step_begin = write_step_begin,
                               .step_end = write_step_end,
                               .validation_begin = write_validation_begin,
                               .validation_end = write_validation_end,
                               .user = &written};
    liana_fit_options options = {.training = own.training,
                                 .validation = own.validation,
                                 .epochs = 2,
                                 .validation_freq = 2,
                                 .validation_batch_size = 20,
                                 .validation_steps = 2,
                                 .optimizer = "{name: SGD, learning_rate: 0.01, momentum: 0.5}",
                                 .callbacks = (const liana_callback *[]){&callback},
                                 .num_callbacks = 1};
    done(liana_fit(model, &options));
    assert_string_equal(written.text, "T1.0/4 E1.0/4 s1.0/4 S1.1/4 s1.1/4 S1.2/4 s1.2/4 S1.3/4 s1.3/4 S1.4/4 e1.4/4 "
                                      "E2.0/4 s2.0/4 S2.1/4 s2.1/4 S2.2/4 s2.2/4 S2.3/4 s2.3/4 S2.4/4 "
                                      "v2.0/2 V2.2/2 e2.4/4 t2.4/4 ");
    assert_false(written.asked_in_vain);
    /* The validation was of the first 40 examples. */
    liana_results results;
    done(liana_evaluate(model, own.validation, &(liana_evaluate_options){.batch_size = 20, .steps = 2}, &results));
    assert_int_equal(results.num_examples, 40);
    assert_compare(results.loss, ==, written.validation_loss);
    liana_model_destroy(model);
    liana__tiny_fit_close(&own);
}

/* ---- what callbacks ask for ---- */

typedef struct asker {
    int64_t stop_at; /* the update */
    int64_t save_at;
    double factor; /* set after the first epoch; 0: none */
    liana_status fails;
} asker;

static liana_status ask(void *user, liana_fit_context *context)
{
    const asker *own = user;
    int64_t iteration = liana_fit_info(context).iteration;
    if (iteration == own->stop_at) liana_fit_stop(context, "it is enough");
    if (iteration == own->save_at) liana_fit_request_checkpoint(context);
    if (own->fails) return liana_fit_fail(context, own->fails, "nothing works");
    if (own->factor == 0 || iteration != STEPS) return LIANA_OK;
    assert_compare(liana_fit_info(context).rate_factor, ==, 1);
    assert_int_equal(liana_fit_set_rate_factor(context, -1), LIANA_INVALID_ARGUMENT);
    assert_int_equal(liana_fit_set_rate_factor(context, (double)NAN), LIANA_INVALID_ARGUMENT);
    return liana_fit_set_rate_factor(context, own->factor);
}

typedef struct epochs {
    liana_epoch last;
    int count;
} epochs;

static void test_a_stop_is_a_success(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(NUM_TRAINING);
    asker asks = {.stop_at = 6, .save_at = 5};
    liana__notebook notes = {{0}};
    char checkpoints[256];
    snprintf(checkpoints, sizeof checkpoints, "%s", liana__test_path("run/checkpoints"));
    liana_callback callback = {.size = sizeof callback, .name = "asker", .step_end = ask, .user = &asks};
    liana_fit_options options = {.training = own.training,
                                 .validation = own.validation,
                                 .epochs = 4,
                                 .checkpoints = checkpoints,
                                 .on_note = liana__write_note,
                                 .user = &notes,
                                 .callbacks = (const liana_callback *[]){&callback},
                                 .num_callbacks = 1};
    liana_model *model = liana__tiny_model(own.context), *whole = liana__tiny_model(own.context);
    done(liana_fit(model, &options));
    assert_says(notes.text, "asker ended the training in epoch 2, after update 6: it is enough");
    assert_true(liana__folder_exists(liana__test_path("run/checkpoints/step-0000000004")));
    assert_true(liana__folder_exists(liana__test_path("run/checkpoints/step-0000000005")));
    assert_true(liana__folder_exists(liana__test_path("run/checkpoints/step-0000000006")));
    /* It is over, as long as that callback is there. */
    options.resume = true;
    notes.text[0] = 0;
    done(liana_fit(model, &options));
    assert_never_says(notes.text, "ended the training");
    /* Without it the fit goes on from the middle of the epoch, and ends as one that was never stopped. */
    options.num_callbacks = 0;
    done(liana_fit(model, &options));
    liana_fit_options plain = {.training = own.training, .validation = own.validation, .epochs = 4};
    done(liana_fit(whole, &plain));
    assert_true(liana__same_weights(model, whole));
    liana_model_destroy(model);
    liana_model_destroy(whole);
    liana__tiny_fit_close(&own);
}

static bool note_rates(void *user, const liana_epoch *epoch)
{
    ((double *)user)[epoch->epoch - 1] = epoch->learning_rate;
    return true;
}

static void test_the_rate_factor_is_state(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(NUM_TRAINING);
    asker asks = {.stop_at = -1, .save_at = -1, .factor = 0.25};
    double rates[4] = {0};
    char checkpoints[256];
    snprintf(checkpoints, sizeof checkpoints, "%s", liana__test_path("checkpoints"));
    liana_callback callback = {.size = sizeof callback, .step_end = ask, .user = &asks};
    liana_fit_options options = {.training = own.training,
                                 .epochs = 2,
                                 .optimizer = "{name: SGD, learning_rate: 0.5}",
                                 .checkpoints = checkpoints,
                                 .on_epoch = note_rates,
                                 .user = rates,
                                 .callbacks = (const liana_callback *[]){&callback},
                                 .num_callbacks = 1};
    liana_model *model = liana__tiny_model(own.context);
    done(liana_fit(model, &options));
    assert_compare(rates[0], ==, 0.5);
    assert_compare(rates[1], ==, 0.125);
    /* A checkpoint keeps it; another fit begins with 1. */
    asks.factor = 0;
    options.epochs = 3;
    options.resume = true;
    done(liana_fit(model, &options));
    assert_compare(rates[2], ==, 0.125);
    done(liana_fit(model, &(liana_fit_options){.training = own.training,
                                               .optimizer = "{name: SGD, learning_rate: 0.5}",
                                               .on_epoch = note_rates,
                                               .user = rates}));
    assert_compare(rates[0], ==, 0.5);
    liana_model_destroy(model);
    liana__tiny_fit_close(&own);
}

static void test_failures_name_the_callback(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(NUM_TRAINING);
    asker asks = {.fails = LIANA_DATA_LOSS};
    liana_callback callback = {.size = sizeof callback, .name = "asker", .step_end = ask, .user = &asks};
    const liana_callback *list[] = {&callback};
    liana_fit_options options = {.training = own.training, .callbacks = list, .num_callbacks = 1};
    liana_model *model = liana__tiny_model(own.context), *same = liana__tiny_model(own.context);
    refused(liana_fit(model, &options), LIANA_DATA_LOSS, "the callback asker: nothing works");
    assert_true(liana__same_weights(model, same));
    callback.size = 3;
    refused(liana_fit(model, &options), LIANA_INVALID_ARGUMENT, "sizeof(liana_callback)");
    callback.size = sizeof callback;
    callback.name = "a/b";
    refused(liana_fit(model, &options), LIANA_INVALID_ARGUMENT, "without '/'");
    list[0] = NULL;
    refused(liana_fit(model, &options), LIANA_INVALID_ARGUMENT, "is NULL");
    options = (liana_fit_options){.training = own.training, .named_callbacks = "[EarlyStoping]"};
    refused(liana_fit(model, &options), LIANA_INVALID_CONFIG, "did you mean 'EarlyStopping'");
    options.named_callbacks = "[EarlyStopping: {patiense: 3}]";
    refused(liana_fit(model, &options), LIANA_INVALID_CONFIG, "did you mean 'patience'");
    options.named_callbacks = "EarlyStopping";
    refused(liana_fit(model, &options), LIANA_INVALID_CONFIG, "expected a list of callbacks");
    options.named_callbacks = "[3]";
    refused(liana_fit(model, &options), LIANA_INVALID_CONFIG, "expected one callback");
    options.named_callbacks = "[EarlyStopping: 3]";
    refused(liana_fit(model, &options), LIANA_INVALID_CONFIG, "expected options");
    options.named_callbacks = "[EarlyStopping]";
    refused(liana_fit(model, &options), LIANA_INVALID_CONFIG, "there is no 'val_loss' without validation data");
    options.named_callbacks = "[EarlyStopping: {monitor: acc}]";
    refused(liana_fit(model, &options), LIANA_INVALID_CONFIG,
            "nothing is measured as 'acc'; there are: loss, accuracy");
    options.named_callbacks = "[EarlyStopping: {monitor: null}]";
    refused(liana_fit(model, &options), LIANA_INVALID_CONFIG, "the option monitor is null, expected loss or a metric");
    options.named_callbacks = "[ReduceLROnPlateau: {monitor: null}]";
    refused(liana_fit(model, &options), LIANA_INVALID_CONFIG, "the option monitor is null");
    options.named_callbacks = "[CSVLogger: {separator: ''}]";
    refused(liana_fit(model, &options), LIANA_INVALID_CONFIG, "the separator is empty");
    options.named_callbacks = "[ReduceLROnPlateau: {factor: 1}]";
    refused(liana_fit(model, &options), LIANA_INVALID_CONFIG, "factor");
    liana_model_destroy(model);
    liana_model_destroy(same);
    liana__tiny_fit_close(&own);
}

/* ---- state ---- */

/* Counts and remembers; interrupts the fit at its n-th event, as a signal does. */
typedef struct keeper {
    int64_t updates;
    double sum;
    char text[64];
    float losses[8];
    int loads;
    int64_t interrupt_at;
} keeper;

static liana_status count_update(void *user, liana_fit_context *context)
{
    keeper *own = user;
    double loss;
    assert_true(liana_fit_metric(context, "loss", &loss));
    own->losses[own->updates % 8] = (float)loss;
    own->updates++;
    own->sum += loss;
    snprintf(own->text, sizeof own->text, "after %lld", (long long)liana_fit_info(context).iteration);
    return LIANA_OK;
}

static void keep(void *user, liana_callback_state *state)
{
    const keeper *own = user;
    liana_callback_state_put(state, "updates", (liana_kept){LIANA_KEPT_INTEGER, .integer = own->updates});
    liana_callback_state_put(state, "sum", (liana_kept){LIANA_KEPT_NUMBER, .number = own->sum});
    liana_callback_state_put(state, "endless", (liana_kept){LIANA_KEPT_NUMBER, .number = -INFINITY});
    liana_callback_state_put(state, "text", (liana_kept){LIANA_KEPT_TEXT, .text = own->text});
    liana_callback_state_put(state, "losses", (liana_kept){LIANA_KEPT_ARRAY, .values = own->losses, .count = 8});
}

static liana_status take_back(void *user, const liana_callback_state *state)
{
    keeper *own = user;
    liana_kept value;
    own->loads++;
    if (!liana_callback_state_get(state, "updates", LIANA_KEPT_INTEGER, &value)) return LIANA_OK; /* a first training */
    own->updates = value.integer;
    assert_true(liana_callback_state_get(state, "sum", LIANA_KEPT_NUMBER, &value));
    own->sum = value.number;
    assert_true(liana_callback_state_get(state, "endless", LIANA_KEPT_NUMBER, &value));
    assert_compare(value.number, ==, -INFINITY);
    assert_false(liana_callback_state_get(state, "text", LIANA_KEPT_NUMBER, &value));
    assert_compare(value.number, ==, 0);
    assert_false(liana_callback_state_get(state, NULL, LIANA_KEPT_NUMBER, &value));
    assert_true(liana_callback_state_get(state, "text", LIANA_KEPT_TEXT, &value));
    snprintf(own->text, sizeof own->text, "%s", value.text);
    assert_false(liana_callback_state_get(state, "sum", LIANA_KEPT_TEXT, &value));
    assert_null(value.text);
    assert_true(liana_callback_state_get(state, "losses", LIANA_KEPT_ARRAY, &value));
    assert_int_equal(value.count, 8);
    memcpy(own->losses, value.values, sizeof own->losses);
    assert_false(liana_callback_state_get(state, "nothing", LIANA_KEPT_ARRAY, &value));
    return LIANA_OK;
}

static const char ALL[] = "[CSVLogger, EarlyStopping: {patience: 9}, "
                          "EarlyStopping: {patience: 9, monitor: accuracy}, "
                          "ReduceLROnPlateau: {patience: 1, factor: 0.5, min_delta: 0.2}]";

/* Through the run of the configuration: a stop in the middle of an epoch, and going on. */
static void set_train_keys(char *text, size_t size)
{
    snprintf(text, size, "train.callbacks=%s", ALL);
}

static liana__value *read_state(const char *run, liana__arena *arena)
{
    char path[700];
    liana__error error = {0};
    liana__value *value;
    snprintf(path, sizeof path, "%s/state.json", liana__test_newest_checkpoint(run));
    assert_ok(liana__json_read(path, arena, &value, &error), &error);
    return value;
}

static void assert_same_variables(const char *a, const char *b)
{
    char first[700], second[700];
    snprintf(first, sizeof first, "%s/variables.safetensors", liana__test_newest_checkpoint(a));
    snprintf(second, sizeof second, "%s/variables.safetensors", liana__test_newest_checkpoint(b));
    assert_string_equal(strrchr(first, '/') - 10, strrchr(second, '/') - 10);
    assert_same_file(first, second);
}

static void assert_same_end(const char *a, const char *b)
{
    static const char *const names[] = {"history.json", "epochs.csv", "validation_predictions.csv"};
    char first[300], second[300];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(first, sizeof first, "%s/%s", a, names[i]);
        snprintf(second, sizeof second, "%s/%s", b, names[i]);
        assert_same_file(liana__test_path(first), liana__test_path(second));
    }
    assert_same_variables(a, b);
    liana__arena arena = {0};
    const liana__value *left = read_state(a, &arena), *right = read_state(b, &arena);
    static const char *const keys[] = {"callbacks", "rate_factor", "ended", "epoch", "step", "iteration"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        assert_non_null(liana__value_get(left, keys[i]));
        assert_true(liana__value_equal(liana__value_get(left, keys[i]), liana__value_get(right, keys[i])));
    }
    liana__arena_free(&arena);
}

/* Train with a limit on the updates: an end in the middle of an epoch, wherever it is, changes nothing of a longer
 * run's results: weights, history, states of callbacks, the log. */
static void test_a_run_is_extended_from_anywhere(void **state)
{
    (void)state;
    liana__test_folder();
    char config[300], callbacks[300];
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(NUM_TRAINING));
    set_train_keys(callbacks, sizeof callbacks);
    assert_code(liana__test_command("train", config, "--out", liana__test_path("whole"), callbacks, "train.epochs=4"),
                0);
    static const char *const ends[] = {"train.steps=2", "train.steps=4", "train.steps=7", "train.steps=13"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        assert_code(liana__test_command("train", config, "--out", liana__test_path("run"), callbacks, ends[i],
                                        "train.epochs=4"),
                    0);
        /* The last epoch is told though it is not whole. */
        liana__arena arena = {0};
        liana__value *history;
        liana__error error = {0};
        assert_ok(liana__json_read(liana__test_path("run/history.json"), &arena, &history, &error), &error);
        static const size_t counts[] = {1, 1, 2, 4};
        assert_int_equal(liana__value_get(history, "epochs")->count, counts[i]);
        assert_non_null(liana__value_get(liana__value_get(history, "epochs")->items[counts[i] - 1], "val_loss"));
        liana__arena_free(&arena);
        liana__test_result got = liana__test_command("train", config, "--out", liana__test_path("run"), callbacks,
                                                     ends[i], "train.epochs=4", "--resume");
        assert_says(got.out, "nothing is left to train");
        assert_code(got, 0);
        assert_code(liana__test_command("train", config, "--out", liana__test_path("run"), callbacks, "train.epochs=4",
                                        "--resume"),
                    0);
        assert_same_end("run", "whole");
        assert_ok(liana__folder_remove(liana__test_path("run"), NULL), NULL);
    }
}

static void test_more_epochs_go_on(void **state)
{
    (void)state;
    liana__test_folder();
    char config[300], callbacks[300];
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(NUM_TRAINING));
    snprintf(callbacks, sizeof callbacks, "train.callbacks=[CSVLogger]");
    assert_code(liana__test_command("train", config, "--out", liana__test_path("whole"), callbacks, "train.epochs=3"),
                0);
    assert_code(liana__test_command("train", config, "--out", liana__test_path("run"), callbacks, "train.epochs=1"), 0);
    liana__test_result got =
        liana__test_command("train", config, "--out", liana__test_path("run"), callbacks, "train.epochs=3", "--resume");
    assert_never_says(got.out, "decays");
    assert_code(got, 0);
    assert_same_end("run", "whole");
    /* A schedule to the end of the run is another one then, which is said. */
    static const char decay[] = "train.optimizer={name: Adam, learning_rate: {name: CosineDecay}}";
    assert_code(liana__test_command("train", config, "--out", liana__test_path("decay"), decay, "train.epochs=1"), 0);
    got = liana__test_command("train", config, "--out", liana__test_path("decay"), decay, "train.epochs=2", "--resume");
    assert_says(got.out, "CosineDecay now decays to the new end");
    assert_code(got, 0);
    /* Callbacks may go, and their state with them. */
    got = liana__test_command("train", config, "--out", liana__test_path("run"), "train.epochs=4", "--resume");
    assert_says(got.out, "the state of a callback 'CSVLogger', which is not among the callbacks now");
    assert_code(got, 0);
}

/* Interrupted at each event, in a process of its own as it were: all of the state comes from the checkpoint. */
static bool interrupt_later(void *user, const liana_epoch *epoch)
{
    (void)user;
    (void)epoch;
    return false;
}

static liana_status maybe_fail(void *user, liana_fit_context *context)
{
    keeper *own = user;
    LIANA_TRY(count_update(user, context));
    return own->updates == own->interrupt_at ? liana_fit_fail(context, LIANA_IO_ERROR, "killed") : LIANA_OK;
}

static void test_state_survives_a_failure(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(NUM_TRAINING);
    keeper whole = {.interrupt_at = -1};
    liana_callback callback = {
        .size = sizeof callback, .name = "keeper", .step_end = maybe_fail, .save = keep, .load = take_back};
    liana_fit_options options = {.training = own.training,
                                 .validation = own.validation,
                                 .epochs = 3,
                                 .checkpoint_steps = 1,
                                 .resume = true,
                                 .named_callbacks = "[EarlyStopping: {restore_best_weights: true, patience: 5}]",
                                 .callbacks = (const liana_callback *[]){&callback},
                                 .num_callbacks = 1};
    liana_model *expected = liana__tiny_model(own.context);
    callback.user = &whole;
    done(liana_fit(expected, &options));
    assert_int_equal(whole.updates, 3 * STEPS);
    for (int64_t at = 2; at <= 3 * STEPS; at += 5) {
        /* The failure comes before the checkpoint of its update: the one before it is gone on from. */
        char name[64], folder[256];
        snprintf(name, sizeof name, "checkpoints-%lld", (long long)at);
        snprintf(folder, sizeof folder, "%s", liana__test_path(name));
        options.checkpoints = folder;
        keeper first = {.interrupt_at = at}, second = {.interrupt_at = -1};
        liana_model *model = liana__tiny_model(own.context), *again = liana__tiny_model(own.context);
        callback.user = &first;
        refused(liana_fit(model, &options), LIANA_IO_ERROR, "the callback keeper: killed");
        callback.user = &second;
        done(liana_fit(again, &options));
        assert_int_equal(second.loads, 1);
        assert_int_equal(second.updates, whole.updates);
        assert_compare(second.sum, ==, whole.sum);
        assert_string_equal(second.text, whole.text);
        assert_memory_equal(second.losses, whole.losses, sizeof whole.losses);
        assert_true(liana__same_weights(again, expected));
        liana_model_destroy(model);
        liana_model_destroy(again);
    }
    liana_model_destroy(expected);
    liana__tiny_fit_close(&own);
}

/* The convenience of an epoch's end still interrupts. */
static void test_on_epoch_interrupts(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(NUM_TRAINING);
    liana_model *model = liana__tiny_model(own.context);
    liana_fit_options options = {.training = own.training, .epochs = 3, .on_epoch = interrupt_later};
    refused(liana_fit(model, &options), LIANA_CANCELLED, "stopped on request");
    liana_model_destroy(model);
    liana__tiny_fit_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_come_in_order),
        cmocka_unit_test(test_a_stop_is_a_success),
        cmocka_unit_test(test_the_rate_factor_is_state),
        cmocka_unit_test(test_failures_name_the_callback),
        cmocka_unit_test(test_a_run_is_extended_from_anywhere),
        cmocka_unit_test(test_more_epochs_go_on),
        cmocka_unit_test(test_state_survives_a_failure),
        cmocka_unit_test(test_on_epoch_interrupts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
