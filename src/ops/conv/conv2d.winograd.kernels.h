/* conv2d.winograd.kernels.h - windows of 3x3, forward and the gradient for the images, with fewer products
 * (kernels/winograd_product.h), for one instruction set. */
#define LIANA__VECTOR_KERNEL_PREFIX "winograd_"

#include "kernels/vector_epilogue.h"
#include "kernels/vector_kernels.h"
#include "kernels/winograd_product.h"
#include "ops/conv/conv2d.h"

/* The images' gradient is a convolution of dy with the kernel turned around. */
static winograd_plan plan_winograd(const liana__node *node)
{
    const liana__geometry g = liana__conv_geometry(node);
    const bool turned = liana__conv_pass_of(node) == LIANA__CONV_INPUT_GRADIENT;
    const winograd_grid grid = winograd_grid_of(&g, turned);
    return winograd_plan_of(&grid, turned, turned ? g.filters : g.channels, turned ? g.channels : g.filters);
}

/* ---- results ---- */

typedef struct winograd_target {
    bool finished;
    epilogue after; /* if finished */
    const void *residual;
} winograd_target;

/* One vector of a pixel, `at` being its first element in the result. */
LIANA__INLINE void store_result(liana_dtype dtype, const winograd_job *job, int64_t at, int64_t column, int64_t lanes,
                                vector_float y)
{
    const winograd_target *target = job->target;
    if (target->finished) {
        const epilogue *e = &target->after;
        y = vector_fma(y, vector_load_up_to(LIANA_F32, e->scale, column, lanes),
                       vector_load_up_to(LIANA_F32, e->shift, column, lanes));
        if (target->residual) y += vector_load_up_to(dtype, target->residual, at, lanes);
        y = clamp(e, y);
        if (e->swish) y = dtype == LIANA_BF16 ? vector_swish_bf16(y) : vector_swish(y);
    }
    vector_store_up_to(dtype, job->call->dst, at, y, lanes);
}

LIANA__INLINE vector_float winograd_store(const int m, liana_dtype dtype, const winograd_job *job, winograd_place at,
                                          int64_t column, int64_t lanes, vector_float (*y)[WINOGRAD_RESULTS])
{
    const winograd_plan *p = &job->plan;
    const int64_t rows = at_most(m, p->grid.output[0] - at.row), columns = at_most(m, p->grid.output[1] - at.column);
    vector_float faults = vector_set(0);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t row = (at.image * p->grid.output[0] + at.row + i) * p->grid.output[1] + at.column;
        for (int64_t j = 0; j < columns; j++) {
            const int64_t to = (row + j) * p->columns + column;
            faults = vector_fma(y[i][j], vector_set(0), faults);
            store_result(dtype, job, to, column, lanes, y[i][j]);
            __builtin_prefetch(vector_at(dtype, job->call->dst, to + m * p->columns), 1, 3); /* the next tile */
        }
    }
    return faults;
}

/* ---- the kernel ---- */

static liana_status run(const liana__call *call)
{
    winograd_target target = {.finished = liana__has_epilogue(call->node)};
    winograd_job job = {call, plan_winograd(call->node), {0}, &target};
    job.room = winograd_place_room(&job.plan, call->scratch);
    if (target.finished) target.after = epilogue_of(call, job.plan.columns, liana__conv_activation_of(call->node));
    if (call->node->num_inputs > LIANA__RESIDUAL_INPUT) target.residual = call->src[LIANA__RESIDUAL_INPUT];
    const bool narrow = call->node->inputs[0]->dtype == LIANA_BF16;
    if (job.plan.grid.m == 3) {
        narrow ? winograd_run(3, LIANA_BF16, &job) : winograd_run(3, LIANA_F32, &job);
    } else {
        narrow ? winograd_run(4, LIANA_BF16, &job) : winograd_run(4, LIANA_F32, &job);
    }
    return LIANA_OK;
}

static liana_status pack(const liana__call *call, void *packed)
{
    const winograd_plan p = plan_winograd(call->node);
    const bool narrow = call->node->inputs[1]->dtype == LIANA_BF16;
    if (p.grid.m == 3) {
        narrow ? winograd_pack(3, LIANA_BF16, &p, call, packed) : winograd_pack(3, LIANA_F32, &p, call, packed);
    } else {
        narrow ? winograd_pack(4, LIANA_BF16, &p, call, packed) : winograd_pack(4, LIANA_F32, &p, call, packed);
    }
    return LIANA_OK;
}

static bool is_applicable(const liana__node *node, const char **reason)
{
    if (!vector_applicable(node, reason)) return false;
    *reason = "sums over many pixels";
    if (node->op == &liana__op_conv2d_kernel_gradient) return false;
    const liana__geometry g = liana__conv_geometry(node);
    *reason = "not a window of 3x3 without strides, dilations and groups";
    return winograd_is_window(&g);
}

/* Fewer do not pay for the transforms of the kernel. */
enum { LEAST_TILES = 64 };

static bool is_preferred(const liana__node *node, liana__isa isa, const char **reason)
{
    const winograd_plan p = plan_winograd(node);
    *reason = "tiles of AMX are faster";
    if (node->inputs[0]->dtype == LIANA_BF16 && isa >= LIANA__ISA_AMX) return false;
    if (!winograd_preferred(&p.grid, p.depth, p.columns, node->inputs[0]->dtype, isa, reason)) return false;
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

static liana_status cut(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const winograd_plan p = plan_winograd(node);
    prepared->num_tiles = winograd_count_cuts(&p);
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(conv2d_winograd, .applicable = is_applicable, .preferred = is_preferred, .prepare = prepare,
                     .run = run, .pack = pack, .cut = cut, .rounding = WINOGRAD_ROUNDING);
