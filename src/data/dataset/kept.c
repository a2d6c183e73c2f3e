/* Keeps copies of elements, and gives them as a dataset. */
#include "data/dataset/kept.h"

#include <stdlib.h>

liana_status liana__kept_list_add(liana__kept_list *list, const liana_element *element, liana__error *error)
{
    size_t before = list->capacity;
    if (list->count == list->num_items) {
        if (!liana__grow(&list->items, list->num_items, &list->capacity, sizeof *list->items)) {
            return liana__fail_memory(error, "kept elements");
        }
        list->items[list->num_items++] = (liana__kept){0};
    }
    liana__kept *own = &list->items[list->count];
    size_t more = (list->capacity - before) * sizeof *list->items - liana__holder_bytes(&own->store);
    LIANA_TRY(liana__holder_copy(&own->store, element, &own->element, error));
    more += liana__holder_bytes(&own->store);
    list->bytes += more;
    list->count++;
    return list->budget ? liana__budget_keep(list->budget, more, error) : LIANA_OK;
}

static void reverse(liana__kept *items, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        liana__kept swapped = items[i];
        items[i] = items[count - 1 - i];
        items[count - 1 - i] = swapped;
    }
}

/* They move behind the others, where the next ones are put. */
void liana__kept_list_drop(liana__kept_list *list, size_t count)
{
    reverse(list->items, count);
    reverse(list->items + count, list->count - count);
    reverse(list->items, list->count);
    list->count -= count;
}

void liana__kept_list_free(liana__kept_list *list)
{
    for (size_t i = 0; i < list->num_items; i++) liana__holder_free(&list->items[i].store);
    if (list->budget) atomic_fetch_sub(&list->budget->kept, list->bytes);
    free(list->items);
    *list = (liana__kept_list){0};
}

static void close_kept(liana_dataset *dataset)
{
    liana__kept_list_free(dataset->own);
}

static liana_status read_kept(liana__reader *reader, const liana__at *at, liana_element *element, liana__error *error)
{
    (void)error;
    *element = ((const liana__kept_list *)reader->dataset->own)->items[at->index].element;
    return LIANA_OK;
}

/* No program makes one, so it has no row in stages.def. */
static const liana_stage_type kept_stage = {
    LIANA_PART(STAGE, liana_stage_type, "window_elements", "The elements of a window."),
    .close = close_kept,
    .read = read_kept,
};

liana_dataset *liana__dataset_of_kept(liana_context *context, const liana__spec *spec, liana__kept_list *list)
{
    liana_dataset *dataset = liana__dataset_create(context, &kept_stage, NULL, 0, sizeof *list);
    if (!dataset) {
        liana__kept_list_free(list);
        return NULL;
    }
    *(liana__kept_list *)dataset->own = *list;
    *list = (liana__kept_list){.budget = list->budget};
    dataset->spec = *spec;
    dataset->length = (int64_t)((const liana__kept_list *)dataset->own)->count;
    dataset->random_access = true;
    return dataset;
}
