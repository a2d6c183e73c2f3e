/* Reads and writes TFRecord files. */
#include "formats/tfrecord.h"

#include "base/file.h"
#include "base/file_view.h"
#include "base/memory.h"
#include "base/search.h"
#include "formats/gzip_index.h"
#include "formats/sniff.h"
#include "formats/tfrecord_frame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    LENGTH_SIZE = LIANA__TFRECORD_LENGTH,
    CHECKSUM_SIZE = LIANA__TFRECORD_CHECKSUM,
    HEADER_SIZE = LIANA__TFRECORD_HEADER,
};

struct liana__tfrecord {
    char *name;
    liana__mapping mapping;
    uint8_t *inflated; /* NULL: the file is not compressed, or read in blocks */
    const char *compression;
    const uint8_t *bytes; /* the records: mapped or inflated; NULL: in blocks */
    size_t size;
    size_t count;
    size_t capacity;
    uint64_t *offsets; /* of each record's header */
    char *damage;      /* why there are no more of them; NULL: these are all */
    size_t end;        /* of the last record */
    /* Of a compressed file that is read in blocks; NULL: it is not. */
    liana__gzip_index *index;
    liana__block_cache *cache;
    size_t num_blocks;
    uint64_t *firsts; /* [num_blocks + 1] the first record of each block */
};

static void store_u32(uint8_t *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++) bytes[i] = (uint8_t)(value >> (8 * i));
}

static bool is_compressed(const liana__tfrecord *file)
{
    return strcmp(file->compression, "none") != 0;
}

/* The unit of offsets in messages. */
static const char *offset_unit(const liana__tfrecord *file)
{
    return is_compressed(file) ? " of the inflated data" : "";
}

static liana_status fail_not_tfrecord(const liana__tfrecord *file, const char *looks, liana__error *error)
{
    return liana__fail(error, LIANA_INVALID_DATA, "'%s' is not a TFRecord file: %s looks like %s", file->name,
                       is_compressed(file) ? "what it holds after inflating" : "it", looks);
}

/* The kind of file that a file without a record looks like, or NULL. */
static const char *sniff_start(const liana__tfrecord *file, liana__file_view *view)
{
    enum { ENOUGH = 512 };
    const uint8_t *bytes;
    size_t size = view->size < ENOUGH ? view->size : ENOUGH;
    if (file->count > 0 || liana__file_view_get(view, 0, size, &bytes, NULL) != LIANA_OK) return NULL;
    return liana__sniff(bytes, size);
}

static liana_status fail_short_header(const liana__tfrecord *file, liana__file_view *view, liana__error *error)
{
    size_t left = file->size - file->end;
    const char *looks = sniff_start(file, view);
    if (looks) return fail_not_tfrecord(file, looks, error);
    return liana__fail(error, LIANA_DATA_LOSS,
                       "'%s' is truncated: record %zu at offset %zu%s has %zu bytes of its header, expected %d; copy "
                       "or download the file again",
                       file->name, file->count, file->end, offset_unit(file), left, HEADER_SIZE);
}

/* `looks`: the kind of file that this one looks like, or NULL. */
static liana_status fail_length_checksum(const liana__tfrecord *file, const char *looks, const uint8_t *header,
                                         liana__error *error)
{
    uint32_t said = liana__load_u32(header + LENGTH_SIZE), found = liana__tfrecord_checksum(header, LENGTH_SIZE);
    if (looks) return fail_not_tfrecord(file, looks, error);
    return liana__fail(error, LIANA_DATA_LOSS,
                       "'%s': the checksum of the length of record %zu at offset %zu%s is wrong: the file says "
                       "0x%08" PRIx32 ", the bytes give 0x%08" PRIx32 "; %s",
                       file->name, file->count, file->end, offset_unit(file), said, found,
                       file->count == 0 ? "the file is damaged or not a TFRecord file"
                                        : "the file is damaged; copy or download it again");
}

static liana_status fail_short_data(const liana__tfrecord *file, size_t left, uint64_t length, liana__error *error)
{
    const char *cause = length >> 40 ? "no record can be so long; the program that wrote the file has an error"
                                     : "the file is truncated; copy or download it again";
    return liana__fail(error, LIANA_DATA_LOSS,
                       "'%s': record %zu at offset %zu%s has a length of %" PRIu64 " bytes and %d bytes of checksum, "
                       "but %zu bytes are left in the file: %s",
                       file->name, file->count, file->end, offset_unit(file), length, CHECKSUM_SIZE, left, cause);
}

