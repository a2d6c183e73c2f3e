/* tiny_trainer.h - a trainer of a small model on the small images of command_run.h, on one device or several. */
#ifndef LIANA_TESTS_TINY_TRAINER_H
#define LIANA_TESTS_TINY_TRAINER_H

#include "harness/command_run.h"
#include "harness/objective.h"

#include "backends/variables.h"
#include "train/objective/trainer.h"

enum { LIANA__TINY_PIXELS = LIANA__TINY_SIZE * LIANA__TINY_SIZE };
enum { LIANA__TINY_MAX_BATCH = 64, LIANA__TINY_MAX_REPLICAS = 4 };

/* Models: softmax regression; convolutions without random or batch-dependent layers; batch normalisation and
 * dropout. */
void liana__tiny_dense(liana_model *model);
void liana__tiny_plain(liana_model *model);
void liana__tiny_full(liana_model *model);

typedef struct liana__tiny_replica {
    const char *device;
    int num_threads; /* of its own */
    double speed;    /* 0: 1 */
} liana__tiny_replica;

typedef struct liana__tiny_recipe {
    void (*build)(liana_model *model);
    const liana_optimizer_type *optimizer;
    int64_t batch_size;
    int64_t microbatch;
    int num_threads;
    const char *device; /* NULL: cpu */
    bool mixes;
    const double *class_weights;
    const char *train_from; /* freezes the layers before it; NULL: none */
    /* Devices, instead of `device`; up to the first without a name. */
    liana__tiny_replica replicas[LIANA__TINY_MAX_REPLICAS];
} liana__tiny_recipe;

typedef struct liana__tiny_trainer {
    liana_context *context;
    liana__device *device;
    liana__device *more[LIANA__TINY_MAX_REPLICAS];
    size_t num_more;
    liana_model *model;
    liana__variables variables;
    liana__trainer *trainer;
    void *optimizer_options;
    liana__arena arena;
    uint8_t images[LIANA__TINY_MAX_BATCH * LIANA__TINY_PIXELS];
    int32_t labels[LIANA__TINY_MAX_BATCH];
    uint64_t positions[LIANA__TINY_MAX_BATCH];
} liana__tiny_trainer;

void liana__tiny_trainer_open(liana__tiny_trainer *own, const liana__tiny_recipe *wanted);
void liana__tiny_trainer_close(liana__tiny_trainer *own);

/* The first `count` examples. */
liana__batch liana__tiny_first(const liana__tiny_trainer *own, int64_t count);
/* One update with them; iterations count from 1. Returns its sums. */
liana__test_sums liana__tiny_step(liana__tiny_trainer *own, int64_t count, double rate, int64_t iteration);

/* The contents of a variable, malloc'ed. */
float *liana__tiny_read_variable(const liana__tiny_trainer *own, const char *name, size_t *count);
/* The largest difference between the variables of two trainers; 0 only for the same bits. */
double liana__tiny_compare_variables(const liana__tiny_trainer *a, const liana__tiny_trainer *b);

#endif
