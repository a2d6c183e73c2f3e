/* Builds graphs: nodes, their checks, and the first error that sticks. */
#include "ir/graph.h"

#include "base/scoped.h"
#include "ir/given.h"
#include "ir/graph_bodies.h"
#include "ir/scope_list.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* The three leaves. They are not in ops.def, since they compute nothing. */
static const liana__op op_input = {.name = "input", .doc = "An input: a value that is given to each execution."};
static const liana__op op_variable = {.name = "variable", .doc = "A variable: a value kept on the device."};
static const liana__op op_constant = {.name = "constant", .doc = "A constant: a value known when the graph is built."};

bool liana__is_input(const liana__node *node)
{
    return node->op == &op_input;
}

bool liana__is_variable(const liana__node *node)
{
    return node->op == &op_variable;
}

liana__node liana__node_as_weights(const liana__node *node)
{
    liana__node weights = *node;
    weights.op = &op_variable;
    weights.num_inputs = 0;
    weights.name = NULL;
    return weights;
}

static const liana__node *find_weights(const liana__node *node)
{
    while (!liana__is_variable(node) && node->num_inputs == 1) node = node->inputs[0];
    return node;
}

bool liana__is_of_weights(const liana__node *node)
{
    return liana__is_variable(find_weights(node));
}

bool liana__is_of_loop_weights(const liana__node *node)
{
    const liana__node *weights = find_weights(node);
    return liana__is_variable(weights) && !weights->name;
}

bool liana__is_constant(const liana__node *node)
{
    return node->op == &op_constant;
}

const void *liana__constant_data(const liana__node *node)
{
    return node->attributes;
}

/* A graph, with facts that few of its readers need. */
typedef struct whole_graph {
    liana_graph graph;
    liana__device_scopes scopes;
    atomic_int num_more_owners;
    liana_graph **bodies; /* of its nodes */
    size_t num_bodies, body_capacity;
    int body_depth;
} whole_graph;

liana__device_scopes *liana__graph_scopes(const liana_graph *graph)
{
    return &((whole_graph *)graph)->scopes;
}

liana_status liana_graph_create(liana_context *context, liana_graph **out)
{
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE_AS(&context->error, out, "graph");
    *out = NULL;
    whole_graph *whole = calloc(1, sizeof *whole);
    if (!whole) return liana__fail_memory(&context->error, "a graph");
    whole->graph.context = context;
    whole->graph.num_nodes = 1;
    *out = &whole->graph;
    return LIANA_OK;
}

void liana_graph_destroy(liana_graph *graph)
{
    if (!graph) return;
    whole_graph *whole = (whole_graph *)graph;
    if (atomic_fetch_sub(&whole->num_more_owners, 1) > 0) return;
    for (size_t i = 0; i < whole->num_bodies; i++) liana_graph_destroy(whole->bodies[i]);
    free(whole->bodies);
    liana__scopes_free(liana__graph_scopes(graph));
    liana__arena_free(&graph->arena);
    free(graph->nodes);
    free(graph->inputs);
    free(graph->variables);
    free(graph->outputs);
    free(graph->assignments);
    free(graph->targets);
    free(graph->constraints);
    free(graph->named);
    for (size_t i = 0; i < graph->num_values; i++) free(graph->values[i]);
    free(graph->values);
    free(graph);
}

void liana__graph_hold(liana_graph *graph)
{
    atomic_fetch_add(&((whole_graph *)graph)->num_more_owners, 1);
}

int liana__graph_body_depth(const liana_graph *graph)
{
    return ((const whole_graph *)graph)->body_depth;
}

bool liana__graph_keep_bodies(liana_graph *graph, const liana__node *node)
{
    whole_graph *whole = (whole_graph *)graph;
    for (size_t i = 0; i < node->op->num_bodies; i++) {
        liana_graph *body = liana__node_body(node, i);
        if (!liana__grow(&whole->bodies, whole->num_bodies, &whole->body_capacity, sizeof *whole->bodies)) return false;
        liana__graph_hold(body);
        whole->bodies[whole->num_bodies++] = body;
        if (whole->body_depth <= liana__graph_body_depth(body)) whole->body_depth = liana__graph_body_depth(body) + 1;
    }
    return true;
}

