/* Functions that run on each replica: graphs by the shapes of shards, compiled for each device of this process. */
#include "base/crc32c.h"
#include "base/scoped.h"
#include "exec/program.h"
#include "exec/subgraph.h"
#include "ir/device_scope.h"
#include "ir/shape.h"
#include "program/array_text.h"
#include "step/replicas/per_replica.h"

#include <stdlib.h>
#include <string.h>

/* The compiled versions that are kept. Of more versions the one that was not used for the longest time goes. */
enum { MAX_VERSIONS = 16 };

/* The program for shards of some shapes. */
typedef struct version {
    liana_array *inputs; /* name, dtype and shape */
    size_t num_inputs;
    liana_graph *graph;
    liana__node **results; /* in ascending order, each once */
    size_t num_results;
    size_t *outputs;            /* by output of the graph: its result */
    liana__program **compiled;  /* by device; NULL: not yet */
    size_t *places, num_places; /* of its variables, on the first device */
    size_t num_read;            /* the first `num_read` variables are read */
    uint64_t last_run;
} version;

struct liana_replica_program {
    liana_replicas *replicas;
    liana_context *context;
    liana_replica_program_options options; /* with a copy of the name */
    liana__arena arena;
    version *versions[MAX_VERSIONS];
    size_t num_versions;
    uint64_t num_runs;
};

/* ---- making ---- */

static void free_version(version *own, size_t num_devices)
{
    if (!own) return;
    for (size_t i = 0; own->compiled && i < num_devices; i++) liana__program_destroy(own->compiled[i]);
    for (size_t i = 0; own->inputs && i < own->num_inputs; i++) free((char *)own->inputs[i].name);
    liana_graph_destroy(own->graph);
    free(own->inputs);
    free(own->results);
    free(own->outputs);
    free(own->compiled);
    free(own->places);
    free(own);
}

void liana_replica_program_destroy(liana_replica_program *program)
{
    if (!program) return;
    const size_t num_devices = program->replicas->devices.count;
    for (size_t i = 0; i < program->num_versions; i++) free_version(program->versions[i], num_devices);
    liana__arena_free(&program->arena);
    free(program);
}

static liana_status create(liana_replicas *replicas, const liana_replica_program_options *options,
                           liana_replica_program **out)
{
    liana__error *error = &replicas->context->error;
    const char *name = options->name ? options->name : "replica program";
    if (!options->build) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the options have no function that builds its graph",
                           name);
    }
    liana_replica_program *program = calloc(1, sizeof *program);
    if (!program) return liana__fail_memory(error, name);
    program->replicas = replicas;
    program->context = replicas->context;
    program->options = *options;
    program->options.name = liana__arena_string(&program->arena, name);
    if (!program->options.name) {
        liana_replica_program_destroy(program);
        return liana__fail_memory(error, name);
    }
    *out = program;
    return LIANA_OK;
}

liana_status liana_replica_program_create(liana_replicas *replicas, const liana_replica_program_options *options,
                                          liana_replica_program **out)
{
    liana__error *error = replicas ? &replicas->context->error : NULL;
    LIANA__REQUIRE_AS(error, out, "program");
    *out = NULL;
    LIANA__REQUIRE(error, replicas);
    LIANA__REQUIRE(error, options);
    LIANA__CONTEXT_CALL(replicas->context, create(replicas, options, out));
}

/* ---- a version ---- */

static int compare_nodes(const void *a, const void *b)
{
    const uint32_t x = (*(liana__node *const *)a)->id, y = (*(liana__node *const *)b)->id;
    return (x > y) - (x < y);
}

