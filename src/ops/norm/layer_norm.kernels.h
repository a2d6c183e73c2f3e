/* layer_norm.kernels.h - normalisation of rows of f32 or bf16, for one instruction set. A row is read again from the
 * caches for each of its sums. The order of additions depends on the length of the rows only. */
#include "base/memory.h"
#include "kernels/vector_dtype.h"
#include "kernels/vector_kernels.h"
#include "ops/norm/layer_norm.h"

#include <math.h>

/* Sums that are added up side by side. */
enum { LANES = 4 };

typedef struct row_facts {
    float mean, r;
} row_facts;

typedef struct row_of {
    const void *x, *dy;
    const float *gamma;
    int64_t first;
    row_facts facts;
} row_of;

/* Terms of sums: `left` elements at i, or a vector. */
LIANA__INLINE vector_float own_terms(liana_dtype dtype, const row_of *row, int64_t i, int64_t left)
{
    return vector_load_up_to(dtype, row->x, row->first + i, left);
}

/* From the mean; 0 behind the end of the row. */
LIANA__INLINE vector_float distances(liana_dtype dtype, const row_of *row, int64_t i, int64_t left)
{
    vector_float d = vector_load_up_to(dtype, row->x, row->first + i, left) - row->facts.mean;
    if (left >= VECTOR_LENGTH) return d;
    float kept[VECTOR_LENGTH], all[VECTOR_LENGTH] = {0};
    vector_store(kept, d);
    memcpy(all, kept, (size_t)left * sizeof *all);
    return vector_load(all);
}

LIANA__INLINE vector_float square_terms(liana_dtype dtype, const row_of *row, int64_t i, int64_t left)
{
    vector_float d = distances(dtype, row, i, left);
    return d * d;
}

