/* value.h - the values of expressions, at once: for trying things out.
 *
 *     liana_tensor a = liana_graph_constant(graph, LIANA_F32, liana_shape_of(3), ((float[]){1, 2, 3}));
 *     printf("%g\n", liana_number(liana_op_reduce_sum(liana_op_square(a), LIANA_ALL_AXES, false)));
 *
 * Each node is computed by itself, on the caller's thread, by the kernel that a program on the CPU would use; in a scope
 * of another device (device_scope.h) on that device, which stays open as long as the graph. The graph keeps the values, so an expression that was computed once is not computed again; it also keeps them, like the nodes,
 * until it is destroyed. Where the same expression is computed many times, or is large, make a program (program.h). */
#ifndef LIANA_VALUE_H
#define LIANA_VALUE_H

#include <liana/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

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
#endif
#endif
