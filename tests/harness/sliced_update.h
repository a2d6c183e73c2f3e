/* sliced_update.h - updates of a model's variables in slices, by programs that are compiled once, for tests. */
#ifndef LIANA_TESTS_SLICED_UPDATE_H
#define LIANA_TESTS_SLICED_UPDATE_H

#include "exec/program.h"
#include "harness/update_items.h"

enum { LIANA__TEST_MAX_WEIGHTS = 24 };

/* By weight of the model, in its shape. */
typedef struct liana__test_weights {
    float *values[LIANA__TEST_MAX_WEIGHTS];
} liana__test_weights;

typedef struct liana__sliced_update liana__sliced_update;

/* A model with kernels of 4,608, 12,800 and 6,000 elements. */
liana_model *liana__test_sliced_model(liana_context *context);

/* The updates of all trainable weights by a rule, in `num_slices` slices, from `begin` on. `adapt` is the schedule's of
 * a rule that adapts its rate. */
liana__sliced_update *liana__sliced_update_create(liana__device *device, const liana_model *model,
                                                  const liana__update_rule *rule, size_t num_slices,
                                                  const liana__test_weights *begin);
void liana__sliced_update_destroy(liana__sliced_update *update);

/* One update; `gradients` of the mean loss. Returns the learning rate that was used. */
double liana__sliced_update_run(liana__sliced_update *update, const liana__test_weights *gradients,
                                double learning_rate, int64_t iteration,
                                double (*adapt)(const void *options, double rate, const float *sums),
                                const void *adapt_options);

/* Copies the weights, or with `slot` a slot (by its name; NULL: the weights). */
void liana__sliced_update_read(const liana__sliced_update *update, const char *slot, liana__test_weights *weights);

liana__test_weights liana__test_weights_create(const liana_model *model);
void liana__test_weights_free(liana__test_weights *weights);
/* Fails the test if a bit differs. */
void liana__test_same_weights(const liana_model *model, const liana__test_weights *a, const liana__test_weights *b,
                              const char *what);

#endif
