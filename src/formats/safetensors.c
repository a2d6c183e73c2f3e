/* Reads and writes safetensors files. */
#include "formats/safetensors.h"

#include "base/scoped.h"
#include "formats/json.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* The same limit as the format's own library; it also bounds the memory that a hostile header can ask for. */
enum { HEADER_LIMIT = 100000000, PREFIX = 8, HEADER_ALIGNMENT = 8, PIECE = 1 << 20 };
static const char metadata_key[] = "__metadata__";

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {
#define DTYPE_ROW(name, size) {#name, size},
    LIANA__SAFETENSORS_DTYPES(DTYPE_ROW)
#undef DTYPE_ROW
};

const char *liana__safetensors_dtype_name(liana__safetensors_dtype dtype)
{
    return dtypes[dtype].name;
}

size_t liana__safetensors_dtype_size(liana__safetensors_dtype dtype)
{
    return dtypes[dtype].size;
}

/* Bytes of a tensor of that shape; false if a dimension is negative or the product leaves 63 bits. */
static bool count_bytes(const liana__safetensors_tensor *tensor, uint64_t *bytes)
{
    int64_t product = (int64_t)dtypes[tensor->dtype].size;
    bool empty = false;
    for (int axis = 0; axis < tensor->rank; axis++) {
        if (tensor->shape[axis] < 0) return false;
        empty |= tensor->shape[axis] == 0;
        if (!empty && __builtin_mul_overflow(product, tensor->shape[axis], &product)) return false;
    }
    *bytes = empty ? 0 : (uint64_t)product;
    return true;
}

static uint32_t add_to_checksum(uint32_t checksum, const uint8_t *data, size_t size)
{
    /* zlib takes an absent buffer as a wish to start over. */
    return size ? (uint32_t)crc32_z(checksum, data, size) : checksum;
}

/* --- Reading --------------------------------------------------------------------------------------------------- */

/* Bytes that are all in the file, unless others write to it meanwhile. */
static liana_status read_range(const liana__safetensors *file, uint64_t offset, void *to, size_t size,
                               liana__error *error)
{
    const bool whole = liana__file_read_at(file->descriptor, (size_t)offset, to, size);
    LIANA_TRY(liana__file_check_version(file->path, file->descriptor, &file->version, error));
    if (whole) return LIANA_OK;
    return liana__fail(error, LIANA_IO_ERROR, "'%s' cannot be read at offset %" PRIu64, file->path, offset);
}

/* The state of an open call: for helpers that read the header and name things in messages. */
typedef struct reading {
    const char *path;
    liana__safetensors *file;
    uint64_t data_begin;
    uint64_t data_size;
    liana__error *error;
} reading;

static liana_status read_dtype(const reading *in, const json_t *json, liana__safetensors_tensor *tensor)
{
    const char *name = json_string_value(json);
    if (!name) {
        return liana__fail(in->error, LIANA_INVALID_DATA, "'%s': tensor '%s' has no string 'dtype'", in->path,
                           tensor->name);
    }
    for (int i = 0; i < LIANA__SAFETENSORS_NUM_DTYPES; i++) {
        if (strcmp(dtypes[i].name, name) != 0) continue;
        tensor->dtype = (liana__safetensors_dtype)i;
        return LIANA_OK;
    }
    return liana__fail(in->error, LIANA_UNIMPLEMENTED,
                       "'%s': tensor '%s' has dtype '%.32s', which liana does not read; convert it to F32", in->path,
                       tensor->name, name);
}

static liana_status read_shape(const reading *in, const json_t *json, liana__safetensors_tensor *tensor)
{
    if (!json_is_array(json)) {
        return liana__fail(in->error, LIANA_INVALID_DATA, "'%s': tensor '%s' has no list 'shape'", in->path,
                           tensor->name);
    }
    size_t rank = json_array_size(json);
    if (rank > LIANA__SAFETENSORS_MAX_RANK) {
        return liana__fail(in->error, LIANA_OUT_OF_RANGE, "'%s': tensor '%s' has %zu dimensions, at most %d are read",
                           in->path, tensor->name, rank, LIANA__SAFETENSORS_MAX_RANK);
    }
    tensor->rank = (int)rank;
    for (size_t axis = 0; axis < rank; axis++) {
        const json_t *item = json_array_get(json, axis);
        if (!json_is_integer(item) || json_integer_value(item) < 0) {
            return liana__fail(in->error, LIANA_INVALID_DATA,
                               "'%s': tensor '%s': dimension %zu is not a whole number of 0 or more", in->path,
                               tensor->name, axis);
        }
        tensor->shape[axis] = json_integer_value(item);
    }
    return LIANA_OK;
}

