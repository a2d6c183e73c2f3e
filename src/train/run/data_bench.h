/* data_bench.h - measures the input of a run: each stage alone on one thread, and the whole pipeline as in training. */
#ifndef LIANA_TRAIN_DATA_BENCH_H
#define LIANA_TRAIN_DATA_BENCH_H

#include "train/run/run.h"

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

#endif
