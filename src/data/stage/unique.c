/* Leaves out elements that have come before. */
#include "data/dataset/dataset.h"
#include "data/dataset/packed_element.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* The values of an element as bytes. */
typedef struct seen {
    size_t size;
    unsigned char bytes[];
} seen;

typedef struct unique_cursor {
    void *tree; /* of tsearch */
    size_t bytes;
} unique_cursor;

static int compare(const void *a, const void *b)
{
    const seen *x = a, *y = b;
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    return memcmp(x->bytes, y->bytes, x->size);
}

static void free_cursor(liana__cursor *cursor)
{
    unique_cursor *at = cursor->own;
    tdestroy(at->tree, free);
    atomic_fetch_sub(&cursor->pace.budget->kept, at->bytes);
}

/* The packed element without its record. */
static seen *copy_values(const liana_element *element)
{
    const size_t size = liana__packed_size(element);
    seen *made = malloc(sizeof *made + size);
    if (!made) return NULL;
    made->size = size;
    void *packed = made->bytes;
    liana_element values = *element;
    values.record = 0;
    liana__element_pack(&values, packed);
    return made;
}

static liana_status add(liana__cursor *cursor, const liana_element *element, bool *is_new, liana__error *error)
{
    enum { NODE_SIZE = 48 }; /* of the tree, about */
    unique_cursor *at = cursor->own;
    seen *made = copy_values(element);
    seen *const *found = made ? tsearch(made, &at->tree, compare) : NULL;
    *is_new = found && *found == made;
    if (*is_new) {
        const size_t bytes = sizeof *made + made->size + NODE_SIZE;
        at->bytes += bytes;
        if (liana__budget_keep(cursor->pace.budget, bytes, error) == LIANA_OK) return LIANA_OK;
        return liana__fail_within(error, "%s", cursor->dataset->name);
    }
    free(made);
    return found ? LIANA_OK : liana__fail_memory(error, cursor->dataset->name);
}

static liana_status next(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    for (bool is_new = false; !is_new;) {
        LIANA_TRY(liana__cursor_next(cursor->inputs[0], element, error));
        LIANA_TRY(add(cursor, element, &is_new, error));
    }
    return LIANA_OK;
}

liana_dataset *liana_dataset_unique(liana_dataset *input)
{
    liana_dataset *dataset = liana__dataset_stage(&liana__stage_unique, input, 0);
    if (!dataset) return NULL;
    dataset->length = dataset->length == 0 ? 0 : LIANA_UNKNOWN;
    dataset->random_access = false;
    return liana__dataset_finish(dataset, LIANA_OK);
}

const liana_stage_type liana__stage_unique = {
    LIANA_PART(STAGE, liana_stage_type, "unique", "Leaves out elements that have come before."),
    .next = next,
    .cursor_size = sizeof(unique_cursor),
    .cursor_free = free_cursor,
};
