/* Fuzzes the reader of HDF5 files as trees. */
#include "harness/try/try_weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    liana__try_hdf5_tree(bytes, size);
    return 0;
}
