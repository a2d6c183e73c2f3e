/* Runs the programs of a step again, with the same inputs. */
#include "step/incident.h"

#include "base/scoped.h"
#include "ir/graph.h"
#include "optimizers/optimizer.h"

#include <liana/ops.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const liana__step_plan *plan_of(const liana__rerun *rerun)
{
    return liana__step_plan_of(rerun->step);
}

static liana_context *context_of(const liana__rerun *rerun)
{
    return liana__step_variables(rerun->step)->device->context;
}

/* ---- layers ---- */

/* By node: the layer of all variables that it depends on, or that depend on it. */
typedef struct owners {
    const char **layers; /* NULL: none, or several */
    bool *shared;
} owners;

static const char *layer_of_owned(const void *user, const liana__node *node)
{
    return ((const owners *)user)->layers[node->id];
}

static void own(owners *all, uint32_t id, const char *layer)
{
    if (all->shared[id]) return;
    const bool other = all->layers[id] && layer && strcmp(all->layers[id], layer) != 0;
    if (other) {
        all->shared[id] = true;
        all->layers[id] = NULL;
    } else if (layer) {
        all->layers[id] = layer;
    }
}

/* Of the graph of an update: from the variables that are assigned back to their inputs. */
static void own_backwards(const liana__rerun *rerun, const liana_graph *graph, owners *all)
{
    for (size_t i = 0; i < graph->num_assignments; i++) {
        const liana__assignment *assignment = &graph->assignments[i];
        own(all, assignment->value->id, rerun->layer_of_variable(rerun->user, assignment->variable->name));
    }
    for (size_t id = graph->num_nodes - 1; id > 0; id--) {
        const liana__node *node = graph->nodes[id];
        for (uint32_t i = 0; i < node->num_inputs; i++) {
            if (all->shared[id]) own(all, node->inputs[i]->id, NULL);
            own(all, node->inputs[i]->id, all->layers[id]);
        }
    }
}

/* Of the graph of a round: from the variables and their sums on to the nodes that read them. */
static void own_forwards(const liana__rerun *rerun, const liana_graph *graph, owners *all)
{
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        if (node->name && node->num_inputs == 0) {
            own(all, node->id, rerun->layer_of_variable(rerun->user, node->name));
        }
        for (uint32_t i = 0; i < node->num_inputs; i++) {
            if (all->shared[node->inputs[i]->id]) all->shared[id] = true;
            own(all, node->id, all->layers[node->inputs[i]->id]);
        }
        if (all->shared[id]) all->layers[id] = NULL;
    }
}

static liana_status note_owners(const liana__rerun *rerun, bool backwards, liana__incident *incident,
                                liana__error *error)
{
    const liana_graph *graph = incident->graph;
    if (!rerun->layer_of_variable) return LIANA_OK;
    owners all = {liana__arena_allocate(&incident->arena, graph->num_nodes * sizeof *all.layers),
                  liana__arena_allocate(&incident->arena, graph->num_nodes * sizeof *all.shared)};
    if (!all.layers || !all.shared) return liana__fail_memory(error, "the layers of a step");
    (backwards ? own_backwards : own_forwards)(rerun, graph, &all);
    return liana__incident_note_layers(incident, layer_of_owned, &all, error);
}

/* ---- the inputs of a program ---- */

static liana_status read_variables(const liana__rerun *rerun, bool before, liana__incident *incident,
                                   liana__error *error)
{
    const liana__variables *variables = liana__step_variables(rerun->step);
    const liana_graph *graph = incident->graph;
    for (size_t i = 0; i < graph->num_variables; i++) {
        const liana__node *node = graph->variables[i];
        const liana__variable *found = liana__variables_find(variables, node->name);
        if (!found) return liana__fail(error, LIANA_INTERNAL, "there is no variable '%s'", node->name);
        void *data = (void *)incident->variables[i];
        const bool is_kept = before && rerun->before;
        const void *known = is_kept ? rerun->before(rerun->values, (size_t)(found - variables->items)) : NULL;
        if (known) {
            memcpy(data, known, found->buffer->size);
        } else {
            LIANA_TRY(liana__variable_read(found, data, error));
        }
    }
    return LIANA_OK;
}

