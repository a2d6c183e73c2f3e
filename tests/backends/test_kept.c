/* Values made of weights alone are kept between executions, and made again when they change. */
#include "harness/harness.h"

#include "harness/graph_run.h"

#include "backends/cpu/cpu.h"
#include "backends/host.h"
#include "base/threads.h"
#include "ops/ops.h"

#include <math.h>

enum { WORKERS = 4, ROWS = 1024, DEPTH = 24, COLUMNS = 40 };

static liana_context *context;
static liana__device *device;

static int set_up(void **state)
{
    (void)state;
    return liana__test_open_devices(WORKERS, &context, &device, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    return liana__test_close_devices(context, device, NULL);
}

static liana__buffer *new_buffer(liana_shape shape)
{
    liana__buffer *buffer;
    assert_ok(liana__host_buffer_create(device, LIANA_F32, &shape, &buffer, &context->error), &context->error);
    return buffer;
}

static void fill(liana__buffer *buffer, float value)
{
    static float values[ROWS * DEPTH];
    for (size_t i = 0; i < buffer->size / sizeof *values; i++) values[i] = value;
    assert_ok(liana__host_buffer_write(buffer, values, &context->error), &context->error);
}

/* y = x (-w): w negated is kept, and so is the product's packing of it. */
typedef struct negated_product {
    liana_graph *graph;
    liana__executable *executable;
    liana__buffer *x, *w, *y[WORKERS];
    float wrong[WORKERS];
} negated_product;

static void build(negated_product *p, bool assigns)
{
    assert_ok(liana_graph_create(context, &p->graph), &context->error);
    liana_tensor x = liana_graph_input(p->graph, "x", LIANA_F32, liana_shape_of(ROWS, DEPTH));
    liana_tensor w = liana_graph_variable(p->graph, "w", LIANA_F32, liana_shape_of(DEPTH * COLUMNS));
    liana_tensor negated = liana_op_reshape(liana_op_negate(w), liana_shape_of(DEPTH, COLUMNS));
    liana_graph_output(p->graph, "y", liana_op_matmul(x, negated, false, false));
    if (assigns) liana_graph_assign(w, liana_op_add(w, w));
    assert_ok(device->backend->compile(device, p->graph, &p->executable, &context->error), &context->error);
    p->x = new_buffer(liana_shape_of(ROWS, DEPTH));
    p->w = new_buffer(liana_shape_of(DEPTH * COLUMNS));
    for (int i = 0; i < WORKERS; i++) p->y[i] = new_buffer(liana_shape_of(ROWS, COLUMNS));
    fill(p->x, 1);
}

static void destroy(negated_product *p)
{
    device->backend->executable_destroy(p->executable);
    device->backend->buffer_destroy(p->x);
    device->backend->buffer_destroy(p->w);
    for (int i = 0; i < WORKERS; i++) device->backend->buffer_destroy(p->y[i]);
    liana_graph_destroy(p->graph);
}

static liana_status run_with(negated_product *p, liana__buffer *w, int worker, liana__error *error)
{
    return liana__cpu_execute(p->executable, worker, &p->x, &w, &p->y[worker], error);
}

/* The element that is not `expected`, or `expected`. */
static float find_wrong(const liana__buffer *y, float expected)
{
    static _Thread_local float values[ROWS * COLUMNS];
    if (device->backend->download(y, values, NULL) != LIANA_OK) return NAN;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        if (values[i] != expected) return values[i];
    }
    return expected;
}

static void expect(negated_product *p, liana__buffer *w, float value)
{
    assert_ok(run_with(p, w, 0, &context->error), &context->error);
    assert_compare(find_wrong(p->y[0], -DEPTH * value), ==, -DEPTH * value);
}

static void test_follows_the_weights(void **state)
{
    (void)state;
    negated_product p = {0};
    build(&p, false);
    const liana__cpu_executable *executable = (const liana__cpu_executable *)p.executable;
    size_t weights = DEPTH * COLUMNS * sizeof(float);
    assert_compare(executable->kept.num_blocks, >=, 1);
    assert_compare(executable->kept.size, >=, weights);
    fill(p.w, 1);
    expect(&p, p.w, 1);
    uint64_t version = executable->kept.versions[0];
    expect(&p, p.w, 1);
    assert_int_equal(executable->kept.versions[0], version);
    fill(p.w, 2);
    expect(&p, p.w, 2);
    assert_int_not_equal(executable->kept.versions[0], version);
    destroy(&p);
}

