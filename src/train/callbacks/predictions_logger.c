/* PredictionsLogger: the predictions of the model for each validation example, and for each training example if wanted,
 * in a file for each epoch. A file is written as a whole, when all is predicted; a stopped prediction is repeated when
 * the training goes on. */
#include "train/callbacks/callback.h"
#include "train/objective/prediction_rows.h"

#include <stdio.h>

typedef struct logger_options {
    const char *folder;
    bool training;
} logger_options;

typedef struct logger {
    liana__text rows;
    bool validating; /* the epoch's own validation, and not one that another callback asked for */
} logger;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(logger_options, folder, STRING, .default_text = "predictions",
                     .doc =
                         "The folder of the files, epoch-0001-validation.csv and so on; a relative name is in the run "
                         "folder, of C programs in the current folder."),
    LIANA_OPTION_ROW(logger_options, training, BOOL, .default_text = "false",
                     .doc = "Whether to predict the training examples as well after each epoch, without augmentation: "
                            "epoch-0001-training.csv."),
};

static liana_status check(liana_check *check)
{
    const logger_options *options = check->options;
    if (options->folder && *options->folder) return LIANA_OK;
    return liana_option_refuse(check, NULL, "the folder is empty, expected the name of a folder");
}

/* Without validation data it would write nothing. */
static liana_status train_begin(liana_callback_item *item, liana_fit_context *context)
{
    const logger_options *options = item->options;
    if (context->validates || options->training) return LIANA_OK;
    return liana__fail(context->error, LIANA_INVALID_CONFIG,
                       "there are no validation data whose predictions could be written; give some, or "
                       "training: true, or remove it");
}

static void destroy(liana_callback_item *item)
{
    logger *own = item->self;
    liana__text_free(&own->rows);
}

static liana_status validation_begin(liana_callback_item *item, liana_fit_context *context)
{
    logger *own = item->self;
    own->rows.length = 0;
    own->validating = true;
    context->wants_outputs = true;
    liana__add_prediction_header(context->training->objective, &own->rows);
    return own->rows.failed ? liana__fail_memory(context->error, "the predictions") : LIANA_OK;
}

static liana_status validation_step(liana_callback_item *item, liana_fit_context *context)
{
    logger *own = item->self;
    if (!own->validating || !context->outputs) return LIANA_OK;
    liana__add_prediction_rows(context->training->trainer, context->batch, context->outputs, &own->rows);
    return own->rows.failed ? liana__fail_memory(context->error, "the predictions") : LIANA_OK;
}

static liana_status write_rows(const liana_callback_item *item, const liana_fit_context *context, const char *part)
{
    const logger_options *options = item->options;
    return liana__fit_write_epoch(context, options->folder, part, &((const logger *)item->self)->rows);
}

static liana_status validation_end(liana_callback_item *item, liana_fit_context *context)
{
    ((logger *)item->self)->validating = false;
    return write_rows(item, context, "validation");
}

/* Where rows of training examples go. */
typedef struct destination {
    const liana__trainer *trainer;
    liana__text *rows;
} destination;

static liana_status add_rows(void *user, const liana__batch *batch, const float *outputs, liana__error *error)
{
    const destination *own = user;
    liana__add_prediction_rows(own->trainer, batch, outputs, own->rows);
    return own->rows->failed ? liana__fail_memory(error, "the predictions") : LIANA_OK;
}

static liana_status epoch_end(liana_callback_item *item, liana_fit_context *context)
{
    const logger_options *options = item->options;
    logger *own = item->self;
    if (!options->training) return LIANA_OK;
    own->rows.length = 0;
    liana__add_prediction_header(context->training->objective, &own->rows);
    destination rows = {context->training->trainer, &own->rows};
    LIANA_TRY(liana__fit_predict_training(context, add_rows, &rows, context->error));
    return write_rows(item, context, "training");
}

const liana_callback_type liana__callback_PredictionsLogger = {
    LIANA_PART(CALLBACK, liana_callback_type, "PredictionsLogger",
               "Writes what the model predicts for each validation example, in a file for each epoch.",
               LIANA_PART_OPTIONS(logger_options, fields), .check = check),
    .self_size = sizeof(logger),
    .close = destroy,
    .on = {[LIANA_ON_TRAIN_BEGIN] = train_begin,
           [LIANA_ON_VALIDATION_BEGIN] = validation_begin,
           [LIANA_ON_VALIDATION_STEP] = validation_step,
           [LIANA_ON_VALIDATION_END] = validation_end,
           [LIANA_ON_EPOCH_END] = epoch_end},
};
