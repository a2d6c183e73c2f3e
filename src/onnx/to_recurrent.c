/* Recurrent layers as LSTM, GRU and RNN: a scan whose body is the usual cell of one of them. Runtimes have kernels for
 * these, and know them where they do not know loops. */
#include "onnx/op_table.h"
#include "ops/control/scan.h"
#include "ops/fused/recurrent_cell.h"
#include "ops/linear/matmul.h"
#include "ops/shape/slice_pad.h"

#include <string.h>

typedef struct cell_kind {
    const char *type;
    int64_t gates;
    int order[4]; /* gate i of ONNX is gate order[i] of liana */
} cell_kind;

static const cell_kind lstm = {"LSTM", 4, {0, 3, 1, 2}}, gru = {"GRU", 3, {0, 1, 2}}, rnn = {"RNN", 1, {0}};

/* What a scan is made of. Matrices are [in, gates * units], biases [gates * units] or NULL. */
typedef struct recurrent {
    const cell_kind *kind;
    int64_t units, features;
    const liana__node *x; /* [steps, batch, features] */
    const float *kernel, *bias, *inner, *inner_bias;
    const char *activation; /* of an RNN */
} recurrent;

/* ---- recognising it ---- */

/* a or b of an addition that the other one is a vector of weights for. NULL: there is none. */
static const liana__node *without_bias(const liana__onnx_scope *scope, const liana__node *sum, const float **bias)
{
    *bias = NULL;
    if (sum->op != &liana__op_add) return sum;
    for (int side = 0; side < 2; side++) {
        const liana__node *vector = sum->inputs[1 - side];
        const void *data = liana__onnx_data(scope, vector);
        if (!data || vector->shape.rank != 1 || vector->shape.dims[0] != sum->shape.dims[sum->shape.rank - 1]) continue;
        *bias = data;
        return sum->inputs[side];
    }
    return NULL;
}

static bool is_plain_product(const liana__node *node)
{
    const liana__matmul_attributes *options = node->attributes;
    return node->op == &liana__op_matmul && node->shape.rank == 2 && node->dtype == LIANA_F32 &&
           !options->transpose_a && !options->transpose_b;
}

/* h R, with or without a bias. */
static bool find_inner(const liana__onnx_scope *body, const liana__node *inner, recurrent *found)
{
    const liana__node *product = without_bias(body, inner, &found->inner_bias);
    if (!product || !is_plain_product(product) || product->inputs[0] != body->graph->inputs[0]) return false;
    found->inner = liana__onnx_data(body, product->inputs[1]);
    found->units = product->inputs[1]->shape.dims[0];
    return found->inner && product->shape.dims[1] == found->kind->gates * found->units;
}

/* Whether a node is `units` columns of another one, from `first` on. */
static bool is_columns(const liana__node *node, const liana__node *of, int64_t first, int64_t units)
{
    const liana__slice_attributes *part = node->attributes;
    return node->op == &liana__op_slice && node->inputs[0] == of && part->start.values[0] == 0 &&
           part->start.values[1] == first && node->shape.rank == 2 && node->shape.dims[1] == units &&
           node->shape.dims[0] == of->shape.dims[0];
}

static bool find_lstm(const liana__onnx_scope *body, recurrent *found)
{
    const liana_graph *graph = body->graph;
    const liana__node *h = graph->outputs[0].node, *c = graph->outputs[1].node;
    const liana__node *cell = h->num_inputs ? h->inputs[0] : NULL;
    found->kind = &lstm;
    if (!cell || cell->op != &liana__op_lstm_cell || cell->inputs[0] != graph->inputs[2]) return false;
    if (cell->inputs[2] != graph->inputs[1] || !find_inner(body, cell->inputs[1], found)) return false;
    return is_columns(h, cell, 0, found->units) && is_columns(c, cell, found->units, found->units);
}

static bool find_gru(const liana__onnx_scope *body, recurrent *found)
{
    const liana_graph *graph = body->graph;
    const liana__node *cell = graph->outputs[0].node;
    found->kind = &gru;
    return cell->op == &liana__op_gru_cell && cell->inputs[0] == graph->inputs[1] &&
           cell->inputs[2] == graph->inputs[0] && find_inner(body, cell->inputs[1], found);
}

