/* The control annealing: its decisions follow from its rules and the seed, going back takes everything back, and a run
 * that is killed anywhere ends in the same bytes. */
#include "harness/tiny_fit.h"

#include "base/file.h"
#include "base/random.h"
#include "formats/json.h"
#include "train/callbacks/callback.h"
#include "train/run/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_TRAINING = 128, STEPS = 4 };

static char config_path[256];

static void make_data(void)
{
    liana__test_folder();
    snprintf(config_path, sizeof config_path, "%s", liana__test_tiny_run(NUM_TRAINING));
}

/* ---- a run, and its record ---- */

/* The test's record at the begin of each step, after a decision: a copy of all variables. */
typedef struct onlooker {
    liana__run *run;
    size_t num_seen;       /* decisions */
    uint8_t *accepted;     /* the variables of the last accepted state */
    uint8_t *now;          /* those of the last step */
    int64_t accepted_at;   /* the updates it has seen */
    int64_t num_went_back; /* decisions after which everything was as accepted */
} onlooker;

static size_t size_of_variables(const liana__variables *variables)
{
    size_t size = 0;
    for (size_t i = 0; i < variables->count; i++) size += variables->items[i].buffer->size;
    return size;
}

static void copy_variables(const liana__variables *variables, uint8_t *to)
{
    liana__error error = {0};
    for (size_t i = 0; i < variables->count; i++) {
        assert_ok(liana__variable_read(&variables->items[i], to, &error), &error);
        to += variables->items[i].buffer->size;
    }
}

static liana_status look(void *user, liana_fit_context *context)
{
    onlooker *own = user;
    const liana__training_state *state = &own->run->core.state;
    const liana__variables *variables = &own->run->core.variables;
    const size_t size = size_of_variables(variables);
    if (!own->now) {
        own->now = malloc(size);
        own->accepted = malloc(size);
        copy_variables(variables, own->accepted);
    }
    copy_variables(variables, own->now);
    const liana__decision *last = state->decisions.count ? &state->decisions.items[state->decisions.count - 1] : NULL;
    if (own->num_seen == state->decisions.count) return LIANA_OK;
    own->num_seen = state->decisions.count;
    if (last->accepted) {
        memcpy(own->accepted, own->now, size);
        own->accepted_at = liana__training_state_applied(state);
    } else {
        assert_memory_equal(own->now, own->accepted, size);
        assert_int_equal(liana__training_state_applied(state), own->accepted_at);
        own->num_went_back++;
    }
    (void)context;
    return LIANA_OK;
}

typedef struct played {
    liana__decisions decisions;
    int64_t iteration, taken_back, num_went_back;
    double final_loss;
    liana_status status;
    char message[512];
} played;

/* Trains with more overrides. The decisions are the caller's. */
static played play(int num_threads, const char *const *overrides, size_t count)
{
    liana__error error = {0};
    liana__arena arena = {0};
    liana__config config;
    liana_context *context;
    liana__run run;
    played result = {.status = LIANA_OK};
    assert_ok(liana__config_load(NULL, LIANA__PLUGINS_IGNORED, config_path, overrides, count, &arena, &config, &error),
              &error);
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = num_threads}, &context), LIANA_OK);
    liana__run_options options = {.training = true};
    assert_ok(liana__run_open(context, &config, &options, &run, &error), &error);
    onlooker seen = {.run = &run};
    const liana_callback callback = {.size = sizeof callback, .step_begin = look, .user = &seen};
    assert_ok(liana__user_callback_add(&run.job.callbacks, &callback, &error), &error);
    result.status = liana__run_train(&run, &options, &error);
    snprintf(result.message, sizeof result.message, "%.500s", error.message);
    const liana__training_state *state = &run.core.state;
    result.decisions = state->decisions;
    run.core.state.decisions = (liana__decisions){0};
    result.iteration = state->iteration;
    result.taken_back = state->taken_back;
    result.num_went_back = seen.num_went_back;
    if (state->history.count) result.final_loss = state->history.epochs[state->history.count - 1].validation.values[0];
    free(seen.now);
    free(seen.accepted);
    liana__run_close(&run);
    liana_context_destroy(context);
    liana__arena_free(&arena);
    return result;
}

