/* Clipping, weight decay, averages of weights and the rate's sums around any optimizer. */
#include "optimizers/update_rule.h"

#include <math.h>
#include <regex.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* No options, or those of other optimizers around: none of this. */
static const liana_optimizer_common *common_of(const liana__update_rule *rule)
{
    static const liana_optimizer_common nothing = {.weight_decay = NAN,
                                                   .clipnorm = NAN,
                                                   .clipvalue = NAN,
                                                   .global_clipnorm = NAN};
    const bool is_around =
        liana__as_loss_scale(rule->optimizer, rule->options) || liana__as_multi(rule->optimizer, rule->options);
    return rule->options && !is_around ? rule->options : &nothing;
}

/* ---- rules within rules ---- */

liana__update_rule liana__rule_of(const liana__update_rule *rule, const char *variable)
{
    liana__update_rule own = *rule;
    const liana__loss_scale_options *scale = liana__as_loss_scale(own.optimizer, own.options);
    if (scale) {
        own.optimizer = scale->inner->optimizer;
        own.options = scale->inner->options;
        own.loss_scale = scale;
        own.first_round++;
    }
    const liana__multi_options *multi = liana__as_multi(own.optimizer, own.options);
    if (!multi) return own;
    own.number = liana__multi_find(multi, variable);
    for (size_t i = 0; i <= own.number; i++) {
        own.optimizer = multi->items[i].choice.optimizer;
        own.options = multi->items[i].choice.options;
        if (i < own.number) own.first_round += liana__rule_reads(&own).num_rounds;
    }
    return own;
}

/* NULL: the rule has one optimizer. */
static const liana__multi_options *multi_of(const liana__update_rule *rule)
{
    const liana__loss_scale_options *scale = liana__as_loss_scale(rule->optimizer, rule->options);
    return scale ? liana__as_multi(scale->inner->optimizer, scale->inner->options)
                 : liana__as_multi(rule->optimizer, rule->options);
}

size_t liana__rule_num_rates(const liana__update_rule *rule)
{
    const liana__multi_options *multi = multi_of(rule);
    return multi ? multi->count : 1;
}

const liana_learning_rate *liana__rule_rate(const liana__update_rule *rule, size_t number)
{
    return number ? &multi_of(rule)->items[number].choice.learning_rate : NULL;
}

liana__update_rule liana__rule_numbered(const liana__update_rule *rule, size_t number)
{
    const liana__loss_scale_options *scale = liana__as_loss_scale(rule->optimizer, rule->options);
    const liana__multi_options *multi = multi_of(rule);
    const liana__optimizer_choice *choice = multi ? &multi->items[number].choice : scale ? scale->inner : NULL;
    liana__update_rule own = *rule;
    if (choice) own = (liana__update_rule){.optimizer = choice->optimizer, .options = choice->options};
    if (scale) own.loss_scale = scale;
    return own;
}

size_t liana__rule_most_slots(const liana__update_rule *rule)
{
    size_t most = 0;
    for (size_t i = 0; i < liana__rule_num_rates(rule); i++) {
        const liana__update_rule own = liana__rule_numbered(rule, i);
        const size_t count = liana__rule_num_slots(&own);
        if (count > most) most = count;
    }
    return most;
}

/* ---- slots ---- */

static bool keeps_average(const liana__update_rule *rule)
{
    return common_of(rule)->use_ema || common_of(rule)->swa_period;
}

bool liana__rule_keeps_averages(const liana__update_rule *rule)
{
    for (size_t i = 0; i < liana__rule_num_rates(rule); i++) {
        const liana__update_rule own = liana__rule_numbered(rule, i);
        if (keeps_average(&own)) return true;
    }
    return false;
}

static bool accumulates(const liana__update_rule *rule)
{
    return common_of(rule)->gradient_accumulation_steps > 1;
}

static bool looks_ahead(const liana__update_rule *rule)
{
    return common_of(rule)->lookahead_period > 0;
}

