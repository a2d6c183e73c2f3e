/* The builders of C: from their structs to the maps that everything else reads, and from handles to nodes. */
#include "layers/model.h"

#include "base/scoped.h"

#include <liana/layers/core.h>

#include <string.h>

/* How every options struct begins; layers that join several have an array where the others have one input. */
typedef struct common_prefix {
    LIANA_MERGE_OPTIONS;
} common_prefix;

_Static_assert(offsetof(liana_dense_options, input) == offsetof(common_prefix, inputs), "one prefix for all options");

/* The node of a handle; `what` and `number` say which it is in the message. */
static liana_status find_node(const liana_model *model, liana_layer layer, const char *what, size_t number,
                              size_t *node, liana__error *error)
{
    bool known = layer.model == model && layer.id > 0 && layer.id <= model->num_nodes;
    if (!known) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s %zu is not a layer of this model%s", what, number,
                           layer.model && layer.model != model ? ", but of another" : "");
    }
    *node = layer.id - 1;
    return LIANA_OK;
}

/* The layers given as inputs, up to the first that was not given. */
static liana_status read_inputs(const liana_model *model, const liana_layer *layers, size_t limit, size_t *indices,
                                size_t *count, liana__error *error)
{
    for (*count = 0; *count < limit && layers[*count].model; ++*count) {
        LIANA_TRY(find_node(model, layers[*count], "input", *count, &indices[*count], error));
    }
    return LIANA_OK;
}

/* Those of a type with arguments, of which any may be missing. `slots` are those that are given. */
static liana_status read_arguments(const liana_model *model, const liana_layer *layers, size_t limit, size_t *indices,
                                   liana__layer_request *request, liana__error *error)
{
    for (size_t i = 0; i < limit; i++) {
        if (!layers[i].model) continue;
        LIANA_TRY(find_node(model, layers[i], "input", i, &indices[request->num_inputs++], error));
        request->slots |= (uint32_t)1 << i;
    }
    return LIANA_OK;
}

/* The options and the inputs of a struct. */
static liana_status read_struct(const liana_model *model, const liana_layer_type *type, const void *options,
                                liana__arena *arena, size_t *nodes, liana__layer_request *request, liana__error *error)
{
    const common_prefix *prefix = options;
    LIANA_TRY(liana__options_to_map(&type->part.options, options, arena, &request->options, error));
    liana__value *map = (liana__value *)(uintptr_t)request->options;
    LIANA_TRY(liana__held_to_map(model->context, type, options, arena, map, error));
    if (type->arguments) {
        LIANA_TRY(read_arguments(model, prefix->inputs, type->max_inputs, nodes, request, error));
    } else if (type->max_inputs > 0) {
        /* Too many are refused later; a struct of several inputs has room for all. */
        const size_t room = type->max_inputs > 1 ? LIANA_MAX_LAYER_INPUTS : 1;
        LIANA_TRY(read_inputs(model, prefix->inputs, room, nodes, &request->num_inputs, error));
    }
    if (request->num_inputs) request->inputs = nodes;
    return LIANA_OK;
}

static liana_layer add_from_struct(liana_location here, liana_model *model, const liana_layer_type *type,
                                   const void *options, liana__arena *arena)
{
    const common_prefix *prefix = options;
    size_t nodes[LIANA_MAX_LAYER_INPUTS];
    liana__layer_request request = {
        .here = here, .type = type, .name = prefix->name, .frozen = !prefix->trainable, .inference = !prefix->training};
    liana__error error = {0};
    liana_status status = read_struct(model, type, options, arena, nodes, &request, &error);
    if (status != LIANA_OK) return liana__model_fail(model, here, status, "%s: %s", type->part.name, error.message);
    return liana__model_add(model, &request);
}

liana_layer liana_model_add_at(liana_location here, liana_model *model, const char *layer_class, const void *options)
{
    if (!model || model->error.status != LIANA_OK) return (liana_layer){model, 0};
    if (!layer_class || !options) {
        return liana__model_fail(model, here, LIANA_INVALID_ARGUMENT, "the %s of the layer is NULL",
                                 layer_class ? "options" : "class");
    }
    const char *nearest = NULL;
    const liana_layer_type *type = liana__part_find(model->context, &liana__layer_kind, layer_class, &nearest);
    if (!type) {
        return liana__model_fail(model, here, LIANA_NOT_FOUND, "there is no layer class '%.60s'%s", layer_class,
                                 liana__hint(nearest).text);
    }
    LIANA__SCOPED(liana__arena) arena = {0};
    return add_from_struct(here, model, type, options, &arena);
}

/* The layer that is called once more. */
static liana_status find_reused(const liana_model *model, liana_layer layer, size_t *index, liana__error *error)
{
    size_t node = 0;
    LIANA_TRY(find_node(model, layer, "reuse: layer", 0, &node, error));
    const liana__layer *own = &model->layers[model->nodes[node].layer];
    *index = model->nodes[node].layer;
    if (model->nodes[node].within != LIANA__NONE) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "reuse: layer '%s' belongs to a nested model; nest that model again to share its weights",
                           own->name);
    }
    if (own->type->call) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "reuse: layer '%s' is an input, which is not called", own->name);
}

