/* train.h - fit, evaluate, predict; save and load.
 *
 *     liana_dataset *training, *test;
 *     liana_dataset_open(context, "mnist/train-images-idx3-ubyte.gz", NULL, &training);
 *     liana_fit(model, &(liana_fit_options){.training = training, .epochs = 5, .batch_size = 128});
 *     liana_evaluate(model, test, NULL, &results);
 *     liana_model_save(model, "mnist-model");
 *
 * Data that are opened without a scale are scaled as the model knows it, and resized as it was trained.
 *
 * A model's input is [height, width, channels] of images and its output [classes]. Its weights start as its
 * initialisers say, and are kept with it from then on. Messages of failures are the context's. */
#ifndef LIANA_TRAIN_H
#define LIANA_TRAIN_H

#include <liana/dataset.h>
#include <liana/model.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LIANA_MAX_METRICS = 8 };

/* Means over examples. */
typedef struct liana_results {
    int64_t num_examples; /* 0: there was nothing to measure */
    double loss;
    double metrics[LIANA_MAX_METRICS]; /* in the order in which they were asked for */
    int64_t bad_records;               /* that were left out */
} liana_results;

typedef struct liana_epoch {
    int64_t epoch; /* from 1 */
    int64_t epochs;
    liana_results training; /* while the weights were changing */
    liana_results validation;
    double learning_rate; /* of the epoch's last update */
    double seconds;       /* of training */
} liana_epoch;

/* What of the forward pass is computed twice, to train with batches that would not fit otherwise. It changes no bit of
 * any result. */
typedef enum liana_recompute {
    LIANA_RECOMPUTE_NONE,
    LIANA_RECOMPUTE_AUTO, /* nothing if training fits in memory, else what makes it fit at the least cost */
} liana_recompute;

/* How training is shared out over devices and machines. Zeros are the defaults. */
typedef struct liana_strategy {
    const char *name; /* one of `liana list strategies`; NULL: "one_device" */
} liana_strategy;

/* Zeros are the defaults. Names and options are those of the configuration: `liana list`. */
typedef struct liana_fit_options {
    const liana_dataset *training;
    const liana_dataset *validation; /* NULL: none */
    int64_t epochs;                  /* 0: 1 */
    int64_t steps_per_epoch;         /* 0: every example once; a stream of unknown length is then counted before */
    int64_t batch_size;              /* examples of an update; 0: 32 */
    int64_t microbatch;              /* examples that are computed together; 0: chosen from the model */
    /* As in YAML: "Adam" (also for NULL), "{name: SGD, momentum: 0.9, learning_rate: 0.01}". */
    const char *optimizer;
    const char *loss;                       /* NULL: "sparse_categorical_crossentropy" */
    const char *metrics[LIANA_MAX_METRICS]; /* none: "accuracy" */
    liana_strategy strategy;
    /* The model's from then on (liana_model_precision). With `resume`, AUTO is what the checkpoint was trained in. */
    liana_precision precision;
    /* With `resume`, AUTO without a number is what the checkpoint records. */
    liana_recompute recompute;
    int64_t memory;      /* MiB that training may take, for LIANA_RECOMPUTE_AUTO; 0: three quarters of what there is */
    int64_t data_memory; /* MiB that reading, decoding and batches made ahead may take; 0: 1024 */
    uint64_t seed;       /* of the order of the data and of dropout */
    const char *augment; /* as data.augment in YAML: "[random_flip, ...]"; NULL: none */
    bool keep_order;     /* of the examples, instead of another one in each epoch */
    /* A folder for a checkpoint after each epoch, from the newest of which `resume` goes on; NULL: none. */
    const char *checkpoints;
    bool resume;
    int64_t checkpoint_steps; /* one after every so many updates too; 0: after epochs only */
    /* A record that cannot be used is left out, in training and validation, and shifts nothing; false: it is an error.
     * Of data with a stream among their stages it stays one: see liana_dataset_ignore_errors. */
    bool skip_bad_records;
    int64_t max_bad_records;                             /* more of them end the fit; 0: no limit */
    void (*on_bad_record)(void *user, const char *note); /* told of each once: file, record, why; may be NULL */
    /* Told what was found or chosen, and what looks like a mistake, a sentence each: classes without examples, a
     * warm-up that does not end, moving averages that have hardly moved. May be NULL. */
    void (*on_note)(void *user, const char *note);
    /* Called after each epoch; may be NULL. Returning false ends the fit: CANCELLED, the weights are kept. */
    bool (*on_epoch)(void *user, const liana_epoch *epoch);
    void *user;
} liana_fit_options;

/* Trains the model from the weights that it has. The model keeps what was compiled: another fit with the same options
 * (data, epochs and callbacks may differ) compiles nothing, and goes on with the optimizer's slots, the count of
 * updates and the schedule, as if both had been one longer fit. After a change of the model or of the options the
 * optimizer begins anew. The same options, data and weights give the same weights, bit for bit, on any number of
 * threads. After a failure the weights are what they were before. Errors: those of the data (by file and record),
 * INVALID_CONFIG (a name or option), INVALID_ARGUMENT, OUT_OF_RANGE (training has diverged), CANCELLED, OUT_OF_MEMORY
 * (the message says what would fit). */
LIANA_API LIANA_MUST_USE liana_status liana_fit(liana_model *model, const liana_fit_options *options);

/* Zeros are the defaults, as above. */
typedef struct liana_evaluate_options {
    int64_t batch_size;
    const char *loss;
    const char *metrics[LIANA_MAX_METRICS];
} liana_evaluate_options;

/* Measures the model; `options` may be NULL. */
LIANA_API LIANA_MUST_USE liana_status liana_evaluate(liana_model *model, const liana_dataset *dataset,
                                                     const liana_evaluate_options *options, liana_results *results);

/* What the model gives for each example, in the order of the data: outputs [num_examples, classes]. */
LIANA_API LIANA_MUST_USE liana_status liana_predict(liana_model *model, const liana_dataset *dataset, float *outputs);

/* Writes a folder with model.json (Keras's architecture) and weights.safetensors, whose metadata hold what the model
 * knows of its images and classes (liana_model_preprocessing). */
LIANA_API LIANA_MUST_USE liana_status liana_model_save(liana_model *model, const char *folder);
/* Reads such a folder, which may be a URL, or a run folder's model.json with its newest checkpoint, into a new model.
 * What a run's config.yaml says of images and classes is the model's too. */
LIANA_API LIANA_MUST_USE liana_status liana_model_load(liana_context *context, const char *folder, liana_model **model);

/* Loads weights by layer name from a Keras HDF5 or a safetensors file. With `partial`, layers that the file lacks (a
 * new head) keep theirs; otherwise they are INVALID_DATA, as are layers of another shape. */
LIANA_API LIANA_MUST_USE liana_status liana_model_load_weights(liana_model *model, const char *path, bool partial);

#ifdef __cplusplus
}
#endif
#endif
