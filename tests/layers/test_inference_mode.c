/* Layers that compute as in inference while their weights are trained, as Keras's base(inputs, training=False): numbers
 * of Keras for one update, in every way to say it, and through model.json. */
#include "harness/command_run.h"
#include "harness/text_files.h"

#include "base/file.h"
#include "formats/json.h"
#include "layers/model.h"

#include <liana/liana.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static liana_context *context;

static int set_up(void **state)
{
    (void)state;
    return liana_context_create(NULL, &context) != LIANA_OK;
}

static int tear_down(void **state)
{
    (void)state;
    liana_context_destroy(context);
    return 0;
}

static void done_at(liana_status status, int line)
{
    if (status != LIANA_OK) print_error("line %d: %s\n", line, liana_context_message(context));
    assert_int_equal(status, LIANA_OK);
}
#define done(status) done_at((status), __LINE__)

/* ---- Keras's numbers ---- */

enum { ROWS = 4 };
static const float x[] = {1, 2, -1, 0.5f, 0.25f, -2, 3, 1}, y[] = {1, 0, -1, 2};

typedef struct keras_weight {
    const char *end; /* of its name */
    int size;
    float before[4], after[4];
} keras_weight;

/* Keras 3.15 with TensorFlow: base = Dense(2), BatchNormalization, Dropout(0.5); o = Dense(1)(base(x, training=False));
 * the weights after one step of gradient descent with rate 0.1 on mean((o - y)^2), which is 0.28466251. */
static const keras_weight keras[] = {
    {"dense/kernel", 4, {0.5f, -0.25f, 0.75f, 1}, {0.52203321f, -0.25978521f, 0.81977105f, 0.96901387f}},
    {"dense/bias", 2, {0.1f, -0.2f}, {0.07584125f, -0.18927082f}},
    {"gamma", 2, {1.5f, 0.5f}, {1.54545116f, 0.44077450f}},
    {"beta", 2, {0.25f, -0.5f}, {0.22721723f, -0.48481148f}},
    {"moving_mean", 2, {0.3f, -0.1f}, {0.3f, -0.1f}},
    {"moving_variance", 2, {2, 0.5f}, {2, 0.5f}},
    {"head/kernel", 2, {0.6f, -0.4f}, {0.70413494f, -0.30698246f}},
    {"head/bias", 1, {0.05f}, {0.01202871f}},
};
enum { NUM_WEIGHTS = sizeof keras / sizeof *keras };
static const double keras_loss = 0.28466251;

static const keras_weight *find(const char *name)
{
    for (size_t i = 0; i < NUM_WEIGHTS; i++) {
        const size_t length = strlen(name), end = strlen(keras[i].end);
        if (length >= end && strcmp(name + length - end, keras[i].end) == 0) return &keras[i];
    }
    fail_msg("Keras has no weight '%s'", name);
    return NULL;
}

static void set_weights(liana_model *model)
{
    for (size_t i = 0; liana_model_weight(model, i).name; i++) {
        const char *name = liana_model_weight(model, i).name;
        liana_array array;
        done(liana_model_get_weights(model, name, &array));
        array.name = name;
        array.data = find(name)->before;
        assert_int_equal(liana_shape_size(&array.shape), find(name)->size);
        done(liana_model_set_weights(model, &array, 1));
    }
}

static double largest_difference(liana_model *model)
{
    double largest = 0;
    for (size_t i = 0; liana_model_weight(model, i).name; i++) {
        const char *name = liana_model_weight(model, i).name;
        liana_array array;
        done(liana_model_get_weights(model, name, &array));
        for (int k = 0; k < find(name)->size; k++) {
            largest = fmax(largest, fabs((double)((const float *)array.data)[k] - (double)find(name)->after[k]));
        }
    }
    return largest;
}

/* One update from the weights above. Returns the loss before it. */
static double update(liana_model *model)
{
    const liana_array arrays[] = {{"x", LIANA_F32, liana_shape_of(ROWS, 2), x},
                                  {"head", LIANA_F32, liana_shape_of(ROWS, 1), y}};
    const liana_fit_options options = {.loss = "mean_squared_error", .optimizer = "{name: SGD, learning_rate: 0.1}"};
    liana_results results;
    set_weights(model);
    done(liana_train_on_batch(model, &options, arrays, 2, &results));
    return results.loss;
}

static void check(liana_model *model)
{
    assert_near(update(model), keras_loss, 1e-6);
    assert_compare(largest_difference(model), <, 1e-6);
}

/* ---- models ---- */

static void add_base(liana_model *m, bool training)
{
    liana_input(m, .name = "x", .shape = LIANA_INTS(2));
    liana_dense(m, .units = 2, .name = "dense");
    liana_batch_normalization(m, .name = "bn", .training = training);
    liana_dropout(m, .rate = 0.5, .name = "drop", .training = training);
}

