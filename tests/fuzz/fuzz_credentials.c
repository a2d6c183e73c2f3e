/* Fuzzes the readers of files of credentials. */
#include "harness/try/try_remote.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    liana__try_credentials(bytes, size);
    return 0;
}
