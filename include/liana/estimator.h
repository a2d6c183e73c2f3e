/* estimator.h - estimators: one function builds the model, one object trains, evaluates, predicts and exports it.
 *
 *     static liana_estimator_spec model_fn(const liana_features *features, const liana_features *labels,
 *                                          const liana_estimator_mode *mode, void *params)
 *     {
 *         liana_tensor image = liana_feature(features, "image"), scores;
 *         liana_model_call(params, &image, 1, &mode->call, &scores, NULL);
 *         liana_estimator_spec spec = {.predictions = {{"class", liana_op_argmax(scores, -1)}}};
 *         if (mode->kind == LIANA_MODE_PREDICT) return spec;
 *         liana_tensor label = liana_feature(labels, "label");
 *         spec.loss = liana_loss_of(scores, label, NULL);
 *         spec.metrics[0] = (liana_estimator_metric){.output = scores, .target = label};
 *         spec.optimizer.optimizer = "Adam";
 *         return spec;
 *     }
 *     ...
 *     liana_estimator_create(context, &(liana_estimator_options){model_fn, model, .config = {.model_dir = "run"}}, &e);
 *     liana_estimator_train(e, &(liana_train_spec){.input.dataset = training, .max_steps = 1000});
 *     liana_estimator_evaluate(e, &(liana_eval_spec){.input.dataset = test}, &results);
 *
 * It is tf.estimator's division of work with liana's training below: the loop, callbacks, checkpoints and schedules of
 * liana_fit, and its bits. The same function, losses, metrics and optimizers serve every device.
 *
 * One thread at a time may use an estimator. The messages of failures are in the context. */
#ifndef LIANA_ESTIMATOR_H
#define LIANA_ESTIMATOR_H

#include <liana/optimizer.h>
#include <liana/step.h>
#include <liana/train.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LIANA_MAX_PREDICTIONS = 16 };

typedef struct liana_estimator liana_estimator;

/* ---- the model function ---- */

/* The components of some examples, by name. */
typedef struct liana_features {
    liana_graph *graph; /* for constants and variables (liana_graph_variable) */
    int64_t size;       /* examples: the first dimension of each feature */
    void *state;        /* liana's */
} liana_features;

/* liana_feature(features, name): a component of the data, [size, ...] with the static shape of the data. Floats are
 * f32, other numbers s32. Images are f32, with the pixel values that the dataset's scale says. Errors stay with the
 * graph: no such component (with the nearest name), strings, a label of an estimator that predicts. */
#define liana_feature(features, name) liana_feature_at(LIANA_HERE, features, name)
LIANA_API liana_tensor liana_feature_at(liana_location here, const liana_features *features, const char *name);

typedef enum liana_mode_kind { LIANA_MODE_TRAIN, LIANA_MODE_EVALUATE, LIANA_MODE_PREDICT } liana_mode_kind;

/* The use that the model is built for. */
typedef struct liana_estimator_mode {
    liana_mode_kind kind;
    /* For liana_model_call and liana_layer_call. With it the estimator knows the models: their variables begin with the
     * models' weights, frozen layers stay as they are, moving averages follow the whole batch, and the penalties of
     * regularizers are part of the loss. */
    liana_call_mode call;
} liana_estimator_mode;

typedef struct liana_prediction {
    const char *name;
    liana_tensor tensor; /* [size, ...] of any dtype */
} liana_prediction;

/* A metric: one of liana's accumulators of an output and a target, or a mean of values by example. */
typedef struct liana_estimator_metric {
    const char *name;            /* in results; NULL: that of `metric` */
    liana_metric metric;         /* its members `output` and `as` are not read; without a name: "accuracy" */
    liana_tensor output, target; /* as for liana_metric_of */
    liana_tensor values;         /* instead of `output`: floats [size, ...], whose mean it is */
    liana_tensor mask;           /* as that of the loss; invalid: every element counts */
} liana_estimator_metric;

/* The results of a model function. Zeros are the defaults; the first entry without a tensor ends a list. */
typedef struct liana_estimator_spec {
    /* In training and evaluation: floats [size, ...], the loss of each example, or of each element of an example. liana
     * takes the mean over all elements of the batch, however it is cut. */
    liana_tensor loss;
    /* bool, the loss's shape or its first dimensions: false where an element of the loss does not count, such as a step
     * that is padding. It counts neither in the sum nor in the number of elements that the sum is divided by. Invalid:
     * every element counts. */
    liana_tensor loss_mask;
    liana_prediction predictions[LIANA_MAX_PREDICTIONS]; /* needed to predict */
    liana_estimator_metric metrics[LIANA_MAX_METRICS];   /* the same ones in training and evaluation */
    /* In training: as for liana_fit; schedules too ("{name: Adam, learning_rate: {name: CosineDecay}}"). Its `rate`
     * must be left out, and its `target` is not read. */
    liana_optimizer_options optimizer;
    /* Instead of the optimizer's update, one of its own (step.h). It may ask for the scalars "learning_rate" (of
     * `optimizer`, with its schedule) and "iteration" (from 1), and for the sums "loss" and those of metrics that are
     * means, by name. Called with the estimator's params. Not with models that have regularizers or constraints, which
     * the optimizer's update applies. */
    void (*update)(liana_update *update, void *params);
    /* The variables that are trained: [num_variables]. NULL: all that the loss depends on, but moving averages and
     * weights of frozen layers. */
    const liana_tensor *variables;
    size_t num_variables;
} liana_estimator_spec;

