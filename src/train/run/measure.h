/* measure.h - how fast a run is here: its input, its steps, and the steps of a cluster. */
#ifndef LIANA_TRAIN_RUN_MEASURE_H
#define LIANA_TRAIN_RUN_MEASURE_H

#include "backends/roofline.h"
#include "train/run/run.h"
#include "train/training/cluster_time.h"

/* ---- data bench ---- */

/* Measures the input of a run: each stage alone on one thread, and the whole pipeline as in training. */

enum { LIANA__DATA_BENCH_MAX_STAGES = 264 };

/* The time of one stage for an image, on one thread. */
typedef struct liana__data_bench_stage {
    const char *name; /* "read", "checksum", "decode", "resize", the stages of data.augment, "batch" */
    double seconds;
} liana__data_bench_stage;

typedef struct liana__data_bench {
    int64_t images; /* images on which the stages were measured */
    size_t num_stages;
    liana__data_bench_stage stages[LIANA__DATA_BENCH_MAX_STAGES];
    double seconds; /* seconds of all stages for an image */
    int num_threads;
    double first_rate;    /* images/s of the whole pipeline in the first epoch */
    double cached_rate;   /* and in later epochs; 0: decoded images are not kept, or there was no time for a second
                           * epoch */
    double start_seconds; /* from creating the pipeline to its first batch */
} liana__data_bench;

/* Measures the training data of a run that liana__run_open_model opened for training: stages for `seconds`, and the
 * pipeline for at most the same time in each of its two epochs. For stages that are done together, the time that each
 * adds is counted. Errors: those of the data. */
liana_status liana__data_bench_run(liana__run *run, double seconds, liana__data_bench *bench, liana__error *error)
    LIANA_MUST_USE;

/* The slowest stage. */
const liana__data_bench_stage *liana__data_bench_slowest(const liana__data_bench *bench);

/* ---- plan measure ---- */

/* Measures on this machine a worker's part of a step of a cluster. */

/* Another training of the same configuration, with a context of its own. */
typedef struct liana__plan_companion {
    liana_context *context;
    const liana__config *config;
} liana__plan_companion;

/* A training that is planned. */
typedef struct liana__plan_training {
    liana_context *context;
    const liana__config *config;
    const liana__plan_companion
        *companions; /* set by the caller after opening: they train while this one is measured */
    size_t num_companions;
    liana__run run; /* opened as for training in one process */
    liana__plan_update update;
    int64_t batch_size, microbatch; /* of the configuration, or the default */
    int64_t num_examples;           /* of an epoch */
} liana__plan_training;

/* Opens it, without a cluster: train.strategy and cluster are not looked at. Everything is borrowed. Close it in any
 * case. Errors: those of opening a run; UNIMPLEMENTED if the update cannot be cut into slices. */
liana_status liana__plan_open(liana_context *context, const liana__config *config, liana__plan_training *training,
                              liana__error *error) LIANA_MUST_USE;
void liana__plan_close(liana__plan_training *training);

/* Whether an epoch has enough examples to measure shards of this size. */
bool liana__plan_can_measure(const liana__plan_training *training, int64_t microbatch);

/* Trains with batches of one shard of `microbatch` examples, of a shard for each thread, and of two for each, each for
 * at least `seconds`. Meanwhile the companions train: workers that share a machine share its memory and caches, and
 * slow each other down. Nothing is written. Errors: those of opening a run and of training. */
liana_status liana__plan_measure(const liana__plan_training *training, int64_t microbatch, double seconds,
                                 liana__plan_work *work, liana__error *error) LIANA_MUST_USE;

/* ---- profile ---- */

/* A profile: some measured steps of a run, with the time of each node and its share of the machine's limits. */

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
