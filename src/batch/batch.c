/* Finds the components of a batch by name. */
#include "batch/batch.h"

#include <string.h>

size_t liana__batch_find(const liana__batch *batch, const char *name)
{
    size_t i = 0;
    while (i < batch->num_components && strcmp(batch->components[i].name, name) != 0) i++;
    return i;
}

const void *liana__batch_rows_of(const liana__batch *batch, const char *name)
{
    if (strcmp(name, "positions") == 0) return batch->positions;
    const size_t place = liana__batch_find(batch, name);
    return place < batch->num_components ? batch->components[place].rows : NULL;
}

void liana__batch_add(liana__batch *batch, const char *name, liana_dtype dtype, const liana_shape *shape,
                      const void *rows)
{
    batch->components[batch->num_components++] =
        (liana__batch_component){.name = name, .dtype = dtype, .shape = *shape, .rows = (void *)(uintptr_t)rows};
}
