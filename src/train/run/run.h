/* run.h - a run: an opened configuration, and the folder that the run writes.
 *
 * A run folder has config.yaml (resolved), model.json (Keras's architecture), history.json, timing.json, checkpoints/,
 * validation_predictions.csv and, if there are test data, test_predictions.csv. With data.on_bad_record: skip,
 * bad_records.csv lists the records that were left out, if any. */
#ifndef LIANA_TRAIN_RUN_H
#define LIANA_TRAIN_RUN_H

#include "data/augment/augment.h"
#include "step/shard_list.h"
#include "train/checkpoint/folder_hold.h"
#include "train/checkpoint/optimizer_state.h"
#include "train/checkpoint/resume.h"
#include "train/config/config.h"
#include "train/job/job.h"
#include "train/job/warnings.h"
#include "train/objective/prediction_rows.h"

#include <liana/dataset.h>

/* An opened part of the data. */
typedef struct liana__run_data {
    liana__source *source; /* NULL: not configured */
    liana__loader *loader;
    liana__augment *augment; /* NULL: no augmentation */
    liana__sampler *sampler; /* NULL: each record once in an epoch */
    liana__data_match match; /* which of its components are which inputs and targets */
    liana__batch_plan plan;
    liana__input_workers workers; /* of a cluster, whose processes read their own examples only */
} liana__run_data;

typedef struct liana__run {
    liana_context *context;
    liana__arena arena;
    liana__config *config; /* the run's own copy, completed from the data and the model */
    const char *folder;    /* NULL: nothing is written; a local one in any case */
    liana__outlet *outlet; /* sends the folder to the bucket that was named; NULL: a local folder was named */
    liana_model *model;
    liana__training core; /* the model compiled, and all that changes while it trains */
    liana__warnings warnings;
    liana__job job;                       /* of the configuration */
    liana__training_length length_before; /* of the run that is in the folder */
    liana__run_data training;
    liana__run_data validation;
    liana__run_data test;
    liana__run_data
        examples; /* the training data once more, each example once (liana__run_open_examples); shares the source */
    liana__strings class_names; /* empty: not known */
    bool numbered;              /* the classes have no names: labels are numbers */
    bool untrained;             /* as in the options */
    int64_t num_classes;
    int64_t image_shape[3];  /* height, width, channels; zeros: the data have no images */
    liana_shape input_shape; /* of an only input, without the batch, where there are no images; rank 0: not known */
    liana_scale scale;
    bool fractions;                 /* pixels of images are floats: resized ones have fractions */
    liana__bad_records bad_records; /* found so far, with data.on_bad_record: skip */
    const double *class_weights;    /* of the loss, by class; NULL: all 1 */
    int64_t num_class_weights;
    const double *drawn; /* training examples of each class in an epoch, about; NULL: the labels were not counted */
    int64_t num_drawn;   /* their number; 0 where drawn is NULL */
    size_t num_backbone_layers;   /* the rest is a new head, which a weight file need not have */
    liana__optimizer_state state; /* of the optimizer in model.file, to go on from */
    const char *weights_file;     /* the local file of model.weights, once it was asked for */
    const char *warm_listing;     /* the matches of a warm start, for the run folder; NULL: there was none */
    liana__remote *remote;        /* the local files of the configuration's URLs */
    struct liana__run_fetch *fetch;
    liana__folder_hold hold; /* of the folder; nothing: this process writes nothing that others see */
} liana__run;

/* The state that a run leaves to the next round of its cluster (distribute/cluster/cluster.h). */
typedef struct liana__handover {
    liana__cluster_round round; /* number 0: there is none */
    bool *absent;               /* its table */
    const char *checkpoint;     /* that the chief has saved for it; NULL: the others did, or nobody yet */
    liana__arena *arena;
} liana__handover;

/* The next round has the checkpoint that was saved for it. NULL: nothing. */
void liana__run_handover_end(liana__handover *handover);