/* Adds the record at the end of those before it. */
static liana_status add_record(liana__tfrecord *file, uint64_t length, liana__error *error)
{
    if (!liana__grow(&file->offsets, file->count, &file->capacity, sizeof *file->offsets)) {
        return liana__fail_memory(error, file->name);
    }
    file->offsets[file->count++] = file->end;
    file->end += HEADER_SIZE + (size_t)length + CHECKSUM_SIZE;
    return LIANA_OK;
}

static liana_status find_records(liana__tfrecord *file, liana__file_view *view, liana__error *error)
{
    while (file->end < file->size) {
        size_t left = file->size - file->end;
        const uint8_t *header;
        if (left < HEADER_SIZE) return fail_short_header(file, view, error);
        LIANA_TRY(liana__file_view_get(view, file->end, HEADER_SIZE, &header, error));
        if (!liana__tfrecord_header_is_right(header, left)) {
            return fail_length_checksum(file, sniff_start(file, view), header, error);
        }
        uint64_t length = liana__load_u64(header);
        left -= HEADER_SIZE;
        if (left < CHECKSUM_SIZE || length > left - CHECKSUM_SIZE) return fail_short_data(file, left, length, error);
        LIANA_TRY(add_record(file, length, error));
    }
    return LIANA_OK;
}

/* Copies headers together with the bytes after them, in case records are small. */
static liana_status build_index(liana__tfrecord *file, liana__error *error)
{
    enum { AHEAD = 4096 };
    liana__file_view view = file->mapping.data ? liana__file_view_of(file->name, &file->mapping, AHEAD)
                                               : liana__file_view_of_bytes(file->name, file->bytes, file->size);
    liana_status status = find_records(file, &view, error);
    /* If the file was cut, the missing part read as zeros, and may have caused any message. */
    liana_status cut = liana__file_view_check(&view, error);
    liana__file_view_free(&view);
    return cut == LIANA_OK ? status : cut;
}

/* The same, but keeps the records before damage. A file that is not a TFRecord file has none. */
static liana_status build_start_of_index(liana__tfrecord *file, liana__error *error)
{
    liana__error damage = {0};
    liana_status status = build_index(file, &damage);
    if (status == LIANA_DATA_LOSS) {
        file->damage = strdup(damage.message);
        return file->damage ? LIANA_OK : liana__fail_memory(error, file->name);
    }
    return status == LIANA_OK ? LIANA_OK : liana__fail_as(error, &damage);
}

/* ---- blocks of a compressed file ---- */

/* The pass over the inflated bytes: headers are gathered, data are passed over. */
typedef struct record_finder {
    liana__tfrecord *file;
    uint8_t header[HEADER_SIZE];
    size_t have;   /* bytes of the header */
    uint64_t left; /* bytes of data and their checksum still to come */
} record_finder;

static const char *sniff_header(const record_finder *finder)
{
    return finder->file->count == 0 ? liana__sniff(finder->header, finder->have) : NULL;
}

/* A whole header is there. */
static liana_status finish_header(record_finder *finder, liana__error *error)
{
    liana__tfrecord *file = finder->file;
    if (!liana__tfrecord_header_is_right(finder->header, finder->have)) {
        return fail_length_checksum(file, sniff_header(finder), finder->header, error);
    }
    uint64_t length = liana__load_u64(finder->header);
    if (length > LIANA__TFRECORD_LARGEST) {
        return liana__fail(error, LIANA_OUT_OF_RANGE,
                           "'%s': record %zu at offset %zu of the inflated data has a length of %" PRIu64
                           " bytes, more than the %d that a record may have",
                           file->name, file->count, file->end, length, LIANA__TFRECORD_LARGEST);
    }
    LIANA_TRY(add_record(file, length, error));
    finder->left = length + CHECKSUM_SIZE;
    finder->have = 0;
    return LIANA_OK;
}

