/* profile.h - a profile: some measured steps of a run, with the time of each node and its share of the machine's
 * limits. */
#ifndef LIANA_TRAIN_PROFILE_H
#define LIANA_TRAIN_PROFILE_H

#include "backends/roofline.h"
#include "train/run/run.h"

typedef struct liana__profile_options {
    int64_t warmup; /* steps before the measured ones, at least 1 */
    int64_t steps;  /* at least 1 */
} liana__profile_options;

/* Tracks: first the workers', then the steps', then those of reading threads. */
typedef struct liana__profile_event {
    liana__event event;
    size_t track;
} liana__profile_event;

/* The work of a node, or of all nodes of one op and variant, in all steps together. */
typedef struct liana__profile_row {
    const liana__node *node; /* one of several */
    const liana__kernel *kernel;
    liana__cost cost; /* of one call of `node` */
    int64_t calls;
    double seconds; /* of all workers together, with packing of inputs */
    double flops;
    double bytes;
    double roofline_seconds; /* the shortest possible time */
    double memory_seconds;   /* from the memory's bandwidth alone, */
    double compute_seconds;  /* and the operations alone */
} liana__profile_row;

typedef struct liana__profile_rows {
    liana__profile_row *items; /* slowest first */
    size_t count;
} liana__profile_rows;

typedef struct liana__profile {
    liana_context *context;
    liana__roofline roofline;
    int num_workers;
    int num_readers;
    int num_cores; /* cores that the process may use */
    int64_t steps;
    int64_t examples;
    /* Seconds of all steps together. */
    double seconds; /* from the call for a batch to the end of the update */
    double wait;    /* for the batch */
    double shards;  /* all shards and their reduction */
    double update;
    /* Seconds of all workers together: they have num_workers times `seconds`. */
    double busy; /* in shards, reduction and update */
    double reduction;
    double nodes;              /* in nodes, with those of the update and packing of their inputs */
    double reading;            /* reading threads at work, in their own time */
    double recomputed_seconds; /* of recomputed nodes */
    double recomputed_flops;
    double cpu;                   /* processor seconds of all threads; less than busy + reading if other programs run */
    size_t dropped;               /* events that were dropped */
    liana__profile_event *events; /* by track, in the order in which they ended */
    size_t num_events;
    size_t event_capacity;
    uint64_t begin; /* of the first measured step */
    liana__profile_rows by_node;
    liana__profile_rows by_op; /* and variant */
} liana__profile;

/* Measures the machine, then trains `run` (opened for training) for options->warmup + options->steps updates. The
 * profile points into the run. Free it in any case. Errors: those of data and training; UNIMPLEMENTED if the run's
 * device does not record its nodes; OUT_OF_MEMORY. */
liana_status liana__profile_run(liana__run *run, const liana__profile_options *options, liana__profile *profile,
                                liana__error *error) LIANA_MUST_USE;
void liana__profile_free(liana__profile *profile);

/* Fills by_node and by_op from the events; a part of liana__profile_run. */
liana_status liana__profile_add_up(liana__profile *profile, liana__error *error) LIANA_MUST_USE;

/* The share of the roofline that a row reached, 0 if it has none. */
double liana__profile_roofline_share(const liana__profile_row *row);

#endif
