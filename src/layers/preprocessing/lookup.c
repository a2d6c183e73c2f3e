/* The number of a text by a vocabulary. Rules are those of Keras's IndexLookup. */
#include "layers/preprocessing/lookup.h"

#include "base/text_hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A text in place of a list is not a vocabulary of one text: Keras would read a file. */
liana_status liana__lookup_check(liana_check *check)
{
    const liana__value *vocabulary = liana__value_get(check->map, "vocabulary");
    if (!vocabulary || vocabulary->kind != LIANA__VALUE_STRING) return LIANA_OK;
    return liana_option_refuse(
        check, "vocabulary",
        "found the text '%.100s', expected a list such as [red, green]; the file of a vocabulary "
        "is read in a configuration",
        vocabulary->string);
}

/* How many numbers come before those of the vocabulary. */
static int64_t first_of_vocabulary(const liana__lookup_options *options)
{
    return (options->mask_token && options->output_mode == LIANA_OUTPUT_INT) + options->num_oov_indices;
}

/* Whether the list begins with the mask and the tokens for unknown texts, as get_vocabulary() of Keras gives it. */
static bool has_special_tokens(const liana__lookup_options *options)
{
    const liana_strings *list = &options->vocabulary;
    const size_t special = (size_t)first_of_vocabulary(options);
    const bool has_mask = options->mask_token && options->output_mode == LIANA_OUTPUT_INT;
    if (special == 0 || list->count < special) return false;
    for (size_t i = 0; i < special; i++) {
        const char *token = has_mask && i == 0 ? options->mask_token : options->oov_token;
        if (!token || strcmp(list->items[i], token) != 0) return false;
    }
    return true;
}

static liana_status read_weights(const liana__lookup_options *options, int64_t size, liana__arena *arena,
                                 liana__lookup *lookup, liana__error *error)
{
    const liana__value *list = options->idf_weights;
    if (options->output_mode != LIANA_OUTPUT_TF_IDF || !options->vocabulary.count) return LIANA_OK;
    const size_t count = list && list->kind == LIANA__VALUE_LIST ? list->count : 0;
    const int64_t first = first_of_vocabulary(options);
    const bool is_whole = (int64_t)count == size, is_short = (int64_t)count == size - first;
    float *weights = liana__arena_allocate(arena, (size_t)lookup->depth * sizeof *weights);
    if (!weights) return liana__fail_memory(error, "a vocabulary");
    if (!is_whole && !is_short) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "idf_weights: found %zu numbers, expected one for each of the %lld texts of the vocabulary",
                           count, (long long)(size - first));
    }
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const liana__value *item = list->items[i];
        const bool is_number = item->kind == LIANA__VALUE_INT || item->kind == LIANA__VALUE_FLOAT;
        if (!is_number || !isfinite(item->number)) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT, "idf_weights: item %zu is no finite number", i);
        }
        weights[(int64_t)i + (is_whole ? 0 : first)] = (float)item->number;
        sum += item->number;
    }
    /* Unknown texts weigh as much as the vocabulary's do on average. */
    for (int64_t i = 0; is_short && i < first; i++) weights[i] = (float)(count ? sum / (double)count : 0);
    lookup->weights = weights;
    return LIANA_OK;
}

static liana_status check_sizes(const liana__lookup_options *options, int64_t size, liana__error *error)
{
    if (options->pad_to_max_tokens && !options->max_tokens) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "pad_to_max_tokens needs max_tokens: the length of the rows");
    }
    if (options->max_tokens && size > options->max_tokens) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "max_tokens: found %lld, but the vocabulary and the numbers of unknown texts are %lld",
                           (long long)options->max_tokens, (long long)size);
    }
    return LIANA_OK;
}

static liana_status read_salt(const liana__lookup_options *options, liana__lookup *lookup, liana__error *error)
{
    const liana_ints *salt = &options->salt;
    lookup->is_salted = salt->count > 0;
    if (salt->count > 2) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "salt: found %lld numbers, expected 1 or 2",
                           (long long)salt->count);
    }
    for (int i = 0; lookup->is_salted && i < 2; i++) lookup->salt[i] = (uint64_t)salt->values[salt->count == 2 ? i : 0];
    return LIANA_OK;
}

static uint64_t fingerprint_of(const liana__lookup_options *options, const liana__lookup *lookup)
{
    uint64_t words[7] = {(uint64_t)options->output_mode,
                         (uint64_t)lookup->num_oov,
                         (uint64_t)lookup->depth,
                         lookup->salt[0],
                         lookup->salt[1],
                         0,
                         lookup->by_remainder};
    if (lookup->has_mask) words[5] = liana__farm_hash(lookup->mask.data, lookup->mask.size);
    uint64_t pair[2] = {liana__farm_hash(words, sizeof words), lookup->is_salted};
    for (size_t i = 0; i < lookup->vocabulary.count; i++) {
        pair[0] = liana__farm_hash(pair, sizeof pair);
        pair[1] = liana__farm_hash(lookup->vocabulary.texts[i].data, lookup->vocabulary.texts[i].size) +
                  (uint64_t)lookup->vocabulary.numbers[i];
    }
    if (lookup->weights) pair[1] += liana__farm_hash(lookup->weights, (size_t)lookup->depth * sizeof(float));
    return liana__farm_hash(pair, sizeof pair);
}

