/* TextVectorization: cuts each text into tokens, and gives their numbers by a vocabulary. The host computes it. */
#include "layers/option_rows.h"
#include "layers/preprocessing/lookup.h"

#include "base/text_hash.h"
#include "base/utf8.h"

#include <liana/layers/preprocessing.h>
#include <stdlib.h>
#include <string.h>

static const char *const standardize_names[] = {"lower_and_strip_punctuation", "lower", "strip_punctuation", "none",
                                                NULL};
enum { LOWER_AND_STRIP, LOWER, STRIP, AS_IT_IS };
static const char *const split_names[] = {"whitespace", "character", "none", NULL};
enum { BY_WHITESPACE, BY_CHARACTER, WHOLE };

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_text_vectorization_options, max_tokens, INT, .minimum = 0, .maximum = INT32_MAX,
                     .doc = "the most numbers, those of padding and of unknown tokens among them; default: any number"),
    LIANA_OPTION_ROW(liana_text_vectorization_options, standardize, ENUM, .names = standardize_names,
                     .doc = "what is changed first: ASCII letters to lower case, punctuation removed, both or none"),
    LIANA_OPTION_ROW(liana_text_vectorization_options, split, ENUM, .names = split_names,
                     .doc = "where a text is cut: at blanks, between characters, or nowhere"),
    LIANA_OPTION_ROW(liana_text_vectorization_options, ngrams, INTS, .minimum = 1, .maximum = LIANA_MAX_INTS,
                     .doc = "tokens in a row that count as one: 2: single ones and pairs; [2, 3]: pairs and threes; "
                            "[2, 2]: pairs alone"),
    LIANA_OPTION_ROW(liana_text_vectorization_options, output_mode, ENUM, .default_text = "int",
                     .names = liana__output_mode_names,
                     .doc = "int: numbers; multi_hot, count, tf_idf: a row as long as the vocabulary"),
    LIANA_OPTION_ROW(liana_text_vectorization_options, output_sequence_length, INT, .minimum = 0, .maximum = INT32_MAX,
                     .doc = "of int: how many numbers an example has; texts are cut or padded with 0"),
    LIANA_OPTION_ROW(liana_text_vectorization_options, pad_to_max_tokens, BOOL, .default_text = "false",
                     .doc = "whether rows have max_tokens numbers"),
    LIANA_OPTION_ROW(liana_text_vectorization_options, vocabulary, STRINGS,
                     .doc = "the tokens, in the order of their numbers; default: those of the data"),
    LIANA_OPTION_ROW(liana_text_vectorization_options, idf_weights, VALUE,
                     .doc = "of tf_idf: the weight of each token"),
};

typedef struct state {
    const liana_text_vectorization_options *options;
    int64_t widths[LIANA_MAX_INTS]; /* of ngrams */
    int64_t num_widths;
    liana__lookup lookup;
    liana__output_row row;
    int64_t length;   /* of numbers */
    size_t num_texts; /* of an example */
} state;

static liana_status fail_option(const char *option, const char *what, liana__error *error)
{
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: %s", option, what);
}

/* One number is that one and all smaller ones, as in Keras. A list has each width once. */
static void find_widths(const liana_ints *ngrams, state *made)
{
    const bool is_most = ngrams->count == 1;
    const int64_t count = is_most ? ngrams->values[0] : ngrams->count;
    made->num_widths = 0;
    for (int64_t i = 0; i < count && made->num_widths < LIANA_MAX_INTS; i++) {
        const int64_t width = is_most ? i + 1 : ngrams->values[i];
        int64_t k = 0;
        while (k < made->num_widths && made->widths[k] != width) k++;
        if (k == made->num_widths) made->widths[made->num_widths++] = width;
    }
    if (!made->num_widths) made->widths[made->num_widths++] = 1;
}

/* A text is an example, [] or [1]; without a split each of [n] texts is a token. */
static liana_status check_texts(const liana_text_vectorization_options *own, const liana_shape *texts,
                                liana__error *error)
{
    const int64_t count = liana_shape_size(texts);
    if (texts->rank > 1 || (own->split != WHOLE && count != 1)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "found %lld texts for each example, expected one, [batch] or [batch, 1] (several, "
                           "[batch, texts], with split: none)",
                           (long long)count);
    }
    if (own->output_mode == LIANA_OUTPUT_ONE_HOT) {
        return fail_option("output_mode", "one_hot has a row for each of any number of tokens; use multi_hot or count",
                           error);
    }
    if (own->output_mode != LIANA_OUTPUT_INT && own->output_sequence_length) {
        return fail_option("output_sequence_length", "it belongs to output_mode int", error);
    }
    if (own->output_mode == LIANA_OUTPUT_INT && !own->output_sequence_length && own->split != WHOLE) {
        return fail_option("output_sequence_length", "give one: shapes are fixed, and texts have any number of tokens",
                           error);
    }
    return LIANA_OK;
}

