/* part_node.h - a node that computes a part of what another one computes. */
#ifndef LIANA_IR_PART_NODE_H
#define LIANA_IR_PART_NODE_H

#include "base/memory.h"
#include "ir/op.h"

/* How a node's rows are cut: those of axis 0, of axis 1, or all elements. */
typedef struct liana__node_cut {
    liana__parts parts;
    int axis;
    bool flat;
    int64_t rows; /* of a part */
} liana__node_cut;

/* A copy of a node for a part of its batched inputs. NULL: out of memory. */
const liana__node *liana__part_node(liana__arena *arena, const liana__node *whole, const liana__node_cut *cut);

#endif