static liana_status read_offsets(const reading *in, const json_t *json, liana__safetensors_tensor *tensor)
{
    const json_t *first = json_array_get(json, 0), *last = json_array_get(json, 1);
    if (json_array_size(json) != 2 || !json_is_integer(first) || !json_is_integer(last)) {
        return liana__fail(in->error, LIANA_INVALID_DATA,
                           "'%s': tensor '%s' has no 'data_offsets' of two whole numbers", in->path, tensor->name);
    }
    json_int_t begin = json_integer_value(first), end = json_integer_value(last);
    if (begin < 0 || end < begin) {
        return liana__fail(in->error, LIANA_INVALID_DATA,
                           "'%s': tensor '%s' has data_offsets [%" JSON_INTEGER_FORMAT ", %" JSON_INTEGER_FORMAT
                           "], expected 0 <= begin <= end",
                           in->path, tensor->name, begin, end);
    }
    uint64_t expected;
    if (!count_bytes(tensor, &expected)) {
        return liana__fail(in->error, LIANA_OUT_OF_RANGE, "'%s': tensor '%s' has more elements than memory could hold",
                           in->path, tensor->name);
    }
    if ((uint64_t)(end - begin) != expected) {
        return liana__fail(in->error, LIANA_INVALID_DATA,
                           "'%s': tensor '%s' has %" JSON_INTEGER_FORMAT " bytes of data, but its shape and dtype %s "
                           "need %" PRIu64,
                           in->path, tensor->name, end - begin, dtypes[tensor->dtype].name, expected);
    }
    if ((uint64_t)end > in->data_size) {
        return liana__fail(in->error, LIANA_DATA_LOSS,
                           "'%s': tensor '%s' ends at byte %" JSON_INTEGER_FORMAT
                           " of the data, but the file holds %" PRIu64 ": it is truncated",
                           in->path, tensor->name, end, in->data_size);
    }
    tensor->offset = in->data_begin + (uint64_t)begin;
    tensor->size = (size_t)expected;
    return LIANA_OK;
}

static liana_status read_tensor(const reading *in, const char *name, const json_t *json,
                                liana__safetensors_tensor *tensor)
{
    tensor->name = liana__arena_string(&in->file->arena, name);
    if (!tensor->name) return liana__fail_memory(in->error, in->path);
    if (!json_is_object(json)) {
        return liana__fail(in->error, LIANA_INVALID_DATA, "'%s': the header's '%s' is not an object", in->path, name);
    }
    LIANA_TRY(read_dtype(in, json_object_get(json, "dtype"), tensor));
    LIANA_TRY(read_shape(in, json_object_get(json, "shape"), tensor));
    return read_offsets(in, json_object_get(json, "data_offsets"), tensor);
}

static liana_status read_metadata(const reading *in, json_t *json)
{
    if (!json) return LIANA_OK;
    if (!json_is_object(json)) {
        return liana__fail(in->error, LIANA_INVALID_DATA, "'%s': the header's '%s' is not an object", in->path,
                           metadata_key);
    }
    liana__safetensors_contents *contents = &in->file->contents;
    liana__arena *arena = &in->file->arena;
    liana__safetensors_entry *entries = liana__arena_allocate(arena, json_object_size(json) * sizeof *entries + 1);
    if (!entries) return liana__fail_memory(in->error, in->path);
    const char *key;
    json_t *value;
    json_object_foreach(json, key, value)
    {
        if (!json_is_string(value)) {
            return liana__fail(in->error, LIANA_INVALID_DATA, "'%s': %s: '%s' is not a string", in->path, metadata_key,
                               key);
        }
        entries[contents->num_metadata++] =
            (liana__safetensors_entry){liana__arena_string(arena, key),
                                       liana__arena_string(arena, json_string_value(value))};
    }
    contents->metadata = entries;
    return arena->failed ? liana__fail_memory(in->error, in->path) : LIANA_OK;
}

