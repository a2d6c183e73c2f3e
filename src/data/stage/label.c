/* The stages enumerate and rename: adding a component, and renaming one. */
#include "data/dataset/dataset.h"

#include "base/named.h"

typedef struct counter {
    int64_t start;
} counter;

static liana_status enumerate(liana__reader *reader, const liana__at *at, const liana_element *input,
                              liana_element *element, liana__error *error)
{
    (void)error;
    int64_t *number = reader->own;
    *number = ((const counter *)reader->dataset->own)->start + (int64_t)at->index;
    *element = (liana_element){.spec = &reader->dataset->spec, .record = input->record, .data = {number}, .rows = {1}};
    for (size_t i = 0; i < input->spec->count; i++) {
        liana__element_borrow(element, i + 1, input, i);
    }
    return LIANA_OK;
}

static liana_status rename_component(liana__reader *reader, const liana__at *at, const liana_element *input,
                                     liana_element *element, liana__error *error)
{
    (void)reader;
    (void)at;
    (void)error;
    *element = *input;
    return LIANA_OK;
}

liana_dataset *liana_dataset_enumerate(liana_dataset *input, int64_t start)
{
    liana_dataset *dataset = liana__dataset_stage(&liana__stage_enumerate, input, sizeof(counter));
    if (!dataset) return NULL;
    *(counter *)dataset->own = (counter){start};
    liana_component made[LIANA_MAX_COMPONENTS + 1] = {{.name = "index", .dtype = LIANA_S64}};
    for (size_t i = 0; i < input->spec.count; i++) made[i + 1] = input->spec.components[i];
    return liana__dataset_finish(dataset, liana__spec_make(&dataset->arena, made, input->spec.count + 1, &dataset->spec,
                                                           &dataset->context->error));
}

liana_dataset *liana_dataset_rename(liana_dataset *input, const char *from, const char *to)
{
    if (!LIANA__STAGE_REQUIRE(input, from)) return NULL;
    if (!LIANA__STAGE_REQUIRE(input, to)) return NULL;
    liana_dataset *dataset = liana__dataset_stage(&liana__stage_rename, input, 0);
    if (!dataset) return NULL;
    liana__error *error = &dataset->context->error;
    liana__spec made = dataset->spec;
    int index = liana__spec_find(&made, from);
    liana_status status = LIANA_OK;
    if (index < 0) {
        const char *nearest = liana__named_nearest(LIANA__NAMED(liana_component, made.components, made.count), from);
        status = liana__fail(error, LIANA_INVALID_ARGUMENT, "there is no component '%.100s'%s", from,
                             liana__hint(nearest).text);
    } else {
        made.components[index].name = to;
        status = liana__spec_make(&dataset->arena, made.components, made.count, &dataset->spec, error);
    }
    return liana__dataset_finish(dataset, status);
}

const liana_stage_type liana__stage_enumerate = {
    LIANA_PART(STAGE, liana_stage_type, "enumerate", "Adds the number of each element as a component."),
    .options_size = sizeof(counter),
    .apply = enumerate,
    .reader_size = sizeof(int64_t),
};

const liana_stage_type liana__stage_rename = {
    LIANA_PART(STAGE, liana_stage_type, "rename", "Renames a component."),
    .apply = rename_component,
};
