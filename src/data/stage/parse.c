/* tf.Example and tf.SequenceExample records into components. */
#include "data/dataset/dataset.h"
#include "formats/example.h"

#include <inttypes.h>
#include <string.h>

/* One feature or feature list. */
typedef struct feature {
    const char *key;
    const char *index_key; /* of values that stand at indices, or NULL */
    bool is_list;
    bool has_default;
    uint64_t number; /* the bytes of the default */
    liana_bytes text;
} feature;

typedef struct parse {
    size_t record;                          /* the component of the input that is parsed */
    size_t first;                           /* index of the first feature, after the components that are kept */
    feature features[LIANA_MAX_COMPONENTS]; /* of the components from `first` on */
} parse;

static liana__feature_kind kind_of(int dtype)
{
    return dtype == LIANA_STRING ? LIANA__FEATURE_BYTES
           : dtype == LIANA_S64  ? LIANA__FEATURE_INT64
                                 : LIANA__FEATURE_FLOAT;
}

/* Values [from, from + count) of a feature as values of a component from `at` on. */
static liana_status put_values(liana__holder *store, size_t index, int64_t at, const liana__feature *found, size_t from,
                               size_t count, liana__error *error)
{
    const liana_component *component = &store->element.spec->components[index];
    const size_t size = liana__component_value_size(component);
    if (component->dtype != LIANA_STRING) {
        const char *values = component->dtype == LIANA_S64 ? (const char *)found->int64s : (const char *)found->floats;
        if (count) memcpy((char *)store->columns[index] + (size_t)at * size, values + from * size, count * size);
        return LIANA_OK;
    }
    for (size_t i = 0; i < count; i++) {
        const ProtobufCBinaryData *bytes = &found->bytes[from + i];
        LIANA_TRY(liana__holder_set_string(store, index, at + (int64_t)i, bytes->data, bytes->len, error));
    }
    return LIANA_OK;
}

static liana_status put_default(const feature *wanted, liana__holder *store, size_t index, liana__error *error)
{
    const liana_component *component = &store->element.spec->components[index];
    const size_t size = liana__component_value_size(component);
    const int64_t count = liana__element_count(&store->element, index);
    for (int64_t i = 0; i < count; i++) {
        if (component->dtype != LIANA_STRING) {
            memcpy((char *)store->columns[index] + (size_t)i * size, &wanted->number, size);
        } else {
            LIANA_TRY(liana__holder_set_string(store, index, i, wanted->text.data, wanted->text.size, error));
        }
    }
    return LIANA_OK;
}

/* Whether indices are different ones below the size. */
static liana_status check_indices(const feature *wanted, const liana__feature *indices, int64_t size,
                                  liana__error *error)
{
    for (size_t i = 0; i < indices->count; i++) {
        const int64_t index = indices->int64s[i];
        if (index < 0 || index >= size) {
            return liana__fail(error, LIANA_OUT_OF_RANGE,
                               "the feature '%s', value %zu is the index %" PRId64 ", expected 0 to %" PRId64,
                               wanted->index_key, i, index, size - 1);
        }
        if (i == 0 || index > indices->int64s[i - 1]) continue;
        for (size_t k = 0; k < i; k++) {
            if (indices->int64s[k] != index) continue;
            return liana__fail(error, LIANA_INVALID_DATA, "the feature '%s' has the index %" PRId64 " twice",
                               wanted->index_key, index);
        }
    }
    return LIANA_OK;
}

static liana_status put_sparse(const feature *wanted, liana__holder *store, size_t index, const liana__example *example,
                               const liana__feature *values, liana__error *error)
{
    liana__feature indices;
    const int64_t size = liana__element_rows(&store->element, index);
    LIANA_TRY(liana__example_list(example, wanted->index_key, LIANA__FEATURE_INT64, &indices, error));
    if (indices.count != values->count) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "the feature '%s' has %zu indices, expected %zu: one for each "
                           "value of '%s'",
                           wanted->index_key, indices.count, values->count, wanted->key);
    }
    LIANA_TRY(check_indices(wanted, &indices, size, error));
    if (store->element.spec->components[index].dtype != LIANA_STRING) {
        memset(store->columns[index], 0, liana__element_size(&store->element, index));
    }
    for (size_t i = 0; i < indices.count; i++) {
        LIANA_TRY(put_values(store, index, indices.int64s[i], values, i, 1, error));
    }
    return LIANA_OK;
}

