/* Programs: makes them, and compiles what runs ask for. */
#include "program/program.h"

#include "base/context.h"
#include "program/device.h"

#include <stdio.h>
#include <stdlib.h>

static void destroy_set(liana__compiled_set *set)
{
    if (!set) return;
    liana__program_destroy(set->program);
    free(set->results);
    free(set->assignments);
    free(set->assigned);
    free(set->feeds);
    free(set);
}

void liana_program_destroy(liana_program *program)
{
    if (!program) return;
    for (size_t i = 0; i < program->num_sets; i++) destroy_set(program->sets[i]);
    liana_variables_destroy(program->own_variables);
    free(program->wanted);
    free(program->results);
    free(program->is_assigned);
    free(program->assignments);
    free(program->name);
    free(program);
}

/* Adds the graph's variables that are not in the set yet. */
static liana_status declare_variables(liana_program *program)
{
    const liana_graph *graph = program->graph;
    for (; program->num_declared < graph->num_variables; program->num_declared++) {
        const liana__node *node = graph->variables[program->num_declared];
        size_t place;
        liana_status status = liana__variables_declare(program->variables, node->name, node->dtype, &node->shape,
                                                       node->initializer, &place);
        if (status != LIANA_OK) {
            return liana__fail_within(&program->context->error, "%s: %s:%d", program->name, node->where.file,
                                      node->where.line);
        }
    }
    return LIANA_OK;
}

static liana_status set_up(liana_program *program, liana_device *device, const liana_program_options *options)
{
    liana__error *error = &program->context->error;
    program->name = strdup(options->name ? options->name : "program");
    if (!program->name) return liana__fail_memory(error, "a program");
    if (options->variables) {
        program->variables = options->variables;
        if (options->variables->values.device == device->device) return declare_variables(program);
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: its variables are on another device", program->name);
    }
    LIANA_TRY(liana_variables_create(device, &program->own_variables));
    program->variables = program->own_variables;
    return declare_variables(program);
}

static liana_status create_program(liana_device *device, const liana_graph *graph, const liana_program_options *options,
                                   liana_program **out)
{
    static const liana_program_options standard = {0};
    *out = NULL;
    LIANA_TRY(graph->status);
    liana_program *program = calloc(1, sizeof *program);
    if (!program) return liana__fail_memory(&device->context->error, "a program");
    program->context = device->context;
    program->device = device->device;
    program->graph = graph;
    liana_status status = set_up(program, device, options ? options : &standard);
    if (status != LIANA_OK) {
        liana_program_destroy(program);
        return status;
    }
    *out = program;
    return LIANA_OK;
}

liana_status liana_program_create(liana_device *device, const liana_graph *graph, const liana_program_options *options,
                                  liana_program **out)
{
    liana_context *context = device ? device->context : graph ? graph->context : NULL;
    LIANA__REQUIRE_AS(liana__context_error(context), out, "program");
    *out = NULL;
    LIANA__REQUIRE(liana__context_error(context), device);
    LIANA__REQUIRE(liana__context_error(context), graph);
    LIANA__CONTEXT_CALL(context, create_program(device, graph, options, out));
}

liana_variables *liana_program_variables(liana_program *program)
{
    if (!program) return NULL;
    /* A failure is found again, and reported, by the next run. */
    liana_status status = program->graph->status == LIANA_OK ? declare_variables(program) : LIANA_OK;
    (void)status;
    return program->variables;
}

/* ---- sets ---- */

static bool is_set(const liana__compiled_set *set, const liana__wanted *wanted)
{
    if (set->num_results != wanted->num_results || set->num_assignments != wanted->num_assignments) return false;
    for (size_t i = 0; i < set->num_results; i++) {
        if (set->results[i] != wanted->results[i]) return false;
    }
    for (size_t i = 0; i < set->num_assignments; i++) {
        if (set->assignments[i] != wanted->assignments[i]) return false;
    }
    return true;
}

static liana_status copy_lists(liana__compiled_set *set, const liana__wanted *wanted, liana__error *error)
{
    set->results = calloc(wanted->num_results + 1, sizeof(liana__node *));
    set->assignments = calloc(wanted->num_assignments + 1, sizeof *set->assignments);
    set->assigned = calloc(wanted->num_assignments + 1, sizeof *set->assigned);
    if (!set->results || !set->assignments || !set->assigned) return liana__fail_memory(error, "a program");
    set->num_results = wanted->num_results;
    set->num_assignments = wanted->num_assignments;
    for (size_t i = 0; i < set->num_results; i++) set->results[i] = wanted->results[i];
    for (size_t i = 0; i < set->num_assignments; i++) set->assignments[i] = wanted->assignments[i];
    return LIANA_OK;
}

static liana_status compile(liana_program *program, liana__compiled_set *set, const liana__wanted *wanted)
{
    liana__error *error = &program->context->error;
    LIANA_TRY(declare_variables(program));
    LIANA_TRY(copy_lists(set, wanted, error));
    for (size_t i = 0; i < set->num_assignments; i++) {
        const liana__node *variable = program->graph->assignments[set->assignments[i]].variable;
        LIANA_TRY(liana__variables_place(program->variables, variable->name, &set->assigned[i]));
    }
    liana_graph *graph;
    LIANA_TRY(liana__subgraph(program->graph, wanted, &graph, &set->num_read));
    set->feeds = calloc(graph->num_inputs + 1, sizeof *set->feeds);
    char name[256];
    snprintf(name, sizeof name, "%.200s", program->name);
    if (program->num_compiled > 0) snprintf(name, sizeof name, "%.200s-%zu", program->name, program->num_compiled + 1);
    program->num_compiled++;
    if (!set->feeds) {
        liana_graph_destroy(graph);
        return liana__fail_memory(error, "a program");
    }
    return liana__program_create(program->device, graph, name, &program->variables->values, &set->program, error);
}

/* Where a new set goes. */
static size_t make_room(liana_program *program)
{
    if (program->num_sets < LIANA__MAX_COMPILED_SETS) return program->num_sets++;
    size_t oldest = 0;
    for (size_t i = 1; i < program->num_sets; i++) {
        if (program->sets[i]->last_run < program->sets[oldest]->last_run) oldest = i;
    }
    destroy_set(program->sets[oldest]);
    return oldest;
}

liana_status liana__program_find_set(liana_program *program, const liana__wanted *wanted, liana__compiled_set **out)
{
    *out = NULL;
    for (size_t i = 0; i < program->num_sets && !*out; i++) {
        if (is_set(program->sets[i], wanted)) *out = program->sets[i];
    }
    if (!*out) {
        liana__compiled_set *set = calloc(1, sizeof *set);
        if (!set) return liana__fail_memory(&program->context->error, "a program");
        liana_status status = compile(program, set, wanted);
        if (status != LIANA_OK) {
            destroy_set(set);
            return status;
        }
        program->sets[make_room(program)] = *out = set;
    }
    (*out)->last_run = ++program->num_runs;
    return LIANA_OK;
}
