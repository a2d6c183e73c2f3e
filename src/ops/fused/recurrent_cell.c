/* lstm_cell and gru_cell: all that a cell computes element by element in one step, and its gradient. */
#include "ops/fused/recurrent_cell.h"

#include "ops/shape/slice_pad.h"
#include "stablehlo/lowering.h"

#include <math.h>

/* What a unit of a row computes of its values: the gates of x, those of inner, states and gradients. */
typedef struct cell {
    int gates, results;
    void (*compute)(const double *in, double *out);
    void (*lower)(liana__lowering *l, const liana__hlo *in, liana__hlo *out);
} cell;

static liana_status infer_cell(liana__infer *infer)
{
    const cell *own = infer->op->details;
    LIANA_TRY(liana__infer_rank(infer, 2, 2, "[batch, units]"));
    const liana_shape state = infer->inputs[2]->shape,
                      gates = liana_shape_of(state.dims[0], own->gates * state.dims[1]);
    for (size_t i = 0; i < infer->num_inputs; i++) {
        LIANA_TRY(liana__infer_float(infer, i));
        LIANA_TRY(liana__infer_same_dtype(infer, 0, i));
        const bool has_gates = i < 2;
        if (liana_shape_equal(&infer->inputs[i]->shape, has_gates ? &gates : &state)) continue;
        return liana__infer_fail(infer, "input %zu has the shape %s, expected %s, %d gates of the %lld units", i,
                                 liana__shape_print(&infer->inputs[i]->shape).text,
                                 liana__shape_print(has_gates ? &gates : &state).text, has_gates ? own->gates : 1,
                                 (long long)state.dims[1]);
    }
    infer->dtype = infer->inputs[0]->dtype;
    infer->shape = liana_shape_of(state.dims[0], own->results * state.dims[1]);
    return LIANA_OK;
}

static liana_status run_reference(const liana__call *call)
{
    const liana__node *node = call->node;
    const cell *own = node->op->details;
    const int64_t units = liana__input_shape(node, 2)->dims[1];
    double in[LIANA__CELL_MOST_VALUES], out[LIANA__CELL_MOST_VALUES];
    for (int64_t i = 0; i < node->shape.dims[0] * units; i++) {
        const int64_t row = i / units, unit = i % units;
        int count = 0;
        for (uint32_t input = 0; input < node->num_inputs; input++) {
            const int columns = input < 2 ? own->gates : 1;
            for (int k = 0; k < columns; k++) {
                in[count++] = liana__load(call->src[input], node->dtype, (row * columns + k) * units + unit);
            }
        }
        own->compute(in, out);
        for (int k = 0; k < own->results; k++) {
            liana__store(call->dst, node->dtype, (row * own->results + k) * units + unit, out[k]);
        }
    }
    return LIANA_OK;
}

/* Column k of `units` columns each. */
static liana__hlo column(liana__lowering *l, liana__hlo x, int k, int64_t units)
{
    const int64_t start[] = {0, k * units}, limit[] = {x.shape.dims[0], (k + 1) * units}, strides[] = {1, 1};
    return liana__hlo_slice(l, x, start, limit, strides);
}

static liana_status lower_cell(liana__lowering *l, const liana__node *node)
{
    const cell *own = node->op->details;
    const int64_t units = liana__input_shape(node, 2)->dims[1];
    liana__hlo in[LIANA__CELL_MOST_VALUES], out[LIANA__CELL_MOST_VALUES];
    int count = 0;
    for (uint32_t input = 0; input < node->num_inputs; input++) {
        const liana__hlo x = liana__hlo_widen(l, liana__hlo_input(l, node, input));
        const int columns = input < 2 ? own->gates : 1;
        for (int k = 0; k < columns; k++) in[count++] = columns > 1 ? column(l, x, k, units) : x;
    }
    own->lower(l, in, out);
    liana__hlo result = own->results == 1 ? out[0] : liana__hlo_concatenate(l, out, (size_t)own->results, 1);
    return liana__hlo_give(l, node, liana__hlo_convert(l, result, node->dtype));
}

