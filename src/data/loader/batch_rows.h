/* batch_rows.h - the rows of a batch's components: how large they are, and where the values come from. */
#ifndef LIANA_DATA_BATCH_ROWS_H
#define LIANA_DATA_BATCH_ROWS_H

#include "data/loader/options.h"

/* The wanted components, as a source has them. */
typedef struct liana__batch_rows {
    size_t count;
    liana__wanted_component components[LIANA_MAX_COMPONENTS];
    size_t sizes[LIANA_MAX_COMPONENTS];       /* bytes of one example */
    int origins[LIANA_MAX_COMPONENTS];        /* MAKE_VALUES: the source's component, or LIANA__FROM_LABEL */
    liana_dtype dtypes[LIANA_MAX_COMPONENTS]; /* ... and its dtype there */
    /* Of rows that are made of texts of several components: these. */
    int text_origins[LIANA_MAX_COMPONENTS][LIANA_MAX_LAYER_INPUTS];
    liana_dtype text_dtypes[LIANA_MAX_COMPONENTS][LIANA_MAX_LAYER_INPUTS];
    const char *columns[LIANA_MAX_COMPONENTS]; /* the only column that it is made of; NULL: none, or several */
    int image;                                 /* index of that component; -1: none */
    int label;
    size_t example_size; /* bytes of one example in all components */
    size_t values_size;  /* of that, bytes of MAKE_VALUES */
} liana__batch_rows;

enum { LIANA__FROM_LABEL = -1 };

/* Finds the components that the options want in the source. Errors: INVALID_ARGUMENT (a component is missing, or has
 * another shape; names both, and the existing components). */
liana_status liana__batch_rows_find(const liana__source *source, const liana__loader_options *options,
                                    liana__batch_rows *rows, liana__error *error) LIANA_MUST_USE;

/* Writes the MAKE_VALUES rows of example i from a record. Errors, without the record's address: OUT_OF_RANGE (a value
 * does not fit), INVALID_DATA (no label). */
liana_status liana__batch_rows_put(const liana__batch_rows *rows, const liana_source_record *record,
                                   int64_t label_offset, liana__batch *batch, int64_t i, liana__error *error)
    LIANA_MUST_USE;

/* Copies the MAKE_VALUES rows of example i to values[values_size], and back. */
void liana__batch_rows_pack(const liana__batch_rows *rows, const liana__batch *batch, int64_t i, uint8_t *values);
void liana__batch_rows_unpack(const liana__batch_rows *rows, const uint8_t *values, liana__batch *batch, int64_t i);

/* All that the values of MAKE_VALUES depend on, without the record, as a text for fingerprints; `text` grows. */
void liana__batch_rows_describe(const liana__batch_rows *rows, int64_t label_offset, liana__text *text);

#endif
