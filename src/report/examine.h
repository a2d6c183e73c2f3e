/* examine.h - one pass of a trained model over the validation data: what reports draw of its predictions. */
#ifndef LIANA_REPORT_EXAMINE_H
#define LIANA_REPORT_EXAMINE_H

#include "report/drawing.h"
#include "train/run/run.h"

enum { LIANA__EXAMINED_MOST_PICTURES = 24 };

/* A validation image with the model's prediction. */
typedef struct liana__examined_image {
    double rank;    /* the higher, the earlier in its list */
    const char *id; /* of the record; NULL: it has none */
    int truth;
    size_t said;
    double confidence;        /* the probability of the class that is said */
    double truth_probability; /* that of the true one */
    uint8_t *pixels;          /* as liana__run.image_shape */
} liana__examined_image;

typedef struct liana__examined_images {
    liana__examined_image items[LIANA__EXAMINED_MOST_PICTURES]; /* by descending rank */
    size_t count;
} liana__examined_images;

/* ---- scores of classes ---- */

/* How well the probabilities of one class tell its examples from the others. */
typedef struct liana__class_curve {
    double auc;               /* area under the ROC curve; NaN: all examples, or none, are of the class */
    double average_precision; /* sum of (change of recall) * precision; NaN: no example is of the class */
    /* The curves, without points that are nearer than a hundredth to the one before. */
    double *false_rates, *true_rates; /* [roc_count] */
    size_t roc_count;
    double *recalls, *precisions; /* [precision_count] */
    size_t precision_count;
} liana__class_curve;

/* From the scores of all examples, and whether each is of the class. Examples with equal scores are one threshold.
 * Points are in the arena. Scores that are not finite count as the lowest. False: out of memory. */
bool liana__class_curve_make(const float *scores, const uint8_t *is_class, size_t count, liana__arena *arena,
                             liana__class_curve *curve);

/* Predictions by their confidence: LIANA__RELIABILITY_BINS equal ranges from 0 to 1. */
enum { LIANA__RELIABILITY_BINS = 10 };
typedef struct liana__reliability {
    double confidence[LIANA__RELIABILITY_BINS]; /* the mean of the range; NaN: there are none */
    double accuracy[LIANA__RELIABILITY_BINS];   /* the share that is right */
    double share[LIANA__RELIABILITY_BINS];      /* of all predictions */
    double error; /* the expected calibration error: mean of |accuracy - confidence|, weighted by share */
    size_t count;
} liana__reliability;

void liana__reliability_add(liana__reliability *reliability, double confidence, bool is_right);
/* Turns sums into means. Called once. */
void liana__reliability_finish(liana__reliability *reliability);

/* The numbers of each class of an output, in the arena of its liana__examined. */
typedef struct liana__class_numbers {
    const double *precision, *recall, *f1_score, *support; /* of exclusive classes; else NULL */
    const liana__class_curve *curves;                      /* [width] */
    liana__class_curve all;                                /* of all pairs of an example and a class together */
    liana__reliability reliability;                        /* of exclusive classes */
} liana__class_numbers;

/* ---- predictions ---- */

/* An output of the model: of classes, or of numbers. */
typedef struct liana__examined_output {
    const char *name;
    liana__output_classes classes; /* count 0: numbers */
    bool exclusive;                /* each example has one class; false: any number of them, as with sigmoids */
    size_t width;                  /* the number of classes, or of numbers */
    /* All examples of exclusive classes whose class is known: [num_pairs]. */
    int32_t *truths, *said;
    size_t num_pairs;
    /* Of every `stride`-th example: its probabilities or numbers, and the true ones (1 and 0 for classes). */
    float *values;   /* [num_kept, width] */
    float *targets;  /* [num_kept, width]; of exclusive classes NULL: see `labels` */
    int32_t *labels; /* [num_kept] */
    size_t num_kept;
    size_t stride;
    const liana__class_numbers *numbers; /* once liana__class_numbers_find has found them */
} liana__examined_output;

typedef struct liana__examined {
    liana__run *run;
    liana__totals totals;                               /* loss, metrics, examples */
    liana__examined_output outputs[LIANA__MAX_OUTPUTS]; /* those that are compared with targets, row by row */
    size_t num_outputs;
    size_t most_pictures;
    bool has_images;                  /* with one class each */
    liana__examined_images chosen;    /* evenly from all */
    liana__examined_images mistakes;  /* those with the lowest probability of the true class */
    liana__examined_images uncertain; /* those with the lowest confidence */
    liana__arena arena;
} liana__examined;

/* Evaluates the validation data. The run is open with them, and has weights. Of images up to `most_pictures` are kept
 * in each list. Zero-initialise; free it in any case. Errors: those of the evaluation, OUT_OF_MEMORY. */
liana_status liana__examine(liana__run *run, size_t most_pictures, liana__examined *examined, liana__error *error)
    LIANA_MUST_USE;
void liana__examined_free(liana__examined *examined);

/* The name of a class in a page or a picture: its name, or "class 7". In the arena. */
const char *liana__examined_class(liana__examined *examined, const liana__examined_output *output, size_t index);

/* The numbers by class of an output with classes, found once. Errors: OUT_OF_MEMORY. */
liana_status liana__class_numbers_find(liana__examined *examined, liana__examined_output *output,
                                       const liana__class_numbers **found, liana__error *error) LIANA_MUST_USE;

/* ---- drawings ---- */

/* Draws the predictions: "predictions", "mistakes", "uncertain" (images), for each output with classes
 * "confusion_matrix", "confusion_matrix_normalized", "roc", "precision_recall", "reliability", for one with numbers
 * "predicted"; with several outputs "OUTPUT_roc". Errors: those of the receiver, OUT_OF_MEMORY. */
liana_status liana__report_predictions(liana__examined *examined, const liana__drawings *drawings, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__report_classes(liana__examined *examined, const liana__drawings *drawings, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__report_numbers(liana__examined *examined, const liana__drawings *drawings, liana__error *error)
    LIANA_MUST_USE;

#endif
