/* Predictions of a training as CSV files. */
#include "train/run/run_internal.h"

#include "base/format.h"
#include "remote/store.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct predictions {
    const liana__run *run;
    const liana__objective *objective;
    const liana__run_options *options; /* may stop it */
    liana__totals totals;
    int64_t batches;
    int64_t steps;
    liana__prediction_columns columns;
    bool of_values;   /* and not of classes */
    const char *path; /* of the file */
    liana__text text;
} predictions;

static void add_prediction(predictions *own, const liana__batch *batch, int64_t index, const float *output, int truth)
{
    float both[2];
    size_t count;
    const float *probabilities = liana__run_probabilities(own->run, output, both, &count);
    const size_t said = liana__run_said_class(own->run, probabilities, count);
    liana__text *text = &own->text;
    liana__add_example_id(batch, index, text);
    if (own->columns == LIANA__PREDICTIONS_SUBMISSION) {
        liana__text_add(text, ",%zu", said);
    } else {
        liana__text_add(text, ",%d,%zu,%.6f", truth, said, liana__shown((double)probabilities[said]));
    }
    liana__text_add(text, "\n");
}

static void add_header(predictions *own)
{
    static const char *const headers[] = {
        [LIANA__PREDICTIONS_SUBMISSION] = "id,label",
        [LIANA__PREDICTIONS_VALIDATION] = "id,label,predicted,confidence",
    };
    if (own->of_values) {
        liana__add_value_header(own->objective, &own->text);
    } else {
        liana__text_add(&own->text, "%s\n", headers[own->columns]);
    }
}

/* Whether to go on. */
static bool report(predictions *own, const liana__batch *batch)
{
    const liana__run_options *options = own->options;
    liana__phase_part("predict");
    if (!options->on_event) return true;
    int64_t epochs = own->run->core.state.epoch;
    liana__fit_event event = {.kind = LIANA__FIT_PREDICTION,
                              .epoch = epochs,
                              .epochs = epochs,
                              .step = ++own->batches,
                              .steps = own->steps,
                              .wait = batch->wait_seconds,
                              .images = own->totals.count,
                              .training = &own->run->core.state.running,
                              .validation = &own->totals};
    return options->on_event(options->user, &event);
}

static liana_status add_batch(void *user, const liana__batch *batch, const float *outputs, liana__error *error)
{
    predictions *own = user;
    const liana__run *run = own->run;
    int64_t row_size = liana__trainer_row_size(run->core.trainer);
    const void *targets = liana__trainer_targets(run->core.trainer, batch, 0);
    for (int64_t i = 0; i < batch->count; i++) {
        const float *output = outputs + i * row_size;
        if (own->of_values) {
            liana__add_value_row(run->core.trainer, batch, i, output, &own->text);
        } else {
            add_prediction(own, batch, i, output, liana__run_true_class(run, targets, i));
        }
    }
    if (own->text.failed) return liana__fail_memory(error, "the predictions");
    if (report(own, batch)) return LIANA_OK;
    return liana__fail(error, LIANA_CANCELLED,
                       "stopped on request while predicting; training is complete, --resume predicts again");
}

static liana_status write_text(void *user, bool is_chief, liana__error *error)
{
    const predictions *own = user;
    return is_chief ? liana__store_replace(own->path, own->text.data, own->text.length, error) : LIANA_OK;
}

liana_status liana__run_predict(liana__run *run, const liana__run_data *data, liana__prediction_columns columns,
                                const char *path, const liana__run_options *options, liana__error *error)
{
    predictions own = {.run = run,
                       .objective = liana__trainer_objective(run->core.trainer),
                       .columns = columns,
                       .options = options,
                       .steps = (int64_t)liana__loader_steps_per_epoch(data->loader, 0)};
    own.of_values = !liana__run_predicts_classes(run);
    add_header(&own);
    liana_status status = liana__evaluate(run->core.trainer, data->loader, 0, &own.totals, add_batch, &own, error);
    liana__cluster *cluster = run->core.cluster;
    status = liana__cluster_agree_status(cluster, status, error);
    own.path = path;
    if (status == LIANA_OK) status = liana__chief_does(cluster, write_text, &own, error);
    liana__text_free(&own.text);
    if (status == LIANA_OK && own.totals.bad_records) {
        liana__run_note(options, "'%s' has no row for %lld of %lld examples, which could not be read",
                        liana__remote_name(path), (long long)own.totals.bad_records,
                        (long long)(own.totals.bad_records + own.totals.count));
    }
    liana__totals_free(&own.totals);
    return status;
}
