/* padding.h - values of different lengths in one shape. */
#ifndef LIANA_DATA_PADDING_H
#define LIANA_DATA_PADDING_H

#include "data/dataset/dataset.h"

/* How one component is padded. */
typedef struct liana__padding {
    int64_t rows;     /* the first dimension to pad to; LIANA_UNKNOWN_DIM: not said */
    int64_t width;    /* the second one */
    uint64_t value;   /* the bytes of a filling number */
    const char *text; /* a filling string, in the arena */
    const char *lengths;
    const char *mask;
} liana__padding;

/* The paddings of all components of a spec: paddings[spec->count]. A dimension that the spec knows is itself where
 * nothing else is said. Strings are copied into the arena. Errors: INVALID_ARGUMENT (no such component, a component
 * twice, another rank, a length below the known one, a value that the dtype cannot hold). */
liana_status liana__paddings_read(const liana_component_padding *paddings, size_t num_paddings, const liana__spec *spec,
                                  liana__arena *arena, liana__padding *made, liana__error *error) LIANA_MUST_USE;

/* Copies component `from` of an element into `rows` x `width` values of component `to` of the store, which begin at
 * block `block` of this size, and fills up the rest. Longer values are cut. Errors: OUT_OF_MEMORY. */
liana_status liana__padding_put(const liana__padding *padding, liana__holder *store, size_t to, int64_t block,
                                int64_t rows, int64_t width, const liana_element *element, size_t from,
                                liana__error *error) LIANA_MUST_USE;

#endif
