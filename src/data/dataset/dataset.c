/* Makes stages, and reads their elements one by one. */
#include "data/dataset/dataset.h"

#include "base/random.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const liana_part *const list[] = {
#define LIANA__STAGE(stem, name) &liana__stage_##name.part,
#include "data/stages.def"
#undef LIANA__STAGE
    NULL};

static liana_status accept(liana_context *context, liana_part *part)
{
    const liana_stage_type *type = (const liana_stage_type *)part;
    if (part->options.count) return liana__part_refuse(context, part, "it has options, which stages cannot have");
    const bool does = type->map || type->keep || type->apply || type->read || type->next;
    return liana__part_needs(context, part, does, "map' or 'keep");
}

const liana__kind liana__stage_kind = {.kind = LIANA_PART_STAGE,
                                       .size = sizeof(liana_stage_type),
                                       .builtin = list,
                                       .accept = accept};

/* ---- making stages ---- */

static void take_after_inputs(liana_dataset *dataset)
{
    const liana_dataset *first = dataset->inputs[0];
    dataset->spec = first->spec;
    dataset->length = first->length;
    dataset->random_access = first->random_access;
    dataset->scale = first->scale;
    dataset->antialias = first->antialias;
    if (dataset->kind->apply) {
        dataset->num_blocks = first->num_blocks;
        dataset->block_starts = first->block_starts;
    }
    for (size_t i = 0; i < dataset->num_inputs; i++) {
        dataset->works = dataset->works || dataset->inputs[i]->works;
        dataset->varies = dataset->varies || dataset->inputs[i]->varies;
        dataset->length_varies = dataset->length_varies || dataset->inputs[i]->length_varies;
    }
}

liana_dataset *liana__dataset_create(liana_context *context, const liana_stage_type *kind, liana_dataset *const *inputs,
                                     size_t num_inputs, size_t own_size)
{
    bool complete = context && !liana__context_stopped(context);
    for (size_t i = 0; i < num_inputs; i++) complete = complete && inputs[i];
    liana_dataset *dataset = complete ? calloc(1, sizeof *dataset) : NULL;
    if (dataset) {
        *dataset = (liana_dataset){.context = context, .kind = kind, .name = kind->part.name, .works = kind->works};
        atomic_init(&dataset->references, 1);
        dataset->own = liana__arena_allocate(&dataset->arena, own_size + 1);
        dataset->inputs = liana__arena_allocate(&dataset->arena, (num_inputs + 1) * sizeof(liana_dataset *));
    }
    if (!dataset || dataset->arena.failed) {
        for (size_t i = 0; i < num_inputs; i++) liana_dataset_close(inputs[i]);
        if (complete) liana__fail_memory(&context->error, kind->part.name);
        if (dataset) liana__arena_free(&dataset->arena);
        free(dataset);
        return NULL;
    }
    for (size_t i = 0; i < num_inputs; i++) dataset->inputs[i] = inputs[i];
    dataset->num_inputs = num_inputs;
    if (num_inputs) take_after_inputs(dataset);
    return dataset;
}

bool liana__dataset_given(liana_dataset *input, const void *argument, const char *function, const char *name)
{
    if (argument) return true;
    if (input) liana__fail_null(&input->context->error, function, name);
    liana_dataset_close(input);
    return false;
}

liana_dataset *liana__dataset_join(const liana_stage_type *kind, liana_dataset *const *inputs, size_t num_inputs,
                                   size_t own_size)
{
    if (!inputs || !num_inputs) return NULL;
    return liana__dataset_create(inputs[0] ? inputs[0]->context : NULL, kind, inputs, num_inputs, own_size);
}

liana_dataset *liana__dataset_stage(const liana_stage_type *kind, liana_dataset *input, size_t own_size)
{
    return liana__dataset_join(kind, &input, 1, own_size);
}

liana_dataset *liana__dataset_finish(liana_dataset *dataset, liana_status status)
{
    if (dataset && dataset->arena.failed) {
        status = liana__fail_memory(&dataset->context->error, dataset->name);
    } else if (dataset && status != LIANA_OK) {
        liana__fail_within(&dataset->context->error, "%s", dataset->name);
    }
    if (status == LIANA_OK) return dataset;
    liana_dataset_close(dataset);
    return NULL;
}

void liana__dataset_call(liana_dataset *dataset, const char *name)
{
    if (!name || !*name) return;
    const char *made = liana__arena_format(&dataset->arena, "%s '%.100s'", dataset->kind->part.name, name);
    if (made) dataset->name = made;
}

