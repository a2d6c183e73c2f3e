/* Reads compressed TFRecord files block by block. */
#include "formats/tfrecord_blocks.h"

#include "base/crc32c.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/search.h"
#include "formats/gzip.h"
#include "formats/gzip_index.h"
#include "formats/sniff.h"
#include "formats/tfrecord_frame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct liana__tfrecord_blocks {
    char *name;
    liana__mapping mapping;
    liana__block_cache *cache;
    liana__gzip_index *index;
    uint64_t count;
    size_t capacity;
    uint64_t *offsets; /* of each record's header in the inflated bytes */
    uint64_t size;     /* of these */
    size_t num_blocks;
    uint64_t *firsts; /* [num_blocks + 1] the first record of each block */
};

/* The pass over the inflated bytes: headers are gathered, data are passed over. */
typedef struct record_finder {
    liana__tfrecord_blocks *file;
    uint8_t header[LIANA__TFRECORD_HEADER];
    size_t have;   /* bytes of the header */
    uint64_t left; /* bytes of data and their checksum still to come */
} record_finder;

liana_status liana__tfrecord_probe(const char *path, bool *compressed, liana__error *error)
{
    uint8_t head[LIANA__TFRECORD_HEADER];
    size_t size;
    *compressed = false;
    LIANA_TRY(liana__file_read_head(path, head, sizeof head, &size, error));
    *compressed = liana__tfrecord_is_compressed(head, size);
    return LIANA_OK;
}

static liana_status fail_header(const record_finder *finder, liana__error *error)
{
    const liana__tfrecord_blocks *file = finder->file;
    const char *looks = file->count == 0 ? liana__sniff(finder->header, finder->have) : NULL;
    if (looks) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "'%s' is not a TFRecord file: what it holds after inflating looks like %s", file->name,
                           looks);
    }
    return liana__fail(error, LIANA_DATA_LOSS,
                       "'%s': the checksum of the length of record %" PRIu64 " at offset %" PRIu64
                       " of the inflated data "
                       "is wrong: the file says 0x%08" PRIx32 ", the bytes give 0x%08" PRIx32 "; %s",
                       file->name, file->count, file->size, liana__load_u32(finder->header + LIANA__TFRECORD_LENGTH),
                       liana__tfrecord_checksum(finder->header, LIANA__TFRECORD_LENGTH),
                       file->count == 0 ? "the file is damaged or not a TFRecord file"
                                        : "the file is damaged; copy or download it again");
}

/* A whole header is there. `file->size` is where it began. */
static liana_status add_record(record_finder *finder, liana__error *error)
{
    liana__tfrecord_blocks *file = finder->file;
    if (!liana__tfrecord_header_is_right(finder->header, finder->have)) return fail_header(finder, error);
    uint64_t length = liana__load_u64(finder->header);
    if (length > LIANA__TFRECORD_LARGEST) {
        return liana__fail(error, LIANA_OUT_OF_RANGE,
                           "'%s': record %" PRIu64 " at offset %" PRIu64
                           " of the inflated data has a length of %" PRIu64
                           " bytes, more than the %d that a record may have",
                           file->name, file->count, file->size, length, LIANA__TFRECORD_LARGEST);
    }
    if (!liana__grow(&file->offsets, file->count, &file->capacity, sizeof *file->offsets)) {
        return liana__fail_memory(error, file->name);
    }
    file->offsets[file->count++] = file->size;
    finder->left = length + LIANA__TFRECORD_CHECKSUM;
    file->size += LIANA__TFRECORD_HEADER + finder->left;
    finder->have = 0;
    return LIANA_OK;
}

static liana_status find_records(void *context, const uint8_t *bytes, size_t size, liana__error *error)
{
    record_finder *finder = context;
    while (size > 0) {
        if (finder->left) {
            size_t step = finder->left < size ? (size_t)finder->left : size;
            finder->left -= step;
            bytes += step;
            size -= step;
            continue;
        }
        size_t need = LIANA__TFRECORD_HEADER - finder->have, step = need < size ? need : size;
        memcpy(finder->header + finder->have, bytes, step);
        finder->have += step;
        bytes += step;
        size -= step;
        if (finder->have == LIANA__TFRECORD_HEADER) LIANA_TRY(add_record(finder, error));
    }
    return LIANA_OK;
}

static liana_status check_end(const record_finder *finder, liana__error *error)
{
    const liana__tfrecord_blocks *file = finder->file;
    if (!finder->left && !finder->have) return LIANA_OK;
    if (finder->have && file->count == 0) {
        const char *looks = liana__sniff(finder->header, finder->have);
        if (looks) return fail_header(finder, error);
    }
    uint64_t record = finder->left ? file->count - 1 : file->count;
    return liana__fail(error, LIANA_DATA_LOSS,
                       "'%s' is truncated: the inflated data end in the middle of record %" PRIu64 " at offset %" PRIu64
                       "; copy or download the file again",
                       file->name, record, finder->left ? file->offsets[record] : file->size);
}

/* Block b has the records that begin at or after place b, and before the next place. */
static liana_status find_blocks(liana__tfrecord_blocks *file, liana__error *error)
{
    size_t num_places = liana__gzip_index_count(file->index), place = 0;
    file->firsts = malloc((num_places + 1) * sizeof *file->firsts);
    if (!file->firsts) return liana__fail_memory(error, file->name);
    for (uint64_t record = 0; record < file->count; record++) {
        bool opens = record == 0;
        while (place + 1 < num_places && liana__gzip_index_offset(file->index, place + 1) <= file->offsets[record]) {
            place++;
            opens = true;
        }
        if (opens) file->firsts[file->num_blocks++] = record;
    }
    file->firsts[file->num_blocks] = file->count;
    return LIANA_OK;
}