liana_status liana_graph_status(const liana_graph *graph)
{
    return graph ? graph->status : LIANA_INVALID_ARGUMENT;
}

liana__node *liana__tensor_node(liana_tensor tensor)
{
    if (!tensor.graph || tensor.graph->status != LIANA_OK || tensor.id == 0) return NULL;
    return tensor.id < tensor.graph->num_nodes ? tensor.graph->nodes[tensor.id] : NULL;
}

liana_tensor liana__node_tensor(const liana_graph *graph, const liana__node *node)
{
    return (liana_tensor){(liana_graph *)graph, node ? node->id : 0};
}

void liana__keep_wide(liana_tensor tensor)
{
    liana__node *node = liana__tensor_node(tensor);
    if (node) node->keep_wide = true;
}

liana__node_text liana__node_print(const liana__node *node)
{
    liana__node_text out;
    if (node->name) {
        snprintf(out.text, sizeof out.text, "%s '%.100s'", node->op->name, node->name);
    } else {
        snprintf(out.text, sizeof out.text, "%s", node->op->name);
    }
    return out;
}

liana_tensor liana__graph_fail(liana_graph *graph, liana_location here, liana_status status, const char *format, ...)
{
    if (graph->status == LIANA_OK) {
        (void)liana__context_stopped(graph->context); /* an error before this one is kept */
        va_list arguments;
        va_start(arguments, format);
        graph->status = liana__fail_list(&graph->context->error, status, format, arguments);
        va_end(arguments);
        if (graph->blamed) here = *graph->blamed;
        liana__fail_within(&graph->context->error, "%s:%d", here.file, here.line);
    }
    return (liana_tensor){graph, 0};
}

bool liana__graph_given(liana_graph *graph, liana_location here, const void *argument, const char *function,
                        const char *name)
{
    if (argument) return true;
    if (graph && graph->status == LIANA_OK) {
        liana__error error;
        liana__graph_fail(graph, here, liana__fail_null(&error, function, name), "%s", error.message);
    }
    return false;
}

static liana_tensor fail_memory(liana_graph *graph, liana_location here)
{
    return liana__graph_fail(graph, here, LIANA_OUT_OF_MEMORY, "out of memory for the graph");
}

/* Appends a node whose fields are set, with `prototype`'s id. NULL: out of memory. */
static liana__node *append_node(liana_graph *graph, const liana__node *prototype)
{
    liana__node *node = liana__arena_copy(&graph->arena, prototype, sizeof *prototype);
    if (graph->arena.failed ||
        !liana__grow(&graph->nodes, graph->num_nodes, &graph->node_capacity, sizeof *graph->nodes))
        return NULL;
    if (graph->num_nodes == 1) graph->nodes[0] = NULL;
    node->id = (uint32_t)graph->num_nodes;
    graph->nodes[graph->num_nodes++] = node;
    return liana__scopes_note(liana__graph_scopes(graph), node, liana__is_variable(node)) ? node : NULL;
}

static bool append_leaf(liana__node ***list, size_t *count, size_t *capacity, liana__node *node)
{
    if (!liana__grow(list, *count, capacity, sizeof **list)) return false;
    (*list)[(*count)++] = node;
    return true;
}

/* Whether a leaf can be added: the graph has no error, and the shape is one. */
static bool check_shape(liana_graph *graph, liana_location here, const char *what, const char *name, liana_dtype dtype,
                        const liana_shape *shape)
{
    if (graph->status != LIANA_OK) return false;
    if (liana__shape_valid(dtype, shape)) return true;
    liana__graph_fail(
        graph, here, LIANA_INVALID_ARGUMENT,
        "%s '%s' has the shape %s, expected rank 0 to %d, dimensions of at least 1, and less than 64 TiB in all", what,
        name, liana__type_print(dtype, shape).text, LIANA_MAX_RANK);
    return false;
}

static int find_leaf(liana__node *const *nodes, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(nodes[i]->name, name) == 0) return (int)i;
    }
    return -1;
}

int liana__graph_find_input(const liana_graph *graph, const char *name)
{
    return find_leaf(graph->inputs, graph->num_inputs, name);
}

int liana__graph_find_variable(const liana_graph *graph, const char *name)
{
    return find_leaf(graph->variables, graph->num_variables, name);
}

