/* training_state.h - everything that changes during training: saved, restored and compared as one. */
#ifndef LIANA_TRAIN_TRAINING_STATE_H
#define LIANA_TRAIN_TRAINING_STATE_H

#include "backends/variables.h"
#include "train/training/history.h"

#include <liana/callback.h>

/* ---- kept values ---- */

/* Numbers, texts and arrays by name: the state of parts of a training in its checkpoints.
 *
 * Each name is OWNER/KEY: "EarlyStopping/wait". In a checkpoint it stands below "callbacks". */

typedef struct liana__kept_array {
    const char *name; /* OWNER/KEY */
    liana_dtype dtype;
    liana_shape shape;
    const void *data; /* host memory */
} liana__kept_array;

/* Zero-initialise; free with liana__kept_values_free. */
typedef struct liana__kept_values {
    liana__arena arena;
    liana__value *values; /* a map by name; NULL: empty */
    liana__kept_array *arrays;
    size_t num_arrays, capacity;
} liana__kept_values;

void liana__kept_values_free(liana__kept_values *kept);

/* The values of one owner. */
struct liana_callback_state {
    liana__kept_values *kept;
    const char *owner;
};

/* Store a value. Numbers may be NaN or infinite. Texts are copied. The array's data are borrowed: they must stay as
 * they are until the values are freed or saved. Running out of memory is recorded in kept->arena.failed. */
void liana__keep_number(liana_callback_state *state, const char *key, double number);
void liana__keep_count(liana_callback_state *state, const char *key, int64_t count);
void liana__keep_text(liana_callback_state *state, const char *key, const char *text);
void liana__keep_array(liana_callback_state *state, const char *key, liana_dtype dtype, const liana_shape *shape,
                       const void *data);

/* Read a value. False or NULL: missing of that kind; *number and *count then stay as they are. */
bool liana__kept_number(const liana_callback_state *state, const char *key, double *number);
bool liana__kept_count(const liana_callback_state *state, const char *key, int64_t *count);
const char *liana__kept_text(const liana_callback_state *state, const char *key);
const liana__kept_array *liana__kept_array_find(const liana_callback_state *state, const char *key);

/* Adds an array under its full name, with a copy of its data. Errors: OUT_OF_MEMORY. */
liana_status liana__kept_values_add(liana__kept_values *kept, const liana__kept_array *array, liana__error *error)
    LIANA_MUST_USE;
/* Copies the data of borrowed arrays, which may then go. After a failure there are no arrays. Errors: OUT_OF_MEMORY. */
liana_status liana__kept_values_own(liana__kept_values *kept, liana__error *error) LIANA_MUST_USE;
/* The bytes of an array's data. */
size_t liana__kept_array_size(const liana__kept_array *array);

/* Calls `each` with the owner of every value, in their order; an owner may come several times. */
void liana__kept_values_owners(const liana__kept_values *kept, void (*each)(void *user, const char *owner), void *user);

/* ---- decisions ---- */

/* The decisions of a control of a training (train.control), and the reasons: part of the training's state and
 * history. */

/* Whether a training went on from where it was, or back to the state that was accepted before. Numbers that are not
 * finite are NaN. */
typedef struct liana__decision {
    char monitor[64];   /* the metric */
    int64_t epoch;      /* from 1 */
    int64_t update;     /* updates done in all when it was made */
    double value;       /* of the metric; NaN: it was not finite */
    double reference;   /* the metric of the state that was accepted before; NaN: there was none */
    double energy;      /* of this decision */
    double probability; /* of accepting the value */
    double drawn;       /* from [0, 1): below the probability the value is accepted */
    bool accepted;
    int64_t taken_back;   /* updates undone by it */
    double learning_rate; /* of the last update */
    double rate_factor;   /* from now on */
    bool at_end;          /* made since the training ended; a longer one makes it later */
} liana__decision;

/* Zero-initialise; free with liana__decisions_free. */
typedef struct liana__decisions {
    liana__decision *items;
    size_t count, capacity;
} liana__decisions;

void liana__decisions_free(liana__decisions *decisions);
liana_status liana__decisions_add(liana__decisions *decisions, const liana__decision *decision, liana__error *error)
    LIANA_MUST_USE;

/* [{"epoch": 1, "update": 100, "value": ..., ...}, ...]: for history.json and for checkpoints. Reading errors:
 * INVALID_DATA, OUT_OF_MEMORY. */
