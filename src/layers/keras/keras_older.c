/* What Keras 3 has and Keras 2 had not: layers, and options of layers. */
#include "layers/keras/keras_older.h"

#include "base/scoped.h"

#include <string.h>

static const liana_layer_type *const newer[] = {
    &liana__layer_group_query_attention,
    &liana__layer_reversible_embedding,
    &liana__layer_stft_spectrogram,
    &liana__layer_mel_spectrogram,
    &liana__layer_random_shear,
    &liana__layer_random_perspective,
    &liana__layer_random_elastic_transform,
    &liana__layer_random_hue,
    &liana__layer_random_saturation,
    &liana__layer_random_sharpness,
    &liana__layer_random_posterization,
    &liana__layer_random_color_degeneration,
    &liana__layer_random_invert,
    &liana__layer_random_color_jitter,
    &liana__layer_random_gaussian_blur,
    &liana__layer_random_grayscale,
    &liana__layer_random_erasing,
    &liana__layer_solarization,
    &liana__layer_auto_contrast,
    &liana__layer_equalization,
    &liana__layer_contrast_limited_adaptive_histogram_equalization,
    &liana__layer_mix_up,
    &liana__layer_cut_mix,
    &liana__layer_rand_augment,
    &liana__layer_aug_mix,
    &liana__layer_pipeline,
    &liana__layer_max_num_bounding_boxes,
};

static const struct {
    const liana_layer_type *type;
    const char *option;
} newer_options[] = {
    {&liana__layer_multi_head_attention, "use_gate"},
    {&liana__layer_multi_head_attention, "sliding_window"},
    {&liana__layer_zero_padding1d, "data_format"},
    {&liana__layer_integer_lookup, "oov_method"},
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
    {&liana__layer_random_brightness, "data_format"},
    {&liana__layer_random_contrast, "data_format"},
    {&liana__layer_random_contrast, "value_range"},
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

/* Whether a word is not the default. */
static bool is_other_word(const liana_layer_type *type, const liana__value *value, const char *option)
{
    const liana_option *row = liana__fields_find(&type->part.options, option);
    return value->kind == LIANA__VALUE_STRING && row && row->default_text &&
           strcmp(row->default_text, value->string) != 0;
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
                                      (value->kind == LIANA__VALUE_INT && value->integer) ||
                                      is_other_word(type, value, newer_options[i].option));
        if (is_set) return newer_options[i].option;
    }
    return NULL;
}
