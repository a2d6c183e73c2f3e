/* variables_file.h - variables of a device as a safetensors file: the files of liana_variables_save and checkpoints. */
#ifndef LIANA_PROGRAM_VARIABLES_FILE_H
#define LIANA_PROGRAM_VARIABLES_FILE_H

#include "backends/variables.h"
#include "formats/safetensors.h"

/* The dtype of a tensor in such a file; SAFETENSORS_NUM_DTYPES for none. */
liana__safetensors_dtype liana__file_dtype(liana_dtype dtype);

/* Replaces the file at `path` with all variables, and behind them `more` tensors of the host, and syncs it. *checksum
 * (NULL: not wanted) receives the CRC-32 of the whole file. `arena` holds the list of tensors. Errors: IO_ERROR,
 * OUT_OF_MEMORY. */
liana_status liana__variables_write_file(const char *path, const liana__variables *variables,
                                         const liana__safetensors_tensor *more, size_t num_more, liana__arena *arena,
                                         uint32_t *checksum, liana__error *error) LIANA_MUST_USE;

#endif
