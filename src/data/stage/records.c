/* The records of TFRecord files as they are: strings. Compressed files are read in blocks. */
#include "data/dataset/dataset.h"
#include "data/dataset/named_files.h"
#include "data/source/record_files.h"

typedef struct records {
    liana__remote *remote; /* where URLs are local files, or NULL */
    liana__record_files files;
} records;

typedef struct records_reader {
    liana_bytes value;
    liana__tfrecord_reader reader;
} records_reader;

static void free_reader(void *own)
{
    liana__tfrecord_reader_free(&((records_reader *)own)->reader);
}

static size_t reader_bytes(const liana__reader *reader)
{
    return liana__tfrecord_reader_bytes(&((const records_reader *)reader->own)->reader);
}

static size_t memory_of(const liana_dataset *dataset)
{
    return liana__record_files_memory(&((const records *)dataset->own)->files);
}

static void close_records(liana_dataset *dataset)
{
    records *own = dataset->own;
    liana__record_files_free(&own->files);
    liana__remote_destroy(own->remote);
}

static liana_status read_record(liana__reader *reader, const liana__at *at, liana_element *element, liana__error *error)
{
    const records *own = reader->dataset->own;
    records_reader *with = reader->own;
    uint64_t record = at->index;
    const liana__tfrecord *file = liana__record_files_find(&own->files, &record);
    const uint8_t *bytes;
    with->reader.buffer.share = reader->share;
    LIANA_TRY(liana__tfrecord_read(file, record, &with->reader, &bytes, &with->value.size, error));
    with->value.data = bytes;
    *element =
        (liana_element){.spec = &reader->dataset->spec, .record = at->index, .data = {&with->value}, .rows = {1}};
    return LIANA_OK;
}

static liana_status open_files(liana_dataset *dataset, const char *pattern, liana__error *error)
{
    records *own = dataset->own;
    liana__paths paths;
    LIANA_TRY(liana__named_files_find(pattern, &dataset->arena, &own->remote, &paths, error));
    liana__record_files *files = &own->files;
    LIANA_TRY(liana__record_files_begin(files, paths.count, error));
    for (size_t i = 0; i < paths.count; i++) {
        LIANA_TRY(liana__record_files_add(files, paths.items[i], false, error));
    }
    LIANA_TRY(liana__record_files_list_blocks(files, error));
    dataset->length = (int64_t)files->starts[files->count];
    dataset->num_blocks = files->num_blocks;
    dataset->block_starts = files->block_starts;
    return LIANA_OK;
}

liana_dataset *liana_dataset_tfrecord(liana_context *context, const char *pattern)
{
    LIANA__REQUIRE_OR(NULL, liana__context_error(context), pattern);
    static const liana_component record = {.name = "record", .dtype = LIANA_STRING};
    liana_dataset *dataset = liana__dataset_create(context, &liana__stage_tfrecord, NULL, 0, sizeof(records));
    if (!dataset) return NULL;
    dataset->random_access = true;
    liana_status status = liana__spec_make(&dataset->arena, &record, 1, &dataset->spec, &context->error);
    if (status == LIANA_OK) status = open_files(dataset, pattern, &context->error);
    if (status != LIANA_OK) liana__remote_fail_within(((records *)dataset->own)->remote, &context->error);
    return liana__dataset_finish(dataset, status);
}

static liana_record_address address_of(const liana_dataset *dataset, uint64_t record)
{
    const liana__tfrecord *file = liana__record_files_find(&((const records *)dataset->own)->files, &record);
    return (liana_record_address){liana__tfrecord_name(file), (int64_t)record, 0};
}

static void describe(const liana_dataset *dataset, liana__fingerprint *settings, liana__fingerprint *sources)
{
    const liana__record_files *files = &((const records *)dataset->own)->files;
    for (size_t i = 0; i < files->count; i++) {
        const liana__tfrecord *file = files->items[i];
        liana__fingerprint_add_file(settings, sources, liana__tfrecord_name(file), liana__tfrecord_count(file));
    }
}

const liana_stage_type liana__stage_tfrecord = {
    LIANA_PART(STAGE, liana_stage_type, "tfrecord", "The records of TFRecord files, plain or compressed."),
    .describe = describe,
    .close = close_records,
    .memory = memory_of,
    .read = read_record,
    .reader_size = sizeof(records_reader),
    .reader_free = free_reader,
    .reader_bytes = reader_bytes,
    .address = address_of,
};
