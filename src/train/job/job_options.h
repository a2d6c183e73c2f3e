/* job_options.h - the options of a job: a training with its length, its validation, its callbacks and its checkpoints.
 *
 * There is one struct and one table (options.def) for all doors: a configuration reads it with liana__fields_read,
 * programs give one of the public structs of a door. Defaults, bounds, checks, comparisons between processes, the key
 * of compiled trainings, and the changes that a run may make when it goes on follow from the table. */
#ifndef LIANA_TRAIN_JOB_OPTIONS_H
#define LIANA_TRAIN_JOB_OPTIONS_H

#include "distribute/strategy.h"
#include "optimizers/optimizer.h"
#include "train/callbacks/standard.h"

#include <liana/estimator.h>

typedef struct liana__job_options {
    /* How long: up to the first limit that is reached. 0: no such limit; at least one is not 0. */
    int64_t epochs;
    int64_t steps; /* updates */
    double max_minutes;
    const char *stop_at; /* as liana__wall_clock_read takes it, or NULL */
    int64_t initial_epoch;
    int64_t steps_per_epoch;       /* updates; 0: as many as the data give */
    int64_t steps_per_execution;   /* updates between two times that callbacks look */
    int64_t batch_size;            /* examples of one update */
    int64_t validation_freq;       /* epochs from one validation to the next */
    int64_t validation_batch_size; /* 0: batch_size */
    int64_t validation_steps;      /* batches of a validation, at most; 0: all */
    int64_t prediction_batch_size; /* 0: validation_batch_size */
    int64_t microbatch;            /* examples of one shard; 0: chosen from the graph */
    int remainder;                 /* liana__remainder: the examples left at the end of an epoch */
    int on_bad_numbers;            /* liana__on_bad_numbers */
    int64_t max_bad_numbers;       /* updates skipped in a row, or restores without a new snapshot between them */
    double bad_numbers_factor;     /* of the learning rate, at a restore */
    /* Values are as in a configuration; those of a program are its texts, which are read with liana__job_value. */
    const liana__value *control;   /* as liana__control_read takes it, or NULL */
    const liana__value *callbacks; /* a list as liana__callback_list_read takes it, or NULL */
    const liana__value *summaries; /* as liana__summaries_read takes it, or NULL */
    /* A map with "name" (text) and the optimizer's options. "learning_rate" is a number, or a map with "name" (text)
     * and the schedule's options. NULL: nothing is trained. */
    const liana__value *optimizer;
    const liana__value *loss;          /* of train/objective/objective.h, as are the next two */
    const liana__value *loss_weights;  /* NULL: all 1 */
    const liana__value *metrics;       /* NULL: the usual ones */
    const liana__value *class_weights; /* weights of the loss: "balanced", a map by class, or NULL */
    double threshold;                  /* an answer of a sigmoid above it is yes: in predictions, and by class */
    int64_t seed;
    const char *device;           /* a backend's name */
    bool deterministic;           /* the same bits on any number of devices */
    const liana__value *strategy; /* of distribute/strategy.h; NULL: one_device */
    int precision;                /* liana_precision */
    int recompute;                /* liana_recompute */
    int64_t memory;  /* MiB that training may take where `recompute` is auto; 0: three quarters of the memory */
    int64_t threads; /* threads that compute; 0: LIANA_THREADS, else the number of cores of the process */
    liana__checkpointing_options checkpoint;
    const liana__value *stages; /* a list as liana__training_stages_read takes it, or NULL */
    /* Loss, metrics, class_weights and strategy of programs, which have structs of their own for them. */
    bool is_of_program;
    liana__named_objective objective;
    const double *weights; /* of the loss, by class; NULL: all 1 */
    int64_t num_weights;
    liana_strategy own_strategy;
} liana__job_options;

/* The sections of a configuration. */
extern const liana__fields liana__job_train_fields, liana__job_checkpoint_fields;

/* ---- doors ---- */