/* Called with a constant function, which is then inlined. */
LIANA__INLINE float sum_row(liana_dtype dtype, const row_of *row, int64_t length,
                            vector_float (*terms)(liana_dtype, const row_of *, int64_t, int64_t))
{
    vector_float sums[LANES] = {{0}};
    int64_t i = 0;
    for (; i + LANES * VECTOR_LENGTH <= length; i += LANES * VECTOR_LENGTH) {
        for (int k = 0; k < LANES; k++) sums[k] += terms(dtype, row, i + k * VECTOR_LENGTH, VECTOR_LENGTH);
    }
    for (; i < length; i += VECTOR_LENGTH) sums[0] += terms(dtype, row, i, length - i);
    return vector_reduce_add((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

LIANA__INLINE row_facts measure(liana_dtype dtype, row_of *row, int64_t length,
                                const liana__layer_norm_attributes *chosen)
{
    const float share = 1 / (float)length;
    row->facts = (row_facts){0};
    if (!chosen->about_zero) row->facts.mean = sum_row(dtype, row, length, own_terms) * share;
    const float variance = sum_row(dtype, row, length, square_terms) * share;
    row->facts.r = 1 / sqrtf(variance + (float)chosen->epsilon);
    return row->facts;
}

/* ---- the rows themselves ---- */

LIANA__INLINE liana_status layer_norm_as(const liana__call *call, liana_dtype dtype)
{
    const liana__layer_norm_sizes s = liana__layer_norm_sizes_of(call->node);
    const liana__layer_norm_attributes *chosen = liana__layer_norm_attributes_of(call->node);
    const float *gamma = call->src[1], *beta = call->node->num_inputs > 2 ? call->src[2] : NULL;
    row_of row = {.x = call->src[0]};
    for (; row.first < s.rows * s.length; row.first += s.length) {
        const row_facts facts = measure(dtype, &row, s.length, chosen);
        for (int64_t i = 0; i < s.length; i += VECTOR_LENGTH) {
            const int64_t left = s.length - i;
            vector_float xhat = (vector_load_up_to(dtype, row.x, row.first + i, left) - facts.mean) * facts.r;
            vector_float y = xhat * vector_load_up_to(LIANA_F32, gamma, i, left);
            if (beta) y += vector_load_up_to(LIANA_F32, beta, i, left);
            vector_store_up_to(dtype, call->dst, row.first + i, y, left);
        }
    }
    return LIANA_OK;
}

static liana_status run_layer_norm(const liana__call *call)
{
    return vector_run_as(call, layer_norm_as);
}

/* ---- their gradient ---- */

LIANA__INLINE vector_float gradient_terms(liana_dtype dtype, const row_of *row, int64_t i, int64_t left)
{
    return vector_load_up_to(dtype, row->dy, row->first + i, left) * vector_load_up_to(LIANA_F32, row->gamma, i, left);
}

LIANA__INLINE vector_float product_terms(liana_dtype dtype, const row_of *row, int64_t i, int64_t left)
{
    vector_float d = vector_load_up_to(dtype, row->x, row->first + i, left) - row->facts.mean;
    return gradient_terms(dtype, row, i, left) * d;
}

LIANA__INLINE liana_status input_gradient_as(const liana__call *call, liana_dtype dtype)
{
    const liana__layer_norm_sizes s = liana__layer_norm_sizes_of(call->node);
    const liana__layer_norm_attributes *chosen = liana__layer_norm_attributes_of(call->node);
    const float share = 1 / (float)s.length;
    row_of row = {.x = call->src[0], .dy = call->src[1], .gamma = call->src[2]};
    for (; row.first < s.rows * s.length; row.first += s.length) {
        const row_facts facts = measure(dtype, &row, s.length, chosen);
        const float mean = chosen->about_zero ? 0 : sum_row(dtype, &row, s.length, gradient_terms) * share;
        const float turned = sum_row(dtype, &row, s.length, product_terms) * share * facts.r * facts.r;
        for (int64_t i = 0; i < s.length; i += VECTOR_LENGTH) {
            const int64_t left = s.length - i;
            vector_float d = vector_load_up_to(dtype, row.x, row.first + i, left) - facts.mean;
            vector_float rest = gradient_terms(dtype, &row, i, left) - mean;
            vector_float dx = vector_fma(d, vector_set(-turned), rest) * facts.r;
            vector_store_up_to(dtype, call->dst, row.first + i, dx, left);
        }
    }
    return LIANA_OK;
}

static liana_status run_input_gradient(const liana__call *call)
{
    return vector_run_as(call, input_gradient_as);
}

/* ---- the gradients of gamma and beta: blocks of rows in float, added up in double ---- */

enum { BLOCK_ROWS = 32 };

typedef struct column_sums {
    float *block_sums, *block_products; /* [length, padded to vectors] */
    double *sums, *products;
} column_sums;

static size_t padded(int64_t length)
{
    return (size_t)(length + VECTOR_LENGTH - 1) / VECTOR_LENGTH * VECTOR_LENGTH;
}

static liana_status prepare_gradient_sums(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const size_t length = padded(liana__layer_norm_sizes_of(node).length);
    prepared->scratch_size = 2 * (liana__align_up(length * sizeof(float)) + liana__align_up(length * sizeof(double)));
    return LIANA_OK;
}

static column_sums place_sums(const liana__call *call, size_t length)
{
    const size_t floats = liana__align_up(length * sizeof(float)), doubles = liana__align_up(length * sizeof(double));
    char *at = call->scratch;
    const column_sums sums = {(float *)at, (float *)(at + floats), (double *)(at + 2 * floats),
                              (double *)(at + 2 * floats + doubles)};
    for (size_t i = 0; i < length; i++) sums.sums[i] = sums.products[i] = 0;
    return sums;
}

LIANA__INLINE void add_row(liana_dtype dtype, const row_of *given, int64_t length, const column_sums *to, bool is_first)
{
    const row_of row = *given;
    const column_sums sums = *to; /* stores to floats may change other memory */
    for (int64_t i = 0; i < length; i += VECTOR_LENGTH) {
        const int64_t left = length - i;
        vector_float dy = vector_load_up_to(dtype, row.dy, row.first + i, left);
        vector_float xhat = (vector_load_up_to(dtype, row.x, row.first + i, left) - row.facts.mean) * row.facts.r;
        vector_float sum = {0}, product = {0};
        if (!is_first) {
            sum = vector_load(sums.block_sums + i);
            product = vector_load(sums.block_products + i);
        }
        vector_store(sums.block_sums + i, sum + dy);
        vector_store(sums.block_products + i, vector_fma(dy, xhat, product));
    }
}

LIANA__INLINE liana_status gradient_sums_as(const liana__call *call, liana_dtype dtype)
{
    const liana__layer_norm_sizes s = liana__layer_norm_sizes_of(call->node);
    const liana__layer_norm_attributes *chosen = liana__layer_norm_attributes_of(call->node);
    const column_sums sums = place_sums(call, padded(s.length));
    row_of row = {.x = call->src[0], .dy = call->src[1]};
    for (int64_t k = 0; k < s.rows; k++, row.first += s.length) {
        measure(dtype, &row, s.length, chosen);
        add_row(dtype, &row, s.length, &sums, k % BLOCK_ROWS == 0);
        if (k % BLOCK_ROWS != BLOCK_ROWS - 1 && k != s.rows - 1) continue;
        for (int64_t i = 0; i < s.length; i += VECTOR_LENGTH) {
            vector_add_to(sums.sums + i, vector_load(sums.block_sums + i));
            vector_add_to(sums.products + i, vector_load(sums.block_products + i));
        }
    }
    for (int64_t i = 0; i < s.length; i++) {
        liana__store(call->dst, call->node->dtype, i, sums.sums[i]);
        liana__store(call->dst, call->node->dtype, s.length + i, sums.products[i]);
    }
    return LIANA_OK;
}

static liana_status run_gradient_sums(const liana__call *call)
{
    return vector_run_as(call, gradient_sums_as);
}

LIANA__VECTOR_KERNEL(layer_norm, .applicable = vector_applicable, .run = run_layer_norm);
LIANA__VECTOR_KERNEL(layer_norm_input_gradient, .applicable = vector_applicable, .run = run_input_gradient);
LIANA__VECTOR_KERNEL(layer_norm_gradient_sums, .applicable = vector_applicable, .prepare = prepare_gradient_sums,
                     .run = run_gradient_sums);
