/* slice_update.h - the graphs by which an optimizer updates one slice of the variables.
 *
 * Without sums (liana_update_reads) an update is one graph for each slice. With sums it takes these steps in each
 * round: the owner of each slice runs liana__build_slice_sums's graph; all owners' chunk sums are joined in the order
 * of the slices; liana__finish_sums adds them up. Then each owner runs liana__build_slice_update's graph. Weights,
 * slots and averages come out with the same bits for any number of slices. */
#ifndef LIANA_STEP_SLICE_UPDATE_H
#define LIANA_STEP_SLICE_UPDATE_H

#include "base/memory.h"
#include "distribute/slices.h"
#include "layers/rules/constraints.h"
#include "layers/rules/regularizers.h"
#include "optimizers/update_rule.h"

/* No variable. */
static const size_t LIANA__NO_VARIABLE = SIZE_MAX;

/* A variable that an update changes: a trained one by its gradient, or a moving average by a statistic. */
typedef struct liana__updated_variable {
    const char *name;
    liana_shape shape;
    bool is_average;
    /* Of a trained one: NULL or type NULL: none. */
    const liana__regularizer *regularizer;
    const liana__constraint *constraint;
    bool whole; /* a regulariser or constraint reads all of it */
    /* Of an average: how it follows the statistic, and the average of the mean that it is about, or LIANA__NO_VARIABLE.
     * Those of one owner are updated together. */
    double momentum;
    size_t about;
    /* Of a trained one: the average whose statistic the update begins with, instead of the variable's value. NULL, or
     * one that the shards do not give: none. */
    const char *begins_as;
    size_t owner;
    const char *owner_name;
} liana__updated_variable;

/* The items of an update. */
typedef struct liana__update_items {
    const liana__updated_variable *variables;
    size_t count; /* of them */
    liana__update_rule rule;
    const liana__rate_multipliers *rate_multipliers; /* NULL: none; set once it was created */
    liana_update_reads reads;
    /* In the order of the variables; src/distribute/slices.h cuts them. */
    liana__slice_item *items;
    size_t *firsts; /* by item: the trained variable, or the first average of the owner */
    size_t num_items;
    size_t num_variables; /* items that are trained variables */
    int64_t num_chunks;   /* of all trained variables */
    liana__arena arena;
} liana__update_items;

/* Lists the variables that change. The variables are borrowed. Errors: OUT_OF_MEMORY; INVALID_CONFIG for an optimizer
 * that declares more sums than there may be. */
liana_status liana__update_items_create(const liana__updated_variable *variables, size_t count,
                                        const liana__update_rule *rule, liana__update_items *items, liana__error *error)
    LIANA_MUST_USE;
/* The trained variable of an item, or the first average. */
const liana__updated_variable *liana__update_item_variable(const liana__update_items *items, size_t item);
void liana__update_items_free(liana__update_items *items);

/* Pieces of a slice in the order of items, as liana__slice_pieces gives them. */
typedef struct liana__update_slice {
    const liana__slice_piece *pieces;
    size_t num_pieces;
} liana__update_slice;

/* A piece of a variable is called "dense/kernel[4096:8192]" and has the shape [4096]; its slots are called
 * "optimizer/Adam/m/dense/kernel[4096:8192]". A complete variable keeps its name and shape, and so do averages. */
liana_shape liana__piece_shape(const liana__update_items *items, const liana__slice_piece *piece);
void liana__piece_name(const liana__update_items *items, const liana__slice_piece *piece, char *name, size_t size);
void liana__piece_slot_name(const liana__update_items *items, const liana__slice_piece *piece, size_t slot, char *name,
                            size_t size);

/* The name of the scalar that is the learning rate of this number (liana__rule_num_rates), from 1 on. */
void liana__rate_name(size_t number, char *name, size_t size);

/* ---- sums ---- */

/* The graph of the chunk sums of one round, counted from 0. Inputs: the gradient sum of each trainable piece, under the
 * piece's name; the f32 scalars "count", "learning_rate", "iteration" and those of liana__rate_name; for each earlier
 * round the finished sums, "sums/0" [..]. Output "chunk_sums": f32 [chunks of the slice, sums of the round]. A slice
 * without trainable variables has no graph: NULL. Errors as liana__build_slice_update's. */
liana_status liana__build_slice_sums(liana_context *context, const liana__update_items *items,
                                     const liana__update_slice *slice, size_t round, liana_graph **graph)
    LIANA_MUST_USE;

/* The same of all items in one slice, with a second output "finished", the result of liana__finish_sums, as a slice's
 * graphs read it. Sums are added in f32, in the device's order. */
liana_status liana__build_finished_sums(liana_context *context, const liana__update_items *items,
                                        const liana__update_slice *slice, size_t round, liana_graph **graph)
    LIANA_MUST_USE;

/* The chunks of a slice, and the first of them among those of all items. */
int64_t liana__slice_num_chunks(const liana__update_items *items, const liana__update_slice *slice);
int64_t liana__slice_first_chunk(const liana__update_items *items, const liana__update_slice *slice);

/* Adds up the chunk sums of all slices, [num_chunks, sums of the round]: those of a variable in order, and then, for
 * sums over all, those of the variables in order. Additions are in double, and each result is rounded once. `sums` is
 * [num_variables, sums of the round], or [sums of the round] for sums over all. */
void liana__finish_sums(const liana__update_items *items, size_t round, const float *chunk_sums, float *sums);

/* How the finished sums of a round enter a slice's graphs: as `shape`, which is LIANA_SUM_OF_ALL's [sums of the
 * round], or [trainable pieces, sums of the round] from the row of variable *first on. */
liana_shape liana__slice_sums_shape(const liana__update_items *items, const liana__update_slice *slice, size_t round,
                                    size_t *first);

/* ---- the update ---- */

/* The new value of a moving average, f32: average + (1 - momentum) * (statistic - average). */
liana_tensor liana__follow_statistic(liana_tensor average, liana_tensor statistic, double momentum);
/* A variance, of a second moment about `about` and the mean; see liana__layer_update. */
liana_tensor liana__second_moment_about(liana_tensor moment, liana_tensor mean, liana_tensor about);

/* The graph that updates a slice. Inputs: the gradient sum of each trainable piece and the statistic's sum of each
 * average, in the order of pieces, under their names; the f32 scalars "count", "learning_rate", "iteration" and those
 * of liana__rate_name; the finished sums of each round, "sums/0" [..]. Assigns the weights, slots and averages of the
 * slice. An empty slice has no graph: NULL. Errors, which the context keeps: INVALID_ARGUMENT for a piece that is no
 * part of its variable or does not fit the optimizer, with variable, optimizer and elements. */
liana_status liana__build_slice_update(liana_context *context, const liana__update_items *items,
                                       const liana__update_slice *slice, liana_graph **graph) LIANA_MUST_USE;

#endif