/* Builds a graph from features and labels; `params` are the options'. It is called when something is made to run, for
 * shards of each size that comes, and must build the same each time. It may create variables: the first call makes one,
 * later calls of the same name find it. */
typedef liana_estimator_spec liana_model_function(const liana_features *features, const liana_features *labels,
                                                  const liana_estimator_mode *mode, void *params);

/* ---- an estimator ---- */

/* How and where it runs. Zeros are the defaults. */
typedef struct liana_run_config {
    /* A folder for checkpoints (checkpoints/step-...). Training goes on from the newest one; evaluate, predict and
     * export read it. It may be gs://bucket/folder or s3://bucket/folder: checkpoints are fetched at the first call
     * that needs them, and sent while training goes on. One estimator or fit of a machine at a time works with a URL.
     * NULL: a temporary folder, which is removed with the estimator; several processes that train together need a
     * folder that all of them reach. */
    const char *model_dir;
    const char *device; /* as in liana_device_open; NULL: "cpu" */
    liana_strategy strategy;
    uint64_t seed;                  /* of the data's order, dropout and initialisers */
    int64_t batch_size;             /* examples of an update; 0: 32 */
    int64_t microbatch;             /* examples computed together; 0: chosen from the model and batch size */
    int64_t steps_per_execution;    /* as for liana_fit; 0: 1 */
    bool deterministic;             /* as for liana_fit */
    int64_t eval_batch_size;        /* of evaluations and predictions; 0: batch_size */
    int64_t save_checkpoints_steps; /* a checkpoint after every this many updates; 0: after epochs only */
    double save_checkpoints_secs;   /* a checkpoint also after this time, in seconds; 0: not by time */
    int64_t keep_checkpoint_max;    /* 0: 5; -1: all */
    /* Event files for TensorBoard in model_dir/summaries, as in YAML: "true", "{every_steps: 10}" (the options of the
     * callback Summaries). NULL: none. */
    const char *summaries;
    int64_t log_step_count_steps; /* on_note is told loss, metrics and speed after every this many updates; 0: not */
    liana_precision precision;    /* AUTO: that of the checkpoint, if there is one */
    liana_recompute recompute;
    int64_t memory;      /* MiB, for recompute; as for liana_fit */
    int64_t data_memory; /* MiB for reading and decoding; 0: 1024 */
    /* The policy for numbers that are not finite; as for liana_fit. The folder is one of this machine. */
    liana_on_bad_numbers on_bad_numbers;
    int64_t max_bad_numbers;   /* 0: 10 */
    double bad_numbers_factor; /* 0: 0.5 */
    const char *bad_numbers_folder;
    void (*on_note)(void *user, const char *note); /* NULL: nobody is told */
    void *user;
} liana_run_config;

/* Variables that begin with the values of an earlier training. */
typedef struct liana_warm_start {
    /* A model_dir or a folder of checkpoints (the best one, if there is one that is kept as such, else the newest), one
     * checkpoint, a folder of liana_model_save, or a safetensors file. NULL: no warm start. */
    const char *from;
    /* Which variables: shell patterns ("encoder" followed by an asterisk), ended by NULL. None: all. */
    const char *variables[LIANA_MAX_WARM_NAMES];
    /* Variables that have another name there; ended by the first without `variable`. */
    struct {
        const char *variable; /* here */
        const char *previous; /* there */
    } names[LIANA_MAX_WARM_NAMES];
} liana_warm_start;

/* Zeros are the defaults. Texts and lists are copied. */
typedef struct liana_estimator_options {
    liana_model_function *model_fn;
    void *params;     /* given to the model function; borrowed */
    const char *name; /* in messages; NULL: "estimator" */
    /* The components that are labels, ended by NULL; the others are features. None: "label". */
    const char *labels[LIANA_MAX_OUTPUTS];
    liana_run_config config;
    liana_warm_start warm_start_from;
    /* Its own initialisation: called once, before anything is trained, after initialisers and the warm start. It may
     * read and write any variable. A status other than LIANA_OK ends the training. NULL: none. */
    liana_status (*scaffold)(void *params, liana_variables *variables);
} liana_estimator_options;

/* Makes an estimator; nothing is built before it is used. Errors: INVALID_ARGUMENT (no model function, a number below
 * 0), INVALID_CONFIG (no such device or strategy), OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_estimator_create(liana_context *context,
                                                             const liana_estimator_options *options,
                                                             liana_estimator **estimator);
/* NULL is allowed. */
LIANA_API void liana_estimator_destroy(liana_estimator *estimator);

