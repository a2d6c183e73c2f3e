/* annealing: after a number of updates a metric is measured, and the training goes on from there, or back to the last
 * accepted state to try another learning rate. Whether a worse state is accepted is drawn, less often as the energy
 * falls: the Metropolis rule of simulated annealing (Kirkpatrick, Gelatt, Vecchi, "Optimization by simulated
 * annealing", Science 220, 1983), where a worsening d is accepted with probability exp(-d / energy).
 *
 * A decision is made at the begin of the next step, so a checkpoint after the update before it has the decision still
 * to come, and a run that goes on from there decides the same. */
#include "base/random.h"
#include "train/callbacks/callback.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum cooling { COOLING_EXPONENTIAL, COOLING_LINEAR, COOLING_CONSTANT } cooling;
static const char *const coolings[] = {"exponential", "linear", "constant", NULL};

typedef struct annealing_options {
    liana__monitor_options watched;
    int64_t every_steps;
    double energy;
    int cooling; /* the enum */
    double cooling_rate;
    int64_t cooling_decisions;
    double factor_low, factor_high;
    double growth;
    double min_rate_factor, max_rate_factor;
} annealing_options;

typedef struct annealing {
    liana__snapshot accepted; /* the last accepted state, or the first one */
    int64_t stage;            /* that it is of */
    /* Those of earlier stages, which had other variables: saved states may refer to them. */
    liana__snapshot *retired;
    size_t num_retired, retired_capacity;
    double adapted_rate; /* its learning rate, by a schedule that follows the training */
    int64_t applied;     /* its number of updates, those taken back not counted */
    double reference;    /* its metric */
    bool knows_reference;
    int64_t decided;      /* the update after which the last decision was made, or the first state was taken */
    int64_t count;        /* of decisions */
    liana__totals window; /* of the updates since then, for a metric of the training */
    int64_t divergences;  /* updates in a row whose loss was not finite */
    int64_t measured_at;  /* an update after which an epoch's validation gave `measured`; -1: none */
    double measured;
} annealing;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(liana__monitor_options, monitor, STRING, .default_text = "val_loss",
                     .doc = "What decides: loss or a metric over the updates since the last decision; with val_ before "
                            "it that of a validation."),
    LIANA_OPTION_ROW(liana__monitor_options, mode, ENUM, .default_text = "auto", .names = liana__monitor_modes,
                     .doc = "Which values are better: min, max, or auto: smaller losses and errors, greater other "
                            "metrics."),
    LIANA_OPTION_ROW(annealing_options, every_steps, INT, .default_text = "100", .minimum = 1, .maximum = 1e12,
                     .doc = "Number of updates from one decision to the next."),
    LIANA_OPTION_ROW(annealing_options, energy, FLOAT, .default_text = "0.01", .minimum = 0, .maximum = 1e30,
                     .doc = "A worsening of this size is accepted with probability 0.37 at first; 0: no worsening is."),
    LIANA_OPTION_ROW(annealing_options, cooling, ENUM, .default_text = "exponential", .names = coolings,
                     .doc =
                         "How the energy falls: exponential: times cooling_rate after each decision; linear: to 0 in "
                         "cooling_decisions; constant: not at all."),
    LIANA_OPTION_ROW(annealing_options, cooling_rate, FLOAT, .default_text = "0.9", .minimum = 1e-6, .maximum = 1,
                     .doc = "Factor of the energy after each decision."),
    LIANA_OPTION_ROW(annealing_options, cooling_decisions, INT, .default_text = "50", .minimum = 1, .maximum = 1e9,
                     .doc = "Number of decisions until a linear cooling reaches 0."),
    LIANA_OPTION_ROW(annealing_options, factor_low, FLOAT, .default_text = "0.3", .minimum = 1e-6, .maximum = 1e6,
                     .doc = "After going back the rate is multiplied by a number drawn from factor_low to factor_high, "
                            "evenly in its logarithm."),
    LIANA_OPTION_ROW(annealing_options, factor_high, FLOAT, .default_text = "0.9", .minimum = 1e-6, .maximum = 1e6,
                     .doc = "The greatest such number."),
    LIANA_OPTION_ROW(annealing_options, growth, FLOAT, .default_text = "1.0", .minimum = 1e-6, .maximum = 1e6,
                     .doc = "After a state was accepted the rate is multiplied by this, 1 or more."),
    LIANA_OPTION_ROW(annealing_options, min_rate_factor, FLOAT, .default_text = "1.0e-4", .minimum = 1e-12,
                     .maximum = 1e12, .doc = "The rate is never less than the schedule's times this."),
    LIANA_OPTION_ROW(annealing_options, max_rate_factor, FLOAT, .default_text = "1.0", .minimum = 1e-12,
                     .maximum = 1e12, .doc = "The rate is never greater than the schedule's times this."),
};

