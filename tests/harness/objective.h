/* objective.h - what tests train on: objectives by name, and steps whose sums are copied. */
#ifndef LIANA_TESTS_OBJECTIVE_H
#define LIANA_TESTS_OBJECTIVE_H

#include "train/objective/step_graphs.h"
#include "train/objective/trainer.h"

/* sparse_categorical_crossentropy and these metrics, as YAML: "[accuracy, top_5_accuracy]". It lives until the program
 * ends. */
const liana__objective *liana__test_objective(const liana_model *model, const char *metrics);
/* With a loss, as YAML; the test fails if the model's outputs do not fit it. */
const liana__objective *liana__test_objective_of(const liana_model *model, const char *loss, const char *metrics);

/* A batch for a model with one input and one output: its names are the trainer's. `targets` may be NULL. */
liana__batch liana__test_batch(const liana__trainer *trainer, int64_t count, const void *inputs, const void *targets,
                               const uint64_t *positions);
/* A name that lives until the program ends. */
const char *liana__test_name(liana__component_name name);

enum { LIANA__TEST_SUMS = 8 };
typedef struct liana__test_sums {
    float values[LIANA__TEST_SUMS]; /* the first of the vector of sums */
} liana__test_sums;

liana_status liana__test_step(liana__trainer *trainer, const liana__batch *batch, double learning_rate,
                              int64_t iteration, liana__test_sums *sums, liana__error *error) LIANA_MUST_USE;
liana_status liana__test_evaluate(liana__trainer *trainer, const liana__batch *batch, float *outputs,
                                  liana__test_sums *sums, liana__error *error) LIANA_MUST_USE;

#endif