static liana_model *make_flat(bool training)
{
    liana_model *m;
    done(liana_model_create(context, NULL, &m));
    add_base(m, training);
    liana_dense(m, .units = 1, .name = "head");
    done(liana_model_status(m));
    return m;
}

static liana_model *make_nested(bool training)
{
    liana_model *base, *m;
    done(liana_model_create(context, "base", &base));
    done(liana_model_create(context, NULL, &m));
    add_base(base, true);
    liana_input(m, .name = "x", .shape = LIANA_INTS(2));
    liana_nested(m, .nested = base, .training = training);
    liana_dense(m, .units = 1, .name = "head");
    done(liana_model_status(m));
    liana_model_destroy(base);
    return m;
}

static void test_the_numbers_are_those_of_keras(void **state)
{
    (void)state;
    liana_model *flat = make_flat(false), *nested = make_nested(false);
    check(flat);
    check(nested);
    liana_model_destroy(flat);
    liana_model_destroy(nested);
    /* In training mode they are others, and the moving averages move. */
    flat = make_flat(true);
    (void)update(flat);
    liana_array mean;
    done(liana_model_get_weights(flat, "bn/moving_mean", &mean));
    assert_compare(((const float *)mean.data)[0], !=, 0.3f);
    assert_compare(largest_difference(flat), >, 1e-3);
    liana_model_destroy(flat);
}

/* All layers that there are; a nested model by its name; layers one by one; and back. */
static void test_a_model_is_told_later(void **state)
{
    (void)state;
    liana_model *m;
    done(liana_model_create(context, NULL, &m));
    add_base(m, true);
    done(liana_model_set_training(m, NULL, false));
    liana_dense(m, .units = 1, .name = "head");
    check(m);
    done(liana_model_set_training(m, "bn", true));
    (void)update(m);
    assert_compare(largest_difference(m), >, 1e-3);
    done(liana_model_set_training(m, "bn", false));
    check(m);
    assert_int_equal(liana_model_set_training(m, "bm", false), LIANA_NOT_FOUND);
    assert_says(liana_context_message(context), "did you mean 'bn'?");
    liana_model_destroy(m);
    m = make_nested(true);
    done(liana_model_set_training(m, "base", false));
    check(m);
    liana_model_destroy(m);
}

static void test_frozen_weights_stay(void **state)
{
    (void)state;
    liana_model *m = make_nested(false);
    done(liana_model_train_from(m, "head"));
    (void)update(m);
    liana_array gamma;
    done(liana_model_get_weights(m, "base/bn/gamma", &gamma));
    assert_compare(((const float *)gamma.data)[0], ==, 1.5f);
    liana_model_destroy(m);
}

/* ---- files ---- */

static char *read_text(const char *path)
{
    char *text;
    size_t size;
    liana__error error;
    assert_ok(liana__file_read(path, 1 << 20, &text, &size, &error), &error);
    return text;
}

static void test_model_json_both_ways(void **state)
{
    (void)state;
    liana__test_folder();
    liana_model *const made[] = {make_flat(false), make_nested(false)};
    for (int i = 0; i < 2; i++) {
        const char *folder = liana__test_path(i ? "nested" : "flat");
        done(liana_model_save(made[i], folder));
        char *text = read_text(liana__test_path(i ? "nested/model.json" : "flat/model.json"));
        assert_says(text, "\"training\": false");
        free(text);
        liana_model *loaded;
        done(liana_model_load(context, folder, &loaded));
        check(loaded);
        char *summary = liana_model_summary(loaded);
        assert_says(summary, i ? "base (Sequential, training=False)" : "bn (BatchNormalization, training=False)");
        free(summary);
        liana_model_destroy(loaded);
        liana_model_destroy(made[i]);
    }
    /* Facts that are not given are not written. */
    liana_model *plain = make_flat(true);
    done(liana_model_save(plain, liana__test_path("plain")));
    char *text = read_text(liana__test_path("plain/model.json"));
    assert_never_says(text, "training");
    assert_says(text, "\"Sequential\"");
    free(text);
    liana_model_destroy(plain);
}

#define HEAD                                                                                                        \
    "{\"class_name\": \"Functional\", \"config\": {\"name\": \"m\", \"layers\": [{\"class_name\": \"InputLayer\", " \
    "\"name\": \"in\", \"config\": {\"batch_input_shape\": [null, 2], \"name\": \"in\"}, \"inbound_nodes\": []}, "
#define TAIL "], \"input_layers\": [[\"in\", 0, 0]], \"output_layers\": [[\"%s\", %d, 0]]}}"
#define BN \
    "{\"class_name\": \"BatchNormalization\", \"name\": \"bn\", \"config\": {\"name\": \"bn\"}, \"inbound_nodes\": "

