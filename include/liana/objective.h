/* objective.h - losses and metrics of a model's outputs, as options of C functions and as functions of tensors.
 *
 * `liana list losses` and `liana list metrics` show the names. In members, zeros are the defaults. An option that the
 * named loss or metric does not have is an error. */
#ifndef LIANA_OBJECTIVE_H
#define LIANA_OBJECTIVE_H

#include <liana/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

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
/* Class k, from 0, as liana_metric.class_id, where 0 means that there is none. */
#define LIANA_CLASS(k) ((k) + 1)

typedef struct liana_metric {
    const char *name;
    const char *output; /* NULL: the only one */
    const char *as;     /* name in results; NULL: its own */
    int64_t k;          /* of top_k_accuracy; 0: 5 */
    /* Values above it are yes, of binary_accuracy, precision, recall, f1_score, fbeta_score, and of class_precision and
     * its like where each answer is yes or no. 0: 0.5; of f1_score and fbeta_score: the largest value of an example is
     * yes. */
    double threshold;
    int64_t top_k; /* of precision and recall: only the k largest values of an example may be yes; 0: all */
    /* Of precision and recall: LIANA_CLASS(k), the only class that is counted. 0: all. */
    int64_t class_id;
    /* Of f1_score, fbeta_score, class_precision, class_recall, class_f1_score, class_fbeta_score: "macro", "micro",
     * "weighted", or "none", a number for each class. NULL: "macro" of those that begin with class_, "none" of the
     * others, as in Keras. */
    const char *average;
    double beta;            /* of fbeta_score and class_fbeta_score; 0: 1 */
    int64_t num_thresholds; /* of auc; 0: 200 */
    const char *curve;      /* of auc: "ROC", "PR"; NULL: "ROC" */
    bool multi_label;       /* of auc: the mean of an area for each class or answer */
    const char *weights;    /* of cohen_kappa: "none", "linear", "quadratic"; NULL: "none" */
    const char *normalize;  /* of confusion_matrix: "none", "rows", "columns", "all"; NULL: "none" */
} liana_metric;

/* The numbers of a metric that has several: of one with average "none" and of support a number for each class, in one
 * row; of confusion_matrix a row for each true class. */
typedef struct liana_metric_values {
    const char *name; /* as in liana_results: "OUTPUT_f1_score" if there are several outputs */
    int64_t rows, columns;
    const double *values; /* [rows, columns] */
} liana_metric_values;

/* ---- functions of tensors ----
 *
 *     liana_tensor each = liana_loss_of(output, label, &(liana_loss){.name = "huber"});
 *     liana_tensor mean = liana_op_reduce_mean(each, LIANA_ALL_AXES, false);
 *
 * `output` is [batch, ..., n] of a float dtype: an output of the model. `target` is either classes, of an integer dtype
 * and [batch, ...] (indices along the last axis of `output`, from 0; nothing checks that they are in range), or values,
 * of any dtype but bool and the shape of `output`. A loss or metric that takes only one of them says so.
 *
 * Probabilities that a softmax or sigmoid of the same graph has made are traced back to the logits, as liana_fit does:
 * then the loss is accurate for any margin. Other probabilities are clipped to [1e-7, 1 - 1e-7]. Whether `output` are
 * probabilities at all is not checked.
 *
 * Errors stay with the graph of `output`: INVALID_CONFIG (an unknown name, an option that it does not have),
 * INVALID_ARGUMENT (another shape, a tensor of another graph). The result is then invalid. */

/* liana_loss_of(output, target, loss): the loss of each element, [batch, ...] without the last axis, times `weight`.
 * `loss` NULL, or without a name: "sparse_categorical_crossentropy". Its member `output` is not read. */
#define liana_loss_of(output, target, ...) liana_loss_of_at(LIANA_HERE, output, target, __VA_ARGS__)
LIANA_API liana_tensor liana_loss_of_at(liana_location here, liana_tensor output, liana_tensor target,
                                        const liana_loss *loss);

/* liana_metric_of(output, target, metric): the share of each element in a metric, f32 [batch, ...] without the last
 * axis: the metric is the mean. `metric` NULL, or without a name: "accuracy". `output` are predictions, no logits.
 * Metrics that are no means (precision, recall, auc and others) are INVALID_CONFIG. The members `output` and `as` are
 * not read. */
#define liana_metric_of(output, target, ...) liana_metric_of_at(LIANA_HERE, output, target, __VA_ARGS__)
LIANA_API liana_tensor liana_metric_of_at(liana_location here, liana_tensor output, liana_tensor target,
                                          const liana_metric *metric);

#ifdef __cplusplus
}
#endif

#endif
