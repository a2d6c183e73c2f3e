/* Runs graphs node by node and looks at every result. */
#include "exec/node_check.h"

#include "base/denormals.h"
#include "base/scoped.h"
#include "kernels/kernel_choice.h"
#include "passes/pass.h"

#include <math.h>

/* ---- ranges ---- */

liana__value_range liana__range_of(const void *data, liana_dtype dtype, int64_t count)
{
    liana__value_range range = {.count = count, .first_bad = -1};
    double sum = 0;
    int64_t finite = 0;
    for (int64_t i = 0; i < count; i++) {
        const double value = liana__load(data, dtype, i);
        if (!isfinite(value)) {
            if (range.first_bad < 0) range.first_bad = i;
            if (isnan(value)) {
                range.num_nan++;
            } else {
                range.num_infinite++;
            }
            continue;
        }
        if (finite == 0 || value < range.least) range.least = value;
        if (finite == 0 || value > range.most) range.most = value;
        sum += value;
        finite++;
    }
    if (finite) range.mean = sum / (double)finite;
    return range;
}

/* ---- a run ---- */

/* A bad node without bad inputs: it may be where it began. */
typedef struct suspect {
    uint32_t node;
    const liana__kernel *kernel;
    liana__value_range result;
    liana__value_range *inputs;
    bool *bad_rows;
    struct suspect *next;
} suspect;

typedef struct run {
    const liana__node_check_options *options;
    const liana_graph *graph;
    liana__arena arena;
    bool *needed;      /* by node id, as all of these */
    uint32_t *readers; /* how many nodes and results still read it */
    const void **data;
    void **owned; /* memory to be freed */
    bool *bad;
    bool *of_rows;     /* its rows are those of the examples */
    suspect *suspects; /* the last one first */
    liana__error *error;
} run;

static bool is_given(const liana__node *node)
{
    return liana__is_input(node) || liana__is_variable(node);
}

static const char *result_name(const liana_graph *graph, size_t index)
{
    return index < graph->num_outputs ? graph->outputs[index].name
                                      : graph->assignments[index - graph->num_outputs].variable->name;
}

static liana_status start(run *own)
{
    const liana_graph *graph = own->graph;
    const size_t count = graph->num_nodes;
    own->needed = liana__arena_allocate(&own->arena, count * sizeof *own->needed);
    own->readers = liana__arena_allocate(&own->arena, count * sizeof *own->readers);
    own->data = liana__arena_allocate(&own->arena, count * sizeof *own->data);
    own->owned = liana__arena_allocate(&own->arena, count * sizeof *own->owned);
    own->bad = liana__arena_allocate(&own->arena, count * sizeof *own->bad);
    own->of_rows = liana__arena_allocate(&own->arena, count * sizeof *own->of_rows);
    if (own->arena.failed) return liana__fail_memory(own->error, "checking a graph");
    liana__graph_mark_needed(graph, own->needed);
    for (size_t id = 1; id < count; id++) {
        const liana__node *node = graph->nodes[id];
        for (uint32_t i = 0; own->needed[id] && i < node->num_inputs; i++) own->readers[node->inputs[i]->id]++;
    }
    for (size_t i = 0; i < liana__graph_num_results(graph); i++) own->readers[liana__graph_result(graph, i)->id]++;
    for (size_t i = 0; i < graph->num_inputs; i++) own->data[graph->inputs[i]->id] = own->options->inputs[i];
    for (size_t i = 0; i < graph->num_variables; i++) own->data[graph->variables[i]->id] = own->options->variables[i];
    return LIANA_OK;
}

static liana_status call_kernel(const run *own, const liana__node *node, const liana__kernel *kernel, void *dst)
{
    LIANA__SCOPED_MEMORY const void **sources = malloc((node->num_inputs + 1) * sizeof *sources);
    if (!sources) return liana__fail_memory(own->error, node->op->name);
    for (uint32_t i = 0; i < node->num_inputs; i++) sources[i] = own->data[node->inputs[i]->id];
    return liana__kernel_run_once(kernel, node, sources, dst, own->error);
}

