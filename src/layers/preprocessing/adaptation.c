/* Finds vocabularies and boundaries in data. The rules are those of Keras's adapt(), given all data at once. */
#include "layers/preprocessing/adaptation.h"

#include "base/text_hash.h"
#include "ir/shape.h"
#include "layers/layer.h"
#include "layers/preprocessing/lookup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct liana__token {
    const char *text; /* NULL: a free place */
    size_t size;
    uint64_t count, documents;
    uint64_t last_document; /* its number, from 1 */
    int64_t number;         /* of a token that is a whole number */
} token;

static bool needs_texts(const liana__adaptation *own)
{
    return own->type->texts != NULL;
}

liana_status liana__adaptation_begin(const liana_layer_type *type, const void *options,
                                     const liana__text_inputs *inputs, liana__adaptation *own, liana__error *error)
{
    *own = (liana__adaptation){.type = type, .options = options};
    if (!type->to_adapt) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "it has nothing to adapt; Normalization, Discretization, StringLookup, IntegerLookup and "
                           "TextVectorization have");
    }
    if (!type->to_adapt(options)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "it has its %s as an option; leave it out to adapt it",
                           needs_texts(own) ? "vocabulary" : "bin_boundaries");
    }
    if (!needs_texts(own)) return LIANA_OK;
    liana__text_result result = {0};
    LIANA_TRY(type->texts->make(options, inputs, &own->arena, &result, error));
    own->state = result.state;
    own->lookup = type->texts->lookup(result.state);
    return LIANA_OK;
}

void liana__adaptation_free(liana__adaptation *own)
{
    liana__arena_free(&own->arena);
    free(own->tokens);
    free(own->values);
    *own = (liana__adaptation){0};
}

/* ---- vocabularies ---- */

/* The place of a token, or a free one for it. */
static token *find_place(const liana__adaptation *own, liana_bytes text)
{
    size_t place = liana__farm_hash(text.data, text.size) & (own->room - 1);
    while (own->tokens[place].text && (own->tokens[place].size != text.size ||
                                       (text.size && memcmp(own->tokens[place].text, text.data, text.size) != 0))) {
        place = (place + 1) & (own->room - 1);
    }
    return &own->tokens[place];
}

static bool grow(liana__adaptation *own)
{
    const size_t before = own->room;
    token *old = own->tokens;
    own->room = before ? 2 * before : 1024;
    own->tokens = calloc(own->room, sizeof *own->tokens);
    for (size_t i = 0; own->tokens && i < before; i++) {
        if (old[i].text) *find_place(own, (liana_bytes){old[i].text, old[i].size}) = old[i];
    }
    free(old);
    return own->tokens != NULL;
}

static liana_status count_token(void *user, liana_bytes text, liana__error *error)
{
    liana__adaptation *own = user;
    if (2 * own->num_tokens >= own->room && !grow(own)) return liana__fail_memory(error, "a vocabulary");
    token *found = find_place(own, text);
    if (!found->text) {
        char *copy = liana__arena_allocate(&own->arena, text.size + 1);
        if (!copy) return liana__fail_memory(error, "a vocabulary");
        if (text.size) memcpy(copy, text.data, text.size);
        if (memchr(copy, 0, text.size)) {
            return liana__fail(error, LIANA_INVALID_DATA, "a text holds a byte of 0, which no vocabulary can have");
        }
        *found = (token){.text = copy, .size = text.size};
        if (own->lookup->has_numbers) found->number = strtoll(copy, NULL, 10);
        own->num_tokens++;
    }
    found->count++;
    if (found->last_document != own->num_examples) found->documents++;
    found->last_document = own->num_examples;
    return LIANA_OK;
}

liana_status liana__adaptation_add_texts(liana__adaptation *own, const liana_bytes *texts, liana__error *error)
{
    own->num_examples++;
    return own->type->texts->visit(own->state, texts, count_token, own, error);
}

