/* Fuzzes the source of CIFAR's binary files. */
#include "harness/try/try_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    liana__try_cifar(bytes, size);
    return 0;
}
