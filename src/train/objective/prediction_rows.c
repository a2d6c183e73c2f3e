/* Predictions as rows of CSV. */
#include "train/objective/prediction_rows.h"

#include "base/format.h"
#include "formats/csv.h"
#include "train/objective/batch_components.h"

#include <stdio.h>
#include <string.h>

bool liana__predicts_classes(const liana__objective *objective)
{
    const liana__objective_output *output = &objective->outputs[0];
    return objective->num_outputs == 1 && output->shape.rank == 2 && output->target == LIANA_TARGET_CLASSES;
}

liana__output_classes liana__output_classes_of(const liana__objective *objective, size_t index, liana__strings names)
{
    const liana__objective_output *output = &objective->outputs[index];
    const size_t size = (size_t)liana_shape_size(&output->shape);
    const bool is_sigmoid = output->activation == LIANA_LOGITS_SIGMOID;
    if (size == 1 && is_sigmoid && names.count == 2)
        return (liana__output_classes){.count = 2, .of_one = true, .names = names};
    const bool has_names = size > 1 && names.count == size;
    if (!has_names && !liana__predicts_classes(objective)) return (liana__output_classes){0};
    return (liana__output_classes){.count = size, .several = has_names && is_sigmoid, .names = names};
}

const float *liana__class_probabilities(const liana__output_classes *classes, const float *values, float both[2])
{
    if (!classes->of_one) return values;
    both[0] = 1 - values[0];
    both[1] = values[0];
    return both;
}

const char *liana__class_name(const liana__output_classes *classes, size_t label, char number[24])
{
    if (label < classes->names.count) return classes->names.items[label];
    snprintf(number, 24, "%zu", label);
    return number;
}

static bool is_double(const liana__output_classes *classes, size_t label)
{
    char a[24], b[24];
    const char *name = liana__class_name(classes, label, a);
    for (size_t i = 0; i < label; i++) {
        if (strcmp(liana__class_name(classes, i, b), name) == 0) return true;
    }
    return false;
}

liana__class_key liana__class_key_of(const liana__output_classes *classes, size_t label)
{
    liana__class_key key;
    char number[24];
    const char *name = liana__class_name(classes, label, number);
    snprintf(key.text, sizeof key.text, is_double(classes, label) ? "%.280s_%zu" : "%.280s", name, label);
    return key;
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

/* Whether a list "a,b,c" has this item. */
static bool has_column(const char *columns, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = columns; *at; at += strcspn(at, ",")) {
        at += *at == ',';
        if (strcspn(at, ",") == length && strncmp(at, name, length) == 0) return true;
    }
    return false;
}

void liana__add_probability_header(const liana__objective *objective, const liana__output_classes *classes,
                                   const char *columns, liana__text *text)
{
    liana__text_add(text, "%s", columns);
    for (size_t i = 0; i < objective->num_outputs; i++) {
        const liana__objective_output *output = &objective->outputs[i];
        const size_t size = (size_t)liana_shape_size(&output->shape), count = classes[i].count;
        for (size_t k = 0; k < (count ? count : size); k++) {
            char whole[640];
            const liana__class_key key = liana__class_key_of(&classes[i], k);
            const bool is_long = objective->num_outputs > 1 || !count || has_column(columns, key.text);
            snprintf(whole, sizeof whole, "%.256s_%.300s", output->name, key.text);
            if (!count && size == 1) snprintf(whole, sizeof whole, "%.256s", output->name);
            liana__text_add(text, ",");
            liana__csv_add(text, is_long ? whole : key.text);
        }
    }
    liana__text_add(text, "\n");
}

void liana__add_probabilities(const liana__objective *objective, const liana__output_classes *classes,
                              const float *output, liana__text *text)
{
    for (size_t i = 0; i < objective->num_outputs; i++) {
        const size_t size = (size_t)liana_shape_size(&objective->outputs[i].shape);
        const size_t count = classes[i].count ? classes[i].count : size;
        float both[2];
        const float *values = liana__class_probabilities(&classes[i], output, both);
        for (size_t k = 0; k < count; k++) liana__text_add(text, ",%.9g", (double)values[k]);
        output += size;
    }
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
    const int32_t *truth = liana__trainer_targets(trainer, batch, 0);
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
