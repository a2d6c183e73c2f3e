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

enum { MOST_TAPS = 64 };

/* Planes of the result that see the same taps: `first`, `first` + `step`, ... of each volume, and the convolution of
 * images that computes them. Only the gradient of volumes with strides along the depth has several parts. */
typedef struct planes_part {
    int64_t first, step, count;
    int64_t taps, tap[MOST_TAPS];
    const liana__kernel *kernel; /* of images; NULL: no tap, zeros */
    liana__prepared prepared;
    liana__conv_attributes attributes;
    liana__node node, inputs[2], *list[2];
    size_t kernel_at; /* of the kernel that is laid out, in packed or in scratch memory */
    size_t packed_at; /* of the kernel as `kernel` packs it, in packed memory */
} planes_part;

typedef struct planes_plan {
    liana__conv_pass pass;
    liana__geometry plane, depth;
    int64_t volumes; /* at once */
    size_t size;     /* of an element */
    /* In scratch memory: kernels, a result that is moved to its place, and the memory of the parts. */
    size_t kernels_at, result_at, rest_at;
    int64_t num_parts;
    planes_part parts[];
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

/* x for y and the kernel's gradient, dy for dx. */
static void stack(const planes_plan *plan, const planes_part *part, const void *source, char *to)
{
    const liana__geometry *d = &plan->depth, *p = &plan->plane;
    const bool of_dy = plan->pass == LIANA__CONV_INPUT_GRADIENT;
    const int64_t pixels = of_dy ? p->output[0] * p->output[1] : p->input[0] * p->input[1];
    const int64_t channels = of_dy ? p->filters : p->channels, from_planes = of_dy ? d->output[0] : d->input[0];
    const size_t plane = (size_t)(pixels * channels) * plan->size;
    for (int64_t i = 0; i < plan->volumes * part->count; i++) {
        const int64_t result = part->first + i % part->count * part->step;
        const char *planes[MOST_TAPS], *volume = (const char *)source + (size_t)(i / part->count * from_planes) * plane;
        for (int64_t k = 0; k < part->taps; k++) {
            const int64_t tap = part->tap[k];
            const int64_t at =
                of_dy ? liana__window_target(d, 0, result, tap) : liana__window_source(d, 0, result, tap);
            planes[k] = at < 0 ? NULL : volume + (size_t)at * plane;
        }
        stack_image(to + (size_t)i * plane * (size_t)part->taps, planes, part->taps, pixels, p->groups,
                    (size_t)(channels / p->groups) * plan->size);
    }
}

/* The kernel [taps, pixels, channels, filters] as [pixels, taps x channels, filters]; for dx as [pixels, channels,
 * groups x taps x filters of a group]. */
static void stack_kernel(const planes_plan *plan, const planes_part *part, const char *kernel, char *to)
{
    const liana__geometry *p = &plan->plane;
    const bool of_filters = plan->pass == LIANA__CONV_INPUT_GRADIENT;
    const int64_t taps = part->taps, pixels = p->window[0] * p->window[1];
    const int64_t channels = p->channels / p->groups, groups = of_filters ? p->groups : 1;
    const int64_t rows = of_filters ? pixels * channels : pixels;
    const size_t block = (size_t)(of_filters ? p->filters / groups : channels * p->filters) * plan->size;
    for (int64_t k = 0; k < taps; k++) {
        for (int64_t i = 0; i < rows * groups; i++) {
            const int64_t row = i / groups, group = i % groups;
            memcpy(to + (size_t)((row * groups + group) * taps + k) * block,
                   kernel + (size_t)((part->tap[k] * rows + row) * groups + group) * block, block);
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

/* The planes of the result, by the taps that they see. */
static void find_parts(planes_plan *plan)
{
    const liana__geometry *d = &plan->depth;
    const bool of_dy = plan->pass == LIANA__CONV_INPUT_GRADIENT;
    for (int64_t i = 0; i < plan->num_parts; i++) {
        planes_part *part = &plan->parts[i];
        *part = (planes_part){.first = i, .step = plan->num_parts};
        part->count = ((of_dy ? d->input[0] : d->output[0]) - i + part->step - 1) / part->step;
        for (int64_t tap = 0; tap < d->window[0]; tap++) {
            const int64_t moved = i + d->padding_low[0] - tap * d->dilations[0];
            if (moved % part->step == 0) part->tap[part->taps++] = tap;
        }
    }
}

static int64_t choose_volumes(const planes_plan *plan, size_t volume)
{
    const size_t most = plan->pass == LIANA__CONV_KERNEL_GRADIENT ? GRADIENT_STACK_BYTES : STACK_BYTES;
    int64_t chosen = 1;
    for (int64_t i = 1; i <= plan->plane.batch && (size_t)i * volume <= most; i++) {
        if (plan->plane.batch % i == 0) chosen = i;
    }
    return chosen;
}

/* The convolution of `volumes` volumes as a node of images. */
static void make_node(const planes_plan *plan, planes_part *part, const liana__node *whole)
{
    const liana__geometry *p = &plan->plane;
    const int64_t taps = part->taps, channels = p->channels / p->groups, images = plan->volumes * part->count;
    const bool of_dy = plan->pass == LIANA__CONV_INPUT_GRADIENT;
    const int64_t depth = of_dy ? channels : taps * channels, filters = of_dy ? taps * p->filters : p->filters;
    const liana_shape x = liana_shape_of(images, p->input[0], p->input[1], depth * p->groups);
    const liana_shape y = liana_shape_of(images, p->output[0], p->output[1], filters);
    const liana_shape kernel = liana_shape_of(p->window[0], p->window[1], depth, filters);
    static const liana__op *const ops[] = {
        [LIANA__CONV_FORWARD] = &liana__op_conv2d,
        [LIANA__CONV_INPUT_GRADIENT] = &liana__op_conv2d_input_gradient,
        [LIANA__CONV_KERNEL_GRADIENT] = &liana__op_conv2d_kernel_gradient,
    };
    part->attributes = *(const liana__conv_attributes *)whole->attributes;
    part->attributes.depth = (liana__window){0};
    for (int i = 0; i < 2; i++) {
        part->inputs[i] = *whole->inputs[i];
        part->list[i] = &part->inputs[i];
    }
    part->node = *whole;
    part->node.op = ops[plan->pass];
    part->node.attributes = &part->attributes;
    part->node.inputs = part->list;
    part->inputs[0].shape = of_dy ? y : x;
    part->inputs[1].shape = plan->pass == LIANA__CONV_KERNEL_GRADIENT ? y : kernel;
    part->node.shape = of_dy ? x : plan->pass == LIANA__CONV_FORWARD ? y : kernel;
}

static void release(void *pointer)
{
    planes_plan *plan = pointer;
    for (int64_t i = 0; plan && i < plan->num_parts; i++) {
        planes_part *part = &plan->parts[i];
        if (part->kernel && part->kernel->release) part->kernel->release(part->prepared.plan);
    }
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

static void grow(size_t *most, size_t size)
{
    if (size > *most) *most = size;
}

static void measure(planes_plan *plan, liana__prepared *prepared)
{
    const bool of_kernel = plan->pass == LIANA__CONV_KERNEL_GRADIENT, moves = plan->num_parts > 1;
    size_t stacked = 0, result = 0, rest = 0, kernels = 0, packed, size = 0;
    for (int64_t i = 0; i < plan->num_parts; i++) {
        planes_part *part = &plan->parts[i];
        if (!part->kernel) continue;
        if (!is_stacked(&plan->depth)) grow(&stacked, (size_t)liana_shape_size(&part->inputs[0].shape) * plan->size);
        if (of_kernel || moves) grow(&result, liana__byte_size(part->node.dtype, &part->node.shape));
        grow(&rest, part->prepared.scratch_size);
        if (of_kernel) continue;
        part->kernel_at = reserve(&kernels, (size_t)liana_shape_size(&part->inputs[1].shape) * plan->size);
    }
    packed = kernels;
    for (int64_t i = 0; i < plan->num_parts; i++) {
        plan->parts[i].packed_at = reserve(&packed, plan->parts[i].prepared.packed_size);
    }
    reserve(&size, stacked);
    plan->kernels_at = reserve(&size, kernels);
    plan->result_at = reserve(&size, result);
    plan->rest_at = reserve(&size, rest);
    *prepared = (liana__prepared){.plan = plan, .scratch_size = size};
    if (of_kernel) return;
    prepared->packed_size = packed;
    prepared->packed_input = 1;
}

static liana_status prepare_part(const planes_plan *plan, planes_part *part, const liana__node *node, liana__isa isa,
                                 liana__error *error)
{
    if (part->taps == 0 || part->count <= 0) return LIANA_OK;
    make_node(plan, part, node);
    const liana__kernel *kernel = choose(&part->node, isa);
    if (kernel->prepare) LIANA_TRY(kernel->prepare(&part->node, &part->prepared, error));
    part->kernel = kernel;
    return LIANA_OK;
}

/* The bytes of one volume that is laid out for any of the parts. */
static size_t find_largest(planes_plan *plan, const liana__node *node)
{
    size_t largest = 0;
    plan->volumes = 1;
    for (int64_t i = 0; i < plan->num_parts; i++) {
        make_node(plan, &plan->parts[i], node);
        grow(&largest, (size_t)liana_shape_size(&plan->parts[i].inputs[0].shape) * plan->size);
    }
    return largest;
}

static liana_status prepare_for(const liana__node *node, liana__isa isa, liana__prepared *prepared, liana__error *error)
{
    const liana__conv_pass pass = liana__conv_pass_of(node);
    const liana__geometry depth = liana__conv_depth(node);
    const int64_t num_parts = pass == LIANA__CONV_INPUT_GRADIENT ? depth.strides[0] : 1;
    planes_plan *plan = calloc(1, sizeof *plan + (size_t)num_parts * sizeof *plan->parts);
    if (!plan) return liana__fail_memory(error, "a convolution of volumes");
    *plan = (planes_plan){.pass = pass, .plane = liana__conv_geometry(node), .depth = depth, .num_parts = num_parts};
    plan->size = liana_dtype_size(node->inputs[0]->dtype);
    find_parts(plan);
    plan->volumes = choose_volumes(plan, find_largest(plan, node));
    liana_status status = LIANA_OK;
    for (int64_t i = 0; i < num_parts && status == LIANA_OK; i++) {
        status = prepare_part(plan, &plan->parts[i], node, isa, error);
    }
    if (status == LIANA_OK) {
        measure(plan, prepared);
    } else {
        release(plan);
    }
    return status;
}

/* ---- running ---- */

static liana_status pack(const liana__call *call, void *packed)
{
    const planes_plan *plan = call->plan;
    for (int64_t i = 0; i < plan->num_parts; i++) {
        const planes_part *part = &plan->parts[i];
        char *kernel = (char *)packed + part->kernel_at;
        if (!part->kernel) continue;
        stack_kernel(plan, part, call->src[1], kernel);
        if (!part->prepared.packed_size) continue;
        const void *src[] = {NULL, kernel};
        const liana__call inner = {.node = &part->node,
                                   .src = src,
                                   .scratch = (char *)call->scratch + plan->rest_at,
                                   .plan = part->prepared.plan};
        LIANA_TRY(part->kernel->pack(&inner, (char *)packed + part->packed_at));
    }
    return LIANA_OK;
}

/* Planes that were computed one behind the other, or zeros if `from` is NULL, to their places. */
static void move_planes(const planes_plan *plan, const planes_part *part, const char *from, char *to)
{
    const size_t plane = (size_t)(plan->plane.input[0] * plan->plane.input[1] * plan->plane.channels) * plan->size;
    for (int64_t i = 0; i < plan->volumes * part->count; i++) {
        const int64_t volume = i / part->count, at = part->first + i % part->count * part->step;
        char *target = to + (size_t)(volume * plan->depth.input[0] + at) * plane;
        if (from) {
            memcpy(target, from + (size_t)i * plane, plane);
        } else {
            memset(target, 0, plane);
        }
    }
}

/* One part of `volumes` volumes; `other` is the kernel or dy. */
static liana_status run_part(const liana__call *call, const planes_part *part, const char *source, const char *other,
                             char *result, bool first)
{
    const planes_plan *plan = call->plan;
    char *scratch = call->scratch;
    const bool of_kernel = plan->pass == LIANA__CONV_KERNEL_GRADIENT, moves = plan->num_parts > 1;
    if (!part->kernel) {
        move_planes(plan, part, NULL, result);
        return LIANA_OK;
    }
    const bool stacked = is_stacked(&plan->depth);
    if (!stacked) stack(plan, part, source, scratch);
    const void *src[] = {stacked ? source : scratch, of_kernel ? other : other + part->kernel_at};
    const bool is_packed = call->packed && part->prepared.packed_size;
    const liana__call inner = {
        .node = &part->node,
        .src = src,
        .dst = of_kernel || moves ? scratch + plan->result_at : result,
        .scratch = scratch + plan->rest_at,
        .plan = part->prepared.plan,
        .packed = is_packed ? (const char *)call->packed + part->packed_at : NULL,
    };
    LIANA_TRY(part->kernel->run(&inner));
    if (of_kernel) add_gradient(plan, inner.dst, call->dst, first);
    if (moves) move_planes(plan, part, inner.dst, result);
    return LIANA_OK;
}

static liana_status run(const liana__call *call)
{
    const planes_plan *plan = call->plan;
    const bool of_kernel = plan->pass == LIANA__CONV_KERNEL_GRADIENT;
    const size_t num_calls = (size_t)(plan->plane.batch / plan->volumes);
    char *kernels = call->packed ? (char *)call->packed : (char *)call->scratch + plan->kernels_at;
    for (int64_t i = 0; i < plan->num_parts && !of_kernel && !call->packed; i++) {
        const planes_part *part = &plan->parts[i];
        if (part->kernel) stack_kernel(plan, part, call->src[1], kernels + part->kernel_at);
    }
    size_t bytes[3];
    for (uint32_t i = 0; i < 2; i++) {
        bytes[i] = liana__byte_size(call->node->inputs[i]->dtype, liana__input_shape(call->node, i)) / num_calls;
    }
    bytes[2] = of_kernel ? 0 : liana__byte_size(call->node->dtype, &call->node->shape) / num_calls;
    for (size_t i = 0; i < num_calls; i++) {
        const char *source = (const char *)call->src[0] + i * bytes[0];
        const char *other = of_kernel ? (const char *)call->src[1] + i * bytes[1] : kernels;
        for (int64_t k = 0; k < plan->num_parts; k++) {
            LIANA_TRY(run_part(call, &plan->parts[k], source, other, (char *)call->dst + i * bytes[2], i == 0));
        }
    }
    return LIANA_OK;
}

static bool applicable(const liana__node *node, const char **reason)
{
    if (!liana__applicable_f32_bf16(node, reason)) return false;
    const liana__geometry d = liana__conv_depth(node);
    *reason = "a window or a stride of more than 64 planes";
    return d.window[0] <= MOST_TAPS && d.strides[0] <= MOST_TAPS;
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
