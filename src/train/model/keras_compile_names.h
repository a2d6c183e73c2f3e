/* keras_compile_names.h - Keras's names of liana's losses, metrics, optimizers and schedules. */
#ifndef LIANA_TRAIN_KERAS_COMPILE_NAMES_H
#define LIANA_TRAIN_KERAS_COMPILE_NAMES_H

#include "base/part.h"

#include <stdbool.h>

/* A class of Keras, the name that Keras gives its function or metric, and liana's part. */
typedef struct liana__keras_name {
    const char *class_name; /* NULL: Keras has no such class */
    const char *function;
    const char *liana;
} liana__keras_name;

/* Of a built-in loss or metric, by any of its names, which are Keras's too. False: there is none. */
bool liana__keras_find(const liana__kind *kind, const char *name, liana__keras_name *found);

/* Whether Keras has an optimizer or a schedule of liana's name. */
bool liana__keras_has_optimizer(const char *name);
bool liana__keras_has_schedule(const char *name);

/* An error that names the key, the value and the expectation. Returns UNIMPLEMENTED. */
liana_status liana__keras_lacks(const liana__value *value, const char *where, const char *key, const char *expected,
                                liana__error *error);

#endif
