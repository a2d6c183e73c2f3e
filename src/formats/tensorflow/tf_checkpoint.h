/* tf_checkpoint.h - TensorFlow's checkpoints: the variables of a program by name.
 *
 * A checkpoint "ckpt" is the file ckpt.index and its data, ckpt.data-00000-of-0000N. The index is a table
 * (tf_table.h): its first value says how many files of data there are; each other value says the type and shape of one
 * variable, and where its bytes are (tensorflow/core/protobuf/tensor_bundle.proto). A variable that was split over
 * machines has entries for its slices. TensorFlow 1 names variables as the program did ("MobilenetV2/Conv/weights").
 * TensorFlow 2 names them by their places in a graph of objects ("layer-1/kernel/.ATTRIBUTES/VARIABLE_VALUE"); the
 * graph, which is a text in the checkpoint, has the program's names as well ("conv/kernel"). */
#ifndef LIANA_FORMATS_TENSORFLOW_TF_CHECKPOINT_H
#define LIANA_FORMATS_TENSORFLOW_TF_CHECKPOINT_H

#include "base/file.h"
#include "formats/widen.h"

enum { LIANA__TF_MAX_RANK = 8 };

typedef struct liana__tf_variable {
    const char *key;   /* in the index */
    const char *name;  /* the program's, if no other variable has it; else the key, without TensorFlow's end of it */
    const char *dtype; /* "float32", "string", ... */
    liana__number_kind kind;
    size_t element_size; /* bytes of a number */
    int rank;
    int64_t shape[LIANA__TF_MAX_RANK];
    size_t num_elements;
    bool is_state; /* of an optimizer or a metric */
    bool is_copy;  /* an earlier variable has the same name and the same values */
    /* One of the two places: bytes of a file of data; or the slices that make the variable. */
    int file;
    uint64_t offset;
    uint64_t size;
    uint32_t checksum;
    const struct liana__tf_slice *slices;
    size_t num_slices;
} liana__tf_variable;

typedef struct liana__tf_checkpoint {
    const char *path; /* of the index; in the arena, as is all else */
    const liana__tf_variable *variables;
    size_t num_variables;
    size_t num_files;
    struct liana__tf_data *files;
    liana__arena arena;
} liana__tf_checkpoint;

/* The index that a path means: an index; a file of data; TensorFlow's name of a checkpoint, which is no file ("ckpt" of
 * ckpt.index); a SavedModel folder; a folder of checkpoints, whose file `checkpoint` names the newest. NULL: the path
 * means no TensorFlow checkpoint, or memory is out. In the arena. */
const char *liana__tf_checkpoint_find(const char *path, liana__arena *arena);

/* The number of files of data that an index speaks of. Errors: those of opening. */
liana_status liana__tf_checkpoint_count_files(const char *index, size_t *count, liana__error *error) LIANA_MUST_USE;
/* The name of a file of data: INDEX without ".index", and ".data-00001-of-00002". In the arena. */
const char *liana__tf_checkpoint_file(const char *index, size_t file, size_t count, liana__arena *arena);

/* Opens a checkpoint: reads its names, types and shapes. Zero-initialised it is closed. After a failure there is
 * nothing to close. Errors, each with the file and the variable: NOT_FOUND (also: a file of data is missing), IO_ERROR,
 * DATA_LOSS (truncated, a checksum is wrong), INVALID_DATA (another format, or it contradicts itself), OUT_OF_RANGE (an
 * index above 256 MB, more than 1,000,000 variables, rank above 8), UNIMPLEMENTED (big-endian numbers). */
liana_status liana__tf_checkpoint_open(const char *index, liana__tf_checkpoint *checkpoint, liana__error *error)
    LIANA_MUST_USE;
void liana__tf_checkpoint_free(liana__tf_checkpoint *checkpoint);

/* Reads all values of a variable as float32, row-major, and compares the checksum. After an error the values are
 * undefined. Errors, with the variable: UNIMPLEMENTED (it is no number), DATA_LOSS. */
liana_status liana__tf_checkpoint_read(const liana__tf_checkpoint *checkpoint, const liana__tf_variable *variable,
                                       float *values, liana__error *error) LIANA_MUST_USE;

#endif
