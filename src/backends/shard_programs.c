/* Compiles and keeps the programs of a replica. */
#include "backends/shard_programs.h"

#include "backends/dump.h"

#include <stdio.h>
#include <stdlib.h>

static void free_program(liana__shard_programs *programs, liana__shard_program *program)
{
    if (program->own) programs->release(programs->user, program);
    if (program->executable) programs->device->backend->executable_destroy(program->executable);
    free(program->places);
    free(program->variables);
    liana_graph_destroy(program->graph);
}

void liana__shard_programs_free(liana__shard_programs *programs)
{
    for (size_t i = 0; i < programs->count; i++) free_program(programs, &programs->items[i]);
    free(programs->items);
    programs->items = NULL;
    programs->count = programs->capacity = 0;
}

liana__shard_program *liana__shard_programs_find(const liana__shard_programs *programs, int64_t size)
{
    if (programs->masked) return programs->count ? &programs->items[0] : NULL;
    for (size_t i = 0; i < programs->count; i++) {
        if (programs->items[i].size == size) return &programs->items[i];
    }
    return NULL;
}

/* The place of a new program: behind the others, or that of an old one if all are taken. The programs of full batches
 * stay, and so do those that the running batch needs. NULL: out of memory. */
static liana__shard_program *place_for(liana__shard_programs *programs)
{
    for (size_t tries = 2; programs->count >= LIANA__KEPT_PROGRAMS && tries < programs->count; tries++) {
        liana__shard_program *old = &programs->items[2 + programs->next_replaced++ % (programs->count - 2)];
        if (old->needed) continue;
        free_program(programs, old);
        return old;
    }
    if (!liana__grow(&programs->items, programs->count, &programs->capacity, sizeof *programs->items)) return NULL;
    return &programs->items[programs->count++];
}

liana_status liana__leaf_components(const liana__leaf_plan *plan, const liana_graph *graph, size_t *components,
                                    liana__error *error)
{
    for (size_t i = 0; i < graph->num_inputs; i++) {
        const char *name = i < LIANA__MAX_LEAF_INPUTS ? graph->inputs[i]->name : "";
        size_t component = 0;
        while (component < plan->num_components && strcmp(plan->components[component], name) != 0) component++;
        if (strcmp(name, "present") == 0) component = LIANA__COMPONENT_PRESENT;
        if (component == plan->num_components) {
            return liana__fail(error, LIANA_INTERNAL, "the %s leaf reads the input '%s', which batches do not have",
                               plan->name, graph->inputs[i]->name);
        }
        components[i] = component;
    }
    return LIANA_OK;
}

static liana_status compile(liana__shard_programs *programs, liana__shard_program *program, liana__error *error)
{
    const liana__leaf_plan *plan = &programs->plan;
    char name[64];
    snprintf(name, sizeof name, "%s-shard-%lld", plan->name, (long long)program->size);
    LIANA_TRY(liana__dump_graph(program->graph, name, error));
    LIANA_TRY(liana__leaf_components(plan, program->graph, program->component, error));
    if (programs->before) LIANA_TRY(programs->before(programs->user, program->graph, error));
    LIANA_TRY(programs->device->backend->compile(programs->device, program->graph, &program->executable, error));
    LIANA_TRY(liana__variables_bind(plan->variables, program->graph, &program->places, error));
    program->variables = calloc(program->graph->num_variables + 1, sizeof *program->variables);
    if (!program->variables) return liana__fail_memory(error, "the program of a leaf");
    return programs->after ? programs->after(programs->user, program, error) : LIANA_OK;
}

static liana_status need(liana__shard_programs *programs, int64_t size, liana__error *error)
{
    liana__shard_program *known = liana__shard_programs_find(programs, size);
    if (known) {
        known->needed = true;
        return LIANA_OK;
    }
    const liana__leaf_plan *plan = &programs->plan;
    liana__shard_program made = {.size = size, .needed = true};
    LIANA_TRY(plan->build(plan->user, size, programs->masked, &made.graph, error));
    liana_status status = compile(programs, &made, error);
    liana__shard_program *program = status == LIANA_OK ? place_for(programs) : NULL;
    if (!program) {
        free_program(programs, &made);
        return status == LIANA_OK ? liana__fail_memory(error, "the program of a leaf") : status;
    }
    *program = made;
    return LIANA_OK;
}

liana_status liana__shard_programs_prepare(liana__shard_programs *programs, const liana__leaf_batch *batch,
                                           liana__error *error)
{
    for (size_t i = 0; i < programs->count; i++) programs->items[i].needed = false;
    if (programs->masked) return need(programs, programs->plan.leaf_size, error);
    for (size_t leaf = batch->first; leaf < batch->end; leaf++) {
        LIANA_TRY(need(programs, batch->leaves[leaf].size, error));
    }
    return LIANA_OK;
}

void liana__shard_programs_memory(const liana__shard_programs *programs, const liana__leaf_batch *batch,
                                  liana__replica_memory *memory)
{
    *memory = (liana__replica_memory){0};
    for (size_t leaf = batch->first; leaf < batch->end; leaf++) {
        const liana__shard_program *program = liana__shard_programs_find(programs, batch->leaves[leaf].size);
        if (!program) continue;
        const liana__executable *executable = program->executable;
        size_t workspace = executable->workspace_size, before = executable->recomputed.workspace_before;
        if (before < workspace) before = workspace;
        if (workspace > memory->workspace) memory->workspace = workspace;
        if (before > memory->workspace_before) memory->workspace_before = before;
        memory->flops += executable->recomputed.flops;
        memory->flops_before += executable->recomputed.flops_before;
        if (executable->recomputed.num_segments > memory->num_segments) {
            memory->num_segments = executable->recomputed.num_segments;
        }
    }
}

void liana__shard_programs_bind(liana__shard_programs *programs)
{
    for (size_t i = 0; i < programs->count; i++) {
        liana__shard_program *program = &programs->items[i];
        for (size_t k = 0; program->needed && k < program->graph->num_variables; k++) {
            program->variables[k] = programs->plan.variables->items[program->places[k]].buffer;
        }
    }
}
