/* replica_update.h - an update on one device: a program for each round of sums that it reads, and the one that changes
 * the variables. */
#ifndef LIANA_DISTRIBUTE_REPLICA_UPDATE_H
#define LIANA_DISTRIBUTE_REPLICA_UPDATE_H

#include "distribute/strategy.h"
#include "exec/program.h"

typedef struct liana__update_program {
    liana__program *program;
    size_t *sums_read; /* by input: a shard's sum */
    size_t num_read;
    size_t num_finished; /* rounds whose finished sums it reads */
    float *chunk_sums;   /* on the host: the sums of a round */
} liana__update_program;

typedef struct liana__replica_update {
    const liana__strategy_plan *plan;
    liana__arena arena;              /* of all lists */
    liana__update_program *programs; /* of the rounds, then of the update; NULL: not made yet */
    const float **finished;          /* by round */
    float *scalars;
    bool seen_finite; /* by the device that made the last update, and nobody has asked since */
    liana__finite_check sums_check, new_values; /* of the inputs of the last program, and of its assignments */
} liana__replica_update;

/* Lets an input of a program read a sum of the shards. */
typedef struct liana__sum_feed {
    liana_status (*feed)(void *user, liana__program *program, size_t input, size_t sum, liana__error *error);
    void *user;
} liana__sum_feed;

/* Compiles. A plan may build no graph: then there is nothing to do, and the host's part of a round is given no sums.
 * The plan is borrowed. Errors: those of the plan's graphs and of compiling. Free it in any case. */
liana_status liana__replica_update_create(liana__device *device, const liana__strategy_plan *plan,
                                          liana__replica_update *update, liana__error *error) LIANA_MUST_USE;
void liana__replica_update_free(liana__replica_update *update);

/* Runs the program of a round, whose sums are in its `chunk_sums` then, or after all rounds that of the update: with
 * the scalars and the finished sums that are in `update`. No program: nothing. */
liana_status liana__replica_update_run_program(liana__replica_update *update, size_t number,
                                               const liana__sum_feed *sums, liana__error *error) LIANA_MUST_USE;
/* Looks for numbers that are not finite in the inputs of the update or in its assignments. Errors: those of the
 * device. */
liana_status liana__replica_update_check(liana__replica_update *update, liana__checked what,
                                         const liana__sum_feed *sums, liana__non_finite *found, liana__error *error)
    LIANA_MUST_USE;
/* One update. `scalars` are the plan's. */
liana_status liana__replica_update_run(liana__replica_update *update, const liana__sum_feed *sums, const float *scalars,
                                       liana__error *error) LIANA_MUST_USE;

#endif
