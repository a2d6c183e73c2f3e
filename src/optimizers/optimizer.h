/* optimizer.h - optimizers, which are liana_optimizer_type of <liana/parts.h>. To add one: src/optimizers/<stem>.c with
 * the struct, and a row in optimizers.def. Optimizers are written in ops, so one file serves every device. */
#ifndef LIANA_OPTIMIZERS_OPTIMIZER_H
#define LIANA_OPTIMIZERS_OPTIMIZER_H

#include "optimizers/rate_multipliers.h"
#include "optimizers/schedule.h"

#include <liana/ops.h>

#define LIANA__OPTIMIZER(stem, name) extern const liana_optimizer_type liana__optimizer_##name;
#include "optimizers/optimizers.def"
#undef LIANA__OPTIMIZER

/* The kind: its list has all optimizers in the order of optimizers.def. */
extern const liana__kind liana__optimizer_kind;

/* The options of Adam and its relatives begin with this, and their tables with these rows. */
typedef struct liana__moments_options {
    liana_optimizer_common common;
    double beta_1;
    double beta_2;
    double epsilon;
} liana__moments_options;
#define LIANA__MOMENTS_ROWS                                                                                            \
    LIANA_OPTION_ROW(liana__moments_options, beta_1, FLOAT, .default_text = "0.9", .minimum = 0, .maximum = 0.9999999, \
                     .doc = "Decay of the mean of gradients."),                                                        \
        LIANA_OPTION_ROW(liana__moments_options, beta_2, FLOAT, .default_text = "0.999", .minimum = 0,                 \
                         .maximum = 0.9999999, .doc = "Decay of the mean of squared gradients."),                      \
        LIANA_OPTION_ROW(liana__moments_options, epsilon, FLOAT, .default_text = "1e-7", .minimum = 0, .maximum = 1e3, \
                         .doc = "Added to the root, against division by zero.")

/* An optimizer with its options and its learning rate. The lengths in steps are not known yet. */
typedef struct liana__optimizer_choice {
    const liana_optimizer_type *optimizer;
    const void *options;
    liana_learning_rate learning_rate;
    const liana__rate_multipliers *rate_multipliers; /* NULL: none */
} liana__optimizer_choice;

/* The options of LossScaleOptimizer and MultiOptimizer, which have other optimizers within. They have no common options
 * of their own. */
typedef struct liana__loss_scale_options {
    liana_optimizer_common common;       /* zeros */
    const liana__value *inner_optimizer; /* as it was given */
    double initial_scale;
    int64_t dynamic_growth_steps;
    const liana__optimizer_choice *inner;
} liana__loss_scale_options;

/* An optimizer of MultiOptimizer, and the names of the weights that it trains. */
typedef struct liana__mapped_optimizer {
    const char *pattern; /* the whole name, or a regular expression for whole names; NULL: all that no other one has */
    liana__place place;
    liana__optimizer_choice choice;
} liana__mapped_optimizer;

typedef struct liana__multi_options {
    liana_optimizer_common common;     /* zeros */
    const liana__value *optimizer_map; /* as it was given */
    double loss_scale_factor;          /* NaN: none */
    const char *where;                 /* the dotted key of the map's patterns, for messages */
    /* The default one is the first; the others are in the order of the map. */
    liana__mapped_optimizer *items;
    size_t count;
} liana__multi_options;

/* The options of an optimizer if it is that one; NULL: it is another. */
const liana__loss_scale_options *liana__as_loss_scale(const liana_optimizer_type *optimizer, const void *options);
const liana__multi_options *liana__as_multi(const liana_optimizer_type *optimizer, const void *options);

/* The number of the optimizer of a weight among the items. */
size_t liana__multi_find(const liana__multi_options *multi, const char *weight);
/* Checks that each weight has one optimizer, and that each pattern matches a weight. Errors: INVALID_CONFIG. */
liana_status liana__multi_check(const liana__multi_options *multi, const char *const *weights, size_t count,
                                liana__error *error) LIANA_MUST_USE;

/* Building blocks. A number of the tensor's type. */
liana_tensor liana__optimizer_scalar(liana_tensor like, double value);
/* decay * old + (1 - decay) * value, written as old + (1 - decay) * (value - old): one rounding less. */
liana_tensor liana__optimizer_average(liana_tensor old, liana_tensor value, double decay);
/* 1 - decay^iteration, by which an average that began at 0 is too small. */
liana_tensor liana__optimizer_correction(liana_tensor iteration, double decay);
/* a / b for norms; 1 if one of them is 0. */
liana_tensor liana__optimizer_ratio(liana_tensor a, liana_tensor b);
/* Ends an update: the new variable is the old one less `descent`. */
void liana__optimizer_descend(liana_optimizer_step *step, liana_tensor descent);

/* Whether Muon, with these options, trains a weight with Adam. */
bool liana__muon_is_adams(const void *options, const char *name, int rank);

/* Reads {name: NAME, learning_rate: RATE or {name: SCHEDULE, ...}, rate_multipliers: {PATTERN: FACTOR, ...}, and the
 * optimizer's options}, and finds all errors in it; whether patterns match weights is not known yet. The names
 * may be the context's own (NULL: there are none). `where` is its dotted key. Errors: INVALID_CONFIG; OUT_OF_MEMORY. */
liana_status liana__optimizer_read(const liana_context *context, const liana__value *value, const char *where,
                                   liana__arena *arena, liana__optimizer_choice *choice, liana__error *error)
    LIANA_MUST_USE;

/* The number of the optimizer's own slots for each variable. */
size_t liana__optimizer_num_slots(const liana_optimizer_type *optimizer, const void *options);

/* Builds the optimizer's update, and looks at its results. */
void liana__optimizer_update(const liana_optimizer_type *optimizer, liana_optimizer_step *step);

/* The sums that the optimizer itself reads beyond an element. */
liana_update_reads liana__optimizer_reads(const liana_optimizer_type *optimizer, const void *options);

#endif
