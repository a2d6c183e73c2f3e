/* Trainings go on across files: here, in runs, and in Keras. */
#include "harness/keras_state.h"

#include "base/file.h"
#include "harness/peers.h"
#include "train/model/model_file.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#ifdef LIANA_HAVE_HDF5
/* ---- there and back ---- */

/* Without dropout, whose numbers depend on the epoch. */
static liana_model *build(void)
{
    liana_model *model;
    assert_ok(liana_model_create(context, "both", &model), &context->error);
    liana_input(model, .shape = LIANA_INTS(4), .name = "row");
    liana_dense(model, .units = 6, .activation = "tanh", .name = "hidden");
    liana_batch_normalization(model, .name = "norm");
    liana_dense(model, .units = 3, .activation = "softmax", .name = "out");
    assert_ok(liana_model_status(model), &context->error);
    return model;
}

static void assert_same_training(const liana_model *model, const liana_model *other)
{
    liana__optimizer_state first, second;
    const liana__optimizer_state *one = state_of(model, &first), *two = state_of(other, &second);
    for (size_t w = 0; w < model->num_weights; w++) {
        const size_t size = (size_t)liana_shape_size(&model->weights[w].shape) * sizeof(float);
        assert_memory_equal(model->values[w], other->values[w], size);
    }
    assert_int_equal(one->iteration, two->iteration);
    for (size_t i = 0; i < one->num_weights * one->num_slots; i++) {
        const size_t size = (size_t)liana_shape_size(&one->shapes[i / one->num_slots]) * sizeof(float);
        assert_memory_equal(one->values[i], two->values[i], size);
    }
    liana__optimizer_state_free(&first);
    liana__optimizer_state_free(&second);
}

/* Updates before and after a file are those without it, bit by bit. */
static void test_a_file_between_updates_changes_nothing(void **state)
{
    (void)state;
    static const char *const optimizers[] = {
        "{name: Adam, learning_rate: 0.003}",
        "{name: SGD, momentum: 0.9, learning_rate: {name: ExponentialDecay, initial_learning_rate: 0.1, decay_steps: "
        "3, "
        "decay_rate: 0.5}}",
        "{name: RMSprop, momentum: 0.3, centered: true, learning_rate: 0.01, weight_decay: 0.01}",
        "{name: AdamW, amsgrad: true, global_clipnorm: 0.5}",
        "{name: Nadam, learning_rate: 0.01}",
    };
    static const char *const names[] = {"m.keras", "m.h5"};
    liana__test_folder();
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
        for (size_t k = 0; k < 2; k++) {
            liana_model *model = build();
            for (int step = 0; step < 3; step++) update(model, optimizers[i]);
            assert_ok(liana_model_save(model, liana__test_path(names[k])), &context->error);
            liana_model *back = load(names[k]);
            assert_same_training(model, back);
            for (int step = 0; step < 3; step++) {
                update(model, optimizers[i]);
                update(back, NULL);
            }
            assert_same_training(model, back);
            liana_model_destroy(model);
            liana_model_destroy(back);
        }
    }
}

/* ---- liana train, and convert-model ---- */

static const char *write_run(void)
{
    static const char table[] = "a,b,c,d,class\n1,2,3,4,0\n2,3,4,5,1\n3,4,5,6,2\n4,5,6,7,1\n";
    static char path[600];
    char config[2000];
    liana__test_folder();
    liana__test_write("rows.csv", table, sizeof table - 1);
    const int length = snprintf(config, sizeof config,
                                "data:\n  train: {paths: rows.csv, kind: table}\n"
                                "  columns: {row: [a, b, c, d], label: class}\n"
                                "  targets: label\nmodel: {file: '%s'}\n"
                                "train: {epochs: 1, batch_size: 2}\noutput: run\n",
                                sample("keras3_compiled.keras"));
    snprintf(path, sizeof path, "%s", liana__test_write("c.yaml", config, (size_t)length));
    return path;
}

static int64_t updates_in(const char *path)
{
    liana_model *model;
    assert_ok(liana_model_load(context, path, &model), &context->error);
    const int64_t count = updates_of(model);
    liana_model_destroy(model);
    return count;
}