static size_t direction_slot(const liana__update_rule *rule)
{
    return liana__optimizer_num_slots(rule->optimizer, rule->options);
}

static size_t accumulator_slot(const liana__update_rule *rule)
{
    return direction_slot(rule) + rule->adapts_rate;
}

static size_t slow_slot(const liana__update_rule *rule)
{
    return accumulator_slot(rule) + accumulates(rule);
}

size_t liana__rule_average_slot(const liana__update_rule *rule)
{
    return slow_slot(rule) + looks_ahead(rule);
}

static size_t scale_slot(const liana__update_rule *rule)
{
    return liana__rule_average_slot(rule) + keeps_average(rule);
}

size_t liana__rule_num_slots(const liana__update_rule *rule)
{
    return scale_slot(rule) + (rule->loss_scale != NULL);
}

const char *liana__rule_slot_name(const liana__update_rule *rule, size_t slot)
{
    const size_t own = direction_slot(rule);
    const liana_optimizer_type *optimizer = rule->optimizer;
    if (slot < own && optimizer->slot_name) return optimizer->slot_name(rule->options, slot);
    if (slot < own) return optimizer->slots[slot];
    if (slot < accumulator_slot(rule)) return "direction";
    if (slot < slow_slot(rule)) return "gradient_accumulator";
    if (slot < liana__rule_average_slot(rule)) return "slow";
    return slot < scale_slot(rule) ? "average" : "loss_scale";
}

void liana__rule_slot_variable(const liana__update_rule *rule, size_t slot, const char *variable, char *name,
                               size_t size)
{
    snprintf(name, size, "optimizer/%s/%s/%s", rule->optimizer->part.name, liana__rule_slot_name(rule, slot), variable);
}

double liana__rule_slot_begins_at(const liana__update_rule *rule, size_t slot)
{
    const liana_optimizer_type *optimizer = rule->optimizer;
    if (slot >= direction_slot(rule) || !optimizer->slot_begins_at) return 0;
    return optimizer->slot_begins_at(rule->options, slot);
}

liana_shape liana__rule_slot_shape(const liana__update_rule *rule, size_t slot, const liana_shape *variable)
{
    return slot < scale_slot(rule) ? *variable : liana_shape_of(LIANA__NUM_LOSS_SCALES);
}

/* ---- gradients of several steps ---- */

static liana_tensor quotient(liana_tensor number, double divisor)
{
    return liana_op_divide(number, liana__optimizer_scalar(number, divisor));
}

/* Whether a number of updates is a multiple. Numbers below 2^24 are exact, and so is their quotient where it is
 * whole. */
static liana_tensor is_multiple(liana_tensor number, int64_t of)
{
    liana_tensor times = quotient(number, (double)of);
    return liana_op_equal(times, liana_op_floor(times));
}

/* The step with the mean gradient of the steps since the last update, and the number of updates. */
static liana_optimizer_step accumulated(const liana__update_rule *rule, const liana_optimizer_step *step)
{
    liana_optimizer_step whole = *step;
    if (!accumulates(rule)) return whole;
    const double steps = (double)common_of(rule)->gradient_accumulation_steps;
    liana_tensor one = liana__optimizer_scalar(step->iteration, 1);
    whole.gradient = quotient(liana_op_add(step->gradient, step->slots[accumulator_slot(rule)]), steps);
    whole.iteration = liana_op_add(liana_op_floor(quotient(liana_op_subtract(step->iteration, one), steps)), one);
    return whole;
}