static liana_status take_inflated(void *context, const uint8_t *bytes, size_t size, liana__error *error)
{
    record_finder *finder = context;
    while (size > 0) {
        size_t need = finder->left ? (size_t)finder->left : HEADER_SIZE - finder->have,
               step = need < size ? need : size;
        if (finder->left) {
            finder->left -= step;
        } else {
            memcpy(finder->header + finder->have, bytes, step);
            finder->have += step;
            if (finder->have == HEADER_SIZE) LIANA_TRY(finish_header(finder, error));
        }
        bytes += step;
        size -= step;
    }
    return LIANA_OK;
}

static liana_status check_end(const record_finder *finder, liana__error *error)
{
    const liana__tfrecord *file = finder->file;
    if (!finder->left && !finder->have) return LIANA_OK;
    const char *looks = finder->have ? sniff_header(finder) : NULL;
    if (looks) return fail_not_tfrecord(file, looks, error);
    size_t record = finder->left ? file->count - 1 : file->count;
    return liana__fail(error, LIANA_DATA_LOSS,
                       "'%s' is truncated: the inflated data end in the middle of record %zu at offset %zu"
                       "; copy or download the file again",
                       file->name, record, finder->left ? (size_t)file->offsets[record] : file->end);
}

/* Block b has the records that begin at or after place b, and before the next place. */
static liana_status find_blocks(liana__tfrecord *file, liana__error *error)
{
    size_t num_places = liana__gzip_index_count(file->index), place = 0;
    file->firsts = malloc((num_places + 1) * sizeof *file->firsts);
    if (!file->firsts) return liana__fail_memory(error, file->name);
    for (size_t record = 0; record < file->count; record++) {
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

static liana_status find_records_in_blocks(liana__tfrecord *file, uint64_t block_size, liana__error *error)
{
    enum { AHEAD = 1 << 16 };
    LIANA_TRY(liana__file_map(file->name, &file->mapping, error));
    record_finder finder = {.file = file};
    liana__file_view view = liana__file_view_of(file->name, &file->mapping, AHEAD);
    if (!block_size) block_size = LIANA__TFRECORD_BLOCK;
    LIANA_TRY(liana__gzip_index_build(&view, block_size, take_inflated, &finder, &file->index, error));
    LIANA_TRY(check_end(&finder, error));
    return find_blocks(file, error);
}

static liana_status fill_block(const void *owner, uint64_t number, uint8_t *bytes, size_t size, liana__error *error)
{
    const liana__tfrecord *file = owner;
    LIANA_TRY(liana__mapping_check(&file->mapping, file->name, error));
    return liana__gzip_index_read(file->index, file->offsets[file->firsts[number]], bytes, size, error);
}

static size_t end_of(const liana__tfrecord *file, uint64_t record)
{
    return record + 1 < file->count ? (size_t)file->offsets[record + 1] : file->end;
}

/* Gives the bytes from `begin` on, in the block of the record, which is held until the next call. */
static liana_status hold_block(const liana__tfrecord *file, size_t record, size_t begin, liana__block **held,
                               const uint8_t **bytes, liana__error *error)
{
    size_t number = liana__part_of(file->firsts, file->num_blocks, record);
    size_t first = (size_t)file->offsets[file->firsts[number]];
    const liana__block_request request = {.owner = file,
                                          .number = number,
                                          .size = end_of(file, file->firsts[number + 1] - 1) - first,
                                          .fill = fill_block};
    liana__block *block;
    liana_status status = liana__block_cache_get(file->cache, &request, &block, error);
    liana__block_release(*held);
    *held = block;
    if (status == LIANA_OK) *bytes = liana__block_bytes(block) + (begin - first);
    return status;
}

/* ---- opening ---- */

static const char *find_compression(const uint8_t *bytes, size_t size)
{
    if (!liana__tfrecord_is_compressed(bytes, size)) return "none";
    return liana__is_gzip(bytes, size) ? "gzip" : "zlib";
}

liana_status liana__tfrecord_probe(const char *path, bool *compressed, liana__error *error)
{
    uint8_t head[HEADER_SIZE];
    size_t size;
    *compressed = false;
    LIANA_TRY(liana__file_read_head(path, head, sizeof head, &size, error));
    *compressed = liana__tfrecord_is_compressed(head, size);
    return LIANA_OK;
}

static liana_status index_records(liana__tfrecord *file, const liana__tfrecord_options *options, liana__error *error)
{
    return options->keep_start ? build_start_of_index(file, error) : build_index(file, error);
}

/* Reads a compressed file into memory first, where nobody can cut it. */
static liana_status read_compressed(liana__tfrecord *file, const liana__tfrecord_options *options, liana__error *error)
{
    char *bytes;
    size_t size;
    LIANA_TRY(liana__file_read(file->name, SIZE_MAX / 2, &bytes, &size, error));
    liana_status status = liana__inflate(file->name, (const uint8_t *)bytes, size, options->inflated_limit,
                                         &file->inflated, &file->size, error);
    free(bytes);
    file->bytes = file->inflated;
    return status == LIANA_OK ? index_records(file, options, error) : status;
}

static liana_status read_file(liana__tfrecord *file, const liana__tfrecord_options *options, liana__error *error)
{
    uint8_t head[HEADER_SIZE];
    size_t head_size;
    LIANA_TRY(liana__file_read_head(file->name, head, sizeof head, &head_size, error));
    file->compression = find_compression(head, head_size);
    file->cache = options->cache;
    if (is_compressed(file) && file->cache) return find_records_in_blocks(file, options->block_size, error);
    if (is_compressed(file)) return read_compressed(file, options, error);
    LIANA_TRY(liana__file_map(file->name, &file->mapping, error));
    file->bytes = file->mapping.data;
    file->size = file->mapping.size;
    return index_records(file, options, error);
}

liana_status liana__tfrecord_open(const char *path, const liana__tfrecord_options *options, liana__tfrecord **out,
                                  liana__error *error)
{
    static const liana__tfrecord_options defaults;
    if (!options) options = &defaults;
    *out = NULL;
    liana__tfrecord *file = calloc(1, sizeof *file);
    if (file) file->name = strdup(path);
    liana_status status = file && file->name ? read_file(file, options, error) : liana__fail_memory(error, path);
    if (status == LIANA_OK) {
        *out = file;
        return LIANA_OK;
    }
    liana__tfrecord_close(file);
    if (!options->cache || !options->keep_start || status == LIANA_OUT_OF_MEMORY) return status;
    /* A damaged compressed file may still have a good start, which is found by inflating it as a whole. */
    const liana__tfrecord_options whole = {.inflated_limit = options->inflated_limit, .keep_start = true};
    return liana__tfrecord_open(path, &whole, out, error);
}

void liana__tfrecord_close(liana__tfrecord *file)
{
    if (!file) return;
    liana__gzip_index_free(file->index);
    liana__file_unmap(&file->mapping);
    free(file->inflated);
    free(file->offsets);
    free(file->firsts);
    free(file->damage);
    free(file->name);
    free(file);
}

size_t liana__tfrecord_count(const liana__tfrecord *file)
{
    return file->count;
}

const char *liana__tfrecord_name(const liana__tfrecord *file)
{
    return file->name;
}

const char *liana__tfrecord_compression(const liana__tfrecord *file)
{
    return file->compression;
}

const char *liana__tfrecord_damage(const liana__tfrecord *file, uint64_t *offset, uint64_t *lost)
{
    *offset = file->end;
    *lost = file->size - file->end;
    return file->damage;
}

size_t liana__tfrecord_memory(const liana__tfrecord *file)
{
    size_t bytes = file->capacity * sizeof *file->offsets + (file->inflated ? file->size : 0);
    if (!file->index) return bytes;
    return bytes + (file->num_blocks + 1) * sizeof *file->firsts + liana__gzip_index_memory(file->index);
}

size_t liana__tfrecord_num_blocks(const liana__tfrecord *file)
{
    return file->num_blocks;
}

uint64_t liana__tfrecord_first(const liana__tfrecord *file, size_t block)
{
    return file->firsts[block];
}

uint64_t liana__tfrecord_offset(const liana__tfrecord *file, size_t record)
{
    return file->offsets[record];
}

/* Finds the data of a record; their checksum follows them. */
static liana_status find_data(const liana__tfrecord *file, size_t record, size_t *begin, size_t *length,
                              liana__error *error)
{
    if (record >= file->count) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "'%s' has no record %zu: it has %zu records, counted from 0",
                           file->name, record, file->count);
    }
    *begin = (size_t)file->offsets[record] + HEADER_SIZE;
    *length = end_of(file, record) - *begin - CHECKSUM_SIZE;
    return LIANA_OK;
}

