/* adaptation.h - options of a layer that are found in data, as Keras's adapt() finds them: vocabularies with the
 * weights of tf_idf, and the boundaries of bins. */
#ifndef LIANA_LAYERS_ADAPTATION_H
#define LIANA_LAYERS_ADAPTATION_H

#include "base/value.h"
#include "layers/preprocessing/texts.h"

#include <liana/parts.h>

/* How the options of one layer are found. */
typedef struct liana__adaptation {
    liana__arena arena;
    const liana_layer_type *type;
    const void *options;
    /* Of layers of texts: */
    const void *state;
    const struct liana__lookup *lookup; /* NULL: the layer's boundaries are found */
    struct liana__token *tokens;        /* [room], by their hashes */
    size_t num_tokens, room;
    uint64_t num_examples;
    /* Of a Discretization: */
    float *values;
    size_t num_values, values_room;
} liana__adaptation;

/* `inputs`: of a layer of texts. `options` must outlive it. Errors: INVALID_ARGUMENT (nothing is to be found). */
liana_status liana__adaptation_begin(const liana_layer_type *type, const void *options,
                                     const liana__text_inputs *inputs, liana__adaptation *adaptation,
                                     liana__error *error) LIANA_MUST_USE;
void liana__adaptation_free(liana__adaptation *adaptation);

/* Adds an example: texts, or numbers, as the layer takes them. Errors: INVALID_DATA (a number that is not finite, or
 * not whole), OUT_OF_MEMORY. */
liana_status liana__adaptation_add_texts(liana__adaptation *adaptation, const liana_bytes *texts, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__adaptation_add_numbers(liana__adaptation *adaptation, liana_dtype dtype, const void *values,
                                           int64_t count, liana__error *error) LIANA_MUST_USE;

/* Sets the options that were found. Errors: INVALID_DATA (there are too few values), OUT_OF_MEMORY. */
liana_status liana__adaptation_end(liana__adaptation *adaptation, liana__arena *arena, liana__value *options,
                                   liana__error *error) LIANA_MUST_USE;

#endif