static void cost_of(const liana__node *node, liana__cost *cost)
{
    const cell *own = node->op->details;
    cost->flops = 8.0 * own->gates * (double)liana_shape_size(liana__input_shape(node, 2));
    cost->family = "element-wise ops";
}

/* ---- gradients ---- */

static liana_tensor take_columns(liana_location here, liana_tensor x, int64_t begin, int64_t end)
{
    const int64_t start[] = {0, begin}, limit[] = {liana_tensor_shape(x).dims[0], end};
    return liana_op_slice_at(here, x, start, limit, NULL);
}

/* The gradients of both results of an LSTM come as a sum of two between zeros. They are taken apart where they are such
 * a sum. */
static liana_tensor gradient_of(liana_location here, liana_tensor gradient, int64_t begin, int64_t units)
{
    const liana__node *node = liana__tensor_node(gradient);
    for (uint32_t i = 0; node && node->op == &liana__op_add && i < 2; i++) {
        const liana__node *term = node->inputs[i], *other = node->inputs[1 - i];
        if (term->op != &liana__op_pad || other->op != &liana__op_pad) break;
        const liana__pad_attributes *pad = term->attributes, *rest = other->attributes;
        const bool is_own = pad->low.values[1] == begin && liana__input_shape(term, 0)->dims[1] == units;
        const bool is_apart = rest->low.values[1] != begin && liana__input_shape(other, 0)->dims[1] == units;
        if (is_own && is_apart && pad->value == 0 && rest->value == 0) {
            return liana__node_tensor(gradient.graph, term->inputs[0]);
        }
    }
    return take_columns(here, gradient, begin, begin + units);
}

static void lstm_gradient(liana__gradient *g)
{
    const liana_location here = g->node->where;
    const int64_t units = liana__input_shape(g->node, 2)->dims[1];
    liana_tensor dh = gradient_of(here, g->output_gradient, 0, units);
    liana_tensor dc = gradient_of(here, g->output_gradient, units, units);
    const liana_tensor inputs[] = {g->inputs[0], g->inputs[1], g->inputs[2], dh, dc};
    liana_tensor all = liana__build(here, dh.graph, &liana__op_lstm_cell_gradient, inputs, 5, NULL);
    liana_tensor gates = take_columns(here, all, 0, LIANA__LSTM_GATES * units);
    g->input_gradients[0] = g->input_gradients[1] = gates;
    g->input_gradients[2] = take_columns(here, all, LIANA__LSTM_GATES * units, LIANA__LSTM_GRADIENTS * units);
}

static void gru_gradient(liana__gradient *g)
{
    const liana_location here = g->node->where;
    const int64_t units = liana__input_shape(g->node, 2)->dims[1], gates = LIANA__GRU_GATES * units;
    const liana_tensor inputs[] = {g->inputs[0], g->inputs[1], g->inputs[2], g->output_gradient};
    liana_tensor all = liana__build(here, inputs[3].graph, &liana__op_gru_cell_gradient, inputs, 4, NULL);
    g->input_gradients[0] = take_columns(here, all, 0, gates);
    g->input_gradients[1] = take_columns(here, all, gates, 2 * gates);
    g->input_gradients[2] = take_columns(here, all, 2 * gates, LIANA__GRU_GRADIENTS * units);
}

/* ---- what a unit computes ---- */

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static void compute_lstm(const double *in, double *out)
{
    const double i = sigmoid(in[0] + in[4]), f = sigmoid(in[1] + in[5]), g = tanh(in[2] + in[6]);
    out[1] = f * in[8] + i * g;
    out[0] = sigmoid(in[3] + in[7]) * tanh(out[1]);
}