/* ---- options ---- */

static liana_status check(liana_check *check)
{
    const annealing_options *options = check->options;
    if (options->factor_low > options->factor_high) {
        return liana_option_refuse(check, "factor_low",
                                   "expected at most factor_high: the factor is drawn between them");
    }
    if (options->factor_low >= 1) {
        return liana_option_refuse(
            check, "factor_low",
            "expected less than 1: after going back, a smaller rate must be among those that are tried");
    }
    if (options->growth < 1) {
        return liana_option_refuse(check, "growth", "expected 1 or more: a rate that was accepted is not reduced");
    }
    if (options->min_rate_factor > options->max_rate_factor) {
        return liana_option_refuse(check, "min_rate_factor", "expected at most max_rate_factor");
    }
    if (options->max_rate_factor < 1 || options->min_rate_factor > 1) {
        return liana_option_refuse(check, options->max_rate_factor < 1 ? "max_rate_factor" : "min_rate_factor",
                                   "the training begins with the factor 1, which must be within min_rate_factor and "
                                   "max_rate_factor");
    }
    return LIANA_OK;
}

/* ---- state ---- */

static bool uses_validation(const annealing_options *options)
{
    const char *monitor = options->watched.monitor;
    return monitor && liana__starts_with(monitor, "val_");
}

static void save(const liana_callback_item *item, liana_callback_state *state)
{
    const annealing *own = item->self;
    liana__snapshot_keep(&own->accepted, state, "accepted");
    liana__keep_count(state, "applied", own->applied);
    liana__keep_count(state, "stage", own->stage);
    if (own->adapted_rate > 0) liana__keep_number(state, "adapted_rate", own->adapted_rate);
    if (own->knows_reference) liana__keep_number(state, "reference", own->reference);
    liana__keep_count(state, "decided", own->decided);
    liana__keep_count(state, "count", own->count);
    liana__keep_count(state, "divergences", own->divergences);
    liana__keep_count(state, "measured_at", own->measured_at);
    liana__keep_number(state, "measured", own->measured);
    if (!own->window.objective || uses_validation(item->options)) return;
    liana_shape shape = liana_shape_of((int64_t)own->window.objective->num_sums);
    liana__keep_array(state, "sums", LIANA_F64, &shape, own->window.sums);
    liana__keep_count(state, "examples", own->window.count);
}

static liana_status open_window(annealing *own, const liana_fit_context *context, liana__error *error)
{
    if (own->window.objective) return LIANA_OK;
    return liana__totals_create(context->training->objective, &own->window, error);
}

static liana_status load(liana_callback_item *item, const liana_fit_context *context, const liana_callback_state *state)
{
    liana__error *error = context->error;
    annealing *own = item->self;
    own->measured_at = -1;
    own->accepted.everything = true;
    LIANA_TRY(open_window(own, context, error));
    liana__kept_count(state, "stage", &own->stage);
    if (own->stage == context->training->state.stage) {
        LIANA_TRY(liana__snapshot_load(&own->accepted, context, state, "accepted", error));
    }
    liana__kept_count(state, "applied", &own->applied);
    liana__kept_number(state, "adapted_rate", &own->adapted_rate);
    own->knows_reference = liana__kept_number(state, "reference", &own->reference);
    liana__kept_count(state, "decided", &own->decided);
    liana__kept_count(state, "count", &own->count);
    liana__kept_count(state, "divergences", &own->divergences);
    liana__kept_count(state, "measured_at", &own->measured_at);
    liana__kept_number(state, "measured", &own->measured);
    const liana__kept_array *sums = liana__kept_array_find(state, "sums");
    size_t size = own->window.objective->num_sums * sizeof *own->window.sums;
    if (!sums) return LIANA_OK;
    if (sums->dtype != LIANA_F64 || liana__kept_array_size(sums) != size) {
        return liana__fail(error, LIANA_INVALID_DATA, "its sums are not those of these losses and metrics");
    }
    memcpy(own->window.sums, sums->data, size);
    liana__kept_count(state, "examples", &own->window.count);
    return LIANA_OK;
}

