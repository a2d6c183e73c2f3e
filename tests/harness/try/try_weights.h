/* try_weights.h - feeds bytes to the readers of weight files: for fuzz targets and mutation
 * tests. Abort when a promise is broken; return whether the file was good. */
#ifndef LIANA_TESTS_TRY_WEIGHTS_H
#define LIANA_TESTS_TRY_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes as a safetensors file: opened or refused with a message; a file that opens can be read to its last byte. */
bool liana__try_safetensors(const uint8_t *bytes, size_t size);
/* The bytes as a classic HDF5 file (whatever version they say): the same, and all arrays are read. */
bool liana__try_hdf5(const uint8_t *bytes, size_t size);

/* The bytes as a zip archive: opened or refused with a message; its entries are read, or refused. */
bool liana__try_zip(const uint8_t *bytes, size_t size);

/* The bytes as a classic HDF5 file: its tree is walked, with all attributes and arrays that are small. */
bool liana__try_hdf5_tree(const uint8_t *bytes, size_t size);

#endif
