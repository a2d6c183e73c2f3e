/* optimizer.h - the optimizer contract. To add one: src/optimizers/<stem>.c with the struct, and a row in
 * optimizers.def. Optimizers are written in ops, so one file serves every device. */
#ifndef LIANA_OPTIMIZERS_OPTIMIZER_H
#define LIANA_OPTIMIZERS_OPTIMIZER_H

#include "base/context.h"
#include "optimizers/rate_multipliers.h"
#include "optimizers/schedule.h"

#include <liana/ops.h>

enum { LIANA__MAX_SLOTS = 4, LIANA__MAX_SUM_ROUNDS = 2, LIANA__MAX_ROUND_SUMS = 4 };

/* One trainable variable in the update graph, or the range of its elements that a slice has. A range is flat, [n];
 * a complete variable has its shape. */
typedef struct liana__optimizer_step {
    const void *options;
    liana_tensor variable;
    liana_tensor gradient;                /* of the mean loss of the update */
    liana_tensor learning_rate;           /* f32 scalar, from the schedule */
    liana_tensor iteration;               /* f32 scalar: 1 at the first update */
    liana_tensor slots[LIANA__MAX_SLOTS]; /* the slots' old values */
    /* Finished sums, f32 scalars, by round and term; see liana__update_reads. */
    liana_tensor sums[LIANA__MAX_SUM_ROUNDS][LIANA__MAX_ROUND_SUMS];
    /* Filled in. */
    liana_tensor new_variable;
    liana_tensor new_slots[LIANA__MAX_SLOTS];
} liana__optimizer_step;

/* What the sums of a round are over: the elements of each variable, or those of all trainable variables. */
typedef enum liana__sum_scope { LIANA__SUM_OF_VARIABLE, LIANA__SUM_OF_ALL } liana__sum_scope;

/* Sums that an update needs at once. `terms` builds, for each sum, what is added up: one f32 number for each element,
 * in the variable's shape. It sees the step without results, and the sums of earlier rounds. */
typedef struct liana__sum_round {
    liana__sum_scope scope;
    size_t num_sums; /* 1 to LIANA__MAX_ROUND_SUMS */
    void (*terms)(const liana__optimizer_step *step, liana_tensor *terms);
} liana__sum_round;

/* What an update reads beyond an element of the variable, its gradient and its slots. Zeros: nothing, and any cut
 * through a variable gives the same bits. */
typedef struct liana__update_reads {
    bool whole; /* all elements of the variable, in its shape */
    size_t num_rounds;
    liana__sum_round rounds[LIANA__MAX_SUM_ROUNDS];
} liana__update_reads;

typedef struct liana__optimizer {
    const char *name;                  /* Keras's class name */
    const struct liana__own_part *own; /* of a program's own optimizer (own_optimizer.c) */
    const char *doc;
    const liana__fields *options; /* without learning_rate, which every optimizer has */
    double default_learning_rate;
    /* How many of slot_names the options need; NULL: all. Each slot has the variable's shape and begins at 0. */
    size_t (*num_slots)(const void *options);
    const char *slot_names[LIANA__MAX_SLOTS];
    /* What the update reads with these options. NULL: elements only. */
    liana__update_reads (*reads)(const void *options);
    void (*update)(liana__optimizer_step *step);
} liana__optimizer;

#define LIANA__OPTIMIZER(stem, name) extern const liana__optimizer liana__optimizer_##name;
#include "optimizers/optimizers.def"
#undef LIANA__OPTIMIZER

/* All optimizers in the order of optimizers.def, NULL-terminated. */
extern const liana__optimizer *const liana__optimizers[];

/* Finds an optimizer by name, also among the context's own (NULL: there are none). NULL: there is none; *nearest (may be
 * NULL) is then the nearest name, or NULL. */
const liana__optimizer *liana__optimizer_find(const liana_context *context, const char *name, const char **nearest);

/* An optimizer with its options and its learning rate. The lengths in steps are not known yet. */
typedef struct liana__optimizer_choice {
    const liana__optimizer *optimizer;
    const void *options;
    liana__learning_rate learning_rate;
    const liana__rate_multipliers *rate_multipliers; /* NULL: none */
} liana__optimizer_choice;

/* Reads {name: NAME, learning_rate: RATE or {name: SCHEDULE, ...}, rate_multipliers: {PATTERN: FACTOR, ...}, and the
 * optimizer's options}, and finds all errors in it; whether patterns match weights is not known yet. The names may be the context's own (NULL: there are none). `where` is its dotted key. Errors: INVALID_CONFIG; OUT_OF_MEMORY. */
liana_status liana__optimizer_read(const liana_context *context, const liana__value *value, const char *where,
                                   liana__arena *arena, liana__optimizer_choice *choice, liana__error *error)
    LIANA_MUST_USE;

/* The number of slots for each variable. */
size_t liana__optimizer_num_slots(const liana__optimizer *optimizer, const void *options);

/* What an update reads beyond an element. */
liana__update_reads liana__optimizer_reads(const liana__optimizer *optimizer, const void *options);

#endif