static liana_status list_results(version *own, liana__error *error)
{
    const liana_graph *graph = own->graph;
    own->results = calloc(graph->num_outputs + 1, sizeof(liana__node *));
    own->outputs = calloc(graph->num_outputs + 1, sizeof *own->outputs);
    if (!own->results || !own->outputs) return liana__fail_memory(error, "a replica program");
    for (size_t i = 0; i < graph->num_outputs; i++) own->results[i] = graph->outputs[i].node;
    if (graph->num_outputs) qsort(own->results, graph->num_outputs, sizeof(liana__node *), compare_nodes);
    for (size_t i = 0; i < graph->num_outputs; i++) {
        if (i > 0 && own->results[i] == own->results[own->num_results - 1]) continue;
        own->results[own->num_results++] = own->results[i];
    }
    for (size_t i = 0; i < graph->num_outputs; i++) {
        while (own->results[own->outputs[i]] != graph->outputs[i].node) own->outputs[i]++;
    }
    return LIANA_OK;
}

static liana_status check_graph(const liana_replica_program *program, const version *own, bool updates)
{
    const liana_graph *graph = own->graph;
    const char *name = program->options.name, *wrong = NULL;
    liana__error *error = &program->context->error;
    if (graph->status != LIANA_OK) return liana__fail_within(error, "%s", name);
    if (updates && graph->num_assignments == 0) {
        wrong = "it assigns to no variable, so there is nothing to update";
    } else if (!updates && graph->num_assignments > 0) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "%s: it assigns to '%.100s', which replicas would change differently; give what is to be "
                           "assigned as an output, reduce it, and update with liana_replica_program_update",
                           name, graph->assignments[0].variable->name);
    } else if (!updates && graph->num_outputs == 0) {
        wrong = "it has no outputs (liana_graph_output)";
    }
    if (wrong) return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: %s", name, wrong);
    if (graph->num_inputs == own->num_inputs) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "%s: it has an input '%s' of its own, which the values do not have", name,
                       graph->inputs[own->num_inputs]->name);
}

/* The outputs are those of the versions before. */
static liana_status check_outputs(const liana_replica_program *program, const version *own)
{
    if (program->num_versions == 0) return LIANA_OK;
    const liana_graph *before = program->versions[0]->graph, *graph = own->graph;
    bool same = before->num_outputs == graph->num_outputs;
    for (size_t i = 0; same && i < graph->num_outputs; i++) {
        same = strcmp(before->outputs[i].name, graph->outputs[i].name) == 0 &&
               before->outputs[i].node->dtype == graph->outputs[i].node->dtype;
    }
    if (same) return LIANA_OK;
    return liana__fail(&program->context->error, LIANA_INVALID_ARGUMENT,
                       "%s: its outputs for these leaves have other names or dtypes than for those before",
                       program->options.name);
}

static liana_status keep_inputs(version *own, const liana_array *inputs, size_t num_inputs, liana__error *error)
{
    own->inputs = calloc(num_inputs + 1, sizeof *own->inputs);
    if (!own->inputs) return liana__fail_memory(error, "a replica program");
    for (; own->num_inputs < num_inputs; own->num_inputs++) {
        liana_array *kept = &own->inputs[own->num_inputs];
        *kept = inputs[own->num_inputs];
        kept->data = NULL;
        kept->name = strdup(kept->name);
        if (!kept->name) return liana__fail_memory(error, "a replica program");
    }
    return LIANA_OK;
}

static liana_status build(liana_replica_program *program, version *own, const liana_array *inputs, size_t num_inputs,
                          bool updates)
{
    liana__error *error = &program->context->error;
    LIANA_TRY(keep_inputs(own, inputs, num_inputs, error));
    LIANA_TRY(liana_graph_create(program->context, &own->graph));
    liana__scopes_forbid(own->graph, LIANA__SCOPES_OF_STRATEGY);
    for (size_t i = 0; i < num_inputs; i++) {
        liana_graph_input(own->graph, own->inputs[i].name, (liana_dtype)own->inputs[i].dtype, own->inputs[i].shape);
    }
    program->options.build(own->graph, program->options.user);
    LIANA_TRY(check_graph(program, own, updates));
    LIANA_TRY(check_outputs(program, own));
    LIANA_TRY(list_results(own, error));
    for (size_t i = 0; i < own->graph->num_variables; i++) {
        const liana__node *node = own->graph->variables[i];
        size_t place;
        liana_status status = liana__variables_declare(program->replicas->variables, node->name, node->dtype,
                                                       &node->shape, node->initializer, &place);
        if (status != LIANA_OK) return liana__fail_within(error, "%s", program->options.name);
    }
    own->compiled = calloc(program->replicas->devices.count, sizeof *own->compiled);
    return own->compiled ? LIANA_OK : liana__fail_memory(error, program->options.name);
}

