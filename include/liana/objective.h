/* objective.h - losses and metrics of a model's outputs, as options of C functions.
 *
 * `liana list losses` and `liana list metrics` show the names. In members, zeros are the defaults. An option that the
 * named loss or metric does not have is an error. */
#ifndef LIANA_OBJECTIVE_H
#define LIANA_OBJECTIVE_H

#include <liana/status.h>

#include <stdbool.h>
#include <stdint.h>

enum { LIANA_MAX_OUTPUTS = 8, LIANA_MAX_METRICS = 24 };

/* The loss of an output. The whole loss is the sum of weight * mean over the output's elements. */
typedef struct liana_loss {
    const char *name;   /* "mean_squared_error"; also Keras's short names, such as "mse" */
    const char *output; /* name of the model's output; NULL: the only one */
    double weight;      /* 0: 1 */
    /* The model gives logits: scores of any size, of which softmax or sigmoid makes probabilities. Predictions and
     * metrics see probabilities. */
    bool from_logits;
    double label_smoothing; /* 0 to 1: share of a target that is spread over all classes (Szegedy et al. 2015) */
    double delta;           /* of huber; 0: 1 */
} liana_loss;

/* A metric of an output. */
typedef struct liana_metric {
    const char *name;
    const char *output;     /* NULL: the only one */
    const char *as;         /* name in results; NULL: its own */
    int64_t k;              /* of top_k_accuracy; 0: 5 */
    double threshold;       /* of answers of yes and no; 0: 0.5 */
    const char *average;    /* of precision, recall, f1_score: "macro", "micro", "weighted"; NULL: "macro" */
    int64_t num_thresholds; /* of auc; 0: 200 */
    const char *curve;      /* of auc: "ROC", "PR"; NULL: "ROC" */
} liana_metric;

#endif
