/* Plans and runs products and convolutions with oneDNN. */
#include "kernels/onednn.h"

#include "base/memory.h"
#include "kernels/counts.h"

#include <oneapi/dnnl/dnnl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

/* libgomp's, which oneDNN is built with; clang brings no omp.h. */
extern void omp_set_num_threads(int count);
extern int omp_get_max_threads(void);

enum { MAX_STEPS = 3, MAX_OPERANDS = 4, MAX_LANES = 64 };

/* Where an operand's data lies. */
typedef enum buffer {
    BUFFER_SRC0,
    BUFFER_SRC1,
    BUFFER_DST,
    BUFFER_SCRATCH,
    BUFFER_PACKED, /* a kernel in oneDNN's layout: scratch memory, or packed before */
    NUM_BUFFERS,
} buffer;

typedef struct plan_operand {
    int argument; /* DNNL_ARG_... */
    buffer where;
    size_t offset; /* bytes */
    dnnl_memory_desc_t layout;
} plan_operand;

typedef struct plan_step {
    dnnl_primitive_t primitive;
    int num_operands;
    plan_operand operands[MAX_OPERANDS];
} plan_step;

typedef struct plan_lane {
    atomic_flag busy;
    dnnl_stream_t stream;
    dnnl_exec_arg_t arguments[MAX_STEPS][MAX_OPERANDS];
    dnnl_exec_arg_t (*tile_arguments)[MAX_OPERANDS];
} plan_lane;

/* A part of a convolution's result, by a primitive of its own. */
typedef struct plan_tile {
    plan_step step;
    /* For some filters only: oneDNN leaves rows of this many bytes in scratch memory, from which they are copied to the
     * result. */
    size_t num_rows, row_bytes;
    size_t target_offset, target_stride; /* bytes */
    liana__widened_part part;
} plan_tile;

typedef struct onednn_plan {
    dnnl_engine_t engine;
    dnnl_primitive_attr_t attributes;
    int num_steps;
    plan_step steps[MAX_STEPS];
    int num_lanes;
    plan_lane *lanes;
    size_t scratch_size;
    /* Step 0 packs this many bytes, into scratch memory unless they are kept. 0: no step packs. */
    size_t packed_size, packed_offset;
    int num_tiles; /* 0: the plan was not cut */
    plan_tile *tiles;
} onednn_plan;

/* ---- errors ---- */

static liana_status check(dnnl_status_t status, const char *what, liana__error *error)
{
    switch (status) {
    case dnnl_success: return LIANA_OK;
    case dnnl_out_of_memory: return liana__fail_memory(error, what);
    case dnnl_unimplemented: return liana__fail(error, LIANA_UNIMPLEMENTED, "oneDNN has no implementation of %s", what);
    default:
        return liana__fail(error, LIANA_INTERNAL, "oneDNN failed to prepare %s (dnnl_status_t %d)", what, (int)status);
    }
}

/* ---- plans ---- */

/* A description that is freed when its block is left. */
#define DESCRIPTION __attribute__((cleanup(free_description))) dnnl_primitive_desc_t

static void free_description(dnnl_primitive_desc_t *description)
{
    if (*description) dnnl_primitive_desc_destroy(*description);
}

static dnnl_data_type_t type_of(liana_dtype dtype)
{
    return dtype == LIANA_BF16 ? dnnl_bf16 : dnnl_f32;
}

void liana__onednn_limit(liana__isa isa)
{
    static const dnnl_cpu_isa_t caps[] = {dnnl_cpu_isa_sse41,
                                          dnnl_cpu_isa_avx2,
                                          dnnl_cpu_isa_avx512_core,
                                          dnnl_cpu_isa_avx512_core, /* it multiplies nothing but f32 there */
                                          dnnl_cpu_isa_avx512_core_bf16,
                                          dnnl_cpu_isa_all};
    (void)dnnl_set_max_cpu_isa(caps[isa]); /* a refusal means that it was told before */
}

static void cap_isa(void)
{
    const char *limit = getenv("LIANA_MAX_ISA");
    liana__isa isa;
    if (limit && *limit && liana__cpu_detect(limit, &isa, NULL, 0, NULL) == LIANA_OK) liana__onednn_limit(isa);
}

static liana_status create_plan(onednn_plan **out, liana__error *error)
{
    cap_isa();
    onednn_plan *plan = *out = calloc(1, sizeof *plan);
    if (!plan) return liana__fail_memory(error, "a oneDNN plan");
    LIANA_TRY(check(dnnl_engine_create(&plan->engine, dnnl_cpu, 0), "an engine", error));
    LIANA_TRY(check(dnnl_primitive_attr_create(&plan->attributes), "attributes", error));
    return check(dnnl_primitive_attr_set_scratchpad_mode(plan->attributes, dnnl_scratchpad_mode_user), "attributes",
                 error);
}

