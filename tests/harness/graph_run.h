/* graph_run.h - runs a graph on a device with host data, for tests. */
#ifndef LIANA_TESTS_GRAPH_RUN_H
#define LIANA_TESTS_GRAPH_RUN_H

#include "backends/backend.h"

/* For a test program's set-up: a context of `num_threads` (0: the usual number) and its devices, each NULL where it is
 * not wanted. 0, or -1 on failure, as cmocka wants it. */
int liana__test_open_devices(int num_threads, liana_context **context, liana__device **cpu, liana__device **reference);
/* For its tear-down; devices may be NULL. 0. */
int liana__test_close_devices(liana_context *context, liana__device *cpu, liana__device *reference);
/* An empty graph. */
liana_graph *liana__test_new_graph(liana_context *context);

/* Host data of one tensor. */
typedef struct liana__test_value {
    liana_dtype dtype;
    liana_shape shape;
    void *data; /* malloc'ed */
} liana__test_value;

/* Fills `values` (one for each graph input, in order) with draws in the ranges that liana__sample_input recorded. The
 * same graph and seed give the same values; f32 and f64 graphs get the same numbers up to rounding. */
void liana__test_draw_inputs(const liana_graph *graph, uint64_t seed, liana__test_value *values);
void liana__test_free_values(liana__test_value *values, size_t count);

/* Runs once: on the CPU on worker `worker`, with liana__cpu_execute; on another device by the device contract, where
 * buffers that are written are replaced. */
liana_status liana__test_execute(liana__executable *executable, int worker, liana__buffer **inputs,
                                 liana__buffer **variables, liana__buffer **outputs, liana__error *error);

/* Compiles, runs once and reads all outputs (malloc'ed into `outputs`). Fails the test on any error. */
void liana__test_run(liana__device *device, const liana_graph *graph, const liana__test_value *inputs,
                     liana__test_value *outputs);

#endif