/* Data for an estimator. */
typedef struct liana_estimator_input {
    const liana_dataset *dataset; /* of single examples; it is batched by the configuration */
    /* Images are decoded and resized to height, width and channels (1 or 3). Zeros: the shape that the data have. */
    int64_t image_shape[3];
    bool keep_order; /* in training: the order of the data; false: another order in each epoch */
} liana_estimator_input;

/* Zeros are the defaults. */
typedef struct liana_train_spec {
    liana_estimator_input input;
    /* How long, up to the first limit; all 0: one epoch. A training that was stopped or killed goes on from its newest
     * checkpoint with max_steps or epochs, and ends with the same bytes as one that was never stopped. */
    int64_t max_steps; /* updates in all */
    int64_t epochs;    /* passes over the data in all */
    int64_t steps;     /* updates of this call, beyond those that were done before */
    /* Hooks: callbacks by name as in YAML ("[EarlyStopping: {patience: 3}]"; NULL: none), then the program's own. */
    const char *named_callbacks;
    const liana_callback *const *callbacks; /* [num_callbacks] */
    size_t num_callbacks;
} liana_train_spec;

/* Zeros are the defaults. */
typedef struct liana_eval_spec {
    liana_estimator_input input;
    int64_t steps; /* largest number of batches; 0: all examples */
    /* liana_estimator_train evaluates at its end, and each time after this number of updates or epochs. Both 0: after
     * each epoch. */
    int64_t every_steps;
    int64_t every_epochs;
    /* Called after each of these evaluations; may be NULL. */
    void (*on_evaluation)(void *user, int64_t step, const liana_results *results);
    void *user;
} liana_eval_spec;

/* Trains. Begins with the newest checkpoint of model_dir, else with initial values. With `eval` (NULL: none) it
 * evaluates in between and at the end, with the variables as they are; evaluations change nothing. Errors: those of
 * liana_fit; of the model function, with its file and line; INVALID_ARGUMENT (a spec without a loss, a loss of another
 * shape, ...); INVALID_DATA (model_dir has checkpoints of another model function; other data). */
LIANA_API LIANA_MUST_USE liana_status liana_estimator_train(liana_estimator *estimator, const liana_train_spec *train,
                                                            const liana_eval_spec *eval);

/* Measures loss and metrics. `results` may be NULL; its names are valid until the next call. Errors: also NOT_FOUND
 * (nothing has been trained yet). */
LIANA_API LIANA_MUST_USE liana_status liana_estimator_evaluate(liana_estimator *estimator, const liana_eval_spec *eval,
                                                               liana_results *results);

/* A prediction that is wanted: by name, for each example [num_examples, ...], in the order of the data. Whole numbers
 * are exact up to 2^24. */
typedef struct liana_wanted_prediction {
    const char *name;
    float *values;
    size_t count; /* of `values`: number of examples * values of one */
} liana_wanted_prediction;

/* Zeros are the defaults. */
typedef struct liana_predict_spec {
    liana_estimator_input input;
    int64_t steps;                                              /* largest number of batches; 0: all examples */
    liana_wanted_prediction predictions[LIANA_MAX_PREDICTIONS]; /* ended by the first without a name */
} liana_predict_spec;

/* Predicts; the data need no labels. Errors: also NOT_FOUND (a prediction that the model function does not give, with
 * the nearest name; nothing has been trained yet), INVALID_ARGUMENT (room for another number of values). */
LIANA_API LIANA_MUST_USE liana_status liana_estimator_predict(liana_estimator *estimator,
                                                              const liana_predict_spec *predict);

/* Zeros are the defaults. */
typedef struct liana_export_spec {
    liana_estimator_input input; /* whose components and shapes the graph takes; no element is read */
    int64_t batch_size;          /* examples of each run of the graph; 0: 1 */
} liana_export_spec;

/* Writes the graph of predictions and its variables: folder/graph.liana and folder/variables.safetensors. The graph
 * (liana_graph_load) has the features as inputs and the predictions as outputs, by name; images are u8 and enter by
 * their scale within the graph. A program runs it with the variables of the other file. The folder may be
 * gs://bucket/folder or s3://bucket/folder; the graph is sent last. Errors: as liana_estimator_predict; IO_ERROR. */
LIANA_API LIANA_MUST_USE liana_status liana_estimator_export(liana_estimator *estimator, const char *folder,
                                                             const liana_export_spec *spec);

/* The variables of the newest checkpoint, those of the optimizer too. Borrowed, and valid until the next call. NULL:
 * nothing has been trained, or reading failed; the message is in the context. liana_model_from_variables takes a
 * model's weights from it. */
LIANA_API const liana_variables *liana_estimator_variables(liana_estimator *estimator);

/* Updates that were done in all, as far as this estimator has seen; 0 at first. */
LIANA_API int64_t liana_estimator_global_step(const liana_estimator *estimator);

#ifdef __cplusplus
}
#endif
#endif