typedef struct liana__run_options {
    const char *folder; /* the run folder; gs:// and s3:// only with `training` */
    /* Of a process that is not the chief of its cluster: the run folder of the chief, whose place it may take. NULL: it
     * never does. */
    const char *chief_folder;
    void (*on_lead)(
        void *user); /* this process has become the chief, and from now on reports all events; may be NULL */
    bool training;   /* open all data and make the optimizer */
    bool unprepared; /* with training: compile no step (liana__trainer_prepare does), and say nothing of its memory */
    bool validation; /* open the validation data, which must exist */
    bool by_class;   /* measure each class, too (liana__objective_request.by_class) */
    /* Not with training or validation: the model gives the results of this layer (liana__model_give_results), and its
     * losses and metrics are forgotten. NULL: its outputs. */
    const char *layer;
    bool untrained; /* no run has trained the model: an architecture's own classifier is ImageNet's */
    bool resume;    /* with training: resume from the newest undamaged checkpoint, if there is one */
    /* With training: resume from this one (liana__checkpoint_find); newer ones of the folder are set aside. NULL:
     * none. */
    const char *resume_from;
    /* Of a cluster that takes in processes that come later: the state for its next round, and that of the round before.
     * NULL: such processes are refused. */
    liana__handover *handover;
    bool allow_changed; /* a resume with other settings or data, where the state still fits, is told and not refused */
    /* Called for events; see liana__progress_options. May be NULL. */
    bool (*on_event)(void *user, const liana__fit_event *event);
    /* Called a few times a second while remote files are fetched. True ends the fetch with CANCELLED. May be NULL. */
    bool (*stop)(void *user);
    /* Called with a sentence about a finding or a choice ("1,605 training examples ..."). May be NULL. */
    void (*on_note)(void *user, const char *note);
    /* Called for each record that is left out, with data.on_bad_record: skip. NULL: on_note is called instead. */
    void (*on_bad_record)(void *user, const char *note);
    void *user;
} liana__run_options;

/* Opens the data, builds the model, loads weights and compiles; all errors in a configuration are found here. For
 * training, weights come from model.weights or, on a resume, from a checkpoint; otherwise liana__run_load loads them.
 * run->config is completed with number and names of the classes, shape and scale of the images, and shard size. Values
 * that are there already (as in a run's config.yaml) are not looked for again, so only training needs the training
 * data. The configuration's strings and the context must outlive the run. */
liana_status liana__run_open(liana_context *context, const liana__config *config, const liana__run_options *options,
                             liana__run *run, liana__error *error) LIANA_MUST_USE;
/* The same up to the model: no device, no weights. Data are only opened if the model's shape needs them. */
liana_status liana__run_open_model(liana_context *context, const liana__config *config,
                                   const liana__run_options *options, liana__run *run, liana__error *error)
    LIANA_MUST_USE;
void liana__run_close(liana__run *run);

/* The values that a run of this configuration reports, without compiling it: objective->value_names. For a run that
 * liana__run_open_model has opened with `training`. Errors: those of matching data and model, and of losses and
 * metrics. */
liana_status liana__run_list_values(liana__run *run, const liana__objective **objective, liana__error *error)
    LIANA_MUST_USE;

/* Trains to the end, and writes all files of the run folder. */
liana_status liana__run_train(liana__run *run, const liana__run_options *options, liana__error *error) LIANA_MUST_USE;

/* Loads a checkpoint of a run folder into the run's variables: the newest one, or `checkpoint`, a path or a name in the
 * folder's `checkpoints`. *loaded (may be NULL) is its path. Errors: NOT_FOUND if there is none; those of
 * liana__checkpoint_load. */
liana_status liana__run_load(liana__run *run, const char *folder, const char *checkpoint, const char **loaded,
                             liana__error *error) LIANA_MUST_USE;

/* Loads model.weights into the run's variables; without such a key nothing happens. Training does it when the run is
 * opened. `options` (may be NULL) are told. Errors: those of liana__weights_load. */
liana_status liana__run_load_weights(liana__run *run, const liana__run_options *options, liana__error *error)
    LIANA_MUST_USE;

/* Starts from the weights of model.warm_start, after model.weights; without it nothing happens. Errors: those of
 * liana__warm_start_read. */
