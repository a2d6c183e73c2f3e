/* Fuzzes the reader of YAML. */
#include "harness/try/try_values.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    liana__try_yaml(bytes, size);
    return 0;
}
