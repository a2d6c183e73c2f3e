/* event_writer.h - writes event files, which TensorBoard reads while they grow. Values have TensorFlow 2's form:
 * tensors with the name of TensorBoard's plugin (tensorboard/plugins/scalar/metadata.py and its neighbours). The wire
 * format is in proto/event.proto. A writer belongs to one thread. */
#ifndef LIANA_FORMATS_EVENT_WRITER_H
#define LIANA_FORMATS_EVENT_WRITER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum liana__summary_kind {
    LIANA__SUMMARY_SCALAR,
    LIANA__SUMMARY_HISTOGRAM,
    LIANA__SUMMARY_IMAGES,
    LIANA__SUMMARY_TEXT,
    LIANA__SUMMARY_KERAS, /* a model's architecture in Keras's JSON, which TensorBoard draws as its conceptual graph */
    LIANA__SUMMARY_HPARAMS, /* hyperparameters (event_hparams.h) */
} liana__summary_kind;

/* A blob: the bytes of a PNG. */
typedef struct liana__summary_image {
    const void *bytes;
    size_t size;
} liana__summary_image;

/* A value of one step. */
typedef struct liana__summary_value {
    const char *tag; /* UTF-8; TensorBoard makes groups of what stands before a '/' */
    liana__summary_kind kind;
    double number;         /* of a scalar; it is written as f32 */
    const double *buckets; /* of a histogram: [num_buckets, 3], rows of left end, right end and count */
    size_t num_buckets;
    const liana__summary_image *images; /* all of one size */
    size_t num_images;
    int width, height;
    const char *text;    /* Markdown; JSON */
    const void *content; /* of hyperparameters: the plugin's message */
    size_t content_size;
} liana__summary_value;

typedef struct liana__event_writer liana__event_writer;

/* Makes a file of a new name in a folder, which is made too. Errors: IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__event_writer_open(const char *folder, liana__event_writer **writer, liana__error *error)
    LIANA_MUST_USE;
/* Adds the values of a step, with the time of day. They are in the file after the next flush. Errors: IO_ERROR,
 * OUT_OF_MEMORY. */
liana_status liana__event_writer_add(liana__event_writer *writer, int64_t step, const liana__summary_value *values,
                                     size_t count, liana__error *error) LIANA_MUST_USE;
/* Adds a graph: the bytes of TensorFlow's GraphDef. */
liana_status liana__event_writer_add_graph(liana__event_writer *writer, const void *bytes, size_t size,
                                           liana__error *error) LIANA_MUST_USE;
liana_status liana__event_writer_flush(liana__event_writer *writer, liana__error *error) LIANA_MUST_USE;
/* Whether a value of an earlier file still holds. */
typedef bool (*liana__event_keeps)(void *user, int64_t step, const char *tag);
/* Before a training goes on from a checkpoint: removes the values that it will compute again from the files that liana
 * wrote in a folder, and what a killed process left of a record. Without the folder nothing happens. Errors: IO_ERROR,
 * OUT_OF_MEMORY. */
liana_status liana__event_folder_trim(const char *folder, liana__event_keeps keeps, void *user, liana__error *error)
    LIANA_MUST_USE;
/* The path of the file. */
const char *liana__event_writer_path(const liana__event_writer *writer);
/* Flushes and closes. NULL is harmless. The writer is gone, also after an error. */
liana_status liana__event_writer_close(liana__event_writer *writer, liana__error *error) LIANA_MUST_USE;

#endif