static liana_status check_data(const liana__tfrecord *file, size_t record, const uint8_t *data, size_t length,
                               liana__error *error)
{
    uint32_t said = liana__load_u32(data + length), found = liana__tfrecord_checksum(data, length);
    if (said != found) {
        return liana__fail(error, LIANA_DATA_LOSS,
                           "'%s': the checksum of record %zu (%zu bytes at offset %zu%s) is wrong: the file says "
                           "0x%08" PRIx32 ", the data give 0x%08" PRIx32 "; copy or download the file again",
                           file->name, record, length, (size_t)file->offsets[record], offset_unit(file), said, found);
    }
    return LIANA_OK;
}

liana_status liana__tfrecord_get(const liana__tfrecord *file, size_t record, const uint8_t **bytes, size_t *size,
                                 liana__error *error)
{
    size_t begin = 0, length = 0;
    *bytes = NULL;
    *size = 0;
    LIANA_TRY(find_data(file, record, &begin, &length, error));
    LIANA_TRY(liana__mapping_check(&file->mapping, file->name, error));
    LIANA_TRY(check_data(file, record, file->bytes + begin, length, error));
    *bytes = file->bytes + begin;
    *size = length;
    return LIANA_OK;
}

liana_status liana__tfrecord_read(const liana__tfrecord *file, size_t record, liana__tfrecord_reader *reader,
                                  const uint8_t **bytes, size_t *size, liana__error *error)
{
    if (!file->mapping.data) return liana__tfrecord_get(file, record, bytes, size, error);
    liana__file_buffer *buffer = &reader->buffer;
    size_t begin = 0, length = 0;
    const uint8_t *data;
    *bytes = NULL;
    *size = 0;
    LIANA_TRY(find_data(file, record, &begin, &length, error));
    if (file->index) {
        LIANA_TRY(hold_block(file, record, begin, &reader->block, &data, error));
    } else {
        LIANA_TRY(liana__mapping_read(&file->mapping, file->name, begin, length + CHECKSUM_SIZE, buffer, error));
        data = (const uint8_t *)buffer->bytes;
    }
    LIANA_TRY(check_data(file, record, data, length, error));
    *bytes = data;
    *size = length;
    return LIANA_OK;
}

