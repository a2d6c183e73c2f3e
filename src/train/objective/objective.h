/* objective.h - the objective of a training: for each output of the model a loss, a target and metrics.
 *
 * A shard gives one vector of sums: the loss of each output, then the sums of each metric. The host adds these vectors
 * up in f64 and finishes them: values 0 the loss, then, if there are several, the loss of each output, then the
 * metrics. The loss is sum over outputs of weight * (sum of the loss) / (number of its elements), as in Keras.
 *
 * An output may have a mask: steps of a sequence that are padding. Elements that it leaves out count neither in sums
 * nor in the number of elements. Nor do elements that the loss leaves out; with the reduction mean_with_sample_weight
 * the number is the sum of weights. That number is then known only when the batch is there, so a shard counts it as one
 * more sum. Training needs it before gradients are computed: a step of its own counts first (LIANA__STEP_COUNTING). */
#ifndef LIANA_TRAIN_OBJECTIVE_H
#define LIANA_TRAIN_OBJECTIVE_H

#include "layers/model.h"
#include "losses/loss.h"
#include "metrics/metric.h"
#include "step/builders.h"

#include <liana/array.h>
#include <liana/objective.h>

enum {
    LIANA__MAX_OUTPUTS = 8,
    LIANA__MAX_METRICS = 24,
    LIANA__MAX_VALUES = 1 + LIANA__MAX_OUTPUTS + LIANA__MAX_METRICS
};

/* An output of the model. */
typedef struct liana__objective_output {
    const char *name;          /* the output's */
    liana__loss_choice choice; /* loss NULL: it is only predicted */
    double weight;             /* of its loss in the whole one */
    liana_shape shape;         /* of the output, with a batch of 1 */
    liana_target_kind target;
    liana_dtype target_dtype;     /* s32 for classes, else f32 */
    liana_shape target_shape;     /* with a batch of 1 */
    int64_t elements;             /* of the loss, in one example */
    bool masked;                  /* the model gives a mask; only where there is a loss */
    bool counted;                 /* its loss is not divided by the number of all elements */
    size_t count_sum;             /* ... where the number of elements that count is, in a shard's vector */
    liana_logits_kind activation; /* of the loss; the inputs of metrics and the predictions have gone through it */
    /* Weights of classes are for it: its target is the label of the data, or there is no other output. */
    bool weighs_classes;
} liana__objective_output;

typedef struct liana__objective_metric {
    liana__metric_choice choice;
    const char *name; /* in reports: "accuracy", with several outputs "OUTPUT_accuracy" */
    size_t output;
    size_t first_sum, num_sums; /* in a shard's vector */
    bool has_own_count;         /* of a mean: the second sum is that of its elements' weights */
    size_t num_values;          /* above 0: the result is `num_values` numbers, which are not in value_names */
} liana__objective_metric;

typedef struct liana__objective {
    liana__objective_output outputs[LIANA__MAX_OUTPUTS];
    size_t num_outputs;
    liana__objective_metric metrics[LIANA__MAX_METRICS];
    size_t num_metrics;
    size_t num_counted; /* outputs */
    size_t num_listed;  /* numbers of the metrics that have one for each class; those of matrices are not counted */
    size_t num_sums;
    /* Of a model with regularisers: which sum their penalties are, times the number of examples. They are part of the
     * loss. */
    bool is_regularized;
    size_t penalty_sum;
    /* The reported values: value_names[0] is "loss". */
    const char *value_names[LIANA__MAX_VALUES];
    size_t num_values;
} liana__objective;

/* How it is asked for. */
typedef struct liana__objective_request {
    const liana_model *model;
    /* A loss (liana__loss_read), or {OUTPUT: loss or null, ...}; NULL: sparse_categorical_crossentropy. */
    const liana__value *loss;
    const liana__value *loss_weights; /* {OUTPUT: number}; NULL: all 1 */
    /* A list of metrics (liana__metric_read), or {OUTPUT: list}; NULL: accuracy where the loss has an activation. */
    const liana__value *metrics;
    /* Where these were written, in messages: "train" for train.loss; NULL: an option of a C function. */
    const char *where;
    /* The targets that the data have for each output, with the shape of an example; NULL: not known. A loss that takes
     * classes and values takes the kind that they have. */
    const liana_component *const *targets;
    /* Adds metrics by class for each output that has classes: precision_by_class, recall_by_class, f1_score_by_class,
     * support_by_class, and confusion_matrix where there is one class for each element. */
    bool by_class;
    double threshold; /* of answers of yes and no, for that; 0: 0.5 */
    bool predicts;    /* nothing is compared with anything: without a loss outputs are given as they are */
} liana__objective_request;

/* Finds all mistakes in a request. Names and options are in the arena. `for_training`: the model's outputs must fit the
 * losses. Errors: INVALID_CONFIG with keys and names; OUT_OF_MEMORY. */
liana_status liana__objective_create(const liana__objective_request *request, bool for_training, liana__arena *arena,
                                     liana__objective *objective, liana__error *error) LIANA_MUST_USE;

/* Fails if weights of classes are for none of the outputs. `where` is their key. Errors: INVALID_CONFIG. */
liana_status liana__objective_check_class_weights(const liana__objective *objective, const liana__place *place,
                                                  const char *where, liana__error *error) LIANA_MUST_USE;

/* Finds the outputs with a loss whose results have a mask. Errors: INVALID_CONFIG (a mask of another shape);
 * OUT_OF_MEMORY. */
liana_status liana__objective_find_masks(const liana_model *model, liana__objective *objective, liana__error *error)
    LIANA_MUST_USE;

