/* Optimizers in a graph: against PyTorch's numbers, against plain loops, and a line against its closed form; errors. */
#include "harness/harness.h"

#include "base/context.h"
#include "harness/sum_optimizers.h"
#include "program/optimizer.h"

#include <liana/liana.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_DEVICES = 2 };
static liana_context *context;
static liana_device *devices[NUM_DEVICES];

static int set_up(void **state)
{
    (void)state;
    if (liana_context_create(&(liana_context_options){.num_threads = 2}, &context) != LIANA_OK) return -1;
    if (liana_device_open(context, NULL, &devices[0]) != LIANA_OK) return -1;
    return liana_device_open(context, "reference", &devices[1]) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    for (int d = 0; d < NUM_DEVICES; d++) liana_device_close(devices[d]);
    liana_context_destroy(context);
    return 0;
}

static liana_graph *new_graph(void)
{
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    return graph;
}

/* ---- against PyTorch ---- */

enum { ELEMENTS = 6, UPDATES = 10 };

/* The variable after ten updates by PyTorch: as in test_optimizers.c. */
static const double adam[ELEMENTS] = {-0.50321490868905405, -0.25307927172929795, 0.0016647097386760501,
                                      0.25213196455302145,  0.49865031863123294,  0.75135203672970696};
static const double adam_settings[ELEMENTS] = {-0.79201623058630621, -0.49671921497518978, 0.16087656282610485,
                                               0.43873359514450705,  0.3634850407942532,   0.84648061568875743};
static const double nesterov[ELEMENTS] = {-0.9073365916274998, -0.56975690080625008, 0.19832660401625007,
                                          0.55087474957499993, 0.34442331539625004,  0.78321660896875001};

static void check_torch(liana_device *device, const liana_optimizer_options *options, const char *slot,
                        const double *expected)
{
    liana_graph *graph = new_graph();
    const liana_shape shape = liana_shape_of(2, 3);
    liana_tensor v = liana_graph_variable(graph, "v", LIANA_F32, shape);
    liana_tensor g = liana_graph_input(graph, "g", LIANA_F32, shape);
    liana_apply_gradients(&v, &g, 1, options);
    liana_program *program;
    assert_ok(liana_program_create(device, graph, NULL, &program), &context->error);
    liana_variables *variables = liana_program_variables(program);
    assert_true(liana_variables_find(variables, slot, NULL));
    float value[ELEMENTS], gradient[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++) value[i] = (float)(i - 2) / 4;
    assert_ok(liana_variables_write(variables, "v", value, sizeof value), &context->error);
    assert_ok(liana_variables_initialize(variables, NULL), &context->error);
    for (int t = 1; t <= UPDATES; t++) {
        for (int i = 0; i < ELEMENTS; i++) gradient[i] = (float)((7 * t + 3 * i) % 11 - 5) / 8;
        assert_ok(liana_run(program, .feeds = LIANA_FEEDS({"g", LIANA_F32, shape, gradient}),
                            .assign = LIANA_NAMES(options && options->target ? options->target : "train")),
                  &context->error);
    }
    assert_ok(liana_variables_read(variables, "v", value, sizeof value), &context->error);
    for (int i = 0; i < ELEMENTS; i++) assert_near(value[i], expected[i], 3e-7, i);
    int64_t iteration = 0;
    char name[64];
    snprintf(name, sizeof name, "optimizer/%s/iteration", options && options->target ? options->target : "train");
    assert_ok(liana_variables_read(variables, name, &iteration, sizeof iteration), &context->error);
    assert_int_equal(iteration, UPDATES);
    liana_program_destroy(program);
    liana_graph_destroy(graph);
}

