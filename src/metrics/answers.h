/* answers.h - for metrics that count answers: those of the model and the true ones, in rows. */
#ifndef LIANA_METRICS_ANSWERS_H
#define LIANA_METRICS_ANSWERS_H

#include "metrics/metric.h"

/* The targets and outputs of a metric that counts answers, or classes. */
#define LIANA__OF_ANSWERS .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES, .takes = LIANA_METRIC_OF_ANSWERS
#define LIANA__OF_CLASSES .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES, .takes = LIANA_METRIC_OF_CLASSES

/* part / whole; 0 if the whole is not above 0. */
double liana__metric_ratio(double part, double whole);

/* The values of an element: classes, or answers of yes and no. */
int64_t liana__metric_num_answers(const liana_shape *output);

/* The classes of an element: a single answer of yes or no is two, no and yes. */
int64_t liana__metric_num_classes(const liana_shape *output);
/* f32 [rows, classes] of answers [rows, answers]. */
liana_tensor liana__answers_as_classes(liana_tensor answers);

/* Whether each answer is yes or no by itself, and not one of several classes. */
bool liana__metric_answers_each(const liana_metric_call *call);

/* f32 [rows, answers]: 1 where the model says yes: for the most likely class, or above the threshold. */
liana_tensor liana__predicted_answers(const liana_metric_call *call, double threshold);
/* f32 [rows, answers]: 1 where yes is true. Rows of probabilities of classes mean their largest. */
liana_tensor liana__true_answers(const liana_metric_call *call);
/* f32 [rows, 1]: how much each row counts; invalid: all 1. */
liana_tensor liana__answer_weights(const liana_metric_call *call);

#endif