static void compute_lstm_gradient(const double *in, double *out)
{
    const double i = sigmoid(in[0] + in[4]), f = sigmoid(in[1] + in[5]), g = tanh(in[2] + in[6]);
    const double o = sigmoid(in[3] + in[7]), c = in[8], dh = in[9], t = tanh(f * c + i * g);
    const double dc = in[10] + dh * o * (1 - t * t);
    out[0] = dc * g * i * (1 - i);
    out[1] = dc * c * f * (1 - f);
    out[2] = dc * i * (1 - g * g);
    out[3] = dh * t * o * (1 - o);
    out[4] = dc * f;
}

static void compute_gru(const double *in, double *out)
{
    const double z = sigmoid(in[0] + in[3]), r = sigmoid(in[1] + in[4]);
    out[0] = z * in[6] + (1 - z) * tanh(in[2] + r * in[5]);
}

static void compute_gru_gradient(const double *in, double *out)
{
    const double z = sigmoid(in[0] + in[3]), r = sigmoid(in[1] + in[4]), n = tanh(in[2] + r * in[5]), dh = in[7];
    const double dn = dh * (1 - z) * (1 - n * n);
    out[0] = out[3] = dh * (in[6] - n) * z * (1 - z);
    out[1] = out[4] = dn * in[5] * r * (1 - r);
    out[2] = dn;
    out[5] = dn * r;
    out[6] = dh * z;
}

/* ---- StableHLO ---- */

static liana__hlo add(liana__lowering *l, liana__hlo a, liana__hlo b)
{
    return liana__hlo_binary(l, "add", a, b);
}

static liana__hlo multiply(liana__lowering *l, liana__hlo a, liana__hlo b)
{
    return liana__hlo_binary(l, "multiply", a, b);
}

/* 1 - x. */
static liana__hlo rest_of(liana__lowering *l, liana__hlo x)
{
    return liana__hlo_binary(l, "subtract", liana__hlo_fill(l, x.dtype, x.shape, 1), x);
}

static liana__hlo gate(liana__lowering *l, const char *function, liana__hlo x, liana__hlo inner)
{
    return liana__hlo_unary(l, function, add(l, x, inner));
}

/* The derivatives of sigmoid and tanh, of their results. */
static liana__hlo slope_of_sigmoid(liana__lowering *l, liana__hlo y)
{
    return multiply(l, y, rest_of(l, y));
}

static liana__hlo slope_of_tanh(liana__lowering *l, liana__hlo y)
{
    return rest_of(l, multiply(l, y, y));
}

static void lower_lstm(liana__lowering *l, const liana__hlo *in, liana__hlo *out)
{
    const liana__hlo i = gate(l, "logistic", in[0], in[4]), f = gate(l, "logistic", in[1], in[5]);
    const liana__hlo g = gate(l, "tanh", in[2], in[6]), o = gate(l, "logistic", in[3], in[7]);
    const liana__hlo kept = multiply(l, f, in[8]);
    out[1] = add(l, kept, multiply(l, i, g));
    out[0] = multiply(l, o, liana__hlo_unary(l, "tanh", out[1]));
}

static void lower_lstm_gradient(liana__lowering *l, const liana__hlo *in, liana__hlo *out)
{
    const liana__hlo i = gate(l, "logistic", in[0], in[4]), f = gate(l, "logistic", in[1], in[5]);
    const liana__hlo g = gate(l, "tanh", in[2], in[6]), o = gate(l, "logistic", in[3], in[7]), c = in[8], dh = in[9];
    const liana__hlo kept = multiply(l, f, c), written = multiply(l, i, g);
    const liana__hlo t = liana__hlo_unary(l, "tanh", add(l, kept, written));
    const liana__hlo open = multiply(l, dh, o), slope = slope_of_tanh(l, t);
    const liana__hlo dc = add(l, in[10], multiply(l, open, slope));
    out[0] = multiply(l, multiply(l, dc, g), slope_of_sigmoid(l, i));
    out[1] = multiply(l, multiply(l, dc, c), slope_of_sigmoid(l, f));
    out[2] = multiply(l, multiply(l, dc, i), slope_of_tanh(l, g));
    out[3] = multiply(l, multiply(l, dh, t), slope_of_sigmoid(l, o));
    out[4] = multiply(l, dc, f);
}

