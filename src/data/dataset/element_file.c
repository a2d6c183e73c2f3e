/* Writes elements to a file and reads any of them. */
#include "data/dataset/element_file.h"

#include "base/crc32c.h"
#include "formats/gzip.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 2 };

static const char MAGIC[8] = "LIANAELM";

/* One row of the table. */
typedef struct liana__element_place {
    uint64_t offset;
    uint64_t size;
    uint64_t checksum; /* of the element's number and its bytes */
} liana__element_place;

typedef struct footer {
    char magic[8];
    uint32_t byte_order; /* 1 */
    uint32_t version;
    liana__fingerprint settings;
    liana__fingerprint sources;
    uint64_t num_elements;
    uint64_t table; /* offset */
    uint32_t table_checksum;
    uint32_t checksum; /* of the bytes before it */
} footer;

_Static_assert(sizeof(footer) == 72, "the footer has no gaps");

struct liana__element_file {
    char *path;
    liana__mapping mapping;
    uint64_t count;
    liana__element_place *places;
    bool deflated;
};

static uint32_t checksum_of(uint64_t number, const void *bytes, size_t size)
{
    return liana__crc32c_extend(liana__crc32c(&number, sizeof number), bytes, size);
}

/* ---- reading ---- */

/* Why the end of a file is not the footer that is wanted; NULL if it is. */
static const char *find_difference(const footer *found, uint64_t size, const liana__element_file_contents *wanted)
{
    if (memcmp(found->magic, MAGIC, sizeof MAGIC) != 0) return "it is damaged, truncated or another kind of file";
    if (found->byte_order != 1) return "it was made on a machine with another byte order";
    if (found->version != VERSION) return "it was made by another version of liana";
    if (found->checksum != liana__crc32c(found, offsetof(footer, checksum))) return "it is damaged";
    if (!liana__fingerprint_equal(&found->settings, &wanted->settings)) return "the stages before it have changed";
    if (!liana__fingerprint_equal(&found->sources, &wanted->sources)) return "the source files have changed";
    if (wanted->num_elements >= 0 && found->num_elements != (uint64_t)wanted->num_elements) {
        return "it has another number of elements";
    }
    uint64_t table, end;
    bool fits = !__builtin_mul_overflow(found->num_elements, (uint64_t)sizeof(liana__element_place), &table) &&
                !__builtin_add_overflow(found->table, table, &end) && end == size - sizeof *found;
    return fits ? NULL : "it is damaged";
}

static const char *read_table(liana__element_file *file, const footer *found)
{
    size_t size = (size_t)found->num_elements * sizeof *file->places;
    file->count = found->num_elements;
    file->places = malloc(size + 1);
    if (!file->places) return NULL;
    if (liana__mapping_copy(&file->mapping, file->path, (size_t)found->table, file->places, size, NULL) != LIANA_OK) {
        return "it cannot be read";
    }
    if (liana__crc32c(file->places, size) != found->table_checksum) return "it is damaged";
    for (uint64_t i = 0; i < file->count; i++) {
        const liana__element_place *place = &file->places[i];
        if (place->offset > found->table || place->size > found->table - place->offset) return "it is damaged";
    }
    return NULL;
}

static const char *read_end(liana__element_file *file, const liana__element_file_contents *contents)
{
    footer found;
    size_t size = file->mapping.size;
    if (size < sizeof found) return "it is damaged, truncated or another kind of file";
    if (liana__mapping_copy(&file->mapping, file->path, size - sizeof found, &found, sizeof found, NULL) != LIANA_OK) {
        return "it cannot be read";
    }
    const char *why = find_difference(&found, size, contents);
    return why ? why : read_table(file, &found);
}

liana_status liana__element_file_open(const char *path, const liana__element_file_contents *contents,
                                      liana__element_file **out, char *why, size_t why_size, liana__error *error)
{
    *out = NULL;
    snprintf(why, why_size, "%s", "");
    liana__element_file *file = calloc(1, sizeof *file);
    if (file) *file = (liana__element_file){.path = strdup(path), .deflated = contents->deflated};
    if (!file || !file->path) {
        liana__element_file_close(file);
        return liana__fail_memory(error, path);
    }
    liana__error own = {0};
    liana_status status = liana__file_map(path, &file->mapping, &own);
    const char *difference = status == LIANA_OK ? read_end(file, contents) : NULL;
    if (status == LIANA_OK && !difference && file->places) {
        *out = file;
        return LIANA_OK;
    }
    bool no_memory = status == LIANA_OK && !difference;
    liana__element_file_close(file);
    if (no_memory) return liana__fail_memory(error, path);
    snprintf(why, why_size, "%s", difference ? difference : "");
    if (status == LIANA_OK || status == LIANA_NOT_FOUND) return LIANA_OK;
    return liana__fail_as(error, &own);
}

void liana__element_file_close(liana__element_file *file)
{
    if (!file) return;
    liana__file_unmap(&file->mapping);
    free(file->places);
    free(file->path);
    free(file);
}

uint64_t liana__element_file_count(const liana__element_file *file)
{
    return file->count;
}

size_t liana__element_file_memory(uint64_t count)
{
    return (size_t)count * sizeof(liana__element_place);
}

void liana__element_buffer_free(liana__element_buffer *buffer)
{
    liana__file_buffer_free(&buffer->element);
    liana__file_buffer_free(&buffer->deflated);
}