liana_dataset *liana_dataset_retain(liana_dataset *dataset)
{
    if (dataset) atomic_fetch_add(&dataset->references, 1);
    return dataset;
}

void liana_dataset_close(liana_dataset *dataset)
{
    if (!dataset || atomic_fetch_sub(&dataset->references, 1) > 1) return;
    if (dataset->kind->close) dataset->kind->close(dataset);
    for (size_t i = 0; i < dataset->num_inputs; i++) liana_dataset_close(dataset->inputs[i]);
    liana__arena_free(&dataset->arena);
    free(dataset);
}

static size_t cached_bytes(const liana_dataset *dataset)
{
    size_t bytes = dataset->kind->cached ? dataset->kind->cached(dataset) : 0;
    for (size_t i = 0; i < dataset->num_inputs; i++) bytes += cached_bytes(dataset->inputs[i]);
    return bytes;
}

liana_dataset_facts liana_dataset_info(const liana_dataset *dataset)
{
    if (!dataset) return (liana_dataset_facts){0};
    return (liana_dataset_facts){.num_examples = dataset->length,
                                 .batch_size = liana__dataset_batch_size(dataset),
                                 .random_access = dataset->random_access,
                                 .num_components = dataset->spec.count,
                                 .components = dataset->spec.components,
                                 .cached_bytes = cached_bytes(dataset)};
}

void liana_dataset_set_scale(liana_dataset *dataset, liana_scale scale)
{
    if (dataset) dataset->scale = scale;
}

size_t liana__dataset_memory(const liana_dataset *dataset)
{
    size_t bytes = dataset->kind->memory ? dataset->kind->memory(dataset) : 0;
    for (size_t i = 0; i < dataset->num_inputs; i++) bytes += liana__dataset_memory(dataset->inputs[i]);
    return bytes;
}

void liana__dataset_describe(const liana_dataset *dataset, liana__fingerprint *settings, liana__fingerprint *sources)
{
    const liana_stage_type *kind = dataset->kind;
    liana__fingerprint_add_text(settings, kind->part.name);
    liana__fingerprint_add_text(settings, dataset->name);
    liana__fingerprint_add(settings, dataset->own, kind->options_size);
    for (size_t i = 0; i < dataset->spec.count; i++) {
        const liana_component *component = &dataset->spec.components[i];
        liana__fingerprint_add_text(settings, component->name);
        liana__fingerprint_add_text(settings, liana__component_describe(component).text);
    }
    if (kind->describe) kind->describe(dataset, settings, sources);
    liana__fingerprint_add(settings, &dataset->num_inputs, sizeof dataset->num_inputs);
    for (size_t i = 0; i < dataset->num_inputs; i++) liana__dataset_describe(dataset->inputs[i], settings, sources);
}

bool liana__dataset_address(const liana_dataset *dataset, uint64_t record, liana_record_address *address)
{
    while (!dataset->kind->address && !dataset->source) {
        if (dataset->num_inputs != 1) return false;
        dataset = dataset->inputs[0];
    }
    *address =
        dataset->source ? liana__source_address(dataset->source, record) : dataset->kind->address(dataset, record);
    return true;
}

liana_status liana__dataset_fail_record(const liana_dataset *input, uint64_t record, liana__error *error)
{
    liana_record_address address;
    if (!liana__dataset_address(input, record, &address)) {
        return liana__fail_within(error, "record %" PRIu64, record);
    }
    if (address.line) return liana__fail_within(error, "'%s', line %" PRId64, address.file, address.line);
    if (address.record < 0) return liana__fail_within(error, "'%s'", address.file);
    return liana__fail_within(error, "'%s', record %" PRId64, address.file, address.record);
}

void liana__fingerprint_add_element(liana__fingerprint *fingerprint, const liana_element *element)
{
    for (size_t i = 0; i < element->spec->count; i++) {
        const liana_component *component = &element->spec->components[i];
        const liana_bytes *strings = element->data[i];
        if (component->dtype != LIANA_STRING) {
            liana__fingerprint_add(fingerprint, element->data[i], liana__element_size(element, i));
            continue;
        }
        for (int64_t k = 0; k < liana__element_count(element, i); k++) {
            liana__fingerprint_add(fingerprint, &strings[k].size, sizeof strings[k].size);
            liana__fingerprint_add(fingerprint, strings[k].data, strings[k].size);
        }
    }
}

