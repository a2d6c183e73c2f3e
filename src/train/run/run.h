/* run.h - a run: what a configuration describes, opened and ready, and the folder that it leaves behind.
 *
 * A run folder holds config.yaml (resolved), model.json (Keras's architecture), history.json, timing.json,
 * checkpoints/, validation_predictions.csv and, where there is test data, test_predictions.csv. With
 * data.on_bad_record: skip, bad_records.csv lists what was left out, if anything was. */
#ifndef LIANA_TRAIN_RUN_H
#define LIANA_TRAIN_RUN_H

#include "data/augment/augment.h"
#include "train/checkpoint/resume.h"
#include "train/config/config.h"
#include "train/core/fit.h"
#include "train/core/warnings.h"

#include <liana/dataset.h>

/* A part of the data, opened. */
typedef struct liana__run_data {
    liana__source *source; /* NULL: not configured */
    liana__loader *loader;
    liana__augment *augment; /* NULL: images stay as they are */
    liana__augmenter stage;  /* ... which is this one of the loader's */
    liana__mixer mixer;      /* and this, where examples are mixed */
    liana__sampler *sampler; /* NULL: each record once in an epoch */
} liana__run_data;

typedef struct liana__run {
    liana_context *context;
    liana__arena arena;
    liana__config *config; /* the run's own copy, in which what was left open is filled in as it is found */
    const char *folder;    /* NULL: nothing is written */
    liana_model *model;
    liana__training core; /* the model compiled, and all that changes while it trains */
    liana__warnings warnings;
    liana__run_data training;
    liana__run_data validation;
    liana__run_data test;
    liana__strings class_names; /* empty: not known */
    bool numbered;              /* the classes have no names: labels are numbers */
    int64_t num_classes;
    int64_t image_shape[3]; /* height, width, channels */
    liana_scale scale;
    liana__bad_records bad_records; /* met so far, with data.on_bad_record: skip */
    const double *class_weights;    /* of the loss, by class; NULL: all 1 */
    size_t num_backbone_layers;     /* the rest is a new head, which a weight file need not have */
    liana__remote *remote;          /* where URLs of the configuration are local files */
    struct liana__run_fetch *fetch;
    bool locked; /* the folder, by `lock` */
    int lock;
} liana__run;

typedef struct liana__run_options {
    const char *folder;
    bool training;   /* open all data and make the optimizer */
    bool validation; /* open the validation data, which must be there */
    bool resume;     /* with training: go on from the newest checkpoint that is whole, if there is one */
    /* What happens; see liana__fit_options. May be NULL. */
    bool (*on_event)(void *user, const liana__fit_event *event);
    /* Asked a few times a second while remote files are fetched: true ends it with CANCELLED. May be NULL. */
    bool (*stop)(void *user);
    /* A sentence about what was found or chosen ("1,605 training examples ..."). May be NULL. */
    void (*on_note)(void *user, const char *note);
    /* What of the data was left out, with data.on_bad_record: skip. NULL: on_note is told. */
    void (*on_bad_record)(void *user, const char *note);
    void *user;
} liana__run_options;

/* Opens data, builds the model, loads weights and compiles; everything that can be wrong is found here. For training,
 * weights come from model.weights or, resuming, from a checkpoint; otherwise liana__run_load brings them. Number and
 * names of the classes, shape and scale of the images and the shard size are completed in run->config; what stands
 * there already (as in the config.yaml of a run) is not looked for again, so that only training needs the training
 * data. The configuration's strings and the context must outlive the run. */
liana_status liana__run_open(liana_context *context, const liana__config *config, const liana__run_options *options,
                             liana__run *run, liana__error *error) LIANA_MUST_USE;
/* The same up to the model: no device, no weights. Data are opened only if the model's shape cannot be known without
 * them. */
liana_status liana__run_open_model(liana_context *context, const liana__config *config,
                                   const liana__run_options *options, liana__run *run, liana__error *error)
    LIANA_MUST_USE;
void liana__run_close(liana__run *run);

/* Trains to the end and writes everything that a run folder holds. */
liana_status liana__run_train(liana__run *run, const liana__run_options *options, liana__error *error) LIANA_MUST_USE;

/* Loads a checkpoint of a run folder into the run's variables: the newest, or `checkpoint`, a path or a name in the
 * folder's `checkpoints`. *loaded (may be NULL) is its path. Errors: NOT_FOUND if there is none; those of
 * liana__checkpoint_load. */
liana_status liana__run_load(liana__run *run, const char *folder, const char *checkpoint, const char **loaded,
                             liana__error *error) LIANA_MUST_USE;

/* What a predictions file holds. */
typedef enum liana__prediction_columns {
    LIANA__PREDICTIONS_SUBMISSION, /* id,label */
    LIANA__PREDICTIONS_FULL,       /* id,label,class,confidence */
    LIANA__PREDICTIONS_VALIDATION, /* id,label,predicted,confidence */
} liana__prediction_columns;

/* Predicts all of `data` into a CSV file (RFC 4180), in the order of the data. Examples without an id are called by
 * their number; those that cannot be read have no row. *totals (may be NULL) says how many there are of both. `options`
 * (NULL: nobody) is told of each batch and may stop it: CANCELLED, no file. */
liana_status liana__run_predict(liana__run *run, const liana__run_data *data, liana__prediction_columns columns,
                                const char *path, const liana__run_options *options, liana__totals *totals,
                                liana__error *error) LIANA_MUST_USE;

/* Opens data for prediction: patterns, a folder or IDX images. Labels are not looked at. */
liana_status liana__run_open_data(liana__run *run, const liana__source_config *where, liana__run_data *data,
                                  liana__error *error) LIANA_MUST_USE;
void liana__run_close_data(liana__run_data *data);

#endif
