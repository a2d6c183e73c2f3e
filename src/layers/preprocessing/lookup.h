/* lookup.h - the common code of StringLookup, IntegerLookup and TextVectorization: the number of a text by a
 * vocabulary. */
#ifndef LIANA_LAYERS_LOOKUP_H
#define LIANA_LAYERS_LOOKUP_H

#include "base/value.h"
#include "layers/preprocessing/texts.h"

#include <liana/parts.h>

/* The options that they have, with Keras's names. */
typedef struct liana__lookup_options {
    int64_t max_tokens;      /* 0: any number */
    int64_t num_oov_indices; /* for texts that the vocabulary does not have; 0: such a text is an error */
    const char *mask_token;  /* NULL: none */
    const char *oov_token;
    liana_strings vocabulary;
    const liana__value *idf_weights;
    liana_output_mode output_mode;
    bool pad_to_max_tokens;
    liana_ints salt;
    bool has_numbers; /* tokens are whole numbers as decimal texts; unknown ones are told apart as oov_method says */
    liana_oov_method oov_method;
} liana__lookup_options;

typedef struct liana__lookup {
    liana__vocabulary vocabulary;
    bool has_mask;
    liana_bytes mask;
    int64_t mask_number; /* -1: counts as none */
    int64_t first_oov, num_oov;
    bool by_remainder; /* unknown whole numbers are told apart by their remainders */
    bool is_salted;
    uint64_t salt[2];
    int64_t depth; /* how many numbers there are; of rows their length */
    const float *weights;
    uint64_t fingerprint;
    /* For a vocabulary that is found in data. */
    liana_bytes oov;
    int64_t first, max_tokens; /* the number of its first text; 0: any number of them */
    bool has_numbers, wants_weights;
} liana__lookup;

/* Errors: INVALID_ARGUMENT with the option. */
liana_status liana__lookup_make(const liana__lookup_options *options, liana__arena *arena, liana__lookup *lookup,
                                liana__error *error) LIANA_MUST_USE;

/* Errors: INVALID_ARGUMENT for a vocabulary that is no list. */
liana_status liana__lookup_check(liana_check *check) LIANA_MUST_USE;

/* Errors: INVALID_DATA for a text that has no number. */
liana_status liana__lookup_find(const liana__lookup *lookup, liana_bytes text, int64_t *number, liana__error *error)
    LIANA_MUST_USE;

/* ---- a layer that gives the number of each text ---- */

typedef struct liana__lookup_layer {
    liana__lookup lookup;
    liana__output_row row;
    int64_t count; /* texts of an example */
} liana__lookup_layer;

liana_status liana__lookup_layer_make(const liana__lookup_options *options, const liana_shape *texts,
                                      liana__arena *arena, liana__lookup_layer *made, liana__text_result *result,
                                      liana__error *error) LIANA_MUST_USE;
const liana__lookup *liana__lookup_layer_lookup(const void *layer);
/* The texts themselves are the tokens. */
liana_status liana__lookup_layer_visit(const void *layer, const liana_bytes *texts, liana__token_visitor *visitor,
                                       void *user, liana__error *error) LIANA_MUST_USE;
liana_status liana__lookup_layer_run(const void *layer, const liana_bytes *texts, void *row, liana__error *error)
    LIANA_MUST_USE;

#endif
