/* Averages of the weights (use_ema): those that SwapEMAWeights measures and saves, and the weights with which a
 * training ends that goes back at its end. */
#include "harness/tiny_fit.h"

#include "base/file.h"
#include "formats/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXAMPLES = 100, EPOCHS = 3 };

static const char OPTIMIZER[] = "{name: Adam, learning_rate: 0.02, use_ema: true, ema_momentum: 0.8}";

static liana_fit_options options_of(const liana__tiny_fit *own)
{
    return (liana_fit_options){.training = own->training,
                               .validation = own->validation,
                               .batch_size = 32,
                               .microbatch = 8,
                               .seed = 3,
                               .epochs = EPOCHS,
                               .optimizer = OPTIMIZER};
}

typedef struct seen_losses {
    double loss[EPOCHS], validation[EPOCHS];
    size_t count;
} seen_losses;

static bool on_epoch(void *user, const liana_epoch *epoch)
{
    seen_losses *own = user;
    own->loss[own->count] = epoch->training.loss;
    own->validation[own->count++] = epoch->validation.loss;
    return true;
}

/* Fits a new model, whose weights are then the averages. */
static liana_model *fit(const liana__tiny_fit *given, const char *callbacks, int64_t epochs, seen_losses *seen)
{
    const liana__tiny_fit own = *given;
    liana_model *model = liana__tiny_model(own.context);
    liana_fit_options options = options_of(&own);
    options.named_callbacks = callbacks;
    options.epochs = epochs;
    options.on_epoch = on_epoch;
    options.user = seen;
    done(liana_fit(model, &options));
    return model;
}

/* Measured a second time: with the weights of a fit that ended there. */
static void test_validations_are_of_the_averages(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(EXAMPLES);
    static const char *const callbacks[] = {"[SwapEMAWeights]", "[SwapEMAWeights: {swap_on_epoch: true}]"};
    seen_losses plain = {0};
    liana_model *expected = fit(&own, NULL, EPOCHS, &plain);
    for (size_t i = 0; i < 2; i++) {
        seen_losses seen = {0};
        liana_model *model = fit(&own, callbacks[i], EPOCHS, &seen);
        /* Training does not notice. */
        assert_true(liana__same_weights(model, expected));
        assert_memory_equal(seen.loss, plain.loss, sizeof seen.loss);
        for (int64_t epochs = 1; epochs <= EPOCHS; epochs++) {
            seen_losses ignored = {0};
            liana_model *averaged = fit(&own, NULL, epochs, &ignored);
            liana_results results;
            done(liana_evaluate(averaged, own.validation, &(liana_evaluate_options){.batch_size = 32}, &results));
            assert_near(results.loss, seen.validation[epochs - 1], 1e-6, epochs);
            assert_compare(fabs(results.loss - plain.validation[epochs - 1]), >, 1e-4, epochs);
            liana_model_destroy(averaged);
        }
        liana_model_destroy(model);
    }
    liana_fit_options options = options_of(&own);
    options.optimizer = "Adam";
    options.named_callbacks = callbacks[0];
    refused(liana_fit(expected, &options), LIANA_INVALID_CONFIG, "the optimizer keeps no averages of the weights");
    liana_model_destroy(expected);
    liana__tiny_fit_close(&own);
}

/* ---- a run: saved files ---- */

#define SETTINGS                                                                                                      \
    "train.epochs=4", "train.optimizer={name: Adam, learning_rate: 0.05, use_ema: true, ema_momentum: 0.7}",          \
        "checkpoint.best=val_loss", "checkpoint.every_steps=3", "checkpoint.keep=0",                                  \
        "train.callbacks=[SwapEMAWeights: {swap_on_epoch: true}, EarlyStopping: {patience: 9, restore_best_weights: " \
        "true}]"

static double number_in(const char *text, const char *key)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\"%s\": ", key);
    const char *found = strstr(text, wanted);
    assert_non_null(found);
    return strtod(found + strlen(wanted), NULL);
}

static double measure(const char *run, const char *checkpoint)
{
    liana__test_result got = liana__test_command("evaluate", run, "--checkpoint", checkpoint, "--json");
    double loss = number_in(got.out, "loss");
    assert_code(got, 0);
    return loss;
}

/* The least of the validation's losses, and the last one. */
static void read_losses(const char *path, double *least, double *last)
{
    liana__arena arena = {0};
    liana__value *history;
    liana__error error = {0};
    assert_ok(liana__json_read(path, &arena, &history, &error), &error);
    const liana__value *epochs = liana__value_get(history, "epochs");
    *least = INFINITY;
    for (size_t i = 0; i < epochs->count; i++) {
        *last = liana__value_get(epochs->items[i], "val_loss")->number;
        *least = fmin(*least, *last);
    }
    liana__arena_free(&arena);
}

