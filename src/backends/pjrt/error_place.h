/* error_place.h - the layer that an error of a plugin belongs to, where the plugin names a place of the program. */
#ifndef LIANA_BACKENDS_PJRT_ERROR_PLACE_H
#define LIANA_BACKENDS_PJRT_ERROR_PLACE_H

#include "ir/graph.h"

/* The first node of the graph whose place a message names, in one of the ways of MLIR and XLA: "FILE":LINE:,
 * FILE:LINE:, source_file="FILE" source_line=LINE. Programs have places if they are written with them
 * (stablehlo/module.h, `locations`). NULL: none is named. */
const liana__node *liana__pjrt_find_place(const liana_graph *graph, const char *message);

/* Adds the place to an error; returns `status`. `explained` is a message that may name it, of the same failure. */
liana_status liana__pjrt_fail_at_place(const liana_graph *graph, const char *explained, liana_status status,
                                       liana__error *error);

#endif