static void destroy(liana_callback_item *item)
{
    annealing *own = item->self;
    liana__snapshot_free(&own->accepted);
    for (size_t i = 0; i < own->num_retired; i++) liana__snapshot_free(&own->retired[i]);
    free(own->retired);
    liana__totals_free(&own->window);
}

/* ---- deciding ---- */

static double energy_at(const annealing_options *options, int64_t decision)
{
    switch ((cooling)options->cooling) {
    case COOLING_EXPONENTIAL: return options->energy * pow(options->cooling_rate, (double)decision);
    case COOLING_LINEAR: return options->energy * fmax(0, 1 - (double)decision / (double)options->cooling_decisions);
    case COOLING_CONSTANT: break;
    }
    return options->energy;
}

static double probability_of(const annealing_options *options, const annealing *own, double value, double energy)
{
    if (isnan(value)) return 0;
    if (!own->knows_reference || isnan(own->reference)) return 1;
    double worsening = liana__monitor_worsening(&options->watched, value, own->reference);
    if (worsening <= 0) return 1;
    return energy > 0 ? exp(-worsening / energy) : 0;
}

/* Two numbers from [0, 1), drawn by the decision's number: for accepting, and for the next rate. */
static void draw(const annealing *own, const liana_fit_context *context, double drawn[2])
{
    const uint64_t number = (uint64_t)own->count;
    const uint32_t counter[4] = {(uint32_t)number, (uint32_t)(number >> 32)};
    uint32_t words[4];
    liana__philox(liana__philox_make_key(context->training->seed, LIANA__STREAM_CONTROL, 0), counter, words);
    drawn[0] = liana__uniform_double(words[0], words[1]);
    drawn[1] = liana__uniform_double(words[2], words[3]);
}

static double finite_or_nan(double value)
{
    return isfinite(value) ? value : NAN;
}

/* The metric of the state as it is now; NaN: it is not finite, or nothing was measured. */
static liana_status measure(const annealing_options *options, const annealing *own, liana_fit_context *context,
                            double *value, liana__error *error)
{
    const liana__totals *totals = &own->window;
    if (own->measured_at == context->training->state.iteration) {
        *value = own->measured;
        return LIANA_OK;
    }
    if (uses_validation(options)) LIANA_TRY(liana__fit_validate(context, &totals, error));
    liana_fit_context seen = *context;
    seen.totals = seen.validation = totals;
    bool known;
    LIANA_TRY(liana__fit_metric(&seen, options->watched.monitor, value, &known, error));
    *value = known ? finite_or_nan(*value) : NAN;
    return LIANA_OK;
}

static liana_status accept(annealing *own, liana_fit_context *context, double value, liana__error *error)
{
    LIANA_TRY(liana__snapshot_take(&own->accepted, context, error));
    own->applied = liana__training_state_applied(&context->training->state);
    own->adapted_rate = context->training->state.adapted_rate;
    own->reference = value;
    own->knows_reference = true;
    own->divergences = 0;
    return LIANA_OK;
}

/* Weights, slots, averages and the place in the schedule; data and the count of updates go on. */
static liana_status go_back(const annealing *own, liana_fit_context *context, liana__error *error)
{
    liana__training_state *state = &context->training->state;
    state->taken_back = state->iteration - state->stage_updates - own->applied;
    state->adapted_rate = own->adapted_rate;
    return liana__snapshot_restore(&own->accepted, context, error);
}

static double within(const annealing_options *options, double factor)
{
    return fmin(fmax(factor, options->min_rate_factor), options->max_rate_factor);
}

