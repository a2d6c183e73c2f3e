/* Running a step, batch after batch, with workers in step. */
#include "base/context.h"
#include "base/scoped.h"
#include "step/incident.h"
#include "step/user_step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void liana__user_set_results(const liana_step *step, const float *sums, int64_t count, liana_step_results *results)
{
    *results = (liana_step_results){.num_examples = count, .num_sums = step->num_names};
    for (size_t i = 0; i < results->num_sums; i++) {
        results->sums[i] = (double)sums[i];
        results->names[i] = step->names[i];
    }
}

/* ---- one step ---- */

/* Finds the origin of the first bad number. The values of an update have overwritten its inputs. No process has all
 * examples of a batch that is shared. A failure here does not hide the fault itself. */
static void tell_origin(const liana_step *step, const liana__batch *batch, const double *scalars, liana__error *error)
{
    const liana__fault *fault = liana__step_fault(step->step);
    const liana__rerun rerun = {.step = step->step, .batch = batch, .scalars = scalars};
    const liana__error kept = *error;
    LIANA__SCOPED(liana__incident) incident = {0};
    LIANA__SCOPED(liana__text) text = {0};
    if ((fault->kind != LIANA__FAULT_SUM && fault->kind != LIANA__FAULT_SUMS) || batch->workers) return;
    const liana_status status = liana__rerun_find(&rerun, fault, &incident, error);
    if (status == LIANA_OK) liana__incident_tell(&incident, &text);
    *error = kept;
    if (text.length && !text.failed) {
        liana__fail(error, LIANA_OUT_OF_RANGE, "%s; %s", kept.message, text.data);
    }
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
    if (status == LIANA_OUT_OF_RANGE) tell_origin(step, &taken, scalars, error);
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
