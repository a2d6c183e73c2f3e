/* Numbers of an ONNX file: in the message, or in a file beside it. */
#include "base/file.h"
#include "base/half.h"
#include "base/little_endian.h"
#include "onnx/import_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static liana_status fail(const liana__import *own, const liana__onnx_tensor *tensor, liana_status status,
                         const char *format, ...) LIANA__PRINTF(4, 5);
static liana_status fail(const liana__import *own, const liana__onnx_tensor *tensor, liana_status status,
                         const char *format, ...)
{
    char message[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return liana__fail(own->error, status, "'%s': tensor '%.100s': %s", own->path, tensor->name ? tensor->name : "",
                       message);
}

/* ---- dtypes ---- */

typedef struct dtype_row {
    int code; /* ONNX's */
    const char *name;
    size_t size;
    bool is_float;
} dtype_row;

static const dtype_row dtypes[] = {
    {LIANA__ONNX__TENSOR__DATA_TYPE__FLOAT, "float32", 4, true},
    {LIANA__ONNX__TENSOR__DATA_TYPE__DOUBLE, "float64", 8, true},
    {LIANA__ONNX__TENSOR__DATA_TYPE__FLOAT16, "float16", 2, true},
    {LIANA__ONNX__TENSOR__DATA_TYPE__BFLOAT16, "bfloat16", 2, true},
    {LIANA__ONNX__TENSOR__DATA_TYPE__INT64, "int64", 8, false},
    {LIANA__ONNX__TENSOR__DATA_TYPE__INT32, "int32", 4, false},
    {LIANA__ONNX__TENSOR__DATA_TYPE__INT16, "int16", 2, false},
    {LIANA__ONNX__TENSOR__DATA_TYPE__INT8, "int8", 1, false},
    {LIANA__ONNX__TENSOR__DATA_TYPE__UINT16, "uint16", 2, false},
    {LIANA__ONNX__TENSOR__DATA_TYPE__UINT8, "uint8", 1, false},
    {LIANA__ONNX__TENSOR__DATA_TYPE__BOOL, "bool", 1, false},
};

static const dtype_row *find_dtype(int code)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        if (dtypes[i].code == code) return &dtypes[i];
    }
    return NULL;
}

/* One number of raw_data. */
static double raw_number(const uint8_t *at, int code)
{
    switch (code) {
    case LIANA__ONNX__TENSOR__DATA_TYPE__FLOAT: {
        const uint32_t bits = liana__load_u32(at);
        float number;
        memcpy(&number, &bits, sizeof number);
        return (double)number;
    }
    case LIANA__ONNX__TENSOR__DATA_TYPE__DOUBLE: {
        const uint64_t bits = liana__load_u64(at);
        double number;
        memcpy(&number, &bits, sizeof number);
        return number;
    }
    case LIANA__ONNX__TENSOR__DATA_TYPE__FLOAT16: return (double)liana__half_to_float((uint16_t)(at[0] | at[1] << 8));
    case LIANA__ONNX__TENSOR__DATA_TYPE__BFLOAT16: {
        const uint32_t bits = (uint32_t)(at[0] | at[1] << 8) << 16;
        float number;
        memcpy(&number, &bits, sizeof number);
        return (double)number;
    }
    default: return 0;
    }
}

static int64_t raw_integer(const uint8_t *at, int code)
{
    switch (code) {
    case LIANA__ONNX__TENSOR__DATA_TYPE__INT64: return (int64_t)liana__load_u64(at);
    case LIANA__ONNX__TENSOR__DATA_TYPE__INT32: return (int32_t)liana__load_u32(at);
    case LIANA__ONNX__TENSOR__DATA_TYPE__INT16: return (int16_t)(uint16_t)(at[0] | at[1] << 8);
    case LIANA__ONNX__TENSOR__DATA_TYPE__UINT16: return at[0] | at[1] << 8;
    case LIANA__ONNX__TENSOR__DATA_TYPE__INT8: return (int8_t)at[0];
    case LIANA__ONNX__TENSOR__DATA_TYPE__BOOL: return at[0] != 0;
    default: return at[0];
    }
}

/* ---- external data ---- */

