/* train.h - training: fit, evaluate, predict, save and load.
 *
 *     liana_dataset *training, *test;
 *     liana_dataset_open(context, "mnist/train-images-idx3-ubyte.gz", NULL, &training);
 *     liana_fit(model, &(liana_fit_options){.training = training, .epochs = 5, .batch_size = 128});
 *     liana_evaluate(model, test, NULL, &results);
 *     liana_model_save(model, "mnist-model");
 *
 * A model's input is [height, width, channels] of images, its output [classes]. The initialisers give its first
 * weights; the model keeps its weights from then on. Data that are opened without a scale get the model's scale, and
 * are resized as in training. The messages of failures are in the context. */
#ifndef LIANA_TRAIN_H
#define LIANA_TRAIN_H

#include <liana/callback.h>
#include <liana/dataset.h>
#include <liana/model.h>
#include <liana/objective.h>
#include <liana/strategy.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Results: means over examples. */
typedef struct liana_results {
    int64_t num_examples; /* 0: nothing was measured */
    double loss;
    /* Of a model with several outputs first the loss of each, then the metrics; in the order of the options. Names are
     * "accuracy", or "OUTPUT_loss", "OUTPUT_accuracy"; valid until the model is fitted or evaluated with others. */
    size_t num_metrics;
    double metrics[LIANA_MAX_METRICS];
    const char *metric_names[LIANA_MAX_METRICS];
    int64_t bad_records; /* records that were left out */
} liana_results;

typedef struct liana_epoch {
    int64_t epoch; /* from 1 */
    int64_t epochs;
    int64_t global_step;    /* updates done in all: over all stages, and fits that this one goes on from */
    liana_results training; /* measured while the weights changed */
    liana_results validation;
    double learning_rate; /* of the epoch's last update */
    double seconds;       /* of training */
    /* Metrics that have several numbers: one for each class, or a confusion matrix. Of the training, and of the
     * validation (count 0: there was none). Valid during the call. */
    const liana_metric_values *training_values, *validation_values;
    size_t num_training_values, num_validation_values;
} liana_epoch;

/* Which part of the forward pass is computed twice, to train with batches that would otherwise not fit. On the CPU
 * results are bit-identical; a plugin's compiler may round them otherwise. */
typedef enum liana_recompute {
    LIANA_RECOMPUTE_NONE,
    LIANA_RECOMPUTE_AUTO, /* nothing if training fits into memory, else the cheapest part that makes it fit */
} liana_recompute;

/* The policy for a loss, a gradient or a weight that is not finite (NaN or infinite). */
typedef enum liana_on_bad_numbers {
    LIANA_ON_BAD_NUMBERS_FAIL,    /* the fit ends with OUT_OF_RANGE */
    LIANA_ON_BAD_NUMBERS_SKIP,    /* the update is left out */
    LIANA_ON_BAD_NUMBERS_RESTORE, /* weights and optimizer are those of the last good state, the rate is smaller */
} liana_on_bad_numbers;

/* A component of the data for an input or output of the model. */
typedef struct liana_binding {
    const char *name;      /* of the input or output; NULL: the only one */
    const char *component; /* of the data */
} liana_binding;

