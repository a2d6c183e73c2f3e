/* update_rule.h - an optimizer with the common work of all optimizers: gradients of several steps, clipped gradients,
 * weight decay, Lookahead, averages of the weights, and sums for a learning rate that follows the training. The order
 * is Keras's:
 *
 *     gradients join those of the steps before, and unless it is time for an update, nothing else happens; gradients
 *     are clipped; weights decay; the optimizer updates them; they go back towards where they were (Lookahead), if it
 *     is time; averages follow the weights; weights become their averages, if it is time.
 *
 * Without these options an update has no op more than the optimizer's.
 *
 * A LossScaleOptimizer and a MultiOptimizer are rules with other rules within. Those of one weight (liana__rule_of)
 * have slots, and take part in an update; sums and checks are those of the whole rule. */
#ifndef LIANA_OPTIMIZERS_UPDATE_RULE_H
#define LIANA_OPTIMIZERS_UPDATE_RULE_H

#include "optimizers/optimizer.h"

typedef struct liana__update_rule {
    const liana_optimizer_type *optimizer;
    const void *options; /* of the optimizer; NULL: it has none, and none of this is done */
    bool adapts_rate;    /* the schedule follows the training: liana_schedule_type.adapt */
    /* Of a weight's rule; zeros if the whole rule is that. */
    const liana__loss_scale_options *loss_scale; /* around it; NULL: none */
    size_t number;                               /* of its learning rate: liana__rule_num_rates */
    size_t first_round;                          /* of its sums among those of the whole rule */
} liana__update_rule;

/* The rule of a weight. Given a weight's rule, the same. */
liana__update_rule liana__rule_of(const liana__update_rule *rule, const char *variable);
/* The learning rates of a whole rule: that of a MultiOptimizer's default, then those of its others. Else there is one.
 * NULL for number 0: it is that of the choice. */
size_t liana__rule_num_rates(const liana__update_rule *rule);
const liana_learning_rate *liana__rule_rate(const liana__update_rule *rule, size_t number);

/* The rule of all weights that follow a rate. */
liana__update_rule liana__rule_numbered(const liana__update_rule *rule, size_t number);

/* The slots of each variable: the optimizer's, then "direction", "gradient_accumulator", "slow" (Lookahead's),
 * "average" and "loss_scale" where they are needed. All are of a weight's rule. */
size_t liana__rule_num_slots(const liana__update_rule *rule);
const char *liana__rule_slot_name(const liana__update_rule *rule, size_t slot);
/* "optimizer/Adam/m/dense/kernel": the variable that a slot of a variable is. In `name`. */
void liana__rule_slot_variable(const liana__update_rule *rule, size_t slot, const char *variable, char *name,
                               size_t size);
double liana__rule_slot_begins_at(const liana__update_rule *rule, size_t slot);
/* That of the variable, but of "loss_scale" [LIANA__NUM_LOSS_SCALES]: the same numbers for every weight. */
liana_shape liana__rule_slot_shape(const liana__update_rule *rule, size_t slot, const liana_shape *variable);
enum {
    LIANA__LOSS_SCALE_FACTOR,  /* the scale, from the second update on */
    LIANA__LOSS_SCALE_COUNT,   /* updates since it was changed */
    LIANA__LOSS_SCALE_SKIPPED, /* updates that were skipped */
    LIANA__NUM_LOSS_SCALES,
};
/* The most slots of any weight. */
size_t liana__rule_most_slots(const liana__update_rule *rule);

/* Of the whole rule: whether that of any weight does. */
bool liana__rule_keeps_averages(const liana__update_rule *rule);
/* The slot of the averages, or of the directions; the rule has it. */
size_t liana__rule_average_slot(const liana__update_rule *rule);

/* The sums that an update of the whole rule reads beyond an element. The terms of its rounds are those of
 * liana__rule_terms. */
liana_update_reads liana__rule_reads(const liana__update_rule *rule);
/* The round whose sums are for the learning rate. It is the rate of the later updates. SIZE_MAX: there is none. */
size_t liana__rule_rate_round(const liana__update_rule *rule);

/* Whether a whole rule has more rounds than an update can. */
bool liana__rule_has_many_rounds(const liana__update_rule *rule);

/* The rest is of a weight's rule. For the update of a variable of this name: options and weight decay. The caller sets
 * the tensors. */
liana_optimizer_step liana__rule_begin(const liana__update_rule *rule, const char *variable);
/* As liana_sum_round.terms, of any round. */
void liana__rule_terms(const liana__update_rule *rule, size_t round, const liana_optimizer_step *step,
                       liana_tensor *terms);
/* As liana_optimizer_type.update. */
void liana__rule_update(const liana__update_rule *rule, liana_optimizer_step *step);
/* The new value of the variable once a constraint has changed it: the old one where the update is skipped. */
liana_tensor liana__rule_constrained(const liana__update_rule *rule, const liana_optimizer_step *step,
                                     liana_tensor value);

/* Of the whole rule: whether each pattern of exclude_from_weight_decay and of a MultiOptimizer matches one of the
 * names. Errors: INVALID_CONFIG with the pattern and some names. */
liana_status liana__rule_check_names(const liana__update_rule *rule, const char *const *names, size_t count,
                                     liana__error *error) LIANA_MUST_USE;

/* Checks the common options together. `value` is the value that they were read from, `where` its dotted key. Errors:
 * INVALID_CONFIG. */
liana_status liana__optimizer_check_common(const liana_optimizer_common *common, const liana__value *value,
                                           const char *where, liana__error *error) LIANA_MUST_USE;

#endif
