/* An update on one device, with the sums that it reads. */
#include "distribute/replica_update.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- setting up ---- */

void liana__replica_update_free(liana__replica_update *update)
{
    for (size_t i = 0; update->programs && i <= update->plan->update->num_rounds; i++) {
        liana__program_destroy(update->programs[i].program);
        free(update->programs[i].sums_read);
        free(update->programs[i].chunk_sums);
    }
    free(update->programs);
    free(update->finished);
    free(update->scalars);
    *update = (liana__replica_update){0};
}

/* Inputs are sums of the leaves, the plan's scalars, and `num_finished` finished sums. */
static liana_status find_sums(const liana__strategy_plan *plan, size_t num_finished, liana__update_program *made,
                              liana__error *error)
{
    const liana_graph *graph = made->program->graph;
    if (plan->updates_ignore_sums) num_finished = 0;
    made->num_finished = num_finished;
    made->num_read = graph->num_inputs - plan->num_scalars - num_finished;
    made->sums_read = calloc(made->num_read + 1, sizeof *made->sums_read);
    if (!made->sums_read) return liana__fail_memory(error, "the update");
    for (size_t i = 0; i < made->num_read; i++) {
        made->sums_read[i] = plan->update->find_sum(plan->update->user, graph->inputs[i]->name);
    }
    if (graph->num_outputs == 0) return LIANA_OK;
    const liana__node *output = graph->outputs[0].node;
    made->chunk_sums = malloc(liana__byte_size(output->dtype, &output->shape));
    return made->chunk_sums ? LIANA_OK : liana__fail_memory(error, "the sums of an update");
}

static liana_status make_program(liana__device *device, const liana__strategy_plan *plan, size_t number,
                                 liana__update_program *made, liana__error *error)
{
    liana_graph *graph;
    char name[48] = "update";
    const liana__update_functions *update = plan->update;
    if (number < update->num_rounds) {
        snprintf(name, sizeof name, "update_sums_%zu", number);
        LIANA_TRY(update->build_round(update->user, LIANA__WHOLE_UPDATE, number, &graph, error));
    } else {
        LIANA_TRY(update->build(update->user, LIANA__WHOLE_UPDATE, &graph, error));
    }
    if (!graph) return LIANA_OK;
    LIANA_TRY(liana__program_create(device, graph, name, plan->variables, &made->program, error));
    LIANA_TRY(find_sums(plan, number, made, error));
    return liana__program_prepare(made->program, error);
}

liana_status liana__replica_update_create(liana__device *device, const liana__strategy_plan *plan,
                                          liana__replica_update *update, liana__error *error)
{
    const size_t count = plan->update->num_rounds + 1;
    *update = (liana__replica_update){.plan = plan};
    update->programs = calloc(count, sizeof *update->programs);
    update->finished = calloc(count, sizeof *update->finished);
    update->scalars = calloc(plan->num_scalars + 1, sizeof *update->scalars);
    if (!update->programs || !update->finished || !update->scalars) return liana__fail_memory(error, "the update");
    for (size_t i = 0; i < count; i++) LIANA_TRY(make_program(device, plan, i, &update->programs[i], error));
    return LIANA_OK;
}

/* ---- running ---- */

static liana_status feed(liana__replica_update *update, size_t number, const liana__sum_feed *sums, liana__error *error)
{
    const liana__update_program *own = &update->programs[number];
    const size_t num_scalars = update->plan->num_scalars;
    for (size_t i = 0; i < own->num_read; i++) {
        LIANA_TRY(sums->feed(sums->user, own->program, i, own->sums_read[i], error));
    }
    for (size_t i = 0; i < num_scalars; i++) {
        LIANA_TRY(
            liana__program_feed(own->program, own->num_read + i, LIANA_F32, &LIANA_SCALAR, &update->scalars[i], error));
    }
    for (size_t round = 0; round < own->num_finished; round++) {
        const size_t input = own->num_read + num_scalars + round;
        const liana__node *node = own->program->graph->inputs[input];
        LIANA_TRY(liana__program_feed(own->program, input, node->dtype, &node->shape, update->finished[round], error));
    }
    return LIANA_OK;
}

liana_status liana__replica_update_run_program(liana__replica_update *update, size_t number,
                                               const liana__sum_feed *sums, liana__error *error)
{
    const liana__update_program *own = &update->programs[number];
    if (!own->program) return LIANA_OK;
    LIANA_TRY(feed(update, number, sums, error));
    LIANA_TRY(liana__program_run(own->program, error));
    if (number == update->plan->update->num_rounds) return LIANA_OK;
    return liana__program_fetch(own->program, 0, own->chunk_sums, error);
}

liana_status liana__replica_update_run(liana__replica_update *update, const liana__sum_feed *sums, const float *scalars,
                                       liana__error *error)
{
    const liana__strategy_plan *plan = update->plan;
    memcpy(update->scalars, scalars, plan->num_scalars * sizeof *scalars);
    for (size_t number = 0; number <= plan->update->num_rounds; number++) {
        LIANA_TRY(liana__replica_update_run_program(update, number, sums, error));
        if (number == plan->update->num_rounds) break;
        LIANA_TRY(plan->update->finish_round(plan->update->user, number, update->programs[number].chunk_sums,
                                             update->scalars, &update->finished[number], error));
    }
    return LIANA_OK;
}
