/* parts.h - the parts of a graph that have only scalars in common. Their lists come from an arena. */
#ifndef LIANA_STABLEHLO_PARTS_H
#define LIANA_STABLEHLO_PARTS_H

#include "ir/graph.h"

/* The owner of a node that is not in one of the parts 1 to `count`: scalars of all parts, which depend on scalars only;
 * and nodes that depend on constants only, of which each part has its own. */
enum { LIANA__PART_SHARED = 0, LIANA__PART_ANY = -1 };

typedef struct liana__graph_parts {
    const liana_graph *graph;
    int32_t *of; /* by node id */
    int32_t count;
    /* The nodes by part, in the order of their ids, LIANA__PART_SHARED first: those of a part from nodes[begin[part]]
     * to nodes[begin[part + 1]]. Inputs and variables are not among them. */
    const liana__node **nodes;
    size_t *begin;
    bool *is_given; /* by node id: an output, or a variable's new value */
    /* By node id: the variable whose new value it is; NULL: it is no such value, or there are several variables, or it
     * is a leaf. */
    const liana__node **variable_of;
} liana__graph_parts;

/* Finds the parts of the needed nodes: two tensors, inputs and variables among them, are of one part if one depends on
 * the other, or if one of them is the new value of the other. So are variables that are vectors of one size and come
 * one behind the other, as those of a layer do. An optimizer's step has a part for each other variable. A leaf of
 * which nothing is computed has a part, too. Errors: OUT_OF_MEMORY. */
liana_status liana__graph_parts_find(const liana_graph *graph, const bool *needed, liana__arena *arena,
                                     liana__graph_parts *parts, liana__error *error) LIANA_MUST_USE;

/* A function of nodes. */
typedef struct liana__part_nodes {
    const liana__node **written; /* its nodes, in an order of computing */
    const liana__node **read;    /* its arguments */
    size_t num_written, num_read;
    bool *seen; /* by node id: it is in one of the lists */
} liana__part_nodes;

/* Empty lists. `arena` says whether memory was enough. */
liana__part_nodes liana__part_nodes_create(const liana_graph *graph, liana__arena *arena);

/* Lists the nodes of a part, which may be LIANA__PART_SHARED; `only`: those on which that node of the part depends;
 * NULL: all. A variable whose new value is computed is read. */
void liana__part_nodes_list(const liana__graph_parts *parts, int32_t part, const liana__node *only,
                            liana__part_nodes *nodes);

#endif
