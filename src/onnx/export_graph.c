/* A graph of liana as a graph of ONNX: what is computed beforehand, which nodes become one, in which layout each is
 * written; then all nodes in order. */
#include "ir/body.h"
#include "kernels/kernel_choice.h"
#include "onnx/op_table.h"
#include "ops/shape/slice_pad.h"

#include <stdlib.h>
#include <string.h>

/* ---- data: constants, weights, and what follows from them alone ---- */

enum {
    MOST_GROWN = 1 << 12, /* bytes of a result that is larger than what it is computed of */
};

static bool same_constants(const liana__node *a, const liana__node *b)
{
    return liana_shape_equal(&a->shape, &b->shape) &&
           memcmp(liana__constant_data(a), liana__constant_data(b), liana__byte_size(a->dtype, &a->shape)) == 0;
}

static void find_leaf(liana__onnx_scope *scope, const liana__node *node)
{
    liana__onnx_value *value = liana__onnx_value_of(scope, node);
    if (liana__is_variable(node)) {
        const liana_model *model = scope->file->model;
        const int weight = model ? liana__model_find_weight(model, node->name) : -1;
        if (weight < 0) {
            liana__onnx_refuse(scope, node, "the variable '%s', which is no weight of the model", node->name);
            return;
        }
        value->data = model->values[weight];
        value->data_name = node->name;
    }
    if (!liana__is_constant(node)) return;
    if (same_constants(node, liana__onnx_twin(scope, node))) {
        value->data = liana__constant_data(node);
    } else {
        liana__onnx_refuse(scope, node, "constants that depend on the batch; give the file a fixed one (--batch)");
    }
}

static bool may_fold(const liana__onnx_scope *scope, const liana__node *node)
{
    size_t bytes = 0;
    if (liana__is_leaf(node) || node->op->num_bodies || !liana__onnx_is_fixed(scope, node)) return false;
    if (!node->num_inputs && node->op != &liana__op_iota) return false;
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        if (!liana__onnx_data(scope, node->inputs[i])) return false;
        bytes += liana__byte_size(node->inputs[i]->dtype, &node->inputs[i]->shape);
    }
    const size_t size = liana__byte_size(node->dtype, &node->shape);
    return (size <= bytes || size <= MOST_GROWN) && !liana__reference_kernel(node)->prepare;
}

static void fold(liana__onnx_scope *scope, const liana__node *node)
{
    liana__onnx_value *value = liana__onnx_value_of(scope, node);
    const void *sources[64];
    if (node->num_inputs > sizeof sources / sizeof *sources) return;
    for (uint32_t i = 0; i < node->num_inputs; i++) sources[i] = liana__onnx_data(scope, node->inputs[i]);
    if (node->op == &liana__op_reshape || node->op == &liana__op_stop_gradient) {
        value->data = sources[0];
        value->data_name = liana__onnx_value_of(scope, node->inputs[0])->data_name;
        return;
    }
    void *result = liana__onnx_allocate(scope->file, liana__byte_size(node->dtype, &node->shape));
    const liana__call call = {.node = node, .src = sources, .dst = result};
    if (!result) return;
    const liana_status status = liana__reference_kernel(node)->run(&call);
    if (status != LIANA_OK) liana__onnx_fail(scope->file, status, "ONNX: %s failed", liana__node_print(node).text);
    value->data = result;
}

/* ---- nodes that become one ---- */

static bool is_used_once(const liana__onnx_scope *scope, const liana__node *node)
{
    return liana__onnx_value_of(scope, node)->num_uses == 1 && !liana__onnx_data(scope, node);
}

bool liana__onnx_keeps_ends(const liana__onnx_scope *scope, const liana__node *reshape)
{
    const liana__node *x = reshape->inputs[0];
    const int rank = reshape->shape.rank, old = x->shape.rank;
    return rank >= 3 && old >= 3 &&
           liana__onnx_size_equal(liana__onnx_dim(scope, reshape, 0), liana__onnx_dim(scope, x, 0)) &&
           liana__onnx_size_equal(liana__onnx_dim(scope, reshape, rank - 1), liana__onnx_dim(scope, x, old - 1));
}

static bool is_forward(const liana__node *node)
{
    const liana__op *op = node->op;
    return op == &liana__op_conv2d || op == &liana__op_depthwise_conv2d || op == &liana__op_conv3d;
}

static bool is_convolution(const liana__node *node)
{
    const liana__op *op = node->op;
    return is_forward(node) || op == &liana__op_conv2d_input_gradient ||
           op == &liana__op_depthwise_conv2d_input_gradient || op == &liana__op_conv3d_input_gradient;
}

/* A convolution, or a product of matrices that Gemm says, whose only reader adds a number for each channel. */
static bool takes_bias(const liana__onnx_scope *scope, const liana__node *node)
{
    if (!is_used_once(scope, node) || node->dtype != LIANA_F32 || liana__onnx_value_of(scope, node)->bias) return false;
    return is_convolution(node) ||
           (node->op == &liana__op_matmul && node->shape.rank == 2 && liana__onnx_data(scope, node->inputs[1]));
}

