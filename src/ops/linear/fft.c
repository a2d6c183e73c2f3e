/* fft: the discrete Fourier transform along an axis. Complex numbers are pairs of a real and an imaginary part. */
#include "ops/linear/fft.h"

#include "base/scoped.h"
#include "ir/graph.h"
#include "stablehlo/lowering.h"

#include <math.h>
#include <stdlib.h>

typedef struct fft_attributes {
    bool inverse;
} fft_attributes;

static const liana__field fields[] = {
    LIANA__FIELD_ROW(fft_attributes, inverse, BOOL, .doc = "Whether the exponent is positive; there is no factor."),
};
static const liana__fields attributes = {"fft", sizeof(fft_attributes), 1, fields};

static bool is_inverse(const liana__node *node)
{
    return ((const fft_attributes *)node->attributes)->inverse;
}

static int64_t length_of(const liana__node *node)
{
    return node->shape.dims[node->shape.rank - 2];
}

static liana_status infer_fft(liana__infer *infer)
{
    const liana_shape *shape = &infer->inputs[0]->shape;
    if (shape->rank < 2 || shape->dims[shape->rank - 1] != 2) {
        return liana__infer_fail(infer, "found the shape %s, expected [.., length, 2]: complex numbers as pairs",
                                 liana__shape_print(shape).text);
    }
    if (!liana__dtype_is_float(infer->inputs[0]->dtype)) return liana__infer_fail(infer, "found no floats");
    return liana__infer_like_input(infer);
}

/* The transpose of the matrix e^(-2 pi i j k / n), as a matrix of real numbers, is that of the inverse transform. */
static void fft_gradient(liana__gradient *g)
{
    g->input_gradients[0] = liana_op_fft(g->output_gradient, !is_inverse(g->node));
}

/* ---- kernels ---- */

static double angle_of(const liana__node *node, int64_t index)
{
    static const double PI = 3.14159265358979323846;
    return (is_inverse(node) ? 2 : -2) * PI * (double)index / (double)length_of(node);
}

static void find_factors(liana__fft_plan *plan)
{
    int64_t rest = plan->length;
    for (int64_t factor = 4; rest > 1;) {
        if (rest % factor == 0) {
            plan->factors[plan->num_factors++] = factor;
            rest /= factor;
            continue;
        }
        factor = factor == 4 ? 2 : factor == 2 ? 3 : factor + 2;
        if (factor > 2 && factor * factor > rest) factor = rest;
    }
}

liana_status liana__fft_prepare(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    const int64_t length = length_of(node);
    liana__fft_plan *plan = malloc(sizeof *plan + (size_t)length * 2 * sizeof *plan->roots);
    if (!plan) return liana__fail_memory(error, "a Fourier transform");
    *plan = (liana__fft_plan){.length = length, .num_lines = liana_shape_size(&node->shape) / (2 * length)};
    find_factors(plan);
    for (int64_t i = 0; i < length; i++) {
        plan->roots[2 * i] = (float)cos(angle_of(node, i));
        plan->roots[2 * i + 1] = (float)sin(angle_of(node, i));
    }
    prepared->plan = plan;
    prepared->scratch_size = 4 * (size_t)length * LIANA__FFT_LINES * sizeof(float);
    return LIANA_OK;
}

void liana__fft_release(void *plan)
{
    free(plan);
}

/* Tiles are of whole lines. */
liana_status liana__fft_cut(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    static const double LEAST_WORK = 1 << 16;
    const liana__fft_plan *plan = prepared->plan;
    const double work = (double)liana_shape_size(&node->shape) * log2((double)plan->length + 1);
    const int64_t groups = (plan->num_lines + LIANA__FFT_LINES - 1) / LIANA__FFT_LINES;
    prepared->num_tiles = (size_t)liana__count_tiles(work, LEAST_WORK, groups);
    return LIANA_OK;
}

/* Each result by its sum. */
static liana_status run_reference(const liana__call *call)
{
    const liana__node *node = call->node;
    const int64_t length = length_of(node), lines = liana_shape_size(&node->shape) / (2 * length);
    LIANA__SCOPED_MEMORY double *roots = malloc((size_t)length * 2 * sizeof *roots);
    if (!roots) return LIANA_OUT_OF_MEMORY;
    for (int64_t i = 0; i < length; i++) {
        roots[2 * i] = cos(angle_of(node, i));
        roots[2 * i + 1] = sin(angle_of(node, i));
    }
    for (int64_t i = 0; i < lines * length; i++) {
        const int64_t first = i / length * length, k = i % length;
        double re = 0, im = 0;
        for (int64_t j = 0; j < length; j++) {
            const double *root = roots + 2 * (j * k % length);
            const double a = liana__load(call->src[0], node->dtype, 2 * (first + j));
            const double b = liana__load(call->src[0], node->dtype, 2 * (first + j) + 1);
            re += a * root[0] - b * root[1];
            im += a * root[1] + b * root[0];
        }
        liana__store(call->dst, node->dtype, 2 * i, re);
        liana__store(call->dst, node->dtype, 2 * i + 1, im);
    }
    return LIANA_OK;
}