static void test_agree_with_pytorch(void **state)
{
    (void)state;
    const liana_optimizer_options by_text = {.optimizer = "{name: Adam, beta_1: 0.8, beta_2: 0.95, epsilon: 1.0e-3, "
                                                          "learning_rate: 0.1}",
                                             .target = "step"},
                                  by_struct = {.optimizer = "adam",
                                               .settings = {{"beta_1", 0.8}, {"beta_2", 0.95}, {"epsilon", 1e-3}},
                                               .learning_rate = 0.1},
                                  sgd_text = {.optimizer = "{name: SGD, momentum: 0.9, nesterov: true}",
                                              .learning_rate = 0.1},
                                  sgd_struct = {.optimizer = "{name: SGD, momentum: 0.1, learning_rate: 7}",
                                                .settings = {{"momentum", 0.9},
                                                             {"nesterov", 1},
                                                             {"learning_rate", 0.1}}},
                                  scaled = {.optimizer = "{name: LossScaleOptimizer, inner_optimizer: adam}"},
                                  several = {.optimizer = "{name: MultiOptimizer, optimizer_map: {default_optimizer: "
                                                          "SGD, optimizer_map: {'[uv]': {name: Adam, beta_1: 0.8, "
                                                          "beta_2: 0.95, epsilon: 1.0e-3, learning_rate: 0.1}}}}"};
    for (int d = 0; d < NUM_DEVICES; d++) {
        check_torch(devices[d], NULL, "optimizer/Adam/m/v", adam);
        check_torch(devices[d], &by_text, "optimizer/Adam/v/v", adam_settings);
        check_torch(devices[d], &by_struct, "optimizer/Adam/v/v", adam_settings);
        check_torch(devices[d], &sgd_text, "optimizer/SGD/momentum/v", nesterov);
        check_torch(devices[d], &sgd_struct, "optimizer/SGD/momentum/v", nesterov);
        check_torch(devices[d], &scaled, "optimizer/Adam/loss_scale/v", adam);
        check_torch(devices[d], &several, "optimizer/Adam/v/v", adam_settings);
    }
}

/* ---- against plain loops ---- */

/* Two variables that share the norm of all gradients, and one step by each device. */
static void test_sums_over_all_variables(void **state)
{
    (void)state;
    enum { A = 5000, B = 7 };
    for (int d = 0; d < NUM_DEVICES; d++) {
        liana_graph *graph = new_graph();
        liana_tensor variables[2] = {liana_graph_variable(graph, "a", LIANA_F32, liana_shape_of(A)),
                                     liana_graph_variable(graph, "b", LIANA_F32, liana_shape_of(B))};
        liana_tensor gradients[2] = {liana_graph_input(graph, "ga", LIANA_F32, liana_shape_of(A)),
                                     liana_graph_input(graph, "gb", LIANA_F32, liana_shape_of(B))};
        liana_tensor rate = liana_graph_input(graph, "rate", LIANA_F32, LIANA_SCALAR);
        liana__optimizer_choice choice = {.optimizer = &liana__test_clip};
        liana__apply_optimizer(LIANA_HERE, variables, gradients, 2, &choice, rate, "train");
        liana_program *program;
        assert_ok(liana_program_create(devices[d], graph, NULL, &program), &context->error);
        static float a[A], b[B], ga[A], gb[B], got[A];
        double norm = 0;
        for (int i = 0; i < A; i++) {
            a[i] = (float)(i % 13) / 13;
            ga[i] = (float)(i % 17) / 170 - 0.04f;
            norm += (double)ga[i] * (double)ga[i];
        }
        for (int i = 0; i < B; i++) {
            b[i] = (float)i;
            gb[i] = 1 - (float)i / 3;
            norm += (double)gb[i] * (double)gb[i];
        }
        norm = sqrt(norm);
        assert_compare(norm, >, LIANA__TEST_CLIP);
        liana_variables *values = liana_program_variables(program);
        assert_ok(liana_variables_write(values, "a", a, sizeof a), &context->error);
        assert_ok(liana_variables_write(values, "b", b, sizeof b), &context->error);
        assert_ok(liana_variables_initialize(values, NULL), &context->error);
        assert_ok(liana_run(program,
                            .feeds = LIANA_FEEDS({"ga", LIANA_F32, liana_shape_of(A), ga},
                                                 {"gb", LIANA_F32, liana_shape_of(B), gb},
                                                 {"rate", LIANA_F32, LIANA_SCALAR, &(float){0.5f}}),
                            .assign_all = true),
                  &context->error);
        assert_ok(liana_variables_read(values, "a", got, sizeof got), &context->error);
        for (int i = 0; i < A; i++) {
            assert_near(got[i], (double)a[i] - 0.5 * LIANA__TEST_CLIP / norm * (double)ga[i], 1e-6, i);
        }
        assert_ok(liana_variables_read(values, "b", got, sizeof b), &context->error);
        for (int i = 0; i < B; i++) {
            assert_near(got[i], (double)b[i] - 0.5 * LIANA__TEST_CLIP / norm * (double)gb[i], 1e-6, i);
        }
        liana_program_destroy(program);
        liana_graph_destroy(graph);
    }
}

