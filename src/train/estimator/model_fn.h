/* model_fn.h - calls of a model function: its features, and its results. */
#ifndef LIANA_TRAIN_ESTIMATOR_MODEL_FN_H
#define LIANA_TRAIN_ESTIMATOR_MODEL_FN_H

#include "base/context.h"
#include "optimizers/optimizer.h"
#include "train/objective/objective.h"

#include <liana/estimator.h>

/* ---- features ---- */

typedef struct liana__fn_component {
    liana_component data; /* as the data have it, with the shape of one example */
    liana_dtype dtype;    /* f32, s32; u8 of images */
    liana_shape shape;    /* with a batch of 1 */
    bool is_image;        /* decoded to this shape; the function gets f32 */
    bool is_label;
    const char *refusal; /* why no tensor can be made of it; NULL: one can */
} liana__fn_component;

typedef struct liana__fn_data {
    liana__fn_component items[LIANA_MAX_COMPONENTS];
    size_t count;
    liana_scale scale; /* of images */
} liana__fn_data;

/* ---- results of a function ---- */

typedef struct liana__fn_metric {
    const char *name;
    liana__metric_choice choice; /* of a mean: that of liana__fn_mean */
    size_t num_sums;
    size_t num_values; /* liana__objective_metric.num_values */
    bool is_mean;      /* the first sum is of values by example */
} liana__fn_metric;

typedef struct liana__fn_prediction {
    const char *name;
    int64_t size; /* values of an example */
} liana__fn_prediction;

typedef struct liana__fn_variable {
    const char *name;
    liana_shape shape;
    const char *initializer;  /* NULL: none */
    const liana_model *model; /* whose weight it is; NULL: of none */
    size_t weight;
    bool trained;
} liana__fn_variable;

/* A moving average of a called model. */
typedef struct liana__fn_average {
    const char *variable;
    const char *about; /* as in liana_variable_update; NULL: none */
    double momentum;
} liana__fn_average;

/* Of one mode. Texts are in the arena of the call. */
typedef struct liana__fn_built {
    liana_mode_kind kind;
    bool used[LIANA_MAX_COMPONENTS];       /* by component of the data: it is asked for */
    int64_t num_ids[LIANA_MAX_COMPONENTS]; /* of whole numbers that are looked up: they must be below; 0: any */
    int64_t elements;                      /* of the loss, in one example */
    bool is_masked;                        /* the loss has a mask: the last sum is of the elements that count */
    bool is_regularized; /* a called model has regularisers: the sum before that is of their penalties */
    liana__fn_metric metrics[LIANA_MAX_METRICS];
    size_t num_metrics, num_sums; /* sums with that of the loss */
    liana__fn_prediction predictions[LIANA_MAX_PREDICTIONS];
    size_t num_predictions;
    int64_t row_size; /* values of all predictions of an example */
    liana__fn_variable *variables;
    size_t num_variables;
    liana__fn_average *averages;
    size_t num_averages;
    liana__optimizer_choice optimizer; /* in training */
    void (*update)(liana_update *update, void *params);
} liana__fn_built;

/* A metric that is a mean of values by example: its sums are the sum and the number of elements. */
extern const liana_metric_type liana__fn_mean;

/* ---- calls ---- */

/* The function of an estimator. */
typedef struct liana__fn {
    liana_model_function *function;
    void *params;
    const char *name; /* in messages */
    uint64_t seed;
} liana__fn;

/* A call for a shard. Its tensors are valid as long as the graph. */
typedef struct liana__fn_call {
    const liana__fn *fn;
    liana_mode_kind kind;
    const liana__fn_data *data;
    liana_graph *graph;
    int64_t size;
    liana_tensor positions, present; /* u64 [size], f32 [size] or invalid */
    /* By component of the data. Invalid ones are made as inputs of the graph where they are asked for, unless `given`:
     * then nothing else may be asked for. */
    liana_tensor inputs[LIANA_MAX_COMPONENTS];
    bool given;
    liana_tensor scales; /* as in liana__function_call; invalid: 1 */
    liana__arena *arena;
    /* Filled in. */
    liana_estimator_spec spec;
    liana__fn_built built;
    liana_tensor loss;                           /* scalar: the sum over the shard */
    liana_tensor counts;                         /* f32 [1]: elements of the loss that count; of a masked one */
    liana_tensor sums;                           /* f32 [num_sums] */
    liana_tensor rows;                           /* f32 [size, row_size]: predictions */
    liana_tensor outputs[LIANA_MAX_PREDICTIONS]; /* by prediction */
    liana_tensor penalties;                      /* [size]: of the called models' results; invalid: none */
    liana_variable_update *updates;              /* of the called models, in the graph's arena */
    size_t num_updates;
} liana__fn_call;

/* Calls the function and checks its results. Errors: those of the graph, INVALID_ARGUMENT with the function's name,
 * OUT_OF_MEMORY; the graph has failed then. */
liana_status liana__fn_run(liana__fn_call *call, liana__error *error) LIANA_MUST_USE;

/* The same on a graph of its own, to see the results of the function: in *built, texts in the arena. */
liana_status liana__fn_trace(liana_context *context, const liana__fn *fn, liana_mode_kind kind,
                             const liana__fn_data *data, liana__arena *arena, liana__fn_built *built,
                             liana__error *error) LIANA_MUST_USE;

#endif