liana_layer liana_layer_reuse_at(liana_location here, liana_layer layer, const liana_layer *inputs, size_t num_inputs)
{
    liana_model *model = layer.model;
    if (!model || model->error.status != LIANA_OK) return (liana_layer){model, 0};
    size_t index = 0, nodes[LIANA_MAX_LAYER_INPUTS];
    liana__layer_request request = {.here = here, .inputs = nodes};
    liana__error error = {0};
    liana_status status = find_reused(model, layer, &index, &error);
    if (status == LIANA_OK && (num_inputs > LIANA_MAX_LAYER_INPUTS || (num_inputs && !inputs))) {
        status = liana__fail(&error, LIANA_INVALID_ARGUMENT, "reuse: found %zu inputs%s, expected 1 to %d", num_inputs,
                             inputs ? "" : " at NULL", LIANA_MAX_LAYER_INPUTS);
    }
    const bool has_arguments = status == LIANA_OK && model->layers[index].type->arguments;
    if (has_arguments) status = read_arguments(model, inputs, num_inputs, nodes, &request, &error);
    for (size_t i = 0; i < num_inputs && status == LIANA_OK && !has_arguments; i++) {
        status = find_node(model, inputs[i], "reuse: input", i, &nodes[request.num_inputs++], &error);
    }
    if (status != LIANA_OK) return liana__model_fail(model, here, status, "%s", error.message);
    return liana__model_reuse(model, index, &request);
}

liana_layer liana_layer_again_at(liana_location here, liana_layer layer, const void *options)
{
    liana_model *model = layer.model;
    if (!model || model->error.status != LIANA_OK) return (liana_layer){model, 0};
    if (!options) return liana__model_fail(model, here, LIANA_INVALID_ARGUMENT, "reuse: the options are NULL");
    size_t index = 0, nodes[LIANA_MAX_LAYER_INPUTS];
    liana__layer_request request = {.here = here};
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__error error = {0};
    liana_status status = find_reused(model, layer, &index, &error);
    if (status == LIANA_OK) {
        status = read_struct(model, model->layers[index].type, options, &arena, nodes, &request, &error);
    }
    if (status != LIANA_OK) return liana__model_fail(model, here, status, "%s", error.message);
    const size_t before = liana__model_last_node(model);
    if (!request.inputs) {
        request.inputs = &before;
        request.num_inputs = 1;
    }
    return liana__model_reuse(model, index, &request);
}

liana_layer liana_model_nest_at(liana_location here, liana_model *model, const liana_nested_options *options)
{
    if (!model || model->error.status != LIANA_OK) return (liana_layer){model, 0};
    if (!options || !options->nested) {
        return liana__model_fail(model, here, LIANA_INVALID_ARGUMENT, "the nested model is NULL");
    }
    size_t nodes[LIANA_MAX_LAYER_INPUTS];
    liana__nest_request request = {.here = here,
                                   .inner = options->nested,
                                   .name = options->name,
                                   .frozen = !options->trainable,
                                   .inference = !options->training};
    liana__error error = {0};
    liana_status status =
        read_inputs(model, options->inputs, LIANA_MAX_LAYER_INPUTS, nodes, &request.num_inputs, &error);
    if (status != LIANA_OK) return liana__model_fail(model, here, status, "nested model: %s", error.message);
    if (request.num_inputs) request.inputs = nodes;
    return liana__model_nest(model, &request);
}

liana_layer liana_nested_output(liana_layer nested, size_t index)
{
    const liana_model *model = nested.model;
    for (size_t i = 0; model && nested.id && i < model->num_uses; i++) {
        const liana__nested_use *use = &model->uses[i];
        const liana__nested *of = &model->nested[use->nested];
        if (use->within != LIANA__NONE || use->first_node + of->outputs[0] + 1 != nested.id) continue;
        if (index >= of->num_outputs) break;
        return (liana_layer){nested.model, (uint32_t)(use->first_node + of->outputs[index] + 1)};
    }
    return (liana_layer){nested.model, 0};
}

liana_layer liana_layer_output(liana_layer layer, size_t index)
{
    const liana_model *model = layer.model;
    const bool known = model && layer.id > 0 && layer.id <= model->num_nodes;
    if (known && model->nodes[layer.id - 1].within != LIANA__NONE) return liana_nested_output(layer, index);
    const bool found = known && index < model->nodes[layer.id - 1].num_outputs;
    return (liana_layer){layer.model, found ? layer.id + (uint32_t)index : 0};
}

void liana_model_outputs_at(liana_location here, liana_model *model, const liana_layer *layers, size_t count,
                            const char *const *names)
{
    if (!model || model->error.status != LIANA_OK) return;
    size_t nodes[LIANA_MAX_MODEL_OUTPUTS];
    liana__error error = {0};
    liana_status status = LIANA_OK;
    if (!layers || count == 0 || count > LIANA_MAX_MODEL_OUTPUTS) {
        status = liana__fail(&error, LIANA_INVALID_ARGUMENT, "found %zu outputs%s, expected 1 to %d", count,
                             layers ? "" : " at NULL", LIANA_MAX_MODEL_OUTPUTS);
    }
    for (size_t i = 0; i < count && status == LIANA_OK; i++) {
        status = find_node(model, layers[i], "output", i, &nodes[i], &error);
    }
    if (status == LIANA_OK) {
        liana__model_set_outputs(model, here, nodes, names, count);
    } else {
        liana__model_fail(model, here, status, "%s", error.message);
    }
}
