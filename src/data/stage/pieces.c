/* Pieces of files as strings: lines of text, records of a fixed length. */
#include "base/file_view.h"
#include "base/search.h"
#include "data/dataset/dataset.h"
#include "data/dataset/named_files.h"
#include "formats/gzip.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A file whose bytes are in memory if it was compressed, else mapped. */
typedef struct piece_file {
    char *path;
    liana__mapping mapping;
    uint8_t *inflated;
    size_t size;
    uint64_t *starts; /* of lines: [count + 1] where each begins, and the end */
    size_t count;     /* pieces */
    size_t capacity;
} piece_file;

typedef struct pieces {
    liana__remote *remote; /* where URLs are local files, or NULL */
    size_t num_files;
    piece_file *files;
    uint64_t *firsts;                          /* [num_files + 1] the number of each file's first piece */
    liana_fixed_length_record_options options; /* of lines only the compression */
    bool lines;
} pieces;

typedef struct pieces_reader {
    liana_bytes value;
    liana__file_buffer buffer;
} pieces_reader;

static void free_reader(void *own)
{
    liana__file_buffer_free(&((pieces_reader *)own)->buffer);
}

static size_t reader_bytes(const liana__reader *reader)
{
    return ((const pieces_reader *)reader->own)->buffer.capacity;
}

static size_t memory_of(const liana_dataset *dataset)
{
    const pieces *own = dataset->own;
    size_t bytes = 0;
    for (size_t i = 0; i < own->num_files; i++) {
        bytes += (own->files[i].inflated ? own->files[i].size : 0) + own->files[i].capacity * sizeof(uint64_t);
    }
    return bytes;
}

static void close_pieces(liana_dataset *dataset)
{
    pieces *own = dataset->own;
    for (size_t i = 0; i < own->num_files; i++) {
        if (own->files[i].mapping.data) liana__file_unmap(&own->files[i].mapping);
        free(own->files[i].inflated);
        free(own->files[i].starts);
    }
    liana__remote_destroy(own->remote);
}

/* ---- reading ---- */

/* Leaves out the end of a line. */
static size_t line_size(const char *bytes, size_t size)
{
    if (size && bytes[size - 1] == '\n') size--;
    return size && bytes[size - 1] == '\r' ? size - 1 : size;
}

static liana_status read_piece(liana__reader *reader, const liana__at *at, liana_element *element, liana__error *error)
{
    const pieces *own = reader->dataset->own;
    pieces_reader *with = reader->own;
    const size_t number = liana__part_of(own->firsts, own->num_files, at->index);
    const piece_file *file = &own->files[number];
    const uint64_t piece = at->index - own->firsts[number];
    const uint64_t record = (uint64_t)own->options.record_bytes;
    const size_t begin =
        (size_t)(own->lines ? file->starts[piece] : (uint64_t)own->options.header_bytes + piece * record);
    const size_t size = (size_t)(own->lines ? file->starts[piece + 1] - file->starts[piece] : record);
    const char *bytes = file->inflated ? (const char *)file->inflated + begin : "";
    if (!file->inflated && size) {
        with->buffer.share = reader->share;
        LIANA_TRY(liana__mapping_read(&file->mapping, file->path, begin, size, &with->buffer, error));
        bytes = with->buffer.bytes;
    }
    with->value = (liana_bytes){bytes, own->lines ? line_size(bytes, size) : size};
    *element = (liana_element){.spec = &reader->dataset->spec, .record = at->index, .data = {&with->value}};
    return LIANA_OK;
}

/* ---- opening ---- */

static liana_status add_start(piece_file *file, uint64_t start, liana__error *error)
{
    if (!liana__grow(&file->starts, file->count, &file->capacity, sizeof *file->starts)) {
        return liana__fail_memory(error, "an index of lines");
    }
    file->starts[file->count++] = start;
    return LIANA_OK;
}