/* Compiles for a device, whose variables are there. */
static liana_status compile(const liana_replica_program *program, version *own, size_t device)
{
    liana_replicas *replicas = program->replicas;
    liana__error *error = &program->context->error;
    const bool updates = own->graph->num_assignments > 0;
    LIANA__SCOPED_MEMORY size_t *all = calloc(own->graph->num_assignments + 1, sizeof *all);
    if (!all) return liana__fail_memory(error, program->options.name);
    for (size_t i = 0; i < own->graph->num_assignments; i++) all[i] = i;
    const liana__wanted wanted = {updates ? NULL : own->results, updates ? 0 : own->num_results, all,
                                  own->graph->num_assignments};
    liana_graph *part = NULL;
    LIANA_TRY(liana__subgraph(own->graph, &wanted, &part, &own->num_read));
    own->num_places = part->num_variables;
    free(own->places);
    own->places = calloc(own->num_places + 1, sizeof *own->places);
    liana_status status = own->places ? LIANA_OK : liana__fail_memory(error, program->options.name);
    for (size_t i = 0; status == LIANA_OK && i < own->num_places; i++) {
        status = liana__variables_place(replicas->variables, part->variables[i]->name, &own->places[i]);
    }
    if (status == LIANA_OK) status = liana__replicas_copy(replicas, device, own->places, own->num_places, error);
    if (status != LIANA_OK) {
        liana_graph_destroy(part);
        return status;
    }
    return liana__program_create(replicas->devices.items[device], part, program->options.name,
                                 liana__replicas_values(replicas, device), &own->compiled[device], error);
}

static bool is_version(const version *own, const liana_array *inputs, size_t num_inputs)
{
    if (own->num_inputs != num_inputs) return false;
    for (size_t i = 0; i < num_inputs; i++) {
        if (strcmp(own->inputs[i].name, inputs[i].name) != 0 || own->inputs[i].dtype != inputs[i].dtype ||
            !liana_shape_equal(&own->inputs[i].shape, &inputs[i].shape)) {
            return false;
        }
    }
    return true;
}

static void keep_version(liana_replica_program *program, version *own)
{
    size_t place = program->num_versions;
    if (place == MAX_VERSIONS) {
        place = 0;
        for (size_t i = 1; i < MAX_VERSIONS; i++) {
            if (program->versions[i]->last_run < program->versions[place]->last_run) place = i;
        }
        free_version(program->versions[place], program->replicas->devices.count);
    } else {
        program->num_versions++;
    }
    program->versions[place] = own;
}

/* The version for these inputs, built if it is new. */
static liana_status find_version(liana_replica_program *program, const liana_array *inputs, size_t num_inputs,
                                 bool updates, version **out)
{
    for (size_t i = 0; i < program->num_versions; i++) {
        version *known = program->versions[i];
        if (!is_version(known, inputs, num_inputs)) continue;
        LIANA_TRY(check_graph(program, known, updates));
        *out = known;
        return LIANA_OK;
    }
    version *made = calloc(1, sizeof *made);
    if (!made) return liana__fail_memory(&program->context->error, program->options.name);
    liana_status status = build(program, made, inputs, num_inputs, updates);
    if (status != LIANA_OK) {
        free_version(made, program->replicas->devices.count);
        return status;
    }
    keep_version(program, made);
    *out = made;
    return LIANA_OK;
}

