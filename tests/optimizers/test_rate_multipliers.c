/* Factors of the learning rate by the names of weights. */
#include "harness/tiny_fit.h"

#include "optimizers/rate_multipliers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXAMPLES = 12, FEATURES = 5, CLASSES = 3, MOST = 64 };

typedef struct own_state {
    liana_context *context;
    float x[EXAMPLES * FEATURES];
    int32_t y[EXAMPLES];
} own_state;

static own_state begin(void)
{
    own_state own = {0};
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &own.context), LIANA_OK);
    for (int i = 0; i < EXAMPLES * FEATURES; i++) own.x[i] = (float)(i * 37 % 29 - 14) / 14;
    for (int i = 0; i < EXAMPLES; i++) own.y[i] = i * 5 % CLASSES;
    return own;
}

static liana_model *build(liana_context *context)
{
    liana_model *model;
    assert_int_equal(liana_model_create(context, "m", &model), LIANA_OK);
    liana_input(model, .name = "x", .shape = LIANA_INTS(FEATURES));
    liana_dense(model, .name = "block_1/dense", .units = 4, .activation = "tanh");
    liana_dense(model, .name = "block_2/dense", .units = 4, .activation = "tanh");
    liana_dense(model, .name = "head", .units = CLASSES, .activation = "softmax");
    assert_int_equal(liana_model_status(model), LIANA_OK);
    return model;
}

static liana_status step(const own_state *own, liana_model *model, const char *optimizer)
{
    const liana_array arrays[] = {{"x", LIANA_F32, liana_shape_of(EXAMPLES, FEATURES), own->x},
                                  {"y", LIANA_S32, liana_shape_of(EXAMPLES), own->y}};
    const liana_fit_options options = {.optimizer = optimizer};
    return liana_train_on_batch(model, &options, arrays, 2, NULL);
}

/* How much a step changes each element of a weight, for one optimizer. */
static int changes(const own_state *own, const char *weight, const char *optimizer, double change[MOST])
{
    float before[MOST];
    liana_array array;
    liana_model *model = build(own->context);
    assert_int_equal(liana_model_get_weights(model, weight, &array), LIANA_OK);
    int count = (int)liana_shape_size(&array.shape);
    assert_compare(count, <=, MOST);
    memcpy(before, array.data, (size_t)count * sizeof *before);
    liana__tiny_done(own->context, step(own, model, optimizer), __FILE__, __LINE__);
    assert_int_equal(liana_model_get_weights(model, weight, &array), LIANA_OK);
    for (int i = 0; i < count; i++) change[i] = (double)((const float *)array.data)[i] - (double)before[i];
    liana_model_destroy(model);
    return count;
}

/* A step with multipliers is that many times the step without. */
static void check_factor(const own_state *own, const char *weight, const char *name, const char *multipliers,
                         double factor)
{
    char plain[256], multiplied[512];
    double expected[MOST], found[MOST], most = 0;
    snprintf(plain, sizeof plain, "{name: %s, learning_rate: 0.5}", name);
    snprintf(multiplied, sizeof multiplied, "{name: %s, learning_rate: 0.5, rate_multipliers: %s}", name, multipliers);
    int count = changes(own, weight, plain, expected);
    assert_int_equal(changes(own, weight, multiplied, found), count);
    for (int i = 0; i < count; i++) {
        most = fmax(most, fabs(expected[i]));
        assert_near(found[i], factor * expected[i], 3e-7 * (1 + factor), i);
        if (factor == 0) assert_compare(found[i], ==, 0, i);
    }
    assert_compare(most, >, 1e-3);
}

static void test_steps_are_multiplied(void **state)
{
    (void)state;
    own_state own = begin();
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "Adam" : "SGD";
        check_factor(&own, "block_1/dense/kernel", name, "{\"block_*\": 0.1}", 0.1);
        check_factor(&own, "head/kernel", name, "{\"block_*\": 0.1}", 1);
        check_factor(&own, "head/bias", name, "{head: 2}", 2);
        check_factor(&own, "block_2/dense/bias", name, "{block_2: 0.25}", 0.25);
        check_factor(&own, "block_2/dense/bias", name, "{\"*/kernel\": 0.5}", 1);
        check_factor(&own, "block_2/dense/kernel", name, "{\"*/kernel\": 0}", 0);
        /* The last one that matches. */
        check_factor(&own, "head/kernel", name, "{\"*\": 0.1, head: 3, \"block_?/*\": 0.5}", 3);
        check_factor(&own, "block_1/dense/bias", name, "{\"*\": 0.1, head: 3, \"block_?/*\": 0.5}", 0.5);
    }
    liana_context_destroy(own.context);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    own_state own = begin();
    static const char *const wrong[][2] = {
        {"{name: SGD, rate_multipliers: {\"blok_*\": 0.1}}",
         "rate_multipliers: 'blok_*' matches no weight and no layer"},
        {"{name: SGD, rate_multipliers: {head: -1}}", "rate_multipliers.head: found the number -1"},
        {"{name: SGD, rate_multipliers: {head: much}}", "found the text 'much', expected a number"},
        {"{name: SGD, rate_multipliers: {head: .nan}}", "expected a number from 0 on"},
        {"{name: SGD, rate_multipliers: 0.1}", "expected factors by name"},
        {"{name: SGD, rate_multipliers: [0.1]}", "expected factors by name"},
        {"{name: SGD, rate_multiplier: {head: 1}}", "rate_multiplier"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        liana_model *model = build(own.context);
        liana__tiny_refused(own.context, step(&own, model, wrong[i][0]), LIANA_INVALID_CONFIG, wrong[i][1], __FILE__,
                            __LINE__);
        liana_model_destroy(model);
    }
    liana_context_destroy(own.context);
}

/* In a graph of the program's own, names are those of its variables. */
static void test_in_a_graph(void **state)
{
    (void)state;
    own_state own = begin();
    liana_graph *graph;
    liana_device *device;
    liana_program *program;
    float values[2];
    assert_int_equal(liana_graph_create(own.context, &graph), LIANA_OK);
    liana_tensor a = liana_graph_variable(graph, "base/a", LIANA_F32, LIANA_SCALAR);
    liana_tensor b = liana_graph_variable(graph, "b", LIANA_F32, LIANA_SCALAR);
    liana_graph_initializer(a, "ones");
    liana_graph_initializer(b, "ones");
    liana_tensor loss = liana_op_add(liana_op_square(a), liana_op_square(b));
    const liana_optimizer_options options = {
        .optimizer = "{name: SGD, learning_rate: 0.25, rate_multipliers: {\"base/*\": 0.5}}"};
    liana_minimize(loss, NULL, 0, &options);
    assert_int_equal(liana_graph_status(graph), LIANA_OK);
    assert_int_equal(liana_device_open(own.context, "cpu", &device), LIANA_OK);
    assert_int_equal(liana_program_create(device, graph, NULL, &program), LIANA_OK);
    assert_int_equal(liana_variables_initialize(liana_program_variables(program), NULL), LIANA_OK);
    assert_int_equal(liana_run(program, .assign = LIANA_NAMES("train")), LIANA_OK);
    assert_int_equal(liana_run(program, .fetches = LIANA_FETCHES({.name = "base/a", .data = &values[0], .size = 4},
                                                                 {.name = "b", .data = &values[1], .size = 4})),
                     LIANA_OK);
    assert_compare(values[0], ==, 0.75f);
    assert_compare(values[1], ==, 0.5f);
    liana_program_destroy(program);
    liana_device_close(device);
    liana_graph_destroy(graph);
    liana_context_destroy(own.context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_are_multiplied),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_in_a_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