static const char *external(const liana__onnx_tensor *tensor, const char *key)
{
    for (size_t i = 0; i < tensor->n_external_data; i++) {
        const Liana__Onnx__Entry *entry = tensor->external_data[i];
        if (entry->key && entry->value && strcmp(entry->key, key) == 0) return entry->value;
    }
    return NULL;
}

/* A whole number of an entry; 0 if there is none. */
static bool external_number(const liana__onnx_tensor *tensor, const char *key, uint64_t *number)
{
    const char *text = external(tensor, key);
    *number = 0;
    if (!text) return true;
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && !errno;
}

/* The file must be below the folder of the model: neither absolute, nor by "..", nor by a link. */
static liana_status find_external(liana__import *own, const liana__onnx_tensor *tensor, const char **path)
{
    const char *location = external(tensor, "location");
    if (!location || !*location) return fail(own, tensor, LIANA_INVALID_DATA, "its external data has no location");
    const char *folder = liana__path_folder(&own->arena, own->path);
    bool is_inside = location[0] != '/' && !strchr(location, '\\');
    const char *part = location;
    struct stat found;
    if (!folder) return liana__fail_memory(own->error, own->path);
    while (is_inside && *part) {
        const size_t length = strcspn(part, "/");
        const bool is_up = length == 2 && part[0] == '.' && part[1] == '.';
        const size_t end = (size_t)(part - location) + length;
        const char *name = liana__arena_format(&own->arena, "%.*s", (int)end, location);
        const char *whole = name ? liana__path_join(&own->arena, folder, name) : NULL;
        if (!whole) return liana__fail_memory(own->error, own->path);
        is_inside = !is_up && !(lstat(whole, &found) == 0 && S_ISLNK(found.st_mode));
        part += length + (part[length] == '/');
        *path = whole;
    }
    if (is_inside) return LIANA_OK;
    return fail(own, tensor, LIANA_INVALID_DATA,
                "its external data is in '%.200s', expected a file in the folder of the model: no absolute path, no "
                "'..', no link",
                location);
}

static liana_status read_external(liana__import *own, const liana__onnx_tensor *tensor, size_t size, uint8_t **bytes)
{
    const char *path = NULL;
    uint64_t offset, length;
    int descriptor;
    liana__file_version version;
    LIANA_TRY(find_external(own, tensor, &path));
    if (!external_number(tensor, "offset", &offset) || !external_number(tensor, "length", &length)) {
        return fail(own, tensor, LIANA_INVALID_DATA, "offset or length of its external data is no whole number");
    }
    if (length && length != size) {
        return fail(own, tensor, LIANA_INVALID_DATA, "its external data has %" PRIu64 " bytes, its shape needs %zu",
                    length, size);
    }
    LIANA_TRY(liana__file_open(path, &descriptor, &version, own->error));
    const bool is_there = offset <= (uint64_t)version.size && size <= (uint64_t)version.size - offset;
    *bytes = is_there ? liana__arena_allocate(&own->arena, size + 1) : NULL;
    const bool is_read = *bytes && liana__file_read_at(descriptor, offset, *bytes, size);
    close(descriptor);
    if (is_there && !*bytes) return liana__fail_memory(own->error, path);
    if (is_read) return LIANA_OK;
    return fail(own, tensor, LIANA_INVALID_DATA,
                "bytes %" PRIu64 " to %" PRIu64 " of '%s' are needed, but the file has %" PRIi64
                "; it is cut off, or belongs to another model",
                offset, offset + size, path, version.size);
}

/* ---- numbers ---- */

/* Where the numbers are. */
typedef struct source {
    const uint8_t *raw;
    size_t size;
} source;

static liana_status find_raw(liana__import *own, const liana__onnx_tensor *tensor, size_t bytes, source *from)
{
    uint8_t *read = NULL;
    *from = (source){NULL, 0};
    if (tensor->has_data_location && tensor->data_location == LIANA__ONNX__TENSOR__DATA_LOCATION__EXTERNAL) {
        LIANA_TRY(read_external(own, tensor, bytes, &read));
        *from = (source){read, bytes};
    } else if (tensor->has_raw_data) {
        *from = (source){tensor->raw_data.data, tensor->raw_data.len};
    }
    if (!from->raw && !from->size) return LIANA_OK;
    if (from->size == bytes) return LIANA_OK;
    return fail(own, tensor, LIANA_INVALID_DATA, "found %zu bytes, its shape needs %zu", from->size, bytes);
}

