/* Collects what a step read, and finds the program that went bad. */
#include "train/training/collect.h"

#include "data/source/source.h"
#include "train/objective/step_graphs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- layers ---- */

/* A layer's place has a copy of the file's name that no other layer has (layers/model_nodes.c), so the pointer tells
 * which layer built a node, or the forward node whose gradient it is of. */
static const char *layer_of_node(const void *user, const liana__node *node)
{
    const liana_model *model = user;
    for (size_t i = 0; node->where.file && i < model->num_layers; i++) {
        if (model->layers[i].where.file == node->where.file) return model->layers[i].name;
    }
    return NULL;
}

/* The layer of a weight, or of a slot of the optimizer for it: "optimizer/Adam/m/dense/kernel". */
static const char *layer_of_variable(const liana_model *model, const char *name)
{
    for (size_t i = 0; i < model->num_weights; i++) {
        const char *weight = model->weights[i].name;
        const size_t length = strlen(name), own = strlen(weight);
        const bool fits = length >= own && strcmp(name + length - own, weight) == 0;
        if (fits && (length == own || name[length - own - 1] == '/'))
            return model->layers[model->weights[i].layer].name;
    }
    return NULL;
}

/* By node of an update: the layer of all variables that depend on it. */
typedef struct owners {
    const char **layers; /* NULL: none, or several */
    bool *shared;
} owners;

static const char *layer_of_update_node(const void *user, const liana__node *node)
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

static liana_status note_update_layers(liana__incident *incident, const liana_model *model, liana__error *error)
{
    const liana_graph *graph = incident->graph;
    owners all = {liana__arena_allocate(&incident->arena, graph->num_nodes * sizeof *all.layers),
                  liana__arena_allocate(&incident->arena, graph->num_nodes * sizeof *all.shared)};
    if (!all.layers || !all.shared) return liana__fail_memory(error, "the layers of a step");
    for (size_t i = 0; i < graph->num_assignments; i++) {
        const liana__assignment *assignment = &graph->assignments[i];
        own(&all, assignment->value->id, layer_of_variable(model, assignment->variable->name));
    }
    for (size_t id = graph->num_nodes - 1; id > 0; id--) {
        const liana__node *node = graph->nodes[id];
        for (uint32_t i = 0; i < node->num_inputs; i++) {
            if (all.shared[id]) own(&all, node->inputs[i]->id, NULL);
            own(&all, node->inputs[i]->id, all.layers[id]);
        }
    }
    return liana__incident_note_layers(incident, layer_of_update_node, &all, error);
}

/* Of the graph of sums: the layer of all weights that a node depends on. */
static liana_status note_sum_layers(liana__incident *incident, const liana_model *model, liana__error *error)
{
    const liana_graph *graph = incident->graph;
    owners all = {liana__arena_allocate(&incident->arena, graph->num_nodes * sizeof *all.layers),
                  liana__arena_allocate(&incident->arena, graph->num_nodes * sizeof *all.shared)};
    if (!all.layers || !all.shared) return liana__fail_memory(error, "the layers of a step");
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        if (node->name && node->num_inputs == 0) own(&all, node->id, layer_of_variable(model, node->name));
        for (uint32_t i = 0; i < node->num_inputs; i++) {
            if (all.shared[node->inputs[i]->id]) all.shared[id] = true;
            own(&all, node->id, all.layers[node->inputs[i]->id]);
        }
        if (all.shared[id]) all.layers[id] = NULL;
    }
    return liana__incident_note_layers(incident, layer_of_update_node, &all, error);
}

/* ---- what a program read ---- */

static liana_status read_variables(const liana__bad_step *step, bool before, liana__incident *incident,
                                   liana__error *error)
{
    const liana__variables *variables = &step->training->variables;
    const liana_graph *graph = incident->graph;
    for (size_t i = 0; i < graph->num_variables; i++) {
        const liana__node *node = graph->variables[i];
        const liana__variable *found = liana__variables_find(variables, node->name);
        if (!found) return liana__fail(error, LIANA_INTERNAL, "there is no variable '%s'", node->name);
        void *data = (void *)incident->variables[i];
        const void *known =
            before && step->before ? step->before(step->user, (size_t)(found - variables->items)) : NULL;
        if (known) {
            memcpy(data, known, found->buffer->size);
        } else {
            LIANA_TRY(liana__variable_read(found, data, error));
        }
    }
    return LIANA_OK;
}