/* Compiles if it is to be, lets the device have the variables, and looks whether they have values. */
static liana_status make_ready(const liana_replica_program *program, version *own, size_t device, bool runs)
{
    liana_replicas *replicas = program->replicas;
    if (!own->compiled[device]) LIANA_TRY(compile(program, own, device));
    if (!runs) return LIANA_OK;
    LIANA_TRY(liana__replicas_copy(replicas, device, own->places, own->num_places, &program->context->error));
    bool all = true;
    for (size_t i = 0; i < own->num_read; i++) all &= replicas->variables->states[own->places[i]].initialized;
    if (all) return LIANA_OK;
    LIANA__SCOPED_MEMORY bool *read = calloc(replicas->variables->values.count + 1, sizeof *read);
    if (!read) return liana__fail_memory(&program->context->error, program->options.name);
    for (size_t i = 0; i < own->num_read; i++) read[own->places[i]] = true;
    return liana__variables_require(replicas->variables, program->options.name, read);
}

/* ---- running ---- */

/* A run of all shards of this process. */
typedef struct run {
    liana_replica_program *program;
    liana_per_replica *leaves; /* says which there are: an input, or values without arrays */
    liana_array *inputs;       /* [shards, num_inputs] */
    size_t num_inputs;
    version **versions; /* by shard */
    liana_per_replica *results;
    liana_status *statuses; /* by device */
    liana__error *errors;
} run;

/* Lists the numbers among the arrays of the values, by shard. */
static liana_status list_inputs(run *own, liana_per_replica *const *values, size_t count)
{
    const liana_replica_program *program = own->program;
    liana__error *error = &program->context->error;
    const size_t num_local = own->leaves->end - own->leaves->first;
    size_t most = 0;
    for (size_t i = 0; i < count; i++) most += values[i]->num_components;
    own->inputs = calloc(num_local * most + 1, sizeof *own->inputs);
    own->versions = calloc(num_local + 1, sizeof(version *));
    if (!own->inputs || !own->versions) return liana__fail_memory(error, program->options.name);
    LIANA__SCOPED_MEMORY const liana__leaf_component **listed = calloc(most + 1, sizeof *listed);
    if (!listed) return liana__fail_memory(error, program->options.name);
    for (size_t i = 0; num_local && i < count; i++) {
        for (size_t k = 0; k < values[i]->num_components; k++) {
            const liana__leaf_component *component = &values[i]->components[k];
            if (component->arrays[0].dtype == LIANA_STRING) continue;
            for (size_t before = 0; before < own->num_inputs; before++) {
                if (strcmp(listed[before]->name, component->name) != 0) continue;
                return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: two of its values have an array '%.100s'",
                                   program->options.name, component->name);
            }
            listed[own->num_inputs++] = component;
        }
    }
    for (size_t leaf = 0; leaf < num_local; leaf++) {
        for (size_t i = 0; i < own->num_inputs; i++) {
            own->inputs[leaf * own->num_inputs + i] = listed[i]->arrays[leaf];
        }
    }
    return LIANA_OK;
}

static liana_status check_values(const liana_replica_program *program, liana_per_replica *const *values, size_t count)
{
    liana__error *error = &program->context->error;
    const char *name = program->options.name;
    for (size_t i = 0; i < count; i++) {
        if (!values[i]) return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: values %zu are NULL", name, i);
        if (values[i]->replicas != program->replicas) {
            return liana__fail(
                error, LIANA_INVALID_ARGUMENT,
                "%s: values %zu are of another strategy (%s with %zu replicas) than the program (%s with "
                "%zu)",
                name, i, values[i]->replicas->strategy.name, liana__replicas_total(values[i]->replicas),
                program->replicas->strategy.name, liana__replicas_total(program->replicas));
        }
        if (liana__per_replica_same_leaves(values[i], values[0])) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "%s: values %zu have %zu leaves with %lld examples, and values 0 have %zu with %lld; inputs "
                           "need the same leaves",
                           name, i, values[i]->num_leaves, (long long)liana_per_replica_info(values[i]).num_examples,
                           values[0]->num_leaves, (long long)liana_per_replica_info(values[0]).num_examples);
    }
    return LIANA_OK;
}