/* Unless it is time for an update, weights and slots stay, and the gradient joins the others. */
static void keep_until_update(const liana__update_rule *rule, liana_optimizer_step *step)
{
    if (!accumulates(rule)) return;
    const size_t accumulator = accumulator_slot(rule);
    liana_tensor is_time = is_multiple(step->iteration, common_of(rule)->gradient_accumulation_steps);
    liana_tensor sum = liana_op_add(step->gradient, step->slots[accumulator]);
    step->new_slots[accumulator] = sum;
    for (size_t i = 0; i < slow_slot(rule) + looks_ahead(rule); i++) {
        liana_tensor old = i == accumulator ? sum : step->slots[i];
        liana_tensor none = liana_op_multiply(sum, liana__optimizer_scalar(sum, 0));
        step->new_slots[i] = liana_op_select(is_time, i == accumulator ? none : step->new_slots[i], old);
    }
    step->new_variable = liana_op_select(is_time, step->new_variable, step->variable);
}

/* ---- rounds of sums: of the clipping, of the rate, of the optimizer ---- */

static bool clips_by_norm(const liana__update_rule *rule)
{
    return !isnan(common_of(rule)->clipnorm) || !isnan(common_of(rule)->global_clipnorm);
}

/* The gradient, as all that comes after the clipping sees it. A norm that is not finite makes it NaN, as in Keras: it
 * must not pass for a small gradient. */
static liana_tensor clipped(const liana__update_rule *rule, const liana_optimizer_step *step)
{
    const liana_optimizer_common *common = common_of(rule);
    if (!isnan(common->clipvalue)) return liana_op_clip(step->gradient, -common->clipvalue, common->clipvalue);
    if (!clips_by_norm(rule)) return step->gradient;
    liana_tensor norm = liana_op_sqrt(step->sums[0][0]);
    double most = isnan(common->clipnorm) ? common->global_clipnorm : common->clipnorm;
    liana_tensor limit = liana__optimizer_scalar(norm, most);
    liana_tensor scale = liana_op_divide(limit, liana_op_maximum(norm, limit));
    liana_tensor zero_if_finite = liana_op_subtract(norm, norm);
    return liana_op_multiply(step->gradient, liana_op_add(scale, zero_if_finite));
}

static void clip_terms(const liana_optimizer_step *step, liana_tensor *terms)
{
    terms[0] = liana_op_square(step->gradient);
}

static size_t rate_round(const liana__update_rule *rule)
{
    return clips_by_norm(rule);
}

size_t liana__rule_rate_round(const liana__update_rule *rule)
{
    return rule->adapts_rate ? rule->first_round + rate_round(rule) : SIZE_MAX;
}

static size_t first_own_round(const liana__update_rule *rule)
{
    return rate_round(rule) + rule->adapts_rate;
}

static void add_round(liana_update_reads *reads, liana_sum_scope scope, size_t num_sums,
                      void (*terms)(const liana_optimizer_step *step, liana_tensor *terms))
{
    reads->rounds[reads->num_rounds++] = (liana_sum_round){scope, num_sums, terms};
}

static void rate_terms(liana_tensor gradient, liana_tensor direction, liana_tensor *terms)
{
    terms[LIANA_RATE_PRODUCT] = liana_op_multiply(gradient, direction);
    terms[LIANA_RATE_GRADIENT] = liana_op_square(gradient);
    terms[LIANA_RATE_DIRECTION] = liana_op_square(direction);
}

/* Those of one optimizer. */
static liana_update_reads reads_of_one(const liana__update_rule *rule)
{
    liana_update_reads own = liana__optimizer_reads(rule->optimizer, rule->options), reads = {.whole = own.whole};
    if (clips_by_norm(rule)) {
        bool global = isnan(common_of(rule)->clipnorm);
        add_round(&reads, global ? LIANA_SUM_OF_ALL : LIANA_SUM_OF_VARIABLE, 1, clip_terms);
    }
    if (rule->adapts_rate) add_round(&reads, LIANA_SUM_OF_ALL, LIANA_NUM_RATE_SUMS, NULL);
    for (size_t i = 0; i < own.num_rounds && reads.num_rounds < LIANA_MAX_SUM_ROUNDS; i++) {
        add_round(&reads, own.rounds[i].scope, own.rounds[i].num_sums, own.rounds[i].terms);
    }
    return reads;
}