static liana_status make(const void *chosen, const liana__text_inputs *inputs, liana__arena *arena,
                         liana__text_result *result, liana__error *error)
{
    const liana_shape *texts = &inputs->shape;
    const liana_text_vectorization_options *own = chosen;
    const liana_output_mode mode = own->output_mode;
    const liana__lookup_options options = {.max_tokens = own->max_tokens,
                                           .num_oov_indices = 1,
                                           .mask_token = "",
                                           .oov_token = "[UNK]",
                                           .vocabulary = own->vocabulary,
                                           .idf_weights = own->idf_weights,
                                           .output_mode = mode,
                                           .pad_to_max_tokens = own->pad_to_max_tokens};
    LIANA_TRY(check_texts(own, texts, error));
    state *made = liana__arena_allocate(arena, sizeof *made);
    if (!made) return liana__fail_memory(error, "a vocabulary");
    *made = (state){.options = own, .num_texts = (size_t)liana_shape_size(texts)};
    find_widths(&own->ngrams, made);
    LIANA_TRY(liana__lookup_make(&options, arena, &made->lookup, error));
    const bool is_int = mode == LIANA_OUTPUT_INT;
    made->length = own->output_sequence_length ? own->output_sequence_length : liana_shape_size(texts);
    result->shape = liana_shape_of(is_int ? made->length : made->lookup.depth);
    made->row = (liana__output_row){mode, made->lookup.depth, INT64_MAX, made->lookup.weights};
    result->dtype = is_int ? LIANA_S32 : LIANA_F32;
    result->state = made;
    const uint64_t words[] = {made->lookup.fingerprint, (uint64_t)own->standardize, (uint64_t)own->split,
                              liana__farm_hash(made->widths, (size_t)made->num_widths * sizeof *made->widths),
                              (uint64_t)made->length};
    result->fingerprint = liana__farm_hash(words, sizeof words);
    return LIANA_OK;
}

/* ---- tokens ---- */

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_punctuation(char c)
{
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

/* TensorFlow changes single bytes: letters beyond ASCII stay. */
static size_t standardize(int how, const liana_bytes *text, char *out)
{
    const char *from = text->data;
    size_t size = 0;
    for (size_t i = 0; i < text->size; i++) {
        char c = from[i];
        if ((how == LOWER_AND_STRIP || how == STRIP) && is_punctuation(c)) continue;
        if (how <= LOWER && c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
        out[size++] = c;
    }
    return size;
}

/* The next token, from *place on; false: there is none. */
static bool next_token(int split, const char *text, size_t size, size_t *place, liana_bytes *token)
{
    static const char replacement[] = "\xef\xbf\xbd";
    size_t begin = *place, end;
    uint32_t code;
    while (split == BY_WHITESPACE && begin < size && is_blank(text[begin])) begin++;
    if (begin >= size) return false;
    if (split == BY_CHARACTER) {
        const size_t length = liana__utf8_character(text + begin, size - begin, &code);
        *token = length ? (liana_bytes){text + begin, length} : (liana_bytes){replacement, 3};
        *place = begin + (length ? length : 1);
        return true;
    }
    for (end = begin; end < size && !is_blank(text[end]);) end++;
    *token = (liana_bytes){text + begin, end - begin};
    *place = end;
    return true;
}

/* The tokens of an example, and room to join some of them. */
typedef struct tokens {
    char *text;   /* standardised */
    char *joined; /* tokens in a row */
    liana_bytes *items;
    size_t count;
} tokens;

static void tokens_free(tokens *own)
{
    free(own->text);
    free(own->joined);
    free(own->items);
}

static liana_status cut(const state *own, const liana_bytes *texts, size_t count, tokens *made, liana__error *error)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++) size += texts[i].size;
    made->text = malloc(size + 1);
    made->items = malloc((size + count + 1) * sizeof *made->items);
    made->joined = malloc(4 * size + count + 1);
    if (!made->text || !made->items || !made->joined) return liana__fail_memory(error, "a text");
    char *place = made->text;
    for (size_t i = 0; i < count; i++) {
        const size_t length = standardize(own->options->standardize, &texts[i], place);
        size_t at = 0;
        if (own->options->split == WHOLE) made->items[made->count++] = (liana_bytes){place, length};
        while (own->options->split != WHOLE &&
               next_token(own->options->split, place, length, &at, &made->items[made->count]))
            made->count++;
        place += length;
    }
    return LIANA_OK;
}

/* Tokens [first, first + width) as one, with blanks between them. */
static liana_bytes join(const tokens *own, size_t first, size_t width)
{
    size_t size = 0;
    if (width == 1) return own->items[first];
    for (size_t i = first; i < first + width; i++) {
        if (i > first) own->joined[size++] = ' ';
        if (own->items[i].size) memcpy(own->joined + size, own->items[i].data, own->items[i].size);
        size += own->items[i].size;
    }
    return (liana_bytes){own->joined, size};
}

