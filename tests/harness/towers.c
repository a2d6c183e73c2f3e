/* In-graph replication: the same weights, two towers. */
#include "harness/towers.h"

#include "base/context.h"
#include "harness/harness.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 6, COLUMNS = 8, UNITS = 5, CLASSES = 3, TOWERS = 2 };

static liana_tensor add_variable(liana_graph *graph, const char *name, liana_shape shape, const char *initializer)
{
    return liana_graph_initializer(liana_graph_variable(graph, name, LIANA_F32, shape), initializer);
}

static liana_tensor add_tower(liana_graph *graph, int number, const liana_tensor *variables)
{
    char name[16];
    snprintf(name, sizeof name, "x%d", number);
    liana_tensor x = liana_graph_input(graph, name, LIANA_F32, liana_shape_of(ROWS, COLUMNS));
    snprintf(name, sizeof name, "y%d", number);
    liana_tensor y = liana_graph_input(graph, name, LIANA_F32, liana_shape_of(ROWS, CLASSES));
    liana_tensor hidden = liana_op_add(liana_op_matmul(x, variables[0], false, false), variables[1]);
    snprintf(name, sizeof name, "hidden%d", number);
    hidden = liana_tensor_set_name(liana_op_tanh(hidden), name);
    liana_tensor logits = liana_op_add(liana_op_matmul(hidden, variables[2], false, false), variables[3]);
    liana_tensor error = liana_op_subtract(liana_op_softmax(logits), y);
    return liana_op_reduce_mean(liana_op_square(error), LIANA_ALL_AXES, false);
}

static void build(liana_graph *graph, const liana__test_places *places)
{
    const bool has_servers = places->servers[0] != NULL;
    if (has_servers) liana_place_variables(graph, places->balance, places->servers, 2);
    liana_tensor variables[4] = {
        add_variable(graph, "a/kernel", liana_shape_of(COLUMNS, UNITS), "glorot_uniform"),
        add_variable(graph, "a/bias", liana_shape_of(UNITS), "random_normal(stddev=0.1)"),
        add_variable(graph, "b/kernel", liana_shape_of(UNITS, CLASSES), "glorot_uniform"),
        add_variable(graph, "b/bias", liana_shape_of(CLASSES), "zeros"),
    };
    if (has_servers) liana_place_variables(graph, places->balance, NULL, 0);
    liana_tensor losses[TOWERS];
    for (int i = 0; i < TOWERS; i++) {
        if (places->towers[i]) liana_device_scope_begin(graph, places->towers[i]);
        losses[i] = add_tower(graph, i, variables);
        if (places->towers[i]) liana_device_scope_end(graph);
    }
    liana_tensor half = liana_graph_scalar(graph, LIANA_F32, 0.5);
    liana_tensor loss = liana_op_multiply(liana_op_add(losses[0], losses[1]), half);
    liana_graph_output(graph, "loss", loss);
    liana_minimize(loss, variables, 4,
                   &(liana_optimizer_options){.optimizer = "{name: Adam, learning_rate: 0.05, global_clipnorm: 0.01}"});
}

void liana__test_towers_begin(liana_context *context, const liana__test_places *places, liana__test_towers *towers)
{
    *towers = (liana__test_towers){.context = context};
    assert_ok(liana_device_open(context, places->own, &towers->device), &context->error);
    assert_ok(liana_graph_create(context, &towers->graph), &context->error);
    build(towers->graph, places);
    assert_ok(liana_graph_status(towers->graph), &context->error);
    assert_ok(liana_program_create(towers->device, towers->graph, NULL, &towers->program), &context->error);
    assert_ok(liana_variables_initialize(liana_program_variables(towers->program),
                                         &(liana_initialize_options){.seed = 5}),
              &context->error);
}

void liana__test_towers_end(liana__test_towers *towers)
{
    liana_program_destroy(towers->program);
    liana_graph_destroy(towers->graph);
    liana_device_close(towers->device);
}