/* Orders tensors by their place in the file, empty ones first, so that gaps are found in one walk. */
static int compare_places(const void *a, const void *b)
{
    const liana__safetensors_tensor *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    return strcmp(x->name, y->name);
}

static liana_status check_cover(const reading *in)
{
    const liana__safetensors_contents *contents = &in->file->contents;
    const uint64_t end = in->data_begin + in->data_size;
    uint64_t expected = in->data_begin;
    for (size_t i = 0; i < contents->num_tensors; i++) {
        const liana__safetensors_tensor *tensor = &contents->tensors[i];
        if (tensor->offset < expected) {
            return liana__fail(in->error, LIANA_INVALID_DATA, "'%s': the data of tensor '%s' overlaps that of '%s'",
                               in->path, tensor->name, contents->tensors[i - 1].name);
        }
        if (tensor->offset > expected) {
            return liana__fail(in->error, LIANA_INVALID_DATA,
                               "'%s': %" PRIu64 " bytes before the data of tensor '%s' belong to no tensor", in->path,
                               tensor->offset - expected, tensor->name);
        }
        expected = tensor->offset + tensor->size;
    }
    if (expected != end) {
        return liana__fail(in->error, LIANA_INVALID_DATA, "'%s': the last %" PRIu64 " bytes belong to no tensor",
                           in->path, end - expected);
    }
    return LIANA_OK;
}

static liana_status read_tensors(const reading *in, json_t *header)
{
    LIANA_TRY(read_metadata(in, json_object_get(header, metadata_key)));
    liana__safetensors_tensor *tensors =
        liana__arena_allocate(&in->file->arena, json_object_size(header) * sizeof *tensors + 1);
    if (!tensors) return liana__fail_memory(in->error, in->path);
    size_t count = 0;
    const char *name;
    json_t *value;
    json_object_foreach(header, name, value)
    {
        if (strcmp(name, metadata_key) == 0) continue;
        LIANA_TRY(read_tensor(in, name, value, &tensors[count]));
        count++;
    }
    qsort(tensors, count, sizeof *tensors, compare_places);
    in->file->contents.tensors = tensors;
    in->file->contents.num_tensors = count;
    return check_cover(in);
}

/* The bytes before the header: how long it is. *size has been checked against the file. */
static liana_status read_prefix(reading *in, uint64_t *size)
{
    const uint64_t whole = (uint64_t)in->file->version.size;
    uint8_t prefix[PREFIX + 1];
    if (whole < PREFIX + 2) {
        return liana__fail(in->error, LIANA_INVALID_DATA, "'%s' has %" PRIu64 " bytes: not a safetensors file",
                           in->path, whole);
    }
    LIANA_TRY(read_range(in->file, 0, prefix, sizeof prefix, in->error));
    *size = 0;
    for (int i = PREFIX - 1; i >= 0; i--) *size = *size << 8 | prefix[i];
    if (*size < 2 || prefix[PREFIX] != '{') {
        return liana__fail(in->error, LIANA_INVALID_DATA, "'%s' is not a safetensors file: no JSON header at byte 8",
                           in->path);
    }
    if (*size > HEADER_LIMIT) {
        return liana__fail(in->error, LIANA_OUT_OF_RANGE,
                           "'%s': the header claims %" PRIu64 " bytes, at most %d are read: damaged, or not a "
                           "safetensors file",
                           in->path, *size, HEADER_LIMIT);
    }
    if (*size > whole - PREFIX) {
        return liana__fail(in->error, LIANA_DATA_LOSS,
                           "'%s': the header claims %" PRIu64 " bytes, but the file ends after %" PRIu64
                           ": it is truncated",
                           in->path, *size, whole - PREFIX);
    }
    in->data_begin = PREFIX + *size;
    in->data_size = whole - in->data_begin;
    return LIANA_OK;
}