int liana__graph_find_output(const liana_graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->num_outputs; i++) {
        if (strcmp(graph->outputs[i].name, name) == 0) return (int)i;
    }
    return -1;
}

static liana__node make_leaf(liana_graph *graph, liana_location here, const liana__op *op, const char *name,
                             liana_dtype dtype, liana_shape shape)
{
    return (liana__node){.op = op,
                         .name = liana__arena_string(&graph->arena, name),
                         .dtype = dtype,
                         .shape = shape,
                         .where = graph->blamed ? *graph->blamed : here};
}

liana_tensor liana_graph_input_at(liana_location here, liana_graph *graph, const char *name, liana_dtype dtype,
                                  liana_shape shape)
{
    if (!graph || !LIANA__GRAPH_REQUIRE(graph, here, name)) return (liana_tensor){graph, 0};
    if (!check_shape(graph, here, "input", name, dtype, &shape)) return (liana_tensor){graph, 0};
    if (liana__graph_find_input(graph, name) >= 0) {
        return liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT, "the graph already has an input '%s'", name);
    }
    liana__node leaf = make_leaf(graph, here, &op_input, name, dtype, shape);
    liana__node *node = append_node(graph, &leaf);
    if (!node || !append_leaf(&graph->inputs, &graph->num_inputs, &graph->input_capacity, node)) {
        return fail_memory(graph, here);
    }
    return liana__node_tensor(graph, node);
}

liana_tensor liana_graph_variable_at(liana_location here, liana_graph *graph, const char *name, liana_dtype dtype,
                                     liana_shape shape)
{
    if (!graph || !LIANA__GRAPH_REQUIRE(graph, here, name)) return (liana_tensor){graph, 0};
    if (!check_shape(graph, here, "variable", name, dtype, &shape)) return (liana_tensor){graph, 0};
    int index = liana__graph_find_variable(graph, name);
    if (index >= 0) {
        const liana__node *known = graph->variables[index];
        if (known->dtype != dtype || !liana_shape_equal(&known->shape, &shape)) {
            return liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT, "variable '%s' is %s here, but %s at %s:%d",
                                     name, liana__type_print(dtype, &shape).text,
                                     liana__type_print(known->dtype, &known->shape).text, known->where.file,
                                     known->where.line);
        }
        return liana__node_tensor(graph, known);
    }
    liana__node leaf = make_leaf(graph, here, &op_variable, name, dtype, shape);
    liana__node *node = append_node(graph, &leaf);
    if (!node || !append_leaf(&graph->variables, &graph->num_variables, &graph->variable_capacity, node)) {
        return fail_memory(graph, here);
    }
    return liana__node_tensor(graph, node);
}

liana_tensor liana_graph_constant_at(liana_location here, liana_graph *graph, liana_dtype dtype, liana_shape shape,
                                     const void *data)
{
    if (!graph || !LIANA__GRAPH_REQUIRE(graph, here, data)) return (liana_tensor){graph, 0};
    if (!check_shape(graph, here, "constant", "", dtype, &shape)) return (liana_tensor){graph, 0};
    liana__node leaf = make_leaf(graph, here, &op_constant, NULL, dtype, shape);
    leaf.attributes = liana__arena_copy(&graph->arena, data, liana__byte_size(dtype, &shape));
    liana__node *node = leaf.attributes ? append_node(graph, &leaf) : NULL;
    return node ? liana__node_tensor(graph, node) : fail_memory(graph, here);
}

liana_tensor liana_graph_scalar_at(liana_location here, liana_graph *graph, liana_dtype dtype, double value)
{
    uint64_t bits = 0;
    liana__store(&bits, dtype, 0, value);
    if (!graph) return (liana_tensor){0};
    return liana_graph_constant_at(here, graph, dtype, LIANA_SCALAR, &bits);
}

void liana_graph_output_at(liana_location here, liana_graph *graph, const char *name, liana_tensor tensor)
{
    if (!LIANA__GRAPH_REQUIRE(tensor.graph, here, graph) || !LIANA__GRAPH_REQUIRE(graph, here, name)) return;
    liana__node *node = liana__tensor_node(tensor);
    if (!node) {
        liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT, "output '%s' is not a tensor of this graph", name);
        return;
    }
    if (tensor.graph != graph || liana__graph_find_output(graph, name) >= 0) {
        liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT, "output '%s' %s", name,
                          tensor.graph != graph ? "belongs to another graph" : "was named twice");
        return;
    }
    char *copy = liana__arena_string(&graph->arena, name);
    if (!copy || !liana__grow(&graph->outputs, graph->num_outputs, &graph->output_capacity, sizeof *graph->outputs)) {
        fail_memory(graph, here);
        return;
    }
    graph->outputs[graph->num_outputs++] = (liana__output){copy, node};
}

