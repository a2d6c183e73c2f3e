/* Memory plans of random graphs: what each tensor's memory holds is followed step by step without the planner's own
 * notion of lifetimes, and the CPU backend gives the same bits with shared memory as without, and what the reference
 * backend gives. */
#include "harness/harness.h"

#include "backends/backend.h"
#include "base/memory.h"
#include "base/random.h"
#include "passes/memory_plan.h"

#include <liana/ops.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_GRAPHS = 300, MAX_TENSORS = 512, MAX_OUTPUTS = 8, NUM_VARIABLES = 3, NUM_INPUTS = 3, NUM_STEPS = 3 };

static liana_context *context;
static liana__device *devices[2];

static int set_up(void **state)
{
    (void)state;
    static const char *const names[2] = {"reference", "cpu"};
    if (liana_context_create(&(liana_context_options){.num_threads = 1}, &context) != LIANA_OK) return -1;
    for (int i = 0; i < 2; i++) {
        if (liana__device_open(context, names[i], &devices[i], &context->error) != LIANA_OK) return -1;
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) liana__device_close(devices[i]);
    liana_context_destroy(context);
    return 0;
}

/* ---- random graphs ---- */

/* Every tensor stays in [-1, 1] and no op makes a difference much larger, so that the backends can be compared after
 * any number of ops. */
typedef struct maker {
    liana_graph *graph;
    liana__philox_key key;
    uint32_t num_draws;
    int64_t rows, columns;
    bool smooth; /* only ops whose gradient is continuous: then rounding cannot change what a gradient is */
    liana_tensor tensors[MAX_TENSORS];
    size_t count;
} maker;

static uint32_t draw(maker *m, uint32_t below)
{
    uint32_t words[4];
    liana__philox(m->key, (uint32_t[4]){m->num_draws++, 0, 0, 0}, words);
    return words[0] % below;
}

/* Mostly one of the last, sometimes one that has been waiting for long. */
static liana_tensor pick(maker *m)
{
    size_t back = draw(m, 3) ? draw(m, 6) : draw(m, (uint32_t)m->count);
    return m->tensors[m->count - 1 - (back < m->count ? back : 0)];
}

/* One whose shape can be broadcast with that of `a`, `a` itself if it is not found soon. */
static liana_tensor pick_partner(maker *m, liana_tensor a)
{
    liana_shape shape = liana_tensor_shape(a), result;
    for (int try = 0; try < 12; try++) {
        liana_tensor b = pick(m);
        liana_shape other = liana_tensor_shape(b);
        if (liana__shape_broadcast(&shape, &other, &result) && liana_shape_size(&result) <= 4096) return b;
    }
    return a;
}

static liana_tensor scaled(maker *m, liana_tensor x, double factor)
{
    return liana_op_multiply(x, liana_graph_scalar(m->graph, LIANA_F32, factor));
}

static liana_tensor make_reshape(maker *m, liana_tensor x)
{
    liana_shape shape = liana_tensor_shape(x);
    int64_t size = liana_shape_size(&shape);
    if (size == m->rows * m->columns) {
        switch (draw(m, 3)) {
        case 0: return liana_op_reshape(x, liana_shape_of(m->rows, m->columns));
        case 1: return liana_op_reshape(x, liana_shape_of(m->columns, m->rows));
        }
    }
    return liana_op_reshape(x, draw(m, 2) ? liana_shape_of(size) : liana_shape_of(1, size));
}

/* a a^T or a^T a, as a mean of products. */
static liana_tensor make_product(maker *m, liana_tensor x)
{
    liana_shape shape = liana_tensor_shape(x);
    if (shape.rank != 2) return liana_op_square(x);
    bool transpose_first = shape.dims[0] > shape.dims[1];
    liana_tensor product = liana_op_matmul(x, x, transpose_first, !transpose_first);
    return scaled(m, product, 1 / (double)shape.dims[transpose_first ? 0 : 1]);
}

static liana_tensor make_mean(maker *m, liana_tensor x)
{
    int64_t axis = draw(m, 2) ? 0 : -1;
    bool keep_dims = draw(m, 2);
    return liana_op_reduce_mean(x, LIANA_AXES(axis), keep_dims);
}