static void lower_gru(liana__lowering *l, const liana__hlo *in, liana__hlo *out)
{
    const liana__hlo z = gate(l, "logistic", in[0], in[3]), r = gate(l, "logistic", in[1], in[4]);
    const liana__hlo n = gate(l, "tanh", in[2], multiply(l, r, in[5]));
    const liana__hlo kept = multiply(l, z, in[6]);
    out[0] = add(l, kept, multiply(l, rest_of(l, z), n));
}

static void lower_gru_gradient(liana__lowering *l, const liana__hlo *in, liana__hlo *out)
{
    const liana__hlo z = gate(l, "logistic", in[0], in[3]), r = gate(l, "logistic", in[1], in[4]);
    const liana__hlo n = gate(l, "tanh", in[2], multiply(l, r, in[5])), dh = in[7];
    const liana__hlo through = multiply(l, dh, rest_of(l, z));
    const liana__hlo dn = multiply(l, through, slope_of_tanh(l, n)),
                     change = liana__hlo_binary(l, "subtract", in[6], n);
    out[0] = out[3] = multiply(l, multiply(l, dh, change), slope_of_sigmoid(l, z));
    out[1] = out[4] = multiply(l, multiply(l, dn, in[5]), slope_of_sigmoid(l, r));
    out[2] = dn;
    out[5] = multiply(l, dn, r);
    out[6] = multiply(l, dh, z);
}

/* ---- the ops ---- */

static const cell lstm = {LIANA__LSTM_GATES, LIANA__LSTM_RESULTS, compute_lstm, lower_lstm};
static const cell lstm_back = {LIANA__LSTM_GATES, LIANA__LSTM_GRADIENTS, compute_lstm_gradient, lower_lstm_gradient};
static const cell gru = {LIANA__GRU_GATES, LIANA__GRU_RESULTS, compute_gru, lower_gru};
static const cell gru_back = {LIANA__GRU_GATES, LIANA__GRU_GRADIENTS, compute_gru_gradient, lower_gru_gradient};

#define CELL(op_name, own, inputs, own_gradient, text)                                               \
    const liana__op liana__op_##op_name = {.name = #op_name,                                         \
                                           .doc = text,                                              \
                                           .num_inputs = inputs,                                     \
                                           .infer = infer_cell,                                      \
                                           .gradient = own_gradient,                                 \
                                           .cost = cost_of,                                          \
                                           .parts = liana__parts_all_inputs,                         \
                                           .lower = lower_cell,                                      \
                                           .details = &(own),                                        \
                                           .kernels = LIANA__KERNELS(LIANA__VECTOR_KERNELS(op_name), \
                                                                     LIANA__REFERENCE(run_reference))}

CELL(lstm_cell, lstm, 3, lstm_gradient, "The gates and states of an LSTM: [batch, units] h, then c.");
CELL(lstm_cell_gradient, lstm_back, 5, NULL, "The gradients of an LSTM's gates, then of c.");
CELL(gru_cell, gru, 3, gru_gradient, "The gates and the state of a GRU that resets behind the product.");
CELL(gru_cell_gradient, gru_back, 4, NULL, "The gradients of a GRU's gates before, behind its reset, then of h.");

void liana__lstm_cell(liana_location here, liana_tensor x, liana_tensor inner, liana_tensor c, liana_tensor *next_h,
                      liana_tensor *next_c)
{
    const int64_t units = liana_tensor_shape(c).rank == 2 ? liana_tensor_shape(c).dims[1] : 1;
    liana_tensor both = liana__build3(here, &liana__op_lstm_cell, x, inner, c, NULL);
    *next_h = *next_c = both;
    if (both.id == 0) return;
    *next_h = take_columns(here, both, 0, units);
    *next_c = take_columns(here, both, units, 2 * units);
}

liana_tensor liana__gru_cell(liana_location here, liana_tensor x, liana_tensor inner, liana_tensor h)
{
    return liana__build3(here, &liana__op_gru_cell, x, inner, h, NULL);
}