/* Typed fields. False: another number of elements. */
static bool read_fields(const liana__onnx_tensor *tensor, const dtype_row *dtype, int64_t count, float *floats,
                        int64_t *ints)
{
    const size_t wanted = (size_t)count;
    const bool is_half = dtype->is_float && dtype->size == 2;
    if (dtype->code == LIANA__ONNX__TENSOR__DATA_TYPE__FLOAT && tensor->n_float_data == wanted) {
        if (count) memcpy(floats, tensor->float_data, wanted * sizeof *floats);
        return true;
    }
    if (dtype->code == LIANA__ONNX__TENSOR__DATA_TYPE__DOUBLE && tensor->n_double_data == wanted) {
        for (size_t i = 0; i < wanted; i++) floats[i] = (float)tensor->double_data[i];
        return true;
    }
    if (dtype->code == LIANA__ONNX__TENSOR__DATA_TYPE__INT64 && tensor->n_int64_data == wanted) {
        if (count) memcpy(ints, tensor->int64_data, wanted * sizeof *ints);
        return true;
    }
    if (dtype->size > 4 || tensor->n_int32_data != wanted) return false;
    for (size_t i = 0; i < wanted; i++) {
        const uint32_t bits = (uint32_t)tensor->int32_data[i];
        const uint8_t half[2] = {(uint8_t)bits, (uint8_t)(bits >> 8)};
        if (is_half) floats[i] = (float)raw_number(half, dtype->code);
        if (!dtype->is_float) ints[i] = tensor->int32_data[i];
    }
    return is_half || !dtype->is_float;
}

static void tell_dtype(liana__import *own, const dtype_row *dtype)
{
    bool *told = dtype->size == 8 ? &own->told_double : &own->told_half;
    if (!dtype->is_float || dtype->size == 4 || *told) return;
    *told = true;
    liana__note(&own->options->notes, "%s: weights of %s are read as float32", own->path, dtype->name);
}

static liana_status read_numbers(liana__import *own, liana__import_constant *constant)
{
    const liana__onnx_tensor *tensor = constant->tensor;
    const dtype_row *dtype = find_dtype(tensor->data_type);
    source from;
    /* Numbers of the message are no more than its bytes; only external data could ask for more memory than it has. */
    LIANA_TRY(find_raw(own, tensor, (size_t)constant->count * dtype->size, &from));
    const size_t fields = tensor->n_float_data + tensor->n_double_data + tensor->n_int64_data + tensor->n_int32_data;
    if (!from.raw && fields != (size_t)constant->count) {
        return fail(own, tensor, LIANA_INVALID_DATA, "found %zu numbers, its shape needs %" PRIi64, fields,
                    constant->count);
    }
    const size_t room = (size_t)constant->count + 1;
    float *floats = dtype->is_float ? liana__arena_allocate(&own->arena, room * sizeof *floats) : NULL;
    int64_t *ints = dtype->is_float ? NULL : liana__arena_allocate(&own->arena, room * sizeof *ints);
    if (!floats && !ints) return liana__fail_memory(own->error, own->path);
    for (int64_t i = 0; from.raw && i < constant->count; i++) {
        const uint8_t *at = from.raw + (size_t)i * dtype->size;
        if (floats) floats[i] = (float)raw_number(at, dtype->code);
        if (ints) ints[i] = raw_integer(at, dtype->code);
    }
    if (!from.raw && constant->count && !read_fields(tensor, dtype, constant->count, floats, ints)) {
        return fail(own, tensor, LIANA_INVALID_DATA, "its numbers are not in the field of %s", dtype->name);
    }
    tell_dtype(own, dtype);
    constant->floats = floats;
    constant->ints = ints;
    constant->tensor = NULL;
    return LIANA_OK;
}

