/* Schedules and memory plans of random graphs: the contents of each tensor's memory are followed step by step, and
 * slice by slice, without the planner's own notion of lifetimes; and the CPU backend gives the same bits with shared
 * memory as without, and the reference backend's results. */
#include "harness/harness.h"

#include "harness/graph_run.h"

#include "backends/backend.h"
#include "backends/cpu/cpu.h"
#include "backends/host.h"
#include "base/memory.h"
#include "base/random.h"
#include "plan/memory_plan.h"
#include "plan/recompute.h"

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
    return liana__test_open_devices(1, &context, &devices[1], &devices[0]);
}

static int tear_down(void **state)
{
    (void)state;
    return liana__test_close_devices(context, devices[1], devices[0]);
}

/* ---- random graphs ---- */

/* Every tensor stays in [-1, 1] and no op makes a difference much larger, so that the backends can be compared after
 * any number of ops. */
typedef struct maker {
    liana_graph *graph;
    liana__philox_key key;
    uint32_t num_draws;
    int64_t rows, columns;
    bool smooth; /* only ops whose gradient is continuous: then rounding cannot change the gradient's kind */
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

/* A generous epsilon keeps gradients small. */
static liana_tensor make_normal(maker *m, liana_tensor x)
{
    liana_shape shape = liana_tensor_shape(x);
    if (shape.rank < 2) return liana_op_tanh(x);
    liana_shape channels = liana_shape_of(shape.dims[shape.rank - 1]);
    liana_tensor half = liana_op_broadcast_to(liana_graph_scalar(m->graph, LIANA_F32, 0.5), channels);
    liana_tensor statistics = liana_op_batch_norm_statistics(x);
    return liana_op_tanh(liana_op_batch_norm_training(x, half, half, statistics, 1));
}

static liana_tensor make_smooth(maker *m, liana_tensor x)
{
    liana_shape shape = liana_tensor_shape(x);
    switch (draw(m, 12)) {
    case 0: return liana_op_tanh(x);
    case 1: return liana_op_logistic(x);
    case 2: return liana_op_negate(x);
    case 3: return liana_op_multiply(x, pick_partner(m, x));
    case 4: return scaled(m, liana_op_add(x, pick_partner(m, x)), 0.5);
    case 5: return scaled(m, liana_op_subtract(pick_partner(m, x), x), 0.5);
    case 6: return shape.rank > 0 ? liana_op_softmax(x) : liana_op_square(x);
    case 7: return shape.rank > 0 ? make_mean(m, x) : liana_op_negate(x);
    case 8: return make_product(m, x);
    case 9:
    case 10: return make_normal(m, x);
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

/* Each byte of the workspace and of the buffers holds a token: a byte of a node's value; aliases count as their source.
 * A value that is not yet summed up or merged has the number of slices that are in it. */
typedef uint64_t token;

static token make_token(uint32_t id, size_t slices, size_t cell)
{
    return (token)id << 40 | (token)slices << 24 | cell;
}

enum { MAX_CELLS = 1 << 14 };

typedef struct memory {
    const liana_graph *graph;
    const liana__execution_order *schedule;
    const liana__memory_plan *plan;
    bool adds; /* outputs are computed in the workspace, as for buffers where something is already */
    token *workspace;
    token (*inputs)[MAX_CELLS], (*variables)[MAX_CELLS], (*outputs)[MAX_CELLS];
} memory;

/* One node at one slice. */
typedef struct moment {
    const liana__node *node;
    size_t slice, num_slices;
    const liana__segment *segment;
} moment;

static uint32_t owner_of(const liana__node *node)
{
    while (node->op->placement == LIANA__PLACE_ALIAS) node = node->inputs[0];
    return node->id;
}

static size_t cells_of(const liana__node *node)
{
    return liana__byte_size(node->dtype, &node->shape);
}

static token *cells_at(memory *held, liana__storage storage, size_t size)
{
    assert_compare(size, <=, MAX_CELLS);
    switch (storage.kind) {
    case LIANA__STORAGE_INPUT: return held->inputs[storage.offset];
    case LIANA__STORAGE_VARIABLE: return held->variables[storage.offset];
    case LIANA__STORAGE_OUTPUT: return held->outputs[storage.offset];
    case LIANA__STORAGE_WORKSPACE:
        assert_int_equal(storage.offset % LIANA__ALIGNMENT, 0);
        assert_compare(storage.offset + size, <=, held->plan->workspace_size);
        return held->workspace + storage.offset;
    default: fail_msg("storage of kind %d is no memory", (int)storage.kind); return NULL;
    }
}

static bool is_spared(const memory *held, const liana__node *node)
{
    return held->adds && held->plan->computed[node->id] && held->plan->storage[node->id].kind == LIANA__STORAGE_OUTPUT;
}

static token *cells_of_node(memory *held, const liana__node *node, size_t size)
{
    const liana__storage spare = {LIANA__STORAGE_WORKSPACE, is_spared(held, node) ? held->plan->spares[node->id] : 0};
    return cells_at(held, is_spared(held, node) ? spare : held->plan->storage[node->id], size);
}

/* The cells [first, first + count) of a node's value, where they lie now. */
typedef struct span {
    token *at;
    size_t first, count;
} span;

static span span_of(memory *held, const liana__node *node, bool by_rows, size_t slice, size_t num_slices)
{
    size_t count = cells_of(node), first = 0;
    bool internal = node->op->kernels && held->schedule->internal[node->id];
    if (by_rows) {
        assert_int_equal(count % num_slices, 0);
        count /= num_slices;
        first = slice * count;
    }
    token *at = cells_of_node(held, node, internal ? count : first + count);
    return (span){internal ? at : at + first, first, count};
}

static void assert_holds(memory *held, const liana__node *node, bool by_rows, const moment *when)
{
    liana__storage storage = held->plan->storage[node->id];
    uint32_t owner = owner_of(node);
    if (storage.kind == LIANA__STORAGE_CONSTANT) {
        assert_int_equal(storage.offset, owner);
        return;
    }
    span read = span_of(held, node, by_rows, when->slice, when->num_slices);
    for (size_t i = 0; i < read.count; i++) {
        if (read.at[i] == make_token(owner, 0, read.first + i)) continue;
        fail_msg("slice %zu of %%%u: cell %zu of %%%u holds cell %u of %%%u", when->slice, when->node->id,
                 read.first + i, node->id, (unsigned)(read.at[i] & 0xffffff), (unsigned)(read.at[i] >> 40));
    }
}

/* A result may lie where an input lies only if the op says so, and then exactly there. */
static void assert_no_half_overlap(memory *held, const moment *now, span written, const liana__parts *parts)
{
    for (uint32_t i = 0; i < now->node->num_inputs; i++) {
        const liana__node *input = now->node->inputs[i];
        if (held->plan->storage[input->id].kind == LIANA__STORAGE_CONSTANT) continue;
        bool by_rows = now->num_slices > 1 && !liana__parts_is_whole(parts, i);
        span read = span_of(held, input, by_rows, now->slice, now->num_slices);
        bool overlap = written.at < read.at + read.count && read.at < written.at + written.count;
        if (!overlap) continue;
        assert_int_equal(now->node->op->placement, LIANA__PLACE_IN_PLACE);
        assert_ptr_equal(written.at, read.at);
        assert_true(liana_shape_equal(&input->shape, &now->node->shape));
        assert_int_equal(written.count, read.count);
    }
}

static void write_cells(span at, uint32_t id, size_t slices)
{
    for (size_t i = 0; i < at.count; i++) at.at[i] = make_token(id, slices, at.first + i);
}

static void assert_cells(span at, uint32_t id, size_t slices)
{
    for (size_t i = 0; i < at.count; i++) assert_int_equal(at.at[i], make_token(id, slices, at.first + i));
}

/* The part of a sum or a merger, and the result of it, as the backend does it. */
static void combine(memory *held, const moment *now, const liana__parts *parts)
{
    uint32_t id = now->node->id;
    bool is_sum = parts->kind == LIANA__PART_SUM, is_last = now->slice + 1 == now->num_slices;
    span result = span_of(held, now->node, false, 0, 1), part = result;
    size_t size = liana__part_size(now->node, parts);
    part.at = held->workspace + held->plan->partials[id] + (is_sum ? 0 : now->slice * size);
    assert_compare(held->plan->partials[id] + (is_sum ? 1 : now->num_slices) * size, <=, held->plan->workspace_size);
    if (is_sum) {
        if (now->slice > 0) {
            write_cells(part, id, now->num_slices + 1);
            assert_cells(result, id, now->slice);
        }
        write_cells(result, id, is_last ? 0 : now->slice + 1);
        return;
    }
    write_cells(part, id, now->slice + 1);
    for (size_t i = 0; is_last && i < now->num_slices; i++) {
        part.at = held->workspace + held->plan->partials[id] + i * size;
        assert_cells(part, id, i + 1);
    }
    if (is_last) write_cells(result, id, 0);
}

static void run_moment(memory *held, const moment *now)
{
    const liana__node *node = now->node;
    liana__parts parts = liana__segment_parts(now->segment, node);
    bool sliced = now->num_slices > 1;
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        assert_holds(held, node->inputs[i], sliced && !liana__parts_is_whole(&parts, i), now);
    }
    if (sliced && parts.kind != LIANA__PART_ROWS) {
        combine(held, now, &parts);
        return;
    }
    span written = span_of(held, node, sliced, now->slice, now->num_slices);
    assert_no_half_overlap(held, now, written, &parts);
    write_cells(written, node->id, 0);
}

static void check_final_buffers(memory *held)
{
    const liana_graph *graph = held->graph;
    for (size_t i = 0; i < graph->num_outputs; i++) {
        const liana__node *node = graph->outputs[i].node;
        assert_cells((span){held->outputs[i], 0, cells_of(node)}, owner_of(node), 0);
    }
    for (size_t i = 0; i < graph->num_variables; i++) {
        const liana__node *variable = graph->variables[i];
        uint32_t expected = variable->id;
        for (size_t k = 0; k < graph->num_assignments; k++) {
            if (graph->assignments[k].variable == variable) expected = owner_of(graph->assignments[k].value);
        }
        assert_cells((span){held->variables[i], 0, cells_of(variable)}, expected, 0);
    }
    for (size_t i = 0; i < graph->num_inputs; i++) {
        assert_cells((span){held->inputs[i], 0, cells_of(graph->inputs[i])}, graph->inputs[i]->id, 0);
    }
}

static void run_segment(memory *held, const liana__segment *segment)
{
    size_t num_slices = liana__segment_num_slices(segment);
    for (size_t slice = 0; slice < num_slices; slice++) {
        for (size_t i = segment->begin; i < segment->end; i++) {
            const moment now = {held->graph->nodes[held->schedule->order[i]], slice, num_slices, segment};
            if (held->plan->computed[now.node->id]) run_moment(held, &now);
        }
    }
    for (size_t i = segment->begin; i < segment->end; i++) {
        const liana__node *node = held->graph->nodes[held->schedule->order[i]];
        if (!is_spared(held, node)) continue;
        assert_cells(span_of(held, node, false, 0, 1), node->id, 0);
        write_cells((span){held->outputs[held->plan->storage[node->id].offset], 0, cells_of(node)}, node->id, 0);
    }
}

/* Runs the plan with tokens in place of numbers. */
static void follow_plan(const liana_graph *graph, const liana__execution_order *schedule,
                        const liana__memory_plan *plan, bool adds)
{
    memory held = {.graph = graph, .schedule = schedule, .plan = plan, .adds = adds};
    held.workspace = calloc(plan->workspace_size + 1, sizeof *held.workspace);
    held.inputs = calloc(NUM_INPUTS, sizeof *held.inputs);
    held.variables = calloc(NUM_VARIABLES, sizeof *held.variables);
    held.outputs = calloc(MAX_OUTPUTS, sizeof *held.outputs);
    assert_true(held.workspace && held.inputs && held.variables && held.outputs);
    for (size_t i = 0; i < graph->num_inputs; i++) {
        write_cells((span){held.inputs[i], 0, cells_of(graph->inputs[i])}, graph->inputs[i]->id, 0);
    }
    for (size_t i = 0; i < graph->num_variables; i++) {
        write_cells((span){held.variables[i], 0, cells_of(graph->variables[i])}, graph->variables[i]->id, 0);
    }
    for (size_t i = 0; i < schedule->num_segments; i++) run_segment(&held, &schedule->segments[i]);
    for (size_t i = 0; i < plan->num_copies; i++) {
        const liana__node *node = graph->nodes[plan->copies[i].node];
        const moment now = {.node = node, .num_slices = 1};
        assert_holds(&held, node, false, &now);
        write_cells((span){cells_at(&held, plan->copies[i].target, cells_of(node)), 0, cells_of(node)}, owner_of(node),
                    0);
    }
    check_final_buffers(&held);
    free(held.workspace);
    free(held.inputs);
    free(held.variables);
    free(held.outputs);
}

/* The bytes of slices that are tried: none, as few as can be, some rows. */
static const size_t slice_sizes[] = {0, 1, 500};
enum { NUM_SLICE_SIZES = sizeof slice_sizes / sizeof *slice_sizes };

static size_t plan_size(const liana_graph *graph, const liana__execution_order *schedule, bool share, size_t *copies)
{
    liana__memory_plan plan;
    assert_ok(liana__memory_plan_make(graph, schedule, share, NULL, &plan, &context->error), &context->error);
    follow_plan(graph, schedule, &plan, false);
    assert_int_equal(plan.spares != NULL, graph->first_gradient > 0);
    if (plan.spares) follow_plan(graph, schedule, &plan, true);
    size_t size = plan.workspace_size;
    *copies += plan.num_copies;
    liana__memory_plan_free(&plan);
    return size;
}

/* Segments that run twice, so that less is held. Returns how many do. */
static size_t follow_recomputation(const liana_graph *graph, const liana__execution_order *schedule, size_t size)
{
    liana__recomputation made;
    assert_ok(liana__recompute(graph, schedule, NULL, size ? size - 1 : 0, &made, &context->error), &context->error);
    size_t num_segments = made.num_segments, copies = 0, num_recomputed = 0;
    if (!made.graph) assert_int_equal(made.workspace_size, size);
    if (made.graph) {
        assert_ok(liana__graph_verify(made.graph, &context->error), &context->error);
        assert_int_equal(made.graph->num_outputs, graph->num_outputs);
        assert_int_equal(made.graph->num_assignments, graph->num_assignments);
        assert_int_equal(plan_size(made.graph, &made.schedule, true, &copies), made.workspace_size);
        assert_compare(made.workspace_size, <, size);
        assert_compare(num_segments, >, 0);
        for (size_t id = 1; id < made.graph->num_nodes; id++) num_recomputed += made.graph->nodes[id]->recomputed;
        assert_compare(num_recomputed, >=, num_segments);
    }
    liana__recomputation_free(&made);
    return num_segments;
}

static void test_memory_holds_what_is_read(void **state)
{
    (void)state;
    size_t shared[NUM_SLICE_SIZES] = {0}, unshared = 0, copies = 0, sliced = 0, internal = 0;
    size_t recomputed = 0;
    for (uint32_t number = 0; number < NUM_GRAPHS; number++) {
        liana_graph *graph = random_graph(number);
        for (int i = 0; i < NUM_SLICE_SIZES; i++) {
            liana__execution_order schedule;
            assert_ok(liana__execution_order_make(graph, slice_sizes[i], &schedule, &context->error), &context->error);
            size_t size = plan_size(graph, &schedule, true, &copies);
            shared[i] += size;
            recomputed += follow_recomputation(graph, &schedule, size);
            unshared += i == 0 ? plan_size(graph, &schedule, false, &copies) : 0;
            for (size_t k = 0; k < schedule.num_segments; k++) {
                sliced += liana__segment_is_sliced(&schedule.segments[k]);
            }
            for (size_t id = 1; id < graph->num_nodes; id++) internal += schedule.internal[id];
            liana__execution_order_free(&schedule);
        }
        liana_graph_destroy(graph);
    }
    /* That it is worth having, and that the graphs above are no trivial ones. */
    assert_compare(shared[0] * 2, <, unshared);
    assert_compare(copies, >, NUM_GRAPHS);
    assert_compare(recomputed, >, 20);
    assert_compare(sliced, >, NUM_GRAPHS);
    assert_compare(internal, >, NUM_GRAPHS);
}

/* A tensor that is read whole by one slice after the other must not be overwritten by rows: neither a tensor nor a
 * variable. */
static void follow_product(bool of_variable)
{
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_tensor a = liana_graph_input(graph, "a", LIANA_F32, liana_shape_of(6, 6));
    liana_tensor x = liana_graph_variable(graph, "x", LIANA_F32, liana_shape_of(6, 2));
    if (!of_variable) x = liana_op_exp(x);
    liana_tensor y = liana_op_matmul(a, x, false, false), z = liana_op_negate(x);
    liana_graph_output(graph, "y", y);
    if (of_variable) {
        liana_graph_assign(x, z);
    } else {
        liana_graph_output(graph, "w", liana_op_matmul(a, z, false, false));
    }
    assert_ok(liana_graph_status(graph), &context->error);
    liana__execution_order schedule;
    assert_ok(liana__execution_order_make(graph, 64, &schedule, &context->error), &context->error);
    const liana__node *product = liana__tensor_node(y), *negated = liana__tensor_node(z);
    assert_int_equal(schedule.segment_of[product->id], schedule.segment_of[negated->id]);
    assert_true(liana__segment_is_sliced(liana__execution_order_segment(&schedule, product->id)));
    size_t copies = 0;
    plan_size(graph, &schedule, true, &copies);
    liana__execution_order_free(&schedule);
    liana_graph_destroy(graph);
}

static void test_what_slices_read_whole_stays(void **state)
{
    (void)state;
    follow_product(false);
    follow_product(true);
}

/* ---- results ---- */

static liana__buffer *make_buffer(liana__device *device, const liana__node *node, uint32_t salt)
{
    liana__error error = {0};
    liana__buffer *buffer = NULL;
    size_t size = liana__byte_size(node->dtype, &node->shape);
    float *data = malloc(size);
    assert_non_null(data);
    liana__philox_key key = liana__philox_make_key(1, LIANA__STREAM_TEST, salt);
    for (size_t i = 0; i < size / sizeof *data; i++) {
        uint32_t words[4];
        liana__philox(key, (uint32_t[4]){(uint32_t)i, 0, 0, 0}, words);
        data[i] = liana__uniform_float(words[0]) * 2 - 1;
    }
    assert_ok(device->backend->upload(device, node->dtype, &node->shape, data, &buffer, NULL, &error), &error);
    free(data);
    return buffer;
}

/* Appends the contents of a buffer. */
static void read_floats(const liana__buffer *buffer, float *results, size_t *count)
{
    liana__error error = {0};
    assert_int_equal(buffer->dtype, LIANA_F32);
    assert_ok(buffer->device->backend->download(buffer, results + *count, &error), &error);
    *count += buffer->size / sizeof *results;
}

enum { MAX_RESULTS = NUM_STEPS * (MAX_OUTPUTS + NUM_VARIABLES) * 4096 };

/* All outputs and variables after each of some steps; of two steps that give one sum, after both. */
static size_t run_steps(liana__device *device, const liana_graph *graph, size_t slice_bytes, bool adds, float *results)
{
    context->slice_bytes = slice_bytes;
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
    atomic_int arrivals[MAX_OUTPUTS] = {LIANA__NOBODY_YET};
    assert_ok(backend->compile(device, graph, &executable, &error), &error);
    for (int step = 0; step < (adds ? 2 : NUM_STEPS); step++) {
        if (adds) {
            const liana__cpu_buffers given = {.inputs = inputs,
                                              .variables = variables,
                                              .outputs = outputs,
                                              .arrivals = arrivals};
            assert_ok(liana__cpu_execute_and_add(executable, 0, &given, &error), &error);
            if (step == 0) continue;
        } else {
            assert_ok(liana__test_execute(executable, 0, inputs, variables, outputs, &error), &error);
        }
        for (size_t i = 0; i < graph->num_outputs; i++) read_floats(outputs[i], results, &count);
        for (size_t i = 0; i < NUM_VARIABLES; i++) read_floats(variables[i], results, &count);
    }
    backend->executable_destroy(executable);
    for (size_t i = 0; i < NUM_INPUTS; i++) backend->buffer_destroy(inputs[i]);
    for (size_t i = 0; i < NUM_VARIABLES; i++) backend->buffer_destroy(variables[i]);
    for (size_t i = 0; i < graph->num_outputs; i++) backend->buffer_destroy(outputs[i]);
    return count;
}

static size_t run_graph(liana__device *device, const liana_graph *graph, size_t slice_bytes, float *results)
{
    return run_steps(device, graph, slice_bytes, false, results);
}

static void assert_all_near(const float *results, const float *expected, size_t count, uint32_t number,
                            size_t slice_bytes)
{
    for (size_t i = 0; i < count; i++) {
        if (fabsf(results[i] - expected[i]) <= 1e-4f) continue;
        fail_msg("graph %u, slices of %zu bytes: result %zu is %g, the reference says %g", number, slice_bytes, i,
                 (double)results[i], (double)expected[i]);
    }
}

static void test_results_do_not_depend_on_the_plan(void **state)
{
    (void)state;
    static float expected[MAX_RESULTS], shared[MAX_RESULTS], unshared[MAX_RESULTS];
    for (uint32_t number = 0; number < NUM_GRAPHS; number++) {
        liana_graph *graph = random_graph(number);
        size_t count = run_graph(devices[0], graph, 0, expected);
        for (int i = 0; i < NUM_SLICE_SIZES; i++) {
            assert_int_equal(run_graph(devices[1], graph, slice_sizes[i], shared), count);
            /* Nothing is shared where each node is checked after it has run. */
            context->validate = true;
            assert_int_equal(run_graph(devices[1], graph, slice_sizes[i], unshared), count);
            context->validate = false;
            if (memcmp(shared, unshared, count * sizeof *shared) != 0) {
                fail_msg("graph %u, slices of %zu bytes: sharing memory changes the results", number, slice_sizes[i]);
            }
            assert_all_near(shared, expected, count, number, slice_sizes[i]);
        }
        liana_graph_destroy(graph);
    }
}

/* The common result of two executions is the sum of each one's. */
static void test_two_executions_give_one_sum(void **state)
{
    (void)state;
    static float each[MAX_RESULTS], both[MAX_RESULTS];
    size_t num_graphs = 0;
    for (uint32_t number = 0; number < NUM_GRAPHS; number++) {
        liana_graph *graph = random_graph(number);
        for (int i = 0; graph->first_gradient && i < NUM_SLICE_SIZES; i++) {
            size_t count = run_graph(devices[1], graph, slice_sizes[i], each) / NUM_STEPS, num_sums = count;
            for (size_t k = 0; k < NUM_VARIABLES; k++) {
                num_sums -= (size_t)liana_shape_size(&graph->variables[k]->shape);
            }
            for (size_t k = 0; k < num_sums; k++) each[count + k] += each[k];
            assert_int_equal(run_steps(devices[1], graph, slice_sizes[i], true, both), count);
            assert_memory_equal(both, each + count, count * sizeof *both);
        }
        num_graphs += graph->first_gradient > 0;
        liana_graph_destroy(graph);
    }
    assert_compare(num_graphs, >, NUM_GRAPHS / 10);
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
    liana__execution_order schedule;
    liana__memory_plan plan;
    liana__error error = {0};
    assert_ok(liana__execution_order_make(graph, 0, &schedule, &error), &error);
    assert_fails(liana__memory_plan_make(graph, &schedule, true, NULL, &plan, &error), LIANA_INVALID_ARGUMENT, &error,
                 "variable 'b'", "variable 'a'");
    liana__execution_order_free(&schedule);
    liana_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_holds_what_is_read),
        cmocka_unit_test(test_what_slices_read_whole_stays),
        cmocka_unit_test(test_results_do_not_depend_on_the_plan),
        cmocka_unit_test(test_two_executions_give_one_sum),
        cmocka_unit_test(test_plain_copies_between_variables_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
