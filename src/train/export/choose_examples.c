/* Chooses the examples of an export. */
#include "base/random.h"
#include "base/scoped.h"
#include "data/source/source_open.h"
#include "train/export/export.h"

#include <string.h>

enum { MOST_LOOKED_AT = 1000, MOST_CLASSES_SEEN = 256 };

/* Data that are looked at. */
typedef struct choosing {
    const liana__export *own;
    liana_predictor *predictor;
    const liana__source *source;
    void *scratch;
    liana__data_match match;
    liana_image_decoder *decoder; /* NULL: the model takes no images */
    liana__export_examples *examples;
    liana__error *error;
} choosing;

/* ---- values ---- */

static double number_at(int dtype, const void *values, int64_t index)
{
    switch (dtype) {
    case LIANA_F32: return (double)((const float *)values)[index];
    case LIANA_F64: return ((const double *)values)[index];
    case LIANA_S32: return ((const int32_t *)values)[index];
    case LIANA_S64: return (double)((const int64_t *)values)[index];
    case LIANA_U8:
    case LIANA_BOOL: return ((const uint8_t *)values)[index];
    default: return 0;
    }
}

static bool has_numbers(int dtype)
{
    return dtype == LIANA_F32 || dtype == LIANA_F64 || dtype == LIANA_S32 || dtype == LIANA_S64 || dtype == LIANA_U8 ||
           dtype == LIANA_BOOL;
}

/* A text of its own, of a text or of a whole number. */
static bool copy_text(const choosing *own, const liana_component *component, const void *values, int64_t index,
                      liana_bytes *text)
{
    liana__arena *arena = own->own->arena;
    if (component->dtype == LIANA_STRING) {
        const liana_bytes *from = (const liana_bytes *)values + index;
        *text = (liana_bytes){liana__arena_copy(arena, from->data, from->size), from->size};
        return text->data || !from->size;
    }
    const char *digits = liana__arena_format(arena, "%lld", (long long)number_at(component->dtype, values, index));
    *text = (liana_bytes){digits, digits ? strlen(digits) : 0};
    return digits != NULL;
}

static size_t find_component(const liana__source *source, const char *name)
{
    size_t found = 0;
    while (found < source->num_components && strcmp(source->components[found].name, name) != 0) found++;
    return found;
}

/* Copies the record's values of an input. False: they do not fit it. */
static bool take_values(const choosing *own, size_t input, const liana_source_record *record)
{
    const liana_array *array = &own->examples->inputs[input];
    const liana_predictor_port port = liana_predictor_input(own->predictor, input);
    const size_t found = find_component(own->source, own->match.inputs[input].name);
    const int64_t first = (int64_t)own->examples->count * port.num_values;
    if (found == own->source->num_components) return false;
    const liana_component *component = &own->source->components[found];
    const bool is_text = port.dtype == LIANA_STRING;
    if (liana_shape_size(&component->shape) != port.num_values) return false;
    if (!is_text && !has_numbers(component->dtype)) return false;
    for (int64_t i = 0; i < port.num_values; i++) {
        const void *values = record->values[found];
        if (is_text) {
            if (!copy_text(own, component, values, i, (liana_bytes *)(uintptr_t)array->data + first + i)) return false;
        } else if (array->dtype == LIANA_S32) {
            ((int32_t *)(uintptr_t)array->data)[first + i] = (int32_t)number_at(component->dtype, values, i);
        } else {
            ((float *)(uintptr_t)array->data)[first + i] = (float)number_at(component->dtype, values, i);
        }
    }
    return true;
}

/* ---- records ---- */

static bool take_image(const choosing *own, const liana_source_record *record, liana__export_example *example)
{
    const liana_array *array = &own->examples->inputs[0];
    const liana_predictor_facts facts = liana_predictor_info(own->predictor);
    float *pixels =
        (float *)(uintptr_t)array->data + (int64_t)own->examples->count * facts.height * facts.width * facts.channels;
    if (record->bytes) {
        if (liana_image_decode(own->decoder, record->bytes, record->size, pixels) != LIANA_OK) return false;
        const void *copy = liana__arena_copy(own->own->arena, record->bytes, record->size);
        example->image = (liana_bytes){copy, copy ? record->size : 0};
        return copy != NULL;
    }
    const liana_pixels image = {record->pixels, record->height, record->width, record->channels, 0};
    return record->pixels && liana_image_resize(own->decoder, &image, pixels) == LIANA_OK;
}

