/* data_bench.h - how fast the input of a run is: each stage alone on one thread, and all of it as training has it. */
#ifndef LIANA_TRAIN_DATA_BENCH_H
#define LIANA_TRAIN_DATA_BENCH_H

#include "train/run/run.h"

enum { LIANA__DATA_BENCH_MAX_STAGES = 264 };

/* What one stage takes for an image, on one thread. */
typedef struct liana__data_bench_stage {
    const char *name; /* "read", "checksum", "decode", "resize", the stages of data.augment, "batch" */
    double seconds;
} liana__data_bench_stage;

typedef struct liana__data_bench {
    int64_t images; /* that the stages were measured on */
    size_t num_stages;
    liana__data_bench_stage stages[LIANA__DATA_BENCH_MAX_STAGES];
    double seconds; /* of all stages for an image */
    int num_threads;
    double first_rate;    /* images/s of the whole pipeline in the first epoch */
    double cached_rate;   /* and after it; 0: decoded images are not kept, or the epoch was not reached in time */
    double start_seconds; /* from making the pipeline to its first batch */
} liana__data_bench;

/* Measures the training data of a run that was opened by liana__run_open_model for training; stages for `seconds`, and
 * the pipeline for at most as long again in each of its two epochs. Neighbouring stages that are done together count
 * with what each of them adds. Errors: those of the data. */
liana_status liana__data_bench_run(liana__run *run, double seconds, liana__data_bench *bench, liana__error *error)
    LIANA_MUST_USE;

/* The stage that takes the longest. */
const liana__data_bench_stage *liana__data_bench_slowest(const liana__data_bench *bench);

#endif