static void name_metric(const annealing_options *options, liana__decision *decision)
{
    snprintf(decision->monitor, sizeof decision->monitor, "%s", options->watched.monitor);
}

static void tell(const annealing_options *options, const liana__decision *decision, const liana_fit_context *context)
{
    if (decision->accepted) return;
    liana__note(
        &context->notes,
        "after update %lld %s is %.6g, and was %.6g: back by %lld updates, to a learning rate of %.6g times the "
        "schedule's",
        (long long)decision->update, options->watched.monitor, decision->value, decision->reference,
        (long long)decision->taken_back, decision->rate_factor);
}

static liana_status decide(liana_callback_item *item, liana_fit_context *context, double value)
{
    liana__error *error = context->error;
    const annealing_options *options = item->options;
    annealing *own = item->self;
    liana__training_state *state = &context->training->state;
    double drawn[2];
    draw(own, context, drawn);
    liana__decision decision = {.epoch = context->epoch,
                                .update = state->iteration,
                                .value = value,
                                .reference = own->knows_reference ? own->reference : NAN,
                                .energy = energy_at(options, own->count),
                                .drawn = drawn[0],
                                .learning_rate = context->learning_rate};
    name_metric(options, &decision);
    decision.probability = probability_of(options, own, value, decision.energy);
    decision.accepted = decision.drawn < decision.probability;
    double factor = options->growth;
    if (decision.accepted) {
        LIANA_TRY(accept(own, context, value, error));
    } else {
        decision.taken_back = liana__training_state_applied(state) - own->applied;
        LIANA_TRY(go_back(own, context, error));
        factor = options->factor_low * pow(options->factor_high / options->factor_low, drawn[1]);
    }
    decision.rate_factor = within(options, state->rate_factor * factor);
    liana__fit_set_rate_factor(context, decision.rate_factor);
    own->decided = state->iteration;
    own->count++;
    liana__totals_clear(&own->window);
    tell(options, &decision, context);
    return liana__decisions_add(&state->decisions, &decision, error);
}

/* ---- events ---- */

/* A decision that an end interrupted is made later, if the training goes on. */
static void forget_end(liana__decisions *decisions)
{
    while (decisions->count) {
        const liana__decision *last = &decisions->items[decisions->count - 1];
        if (!last->at_end || !last->accepted) return;
        decisions->count--;
    }
}

static liana_status retire(annealing *own, liana__error *error)
{
    if (!own->accepted.values) return LIANA_OK;
    if (!liana__grow(&own->retired, own->num_retired, &own->retired_capacity, sizeof *own->retired)) {
        return liana__fail_memory(error, "the accepted state");
    }
    own->retired[own->num_retired++] = own->accepted;
    own->accepted = (liana__snapshot){0};
    return LIANA_OK;
}

/* The state as it is now is the first accepted one: of a training, or of a stage, which has other variables. */
static liana_status begin_here(annealing *own, const liana_fit_context *context, liana__error *error)
{
    const liana__training_state *state = &context->training->state;
    LIANA_TRY(retire(own, error));
    own->accepted.everything = true;
    own->stage = state->stage;
    own->measured_at = -1;
    own->decided = state->iteration;
    own->applied = liana__training_state_applied(state);
    own->adapted_rate = state->adapted_rate;
    own->knows_reference = false;
    own->divergences = 0;
    liana__totals_clear(&own->window);
    return liana__snapshot_take(&own->accepted, context, error);
}

static bool is_of_this_stage(const annealing *own, const liana_fit_context *context)
{
    return own->accepted.taken && own->stage == context->training->state.stage;
}

static liana_status train_begin(liana_callback_item *item, liana_fit_context *context)
{
    liana__error *error = context->error;
    const annealing_options *options = item->options;
    annealing *own = item->self;
    forget_end(&context->training->state.decisions);
    LIANA_TRY(liana__monitor_check(&options->watched, context, error));
    LIANA_TRY(open_window(own, context, error));
    return is_of_this_stage(own, context) ? LIANA_OK : begin_here(own, context, error);
}

/* The first state is measured before its first update. For a metric of the training that is the first batch's, which is
 * measured before the update too. */