/* A record that cannot be used is left out. */
static void take_record(const choosing *own, const liana_source_record *record)
{
    liana__export_examples *examples = own->examples;
    liana__export_example example = {.label = record->has_label ? record->label : -1};
    char id[81];
    bool fits = true;
    if (record->has_label) example.label += own->own->config->data.label_offset;
    if (liana__source_id(record, id, sizeof id)) example.id = liana__arena_string(own->own->arena, id);
    if (own->decoder) {
        fits = take_image(own, record, &example);
    } else {
        for (size_t i = 0; fits && i < examples->num_inputs; i++) fits = take_values(own, i, record);
    }
    if (fits) examples->items[examples->count++] = example;
}

/* The first record of each class, then the first ones whose class was there already. */
static void choose_records(const choosing *own, size_t wanted)
{
    const liana__source *source = own->source;
    bool seen[MOST_CLASSES_SEEN] = {false};
    const uint64_t most = source->num_records < MOST_LOOKED_AT ? source->num_records : MOST_LOOKED_AT;
    const int num_rounds = source->has_labels ? 2 : 1;
    for (int round = 0; round < num_rounds; round++) {
        const bool wants_new = round + 1 < num_rounds;
        for (uint64_t i = 0; i < most && own->examples->count < wanted; i++) {
            liana_source_record record;
            liana__error ignored = {0};
            if (liana__source_read(source, i, own->scratch, &record, &ignored) != LIANA_OK) continue;
            const bool counts = record.has_label && record.label >= 0 && record.label < MOST_CLASSES_SEEN;
            if (wants_new && (!counts || seen[record.label])) continue;
            if (counts) seen[record.label] = true;
            take_record(own, &record);
        }
        /* None of the first round is taken once more. */
        if (wants_new && own->examples->count) return;
    }
}

/* ---- sources ---- */

static liana_status make_arrays(const liana__export *own, const liana_predictor *predictor,
                                liana__export_examples *examples, liana__error *error)
{
    const size_t count = (size_t)own->num_examples;
    examples->num_inputs = liana_predictor_info(predictor).num_inputs;
    for (size_t i = 0; i < examples->num_inputs; i++) {
        const liana_predictor_port port = liana_predictor_input(predictor, i);
        const bool is_text = port.dtype == LIANA_STRING;
        const size_t each = (size_t)port.num_values * (is_text ? sizeof(liana_bytes) : sizeof(float));
        const void *values = liana__arena_allocate(own->arena, count * each + 1);
        if (!values) return liana__fail_memory(error, "the examples");
        examples->inputs[i] = (liana_array){port.name, port.is_image ? (int)LIANA_F32 : port.dtype, port.shape, values};
    }
    return LIANA_OK;
}

static liana_status find_match(choosing *own)
{
    const liana__data_config *data = &own->own->config->data;
    const liana_model *model = own->own->model;
    const size_t count = liana__model_num_inputs(model);
    liana__data_names names = {.inputs_key = "data.inputs"};
    for (size_t i = 0; data->model_inputs.count && i < count && i < LIANA__MAX_INPUTS; i++) {
        names.inputs[i] = liana__component_for(&data->model_inputs, liana__model_input(model, i).name, count == 1);
    }
    return liana__data_match_find(model, own->source, &names, false, &own->match, own->error);
}

static liana_status read_source(choosing *own, const liana__source_config *where)
{
    const liana__export *export = own->own;
    liana__strings files;
    liana__source *source;
    liana__source_options wanted = liana__config_source_options(export->config, where);
    wanted.class_names = export->config->data.class_names;
    wanted.labels_are_names = export->config->data.label_kind == LIANA__LABELS_NAMES;
    wanted.columns_optional = true;
    wanted.skip_damage = true;
    wanted.remote = export->remote;
    LIANA_TRY(liana__config_files(where, export->arena, &files, own->error));
    LIANA_TRY(liana__source_open(files.items, files.count, &wanted, &source, own->error));
    own->source = source;
    own->scratch = liana__source_scratch_create(source);
    liana_status status = own->scratch ? find_match(own) : liana__fail_memory(own->error, "an example");
    if (status == LIANA_OK) choose_records(own, (size_t) export->num_examples);
    if (own->scratch) liana__source_scratch_destroy(source, own->scratch);
    liana__source_close(source);
    if (status != LIANA_OK || own->examples->count) return status;
    return liana__fail(own->error, LIANA_INVALID_DATA, "no example of it fits the model");
}

