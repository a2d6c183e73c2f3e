/* Normalisation of rows, by their mean and variance or by their mean square; and the ops of its gradient. */
#include "ops/norm/layer_norm.h"

#include "ir/graph.h"
#include "ops/norm/batch_norm.h"
#include "stablehlo/lowering.h"

#include <math.h>

static const liana__field fields[] = {
    LIANA__FIELD_ROW(liana__layer_norm_attributes, epsilon, FLOAT, .doc = "Added to the variance."),
    LIANA__FIELD_ROW(liana__layer_norm_attributes, about_zero, BOOL, .doc = "The mean counts as 0."),
};
static const liana__fields attributes = LIANA__FIELD_TABLE("layer_norm", liana__layer_norm_attributes, fields);

/* ---- shapes ---- */

static liana_status check_rows(liana__infer *infer)
{
    LIANA_TRY(liana__infer_float(infer, 0));
    const double epsilon = ((const liana__layer_norm_attributes *)infer->attributes)->epsilon;
    if (!(epsilon >= 0 && isfinite(epsilon))) {
        return liana__infer_fail(infer, "epsilon is %g, expected a finite number of at least 0", epsilon);
    }
    if (infer->inputs[0]->shape.rank >= 2) return LIANA_OK;
    return liana__infer_fail(infer, "input 0 has rank %d, expected at least 2: [batch, .., n]",
                             infer->inputs[0]->shape.rank);
}

static liana_status infer_layer_norm(liana__infer *infer)
{
    LIANA_TRY(check_rows(infer));
    LIANA_TRY(liana__batch_norm_check_channels(infer, 1, "gamma", false));
    if (infer->num_inputs > 2) LIANA_TRY(liana__batch_norm_check_channels(infer, 2, "beta", false));
    return liana__infer_like_input(infer);
}

static liana_status infer_input_gradient(liana__infer *infer)
{
    LIANA_TRY(check_rows(infer));
    LIANA_TRY(liana__batch_norm_check_like_images(infer, 1, "dy"));
    LIANA_TRY(liana__batch_norm_check_channels(infer, 2, "gamma", false));
    return liana__infer_like_input(infer);
}

static liana_status infer_gradient_sums(liana__infer *infer)
{
    LIANA_TRY(check_rows(infer));
    LIANA_TRY(liana__batch_norm_check_like_images(infer, 1, "dy"));
    const liana_shape *x = &infer->inputs[0]->shape;
    infer->dtype = liana__wide_dtype(infer->inputs[0]->dtype);
    infer->shape = liana_shape_of(2, x->dims[x->rank - 1]);
    return LIANA_OK;
}

/* ---- gradients ---- */

static liana_tensor input_gradient(const liana__node *of, liana_tensor x, liana_tensor dy, liana_tensor gamma)
{
    return liana__build3(LIANA_HERE, &liana__op_layer_norm_input_gradient, x, dy, gamma, of->attributes);
}

static liana_tensor row_of(liana_tensor stacked, int64_t row)
{
    const int64_t length = liana_tensor_shape(stacked).dims[1];
    const int64_t start[] = {row, 0}, limit[] = {row + 1, length};
    return liana_op_reshape(liana_op_slice(stacked, start, limit, NULL), liana_shape_of(length));
}

static liana_tensor ones_like(liana_tensor gamma)
{
    return liana__full(LIANA_HERE, gamma.graph, liana_tensor_dtype(gamma), liana_tensor_shape(gamma), 1);
}

static void layer_norm_gradient(liana__gradient *g)
{
    const liana_tensor x = g->inputs[0], gamma = g->inputs[1], dy = g->output_gradient;
    const bool has_beta = g->node->num_inputs > 2;
    if (g->wanted[0]) g->input_gradients[0] = input_gradient(g->node, x, dy, gamma);
    if (!g->wanted[1] && !(has_beta && g->wanted[2])) return;
    liana_tensor sums = liana__build2(LIANA_HERE, &liana__op_layer_norm_gradient_sums, x, dy, g->node->attributes);
    if (g->wanted[1]) g->input_gradients[1] = row_of(sums, 1);
    if (has_beta && g->wanted[2]) g->input_gradients[2] = row_of(sums, 0);
}

