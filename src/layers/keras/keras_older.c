/* What Keras 3 has and Keras 2 had not: layers, and options of layers. */
#include "layers/keras/keras_older.h"

#include "base/scoped.h"

#include <string.h>

static const liana_layer_type *const newer[] = {
    &liana__layer_group_query_attention,
    &liana__layer_reversible_embedding,
    &liana__layer_random_shear,
    &liana__layer_random_perspective,
    &liana__layer_random_elastic_transform,
};

static const struct {
    const liana_layer_type *type;
    const char *option;
} newer_options[] = {
    {&liana__layer_multi_head_attention, "use_gate"},
    {&liana__layer_multi_head_attention, "sliding_window"},
    {&liana__layer_zero_padding1d, "data_format"},
    {&liana__layer_resizing, "pad_to_aspect_ratio"},
    {&liana__layer_resizing, "antialias"},
    {&liana__layer_resizing, "fill_mode"},
    {&liana__layer_resizing, "fill_value"},
    {&liana__layer_resizing, "data_format"},
    {&liana__layer_center_crop, "data_format"},
    {&liana__layer_random_crop, "data_format"},
    {&liana__layer_random_flip, "data_format"},
    {&liana__layer_random_translation, "data_format"},
    {&liana__layer_random_rotation, "data_format"},
    {&liana__layer_random_zoom, "data_format"},
};

bool liana__keras_is_newer(const liana_layer_type *type)
{
    for (size_t i = 0; i < sizeof newer / sizeof *newer; i++) {
        if (newer[i] == type) return true;
    }
    return false;
}

bool liana__keras_is_newer_option(const liana_layer_type *type, const char *option)
{
    for (size_t i = 0; i < sizeof newer_options / sizeof *newer_options; i++) {
        if (newer_options[i].type == type && strcmp(newer_options[i].option, option) == 0) return true;
    }
    return false;
}

const char *liana__keras_find_newer_option(const liana_layer_type *type, const void *options)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const liana__value *map = NULL;
    for (size_t i = 0; i < sizeof newer_options / sizeof *newer_options; i++) {
        if (newer_options[i].type != type) continue;
        if (!map) map = liana__fields_write(&type->part.options, &arena, options);
        const liana__value *value = liana__value_get(map, newer_options[i].option);
        const bool is_set = value && ((value->kind == LIANA__VALUE_BOOL && value->boolean) ||
                                      (value->kind == LIANA__VALUE_INT && value->integer));
        if (is_set) return newer_options[i].option;
    }
    return NULL;
}
