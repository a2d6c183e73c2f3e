/* Pipeline: layers one after the other, as one layer. */
#include "ir/graph.h"
#include "layers/model.h"
#include "layers/option_rows.h"

#include <liana/layers/colors.h>

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_pipeline_options, layers, LAYERS, .required = true,
                     .doc = "the layers, such as [AutoContrast: {}, RandomBrightness: {factor: 0.2}]"),
};

static liana_status check_options(liana_check *check)
{
    const liana_pipeline_options *chosen = check->options;
    for (size_t i = 0; i < chosen->layers.count; i++) {
        const liana_layer_type *type = chosen->layers.items[i].type;
        if (type->min_inputs <= 1 && type->max_inputs >= 1 && !type->cell) continue;
        return liana_option_refuse(check, "layers", "found a layer %s, expected layers of one input", type->part.name);
    }
    return LIANA_OK;
}

/* Builds the held layer by itself, on a batch of 1; *shape becomes that of its result. */
static liana_status find_shape(liana_layer_build *build, const liana_held_layer *held, liana_shape *shape)
{
    liana_model *model = build->model;
    const liana__layer *layer = &model->layers[build->layer];
    liana_tensor weights[LIANA_MAX_LAYER_WEIGHTS] = {{0}};
    liana_graph *graph;
    if (liana_graph_create(model->context, &graph) != LIANA_OK) {
        return build->status = liana__fail_memory(build->error, "a graph");
    }
    liana_tensor x = liana_graph_input_at(layer->where, graph, "x", LIANA_F32, *shape);
    for (size_t i = 0; i < held->num_weights; i++) {
        const size_t place = held->first_weight + i;
        const liana__weight *weight = &model->weights[layer->first_weight + build->base + place];
        weights[place] = liana_graph_variable_at(layer->where, graph, weight->name, LIANA_F32, weight->shape);
    }
    liana_layer_call call = {.here = layer->where,
                             .options = build->options,
                             .inputs = &x,
                             .num_inputs = 1,
                             .dtype = LIANA_F32,
                             .weights = weights,
                             .num_weights = held->first_weight + held->num_weights};
    *shape = liana_tensor_shape(liana_layer_call_held(&call, held, 0, &x, NULL, 1, NULL));
    if (graph->status != LIANA_OK) {
        build->status = liana__fail(build->error, graph->status, "its layer '%s' (%s): %s", held->name,
                                    held->type->part.name, model->context->error.message);
    }
    liana_graph_destroy(graph);
    return build->status;
}

static liana_status declare_weights(liana_layer_build *build)
{
    const liana_pipeline_options *chosen = build->options;
    liana_shape shape = build->inputs[0];
    for (size_t i = 0; i < chosen->layers.count; i++) {
        const liana_held_layer *held = &chosen->layers.items[i];
        const char *group = liana__held_group(build, &chosen->layers, "layers", i);
        if (!group) return build->status;
        LIANA_TRY(liana_layer_build_held(build, held, group, &shape, 1));
        if (i + 1 < chosen->layers.count) LIANA_TRY(find_shape(build, held, &shape));
    }
    return build->status;
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_pipeline_options *chosen = call->options;
    liana_tensor x = call->inputs[0], mask = call->masks ? call->masks[0] : (liana_tensor){0};
    for (size_t i = 0; i < chosen->layers.count; i++) {
        const liana_tensor given = mask;
        x = liana_layer_call_held(call, &chosen->layers.items[i], i, &x, &given, 1, &mask);
    }
    call->mask = mask;
    return x;
}

/* Keras's class takes its layers and a name alone. */
static void to_keras(liana__arena *arena, const void *options, liana__value *config)
{
    (void)arena;
    (void)options;
    liana__value_remove(config, "trainable");
    liana__value_remove(config, "dtype");
}

const liana_layer_type liana__layer_pipeline = {
    LIANA_PART(LAYER, liana_layer_type, "Pipeline", "layers one after the other",
               LIANA_PART_OPTIONS(liana_pipeline_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .takes_integers = true,
    .reads_training = true,
    .masking = LIANA_MASKING_OWN,
    .weights = declare_weights,
    .call = call_layer,
    .to_keras = to_keras,
};