static liana_status parse_header(reading *in, const char *text, size_t size)
{
    LIANA_TRY(liana__json_check_memory(text, size, in->path, in->error));
    json_error_t problem;
    json_t *header = json_loadb(text, size, JSON_REJECT_DUPLICATES, &problem);
    if (!header) {
        return liana__fail(in->error, LIANA_INVALID_DATA, "'%s': the header is not valid JSON: %s (byte %d)", in->path,
                           problem.text, problem.position);
    }
    liana_status status = read_tensors(in, header);
    json_decref(header);
    return status;
}

static liana_status read_header(reading *in)
{
    uint64_t size = 0;
    LIANA_TRY(read_prefix(in, &size));
    char *text = malloc((size_t)size);
    if (!text) return liana__fail_memory(in->error, in->path);
    liana_status status = read_range(in->file, PREFIX, text, (size_t)size, in->error);
    if (status == LIANA_OK) status = parse_header(in, text, (size_t)size);
    free(text);
    return status;
}

liana_status liana__safetensors_open(const char *path, liana__safetensors *file, liana__error *error)
{
    int descriptor;
    liana__file_version version;
    *file = (liana__safetensors){0};
    LIANA_TRY(liana__file_open(path, &descriptor, &version, error));
    *file = (liana__safetensors){.descriptor = descriptor, .version = version};
    file->path = liana__arena_string(&file->arena, path);
    if (!file->path) {
        close(descriptor);
        return liana__fail_memory(error, path);
    }
    reading in = {.path = path, .file = file, .error = error};
    liana_status status = read_header(&in);
    if (status != LIANA_OK) liana__safetensors_close(file);
    return status;
}

void liana__safetensors_close(liana__safetensors *file)
{
    if (file->path) close(file->descriptor);
    liana__arena_free(&file->arena);
    *file = (liana__safetensors){0};
}

const liana__safetensors_tensor *liana__safetensors_find(const liana__safetensors *file, const char *name)
{
    for (size_t i = 0; i < file->contents.num_tensors; i++) {
        if (strcmp(file->contents.tensors[i].name, name) == 0) return &file->contents.tensors[i];
    }
    return NULL;
}

const char *liana__safetensors_metadata(const liana__safetensors *file, const char *key)
{
    for (size_t i = 0; i < file->contents.num_metadata; i++) {
        if (strcmp(file->contents.metadata[i].key, key) == 0) return file->contents.metadata[i].value;
    }
    return NULL;
}

liana_status liana__safetensors_read(const liana__safetensors *file, const liana__safetensors_tensor *tensor, void *to,
                                     liana__error *error)
{
    return read_range(file, tensor->offset, to, tensor->size, error);
}

liana_status liana__safetensors_take(const liana__safetensors *file, const liana__safetensors_tensor *tensor,
                                     void **data, liana__error *error)
{
    *data = liana__allocate_aligned(tensor->size);
    if (!*data) return liana__fail_memory(error, tensor->name);
    liana_status status = liana__safetensors_read(file, tensor, *data, error);
    if (status == LIANA_OK) return LIANA_OK;
    free(*data);
    *data = NULL;
    return status;
}

liana__number_kind liana__safetensors_float_kind(liana__safetensors_dtype dtype)
{
    static const liana__number_kind kinds[LIANA__SAFETENSORS_NUM_DTYPES] = {
        [LIANA__SAFETENSORS_F64] = LIANA__NUMBER_FLOAT,
        [LIANA__SAFETENSORS_F32] = LIANA__NUMBER_FLOAT,
        [LIANA__SAFETENSORS_F16] = LIANA__NUMBER_FLOAT,
        [LIANA__SAFETENSORS_BF16] = LIANA__NUMBER_BFLOAT,
    };
    return kinds[dtype];
}

liana_status liana__safetensors_read_floats(const liana__safetensors *file, const liana__safetensors_tensor *tensor,
                                            float *values, liana__error *error)
{
    const liana__number_kind kind = liana__safetensors_float_kind(tensor->dtype);
    const size_t size = dtypes[tensor->dtype].size;
    if (tensor->dtype == LIANA__SAFETENSORS_F32) return liana__safetensors_read(file, tensor, values, error);
    if (kind == LIANA__NUMBER_NONE) {
        return liana__fail(error, LIANA_UNIMPLEMENTED, "%s: the tensor '%s' is %s, expected F32, F16, BF16 or F64",
                           file->path, tensor->name, dtypes[tensor->dtype].name);
    }
    LIANA__SCOPED_MEMORY void *bytes = NULL;
    LIANA_TRY(liana__safetensors_take(file, tensor, &bytes, error));
    liana__widen(kind, size, bytes, tensor->size / size, values);
    return LIANA_OK;
}

