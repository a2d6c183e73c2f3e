/* array.h - dtypes, shapes and arrays: how a program gives values by name, and is given them. */
#ifndef LIANA_ARRAY_H
#define LIANA_ARRAY_H

#include <liana/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every dtype: name, its name in printed graphs (StableHLO's where there is one), size in bytes. f16 holds numbers: ops
 * that move elements take it, those of one or two inputs and sums compute it one element after the other, and all
 * others ask for a cast. */
#define LIANA_DTYPE_MAP(X) \
    X(F32, "f32", 4)       \
    X(BF16, "bf16", 2)     \
    X(F64, "f64", 8)       \
    X(S32, "s32", 4)       \
    X(S64, "s64", 8)       \
    X(U8, "u8", 1)         \
    X(U32, "u32", 4)       \
    X(U64, "u64", 8)       \
    X(BOOL, "bool", 1)     \
    X(F16, "f16", 2)       \
    X(S8, "s8", 1)         \
    X(S16, "s16", 2)       \
    X(U16, "u16", 2)

/* The types of numbers in arrays and tensors. */
typedef enum liana_dtype {
#define LIANA_DTYPE_ENUM(name, text, size) LIANA_##name,
    LIANA_DTYPE_MAP(LIANA_DTYPE_ENUM)
#undef LIANA_DTYPE_ENUM
        LIANA_NUM_DTYPES
} liana_dtype;

/* The name in printed graphs: "f32", "bf16", ... The string is static. */
LIANA_API const char *liana_dtype_name(liana_dtype dtype);
/* Bytes of one number. */
LIANA_API size_t liana_dtype_size(liana_dtype dtype);

enum { LIANA_MAX_RANK = 8 };

/* A static shape. Rank 0 is a scalar. */
typedef struct liana_shape {
    int rank;
    int64_t dims[LIANA_MAX_RANK];
} liana_shape;

/* liana_shape_of(2, 3) is the shape [2, 3]; LIANA_SCALAR is []. */
#define liana_shape_of(...) ((liana_shape){(int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}})
#define LIANA_SCALAR ((liana_shape){0, {0}})

/* Axes of a shape: LIANA_AXES(0, 2); negative ones count from the end. */
typedef struct liana_axes {
    int64_t count;
    int64_t values[LIANA_MAX_RANK];
} liana_axes;
#define LIANA_AXES(...) ((liana_axes){(int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}})
#define LIANA_ALL_AXES ((liana_axes){-1, {0}})

/* The number of elements: 1 for a scalar, 0 for NULL. */
LIANA_API int64_t liana_shape_size(const liana_shape *shape);
/* False if one of them is NULL. */
LIANA_API bool liana_shape_equal(const liana_shape *a, const liana_shape *b);

/* ---- arrays by name ---- */

enum {
    LIANA_STRING = LIANA_NUM_DTYPES, /* a dtype that only components have */
    LIANA_MAX_COMPONENTS = 16,
    LIANA_UNKNOWN_DIM = -1,
};

typedef struct liana_component {
    const char *name;
    int dtype; /* liana_dtype or LIANA_STRING */
    /* The first two dimensions may be LIANA_UNKNOWN_DIM: batches whose remainder is kept, ragged values. */
    liana_shape shape;
} liana_component;

typedef struct liana_bytes {
    const void *data;
    size_t size;
} liana_bytes;

/* The values of a component, in row-major order. For LIANA_STRING `data` is an array of liana_bytes. */
typedef struct liana_array {
    const char *name;
    int dtype;
    liana_shape shape;
    const void *data;
} liana_array;

#ifdef __cplusplus
}

/* The same for C++, which has no compound literals. */
#undef LIANA_SCALAR
#define LIANA_SCALAR (liana_shape{0, {0}})
#undef LIANA_ALL_AXES
#define LIANA_ALL_AXES (liana_axes{-1, {0}})
#undef LIANA_AXES
template <typename... Axes> constexpr liana_axes LIANA_AXES(Axes... axes)
{
    return liana_axes{static_cast<int64_t>(sizeof...(axes)), {static_cast<int64_t>(axes)...}};
}

#undef liana_shape_of
template <typename... Dims> constexpr liana_shape liana_shape_of(Dims... dims)
{
    return liana_shape{static_cast<int>(sizeof...(dims)), {static_cast<int64_t>(dims)...}};
}
#endif
#endif
