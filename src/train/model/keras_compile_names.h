/* keras_compile_names.h - Keras's names of liana's losses, metrics, optimizers and schedules. */
#ifndef LIANA_TRAIN_KERAS_COMPILE_NAMES_H
#define LIANA_TRAIN_KERAS_COMPILE_NAMES_H

#include "base/value.h"

#include <stdbool.h>

/* A class of Keras, the name of its function, and liana's part. The first row of a part is the one to write. */
typedef struct liana__keras_name {
    const char *class_name;
    const char *function;
    const char *liana;
} liana__keras_name;

/* By a class, or a function in lower or upper case; by liana's name. NULL: there is none. */
const liana__keras_name *liana__keras_find_loss(const char *name);
const liana__keras_name *liana__keras_loss_of(const char *liana);
const liana__keras_name *liana__keras_find_metric(const char *name);
const liana__keras_name *liana__keras_metric_of(const char *liana);

/* Whether Keras has an optimizer or a schedule of liana's name. */
bool liana__keras_has_optimizer(const char *name);
bool liana__keras_has_schedule(const char *name);

/* An error that names the key, the value and the expectation. Returns UNIMPLEMENTED. */
liana_status liana__keras_lacks(const liana__value *value, const char *where, const char *key, const char *expected,
                                liana__error *error);

#endif