static liana_tensor make_smooth(maker *m, liana_tensor x)
{
    liana_shape shape = liana_tensor_shape(x);
    switch (draw(m, 10)) {
    case 0: return liana_op_tanh(x);
    case 1: return liana_op_logistic(x);
    case 2: return liana_op_negate(x);
    case 3: return liana_op_multiply(x, pick_partner(m, x));
    case 4: return scaled(m, liana_op_add(x, pick_partner(m, x)), 0.5);
    case 5: return scaled(m, liana_op_subtract(pick_partner(m, x), x), 0.5);
    case 6: return shape.rank > 0 ? liana_op_softmax(x) : liana_op_square(x);
    case 7: return shape.rank > 0 ? make_mean(m, x) : liana_op_negate(x);
    case 8: return make_product(m, x);
    default: return make_reshape(m, x);
    }
}

static liana_tensor make_sharp(maker *m, liana_tensor x)
{
    liana_shape shape = liana_tensor_shape(x);
    liana_tensor y = pick_partner(m, x);
    switch (draw(m, 7)) {
    case 0: return liana_op_relu(x);
    case 1: return liana_op_abs(x);
    case 2: return liana_op_maximum(x, y);
    case 3: return liana_op_select(liana_op_less(x, y), x, y);
    case 4: return liana_op_clip(x, -0.25, 0.5);
    case 5: return shape.rank == 2 ? liana_op_transpose(x, LIANA_AXES(1, 0)) : liana_op_abs(x);
    default: return shape.rank > 0 ? liana_op_reduce_max(x, LIANA_AXES(-1), true) : x;
    }
}

static void keep(maker *m, liana_tensor x)
{
    assert_ok(liana_graph_status(m->graph), &context->error);
    if (m->count < MAX_TENSORS) m->tensors[m->count++] = x;
}

static bool is_variable_in_disguise(const liana__node *node)
{
    while (node->op->placement == LIANA__PLACE_ALIAS && node->num_inputs) node = node->inputs[0];
    return liana__is_variable(node);
}

/* A training step (descent along a gradient), or any tensor of the right shape. */
static void assign_variables(maker *m, const liana_tensor *variables)
{
    liana_tensor gradients[NUM_VARIABLES];
    if (m->smooth) liana_gradients(pick(m), variables, NUM_VARIABLES, gradients);
    for (int i = 0; i < NUM_VARIABLES; i++) {
        liana_shape shape = liana_tensor_shape(variables[i]);
        if (m->smooth) {
            liana_tensor change = liana_op_tanh(gradients[i]);
            liana_graph_assign(variables[i], scaled(m, liana_op_subtract(variables[i], change), 0.5));
            continue;
        }
        for (int try = 0; try < 20; try++) {
            liana_tensor value = pick(m);
            liana_shape other = liana_tensor_shape(value);
            if (!liana_shape_equal(&shape, &other)) continue;
            if (is_variable_in_disguise(liana__tensor_node(value))) continue;
            liana_graph_assign(variables[i], value);
            break;
        }
    }
}

static liana_graph *random_graph(uint32_t number)
{
    static maker m;
    m = (maker){.key = liana__philox_make_key(number, LIANA__STREAM_TEST, 0), .smooth = number % 2};
    assert_ok(liana_graph_create(context, &m.graph), &context->error);
    m.rows = 1 + draw(&m, 9);
    m.columns = 1 + draw(&m, 40);
    const liana_shape shapes[] = {liana_shape_of(m.rows, m.columns), liana_shape_of(m.columns),
                                  liana_shape_of(m.rows, 1)};
    liana_tensor variables[NUM_VARIABLES];
    static const char *const input_names[NUM_INPUTS] = {"x", "y", "z"};
    static const char *const variable_names[NUM_VARIABLES] = {"u", "v", "w"};
    for (int i = 0; i < NUM_INPUTS; i++) keep(&m, liana_graph_input(m.graph, input_names[i], LIANA_F32, shapes[i]));
    for (int i = 0; i < NUM_VARIABLES; i++) {
        variables[i] = liana_graph_variable(m.graph, variable_names[i], LIANA_F32, shapes[i]);
        keep(&m, variables[i]);
    }
    uint32_t num_ops = 5 + draw(&m, 50);
    for (uint32_t i = 0; i < num_ops; i++) {
        liana_tensor x = pick(&m);
        keep(&m, m.smooth || draw(&m, 2) ? make_smooth(&m, x) : make_sharp(&m, x));
    }
    assign_variables(&m, variables);
    uint32_t num_outputs = 1 + draw(&m, MAX_OUTPUTS);
    for (uint32_t i = 0; i < num_outputs; i++) {
        char name[32];
        snprintf(name, sizeof name, "output %u", i);
        liana_graph_output(m.graph, name, pick(&m));
    }
    assert_ok(liana_graph_status(m.graph), &context->error);
    return m.graph;
}

