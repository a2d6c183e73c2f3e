/* Regularisers and constraints are Keras's arithmetic. Models as Keras writes them to JSON begin with the same weights
 * as in Keras and see the same batches; the losses of all updates, the loss of an evaluation and the last weights must
 * be those that Keras gave (tests/samples/keras_rules.py). */
#include "harness/keras_lists.h"
#include "harness/tiny_fit.h"

#include "formats/json.h"
#include "layers/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXAMPLES = 18, BATCH = 4, UPDATES = 100, SIDE = 6 };

static const char *const optimizers[][2] = {{"SGD", "{name: SGD, learning_rate: 0.05, momentum: 0.5}"},
                                            {"Adam", "{name: Adam, learning_rate: 0.01}"}};

/* Keras's results. Both sides compute in f32. */
static liana__keras_lists samples;

static int read_samples(void **state)
{
    (void)state;
    liana__keras_lists_open(&samples, "keras_rules.json", 2e-5);
    return 0;
}

static int free_samples(void **state)
{
    (void)state;
    liana__keras_lists_close(&samples);
    return 0;
}

typedef struct examples {
    float x[EXAMPLES * 6];
    int32_t ids[EXAMPLES * 4];
    uint8_t image[EXAMPLES * SIDE * SIDE * 2];
    float y[EXAMPLES * 3];
} examples;

static void fill(examples *all)
{
    for (int i = 0; i < EXAMPLES * 6; i++) all->x[i] = liana__keras_number("x", i);
    for (int i = 0; i < EXAMPLES * 4; i++) all->ids[i] = liana__keras_draw("ids", i) % 7;
    for (int i = 0; i < EXAMPLES * SIDE * SIDE * 2; i++)
        all->image[i] = (uint8_t)(liana__keras_draw("image", i) * 255 / 128);
    for (int i = 0; i < EXAMPLES * 3; i++) all->y[i] = liana__keras_number("y", i);
}

/* The examples from `first` on, for the model's input. */
static void cut(const examples *all, const char *input, int first, int count, liana_array arrays[2])
{
    arrays[0] = (liana_array){"x", LIANA_F32, liana_shape_of(count, 6), all->x + 6 * first};
    if (strcmp(input, "ids") == 0) {
        arrays[0] = (liana_array){"ids", LIANA_S32, liana_shape_of(count, 4), all->ids + 4 * first};
    } else if (strcmp(input, "image") == 0) {
        const uint8_t *pixels = all->image + 2 * SIDE * SIDE * first;
        arrays[0] = (liana_array){"image", LIANA_U8, liana_shape_of(count, SIDE, SIDE, 2), pixels};
    }
    arrays[1] = (liana_array){"y", LIANA_F32, liana_shape_of(count, 3), all->y + 3 * first};
}

/* ---- models ---- */

static liana_model *read_model(liana_context *context, const char *name, const liana__value *architecture)
{
    liana_model *model;
    assert_int_equal(liana_model_create(context, name, &model), LIANA_OK);
    assert_ok(liana__model_from_keras(model, architecture), &context->error);
    return model;
}

static void set_first_weights(liana_model *model)
{
    for (size_t i = 0; liana_model_weight(model, i).name; i++) {
        const char *name = liana_model_weight(model, i).name;
        liana__keras_set_weight(model, name, liana__ends_with(name, "moving_variance") ? 1 : 0);
    }
}

static void check_weights(liana_model *model, const char *name, const char *optimizer)
{
    for (size_t i = 0; liana_model_weight(model, i).name; i++) {
        liana__keras_weight_near(&samples, model, name, optimizer, liana_model_weight(model, i).name);
    }
}

/* ---- training ---- */

static bool has_batch_norm(const liana_model *model)
{
    bool found = false;
    for (size_t i = 0; i < model->num_layers; i++) found |= model->layers[i].type == &liana__layer_batch_normalization;
    return found;
}

