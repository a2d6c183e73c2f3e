/* Running a step, batch after batch, with workers in step. */
#include "base/context.h"
#include "base/format.h"
#include "train/core/fault.h"
#include "train/core/program_agreement.h"
#include "train/step/step.h"
#include "train/step/step_span.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- before the first run ---- */

/* The set may have got more variables since; a step does not read them. */
liana_status liana__step_check_variables(const liana_step *step)
{
    const liana_variables *variables = step->variables;
    for (size_t i = 0; i < step->num_known; i++) {
        if (!step->is_used[i] || variables->states[i].initialized) continue;
        bool *wanted = calloc(variables->values.count + 1, sizeof *wanted);
        if (!wanted) return liana__fail_memory(&step->context->error, "a step");
        memcpy(wanted, step->is_used, step->num_known * sizeof *wanted);
        liana_status status = liana__variables_require(variables, step->options.name, wanted);
        free(wanted);
        return status;
    }
    return LIANA_OK;
}

liana_status liana__step_agree(liana_step *step, liana__error *error)
{
    if (!step->cluster || step->has_agreed) return LIANA_OK;
    const liana_step_options *options = &step->options;
    liana_graph *graph = NULL;
    liana__facts facts = {0};
    const char *name = liana__arena_format(&step->arena, "a shard of %s", options->name);
    const liana__graph_agreement own = {step->device, &step->variables->values, step->cluster, name};
    liana__facts_add_number(&facts, "batch_size", (double)options->batch_size);
    liana__facts_add_number(&facts, "microbatch", (double)options->microbatch);
    liana__facts_add_seed(&facts, options->seed);
    liana_status status = liana__step_build_leaf(step, options->microbatch, false, &graph, error);
    status = liana__cluster_agree_status(step->cluster, status, error);
    if (status == LIANA_OK) {
        status = liana__agree_on_graph(&own, graph, &facts, error);
    } else if (graph) {
        liana_graph_destroy(graph);
    }
    if (status == LIANA_OK) status = liana__facts_agree_shortly(&step->update_facts, step->cluster, error);
    if (status == LIANA_OK) liana__facts_free(&step->update_facts);
    liana__facts_free(&facts);
    step->has_agreed = status == LIANA_OK;
    return status;
}

static void set_results(const liana_step *step, int64_t count, liana_step_results *results)
{
    *results = (liana_step_results){.num_examples = count, .num_sums = step->sums.num_names};
    for (size_t i = 0; i < results->num_sums; i++) {
        results->sums[i] = (double)step->first_sum[i];
        results->names[i] = step->sums.names[i];
    }
}

/* ---- numbers that are not finite ---- */

static const char ADVICE[] = "no variable has changed";

/* Of workers that are not in step others may have updated meanwhile. */
static const char *advice_of(const liana_step *step)
{
    return step->span_steps ? "the variables should be loaded again" : ADVICE;
}

liana_status liana__step_check_scalars(const liana_step *step, const float *scalars, liana__error *error)
{
    for (size_t i = 0; !step->options.allows_non_finite && i < step->num_scalars; i++) {
        if (isfinite(scalars[1 + i])) continue;
        return liana__fail(error, LIANA_OUT_OF_RANGE, "%s: the scalar '%.100s' is %g; %s", step->options.name,
                           step->options.scalars[i], liana__shown((double)scalars[1 + i]), advice_of(step));
    }
    return LIANA_OK;
}

liana_status liana__step_check_first(const liana_step *step, const float *first, liana__error *error)
{
    for (size_t i = 0; !step->options.allows_non_finite && i < step->sums.num_names; i++) {
        if (isfinite(first[i])) continue;
        return liana__fail(error, LIANA_OUT_OF_RANGE, "%s: the sum '%.100s' is %g; %s", step->options.name,
                           step->sums.names[i], liana__shown((double)first[i]), advice_of(step));
    }
    return LIANA_OK;
}

static liana_status look(const liana_step *step, liana__checked what, liana__fault_kind kind, const char *advice,
                         liana__error *error)
{
    liana__non_finite found;
    char text[640];
    LIANA_TRY(step->strategy->functions->check(step->instance, what, &found, error));
    if (found.count == 0) return LIANA_OK;
    liana__fault fault = {.kind = kind, .count = found.count};
    snprintf(fault.name, sizeof fault.name, "%s",
             what == LIANA__CHECK_SUMS ? liana__step_name_sum((void *)step, found.name) : found.name);
    return liana__fail(error, LIANA_OUT_OF_RANGE, "%s: %s; %s", step->options.name,
                       liana__fault_describe(&fault, text, sizeof text), advice);
}