/* Sums over each variable for itself, and rounds that read the ones before. */
static void test_sums_over_a_variable(void **state)
{
    (void)state;
    enum { N = 9 };
    liana_graph *graph = new_graph();
    liana_tensor v = liana_graph_variable(graph, "v", LIANA_F32, liana_shape_of(N));
    liana_tensor g = liana_graph_input(graph, "g", LIANA_F32, liana_shape_of(N));
    liana_tensor rate = liana_graph_scalar(graph, LIANA_F32, 0.25);
    liana__optimizer_choice choice = {.optimizer = &liana__test_clip_and_trust};
    liana__apply_optimizer(LIANA_HERE, &v, &g, 1, &choice, rate, "train");
    liana_program *program;
    assert_ok(liana_program_create(devices[0], graph, NULL, &program), &context->error);
    liana_variables *values = liana_program_variables(program);
    float variable[N], gradient[N];
    double expected[N], velocity[N] = {0};
    for (int i = 0; i < N; i++) expected[i] = (double)(variable[i] = (float)(i - 3) / 2);
    assert_ok(liana_variables_write(values, "v", variable, sizeof variable), &context->error);
    assert_ok(liana_variables_initialize(values, NULL), &context->error);
    for (int t = 0; t < 3; t++) {
        double norm = 0, size = 0, step = 0, change[N];
        for (int i = 0; i < N; i++) {
            gradient[i] = (float)((5 * i + t) % 7) / 7;
            norm += (double)gradient[i] * (double)gradient[i];
        }
        norm = sqrt(norm);
        double scale = norm > LIANA__TEST_CLIP ? LIANA__TEST_CLIP / norm : 1;
        for (int i = 0; i < N; i++) {
            velocity[i] = LIANA__TEST_BETA * velocity[i] + scale * (double)gradient[i];
            change[i] = velocity[i] + LIANA__TEST_DECAY * expected[i];
            size += expected[i] * expected[i];
            step += change[i] * change[i];
        }
        for (int i = 0; i < N; i++) expected[i] -= 0.25 * sqrt(size) / (sqrt(step) + 1e-6) * change[i];
        assert_ok(liana_run(program, .feeds = LIANA_FEEDS({"g", LIANA_F32, liana_shape_of(N), gradient}),
                            .assign = LIANA_NAMES("train")),
                  &context->error);
    }
    assert_ok(liana_variables_read(values, "v", variable, sizeof variable), &context->error);
    for (int i = 0; i < N; i++) assert_near(variable[i], expected[i], 2e-6, i);
    liana_program_destroy(program);
    liana_graph_destroy(graph);
}

/* ---- minimising ---- */