static void train(liana_model *model, const char *name, const char *const optimizer[2], int64_t microbatch,
                  int64_t replicas)
{
    static examples all;
    const liana__keras_list losses = liana__keras_said(&samples, name, optimizer[0], "losses");
    const char *input = liana_model_input(model, 0).name;
    liana_fit_options options = {.loss = "mse",
                                 .optimizer = optimizer[1],
                                 .batch_size = BATCH,
                                 .microbatch = microbatch};
    if (replicas > 1) options.strategy = (liana_strategy){.name = "mirrored", .replicas = replicas};
    liana_context *context = model->context;
    liana_results results;
    liana_array arrays[2];
    fill(&all);
    assert_int_equal(losses.values->count, UPDATES);
    set_first_weights(model);
    for (int update = 0; update < UPDATES; update++) {
        int first = update % 5 * BATCH, count = first + BATCH <= EXAMPLES ? BATCH : EXAMPLES - first;
        cut(&all, input, first, count, arrays);
        liana__tiny_done(context, liana_train_on_batch(model, &options, arrays, 2, &results), __FILE__, __LINE__);
        liana__keras_near(results.loss, &losses, (size_t)update);
    }
    check_weights(model, name, optimizer[0]);
    if (has_batch_norm(model)) return;
    cut(&all, input, 0, EXAMPLES, arrays);
    const liana_evaluate_options measured = {.loss = "mse"};
    liana__tiny_done(context, liana_test_on_batch(model, &measured, arrays, 2, &results), __FILE__, __LINE__);
    const liana__keras_list evaluated = liana__keras_said(&samples, name, optimizer[0], "evaluated");
    liana__keras_near(results.loss, &evaluated, 0);
}

/* The same bits with 1 to 3 threads, with 2 devices, whole batches and shards of one example: the results of each are
 * compared with Keras, and the threads with each other. */
static void check_model(const char *name, const liana__value *architecture, const char *const optimizer[2])
{
    for (int64_t microbatch = 0; microbatch < 2; microbatch++) {
        liana_model *first = NULL;
        liana_context *contexts[3];
        for (int threads = 1; threads <= 3; threads++) {
            const liana_context_options wanted = {.num_threads = threads};
            assert_int_equal(liana_context_create(&wanted, &contexts[threads - 1]), LIANA_OK);
            liana_model *model = read_model(contexts[threads - 1], name, architecture);
            if (!microbatch || !has_batch_norm(model)) {
                /* The last one with two devices as well. */
                train(model, name, optimizer, microbatch, threads == 3 ? 2 : 1);
            }
            if (first) assert_true(liana__same_weights(first, model));
            if (first) liana_model_destroy(model);
            if (!first) first = model;
        }
        liana_model_destroy(first);
        for (int i = 0; i < 3; i++) liana_context_destroy(contexts[i]);
    }
}

static void test_keras_arithmetic(void **state)
{
    (void)state;
    const liana__value *models = liana__value_get(samples.root, "models");
    assert_compare(models->count, >=, 15);
    for (size_t i = 0; i < models->count; i++) {
        for (int k = 0; k < 2; k++) check_model(models->keys[i], models->items[i], optimizers[k]);
    }
}

