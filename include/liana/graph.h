/* graph.h - graphs with static shapes: the programs of devices.
 *
 * A graph is built with expressions: `y = liana_op_relu(liana_op_add(x, b))` (ops.h). A tensor is a handle to the
 * result of one node. It is passed by value, and is valid as long as its graph. Shapes and dtypes are inferred and
 * checked when a node is made.
 *
 * The first error stays with the graph, with the caller's file and line. Later calls do nothing and return an invalid
 * tensor (id 0). So it is enough to check liana_graph_status() once, at the end. */
#ifndef LIANA_GRAPH_H
#define LIANA_GRAPH_H

#include <liana/array.h>
#include <liana/context.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

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
/* NULL is allowed. */
LIANA_API void liana_graph_destroy(liana_graph *graph);

/* The first error while building, or LIANA_OK. Its message is in the context. INVALID_ARGUMENT for NULL. */
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

/* Sets a variable to `value` at the end of an execution. All reads in the graph see the old value. A program
 * (program.h) runs the assignments that it is asked for. */
#define liana_graph_assign(variable, value) liana_graph_assign_at(LIANA_HERE, variable, value)
LIANA_API void liana_graph_assign_at(liana_location here, liana_tensor variable, liana_tensor value);

/* Gives the assignments to `count` variables one name, by which a run asks for all of them: "train". Each variable must
 * have been assigned to. A name that the graph has already gets more variables. */
#define liana_graph_target(graph, name, variables, count) \
    liana_graph_target_at(LIANA_HERE, graph, name, variables, count)
LIANA_API void liana_graph_target_at(liana_location here, liana_graph *graph, const char *name,
                                     const liana_tensor *variables, size_t count);

/* How a variable gets its first value (liana_variables_initialize): one of Keras's initialisers, with arguments in
 * parentheses: "zeros", "constant(0.5)", "glorot_uniform", "random_normal(stddev=0.01)"; `liana list initializers`
 * shows all. Returns the variable. A variable without one must be written, loaded or assigned to before it is read.
 * The text is checked when a program is made. */
#define liana_graph_initializer(variable, initializer) liana_graph_initializer_at(LIANA_HERE, variable, initializer)
LIANA_API liana_tensor liana_graph_initializer_at(liana_location here, liana_tensor variable, const char *initializer);

/* The shape and dtype of a tensor; a scalar f32 if the tensor is invalid. */
LIANA_API liana_shape liana_tensor_shape(liana_tensor tensor);
LIANA_API liana_dtype liana_tensor_dtype(liana_tensor tensor);

/* Reverse-mode differentiation: builds the graph of d(sum of `target`) / d(wrt[i]). gradients[i] has the shape and
 * dtype of wrt[i]; it is zeros if `target` does not depend on wrt[i]. If an op on the way cannot be differentiated, the
 * error names it. */
#define liana_gradients(target, wrt, count, gradients) liana_gradients_at(LIANA_HERE, target, wrt, count, gradients)
LIANA_API void liana_gradients_at(liana_location here, liana_tensor target, const liana_tensor *wrt, size_t count,
                                  liana_tensor *gradients);

/* ---- names ----
 *
 * Inputs and variables have the names that they were made with. Any other tensor may be given one. Messages name
 * tensors so, printed graphs show the names, and a run may fetch by them. */

/* Names a tensor, and returns it: `h = liana_tensor_set_name(liana_op_relu(x), "hidden")`. The name is copied. Errors:
 * INVALID_ARGUMENT if the tensor has another name already, or another tensor has this one. */
#define liana_tensor_set_name(tensor, name) liana_tensor_set_name_at(LIANA_HERE, tensor, name)
LIANA_API liana_tensor liana_tensor_set_name_at(liana_location here, liana_tensor tensor, const char *name);

/* The tensor's name. NULL: it has none, or is invalid. Valid as long as the graph. */
LIANA_API const char *liana_tensor_name(liana_tensor tensor);

/* The tensor of that name: an output, else a tensor that was given this name, else an input, else a variable. A tensor
 * with id 0 if there is none; that is no error of the graph. */
LIANA_API liana_tensor liana_graph_tensor(const liana_graph *graph, const char *name);

/* ---- walking a graph ----
 *
 * Each tensor is the result of a node. The nodes are in the order in which they were made, so a node's inputs come
 * before it. Indices count from 0; beyond the end, tensors are invalid (id 0) and names NULL. */