static liana_status open_file(liana__tfrecord_blocks *file, const char *path, uint64_t span, liana__error *error)
{
    file->name = strdup(path);
    if (!file->name) return liana__fail_memory(error, path);
    LIANA_TRY(liana__file_map(path, &file->mapping, error));
    enum { AHEAD = 1 << 16 };
    record_finder finder = {.file = file};
    liana__file_view view = liana__file_view_of(path, &file->mapping, AHEAD);
    LIANA_TRY(liana__gzip_index_build(&view, span, find_records, &finder, &file->index, error));
    LIANA_TRY(check_end(&finder, error));
    return find_blocks(file, error);
}

liana_status liana__tfrecord_blocks_open(const char *path, uint64_t span, liana__block_cache *cache,
                                         liana__tfrecord_blocks **out, liana__error *error)
{
    *out = NULL;
    liana__tfrecord_blocks *file = calloc(1, sizeof *file);
    if (!file) return liana__fail_memory(error, path);
    file->cache = cache;
    liana_status status = open_file(file, path, span, error);
    if (status != LIANA_OK) {
        liana__tfrecord_blocks_close(file);
        return status;
    }
    *out = file;
    return LIANA_OK;
}

void liana__tfrecord_blocks_close(liana__tfrecord_blocks *file)
{
    if (!file) return;
    liana__gzip_index_free(file->index);
    liana__file_unmap(&file->mapping);
    free(file->offsets);
    free(file->firsts);
    free(file->name);
    free(file);
}

const char *liana__tfrecord_blocks_name(const liana__tfrecord_blocks *file)
{
    return file->name;
}

uint64_t liana__tfrecord_blocks_count(const liana__tfrecord_blocks *file)
{
    return file->count;
}

size_t liana__tfrecord_blocks_num_blocks(const liana__tfrecord_blocks *file)
{
    return file->num_blocks;
}

uint64_t liana__tfrecord_blocks_first(const liana__tfrecord_blocks *file, size_t block)
{
    return file->firsts[block];
}

size_t liana__tfrecord_blocks_memory(const liana__tfrecord_blocks *file)
{
    return file->capacity * sizeof *file->offsets + (file->num_blocks + 1) * sizeof *file->firsts +
           liana__gzip_index_memory(file->index);
}

uint64_t liana__tfrecord_blocks_offset(const liana__tfrecord_blocks *file, uint64_t record)
{
    return file->offsets[record];
}

/* ---- reading ---- */

static uint64_t end_of(const liana__tfrecord_blocks *file, uint64_t record)
{
    return record < file->count ? file->offsets[record] : file->size;
}

static liana_status fill_block(const void *owner, uint64_t number, uint8_t *bytes, size_t size, liana__error *error)
{
    const liana__tfrecord_blocks *file = owner;
    LIANA_TRY(liana__mapping_check(&file->mapping, file->name, error));
    return liana__gzip_index_read(file->index, file->offsets[file->firsts[number]], bytes, size, error);
}

static size_t block_of(const liana__tfrecord_blocks *file, uint64_t record)
{
    return liana__part_of(file->firsts, file->num_blocks, record);
}

liana_status liana__tfrecord_blocks_get(const liana__tfrecord_blocks *file, uint64_t record, liana__block **held,
                                        const uint8_t **bytes, size_t *size, liana__error *error)
{
    *bytes = NULL;
    *size = 0;
    if (record >= file->count) {
        return liana__fail(error, LIANA_OUT_OF_RANGE,
                           "'%s' has no record %" PRIu64 ": it has %" PRIu64 " records, counted from 0", file->name,
                           record, file->count);
    }
    size_t number = block_of(file, record);
    uint64_t begin = file->offsets[file->firsts[number]];
    liana__block_request request = {.owner = file,
                                    .number = number,
                                    .size = (size_t)(end_of(file, file->firsts[number + 1]) - begin),
                                    .fill = fill_block};
    liana__block *block;
    liana_status status = liana__block_cache_get(file->cache, &request, &block, error);
    liana__block_release(*held);
    *held = block;
    LIANA_TRY(status);
    size_t offset = (size_t)(file->offsets[record] - begin);
    const uint8_t *data = liana__block_bytes(block) + offset + LIANA__TFRECORD_HEADER;
    size_t length =
        (size_t)(end_of(file, record + 1) - file->offsets[record]) - LIANA__TFRECORD_HEADER - LIANA__TFRECORD_CHECKSUM;
    uint32_t said = liana__load_u32(data + length), found = liana__tfrecord_checksum(data, length);
    if (said != found) {
        return liana__fail(error, LIANA_DATA_LOSS,
                           "'%s': the checksum of record %" PRIu64 " (%zu bytes at offset %" PRIu64 " of the inflated "
                           "data) is wrong: the file says 0x%08" PRIx32 ", the data give 0x%08" PRIx32 "; copy or "
                           "download the file again",
                           file->name, record, length, file->offsets[record], said, found);
    }
    *bytes = data;
    *size = length;
    return LIANA_OK;
}