static liana_status find_lines(piece_file *file, liana__file_view *view, liana__error *error)
{
    uint64_t start = 0;
    for (size_t at = 0; at < file->size;) {
        const uint8_t *bytes;
        size_t size;
        LIANA_TRY(liana__file_view_next(view, at, &bytes, &size, error));
        const uint8_t *here = bytes, *end = bytes + size, *found;
        for (; (found = memchr(here, '\n', (size_t)(end - here))); here = found + 1) {
            LIANA_TRY(add_start(file, start, error));
            start = at + (size_t)(found + 1 - bytes);
        }
        at += size;
    }
    if (start < file->size) LIANA_TRY(add_start(file, start, error)); /* a last line without an end */
    LIANA_TRY(add_start(file, file->size, error));
    file->count--;
    return liana__file_view_check(view, error);
}

static liana_status count_records(const pieces *own, piece_file *file, liana__error *error)
{
    const liana_fixed_length_record_options *options = &own->options;
    const uint64_t header = (uint64_t)options->header_bytes, footer = (uint64_t)options->footer_bytes;
    const uint64_t record = (uint64_t)options->record_bytes;
    if (file->size < header || file->size - header < footer) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "'%s' has %zu bytes, expected a header of %" PRIu64 " and a footer of %" PRIu64 " bytes",
                           file->path, file->size, header, footer);
    }
    const uint64_t body = file->size - header - footer;
    file->count = (size_t)(body / record);
    if (body % record == 0) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA,
                       "'%s' has %" PRIu64 " bytes%s, expected a multiple of record_bytes, %" PRIu64 ": after %zu "
                       "records %" PRIu64 " bytes are left; it is cut off, or record_bytes, header_bytes or "
                       "footer_bytes are others",
                       file->path, body, header || footer ? " without header and footer" : "", record, file->count,
                       body % record);
}

static bool is_compressed(const pieces *own, const char *bytes, size_t size)
{
    const liana_compression given = own->options.compression;
    return given == LIANA_COMPRESSION_AUTO ? liana__is_gzip((const uint8_t *)bytes, size)
                                           : given != LIANA_COMPRESSION_NONE;
}

static liana_status inflate(piece_file *file, liana__error *error)
{
    char *packed;
    size_t size;
    LIANA_TRY(liana__file_read(file->path, LIANA__DEFAULT_INFLATED_LIMIT, &packed, &size, error));
    const liana_status status =
        liana__inflate(file->path, (const uint8_t *)packed, size, 0, &file->inflated, &file->size, error);
    free(packed);
    return status;
}

static liana_status open_file(pieces *own, piece_file *file, liana__error *error)
{
    char head[16];
    size_t head_size;
    LIANA_TRY(liana__file_read_head(file->path, head, sizeof head, &head_size, error));
    const bool compressed = is_compressed(own, head, head_size);
    LIANA_TRY(compressed ? inflate(file, error) : liana__file_map(file->path, &file->mapping, error));
    if (!compressed) file->size = file->mapping.size;
    if (!own->lines) return count_records(own, file, error);
    enum { AHEAD = 1 << 20 };
    liana__file_view view = compressed ? liana__file_view_of_bytes(file->path, file->inflated, file->size)
                                       : liana__file_view_of(file->path, &file->mapping, AHEAD);
    const liana_status status = find_lines(file, &view, error);
    liana__file_view_free(&view);
    return status;
}

static liana_status open_files(liana_dataset *dataset, const char *pattern, liana__error *error)
{
    pieces *own = dataset->own;
    liana__paths paths;
    LIANA_TRY(liana__named_files_find(pattern, &dataset->arena, &own->remote, &paths, error));
    own->files = liana__arena_allocate(&dataset->arena, paths.count * sizeof *own->files);
    own->firsts = liana__arena_allocate(&dataset->arena, (paths.count + 1) * sizeof *own->firsts);
    if (dataset->arena.failed) return liana__fail_memory(error, pattern);
    for (size_t i = 0; i < paths.count; i++) {
        own->files[i] = (piece_file){.path = paths.items[i]};
        own->num_files++;
        LIANA_TRY(open_file(own, &own->files[i], error));
        own->firsts[i + 1] = own->firsts[i] + own->files[i].count;
    }
    dataset->length = (int64_t)own->firsts[own->num_files];
    return LIANA_OK;
}

