/* kept.h - copies of elements that a stage keeps until it needs them. */
#ifndef LIANA_DATA_KEPT_H
#define LIANA_DATA_KEPT_H

#include "data/dataset/dataset.h"

typedef struct liana__kept {
    liana__holder store;
    liana_element element;
} liana__kept;

/* Zero-initialise; free with liana__kept_list_free. The memory of elements that were taken off is used again. */
typedef struct liana__kept_list {
    liana__kept *items;
    size_t count;
    size_t num_items; /* whose stores have memory */
    size_t capacity;
    size_t bytes;
    liana__budget *budget; /* counts the bytes; NULL: nothing does */
} liana__kept_list;

/* Adds a copy of an element at the end. Errors: OUT_OF_MEMORY, OUT_OF_RANGE (above the budget). */
liana_status liana__kept_list_add(liana__kept_list *list, const liana_element *element, liana__error *error)
    LIANA_MUST_USE;
/* Takes off the first `count` elements. */
void liana__kept_list_drop(liana__kept_list *list, size_t count);
void liana__kept_list_free(liana__kept_list *list);

/* A dataset of kept elements, in the given context: takes the list, also on failure (NULL, with a message in the
 * context). Elements of `spec`, which must live as long as the dataset. */
liana_dataset *liana__dataset_of_kept(liana_context *context, const liana__spec *spec, liana__kept_list *list);

#endif