liana__value *liana__decisions_value(const liana__decisions *decisions, liana__arena *arena);
liana_status liana__decisions_read(const liana__value *value, liana__decisions *decisions, liana__error *error)
    LIANA_MUST_USE;

/* ---- training state ---- */

struct liana__data_state; /* the training data (train/checkpoint/data_state.h) */

/* How long a training is; it ends at the first limit that it reaches. 0: no such limit. */
typedef struct liana__training_length {
    int64_t epochs;
    int64_t steps; /* updates of this fit */
    double minutes;
    int64_t stop_at; /* a moment, in seconds since 1970 */
} liana__training_length;

/* Where a training is. With the variables - weights, slots, moving averages - it is all that goes on needs. */
typedef struct liana__training_state {
    int64_t earlier_epochs; /* of fits before this one: epochs of data are counted from them on */
    int64_t epoch;          /* of this fit, from 0: the one that is running, or is to begin */
    int64_t step;           /* updates done in it */
    int64_t iteration;      /* updates done in all */
    int64_t stage;          /* the one that is running, from 0 (training_stages.h) */
    int64_t stage_epoch;    /* where it began: its first epoch, and how many updates the weights had seen */
    int64_t stage_updates;
    int64_t skipped_epochs; /* that earlier stages, and this one if it is over, did not train: a callback ended them */
    int64_t taken_back;  /* of these: undone by going back to an earlier state. Optimizer and schedule count the rest */
    int64_t num_skipped; /* of these: by a LossScaleOptimizer. Schedules do not count them */
    liana__totals running;        /* of the running epoch; made by liana__training_open */
    liana__span_counts gradients; /* of the running epoch, of workers that are not in step */
    liana__history history; /* of this fit; may have one epoch more than are over: the last, which a limit cut short */
    liana__decisions decisions;   /* of train.control, in this fit */
    double rate_factor;           /* that callbacks set: the schedule's learning rate is multiplied by it; 1 at first */
    double adapted_rate;          /* of the last update, by a schedule that follows the training; 0: none yet */
    bool averaged;                /* weights and averages have changed places: liana__averaged_weights_take */
    liana__kept_values callbacks; /* their states, as of the last checkpoint or validation */
    bool changed_after_update;    /* by a callback: the weights are no longer those that the update gave */
    char best_checkpoint[64];     /* the name of the one that checkpoint.best chose; "": none did */
    bool keeps_checkpoint;        /* the next one that is saved is kept for good */
    /* Whether the training ended well, how long it was to be, and the callback that ended it ("": none did). */
    bool ended;
    liana__training_length ended_length;
    char stopped_by[64];
    /* The instruction set that it was saved under, once it was loaded: another one rounds differently. */
    char isa[32];
    int64_t recompute_memory;       /* the MiB for whose sake parts are recomputed; 0: none are */
    struct liana__data_state *data; /* that it is trained on, which a checkpoint that is loaded must be of; NULL: any */
    /* A mapping of the settings that make it this training and no other, which checkpoints record (NULL: nothing), and
     * those of them that a checkpoint that is loaded must have too (NULL: any). Both are borrowed. */
    const liana__value *settings, *matches;
    /* Why the cluster's sums are other numbers than those of one process (liana__strategy.describe_arithmetic), now and
     * in the checkpoint that was loaded; "": they are the same. */
    char exchange[96], loaded_exchange[96];
    /* Why the same training may give other bits the next time, a line for each reason; "": it gives the same. */
    char not_reproducible[1024];
    char precision[16]; /* its precision, as configurations spell it; float32 where nothing is recorded */
} liana__training_state;

void liana__training_state_free(liana__training_state *state);
/* The updates that the weights have seen in this stage: those done without those taken back. Each stage has an
 * optimizer and a schedule of its own, which count from its beginning. */
static inline int64_t liana__training_state_applied(const liana__training_state *state)
{
    return state->iteration - state->taken_back - state->stage_updates;
}
/* Adds a reason to not_reproducible, once. It stays, over fits and resumes: it is in the weights. */
void liana__training_state_doubt(liana__training_state *state, const char *reason);
/* The reasons as a list of texts; NULL: there are none, or out of memory. */
liana__value *liana__training_state_doubts(const liana__training_state *state, liana__arena *arena);
/* Begins another fit where the last one ended: its epochs are counted anew, from initial_epoch on; updates are not. The
 * rate factor is 1 again. With as many initial epochs as were trained, it reads on in the data as one longer fit does.
 */
void liana__training_state_next_fit(liana__training_state *state, int64_t initial_epoch);

#endif