static size_t reserve(onednn_plan *plan, size_t size)
{
    size_t offset = plan->scratch_size;
    plan->scratch_size += liana__align_up(size);
    return offset;
}

static void add_operand(plan_step *into, int argument, buffer where, size_t offset, const dnnl_memory_desc_t *layout)
{
    into->operands[into->num_operands++] = (plan_operand){argument, where, offset, *layout};
}

/* Makes a primitive, with its scratchpad as the first operand. */
static liana_status fill_step(onednn_plan *plan, const_dnnl_primitive_desc_t description, const char *what,
                              plan_step *made, liana__error *error)
{
    LIANA_TRY(check(dnnl_primitive_create(&made->primitive, description), what, error));
    const dnnl_memory_desc_t *scratchpad = dnnl_primitive_desc_query_md(description, dnnl_query_scratchpad_md, 0);
    size_t size = scratchpad ? dnnl_memory_desc_get_size(scratchpad) : 0;
    if (size) add_operand(made, DNNL_ARG_SCRATCHPAD, BUFFER_SCRATCH, reserve(plan, size), scratchpad);
    return LIANA_OK;
}

/* The plan's next step. */
static liana_status add_step(onednn_plan *plan, const_dnnl_primitive_desc_t description, const char *what,
                             plan_step **out, liana__error *error)
{
    *out = &plan->steps[plan->num_steps++];
    return fill_step(plan, description, what, *out, error);
}

static liana_status create_arguments(const onednn_plan *plan, const plan_step *step, dnnl_exec_arg_t *arguments,
                                     liana__error *error)
{
    for (int i = 0; i < step->num_operands; i++) {
        arguments[i].arg = step->operands[i].argument;
        LIANA_TRY(
            check(dnnl_memory_create(&arguments[i].memory, &step->operands[i].layout, plan->engine, DNNL_MEMORY_NONE),
                  "a memory object", error));
    }
    return LIANA_OK;
}

static liana_status create_lane(const onednn_plan *plan, plan_lane *made, liana__error *error)
{
    atomic_flag_clear(&made->busy);
    LIANA_TRY(check(dnnl_stream_create(&made->stream, plan->engine, dnnl_stream_default_flags), "a stream", error));
    for (int i = 0; i < plan->num_steps; i++) {
        LIANA_TRY(create_arguments(plan, &plan->steps[i], made->arguments[i], error));
    }
    return LIANA_OK;
}

static liana_status create_lanes(onednn_plan *plan, liana__error *error)
{
    int count = liana__cpu_count();
    plan->num_lanes = count < MAX_LANES ? count : MAX_LANES;
    plan->lanes = calloc((size_t)plan->num_lanes, sizeof *plan->lanes);
    if (!plan->lanes) return liana__fail_memory(error, "a oneDNN plan");
    for (int i = 0; i < plan->num_lanes; i++) LIANA_TRY(create_lane(plan, &plan->lanes[i], error));
    return LIANA_OK;
}

static void drop_tiles(onednn_plan *plan)
{
    for (int i = 0; i < plan->num_tiles; i++) {
        if (plan->tiles[i].step.primitive) dnnl_primitive_destroy(plan->tiles[i].step.primitive);
    }
    free(plan->tiles);
    plan->tiles = NULL;
    plan->num_tiles = 0;
}

void liana__onednn_release(void *pointer)
{
    onednn_plan *plan = pointer;
    if (!plan) return;
    for (int i = 0; plan->lanes && i < plan->num_lanes; i++) {
        plan_lane *lane = &plan->lanes[i];
        for (int j = 0; j < MAX_STEPS; j++) {
            for (int k = 0; k < MAX_OPERANDS; k++) dnnl_memory_destroy(lane->arguments[j][k].memory);
        }
        for (int j = 0; lane->tile_arguments && j < plan->num_tiles; j++) {
            for (int k = 0; k < MAX_OPERANDS; k++) dnnl_memory_destroy(lane->tile_arguments[j][k].memory);
        }
        free(lane->tile_arguments);
        if (lane->stream) dnnl_stream_destroy(lane->stream);
    }
    free(plan->lanes);
    drop_tiles(plan);
    for (int i = 0; i < plan->num_steps; i++) {
        if (plan->steps[i].primitive) dnnl_primitive_destroy(plan->steps[i].primitive);
    }
    if (plan->attributes) dnnl_primitive_attr_destroy(plan->attributes);
    if (plan->engine) dnnl_engine_destroy(plan->engine);
    free(plan);
}