static bool is_special(const liana__lookup *lookup, const token *one)
{
    const liana_bytes *list[] = {lookup->has_mask ? &lookup->mask : NULL, lookup->oov.data ? &lookup->oov : NULL};
    for (int i = 0; i < 2; i++) {
        if (list[i] && list[i]->size == one->size && memcmp(list[i]->data, one->text, one->size) == 0) return true;
    }
    return false;
}

/* The most frequent ones first; of equals the greatest. */
static int compare_tokens(const void *first, const void *second)
{
    const token *a = first, *b = second;
    if (a->count != b->count) return a->count < b->count ? 1 : -1;
    if (a->number != b->number) return a->number < b->number ? 1 : -1;
    const int order = strcmp(a->text, b->text);
    return order < 0 ? 1 : order > 0 ? -1 : 0;
}

/* Takes the tokens out of their places, without the special ones, in their order. */
static size_t order_tokens(liana__adaptation *own)
{
    size_t count = 0;
    for (size_t i = 0; i < own->room; i++) {
        if (own->tokens[i].text && !is_special(own->lookup, &own->tokens[i])) own->tokens[count++] = own->tokens[i];
    }
    if (count) qsort(own->tokens, count, sizeof *own->tokens, compare_tokens);
    const int64_t most = own->lookup->max_tokens - own->lookup->first;
    if (own->lookup->max_tokens && (int64_t)count > most) count = most > 0 ? (size_t)most : 0;
    return count;
}

static liana_status end_vocabulary(liana__adaptation *own, liana__arena *arena, liana__value *options,
                                   liana__error *error)
{
    const size_t count = order_tokens(own);
    liana__value *list = liana__value_list(arena), *weights = liana__value_list(arena);
    if (!count) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           own->num_examples ? "the data have no text for the vocabulary (max_tokens: %lld)"
                                             : "there are no data to find the vocabulary in (max_tokens: %lld)",
                           (long long)own->lookup->max_tokens);
    }
    for (size_t i = 0; i < count && list && weights; i++) {
        const token *one = &own->tokens[i];
        const double weight = log(1 + (double)own->num_examples / (1 + (double)one->documents));
        liana__value_add(arena, list,
                         own->lookup->has_numbers ? liana__value_int(arena, one->number)
                                                  : liana__value_string(arena, one->text));
        liana__value_add(arena, weights, liana__value_float(arena, weight));
    }
    if (list) liana__value_set(arena, options, "vocabulary", list);
    if (weights && own->lookup->wants_weights) liana__value_set(arena, options, "idf_weights", weights);
    return arena->failed ? liana__fail_memory(error, "a vocabulary") : LIANA_OK;
}

/* ---- boundaries ---- */

liana_status liana__adaptation_add_numbers(liana__adaptation *own, liana_dtype dtype, const void *values, int64_t count,
                                           liana__error *error)
{
    for (int64_t i = 0; i < count; i++) {
        const double value = liana__load(values, dtype, i);
        if (!isfinite(value)) {
            return liana__fail(error, LIANA_INVALID_DATA,
                               "value %lld is %s, expected finite numbers; leave the example out, or give it another "
                               "number",
                               (long long)i, isnan(value) ? "NaN" : "an infinity");
        }
        if (!liana__grow(&own->values, own->num_values, &own->values_room, sizeof *own->values)) {
            return liana__fail_memory(error, "the values of bins");
        }
        own->values[own->num_values++] = (float)value;
    }
    own->num_examples++;
    return LIANA_OK;
}

static int compare_floats(const void *first, const void *second)
{
    const float a = *(const float *)first, b = *(const float *)second;
    return (a > b) - (a < b);
}

/* Values in ascending order, each of which stands for `weights` of them. */
typedef struct summary {
    float *values, *weights;
    size_t count;
} summary;

