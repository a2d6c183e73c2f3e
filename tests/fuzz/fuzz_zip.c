/* Fuzzes the reader of zip archives. */
#include "harness/try/try_weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    liana__try_zip(bytes, size);
    return 0;
}
