/* Running a step, batch after batch, with workers in step. */
#include "base/context.h"
#include "step/user_step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- before the first run ---- */

static liana_status initialize(const liana_step *step)
{
    const liana_initialize_options options = {.seed = step->options.seed};
    const liana_status status = liana_variables_initialize(step->owned, &options);
    return status == LIANA_OK ? status : liana__fail_within(&step->context->error, "%s", step->options.name);
}

/* The set may have got more variables since; a step does not read them. */
liana_status liana__user_check_variables(const liana_step *step)
{
    const liana_variables *variables = step->variables;
    for (size_t i = 0; i < step->num_known; i++) {
        if (!step->is_used[i] || variables->states[i].initialized) continue;
        if (step->owned) return initialize(step);
        bool *wanted = calloc(variables->values.count + 1, sizeof *wanted);
        if (!wanted) return liana__fail_memory(&step->context->error, "a step");
        memcpy(wanted, step->is_used, step->num_known * sizeof *wanted);
        liana_status status = liana__variables_require(variables, step->options.name, wanted);
        free(wanted);
        return status;
    }
    return LIANA_OK;
}

liana_status liana__user_agree(liana_step *step, liana__error *error)
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
    const liana__shard_rows rows = {options->microbatch, 1, false};
    liana_status status = liana__user_build_shard(step, LIANA__STEP_TRAINING, &rows, &graph, error);
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

void liana__user_set_results(const liana_step *step, const float *sums, int64_t count, liana_step_results *results)
{
    *results = (liana_step_results){.num_examples = count, .num_sums = step->num_names};
    for (size_t i = 0; i < results->num_sums; i++) {
        results->sums[i] = (double)sums[i];
        results->names[i] = step->names[i];
    }
}

/* ---- numbers that are not finite ---- */

void liana__user_explain_fault(void *user, const liana__fault *fault, liana__error *error)
{
    const liana_step *step = user;
    char text[640];
    /* Of workers that are not in step others may have updated meanwhile. */
    const bool has_changed = fault->kind == LIANA__FAULT_UPDATE || step->span_steps;
    liana__fail(error, LIANA_OUT_OF_RANGE, "%s: %s; %s", step->options.name,
                liana__fault_describe(fault, text, sizeof text),
                has_changed ? "the variables should be loaded again" : "no variable has changed");
}

static liana_status run_batch(liana_step *step, const liana_step_input *batch, const liana_setting *settings,
                              liana_step_results *results)
{
    liana__error *error = &step->context->error;
    double scalars[LIANA_MAX_SETTINGS] = {0};
    liana__batch taken;
    const float *sums;
    LIANA_TRY(liana__user_take_batch(step, batch, step->next_position, &taken, error));
    LIANA_TRY(liana__user_take_scalars(step, settings, scalars, error));
    LIANA_TRY(liana__user_check_variables(step));
    LIANA_TRY(liana__user_agree(step, error));
    const liana_status status = step->options.update
                                    ? liana__step_update_in_section(step->step, &taken, scalars, &sums, error)
                                    : liana__step_measure_in_section(step->step, &taken, NULL, &sums, error);
    const int64_t count = liana__batch_step_count(&taken);
    if (results && (status == LIANA_OK || status == LIANA_OUT_OF_RANGE)) {
        liana__user_set_results(step, sums, count, results);
    }
    LIANA_TRY(status);
    step->next_position += (uint64_t)count;
    return LIANA_OK;
}

liana_status liana__user_run_batch(liana_step *step, const liana_step_input *batch, const liana_setting *settings,
                                   liana_step_results *results)
{
    liana_replicas *replicas = step->options.replicas;
    if (replicas) LIANA_TRY(liana__replicas_enter(replicas, step->options.name, &step->context->error));
    const liana_status status = run_batch(step, batch, settings, results);
    if (replicas) liana__replicas_leave(replicas);
    return status;
}

/* ---- results ---- */

void liana__user_add_results(const liana_step_results *from, liana_step_results *to)
{
    to->num_examples += from->num_examples;
    to->num_sums = from->num_sums;
    for (size_t i = 0; i < from->num_sums; i++) {
        to->sums[i] += from->sums[i];
        to->names[i] = from->names[i];
    }
}

double liana_step_mean(const liana_step_results *results, const char *name)
{
    for (size_t i = 0; results && name && results->num_examples > 0 && i < results->num_sums; i++) {
        if (strcmp(results->names[i], name) == 0) return results->sums[i] / (double)results->num_examples;
    }
    return NAN;
}