/* Builds the vector of sums, and the loss to differentiate: the sum over the shard's examples. */
typedef struct liana__objective_call {
    liana_tensor outputs[LIANA__MAX_OUTPUTS]; /* the model's outputs */
    liana_tensor logits[LIANA__MAX_OUTPUTS];  /* the input of the output's softmax or sigmoid; invalid: not known */
    liana_logits_kind activations[LIANA__MAX_OUTPUTS]; /* which of them */
    liana_tensor masks[LIANA__MAX_OUTPUTS];            /* bool, the model's; invalid: none */
    /* f32 [size, outputs]: the factors of the losses of counted outputs before they are differentiated, the same in
     * each row: examples / elements that count, of the whole update. Invalid: 1, where nothing is trained. */
    liana_tensor scales;
    liana_tensor targets[LIANA__MAX_OUTPUTS];
    liana_tensor partners[LIANA__MAX_OUTPUTS]; /* second targets, of mixed examples; invalid: none */
    liana_tensor shares;                       /* f32 [size]: how much the first ones count */
    liana_tensor present;                      /* f32 [size]: 1, or 0 where the example is missing; invalid: none is */
    liana_tensor loss_weights;                 /* f32 [size]: of the examples' losses; invalid: all 1 */
    /* f32, liana__class_table of the outputs' losses; invalid: all 1. */
    liana_tensor class_weights[LIANA__MAX_OUTPUTS];
    liana_tensor penalties; /* [size]: of the activity regularisers; invalid: none */
    /* Filled in. */
    liana_tensor predictions[LIANA__MAX_OUTPUTS];
    liana_tensor sums; /* f32 [num_sums] */
    liana_tensor loss; /* scalar */
} liana__objective_call;
void liana__objective_build(const liana__objective *objective, liana__objective_call *call);
/* The weights of classes as a constant of the graph, for liana__objective_call.class_weights. Classes from `count` on
 * have 1. Invalid: out of memory. */
liana_tensor liana__class_table(const liana__objective_output *output, liana_graph *graph, const double *weights,
                                int64_t count);

/* f32, the shape of an output's loss elements: 1 where the mask lets them count, else 0. */
liana_tensor liana__objective_mask(const liana__objective_output *output, liana_tensor mask, int64_t size);
/* Builds f32 [num_counted]: how many elements of each counted output count. Reads masks, targets, weights and
 * `present`; `size`: examples. */
liana_tensor liana__objective_count(const liana__objective *objective, const liana__objective_call *call, int64_t size);

/* Sums over batches, on the host. */
typedef struct liana__totals {
    const liana__objective *objective; /* NULL: nothing was measured */
    double *sums;        /* [num_sums]; of losses that are sums, each batch's times its number of examples */
    int64_t count;       /* of examples */
    int64_t bad_records; /* positions whose records were left out; not part of count */
} liana__totals;

liana_status liana__totals_create(const liana__objective *objective, liana__totals *totals, liana__error *error)
    LIANA_MUST_USE;
void liana__totals_free(liana__totals *totals);
void liana__totals_clear(liana__totals *totals);
void liana__totals_add(liana__totals *totals, const float *sums, int64_t count, int64_t bad_records);
/* Value `index` of those that are reported; 0 if the count is 0. */
double liana__totals_value(const liana__totals *totals, size_t index);
/* The numbers of a metric that has several, [num_values]; zeros if the count is 0. */
void liana__totals_values(const liana__totals *totals, size_t metric, double *values);
/* The numbers of all metrics that have one for each class, [num_listed]. */
void liana__totals_lists(const liana__totals *totals, double *values);
/* The number of rows of a metric that is a matrix; 0: it is no matrix. */
int64_t liana__metric_num_rows(const liana__objective_metric *metric);

/* ---- objective calls ---- */

/* A metric of tensors as a metric's functions take it. */

/* Checks output and target, as liana_metric_of does, and sets *made, without weights. False: the graph of `output` has
 * failed. */
bool liana__metric_call_make(liana_location here, liana_tensor output, liana_tensor target,
                             const liana__metric_choice *choice, liana_metric_call *made);

/* ---- epoch values ---- */

/* Metrics that have several numbers, as a program sees them: by class, or as a matrix. */

/* Finishes them, in the arena, and returns how many metrics there are. 0 also where nothing was measured or memory has
 * run out. */
size_t liana__epoch_values(const liana__totals *totals, liana__arena *arena, const liana_metric_values **values);

/* ---- named objective ---- */

/* Losses and metrics as the options of C functions name them. */

/* The options' members; arrays of LIANA_MAX_..., ended by the first item without a name. NULL: none are given. */
typedef struct liana__named_objective {
    const char *loss;
    const liana_loss *losses;
    const char *const *metrics;
    const liana_metric *output_metrics;
} liana__named_objective;

/* Makes the values of a request, whose model is set, of them; values that are not named stay NULL. Values are in the
 * arena. Errors: INVALID_CONFIG. */
liana_status liana__read_objective(const liana__named_objective *named, liana__arena *arena,
                                   liana__objective_request *request, liana__error *error) LIANA_MUST_USE;

/* {name: NAME, ...} as a configuration would say it, without the output and a loss's weight. In the arena. */
liana__value *liana__loss_value(liana__arena *arena, const liana_loss *loss);
liana__value *liana__metric_value(liana__arena *arena, const liana_metric *metric);

/* Everything that they say, so that two can be compared. */
void liana__describe_objective(const liana__named_objective *named, liana__text *text);

#endif