/* Runs `fill` on a fresh plan, single-threaded, and hands the plan over or frees it. */
static liana_status prepare(liana_status (*fill)(onednn_plan *plan, const void *problem, liana__error *error),
                            const void *problem, liana__prepared *prepared, liana__error *error)
{
    int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    onednn_plan *plan = NULL;
    liana_status status = create_plan(&plan, error);
    if (status == LIANA_OK) status = fill(plan, problem, error);
    if (status == LIANA_OK) status = create_lanes(plan, error);
    omp_set_num_threads(threads);
    if (status != LIANA_OK) {
        liana__onednn_release(plan);
        return status;
    }
    prepared->plan = plan;
    prepared->scratch_size = plan->scratch_size;
    prepared->packed_size = plan->packed_size;
    prepared->packed_input = 1;
    return LIANA_OK;
}

/* ---- running ---- */

static plan_lane *claim_lane(const onednn_plan *plan)
{
    for (;;) {
        for (int i = 0; i < plan->num_lanes; i++) {
            if (!atomic_flag_test_and_set_explicit(&plan->lanes[i].busy, memory_order_acquire)) return &plan->lanes[i];
        }
        sched_yield();
    }
}

static dnnl_status_t run_step(const plan_step *step, dnnl_exec_arg_t *arguments, dnnl_stream_t stream,
                              void *const *buffers)
{
    for (int i = 0; i < step->num_operands; i++) {
        const plan_operand *operand = &step->operands[i];
        /* Without a stream, padding is not zeroed: a primitive always writes padding before another reads it. */
        dnnl_status_t status = dnnl_memory_set_data_handle_v2(arguments[i].memory,
                                                              (char *)buffers[operand->where] + operand->offset, NULL);
        if (status != dnnl_success) return status;
    }
    return dnnl_primitive_execute(step->primitive, stream, step->num_operands, arguments);
}

/* The rows that a tile of some filters left in scratch memory. */
static void copy_rows(const plan_tile *tile, const liana__call *call, size_t offset)
{
    const char *source = (const char *)call->scratch + offset;
    char *target = (char *)call->dst + tile->target_offset;
    for (size_t i = 0; i < tile->num_rows; i++) {
        memcpy(target + i * tile->target_stride, source + i * tile->row_bytes, tile->row_bytes);
    }
}

/* Executes the steps [begin, end), or the step of a tile. */
static liana_status run_steps(const liana__call *call, int begin, int end, const void *packed, const plan_tile *tile)
{
    const onednn_plan *plan = call->plan;
    void *buffers[NUM_BUFFERS] = {(void *)call->src[0], (void *)call->src[1], call->dst, call->scratch, (void *)packed};
    plan_lane *lane = claim_lane(plan);
    int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    dnnl_status_t status = dnnl_success;
    if (tile) status = run_step(&tile->step, lane->tile_arguments[call->tile], lane->stream, buffers);
    for (int i = begin; i < end && status == dnnl_success; i++) {
        status = run_step(&plan->steps[i], lane->arguments[i], lane->stream, buffers);
    }
    if (status == dnnl_success) status = dnnl_stream_wait(lane->stream);
    omp_set_num_threads(threads);
    atomic_flag_clear_explicit(&lane->busy, memory_order_release);
    if (status == dnnl_success) return LIANA_OK;
    return status == dnnl_out_of_memory ? LIANA_OUT_OF_MEMORY : LIANA_INTERNAL;
}

static liana_status run_tile(const liana__call *call)
{
    const plan_tile *tile = &((const onednn_plan *)call->plan)->tiles[call->tile];
    const liana_status status = run_steps(call, 0, 0, call->packed, tile);
    if (tile->num_rows) copy_rows(tile, call, tile->step.operands[tile->step.num_operands - 1].offset);
    return status;
}

liana_status liana__onednn_run(const liana__call *call)
{
    if (call->num_tiles > 1) return run_tile(call);
    const onednn_plan *plan = call->plan;
    const void *packed = call->packed ? call->packed : (char *)call->scratch + plan->packed_offset;
    return run_steps(call, call->packed ? 1 : 0, plan->num_steps, packed, NULL);
}

liana_status liana__onednn_pack(const liana__call *call, void *packed)
{
    return run_steps(call, 0, 1, packed, NULL);
}

/* ---- matrix products ---- */

static liana_status describe_matrices(dnnl_memory_desc_t *layout, liana_dtype dtype, int64_t batch, int64_t rows,
                                      int64_t columns, bool transposed, liana__error *error)
{
    dnnl_dims_t dims = {0}, strides = {0};
    int rank = 0;
    /* Plain matrices as such: oneDNN has faster implementations for them. */
    if (batch > 1) {
        dims[rank] = batch;
        strides[rank++] = rows * columns;
    }
    dims[rank] = rows;
    strides[rank++] = transposed ? 1 : columns;
    dims[rank] = columns;
    strides[rank++] = transposed ? rows : 1;
    return check(dnnl_memory_desc_init_by_strides(layout, rank, dims, type_of(dtype), strides), "a matrix", error);
}

