/* count_non_finite.kernels.h - count_non_finite of floats, for one instruction set. */
#include "kernels/vector_kernels.h"
#include "kernels/vector_rows.h"
#include "ops/reduce/count_non_finite.h"

static bool are_f32(const liana__node *node, const char **reason)
{
    bool all = true;
    for (uint32_t i = 0; i < node->num_inputs; i++) all = all && node->inputs[i]->dtype == LIANA_F32;
    if (!all) *reason = "not all inputs are f32";
    return all;
}

static bool has_non_finite(const float *values, int64_t size)
{
    vector_int found[4] = {{0}};
    int64_t i = 0;
    for (; i + 4 * VECTOR_LENGTH <= size; i += 4 * VECTOR_LENGTH) {
        for (int j = 0; j < 4; j++) found[j] |= vector_not_finite(vector_load(values + i + j * VECTOR_LENGTH));
    }
    for (; i + VECTOR_LENGTH <= size; i += VECTOR_LENGTH) found[0] |= vector_not_finite(vector_load(values + i));
    found[1] |= vector_not_finite(vector_load_part(values + i, size - i));
    return vector_any(found[0] | found[1] | found[2] | found[3]);
}

/* Most tensors are finite. Then one pass over the values is all. */
static int32_t count_f32(const void *values, liana_dtype dtype, int64_t first, int64_t size)
{
    (void)dtype;
    const float *from = (const float *)values + first;
    if (!has_non_finite(from, size)) return 0;
    int32_t count = 0;
    for (int64_t i = 0; i < size; i++) {
        const float difference = from[i] - from[i];
        count += difference != difference;
    }
    return count;
}

static liana_status run_count(const liana__call *call)
{
    liana__count_chunks(call, count_f32);
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(count_non_finite, .applicable = are_f32, .run = run_count, .cut = liana__count_cut);