/* With u = [u0, u1] arriving: the sum over all rows of dy (u0 + u1 xhat). */
static void gradient_sums_gradient(liana__gradient *g)
{
    const liana_tensor x = g->inputs[0], dy = g->inputs[1];
    const liana_tensor u0 = row_of(g->output_gradient, 0), u1 = row_of(g->output_gradient, 1);
    if (g->wanted[0]) g->input_gradients[0] = input_gradient(g->node, x, dy, u1);
    if (!g->wanted[1]) return;
    g->input_gradients[1] = liana__build3(LIANA_HERE, &liana__op_layer_norm, x, u1, u0, g->node->attributes);
}

/* r and xhat of each row, as graphs. */
typedef struct rows {
    liana_tensor r, xhat;
} rows;

static liana_tensor mean_of(liana_tensor x)
{
    return liana_op_reduce_mean(x, LIANA_AXES(-1), true);
}

static liana_tensor mean_product(liana_tensor a, liana_tensor b)
{
    return mean_of(liana_op_multiply(a, b));
}

static rows rows_of(const liana__node *node, liana_tensor x)
{
    const liana__layer_norm_attributes *chosen = liana__layer_norm_attributes_of(node);
    liana_tensor centred = chosen->about_zero ? x : liana_op_subtract(x, mean_of(x));
    liana_tensor variance = mean_of(liana_op_square(centred));
    liana_tensor epsilon = liana_graph_scalar(x.graph, liana_tensor_dtype(variance), chosen->epsilon);
    liana_tensor r = liana_op_rsqrt(liana_op_add(variance, epsilon));
    return (rows){.r = r, .xhat = liana_op_multiply(centred, r)};
}

/* With g = dy gamma and v arriving, the result is P g = r (g - mean(g) - xhat mean(g xhat)), and P is symmetric: of g
 * the gradient is P v. Of xhat it is h = -r (mean(v xhat) g + mean(g xhat) v), which P carries to x; of r it is
 * mean(v g) - mean(v) mean(g) - mean(v xhat) mean(g xhat) times n, where dr / dx = -r^2 xhat / n. */
static void input_gradient_gradient(liana__gradient *g)
{
    const liana_tensor x = g->inputs[0], dy = g->inputs[1], gamma = g->inputs[2], v = g->output_gradient;
    const liana_tensor ones = ones_like(gamma);
    liana_tensor of_g = input_gradient(g->node, x, v, ones);
    if (g->wanted[1]) g->input_gradients[1] = liana_op_multiply(of_g, gamma);
    if (g->wanted[2]) {
        const liana_shape shape = liana_tensor_shape(gamma);
        g->input_gradients[2] = liana__sum_to_shape(LIANA_HERE, liana_op_multiply(of_g, dy), &shape);
    }
    if (!g->wanted[0]) return;
    const rows at = rows_of(g->node, x);
    liana_tensor of_row = liana_op_multiply(dy, gamma);
    liana_tensor b = mean_product(of_row, at.xhat), d = mean_product(v, at.xhat);
    liana_tensor h = liana_op_add(liana_op_multiply(of_row, d), liana_op_multiply(v, b));
    h = liana_op_negate(liana_op_multiply(h, at.r));
    liana_tensor s = liana_op_subtract(mean_product(v, of_row), liana_op_multiply(b, d));
    if (!liana__layer_norm_attributes_of(g->node)->about_zero) {
        s = liana_op_subtract(s, liana_op_multiply(mean_of(v), mean_of(of_row)));
    }
    liana_tensor by_r = liana_op_multiply(at.xhat, liana_op_multiply(s, liana_op_square(at.r)));
    g->input_gradients[0] = liana_op_subtract(input_gradient(g->node, x, h, ones), by_r);
}

