/* callback.h - callbacks, which are liana_callback_type of <liana/parts.h>: they run at the events of a training. To
 * add one: src/train/callbacks/<stem>.c with the struct, and a row in callbacks.def. A failing function leaves its
 * message in context->error.
 *
 * Callbacks run in every process, with the same values. So each process comes to the same decisions. The chief decides
 * everything that depends on a clock (liana__fit_clock_decision), a signal that any process caught is one of all
 * (liana__fit_any_decision), and only the chief writes files. */
#ifndef LIANA_TRAIN_CALLBACK_H
#define LIANA_TRAIN_CALLBACK_H

#include "base/part.h"
#include "train/training/training.h"

#define LIANA__CALLBACK(stem, name) extern const liana_callback_type liana__callback_##name;
#include "train/callbacks/callbacks.def"
#undef LIANA__CALLBACK

/* The kind: its list has all callbacks in the order of callbacks.def. */
extern const liana__kind liana__callback_kind;

#define LIANA__CONTROL(stem, name) extern const liana_callback_type liana__control_##name;
#include "train/callbacks/controls.def"
#undef LIANA__CONTROL

/* The same of controls.def. A control's name is in lower case: it is no class of Keras's. */
extern const liana__kind liana__control_kind;

/* ---- the state of a training, and requests to it ---- */

/* The sums of an update, as liana__totals_add takes them. Borrowed until the next step. */
typedef struct liana__update_sums {
    const float *sums;
    int64_t count, bad_records;
    double learning_rate;
} liana__update_sums;

/* Where a training is. Callbacks may read all of it; they change something through the functions below. */
struct liana_fit_context {
    liana__training *training;
    int64_t epoch;               /* from 1 */
    int64_t epochs;              /* 0: not known */
    int64_t step;                /* updates done in this epoch; in a validation, its batches */
    int64_t steps;               /* of this epoch, or this validation */
    const liana__totals *totals; /* of the epoch so far */
    /* At the end of a step: the updates since the end of the step before, and those of them that were applied, in
     * order. There are several with steps_per_execution. Where workers are not in step one entry is of all. */
    int64_t updates;
    const liana__update_sums *each;
    size_t num_each;
    const liana__totals *validation; /* count 0: none in this epoch, or none yet */
    bool validates;                  /* the training has validation data */
    double learning_rate;            /* of the last update; 0 before the first */
    double scheduled_rate;           /* the same without the rate factor */
    double seconds;                  /* since the epoch's training, or its validation, began; of training at its end */
    double wait;                     /* of which spent waiting for input */
    int64_t images;                  /* in that time */
    double paused;                   /* seconds that callbacks let the training wait; they count as no training */
    double paused_before;            /* in earlier steps of this part of the training */
    /* In a validation: the evaluated batch, and the model's predictions for it, [batch->count,
     * liana__trainer_row_size]; the batch of LIANA_ON_BATCH too. NULL elsewhere. */
    const liana__batch *batch;
    const float *outputs;
    const char *folder;         /* for files of the training; NULL: none */
    liana__strings class_names; /* of the data's label; empty: not known */
    liana__notes notes;
    bool is_chief; /* whether this process writes files */
    bool resumed;  /* the training went on from a checkpoint */
    liana_callback_item *running;
    /* The requests of callbacks. */
    bool stopping;    /* the training ends well */
    bool stops_stage; /* at the end of an epoch: its stage ends, and the next one begins */
    bool interrupted; /* it ends with CANCELLED, to be resumed */
    bool wants_checkpoint;
    bool wants_gradients;     /* at the begin of a step: liana__step_read_gradient has those of its last update */
    bool wants_batches;       /* at the begin of a step: LIANA_ON_BATCH comes before each of its updates */
    bool wants_outputs;       /* at the begin of a validation: its steps have the model's predictions */
    bool is_best;             /* the state is the best so far, as checkpoint.best says */
    bool saves_before_change; /* its checkpoint is written before weights are changed */
    bool recovered;           /* from a loss that is not finite */
    bool measures_averages;   /* validations are of the averages of the weights (SwapEMAWeights) */
    bool saves_averages;      /* ... and so are the ends of epochs, and checkpoints */
    bool ends_stage;          /* at the last step: another stage follows */
    void *loop;               /* for liana__fit_validate */
    /* Writes the model as it is now into a file, whose end of the name says its format. NULL: there is none. */
    liana_status (*write_model)(void *writer, const char *path, liana__error *error);
    void *writer;
    char stopped_by[64];
    char reason[256];
    liana__error *error;
};

/* The current value of "loss", a metric, or either after "val_". *known is false if nothing was measured, such as in an
 * epoch without validation. Errors: INVALID_CONFIG if the training never has it; the message names those it has. */
liana_status liana__fit_metric(const liana_fit_context *context, const char *name, double *value, bool *known,
                               liana__error *error) LIANA_MUST_USE;

/* The value of "loss" or a metric in other totals of the training. False: it has none of that name, or nothing was
 * measured. */