static void join_bias(liana__onnx_scope *scope, const liana__node *add)
{
    for (int side = 0; side < 2; side++) {
        const liana__node *sum = add->inputs[side], *bias = add->inputs[1 - side], *source = sum;
        const int64_t channels = add->shape.dims[add->shape.rank - 1];
        if (!liana__onnx_data(scope, bias) || bias->shape.rank != 1 || bias->shape.dims[0] != channels) continue;
        if (sum->op == &liana__op_reshape && is_used_once(scope, sum) && liana__onnx_keeps_ends(scope, sum) &&
            is_convolution(sum->inputs[0])) {
            source = sum->inputs[0];
        }
        if (!takes_bias(scope, source) || sum->shape.rank != add->shape.rank) continue;
        if (liana__onnx_value_of(scope, sum)->product) continue;
        liana__onnx_value_of(scope, source)->bias = bias;
        liana__onnx_value_of(scope, add)->same_as = sum;
        return;
    }
}

/* Zeros around images before a convolution are its own padding. */
static void join_padding(liana__onnx_scope *scope, const liana__node *convolution)
{
    const liana__node *pad = convolution->inputs[0];
    const int last = pad->shape.rank - 1;
    if (pad->op != &liana__op_pad || !is_used_once(scope, pad)) return;
    const liana__pad_attributes *own = pad->attributes;
    if (own->value != 0 || own->low.values[0] || own->high.values[0]) return;
    if (own->low.values[last] || own->high.values[last]) return;
    for (int i = 0; i <= last; i++) {
        if (own->interior.values[i]) return;
    }
    liana__onnx_value_of(scope, convolution)->padding = pad;
    liana__onnx_value_of(scope, pad)->is_joined = true;
}

/* liana multiplies a sequence by a matrix as one large matrix: reshape, matmul, reshape. MatMul needs no reshapes. */
static void join_product(liana__onnx_scope *scope, const liana__node *reshape)
{
    const liana__node *product = reshape->inputs[0];
    if (product->op != &liana__op_matmul || !is_used_once(scope, product)) return;
    const liana__node *rows = product->inputs[0], *x = rows->op == &liana__op_reshape ? rows->inputs[0] : NULL;
    const int rank = reshape->shape.rank;
    if (!x || rank < 3 || x->shape.rank != rank || product->shape.rank != 2) return;
    if (!liana__onnx_data(scope, product->inputs[1]) || liana__onnx_int(product, "transpose_a")) return;
    if (rows->shape.rank != 2 || rows->shape.dims[1] != x->shape.dims[rank - 1]) return;
    if (product->shape.dims[1] != reshape->shape.dims[rank - 1]) return;
    for (int i = 0; i < rank - 1; i++) {
        if (!liana__onnx_size_equal(liana__onnx_dim(scope, x, i), liana__onnx_dim(scope, reshape, i))) return;
    }
    liana__onnx_value_of(scope, reshape)->product = product;
    liana__onnx_value_of(scope, product)->is_joined = true;
    if (is_used_once(scope, rows)) liana__onnx_value_of(scope, rows)->is_joined = true;
}

/* ---- layouts ---- */

/* Between the first and the last axis nothing has a size: both layouts are the same row of elements. */
static bool is_thin(const liana__node *node)
{
    for (int i = 1; i < node->shape.rank - 1; i++) {
        if (node->shape.dims[i] != 1) return false;
    }
    return true;
}

static liana__onnx_layout follow(const liana__onnx_scope *scope, const liana__node *node)
{
    bool has_input = false, is_natural = false;
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        const liana__node *input = node->inputs[i];
        const liana__onnx_layout layout = liana__onnx_value_of(scope, input)->layout;
        if (liana__onnx_data(scope, input) || input->shape.rank != node->shape.rank) continue;
        if (layout == LIANA__ONNX_CHANNELS_FIRST) return layout;
        is_natural = is_natural || (layout == LIANA__ONNX_NATURAL && (node->num_inputs == 1 || !is_thin(input)));
        has_input = true;
    }
    return is_natural || !has_input ? LIANA__ONNX_NATURAL : LIANA__ONNX_EITHER;
}

