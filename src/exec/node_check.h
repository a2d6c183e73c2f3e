/* node_check.h - runs a graph node by node, and finds the first one whose numbers go bad.
 *
 * A number is bad if it is NaN or infinite. Not every bad number is a fault: a mask may be -inf, and exp of a large
 * number may be inf and vanish in a quotient. So only nodes on which a bad result depends count: from each bad output
 * the check goes back through bad inputs, to the first node without any. */
#ifndef LIANA_EXEC_NODE_CHECK_H
#define LIANA_EXEC_NODE_CHECK_H

#include "ir/graph.h"

/* Facts about the numbers of a tensor. */
typedef struct liana__value_range {
    double least, most, mean; /* of the finite ones; 0 if there is none */
    int64_t count;            /* of all */
    int64_t num_nan, num_infinite;
    int64_t first_bad; /* -1: all are finite */
} liana__value_range;

liana__value_range liana__range_of(const void *data, liana_dtype dtype, int64_t count);
static inline bool liana__range_is_bad(const liana__value_range *range)
{
    return range->num_nan + range->num_infinite > 0;
}

/* The findings of a check. Zero-initialise; free with liana__node_check_free. */
typedef struct liana__node_check {
    liana__arena arena;          /* of all below */
    const liana_graph *graph;    /* that ran: `rewritten`, or the caller's */
    liana_graph *rewritten;      /* by passes, or NULL */
    bool fused;                  /* all passes ran, so that nodes are as a device runs them */
    const liana__node *origin;   /* the first bad node that a bad result depends on; NULL: all results are finite */
    const liana__kernel *kernel; /* that computed it; NULL: it is an input, a variable or a constant */
    liana__value_range result;
    liana__value_range *inputs;   /* of the origin, in its order */
    const char *bad_output;       /* the first bad output or assigned variable */
    liana__value_range bad_range; /* of it */
    /* By row of axis 0, if they are those of the examples: whether it has a bad number; else NULL. */
    bool *bad_rows;
    int64_t num_rows;
    /* By output of the graph, then by assignment: the values; NULL: not asked for. */
    void **results;
} liana__node_check;

/* How to run. */
typedef struct liana__node_check_options {
    const void *const *inputs;    /* by input of the graph: host data */
    const void *const *variables; /* by variable */
    int64_t num_rows;             /* examples of the shard; 0: rows do not matter */
    bool fused;                   /* with all passes, not only with those that the graph asks for */
    bool keep_results;
} liana__node_check_options;

/* Runs all nodes that results depend on, each with the kernel that the CPU would choose, and on one thread. The graph
 * must outlive the check. Errors: OUT_OF_MEMORY, and those of passes and kernels. */
liana_status liana__node_check_run(const liana_graph *graph, const liana__node_check_options *options,
                                   liana__node_check *check, liana__error *error) LIANA_MUST_USE;
void liana__node_check_free(liana__node_check *check);

#endif