liana_status liana__safetensors_checksum(const liana__safetensors *file, uint32_t *checksum, liana__error *error)
{
    const uint64_t whole = (uint64_t)file->version.size;
    *checksum = 0;
    uint8_t *piece = malloc(PIECE);
    if (!piece) return liana__fail_memory(error, file->path);
    liana_status status = LIANA_OK;
    for (uint64_t at = 0; at < whole && status == LIANA_OK; at += PIECE) {
        const size_t size = whole - at < PIECE ? (size_t)(whole - at) : PIECE;
        status = read_range(file, at, piece, size, error);
        if (status == LIANA_OK) *checksum = add_to_checksum(*checksum, piece, size);
    }
    free(piece);
    return status;
}

/* --- Writing --------------------------------------------------------------------------------------------------- */

static liana_status describe_tensor(const char *path, const liana__safetensors_tensor *tensor, uint64_t *offset,
                                    json_t *header, liana__error *error)
{
    const char *name = tensor->name;
    if (!name || !*name || strcmp(name, metadata_key) == 0) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s': a tensor cannot be called '%s'", path,
                           name ? name : "");
    }
    if (json_object_get(header, name)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s': two tensors are called '%s'", path, name);
    }
    uint64_t size;
    bool fits = tensor->rank >= 0 && tensor->rank <= LIANA__SAFETENSORS_MAX_RANK && count_bytes(tensor, &size) &&
                !__builtin_add_overflow(*offset, size, &size) && size <= INT64_MAX;
    if (!fits) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "'%s': tensor '%s' has a negative or huge dimension, or more than %d of them", path, name,
                           LIANA__SAFETENSORS_MAX_RANK);
    }
    json_t *shape = json_array();
    for (int axis = 0; axis < tensor->rank; axis++) json_array_append_new(shape, json_integer(tensor->shape[axis]));
    json_t *row = json_pack("{s:s, s:o, s:[I,I]}", "dtype", dtypes[tensor->dtype].name, "shape", shape, "data_offsets",
                            (json_int_t)*offset, (json_int_t)size);
    *offset = size;
    /* jansson refuses only texts that are not UTF-8 or do not fit into memory. */
    if (json_object_set_new(header, name, row) == 0) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s': the tensor name '%s' is not valid UTF-8", path, name);
}

static liana_status describe_metadata(const char *path, const liana__safetensors_contents *contents, json_t *header,
                                      liana__error *error)
{
    if (contents->num_metadata == 0) return LIANA_OK;
    json_t *metadata = json_object();
    if (json_object_set_new(header, metadata_key, metadata) != 0) return liana__fail_memory(error, path);
    for (size_t i = 0; i < contents->num_metadata; i++) {
        const liana__safetensors_entry *entry = &contents->metadata[i];
        if (json_object_get(metadata, entry->key)) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s': two metadata entries are called '%s'", path,
                               entry->key);
        }
        if (json_object_set_new(metadata, entry->key, json_string(entry->value)) == 0) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s': the metadata entry '%s' is not valid UTF-8", path,
                           entry->key);
    }
    return LIANA_OK;
}

static liana_status make_header(const char *path, const liana__safetensors_contents *contents, char **text,
                                uint64_t *data_size, liana__error *error)
{
    *text = NULL;
    *data_size = 0;
    json_t *header = json_object();
    if (!header) return liana__fail_memory(error, path);
    liana_status status = describe_metadata(path, contents, header, error);
    for (size_t i = 0; i < contents->num_tensors && status == LIANA_OK; i++) {
        status = describe_tensor(path, &contents->tensors[i], data_size, header, error);
    }
    /* jansson writes keys in the order they were set. */
    if (status == LIANA_OK && !(*text = json_dumps(header, JSON_COMPACT))) status = liana__fail_memory(error, path);
    json_decref(header);
    if (status == LIANA_OK && strlen(*text) > HEADER_LIMIT - HEADER_ALIGNMENT) {
        free(*text);
        status = liana__fail(error, LIANA_OUT_OF_RANGE, "'%s': names, shapes and metadata take more than %d bytes",
                             path, HEADER_LIMIT);
    }
    return status;
}