static liana_status fill_matmul(onednn_plan *plan, const void *problem, liana__error *error)
{
    static const char what[] = "a matrix product";
    const liana__onednn_matmul *p = problem;
    dnnl_memory_desc_t a, b, c;
    LIANA_TRY(describe_matrices(&a, p->dtype, p->batch, p->m, p->k, p->transpose_a, error));
    LIANA_TRY(describe_matrices(&b, p->dtype, p->batch, p->k, p->n, p->transpose_b, error));
    LIANA_TRY(describe_matrices(&c, p->result, p->batch, p->m, p->n, false, error));
    dnnl_matmul_desc_t operation;
    LIANA_TRY(check(dnnl_matmul_desc_init(&operation, &a, &b, NULL, &c), what, error));
    DESCRIPTION description = NULL;
    LIANA_TRY(
        check(dnnl_primitive_desc_create(&description, &operation, plan->attributes, plan->engine, NULL), what, error));
    plan_step *step;
    LIANA_TRY(add_step(plan, description, what, &step, error));
    add_operand(step, DNNL_ARG_SRC, BUFFER_SRC0, 0, &a);
    add_operand(step, DNNL_ARG_WEIGHTS, BUFFER_SRC1, 0, &b);
    add_operand(step, DNNL_ARG_DST, BUFFER_DST, 0, &c);
    return LIANA_OK;
}

liana_status liana__onednn_prepare_matmul(const liana__onednn_matmul *matmul, liana__prepared *prepared,
                                          liana__error *error)
{
    return prepare(fill_matmul, matmul, prepared, error);
}

/* ---- convolutions ---- */

typedef struct conv_problem {
    liana__conv_pass pass;
    liana_dtype dtype;
    const liana__geometry *geometry;
} conv_problem;

/* The three tensors of a convolution: as liana lays them out, and the kernel and its gradient (always f32) as oneDNN
 * wants them. */
typedef struct conv_layouts {
    dnnl_memory_desc_t x, y, plain_kernel, any_kernel, any_gradient;
} conv_layouts;

static const char convolution[] = "a convolution";

static liana_status describe_conv(conv_layouts *layouts, const conv_problem *problem, liana__error *error)
{
    const liana__geometry *g = problem->geometry;
    dnnl_data_type_t type = type_of(problem->dtype);
    dnnl_data_type_t plain_type = problem->pass == LIANA__CONV_KERNEL_GRADIENT ? dnnl_f32 : type;
    const dnnl_dims_t x = {g->batch, g->channels, g->input[0], g->input[1]};
    const dnnl_dims_t y = {g->batch, g->filters, g->output[0], g->output[1]};
    dnnl_dims_t kernel = {0};
    int rank = 0;
    bool grouped = g->groups > 1; /* oneDNN's kernels have the axis of groups only if there are several */
    if (grouped) kernel[rank++] = g->groups;
    kernel[rank++] = g->filters / g->groups;
    kernel[rank++] = g->channels / g->groups;
    kernel[rank++] = g->window[0];
    kernel[rank++] = g->window[1];
    LIANA_TRY(check(dnnl_memory_desc_init_by_tag(&layouts->x, 4, x, type, dnnl_nhwc), convolution, error));
    LIANA_TRY(check(dnnl_memory_desc_init_by_tag(&layouts->y, 4, y, type, dnnl_nhwc), convolution, error));
    LIANA_TRY(check(dnnl_memory_desc_init_by_tag(&layouts->plain_kernel, rank, kernel, plain_type,
                                                 grouped ? dnnl_hwigo : dnnl_hwio),
                    convolution, error));
    LIANA_TRY(check(dnnl_memory_desc_init_by_tag(&layouts->any_kernel, rank, kernel, type, dnnl_format_tag_any),
                    convolution, error));
    return check(dnnl_memory_desc_init_by_tag(&layouts->any_gradient, rank, kernel, dnnl_f32, dnnl_format_tag_any),
                 convolution, error);
}