/* What the update is about to read. */
static liana_status check_sums(const liana_step *step, const float *scalars, liana__error *error)
{
    LIANA_TRY(liana__step_check_scalars(step, scalars, error));
    LIANA_TRY(liana__step_check_first(step, step->first_sum, error));
    return look(step, LIANA__CHECK_SUMS, LIANA__FAULT_SUMS, ADVICE, error);
}

static liana_status run_update(const liana_step *step, const float *scalars, liana__error *error)
{
    if (!step->options.update) return LIANA_OK;
    if (step->options.allows_non_finite) return step->strategy->functions->update(step->instance, scalars, error);
    LIANA_TRY(check_sums(step, scalars, error));
    LIANA_TRY(step->strategy->functions->update(step->instance, scalars, error));
    return look(step, LIANA__CHECK_VARIABLES, LIANA__FAULT_UPDATE, "the variables should be loaded again", error);
}

static liana_status run_batch(liana_step *step, const liana_step_batch *batch, const liana_setting *settings,
                              liana_step_results *results)
{
    liana__error *error = &step->context->error;
    float scalars[1 + LIANA_MAX_SETTINGS] = {0};
    liana__leaf_batch leaves;
    int64_t count;
    LIANA_TRY(liana__step_take_batch(step, batch, step->next_position, &leaves, &count, error));
    LIANA_TRY(liana__step_take_scalars(step, settings, scalars, error));
    LIANA_TRY(liana__step_check_variables(step));
    LIANA_TRY(liana__step_agree(step, error));
    scalars[0] = (float)count;
    liana_status status;
    do { /* Once more if a process of the cluster dies meanwhile. */
        liana__cluster_section_begin(step->cluster);
        status =
            step->strategy->functions->sum(step->instance, liana__step_kind_of(step), &leaves, step->first_sum, error);
        if (status == LIANA_OK) status = run_update(step, scalars, error);
        if (status == LIANA_OK || status == LIANA_OUT_OF_RANGE) {
            status = liana__cluster_section_leave(step->cluster, status, error);
        }
    } while (liana__cluster_repeats(step->cluster, &status, error));
    if (results && (status == LIANA_OK || status == LIANA_OUT_OF_RANGE)) set_results(step, count, results);
    LIANA_TRY(status);
    step->next_position += (uint64_t)count;
    return LIANA_OK;
}

liana_status liana__step_run_batch(liana_step *step, const liana_step_batch *batch, const liana_setting *settings,
                                   liana_step_results *results)
{
    liana_replicas *replicas = step->options.replicas;
    if (replicas) LIANA_TRY(liana__replicas_enter(replicas, step->options.name, &step->context->error));
    const liana_status status = run_batch(step, batch, settings, results);
    if (replicas) liana__replicas_leave(replicas);
    return status;
}

/* One step of workers that are not in step: all meet after it. */
static liana_status run_apart(liana_step *step, const liana_step_batch *batch, liana_step_results *results)
{
    liana_step_outcome outcome = {0};
    liana_step_counts counts = {0};
    const liana__step_call call = {.num_steps = 1, .single = batch, .turn = step->num_turns};
    LIANA_TRY(liana__step_run_spans(step, &call, &outcome, &counts));
    step->num_turns++;
    if (results) *results = outcome.results;
    return LIANA_OK;
}

liana_status liana_step_run(liana_step *step, const liana_step_batch *batch, liana_step_results *results)
{
    if (results) *results = (liana_step_results){0};
    if (!step) return LIANA_INVALID_ARGUMENT;
    liana__error *error = &step->context->error;
    if (!batch) return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the batch is NULL", step->options.name);
    return step->span_steps ? run_apart(step, batch, results)
                            : liana__step_run_batch(step, batch, batch->scalars, results);
}

uint64_t liana_step_position(const liana_step *step)
{
    return step ? step->next_position : 0;
}

void liana_step_set_position(liana_step *step, uint64_t position)
{
    if (step) step->next_position = position;
}

double liana_step_mean(const liana_step_results *results, const char *name)
{
    for (size_t i = 0; results && name && results->num_examples > 0 && i < results->num_sums; i++) {
        if (strcmp(results->names[i], name) == 0) return results->sums[i] / (double)results->num_examples;
    }
    return NAN;
}