void liana_graph_assign_at(liana_location here, liana_tensor variable, liana_tensor value)
{
    liana__node *target = liana__tensor_node(variable), *source = liana__tensor_node(value);
    liana_graph *graph = variable.graph ? variable.graph : value.graph;
    if (!graph || graph->status != LIANA_OK) return;
    if (!target || !source || variable.graph != value.graph || !liana__is_variable(target)) {
        liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT, "assign needs a variable and a value of one graph");
        return;
    }
    if (target->dtype != source->dtype || !liana_shape_equal(&target->shape, &source->shape)) {
        liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT, "variable '%s' is %s, the value assigned to it is %s",
                          target->name, liana__type_print(target->dtype, &target->shape).text,
                          liana__type_print(source->dtype, &source->shape).text);
        return;
    }
    for (size_t i = 0; i < graph->num_assignments; i++) {
        if (graph->assignments[i].variable != target) continue;
        liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT, "variable '%s' is assigned twice", target->name);
        return;
    }
    if (!liana__grow(&graph->assignments, graph->num_assignments, &graph->assignment_capacity,
                     sizeof *graph->assignments)) {
        fail_memory(graph, here);
        return;
    }
    graph->assignments[graph->num_assignments++] = (liana__assignment){target, source};
}

liana_shape liana_tensor_shape(liana_tensor tensor)
{
    const liana__node *node = liana__tensor_node(tensor);
    return node ? node->shape : LIANA_SCALAR;
}

liana_dtype liana_tensor_dtype(liana_tensor tensor)
{
    const liana__node *node = liana__tensor_node(tensor);
    return node ? node->dtype : LIANA_F32;
}

/* ---- nodes made by ops ---- */

/* "add(f32[2, 3], f32[4]) of input 'x', relu": the call of an inference error. */
static void describe_call(const liana__op *op, liana__node *const *inputs, size_t num_inputs, liana__text *text)
{
    liana__text_add(text, "%s(", op->name);
    for (size_t i = 0; i < num_inputs; i++) {
        liana__text_add(text, "%s%s", i ? ", " : "", liana__type_print(inputs[i]->dtype, &inputs[i]->shape).text);
    }
    liana__text_add(text, ")");
    bool any_name = false;
    for (size_t i = 0; i < num_inputs; i++) any_name = any_name || inputs[i]->name;
    for (size_t i = 0; any_name && i < num_inputs; i++) {
        liana__text_add(text, "%s%s", i ? ", " : " of ", liana__node_print(inputs[i]).text);
    }
}

static liana_status infer_node(const liana__op *op, liana__node *const *inputs, size_t num_inputs, void *attributes,
                               liana__node *node, liana__error *error)
{
    liana__infer infer = {
        .op = op, .inputs = inputs, .num_inputs = num_inputs, .attributes = attributes, .error = error};
    LIANA_TRY(op->infer(&infer));
    if (!liana__shape_valid(infer.dtype, &infer.shape)) {
        return liana__infer_fail(
            &infer, "the result would have the shape %s, expected rank 0 to %d and dimensions of at least 1",
            liana__type_print(infer.dtype, &infer.shape).text, LIANA_MAX_RANK);
    }
    node->dtype = infer.dtype;
    node->shape = infer.shape;
    return LIANA_OK;
}

