/* Updates as programs of a device: leaves, sums, checks and the optimizer's step in one execution. */
#include "train/core/penalty.h"
#include "train/core/trainer_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- the plan ---- */

static liana_status build_leaves(void *user, int64_t leaves, liana_graph **graph, liana__error *error)
{
    liana__trainer *own = user;
    liana_context *context = own->device->context;
    liana_status status =
        liana__build_training_leaves(context, &own->options, own->microbatch, leaves, &own->sums, graph);
    return liana__trainer_take_error(own, status, error);
}

static liana_status build_penalty(void *user, liana_graph **graph, liana__error *error)
{
    const liana__trainer *own = user;
    return liana__penalty_build(own->device->context, own->options.model, graph, error);
}

static liana_status build_round(void *user, size_t round, liana_graph **graph, liana__error *error)
{
    liana__trainer *own = user;
    *graph = NULL;
    LIANA_TRY(liana__trainer_prepare_update(own, error));
    return liana__trainer_take_error(own, liana__trainer_update_build_finished(&own->update, round, graph), error);
}

/* What a loader makes of records; the rest is of positions, or of batches. */
static uint64_t find_tables(const liana__trainer *trainer)
{
    uint64_t found = 0;
    const size_t num_ports = liana__model_num_inputs(trainer->options.model) + trainer->options.objective->num_outputs;
    for (size_t i = 0; i < trainer->num_names; i++) {
        const bool of_record = i < num_ports || strcmp(trainer->names[i].text, LIANA__WEIGHTS) == 0;
        if (of_record) found |= (uint64_t)1 << i;
    }
    return found;
}

/* Updates as one program each. Not where the host makes a learning rate of their sums, and not of a program's own
 * steps. */
bool liana__trainer_plan_whole(liana__trainer *trainer, size_t num_sum_rounds, liana__whole_plan *plan)
{
    const liana__trainer_options *options = &trainer->options;
    if (!options->optimizer || options->function || options->deterministic || options->adapted_rate) return false;
    *plan = (liana__whole_plan){
        .build_leaves = build_leaves,
        .side_by_side = liana__leaves_stand_side_by_side(options),
        .build_update = liana__trainer_update_graph,
        .num_rounds = num_sum_rounds,
        .build_round = build_round,
        .build_penalty = trainer->penalty ? build_penalty : NULL,
        .find_sum = liana__trainer_find_sum,
        .user = trainer,
        .num_scalars = LIANA__NUM_UPDATE_SCALARS,
        .num_losses = options->objective->num_outputs,
        .table_rows = options->table_rows,
        .in_tables = options->table_rows ? find_tables(trainer) : 0,
        .most_steps = options->steps_per_execution > 1 ? (size_t)options->steps_per_execution : 1,
    };
    return true;
}

liana__whole *liana__trainer_whole(const liana__trainer *trainer)
{
    const liana__strategy *strategy = trainer->strategy;
    return strategy->functions->whole ? strategy->functions->whole(trainer->instance) : NULL;
}

/* ---- examples that the devices keep ---- */

bool liana__trainer_has_tables(const liana__trainer *trainer)
{
    return trainer->options.table_rows > 0 && liana__trainer_whole(trainer);
}

liana_status liana__trainer_keep(liana__trainer *trainer, const liana__batch *batch, liana__error *error)
{
    LIANA_TRY(liana__trainer_check_batch(trainer, batch, false, error));
    const liana__leaf_batch leaves = liana__trainer_leaves(trainer, batch);
    return trainer->device->backend->whole_keep(liana__trainer_whole(trainer), &leaves, error);
}

liana_status liana__trainer_send_kept(liana__trainer *trainer, liana__error *error)
{
    return trainer->device->backend->whole_keep(liana__trainer_whole(trainer), NULL, error);
}

/* ---- several updates ---- */

size_t liana__trainer_most_staged(const liana__trainer *trainer)
{
    return liana__trainer_whole(trainer) ? trainer->whole.most_steps : 0;
}

liana_status liana__trainer_stage(liana__trainer *trainer, const liana__batch *batch, liana__error *error)
{
    liana__leaf_batch leaves;
    LIANA_TRY(liana__trainer_begin_batch(trainer, batch, true, &leaves, error));
    LIANA_TRY(trainer->device->backend->whole_stage(liana__trainer_whole(trainer), &leaves, error));
    trainer->num_staged++;
    return LIANA_OK;
}

liana_status liana__trainer_launch(liana__trainer *trainer, const float *scalars, liana__error *error)
{
    trainer->num_launched = trainer->num_staged;
    trainer->num_staged = 0;
    const liana_status status = trainer->device->backend->whole_launch(liana__trainer_whole(trainer), scalars, error);
    return liana__trainer_name_layer(trainer, status, error);
}

liana_status liana__trainer_collect(liana__trainer *trainer, const int64_t *counts, float *sums, int *statuses,
                                    liana__error *error)
{
    const liana__objective *objective = trainer->options.objective;
    liana__whole *whole = liana__trainer_whole(trainer);
    const liana_status status =
        trainer->device->backend->whole_collect(whole, sums, trainer->penalties, statuses, error);
    LIANA_TRY(liana__trainer_name_layer(trainer, status, error));
    for (size_t i = 0; trainer->penalty && i < trainer->num_launched; i++) {
        float *sum = &sums[i * objective->num_sums + objective->penalty_sum];
        *sum = liana__penalty_in(*sum, trainer->penalties[i], counts[i]);
    }
    return LIANA_OK;
}

liana_status liana__trainer_drop_staged(liana__trainer *trainer, liana__error *error)
{
    trainer->num_staged = 0;
    return trainer->device->backend->whole_drop(liana__trainer_whole(trainer), error);
}

liana_status liana__trainer_find_fault(liana__trainer *trainer, const float *sums, double learning_rate,
                                       liana__error *error)
{
    memcpy(trainer->first_sum, sums, trainer->options.objective->num_sums * sizeof *sums);
    trainer->fault = (liana__fault){0};
    trainer->update.learning_rate = learning_rate;
    const liana__fault_check check = liana__trainer_check(trainer);
    return liana__fault_after_update(&check, &trainer->fault, error);
}

/* ---- one update ---- */

liana_status liana__trainer_step_as_a_whole(liana__trainer *trainer, const liana__batch *batch, const float *scalars,
                                            liana__error *error)
{
    const int64_t count = liana__batch_step_count(batch);
    int status;
    const uint64_t begin = liana__trainer_clock(trainer);
    const liana__fault_check check = liana__trainer_check(trainer);
    LIANA_TRY(liana__trainer_stage(trainer, batch, error));
    LIANA_TRY(liana__trainer_launch(trainer, scalars, error));
    LIANA_TRY(liana__trainer_collect(trainer, &count, trainer->first_sum, &status, error));
    liana__trainer_record(trainer, LIANA__EVENT_UPDATE, begin, (int64_t)scalars[LIANA__UPDATE_ITERATION]);
    if (status == LIANA__WHOLE_BAD_SUMS) return liana__trainer_step_by_parts(trainer, batch, scalars, error);
    if (status == LIANA__WHOLE_BAD_VALUES) return liana__fault_after_update(&check, &trainer->fault, error);
    return LIANA_OK;
}