/* ---- what memory holds ---- */

/* Whose value each 4 bytes of the workspace, and each buffer, hold: a node id, aliases counting as what they are of. */
typedef struct memory {
    const liana_graph *graph;
    const liana__memory_plan *plan;
    uint32_t *workspace;
    uint32_t inputs[NUM_INPUTS], variables[NUM_VARIABLES], outputs[MAX_OUTPUTS];
} memory;

static uint32_t owner_of(const liana__node *node)
{
    while (node->op->placement == LIANA__PLACE_ALIAS) node = node->inputs[0];
    return node->id;
}

static uint32_t *cell(memory *held, liana__storage storage)
{
    switch (storage.kind) {
    case LIANA__STORAGE_INPUT: return &held->inputs[storage.offset];
    case LIANA__STORAGE_VARIABLE: return &held->variables[storage.offset];
    case LIANA__STORAGE_OUTPUT: return &held->outputs[storage.offset];
    default: fail_msg("storage of kind %d is no buffer", (int)storage.kind); return NULL;
    }
}

/* The cells [*first, *end) of a workspace tensor; false for what lies elsewhere. */
static bool workspace_cells(const memory *held, const liana__node *node, size_t *first, size_t *end)
{
    liana__storage storage = held->plan->storage[node->id];
    size_t size = liana__byte_size(node->dtype, &node->shape);
    if (storage.kind != LIANA__STORAGE_WORKSPACE) return false;
    assert_int_equal(storage.offset % LIANA__ALIGNMENT, 0);
    assert_true(storage.offset + size <= held->plan->workspace_size);
    *first = storage.offset / 4;
    *end = (storage.offset + size + 3) / 4;
    return true;
}

static void assert_holds(memory *held, const liana__node *node, const char *when, const liana__node *reader)
{
    size_t first, end;
    liana__storage storage = held->plan->storage[node->id];
    uint32_t owner = owner_of(node);
    if (storage.kind == LIANA__STORAGE_CONSTANT) {
        assert_int_equal(storage.offset, owner);
        return;
    }
    if (!workspace_cells(held, node, &first, &end)) {
        if (*cell(held, storage) == owner) return;
        fail_msg("%s %%%u: the buffer of %%%u holds %%%u", when, reader->id, node->id, *cell(held, storage));
    }
    for (size_t i = first; i < end; i++) {
        if (held->workspace[i] == owner) continue;
        fail_msg("%s %%%u: %%%u is overwritten by %%%u", when, reader->id, node->id, held->workspace[i]);
    }
}

/* A result may lie where an input lies only if the op says so, and then exactly there. */
static void assert_no_half_overlap(const memory *held, const liana__node *node)
{
    size_t first, end, input_first, input_end;
    bool in_workspace = workspace_cells(held, node, &first, &end);
    liana__storage own = held->plan->storage[node->id];
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        const liana__node *input = node->inputs[i];
        liana__storage other = held->plan->storage[input->id];
        bool overlap = own.kind == other.kind && own.offset == other.offset;
        if (in_workspace && workspace_cells(held, input, &input_first, &input_end)) {
            overlap = input_first < end && first < input_end;
        }
        if (!overlap) continue;
        assert_int_equal(node->op->placement, LIANA__PLACE_IN_PLACE);
        assert_int_equal(own.offset, other.offset);
        assert_true(liana_shape_equal(&input->shape, &node->shape));
        assert_int_equal(liana__byte_size(input->dtype, &input->shape), liana__byte_size(node->dtype, &node->shape));
    }
}

