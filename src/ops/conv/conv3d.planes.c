/* Convolutions of volumes by convolutions of images, which have the fast kernels.
 *
 * The planes under one place of the window stand one behind the other in the channels of one image, and so do those of
 * the kernel. Then an image of the result is a convolution of one image:
 *
 *     y:       images of x with (taps x channels), the kernel with (taps x channels) channels
 *     dx:      images of dy with (taps x filters), the kernel with (taps x filters) filters
 *     dkernel: images of x with (taps x channels) and dy, a result with (taps x channels) channels
 *
 * Groups stay together: of each group, the planes one behind the other. A few volumes at a time are laid out like this,
 * in scratch memory. */
#include "ops/conv/conv3d.h"

#include "base/memory.h"
#include "kernels/applicable.h"

#include <stdlib.h>

/* The bytes of the images that are laid out at once, if that is more than those of one volume. The gradient of a kernel
 * adds up a sum for each time. */
enum { STACK_BYTES = 1 << 20, GRADIENT_STACK_BYTES = 4 << 20 };

typedef struct planes_plan {
    liana__conv_pass pass;
    liana__geometry plane, depth;
    const liana__kernel *kernel; /* of images */
    liana__prepared prepared;
    liana__conv_attributes attributes;
    liana__node node, inputs[2], *list[2];
    int64_t volumes; /* at once */
    size_t size;     /* of an element */
    /* In scratch memory. */
    size_t kernel_at, sums_at, rest_at;
    size_t packed_at; /* in packed memory, behind the kernel */
} planes_plan;

/* ---- the planes as channels ---- */

static void copy_block(char *to, const char *from, size_t bytes)
{
    if (bytes == 4) {
        memcpy(to, from, 4);
    } else if (bytes == 2) {
        memcpy(to, from, 2);
    } else {
        memcpy(to, from, bytes);
    }
}

/* Lays out what one image of the result sees: for each pixel, group and tap the channels of the group. `planes` are the
 * planes under the taps; NULL: padding. */
static void stack_image(char *to, const char *const *planes, int64_t taps, int64_t pixels, int64_t groups, size_t block)
{
    for (int64_t tap = 0; tap < taps; tap++) {
        for (int64_t group = 0; group < groups; group++) {
            const char *from = planes[tap] ? planes[tap] + (size_t)group * block : NULL;
            char *at = to + (size_t)(group * taps + tap) * block;
            const size_t from_step = (size_t)groups * block, step = from_step * (size_t)taps;
            for (int64_t pixel = 0; pixel < pixels; pixel++, at += step) {
                if (!from) {
                    memset(at, 0, block);
                    continue;
                }
                copy_block(at, from, block);
                from += from_step;
            }
        }
    }
}

enum { MOST_TAPS = 64 };

/* x for y and the kernel's gradient, dy for dx. */
static void stack(const planes_plan *plan, const void *source, char *to)
{
    const liana__geometry *d = &plan->depth, *p = &plan->plane;
    const bool of_dy = plan->pass == LIANA__CONV_INPUT_GRADIENT;
    const int64_t pixels = of_dy ? p->output[0] * p->output[1] : p->input[0] * p->input[1];
    const int64_t channels = of_dy ? p->filters : p->channels, taps = d->window[0];
    const int64_t from_planes = of_dy ? d->output[0] : d->input[0], to_planes = of_dy ? d->input[0] : d->output[0];
    const size_t plane = (size_t)(pixels * channels) * plan->size;
    for (int64_t i = 0; i < plan->volumes * to_planes; i++) {
        const char *planes[MOST_TAPS], *volume = (const char *)source + (size_t)(i / to_planes * from_planes) * plane;
        for (int64_t tap = 0; tap < taps; tap++) {
            const int64_t at =
                of_dy ? liana__window_target(d, 0, i % to_planes, tap) : liana__window_source(d, 0, i % to_planes, tap);
            planes[tap] = at < 0 ? NULL : volume + (size_t)at * plane;
        }
        stack_image(to + (size_t)i * plane * (size_t)taps, planes, taps, pixels, p->groups,
                    (size_t)(channels / p->groups) * plan->size);
    }
}

/* The kernel [taps, pixels, channels, filters] as [pixels, taps x channels, filters]; for dx as [pixels, channels,
 * groups x taps x filters of a group]. */
static void stack_kernel(const planes_plan *plan, const char *kernel, char *to)
{
    const liana__geometry *p = &plan->plane;
    const bool of_filters = plan->pass == LIANA__CONV_INPUT_GRADIENT;
    const int64_t taps = plan->depth.window[0], pixels = p->window[0] * p->window[1];
    const int64_t channels = p->channels / p->groups, groups = of_filters ? p->groups : 1;
    const int64_t rows = of_filters ? pixels * channels : pixels;
    const size_t block = (size_t)(of_filters ? p->filters / groups : channels * p->filters) * plan->size;
    for (int64_t tap = 0; tap < taps; tap++) {
        for (int64_t i = 0; i < rows * groups; i++) {
            const int64_t row = i / groups, group = i % groups;
            memcpy(to + (size_t)((row * groups + group) * taps + tap) * block,
                   kernel + (size_t)((tap * rows + row) * groups + group) * block, block);
        }
    }
}

