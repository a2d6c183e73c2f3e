/* Reads values of TensorFlow's checkpoints. */
#include "base/crc32c.h"
#include "formats/tensorflow/tf_checkpoint.h"
#include "formats/tensorflow/tf_checkpoint_internal.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 18 }; /* bytes that are read at once; a multiple of every size of a number */

liana_status liana__tf_read_bytes(const liana__tf_checkpoint *checkpoint, const liana__tf_variable *variable,
                                  uint64_t begin, void *to, size_t size, liana__error *error)
{
    const liana__tf_data *file = &checkpoint->files[variable->file];
    const bool whole = liana__file_read_at(file->descriptor, (size_t)(variable->offset + begin), to, size);
    LIANA_TRY(liana__file_check_version(file->path, file->descriptor, &file->version, error));
    if (whole) return LIANA_OK;
    return liana__fail(error, LIANA_IO_ERROR, "'%s' cannot be read at offset %llu", file->path,
                       (unsigned long long)(variable->offset + begin));
}

/* The values of a variable or a slice that has its own bytes. */
static liana_status read_plain(const liana__tf_checkpoint *checkpoint, const liana__tf_variable *from, float *values,
                               uint8_t *piece, liana__error *error)
{
    uint32_t checksum = 0;
    for (uint64_t at = 0; at < from->size; at += PIECE) {
        const size_t size = from->size - at < PIECE ? (size_t)(from->size - at) : PIECE;
        LIANA_TRY(liana__tf_read_bytes(checkpoint, from, at, piece, size, error));
        checksum = liana__crc32c_extend(checksum, piece, size);
        liana__widen(from->kind, from->element_size, piece, size / from->element_size, values);
        values += size / from->element_size;
    }
    if (liana__crc32c_mask(checksum) == from->checksum) return LIANA_OK;
    return liana__fail(error, LIANA_DATA_LOSS,
                       "'%s': the variable '%.200s' has the checksum %08x, the index says %08x; the file is damaged",
                       checkpoint->files[from->file].path, *from->key ? from->key : from->key + 1,
                       liana__crc32c_mask(checksum), from->checksum);
}

/* Copies a slice, row by row of its last axis, to its place in the whole. */
static void place_slice(const liana__tf_variable *whole, const liana__tf_slice *slice, const float *values, float *to)
{
    const int last = whole->rank - 1;
    const size_t row = last >= 0 ? (size_t)slice->length[last] : 1;
    const size_t rows = row ? slice->part->num_elements / row : 0;
    for (size_t i = 0; i < rows; i++) {
        size_t rest = i, offset = 0, stride = 1;
        for (int axis = last; axis >= 0; axis--) {
            size_t index = (size_t)slice->start[axis];
            if (axis < last) {
                index += rest % (size_t)slice->length[axis];
                rest /= (size_t)slice->length[axis];
            }
            offset += index * stride;
            stride *= (size_t)whole->shape[axis];
        }
        memcpy(to + offset, values + i * row, row * sizeof *values);
    }
}

static liana_status read_slices(const liana__tf_checkpoint *checkpoint, const liana__tf_variable *variable,
                                float *values, uint8_t *piece, liana__error *error)
{
    memset(values, 0, variable->num_elements * sizeof *values);
    for (size_t i = 0; i < variable->num_slices; i++) {
        const liana__tf_slice *slice = &variable->slices[i];
        float *part = malloc((slice->part->num_elements + 1) * sizeof *part);
        if (!part) return liana__fail_memory(error, variable->key);
        liana_status status = read_plain(checkpoint, slice->part, part, piece, error);
        if (status == LIANA_OK) place_slice(variable, slice, part, values);
        free(part);
        LIANA_TRY(status);
    }
    return LIANA_OK;
}

liana_status liana__tf_checkpoint_read(const liana__tf_checkpoint *checkpoint, const liana__tf_variable *variable,
                                       float *values, liana__error *error)
{
    if (variable->kind == LIANA__NUMBER_NONE) {
        return liana__fail(error, LIANA_UNIMPLEMENTED, "'%s': the variable '%.200s' is %s, expected numbers",
                           checkpoint->path, variable->key, variable->dtype);
    }
    uint8_t *piece = malloc(PIECE);
    if (!piece) return liana__fail_memory(error, variable->key);
    liana_status status = (variable->num_slices ? read_slices : read_plain)(checkpoint, variable, values, piece, error);
    free(piece);
    return status;
}
