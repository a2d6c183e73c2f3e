/* sum_problem.h - a small problem for trainings whose numbers are made bad: the target is the sum of the inputs. */
#ifndef LIANA_TESTS_SUM_PROBLEM_H
#define LIANA_TESTS_SUM_PROBLEM_H

#include "harness/harness.h"

#include <liana/liana.h>

enum { LIANA__SUM_EXAMPLES = 32, LIANA__SUM_WIDTH = 3, LIANA__SUM_BATCH = 8, LIANA__SUM_SHARD = 4 };

typedef struct liana__sum_problem {
    liana_context *context;
    liana_model *model;
    float x[LIANA__SUM_EXAMPLES][LIANA__SUM_WIDTH], y[LIANA__SUM_EXAMPLES][1], weight[LIANA__SUM_EXAMPLES];
    liana_fit_options options;
    liana_callback callback;
    const liana_callback *callbacks[1];
} liana__sum_problem;

/* Two Dense layers, first and second. */
void liana__sum_problem_model(liana_model *model);

/* Draws the data and makes a model of what `build` adds behind the input (NULL: liana__sum_problem_model), in a context
 * with two threads. The options are for one epoch of SGD over the data in their order. End it with
 * liana__sum_problem_end. */
void liana__sum_problem_begin(liana__sum_problem *own, void (*build)(liana_model *model));
void liana__sum_problem_end(liana__sum_problem *own);

/* Fits the model to the data as they are now. */
liana_status liana__sum_problem_fit(liana__sum_problem *own);

/* Sets one element of a weight, or all. */
void liana__sum_problem_set(liana__sum_problem *own, const char *name, int64_t element, float value);
void liana__sum_problem_fill(liana__sum_problem *own, const char *name, float value);

#endif
