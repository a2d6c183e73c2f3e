/* Fuzzes the readers of the names of devices. */
#include "harness/try/try_place.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    liana__try_device_name(bytes, size);
    return 0;
}