static size_t count_rounds(const liana__update_rule *rule)
{
    size_t count = liana__as_loss_scale(rule->optimizer, rule->options) != NULL;
    for (size_t i = 0; i < liana__rule_num_rates(rule); i++) {
        const liana__update_rule own = liana__rule_numbered(rule, i);
        count += reads_of_one(&own).num_rounds;
    }
    return count;
}

bool liana__rule_has_many_rounds(const liana__update_rule *rule)
{
    return count_rounds(rule) > LIANA_MAX_SUM_ROUNDS;
}

/* A LossScaleOptimizer's first round counts numbers that are not finite. Its slot is of a whole weight. */
liana_update_reads liana__rule_reads(const liana__update_rule *rule)
{
    liana_update_reads reads = {0};
    if (liana__as_loss_scale(rule->optimizer, rule->options)) {
        reads.whole = true;
        add_round(&reads, LIANA_SUM_OF_ALL, 1, NULL);
    }
    for (size_t i = 0; i < liana__rule_num_rates(rule); i++) {
        const liana__update_rule own = liana__rule_numbered(rule, i);
        const liana_update_reads more = reads_of_one(&own);
        reads.whole |= more.whole;
        for (size_t k = 0; k < more.num_rounds && reads.num_rounds < LIANA_MAX_SUM_ROUNDS; k++) {
            reads.rounds[reads.num_rounds++] = more.rounds[k];
        }
    }
    return reads;
}

/* ---- weight decay ---- */

static bool matches(const char *pattern, const char *name)
{
    regex_t compiled;
    if (regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB) != 0) return false;
    bool found = regexec(&compiled, name, 0, NULL, 0) == 0;
    regfree(&compiled);
    return found;
}

static bool is_excluded(const liana__update_rule *rule, const char *variable)
{
    const liana__strings *patterns = &common_of(rule)->exclude_from_weight_decay;
    for (size_t i = 0; i < patterns->count; i++) {
        if (matches(patterns->items[i], variable)) return true;
    }
    return false;
}

liana_optimizer_step liana__rule_begin(const liana__update_rule *rule, const char *variable)
{
    double decay = common_of(rule)->weight_decay;
    liana_optimizer_step step = {.options = rule->options, .name = variable, .excluded = is_excluded(rule, variable)};
    step.weight_decay = isnan(decay) || step.excluded ? 0 : decay;
    return step;
}

static bool decays_before(const liana__update_rule *rule, const liana_optimizer_step *step)
{
    return step->weight_decay > 0 && !rule->optimizer->own_weight_decay;
}

static liana_tensor decayed(const liana__update_rule *rule, const liana_optimizer_step *step)
{
    if (!decays_before(rule, step)) return step->variable;
    liana_tensor decay = liana__optimizer_scalar(step->variable, step->weight_decay);
    liana_tensor share = liana_op_multiply(step->learning_rate, decay);
    return liana_op_subtract(step->variable, liana_op_multiply(step->variable, share));
}

/* ---- the update ---- */

/* The step as the optimizer sees it. */
static liana_optimizer_step inner_step(const liana__update_rule *rule, const liana_optimizer_step *step)
{
    liana_optimizer_step inner = *step;
    const size_t first = first_own_round(rule);
    inner.gradient = clipped(rule, step);
    inner.variable = decayed(rule, step);
    memset(inner.sums, 0, sizeof inner.sums);
    for (size_t round = first; round < LIANA_MAX_SUM_ROUNDS; round++) {
        memcpy(inner.sums[round - first], step->sums[round], sizeof *inner.sums);
    }
    return inner;
}

/* The number of a slot of LIANA__NUM_LOSS_SCALES numbers, as a scalar. */
static liana_tensor scale_number(liana_tensor slot, int64_t number)
{
    const int64_t end = number + 1;
    return liana_op_reshape(liana_op_slice(slot, &number, &end, NULL), LIANA_SCALAR);
}