typedef enum liana__job_door_kind {
    LIANA__DOOR_FIT,       /* liana_fit_options */
    LIANA__DOOR_EVALUATE,  /* liana_evaluate_options */
    LIANA__DOOR_ESTIMATOR, /* liana_run_config */
    LIANA__NUM_DOORS,
    LIANA__DOOR_RUN = LIANA__NUM_DOORS, /* a configuration, whose keys are called as the table says */
} liana__job_door_kind;

/* The door that fills in the options, and their names there. */
typedef struct liana__job_door {
    liana__job_door_kind kind;
    const char *prefix; /* before the names of options in messages: "train.", "config."; "": nothing */
    const char *noun;   /* its name for a job: "run", "fit" */
    /* Of a configuration: where a key was written. NULL: in a program. */
    liana__place (*place)(const void *user, const char *key);
    const void *user;
} liana__job_door;

extern const liana__job_door liana__job_fit_door, liana__job_evaluate_door;

/* Fills in the options from the struct of a program's door; 0 and NULL are the defaults (liana__job_defaults; NULL:
 * made anew). Texts are borrowed. Errors: INVALID_ARGUMENT with the option, its value and the expected one. */
liana_status liana__job_take(const liana__job_door *door, const void *given, const liana__job_options *defaults,
                             liana__arena *arena, liana__job_options *options, liana__error *error) LIANA_MUST_USE;
/* The options that programs begin with; values in the arena. Errors: OUT_OF_MEMORY. */
liana_status liana__job_defaults(liana__arena *arena, liana__job_options *options, liana__error *error) LIANA_MUST_USE;
/* Checks the options against each other. Errors: INVALID_ARGUMENT; of a configuration INVALID_CONFIG with the place. */
liana_status liana__job_check(const liana__job_options *options, const liana__job_door *door, liana__error *error)
    LIANA_MUST_USE;
/* Fails with "NAME is FOUND, expected ..."; of a configuration with "file:line:column: NAME: found FOUND, expected
 * ...". */
liana_status liana__job_refuse(const liana__job_door *door, liana__error *error, const char *name, const char *found,
                               const char *format, ...) LIANA__PRINTF(5, 6);

/* One epoch, unless something says how long. `given`: whether `epochs` does. */
void liana__job_find_epochs(liana__job_options *options, bool given);
/* A decay to the end of a job needs to know the end. Errors: INVALID_CONFIG. */
liana_status liana__job_check_decay(const liana__job_options *options, const liana_learning_rate *rate,
                                    const liana__job_door *door, liana__error *error) LIANA_MUST_USE;

/* ---- values ---- */

/* A value of the options, in the arena where it is a program's text. `name` is the option's, for messages. */
liana_status liana__job_value(const liana__job_options *options, const liana__value *value, const char *name,
                              liana__arena *arena, const liana__value **read, liana__error *error) LIANA_MUST_USE;
/* The optimizer as a map with a name. */
liana_status liana__job_optimizer_value(const liana__job_options *options, liana__arena *arena,
                                        const liana__value **map, liana__error *error) LIANA_MUST_USE;
/* Examples of the largest batch that is not trained on. */
int64_t liana__job_evaluation_batch_size(const liana__job_options *options);

/* ---- derived from the table ---- */

/* The options that processes must have in common, as a door calls them; of an evaluation those that it gives. */
void liana__job_add_facts(const liana__job_options *options, liana__job_door_kind door, liana__facts *facts);
/* All options that the compiled training depends on, as bytes that can be compared. */
void liana__job_describe(const liana__job_options *options, liana__text *text);

typedef enum liana__resume_rule {
    LIANA__RESUME_SAME, /* a run goes on with the value that it began with */
    LIANA__RESUME_SAFE,
    LIANA__RESUME_FREE,
} liana__resume_rule;

/* One option: its dotted key in a configuration, whether processes of one run may differ in it, and whether a run that
 * goes on may change it. */
typedef struct liana__job_key {
    char name[64];
    bool own;
    liana__resume_rule resume;
} liana__job_key;

/* The names of a key's option in programs: "liana_fit_options.epochs, ..."; NULL: they do not have it. In the arena. */
const char *liana__job_names_in_c(const char *key, liana__arena *arena);

size_t liana__job_num_keys(void);
liana__job_key liana__job_key_at(size_t index);

#endif