static liana_status read_rows(const liana__rerun *rerun, const liana__leaf_batch *shards, size_t number,
                              liana__incident *incident, liana__error *error)
{
    const liana__leaf *shard = &shards->leaves[number];
    const liana_graph *graph = incident->graph;
    for (size_t i = 0; i < graph->num_inputs; i++) {
        const liana__node *node = graph->inputs[i];
        if (rerun->masked && strcmp(node->name, "present") == 0) {
            float *present = (float *)incident->inputs[i];
            for (int64_t row = 0; row < shard->size; row++) present[row] = 1;
            continue;
        }
        const char *rows = liana__step_rows(rerun->step, shards, node->name);
        const size_t size = liana__byte_size(node->dtype, &node->shape), each = size / (size_t)shard->size;
        if (!rows) return liana__fail(error, LIANA_INTERNAL, "the batch has no component '%s'", node->name);
        memcpy((void *)incident->inputs[i], rows + (size_t)shard->begin * each, size);
    }
    return LIANA_OK;
}

/* The inputs of an update that are no sums of shards. */
typedef struct given {
    float *scalars; /* the number of examples, then the update's; rounds may change them */
    size_t num_scalars;
    const float *finished[LIANA_MAX_SUM_ROUNDS]; /* the results of the rounds before */
    size_t num_finished;
} given;

/* Its inputs are sums of shards, then the scalars, then the finished sums. */
static liana_status read_update(const liana__rerun *rerun, const given *own, liana__incident *incident,
                                liana__error *error)
{
    LIANA_TRY(liana__incident_reserve(incident, error));
    const liana_graph *graph = incident->graph;
    const size_t num_sums = graph->num_inputs - own->num_scalars - own->num_finished;
    for (size_t i = 0; i < graph->num_inputs; i++) {
        const liana__node *node = graph->inputs[i];
        void *data = (void *)incident->inputs[i];
        if (i < num_sums) {
            LIANA_TRY(liana__step_read_sum(rerun->step, node->name, data, error));
        } else if (i < num_sums + own->num_scalars) {
            memcpy(data, &own->scalars[i - num_sums], sizeof *own->scalars);
        } else {
            memcpy(data, own->finished[i - num_sums - own->num_scalars], liana__byte_size(node->dtype, &node->shape));
        }
    }
    return read_variables(rerun, true, incident, error);
}

/* ---- facts ---- */

static liana__value *example_value(const liana__rerun *rerun, int64_t example, liana__arena *arena)
{
    const liana__batch *batch = rerun->batch;
    liana__value *map = liana__value_map(arena);
    const int64_t position = batch->positions ? (int64_t)batch->positions[example] : example;
    const char *id = batch->ids ? batch->ids[example] : NULL;
    liana__value_set(arena, map, "position", liana__value_int(arena, position));
    if (rerun->note_record) rerun->note_record(rerun->user, example, arena, map);
    if (id) liana__value_set(arena, map, "id", liana__value_string(arena, id));
    return map;
}

/* Names the program, and examines it. */
static liana_status examine(const liana__rerun *rerun, const liana__fault *fault, const char *what,
                            const liana__leaf *shard, liana__incident *incident, liana__error *error)
{
    liana__arena *arena = &incident->arena;
    liana__value *facts = liana__value_map(arena), *examples = liana__value_list(arena);
    char text[640];
    liana__fault_describe(fault, text, sizeof text);
    liana__value_set(arena, facts, "what", liana__value_string(arena, what));
    liana__value_set(arena, facts, "fault", liana__value_string(arena, text));
    for (int64_t i = 0; shard && i < shard->size; i++) {
        liana__value_add(arena, examples, example_value(rerun, shard->begin + i, arena));
    }
    if (rerun->note_facts) {
        rerun->note_facts(rerun->user, arena, facts, examples);
    } else {
        liana__value_set(arena, facts, "examples", examples);
    }
    incident->facts = facts;
    return arena->failed ? liana__fail_memory(error, "the facts of a step") : liana__incident_examine(incident, error);
}

/* ---- shards ---- */

liana_status liana__rerun_shard(const liana__rerun *rerun, const liana__leaf_batch *shards, size_t number,
                                liana__incident *incident, liana__error *error)
{
    incident->num_rows = shards->leaves[number].size;
    const liana__step_kind kind = rerun->of_validation ? LIANA__STEP_EVALUATION : LIANA__STEP_TRAINING;
    const bool masked = rerun->masked && !rerun->of_validation;
    LIANA_TRY(liana__step_build_shard(rerun->step, kind, incident->num_rows, masked, &incident->graph, error));
    LIANA_TRY(liana__incident_reserve(incident, error));
    LIANA_TRY(read_rows(rerun, shards, number, incident, error));
    LIANA_TRY(read_variables(rerun, false, incident, error));
    return liana__incident_note_layers(incident, rerun->layer_of_node, rerun->user, error);
}