/* Adds a gradient [pixels, taps x channels, filters] to [taps, pixels, channels, filters]. */
static void add_gradient(const planes_plan *plan, const float *from, float *to, bool first)
{
    const liana__geometry *p = &plan->plane;
    const int64_t taps = plan->depth.window[0], pixels = p->window[0] * p->window[1];
    const int64_t block = p->channels / p->groups * p->filters;
    for (int64_t tap = 0; tap < taps; tap++) {
        for (int64_t pixel = 0; pixel < pixels; pixel++) {
            const float *a = from + (pixel * taps + tap) * block;
            float *b = to + (tap * pixels + pixel) * block;
            for (int64_t i = 0; i < block; i++) b[i] = first ? a[i] : b[i] + a[i];
        }
    }
}

/* ---- plans ---- */

/* Whether the volumes are such images as they are. */
static bool is_stacked(const liana__geometry *d)
{
    return d->window[0] == 1 && d->strides[0] == 1 && d->padding_low[0] == 0 && d->padding_high[0] == 0;
}

static int64_t choose_volumes(const planes_plan *plan, int64_t batch, size_t volume)
{
    const size_t most = plan->pass == LIANA__CONV_KERNEL_GRADIENT ? GRADIENT_STACK_BYTES : STACK_BYTES;
    int64_t chosen = 1;
    for (int64_t i = 1; i <= batch && (size_t)i * volume <= most; i++) {
        if (batch % i == 0) chosen = i;
    }
    return chosen;
}

/* The convolution of `volumes` volumes as a node of images. */
static void make_node(planes_plan *plan, const liana__node *whole)
{
    const liana__geometry *p = &plan->plane, *d = &plan->depth;
    const int64_t taps = d->window[0], channels = p->channels / p->groups;
    const bool of_dy = plan->pass == LIANA__CONV_INPUT_GRADIENT;
    const int64_t images = plan->volumes * (of_dy ? d->input[0] : d->output[0]);
    const int64_t depth = of_dy ? channels : taps * channels, filters = of_dy ? taps * p->filters : p->filters;
    const liana_shape x = liana_shape_of(images, p->input[0], p->input[1], depth * p->groups);
    const liana_shape y = liana_shape_of(images, p->output[0], p->output[1], filters);
    const liana_shape kernel = liana_shape_of(p->window[0], p->window[1], depth, filters);
    static const liana__op *const ops[] = {
        [LIANA__CONV_FORWARD] = &liana__op_conv2d,
        [LIANA__CONV_INPUT_GRADIENT] = &liana__op_conv2d_input_gradient,
        [LIANA__CONV_KERNEL_GRADIENT] = &liana__op_conv2d_kernel_gradient,
    };
    plan->attributes = *(const liana__conv_attributes *)whole->attributes;
    plan->attributes.depth = (liana__window){0};
    for (int i = 0; i < 2; i++) {
        plan->inputs[i] = *whole->inputs[i];
        plan->list[i] = &plan->inputs[i];
    }
    plan->node = *whole;
    plan->node.op = ops[plan->pass];
    plan->node.attributes = &plan->attributes;
    plan->node.inputs = plan->list;
    plan->inputs[0].shape = of_dy ? y : x;
    plan->inputs[1].shape = plan->pass == LIANA__CONV_KERNEL_GRADIENT ? y : kernel;
    plan->node.shape = of_dy ? x : plan->pass == LIANA__CONV_FORWARD ? y : kernel;
}

static void release(void *pointer)
{
    planes_plan *plan = pointer;
    if (plan && plan->kernel && plan->kernel->release) plan->kernel->release(plan->prepared.plan);
    free(plan);
}

static const liana__kernel *choose(const liana__node *node, liana__isa isa)
{
    const liana__kernel *const *kernel = node->op->kernels;
    while (kernel[1] && liana__kernel_declines(*kernel, node, isa)) kernel++;
    return *kernel;
}

static size_t reserve(size_t *size, size_t bytes)
{
    const size_t at = *size;
    *size += liana__align_up(bytes);
    return at;
}

static void measure(planes_plan *plan, liana__prepared *prepared)
{
    const bool of_kernel = plan->pass == LIANA__CONV_KERNEL_GRADIENT;
    const size_t kernel = (size_t)liana_shape_size(of_kernel ? &plan->node.shape : &plan->inputs[1].shape);
    size_t size = 0, packed = 0;
    reserve(&size, is_stacked(&plan->depth) ? 0 : (size_t)liana_shape_size(&plan->inputs[0].shape) * plan->size);
    plan->kernel_at = reserve(&size, of_kernel ? 0 : kernel * plan->size);
    plan->sums_at = reserve(&size, of_kernel ? kernel * sizeof(float) : 0);
    plan->rest_at = reserve(&size, plan->prepared.scratch_size);
    prepared->plan = plan;
    prepared->scratch_size = size;
    if (of_kernel) return;
    reserve(&packed, kernel * plan->size);
    plan->packed_at = packed;
    prepared->packed_size = packed + plan->prepared.packed_size;
    prepared->packed_input = 1;
}

