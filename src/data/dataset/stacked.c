/* Stacks elements along a new first dimension. */
#include "data/dataset/stacked.h"

#include <string.h>

liana_status liana__stacked_components(const liana__spec *spec, int64_t rows, liana_component *components,
                                       liana__error *error)
{
    for (size_t i = 0; i < spec->count; i++) {
        const liana_component *component = &spec->components[i];
        if (!liana__component_is_static(component) || component->shape.rank == LIANA_MAX_RANK) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT,
                               "the component '%s' is %s, expected a static shape of at most %d dimensions (drop or "
                               "pad the remainder of batches before; liana_dataset_pad and liana_dataset_padded_batch "
                               "take values of any length)",
                               component->name, liana__component_describe(component).text, LIANA_MAX_RANK - 1);
        }
        components[i] = *component;
        components[i].shape = (liana_shape){component->shape.rank + 1, {rows}};
        memcpy(components[i].shape.dims + 1, component->shape.dims, (size_t)component->shape.rank * sizeof(int64_t));
    }
    return LIANA_OK;
}

liana_status liana__stacked_put(liana__holder *store, int64_t row, const liana_element *element, liana__error *error)
{
    if (row == 0) store->element.record = element->record;
    for (size_t i = 0; i < element->spec->count; i++) {
        LIANA_TRY(liana__holder_put(store, i, row * liana__element_count(element, i), element, i, error));
    }
    return LIANA_OK;
}

void liana__stacked_finish(liana__holder *store, int64_t count, liana_element *element)
{
    const liana__spec *spec = store->element.spec;
    for (size_t i = 0; i < spec->count; i++) {
        if (liana__component_rows(&spec->components[i]) == LIANA_UNKNOWN_DIM) store->element.rows[i] = count;
    }
    liana__holder_finish(store, element);
}
