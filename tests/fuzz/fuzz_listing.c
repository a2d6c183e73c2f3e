/* Fuzzes the readers of lists of buckets. */
#include "harness/try/try_remote.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    liana__try_listing(bytes, size);
    return 0;
}
