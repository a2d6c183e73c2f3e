/* HashedCrossing: a bucket for the values of several inputs together, by their hashes. The host computes it. */
#include "layers/option_rows.h"
#include "layers/preprocessing/texts.h"

#include "base/text_hash.h"

#include <liana/layers/preprocessing.h>
#include <stdlib.h>

static const char *const mode_names[] = {"int", "one_hot", NULL};

static const liana_option rows[] = {
    LIANA__COUNT_ROW(liana_hashed_crossing_options, num_bins, .required = true, .doc = "number of buckets"),
    LIANA_OPTION_ROW(liana_hashed_crossing_options, output_mode, ENUM, .default_text = "int", .names = mode_names,
                     .doc = "int: numbers; one_hot: rows of num_bins"),
};

typedef struct state {
    liana__text_inputs inputs;
    liana__output_row row;
} state;

static liana_status make(const void *chosen, const liana__text_inputs *inputs, liana__arena *arena,
                         liana__text_result *result, liana__error *error)
{
    const liana_hashed_crossing_options *own = chosen;
    if (inputs->shape.rank > 1 || liana_shape_size(&inputs->shape) != 1) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "found %lld values in an input, expected one for each example: [batch] or [batch, 1]",
                           (long long)liana_shape_size(&inputs->shape));
    }
    state *made = liana__arena_allocate(arena, sizeof *made);
    if (!made) return liana__fail_memory(error, "a layer");
    LIANA_TRY(liana__output_shape(own->output_mode, &inputs->shape, own->num_bins, &result->shape, error));
    *made = (state){.inputs = *inputs, .row = {own->output_mode, own->num_bins, 1, NULL}};
    result->dtype = own->output_mode == LIANA_OUTPUT_INT ? LIANA_S32 : LIANA_F32;
    result->state = made;
    uint64_t words[3] = {(uint64_t)own->num_bins, (uint64_t)own->output_mode, inputs->count};
    for (size_t i = 0; i < inputs->count; i++) words[2] = 2 * words[2] + inputs->has_numbers[i];
    result->fingerprint = liana__farm_hash(words, sizeof words);
    return LIANA_OK;
}

/* A whole number stands for itself, a text for its hash. Numbers come as decimal texts. */
static liana_status run(const void *given, const liana_bytes *texts, void *row, liana__error *error)
{
    const state *own = given;
    uint64_t joined = LIANA__CROSS_KEY;
    for (size_t i = 0; i < own->inputs.count; i++) {
        int64_t number = 0;
        if (own->inputs.has_numbers[i]) LIANA_TRY(liana__whole_number_of(&texts[i], &number, error));
        joined = liana__cross_hash(joined, own->inputs.has_numbers[i] ? (uint64_t)number
                                                                      : liana__farm_hash(texts[i].data, texts[i].size));
    }
    liana__output_put(&own->row, 0, (int64_t)(joined % (uint64_t)own->row.depth), row);
    return LIANA_OK;
}

static const liana__text_layer text_layer = {.make = make, .run = run};

static void to_keras(liana__arena *arena, const void *chosen, liana__value *config)
{
    const liana_hashed_crossing_options *own = chosen;
    const bool is_int = own->output_mode == LIANA_OUTPUT_INT;
    liana__value_set(arena, config, "dtype", liana__value_string(arena, is_int ? "int64" : "float32"));
    liana__value_set(arena, config, "sparse", liana__value_bool(arena, false));
}

const liana_layer_type liana__layer_hashed_crossing = {
    LIANA_PART(LAYER, liana_layer_type, "HashedCrossing", "a bucket for the values of several inputs together",
               LIANA_PART_OPTIONS(liana_hashed_crossing_options, rows)),
    LIANA__INPUTS(2, LIANA_MAX_LAYER_INPUTS),
    .texts = &text_layer,
    .to_keras = to_keras,
};
