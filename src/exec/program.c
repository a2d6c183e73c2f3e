/* A compiled graph with its inputs and outputs. */
#include "exec/program.h"

#include "backends/dump.h"
#include "base/scoped.h"
#include "base/text.h"

void liana__program_destroy(liana__program *program)
{
    if (!program) return;
    const liana__backend *backend = program->device->backend;
    for (size_t i = 0; program->graph && i < program->graph->num_inputs; i++) {
        if (program->fed && program->fed[i]) backend->buffer_destroy(program->inputs[i]);
    }
    for (size_t i = 0; program->outputs && i < program->graph->num_outputs; i++) {
        if (program->outputs[i]) backend->buffer_destroy(program->outputs[i]);
    }
    if (program->executable) backend->executable_destroy(program->executable);
    liana_graph_destroy(program->graph);
    free(program->places);
    liana__arena_free(&program->arena);
    free(program);
}

static liana_status set_up(liana__program *program, const char *name, liana__error *error)
{
    const liana_graph *graph = program->graph;
    liana__arena *arena = &program->arena;
    program->name = liana__arena_string(arena, name);
    program->values = liana__arena_allocate(arena, (graph->num_variables + 1) * sizeof *program->values);
    program->inputs = liana__arena_allocate(arena, (graph->num_inputs + 1) * sizeof *program->inputs);
    program->fed = liana__arena_allocate(arena, (graph->num_inputs + 1) * sizeof *program->fed);
    program->outputs = liana__arena_allocate(arena, (graph->num_outputs + 1) * sizeof *program->outputs);
    if (arena->failed) return liana__fail_memory(error, name);
    LIANA_TRY(liana__dump_graph(graph, name, error));
    LIANA_TRY(program->device->backend->compile(program->device, graph, &program->executable, error));
    if (graph->num_variables == 0) return LIANA_OK;
    return liana__variables_bind(program->variables, graph, &program->places, error);
}

liana_status liana__program_create(liana__device *device, liana_graph *graph, const char *name,
                                   liana__variables *variables, liana__program **out, liana__error *error)
{
    *out = NULL;
    liana__program *program = calloc(1, sizeof *program);
    if (!program) {
        liana_graph_destroy(graph);
        return liana__fail_memory(error, name);
    }
    program->device = device;
    program->graph = graph;
    program->variables = variables;
    liana_status status = set_up(program, name, error);
    if (status != LIANA_OK) {
        liana__program_destroy(program);
        return status;
    }
    *out = program;
    return LIANA_OK;
}

/* ---- names ---- */

liana_status liana__program_find_feed(const liana__program *program, const char *name, size_t *feed,
                                      liana__error *error)
{
    const liana_graph *graph = program->graph;
    for (*feed = 0; *feed < graph->num_inputs; ++*feed) {
        if (strcmp(graph->inputs[*feed]->name, name) == 0) return LIANA_OK;
    }
    LIANA__SCOPED_MEMORY const char **names = calloc(graph->num_inputs + 1, sizeof *names);
    if (!names) return liana__fail_memory(error, program->name);
    for (size_t i = 0; i < graph->num_inputs; i++) names[i] = graph->inputs[i]->name;
    return liana__fail(error, LIANA_NOT_FOUND, "%s has no input '%s'%s", program->name, name,
                       liana__hint(liana__nearest(name, names, graph->num_inputs)).text);
}

/* ---- running ---- */

liana_status liana__program_feed(liana__program *program, size_t feed, liana_dtype dtype, const liana_shape *shape,
                                 const void *data, liana__error *error)
{
    const liana__node *node = program->graph->inputs[feed];
    if (dtype != node->dtype || !liana_shape_equal(shape, &node->shape)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the input '%s' is %s, expected %s", program->name,
                           node->name, liana__type_print(dtype, shape).text,
                           liana__type_print(node->dtype, &node->shape).text);
    }
    if (!program->fed[feed]) program->inputs[feed] = NULL;
    LIANA_TRY(
        program->device->backend->upload(program->device, dtype, shape, data, &program->inputs[feed], NULL, error));
    program->fed[feed] = true;
    return LIANA_OK;
}

void liana__program_bind(liana__program *program, size_t feed, liana__buffer *buffer)
{
    if (program->fed[feed]) program->device->backend->buffer_destroy(program->inputs[feed]);
    program->fed[feed] = false;
    program->inputs[feed] = buffer;
}

liana_status liana__program_prepare(liana__program *program, liana__error *error)
{
    const liana__backend *backend = program->device->backend;
    return backend->make_ready ? backend->make_ready(program->executable, error) : LIANA_OK;
}

static liana_status execute(liana__program *program, liana__buffer **variables, bool *all_finite, liana__error *error)
{
    if (all_finite) *all_finite = false;
    liana__execution execution = {.name = program->name,
                                  .inputs = program->inputs,
                                  .variables = variables,
                                  .outputs = program->outputs,
                                  .all_finite = all_finite};
    LIANA_TRY(program->device->backend->execute(program->executable, &execution, error));
    program->num_runs++;
    return LIANA_OK;
}

liana_status liana__program_run_with(liana__program *program, liana__buffer **variables, liana__error *error)
{
    return execute(program, variables, NULL, error);
}

liana_status liana__program_run(liana__program *program, liana__error *error)
{
    return liana__program_run_watched(program, NULL, error);
}

liana_status liana__program_run_watched(liana__program *program, bool *all_finite, liana__error *error)
{
    const size_t num_variables = program->graph->num_variables;
    liana__variable *variables = num_variables ? program->variables->items : NULL;
    for (size_t i = 0; i < num_variables; i++) program->values[i] = variables[program->places[i]].buffer;
    LIANA_TRY(execute(program, program->values, all_finite, error));
    for (size_t i = 0; i < num_variables; i++) variables[program->places[i]].buffer = program->values[i];
    return LIANA_OK;
}

liana_status liana__program_fetch(const liana__program *program, size_t fetch, void *data, liana__error *error)
{
    if (!program->num_runs) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the output '%s' is not there before the first run",
                           program->name, program->graph->outputs[fetch].name);
    }
    return program->device->backend->download(program->outputs[fetch], data, error);
}