/* Another buffer is noticed, also one that lies where a freed one lay. */
static void test_follows_the_buffer(void **state)
{
    (void)state;
    negated_product p = {0};
    build(&p, false);
    fill(p.w, 1);
    expect(&p, p.w, 1);
    for (int i = 2; i < 5; i++) {
        liana__buffer *other = new_buffer(liana_shape_of(DEPTH * COLUMNS));
        fill(other, (float)i);
        expect(&p, other, (float)i);
        device->backend->buffer_destroy(other);
    }
    expect(&p, p.w, 1);
    destroy(&p);
}

/* An assignment of the execution itself counts as a change. */
static void test_follows_assignments(void **state)
{
    (void)state;
    negated_product p = {0};
    build(&p, true);
    fill(p.w, 1);
    for (int i = 0; i < 4; i++) expect(&p, p.w, (float)(1 << i));
    destroy(&p);
}

static void run_worker(void *user, size_t task, int worker)
{
    negated_product *p = user;
    (void)task;
    liana__error error = {0};
    float got = run_with(p, p->w, worker, &error) == LIANA_OK ? find_wrong(p->y[worker], -3 * DEPTH) : NAN;
    if (got != -3 * DEPTH) p->wrong[worker] = got;
}

/* Workers that start together after a change all see the new weights. */
static void test_workers_share(void **state)
{
    (void)state;
    negated_product p = {0};
    build(&p, false);
    for (int round = 0; round < 20; round++) {
        fill(p.w, 9);
        expect(&p, p.w, 9);
        fill(p.w, 3);
        for (int i = 0; i < WORKERS; i++) p.wrong[i] = -3 * DEPTH;
        liana__pool_run(context->pool, 4 * WORKERS, run_worker, &p);
        for (int i = 0; i < WORKERS; i++) assert_compare(p.wrong[i], ==, -3 * DEPTH, i);
    }
    destroy(&p);
}

/* y = x + a b, of two weights: it is kept like one, follows either of them, and is no work of the team. */
static void test_follows_two_weights(void **state)
{
    (void)state;
    liana_graph *graph;
    liana__executable *made;
    float values[DEPTH];
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(DEPTH));
    liana_tensor a = liana_graph_variable(graph, "a", LIANA_F32, liana_shape_of(DEPTH));
    liana_tensor b = liana_graph_variable(graph, "b", LIANA_F32, liana_shape_of(DEPTH));
    liana_graph_output(graph, "y", liana_op_add(x, liana_op_softmax(liana_op_multiply(a, b))));
    assert_ok(device->backend->compile(device, graph, &made, &context->error), &context->error);
    const liana__cpu_executable *executable = (const liana__cpu_executable *)made;
    assert_int_equal(executable->kept.num_blocks, 2); /* the product, and its softmax */
    liana__buffer *input = new_buffer(liana_shape_of(DEPTH)), *result = new_buffer(liana_shape_of(DEPTH));
    liana__buffer *weights[] = {new_buffer(liana_shape_of(DEPTH)), new_buffer(liana_shape_of(DEPTH))};
    fill(input, 3);
    for (int round = 0; round < 6; round++) {
        float other[DEPTH], sum = 0;
        for (int i = 0; i < DEPTH; i++) other[i] = round % 2 ? (float)i / 8 : (float)(round - i) / 4;
        fill(weights[round % 2], 1.0f);
        assert_ok(liana__host_buffer_write(weights[1 - round % 2], other, &context->error), &context->error);
        const bool together = round > 2;
        liana_status status = together ? liana__cpu_execute_together(made, &input, weights, &result, &context->error)
                                       : liana__cpu_execute(made, 0, &input, weights, &result, &context->error);
        assert_ok(status, &context->error);
        assert_ok(device->backend->download(result, values, &context->error), &context->error);
        for (int i = 0; i < DEPTH; i++) sum += expf(other[i]);
        for (int i = 0; i < DEPTH; i++) assert_float_equal(values[i], 3 + expf(other[i]) / sum, 1e-5f);
    }
    assert_int_equal(executable->num_phases, 1); /* the sum alone */
    device->backend->executable_destroy(made);
    device->backend->buffer_destroy(input);
    device->backend->buffer_destroy(result);
    for (int i = 0; i < 2; i++) device->backend->buffer_destroy(weights[i]);
    liana_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_follows_the_weights), cmocka_unit_test(test_follows_the_buffer),
        cmocka_unit_test(test_follows_assignments), cmocka_unit_test(test_workers_share),
        cmocka_unit_test(test_follows_two_weights),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