/* Least squares by descent end at the closed form; the loss falls all the way; frozen variables stay. */
static void test_a_line_is_its_closed_form(void **state)
{
    (void)state;
    enum { N = 8 };
    static const float x[N] = {-3, -2, -1, 0, 1, 2, 3, 4}, y[N] = {-5.1f, -2.8f, -1.2f, 1.1f, 3.2f, 4.7f, 7.3f, 9};
    double mx = 0, my = 0, sxx = 0, sxy = 0;
    for (int i = 0; i < N; i++) mx += (double)x[i] / N;
    for (int i = 0; i < N; i++) my += (double)y[i] / N;
    for (int i = 0; i < N; i++) {
        sxx += ((double)x[i] - mx) * ((double)x[i] - mx);
        sxy += ((double)x[i] - mx) * ((double)y[i] - my);
    }
    for (int d = 0; d < NUM_DEVICES; d++) {
        liana_graph *graph = new_graph();
        liana_tensor in = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(N));
        liana_tensor wanted = liana_graph_input(graph, "y", LIANA_F32, liana_shape_of(N));
        liana_tensor slope =
            liana_graph_initializer(liana_graph_variable(graph, "slope", LIANA_F32, LIANA_SCALAR), "zeros");
        liana_tensor offset =
            liana_graph_initializer(liana_graph_variable(graph, "offset", LIANA_F32, LIANA_SCALAR), "zeros");
        liana_graph_variable(graph, "unused", LIANA_F32, LIANA_SCALAR);
        liana_tensor line = liana_op_add(liana_op_multiply(in, slope), offset);
        liana_tensor loss =
            liana_op_reduce_mean(liana_op_square(liana_op_subtract(line, wanted)), LIANA_ALL_AXES, false);
        liana_graph_output(graph, "loss", loss);
        liana_minimize(loss, NULL, 0, &(liana_optimizer_options){.optimizer = "SGD", .learning_rate = 0.05});
        liana_program *program;
        assert_ok(liana_program_create(devices[d], graph, NULL, &program), &context->error);
        liana_variables *variables = liana_program_variables(program);
        assert_fails(liana_variables_initialize(variables, NULL), LIANA_INVALID_ARGUMENT, &context->error, "'unused'");
        assert_ok(liana_variables_write(variables, "unused", &(float){1}, sizeof(float)), &context->error);
        assert_ok(liana_variables_initialize(variables, NULL), &context->error);
        float before = INFINITY, now = 0, a = 0, b = 0;
        for (int i = 0; i < 400; i++) {
            assert_ok(liana_run(program,
                                .feeds = LIANA_FEEDS({"x", LIANA_F32, liana_shape_of(N), x},
                                                     {"y", LIANA_F32, liana_shape_of(N), y}),
                                .fetches = LIANA_FETCHES({.name = "loss", .data = &now, .size = sizeof now}),
                                .assign = LIANA_NAMES("train")),
                      &context->error);
            assert_compare(now, <=, before + 1e-6f);
            before = now;
        }
        assert_ok(liana_variables_read(variables, "slope", &a, sizeof a), &context->error);
        assert_ok(liana_variables_read(variables, "offset", &b, sizeof b), &context->error);
        assert_near(a, sxy / sxx, 1e-5);
        assert_near(b, my - sxy / sxx * mx, 1e-5);
        liana_program_destroy(program);
        liana_graph_destroy(graph);
    }
}