#define PLAY(num_threads, ...)                              \
    play((num_threads), (const char *const[]){__VA_ARGS__}, \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* ---- the rules, computed a second time ---- */

/* Of factor_low .. factor_high, min_rate_factor 0.01 and max_rate_factor 2. */
static void check_decisions(const played *run, uint64_t seed, double energy, double rate, double low, double high,
                            double growth)
{
    double factor = 1, reference = NAN;
    int64_t taken_back = 0;
    for (size_t i = 0; i < run->decisions.count; i++) {
        const liana__decision *one = &run->decisions.items[i];
        if (one->at_end) continue;
        uint32_t words[4];
        liana__philox(liana__philox_make_key(seed, LIANA__STREAM_CONTROL, 0), (const uint32_t[4]){(uint32_t)i}, words);
        double first = liana__uniform_double(words[0], words[1]), second = liana__uniform_double(words[2], words[3]);
        double now = energy;
        for (size_t k = 0; k < i; k++) now *= rate;
        assert_near(one->energy, now, 1e-12 * energy);
        if (i > 0) assert_compare(one->reference, ==, reference);
        double worse = one->value - one->reference, wanted = worse <= 0 ? 1 : now > 0 ? exp(-worse / now) : 0;
        assert_near(one->probability, wanted, 1e-9);
        assert_compare(one->drawn, ==, first);
        assert_int_equal(one->accepted, first < wanted);
        factor *= one->accepted ? growth : exp(log(low) + second * (log(high) - log(low)));
        factor = factor < 0.01 ? 0.01 : factor > 2 ? 2 : factor;
        assert_near(one->rate_factor, factor, 1e-9);
        reference = one->accepted ? one->value : one->reference;
        taken_back += one->taken_back;
        assert_int_equal(one->taken_back, one->accepted ? 0 : 3);
        assert_int_equal(one->update, 3 * (int64_t)(i + 1));
    }
    assert_compare(run->taken_back, >=, taken_back);
}

#define RULES                                                                                                 \
    "energy: 0.2, cooling_rate: 0.8, factor_low: 0.5, factor_high: 1.2, growth: 1.1, min_rate_factor: 0.01, " \
    "max_rate_factor: 2, every_steps: 3}"

static void test_decisions_follow_the_rules(void **state)
{
    (void)state;
    make_data();
    static const char *const controls[] = {"train.control={name: annealing, monitor: val_loss, " RULES,
                                           "train.control={name: annealing, monitor: loss, " RULES};
    int64_t num_accepted = 0, num_refused = 0, num_worse = 0;
    for (int i = 0; i < 2; i++) {
        for (int seed = 1; seed <= 2; seed++) {
            char text[32];
            snprintf(text, sizeof text, "train.seed=%d", seed);
            played run =
                PLAY(2, controls[i], text, "train.epochs=9", "train.optimizer={name: Adam, learning_rate: 0.2}");
            assert_int_equal(run.status, LIANA_OK);
            assert_int_equal(run.iteration, 9 * STEPS); /* updates that were taken back count as done */
            assert_in_range(run.decisions.count, 11, 12);
            check_decisions(&run, (uint64_t)seed, 0.2, 0.8, 0.5, 1.2, 1.1);
            int64_t went_back = 0;
            for (size_t k = 0; k < run.decisions.count; k++) {
                const liana__decision *one = &run.decisions.items[k];
                num_accepted += one->accepted;
                went_back += !one->accepted && one->update < 36;
                num_worse += one->accepted && one->value > one->reference;
            }
            num_refused += went_back;
            assert_int_equal(run.num_went_back, went_back); /* all variables, compared by `look` */
            liana__decisions_free(&run.decisions);
        }
    }
    /* All three kinds came about. */
    assert_compare(num_accepted, >, 0);
    assert_compare(num_refused, >, 0);
    assert_compare(num_worse, >, 0);
}

static void test_the_number_of_threads_changes_nothing(void **state)
{
    (void)state;
    make_data();
    static const char control[] = "train.control={name: annealing, monitor: val_accuracy, " RULES;
    played first = {0};
    liana__arena arena = {0};
    for (int threads = 1; threads <= 3; threads++) {
        played run = PLAY(threads, control, "train.epochs=6", "train.optimizer={name: Adam, learning_rate: 0.2}");
        assert_int_equal(run.status, LIANA_OK);
        assert_compare(run.decisions.count, >, 0);
        if (threads == 1) first = run;
        if (threads == 1) continue;
        assert_true(liana__value_equal(liana__decisions_value(&run.decisions, &arena),
                                       liana__decisions_value(&first.decisions, &arena)));
        assert_compare(run.final_loss, ==, first.final_loss);
        liana__decisions_free(&run.decisions);
    }
    liana__decisions_free(&first.decisions);
    liana__arena_free(&arena);
}

/* Three ways for the energy to fall, worked out by hand. */
static void test_cooling(void **state)
{
    (void)state;
    make_data();
    static const struct {
        const char *options;
        double energies[3];
    } cases[] = {{"cooling: exponential, cooling_rate: 0.5", {0.4, 0.2, 0.1}},
                 {"cooling: linear, cooling_decisions: 2", {0.4, 0.2, 0}},
                 {"cooling: constant", {0.4, 0.4, 0.4}}};
    for (size_t i = 0; i < 3; i++) {
        char control[256];
        snprintf(control, sizeof control, "train.control={name: annealing, every_steps: 2, energy: 0.4, %s}",
                 cases[i].options);
        played run = PLAY(2, control, "train.epochs=2");
        for (size_t k = 0; k < 3; k++) {
            assert_near(run.decisions.items[k].energy, cases[i].energies[k], 1e-12, i, k);
        }
        liana__decisions_free(&run.decisions);
    }
}

/* ---- its purpose ---- */

/* Without batch normalisation, a dense network does not forgive a rate. */
#define DENSE                                                                                                    \
    "model.layers=[Flatten, Dense: {units: 32, activation: relu}, Dense: {units: 32, activation: relu}, Dense: " \
    "{units: 4}]",                                                                                               \
        "train.loss={name: sparse_categorical_crossentropy, from_logits: true}"

/* A rate far too high ruins the training; annealing finds a smaller one. */
static void test_a_rate_far_too_high_is_recovered(void **state)
{
    (void)state;
    make_data();
    static const char high[] = "train.optimizer={name: SGD, learning_rate: 3}";
    static const char control[] = "train.control={name: annealing, every_steps: 2, energy: 0.01}";
    int64_t num_better = 0;
    for (int seed = 1; seed <= 5; seed++) {
        char text[32];
        snprintf(text, sizeof text, "train.seed=%d", seed);
        played good = PLAY(2, DENSE, text, "train.epochs=16", "train.optimizer={name: SGD, learning_rate: 0.1}");
        played lost = PLAY(2, DENSE, text, "train.epochs=16", high);
        played saved = PLAY(2, DENSE, text, "train.epochs=16", high, control);
        if (getenv("LIANA_TEST_SAYS"))
            print_message("seed %d: good %g, too high %g, annealed %g\n", seed, good.final_loss, lost.final_loss,
                          saved.final_loss);
        assert_compare(good.final_loss, <, 0.6);
        num_better += saved.final_loss < 0.5 * lost.final_loss;
        liana__decisions_free(&saved.decisions);
    }
    assert_compare(num_better, >=, 4);
}

/* A loss that is not finite ends a training; with annealing it goes back. */
static void test_a_loss_that_is_not_finite(void **state)
{
    (void)state;
    make_data();
    static const char high[] = "train.optimizer={name: SGD, learning_rate: 1.0e+36}";
    played lost = PLAY(2, DENSE, "train.epochs=8", high);
    assert_int_equal(lost.status, LIANA_OUT_OF_RANGE);
    played saved = PLAY(2, DENSE, "train.epochs=8", high,
                        "train.control={name: annealing, monitor: loss, every_steps: 4, factor_low: 1.0e-6, "
                        "factor_high: 1.0e-6, min_rate_factor: 1.0e-12}");
    assert_int_equal(saved.status, LIANA_OK);
    assert_true(isnan(saved.decisions.items[0].value) && !saved.decisions.items[0].accepted);
    assert_true(isfinite(saved.final_loss));
    liana__decisions_free(&saved.decisions);
    /* But not for ever: here every rate is too high. */
    played hopeless = PLAY(2, DENSE, "train.epochs=20", high,
                           "train.control={name: annealing, monitor: loss, every_steps: 4, min_rate_factor: 0.5}");
    assert_int_equal(hopeless.status, LIANA_OUT_OF_RANGE);
    assert_says(hopeless.message, "training has diverged");
    liana__decisions_free(&hopeless.decisions);
}

/* ---- the history and the state ---- */

static void test_decisions_stand_in_the_history(void **state)
{
    (void)state;
    make_data();
    assert_code(liana__test_command("train", config_path, "--out", liana__test_path("run"), "train.epochs=3",
                                    "train.control={name: annealing, every_steps: 3, energy: 0.05}"),
                0);
    liana__error error = {0};
    liana__arena arena = {0};
    liana__value *history;
    assert_ok(liana__json_read(liana__test_path("run/history.json"), &arena, &history, &error), &error);
    const liana__value *decisions = liana__value_get(history, "decisions");
    assert_non_null(decisions);
    assert_int_equal(decisions->count, 4); /* after 3, 6, 9 and 12 updates, the last since it ends there */
    liana__decisions read;
    assert_ok(liana__decisions_read(decisions, &read, &error), &error);
    assert_int_equal(read.items[2].update, 9);
    assert_true(read.items[3].at_end);
    assert_compare(read.items[3].update, ==, 12);
    liana__decisions_free(&read);
    assert_code(liana__test_command("report", liana__test_path("run")), 0);
    assert_true(liana__file_exists(liana__test_path("run/curves.png")));
    /* A decision without one of its numbers is refused. */
    liana__value_remove(decisions->items[1], "energy");
    assert_fails(liana__decisions_read(decisions, &read, &error), LIANA_INVALID_DATA, &error, "'energy' of decision 2");
    liana__arena_free(&arena);
}

/* A run that is made longer decides as one that was as long at once, where its end took nothing back. */
static void test_a_longer_run(void **state)
{
    (void)state;
    make_data();
    static const char control[] = "train.control={name: annealing, every_steps: 3, energy: 100}";
    assert_code(liana__test_command("train", config_path, "--out", liana__test_path("whole"), "train.steps=22",
                                    "train.epochs=0", control),
                0);
    for (int step = 1; step < 22; step += 4) {
        char steps[32];
        snprintf(steps, sizeof steps, "train.steps=%d", step);
        assert_code(liana__test_command("train", config_path, "--out", liana__test_path("run"), steps, "train.epochs=0",
                                        control, "--resume"),
                    0);
    }
    assert_code(liana__test_command("train", config_path, "--out", liana__test_path("run"), "train.steps=22",
                                    "train.epochs=0", control, "--resume"),
                0);
    assert_same_file(liana__test_path("run/history.json"), liana__test_path("whole/history.json"));
    char first[600], second[600];
    snprintf(first, sizeof first, "%s/variables.safetensors", liana__test_newest_checkpoint("run"));
    snprintf(second, sizeof second, "%s/variables.safetensors", liana__test_newest_checkpoint("whole"));
    assert_same_file(first, second);
}

/* ---- bad input ---- */

static void test_options_that_make_no_sense(void **state)
{
    (void)state;
    make_data();
    static const char *const cases[][2] = {
        {"train.control=annaeling", "did you mean 'annealing'?"},
        {"train.control={every_steps: 3}", "the key 'name' is missing"},
        {"train.control=3", "expected a control"},
        {"train.control={name: annealing, energie: 3}", "did you mean 'energy'?"},
        {"train.control={name: annealing, energy: -1}", "train.control.energy"},
        {"train.control={name: annealing, energy: .nan}", "train.control.energy"},
        {"train.control={name: annealing, every_steps: 0}", "train.control.every_steps"},
        {"train.control={name: annealing, cooling_rate: 1.5}", "train.control.cooling_rate"},
        {"train.control={name: annealing, cooling: freezing}", "train.control.cooling"},
        {"train.control={name: annealing, factor_low: 0.8, factor_high: 0.5}", "expected at most factor_high"},
        {"train.control={name: annealing, factor_low: 1, factor_high: 2}", "expected less than 1"},
        {"train.control={name: annealing, growth: 0.9}", "expected 1 or more"},
        {"train.control={name: annealing, min_rate_factor: 2, max_rate_factor: 1}", "expected at most max_rate_factor"},
        {"train.control={name: annealing, max_rate_factor: 0.5}", "begins with the factor 1"},
        {"train.control={name: annealing, monitor: val_acuracy}", "nothing is measured as 'val_acuracy'"},
        {"train.control={name: annealing, monitor: val_accuracy, mode: min}", "better if it is greater"},
        {"train.control={name: annealing, monitor: loss, mode: max}", "better if it is smaller"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_refused(liana__test_command("train", config_path, "--out", liana__test_path("bad"), cases[i][0]), 2,
                       cases[i][1]);
        assert_false(liana__folder_exists(liana__test_path("bad/checkpoints")));
    }
    assert_refused(liana__test_command("train", config_path, "--out", liana__test_path("bad"), "data.validation=null",
                                       "train.control=annealing"),
                   2, "there is no 'val_loss' without validation data");
}

/* ---- in C ---- */

static void test_in_c(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(NUM_TRAINING);
    liana_model *model = liana__tiny_model(own.context);
    liana__notebook notes = {0};
    liana_fit_options options = {.training = own.training,
                                 .validation = own.validation,
                                 .epochs = 6,
                                 .optimizer = "{name: Adam, learning_rate: 0.5}",
                                 .control = "{name: annealing, every_steps: 2, energy: 0.001}",
                                 .on_note = liana__write_note,
                                 .user = &notes};
    done(liana_fit(model, &options));
    assert_says(notes.text, "back by 2 updates, to a learning rate of");
    options.control = "{name: annealing, energy: -1}";
    refused(liana_fit(model, &options), LIANA_INVALID_CONFIG, "control.energy");
    liana_model_destroy(model);
    liana__tiny_fit_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decisions_follow_the_rules),
        cmocka_unit_test(test_the_number_of_threads_changes_nothing),
        cmocka_unit_test(test_cooling),
        cmocka_unit_test(test_a_rate_far_too_high_is_recovered),
        cmocka_unit_test(test_a_loss_that_is_not_finite),
        cmocka_unit_test(test_decisions_stand_in_the_history),
        cmocka_unit_test(test_a_longer_run),
        cmocka_unit_test(test_options_that_make_no_sense),
        cmocka_unit_test(test_in_c),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