static void write_node(memory *held, const liana__node *node)
{
    size_t first, end;
    if (!workspace_cells(held, node, &first, &end)) {
        *cell(held, held->plan->storage[node->id]) = node->id;
        return;
    }
    for (size_t i = first; i < end; i++) held->workspace[i] = node->id;
}

static void check_final_buffers(memory *held)
{
    const liana_graph *graph = held->graph;
    for (size_t i = 0; i < graph->num_outputs; i++) {
        assert_int_equal(held->outputs[i], owner_of(graph->outputs[i].node));
    }
    for (size_t i = 0; i < graph->num_variables; i++) {
        uint32_t expected = graph->variables[i]->id;
        for (size_t k = 0; k < graph->num_assignments; k++) {
            if (graph->assignments[k].variable == graph->variables[i]) {
                expected = owner_of(graph->assignments[k].value);
            }
        }
        assert_int_equal(held->variables[i], expected);
    }
    for (size_t i = 0; i < graph->num_inputs; i++) assert_int_equal(held->inputs[i], graph->inputs[i]->id);
}

/* Runs the plan with owners in place of numbers. */
static void follow_plan(const liana_graph *graph, const liana__memory_plan *plan)
{
    memory held = {.graph = graph, .plan = plan, .workspace = calloc(plan->workspace_size / 4 + 1, sizeof(uint32_t))};
    assert_non_null(held.workspace);
    for (size_t i = 0; i < graph->num_inputs; i++) held.inputs[i] = graph->inputs[i]->id;
    for (size_t i = 0; i < graph->num_variables; i++) held.variables[i] = graph->variables[i]->id;
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        if (!plan->computed[id]) continue;
        for (uint32_t i = 0; i < node->num_inputs; i++) assert_holds(&held, node->inputs[i], "before", node);
        assert_no_half_overlap(&held, node);
        write_node(&held, node);
    }
    for (size_t i = 0; i < plan->num_copies; i++) {
        const liana__node *node = graph->nodes[plan->copies[i].node];
        assert_holds(&held, node, "copying", node);
        *cell(&held, plan->copies[i].target) = owner_of(node);
    }
    check_final_buffers(&held);
    free(held.workspace);
}

static void test_memory_holds_what_is_read(void **state)
{
    (void)state;
    size_t shared = 0, unshared = 0, copies = 0;
    for (uint32_t number = 0; number < NUM_GRAPHS; number++) {
        liana_graph *graph = random_graph(number);
        liana__memory_plan plan;
        assert_ok(liana__memory_plan_make(graph, true, &plan, &context->error), &context->error);
        follow_plan(graph, &plan);
        shared += plan.workspace_size;
        copies += plan.num_copies;
        liana__memory_plan_free(&plan);
        assert_ok(liana__memory_plan_make(graph, false, &plan, &context->error), &context->error);
        follow_plan(graph, &plan);
        unshared += plan.workspace_size;
        liana__memory_plan_free(&plan);
        liana_graph_destroy(graph);
    }
    /* That it is worth having, and that the graphs above are no trivial ones. */
    assert_true(shared * 2 < unshared);
    assert_true(copies > NUM_GRAPHS);
}

/* ---- results ---- */

static liana__buffer *make_buffer(liana__device *device, const liana__node *node, uint32_t salt)
{
    liana__error error = {0};
    liana__buffer *buffer;
    assert_ok(device->backend->buffer_create(device, node->dtype, &node->shape, &buffer, &error), &error);
    float *data = malloc(buffer->size);
    assert_non_null(data);
    liana__philox_key key = liana__philox_make_key(1, LIANA__STREAM_TEST, salt);
    for (size_t i = 0; i < buffer->size / sizeof *data; i++) {
        uint32_t words[4];
        liana__philox(key, (uint32_t[4]){(uint32_t)i, 0, 0, 0}, words);
        data[i] = liana__uniform_float(words[0]) * 2 - 1;
    }
    assert_ok(device->backend->buffer_write(buffer, data, &error), &error);
    free(data);
    return buffer;
}

