/* split.h - cuts the wanted results of a graph into parts that one device each computes.
 *
 * A node's stage is the number of borders between devices on the longest way to it. A part is the work of one device in
 * one stage, so parts in the order of their stages never wait for each other in a circle. A part assigns to nothing:
 * new values of variables are results, which take the variables' places once all parts have succeeded. */
#ifndef LIANA_EXEC_SPLIT_H
#define LIANA_EXEC_SPLIT_H

#include "exec/subgraph.h"

/* A result of a part. */
typedef struct liana__part_output {
    size_t part, output;
} liana__part_output;

/* A value that a device gives to others: a variable of its own, or a part's result. */
typedef struct liana__crossing {
    const liana__node *node;
    size_t device;
    bool is_variable;
    liana__part_output from; /* if it is not */
} liana__crossing;

/* A value that comes to a device: a fed input, or a crossing. */
typedef struct liana__part_arrival {
    size_t device;
    bool is_feed;
    size_t index; /* of the feed or crossing */
    const liana__node *node;
    bool becomes_variable; /* its buffer is a variable's new value, and nobody else's */
} liana__part_arrival;

/* The source of a part's input. */
typedef struct liana__part_input {
    bool is_arrival;
    size_t arrival;
    liana__part_output from; /* else: of the same device */
} liana__part_input;

typedef struct liana__part {
    size_t device, stage;
    liana_graph *graph; /* NULL once it was taken */
    liana__part_input *inputs;
    size_t num_inputs, input_capacity;
    /* By variable of the part's graph: the arrival that brings the value of one that lives elsewhere, or SIZE_MAX. It
     * stays a variable there, since devices choose other kernels for weights than for inputs. */
    size_t *variables;
    size_t num_variables, variable_capacity;
} liana__part;

/* Where a wanted result, or the new value of a variable, is. */
typedef struct liana__placed_value {
    bool is_arrival; /* only of new values */
    size_t arrival;
    liana__part_output from;
} liana__placed_value;

typedef struct liana__split {
    liana__part *parts; /* in an order in which they can run */
    size_t num_parts, part_capacity;
    liana__crossing *crossings;
    size_t num_crossings, crossing_capacity;
    liana__part_arrival *arrivals;
    size_t num_arrivals, arrival_capacity;
    const liana__node **feeds; /* the inputs that are needed */
    size_t num_feeds, feed_capacity;
    const liana__node **read; /* the variables whose old values are read */
    size_t num_read, read_capacity;
    liana__part_output *results;  /* by wanted result */
    liana__placed_value *changes; /* by wanted assignment */
} liana__split;

/* Where nodes are: `devices` by node id of the graph. It is looked at for ops and variables. The nodes of a part keep
 * their order. Free the split in any case. Errors: OUT_OF_MEMORY, in the graph's context; the graph's own error. */
liana_status liana__split_make(const liana_graph *graph, const liana__wanted *wanted, const size_t *devices,
                               liana__split *split) LIANA_MUST_USE;
void liana__split_free(liana__split *split);

#endif
