/* Reads and writes TFRecord files. */
#include "formats/tfrecord.h"

#include "base/file.h"
#include "base/file_view.h"
#include "base/memory.h"
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
    uint8_t *inflated; /* NULL if the file is not compressed */
    const char *compression;
    const uint8_t *bytes; /* the records: mapped, inflated or the caller's */
    size_t size;
    size_t count;
    size_t capacity;
    uint64_t *offsets; /* of each record's header */
    char *damage;      /* why there are no more of them; NULL: these are all */
    size_t end;        /* of the last record */
};

static void store_u32(uint8_t *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++) bytes[i] = (uint8_t)(value >> (8 * i));
}

/* The unit of offsets in messages. */
static const char *offset_unit(const liana__tfrecord *file)
{
    return file->inflated ? " of the inflated data" : "";
}

static liana_status fail_not_tfrecord(const liana__tfrecord *file, const char *looks, liana__error *error)
{
    return liana__fail(error, LIANA_INVALID_DATA, "'%s' is not a TFRecord file: %s looks like %s", file->name,
                       file->inflated ? "what it holds after inflating" : "it", looks);
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

static liana_status fail_short_header(const liana__tfrecord *file, liana__file_view *view, size_t offset,
                                      liana__error *error)
{
    size_t left = file->size - offset;
    const char *looks = sniff_start(file, view);
    if (looks) return fail_not_tfrecord(file, looks, error);
    return liana__fail(error, LIANA_DATA_LOSS,
                       "'%s' is truncated: record %zu at offset %zu%s has %zu bytes of its header, expected %d; copy "
                       "or download the file again",
                       file->name, file->count, offset, offset_unit(file), left, HEADER_SIZE);
}

static liana_status fail_length_checksum(const liana__tfrecord *file, liana__file_view *view, size_t offset,
                                         const uint8_t *header, liana__error *error)
{
    uint32_t said = liana__load_u32(header + LENGTH_SIZE), found = liana__tfrecord_checksum(header, LENGTH_SIZE);
    const char *looks = sniff_start(file, view);
    if (looks) return fail_not_tfrecord(file, looks, error);
    return liana__fail(error, LIANA_DATA_LOSS,
                       "'%s': the checksum of the length of record %zu at offset %zu%s is wrong: the file says "
                       "0x%08" PRIx32 ", the bytes give 0x%08" PRIx32 "; %s",
                       file->name, file->count, offset, offset_unit(file), said, found,
                       file->count == 0 ? "the file is damaged or not a TFRecord file"
                                        : "the file is damaged; copy or download it again");
}

static liana_status fail_short_data(const liana__tfrecord *file, size_t offset, uint64_t length, liana__error *error)
{
    size_t left = file->size - offset - HEADER_SIZE;
    const char *cause = length >> 40 ? "no record can be so long; the program that wrote the file has an error"
                                     : "the file is truncated; copy or download it again";
    return liana__fail(error, LIANA_DATA_LOSS,
                       "'%s': record %zu at offset %zu%s has a length of %" PRIu64 " bytes and %d bytes of checksum, "
                       "but %zu bytes are left in the file: %s",
                       file->name, file->count, offset, offset_unit(file), length, CHECKSUM_SIZE, left, cause);
}

static liana_status find_records(liana__tfrecord *file, liana__file_view *view, liana__error *error)
{
    size_t offset = 0;
    while (offset < file->size) {
        size_t left = file->size - offset;
        const uint8_t *header;
        if (left < HEADER_SIZE) return fail_short_header(file, view, offset, error);
        LIANA_TRY(liana__file_view_get(view, offset, HEADER_SIZE, &header, error));
        if (!liana__tfrecord_header_is_right(header, left)) {
            return fail_length_checksum(file, view, offset, header, error);
        }
        uint64_t length = liana__load_u64(header);
        left -= HEADER_SIZE;
        if (left < CHECKSUM_SIZE || length > left - CHECKSUM_SIZE) return fail_short_data(file, offset, length, error);
        if (!liana__grow(&file->offsets, file->count, &file->capacity, sizeof *file->offsets)) {
            return liana__fail_memory(error, file->name);
        }
        file->offsets[file->count++] = offset;
        offset += HEADER_SIZE + (size_t)length + CHECKSUM_SIZE;
        file->end = offset;
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
    if (status != LIANA_OK && error) *error = damage;
    return status;
}

static const char *find_compression(const uint8_t *bytes, size_t size)
{
    if (!liana__tfrecord_is_compressed(bytes, size)) return "none";
    return liana__is_gzip(bytes, size) ? "gzip" : "zlib";
}

static liana_status index_records(liana__tfrecord *file, const liana__tfrecord_options *options, liana__error *error)
{
    return options && options->keep_start ? build_start_of_index(file, error) : build_index(file, error);
}

static liana_status inflate_records(liana__tfrecord *file, const uint8_t *bytes, size_t size,
                                    const liana__tfrecord_options *options, liana__error *error)
{
    size_t limit = options ? options->inflated_limit : 0;
    LIANA_TRY(liana__inflate(file->name, bytes, size, limit, &file->inflated, &file->size, error));
    file->bytes = file->inflated;
    return index_records(file, options, error);
}

static liana_status read_records(liana__tfrecord *file, const uint8_t *bytes, size_t size,
                                 const liana__tfrecord_options *options, liana__error *error)
{
    file->bytes = bytes;
    file->size = size;
    file->compression = find_compression(bytes, size);
    if (strcmp(file->compression, "none") != 0) return inflate_records(file, bytes, size, options, error);
    return index_records(file, options, error);
}

/* Reads a compressed file into memory first, where nobody can cut it. */
static liana_status read_file(liana__tfrecord *file, const liana__tfrecord_options *options, liana__error *error)
{
    uint8_t head[HEADER_SIZE];
    size_t head_size;
    LIANA_TRY(liana__file_read_head(file->name, head, sizeof head, &head_size, error));
    file->compression = find_compression(head, head_size);
    if (strcmp(file->compression, "none") == 0) {
        LIANA_TRY(liana__file_map(file->name, &file->mapping, error));
        file->bytes = file->mapping.data;
        file->size = file->mapping.size;
        return index_records(file, options, error);
    }
    char *bytes;
    size_t size;
    LIANA_TRY(liana__file_read(file->name, SIZE_MAX / 2, &bytes, &size, error));
    liana_status status = inflate_records(file, (const uint8_t *)bytes, size, options, error);
    free(bytes);
    return status;
}

static liana__tfrecord *allocate_file(const char *name)
{
    liana__tfrecord *file = calloc(1, sizeof *file);
    if (!file) return NULL;
    file->name = strdup(name);
    if (file->name) return file;
    free(file);
    return NULL;
}

liana_status liana__tfrecord_open_bytes(const char *name, const uint8_t *bytes, size_t size,
                                        const liana__tfrecord_options *options, liana__tfrecord **out,
                                        liana__error *error)
{
    *out = NULL;
    liana__tfrecord *file = allocate_file(name);
    if (!file) return liana__fail_memory(error, name);
    liana_status status = read_records(file, bytes, size, options, error);
    if (status != LIANA_OK) {
        liana__tfrecord_close(file);
        return status;
    }
    *out = file;
    return LIANA_OK;
}

liana_status liana__tfrecord_open(const char *path, const liana__tfrecord_options *options, liana__tfrecord **out,
                                  liana__error *error)
{
    *out = NULL;
    liana__tfrecord *file = allocate_file(path);
    if (!file) return liana__fail_memory(error, path);
    liana_status status = read_file(file, options, error);
    if (status != LIANA_OK) {
        liana__tfrecord_close(file);
        return status;
    }
    *out = file;
    return LIANA_OK;
}

void liana__tfrecord_close(liana__tfrecord *file)
{
    if (!file) return;
    liana__file_unmap(&file->mapping);
    free(file->inflated);
    free(file->offsets);
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
    return file->capacity * sizeof *file->offsets + (file->inflated ? file->size : 0);
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
    size_t offset = (size_t)file->offsets[record];
    size_t end = record + 1 < file->count ? (size_t)file->offsets[record + 1] : file->end;
    *begin = offset + HEADER_SIZE;
    *length = end - *begin - CHECKSUM_SIZE;
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

liana_status liana__tfrecord_read(const liana__tfrecord *file, size_t record, liana__file_buffer *buffer,
                                  const uint8_t **bytes, size_t *size, liana__error *error)
{
    if (!file->mapping.data) return liana__tfrecord_get(file, record, bytes, size, error);
    size_t begin = 0, length = 0;
    *bytes = NULL;
    *size = 0;
    LIANA_TRY(find_data(file, record, &begin, &length, error));
    LIANA_TRY(liana__file_buffer_reserve(buffer, length + CHECKSUM_SIZE, file->name, error));
    LIANA_TRY(liana__mapping_copy(&file->mapping, file->name, begin, buffer->bytes, length + CHECKSUM_SIZE, error));
    LIANA_TRY(check_data(file, record, (const uint8_t *)buffer->bytes, length, error));
    *bytes = (const uint8_t *)buffer->bytes;
    *size = length;
    return LIANA_OK;
}

void liana__tfrecord_expect(const liana__tfrecord *file, size_t record)
{
    if (!file->mapping.data || record >= file->count) return;
    size_t begin = (size_t)file->offsets[record];
    size_t end = record + 1 < file->count ? (size_t)file->offsets[record + 1] : file->end;
    liana__mapping_expect(&file->mapping, begin, end - begin);
}

liana_status liana__tfrecord_writer_begin(liana__tfrecord_writer *writer, const char *path, bool compress,
                                          liana__error *error)
{
    *writer = (liana__tfrecord_writer){.compressed = compress,
                                       .plain = {.descriptor = -1},
                                       .gzip = {.file = {.descriptor = -1}}};
    return compress ? liana__gzip_begin(&writer->gzip, path, error) : liana__file_begin(&writer->plain, path, error);
}

static liana_status write_bytes(liana__tfrecord_writer *writer, const void *bytes, size_t size, liana__error *error)
{
    return writer->compressed ? liana__gzip_write(&writer->gzip, bytes, size, error)
                              : liana__file_write(&writer->plain, bytes, size, error);
}

liana_status liana__tfrecord_writer_add(liana__tfrecord_writer *writer, const void *bytes, size_t size,
                                        liana__error *error)
{
    uint8_t header[HEADER_SIZE], footer[CHECKSUM_SIZE];
    store_u32(header, (uint32_t)size);
    store_u32(header + 4, (uint32_t)((uint64_t)size >> 32));
    store_u32(header + LENGTH_SIZE, liana__tfrecord_checksum(header, LENGTH_SIZE));
    store_u32(footer, liana__tfrecord_checksum(bytes, size));
    LIANA_TRY(write_bytes(writer, header, sizeof header, error));
    LIANA_TRY(write_bytes(writer, bytes, size, error));
    LIANA_TRY(write_bytes(writer, footer, sizeof footer, error));
    writer->count++;
    return LIANA_OK;
}

liana_status liana__tfrecord_writer_commit(liana__tfrecord_writer *writer, bool durable, liana__error *error)
{
    return writer->compressed ? liana__gzip_commit(&writer->gzip, durable, error)
                              : liana__file_commit(&writer->plain, durable, error);
}

void liana__tfrecord_writer_abandon(liana__tfrecord_writer *writer)
{
    liana__gzip_abandon(&writer->gzip);
    liana__file_abandon(&writer->plain);
}
