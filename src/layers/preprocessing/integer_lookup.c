/* IntegerLookup: the number of each whole number by a vocabulary, or back. The host computes it. */
#include "layers/option_rows.h"
#include "layers/preprocessing/lookup.h"

#include "base/text_hash.h"

#include <inttypes.h>
#include <liana/layers/preprocessing.h>
#include <stdio.h>

static const char *const dtype_names[] = {"int64", NULL};
static const char *const method_names[] = {"floormod", "farmhash", NULL};
_Static_assert(LIANA_OOV_FLOORMOD == 0 && LIANA_OOV_FARMHASH == 1, "method_names follows liana_oov_method");

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_integer_lookup_options, max_tokens, INT, .minimum = 0, .maximum = INT32_MAX,
                     .doc = "the most numbers, those of unknown ones among them; default: any number"),
    LIANA_OPTION_ROW(liana_integer_lookup_options, num_oov_indices, INT, .default_text = "1", .minimum = 0,
                     .maximum = 65536,
                     .doc = "numbers for those that the vocabulary does not have; 0: such a number is an error"),
    LIANA_OPTION_ROW(liana_integer_lookup_options, mask_token, INTS,
                     .doc = "a number that is padding: its number is 0; default: none"),
    LIANA_OPTION_ROW(liana_integer_lookup_options, oov_token, INT, .default_text = "-1",
                     .doc = "how Keras's lists name unknown numbers; the result for them with invert"),
    LIANA_OPTION_ROW(liana_integer_lookup_options, vocabulary, INTEGERS,
                     .doc = "the whole numbers, in the order of their numbers; default: those of the data"),
    LIANA_OPTION_ROW(liana_integer_lookup_options, vocabulary_dtype, ENUM, .default_text = "int64",
                     .names = dtype_names, .doc = "the only one"),
    LIANA_OPTION_ROW(liana_integer_lookup_options, idf_weights, VALUE, .doc = "of tf_idf: the weight of each number"),
    LIANA_OPTION_ROW(liana_integer_lookup_options, invert, BOOL, .default_text = "false",
                     .doc = "whether the inputs are numbers of the vocabulary, which become those that it has"),
    LIANA_OPTION_ROW(liana_integer_lookup_options, output_mode, ENUM, .default_text = "int",
                     .names = liana__output_mode_names,
                     .doc = "int: numbers; one_hot, multi_hot, count, tf_idf: rows as long as the vocabulary"),
    LIANA_OPTION_ROW(liana_integer_lookup_options, pad_to_max_tokens, BOOL, .default_text = "false",
                     .doc = "whether rows have max_tokens numbers"),
    LIANA_OPTION_ROW(liana_integer_lookup_options, oov_method, ENUM, .default_text = "floormod", .names = method_names,
                     .doc = "which of num_oov_indices an unknown number gets: by its remainder, or by its hash"),
    LIANA_OPTION_ROW(liana_integer_lookup_options, salt, INTS, .minimum = 0, .maximum = 9007199254740992,
                     .doc = "with farmhash: a key for SipHash, one number or two; default: FarmHash, without key"),
};

static liana_status check_options(liana_check *check)
{
    const liana_integer_lookup_options *own = check->options;
    if (own->mask_token.count > 1) {
        return liana_option_refuse(check, "mask_token", "found %lld numbers, expected one",
                                   (long long)own->mask_token.count);
    }
    if (own->salt.count && own->oov_method != LIANA_OOV_FARMHASH) {
        return liana_option_refuse(check, "salt", "it is the key of a hash, which oov_method: farmhash asks for");
    }
    if (own->invert && own->output_mode != LIANA_OUTPUT_INT) {
        return liana_option_refuse(check, "output_mode", "found %s, expected int, the only one with invert",
                                   liana__output_mode_names[own->output_mode]);
    }
    for (size_t i = 0; own->invert && i <= own->vocabulary.count; i++) {
        const int64_t token = i < own->vocabulary.count ? own->vocabulary.items[i] : own->oov_token;
        if (token >= INT32_MIN && token <= INT32_MAX) continue;
        return liana_option_refuse(check, i < own->vocabulary.count ? "vocabulary" : "oov_token",
                                   "found %lld, which results of int32 cannot hold (invert)", (long long)token);
    }
    return LIANA_OK;
}

enum { LONGEST = 24 };

static const char *text_of(liana__arena *arena, int64_t number)
{
    return liana__arena_format(arena, "%" PRId64, number);
}

/* ---- the layer ---- */

typedef struct state {
    liana__lookup_layer layer;
    const liana_integer_lookup_options *options; /* of a layer that inverts; else NULL */
    int64_t first;                               /* the place of the vocabulary's first number */
    const int64_t *tokens;
    size_t num_tokens;
} state;