/* Both the best checkpoint and what EarlyStopping restores are the averages that were measured. */
static void test_checkpoints_have_the_averages(void **state)
{
    (void)state;
    liana__test_folder();
    char config[256], run[256], history[300], best[600], again[300];
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(EXAMPLES));
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    snprintf(again, sizeof again, "%s", liana__test_path("again"));
    assert_code(liana__test_command("train", config, SETTINGS, "--out", run), 0);
    snprintf(history, sizeof history, "%s/history.json", run);
    double least, last;
    read_losses(history, &least, &last);
    assert_near(measure(run, "best"), least, 1e-6);
    assert_near(measure(run, liana__test_newest_checkpoint("run")), least, 1e-6);
    /* A program finds it, too. */
    liana_context *context;
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    assert_int_equal(liana_checkpoint_best(context, run, best, sizeof best), LIANA_OK);
    assert_near(measure(run, best), least, 1e-6);
    assert_int_equal(liana_checkpoint_best(context, run, best, 8), LIANA_INVALID_ARGUMENT);
    assert_int_equal(liana_checkpoint_best(context, liana__test_path("none"), best, sizeof best), LIANA_NOT_FOUND);
    assert_says(liana_context_message(context), "there is no checkpoint in");
    assert_code(liana__test_command("train", config, "train.epochs=1", "--out", again), 0);
    assert_int_equal(liana_checkpoint_best(context, again, best, sizeof best), LIANA_NOT_FOUND);
    assert_says(liana_context_message(context), "has no best checkpoint");
    liana_context_destroy(context);
}

static size_t list_checkpoints(const char *run, liana__arena *arena, liana__paths *names)
{
    char folder[300];
    liana__error error = {0};
    snprintf(folder, sizeof folder, "%s/checkpoints", run);
    assert_ok(liana__folder_list(folder, arena, names, &error), &error);
    return names->count;
}

/* From each checkpoint training goes on with the weights, and ends in the same bytes. */
static void test_a_run_goes_on_with_its_weights(void **state)
{
    (void)state;
    liana__test_folder();
    char config[256], run[256], part[256], command[900], first[700], second[700];
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(EXAMPLES));
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    snprintf(part, sizeof part, "%s", liana__test_path("part"));
    assert_code(liana__test_command("train", config, SETTINGS, "--out", run), 0);
    liana__arena arena = {0};
    liana__paths names;
    const size_t count = list_checkpoints(run, &arena, &names);
    assert_compare(count, >, 6);
    for (size_t i = 0; i + 1 < count; i += 2) {
        snprintf(command, sizeof command, "rm -rf '%s' && cp -r '%s' '%s'", part, run, part);
        assert_int_equal(system(command), 0);
        for (size_t k = i + 1; k < count; k++) {
            snprintf(first, sizeof first, "%s/checkpoints/%s", part, names.items[k]);
            assert_ok(liana__folder_remove(first, NULL), NULL);
        }
        assert_code(liana__test_command("train", config, SETTINGS, "--out", part, "--resume"), 0);
        snprintf(first, sizeof first, "%s/history.json", part);
        snprintf(second, sizeof second, "%s/history.json", run);
        assert_same_file(first, second);
        snprintf(first, sizeof first, "%s/checkpoints/%s/variables.safetensors", part, names.items[count - 1]);
        snprintf(second, sizeof second, "%s/checkpoints/%s/variables.safetensors", run, names.items[count - 1]);
        assert_same_file(first, second);
    }
    liana__arena_free(&arena);
}

/* ---- with annealing ---- */

/* The third update ruins the weights. The control goes back to the state after the second one, and the model has the
 * averages of that state: those of a fit that ended there. */
static void test_going_back_at_the_end(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(EXAMPLES);
    liana__notebook notes = {""};
    static const char optimizer[] = "{name: SGD, use_ema: true, ema_momentum: 0.5, learning_rate: {name: "
                                    "PiecewiseConstantDecay, boundaries: [1], values: [0.01, 100]}}";
    liana_model *expected = liana__tiny_model(own.context), *model = liana__tiny_model(own.context);
    liana_fit_options options = options_of(&own);
    options.epochs = 0;
    options.optimizer = optimizer;
    options.steps = 2;
    done(liana_fit(expected, &options));
    options.steps = 3;
    options.control = "{name: annealing, every_steps: 2, energy: 1.0e+9, cooling: constant}";
    options.on_note = liana__write_note;
    options.user = &notes;
    done(liana_fit(model, &options));
    assert_says(notes.text, "back by 1 updates");
    assert_true(liana__same_weights(model, expected));
    liana_model_destroy(expected);
    liana_model_destroy(model);
    liana__tiny_fit_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_validations_are_of_the_averages),
        cmocka_unit_test(test_checkpoints_have_the_averages),
        cmocka_unit_test(test_a_run_goes_on_with_its_weights),
        cmocka_unit_test(test_going_back_at_the_end),
    };
    return cmocka_run_group_tests_name("averaged_weights", tests, NULL, NULL);
}