static bool find_rnn(const liana__onnx_scope *body, recurrent *found)
{
    const liana_graph *graph = body->graph;
    const liana__node *h = graph->outputs[0].node, *sum = h->num_inputs == 1 ? h->inputs[0] : NULL;
    found->kind = &rnn;
    found->activation = h->op == &liana__op_tanh ? "Tanh" : "Relu";
    if (!sum || (h->op != &liana__op_tanh && h->op != &liana__op_relu) || sum->op != &liana__op_add) return false;
    return sum->inputs[0] == graph->inputs[1] && find_inner(body, sum->inputs[1], found);
}

/* The body is one cell, which gives nothing but its states. */
static bool find_cell(const liana__onnx_scope *body, const liana__scan_attributes *scan, recurrent *found)
{
    const liana_graph *graph = body->graph;
    const size_t num_states = (size_t)scan->num_carries;
    if (scan->num_xs != 1 || num_states < 1 || num_states > 2 || graph->num_outputs > num_states + 1) return false;
    if (graph->num_outputs > num_states && graph->outputs[num_states].node != graph->outputs[0].node) return false;
    return num_states == 2 ? find_lstm(body, found) : find_gru(body, found) || find_rnn(body, found);
}

/* x W + b of all steps, which the scan reads. */
static bool find_projection(const liana__onnx_scope *scope, const liana__node *rows, recurrent *found)
{
    const liana__node *wide = without_bias(scope, rows, &found->bias);
    const liana__node *product = wide ? liana__onnx_value_of(scope, wide)->product : NULL;
    if (!product || !is_plain_product(product) || wide->shape.rank != 3) return false;
    found->x = product->inputs[0]->inputs[0];
    found->kernel = liana__onnx_data(scope, product->inputs[1]);
    found->features = product->inputs[1]->shape.dims[0];
    return found->kernel && found->x->dtype == LIANA_F32 && product->shape.dims[1] == found->kind->gates * found->units;
}

static bool recognise(liana__onnx_scope *scope, const liana__node *node, recurrent *found)
{
    const liana__scan_attributes *scan = node->attributes;
    const size_t num_given = (size_t)(scan->num_carries + scan->num_xs);
    liana__onnx_scope *body = liana__onnx_body_scope(scope, node, 0);
    if (!body) return false;
    for (size_t i = num_given; i < node->num_inputs; i++) {
        liana__onnx_value_of(body, body->graph->inputs[i])->around = node->inputs[i];
    }
    liana__onnx_analyse(body);
    return find_cell(body, scan, found) && find_projection(scope, node->inputs[scan->num_carries], found);
}

/* ---- writing it ---- */

/* [in, gates * units] as ONNX's [1, gates * units, in], with its order of gates. */
static const char *matrix(liana__onnx_scope *scope, const liana__node *node, const recurrent *own, const float *from,
                          int64_t in, const char *name)
{
    const int64_t units = own->units, width = own->kind->gates * units;
    const liana_shape shape = liana_shape_of(1, width, in);
    float *to = liana__onnx_allocate(scope->file, (size_t)(width * in) * sizeof *to);
    if (!to) return "";
    for (int64_t row = 0; row < width; row++) {
        const int64_t column = own->kind->order[row / units] * units + row % units;
        for (int64_t i = 0; i < in; i++) to[row * in + i] = from[i * width + column];
    }
    name = liana__arena_format(scope->file->arena, "%s/%s", liana__onnx_layer_of(scope, node), name);
    return liana__onnx_constant(scope, name ? name : "", LIANA_F32, &shape, to);
}

