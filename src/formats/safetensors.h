/* safetensors.h - safetensors files: named tensors in one file. Checkpoints consist of them.
 *
 * The format (github.com/huggingface/safetensors, README, "Format"): an 8-byte little-endian header size N; N bytes of
 * JSON {"name": {"dtype", "shape", "data_offsets": [begin, end]}, ..., "__metadata__": {text: text}}; then the data,
 * row-major and little-endian. Offsets count from the end of the header. The tensors cover the data without gaps and
 * without overlap. */
#ifndef LIANA_FORMATS_SAFETENSORS_H
#define LIANA_FORMATS_SAFETENSORS_H

#include "base/file.h"
#include "formats/widen.h"

/* The dtypes of the format that liana reads, with their sizes in bytes. */
#define LIANA__SAFETENSORS_DTYPES(X) \
    X(F64, 8)                        \
    X(F32, 4)                        \
    X(F16, 2)                        \
    X(BF16, 2)                       \
    X(I64, 8)                        \
    X(I32, 4)                        \
    X(I16, 2)                        \
    X(I8, 1)                         \
    X(U64, 8)                        \
    X(U32, 4)                        \
    X(U16, 2)                        \
    X(U8, 1)                         \
    X(BOOL, 1)

typedef enum liana__safetensors_dtype {
#define LIANA__SAFETENSORS_ENUM(name, size) LIANA__SAFETENSORS_##name,
    LIANA__SAFETENSORS_DTYPES(LIANA__SAFETENSORS_ENUM)
#undef LIANA__SAFETENSORS_ENUM
        LIANA__SAFETENSORS_NUM_DTYPES,
} liana__safetensors_dtype;

/* "F32", ...; and the bytes of one element. */
const char *liana__safetensors_dtype_name(liana__safetensors_dtype dtype);
size_t liana__safetensors_dtype_size(liana__safetensors_dtype dtype);

enum { LIANA__SAFETENSORS_MAX_RANK = 8 };

typedef struct liana__safetensors_tensor {
    const char *name;
    liana__safetensors_dtype dtype;
    int rank;
    int64_t shape[LIANA__SAFETENSORS_MAX_RANK];
    const void *data; /* the data for liana__safetensors_write; the reader leaves it NULL */
    uint64_t offset;  /* set by the reader: where the data begin in the file */
    size_t size;      /* bytes of data, set by the reader; the step-by-step writer ignores it */
} liana__safetensors_tensor;

typedef struct liana__safetensors_entry {
    const char *key;
    const char *value;
} liana__safetensors_entry;

/* The contents to be written, or that were read. */
typedef struct liana__safetensors_contents {
    const liana__safetensors_tensor *tensors;
    size_t num_tensors;
    const liana__safetensors_entry *metadata;
    size_t num_metadata;
} liana__safetensors_contents;

/* --- Reading --------------------------------------------------------------------------------------------------- */

/* An open file: the tensors in the order of their data. Names and metadata are borrowed from the arena; data are read
 * when they are asked for. Zero-initialised it is closed. */
typedef struct liana__safetensors {
    liana__safetensors_contents contents;
    const char *path;
    int descriptor;
    liana__file_version version; /* when it was opened */
    liana__arena arena;
} liana__safetensors;

/* Opens a file and checks the whole header: sizes, offsets, gaps, overlaps. After a failure there is nothing to close.
 * Errors, each with the file and the tensor: NOT_FOUND, IO_ERROR, DATA_LOSS (truncated), INVALID_DATA (another format,
 * or it contradicts itself), OUT_OF_RANGE (header above 100 MB or of too many values, rank above 8), UNIMPLEMENTED (a
 * dtype not listed above). */
liana_status liana__safetensors_open(const char *path, liana__safetensors *file, liana__error *error) LIANA_MUST_USE;
void liana__safetensors_close(liana__safetensors *file);

/* The tensor of that name, or NULL. Takes time proportional to the number of tensors. */
const liana__safetensors_tensor *liana__safetensors_find(const liana__safetensors *file, const char *name);
/* The metadata value of that key, or NULL. */
const char *liana__safetensors_metadata(const liana__safetensors *file, const char *key);
/* Reads all data of a tensor. Errors, with the file: DATA_LOSS if the file was written to since it was opened;
 * IO_ERROR. */
liana_status liana__safetensors_read(const liana__safetensors *file, const liana__safetensors_tensor *tensor, void *to,
                                     liana__error *error) LIANA_MUST_USE;
/* The same into new memory, aligned for a device; free it with free. Errors: also OUT_OF_MEMORY. */
liana_status liana__safetensors_take(const liana__safetensors *file, const liana__safetensors_tensor *tensor,
                                     void **data, liana__error *error) LIANA_MUST_USE;
/* The kind of F64, F32, F16 and BF16; else LIANA__NUMBER_NONE. */
liana__number_kind liana__safetensors_float_kind(liana__safetensors_dtype dtype);
/* Reads a tensor of one of these dtypes as float32, rounded to the nearest. Errors: also UNIMPLEMENTED (another
 * dtype). */
liana_status liana__safetensors_read_floats(const liana__safetensors *file, const liana__safetensors_tensor *tensor,
                                            float *values, liana__error *error) LIANA_MUST_USE;
/* CRC-32 of the whole file with its header, equal to Python's zlib.crc32. Errors: those of reading. */
liana_status liana__safetensors_checksum(const liana__safetensors *file, uint32_t *checksum, liana__error *error)
    LIANA_MUST_USE;

/* --- Writing --------------------------------------------------------------------------------------------------- */

/* Writes a file step by step: begin with the names and shapes; write the data of all tensors in that order, in pieces
 * of any size; finish. The file appears under its name only at finish. The same contents give the same bytes: tensors
 * keep the given order, and spaces after the JSON make the header's length a multiple of 8. */
typedef struct liana__safetensors_writer {
    liana__file_writer file;
    uint64_t remaining; /* bytes of data still to come */
    uint32_t checksum;
} liana__safetensors_writer;

/* Errors: INVALID_ARGUMENT for a name that is empty, repeated, reserved or not UTF-8, and for a bad shape; those of
 * liana__file_begin. After a failure there is nothing to abandon. */
liana_status liana__safetensors_begin(liana__safetensors_writer *writer, const char *path,
                                      const liana__safetensors_contents *contents, liana__error *error) LIANA_MUST_USE;
liana_status liana__safetensors_put(liana__safetensors_writer *writer, const void *data, size_t size,
                                    liana__error *error) LIANA_MUST_USE;
/* With `durable` the file and its folder are synced. *checksum (may be NULL) receives the CRC-32 of the whole file.
 * Errors: INVALID_ARGUMENT if data are missing. After a failure there is nothing to abandon. */
liana_status liana__safetensors_finish(liana__safetensors_writer *writer, bool durable, uint32_t *checksum,
                                       liana__error *error) LIANA_MUST_USE;
/* Removes the written file, after a failed put. */
void liana__safetensors_abandon(liana__safetensors_writer *writer);

/* Writes a whole file, from tensors whose `data` is set (`size` may be 0; otherwise it must fit the shape). */
liana_status liana__safetensors_write(const char *path, const liana__safetensors_contents *contents, bool durable,
                                      uint32_t *checksum, liana__error *error) LIANA_MUST_USE;

#endif