bool liana__fit_metric_of(const liana_fit_context *context, const char *name, const liana__totals *totals,
                          double *value);

/* Measures the weights as they are now on the validation data, in the middle of an epoch too. *measured is borrowed
 * until the next measurement. Callbacks get its steps. At the begin of a step, and at the end of the training. Errors:
 * those of liana__evaluate; CANCELLED if a callback interrupted it. */
liana_status liana__fit_validate(liana_fit_context *context, const liana__totals **measured, liana__error *error)
    LIANA_MUST_USE;

/* Receives the predictions of the model for a batch: [batch->count, liana__trainer_row_size]. */
typedef liana_status (*liana__on_predictions)(void *user, const liana__batch *batch, const float *outputs,
                                              liana__error *error);
/* The predictions of the model for each training example, once each, in the order of the data and without augmentation.
 * At the end of an epoch. Callbacks get its steps as those of a validation. Errors: UNIMPLEMENTED where the data cannot
 * be read so; those of liana__evaluate; CANCELLED if a callback interrupted it. */
liana_status liana__fit_predict_training(liana_fit_context *context, liana__on_predictions on_predictions, void *user,
                                         liana__error *error) LIANA_MUST_USE;

/* Ends the training well: after this update if it is asked for at a step, else after this epoch. The state is saved.
 * The first one to ask is named with its reason. */
void liana__fit_stop(liana_fit_context *context, const char *format, ...) LIANA__PRINTF(2, 3);
/* At the end of an epoch: ends the running stage well (training_stages.h). The last stage ends the training. */
void liana__fit_stop_stage(liana_fit_context *context, const char *format, ...) LIANA__PRINTF(2, 3);
/* Stops it in good order as on a signal: with a checkpoint, and CANCELLED. */
void liana__fit_interrupt(liana_fit_context *context);
/* Sets the factor that the schedule's rate is multiplied by from now on. Above 0. */
void liana__fit_set_rate_factor(liana_fit_context *context, double factor);
/* Puts other values into a weight, such as those of an earlier epoch: [bytes of the variable], host memory. */
liana_status liana__fit_write_variable(liana_fit_context *context, liana__variable *variable, const void *data,
                                       liana__error *error) LIANA_MUST_USE;

/* Saves the state of the last update, as liana__fit_write_variable needs it. */
liana_status liana__fit_save_update(liana_fit_context *context, liana__error *error) LIANA_MUST_USE;

/* A decision that depends on a clock. `own` is the decision of this process. Returns the decision of the chief of a
 * cluster, which holds for all. Every process must ask at the same event. In a training of one process the answer is
 * `own`. */
bool liana__fit_clock_decision(const liana_fit_context *context, bool own);
/* The same, where it is so as soon as any process says so: one of them caught a signal. */
bool liana__fit_any_decision(const liana_fit_context *context, bool own);

/* ---- the list of a training ---- */

/* Writes epoch-0001-PART.csv of this epoch into a folder that an option names: a relative one is in that of the
 * training. The chief writes. Errors: those of writing. */
liana_status liana__fit_write_epoch(const liana_fit_context *context, const char *folder, const char *part,
                                    const liana__text *text) LIANA_MUST_USE;

/* Zero-initialise; free with liana__callback_list_free. They run in this order. */
typedef struct liana__callback_list {
    liana_callback_item *items;
    size_t count, capacity;
} liana__callback_list;

void liana__callback_list_free(liana__callback_list *list);

/* Adds a callback. Options are borrowed. `name` of its state (no '/'): a second one of that name gets NAME_2. NULL: it
 * has no state. *item (may be NULL) is valid until the next one is added. Errors: OUT_OF_MEMORY. */
liana_status liana__callback_list_add(liana__callback_list *list, const liana_callback_type *type, const void *options,
                                      const char *name, liana_callback_item **item, liana__error *error) LIANA_MUST_USE;

/* Adds those of a list as in YAML: [CSVLogger, EarlyStopping: {patience: 3}]. NULL: none. They may be the context's own
 * (NULL: there are none). `where` is its dotted key.
 * Options are in the arena. Errors: INVALID_CONFIG with the place; OUT_OF_MEMORY. */
liana_status liana__callback_list_read(liana__callback_list *list, const liana_context *own, const liana__value *value,
                                       const char *where, liana__arena *arena, liana__error *error) LIANA_MUST_USE;

/* Adds the control of a training as in YAML: annealing, or {name: annealing, every_steps: 50}. NULL: none. The rest is
 * as for liana__callback_list_read. */
liana_status liana__control_read(liana__callback_list *list, const liana__value *value, const char *where,
                                 liana__arena *arena, liana__error *error) LIANA_MUST_USE;

/* Adds the callback Summaries as `summaries` of a configuration chooses it: true, or a map of its options. NULL or
 * false: none. The rest is as for liana__callback_list_read. */
liana_status liana__summaries_read(liana__callback_list *list, const liana__value *value, const char *where,
                                   liana__arena *arena, liana__error *error) LIANA_MUST_USE;