static liana_status prepare_for(const liana__node *node, liana__isa isa, liana__prepared *prepared, liana__error *error)
{
    planes_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return liana__fail_memory(error, "a convolution of volumes");
    plan->pass = liana__conv_pass_of(node);
    plan->plane = liana__conv_geometry(node);
    plan->depth = liana__conv_depth(node);
    plan->size = liana_dtype_size(node->inputs[0]->dtype);
    plan->volumes = 1;
    make_node(plan, node);
    const size_t volume = (size_t)liana_shape_size(&plan->inputs[0].shape) * plan->size;
    plan->volumes = choose_volumes(plan, plan->plane.batch, volume);
    make_node(plan, node);
    plan->kernel = choose(&plan->node, isa);
    liana_status status = LIANA_OK;
    if (plan->kernel->prepare) status = plan->kernel->prepare(&plan->node, &plan->prepared, error);
    if (status != LIANA_OK) {
        plan->kernel = NULL; /* it prepared nothing */
        release(plan);
        return status;
    }
    measure(plan, prepared);
    return LIANA_OK;
}

/* ---- running ---- */

static liana_status pack(const liana__call *call, void *packed)
{
    const planes_plan *plan = call->plan;
    stack_kernel(plan, call->src[1], packed);
    if (!plan->prepared.packed_size) return LIANA_OK;
    const void *src[] = {NULL, packed};
    const liana__call inner = {.node = &plan->node,
                               .src = src,
                               .scratch = (char *)call->scratch + plan->rest_at,
                               .plan = plan->prepared.plan};
    return plan->kernel->pack(&inner, (char *)packed + plan->packed_at);
}

static liana_status run(const liana__call *call)
{
    const planes_plan *plan = call->plan;
    const bool of_kernel = plan->pass == LIANA__CONV_KERNEL_GRADIENT, stacked = is_stacked(&plan->depth);
    char *scratch = call->scratch, *kernel = call->packed ? (char *)call->packed : scratch + plan->kernel_at;
    if (!of_kernel && !call->packed) stack_kernel(plan, call->src[1], kernel);
    const int64_t num_calls = plan->plane.batch / plan->volumes;
    const size_t source_bytes =
        liana__byte_size(call->node->inputs[0]->dtype, liana__input_shape(call->node, 0)) / (size_t)num_calls;
    const size_t dy_bytes = of_kernel ? (size_t)liana_shape_size(&plan->inputs[1].shape) * plan->size : 0;
    const size_t result_bytes = of_kernel ? 0 : liana__byte_size(plan->node.dtype, &plan->node.shape);
    for (int64_t i = 0; i < num_calls; i++) {
        const char *source = (const char *)call->src[0] + (size_t)i * source_bytes;
        if (!stacked) stack(plan, source, scratch);
        const void *src[] = {stacked ? source : scratch,
                             of_kernel ? (const char *)call->src[1] + (size_t)i * dy_bytes : kernel};
        const bool is_packed = call->packed && plan->prepared.packed_size;
        const liana__call inner = {
            .node = &plan->node,
            .src = src,
            .dst = of_kernel ? scratch + plan->sums_at : (char *)call->dst + (size_t)i * result_bytes,
            .scratch = scratch + plan->rest_at,
            .plan = plan->prepared.plan,
            .packed = is_packed ? (const char *)call->packed + plan->packed_at : NULL,
        };
        LIANA_TRY(plan->kernel->run(&inner));
        if (of_kernel) add_gradient(plan, inner.dst, call->dst, i == 0);
    }
    return LIANA_OK;
}

static bool applicable(const liana__node *node, const char **reason)
{
    if (!liana__applicable_f32_bf16(node, reason)) return false;
    *reason = "a window of more than 64 planes";
    return liana__conv_depth(node).window[0] <= MOST_TAPS;
}

/* Kernels for images may add up fewer and larger products, as those for windows of 3x3 do. */
#define ROUNDING 4.0

#define PLANES_KERNEL(level, least)                                                                              \
    static liana_status prepare_##level(const liana__node *node, liana__prepared *prepared, liana__error *error) \
    {                                                                                                            \
        return prepare_for(node, least, prepared, error);                                                        \
    }                                                                                                            \
    const liana__kernel liana__conv3d_planes_##level = {.name = "planes_" #level,                                \
                                                        .isa = least,                                            \
                                                        .applicable = applicable,                                \
                                                        .prepare = prepare_##level,                              \
                                                        .release = release,                                      \
                                                        .run = run,                                              \
                                                        .pack = pack,                                            \
                                                        .rounding = ROUNDING};
PLANES_KERNEL(amx, LIANA__ISA_AMX)
PLANES_KERNEL(avx512_bf16, LIANA__ISA_AVX512_BF16)
PLANES_KERNEL(avx512_bf16_storage, LIANA__ISA_AVX512_BF16_STORAGE)
PLANES_KERNEL(avx512, LIANA__ISA_AVX512)
PLANES_KERNEL(avx2, LIANA__ISA_AVX2)
PLANES_KERNEL(baseline, LIANA__ISA_BASELINE)