/* Two optimizers in one graph, each with its variables, run one at a time. */
static void test_two_optimizers(void **state)
{
    (void)state;
    liana_graph *graph = new_graph();
    liana_tensor a = liana_graph_initializer(liana_graph_variable(graph, "a", LIANA_F32, LIANA_SCALAR), "ones");
    liana_tensor b = liana_graph_initializer(liana_graph_variable(graph, "b", LIANA_F32, LIANA_SCALAR), "ones");
    liana_tensor product = liana_op_multiply(a, b), negative = liana_op_negate(product);
    liana_minimize(product, &a, 1,
                   &(liana_optimizer_options){.optimizer = "SGD", .learning_rate = 0.5, .target = "down"});
    liana_minimize(negative, &b, 1,
                   &(liana_optimizer_options){.optimizer = "SGD", .learning_rate = 0.25, .target = "up"});
    liana_program *program;
    assert_ok(liana_program_create(devices[0], graph, NULL, &program), &context->error);
    liana_variables *variables = liana_program_variables(program);
    assert_ok(liana_variables_initialize(variables, NULL), &context->error);
    float x = 0, y = 0;
    assert_ok(liana_run(program, .assign = LIANA_NAMES("down")), &context->error);
    assert_ok(liana_variables_read(variables, "a", &x, sizeof x), &context->error);
    assert_ok(liana_variables_read(variables, "b", &y, sizeof y), &context->error);
    assert_compare(x, ==, 0.5f);
    assert_compare(y, ==, 1);
    assert_ok(liana_run(program, .assign = LIANA_NAMES("up")), &context->error);
    assert_ok(liana_variables_read(variables, "a", &x, sizeof x), &context->error);
    assert_ok(liana_variables_read(variables, "b", &y, sizeof y), &context->error);
    assert_compare(x, ==, 0.5f);
    assert_compare(y, ==, 1.125f);
    liana_program_destroy(program);
    liana_graph_destroy(graph);
}

/* A gradient that is not finite, alone or once it is scaled, changes no variable and halves the scale. */
static void test_skipped_updates(void **state)
{
    (void)state;
    static const liana_optimizer_options options = {
        .optimizer = "{name: LossScaleOptimizer, initial_scale: 1.0e+38, dynamic_growth_steps: 2, inner_optimizer: "
                     "{name: SGD, learning_rate: 0.5, momentum: 0.5}}"};
    static const float gradients[] = {1, INFINITY, 1, 8, NAN, 1, 1, 1};
    /* By hand: updates 1, 3, 6, 7 and 8 are taken; 8 times 5e37 is too large. */
    static const float scales[] = {1e38f, 5e37f, 5e37f, 2.5e37f, 1.25e37f, 1.25e37f, 2.5e37f, 2.5e37f};
    static const float values[] = {-0.5f, -0.5f, -1.25f, -1.25f, -1.25f, -2.125f, -3.0625f, -4.03125f};
    for (int d = 0; d < NUM_DEVICES; d++) {
        liana_graph *graph = new_graph();
        liana_program *program;
        liana_tensor v = liana_graph_variable(graph, "v", LIANA_F32, LIANA_SCALAR);
        liana_tensor g = liana_graph_input(graph, "g", LIANA_F32, LIANA_SCALAR);
        liana_apply_gradients(&v, &g, 1, &options);
        assert_ok(liana_program_create(devices[d], graph, NULL, &program), &context->error);
        liana_variables *variables = liana_program_variables(program);
        assert_ok(liana_variables_write(variables, "v", &(float){0}, sizeof(float)), &context->error);
        assert_ok(liana_variables_initialize(variables, NULL), &context->error);
        for (size_t t = 0; t < sizeof gradients / sizeof *gradients; t++) {
            float value, kept[3];
            assert_ok(liana_run(program, .feeds = LIANA_FEEDS({"g", LIANA_F32, LIANA_SCALAR, &gradients[t]}),
                                .assign = LIANA_NAMES("train")),
                      &context->error);
            assert_ok(liana_variables_read(variables, "v", &value, sizeof value), &context->error);
            assert_ok(liana_variables_read(variables, "optimizer/SGD/loss_scale/v", kept, sizeof kept),
                      &context->error);
            assert_near(value, values[t], 1e-6, t);
            assert_near(kept[0] / scales[t], 1, 1e-6, t);
        }
        liana_program_destroy(program);
        liana_graph_destroy(graph);
    }
}

/* ---- errors ---- */

