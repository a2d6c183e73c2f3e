/* callback.h - functions of a program that run at the events of a training (liana_fit).
 *
 *     static liana_status epoch_end(void *user, liana_fit_context *context)
 *     {
 *         double accuracy;
 *         if (liana_fit_metric(context, "val_accuracy", &accuracy) && accuracy > 0.95) {
 *             liana_fit_stop(context, "the accuracy is above 95 %");
 *         }
 *         return LIANA_OK;
 *     }
 *     ...
 *     liana_callback own = {.size = sizeof own, .name = "good_enough", .epoch_end = epoch_end};
 *     liana_fit(model, &(liana_fit_options){.training = data, .callbacks = (const liana_callback *[]){&own},
 *                                           .num_callbacks = 1});
 *
 * In a training of several processes each process runs the callbacks, with the same values, and must come to the same
 * decisions. Decisions that depend on a clock go through liana_fit_clock_decision; files are written where
 * liana_fit_info(context).is_chief. */
#ifndef LIANA_CALLBACK_H
#define LIANA_CALLBACK_H

#include <liana/array.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A running training, as callbacks see it. Valid during the call. */
typedef struct liana_fit_context liana_fit_context;
/* The state that a callback keeps in checkpoints. Valid during the call. */
typedef struct liana_callback_state liana_callback_state;

/* A status other than LIANA_OK ends liana_fit with this status. */
typedef liana_status liana_callback_function(void *user, liana_fit_context *context);

/* Functions that are NULL are not called. */
typedef struct liana_callback {
    size_t size;                          /* sizeof(liana_callback) */
    const char *name;                     /* of its state in checkpoints, without '/'; NULL: it has no state */
    liana_callback_function *train_begin; /* also of a training that goes on from a checkpoint, after `load` */
    liana_callback_function *train_end;   /* of a training that ends well, before its last checkpoint */
    liana_callback_function *epoch_begin; /* not repeated where an epoch goes on from a checkpoint */
    liana_callback_function *epoch_end;   /* after the validation */
    liana_callback_function *step_begin;
    liana_callback_function *step_end; /* an update is done, or a group of them (steps_per_execution) */
    liana_callback_function *validation_begin;
    liana_callback_function *validation_end;
    /* The part of the callback that is state. `save` stores it by name (liana_callback_state_put); it runs at each
     * checkpoint and before each validation. `load` takes it back when a training goes on from a checkpoint. A
     * validation that was interrupted is done again, so state should change in other events. */
    void (*save)(void *user, liana_callback_state *state);
    liana_status (*load)(void *user, const liana_callback_state *state);
    void *user;
} liana_callback;

/* ---- where the training is ----
 *
 * A context or state that is NULL is no crash: the answer is 0, false, NULL or -1, and nothing is done. */

typedef struct liana_fit_facts {
    int64_t epoch;       /* from 1 */
    int64_t epochs;      /* 0: not known */
    int64_t step, steps; /* updates done in the epoch, of how many; in a validation, its batches */
    int64_t iteration;   /* updates done in all */
    /* At the end of a step: how many updates it was. 1, or with steps_per_execution up to as many; 0 where its only
     * update was left out (on_bad_numbers). 0 elsewhere. Updates are counted from 0. */
    int64_t num_updates;
    double learning_rate;         /* of the last update; 0 before the first */
    double rate_factor;           /* of the schedule's rate: 1 when a training begins, part of its state */
    bool is_resumed;              /* the training went on from a checkpoint */
    bool is_chief;                /* this process writes files */
    int64_t num_replicas_in_sync; /* devices that compute the shards of a batch */
    const char *strategy;         /* its name, which is static */
} liana_fit_facts;

/* Where the training is now. */
LIANA_API liana_fit_facts liana_fit_info(const liana_fit_context *context);

/* The mean of "loss" or of a metric over the epoch so far, and after "val_" over the validation. False: there is no
 * such value, or nothing was measured yet; *value is then 0. */
LIANA_API bool liana_fit_metric(const liana_fit_context *context, const char *name, double *value);

/* The mean of "loss" or of a metric over the examples of one of the step's updates, as liana_fit_metric. False also:
 * there is no such update, or memory is out. */
LIANA_API bool liana_fit_update_metric(const liana_fit_context *context, int64_t update, const char *name,
                                       double *value);
/* Its learning rate; 0: there is no such update. */
LIANA_API double liana_fit_update_rate(const liana_fit_context *context, int64_t update);

/* The training's variables: weights by name ("dense/kernel"), and the optimizer's slots ("optimizer/Adam/m/..."). NULL
 * after the last. */
LIANA_API const char *liana_fit_variable_name(const liana_fit_context *context, size_t index);
/* Number of elements, all float32; -1: there is no such variable. */
LIANA_API int64_t liana_fit_variable_size(const liana_fit_context *context, const char *name);
/* Copies a variable into values[size]. Errors: NOT_FOUND; those of the device. */
LIANA_API LIANA_MUST_USE liana_status liana_fit_variable_read(const liana_fit_context *context, const char *name,
                                                              float *values);

/* ---- requests of a callback ---- */

/* Ends the training well: liana_fit returns LIANA_OK. At a step after this update, else after this epoch. The reason is
 * copied; NULL: none. It is told to on_note with the callback's name. */
LIANA_API void liana_fit_stop(liana_fit_context *context, const char *reason);
/* A checkpoint after this event, if the training has a folder for them. */
LIANA_API void liana_fit_request_checkpoint(liana_fit_context *context);
/* Sets the factor that the schedule's rate is multiplied by. Errors: INVALID_ARGUMENT if it is not a finite number
 * above 0. */
LIANA_API LIANA_MUST_USE liana_status liana_fit_set_rate_factor(liana_fit_context *context, double factor);
/* A decision that depends on a clock. `own` is this process's own decision; returns the chief's, which counts for all.
 * All processes must ask at the same event. */
LIANA_API bool liana_fit_clock_decision(const liana_fit_context *context, bool own);
/* Stores a message for the failure that the callback returns; NULL: the name of the status. Returns `status`. */
LIANA_API liana_status liana_fit_fail(liana_fit_context *context, liana_status status, const char *message);

/* ---- state ---- */

typedef enum liana_kept_kind {
    LIANA_KEPT_NUMBER,
    LIANA_KEPT_INTEGER,
    LIANA_KEPT_TEXT,
    LIANA_KEPT_ARRAY
} liana_kept_kind;

/* A value of the state. Only the member of its kind is set. */
typedef struct liana_kept {
    liana_kept_kind kind;
    double number; /* keeps all its bits but those of a NaN */
    int64_t integer;
    const char *text;
    const float *values; /* of an array: [count] */
    int64_t count;
} liana_kept;

/* Stores a value under a key: put(state, "best", (liana_kept){LIANA_KEPT_NUMBER, .number = best}). Texts are copied. An
 * array is borrowed, and must stay as it is until the training goes on. */
LIANA_API void liana_callback_state_put(liana_callback_state *state, const char *key, liana_kept value);
/* Reads a value of a kind. False: there is none, and *value is zeros. Texts and arrays are valid during the call. */
LIANA_API bool liana_callback_state_get(const liana_callback_state *state, const char *key, liana_kept_kind kind,
                                        liana_kept *value);

#ifdef __cplusplus
}
#endif
#endif
