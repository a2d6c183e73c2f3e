/* Spans of a program's own step. */
#include "base/context.h"
#include "base/scoped.h"
#include "step/spans.h"
#include "step/user_step.h"

#include <stdlib.h>
#include <string.h>

typedef struct span_run {
    liana_step *step;
    const liana__user_call *call;
    int64_t first;                /* the number of the span's first step in the call */
    liana_step_outcome *outcomes; /* of the span */
    uint64_t position;            /* of the span's first example */
    int64_t *totals;              /* by step: examples of its batch; 0: not known here */
    liana__batch batch;
} span_run;

/* The position of a step's first example. Of asynchronous workers none knows the batches of the others, so each batch
 * counts as a full one. */
static uint64_t position_of(const span_run *own, const liana__span_try *attempt, size_t number)
{
    const bool knows = !attempt->is_asynchronous || attempt->num_there == 1;
    const int64_t full = own->step->options.batch_size;
    uint64_t position = own->position;
    for (size_t i = 0; i < number; i++) position += (uint64_t)(knows && own->totals[i] ? own->totals[i] : full);
    return position;
}

static liana_status next_batch(void *user, const liana__span_try *attempt, size_t number, const liana__batch **batch,
                               liana__error *error)
{
    span_run *own = user;
    liana_step_input given;
    *batch = &own->batch;
    LIANA_TRY(liana__user_ask_batch(own->step, own->call, own->first + (int64_t)number, &given, error));
    if (given.values && attempt->is_asynchronous) {
        return liana__fail(
            error, LIANA_INVALID_ARGUMENT,
            "%s: the batch is one by replica, of which each worker has a part, but an asynchronous update is "
            "of one worker's batch: give arrays or an element, best by a function (give_batch)",
            own->step->options.name);
    }
    LIANA_TRY(liana__user_take_batch(own->step, &given, position_of(own, attempt, number), &own->batch, error));
    own->totals[number] = liana__batch_step_count(&own->batch);
    return LIANA_OK;
}

static liana_status set_scalars(void *user, size_t update, float *scalars, liana__error *error)
{
    const span_run *own = user;
    liana_setting settings[LIANA_MAX_SETTINGS];
    double values[LIANA_MAX_SETTINGS];
    LIANA_TRY(liana__user_ask_scalars(own->step, own->call, own->first + (int64_t)update, settings, error));
    LIANA_TRY(liana__user_take_scalars(own->step, settings, values, error));
    for (size_t i = 0; i < own->step->num_scalars; i++) scalars[1 + i] = (float)values[i];
    return LIANA_OK;
}

static void add_record(void *user, size_t number, const liana__span_record *record, const float *sums)
{
    const span_run *own = user;
    liana_step_results *results = &own->outcomes[number].results;
    results->num_examples += record->count;
    for (size_t i = 0; i < own->step->num_names; i++) results->sums[i] += (double)sums[i];
}

static void set_outcome(const liana_step *step, const liana__span_step *seen, liana_step_outcome *outcome)
{
    outcome->used = seen->used;
    outcome->dropped = seen->dropped;
    outcome->staleness = seen->staleness;
    outcome->results.num_sums = step->num_names;
    for (size_t i = 0; i < step->num_names; i++) outcome->results.names[i] = step->names[i];
}

static liana_status run_span(span_run *own, size_t num_steps, liana__span_result *result, liana__error *error)
{
    liana_step *step = own->step;
    const liana__notes notes = {step->options.on_note, step->options.user};
    const liana__step_span span = {.num_steps = num_steps,
                                   .turn = own->call->turn + (uint64_t)own->first,
                                   .notes = &notes,
                                   .next = next_batch,
                                   .scalars = set_scalars,
                                   .add = add_record,
                                   .user = own};
    liana_status status = liana__user_check_variables(step);
    own->totals = calloc(num_steps + 1, sizeof *own->totals);
    result->totals = calloc(num_steps + 1, sizeof *result->totals);
    result->steps = calloc(num_steps + 1, sizeof *result->steps);
    const bool enough = own->totals && result->totals && result->steps;
    if (status == LIANA_OK && !enough) status = liana__fail_memory(error, "a span of updates");
    LIANA_TRY(liana__cluster_agree_status(step->cluster, status, error));
    LIANA_TRY(liana__user_agree(step, error));
    LIANA_TRY(liana__step_run_span(step->step, &span, result, error));
    for (size_t i = 0; i < num_steps; i++) set_outcome(step, &result->steps[i], &own->outcomes[i]);
    /* No other process knows the batch that a dead worker computed alone: it counts as a full one. */
    for (size_t i = 0; i < num_steps; i++) {
        own->totals[i] = result->totals[i] ? result->totals[i] : step->options.batch_size;
    }
    step->next_position = position_of(own, &result->attempt, num_steps - 1) + (uint64_t)own->totals[num_steps - 1];
    return LIANA_OK;
}

static void set_counts(const liana__span_counts *from, liana_step_counts *to)
{
    to->computed = (int64_t)from->computed;
    to->used = (int64_t)from->used;
    to->dropped = (int64_t)from->dropped;
    to->skipped = (int64_t)from->skipped;
    to->partly_used = (int64_t)from->partly_used;
    to->undone = (int64_t)from->undone;
    to->examples_lost = (int64_t)from->examples_lost;
    to->largest_staleness = (int64_t)from->largest_staleness;
    to->mean_staleness = from->measured ? (double)from->staleness / (double)from->measured : 0;
}

/* One span. `outcomes` has room for it. */
static liana_status run_next(liana_step *step, const liana__user_call *call, int64_t length,
                             liana_step_outcome *outcomes, liana__span_counts *sum, liana__user_tally *tally)
{
    liana__span_result result = {0};
    span_run own = {.step = step,
                    .call = call,
                    .first = tally->counts.num_done,
                    .outcomes = outcomes,
                    .position = step->next_position};
    const liana_status status = run_span(&own, (size_t)length, &result, &step->context->error);
    liana__span_counts_add(sum, &result.counts);
    free(own.totals);
    free(result.totals);
    free(result.steps);
    LIANA_TRY(status);
    tally->counts.num_done += length;
    for (int64_t i = 0; i < length; i++) liana__user_add_results(&outcomes[i].results, &tally->results);
    return LIANA_OK;
}

static liana_status run_all(liana_step *step, const liana__user_call *call, liana_step_outcome *outcomes,
                            liana__user_tally *tally)
{
    liana__span_counts sum = {0};
    const int64_t most = (int64_t)step->span_steps;
    LIANA__SCOPED_MEMORY liana_step_outcome *own = outcomes ? NULL : calloc(step->span_steps, sizeof *own);
    liana_status status = outcomes || own ? LIANA_OK : liana__fail_memory(&step->context->error, "a span of updates");
    while (status == LIANA_OK && tally->counts.num_done < call->num_steps) {
        const int64_t left = call->num_steps - tally->counts.num_done;
        if (own) memset(own, 0, step->span_steps * sizeof *own);
        status =
            run_next(step, call, left < most ? left : most, own ? own : outcomes + tally->counts.num_done, &sum, tally);
    }

    set_counts(&sum, &tally->counts);
    return status;
}

liana_status liana__user_run_spans(liana_step *step, const liana__user_call *call, liana_step_outcome *outcomes,
                                   liana__user_tally *tally)
{
    liana_replicas *replicas = step->options.replicas;
    if (replicas) LIANA_TRY(liana__replicas_enter(replicas, step->options.name, &step->context->error));
    const liana_status status = run_all(step, call, outcomes, tally);
    if (replicas) liana__replicas_leave(replicas);
    return status;
}
