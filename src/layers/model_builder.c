/* liana_model_add_at: from the C structs of the builders to the maps that everything else reads. */
#include "layers/model.h"

#include <string.h>

/* How every options struct begins; layers that join several have an array where the others have one input. */
typedef struct common_prefix {
    LIANA_MERGE_OPTIONS;
} common_prefix;

_Static_assert(offsetof(liana_dense_options, input) == offsetof(common_prefix, inputs), "one prefix for all options");
_Static_assert(sizeof(liana_ints) == sizeof(liana__ints), "the public list of whole numbers is the internal one");
_Static_assert(offsetof(liana_ints, values) == offsetof(liana__ints, values), "with the same members");
_Static_assert(sizeof(liana_padding) == sizeof(int), "tables of fields keep an enum as an int");

/* A pair whose second number was not given takes the first one for both. Refuses what no table can read: an enum
 * outside its names, a list with more numbers than it can hold. */
static liana_status complete_member(const liana__field *field, void *member, liana__error *error)
{
    if (field->kind == LIANA__FIELD_INT_PAIR) {
        int64_t *pair = member;
        if (pair[1] == 0) pair[1] = pair[0];
    } else if (field->kind == LIANA__FIELD_ENUM) {
        int count = 0, index = *(int *)member;
        while (field->names[count]) count++;
        if (index < 0 || index >= count) {
            return liana__fail(error, LIANA_INVALID_CONFIG, "%s: found the number %d, expected one from 0 to %d",
                               field->name, index, count - 1);
        }
    } else if (field->kind == LIANA__FIELD_INTS) {
        int64_t count = ((liana__ints *)member)->count;
        if (count < 0 || count > LIANA__MAX_INTS) {
            return liana__fail(error, LIANA_INVALID_CONFIG, "%s: found %lld numbers, expected at most %d", field->name,
                               (long long)count, LIANA__MAX_INTS);
        }
    }
    return LIANA_OK;
}

liana_status liana__options_to_map(const liana__fields *fields, const void *options, liana__arena *arena,
                                   const liana__value **map, liana__error *error)
{
    char *copy = liana__arena_copy(arena, options, fields->size);
    if (!copy) return liana__fail_memory(error, "options");
    for (size_t i = 0; i < fields->count; i++) {
        LIANA_TRY(complete_member(&fields->items[i], copy + fields->items[i].offset, error));
    }
    *map = liana__fields_write(fields, arena, copy);
    return *map && !arena->failed ? LIANA_OK : liana__fail_memory(error, "options");
}

/* The layers given as inputs, up to the first that was not given. */
static liana_status read_inputs(const liana_model *model, const liana_layer *layers, size_t limit, size_t *indices,
                                size_t *count, liana__error *error)
{
    for (*count = 0; *count < limit && layers[*count].model; ++*count) {
        const liana_layer *layer = &layers[*count];
        if (layer->model != model || layer->id == 0 || layer->id > model->num_layers) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT, "input %zu is not a layer of this model", *count);
        }
        indices[*count] = layer->id - 1;
    }
    return LIANA_OK;
}

static liana_layer add_from_struct(liana_location here, liana_model *model, const liana__layer_type *type,
                                   const void *options, liana__arena *arena)
{
    const common_prefix *prefix = options;
    size_t indices[LIANA_MAX_LAYER_INPUTS];
    liana__layer_request request = {.here = here, .type = type, .name = prefix->name, .frozen = !prefix->trainable};
    liana__error error = {0};
    liana_status status = liana__options_to_map(type->options, options, arena, &request.options, &error);
    if (status == LIANA_OK && type->max_inputs > 0) {
        status = read_inputs(model, prefix->inputs, type->max_inputs, indices, &request.num_inputs, &error);
    }
    if (status != LIANA_OK) return liana__model_fail(model, here, status, "%s: %s", type->name, error.message);
    if (request.num_inputs) request.inputs = indices;
    return liana__model_add(model, &request);
}

liana_layer liana_model_add_at(liana_location here, liana_model *model, const char *layer_class, const void *options)
{
    if (!model || model->error.status != LIANA_OK) return (liana_layer){model, 0};
    const char *nearest = NULL;
    const liana__layer_type *type = liana__layer_find(layer_class, &nearest);
    if (!type) {
        return liana__model_fail(model, here, LIANA_NOT_FOUND, "there is no layer class '%.60s'%s", layer_class,
                                 liana__hint(nearest).text);
    }
    liana__arena arena = {0};
    liana_layer layer = add_from_struct(here, model, type, options, &arena);
    liana__arena_free(&arena);
    return layer;
}