/* The first shard that goes bad. */
static liana_status find_shard(const liana__rerun *rerun, const liana__fault *fault, const liana__leaf_batch *shards,
                               liana__incident *incident, liana__error *error)
{
    for (size_t i = 0; i < shards->num_leaves; i++) {
        liana__incident_free(incident);
        LIANA_TRY(liana__rerun_shard(rerun, shards, i, incident, error));
        LIANA_TRY(examine(rerun, fault, rerun->of_validation ? "validation shard" : "shard", &shards->leaves[i],
                          incident, error));
        if (liana__incident_is_reproduced(incident)) return LIANA_OK;
    }
    return LIANA_OK;
}

/* ---- the sum over shards ---- */

/* Neighbours are added first, then neighbouring pairs, as strategies do (distribute/tree.h). */
static void build_sum(liana_graph *graph, const liana__node *sum, const char *name, size_t count)
{
    liana_tensor *terms = liana__arena_allocate(&graph->arena, (count + 1) * sizeof *terms);
    if (!terms) {
        liana__graph_fail(graph, LIANA_HERE, LIANA_OUT_OF_MEMORY, "out of memory for the sum over shards");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        char input[32];
        snprintf(input, sizeof input, "shard %zu", i);
        terms[i] = liana_graph_input(graph, input, sum->dtype, sum->shape);
    }
    for (; count > 1; count = (count + 1) / 2) {
        for (size_t i = 0; 2 * i < count; i++) {
            terms[i] = 2 * i + 1 < count ? liana_op_add(terms[2 * i], terms[2 * i + 1]) : terms[2 * i];
        }
    }
    liana_graph_output(graph, name, terms[0]);
}

static liana_status make_sum_graph(const liana__rerun *rerun, const char *name, size_t count, liana__incident *incident,
                                   size_t *output, liana__error *error)
{
    liana_graph *shard;
    liana_context *context = context_of(rerun);
    LIANA_TRY(liana__step_build_shard(rerun->step, LIANA__STEP_TRAINING, 1, false, &shard, error));
    const int found = liana__graph_find_output(shard, name);
    *output = found < 0 ? 0 : (size_t)found;
    liana_status status = liana_graph_create(context, &incident->graph);
    if (status == LIANA_OK) {
        build_sum(incident->graph, shard->outputs[*output].node, shard->outputs[*output].name, count);
        status = liana_graph_status(incident->graph);
    }
    liana_graph_destroy(shard);
    if (status != LIANA_OK && error && error != &context->error) *error = context->error;
    return status;
}

static liana_status run_nodes(const liana__incident *incident, liana__node_check *check, liana__error *error)
{
    const liana__node_check_options options = {.inputs = incident->inputs,
                                               .variables = incident->variables,
                                               .keep_results = true};
    return liana__node_check_run(incident->graph, &options, check, error);
}

/* The term of a shard. */
static liana_status compute_term(const liana__rerun *rerun, const liana__leaf_batch *shards, size_t number,
                                 size_t output, void *term, liana__error *error)
{
    LIANA__SCOPED(liana__incident) shard = {0};
    LIANA__SCOPED(liana__node_check) check = {0};
    LIANA_TRY(liana__rerun_shard(rerun, shards, number, &shard, error));
    LIANA_TRY(run_nodes(&shard, &check, error));
    const liana__node *node = check.graph->outputs[output].node;
    memcpy(term, check.results[output], liana__byte_size(node->dtype, &node->shape));
    return LIANA_OK;
}

static const char *same_layer(const void *user, const liana__node *node)
{
    (void)node;
    return user;
}

/* Whether a fault is in the vector of sums. */
static bool is_in_vector(const liana__fault *fault)
{
    return fault->kind == LIANA__FAULT_LOSS || fault->kind == LIANA__FAULT_SUM;
}

/* Every shard is finite, so their sum is not. */
static liana_status collect_sum(const liana__rerun *rerun, const liana__fault *fault, const liana__leaf_batch *shards,
                                liana__incident *incident, liana__error *error)
{
    size_t output;
    liana__incident_free(incident);
    const char *name = is_in_vector(fault) ? "sums" : fault->name, *layer = NULL;
    LIANA_TRY(make_sum_graph(rerun, name, shards->num_leaves, incident, &output, error));
    LIANA_TRY(liana__incident_reserve(incident, error));
    for (size_t i = 0; i < shards->num_leaves; i++) {
        LIANA_TRY(compute_term(rerun, shards, i, output, (void *)incident->inputs[i], error));
    }
    if (!is_in_vector(fault) && rerun->layer_of_variable) layer = rerun->layer_of_variable(rerun->user, fault->name);
    LIANA_TRY(liana__incident_note_layers(incident, same_layer, layer, error));
    const liana__leaf all = {0, rerun->batch->count};
    return examine(rerun, fault, "sum over shards", &all, incident, error);
}