/* ---- reference loops. A row is read before it is written: the result may be on x or dy. ---- */

typedef struct row_facts {
    double mean, r;
} row_facts;

static row_facts measure(const liana__call *call, int64_t first, int64_t length)
{
    const liana__layer_norm_attributes *chosen = liana__layer_norm_attributes_of(call->node);
    double total = 0, squares = 0;
    for (int64_t i = first; i < first + length; i++) total += liana__load_image(call, 0, i);
    const double mean = chosen->about_zero ? 0 : total / (double)length;
    for (int64_t i = first; i < first + length; i++) {
        const double distance = liana__load_image(call, 0, i) - mean;
        squares += distance * distance;
    }
    return (row_facts){.mean = mean, .r = 1 / sqrt(squares / (double)length + chosen->epsilon)};
}

static liana_status run_layer_norm(const liana__call *call)
{
    const liana__layer_norm_sizes s = liana__layer_norm_sizes_of(call->node);
    for (int64_t first = 0; first < s.rows * s.length; first += s.length) {
        const row_facts row = measure(call, first, s.length);
        for (int64_t i = 0; i < s.length; i++) {
            double y = (liana__load_image(call, 0, first + i) - row.mean) * row.r * liana__load_wide(call, 1, i);
            if (call->node->num_inputs > 2) y += liana__load_wide(call, 2, i);
            liana__store(call->dst, call->node->dtype, first + i, y);
        }
    }
    return LIANA_OK;
}

static liana_status run_input_gradient(const liana__call *call)
{
    const liana__layer_norm_sizes s = liana__layer_norm_sizes_of(call->node);
    const bool about_zero = liana__layer_norm_attributes_of(call->node)->about_zero;
    for (int64_t first = 0; first < s.rows * s.length; first += s.length) {
        const row_facts row = measure(call, first, s.length);
        double sum = 0, products = 0;
        for (int64_t i = 0; i < s.length; i++) {
            const double g = liana__load_image(call, 1, first + i) * liana__load_wide(call, 2, i);
            sum += g;
            products += g * (liana__load_image(call, 0, first + i) - row.mean) * row.r;
        }
        const double mean = about_zero ? 0 : sum / (double)s.length, share = products / (double)s.length;
        for (int64_t i = 0; i < s.length; i++) {
            const double g = liana__load_image(call, 1, first + i) * liana__load_wide(call, 2, i);
            const double xhat = (liana__load_image(call, 0, first + i) - row.mean) * row.r;
            liana__store(call->dst, call->node->dtype, first + i, row.r * (g - mean - xhat * share));
        }
    }
    return LIANA_OK;
}

/* Two passes over x, the second for all rows of an element: the mean and r of each row are found again. */
static liana_status run_gradient_sums(const liana__call *call)
{
    const liana__layer_norm_sizes s = liana__layer_norm_sizes_of(call->node);
    double *sums = call->scratch;
    for (int64_t i = 0; i < 2 * s.length; i++) sums[i] = 0;
    for (int64_t first = 0; first < s.rows * s.length; first += s.length) {
        const row_facts row = measure(call, first, s.length);
        for (int64_t i = 0; i < s.length; i++) {
            const double dy = liana__load_image(call, 1, first + i);
            sums[i] += dy;
            sums[s.length + i] += dy * (liana__load_image(call, 0, first + i) - row.mean) * row.r;
        }
    }
    for (int64_t i = 0; i < 2 * s.length; i++) liana__store(call->dst, call->node->dtype, i, sums[i]);
    return LIANA_OK;
}

static liana_status prepare_gradient_sums(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    prepared->scratch_size = 2 * (size_t)liana__layer_norm_sizes_of(node).length * sizeof(double);
    return LIANA_OK;
}

/* ---- StableHLO ---- */