static liana_status fail_count(const feature *wanted, const liana_component *component, size_t count, size_t expected,
                               const char *multiple, liana__error *error)
{
    return liana__fail(error, LIANA_INVALID_DATA,
                       "the feature '%s' has %zu values, expected %s%zu: it is declared as %s", wanted->key, count,
                       multiple, expected, liana__component_describe(component).text);
}

/* One feature as component `index`. */
static liana_status put_feature(const feature *wanted, liana__holder *store, size_t index,
                                const liana__example *example, liana__error *error)
{
    const liana_component *component = &store->element.spec->components[index];
    const bool ragged = liana__component_rows(component) == LIANA_UNKNOWN_DIM;
    liana__feature found;
    const bool missing = !liana__example_find(example, wanted->key, &found) || found.kind == LIANA__FEATURE_EMPTY;
    if (missing && wanted->has_default) return put_default(wanted, store, index, error);
    if (missing && ragged) return LIANA_OK;
    if (missing && wanted->index_key && !liana__example_find(example, wanted->index_key, &found)) {
        found = (liana__feature){0}; /* a vector of zeros has neither values nor indices */
        if (component->dtype == LIANA_STRING) return LIANA_OK;
        memset(store->columns[index], 0, liana__element_size(&store->element, index));
        return LIANA_OK;
    }
    LIANA_TRY(liana__example_list(example, wanted->key, kind_of(component->dtype), &found, error));
    if (wanted->index_key) return put_sparse(wanted, store, index, example, &found, error);
    const size_t row = (size_t)liana__component_count(component, 1, 0);
    if (ragged) {
        if (row == 0 || found.count % row)
            return fail_count(wanted, component, found.count, row, "a multiple of ", error);
        LIANA_TRY(liana__holder_resize(store, index, (int64_t)(found.count / row), 0, error));
    }
    const size_t count = (size_t)liana__element_count(&store->element, index);
    if (found.count != count) return fail_count(wanted, component, found.count, count, "", error);
    return put_values(store, index, 0, &found, 0, count, error);
}

/* The largest number of rows of a step's values, if the second dimension is unknown. */
static int64_t find_width(const liana_component *component, const liana__feature_list *list, size_t row)
{
    size_t width = 0;
    if (liana__component_width(component) != LIANA_UNKNOWN_DIM) return 0;
    for (size_t i = 0; row && i < list->count; i++) {
        const size_t count = liana__feature_list_step(list, i).count / row;
        width = count > width ? count : width;
    }
    return (int64_t)width;
}

/* One feature list as component `index`: a row for each step. */
static liana_status put_list(const feature *wanted, liana__holder *store, size_t index, const liana__example *example,
                             liana__error *error)
{
    const liana_component *component = &store->element.spec->components[index];
    const bool ragged = liana__component_width(component) == LIANA_UNKNOWN_DIM;
    const int64_t rows = liana__component_rows(component);
    liana__feature_list list;
    if (rows == LIANA_UNKNOWN_DIM && !liana__example_find_list(example, wanted->key, &list)) return LIANA_OK;
    LIANA_TRY(liana__example_sequence(example, wanted->key, kind_of(component->dtype), &list, error));
    if (rows != LIANA_UNKNOWN_DIM && list.count != (size_t)rows) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "the feature list '%s' has %zu steps, expected %" PRId64 ": it is declared as %s",
                           wanted->key, list.count, rows, liana__component_describe(component).text);
    }
    const size_t row = (size_t)liana__component_count(component, 1, 1); /* of a step; or of its one value */
    const int64_t width = find_width(component, &list, row), step_size = (int64_t)row * (ragged ? width : 1);
    LIANA_TRY(liana__holder_resize(store, index, (int64_t)list.count, width, error));
    if (ragged && component->dtype != LIANA_STRING) {
        memset(store->columns[index], 0, liana__element_size(&store->element, index));
    }
    for (size_t i = 0; i < list.count; i++) {
        const liana__feature step = liana__feature_list_step(&list, i);
        const bool fits = ragged ? row > 0 && step.count % row == 0 : step.count == row;
        if (!fits) {
            return liana__fail(error, LIANA_INVALID_DATA,
                               "the feature list '%s', step %zu has %zu values, expected %s%zu: it is declared as %s",
                               wanted->key, i, step.count, ragged ? "a multiple of " : "", row,
                               liana__component_describe(component).text);
        }
        LIANA_TRY(put_values(store, index, (int64_t)i * step_size, &step, 0, step.count, error));
    }
    return LIANA_OK;
}

