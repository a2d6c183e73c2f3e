/* prediction_rows.h - the predictions of a model for examples, as rows of CSV (RFC 4180). */
#ifndef LIANA_TRAIN_PREDICTION_ROWS_H
#define LIANA_TRAIN_PREDICTION_ROWS_H

#include "data/loader/loader.h"
#include "train/objective/trainer.h"

/* Whether a model says which class each example is, and nothing else. */
bool liana__predicts_classes(const liana__objective *objective);

/* The meaning of the values of an output for classes. This is the only place that knows which outputs do. */
typedef struct liana__output_classes {
    size_t count;         /* of the classes; 0: the values are numbers */
    bool of_one;          /* the one value is the probability of the second of two classes */
    bool several;         /* each value is a probability of its own: an example may be of several classes, or of none */
    liana__strings names; /* the first of them; a class without a name is called by its number */
} liana__output_classes;

/* Of output `index`, whose classes have these names (none: not known). They are classes if the model gives nothing
 * else, if each value has a name, or if one sigmoid is between two names. */
liana__output_classes liana__output_classes_of(const liana__objective *objective, size_t index, liana__strings names);
/* The probability of each class. Returns `values`, or `both`. */
const float *liana__class_probabilities(const liana__output_classes *classes, const float *values, float both[2]);
/* The name of a class, or its number in `number`. */
const char *liana__class_name(const liana__output_classes *classes, size_t label, char number[24]);

/* The same, another for each class: where an earlier class has the name, the number follows it ("crane_517"). */
typedef struct liana__class_key {
    char text[320];
} liana__class_key;
liana__class_key liana__class_key_of(const liana__output_classes *classes, size_t label);

/* The likeliest class; the first of equals. */
int64_t liana__likeliest_class(const float *output, int64_t num_classes);

/* The id of an example of a batch; where it has none, the number of its record. */
void liana__add_example_id(const liana__batch *batch, int64_t index, liana__text *text);

/* Of a model that predicts other things than classes: "id" and a column for each value, called as its output is; and
 * the row of an example. */
void liana__add_value_header(const liana__objective *objective, liana__text *text);
void liana__add_value_row(const liana__trainer *trainer, const liana__batch *batch, int64_t index, const float *output,
                          liana__text *text);

/* A column for each probability of a class of all outputs, and for each other value: "daisy", or "OUTPUT_daisy" where
 * there are several outputs, or one of `columns` has the name. `columns` stand before them: "id,label". `classes`: of
 * each output. */
void liana__add_probability_header(const liana__objective *objective, const liana__output_classes *classes,
                                   const char *columns, liana__text *text);
void liana__add_probabilities(const liana__objective *objective, const liana__output_classes *classes,
                              const float *output, liana__text *text);

/* The same for any model: "id,label,predicted,confidence" where it predicts classes, else values. */
void liana__add_prediction_header(const liana__objective *objective, liana__text *text);
/* Adds the rows of all examples of a batch. `outputs`: [batch->count, liana__trainer_row_size]. */
void liana__add_prediction_rows(const liana__trainer *trainer, const liana__batch *batch, const float *outputs,
                                liana__text *text);

#endif