static liana_status read_json(const char *nodes, int last, liana_model **model, liana__error *error)
{
    char text[2048];
    liana__arena arena = {0};
    liana__value *value;
    snprintf(text, sizeof text, HEAD BN "%s}" TAIL, nodes, "bn", last);
    done(liana_model_create(context, NULL, model));
    assert_ok(liana__json_parse(text, strlen(text), "model.json", &arena, &value, error), error);
    liana_status status = liana__model_from_keras(*model, value);
    *error = (*model)->error;
    liana__arena_free(&arena);
    return status;
}

/* Keras 2 writes the arguments of a call. Keras 3 writes training: false for each Dropout, and does not follow it. */
static void test_what_files_of_keras_say(void **state)
{
    (void)state;
    static const struct {
        const char *nodes;
        int last;
        liana_status status;
        bool inference;
        const char *message;
    } cases[] = {
        {"[[[\"in\", 0, 0, {\"training\": false}]]]", 0, LIANA_OK, true, NULL},
        {"[[\"in\", 0, 0, {\"training\": false}]]", 0, LIANA_OK, true, NULL},
        {"[[[\"in\", 0, 0, {}]]]", 0, LIANA_OK, false, NULL},
        {"[[[\"in\", 0, 0, {\"training\": null}]]]", 0, LIANA_OK, false, NULL},
        {"[[[\"in\", 0, 0, {\"training\": true}]]]", 0, LIANA_UNIMPLEMENTED, false, "training=True"},
        {"[[[\"in\", 0, 0, {\"training\": false}]], [[\"bn\", 0, 0, {}]]]", 1, LIANA_UNIMPLEMENTED, false,
         "some of its calls have training=False"},
        {"[{\"args\": [{\"class_name\": \"__keras_tensor__\", \"config\": {\"keras_history\": [\"in\", 0, 0]}}], "
         "\"kwargs\": {\"training\": false}}]",
         0, LIANA_OK, false, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana_model *model;
        liana__error error = {0};
        liana_status status = read_json(cases[i].nodes, cases[i].last, &model, &error);
        if (status != cases[i].status) print_error("%s: %s\n", cases[i].nodes, error.message);
        assert_int_equal(status, cases[i].status);
        if (cases[i].message) assert_says(error.message, cases[i].message);
        if (status == LIANA_OK) assert_int_equal(liana__layer_infers(model, 1), cases[i].inference);
        liana_model_destroy(model);
    }
}

/* ---- configurations ---- */

/* The moving averages of a run's last checkpoint are the initial ones: mean 0, variance 1. */
static bool averages_moved(const char *run)
{
    liana_model *model;
    bool moved = false;
    done(liana_model_load(context, run, &model));
    for (size_t i = 0; liana_model_weight(model, i).name; i++) {
        const char *name = liana_model_weight(model, i).name;
        const float expected = strstr(name, "moving_variance") ? 1 : 0;
        liana_array array;
        if (!strstr(name, "moving_")) continue;
        done(liana_model_get_weights(model, name, &array));
        for (int64_t k = 0; k < liana_shape_size(&array.shape); k++) {
            moved = moved || ((const float *)array.data)[k] != expected;
        }
    }
    liana_model_destroy(model);
    return moved;
}

static void test_a_configuration_says_it(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = liana__test_tiny_run(100);
    static const char *const models[] = {
        "model={layers: [Flatten, Dense: {units: 6}, BatchNormalization: {training: false}, Dense: {units: 4, "
        "activation: softmax}]}",
        "model={layers: [Flatten, Sequential: {training: false, layers: [Dense: {units: 6}, BatchNormalization]}, "
        "Dense: {units: 4, activation: softmax}]}",
        "model={base: MobileNetV2, alpha: 0.35, training: false}",
        "model={layers: [Flatten, Dense: {units: 6}, BatchNormalization, Dense: {units: 4, activation: softmax}]}"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char run[300];
        snprintf(run, sizeof run, "%s-%zu", liana__test_path("mode"), i);
        const char *size = i == 2 ? "data.image_size=32" : "data.image_size=12";
        assert_code(liana__test_command("train", config, models[i], size, "train.epochs=1", "train.batch_size=50",
                                        "--out", run),
                    0);
        assert_int_equal(averages_moved(run), i == 3);
        liana__test_result got = liana__test_command("summary", run);
        assert_int_equal(strstr(got.out, "training=False") != NULL, i != 3);
        assert_code(got, 0);
    }
    assert_refused(liana__test_command("train", config, "model.training=false", "--out", liana__test_path("none")), 2,
                   "model.training", "this is an option of 'base'");
    assert_refused(liana__test_command("train", config, "model.layers[0]={Flatten: {training: perhaps}}", "--out",
                                       liana__test_path("none")),
                   2, "training", "expected true or false");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_numbers_are_those_of_keras),
        cmocka_unit_test(test_a_model_is_told_later),
        cmocka_unit_test(test_frozen_weights_stay),
        cmocka_unit_test(test_model_json_both_ways),
        cmocka_unit_test(test_what_files_of_keras_say),
        cmocka_unit_test(test_a_configuration_says_it),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