/* The description of one pass. oneDNN needs the forward one as a hint for the backward ones. */
static liana_status describe_pass(const onednn_plan *plan, liana__conv_pass pass, const liana__geometry *geometry,
                                  const conv_layouts *layouts, const_dnnl_primitive_desc_t hint,
                                  dnnl_primitive_desc_t *description, liana__error *error)
{
    const liana__geometry *g = geometry;
    const dnnl_dims_t strides = {g->strides[0], g->strides[1]};
    const dnnl_dims_t skips = {g->dilations[0] - 1, g->dilations[1] - 1}; /* oneDNN counts the cells left out */
    const dnnl_dims_t low = {g->padding_low[0], g->padding_low[1]}, high = {g->padding_high[0], g->padding_high[1]};
    const dnnl_memory_desc_t *x = &layouts->x, *y = &layouts->y, *kernel = &layouts->any_kernel;
    const dnnl_alg_kind_t direct = dnnl_convolution_direct;
    dnnl_convolution_desc_t operation;
    dnnl_status_t status = dnnl_invalid_arguments;
    switch (pass) {
    case LIANA__CONV_FORWARD:
        status = dnnl_dilated_convolution_forward_desc_init(&operation, dnnl_forward_training, direct, x, kernel, NULL,
                                                            y, strides, skips, low, high);
        break;
    case LIANA__CONV_INPUT_GRADIENT:
        status = dnnl_dilated_convolution_backward_data_desc_init(&operation, direct, x, kernel, y, strides, skips, low,
                                                                  high);
        break;
    case LIANA__CONV_KERNEL_GRADIENT:
        status = dnnl_dilated_convolution_backward_weights_desc_init(&operation, direct, x, &layouts->any_gradient,
                                                                     NULL, y, strides, skips, low, high);
        break;
    }
    LIANA_TRY(check(status, convolution, error));
    return check(dnnl_primitive_desc_create(description, &operation, plan->attributes, plan->engine, hint), convolution,
                 error);
}

static liana_status add_reorder(onednn_plan *plan, const dnnl_memory_desc_t *from, buffer from_where,
                                size_t from_offset, const dnnl_memory_desc_t *to, buffer to_where, size_t to_offset,
                                liana__error *error)
{
    static const char what[] = "a change of a kernel's layout";
    DESCRIPTION description = NULL;
    LIANA_TRY(
        check(dnnl_reorder_primitive_desc_create(&description, from, plan->engine, to, plan->engine, plan->attributes),
              what, error));
    plan_step *step;
    LIANA_TRY(add_step(plan, description, what, &step, error));
    add_operand(step, DNNL_ARG_FROM, from_where, from_offset, from);
    add_operand(step, DNNL_ARG_TO, to_where, to_offset, to);
    return LIANA_OK;
}

/* Step 0: src[1] as `packed` is laid out. */
static liana_status add_packing(onednn_plan *plan, const dnnl_memory_desc_t *plain, const dnnl_memory_desc_t *packed,
                                liana__error *error)
{
    plan->packed_size = dnnl_memory_desc_get_size(packed);
    plan->packed_offset = reserve(plan, plan->packed_size);
    return add_reorder(plan, plain, BUFFER_SRC1, 0, packed, BUFFER_PACKED, 0, error);
}

/* Reads x or y from src[0], or writes them to dst; the kernel goes through scratch memory unless oneDNN reads it as it
 * is. */
static liana_status add_conv_steps(onednn_plan *plan, liana__conv_pass pass, const conv_layouts *layouts,
                                   const_dnnl_primitive_desc_t description, liana__error *error)
{
    bool gradient = pass == LIANA__CONV_KERNEL_GRADIENT;
    const dnnl_memory_desc_t *plain = &layouts->plain_kernel;
    const dnnl_memory_desc_t *kernel =
        dnnl_primitive_desc_query_md(description, gradient ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0);
    buffer where = gradient ? BUFFER_DST : BUFFER_SRC1;
    size_t offset = 0;
    buffer used = where;
    bool reorder = !dnnl_memory_desc_equal(kernel, plain);
    if (reorder && gradient) {
        used = BUFFER_SCRATCH;
        offset = reserve(plan, dnnl_memory_desc_get_size(kernel));
    } else if (reorder) {
        used = BUFFER_PACKED;
        LIANA_TRY(add_packing(plan, plain, kernel, error));
    }
    plan_step *step;
    LIANA_TRY(add_step(plan, description, convolution, &step, error));
    if (pass == LIANA__CONV_FORWARD) {
        add_operand(step, DNNL_ARG_SRC, BUFFER_SRC0, 0, &layouts->x);
        add_operand(step, DNNL_ARG_WEIGHTS, used, offset, kernel);
        add_operand(step, DNNL_ARG_DST, BUFFER_DST, 0, &layouts->y);
    } else if (pass == LIANA__CONV_INPUT_GRADIENT) {
        add_operand(step, DNNL_ARG_DIFF_DST, BUFFER_SRC0, 0, &layouts->y);
        add_operand(step, DNNL_ARG_WEIGHTS, used, offset, kernel);
        add_operand(step, DNNL_ARG_DIFF_SRC, BUFFER_DST, 0, &layouts->x);
    } else {
        add_operand(step, DNNL_ARG_SRC, BUFFER_SRC0, 0, &layouts->x);
        add_operand(step, DNNL_ARG_DIFF_DST, BUFFER_SRC1, 0, &layouts->y);
        add_operand(step, DNNL_ARG_DIFF_WEIGHTS, used, offset, kernel);
    }
    if (reorder && gradient) LIANA_TRY(add_reorder(plan, kernel, used, offset, plain, where, 0, error));
    return LIANA_OK;
}