liana_status liana__run_warm_start(liana__run *run, const liana__run_options *options, liana__error *error)
    LIANA_MUST_USE;

/* The names of the classes of an output, in the order of their numbers: those of the label, of the category column that
 * is its target, or the columns that are, one for each sigmoid. Empty: not known. */
liana__strings liana__run_output_names(const liana__run *run, size_t output);

/* The classes of an output of the run's model. */
liana__output_classes liana__run_output_classes(const liana__run *run, size_t output);

/* Whether an only output says which class each example is: by a probability for each, or by one sigmoid, which is the
 * probability of the second of two classes. */
bool liana__run_predicts_classes(const liana__run *run);
/* The probabilities of the classes in a row of outputs, in `both` where the row has only the second's. Returns their
 * number in *count. */
const float *liana__run_probabilities(const liana__run *run, const float *output, float both[2], size_t *count);
/* Which class they say: the likeliest, the first of equals; of a sigmoid the second above train.threshold. */
size_t liana__run_said_class(const liana__run *run, const float *probabilities, size_t count);

/* The true class of an example of a batch, by the targets of the only output; -1: NULL, they are not known. */
int liana__run_true_class(const liana__run *run, const void *targets, int64_t index);

/* The columns of a predictions file. */
typedef enum liana__prediction_columns {
    LIANA__PREDICTIONS_SUBMISSION, /* id,label */
    LIANA__PREDICTIONS_VALIDATION, /* id,label,predicted,confidence */
} liana__prediction_columns;

/* Predicts all of `data` of a training into a CSV file (RFC 4180), in the order of the data. Examples without an id are
 * named by their number. Examples that cannot be read have no row, which `options` are told. They are called for each
 * batch, and may stop: CANCELLED, no file. */
liana_status liana__run_predict(liana__run *run, const liana__run_data *data, liana__prediction_columns columns,
                                const char *path, const liana__run_options *options, liana__error *error)
    LIANA_MUST_USE;

/* Writes the results of the layer that the run was opened with (liana__run_options.layer) for all of `data`. A path
 * that ends in .npy: one array of numpy for each result, [examples, ...], the second one in PATH_1.npy and so on, and
 * the ids in PATH.ids.csv. Else CSV, with a column for each value, in row-major order. Memory does not depend on the
 * number of examples. Examples that cannot be read have no row. */
liana_status liana__run_write_features(liana__run *run, const liana__run_data *data, const char *path,
                                       liana__measured *measured, liana__error *error) LIANA_MUST_USE;
/* The file of the ids beside an array, in the arena. NULL: `path` is no .npy, or out of memory. */
const char *liana__features_ids(const char *path, liana__arena *arena);

/* Opens data for prediction: patterns, a folder or IDX images; the first data.take examples. Labels are not read. */
liana_status liana__run_open_data(liana__run *run, const liana__source_config *where, liana__run_data *data,
                                  liana__error *error) LIANA_MUST_USE;
/* Opens data.test of a run without training, which has it already; without a loader. Labels are not read. */
liana_status liana__run_open_test(liana__run *run, liana__error *error) LIANA_MUST_USE;
/* Starts the loader of a part, for looking at the data of a run that liana__run_open_model has opened: its batches come
 * as in training, with sampling and augmentation, and have what the data have: `image`, `label`, and each component
 * that is no text, in its own dtype. A smaller last batch is kept, nothing is cached. Errors: those of the loader;
 * INVALID_DATA (texts alone). */
liana_status liana__run_open_batches(liana__run *run, liana__run_data *part, liana__error *error) LIANA_MUST_USE;
void liana__run_close_data(liana__run_data *data);

/* The keys that may differ between processes or when a run goes on, those of the job too, one by one. False: no
 * more. */
bool liana__run_key(size_t index, liana__job_key *key);
/* Whether a run that goes on may change this dotted key of the configuration, and whether it may differ between the
 * processes of a cluster: as the key itself or the section above it says. */
liana__job_key liana__run_key_rule(const char *key);

#endif
