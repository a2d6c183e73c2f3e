/* linear_rows.h - rows for one update of a linear model from zeros with rate 0.5: its weights are then minus half the
 * mean gradient of the examples that were used, which is known in closed form. */
#ifndef LIANA_TESTS_LINEAR_ROWS_H
#define LIANA_TESTS_LINEAR_ROWS_H

#include "harness/cluster/cluster_fit.h"

enum { LIANA__LINEAR_ROWS = 24, LIANA__LINEAR_SHARD = 2, LIANA__LINEAR_FEATURES = 3 };

/* "x" [rows, features] and "y" [rows, 1]; filled by liana__linear_fill, in each process of tests once. */
extern float liana__linear_x[LIANA__LINEAR_ROWS * LIANA__LINEAR_FEATURES], liana__linear_y[LIANA__LINEAR_ROWS];
void liana__linear_fill(void);
void liana__linear_arrays(liana_array arrays[2]);

/* The examples of the first two of three workers. */
size_t liana__linear_used(void);
/* Asserts that all `count` processes have the weights of an update of the first `used` examples; returns its loss. */
double liana__linear_assert_weights(const liana__cluster_result *results, size_t count, size_t used);

#endif