/* The step with the sums and the number of updates that the optimizer has. */
static liana_optimizer_step own_step(const liana__update_rule *rule, const liana_optimizer_step *step)
{
    liana_optimizer_step own = *step;
    memset(own.sums, 0, sizeof own.sums);
    for (size_t round = rule->first_round; round < LIANA_MAX_SUM_ROUNDS; round++) {
        memcpy(own.sums[round - rule->first_round], step->sums[round], sizeof *own.sums);
    }
    if (rule->loss_scale) {
        liana_tensor skipped = scale_number(step->slots[scale_slot(rule)], LIANA__LOSS_SCALE_SKIPPED);
        own.iteration = liana_op_subtract(step->iteration, skipped);
    }
    return own;
}

static liana_tensor scale_of(const liana__update_rule *rule, const liana_optimizer_step *step)
{
    liana_tensor kept = scale_number(step->slots[scale_slot(rule)], LIANA__LOSS_SCALE_FACTOR);
    liana_tensor is_later = liana_op_greater(step->iteration, liana__optimizer_scalar(step->iteration, 1));
    return liana_op_select(is_later, kept, liana__optimizer_scalar(kept, rule->loss_scale->initial_scale));
}

/* 1 for each number of the scaled gradient that is not finite. */
static liana_tensor scale_terms(const liana__update_rule *rule, const liana_optimizer_step *step)
{
    liana_tensor scaled = liana_op_multiply(step->gradient, scale_of(rule, step));
    return liana_op_select(liana_op_is_finite(scaled), liana__optimizer_scalar(scaled, 0),
                           liana__optimizer_scalar(scaled, 1));
}

static void own_terms(const liana__update_rule *rule, size_t round, const liana_optimizer_step *given,
                      liana_tensor *terms)
{
    const liana_optimizer_step own = own_step(rule, given), whole = accumulated(rule, &own), *step = &whole;
    if (round < rate_round(rule)) {
        clip_terms(step, terms);
    } else if (round < first_own_round(rule)) {
        rate_terms(clipped(rule, step), step->slots[direction_slot(rule)], terms);
    } else {
        liana_optimizer_step inner = inner_step(rule, step);
        liana_update_reads reads = liana__optimizer_reads(rule->optimizer, rule->options);
        reads.rounds[round - first_own_round(rule)].terms(&inner, terms);
    }
}

void liana__rule_terms(const liana__update_rule *rule, size_t round, const liana_optimizer_step *step,
                       liana_tensor *terms)
{
    const liana_shape shape = liana_tensor_shape(step->variable);
    if (rule->loss_scale && round == 0) {
        terms[0] = scale_terms(rule, step);
        return;
    }
    if (round >= rule->first_round && round - rule->first_round < reads_of_one(rule).num_rounds) {
        own_terms(rule, round - rule->first_round, step, terms);
        return;
    }
    /* A round of other weights. */
    for (size_t i = 0; i < LIANA_MAX_ROUND_SUMS; i++) {
        terms[i] = liana_op_broadcast_to(liana__optimizer_scalar(step->variable, 0), shape);
    }
}

/* The part of the variable that the update subtracts, over the learning rate. */
static liana_tensor direction(const liana__update_rule *rule, const liana_optimizer_step *step,
                              const liana_optimizer_step *inner)
{
    liana_tensor descent = inner->descent.id  ? inner->descent
                           : inner->change.id ? liana_op_negate(inner->change)
                                              : liana_op_subtract(inner->variable, inner->new_variable);
    liana_tensor taken = liana_op_divide(descent, step->common_rate);
    if (!decays_before(rule, step)) return taken;
    liana_tensor decay = liana__optimizer_scalar(step->variable, step->weight_decay);
    decay = liana_op_multiply(decay, liana_op_divide(step->learning_rate, step->common_rate));
    return liana_op_add(taken, liana_op_multiply(step->variable, decay));
}

/* Zhang et al. 2019, "Lookahead optimizer: k steps forward, 1 step back": every so many updates slow weights go a share
 * of the way to the weights, which go on from there. */
