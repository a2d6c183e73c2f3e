/* made_examples.h - which process of a training makes which examples. */
#ifndef LIANA_TESTS_MADE_EXAMPLES_H
#define LIANA_TESTS_MADE_EXAMPLES_H

#include <liana/dataset.h>
#include <stdatomic.h>

enum { LIANA__MADE_EXAMPLES = 90 };

/* By record: how often its example was made. Of one process; loaders work ahead. */
typedef struct liana__made_examples {
    atomic_int made[LIANA__MADE_EXAMPLES];
} liana__made_examples;

/* A stage that counts, and changes nothing. Takes over the dataset; NULL is given on. */
liana_dataset *liana__count_made(liana_dataset *dataset, liana__made_examples *own);

/* Each of the first `num_examples` was made by one process only. */
void liana__assert_made_by_one(const liana__made_examples *const *processes, size_t num_processes, size_t num_examples);
/* And servers, behind the workers, made none; of several workers at least two made some. */
void liana__assert_made_by_workers(const liana__made_examples *const *processes, size_t num_workers,
                                   size_t num_processes, size_t num_examples);

#endif