static size_t example_bytes(const liana__reader *reader)
{
    return liana__example_memory(reader->own);
}

static liana_status put_record(const parse *own, liana__holder *store, const liana__spec *spec,
                               const liana_element *input, const liana__example *example, liana__error *error)
{
    LIANA_TRY(liana__holder_begin(store, spec, 0, error));
    store->element.record = input->record;
    size_t to = 0;
    for (size_t i = 0; i < input->spec->count; i++) {
        if (i != own->record) LIANA_TRY(liana__holder_take(store, to++, input, i, error));
    }
    for (; to < spec->count; to++) {
        const feature *wanted = &own->features[to - own->first];
        LIANA_TRY(wanted->is_list ? put_list(wanted, store, to, example, error)
                                  : put_feature(wanted, store, to, example, error));
    }
    return LIANA_OK;
}

static liana_status parse_record(liana__reader *reader, const liana__at *at, const liana_element *input,
                                 liana_element *element, liana__error *error)
{
    (void)at;
    const liana_dataset *dataset = reader->dataset;
    const parse *own = dataset->own;
    liana__example *example = reader->own;
    example->share = reader->share;
    const liana_bytes *record = input->data[own->record];
    liana_status status = liana__example_parse(example, NULL, 0, record->data, record->size, error);
    if (status == LIANA_OK) status = put_record(own, &reader->store, &dataset->spec, input, example, error);
    if (status != LIANA_OK) {
        liana__dataset_fail_record(dataset->inputs[0], input->record, error);
        return status;
    }
    liana__holder_finish(&reader->store, element);
    return LIANA_OK;
}

static void free_example(void *own)
{
    liana__example_free(own);
}

static liana_status find_record(const liana__spec *spec, size_t *record, liana__error *error)
{
    const int found = liana__spec_find(spec, "record");
    *record = (size_t)found;
    if (found >= 0 && spec->components[found].dtype == LIANA_STRING && spec->components[found].shape.rank == 0) {
        return LIANA_OK;
    }
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "there is no component 'record' that is string []");
}

/* The unknown dimensions that a feature may have: a list two, an other one the first, one at indices none. */
static liana_status check_feature(const feature *wanted, const liana_component *component, liana__error *error)
{
    const int dtype = component->dtype;
    const bool ragged = liana__component_rows(component) == LIANA_UNKNOWN_DIM;
    bool fits = dtype == LIANA_STRING || dtype == LIANA_S64 || dtype == LIANA_F32;
    if (!wanted->is_list) fits = fits && liana__component_width(component) != LIANA_UNKNOWN_DIM;
    if (wanted->is_list) fits = fits && component->shape.rank > 0;
    if (wanted->index_key) fits = fits && component->shape.rank == 1 && !ragged && !wanted->is_list;
    if (fits) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the feature '%s' is declared as %s, expected string, s64 or f32 %s", component->name,
                       liana__component_describe(component).text,
                       wanted->index_key ? "and a shape [size], since its values have indices"
                       : wanted->is_list ? "and a first dimension for the steps, of which there may be any number"
                                         : "and a shape of which only the first dimension may be unknown");
}

static liana_status add_feature(liana_dataset *dataset, const liana_example_feature *from, bool is_list, feature *made,
                                liana__error *error)
{
    liana__arena *arena = &dataset->arena;
    const char *key = from->key ? from->key : from->component.name;
    *made = (feature){.key = key ? liana__arena_string(arena, key) : "",
                      .index_key = from->index_key ? liana__arena_string(arena, from->index_key) : NULL,
                      .is_list = is_list,
                      .has_default = from->default_value && !is_list};
    if (arena->failed) return liana__fail_memory(error, dataset->name);
    if (!made->has_default || from->component.dtype < 0 || from->component.dtype > LIANA_STRING) return LIANA_OK;
    if (from->component.dtype != LIANA_STRING) {
        memcpy(&made->number, from->default_value, liana__component_value_size(&from->component));
        return LIANA_OK;
    }
    made->text = *(const liana_bytes *)from->default_value;
    char *copy = liana__arena_allocate(arena, made->text.size + 1);
    if (!copy) return liana__fail_memory(error, dataset->name);
    if (made->text.size) memcpy(copy, made->text.data, made->text.size);
    made->text.data = copy;
    return LIANA_OK;
}