static liana_status fill_conv(onednn_plan *plan, const void *problem, liana__error *error)
{
    const conv_problem *conv = problem;
    conv_layouts layouts;
    LIANA_TRY(describe_conv(&layouts, conv, error));
    DESCRIPTION forward = NULL, backward = NULL;
    LIANA_TRY(describe_pass(plan, LIANA__CONV_FORWARD, conv->geometry, &layouts, NULL, &forward, error));
    if (conv->pass == LIANA__CONV_FORWARD) return add_conv_steps(plan, conv->pass, &layouts, forward, error);
    LIANA_TRY(describe_pass(plan, conv->pass, conv->geometry, &layouts, forward, &backward, error));
    return add_conv_steps(plan, conv->pass, &layouts, backward, error);
}

liana_status liana__onednn_prepare_conv(liana__conv_pass pass, liana_dtype dtype, const liana__geometry *geometry,
                                        liana__prepared *prepared, liana__error *error)
{
    if (!liana__geometry_is_pointwise(geometry)) {
        const conv_problem problem = {pass, dtype, geometry};
        return prepare(fill_conv, &problem, prepared, error);
    }
    int64_t pixels = geometry->batch * geometry->input[0] * geometry->input[1];
    int64_t channels = geometry->channels, filters = geometry->filters;
    liana__onednn_matmul matmul = {.batch = 1, .m = pixels, .n = filters, .k = channels};
    if (pass == LIANA__CONV_INPUT_GRADIENT) {
        matmul = (liana__onednn_matmul){.batch = 1, .m = pixels, .n = channels, .k = filters, .transpose_b = true};
    } else if (pass == LIANA__CONV_KERNEL_GRADIENT) {
        matmul = (liana__onednn_matmul){.batch = 1, .m = channels, .n = filters, .k = pixels, .transpose_a = true};
    }
    matmul.dtype = dtype;
    matmul.result = pass == LIANA__CONV_KERNEL_GRADIENT ? LIANA_F32 : dtype;
    return prepare(fill_matmul, &matmul, prepared, error);
}

/* ---- tiles of a forward convolution ----
 *
 * Whole images of a batch; rows of one image, with the rows of the input that they see; or, where the kernel is larger
 * than the images, some filters of it. Each tile has a primitive of the implementation that computes the whole, which
 * reads the same packed kernel and adds up each element of the result in the same order. */

enum { LEAST_TILE_FLOPS = 4 << 20, MOST_CONV_TILES = 8, FILTERS_AT_ONCE = 64 };

typedef enum cut_kind { CUT_IMAGES, CUT_ROWS, CUT_FILTERS } cut_kind;

typedef struct conv_cut {
    cut_kind kind;
    int64_t count; /* tiles */
    int64_t size;  /* images, rows or filters of each; the last may have fewer */
} conv_cut;

static conv_cut choose_cut(const conv_problem *conv, bool by_filters)
{
    const liana__geometry *g = conv->geometry;
    const double pixels = (double)g->batch * (double)(g->output[0] * g->output[1]);
    const double kernel = (double)(g->window[0] * g->window[1]) * (double)g->channels * (double)g->filters;
    const double images =
        (double)g->batch * (double)(g->input[0] * g->input[1]) * (double)g->channels + pixels * (double)g->filters;
    conv_cut cut = {.kind = CUT_ROWS};
    int64_t whole = g->output[0], unit = 1;
    if (g->batch > 1) {
        cut.kind = CUT_IMAGES;
        whole = g->batch;
    } else if (by_filters && kernel > 2 * images && g->groups == 1 && g->filters % FILTERS_AT_ONCE == 0) {
        cut.kind = CUT_FILTERS;
        whole = g->filters;
        unit = FILTERS_AT_ONCE;
    }
    const int64_t units = whole / unit, most = units < MOST_CONV_TILES ? units : MOST_CONV_TILES;
    const int64_t wanted = liana__count_tiles(2 * pixels * kernel / (double)g->groups, LEAST_TILE_FLOPS, most);
    cut.size = (units + wanted - 1) / wanted * unit;
    cut.count = (whole + cut.size - 1) / cut.size;
    return cut;
}

/* The convolution that gives one tile, and where in x and y it begins, in elements. */
typedef struct tile_place {
    liana__geometry geometry;
    int64_t source, target, filter;
} tile_place;

