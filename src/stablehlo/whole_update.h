/* whole_update.h - some updates as one StableHLO module: shards, their sum over devices, the optimizer's step. */
#ifndef LIANA_STABLEHLO_WHOLE_UPDATE_H
#define LIANA_STABLEHLO_WHOLE_UPDATE_H

#include "stablehlo/module.h"

/* A graph that reads sums: its inputs are these, the f32 scalars, and the results of the rounds before it. */
typedef struct liana__stablehlo_part {
    const liana_graph *graph;
    const size_t *sums_read; /* by input: an output of the shards */
    size_t num_read, num_finished;
} liana__stablehlo_part;

enum { LIANA__MOST_WHOLE_ROUNDS = 4 };

/* The parts of a module; see backends/whole_update.h. */
typedef struct liana__stablehlo_whole {
    const liana_graph *leaves;                                  /* shards side by side; outputs are their sums, f32 */
    liana__stablehlo_part sum_rounds[LIANA__MOST_WHOLE_ROUNDS]; /* the last output is the result of a round */
    size_t num_sum_rounds;
    liana__stablehlo_part update;
    const liana_graph *penalty; /* its output: the weights' share of the loss, f32 []; NULL: none */
    size_t num_scalars;
    int64_t num_losses; /* elements of the first sum that must be finite */
    int64_t rounds;     /* of shards in an update, one after the other */
    int64_t steps;      /* updates of an execution, at most */
    size_t replicas;    /* devices that add their sums */
    /* By input of `leaves`: its rows are taken from a table that stays on the device. NULL: none is. */
    const bool *in_table;
    int64_t table_rows; /* of every table */
} liana__stablehlo_whole;

/* The outcome of an update; the numbers are those of liana__whole_status. */
enum {
    LIANA__STEP_DONE,
    LIANA__STEP_BAD_SUMS,
    LIANA__STEP_BAD_VALUES,
    LIANA__STEP_LEFT_OUT,
};

/* A variable of the module. */
typedef struct liana__stablehlo_variable {
    const liana__node *node; /* of one of the graphs */
    int64_t result;          /* of the module: its new value; -1: it does not change */
} liana__stablehlo_variable;

typedef struct liana__stablehlo_variables {
    liana__stablehlo_variable *items;
    size_t count;
    size_t num_changed;
} liana__stablehlo_variables;

/* The variables of all graphs, those of `leaves` first; free the items. Errors: OUT_OF_MEMORY. */
liana_status liana__stablehlo_whole_variables(const liana__stablehlo_whole *whole,
                                              liana__stablehlo_variables *variables, liana__error *error)
    LIANA_MUST_USE;

/* The length of an update's row. */
int64_t liana__stablehlo_whole_columns(const liana__stablehlo_whole *whole);

/* Writes the module. Its arguments are
 *
 *   1. the inputs of `leaves`, each with steps * rounds times as many rows; of those in tables the tables;
 *   2. with tables: s32, for each of these rows its place in the tables;
 *   3. the scalars, f32 [steps, num_scalars];
 *   4. s32: how many updates there are, at most `steps`;
 *   5. the variables; the buffers of those that change are donated.
 *
 * Its results are f32 [steps, liana__stablehlo_whole_columns], and the new values of variables. A row has the first
 * sum, the penalty if there is one, and the outcome of the update. After an update that went wrong no other one is
 * done. The caller frees *text. Errors: those of liana__stablehlo_print; UNIMPLEMENTED for sums that are not f32. */
liana_status liana__stablehlo_print_whole(const liana__stablehlo_whole *whole,
                                          const liana__stablehlo_variables *variables,
                                          const liana__stablehlo_options *options, char **text, liana__error *error)
    LIANA_MUST_USE;

#endif
