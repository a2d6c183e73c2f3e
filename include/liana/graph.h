/* graph.h - graphs with static shapes: what devices run.
 *
 * A graph is built with expressions: `y = liana_op_relu(liana_op_add(x, b))` (ops.h). A tensor is a handle to the
 * result of one node. It is passed by value, and is valid as long as its graph. Shapes and dtypes are inferred and
 * checked when a node is made.
 *
 * The first error stays with the graph, with the caller's file and line. Later calls do nothing and return an invalid
 * tensor (id 0). So it is enough to check liana_graph_status() once, at the end. */
#ifndef LIANA_GRAPH_H
#define LIANA_GRAPH_H

#include <liana/context.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every dtype: name, its name in printed graphs (StableHLO's where there is one), size in bytes. */
#define LIANA_DTYPE_MAP(X) \
    X(F32, "f32", 4)       \
    X(BF16, "bf16", 2)     \
    X(F64, "f64", 8)       \
    X(S32, "s32", 4)       \
    X(S64, "s64", 8)       \
    X(U8, "u8", 1)         \
    X(U32, "u32", 4)       \
    X(U64, "u64", 8)       \
    X(BOOL, "bool", 1)

typedef enum liana_dtype {
#define LIANA_DTYPE_ENUM(name, text, size) LIANA_##name,
    LIANA_DTYPE_MAP(LIANA_DTYPE_ENUM)
#undef LIANA_DTYPE_ENUM
        LIANA_NUM_DTYPES
} liana_dtype;

LIANA_API const char *liana_dtype_name(liana_dtype dtype);
LIANA_API size_t liana_dtype_size(liana_dtype dtype); /* bytes */

enum { LIANA_MAX_RANK = 8 };

/* A static shape. Rank 0 is a scalar. */
typedef struct liana_shape {
    int rank;
    int64_t dims[LIANA_MAX_RANK];
} liana_shape;

/* liana_shape_of(2, 3) is the shape [2, 3]; LIANA_SCALAR is []. */
#define liana_shape_of(...) ((liana_shape){(int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}})
#define LIANA_SCALAR ((liana_shape){0, {0}})

/* The number of elements: 1 for a scalar. */
LIANA_API int64_t liana_shape_size(const liana_shape *shape);
LIANA_API bool liana_shape_equal(const liana_shape *a, const liana_shape *b);

typedef struct liana_graph liana_graph;

typedef struct liana_tensor {
    liana_graph *graph;
    uint32_t id; /* 0: invalid */
} liana_tensor;

/* The place in the caller's source that an error names. */
typedef struct liana_location {
    const char *file;
    int line;
} liana_location;
#define LIANA_HERE ((liana_location){__FILE__, __LINE__})

/* Creates an empty graph. The context must outlive it. Errors: OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_graph_create(liana_context *context, liana_graph **graph);
LIANA_API void liana_graph_destroy(liana_graph *graph);

/* The first error while building, or LIANA_OK. Its message is in the context. */
LIANA_API LIANA_MUST_USE liana_status liana_graph_status(const liana_graph *graph);

/* An input: a value that is given to each execution, by name. Dimensions must be at least 1. */
#define liana_graph_input(graph, name, dtype, shape) liana_graph_input_at(LIANA_HERE, graph, name, dtype, shape)
LIANA_API liana_tensor liana_graph_input_at(liana_location here, liana_graph *graph, const char *name,
                                            liana_dtype dtype, liana_shape shape);

/* A variable, whose value is kept on the device. The tensor is the value before this execution. The same name gives the
 * same node. */
#define liana_graph_variable(graph, name, dtype, shape) liana_graph_variable_at(LIANA_HERE, graph, name, dtype, shape)
LIANA_API liana_tensor liana_graph_variable_at(liana_location here, liana_graph *graph, const char *name,
                                               liana_dtype dtype, liana_shape shape);

/* A constant. `data` holds the elements in row-major order, and is copied. */
#define liana_graph_constant(graph, dtype, shape, data) liana_graph_constant_at(LIANA_HERE, graph, dtype, shape, data)
LIANA_API liana_tensor liana_graph_constant_at(liana_location here, liana_graph *graph, liana_dtype dtype,
                                               liana_shape shape, const void *data);

/* A scalar constant of any dtype, converted from a double. */
#define liana_graph_scalar(graph, dtype, value) liana_graph_scalar_at(LIANA_HERE, graph, dtype, value)
LIANA_API liana_tensor liana_graph_scalar_at(liana_location here, liana_graph *graph, liana_dtype dtype, double value);

/* Makes a tensor an output of the graph, which is read by its name after an execution. */
#define liana_graph_output(graph, name, tensor) liana_graph_output_at(LIANA_HERE, graph, name, tensor)
LIANA_API void liana_graph_output_at(liana_location here, liana_graph *graph, const char *name, liana_tensor tensor);

/* Sets a variable to `value` at the end of each execution. All reads in the graph see the old value. */
#define liana_graph_assign(variable, value) liana_graph_assign_at(LIANA_HERE, variable, value)
LIANA_API void liana_graph_assign_at(liana_location here, liana_tensor variable, liana_tensor value);

/* The shape and dtype of a tensor; a scalar f32 if the tensor is invalid. */
LIANA_API liana_shape liana_tensor_shape(liana_tensor tensor);
LIANA_API liana_dtype liana_tensor_dtype(liana_tensor tensor);

/* Reverse-mode differentiation: builds the graph of d(sum of `target`) / d(wrt[i]). gradients[i] has the shape and
 * dtype of wrt[i]; it is zeros if `target` does not depend on wrt[i]. If an op on the way cannot be differentiated, the
 * error names it. */
#define liana_gradients(target, wrt, count, gradients) liana_gradients_at(LIANA_HERE, target, wrt, count, gradients)
LIANA_API void liana_gradients_at(liana_location here, liana_tensor target, const liana_tensor *wrt, size_t count,
                                  liana_tensor *gradients);

/* The graph as text (one node a line) or as Graphviz dot. The string is from malloc, and the caller frees it. NULL: out
 * of memory. */
LIANA_API char *liana_graph_text(const liana_graph *graph);
LIANA_API char *liana_graph_dot(const liana_graph *graph);

#ifdef __cplusplus
}

/* The same for C++, which has no compound literals. */
#undef LIANA_HERE
#define LIANA_HERE (liana_location{__FILE__, __LINE__})
#undef LIANA_SCALAR
#define LIANA_SCALAR (liana_shape{0, {0}})
#undef liana_shape_of
template <typename... Dims> constexpr liana_shape liana_shape_of(Dims... dims)
{
    return liana_shape{static_cast<int>(sizeof...(dims)), {static_cast<int64_t>(dims)...}};
}
#endif
#endif
