/* training.h - a training: a model, compiled with a loss, metrics, an optimizer and a strategy. It knows no file and no
 * configuration; `liana train` (train/run) and liana_fit (train/model) are its users.
 *
 * It keeps its programs, variables and iteration: a second fit goes on where the first one ended. */
#ifndef LIANA_TRAIN_TRAINING_H
#define LIANA_TRAIN_TRAINING_H

#include "distribute/device_set.h"
#include "optimizers/schedule.h"
#include "step/agreement.h"
#include "step/precision.h"
#include "train/training/training_stages.h"
#include "train/training/training_state.h"

typedef struct liana__training {
    liana_context *context;
    liana_model *model; /* borrowed; NULL: a function is trained */
    liana__device_set devices;
    liana__device *device; /* the first of them, which holds the variables */
    size_t num_replicas;   /* in sync: devices that compute shards */
    const char *strategy;
    liana__cluster *cluster; /* borrowed; NULL: this process is alone */
    liana__variables variables;
    liana__trainer *trainer; /* NULL: not compiled */
    liana_learning_rate learning_rate;
    const liana__objective *objective; /* borrowed */
    /* The reported values other than the loss. */
    const char *const *metric_names;
    size_t num_metrics;
    uint64_t seed;
    /* The choices of `auto`. */
    liana_precision precision;
    liana_recompute recompute;
    int64_t memory; /* MiB; 0: no limit */
    liana__training_state state;
    liana__trainer_options compiled;  /* the options of the trainer */
    liana_recompute wanted_recompute; /* as it was asked for */
    bool has_agreed;                  /* with the other processes (agreement.h) */
    liana_learning_rate *rates;       /* of a MultiOptimizer (liana__rule_num_rates); NULL: there is one */
    size_t num_rates;
    int64_t skipped_before;               /* of the trainer's skipped updates: those that the state has */
    const liana__training_stages *stages; /* bound to the model; borrowed; NULL: there are none */
} liana__training;

typedef struct liana__training_options {
    const char *device; /* "cpu" */
    liana__strategy_choice strategy;
    const liana__optimizer_choice *optimizer; /* NULL: for evaluation and prediction only. Its options are borrowed */
    liana__trainer_options trainer;           /* all but optimizer, strategy, precision and memory limit */
    liana_precision precision;
    liana_recompute recompute;
    int64_t memory;     /* MiB that training may take; 0: three quarters of the memory beyond data_memory */
    size_t data_memory; /* bytes */
    liana__notes notes;
    liana_context *context; /* of the device and the graphs; NULL: the model's or the function's */
} liana__training_options;

/* MiB that reading, decoding and batches made ahead may take, unless told otherwise. */
enum { LIANA__DEFAULT_DATA_MEMORY = 1024 };

/* Opens the device and compiles. Close it in any case. Errors: those of liana__device_open and liana__trainer_create.
 */
liana_status liana__training_open(liana__training *training, const liana__training_options *options,
                                  liana__error *error) LIANA_MUST_USE;

/* Begins a stage: the model's layers, the optimizer and its slots become the stage's; weights stay. The state's place
 * becomes the stage's first. Errors: those of compiling; the training is then of no use. */
liana_status liana__training_begin_stage(liana__training *training, size_t stage, const liana__notes *notes,
                                         liana__error *error) LIANA_MUST_USE;

/* All processes get the chief's values of the variables that none holds in slices. Alone: nothing. If the chief dies
 * meanwhile, those of the next one. */
liana_status liana__training_share_variables(liana__training *training, liana__error *error) LIANA_MUST_USE;
/* The same of values that the chief alone has, such as those of a file: its death is an error then. */
liana_status liana__training_take_variables(liana__training *training, liana__error *error) LIANA_MUST_USE;

/* Copies of the model's weights, by their number, to be freed even where reading fails. Errors: OUT_OF_MEMORY, and
 * those of the device. */
liana_status liana__training_read_weights(const liana__training *training, float ***values, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__training_write_weights(liana__training *training, float *const *values, liana__error *error)
    LIANA_MUST_USE;
void liana__training_free_weights(const liana__training *training, float **values);

/* The layer that built a node of a shard's graph; NULL: none did. */
const char *liana__training_layer_of_node(const liana__training *training, const liana__node *node);

void liana__training_close(liana__training *training);

/* The rate of update `iteration`, counted from 0, before the rate factor. `schedule` is the training's with its
 * lengths. One that follows the training has the rate of the last update until the next one has changed it. */
double liana__training_rate(const liana__training *training, const liana_learning_rate *schedule, int64_t iteration);
/* The other rates of a MultiOptimizer have the lengths of this schedule. */
void liana__training_set_lengths(liana__training *training, const liana_learning_rate *schedule);
/* After an update: keeps the rate that it came to, if the schedule follows the training, and whether a
 * LossScaleOptimizer skipped it, since schedules do not count that. Returns the rate that was used, or `learning_rate`,
 * which was asked for. */
double liana__training_keep_rate(liana__training *training, double learning_rate);

/* ---- averaged weights ---- */

/* The averages of an optimizer with use_ema take the place of the weights, as in Keras: at the end of a training.
 * Here the weights stay in the averages' place, so that a longer training goes on from them. */

/* Whether the optimizer keeps averages; in a training in stages, that of any stage. */
bool liana__averaged_weights_are_kept(const liana__training *training);

/* Exchanges weights and averages at the end of a training, if it keeps averages and an update was done. */
liana_status liana__averaged_weights_take(liana__training *training, liana__error *error) LIANA_MUST_USE;

/* Takes that back, before a training goes on. */
liana_status liana__averaged_weights_return(liana__training *training, liana__error *error) LIANA_MUST_USE;

/* Averages begin anew from the weights as they are. */
liana_status liana__averaged_weights_follow(liana__training *training, liana__error *error) LIANA_MUST_USE;

/* Somebody wrote other weights over the averages: a training goes on from these weights, and averages begin there. */
liana_status liana__averaged_weights_begin_anew(liana__training *training, liana__error *error) LIANA_MUST_USE;

/* ---- training agreement ---- */

/* The facts that the processes of a training must have in common: compared before the first step. A difference is an
 * error on all of them, which names it. */

/* Its sizes, seed, precision and optimizer, a shard and the arithmetic. All get the chief's weights. A training is
 * compared once; all compare it if one of them has not. Alone: nothing. Errors: INVALID_CONFIG, UNAVAILABLE (a process
 * computes other bits). */
liana_status liana__agree_on_training(liana__training *training, liana__error *error) LIANA_MUST_USE;

/* The arithmetic alone, of a shard of made-up examples. Alone: nothing. `exact`: other bits are an error; otherwise a
 * note, and a reason in the training's state. Errors: UNAVAILABLE (a process computes other bits; it is named). */
liana_status liana__agree_on_arithmetic(liana__training *training, bool exact, const liana__notes *notes,
                                        liana__error *error) LIANA_MUST_USE;

#endif
