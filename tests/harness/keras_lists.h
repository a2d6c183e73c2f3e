/* keras_lists.h - numbers that Keras gave, which a script of tests/samples wrote into a JSON file with keras_lists.py,
 * and that module's formulas of data and weights. */
#ifndef LIANA_TESTS_KERAS_LISTS_H
#define LIANA_TESTS_KERAS_LISTS_H

#include "harness/harness.h"

#include "base/value.h"

#include <liana/liana.h>

/* An open file. */
typedef struct liana__keras_lists {
    const char *file;
    double tolerance; /* absolute; of numbers above 1 relative */
    liana__arena arena;
    const liana__value *root;
    const liana__value *lists; /* by name */
} liana__keras_lists;

/* `file`: its name in tests/samples. */
void liana__keras_lists_open(liana__keras_lists *own, const char *file, double tolerance);
void liana__keras_lists_close(liana__keras_lists *own);

/* One list. */
typedef struct liana__keras_list {
    char name[128];
    const liana__value *values;
    double tolerance;
} liana__keras_list;

/* The list "MODEL_OPTIMIZER_WHAT", with '_' for '/'; the test fails if there is none. */
liana__keras_list liana__keras_said(const liana__keras_lists *own, const char *model, const char *optimizer,
                                    const char *what);
/* Fails the test if the number is not the list's. */
void liana__keras_near(double found, const liana__keras_list *list, size_t index);
/* The same for a weight of a model after its training. */
void liana__keras_weight_near(const liana__keras_lists *own, liana_model *model, const char *name,
                              const char *optimizer, const char *weight);

/* A whole number, 0 to 128. */
int liana__keras_draw(const char *name, int index);
/* -0.5 to 0.5 in steps of 1/128. */
float liana__keras_number(const char *name, int index);
/* Sets a weight to the numbers of its name plus `offset`. */
void liana__keras_set_weight(liana_model *model, const char *weight, float offset);

#endif