/* Appends what a buffer holds. */
static void read_floats(const liana__buffer *buffer, float *results, size_t *count)
{
    liana__error error = {0};
    assert_int_equal(buffer->dtype, LIANA_F32);
    assert_ok(buffer->device->backend->buffer_read(buffer, results + *count, &error), &error);
    *count += buffer->size / sizeof *results;
}

enum { MAX_RESULTS = NUM_STEPS * (MAX_OUTPUTS + NUM_VARIABLES) * 4096 };

/* All outputs and variables after each of some steps. */
static size_t run_graph(liana__device *device, const liana_graph *graph, float *results)
{
    const liana__backend *backend = device->backend;
    liana__error error = {0};
    liana__executable *executable;
    liana__buffer *inputs[NUM_INPUTS], *variables[NUM_VARIABLES], *outputs[MAX_OUTPUTS];
    size_t count = 0;
    for (uint32_t i = 0; i < NUM_INPUTS; i++) inputs[i] = make_buffer(device, graph->inputs[i], i);
    for (uint32_t i = 0; i < NUM_VARIABLES; i++) variables[i] = make_buffer(device, graph->variables[i], 10 + i);
    for (uint32_t i = 0; i < graph->num_outputs; i++) {
        outputs[i] = make_buffer(device, graph->outputs[i].node, 20 + i);
    }
    assert_ok(backend->compile(device, graph, &executable, &error), &error);
    for (int step = 0; step < NUM_STEPS; step++) {
        assert_ok(backend->execute(executable, 0, inputs, variables, outputs, &error), &error);
        for (size_t i = 0; i < graph->num_outputs; i++) read_floats(outputs[i], results, &count);
        for (size_t i = 0; i < NUM_VARIABLES; i++) read_floats(variables[i], results, &count);
    }
    backend->executable_destroy(executable);
    for (size_t i = 0; i < NUM_INPUTS; i++) backend->buffer_destroy(inputs[i]);
    for (size_t i = 0; i < NUM_VARIABLES; i++) backend->buffer_destroy(variables[i]);
    for (size_t i = 0; i < graph->num_outputs; i++) backend->buffer_destroy(outputs[i]);
    return count;
}

static void test_results_do_not_depend_on_the_plan(void **state)
{
    (void)state;
    static float expected[MAX_RESULTS], shared[MAX_RESULTS], unshared[MAX_RESULTS];
    for (uint32_t number = 0; number < NUM_GRAPHS; number++) {
        liana_graph *graph = random_graph(number);
        size_t count = run_graph(devices[0], graph, expected);
        assert_int_equal(run_graph(devices[1], graph, shared), count);
        /* Nothing is shared where each node is checked after it has run. */
        context->validate = true;
        assert_int_equal(run_graph(devices[1], graph, unshared), count);
        context->validate = false;
        if (memcmp(shared, unshared, count * sizeof *shared) != 0) {
            fail_msg("graph %u: sharing memory changes the results", number);
        }
        for (size_t i = 0; i < count; i++) {
            if (fabsf(shared[i] - expected[i]) <= 1e-4f) continue;
            fail_msg("graph %u: result %zu is %g, the reference says %g", number, i, (double)shared[i],
                     (double)expected[i]);
        }
        liana_graph_destroy(graph);
    }
}

static void test_plain_copies_between_variables_are_refused(void **state)
{
    (void)state;
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_tensor a = liana_graph_variable(graph, "a", LIANA_F32, liana_shape_of(4));
    liana_tensor b = liana_graph_variable(graph, "b", LIANA_F32, liana_shape_of(2, 2));
    liana_graph_assign(b, liana_op_reshape(a, liana_shape_of(2, 2)));
    assert_ok(liana_graph_status(graph), &context->error);
    liana__memory_plan plan;
    liana__error error = {0};
    assert_fails(liana__memory_plan_make(graph, true, &plan, &error), LIANA_INVALID_ARGUMENT, &error, "variable 'b'",
                 "variable 'a'");
    liana_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_holds_what_is_read),
        cmocka_unit_test(test_results_do_not_depend_on_the_plan),
        cmocka_unit_test(test_plain_copies_between_variables_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
