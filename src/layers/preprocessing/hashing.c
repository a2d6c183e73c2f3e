/* Hashing: a bucket for each text, by its hash. The host computes it. */
#include "layers/option_rows.h"
#include "layers/preprocessing/texts.h"

#include "base/text_hash.h"

#include <liana/layers/preprocessing.h>
#include <string.h>

static const char *const mode_names[] = {"int", "one_hot", "multi_hot", "count", NULL};

static const liana_option rows[] = {
    LIANA__COUNT_ROW(liana_hashing_options, num_bins, .required = true,
                     .doc = "number of buckets, that of mask_value among them"),
    LIANA_OPTION_ROW(liana_hashing_options, mask_value, STRING,
                     .doc = "a text that is padding: it is bucket 0, alone; default: none"),
    LIANA_OPTION_ROW(liana_hashing_options, salt, INTS, .minimum = 0, .maximum = 9007199254740992,
                     .doc = "a key for SipHash, one number or two; default: FarmHash, without key"),
    LIANA_OPTION_ROW(liana_hashing_options, output_mode, ENUM, .default_text = "int", .names = mode_names,
                     .doc = "int: numbers; one_hot, multi_hot, count: rows of num_bins"),
};

static liana_status check_options(liana_check *check)
{
    const liana_hashing_options *own = check->options;
    if (own->salt.count <= 2) return LIANA_OK;
    return liana_option_refuse(check, "salt", "found %lld numbers, expected 1 or 2", (long long)own->salt.count);
}

typedef struct state {
    const liana_hashing_options *options;
    size_t mask_size;
    uint64_t salt[2];
    liana__output_row row;
    int64_t count;
} state;

static liana_status make(const void *chosen, const liana__text_inputs *inputs, liana__arena *arena,
                         liana__text_result *result, liana__error *error)
{
    const liana_shape *texts = &inputs->shape;
    const liana_hashing_options *own = chosen;
    const liana_output_mode mode = own->output_mode;
    state *made = liana__arena_allocate(arena, sizeof *made);
    if (!made) return liana__fail_memory(error, "a layer");
    LIANA_TRY(liana__output_shape(mode, texts, own->num_bins, &result->shape, error));
    const bool shares = mode != LIANA_OUTPUT_ONE_HOT && texts->rank > 0;
    *made = (state){.options = own,
                    .mask_size = own->mask_value ? strlen(own->mask_value) : 0,
                    .row = {mode, own->num_bins, shares ? texts->dims[texts->rank - 1] : 1, NULL},
                    .count = liana_shape_size(texts)};
    for (int i = 0; own->salt.count && i < 2; i++) {
        made->salt[i] = (uint64_t)own->salt.values[own->salt.count == 2 ? i : 0];
    }
    result->dtype = mode == LIANA_OUTPUT_INT ? LIANA_S32 : LIANA_F32;
    result->state = made;
    const uint64_t words[] = {(uint64_t)own->num_bins,
                              (uint64_t)mode,
                              (uint64_t)own->salt.count,
                              made->salt[0],
                              made->salt[1],
                              own->mask_value ? liana__farm_hash(own->mask_value, made->mask_size) : 0};
    result->fingerprint = liana__farm_hash(words, sizeof words);
    return LIANA_OK;
}

static int64_t bucket_of(const state *own, liana_bytes text)
{
    const liana_hashing_options *options = own->options;
    const bool has_mask = options->mask_value && options->num_bins > 1;
    const bool is_mask = has_mask && text.size == own->mask_size &&
                         (text.size == 0 || memcmp(text.data, options->mask_value, text.size) == 0);
    if (is_mask) return 0;
    const uint64_t hash =
        options->salt.count ? liana__sip_hash(own->salt, text.data, text.size) : liana__farm_hash(text.data, text.size);
    return (int64_t)(hash % (uint64_t)(options->num_bins - has_mask)) + has_mask;
}

static liana_status run(const void *given, const liana_bytes *texts, void *row, liana__error *error)
{
    const state *own = given;
    (void)error;
    for (int64_t i = 0; i < own->count; i++) liana__output_put(&own->row, i, bucket_of(own, texts[i]), row);
    return LIANA_OK;
}

static const liana__text_layer text_layer = {.make = make, .run = run};

/* Keras may have a number as mask_value, of inputs of numbers. */
static void from_keras(liana__arena *arena, const liana__value *config, liana__value *options)
{
    const liana__value *mask = liana__value_get(config, "mask_value");
    if (!mask || mask->kind != LIANA__VALUE_INT) return;
    const char *text = liana__arena_format(arena, "%lld", (long long)mask->integer);
    if (text) liana__value_set(arena, options, "mask_value", liana__value_string(arena, text));
}

static void to_keras(liana__arena *arena, const void *chosen, liana__value *config)
{
    const liana_hashing_options *own = chosen;
    const bool is_int = own->output_mode == LIANA_OUTPUT_INT;
    if (!own->salt.count) liana__value_set(arena, config, "salt", liana__value_null(arena));
    liana__value_set(arena, config, "dtype", liana__value_string(arena, is_int ? "int32" : "float32"));
    liana__value_set(arena, config, "sparse", liana__value_bool(arena, false));
}

const liana_layer_type liana__layer_hashing = {
    LIANA_PART(LAYER, liana_layer_type, "Hashing", "a bucket for each text, by its hash",
               LIANA_PART_OPTIONS(liana_hashing_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .texts = &text_layer,
    .from_keras = from_keras,
    .to_keras = to_keras,
};