/* Keras's objects are written again: the same for regularizers and constraints. */
static void compare_rules(const liana__value *theirs, const liana__value *ours, const char *layer, int *count)
{
    for (size_t i = 0; i < theirs->count; i++) {
        const char *key = theirs->keys[i];
        bool is_rule = liana__ends_with(key, "_regularizer") || liana__ends_with(key, "_constraint");
        const liana__value *expected = theirs->items[i], *found = liana__value_get(ours, key);
        if (!is_rule || (!found && expected->kind == LIANA__VALUE_NULL)) continue;
        if (!found) fail_msg("%s.%s is not written", layer, key);
        assert_int_equal(found->kind, expected->kind);
        if (expected->kind == LIANA__VALUE_NULL) continue;
        assert_string_equal(liana__value_get(found, "class_name")->string,
                            liana__value_get(expected, "class_name")->string);
        const liana__value *arguments = liana__value_get(expected, "config"), *ours_arguments;
        ours_arguments = liana__value_get(found, "config");
        assert_int_equal(ours_arguments->count, arguments->count);
        for (size_t k = 0; k < arguments->count; k++) {
            const liana__value *a = arguments->items[k], *b = liana__value_get(ours_arguments, arguments->keys[k]);
            if (!b) fail_msg("%s.%s.%s is not written", layer, key, arguments->keys[k]);
            if (a->kind == LIANA__VALUE_STRING) assert_string_equal(a->string, b->string);
            if (a->kind == LIANA__VALUE_LIST) assert_true(liana__value_equal(a, b));
            if (a->kind == LIANA__VALUE_FLOAT || a->kind == LIANA__VALUE_INT) assert_near(a->number, b->number, 1e-7);
        }
        ++*count;
    }
}

static void test_keras_files_are_written_again(void **state)
{
    (void)state;
    int count = 0;
    const liana__value *models = liana__value_get(samples.root, "models");
    for (size_t i = 0; i < models->count; i++) {
        liana_context *context;
        liana__arena own = {0};
        assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
        liana_model *model = read_model(context, models->keys[i], models->items[i]);
        const liana__value *written = liana__model_to_keras(model, LIANA__KERAS3, &own);
        const liana__value *theirs = liana__value_get(liana__value_get(models->items[i], "config"), "layers");
        const liana__value *ours = liana__value_get(liana__value_get(written, "config"), "layers");
        assert_int_equal(ours->count, theirs->count);
        for (size_t k = 0; k < ours->count; k++) {
            const liana__value *config = liana__value_get(theirs->items[k], "config");
            const char *layer = liana__value_get(config, "name")->string;
            compare_rules(config, liana__value_get(ours->items[k], "config"), layer, &count);
        }
        liana__arena_free(&own);
        liana_model_destroy(model);
        liana_context_destroy(context);
    }
    assert_compare(count, >=, 30);
}

/* ---- refusals ---- */

