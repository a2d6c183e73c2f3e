/* An evaluation: one pass over data as in inference. */
#include "distribute/cluster/cluster.h"
#include "train/job/fit.h"
#include "train/objective/batch_components.h"
#include "train/objective/gathered_rows.h"

#include <stdlib.h>

typedef struct evaluation {
    liana__trainer *trainer;
    liana__loader *loader;
    uint64_t epoch; /* of the loader's draws */
    liana__totals *totals;
    bool wants_outputs;
    liana__on_outputs on_outputs;
    void *user;
    float *outputs; /* for `capacity` examples */
    int64_t capacity;
    liana__gathered_rows gathered; /* where several processes share steps */
    uint64_t generation;           /* in which rows were shared out */
} evaluation;

static liana_status reserve(evaluation *own, int64_t count, liana__error *error)
{
    if (!own->wants_outputs || (own->outputs && count <= own->capacity)) return LIANA_OK;
    free(own->outputs);
    own->capacity = count;
    own->outputs = malloc((size_t)(count * liana__trainer_row_size(own->trainer) + 1) * sizeof *own->outputs);
    return own->outputs ? LIANA_OK : liana__fail_memory(error, "the model's outputs");
}

static liana_status tell_own(evaluation *own, const liana__batch *batch, liana__error *error)
{
    if (!own->wants_outputs) return own->on_outputs(own->user, batch, NULL, error);
    if (!batch->workers) return own->on_outputs(own->user, batch, own->outputs, error);
    return own->on_outputs(own->user, &own->gathered.batch, own->gathered.outputs, error);
}

/* A signal or an error in one process ends the evaluation in all, after the same batch. */
static liana_status tell(evaluation *own, const liana__batch *batch, liana__error *error)
{
    if (!own->on_outputs) return LIANA_OK;
    const liana_status status = tell_own(own, batch, error);
    return liana__cluster_agree_status(liana__step_cluster(own->trainer->step), status, error);
}

static liana_status gather_rows(evaluation *own, const liana__batch *batch, liana__error *error)
{
    if (!own->on_outputs || !own->wants_outputs || !batch->workers) return LIANA_OK;
    return liana__gathered_rows_take(&own->gathered, own->trainer, liana__loader_workers(own->loader), batch,
                                     own->outputs, error);
}

static liana_status measure_batch(evaluation *own, const liana__batch *batch, liana__error *error)
{
    const int64_t count = liana__batch_step_count(batch);
    const float *sums;
    LIANA_TRY(reserve(own, batch->count, error));
    LIANA_TRY(liana__batch_check(own->trainer, batch, own->loader, error));
    LIANA_TRY(liana__step_measure(own->trainer->step, batch, own->wants_outputs ? own->outputs : NULL, &sums, error));
    LIANA_TRY(gather_rows(own, batch, error));
    LIANA_TRY(liana__cluster_section_end(liana__step_cluster(own->trainer->step), error));
    liana__totals_add(own->totals, sums, count, batch->num_positions - count);
    return tell(own, batch, error);
}

/* Once more, if a process dies meanwhile: then rows are shared out anew. */
static liana_status measure_step(evaluation *own, int64_t step, liana__error *error)
{
    liana__cluster *cluster = liana__step_cluster(own->trainer->step);
    liana_status status;
    do {
        liana__batch *batch;
        status = LIANA_OK;
        if (own->generation != liana__cluster_generation(cluster)) {
            own->generation = liana__cluster_generation(cluster);
            LIANA_TRY(liana__loader_begin(own->loader, own->epoch, (uint64_t)step, error));
        }
        liana__cluster_section_begin(cluster);
        status = liana__loader_next(own->loader, &batch, error);
        if (status == LIANA_OK) {
            status = measure_batch(own, batch, error);
            liana__loader_release(own->loader, batch);
        }
    } while (liana__cluster_repeats(cluster, &status, error));
    return status;
}

static liana_status evaluate(evaluation *own, int64_t max_steps, liana__error *error)
{
    if (!own->totals->objective) {
        LIANA_TRY(liana__totals_create(liana__trainer_objective(own->trainer), own->totals, error));
    }
    liana__totals_clear(own->totals);
    LIANA_TRY(liana__check_data_of_states(own->trainer, own->loader, max_steps, error));
    LIANA_TRY(liana__loader_begin(own->loader, own->epoch, 0, error));
    int64_t steps = (int64_t)liana__loader_steps_per_epoch(own->loader, own->epoch);
    if (max_steps && max_steps < steps) steps = max_steps;
    liana_status status = LIANA_OK;
    own->generation = liana__cluster_generation(liana__step_cluster(own->trainer->step));
    for (int64_t step = 0; step < steps && status == LIANA_OK; step++) status = measure_step(own, step, error);
    free(own->outputs);
    liana__gathered_rows_free(&own->gathered);
    return status;
}

liana_status liana__evaluate(liana__trainer *trainer, liana__loader *loader, int64_t max_steps, liana__totals *totals,
                             liana__on_outputs on_outputs, void *user, liana__error *error)
{
    return liana__evaluate_epoch(trainer, loader, 0, max_steps, totals, on_outputs, user, error);
}

liana_status liana__evaluate_epoch(liana__trainer *trainer, liana__loader *loader, uint64_t epoch, int64_t max_steps,
                                   liana__totals *totals, liana__on_outputs on_outputs, void *user, liana__error *error)
{
    evaluation own = {.trainer = trainer,
                      .loader = loader,
                      .epoch = epoch,
                      .totals = totals,
                      .wants_outputs = on_outputs != NULL,
                      .on_outputs = on_outputs,
                      .user = user};
    return evaluate(&own, max_steps, error);
}

liana_status liana__evaluate_steps(liana__trainer *trainer, liana__loader *loader, int64_t max_steps,
                                   liana__totals *totals, liana__on_outputs on_step, void *user, liana__error *error)
{
    evaluation own = {.trainer = trainer, .loader = loader, .totals = totals, .on_outputs = on_step, .user = user};
    return evaluate(&own, max_steps, error);
}