/* Calls all for an event, in order. NULL: there is no list. Errors: those of the callbacks, with the name. */
liana_status liana__callback_list_call(liana__callback_list *list, liana_callback_event event,
                                       liana_fit_context *context, liana__error *error) LIANA_MUST_USE;

/* All states as they are now. Arrays are borrowed from the callbacks. Errors: OUT_OF_MEMORY. */
liana_status liana__callback_list_save(const liana__callback_list *list, liana__kept_values *states,
                                       liana__error *error) LIANA_MUST_USE;
/* Gives each callback its values in a checkpoint. Values of no callback are dropped, and context->notes are told. */
liana_status liana__callback_list_load(liana__callback_list *list, liana_fit_context *context,
                                       liana__kept_values *states, liana__error *error) LIANA_MUST_USE;

/* Whether one of the list is a control. */
bool liana__callback_list_has_control(const liana__callback_list *list);

/* Whether one of the list has this name. */
bool liana__callback_list_has(const liana__callback_list *list, const char *name);
bool liana__callback_list_has_type(const liana__callback_list *list, const liana_callback_type *type);

/* ---- user ---- */

/* Callbacks that a program gives to liana_fit, as callbacks of a training. */

/* Adds a program's callback, which is borrowed. Errors: INVALID_ARGUMENT (NULL, a size that no version of the struct
 * has, a '/' in the name), OUT_OF_MEMORY. */
liana_status liana__user_callback_add(liana__callback_list *list, const liana_callback *callback, liana__error *error)
    LIANA_MUST_USE;

/* ---- monitor ---- */

/* Watching whether a metric gets better, for callbacks with Keras's options monitor, mode and min_delta. */

typedef enum liana__monitor_mode { LIANA__MONITOR_AUTO, LIANA__MONITOR_MIN, LIANA__MONITOR_MAX } liana__monitor_mode;
extern const char *const liana__monitor_modes[];

/* The first options of each such callback. */
typedef struct liana__monitor_options {
    const char *monitor; /* "val_loss" */
    int mode;            /* liana__monitor_mode */
    double min_delta;
} liana__monitor_options;

#define LIANA__MONITOR_FIELDS(delta)                                                                                \
    LIANA__FIELD_ROW(liana__monitor_options, monitor, STRING, .default_text = "val_loss",                           \
                     .doc = "What is watched: loss or a metric, with val_ before it that of the validation."),      \
        LIANA__FIELD_ROW(liana__monitor_options, mode, ENUM, .default_text = "auto", .names = liana__monitor_modes, \
                         .doc = "Which values are better: min, max, or auto: smaller losses and errors, greater "   \
                                "other metrics."),                                                                  \
        LIANA__FIELD_ROW(liana__monitor_options, min_delta, FLOAT, .default_text = (delta), .minimum = 0,           \
                         .maximum = 1e30, .doc = "Smaller improvements than this count as none.")

/* Whether a metric of this name is better if it is smaller: losses and errors. */
bool liana__monitor_falls(const char *name);

/* Whether `value` is better than `reference` by more than min_delta. */
bool liana__monitor_improves(const liana__monitor_options *options, double value, double reference);

/* By how much `value` is worse than `reference`: 0 or less if it is not. */
double liana__monitor_worsening(const liana__monitor_options *options, double value, double reference);

/* Checks that the training measures the watched value, and that the mode does not contradict it (max of a loss, min of
 * an accuracy). For ON_TRAIN_BEGIN. Errors: INVALID_CONFIG. */
liana_status liana__monitor_check(const liana__monitor_options *options, const liana_fit_context *context,
                                  liana__error *error) LIANA_MUST_USE;

/* ---- snapshot ---- */

/* A copy of a training's variables on the host, to go back to: part of a callback's state. */

/* Zero-initialise, and set `everything`; free with liana__snapshot_free. */
typedef struct liana__snapshot {
    bool everything; /* all variables: the optimizer's slots and averages too. false: the model's weights, with their
                      * moving averages */
    bool taken;      /* false: there is nothing to go back to yet */
    const liana__variables *variables; /* the training's */
    void **values;
    size_t count;
} liana__snapshot;

void liana__snapshot_free(liana__snapshot *snapshot);

/* Copies the variables as they are now; memory is allocated the first time. Errors: OUT_OF_MEMORY; those of reading the
 * device. */
liana_status liana__snapshot_take(liana__snapshot *snapshot, const liana_fit_context *context, liana__error *error)
    LIANA_MUST_USE;
/* Puts them back. Without a snapshot nothing happens. */
liana_status liana__snapshot_restore(const liana__snapshot *snapshot, liana_fit_context *context, liana__error *error)
    LIANA_MUST_USE;

/* As values of a state: KEY/conv2d/kernel. Errors of reading: INVALID_DATA for variables of other shapes. */
void liana__snapshot_keep(const liana__snapshot *snapshot, liana_callback_state *state, const char *key);
liana_status liana__snapshot_load(liana__snapshot *snapshot, const liana_fit_context *context,
                                  const liana_callback_state *state, const char *key, liana__error *error)
    LIANA_MUST_USE;

#endif
