/* count_non_finite: how many elements are NaN or infinite. Training asks this of all sums and of all new weights, in
 * each step, so it reads memory once and uses all workers. */
#include "ops/reduce/count_non_finite.h"

#include "stablehlo/lowering.h"

#include <math.h>

int64_t liana__finite_chunks(const liana_shape *shape)
{
    return (liana_shape_size(shape) + LIANA__FINITE_CHUNK - 1) / LIANA__FINITE_CHUNK;
}

static liana_status infer_count(liana__infer *infer)
{
    int64_t chunks = 0;
    for (size_t i = 0; i < infer->num_inputs; i++) {
        LIANA_TRY(liana__infer_float(infer, i));
        chunks += liana__finite_chunks(&infer->inputs[i]->shape);
    }
    infer->dtype = LIANA_S32;
    infer->shape = liana_shape_of(chunks);
    return LIANA_OK;
}

static int32_t count_any(const void *values, liana_dtype dtype, int64_t first, int64_t size)
{
    int32_t count = 0;
    for (int64_t i = first; i < first + size; i++) count += !isfinite(liana__load(values, dtype, i));
    return count;
}

void liana__count_chunks(const liana__call *call, liana__count_elements *count)
{
    const liana__node *node = call->node;
    const int64_t chunks = node->shape.dims[0], tiles = call->num_tiles ? (int64_t)call->num_tiles : 1;
    const int64_t begin = chunks * (int64_t)call->tile / tiles, end = chunks * ((int64_t)call->tile + 1) / tiles;
    int32_t *counts = call->dst;
    int64_t first = 0; /* of the input */
    for (uint32_t i = 0; i < node->num_inputs && first < end; i++) {
        const liana__node *input = node->inputs[i];
        const int64_t size = liana_shape_size(&input->shape), own = liana__finite_chunks(&input->shape);
        const int64_t from = first < begin ? begin : first, to = first + own < end ? first + own : end;
        for (int64_t chunk = from; chunk < to; chunk++) {
            const int64_t before = (chunk - first) * LIANA__FINITE_CHUNK, left = size - before;
            counts[chunk] =
                count(call->src[i], input->dtype, before, left < LIANA__FINITE_CHUNK ? left : LIANA__FINITE_CHUNK);
        }
        first += own;
    }
}

static liana_status run_reference(const liana__call *call)
{
    liana__count_chunks(call, count_any);
    return LIANA_OK;
}

liana_status liana__count_cut(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    static const double LEAST_CHUNKS = 8;
    const int64_t chunks = node->shape.dims[0];
    prepared->num_tiles = (size_t)liana__count_tiles((double)chunks, LEAST_CHUNKS, chunks);
    return LIANA_OK;
}

static void cost(const liana__node *node, liana__cost *cost)
{
    cost->family = "reductions";
    for (uint32_t i = 0; i < node->num_inputs; i++)
        cost->flops += (double)liana_shape_size(liana__input_shape(node, i));
}

/* The counts of one tensor: s32 [chunks]. */
static liana__hlo lower_counts(liana__lowering *l, liana__hlo x)
{
    const int64_t size = liana_shape_size(&x.shape), chunks = liana__finite_chunks(&x.shape), none = 0, last = 1;
    const int64_t rest = chunks * LIANA__FINITE_CHUNK - size;
    liana__hlo bad = liana__hlo_unary(l, "not", liana__hlo_is_finite(l, x));
    liana__hlo flat = liana__hlo_reshape(l, liana__hlo_convert(l, bad, LIANA_S32), liana_shape_of(size));
    liana__hlo padded = rest ? liana__hlo_pad(l, flat, 0, &none, &rest, &none) : flat;
    liana__hlo rows = liana__hlo_reshape(l, padded, liana_shape_of(chunks, LIANA__FINITE_CHUNK));
    return liana__hlo_reduce(l, LIANA__HLO_ADD, rows, &last, 1);
}

static liana_status lower_count(liana__lowering *l, const liana__node *node)
{
    liana__hlo counts[LIANA__MAX_FINITE_INPUTS];
    for (uint32_t i = 0; i < node->num_inputs; i++) counts[i] = lower_counts(l, liana__hlo_input(l, node, i));
    return liana__hlo_give(l, node, liana__hlo_concatenate(l, counts, node->num_inputs, 0));
}

const liana__op liana__op_count_non_finite = {
    .name = "count_non_finite",
    .doc = "The number of NaNs and infinities in each chunk of each tensor.",
    .num_inputs = 1,
    .more_inputs = LIANA__MAX_FINITE_INPUTS - 1,
    .infer = infer_count,
    .gradient = liana__no_gradient,
    .cost = cost,
    .lower = lower_count,
    .kernels = LIANA__KERNELS(LIANA__VECTOR_KERNELS(count_non_finite), LIANA__REFERENCE(run_reference)),
};

liana_tensor liana__count_non_finite_at(liana_location here, const liana_tensor *tensors, size_t count)
{
    return liana__build(here, NULL, &liana__op_count_non_finite, tensors, count, NULL);
}