/* Zeros are the defaults. Names, options and bounds are those of the configuration; `liana list` shows them. */
typedef struct liana_fit_options {
    const liana_dataset *training; /* of single examples; batches are taken apart, with a note */
    /* Which component of the data is which input of the model, and which is compared with which output; ended by the
     * first without a component. Components that are not named here are found by their names; for an only input and
     * output also `image` and `label`, else the first components in their order. */
    liana_binding inputs[LIANA_MAX_OUTPUTS];
    liana_binding targets[LIANA_MAX_OUTPUTS];
    const char *example_weight;      /* the component, f32 [], by which an example's loss is multiplied; NULL: none */
    const liana_dataset *validation; /* NULL: none */
    /* Instead of `validation`: the share of `training` to validate with, above 0 and below 1; drawn by the seed, with
     * the same share of each class. The rest is trained on. Not for streams. 0: none. */
    double validation_split;
    /* How long: up to the first of these that is reached. All 0: one epoch. A fit that ends in the middle of an epoch
     * validates, and calls on_epoch, as at an epoch's end. With `resume` and more than before the fit goes on, and ends
     * in the same bits as if it had been as long at once. A schedule without decay_steps or decay_epochs decays to the
     * end of the epochs or steps; it cannot with max_minutes or stop_at alone. */
    int64_t epochs;     /* 0: no limit */
    int64_t steps;      /* updates; 0: no limit */
    double max_minutes; /* with validation, over all parts of a resumed fit; 0: no limit */
    /* When the fit ends: "2026-11-23T06:00" (with "Z" or "+01:00" behind it: in that zone, else in this machine's), or
     * "06:00", the next one. It ends well, as at another limit, and goes on with `resume`. A moment that is past is an
     * error, unless the fit goes on from a checkpoint. NULL: not by the clock. */
    const char *stop_at;
    int64_t initial_epoch;   /* epochs that count as done; less than `epochs`, which is counted with them */
    int64_t steps_per_epoch; /* 0: every example once (a stream of unknown length is counted first) */
    int64_t batch_size;      /* examples in one update; 0: that of a batched dataset, else 32 */
    int64_t microbatch;      /* examples computed together; 0: chosen from the model and batch size */
    /* Updates of a group, at most 10000; 0: 1. A GPU or TPU does a group in one execution of its program. Callbacks
     * have one step for a group (liana_fit_facts.num_updates), so checkpoints, ends and rates of callbacks are between
     * groups. */
    int64_t steps_per_execution;
    int64_t validation_freq;       /* epochs from one validation to the next; 0: 1 */
    int64_t validation_batch_size; /* 0: batch_size */
    int64_t validation_steps;      /* largest number of batches of a validation; 0: all examples */
    /* Factors of the examples' losses, by class: [num_class_weights], 0 or more. NULL: all 1. Classes from
     * num_class_weights on have 1. They are for the output whose target is the component "label"; where there is one
     * output only, for this one. A target of one value is the number of its class, of several the largest is. */
    const double *class_weights;
    int64_t num_class_weights;
    /* As in YAML: "Adam", "{name: SGD, momentum: 0.9, learning_rate: 0.01}". NULL: that of the file of Keras which the
     * model was loaded from, with its state, if it was compiled (liana_model_load); else "Adam". */
    const char *optimizer;
    /* As `stages` in YAML: "[{epochs: 3}, {epochs: 9, trainable_from: block_13, optimizer: {learning_rate: 1.0e-5}}]".
     * Each stage trains other layers, with a new optimizer: `optimizer` with the options that the stage changes.
     * `epochs` is then 0 or those of all stages. Afterwards the model's layers are as trainable as before. NULL: one
     * stage. */
    const char *stages;
    /* As in YAML, like the optimizer: "mse", "{name: huber, delta: 2}"; NULL: "sparse_categorical_crossentropy".
     * Without loss and metrics, those of such a file. */
    const char *loss;
    /* The same: "{name: top_k_accuracy, k: 3}"; none: "accuracy", if the loss is of probabilities. */
    const char *metrics[LIANA_MAX_METRICS];
    /* With options, and for each of several outputs: losses instead of `loss`, metrics after `metrics`. */
    liana_loss losses[LIANA_MAX_OUTPUTS];
    liana_metric output_metrics[LIANA_MAX_METRICS];
    const char *device; /* as in liana_device_open: "gpu", "pjrt:cpu"; NULL: "cpu" */
    liana_strategy strategy;
    /* On a GPU or TPU too, the same bits on any number of devices: updates are computed shard by shard. false: an
     * update is one program, whose sums agree up to rounding. On the CPU they always are the same. */
    bool deterministic;
    /* The model keeps it (liana_model_precision). With `resume`, AUTO is the precision of the checkpoint. */
    liana_precision precision;
    /* With `resume`, AUTO with `memory` 0 is the value that the checkpoint records. */
    liana_recompute recompute;
    int64_t memory;      /* MiB for training, for LIANA_RECOMPUTE_AUTO; 0: three quarters of the machine's memory */
    int64_t data_memory; /* MiB for reading, decoding and batches made ahead; 0: 1024 */
    uint64_t seed;       /* of the data's order and of dropout */
    const char *augment; /* as data.augment in YAML: "[random_flip, ...]"; NULL: none */
    bool keep_order;     /* of the examples; false: another order in each epoch */
    /* A folder for checkpoints, one after each epoch; gs://bucket/folder and s3://bucket/folder too. `resume` goes on
     * from the newest one. Checkpoints are sent to a bucket while training goes on; a failure to send ends the fit at
     * the next checkpoint or at its end, with IO_ERROR. NULL: none. */
    const char *checkpoints;
    bool resume;
    /* Goes on from this checkpoint: a name in the folder ("step-0000000120"), "best", or the path of any. Newer ones in
     * the folder are set aside (renamed to NAME.rewound). `resume` need not be set. NULL: none. */
    const char *resume_from;
    int64_t keep_checkpoints; /* the newest ones that are kept; 0: 3, less than 0: all */
    double keep_every_hours;  /* hours after which another checkpoint is kept for good; 0: none */
    /* The metric that tells the best checkpoint, such as "val_accuracy" (smaller losses and errors are better, greater
     * other metrics). It is saved after its epoch, and kept. NULL: none. */
    const char *best_checkpoint;
    int64_t checkpoint_steps; /* also a checkpoint after every this many updates; 0: only after epochs */
    /* Leave out records that cannot be used, in training and validation. Other examples keep their places. false: such
     * a record is an error. With a stream among the stages it is always an error: see liana_dataset_ignore_errors. */
    bool skip_bad_records;
    int64_t max_bad_records;                             /* more bad records end the fit; 0: no limit */
    void (*on_bad_record)(void *user, const char *note); /* called once for each: file, record, reason; may be NULL */
    /* Numbers that are not finite are found in the step where they arise, before its update is applied. The message, or
     * with SKIP and RESTORE a note, names the first op, its layer and the examples. `bad_numbers_folder`, a folder on
     * this machine, gets a bundle for `liana replay`; NULL: none. The last good state is at most 100 updates old. */
    liana_on_bad_numbers on_bad_numbers;
    int64_t max_bad_numbers;   /* SKIP: updates left out in a row; RESTORE: restores within 100 updates; 0: 10 */
    double bad_numbers_factor; /* RESTORE: of the learning rate, below 1; 0: 0.5 */
    const char *bad_numbers_folder;
    /* Called with a sentence about each thing that was found or chosen, or looks like a mistake: classes without
     * examples, a warm-up that does not end, moving averages that have hardly moved. May be NULL. */
    void (*on_note)(void *user, const char *note);
    /* Callbacks, which run at the events of the fit in this order: first those by name as in YAML ("[EarlyStopping:
     * {patience: 3}]"; `liana list callbacks`; NULL: none), then the program's own. They are borrowed. With `resume`,
     * their state is loaded. */
    const char *named_callbacks;
    const liana_callback *const *callbacks; /* [num_callbacks] */
    size_t num_callbacks;
    /* The control decides after some updates whether the fit goes on, or back to an earlier state with another learning
     * rate, as in YAML: "{name: annealing, every_steps: 50}" (`liana list controls`). NULL: nothing. */
    const char *control;
    /* Event files for TensorBoard, as in YAML: "true", "{every_steps: 10}" (the options of the callback Summaries).
     * NULL: none. */
    const char *summaries;
    /* Called after each epoch; may be NULL. If it returns false, the fit ends with CANCELLED and keeps the weights. */
    bool (*on_epoch)(void *user, const liana_epoch *epoch);
    void *user;
} liana_fit_options;