static liana_status make_spec(liana_dataset *dataset, const liana_sequence_example_options *options,
                              liana__error *error)
{
    parse *own = dataset->own;
    liana_component made[2 * LIANA_MAX_COMPONENTS];
    size_t count = 0, num_features = options->num_context + options->num_sequence;
    LIANA_TRY(find_record(&dataset->spec, &own->record, error));
    for (size_t i = 0; i < dataset->spec.count; i++) {
        if (i != own->record) made[count++] = dataset->spec.components[i];
    }
    own->first = count;
    if (num_features > LIANA_MAX_COMPONENTS) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%zu features are wanted, expected at most %d", num_features,
                           LIANA_MAX_COMPONENTS);
    }
    for (size_t i = 0; i < num_features; i++) {
        const bool is_list = i >= options->num_context;
        const liana_example_feature *from =
            is_list ? &options->sequence[i - options->num_context] : &options->context[i];
        made[count++] = from->component;
        LIANA_TRY(add_feature(dataset, from, is_list, &own->features[i], error));
    }
    LIANA_TRY(liana__spec_make(&dataset->arena, made, count, &dataset->spec, error));
    for (size_t i = own->first; i < count; i++) {
        LIANA_TRY(check_feature(&own->features[i - own->first], &dataset->spec.components[i], error));
    }
    return LIANA_OK;
}

liana_dataset *liana_dataset_parse_sequence_example(liana_dataset *input, const liana_sequence_example_options *options)
{
    if (!LIANA__STAGE_REQUIRE(input, options)) return NULL;
    if (options->num_context && !LIANA__STAGE_REQUIRE(input, options->context)) return NULL;
    if (options->num_sequence && !LIANA__STAGE_REQUIRE(input, options->sequence)) return NULL;
    liana_dataset *dataset = liana__dataset_stage(&liana__stage_parse_example, input, sizeof(parse));
    if (!dataset) return NULL;
    return liana__dataset_finish(dataset, make_spec(dataset, options, &dataset->context->error));
}

liana_dataset *liana_dataset_parse_example(liana_dataset *input, const liana_component *features, size_t num_features)
{
    if (!LIANA__STAGE_REQUIRE(input, features)) return NULL;
    liana_example_feature wanted[LIANA_MAX_COMPONENTS] = {0};
    for (size_t i = 0; i < num_features && i < LIANA_MAX_COMPONENTS; i++) wanted[i].component = features[i];
    const liana_sequence_example_options options = {.context = wanted, .num_context = num_features};
    return liana_dataset_parse_sequence_example(input, &options);
}

static void describe(const liana_dataset *dataset, liana__fingerprint *settings, liana__fingerprint *sources)
{
    (void)sources;
    const parse *own = dataset->own;
    for (size_t i = own->first; i < dataset->spec.count; i++) {
        const feature *wanted = &own->features[i - own->first];
        const bool facts[] = {wanted->is_list, wanted->has_default};
        liana__fingerprint_add_text(settings, wanted->key);
        liana__fingerprint_add_text(settings, wanted->index_key);
        liana__fingerprint_add(settings, facts, sizeof facts);
        liana__fingerprint_add(settings, &wanted->number, sizeof wanted->number);
        if (wanted->text.size) liana__fingerprint_add(settings, wanted->text.data, wanted->text.size);
    }
}

const liana_stage_type liana__stage_parse_example = {
    LIANA_PART(STAGE, liana_stage_type, "parse_example", "Parses tf.Example records into their features."),
    .describe = describe,
    .apply = parse_record,
    .reader_size = sizeof(liana__example),
    .reader_free = free_example,
    .reader_bytes = example_bytes,
    .works = true,
};
