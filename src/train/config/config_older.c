/* Configurations of runs that an older liana began: options that it did not have keep the meaning that they had. */
#include "train/config/config_internal.h"

#include "layers/activations.h"

#include <string.h>

const char liana__config_resolved[] = "# The resolved configuration of a run";

static liana__value *find(const liana__value *root, const char *section, const char *key)
{
    return (liana__value *)(uintptr_t)liana__value_get(liana__value_get(root, section), key);
}

static bool is_old_activation(const liana__value *value)
{
    return value->kind == LIANA__VALUE_STRING && strcmp(value->string, "hard_sigmoid") == 0;
}

/* Activations in a list of layers: {Dense: {activation: NAME}}, {Activation: NAME}. */
static void keep_activations(liana__value *value)
{
    if (value->kind != LIANA__VALUE_LIST && value->kind != LIANA__VALUE_MAP) return;
    for (size_t i = 0; i < value->count; i++) {
        const char *key = value->kind == LIANA__VALUE_MAP ? value->keys[i] : "";
        bool names = strcmp(key, "activation") == 0 || strcmp(key, "Activation") == 0;
        if (names && is_old_activation(value->items[i])) value->items[i]->string = LIANA__HARD_SIGMOID_KERAS2;
        keep_activations(value->items[i]);
    }
}

void liana__config_keep_keras2(const liana__value *root)
{
    liana__value *layers = find(root, "model", "layers");
    if (layers) keep_activations(layers);
}

liana_status liana__config_keep_older(const char *text, size_t size, liana__value *root, liana__arena *arena,
                                      bool *is_older, liana__error *error)
{
    const size_t length = sizeof liana__config_resolved - 1;
    liana__value *data = (liana__value *)(uintptr_t)liana__value_get(root, "data");
    liana__value *resize = find(root, "data", "resize");
    bool is_run = size >= length && memcmp(text, liana__config_resolved, length) == 0;
    *is_older = is_run && data && data->kind == LIANA__VALUE_MAP && !liana__value_get(resize, "round");
    if (!*is_older) return LIANA_OK;
    liana__config_keep_keras2(root);
    liana__value *model = (liana__value *)(uintptr_t)liana__value_get(root, "model");
    const liana__value *base = liana__value_get(model, "base");
    if (base && base->kind == LIANA__VALUE_STRING) {
        liana__value_set(arena, model, "imagenet_rescaling", liana__value_string(arena, "no"));
    }
    if (!resize) {
        resize = liana__value_map(arena);
        liana__value_set(arena, data, "resize", resize);
    }
    if (resize && resize->kind == LIANA__VALUE_MAP) {
        liana__value_set(arena, resize, "round", liana__value_bool(arena, true));
    }
    return arena->failed ? liana__fail_memory(error, "the configuration") : LIANA_OK;
}