/* Trains the model, beginning with its current weights. The same options, data and weights give bit-identical weights
 * on any number of threads. After a failure the weights are as they were before. Errors: those of the data (with file
 * and record), INVALID_CONFIG (a name or option), INVALID_ARGUMENT, OUT_OF_RANGE (numbers are not finite), CANCELLED,
 * OUT_OF_MEMORY (the message says which sizes would fit). */
LIANA_API LIANA_MUST_USE liana_status liana_fit(liana_model *model, const liana_fit_options *options);

/* Finds the best checkpoint (liana_fit_options.best_checkpoint, or checkpoint.best of a configuration) of a run folder
 * or a folder of checkpoints on this machine; the newest checkpoint says which one it is. Copies its path, at most
 * `size` bytes with the ending zero: for `resume_from`, and for `from` of liana_model_warm_start. Errors: NOT_FOUND (no
 * checkpoint, none that was chosen as the best, or one that is no longer there), INVALID_ARGUMENT (the path is
 * longer). */
LIANA_API LIANA_MUST_USE liana_status liana_checkpoint_best(liana_context *context, const char *folder, char *path,
                                                            size_t size);

/* Zeros are the defaults, as for liana_fit. */
typedef struct liana_evaluate_options {
    const char *device; /* as for liana_fit */
    int64_t batch_size;
    int64_t steps;                           /* largest number of batches; 0: all examples */
    liana_binding inputs[LIANA_MAX_OUTPUTS]; /* as for liana_fit; so are the next two */
    liana_binding targets[LIANA_MAX_OUTPUTS];
    const char *example_weight;
    /* Losses and metrics; none: those that the model was fitted with. */
    const char *loss;
    const char *metrics[LIANA_MAX_METRICS];
    liana_loss losses[LIANA_MAX_OUTPUTS];
    liana_metric output_metrics[LIANA_MAX_METRICS];
    /* Called at the end for each metric that has several numbers, which liana_results leaves out. They are valid during
     * the call. May be NULL. */
    void (*on_values)(void *user, const liana_metric_values *values);
    void *user;
    /* Shares the batches out, for the same bits. In a cluster all processes call it, with the same options, data and
     * model; each reads and computes its own examples, with the chief's weights, and gets the results of all. */
    liana_strategy strategy;
} liana_evaluate_options;