static liana__hlo multiply(liana__lowering *l, liana__hlo a, liana__hlo b)
{
    return liana__hlo_binary(l, "multiply", a, b);
}

static liana__hlo lowered_mean(liana__lowering *l, liana__hlo x)
{
    const int64_t last = x.shape.rank - 1;
    liana__hlo sum = liana__hlo_reduce_kept(l, LIANA__HLO_ADD, x, &last, 1);
    return liana__hlo_binary_with(l, "divide", sum, (double)x.shape.dims[last]);
}

typedef struct lowered_rows {
    liana__hlo r, xhat;
} lowered_rows;

static lowered_rows lower_rows(liana__lowering *l, const liana__node *node)
{
    const liana__layer_norm_attributes *chosen = liana__layer_norm_attributes_of(node);
    liana__hlo x = liana__hlo_widen(l, liana__hlo_input(l, node, 0));
    /* Twice: the first mean of numbers that are far from zero is rounded to their size. */
    for (int i = 0; !chosen->about_zero && i < 2; i++) x = liana__hlo_binary(l, "subtract", x, lowered_mean(l, x));
    liana__hlo variance = lowered_mean(l, multiply(l, x, x));
    liana__hlo r = liana__hlo_unary(l, "rsqrt", liana__hlo_binary_with(l, "add", variance, chosen->epsilon));
    return (lowered_rows){.r = r, .xhat = multiply(l, x, r)};
}

static liana_status lower_layer_norm(liana__lowering *l, const liana__node *node)
{
    liana__hlo y = multiply(l, lower_rows(l, node).xhat, liana__hlo_input(l, node, 1));
    if (node->num_inputs > 2) y = liana__hlo_binary(l, "add", y, liana__hlo_input(l, node, 2));
    return liana__hlo_give(l, node, liana__hlo_convert(l, y, node->dtype));
}

static liana_status lower_input_gradient(liana__lowering *l, const liana__node *node)
{
    const lowered_rows at = lower_rows(l, node);
    liana__hlo dy = liana__hlo_widen(l, liana__hlo_input(l, node, 1));
    liana__hlo g = multiply(l, dy, liana__hlo_input(l, node, 2));
    liana__hlo turned = multiply(l, at.xhat, lowered_mean(l, multiply(l, g, at.xhat)));
    if (!liana__layer_norm_attributes_of(node)->about_zero)
        turned = liana__hlo_binary(l, "add", turned, lowered_mean(l, g));
    liana__hlo dx = multiply(l, at.r, liana__hlo_binary(l, "subtract", g, turned));
    return liana__hlo_give(l, node, liana__hlo_convert(l, dx, node->dtype));
}

static liana_status lower_gradient_sums(liana__lowering *l, const liana__node *node)
{
    const lowered_rows at = lower_rows(l, node);
    liana__hlo dy = liana__hlo_widen(l, liana__hlo_input(l, node, 1));
    const liana__hlo terms[] = {dy, multiply(l, dy, at.xhat)};
    int64_t axes[LIANA_MAX_RANK];
    for (int i = 0; i < dy.shape.rank - 1; i++) axes[i] = i;
    liana__hlo sums[2];
    for (int i = 0; i < 2; i++) {
        sums[i] = liana__hlo_reduce(l, LIANA__HLO_ADD, terms[i], axes, dy.shape.rank - 1);
        sums[i] = liana__hlo_reshape(l, sums[i], liana_shape_of(1, sums[i].shape.dims[0]));
    }
    return liana__hlo_give(l, node, liana__hlo_concatenate(l, sums, 2, 0));
}

/* ---- cost and parts ---- */

/* The mean, the variance, and a multiply-add for the result; its gradients need two more. */
static void cost_of(const liana__node *node, liana__cost *cost)
{
    const double each = node->op == &liana__op_layer_norm ? 6 : 10;
    cost->flops = each * (double)liana_shape_size(liana__input_shape(node, 0));
    cost->family = "layer normalisation";
}

