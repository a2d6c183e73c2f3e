/* Fuzzes the reader of HDF5 files. */
#include "harness/try/try_weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    liana__try_hdf5(bytes, size);
    return 0;
}