/* ---- random access ---- */

liana__reader *liana__reader_create(const liana_dataset *dataset, liana__memory_share *share)
{
    liana__reader *reader = calloc(1, sizeof *reader);
    if (!reader) return NULL;
    reader->dataset = dataset;
    reader->share = share;
    reader->own = calloc(1, dataset->kind->reader_size + 1);
    reader->inputs = calloc(dataset->num_inputs + 1, sizeof *reader->inputs);
    bool made = reader->own && reader->inputs;
    for (size_t i = 0; made && i < dataset->num_inputs; i++) {
        if (!dataset->random_access) break; /* it applies a function to elements from a cursor */
        reader->inputs[i] = liana__reader_create(dataset->inputs[i], share);
        made = reader->inputs[i];
        reader->num_inputs += made;
    }
    if (made) return reader;
    liana__reader_destroy(reader);
    return NULL;
}

void liana__reader_destroy(liana__reader *reader)
{
    if (!reader) return;
    for (size_t i = 0; i < reader->num_inputs; i++) liana__reader_destroy(reader->inputs[i]);
    if (reader->own && reader->dataset->kind->reader_free) reader->dataset->kind->reader_free(reader->own);
    liana__holder_free(&reader->store);
    free(reader->own);
    free(reader->inputs);
    free(reader);
}

size_t liana__reader_bytes(const liana__reader *reader)
{
    const liana_stage_type *kind = reader->dataset->kind;
    size_t bytes = liana__holder_bytes(&reader->store);
    if (kind->reader_bytes) bytes += kind->reader_bytes(reader);
    for (size_t i = 0; i < reader->num_inputs; i++) bytes += liana__reader_bytes(reader->inputs[i]);
    return bytes;
}

liana_status liana__reader_apply(liana__reader *reader, const liana__at *at, const liana_element *input,
                                 liana_element *element, liana__error *error)
{
    const liana_dataset *dataset = reader->dataset;
    liana_status status = dataset->kind->apply(reader, at, input, element, error);
    element->spec = &dataset->spec;
    return status == LIANA_OK ? LIANA_OK : liana__fail_within(error, "%s", dataset->name);
}

/* The element of an input, where the stage says. */
static liana_status read_traced(liana__reader *reader, const liana__at *at, liana_element *element, liana__error *error)
{
    liana__at inner = *at;
    size_t input = reader->dataset->kind->trace(reader->dataset, &inner.index);
    inner.seed = liana__seed_of_input(at->seed, input);
    return liana__reader_read(reader->inputs[input], &inner, element, error);
}

liana_status liana__reader_read(liana__reader *reader, const liana__at *at, liana_element *element, liana__error *error)
{
    const liana_stage_type *kind = reader->dataset->kind;
    if (kind->apply) {
        liana_element input;
        LIANA_TRY(liana__reader_read(reader->inputs[0], at, &input, error));
        return liana__reader_apply(reader, at, &input, element, error);
    }
    LIANA_TRY(kind->read ? kind->read(reader, at, element, error) : read_traced(reader, at, element, error));
    element->spec = &reader->dataset->spec;
    return LIANA_OK;
}

/* ---- draws and addresses ---- */

uint64_t liana__draw_for(uint64_t seed, uint64_t epoch, uint64_t index, uint32_t salt)
{
    liana__philox_key key = liana__philox_make_key(seed, LIANA__STREAM_DATASET, salt);
    uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)epoch, (uint32_t)(epoch >> 32)};
    uint32_t words[4];
    liana__philox(key, counter, words);
    return (uint64_t)words[0] << 32 | words[1];
}

uint64_t liana__seed_of_input(uint64_t seed, size_t number)
{
    return number ? liana__draw_for(seed, 0, number, LIANA__SALT_INPUT) : seed;
}

liana_example_address liana__example_address(const liana__at *at, const liana_element *element)
{
    return (liana_example_address){at->seed, at->epoch, at->index, element->record};
}

liana_status liana__fail_function(liana__error *error, liana_status status, const liana__at *at, uint64_t record,
                                  const char *message)
{
    if (status == LIANA_OK || status == LIANA_END_OF_DATA) status = LIANA_INVALID_ARGUMENT;
    return liana__fail(error, status, "position %" PRIu64 " of epoch %" PRIu64 " (record %" PRIu64 "): %s", at->index,
                       at->epoch, record, message && *message ? message : liana_status_text(status));
}
