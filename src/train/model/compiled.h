/* compiled.h - what fit, evaluate and predict compiled of a model, which keeps it: the next call that asks for the same
 * compiles nothing, and a fit goes on where the last one ended. */
#ifndef LIANA_TRAIN_COMPILED_H
#define LIANA_TRAIN_COMPILED_H

#include "train/core/batch_components.h"
#include "train/core/training.h"
#include "train/model/named_objective.h"

#include <liana/train.h>

/* What is asked for, by name, as public options say it. */
typedef struct liana__compile_request {
    liana_model *model;
    const char *device; /* NULL: "cpu" */
    liana_strategy strategy;
    const char *optimizer; /* of a fit, as YAML; NULL: none */
    const liana__training_stages
        *stages; /* of a fit, bound to the model; the optimizer is then the first one's; NULL: none */
    liana__named_objective objective; /* nothing named: of an evaluation, what the model was trained for */
    bool predicts;                    /* no targets, loss and metrics */
    const liana__data_match *match;   /* which components the data have; NULL: images and labels */
    int64_t batch_size, microbatch;
    int64_t evaluation_batch_size; /* 0: batch_size */
    int64_t steps_per_execution;   /* 0: 1 */
    const double *class_weights;   /* of the loss; NULL: all 1 */
    int64_t num_class_weights;
    uint64_t seed;
    liana_scale scale;
    bool fractions; /* of images: see liana__trainer_options */
    bool mixes;
    liana_precision precision;
    liana_recompute recompute;
    bool deterministic;
    int64_t memory, data_memory; /* MiB */
    liana__notes notes;
} liana__compile_request;

/* Check numbers and enums of a program's options. Errors: INVALID_ARGUMENT. */
liana_status liana__compiled_check_sizes(int64_t batch_size, int64_t microbatch, int64_t data_memory,
                                         liana__error *error) LIANA_MUST_USE;
liana_status liana__compiled_check_modes(liana_precision precision, liana_recompute recompute, int64_t memory,
                                         liana__error *error) LIANA_MUST_USE;

/* The weights of classes; NULL: none. */
liana_status liana__compiled_check_weights(const double *weights, int64_t count, liana__error *error) LIANA_MUST_USE;

/* The training for a request: the kept one if the request, the model's layers and what of them trains are the same,
 * else a new one in its place. Its variables have the model's weights. Borrowed until the model is compiled again.
 * Errors: those of names and options (INVALID_CONFIG), and of compiling. */
liana_status liana__compiled_get(const liana__compile_request *request, liana__training **training, liana__error *error)
    LIANA_MUST_USE;

/* The model's weights become those of the training: after a fit. */
liana_status liana__compiled_take_weights(liana_model *model, const liana__training *training, liana__error *error)
    LIANA_MUST_USE;
/* Totals as the public interface gives them. */
liana_results liana__results_of(const liana__totals *totals);
/* Sets aside what the model has compiled, so that a trial leaves it as it is; then frees what the trial compiled, and
 * puts the other back. */
void *liana__compiled_set_aside(liana_model *model);
void liana__compiled_put_back(liana_model *model, void *aside);
/* Forgets what fits compiled: after a failed one, whose variables are not the model's weights. */
void liana__compiled_forget(liana_model *model);

#endif