static liana_tensor build_checked(liana_location here, liana_graph *graph, const liana__op *op, liana__node **inputs,
                                  size_t num_inputs, const void *attributes)
{
    size_t attributes_size = op->attributes ? op->attributes->size : 0;
    void *own = attributes_size ? liana__arena_copy(&graph->arena, attributes, attributes_size) : NULL;
    liana__node node = {.op = op,
                        .num_inputs = (uint32_t)num_inputs,
                        .inputs = liana__arena_copy(&graph->arena, inputs, num_inputs * sizeof *inputs),
                        .attributes = own,
                        .where = graph->blamed ? *graph->blamed : here};
    if (graph->arena.failed) return fail_memory(graph, here);
    graph->status = infer_node(op, inputs, num_inputs, own, &node, &graph->context->error);
    if (graph->status != LIANA_OK) {
        liana__text call = {0};
        describe_call(op, inputs, num_inputs, &call);
        liana__fail_within(&graph->context->error, "%s:%d: %s", node.where.file, node.where.line,
                           call.data ? call.data : op->name);
        liana__text_free(&call);
        return (liana_tensor){graph, 0};
    }
    const liana__node *made = liana__graph_keep_bodies(graph, &node) ? append_node(graph, &node) : NULL;
    return made ? liana__node_tensor(graph, made) : fail_memory(graph, here);
}

enum { MAX_INPUTS = 1024 };

liana_tensor liana__build(liana_location here, liana_graph *graph, const liana__op *op, const liana_tensor *inputs,
                          size_t num_inputs, const void *attributes)
{
    for (size_t i = 0; i < num_inputs && !graph; i++) graph = inputs[i].graph;
    if (!graph) return (liana_tensor){0};
    if (graph->status != LIANA_OK) return (liana_tensor){graph, 0};
    const size_t most = liana__op_most_inputs(op);
    if (num_inputs < op->num_inputs || num_inputs > most || num_inputs > MAX_INPUTS) {
        return liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT, "%s got %zu inputs, expected %zu to %zu",
                                 op->name, num_inputs, op->num_inputs, most);
    }
    liana__node *nodes[MAX_INPUTS];
    for (size_t i = 0; i < num_inputs; i++) {
        nodes[i] = inputs[i].graph == graph ? liana__tensor_node(inputs[i]) : NULL;
        if (nodes[i]) continue;
        return liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT, "%s: input %zu is not a tensor of this graph",
                                 op->name, i);
    }
    return build_checked(here, graph, op, nodes, num_inputs, attributes);
}

liana_tensor liana__build1(liana_location here, const liana__op *op, liana_tensor a, const void *attributes)
{
    return liana__build(here, a.graph, op, &a, 1, attributes);
}

liana_tensor liana__build2(liana_location here, const liana__op *op, liana_tensor a, liana_tensor b,
                           const void *attributes)
{
    return liana__build(here, a.graph, op, (liana_tensor[]){a, b}, 2, attributes);
}

liana_tensor liana__build3(liana_location here, const liana__op *op, liana_tensor a, liana_tensor b, liana_tensor c,
                           const void *attributes)
{
    return liana__build(here, a.graph, op, (liana_tensor[]){a, b, c}, 3, attributes);
}

/* ---- checks for inference ---- */

liana_status liana__infer_fail(liana__infer *infer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    liana__fail_list(infer->error, LIANA_INVALID_ARGUMENT, format, arguments);
    va_end(arguments);
    return LIANA_INVALID_ARGUMENT;
}

liana_status liana__infer_rank(liana__infer *infer, size_t index, int rank, const char *layout)
{
    if (infer->inputs[index]->shape.rank == rank) return LIANA_OK;
    return liana__infer_fail(infer, "input %zu has rank %d, expected %d: %s", index, infer->inputs[index]->shape.rank,
                             rank, layout);
}

liana_status liana__infer_float(liana__infer *infer, size_t index)
{
    if (liana__dtype_computes(infer->inputs[index]->dtype)) return LIANA_OK;
    return liana__infer_fail(infer, "input %zu is %s, expected f32, bf16 or f64; use liana_op_cast first", index,
                             liana_dtype_name(infer->inputs[index]->dtype));
}

liana_status liana__infer_same_dtype(liana__infer *infer, size_t a, size_t b)
{
    liana_dtype first = infer->inputs[a]->dtype, second = infer->inputs[b]->dtype;
    if (first == second) return LIANA_OK;
    return liana__infer_fail(infer,
                             "inputs %zu and %zu are %s and %s, expected the same dtype; use liana_op_cast first", a, b,
                             liana_dtype_name(first), liana_dtype_name(second));
}

liana_status liana__infer_shape(liana__infer *infer, const char *name, const liana_shape *found, const char *whose,
                                const liana_shape *expected)
{
    if (liana_shape_equal(found, expected)) return LIANA_OK;
    return liana__infer_fail(infer, "%s has the shape %s, expected %s %s", name, liana__shape_print(found).text, whose,
                             liana__shape_print(expected).text);
}