static void look_ahead(const liana__update_rule *rule, const liana_optimizer_step *before, liana_optimizer_step *step)
{
    if (!looks_ahead(rule)) return;
    const size_t slot = slow_slot(rule);
    liana_tensor value = step->new_variable, one = liana__optimizer_scalar(value, 1);
    liana_tensor slow =
        liana_op_select(liana_op_greater(before->iteration, one), before->slots[slot], before->variable);
    liana_tensor share = liana__optimizer_scalar(value, common_of(rule)->lookahead_step_size);
    liana_tensor next = liana_op_add(slow, liana_op_multiply(share, liana_op_subtract(value, slow)));
    liana_tensor is_time = is_multiple(before->iteration, common_of(rule)->lookahead_period);
    step->new_slots[slot] = liana_op_select(is_time, next, slow);
    step->new_variable = liana_op_select(is_time, next, value);
}

/* Izmailov et al. 2018, "Averaging weights leads to wider optima and better generalization": the mean of the weights
 * after `swa_start` updates, and after every period from then on. Until then it is the weights. */
static liana_tensor swa_average(const liana__update_rule *rule, const liana_optimizer_step *step, liana_tensor value,
                                liana_tensor is_update)
{
    const double start = (double)common_of(rule)->swa_start;
    liana_tensor one = liana__optimizer_scalar(value, 1), old = step->slots[liana__rule_average_slot(rule)];
    liana_tensor mean = liana_op_select(liana_op_greater(step->iteration, one), old, step->variable);
    liana_tensor since = liana_op_subtract(step->iteration, liana__optimizer_scalar(step->iteration, start));
    liana_tensor count = liana_op_add(quotient(since, (double)common_of(rule)->swa_period), one);
    liana_tensor has_begun = liana_op_greater(since, liana__optimizer_scalar(since, 0));
    count = liana_op_maximum(count, one);
    liana_tensor joined = liana_op_add(mean, liana_op_divide(liana_op_subtract(value, mean), count));
    liana_tensor next = liana_op_select(is_multiple(since, common_of(rule)->swa_period), joined, mean);
    if (accumulates(rule)) next = liana_op_select(is_update, next, mean);
    return liana_op_select(has_begun, next, value);
}

/* The first average is the weight itself. */
static liana_tensor ema_average(const liana__update_rule *rule, const liana_optimizer_step *step, liana_tensor value)
{
    liana_tensor one = liana__optimizer_scalar(value, 1), old = step->slots[liana__rule_average_slot(rule)];
    liana_tensor stays = liana__optimizer_scalar(value, common_of(rule)->ema_momentum);
    liana_tensor is_later = liana_op_greater(step->iteration, one), none = liana__optimizer_scalar(value, 0);
    liana_tensor momentum = liana_op_select(is_later, stays, none);
    return liana_op_add(liana_op_multiply(momentum, old), liana_op_multiply(liana_op_subtract(one, momentum), value));
}

/* The average where the number of updates is a multiple of the frequency. */
static liana_tensor overwritten(const liana__update_rule *rule, const liana_optimizer_step *step, liana_tensor average,
                                liana_tensor value)
{
    int64_t frequency = common_of(rule)->ema_overwrite_frequency;
    if (frequency == 0) return value;
    return liana_op_select(is_multiple(step->iteration, frequency), average, value);
}

static void update_one(const liana__update_rule *rule, liana_optimizer_step *step)
{
    const liana_optimizer_step whole = accumulated(rule, step);
    liana_optimizer_step inner = inner_step(rule, &whole);
    liana__optimizer_update(rule->optimizer, &inner);
    memcpy(step->new_slots, inner.new_slots, sizeof step->new_slots);
    step->new_variable = inner.new_variable;
    if (rule->adapts_rate) step->new_slots[direction_slot(rule)] = direction(rule, &whole, &inner);
    look_ahead(rule, &whole, step);
    keep_until_update(rule, step);
    if (!keeps_average(rule)) return;
    liana_tensor value = step->new_variable;
    liana_tensor is_update = {0};
    if (accumulates(rule)) is_update = is_multiple(step->iteration, common_of(rule)->gradient_accumulation_steps);
    liana_tensor average =
        common_of(rule)->use_ema ? ema_average(rule, &whole, value) : swa_average(rule, &whole, value, is_update);
    step->new_slots[liana__rule_average_slot(rule)] = average;
    step->new_variable = overwritten(rule, &whole, average, value);
}