static liana_status put(liana__safetensors_writer *writer, const void *data, size_t size, liana__error *error)
{
    writer->checksum = add_to_checksum(writer->checksum, data, size);
    return liana__file_write(&writer->file, data, size, error);
}

static liana_status put_header(liana__safetensors_writer *writer, const char *text, liana__error *error)
{
    static const char spaces[HEADER_ALIGNMENT] = "        ";
    size_t length = strlen(text);
    size_t padding = (HEADER_ALIGNMENT - length % HEADER_ALIGNMENT) % HEADER_ALIGNMENT;
    uint8_t prefix[PREFIX];
    for (int i = 0; i < PREFIX; i++) prefix[i] = (uint8_t)((uint64_t)(length + padding) >> (8 * i));
    LIANA_TRY(put(writer, prefix, sizeof prefix, error));
    LIANA_TRY(put(writer, text, length, error));
    return put(writer, spaces, padding, error);
}

liana_status liana__safetensors_begin(liana__safetensors_writer *writer, const char *path,
                                      const liana__safetensors_contents *contents, liana__error *error)
{
    *writer = (liana__safetensors_writer){.file = {.descriptor = -1}};
    char *text;
    LIANA_TRY(make_header(path, contents, &text, &writer->remaining, error));
    liana_status status = liana__file_begin(&writer->file, path, error);
    if (status == LIANA_OK) {
        status = put_header(writer, text, error);
        if (status != LIANA_OK) liana__safetensors_abandon(writer);
    }
    free(text);
    return status;
}

liana_status liana__safetensors_put(liana__safetensors_writer *writer, const void *data, size_t size,
                                    liana__error *error)
{
    if (size > writer->remaining) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "'%s': %zu bytes of data given, but the tensors named have only %" PRIu64 " left",
                           writer->file.path, size, writer->remaining);
    }
    writer->remaining -= size;
    return put(writer, data, size, error);
}

liana_status liana__safetensors_finish(liana__safetensors_writer *writer, bool durable, uint32_t *checksum,
                                       liana__error *error)
{
    if (writer->remaining > 0) {
        liana_status status = liana__fail(error, LIANA_INVALID_ARGUMENT,
                                          "'%s': finished with %" PRIu64 " bytes of the tensors' data missing",
                                          writer->file.path, writer->remaining);
        liana__safetensors_abandon(writer);
        return status;
    }
    if (checksum) *checksum = writer->checksum;
    return liana__file_commit(&writer->file, durable, error);
}

void liana__safetensors_abandon(liana__safetensors_writer *writer)
{
    liana__file_abandon(&writer->file);
}

static liana_status put_tensors(liana__safetensors_writer *writer, const liana__safetensors_contents *contents,
                                liana__error *error)
{
    for (size_t i = 0; i < contents->num_tensors; i++) {
        const liana__safetensors_tensor *tensor = &contents->tensors[i];
        uint64_t size = 0;
        /* The shape was checked when the header was made. */
        bool counted = count_bytes(tensor, &size);
        if (!counted || (tensor->size != 0 && tensor->size != size)) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT,
                               "'%s': tensor '%s' comes with %zu bytes, but its shape and dtype need %" PRIu64,
                               writer->file.path, tensor->name, tensor->size, size);
        }
        LIANA_TRY(liana__safetensors_put(writer, tensor->data, (size_t)size, error));
    }
    return LIANA_OK;
}

liana_status liana__safetensors_write(const char *path, const liana__safetensors_contents *contents, bool durable,
                                      uint32_t *checksum, liana__error *error)
{
    liana__safetensors_writer writer;
    LIANA_TRY(liana__safetensors_begin(&writer, path, contents, error));
    liana_status status = put_tensors(&writer, contents, error);
    if (status == LIANA_OK) return liana__safetensors_finish(&writer, durable, checksum, error);
    liana__safetensors_abandon(&writer);
    return status;
}
