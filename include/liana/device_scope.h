/* device_scope.h - parts of a graph on devices of their own, as TensorFlow's tf.device.
 *
 *     liana_device_scope_begin(graph, "/job:worker/task:1/cpu:0");
 *     h = liana_op_relu(liana_op_matmul(x, w, false, false));
 *     liana_device_scope_end(graph);
 *
 * Ops and variables that are made between the two calls are on that device. All others are on the device of the program
 * (liana_program_create). A program opens the devices that its graph names, and keeps them with its set of variables. It
 * cuts the graph at the borders between devices, and copies values from one device to another as they are needed. Parts
 * that do not wait for each other's values run at the same time.
 *
 *   - A gradient's op is on the device of the op that it belongs to; contributions to one gradient are added on the
 *     device of the tensor that it is for.
 *   - An optimizer's slots and its update of a variable are on the variable's device.
 *   - A variable that is read or assigned to from another device stays where it is; its value is copied in each run.
 *   - Inputs and constants are given to each device that reads them.
 *
 * Graphs of steps, estimators and own layers are computed on the devices of a strategy; there a scope is an error.
 * liana_graph_save does not keep scopes. */
#ifndef LIANA_DEVICE_SCOPE_H
#define LIANA_DEVICE_SCOPE_H

#include <liana/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Begins a scope; scopes may be nested, and the innermost one counts. `device` is a name as for liana_device_open, or
 * "cpu:1", "cpu:2", ... for more CPU devices of this process, each with as many threads as the context. The program's
 * own device, under any of its names, is not opened again. NULL is the device of the program. A device is looked for
 * when a program is made: unknown names and servers that cannot be reached are errors of liana_program_create. Errors
 * of the graph: INVALID_ARGUMENT (an empty name, a graph without scopes). */
#define liana_device_scope_begin(graph, device) liana_device_scope_begin_at(LIANA_HERE, graph, device)
LIANA_API void liana_device_scope_begin_at(liana_location here, liana_graph *graph, const char *device);

/* Ends the innermost scope. Errors of the graph: INVALID_ARGUMENT if none is open. A program of a graph with an open
 * scope is an error too. */
#define liana_device_scope_end(graph) liana_device_scope_end_at(LIANA_HERE, graph)
LIANA_API void liana_device_scope_end_at(liana_location here, liana_graph *graph);

/* The device's name of the scope in which a tensor was made, as it was written. NULL: it was in none. Valid as long as
 * the graph. */
LIANA_API const char *liana_tensor_device(liana_tensor tensor);

/* How variables are shared out. */
typedef enum liana_balance {
    LIANA_ROUND_ROBIN, /* one after the other */
    LIANA_BY_BYTES,    /* each to the device that has the fewest bytes so far; of equal ones to the first */
} liana_balance;

/* Shares the variables that are made from now on out among devices, whatever scope is open, as TensorFlow's
 * replica_device_setter does with the tasks of the job ps. An optimizer's slots are not counted: they go with their
 * variable. A second call begins anew; `count` 0 ends it (`devices` may be NULL then). Errors of the graph:
 * INVALID_ARGUMENT (a balance that is none, a missing or empty name, a graph without scopes). */
#define liana_place_variables(graph, balance, devices, count) \
    liana_place_variables_at(LIANA_HERE, graph, balance, devices, count)
LIANA_API void liana_place_variables_at(liana_location here, liana_graph *graph, liana_balance balance,
                                        const char *const *devices, size_t count);

#ifdef __cplusplus
}
#endif
#endif
