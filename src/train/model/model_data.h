/* model_data.h - datasets as inputs of a model: the components that it takes, the way from images to its input, and the
 * division of one dataset into training and validation data. For fit, evaluate and predict.
 *
 * The order of calls: set `model`, sizes, `seed` and `bytes`; find_preprocessing; open_fit or open_measured, which
 * finds `match`; compile the model for it; start_fit or start_measured, which makes the loaders; close. */
#ifndef LIANA_TRAIN_MODEL_DATA_H
#define LIANA_TRAIN_MODEL_DATA_H

#include "data/augment/augment.h"
#include "data/dataset/dataset.h"
#include "layers/model.h"
#include "step/shard_list.h"
#include "train/objective/batch_components.h"

#include <liana/train.h>

enum { LIANA__DEFAULT_BATCH_SIZE = 32 };

/* A dataset as a training reads it. */
typedef struct liana__data_part {
    liana__source *source;
    liana__loader *loader;
    liana__batch_plan plan;
} liana__data_part;

/* The data of one call. */
typedef struct liana__model_data {
    liana_model *model;
    int64_t batch_size;
    int64_t evaluation_batch_size; /* of validations, evaluations and predictions */
    uint64_t seed;
    size_t bytes; /* that reading, decoding and batches made ahead may take */
    liana__arena arena;
    bool antialias, fast_decode, round;
    bool fractions; /* pixels are floats (liana__trainer_options.fractions); known once the data are open */
    liana_scale scale;
    bool assumes_scale; /* nobody says it */
    bool skips_bad_records;
    liana__bad_records bad_records;
    liana__data_part fitted, measured;
    liana__data_part examples;    /* the training data once more, each example once; shares the source of `fitted` */
    liana__data_match match;      /* of the data that it is fitted to, or that are measured */
    liana__source *whole;         /* the data that these two are parts of; NULL: they are not divided */
    liana__augment *augment;      /* NULL: none */
    liana__input_workers workers; /* count 0: this process is alone */
} liana__model_data;

/* `bytes` of MiB as public options give them; 0: the default. */
size_t liana__model_data_bytes(int64_t mebibytes);

/* How images enter the model: as it was trained, or, in training, as the data say. Errors: INVALID_ARGUMENT if data to
 * measure are opened with another scale. */
liana_status liana__model_data_find_preprocessing(liana__model_data *own, const liana_dataset *data, bool training,
                                                  liana__error *error) LIANA_MUST_USE;
/* After a fit the model knows the facts of its training data. Of data that do not name their classes, or have another
 * number of them, it learns none. */
liana_status liana__model_data_learn(const liana__model_data *own, const liana_dataset *data, int64_t num_classes,
                                     liana__error *error) LIANA_MUST_USE;

/* Opens the training data, reads `augment`, and divides the data if the options say so. */
liana_status liana__model_data_open_fit(liana__model_data *own, const liana_fit_options *options, liana__error *error)
    LIANA_MUST_USE;
/* Makes the loaders of training and validation data. */
liana_status liana__model_data_start_fit(liana__model_data *own, const liana_fit_options *options,
                                         const liana__trainer *trainer, liana__error *error) LIANA_MUST_USE;

/* A loader of the training data without augmentation, in order and each example once; made when it is asked for the
 * first time. It is closed with the data. */
liana_status liana__model_data_start_examples(liana__model_data *own, const liana_dataset *data,
                                              const liana__trainer *trainer, liana__loader **loader,
                                              liana__error *error) LIANA_MUST_USE;

/* The same for data that are measured only. `wants_targets` is false for predictions: targets of the data are then left
 * out. */
liana_status liana__model_data_open_measured(liana__model_data *own, const liana_dataset *data,
                                             const liana_evaluate_options *options, bool wants_targets,
                                             liana__error *error) LIANA_MUST_USE;
liana_status liana__model_data_start_measured(liana__model_data *own, const liana_dataset *data,
                                              const liana__trainer *trainer, liana__error *error) LIANA_MUST_USE;

void liana__model_data_close(liana__model_data *own);

/* ---- model classes ---- */

/* Checks that labelled data use the same class numbers as a model, or as other data. A model's classes are in its
 * preprocessing. */

/* Whether data name their classes, and the classes' names; none if they are numbers. */
bool liana__classes_of(const liana_dataset *dataset, liana__strings *names);

/* Checks that validation data use the same class numbers as the training data, as far as both say it. INVALID_ARGUMENT
 * shows both. */
liana_status liana__classes_check_validation(const liana_dataset *training, const liana_dataset *validation,
                                             liana__error *error) LIANA_MUST_USE;
/* The same for data that a model is fitted to or evaluated on. */
liana_status liana__classes_check_model(const liana_model *model, const liana_dataset *dataset, liana__error *error)
    LIANA_MUST_USE;

#endif
