/* Many steps in one call. */
#include "base/context.h"
#include "batch/cut.h"
#include "step/user_step.h"
#include "step/worker_share.h"

#include <stdlib.h>
#include <string.h>

/* ---- what the program gives ---- */

/* A call of liana's within the function may have left a message. */
static liana_status fail_function(const liana_step *step, const char *gives, int64_t number, liana_status status,
                                  liana__error *error)
{
    if (error->status == status && *error->message) {
        return liana__fail_within(error, "%s: the function that gives %s %lld", step->options.name, gives,
                                  (long long)number);
    }
    return liana__fail(error, status, "%s: the function failed that gives %s %lld", step->options.name, gives,
                       (long long)number);
}

liana_status liana__user_ask_batch(const liana_step *step, const liana__user_call *call, int64_t number,
                                   liana_step_batch *batch, liana__error *error)
{
    if (call->single) {
        *batch = *call->single;
        return LIANA_OK;
    }
    *batch = (liana_step_batch){0};
    *error = (liana__error){0};
    const liana_status status = call->many->batch(call->many->user, number, batch);
    if (status != LIANA_OK) return fail_function(step, "the batch of step", number, status, error);
    if (!batch->scalars[0].name) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "%s: the batch of step %lld has the scalar '%.100s'; of many steps the function .scalars gives "
                       "them, where updates are computed",
                       step->options.name, (long long)number, batch->scalars[0].name);
}

liana_status liana__user_ask_scalars(const liana_step *step, const liana__user_call *call, int64_t update,
                                     liana_setting *settings, liana__error *error)
{
    const size_t size = LIANA_MAX_SETTINGS * sizeof *settings;
    memset(settings, 0, size);
    if (call->single) memcpy(settings, call->single->scalars, size);
    if (call->single || !call->many->scalars) return LIANA_OK;
    *error = (liana__error){0};
    const liana_status status = call->many->scalars(call->many->user, update, settings);
    return status == LIANA_OK ? LIANA_OK : fail_function(step, "the scalars of update", update, status, error);
}

/* ---- workers that are in step ---- */

/* The workers that had leaves of the last batch, of so many examples. */
static liana_status count_sharing(const liana_step *step, const liana_step_batch *batch, int64_t count,
                                  int64_t *sharing, liana__error *error)
{
    const liana__cluster *cluster = step->cluster;
    *sharing = 1;
    if (!cluster) return LIANA_OK;
    const size_t num_workers = cluster->place.num_workers;
    const size_t num_leaves = (size_t)liana__cut_batch(count, step->options.microbatch).count;
    liana__leaf_range *ranges = calloc(num_workers, sizeof *ranges);
    liana_status status = ranges ? LIANA_OK : liana__fail_memory(error, "the shards of a batch");
    if (status == LIANA_OK) status = liana__share_among_workers(num_leaves, cluster, ranges, error);
    *sharing = 0;
    for (size_t i = 0; status == LIANA_OK && i < num_workers; i++) {
        const int64_t *bounds = step->workers.bounds;
        *sharing += batch->values ? bounds[i] < bounds[i + 1] : ranges[i].begin < ranges[i].end;
    }
    free(ranges);
    return status;
}

static liana_status run_one(liana_step *step, const liana__user_call *call, int64_t number, liana_step_outcome *outcome)
{
    liana__error *error = &step->context->error;
    liana_step_batch batch;
    liana_setting settings[LIANA_MAX_SETTINGS];
    liana_status status = liana__user_ask_batch(step, call, number, &batch, error);
    if (status == LIANA_OK) status = liana__user_ask_scalars(step, call, number, settings, error);
    LIANA_TRY(liana__cluster_agree_status(step->cluster, status, error));
    LIANA_TRY(liana__user_run_batch(step, &batch, settings, &outcome->results));
    return count_sharing(step, &batch, outcome->results.num_examples, &outcome->used, error);
}

static liana_status run_in_step(liana_step *step, const liana__user_call *call, liana_step_outcome *outcomes,
                                liana_step_counts *counts)
{
    for (int64_t i = 0; i < call->num_steps; i++) {
        liana_step_outcome outcome = {0};
        const liana_status status = run_one(step, call, i, &outcome);
        if (outcomes) outcomes[i] = outcome;
        LIANA_TRY(status);
        counts->num_done++;
        counts->computed += outcome.used;
        counts->used += outcome.used;
    }
    return LIANA_OK;
}

liana_status liana_step_run_many(liana_step *step, const liana_step_many *many, liana_step_outcome *outcomes,
                                 liana_step_counts *counts)
{
    liana_step_counts own = {0};
    if (counts) *counts = own;
    if (!step) return LIANA_INVALID_ARGUMENT;
    liana__error *error = &step->context->error;
    const char *wrong = !many                 ? "nothing is given"
                        : !many->batch        ? "there is no function for batches (.batch)"
                        : many->num_steps < 0 ? "num_steps is negative"
                                              : NULL;
    if (wrong) return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: many steps: %s", step->options.name, wrong);
    if (outcomes) memset(outcomes, 0, (size_t)many->num_steps * sizeof *outcomes);
    const liana__user_call call = {.num_steps = many->num_steps, .many = many};
    const liana_status status = step->span_steps ? liana__user_run_spans(step, &call, outcomes, &own)
                                                 : run_in_step(step, &call, outcomes, &own);
    own.not_reproducible = step->not_reproducible;
    if (counts) *counts = own;
    return status;
}
