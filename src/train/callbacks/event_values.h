/* event_values.h - what callbacks write into event files: folders for training and validation, lists of values, weights
 * as histograms and images. The chief of a cluster writes. */
#ifndef LIANA_TRAIN_EVENT_VALUES_H
#define LIANA_TRAIN_EVENT_VALUES_H

#include "formats/event_writer.h"
#include "train/callbacks/callback.h"

typedef enum liana__event_part {
    LIANA__EVENTS_TRAINING,
    LIANA__EVENTS_VALIDATION,
    LIANA__NUM_EVENT_PARTS,
} liana__event_part;

/* The files of a training: a folder for each part, with a file of this process. Zero-initialise; free with
 * liana__event_files_free. */
typedef struct liana__event_files {
    liana__event_writer *writers[LIANA__NUM_EVENT_PARTS]; /* NULL: nothing was written yet */
    char *folder;
} liana__event_files;

/* At the begin of a training. A relative `folder` is in that of the training. Where the training goes on from a
 * checkpoint, values that it computes again are removed: those that `keeps` does not keep, with `user`. `is_chief`:
 * whether this process writes. Errors: IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__event_files_begin(liana__event_files *files, const liana_fit_context *context, const char *folder,
                                      bool is_chief, liana__event_keeps keeps, void *user, liana__error *error)
    LIANA_MUST_USE;
/* Errors: IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__event_files_add(liana__event_files *files, liana__event_part part, int64_t step,
                                    const liana__summary_value *values, size_t count, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__event_files_flush(liana__event_files *files, liana__error *error) LIANA_MUST_USE;
/* Adds a graph to the training's file: the bytes of TensorFlow's GraphDef. */
liana_status liana__event_files_add_graph(liana__event_files *files, const void *bytes, size_t size,
                                          liana__error *error) LIANA_MUST_USE;
void liana__event_files_free(liana__event_files *files);

/* ---- weights ---- */

/* Copies of the variables that shards read, f32, in the order of the trainer's weights. Zero-initialise; free with
 * liana__event_weights_free. */
typedef struct liana__event_weights {
    float **values; /* [count] */
    size_t count;
} liana__event_weights;

/* Takes their values as they are. Memory is allocated the first time. Errors: OUT_OF_MEMORY, those of the device. */
liana_status liana__event_weights_read(liana__event_weights *weights, const liana__training *training,
                                       liana__error *error) LIANA_MUST_USE;
void liana__event_weights_free(liana__event_weights *weights);

/* ---- lists of values ---- */

/* Zero-initialise; liana__event_list_write frees it. Running out of memory is told then. */
typedef struct liana__event_list {
    liana__arena arena;
    liana__summary_value *values;
    size_t count, capacity;
    bool failed;
} liana__event_list;

/* Its tag and data are in the list's arena, or live as long as the list. A tag NULL: there was no memory for it. */
void liana__event_list_add_value(liana__event_list *list, const liana__summary_value *value);
void liana__event_list_add(liana__event_list *list, const char *tag, double number);
/* Loss and metrics with texts before and behind their names; nothing, if nothing was measured. */
void liana__event_list_add_totals(liana__event_list *list, const liana__training *training, const liana__totals *totals,
                                  const char *before, const char *behind);
/* An array as a histogram, without numbers that are not finite; nothing, if none is finite. */
void liana__event_list_add_histogram(liana__event_list *list, const char *tag, const float *values, int64_t count);
/* A weight as images, as Keras's TensorBoard draws them: without axes of one element; a matrix lies, a vector stands;
 * of three axes the last one is of images, at most three. Others, and those with a side above 4096, are not drawn. */
void liana__event_list_add_weight_images(liana__event_list *list, const char *tag, const float *values,
                                         const liana_shape *shape);
/* Markdown; NULL: there was no memory for it. */
void liana__event_list_add_text(liana__event_list *list, const char *tag, const char *text);
void liana__event_list_free(liana__event_list *list);
/* Writes the list, if it has values, and frees it. Errors: IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__event_list_write(liana__event_list *list, liana__event_files *files, liana__event_part part,
                                     int64_t step, liana__error *error) LIANA_MUST_USE;

#endif