/* Values that any model takes: pixels, small numbers, ids in their range, a text. */
static void make_up(const liana__export *own, const liana_predictor *predictor, liana__export_examples *examples)
{
    const liana__philox_key key = liana__philox_make_key(1, LIANA__STREAM_TEST, 1);
    examples->count = (size_t)own->num_examples;
    for (size_t i = 0; i < examples->count; i++) examples->items[i] = (liana__export_example){.label = -1};
    for (size_t i = 0; i < examples->num_inputs; i++) {
        const liana_array *array = &examples->inputs[i];
        const liana_predictor_port port = liana_predictor_input(predictor, i);
        for (int64_t k = 0; k < (int64_t)examples->count * port.num_values; k++) {
            uint32_t words[4];
            liana__philox(key, (const uint32_t[4]){(uint32_t)k, (uint32_t)i, 0, 0}, words);
            if (array->dtype == LIANA_STRING) {
                ((liana_bytes *)(uintptr_t)array->data)[k] = (liana_bytes){"example", 7};
            } else if (array->dtype == LIANA_S32) {
                ((int32_t *)(uintptr_t)array->data)[k] =
                    (int32_t)(words[0] % (uint32_t)(port.num_ids > 0 ? port.num_ids : 2));
            } else {
                const uint32_t range = port.is_image ? 256 : 1000;
                ((float *)(uintptr_t)array->data)[k] = (float)(words[0] % range) / (port.is_image ? 1.0f : 1000.0f);
            }
        }
    }
}

/* The first of the run's data that can be read. */
static liana_status choose_of_run(const liana__export *own, liana_predictor *predictor,
                                  liana__export_examples *examples, liana__error *error)
{
    static const char *const names[] = {"validation data", "test data", "training data"};
    liana__error why = {0};
    choosing made = {.own = own, .predictor = predictor, .examples = examples, .error = &why};
    const liana__source_config *parts[] = {&own->config->data.validation, &own->config->data.test,
                                           &own->config->data.train};
    if (liana_predictor_info(predictor).takes_images &&
        liana_image_decoder_create(predictor, NULL, &made.decoder) != LIANA_OK) {
        return liana__fail(error, LIANA_INVALID_DATA, "%s", liana_predictor_message(predictor));
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !examples->count; i++) {
        if (!liana__config_has_source(parts[i])) continue;
        if (read_source(&made, parts[i]) == LIANA_OK) {
            examples->source = names[i];
        } else {
            liana__note(&own->notes, "no examples are taken from the %s: %s", names[i], why.message);
            why = (liana__error){0};
        }
    }
    liana_image_decoder_destroy(made.decoder);
    return LIANA_OK;
}

liana_status liana__export_choose(const liana__export *own, liana_predictor *predictor,
                                  liana__export_examples *examples, liana__error *error)
{
    *examples = (liana__export_examples){0};
    LIANA_TRY(make_arrays(own, predictor, examples, error));
    if (own->config) LIANA_TRY(choose_of_run(own, predictor, examples, error));
    if (!examples->count) make_up(own, predictor, examples);
    for (size_t i = 0; i < examples->num_inputs; i++) examples->inputs[i].shape.dims[0] = (int64_t)examples->count;
    return own->arena->failed ? liana__fail_memory(error, "the examples") : LIANA_OK;
}

liana_status liana__export_compute(liana_predictor *predictor, liana__export_examples *examples, liana__arena *arena,
                                   liana__error *error)
{
    const int64_t num_values = liana_predictor_info(predictor).num_values;
    examples->outputs = liana__arena_allocate(arena, examples->count * (size_t)num_values * sizeof(float) + 1);
    if (!examples->outputs) return liana__fail_memory(error, "the examples");
    for (size_t i = 0; i < examples->count; i++) {
        liana_array one[LIANA__MAX_INPUTS];
        for (size_t k = 0; k < examples->num_inputs; k++) {
            const int64_t each = liana_predictor_input(predictor, k).num_values;
            one[k] = examples->inputs[k];
            const size_t size = one[k].dtype == LIANA_STRING ? sizeof(liana_bytes) : sizeof(float);
            one[k].shape.dims[0] = 1;
            one[k].data = (const char *)one[k].data + i * (size_t)each * size;
        }
        float *row = examples->outputs + (int64_t)i * num_values;
        const liana_status status = liana_predictor_run(predictor, one, examples->num_inputs, row);
        if (status != LIANA_OK) {
            return liana__fail(error, status, "example %zu: %s", i, liana_predictor_message(predictor));
        }
    }
    return LIANA_OK;
}
