/* keras_rows.h - layers of images as Keras 3 writes them, and as they are written again. */
#ifndef LIANA_TESTS_KERAS_ROWS_H
#define LIANA_TESTS_KERAS_ROWS_H

#include <liana/context.h>
#include <stddef.h>

typedef struct liana__test_keras_row {
    const char *layer, *config; /* the class, and members of its configuration in JSON */
    const char *written;        /* a part of what liana writes of it */
} liana__test_keras_row;

/* Reads each from a model of images [6, 7, 3], and checks the part that is written. */
void liana__test_keras_rows(liana_context *context, const liana__test_keras_row *rows, size_t count);

#endif
