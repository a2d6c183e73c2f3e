/* The outputs of layers as histograms. */
#include "train/callbacks/event_activations.h"

#include "base/scoped.h"
#include "step/incident.h"

#include <liana/ops.h>
#include <string.h>

enum { MOST_BYTES = 64 << 20, PREFIX = sizeof "activations/" - 1 };

/* By layer of the model: the last node that it built whose rows are those of the examples; 0: none. */
static uint32_t *find_outputs(const liana__training *training, const liana_graph *graph, int64_t rows,
                              liana__arena *arena)
{
    const liana_model *model = training->model;
    uint32_t *found = liana__arena_allocate(arena, (model->num_layers + 1) * sizeof *found);
    for (uint32_t id = 1; found && id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        const bool has_rows = node->num_inputs && node->shape.rank > 1 && node->shape.dims[0] == rows;
        if (!has_rows || !node->where.file || !liana__dtype_is_float(node->dtype)) continue;
        for (size_t i = 0; i < model->num_layers; i++) {
            if (model->layers[i].where.file == node->where.file) found[i] = id;
        }
    }
    return found;
}

/* So many examples that all outputs together are not large. */
static liana_status choose_rows(const liana__training *training, int64_t most, liana__arena *arena, int64_t *rows,
                                liana__error *error)
{
    liana_graph *graph;
    size_t bytes = 0;
    *rows = most;
    LIANA_TRY(liana__step_build_shard(training->trainer->step, LIANA__STEP_EVALUATION, most, false, &graph, error));
    const uint32_t *found = find_outputs(training, graph, most, arena);
    for (size_t i = 0; found && i < training->model->num_layers; i++) {
        if (found[i]) bytes += (size_t)liana_shape_size(&graph->nodes[found[i]]->shape) * sizeof(float);
    }
    while (*rows > 1 && bytes / (size_t)most * (size_t)*rows > MOST_BYTES) *rows /= 2;
    liana_graph_destroy(graph);
    return found ? LIANA_OK : liana__fail_memory(error, "the outputs of layers");
}

/* Outputs that the graph did not have. */
static void add_outputs(const liana__training *training, liana_graph *graph, const uint32_t *found, liana__arena *arena)
{
    for (size_t i = 0; i < training->model->num_layers; i++) {
        const char *name = liana__arena_format(arena, "activations/%s", training->model->layers[i].name);
        liana_tensor output = {graph, found[i]};
        if (!found[i] || !name) continue;
        if (graph->nodes[found[i]]->dtype != LIANA_F32) output = liana_op_cast(output, LIANA_F32);
        liana_graph_output(graph, name, output);
    }
}

static liana_status compute(const liana__incident *shard, liana__event_list *list, liana__error *error)
{
    LIANA__SCOPED(liana__node_check) check = {0};
    const liana__node_check_options options = {.inputs = shard->inputs,
                                               .variables = shard->variables,
                                               .keep_results = true};
    LIANA_TRY(liana_graph_status(shard->graph));
    LIANA_TRY(liana__node_check_run(shard->graph, &options, &check, error));
    for (size_t i = 0; i < check.graph->num_outputs; i++) {
        const char *name = check.graph->outputs[i].name;
        if (strncmp(name, "activations/", PREFIX) != 0 || !check.results[i]) continue;
        liana__event_list_add_histogram(list, liana__arena_string(&list->arena, name), check.results[i],
                                        liana_shape_size(&check.graph->outputs[i].node->shape));
    }
    return LIANA_OK;
}

liana_status liana__event_list_add_activations(liana__event_list *list, const liana__training *training,
                                               const liana__batch *batch, liana__error *error)
{
    liana__step *step = training->trainer->step;
    const int64_t microbatch = liana__step_plan_of(step)->microbatch;
    if (!training->model || !batch->count) return LIANA_OK;
    liana__leaf some = {0, batch->count < microbatch ? batch->count : microbatch};
    LIANA_TRY(choose_rows(training, some.size, &list->arena, &some.size, error));
    liana__leaf_batch examples = liana__step_shards(step, batch);
    examples.leaves = &some;
    examples.num_leaves = 1;
    LIANA__SCOPED(liana__incident) shard = {0};
    const liana__rerun rerun = {.step = step, .batch = batch, .of_validation = true};
    LIANA_TRY(liana__rerun_shard(&rerun, &examples, 0, &shard, error));
    const uint32_t *found = find_outputs(training, shard.graph, some.size, &list->arena);
    if (!found) return liana__fail_memory(error, "the outputs of layers");
    add_outputs(training, shard.graph, found, &list->arena);
    return compute(&shard, list, error);
}