size_t liana__tfrecord_reader_bytes(const liana__tfrecord_reader *reader)
{
    return reader->buffer.capacity + (reader->block ? liana__block_size(reader->block) : 0);
}

void liana__tfrecord_reader_free(liana__tfrecord_reader *reader)
{
    liana__file_buffer_free(&reader->buffer);
    liana__block_release(reader->block);
    reader->block = NULL;
}

void liana__tfrecord_expect(const liana__tfrecord *file, size_t record)
{
    if (!file->mapping.data || file->index || record >= file->count) return;
    size_t begin = (size_t)file->offsets[record];
    liana__mapping_expect(&file->mapping, begin, end_of(file, record) - begin);
}

liana_status liana__tfrecord_writer_begin(liana__tfrecord_writer *writer, const char *path, liana__error *error)
{
    writer->count = 0;
    return liana__file_begin(&writer->file, path, error);
}

liana_status liana__tfrecord_writer_add(liana__tfrecord_writer *writer, const void *bytes, size_t size,
                                        liana__error *error)
{
    uint8_t header[HEADER_SIZE], footer[CHECKSUM_SIZE];
    store_u32(header, (uint32_t)size);
    store_u32(header + 4, (uint32_t)((uint64_t)size >> 32));
    store_u32(header + LENGTH_SIZE, liana__tfrecord_checksum(header, LENGTH_SIZE));
    store_u32(footer, liana__tfrecord_checksum(bytes, size));
    LIANA_TRY(liana__file_write(&writer->file, header, sizeof header, error));
    LIANA_TRY(liana__file_write(&writer->file, bytes, size, error));
    LIANA_TRY(liana__file_write(&writer->file, footer, sizeof footer, error));
    writer->count++;
    return LIANA_OK;
}

liana_status liana__tfrecord_writer_commit(liana__tfrecord_writer *writer, bool durable, liana__error *error)
{
    return liana__file_commit(&writer->file, durable, error);
}

void liana__tfrecord_writer_abandon(liana__tfrecord_writer *writer)
{
    liana__file_abandon(&writer->file);
}
