/* autodiff.h - gradients from given ones; and whether there is a gradient at all (liana_gradients gives zeros where
 * there is none). */
#ifndef LIANA_OPS_AUTODIFF_H
#define LIANA_OPS_AUTODIFF_H

#include <liana/graph.h>

/* Fails the graph if no gradient of `target` reaches any of `wrt`: it depends on them only through ops that pass none,
 * which the message names, or not at all. Returns whether one does. A graph that has failed, or no `wrt`: true. */
bool liana__require_gradient(liana_location here, liana_tensor target, const liana_tensor *wrt, size_t count);

/* A tensor, and the gradient of something with respect to it. */
typedef struct liana__seed {
    liana_tensor target;
    liana_tensor gradient; /* of the target's shape and dtype */
} liana__seed;

/* The gradients of the same with respect to wrt[i]. gradients[i] is invalid if no target depends on wrt[i]. */
void liana__gradients_from(liana_location here, const liana__seed *seeds, size_t num_seeds, const liana_tensor *wrt,
                           size_t count, liana_tensor *gradients);

#endif
