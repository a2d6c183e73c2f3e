/* An update on one device, with the sums that it reads. */
#include "distribute/replica_update.h"

#include "base/scoped.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- setting up ---- */

void liana__replica_update_free(liana__replica_update *update)
{
    for (size_t i = 0; update->programs && i <= update->plan->update->num_rounds; i++) {
        liana__program_destroy(update->programs[i].program);
    }
    liana__finite_check_free(&update->sums_check);
    liana__finite_check_free(&update->new_values);
    liana__arena_free(&update->arena);
    *update = (liana__replica_update){0};
}

/* Inputs are sums of the shards, the plan's scalars, and `num_finished` finished sums. */
static liana_status find_sums(liana__replica_update *update, size_t num_finished, liana__update_program *made,
                              liana__error *error)
{
    const liana__strategy_plan *plan = update->plan;
    const liana_graph *graph = made->program->graph;
    if (plan->updates_ignore_sums) num_finished = 0;
    made->num_finished = num_finished;
    made->num_read = graph->num_inputs - plan->num_scalars - num_finished;
    made->sums_read = liana__arena_allocate(&update->arena, made->num_read * sizeof *made->sums_read);
    if (!made->sums_read) return liana__fail_memory(error, "the update");
    for (size_t i = 0; i < made->num_read; i++) {
        made->sums_read[i] = plan->update->find_sum(plan->update->user, graph->inputs[i]->name);
    }
    if (graph->num_outputs == 0) return LIANA_OK;
    const liana__node *output = graph->outputs[0].node;
    made->chunk_sums = liana__arena_allocate(&update->arena, liana__byte_size(output->dtype, &output->shape));
    return made->chunk_sums ? LIANA_OK : liana__fail_memory(error, "the sums of an update");
}

static liana_status make_program(liana__device *device, liana__replica_update *own, size_t number, liana__error *error)
{
    const liana__strategy_plan *plan = own->plan;
    liana__update_program *made = &own->programs[number];
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
    LIANA_TRY(find_sums(own, number, made, error));
    return liana__program_prepare(made->program, error);
}

static liana_status make_checks(liana__device *device, liana__replica_update *update, liana__error *error)
{
    const liana__update_program *last = &update->programs[update->plan->update->num_rounds];
    if (!last->program) return LIANA_OK;
    const liana_graph *graph = last->program->graph;
    LIANA_TRY(liana__finite_check_create(device, graph->inputs, last->num_read, NULL, &update->sums_check, error));
    LIANA__SCOPED_MEMORY liana__node **assigned = calloc(graph->num_assignments + 1, sizeof *assigned);
    if (!assigned) return liana__fail_memory(error, "the update");
    for (size_t i = 0; i < graph->num_assignments; i++) assigned[i] = graph->assignments[i].variable;
    return liana__finite_check_create(device, assigned, graph->num_assignments, update->plan->variables,
                                      &update->new_values, error);
}

liana_status liana__replica_update_create(liana__device *device, const liana__strategy_plan *plan,
                                          liana__replica_update *update, liana__error *error)
{
    const size_t count = plan->update->num_rounds + 1;
    *update = (liana__replica_update){.plan = plan};
    update->programs = liana__arena_allocate(&update->arena, count * sizeof *update->programs);
    update->finished = liana__arena_allocate(&update->arena, count * sizeof *update->finished);
    update->scalars = liana__arena_allocate(&update->arena, plan->num_scalars * sizeof *update->scalars);
    if (update->arena.failed) return liana__fail_memory(error, "the update");
    for (size_t i = 0; i < count; i++) LIANA_TRY(make_program(device, update, i, error));
    return make_checks(device, update, error);
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
    const bool is_last = number == update->plan->update->num_rounds;
    LIANA_TRY(liana__program_run_watched(own->program, is_last ? &update->seen_finite : NULL, error));
    if (is_last) return LIANA_OK;
    return liana__program_fetch(own->program, 0, own->chunk_sums, error);
}

/* Whether all sums that the check reads were seen to be finite when they were added. */
static bool are_known(const liana__program *check, size_t num_sums)
{
    for (size_t i = 0; i < num_sums; i++) {
        const liana__buffer *sum = check->inputs[i];
        if (!sum || sum->finite_version == 0 || sum->finite_version != sum->version) return false;
    }
    return true;
}

liana_status liana__replica_update_check(liana__replica_update *update, liana__checked what,
                                         const liana__sum_feed *sums, liana__non_finite *found, liana__error *error)
{
    if (what == LIANA__CHECK_VARIABLES && update->seen_finite) {
        update->seen_finite = false;
        *found = (liana__non_finite){0};
        return LIANA_OK;
    }
    liana__finite_check *check = what == LIANA__CHECK_SUMS ? &update->sums_check : &update->new_values;
    const liana__update_program *last = &update->programs[update->plan->update->num_rounds];
    for (size_t i = 0; what == LIANA__CHECK_SUMS && check->program && i < last->num_read; i++) {
        LIANA_TRY(sums->feed(sums->user, check->program, i, last->sums_read[i], error));
    }
    if (what == LIANA__CHECK_SUMS && check->program && are_known(check->program, last->num_read)) {
        *found = (liana__non_finite){0};
        return LIANA_OK;
    }
    return liana__finite_check_run(check, found, error);
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