static void assert_refused(const liana_optimizer_options *options, liana_status status, const char *a, const char *b)
{
    liana_graph *graph = new_graph();
    liana_tensor v = liana_graph_variable(graph, "v", LIANA_F32, liana_shape_of(2));
    liana_tensor g = liana_graph_input(graph, "g", LIANA_F32, liana_shape_of(2));
    liana_apply_gradients(&v, &g, 1, options);
    assert_fails(liana_graph_status(graph), status, &context->error, "test_public_optimizer.c", a, b);
    liana_graph_destroy(graph);
}

static void test_wrong_options_are_named(void **state)
{
    (void)state;
    assert_refused(&(liana_optimizer_options){.optimizer = "Adm"}, LIANA_INVALID_CONFIG, "'Adm'",
                   "did you mean 'Adam'");
    assert_refused(&(liana_optimizer_options){.settings = {{"beta1", 0.9}}}, LIANA_INVALID_CONFIG, "'beta1'", "beta_1");
    assert_refused(&(liana_optimizer_options){.optimizer = "{name: SGD, momentum: 2}"}, LIANA_INVALID_CONFIG,
                   "momentum", "1");
    assert_refused(&(liana_optimizer_options){.optimizer = "[Adam]"}, LIANA_INVALID_CONFIG, "a list", "a name");
    assert_refused(&(liana_optimizer_options){.optimizer = "{name: SGD, learning_rate: {name: CosineDecay}}"},
                   LIANA_INVALID_CONFIG, "schedule CosineDecay", ".rate");
    assert_refused(&(liana_optimizer_options){.learning_rate = -1}, LIANA_INVALID_CONFIG, "learning_rate", "-1");
}

static void test_mistakes_within_others_are_named(void **state)
{
    (void)state;
#define SCALED(text) "{name: LossScaleOptimizer, " text "}"
#define SEVERAL(text) "{name: MultiOptimizer, optimizer_map: {" text "}}"
    static const char *const cases[][3] = {
        {"LossScaleOptimizer", "inner_optimizer", "missing"},
        {SCALED("inner_optimizer: Adm"), "optimizer.inner_optimizer", "did you mean 'Adam'"},
        {SCALED("inner_optimizer: Adam, learning_rate: 0.1"), "no rate of its own", "each optimizer within"},
        {SCALED("inner_optimizer: Adam, clipnorm: 0.1"), "unknown key 'clipnorm'", "inner_optimizer"},
        {SCALED("inner_optimizer: Adam, initial_scale: 0"), "initial_scale", "0"},
        {SCALED("inner_optimizer: Adam, dynamic_growth_steps: 0"), "dynamic_growth_steps", "1"},
        {SCALED("inner_optimizer: {name: LossScaleOptimizer, inner_optimizer: Adam}"), "another LossScaleOptimizer",
         "that updates"},
        {SCALED("inner_optimizer: {name: SGD, learning_rate: {online: hypergradient}}"), "Hypergradient",
         "LossScaleOptimizer"},
        {"{name: MultiOptimizer, optimizer_map: Adam}", "'Adam'", "default_optimizer"},
        {SEVERAL("optimizer_map: {v: Adam}"), "default_optimizer", "missing"},
        {SEVERAL("default_optimizer: SGD, optimizer_map: [Adam]"), "a list", "patterns"},
        {SEVERAL("default_optimizer: SGD, optimizer_map: {'(': Adam}"), "'('", "regular expression"},
        {SEVERAL("default_optimizer: SGD, optimizer_map: {v: Adm}"), "optimizer_map.v", "did you mean 'Adam'"},
        {SEVERAL("default_optimizer: SGD, optimizer_map: {w: Adam}"), "'w' matches no weight", "whole names"},
        {SEVERAL("default_optimizer: SGD, optimizer_map: {v.*: Adam, '.': SGD}"), "both match the weight 'v'",
         "one optimizer"},
        {SEVERAL("default_optimizer: {name: LossScaleOptimizer, inner_optimizer: SGD}"), "LossScaleOptimizer",
         "around"},
        {SEVERAL("default_optimizer: {name: SGD, rate_multipliers: {v: 2}}"), "rate_multipliers", "optimizer_map"},
        {SEVERAL("default_optimizer: {name: SGD, learning_rate: {name: CosineDecay}}"), "schedule CosineDecay",
         ".rate"},
    };
#undef SCALED
#undef SEVERAL
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_refused(&(liana_optimizer_options){.optimizer = cases[i][0]}, LIANA_INVALID_CONFIG, cases[i][1],
                       cases[i][2]);
    }
}