/* ---- the update ---- */

/* A round of sums: for clipping by norms, for the ratios of LAMB and LARS, for a rate that follows the training. If it
 * is good, `own` gets its results. */
static liana_status collect_round(const liana__rerun *rerun, const liana__fault *fault, given *own,
                                  liana__incident *incident, liana__error *error)
{
    const liana__update_functions *update = &plan_of(rerun)->update->functions;
    const size_t round = own->num_finished;
    LIANA_TRY(update->build_round(update->user, LIANA__WHOLE_UPDATE, round, &incident->graph, error));
    LIANA_TRY(read_update(rerun, own, incident, error));
    LIANA_TRY(note_owners(rerun, false, incident, error));
    LIANA_TRY(examine(rerun, fault, "sums that the update reads", NULL, incident, error));
    if (liana__incident_is_reproduced(incident)) return LIANA_OK;
    LIANA__SCOPED(liana__node_check) check = {0};
    LIANA_TRY(run_nodes(incident, &check, error));
    own->num_finished++;
    return update->finish_round(update->user, round, check.results[0], own->scalars, &own->finished[round], error);
}

static liana_status run_update(const liana__rerun *rerun, const liana__fault *fault, given *own,
                               liana__incident *incident, liana__error *error)
{
    const liana__update_functions *update = &plan_of(rerun)->update->functions;
    while (own->num_finished < update->num_rounds) {
        LIANA_TRY(collect_round(rerun, fault, own, incident, error));
        if (liana__incident_is_reproduced(incident)) return LIANA_OK;
        liana__incident_free(incident);
    }
    LIANA_TRY(update->build(update->user, LIANA__WHOLE_UPDATE, &incident->graph, error));
    LIANA_TRY(read_update(rerun, own, incident, error));
    LIANA_TRY(note_owners(rerun, true, incident, error));
    return examine(rerun, fault, "update", NULL, incident, error);
}

static liana_status collect_update(const liana__rerun *rerun, const liana__fault *fault, liana__incident *incident,
                                   liana__error *error)
{
    const size_t count = plan_of(rerun)->update->num_scalars;
    LIANA__SCOPED_MEMORY float *scalars = calloc(1 + count, sizeof *scalars);
    if (!scalars) return liana__fail_memory(error, "an update");
    given own = {.scalars = scalars, .num_scalars = 1 + count};
    scalars[0] = (float)liana__batch_step_count(rerun->batch);
    for (size_t i = 0; i < count; i++) scalars[1 + i] = (float)rerun->scalars[i];
    return run_update(rerun, fault, &own, incident, error);
}

/* ---- the penalty ---- */

static liana_status collect_penalty(const liana__rerun *rerun, const liana__fault *fault, liana__incident *incident,
                                    liana__error *error)
{
    const liana__shard_builder *shards = plan_of(rerun)->shards;
    LIANA_TRY(shards->build_penalty(shards->user, &incident->graph, error));
    LIANA_TRY(liana__incident_reserve(incident, error));
    LIANA_TRY(read_variables(rerun, false, incident, error));
    LIANA_TRY(liana__incident_note_layers(incident, rerun->layer_of_node, rerun->user, error));
    return examine(rerun, fault, "penalty", NULL, incident, error);
}

liana_status liana__rerun_find(const liana__rerun *rerun, const liana__fault *fault, liana__incident *incident,
                               liana__error *error)
{
    *incident = (liana__incident){0};
    if (fault->kind == LIANA__FAULT_PENALTY) return collect_penalty(rerun, fault, incident, error);
    const bool is_of_shards = fault->kind == LIANA__FAULT_SUMS || is_in_vector(fault);
    if (!is_of_shards) return collect_update(rerun, fault, incident, error);
    const liana__leaf_batch shards = liana__step_shards(rerun->step, rerun->batch);
    LIANA_TRY(find_shard(rerun, fault, &shards, incident, error));
    if (liana__incident_is_reproduced(incident) || shards.num_leaves < 2 || rerun->of_validation) return LIANA_OK;
    return collect_sum(rerun, fault, &shards, incident, error);
}