/* Measures the model; `options` and `results` may be NULL. Errors: those of reading and compiling; of several processes
 * the first one's error in all of them, INVALID_CONFIG with the difference between them; UNAVAILABLE if one is gone. */
LIANA_API LIANA_MUST_USE liana_status liana_evaluate(liana_model *model, const liana_dataset *dataset,
                                                     const liana_evaluate_options *options, liana_results *results);

/* Zeros are the defaults. */
typedef struct liana_predict_options {
    const char *device;                      /* as for liana_fit */
    int64_t batch_size;                      /* 0: 32 */
    int64_t steps;                           /* largest number of batches; 0: all examples */
    liana_binding inputs[LIANA_MAX_OUTPUTS]; /* as for liana_fit */
    liana_strategy strategy;                 /* as for liana_evaluate: each process gets all outputs */
    /* Gives the results of this layer instead of the model's outputs, as Keras's Model(inputs, layer.output): features,
     * embeddings. liana_layer_shape says how many values they are; those of several results stand one behind the other.
     * Of a nested model it gives the outputs. "encoder/dense" is a layer of the nested model "encoder", as is "dense"
     * where no other layer is called so. The model stays as it is. Each call compiles anew: for many calls choose
     * the layer once, with liana_model_outputs. Errors: NOT_FOUND, with the nearest name. NULL: the model's outputs. */
    const char *layer;
} liana_predict_options;

/* The model's predictions for each example, in the order of the data: outputs [num_examples, values], the values of all
 * its outputs one after the other. Of a model that was fitted from logits these are probabilities. A model that was not
 * fitted needs no loss. A dataset in batches has a row for each example too. Batches of another size may round
 * differently. `options` may be NULL. */
LIANA_API LIANA_MUST_USE liana_status liana_predict(liana_model *model, const liana_dataset *dataset,
                                                    const liana_predict_options *options, float *outputs);