static liana__parts parts_by_rows(const liana__node *node, uint64_t whole)
{
    liana__parts parts = liana__batch_norm_parts(node, LIANA__PART_ROWS, whole);
    parts.by_lines = node->shape.rank > 2;
    return parts;
}

static liana__parts layer_norm_parts(const liana__node *node)
{
    return parts_by_rows(node, 1 << 1 | 1 << 2);
}

static liana__parts input_gradient_parts(const liana__node *node)
{
    return parts_by_rows(node, 1 << 2);
}

static liana__parts gradient_sums_parts(const liana__node *node)
{
    return liana__batch_norm_parts(node, LIANA__PART_MERGE, 0);
}

/* ---- the ops ---- */

const liana__op liana__op_layer_norm = {
    .name = "layer_norm",
    .doc = "Each row minus its mean, over its deviation; or over the root of its mean square.",
    .attributes = &attributes,
    .num_inputs = 2,
    .more_inputs = 1,
    .infer = infer_layer_norm,
    .gradient = layer_norm_gradient,
    .precision = LIANA__FOLLOWS,
    .narrow_inputs = 1 << 0,
    .placement = LIANA__PLACE_IN_PLACE,
    .cost = cost_of,
    .parts = layer_norm_parts,
    .lower = lower_layer_norm,
    .kernels = LIANA__KERNELS(LIANA__BF16_VECTOR_KERNELS(layer_norm), LIANA__REFERENCE(run_layer_norm)),
};

const liana__op liana__op_layer_norm_input_gradient = {
    .name = "layer_norm_input_gradient",
    .doc = "The gradient of layer_norm with respect to its rows.",
    .attributes = &attributes,
    .num_inputs = 3,
    .infer = infer_input_gradient,
    .gradient = input_gradient_gradient,
    .precision = LIANA__FOLLOWS,
    .narrow_inputs = 1 << 0 | 1 << 1,
    .placement = LIANA__PLACE_IN_PLACE,
    .cost = cost_of,
    .parts = input_gradient_parts,
    .lower = lower_input_gradient,
    .kernels =
        LIANA__KERNELS(LIANA__BF16_VECTOR_KERNELS(layer_norm_input_gradient), LIANA__REFERENCE(run_input_gradient)),
};

static const liana__kernel gradient_sums_reference = {.name = "reference",
                                                      .prepare = prepare_gradient_sums,
                                                      .run = run_gradient_sums};

const liana__op liana__op_layer_norm_gradient_sums = {
    .name = "layer_norm_gradient_sums",
    .doc = "The sums over all rows of dy, and of dy times the normalised rows.",
    .attributes = &attributes,
    .num_inputs = 2,
    .infer = infer_gradient_sums,
    .gradient = gradient_sums_gradient,
    .precision = LIANA__SUMS,
    .narrow_inputs = 1 << 0 | 1 << 1,
    .cost = cost_of,
    .parts = gradient_sums_parts,
    .merge = liana__batch_norm_merge_sums,
    .lower = lower_gradient_sums,
    .kernels = LIANA__KERNELS(LIANA__BF16_VECTOR_KERNELS(layer_norm_gradient_sums), &gradient_sums_reference, NULL),
};

liana_tensor liana_op_layer_norm_at(liana_location here, liana_tensor x, liana_tensor gamma, liana_tensor beta,
                                    double epsilon)
{
    const liana_tensor inputs[] = {x, gamma, beta};
    return liana__build(here, x.graph, &liana__op_layer_norm, inputs, beta.id ? 3 : 2,
                        &(liana__layer_norm_attributes){.epsilon = epsilon});
}

liana_tensor liana_op_rms_norm_at(liana_location here, liana_tensor x, liana_tensor gamma, double epsilon)
{
    const liana_tensor inputs[] = {x, gamma};
    return liana__build(here, x.graph, &liana__op_layer_norm, inputs, 2,
                        &(liana__layer_norm_attributes){.epsilon = epsilon, .about_zero = true});
}