static void cost(const liana__node *node, liana__cost *cost)
{
    cost->family = "Fourier transforms";
    cost->flops = 2.5 * (double)liana_shape_size(&node->shape) * log2((double)length_of(node) + 1);
}

static liana__parts parts_of(const liana__node *node)
{
    return node->shape.rank > 2 ? liana__parts_all_inputs(node) : (liana__parts){0};
}

static liana_status lower_fft(liana__lowering *l, const liana__node *node)
{
    const liana__hlo x = liana__hlo_widen(l, liana__hlo_input(l, node, 0));
    return liana__hlo_give(l, node, liana__hlo_convert(l, liana__hlo_fft(l, x, is_inverse(node)), node->dtype));
}

const liana__op liana__op_fft = {
    .name = "fft",
    .doc = "The discrete Fourier transform of complex numbers, which are pairs.",
    .attributes = &attributes,
    .num_inputs = 1,
    .infer = infer_fft,
    .gradient = fft_gradient,
    .cost = cost,
    .parts = parts_of,
    .lower = lower_fft,
    .kernels = LIANA__KERNELS(LIANA__VECTOR_KERNELS(fft), LIANA__REFERENCE(run_reference)),
};

liana_tensor liana_op_fft_at(liana_location here, liana_tensor x, bool inverse)
{
    const fft_attributes options = {inverse};
    return liana__build1(here, &liana__op_fft, x, &options);
}

/* ---- transforms of real numbers ---- */

static liana_tensor fail(liana_location here, liana_graph *graph, const char *name, const char *what)
{
    liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT, "%s: %s", name, what);
    return (liana_tensor){graph, 0};
}

/* The first `length` elements of axis `axis`, counted from the end; zeros behind them if there are fewer. */
static liana_tensor fit(liana_location here, liana_tensor x, int axis, int64_t length)
{
    const liana_shape shape = liana_tensor_shape(x);
    const int at = shape.rank - axis;
    if (shape.dims[at] < length) {
        int64_t low[LIANA_MAX_RANK] = {0}, high[LIANA_MAX_RANK] = {0};
        high[at] = length - shape.dims[at];
        return liana_op_pad_at(here, x, low, high, 0);
    }
    int64_t start[LIANA_MAX_RANK] = {0}, limit[LIANA_MAX_RANK];
    for (int i = 0; i < shape.rank; i++) limit[i] = i == at ? length : shape.dims[i];
    return shape.dims[at] == length ? x : liana_op_slice_at(here, x, start, limit, NULL);
}

liana_tensor liana_rfft_at(liana_location here, liana_tensor x, int64_t length)
{
    if (!x.graph || x.graph->status != LIANA_OK) return (liana_tensor){x.graph, 0};
    liana_shape shape = liana_tensor_shape(x);
    if (shape.rank < 1 || shape.rank == LIANA_MAX_RANK) {
        return fail(here, x.graph, "liana_rfft", "x has no axis, or one too many");
    }
    if (length < 0) return fail(here, x.graph, "liana_rfft", "the length is negative");
    if (length) x = fit(here, x, 1, length);
    shape = liana_tensor_shape(x);
    const int64_t bins = shape.dims[shape.rank - 1] / 2 + 1;
    shape.dims[shape.rank++] = 1;
    x = fit(here, liana_op_reshape_at(here, x, shape), 1, 2);
    return fit(here, liana_op_fft_at(here, x, false), 2, bins);
}

liana_tensor liana_irfft_at(liana_location here, liana_tensor x, int64_t length)
{
    if (!x.graph || x.graph->status != LIANA_OK) return (liana_tensor){x.graph, 0};
    liana_shape shape = liana_tensor_shape(x);
    if (shape.rank < 2 || shape.dims[shape.rank - 1] != 2) {
        return fail(here, x.graph, "liana_irfft", "x is no list of pairs [.., bins, 2]");
    }
    if (length < 0) return fail(here, x.graph, "liana_irfft", "the length is negative");
    if (!length) length = 2 * (shape.dims[shape.rank - 2] - 1);
    if (length < 1) return fail(here, x.graph, "liana_irfft", "one bin says no length; give it");
    /* The real part of the sum of all bins: those between the first and the middle one stand for two. */
    const int64_t bins = length / 2 + 1;
    LIANA__SCOPED_MEMORY float *shares = malloc((size_t)bins * sizeof *shares);
    if (!shares) return fail(here, x.graph, "liana_irfft", "out of memory");
    for (int64_t i = 0; i < bins; i++) {
        shares[i] = (float)((i == 0 || (2 * i == length) ? 1.0 : 2.0) / (double)length);
    }
    liana_tensor share = liana_graph_constant_at(here, x.graph, LIANA_F32, liana_shape_of(bins, 1), shares);
    const liana_dtype dtype = liana_tensor_dtype(x);
    if (dtype != LIANA_F32) share = liana_op_cast_at(here, share, dtype);
    x = liana_op_multiply_at(here, fit(here, x, 2, bins), share);
    x = fit(here, liana_op_fft_at(here, fit(here, x, 2, length), true), 1, 1);
    shape = liana_tensor_shape(x);
    shape.rank--;
    return liana_op_reshape_at(here, x, shape);
}
