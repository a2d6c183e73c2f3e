/* ConfusionMatrixLogger: the confusion matrix of each epoch, in a file. It writes the counts of the metric
 * confusion_matrix, whatever that metric divides its numbers by: counts can be divided later. */
#include "base/scoped.h"
#include "train/callbacks/callback.h"

#include <stdio.h>
#include <string.h>

typedef struct logger_options {
    const char *folder;
} logger_options;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(logger_options, folder, STRING, .default_text = "confusion",
                     .doc = "The folder of the files, epoch-0001-validation.csv, epoch-0001-training.csv and so on; a "
                            "relative name is in the run folder, of C programs in the current folder."),
};

static liana_status check(liana_check *check)
{
    const logger_options *options = check->options;
    if (options->folder && *options->folder) return LIANA_OK;
    return liana_option_refuse(check, NULL, "the folder is empty, expected the name of a folder");
}

/* The first metric that is a confusion matrix; NULL: missing. */
static const liana__objective_metric *find_matrix(const liana__objective *objective)
{
    for (size_t i = 0; i < objective->num_metrics; i++) {
        if (objective->metrics[i].choice.metric->is_matrix) return &objective->metrics[i];
    }
    return NULL;
}

static liana_status train_begin(liana_callback_item *item, liana_fit_context *context)
{
    (void)item;
    if (find_matrix(context->training->objective)) return LIANA_OK;
    return liana__fail(
        context->error, LIANA_INVALID_CONFIG,
        "the training does not measure confusion_matrix; add it to the metrics, or remove this callback");
}

/* A row for each true class, a column for each predicted one. */
static liana_status write_matrix(const liana_callback_item *item, const liana_fit_context *context,
                                 const liana__totals *totals, const char *part)
{
    if (!totals || totals->count == 0) return LIANA_OK;
    const logger_options *options = item->options;
    const liana__objective_metric *metric = find_matrix(totals->objective);
    const double *counts = totals->sums + metric->first_sum;
    const int64_t classes = liana__metric_num_rows(metric);
    LIANA__SCOPED(liana__text) text = {0};
    liana__text_add(&text, "true\\predicted");
    for (int64_t k = 0; k < classes; k++) liana__text_add(&text, ",%lld", (long long)k);
    for (int64_t row = 0; row < classes; row++) {
        liana__text_add(&text, "\n%lld", (long long)row);
        for (int64_t k = 0; k < classes; k++) liana__text_add(&text, ",%.10g", counts[row * classes + k]);
    }
    liana__text_add(&text, "\n");
    return liana__fit_write_epoch(context, options->folder, part, &text);
}

static liana_status epoch_end(liana_callback_item *item, liana_fit_context *context)
{
    LIANA_TRY(write_matrix(item, context, context->totals, "training"));
    return write_matrix(item, context, context->validation, "validation");
}

const liana_callback_type liana__callback_ConfusionMatrixLogger = {
    LIANA_PART(CALLBACK, liana_callback_type, "ConfusionMatrixLogger",
               "Writes the confusion matrix of each epoch, of training and validation, as numbers of examples.",
               LIANA_PART_OPTIONS(logger_options, fields), .check = check),
    .on = {[LIANA_ON_TRAIN_BEGIN] = train_begin, [LIANA_ON_EPOCH_END] = epoch_end},
};