static liana_dataset *make(liana_context *context, const liana_stage_type *kind, const char *pattern,
                           const char *component, const liana_fixed_length_record_options *options)
{
    liana_dataset *dataset = liana__dataset_create(context, kind, NULL, 0, sizeof(pieces));
    if (!dataset) return NULL;
    liana__error *error = &context->error;
    const liana_component made = {.name = component, .dtype = LIANA_STRING};
    pieces *own = dataset->own;
    *own = (pieces){.options = *options, .lines = kind == &liana__stage_text_line};
    dataset->random_access = true;
    liana_status status = liana__spec_make(&dataset->arena, &made, 1, &dataset->spec, error);
    if (status == LIANA_OK &&
        ((unsigned)options->compression > LIANA_COMPRESSION_ZLIB || options->record_bytes < 1 ||
         options->record_bytes > INT32_MAX || options->header_bytes < 0 || options->footer_bytes < 0)) {
        status =
            liana__fail(error, LIANA_INVALID_ARGUMENT,
                        "record_bytes is %" PRId64 ", header_bytes %" PRId64 ", footer_bytes %" PRId64
                        " and compression %d, expected 1 to 2^31 - 1, at least 0, at least 0, and a "
                        "liana_compression",
                        options->record_bytes, options->header_bytes, options->footer_bytes, (int)options->compression);
    }
    if (status == LIANA_OK) status = open_files(dataset, pattern, error);
    if (status != LIANA_OK) liana__remote_fail_within(own->remote, error);
    return liana__dataset_finish(dataset, status);
}

liana_dataset *liana_dataset_text_line(liana_context *context, const char *pattern,
                                       const liana_text_line_options *options)
{
    LIANA__REQUIRE_OR(NULL, liana__context_error(context), pattern);
    const liana_fixed_length_record_options wanted = {.record_bytes = 1,
                                                      .compression =
                                                          options ? options->compression : LIANA_COMPRESSION_AUTO};
    return make(context, &liana__stage_text_line, pattern, "line", &wanted);
}

liana_dataset *liana_dataset_fixed_length_record(liana_context *context, const char *pattern,
                                                 const liana_fixed_length_record_options *options)
{
    LIANA__REQUIRE_OR(NULL, liana__context_error(context), pattern);
    LIANA__REQUIRE_OR(NULL, liana__context_error(context), options);
    return make(context, &liana__stage_fixed_length_record, pattern, "record", options);
}

static liana_record_address address_of(const liana_dataset *dataset, uint64_t record)
{
    const pieces *own = dataset->own;
    const size_t file = liana__part_of(own->firsts, own->num_files, record);
    const int64_t piece = (int64_t)(record - own->firsts[file]);
    return (liana_record_address){own->files[file].path, piece, own->lines ? piece + 1 : 0};
}

static void describe(const liana_dataset *dataset, liana__fingerprint *settings, liana__fingerprint *sources)
{
    const pieces *own = dataset->own;
    const int64_t options[] = {own->options.record_bytes, own->options.header_bytes, own->options.footer_bytes,
                               own->options.compression};
    liana__fingerprint_add(settings, options, sizeof options);
    for (size_t i = 0; i < own->num_files; i++) {
        liana__fingerprint_add_file(settings, sources, own->files[i].path, own->files[i].count);
    }
}

const liana_stage_type liana__stage_text_line = {
    LIANA_PART(STAGE, liana_stage_type, "text_line", "The lines of text files, plain or compressed."),
    .describe = describe,
    .close = close_pieces,
    .memory = memory_of,
    .read = read_piece,
    .reader_size = sizeof(pieces_reader),
    .reader_free = free_reader,
    .reader_bytes = reader_bytes,
    .address = address_of,
};

const liana_stage_type liana__stage_fixed_length_record = {
    LIANA_PART(STAGE, liana_stage_type, "fixed_length_record", "The records of files, all of one length."),
    .describe = describe,
    .close = close_pieces,
    .memory = memory_of,
    .read = read_piece,
    .reader_size = sizeof(pieces_reader),
    .reader_free = free_reader,
    .reader_bytes = reader_bytes,
    .address = address_of,
};
