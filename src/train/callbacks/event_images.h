/* event_images.h - pictures of event files: examples, mistakes, a confusion matrix. */
#ifndef LIANA_TRAIN_EVENT_IMAGES_H
#define LIANA_TRAIN_EVENT_IMAGES_H

#include "distribute/cluster/cluster.h"
#include "train/callbacks/event_values.h"

enum { LIANA__EVENT_MOST_IMAGES = 8, LIANA__EVENT_IMAGE_SIDE = 256 };

/* Adds the first images of a batch, as the model gets them, with sides of at most LIANA__EVENT_IMAGE_SIDE; nothing, if
 * its examples have none. Numbers from 0 to 1 are from black to white, like those from 0 to 255; others from the least
 * to the greatest. */
void liana__event_list_add_examples(liana__event_list *list, const char *tag, const liana__batch *batch);

/* The pixels of an example. */
typedef struct liana__event_picture {
    uint8_t *pixels; /* [height, width, channels]; NULL: there is none, or another process has it */
    int64_t shape[3];
} liana__event_picture;

/* ---- a validation ---- */

/* A prediction of another class. */
typedef struct liana__event_mistake {
    int64_t truth, said;
    double confidence;
    char *id; /* of the example, or the number of its record */
    liana__event_picture picture;
} liana__event_mistake;

/* What a validation shows. In a cluster all processes have the same review, but for the pictures: each has those of its
 * own rows, until they are shared. Zero-initialise; free with liana__event_review_free. */
typedef struct liana__event_review {
    int64_t num_classes;                                     /* 0: the model predicts no classes, or very many */
    double *counts;                                          /* [true class, predicted class] */
    liana__event_mistake mistakes[LIANA__EVENT_MOST_IMAGES]; /* of the greatest confidence, in its order */
    size_t num_mistakes;
    liana__event_picture samples[LIANA__EVENT_MOST_IMAGES]; /* the first examples */
    size_t num_samples;
    bool is_gathered; /* the rows were those of all processes */
} liana__event_review;

/* Begins anew. Errors: OUT_OF_MEMORY. */
liana_status liana__event_review_begin(liana__event_review *review, const liana__training *training,
                                       liana__error *error) LIANA_MUST_USE;
/* Keeps the first examples of the first batch. Errors: OUT_OF_MEMORY. */
liana_status liana__event_review_start(liana__event_review *review, const liana__batch *batch, liana__error *error)
    LIANA_MUST_USE;
/* Adds a batch with the predictions for it, [batch->count, liana__trainer_row_size]; one sigmoid predicts the second
 * class from a half on. Errors: OUT_OF_MEMORY. */
liana_status liana__event_review_add(liana__event_review *review, const liana__training *training,
                                     const liana__batch *batch, const float *outputs, liana__error *error)
    LIANA_MUST_USE;
/* Gives every process of a cluster (NULL: there is none) the pictures of all. A collective operation. Errors: those of
 * the cluster; INTERNAL (a wrong message), OUT_OF_MEMORY. */
liana_status liana__event_review_share(liana__event_review *review, liana__cluster *cluster, liana__error *error)
    LIANA_MUST_USE;
/* Adds "examples"; "confusion_matrix" (a row for each true class; darker is a greater share of its examples); and of
 * the mistakes the images ("mistakes") and a table ("mistakes_table"). Classes without a name are numbers. */
void liana__event_list_add_review(liana__event_list *list, const liana__event_review *review,
                                  liana__strings class_names);
void liana__event_review_free(liana__event_review *review);

#endif
