/* LIANA_VALIDATE=1: each node against its reference while a real graph runs. */
#include "backends/cpu/cpu.h"
#include "base/denormals.h"
#include "base/memory.h"
#include "base/scoped.h"
#include "kernels/kernel_choice.h"

#include <float.h>
#include <math.h>

/* f32 sums of up to millions of terms differ from sums in double by about this much, relative to the largest. */
static const double RELATIVE_TOLERANCE = 2e-3;

/* Neighbouring numbers of bf16 lie at most this far apart: two roundings of nearly the same may fall to either side. */
static const double BF16_STEP = 0x1p-7;

/* Kernels take denormal numbers for zeros and give zeros for them; the reference keeps them. Ops that only move numbers
 * keep them too. */
static double flushed(double value, liana_dtype dtype)
{
    double least = dtype == LIANA_F64 ? DBL_MIN : FLT_MIN;
    return fabs(value) < least ? copysign(0, value) : value;
}

static double largest(const void *data, liana_dtype dtype, int64_t count)
{
    double most = 0;
    for (int64_t i = 0; i < count; i++) {
        double value = fabs(liana__load(data, dtype, i));
        if (value > most && isfinite(value)) most = value;
    }
    return most;
}

/* Terms that cancel leave a small sum with the rounding errors of large terms: the gradient of a bias before batch
 * normalisation is such a zero. */
static double cancellation(const liana__node *node, const void *const *sources)
{
    double allowed = 0, count = (double)liana_shape_size(&node->shape);
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        const liana__node *input = node->inputs[i];
        if (!liana__dtype_is_float(input->dtype)) continue;
        int64_t size = liana_shape_size(&input->shape);
        double terms = (double)size > count ? (double)size / count : 1;
        double error = 8 * FLT_EPSILON * sqrt(terms) * largest(sources[i], input->dtype, size);
        if (error > allowed) allowed = error;
    }
    return allowed;
}

static liana_status compare(const liana__cpu_step *step, const void *const *sources, const void *result,
                            const void *expected, liana__error *error)
{
    const liana__node *node = step->node;
    int64_t count = liana_shape_size(&node->shape);
    bool exact = !liana__dtype_is_float(node->dtype);
    double allowed =
        exact ? 0 : RELATIVE_TOLERANCE * (largest(expected, node->dtype, count) + 1e-6) + cancellation(node, sources);
    if (node->op->continuous) count = node->op->continuous(node);
    for (int64_t i = 0; i < count; i++) {
        double got = liana__load(result, node->dtype, i), right = liana__load(expected, node->dtype, i);
        if (!exact) {
            got = flushed(got, node->dtype);
            right = flushed(right, node->dtype);
        }
        bool both_nan = got != got && right != right;
        double rounding = node->dtype == LIANA_BF16 || node->dtype == LIANA_F16 ? BF16_STEP * fabs(right) : 0;
        if (both_nan || got == right || fabs(got - right) <= allowed + rounding) continue;
        return liana__fail(error, LIANA_INTERNAL,
                           "LIANA_VALIDATE: node %u %s (made at %s:%d), kernel %s: element %lld of %s is %.9g, the "
                           "reference says %.9g",
                           node->id, node->op->name, node->where.file, node->where.line, step->kernel->name,
                           (long long)i, liana__type_print(node->dtype, &node->shape).text, got, right);
    }
    return LIANA_OK;
}

/* Sources as the kernel sees them, in the arena: denormal numbers would make the reference give a logarithm where the
 * kernel gives that of 0. NULL: out of memory. */
static const void **flush_sources(liana__arena *arena, const liana__node *node, const void *const *sources)
{
    const void **list = liana__arena_allocate(arena, (node->num_inputs + 1) * sizeof *list);
    for (uint32_t i = 0; list && i < node->num_inputs; i++) {
        const liana__node *input = node->inputs[i];
        const int64_t count = liana_shape_size(&input->shape);
        const bool is_flushed = liana__dtype_is_float(input->dtype) && liana__denormals_can_flush();
        void *copy = NULL;
        list[i] = sources[i];
        for (int64_t k = 0; is_flushed && k < count; k++) {
            const double value = liana__load(sources[i], input->dtype, k), zero = flushed(value, input->dtype);
            if (value == zero || value != value) continue;
            if (!copy) copy = liana__arena_copy(arena, sources[i], liana__byte_size(input->dtype, &input->shape));
            if (!copy) return NULL;
            liana__store(copy, input->dtype, k, zero);
            list[i] = copy;
        }
    }
    return list;
}

static liana_status validate(const liana__cpu_step *step, const void *const *sources, const void *result,
                             liana__error *error)
{
    const liana__node *node = step->node;
    LIANA__SCOPED_MEMORY void *expected = liana__allocate_aligned(liana__byte_size(node->dtype, &node->shape));
    if (!expected) return liana__fail_memory(error, "LIANA_VALIDATE");
    LIANA_TRY(liana__kernel_run_once(liana__reference_kernel(node), node, sources, expected, error));
    return compare(step, sources, result, expected, error);
}

liana_status liana__cpu_validate_step(const liana__cpu_step *step, const void *const *sources, const void *result,
                                      liana__error *error)
{
    if (liana__reference_kernel(step->node) == step->kernel) return LIANA_OK;
    LIANA__SCOPED(liana__arena) arena = {0};
    const liana__denormals before = liana__denormals_keep();
    const void **seen = flush_sources(&arena, step->node, sources);
    liana_status status = seen ? validate(step, seen, result, error) : liana__fail_memory(error, "LIANA_VALIDATE");
    liana__denormals_restore(before);
    return status;
}
