/* Reads files of numpy. The format: numpy.org/doc/stable/reference/generated/numpy.lib.format.html. */
#include "formats/npy.h"

#include "base/scoped.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAGIC = 6, PREFIX = 12, MOST_HEADER = 1 << 16, MOST_ITEM = 8 };

/* ---- the header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } ---- */

typedef struct scanner {
    const char *at;
    liana__npy_array *array;
    bool has_descr, has_order, has_shape;
    char descr[16];
    liana__error *error;
} scanner;

static liana_status fail(const scanner *own, const char *expected)
{
    return liana__fail(own->error, LIANA_INVALID_DATA, "'%s': its header is not numpy's: found '%.40s', expected %s",
                       own->array->path, own->at, expected);
}

/* Skips blanks and then `sign`, if it is there. */
static bool take(scanner *own, char sign)
{
    while (isspace((unsigned char)*own->at)) own->at++;
    if (*own->at != sign) return false;
    own->at++;
    return true;
}

/* A text in quotes without escapes; *length is cut at what fits. */
static bool take_text(scanner *own, char *text, size_t size)
{
    while (isspace((unsigned char)*own->at)) own->at++;
    const char quote = *own->at;
    if (quote != '\'' && quote != '"') return false;
    const char *end = strchr(own->at + 1, quote);
    if (!end || (size_t)(end - own->at) > size) return false;
    memcpy(text, own->at + 1, (size_t)(end - own->at - 1));
    text[end - own->at - 1] = 0;
    own->at = end + 1;
    return true;
}

static bool take_word(scanner *own, const char *word)
{
    while (isspace((unsigned char)*own->at)) own->at++;
    const size_t length = strlen(word);
    if (strncmp(own->at, word, length) != 0) return false;
    own->at += length;
    return true;
}

static liana_status read_shape(scanner *own)
{
    liana__npy_array *array = own->array;
    if (!take(own, '(')) return fail(own, "a shape, as (3, 4)");
    while (!take(own, ')')) {
        char *end;
        if (array->num_dims == LIANA__NPY_MOST_AXES || !isdigit((unsigned char)*own->at)) return fail(own, "a length");
        errno = 0;
        const long long length = strtoll(own->at, &end, 10);
        if (errno) return fail(own, "a length below 2^63");
        own->at = *end == 'L' ? end + 1 : end; /* as Python 2 wrote it */
        array->dims[array->num_dims++] = length;
        if (!take(own, ',') && *own->at != ')') return fail(own, "a comma");
    }
    return LIANA_OK;
}

/* A record's dtype is a list. */
static liana_status read_descr(scanner *own)
{
    if (take(own, '[')) {
        return liana__fail(own->error, LIANA_UNIMPLEMENTED, "'%s' holds records of several fields, expected numbers",
                           own->array->path);
    }
    return take_text(own, own->descr, sizeof own->descr) ? LIANA_OK : fail(own, "a dtype, as '<f4'");
}

static liana_status read_member(scanner *own)
{
    char key[16];
    if (!take_text(own, key, sizeof key) || !take(own, ':')) return fail(own, "'descr', 'fortran_order' or 'shape'");
    if (strcmp(key, "descr") == 0) {
        own->has_descr = true;
        return read_descr(own);
    }
    if (strcmp(key, "shape") == 0 && !own->has_shape) {
        own->has_shape = true;
        return read_shape(own);
    }
    if (strcmp(key, "fortran_order") != 0) return fail(own, "'descr', 'fortran_order' or 'shape'");
    own->has_order = true;
    own->array->fortran = take_word(own, "True");
    return own->array->fortran || take_word(own, "False") ? LIANA_OK : fail(own, "True or False");
}

/* '<f4': byte order, kind, bytes. */
static liana_status find_dtype(scanner *own)
{
    static const struct {
        const char *name;
        liana_dtype dtype;
    } kinds[] = {{"f2", LIANA_F16}, {"f4", LIANA_F32}, {"f8", LIANA_F64}, {"i1", LIANA_S8},
                 {"i2", LIANA_S16}, {"i4", LIANA_S32}, {"i8", LIANA_S64}, {"u1", LIANA_U8},
                 {"u2", LIANA_U16}, {"u4", LIANA_U32}, {"u8", LIANA_U64}, {"b1", LIANA_BOOL}};
    const char order = *own->descr;
    own->array->big_endian = order == '>';
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && order && strchr("<>|=", order); i++) {
        if (strcmp(own->descr + 1, kinds[i].name) != 0) continue;
        own->array->dtype = kinds[i].dtype;
        return LIANA_OK;
    }
    const bool objects = strcmp(own->descr, "|O") == 0;
    return liana__fail(own->error, LIANA_UNIMPLEMENTED, "'%s' holds values of the dtype '%s'%s, expected numbers",
                       own->array->path, own->descr,
                       objects ? " (Python's objects, which are never read: to read them is to run code)" : "");
}

static liana_status read_header(scanner *own)
{
    if (!take(own, '{')) return fail(own, "{");
    while (!take(own, '}')) {
        LIANA_TRY(read_member(own));
        if (!take(own, ',') && *own->at != '}') return fail(own, "a comma");
    }
    if (!own->has_descr || !own->has_order || !own->has_shape) {
        return liana__fail(own->error, LIANA_INVALID_DATA, "'%s': its header lacks 'descr', 'fortran_order' or 'shape'",
                           own->array->path);
    }
    return find_dtype(own);
}

/* ---- the file ---- */