/* ---- which learning rate a model learns with, before it is trained ----
 *
 *     liana_learning_rate_sweep sweep;
 *     liana_find_learning_rate_options options = {.fit = {.training = data, .batch_size = 64, .optimizer = "Adam"}};
 *     if (liana_find_learning_rate(model, &options, &sweep) == LIANA_OK) puts(sweep.reason);
 *     liana_learning_rate_sweep_free(&sweep);
 * */

/* Zeros are the defaults. */
typedef struct liana_find_learning_rate_options {
    /* The data and options of the training, as for liana_fit. The optimizer's own learning rate is not used. Nothing is
     * validated or saved; lengths, validation data, callbacks, checkpoints and on_epoch are not used. */
    liana_fit_options fit;
    double minimum_rate; /* of the first update; 0: 1e-7 */
    double maximum_rate; /* of the last update; 0: 10 */
    int64_t updates;     /* 10 to 1,000,000; 0: 100. Data that are shorter are repeated */
    double smoothing;    /* of the losses' moving average, below 1; 0: 0.9. A tiny number smooths nothing */
    double divergence;   /* the sweep ends when the smoothed loss is this many times the smallest one; 0: 4 */
    /* Called after each update, counted from 1. False ends the sweep with CANCELLED. May be NULL. */
    bool (*on_update)(void *user, int64_t update, double rate, double loss);
    void *user;
} liana_find_learning_rate_options;

/* The results of a sweep. */
typedef struct liana_learning_rate_sweep {
    double suggested; /* the smaller of `steepest` and lowest / 10; NaN: none */
    double steepest;  /* the rate at which the smoothed loss falls fastest by the logarithm of the rate */
    double lowest;    /* the rate of the smallest smoothed loss */
    bool diverged;    /* the sweep ended before the largest rate */
    char reason[320]; /* a sentence: why this rate */
    /* The curve: [num_updates] each, the rates in ascending order. */
    size_t num_updates;
    double *rates;
    double *losses;   /* of each update's batch, before the update */
    double *smoothed; /* their exponential moving average with bias correction */
} liana_learning_rate_sweep;

/* Makes one update for each of `updates` rates that grow exponentially from minimum_rate to maximum_rate (Smith 2017),
 * until the loss diverges, and suggests a rate. The model stays as it is, with its weights, its optimizer's state and
 * its compiled programs. The same options, data and weights give the same curve on any number of threads.
 *
 * `sweep` is filled in any case; free it with liana_learning_rate_sweep_free. Errors: INVALID_ARGUMENT (a range that
 * makes no sense), those of liana_fit, CANCELLED, and OUT_OF_RANGE: the loss does not fall at any rate; `sweep` then
 * has the curve. */
LIANA_API LIANA_MUST_USE liana_status liana_find_learning_rate(liana_model *model,
                                                               const liana_find_learning_rate_options *options,
                                                               liana_learning_rate_sweep *sweep);
/* Frees the arrays of a sweep. NULL is allowed. */
LIANA_API void liana_learning_rate_sweep_free(liana_learning_rate_sweep *sweep);

/* ---- one batch ----
 *
 * A batch is arrays by name, [batch, ...] each: one for each input of the model and, where they are needed, for each
 * target. They are called as the input or output is, or `image` and `label`, or stand in this order. Images are u8
 * [batch, height, width, channels] of the model's input; other inputs have the input's dtype, f32 or s32; targets are
 * s32 for classes, else f32; the weights of the examples (example_weight names them) are f32 [batch]. They are borrowed
 * during the call. Images are scaled as the model's preprocessing says (else to 0..1); nothing is resized, shuffled or
 * augmented. */

/* One update. Of the options those are read that compile a model: optimizer, losses, metrics, class_weights,
 * example_weight, microbatch, device, strategy, precision, seed, batch_size (the largest batch that will come; 0: this
 * one's size), and steps_per_epoch (for schedules with lengths in epochs). Of checkpoints those are read: their folder
 * on this machine, the number that is kept, checkpoint_steps (0: after each update), and resume: the first update goes
 * on from the newest one. `options` may be NULL. The next call with the same options goes on with the same optimizer
 * state: batches in the order of a fit's first epoch give the bits of that epoch. Results (may be NULL) are those
 * before the update. With parameter servers whose workers are not in step all processes meet after it: of the first
 * gradients' examples, or by one worker after the other. Errors: as liana_fit; OUT_OF_RANGE for a label. After a
 * failure the weights are as they were before. */
