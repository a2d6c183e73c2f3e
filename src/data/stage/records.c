/* The records of TFRecord files as they are: strings. Compressed files are read in blocks. */
#include "base/file.h"
#include "base/search.h"
#include "data/dataset/dataset.h"
#include "formats/tfrecord.h"
#include "formats/tfrecord_blocks.h"
#include "remote/remote.h"

#include <stdlib.h>

enum { CACHED_BLOCKS = 2 * LIANA__BLOCK_WINDOW };

/* One of the two. */
typedef struct record_file {
    liana__tfrecord *plain;
    liana__tfrecord_blocks *blocks; /* compressed */
} record_file;

typedef struct records {
    liana__remote *remote; /* where URLs are local files, or NULL */
    size_t num_files;
    record_file *files;
    char **paths;     /* of the files */
    uint64_t *starts; /* [num_files + 1] number of each file's first record */
    liana__block_cache *cache;
} records;

typedef struct records_reader {
    liana_bytes value;
    liana__file_buffer buffer; /* a record of a plain file */
    liana__block *block;       /* that was read last */
} records_reader;

static void free_reader(void *own)
{
    records_reader *reader = own;
    liana__block_release(reader->block);
    liana__file_buffer_free(&reader->buffer);
}

static size_t reader_bytes(const liana__reader *reader)
{
    const records_reader *own = reader->own;
    return own->buffer.capacity + (own->block ? liana__block_size(own->block) : 0);
}

/* The index, and for compressed files the blocks that are kept. */
static size_t memory_of(const liana_dataset *dataset)
{
    const records *own = dataset->own;
    size_t bytes = dataset->num_blocks * sizeof *dataset->block_starts;
    bool compressed = false;
    for (size_t i = 0; i < own->num_files; i++) {
        const record_file *file = &own->files[i];
        compressed = compressed || file->blocks;
        bytes += file->plain ? liana__tfrecord_memory(file->plain) : liana__tfrecord_blocks_memory(file->blocks);
    }
    return compressed ? bytes + (size_t)CACHED_BLOCKS * LIANA__TFRECORD_BLOCK : bytes;
}

static void close_records(liana_dataset *dataset)
{
    const records *own = dataset->own;
    for (size_t i = 0; i < own->num_files; i++) {
        liana__tfrecord_close(own->files[i].plain);
        liana__tfrecord_blocks_close(own->files[i].blocks);
    }
    liana__block_cache_destroy(own->cache);
    liana__remote_destroy(own->remote);
}

static liana_status read_record(liana__reader *reader, const liana__at *at, liana_element *element, liana__error *error)
{
    const records *own = reader->dataset->own;
    records_reader *with = reader->own;
    const size_t part = liana__part_of(own->starts, own->num_files, at->index);
    const record_file *file = &own->files[part];
    uint64_t record = at->index - own->starts[part];
    const uint8_t *bytes;
    if (file->plain) {
        with->buffer.share = reader->share;
        LIANA_TRY(liana__tfrecord_read(file->plain, (size_t)record, &with->buffer, &bytes, &with->value.size, error));
    } else {
        LIANA_TRY(liana__tfrecord_blocks_get(file->blocks, record, &with->block, &bytes, &with->value.size, error));
    }
    with->value.data = bytes;
    *element =
        (liana_element){.spec = &reader->dataset->spec, .record = at->index, .data = {&with->value}, .rows = {1}};
    return LIANA_OK;
}

static liana_status open_file(records *own, const char *path, liana__error *error)
{
    record_file *file = &own->files[own->num_files];
    bool compressed;
    uint64_t count;
    LIANA_TRY(liana__tfrecord_probe(path, &compressed, error));
    if (compressed) {
        LIANA_TRY(liana__tfrecord_blocks_open(path, LIANA__TFRECORD_BLOCK, own->cache, &file->blocks, error));
        count = liana__tfrecord_blocks_count(file->blocks);
    } else {
        LIANA_TRY(liana__tfrecord_open(path, NULL, &file->plain, error));
        count = liana__tfrecord_count(file->plain);
    }
    own->num_files++;
    own->starts[own->num_files] = own->starts[own->num_files - 1] + count;
    return LIANA_OK;
}

static size_t plain_blocks(const records *own, size_t file)
{
    return (size_t)(own->starts[file + 1] - own->starts[file] + LIANA__PLAIN_BLOCK - 1) / LIANA__PLAIN_BLOCK;
}

/* Where compressed files are among the files; plain ones then have blocks too. */
static liana_status list_blocks(liana_dataset *dataset, liana__error *error)
{
    const records *own = dataset->own;
    size_t count = 0;
    bool compressed = false;
    for (size_t i = 0; i < own->num_files; i++) {
        const record_file *file = &own->files[i];
        compressed = compressed || file->blocks;
        count += file->blocks ? liana__tfrecord_blocks_num_blocks(file->blocks) : plain_blocks(own, i);
    }
    if (!compressed) return LIANA_OK;
    uint64_t *starts = liana__arena_allocate(&dataset->arena, (count + 1) * sizeof *starts);
    if (!starts) return liana__fail_memory(error, "a list of blocks");
    dataset->block_starts = starts;
    dataset->num_blocks = count;
    for (size_t i = 0; i < own->num_files; i++) {
        const liana__tfrecord_blocks *blocks = own->files[i].blocks;
        size_t of_file = blocks ? liana__tfrecord_blocks_num_blocks(blocks) : plain_blocks(own, i);
        for (size_t k = 0; k < of_file; k++) {
            *starts++ =
                own->starts[i] + (blocks ? liana__tfrecord_blocks_first(blocks, k) : (uint64_t)k * LIANA__PLAIN_BLOCK);
        }
    }
    return LIANA_OK;
}

static liana_status open_files(liana_dataset *dataset, const char *pattern, liana__error *error)
{
    records *own = dataset->own;
    char **one = liana__arena_allocate(&dataset->arena, sizeof *one);
    if (!one || !(*one = liana__arena_string(&dataset->arena, pattern))) return liana__fail_memory(error, pattern);
    liana__paths paths = {one, 1};
    if (liana__path_is_remote(pattern)) {
        LIANA_TRY(liana__remote_create(NULL, &own->remote, error));
        LIANA_TRY(liana__remote_resolve(own->remote, &pattern, 1, &dataset->arena, &paths, error));
    } else if (!liana__file_exists(pattern)) {
        LIANA_TRY(liana__file_match(pattern, &dataset->arena, &paths, error));
    }
    own->paths = paths.items;
    own->files = liana__arena_allocate(&dataset->arena, paths.count * sizeof *own->files);
    own->starts = liana__arena_allocate(&dataset->arena, (paths.count + 1) * sizeof *own->starts);
    own->cache = liana__block_cache_create((size_t)CACHED_BLOCKS * LIANA__TFRECORD_BLOCK);
    if (dataset->arena.failed || !own->cache) return liana__fail_memory(error, "a list of files");
    for (size_t i = 0; i < paths.count; i++) LIANA_TRY(open_file(own, paths.items[i], error));
    dataset->length = (int64_t)own->starts[own->num_files];
    return list_blocks(dataset, error);
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

static void describe(const liana_dataset *dataset, liana__fingerprint *settings, liana__fingerprint *sources)
{
    const records *own = dataset->own;
    for (size_t i = 0; i < own->num_files; i++) {
        liana__fingerprint_add_file(settings, sources, own->paths[i], own->starts[i + 1] - own->starts[i]);
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
};