liana_status liana__infer_axis(liana__infer *infer, int64_t axis, int rank, int *normal)
{
    *normal = (int)(axis < 0 ? axis + rank : axis);
    if (axis >= -rank && axis < rank) return LIANA_OK;
    return liana__infer_fail(infer, "axis %lld is out of range for rank %d, expected %d to %d", (long long)axis, rank,
                             -rank, rank - 1);
}

liana_status liana__infer_by_axis(liana__infer *infer, const liana__ints *numbers)
{
    int rank = infer->inputs[0]->shape.rank;
    if (numbers->count == rank) return LIANA_OK;
    return liana__infer_fail(infer, "an attribute has %lld numbers, expected %d, one for each axis of the input",
                             (long long)numbers->count, rank);
}

liana_status liana__infer_like_input(liana__infer *infer)
{
    infer->dtype = infer->inputs[0]->dtype;
    infer->shape = infer->inputs[0]->shape;
    return LIANA_OK;
}

void liana__no_gradient(liana__gradient *gradient)
{
    (void)gradient;
}

/* ---- whole graphs ---- */

void liana__graph_mark_needed(const liana_graph *graph, bool *needed)
{
    memset(needed, 0, graph->num_nodes * sizeof *needed);
    for (size_t i = 0; i < liana__graph_num_results(graph); i++) needed[liana__graph_result(graph, i)->id] = true;
    for (size_t id = graph->num_nodes - 1; id > 0; id--) {
        if (!needed[id]) continue;
        const liana__node *node = graph->nodes[id];
        for (uint32_t i = 0; i < node->num_inputs; i++) needed[node->inputs[i]->id] = true;
    }
}

static liana_status verify_node(const liana_graph *graph, size_t id, liana__error *error)
{
    const liana__node *node = graph->nodes[id];
    if (node->id != id) return liana__fail(error, LIANA_INTERNAL, "node %zu says that it is node %u", id, node->id);
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        const liana__node *input = node->inputs[i];
        if (input->id >= id || graph->nodes[input->id] != input) {
            return liana__fail(error, LIANA_INTERNAL, "node %zu (%s) has an input that does not come before it", id,
                               node->op->name);
        }
    }
    if (!node->op->infer) return LIANA_OK;
    for (size_t i = 0; i < node->op->num_bodies; i++) {
        if (liana__graph_verify(liana__node_body(node, i), error) != LIANA_OK) {
            return liana__fail_within(error, "body %zu of node %zu (%s)", i, id, node->op->name);
        }
    }
    size_t size = node->op->attributes ? node->op->attributes->size : 0;
    LIANA__SCOPED_MEMORY void *copy = size ? malloc(size) : NULL;
    if (size && !copy) return liana__fail_memory(error, "the verifier");
    if (size) memcpy(copy, node->attributes, size);
    liana__node again = {0};
    liana_status status = infer_node(node->op, node->inputs, node->num_inputs, copy, &again, error);
    if (status != LIANA_OK)
        return liana__fail_within(error, "node %zu (%s) fails its own inference", id, node->op->name);
    if (again.dtype != node->dtype || !liana_shape_equal(&again.shape, &node->shape)) {
        return liana__fail(error, LIANA_INTERNAL, "node %zu (%s) is recorded as %s but infers as %s", id,
                           node->op->name, liana__type_print(node->dtype, &node->shape).text,
                           liana__type_print(again.dtype, &again.shape).text);
    }
    return LIANA_OK;
}

liana_status liana__graph_verify(const liana_graph *graph, liana__error *error)
{
    for (size_t id = 1; id < graph->num_nodes; id++) LIANA_TRY(verify_node(graph, id, error));
    for (size_t i = 0; i < graph->num_assignments; i++) {
        const liana__assignment *assignment = &graph->assignments[i];
        if (assignment->variable->dtype != assignment->value->dtype ||
            !liana_shape_equal(&assignment->variable->shape, &assignment->value->shape)) {
            return liana__fail(error, LIANA_INTERNAL, "the assignment to variable '%s' changes its type",
                               assignment->variable->name);
        }
    }
    return LIANA_OK;
}