/* Without inputs: one shard for each replica. */
static liana_status make_leaves(run *own, liana_per_replica *const *values, size_t count)
{
    liana_replicas *replicas = own->program->replicas;
    liana__error *error = &own->program->context->error;
    if (count) return liana__per_replica_like(values[0], &own->leaves, error);
    const size_t num_replicas = liana__replicas_total(replicas);
    LIANA__SCOPED_MEMORY int64_t *examples = calloc(num_replicas, sizeof *examples);
    if (!examples) return liana__fail_memory(error, own->program->options.name);
    for (size_t i = 0; i < num_replicas; i++) examples[i] = 1;
    return liana__per_replica_create(replicas, examples, num_replicas, &own->leaves, error);
}

static size_t device_of(const run *own, size_t leaf)
{
    const size_t first = liana__replicas_first(own->program->replicas);
    size_t device = 0;
    while (own->leaves->ranges[first + device].end <= own->leaves->first + leaf) device++;
    return device;
}

/* Finds, builds and compiles the version for the shards. */
static liana_status prepare(run *own, bool runs)
{
    liana_replica_program *program = own->program;
    const size_t num_local = own->leaves->end - own->leaves->first;
    for (size_t leaf = 0; leaf < num_local; leaf++) {
        version **found = &own->versions[leaf];
        LIANA_TRY(find_version(program, own->inputs + leaf * own->num_inputs, own->num_inputs, false, found));
        (*found)->last_run = ++program->num_runs;
        LIANA_TRY(make_ready(program, *found, device_of(own, leaf), runs));
    }
    return LIANA_OK;
}

static liana_status make_results(run *own)
{
    liana__error *error = &own->program->context->error;
    const size_t num_local = own->leaves->end - own->leaves->first;
    own->results = own->leaves;
    own->leaves = NULL;
    const version *first = num_local ? own->versions[0] : NULL;
    for (size_t i = 0; first && i < first->graph->num_outputs; i++) {
        liana__leaf_component *component = liana__per_replica_add(own->results, first->graph->outputs[i].name);
        if (!component) return liana__fail_memory(error, own->program->options.name);
        for (size_t leaf = 0; leaf < num_local; leaf++) {
            const liana__node *node = own->versions[leaf]->graph->outputs[i].node;
            LIANA_TRY(
                liana__per_replica_allocate(own->results, component, leaf, (int)node->dtype, &node->shape, error));
        }
    }
    return LIANA_OK;
}

static liana_status feed(liana__program *compiled, const liana_array *inputs, size_t num_inputs, liana__error *error)
{
    for (size_t i = 0; i < compiled->graph->num_inputs; i++) {
        size_t found = 0;
        while (found < num_inputs && strcmp(inputs[found].name, compiled->graph->inputs[i]->name) != 0) found++;
        const liana_array *array = &inputs[found];
        LIANA_TRY(liana__program_feed(compiled, i, (liana_dtype)array->dtype, &array->shape, array->data, error));
    }
    return LIANA_OK;
}

static liana_status run_leaf(const run *own, size_t leaf, size_t device, liana__error *error)
{
    const version *chosen = own->versions[leaf];
    liana__program *compiled = chosen->compiled[device];
    LIANA_TRY(feed(compiled, own->inputs + leaf * own->num_inputs, own->num_inputs, error));
    LIANA_TRY(liana__program_run(compiled, error));
    for (size_t i = 0; i < chosen->graph->num_outputs; i++) {
        void *data = (void *)own->results->components[i].arrays[leaf].data;
        LIANA_TRY(liana__program_fetch(compiled, chosen->outputs[i], data, error));
    }
    return LIANA_OK;
}