static void test_a_run_goes_on_and_is_converted(void **state)
{
    (void)state;
    static const struct {
        const char *key, *note;
        int64_t updates;
    } rows[] = {
        {"train.epochs=1", "goes on where", 12},
        {"train.epochs=3", "goes on where", 16},
        {"model.optimizer_state=false", NULL, 2},
        {"train.optimizer={name: SGD, learning_rate: 0.1}", "begins anew", 2},
        {"model.trainable_from=out", "begins anew", 2},
    };
    char config[600], run[600], file[700];
    snprintf(config, sizeof config, "%s", write_run());
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static const char *const endings[] = {"keras", "h5"};
        char name[32];
        snprintf(name, sizeof name, "run%zu", i);
        snprintf(run, sizeof run, "%s", liana__test_path(name));
        liana__test_result went = liana__test_command("train", config, rows[i].key, "--out", run);
        if (rows[i].note) assert_says(went.out, rows[i].note);
        if (!rows[i].note) assert_never_says(went.out, "anew");
        assert_code(went, 0);
        for (size_t k = 0; k < 2; k++) {
            snprintf(file, sizeof file, "%s.%s", run, endings[k]);
            assert_code(liana__test_command("convert-model", run, file), 0);
            assert_int_equal(updates_in(file), rows[i].updates);
        }
    }
}

/* A run that is interrupted has the state in its checkpoints; the file is not read again. */
static void test_a_run_that_is_resumed_keeps_its_state(void **state)
{
    (void)state;
    char config[600], run[600], file[600];
    snprintf(config, sizeof config, "%s", write_run());
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    snprintf(file, sizeof file, "%s", liana__test_path("run.keras"));
    assert_code(liana__test_command("train", config, "train.epochs=1", "--out", run), 0);
    liana__test_result went = liana__test_command("train", "--resume", run, "train.epochs=2");
    assert_never_says(went.out, "goes on where");
    assert_code(went, 0);
    assert_code(liana__test_command("convert-model", run, file), 0);
    assert_int_equal(updates_in(file), 14);
}

/* From file to file, nothing is lost. */
static void test_files_are_converted_with_their_state(void **state)
{
    (void)state;
    char h5[600], keras[600];
    liana_model *model, *back;
    liana__test_folder();
    snprintf(h5, sizeof h5, "%s", liana__test_path("m.h5"));
    snprintf(keras, sizeof keras, "%s", liana__test_path("m.keras"));
    liana__test_result made = liana__test_command("convert-model", sample("keras3_compiled.keras"), h5);
    assert_says(made.out, "Keras 3 cannot go on with the optimizer of a .h5 file");
    assert_code(made, 0);
    assert_code(liana__test_command("convert-model", h5, keras), 0);
    assert_ok(liana_model_load(context, sample("keras3_compiled.keras"), &model), &context->error);
    back = load("m.keras");
    assert_same_training(model, back);
    liana_model_destroy(model);
    liana_model_destroy(back);
}

/* ---- what Keras's files cannot say ---- */

static void test_what_keras_cannot_keep_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *optimizer, *note;
        bool has_state;
    } rows[] = {
        {"{name: AdamW, weight_decay: 0.1, exclude_from_weight_decay: [bias]}", "exclude_from_weight_decay", true},
        {"{name: LARS, learning_rate: 0.1}", "says nothing of how the model was trained", false},
        {"{name: Adam, rate_multipliers: {hidden: 0.1}}", "rate_multipliers", false},
    };
    liana__test_folder();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        liana_model *model = build();
        update(model, rows[i].optimizer);
        const liana__notes told = {take_note, NULL};
        notes[0] = 0;
        assert_ok(liana__model_write_any(model, liana__test_path("m.keras"), LIANA__KERAS3, &told, &context->error),
                  &context->error);
        assert_says(notes, rows[i].note);
        assert_int_equal(updates_in(liana__test_path("m.keras")), rows[i].has_state ? 1 : -1);
        liana_model_destroy(model);
    }
}
/* ---- with Keras ---- */

enum { NUM_EXAMPLES = 80, NUM_INPUTS = 48, BATCH = 8 };

typedef struct examples {
    char *x, *y;
    liana_dataset *data;
} examples;

static examples read_examples(void)
{
    examples own;
    size_t size;
    assert_ok(liana__file_read(liana__test_path("x.bin"), 1 << 20, &own.x, &size, &context->error), &context->error);
    assert_compare(size, ==, NUM_EXAMPLES * NUM_INPUTS * sizeof(float));
    assert_ok(liana__file_read(liana__test_path("y.bin"), 1 << 20, &own.y, &size, &context->error), &context->error);
    assert_compare(size, ==, NUM_EXAMPLES * sizeof(int32_t));
    const liana_array arrays[] = {
        {.name = "x", .dtype = LIANA_F32, .shape = liana_shape_of(NUM_EXAMPLES, NUM_INPUTS), .data = own.x},
        {.name = "label", .dtype = LIANA_S32, .shape = liana_shape_of(NUM_EXAMPLES), .data = own.y}};
    own.data = liana_dataset_from_tensor_slices(context, arrays, 2);
    assert_non_null(own.data);
    return own;
}

