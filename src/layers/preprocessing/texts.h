/* texts.h - layers that the host computes of texts, when a batch is made: the device never sees a text.
 *
 * Such a layer reads an InputLayer of dtype string. Its result is the tensor that the model's input stands for in
 * graphs. */
#ifndef LIANA_LAYERS_TEXTS_H
#define LIANA_LAYERS_TEXTS_H

#include "base/error.h"
#include "base/memory.h"

#include <liana/layers/preprocessing.h>

/* The texts of one example. Of several inputs, all of this shape, those of the first come first. */
typedef struct liana__text_inputs {
    liana_shape shape;                        /* of an input, without the batch */
    size_t count;                             /* of the inputs */
    bool has_numbers[LIANA_MAX_LAYER_INPUTS]; /* the input is one of whole numbers, not of texts */
} liana__text_inputs;

/* The result of a layer for one example. */
typedef struct liana__text_result {
    liana_shape shape;    /* without the batch */
    liana_dtype dtype;    /* LIANA_S32 or LIANA_F32 */
    const void *state;    /* of `run`, in the arena */
    uint64_t fingerprint; /* of all that `run` depends on */
} liana__text_result;

typedef liana_status liana__token_visitor(void *user, liana_bytes token, liana__error *error);

typedef struct liana__text_layer {
    /* Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
    liana_status (*make)(const void *options, const liana__text_inputs *inputs, liana__arena *arena,
                         liana__text_result *result, liana__error *error);
    /* Writes the row of an example. On any thread. Errors: INVALID_DATA with the text. */
    liana_status (*run)(const void *state, const liana_bytes *texts, void *row, liana__error *error);
    /* Its vocabulary (lookup.h). NULL: it has none. */
    const struct liana__lookup *(*lookup)(const void *state);
    /* Visits the tokens of an example, for a vocabulary to be found. NULL: it needs none. */
    liana_status (*visit)(const void *state, const liana_bytes *texts, liana__token_visitor *visitor, void *user,
                          liana__error *error);
} liana__text_layer;

/* ---- vocabularies ---- */

/* The numbers of texts. */
typedef struct liana__vocabulary {
    const liana_bytes *texts; /* sorted by their bytes */
    const int32_t *numbers;   /* of each of these */
    size_t count;
} liana__vocabulary;

/* Text i of a list gets the number first + i. Errors: INVALID_ARGUMENT (a text that is there twice: which),
 * OUT_OF_MEMORY. */
liana_status liana__vocabulary_make(const liana_strings *list, int64_t first, liana__arena *arena,
                                    liana__vocabulary *vocabulary, liana__error *error) LIANA_MUST_USE;
/* -1: it does not have the text. */
int64_t liana__vocabulary_find(const liana__vocabulary *vocabulary, liana_bytes text);

/* The number that a text is. Errors: INVALID_DATA. */
liana_status liana__whole_number_of(const liana_bytes *text, int64_t *number, liana__error *error) LIANA_MUST_USE;

/* ---- numbers as rows ---- */

/* Of liana_output_mode. */
extern const char *const liana__output_mode_names[];

/* The result's shape for numbers of a shape: [] to [depth], [.., n] to [.., depth]; one_hot: [.., n, depth], where a
 * last axis of 1 is left out. */
liana_status liana__output_shape(liana_output_mode mode, const liana_shape *numbers, int64_t depth, liana_shape *result,
                                 liana__error *error) LIANA_MUST_USE;

/* A row that gets numbers one by one. */
typedef struct liana__output_row {
    liana_output_mode mode;
    int64_t depth;
    int64_t group;        /* so many numbers share a row of `depth` */
    const float *weights; /* [depth], of tf_idf */
} liana__output_row;

/* Puts number `index` of an example into its row, which began as zeros. A number outside of [0, depth) counts as
 * none. */
void liana__output_put(const liana__output_row *how, int64_t index, int64_t number, void *row);

#endif
