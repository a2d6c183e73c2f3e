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

#include <liana/dataset.h>
#include <liana/model.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LIANA_MAX_METRICS = 8 };

/* Results: means over examples. */
typedef struct liana_results {
    int64_t num_examples; /* 0: nothing was measured */
    double loss;
    double metrics[LIANA_MAX_METRICS]; /* in the order of the options */
    int64_t bad_records;               /* records that were left out */
} liana_results;

typedef struct liana_epoch {
    int64_t epoch; /* from 1 */
    int64_t epochs;
    liana_results training; /* measured while the weights changed */
    liana_results validation;
    double learning_rate; /* of the epoch's last update */
    double seconds;       /* of training */
} liana_epoch;

/* Which part of the forward pass is computed twice, to train with batches that would otherwise not fit. Results are
 * bit-identical. */
typedef enum liana_recompute {
    LIANA_RECOMPUTE_NONE,
    LIANA_RECOMPUTE_AUTO, /* nothing if training fits into memory, else the cheapest part that makes it fit */
} liana_recompute;

/* How training is shared out over devices and machines. Zeros are the defaults. */
typedef struct liana_strategy {
    const char *name; /* one of `liana list strategies`; NULL: "one_device" */
} liana_strategy;

/* Zeros are the defaults. Names and options are those of the configuration; `liana list` shows them. */
typedef struct liana_fit_options {
    const liana_dataset *training;
    const liana_dataset *validation; /* NULL: none */
    int64_t epochs;                  /* 0: 1 */
    int64_t steps_per_epoch;         /* 0: every example once (a stream of unknown length is counted first) */
    int64_t batch_size;              /* examples in one update; 0: 32 */
    int64_t microbatch;              /* examples computed together; 0: chosen from the model and batch size */
    /* As in YAML: "Adam" (also for NULL), "{name: SGD, momentum: 0.9, learning_rate: 0.01}". */
    const char *optimizer;
    const char *loss;                       /* NULL: "sparse_categorical_crossentropy" */
    const char *metrics[LIANA_MAX_METRICS]; /* none: "accuracy" */
    liana_strategy strategy;
    /* The model keeps it (liana_model_precision). With `resume`, AUTO is the precision of the checkpoint. */
    liana_precision precision;
    /* With `resume`, AUTO with `memory` 0 is what the checkpoint records. */
    liana_recompute recompute;
    int64_t memory;      /* MiB for training, for LIANA_RECOMPUTE_AUTO; 0: three quarters of what the machine has */
    int64_t data_memory; /* MiB for reading, decoding and batches made ahead; 0: 1024 */
    uint64_t seed;       /* of the data's order and of dropout */
    const char *augment; /* as data.augment in YAML: "[random_flip, ...]"; NULL: none */
    bool keep_order;     /* of the examples; false: another order in each epoch */
    /* A folder for checkpoints, one after each epoch. `resume` goes on from the newest one. NULL: none. */
    const char *checkpoints;
    bool resume;
    int64_t checkpoint_steps; /* also a checkpoint after every this many updates; 0: only after epochs */
    /* Leave out records that cannot be used, in training and validation. Other examples keep their places. false: such
     * a record is an error. With a stream among the stages it is always an error: see liana_dataset_ignore_errors. */
    bool skip_bad_records;
    int64_t max_bad_records;                             /* more bad records end the fit; 0: no limit */
    void (*on_bad_record)(void *user, const char *note); /* called once for each: file, record, reason; may be NULL */
    /* Called with a sentence about each thing that was found or chosen, or looks like a mistake: classes without
     * examples, a warm-up that does not end, moving averages that have hardly moved. May be NULL. */
    void (*on_note)(void *user, const char *note);
    /* Called after each epoch; may be NULL. If it returns false, the fit ends with CANCELLED and keeps the weights. */
    bool (*on_epoch)(void *user, const liana_epoch *epoch);
    void *user;
} liana_fit_options;

/* Trains the model, beginning with its current weights. The same options, data and weights give bit-identical weights
 * on any number of threads. After a failure the weights are what they were before. Errors: those of the data (with file
 * and record), INVALID_CONFIG (a name or option), INVALID_ARGUMENT, OUT_OF_RANGE (training has diverged), CANCELLED,
 * OUT_OF_MEMORY (the message says what would fit). */
LIANA_API LIANA_MUST_USE liana_status liana_fit(liana_model *model, const liana_fit_options *options);

/* Zeros are the defaults, as for liana_fit. */
typedef struct liana_evaluate_options {
    int64_t batch_size;
    const char *loss;
    const char *metrics[LIANA_MAX_METRICS];
} liana_evaluate_options;

/* Measures the model; `options` may be NULL. */
LIANA_API LIANA_MUST_USE liana_status liana_evaluate(liana_model *model, const liana_dataset *dataset,
                                                     const liana_evaluate_options *options, liana_results *results);

/* The model's outputs for each example, in the order of the data: outputs [num_examples, classes]. */
LIANA_API LIANA_MUST_USE liana_status liana_predict(liana_model *model, const liana_dataset *dataset, float *outputs);

/* Writes a folder with model.json (Keras's architecture) and weights.safetensors. The metadata of the weights hold
 * liana_model_preprocessing. */
LIANA_API LIANA_MUST_USE liana_status liana_model_save(liana_model *model, const char *folder);
/* Makes a new model from such a folder (it may be a URL), or from a run folder: its model.json with the newest
 * checkpoint, and what its config.yaml says of images and classes. */
LIANA_API LIANA_MUST_USE liana_status liana_model_load(liana_context *context, const char *folder, liana_model **model);

/* Sets mean, variance and count of a Normalization to those of a component of a dataset, over all its values with the
 * same index along the last axis. Elements may be batches or not. `component` NULL: the name of the model's input that
 * the layer reads. What the model did to the values before this layer is not done: give the values that the layer gets.
 * Errors, in the model's context: INVALID_ARGUMENT (another layer, other channels, a dataset without end), NOT_FOUND (no
 * such component), INVALID_DATA (a value that is not finite), those of the data. */
LIANA_API LIANA_MUST_USE liana_status liana_layer_adapt(liana_layer layer, const liana_dataset *dataset,
                                                        const char *component);

/* Loads weights by layer name, from a Keras HDF5 or a safetensors file. A layer that is missing in the file is an
 * error; with `partial` it keeps its weights (a new head). A layer of another shape is always an error. Both are
 * INVALID_DATA. */
LIANA_API LIANA_MUST_USE liana_status liana_model_load_weights(liana_model *model, const char *path, bool partial);

#ifdef __cplusplus
}
#endif
#endif
