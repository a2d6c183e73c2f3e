/* argmax.kernels.h - argmax of rows of floats, for one instruction set. */
#include "kernels/vector_kernels.h"
#include "kernels/vector_rows.h"
#include "ops/reduce/argmax.h"

static bool is_rows_of_floats(const liana__node *node, const char **reason)
{
    const liana__node *x = node->inputs[0];
    *reason = x->dtype != LIANA_F32 ? "not f32" : "not along the last axis";
    return x->dtype == LIANA_F32 && ((const liana__argmax_attributes *)node->attributes)->axis == x->shape.rank - 1;
}

static bool has_nan(const float *row, int64_t length)
{
    vector_int found = {0};
    int64_t i = 0;
    for (; i + VECTOR_LENGTH <= length; i += VECTOR_LENGTH) {
        vector_float x = vector_load(row + i);
        found |= x != x;
    }
    vector_float rest = vector_load_part(row + i, length - i);
    return vector_any(found | (rest != rest));
}

static int32_t row_argmax(const float *row, int64_t length)
{
    int64_t i = 0;
    if (has_nan(row, length)) {
        while (row[i] == row[i]) i++;
        return (int32_t)i;
    }
    float greatest = vector_row_max(row, length);
    while (i + VECTOR_LENGTH <= length && !vector_any(vector_load(row + i) == greatest)) i += VECTOR_LENGTH;
    while (row[i] != greatest) i++;
    return (int32_t)i;
}

static liana_status run_argmax(const liana__call *call)
{
    const liana_shape *shape = liana__input_shape(call->node, 0);
    int64_t length = shape->dims[shape->rank - 1], size = liana_shape_size(&call->node->shape);
    for (int64_t i = 0; i < size; i++) {
        ((int32_t *)call->dst)[i] = row_argmax((const float *)call->src[0] + i * length, length);
    }
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(argmax, .applicable = is_rows_of_floats, .run = run_argmax);
