/* make_executable.h - what `compile` is of every backend. */
#ifndef LIANA_BACKENDS_MAKE_EXECUTABLE_H
#define LIANA_BACKENDS_MAKE_EXECUTABLE_H

#include "backends/backend.h"

/* Allocates an executable of `size` bytes, zeros behind a liana__executable for the graph, and lets `build` do the
 * rest. If that fails, the backend's executable_destroy frees the parts that were made. Errors: those of `build`,
 * OUT_OF_MEMORY. */
liana_status liana__make_executable(liana__device *device, const liana_graph *graph, size_t size,
                                    liana_status (*build)(liana__executable *executable, const liana_graph *graph,
                                                          liana__error *error),
                                    liana__executable **out, liana__error *error) LIANA_MUST_USE;

#endif