/* Both biases, [1, 2 * gates * units]. "": there is none. */
static const char *biases(liana__onnx_scope *scope, const liana__node *node, const recurrent *own)
{
    const int64_t units = own->units, width = own->kind->gates * units;
    const float *parts[] = {own->bias, own->inner_bias};
    const liana_shape shape = liana_shape_of(1, 2 * width);
    float *to = liana__onnx_allocate(scope->file, (size_t)(2 * width) * sizeof *to);
    if (!to || (!own->bias && !own->inner_bias)) return "";
    for (int64_t i = 0; i < 2 * width; i++) {
        const float *from = parts[i / width];
        const int64_t row = i % width;
        if (from) to[i] = from[own->kind->order[row / units] * units + row % units];
    }
    const char *name = liana__arena_format(scope->file->arena, "%s/bias", liana__onnx_layer_of(scope, node));
    return liana__onnx_constant(scope, name ? name : "", LIANA_F32, &shape, to);
}

static bool are_zeros(const liana__onnx_scope *scope, const liana__node *node)
{
    if (node->op == &liana__op_broadcast_to) node = node->inputs[0];
    const float *data = liana__onnx_data(scope, node);
    bool all = data != NULL;
    for (int64_t i = 0; all && i < liana_shape_size(&node->shape); i++) all = data[i] == 0;
    return all;
}

/* Another axis of size 1 at the place, or one less. */
static const char *change_axes(liana__onnx_scope *scope, const liana__node *node, const char *op, const char *x,
                               int64_t place)
{
    return liana__onnx_say(scope, node, op, LIANA__ONNX_OF(x, liana__onnx_list_of(scope, "axes", &place, 1)), NULL);
}

static void write_layer(liana__onnx_scope *scope, const liana__node *node, const recurrent *own)
{
    const liana__scan_attributes *scan = node->attributes;
    const size_t num_states = (size_t)scan->num_carries, count = liana__node_body(node, 0)->num_outputs;
    const char **results = liana__onnx_allocate(scope->file, (count + 1) * sizeof *results), *outputs[3];
    if (!results) return;
    const char *inputs[] = {liana__onnx_name(scope, own->x, LIANA__ONNX_NATURAL),
                            matrix(scope, node, own, own->kernel, own->features, "kernel"),
                            matrix(scope, node, own, own->inner, own->units, "recurrent_kernel"),
                            biases(scope, node, own),
                            "",
                            "",
                            "",
                            NULL};
    bool begins = false;
    for (size_t i = 0; i < num_states; i++) begins = begins || !are_zeros(scope, node->inputs[i]);
    for (size_t i = 0; begins && i < num_states; i++) {
        inputs[5 + i] = change_axes(scope, node, "Unsqueeze", liana__onnx_input(scope, node, i), 0);
    }
    if (!begins) inputs[*inputs[3] ? 4 : 3] = NULL;
    if (begins && num_states == 1) inputs[6] = NULL;
    const liana__onnx_attribute all[] = {
        LIANA__ONNX_INT("hidden_size", own->units),
        LIANA__ONNX_TEXT("direction", scan->reverse ? "reverse" : "forward"),
        LIANA__ONNX_INT("linear_before_reset", 1),
        {.name = NULL},
    };
    liana__onnx_attribute used[4];
    memcpy(used, all, sizeof used);
    if (own->kind != &gru) used[2].name = NULL;
    if (own->kind == &rnn && strcmp(own->activation, "Relu") == 0) {
        used[2] = (liana__onnx_attribute){.name = "activations",
                                          .type = LIANA__ONNX__ATTRIBUTE__ATTRIBUTE_TYPE__STRINGS,
                                          .text = own->activation};
    }
    liana__onnx_say_many(scope, node, own->kind->type, inputs, used, outputs, num_states + 1);
    for (size_t i = 0; i < num_states; i++) results[i] = change_axes(scope, node, "Squeeze", outputs[1 + i], 0);
    if (count > num_states) results[num_states] = change_axes(scope, node, "Squeeze", outputs[0], 1);
    liana__onnx_value_of(scope, node)->parts = results;
}

bool liana__onnx_to_recurrent(liana__onnx_scope *scope, const liana__node *node)
{
    recurrent found = {.kind = NULL};
    if (!recognise(scope, node, &found)) return false;
    write_layer(scope, node, &found);
    return true;
}