static liana_status compute(run *own, const liana__node *node, const liana__kernel **kernel)
{
    *kernel = NULL;
    if (is_given(node)) return LIANA_OK;
    if (liana__is_constant(node)) {
        own->data[node->id] = liana__constant_data(node);
        return LIANA_OK;
    }
    /* A file may ask for more than there is, and the system may promise it. */
    const size_t size = liana__byte_size(node->dtype, &node->shape);
    void *result = size < liana__machine_memory() ? liana__allocate_aligned(size) : NULL;
    if (!result) {
        return liana__fail(own->error, LIANA_OUT_OF_MEMORY, "out of memory for checking %s, %s",
                           liana__node_print(node).text, liana__type_print(node->dtype, &node->shape).text);
    }
    own->data[node->id] = own->owned[node->id] = result;
    liana_context *context = own->graph->context;
    *kernel = liana__choose_kernel(context, node, context->isa);
    return call_kernel(own, node, *kernel, result);
}

/* The size of axis 0 may be that of the batch by chance, so rows are followed from the inputs. */
static bool has_rows(const run *own, const liana__node *node)
{
    const int64_t rows = own->options->num_rows;
    if (rows == 0 || node->shape.rank == 0 || node->shape.dims[0] != rows) return false;
    if (liana__is_leaf(node)) return liana__is_input(node);
    const liana__parts parts = liana__node_parts(node);
    for (uint32_t i = 0; parts.kind == LIANA__PART_ROWS && i < node->num_inputs; i++) {
        if (!liana__parts_is_whole(&parts, i) && own->of_rows[node->inputs[i]->id]) return true;
    }
    return false;
}

static bool *find_bad_rows(run *own, const liana__node *node)
{
    const int64_t rows = own->options->num_rows;
    if (!own->of_rows[node->id]) return NULL;
    const int64_t each = liana_shape_size(&node->shape) / rows;
    bool *bad = liana__arena_allocate(&own->arena, (size_t)rows * sizeof *bad);
    for (int64_t row = 0; bad && row < rows; row++) {
        for (int64_t i = 0; i < each && !bad[row]; i++) {
            bad[row] = !isfinite(liana__load(own->data[node->id], node->dtype, row * each + i));
        }
    }
    return bad;
}

static bool has_bad_input(const run *own, const liana__node *node)
{
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        if (own->bad[node->inputs[i]->id]) return true;
    }
    return false;
}

static liana_status look_at(run *own, const liana__node *node, const liana__kernel *kernel)
{
    if (!liana__dtype_is_float(node->dtype)) return LIANA_OK;
    const liana__value_range result = liana__range_of(own->data[node->id], node->dtype, liana_shape_size(&node->shape));
    if (!liana__range_is_bad(&result)) return LIANA_OK;
    own->bad[node->id] = true;
    if (has_bad_input(own, node)) return LIANA_OK;
    suspect *found = liana__arena_allocate(&own->arena, sizeof *found);
    liana__value_range *inputs = liana__arena_allocate(&own->arena, (node->num_inputs + 1) * sizeof *inputs);
    if (!found || !inputs) return liana__fail_memory(own->error, "checking a graph");
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        const liana__node *input = node->inputs[i];
        inputs[i] = liana__range_of(own->data[input->id], input->dtype, liana_shape_size(&input->shape));
    }
    *found = (suspect){node->id, kernel, result, inputs, find_bad_rows(own, node), own->suspects};
    own->suspects = found;
    return LIANA_OK;
}

static void release(run *own, uint32_t id)
{
    if (--own->readers[id] > 0) return;
    free(own->owned[id]);
    own->owned[id] = NULL;
}

static liana_status run_nodes(run *own)
{
    const liana_graph *graph = own->graph;
    for (uint32_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        const liana__kernel *kernel;
        if (!own->needed[id]) continue;
        LIANA_TRY(compute(own, node, &kernel));
        own->of_rows[id] = has_rows(own, node);
        LIANA_TRY(look_at(own, node, kernel));
        for (uint32_t i = 0; i < node->num_inputs; i++) release(own, node->inputs[i]->id);
    }
    return LIANA_OK;
}

/* ---- where it began ---- */

/* Marks the inputs from which a node's bad numbers come. Ids fall from a node to its inputs, so one pass is enough. */
static void mark_causes(const run *own, uint32_t from, bool *causes)
{
    causes[from] = true;
    for (uint32_t id = from; id > 0; id--) {
        const liana__node *node = own->graph->nodes[id];
        for (uint32_t i = 0; causes[id] && i < node->num_inputs; i++) {
            if (own->bad[node->inputs[i]->id]) causes[node->inputs[i]->id] = true;
        }
    }
}

