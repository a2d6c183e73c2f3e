/* optimizer.h - the optimizer contract. To add one: src/optimizers/<stem>.c with the struct, and a row in
 * optimizers.def. Optimizers are written in ops, so one file serves every device. */
#ifndef LIANA_OPTIMIZERS_OPTIMIZER_H
#define LIANA_OPTIMIZERS_OPTIMIZER_H

#include "base/context.h"
#include "optimizers/rate_multipliers.h"
#include "optimizers/schedule.h"

#include <liana/ops.h>

/* An optimizer may have 4 slots and 2 rounds of sums of its own; update_rule.h adds some. */
enum {
    LIANA__MAX_OWN_ROUNDS = 2,
    LIANA__MAX_SLOTS = 6,
    LIANA__MAX_SUM_ROUNDS = 4,
    LIANA__MAX_ROUND_SUMS = 4,
};

/* What every optimizer does besides, as Keras's do: the options of an optimizer begin with this. update_rule.h does it,
 * and no optimizer looks at it, unless it says `own_weight_decay`. */
typedef struct liana__optimizer_common {
    double weight_decay; /* NaN: none */
    liana__strings exclude_from_weight_decay;
    double clipnorm, clipvalue, global_clipnorm; /* NaN: none; at most one is given */
    bool use_ema;
    double ema_momentum;
    int64_t ema_overwrite_frequency; /* 0: never */
} liana__optimizer_common;

/* The last rows of each optimizer's table. `decay` is the default of weight_decay. */
#define LIANA__OPTIMIZER_FIELDS(decay)                                                                                 \
    LIANA__FIELD_ROW(liana__optimizer_common, weight_decay, FLOAT, .default_text = decay, .minimum = 0, .maximum = 1,  \
                     .doc = "Each update first takes learning_rate * weight_decay of every weight away."),             \
        LIANA__FIELD_ROW(liana__optimizer_common, exclude_from_weight_decay, STRINGS,                                  \
                         .doc = "Weights without decay: those in whose names one of these regular expressions "        \
                                "matches, such as [bias, gamma, beta]."),                                              \
        LIANA__FIELD_ROW(liana__optimizer_common, clipnorm, FLOAT, .default_text = "null", .minimum = 1e-12,           \
                         .maximum = 1e12, .doc = "The largest norm of the gradient of a weight; it is scaled down."),  \
        LIANA__FIELD_ROW(liana__optimizer_common, clipvalue, FLOAT, .default_text = "null", .minimum = 1e-12,          \
                         .maximum = 1e12, .doc = "The largest absolute value of an element of a gradient."),           \
        LIANA__FIELD_ROW(liana__optimizer_common, global_clipnorm, FLOAT, .default_text = "null", .minimum = 1e-12,    \
                         .maximum = 1e12, .doc = "The largest norm of all gradients together; they are scaled down."), \
        LIANA__FIELD_ROW(liana__optimizer_common, use_ema, BOOL, .default_text = "false",                              \
                         .doc =                                                                                        \
                             "Whether to keep moving averages of the weights, which the model has after training."),   \
        LIANA__FIELD_ROW(liana__optimizer_common, ema_momentum, FLOAT, .default_text = "0.99", .minimum = 0,           \
                         .maximum = 1, .doc = "How much of an average stays in an update."),                           \
        LIANA__FIELD_ROW(liana__optimizer_common, ema_overwrite_frequency, INT, .default_text = "0", .minimum = 0,     \
                         .maximum = 16777216,                                                                          \
                         .doc = "Every so many updates the weights become their averages; 0: only after training.")

/* One trainable variable in the update graph, or the range of its elements that a slice has. A range is flat, [n];
 * a complete variable has its shape. */
typedef struct liana__optimizer_step {
    const void *options;
    double weight_decay; /* of this variable; 0: none */
    bool excluded;       /* from weight decay, by its name */
    liana_tensor variable;
    liana_tensor gradient;                /* of the mean loss of the update */
    liana_tensor learning_rate;           /* f32 scalar: of this variable */
    liana_tensor common_rate;             /* of the schedule, before the variable's multiplier */
    liana_tensor iteration;               /* f32 scalar: 1 at the first update */
    liana_tensor slots[LIANA__MAX_SLOTS]; /* the slots' old values */
    /* Finished sums, f32 scalars, by round and term; see liana__update_reads. */
    liana_tensor sums[LIANA__MAX_SUM_ROUNDS][LIANA__MAX_ROUND_SUMS];
    /* Filled in. Beside new_variable one of these may be: what was subtracted from the variable, or added to it. */
    liana_tensor descent, change;
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
    /* Of a struct that begins with liana__optimizer_common; without learning_rate, which every optimizer has. */
    const liana__fields *options;
    double default_learning_rate;
    /* How many of slot_names the options need; NULL: all. Each slot has the variable's shape. */
    size_t (*num_slots)(const void *options);
    /* The name of a slot where it depends on the options; NULL: slot_names[slot]. */
    const char *(*slot_name)(const void *options, size_t slot);
    /* The value of a slot's elements before the first update. NULL: 0 for all. */
    double (*slot_begins_at)(const void *options, size_t slot);
    const char *slot_names[LIANA__MAX_SLOTS];
    /* What the update reads with these options. NULL: elements only. */
    liana__update_reads (*reads)(const void *options);
    /* Whether the update reads step->weight_decay itself, instead of on weights that have decayed already. */
    bool own_weight_decay;
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

/* Building blocks. A number of the tensor's type. */
liana_tensor liana__optimizer_scalar(liana_tensor like, double value);
/* decay * old + (1 - decay) * value, written as old + (1 - decay) * (value - old): one rounding less. */
liana_tensor liana__optimizer_average(liana_tensor old, liana_tensor value, double decay);
/* 1 - decay^iteration, by which an average that began at 0 is too small. */
liana_tensor liana__optimizer_correction(liana_tensor iteration, double decay);
/* a / b for norms; 1 if one of them is 0. */
liana_tensor liana__optimizer_ratio(liana_tensor a, liana_tensor b);
/* Ends an update: the new variable is the old one less `descent`. */
void liana__optimizer_descend(liana__optimizer_step *step, liana_tensor descent);

/* Reads {name: NAME, learning_rate: RATE or {name: SCHEDULE, ...}, rate_multipliers: {PATTERN: FACTOR, ...}, and the
 * optimizer's options}, and finds all errors in it; whether patterns match weights is not known yet. The names may be the context's own (NULL: there are none). `where` is its dotted key. Errors: INVALID_CONFIG; OUT_OF_MEMORY. */
liana_status liana__optimizer_read(const liana_context *context, const liana__value *value, const char *where,
                                   liana__arena *arena, liana__optimizer_choice *choice, liana__error *error)
    LIANA_MUST_USE;

/* The number of the optimizer's own slots for each variable. */
size_t liana__optimizer_num_slots(const liana__optimizer *optimizer, const void *options);

/* What the optimizer itself reads beyond an element. */
liana__update_reads liana__optimizer_reads(const liana__optimizer *optimizer, const void *options);

#endif
