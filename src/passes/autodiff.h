/* autodiff.h - whether there is a gradient at all (liana_gradients gives zeros where there is none). */
#ifndef LIANA_PASSES_AUTODIFF_H
#define LIANA_PASSES_AUTODIFF_H

#include <liana/graph.h>

/* Fails the graph if no gradient of `target` reaches any of `wrt`: it depends on them only through ops that pass none,
 * which the message names, or not at all. Returns whether one does. A graph that has failed, or no `wrt`: true. */
bool liana__require_gradient(liana_location here, liana_tensor target, const liana_tensor *wrt, size_t count);

#endif
