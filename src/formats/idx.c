/* Reads and writes IDX files. */
#include "formats/idx.h"

#include "formats/sniff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct type_row {
    liana__idx_type type;
    const char *name;
    size_t size;
} type_row;

static const type_row types[] = {
    {LIANA__IDX_U8, "u8", 1},   {LIANA__IDX_S8, "s8", 1},   {LIANA__IDX_S16, "s16", 2},
    {LIANA__IDX_S32, "s32", 4}, {LIANA__IDX_F32, "f32", 4}, {LIANA__IDX_F64, "f64", 8},
};

static const type_row *find_type(int code)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if ((int)types[i].type == code) return &types[i];
    }
    return NULL;
}

const char *liana__idx_type_name(liana__idx_type type)
{
    const type_row *row = find_type((int)type);
    return row ? row->name : "unknown";
}

/* "60000 x 28 x 28" */
static const char *format_dimensions(const liana__idx *idx, char text[256])
{
    size_t length = 0;
    text[0] = 0;
    for (int i = 0; i < idx->num_dimensions; i++) {
        length += (size_t)snprintf(text + length, 256 - length, "%s%zu", i ? " x " : "", idx->dimensions[i]);
    }
    return text;
}

static liana_status read_header(liana__idx *idx, const uint8_t *bytes, size_t size, size_t *element_size,
                                liana__error *error)
{
    const char *inside = idx->inflated ? "what it holds after inflating" : "it";
    if (size < 4 || bytes[0] != 0 || bytes[1] != 0) {
        const char *looks = liana__sniff(bytes, size);
        if (looks) {
            return liana__fail(error, LIANA_INVALID_DATA, "'%s' is not an IDX file: %s looks like %s", idx->name,
                               inside, looks);
        }
        return liana__fail(error, size < 4 ? LIANA_DATA_LOSS : LIANA_INVALID_DATA,
                           "'%s' is not an IDX file: %s has %zu bytes and does not start with two zero bytes, a type "
                           "and a number of dimensions",
                           idx->name, inside, size);
    }
    const type_row *row = find_type(bytes[2]);
    if (!row) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "'%s': type code 0x%02x, expected 0x08 (u8), 0x09 (s8), 0x0b (s16), 0x0c (s32), 0x0d (f32) "
                           "or 0x0e (f64); the file is damaged or not an IDX file",
                           idx->name, bytes[2]);
    }
    if (bytes[3] < 1 || bytes[3] > LIANA__IDX_MAX_DIMENSIONS) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s': %d dimensions, expected 1 to %d", idx->name, bytes[3],
                           LIANA__IDX_MAX_DIMENSIONS);
    }
    idx->type = row->type;
    idx->num_dimensions = bytes[3];
    *element_size = row->size;
    return LIANA_OK;
}

/* The first dimension becomes as long as there is room for. */
static size_t keep_start(liana__idx *idx, size_t found, size_t expected)
{
    size_t one = expected / idx->dimensions[0];
    idx->missing = idx->dimensions[0] - found / one;
    idx->dimensions[0] = found / one;
    return found / one * one;
}

static liana_status read_dimensions(liana__idx *idx, const uint8_t *bytes, size_t size, size_t element_size, bool start,
                                    liana__error *error)
{
    size_t header = 4 + 4 * (size_t)idx->num_dimensions;
    if (size < header) {
        return liana__fail(error, LIANA_DATA_LOSS,
                           "'%s' is truncated: %zu bytes, but its header with %d dimensions needs %zu", idx->name, size,
                           idx->num_dimensions, header);
    }
    size_t expected = element_size;
    bool overflow = false;
    for (int i = 0; i < idx->num_dimensions; i++) {
        const uint8_t *at = bytes + 4 + 4 * i;
        idx->dimensions[i] = (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
        overflow = __builtin_mul_overflow(expected, idx->dimensions[i], &expected) || overflow;
    }
    char text[256];
    format_dimensions(idx, text);
    if (overflow) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "'%s': dimensions %s of %s are too large for any file; the file is damaged", idx->name, text,
                           liana__idx_type_name(idx->type));
    }
    size_t found = size - header;
    if (start && found < expected) {
        expected = keep_start(idx, found, expected);
    } else if (found != expected) {
        return liana__fail(error, found < expected ? LIANA_DATA_LOSS : LIANA_INVALID_DATA,
                           "'%s': %zu bytes of values%s, but dimensions %s of %s need %zu; the file is %s", idx->name,
                           found, idx->inflated ? " after inflating" : "", text, liana__idx_type_name(idx->type),
                           expected, found < expected ? "truncated; copy or download it again" : "damaged");
    }
    idx->num_elements = expected / element_size;
    idx->size = expected;
    return LIANA_OK;
}

enum { HEAD = 512 }; /* more than a header has, and enough to see another kind of file */

/* `head` is a copy of the first bytes, as many as there are up to HEAD. */
static liana_status read_array(liana__idx *idx, const uint8_t *head, const uint8_t *bytes, size_t size, bool start,
                               liana__error *error)
{
    size_t element_size = 0;
    LIANA_TRY(read_header(idx, head, size, &element_size, error));
    LIANA_TRY(read_dimensions(idx, head, size, element_size, start, error));
    idx->data = bytes + 4 + 4 * (size_t)idx->num_dimensions;
    return LIANA_OK;
}

/* Reads a copy, since others may cut the file. A compressed file is read as a whole. */
static liana_status read_file(liana__idx *idx, size_t limit, bool start, liana__error *error)
{
    uint8_t head[HEAD];
    size_t size;
    LIANA_TRY(liana__file_read_head(idx->name, head, sizeof head, &size, error));
    if (!liana__is_gzip(head, size)) {
        LIANA_TRY(liana__file_map(idx->name, &idx->mapping, error));
        size_t found = idx->mapping.size < size ? idx->mapping.size : size;
        return read_array(idx, head, idx->mapping.data, found < sizeof head ? found : idx->mapping.size, start, error);
    }
    char *bytes;
    LIANA_TRY(liana__file_read(idx->name, SIZE_MAX / 2, &bytes, &size, error));
    const uint8_t *compressed = (const uint8_t *)bytes;
    liana_status status = liana__inflate(idx->name, compressed, size, limit, &idx->inflated, &size, error);
    free(bytes);
    return status == LIANA_OK ? read_array(idx, idx->inflated, idx->inflated, size, start, error) : status;
}

liana_status liana__idx_open(const char *path, size_t inflated_limit, bool start, liana__idx *idx, liana__error *error)
{
    *idx = (liana__idx){.name = strdup(path)};
    liana_status status = idx->name ? read_file(idx, inflated_limit, start, error) : liana__fail_memory(error, path);
    if (status != LIANA_OK) liana__idx_close(idx);
    return status;
}

void liana__idx_close(liana__idx *idx)
{
    liana__file_unmap(&idx->mapping);
    free(idx->inflated);
    free(idx->name);
    *idx = (liana__idx){0};
}

liana_status liana__idx_expect_u8(const liana__idx *idx, int num_dimensions, const char *what, liana__error *error)
{
    if (idx->type == LIANA__IDX_U8 && idx->num_dimensions == num_dimensions) return LIANA_OK;
    char text[256];
    return liana__fail(error, LIANA_INVALID_DATA, "'%s' holds %s of %s, expected %s of u8", idx->name,
                       format_dimensions(idx, text), liana__idx_type_name(idx->type), what);
}
