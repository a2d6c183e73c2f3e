/* conv2d_max_pool.winograd.kernels.h - windows of 3x3, bias and max pooling of 2x2 in one, by Winograd's algorithm
 * (kernels/winograd_product.h), for one instruction set. A tile of 4x4 results is four windows of the pooling, and is
 * pooled in registers. */
#define LIANA__VECTOR_KERNEL_PREFIX "winograd_"

#include "kernels/applicable.h"
#include "kernels/vector_kernels.h"
#include "kernels/vector_pooling.h"
#include "kernels/winograd_product.h"
#include "ops/fused/conv2d_max_pool.h"

enum { POOL = 2 };

/* The plan for the pooled pixels: all, or all but a last row and column. */
static winograd_plan plan_winograd(const liana__node *node)
{
    const liana__conv2d_max_pool_geometry p = liana__conv2d_max_pool_geometry_of(node);
    liana__geometry g = p.conv;
    for (int i = 0; i < 2; i++) g.output[i] = POOL * p.pooled[i];
    const winograd_grid grid = winograd_grid_in_tiles(&g, false, WINOGRAD_RESULTS);
    return winograd_plan_of(&grid, false, g.channels, g.filters);
}

typedef struct winograd_target {
    const float *bias;
    float *values, *winners;
    bool relu;
} winograd_target;

LIANA__INLINE vector_float winograd_store(const int m, liana_dtype dtype, const winograd_job *job, winograd_place at,
                                          int64_t column, int64_t lanes, vector_float (*y)[WINOGRAD_RESULTS])
{
    const winograd_target *target = job->target;
    const int64_t *output = job->plan.grid.output, filters = job->plan.columns;
    const vector_float bias = vector_load_up_to(dtype, target->bias, column, lanes);
    vector_float faults = vector_set(0);
    for (int64_t i = 0; i < m && at.row + i < output[0]; i += POOL) {
        const int64_t line = at.image * (output[0] / POOL) + (at.row + i) / POOL;
        for (int64_t j = 0; j < m && at.column + j < output[1]; j += POOL) {
            const vector_float results[POOLING_TAPS] = {y[i][j] + bias, y[i][j + 1] + bias, y[i + 1][j] + bias,
                                                        y[i + 1][j + 1] + bias};
            for (int k = 0; k < POOLING_TAPS; k++) faults = vector_fma(results[k], vector_set(0), faults);
            vector_float winner;
            const vector_float best = pooling_best(results, target->relu, &winner);
            const int64_t to = (line * (output[1] / POOL) + (at.column + j) / POOL) * filters + column;
            vector_store_up_to(dtype, target->values, to, best, lanes);
            vector_store_up_to(dtype, target->winners, to, winner, lanes);
        }
    }
    return faults;
}

static bool is_applicable(const liana__node *node, const char **reason)
{
    if (!liana__applicable_f32(node, reason)) return false;
    const liana__conv2d_max_pool_geometry p = liana__conv2d_max_pool_geometry_of(node);
    *reason = "the pooling's window is not 2x2";
    if (p.pool[0] != POOL || p.pool[1] != POOL) return false;
    *reason = "not a window of 3x3 without strides and dilations";
    return winograd_is_window(&p.conv);
}

/* Transforming the kernel pays for few tiles already (bench/products.md). */
enum { LEAST_TILES = 16 };

static bool is_preferred(const liana__node *node, liana__isa isa, const char **reason)
{
    const winograd_plan p = plan_winograd(node);
    if (!winograd_preferred(&p.grid, p.depth, p.columns, LIANA_F32, isa, reason)) return false;
    *reason = "too few pixels to transform the kernel for";
    return p.grid.count >= LEAST_TILES;
}

static liana_status prepare(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const winograd_plan p = plan_winograd(node);
    prepared->scratch_size = winograd_scratch(&p);
    prepared->packed_input = 1;
    prepared->packed_size = winograd_packed_size(&p);
    return LIANA_OK;
}

static liana_status pack(const liana__call *call, void *packed)
{
    const winograd_plan p = plan_winograd(call->node);
    winograd_pack(WINOGRAD_RESULTS, LIANA_F32, &p, call, packed);
    return LIANA_OK;
}

static liana_status cut(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const winograd_plan p = plan_winograd(node);
    prepared->num_tiles = winograd_count_cuts(&p);
    return LIANA_OK;
}

static liana_status run(const liana__call *call)
{
    const liana__conv2d_max_pool_attributes *attributes = call->node->attributes;
    float *values = call->dst;
    const winograd_target target = {call->src[2], values, values + liana_shape_size(&call->node->shape) / 2,
                                    attributes->relu};
    winograd_job job = {call, plan_winograd(call->node), {0}, &target};
    job.room = winograd_place_room(&job.plan, call->scratch);
    winograd_run(WINOGRAD_RESULTS, LIANA_F32, &job);
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(conv2d_max_pool_winograd, .applicable = is_applicable, .preferred = is_preferred,
                     .prepare = prepare, .run = run, .pack = pack, .cut = cut, .rounding = WINOGRAD_ROUNDING);