static liana_status read_rows(const liana__bad_step *step, const liana__leaf_batch *leaves, size_t number,
                              liana__incident *incident, liana__error *error)
{
    const liana__leaf *leaf = &leaves->leaves[number];
    const liana_graph *graph = incident->graph;
    for (size_t i = 0; i < graph->num_inputs; i++) {
        const liana__node *node = graph->inputs[i];
        if (step->masked && strcmp(node->name, "present") == 0) {
            float *present = (float *)incident->inputs[i];
            for (int64_t row = 0; row < leaf->size; row++) present[row] = 1;
            continue;
        }
        const char *rows = liana__step_rows(step->training->trainer->step, leaves, node->name);
        const size_t size = liana__byte_size(node->dtype, &node->shape), each = size / (size_t)leaf->size;
        if (!rows) return liana__fail(error, LIANA_INTERNAL, "the batch has no component '%s'", node->name);
        memcpy((void *)incident->inputs[i], rows + (size_t)leaf->begin * each, size);
    }
    return LIANA_OK;
}

/* What the rounds before have come to. */
typedef struct round_sums {
    const float *finished[LIANA_MAX_SUM_ROUNDS];
    size_t count;
    float learning_rate;
} round_sums;

/* Finished sums; false: the input is something else. */
static bool read_finished(const round_sums *sums, const liana__node *node, void *data)
{
    for (size_t round = 0; round < sums->count; round++) {
        char name[32];
        snprintf(name, sizeof name, "sums/%zu", round);
        if (strcmp(node->name, name) != 0) continue;
        memcpy(data, sums->finished[round], liana__byte_size(node->dtype, &node->shape));
        return true;
    }
    return false;
}

/* The sum of an input of the update, or one of its scalars. */
static liana_status read_update_input(const liana__bad_step *step, const round_sums *sums, const liana__node *node,
                                      void *data, liana__error *error)
{
    if (read_finished(sums, node, data)) return LIANA_OK;
    const struct {
        const char *name;
        float value;
    } scalars[] = {{"count", (float)step->batch->count},
                   {"learning_rate", sums->learning_rate},
                   {"iteration", (float)step->applied}};
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        if (strcmp(node->name, scalars[i].name) != 0) continue;
        memcpy(data, &scalars[i].value, sizeof scalars[i].value);
        return LIANA_OK;
    }
    if (liana__model_find_weight(step->training->model, node->name) < 0) {
        return liana__fail(error, LIANA_UNIMPLEMENTED, "what the update reads as '%s' is not kept", node->name);
    }
    return liana__step_read_sum(step->training->trainer->step, node->name, data, error);
}

/* ---- facts ---- */

static liana__value *example_value(const liana__bad_step *step, int64_t index, liana__arena *arena)
{
    liana__value *map = liana__value_map(arena);
    const uint64_t *positions = step->batch->positions;
    liana__value_set(arena, map, "position", liana__value_int(arena, positions ? (int64_t)positions[index] : index));
    const char *id = step->batch->ids ? step->batch->ids[index] : NULL;
    if (step->source) {
        const liana_record_address address = liana__source_address(step->source, step->batch->records[index]);
        const char *file = address.file ? liana__path_shown(arena, address.file) : NULL;
        if (file) liana__value_set(arena, map, "file", liana__value_string(arena, file));
        if (address.record >= 0) liana__value_set(arena, map, "record", liana__value_int(arena, address.record));
    }
    if (id) liana__value_set(arena, map, "id", liana__value_string(arena, id));
    return map;
}

static liana_status note_facts(const liana__bad_step *step, const liana__fault *fault, const char *what,
                               const liana__leaf *leaf, liana__incident *incident, liana__error *error)
{
    liana__arena *arena = &incident->arena;
    liana__value *facts = liana__value_map(arena), *losses = liana__value_list(arena),
                 *examples = liana__value_list(arena);
    char text[640];
    liana__value_set(arena, facts, "what", liana__value_string(arena, what));
    liana__value_set(arena, facts, "fault",
                     liana__value_string(arena, liana__fault_describe(fault, text, sizeof text)));
    liana__value_set(arena, facts, "epoch", liana__value_int(arena, step->epoch));
    liana__value_set(arena, facts, "step", liana__value_int(arena, step->step));
    liana__value_set(arena, facts, "update", liana__value_int(arena, step->update));
    liana__value_set(arena, facts, "learning_rate", liana__incident_number(arena, step->learning_rate));
    for (size_t i = 0; i < step->num_losses; i++) {
        liana__value_add(arena, losses, liana__incident_number(arena, step->losses[i]));
    }
    liana__value_set(arena, facts, "losses", losses);
    for (int64_t i = 0; leaf && i < leaf->size; i++) {
        liana__value_add(arena, examples, example_value(step, leaf->begin + i, arena));
    }
    liana__value_set(arena, facts, "examples", examples);
    const char *isa = liana__isa_name(step->training->context->isa);
    liana__value_set(arena, facts, "instruction_set", liana__value_string(arena, isa));
    liana__value_set(arena, facts, "precision", liana__value_string(arena, step->training->state.precision));
    incident->facts = facts;
    return arena->failed ? liana__fail_memory(error, "the facts of a step") : LIANA_OK;
}