static liana_status put_all(const state *own, const tokens *given, void *row, liana__error *error)
{
    int64_t index = 0;
    const bool is_int = own->row.mode == LIANA_OUTPUT_INT;
    for (int64_t k = 0; k < own->num_widths; k++) {
        const size_t width = (size_t)own->widths[k];
        for (size_t i = 0; i + width <= given->count && (!is_int || index < own->length); i++) {
            int64_t number;
            LIANA_TRY(liana__lookup_find(&own->lookup, join(given, i, width), &number, error));
            liana__output_put(&own->row, index++, number, row);
        }
    }
    return LIANA_OK;
}

/* Rows begin as zeros. */
static liana_status run(const void *given, const liana_bytes *texts, void *row, liana__error *error)
{
    const state *own = given;
    tokens made = {0};
    liana_status status = cut(own, texts, own->num_texts, &made, error);
    if (status == LIANA_OK) status = put_all(own, &made, row, error);
    tokens_free(&made);
    return status;
}

static const liana__lookup *lookup_of(const void *given)
{
    return &((const state *)given)->lookup;
}

static liana_status visit(const void *given, const liana_bytes *texts, liana__token_visitor *visitor, void *user,
                          liana__error *error)
{
    const state *own = given;
    tokens made = {0};
    liana_status status = cut(own, texts, own->num_texts, &made, error);
    for (int64_t k = 0; k < own->num_widths; k++) {
        const size_t width = (size_t)own->widths[k];
        for (size_t i = 0; i + width <= made.count && status == LIANA_OK; i++) {
            status = visitor(user, join(&made, i, width), error);
        }
    }
    tokens_free(&made);
    return status;
}

static const char *to_adapt(const void *chosen)
{
    return ((const liana_text_vectorization_options *)chosen)->vocabulary.count ? NULL : "vocabulary";
}

static const liana__text_layer text_layer = {.make = make, .run = run, .lookup = lookup_of, .visit = visit};

/* ---- Keras's files ---- */

/* Keras writes null for none, and [2] for pairs alone. */
static void from_keras(liana__arena *arena, const liana__value *config, liana__value *options)
{
    static const char *const choices[] = {"standardize", "split"};
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        const liana__value *choice = liana__value_get(config, choices[i]);
        if (choice && choice->kind == LIANA__VALUE_NULL) {
            liana__value_set(arena, options, choices[i], liana__value_string(arena, "none"));
        }
    }
    const liana__value *ngrams = liana__value_get(config, "ngrams");
    if (!ngrams || ngrams->kind != LIANA__VALUE_LIST || ngrams->count != 1) return;
    liana__value *list = liana__value_list(arena);
    if (!list) return;
    for (int i = 0; i < 2; i++) liana__value_add(arena, list, ngrams->items[0]);
    liana__value_set(arena, options, "ngrams", list);
}

static void set_null(liana__arena *arena, liana__value *config, const char *key, bool is_none)
{
    if (is_none) liana__value_set(arena, config, key, liana__value_null(arena));
}

static void to_keras(liana__arena *arena, const void *chosen, liana__value *config)
{
    const liana_text_vectorization_options *own = chosen;
    const liana_ints *ngrams = &own->ngrams;
    set_null(arena, config, "standardize", own->standardize == AS_IT_IS);
    set_null(arena, config, "split", own->split == WHOLE);
    set_null(arena, config, "max_tokens", own->max_tokens == 0);
    set_null(arena, config, "output_sequence_length", own->output_sequence_length == 0);
    set_null(arena, config, "ngrams", ngrams->count == 0);
    if (ngrams->count == 1) liana__value_set(arena, config, "ngrams", liana__value_int(arena, ngrams->values[0]));
    if (ngrams->count == 2 && ngrams->values[0] == ngrams->values[1]) {
        liana__value *list = liana__value_list(arena);
        if (list) liana__value_add(arena, list, liana__value_int(arena, ngrams->values[0]));
        if (list) liana__value_set(arena, config, "ngrams", list);
    }
    liana__value_set(arena, config, "sparse", liana__value_bool(arena, false));
    liana__value_set(arena, config, "ragged", liana__value_bool(arena, false));
    liana__value_set(arena, config, "encoding", liana__value_string(arena, "utf-8"));
}

const liana_layer_type liana__layer_text_vectorization = {
    LIANA_PART(LAYER, liana_layer_type, "TextVectorization", "the numbers of a text's tokens by a vocabulary",
               LIANA_PART_OPTIONS(liana_text_vectorization_options, rows), .check = liana__lookup_check),
    LIANA__INPUTS(1, 1),
    .to_adapt = to_adapt,
    .texts = &text_layer,
    .from_keras = from_keras,
    .to_keras = to_keras,
};