static void free_examples(examples *own)
{
    liana_dataset_close(own->data);
    free(own->x);
    free(own->y);
}

/* Ten updates with the optimizer of the file. */
static void train(liana_model *model, const examples *own, const char *optimizer)
{
    notes[0] = 0;
    const liana_fit_options options = {
        .training = own->data, .batch_size = BATCH, .keep_order = true, .optimizer = optimizer, .on_note = take_note};
    assert_ok(liana_fit(model, &options), &context->error);
    assert_says(notes, "the optimizer goes on where '");
    assert_says(notes, "after 10 updates");
}

static void go_on(const char *name, const char *ending, const examples *own, const char *optimizer)
{
    char from[64], to[64];
    snprintf(from, sizeof from, "%s%s", name, ending);
    snprintf(to, sizeof to, "%s.liana%s", name, ending);
    liana_model *model = load(from);
    train(model, own, optimizer);
    assert_ok(liana_model_save(model, liana__test_path(to)), &context->error);
    liana_model_destroy(model);
}

/* tf_keras's file, which becomes a .keras file of liana, and that a file for tf_keras. */
static void go_on_older(const char *name, const examples *own)
{
    char from[64], between[64], to[64], result[600];
    snprintf(from, sizeof from, "%s.h5", name);
    snprintf(between, sizeof between, "%s.liana.keras", name);
    snprintf(to, sizeof to, "%s.liana.h5", name);
    liana_model *model = load(from);
    train(model, own, NULL);
    assert_ok(liana_model_save(model, liana__test_path(between)), &context->error);
    liana_model_destroy(model);
    snprintf(result, sizeof result, "%s", liana__test_path(to));
    assert_code(liana__test_command("convert-model", liana__test_path(between), result, "--keras", "2"), 0);
}

/* Whether LIANA_STATES, a regular expression, is for a case. */
static bool is_wanted(const char *name)
{
    const char *wanted = getenv("LIANA_STATES");
    regex_t compiled;
    if (!wanted) return true;
    assert_int_equal(regcomp(&compiled, wanted, REG_EXTENDED | REG_NOSUB), 0);
    const bool matches = regexec(&compiled, name, 0, NULL, 0) == 0;
    regfree(&compiled);
    return matches;
}

/* Ten updates in Keras, ten here and ten in Keras are thirty in Keras. */
static void test_trainings_go_to_and_fro(void **state)
{
    (void)state;
    static const char script[] = "tests/train/model/keras_state_check.py";
    static const char *const cases[] = {
        "adam",         "adam_frozen",  "adam_amsgrad", "adam_schedule", "sgd",
        "sgd_momentum", "sgd_nesterov", "sgd_average",  "rmsprop",       "rmsprop_centered",
        "adamw",        "adagrad",      "adadelta",     "adamax",        "ftrl",
        "nadam",        "lamb",         "muon",         "schedule_free", "adam_accumulated",
        "scaled",       "multi",        "multi_scaled"};
    static const char *const older[] = {"older_adam",  "older_sgd",   "older_rmsprop",
                                        "older_adamw", "legacy_adam", "legacy_rmsprop"};
    static const char excluding[] =
        "{name: AdamW, learning_rate: 0.003, weight_decay: 0.1, exclude_from_weight_decay: [bias, gamma, beta]}";
    char folder[600];
    if (!liana__test_peer("tensorflow")) skip();
    snprintf(folder, sizeof folder, "%s", liana__test_folder());
    liana__test_run_keras(script, (const char *const[]){"begin", folder, NULL});
    examples own = read_examples();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!is_wanted(cases[i])) continue;
        go_on(cases[i], ".keras", &own, NULL);
        if (strcmp(cases[i], "lamb") != 0) go_on(cases[i], ".h5", &own, NULL);
    }
    if (is_wanted("adamw_excluded")) {
        go_on("adamw_excluded", ".keras", &own, excluding);
        go_on("adamw_excluded", ".h5", &own, excluding);
    }
    for (size_t i = 0; i < sizeof older / sizeof *older; i++) {
        if (is_wanted(older[i])) go_on_older(older[i], &own);
    }
    free_examples(&own);
    liana__test_run_keras(script, (const char *const[]){"end", folder, NULL});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_between_updates_changes_nothing),
        cmocka_unit_test(test_a_run_goes_on_and_is_converted),
        cmocka_unit_test(test_a_run_that_is_resumed_keeps_its_state),
        cmocka_unit_test(test_files_are_converted_with_their_state),
        cmocka_unit_test(test_what_keras_cannot_keep_is_told),
        cmocka_unit_test(test_trainings_go_to_and_fro),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

#else

int main(void)
{
    return 0;
}

#endif
