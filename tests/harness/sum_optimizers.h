/* sum_optimizers.h - optimizers that read sums or whole variables, for tests of updates by slices. */
#ifndef LIANA_TESTS_SUM_OPTIMIZERS_H
#define LIANA_TESTS_SUM_OPTIMIZERS_H

#include "optimizers/optimizer.h"

/* Their constants, which stand in the place of options. */
static const double LIANA__TEST_CLIP = 0.3, LIANA__TEST_DECAY = 0.1, LIANA__TEST_BETA = 0.8;

/* Gradient descent; all gradients are scaled so that their common norm is at most CLIP. Sums over all. */
extern const liana_optimizer_type liana__test_clip;
/* velocity = BETA * velocity + gradient; the step is velocity + DECAY * variable, scaled by the norm of the variable
 * over (the norm of the step + 1e-6). Sums over the variable. */
extern const liana_optimizer_type liana__test_trust;
/* The same with gradients that are clipped first: a round of sums over all, then one over the variable. */
extern const liana_optimizer_type liana__test_clip_and_trust;
/* Gradient descent; gradients of rank 2 and more lose their mean over axis 0, then all are clipped. Whole variables,
 * and sums over all. */
extern const liana_optimizer_type liana__test_centre;

#endif