/* ---- shards ---- */

static bool is_reproduced(const liana__incident *incident)
{
    const liana__value *value = liana__value_get(incident->finding, "reproduced");
    return value && value->boolean;
}

liana_status liana__incident_of_leaf(const liana__bad_step *step, const liana__leaf_batch *leaves, size_t number,
                                     liana__incident *incident, liana__error *error)
{
    incident->num_rows = leaves->leaves[number].size;
    liana__trainer *trainer = step->training->trainer;
    const liana__step_kind kind = step->of_validation ? LIANA__STEP_EVALUATION : LIANA__STEP_TRAINING;
    LIANA_TRY(liana__trainer_build_shard(trainer, kind, incident->num_rows, step->masked && !step->of_validation,
                                         &incident->graph, error));
    LIANA_TRY(liana__incident_reserve(incident, error));
    LIANA_TRY(read_rows(step, leaves, number, incident, error));
    LIANA_TRY(read_variables(step, false, incident, error));
    return liana__incident_note_layers(incident, layer_of_node, step->training->model, error);
}

/* The first leaf that goes bad. */
static liana_status find_leaf(const liana__bad_step *step, const liana__fault *fault, const liana__leaf_batch *leaves,
                              liana__incident *incident, liana__error *error)
{
    for (size_t i = 0; i < leaves->num_leaves; i++) {
        liana__incident_free(incident);
        LIANA_TRY(liana__incident_of_leaf(step, leaves, i, incident, error));
        LIANA_TRY(note_facts(step, fault, step->of_validation ? "validation shard" : "shard", &leaves->leaves[i],
                             incident, error));
        LIANA_TRY(liana__incident_examine(incident, error));
        if (is_reproduced(incident)) return LIANA_OK;
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

static liana_status make_sum_graph(const liana__bad_step *step, const char *name, size_t count,
                                   liana__incident *incident, size_t *output, liana__error *error)
{
    liana_graph *leaf;
    liana_context *context = step->training->context;
    LIANA_TRY(liana__trainer_build_shard(step->training->trainer, LIANA__STEP_TRAINING, 1, false, &leaf, error));
    const int found = liana__graph_find_output(leaf, name);
    *output = found < 0 ? 0 : (size_t)found;
    liana_status status = liana_graph_create(context, &incident->graph);
    if (status == LIANA_OK) {
        build_sum(incident->graph, leaf->outputs[*output].node, leaf->outputs[*output].name, count);
        status = liana_graph_status(incident->graph);
    }
    liana_graph_destroy(leaf);
    if (status != LIANA_OK && error && error != &context->error) *error = context->error;
    return status;
}

/* One leaf's term of the sum. */
static liana_status compute_term(const liana__bad_step *step, const liana__leaf_batch *leaves, size_t number,
                                 size_t output, void *term, liana__error *error)
{
    liana__incident leaf = {0};
    liana__node_check check = {0};
    liana_status status = liana__incident_of_leaf(step, leaves, number, &leaf, error);
    if (status == LIANA_OK) {
        const liana__node_check_options options = {.inputs = leaf.inputs,
                                                   .variables = leaf.variables,
                                                   .keep_results = true};
        status = liana__node_check_run(leaf.graph, &options, &check, error);
    }
    if (status == LIANA_OK) {
        const liana__node *node = check.graph->outputs[output].node;
        memcpy(term, check.results[output], liana__byte_size(node->dtype, &node->shape));
    }
    liana__node_check_free(&check);
    liana__incident_free(&leaf);
    return status;
}

static const char *same_layer(const void *user, const liana__node *node)
{
    (void)node;
    return user;
}

/* Every shard is finite, so their sum is not. */
static liana_status collect_sum(const liana__bad_step *step, const liana__fault *fault, const liana__leaf_batch *leaves,
                                liana__incident *incident, liana__error *error)
{
    size_t output;
    liana__incident_free(incident);
    const char *name = fault->kind == LIANA__FAULT_LOSS ? "sums" : fault->name;
    LIANA_TRY(make_sum_graph(step, name, leaves->num_leaves, incident, &output, error));
    LIANA_TRY(liana__incident_reserve(incident, error));
    for (size_t i = 0; i < leaves->num_leaves; i++) {
        LIANA_TRY(compute_term(step, leaves, i, output, (void *)incident->inputs[i], error));
    }
    const char *layer = fault->kind == LIANA__FAULT_LOSS ? NULL : layer_of_variable(step->training->model, fault->name);
    LIANA_TRY(liana__incident_note_layers(incident, same_layer, layer, error));
    const liana__leaf all = {0, step->batch->count};
    LIANA_TRY(note_facts(step, fault, "sum over shards", &all, incident, error));
    return liana__incident_examine(incident, error);
}

/* ---- the update ---- */

/* What the graph of an update, or of its sums, read. */
static liana_status read_update(const liana__bad_step *step, const round_sums *sums, liana__incident *incident,
                                liana__error *error)
{
    LIANA_TRY(liana__incident_reserve(incident, error));
    for (size_t i = 0; i < incident->graph->num_inputs; i++) {
        LIANA_TRY(read_update_input(step, sums, incident->graph->inputs[i], (void *)incident->inputs[i], error));
    }
    return read_variables(step, true, incident, error);
}

/* A round of sums: for clipping by norms, for the ratios of LAMB and LARS, for a rate that follows the training. If it is
 * good, `sums` has what it comes to. */
static liana_status collect_round(const liana__bad_step *step, const liana__fault *fault, round_sums *sums,
                                  liana__incident *incident, liana__error *error)
{
    liana__trainer *trainer = step->training->trainer;
    LIANA_TRY(liana__trainer_build_round(trainer, sums->count, &incident->graph, error));
    LIANA_TRY(read_update(step, sums, incident, error));
    LIANA_TRY(note_sum_layers(incident, step->training->model, error));
    LIANA_TRY(note_facts(step, fault, "sums that the update reads", NULL, incident, error));
    LIANA_TRY(liana__incident_examine(incident, error));
    if (is_reproduced(incident)) return LIANA_OK;
    liana__node_check check = {0};
    const liana__node_check_options options = {.inputs = incident->inputs,
                                               .variables = incident->variables,
                                               .keep_results = true};
    LIANA_TRY(liana__node_check_run(incident->graph, &options, &check, error));
    sums->finished[sums->count] =
        liana__trainer_finish_round(trainer, sums->count, check.results[0], &sums->learning_rate);
    sums->count++;
    liana__node_check_free(&check);
    return LIANA_OK;
}

static liana_status collect_update(const liana__bad_step *step, const liana__fault *fault, liana__incident *incident,
                                   liana__error *error)
{
    round_sums sums = {.learning_rate = (float)step->learning_rate};
    const size_t num_rounds = liana__trainer_num_rounds(step->training->trainer);
    while (sums.count < num_rounds) {
        LIANA_TRY(collect_round(step, fault, &sums, incident, error));
        if (is_reproduced(incident)) return LIANA_OK;
        liana__incident_free(incident);
    }
    LIANA_TRY(liana__trainer_build_update(step->training->trainer, &incident->graph, error));
    LIANA_TRY(read_update(step, &sums, incident, error));
    LIANA_TRY(note_update_layers(incident, step->training->model, error));
    LIANA_TRY(note_facts(step, fault, "update", NULL, incident, error));
    return liana__incident_examine(incident, error);
}

/* ---- the penalty ---- */

static liana_status collect_penalty(const liana__bad_step *step, const liana__fault *fault, liana__incident *incident,
                                    liana__error *error)
{
    liana_context *context = step->training->context;
    const liana_model *model = step->training->model;
    liana_status status = liana_graph_create(context, &incident->graph);
    if (status == LIANA_OK) {
        liana_graph_output(incident->graph, "penalty", liana__model_penalty(model, incident->graph));
        status = liana_graph_status(incident->graph);
    }
    if (status != LIANA_OK) {
        if (error && error != &context->error) *error = context->error;
        return status;
    }
    LIANA_TRY(liana__incident_reserve(incident, error));
    LIANA_TRY(read_variables(step, false, incident, error));
    LIANA_TRY(liana__incident_note_layers(incident, layer_of_node, model, error));
    LIANA_TRY(note_facts(step, fault, "penalty", NULL, incident, error));
    return liana__incident_examine(incident, error);
}

liana_status liana__incident_collect(const liana__bad_step *step, const liana__fault *fault, liana__incident *incident,
                                     liana__error *error)
{
    *incident = (liana__incident){0};
    if (fault->kind == LIANA__FAULT_PENALTY) return collect_penalty(step, fault, incident, error);
    const bool is_of_shards = fault->kind == LIANA__FAULT_SUMS || fault->kind == LIANA__FAULT_LOSS;
    if (!is_of_shards) return collect_update(step, fault, incident, error);
    const liana__leaf_batch leaves = liana__step_shards(step->training->trainer->step, step->batch);
    LIANA_TRY(find_leaf(step, fault, &leaves, incident, error));
    if (is_reproduced(incident) || leaves.num_leaves < 2 || step->of_validation) return LIANA_OK;
    return collect_sum(step, fault, &leaves, incident, error);
}