static liana__onnx_layout choose_layout(const liana__onnx_scope *scope, const liana__node *node)
{
    const liana__onnx_op *row = liana__onnx_find_op(node->op);
    const liana__onnx_value *value = liana__onnx_value_of(scope, node);
    if (node->shape.rank < 3 || !row || value->product) return LIANA__ONNX_NATURAL;
    if (value->same_as) return liana__onnx_value_of(scope, value->same_as)->layout;
    switch (row->rule) {
    case LIANA__ONNX_IMAGES: return LIANA__ONNX_CHANNELS_FIRST;
    case LIANA__ONNX_FOLLOWS: return follow(scope, node);
    case LIANA__ONNX_REDUCES: return liana__onnx_int(node, "keep_dims") ? follow(scope, node) : LIANA__ONNX_NATURAL;
    case LIANA__ONNX_SHAPES:
        if (liana__onnx_keeps_ends(scope, node)) return liana__onnx_value_of(scope, node->inputs[0])->layout;
        return is_thin(node) ? LIANA__ONNX_EITHER : LIANA__ONNX_NATURAL;
    default: return LIANA__ONNX_NATURAL;
    }
}

/* From the last node to the first: what may be in either layout gets that of its readers. */
static void settle_layouts(liana__onnx_scope *scope, bool *wants_first)
{
    const liana_graph *graph = scope->graph;
    for (size_t id = graph->num_nodes - 1; id > 0; id--) {
        const liana__node *node = graph->nodes[id];
        liana__onnx_value *value = &scope->values[id];
        const liana__onnx_op *row = liana__onnx_find_op(node->op);
        if (value->layout == LIANA__ONNX_EITHER) value->layout = wants_first[id] ? LIANA__ONNX_CHANNELS_FIRST : 0;
        if (!value->is_needed || value->layout != LIANA__ONNX_CHANNELS_FIRST || !row) continue;
        const uint32_t count = row->rule == LIANA__ONNX_IMAGES ? 1 : node->num_inputs;
        for (uint32_t i = 0; i < count; i++) wants_first[node->inputs[i]->id] = true;
    }
}

/* ---- a scope ---- */

void liana__onnx_analyse(liana__onnx_scope *scope)
{
    const liana_graph *graph = scope->graph;
    liana__onnx_export *file = scope->file;
    bool *flags = liana__onnx_allocate(file, graph->num_nodes * sizeof *flags);
    if (!flags) return;
    if (scope->twin->num_nodes != graph->num_nodes) {
        liana__onnx_refuse(scope, NULL, "its graph depends on the batch; give the file a fixed one (--batch)");
        return;
    }
    liana__graph_mark_needed(graph, flags);
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        scope->values[id].is_needed = flags[id];
        if (node->op != scope->twin->nodes[id]->op) {
            liana__onnx_refuse(scope, node, "its graph depends on the batch; give the file a fixed one (--batch)");
            return;
        }
        if (!flags[id]) continue;
        if (liana__is_leaf(node)) find_leaf(scope, node);
        if (may_fold(scope, node)) fold(scope, node);
        for (uint32_t i = 0; i < node->num_inputs; i++) scope->values[node->inputs[i]->id].num_uses++;
    }
    for (size_t i = 0; i < graph->num_outputs; i++) scope->values[graph->outputs[i].node->id].num_uses += 2;
    memset(flags, 0, graph->num_nodes * sizeof *flags);
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        if (!scope->values[id].is_needed || scope->values[id].data) continue;
        if (node->op == &liana__op_reshape) join_product(scope, node);
        if (node->op == &liana__op_add && node->shape.rank > 0) join_bias(scope, node);
        if (is_forward(node)) join_padding(scope, node);
        scope->values[id].layout = choose_layout(scope, node);
    }
    settle_layouts(scope, flags);
}

static void emit_node(liana__onnx_scope *scope, const liana__node *node)
{
    const liana__onnx_op *row = liana__onnx_find_op(node->op);
    const liana__onnx_value *value = liana__onnx_value_of(scope, node);
    if (!value->is_needed || value->is_joined || value->same_as || liana__is_leaf(node)) return;
    if (liana__onnx_data(scope, node)) return;
    if (value->product) {
        liana__onnx_to_matmul(scope, node, "MatMul");
    } else if (row) {
        row->write(scope, node, row->type);
    } else {
        liana__onnx_refuse(scope, node, "the op '%s'", node->op->name);
    }
}

void liana__onnx_emit(liana__onnx_scope *scope)
{
    for (size_t id = 1; id < scope->graph->num_nodes && scope->file->status == LIANA_OK; id++) {
        emit_node(scope, scope->graph->nodes[id]);
    }
}

liana__onnx_scope *liana__onnx_body_scope(liana__onnx_scope *outer, const liana__node *node, size_t body)
{
    liana__onnx_export *file = outer->file;
    liana__onnx_scope *scope = liana__onnx_allocate(file, sizeof *scope);
    if (!scope) return NULL;
    *scope = (liana__onnx_scope){.file = file,
                                 .outer = outer,
                                 .graph = liana__node_body(node, body),
                                 .twin = liana__node_body(liana__onnx_twin(outer, node), body),
                                 .layer = liana__onnx_layer_of(outer, node)};
    scope->values = liana__onnx_allocate(file, scope->graph->num_nodes * sizeof *scope->values);
    return scope->values ? scope : NULL;
}
