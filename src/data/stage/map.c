/* A function of the program's own makes an element of each. */
#include "data/dataset/dataset.h"

typedef struct map {
    liana_map_function function;
    void *user;
    bool declares; /* components of its own */
} map;

static liana_status apply(liana__reader *reader, const liana__at *at, const liana_element *input,
                          liana_element *element, liana__error *error)
{
    const map *own = reader->dataset->own;
    liana__holder *store = &reader->store;
    liana_example_address address = liana__example_address(at, input);
    LIANA_TRY(liana__holder_begin(store, &reader->dataset->spec, 0, error));
    if (own->declares) {
        liana__holder_clear(store);
    } else {
        for (size_t i = 0; i < input->spec->count; i++) LIANA_TRY(liana__holder_take(store, i, input, i, error));
    }
    store->element.record = input->record;
    liana_status status = own->function(own->user, &address, input, &store->element);
    if (status != LIANA_OK) return liana__fail_function(error, status, at, input->record, store->message);
    liana__holder_finish(store, element);
    return LIANA_OK;
}

/* A function says how long the first dimension is (liana_element_set_rows). */
static liana_status check(const liana_dataset *dataset, liana__error *error)
{
    const map *own = dataset->own;
    if (!own->function) return liana__fail(error, LIANA_INVALID_ARGUMENT, "the function is NULL");
    for (size_t i = 0; own->declares && i < dataset->spec.count; i++) {
        if (liana__component_width(&dataset->spec.components[i]) != LIANA_UNKNOWN_DIM) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the component '%s' would be %s, expected no other unknown dimension than the first",
                           dataset->spec.components[i].name,
                           liana__component_describe(&dataset->spec.components[i]).text);
    }
    return LIANA_OK;
}

liana_dataset *liana_dataset_map(liana_dataset *input, const liana_map_options *options)
{
    if (!LIANA__STAGE_REQUIRE(input, options)) return NULL;
    liana_dataset *dataset = liana__dataset_stage(&liana__stage_map, input, sizeof(map));
    if (!dataset) return NULL;
    liana__error *error = &dataset->context->error;
    *(map *)dataset->own = (map){options->function, options->user, options->components};
    dataset->varies = true;
    liana__dataset_call(dataset, options->name);
    liana_status status = LIANA_OK;
    if (options->components) {
        status = liana__spec_make(&dataset->arena, options->components, options->num_components, &dataset->spec, error);
    }
    if (status == LIANA_OK) status = check(dataset, error);
    return liana__dataset_finish(dataset, status);
}

const liana_stage_type liana__stage_map = {
    LIANA_PART(STAGE, liana_stage_type, "map", "Changes each element with a function of the program."),
    .apply = apply,
    .works = true,
};
