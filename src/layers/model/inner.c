/* Results of inner layers as the outputs of a model: features, embeddings. */
#include "layers/model.h"

#include <string.h>

/* The part of a name behind the nested models that the layer is in. */
static const char *own_name(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

static liana_status fail_unknown(const liana_model *model, const char *name, liana__error *error)
{
    liana__nearest_search search = liana__nearest_begin(name);
    for (size_t i = 0; i < model->num_layers; i++) {
        liana__nearest_add(&search, model->layers[i].name);
        liana__nearest_add(&search, own_name(model->layers[i].name));
    }
    for (size_t i = 0; i < model->num_nested; i++) liana__nearest_add(&search, model->nested[i].name);
    for (size_t i = 0; i < model->num_calls; i++) liana__nearest_add(&search, model->calls[i].name);
    const char *hint = search.nearest ? liana__hint(search.nearest).text : "";
    return liana__fail(error, LIANA_NOT_FOUND, "the model '%s' has no layer '%.100s'%s%s", liana__model_name(model),
                       name, hint, search.nearest ? "" : "; 'liana summary' shows its layers");
}

/* The first node of a layer. */
static size_t first_node(const liana_model *model, size_t layer)
{
    size_t node = 0;
    while (model->nodes[node].layer != layer) node++;
    return node;
}

/* The only layer of a nested model that is called so there: "out_relu" is "mobilenetv2/out_relu". */
static liana_status find_within(const liana_model *model, const char *name, size_t *node, liana__error *error)
{
    size_t found = LIANA__NONE;
    for (size_t i = 0; i < model->num_layers; i++) {
        const liana__layer *layer = &model->layers[i];
        if (layer->within == LIANA__NONE || strcmp(own_name(layer->name), name) != 0) continue;
        if (found != LIANA__NONE) {
            return liana__fail(error, LIANA_NOT_FOUND,
                               "the model '%s' has several layers '%.100s' in nested models: name '%s' or '%s'",
                               liana__model_name(model), name, model->layers[found].name, layer->name);
        }
        found = i;
    }
    if (found == LIANA__NONE) return fail_unknown(model, name, error);
    *node = first_node(model, found);
    return LIANA_OK;
}

static size_t take_nested(const liana_model *model, size_t nested, size_t nodes[LIANA_MAX_MODEL_OUTPUTS])
{
    const liana__nested *own = &model->nested[nested];
    size_t use = model->num_uses - 1;
    while (model->uses[use].nested != nested) use--;
    for (size_t i = 0; i < own->num_outputs; i++) nodes[i] = model->uses[use].first_node + own->outputs[i];
    return own->num_outputs;
}

/* Whether a name is that of a call as a whole, and not "lstm/1", one of its results. */
static bool is_whole(const liana_model *model, size_t node, const char *name)
{
    const char *layer = model->layers[model->nodes[node].layer].name;
    if (strcmp(layer, name) == 0 || strcmp(own_name(layer), name) == 0) return true;
    for (size_t i = 0; i < model->num_calls; i++) {
        if (model->calls[i].node == node && strcmp(model->calls[i].name, name) == 0) return true;
    }
    return false;
}

liana_status liana__model_find_results(const liana_model *model, const char *name,
                                       size_t nodes[LIANA_MAX_MODEL_OUTPUTS], size_t *count, liana__error *error)
{
    const int nested = liana__model_find_nested(model, name), layer = liana__model_find_layer(model, name);
    if (nested >= 0) {
        *count = take_nested(model, (size_t)nested, nodes);
        return LIANA_OK;
    }
    size_t node = liana__model_find_node(model, name);
    if (node == LIANA__NONE && layer >= 0) node = first_node(model, (size_t)layer);
    if (node == LIANA__NONE) LIANA_TRY(find_within(model, name, &node, error));
    *count = is_whole(model, node, name) && !model->nodes[node].output ? model->nodes[node].num_outputs : 1;
    if (*count > LIANA_MAX_MODEL_OUTPUTS) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "layer '%.100s' has %zu results, expected at most %d", name,
                           *count, LIANA_MAX_MODEL_OUTPUTS);
    }
    for (size_t i = 0; i < *count; i++) nodes[i] = node + i;
    return LIANA_OK;
}

liana_status liana__model_give_results(liana_model *model, const char *name, liana__error *error)
{
    size_t nodes[LIANA_MAX_MODEL_OUTPUTS], count;
    LIANA_TRY(liana__model_find_results(model, name, nodes, &count, error));
    const liana_status status = liana__model_set_outputs(model, LIANA_HERE, nodes, NULL, count);
    if (status != LIANA_OK) *error = model->error;
    model->gives_inner = status == LIANA_OK;
    return status;
}

void liana__model_outputs_keep(const liana_model *model, liana__kept_outputs *kept)
{
    *kept = (liana__kept_outputs){.count = model->num_outputs,
                                  .gives_inner = model->gives_inner,
                                  .objective = model->objective,
                                  .structure_version = model->structure_version};
    memcpy(kept->items, model->outputs, sizeof kept->items);
}

void liana__model_outputs_restore(liana_model *model, const liana__kept_outputs *kept)
{
    model->num_outputs = kept->count;
    model->gives_inner = kept->gives_inner;
    model->objective = kept->objective;
    model->structure_version = kept->structure_version;
    memcpy(model->outputs, kept->items, sizeof kept->items);
}
