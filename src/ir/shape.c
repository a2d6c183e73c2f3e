/* Dtypes, shapes and single elements. */
#include "ir/shape.h"

#include <stdio.h>

const char *liana_dtype_name(liana_dtype dtype)
{
    static const char *const names[] = {
#define LIANA_DTYPE_NAME(name, text, size) text,
        LIANA_DTYPE_MAP(LIANA_DTYPE_NAME)
#undef LIANA_DTYPE_NAME
    };
    return (unsigned)dtype < LIANA_NUM_DTYPES ? names[dtype] : "unknown";
}

size_t liana_dtype_size(liana_dtype dtype)
{
    static const size_t sizes[] = {
#define LIANA_DTYPE_SIZE(name, text, size) size,
        LIANA_DTYPE_MAP(LIANA_DTYPE_SIZE)
#undef LIANA_DTYPE_SIZE
    };
    return (unsigned)dtype < LIANA_NUM_DTYPES ? sizes[dtype] : 0;
}

int64_t liana_shape_size(const liana_shape *shape)
{
    int64_t size = shape ? 1 : 0;
    for (int i = 0; shape && i < shape->rank; i++) size *= shape->dims[i];
    return size;
}

bool liana_shape_equal(const liana_shape *a, const liana_shape *b)
{
    if (!a || !b || a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++) {
        if (a->dims[i] != b->dims[i]) return false;
    }
    return true;
}

liana__shape_text liana__shape_print(const liana_shape *shape)
{
    liana__shape_text out = {"["};
    size_t length = 1;
    for (int i = 0; i < shape->rank && length < sizeof out.text; i++) {
        length += (size_t)snprintf(out.text + length, sizeof out.text - length, "%s%lld", i ? ", " : "",
                                   (long long)shape->dims[i]);
    }
    if (length < sizeof out.text) snprintf(out.text + length, sizeof out.text - length, "]");
    return out;
}

liana__shape_text liana__type_print(liana_dtype dtype, const liana_shape *shape)
{
    liana__shape_text dims = liana__shape_print(shape), out;
    snprintf(out.text, sizeof out.text, "%s%.140s", liana_dtype_name(dtype), dims.text);
    return out;
}

void liana__shape_strides(const liana_shape *shape, int64_t strides[LIANA_MAX_RANK])
{
    int64_t stride = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= shape->dims[i];
    }
}

bool liana__shape_valid(liana_dtype dtype, const liana_shape *shape)
{
    if (shape->rank < 0 || shape->rank > LIANA_MAX_RANK || !liana_dtype_size(dtype)) return false;
    int64_t limit = ((int64_t)1 << 46) / (int64_t)liana_dtype_size(dtype);
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[i] < 1 || shape->dims[i] > limit) return false;
        limit /= shape->dims[i];
    }
    return true;
}

bool liana__shape_broadcast(const liana_shape *a, const liana_shape *b, liana_shape *result)
{
    result->rank = a->rank > b->rank ? a->rank : b->rank;
    for (int i = 0; i < result->rank; i++) {
        int in_a = i - (result->rank - a->rank), in_b = i - (result->rank - b->rank);
        int64_t dim_a = in_a >= 0 ? a->dims[in_a] : 1, dim_b = in_b >= 0 ? b->dims[in_b] : 1;
        if (dim_a != dim_b && dim_a != 1 && dim_b != 1) return false;
        result->dims[i] = dim_a == 1 ? dim_b : dim_a;
    }
    return true;
}

void liana__broadcast_strides(const liana_shape *shape, const liana_shape *wide, int64_t strides[LIANA_MAX_RANK])
{
    int64_t own[LIANA_MAX_RANK];
    liana__shape_strides(shape, own);
    for (int i = 0; i < wide->rank; i++) {
        int axis = i - (wide->rank - shape->rank);
        strides[i] = axis >= 0 && shape->dims[axis] != 1 ? own[axis] : 0;
    }
}