/* Rows [first, first + count) of the result, and the rows of the input that they see; there may be none. */
static void take_rows(tile_place *place, int64_t first, int64_t count)
{
    liana__geometry *g = &place->geometry;
    const int64_t height = g->input[0], reach = (g->window[0] - 1) * g->dilations[0] + 1;
    const int64_t begin = first * g->strides[0] - g->padding_low[0];
    const int64_t end = begin + (count - 1) * g->strides[0] + reach;
    /* Where windows do not meet, the rows between two tiles go with the first. */
    const int64_t next = reach < g->strides[0] ? begin + count * g->strides[0] : end;
    const int64_t seen = begin > 0 ? at_most(begin, height) : 0, seen_end = next > 0 ? at_most(next, height) : 0;
    g->output[0] = count;
    g->input[0] = seen_end - seen;
    g->padding_low[0] = seen - begin;
    g->padding_high[0] = end > seen_end ? end - seen_end : 0;
    place->source = seen * g->input[1] * g->channels;
    place->target = first * g->output[1] * g->filters;
}

static tile_place place_tile(const liana__geometry *whole, const conv_cut *cut, int64_t index)
{
    tile_place place = {.geometry = *whole};
    liana__geometry *g = &place.geometry;
    const int64_t first = index * cut->size;
    switch (cut->kind) {
    case CUT_IMAGES:
        g->batch = at_most(cut->size, whole->batch - first);
        place.source = first * g->input[0] * g->input[1] * g->channels;
        place.target = first * g->output[0] * g->output[1] * g->filters;
        break;
    case CUT_ROWS: take_rows(&place, first, at_most(cut->size, whole->output[0] - first)); break;
    case CUT_FILTERS:
        g->filters = at_most(cut->size, whole->filters - first);
        place.target = place.filter = first;
        break;
    }
    return place;
}

static const char *implementation_of(const_dnnl_primitive_desc_t description)
{
    const char *name = "";
    dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0, &name);
    return name;
}

/* The facts that all tiles of a plan need. */
typedef struct whole_conv {
    const conv_problem *problem;
    conv_cut cut;
    const plan_operand *kernel; /* that the plan's own primitive reads */
    const char *implementation; /* of that */
    size_t scratch_size;        /* the tiles' own memory follows */
} whole_conv;

/* The place of a tile's filters in the packed kernel, in bytes. -1: they are not together, or the kernel is not
 * packed. */
static int64_t find_filters(const whole_conv *whole, const tile_place *place, dnnl_memory_desc_t *part)
{
    const dnnl_memory_desc_t *packed = &whole->kernel->layout;
    *part = *packed;
    if (whole->cut.kind != CUT_FILTERS) return 0;
    const int64_t filters = place->geometry.filters, all = whole->problem->geometry->filters;
    const dnnl_dims_t offsets = {place->filter};
    dnnl_dims_t dims;
    memcpy(dims, packed->dims, sizeof dims);
    dims[0] = filters;
    if (whole->kernel->where != BUFFER_PACKED) return -1;
    if (dnnl_memory_desc_init_submemory(part, packed, dims, offsets) != dnnl_success) return -1;
    const int64_t offset = part->offset0 - packed->offset0;
    part->offset0 = 0;
    bool together =
        (int64_t)dnnl_memory_desc_get_size(part) * all == (int64_t)dnnl_memory_desc_get_size(packed) * filters;
    return together ? offset * (whole->problem->dtype == LIANA_BF16 ? 2 : 4) : -1;
}

/* One tile's primitive; *fits is whether there is one that serves. */
static liana_status fill_tile(onednn_plan *plan, const whole_conv *whole, const tile_place *place, plan_tile *tile,
                              bool *fits, liana__error *error)
{
    const conv_problem problem = {LIANA__CONV_FORWARD, whole->problem->dtype, &place->geometry};
    const size_t size = problem.dtype == LIANA_BF16 ? 2 : 4;
    conv_layouts layouts;
    *fits = false;
    LIANA_TRY(describe_conv(&layouts, &problem, error));
    const int64_t filters = find_filters(whole, place, &layouts.any_kernel);
    if (filters < 0) return LIANA_OK;
    DESCRIPTION description = NULL;
    liana__error ignored;
    if (describe_pass(plan, problem.pass, &place->geometry, &layouts, NULL, &description, &ignored) != LIANA_OK) {
        return LIANA_OK;
    }
    const dnnl_memory_desc_t *kernel = dnnl_primitive_desc_query_md(description, dnnl_query_weights_md, 0);
    *fits = strcmp(implementation_of(description), whole->implementation) == 0;
    if (!*fits) return LIANA_OK;
    plan->scratch_size = whole->scratch_size;
    LIANA_TRY(fill_step(plan, description, convolution, &tile->step, error));
    add_operand(&tile->step, DNNL_ARG_SRC, BUFFER_SRC0, (size_t)place->source * size, &layouts.x);
    add_operand(&tile->step, DNNL_ARG_WEIGHTS, whole->kernel->where, whole->kernel->offset + (size_t)filters, kernel);
    const liana__geometry *g = &place->geometry;
    size_t target = (size_t)place->target * size;
    if (whole->cut.kind == CUT_FILTERS) {
        tile->num_rows = (size_t)(g->output[0] * g->output[1]);
        tile->row_bytes = (size_t)g->filters * size;
        tile->target_stride = (size_t)whole->problem->geometry->filters * size;
        tile->target_offset = target;
        target = reserve(plan, tile->num_rows * tile->row_bytes);
    }
    add_operand(&tile->step, DNNL_ARG_DST, tile->num_rows ? BUFFER_SCRATCH : BUFFER_DST, target, &layouts.y);
    return LIANA_OK;
}