static void run_device(void *user, size_t device, int thread)
{
    (void)thread;
    const run *own = user;
    const liana_replicas *replicas = own->program->replicas;
    const cpu_set_t *group = replicas->devices.groups ? &replicas->devices.groups[device] : NULL;
    const liana__leaf_range *range = &own->results->ranges[liana__replicas_first(replicas) + device];
    cpu_set_t before;
    liana__cpu_enter(group, &before);
    for (size_t leaf = range->begin; own->statuses[device] == LIANA_OK && leaf < range->end; leaf++) {
        own->statuses[device] = run_leaf(own, leaf - own->results->first, device, &own->errors[device]);
    }
    liana__cpu_leave(group, &before);
}

static liana_status compute(run *own)
{
    const liana_replicas *replicas = own->program->replicas;
    const size_t count = liana__replicas_local(replicas);
    liana__error *error = &own->program->context->error;
    own->statuses = calloc(count + 1, sizeof *own->statuses);
    own->errors = calloc(count + 1, sizeof *own->errors);
    if (!own->statuses || !own->errors) return liana__fail_memory(error, own->program->options.name);
    if (count == 1) run_device(own, 0, 0);
    if (count > 1) liana__pool_run(replicas->pool, count, run_device, own);
    for (size_t i = 0; i < count; i++) {
        if (own->statuses[i] == LIANA_OK) continue;
        *error = own->errors[i];
        return own->statuses[i];
    }
    return LIANA_OK;
}

static liana_status run_here(run *own, liana_per_replica *const *values, size_t count, bool runs)
{
    LIANA_TRY(check_values(own->program, values, count));
    LIANA_TRY(make_leaves(own, values, count));
    LIANA_TRY(list_inputs(own, values, count));
    LIANA_TRY(prepare(own, runs));
    if (!runs) return LIANA_OK;
    LIANA_TRY(make_results(own));
    return compute(own);
}

static liana_status run_all(liana_replica_program *program, liana_per_replica *const *values, size_t count,
                            liana_per_replica **results)
{
    liana_replicas *replicas = program->replicas;
    liana__error *error = &program->context->error;
    run own = {.program = program};
    LIANA_TRY(liana__replicas_enter(replicas, program->options.name, error));
    liana_status status = run_here(&own, values, count, results != NULL);
    status = liana__cluster_agree_status(replicas->cluster, status, error);
    liana__replicas_leave(replicas);
    if (status == LIANA_OK && results) {
        *results = own.results;
        own.results = NULL;
    }
    liana_per_replica_destroy(own.leaves);
    liana_per_replica_destroy(own.results);
    free(own.inputs);
    free(own.versions);
    free(own.statuses);
    free(own.errors);
    return status;
}

liana_status liana_replica_program_run(liana_replica_program *program, liana_per_replica *const *inputs,
                                       size_t num_inputs, liana_per_replica **results)
{
    liana__error *error = program ? &program->context->error : NULL;
    if (results) *results = NULL;
    LIANA__REQUIRE(error, program);
    if (num_inputs) LIANA__REQUIRE(error, inputs);
    LIANA__CONTEXT_CALL(program->context, run_all(program, inputs, num_inputs, results));
}

/* ---- updating ---- */

static liana_status check_inputs(const liana_replica_program *program, const liana_array *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const liana_array *input = &inputs[i];
        const bool fits = input->name && input->data && input->dtype >= 0 && input->dtype < LIANA_NUM_DTYPES &&
                          input->shape.rank >= 0 && input->shape.rank <= LIANA_MAX_RANK &&
                          liana__shape_valid((liana_dtype)input->dtype, &input->shape);
        if (fits) continue;
        return liana__fail(&program->context->error, LIANA_INVALID_ARGUMENT,
                           "%s: the input '%.100s' is %s%s, expected numbers of a static shape", program->options.name,
                           input->name ? input->name : "without a name", liana__array_show(input).text,
                           input->data ? "" : " at no address");
    }
    return LIANA_OK;
}