static liana_status make_lookup(const liana_integer_lookup_options *own, const liana_shape *texts, liana__arena *arena,
                                state *made, liana__text_result *result, liana__error *error)
{
    const char **list = liana__arena_allocate(arena, (own->vocabulary.count + 1) * sizeof *list);
    const char *mask = own->mask_token.count ? text_of(arena, own->mask_token.values[0]) : NULL;
    const char *oov = text_of(arena, own->oov_token);
    for (size_t i = 0; list && i < own->vocabulary.count; i++) list[i] = text_of(arena, own->vocabulary.items[i]);
    if (!list || !oov || arena->failed) return liana__fail_memory(error, "a vocabulary");
    const liana__lookup_options options = {.max_tokens = own->max_tokens,
                                           .num_oov_indices = own->num_oov_indices,
                                           .mask_token = mask,
                                           .oov_token = oov,
                                           .vocabulary = {own->vocabulary.count, list},
                                           .idf_weights = own->idf_weights,
                                           .output_mode = own->output_mode,
                                           .pad_to_max_tokens = own->pad_to_max_tokens,
                                           .salt = own->salt,
                                           .has_numbers = true,
                                           .oov_method = own->oov_method};
    LIANA_TRY(liana__lookup_layer_make(&options, texts, arena, &made->layer, result, error));
    result->state = made;
    if (!own->invert) return LIANA_OK;
    made->options = own;
    made->num_tokens = made->layer.lookup.vocabulary.count;
    made->tokens = own->vocabulary.items + (own->vocabulary.count - made->num_tokens);
    made->first = own->num_oov_indices + (mask != NULL);
    const uint64_t words[] = {result->fingerprint, (uint64_t)own->oov_token, 1};
    result->fingerprint = liana__farm_hash(words, sizeof words);
    return LIANA_OK;
}

static liana_status make(const void *chosen, const liana__text_inputs *inputs, liana__arena *arena,
                         liana__text_result *result, liana__error *error)
{
    state *made = liana__arena_allocate(arena, sizeof *made);
    if (!made) return liana__fail_memory(error, "a vocabulary");
    *made = (state){.options = NULL};
    return make_lookup(chosen, &inputs->shape, arena, made, result, error);
}

static int32_t invert(const state *own, int64_t place)
{
    const liana_integer_lookup_options *options = own->options;
    if (place == 0 && options->mask_token.count) return (int32_t)options->mask_token.values[0];
    const int64_t index = place - own->first;
    return (int32_t)(index >= 0 && index < (int64_t)own->num_tokens ? own->tokens[index] : options->oov_token);
}

static liana_status run(const void *given, const liana_bytes *texts, void *row, liana__error *error)
{
    const state *own = given;
    for (int64_t i = 0; i < own->layer.count; i++) {
        int64_t number, place;
        char digits[LONGEST];
        LIANA_TRY(liana__whole_number_of(&texts[i], &number, error));
        if (own->options) {
            ((int32_t *)row)[i] = invert(own, number);
            continue;
        }
        const int length = snprintf(digits, sizeof digits, "%" PRId64, number);
        LIANA_TRY(liana__lookup_find(&own->layer.lookup, (liana_bytes){digits, (size_t)length}, &place, error));
        liana__output_put(&own->layer.row, i, place, row);
    }
    return LIANA_OK;
}

static const liana__lookup *lookup_of(const void *given)
{
    return &((const state *)given)->layer.lookup;
}

static liana_status visit(const void *given, const liana_bytes *texts, liana__token_visitor *visitor, void *user,
                          liana__error *error)
{
    const state *own = given;
    for (int64_t i = 0; i < own->layer.count; i++) {
        int64_t number;
        char digits[LONGEST];
        LIANA_TRY(liana__whole_number_of(&texts[i], &number, error));
        const int length = snprintf(digits, sizeof digits, "%" PRId64, number);
        LIANA_TRY(visitor(user, (liana_bytes){digits, (size_t)length}, error));
    }
    return LIANA_OK;
}

static const char *to_adapt(const void *chosen)
{
    return ((const liana_integer_lookup_options *)chosen)->vocabulary.count ? NULL : "vocabulary";
}

static const liana__text_layer text_layer = {.make = make, .run = run, .lookup = lookup_of, .visit = visit};

/* ---- Keras's files ---- */

static void set_null(liana__arena *arena, liana__value *config, const char *key)
{
    liana__value_set(arena, config, key, liana__value_null(arena));
}

static void to_keras(liana__arena *arena, const void *chosen, liana__value *config)
{
    const liana_integer_lookup_options *own = chosen;
    if (!own->max_tokens) set_null(arena, config, "max_tokens");
    if (!own->salt.count) set_null(arena, config, "salt");
    if (!own->vocabulary.count) set_null(arena, config, "vocabulary");
    liana__value_set(arena, config, "mask_token",
                     own->mask_token.count ? liana__value_int(arena, own->mask_token.values[0])
                                           : liana__value_null(arena));
    liana__value_set(arena, config, "sparse", liana__value_bool(arena, false));
}

const liana_layer_type liana__layer_integer_lookup = {
    LIANA_PART(LAYER, liana_layer_type, "IntegerLookup", "the number of each whole number by a vocabulary, or back",
               LIANA_PART_OPTIONS(liana_integer_lookup_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .to_adapt = to_adapt,
    .texts = &text_layer,
    .to_keras = to_keras,
};