static liana_tensor is_taken(const liana_optimizer_step *step)
{
    return liana_op_equal(step->sums[0][0], liana__optimizer_scalar(step->sums[0][0], 0));
}

liana_tensor liana__rule_constrained(const liana__update_rule *rule, const liana_optimizer_step *step,
                                     liana_tensor value)
{
    return rule->loss_scale ? liana_op_select(is_taken(step), value, step->variable) : value;
}

/* If the update is taken, it counts, and after enough of them the scale is doubled; else the scale is halved. */
static liana_tensor next_scale(const liana__update_rule *rule, const liana_optimizer_step *step)
{
    liana_tensor old = step->slots[scale_slot(rule)], scale = scale_of(rule, step);
    liana_tensor count = scale_number(old, LIANA__LOSS_SCALE_COUNT), taken = is_taken(step);
    liana_tensor skipped = scale_number(old, LIANA__LOSS_SCALE_SKIPPED), one = liana__optimizer_scalar(old, 1);
    liana_tensor last = liana__optimizer_scalar(old, (double)rule->loss_scale->dynamic_growth_steps - 1);
    liana_tensor grows = liana_op_equal(count, last), none = liana__optimizer_scalar(old, 0);
    liana_tensor factor = liana_op_select(grows, liana__optimizer_scalar(old, 2), one);
    factor = liana_op_select(taken, factor, liana__optimizer_scalar(old, 0.5));
    liana_tensor next =
        liana_op_select(liana_op_logical_and(taken, liana_op_logical_not(grows)), liana_op_add(count, one), none);
    liana_tensor parts[LIANA__NUM_LOSS_SCALES] = {
        [LIANA__LOSS_SCALE_FACTOR] = liana_op_multiply(scale, factor),
        [LIANA__LOSS_SCALE_COUNT] = next,
        [LIANA__LOSS_SCALE_SKIPPED] = liana_op_select(taken, skipped, liana_op_add(skipped, one)),
    };
    for (size_t i = 0; i < LIANA__NUM_LOSS_SCALES; i++) parts[i] = liana_op_reshape(parts[i], liana_shape_of(1));
    return liana_op_concat(parts, LIANA__NUM_LOSS_SCALES, 0);
}

void liana__rule_update(const liana__update_rule *rule, liana_optimizer_step *step)
{
    liana_optimizer_step own = own_step(rule, step);
    update_one(rule, &own);
    step->new_variable = liana__rule_constrained(rule, step, own.new_variable);
    for (size_t i = 0; i < scale_slot(rule); i++) {
        step->new_slots[i] = own.new_slots[i];
        if (rule->loss_scale) step->new_slots[i] = liana_op_select(is_taken(step), own.new_slots[i], step->slots[i]);
    }
    if (rule->loss_scale) step->new_slots[scale_slot(rule)] = next_scale(rule, step);
}

/* ---- checks ---- */

static liana_status check_exclusions(const liana__update_rule *rule, const char *const *names, size_t count,
                                     liana__error *error)
{
    const liana__strings *patterns = &common_of(rule)->exclude_from_weight_decay;
    for (size_t i = 0; i < patterns->count; i++) {
        bool found = false;
        for (size_t k = 0; k < count && !found; k++) found = matches(patterns->items[i], names[k]);
        if (found) continue;
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "optimizer.exclude_from_weight_decay: '%.100s' matches no weight, expected a part of a name "
                           "such as '%.100s' or '%.100s'",
                           patterns->items[i], count ? names[0] : "", count ? names[count - 1] : "");
    }
    return LIANA_OK;
}