/* Processes that were given other numbers would end with other variables. */
static liana_status compare_inputs(const liana_replica_program *program, const liana_array *inputs, size_t count)
{
    liana__cluster *cluster = program->replicas->cluster;
    liana__error *error = &program->context->error;
    if (!cluster) return LIANA_OK;
    LIANA__SCOPED(liana__gathered) all = {0};
    LIANA__SCOPED_MEMORY uint32_t *own = calloc(count + 1, sizeof *own);
    if (!own) return liana__fail_memory(error, program->options.name);
    for (size_t i = 0; i < count; i++) {
        own[i] = liana__crc32c(inputs[i].data, liana__byte_size((liana_dtype)inputs[i].dtype, &inputs[i].shape));
    }
    const size_t size = count * sizeof *own;
    LIANA_TRY(liana__cluster_gather_sized(cluster, own, size, &all, error));
    for (size_t process = 1; process < liana__cluster_size(cluster); process++) {
        const char *first = all.data, *other = all.data + all.offsets[process];
        const size_t length = all.offsets[process + 1] - all.offsets[process];
        size_t input = 0;
        while (length == all.offsets[1] && input < length / sizeof *own &&
               memcmp(first + input * sizeof *own, other + input * sizeof *own, sizeof *own) == 0) {
            input++;
        }
        if (length == all.offsets[1] && input == length / sizeof *own) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "%s: process %zu was given another '%.100s' than process 0; an update takes the same "
                           "inputs in all processes, such as reduced values",
                           program->options.name, process, input < count ? inputs[input].name : "list of inputs");
    }
    return LIANA_OK;
}

static liana_status prepare_update(liana_replica_program *program, const liana_array *inputs, size_t count,
                                   version **chosen)
{
    LIANA_TRY(check_inputs(program, inputs, count));
    LIANA_TRY(find_version(program, inputs, count, true, chosen));
    (*chosen)->last_run = ++program->num_runs;
    LIANA_TRY(make_ready(program, *chosen, 0, true));
    return feed((*chosen)->compiled[0], inputs, count, &program->context->error);
}

static liana_status update(liana_replica_program *program, const liana_array *inputs, size_t count)
{
    liana_replicas *replicas = program->replicas;
    liana__error *error = &program->context->error;
    version *chosen = NULL;
    LIANA_TRY(liana__replicas_enter(replicas, program->options.name, error));
    liana_status status = prepare_update(program, inputs, count, &chosen);
    status = liana__cluster_agree_status(replicas->cluster, status, error);
    if (status == LIANA_OK) status = compare_inputs(program, inputs, count);
    if (status == LIANA_OK) {
        status = liana__cluster_agree_status(replicas->cluster, liana__program_run(chosen->compiled[0], error), error);
    }
    for (size_t i = 0; status == LIANA_OK && i < chosen->graph->num_assignments; i++) {
        size_t place;
        status = liana__variables_place(replicas->variables, chosen->graph->assignments[i].variable->name, &place);
        if (status == LIANA_OK) replicas->variables->states[place].initialized = true;
    }
    liana__replicas_leave(replicas);
    return status;
}

liana_status liana_replica_program_update(liana_replica_program *program, const liana_array *inputs, size_t num_inputs)
{
    liana__error *error = program ? &program->context->error : NULL;
    LIANA__REQUIRE(error, program);
    if (num_inputs) LIANA__REQUIRE(error, inputs);
    LIANA__CONTEXT_CALL(program->context, update(program, inputs, num_inputs));
}