/* Neither the mask nor the token for unknown texts has a number in the vocabulary. */
static liana_status check_special(const liana__lookup_options *options, const liana__lookup *lookup,
                                  liana__error *error)
{
    const char *const keys[] = {"mask_token", "oov_token"}, *const tokens[] = {options->mask_token, options->oov_token};
    for (int i = 0; i < 2; i++) {
        if (!tokens[i]) continue;
        if (liana__vocabulary_find(&lookup->vocabulary, (liana_bytes){tokens[i], strlen(tokens[i])}) < 0) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "vocabulary: the %s '%.60s' is one of its texts; leave it out", keys[i], tokens[i]);
    }
    return LIANA_OK;
}

liana_status liana__lookup_make(const liana__lookup_options *options, liana__arena *arena, liana__lookup *lookup,
                                liana__error *error)
{
    const bool has_mask = options->mask_token != NULL, is_int = options->output_mode == LIANA_OUTPUT_INT;
    const int64_t first = first_of_vocabulary(options);
    liana_strings list = options->vocabulary;
    if (has_special_tokens(options)) list = (liana_strings){list.count - (size_t)first, list.items + first};
    const int64_t size = first + (int64_t)list.count;
    *lookup = (liana__lookup){.has_mask = has_mask,
                              .mask_number = is_int ? 0 : -1,
                              .first_oov = has_mask && is_int,
                              .num_oov = options->num_oov_indices,
                              .by_remainder = options->has_numbers && options->oov_method == LIANA_OOV_FLOORMOD,
                              .depth = options->pad_to_max_tokens ? options->max_tokens
                                       : size                     ? size
                                                                  : 1};
    lookup->first = first;
    lookup->max_tokens = options->max_tokens;
    lookup->has_numbers = options->has_numbers;
    lookup->wants_weights = options->output_mode == LIANA_OUTPUT_TF_IDF;
    if (options->oov_token) lookup->oov = (liana_bytes){options->oov_token, strlen(options->oov_token)};
    if (has_mask) lookup->mask = (liana_bytes){options->mask_token, strlen(options->mask_token)};
    LIANA_TRY(check_sizes(options, size, error));
    LIANA_TRY(read_salt(options, lookup, error));
    LIANA_TRY(liana__vocabulary_make(&list, first, arena, &lookup->vocabulary, error));
    LIANA_TRY(check_special(options, lookup, error));
    LIANA_TRY(read_weights(options, size, arena, lookup, error));
    lookup->fingerprint = fingerprint_of(options, lookup);
    return LIANA_OK;
}

liana_status liana__lookup_find(const liana__lookup *lookup, liana_bytes text, int64_t *number, liana__error *error)
{
    const bool is_mask = lookup->has_mask && text.size == lookup->mask.size &&
                         (text.size == 0 || memcmp(text.data, lookup->mask.data, text.size) == 0);
    *number = is_mask ? lookup->mask_number : liana__vocabulary_find(&lookup->vocabulary, text);
    if (is_mask || *number >= 0) return LIANA_OK;
    if (lookup->num_oov == 0) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "the text '%.*s' is not in the vocabulary of %zu texts, and num_oov_indices is 0",
                           text.size > 60 ? 60 : (int)text.size, (const char *)text.data, lookup->vocabulary.count);
    }
    uint64_t bucket = 0;
    if (lookup->num_oov > 1 && lookup->by_remainder) {
        const int64_t rest = strtoll(text.data, NULL, 10) % lookup->num_oov;
        bucket = (uint64_t)(rest < 0 ? rest + lookup->num_oov : rest);
    } else if (lookup->num_oov > 1) {
        bucket = lookup->is_salted ? liana__sip_hash(lookup->salt, text.data, text.size)
                                   : liana__farm_hash(text.data, text.size);
    }
    *number = lookup->first_oov + (int64_t)(bucket % (uint64_t)lookup->num_oov);
    return LIANA_OK;
}

/* ---- a layer that gives the number of each text ---- */

/* Before the vocabulary is known, a row of it has the numbers of unknown texts alone. */
liana_status liana__lookup_layer_make(const liana__lookup_options *options, const liana_shape *texts,
                                      liana__arena *arena, liana__lookup_layer *made, liana__text_result *result,
                                      liana__error *error)
{
    const liana_output_mode mode = options->output_mode;
    LIANA_TRY(liana__lookup_make(options, arena, &made->lookup, error));
    LIANA_TRY(liana__output_shape(mode, texts, made->lookup.depth, &result->shape, error));
    made->count = liana_shape_size(texts);
    const bool shares = mode != LIANA_OUTPUT_ONE_HOT && texts->rank > 0;
    made->row =
        (liana__output_row){mode, made->lookup.depth, shares ? texts->dims[texts->rank - 1] : 1, made->lookup.weights};
    result->dtype = mode == LIANA_OUTPUT_INT ? LIANA_S32 : LIANA_F32;
    result->state = made;
    result->fingerprint = made->lookup.fingerprint;
    return LIANA_OK;
}

liana_status liana__lookup_layer_run(const void *layer, const liana_bytes *texts, void *row, liana__error *error)
{
    const liana__lookup_layer *own = layer;
    for (int64_t i = 0; i < own->count; i++) {
        int64_t number;
        LIANA_TRY(liana__lookup_find(&own->lookup, texts[i], &number, error));
        liana__output_put(&own->row, i, number, row);
    }
    return LIANA_OK;
}

const liana__lookup *liana__lookup_layer_lookup(const void *layer)
{
    return &((const liana__lookup_layer *)layer)->lookup;
}

liana_status liana__lookup_layer_visit(const void *layer, const liana_bytes *texts, liana__token_visitor *visitor,
                                       void *user, liana__error *error)
{
    const liana__lookup_layer *own = layer;
    for (int64_t i = 0; i < own->count; i++) LIANA_TRY(visitor(user, texts[i], error));
    return LIANA_OK;
}
