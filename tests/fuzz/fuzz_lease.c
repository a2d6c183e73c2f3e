/* Fuzzes the reader of leases. */
#include "harness/try/try_place.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    liana__try_lease(bytes, size);
    return 0;
}