LIANA_API LIANA_MUST_USE liana_status liana_train_on_batch(liana_model *model, const liana_fit_options *options,
                                                           const liana_array *arrays, size_t num_arrays,
                                                           liana_results *results);
/* Measures the model on one batch; `options` and `results` may be NULL. Its steps are not read. */
LIANA_API LIANA_MUST_USE liana_status liana_test_on_batch(liana_model *model, const liana_evaluate_options *options,
                                                          const liana_array *arrays, size_t num_arrays,
                                                          liana_results *results);
/* The model's predictions, [batch, values] as for liana_predict. */
LIANA_API LIANA_MUST_USE liana_status liana_predict_on_batch(liana_model *model, const liana_array *arrays,
                                                             size_t num_arrays, float *outputs);

/* ---- weights ---- */

/* A weight by name: f32 in Keras's layout. The data are the model's, and valid until its weights change. A new model
 * has its initial values. Errors: NOT_FOUND (with the nearest name), INVALID_ARGUMENT, OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_model_get_weights(liana_model *model, const char *name,
                                                              liana_array *weights);
/* Copies values into the weights that the arrays name; the others stay. Errors: NOT_FOUND, INVALID_ARGUMENT (another
 * shape or dtype); then nothing is changed. */
LIANA_API LIANA_MUST_USE liana_status liana_model_set_weights(liana_model *model, const liana_array *arrays,
                                                              size_t num_arrays);

/* ---- files ---- */

/* Makes a new model from a file with Keras's architecture (model.json, or a whole model: .keras, .h5), with initial
 * weights. Then load weights with liana_model_load_weights; no training run is needed to evaluate and predict. Errors:
 * those of reading it, with the file and the layer. */
LIANA_API LIANA_MUST_USE liana_status liana_model_load_architecture(liana_context *context, const char *path,
                                                                    liana_model **model);

/* Writes a folder with model.json (Keras's architecture) and weights.safetensors. The metadata of the weights hold
 * liana_model_preprocessing. The folder may be gs://bucket/folder or s3://bucket/folder. A path that ends in .keras or
 * .h5 becomes a whole model for Keras 3, with losses, metrics, optimizer and the optimizer's state; one in .weights.h5
 * or .safetensors its weights; one in .json the architecture; one in .tfjs a layers model of TensorFlow.js, a folder;
 * one in .onnx an ONNX file with the defaults of liana_model_save_onnx (onnx.h).
 * Everything is written or nothing. Errors: IO_ERROR (a file cannot be written; a store refuses it), OUT_OF_MEMORY,
 * INVALID_ARGUMENT (other files in a folder that would be replaced), and UNIMPLEMENTED (a layer that Keras or
 * TensorFlow.js does not have, before anything is written; a name of a format that liana does not write; a URL of a
 * file, or in a build without libcurl). */
LIANA_API LIANA_MUST_USE liana_status liana_model_save(liana_model *model, const char *path);
/* Brings an image of any size to the model's first input, as liana_predict would: channels are converted, the image is
 * resized, and pixels get the model's scale (liana_model_preprocessing). Writes height x width x channels of that input
 * to `input`. Errors: INVALID_ARGUMENT (no image, another input, a scale that the model does not know:
 * liana_model_set_preprocessing sets it), OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_prepare_image(const liana_model *model, const liana_pixels *image,
                                                          float *input);

/* Makes a new model from such a folder, a whole-model file (told by its first bytes), an ONNX file (.onnx; see
 * liana_model_load_onnx), or a run folder; all may be URLs.
 * A fit goes on from the optimizer's state in a whole-model file of Keras, if it has the file's optimizer. From a run
 * folder it takes its model.json with the newest checkpoint, and the keys of its config.yaml on images and classes. A
 * checkpoint of a run may be named instead of the run: "run/checkpoints/best" is its best one (checkpoint.best), whose
 * path liana_checkpoint_best finds. With liana_context_options.allow_plugins the plugins that config.yaml names are
 * loaded. */
