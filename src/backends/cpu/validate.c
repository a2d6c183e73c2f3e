/* LIANA_VALIDATE=1: each node against its reference while a real graph runs. */
#include "backends/cpu/cpu.h"
#include "backends/kernel_choice.h"
#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* f32 sums of up to millions of terms differ from sums in double by about this much, relative to the largest. */
static const double RELATIVE_TOLERANCE = 2e-3;

/* Neighbouring numbers of bf16 lie at most this far apart: two roundings of nearly the same may fall to either side. */
static const double BF16_STEP = 0x1p-7;

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
        bool both_nan = got != got && right != right;
        double rounding = node->dtype == LIANA_BF16 ? BF16_STEP * fabs(right) : 0;
        if (both_nan || got == right || fabs(got - right) <= allowed + rounding) continue;
        return liana__fail(error, LIANA_INTERNAL,
                           "LIANA_VALIDATE: node %u %s (made at %s:%d), kernel %s: element %lld of %s is %.9g, the "
                           "reference says %.9g",
                           node->id, node->op->name, node->where.file, node->where.line, step->kernel->name,
                           (long long)i, liana__type_print(node->dtype, &node->shape).text, got, right);
    }
    return LIANA_OK;
}

liana_status liana__cpu_validate_step(const liana__cpu_step *step, const void *const *sources, const void *result,
                                      liana__error *error)
{
    const liana__node *node = step->node;
    const liana__kernel *reference = liana__reference_kernel(node);
    if (reference == step->kernel) return LIANA_OK;
    liana__prepared prepared = {0};
    if (reference->prepare) LIANA_TRY(reference->prepare(node, &prepared, error));
    void *expected = liana__allocate_aligned(liana__byte_size(node->dtype, &node->shape));
    void *scratch = liana__allocate_aligned(prepared.scratch_size);
    liana_status status = LIANA_OK;
    if (!expected || !scratch) {
        status = liana__fail_memory(error, "LIANA_VALIDATE");
    } else {
        status = reference->run(
            &(liana__call){.node = node, .src = sources, .dst = expected, .scratch = scratch, .plan = prepared.plan});
        if (status == LIANA_OK) status = compare(step, sources, result, expected, error);
    }
    if (reference->release && prepared.plan) reference->release(prepared.plan);
    free(expected);
    free(scratch);
    return status;
}
