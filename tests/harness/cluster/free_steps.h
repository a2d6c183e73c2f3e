/* free_steps.h - a step of a test's own under strategies whose workers need not be in step. Its weights are known in
 * closed form: the gradient of a loss that is linear in the weights does not depend on them, so every order of updates
 * ends in the same sum. The inputs are small integers. */
#ifndef LIANA_TESTS_FREE_STEPS_H
#define LIANA_TESTS_FREE_STEPS_H

#include "harness/cluster/cluster_fit.h"

enum {
    LIANA__FREE_FEATURES = 3,
    LIANA__FREE_BATCH = 24,
    LIANA__FREE_SHARD = 2,
    LIANA__FREE_STEPS = 40, /* at most; processes too */
    LIANA__FREE_PROCESSES = 8,
};

/* The work of all processes, and its results. */
typedef struct liana__free_recipe {
    int num_steps;
    bool learns;     /* a squared loss, dropout and the optimizer; else the linear loss and plain sums */
    bool one_by_one; /* liana_step_run in a loop */
    int short_step;  /* a batch that is not full; -1: none */
    int bad_batch, bad_scalars, bad_numbers; /* of that step a function fails or gives NaN; -1: none */
    bool scalars_in_batch;
    bool hides_loss; /* the loss is no sum with a name */
    const char *optimizer;
    const char *device; /* of each process; NULL: "cpu" */
    /* By rank. */
    liana_step_outcome outcomes[LIANA__FREE_PROCESSES][LIANA__FREE_STEPS];
    liana_step_counts counts[LIANA__FREE_PROCESSES];
    char reason[LIANA__FREE_PROCESSES][200], first_sum[LIANA__FREE_PROCESSES][32]; /* its name */
    int asked_batch[LIANA__FREE_PROCESSES][LIANA__FREE_STEPS], asked_scalars[LIANA__FREE_PROCESSES][LIANA__FREE_STEPS];
    uint64_t position[LIANA__FREE_PROCESSES];
} liana__free_recipe;

/* The recipe of the running test, and the results of 20 steps without anything special. */
extern liana__free_recipe liana__free_shared;
extern const liana__free_recipe liana__free_usual;

/* The examples of a step; the sum of "y" over the first of them, which is the sum "targets". */
int64_t liana__free_count(int step);
double liana__free_targets(int step, int64_t count);

/* All processes of a program run the steps, with one run or one for each, and keep all variables as weights: the
 * weights first, then how many updates there were, and of how many examples. */
liana__cluster_program liana__free_program(const char *strategy);
void liana__free_run(const char *strategy, size_t workers, size_t servers, int64_t replicas, bool one_by_one,
                     liana__cluster_result *results);
/* The same with one step under liana_replicas, whose batch was cut for them. */
liana_status liana__free_run_replicas(liana_context *context, const liana__cluster_program *program,
                                      liana__cluster_result *result);

/* The variables after the examples from `begin` to before `end` of all steps. */
void liana__free_assert_weights(const liana__cluster_result *result, size_t begin, size_t end);
/* All processes but one have the same variables and heard the same. `without` SIZE_MAX: all. */
void liana__free_assert_same(const liana__cluster_result *results, size_t count, size_t without);

#endif
