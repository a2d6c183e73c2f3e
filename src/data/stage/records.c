/* The records of TFRecord files as they are: strings. */
#include "base/file.h"
#include "data/dataset.h"
#include "formats/tfrecord.h"

typedef struct records {
    size_t num_files;
    liana__tfrecord **files;
    uint64_t *starts; /* [num_files + 1] number of each file's first record */
} records;

static void close_records(liana_dataset *dataset)
{
    const records *own = dataset->own;
    for (size_t i = 0; i < own->num_files; i++) liana__tfrecord_close(own->files[i]);
}

static liana_status read_record(liana__reader *reader, const liana__at *at, liana_element *element, liana__error *error)
{
    const records *own = reader->dataset->own;
    liana_bytes *value = reader->own;
    size_t low = 0, high = own->num_files;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (own->starts[middle] <= at->index) low = middle;
        if (own->starts[middle] > at->index) high = middle;
    }
    const uint8_t *bytes;
    LIANA_TRY(
        liana__tfrecord_get(own->files[low], (size_t)(at->index - own->starts[low]), &bytes, &value->size, error));
    value->data = bytes;
    *element = (liana_element){.spec = &reader->dataset->spec, .record = at->index, .data = {value}, .rows = {1}};
    return LIANA_OK;
}

static liana_status open_files(liana_dataset *dataset, const char *pattern, liana__error *error)
{
    records *own = dataset->own;
    liana__paths paths = {(char *[]){(char *)pattern}, 1};
    if (!liana__file_exists(pattern)) LIANA_TRY(liana__file_match(pattern, &dataset->arena, &paths, error));
    own->files = liana__arena_allocate(&dataset->arena, paths.count * sizeof(liana__tfrecord *));
    own->starts = liana__arena_allocate(&dataset->arena, (paths.count + 1) * sizeof *own->starts);
    if (dataset->arena.failed) return liana__fail_memory(error, "a list of files");
    for (size_t i = 0; i < paths.count; i++) {
        LIANA_TRY(liana__tfrecord_open(paths.items[i], NULL, &own->files[i], error));
        own->num_files = i + 1;
        own->starts[i + 1] = own->starts[i] + liana__tfrecord_count(own->files[i]);
    }
    dataset->length = (int64_t)own->starts[own->num_files];
    return LIANA_OK;
}

liana_dataset *liana_dataset_tfrecord(liana_context *context, const char *pattern)
{
    static const liana_component record = {.name = "record", .dtype = LIANA_STRING};
    liana_dataset *dataset = liana__dataset_create(context, &liana__stage_tfrecord, NULL, 0, sizeof(records));
    if (!dataset) return NULL;
    dataset->random_access = true;
    liana_status status = liana__spec_make(&dataset->arena, &record, 1, &dataset->spec, &context->error);
    if (status == LIANA_OK) status = open_files(dataset, pattern, &context->error);
    return liana__dataset_finish(dataset, status);
}

const liana__stage_kind liana__stage_tfrecord = {
    .name = "tfrecord",
    .doc = "The records of TFRecord files, plain or compressed.",
    .close = close_records,
    .read = read_record,
    .reader_size = sizeof(liana_bytes),
};