static void test_wrong_tensors_are_named(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        liana_graph *graph = new_graph();
        liana_tensor v = liana_graph_variable(graph, "v", LIANA_F32, liana_shape_of(2)), none = {graph, 0};
        liana_tensor w = liana_graph_variable(graph, "w", LIANA_F64, liana_shape_of(2));
        liana_tensor g = liana_graph_input(graph, "g", LIANA_F32, liana_shape_of(3));
        liana_tensor s = liana_op_reduce_sum(g, LIANA_ALL_AXES, false), right = liana_op_square(v);
        const char *found[] = {"'v' is f32[2], its gradient f32[3]",
                               "number 0 is input 'g'",
                               "its gradient no tensor",
                               "'w' is f64[2]",
                               "learning rate is input 'g' f32[3]",
                               "reduce_sum depends on no f32 variable",
                               "target 'train' already",
                               "a gradient for each",
                               "depends on variable 'v' only through argmax, which passes none",
                               "there is no gradient: the loss does not depend on variable 'v'"};
        if (i == 0) liana_apply_gradients(&v, &g, 1, NULL);
        if (i == 1) liana_apply_gradients(&g, &g, 1, NULL);
        if (i == 2) liana_apply_gradients(&v, &none, 1, NULL);
        if (i == 3) liana_apply_gradients(&w, &right, 1, NULL);
        if (i == 4) liana_apply_gradients(&v, &right, 1, &(liana_optimizer_options){.rate = g});
        if (i == 5) liana_minimize(s, NULL, 0, NULL);
        if (i == 6) liana_minimize(right, NULL, 0, NULL);
        if (i == 6)
            liana_minimize(liana_op_square(liana_graph_variable(graph, "u", LIANA_F32, LIANA_SCALAR)), NULL, 0, NULL);
        if (i == 7) liana_apply_gradients(&v, NULL, 1, NULL);
        if (i == 8) liana_minimize(liana_op_cast(liana_op_argmax(v, 0), LIANA_F32), NULL, 0, NULL);
        if (i == 9) liana_minimize(s, &v, 1, NULL);
        assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "test_public_optimizer.c",
                     found[i]);
        liana_graph_destroy(graph);
    }
    liana_graph *graph = new_graph();
    liana_tensor v = liana_graph_variable(graph, "v", LIANA_F32, LIANA_SCALAR), loss = liana_op_square(v);
    liana_minimize(loss, NULL, 0, NULL);
    liana_minimize(loss, NULL, 0, &(liana_optimizer_options){.optimizer = "SGD", .target = "other"});
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "'v' is assigned twice");
    liana_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agree_with_pytorch),      cmocka_unit_test(test_sums_over_all_variables),
        cmocka_unit_test(test_sums_over_a_variable),    cmocka_unit_test(test_a_line_is_its_closed_form),
        cmocka_unit_test(test_two_optimizers),          cmocka_unit_test(test_skipped_updates),
        cmocka_unit_test(test_wrong_options_are_named), cmocka_unit_test(test_mistakes_within_others_are_named),
        cmocka_unit_test(test_wrong_tensors_are_named),
    };
    return cmocka_run_group_tests_name("public_optimizer", tests, set_up, tear_down);
}
