/* model_run.h - runs a model on a device with host weights, for tests. */
#ifndef LIANA_TESTS_MODEL_RUN_H
#define LIANA_TESTS_MODEL_RUN_H

#include "backends/backend.h"
#include "layers/model.h"

/* One f32 array for each weight of a model, with the model's initial values drawn by `seed`. */
float **liana__test_weights(const liana_model *model, uint64_t seed);
void liana__test_free_arrays(float **arrays, size_t count);

/* Compiles and runs a graph whose variables are the model's weights, and returns its outputs (f32, malloc'ed). Fails
 * the test on any error. */
float **liana__test_graph_run(liana__device *device, const liana_graph *graph, const liana_model *model,
                              float *const *weights, const void *const *inputs);

/* Runs the model outside training on `input` f32 [batch, ...] and returns the result of every layer (f32, malloc'ed).
 * Fails the test on any error. */
float **liana__test_model_run(liana__device *device, const liana_model *model, float *const *weights,
                              const float *input, int64_t batch);

#endif