/* y at x, between the points beside it: numpy's interp. */
static double interpolate(double x, const float *xs, const float *ys, size_t count)
{
    size_t above = 0;
    while (above < count && (double)xs[above] <= x) above++;
    if (above == 0) return (double)ys[0];
    if (above == count) return (double)ys[count - 1];
    const double width = (double)xs[above] - (double)xs[above - 1];
    return (double)ys[above - 1] + (x - (double)xs[above - 1]) * ((double)ys[above] - (double)ys[above - 1]) / width;
}

/* So few values that each stands for a share of `epsilon` of the weights. */
static bool compress(summary *given, double epsilon, liana__arena *arena)
{
    if ((double)given->count * epsilon < 1) return true;
    const size_t count = (size_t)ceil(1 / epsilon);
    float *sums = liana__arena_allocate(arena, 2 * given->count * sizeof *sums), *shares = sums + given->count;
    float *values = liana__arena_allocate(arena, 2 * count * sizeof *values), *weights = values + count;
    if (!sums || !values) return false;
    float total = 0;
    for (size_t i = 0; i < given->count; i++) sums[i] = total += given->weights[i];
    for (size_t i = 0; i < given->count; i++) shares[i] = sums[i] / total;
    double before = 0;
    for (size_t i = 0; i < count; i++) {
        const double share = epsilon + (double)i * epsilon;
        const double sum = interpolate(share, shares, sums, given->count);
        values[i] = (float)interpolate(share, shares, given->values, given->count);
        weights[i] = (float)(sum - before);
        before = sum;
    }
    *given = (summary){values, weights, count};
    return true;
}

/* Every n-th value, so that about 1 / epsilon stay. */
static bool summarize(const liana__adaptation *own, double epsilon, liana__arena *arena, summary *made)
{
    const double increment = (double)own->num_values * epsilon, step = increment > 1 ? increment : 1;
    made->values = liana__arena_allocate(arena, 2 * (own->num_values + 1) * sizeof *made->values);
    if (!made->values) return false;
    made->weights = made->values + own->num_values;
    for (size_t i = (size_t)(step - 1); i < own->num_values; i += (size_t)step) {
        made->values[made->count] = own->values[i];
        made->weights[made->count++] = (float)step;
    }
    return compress(made, epsilon, arena);
}

static liana_status end_boundaries(liana__adaptation *own, liana__arena *arena, liana__value *options,
                                   liana__error *error)
{
    const liana_discretization_options *chosen = own->options;
    summary made = {0};
    if (own->num_values < (size_t)chosen->num_bins) {
        return liana__fail(error, LIANA_INVALID_DATA, "%zu values cannot be cut into %lld bins (num_bins)",
                           own->num_values, (long long)chosen->num_bins);
    }
    qsort(own->values, own->num_values, sizeof *own->values, compare_floats);
    if (!summarize(own, chosen->epsilon, &own->arena, &made)) return liana__fail_memory(error, "bins");
    if (made.count < (size_t)chosen->num_bins) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "num_bins: %lld bins need an epsilon of at most %g; found %g, by which %zu values are left",
                           (long long)chosen->num_bins, 1 / (double)chosen->num_bins, chosen->epsilon, made.count);
    }
    if (!compress(&made, 1 / (double)chosen->num_bins, &own->arena)) return liana__fail_memory(error, "bins");
    liana__value *list = liana__value_list(arena);
    for (int64_t i = 0; list && i + 1 < chosen->num_bins; i++) {
        liana__value_add(arena, list, liana__value_float(arena, (double)made.values[i]));
    }
    if (list) liana__value_set(arena, options, "bin_boundaries", list);
    return arena->failed ? liana__fail_memory(error, "bins") : LIANA_OK;
}

liana_status liana__adaptation_end(liana__adaptation *own, liana__arena *arena, liana__value *options,
                                   liana__error *error)
{
    return needs_texts(own) ? end_vocabulary(own, arena, options, error) : end_boundaries(own, arena, options, error);
}