/* A constant is bad on purpose, unless nothing else is. */
static const suspect *first_cause(const run *own, const bool *causes)
{
    const suspect *first = NULL, *first_constant = NULL;
    for (const suspect *each = own->suspects; each; each = each->next) {
        if (!causes[each->node]) continue;
        const suspect **place = liana__is_constant(own->graph->nodes[each->node]) ? &first_constant : &first;
        if (!*place || each->node < (*place)->node) *place = each;
    }
    return first ? first : first_constant;
}

static liana_status keep_origin(const run *own, const suspect *found, liana__node_check *check)
{
    const liana__node *node = own->graph->nodes[found->node];
    check->origin = node;
    check->kernel = found->kernel;
    check->result = found->result;
    check->inputs = liana__arena_copy(&check->arena, found->inputs, node->num_inputs * sizeof *check->inputs);
    if (found->bad_rows) {
        check->num_rows = own->options->num_rows;
        check->bad_rows = liana__arena_copy(&check->arena, found->bad_rows, (size_t)check->num_rows);
    }
    return check->arena.failed ? liana__fail_memory(own->error, "checking a graph") : LIANA_OK;
}

static liana_status find_origin(run *own, liana__node_check *check)
{
    const liana_graph *graph = own->graph;
    bool *causes = liana__arena_allocate(&own->arena, graph->num_nodes * sizeof *causes);
    if (!causes) return liana__fail_memory(own->error, "checking a graph");
    for (size_t i = 0; i < liana__graph_num_results(graph); i++) {
        const liana__node *node = liana__graph_result(graph, i);
        if (!own->bad[node->id]) continue;
        mark_causes(own, node->id, causes);
        if (check->bad_output) continue;
        check->bad_output = result_name(graph, i);
        check->bad_range = liana__range_of(own->data[node->id], node->dtype, liana_shape_size(&node->shape));
    }
    const suspect *found = check->bad_output ? first_cause(own, causes) : NULL;
    return found ? keep_origin(own, found, check) : LIANA_OK;
}

static liana_status keep_results(const run *own, liana__node_check *check)
{
    const liana_graph *graph = own->graph;
    if (!own->options->keep_results) return LIANA_OK;
    check->results =
        liana__arena_allocate(&check->arena, (liana__graph_num_results(graph) + 1) * sizeof *check->results);
    for (size_t i = 0; check->results && i < liana__graph_num_results(graph); i++) {
        const liana__node *node = liana__graph_result(graph, i);
        const size_t size = liana__byte_size(node->dtype, &node->shape);
        check->results[i] = liana__arena_copy(&check->arena, own->data[node->id], size);
    }
    return check->arena.failed ? liana__fail_memory(own->error, "checking a graph") : LIANA_OK;
}

static void finish(run *own)
{
    for (size_t id = 1; own->owned && id < own->graph->num_nodes; id++) free(own->owned[id]);
    liana__arena_free(&own->arena);
}

void liana__node_check_free(liana__node_check *check)
{
    liana__arena_free(&check->arena);
    liana_graph_destroy(check->rewritten);
    *check = (liana__node_check){0};
}

static liana_status check_graph(run *own, liana__node_check *check)
{
    LIANA_TRY(start(own));
    const liana__denormals before = liana__denormals_flush();
    liana_status status = run_nodes(own);
    liana__denormals_restore(before);
    LIANA_TRY(status);
    LIANA_TRY(find_origin(own, check));
    return keep_results(own, check);
}

liana_status liana__node_check_run(const liana_graph *graph, const liana__node_check_options *options,
                                   liana__node_check *check, liana__error *error)
{
    *check = (liana__node_check){.graph = graph, .fused = options->fused};
    LIANA_TRY(options->fused ? liana__passes_run(graph, &check->rewritten, error)
                             : liana__passes_run_asked_for(graph, &check->rewritten, error));
    if (check->rewritten) check->graph = check->rewritten;
    run own = {.options = options, .graph = check->graph, .error = error};
    liana_status status = check_graph(&own, check);
    finish(&own);
    if (status != LIANA_OK) liana__node_check_free(check);
    return status;
}