typedef enum liana_graph_list {
    LIANA_GRAPH_NODES,
    LIANA_GRAPH_INPUTS,
    LIANA_GRAPH_VARIABLES,
    LIANA_GRAPH_OUTPUTS,
    LIANA_GRAPH_ASSIGNMENTS,
} liana_graph_list;

/* One of a list. The name is valid as long as the graph. */
typedef struct liana_graph_item {
    liana_tensor tensor; /* of an assignment: the variable */
    const char *name;    /* the output's; of the others that of the tensor, or NULL */
    liana_tensor value;  /* of an assignment: the new value of the variable; else invalid */
} liana_graph_item;

LIANA_API size_t liana_graph_count(const liana_graph *graph, liana_graph_list list);
LIANA_API liana_graph_item liana_graph_nth(const liana_graph *graph, liana_graph_list list, size_t index);

/* The node of a tensor. */
typedef struct liana_tensor_facts {
    const char *op;      /* "add", "conv2d"; "input", "variable" and "constant" at the begin of a graph. Static */
    size_t num_inputs;   /* that it reads (liana_tensor_input) */
    liana_location here; /* the place in the caller's source where it was made */
    /* The name of the device in whose scope it was made, as it was written (device.h). NULL: it was in none. */
    const char *device;
    const void *constant; /* the elements of a constant, in row-major order; NULL: it is something else */
    size_t num_attributes;
} liana_tensor_facts;

/* Zeros: the tensor is invalid. Pointers are valid as long as the graph. */
LIANA_API liana_tensor_facts liana_tensor_info(liana_tensor tensor);
/* An input of the node. */
LIANA_API liana_tensor liana_tensor_input(liana_tensor tensor, size_t index);

typedef enum liana_attribute_kind {
    LIANA_ATTRIBUTE_BOOL,
    LIANA_ATTRIBUTE_INT,
    LIANA_ATTRIBUTE_FLOAT,
    LIANA_ATTRIBUTE_TEXT,
    LIANA_ATTRIBUTE_INTS,
} liana_attribute_kind;

/* A setting of a node: transpose_a of a matmul, the strides of a convolution; as its shape rule has completed it, so
 * that padding is in cells and axes are counted from 0. Only the member of its kind is set. */
typedef struct liana_attribute {
    const char *name;
    liana_attribute_kind kind;
    bool boolean;
    int64_t integer;
    double number;
    const char *text;
    size_t num_ints;
    const int64_t *ints; /* valid as long as the graph */
} liana_attribute;

/* By index or name. False: there is no such attribute, and *attribute is zeros. */
LIANA_API bool liana_tensor_attribute(liana_tensor tensor, size_t index, liana_attribute *attribute);
LIANA_API bool liana_tensor_find_attribute(liana_tensor tensor, const char *name, liana_attribute *attribute);

/* The graph as text (one node a line) or as Graphviz dot. The string is from malloc, and the caller frees it. NULL: out
 * of memory, or no graph. */
LIANA_API char *liana_graph_text(const liana_graph *graph);
LIANA_API char *liana_graph_dot(const liana_graph *graph);

/* ---- values at once ----
 *
 * For trying things out:
 *
 *     liana_tensor a = liana_graph_constant(graph, LIANA_F32, liana_shape_of(3), ((float[]){1, 2, 3}));
 *     printf("%g\n", liana_number(liana_op_reduce_sum(liana_op_square(a), LIANA_ALL_AXES, false)));
 *
 * Each node is computed by itself, on the caller's thread, by the kernel that a program on the CPU would use. In a
 * scope of another device (device.h) it is computed on that device, which stays open as long as the graph. The graph
 * keeps the values, so an expression that was computed once is not computed again. It keeps them, like the nodes, until
 * it is destroyed. Where the same expression is computed many times, or is large, make a program (program.h). */

/* Copies the tensor's value into `data`, row-major; `size` is that of `data` in bytes, and must be the tensor's. The
 * expression is made of constants: an input or a variable has no value outside of a program. Errors: that of the graph;
 * INVALID_ARGUMENT (an input or variable, with its name; another size), OUT_OF_MEMORY; those of a scope's device. They
 * are in the context; the graph stays usable. */
LIANA_API LIANA_MUST_USE liana_status liana_value(liana_tensor tensor, void *data, size_t size);

/* The only element of a tensor as a number; a bool is 0 or 1. NaN after an error, whose message is in the context:
 * those above, and a tensor of several elements. */
LIANA_API double liana_number(liana_tensor tensor);

#ifdef __cplusplus
}

/* The same for C++, which has no compound literals. */
#undef LIANA_HERE
#define LIANA_HERE (liana_location{__FILE__, __LINE__})
#endif
#endif