/* The part that a tile reads and writes, in elements. */
static liana__widened_part part_of(const whole_conv *whole, const tile_place *place)
{
    const liana__geometry *g = &place->geometry;
    const int64_t pixels = g->batch * g->output[0] * g->output[1];
    liana__widened_part part = {.source = place->source,
                                .source_size = g->batch * g->input[0] * g->input[1] * g->channels,
                                .target = place->target,
                                .rows = 1,
                                .row_size = pixels * g->filters};
    if (whole->cut.kind == CUT_FILTERS) {
        part.rows = pixels;
        part.row_size = g->filters;
        part.stride = whole->problem->geometry->filters;
    }
    return part;
}

void liana__onednn_find_part(const void *plan, size_t tile, liana__widened_part *part)
{
    *part = ((const onednn_plan *)plan)->tiles[tile].part;
}

static liana_status fill_tiles(onednn_plan *plan, const whole_conv *whole, liana__error *error)
{
    plan->tiles = calloc((size_t)whole->cut.count, sizeof *plan->tiles);
    if (!plan->tiles) return liana__fail_memory(error, "a oneDNN plan");
    plan->num_tiles = (int)whole->cut.count;
    size_t most_scratch = whole->scratch_size;
    bool fits = true;
    for (int i = 0; i < plan->num_tiles && fits; i++) {
        const tile_place place = place_tile(whole->problem->geometry, &whole->cut, i);
        fits = place.geometry.input[0] > 0;
        if (fits) LIANA_TRY(fill_tile(plan, whole, &place, &plan->tiles[i], &fits, error));
        plan->tiles[i].part = part_of(whole, &place);
        if (plan->scratch_size > most_scratch) most_scratch = plan->scratch_size;
    }
    plan->scratch_size = most_scratch;
    if (!fits) drop_tiles(plan);
    for (int i = 0; plan->num_tiles && i < plan->num_lanes; i++) {
        plan_lane *lane = &plan->lanes[i];
        lane->tile_arguments = calloc((size_t)plan->num_tiles, sizeof *lane->tile_arguments);
        if (!lane->tile_arguments) return liana__fail_memory(error, "a oneDNN plan");
        for (int k = 0; k < plan->num_tiles; k++) {
            LIANA_TRY(create_arguments(plan, &plan->tiles[k].step, lane->tile_arguments[k], error));
        }
    }
    return LIANA_OK;
}

/* Where the packed kernel cannot be cut by filters, images are cut by rows. */
static liana_status cut_plan(onednn_plan *plan, const conv_problem *problem, bool by_filters, liana__error *error)
{
    whole_conv whole = {.problem = problem, .cut = choose_cut(problem, by_filters), .scratch_size = plan->scratch_size};
    if (whole.cut.count < 2) return LIANA_OK;
    const plan_step *step = &plan->steps[plan->num_steps - 1];
    for (int i = 0; i < step->num_operands; i++) {
        if (step->operands[i].argument == DNNL_ARG_WEIGHTS) whole.kernel = &step->operands[i];
    }
    const_dnnl_primitive_desc_t description;
    LIANA_TRY(check(dnnl_primitive_get_primitive_desc(step->primitive, &description), convolution, error));
    whole.implementation = implementation_of(description);
    LIANA_TRY(fill_tiles(plan, &whole, error));
    if (plan->num_tiles || whole.cut.kind != CUT_FILTERS) return LIANA_OK;
    return cut_plan(plan, problem, false, error);
}

liana_status liana__onednn_cut_conv(liana__conv_pass pass, liana_dtype dtype, const liana__geometry *geometry,
                                    liana__prepared *prepared, liana__error *error)
{
    if (pass != LIANA__CONV_FORWARD || liana__geometry_is_pointwise(geometry)) return LIANA_OK;
    onednn_plan *plan = prepared->plan;
    const conv_problem problem = {pass, dtype, geometry};
    int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    liana_status status = cut_plan(plan, &problem, true, error);
    omp_set_num_threads(threads);
    prepared->scratch_size = plan->scratch_size;
    prepared->num_tiles = (size_t)plan->num_tiles;
    return status;
}
