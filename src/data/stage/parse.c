/* tf.Example records into components. */
#include "data/dataset/dataset.h"
#include "formats/example.h"

#include <inttypes.h>
#include <string.h>

typedef struct parse {
    size_t record; /* the component of the input that is parsed */
    size_t first;  /* index of the first feature, after the components that are kept */
} parse;

static liana__feature_kind kind_of(int dtype)
{
    return dtype == LIANA_STRING ? LIANA__FEATURE_BYTES
           : dtype == LIANA_S64  ? LIANA__FEATURE_INT64
                                 : LIANA__FEATURE_FLOAT;
}

/* One feature as component `index`. */
static liana_status put_feature(liana__holder *store, size_t index, const liana__example *example, liana__error *error)
{
    const liana__spec *spec = store->element.spec;
    const liana_component *component = &spec->components[index];
    int64_t count = liana__component_count(component, store->element.rows[index]);
    liana__feature feature;
    LIANA_TRY(liana__example_list(example, component->name, kind_of(component->dtype), &feature, error));
    if (feature.count != (size_t)count) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "the feature '%s' has %zu values, expected %" PRId64 ": it is "
                           "declared as %s",
                           component->name, feature.count, count, liana__component_describe(component).text);
    }
    if (component->dtype != LIANA_STRING) {
        const void *values = component->dtype == LIANA_S64 ? (const void *)feature.int64s : feature.floats;
        size_t size = liana__component_size(component, store->element.rows[index]);
        if (size) memcpy(store->columns[index], values, size);
        return LIANA_OK;
    }
    for (size_t i = 0; i < feature.count; i++) {
        LIANA_TRY(
            liana__holder_set_string(store, index, (int64_t)i, feature.bytes[i].data, feature.bytes[i].len, error));
    }
    return LIANA_OK;
}

static size_t example_bytes(const liana__reader *reader)
{
    return liana__example_memory(reader->own);
}

static liana_status parse_record(liana__reader *reader, const liana__at *at, const liana_element *input,
                                 liana_element *element, liana__error *error)
{
    (void)at;
    const parse *own = reader->dataset->own;
    const liana__spec *spec = &reader->dataset->spec;
    liana__example *example = reader->own;
    liana__holder *store = &reader->store;
    example->share = reader->share;
    const liana_bytes *record = input->data[own->record];
    LIANA_TRY(liana__example_parse(example, "TFRecord", (size_t)input->record, record->data, record->size, error));
    LIANA_TRY(liana__holder_begin(store, spec, 0, error));
    store->element.record = input->record;
    size_t to = 0;
    for (size_t i = 0; i < input->spec->count; i++) {
        if (i != own->record) LIANA_TRY(liana__holder_put(store, to++, 0, input, i, error));
    }
    for (; to < spec->count; to++) LIANA_TRY(put_feature(store, to, example, error));
    liana__holder_finish(store, element);
    return LIANA_OK;
}

static void free_example(void *own)
{
    liana__example_free(own);
}

static liana_status make_spec(liana_dataset *dataset, const liana_component *features, size_t num_features,
                              liana__error *error)
{
    parse *own = dataset->own;
    liana_component made[2 * LIANA_MAX_COMPONENTS];
    size_t count = 0;
    int record = liana__spec_find(&dataset->spec, "record");
    if (record < 0 || dataset->spec.components[record].dtype != LIANA_STRING ||
        dataset->spec.components[record].shape.rank != 0) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "there is no component 'record' that is string []");
    }
    own->record = (size_t)record;
    for (size_t i = 0; i < dataset->spec.count; i++) {
        if ((int)i != record) made[count++] = dataset->spec.components[i];
    }
    own->first = count;
    for (size_t i = 0; i < num_features && i < LIANA_MAX_COMPONENTS; i++) made[count++] = features[i];
    LIANA_TRY(liana__spec_make(&dataset->arena, made, count, &dataset->spec, error));
    for (size_t i = 0; i < count; i++) {
        int dtype = made[i].dtype;
        bool fits = dtype == LIANA_STRING || dtype == LIANA_S64 || dtype == LIANA_F32;
        if ((i < own->first || fits) && liana__component_rows(&made[i]) != LIANA_UNKNOWN_DIM) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the feature '%s' is declared as %s, expected string, s64 or f32 and a static shape",
                           made[i].name, liana__component_describe(&made[i]).text);
    }
    return LIANA_OK;
}

liana_dataset *liana_dataset_parse_example(liana_dataset *input, const liana_component *features, size_t num_features)
{
    if (!LIANA__STAGE_REQUIRE(input, features)) return NULL;
    liana_dataset *dataset = liana__dataset_stage(&liana__stage_parse_example, input, sizeof(parse));
    if (!dataset) return NULL;
    return liana__dataset_finish(dataset, make_spec(dataset, features, num_features, &dataset->context->error));
}

const liana_stage_type liana__stage_parse_example = {
    LIANA_PART(STAGE, liana_stage_type, "parse_example", "Parses tf.Example records into their features."),
    .apply = parse_record,
    .reader_size = sizeof(liana__example),
    .reader_free = free_example,
    .reader_bytes = example_bytes,
    .works = true,
};
