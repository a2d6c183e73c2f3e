/* Random graphs over random devices give the bytes of the same graphs on one device: results, and the variables that
 * each run changes. */
#include "harness/harness.h"

#include "base/context.h"
#include "base/random.h"

#include <liana/liana.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 3, SIZE = SIDE * SIDE, INPUTS = 2, VARIABLES = 4, OPS = 24, RUNS = 3, GRAPHS = 120, TENSORS = 64 };

static const char *const devices[] = {NULL, "cpu:0", "cpu:1", "cpu:2", "reference"};
enum { DEVICES = sizeof devices / sizeof *devices };

/* The same draws for both graphs of a pair. */
typedef struct draws {
    uint32_t graph, next;
} draws;

static uint32_t draw(draws *own, uint32_t below)
{
    uint32_t words[4];
    liana__philox(liana__philox_make_key(11, LIANA__STREAM_TEST, 3), (uint32_t[4]){own->graph, own->next++, 0, 0},
                  words);
    return words[0] % below;
}

typedef struct maker {
    draws draws;
    liana_graph *graph;
    bool has_scopes;
    liana_tensor tensors[TENSORS];
    uint32_t count;
} maker;

static liana_tensor any(maker *own)
{
    return own->tensors[draw(&own->draws, own->count)];
}

/* Ops that give every device the same bits, and keep numbers small. */
static liana_tensor add_op(maker *own)
{
    liana_tensor a = any(own), b = any(own);
    switch (draw(&own->draws, 6)) {
    case 0: return liana_op_add(a, b);
    case 1: return liana_op_subtract(a, b);
    case 2: return liana_op_multiply(liana_op_clip(a, -2, 2), b);
    case 3: return liana_op_clip(a, -1, 1);
    case 4: return liana_op_transpose(a, LIANA_AXES(1, 0));
    default: return liana_op_maximum(a, b);
    }
}

static void begin_scope(maker *own)
{
    const char *device = devices[draw(&own->draws, DEVICES)];
    if (own->has_scopes) liana_device_scope_begin(own->graph, device);
}

static void end_scope(const maker *own)
{
    if (own->has_scopes) liana_device_scope_end(own->graph);
}

static void add_leaves(maker *own)
{
    static const float numbers[SIZE] = {0.5f, -1, 2, 0.25f, 0, 1, -0.125f, 3, -2};
    char name[16];
    const liana_shape shape = liana_shape_of(SIDE, SIDE);
    for (int i = 0; i < INPUTS; i++) {
        snprintf(name, sizeof name, "x%d", i);
        own->tensors[own->count++] = liana_graph_input(own->graph, name, LIANA_F32, shape);
    }
    for (int i = 0; i < VARIABLES; i++) {
        snprintf(name, sizeof name, "v%d", i);
        begin_scope(own);
        own->tensors[own->count++] = liana_graph_variable(own->graph, name, LIANA_F32, shape);
        end_scope(own);
    }
    own->tensors[own->count++] = liana_graph_constant(own->graph, LIANA_F32, shape, numbers);
}

static void build(maker *own)
{
    add_leaves(own);
    liana_tensor variables[VARIABLES];
    memcpy(variables, own->tensors + INPUTS, sizeof variables);
    for (int i = 0; i < OPS; i++) {
        begin_scope(own);
        liana_tensor made = add_op(own);
        end_scope(own);
        own->tensors[own->count++] = made;
    }
    liana_tensor sum = liana_op_reduce_sum(liana_op_clip(any(own), -3, 3), LIANA_ALL_AXES, false), gradients[VARIABLES];
    liana_gradients(sum, variables, VARIABLES, gradients);
    for (int i = 0; i < VARIABLES; i++) own->tensors[own->count++] = gradients[i];
    /* Some variables keep their values. */
    for (int i = 0; i < VARIABLES; i++) {
        begin_scope(own);
        liana_tensor value = add_op(own);
        end_scope(own);
        if (draw(&own->draws, 4)) liana_graph_assign(variables[i], value);
        own->tensors[own->count++] = value;
    }
}

typedef struct outcome {
    float fetched[RUNS][3][SIZE];
    float variables[RUNS][VARIABLES][SIZE];
} outcome;

static void run(liana_context *context, maker *own, liana_program *program, int turn, outcome *result)
{
    float fed[INPUTS][SIZE];
    const liana_shape shape = liana_shape_of(SIDE, SIDE);
    for (int i = 0; i < INPUTS * SIZE; i++) fed[i / SIZE][i % SIZE] = (float)draw(&own->draws, 64) / 16 - 2;
    liana_fetch fetches[3];
    for (int i = 0; i < 3; i++) {
        fetches[i] = (liana_fetch){.tensor = any(own), .data = result->fetched[turn][i], .size = SIZE * sizeof(float)};
    }
    const bool assigns = draw(&own->draws, 4) > 0;
    assert_ok(liana_run(program,
                        .feeds = LIANA_FEEDS({"x0", LIANA_F32, shape, fed[0]}, {"x1", LIANA_F32, shape, fed[1]}),
                        .fetches = {fetches, 3}, .assign_all = assigns),
              &context->error);
    for (int i = 0; i < VARIABLES; i++) {
        char name[16];
        snprintf(name, sizeof name, "v%d", i);
        float *value = result->variables[turn][i];
        assert_ok(liana_variables_read(liana_program_variables(program), name, value, SIZE * sizeof *value),
                  &context->error);
        for (int k = 0; k < SIZE; k++) assert_compare(value[k], ==, value[k], k);
    }
}

static void compute(liana_context *context, uint32_t number, bool has_scopes, outcome *result)
{
    maker own = {.draws = {.graph = number}, .has_scopes = has_scopes};
    liana_device *device;
    liana_program *program;
    assert_ok(liana_device_open(context, "cpu", &device), &context->error);
    assert_ok(liana_graph_create(context, &own.graph), &context->error);
    build(&own);
    assert_ok(liana_graph_status(own.graph), &context->error);
    assert_ok(liana_program_create(device, own.graph, NULL, &program), &context->error);
    const liana_initialize_options first = {.initializer = "random_uniform", .seed = number};
    assert_ok(liana_variables_initialize(liana_program_variables(program), &first), &context->error);
    for (int turn = 0; turn < RUNS; turn++) run(context, &own, program, turn, result);
    liana_program_destroy(program);
    liana_graph_destroy(own.graph);
    liana_device_close(device);
}

static void test_random_graphs(void **state)
{
    (void)state;
    liana_context *context;
    outcome *results = calloc(2, sizeof *results);
    assert_non_null(results);
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 1}, &context), LIANA_OK);
    size_t num_changed = 0;
    for (uint32_t i = 0; i < GRAPHS; i++) {
        for (int scopes = 0; scopes < 2; scopes++) compute(context, i, scopes, &results[scopes]);
        assert_memory_equal(&results[0], &results[1], sizeof *results);
        num_changed += memcmp(results[0].variables[0], results[0].variables[1], sizeof results[0].variables[0]) != 0;
    }
    assert_compare(num_changed, >, GRAPHS / 4);
    liana_context_destroy(context);
    free(results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_graphs)};
    return cmocka_run_group_tests_name("device_scope_random", tests, NULL, NULL);
}
