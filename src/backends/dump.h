/* dump.h - writes graphs into the folder that LIANA_DUMP names. */
#ifndef LIANA_BACKENDS_DUMP_H
#define LIANA_BACKENDS_DUMP_H

#include "ir/graph.h"

/* Writes a graph as NAME.txt, NAME.dot and NAME.mlir (StableHLO), if LIANA_DUMP is set. Where an op cannot be written
 * as StableHLO, NAME.mlir holds a comment that says which. Errors: IO. */
liana_status liana__dump_graph(const liana_graph *graph, const char *name, liana__error *error) LIANA_MUST_USE;

/* Writes a text as NAME, if LIANA_DUMP is set. Errors: IO. */
liana_status liana__dump_text(const liana_context *context, const char *name, const char *text, liana__error *error)
    LIANA_MUST_USE;

#endif
