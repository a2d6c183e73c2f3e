/* StringLookup: the number of each text by a vocabulary. The host computes it. */
#include "layers/option_rows.h"
#include "layers/preprocessing/lookup.h"

#include <liana/layers/preprocessing.h>

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_string_lookup_options, max_tokens, INT, .minimum = 0, .maximum = INT32_MAX,
                     .doc = "the most numbers, those of unknown texts among them; default: any number"),
    LIANA_OPTION_ROW(liana_string_lookup_options, num_oov_indices, INT, .default_text = "1", .minimum = 0,
                     .maximum = 65536,
                     .doc =
                         "numbers for texts that the vocabulary does not have, chosen by their hash; 0: such a text is "
                         "an error"),
    LIANA_OPTION_ROW(liana_string_lookup_options, mask_token, STRING,
                     .doc = "a text that is padding: its number is 0; default: none"),
    LIANA_OPTION_ROW(liana_string_lookup_options, oov_token, STRING,
                     .doc = "how Keras's lists name unknown texts; default: [UNK]"),
    LIANA_OPTION_ROW(liana_string_lookup_options, vocabulary, STRINGS,
                     .doc = "the texts, in the order of their numbers; default: those of the data"),
    LIANA_OPTION_ROW(liana_string_lookup_options, idf_weights, VALUE, .doc = "of tf_idf: the weight of each text"),
    LIANA_OPTION_ROW(liana_string_lookup_options, output_mode, ENUM, .default_text = "int",
                     .names = liana__output_mode_names,
                     .doc = "int: numbers; one_hot, multi_hot, count, tf_idf: rows as long as the vocabulary"),
    LIANA_OPTION_ROW(liana_string_lookup_options, pad_to_max_tokens, BOOL, .default_text = "false",
                     .doc = "whether rows have max_tokens numbers"),
    LIANA_OPTION_ROW(liana_string_lookup_options, salt, INTS, .minimum = 0, .maximum = 9007199254740992,
                     .doc =
                         "a key for the hash of unknown texts, one number or two; default: another hash without key"),
};

static liana_status make(const void *chosen, const liana__text_inputs *inputs, liana__arena *arena,
                         liana__text_result *result, liana__error *error)
{
    const liana_shape *texts = &inputs->shape;
    const liana_string_lookup_options *own = chosen;
    const liana__lookup_options options = {.max_tokens = own->max_tokens,
                                           .num_oov_indices = own->num_oov_indices,
                                           .mask_token = own->mask_token,
                                           .oov_token = own->oov_token ? own->oov_token : "[UNK]",
                                           .vocabulary = own->vocabulary,
                                           .idf_weights = own->idf_weights,
                                           .output_mode = own->output_mode,
                                           .pad_to_max_tokens = own->pad_to_max_tokens,
                                           .salt = own->salt};
    liana__lookup_layer *made = liana__arena_allocate(arena, sizeof *made);
    if (!made) return liana__fail_memory(error, "a vocabulary");
    return liana__lookup_layer_make(&options, texts, arena, made, result, error);
}

static const char *to_adapt(const void *chosen)
{
    return ((const liana_string_lookup_options *)chosen)->vocabulary.count ? NULL : "vocabulary";
}

static const liana__text_layer text_layer = {.make = make,
                                             .run = liana__lookup_layer_run,
                                             .lookup = liana__lookup_layer_lookup,
                                             .visit = liana__lookup_layer_visit};

static void to_keras(liana__arena *arena, const void *chosen, liana__value *config)
{
    const liana_string_lookup_options *own = chosen;
    if (!own->max_tokens) liana__value_set(arena, config, "max_tokens", liana__value_null(arena));
    if (!own->salt.count) liana__value_set(arena, config, "salt", liana__value_null(arena));
    if (!own->oov_token) liana__value_set(arena, config, "oov_token", liana__value_string(arena, "[UNK]"));
    liana__value_set(arena, config, "invert", liana__value_bool(arena, false));
    liana__value_set(arena, config, "sparse", liana__value_bool(arena, false));
    liana__value_set(arena, config, "encoding", liana__value_string(arena, "utf-8"));
}

const liana_layer_type liana__layer_string_lookup = {
    LIANA_PART(LAYER, liana_layer_type, "StringLookup", "the number of each text by a vocabulary",
               LIANA_PART_OPTIONS(liana_string_lookup_options, rows), .check = liana__lookup_check),
    LIANA__INPUTS(1, 1),
    .to_adapt = to_adapt,
    .texts = &text_layer,
    .to_keras = to_keras,
};