static void fill(int tower, int step, float *x, float *y)
{
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)((i * 37 + step * 11 + tower * 5) % 23) / 23 - 0.5f;
    memset(y, 0, ROWS * CLASSES * sizeof *y);
    for (int i = 0; i < ROWS; i++) y[i * CLASSES + (i + step + tower) % CLASSES] = 1;
}

liana_status liana__test_towers_learn(liana__test_towers *towers, int step, float *loss)
{
    float x[TOWERS][ROWS * COLUMNS], y[TOWERS][ROWS * CLASSES];
    for (int i = 0; i < TOWERS; i++) fill(i, step, x[i], y[i]);
    const liana_shape wide = liana_shape_of(ROWS, COLUMNS), narrow = liana_shape_of(ROWS, CLASSES);
    return liana_run(towers->program,
                     .feeds = LIANA_FEEDS({"x0", LIANA_F32, wide, x[0]}, {"x1", LIANA_F32, wide, x[1]},
                                          {"y0", LIANA_F32, narrow, y[0]}, {"y1", LIANA_F32, narrow, y[1]}),
                     .fetches = LIANA_FETCHES({.name = "loss", .data = loss, .size = sizeof *loss}),
                     .assign = LIANA_NAMES("train"));
}

static void compare_hidden(liana__test_towers *one, liana__test_towers *other)
{
    float x[ROWS * COLUMNS], y[ROWS * CLASSES], hidden[2][ROWS * UNITS];
    liana__test_towers *both[] = {one, other};
    fill(1, 99, x, y);
    for (int i = 0; i < 2; i++) {
        assert_ok(liana_run(both[i]->program, .feeds = LIANA_FEEDS({"x1", LIANA_F32, liana_shape_of(ROWS, COLUMNS), x}),
                            .fetches = LIANA_FETCHES({.name = "hidden1", .data = hidden[i], .size = sizeof *hidden})),
                  &one->context->error);
    }
    assert_memory_equal(hidden[0], hidden[1], sizeof *hidden);
}

static void compare_variables(const liana__test_towers *one, const liana__test_towers *other)
{
    const liana_variables *sets[] = {liana_program_variables(one->program), liana_program_variables(other->program)};
    assert_int_equal(liana_variables_count(sets[0]), 4 + 1 + 2 * 4);
    for (size_t i = 0; i < liana_variables_count(sets[0]); i++) {
        liana_variable_info info;
        char bytes[2][COLUMNS * UNITS * sizeof(float)];
        assert_true(liana_variables_info(sets[0], i, &info));
        const size_t size = (size_t)liana_shape_size(&info.shape) * liana_dtype_size(info.dtype);
        assert_compare(size, <=, sizeof bytes[0]);
        for (int k = 0; k < 2; k++) {
            assert_ok(liana_variables_read(sets[k], info.name, bytes[k], size), &one->context->error);
        }
        assert_memory_equal(bytes[0], bytes[1], size);
    }
}

void liana__test_towers_compare(liana_context *context, const liana__test_places *one, const liana__test_places *other)
{
    liana__test_towers both[2];
    float first = 0, loss[2] = {0};
    liana__test_towers_begin(context, one, &both[0]);
    liana__test_towers_begin(context, other, &both[1]);
    for (int step = 0; step < LIANA__TEST_TOWER_STEPS; step++) {
        for (int i = 0; i < 2; i++) {
            assert_ok(liana__test_towers_learn(&both[i], step, &loss[i]), &context->error);
        }
        assert_memory_equal(&loss[0], &loss[1], sizeof *loss);
        if (step == 0) first = loss[0];
    }
    assert_compare(loss[0], >, 0);
    assert_compare(loss[0], <, 1);
    assert_compare(loss[0], !=, first);
    compare_hidden(&both[0], &both[1]);
    compare_variables(&both[0], &both[1]);
    for (int i = 0; i < 2; i++) liana__test_towers_end(&both[i]);
}