static liana_status read_at(const liana__npy_array *array, uint64_t offset, void *bytes, size_t size,
                            liana__error *error)
{
    for (size_t done = 0; done < size;) {
        const ssize_t got = pread(array->descriptor, (char *)bytes + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            return liana__fail(error, LIANA_IO_ERROR, "cannot read '%s': %s", array->path, strerror(errno));
        }
        if (got == 0) {
            return liana__fail(error, LIANA_DATA_LOSS, "'%s' is truncated: it ends at byte %llu", array->path,
                               (unsigned long long)(offset + done));
        }
        done += (size_t)got;
    }
    return LIANA_OK;
}

/* The number of values, against the size of the file. */
static liana_status check_size(liana__npy_array *array, uint64_t size, liana__error *error)
{
    uint64_t count = 1, rows = 1;
    bool overflow = false;
    for (int i = 0; i < array->num_dims; i++) {
        if (i) overflow |= __builtin_mul_overflow(rows, (uint64_t)array->dims[i], &rows);
        overflow |= __builtin_mul_overflow(count, (uint64_t)array->dims[i], &count);
    }
    overflow |= __builtin_mul_overflow(count, (uint64_t)liana_dtype_size(array->dtype), &array->bytes);
    overflow |= rows > INT64_MAX;
    const uint64_t there = size > array->begin ? size - array->begin : 0;
    if (overflow || array->bytes > there) {
        return liana__fail(error, overflow ? LIANA_INVALID_DATA : LIANA_DATA_LOSS,
                           "'%s': its shape says more values than the %llu bytes behind its header hold; it is %s",
                           array->path, (unsigned long long)there,
                           overflow ? "damaged" : "truncated; copy or download it again");
    }
    array->row_values = (int64_t)rows;
    return LIANA_OK;
}

static liana_status read_file(liana__npy_array *array, uint64_t size, liana__error *error)
{
    uint8_t prefix[PREFIX] = {0};
    LIANA_TRY(read_at(array, 0, prefix, size < PREFIX ? (size_t)size : PREFIX, error));
    const int version = prefix[MAGIC];
    if (memcmp(prefix, "\x93NUMPY", MAGIC) != 0 || version < 1 || version > 3) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s' is not an array of numpy (.npy, format 1 to 3)",
                           array->path);
    }
    const uint32_t length = version == 1 ? (uint32_t)prefix[8] | (uint32_t)prefix[9] << 8
                                         : (uint32_t)prefix[8] | (uint32_t)prefix[9] << 8 | (uint32_t)prefix[10] << 16 |
                                               (uint32_t)prefix[11] << 24;
    const uint64_t header = version == 1 ? 10 : 12;
    if (length > MOST_HEADER) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s': its header has %u bytes, expected at most %d", array->path,
                           (unsigned)length, MOST_HEADER);
    }
    LIANA__SCOPED_MEMORY char *text = calloc(1, (size_t)length + 1);
    if (!text) return liana__fail_memory(error, array->path);
    LIANA_TRY(read_at(array, header, text, length, error));
    array->begin = header + length;
    scanner own = {.at = text, .array = array, .error = error};
    LIANA_TRY(read_header(&own));
    return check_size(array, size, error);
}

liana_status liana__npy_open(const char *path, liana__npy_array *array, liana__error *error)
{
    struct stat info;
    *array = (liana__npy_array){0};
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return liana__fail(error, errno == ENOENT ? LIANA_NOT_FOUND : LIANA_IO_ERROR, "cannot open '%s': %s", path,
                           strerror(errno));
    }
    array->path = path;
    array->descriptor = descriptor;
    liana_status status = fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode)
                              ? LIANA_OK
                              : liana__fail(error, LIANA_IO_ERROR, "'%s' is no regular file", path);
    if (status == LIANA_OK) status = read_file(array, (uint64_t)info.st_size, error);
    if (status != LIANA_OK) liana__npy_close(array);
    return status;
}

void liana__npy_close(liana__npy_array *array)
{
    if (array->path) close(array->descriptor);
    *array = (liana__npy_array){0};
}

static void swap_bytes(uint8_t *values, int64_t count, size_t size)
{
    for (int64_t i = 0; i < count; i++) {
        uint8_t copy[MOST_ITEM];
        memcpy(copy, values + (size_t)i * size, size);
        for (size_t k = 0; k < size; k++) values[(size_t)i * size + k] = copy[size - 1 - k];
    }
}

/* In Fortran's order a row is scattered: value [index, i, j] is number index + rows * (i + columns * j). */
static liana_status read_scattered(const liana__npy_array *array, int64_t index, uint8_t *values, size_t size,
                                   liana__error *error)
{
    for (int64_t i = 0; i < array->row_values; i++) {
        uint64_t place = 0, scale = (uint64_t)array->dims[0];
        int64_t rest = i, within = array->row_values;
        for (int axis = 1; axis < array->num_dims; axis++) {
            within /= array->dims[axis];
            place += (uint64_t)(rest / within) * scale;
            rest %= within;
            scale *= (uint64_t)array->dims[axis];
        }
        const uint64_t offset = array->begin + (place + (uint64_t)index) * size;
        LIANA_TRY(read_at(array, offset, values + (size_t)i * size, size, error));
    }
    return LIANA_OK;
}

liana_status liana__npy_read_row(const liana__npy_array *array, int64_t index, void *values, liana__error *error)
{
    const size_t size = liana_dtype_size(array->dtype), bytes = (size_t)array->row_values * size;
    const uint64_t offset = array->begin + (uint64_t)index * bytes;
    LIANA_TRY(array->fortran ? read_scattered(array, index, values, size, error)
                             : read_at(array, offset, values, bytes, error));
    const uint16_t one = 1;
    const bool is_big = *(const uint8_t *)&one == 0;
    if (array->big_endian != is_big && size > 1) swap_bytes(values, array->row_values, size);
    return LIANA_OK;
}