static void expect_refused(liana_layer (*add)(liana_model *model, const char *rule), const char *rule,
                           const char *const texts[3])
{
    liana_context *context;
    liana_model *model;
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    assert_int_equal(liana_model_create(context, "m", &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(6));
    assert_int_equal(add(model, rule).id, 0);
    assert_int_equal(liana_model_status(model), LIANA_INVALID_CONFIG);
    for (int i = 0; i < 3 && texts[i]; i++) {
        if (strstr(liana_context_message(context), texts[i])) continue;
        fail_msg("'%s' gives \"%s\", expected '%s' in it", rule, liana_context_message(context), texts[i]);
    }
    liana_model_destroy(model);
    liana_context_destroy(context);
}

static liana_layer add_regularizer(liana_model *model, const char *rule)
{
    return liana_dense(model, .units = 1, .kernel_regularizer = rule);
}

static liana_layer add_bias_regularizer(liana_model *model, const char *rule)
{
    return liana_dense(model, .units = 2, .bias_regularizer = rule);
}

static liana_layer add_activity(liana_model *model, const char *rule)
{
    return liana_dense(model, .units = 2, .activity_regularizer = rule);
}

static liana_layer add_constraint(liana_model *model, const char *rule)
{
    return liana_dense(model, .units = 2, .kernel_constraint = rule);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    static const struct {
        liana_layer (*add)(liana_model *model, const char *rule);
        const char *rule, *texts[3];
    } wrong[] = {
        {add_regularizer, "l3", {"dense.kernel_regularizer", "'l3'", "did you mean 'l1'"}},
        {add_regularizer, "weight", {"expected a regularizer: l1, l2, l1_l2, orthogonal_regularizer"}},
        {add_regularizer, "l2(-0.1)", {"dense.kernel_regularizer", "l2.l2", "-0.1"}},
        {add_regularizer, "l2(nan)", {"l2.l2", "nan"}},
        {add_regularizer, "l2(0.1", {"')' at its end"}},
        {add_regularizer, "l2(much)", {"l2.l2", "much", "a number"}},
        {add_regularizer, "l2(0.1, 0.2)", {"found 2 arguments, expected at most 1"}},
        {add_regularizer, "l2(l1=0.1)", {"l1", "l2"}},
        {add_regularizer, "l1_l2(0.1, l1=0.2)", {"'l1' is given twice"}},
        {add_regularizer, "orthogonal_regularizer(mode=diagonal)", {"mode", "diagonal", "rows"}},
        {add_regularizer,
         "orthogonal_regularizer(mode=columns)",
         {"kernel_regularizer", "[6, 1]", "2 columns or more"}},
        {add_bias_regularizer, "orthogonal_regularizer", {"bias_regularizer", "[2]", "a matrix"}},
        {add_activity, "orthogonal_regularizer", {"activity_regularizer", "several examples", "l1, l2 or l1_l2"}},
        {add_constraint, "max_norm(-1)", {"max_norm.max_value", "-1"}},
        {add_constraint, "max_norm(2, axis=2)", {"kernel_constraint", "axis: found 2", "axes 0 to 1"}},
        {add_constraint, "max_norm(2, axis=[0, -2])", {"axis 0 twice"}},
        {add_constraint, "unit_norm(axis=[])", {"at least one axis"}},
        {add_constraint, "min_max_norm(2, 1)", {"min_value 2 above max_value 1"}},
        {add_constraint, "min_max_norm(rate=2)", {"rate", "2"}},
        {add_constraint, "non_neg(1)", {"found 1 arguments, expected at most 0"}},
        {add_constraint, "max_nrom", {"did you mean 'max_norm'"}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_refused(wrong[i].add, wrong[i].rule, wrong[i].texts);
}

/* The penalty is part of the whole loss of a model with several outputs, and not of theirs; a fit's history and an
 * evaluation have it. Without training the loss is known: the penalty is added once. */
static void test_the_penalty_is_in_the_whole_loss(void **state)
{
    (void)state;
    static examples all;
    liana_context *context;
    liana_model *model;
    liana_array arrays[3];
    liana_results results[2];
    fill(&all);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
        assert_int_equal(liana_model_create(context, "two", &model), LIANA_OK);
        liana_layer x = liana_input(model, .name = "x", .shape = LIANA_INTS(6));
        const char *rule = i ? "l2(0.25)" : NULL;
        liana_layer y = liana_dense(model, .name = "y", .units = 3, .kernel_initializer = "ones",
                                    .kernel_regularizer = rule, .input = x);
        liana_layer z = liana_dense(model, .name = "z", .units = 3, .kernel_initializer = "constant(0.5)", .input = x);
        liana_model_outputs(model, y, z);
        cut(&all, "x", 0, EXAMPLES, arrays);
        arrays[2] = arrays[1];
        arrays[2].name = "z";
        const liana_evaluate_options options = {
            .losses = {{.output = "y", .name = "mse"}, {.output = "z", .name = "mse", .weight = 2}}};
        liana_status status = liana_test_on_batch(model, &options, arrays, 3, &results[i]);
        liana__tiny_done(context, status, __FILE__, __LINE__);
        liana_model_destroy(model);
        liana_context_destroy(context);
    }
    assert_near(results[1].loss - results[0].loss, 0.25 * 18, 1e-5);
    for (int i = 0; i < 2; i++) assert_compare(results[1].metrics[i], ==, results[0].metrics[i], i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_the_penalty_is_in_the_whole_loss),
        cmocka_unit_test(test_keras_arithmetic),
        cmocka_unit_test(test_keras_files_are_written_again),
    };
    return cmocka_run_group_tests(tests, read_samples, free_samples);
}
