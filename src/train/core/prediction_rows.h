/* prediction_rows.h - what a model predicts for examples, as rows of CSV (RFC 4180). */
#ifndef LIANA_TRAIN_PREDICTION_ROWS_H
#define LIANA_TRAIN_PREDICTION_ROWS_H

#include "data/loader/loader.h"
#include "train/core/trainer.h"

/* Whether a model says which class each example is, and nothing else. */
bool liana__predicts_classes(const liana__objective *objective);

/* The likeliest class; the first of equals. */
int64_t liana__likeliest_class(const float *output, int64_t num_classes);

/* The id of an example of a batch; where it has none, the number of its record. */
void liana__add_example_id(const liana__batch *batch, int64_t index, liana__text *text);

/* Of a model that predicts other things than classes: "id" and a column for each value, called as its output is; and the
 * row of an example. */
void liana__add_value_header(const liana__objective *objective, liana__text *text);
void liana__add_value_row(const liana__trainer *trainer, const liana__batch *batch, int64_t index, const float *output,
                          liana__text *text);

/* The same for any model: "id,label,predicted,confidence" where it predicts classes, else values. */
void liana__add_prediction_header(const liana__objective *objective, liana__text *text);
/* Adds the rows of all examples of a batch. `outputs`: [batch->count, liana__trainer_row_size]. */
void liana__add_prediction_rows(const liana__trainer *trainer, const liana__batch *batch, const float *outputs,
                                liana__text *text);

#endif