size_t liana__element_buffer_bytes(const liana__element_buffer *buffer)
{
    return buffer->element.capacity + buffer->deflated.capacity;
}

void liana__element_buffer_share(liana__element_buffer *buffer, liana__memory_share *share)
{
    buffer->element.share = buffer->deflated.share = share;
}

/* Inflates a piece whose checksum is right. *whole is false if it is none. */
static liana_status inflate(const liana__element_file *file, liana__element_buffer *buffer, size_t size, bool *whole,
                            size_t *inflated_size, liana__error *error)
{
    enum { MOST_TIMES = 1100 }; /* that deflate makes bytes fewer */
    uint64_t inflated;
    *whole = size >= sizeof inflated;
    if (*whole) memcpy(&inflated, buffer->deflated.bytes, sizeof inflated);
    *whole = *whole && inflated / MOST_TIMES <= size;
    if (!*whole) return LIANA_OK;
    LIANA_TRY(liana__file_buffer_reserve(&buffer->element, (size_t)inflated, file->path, error));
    *inflated_size = (size_t)inflated;
    *whole = liana__inflate_piece(buffer->deflated.bytes + sizeof inflated, size - sizeof inflated,
                                  buffer->element.bytes, *inflated_size);
    return LIANA_OK;
}

liana_status liana__element_file_read(const liana__element_file *file, const liana__spec *spec, uint64_t index,
                                      liana__element_buffer *buffer, liana_element *element, liana__error *error)
{
    const liana__element_place *place = &file->places[index];
    liana__file_buffer *stored = file->deflated ? &buffer->deflated : &buffer->element;
    size_t size = (size_t)place->size;
    LIANA_TRY(liana__mapping_read(&file->mapping, file->path, (size_t)place->offset, size, stored, error));
    bool whole = checksum_of(index, stored->bytes, size) == place->checksum;
    if (whole && file->deflated) LIANA_TRY(inflate(file, buffer, size, &whole, &size, error));
    whole = whole && liana__packed_settle(spec, buffer->element.bytes, size, NULL) == LIANA_OK;
    if (!whole) {
        return liana__fail(error, LIANA_DATA_LOSS, "'%s': element %" PRIu64 " at byte %" PRIu64 " is damaged",
                           file->path, index, place->offset);
    }
    liana__packed_element(spec, buffer->element.bytes, element);
    return LIANA_OK;
}

/* ---- writing ---- */

liana_status liana__element_file_begin(liana__element_file_writer *writer, const char *path,
                                       const liana__element_file_contents *contents, liana__error *error)
{
    *writer = (liana__element_file_writer){.contents = *contents};
    return liana__file_begin(&writer->file, path, error);
}

/* The packed element as its size and a zlib stream, *size bytes together. */
static liana_status deflate(liana__element_buffer *buffer, size_t *size, liana__error *error)
{
    const uint64_t inflated = *size;
    LIANA_TRY(liana__file_buffer_reserve(&buffer->deflated, sizeof inflated + liana__deflated_bound(*size),
                                         "an element", error));
    memcpy(buffer->deflated.bytes, &inflated, sizeof inflated);
    *size = liana__deflate(buffer->element.bytes, *size, buffer->deflated.bytes + sizeof inflated);
    if (!*size) return liana__fail_memory(error, "an element");
    *size += sizeof inflated;
    return LIANA_OK;
}

liana_status liana__element_file_add(liana__element_file_writer *writer, const liana_element *element,
                                     liana__error *error)
{
    size_t size = liana__packed_size(element);
    const liana__file_buffer *stored = &writer->buffer.element;
    LIANA_TRY(liana__file_buffer_reserve(&writer->buffer.element, size, "an element", error));
    liana__element_pack(element, stored->bytes);
    if (writer->contents.deflated) {
        LIANA_TRY(deflate(&writer->buffer, &size, error));
        stored = &writer->buffer.deflated;
    }
    if (!liana__grow(&writer->places, writer->count, &writer->capacity, sizeof *writer->places)) {
        return liana__fail_memory(error, "the table of a file of elements");
    }
    uint32_t checksum = checksum_of(writer->count, stored->bytes, size);
    writer->places[writer->count++] = (liana__element_place){writer->offset, size, checksum};
    writer->offset += size;
    return liana__file_write(&writer->file, stored->bytes, size, error);
}

static void free_writer(liana__element_file_writer *writer)
{
    liana__element_buffer_free(&writer->buffer);
    free(writer->places);
    writer->places = NULL;
}

liana_status liana__element_file_commit(liana__element_file_writer *writer, liana__error *error)
{
    size_t size = writer->count * sizeof *writer->places;
    footer end = {.byte_order = 1,
                  .version = VERSION,
                  .settings = writer->contents.settings,
                  .sources = writer->contents.sources,
                  .num_elements = writer->count,
                  .table = writer->offset,
                  .table_checksum = liana__crc32c(writer->places, size)};
    memcpy(end.magic, MAGIC, sizeof MAGIC);
    end.checksum = liana__crc32c(&end, offsetof(footer, checksum));
    LIANA_TRY(liana__file_write(&writer->file, writer->places, size, error));
    LIANA_TRY(liana__file_write(&writer->file, &end, sizeof end, error));
    LIANA_TRY(liana__file_commit(&writer->file, true, error));
    free_writer(writer);
    return LIANA_OK;
}

void liana__element_file_abandon(liana__element_file_writer *writer)
{
    liana__file_abandon(&writer->file);
    free_writer(writer);
}
