/* Finds places of layers in messages. */
#include "layers/model_place.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Where the message has the place of a layer; NULL: nowhere. The rest of a longer path is no place. */
static const char *find_layer(const char *message, const liana__layer *layer)
{
    char place[600];
    if (!layer->where.file) return NULL;
    snprintf(place, sizeof place, "%s:%d:", layer->where.file, layer->where.line);
    for (const char *at = strstr(message, place); at; at = strstr(at + 1, place)) {
        if (at == message || !(isalnum((unsigned char)at[-1]) || strchr("/._-", at[-1]))) return at;
    }
    return NULL;
}

/* The layer whose place stands first, if it is the only one there. Inputs compute nothing. One that a model has without
 * asking for it has the place of the first layer. */
static const liana__layer *find_first(const liana_model *model, const char *message)
{
    const liana__layer *named = NULL;
    const char *first = NULL;
    for (size_t i = 0; i < model->num_layers; i++) {
        const liana__layer *layer = &model->layers[i];
        const char *at = layer->type->max_inputs > 0 ? find_layer(message, layer) : NULL;
        if (!at || (first && at > first)) continue;
        named = at == first ? NULL : layer;
        first = at;
    }
    return named;
}

void liana__name_layer_at_place(const liana_model *model, liana__error *error)
{
    if (!model || !error || strstr(error->message, "layer '")) return;
    const liana__layer *layer = find_first(model, error->message);
    if (layer) liana__fail_within(error, "layer '%s' (%s)", layer->name, layer->type->part.name);
}
