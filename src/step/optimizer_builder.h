/* optimizer_builder.h - the optimizer as an update builder: with clipping, decay, averages, regularisers and
 * constraints (slice_update.h). */
#ifndef LIANA_STEP_OPTIMIZER_BUILDER_H
#define LIANA_STEP_OPTIMIZER_BUILDER_H

#include "step/builders.h"
#include "step/slice_update.h"

/* The scalars of such an update; behind them come the learning rates of a MultiOptimizer's others. */
enum {
    LIANA__UPDATE_COUNT,
    LIANA__UPDATE_RATE,
    LIANA__UPDATE_ITERATION,
    LIANA__NUM_UPDATE_SCALARS,
};

/* The plan of an optimizer in a step. All is borrowed. */
typedef struct liana__optimizer_plan {
    liana_context *context;
    liana__update_rule rule;
    const liana_learning_rate *adapted_rate; /* of a schedule that follows the training; NULL: it does not */
    const liana__rate_multipliers *rate_multipliers;
    /* Lists the variables that change, in the arena, once a training shard was built: those of the shard's sums. */
    liana_status (*list)(void *user, liana__arena *arena, const liana__updated_variable **variables, size_t *count,
                         liana__error *error);
    size_t (*find_sum)(void *user, const char *input); /* as in liana__update_builder */
    void *user;
    const liana__updated_variable *trained; /* [num_trained] those that have slots */
    size_t num_trained;
} liana__optimizer_plan;

typedef struct liana__optimizer_builder {
    liana__update_builder builder;
    liana__optimizer_plan plan;
    liana__arena arena; /* of the names of slots, and of the variables that change */
    liana__update_items items;
    liana__slice_piece *pieces; /* NULL: the changing variables are not known yet */
    /* Once it was cut: the pieces of slice s are cut_pieces[first_pieces[s]] to before first_pieces[s + 1]. */
    liana__slice_piece *cut_pieces;
    size_t *first_pieces;
    float *finished[LIANA_MAX_SUM_ROUNDS];
    double learning_rate; /* of the running update; after a schedule that follows the training */
    int64_t num_skipped;  /* updates that a LossScaleOptimizer has skipped, so far */
} liana__optimizer_builder;

/* Sets `builder`. Stays where it is. Errors: OUT_OF_MEMORY. Free it in any case. */
liana_status liana__optimizer_builder_create(const liana__optimizer_plan *plan, liana__optimizer_builder *update,
                                             liana__error *error) LIANA_MUST_USE;
void liana__optimizer_builder_free(liana__optimizer_builder *update);

/* Lists the variables that change. Does nothing the second time. Errors: those of `list` and
 * liana__update_items_create. */
liana_status liana__optimizer_builder_prepare(liana__optimizer_builder *update, liana__error *error) LIANA_MUST_USE;

#endif
