/* Programs: makes them, and compiles the results that runs ask for. */
#include "program/program.h"

#include "base/context.h"
#include "base/scoped.h"
#include "ir/device_scope.h"
#include "program/device.h"

#include <stdio.h>
#include <stdlib.h>

static void destroy_set(liana__compiled_set *set)
{
    if (!set) return;
    liana__program_destroy(set->program);
    liana__device_parts_destroy(set->parts);
    liana__arena_free(&set->arena);
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
    free(program->scope_devices);
    free(program->name);
    free(program);
}

/* Opens the devices of scopes that are new. */
static liana_status find_devices(liana_program *program)
{
    liana__error *error = &program->context->error;
    const liana_graph *graph = program->graph;
    LIANA_TRY(liana__scopes_check_ended(graph, error));
    while (program->num_scopes <= liana__num_scopes(graph)) {
        const uint32_t scope = (uint32_t)program->num_scopes;
        size_t device = 0;
        if (scope > 0 && liana__placed_devices_find(&program->variables->devices, liana__scope_name(graph, scope),
                                                    &device, error) != LIANA_OK) {
            const liana_location where = liana__scope_location(graph, scope);
            return liana__fail_within(error, "%s: %s:%d: a device scope", program->name, where.file, where.line);
        }
        if (!liana__grow(&program->scope_devices, program->num_scopes, &program->scope_capacity,
                         sizeof *program->scope_devices)) {
            return liana__fail_memory(error, "a program");
        }
        program->scope_devices[program->num_scopes++] = device;
    }
    return LIANA_OK;
}

/* The device that a variable lives on. */
static size_t home_of(const liana_program *program, size_t place)
{
    const liana_variables *variables = program->variables;
    return liana__placed_devices_index(&variables->devices, variables->values.items[place].buffer->device);
}

static liana_status declare_variable(liana_program *program, const liana__node *node)
{
    liana_variables *variables = program->variables;
    const uint32_t scope = liana__scope_of(program->graph, node);
    const size_t device = program->scope_devices[scope];
    size_t place;
    LIANA_TRY(liana__variables_declare_on(variables, device, node->name, node->dtype, &node->shape, node->initializer,
                                          &place));
    const size_t home = home_of(program, place);
    if (scope == 0 || home == device) return LIANA_OK;
    return liana__fail(&program->context->error, LIANA_INVALID_ARGUMENT,
                       "the variable '%s' is to be on %s, but the set has it on %s already", node->name,
                       variables->devices.items[device].name, variables->devices.items[home].name);
}

/* Adds the graph's variables that are not in the set yet. */
static liana_status declare_variables(liana_program *program)
{
    const liana_graph *graph = program->graph;
    LIANA_TRY(find_devices(program));
    for (; program->num_declared < graph->num_variables; program->num_declared++) {
        const liana__node *node = graph->variables[program->num_declared];
        if (declare_variable(program, node) == LIANA_OK) continue;
        return liana__fail_within(&program->context->error, "%s: %s:%d", program->name, node->where.file,
                                  node->where.line);
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
    if (program->graph->status == LIANA_OK) (void)!declare_variables(program);
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
    set->num_results = wanted->num_results;
    set->num_assignments = wanted->num_assignments;
    set->results = liana__arena_copy(&set->arena, wanted->results, set->num_results * sizeof *set->results);
    set->assignments =
        liana__arena_copy(&set->arena, wanted->assignments, set->num_assignments * sizeof *set->assignments);
    set->assigned = liana__arena_allocate(&set->arena, set->num_assignments * sizeof *set->assigned);
    return set->arena.failed ? liana__fail_memory(error, "a program") : LIANA_OK;
}

/* Finds the device of each op and variable. *only: the one that has them all, or SIZE_MAX if there are several. */
static liana_status place_nodes(const liana_program *program, const liana__wanted *wanted, size_t *devices,
                                size_t *only)
{
    const liana_graph *graph = program->graph;
    LIANA__SCOPED_MEMORY bool *needed = calloc(graph->num_nodes, sizeof *needed);
    if (!needed) return liana__fail_memory(&program->context->error, "a program");
    liana__wanted_mark(graph, wanted, needed);
    for (size_t i = 0; i < wanted->num_assignments; i++) {
        needed[graph->assignments[wanted->assignments[i]].variable->id] = true;
    }
    bool any = false, several = false;
    *only = 0;
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        devices[id] = program->scope_devices[liana__scope_of(graph, node)];
        if (liana__is_variable(node)) {
            const liana__variable *variable = liana__variables_find(&program->variables->values, node->name);
            devices[id] = home_of(program, (size_t)(variable - program->variables->values.items));
        }
        if (!needed[id] || liana__is_input(node) || liana__is_constant(node)) continue;
        several = several || (any && *only != devices[id]);
        any = true;
        *only = devices[id];
    }
    if (several) *only = SIZE_MAX;
    return LIANA_OK;
}

/* Notes which variables are read. */
static liana_status note_read(const liana_program *program, liana__compiled_set *set,
                              const liana__node *const *variables, size_t count)
{
    set->read = liana__arena_allocate(&set->arena, count * sizeof *set->read);
    if (!set->read) return liana__fail_memory(&program->context->error, "a program");
    for (; set->num_read < count; set->num_read++) {
        LIANA_TRY(
            liana__variables_place(program->variables, variables[set->num_read]->name, &set->read[set->num_read]));
    }
    return LIANA_OK;
}

static liana_status compile_on_one(liana_program *program, liana__compiled_set *set, const liana__wanted *wanted,
                                   const char *name, size_t device)
{
    liana__error *error = &program->context->error;
    liana_graph *graph;
    size_t num_read;
    LIANA_TRY(liana__subgraph(program->graph, wanted, &graph, &num_read));
    LIANA_TRY(liana__program_create(program->variables->devices.items[device].device, graph, name,
                                    &program->variables->values, &set->program, error));
    set->inputs = (const liana__node *const *)graph->inputs;
    set->num_inputs = graph->num_inputs;
    return note_read(program, set, (const liana__node *const *)graph->variables, num_read);
}

static liana_status compile_on_several(liana_program *program, liana__compiled_set *set, const liana__wanted *wanted,
                                       const char *name, const size_t *devices)
{
    liana__error *error = &program->context->error;
    liana_variables *variables = program->variables;
    LIANA_TRY(liana__device_parts_create(&variables->devices, program->graph, wanted, devices, name, &variables->values,
                                         set->assigned, &set->parts, error));
    const liana__split *split = liana__device_parts_split(set->parts);
    set->inputs = split->feeds;
    set->num_inputs = split->num_feeds;
    return note_read(program, set, split->read, split->num_read);
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
    char name[256];
    snprintf(name, sizeof name, "%.200s", program->name);
    if (program->num_compiled > 0) snprintf(name, sizeof name, "%.200s-%zu", program->name, program->num_compiled + 1);
    program->num_compiled++;
    LIANA__SCOPED_MEMORY size_t *devices = calloc(program->graph->num_nodes, sizeof *devices);
    size_t only = 0;
    if (!devices) return liana__fail_memory(error, "a program");
    LIANA_TRY(place_nodes(program, wanted, devices, &only));
    LIANA_TRY(only == SIZE_MAX ? compile_on_several(program, set, wanted, name, devices)
                               : compile_on_one(program, set, wanted, name, only));
    set->feeds = liana__arena_allocate(&set->arena, set->num_inputs * sizeof *set->feeds);
    return set->feeds ? LIANA_OK : liana__fail_memory(error, "a program");
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