LIANA_API LIANA_MUST_USE liana_status liana_model_load(liana_context *context, const char *path, liana_model **model);

/* Finds in a component of a dataset, as Keras's adapt() does: mean, variance and count of a Normalization, over all
 * values with the same index along the last axis; the vocabulary of a StringLookup, IntegerLookup or TextVectorization,
 * with the weights of tf_idf; the boundaries of a Discretization. Before that such a layer computes nothing. Where the
 * length of its result depends on the vocabulary, adapt it before others are added. Elements may be batches or not.
 * `component` NULL: the name of the model's input that the layer reads. The layers before this one do not run: give the
 * values that the layer gets. Errors, in the model's context: INVALID_ARGUMENT (another layer, other channels, a
 * dataset without end), NOT_FOUND (no such component), INVALID_DATA (a value that is not finite), those of the data. */
LIANA_API LIANA_MUST_USE liana_status liana_layer_adapt(liana_layer layer, const liana_dataset *dataset,
                                                        const char *component);

/* Loads weights by layer name, from a Keras HDF5 or a safetensors file or a TensorFlow checkpoint. A layer that is
 * missing in the file is an error; with `partial` it keeps its weights (a new head). A layer of another shape is always
 * an error. Both are INVALID_DATA. "imagenet" is Keras's file for the architecture that the model begins with
 * (models.h), which is fetched once; later layers may be missing there. "noisy-student" and "autoaugment" are
 * EfficientNets'. */
LIANA_API LIANA_MUST_USE liana_status liana_model_load_weights(liana_model *model, const char *path, bool partial);

enum { LIANA_MAX_WARM_NAMES = 32 };

/* Weights that have another name in the file. A pattern is the name of a weight ("dense/kernel") or of a layer or model
 * that it is in ("dense"), with an asterisk for any text and ? for any letter. Each asterisk of the name stands for the
 * text of the pattern's. */
typedef struct liana_warm_name {
    const char *pattern;
    const char *in_file;
} liana_warm_name;

/* The source of a model's first weights. Zeros are the defaults. */
typedef struct liana_warm_start_options {
    /* A run folder or a folder of checkpoints (its best checkpoint, if it keeps one, else its newest), a checkpoint, a
     * folder of liana_model_save, a Keras HDF5 or safetensors file, or a TensorFlow checkpoint; or a URL. */
    const char *from;
    liana_warm_name map[LIANA_MAX_WARM_NAMES]; /* the last pattern that matches counts; ended by one without pattern */
    const char *skip[LIANA_MAX_WARM_NAMES];    /* patterns of weights that keep their values; ended by NULL */
    const char *listing;                       /* a file to write: the fate of each weight (CSV); NULL: none */
} liana_warm_start_options;

/* The results of liana_model_warm_start. */
typedef struct liana_warm_report {
    int64_t matched; /* weights of the model that were read */
    int64_t skipped; /* weights that kept their values */
    int64_t unused;  /* weights of the file that the model did not take, without an optimizer's slots */
} liana_warm_report;

/* Gives a model the weights of another one, by name, as model.warm_start of a configuration. *report may be NULL.
 * Errors: INVALID_CONFIG (a pattern that matches nothing, with the nearest name; no `from`), INVALID_DATA (weights that
 * are not in the file and not skipped, weights of another shape, values that are not finite), NOT_FOUND, those of
 * reading. Then the model is not changed; only if the listing cannot be written (IO_ERROR), it is. */
LIANA_API LIANA_MUST_USE liana_status liana_model_warm_start(liana_model *model,
                                                             const liana_warm_start_options *options,
                                                             liana_warm_report *report);

#ifdef __cplusplus
}
#endif
#endif
