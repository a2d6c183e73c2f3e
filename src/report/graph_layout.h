/* graph_layout.h - places of a layered drawing of a directed graph without circles: boxes stand in ranks from top to
 * bottom, and each edge leads downwards. */
#ifndef LIANA_REPORT_GRAPH_LAYOUT_H
#define LIANA_REPORT_GRAPH_LAYOUT_H

#include "base/error.h"
#include "base/memory.h"

typedef struct liana__graph_edge {
    size_t from, to; /* boxes; from < to */
} liana__graph_edge;

/* A box, or a bend of an edge that passes a rank. */
typedef struct liana__drawn_place {
    size_t rank; /* from 0, at the top */
    double x;    /* of the middle; the leftmost box begins at 0 */
} liana__drawn_place;

/* The places of an edge, from box to box: one in each rank. */
typedef struct liana__graph_path {
    size_t *places;
    size_t count;
} liana__graph_path;

typedef struct liana__graph_layout {
    liana__drawn_place *places; /* those of the boxes first, in their order */
    size_t num_places;
    liana__graph_path *paths; /* one for each edge */
    size_t num_ranks;
    double width; /* of the drawing */
} liana__graph_layout;

typedef struct liana__graph {
    size_t num_boxes;
    const liana__graph_edge *edges;
    size_t num_edges;
    double box_width; /* with the gap to its neighbour */
    double bend_width;
} liana__graph;

/* Lays a graph out (Sugiyama, Tagawa, Toda, "Methods for visual understanding of hierarchical system structures",
 * 1981): the rank of a box is the longest way to it, long edges bend in each rank, ranks are sorted by the mean place
 * of neighbours, and x is the least-squares place near the neighbours. Everything is in the arena. The same graph gives
 * the same places. Errors: OUT_OF_MEMORY. */
liana_status liana__graph_layout_make(const liana__graph *graph, liana__arena *arena, liana__graph_layout *layout,
                                      liana__error *error) LIANA_MUST_USE;

#endif
