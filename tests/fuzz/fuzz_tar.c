/* Fuzzes the reader of tar archives. */
#include "harness/try/try_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    liana__try_tar(bytes, size);
    liana__try_tar_repaired(bytes, size);
    return 0;
}