const float *liana__import_floats(liana__import *own, liana__import_constant *constant)
{
    if (constant->tensor && read_numbers(own, constant) != LIANA_OK) return NULL;
    if (constant->floats) return constant->floats;
    float *floats = liana__arena_allocate(&own->arena, ((size_t)constant->count + 1) * sizeof *floats);
    if (!floats) {
        (void)liana__fail_memory(own->error, own->path);
        return NULL;
    }
    for (int64_t i = 0; i < constant->count; i++) floats[i] = (float)constant->ints[i];
    return floats;
}

const int64_t *liana__import_ints(liana__import *own, liana__import_constant *constant)
{
    if (constant->tensor && read_numbers(own, constant) != LIANA_OK) return NULL;
    if (constant->ints) return constant->ints;
    int64_t *ints = liana__arena_allocate(&own->arena, ((size_t)constant->count + 1) * sizeof *ints);
    if (!ints) {
        (void)liana__fail_memory(own->error, own->path);
        return NULL;
    }
    for (int64_t i = 0; i < constant->count; i++) {
        const double number = (double)constant->floats[i];
        ints[i] = number >= -9.0e18 && number <= 9.0e18 ? (int64_t)number : 0;
    }
    return ints;
}

static liana_status count_elements(const liana__import *own, int rank, const int64_t *dims, int64_t *count)
{
    *count = 1;
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0 || __builtin_mul_overflow(*count, dims[i], count) || *count > (int64_t)1 << 40) {
            return liana__fail(own->error, LIANA_INVALID_DATA,
                               "'%s': a tensor has an axis of %" PRIi64
                               " elements, which is no size, or makes it too large",
                               own->path, dims[i]);
        }
    }
    return LIANA_OK;
}

liana_status liana__import_tensor(liana__import *own, const liana__onnx_tensor *tensor,
                                  liana__import_constant **constant)
{
    const dtype_row *dtype = find_dtype(tensor->data_type);
    liana__import_constant *made = liana__arena_allocate(&own->arena, sizeof *made);
    if (!made) return liana__fail_memory(own->error, own->path);
    if (!dtype) {
        return fail(
            own, tensor, LIANA_UNIMPLEMENTED,
            "found the dtype %d of ONNX, expected float32, float64, float16, bfloat16, an integer of at most 64 "
            "bits, or bool",
            tensor->data_type);
    }
    if (tensor->n_dims > LIANA_MAX_RANK) {
        return fail(own, tensor, LIANA_UNIMPLEMENTED, "found %zu axes, expected at most %d", tensor->n_dims,
                    LIANA_MAX_RANK);
    }
    *made = (liana__import_constant){.name = tensor->name,
                                     .is_float = dtype->is_float,
                                     .is_bool = dtype->code == LIANA__ONNX__TENSOR__DATA_TYPE__BOOL,
                                     .rank = (int)tensor->n_dims,
                                     .tensor = tensor};
    for (int i = 0; i < made->rank; i++) made->dims[i] = tensor->dims[i];
    if (count_elements(own, made->rank, made->dims, &made->count) != LIANA_OK) {
        return liana__fail_within(own->error, "tensor '%.100s'", tensor->name ? tensor->name : "");
    }
    *constant = made;
    return LIANA_OK;
}

liana__import_constant *liana__import_new(liana__import *own, bool is_float, int rank, const int64_t *dims)
{
    liana__import_constant *made = liana__arena_allocate(&own->arena, sizeof *made);
    int64_t count;
    if (count_elements(own, rank, dims, &count) != LIANA_OK) return NULL;
    const uint64_t size = (uint64_t)(count + 1) * (is_float ? sizeof(float) : sizeof(int64_t));
    if (size > own->budget) {
        (void)
            liana__fail(own->error, LIANA_INVALID_DATA,
                        "'%s': constants that are computed from others would need more than the allowed memory; is the "
                        "file damaged?",
                        own->path);
        return NULL;
    }
    own->budget -= size;
    void *numbers = made ? liana__arena_allocate(&own->arena, size) : NULL;
    if (!numbers) {
        (void)liana__fail_memory(own->error, own->path);
        return NULL;
    }
    *made = (liana__import_constant){.is_float = is_float, .rank = rank, .count = count};
    for (int i = 0; i < rank; i++) made->dims[i] = dims[i];
    made->floats = is_float ? numbers : NULL;
    made->ints = is_float ? NULL : numbers;
    return made;
}
