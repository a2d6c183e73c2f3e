/* The graph of a training as event files have it. */
#include "train/callbacks/event_graph.h"

#include "base/scoped.h"
#include "formats/graph_def.h"
#include "formats/json.h"
#include "ir/graph.h"

#include <ctype.h>
#include <string.h>

typedef struct drawing {
    const liana__training *training;
    const liana_graph *graph;
    liana__arena arena;
    liana__graph_def_node *nodes;
    const char **names; /* by node id */
} drawing;

/* A name as TensorFlow takes it: letters, digits and some signs, of which '/' opens a group. */
static void make_plain(char *name)
{
    for (char *at = name; *at; at++) {
        if (!isalnum((unsigned char)*at) && !strchr("_./-", *at)) *at = '_';
    }
    if (!isalnum((unsigned char)*name)) *name = 'x';
}

/* "dense/matmul_12": the number keeps it apart from groups and other ops. */
static const char *name_node(drawing *own, const liana__node *node)
{
    const char *layer = liana__training_layer_of_node(own->training, node);
    char *name;
    if (node->num_inputs == 0 && node->name) {
        name = liana__arena_format(&own->arena, "%s_%u", node->name, node->id);
    } else {
        name = liana__arena_format(&own->arena, "%s%s%s_%u", layer ? layer : "", layer ? "/" : "", node->op->name,
                                   node->id);
    }
    if (name) make_plain(name);
    return name;
}

static bool draw_node(drawing *own, const liana__node *node, liana__graph_def_node *drawn)
{
    const char **inputs = liana__arena_allocate(&own->arena, (node->num_inputs + 1) * sizeof *inputs);
    const char *name = name_node(own, node);
    if (!inputs || !name) return false;
    for (uint32_t i = 0; i < node->num_inputs; i++) inputs[i] = own->names[node->inputs[i]->id];
    own->names[node->id] = name;
    *drawn = (liana__graph_def_node){.name = name,
                                     .op = node->op->name,
                                     .inputs = inputs,
                                     .num_inputs = node->num_inputs,
                                     .dims = node->shape.dims,
                                     .rank = node->shape.rank};
    return true;
}

static liana_status draw(drawing *own, liana__text *bytes, liana__error *error)
{
    const size_t count = own->graph->num_nodes;
    own->nodes = liana__arena_allocate(&own->arena, count * sizeof *own->nodes);
    own->names = liana__arena_allocate(&own->arena, count * sizeof *own->names);
    bool drawn = own->nodes && own->names;
    for (size_t id = 1; drawn && id < count; id++) {
        drawn = draw_node(own, own->graph->nodes[id], &own->nodes[id - 1]);
    }
    if (!drawn) return liana__fail_memory(error, "a graph");
    return liana__graph_def_write(own->nodes, count - 1, bytes, error);
}

static liana_status write_ops(const liana__training *training, liana__text *bytes, liana__error *error)
{
    liana_graph *graph;
    LIANA_TRY(liana__step_build_shard(training->trainer->step, LIANA__STEP_EVALUATION, 1, false, &graph, error));
    drawing own = {.training = training, .graph = graph};
    const liana_status status = draw(&own, bytes, error);
    liana__arena_free(&own.arena);
    liana_graph_destroy(graph);
    return status;
}

static void add_architecture(liana__event_list *list, const liana__training *training)
{
    liana__arena arena = {0};
    if (!training->model || !training->model->num_layers) return;
    const liana__value *model = liana__model_to_keras(training->model, LIANA__KERAS3, &arena);
    const char *line = model ? liana__json_line(model, &arena) : NULL;
    const liana__summary_value value = {.tag = "keras",
                                        .kind = LIANA__SUMMARY_KERAS,
                                        .text = line ? liana__arena_string(&list->arena, line) : NULL};
    list->failed |= !value.text;
    liana__event_list_add_value(list, &value);
    liana__arena_free(&arena);
}

liana_status liana__event_files_add_graphs(liana__event_files *files, const liana_fit_context *context,
                                           liana__error *error)
{
    LIANA__SCOPED(liana__text) ops = {0};
    liana__event_list list = {0};
    liana__error fault = {0};
    add_architecture(&list, context->training);
    LIANA_TRY(liana__event_list_write(&list, files, LIANA__EVENTS_TRAINING, 0, error));
    const liana_status status = write_ops(context->training, &ops, &fault);
    if (status == LIANA_OK) return liana__event_files_add_graph(files, ops.data, ops.length, error);
    if (status == LIANA_OUT_OF_MEMORY) return liana__fail_memory(error, "a graph");
    liana__note(&context->notes, "the event files have no graph of ops: %s", fault.message);
    return LIANA_OK;
}