liana_status liana__rule_check_names(const liana__update_rule *rule, const char *const *names, size_t count,
                                     liana__error *error)
{
    const liana__multi_options *multi = multi_of(rule);
    for (size_t i = 0; i < liana__rule_num_rates(rule); i++) {
        const liana__update_rule own = liana__rule_numbered(rule, i);
        LIANA_TRY(check_exclusions(&own, names, count, error));
    }
    return multi ? liana__multi_check(multi, names, count, error) : LIANA_OK;
}

static liana_status fail_at_key(const liana__value *value, const char *where, const char *key, liana__error *error,
                                const char *message)
{
    char full[256];
    const liana__value *item = liana__value_get(value, key);
    snprintf(full, sizeof full, "%s.%s", where, key);
    return liana__fail_at(error, item ? &item->place : &value->place, full, "%s", message);
}

static liana_status check_clipping(const liana_optimizer_common *common, const liana__value *value, const char *where,
                                   liana__error *error)
{
    static const char *const names[] = {"clipnorm", "clipvalue", "global_clipnorm"};
    const double given[] = {common->clipnorm, common->clipvalue, common->global_clipnorm};
    const char *first = NULL;
    for (size_t i = 0; i < 3; i++) {
        if (isnan(given[i])) continue;
        if (!first) {
            first = names[i];
            continue;
        }
        char message[160];
        snprintf(message, sizeof message, "found beside %s, expected one way to clip gradients; remove one of them",
                 first);
        return fail_at_key(value, where, names[i], error, message);
    }
    return LIANA_OK;
}

static liana_status check_pattern(const char *pattern, const liana__value *value, const char *where,
                                  liana__error *error)
{
    regex_t compiled;
    char why[128], message[320];
    int failed = regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB);
    if (failed == 0 && *pattern) {
        regfree(&compiled);
        return LIANA_OK;
    }
    if (failed == 0) {
        regfree(&compiled);
        snprintf(why, sizeof why, "it matches every name");
    } else {
        regerror(failed, &compiled, why, sizeof why);
    }
    snprintf(message, sizeof message, "found '%.100s', expected a regular expression for names of weights: %s", pattern,
             why);
    return fail_at_key(value, where, "exclude_from_weight_decay", error, message);
}

liana_status liana__optimizer_check_common(const liana_optimizer_common *common, const liana__value *value,
                                           const char *where, liana__error *error)
{
    const liana__strings *patterns = &common->exclude_from_weight_decay;
    LIANA_TRY(check_clipping(common, value, where, error));
    for (size_t i = 0; i < patterns->count; i++) LIANA_TRY(check_pattern(patterns->items[i], value, where, error));
    if (patterns->count && !(common->weight_decay > 0)) {
        return fail_at_key(value, where, "exclude_from_weight_decay", error,
                           "found without a weight_decay above 0, so there is nothing to exclude from; set "
                           "weight_decay, or remove this key");
    }
    if (common->gradient_accumulation_steps == 1) {
        return fail_at_key(value, where, "gradient_accumulation_steps", error,
                           "found 1, expected at least 2, or 0 for an update in each step");
    }
    if (common->use_ema && common->swa_period) {
        return fail_at_key(value, where, "swa_period", error,
                           "found beside use_ema: true, expected one kind of averages; remove one of them");
    }
    if (common->swa_start && !common->swa_period) {
        return fail_at_key(value, where, "swa_start", error,
                           "found without a swa_period, so there is no mean; set swa_period, or remove this key");
    }
    if (common->ema_overwrite_frequency && !common->use_ema) {
        return fail_at_key(value, where, "ema_overwrite_frequency", error,
                           "found without use_ema: true, so there are no averages; set use_ema, or remove this key");
    }
    return LIANA_OK;
}