static liana_status step_begin(liana_callback_item *item, liana_fit_context *context)
{
    liana__error *error = context->error;
    const annealing_options *options = item->options;
    annealing *own = item->self;
    if (!is_of_this_stage(own, context)) LIANA_TRY(begin_here(own, context, error));
    const int64_t since = context->training->state.iteration - own->decided;
    if (since == 0 && !own->knows_reference && uses_validation(options)) {
        LIANA_TRY(measure(options, own, context, &own->reference, error));
        own->knows_reference = true;
    }
    if (since < options->every_steps) return LIANA_OK;
    double value;
    LIANA_TRY(measure(options, own, context, &value, error));
    return decide(item, context, value);
}

static liana_status step_end(liana_callback_item *item, liana_fit_context *context)
{
    const annealing_options *options = item->options;
    annealing *own = item->self;
    for (size_t i = 0; !uses_validation(options) && i < context->num_each; i++) {
        const liana__update_sums *update = &context->each[i];
        liana__totals_add(&own->window, update->sums, update->count, update->bad_records);
        if (own->knows_reference) continue;
        LIANA_TRY(measure(options, own, context, &own->reference, context->error));
        own->knows_reference = true;
    }
    return LIANA_OK;
}

/* The same validation need not be done twice. */
static liana_status epoch_end(liana_callback_item *item, liana_fit_context *context)
{
    const annealing_options *options = item->options;
    annealing *own = item->self;
    double value;
    bool known;
    if (!uses_validation(options)) return LIANA_OK;
    LIANA_TRY(liana__fit_metric(context, options->watched.monitor, &value, &known, context->error));
    if (!known) return LIANA_OK;
    own->measured_at = context->training->state.iteration;
    own->measured = finite_or_nan(value);
    return LIANA_OK;
}

/* A training ends if every update ruins its state at any rate. */
enum { MOST_DIVERGENCES = 32 };

static liana_status divergence(liana_callback_item *item, liana_fit_context *context)
{
    annealing *own = item->self;
    if (++own->divergences > MOST_DIVERGENCES) return LIANA_OK;
    LIANA_TRY(decide(item, context, NAN));
    context->recovered = true;
    return LIANA_OK;
}

/* Neither a stage nor the training ends worse than the state that was accepted last. Nothing is drawn. A longer
 * training makes the decision at its end later; that at the end of a stage stays. */
static liana_status last_step(liana_callback_item *item, liana_fit_context *context)
{
    liana__error *error = context->error;
    const annealing_options *options = item->options;
    const annealing *own = item->self;
    liana__training_state *state = &context->training->state;
    if (state->iteration == own->decided || !is_of_this_stage(own, context)) return LIANA_OK;
    liana__decision decision = {.epoch = context->epoch,
                                .update = state->iteration,
                                .reference = own->knows_reference ? own->reference : NAN,
                                .learning_rate = context->learning_rate,
                                .rate_factor = state->rate_factor,
                                .at_end = !context->ends_stage};
    name_metric(options, &decision);
    LIANA_TRY(measure(options, own, context, &decision.value, error));
    decision.probability = probability_of(options, own, decision.value, 0);
    decision.accepted = decision.probability > 0;
    if (!decision.accepted) {
        decision.taken_back = liana__training_state_applied(state) - own->applied;
        LIANA_TRY(go_back(own, context, error));
    }
    tell(options, &decision, context);
    return liana__decisions_add(&state->decisions, &decision, error);
}

const liana_callback_type liana__control_annealing = {
    LIANA_PART(CALLBACK, liana_callback_type, "annealing",
               "Goes back to the last accepted state, with another learning rate, where a metric got worse.",
               LIANA_PART_OPTIONS(annealing_options, fields), .check = check),
    .self_size = sizeof(annealing),
    .save = save,
    .load = load,
    .close = destroy,
    .on = {[LIANA_ON_TRAIN_BEGIN] = train_begin,
           [LIANA_ON_STEP_BEGIN] = step_begin,
           [LIANA_ON_STEP_END] = step_end,
           [LIANA_ON_DIVERGENCE] = divergence,
           [LIANA_ON_EPOCH_END] = epoch_end,
           [LIANA_ON_LAST_STEP] = last_step},
};
