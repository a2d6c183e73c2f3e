/* Predictions as rows of CSV. */
#include "train/core/prediction_rows.h"

#include "base/format.h"
#include "formats/csv.h"
#include "train/core/batch_components.h"

#include <stdio.h>

bool liana__predicts_classes(const liana__objective *objective)
{
    const liana__objective_output *output = &objective->outputs[0];
    return objective->num_outputs == 1 && output->shape.rank == 2 && output->target == LIANA__TARGET_CLASSES;
}

int64_t liana__likeliest_class(const float *output, int64_t num_classes)
{
    int64_t best = 0;
    for (int64_t i = 1; i < num_classes; i++) {
        if (output[i] > output[best]) best = i;
    }
    return best;
}

void liana__add_example_id(const liana__batch *batch, int64_t index, liana__text *text)
{
    if (batch->ids[index]) {
        liana__csv_add(text, batch->ids[index]);
    } else {
        liana__text_add(text, "%llu", (unsigned long long)batch->records[index]);
    }
}

void liana__add_value_header(const liana__objective *objective, liana__text *text)
{
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

void liana__add_value_row(const liana__trainer *trainer, const liana__batch *batch, int64_t index, const float *output,
                          liana__text *text)
{
    int64_t count = liana__trainer_row_size(trainer);
    liana__add_example_id(batch, index, text);
    for (int64_t i = 0; i < count; i++) liana__text_add(text, ",%.9g", liana__shown((double)output[i]));
    liana__text_add(text, "\n");
}

void liana__add_prediction_header(const liana__objective *objective, liana__text *text)
{
    if (!liana__predicts_classes(objective)) {
        liana__add_value_header(objective, text);
        return;
    }
    liana__text_add(text, "id,label,predicted,confidence\n");
}

void liana__add_prediction_rows(const liana__trainer *trainer, const liana__batch *batch, const float *outputs,
                                liana__text *text)
{
    int64_t row_size = liana__trainer_row_size(trainer);
    bool classes = liana__predicts_classes(liana__trainer_objective(trainer));
    const int32_t *truth = liana__trainer_batch_of(trainer, batch).targets[0];
    for (int64_t i = 0; i < batch->count; i++) {
        const float *output = outputs + i * row_size;
        if (!classes) {
            liana__add_value_row(trainer, batch, i, output, text);
            continue;
        }
        int64_t best = liana__likeliest_class(output, row_size);
        liana__add_example_id(batch, i, text);
        liana__text_add(text, ",%d,%lld,%.6f\n", truth ? (int)truth[i] : -1, (long long)best,
                        liana__shown((double)output[best]));
    }
}
