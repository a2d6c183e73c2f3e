/* Predictions as CSV files. */
#include "train/run/run_internal.h"

#include "formats/csv.h"
#include "remote/store.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct predictions {
    const liana__run *run;
    liana__strings class_names;
    const liana__run_options *options; /* who may stop it; NULL: nobody */
    liana__totals totals;
    int64_t batches;
    int64_t steps;
    liana__prediction_columns columns;
    bool of_values; /* and not of classes */
    liana__text text;
} predictions;

static void add_class(const predictions *own, liana__text *text, int64_t label)
{
    if (label >= 0 && (size_t)label < own->class_names.count) liana__csv_add(text, own->class_names.items[label]);
}

static void add_id(const liana__batch *batch, int64_t index, liana__text *text)
{
    if (batch->ids[index]) {
        liana__csv_add(text, batch->ids[index]);
    } else {
        liana__text_add(text, "%llu", (unsigned long long)batch->records[index]);
    }
}

/* Whether the model says which class each example is, and nothing else. */
static bool are_classes(const liana__run *run)
{
    const liana__objective *objective = liana__trainer_objective(run->core.trainer);
    const liana__objective_output *output = &objective->outputs[0];
    return objective->num_outputs == 1 && output->shape.rank == 2 && output->target == LIANA__TARGET_CLASSES;
}

/* Of other models, all values that they predict: a column for each, called as the output is. */
static void add_value_header(const liana__run *run, liana__text *text)
{
    const liana__objective *objective = liana__trainer_objective(run->core.trainer);
    liana__text_add(text, "id");
    for (size_t i = 0; i < objective->num_outputs; i++) {
        const liana__objective_output *output = &objective->outputs[i];
        int64_t count = liana_shape_size(&output->shape);
        for (int64_t k = 0; k < count; k++) {
            char name[320];
            snprintf(name, sizeof name, count > 1 ? "%.256s_%lld" : "%.256s", output->name, (long long)k);
            liana__text_add(text, ",");
            liana__csv_add(text, name);
        }
    }
    liana__text_add(text, "\n");
}

static void add_values(predictions *own, const liana__batch *batch, int64_t index, const float *output)
{
    int64_t count = liana__trainer_row_size(own->run->core.trainer);
    add_id(batch, index, &own->text);
    for (int64_t i = 0; i < count; i++) liana__text_add(&own->text, ",%.9g", (double)output[i]);
    liana__text_add(&own->text, "\n");
}

static void add_prediction(predictions *own, const liana__batch *batch, int64_t index, const float *output,
                           const int32_t *truth)
{
    int64_t num_classes = liana__trainer_num_classes(own->run->core.trainer), best = 0;
    for (int64_t i = 1; i < num_classes; i++) {
        if (output[i] > output[best]) best = i;
    }
    liana__text *text = &own->text;
    add_id(batch, index, text);
    switch (own->columns) {
    case LIANA__PREDICTIONS_SUBMISSION: liana__text_add(text, ",%lld\n", (long long)best); return;
    case LIANA__PREDICTIONS_FULL:
        liana__text_add(text, ",%lld,", (long long)best);
        add_class(own, text, best);
        liana__text_add(text, ",%.6f\n", (double)output[best]);
        return;
    case LIANA__PREDICTIONS_VALIDATION:
        liana__text_add(text, ",%d,%lld,%.6f\n", truth ? truth[index] : -1, (long long)best, (double)output[best]);
        return;
    }
}

/* Whether to go on. */
static bool report(predictions *own, const liana__batch *batch)
{
    const liana__run_options *options = own->options;
    if (!options || !options->on_event) return true;
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
    int64_t row_size = liana__trainer_row_size(own->run->core.trainer);
    const liana__trainer_batch data = liana__trainer_batch_of(own->run->core.trainer, batch);
    for (int64_t i = 0; i < batch->count; i++) {
        const float *output = outputs + i * row_size;
        if (own->of_values) add_values(own, batch, i, output);
        if (!own->of_values) add_prediction(own, batch, i, output, data.targets[0]);
    }
    if (own->text.failed) return liana__fail_memory(error, "the predictions");
    if (report(own, batch)) return LIANA_OK;
    return liana__fail(error, LIANA_CANCELLED,
                       "stopped on request while predicting; training is complete, --resume predicts again");
}

liana_status liana__run_predict(liana__run *run, const liana__run_data *data, liana__prediction_columns columns,
                                const char *path, const liana__run_options *options, liana__measured *measured,
                                liana__error *error)
{
    static const char *const headers[] = {
        [LIANA__PREDICTIONS_SUBMISSION] = "id,label\n",
        [LIANA__PREDICTIONS_FULL] = "id,label,class,confidence\n",
        [LIANA__PREDICTIONS_VALIDATION] = "id,label,predicted,confidence\n",
    };
    predictions own = {.run = run,
                       .class_names = liana__run_output_names(run, 0),
                       .columns = columns,
                       .options = options,
                       .steps = (int64_t)liana__loader_steps_per_epoch(data->loader, 0)};
    own.of_values = !are_classes(run);
    if (own.of_values) {
        add_value_header(run, &own.text);
    } else {
        liana__text_add(&own.text, "%s", headers[columns]);
    }
    liana_status status = liana__evaluate(run->core.trainer, data->loader, 0, &own.totals, add_batch, &own, error);
    if (status == LIANA_OK) status = liana__store_replace(path, own.text.data, own.text.length, error);
    liana__text_free(&own.text);
    if (status == LIANA_OK && own.totals.bad_records && options) {
        liana__run_note(options, "'%s' has no row for %lld of %lld examples, which could not be read",
                        liana__remote_name(path), (long long)own.totals.bad_records,
                        (long long)(own.totals.bad_records + own.totals.count));
    }
    if (measured) *measured = liana__totals_finish(&own.totals);
    liana__totals_free(&own.totals);
    return status;
}
