/* graph_def.h - writes TensorFlow's GraphDef, as TensorBoard shows graphs. The wire format is in
 * proto/graph_def.proto. */
#ifndef LIANA_FORMATS_GRAPH_DEF_H
#define LIANA_FORMATS_GRAPH_DEF_H

#include "base/error.h"
#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

/* A node. Texts are borrowed. */
typedef struct liana__graph_def_node {
    const char *name; /* what stands before a '/' is a group; unique */
    const char *op;
    const char *const *inputs; /* names of nodes */
    size_t num_inputs;
    const int64_t *dims; /* of its result; [rank] */
    int rank;
} liana__graph_def_node;

/* Appends the bytes. Errors: OUT_OF_MEMORY. */
liana_status liana__graph_def_write(const liana__graph_def_node *nodes, size_t count, liana__text *bytes,
                                    liana__error *error) LIANA_MUST_USE;

#endif
